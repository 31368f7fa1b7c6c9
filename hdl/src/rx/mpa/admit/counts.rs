//! Counts: segments that end, segments of which something was dropped, octets accepted.
//!
//! ```text
//!  beat, with or without new octets ──► dropped in this segment? ──► segments, segments_dropped, octets
//! ```
//!
//! Latency: one cycle. Throughput: one beat a cycle.
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Block;
use warpline_sv_writer::dff::Dff;

/// Pulses for the device's counters.
#[derive(Block)]
#[block(default)]
pub struct Counts {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// A beat has been decided.
    pub came: Signal<In, Bit>,
    /// It is the first one of its segment.
    pub first: Signal<In, Bit>,
    /// It is the last one of its segment.
    pub ends: Signal<In, Bit>,
    /// Octets of it that are no duplicates are dropped.
    pub drops: Signal<In, Bit>,
    /// Octets of it are accepted:
    pub accept: Signal<In, Bit>,
    /// those from here
    pub skip: Signal<In, Bits<8>>,
    /// up to here.
    pub upto: Signal<In, Bits<8>>,
    /// Pulse: a segment has ended.
    pub segments: Signal<Out, Bit>,
    /// Pulse: octets of that segment that are no duplicates were dropped.
    pub segments_dropped: Signal<Out, Bit>,
    /// Octets accepted in this cycle.
    pub octets: Signal<Out, Bits<8>>,

    lost: Dff<Bit>,
    loses: Signal<Local, Bit>,
    ended: Dff<Bit>,
    dropped: Dff<Bit>,
    accepted: Dff<Bits<8>>,
}

impl Logic for Counts {
    #[hdl_gen]
    fn update(&mut self) {
        self.loses.next = self.drops.val() | (self.lost.q.val() & !self.first.val());
        if self.came.val() {
            self.lost.d.next = self.loses.val();
        }
        self.ended.d.next = self.ends.val();
        self.dropped.d.next = self.ends.val() & self.loses.val();
        self.accepted.d.next = 0.into();
        if self.accept.val() {
            self.accepted.d.next = self.upto.val() - self.skip.val();
        }
        self.segments.next = self.ended.q.val();
        self.segments_dropped.next = self.dropped.q.val();
        self.octets.next = self.accepted.q.val();
        if self.reset.val() {
            self.ended.d.next = false;
            self.dropped.d.next = false;
            self.accepted.d.next = 0.into();
        }
    }
}
