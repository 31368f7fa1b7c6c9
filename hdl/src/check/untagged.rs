//! Untagged checks (RFC 5041 §7.1, AMB-04, AMB-05): is this the expected message, and does the payload fit its buffer?
//!
//! ```text
//!             stage 1                        stage 2
//!  MSN ─────► other than the expected ─────────────────────► msn
//!  posted ──► nothing ─────────────────────────────────────► nobuf
//!  MO ──────► MO < length, MO = length ────► outside ──────► mo
//!             MO + n ──────────────────────► over length ──► len, length of the message
//!             address + MO (low) ──────────► (high) ───────► address
//! ```
//!
//! TCP delivers in order, so that only the next message of a queue can come (strict MSN). Inputs are held: results are
//! right [`LATENCY`] cycles after the last change.
use super::receive_queues::{QueueState, ReceiveBuffer};
use crate::dff::Dff;
use crate::util::d;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::dff_setup;

/// Cycles from the last input to the results.
pub const LATENCY: u64 = 2;

/// The checks of a segment against the first buffer of its queue; every `fails_` output is one bit of the report.
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
    pub queue: Signal<In, QueueState>,
    /// First buffer of that queue.
    pub buffer: Signal<In, ReceiveBuffer>,
    /// The MSN is not the expected one.
    pub fails_msn: Signal<Out, Bit>,
    /// Nothing is posted.
    pub fails_buffer: Signal<Out, Bit>,
    /// MO outside the buffer.
    pub fails_offset: Signal<Out, Bit>,
    /// The payload runs over the buffer's end.
    pub fails_length: Signal<Out, Bit>,
    /// Bus address of the first payload octet.
    pub address: Signal<Out, Bits<64>>,
    /// MO + n: length of the message when this is its last segment.
    pub message_length: Signal<Out, Bits<32>>,

    address_low: Signal<Local, Bits<32>>,
    address_high: Signal<Local, Bits<32>>,
    msn_1: Dff<Bit>,
    buffer_1: Dff<Bit>,
    below_1: Dff<Bit>,
    same_1: Dff<Bit>,
    end_1: Dff<Bits<33>>,
    address_low_1: Dff<Bits<33>>,
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
            queue: d(),
            buffer: d(),
            fails_msn: d(),
            fails_buffer: d(),
            fails_offset: d(),
            fails_length: d(),
            address: d(),
            message_length: d(),
            address_low: d(),
            address_high: d(),
            msn_1: d(),
            buffer_1: d(),
            below_1: d(),
            same_1: d(),
            end_1: d(),
            address_low_1: d(),
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
        dff_setup!(self, clock, offset_2, length_2, address_high_2);
        self.address_low.next = self.buffer.val().address.get_bits::<32>(0);
        self.address_high.next = self.buffer.val().address.get_bits::<32>(32);

        comment!("stage 1");
        self.msn_1.d.next = self.msn.val() != self.queue.val().msn;
        self.buffer_1.d.next = !self.queue.val().posted.any();
        self.below_1.d.next = self.offset.val() < self.buffer.val().length;
        self.same_1.d.next = self.offset.val() == self.buffer.val().length;
        self.end_1.d.next =
            bit_cast::<33, 32>(self.offset.val()) + bit_cast::<33, 16>(self.length.val());
        self.address_low_1.d.next =
            bit_cast::<33, 32>(self.address_low.val()) + bit_cast::<33, 32>(self.offset.val());

        comment!("stage 2: an empty segment may stand at the very end of the buffer");
        self.offset_2.d.next =
            !(self.below_1.q.val() | (self.same_1.q.val() & !self.length.val().any()));
        self.length_2.d.next = self.end_1.q.val().get_bit(32)
            | (self.buffer.val().length < self.end_1.q.val().get_bits::<32>(0));
        self.address_high_2.d.next =
            self.address_high.val() + self.address_low_1.q.val().get_bit(32);

        self.fails_msn.next = self.msn_1.q.val();
        self.fails_buffer.next = self.buffer_1.q.val();
        self.fails_offset.next = self.offset_2.q.val();
        self.fails_length.next = self.length_2.q.val();
        self.address.next = bit_cast::<64, 32>(self.address_low_1.q.val().get_bits::<32>(0))
            | (bit_cast::<64, 32>(self.address_high_2.q.val()) << 32);
        self.message_length.next = self.end_1.q.val().get_bits::<32>(0);
    }
}
