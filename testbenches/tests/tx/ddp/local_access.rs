//! `local_access`: segments whose pieces the STag table allows come out with bus addresses, the others do not, and each has
//! its verdict, whatever their number, with idle cycles and back-pressure; without them at a piece a cycle.
//!
//! ```text
//!  LocalPieces ─┬─► local_access ─► Piece, status ─► as due? stable?
//!               │      ▲ entries of a table of the bench
//!               └─► the same checks in 128 bits
//! ```

use std::collections::{HashMap, VecDeque};

use fastrand::Rng;
use num_bigint::BigUint;
use rust_hdl_core::prelude::Bits;
use warpline_hdl::records::{LocalPiece, PIECE_OCTETS, Piece};
use warpline_hdl::rx::ddp::check::stag_table::{self, StagEntry};
use warpline_hdl::tx::ddp::local_access::{LATENCY, LocalAccess, PIECES, RESET};
use warpline_regmap::register::stag_slot;
use warpline_regmap::transmit::status;
use warpline_sv_writer::write;
use warpline_testbenches::lockstep::{Lockstep, plant};
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};

/// Cycles without any progress after which a bench gives up.
const PATIENCE: usize = 500;

/// Slots of the table.
const SLOTS: u32 = 64;

/// An entry of the table, as a command writes it.
#[derive(Clone, Copy, Debug)]
struct Region {
    stag: u32,
    domain: u16,
    stream: Option<u8>,
    base: u64,
    length: u64,
    address: u64,
}

impl Region {
    /// As the table holds it.
    fn entry(&self, rng: &mut Rng) -> StagEntry {
        let limit = u128::from(self.base) + u128::from(self.length);
        StagEntry {
            valid: true,
            stag: u64::from(self.stag).into(),
            protection_domain: u64::from(self.domain).into(),
            stream: u64::from(self.stream.unwrap_or_else(|| rng.u8(..))).into(),
            stream_scope: self.stream.is_some(),
            remote_write: chance(rng, 50),
            empty: self.length == 0,
            base: self.base.into(),
            limit: BigUint::from(limit).into(),
            shift: self.address.wrapping_sub(self.base).into(),
        }
    }
}

/// A piece of a segment.
#[derive(Clone, Debug)]
enum Part {
    Memory { stag: u32, offset: u64, length: u16 },
    Content(Vec<u8>),
}

#[derive(Clone, Debug)]
struct Segment {
    stream: u8,
    domain: u16,
    parts: Vec<Part>,
}

type Table = HashMap<u32, Region>;

/// The status of a piece, and its bus address.
fn judge(table: &Table, segment: &Segment, stag: u32, offset: u64, length: u16) -> (u32, u64) {
    let Some(region) = table
        .get(&stag_slot(stag, SLOTS))
        .filter(|region| region.stag == stag)
    else {
        return (status::STAG, 0);
    };
    if region.domain != segment.domain || region.stream.is_some_and(|only| only != segment.stream) {
        return (status::ASSOC, 0);
    }
    let (from, base) = (u128::from(offset), u128::from(region.base));
    let end = from + u128::from(length);
    if from < base || end > base + u128::from(region.length) {
        return (status::BOUNDS, 0);
    }
    (
        status::OK,
        region.address.wrapping_add(offset - region.base),
    )
}

/// The status of a segment, and what leaves if it passes: each piece without what has no meaning in it.
fn judged(table: &Table, segment: &Segment) -> (u32, Vec<Piece>) {
    let mut due = vec![];
    for (index, part) in segment.parts.iter().enumerate() {
        let last = index + 1 == segment.parts.len();
        due.push(match part {
            Part::Memory {
                stag,
                offset,
                length,
            } => {
                let (status, address) = judge(table, segment, *stag, *offset, *length);
                if status != status::OK {
                    return (status, vec![]);
                }
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

fn content(octets: &[u8]) -> Bits<144> {
    let mut content = Bits::default();
    for (lane, octet) in octets.iter().enumerate() {
        content.set_bits::<8>(8 * lane, u64::from(*octet).into());
    }
    content
}

/// The piece as it comes in, with noise where nothing is said.
fn record(segment: &Segment, index: usize, rng: &mut Rng) -> LocalPiece {
    let mut record = noise(rng);
    record.stream = u64::from(segment.stream).into();
    record.protection_domain = u64::from(segment.domain).into();
    record.last = index + 1 == segment.parts.len();
    match &segment.parts[index] {
        Part::Memory {
            stag,
            offset,
            length,
        } => {
            record.memory = true;
            record.stag = u64::from(*stag).into();
            record.offset = (*offset).into();
            record.length = u64::from(*length).into();
        }
        Part::Content(octets) => {
            record.memory = false;
            record.length = (octets.len() as u64).into();
            record.octets = content(octets);
        }
    }
    record
}

fn noise(rng: &mut Rng) -> LocalPiece {
    LocalPiece {
        stream: stimulus::bits(rng),
        protection_domain: stimulus::bits(rng),
        memory: chance(rng, 50),
        stag: stimulus::bits(rng),
        offset: stimulus::bits(rng),
        length: stimulus::bits(rng),
        octets: stimulus::bits(rng),
        last: chance(rng, 50),
    }
}

/// When inputs are offered and outputs accepted.
#[derive(Clone, Copy, Debug)]
struct Paces {
    offer: Pace,
    pieces: Pace,
    verdicts: Pace,
}

const ALWAYS: Paces = Paces {
    offer: Pace::Always,
    pieces: Pace::Always,
    verdicts: Pace::Always,
};

/// Cycles in which something came.
#[derive(Debug, Default)]
struct Seen {
    accepted: Vec<usize>,
    pieces: Vec<usize>,
    verdicts: Vec<usize>,
}

struct Bench {
    lockstep: Lockstep<LocalAccess>,
    rng: Rng,
    cycle: usize,
}

impl Bench {
    fn new(seed: u64) -> Self {
        let block = Box::new(LocalAccess::default());
        let lockstep = Lockstep::new("local_access", block, |b, level| {
            b.clock.next = level.into()
        });
        Self::of(lockstep.unwrap_or_else(|e| panic!("{e}")), seed)
    }

    fn of(lockstep: Lockstep<LocalAccess>, seed: u64) -> Self {
        let mut bench = Self {
            lockstep,
            rng: Rng::with_seed(seed),
            cycle: 0,
        };
        bench.reset();
        bench
    }

    fn reset(&mut self) {
        self.lockstep.block.reset.next = true;
        for _ in 0..RESET {
            self.noise();
            self.step();
        }
        self.lockstep.block.reset.next = false;
        let b = &self.lockstep.block;
        assert!(!b.m_piece_valid.val() && !b.m_verdict_valid.val());
    }

    fn step(&mut self) {
        self.lockstep.settle().unwrap_or_else(|e| panic!("{e}"));
        self.lockstep.edge().unwrap_or_else(|e| panic!("{e}"));
    }

    fn noise(&mut self) {
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
    fn run(&mut self, table: &Table, segments: &[Segment], paces: Paces) -> Result<Seen, String> {
        let due = segments.iter().map(|segment| judged(table, segment));
        let due = due.collect();
        self.run_against(table, segments, due, paces)
    }

    fn run_against(
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
                if segment >= complete {
                    return Err(wrong("a piece comes before all are judged".into()));
                }
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

/// Regions: anywhere, around 2^32, up to 2^64, and without octets.
fn table(rng: &mut Rng) -> Table {
    let mut table = Table::new();
    for slot in (0..SLOTS).filter(|slot| slot % 8 != 7) {
        let length = match rng.u8(0..8) {
            0 => 0,
            1 => rng.u64(1..20),
            2 => rng.u64(1 << 31..1 << 34),
            _ => rng.u64(1..100_000),
        };
        let base = match rng.u8(0..6) {
            0 => 0,
            1 => (rng.u64(1..1 << 31) << 32).wrapping_sub(length / 2),
            2 => 0_u64.wrapping_sub(length),
            _ => rng.u64(..1 << 60),
        };
        let region = Region {
            stag: slot << 8 | rng.u32(..) & !((SLOTS - 1) << 8),
            domain: rng.u16(0..3),
            stream: chance(rng, 40).then(|| rng.u8(0..4)),
            base: if length == 0 { base >> 1 } else { base },
            length,
            address: rng.u64(..),
        };
        table.insert(stag_slot(region.stag, SLOTS), region);
    }
    table
}

/// A piece that is allowed, or off by a little.
fn random_part(rng: &mut Rng, table: &Table, stream: u8, domain: u16) -> Part {
    let fits = |r: &&Region| {
        r.domain == domain && r.stream.is_none_or(|only| only == stream) && r.length > 0
    };
    let any = chance(rng, 4);
    let regions: Vec<&Region> = table.values().filter(|r| any || fits(r)).collect();
    let Some(region) = (!regions.is_empty()).then(|| regions[rng.usize(..regions.len())]) else {
        return Part::Content(vec![7; 3]);
    };
    let length = rng.u64(1..=region.length.clamp(1, 65_535));
    let most = region.length.saturating_sub(length);
    let into = match rng.u8(0..4) {
        0 => 0,
        1 => most,
        _ => rng.u64(0..=most),
    };
    let mut offset = region.base.wrapping_add(into);
    let mut stag = region.stag;
    match rng.u8(0..60) {
        // in the same slot, but another one
        0 => stag ^= 1 << rng.u8(0..8),
        1 => stag ^= 1 << rng.u8(16..32),
        2 => stag = rng.u32(..),
        // in front of the region, behind it, over its end
        3 => offset = region.base.wrapping_sub(1),
        4 => offset = region.base.wrapping_add(most).wrapping_add(1),
        5 => offset = region.base.wrapping_add(region.length),
        6 => offset ^= 1 << rng.u8(0..64),
        7 => offset = rng.u64(..),
        8 => offset = u64::MAX - rng.u64(0..length),
        _ => {}
    }
    let length = length as u16;
    Part::Memory {
        stag,
        offset,
        length,
    }
}

fn random_segments(rng: &mut Rng, table: &Table, count: usize) -> Vec<Segment> {
    let segments = (0..count).map(|_| {
        let (stream, domain) = (rng.u8(0..4), rng.u16(0..3));
        let count = match rng.u8(0..20) {
            0 => PIECES,
            1..8 => 1,
            _ => rng.usize(1..=12),
        };
        let parts = (0..count).map(|_| match rng.u8(0..3) {
            0 => {
                let length = rng.usize(1..=PIECE_OCTETS);
                Part::Content((0..length).map(|_| rng.u8(..)).collect())
            }
            _ => random_part(rng, table, stream, domain),
        });
        let parts = parts.collect();
        Segment {
            stream,
            domain,
            parts,
        }
    });
    segments.collect()
}

const PACES: [Paces; 3] = [
    Paces {
        offer: Pace::Percent(70),
        pieces: Pace::Percent(70),
        verdicts: Pace::Percent(50),
    },
    Paces {
        offer: Pace::Bursts(40),
        pieces: Pace::Bursts(40),
        verdicts: Pace::Bursts(100),
    },
    Paces {
        offer: Pace::Always,
        pieces: Pace::Percent(40),
        verdicts: Pace::Always,
    },
];

#[test]
fn random_segments_are_judged_as_the_model_does() {
    let mut bench = Bench::new(1);
    let mut statuses = HashMap::new();
    for paces in PACES.into_iter().chain([ALWAYS]) {
        for _ in 0..4 {
            let table = table(&mut bench.rng);
            let segments = random_segments(&mut bench.rng, &table, 120);
            for segment in &segments {
                *statuses.entry(judged(&table, segment).0).or_insert(0) += 1;
            }
            let found = bench.run(&table, &segments, paces);
            found.map(|_| ()).unwrap_or_else(|e| panic!("{e}"));
        }
    }
    for status in [status::OK, status::STAG, status::ASSOC, status::BOUNDS] {
        assert!(statuses[&status] > 40, "{statuses:?}");
    }
}

/// Each place at a region's ends, in regions that end at 2^32, at 2^64 and elsewhere.
#[test]
fn each_octet_at_the_ends_of_a_region() {
    let mut bench = Bench::new(2);
    for (base, length) in [
        (0_u64, 40_u64),
        (0xFFFF_FFE0, 40),
        (0x7_FFFF_FFF0, 16),
        (0_u64.wrapping_sub(40), 40),
        (5, 0),
        (0, u64::MAX),
    ] {
        let region = Region {
            stag: 0x0501,
            domain: 1,
            stream: None,
            base,
            length,
            address: 0xFFFF_FFF0,
        };
        let table = Table::from([(stag_slot(region.stag, SLOTS), region)]);
        let end = base.wrapping_add(length);
        let mut segments = vec![];
        for place in [base, end, base ^ 1 << 32, end ^ 1 << 32] {
            for near in -3..=3_i64 {
                for length in [1, 2, 3, 39, 40, 41, 65_535] {
                    let offset = place.wrapping_add_signed(near);
                    segments.push(Segment {
                        stream: 3,
                        domain: 1,
                        parts: vec![Part::Memory {
                            stag: region.stag,
                            offset,
                            length,
                        }],
                    });
                }
            }
        }
        let found = bench.run(&table, &segments, ALWAYS);
        found
            .map(|_| ())
            .unwrap_or_else(|e| panic!("{base:x}: {e}"));
    }
}

#[test]
fn a_piece_takes_a_cycle_and_a_segment_its_latency() {
    let mut bench = Bench::new(3);
    let table = table(&mut bench.rng);
    assert_eq!((LATENCY, PIECES), (8, 31));
    let part = || Part::Content(vec![1, 2, 3]);
    let segment = |parts: usize, bad: bool| Segment {
        stream: 0,
        domain: 0,
        parts: match bad {
            // no slot 7 is in use
            true => vec![
                Part::Memory {
                    stag: 0x700,
                    offset: 0,
                    length: 1
                };
                parts
            ],
            false => (0..parts).map(|_| part()).collect(),
        },
    };
    for parts in [1, 2, 12, PIECES] {
        for bad in [false, true] {
            let seen = bench.run(&table, &[segment(parts, bad)], ALWAYS).unwrap();
            let last = *seen.accepted.last().unwrap();
            assert_eq!(last + 1 - seen.accepted[0], parts);
            assert_eq!(seen.verdicts[0] - last, LATENCY);
            if !bad {
                assert_eq!(seen.pieces[0] - last, LATENCY);
                assert_eq!(seen.pieces[parts - 1] - seen.pieces[0], parts - 1);
            }
        }
    }
    // a piece a cycle from segment to segment, those that are dropped included
    for parts in [1, 2, 7, 12] {
        let segments: Vec<Segment> = (0..40).map(|n| segment(parts, n % 3 == 1)).collect();
        let seen = bench.run(&table, &segments, ALWAYS).unwrap();
        let cycles = seen.accepted.last().unwrap() + 1 - seen.accepted[0];
        assert_eq!(cycles, 40 * parts);
        let cycles = seen.pieces.last().unwrap() + 1 - seen.pieces[0];
        assert_eq!(cycles, 40 * parts);
    }
}

/// Whatever is at the inputs, the outputs of a cycle are the same.
#[test]
fn no_output_depends_on_an_input_in_the_same_cycle() {
    let mut bench = Bench::new(4);
    let (mut valid, mut full) = (0, 0);
    for _ in 0..4000 {
        let outputs = [(); 3].map(|()| {
            bench.noise();
            // pieces that pass, and verdicts that are accepted seldom
            bench.lockstep.block.s_piece.next.memory = chance(&mut bench.rng, 10);
            bench.lockstep.block.m_verdict_ready.next = chance(&mut bench.rng, 5);
            bench.lockstep.settle().unwrap();
            let b = &bench.lockstep.block;
            let piece = (b.m_piece_valid.val(), b.m_piece.val());
            let verdict = (b.m_verdict_valid.val(), b.m_status.val());
            (b.s_piece_ready.val(), b.stag.val(), piece, verdict)
        });
        assert!(outputs[0] == outputs[1] && outputs[1] == outputs[2]);
        valid += usize::from(outputs[0].2.0);
        full += usize::from(!outputs[0].0);
        bench.lockstep.edge().unwrap();
    }
    assert!(valid > 300 && full > 300, "{valid} {full}");
}

#[test]
fn reset_forgets_what_is_under_way() {
    let mut bench = Bench::new(5);
    for _ in 0..8 {
        for _ in 0..bench.rng.usize(1..80) {
            bench.noise();
            bench.step();
        }
        bench.reset();
        let table = table(&mut bench.rng);
        let segments = random_segments(&mut bench.rng, &table, 10);
        bench.run(&table, &segments, PACES[0]).unwrap();
    }
    assert!(RESET <= warpline_hdl::top::RESET_CYCLES as usize);
}

/// What is due is compared: pieces, statuses, and how many of them come.
#[test]
fn what_is_not_due_is_seen() {
    let mut bench = Bench::new(7);
    let table = table(&mut bench.rng);
    let segments = random_segments(&mut bench.rng, &table, 60);
    let right: Vec<(u32, Vec<Piece>)> = segments.iter().map(|s| judged(&table, s)).collect();
    let passes = right.iter().position(|(_, pieces)| pieces.len() > 1);
    let passes = passes.unwrap();
    type Wrong = (fn(&mut (u32, Vec<Piece>)), &'static str);
    let wrongs: [Wrong; 7] = [
        (|due| due.0 = status::BUS, "due 6"),
        (|due| due.1[1].content = due.1[1].content + 1, ", due Piece"),
        (|due| due.1[0].length = due.1[0].length + 1, ", due Piece"),
        (|due| due.1[0].last = true, ", due Piece"),
        (|due| due.1[0].memory = !due.1[0].memory, ", due Piece"),
        (|due| drop(due.1.pop()), ", due Piece"),
        (|due| due.1.insert(0, Piece::default()), ", due Piece"),
    ];
    for (wrong, text) in wrongs {
        let mut due = right.clone();
        wrong(&mut due[passes]);
        let seen = bench.run_against(&table, &segments, due, PACES[0]);
        let seen = seen.unwrap_err();
        assert!(seen.contains(text), "{text}: {seen}");
        bench.reset();
    }
    let mut fewer = right.clone();
    fewer.pop();
    let seen = bench
        .run_against(&table, &segments, fewer, ALWAYS)
        .unwrap_err();
    assert!(seen.contains("too many"), "{seen}");
    bench.reset();
    let mut more = right;
    more.push((status::OK, vec![]));
    let seen = bench
        .run_against(&table, &segments, more, ALWAYS)
        .unwrap_err();
    assert!(seen.contains("1 verdicts do not come"), "{seen}");
}

/// Names, the right text, and what it reads with a fault.
const FAULTS: &[(&str, &str, &str)] = &[
    (
        "last_octet_is_not_counted",
        "asked_d.less_one = s_piece.length - 16'h1;",
        "asked_d.less_one = s_piece.length - 16'h2;",
    ),
    (
        "content_is_judged",
        "if (judged.memory) begin",
        "if (judged.memory | (~reset)) begin",
    ),
    (
        "bounds_from_the_end_only",
        "if (tagged_checks_fails_offset | tagged_checks_fails_end) begin",
        "if ((tagged_checks_fails_offset & reset) | tagged_checks_fails_end) begin",
    ),
    (
        "bounds_from_the_beginning_only",
        "if (tagged_checks_fails_offset | tagged_checks_fails_end) begin",
        "if (tagged_checks_fails_offset | (tagged_checks_fails_end & reset)) begin",
    ),
    (
        "any_stream_and_domain",
        "if (tagged_checks_fails_association) begin",
        "if (tagged_checks_fails_association & reset) begin",
    ),
    (
        "any_stag",
        "if (tagged_checks_fails_stag) begin",
        "if (tagged_checks_fails_stag & reset) begin",
    ),
    (
        "last_failure_decides",
        "if (so_far_q == ok) begin",
        "if ((so_far_q == ok) | (own != ok)) begin",
    ),
    (
        "last_piece_decides",
        "if (so_far_q == ok) begin",
        "if ((so_far_q == ok) | (~reset)) begin",
    ),
    (
        "failure_goes_on",
        "so_far_d = decided;\n            if (judged.last) begin",
        "so_far_d = decided;\n            if (judged.last & reset) begin",
    ),
    (
        "all_segments_pass",
        "passes_d = statuses_m_data == ok;",
        "passes_d = (statuses_m_data == ok) | (~reset);",
    ),
    (
        "dropped_at_the_pace_of_gather",
        "leave = active_q & ((~passes_q) | m_piece_ready);",
        "leave = active_q & (((~passes_q) & reset) | m_piece_ready);",
    ),
    (
        "addresses_stay",
        "addresses_m_ready = leave & head.memory;",
        "addresses_m_ready = (leave & head.memory) & passes_q;",
    ),
    (
        "segment_has_one_piece",
        "free = (~active_q) | (leave & head.last);",
        "free = (~active_q) | (leave & (head.last | (~reset)));",
    ),
    (
        "address_is_left_out",
        "if (head.memory) begin",
        "if (head.memory & reset) begin",
    ),
    (
        "verdicts_without_room",
        "load = (free & statuses_m_valid) & verdicts_s_ready;",
        "load = (free & statuses_m_valid) & (verdicts_s_ready | (~reset));",
    ),
    (
        "pieces_without_room",
        "room_d = held_q < most;",
        "room_d = held_q <= most;",
    ),
    (
        "verdict_with_each_piece",
        "statuses_s_valid = judged.valid & judged.last;",
        "statuses_s_valid = judged.valid & (judged.last | (~reset));",
    ),
];

#[test]
fn faults_in_the_text_are_seen() {
    for (name, right, wrong) in FAULTS {
        let block = Box::new(LocalAccess::default());
        let top = format!("local_access_{name}");
        let mut design = write(&*block, &top).unwrap();
        plant(&mut design, right, wrong);
        let clock: fn(&mut LocalAccess, bool) = |b, level| b.clock.next = level.into();
        let lockstep = Lockstep::with_design(&top, block, &design, clock);
        let mut bench = Bench::of(lockstep.unwrap_or_else(|e| panic!("{name}: {e}")), 6);
        let table = table(&mut bench.rng);
        let segments = random_segments(&mut bench.rng, &table, 150);
        let paces = Paces {
            pieces: Pace::Percent(50),
            verdicts: Pace::Bursts(120),
            offer: Pace::Always,
        };
        let seen = bench.run(&table, &segments, paces).err();
        let seen = seen.unwrap_or_else(|| panic!("{name} is not seen"));
        assert!(seen.contains("in rust-hdl,"), "{name}: {seen}");
    }
}
