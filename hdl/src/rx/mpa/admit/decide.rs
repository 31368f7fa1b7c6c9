//! Decision: what a beat does to the edge and the islands of its stream, and which of its octets are accepted.
//!
//! ```text
//!  gap, past_edge ────────────────┐                ┌─► edge_after, present_after
//!  before, short, behind, over ──►│ closes, widens │──► begin and finish: selects of `shift`
//!  of each island                 │ grows, opens   │
//!  edge, islands, both positions ─└────────────────┘──► accept, skip, upto, drops
//! ```
//!
//! The comparisons are made a stage earlier; here they are only combined. Islands are ordered and disjoint, and do not
//! touch the edge, so the comparison with one implies much of the others. A beat
//!
//! - lets the edge grow, if it touches it; `closes` says that it reaches the island behind the gap, too;
//! - `widens` an island: begins before it and ends in it or behind it;
//! - `grows` an island: begins in it and ends behind it;
//! - `opens` a new island before one that it does not touch, unless all are in use.
//!
//! Combinational.
use rust_hdl_core::prelude::*;
use warpline_sv_writer::{Block, comment};

/// The decision for N islands.
#[derive(Block)]
#[block(default)]
pub struct Decide<const N: usize> {
    /// There is a beat.
    pub valid: Signal<In, Bit>,
    /// Its stream is armed.
    pub armed: Signal<In, Bit>,
    /// The beat has octets, it fits, and its stream is armed.
    pub may: Signal<In, Bit>,
    /// It begins behind the edge.
    pub gap: Signal<In, Bit>,
    /// It ends behind the edge.
    pub past_edge: Signal<In, Bit>,
    /// Position of its lane 0.
    pub position: Signal<In, Bits<32>>,
    /// The position behind its last octet.
    pub end_position: Signal<In, Bits<32>>,
    /// Its octets.
    pub count: Signal<In, Bits<8>>,
    /// Edge of its stream.
    pub edge_before: Signal<In, Bits<32>>,
    /// Islands of its stream: the present ones first, ordered by position.
    pub present: [Signal<In, Bit>; N],
    /// Their first positions.
    pub begin: [Signal<In, Bits<32>>; N],
    /// The positions behind their last octets.
    pub finish: [Signal<In, Bits<32>>; N],
    /// The beat begins before the island. An absent island counts as behind every position.
    pub before: [Signal<In, Bit>; N],
    /// It ends before the island.
    pub short: [Signal<In, Bit>; N],
    /// It begins behind the island.
    pub behind: [Signal<In, Bit>; N],
    /// It ends behind the island.
    pub over: [Signal<In, Bit>; N],

    /// The beat begins at or before the edge.
    pub edge_touched: Signal<Out, Bit>,
    /// The edge moves.
    pub edge_grows: Signal<Out, Bit>,
    /// The beat touches the edge and reaches the first island.
    pub edge_joins: Signal<Out, Bit>,
    /// Edge behind the beat.
    pub edge_after: Signal<Out, Bits<32>>,
    /// Islands behind the beat.
    pub present_after: [Signal<Out, Bit>; N],
    /// Selects of `shift` for begins and what goes with them. They ignore `may`, whose gate is nearer to `shift`.
    pub begin_high: [Signal<Out, Bit>; N],
    /// The second select.
    pub begin_low: [Signal<Out, Bit>; N],
    /// Selects of `shift` for finishes and what goes with them.
    pub finish_high: [Signal<Out, Bit>; N],
    /// The second select.
    pub finish_low: [Signal<Out, Bit>; N],
    /// Octets of the beat are accepted.
    pub accept: Signal<Out, Bit>,
    /// Octets at its begin that are known already.
    pub skip: Signal<Out, Bits<8>>,
    /// Octets up to the next island, or to its end.
    pub upto: Signal<Out, Bits<8>>,
    /// Octets that are no duplicates are dropped.
    pub drops: Signal<Out, Bit>,

    /// It begins behind the island before this one, or behind the edge.
    front: [Signal<Local, Bit>; N],
    touched: [Signal<Local, Bit>; N],
    /// It touches this island and begins before it, but behind the previous island.
    joined: [Signal<Local, Bit>; N],
    full: Signal<Local, Bit>,
    closes: [Signal<Local, Bit>; N],
    widens: [Signal<Local, Bit>; N],
    grows: [Signal<Local, Bit>; N],
    opens: [Signal<Local, Bit>; N],
    moves_edge: Signal<Local, Bit>,
    some_opens: Signal<Local, Bit>,
    some_closes: Signal<Local, Bit>,
    any_opens: Signal<Local, Bit>,
    any_closes: Signal<Local, Bit>,
    accepts: Signal<Local, Bit>,
    known: Signal<Local, Bit>,
    rest: Signal<Local, Bit>,
}

impl<const N: usize> Logic for Decide<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.edge_touched.next = !self.gap.val();
        self.full.next = false;
        for k in 0..N {
            self.full.next = self.present[k].val();
            self.touched[k].next = !self.before[k].val() & !self.behind[k].val();
            self.joined[k].next = self.before[k].val() & !self.short[k].val();
        }
        for k in 1..N {
            if self.before[k - 1].val() {
                self.joined[k].next = false;
            }
        }
        comment!(
            "the beat closes the gap before an island, moves its begin, extends it, or becomes a new island before it"
        );
        for k in 0..1 {
            self.front[k].next = self.gap.val();
            self.closes[k].next = !self.gap.val() & !self.short[k].val();
        }
        for k in 1..N {
            self.front[k].next = self.behind[k - 1].val();
            self.closes[k].next = self.touched[k - 1].val() & !self.short[k].val();
        }
        for k in 0..N {
            self.widens[k].next = self.front[k].val() & self.before[k].val() & !self.short[k].val();
            self.grows[k].next = self.touched[k].val() & self.over[k].val();
            self.opens[k].next = self.front[k].val() & self.short[k].val() & !self.full.val();
        }
        for k in 0..(N - 1) {
            if !self.short[k + 1].val() {
                self.grows[k].next = false;
            }
        }

        comment!("a new island moves the islands behind it up; a closed gap moves them down");
        self.some_opens.next = false;
        self.some_closes.next = false;
        for k in 0..N {
            if self.opens[k].val() {
                self.some_opens.next = true;
            }
            if self.closes[k].val() {
                self.some_closes.next = true;
            }
        }
        self.any_opens.next = self.may.val() & self.some_opens.val();
        self.any_closes.next = self.may.val() & self.some_closes.val();
        for k in 0..N {
            self.begin_high[k].next =
                self.widens[k].val() | (self.short[k].val() & self.some_opens.val());
            self.begin_low[k].next = self.widens[k].val()
                | self.opens[k].val()
                | (self.before[k].val() & self.some_closes.val());
            self.finish_high[k].next =
                self.grows[k].val() | (self.short[k].val() & self.some_opens.val());
            self.finish_low[k].next = self.grows[k].val()
                | self.opens[k].val()
                | (self.before[k].val() & self.some_closes.val());
        }
        for k in 0..(N - 1) {
            if self.closes[k + 1].val() {
                self.finish_low[k].next = true;
            }
        }
        for k in 0..N {
            self.present_after[k].next = self.present[k].val() | self.any_opens.val();
            if self.any_closes.val() {
                self.present_after[k].next = false;
            }
        }
        for k in 1..N {
            if self.any_opens.val() {
                self.present_after[k].next = self.present[k - 1].val();
            }
        }
        for k in 0..(N - 1) {
            if self.any_closes.val() {
                self.present_after[k].next = self.present[k + 1].val();
            }
        }

        comment!("the edge moves to the end of the beat, or to that of the island behind the gap");
        self.edge_joins.next = self.closes[0].val();
        self.moves_edge.next = self.may.val() & !self.gap.val() & self.past_edge.val();
        self.edge_grows.next = self.moves_edge.val();
        self.edge_after.next = self.edge_before.val();
        if self.moves_edge.val() {
            self.edge_after.next = self.end_position.val();
            if self.closes[0].val() {
                self.edge_after.next = self.finish[0].val();
            }
        }

        comment!("the result for the beat itself");
        self.accepts.next = self.moves_edge.val() | self.any_closes.val() | self.any_opens.val();
        self.known.next = !self.past_edge.val();
        self.rest.next = false;
        self.skip.next = 0.into();
        self.upto.next = self.count.val();
        if !self.gap.val() {
            self.skip.next =
                self.edge_before.val().get_bits::<8>(0) - self.position.val().get_bits::<8>(0);
        }
        for k in 0..N {
            if self.may.val() & (self.grows[k].val() | self.widens[k].val()) {
                self.accepts.next = true;
            }
            if self.touched[k].val() {
                self.skip.next =
                    self.finish[k].val().get_bits::<8>(0) - self.position.val().get_bits::<8>(0);
                if !self.over[k].val() {
                    self.known.next = true;
                }
            }
            if self.joined[k].val() {
                self.upto.next =
                    self.begin[k].val().get_bits::<8>(0) - self.position.val().get_bits::<8>(0);
                self.rest.next = self.over[k].val();
            }
        }
        self.accept.next = self.accepts.val();
        self.drops.next = self.valid.val()
            & self.count.val().any()
            & (!self.armed.val() | (!self.known.val() & (!self.accepts.val() | self.rest.val())));
    }
}
