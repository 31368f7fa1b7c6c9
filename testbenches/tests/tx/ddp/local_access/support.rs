//! The bench: what goes in, what is due, and when it came.

use std::collections::{BTreeMap, VecDeque};

use fastrand::Rng;
use num_bigint::BigUint;
use rust_hdl_core::prelude::Bits;
use warpline_hdl::records::{LocalPiece, Piece};
use warpline_hdl::tables::stag_table::{self, StagEntry};
use warpline_hdl::tx::ddp::local_access::{LATENCY, LocalAccess, RESET};
use warpline_regmap::register::stag_slot;
use warpline_regmap::transmit::status;
pub use warpline_testbenches::local_memory::Region;
use warpline_testbenches::local_memory::{Range, bus_address};
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};

/// Cycles without any progress after which a bench gives up.
pub const PATIENCE: usize = 500;

/// Slots of the table.
pub const SLOTS: u32 = 64;

/// A piece of a segment.
#[derive(Clone, Debug)]
pub enum Part {
    Memory { stag: u32, offset: u64, length: u16 },
    Content(Vec<u8>),
}

#[derive(Clone, Debug)]
pub struct Segment {
    pub stream: u8,
    pub domain: u16,
    pub parts: Vec<Part>,
    /// Status with which the last part says that the segment is not sent.
    pub refused: u32,
    /// Its memory is read for the peer.
    pub remote: bool,
}

pub type Table = BTreeMap<u32, Region>;

/// The status of a segment, and what leaves if it passes: each piece without what has no meaning in it.
pub fn judged(table: &Table, segment: &Segment) -> (u32, Vec<Piece>) {
    let mut due = vec![];
    for (index, part) in segment.parts.iter().enumerate() {
        let last = index + 1 == segment.parts.len();
        if last && segment.refused != status::OK {
            return (segment.refused, vec![]);
        }
        due.push(match part {
            Part::Memory {
                stag,
                offset,
                length,
            } => {
                let region = table.get(&stag_slot(*stag, SLOTS));
                let range = Range {
                    stag: *stag,
                    offset: *offset,
                    length: u64::from(*length),
                    remote: segment.remote,
                };
                let address = match bus_address(region, segment.stream, segment.domain, range) {
                    Ok(address) => address,
                    Err(status) => return (status, vec![]),
                };
                Piece {
                    memory: true,
                    length: u64::from(*length).into(),
                    content: address.into(),
                    last,
                }
            }
            Part::Content(octets) => Piece {
                memory: false,
                length: (octets.len() as u64).into(),
                content: content(octets),
                last,
            },
        });
    }
    (status::OK, due)
}

pub fn content(octets: &[u8]) -> Bits<144> {
    let mut content = Bits::default();
    for (lane, octet) in octets.iter().enumerate() {
        content.set_bits::<8>(8 * lane, u64::from(*octet).into());
    }
    content
}

/// The piece as it comes in, with noise where nothing is said.
pub fn record(segment: &Segment, index: usize, rng: &mut Rng) -> LocalPiece {
    let mut record = noise(rng);
    record.stream = u64::from(segment.stream).into();
    record.protection_domain = u64::from(segment.domain).into();
    record.last = index + 1 == segment.parts.len();
    if record.last {
        record.refused = u64::from(segment.refused).into();
    }
    match &segment.parts[index] {
        Part::Memory {
            stag,
            offset,
            length,
        } => {
            record.memory = true;
            record.remote = segment.remote;
            let content = (BigUint::from(*offset) << 32_u32) | BigUint::from(*stag);
            let above: BigUint = stimulus::wide(rng, 48) << 96_u32;
            record.content = BigUint::into(content | above);
            record.length = u64::from(*length).into();
        }
        Part::Content(octets) => {
            record.memory = false;
            record.length = (octets.len() as u64).into();
            record.content = content(octets);
        }
    }
    record
}

pub fn noise(rng: &mut Rng) -> LocalPiece {
    LocalPiece {
        stream: stimulus::bits(rng),
        protection_domain: stimulus::bits(rng),
        memory: chance(rng, 50),
        length: stimulus::bits(rng),
        content: stimulus::bits(rng),
        last: chance(rng, 50),
        refused: stimulus::bits(rng),
        remote: chance(rng, 50),
    }
}

/// When inputs are offered and outputs accepted.
#[derive(Clone, Copy, Debug)]
pub struct Paces {
    pub offer: Pace,
    pub pieces: Pace,
    pub verdicts: Pace,
}

pub const ALWAYS: Paces = Paces {
    offer: Pace::Always,
    pieces: Pace::Always,
    verdicts: Pace::Always,
};

/// Cycles in which something came.
#[derive(Debug, Default)]
pub struct Seen {
    pub accepted: Vec<usize>,
    pub pieces: Vec<usize>,
    pub verdicts: Vec<usize>,
}

pub struct Bench {
    pub lockstep: Lockstep<LocalAccess>,
    pub rng: Rng,
    pub cycle: usize,
}

impl Bench {
    pub fn new(seed: u64) -> Self {
        let block = Box::new(LocalAccess::default());
        let lockstep = Lockstep::new("local_access", block, |b, level| {
            b.clock.next = level.into()
        });
        Self::of(lockstep.unwrap_or_else(|e| panic!("{e}")), seed)
    }

    pub fn of(lockstep: Lockstep<LocalAccess>, seed: u64) -> Self {
        let mut bench = Self {
            lockstep,
            rng: Rng::with_seed(seed),
            cycle: 0,
        };
        bench.reset();
        bench
    }

    pub fn reset(&mut self) {
        self.lockstep.block.reset.next = true;
        for _ in 0..RESET {
            self.noise();
            self.step();
        }
        self.lockstep.block.reset.next = false;
        let b = &self.lockstep.block;
        assert!(!b.m_piece_valid.val() && !b.m_verdict_valid.val());
    }

    pub fn step(&mut self) {
        self.lockstep.settle().unwrap_or_else(|e| panic!("{e}"));
        self.lockstep.edge().unwrap_or_else(|e| panic!("{e}"));
    }

    pub fn noise(&mut self) {
        let (b, rng) = (&mut self.lockstep.block, &mut self.rng);
        b.s_piece.next = noise(rng);
        b.s_piece_valid.next = chance(rng, 50);
        b.entry.next = StagEntry {
            valid: chance(rng, 50),
            base: stimulus::bits(rng),
            limit: stimulus::bits(rng),
            ..StagEntry::default()
        };
        b.m_piece_ready.next = chance(rng, 50);
        b.m_verdict_ready.next = chance(rng, 50);
    }

    /// Sends all segments; pieces and verdicts are as due, valid until accepted, and nothing follows.
    pub fn run(
        &mut self,
        table: &Table,
        segments: &[Segment],
        paces: Paces,
    ) -> Result<Seen, String> {
        let due = segments.iter().map(|segment| judged(table, segment));
        let due = due.collect();
        self.run_against(table, segments, due, paces)
    }

    pub fn run_against(
        &mut self,
        table: &Table,
        segments: &[Segment],
        due: Vec<(u32, Vec<Piece>)>,
        paces: Paces,
    ) -> Result<Seen, String> {
        let count = due.len();
        let mut statuses: VecDeque<u32> = due.iter().map(|(status, _)| *status).collect();
        let of_segment = |(index, (_, pieces)): (usize, (u32, Vec<Piece>))| {
            pieces.into_iter().map(move |piece| (index, piece))
        };
        let mut due: VecDeque<(usize, Piece)> =
            due.into_iter().enumerate().flat_map(of_segment).collect();
        let mut rest: VecDeque<(usize, usize)> = VecDeque::new();
        for (number, segment) in segments.iter().enumerate() {
            rest.extend((0..segment.parts.len()).map(|index| (number, index)));
        }
        let [mut offers, mut accepts, mut judges] =
            [paces.offer, paces.pieces, paces.verdicts].map(Rhythm::new);
        let mut offered: Option<LocalPiece> = None;
        let (mut held, mut held_status) = (None, None);
        let mut lookups: VecDeque<u32> = VecDeque::new();
        let (mut seen, mut idle, mut after) = (Seen::default(), 0, 4 * LATENCY);
        // segments whose last piece was accepted
        let mut complete = 0;
        while after > 0 {
            after -= usize::from(due.is_empty() && statuses.is_empty() && rest.is_empty());
            self.noise();
            let rng = &mut self.rng;
            if offered.is_none() && offers.go(rng) {
                offered = rest.front().map(|(s, p)| record(&segments[*s], *p, rng));
            }
            let (ready, judge) = (accepts.go(rng), judges.go(rng));
            let b = &mut self.lockstep.block;
            b.s_piece_valid.next = offered.is_some();
            if let Some(piece) = offered {
                b.s_piece.next = piece;
            }
            b.m_piece_ready.next = ready;
            b.m_verdict_ready.next = judge;
            if lookups.len() == stag_table::LATENCY as usize {
                let stag = lookups.pop_front().unwrap();
                let region = table.get(&stag_slot(stag, SLOTS));
                b.entry.next = region.map_or_else(StagEntry::default, |r| r.entry(rng));
            }
            self.lockstep.settle().map_err(|e| e.to_string())?;
            let b = &self.lockstep.block;
            let cycle = self.cycle;
            let wrong = |text: String| format!("cycle {cycle}: {text}");
            idle += 1;
            lookups.push_back(b.stag.val().to_u64() as u32);

            let out = b.m_piece_valid.val().then(|| b.m_piece.val());
            if held.is_some() && held != out {
                return Err(wrong("a piece is not stable until accepted".into()));
            }
            held = out.filter(|_| !ready);
            if let Some(mut found) = out.filter(|_| ready) {
                idle = 0;
                let Some((segment, piece)) = due.pop_front() else {
                    return Err(wrong("a piece too many".into()));
                };
                // octets behind the last one have no meaning
                let bits = 8 * if found.memory {
                    8
                } else {
                    found.length.index()
                };
                let unused = 144_usize.saturating_sub(bits) as u64;
                found.content = (found.content << unused) >> unused;
                if found != piece {
                    return Err(wrong(format!("{found:?}, due {piece:?}")));
                }
                if segment >= complete {
                    return Err(wrong("a piece comes before all are judged".into()));
                }
                seen.pieces.push(cycle);
            }

            let verdict = b.m_verdict_valid.val().then(|| b.m_status.val());
            if held_status.is_some() && held_status != verdict {
                return Err(wrong("a verdict is not stable until accepted".into()));
            }
            held_status = verdict.filter(|_| !judge);
            if let Some(found) = verdict.filter(|_| judge) {
                idle = 0;
                let Some(status) = statuses.pop_front() else {
                    return Err(wrong("a verdict too many".into()));
                };
                if count - statuses.len() > complete {
                    return Err(wrong("a verdict comes before all are judged".into()));
                }
                if found.to_u64() != u64::from(status) {
                    return Err(wrong(format!("status {found:?}, due {status}")));
                }
                seen.verdicts.push(cycle);
            }

            if let Some(piece) = offered
                && b.s_piece_ready.val()
            {
                seen.accepted.push(cycle);
                rest.pop_front();
                complete += usize::from(piece.last);
                (offered, idle) = (None, 0);
            }
            self.lockstep.edge().map_err(|e| e.to_string())?;
            self.cycle += 1;
            if idle > PATIENCE {
                return Err(wrong(format!("{} verdicts do not come", statuses.len())));
            }
        }
        Ok(seen)
    }
}
