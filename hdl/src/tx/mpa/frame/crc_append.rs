//! CRC append: puts the CRC into the last dword of an FPDU.
//!
//! ```text
//!  open ───► queue of beats ────────────────────────────────┐
//!  beat ─┬─► queue of octets ───────────────────────────────┼─►[CRC into the last dword]─► out
//!        └─► crc32c ─► undo the zeros behind it ─► queue ───┘
//! ```
//!
//! The CRC field of a beat is zero when it comes here, and so are the lanes behind it. The CRC is known [`crc_latency`]
//! cycles later; its dword is then added to the lane. All beats stay in the queues for as long: what the CRC unit has at
//! that time goes into a queue for each beat, though only that of a last beat is a CRC. So all beats of an FPDU
//! leave in successive cycles, and a beat cannot leave in front of its CRC.
//!
//! Throughput: one beat a cycle. Latency: [`latency`] cycles. The neighbour gives no beat unless a queue of [`DEPTH`]
//! has room for it; `taken` says when one has left. Hold `reset` for as many cycles as the latency.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::crc32c::{self, Crc32c};
use crate::parts::delay::Delay;
use crate::parts::lane_mask::LaneMask;
use crate::parts::queue::Queue;
use crate::records::FramedBeat;
use crate::tx::mpa::frame::beat_planner::{BeatPlan, OpenBeat};
use crate::tx::mpa::frame::crc_value::{self, CrcValue};
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};
use warpline_wire::crc;

/// Beats between the plan of one and its departure.
pub const DEPTH: usize = 1 << LOG;

/// The same as a power of two.
const LOG: usize = 5;

/// Bits of a dword.
const DWORD: usize = 8 * crc::LEN;

/// Cycles from a beat to the CRC of what ends with it.
#[must_use]
pub const fn crc_latency(dwords: usize) -> usize {
    crc32c::latency(DWORD * dwords) + crc_value::latency(dwords)
}

/// Cycles from a beat to the beat with its CRC, if nothing stalls it.
#[must_use]
pub const fn latency(dwords: usize) -> usize {
    // queue, output
    crc_latency(dwords) + 2
}

/// Beats of W bits, D dwords (2^LOGD).
#[derive(Block)]
#[block()]
pub struct CrcAppend<const W: usize, const D: usize, const LOGD: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// A beat that was planned.
    pub open: Signal<In, OpenBeat>,
    /// It is valid.
    pub open_valid: Signal<In, Bit>,
    /// The same beat later, with zeros in place of its CRC.
    pub beat: Signal<In, BeatPlan>,
    /// Its octets.
    pub beat_data: Signal<In, Bits<W>>,
    /// Pulse: a beat has left the queue.
    pub taken: Signal<Out, Bit>,
    /// The beat.
    pub m_beat: Signal<Out, FramedBeat>,
    /// Its octets, CRC included.
    pub m_data: Signal<Out, Bits<W>>,
    /// It is valid.
    pub m_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_ready: Signal<In, Bit>,

    unit: Crc32c<W, D>,
    undo: CrcValue<LOGD>,
    #[value(Delay::new(crc_latency(D)))]
    arrived: Delay<Bit>,
    beats: Queue<OpenBeat, 5>,
    octets: Queue<Bits<W>, 5>,
    crcs: Queue<Bits<32>, 5>,
    field: LaneMask<W, D>,
    out_beat: Dff<FramedBeat>,
    out_data: Dff<Bits<W>>,
    out_valid: Dff<Bit>,
    taken_1: Dff<Bit>,

    head: Signal<Local, OpenBeat>,
    everywhere: Signal<Local, Bits<W>>,
    take: Signal<Local, Bit>,
    #[constant(Bits::default())]
    no_bits: Constant<Bits<W>>,
    #[constant(|lane| DWORD * lane)]
    lane_at: [Constant<Bits<16>>; D],
}

impl<const W: usize, const D: usize, const LOGD: usize> Default for CrcAppend<W, D, LOGD> {
    fn default() -> Self {
        assert!(W == DWORD * D && D == 1 << LOGD);
        Self::assemble()
    }
}

impl<const W: usize, const D: usize, const LOGD: usize> Logic for CrcAppend<W, D, LOGD> {
    #[hdl_gen]
    fn update(&mut self) {
        self.beats.reset.next = self.reset.val();
        self.octets.reset.next = self.reset.val();
        self.crcs.reset.next = self.reset.val();
        self.unit.reset.next = self.reset.val();

        comment!(
            "what is known goes into a queue at once, the octets follow, and then what the CRC unit has of them"
        );
        self.beats.s_data.next = self.open.val();
        self.beats.s_valid.next = self.open_valid.val();
        self.octets.s_data.next = self.beat_data.val();
        self.octets.s_valid.next = self.beat.val().valid;
        self.unit.data.next = self.beat_data.val();
        self.unit.valid.next = self.beat.val().valid;
        self.unit.first.next = self.beat.val().first;
        self.unit.last.next = self.beat.val().last;
        self.unit.count.next = self.beat.val().dwords;
        self.undo.register.next = self.unit.verdict.val().state;
        self.undo.zeros.next = self.unit.verdict.val().zeros;
        self.arrived.d.next = self.beat.val().valid & !self.reset.val();
        self.crcs.s_data.next = self.undo.value.val();
        self.crcs.s_valid.next = self.arrived.q.val();

        comment!("the CRC field is zero so far");
        self.head.next = self.beats.m_data.val();
        self.everywhere.next = self.no_bits.val();
        for i in 0..D {
            self.everywhere.next = self.everywhere.val()
                | (bit_cast::<W, 32>(self.crcs.m_data.val()) << self.lane_at[i].val());
        }
        self.field.from.next = bit_cast::<8, 5>(self.head.val().dwords) - 1;
        self.field.to.next = bit_cast::<8, 5>(self.head.val().dwords);
        self.take.next = self.crcs.m_valid.val() & (!self.out_valid.q.val() | self.m_ready.val());
        self.beats.m_ready.next = self.take.val();
        self.octets.m_ready.next = self.take.val();
        self.crcs.m_ready.next = self.take.val();
        self.taken_1.d.next = self.take.val();
        self.taken.next = self.taken_1.q.val();
        if self.m_ready.val() {
            self.out_valid.d.next = false;
        }
        if self.take.val() {
            self.out_valid.d.next = true;
            self.out_beat.d.next.stream = self.head.val().stream;
            self.out_beat.d.next.position = self.head.val().position;
            self.out_beat.d.next.dwords = self.head.val().dwords;
            self.out_beat.d.next.first = self.head.val().first;
            self.out_beat.d.next.last = self.head.val().last;
            self.out_data.d.next = self.octets.m_data.val();
            if self.head.val().last & self.head.val().crc {
                self.out_data.d.next =
                    self.octets.m_data.val() | (self.everywhere.val() & self.field.mask.val());
            }
        }
        self.m_beat.next = self.out_beat.q.val();
        self.m_data.next = self.out_data.q.val();
        self.m_valid.next = self.out_valid.q.val();
        if self.reset.val() {
            self.out_valid.d.next = false;
            self.taken_1.d.next = false;
        }
    }
}
