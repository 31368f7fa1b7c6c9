//! What an integrator's tools want beside the SystemVerilog: lists of files for FuseSoC and Bender, and instances to copy.
//!
//! ```text
//!  Design ─► warpline.core, Bender.yml           files in compile order
//!        └─► warpline_instance.svh               every port, explained
//!        └─► warpline_registers_example.sv       a device with registers only: what stays open, and how
//! ```
//!
//! A device with everything connected, AXI4 memory included, is `constraints/warpline_selftest.sv`.

use warpline_design::TOP;
use warpline_hdl::Config;
use warpline_sv_writer::{Design, Direction, Port};

/// Ports by the beginning of their names, with what they are; signals of AXI interfaces have the standard's meaning.
const PORTS: [(&str, &str); 9] = [
    ("aclk", "The clock of all ports."),
    (
        "aresetn",
        "Reset, active low, sampled by aclk; one cycle is enough, the device stays in reset for 31 more.",
    ),
    (
        "s_axis_segment_tready",
        "Always 1: what does not fit the ring is dropped, and has to be sent again.",
    ),
    (
        "s_axis_segment_",
        "TCP payload, AXI4-Stream, a segment up to tlast. tdest: stream. tuser[31:0]: sequence number of the segment's first \
octet, the same in all its beats; in the last beat tuser[32]: FIN stands behind it, tuser[33]: the connection is gone. \
tkeep: contiguous from octet 0, all ones but in the last beat; none in a segment without payload. Beats of different \
segments do not alternate. What comes for a stream that is not armed, or that there is not, is dropped and counted. Arm a stream \
again only when all beats of its former connection have come.",
    ),
    (
        "m_axis_window_",
        "What TCP may say of a stream (tdest), AXI4-Stream, the streams in turn. tdata[31:0]: acknowledge up to this sequence \
number; tdata[63:32]: right edge of the window to advertise. Streams that are not armed are reported, too: leave them out. A report \
that waits to be taken is not taken back when its stream is armed anew: leave out what does not lie between what was acknowledged \
and what was sent.",
    ),
    (
        "s_axil_",
        "Registers, AXI4-Lite, 4 KiB; docs/registers.md and registers.rdl describe them.",
    ),
    (
        "m_axi_aw",
        "Host memory, AXI4: bursts of payload and completions; no burst crosses 4 KiB. Up to 16 go ahead of their data, up to 129 wait for \
their responses. A response has to mean that the host sees the octets (AWCACHE: normal, not bufferable): a completion is written, \
and a revocation ends, behind the responses to what came before.",
    ),
    (
        "m_axi_",
        "Host memory, AXI4. There are no ID signals: answers come in order; receive descriptors are all that is read.",
    ),
    (
        "m_axis_msix_",
        "Interrupts, AXI4-Stream: number of the MSI-X vector to send, 0: a completion, 1: a completion could not be written. The table of \
vectors belongs to the PCIe endpoint.",
    ),
];

/// All files of `design`, which `config` describes: name and text.
#[must_use]
pub fn files(design: &Design, config: &Config) -> Vec<(String, String)> {
    let device = description(config);
    vec![
        (format!("{TOP}.core"), core(design, &device)),
        ("Bender.yml".into(), bender(design, &device)),
        (format!("{TOP}_instance.svh"), instance(design, &device)),
        (format!("{EXAMPLE}.sv"), registers_example(design)),
    ]
}

/// Which device it is: the modules have the same names at every width.
fn description(config: &Config) -> String {
    let Config {
        width,
        streams,
        ring_octets,
        ..
    } = config;
    format!(
        "iWARP receive offload, {width}-bit data path, {streams} streams, rings of {ring_octets} octets, {LICENSE}"
    )
}

/// Longest line of a comment.
const LINE: usize = 120;
const EXAMPLE: &str = "warpline_registers_example";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const LICENSE: &str = env!("CARGO_PKG_LICENSE");

/// FuseSoC: `fusesoc --cores-root DIR run --target lint warpline`.
fn core(design: &Design, device: &str) -> String {
    let files: String = design
        .modules
        .iter()
        .map(|module| format!("      - {}.sv\n", module.name))
        .collect();
    format!(
        "CAPI=2:
name: warpline:iwarp:{TOP}:{VERSION}
description: {device}

filesets:
  rtl:
    files:
{files}    file_type: systemVerilogSource
  registers_example:
    files:
      - {EXAMPLE}.sv
    file_type: systemVerilogSource

targets:
  default: &default
    filesets: [rtl]
    toplevel: {TOP}
  lint:
    <<: *default
    description: Verilator with all warnings
    default_tool: verilator
    tools:
      verilator:
        mode: lint-only
        verilator_options: [-Wall]
  registers_example:
    <<: *default
    description: The device with its registers connected and nothing else
    filesets: [rtl, registers_example]
    toplevel: {EXAMPLE}
    default_tool: verilator
    tools:
      verilator:
        mode: lint-only
        verilator_options: [-Wall]
"
    )
}

fn bender(design: &Design, device: &str) -> String {
    let files: String = design
        .modules
        .iter()
        .map(|module| format!("  - {}.sv\n", module.name))
        .collect();
    format!("# {device}\npackage:\n  name: {TOP}\n\nsources:\n{files}")
}

/// What is said of a port in the instance.
fn meaning(name: &str) -> Option<&'static str> {
    let known = PORTS.iter().find(|(start, _)| name.starts_with(start));
    known.map(|(_, meaning)| *meaning)
}

/// A comment of lines that are not too long.
fn comment(text: &str) -> String {
    let mut lines = vec![String::from("    //")];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < LINE => *line += &format!(" {word}"),
            _ => lines.push(format!("    // {word}")),
        }
    }
    lines.join("\n") + "\n"
}

/// The port list of an instance; `connect` says what goes into each port's parentheses.
fn connections(design: &Design, connect: impl Fn(&Port) -> String) -> String {
    let mut text = String::new();
    let mut said = None;
    let last = design.ports.len().saturating_sub(1);
    for (i, port) in design.ports.iter().enumerate() {
        let meaning = meaning(&port.name);
        if meaning != said {
            said = meaning;
            text += &comment(meaning.unwrap_or_default());
        }
        let comma = if i == last { "" } else { "," };
        text += &format!("    .{}({}){comma}\n", port.name, connect(port));
    }
    text
}

fn range(port: &Port) -> String {
    match port.width {
        1 => String::new(),
        width => format!("[{}:0] ", width - 1),
    }
}

/// Every port of the device, explained, with the signals that go with it.
fn instance(design: &Design, device: &str) -> String {
    let signals: String = design
        .ports
        .iter()
        .map(|port| {
            let direction = match port.direction {
                Direction::Input => "to the device",
                Direction::Output => "from the device",
            };
            format!("wire {}{}; // {direction}\n", range(port), port.name)
        })
        .collect();
    format!(
        "// An instance of the device, to copy.\n// {TOP} {VERSION}: {device}.\n{signals}\n{TOP} {TOP}_i (\n{});\n",
        connections(design, |port| port.name.clone())
    )
}

/// A device whose registers alone are connected: nothing comes from the network, memory takes everything.
fn registers_example(design: &Design) -> String {
    let outside = |port: &Port| {
        port.name.starts_with("s_axil_") || port.name == "aclk" || port.name == "aresetn"
    };
    let ports: Vec<_> = design.ports.iter().filter(|port| outside(port)).collect();
    let ports: Vec<_> = ports
        .iter()
        .map(|port| {
            let direction = match port.direction {
                Direction::Input => "input  wire",
                Direction::Output => "output wire",
            };
            format!("    {direction} {}{}", range(port), port.name)
        })
        .collect();
    let connect = |port: &Port| match port.direction {
        _ if outside(port) => port.name.clone(),
        // Ready, so that a burst ends that a wrong program asks for.
        Direction::Input if port.name.ends_with("ready") => "1'b1".into(),
        Direction::Input => format!("{}'b0", port.width),
        Direction::Output => String::new(),
    };
    format!(
        "// The device with its registers only: identity, commands and counters can be tried; no segment ever comes.
/* verilator lint_off PINCONNECTEMPTY */ // what leaves the device besides has no use here
module {EXAMPLE} (
{}
);
{TOP} {TOP}_i (
{});
endmodule
",
        ports.join(",\n"),
        connections(design, connect)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_is_explained() {
        let config = Config::simulated(64);
        let design = warpline_design::design(&config).unwrap();
        for port in &design.ports {
            assert!(meaning(&port.name).is_some(), "{}", port.name);
        }
        let text = instance(&design, &description(&config));
        assert!(text.lines().all(|line| line.len() <= LINE));
        let said = text.replace("\n    //", "");
        for (_, meaning) in PORTS {
            assert!(said.contains(meaning), "{meaning}");
        }
    }
}
