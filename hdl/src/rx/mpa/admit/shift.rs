//! Shift: what a beat makes of something that each island has: its begin, its end, or how another beat lies to it.
//!
//! ```text
//!             high low
//!  stay[k] ──── 0   0 ──┐
//!  items[k+1] ─ 0   1 ──┤
//!  items[k-1] ─ 1   0 ──┼─► out[k]
//!  own ──────── 1   1 ──┘
//! ```
//!
//! Islands move down when one is gone, up in front of a new one, or take what is the beat's own. Behind the last one is
//! `beyond`. Who knows early that nothing moves has `stay` as something else altogether, and both selects low: the selects
//! are what comes late, and nothing is chosen behind them.
//!
//! Combinational, one choice of four.
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
    /// What it is when nothing happens to the island.
    pub stay: [Signal<In, T>; N],
    /// What the islands have.
    pub items: [Signal<In, T>; N],
    /// What the beat has.
    pub own: Signal<In, T>,
    /// What the last island has when there is one less.
    pub beyond: Signal<In, T>,
    /// What each island has then.
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
