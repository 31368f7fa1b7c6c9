//! Host memory.

use warpline_regmap::transmit::SLOT_OCTETS;

use super::{
    DESCRIPTORS, PART, QUEUE, REQUESTS, RINGS, RateError, Run, SINK, SOURCE, octet, reads,
};

impl Run<'_> {
    /// Cycles behind the one where the latency begins.
    pub(super) fn since_start(&self) -> Option<i64> {
        let start = self.start?;
        Some(self.cycle as i64 - start as i64)
    }

    /// What memory holds: slots, octets of messages, Read Requests and what their buffers are.
    pub(super) fn memory(&self, address: u64) -> u32 {
        if (RINGS..SOURCE).contains(&address) {
            let (stream, at) = ((address - RINGS) / PART, (address - RINGS) % PART);
            let slot = self
                .streams
                .get(stream as usize)
                .and_then(|stream| stream.slots.get((at / SLOT_OCTETS) as usize));
            return slot.map_or(0, |slot| slot[(at % SLOT_OCTETS) as usize / 4]);
        }
        if address >= DESCRIPTORS {
            return reads::descriptor_word(address);
        }
        if address >= REQUESTS {
            return self.request_word(address);
        }
        let octets: [u8; 4] = std::array::from_fn(|i| {
            let address = address + i as u64;
            octet(address) ^ u8::from(self.wrong_octet == Some(address))
        });
        u32::from_le_bytes(octets)
    }

    pub(super) fn drive_memory(&mut self) {
        let p = self.ports;
        self.model
            .set(p.m_axi_bvalid, u64::from(self.responses > 0));
        let front = self.reads.front().copied();
        self.model.set(p.m_axi_rvalid, front.is_some().into());
        if let Some((address, left)) = front {
            let mut data = [0; 16];
            for (lane, word) in data.iter_mut().take(self.beat / 4).enumerate() {
                *word = self.memory(address + 4 * lane as u64);
            }
            self.model.set_words(p.m_axi_rdata, &data[..self.beat / 4]);
            self.model.set(p.m_axi_rlast, u64::from(left == 1));
        }
    }

    pub(super) fn sample_reads(&mut self) -> Result<(), RateError> {
        let p = self.ports;
        let mut asked = !self.reads.is_empty();
        if self.get(p.m_axi_rvalid) & self.get(p.m_axi_rready) == 1
            && let Some((address, left)) = self.reads.pop_front()
        {
            if left > 1 {
                let next = (address + self.beat as u64, left - 1);
                self.reads.push_front(next);
            }
            let now = self.since_start();
            match address {
                ..SOURCE => self.stations.slot_read = now,
                SOURCE..SINK => self.stations.payload_read = now,
                REQUESTS..DESCRIPTORS => self.read_stations.request_read = now,
                _ => {}
            }
        }
        if self.get(p.m_axi_arvalid) == 1 {
            let address = self.get(p.m_axi_araddr);
            let reads = self.workload.reads() && address >= REQUESTS;
            let known = (RINGS..SINK).contains(&address) || reads;
            if !address.is_multiple_of(self.beat as u64) || !known {
                return Err(self.wrong(format!("a read at {address:#x}")));
            }
            let beats = self.get(p.m_axi_arlen) + 1;
            self.reads.push_back((address, beats));
            let now = self.since_start();
            let asked_at = match address {
                ..SOURCE => Some(&mut self.stations.slot_asked),
                SOURCE..SINK => Some(&mut self.stations.payload_asked),
                REQUESTS..DESCRIPTORS => Some(&mut self.read_stations.request_asked),
                _ => None,
            };
            if let Some(asked_at) = asked_at {
                *asked_at = asked_at.or(now);
            }
            asked |= self.get(p.m_axi_rvalid) == 0;
        }
        let waits = asked && self.get(p.m_axi_rvalid) == 0;
        if waits && self.start.is_some() && self.first.is_none() {
            self.starved += 1;
        }
        Ok(())
    }

    pub(super) fn sample_writes(&mut self) -> Result<(), RateError> {
        let p = self.ports;
        if self.get(p.m_axi_bvalid) & self.get(p.m_axi_bready) == 1 {
            self.responses -= 1;
            let now = self.since_start();
            let answered = &mut self.read_stations.write_answered;
            *answered = answered.or(now);
        }
        if self.get(p.m_axi_awvalid) == 1 {
            let burst = (self.get(p.m_axi_awaddr), self.get(p.m_axi_awlen) + 1);
            self.addresses.push_back(burst);
        }
        if self.get(p.m_axi_wvalid) == 1 {
            self.written.push_back((
                self.model.to_words(p.m_axi_wdata),
                self.get(p.m_axi_wstrb),
                self.get(p.m_axi_wlast) == 1,
            ));
        }
        while let Some((address, left)) = self.write_at.or_else(|| self.addresses.pop_front()) {
            self.write_at = Some((address, left));
            let Some((words, strobes, last)) = self.written.pop_front() else {
                break;
            };
            let beat = address - address % self.beat as u64;
            for lane in (0..self.beat).filter(|lane| strobes >> lane & 1 == 1) {
                let octet = (words[lane / 4] >> (8 * (lane % 4))) as u8;
                self.store(beat + lane as u64, octet)?;
            }
            if last != (left == 1) {
                return Err(self.wrong(format!("a burst of writes at {address:#x}: {left} left")));
            }
            self.write_at = (!last).then_some((beat + self.beat as u64, left - 1));
            self.responses += u64::from(last);
            if last {
                let now = self.since_start();
                let written = &mut self.read_stations.request_written;
                *written = written.or(now);
            }
        }
        Ok(())
    }

    pub(super) fn store(&mut self, address: u64, found: u8) -> Result<(), RateError> {
        if (SINK..QUEUE).contains(&address) {
            self.placed += 1;
            return match found == octet(address) {
                true => Ok(()),
                false => Err(self.wrong(format!("{found:#x} is written to {address:#x}"))),
            };
        }
        if address >= REQUESTS {
            return self.store_request(address, found);
        }
        let entry = address
            .checked_sub(QUEUE)
            .and_then(|at| self.queue.get_mut((at / 32) as usize));
        match entry {
            Some(entry) => {
                entry[(address % 32) as usize] = found;
                Ok(())
            }
            None => Err(self.wrong(format!("a write to {address:#x}"))),
        }
    }
}
