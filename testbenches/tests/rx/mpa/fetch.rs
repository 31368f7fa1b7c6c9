//! `fetch`: FPDUs of every length and position out of rings of random octets, with rooms and places given back at any
//! time, against the rings themselves and `warpline_wire::marker`.
//!
//! ```text
//!  random Fpdus ─►┌───────┐─ start ─► in order? rows free? a place free?  ─► beats that are due, cycle by cycle
//!  freed,         │ fetch │─ beats ─► as due?
//!  consumed ─────►└───────┘─ tail ──► behind the reads?
//!  rings ◄── rows ──┘▲
//!    └── data ───────┘
//! ```

use fastrand::Rng;
use std::collections::VecDeque;
use warpline_hdl::Config;
use warpline_hdl::parts::lane_ram;
use warpline_hdl::records::{Fpdu, HEADER};
use warpline_hdl::rx::mpa::fetch::{Fetch, FpduBeat, Start, UNDER_WAY, latency};
use warpline_sv_writer as writer;
use warpline_testbenches::lockstep::{Lockstep, LockstepError, on_large_stack};
use warpline_testbenches::octets::{beat, octets};
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};
use warpline_wire::marker;

const STREAMS: usize = 4;
const RING: usize = 4096;
const COMMIT: usize = 8192;

const fn config(width: usize) -> Config {
    Config {
        ring_octets: RING,
        commit_octets: COMMIT,
        ..Config::simulated(width)
    }
}

/// How FPDUs are offered, and how what they occupy is given back.
#[derive(Clone, Copy, Debug)]
struct Paces {
    offer: Pace,
    consume: Pace,
    free: Pace,
}

const AT_ONCE: Paces = Paces {
    offer: Pace::Always,
    consume: Pace::Always,
    free: Pace::Always,
};

#[derive(Clone, Debug, Default)]
struct Seen {
    beats: usize,
    markers: usize,
    leading: usize,
    given_up: usize,
    ahead: usize,
    placed: usize,
    most_under_way: usize,
    most_rows: usize,
}

struct Bench<const W: usize, const K: usize, const D: usize, const LOGK: usize, const LOGD: usize> {
    lockstep: Lockstep<Fetch<W, K, D, LOGK, LOGD, STREAMS>>,
    rng: Rng,
    rings: Vec<Vec<u8>>,
    /// Rows of the commit buffer, as the model has it.
    commit_rows: usize,
    to_offer: VecDeque<Fpdu>,
    offered: VecDeque<Fpdu>,
    offer: Rhythm,
    consume: Rhythm,
    free: Rhythm,
    asked: VecDeque<Vec<u8>>,
    due: VecDeque<(usize, FpduBeat, Vec<u8>)>,
    tails_due: VecDeque<(usize, usize, u32)>,
    tails: [u32; STREAMS],
    /// Where octets have landed, and streams whose chain of lengths is lost: their tails follow.
    landed: [u32; STREAMS],
    /// Octets that land in a stream in a cycle, at most.
    lands: u32,
    given_up: [bool; STREAMS],
    /// Positions of `tail` so far, of each stream.
    tails_seen: [Vec<u32>; STREAMS],
    /// One that is lost with the FPDU that has just started.
    gives_up: Option<usize>,
    next_row: usize,
    under_way: usize,
    /// Rows of FPDUs that have started and are not freed.
    occupied: VecDeque<usize>,
    starts: Vec<usize>,
    cycle: usize,
    wrong: usize,
    seen: Seen,
}

impl<const W: usize, const K: usize, const D: usize, const LOGK: usize, const LOGD: usize>
    Bench<W, K, D, LOGK, LOGD>
{
    fn new(commit_rows: usize, paces: Paces) -> Self {
        let block = Box::new(Fetch::new(&config(W)));
        let top = format!("fetch_{W}");
        let lockstep = Lockstep::new(&top, block, |b, level| b.clock.next = level.into());
        let mut rng = Rng::with_seed(W as u64);
        let mut bench = Self {
            lockstep: lockstep.unwrap_or_else(|e| panic!("{e}")),
            rings: (0..STREAMS)
                .map(|_| (0..RING).map(|_| rng.u8(..)).collect())
                .collect(),
            rng,
            commit_rows,
            to_offer: VecDeque::new(),
            offered: VecDeque::new(),
            offer: Rhythm::new(paces.offer),
            consume: Rhythm::new(paces.consume),
            free: Rhythm::new(paces.free),
            asked: VecDeque::from(vec![vec![0; K]; lane_ram::LATENCY]),
            due: VecDeque::new(),
            tails_due: VecDeque::new(),
            tails: [0; STREAMS],
            landed: [0; STREAMS],
            lands: 8,
            given_up: [false; STREAMS],
            tails_seen: Default::default(),
            gives_up: None,
            next_row: 0,
            under_way: 0,
            occupied: VecDeque::new(),
            starts: vec![],
            cycle: 0,
            wrong: 0,
            seen: Seen::default(),
        };
        bench.lockstep.block.reset.next = true;
        for _ in 0..latency(D) {
            bench.lockstep.settle().unwrap();
            bench.lockstep.edge().unwrap();
        }
        bench.lockstep.block.reset.next = false;
        bench
    }

    fn plan(&mut self, stream: usize, position: u32, dwords: usize, markers: bool) {
        let rng = &mut self.rng;
        self.to_offer.push_back(Fpdu {
            stream: (stream as u64).into(),
            position: u64::from(position).into(),
            dwords: (dwords as u64).into(),
            markers,
            crc: chance(rng, 50),
            refused: 0.into(),
            ulpdu: stimulus::bits(rng),
            ahead: false,
            placed: false,
            header_only: false,
        });
    }

    /// The last one planned was placed before.
    fn place_last(&mut self) {
        let fpdu = self.to_offer.back_mut().unwrap();
        fpdu.placed = true;
        fpdu.header_only = fpdu.dwords.to_u64() > HEADER;
    }

    fn cycle(&mut self) {
        let b = &mut self.lockstep.block;
        let offering = self.offer.go(&mut self.rng) && !self.to_offer.is_empty();
        b.fpdu_valid.next = offering;
        b.fpdu.next = self.to_offer.front().copied().unwrap_or_default();
        let consumed = self.under_way > 0 && self.consume.go(&mut self.rng);
        b.consumed.next = consumed;
        let free = self.free.go(&mut self.rng);
        let freed = self.occupied.front().copied().filter(|_| free);
        b.freed.next = freed.is_some();
        b.freed_rows.next = (freed.unwrap_or(self.rng.usize(1..9)) as u64).into();
        for (port, landed) in b.edge_landed.iter_mut().zip(&mut self.landed) {
            *landed = landed.wrapping_add(self.rng.u32(0..=self.lands));
            port.next = u64::from(*landed).into();
        }
        b.read_data.next = beat(&self.asked.pop_front().unwrap());
        self.lockstep.settle().unwrap();
        self.compare();
        let b = &self.lockstep.block;
        if offering && b.fpdu_ready.val() {
            self.offered.extend(self.to_offer.pop_front());
        }
        let select = b.read_select.val();
        let rows = [b.read_row_0.val().index(), b.read_row_1.val().index()];
        let octet = |lane: usize| {
            let row = rows[usize::from(select.get_bit(lane))];
            self.rings[row / (RING / K) % STREAMS][row % (RING / K) * K + lane]
        };
        self.asked.push_back((0..K).map(octet).collect());
        self.lockstep.edge().unwrap();
        if freed.is_some() {
            self.occupied.pop_front();
        }
        self.under_way -= usize::from(consumed);
        self.cycle += 1;
    }

    fn compare(&mut self) {
        let b = &self.lockstep.block;
        if b.start_valid.val() {
            let start = b.start.val();
            match self.offered.pop_front() {
                Some(fpdu) => self.started(fpdu, start),
                None => self.wrong += self.lockstep.mismatch(true),
            }
        }
        let b = &self.lockstep.block;
        let (found, data) = (b.beat.val(), octets(b.beat_data.val()));
        let due = match self.due.front() {
            Some((at, ..)) if *at == self.cycle => self.due.pop_front(),
            _ => None,
        };
        let same = match due {
            None => !found.valid,
            Some((_, expected, octets)) => {
                // the pointer says nothing without a marker
                let pointer = if found.marker {
                    found.marker_pointer
                } else {
                    0.into()
                };
                let found = FpduBeat {
                    marker_pointer: pointer,
                    ..found
                };
                found == expected && data[..octets.len()] == octets
            }
        };
        self.wrong += self.lockstep.mismatch(!same);
        while let Some((_, stream, tail)) =
            self.tails_due.front().filter(|(at, ..)| *at == self.cycle)
        {
            self.tails[*stream] = *tail;
            self.tails_due.pop_front();
        }
        let tails = b.tail.each_ref().map(|tail| tail.val().to_u32());
        self.wrong += self.lockstep.mismatch(tails != self.tails);
        for (seen, tail) in self.tails_seen.iter_mut().zip(tails) {
            seen.push(tail);
        }
        // in the next cycle, whatever is read in this one
        for stream in (0..STREAMS).filter(|stream| self.given_up[*stream]) {
            self.tails_due.retain(|(_, of, _)| *of != stream);
            self.tails[stream] = self.landed[stream];
        }
        if let Some(stream) = self.gives_up.take() {
            self.given_up[stream] = true;
        }
    }

    /// An FPDU has started; its first beat is being read.
    fn started(&mut self, fpdu: Fpdu, start: Start) {
        let (stream, position) = (fpdu.stream.index(), fpdu.position.to_u32());
        // what was read whole before gives its header once more, and the room of all of it with that
        let behind = position.wrapping_add(4 * fpdu.dwords.index() as u32);
        let read = if fpdu.placed {
            HEADER as usize
        } else {
            usize::MAX
        };
        let dwords = fpdu.dwords.index().min(read);
        let rows = dwords.div_ceil(D);
        let expected = Start {
            stream: fpdu.stream,
            position: fpdu.position,
            crc: fpdu.crc,
            refused: fpdu.refused,
            ulpdu: fpdu.ulpdu,
            ahead: fpdu.ahead,
            placed: fpdu.placed,
            row: (self.next_row as u64).into(),
            rows: (rows as u64).into(),
        };
        self.wrong += self.lockstep.mismatch(start != expected);
        self.gives_up = fpdu.refused.any().then_some(stream);
        self.seen.ahead += usize::from(fpdu.ahead);
        self.seen.placed += usize::from(fpdu.placed && !fpdu.ahead);
        self.seen.given_up += usize::from(fpdu.refused.any());
        self.next_row = (self.next_row + rows) % (COMMIT / K);
        let before: usize = self.occupied.iter().sum();
        self.occupied.push_back(rows);
        self.under_way += 1;
        self.wrong += self.lockstep.mismatch(before + rows > self.commit_rows);
        self.wrong += self.lockstep.mismatch(self.under_way > UNDER_WAY as usize);
        self.seen.most_rows = self.seen.most_rows.max(before + rows);
        self.seen.most_under_way = self.seen.most_under_way.max(self.under_way);
        self.starts.push(self.cycle);

        let leading = fpdu.markers && marker::is_due(position);
        self.seen.leading += usize::from(leading);
        let header = position.wrapping_add(4 * u32::from(leading));
        let ring = &self.rings[stream];
        for row in 0..rows {
            let first = position.wrapping_add((row * K) as u32);
            let count = D.min(dwords - row * D);
            let at = |dword: usize| first.wrapping_add(4 * dword as u32);
            let lane = (0..count).find(|dword| fpdu.markers && marker::is_due(at(*dword)));
            let pointer = lane.map_or(0, |lane| marker::expected_fpduptr(at(lane), header));
            self.seen.beats += 1;
            self.seen.markers += usize::from(lane.is_some());
            let beat = FpduBeat {
                valid: true,
                first: row == 0,
                last: row + 1 == rows,
                count: (count as u64).into(),
                marker: lane.is_some(),
                marker_lane: (lane.unwrap_or(0) as u64).into(),
                marker_pointer: u64::from(pointer).into(),
            };
            let octets = (0..4 * count as u32)
                .map(|octet| ring[first.wrapping_add(octet) as usize % RING])
                .collect();
            self.due
                .push_back((self.cycle + row + latency(D), beat, octets));
            let end = match row + 1 == rows {
                _ if fpdu.ahead || fpdu.refused.any() => continue,
                true => behind,
                false if fpdu.placed => continue,
                false => first.wrapping_add(4 * count as u32),
            };
            self.tails_due
                .push_back((self.cycle + row + 1, stream, end));
        }
    }

    fn idle(&mut self, cycles: usize) {
        (0..cycles).for_each(|_| self.cycle());
    }

    /// Another connection begins, when nothing of the former one is left.
    fn arm(&mut self, stream: usize) {
        let b = &mut self.lockstep.block;
        b.arm.next = true;
        b.stream.next = (stream as u64).into();
        self.cycle();
        self.lockstep.block.arm.next = false;
        self.tails[stream] = 0;
        self.given_up[stream] = false;
    }

    /// Runs until every FPDU is through.
    fn finish(&mut self) {
        let mut patience = 100_000;
        while !(self.to_offer.is_empty() && self.offered.is_empty() && self.due.is_empty()) {
            self.cycle();
            patience -= 1;
            assert!(patience > 0, "{} FPDUs are stuck", self.offered.len());
        }
        self.idle(latency(D) + 1);
    }
}

/// `fpdus` random FPDUs under each of some rhythms.
fn traffic<const W: usize, const K: usize, const D: usize, const LOGK: usize, const LOGD: usize>(
    commit_rows: usize,
    fpdus: usize,
    longest: usize,
) -> (usize, Seen) {
    let mut bench = Bench::<W, K, D, LOGK, LOGD>::new(commit_rows, AT_ONCE);
    let all = Pace::Always;
    for (offer, consume, free) in [
        (all, all, all),
        (Pace::Percent(30), Pace::Percent(30), Pace::Percent(30)),
        (all, Pace::Percent(1), all),
        (all, all, Pace::Percent(1)),
        (all, Pace::Bursts(200), Pace::Bursts(200)),
    ] {
        bench.offer = Rhythm::new(offer);
        bench.consume = Rhythm::new(consume);
        bench.free = Rhythm::new(free);
        for _ in 0..fpdus {
            let stream = bench.rng.usize(0..STREAMS);
            let position = match bench.rng.u8(0..4) {
                0 => 0_u32.wrapping_sub(bench.rng.u32(0..2000)),
                1 => bench.rng.u32(..) / 512 * 512,
                _ => bench.rng.u32(..),
            } & !3;
            let dwords = match bench.rng.u8(0..8) {
                0 => longest / 4,
                1..=5 => bench.rng.usize(2..=6 * D),
                _ => bench.rng.usize(2..=longest / 4),
            };
            let markers = chance(&mut bench.rng, 70);
            bench.plan(stream, position, dwords, markers);
            let fpdu = bench.to_offer.back_mut().unwrap();
            match bench.rng.u8(0..100) {
                0 => fpdu.refused = bench.rng.u64(1..3).into(),
                1..20 => fpdu.ahead = true,
                20..40 => bench.place_last(),
                _ => {}
            }
        }
        bench.finish();
        bench.idle(400);
        (0..STREAMS).for_each(|stream| bench.arm(stream));
    }
    bench.consume = Rhythm::new(all);
    bench.free = Rhythm::new(all);
    bench.idle(100);
    assert!(bench.under_way == 0 && bench.occupied.is_empty());
    (bench.wrong, bench.seen)
}

// req: MPA-FMT-11, MPA-FMT-15, MPA-MRK-04, MPA-MRK-05, MPA-MRK-08, MPA-MRK-10, MPA-MRK-13
// req: MPA-MRK-19, MPA-MRK-22, MPA-RCV-02
#[test]
fn fpdus_of_four_streams_at_64_bits() {
    let (wrong, seen) = traffic::<64, 8, 2, 3, 1>(COMMIT / 8, 80, 1024);
    assert_eq!(wrong, 0, "{seen:?}");
    assert!(
        seen.markers > 100 && seen.leading > 20 && seen.given_up > 0,
        "{seen:?}"
    );
    assert!(seen.ahead > 40 && seen.placed > 40, "{seen:?}");
    assert!(
        seen.most_under_way == UNDER_WAY as usize && seen.most_rows > COMMIT / 8 * 3 / 4,
        "{seen:?}"
    );
}

// req: MPA-FMT-11, MPA-FMT-15, MPA-MRK-04, MPA-MRK-05, MPA-MRK-08, MPA-MRK-10, MPA-MRK-13
// req: MPA-MRK-19, MPA-MRK-22, MPA-RCV-02
#[test]
fn fpdus_of_four_streams_at_512_bits() {
    on_large_stack(|| {
        let (wrong, seen) = traffic::<512, 64, 16, 6, 4>(COMMIT / 64, 60, 1024);
        assert_eq!(wrong, 0, "{seen:?}");
        assert!(
            seen.markers > 100 && seen.leading > 20 && seen.given_up > 0,
            "{seen:?}"
        );
        assert!(seen.ahead > 30 && seen.placed > 30, "{seen:?}");
        assert!(
            seen.most_under_way == UNDER_WAY as usize && seen.most_rows > COMMIT / 64 * 3 / 4,
            "{seen:?}"
        );
    });
}

#[test]
fn a_model_with_less_room_is_seen() {
    let (wrong, _) = traffic::<64, 8, 2, 3, 1>(COMMIT / 8 * 3 / 4, 60, 2048);
    assert!(wrong > 0);
}

type Bench64 = Bench<64, 8, 2, 3, 1>;

#[test]
fn an_fpdu_ahead_keeps_its_room_and_a_placed_one_gives_all_of_it_back_with_its_header() {
    let mut bench = Bench64::new(COMMIT / 8, AT_ONCE);
    bench.plan(1, 500, 300, true);
    bench.to_offer[0].ahead = true;
    bench.finish();
    // all of it is read, and nothing is given back
    assert_eq!((bench.seen.beats, bench.tails[1], bench.wrong), (150, 0, 0));
    bench.plan(1, 500, 300, true);
    bench.place_last();
    bench.finish();
    // five dwords of content and the marker at 512
    assert_eq!(
        (bench.seen.beats, bench.tails[1], bench.wrong),
        (153, 1700, 0)
    );
}

/// FPDUs of these many dwords back to back: each starts in the cycle in which the last beat of the one before is over.
fn assert_no_cycle_between<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
>(
    dwords: &[usize],
) {
    let mut bench = Bench::<W, K, D, LOGK, LOGD>::new(COMMIT / K, AT_ONCE);
    let mut position = 4;
    for dwords in dwords {
        bench.plan(1, position, *dwords, false);
        position += 4 * *dwords as u32;
    }
    bench.finish();
    let apart: Vec<usize> = bench
        .starts
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .collect();
    let beats: Vec<usize> = dwords.iter().map(|dwords| dwords.div_ceil(D)).collect();
    assert_eq!(apart, beats[..beats.len() - 1]);
    // offered in cycle 0, counted, reserved, started
    assert_eq!((bench.starts[0], bench.wrong), (2, 0));
}

#[test]
fn a_beat_a_cycle_also_between_fpdus_of_one_beat() {
    assert_eq!([2, 4, 8, 16].map(latency), [3, 3, 4, 4]);
    let dwords = [
        4, 3, 8, 100, 4, 4, 5, 9, 2, 2, 2, 2, 2, 4, 2, 6, 2, 1024, 2, 2,
    ];
    assert_no_cycle_between::<64, 8, 2, 3, 1>(&dwords);
    #[cfg(feature = "every-width")]
    assert_no_cycle_between::<128, 16, 4, 4, 2>(&dwords);
    #[cfg(feature = "every-width")]
    assert_no_cycle_between::<256, 32, 8, 5, 3>(&dwords);
    on_large_stack(move || assert_no_cycle_between::<512, 64, 16, 6, 4>(&dwords));
    // as many as there are places under way, several times over
    on_large_stack(|| assert_no_cycle_between::<512, 64, 16, 6, 4>(&[7; 100]));
}

#[test]
fn so_many_fpdus_are_under_way_and_never_more() {
    let paces = Paces {
        consume: Pace::Percent(0),
        ..AT_ONCE
    };
    let mut bench = Bench64::new(COMMIT / 8, paces);
    (0..UNDER_WAY + 4).for_each(|_| bench.plan(0, 0, 4, true));
    bench.idle(200);
    assert_eq!(bench.starts.len(), UNDER_WAY as usize);
    bench.consume = Rhythm::new(Pace::Always);
    bench.cycle();
    bench.consume = Rhythm::new(Pace::Percent(0));
    bench.idle(100);
    assert_eq!(
        (bench.starts.len(), bench.wrong),
        (UNDER_WAY as usize + 1, 0)
    );
}

#[test]
fn an_fpdu_starts_when_the_commit_buffer_has_room_for_all_of_it() {
    let paces = Paces {
        free: Pace::Percent(0),
        ..AT_ONCE
    };
    let mut bench = Bench64::new(COMMIT / 8, paces);
    // 341 rows each, the buffer has 1024
    (0..4).for_each(|_| bench.plan(3, 256, 682, true));
    bench.plan(3, 256, 4, true);
    bench.idle(2000);
    assert_eq!((bench.starts.len(), bench.seen.most_rows), (3, 1023));
    bench.free = Rhythm::new(Pace::Always);
    bench.cycle();
    bench.free = Rhythm::new(Pace::Percent(0));
    bench.idle(500);
    assert_eq!((bench.starts.len(), bench.wrong), (4, 0));
    bench.free = Rhythm::new(Pace::Always);
    bench.finish();
    assert_eq!((bench.starts.len(), bench.wrong), (5, 0));
}

#[test]
fn an_fpdu_may_fill_the_whole_ring_and_arm_puts_the_tail_back() {
    let mut bench = Bench64::new(COMMIT / 8, AT_ONCE);
    bench.plan(2, 0xFFFF_F804, RING / 4, true);
    bench.finish();
    assert_eq!((bench.tails[2], bench.wrong), (0x804, 0));
    bench.arm(2);
    bench.idle(3);
    assert_eq!(bench.wrong, 0);
}

// req: AMB-10
#[test]
fn the_tail_of_a_stream_without_a_chain_follows_what_lands_until_it_is_armed_again() {
    let mut bench = Bench64::new(COMMIT / 8, AT_ONCE);
    bench.plan(1, 0, 6, false);
    bench.plan(1, 24, 2, false);
    bench.to_offer[1].refused = 1.into();
    bench.finish();
    bench.idle(50);
    assert_eq!(
        (bench.given_up, bench.wrong),
        ([false, true, false, false], 0)
    );
    bench.arm(1);
    bench.plan(1, 0, 6, false);
    bench.finish();
    assert_eq!((bench.tails[1], bench.wrong), (24, 0));
}

/// Of a refused FPDU the dword with ULPDU_Length may be all that has landed: the ring is free up to there and no further, so that
/// the window's right edge does not move left when the stream is given up.
// req: DDP-SEC-49, AMB-10
#[test]
fn a_refused_fpdu_gives_back_no_more_than_has_landed() {
    let mut bench = Bench64::new(COMMIT / 8, AT_ONCE);
    (bench.landed[1], bench.lands) = (28, 0);
    bench.plan(1, 0, 6, false);
    bench.plan(1, 24, 2, false);
    bench.to_offer[1].refused = 1.into();
    bench.finish();
    bench.idle(50);
    assert_eq!(bench.wrong, 0);
    let mut tails = bench.tails_seen[1].clone();
    tails.dedup();
    assert_eq!(tails, [0, 8, 16, 24, 28]);
}

#[test]
fn a_seventeenth_fpdu_is_seen() {
    let block = Box::new(Fetch::<64, 8, 2, 3, 1, STREAMS>::new(&config(64)));
    let mut design = writer::write(&*block, "fetch_fault").unwrap();
    let text = &mut design.modules.last_mut().unwrap().text;
    let limit = "under_way_q != most_less_one";
    assert!(text.contains(limit), "{text}");
    *text = text.replace(limit, "under_way_q != (most_less_one + 8'h1)");
    let clock: fn(&mut Fetch<64, 8, 2, 3, 1, STREAMS>, bool) =
        |b, level| b.clock.next = level.into();
    let mut bench = Lockstep::with_fault("fetch_fault", block, &design, clock).unwrap();
    let seen = (0..100).find_map(|cycle| {
        let b = &mut bench.block;
        b.reset.next = cycle == 0;
        b.fpdu_valid.next = true;
        b.fpdu.next = Fpdu {
            dwords: 4.into(),
            ..Fpdu::default()
        };
        bench.settle().and_then(|()| bench.edge()).err()
    });
    assert!(
        matches!(seen, Some(LockstepError::Differ { .. })),
        "{seen:?}"
    );
}
