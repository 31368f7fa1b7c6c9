//! Host memory behind an AXI4 write port, with a monitor of the port's rules.
//!
//! ```text
//!            ready, response  ┌──────────┐
//!   device ◄──────────────────│ WriteBus │ offer, before the inputs settle
//!   device ──────────────────►│  memory  │ take, before the edge
//!            address, beat    └──────────┘
//! ```
//!
//! Each channel has its own rhythm, W may run ahead of AW, and a response comes some cycles after the last beat. Rules
//! are those of IHI 0022E: what is valid stays, unchanged, until it is taken (§A3.2.1); no burst crosses 4 KiB (§A3.4.1);
//! WLAST marks the last beat of its burst (§A3.4.1). Besides, warpline's bursts are aligned and have no empty beats.

use crate::stimulus::{Pace, Rhythm};
use fastrand::Rng;
use rust_hdl_core::prelude::Bits;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use thiserror::Error;

/// What an address on AW asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Address of the first beat.
    pub address: u64,
    /// Beats less one.
    pub length: u8,
}

/// A beat on W.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteBeat {
    /// Octets, lane 0 first.
    pub octets: Vec<u8>,
    /// Lanes to write.
    pub strobes: u64,
    /// WLAST.
    pub last: bool,
}

/// The device's side of the port in one cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wires {
    /// AW, if valid.
    pub address: Option<Burst>,
    /// W, if valid.
    pub beat: Option<WriteBeat>,
    /// BREADY.
    pub ready: bool,
}

impl Wires {
    /// AW of the port.
    #[must_use]
    pub fn address(mut self, valid: bool, address: Bits<64>, length: Bits<8>) -> Self {
        self.address = valid.then(|| Burst {
            address: address.to_u64(),
            length: length.to_u8(),
        });
        self
    }

    /// W of the port.
    #[must_use]
    pub fn beat<const W: usize, const K: usize>(
        mut self,
        valid: bool,
        octets: Bits<W>,
        strobes: Bits<K>,
        last: bool,
    ) -> Self {
        self.beat = valid.then(|| WriteBeat {
            octets: (0..K)
                .map(|lane| octets.get_bits::<8>(8 * lane).to_u8())
                .collect(),
            strobes: (0..K).fold(0, |mask, lane| {
                mask | u64::from(strobes.get_bit(lane)) << lane
            }),
            last,
        });
        self
    }
}

/// The memory's side of the port in one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// AWREADY.
    pub awready: bool,
    /// WREADY.
    pub wready: bool,
    /// BVALID, and whether the response is an error.
    pub response: Option<bool>,
}

/// A rule that the device broke.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Violation {
    /// AWVALID fell, or the address changed, before it was taken.
    #[error("AW was {held:?} and not taken, now it is {now:?}")]
    Address {
        /// Before.
        held: Burst,
        /// Now.
        now: Option<Burst>,
    },
    /// WVALID fell, or the beat changed, before it was taken.
    #[error("W was {held:?} and not taken, now it is {now:?}")]
    Beat {
        /// Before.
        held: WriteBeat,
        /// Now.
        now: Option<WriteBeat>,
    },
    /// A burst does not begin at a beat's address.
    #[error("{0:?} is not aligned")]
    Unaligned(Burst),
    /// A burst crosses a multiple of 4 KiB.
    #[error("{0:?} crosses 4 KiB")]
    Crosses(Burst),
    /// WLAST is not at the last beat, or missing there.
    #[error("WLAST is {last} in beat {beat} of {burst:?}")]
    Last {
        /// The burst.
        burst: Burst,
        /// The beat, from 0.
        beat: u64,
        /// WLAST.
        last: bool,
    },
    /// A beat writes nothing.
    #[error("beat {beat} of {burst:?} writes nothing")]
    Empty {
        /// The burst.
        burst: Burst,
        /// The beat, from 0.
        beat: u64,
    },
}

/// How the memory behaves.
#[derive(Clone, Debug)]
pub struct Manner {
    /// Rhythm of AWREADY.
    pub aw: Pace,
    /// Rhythm of WREADY.
    pub w: Pace,
    /// Rhythm of BVALID.
    pub b: Pace,
    /// Cycles from the last beat of a burst to its response, at random.
    pub delay: Range<u64>,
    /// Bursts that begin here are not written and answered with an error.
    pub faulty: Range<u64>,
}

impl Manner {
    /// Always ready, responses after `delay` cycles.
    #[must_use]
    pub fn quick(delay: u64) -> Self {
        Self {
            aw: Pace::Always,
            w: Pace::Always,
            b: Pace::Always,
            delay: delay..delay + 1,
            faulty: 0..0,
        }
    }
}

/// Host memory and monitor.
pub struct WriteBus {
    /// Every octet that was written.
    pub memory: BTreeMap<u64, u8>,
    /// Every burst whose address was taken, in order.
    pub bursts: Vec<Burst>,
    /// Every cycle in which a beat was taken.
    pub beat_cycles: Vec<u64>,
    manner: Manner,
    octets: u64,
    rhythms: [Rhythm; 3],
    cycle: u64,
    offer: Offer,
    held_address: Option<Burst>,
    held_beat: Option<WriteBeat>,
    open: VecDeque<Burst>,
    open_beats: u64,
    early: VecDeque<WriteBeat>,
    responses: VecDeque<(u64, bool)>,
}

impl WriteBus {
    /// Memory on a bus of `octets` octets.
    #[must_use]
    pub fn new(octets: usize, manner: Manner) -> Self {
        Self {
            memory: BTreeMap::new(),
            bursts: vec![],
            beat_cycles: vec![],
            octets: octets as u64,
            rhythms: [manner.aw, manner.w, manner.b].map(Rhythm::new),
            manner,
            cycle: 0,
            offer: Offer {
                awready: false,
                wready: false,
                response: None,
            },
            held_address: None,
            held_beat: None,
            open: VecDeque::new(),
            open_beats: 0,
            early: VecDeque::new(),
            responses: VecDeque::new(),
        }
    }

    /// What the memory drives in this cycle.
    pub fn offer(&mut self, rng: &mut Rng) -> Offer {
        let [aw, w, b] = &mut self.rhythms;
        let (awready, wready, starts) = (aw.go(rng), w.go(rng), b.go(rng));
        let due = self
            .responses
            .front()
            .filter(|(due, _)| *due <= self.cycle)
            .map(|(_, error)| *error);
        // a response that was not taken stays
        let response = due.filter(|_| starts || self.offer.response.is_some());
        self.offer = Offer {
            awready,
            wready,
            response,
        };
        self.offer
    }

    /// What the device drives in the same cycle.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn take(&mut self, wires: Wires, rng: &mut Rng) -> Result<(), Violation> {
        if let Some(held) = self
            .held_address
            .take()
            .filter(|held| wires.address != Some(*held))
        {
            let now = wires.address;
            return Err(Violation::Address { held, now });
        }
        if let Some(held) = self
            .held_beat
            .take()
            .filter(|held| wires.beat.as_ref() != Some(held))
        {
            let now = wires.beat;
            return Err(Violation::Beat { held, now });
        }
        if self.offer.response.is_some() && wires.ready {
            self.responses.pop_front();
            self.offer.response = None;
        }
        match wires.address {
            Some(burst) if self.offer.awready => self.address(burst)?,
            waiting => self.held_address = waiting,
        }
        match wires.beat {
            Some(beat) if self.offer.wready => {
                self.beat_cycles.push(self.cycle);
                self.early.push_back(beat);
            }
            waiting => self.held_beat = waiting,
        }
        while let (Some(burst), Some(_)) = (self.open.front().copied(), self.early.front()) {
            if let Some(beat) = self.early.pop_front() {
                self.beat(burst, &beat, rng)?;
            }
        }
        self.cycle += 1;
        Ok(())
    }

    /// Nothing is under way: all bursts have their beats and all responses are taken.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.open.is_empty()
            && self.early.is_empty()
            && self.responses.is_empty()
            && self.held_address.is_none()
            && self.held_beat.is_none()
    }

    fn address(&mut self, burst: Burst) -> Result<(), Violation> {
        let octets = (u64::from(burst.length) + 1) * self.octets;
        if !burst.address.is_multiple_of(self.octets) {
            return Err(Violation::Unaligned(burst));
        }
        if burst.address % 4096 + octets > 4096 {
            return Err(Violation::Crosses(burst));
        }
        self.bursts.push(burst);
        self.open.push_back(burst);
        Ok(())
    }

    fn beat(&mut self, burst: Burst, beat: &WriteBeat, rng: &mut Rng) -> Result<(), Violation> {
        let at = self.open_beats;
        let ends = at == u64::from(burst.length);
        if beat.last != ends {
            let last = beat.last;
            return Err(Violation::Last {
                burst,
                beat: at,
                last,
            });
        }
        if beat.strobes == 0 {
            return Err(Violation::Empty { burst, beat: at });
        }
        let error = self.manner.faulty.contains(&burst.address);
        let lanes = beat.octets.iter().enumerate();
        for (lane, octet) in lanes.filter(|(lane, _)| !error && beat.strobes >> lane & 1 == 1) {
            let address = burst.address + at * self.octets + lane as u64;
            self.memory.insert(address, *octet);
        }
        self.open_beats += 1;
        if ends {
            let due = self.cycle + 1 + rng.u64(self.manner.delay.clone());
            self.responses.push_back((due, error));
            self.open.pop_front();
            self.open_beats = 0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beat(strobes: u64, last: bool) -> Option<WriteBeat> {
        let octets = (0..8).collect();
        Some(WriteBeat {
            octets,
            strobes,
            last,
        })
    }

    fn address(address: u64, length: u8) -> Option<Burst> {
        Some(Burst { address, length })
    }

    /// Runs the cycles and gives back what the monitor says of them.
    fn judged(
        pace: Pace,
        cycles: &[(Option<Burst>, Option<WriteBeat>)],
    ) -> Result<WriteBus, Violation> {
        let mut rng = Rng::with_seed(1);
        let manner = Manner {
            aw: pace,
            w: pace,
            ..Manner::quick(2)
        };
        let mut bus = WriteBus::new(8, manner);
        for (address, beat) in cycles {
            bus.offer(&mut rng);
            let wires = Wires {
                address: *address,
                beat: beat.clone(),
                ready: true,
            };
            bus.take(wires, &mut rng)?;
        }
        Ok(bus)
    }

    #[test]
    fn writes_strobed_octets_and_answers() {
        let cycles = [
            (None, beat(0xc0, false)),
            (address(0xff0, 1), beat(0x01, true)),
            (None, None),
            (None, None),
        ];
        let mut bus = judged(Pace::Always, &cycles).unwrap();
        let written: Vec<_> = bus.memory.iter().map(|(a, o)| (*a, *o)).collect();
        assert_eq!(written, [(0xff6, 6), (0xff7, 7), (0xff8, 0)]);
        assert!(!bus.is_idle());
        assert_eq!(bus.offer(&mut Rng::with_seed(1)).response, Some(false));
    }

    #[test]
    fn sees_every_violation() {
        let never = Pace::Percent(0);
        let seen = |pace, cycles: &[_]| judged(pace, cycles).err().unwrap();
        let falls = [(address(0, 0), None), (None, None)];
        assert!(matches!(seen(never, &falls), Violation::Address { .. }));
        let changes = [(address(0, 0), None), (address(0, 1), None)];
        assert!(matches!(seen(never, &changes), Violation::Address { .. }));
        let falls = [(None, beat(1, true)), (None, None)];
        assert!(matches!(seen(never, &falls), Violation::Beat { .. }));
        let changes = [(None, beat(1, true)), (None, beat(1, false))];
        assert!(matches!(seen(never, &changes), Violation::Beat { .. }));

        let seen = |cycle| seen(Pace::Always, &[cycle]);
        assert!(matches!(
            seen((address(4, 0), None)),
            Violation::Unaligned(_)
        ));
        assert!(matches!(
            seen((address(0xff8, 1), None)),
            Violation::Crosses(_)
        ));
        assert!(matches!(
            seen((address(0, 0), beat(1, false))),
            Violation::Last { .. }
        ));
        assert!(matches!(
            seen((address(0, 1), beat(1, true))),
            Violation::Last { .. }
        ));
        assert!(matches!(
            seen((address(0, 0), beat(0, true))),
            Violation::Empty { .. }
        ));
    }
}
