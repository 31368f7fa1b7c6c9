//! Shift: the next value of a property of each island (its begin, its end, or its relation to another beat) after a beat.
//!
//! ```text
//!             high low
//!  stay[k] ──── 0   0 ──┐
//!  items[k+1] ─ 0   1 ──┤
//!  items[k-1] ─ 1   0 ──┼─► out[k]
//!  own ──────── 1   1 ──┘
//! ```
//!
//! Islands move down when one is removed, move up behind a new one, or take the beat's own value. Behind the last one
//! is `beyond`. A caller that knows early that nothing moves puts another value on `stay` and sets both selects low:
//! the selects arrive late, and there is no multiplexer behind them.
//!
//! Combinational, one 4:1 multiplexer.
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Block;

/// A choice for each of N islands.
#[derive(Block)]
#[block(default)]
pub struct Shift<T: Synth, const N: usize> {
    /// First bit of the choice.
    pub high: [Signal<In, Bit>; N],
    /// Second bit.
    pub low: [Signal<In, Bit>; N],
    /// Value if the island does not move.
    pub stay: [Signal<In, T>; N],
    /// Present values of the islands.
    pub items: [Signal<In, T>; N],
    /// Value of the beat.
    pub own: Signal<In, T>,
    /// Value of the last island when one is removed.
    pub beyond: Signal<In, T>,
    /// Next value of each island.
    pub out: [Signal<Out, T>; N],
}

impl<T: Synth, const N: usize> Logic for Shift<T, N> {
    #[hdl_gen]
    fn update(&mut self) {
        for k in 0..N {
            self.out[k].next = self.stay[k].val();
            if self.high[k].val() & self.low[k].val() {
                self.out[k].next = self.own.val();
            }
        }
        for k in 1..N {
            if self.high[k].val() & !self.low[k].val() {
                self.out[k].next = self.items[k - 1].val();
            }
        }
        for k in 0..(N - 1) {
            if !self.high[k].val() & self.low[k].val() {
                self.out[k].next = self.items[k + 1].val();
            }
        }
        for k in (N - 1)..N {
            if !self.high[k].val() & self.low[k].val() {
                self.out[k].next = self.beyond.val();
            }
        }
    }
}
