//! Round robin: of all requests, the highest one below the last grant, or else the highest one.
//!
//! ```text
//!  asks, last ─► choice, any
//! ```
//!
//! A persistent request is delayed by each of the others at most once. Combinational.
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Block;

/// A choice among S.
#[derive(Block)]
#[block(default)]
pub struct RoundRobin<const S: usize> {
    /// Requests.
    pub asks: [Signal<In, Bit>; S],
    /// Last grant.
    pub last: Signal<In, Bits<4>>,
    /// Grant; 0 without a request.
    pub choice: Signal<Out, Bits<8>>,
    /// There is a request.
    pub any: Signal<Out, Bit>,

    /// The last grant is not above: by equality, since a comparison would be a carry chain.
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
