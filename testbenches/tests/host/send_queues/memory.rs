//! Host memory behind an AXI4 read port with several bursts under way, answered in order, and a monitor of the port's rules.

use std::collections::VecDeque;
use std::ops::Range;

use fastrand::Rng;
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};

/// An address on AR and the beats less one.
pub type Address = (u64, u8);

/// How the memory behaves.
#[derive(Clone, Debug)]
pub struct Manner {
    /// Rhythm of ARREADY, and of RVALID.
    pub ar: Pace,
    pub r: Pace,
    /// Cycles between an address and its first beat, at random.
    pub delay: Range<u64>,
    /// Of a hundred bursts, how many are refused in one beat, and how many end too early.
    pub refused: u32,
    pub cut: u32,
}

impl Manner {
    /// Always ready; a burst's first beat comes `delay` + 1 cycles behind its address, or behind the last beat in front of it.
    pub const fn quick(delay: u64) -> Self {
        Self {
            ar: Pace::Always,
            r: Pace::Always,
            delay: delay..delay + 1,
            refused: 0,
            cut: 0,
        }
    }

    /// Slow, irregular, and often wrong.
    pub const fn rough() -> Self {
        Self {
            ar: Pace::Bursts(9),
            r: Pace::Percent(70),
            delay: 0..60,
            refused: 5,
            cut: 3,
        }
    }
}

/// A beat on R.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    pub octets: Vec<u8>,
    pub error: bool,
    pub last: bool,
}

/// A slot that a burst reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub stream: usize,
    pub number: u64,
    pub rest: bool,
}

struct Answer {
    due: u64,
    part: Part,
    failed: bool,
    beats: VecDeque<Beat>,
}

pub struct Memory {
    pub manner: Manner,
    lanes: usize,
    ar: Rhythm,
    r: Rhythm,
    arready: bool,
    offered: bool,
    held: Option<Address>,
    answers: VecDeque<Answer>,
}

impl Memory {
    pub fn new(lanes: usize, manner: Manner) -> Self {
        Self {
            lanes,
            ar: Rhythm::new(manner.ar),
            r: Rhythm::new(manner.r),
            manner,
            arready: false,
            offered: false,
            held: None,
            answers: VecDeque::new(),
        }
    }

    pub fn change(&mut self, manner: Manner) {
        self.ar = Rhythm::new(manner.ar);
        self.r = Rhythm::new(manner.r);
        self.manner = manner;
    }

    /// ARREADY, and R if valid, of this cycle.
    pub fn offer(&mut self, now: u64, rng: &mut Rng) -> (bool, Option<Beat>) {
        self.arready = self.ar.go(rng);
        let goes = self.r.go(rng) || self.offered;
        let front = self.answers.front().filter(|a| goes && a.due <= now);
        let beat = front.and_then(|answer| answer.beats.front().cloned());
        self.offered = beat.is_some();
        (self.arready, beat)
    }

    /// R, with RREADY: what the beat ends, and whether that has failed.
    pub fn take(&mut self, rready: bool) -> Option<(Part, bool)> {
        if !self.offered || !rready {
            return None;
        }
        self.offered = false;
        let answer = self.answers.front_mut()?;
        answer.beats.pop_front();
        if !answer.beats.is_empty() {
            return None;
        }
        self.answers
            .pop_front()
            .map(|answer| (answer.part, answer.failed))
    }

    /// AR, if valid; what is accepted of it. Valid addresses are stable, aligned, and stay in their slot.
    pub fn accept(&mut self, address: Option<Address>) -> Result<Option<Address>, String> {
        if let Some(held) = self.held.take()
            && address != Some(held)
        {
            return Err(format!(
                "AR was {held:x?}, not accepted, and is {address:x?}"
            ));
        }
        if let Some((at, length)) = address {
            let octets = (u64::from(length) + 1) * self.lanes as u64;
            if !at.is_multiple_of(self.lanes as u64) || at % 256 + octets > 256 {
                return Err(format!(
                    "{at:#x}, {length}: not aligned, or beyond its slot"
                ));
            }
        }
        if self.arready {
            return Ok(address);
        }
        self.held = address;
        Ok(None)
    }

    /// The answer to an accepted address.
    pub fn answer(&mut self, now: u64, part: Part, octets: &[u8], rng: &mut Rng) {
        let due = now + 1 + rng.u64(self.manner.delay.clone());
        let count = octets.len() / self.lanes;
        let refused = chance(rng, self.manner.refused).then(|| rng.usize(0..count));
        let cut = count > 1 && chance(rng, self.manner.cut);
        let count = if cut { rng.usize(1..count) } else { count };
        let beats = octets.chunks(self.lanes).take(count).enumerate();
        let mut beats: VecDeque<Beat> = beats
            .map(|(index, octets)| {
                let error = refused == Some(index);
                let octets = octets.iter().map(|o| if error { !o } else { *o });
                Beat {
                    octets: octets.collect(),
                    error,
                    last: index + 1 == count,
                }
            })
            .collect();
        let failed = cut || beats.iter_mut().any(|beat| beat.error);
        self.answers.push_back(Answer {
            due,
            part,
            failed,
            beats,
        });
    }

    pub fn is_idle(&self) -> bool {
        self.answers.is_empty() && self.held.is_none()
    }
}
