//! Everything that can go wrong, with the offending value and what to do about it.

use warpline_design::DesignError;

/// What the simulated card reports instead of a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such device.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// The model could not be built, stopped itself, or could not write a trace.
    #[error(transparent)]
    Model(#[from] warpline_verilate::Error),
    /// The device broke a rule of AXI; the card does not go on.
    #[error(transparent)]
    Violation(#[from] Violation),
    /// The device does not answer an access to a register.
    #[error(
        "no answer to the access of register {offset:#05x} after {cycles} cycles: look at a trace of s_axil"
    )]
    NoAnswer {
        /// Octet offset of the register.
        offset: u32,
        /// Cycles waited.
        cycles: u64,
    },
    /// An access outside of the registers.
    #[error("{offset:#x} is no register: use multiples of 4 below 0x1000")]
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
    /// No TCP segment has such a length.
    #[error("a segment of {length} octets: give 1 to 65535")]
    SegmentLength {
        /// Octets given.
        length: usize,
    },
    /// The card is at work, but gets nowhere.
    #[error("the card is not idle, and {cycles} cycles have moved nothing: look at a trace")]
    NotIdle {
        /// Cycles without progress.
        cycles: u64,
    },
    /// A range of bus addresses that is taken, or is not.
    #[error("bus addresses {iova:#x} to {iova:#x} + {length:#x} {problem}")]
    Map {
        /// First address.
        iova: u64,
        /// Octets.
        length: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// The system gives no thread or no socket.
    #[error("no thread or socket for the card: {0}")]
    Thread(std::io::Error),
    /// A card has one host at a time.
    #[error("another host uses the card: disconnect it first")]
    Busy,
    /// The host was given up.
    #[error("the host broke off: {0}")]
    Host(#[from] warpline_vfio_user::ServeError),
}

impl Error {
    /// A waveform could not be written: its path is to blame, not the card.
    #[must_use]
    pub fn is_output(&self) -> bool {
        matches!(self, Self::Model(warpline_verilate::Error::Write(_)))
    }

    /// The model could not be built: what Verilator or the compiler said is quoted, line by line.
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

/// Rules that are watched; the numbers are sections of IHI 0022E (AXI4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rule {
    /// §A3.2.1: valid stays high until the transfer.
    #[error("valid fell before the transfer")]
    ValidFell,
    /// §A3.2.1: what is valid does not change before the transfer.
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
    #[error("{beats} beats from {address:#x} on are not aligned, or leave their 256 octets")]
    CrossesBlock {
        /// ARADDR.
        address: u64,
        /// ARLEN + 1.
        beats: u16,
    },
    /// The device has one read burst under way at a time.
    #[error("a read burst at {address:#x} before the one in front of it is over")]
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
    /// §A3.4.3: no strobe in front of the address.
    #[error("strobes {strobes:#x} lie in front of address {address:#x}")]
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
