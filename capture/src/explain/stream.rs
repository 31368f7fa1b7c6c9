//! Octets of one direction, cut into start frames and FPDUs.
//!
//! ```text
//!  octets ─► [Request or Reply …] ─► FPDU ─► FPDU ─► … each begins where ULPDU_Length of the one before says
//!            recognized by the key
//! ```

use super::Settings;
use super::fpdu::{self, Extent};
use super::start;
use super::unit::{Kind, Unit};

/// Explains octets, a unit at a time.
#[derive(Clone, Debug)]
pub struct Units<'a> {
    /// Those that are not yet explained.
    octets: &'a [u8],
    settings: Settings,
    position: u64,
    /// Number of the next FPDU, from 1.
    next: u64,
    /// TCP sequence number of the next octet.
    sequence: Option<u32>,
    /// Start frames may come.
    start_frames: bool,
}

/// What comes next.
enum Next {
    Start(Kind),
    Fpdu(Extent),
}

impl<'a> Units<'a> {
    /// Explains octets that begin with start frames or an FPDU.
    #[must_use]
    pub fn new(octets: &'a [u8], settings: Settings) -> Self {
        Self {
            octets,
            settings,
            position: settings.position.into(),
            next: 1,
            sequence: None,
            start_frames: true,
        }
    }

    /// Explains octets of full operation, which begin with an FPDU.
    #[must_use]
    pub fn of_full_operation(octets: &'a [u8], settings: Settings) -> Self {
        Self {
            start_frames: false,
            ..Self::new(octets, settings)
        }
    }

    /// The same, with the TCP sequence number of the first octet.
    #[must_use]
    pub fn with_sequence(self, sequence: u32) -> Self {
        Self {
            sequence: Some(sequence),
            ..self
        }
    }

    /// Leaves out what comes before an FPDU, by its number. It reads lengths only.
    #[must_use]
    pub fn from_fpdu(mut self, number: u64) -> Self {
        while self.next < number {
            let Some(next) = self.look() else {
                break;
            };
            let length = match next {
                Next::Start(kind) => start::explain(self.octets, kind, false).length,
                Next::Fpdu(extent) => extent.have,
            };
            self.pass(&next, length);
        }
        // Start frames in front of the first FPDU.
        while let Some(next @ Next::Start(kind)) = self.look() {
            let length = start::explain(self.octets, kind, false).length;
            self.pass(&next, length);
        }
        self
    }

    /// Number of the next FPDU.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.next
    }

    fn look(&self) -> Option<Next> {
        if self.octets.is_empty() {
            return None;
        }
        let start = self.start_frames.then(|| start::recognize(self.octets));
        Some(match start.flatten() {
            Some(kind) => Next::Start(kind),
            None => Next::Fpdu(Extent::new(
                self.octets,
                self.position as u32, // modulo 2^32, as the sequence space
                self.settings.markers,
            )),
        })
    }

    fn pass(&mut self, next: &Next, length: usize) {
        self.octets = &self.octets[length..];
        self.sequence = self
            .sequence
            .map(|sequence| sequence.wrapping_add(length as u32));
        match next {
            Next::Start(_) => self.position = 0, // full operation begins behind it
            Next::Fpdu(_) => {
                self.start_frames = false;
                self.position += length as u64;
                self.next += 1;
            }
        }
    }
}

impl Iterator for Units<'_> {
    type Item = Unit;

    fn next(&mut self) -> Option<Unit> {
        let next = self.look()?;
        let mut unit = match next {
            Next::Start(kind) => start::explain(self.octets, kind, self.settings.payload),
            Next::Fpdu(extent) => Unit {
                number: Some(self.next),
                position: Some(self.position),
                ..fpdu::explain(self.octets, extent, &self.settings)
            },
        };
        unit.sequence = self.sequence;
        self.pass(&next, unit.length);
        Some(unit)
    }
}
