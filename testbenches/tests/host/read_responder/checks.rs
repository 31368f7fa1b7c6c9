//! What the block does in a cycle, compared with the model.

use num_bigint::BigUint;
use warpline_hdl::host::read_responder::UNDER_WAY;
use warpline_hdl::host::read_responder::slots::{POP_LATENCY, SLOTS};
use warpline_regmap::layout::completion;
use warpline_regmap::transmit::SendRequest;
use warpline_testbenches::read_bus::{Burst, Offer};

use crate::model::{Flying, Given, Op, Plant, Wrong, response};
use crate::support::{Reading, Rig};

impl<const W: usize, const K: usize, const S: usize> Rig<W, K, S> {
    /// An event that is accepted, and a fence.
    pub fn check_event(&mut self) -> Result<(), Wrong> {
        let now = self.now();
        let b = &self.sim.block;
        let takes = b.s_valid.val() && b.s_ready.val();
        let fences = b.s_fence.val();
        if takes && let Some(given) = self.offered.take() {
            self.accepted.push(now);
            self.accept(given);
        }
        if fences {
            self.fence = Some(self.seq);
            self.fence_now = false;
        }
        Ok(())
    }

    fn accept(&mut self, mut given: Given) {
        given.seq = self.seq;
        self.seq += 1;
        let model = &mut self.streams[given.stream()];
        if !given.is_request() || !model.lives {
            return self.passing.push_back(given);
        }
        let msn = completion::MSN.get(&given.words) as u32;
        let address = model.address(msn);
        let line = self.memory.borrow().get(&(address / 64)).copied();
        let length = completion::LENGTH.get(&given.words) as usize;
        let control = completion::RSVD_ULP_FIRST.get(&given.words) as u8;
        let flags = [completion::HOLE, completion::ANOMALY].map(|flag| flag.get(&given.words));
        // RFC 5040 §4.1: version 1, Rsv is not checked, opcode 1
        let well_formed = length == 28 && control & 0xCF == 0x41 && flags == [0, 0];
        let of_it = |flying: &&Flying| flying.given.stream() == given.stream() && !flying.optional;
        let flying = self.flying.iter().chain(&self.to_ask).filter(of_it).count();
        let room = flying + model.slots.len() < SLOTS;
        let request = line.filter(|_| well_formed && room && model.on);
        let request =
            request.and_then(|line| warpline_wire::rdmap::ReadRequest::parse(&line[..28]).ok());
        let optional = !model.on;
        if optional {
            model.to_host.insert(given.seq, given.clone());
        }
        let stream = given.stream() as u8;
        let model = &self.streams[given.stream()];
        let allowed = request.filter(|request| {
            let region = self.table.get(&(request.source_stag >> 8));
            request.size == 0 || region.is_some_and(|r| r.allows(request, stream, model.domain))
        });
        self.to_ask.push_back(Flying {
            due: allowed.and_then(|request| response(&request, msn)),
            given,
            address,
            optional,
        });
    }

    /// `m_event`, `m_fence`.
    pub fn check_output(&mut self) -> Result<(), Wrong> {
        let now = self.now();
        let b = &self.sim.block;
        if b.m_fence.val() {
            let Some(seq) = self.fence else {
                return Err("a fence that nobody sent".into());
            };
            if let Some(in_front) = self.in_front_of(seq) {
                return Err(format!("the fence passes {in_front:?}"));
            }
            self.fences += 1;
            if self.plant != Some(Plant::FenceKept) || self.fences != 3 {
                self.fence = None;
            }
        }
        let b = &self.sim.block;
        if b.m_valid.val() {
            let mut event = BigUint::from(b.m_event.val());
            if self.plant == Some(Plant::EventChanged) {
                event.set_bit(200, true);
            }
            let mut words = event.to_u32_digits();
            words.resize(completion::WORDS, 0);
            if self.held.is_none() {
                self.held = Some(now);
            }
            if !b.m_ready.val() {
                return Ok(());
            }
            self.out.push(self.held.take().unwrap_or(now));
            let is = |given: &Given| given.words[..] == words[..];
            let stream = completion::STREAM.get(&words) as usize;
            if let Some(model) = self.streams.get_mut(stream)
                && let Some(first) = model.to_host.first_entry()
                && is(first.get())
            {
                let seq = first.remove().seq;
                self.to_host += 1;
                let earlier =
                    |f: &&Flying| f.given.stream() == stream && f.given.seq < seq && !f.optional;
                let earlier = self.flying.iter().chain(&self.to_ask).find(earlier);
                return match earlier {
                    Some(earlier) => Err(format!("{words:x?} passes {earlier:?}")),
                    None => Ok(()),
                };
            }
            match self.passing.pop_front() {
                Some(given) if is(&given) => {
                    if given.ends_stream()
                        && let Some(in_front) = self.in_front_of(given.seq)
                    {
                        return Err(format!("the end {given:?} passes {in_front:?}"));
                    }
                }
                other => return Err(format!("{words:x?} is not {other:x?}")),
            }
        } else if self.held.is_some() {
            return Err("m_valid falls".into());
        }
        Ok(())
    }

    /// An event in front of `seq` that has not left.
    fn in_front_of(&self, seq: u64) -> Option<Given> {
        let flying = self.flying.iter().chain(&self.to_ask);
        let flying = flying.filter(|f| !f.optional).map(|f| &f.given);
        let hosts = self.streams.iter().flat_map(|s| s.to_host.values());
        let mut all = flying.chain(hosts).chain(&self.passing);
        all.find(|given| given.seq < seq).cloned()
    }

    pub fn check_bus(&mut self, offer: &Offer) -> Result<(), Wrong> {
        let now = self.now();
        let b = &self.sim.block;
        let constants = [
            b.m_axi.arsize.val().to_u64(),
            b.m_axi.arburst.val().to_u64(),
            b.m_axi.arcache.val().to_u64(),
            b.m_axi.arprot.val().to_u64(),
        ];
        if constants != [u64::from(K.ilog2()), 1, 2, 2] {
            return Err(format!("AR has {constants:?}"));
        }
        if !b.m_axi.rready.val() {
            return Err("R is not accepted".into());
        }
        let address = b.m_axi.arvalid.val().then(|| Burst {
            address: b.m_axi.araddr.val().to_u64(),
            length: b.m_axi.arlen.val().to_u8(),
        });
        if let Some(beat) = &offer.beat
            && beat.last
        {
            self.land()?;
        }
        self.bus.manner.faulty = 0..0;
        if let Some(burst) = address
            && self.poisoned.contains(&burst.address)
        {
            let from = burst.address + self.rng.u64(0..28);
            self.bus.manner.faulty = from..from + 1;
        }
        let accepted = self.bus.bursts.len();
        let taken = self.bus.take(address, true, &mut self.rng);
        taken.map_err(|violation| violation.to_string())?;
        if self.bus.bursts.len() > accepted
            && let Some(burst) = address
        {
            self.asked.push(now);
            loop {
                let Some(flying) = self.to_ask.pop_front() else {
                    return Err(format!("{burst:x?} is not due"));
                };
                if burst.address == flying.address {
                    self.flying.push_back(flying);
                    break;
                }
                if !flying.optional {
                    return Err(format!("{burst:x?} is not {flying:x?}"));
                }
            }
            let octets = (u64::from(burst.length) + 1) * K as u64;
            if octets != 32.max(K as u64) || self.flying.len() > UNDER_WAY {
                return Err(format!("{burst:x?}, {} under way", self.flying.len()));
            }
        }
        Ok(())
    }

    /// The oldest read is answered.
    fn land(&mut self) -> Result<(), Wrong> {
        let now = self.now();
        self.landed.push(now);
        let Some(flying) = self.flying.pop_front() else {
            return Err("a beat of no read".into());
        };
        let number = self.landed.len() - 1;
        let wrong = self.bus.wrong_ends.contains(&number);
        let failed = wrong || self.poisoned.contains(&flying.address);
        if flying.optional {
            return Ok(());
        }
        let model = &mut self.streams[flying.given.stream()];
        match flying.due.filter(|_| !failed && !model.broken) {
            Some(due) => model.slots.push_back((due, now)),
            None => {
                model.broken = true;
                model.on = false;
                model.to_host.insert(flying.given.seq, flying.given);
            }
        }
        Ok(())
    }

    /// Rows that were asked for; a slot is parsed when it is whole.
    pub fn check_rows(&mut self) -> Result<(), Wrong> {
        let Some((stream, row)) = self.shown.pop_front().flatten() else {
            return Ok(());
        };
        let octets = self.row();
        let reading = self
            .readings
            .iter_mut()
            .find(|reading| reading.stream == stream && reading.missing > 0);
        let Some(reading) = reading else {
            return Err("the bench reads a row of nothing".into());
        };
        for (at, word) in octets.as_chunks().0.iter().enumerate() {
            reading.slot[4 * usize::from(row) + at] = u32::from_le_bytes(*word);
        }
        reading.missing -= 1;
        Ok(())
    }

    pub fn check_heads(&mut self) -> Result<(), Wrong> {
        let now = self.now();
        // slots that are read, and were popped in an earlier cycle: in the cycle of its pop a head is high
        let popped = |reading: &Reading| reading.popped.is_some_and(|at| at < now);
        while let Some(at) = self
            .readings
            .iter()
            .position(|reading| reading.missing == 0 && popped(reading))
        {
            let Some(reading) = self.readings.remove(at) else {
                break;
            };
            let Some((due, _)) = self.streams[reading.stream].slots.pop_front() else {
                return Err(format!("{:?} is not due", reading.slot));
            };
            let found = SendRequest::parse(&reading.slot).map_err(|e| e.to_string())?;
            if found != due {
                return Err(format!("{found:x?} is not {due:x?}"));
            }
            self.answered += 1;
        }
        for stream in 0..S {
            let head = self.sim.block.head[stream].val();
            let model = &self.streams[stream];
            let read = self.readings.iter();
            let read = read.filter(|r| r.stream == stream && popped(r)).count();
            let there = model.slots.len() > read;
            let rests = model
                .popped_at
                .is_some_and(|at| now > at && now < at + POP_LATENCY as u64);
            if head && (!there || rests) {
                return Err(format!("head {stream} is high: {model:?}"));
            }
            if head && !self.heads[stream] {
                self.rose.push(now);
            }
            self.heads[stream] = head;
            let idle = self.sim.block.idle[stream].val();
            let flies = |f: &Flying| f.given.stream() == stream && !f.optional;
            if idle && (there || self.flying.iter().any(flies)) {
                return Err(format!("{stream} is idle: {model:?}"));
            }
        }
        Ok(())
    }

    /// Doorbells: what the host wrote last, and one for each response popped in that cycle or later.
    pub fn check_bell(
        &mut self,
        rung: Option<(u8, u8, u16)>,
        popped: Option<usize>,
    ) -> Result<(), Wrong> {
        let now = self.now();
        let b = &self.sim.block;
        let bell = b.bell.val();
        if bell && !self.bell_was {
            self.rang.push(now);
        }
        self.bell_was = bell;
        if bell && b.bell_ready.val() {
            let (stream, queue) = (b.bell_stream.val().to_u64(), b.bell_queue.val().to_u64());
            let value = b.bell_value.val().to_u16();
            let Some(model) = self.streams.get_mut(stream as usize) else {
                return Err(format!("a doorbell of stream {stream}"));
            };
            let count = value.wrapping_sub(model.rung);
            // a response popped while a value is computed may be in it, and in the next one
            let least = model.given_back.unwrap_or(0);
            model.bells += 1;
            let rings_too_often = model.bells > model.pops;
            if queue != 1 || count < least || count > model.popped || rings_too_often {
                return Err(format!("doorbell {value:#x} of queue {queue}: {model:x?}"));
            }
            let new = count - model.given_back.unwrap_or(0);
            model.credit += u32::from(new);
            self.given_back += u32::from(new);
            model.given_back = Some(count);
            self.bell_was = false;
        }
        if let Some((stream, 1, value)) = rung
            && let Some(model) = self.streams.get_mut(usize::from(stream))
        {
            // what was not given back before is in the host's value
            model.credit += u32::from(model.popped - model.given_back.unwrap_or(0));
            (model.rung, model.popped, model.given_back) = (value, 0, None);
        }
        if let Some(stream) = popped {
            let model = &mut self.streams[stream];
            model.popped_at = Some(now);
            model.popped += 1;
            model.pops += 1;
        }
        Ok(())
    }

    pub fn check_op(&mut self) -> Result<(), Wrong> {
        let now = self.now();
        let b = &self.sim.block;
        let (ready, failed) = (b.set_ready.val(), b.set_failed.val());
        match self.op.take() {
            Some(Op::Set {
                stream,
                words,
                domain,
                legal,
            }) => {
                if !ready {
                    self.op = Some(Op::Set {
                        stream,
                        words,
                        domain,
                        legal,
                    });
                    return Ok(());
                }
                if failed == legal {
                    return Err(format!("{words:x?} refused: {failed}"));
                }
                self.refused_sets += u32::from(failed);
                if let Some(model) = self.streams.get_mut(usize::from(stream))
                    && legal
                {
                    model.on = warpline_regmap::transmit::read_responder::ON.get(&words) == 1;
                    if model.on {
                        (model.broken, model.gives, model.lives) = (false, true, true);
                    }
                }
            }
            Some(Op::Close { stream, begun }) => {
                let waits = begun.is_none_or(|begun| now < begun + 4);
                if waits || !b.idle[usize::from(stream)].val() {
                    self.op = Some(Op::Close { stream, begun });
                    return Ok(());
                }
                let at = usize::from(stream);
                let flies = |f: &&Flying| f.given.stream() == at && !f.optional;
                let flying = self.flying.iter().chain(&self.to_ask).find(flies);
                let model = &mut self.streams[at];
                if flying.is_some() || !model.slots.is_empty() {
                    return Err(format!("{stream} is idle with {flying:?}: {model:?}"));
                }
                model.lives = !model.to_host.is_empty();
            }
            None if ready => return Err("set_ready without set".into()),
            None => {}
        }
        Ok(())
    }
}
