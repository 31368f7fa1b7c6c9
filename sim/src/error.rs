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
    /// The device's read bursts are aligned and stay in a block of 256 octets.
    #[error(
        "{beats} beats from {address:#x} on are not aligned, or leave their block of 256 octets"
    )]
    CrossesBlock {
        /// ARADDR.
        address: u64,
        /// ARLEN + 1.
        beats: u16,
    },
    /// The device has one read burst under way at a time.
    #[error("a read burst at {address:#x} before the previous one has ended")]
    SecondRead {
        /// ARADDR.
        address: u64,
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
    /// §A3.3.1: a response follows its request.
    #[error("response without a request")]
    Unasked,
    /// The device has as many vectors as the register map says.
    #[error("message of vector {0}, which the device does not have")]
    Vector(u8),
    /// Registers always answer OKAY.
    #[error("response {0}: not OKAY")]
    Response(u8),
}
