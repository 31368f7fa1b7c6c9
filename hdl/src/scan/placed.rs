//! Placed: which FPDUs of each stream were placed while octets in front of them are missing.
//!
//! ```text
//!          at         from      good_from            good_to   to
//!  ────────┴── gap ───┴───────────┴──────────────────┴─────────┴──►
//!                     └ under way ┘└─ placed ────────┘└ u. way ┘
//! ```
//!
//! Each stream has N intervals. The FPDUs in one follow each other without a gap; those from `from` to `to` have been given
//! out, those from `good_from` to `good_to` have also been accepted. What is given out is recorded at once, so that nothing
//! is given out twice; it counts as placed with the answer of `check`. Answers come in the order in which FPDUs were given
//! out. What was not accepted stays recorded and never counts as placed, nor does what would join it (MPA-RCV-07).
//!
//! The chain of lengths in order finds an interval when it arrives at `good_from` exactly: all FPDUs from there to
//! `good_to` are placed. It follows the lengths itself; it is a matter of efficiency only that they must be the same. A
//! chain that gets past `good_from` in another way shows that a marker has lied, and the interval is dropped: FPDUs are
//! then placed once more, in order, and the wrong marker is found by `strip` (MPA-ERR-07).
//!
//! Positions have 20 bits: all lie within one ring. Answers to questions are combinational; what is told in a cycle counts
//! from the next one on.
use crate::dff::Dff;
use crate::util::{array, d};
use rust_hdl_core::prelude::*;

/// N intervals of each of S streams.
#[derive(LogicBlock)]
pub struct Placed<const S: usize, const N: usize> {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    /// Pulse: `gone_stream` is closed or starts anew.
    pub gone: Signal<In, Bit>,
    /// That stream.
    pub gone_stream: Signal<In, Bits<8>>,
    /// Up to where the chain of lengths of each stream has come in order,
    pub at: [Signal<In, Bits<20>>; S],
    /// and in which of its intervals it was when it came there.
    pub chain: [Signal<In, Bits<4>>; S],

    /// Stream of the following questions.
    pub asked: Signal<In, Bits<8>>,
    /// A position.
    pub asked_at: Signal<In, Bits<20>>,
    /// End of an FPDU that begins there.
    pub asked_behind: Signal<In, Bits<20>>,
    /// The position lies in an interval.
    pub held: Signal<Out, Bit>,
    /// End of that interval.
    pub held_to: Signal<Out, Bits<20>>,
    /// All up to there is placed.
    pub held_good: Signal<Out, Bit>,
    /// There is room to record the FPDU.
    pub room: Signal<Out, Bit>,
    /// Pulse: it is given out.
    pub record: Signal<In, Bit>,

    /// Pulse: the answer to an FPDU of `answer_stream`; not in the same cycle as `record`.
    pub answer: Signal<In, Bit>,
    /// That stream.
    pub answer_stream: Signal<In, Bits<8>>,
    /// Where the FPDU begins.
    pub answer_at: Signal<In, Bits<20>>,
    /// Where it ends.
    pub answer_behind: Signal<In, Bits<20>>,
    /// It is placed.
    pub accepted: Signal<In, Bit>,

    /// Stream whose chain is followed in order,
    pub chain_stream: Signal<In, Bits<8>>,
    /// position to which it has come,
    pub chain_at: Signal<In, Bits<20>>,
    /// and the intervals in which it was before.
    pub chain_before: Signal<In, Bits<4>>,
    /// Intervals in which an FPDU that begins there is placed.
    pub chain_now: Signal<Out, Bits<4>>,
    /// Intervals that the stream has: one that it was in before, and has no more, may be another one when it asks again.
    pub chain_valid: Signal<Out, Bits<4>>,

    valid: [[Dff<Bit>; N]; S],
    from: [[Dff<Bits<20>>; N]; S],
    to: [[Dff<Bits<20>>; N]; S],
    good_from: [[Dff<Bits<20>>; N]; S],
    good_to: [[Dff<Bits<20>>; N]; S],

    // the intervals of the stream that is asked for
    a_valid: [Signal<Local, Bit>; N],
    a_from: [Signal<Local, Bits<20>>; N],
    a_to: [Signal<Local, Bits<20>>; N],
    a_good_to: [Signal<Local, Bits<20>>; N],
    a_over: [Signal<Local, Bits<20>>; N],
    a_under: [Signal<Local, Bits<20>>; N],
    grows_up: [Signal<Local, Bit>; N],
    grows_down: [Signal<Local, Bit>; N],
    some_up: Signal<Local, Bit>,
    some_down: Signal<Local, Bit>,
    some_free: Signal<Local, Bit>,
    takes: [Signal<Local, Bit>; N],

    // those of the stream that is answered
    b_valid: [Signal<Local, Bit>; N],
    b_to: [Signal<Local, Bits<20>>; N],
    b_good_from: [Signal<Local, Bits<20>>; N],
    b_good_to: [Signal<Local, Bits<20>>; N],
    b_past: Signal<Local, Bits<20>>,
    joins_up: [Signal<Local, Bit>; N],
    joins_down: [Signal<Local, Bit>; N],
    joined_up: Signal<Local, Bit>,
    joined_down: Signal<Local, Bit>,
    other_to: Signal<Local, Bits<20>>,
    other_good_to: Signal<Local, Bits<20>>,

    // those of the chain in order
    c_valid: [Signal<Local, Bit>; N],
    c_good_from: [Signal<Local, Bits<20>>; N],
    c_good_to: [Signal<Local, Bits<20>>; N],
    c_under: [Signal<Local, Bits<20>>; N],
    c_here: [Signal<Local, Bit>; N],

    past: [[Signal<Local, Bits<20>>; N]; S],
    short: [[Signal<Local, Bits<20>>; N]; S],
    index: [Constant<Bits<8>>; S],
    nothing: Constant<Bits<4>>,
}

impl<const S: usize, const N: usize> Default for Placed<S, N> {
    fn default() -> Self {
        assert!(N <= 4, "a record holds four");
        let grid = || std::array::from_fn(|_| array());
        Self {
            clock: d(),
            reset: d(),
            gone: d(),
            gone_stream: d(),
            at: array(),
            chain: array(),
            asked: d(),
            asked_at: d(),
            asked_behind: d(),
            held: d(),
            held_to: d(),
            held_good: d(),
            room: d(),
            record: d(),
            answer: d(),
            answer_stream: d(),
            answer_at: d(),
            answer_behind: d(),
            accepted: d(),
            chain_stream: d(),
            chain_at: d(),
            chain_before: d(),
            chain_now: d(),
            chain_valid: d(),
            valid: std::array::from_fn(|_| array()),
            from: grid(),
            to: grid(),
            good_from: grid(),
            good_to: grid(),
            a_valid: array(),
            a_from: array(),
            a_to: array(),
            a_good_to: array(),
            a_over: array(),
            a_under: array(),
            grows_up: array(),
            grows_down: array(),
            some_up: d(),
            some_down: d(),
            some_free: d(),
            takes: array(),
            b_valid: array(),
            b_to: array(),
            b_good_from: array(),
            b_good_to: array(),
            b_past: d(),
            joins_up: array(),
            joins_down: array(),
            joined_up: d(),
            joined_down: d(),
            other_to: d(),
            other_good_to: d(),
            c_valid: array(),
            c_good_from: array(),
            c_good_to: array(),
            c_under: array(),
            c_here: array(),
            past: std::array::from_fn(|_| array()),
            short: std::array::from_fn(|_| array()),
            index: std::array::from_fn(|i| Constant::new((i as u64).into())),
            nothing: Constant::new(0_u64.into()),
        }
    }
}

impl<const S: usize, const N: usize> Logic for Placed<S, N> {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..S {
            for k in 0..N {
                self.valid[i][k].clock.next = self.clock.val();
                self.valid[i][k].d.next = self.valid[i][k].q.val();
                self.from[i][k].clock.next = self.clock.val();
                self.from[i][k].d.next = self.from[i][k].q.val();
                self.to[i][k].clock.next = self.clock.val();
                self.to[i][k].d.next = self.to[i][k].q.val();
                self.good_from[i][k].clock.next = self.clock.val();
                self.good_from[i][k].d.next = self.good_from[i][k].q.val();
                self.good_to[i][k].clock.next = self.clock.val();
                self.good_to[i][k].d.next = self.good_to[i][k].q.val();
            }
        }

        comment!("the intervals of the three streams that are asked for");
        for k in 0..N {
            self.a_valid[k].next = false;
            self.a_from[k].next = 0.into();
            self.a_to[k].next = 0.into();
            self.a_good_to[k].next = 0.into();
            self.b_valid[k].next = false;
            self.b_to[k].next = 0.into();
            self.b_good_from[k].next = 0.into();
            self.b_good_to[k].next = 0.into();
            self.c_valid[k].next = false;
            self.c_good_from[k].next = 0.into();
            self.c_good_to[k].next = 0.into();
        }
        self.b_past.next = 0.into();
        for i in 0..S {
            if self.asked.val() == self.index[i].val() {
                for k in 0..N {
                    self.a_valid[k].next = self.valid[i][k].q.val();
                    self.a_from[k].next = self.from[i][k].q.val();
                    self.a_to[k].next = self.to[i][k].q.val();
                    self.a_good_to[k].next = self.good_to[i][k].q.val();
                }
            }
            if self.answer_stream.val() == self.index[i].val() {
                self.b_past.next = self.answer_at.val() - self.at[i].val();
                for k in 0..N {
                    self.b_valid[k].next = self.valid[i][k].q.val();
                    self.b_to[k].next = self.to[i][k].q.val();
                    self.b_good_from[k].next = self.good_from[i][k].q.val();
                    self.b_good_to[k].next = self.good_to[i][k].q.val();
                }
            }
            if self.chain_stream.val() == self.index[i].val() {
                for k in 0..N {
                    self.c_valid[k].next = self.valid[i][k].q.val();
                    self.c_good_from[k].next = self.good_from[i][k].q.val();
                    self.c_good_to[k].next = self.good_to[i][k].q.val();
                }
            }
        }

        comment!(
            "does the position lie in an interval, and where could an FPDU from there be recorded?"
        );
        self.held.next = false;
        self.held_to.next = 0.into();
        self.held_good.next = false;
        self.some_up.next = false;
        self.some_down.next = false;
        self.some_free.next = false;
        for k in 0..N {
            self.a_over[k].next = self.asked_at.val() - self.a_from[k].val();
            self.a_under[k].next = self.asked_at.val() - self.a_to[k].val();
            if self.a_valid[k].val()
                & !self.a_over[k].val().get_bit(19)
                & self.a_under[k].val().get_bit(19)
            {
                self.held.next = true;
                self.held_to.next = self.a_to[k].val();
                self.held_good.next = self.a_to[k].val() == self.a_good_to[k].val();
            }
            self.grows_up[k].next =
                self.a_valid[k].val() & (self.a_to[k].val() == self.asked_at.val());
            self.grows_down[k].next =
                self.a_valid[k].val() & (self.a_from[k].val() == self.asked_behind.val());
            self.takes[k].next = !self.a_valid[k].val() & !self.some_free.val();
            if self.grows_up[k].val() {
                self.some_up.next = true;
            }
            if self.grows_down[k].val() {
                self.some_down.next = true;
            }
            if !self.a_valid[k].val() {
                self.some_free.next = true;
            }
        }
        self.room.next = self.some_up.val() | self.some_down.val() | self.some_free.val();

        comment!("record it: above an interval, below one, or in one of its own, of which nothing is placed yet");
        for i in 0..S {
            if self.record.val() & (self.asked.val() == self.index[i].val()) {
                for k in 0..N {
                    if self.grows_up[k].val() {
                        self.to[i][k].d.next = self.asked_behind.val();
                    }
                    if !self.some_up.val() & self.grows_down[k].val() {
                        self.from[i][k].d.next = self.asked_at.val();
                    }
                    if !self.some_up.val() & !self.some_down.val() & self.takes[k].val() {
                        self.valid[i][k].d.next = true;
                        self.from[i][k].d.next = self.asked_at.val();
                        self.to[i][k].d.next = self.asked_behind.val();
                        self.good_from[i][k].d.next = self.asked_at.val();
                        self.good_to[i][k].d.next = self.asked_at.val();
                    }
                }
            }
        }

        comment!("an answer makes an interval's placed part longer, or one of two; what the chain has passed meanwhile is of no use");
        self.joined_up.next = false;
        self.joined_down.next = false;
        self.other_to.next = 0.into();
        self.other_good_to.next = 0.into();
        for k in 0..N {
            self.joins_up[k].next =
                self.b_valid[k].val() & (self.b_good_to[k].val() == self.answer_at.val());
            self.joins_down[k].next = self.b_valid[k].val()
                & (self.b_good_from[k].val() == self.answer_behind.val())
                & (self.b_good_from[k].val() != self.b_good_to[k].val());
            if self.joins_up[k].val() {
                self.joined_up.next = true;
            }
            if self.joins_down[k].val() {
                self.joined_down.next = true;
                self.other_to.next = self.b_to[k].val();
                self.other_good_to.next = self.b_good_to[k].val();
            }
        }
        for i in 0..S {
            if self.answer.val()
                & self.accepted.val()
                & !self.b_past.val().get_bit(19)
                & (self.answer_stream.val() == self.index[i].val())
            {
                for k in 0..N {
                    if self.joins_up[k].val() {
                        self.good_to[i][k].d.next = self.answer_behind.val();
                        if self.joined_down.val() {
                            self.good_to[i][k].d.next = self.other_good_to.val();
                            self.to[i][k].d.next = self.other_to.val();
                        }
                    }
                    if self.joins_down[k].val() & self.joined_up.val() {
                        self.valid[i][k].d.next = false;
                    }
                    if self.joins_down[k].val() & !self.joined_up.val() {
                        self.good_from[i][k].d.next = self.answer_at.val();
                    }
                }
            }
        }

        comment!("the chain in order is in an interval when it meets its begin, or was in it and has not come to its end");
        self.chain_now.next = self.nothing.val();
        self.chain_valid.next = self.nothing.val();
        for k in 0..N {
            self.c_under[k].next = self.chain_at.val() - self.c_good_to[k].val();
            self.c_here[k].next = self.c_valid[k].val()
                & self.c_under[k].val().get_bit(19)
                & (self.chain_before.val().get_bit(k)
                    | (self.chain_at.val() == self.c_good_from[k].val()));
            self.chain_now.next = self.chain_now.val().replace_bit(k, self.c_here[k].val());
            self.chain_valid.next = self.chain_valid.val().replace_bit(k, self.c_valid[k].val());
        }

        comment!("what the chain has passed: the rest of the interval that it is in begins there, any other one is dropped");
        for i in 0..S {
            for k in 0..N {
                self.past[i][k].next = self.good_from[i][k].q.val() - self.at[i].val();
                self.short[i][k].next = self.at[i].val() - self.good_to[i][k].q.val();
                if self.valid[i][k].q.val() & self.past[i][k].val().get_bit(19) {
                    if self.chain[i].val().get_bit(k) & self.short[i][k].val().get_bit(19) {
                        self.from[i][k].d.next = self.at[i].val();
                        self.good_from[i][k].d.next = self.at[i].val();
                    } else {
                        self.valid[i][k].d.next = false;
                    }
                }
                if self.reset.val()
                    | (self.gone.val() & (self.gone_stream.val() == self.index[i].val()))
                {
                    self.valid[i][k].d.next = false;
                }
            }
        }
    }
}
