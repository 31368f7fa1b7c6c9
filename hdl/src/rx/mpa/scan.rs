//! Scan: follows the chain of lengths of each stream and finds whole FPDUs.
//!
//! ```text
//!                    ┌─ look ─► reader ─► header RAM ─► walker ─► Item ─► whole? ─┬─ yes ─► queue ─► Fpdu ─► fetch
//!  landed ─► edge ─► pick          (rows of one visit)                            └─ no: length known ─┐
//!  at, need ────────►└─ give ─► FPDU whose length is known ─► queue          at, need ◄─ end of visit ◄┘
//!                                       ▲
//!  beat, landing octets ─► fast_path ───┴─► length known
//!
//!  beyond, island ─► look_ahead: marker RAM, header RAM when the reader is idle ─► queue
//!                      └─► placed_ahead ◄─ verdicts of check
//! ```
//!
//! A stream is visited when the octets that it needs have landed: 4 for ULPDU_Length, 8 with a leading marker. The
//! visit follows the chain through all that has landed. ULPDU_Length is read from the ring, so it does not matter how
//! segments cut it. The length on the wire includes markers (MPA-FMT-10). If the last FPDU found is not whole, its
//! length is kept, and the FPDU is issued without another visit as soon as its last octet lands.
//!
//! A length above `max_ulpdu`, unless the stream accepts any, or an FPDU larger than the buffers, is issued as a refused
//! FPDU as soon as the length is known, and its stream is not visited again (AMB-21, AMB-22).
//!
//! When a stream has ended and no whole FPDU is left in front of the end, the end is issued as a refused FPDU, too,
//! behind all others: `CLOSED` if the FIN is behind an FPDU, `TRUNCATED` if it cuts one, or the cause for which the
//! stream was lost. Only `CLOSED` may be followed, by the loss of the stream. No edge is accepted behind a mark, so
//! the chain never runs past the end.
//!
//! Throughput within a visit: an FPDU takes one cycle, or one for each row from its begin to that of the next one if
//! there are more; that is never more than the beats in which `fetch` reads it. Streams take turns. Visits overlap,
//! so a change of stream costs the reader at most two cycles. An FPDU that reaches [`FAR`] rows ends its visit; its
//! stream is visited again at most [`AGAIN`] cycles later. Idle streams cost nothing.
//!
//! Latency: 12 cycles from the landing of the last octet to `issued`, 4 more for a long FPDU with markers, and 5 if
//! the length was known before. The FPDU is at the output a cycle later. An FPDU that arrives alone and begins with a
//! beat needs no visit ([`fast_path`]): if it ends with that beat or the next one, it is issued 3 cycles after its first
//! beat has landed; otherwise its length is known by then.
//!
//! Behind gaps, [`look_ahead`] finds whole FPDUs by their markers. They are issued with `ahead` when no FPDU in order is
//! pending. The chain in order finds them again and marks the accepted ones as `placed` ([`placed_ahead`]).
//!
//! FPDUs that were found before their stream was closed, and not issued by then, are dropped. The first visit for the
//! next owner begins only when the last visit for the previous owner has ended. Arm and close take effect a cycle
//! later.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
pub mod fast_path;
pub mod lengths;
pub mod look_ahead;
pub mod placed_ahead;
pub mod reader;
pub mod walker;

use crate::parts::queue::{Queue, Store};
use crate::parts::round_robin::RoundRobin;
use crate::records::{Fpdu, HEADER, RingBeat};
use crate::rx::mpa::assembly;
use crate::rx::mpa::stream_end::Mark;
use crate::{Config, ISLANDS};
use fast_path::{FastFpdu, FastPath};
use look_ahead::LookAhead;
use placed_ahead::PlacedAhead;
use reader::{Reader, Visit};
use rust_hdl_core::prelude::*;
use walker::{Item, Walker};
use warpline_regmap::layout::refused;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

pub use lengths::FAR;
pub use look_ahead::{FIND, NEXT};
pub use reader::{ROWS, VISIT};

/// Cycles from one FPDU of a stream to the next one if the visit ends between them and no other stream is visited.
pub const AGAIN: usize = 16;

/// Cycles after an arm or a close in which no FPDU is accepted from [`fast_path`]: it may belong to the stream's previous owner.
const BLOCKED: u64 = 8;

/// FPDUs in the queue to `fetch` from which on the search pauses.
const ENOUGH: u64 = 8;

/// Side information of an FPDU whose end is known.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Measured {
    /// As in [`Item`].
    pub found: Bit,
    /// As in [`Item`].
    pub last: Bit,
    /// Position behind it, or where it would begin if there is none.
    pub behind: Bits<32>,
}

/// Length of an FPDU that is not whole yet.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Known {
    /// As in [`Fpdu`].
    pub dwords: Bits<16>,
    /// As in [`Fpdu`].
    pub ulpdu: Bits<16>,
}

/// Scanner of S streams over header rows of H bits = 16·D, D = 2^LOGD dwords.
#[derive(Block)]
#[block(config: &Config)]
pub struct Scan<const H: usize, const D: usize, const LOGD: usize, const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Pulse: octets of `landed_stream` are in the ring up to `landed_edge`.
    pub landed: Signal<In, Bit>,
    /// That stream.
    pub landed_stream: Signal<In, Bits<8>>,
    /// The position behind its last octet.
    pub landed_edge: Signal<In, Bits<32>>,
    /// From `admit`: a beat with new octets, which lands [`assembly::latency`] cycles later.
    pub beat_valid: Signal<In, Bit>,
    /// Their place.
    pub beat: Signal<In, RingBeat>,
    /// With `landed`: first two octets of each dword, in the lanes of the ring.
    pub landed_heads: Signal<In, Bits<H>>,
    /// End of a stream; follows the landing of all octets in front of it.
    pub mark: Signal<In, Mark>,
    /// Pulse: `stream` starts at position 0, with the two flags below.
    pub arm: Signal<In, Bit>,
    /// Pulse: `stream` is no longer visited.
    pub close: Signal<In, Bit>,
    /// Stream of `arm` and `close`.
    pub stream: Signal<In, Bits<8>>,
    /// The stream carries markers.
    pub markers: Signal<In, Bit>,
    /// The stream's CRCs are checked.
    pub crc: Signal<In, Bit>,
    /// Any ULPDU_Length is accepted in the stream; not with `markers`.
    pub long_ulpdus: Signal<In, Bit>,
    /// Row of the header RAM to read.
    pub header_row: Signal<Out, Bits<20>>,
    /// First two octets of each dword of that row, two cycles later.
    pub header_data: Signal<In, Bits<H>>,
    /// From `admit`: a segment ends behind a gap.
    pub beyond: Signal<In, Bit>,
    /// From `admit`.
    pub beyond_stream: Signal<In, Bits<8>>,
    /// From `admit`.
    pub beyond_position: Signal<In, Bits<32>>,
    /// Lookup of an island: its stream,
    pub asked_stream: Signal<Out, Bits<8>>,
    /// and a position in it.
    pub asked_position: Signal<Out, Bits<32>>,
    /// Two cycles later: the island exists,
    pub island: Signal<In, Bit>,
    /// it begins here,
    pub island_begin: Signal<In, Bits<32>>,
    /// and ends here.
    pub island_end: Signal<In, Bits<32>>,
    /// Row of the marker to read.
    pub marker_row: Signal<Out, Bits<20>>,
    /// Its FPDUPTR, two cycles later.
    pub marker_data: Signal<In, Bits<16>>,
    /// Pulse: `fetch` has begun to read an FPDU with `ahead`.
    pub ahead_started: Signal<In, Bit>,
    /// Pulse: `check` has finished an FPDU with `ahead`.
    pub ahead_done: Signal<In, Bit>,
    /// Its stream.
    pub ahead_stream: Signal<In, Bits<8>>,
    /// Its stream position.
    pub ahead_position: Signal<In, Bits<32>>,
    /// It is placed.
    pub ahead_accepted: Signal<In, Bit>,
    /// Whole FPDUs, or refused ones.
    pub fpdu: Signal<Out, Fpdu>,
    /// The FPDU is valid.
    pub fpdu_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub fpdu_ready: Signal<In, Bit>,
    /// Position up to which the octets of each stream have landed.
    pub edge_landed: [Signal<Out, Bits<32>>; S],
    /// Pulse: an FPDU of `issued_stream` was issued.
    pub issued: Signal<Out, Bit>,
    /// That stream.
    pub issued_stream: Signal<Out, Bits<8>>,

    // arm and close, registered
    arm_pulse: Dff<Bit>,
    close_pulse: Dff<Bit>,
    owner_changes: Dff<Bit>,
    owner_stream: Dff<Bits<8>>,
    owner_markers: Dff<Bit>,
    owner_crc: Dff<Bit>,
    owner_long: Dff<Bit>,

    // streams
    live: [Dff<Bit>; S],
    with_markers: [Dff<Bit>; S],
    with_crc: [Dff<Bit>; S],
    with_long: [Dff<Bit>; S],
    edge_at: [Dff<Bits<32>>; S],
    at: [Dff<Bits<32>>; S],
    known: [Dff<Bit>; S],
    need: [Dff<Bits<20>>; S],
    have: [Dff<Bits<20>>; S],
    eligible: [Dff<Bit>; S],
    // the stream selected for the reader, and the one selected to be issued
    picked_look: [Dff<Bit>; S],
    picked_give: [Dff<Bit>; S],
    given_here: [Signal<Local, Bit>; S],
    busy: [Dff<Bit>; S],
    /// In the previous cycle it had no visit, and none was pending.
    was_idle: [Dff<Bit>; S],
    stale: [Dff<Bit>; S],
    // its end: known; to be reported as reached, or with its cause; nothing left in front of it
    stopped: [Dff<Bit>; S],
    finished: [Dff<Bit>; S],
    cause: [Dff<Bits<3>>; S],
    ends: [Dff<Bit>; S],

    // look: the next stream to be visited
    chosen: Dff<Bits<8>>,
    chosen_valid: Dff<Bit>,
    chain_of: [Dff<Bits<4>>; S],
    #[value(Reader::new(config))]
    reader: Reader<H, D, LOGD>,
    #[value(Walker::new(config))]
    walker: Walker<H, D, LOGD>,

    // measure: end of the walker's FPDU, edge of its stream
    behind: Dff<Bits<32>>,
    measured_valid: Dff<Bit>,
    measured: Dff<Measured>,
    measured_fpdu: Dff<Fpdu>,
    measured_edge: Dff<Bits<20>>,
    weighed_valid: Dff<Bit>,
    weighed: Dff<Measured>,
    weighed_chain: Dff<Bits<4>>,
    weighed_fpdu: Dff<Fpdu>,
    /// Its stream, a bit each.
    weighed_of: [Dff<Bit>; S],
    whole: Dff<Bit>,
    short: Dff<Bit>,
    dropped: Dff<Bit>,
    dead: Dff<Bit>,
    visit_done: Dff<Bit>,
    visit_done_stream: Dff<Bits<8>>,

    // give: a stream whose pending FPDU has become whole
    given: Dff<Bits<8>>,
    given_valid: Dff<Bit>,
    given_ends: Dff<Bit>,
    lengths: Store<Known, 4>,
    length_write: Dff<Bit>,
    length_stream: Dff<Bits<4>>,
    length_data: Dff<Known>,
    known_fpdu_valid: Dff<Bit>,
    known_fpdu: Dff<Fpdu>,
    /// Its stream, a bit each.
    known_fpdu_of: [Dff<Bit>; S],
    known_fpdu_dropped: Dff<Bit>,
    issue_done: Dff<Bit>,
    issue_done_stream: Dff<Bits<8>>,

    // fast path: an FPDU that begins with a beat
    #[value(FastPath::new(assembly::latency(config.octets())))]
    fast_path: FastPath<H, D, LOGD, S>,
    blocked: Dff<Bits<4>>,
    /// `blocked` is 0, and no stream is being closed.
    fast_path_open: Dff<Bit>,

    // behind gaps
    #[value(LookAhead::new(config))]
    look_ahead: LookAhead<H, D, LOGD, S>,
    placed: PlacedAhead<S, ISLANDS>,

    out: Queue<Fpdu, 4>,
    waiting: Dff<Bits<8>>,
    hold: Dff<Bit>,

    marked: Signal<Local, Bit>,
    enough_for: [Signal<Local, Bit>; S],
    picked: [Signal<Local, Bit>; S],
    look: RoundRobin<S>,
    give: RoundRobin<S>,
    visit: Signal<Local, Visit>,
    edge_looked: Signal<Local, Bits<20>>,
    item: Signal<Local, Item>,
    base: Signal<Local, Bits<32>>,
    item_octets: Signal<Local, Bits<32>>,
    left: Signal<Local, Bits<20>>,
    stands: Signal<Local, Bit>,
    refusal: Signal<Local, Bits<3>>,
    passes: Signal<Local, Bit>,
    incomplete: Signal<Local, Bit>,
    fast_fpdu: Signal<Local, FastFpdu>,
    fast_length: Signal<Local, Known>,
    idle: [Signal<Local, Bit>; S],
    fast_accepted: Signal<Local, Bit>,
    fast_accepted_of: [Signal<Local, Bit>; S],
    /// The FPDU of `fast_path` can be issued at once.
    in_time: Signal<Local, Bit>,
    fast_issues: Signal<Local, Bit>,
    fast_records: Signal<Local, Bit>,
    gives: Signal<Local, Bit>,
    given_to: Signal<Local, Bits<8>>,
    given_length: Signal<Local, Known>,
    at_its_end: Signal<Local, Bit>,
    known_fpdu_passes: Signal<Local, Bit>,
    known_fpdu_behind: Signal<Local, Bits<32>>,
    weighed_octets: Signal<Local, Bits<20>>,
    found: Signal<Local, Fpdu>,
    in_order: Signal<Local, Bit>,
    ahead_goes: Signal<Local, Bit>,
    pushes: Signal<Local, Bit>,
    pops: Signal<Local, Bit>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(config.max_fpdu() / 4)]
    max_dwords: Constant<Bits<16>>,
    #[constant(ENOUGH)]
    enough: Constant<Bits<8>>,
    #[constant(refused::LENGTH)]
    refused_length: Constant<Bits<3>>,
    #[constant(refused::TOO_LARGE)]
    refused_too_large: Constant<Bits<3>>,
    #[constant(refused::CLOSED)]
    ends_closed: Constant<Bits<3>>,
    #[constant(refused::TRUNCATED)]
    ends_truncated: Constant<Bits<3>>,
    #[constant(0)]
    no_chain: Constant<Bits<4>>,
    #[constant(BLOCKED)]
    blocked_for: Constant<Bits<4>>,
    #[constant(HEADER)]
    header: Constant<Bits<16>>,
}

impl<const H: usize, const D: usize, const LOGD: usize, const S: usize> Scan<H, D, LOGD, S> {
    /// A scanner of the rings of `config`.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!(H == 16 * D && D == 1 << LOGD && (1..=16).contains(&S));
        assert!(
            config.max_fpdu() / 4 > FAR * D,
            "an FPDU above the buffers ends its visit"
        );
        Self::assemble(config)
    }
}

impl<const H: usize, const D: usize, const LOGD: usize, const S: usize> Logic
    for Scan<H, D, LOGD, S>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.reader.reset.next = self.reset.val();
        self.walker.reset.next = self.reset.val();
        self.out.reset.next = self.reset.val();
        self.fast_path.reset.next = self.reset.val();
        self.look_ahead.reset.next = self.reset.val();
        self.placed.reset.next = self.reset.val();

        comment!(
            "each stream: octets landed behind the begin of its next FPDU, and whether they suffice"
        );
        self.marked.next = self.mark.val().finished | self.mark.val().cause.any();
        for i in 0..S {
            self.live[i].d.next = self.live[i].q.val();
            self.with_markers[i].d.next = self.with_markers[i].q.val();
            self.with_crc[i].d.next = self.with_crc[i].q.val();
            self.with_long[i].d.next = self.with_long[i].q.val();
            self.edge_at[i].d.next = self.edge_at[i].q.val();
            self.edge_landed[i].next = self.edge_at[i].q.val();
            self.at[i].d.next = self.at[i].q.val();
            self.chain_of[i].d.next = self.chain_of[i].q.val();
            self.known[i].d.next = self.known[i].q.val();
            self.need[i].d.next = self.need[i].q.val();
            if !self.known[i].q.val() {
                self.need[i].d.next = 4.into();
                if self.with_markers[i].q.val() & !self.at[i].q.val().get_bits::<9>(0).any() {
                    self.need[i].d.next = 8.into();
                }
            }
            self.have[i].d.next = (self.edge_at[i].q.val() - self.at[i].q.val()).get_bits::<20>(0);
            self.busy[i].d.next = self.busy[i].q.val();
            self.was_idle[i].d.next = !self.busy[i].q.val() & !self.eligible[i].q.val();
            self.stale[i].d.next = self.stale[i].q.val();
            self.picked_look[i].d.next = self.picked_look[i].q.val();
            self.picked_give[i].d.next = false;
            self.picked[i].next = self.picked_look[i].q.val() | self.picked_give[i].q.val();
            self.stopped[i].d.next = self.stopped[i].q.val();
            self.finished[i].d.next = self.finished[i].q.val();
            self.cause[i].d.next = self.cause[i].q.val();
            self.enough_for[i].next = self.have[i].q.val() >= self.need[i].q.val();
            self.ends[i].d.next = !self.enough_for[i].val();
            self.eligible[i].d.next = self.live[i].q.val()
                & !self.picked[i].val()
                & !self.busy[i].q.val()
                & (self.enough_for[i].val()
                    | self.finished[i].q.val()
                    | self.cause[i].q.val().any());
            if self.landed.val()
                & !self.stopped[i].q.val()
                & (self.landed_stream.val().get_bits::<4>(0) == self.index[i].val())
            {
                self.edge_at[i].d.next = self.landed_edge.val();
            }
            if self.marked.val() & (self.mark.val().stream.get_bits::<4>(0) == self.index[i].val())
            {
                self.stopped[i].d.next = true;
                self.edge_at[i].d.next = self.edge_at[i].q.val();
                self.finished[i].d.next = self.finished[i].q.val() | self.mark.val().finished;
                if self.mark.val().cause.any() {
                    self.cause[i].d.next = self.mark.val().cause;
                }
            }
        }
        comment!("registered for the distance");
        self.arm_pulse.d.next = self.arm.val();
        self.close_pulse.d.next = self.close.val();
        self.owner_changes.d.next = self.arm.val() | self.close.val();
        self.owner_stream.d.next = self.stream.val();
        self.owner_markers.d.next = self.markers.val();
        self.owner_crc.d.next = self.crc.val();
        self.owner_long.d.next = self.long_ulpdus.val();

        comment!("select the next stream to visit, and the next one whose FPDU has become whole");
        self.look.last.next = self.chosen.q.val().get_bits::<4>(0);
        self.give.last.next = self.given.q.val().get_bits::<4>(0);
        for i in 0..S {
            self.look.asks[i].next =
                self.eligible[i].q.val() & !self.known[i].q.val() & !self.ends[i].q.val();
            self.give.asks[i].next =
                self.eligible[i].q.val() & (self.known[i].q.val() | self.ends[i].q.val());
        }

        comment!("look: visit it as soon as the reader accepts");
        self.visit.next.stream = self.chosen.q.val();
        self.visit.next.position = 0.into();
        self.visit.next.markers = false;
        self.visit.next.crc = false;
        self.visit.next.long_ulpdus = false;
        self.visit.next.cut = false;
        self.edge_looked.next = 0.into();
        for i in 0..S {
            if self.chosen.q.val().get_bits::<4>(0) == self.index[i].val() {
                self.visit.next.position = self.at[i].q.val();
                self.visit.next.markers = self.with_markers[i].q.val();
                self.visit.next.crc = self.with_crc[i].q.val();
                self.visit.next.long_ulpdus = self.with_long[i].q.val();
                self.visit.next.cut = self.stale[i].q.val();
            }
            if self.reader.looked.val().get_bits::<4>(0) == self.index[i].val() {
                self.edge_looked.next = self.edge_at[i].q.val().get_bits::<20>(0);
            }
        }
        self.reader.visit.next = self.visit.val();
        self.reader.visit_valid.next = self.chosen_valid.q.val();
        self.reader.looked_edge.next = self.edge_looked.val();
        self.reader.owner_changes.next = self.owner_changes.q.val();
        self.reader.owner_stream.next = self.owner_stream.q.val();
        self.reader.abort.next = self.walker.abort.val();
        self.reader.abort_number.next = self.walker.abort_number.val();
        self.header_row.next = self.reader.header_row.val();
        self.reader.header_data.next = self.header_data.val();
        self.walker.row.next = self.reader.row.val();
        self.walker.lengths.next = self.reader.lengths.val();
        self.walker.row_valid.next = self.reader.row_valid.val();
        self.reader.row_ready.next = self.walker.row_ready.val();
        self.walker.hold.next = self.hold.q.val();
        if self.chosen_valid.q.val() & self.reader.visit_ready.val() {
            self.chosen_valid.d.next = false;
            for i in 0..S {
                self.picked_look[i].d.next = false;
            }
        }
        if !self.chosen_valid.q.val() & self.look.any.val() {
            self.chosen_valid.d.next = true;
            self.chosen.d.next = self.look.choice.val();
            for i in 0..S {
                self.picked_look[i].d.next =
                    self.look.choice.val().get_bits::<4>(0) == self.index[i].val();
            }
        }

        comment!("measure: the end of the walker's FPDU, and the edge of its stream");
        self.item.next = self.walker.item.val();
        self.base.next = self.behind.q.val();
        if self.item.val().start {
            self.base.next = self.item.val().position;
        }
        self.item_octets.next = 0.into();
        if self.item.val().fpdu {
            self.item_octets.next = bit_cast::<32, 16>(self.item.val().dwords) << 2;
        }
        self.placed.visit.next =
            self.reader.row_valid.val() & self.walker.row_ready.val() & self.reader.row.val().first;
        self.placed.visited.next = self.reader.row.val().stream;
        self.placed.visited_at.next = self.reader.row.val().position.get_bits::<20>(0);
        self.placed.item.next = self.walker.item_valid.val();
        self.placed.item_start.next = self.item.val().start;
        self.placed.chain_at.next = self.behind.q.val().get_bits::<20>(0);
        self.measured_valid.d.next = self.walker.item_valid.val();
        self.measured.d.next.found = self.item.val().fpdu;
        self.measured.d.next.last = self.item.val().last;
        self.measured.d.next.behind = self.base.val() + self.item_octets.val();
        self.refusal.next = 0.into();
        if self.item.val().fpdu & (self.item.val().dwords > self.max_dwords.val()) {
            self.refusal.next = self.refused_too_large.val();
        }
        if self.item.val().fpdu & self.item.val().refused {
            self.refusal.next = self.refused_length.val();
        }
        self.measured_fpdu.d.next.stream = self.item.val().stream;
        self.measured_fpdu.d.next.position = self.base.val();
        self.measured_fpdu.d.next.dwords = self.item.val().dwords;
        if self.refusal.val().any() {
            self.measured_fpdu.d.next.dwords = 2.into();
        }
        self.measured_fpdu.d.next.markers = self.item.val().markers;
        self.measured_fpdu.d.next.crc = self.item.val().crc;
        self.measured_fpdu.d.next.refused = self.refusal.val();
        self.measured_fpdu.d.next.ulpdu = self.item.val().ulpdu;
        self.measured_fpdu.d.next.ahead = false;
        self.measured_fpdu.d.next.placed = self.placed.chain_now.val().any();
        self.measured_fpdu.d.next.header_only = false;
        if self.walker.item_valid.val() {
            self.behind.d.next = self.base.val() + self.item_octets.val();
        }
        for i in 0..S {
            if self.item.val().stream.get_bits::<4>(0) == self.index[i].val() {
                self.measured_edge.d.next = self.edge_at[i].q.val().get_bits::<20>(0);
            }
        }

        comment!("weigh: is it whole, and does its stream have the same owner?");
        self.left.next =
            self.measured_edge.q.val() - self.measured.q.val().behind.get_bits::<20>(0);
        self.weighed_valid.d.next = self.measured_valid.q.val();
        self.weighed.d.next = self.measured.q.val();
        self.weighed_chain.d.next = self.placed.chain_behind.val();
        self.weighed_fpdu.d.next = self.measured_fpdu.q.val();
        self.weighed_fpdu.d.next.header_only = self.measured_fpdu.q.val().placed
            & (self.measured_fpdu.q.val().dwords > self.header.val());
        self.whole.d.next = self.measured_valid.q.val()
            & self.measured.q.val().found
            & (!self.left.val().get_bit(19) | self.measured_fpdu.q.val().refused.any());
        self.short.d.next = self.measured_valid.q.val()
            & self.measured.q.val().found
            & self.left.val().get_bit(19)
            & !self.measured_fpdu.q.val().refused.any();
        self.dropped.d.next = self.owner_changes.q.val()
            & (self.owner_stream.q.val() == self.measured_fpdu.q.val().stream);
        for i in 0..S {
            self.weighed_of[i].d.next =
                self.measured_fpdu.q.val().stream.get_bits::<4>(0) == self.index[i].val();
            if self.weighed_of[i].d.val() & self.stale[i].q.val() {
                self.dropped.d.next = true;
            }
        }

        comment!(
            "decide: issue it, or keep its length until the rest lands; later items of that visit are void"
        );
        self.stands.next = self.weighed_valid.q.val() & !self.dropped.q.val() & !self.dead.q.val();
        self.passes.next = self.whole.q.val() & !self.dropped.q.val() & !self.dead.q.val();
        self.incomplete.next = self.short.q.val() & !self.dropped.q.val() & !self.dead.q.val();
        self.weighed_octets.next = bit_cast::<20, 16>(self.weighed_fpdu.q.val().dwords) << 2;
        if self.incomplete.val() {
            self.dead.d.next = true;
        }
        if self.weighed_valid.q.val() & self.weighed.q.val().last {
            self.dead.d.next = false;
        }
        self.visit_done.d.next = self.weighed_valid.q.val() & self.weighed.q.val().last;
        self.visit_done_stream.d.next = self.weighed_fpdu.q.val().stream;

        comment!("fast path: the next FPDU of a stream whose landed octets have all been visited");
        self.fast_path.beat_valid.next = self.beat_valid.val();
        self.fast_path.beat.next = self.beat.val();
        self.fast_path.heads.next = self.landed_heads.val();
        self.fast_fpdu.next = self.fast_path.fpdu.val();
        self.fast_length.next.dwords = self.fast_fpdu.val().dwords;
        self.fast_length.next.ulpdu = self.fast_fpdu.val().ulpdu;
        self.fast_accepted.next = false;
        for i in 0..S {
            self.fast_path.at[i].next = self.at[i].q.val().get_bits::<20>(0);
            self.fast_path.with_markers[i].next = self.with_markers[i].q.val();
            self.idle[i].next = self.live[i].q.val()
                & !self.stopped[i].q.val()
                & !self.known[i].q.val()
                & !self.eligible[i].q.val()
                & !self.picked[i].val()
                & !self.busy[i].q.val();
            self.fast_accepted_of[i].next = self.fast_path.fpdu_valid.val()
                & self.fast_path.fpdu_of[i].val()
                & self.idle[i].val()
                & self.fast_path_open.q.val();
            if self.fast_accepted_of[i].val() {
                self.fast_accepted.next = true;
            }
        }
        self.in_time.next = self.fast_fpdu.val().whole
            & !self.given_valid.q.val()
            & !self.known_fpdu_valid.q.val()
            & !self.give.any.val();
        self.fast_issues.next = self.fast_accepted.val() & self.in_time.val();
        self.fast_records.next =
            self.fast_accepted.val() & !self.in_time.val() & !self.incomplete.val();
        if self.blocked.q.val().any() {
            self.blocked.d.next = self.blocked.q.val() - 1;
        }
        self.fast_path_open.d.next = !(self.blocked.q.val() >> 1).any()
            & !self.owner_changes.q.val()
            & !self.arm.val()
            & !self.close.val();
        if self.owner_changes.q.val() {
            self.blocked.d.next = self.blocked_for.val();
        }
        comment!("a known length is written a cycle later, before it can be issued");
        self.length_write.d.next = self.incomplete.val() | self.fast_records.val();
        self.length_stream.d.next = self.fast_fpdu.val().stream.get_bits::<4>(0);
        self.length_data.d.next = self.fast_length.val();
        if self.incomplete.val() {
            self.length_stream.d.next = self.weighed_fpdu.q.val().stream.get_bits::<4>(0);
            self.length_data.d.next.dwords = self.weighed_fpdu.q.val().dwords;
            self.length_data.d.next.ulpdu = self.weighed_fpdu.q.val().ulpdu;
        }
        self.lengths.write.next = self.length_write.q.val();
        self.lengths.write_row.next = self.length_stream.q.val();
        self.lengths.data.next = self.length_data.q.val();

        comment!(
            "give: the pending FPDU is whole, or its stream has ended; or the FPDU of `fast_path`"
        );
        self.lengths.read_row.next = self.given.q.val().get_bits::<4>(0);
        if !self.given_valid.q.val() & !self.known_fpdu_valid.q.val() & self.give.any.val() {
            self.given_valid.d.next = true;
            self.given.d.next = self.give.choice.val();
            self.given_ends.d.next = false;
            for i in 0..S {
                if self.give.choice.val().get_bits::<4>(0) == self.index[i].val() {
                    self.picked_give[i].d.next = true;
                    self.given_ends.d.next = self.ends[i].q.val();
                }
            }
        }
        self.gives.next = self.given_valid.q.val() | self.fast_issues.val();
        self.given_to.next = self.given.q.val();
        self.given_length.next = self.lengths.out.val();
        self.at_its_end.next = self.given_ends.q.val();
        if !self.given_valid.q.val() {
            self.given_to.next = self.fast_fpdu.val().stream;
            self.given_length.next = self.fast_length.val();
            self.at_its_end.next = false;
        }
        comment!("in this cycle `picked_give` has the selected stream, too");
        for i in 0..S {
            self.given_here[i].next = self.picked_give[i].q.val()
                | (!self.given_valid.q.val() & self.fast_path.fpdu_of[i].val());
            if !self.known_fpdu_valid.q.val() {
                self.known_fpdu_of[i].d.next = self.given_here[i].val();
            }
        }
        comment!("not read before it is issued");
        if !self.known_fpdu_valid.q.val() {
            self.known_fpdu.d.next.stream = self.given_to.val();
            self.known_fpdu.d.next.dwords = self.given_length.val().dwords;
            self.known_fpdu.d.next.ulpdu = self.given_length.val().ulpdu;
            self.known_fpdu.d.next.refused = 0.into();
            self.known_fpdu.d.next.ahead = false;
            self.known_fpdu.d.next.placed = false;
            self.known_fpdu.d.next.header_only = false;
            self.known_fpdu_dropped.d.next = false;
            for i in 0..S {
                if self.given_here[i].val() {
                    self.known_fpdu.d.next.position = self.at[i].q.val();
                    self.known_fpdu.d.next.markers = self.with_markers[i].q.val();
                    self.known_fpdu.d.next.crc = self.with_crc[i].q.val();
                    self.known_fpdu_dropped.d.next = self.stale[i].q.val();
                    if self.at_its_end.val() {
                        if !self.known[i].q.val() {
                            self.known_fpdu.d.next.ulpdu = 0.into();
                        }
                        self.known_fpdu.d.next.refused = self.cause[i].q.val();
                        if self.finished[i].q.val() {
                            self.known_fpdu.d.next.refused = self.ends_closed.val();
                            if self.have[i].q.val().any() {
                                self.known_fpdu.d.next.refused = self.ends_truncated.val();
                            }
                        }
                    }
                }
            }
            if self.at_its_end.val() {
                self.known_fpdu.d.next.dwords = 2.into();
            }
        }
        if self.owner_changes.q.val() & (self.owner_stream.q.val() == self.given.q.val()) {
            self.known_fpdu_dropped.d.next = true;
        }
        self.known_fpdu_passes.next = self.known_fpdu_valid.q.val()
            & !self.known_fpdu_dropped.q.val()
            & !self.passes.val()
            & !self.hold.q.val();
        self.known_fpdu_behind.next = self.known_fpdu.q.val().position
            + (bit_cast::<32, 16>(self.known_fpdu.q.val().dwords) << 2);
        self.issue_done.d.next = false;
        self.issue_done_stream.d.next = self.known_fpdu.q.val().stream;
        if self.known_fpdu_passes.val() | self.known_fpdu_dropped.q.val() {
            self.known_fpdu_valid.d.next = false;
            self.issue_done.d.next = self.known_fpdu_valid.q.val();
        }
        if self.gives.val() {
            self.given_valid.d.next = false;
            self.known_fpdu_valid.d.next = true;
        }
        if self.fast_issues.val() {
            self.given.d.next = self.fast_fpdu.val().stream;
        }

        comment!(
            "behind gaps: streams with markers and CRC; an FPDU ahead is issued when none in order is pending. After a visit its"
        );
        comment!("stream is not busy for a cycle before it is eligible again");
        self.look_ahead.owner_changes.next = self.owner_changes.q.val();
        self.look_ahead.owner_stream.next = self.owner_stream.q.val();
        for i in 0..S {
            self.look_ahead.allowed[i].next =
                self.live[i].q.val() & self.with_markers[i].q.val() & self.with_crc[i].q.val();
            self.look_ahead.edge_of[i].next = self.edge_at[i].q.val().get_bits::<20>(0);
            self.look_ahead.exhausted[i].next =
                self.was_idle[i].q.val() & !self.eligible[i].q.val();
            self.placed.at[i].next = self.at[i].q.val().get_bits::<20>(0);
            self.placed.chain[i].next = self.chain_of[i].q.val();
        }
        self.look_ahead.beyond.next = self.beyond.val();
        self.look_ahead.beyond_stream.next = self.beyond_stream.val();
        self.look_ahead.beyond_position.next = self.beyond_position.val();
        self.asked_stream.next = self.look_ahead.asked_stream.val();
        self.asked_position.next = self.look_ahead.asked_position.val();
        self.look_ahead.island.next = self.island.val();
        self.look_ahead.island_begin.next = self.island_begin.val();
        self.look_ahead.island_end.next = self.island_end.val();
        self.marker_row.next = self.look_ahead.marker_row.val();
        self.look_ahead.marker_data.next = self.marker_data.val();
        self.reader.peek_row.next = self.look_ahead.peek_row.val();
        self.look_ahead.peeked.next = self.look_ahead.peek.val() & self.reader.idle.val();
        self.look_ahead.header_data.next = self.header_data.val();
        self.look_ahead.started.next = self.ahead_started.val();
        self.look_ahead.placed_pulse.next = self.placed.placed_pulse.val();
        self.look_ahead.placed_stream.next = self.placed.placed_stream.val();
        self.placed.owner_changes.next = self.owner_changes.q.val();
        self.placed.owner_stream.next = self.owner_stream.q.val();
        self.placed.ask.next = self.look_ahead.ask.val();
        self.placed.record.next = self.look_ahead.record.val();
        self.placed.record_whole.next = self.look_ahead.record_whole.val();
        self.placed.asked.next = self.look_ahead.asked_stream.val();
        self.placed.asked_at.next = self.look_ahead.at.val();
        self.placed.asked_behind.next = self.look_ahead.behind.val();
        self.look_ahead.answered.next = self.placed.answered.val();
        self.look_ahead.in_interval.next = self.placed.in_interval.val();
        self.look_ahead.interval_end.next = self.placed.interval_end.val();
        self.look_ahead.interval_placed.next = self.placed.interval_placed.val();
        self.look_ahead.room.next = self.placed.room.val();
        self.look_ahead.may_issue.next = self.placed.may_issue.val();
        self.placed.done.next = self.ahead_done.val();
        self.placed.done_stream.next = self.ahead_stream.val();
        self.placed.done_at.next = self.ahead_position.val().get_bits::<20>(0);
        self.placed.accepted.next = self.ahead_accepted.val();
        self.in_order.next = self.passes.val()
            | (self.known_fpdu_valid.q.val()
                & !self.known_fpdu_dropped.q.val()
                & !self.hold.q.val());
        self.ahead_goes.next =
            self.look_ahead.fpdu_valid.val() & !self.in_order.val() & !self.out.m_valid.val();
        self.look_ahead.taken.next = self.ahead_goes.val();
        self.placed.given.next = self.ahead_goes.val();

        comment!(
            "out: when the queue stalls the walker, it still has room for all FPDUs under way"
        );
        self.found.next = self.known_fpdu.q.val();
        if self.ahead_goes.val() {
            self.found.next = self.look_ahead.fpdu.val();
        }
        if self.passes.val() {
            self.found.next = self.weighed_fpdu.q.val();
        }
        self.issued_stream.next = self.found.val().stream;
        self.pushes.next = self.in_order.val() | self.ahead_goes.val();
        self.issued.next = self.pushes.val();
        self.out.s_data.next = self.found.val();
        self.out.s_valid.next = self.pushes.val();
        self.fpdu.next = self.out.m_data.val();
        self.fpdu_valid.next = self.out.m_valid.val();
        self.out.m_ready.next = self.fpdu_ready.val();
        self.pops.next = self.out.m_valid.val() & self.fpdu_ready.val();
        if self.pushes.val() & !self.pops.val() {
            self.waiting.d.next = self.waiting.q.val() + 1;
        }
        if self.pops.val() & !self.pushes.val() {
            self.waiting.d.next = self.waiting.q.val() - 1;
        }
        self.hold.d.next = self.waiting.q.val() >= self.enough.val();

        comment!("next state of the streams");
        for i in 0..S {
            if self.stands.val() & self.weighed_of[i].q.val() {
                if self.weighed.q.val().last {
                    self.at[i].d.next = self.weighed.q.val().behind;
                    self.chain_of[i].d.next = self.weighed_chain.q.val();
                }
                if self.incomplete.val() {
                    self.at[i].d.next = self.weighed_fpdu.q.val().position;
                    self.chain_of[i].d.next = self.no_chain.val();
                    self.known[i].d.next = true;
                    self.need[i].d.next = self.weighed_octets.val();
                }
                if self.weighed_fpdu.q.val().refused.any() {
                    self.live[i].d.next = false;
                }
            }
            if self.known_fpdu_passes.val() & self.known_fpdu_of[i].q.val() {
                if self.known_fpdu.q.val().refused == 0 {
                    self.at[i].d.next = self.known_fpdu_behind.val();
                    self.chain_of[i].d.next = self.no_chain.val();
                    self.known[i].d.next = false;
                } else if self.known_fpdu.q.val().refused == self.ends_closed.val() {
                    self.finished[i].d.next = false;
                } else {
                    self.live[i].d.next = false;
                }
            }
            comment!(
                "a stream is idle again two cycles after its last change, when `have` is up to date"
            );
            if (self.visit_done.q.val()
                & (self.visit_done_stream.q.val().get_bits::<4>(0) == self.index[i].val()))
                | (self.issue_done.q.val()
                    & (self.issue_done_stream.q.val().get_bits::<4>(0) == self.index[i].val()))
            {
                self.busy[i].d.next = false;
            }
            if self.picked[i].val() {
                self.busy[i].d.next = true;
            }
            if self.fast_accepted_of[i].val() {
                comment!("also if its length is dropped: the stream is visited a cycle later then");
                self.eligible[i].d.next = false;
                if self.in_time.val() {
                    self.busy[i].d.next = true;
                }
                if !self.in_time.val() & !self.incomplete.val() {
                    self.known[i].d.next = true;
                    self.need[i].d.next = bit_cast::<20, 16>(self.fast_fpdu.val().dwords) << 2;
                }
            }
        }

        comment!("arm and close; octets of the previous owner must not make the stream eligible");
        for i in 0..S {
            if !self.busy[i].q.val() & !self.picked[i].val() {
                self.stale[i].d.next = false;
            }
            if self.owner_stream.q.val().get_bits::<4>(0) == self.index[i].val() {
                if self.arm_pulse.q.val() {
                    self.live[i].d.next = true;
                    self.with_markers[i].d.next = self.owner_markers.q.val();
                    self.with_crc[i].d.next = self.owner_crc.q.val();
                    self.with_long[i].d.next = self.owner_long.q.val();
                    self.edge_at[i].d.next = 0.into();
                    self.at[i].d.next = 0.into();
                    self.known[i].d.next = false;
                    self.have[i].d.next = 0.into();
                    self.stopped[i].d.next = false;
                    self.finished[i].d.next = false;
                    self.cause[i].d.next = 0.into();
                }
                if self.close_pulse.q.val() {
                    self.live[i].d.next = false;
                }
                if self.owner_changes.q.val() {
                    self.eligible[i].d.next = false;
                    self.stale[i].d.next = true;
                }
            }
            if self.reset.val() {
                self.live[i].d.next = false;
                self.picked_look[i].d.next = false;
                self.picked_give[i].d.next = false;
                self.busy[i].d.next = false;
                self.eligible[i].d.next = false;
            }
        }
        if self.reset.val() {
            self.chosen_valid.d.next = false;
            self.measured_valid.d.next = false;
            self.weighed_valid.d.next = false;
            self.whole.d.next = false;
            self.short.d.next = false;
            self.dead.d.next = false;
            self.visit_done.d.next = false;
            self.given_valid.d.next = false;
            self.known_fpdu_valid.d.next = false;
            self.length_write.d.next = false;
            self.arm_pulse.d.next = false;
            self.close_pulse.d.next = false;
            self.owner_changes.d.next = false;
            self.issue_done.d.next = false;
            self.blocked.d.next = self.blocked_for.val();
            self.fast_path_open.d.next = false;
            self.waiting.d.next = 0.into();
            self.hold.d.next = false;
        }
    }
}
