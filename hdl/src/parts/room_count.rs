//! Room count: whether there is room behind a block for one record more.
//!
//! ```text
//!  enters ─► + ─┐
//!               ├─► under_way ─► below `most`? ─► has_room
//!  left ───► − ─┘
//! ```
//!
//! A block that is the only one to stall counts the records that it has sent on and that have not left the queue at their
//! end. `has_room` is a register, so a record that enters with it is counted one cycle too late for the next one: the queue
//! has room for two records when `has_room` is high, that is, [`RoomCount::new`] takes its depth less one.
//!
//! Latency: 2 cycles from `enters` and `left` to `has_room`.
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Block;
use warpline_sv_writer::dff::Dff;

/// The count.
#[derive(Block)]
#[block(most: usize)]
pub struct RoomCount {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset: nothing is under way, and there is no room before its end.
    pub reset: Signal<In, Bit>,
    /// A record enters; only while `has_room` is high.
    pub enters: Signal<In, Bit>,
    /// A record has left. A register: the handshake of a queue comes late.
    pub left: Signal<In, Bit>,
    /// A record may enter.
    pub has_room: Signal<Out, Bit>,

    under_way: Dff<Bits<8>>,
    below: Dff<Bit>,
    #[constant(most)]
    most: Constant<Bits<8>>,
}

impl RoomCount {
    /// Room as long as fewer than `most` records are under way.
    ///
    /// # Panics
    /// When `most` is not 1 to 254.
    #[must_use]
    pub fn new(most: usize) -> Self {
        assert!((1..255).contains(&most), "{most} records: give 1 to 254");
        Self::assemble(most)
    }
}

impl Logic for RoomCount {
    #[hdl_gen]
    fn update(&mut self) {
        self.has_room.next = self.below.q.val();
        if self.enters.val() & !self.left.val() {
            self.under_way.d.next = self.under_way.q.val() + 1;
        }
        if !self.enters.val() & self.left.val() {
            self.under_way.d.next = self.under_way.q.val() - 1;
        }
        self.below.d.next = self.under_way.q.val() < self.most.val();
        if self.reset.val() {
            self.under_way.d.next = 0.into();
            self.below.d.next = false;
        }
    }
}
