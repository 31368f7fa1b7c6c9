//! What tests with two threads wait with, so that they fail when the other one does nothing for ever.

use std::thread;

/// Waits at one place, far above what a busy machine needs.
const MOST: u32 = 20_000_000;

/// Counts how often a thread has waited at the same place.
#[derive(Default)]
pub(crate) struct Patience {
    place: u32,
    waits: u32,
}

impl Patience {
    /// Lets the other thread run. `place` is how far this one has come.
    pub fn wait(&mut self, place: u32) {
        if self.place != place {
            *self = Self { place, waits: 0 };
        }
        self.waits += 1;
        assert!(self.waits < MOST, "the other thread does nothing");
        thread::yield_now();
    }
}
