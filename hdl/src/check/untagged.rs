//! Untagged checks (RFC 5041 §7.1, AMB-04, AMB-05, AMB-07): is this the expected message, does the payload fit its
//! buffer, and have as many octets come as the message has?
//!
//! ```text
//!             stage 1                        stage 2
//!  MSN ─────► other than the expected ─────────────────────► msn
//!  posted ──► nothing ─────────────────────────────────────► nobuf
//!  MO ──────► MO < length, MO = length ────► outside ──┬───► mo
//!             MO ≠ placed ─────────────────► strict MO ┘
//!             MO + n ──────────────────────► over length ──► len, length of the message
//!             placed + n ──────────────────► other than MO + n ─► hole
//!             address + MO (low) ──────────► (high) ───────► address
//! ```
//!
//! TCP delivers in order, so that only the next message of a queue can come (strict MSN). Inputs are held: results are
//! right [`LATENCY`] cycles after the last change.
use super::receive_queues::{MessageState, QueueState, ReceiveBuffer};
use crate::dff::Dff;
use crate::util::d;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::dff_setup;

/// Cycles from the last input to the results.
pub const LATENCY: u64 = 2;

/// The checks of a segment against the buffer of its MSN; every `fails_` output is one bit of the report.
#[derive(LogicBlock)]
pub struct UntaggedChecks {
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
    /// What has come of the message before.
    pub message: Signal<In, MessageState>,
    /// The MO has to be the number of octets that have come.
    pub strict_offset: Signal<In, Bit>,
    /// The MSN is not the expected one.
    pub fails_msn: Signal<Out, Bit>,
    /// Nothing is posted.
    pub fails_buffer: Signal<Out, Bit>,
    /// MO outside the buffer, or not where it has to be.
    pub fails_offset: Signal<Out, Bit>,
    /// The payload runs over the buffer's end.
    pub fails_length: Signal<Out, Bit>,
    /// Bus address of the first payload octet.
    pub address: Signal<Out, Bits<64>>,
    /// MO + n: length of the message when this is its last segment.
    pub message_length: Signal<Out, Bits<32>>,
    /// What has come of the message with this segment.
    pub progress: Signal<Out, MessageState>,
    /// When this is its last segment: the octets that have come are more or fewer than the message has.
    pub hole: Signal<Out, Bit>,

    address_low: Signal<Local, Bits<32>>,
    address_high: Signal<Local, Bits<32>>,
    msn_1: Dff<Bit>,
    buffer_1: Dff<Bit>,
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

impl Default for UntaggedChecks {
    fn default() -> Self {
        Self {
            clock: d(),
            msn: d(),
            offset: d(),
            length: d(),
            state: d(),
            buffer: d(),
            message: d(),
            strict_offset: d(),
            fails_msn: d(),
            fails_buffer: d(),
            fails_offset: d(),
            fails_length: d(),
            address: d(),
            message_length: d(),
            progress: d(),
            hole: d(),
            address_low: d(),
            address_high: d(),
            msn_1: d(),
            buffer_1: d(),
            below_1: d(),
            same_1: d(),
            end_1: d(),
            address_low_1: d(),
            moved_1: d(),
            placed_1: d(),
            hole_2: d(),
            offset_2: d(),
            length_2: d(),
            address_high_2: d(),
        }
    }
}

impl Logic for UntaggedChecks {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            msn_1,
            buffer_1,
            below_1,
            same_1,
            end_1,
            address_low_1
        );
        dff_setup!(
            self,
            clock,
            moved_1,
            placed_1,
            hole_2,
            offset_2,
            length_2,
            address_high_2
        );
        self.address_low.next = self.buffer.val().address.get_bits::<32>(0);
        self.address_high.next = self.buffer.val().address.get_bits::<32>(32);

        comment!("stage 1");
        self.msn_1.d.next = self.msn.val() != self.state.val().msn;
        self.buffer_1.d.next = !self.state.val().posted.any();
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

        comment!("stage 2: an empty segment may stand at the very end of the buffer");
        self.offset_2.d.next = !(self.below_1.q.val()
            | (self.same_1.q.val() & !self.length.val().any()))
            | (self.strict_offset.val() & self.moved_1.q.val());
        self.length_2.d.next = self.end_1.q.val().get_bit(32)
            | (self.buffer.val().length < self.end_1.q.val().get_bits::<32>(0));
        self.address_high_2.d.next =
            self.address_high.val() + self.address_low_1.q.val().get_bit(32);
        self.progress.next.placed = self.placed_1.q.val().get_bits::<32>(0);
        self.progress.next.countless =
            self.message.val().countless | self.placed_1.q.val().get_bit(32);
        self.hole_2.d.next = self.message.val().countless
            | self.placed_1.q.val().get_bit(32)
            | (self.placed_1.q.val().get_bits::<32>(0) != self.end_1.q.val().get_bits::<32>(0));

        self.hole.next = self.hole_2.q.val();
        self.fails_msn.next = self.msn_1.q.val();
        self.fails_buffer.next = self.buffer_1.q.val();
        self.fails_offset.next = self.offset_2.q.val();
        self.fails_length.next = self.length_2.q.val();
        self.address.next = bit_cast::<64, 32>(self.address_low_1.q.val().get_bits::<32>(0))
            | (bit_cast::<64, 32>(self.address_high_2.q.val()) << 32);
        self.message_length.next = self.end_1.q.val().get_bits::<32>(0);
    }
}
