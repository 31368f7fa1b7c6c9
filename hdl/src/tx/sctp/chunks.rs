//! Chunks: makes the user data of a chunk of each FPDU that a SEND of a stream of SCTP reads; octets of TCP pass as they are.
//!
//! ```text
//!  arm ─────────► row of the stream: of SCTP? next DDP-SSN ◄─ + 1 ┐
//!                                          └──────────────────────┴─► queue, a SEND each ─┐
//!  SEND is accepted ─► its stream                                                         ▼
//!
//!  s_axis_transmit ─┬─► length, or octets left ─►[less those of the beat]─► ends here? ─┐ DDP-SSN
//!                   └─► octets ──────────────────────────────────────────────────────[beat]─►[lanes kept]─► queue ─► m_axis_transmit
//! ```
//!
//! An FPDU is ULPDU_Length, ULPDU, PAD, CRC (RFC 5044 §4.1), and a chunk's user data DDP-SSN, DDP segment (RFC 5043 §5.2.2). Both numbers have
//! 16 bits, so every octet stays where it is: the length is taken out of the first beat, the number is put there, and the packet
//! ends behind the segment. What is left of the SEND, PAD and CRC, is dropped.
//!
//! **Numbers** are consecutive for each stream, from the one that it was armed with on, modulo 2^16. A SEND gets its number when the ring
//! accepts it, in the order of commands, so beats of an old session that are still under way do not count in the next one. A SEND
//! of the same octets gets another number: SCTP itself repeats chunks.
//!
//! **A SEND of a stream of SCTP begins with an FPDU and has all of it**; the engine outside sees to that. One that goes on behind it gives
//! the chunk of its first FPDU, and the rest is dropped. One that ends before gives what there is, with a number: a packet of more
//! octets than the SEND less [`BEHIND`] is none, and the session has to be ended. No SEND changes another one's packet.
//!
//! Throughput: a beat a cycle, also from SEND to SEND, and those that are dropped take a cycle each. Latency: [`LATENCY`] cycles from a beat to
//! its own. No output depends on an input in the same cycle.
//!
//! Assumptions: each packet at the input is that of a SEND, in the order in which they were accepted, [`LATENCY`] cycles behind that or
//! more; at most [`SENDS`] are accepted whose packet has not come whole; no two are accepted in cycles that follow each other.
//! `arm` is for a stream without a SEND that is not accepted yet; its next one comes 4 cycles later or more, and so does another `arm`. `arm` of
//! streams that do not exist has no effect.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::lane_mask::LaneMask;
use crate::parts::queue::{Queue, Store};
use crate::tx::mpa::transmit_ring::ports::{TransmitStreamIn, TransmitStreamOut};
use crate::tx::mpa::transmit_ring::range_read::TransmitSide;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};
use warpline_wire::mpa;
use warpline_wire::sctp::{SSN_LEN, field};

/// Cycles from a beat to the one that it becomes.
pub const LATENCY: usize = 2;

/// SENDs that may be accepted and not have left the ring whole.
pub const SENDS: usize = 1 << SENDS_LOG;

/// The same as a power of two.
const SENDS_LOG: usize = 5;

/// Octets of an FPDU behind its ULPDU, at least.
pub const BEHIND: usize = mpa::MIN_OVERHEAD - mpa::LENGTH_LEN;

const _: () = assert!(
    SSN_LEN == mpa::LENGTH_LEN
        && field::SEGMENT == mpa::field::ULPDU
        && mpa::field::ULPDU_LENGTH.start == 0
        && field::DDP_SSN.start == 0,
    "a DDP-SSN lies where an FPDU has its length"
);

/// What a SEND is.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct ChunkNumber {
    /// Its stream is one of SCTP.
    pub of_sctp: Bit,
    /// DDP-SSN of its chunk.
    pub ssn: Bits<16>,
}

/// Chunks of S streams, beats of W bits: K octets (2^LOGK).
#[derive(Block)]
#[block()]
pub struct Chunks<const W: usize, const K: usize, const LOGK: usize, const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Pulse: a stream begins.
    pub arm: Signal<In, Bit>,
    /// That stream.
    pub arm_stream: Signal<In, Bits<8>>,
    /// It is one of SCTP.
    pub arm_of_sctp: Signal<In, Bit>,
    /// DDP-SSN of its first chunk.
    pub arm_ssn: Signal<In, Bits<16>>,
    /// Pulse: the ring has accepted a SEND.
    pub accepted: Signal<In, Bit>,
    /// Its stream.
    pub accepted_stream: Signal<In, Bits<8>>,
    /// What the SENDs read from the ring.
    pub s_axis_transmit: TransmitStreamIn<W, K>,
    /// Octets for TCP, and user data of chunks for SCTP.
    pub m_axis_transmit: TransmitStreamOut<W, K>,

    numbers: Store<ChunkNumber, 4>,
    arming: Dff<Bit>,
    arming_stream: Dff<Bits<4>>,
    arming_row: Dff<ChunkNumber>,
    sends: Queue<ChunkNumber, SENDS_LOG>,

    begins: Dff<Bit>,
    /// Octets of the chunk behind the beat in front.
    left: Dff<Bits<17>>,
    /// The chunk has ended in front of this beat.
    ended: Dff<Bit>,
    // a beat
    beat_valid: Dff<Bit>,
    beat_data: Dff<Bits<W>>,
    beat_keep: Dff<Bits<K>>,
    beat_side: Dff<TransmitSide>,
    /// Lanes in front of the end of the chunk.
    beat_octets: Dff<Bits<8>>,
    kept: LaneMask<K, K>,
    octets: Queue<Bits<W>, 1>,
    keeps: Queue<Bits<K>, 1>,
    sides: Queue<TransmitSide, 1>,

    row: Signal<Local, ChunkNumber>,
    send: Signal<Local, ChunkNumber>,
    ready: Signal<Local, Bit>,
    takes: Signal<Local, Bit>,
    length: Signal<Local, Bits<16>>,
    remaining: Signal<Local, Bits<17>>,
    step: Signal<Local, Bits<17>>,
    behind: Signal<Local, Bits<17>>,
    ends: Signal<Local, Bit>,
    lanes: Signal<Local, Bits<8>>,
    ssn_high: Signal<Local, Bits<8>>,
    ssn_low: Signal<Local, Bits<8>>,
    numbered: Signal<Local, Bits<W>>,
    #[constant(0)]
    none: Constant<Bits<8>>,
    #[constant(K)]
    all: Constant<Bits<8>>,
    #[constant(K)]
    beat_step: Constant<Bits<17>>,
    #[constant(K - SSN_LEN)]
    first_step: Constant<Bits<17>>,
    #[constant(16)]
    sign: Constant<Bits<8>>,
    #[constant(8 * field::DDP_SSN.start)]
    high_at: Constant<Bits<8>>,
    #[constant(8 * (field::DDP_SSN.end - 1))]
    low_at: Constant<Bits<8>>,
    #[constant(8 * field::SEGMENT)]
    segment_at: Constant<Bits<8>>,
    #[constant(S.ilog2())]
    stream_bits: Constant<Bits<8>>,
}

impl<const W: usize, const K: usize, const LOGK: usize, const S: usize> Default
    for Chunks<W, K, LOGK, S>
{
    fn default() -> Self {
        assert!(W == 8 * K && K == 1 << LOGK && matches!(S, 4 | 16));
        Self::assemble()
    }
}

impl<const W: usize, const K: usize, const LOGK: usize, const S: usize> Logic
    for Chunks<W, K, LOGK, S>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.sends.reset.next = self.reset.val();
        self.octets.reset.next = self.reset.val();
        self.keeps.reset.next = self.reset.val();
        self.sides.reset.next = self.reset.val();

        comment!("a SEND takes its number; a stream that is armed waits for a cycle without one");
        self.numbers.read_row.next = self.accepted_stream.val().get_bits::<4>(0);
        self.row.next = self.numbers.out.val();
        self.sends.s_data.next = self.row.val();
        self.sends.s_valid.next = self.accepted.val();
        self.numbers.write.next = self.accepted.val() | self.arming.q.val();
        self.numbers.write_row.next = self.arming_stream.q.val();
        self.numbers.data.next = self.arming_row.q.val();
        if self.accepted.val() {
            self.numbers.write_row.next = self.accepted_stream.val().get_bits::<4>(0);
            self.numbers.data.next.of_sctp = self.row.val().of_sctp;
            self.numbers.data.next.ssn = self.row.val().ssn + 1;
        } else {
            self.arming.d.next = false;
        }
        if self.arm.val() & !(self.arm_stream.val() >> self.stream_bits.val()).any() {
            self.arming.d.next = true;
            self.arming_stream.d.next = self.arm_stream.val().get_bits::<4>(0);
            self.arming_row.d.next.of_sctp = self.arm_of_sctp.val();
            self.arming_row.d.next.ssn = self.arm_ssn.val();
        }

        comment!("the SEND of this beat, until its last one is here");
        self.send.next = self.sends.m_data.val();
        self.ready.next = !self.beat_valid.q.val() | self.sides.s_ready.val();
        self.takes.next = self.s_axis_transmit.tvalid.val() & self.ready.val();
        self.s_axis_transmit.tready.next = self.ready.val();
        self.sends.m_ready.next = self.takes.val() & self.s_axis_transmit.tlast.val();

        comment!("octets of the chunk behind this beat: none, or fewer, if it ends here");
        self.length.next = (bit_cast::<16, 8>(
            self.s_axis_transmit
                .tdata
                .val()
                .get_bits::<8>(self.high_at.val().index()),
        ) << 8)
            | bit_cast::<16, 8>(
                self.s_axis_transmit
                    .tdata
                    .val()
                    .get_bits::<8>(self.low_at.val().index()),
            );
        self.remaining.next = self.left.q.val();
        self.step.next = self.beat_step.val();
        if self.begins.q.val() {
            self.remaining.next = bit_cast::<17, 16>(self.length.val());
            self.step.next = self.first_step.val();
        }
        self.behind.next = self.remaining.val() - self.step.val();
        self.ends.next = self.send.val().of_sctp
            & (self.behind.val().get_bit(self.sign.val().index()) | !self.behind.val().any());
        self.lanes.next = bit_cast::<8, LOGK>(self.behind.val().get_bits::<LOGK>(0));
        if !self.lanes.val().any() | !self.ends.val() {
            self.lanes.next = self.all.val();
        }
        if self.takes.val() {
            self.left.d.next = self.behind.val();
            self.begins.d.next = self.s_axis_transmit.tlast.val();
            self.ended.d.next =
                (self.ended.q.val() | self.ends.val()) & !self.s_axis_transmit.tlast.val();
        }

        comment!("the number in place of the length");
        self.ssn_high.next = self.send.val().ssn.get_bits::<8>(8);
        self.ssn_low.next = self.send.val().ssn.get_bits::<8>(0);
        self.numbered.next = self.s_axis_transmit.tdata.val();
        if self.send.val().of_sctp & self.begins.q.val() {
            self.numbered.next = ((self.s_axis_transmit.tdata.val() >> self.segment_at.val())
                << self.segment_at.val())
                | (bit_cast::<W, 8>(self.ssn_high.val()) << self.high_at.val())
                | (bit_cast::<W, 8>(self.ssn_low.val()) << self.low_at.val());
        }

        comment!("the beat, unless the chunk has ended in front of it");
        if self.ready.val() {
            self.beat_valid.d.next = self.s_axis_transmit.tvalid.val() & !self.ended.q.val();
            self.beat_data.d.next = self.numbered.val();
            self.beat_keep.d.next = self.s_axis_transmit.tkeep.val();
            self.beat_octets.d.next = self.lanes.val();
            self.beat_side.d.next.last = self.s_axis_transmit.tlast.val() | self.ends.val();
            self.beat_side.d.next.stream = self.s_axis_transmit.tdest.val();
            self.beat_side.d.next.sequence_number = self.s_axis_transmit.tuser.val();
        }
        self.kept.from.next = self.none.val();
        self.kept.to.next = self.beat_octets.q.val();
        self.octets.s_data.next = self.beat_data.q.val();
        self.octets.s_valid.next = self.beat_valid.q.val();
        self.keeps.s_data.next = self.beat_keep.q.val() & self.kept.mask.val();
        self.keeps.s_valid.next = self.beat_valid.q.val();
        self.sides.s_data.next = self.beat_side.q.val();
        self.sides.s_valid.next = self.beat_valid.q.val();
        self.octets.m_ready.next = self.m_axis_transmit.tready.val();
        self.keeps.m_ready.next = self.m_axis_transmit.tready.val();
        self.sides.m_ready.next = self.m_axis_transmit.tready.val();
        self.m_axis_transmit.tdata.next = self.octets.m_data.val();
        self.m_axis_transmit.tkeep.next = self.keeps.m_data.val();
        self.m_axis_transmit.tlast.next = self.sides.m_data.val().last;
        self.m_axis_transmit.tdest.next = self.sides.m_data.val().stream;
        self.m_axis_transmit.tuser.next = self.sides.m_data.val().sequence_number;
        self.m_axis_transmit.tvalid.next = self.sides.m_valid.val();
        if self.reset.val() {
            self.arming.d.next = false;
            self.begins.d.next = true;
            self.ended.d.next = false;
            self.beat_valid.d.next = false;
        }
    }
}
