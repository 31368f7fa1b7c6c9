//! LookAhead: finds whole FPDUs behind gaps by their markers, and issues them to be placed.
//!
//! ```text
//!  beyond, answers ─► pending ─► island ─► known already? ─► marker ─► ULPDU_Length ─► whole? ─► Fpdu
//!                  (RoundRobin)     ▲            │  └─ its end ◄─────────────┐                     │
//!                                   └────────────┴───────────────────────────┴─ from there on ◄────┘
//! ```
//!
//! A stream is visited when one of its segments ends behind a gap. The visit covers the island that contains the
//! segment. The begin of an FPDU is known from a marker in it or in front of it (MPA-RCV-06, MPA-MRK-13), or because
//! the previous FPDU was found in this way and has been accepted, its CRC included (MPA-RCV-07). So the FPDUs between
//! two markers are found one after the other, each with the verdict about the previous one, while FPDUs with a marker
//! of their own are found at once. An FPDU is issued once: issued ones are recorded in
//! [`PlacedAhead`](super::placed_ahead) and skipped.
//!
//! Only streams with markers and CRC are visited (AMB-54), one at a time. A visit reads lengths and issues FPDUs in
//! cycles that the chain in order does not need, and issues the next FPDU when `fetch` has begun to read the previous
//! one. So at most one of these FPDUs and the one being read delay an FPDU in order.
//!
//! An issued FPDU lies behind a gap that existed two cycles before. The chain in order takes longer to get there, so
//! it follows in the queue, and the ring keeps the octets until then.
//!
//! An error behind a gap freezes its stream (AMB-11), but the messages that were complete in order before that FPDU
//! arrived must be delivered. So an FPDU is issued with `crc`, which makes its errors count at once, only if the
//! chain in order has nothing of its stream to visit or to issue; otherwise its error is found later, in order. The
//! octets of those messages landed at least 5 cycles before a visit can issue the FPDU, and the chain sees them after
//! 3.
//!
//! Cycles of an undisturbed visit: [`FIND`] to an FPDU found by the first marker read, [`NEXT`] from there to the
//! next one, and 4 for each further marker.
use crate::Config;
use crate::parts::round_robin::RoundRobin;
use crate::records::Fpdu;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};
use warpline_wire::marker;

/// Cycles from `beyond` to the segment's first FPDU at the output of `scan`.
pub const FIND: usize = 27;
/// Cycles from an FPDU to the next one, each with a marker.
pub const NEXT: usize = 21;

/// State of a visit.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Step {
    /// No visit.
    Rest,
    /// Its stream is known.
    Pick,
    /// The island lookup is issued.
    Ask,
    /// The lookup is under way.
    Wait,
    /// The island is found, or does not exist.
    Told,
    /// Lookup in `PlacedAhead`: has an FPDU at this position been issued?
    Look,
    /// Selects the next position.
    Choose,
    /// Moves behind the issued FPDUs.
    Jump,
    /// The read of a marker is issued.
    Mark,
    /// The read is under way.
    Read,
    /// The marker is read: computes its target.
    Point,
    /// Checks that the target is the begin of an FPDU.
    Begin,
    /// The read of ULPDU_Length is issued.
    Head,
    /// The read is under way.
    Fetch,
    /// ULPDU_Length is read.
    Length,
    /// Dwords without the markers inside.
    Content,
    /// Dwords to divide by the distance of markers.
    Span,
    /// The quotient.
    Divide,
    /// Dwords on the wire.
    Dwords,
    /// Where the FPDU ends.
    End,
    /// Is it whole? Lookup in `PlacedAhead`: can it be recorded?
    Weigh,
    /// It is issued.
    Give,
}

/// The look-ahead over S streams, header rows of H bits = 16·D, D = 2^LOGD dwords.
#[derive(Block)]
#[block(config: &Config, rows: usize)]
pub struct LookAhead<const H: usize, const D: usize, const LOGD: usize, const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Pulse: `owner_stream` is closed or armed again.
    pub owner_changes: Signal<In, Bit>,
    /// That stream.
    pub owner_stream: Signal<In, Bits<8>>,
    /// Streams that may be visited.
    pub allowed: [Signal<In, Bit>; S],
    /// Position up to which each stream has landed without a gap.
    pub edge_of: [Signal<In, Bits<20>>; S],
    /// As in `admit`.
    pub beyond: Signal<In, Bit>,
    /// As in `admit`.
    pub beyond_stream: Signal<In, Bits<8>>,
    /// As in `admit`.
    pub beyond_position: Signal<In, Bits<32>>,
    /// As in `admit`; the stream of the visit.
    pub asked_stream: Signal<Out, Bits<8>>,
    /// As in `admit`.
    pub asked_position: Signal<Out, Bits<32>>,
    /// As in `admit`.
    pub island: Signal<In, Bit>,
    /// As in `admit`.
    pub island_begin: Signal<In, Bits<32>>,
    /// As in `admit`.
    pub island_end: Signal<In, Bits<32>>,
    /// Row of a marker.
    pub marker_row: Signal<Out, Bits<20>>,
    /// Its FPDUPTR, two cycles later.
    pub marker_data: Signal<In, Bits<16>>,
    /// Requests a header row.
    pub peek: Signal<Out, Bit>,
    /// Which one.
    pub peek_row: Signal<Out, Bits<20>>,
    /// It is read in this cycle.
    pub peeked: Signal<In, Bit>,
    /// First two octets of each dword of that row, two cycles later.
    pub header_data: Signal<In, Bits<H>>,

    /// As in `PlacedAhead`: has it been issued?
    pub ask: Signal<Out, Bit>,
    /// As in `PlacedAhead`: it will be issued.
    pub record: Signal<Out, Bit>,
    /// As in `PlacedAhead`: if it is whole.
    pub record_whole: Signal<Out, Bit>,
    /// As in `PlacedAhead`: the present position of the visit,
    pub at: Signal<Out, Bits<20>>,
    /// and the end of the FPDU there.
    pub behind: Signal<Out, Bits<20>>,
    /// As in `PlacedAhead`.
    pub answered: Signal<In, Bit>,
    /// As in `PlacedAhead`.
    pub in_interval: Signal<In, Bit>,
    /// As in `PlacedAhead`.
    pub interval_end: Signal<In, Bits<20>>,
    /// As in `PlacedAhead`.
    pub interval_placed: Signal<In, Bit>,
    /// As in `PlacedAhead`.
    pub room: Signal<In, Bit>,
    /// As in `PlacedAhead`.
    pub may_issue: Signal<In, Bit>,

    /// An FPDU behind a gap.
    pub fpdu: Signal<Out, Fpdu>,
    /// It is valid.
    pub fpdu_valid: Signal<Out, Bit>,
    /// It is issued.
    pub taken: Signal<In, Bit>,
    /// Of each stream: all FPDUs whole in order have been issued. Rises at least 2 cycles after the last one.
    pub exhausted: [Signal<In, Bit>; S],
    /// Pulse: `fetch` has begun to read it.
    pub started: Signal<In, Bit>,
    /// As in `PlacedAhead`.
    pub placed_pulse: Signal<In, Bit>,
    /// As in `PlacedAhead`.
    pub placed_stream: Signal<In, Bits<8>>,

    // streams: position to visit, and position to visit again after a verdict
    wanted: [Dff<Bit>; S],
    wanted_at: [Dff<Bits<32>>; S],
    again: [Dff<Bit>; S],
    again_at: [Dff<Bits<32>>; S],

    // a segment behind a gap, a cycle later: the position is read a cycle after the decision to visit
    beyond_of: [Dff<Bit>; S],
    beyond_at: Dff<Bits<32>>,

    // a verdict, a cycle later
    placed_of: [Dff<Bit>; S],
    /// Of the stream that is visited.
    placed_here: Dff<Bit>,

    // the visit
    step: Dff<Step>,
    stream: Dff<Bits<8>>,
    /// The same as one-hot bits, a cycle later: valid from `Ask` on.
    visited: [Dff<Bit>; S],
    here: Dff<Bits<32>>,
    finish: Dff<Bits<32>>,
    sure: Dff<Bit>,
    follows: Dff<Bit>,
    placed_since: Dff<Bit>,
    asking: Dff<Bit>,
    known: Dff<Bit>,
    known_good: Dff<Bit>,
    known_to: Dff<Bits<20>>,
    distance: Dff<Bits<20>>,
    marker: Dff<Bits<32>>,
    pointed: Dff<Bits<32>>,
    length: Dff<Bits<16>>,
    content: Dff<Bits<16>>,
    span: Dff<Bits<16>>,
    base: Dff<Bits<16>>,
    rest: Dff<Bits<16>>,
    dwords: Dff<Bits<16>>,
    ends: Dff<Bits<32>>,
    whole: Dff<Bit>,
    recording: Dff<Bit>,
    gives: Dff<Bit>,
    given_at: Dff<Bits<32>>,
    full: Dff<Bit>,
    open: Dff<Bit>,
    owed: Dff<Bit>,
    offers: Dff<Bit>,
    /// `owner_changes` and its stream, registered.
    gone_before: Dff<Bit>,
    gone_of: Dff<Bits<4>>,
    /// The stream of the visit, still held, is to be visited again.
    back: Dff<Bit>,
    back_at: Dff<Bits<32>>,
    next_stream: RoundRobin<S>,

    in_order_first: Signal<Local, Bit>,
    /// An error of the offered FPDU counts at once.
    conclusive: Dff<Bit>,
    pointer: Signal<Local, Bits<32>>,
    place: Signal<Local, Bits<32>>,
    beside: Signal<Local, Bits<20>>,
    left: Signal<Local, Bits<20>>,
    /// Registered: nothing is left of the island; less than a header is left; the FPDU ends with the island.
    spent: Dff<Bit>,
    brief: Dff<Bit>,
    at_end: Dff<Bit>,
    /// Registered, while `here` is stable: the FPDU begins with a marker; the lane of its ULPDU_Length.
    leading: Dff<Bit>,
    lane: Dff<Bits<16>>,
    lane_bit: Signal<Local, Bits<16>>,
    octets: Signal<Local, Bits<16>>,
    lacking: Signal<Local, Bits<20>>,
    edge_here: Signal<Local, Bits<20>>,
    to_edge: Signal<Local, Bits<20>>,
    revisit: Signal<Local, Bit>,
    over: Signal<Local, Bit>,
    row_base: Signal<Local, Bits<20>>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(D - 1)]
    lane_mask: Constant<Bits<16>>,
    #[constant(LOGD + 2)]
    lane_bits: Constant<Bits<8>>,
    #[constant(rows - 1)]
    row_mask: Constant<Bits<20>>,
    #[constant(rows.trailing_zeros())]
    stream_shift: Constant<Bits<8>>,
    #[constant(marker::FPDUPTR_MASK)]
    pointer_mask: Constant<Bits<32>>,
    #[constant(marker::SPACING)]
    interval: Constant<Bits<32>>,
    #[constant(marker::SPACING - 1)]
    one_less: Constant<Bits<32>>,
    #[constant(!(marker::SPACING - 1))]
    begin_of_interval: Constant<Bits<32>>,
    #[constant(0xFFFF_FFFB_u64)]
    without_leading: Constant<Bits<32>>,
    #[constant(marker::SPACING - 4)]
    behind_leading: Constant<Bits<9>>,
    #[constant(config.max_ulpdu())]
    max_ulpdu: Constant<Bits<16>>,
}

impl<const H: usize, const D: usize, const LOGD: usize, const S: usize> LookAhead<H, D, LOGD, S> {
    /// For the rings of `config`.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!(H == 16 * D && D == 1 << LOGD && D <= 16);
        let rows = config.ring_octets / config.octets();
        Self::assemble(config, rows)
    }
}

impl<const H: usize, const D: usize, const LOGD: usize, const S: usize> Logic
    for LookAhead<H, D, LOGD, S>
{
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..S {
            self.wanted[i].d.next = self.wanted[i].q.val();
            self.wanted_at[i].d.next = self.wanted_at[i].q.val();
            self.again[i].d.next = self.again[i].q.val();
            self.again_at[i].d.next = self.again_at[i].q.val();
            self.visited[i].d.next = self.stream.q.val().get_bits::<4>(0) == self.index[i].val();
        }

        comment!("select the next stream");
        self.next_stream.last.next = self.stream.q.val().get_bits::<4>(0);
        for i in 0..S {
            self.next_stream.asks[i].next = self.wanted[i].q.val() & self.allowed[i].val();
        }
        self.asked_stream.next = self.stream.q.val();
        self.asked_position.next = self.here.q.val();

        comment!("the present position of the visit");
        self.at.next = self.here.q.val().get_bits::<20>(0);
        self.behind.next = self.ends.q.val().get_bits::<20>(0);
        self.ask.next = self.asking.q.val();
        self.record_whole.next = self.whole.q.val();
        if self.answered.val() & self.asking.q.val() {
            self.asking.d.next = false;
            self.known.d.next = self.in_interval.val();
            self.known_good.d.next = self.interval_placed.val();
            self.known_to.d.next = self.interval_end.val();
        }
        self.leading.d.next = !self.here.q.val().get_bits::<9>(0).any();
        comment!("all positions of a visit lie within a ring and two FPDUs, far less than 2^19");
        self.left.next =
            self.finish.q.val().get_bits::<20>(0) - self.here.q.val().get_bits::<20>(0);
        comment!(
            "valid a cycle later: only `Head` uses it in the cycle in which it changes, and `Fetch` checks again"
        );
        self.spent.d.next = !self.left.val().any() | self.left.val().get_bit(19);
        self.brief.d.next = self.left.val() < 8;
        self.at_end.d.next =
            self.finish.q.val().get_bits::<20>(0) == self.ends.q.val().get_bits::<20>(0);
        self.row_base.next = bit_cast::<20, 8>(self.stream.q.val()) << self.stream_shift.val();
        self.marker_row.next = ((self.marker.q.val().get_bits::<20>(0) >> self.lane_bits.val())
            & self.row_mask.val())
            | self.row_base.val();
        self.peek_row.next = ((self.here.q.val().get_bits::<20>(0) >> self.lane_bits.val())
            & self.row_mask.val())
            | self.row_base.val();
        self.peek.next = (self.step.q.val() == Step::Head) & !self.brief.q.val();

        comment!(
            "a marker points to ULPDU_Length; 0 means that it follows. An FPDU that begins with a marker begins at that marker"
        );
        self.pointer.next = bit_cast::<32, 16>(self.marker_data.val()) & self.pointer_mask.val();
        self.place.next = self.marker.q.val() - self.pointer.val();
        self.beside.next =
            self.pointed.q.val().get_bits::<20>(0) - self.here.q.val().get_bits::<20>(0);

        comment!("ULPDU_Length: in the first dword, or behind the marker in it");
        self.lane.d.next = bit_cast::<16, 7>(self.here.q.val().get_bits::<7>(2));
        if self.leading.d.val() {
            self.lane.d.next = 1.into();
        }
        self.lane_bit.next = (self.lane.q.val() & self.lane_mask.val()) << 4;
        self.octets.next = self
            .header_data
            .val()
            .get_bits::<16>(self.lane_bit.val().index());

        comment!("does the gap still exist, and is the FPDU whole?");
        self.edge_here.next = 0.into();
        for i in 0..S {
            if self.stream.q.val().get_bits::<4>(0) == self.index[i].val() {
                self.edge_here.next = self.edge_of[i].val();
            }
        }
        self.to_edge.next = self.edge_here.val() - self.here.q.val().get_bits::<20>(0);
        self.open.d.next = self.to_edge.val().get_bit(19);
        self.lacking.next =
            self.finish.q.val().get_bits::<20>(0) - self.ends.q.val().get_bits::<20>(0);
        self.whole.d.next = !self.lacking.val().get_bit(19);

        comment!(
            "a close ends the visit of its stream a cycle later, even one begun in that cycle: by then it has recorded and issued nothing"
        );
        self.gone_before.d.next = self.owner_changes.val();
        self.gone_of.d.next = self.owner_stream.val().get_bits::<4>(0);
        self.over.next = self.gone_before.q.val()
            & (self.gone_of.q.val() == self.stream.q.val().get_bits::<4>(0));
        self.record.next = self.recording.q.val() & !self.over.val();

        self.revisit.next = false;
        self.placed_here.d.next = self.placed_pulse.val()
            & (self.placed_stream.val().get_bits::<4>(0) == self.stream.q.val().get_bits::<4>(0));
        match self.step.q.val() {
            Step::Rest => {
                self.placed_here.d.next = false;
                self.stream.d.next = self.next_stream.choice.val();
                self.recording.d.next = false;
                self.sure.d.next = false;
                self.follows.d.next = false;
                self.placed_since.d.next = false;
                self.asking.d.next = false;
                if self.next_stream.any.val() {
                    self.step.d.next = Step::Pick;
                }
            }
            Step::Pick => {
                for i in 0..S {
                    if self.stream.q.val().get_bits::<4>(0) == self.index[i].val() {
                        self.here.d.next = self.wanted_at[i].q.val();
                        self.wanted[i].d.next = false;
                    }
                }
                self.step.d.next = Step::Ask;
            }
            Step::Ask => {
                self.step.d.next = Step::Wait;
            }
            Step::Wait => {
                self.step.d.next = Step::Told;
            }
            Step::Told => {
                self.here.d.next = self.island_begin.val();
                self.finish.d.next = self.island_end.val();
                self.asking.d.next = true;
                self.step.d.next = Step::Look;
                if !self.island.val() {
                    self.step.d.next = Step::Rest;
                }
            }
            Step::Look => {
                self.marker.d.next =
                    (self.here.q.val() + self.one_less.val()) & self.begin_of_interval.val();
                if self.answered.val() {
                    self.step.d.next = Step::Choose;
                }
            }
            Step::Choose => {
                comment!(
                    "behind the FPDUs issued already, to the FPDU that begins here, or to the next marker"
                );
                self.distance.d.next = self.known_to.q.val() - self.here.q.val().get_bits::<20>(0);
                self.step.d.next = Step::Mark;
                if self.sure.q.val() {
                    self.step.d.next = Step::Head;
                }
                if self.known.q.val() {
                    self.step.d.next = Step::Jump;
                }
                if self.spent.q.val() {
                    self.step.d.next = Step::Rest;
                }
            }
            Step::Jump => {
                self.here.d.next = self.here.q.val() + bit_cast::<32, 20>(self.distance.q.val());
                self.sure.d.next = self.known_good.q.val();
                self.follows.d.next = true;
                self.asking.d.next = true;
                self.step.d.next = Step::Look;
            }
            Step::Mark => {
                self.step.d.next = Step::Read;
                self.ends.d.next = self.marker.q.val() + 4;
            }
            Step::Read => {
                self.step.d.next = Step::Point;
                if self.lacking.val().get_bit(19) {
                    comment!(
                        "no further marker: the FPDUs up to the end can only be found behind the previous ones"
                    );
                    self.revisit.next = self.follows.q.val();
                    self.step.d.next = Step::Rest;
                }
            }
            Step::Point => {
                self.pointed.d.next = self.place.val();
                if self.pointer.val().get_bits::<9>(0) == self.behind_leading.val() {
                    self.pointed.d.next = self.place.val() & self.without_leading.val();
                }
                self.step.d.next = Step::Begin;
            }
            Step::Begin => {
                self.marker.d.next = self.marker.q.val() + self.interval.val();
                self.step.d.next = Step::Mark;
                if !self.beside.val().get_bit(19) {
                    self.here.d.next = self.pointed.q.val();
                    self.sure.d.next = true;
                    self.revisit.next = self.follows.q.val()
                        & (self.pointed.q.val().get_bits::<20>(0)
                            != self.here.q.val().get_bits::<20>(0));
                    comment!("ULPDU_Length is read during the lookup in `PlacedAhead`");
                    self.asking.d.next = true;
                    self.step.d.next = Step::Head;
                }
            }
            Step::Head => {
                if self.peeked.val() {
                    self.step.d.next = Step::Fetch;
                }
                if self.brief.q.val() {
                    self.step.d.next = Step::Rest;
                }
            }
            Step::Fetch => {
                self.step.d.next = Step::Length;
                if self.brief.q.val() {
                    self.step.d.next = Step::Rest;
                }
            }
            Step::Length => {
                self.length.d.next = (self.octets.val() << 8) | (self.octets.val() >> 8);
                self.step.d.next = Step::Content;
            }
            Step::Content => {
                comment!("ULPDU_Length, ULPDU, PAD and CRC, and the marker in front");
                self.content.d.next = (self.length.q.val() >> 2) + 2;
                if self.length.q.val().get_bits::<2>(0) == 3 {
                    self.content.d.next = (self.length.q.val() >> 2) + 3;
                }
                self.step.d.next = Step::Span;
            }
            Step::Span => {
                if self.leading.q.val() {
                    self.content.d.next = self.content.q.val() + 1;
                    self.span.d.next = self.content.q.val() - 1;
                } else {
                    self.span.d.next = self.content.q.val()
                        + bit_cast::<16, 7>(self.here.q.val().get_bits::<7>(2))
                        - 2;
                }
                self.distance.d.next = self.known_to.q.val() - self.here.q.val().get_bits::<20>(0);
                self.step.d.next = Step::Divide;
                if self.length.q.val() > self.max_ulpdu.val() {
                    self.step.d.next = Step::Rest;
                }
                if self.known.q.val() {
                    self.step.d.next = Step::Jump;
                }
                if self.asking.q.val() {
                    self.content.d.next = self.content.q.val();
                    self.step.d.next = Step::Span;
                }
            }
            Step::Divide => {
                comment!(
                    "x / 127 = x / 128 + (x / 128 + x mod 128) / 127, and the last one is 0, 1 or 2"
                );
                self.base.d.next = self.content.q.val() + (self.span.q.val() >> 7);
                self.rest.d.next = (self.span.q.val() >> 7)
                    + bit_cast::<16, 7>(self.span.q.val().get_bits::<7>(0));
                self.step.d.next = Step::Dwords;
            }
            Step::Dwords => {
                self.dwords.d.next = self.base.q.val();
                if self.rest.q.val() >= 127 {
                    self.dwords.d.next = self.base.q.val() + 1;
                }
                if self.rest.q.val() >= 254 {
                    self.dwords.d.next = self.base.q.val() + 2;
                }
                self.step.d.next = Step::End;
            }
            Step::End => {
                self.ends.d.next =
                    self.here.q.val() + (bit_cast::<32, 16>(self.dwords.q.val()) << 2);
                self.recording.d.next = true;
                self.step.d.next = Step::Weigh;
            }
            Step::Weigh => {
                self.gives.d.next = self.whole.q.val() & self.room.val();
                self.full.d.next = self.whole.q.val() & !self.room.val();
                self.given_at.d.next = self.here.q.val();
                if self.answered.val() {
                    self.recording.d.next = false;
                    self.step.d.next = Step::Give;
                }
            }
            Step::Give => {
                comment!(
                    "continues behind it whether or not it is accepted: a visit that ends here does not use the position"
                );
                // `full` and the position to visit again are used in the first cycle only, in which `here` is still the FPDU's
                // begin. The gap closes up to the end of the island at once, so `open` is the same at both ends of the FPDU.
                self.here.d.next = self.ends.q.val();
                self.sure.d.next = false;
                self.follows.d.next = true;
                if self.taken.val() {
                    self.asking.d.next = true;
                    self.step.d.next = Step::Look;
                    if self.at_end.q.val() {
                        self.step.d.next = Step::Rest;
                    }
                }
                if !self.gives.q.val() | !self.open.q.val() {
                    comment!("a verdict may make room");
                    self.revisit.next = self.full.q.val();
                    self.step.d.next = Step::Rest;
                }
            }
        }

        comment!("an FPDU behind a gap");
        self.fpdu.next.stream = self.stream.q.val();
        self.fpdu.next.position = self.given_at.q.val();
        self.fpdu.next.dwords = self.dwords.q.val();
        self.fpdu.next.markers = true;
        self.fpdu.next.crc = self.conclusive.q.val();
        self.fpdu.next.refused = 0.into();
        self.fpdu.next.ulpdu = self.length.q.val();
        self.fpdu.next.ahead = true;
        self.fpdu.next.placed = false;
        self.fpdu.next.header_only = false;
        self.fpdu_valid.next = self.offers.q.val();
        comment!(
            "its error must not overtake messages that were complete in order when it arrived (AMB-11)"
        );
        self.in_order_first.next = false;
        for i in 0..S {
            if self.visited[i].q.val() & !self.exhausted[i].val() {
                self.in_order_first.next = true;
            }
        }
        self.conclusive.d.next = !self.in_order_first.val();
        self.offers.d.next = (self.step.q.val() == Step::Give)
            & self.gives.q.val()
            & self.open.q.val()
            & !self.owed.q.val()
            & self.may_issue.val()
            & !self.taken.val()
            & !self.owner_changes.val();
        if self.started.val() {
            self.owed.d.next = false;
        }
        if self.taken.val() {
            self.owed.d.next = true;
        }

        comment!(
            "position to visit again when the next FPDU has been accepted, or at once if one has been meanwhile"
        );
        comment!("a cycle later: the visit may have ended, but its stream is still held");
        self.back.d.next = self.revisit.val();
        self.back_at.d.next = self.here.q.val();
        self.beyond_at.d.next = self.beyond_position.val();
        if self.placed_here.q.val() {
            self.placed_since.d.next = true;
        }
        for i in 0..S {
            self.placed_of[i].d.next = self.placed_pulse.val()
                & (self.placed_stream.val().get_bits::<4>(0) == self.index[i].val());
            self.beyond_of[i].d.next = self.beyond.val()
                & (self.beyond_stream.val().get_bits::<4>(0) == self.index[i].val());
            if self.placed_of[i].q.val() & self.again[i].q.val() {
                self.again[i].d.next = false;
                self.wanted[i].d.next = true;
                self.wanted_at[i].d.next = self.again_at[i].q.val();
            }
            if self.back.q.val() & self.visited[i].q.val() {
                self.again[i].d.next = true;
                self.again_at[i].d.next = self.back_at.q.val();
                if self.placed_since.q.val() | self.placed_here.q.val() {
                    self.again[i].d.next = false;
                    self.wanted[i].d.next = true;
                    self.wanted_at[i].d.next = self.back_at.q.val();
                }
            }
            if self.beyond_of[i].d.val() | self.beyond_of[i].q.val() {
                comment!(
                    "in both cycles: a visit that begins in the second one uses the previous position"
                );
                self.wanted[i].d.next = true;
            }
            if self.beyond_of[i].q.val() {
                self.wanted_at[i].d.next = self.beyond_at.q.val();
            }
            comment!("in the next cycle, too, for the last request of its visit");
            if self.reset.val()
                | (self.owner_changes.val()
                    & (self.owner_stream.val().get_bits::<4>(0) == self.index[i].val()))
                | (self.gone_before.q.val() & (self.gone_of.q.val() == self.index[i].val()))
            {
                self.wanted[i].d.next = false;
                self.again[i].d.next = false;
            }
        }
        if self.over.val() {
            self.step.d.next = Step::Rest;
            self.asking.d.next = false;
            self.recording.d.next = false;
            self.offers.d.next = false;
            self.back.d.next = false;
        }
        if self.reset.val() {
            self.back.d.next = false;
            self.step.d.next = Step::Rest;
            self.asking.d.next = false;
            self.recording.d.next = false;
            self.owed.d.next = false;
            self.offers.d.next = false;
        }
    }
}
