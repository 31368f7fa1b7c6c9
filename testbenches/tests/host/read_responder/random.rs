//! Random peers, hosts and memories.

use fastrand::Rng;
use warpline_hdl::host::read_responder::slots::SLOTS;
use warpline_regmap::layout::{completion, kind};
use warpline_regmap::transmit::{kind as send_kind, read_responder};
use warpline_testbenches::lockstep::on_large_stack;
use warpline_testbenches::read_bus::Manner;
use warpline_testbenches::stimulus::{Pace, chance};
use warpline_wire::rdmap::ReadRequest;

use crate::model::{Given, Op, Region, Stream, Wrong};
use crate::support::Rig;

/// The memory of the random runs: several reads under way, in blocks of their own.
pub fn rough() -> Manner {
    Manner {
        ar: Pace::Bursts(9),
        r: Pace::Percent(70),
        delay: 0..60,
        bursts: 16,
        block: 64,
        ..Manner::quick(0)
    }
}

pub fn quick(delay: u64) -> Manner {
    Manner {
        bursts: 16,
        block: 64,
        ..Manner::quick(delay)
    }
}

/// A request whose Data Sink runs past 2^64.
pub const WRAPS: u8 = 7;
/// The way of [`Rig::ask_wrongly`] whose buffer the bus refuses to read.
pub const REFUSED: u8 = 6;
/// The ways of [`Rig::ask_wrongly`] that name memory which may not be read.
pub const FORBIDDEN: std::ops::Range<u8> = 8..15;

pub fn random_request(rng: &mut Rng) -> ReadRequest {
    let size = match rng.u8(0..4) {
        0 => 0,
        1 => u32::MAX,
        _ => rng.u32(..),
    };
    ReadRequest {
        sink_stag: rng.u32(..),
        sink_to: match rng.u8(0..4) {
            0 => 0_u64.wrapping_sub(size.into()), // the end is 2^64
            1 => rng.u64(..1 << 63) | 0xFFFF_FFFF,
            _ => rng.u64(..1 << 63),
        },
        size,
        source_stag: rng.u32(..),
        source_to: rng.u64(..1 << 63),
    }
}

impl<const W: usize, const K: usize, const S: usize> Rig<W, K, S> {
    /// Switches a responder on, at a place of its own, with all buffers announced.
    pub fn switch_on(&mut self, stream: usize) -> Result<(), Wrong> {
        self.quiet_input()?;
        let rng = &mut self.rng;
        let place = match rng.u8(0..3) {
            0 => (rng.u64(1..1 << 30) << 32).wrapping_sub(64 * rng.u64(0..16)), // a carry into the high half
            _ => rng.u64(..) & !(1 << 63),
        };
        let base = (place & !(0xF << 58) | (stream as u64) << 58) & !63;
        // the MSN behind 2^32 - 1 is 0
        let first = match rng.u8(0..3) {
            0 => 0_u32.wrapping_sub(rng.u32(0..9)),
            _ => rng.u32(..),
        };
        let old = &self.streams[stream];
        let fresh = Stream {
            base,
            domain: rng.u16(..),
            entries: 1 << rng.u32(4..=15),
            first,
            sent: 0,
            credit: SLOTS as u32,
            popped_at: old.popped_at,
            to_host: old.to_host.clone(),
            lives: old.lives,
            ..Stream::default()
        };
        let words = fresh.arguments(stream as u8);
        let domain = fresh.domain;
        self.streams[stream] = fresh;
        let announced = rng.u16(..);
        self.doorbells.push_back((stream as u8, 1, announced));
        self.run(1)?;
        self.op = Some(Op::Set {
            stream: stream as u8,
            words,
            domain,
            legal: true,
        });
        self.settle_op()
    }

    pub fn settle_op(&mut self) -> Result<(), Wrong> {
        for _ in 0..4000 {
            self.cycle()?;
            if self.op.is_none() {
                return Ok(());
            }
        }
        Err(format!("{:?} is not done", self.op))
    }

    /// An entry of the table that allows the request; often no larger than it has to be.
    pub fn allow(&mut self, stream: usize, request: &ReadRequest) -> &mut Region {
        let rng = &mut self.rng;
        let slack = if rng.bool() { 0 } else { u64::MAX };
        let in_front = rng.u64(..=request.source_to & slack);
        let base = request.source_to - in_front;
        let least = in_front + u64::from(request.size);
        let most = match (slack, base) {
            (0, _) => least,
            (_, 0) => u64::MAX,
            _ => base.wrapping_neg(), // up to 2^64
        };
        let region = Region {
            valid: true,
            stag: request.source_stag,
            domain: self.streams[stream].domain,
            only: rng.bool().then_some(stream as u8),
            readable: true,
            base,
            octets: rng.u64(least..=most.max(least)),
        };
        let slot = request.source_stag >> 8;
        self.table.insert(slot, region);
        self.table.get_mut(&slot).expect("it was put there")
    }

    /// A Read Request of the peer, in its buffer, and the event that reports it.
    pub fn ask(&mut self, stream: usize, request: &ReadRequest) -> [u32; completion::WORDS] {
        self.allow(stream, request);
        let model = &mut self.streams[stream];
        let msn = model.first.wrapping_add(model.sent);
        model.sent += 1;
        model.credit -= 1;
        let address = model.address(msn);
        let mut line = [0; 64];
        self.rng.fill(&mut line);
        line[..28].copy_from_slice(&request.emit());
        self.memory.borrow_mut().insert(address / 64, line);
        self.poisoned.remove(&address);
        let mut words = [0; completion::WORDS];
        completion::KIND.put(&mut words, kind::UNTAGGED.into());
        completion::STREAM.put(&mut words, stream as u64);
        completion::QUEUE.put(&mut words, 1);
        completion::MSN.put(&mut words, msn.into());
        completion::LENGTH.put(&mut words, 28);
        completion::RSVD_ULP_LOW.put(&mut words, self.rng.u32(..).into());
        let rsvd = self.rng.u64(0..4) << 4;
        completion::RSVD_ULP_FIRST.put(&mut words, 0x41 | rsvd);
        words
    }

    pub fn give(&mut self, words: [u32; completion::WORDS]) {
        self.events.push_back(Given { words, seq: 0 });
    }

    /// A request that is wrong in one way: [`FORBIDDEN`] are those that name what may not be read.
    pub fn ask_wrongly(&mut self, stream: usize, wrong: u8) {
        let mut request = random_request(&mut self.rng);
        if wrong == WRAPS {
            request.size = self.rng.u32(2..);
            let size = u64::from(request.size);
            let beyond = [1, size - 1, self.rng.u64(1..size)];
            let beyond = beyond[self.rng.usize(0..3)];
            request.sink_to = beyond.wrapping_sub(size);
        }
        if wrong > WRAPS {
            request.size = request.size.max(2);
            request.source_to = request.source_to.max(1);
        }
        if wrong == 14 {
            // Data Source runs past 2^64, and no region does
            let size = u64::from(request.size);
            request.source_to = self.rng.u64(1..size).wrapping_neg();
        }
        let mut words = if wrong == 14 {
            let within = ReadRequest {
                size: request.source_to.wrapping_neg() as u32,
                ..request
            };
            let words = self.ask(stream, &request);
            self.allow(stream, &within).base = 0;
            let region = self.table.get_mut(&(request.source_stag >> 8));
            region.expect("it was put there").octets = u64::MAX;
            words
        } else {
            self.ask(stream, &request)
        };
        let mut at = self.rng.u32(..);
        let region = self.table.get_mut(&(request.source_stag >> 8));
        let region = region.expect("it was put there");
        match wrong {
            8 => region.valid = false,
            9 => region.stag ^= 1 << (at % 8), // its key
            10 => region.domain ^= 1 << (at % 16),
            11 => region.only = Some((stream as u8) ^ (1 << (at % 8))),
            12 => region.readable = false,
            13 => {
                // an octet is missing, at one end or at the other one
                region.octets = request.size.into();
                region.octets -= 1;
                at &= 1;
                region.base = request.source_to + u64::from(at);
            }
            _ => {}
        }
        match wrong {
            0 => completion::LENGTH.put(&mut words, 27),
            1 => completion::LENGTH.put(&mut words, 28 ^ (1 << self.rng.u64(0..32))),
            2 => completion::RSVD_ULP_FIRST.put(&mut words, 0x01),
            3 => completion::RSVD_ULP_FIRST.put(&mut words, 0x43),
            4 => completion::HOLE.put(&mut words, 1),
            5 => completion::ANOMALY.put(&mut words, 1),
            REFUSED => {
                let msn = completion::MSN.get(&words) as u32;
                self.poisoned.insert(self.streams[stream].address(msn));
            }
            _ => {}
        }
        self.give(words);
    }

    /// Any other event.
    pub fn other(&mut self) {
        let rng = &mut self.rng;
        let mut words = [0; completion::WORDS];
        words.fill_with(|| rng.u32(..));
        completion::PHASE.put(&mut words, 0);
        completion::STREAM.put(&mut words, rng.u64(0..S as u64));
        let kinds = [
            kind::TAGGED,
            kind::UNTAGGED,
            kind::UNTAGGED,
            kind::UNTAGGED,
            send_kind::SEND,
            if chance(rng, 10) {
                kind::ERROR
            } else {
                kind::TAGGED
            },
            if chance(rng, 10) {
                kind::CLOSED
            } else {
                kind::TAGGED
            },
        ];
        let chosen = kinds[rng.usize(0..kinds.len())];
        completion::KIND.put(&mut words, chosen.into());
        let queues = [0, 2, 3, 0x101, 0x8000_0001, 0xFFFF_FFFE];
        if chosen == kind::UNTAGGED {
            completion::QUEUE.put(&mut words, queues[rng.usize(0..queues.len())]);
        } else if rng.bool() {
            completion::QUEUE.put(&mut words, 1);
        }
        self.give(words);
    }

    /// A request of a stream that never had a responder, or has none any more.
    fn ask_the_host(&mut self, stream: usize) {
        if !self.streams[stream].lives {
            let mut words = [0; completion::WORDS];
            completion::KIND.put(&mut words, kind::UNTAGGED.into());
            completion::STREAM.put(&mut words, stream as u64);
            completion::QUEUE.put(&mut words, 1);
            completion::MSN.put(&mut words, self.rng.u32(..).into());
            completion::LENGTH.put(&mut words, 28);
            completion::RSVD_ULP_FIRST.put(&mut words, 0x41);
            self.give(words);
        }
    }

    /// A set that is refused.
    fn refused_set(&mut self) -> Result<(), Wrong> {
        let stream = self.rng.usize(0..S);
        let model = Stream {
            base: self.rng.u64(..) & !63,
            entries: 16,
            ..Stream::default()
        };
        let mut words = model.arguments(stream as u8);
        if self.streams[stream].on && self.rng.bool() {
            // on already
        } else {
            match self.rng.u8(0..4) {
                0 => read_responder::ENTRIES_LOG.put(&mut words, self.rng.u64(0..4)),
                1 => read_responder::ENTRIES_LOG.put(&mut words, self.rng.u64(16..256)),
                2 => read_responder::BASE.put(&mut words, model.base | 1 << self.rng.u64(0..6)),
                _ => {
                    let beyond = self.rng.u64(S as u64..256);
                    read_responder::STREAM.put(&mut words, beyond);
                    read_responder::ON.put(&mut words, self.rng.u64(0..2));
                }
            }
        }
        let stream = read_responder::STREAM.get(&words) as u8;
        self.op = Some(Op::Set {
            stream,
            words,
            domain: 0,
            legal: false,
        });
        self.settle_op()
    }

    pub fn close(&mut self, stream: usize) -> Result<(), Wrong> {
        self.quiet_input()?;
        self.op = Some(Op::Close {
            stream: stream as u8,
            begun: None,
        });
        self.settle_op()
    }

    /// Until no event is with the block or on its way to it.
    fn quiet_input(&mut self) -> Result<(), Wrong> {
        while !self.events.is_empty() || self.offered.is_some() {
            self.cycle()?;
        }
        self.run(6)
    }
}

/// All that may happen, mixed.
pub fn mixture<const W: usize, const K: usize, const S: usize>(
    rig: &mut Rig<W, K, S>,
    rounds: u32,
) -> Result<(), Wrong> {
    let paces = [
        Pace::Always,
        Pace::Percent(60),
        Pace::Bursts(12),
        Pace::Percent(25),
    ];
    for round in 0..rounds {
        rig.pace(paces[round as usize % 4]);
        for _ in 0..60 {
            let stream = rig.rng.usize(0..S);
            match rig.rng.u8(0..100) {
                0..55 if rig.streams[stream].on && rig.streams[stream].credit > 0 => {
                    let request = random_request(&mut rig.rng);
                    let words = rig.ask(stream, &request);
                    rig.give(words);
                }
                0..5 => rig.ask_the_host(stream),
                55..57 if rig.streams[stream].lives && rig.streams[stream].credit > 0 => {
                    let wrong = rig.rng.u8(0..15);
                    rig.ask_wrongly(stream, wrong);
                }
                57..60 if rig.streams[stream].lives && rig.streams[stream].credit > 0 => {
                    // also behind one that went to the host
                    let request = random_request(&mut rig.rng);
                    let words = rig.ask(stream, &request);
                    rig.give(words);
                }
                60..80 => rig.other(),
                80..82 => rig.fence_now = true,
                82..84 => {
                    let queue = rig.rng.u8(2..5);
                    let value = rig.rng.u16(..);
                    rig.doorbells.push_back((stream as u8, queue, value));
                }
                84..86 => {
                    let value = rig.rng.u16(..);
                    rig.doorbells.push_back((stream as u8, 1, value));
                }
                86 => rig.refused_set()?,
                87 if rig.streams[stream].on => {
                    // later ones are the host's
                    rig.quiet_input()?;
                    let mut words = rig.streams[stream].arguments(stream as u8);
                    read_responder::ON.put(&mut words, 0);
                    rig.op = Some(Op::Set {
                        stream: stream as u8,
                        words,
                        domain: 0,
                        legal: true,
                    });
                    rig.settle_op()?;
                }
                88 if rig.streams[stream].lives => rig.close(stream)?,
                89..94 if !rig.streams[stream].lives => rig.switch_on(stream)?,
                _ => rig.run(4)?,
            }
        }
        rig.finish()?;
        let hosts = rig.streams.iter().any(|s| !s.to_host.is_empty());
        assert!(!hosts);
        // optional ones that have passed
        rig.to_ask.clear();
    }
    Ok(())
}

fn random<const W: usize, const K: usize, const S: usize>(seed: u64, rounds: u32) {
    let mut rig = Rig::<W, K, S>::new(rough(), seed);
    mixture(&mut rig, rounds).unwrap_or_else(|wrong| panic!("{W} bits, seed {seed}: {wrong}"));
    let counts = [
        rig.answered,
        rig.to_host,
        rig.fences,
        rig.refused_sets,
        rig.given_back,
    ];
    assert!(
        rig.answered > 200 && counts.iter().all(|count| *count > 8),
        "{counts:?}"
    );
}

// req: DDP-UNT-12, DDP-SEC-19
#[test]
fn requests_are_answered_and_all_else_passes_at_64_bits() {
    random::<64, 8, 4>(1, 60);
}

// req: DDP-UNT-12, DDP-SEC-19
#[cfg(feature = "every-width")]
#[test]
fn requests_are_answered_and_all_else_passes_at_128_bits() {
    random::<128, 16, 4>(2, 60);
}

// req: DDP-UNT-12, DDP-SEC-19
#[cfg(feature = "every-width")]
#[test]
fn requests_are_answered_and_all_else_passes_at_256_bits() {
    on_large_stack(|| random::<256, 32, 4>(3, 60));
}

// req: DDP-UNT-12, DDP-SEC-19
#[test]
fn requests_are_answered_and_all_else_passes_at_512_bits() {
    on_large_stack(|| random::<512, 64, 4>(5, 60));
}

/// Bursts that end too early or too late are failures, whatever they hold.
#[test]
fn bursts_of_a_wrong_length_go_to_the_host() {
    let manner = Manner {
        wrong_ends: 3,
        ..rough()
    };
    let mut rig = Rig::<64, 8, 4>::new(manner, 6);
    mixture(&mut rig, 60).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert!(rig.bus.wrong_ends.len() > 5 && rig.answered > 100);
}
