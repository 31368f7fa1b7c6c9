//! CRC32C as a parallel LFSR, for comparison with the device's: one XOR network from state and data to the next state.
//!
//! ```text
//!  data ─►[register]─┬─► next state of a full beat ─►[state]─┐
//!                    ├─► next state of 1 dword ──┐           │
//!                    ├─► … of 2 dwords ──────────┼─► which? ─┴─►[register]─► residue? ─► verdict
//!                    └─► … one network a length ─┘
//! ```
//!
//! One beat per cycle; the verdict follows after three cycles. The device does not use it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use warpline_hdl::parts::crc_register::{RESIDUE, advance};
use warpline_hdl::parts::crc32c::Crc32c;
use warpline_sv_writer::{self as writer, Design, Direction, Module, Port};

use crate::error::Error;
use crate::netlist::{Family, Source, netlist, netlist_of};
use crate::part::{Part, part};
use crate::place::{PINS_LPF, Placer, TIMING_WEIGHT, default_placer, progress, settings};
use crate::report::{Tool, worst_path};
use crate::tools::Tools;

/// The next state after `dwords` dwords: for each of its bits the sum of bits of state and data.
fn next_state(dwords: usize) -> Vec<String> {
    let mut sums = vec![Vec::new(); 32];
    let mut add = |term: String, column: u32| {
        for (bit, sum) in sums.iter_mut().enumerate() {
            if column >> bit & 1 == 1 {
                sum.push(term.clone());
            }
        }
    };
    for bit in 0..32 {
        add(format!("s[{bit}]"), advance(1 << bit, 32 * dwords));
    }
    for bit in 0..32 * dwords {
        let to_come = 32 * (dwords - bit / 32);
        add(format!("d[{bit}]"), advance(1 << (bit % 32), to_come));
    }
    // as reductions, of which yosys makes trees; a chain of 250 operators exceeds its recursion depth
    let sums = sums.iter().map(|sum| format!("^{{{}}}", sum.join(", ")));
    sums.collect()
}

/// The module `parallel_crc32c` for beats of `width` bits, with the inputs of the device's CRC unit.
#[must_use]
pub fn parallel(width: usize) -> Design {
    let dwords = width / 32;
    let (mut networks, mut tails, mut fields) = (String::new(), String::new(), String::new());
    for count in 1..=dwords {
        let _ = writeln!(networks, "    wire [31:0] next_{count};");
        for (bit, sum) in next_state(count).into_iter().enumerate() {
            let _ = writeln!(networks, "    assign next_{count}[{bit}] = {sum};");
        }
        let _ = writeln!(tails, "            5'd{count}: tail <= next_{count};");
        let _ = writeln!(
            fields,
            "            5'd{count}: field <= d[{}:{}];",
            32 * count - 1,
            32 * (count - 1)
        );
    }
    let text = format!(
        "module parallel_crc32c (
    input wire clock, input wire reset,
    input wire [{top}:0] data, input wire valid, input wire first, input wire last, input wire [4:0] count,
    output reg good, output reg [31:0] state, output reg [31:0] received, output reg verdict_valid
);
    reg [{top}:0] d;
    reg [31:0] register, tail, field;
    reg [4:0] n;
    reg v, f, l, done;
    wire [31:0] s = f ? 32'hffffffff : register;
{networks}    always @(posedge clock) begin
        d <= data;
        n <= count;
        f <= first;
        l <= last;
        v <= valid & ~reset;
        if (v) register <= next_{dwords};
        case (n)
{tails}            default: tail <= 32'h0;
        endcase
        case (n)
{fields}            default: field <= 32'h0;
        endcase
        done <= v & l & ~reset;
        good <= tail == 32'h{RESIDUE:08x};
        state <= tail;
        received <= field;
        verdict_valid <= done & ~reset;
    end
endmodule
",
        top = width - 1,
    );
    let port = |name: &str, width, direction| Port {
        name: name.into(),
        direction,
        width,
        clock: name == "clock",
    };
    let inputs = [
        ("clock", 1),
        ("reset", 1),
        ("data", width),
        ("valid", 1),
        ("first", 1),
        ("last", 1),
        ("count", 5),
    ];
    let outputs = [
        ("good", 1),
        ("state", 32),
        ("received", 32),
        ("verdict_valid", 1),
    ];
    let inputs = inputs.map(|(name, width)| port(name, width, Direction::Input));
    let outputs = outputs.map(|(name, width)| port(name, width, Direction::Output));
    Design {
        package: None,
        modules: vec![Module {
            name: "parallel_crc32c".into(),
            text,
        }],
        ports: [&inputs[..], &outputs].concat(),
    }
}

/// The device's CRC unit at one of the device's widths.
///
/// # Errors
/// [`Error::Width`].
pub fn own(width: usize) -> Result<Design, Error> {
    let written = writer::on_large_stack(|| {
        Some(match width {
            64 => writer::write(&Crc32c::<64, 2>::default(), "crc32c"),
            128 => writer::write(&Crc32c::<128, 4>::default(), "crc32c"),
            256 => writer::write(&Crc32c::<256, 8>::default(), "crc32c"),
            512 => writer::write(&Crc32c::<512, 16>::default(), "crc32c"),
            _ => return None,
        })
    });
    let written = written.ok_or(Error::Width { width })?;
    written.map_err(|error| Error::Design(error.into()))
}

/// `design` between shift registers, so that only its own paths limit the clock.
fn harness(design: &Design) -> (String, String) {
    let top = design.top();
    let (mut inputs, mut outputs, mut connections) = (0, 0, Vec::new());
    for port in &design.ports {
        let (vector, at) = match port.direction {
            _ if port.clock => {
                connections.push(format!(".{}(clk)", port.name));
                continue;
            }
            Direction::Input => ("i", &mut inputs),
            Direction::Output => ("o", &mut outputs),
        };
        connections.push(format!(
            ".{}({vector}[{} +: {}])",
            port.name, *at, port.width
        ));
        *at += port.width;
    }
    let text = format!(
        "module harness (input wire clk, input wire serial_in, output reg serial_out);
    reg [{i}:0] i;
    wire [{o}:0] o;
    reg [{o}:0] seen;
    always @(posedge clk) begin
        i <= {{i[{i}-1:0], serial_in}};
        seen <= {{seen[{o}-1:0], 1'b0}} ^ o;
        serial_out <= seen[{o}];
    end
    {top} unit ({});
endmodule
",
        connections.join(", "),
        i = inputs - 1,
        o = outputs - 1,
    );
    ("harness.sv".into(), text)
}

/// A CRC unit at one width.
#[derive(Clone, Debug, Serialize)]
pub struct Built {
    /// `warpline`, or `parallel`.
    pub what: String,
    /// Bits of a beat.
    pub width: usize,
    /// LUT4s of the unit alone, before placement; each bit of a carry chain is one.
    pub lut4: u64,
    /// Its flip-flops.
    pub ff: u64,
    /// Logic levels, before placement.
    pub lut_levels: usize,
    /// Slowest clock of all seeds that nextpnr estimates before routing; none if a seed was not placed within [`PATIENCE`].
    pub placed_mhz_min: Option<f64>,
    /// Slowest clock of all seeds after place and route; none if a seed was not routed within [`PATIENCE`].
    pub fmax_mhz_min: Option<f64>,
}

/// CRC units of the device and parallel ones, at some widths.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Part.
    pub part: String,
    /// Speed grade.
    pub speed: u8,
    /// Seeds of placement.
    pub seeds: Vec<u32>,
    /// Target clock of nextpnr.
    pub aim_mhz: f64,
    /// The units.
    pub built: Vec<Built>,
    /// Tools and their versions.
    pub tools: Vec<Tool>,
}

/// Time limit of nextpnr. The device's unit takes 2 min at 512 bits, beside another placement.
pub const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Target clock of nextpnr.
const AIM_MHZ: f64 = 300.0;

/// Builds both units at each of `widths`, with the same tools and settings.
///
/// # Errors
/// [`Error`] when a tool fails.
pub fn compare(
    widths: &[usize],
    seeds: &[u32],
    tools: &Tools,
    folder: &Path,
    progress: &mut dyn FnMut(&Built),
) -> Result<Comparison, Error> {
    let on = part("lfe5um5g-85f")?;
    let versions = tools.versions()?;
    let mut built = Vec::new();
    for &width in widths {
        for (what, design) in [("warpline", own(width)?), ("parallel", parallel(width))] {
            let folder = folder.join(format!("{what}-{width}"));
            let one = build(what, width, &design, on, seeds, tools, &folder)?;
            progress(&one);
            built.push(one);
        }
    }
    Ok(Comparison {
        part: on.name.into(),
        speed: on.speed,
        seeds: seeds.into(),
        aim_mhz: AIM_MHZ,
        built,
        tools: versions,
    })
}

fn build(
    what: &str,
    width: usize,
    design: &Design,
    part: &Part,
    seeds: &[u32],
    tools: &Tools,
    folder: &Path,
) -> Result<Built, Error> {
    let alone = netlist_of(design, &tools.yosys, Family::Ecp5, &folder.join("alone"))?;
    let mut files = design.sources();
    files.push(harness(design));
    let between = Source {
        top: "harness",
        files: &files,
        parameters: &[],
        named: true,
    };
    netlist(&tools.yosys, Family::Ecp5, &between, folder)?;
    let pins = folder.join(PINS_LPF);
    fs::write(&pins, format!("FREQUENCY NET \"clk\" {AIM_MHZ} MHZ;\n"))
        .map_err(Error::at(&pins))?;
    let mut settings = settings(part, false);
    settings.extend(default_placer(TIMING_WEIGHT));
    let placer = Placer::new(folder, &tools.nextpnr, &settings)?.with_patience(PATIENCE);
    let mut slowest = Some(f64::INFINITY);
    let mut expected = Some(f64::INFINITY);
    for &seed in seeds {
        let fmax = match placer.place(seed, |report| Ok(worst_path(report, &[])?.0)) {
            Err(Error::Slow { .. }) => None,
            placed => Some(placed?),
        };
        let log = folder.join(progress(seed));
        let text = fs::read_to_string(&log).map_err(Error::at(&log))?;
        expected = expected.zip(expected_mhz(&text)).map(|(a, b)| a.min(b));
        slowest = slowest.zip(fmax).map(|(a, b)| a.min(b));
        if slowest.is_none() {
            break;
        }
    }
    Ok(Built {
        what: what.into(),
        width,
        lut4: alone.count(|kind| kind == "LUT4") + 2 * alone.count(|kind| kind == "CCU2C"),
        ff: alone.count(|kind| kind == "TRELLIS_FF"),
        lut_levels: alone.lut_levels()?,
        placed_mhz_min: expected,
        fmax_mhz_min: slowest,
    })
}

/// The first clock in the log of nextpnr: its estimate between placement and routing.
fn expected_mhz(log: &str) -> Option<f64> {
    let said = log.split_once("Max frequency for clock")?.1;
    let (_, megahertz) = said.split_once("': ")?;
    megahertz.split_once(" MHz")?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_before_routing_is_the_first_of_the_log() {
        let log = "Info: SA placement time 263.54s\n\n\
             Info: Max frequency for clock '$glbnet$clk': 80.63 MHz (FAIL at 300.03 MHz)\n\
             Info: Routing..\n\
             Info: Max frequency for clock '$glbnet$clk': 91.10 MHz (FAIL at 300.03 MHz)\n";
        assert_eq!(expected_mhz(log), Some(80.63));
        assert_eq!(expected_mhz("Info: Routing..\n"), None);
    }
}
