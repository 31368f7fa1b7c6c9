//! A field that a block has or has not, by a const generic: an option of a design that leaves no trace where it is off.
//!
//! ```text
//!  port: Optional<Signal<In, Bit>, N>     for i in 0..N { self.sub[i].enable.next = self.port[i].val(); }
//!                                   N = 0: no port, no instance, no statement
//!                                   N = 1: port, sub: their names have no index
//! ```

use crate::Clocked;
use rust_hdl_core::prelude::*;
use std::array;
use std::ops::{Index, IndexMut};

/// One `B`, or none: N is 1 or 0. In kernels it is an array, and what is said of it stands in a loop from 0 to N; in the text the
/// one element has the name of the field.
#[derive(Clone, Debug)]
pub struct Optional<B, const N: usize>([B; N]);

impl<B, const N: usize> Optional<B, N> {
    /// What `make` returns; it is called if N is 1.
    #[must_use]
    pub fn with(mut make: impl FnMut() -> B) -> Self {
        const { assert!(N <= 1, "one, or none") };
        Self(array::from_fn(|_| make()))
    }
}

impl<B: Default, const N: usize> Default for Optional<B, N> {
    fn default() -> Self {
        Self::with(B::default)
    }
}

impl<B, const N: usize> Index<usize> for Optional<B, N> {
    type Output = B;

    fn index(&self, index: usize) -> &B {
        &self.0[index]
    }
}

impl<B, const N: usize> IndexMut<usize> for Optional<B, N> {
    fn index_mut(&mut self, index: usize) -> &mut B {
        &mut self.0[index]
    }
}

impl<B, const N: usize> Logic for Optional<B, N> {
    fn update(&mut self) {}
}

impl<B: Block, const N: usize> Block for Optional<B, N> {
    fn connect_all(&mut self) {
        self.0.connect_all();
    }

    fn update_all(&mut self) {
        self.0.update_all();
    }

    fn has_changed(&self) -> bool {
        self.0.has_changed()
    }

    fn accept(&self, name: &str, probe: &mut dyn Probe) {
        self.0.iter().for_each(|block| block.accept(name, probe));
    }
}

impl<B: Clocked, const N: usize> Clocked for Optional<B, N> {
    fn hold(&mut self, clock: Clock) {
        self.0.hold(clock);
    }

    fn claim(&mut self) {
        self.0.claim();
    }
}
