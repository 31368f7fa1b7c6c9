//! Host memory behind an AXI4 read port, with a monitor of the port's rules.
//!
//! ```text
//!            ready, beat  ┌─────────┐
//!   device ◄──────────────│ ReadBus │ offer, before the inputs settle
//!   device ──────────────►│ memory  │ take, before the edge
//!            address      └─────────┘
//! ```
//!
//! Rules are those of IHI 0022E: what is valid stays, unchanged, until it is taken (§A3.2.1). Besides, warpline's read
//! bursts are aligned, stay in a block of 256 octets, and come one at a time.

use crate::stimulus::{Pace, Rhythm};
use fastrand::Rng;
use rust_hdl_core::prelude::Bits;
use std::collections::VecDeque;
use std::ops::Range;
use thiserror::Error;

/// What an address on AR asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Address of the first beat.
    pub address: u64,
    /// Beats less one.
    pub length: u8,
}

/// The memory's side of the port in one cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// ARREADY.
    pub arready: bool,
    /// R, if valid.
    pub beat: Option<ReadBeat>,
}

/// A beat on R.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadBeat {
    /// Octets, lane 0 first.
    pub octets: Vec<u8>,
    /// The response is an error.
    pub error: bool,
    /// RLAST.
    pub last: bool,
}

impl ReadBeat {
    /// RDATA.
    #[must_use]
    pub fn data<const W: usize>(&self) -> Bits<W> {
        let mut data = Bits::default();
        for (lane, octet) in self.octets.iter().enumerate() {
            data.set_bits::<8>(8 * lane, u64::from(*octet).into());
        }
        data
    }
}

/// A rule that the device broke.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Violation {
    /// ARVALID fell, or the address changed, before it was taken.
    #[error("AR was {held:?} and not taken, now it is {now:?}")]
    Address {
        /// Before.
        held: Burst,
        /// Now.
        now: Option<Burst>,
    },
    /// A burst does not begin at a beat's address.
    #[error("{0:?} is not aligned")]
    Unaligned(Burst),
    /// A burst leaves its block of 256 octets.
    #[error("{0:?} crosses 256 octets")]
    Crosses(Burst),
    /// A burst comes before the beats of the one in front of it are taken.
    #[error("{0:?} comes while a burst is under way")]
    Second(Burst),
}

/// How the memory behaves.
#[derive(Clone, Debug)]
pub struct Manner {
    /// Rhythm of ARREADY.
    pub ar: Pace,
    /// Rhythm of RVALID.
    pub r: Pace,
    /// Cycles between an address and its first beat, at random.
    pub delay: Range<u64>,
    /// Beats that touch these addresses are answered with an error, and hold something else.
    pub faulty: Range<u64>,
    /// Bursts of more beats end after this many.
    pub most_beats: usize,
}

impl Manner {
    /// Always ready; the first beat comes `delay` + 1 cycles behind the address, the others follow at once.
    #[must_use]
    pub fn quick(delay: u64) -> Self {
        Self {
            ar: Pace::Always,
            r: Pace::Always,
            delay: delay..delay + 1,
            faulty: 0..0,
            most_beats: 256,
        }
    }
}

/// Host memory and monitor. What an address holds is computed by a function.
pub struct ReadBus {
    /// Every burst whose address was taken, in order, with the cycle.
    pub bursts: Vec<(u64, Burst)>,
    /// How the memory behaves from now on.
    pub manner: Manner,
    octet: Box<dyn Fn(u64) -> u8>,
    octets: u64,
    ar: Rhythm,
    r: Rhythm,
    cycle: u64,
    offer: Offer,
    held: Option<Burst>,
    due: u64,
    beats: VecDeque<ReadBeat>,
}

impl ReadBus {
    /// Memory on a bus of `octets` octets.
    #[must_use]
    pub fn new(octets: usize, manner: Manner, octet: impl Fn(u64) -> u8 + 'static) -> Self {
        Self {
            bursts: vec![],
            octet: Box::new(octet),
            octets: octets as u64,
            ar: Rhythm::new(manner.ar),
            r: Rhythm::new(manner.r),
            manner,
            cycle: 0,
            offer: Offer::default(),
            held: None,
            due: 0,
            beats: VecDeque::new(),
        }
    }

    /// What the memory drives in this cycle.
    pub fn offer(&mut self, rng: &mut Rng) -> Offer {
        let (arready, goes) = (self.ar.go(rng), self.r.go(rng));
        let waits = self.offer.beat.is_some(); // a beat that was not taken stays
        let beat = self.beats.front().filter(|_| waits || goes);
        let beat = beat.filter(|_| self.cycle >= self.due).cloned();
        self.offer = Offer { arready, beat };
        self.offer.clone()
    }

    /// What the device drives in the same cycle: AR, if valid, and RREADY.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn take(
        &mut self,
        address: Option<Burst>,
        ready: bool,
        rng: &mut Rng,
    ) -> Result<(), Violation> {
        if let Some(held) = self.held.take().filter(|held| address != Some(*held)) {
            let now = address;
            return Err(Violation::Address { held, now });
        }
        if self.offer.beat.is_some() && ready {
            self.offer.beat = None;
            self.beats.pop_front();
        }
        match address {
            Some(burst) if self.offer.arready => self.address(burst, rng)?,
            waiting => self.held = waiting,
        }
        self.cycle += 1;
        Ok(())
    }

    /// The burst whose beats come, or else the one whose address waits.
    #[must_use]
    pub fn under_way(&self) -> Option<Burst> {
        let asked = self.bursts.last().filter(|_| !self.beats.is_empty());
        asked.map(|(_, burst)| *burst).or(self.held)
    }

    /// Nothing is under way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.beats.is_empty() && self.held.is_none()
    }

    fn address(&mut self, burst: Burst, rng: &mut Rng) -> Result<(), Violation> {
        let count = u64::from(burst.length) + 1;
        if !burst.address.is_multiple_of(self.octets) {
            return Err(Violation::Unaligned(burst));
        }
        if burst.address % 256 + count * self.octets > 256 {
            return Err(Violation::Crosses(burst));
        }
        if !self.beats.is_empty() {
            return Err(Violation::Second(burst));
        }
        self.bursts.push((self.cycle, burst));
        self.due = self.cycle + 1 + rng.u64(self.manner.delay.clone());
        let count = (count as usize).min(self.manner.most_beats);
        for beat in 0..count {
            let from = burst.address + beat as u64 * self.octets;
            let faulty = &self.manner.faulty;
            let error = from < faulty.end && faulty.start < from + self.octets;
            let octet = |address| {
                if error {
                    !(self.octet)(address)
                } else {
                    (self.octet)(address)
                }
            };
            self.beats.push_back(ReadBeat {
                octets: (from..from + self.octets).map(octet).collect(),
                error,
                last: beat + 1 == count,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the cycles and gives back what the monitor says of them, and the beats that came.
    fn judged(pace: Pace, cycles: &[Option<Burst>]) -> Result<Vec<ReadBeat>, Violation> {
        let mut rng = Rng::with_seed(1);
        let manner = Manner {
            ar: pace,
            faulty: 0x118..0x119,
            ..Manner::quick(1)
        };
        let mut bus = ReadBus::new(8, manner, |address| address as u8);
        let mut beats = vec![];
        for address in cycles {
            beats.extend(bus.offer(&mut rng).beat);
            bus.take(*address, true, &mut rng)?;
        }
        Ok(beats)
    }

    fn address(address: u64, length: u8) -> Option<Burst> {
        Some(Burst { address, length })
    }

    #[test]
    fn reads_octets_and_answers() {
        let beats = judged(Pace::Always, &[address(0x110, 1), None, None, None]).unwrap();
        let beat = |first: u8, error, last| ReadBeat {
            octets: (first..first + 8)
                .map(|o| if error { !o } else { o })
                .collect(),
            error,
            last,
        };
        assert_eq!(beats, [beat(0x10, false, false), beat(0x18, true, true)]);
        assert_eq!(beats[0].data::<64>().to_u64(), 0x1716_1514_1312_1110);
    }

    #[test]
    fn sees_every_violation() {
        let never = Pace::Percent(0);
        let falls = judged(never, &[address(0, 0), None]).unwrap_err();
        assert!(matches!(falls, Violation::Address { .. }));
        let changes = judged(never, &[address(0, 0), address(0, 1)]).unwrap_err();
        assert!(matches!(changes, Violation::Address { .. }));
        let seen = |cycles: &[_]| judged(Pace::Always, cycles).unwrap_err();
        assert!(matches!(seen(&[address(4, 0)]), Violation::Unaligned(_)));
        assert!(matches!(seen(&[address(0xf8, 1)]), Violation::Crosses(_)));
        let two = [address(0, 1), address(0x100, 0)];
        assert!(matches!(seen(&two), Violation::Second(_)));
    }
}
