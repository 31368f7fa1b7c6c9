//! Host memory at the AXI master's port: what may be read, what is read, and what is written.

use warpline_regmap::transmit::SLOT_OCTETS;

use super::super::common::memory_octet;
use super::super::plan::Memory;
use super::state::{QUEUE, Read, Result, Run};

/// Boundary that no burst crosses.
const PAGE: u64 = 4096;
/// Bursts of reads that the memory accepts at a time.
const READS: usize = 40;

impl Run<'_> {
    /// A burst of beats from here on may be read now.
    pub(super) fn is_readable(&self, address: u64, beats: u64) -> bool {
        let beat = self.beat as u64;
        let from = address;
        let Some(last) = address.checked_add(beats * beat - 1) else {
            return false;
        };
        let streams = self
            .streams
            .iter()
            .flatten()
            .filter(|current| current.readable);
        streams.into_iter().any(|current| {
            let ring = current.life.ring;
            let within = |start: u64, octets: u64| {
                let end = (start + octets - 1) / beat * beat + beat - 1;
                start / beat * beat <= from && last <= end
            };
            let known = current
                .judge
                .known
                .iter()
                .filter(|known| known.registered && known.gone.is_none());
            within(ring, u64::from(current.life.entries) * SLOT_OCTETS)
                || current.is_request(from, last)
                || known
                    .into_iter()
                    .any(|known| within(known.region.address, known.region.length))
        })
    }

    /// The words of a beat, and whether the bus refuses it.
    fn memory(&self, address: u64) -> ([u32; 16], bool) {
        let mut words = [0; 16];
        let count = self.beat / 4;
        for current in self.streams.iter().flatten() {
            let ring = current.life.ring;
            let octets = u64::from(current.life.entries) * SLOT_OCTETS;
            if (ring..ring + octets).contains(&address) {
                let at = address - ring;
                let slot = &current.slots[(at / SLOT_OCTETS) as usize];
                let Some((slot, unread)) = slot else {
                    return (words, false);
                };
                let from = (at % SLOT_OCTETS) as usize / 4;
                words[..count].copy_from_slice(&slot[from..from + count]);
                if *unread {
                    words = words.map(|word| !word);
                }
                return (words, *unread);
            }
            if let Some(unread) = current.request_words(address, &mut words[..count]) {
                if unread {
                    words = words.map(|word| !word);
                }
                return (words, unread);
            }
        }
        for (index, word) in words[..count].iter_mut().enumerate() {
            let from = address + 4 * index as u64;
            *word = u32::from_le_bytes(std::array::from_fn(|i| memory_octet(from + i as u64)));
        }
        let memories = self
            .streams
            .iter()
            .flatten()
            .flat_map(|current| &current.life.regions);
        let refuses = |memory: &Memory| memory.faulty.contains(&address);
        let refused = memories.into_iter().any(refuses);
        if refused {
            words = words.map(|word| !word);
        }
        (words, refused)
    }

    pub(super) fn drive_memory(&mut self) {
        let p = self.ports;
        let rng = &mut self.rng;
        let ar = self.rhythms.ar.go(rng) && self.bursts.reads.len() < READS;
        let r = self.rhythms.r.go(rng);
        let aw = self.rhythms.aw.go(rng) && self.bursts.addresses.len() < 8;
        let w = self.rhythms.w.go(rng) && self.bursts.written.len() < 64;
        let b = self.rhythms.b.go(rng);
        self.model.set(p.m_axi_arready, ar.into());
        self.model.set(p.m_axi_awready, aw.into());
        self.model.set(p.m_axi_wready, w.into());
        let b = self.bursts.responses > 0 && (b || self.bursts.b_held);
        self.bursts.b_held = b;
        self.model.set(p.m_axi_bvalid, b.into());
        let front = self.bursts.reads.front().copied();
        let front = front.filter(|read| self.bursts.r_held || r && self.cycle >= read.due);
        self.model.set(p.m_axi_rvalid, front.is_some().into());
        if let Some(read) = front
            && !self.bursts.r_held
        {
            let (words, refused) = self.memory(read.address);
            self.model.set_words(p.m_axi_rdata, &words[..self.beat / 4]);
            self.model.set(p.m_axi_rresp, 2 * u64::from(refused));
            self.model.set(p.m_axi_rlast, u64::from(read.left == 1));
        }
        self.bursts.r_held = front.is_some();
    }

    pub(super) fn sample_reads(&mut self) -> Result<()> {
        let p = self.ports;
        let beat = self.beat as u64;
        if self.passes(p.m_axi_rvalid, p.m_axi_rready) {
            self.bursts.r_held = false;
            self.moved = self.cycle;
            if let Some(read) = self.bursts.reads.front_mut() {
                read.address += beat;
                read.left -= 1;
                if read.left == 0 {
                    self.bursts.reads.pop_front();
                }
            }
        }
        if self.get(p.m_axi_arvalid) == 1 {
            let address = self.get(p.m_axi_araddr);
            let beats = self.get(p.m_axi_arlen) + 1;
            let crosses = address % PAGE + beats * beat > PAGE;
            if !address.is_multiple_of(beat) || crosses || !self.is_readable(address, beats) {
                return Err(self.wrong(format!("a read of {beats} beats at {address:#x}")));
            }
            if self.get(p.m_axi_arready) == 1 {
                let due = self.cycle + 1 + self.rng.u64(self.bursts.delay.clone());
                self.bursts.reads.push_back(Read {
                    address,
                    left: beats,
                    due,
                });
                self.moved = self.cycle;
            }
        }
        Ok(())
    }

    pub(super) fn sample_writes(&mut self) -> Result<()> {
        let p = self.ports;
        if self.passes(p.m_axi_bvalid, p.m_axi_bready) {
            self.bursts.responses -= 1;
            self.bursts.b_held = false;
        }
        if self.passes(p.m_axi_awvalid, p.m_axi_awready) {
            let burst = (self.get(p.m_axi_awaddr), self.get(p.m_axi_awlen) + 1);
            self.bursts.addresses.push_back(burst);
        }
        if self.passes(p.m_axi_wvalid, p.m_axi_wready) {
            self.bursts.written.push_back((
                self.model.to_words(p.m_axi_wdata),
                self.get(p.m_axi_wstrb),
                self.get(p.m_axi_wlast) == 1,
            ));
        }
        while let Some((address, left)) = self
            .bursts
            .write_at
            .or_else(|| self.bursts.addresses.pop_front())
        {
            self.bursts.write_at = Some((address, left));
            let Some((words, strobes, last)) = self.bursts.written.pop_front() else {
                break;
            };
            self.moved = self.cycle;
            let beat = address - address % self.beat as u64;
            for lane in (0..self.beat).filter(|lane| strobes >> lane & 1 == 1) {
                let octet = (words[lane / 4] >> (8 * (lane % 4))) as u8;
                self.store(beat + lane as u64, octet)?;
            }
            if last != (left == 1) {
                return Err(self.wrong(format!("a burst of writes at {address:#x}: {left} left")));
            }
            self.bursts.write_at = (!last).then_some((beat + self.beat as u64, left - 1));
            self.bursts.responses += u64::from(last);
        }
        Ok(())
    }

    fn store(&mut self, address: u64, found: u8) -> Result<()> {
        if let Some(at) = address.checked_sub(QUEUE)
            && let Some(octet) = self.completions.queue.get_mut(at as usize)
        {
            *octet = found;
            return Ok(());
        }
        let mut streams = self.streams.iter_mut().flatten();
        if let Some(fits) = streams.find_map(|current| current.store_request(address, found)) {
            return match fits {
                true => Ok(()),
                false => Err(self.wrong(format!(
                    "{found:#x} is written to {address:#x}, a buffer of a Read Request"
                ))),
            };
        }
        let mut streams = self.streams.iter().flatten();
        let sink = streams.any(|current| {
            let from = current.life.sink.address;
            (from..from + 16).contains(&address)
        });
        match sink && found == memory_octet(address) {
            true => Ok(()),
            false => Err(self.wrong(format!("{found:#x} is written to {address:#x}"))),
        }
    }
}
