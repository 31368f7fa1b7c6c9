//! `warpline rtl`: the device as SystemVerilog, its registers as SystemRDL, and files for integrators' tools and programs.
//! Its options are those of [`Rtl`].

use std::fs;

use warpline_design::{add_axi_ids, design};
use warpline_hdl::{Config, Sctp};
use warpline_regmap::rdl;
use warpline_synth::{packaging, prefixed};

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
        transmit: options.transmit,
        sctp: options.sctp.then_some(Sctp {
            slot_octets: options.sctp_slot_octets,
            window: options.sctp_window,
        }),
        ..Config::simulated(options.width)
    };
    let mut design = design(&config)?;
    add_axi_ids(&mut design, options.axi_ids.into());
    if let Some(prefix) = &options.prefix {
        design = prefixed(&design, prefix);
    }
    let mut files = design.sources();
    let registers = match &options.prefix {
        Some(prefix) => prefix.name(REGISTERS),
        None => REGISTERS.into(),
    };
    let map = |name| format!("addrmap {name} ");
    let text = rdl::registers().replacen(&map(rdl::ADDRESS_MAP), &map(design.top()), 1);
    files.push((registers.clone(), text));
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
    let top = design.top();
    let lines: usize = design.modules.iter().map(|m| m.text.lines().count()).sum();
    show(&format!(
        "{}: {} modules, {lines} lines; compile the files of {top}.f in its order, top module {top}, to copy from {top}_instance.svh; registers in {registers}\n",
        folder.display(),
        design.modules.len(),
    ))?;
    Ok(OK)
}
