//! Random traffic for the whole device, compared with the reference receiver.
//!
//! ```text
//!           ┌─► Expected: reference receiver ─► memory, completions, errors ──┐
//!  seed ─► Scenario                                                           ├─ equal?
//!           └─► Bench: driver ─► simulated card ─► the same ──────────────────┘
//! ```
//!
//! One seed gives one [`Scenario`]: memory regions, streams with receive buffers, FPDUs good and bad, the TCP segments
//! that they arrive in, and how the host holds the card back. Scenarios of neighbouring seeds run on one card, mostly
//! without a reset between them: what a former owner of a stream, an STag or a buffer left behind would show.

mod bench;
mod coverage;
mod cut;
mod expect;
mod generate;
mod image;
pub mod long;
mod overtake;
mod runs;
mod slot;
mod stretches;
mod traffic;

pub use bench::{Bench, Failure, Outcome};
pub use coverage::{Bins, ERRORS, PLACES};
pub use expect::{Expected, Report};
pub use image::Image;
pub use runs::{CHAIN, Failed, Tally, run_chain, run_missing, run_streams};

use warpline_driver::StreamOptions;
use warpline_hdl::Config;
use warpline_sim::BackPressure;

/// Streams of the devices that scenarios are for.
pub const STREAMS: u8 = 4;
/// Untagged queues of each of their streams.
pub const QUEUES: u8 = 4;

/// A device of `width` bits with the smallest buffers: rings and commit buffer are gone round all the time, windows
/// close, and FPDUs can be too large (AMB-22).
#[must_use]
pub const fn small(width: usize) -> Config {
    Config {
        ring_octets: 4 << 10,
        commit_octets: 4 << 10,
        receive_slots: 16,
        ..Config::simulated(width)
    }
}

/// All that happens to the device, and in what order.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Where it comes from.
    pub seed: u64,
    /// The device is reset first and gets a completion queue of so many entries.
    pub restart: Option<u32>,
    /// How the host holds the card back.
    pub back_pressure: BackPressure,
    /// Number of protection domains.
    pub domains: usize,
    /// Memory regions, registered before the first phase.
    pub regions: Vec<Region>,
    /// Streams, armed before the first phase.
    pub streams: Vec<Stream>,
    /// What comes one after the other. Between two phases the card comes to rest.
    pub phases: Vec<Phase>,
}

/// A memory region.
#[derive(Clone, Debug)]
pub struct Region {
    /// Its STag.
    pub stag: u32,
    /// Its protection domain, an index.
    pub domain: usize,
    /// The stream that alone may use it.
    pub stream: Option<u8>,
    /// The peer may write.
    pub remote_write: bool,
    /// Tagged Offset of its first octet.
    pub base: u64,
    /// Octets of memory in front of it.
    pub offset: usize,
    /// Its octets.
    pub length: usize,
    /// Octets of memory behind it.
    pub behind: usize,
    /// Its STag is revoked before this phase.
    pub revoked: Option<usize>,
}

/// A stream.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Its number.
    pub number: u8,
    /// Its protection domain, an index.
    pub domain: usize,
    /// How it is armed.
    pub options: StreamOptions,
    /// What is wrong or odd about its octets, for people.
    pub oddities: Vec<String>,
    /// Its octets from position 0 on.
    pub wire: Vec<u8>,
    /// The peer's FIN stands behind them.
    pub fin: bool,
    /// What comes when all has come to rest.
    pub late: Option<Late>,
}

/// What a connection comes to at last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Late {
    /// Octets behind the peer's FIN (DDP-TEAR-08).
    Octets(Vec<u8>),
    /// It is lost.
    Lost,
}

/// A part of a scenario.
#[derive(Clone, Debug, Default)]
pub struct Phase {
    /// Buffers that are posted first.
    pub posts: Vec<Post>,
    /// Segments that arrive then.
    pub arrivals: Vec<Arrival>,
    /// Octets of each stream that have arrived without a gap by its end.
    pub received: Vec<usize>,
}

/// A receive buffer.
#[derive(Clone, Debug)]
pub struct Post {
    /// Its stream, an index.
    pub stream: usize,
    /// Its queue.
    pub queue: u8,
    /// Its octets.
    pub length: u32,
    /// Buffers of the same length that lie in front of it in memory and are not posted.
    pub in_front: usize,
}

/// A TCP segment.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// Its stream, an index.
    pub stream: usize,
    /// Sequence number of its first octet.
    pub sequence: u32,
    /// Its payload; without any it is there for the FIN.
    pub octets: Vec<u8>,
    /// The peer's FIN stands behind it.
    pub fin: bool,
    /// Cycles that pass behind it.
    pub pause: u64,
}
