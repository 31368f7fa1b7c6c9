//! Everything that can go wrong, with the offending value and what to do about it.

use warpline_design::DesignError;

/// Errors of the simulated card.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration is not a device.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// The model could not be built, stopped itself, or could not write a trace.
    #[error(transparent)]
    Model(#[from] warpline_verilate::Error),
    /// The device broke a rule of AXI; the simulation stops.
    #[error(transparent)]
    Violation(#[from] Violation),
    /// A register did not answer an access.
    #[error(
        "register {offset:#05x} did not answer an access within {cycles} cycles: look at a waveform of s_axil"
    )]
    NoAnswer {
        /// Octet offset of the register.
        offset: u32,
        /// Cycles waited.
        cycles: u64,
    },
    /// An access outside of the registers.
    #[error("{offset:#x} is not a register: use multiples of 4 below 0x1000")]
    Offset {
        /// Octet offset asked for.
        offset: u32,
    },
    /// No such stream.
    #[error("the card has {streams} streams, stream {stream} does not exist: use 0 to {}", streams - 1)]
    NoStream {
        /// Stream asked for.
        stream: u8,
        /// Streams of the card.
        streams: usize,
    },
    /// The length of a TCP segment is out of range.
    #[error("a segment of {length} octets: use 1 to 65535")]
    SegmentLength {
        /// Octets given.
        length: usize,
    },
    /// The card works without progress.
    #[error("the card is not idle after {cycles} cycles without progress: look at a waveform")]
    NotIdle {
        /// Cycles without progress.
        cycles: u64,
    },
    /// A range of bus addresses cannot be mapped or unmapped.
    #[error("bus addresses {iova:#x} to {iova:#x} + {length:#x} {problem}")]
    Map {
        /// First address.
        iova: u64,
        /// Octets.
        length: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// The system refuses a thread or a socket.
    #[error("the system refuses a thread or socket for the card: {0}")]
    Thread(std::io::Error),
    /// The card has no register port for a control program.
    #[error("the card has no control port: open it with the option `transmit`")]
    NoControlPort,
    /// The text of the soft processor was not found.
    #[error(
        "no picorv32.v in {}: run tools/setup.sh, or name the file in WARPLINE_PICORV32",
        if searched.is_empty() { "any .venv above this folder".into() } else { searched.join(", ") }
    )]
    NoProcessor {
        /// Files that could not be read.
        searched: Vec<String>,
    },
    /// The image of a control program does not fit into RAM.
    #[error(
        "an image of {length} octets: use 1 to {}",
        warpline_regmap::processor::RAM_OCTETS
    )]
    Image {
        /// Octets of the image.
        length: usize,
    },
    /// The soft processor stopped: no instruction, no memory at an address, or the end of its program.
    #[error(
        "the soft processor stopped at an access to {address:#010x}: the image does not fit this version"
    )]
    Trap {
        /// Address of the last access.
        address: u32,
    },
    /// A card has one host at a time.
    #[error("another host uses the card: disconnect it first")]
    Busy,
    /// The host broke the protocol or disconnected.
    #[error("the host's connection failed: {0}")]
    Host(#[from] warpline_vfio_user::ServeError),
}

impl Error {
    /// Whether a waveform could not be written: the path is wrong, not the card.
    #[must_use]
    pub fn is_output(&self) -> bool {
        matches!(self, Self::Model(warpline_verilate::Error::Write(_)))
    }

    /// Whether the model could not be built: the error quotes Verilator's or the compiler's lines.
    #[must_use]
    pub fn is_of_build(&self) -> bool {
        use warpline_verilate::Error::{Compiler, Verilator};
        matches!(self, Self::Model(Compiler { .. } | Verilator { .. }))
    }
}

/// A rule of AXI that the device broke, where and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cycle {cycle}, {port}: {rule}")]
pub struct Violation {
    /// Cycle since the card was opened.
    pub cycle: u64,
    /// Port, as AXI names it.
    pub port: &'static str,
    /// The rule.
    pub rule: Rule,
}

/// Rules that are checked; the numbers are sections of IHI 0022E (AXI4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rule {
    /// §A3.2.1: valid stays high until the transfer.
    #[error("valid fell before the transfer")]
    ValidFell,
    /// §A3.2.1: the payload does not change before the transfer.
    #[error("payload changed before the transfer")]
    PayloadChanged,
    /// §A3.1.2: valid is low in reset.
    #[error("valid is high in reset")]
    ValidInReset,
    /// §A3.4.1: no burst crosses 4 KiB.
    #[error("{beats} beats from {address:#x} on cross 4 KiB")]
    Crosses4KiB {
        /// AWADDR.
        address: u64,
        /// AWLEN + 1.
        beats: u16,
    },
    /// The device's bursts are of whole beats.
    #[error("size {0}: not the width of the bus")]
    Size(u8),
    /// The device's bursts are incrementing ones.
    #[error("burst type {0}: not INCR")]
    Burst(u8),
    /// The device's read bursts are aligned, and stay in a block: of 4 KiB (§A3.4.1), or of 256 octets without the transmit
    /// path.
    #[error(
        "{beats} beats from {address:#x} on are not aligned, or leave their block of {block} octets"
    )]
    CrossesBlock {
        /// ARADDR.
        address: u64,
        /// ARLEN + 1.
        beats: u16,
        /// Octets of the block.
        block: u64,
    },
    /// The device has one read burst under way at a time, or some with the transmit path.
    #[error("a read burst at {address:#x} while {most} are under way")]
    ManyReads {
        /// ARADDR.
        address: u64,
        /// Most bursts under way.
        most: usize,
    },
    /// §A3.4.1: a burst has AWLEN + 1 beats, and WLAST marks the last one.
    #[error("WLAST ends a burst of {beats} beats after beat {beat}")]
    Last {
        /// AWLEN + 1.
        beats: u16,
        /// Beats up to WLAST.
        beat: usize,
    },
    /// §A3.4.1: WLAST comes with the last beat at the latest.
    #[error("no WLAST in {beats} beats")]
    NoLast {
        /// Beats without WLAST.
        beats: usize,
    },
    /// §A3.4.3: no strobe below the address.
    #[error("strobes {strobes:#x} lie below address {address:#x}")]
    Strobe {
        /// WSTRB.
        strobes: u64,
        /// AWADDR.
        address: u64,
    },
    /// A report about a chunk that is not the first one without a report.
    #[error(
        "status {status} of chunk {ssn} of stream {stream}, which is not the first one to be reported on"
    )]
    Chunk {
        /// The stream.
        stream: u8,
        /// DDP-SSN.
        ssn: u16,
        /// Status.
        status: u8,
    },
    /// §A3.3.1: a response follows its request.
    #[error("response without a request")]
    Unasked,
    /// The device has as many vectors as the register map says.
    #[error("message of vector {0}, which the device does not have")]
    Vector(u8),
    /// Registers always answer OKAY.
    #[error("response {0}: not OKAY")]
    Response(u8),
    /// A range of octets leaves the transmit ring as TCP has asked for it, in the order of the commands.
    #[error("octets of stream {stream} from {sequence:#010x} on are not what is asked for next")]
    Range {
        /// TDEST.
        stream: u8,
        /// TUSER.
        sequence: u32,
    },
    /// A beat of a range is full, or holds the rest and has TLAST.
    #[error(
        "a beat with TKEEP {keep:#x} and TLAST {last} where {left} octets of the range are left"
    )]
    Beat {
        /// TKEEP.
        keep: u64,
        /// TLAST.
        last: bool,
        /// Octets of the range from this beat on.
        left: usize,
    },
    /// Octets of a transmit ring do not change before they are acknowledged.
    #[error("octet {octet} of a range from {sequence:#010x} on is another one than before")]
    Resent {
        /// Sequence number of the range.
        sequence: u32,
        /// Octet of the range, from 0.
        octet: usize,
    },
    /// A report of the transmit ring fits a command, or an edge that has moved.
    #[error("report of kind {kind} for stream {stream} fits no command")]
    Report {
        /// TDEST.
        stream: u8,
        /// Kind of report.
        kind: u8,
    },
    /// The edge of a transmit ring moves on, by no more than there is room, and what is free follows acknowledgements.
    #[error("edge {edge:#010x} and {free} free octets of stream {stream} cannot be")]
    Edge {
        /// TDEST.
        stream: u8,
        /// Sequence number of the edge.
        edge: u32,
        /// Free octets.
        free: u32,
    },
    /// An FPDU boundary that TCP asks for lies among the octets it names.
    #[error("a boundary behind {found} of {asked} octets")]
    Boundary {
        /// Octets in front of it.
        found: u16,
        /// Octets in the command.
        asked: u16,
    },
}
