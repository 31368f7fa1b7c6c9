//! Instances to copy: the device with all ports explained, and one with its registers connected and nothing else.

use warpline_sv_writer::{Direction, Port};

use super::names::{LICENSE, Names, VERSION};
use super::ports::{connections, direction, range};

/// An instance, and the signals that go with it.
pub(super) fn whole(names: &Names<'_>) -> String {
    let Names { top, device, .. } = names;
    let ports = &names.design.ports;
    let signals: String = (ports.iter())
        .map(|port| {
            let direction = match port.direction {
                Direction::Input => "to the device",
                Direction::Output => "from the device",
            };
            format!("wire {}{}; // {direction}\n", range(port), port.name)
        })
        .collect();
    format!(
        "// An instance of the device, to copy.\n// {top} {VERSION}: {device}.\n// SPDX-License-Identifier: {LICENSE}\n{signals}\n{top} {top}_i (\n{});\n",
        connections(ports, |port| port.name.clone())
    )
}

/// A device whose registers alone are connected: no segment arrives, and memory accepts everything.
pub(super) fn registers_only(names: &Names<'_>) -> String {
    let Names { top, device, .. } = names;
    let example = names.example();
    let ports = &names.design.ports;
    let outside = |port: &Port| {
        let host = port.name.starts_with("s_axil_") && !port.name.starts_with("s_axil_control_");
        host || port.name == "aclk" || port.name == "aresetn"
    };
    let declared: Vec<_> = (ports.iter())
        .filter(|port| outside(port))
        .map(|port| format!("    {} {}{}", direction(port), range(port), port.name))
        .collect();
    let connect = |port: &Port| match port.direction {
        _ if outside(port) => port.name.clone(),
        // Ready, so that a burst that a wrong program starts comes to an end.
        Direction::Input if port.name.ends_with("ready") => "1'b1".into(),
        Direction::Input => format!("{}'b0", port.width),
        Direction::Output => String::new(),
    };
    format!(
        "// The device with its registers only: for identity, commands and counters; no segment arrives.
// {top} {VERSION}: {device}. Generated, to copy.
// SPDX-License-Identifier: {LICENSE}
/* verilator lint_off PINCONNECTEMPTY */ // the other outputs are not used here
module {example} (
{}
);
{top} {top}_i (
{});
endmodule
",
        declared.join(",\n"),
        connections(ports, connect)
    )
}
