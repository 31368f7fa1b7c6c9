//! What all generators take: the device and the names of what goes with it.

use warpline_hdl::Config;
use warpline_sv_writer::Design;

pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");
pub(super) const LICENSE: &str = env!("CARGO_PKG_LICENSE");

/// A device and the names of its files.
pub(super) struct Names<'d> {
    pub(super) design: &'d Design,
    /// The top module, with which all names begin.
    pub(super) top: &'d str,
    /// With which all macros begin.
    pub(super) macros: String,
    /// Which device it is, in one line: the modules have the same names at every width.
    pub(super) device: String,
    /// It sends.
    pub(super) transmit: bool,
    /// It takes chunks of SCTP.
    pub(super) sctp: bool,
    /// Files of SystemVerilog in compile order, packages first.
    pub(super) sources: Vec<String>,
}

impl<'d> Names<'d> {
    pub(super) fn new(design: &'d Design, config: &Config) -> Self {
        let Config {
            width,
            streams,
            ring_octets,
            transmit,
            sctp,
            ..
        } = config;
        let top = design.top();
        let kind = match transmit {
            true => "iWARP RNIC",
            false => "iWARP receive offload",
        };
        let transports = match sctp {
            Some(_) => ", TCP and SCTP",
            None => "",
        };
        let mut names = Self {
            design,
            top,
            macros: top.to_uppercase(),
            device: format!(
                "{kind}{transports}, {width}-bit data path, {streams} streams, rings of {ring_octets} octets, {LICENSE}"
            ),
            transmit: *transmit,
            sctp: sctp.is_some(),
            sources: Vec::new(),
        };
        let parts = design.parts().map(|part| &*part.name);
        let sv_package = names.sv_package();
        names.sources = [&*sv_package]
            .into_iter()
            .chain(parts)
            .map(|name| format!("{name}.sv"))
            .collect();
        names
    }

    /// The SystemVerilog package.
    pub(super) fn sv_package(&self) -> String {
        format!("{}_pkg", self.top)
    }

    /// The module with registers only.
    pub(super) fn example(&self) -> String {
        format!("{}_registers_example", self.top)
    }
}
