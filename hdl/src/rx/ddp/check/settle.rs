//! Settle: one FPDU a cycle, in order, with the frozen bits as the FPDUs in front have left them.
//!
//! ```text
//!  FPDU ─────►[waiting]──┐
//!  outcome ──►[outcomes]─┼─► load ─► settled ─┬─► event
//!  Verdict ──►[verdicts]─┘   ▲ open           ├─► pulses
//!                            └────── freezes ─┴─► error_records
//! ```
//!
//! An FPDU is loaded when its outcome and its verdict have come. Only here is a stream found frozen, and becomes frozen: what was
//! found about an FPDU behind a failing one is ignored. A stream's first error takes 15 cycles more, because the error record is
//! written first. Behind an FPDU that uses a buffer the next one settles a cycle later, since `took` pulses every second cycle at
//! most.
//!
//! Assumptions: outcomes and verdicts arrive in the order of the FPDUs; no queue overflows, since `intake` limits how many FPDUs are
//! under way.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use super::error_records::ErrorRecords;
use super::lookup::Outcome;
use crate::parts::queue::Queue;
use crate::records::{self, DdpSegment, Verdict};
use rust_hdl_core::prelude::*;
use warpline_regmap::layout::refused;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};
use warpline_wire::error_number::ErrorNumber;

/// Settle for S streams.
#[derive(Block)]
#[block(default)]
pub struct Settle<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,

    /// An FPDU that has entered.
    pub fpdu: Signal<In, DdpSegment>,
    /// It is valid.
    pub fpdu_valid: Signal<In, Bit>,
    /// Outcome of an FPDU.
    pub answer: Signal<In, Outcome>,
    /// It is valid.
    pub answer_valid: Signal<In, Bit>,
    /// MPA's verdict about an FPDU.
    pub verdict: Signal<In, Verdict>,
    /// It is valid.
    pub verdict_valid: Signal<In, Bit>,
    /// The verdict of the oldest FPDU has come.
    pub front_valid: Signal<Out, Bit>,
    /// It had come a cycle before, and `front_failed` is of it.
    pub front_known: Signal<Out, Bit>,
    /// MPA has found that FPDU wrong.
    pub front_failed: Signal<Out, Bit>,

    /// The output register is free.
    pub output_free: Signal<In, Bit>,
    /// An FPDU leaves for it in this cycle.
    pub leaves: Signal<Out, Bit>,
    /// The FPDU.
    pub settled: Signal<Out, DdpSegment>,
    /// What was found.
    pub outcome: Signal<Out, Outcome>,
    /// It is right, and its stream is open.
    pub accepted: Signal<Out, Bit>,
    /// Its stream is frozen.
    pub frozen: Signal<Out, Bit>,
    /// It freezes its stream.
    pub first_error: Signal<Out, Bit>,
    /// It counts: accepted, and in order.
    pub counts: Signal<Out, Bit>,
    /// It completes an untagged message.
    pub completes: Signal<Out, Bit>,

    /// Streams that are not frozen.
    pub open: [Signal<Out, Bit>; S],
    /// Stream of `freeze`, `thaw` and `record`.
    pub stream: Signal<In, Bits<8>>,
    /// Freezes it.
    pub freeze: Signal<In, Bit>,
    /// Opens it.
    pub thaw: Signal<In, Bit>,
    /// Writes its error record, while nothing is settled.
    pub record: Signal<In, Bit>,
    /// With `record`: it holds an error, of the bus.
    pub record_valid: Signal<In, Bit>,
    /// Words are being written.
    pub record_busy: Signal<Out, Bit>,
    /// Clears row `row` of the error records.
    pub clear: Signal<In, Bit>,
    /// That row.
    pub row: Signal<In, Bits<8>>,
    /// Word of an error record to read: stream in bits 7:4, word in bits 3:0.
    pub record_row: Signal<In, Bits<8>>,
    /// That word, 2 cycles later.
    pub record_data: Signal<Out, Bits<32>>,

    /// Pulse: an FPDU, or the end of a stream, has become a pair in the output register.
    pub consumed: Signal<Out, Bit>,
    /// With `consumed`: it was an FPDU in order.
    pub judged: Signal<Out, Bit>,
    /// With `judged`: the stream was frozen.
    pub discarded: Signal<Out, Bit>,
    /// With `consumed`: payload octets to be placed.
    pub payload: Signal<Out, Bits<16>>,
    /// With `consumed`: MPA has found the FPDU valid.
    pub mpa_accepted: Signal<Out, Bit>,
    /// Pulse: an FPDU that is `ahead` has been judged.
    pub ahead_done: Signal<Out, Bit>,
    /// Its stream position.
    pub ahead_position: Signal<Out, Bits<32>>,
    /// With `ahead_done`: its payload is under way to memory.
    pub ahead_accepted: Signal<Out, Bit>,
    /// Pulse: an FPDU has frozen its stream.
    pub errors: Signal<Out, Bit>,
    /// Stream of the error record that was begun last.
    pub errors_stream: Signal<Out, Bits<8>>,
    /// Pulse: an FPDU has used a buffer.
    pub took: Signal<Out, Bit>,
    /// Stream of the FPDU that settles, in the cycle of `took`, too.
    pub took_stream: Signal<Out, Bits<8>>,
    /// Its untagged queue.
    pub took_queue: Signal<Out, Bits<2>>,

    verdicts: Queue<Verdict, 5>,
    waiting: Queue<DdpSegment, 4>,
    outcomes: Queue<Outcome, 4>,
    settling: Dff<Bit>,
    fpdu_now: Dff<DdpSegment>,
    verdict_now: Dff<Verdict>,
    outcome_now: Dff<Outcome>,
    is_frozen: Dff<Bit>,
    is_accepted: Dff<Bit>,
    is_first_error: Dff<Bit>,
    has_failed_mpa: Dff<Bit>,
    recorded: Dff<Bit>,
    mpa_failed: Dff<Bit>,
    verdict_known: Dff<Bit>,
    is_open: [Dff<Bit>; S],
    error_records: ErrorRecords,

    consumed_now: Dff<Bit>,
    judged_now: Dff<Bit>,
    discarded_now: Dff<Bit>,
    payload_now: Dff<Bits<16>>,
    mpa_accepted_now: Dff<Bit>,
    ahead_now: Dff<Bit>,
    ahead_good: Dff<Bit>,
    ahead_at: Dff<Bits<32>>,
    error_now: Dff<Bit>,
    error_stream: Dff<Bits<8>>,
    took_now: Dff<Bit>,

    is_refused: Signal<Local, Bit>,
    bad_crc: Signal<Local, Bit>,
    mpa_fails: Signal<Local, Bit>,
    makes_room: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
    shut: Signal<Local, Bit>,
    closes_clean: Signal<Local, Bit>,
    wrong: Signal<Local, Bit>,
    settles: Signal<Local, Bit>,
    has_tag: Signal<Local, Bit>,
    is_end: Signal<Local, Bit>,
    is_judged: Signal<Local, Bit>,
    in_order: Signal<Local, Bit>,
    uses: Signal<Local, Bit>,
    freezes: Signal<Local, Bit>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(refused::CLOSED)]
    ends_closed: Constant<Bits<3>>,
    #[constant(records::TAGGED_BIT)]
    tagged_bit: Constant<Bits<8>>,
    #[constant(ErrorNumber::MpaMarker as u16)]
    mpa_marker: Constant<Bits<12>>,
    #[constant(ErrorNumber::MpaCrc as u16)]
    mpa_crc: Constant<Bits<12>>,
    #[constant(ErrorNumber::MpaConnection as u16)]
    mpa_connection: Constant<Bits<12>>,
}

impl<const S: usize> Logic for Settle<S> {
    #[hdl_gen]
    fn update(&mut self) {
        self.waiting.reset.next = self.reset.val();
        self.outcomes.reset.next = self.reset.val();
        self.verdicts.reset.next = self.reset.val();
        self.error_records.reset.next = self.reset.val();
        self.waiting.s_data.next = self.fpdu.val();
        self.waiting.s_valid.next = self.fpdu_valid.val();
        self.outcomes.s_data.next = self.answer.val();
        self.outcomes.s_valid.next = self.answer_valid.val();
        self.verdicts.s_data.next = self.verdict.val();
        self.verdicts.s_valid.next = self.verdict_valid.val();

        comment!(
            "MPA comes first: end, length refused, CRC, marker (RFC 5044 §8); the CRC of a `placed` FPDU was checked ahead"
        );
        self.is_refused.next = self.waiting.m_data.val().refused.any();
        self.bad_crc.next = (self.waiting.m_data.val().crc | self.waiting.m_data.val().ahead)
            & !self.waiting.m_data.val().placed
            & !self.verdicts.m_data.val().good;
        self.mpa_fails.next =
            self.is_refused.val() | self.bad_crc.val() | self.verdicts.m_data.val().marker_wrong;
        self.mpa_failed.d.next = self.mpa_fails.val();

        comment!("load: outcome and verdict of the oldest FPDU");
        self.settles.next = self.settling.q.val()
            & (!self.is_first_error.q.val()
                | (self.recorded.q.val() & !self.error_records.busy.val()))
            & self.output_free.val();
        comment!(
            "a buffer is used every second cycle at most: the FPDU stays for the cycle of `took`"
        );
        self.has_tag.next = self
            .fpdu_now
            .q
            .val()
            .header_0
            .get_bit(self.tagged_bit.val().index());
        self.in_order.next = self.is_accepted.q.val() & !self.fpdu_now.q.val().ahead;
        self.uses.next =
            self.in_order.val() & !self.has_tag.val() & self.outcome_now.q.val().direct;
        self.makes_room.next = !self.settling.q.val()
            | (self.output_free.val() & !self.is_first_error.q.val() & !self.uses.val());
        self.load.next =
            self.outcomes.m_valid.val() & self.verdicts.m_valid.val() & self.makes_room.val();
        self.outcomes.m_ready.next = self.load.val();
        self.waiting.m_ready.next = self.load.val();
        self.verdicts.m_ready.next = self.load.val();
        self.verdict_known.d.next = self.verdicts.m_valid.val() & !self.load.val();
        self.shut.next = true;
        for i in 0..S {
            if self.waiting.m_data.val().stream.get_bits::<4>(0) == self.index[i].val() {
                self.shut.next = !self.is_open[i].q.val();
            }
        }
        self.closes_clean.next = self.waiting.m_data.val().refused == self.ends_closed.val();
        self.wrong.next = self.outcomes.m_data.val().failed
            & !self.closes_clean.val()
            & !((self.outcomes.m_data.val().postponed | !self.waiting.m_data.val().crc)
                & self.waiting.m_data.val().ahead);
        if self.mpa_fails.val() {
            self.wrong.next = !self.closes_clean.val() & !self.waiting.m_data.val().ahead;
        }
        if self.settles.val() {
            self.settling.d.next = false;
            self.recorded.d.next = false;
        }
        if self.load.val() {
            self.settling.d.next = true;
        }
        comment!(
            "the content has no effect while nothing settles, so the enable does not depend on `load`, which arrives late"
        );
        if self.makes_room.val() {
            self.fpdu_now.d.next = self.waiting.m_data.val();
            self.verdict_now.d.next = self.verdicts.m_data.val();
            if self.waiting.m_data.val().placed {
                self.verdict_now.d.next.good = false;
                self.verdict_now.d.next.state = 0.into();
                self.verdict_now.d.next.zeros = 0.into();
                self.verdict_now.d.next.received = 0.into();
            }
            self.outcome_now.d.next = self.outcomes.m_data.val();
            if self.mpa_fails.val() {
                self.outcome_now.d.next.checks = 0.into();
                self.outcome_now.d.next.number = self.mpa_marker.val();
                if self.bad_crc.val() & !self.is_refused.val() {
                    self.outcome_now.d.next.number = self.mpa_crc.val();
                }
                if self.waiting.m_data.val().refused >= self.ends_closed.val() {
                    self.outcome_now.d.next.number = self.mpa_connection.val();
                }
            }
            self.has_failed_mpa.d.next = self.mpa_fails.val();
            self.is_frozen.d.next = self.shut.val();
            self.is_accepted.d.next =
                !self.shut.val() & !self.outcomes.m_data.val().failed & !self.mpa_fails.val();
            self.is_first_error.d.next = !self.shut.val() & self.wrong.val();
        }

        comment!("the error record: zeros when a stream is armed, only VALID for a fault");
        self.error_records.write.next = self.record.val();
        if self.settling.q.val() & self.is_first_error.q.val() & !self.recorded.q.val() {
            self.error_records.write.next = true;
            self.recorded.d.next = true;
        }
        self.error_records.stream.next = self.stream.val();
        if self.settling.q.val() {
            self.error_records.stream.next = self.fpdu_now.q.val().stream;
        }
        self.error_stream.d.next = self.error_records.stream.val();
        self.error_records.valid.next = self.settling.q.val() | self.record_valid.val();
        self.error_records.from_fpdu.next = self.settling.q.val();
        self.error_records.number.next = self.outcome_now.q.val().number;
        self.error_records.checks.next = self.outcome_now.q.val().checks;
        self.error_records.fpdu.next = self.fpdu_now.q.val();
        self.error_records.verdict.next = self.verdict_now.q.val();
        self.error_records.clear.next = self.clear.val();
        self.error_records.clear_row.next = self.row.val();
        self.error_records.record_row.next = self.record_row.val();
        self.record_data.next = self.error_records.record_data.val();
        self.record_busy.next = self.error_records.busy.val();

        comment!("settle");
        self.is_end.next = self.fpdu_now.q.val().refused >= self.ends_closed.val();
        self.is_judged.next = !self.fpdu_now.q.val().ahead & !self.is_end.val();
        self.consumed_now.d.next = false;
        self.judged_now.d.next = false;
        self.mpa_accepted_now.d.next = false;
        self.ahead_now.d.next = false;
        self.ahead_good.d.next = self.is_accepted.q.val();
        self.ahead_at.d.next = self.fpdu_now.q.val().position;
        self.discarded_now.d.next = false;
        self.payload_now.d.next = 0.into();
        self.error_now.d.next = false;
        self.took_now.d.next = false;
        self.freezes.next = false;
        if self.settles.val() {
            self.consumed_now.d.next = true;
            self.judged_now.d.next = self.is_judged.val();
            self.mpa_accepted_now.d.next = !self.has_failed_mpa.q.val()
                & !self.is_frozen.q.val()
                & (self.is_judged.val() | self.is_first_error.q.val());
            self.discarded_now.d.next = self.is_judged.val() & self.is_frozen.q.val();
            self.ahead_now.d.next = self.fpdu_now.q.val().ahead;
            self.took_now.d.next = self.uses.val();
            if self.in_order.val() {
                self.payload_now.d.next = self.outcome_now.q.val().length;
            }
            if self.is_first_error.q.val() {
                self.freezes.next = true;
                self.error_now.d.next = true;
            }
        }
        for i in 0..S {
            if self.stream.val().get_bits::<4>(0) == self.index[i].val() {
                if self.freeze.val() {
                    self.is_open[i].d.next = false;
                }
                if self.thaw.val() {
                    self.is_open[i].d.next = true;
                }
            }
            if self.freezes.val()
                & (self.fpdu_now.q.val().stream.get_bits::<4>(0) == self.index[i].val())
            {
                self.is_open[i].d.next = false;
            }
            self.open[i].next = self.is_open[i].q.val();
        }

        self.front_valid.next = self.verdicts.m_valid.val();
        self.front_known.next = self.verdict_known.q.val();
        self.front_failed.next = self.mpa_failed.q.val();
        self.leaves.next = self.settles.val();
        self.settled.next = self.fpdu_now.q.val();
        self.outcome.next = self.outcome_now.q.val();
        self.accepted.next = self.is_accepted.q.val();
        self.frozen.next = self.is_frozen.q.val();
        self.first_error.next = self.is_first_error.q.val();
        self.counts.next = self.in_order.val();
        self.completes.next = self.uses.val();
        self.consumed.next = self.consumed_now.q.val();
        self.judged.next = self.judged_now.q.val();
        self.discarded.next = self.discarded_now.q.val();
        self.payload.next = self.payload_now.q.val();
        self.mpa_accepted.next = self.mpa_accepted_now.q.val();
        self.ahead_done.next = self.ahead_now.q.val();
        self.ahead_position.next = self.ahead_at.q.val();
        self.ahead_accepted.next = self.ahead_good.q.val();
        self.errors.next = self.error_now.q.val();
        self.errors_stream.next = self.error_stream.q.val();
        self.took.next = self.took_now.q.val();
        self.took_stream.next = self.fpdu_now.q.val().stream;
        self.took_queue.next = self.fpdu_now.q.val().header_2.get_bits::<2>(0);
        if self.reset.val() {
            self.settling.d.next = false;
            self.recorded.d.next = false;
            self.consumed_now.d.next = false;
            self.ahead_now.d.next = false;
            self.error_now.d.next = false;
            self.took_now.d.next = false;
            for i in 0..S {
                self.is_open[i].d.next = false;
            }
        }
    }
}
