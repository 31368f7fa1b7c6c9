//! The untagged queues of all streams: posted buffers, what has been placed in them, and the MSN of the first one.
//!
//! ```text
//!  stream, queue ─┬─► state (MSN, posted, ahead) ─►[register]─► state
//!  slot ──────────┴─► buffers ─► buffer
//!                 └─► messages ─► message
//!  start ─► MSN = first_msn, nothing posted
//!  post ──► buffers[MSN + posted] = posted, messages[MSN + posted] = nothing placed
//!  note ──► messages[slot] = noted; ahead + 1 when that closes a message behind the first one
//!  take ──► MSN + 1; ahead − 1 when the message was one of those
//! ```
//!
//! A buffer lies in the slot of its MSN, modulo their number, so an MSN finds buffer and message without the queue's
//! state; that state tells whether they belong to it. A slot is cleared by the post that fills it, so no message sees
//! the remains of an earlier one or of the stream's previous owner.
//!
//! `stream`, `queue` and `slot` must be stable: `state` follows them by 1 cycle, `buffer` and `message` by
//! [`LATENCY`]. `start`, `post`, `note` and `take` are pulses, at most one in a cycle, and not before `state` is
//! valid. A queue is undefined before its first `start`.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::Config;
use crate::parts::queue::Store;
use crate::parts::record_ram::{self, RecordRam};
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// Cycles from `stream`, `queue` and `slot` to `buffer` and `message`.
pub const LATENCY: u64 = record_ram::LATENCY;
/// Cycles from the one behind `take` to the new first message, with `slot` from `state`.
pub const NEXT: u64 = 1 + record_ram::LATENCY;

/// State of a queue.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct QueueState {
    /// MSN of the message that the first buffer is for (RFC 5041 §4.3).
    pub msn: Bits<32>,
    /// Buffers posted.
    pub posted: Bits<9>,
    /// Closed messages behind the first one, which is open.
    pub ahead: Bits<8>,
}

/// A posted buffer.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct ReceiveBuffer {
    /// Length in octets.
    pub length: Bits<32>,
    /// Bus address.
    pub address: Bits<64>,
}

/// State of a message.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct MessageState {
    /// Payload octets placed, in 32 bits.
    pub placed: Bits<32>,
    /// They have exceeded that, which no message can.
    pub countless: Bit,
    /// Its L = 1 segment has come, and further segments behind it.
    pub anomaly: Bit,
    /// Its L = 1 segment has come.
    pub closed: Bit,
    /// Its length, once it is closed.
    pub length: Bits<32>,
    /// RsvdULP bits 0 to 7 of the L = 1 segment.
    pub rsvd_ulp_first: Bits<8>,
    /// Bits 8 to 39.
    pub rsvd_ulp_low: Bits<32>,
}

/// The queues of S streams.
#[derive(Block)]
#[block(queues: usize, slots: usize)]
pub struct ReceiveQueues<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Stream number.
    pub stream: Signal<In, Bits<8>>,
    /// Queue number.
    pub queue: Signal<In, Bits<2>>,
    /// Low bits of the MSN whose buffer is looked up.
    pub slot: Signal<In, Bits<8>>,
    /// State of that queue, 1 cycle later.
    pub state: Signal<Out, QueueState>,
    /// It holds as many buffers as it can.
    pub full: Signal<Out, Bit>,
    /// Its buffer for that MSN.
    pub buffer: Signal<Out, ReceiveBuffer>,
    /// What has been placed in that buffer.
    pub message: Signal<Out, MessageState>,
    /// Empty the queue; its next message has MSN `first_msn`.
    pub start: Signal<In, Bit>,
    /// MSN with `start`.
    pub first_msn: Signal<In, Bits<32>>,
    /// Append `posted` to the queue, which is not full.
    pub post: Signal<In, Bit>,
    /// Buffer with `post`.
    pub posted: Signal<In, ReceiveBuffer>,
    /// Set the state of the message to `noted`.
    pub note: Signal<In, Bit>,
    /// With `note`.
    pub noted: Signal<In, MessageState>,
    /// With `note`: this closes the message, and it is not the first one.
    pub closes: Signal<In, Bit>,
    /// The first message is complete: its buffer leaves the queue.
    pub take: Signal<In, Bit>,
    /// With `take`: the message was closed before it became the first one.
    pub waited: Signal<In, Bit>,

    states: Store<QueueState, 6>,
    here: Dff<QueueState>,
    #[value(RecordRam::new(S.next_power_of_two() * queues * slots))]
    buffers: RecordRam<ReceiveBuffer, 14>,
    #[value(RecordRam::new(S.next_power_of_two() * queues * slots))]
    messages: RecordRam<MessageState, 14>,
    slot_row: Signal<Local, Bits<14>>,
    post_row: Signal<Local, Bits<14>>,
    behind: Signal<Local, Bits<8>>,
    queue_base: Signal<Local, Bits<14>>,
    row: Signal<Local, Bits<6>>,
    #[constant(slots)]
    slots: Constant<Bits<9>>,
    #[constant(slots - 1)]
    slot_mask: Constant<Bits<8>>,
    #[constant((queues * slots).ilog2())]
    stream_shift: Constant<Bits<4>>,
    #[constant(slots.ilog2())]
    queue_shift: Constant<Bits<4>>,
    #[constant(MessageState::default())]
    nothing: Constant<MessageState>,
}

impl<const S: usize> ReceiveQueues<S> {
    /// The queues that `config` describes.
    ///
    /// # Panics
    /// When S, `config.queues` or `config.receive_slots` is outside its range.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let (queues, slots) = (config.queues.next_power_of_two(), config.receive_slots);
        assert!(
            (1..=16).contains(&S) && (1..=4).contains(&queues),
            "{S} streams of {queues} queues"
        );
        assert!(
            slots.is_power_of_two() && (2..=256).contains(&slots),
            "{slots} receive slots"
        );
        Self::assemble(queues, slots)
    }
}

impl<const S: usize> Logic for ReceiveQueues<S> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("look up");
        self.row.next = bit_cast::<6, 2>(self.queue.val())
            | (bit_cast::<6, 4>(self.stream.val().get_bits::<4>(0)) << 2);
        self.states.read_row.next = self.row.val();
        self.here.d.next = self.states.out.val();
        self.state.next = self.here.q.val();
        self.full.next = self.here.q.val().posted == self.slots.val();
        self.queue_base.next = (bit_cast::<14, 4>(self.stream.val().get_bits::<4>(0))
            << self.stream_shift.val())
            | (bit_cast::<14, 2>(self.queue.val()) << self.queue_shift.val());
        self.slot_row.next =
            self.queue_base.val() | bit_cast::<14, 8>(self.slot.val() & self.slot_mask.val());
        self.buffers.read_row.next = self.slot_row.val();
        self.buffer.next = self.buffers.read_data.val();
        self.messages.read_row.next = self.slot_row.val();
        self.message.next = self.messages.read_data.val();

        comment!("change");
        self.behind.next =
            self.here.q.val().msn.get_bits::<8>(0) + self.here.q.val().posted.get_bits::<8>(0);
        self.post_row.next =
            self.queue_base.val() | bit_cast::<14, 8>(self.behind.val() & self.slot_mask.val());
        self.buffers.write.next = self.post.val();
        self.buffers.write_row.next = self.post_row.val();
        self.buffers.write_data.next = self.posted.val();
        self.messages.write.next = self.post.val() | self.note.val();
        self.messages.write_row.next = self.slot_row.val();
        self.messages.write_data.next = self.noted.val();
        if self.post.val() {
            self.messages.write_row.next = self.post_row.val();
            self.messages.write_data.next = self.nothing.val();
        }
        self.states.write.next =
            self.start.val() | self.post.val() | self.take.val() | self.closes.val();
        self.states.write_row.next = self.row.val();
        self.states.data.next = self.here.q.val();
        if self.start.val() {
            self.states.data.next.msn = self.first_msn.val();
            self.states.data.next.posted = 0.into();
            self.states.data.next.ahead = 0.into();
        }
        if self.post.val() {
            self.states.data.next.posted = self.here.q.val().posted + 1;
        }
        if self.closes.val() {
            self.states.data.next.ahead = self.here.q.val().ahead + 1;
        }
        if self.take.val() {
            if self.waited.val() {
                self.states.data.next.ahead = self.here.q.val().ahead - 1;
            }
            self.states.data.next.msn = self.here.q.val().msn + 1;
            self.states.data.next.posted = self.here.q.val().posted - 1;
        }
    }
}
