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
//! bursts are aligned, and stay in a block of 256 octets and come one at a time, if the manner does not say otherwise.

use crate::stimulus::{Pace, Rhythm, chance};
use fastrand::Rng;
use rust_hdl_core::prelude::Bits;
use std::collections::VecDeque;
use std::ops::Range;
use thiserror::Error;
use warpline_hdl::parts::axi::READ_BLOCK;

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
    /// A burst leaves its block.
    #[error("{0:?} leaves its block")]
    Crosses(Burst),
    /// A burst comes while as many as may be are under way.
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
    /// Of all bursts, in percent, so many end early or late.
    pub wrong_ends: u32,
    /// Octets of a block that no burst leaves.
    pub block: u64,
    /// Bursts that may be under way.
    pub bursts: usize,
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
            wrong_ends: 0,
            block: READ_BLOCK as u64,
            bursts: 1,
        }
    }
}

/// Host memory and monitor. What an address holds is computed by a function.
pub struct ReadBus {
    /// Every burst whose address was taken, in order, with the cycle.
    pub bursts: Vec<(u64, Burst)>,
    /// Those of them, by index, that end early or late at random.
    pub wrong_ends: Vec<usize>,
    /// How the memory behaves from now on.
    pub manner: Manner,
    octet: Box<dyn Fn(u64) -> u8>,
    octets: u64,
    ar: Rhythm,
    r: Rhythm,
    cycle: u64,
    offer: Offer,
    held: Option<Burst>,
    beats: VecDeque<DueBeat>,
}

/// A beat, not given before a cycle.
struct DueBeat {
    due: u64,
    beat: ReadBeat,
    /// Nothing of its burst follows.
    end: bool,
}

impl ReadBus {
    /// Memory on a bus of `octets` octets.
    #[must_use]
    pub fn new(octets: usize, manner: Manner, octet: impl Fn(u64) -> u8 + 'static) -> Self {
        Self {
            bursts: vec![],
            wrong_ends: vec![],
            octet: Box::new(octet),
            octets: octets as u64,
            ar: Rhythm::new(manner.ar),
            r: Rhythm::new(manner.r),
            manner,
            cycle: 0,
            offer: Offer::default(),
            held: None,
            beats: VecDeque::new(),
        }
    }

    /// What the memory drives in this cycle.
    pub fn offer(&mut self, rng: &mut Rng) -> Offer {
        let (arready, goes) = (self.ar.go(rng), self.r.go(rng));
        let waits = self.offer.beat.is_some(); // a beat that was not taken stays
        let beat = self.beats.front().filter(|_| waits || goes);
        let beat = beat.filter(|front| self.cycle >= front.due);
        let beat = beat.map(|front| front.beat.clone());
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
        if burst.address % self.manner.block + count * self.octets > self.manner.block {
            return Err(Violation::Crosses(burst));
        }
        if self.beats.iter().filter(|beat| beat.end).count() >= self.manner.bursts {
            return Err(Violation::Second(burst));
        }
        let due = self.cycle + 1 + rng.u64(self.manner.delay.clone());
        let mut count = (count as usize).min(self.manner.most_beats);
        if chance(rng, self.manner.wrong_ends) {
            count = match count {
                2.. if rng.bool() => rng.usize(1..count),
                _ => count + rng.usize(1..4),
            };
            self.wrong_ends.push(self.bursts.len());
        }
        self.bursts.push((self.cycle, burst));
        for beat in 0..count {
            let from = burst.address.wrapping_add(beat as u64 * self.octets);
            let faulty = &self.manner.faulty;
            let error = from < faulty.end && faulty.start <= from.wrapping_add(self.octets - 1);
            let octet = |address| {
                if error {
                    !(self.octet)(address)
                } else {
                    (self.octet)(address)
                }
            };
            let end = beat + 1 == count;
            let beat = ReadBeat {
                octets: (0..self.octets)
                    .map(|lane| octet(from.wrapping_add(lane)))
                    .collect(),
                error,
                last: end,
            };
            self.beats.push_back(DueBeat { due, beat, end });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the cycles and gives back what the monitor says of them, and the beats that came.
    fn judged(pace: Pace, cycles: &[Option<Burst>]) -> Result<Vec<ReadBeat>, Violation> {
        let manner = Manner {
            ar: pace,
            faulty: 0x118..0x119,
            ..Manner::quick(1)
        };
        judged_of(manner, cycles)
    }

    fn judged_of(manner: Manner, cycles: &[Option<Burst>]) -> Result<Vec<ReadBeat>, Violation> {
        let mut rng = Rng::with_seed(1);
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
    #[test]
    fn several_bursts_are_under_way_if_they_may() {
        let manner = Manner {
            block: 4096,
            bursts: 2,
            ..Manner::quick(3)
        };
        let mut cycles = vec![address(0, 0), address(0xfe0, 3)];
        cycles.extend([None; 8]);
        let beats = judged_of(manner.clone(), &cycles).unwrap();
        let firsts: Vec<u8> = beats.iter().map(|beat| beat.octets[0]).collect();
        assert_eq!(firsts, [0, 0xe0, 0xe8, 0xf0, 0xf8]);
        let third = [address(0, 0), address(8, 0), address(16, 0)];
        let third = judged_of(manner.clone(), &third).unwrap_err();
        assert!(matches!(third, Violation::Second(_)));
        let crosses = judged_of(manner, &[address(0xfe0, 4)]).unwrap_err();
        assert!(matches!(crosses, Violation::Crosses(_)));
    }

    #[test]
    fn ends_early_and_late() {
        let manner = Manner {
            wrong_ends: 100,
            ..Manner::quick(0)
        };
        let (mut early, mut late) = (0, 0);
        for count in 2..30 {
            let mut cycles = vec![address(0, count - 1)];
            cycles.extend([None; 40]);
            let beats = judged_of(manner.clone(), &cycles).unwrap();
            assert!(beats.iter().rposition(|beat| beat.last) == Some(beats.len() - 1));
            assert!(beats.iter().filter(|beat| beat.last).count() == 1);
            early += usize::from(beats.len() < count.into());
            late += usize::from(beats.len() > count.into());
        }
        assert!(early + late == 28, "{early} {late}");
    }
}
