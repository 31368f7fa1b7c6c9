//! The host: rings, slots, doorbells, and the end of a ring.

use crate::model::{Ring, Stream, Wrong, base};
use crate::slots::{self, Octets};
use crate::support::Rig;

impl<const W: usize, const K: usize, const S: usize> Rig<W, K, S> {
    /// Sets a ring; whether it was accepted.
    pub fn give(&mut self, stream: u8, base: u64, entries: u32) -> Result<bool, Wrong> {
        let memory = (0..entries).map(|_| slots::noise(&mut self.rng)).collect();
        let refused = self.refused_sets;
        let ring = Ring {
            base,
            entries,
            memory,
        };
        self.set = Some((stream, ring));
        for _ in 0..500 {
            self.cycle()?;
            if self.set.is_none() {
                return Ok(self.refused_sets == refused);
            }
        }
        Err(format!("no answer to the ring of {stream}"))
    }

    /// Gives every stream a ring.
    pub fn give_all(&mut self, entries: u32) -> Result<(), Wrong> {
        for stream in 0..S as u8 {
            let given = self.give(stream, base(stream.into()), entries)?;
            assert!(given, "a ring for {stream}");
        }
        Ok(())
    }

    /// Slots that the host may write.
    pub fn room(&self, stream: usize) -> usize {
        let model = &self.streams[stream];
        let ring = model.ring.as_ref().filter(|_| model.open);
        ring.map_or(0, |ring| {
            (u64::from(ring.entries) - (model.written - model.consumed)) as usize
        })
    }

    /// Writes a slot.
    pub fn write(&mut self, stream: usize, octets: Octets) {
        let model = &mut self.streams[stream];
        if let Some(ring) = &mut model.ring {
            let place = model.written as usize % ring.memory.len();
            ring.memory[place] = octets;
            model.written += 1;
        }
    }

    /// Announces all slots that are written.
    pub fn ring(&mut self, stream: usize) {
        let written = self.streams[stream].written as u16;
        self.doorbells.push_back((stream as u8, written));
    }

    pub fn is_drained(&self) -> bool {
        self.doorbells.is_empty() && self.streams.iter().all(Stream::is_done)
    }

    /// Runs until all announced slots are popped and all streams are idle.
    pub fn drain(&mut self) -> Result<(), Wrong> {
        for _ in 0..200_000 {
            if self.is_drained() {
                self.run(8 * S as u64 + 16)?;
                let idle = |s: usize| self.sim.block.idle[s].val();
                return match (0..S).find(|s| !idle(*s)) {
                    Some(stream) => Err(format!("{stream} is not idle")),
                    None => Ok(()),
                };
            }
            self.cycle()?;
        }
        Err(format!("not drained: {:?}", self.streams))
    }

    /// Freezes, drains and detaches a stream.
    pub fn close(&mut self, stream: usize) -> Result<(), Wrong> {
        self.doorbells.retain(|(of, _)| usize::from(*of) != stream);
        self.freeze = Some(stream as u8);
        self.run(2)?;
        let limit = self.now() + 20_000;
        while !self.sim.block.idle[stream].val() {
            self.cycle()?;
            if self.now() > limit {
                return Err(format!("{stream} is never idle"));
            }
        }
        self.detach = Some(stream as u8);
        self.cycle()
    }
}
