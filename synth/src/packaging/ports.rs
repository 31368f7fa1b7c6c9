//! What an integrator has to know of each port, and the interfaces that the ports form.

use warpline_hdl::host::read_mux;
use warpline_sv_writer::{Direction, Port};

/// Write addresses that the device may issue ahead of their data: 16 in the write mux's queue of owners, one whose owner is
/// selected, and two single beats in the output and skid registers. `tests/packaging/bus.rs` measures it.
pub const ADDRESSES_AHEAD: usize = 19;
/// Write bursts that may await their responses: 128 in the write mux's queue of owners, and the oldest beside it. Measured
/// likewise.
pub const AWAITING_RESPONSES: usize = 129;

/// Of the ports that `--axi-ids` adds.
const IDS: &str = "AXI4 IDs, added by --axi-ids: all transactions use one ID. AWID and ARID are zero; BID and RID are ignored.";

/// Ports by the beginning of their names, with their purpose; signals of AXI interfaces have the standard's meaning.
const PORTS: [(&str, &str); 19] = [
    ("aclk", "The clock of all ports."),
    (
        "aresetn",
        "Reset, active low, sampled by aclk: synchronous. One cycle is enough; the device holds its own reset for 31 more.",
    ),
    (
        "s_axis_segment_tready",
        "Always 1: octets that do not fit the ring are dropped; the peer has to send them again.",
    ),
    (
        "s_axis_segment_",
        "TCP payload, AXI4-Stream, one segment per packet. tdest: stream. tuser[31:0]: sequence number of the segment's first \
octet, the same in all its beats. tuser[32]: a FIN follows the segment's last octet; tuser[33]: the connection is lost. The device \
reads both in the beat with tlast only, so a source may drive them in all beats. tkeep: contiguous from octet 0, all ones except \
in the last beat, all zeros in a segment without payload. Packets are not interleaved. Segments of a stream that is not \
armed, or does not exist, are dropped and counted. Arm a stream again only after the last beat of its former connection.",
    ),
    (
        "m_axis_window_",
        "Acknowledgement and window of a stream (tdest) for TCP to send, AXI4-Stream, the streams in turn. tdata[31:0]: acknowledge \
up to this sequence number; tdata[63:32]: right edge of the window to advertise. The device reports streams that are not armed as \
well: ignore those. A report that is stalled is not withdrawn when its stream is armed again: ignore an acknowledgement outside \
the range from the last acknowledged to the last sent octet.",
    ),
    (
        "s_axil_control_",
        "Registers and mailbox for the card's control program, AXI4-Lite, 4 KiB, the same map: the other end of the mailbox, and a pair \
of ARGUMENT and COMMAND of its own. Registers that belong to the host can be read. Tie the VALIDs to 0 if there is no control program.",
    ),
    (
        "s_axis_sctp_",
        "User data of SCTP DATA chunks of DDP, AXI4-Stream, one whole chunk per packet: fragments are joined in front. tdest: stream. \
tuser[0]: 1 for a session control message (PPID 17), 0 for a DDP segment (PPID 16); tuser[1]: 1 for the control message that ends the \
peer's half of the session, Terminate; both the same in all its beats. First octet: DDP-SSN, high half. tkeep: contiguous from octet 0, all ones except in the last beat. Packets are not interleaved. tready depends on m_axis_chunk.",
    ),
    (
        "m_axis_chunk_",
        "What became of each chunk, AXI4-Stream, one beat each, in the order of arrival. tdest: stream. tdata[15:0]: DDP-SSN; tdata[23:16]: 0 \
taken, SCTP may acknowledge it; 1 here already, acknowledge it; 2 no room, do not acknowledge it, or present it again; 3 invalid, the \
stream has failed; 4 the stream is no session of SCTP.",
    ),
    (
        "s_axil_",
        "Registers, AXI4-Lite, 4 KiB: see the SystemRDL description and the C header.",
    ),
    ("m_axi_awid", IDS),
    ("m_axi_arid", IDS),
    ("m_axi_bid", IDS),
    ("m_axi_rid", IDS),
    (
        "m_axi_aw",
        "Host memory, AXI4: write bursts of payload and completions; no burst crosses 4 KiB. Up to {ahead} addresses go ahead of their \
data. WVALID does not depend on AWREADY: data may also be offered, and be complete, before the address is accepted. Up to \
{outstanding} bursts await their responses. A response has to mean that the host sees the octets (AWCACHE: normal, not bufferable): \
the device writes a completion, and ends a revocation, only after the responses to the writes before it.",
    ),
    (
        "m_axi_",
        "Host memory, AXI4. All transactions use one ID, so responses come in order; there are no ID signals unless --axi-ids adds them. A device that \
receives only reads nothing but receive descriptors, one burst at a time. One that sends reads send slots and payload, too: up to \
{reads} read bursts are under way, none crosses 4 KiB, and RREADY does not depend on other channels.",
    ),
    (
        "s_axis_send_",
        "Commands of TCP to the transmit rings, AXI4-Stream, one beat each. tdest: stream. tdata[31:0]: sequence number; tdata[47:32]: \
octets; tdata[49:48]: 0 SEND, emit these octets, first or again; 1 ACKNOWLEDGE, octets in front of the sequence number are free; 2 \
MEASURE, report the last FPDU boundary among these octets. Executed in order.",
    ),
    (
        "m_axis_transmit_",
        "Octets for TCP to send, AXI4-Stream, a packet for each SEND, in their order. tdest: stream. tuser: sequence number of the packet's \
first octet, the same in all its beats. tkeep: contiguous from octet 0, all ones except in the last beat. What is not accepted holds \
up what other streams have asked for.",
    ),
    (
        "m_axis_status_",
        "Reports of the transmit rings, AXI4-Stream, one beat each. tdest: stream. tdata[81:80]: 0 whole FPDUs have been added; 1 the answer to a \
MEASURE; 2 a SEND or MEASURE is refused. tdata[31:0]: sequence number behind the last octet that can be sent; tdata[63:32]: free \
octets of the ring; tdata[79:64]: with 1, octets to the boundary.",
    ),
    (
        "m_axis_msix_",
        "Interrupts, AXI4-Stream: number of the MSI-X vector to send; 0: a completion, 1: a completion could not be written, 2, of a device \
that sends: the mailbox. The PCIe endpoint holds the table of vectors.",
    ),
];

/// What a device with both options adds to the meaning of a port.
const CHUNKS: (&str, &str) = (
    "m_axis_transmit_",
    " For a session of SCTP each SEND is one FPDU, and its packet is the user data of a DATA chunk: DDP-SSN, DDP segment; PPID 16, unordered. An \
FPDU is asked for once.",
);

/// What an integrator has to know of the port called `name` of a device with these ports.
pub(super) fn meaning(name: &str, ports: &[Port]) -> Option<String> {
    let (_, meaning) = PORTS.iter().find(|(start, _)| name.starts_with(start))?;
    let (of_chunks, added) = CHUNKS;
    let has_chunks = ports
        .iter()
        .any(|port| port.name.starts_with("s_axis_sctp_"));
    let added = match has_chunks && name.starts_with(of_chunks) {
        true => added,
        false => "",
    };
    let meaning = meaning.to_string() + added;
    let meaning = meaning.replace("{ahead}", &ADDRESSES_AHEAD.to_string());
    let meaning = meaning.replace("{outstanding}", &AWAITING_RESPONSES.to_string());
    Some(meaning.replace("{reads}", &read_mux::BURSTS.to_string()))
}

/// A bus interface: the ports that begin with its name.
pub(super) struct Interface {
    /// Name; its ports are called `<name>_<signal>`.
    pub(super) name: &'static str,
    /// Protocol.
    pub(super) protocol: Protocol,
    /// Whether the device is the master.
    pub(super) master: bool,
}

/// A protocol of AMBA 4.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Axi4,
    Axi4Lite,
    Axi4Stream,
}

/// All of them, some of which only a device that sends, or takes chunks of SCTP, has; clock and reset belong to none.
pub(super) const INTERFACES: [Interface; 11] = [
    interface("s_axis_segment", Protocol::Axi4Stream, false),
    interface("m_axis_window", Protocol::Axi4Stream, true),
    interface("s_axis_sctp", Protocol::Axi4Stream, false),
    interface("m_axis_chunk", Protocol::Axi4Stream, true),
    interface("s_axis_send", Protocol::Axi4Stream, false),
    interface("m_axis_transmit", Protocol::Axi4Stream, true),
    interface("m_axis_status", Protocol::Axi4Stream, true),
    interface("s_axil", Protocol::Axi4Lite, false),
    interface("s_axil_control", Protocol::Axi4Lite, false),
    interface("m_axi", Protocol::Axi4, true),
    interface("m_axis_msix", Protocol::Axi4Stream, true),
];

const fn interface(name: &'static str, protocol: Protocol, master: bool) -> Interface {
    Interface {
        name,
        protocol,
        master,
    }
}

impl Interface {
    /// The interface's name of the signal at `port`, if the port belongs to it.
    pub(super) fn signal(&self, port: &str) -> Option<String> {
        let signal = port.strip_prefix(self.name)?.strip_prefix('_')?;
        // No signal of AMBA has an underscore: `s_axil_control_awaddr` is not of `s_axil`.
        (!signal.contains('_')).then(|| signal.to_uppercase())
    }
}

/// The range of a port in a declaration, followed by a blank; empty for one bit.
pub(super) fn range(port: &Port) -> String {
    match port.width {
        1 => String::new(),
        width => format!("[{}:0] ", width - 1),
    }
}

/// The port list of an instance with comments; `connect` returns the expression for a port.
pub(super) fn connections(ports: &[Port], connect: impl Fn(&Port) -> String) -> String {
    let mut text = String::new();
    let mut said = None;
    let last = ports.len().saturating_sub(1);
    for (i, port) in ports.iter().enumerate() {
        let meaning = meaning(&port.name, ports);
        if meaning != said {
            text += &comment(meaning.as_deref().unwrap_or_default());
            said = meaning;
        }
        let comma = if i == last { "" } else { "," };
        text += &format!("    .{}({}){comma}\n", port.name, connect(port));
    }
    text
}

/// Longest line of a comment.
const LINE: usize = 120;

/// A comment in lines of at most [`LINE`] octets.
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

/// `input` or `output`, of equal width.
pub(super) fn direction(port: &Port) -> &'static str {
    match port.direction {
        Direction::Input => "input  wire",
        Direction::Output => "output wire",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_is_explained_and_every_explanation_printed() {
        let config = warpline_hdl::Config {
            transmit: true,
            sctp: Some(warpline_hdl::Sctp::default()),
            ..warpline_hdl::Config::simulated(64)
        };
        let mut design = warpline_design::design(&config).unwrap();
        warpline_design::add_axi_ids(&mut design, 4);
        for port in &design.ports {
            assert!(
                meaning(&port.name, &design.ports).is_some(),
                "{}",
                port.name
            );
        }
        let text = connections(&design.ports, |port| port.name.clone());
        assert!(text.lines().all(|line| line.len() <= LINE));
        let said = text.replace("\n    //", "");
        for (start, _) in PORTS {
            let meaning = meaning(start, &design.ports).unwrap();
            assert!(said.contains(&meaning), "{meaning}");
            assert!(!meaning.contains('{'), "{meaning}");
        }
    }

    #[test]
    fn every_port_but_clock_and_reset_is_of_one_interface() {
        let config = warpline_hdl::Config {
            transmit: true,
            sctp: Some(warpline_hdl::Sctp::default()),
            ..warpline_hdl::Config::simulated(64)
        };
        let design = warpline_design::design(&config).unwrap();
        for port in &design.ports {
            let of = INTERFACES
                .iter()
                .filter(|of| of.signal(&port.name).is_some());
            let expected = usize::from(!["aclk", "aresetn"].contains(&port.name.as_str()));
            assert_eq!(of.count(), expected, "{}", port.name);
        }
    }
}
