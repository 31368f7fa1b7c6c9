//! Access fence: rises when every segment that entered the transmit path before it has left.
//!
//! ```text
//!  pieces into local_access ─► last ones: entered ─┐
//!                              others: +1 ─────────┼─ fence ─► goal ─┐
//!  settle: settled ──────────────────────► left ───┼────────────────=┴─► passed
//! ```
//!
//! Segments leave the transmit path in the order in which they enter it, so a count of each is enough. A segment is looked up
//! piece by piece: one of which a piece has entered, but not the last one, counts as entered.
//!
//! `passed` is valid from the next cycle behind `fence` on, and is high 2 cycles behind it or behind the last `settled`. What enters later is looked up later, so it does not see
//! an entry that was cleared before.
//!
//! Assumption: fewer than 2^8 segments are under way (`settle` has room for 32).
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Block;
use warpline_sv_writer::dff::Dff;

/// The fence.
#[derive(Block, Default)]
pub struct AccessFence {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// A piece of a segment is accepted by `local_access`.
    pub piece: Signal<In, Bit>,
    /// With `piece`: it is the last one of its segment.
    pub piece_last: Signal<In, Bit>,
    /// Pulse: a segment has left the transmit path.
    pub settled: Signal<In, Bit>,
    /// Pulse: begins.
    pub fence: Signal<In, Bit>,
    /// All segments in front of the last fence have left.
    pub passed: Signal<Out, Bit>,

    entered: Dff<Bits<8>>,
    part: Dff<Bit>,
    left: Dff<Bits<8>>,
    goal: Dff<Bits<8>>,
    reached: Dff<Bit>,
    distance: Signal<Local, Bits<8>>,
}

impl Logic for AccessFence {
    #[hdl_gen]
    fn update(&mut self) {
        if self.piece.val() {
            self.part.d.next = !self.piece_last.val();
            if self.piece_last.val() {
                self.entered.d.next = self.entered.q.val() + 1;
            }
        }
        if self.settled.val() {
            self.left.d.next = self.left.q.val() + 1;
        }
        if self.fence.val() {
            self.goal.d.next = self.entered.q.val();
            if self.part.q.val() | self.piece.val() {
                self.goal.d.next = self.entered.q.val() + 1;
            }
        }
        self.distance.next = self.goal.q.val() - self.left.q.val();
        if !self.distance.val().any() {
            self.reached.d.next = true;
        }
        if self.fence.val() {
            self.reached.d.next = false;
        }
        self.passed.next = self.reached.q.val();
        if self.reset.val() {
            self.entered.d.next = 0.into();
            self.part.d.next = false;
            self.left.d.next = 0.into();
            self.goal.d.next = 0.into();
            self.reached.d.next = false;
        }
    }
}
