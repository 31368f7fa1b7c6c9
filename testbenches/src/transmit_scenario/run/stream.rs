//! What the host does with streams: from the arming to what must be true behind the close.

use std::collections::VecDeque;

use warpline_regmap::layout::{close, revoke, stag_entry, stream_context};
use warpline_regmap::register::command;
use warpline_regmap::transmit::{self, READ_BUFFER_OCTETS, emss, send_ring, transmit_context};
use warpline_wire::rdmap::queue;
use warpline_wire::send::{CrcField, FpduWriter};

use super::super::common::RING;
use super::super::judge::Judge;
use super::super::plan::{Fault, Life, Posting, Step};
use super::state::{Access, Current, Phase, Result, Run, What};
use crate::local_memory::Region;

impl Run<'_> {
    /// What the host does next for a stream number.
    pub(super) fn host(&mut self, number: usize) -> Result<()> {
        let Some(current) = &mut self.streams[number] else {
            if let Some(life) = self.waiting[number].pop_front() {
                self.begin(number, life);
            }
            return Ok(());
        };
        if current.accesses > 0 {
            return Ok(());
        }
        match current.phase {
            Phase::SetUp => current.phase = Phase::Running,
            Phase::Running if current.pause > 0 => {
                current.pause -= 1;
                self.moved = self.cycle;
            }
            Phase::Running => return self.next_step(number),
            Phase::Checking => self.close(number),
            Phase::Closing => current.phase = Phase::Resolving,
            Phase::Resolving => {
                let offered = self.tcp.offer.is_some_and(|(of, _)| of == number);
                let arriving = self.arrivals.iter().any(|arrival| arrival.number == number);
                let current = &self.streams[number].as_ref().expect("it is there");
                let resolved = current.pending.len() == current.refused;
                let told = self.completions.told == self.completions.consumer;
                if !offered && !arriving && resolved && told {
                    self.finish(number)?;
                }
            }
            Phase::Tidying => self.streams[number] = None,
        }
        Ok(())
    }

    fn begin(&mut self, number: usize, life: Life) {
        let buffers = life
            .reads
            .map_or(0, |reads| reads.entries() * READ_BUFFER_OCTETS);
        let judge = Judge::new(number as u8, &life, self.spoil);
        self.streams[number] = Some(Current {
            steps: life.steps.iter().cloned().collect(),
            slots: vec![None; life.entries as usize],
            buffers: vec![0; buffers],
            judge,
            phase: Phase::SetUp,
            pause: 0,
            accesses: 0,
            produced: 0,
            readable: true,
            edge: 0,
            asked: 0,
            acknowledged: 0,
            measuring: false,
            measured: None,
            pending: VecDeque::new(),
            refused: 0,
            peer: FpduWriter::new(false, CrcField::Computed),
            life: life.clone(),
        });
        let regions = life.regions.iter().filter(|memory| memory.registered);
        let regions: Vec<Region> = regions.map(|memory| memory.region).collect();
        for (region, remote) in regions.iter().map(|r| (r, 0)).chain([(&life.sink, 1)]) {
            self.write_stag(number, region, remote);
        }
        let stream = number as u64;
        let queues = u64::from(life.reads.is_some()) << queue::READ_REQUEST;
        let first_msn = life.reads.map_or(1, |reads| reads.first_msn);
        self.give(
            number,
            What::SetUp,
            command::ARM_STREAM,
            stream_context::WORDS,
            &[
                (stream_context::STREAM, stream),
                (stream_context::CRC, 1),
                (stream_context::PROTECTION_DOMAIN, life.domain.into()),
                (stream_context::SEQUENCE_START, life.peer_start.into()),
                (stream_context::QUEUES, queues),
                (stream_context::FIRST_MSN, first_msn.into()),
            ],
        );
        // A doorbell is no command: one follows it, so that the peer sends behind the doorbell. Without a responder the ring has none.
        let without = life.reads.is_some_and(|place| !place.on);
        let reads_first = self.rng.bool() || without;
        if reads_first {
            self.set_up_reads(number);
        }
        let ring_first = self.rng.bool();
        for ring in [ring_first, !ring_first] {
            match ring {
                true => self.give(
                    number,
                    What::SetUp,
                    transmit::SET_SEND_RING,
                    send_ring::WORDS,
                    &[
                        (send_ring::STREAM, stream),
                        (send_ring::ENTRIES, life.entries.into()),
                        (send_ring::BASE, life.ring),
                    ],
                ),
                false => self.give(
                    number,
                    What::SetUp,
                    transmit::ARM_TRANSMIT,
                    transmit_context::WORDS,
                    &[
                        (transmit_context::STREAM, stream),
                        (transmit_context::MARKERS, life.markers.into()),
                        (transmit_context::CRC, life.crc.into()),
                        (transmit_context::GATE, life.gate.into()),
                        (transmit_context::EMSS, life.emss.into()),
                        (transmit_context::SEQUENCE_START, life.start.into()),
                        (transmit_context::FIRST_MSN, life.first_msn.into()),
                    ],
                ),
            }
        }
        if !reads_first {
            self.set_up_reads(number);
        }
    }

    fn write_stag(&mut self, number: usize, region: &Region, remote: u64) {
        let scope = region.stream.map_or((0, 0), |stream| (1, stream.into()));
        self.give(
            number,
            What::SetUp,
            command::WRITE_STAG,
            stag_entry::WORDS,
            &[
                (stag_entry::STAG, region.stag.into()),
                (stag_entry::PROTECTION_DOMAIN, region.domain.into()),
                (stag_entry::STREAM_SCOPE, scope.0),
                (stag_entry::STREAM, scope.1),
                (stag_entry::REMOTE_WRITE, remote),
                (
                    transmit::REMOTE_READ,
                    u64::from(region.remote_read == Some(true)),
                ),
                (stag_entry::BASE, region.base),
                (stag_entry::LENGTH, region.length),
                (stag_entry::ADDRESS, region.address),
            ],
        );
    }

    fn next_step(&mut self, number: usize) -> Result<()> {
        let current = self.streams[number].as_mut().expect("it is there");
        let Some(step) = current.steps.pop_front() else {
            let arrives = self.arrivals.iter().any(|arrival| arrival.number == number);
            let all = current.judge.is_done()
                && !arrives
                && current.pending.is_empty()
                && !current.measuring
                && current.edge as usize == current.judge.judged;
            if current.life.abort && !all {
                self.coverage.count("close under way");
                self.close(number);
            } else if all {
                current.phase = Phase::Checking;
                current.accesses += 1;
                self.registers.commands.push_back(Access::State(number, 0));
            }
            return Ok(());
        };
        match step {
            Step::Pause(cycles) => current.pause = cycles,
            Step::Post(postings) => self.post(number, &postings),
            Step::SetEmss(value) => {
                let fields = [
                    (emss::STREAM, number as u64),
                    (emss::EMSS, u64::from(value)),
                ];
                let what = What::Emss(value);
                self.give(number, what, transmit::SET_EMSS, emss::WORDS, &fields);
            }
            Step::Revoke(index) => {
                let stag = current.life.regions[index].region.stag;
                self.revoke(number, What::Revoke(index), stag);
            }
            Step::Peer(wrong) => self.peer(number, wrong)?,
            Step::Ask(asks, together) => self.asks(number, asks, together)?,
            Step::ResponderOff => self.set_responder(number, What::ResponderOff, false),
        }
        Ok(())
    }

    /// Writes as many slots as the ring has room for, and rings; the rest is a step to come.
    fn post(&mut self, number: usize, postings: &[Posting]) {
        let current = self.streams[number].as_mut().expect("it is there");
        let used = current.judge.announced() - current.judge.consumed();
        let room = (current.life.entries as usize).saturating_sub(used);
        let (now, later) = postings.split_at(room.min(postings.len()));
        if !later.is_empty() {
            current.steps.push_front(Step::Post(later.to_vec()));
            if !now.is_empty() {
                self.coverage.count("send ring full");
            }
        }
        if now.is_empty() {
            // behind a closed gate nothing is consumed
            let peer = current
                .steps
                .iter()
                .position(|s| matches!(s, Step::Peer(_) | Step::Ask(..)));
            if !current.judge.open {
                match peer.and_then(|at| current.steps.remove(at)) {
                    Some(step) => current.steps.push_front(step),
                    None => current.steps.clear(),
                }
            }
            return;
        }
        for posting in now {
            let at = usize::from(current.produced) % current.slots.len();
            current.slots[at] = Some((posting.slot, posting.fault == Fault::Unread));
            current.produced = current.produced.wrapping_add(1);
        }
        if usize::from(current.produced) > current.slots.len() {
            self.coverage.count("send ring wraps");
        }
        current.accesses += 1;
        let doorbell = Access::Doorbell(number, now.to_vec());
        self.registers.doorbells.push_back(doorbell);
    }

    fn revoke(&mut self, number: usize, what: What, stag: u32) {
        let fields = [(revoke::STAG, u64::from(stag))];
        self.give(number, what, command::REVOKE_STAG, revoke::WORDS, &fields);
    }

    fn close(&mut self, number: usize) {
        if let Some(current) = &mut self.streams[number] {
            current.phase = Phase::Closing;
        }
        let fields = [(close::STREAM, number as u64)];
        self.give(
            number,
            What::Close,
            command::CLOSE_STREAM,
            close::WORDS,
            &fields,
        );
    }

    /// The life is over: what must be true of it.
    fn finish(&mut self, number: usize) -> Result<()> {
        let mut current = self.streams[number].take().expect("it is there");
        self.tcp.sends.retain(|send| send.number != number);
        let judged = current.judge.end(&mut self.coverage);
        judged.map_err(|what| self.wrong(format!("stream {number}: {what}")))?;
        self.outcome.sequences += 1;
        self.outcome.requests += current.judge.announced() as u64;
        self.outcome.octets += current.judge.octets.len() as u64;
        if u64::from(current.life.start) + current.judge.octets.len() as u64 > 1 << 32 {
            self.coverage.count("sequence numbers wrap");
        }
        if current.judge.octets.len() > RING {
            self.coverage.count("transmit ring wraps");
        }
        if current.judge.octets.len() > 1 << 20 {
            self.coverage.count("1 MiB");
        }
        current.phase = Phase::Tidying;
        let known = current.judge.known.iter().enumerate();
        let left = known.filter(|(_, known)| known.registered && known.revoked.is_none());
        let stags: Vec<_> = left.map(|(i, known)| (i, known.region.stag)).collect();
        let (tidy, sink) = (current.life.tidy, current.life.sink.stag);
        self.streams[number] = Some(current);
        if tidy {
            for (index, stag) in stags {
                self.revoke(number, What::Revoke(index), stag);
            }
            self.revoke(number, What::SetUp, sink);
        }
        Ok(())
    }
}
