//! What an observer of a card finds.

use warpline_regmap::layout::error_record;

/// A card at one moment. Counters of the device count modulo 2^32 and begin at 0 with each reset; `resets` tells which one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// Cycles since the card was opened.
    pub cycles: u64,
    /// Resets since then, the first one included.
    pub resets: u64,
    /// Octets of each stream's assembly ring.
    pub ring_octets: u32,
    /// `SEGMENTS`: TCP segments received.
    pub segments: u32,
    /// `OCTETS`: stream octets accepted for the first time.
    pub octets: u32,
    /// `SEGMENTS_DROPPED`.
    pub segments_dropped: u32,
    /// `FPDUS`.
    pub fpdus: u32,
    /// `FPDUS_DISCARDED`.
    pub fpdus_discarded: u32,
    /// `PAYLOAD_OCTETS`: accepted for placement.
    pub payload_octets: u32,
    /// `ERRORS`: streams frozen by an error.
    pub errors: u32,
    /// Octets of all streams that TCP has accepted for sending since the card was opened.
    pub sent: u64,
    /// Bursts and beats of the bus that were answered with an error since the card was opened.
    pub bus_errors: u64,
    /// The completion queue.
    pub completions: QueueFill,
    /// All streams of the device.
    pub streams: Vec<StreamObservation>,
}

/// How full a queue in host memory is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueFill {
    /// Entries in use.
    pub used: u32,
    /// Entries that there are; 0: no queue.
    pub entries: u32,
}

/// What a stream is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamState {
    /// No host uses it.
    #[default]
    Free,
    /// It can receive. If it sends, its gate is still closed.
    Armed,
    /// It can receive and send.
    Open,
    /// The peer has closed its direction, behind a whole FPDU.
    Ended,
    /// An error has stopped it.
    Frozen,
    /// `CLOSE_STREAM` is under way.
    Closing,
}

/// A stream at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamObservation {
    /// What it is doing.
    pub state: StreamState,
    /// How often it was armed since the device was reset.
    pub arms: u64,
    /// In-order octets received since it was armed.
    pub received: u64,
    /// Octets that the peer may send now: up to `STREAM_LIMIT`.
    pub window: u32,
    /// In-order octets in its assembly ring. Those behind a gap are not among them.
    pub ring: u32,
    /// Buffers of all its untagged queues that are posted and not used up.
    pub buffers: u32,
    /// Its send ring: slots that the device has not given back. Requests that are not signalled are given back with a later one,
    /// or when all are done.
    pub sends: QueueFill,
    /// `TRANSMIT_STATE`.
    pub transmit: u32,
    /// Octets that TCP has accepted for sending since the stream was armed.
    pub sent: u64,
    /// `ERROR_RECORD`, if it is valid.
    pub error: Option<[u32; error_record::WORDS]>,
}
