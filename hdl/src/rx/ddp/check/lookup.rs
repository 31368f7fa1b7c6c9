//! Look-up: what the tables and DDP's checks say of the key, and changes of the tables.
//!
//! ```text
//!        ┌─► stag_table ────► tagged ────────────┐
//!  key ──┼─► contexts                            ├─► judge ─► answer
//!        └─► receive_queues ─► untagged ─► [ ] ──┘
//! ```
//!
//! | cycle of the key | |
//! |---|---|
//! | 1 | rows are read |
//! | 2 | `state` of the queue |
//! | 3 | `message` and buffer; untagged checks, first stage |
//! | [`CHANGE`] | `missing`, `first`, and the message as it is with this segment: the queue may change |
//! | 6 | both kinds of checks meet |
//! | [`PATIENCE`] + 1 | `answer` |
//!
//! Nothing stalls. A tagged FPDU has the key for one cycle, so one a cycle is answered. An untagged one has it up to cycle
//! [`CHANGE`]: its queue is looked up by the key itself, and the next key finds the queue as changed. A record of a message is read in
//! the cycle in which it is written; what that read returns is not used.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use super::judge::{self, Judge};
use super::receive_queues::{self, MessageState, ReceiveQueues};
use super::subject::Subject;
use super::untagged::{self, UntaggedChecks};
use crate::Config;
use crate::parts::delay::Delay;
use crate::parts::queue::Store;
use crate::records::{self, DdpSegment};
use crate::tables::stag_table::{self, StagEntry, StagTable};
use crate::tables::tagged_checks::TaggedChecks;
use rust_hdl_core::prelude::*;
use warpline_regmap::layout::{receive_buffer, stream_context};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};
use warpline_wire::ddp;

/// Cycles from a key to the results of the checks.
pub const PATIENCE: u64 = judge::TABLES + judge::LATENCY;
/// Cycles from a key to what a queue says of a buffer that is to be posted.
pub const POST: u64 = 2;
/// Cycle of an untagged key in which its queue may change.
pub const CHANGE: u64 = receive_queues::LATENCY + untagged::LATENCY;

const _: () = assert!(receive_queues::LATENCY + untagged::LATENCY + judge::LATENCY <= PATIENCE);
const _: () = assert!(stag_table::PREPARATION <= PATIENCE);
const _: () = assert!(
    judge::TABLES == CHANGE + 1,
    "one register between untagged checks and `judge`"
);

/// Properties of a stream, fixed when it is armed.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
struct Context {
    /// Protection domain.
    protection_domain: Bits<16>,
    /// Tagged messages with L are reported, too.
    tagged_completions: Bit,
    /// MO has to equal the octets placed so far (AMB-07).
    strict_offset: Bit,
    /// An untagged segment may target any posted buffer (AMB-04).
    window: Bit,
    /// Untagged queues.
    queues: Bits<4>,
}

/// The part of a tagged FPDU that the stages behind the tables use.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
struct TaggedKey {
    /// Stream number.
    stream: Bits<8>,
    /// STag.
    stag: Bits<32>,
    /// Tagged Offset, high half.
    offset_high: Bits<32>,
    /// Tagged Offset, low half.
    offset_low: Bits<32>,
}

/// Side information of the checks.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
struct SideInformation {
    /// Payload octets.
    length: Bits<16>,
    /// The stream reports completions of tagged messages.
    tagged_completions: Bit,
}

/// What a completed untagged message reports.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
struct MessageEnd {
    /// The segment completes the first message.
    direct: Bit,
    /// More or fewer octets were placed than the message has.
    hole: Bit,
    /// Octets of the message.
    length: Bits<32>,
}

/// DDP's verdict about an FPDU; ignored if its stream is frozen by then.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Outcome {
    /// The FPDU is in error.
    pub failed: Bit,
    /// The error depends on the FPDUs in front.
    pub postponed: Bit,
    /// Error type and code.
    pub number: Bits<12>,
    /// Failed checks.
    pub checks: Bits<16>,
    /// Bus address of the first payload octet.
    pub address: Bits<64>,
    /// Payload octets.
    pub length: Bits<16>,
    /// The stream reports completions of tagged messages.
    pub tagged_completions: Bit,
    /// Untagged: it completes the first message of its queue.
    pub direct: Bit,
    /// Then: more or fewer octets were placed than the message has.
    pub hole: Bit,
    /// Then: octets of the message.
    pub message_length: Bits<32>,
}

/// Look-up for S streams.
#[derive(Block)]
#[block(config: &Config)]
pub struct Lookup<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,

    /// The key: its FPDU.
    pub fpdu: Signal<In, DdpSegment>,
    /// Its stream.
    pub stream: Signal<In, Bits<8>>,
    /// Its STag.
    pub stag: Signal<In, Bits<32>>,
    /// Its untagged queue.
    pub queue: Signal<In, Bits<2>>,
    /// What it is about.
    pub subject: Signal<In, Subject>,
    /// Words of a command.
    pub argument: [Signal<In, Bits<32>>; 8],
    /// There is such a stream.
    pub exists: Signal<In, Bit>,

    /// The answer about an FPDU.
    pub answer: Signal<Out, Outcome>,
    /// Nothing is posted for the MSN.
    pub missing: Signal<Out, Bit>,
    /// The MSN is that of the first message.
    pub first: Signal<Out, Bit>,
    /// How many buffers lie in front of that of the MSN.
    pub distance: Signal<Out, Bits<8>>,
    /// A buffer is what the FPDU lacks, and the queue has a slot for it.
    pub lacks_buffer: Signal<Out, Bit>,
    /// State of the message; of a [`Subject::Next`], of the first one of the queue.
    pub message: Signal<Out, MessageState>,
    /// MSN of the first message.
    pub msn: Signal<Out, Bits<32>>,
    /// The message, which is closed, has more or fewer octets than its length.
    pub closed_hole: Signal<Out, Bit>,
    /// Messages behind the first one are closed; from the fourth cycle of the key on.
    pub ahead_some: Signal<Out, Bit>,
    /// More than one of them.
    pub ahead_several: Signal<Out, Bit>,
    /// No entry has the STag.
    pub stag_missing: Signal<Out, Bit>,
    /// The region of the command ends at 2^64 or before.
    pub legal: Signal<Out, Bit>,
    /// The queue takes no buffer.
    pub post_refused: Signal<Out, Bit>,

    /// See [`Intake`](super::intake::Intake).
    pub stag_write: Signal<In, Bit>,
    /// The same.
    pub stag_clear: Signal<In, Bit>,
    /// The same.
    pub stag_slot: Signal<In, Bits<12>>,
    /// The same.
    pub context_write: Signal<In, Bit>,
    /// The same.
    pub clear: Signal<In, Bit>,
    /// The same.
    pub row: Signal<In, Bits<8>>,
    /// The same.
    pub start: Signal<In, Bit>,
    /// The same.
    pub post: Signal<In, Bit>,
    /// The same.
    pub note: Signal<In, Bit>,
    /// The same.
    pub closes: Signal<In, Bit>,
    /// The same.
    pub take: Signal<In, Bit>,
    /// The same.
    pub waited: Signal<In, Bit>,

    /// A slot of the STag table changes in this cycle.
    pub stag_change: Signal<Out, Bit>,
    /// That slot.
    pub stag_change_slot: Signal<Out, Bits<12>>,
    /// Its new content.
    pub stag_change_entry: Signal<Out, StagEntry>,

    contexts: Store<Context, 4>,
    known: Dff<Context>,
    length: Dff<Bits<16>>,
    final_octet: Dff<Bits<16>>,
    queue_missing: Dff<Bit>,
    queue_missing_6: Dff<Bit>,
    post_missing: Dff<Bit>,
    near: Dff<Bit>,
    is_first: Dff<Bit>,
    some_ahead: Dff<Bit>,
    direct_5: Dff<Bit>,
    address_6: Dff<Bits<64>>,
    is_tagged_1: Dff<Bit>,
    #[value(StagTable::new(config.stag_slots))]
    stag_table: StagTable,
    #[value(Delay::new(stag_table::LATENCY as usize))]
    tagged_key: Delay<TaggedKey>,
    tagged_domain: Dff<Bits<16>>,
    tagged_final: Dff<Bits<16>>,
    address: Dff<Bits<64>>,
    #[value(Delay::new(PATIENCE as usize - 1))]
    side: Delay<SideInformation>,
    #[value(Delay::new(PATIENCE as usize - 2))]
    is_tagged: Delay<Bit>,
    #[value(Delay::new(2))]
    message_end: Delay<MessageEnd>,
    tagged_checks: TaggedChecks,
    #[value(ReceiveQueues::new(config))]
    receive_queues: ReceiveQueues<S>,
    untagged_checks: UntaggedChecks,
    judge: Judge,

    #[constant((1 << config.queues) - 1)]
    queue_mask: Constant<Bits<4>>,
    #[constant(0xffff_ffff & !(config.receive_slots - 1))]
    beyond: Constant<Bits<32>>,
    #[constant(Context::default())]
    no_context: Constant<Context>,
    #[constant(records::TAGGED_BIT)]
    tagged_bit: Constant<Bits<8>>,
    #[constant(records::LAST_BIT)]
    last_bit: Constant<Bits<8>>,
    #[constant(records::RSVD_ULP_FIRST_LSB)]
    rsvd_ulp_lsb: Constant<Bits<8>>,
    #[constant(ddp::TAGGED_HEADER_LEN)]
    tagged_header: Constant<Bits<16>>,
    #[constant(ddp::TAGGED_HEADER_LEN + 1)]
    tagged_header_and_one: Constant<Bits<16>>,
    #[constant(ddp::UNTAGGED_HEADER_LEN)]
    untagged_header: Constant<Bits<16>>,
    #[constant(receive_buffer::QUEUE.lsb + 2)]
    queue_rest_at: Constant<Bits<8>>,
    #[constant(stream_context::TAGGED_COMPLETIONS.in_word(0))]
    completions_at: Constant<Bits<8>>,
    #[constant(stream_context::STRICT_MO.in_word(0))]
    strict_at: Constant<Bits<8>>,
    #[constant(stream_context::MSN_WINDOW.in_word(0))]
    window_at: Constant<Bits<8>>,
    #[constant(stream_context::QUEUES.in_word(0))]
    queues_at: Constant<Bits<8>>,
    #[constant(stream_context::PROTECTION_DOMAIN.in_word(1))]
    domain_at: Constant<Bits<8>>,
}

impl<const S: usize> Lookup<S> {
    /// The tables that `config` describes.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self::assemble(config)
    }
}

impl<const S: usize> Logic for Lookup<S> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("the FPDU of the key");
        self.is_tagged_1.d.next = self
            .fpdu
            .val()
            .header_0
            .get_bit(self.tagged_bit.val().index());
        self.length.d.next = self.fpdu.val().ulpdu - self.untagged_header.val();
        if self
            .fpdu
            .val()
            .header_0
            .get_bit(self.tagged_bit.val().index())
        {
            self.length.d.next = self.fpdu.val().ulpdu - self.tagged_header.val();
        }
        self.final_octet.d.next = self.fpdu.val().ulpdu - self.tagged_header_and_one.val();

        comment!("properties of its stream");
        self.contexts.read_row.next = self.stream.val().get_bits::<4>(0);
        self.known.d.next = self.contexts.out.val();
        self.contexts.write.next = self.context_write.val() | self.clear.val();
        self.contexts.write_row.next = self.stream.val().get_bits::<4>(0);
        self.contexts.data.next.protection_domain = self.argument[1]
            .val()
            .get_bits::<16>(self.domain_at.val().index());
        self.contexts.data.next.tagged_completions = self.argument[0]
            .val()
            .get_bit(self.completions_at.val().index());
        self.contexts.data.next.strict_offset =
            self.argument[0].val().get_bit(self.strict_at.val().index());
        self.contexts.data.next.window =
            self.argument[0].val().get_bit(self.window_at.val().index());
        self.contexts.data.next.queues = self.argument[0]
            .val()
            .get_bits::<4>(self.queues_at.val().index())
            & self.queue_mask.val();
        if self.clear.val() {
            self.contexts.write_row.next = self.row.val().get_bits::<4>(0);
            self.contexts.data.next = self.no_context.val();
        }

        comment!("tagged: table, then arithmetic");
        self.stag_table.stag.next = self.stag.val();
        for i in 0..8 {
            self.stag_table.argument[i].next = self.argument[i].val();
        }
        self.stag_table.write.next = self.stag_write.val();
        self.stag_table.clear.next = self.stag_clear.val();
        self.stag_table.clear_slot.next = self.stag_slot.val();
        self.tagged_key.d.next.stream = self.stream.val();
        self.tagged_key.d.next.stag = self.stag.val();
        self.tagged_key.d.next.offset_high = self.fpdu.val().header_2;
        self.tagged_key.d.next.offset_low = self.fpdu.val().header_3;
        self.tagged_domain.d.next = self.known.q.val().protection_domain;
        self.tagged_final.d.next = self.final_octet.q.val();
        self.tagged_checks.stream.next = self.tagged_key.q.val().stream;
        self.tagged_checks.protection_domain.next = self.tagged_domain.q.val();
        self.tagged_checks.stag.next = self.tagged_key.q.val().stag;
        self.tagged_checks.offset_high.next = self.tagged_key.q.val().offset_high;
        self.tagged_checks.offset_low.next = self.tagged_key.q.val().offset_low;
        self.tagged_checks.last.next = bit_cast::<32, 16>(self.tagged_final.q.val());
        self.tagged_checks.entry.next = self.stag_table.entry.val();

        comment!("untagged: queue and buffer, then arithmetic");
        self.receive_queues.stream.next = self.stream.val();
        self.receive_queues.queue.next = self.queue.val();
        self.receive_queues.slot.next = self.fpdu.val().header_3.get_bits::<8>(0);
        if self.subject.val() == Subject::Next {
            self.receive_queues.slot.next = self.receive_queues.state.val().msn.get_bits::<8>(0);
        }
        self.receive_queues.start.next = self.start.val();
        self.receive_queues.first_msn.next = self.argument[3].val();
        self.receive_queues.post.next = self.post.val();
        self.receive_queues.posted.next.length = self.argument[1].val();
        self.receive_queues.posted.next.address = bit_cast::<64, 32>(self.argument[2].val())
            | (bit_cast::<64, 32>(self.argument[3].val()) << 32);
        self.receive_queues.note.next = self.note.val();
        self.receive_queues.noted.next = self.untagged_checks.progress.val();
        self.receive_queues.closes.next = self.closes.val();
        self.receive_queues.take.next = self.take.val();
        self.receive_queues.waited.next = self.waited.val();
        self.untagged_checks.msn.next = self.fpdu.val().header_3;
        self.untagged_checks.offset.next = self.fpdu.val().header_4;
        self.untagged_checks.length.next = self.length.q.val();
        self.untagged_checks.state.next = self.receive_queues.state.val();
        self.untagged_checks.buffer.next = self.receive_queues.buffer.val();
        self.untagged_checks.message.next = self.receive_queues.message.val();
        self.untagged_checks.strict_offset.next = self.known.q.val().strict_offset;
        self.untagged_checks.window.next = self.known.q.val().window;
        self.untagged_checks.last.next = self
            .fpdu
            .val()
            .header_0
            .get_bit(self.last_bit.val().index());
        self.untagged_checks.rsvd_ulp_first.next = self
            .fpdu
            .val()
            .header_0
            .get_bits::<8>(self.rsvd_ulp_lsb.val().index());
        self.untagged_checks.rsvd_ulp_low.next = self.fpdu.val().header_1;
        self.queue_missing.d.next = self.fpdu.val().header_2.get_bits::<30>(2).any()
            | !self.known.q.val().queues.get_bit(self.queue.val().index());
        self.is_first.d.next = !self.untagged_checks.distance.val().any();
        self.near.d.next = !(self.untagged_checks.distance.val() & self.beyond.val()).any();

        comment!("cycle 5: what only an untagged key has held so far");
        self.direct_5.d.next = self.is_first.q.val()
            & self
                .fpdu
                .val()
                .header_0
                .get_bit(self.last_bit.val().index());
        self.message_end.d.next.direct = self.direct_5.q.val();
        self.message_end.d.next.hole = self.untagged_checks.hole.val();
        self.message_end.d.next.length = self.untagged_checks.message_length.val();
        self.address_6.d.next = self.untagged_checks.address.val();
        self.queue_missing_6.d.next = self.queue_missing.q.val();

        comment!("cycle 6: both kinds of checks");
        self.judge.segment.next = self.fpdu.val();
        self.judge.empty.next = !self.length.q.val().any();
        self.judge.fails_stag.next = self.tagged_checks.fails_stag.val();
        self.judge.fails_association.next = self.tagged_checks.fails_association.val();
        self.judge.fails_access.next = self.tagged_checks.fails_access.val();
        self.judge.fails_offset.next = self.tagged_checks.fails_offset.val();
        self.judge.fails_wrap.next = self.tagged_checks.fails_wrap.val();
        self.judge.fails_end.next = self.tagged_checks.fails_end.val();
        self.judge.fails_queue.next = self.queue_missing_6.q.val();
        self.judge.fails_msn.next = self.untagged_checks.fails_msn.val();
        self.judge.fails_buffer.next = self.untagged_checks.fails_buffer.val();
        self.judge.fails_message_offset.next = self.untagged_checks.fails_offset.val();
        self.judge.fails_length.next = self.untagged_checks.fails_length.val();
        self.is_tagged.d.next = self.is_tagged_1.q.val();
        self.address.d.next = self.address_6.q.val();
        if self.is_tagged.q.val() {
            self.address.d.next = self.tagged_checks.address.val();
        }

        comment!("the answer");
        self.side.d.next.length = self.length.q.val();
        self.side.d.next.tagged_completions = self.known.q.val().tagged_completions;
        self.answer.next.failed = self.judge.failed.val();
        self.answer.next.postponed = self.judge.postponed.val();
        self.answer.next.number = self.judge.number.val();
        self.answer.next.checks = self.judge.checks.val().into();
        self.answer.next.address = self.address.q.val();
        self.answer.next.length = self.side.q.val().length;
        self.answer.next.tagged_completions = self.side.q.val().tagged_completions;
        self.answer.next.direct = self.message_end.q.val().direct;
        self.answer.next.hole = self.message_end.q.val().hole;
        self.answer.next.message_length = self.message_end.q.val().length;
        self.missing.next = self.untagged_checks.fails_buffer.val();
        self.first.next = self.is_first.q.val();
        self.distance.next = self.untagged_checks.distance.val().get_bits::<8>(0);
        self.lacks_buffer.next = self.judge.checks.val().buffer & self.near.q.val();
        self.message.next = self.receive_queues.message.val();
        self.msn.next = self.receive_queues.state.val().msn;
        self.closed_hole.next = self.untagged_checks.closed_hole.val();
        self.some_ahead.d.next = self.receive_queues.state.val().ahead.any();
        self.ahead_some.next = self.some_ahead.q.val();
        self.ahead_several.next = self.receive_queues.state.val().ahead != 1;

        comment!("what a command finds");
        self.post_missing.d.next = !self.exists.val()
            | self.argument[0]
                .val()
                .get_bits::<6>(self.queue_rest_at.val().index())
                .any()
            | !self.known.q.val().queues.get_bit(self.queue.val().index());
        self.post_refused.next = self.post_missing.q.val() | self.receive_queues.full.val();
        self.stag_missing.next = self.tagged_checks.fails_stag.val();
        self.legal.next = self.stag_table.legal.val();
        self.stag_change.next = self.stag_table.change.val();
        self.stag_change_slot.next = self.stag_table.change_slot.val();
        self.stag_change_entry.next = self.stag_table.change_entry.val();
    }
}
