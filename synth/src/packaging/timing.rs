//! `warpline.sdc` and `warpline.xdc`: the clock, and why there is nothing else to constrain.

use super::names::{Names, VERSION};

/// Period of 156.25 MHz: a bus of 64 bits carries 10 Gb/s.
const PERIOD_NS: &str = "6.400";

const NOTES: &str = "\
# One clock, aclk, for network, registers and host memory. The period is that of 156.25 MHz: set it to the period of your
# clock. Skip create_clock where aclk is driven inside the design: its source defines the clock there.
#
# There is no clock crossing inside, hence no false path, no multicycle path and no asynchronous group: every path takes one
# cycle. Where registers or memory run on another clock, put AXI clock converters in front; their constraints belong to them.
#
# aresetn is sampled by aclk and timed like any other input. Where it comes from another clock or from a pin, synchronise it
# to aclk first, and set the false path to the first register of that synchroniser, not to aresetn.
";

/// Synopsys Design Constraints, which most tools read.
pub(super) fn sdc(names: &Names<'_>) -> String {
    text(names, "SDC")
}

/// The same for Vivado.
pub(super) fn xdc(names: &Names<'_>) -> String {
    text(
        names,
        "XDC, to be read out of context or scoped to the cell",
    )
}

fn text(names: &Names<'_>, format: &str) -> String {
    let Names { top, device, .. } = names;
    let clocks = names.design.ports.iter().filter(|port| port.clock);
    let clocks: String = clocks
        .map(|port| {
            let name = &port.name;
            format!("create_clock -name {name} -period {PERIOD_NS} [get_ports {{{name}}}]\n")
        })
        .collect();
    format!("# {top} {VERSION}: {device}. {format}.\n#\n{NOTES}\n{clocks}")
}
