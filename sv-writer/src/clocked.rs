//! Blocks with a clock: what the derive of their owner does for each of them, so that no kernel names it only for that.
//!
//! The kernel of a block with one `Signal<In, Clock>`, here `clock`, begins, as it were, with these statements for each
//! field that is [`Clocked`]:
//!
//! ```text
//!  self.field.clock.next = self.clock.val();
//!  self.register.d.next = self.register.q.val();    of a Dff
//! ```
//!
//! What the kernel itself assigns comes later, and wins.

use rust_hdl_core::prelude::*;
use std::marker::PhantomData;

/// What the name of a namespace begins with that stands in front of a field with a clock from the derive; the clock's name
/// follows. The derive's word.
pub(crate) const MARK: &str = "clocked:";

/// A block with one clock input, or an array of such blocks. `#[derive(Block)]` implements it.
pub trait Clocked {
    /// Gives it the clock of its owner; a register holds what it has until its owner says otherwise.
    fn hold(&mut self, clock: Clock);

    /// Tells rust-hdl's checks that the inputs that [`hold`](Self::hold) drives are driven.
    fn claim(&mut self);
}

impl<B: Clocked, const N: usize> Clocked for [B; N] {
    fn hold(&mut self, clock: Clock) {
        self.iter_mut().for_each(|block| block.hold(clock));
    }

    fn claim(&mut self) {
        self.iter_mut().for_each(B::claim);
    }
}

impl<B: Clocked> Clocked for Vec<B> {
    fn hold(&mut self, clock: Clock) {
        self.iter_mut().for_each(|block| block.hold(clock));
    }

    fn claim(&mut self) {
        self.iter_mut().for_each(B::claim);
    }
}

/// The type of a field, of which the derive only knows the name. Methods of [`WithClock`] are found first, without a
/// reference to `Kind`, where `T` is [`Clocked`]; those of [`WithoutClock`] for all other types.
#[doc(hidden)]
pub struct Kind<T>(PhantomData<T>);

impl<T> Kind<T> {
    pub fn of(_: &T) -> Self {
        Self(PhantomData)
    }
}

#[doc(hidden)]
pub trait WithClock<T>: Sized {
    fn hold(self, field: &mut T, clock: Clock);
    fn claim(self, field: &mut T);
    fn has_clock(self) -> bool;
}

impl<T: Clocked> WithClock<T> for Kind<T> {
    #[inline(always)]
    fn hold(self, field: &mut T, clock: Clock) {
        field.hold(clock);
    }

    fn claim(self, field: &mut T) {
        field.claim();
    }

    fn has_clock(self) -> bool {
        true
    }
}

#[doc(hidden)]
pub trait WithoutClock<T> {
    #[inline(always)]
    fn hold(&self, _: &mut T, _: Clock) {}

    fn claim(&self, _: &mut T) {}

    fn has_clock(&self) -> bool {
        false
    }
}

impl<T> WithoutClock<T> for Kind<T> {}
