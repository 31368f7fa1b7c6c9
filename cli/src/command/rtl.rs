//! `warpline rtl`: the device as SystemVerilog.

use std::fs;

use warpline_hdl::{Config, TOP, design};

use super::OK;
use super::terminal::show;
use crate::Error;
use crate::options::Rtl;

pub(super) fn run(options: &Rtl) -> Result<u8, Error> {
    let folder = &options.out;
    fs::create_dir_all(folder).map_err(Error::write(folder))?;
    let design = design(&Config::simulated(options.width))?;
    design.write_to(folder).map_err(Error::write(folder))?;
    let lines: usize = design.modules.iter().map(|m| m.text.lines().count()).sum();
    show(&format!(
        "{}: {} modules, {lines} lines; compile the files of {TOP}.f in its order, top module {TOP}\n",
        folder.display(),
        design.modules.len(),
    ))?;
    Ok(OK)
}
