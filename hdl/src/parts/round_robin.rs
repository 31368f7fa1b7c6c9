//! Whose turn is it: of all that ask, the highest one below the last one, else the highest one.
//!
//! ```text
//!  asks, last ─► choice, any
//! ```
//!
//! Who goes on asking waits for each of the others once at most. Combinational.
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Block;

/// A choice among S.
#[derive(Block)]
#[block(default)]
pub struct RoundRobin<const S: usize> {
    /// Who asks.
    pub asks: [Signal<In, Bit>; S],
    /// Whose turn it was.
    pub last: Signal<In, Bits<4>>,
    /// Whose turn it is; 0 when nobody asks.
    pub choice: Signal<Out, Bits<8>>,
    /// Somebody asks.
    pub any: Signal<Out, Bit>,

    /// The last one is not above: told by equality, since a comparison would be a carry chain.
    reached: [Signal<Local, Bit>; S],
    highest: Signal<Local, Bits<4>>,
    below: Signal<Local, Bits<4>>,
    some_below: Signal<Local, Bit>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
}

impl<const S: usize> Logic for RoundRobin<S> {
    #[hdl_gen]
    fn update(&mut self) {
        self.any.next = false;
        self.highest.next = 0.into();
        self.below.next = 0.into();
        self.some_below.next = false;
        for i in 0..S {
            self.reached[i].next = self.last.val() == self.index[i].val();
        }
        for i in 1..S {
            if self.reached[i - 1].val() {
                self.reached[i].next = true;
            }
        }
        for i in 0..S {
            if self.asks[i].val() {
                self.any.next = true;
                self.highest.next = self.index[i].val();
                if !self.reached[i].val() {
                    self.below.next = self.index[i].val();
                    self.some_below.next = true;
                }
            }
        }
        self.choice.next = bit_cast::<8, 4>(self.highest.val());
        if self.some_below.val() {
            self.choice.next = bit_cast::<8, 4>(self.below.val());
        }
    }
}
