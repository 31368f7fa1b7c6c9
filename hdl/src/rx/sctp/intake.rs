//! Intake: writes the chunks that are to be taken into their slots, and says when they are whole.
//!
//! ```text
//!  s_axis_sctp ─┬─► beats, a queue of 16 ─────────────► [now: slot, offset] ─► RingBeat ─► assembly
//!               └─► first beat: key ─► queue ─► order ─► [next: answer] ──┘          └─► ChunkEnd ─► order
//! ```
//!
//! Chunk n lies in slot n modulo their number, its user data from the slot's first octet on, so the DDP-SSN is where an
//! FPDU has ULPDU_Length (RFC 5043 §5.2.2, RFC 5044 §4.1). `order` is asked about a chunk while the one in front is still
//! written. What is not taken, what is longer than the slot, what is invalid, and control messages have no beats at the output.
//!
//! The end of a chunk is reported once its last beat has been accepted. A chunk of a stream that is closed meanwhile is
//! dropped from there on and has no end: from the second cycle after `close` on no octet of it leaves.
//!
//! Latency: [`ASK`] cycles from a chunk's first beat to its key; [`WRITE`] from its answer to its first beat at the
//! output; [`END`] from the beat that is accepted last to the end. Throughput: a beat a cycle, also from chunk to chunk, if the
//! answer comes before the chunk in front is written.
//!
//! Assumptions: beats of chunks do not alternate; every beat of a chunk but the last is full; each key is answered once.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::Sctp;
use crate::parts::axi::{ChunkStreamIn, USER_CONTROL, USER_TERMINATE};
use crate::parts::keep_count::KeepCount;
use crate::parts::queue::Queue;
use crate::records::{ChunkAnswer, ChunkEnd, ChunkKey, RingBeat};
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};
use warpline_wire::sctp::{SSN_LEN, field};

/// Cycles from the first beat of a chunk to its key, if no key is in front.
pub const ASK: usize = 1;
/// Cycles from an answer to the chunk's first beat at the output, if its beats are here and nothing is in front.
pub const WRITE: usize = 3;
/// Cycles from the last beat accepted to the chunk's end.
pub const END: usize = 1;

/// Side information of a beat.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct ChunkBeat {
    /// Octets in it.
    pub count: Bits<8>,
    /// Last beat of its chunk.
    pub last: Bit,
}

/// A chunk that is being written.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct ChunkPlace {
    /// There is one.
    pub valid: Bit,
    /// It is to be written, or, if it is a control message, to be reported.
    pub taken: Bit,
    /// Its stream.
    pub stream: Bits<8>,
    /// Its number.
    pub number: Bits<32>,
    /// A session control message.
    pub control: Bit,
    /// As in [`ChunkKey`].
    pub terminate: Bit,
    /// As in [`ChunkAnswer`].
    pub invalid: Bit,
}

/// Intake of beats of W bits, K = 2^LOGK octets.
#[derive(Block)]
#[block(sctp: &Sctp)]
pub struct Intake<const W: usize, const K: usize, const LOGK: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Chunks.
    pub s_axis_sctp: ChunkStreamIn<W, K>,
    /// Pulse: `stream` no longer accepts octets.
    pub close: Signal<In, Bit>,
    /// That stream.
    pub stream: Signal<In, Bits<8>>,
    /// A chunk to be judged.
    pub m_key: Signal<Out, ChunkKey>,
    /// It is valid.
    pub m_key_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_key_ready: Signal<In, Bit>,
    /// The answer to the last key that was accepted.
    pub answer: Signal<In, ChunkAnswer>,
    /// Pulse: `answer` is valid.
    pub answer_valid: Signal<In, Bit>,
    /// Octets for the ring.
    pub m_data: Signal<Out, Bits<W>>,
    /// Their place. `new_edge` has no meaning.
    pub m_beat: Signal<Out, RingBeat>,
    /// They are valid; not until they are accepted, if their stream is closed.
    pub m_valid: Signal<Out, Bit>,
    /// They are accepted.
    pub m_ready: Signal<In, Bit>,
    /// A chunk has ended.
    pub m_end: Signal<Out, ChunkEnd>,
    /// It is valid; not until it is accepted, if its stream is closed.
    pub m_end_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_end_ready: Signal<In, Bit>,

    keep_count: KeepCount<K>,
    begins: Dff<Bit>,
    keys: Queue<ChunkKey, 4>,
    data: Queue<Bits<W>, 4>,
    beats: Queue<ChunkBeat, 4>,
    closes: Dff<Bit>,
    closed: Dff<Bits<8>>,

    // the chunk that `order` is asked about
    asked: Dff<Bit>,
    following: Dff<ChunkPlace>,
    // the chunk that is written
    now: Dff<ChunkPlace>,
    /// Beats of it that have come: where the next one goes in its slot.
    offset: Dff<Bits<16>>,
    /// They fill the slot.
    filled: Dff<Bit>,

    out_valid: Dff<Bit>,
    out_last: Dff<Bit>,
    out_beat: Dff<RingBeat>,
    out_data: Dff<Bits<W>>,
    /// The end of a chunk is known,
    end_kept: Dff<Bit>,
    /// and all of its beats have left.
    end_valid: Dff<Bit>,
    end_now: Dff<ChunkEnd>,

    enters: Signal<Local, Bit>,
    ssn: Signal<Local, Bits<16>>,
    answers: Signal<Local, Bit>,
    follows: Signal<Local, ChunkPlace>,
    stays: Signal<Local, ChunkPlace>,
    withdrawn: Signal<Local, Bit>,
    cut: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    free: Signal<Local, Bit>,
    pops: Signal<Local, Bit>,
    writes: Signal<Local, Bit>,
    reports: Signal<Local, Bit>,
    beat: Signal<Local, ChunkBeat>,
    octets: Signal<Local, Bits<16>>,
    #[constant(8 * field::DDP_SSN.start)]
    high_at: Constant<Bits<8>>,
    #[constant(8 * (field::DDP_SSN.end - 1))]
    low_at: Constant<Bits<8>>,
    #[constant(SSN_LEN)]
    ssn_len: Constant<Bits<8>>,
    #[constant(SSN_LEN)]
    ssn_len_16: Constant<Bits<16>>,
    #[constant(USER_CONTROL)]
    control_at: Constant<Bits<8>>,
    #[constant(USER_TERMINATE)]
    terminate_at: Constant<Bits<8>>,
    #[constant(LOGK)]
    lane_bits: Constant<Bits<8>>,
    #[constant(sctp.slot_octets.ilog2())]
    slot_bits: Constant<Bits<8>>,
    #[constant(sctp.slot_octets / K - 1)]
    last_row: Constant<Bits<16>>,
}

impl<const W: usize, const K: usize, const LOGK: usize> Intake<W, K, LOGK> {
    /// Intake into slots of `sctp.slot_octets`.
    ///
    /// # Panics
    /// When W, K and LOGK do not fit together.
    #[must_use]
    pub fn new(sctp: &Sctp) -> Self {
        assert!(W == 8 * K && K == 1 << LOGK);
        Self::assemble(sctp)
    }
}

impl<const W: usize, const K: usize, const LOGK: usize> Logic for Intake<W, K, LOGK> {
    #[hdl_gen]
    fn update(&mut self) {
        self.keys.reset.next = self.reset.val();
        self.data.reset.next = self.reset.val();
        self.beats.reset.next = self.reset.val();

        comment!(
            "beats into the queue; the first one of a chunk has its key, for which there is room as for the beat"
        );
        self.s_axis_sctp.tready.next = self.beats.s_ready.val();
        self.enters.next = self.s_axis_sctp.tvalid.val() & self.beats.s_ready.val();
        self.keep_count.keep.next = self.s_axis_sctp.tkeep.val();
        self.beats.s_data.next.count = self.keep_count.count.val();
        self.beats.s_data.next.last = self.s_axis_sctp.tlast.val();
        self.beats.s_valid.next = self.s_axis_sctp.tvalid.val();
        self.data.s_data.next = self.s_axis_sctp.tdata.val();
        self.data.s_valid.next = self.s_axis_sctp.tvalid.val();
        if self.enters.val() {
            self.begins.d.next = self.s_axis_sctp.tlast.val();
        }
        self.ssn.next = (bit_cast::<16, 8>(
            self.s_axis_sctp
                .tdata
                .val()
                .get_bits::<8>(self.high_at.val().index()),
        ) << 8)
            | bit_cast::<16, 8>(
                self.s_axis_sctp
                    .tdata
                    .val()
                    .get_bits::<8>(self.low_at.val().index()),
            );
        self.keys.s_data.next.stream = self.s_axis_sctp.tdest.val();
        self.keys.s_data.next.ssn = self.ssn.val();
        self.keys.s_data.next.control = self
            .s_axis_sctp
            .tuser
            .val()
            .get_bit(self.control_at.val().index());
        self.keys.s_data.next.terminate = self
            .s_axis_sctp
            .tuser
            .val()
            .get_bit(self.terminate_at.val().index());
        self.keys.s_data.next.missing = self.keep_count.count.val() < self.ssn_len.val();
        self.keys.s_valid.next = self.enters.val() & self.begins.q.val();

        comment!("one question at a time; its answer is kept until the chunk in front has ended");
        self.m_key.next = self.keys.m_data.val();
        self.m_key_valid.next =
            self.keys.m_valid.val() & !self.asked.q.val() & !self.following.q.val().valid;
        self.keys.m_ready.next =
            self.m_key_ready.val() & !self.asked.q.val() & !self.following.q.val().valid;
        self.follows.next = self.following.q.val();
        if self.m_key_valid.val() & self.m_key_ready.val() {
            self.asked.d.next = true;
            self.follows.next.stream = self.keys.m_data.val().stream;
            self.follows.next.control = self.keys.m_data.val().control;
            self.follows.next.terminate = self.keys.m_data.val().terminate;
        }
        self.answers.next = self.asked.q.val() & self.answer_valid.val();
        if self.answers.val() {
            self.asked.d.next = false;
            self.follows.next.valid = true;
            self.follows.next.taken = self.answer.val().taken;
            self.follows.next.invalid = self.answer.val().invalid;
            self.follows.next.number = self.answer.val().number;
        }

        comment!(
            "a beat leaves the queue if the output and, for a last beat, the report have room"
        );
        self.beat.next = self.beats.m_data.val();
        self.free.next = !self.out_valid.q.val() | self.m_ready.val();
        self.leaves.next = self.out_valid.q.val() & self.m_ready.val();
        self.pops.next = self.now.q.val().valid
            & self.beats.m_valid.val()
            & self.free.val()
            & !(self.beat.val().last & self.end_kept.q.val());
        self.ends.next = self.pops.val() & self.beat.val().last;
        self.beats.m_ready.next = self.pops.val();
        self.data.m_ready.next = self.pops.val();
        self.writes.next = self.pops.val()
            & self.now.q.val().taken
            & !self.now.q.val().control
            & !self.now.q.val().invalid
            & !self.filled.q.val();
        self.octets.next = (self.offset.q.val() << self.lane_bits.val())
            + bit_cast::<16, 8>(self.beat.val().count);
        if self.pops.val() {
            self.offset.d.next = self.offset.q.val() + 1;
            self.filled.d.next = self.filled.q.val() | (self.offset.q.val() == self.last_row.val());
        }
        self.stays.next = self.now.q.val();
        if self.ends.val() | !self.now.q.val().valid {
            self.stays.next = self.following.q.val();
            self.follows.next.valid = self.answers.val();
            self.offset.d.next = 0.into();
            self.filled.d.next = false;
        }

        comment!(
            "the beat, at its place in the slot; one of a stream that is closed leaves now or not at all"
        );
        self.withdrawn.next = (self.close.val()
            & (self.out_beat.q.val().stream == self.stream.val()))
            | (self.closes.q.val() & (self.out_beat.q.val().stream == self.closed.q.val()));
        if self.withdrawn.val() {
            self.out_valid.d.next = false;
        }
        if self.free.val() {
            self.out_valid.d.next = self.writes.val();
            self.out_last.d.next = self.beat.val().last;
            self.out_data.d.next = self.data.m_data.val();
            self.out_beat.d.next.stream = self.now.q.val().stream;
            self.out_beat.d.next.position = (self.now.q.val().number << self.slot_bits.val())
                | (bit_cast::<32, 16>(self.offset.q.val()) << self.lane_bits.val());
            self.out_beat.d.next.skip = 0.into();
            self.out_beat.d.next.count = self.beat.val().count;
            self.out_beat.d.next.new_edge = 0.into();
        }
        self.m_data.next = self.out_data.q.val();
        self.m_beat.next = self.out_beat.q.val();
        self.m_valid.next = self.out_valid.q.val();

        comment!("the end: at once if no beat leaves with it");
        self.reports.next = self.ends.val() & self.now.q.val().taken;
        if self.m_end_ready.val() & self.end_valid.q.val() {
            self.end_kept.d.next = false;
            self.end_valid.d.next = false;
        }
        if self.leaves.val() & self.out_last.q.val() {
            self.end_valid.d.next = true;
        }
        self.cut.next = (self.close.val() & (self.end_now.q.val().stream == self.stream.val()))
            | (self.closes.q.val() & (self.end_now.q.val().stream == self.closed.q.val()));
        if self.cut.val() {
            self.end_kept.d.next = false;
            self.end_valid.d.next = false;
        }
        if self.reports.val() {
            self.end_kept.d.next = true;
            self.end_valid.d.next = !self.writes.val();
            self.end_now.d.next.stream = self.now.q.val().stream;
            self.end_now.d.next.number = self.now.q.val().number;
            self.end_now.d.next.control = self.now.q.val().control;
            self.end_now.d.next.terminate = self.now.q.val().terminate;
            self.end_now.d.next.invalid = self.now.q.val().invalid;
            self.end_now.d.next.too_long = self.filled.q.val() & !self.now.q.val().control;
            self.end_now.d.next.length = self.octets.val() - self.ssn_len_16.val();
        }
        self.m_end.next = self.end_now.q.val();
        self.m_end_valid.next = self.end_valid.q.val();

        comment!(
            "a stream is closed: what was on its way into a register is withdrawn a cycle later, and so is an answer given before"
        );
        self.closes.d.next = self.close.val();
        self.closed.d.next = self.stream.val();
        self.now.d.next = self.stays.val();
        if self.close.val() & (self.stays.val().stream == self.stream.val()) {
            self.now.d.next.taken = false;
        }
        self.following.d.next = self.follows.val();
        if (self.close.val() & (self.follows.val().stream == self.stream.val()))
            | (self.closes.q.val() & (self.follows.val().stream == self.closed.q.val()))
        {
            self.following.d.next.taken = false;
        }
        if self.reset.val() {
            self.begins.d.next = true;
            self.asked.d.next = false;
            self.following.d.next.valid = false;
            self.now.d.next.valid = false;
            self.out_valid.d.next = false;
            self.end_kept.d.next = false;
            self.end_valid.d.next = false;
            self.closes.d.next = false;
        }
    }
}
