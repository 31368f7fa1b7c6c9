//! A small design for a board: its pins, PLL and UART without the device, placed and routed in a minute.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use warpline_design::key;

use crate::board::Board;
use crate::error::Error;
use crate::flow::{pack, used, write_pins};
use crate::folder_lock::acquire;
use crate::netlist::{Family, Source, netlist};
use crate::place::{Placer, settings};
use crate::report::{Tool, worst_path};
use crate::selftest::UART;
use crate::tools::Tools;

const HELLO: &str = include_str!("../../constraints/selftest/warpline_selftest_hello.sv");

/// Seed of the placement: the design is small, and one is like another.
const SEED: u32 = 1;

/// A small design to make.
#[derive(Clone, Debug)]
pub struct Hello {
    /// The board.
    pub board: &'static Board,
    /// Bits of the device whose PLL setting it has.
    pub width: usize,
    /// Folder for all files.
    pub out: PathBuf,
}

/// A placed and routed small design, as the folders of boards in `constraints` keep it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HelloReport {
    /// Board.
    pub board: String,
    /// Part.
    pub part: String,
    /// Package.
    pub package: String,
    /// Speed grade.
    pub speed: u8,
    /// Bits of the device that has this clock.
    pub width: usize,
    /// Names the code of top module and small design: [`warpline_design::key`].
    pub text: String,
    /// Clock of the PLL.
    pub clock_mhz: f64,
    /// Clock that the placement reaches.
    pub fmax_mhz: f64,
    /// LUT4s.
    pub lut4: u64,
    /// Flip-flops.
    pub ff: u64,
    /// PLLs.
    pub pll: u64,
    /// Pins.
    pub pins: u64,
    /// Tools and their versions.
    pub tools: Vec<Tool>,
}

/// The small design for `board`, in compile order, the top module last.
#[must_use]
pub fn hello_sources(board: &Board) -> Vec<(String, String)> {
    vec![
        ("warpline_selftest_uart.sv".into(), UART.into()),
        ("warpline_selftest.sv".into(), HELLO.into()),
        (format!("{}.sv", board.top()), board.sv()),
    ]
}

/// Makes [`crate::BITSTREAM`] in `out`.
///
/// # Errors
/// [`Error`] when a tool fails; [`Error::Output`] when the placement is slower than the PLL.
pub fn say_hello(hello: &Hello, tools: &Tools) -> Result<HelloReport, Error> {
    let Hello { board, width, out } = hello;
    let part = board.part()?;
    let versions = tools.versions()?;
    fs::create_dir_all(out).map_err(Error::at(out))?;
    let _lock = acquire(out)?;
    let clock_mhz = board.clock_mhz(*width);
    write_pins(out, Some(board), clock_mhz.ceil() as u32)?;
    let files = hello_sources(board);
    let source = Source {
        top: &board.top(),
        files: &files,
        parameters: &[("W", *width)],
        named: true,
    };
    netlist(&tools.yosys, Family::Ecp5, &source, out)?;
    let settings = settings(part, true);
    let placer = Placer::new(out, &tools.nextpnr, &settings)?;
    let report = placer.place(SEED, |report| {
        let (fmax_mhz, _) = worst_path(report, &[])?;
        if fmax_mhz < clock_mhz {
            return Err(format!("{fmax_mhz} MHz, less than the PLL's {clock_mhz}"));
        }
        Ok(HelloReport {
            board: board.name.into(),
            part: part.name.into(),
            package: part.package.into(),
            speed: part.speed,
            width: *width,
            text: key(files.iter().map(|(_, text)| text)),
            clock_mhz: (clock_mhz * 1000.0).round() / 1000.0,
            fmax_mhz,
            lut4: used(report, "TRELLIS_COMB")?,
            ff: used(report, "TRELLIS_FF")?,
            pll: used(report, "EHXPLLL")?,
            pins: used(report, "TRELLIS_IO")?,
            tools: versions.clone(),
        })
    })?;
    pack(out, tools, SEED)?;
    Ok(report)
}
