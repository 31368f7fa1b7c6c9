//! `warpline rtl`: the device as SystemVerilog, its registers as SystemRDL, and packaging files for integrators' tools.

use std::fs;

use warpline_design::{TOP, design};
use warpline_hdl::Config;
use warpline_regmap::rdl;
use warpline_synth::packaging;

use super::exit_code::OK;
use super::output::{writable, write_texts};
use super::terminal::show;
use crate::Error;
use crate::options::Rtl;

/// File of the registers.
const REGISTERS: &str = "registers.rdl";

pub(super) fn run(options: &Rtl) -> Result<u8, Error> {
    let folder = &options.out;
    fs::create_dir_all(folder).map_err(Error::write(folder))?;
    let config = Config {
        streams: options.streams,
        ring_octets: options.ring_octets,
        commit_octets: options.ring_octets,
        ..Config::simulated(options.width)
    };
    let design = design(&config)?;
    let mut files = design.files();
    files.push((REGISTERS.into(), rdl::registers()));
    files.extend(packaging::files(&design, &config));
    let files: Vec<_> = files
        .into_iter()
        .map(|(name, text)| (folder.join(name), text))
        .collect();
    // check all files before writing one
    for (path, _) in &files {
        writable(path)?;
    }
    write_texts(&files)?;
    let lines = design
        .modules
        .iter()
        .map(|module| module.text.lines().count());
    let lines: usize = lines.sum();
    show(&format!(
        "{}: {} modules, {lines} lines; compile the files of {TOP}.f in its order, top module {TOP}; registers in {REGISTERS}\n",
        folder.display(),
        design.modules.len(),
    ))?;
    Ok(OK)
}
