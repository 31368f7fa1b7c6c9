//! Chunks of one direction back in DDP-SSN order: which are new, and up to which all have arrived.
//!
//! ```text
//!       behind            │ window: 32,767 at most      │  ahead
//!  ─ old, if it existed ──┼─ new, or old if marked ─────┼─ invalid ─►  DDP-SSN
//!                         └ next: all before it have arrived
//! ```
//!
//! A bitmap of fixed size marks what has arrived behind a gap; nothing is allocated for a DDP-SSN,
//! valid or not (SCTP-SSN-11).

use super::ssn::{MAX_IN_FLIGHT, Ssn};
use thiserror::Error;

/// Words of the bitmap that serves the largest window: 4 KiB.
pub const FULL_WINDOW_WORDS: usize = 1024;

/// Bits of a word.
const BITS: u16 = u32::BITS as u16;

/// A DDP-SSN that no chunk under way can have (AMB-34): the peer breaks RFC 5043 §6 or §10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("DDP-SSN {ssn} is invalid where {next} is next and the window {window}: end the session")]
pub struct InvalidSsn {
    /// The DDP-SSN received.
    pub ssn: Ssn,
    /// The next one in order.
    pub next: Ssn,
    /// Chunks of the window.
    pub window: u16,
}

/// The window is not one that the bitmap serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a window of {window} chunks is outside 1..={max}: change it or the words of the bitmap")]
pub struct WindowError {
    /// The window given.
    pub window: u16,
    /// The largest for this bitmap.
    pub max: u16,
}

/// Order of one direction of a session. `W` words of bitmap, a power of two, serve a window of up to
/// `32 W` chunks.
#[derive(Clone, Debug)]
pub struct Order<const W: usize> {
    next: Ssn,
    /// One behind the highest DDP-SSN taken.
    top: Ssn,
    /// At least 2^15 chunks have arrived in order, so that whatever is behind has existed.
    far: bool,
    window: u16,
    marks: [u32; W],
}

impl<const W: usize> Default for Order<W> {
    /// The start of a session, with the largest window.
    fn default() -> Self {
        Self {
            next: Ssn::FIRST,
            top: Ssn::FIRST,
            far: false,
            window: Self::MAX_WINDOW,
            marks: [0; W],
        }
    }
}

impl<const W: usize> Order<W> {
    /// The largest window that `W` words serve.
    pub const MAX_WINDOW: u16 = {
        assert!(W.is_power_of_two() && W <= 2 * FULL_WINDOW_WORDS);
        if W >= FULL_WINDOW_WORDS {
            MAX_IN_FLIGHT
        } else {
            W as u16 * BITS
        }
    };

    /// The start of a session: DDP-SSN 0 is next.
    pub fn new(window: u16) -> Result<Self, WindowError> {
        let max = Self::MAX_WINDOW;
        if !(1..=max).contains(&window) {
            return Err(WindowError { window, max });
        }
        Ok(Self {
            window,
            ..Self::default()
        })
    }

    /// Back to the start of a session.
    pub fn reset(&mut self) {
        (self.next, self.top, self.far) = (Ssn::FIRST, Ssn::FIRST, false);
        self.marks = [0; W];
    }

    /// The DDP-SSN in front of which all chunks have arrived.
    pub const fn next(&self) -> Ssn {
        self.next
    }

    /// Whether chunk 0 has arrived.
    pub const fn has_begun(&self) -> bool {
        self.next.0 != 0 || self.far
    }

    /// Whether a chunk behind this one, which is new, has arrived.
    pub const fn has_beyond(&self, ssn: Ssn) -> bool {
        self.top.ahead_of(self.next) > ssn.ahead_of(self.next)
    }

    /// Whether the chunk is new: neither marked nor behind `next`.
    ///
    /// What is behind is old only if it can have existed: before 2^15 chunks have arrived, a number
    /// above `next` is ahead, however far.
    pub fn judge(&self, ssn: Ssn) -> Result<bool, InvalidSsn> {
        let ahead = ssn.ahead_of(self.next);
        if ahead < self.window {
            Ok(!self.is_marked(ssn))
        } else if ahead > MAX_IN_FLIGHT && (self.far || ssn.0 < self.next.0) {
            Ok(false)
        } else {
            Err(InvalidSsn {
                ssn,
                next: self.next,
                window: self.window,
            })
        }
    }

    /// Takes a chunk: returns whether it is new, and moves `next` behind all that have arrived.
    pub fn take(&mut self, ssn: Ssn) -> Result<bool, InvalidSsn> {
        if !self.judge(ssn)? {
            return Ok(false);
        }
        let behind = ssn.next();
        if behind.ahead_of(self.next) > self.top.ahead_of(self.next) {
            self.top = behind;
        }
        self.flip(ssn);
        while self.is_marked(self.next) {
            self.flip(self.next);
            self.next = self.next.next();
            self.far |= self.next.0 > MAX_IN_FLIGHT;
        }
        Ok(true)
    }

    /// Word and bit of a DDP-SSN. The bits divide 2^16, so they follow its wrap.
    const fn place(ssn: Ssn) -> (usize, u32) {
        let word = (ssn.0 / BITS) as usize & (W - 1);
        (word, 1 << (ssn.0 % BITS))
    }

    fn is_marked(&self, ssn: Ssn) -> bool {
        let (word, bit) = Self::place(ssn);
        self.marks.get(word).is_some_and(|marks| marks & bit != 0)
    }

    fn flip(&mut self, ssn: Ssn) {
        let (word, bit) = Self::place(ssn);
        if let Some(marks) = self.marks.get_mut(word) {
            *marks ^= bit;
        }
    }
}
