//! Random traffic: streams, regions, messages, and commands in between.

use super::bench::*;
use super::stimulus::*;
use fastrand::Rng;
use rust_hdl_core::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use warpline_hdl::Config;
use warpline_hdl::rx::ddp::check::CheckCommand;
use warpline_regmap::layout::{self, receive_buffer};
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};
use warpline_wire::receive::Scope;

/// What the host and the peers would do: mostly right, sometimes not.
pub struct Traffic {
    pub domains: Vec<u32>,
    /// Domains are this one, or one bit away from it.
    pub home: u32,
    pub queues: Vec<BTreeMap<u32, Message>>,
    pub regions: Vec<Region>,
    /// Peers fill one queue of each stream, mostly in a window, and do little wrong.
    pub calm: bool,
}

/// Where a peer is in an untagged queue.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// The first message that is not sent.
    pub msn: u32,
    /// Messages sent before it.
    pub number: usize,
    /// Octets sent of it and those behind it.
    pub offsets: BTreeMap<u32, u32>,
    /// Those whose last segment is sent.
    pub sent: BTreeSet<u32>,
}

impl Traffic {
    pub fn new<const S: usize>() -> Self {
        Self {
            domains: vec![0; S],
            home: 0xa35c,
            queues: vec![BTreeMap::new(); S],
            regions: vec![],
            calm: false,
        }
    }

    /// A protection domain: often that of others, else all but one of its 16 bits.
    fn domain(&self, rng: &mut Rng) -> u32 {
        match rng.bool() {
            true => self.home,
            false => self.home ^ 1 << rng.u32(0..16),
        }
    }

    pub fn length(rng: &mut Rng) -> u32 {
        match rng.u8(0..10) {
            0 => 0,
            1 => 1,
            2 => rng.u32(0xff00..=0xffff),
            _ => rng.u32(1..2000),
        }
    }

    /// Arms a frozen stream of which nothing is under way, as `control` takes care of.
    pub fn arm<const S: usize>(&mut self, bench: &mut Bench<S>) {
        let stream = bench.rng.usize(0..S);
        if bench.model.streams[stream].open || bench.undecided(stream) || arming(bench) {
            return;
        }
        let rng = &mut bench.rng;
        let queues = rng.u32(0..256) | rng.u32(0..16);
        let domain = self.domain(rng);
        let first_msns = [1, 1, 0xffff_fffe, rng.u32(..)];
        let first_msn = first_msns[rng.usize(0..4)];
        let calm = self.calm;
        let queues = if calm { 0b1 } else { queues };
        let options = Options {
            tagged_completions: chance(rng, 70),
            strict_mo: chance(rng, 12),
            msn_window: calm && chance(rng, 90),
        };
        let order = arm_with(stream as u32, domain, options, queues, first_msn);
        bench
            .promises
            .retain(|promise| usize::from(promise.0.0) != stream);
        self.domains[stream] = domain;
        let message = Message {
            msn: first_msn,
            ..Message::default()
        };
        let present = (0..bench.model.config.queues as u32).filter(|q| queues >> q & 1 == 1);
        self.queues[stream] = present.map(|q| (q, message.clone())).collect();
        bench.orders.push_back(order);
    }

    pub fn command<const S: usize>(&mut self, bench: &mut Bench<S>) {
        let stream = bench.rng.usize(0..S);
        let rng = &mut bench.rng;
        let order = match rng.u8(0..24) {
            0..=13 => {
                let wild = chance(rng, 5);
                let known: Vec<u32> = self.queues[stream].keys().copied().collect();
                let known = rng.choice(known).filter(|_| !wild);
                let queue = known.unwrap_or_else(|| rng.u32(0..256) & rng.u32(0..256));
                let target = if wild { rng.u32(0..256) } else { stream as u32 };
                let length = Self::length(rng) * rng.u32(1..4);
                let address = rng.u64(..) | (u64::from(rng.bool()) * 0xffff_f000);
                post(target, queue, length, address)
            }
            14..=17 => {
                let length = u64::from(Self::length(rng)) << rng.u8(0..3);
                let base = match rng.u8(0..6) {
                    0 => 0,
                    1 | 5 => length.wrapping_neg(),
                    2 => rng.u64(..) << 32 | u64::from(length.wrapping_neg() as u32),
                    3 => (rng.u64(..) << 32).wrapping_sub(rng.u64(0..=length)),
                    _ => rng.u64(..),
                };
                let stream = stream as u32;
                // one bit apart, where there is such a stream
                let apart = stream ^ 1 << rng.u32(0..8);
                let other = if rng.bool() {
                    apart
                } else {
                    rng.u32(0..S as u32)
                };
                let region = Region {
                    stag: rng.u32(0..24) << 8 | rng.u32(0..2) | rng.u32(0..2) << 30,
                    scope: match rng.u8(0..6) {
                        0 => Scope::ProtectionDomain(self.domain(rng)),
                        1 => Scope::Stream {
                            stream: other,
                            protection_domain: self.domains[stream as usize],
                        },
                        2 => Scope::Stream {
                            stream,
                            protection_domain: self.domains[stream as usize] ^ 1 << rng.u8(0..16),
                        },
                        3 => Scope::Stream {
                            stream,
                            protection_domain: self.domains[stream as usize],
                        },
                        _ => Scope::ProtectionDomain(self.domains[stream as usize]),
                    },
                    remote_write: chance(rng, 90),
                    base,
                    length,
                    address: rng.u64(..) | (u64::from(rng.bool()) * 0xffff_f000),
                };
                self.regions.push(region);
                write_stag(region)
            }
            18 => {
                let known = rng.usize(0..self.regions.len().max(1));
                let stag = self.regions.get(known).map_or(0, |region| region.stag);
                revoke_stag(stag)
            }
            19 if chance(rng, 20) => freeze(rng.u32(0..S as u32 + 2)),
            20 if chance(rng, 20) => arm(rng.u32(S as u32..256), 7, true, 1, 1),
            _ => fence(),
        };
        bench.orders.push_back(order);
    }

    pub fn tagged<const S: usize>(&mut self, bench: &mut Bench<S>, stream: usize) -> Fpdu {
        let rng = &mut bench.rng;
        let control = 0x81 | rng.u8(..) & 0x40 | rng.u8(..) & rng.u8(..) & 0x3c;
        let usable = |region: &Region| {
            let here = match region.scope {
                Scope::ProtectionDomain(domain) => domain == self.domains[stream],
                Scope::Stream {
                    stream: only,
                    protection_domain,
                } => only as usize == stream && protection_domain == self.domains[stream],
            };
            here && region.remote_write && region.length > 0
        };
        let live: Vec<Region> = bench.model.slots.iter().flatten().copied().collect();
        let good: Vec<Region> = live.iter().copied().filter(usable).collect();
        let pool = if chance(rng, 95) { &good } else { &live };
        let Some(region) = rng.choice(pool).copied() else {
            let header = tagged_header(control, rng.u8(..), rng.u32(..), rng.u64(..));
            return fpdu(rng, stream as u32, &header, 0);
        };
        let mut length = u64::from(Self::length(rng)).min(region.length);
        let mut offset = match rng.u8(0..4) {
            0 => 0,
            1 => region.length - length,
            _ => rng.u64(0..=region.length - length),
        };
        let mut stag = region.stag;
        if chance(rng, 10) {
            match rng.u8(0..5) {
                0 => offset = offset.wrapping_add(rng.u64(0..3)).wrapping_sub(1),
                1..=2 => {
                    offset = region.length - length;
                    length += rng.u64(1..3);
                }
                3 => stag ^= 1 << rng.u8(0..32),
                _ => offset = rng.u64(..),
            }
        }
        let to = region.base.wrapping_add(offset);
        let header = tagged_header(control, rng.u8(..), stag, to);
        fpdu(
            rng,
            stream as u32,
            &header,
            length.min(0xffff - 14) as usize,
        )
    }

    pub fn untagged<const S: usize>(
        &mut self,
        bench: &mut Bench<S>,
        stream: usize,
    ) -> Option<Fpdu> {
        let rng = &mut bench.rng;
        let queues: Vec<u32> = self.queues[stream].keys().copied().collect();
        let mut queue = *rng.choice(&queues)?;
        let message = self.queues[stream].get_mut(&queue)?;
        let posted = bench.model.streams[stream].queues.get(&queue)?;
        let key = (stream as u8, queue as u8);
        let coming = bench.promises.iter().filter(|promise| promise.0 == key);
        let coming = coming.map(|(_, order, _)| receive_buffer::LENGTH.get(&order.words) as u32);
        let mut lengths = posted.lengths.iter().copied().chain(coming);
        let Options {
            msn_window,
            strict_mo,
            ..
        } = bench.model.streams[stream].options;
        let ahead = if msn_window { rng.u32(0..4) } else { 0 };
        let msn = message.msn.wrapping_add(ahead);
        let offset = message.offsets.get(&msn).copied().unwrap_or(0);
        let capacity = lengths.nth(message.number + ahead as usize);
        if capacity.is_none() && (self.calm || chance(rng, 97)) {
            return None;
        }
        let room = capacity.unwrap_or(1) - offset.min(capacity.unwrap_or(0));
        let mut length = Self::length(rng).min(room);
        let moved = chance(rng, 30) && !(self.calm && strict_mo && chance(rng, 90));
        if moved {
            length /= 2;
        }
        let last = chance(rng, 60);
        message.offsets.insert(msn, offset + length);
        if last {
            message.sent.insert(msn);
        }
        while message.sent.remove(&message.msn) {
            message.msn = message.msn.wrapping_add(1);
            message.number += 1;
        }
        let (mut msn, mut offset) = (msn, offset);
        if moved {
            // elsewhere in the buffer: a hole, or octets that come twice
            offset = rng.u32(0..=capacity.unwrap_or(length).max(length) - length);
        }
        if chance(rng, if self.calm { 1 } else { 20 }) {
            match rng.u8(0..6) {
                0 => msn = msn.wrapping_add(1),
                1 => msn = msn.wrapping_sub(1),
                2 => queue ^= 1 << rng.u8(0..32),
                3 => length = room + rng.u32(1..3),
                4 => offset = room.wrapping_add(offset).wrapping_add(rng.u32(0..2)),
                _ => offset = rng.u32(..) | 0xffff_0000,
            }
        }
        let rsvd_ulp = std::array::from_fn(|_| rng.u8(..));
        let control = 0x01 | u8::from(last) << 6 | rng.u8(..) & rng.u8(..) & 0x3c;
        let header = untagged_header(control, rsvd_ulp, queue, msn, offset);
        Some(fpdu(
            rng,
            stream as u32,
            &header,
            length.min(0xffff - 18) as usize,
        ))
    }

    /// A doorbell for a queue of an open stream, and the buffer some time later.
    pub fn promise<const S: usize>(&mut self, bench: &mut Bench<S>) {
        if chance(&mut bench.rng, 3) && bench.promises.len() < 3 && !arming(bench) {
            let stream = bench.rng.usize(0..S);
            let queues: Vec<u32> = self.queues[stream].keys().copied().collect();
            let queue = bench.rng.choice(&queues).copied();
            let length = Self::length(&mut bench.rng);
            if let Some(queue) = queue.filter(|_| bench.model.streams[stream].open) {
                let address = bench.rng.u64(..);
                bench.promise(stream as u32, queue, length, address);
            }
        }
        let front = bench.promises.front().map(|(_, order, _)| *order);
        let queued = |order: &Order| bench.orders.contains(order);
        if chance(&mut bench.rng, 2) && front.is_some_and(|order| !queued(&order)) {
            bench.keep_promise();
        }
    }

    pub fn fpdu<const S: usize>(&mut self, bench: &mut Bench<S>) {
        let stream = bench.rng.usize(0..S);
        let frozen = !bench.model.streams[stream].open;
        if arming(bench) || (frozen && chance(&mut bench.rng, 95)) {
            return;
        }
        let fpdu = if bench.rng.bool() && !self.calm {
            Some(self.tagged(bench, stream))
        } else {
            self.untagged(bench, stream)
        };
        let Some(mut fpdu) = fpdu else { return };
        let rng = &mut bench.rng;
        let segment = &mut fpdu.segment;
        match rng.u8(0..100) {
            _ if self.calm => {}
            0 => {
                // the runs of other shapes are too short for ends
                let most = if S == 4 {
                    layout::refused::BEHIND_FIN
                } else {
                    layout::refused::CLOSED - 1
                };
                segment.refused = u64::from(rng.u32(1..=most)).into();
            }
            1 => fpdu.verdict.good = false,
            2 => fpdu.verdict.marker_wrong = true,
            3 => segment.ulpdu = u64::from(rng.u16(0..19)).into(),
            6..=9 => {
                segment.header_0 = segment.header_0 ^ bits::<32>(u64::from(rng.u32(1..4)) << 8)
            }
            5 => {
                segment.refused = u64::from(rng.u8(0..3)).into();
                fpdu.verdict.marker_wrong = rng.bool();
                fpdu.verdict.good = rng.bool();
                segment.header_0 = segment.header_0 ^ bits::<32>(u64::from(rng.u32(0..4)) << 8);
            }
            _ => {}
        }
        let is_end = segment.refused >= u64::from(layout::refused::CLOSED);
        if chance(rng, 20) && !is_end {
            // octets in front are missing when it comes first; it comes once more when they are there
            let mut ahead = fpdu;
            ahead.segment.ahead = true;
            fpdu.segment.placed = rng.bool();
            if fpdu.segment.placed {
                (fpdu.verdict.good, fpdu.segment.refused) = (rng.bool(), 0.into());
            }
            bench.send(ahead);
        }
        bench.send(fpdu);
    }
}

/// A stream is about to be armed.
pub fn arming<const S: usize>(bench: &Bench<S>) -> bool {
    let running = bench.running.as_ref().map(|(order, _)| order);
    let mut orders = bench.orders.iter().chain(running);
    orders.any(|order| order.command == CheckCommand::Arm)
}

pub fn random_run<const S: usize>(
    config: Config,
    seed: u64,
    cycles: u64,
    plant: Option<Plant>,
) -> Result<Seen, Wrong> {
    let traffic = Traffic::new::<S>();
    run_of(traffic, Bench::<S>::new(config, seed), cycles, plant)
}

/// Peers that do little wrong, and use their windows.
pub fn calm_run(seed: u64, cycles: u64, plant: Option<Plant>) -> Result<Seen, Wrong> {
    let mut traffic = Traffic::new::<4>();
    traffic.calm = true;
    let bench = Bench::<4>::new(config(4, 16, 4, 4), seed);
    run_of(traffic, bench, cycles, plant)
}

pub fn run_of<const S: usize>(
    mut traffic: Traffic,
    mut bench: Bench<S>,
    cycles: u64,
    plant: Option<Plant>,
) -> Result<Seen, Wrong> {
    bench.plant = plant;
    let paces = [
        Pace::Always,
        Pace::Percent(50),
        Pace::Percent(30),
        Pace::Bursts(60),
    ];
    while bench.lockstep.cycles() < cycles {
        let mut pace = || Rhythm::new(*bench.rng.choice(&paces).unwrap());
        bench.segment_pace = pace();
        bench.verdict_pace = pace();
        bench.command_pace = pace();
        bench.ready_pace = pace();
        for _ in 0..800 {
            if bench.segments.len() < 20 && chance(&mut bench.rng, 30) {
                traffic.fpdu(&mut bench);
            }
            if bench.orders.len() < 3 && chance(&mut bench.rng, 5) {
                traffic.command(&mut bench);
            }
            if chance(&mut bench.rng, 20) {
                traffic.arm(&mut bench);
            }
            // the runs of other shapes are too short to wait in
            if S == 4 {
                traffic.promise(&mut bench);
            }
            if bench.fault.is_none() && chance(&mut bench.rng, 1) && chance(&mut bench.rng, 30) {
                let stream = bench.rng.usize(0..S);
                if bench.model.streams[stream].open {
                    bench.fault_of_read = bench.rng.bool();
                    bench.raise_fault(stream);
                }
            }
            bench.cycle()?;
        }
        bench.drain()?;
        bench.compare_records()?;
    }
    Ok(bench.seen)
}
