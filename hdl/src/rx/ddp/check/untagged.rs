//! Untagged checks (RFC 5041 §7.1, AMB-04 to AMB-07): is the MSN allowed, does the payload fit its buffer, and have all octets of the
//! message come?
//!
//! ```text
//!             stage 1                        stage 2
//!  MSN ─────► less the expected ────────────► strict: not 0; window: behind ─► msn
//!  posted ─────────────────────────────────► not above that ─► nobuf
//!  MO ──────► MO < length, MO = length ────► outside ──┬───► mo
//!             MO ≠ placed ─────────────────► strict MO ┘
//!             MO + n ──────────────────────► over length ──► len, length of the message
//!             placed + n ──────────────────► other than MO + n ─► hole
//!             address + MO (low) ──────────► (high) ───────► address
//! ```
//!
//! If the lower layer delivers in order, only the next message of a queue is allowed (strict MSN). In a window any
//! message with a buffer is, and half of the number circle divides MSNs ahead from those behind (AMB-24). Inputs must
//! be stable: results are valid [`LATENCY`] cycles after their last change.
use super::receive_queues::{MessageState, QueueState, ReceiveBuffer};
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Cycles from the last input to the results.
pub const LATENCY: u64 = 2;

/// The checks of a segment against the buffer of its MSN; every `fails_` output is one bit of the report.
#[derive(Block)]
#[block(default)]
pub struct UntaggedChecks {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// MSN of the segment.
    pub msn: Signal<In, Bits<32>>,
    /// Its message offset.
    pub offset: Signal<In, Bits<32>>,
    /// Its payload octets.
    pub length: Signal<In, Bits<16>>,
    /// State of its queue.
    pub state: Signal<In, QueueState>,
    /// Buffer of that queue for the MSN.
    pub buffer: Signal<In, ReceiveBuffer>,
    /// State of the message before.
    pub message: Signal<In, MessageState>,
    /// The MO must equal the number of octets that have come.
    pub strict_offset: Signal<In, Bit>,
    /// Any MSN of the window is allowed, not only the expected one.
    pub window: Signal<In, Bit>,
    /// It is the last segment of its message.
    pub last: Signal<In, Bit>,
    /// RsvdULP bits 0 to 7 of the segment.
    pub rsvd_ulp_first: Signal<In, Bits<8>>,
    /// Bits 8 to 39.
    pub rsvd_ulp_low: Signal<In, Bits<32>>,
    /// How far the MSN is ahead of the expected one, modulo 2^32; from one cycle after `state` on.
    pub distance: Signal<Out, Bits<32>>,
    /// The MSN is not allowed.
    pub fails_msn: Signal<Out, Bit>,
    /// Nothing is posted for it.
    pub fails_buffer: Signal<Out, Bit>,
    /// MO outside the buffer, or not the required one.
    pub fails_offset: Signal<Out, Bit>,
    /// The payload passes the buffer's end.
    pub fails_length: Signal<Out, Bit>,
    /// Bus address of the first payload octet.
    pub address: Signal<Out, Bits<64>>,
    /// MO + n: length of the message when this is its last segment.
    pub message_length: Signal<Out, Bits<32>>,
    /// State of the message with this segment.
    pub progress: Signal<Out, MessageState>,
    /// When this is its last segment: the octets that have come are more or fewer than the message has.
    pub hole: Signal<Out, Bit>,
    /// The same for a closed message, without the segment; from one cycle after `message` on.
    pub closed_hole: Signal<Out, Bit>,

    address_low: Signal<Local, Bits<32>>,
    address_high: Signal<Local, Bits<32>>,
    distance_1: Dff<Bits<32>>,
    closed_hole_1: Dff<Bit>,
    msn_2: Dff<Bit>,
    buffer_2: Dff<Bit>,
    below_1: Dff<Bit>,
    same_1: Dff<Bit>,
    end_1: Dff<Bits<33>>,
    address_low_1: Dff<Bits<33>>,
    moved_1: Dff<Bit>,
    placed_1: Dff<Bits<33>>,
    hole_2: Dff<Bit>,
    offset_2: Dff<Bit>,
    length_2: Dff<Bit>,
    address_high_2: Dff<Bits<32>>,
}

impl Logic for UntaggedChecks {
    #[hdl_gen]
    fn update(&mut self) {
        self.address_low.next = self.buffer.val().address.get_bits::<32>(0);
        self.address_high.next = self.buffer.val().address.get_bits::<32>(32);

        comment!("stage 1");
        self.distance_1.d.next = self.msn.val() - self.state.val().msn;
        self.closed_hole_1.d.next =
            self.message.val().countless | (self.message.val().placed != self.message.val().length);
        self.below_1.d.next = self.offset.val() < self.buffer.val().length;
        self.same_1.d.next = self.offset.val() == self.buffer.val().length;
        self.end_1.d.next =
            bit_cast::<33, 32>(self.offset.val()) + bit_cast::<33, 16>(self.length.val());
        self.address_low_1.d.next =
            bit_cast::<33, 32>(self.address_low.val()) + bit_cast::<33, 32>(self.offset.val());
        self.moved_1.d.next =
            self.message.val().countless | (self.offset.val() != self.message.val().placed);
        self.placed_1.d.next =
            bit_cast::<33, 32>(self.message.val().placed) + bit_cast::<33, 16>(self.length.val());

        comment!("stage 2: an empty segment may lie at the very end of the buffer");
        self.offset_2.d.next = !(self.below_1.q.val()
            | (self.same_1.q.val() & !self.length.val().any()))
            | (self.strict_offset.val() & self.moved_1.q.val());
        self.length_2.d.next = self.end_1.q.val().get_bit(32)
            | (self.buffer.val().length < self.end_1.q.val().get_bits::<32>(0));
        self.address_high_2.d.next =
            self.address_high.val() + self.address_low_1.q.val().get_bit(32);
        self.msn_2.d.next = self.distance_1.q.val().any();
        if self.window.val() {
            self.msn_2.d.next = self.distance_1.q.val().get_bit(31);
        }
        self.buffer_2.d.next = self.distance_1.q.val().get_bits::<23>(9).any()
            | (self.distance_1.q.val().get_bits::<9>(0) >= self.state.val().posted);
        self.distance.next = self.distance_1.q.val();

        comment!("the first last segment fixes length and RsvdULP");
        self.progress.next.closed = self.message.val().closed | self.last.val();
        self.progress.next.anomaly = self.message.val().closed;
        self.progress.next.length = self.end_1.q.val().get_bits::<32>(0);
        self.progress.next.rsvd_ulp_first = self.rsvd_ulp_first.val();
        self.progress.next.rsvd_ulp_low = self.rsvd_ulp_low.val();
        if self.message.val().closed {
            self.progress.next.length = self.message.val().length;
            self.progress.next.rsvd_ulp_first = self.message.val().rsvd_ulp_first;
            self.progress.next.rsvd_ulp_low = self.message.val().rsvd_ulp_low;
        }
        self.progress.next.placed = self.placed_1.q.val().get_bits::<32>(0);
        self.progress.next.countless =
            self.message.val().countless | self.placed_1.q.val().get_bit(32);
        self.hole_2.d.next = self.message.val().countless
            | self.placed_1.q.val().get_bit(32)
            | (self.placed_1.q.val().get_bits::<32>(0) != self.end_1.q.val().get_bits::<32>(0));

        self.hole.next = self.hole_2.q.val();
        self.closed_hole.next = self.closed_hole_1.q.val();
        self.fails_msn.next = self.msn_2.q.val();
        self.fails_buffer.next = self.buffer_2.q.val();
        self.fails_offset.next = self.offset_2.q.val();
        self.fails_length.next = self.length_2.q.val();
        self.address.next = bit_cast::<64, 32>(self.address_low_1.q.val().get_bits::<32>(0))
            | (bit_cast::<64, 32>(self.address_high_2.q.val()) << 32);
        self.message_length.next = self.end_1.q.val().get_bits::<32>(0);
    }
}
