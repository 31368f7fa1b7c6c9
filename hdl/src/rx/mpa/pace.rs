//! Pace: how many FPDUs of each stream may be under way while descriptors of its receive rings are.
//!
//! ```text
//!  scan ─ issued ──────────────────► +1 ─┐
//!  check ─ consumed ─► later ──────► −1 ─┴─ under way ─┬─► may_run, may_issue ─► scan
//!  receive_rings ─ scarce, few, empty ─────────────────┘
//! ```
//!
//! An untagged FPDU that comes to `check` in front of its buffer holds up all streams until the descriptor has been read. So it
//! is held back in its ring, where it holds up its own stream only: while a stream is short of buffers, no more of its FPDUs are
//! under way than it has.
//!
//! | supply | unused buffers of the worst queue | FPDUs of the stream |
//! |---|---|---|
//! | none of the three | enough, or none is under way | go |
//! | `scarce` | [`SOME`] or more | go while fewer than [`RUN`] are under way |
//! | `few` | one or more | go one by one |
//! | `empty` | none | are held |
//!
//! `may_run` lets `scan` issue FPDUs as it finds them, `may_issue` a single one whose length is known. An FPDU that is issued
//! counts from the third cycle on; meanwhile [`LAG`] more can follow it where `may_run` is high, and none where only `may_issue`
//! is, since `scan` takes longer from one to the next. FPDUs of other queues and tagged ones count as well: what an FPDU is, is
//! known behind its ring only.
//!
//! Assumptions: `consumed` pulses once for each `issued`, not before a buffer that the FPDU uses is reported by `took`. It counts
//! when the supply shows that buffer as used: an FPDU is under way, or its buffer is gone, or both. At most 127 FPDUs of a stream are
//! under way; when a stream is armed, there are none.
//!
//! Latency: a cycle from the supply, three from `issued` to the outputs.
use crate::host::receive_rings::{SOME, SUPPLIED};
use crate::parts::delay::Delay;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::{Block, Dff, Record, comment};

/// FPDUs under way from which on no other one follows while buffers are scarce.
pub const RUN: usize = 4;
/// FPDUs that `scan` may issue behind one before it counts.
pub const LAG: usize = 4;
const _: () = assert!(RUN + LAG <= SOME && RUN.is_power_of_two());

/// An FPDU that `check` has finished.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
struct Finished {
    /// There is one.
    valid: Bit,
    /// Its stream.
    stream: Bits<4>,
}

/// The pace of S streams.
#[derive(Block)]
#[block(default)]
pub struct Pace<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Pulse: an FPDU of `issued_stream` was issued.
    pub issued: Signal<In, Bit>,
    /// Its stream.
    pub issued_stream: Signal<In, Bits<8>>,
    /// Pulse: `check` has finished an FPDU of `consumed_stream`.
    pub consumed: Signal<In, Bit>,
    /// Its stream.
    pub consumed_stream: Signal<In, Bits<8>>,
    /// From `receive_rings`: buffers of the stream are under way, and few enough are unused,
    pub scarce: [Signal<In, Bit>; S],
    /// fewer than [`SOME`] in one of its queues,
    pub few: [Signal<In, Bit>; S],
    /// or none.
    pub empty: [Signal<In, Bit>; S],
    /// FPDUs of the stream may be issued as they are found.
    pub may_run: [Signal<Out, Bit>; S],
    /// One FPDU may be issued.
    pub may_issue: [Signal<Out, Bit>; S],

    came: Dff<Bit>,
    came_stream: Dff<Bits<8>>,
    #[value(Delay::new(SUPPLIED))]
    left: Delay<Finished>,
    under_way: [Dff<Bits<7>>; S],
    runs: [Dff<Bit>; S],
    issues: [Dff<Bit>; S],

    up: [Signal<Local, Bit>; S],
    down: [Signal<Local, Bit>; S],
    some_run: [Signal<Local, Bit>; S],
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(RUN)]
    run: Constant<Bits<7>>,
}

impl<const S: usize> Logic for Pace<S> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("FPDUs under way, registered first for the distance");
        self.came.d.next = self.issued.val();
        self.came_stream.d.next = self.issued_stream.val();
        self.left.d.next.valid = self.consumed.val() & !self.reset.val();
        self.left.d.next.stream = self.consumed_stream.val().get_bits::<4>(0);
        for i in 0..S {
            self.up[i].next = self.came.q.val()
                & (self.came_stream.q.val().get_bits::<4>(0) == self.index[i].val());
            self.down[i].next =
                self.left.q.val().valid & (self.left.q.val().stream == self.index[i].val());
            if self.up[i].val() & !self.down[i].val() {
                self.under_way[i].d.next = self.under_way[i].q.val() + 1;
            }
            if self.down[i].val() & !self.up[i].val() {
                self.under_way[i].d.next = self.under_way[i].q.val() - 1;
            }
            if self.reset.val() {
                self.under_way[i].d.next = 0.into();
            }

            comment!("one that comes in this cycle forbids another single one");
            self.some_run[i].next = !self.scarce[i].val()
                | (!self.few[i].val() & (self.under_way[i].q.val() < self.run.val()));
            self.runs[i].d.next = self.some_run[i].val();
            self.issues[i].d.next = self.some_run[i].val()
                | (!self.empty[i].val() & !self.under_way[i].q.val().any() & !self.up[i].val());
            self.may_run[i].next = self.runs[i].q.val();
            self.may_issue[i].next = self.issues[i].q.val();
        }
        if self.reset.val() {
            self.came.d.next = false;
        }
    }
}
