//! `commit`: random FPDUs without their markers, their Segments, and what is read back from the buffer.
//!
//! ```text
//!  Start, plain beats ─►┌────────┐─ DdpSegment ─► due? ─┐
//!                       │ commit │                      ▼ rows of it, at any octet
//!                       └────────┘◄─ read port ◄────────┘─► the FPDU's octets? ─► rows free again
//! ```

use fastrand::Rng;
use std::collections::VecDeque;
use warpline_hdl::Config;
use warpline_hdl::parts::lane_ram;
use warpline_hdl::records::DdpSegment;
use warpline_hdl::rx::mpa::commit::{Commit, LATENCY, written};
use warpline_hdl::rx::mpa::fetch::Start;
use warpline_hdl::rx::mpa::strip::Plain;
use warpline_sv_writer as writer;
use warpline_testbenches::lockstep::{Lockstep, LockstepError, on_large_stack};
use warpline_testbenches::octets::{lowest, noisy_beat, octets};
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};

const COMMIT: usize = 4096;
/// Dwords of a `DdpSegment`'s header.
const HEADER: usize = 5;

const fn config(width: usize) -> Config {
    Config {
        ring_octets: COMMIT,
        commit_octets: COMMIT,
        ..Config::simulated(width)
    }
}

/// An FPDU without markers: its Start, the dwords of each beat, and its octets.
#[derive(Clone, Debug)]
struct Fpdu {
    start: Start,
    counts: Vec<usize>,
    octets: Vec<u8>,
}

struct Bench<const W: usize, const K: usize, const D: usize, const LOGD: usize> {
    lockstep: Lockstep<Commit<W, K, D, LOGD>>,
    rng: Rng,
    /// Cycles from the beat that ends a header to its `DdpSegment`, as the model has it.
    latency: usize,
    /// Cycles from a last beat to the first read, as the model has it.
    written: usize,
    next_row: usize,
    /// Rows of FPDUs that are not read back yet.
    occupied: usize,
    /// FPDUs whose beats are still to come.
    started: VecDeque<Fpdu>,
    beat_at: (usize, usize),
    due: VecDeque<(usize, DdpSegment)>,
    /// FPDUs to read back: from when on, row, octets, reserved rows, rows read.
    readable: VecDeque<(usize, usize, Vec<u8>, usize, usize)>,
    reads: VecDeque<Vec<Option<u8>>>,
    read: Rhythm,
    segments: Vec<usize>,
    read_octets: usize,
    reserved_more: usize,
    cycle: usize,
    wrong: usize,
}

impl<const W: usize, const K: usize, const D: usize, const LOGD: usize> Bench<W, K, D, LOGD> {
    fn new(latency: usize, written: usize) -> Self {
        let block = Box::new(Commit::new(&config(W)));
        let top = format!("commit_{W}");
        let lockstep = Lockstep::new(&top, block, |b, level| b.clock.next = level.into());
        let mut bench = Self {
            lockstep: lockstep.unwrap_or_else(|e| panic!("{e}")),
            rng: Rng::with_seed(W as u64),
            latency,
            written,
            next_row: 0,
            occupied: 0,
            started: VecDeque::new(),
            beat_at: (0, 0),
            due: VecDeque::new(),
            readable: VecDeque::new(),
            reads: VecDeque::new(),
            read: Rhythm::new(Pace::Always),
            segments: vec![],
            read_octets: 0,
            reserved_more: 0,
            cycle: 0,
            wrong: 0,
        };
        bench.lockstep.block.reset.next = true;
        for _ in 0..written {
            bench.lockstep.settle().unwrap();
            bench.lockstep.edge().unwrap();
        }
        bench.lockstep.block.reset.next = false;
        bench
    }

    /// An FPDU of `beats` beats: full ones, or with a dword less where a marker was.
    fn fpdu(&mut self, beats: usize) -> Fpdu {
        let rng = &mut self.rng;
        let mut counts: Vec<usize> = (0..beats)
            .map(|_| D - usize::from(chance(rng, 30)))
            .collect();
        counts[beats - 1] = rng.usize(1..=D);
        let dwords: usize = counts.iter().sum();
        let start = Start {
            stream: stimulus::bits(rng),
            position: stimulus::bits(rng),
            crc: chance(rng, 50),
            refused: stimulus::bits(rng),
            ulpdu: stimulus::bits(rng),
            ahead: rng.bool(),
            placed: rng.bool(),
            row: (self.next_row as u64).into(),
            rows: (beats as u64).into(),
        };
        self.next_row = (self.next_row + beats) % (COMMIT / K);
        self.occupied += beats;
        self.reserved_more += usize::from(dwords.div_ceil(D) < beats);
        let octets = (0..4 * dwords).map(|_| rng.u8(..)).collect();
        Fpdu {
            start,
            counts,
            octets,
        }
    }

    /// Starts an FPDU in this cycle when there is room, and sends a beat of the oldest one.
    fn cycle(&mut self, beats: Option<usize>, send: bool) {
        let under_way = self.started.len() + self.due.len();
        let room = |beats: &usize| self.occupied + beats <= COMMIT / K && under_way < 16;
        let starting = beats.filter(room).map(|beats| self.fpdu(beats));
        let sending = send && !self.started.is_empty();
        let b = &mut self.lockstep.block;
        b.start_valid.next = starting.is_some();
        b.start.next = match &starting {
            Some(fpdu) => fpdu.start,
            None => Start {
                row: stimulus::bits(&mut self.rng),
                ..Start::default()
            },
        };
        if sending {
            self.send();
        } else {
            let (b, rng) = (&mut self.lockstep.block, &mut self.rng);
            b.plain_data.next = stimulus::bits(rng);
            b.plain.next = Plain {
                valid: false,
                first: chance(rng, 50),
                last: chance(rng, 50),
                count: stimulus::bits(rng),
            };
        }
        self.ask();
        self.lockstep.settle().unwrap();
        self.compare();
        self.lockstep.edge().unwrap();
        self.started.extend(starting);
        self.cycle += 1;
    }

    /// The next beat of the oldest FPDU.
    fn send(&mut self) {
        let fpdu = &self.started[0];
        let (number, dwords) = self.beat_at;
        let count = fpdu.counts[number];
        let last = number + 1 == fpdu.counts.len();
        let plain = Plain {
            valid: true,
            first: number == 0,
            last,
            count: (count as u64).into(),
        };
        let octets = &fpdu.octets[4 * dwords..4 * (dwords + count)];
        let b = &mut self.lockstep.block;
        b.plain.next = plain;
        b.plain_data.next = noisy_beat(&mut self.rng, octets);
        self.beat_at = (number + 1, dwords + count);
        let ends = dwords + count >= HEADER || last;
        if ends && dwords < HEADER {
            let dword = |at: usize| match fpdu.octets.get(4 * at..4 * at + 4) {
                Some(octets) => u64::from(u32::from_be_bytes(octets.try_into().unwrap())).into(),
                None => 0.into(),
            };
            let segment = DdpSegment {
                stream: fpdu.start.stream,
                position: fpdu.start.position,
                row: fpdu.start.row,
                rows: fpdu.start.rows,
                crc: fpdu.start.crc,
                refused: fpdu.start.refused,
                ulpdu: fpdu.start.ulpdu,
                ahead: fpdu.start.ahead,
                placed: fpdu.start.placed,
                header_0: dword(0),
                header_1: dword(1),
                header_2: dword(2),
                header_3: dword(3),
                header_4: dword(4),
            };
            let at = self.cycle + self.latency;
            self.due.push_back((at, segment));
        }
        if last {
            let Fpdu {
                start,
                counts,
                octets,
            } = self.started.pop_front().unwrap();
            let from = self.cycle + self.written;
            self.readable
                .push_back((from, start.row.index(), octets, counts.len(), 0));
            self.beat_at = (0, 0);
        }
    }

    /// Asks for the next K octets of the oldest FPDU that is whole, from any octet of a row on.
    fn ask(&mut self) {
        let rows = COMMIT / K;
        let b = &mut self.lockstep.block;
        let ask = self.read.go(&mut self.rng);
        let next = self.readable.front_mut();
        let written = next.filter(|(from, ..)| ask && *from <= self.cycle);
        let Some((_, row, octets, reserved, read)) = written else {
            b.read_row_0.next = self.rng.u64(0..rows as u64).into();
            b.read_row_1.next = self.rng.u64(0..rows as u64).into();
            b.read_select.next = stimulus::bits(&mut self.rng);
            self.reads.push_back(vec![None; K]);
            return;
        };
        let lane = self.rng.usize(0..K);
        b.read_row_0.next = (((*row + *read) % rows) as u64).into();
        b.read_row_1.next = (((*row + *read + 1) % rows) as u64).into();
        b.read_select.next = lowest(lane);
        let octet = |at: usize| {
            let row = *read + usize::from(at < lane);
            octets.get(row * K + at).copied()
        };
        self.reads.push_back((0..K).map(octet).collect());
        *read += 1;
        if *read * K >= octets.len() {
            self.occupied -= *reserved;
            self.readable.pop_front();
        }
    }

    fn compare(&mut self) {
        let b = &self.lockstep.block;
        if self.reads.len() > lane_ram::LATENCY {
            let expected = self.reads.pop_front().unwrap();
            let found = octets(b.read_data.val());
            let same = |(expected, found): (&Option<u8>, &u8)| expected.is_none_or(|e| e == *found);
            self.wrong += self
                .lockstep
                .mismatch(!expected.iter().zip(&found).all(same));
            self.read_octets += expected.iter().flatten().count();
        }
        let due = match self.due.front() {
            Some((at, ..)) if *at == self.cycle => self.due.pop_front(),
            _ => None,
        };
        let found = b.segment_valid.val().then(|| b.segment.val());
        self.wrong += self
            .lockstep
            .mismatch(found != due.map(|(_, segment)| segment));
        if due.is_some() {
            self.segments.push(self.cycle);
        }
    }

    fn finish(&mut self) {
        while !(self.started.is_empty() && self.due.is_empty() && self.readable.is_empty()) {
            self.cycle(None, true);
        }
        (0..=lane_ram::LATENCY).for_each(|_| self.cycle(None, false));
        assert_eq!(self.occupied, 0);
    }

    fn traffic(&mut self, fpdus: usize) {
        let paces = [Pace::Always, Pace::Percent(50), Pace::Bursts(20)];
        for (send, read) in [(0, 0), (1, 0), (0, 1), (2, 2)] {
            let mut send = Rhythm::new(paces[send]);
            self.read = Rhythm::new(paces[read]);
            let until = self.segments.len() + fpdus / 4;
            while self.segments.len() < until {
                let beats = match self.rng.u8(0..20) {
                    0..=11 => Some(self.rng.usize(1..6)),
                    12..=13 => Some(self.rng.usize(1..=COMMIT / K / 2)),
                    14 => Some(COMMIT / K),
                    _ => None,
                };
                let send = send.go(&mut self.rng);
                self.cycle(beats, send);
            }
        }
        self.finish();
    }
}

// req: MPA-MRK-21, MPA-RCV-09, MPA-RCV-10, MPA-RCV-11, LLP-04, LLP-07
#[test]
fn fpdus_are_kept_as_they_came_at_64_bits() {
    let mut bench = Bench::<64, 8, 2, 1>::new(LATENCY, written(2));
    bench.traffic(800);
    assert_eq!(bench.wrong, 0);
    let seen = (bench.read_octets / COMMIT, bench.reserved_more);
    assert!(seen.0 > 5 && seen.1 > 40, "{seen:?}");
}

// req: MPA-MRK-21, MPA-RCV-09, MPA-RCV-10, MPA-RCV-11, LLP-04, LLP-07
#[test]
fn fpdus_are_kept_as_they_came_at_512_bits() {
    on_large_stack(|| {
        let mut bench = Bench::<512, 64, 16, 4>::new(LATENCY, written(16));
        bench.traffic(400);
        assert_eq!(bench.wrong, 0);
        let seen = (bench.read_octets / COMMIT, bench.reserved_more);
        assert!(seen.0 > 5 && seen.1 > 5, "{seen:?}");
    });
}

#[test]
fn a_segment_follows_its_header_by_a_cycle_a_beat_a_cycle() {
    assert_eq!((LATENCY, [2, 4, 8, 16].map(written)), (1, [3, 3, 4, 4]));
    // an early read is wrong only where it meets the last beat
    for (late, written, least) in [(0, 3, 20), (2, 3, 20), (1, 2, 0)] {
        let mut bench = Bench::<64, 8, 2, 1>::new(late, written);
        bench.traffic(40);
        assert!(bench.wrong > least, "{late} {written}");
    }
    // FPDUs of one beat, one each cycle
    let mut bench = Bench::<64, 8, 2, 1>::new(LATENCY, written(2));
    (0..10).for_each(|_| bench.cycle(Some(1), false));
    bench.finish();
    assert!(bench.segments.windows(2).all(|pair| pair[1] == pair[0] + 1));
    assert_eq!((bench.segments.len(), bench.wrong), (10, 0));
}

#[test]
fn an_fpdu_may_fill_the_whole_buffer_from_any_row_on() {
    let mut bench = Bench::<64, 8, 2, 1>::new(LATENCY, written(2));
    for beats in [3, COMMIT / 8, 1, COMMIT / 8 - 1, COMMIT / 8] {
        bench.cycle(Some(beats), false);
        assert_eq!(bench.started.len(), 1);
        bench.finish();
    }
    assert_eq!((bench.segments.len(), bench.wrong), (5, 0));
}

#[test]
fn a_dword_in_the_wrong_octet_order_is_seen() {
    let block = Box::new(Commit::<64, 8, 2, 1>::new(&config(64)));
    let mut design = writer::write(&*block, "commit_fault").unwrap();
    let text = &mut design.modules.last_mut().unwrap().text;
    let swap = "(dword_2 >> 24)";
    assert!(text.contains(swap), "{text}");
    *text = text.replace(swap, "(dword_2 >> 25)");
    let clock: fn(&mut Commit<64, 8, 2, 1>, bool) = |b, level| b.clock.next = level.into();
    let mut bench = Lockstep::with_fault("commit_fault", block, &design, clock).unwrap();
    let seen = (0..20).find_map(|cycle| {
        let b = &mut bench.block;
        b.reset.next = cycle == 0;
        b.start_valid.next = cycle == 1;
        b.plain.next = Plain {
            valid: (2..4).contains(&cycle),
            first: cycle == 2,
            last: cycle == 3,
            count: 2.into(),
        };
        b.plain_data.next = 0xFFFF_FFFF_FFFF_FFFF_u64.into();
        bench.settle().and_then(|()| bench.edge()).err()
    });
    assert!(
        matches!(seen, Some(LockstepError::Differ { .. })),
        "{seen:?}"
    );
}
