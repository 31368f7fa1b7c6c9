//! `ingress`: TCP streams with and without markers, cut, sent twice, too early or too late, in lockstep; what reaches the
//! commit buffer is what `warpline_wire` finds in the streams.
//!
//! ```text
//!  FpduWriter ─► faults ─► TCP sender ─ segments ─►┌─────────┐─ Segment ────┐
//!      └──────► Framing                  arm,close │ ingress │─ Verdict ────┴► Host: as Framing says?
//!               └─► Expected ◄─ edge, limit ───────└─────────┘◄ rows, freed, consumed ─┘
//! ```

use fastrand::Rng;
use std::collections::VecDeque;
use warpline_hdl::Config;
use warpline_hdl::parts::lane_ram;
use warpline_hdl::records::{Segment, Verdict};
use warpline_hdl::rx::mpa::ingress::Ingress;
use warpline_regmap::layout::refused;
use warpline_testbenches::lockstep::{Lockstep, on_large_stack};
use warpline_testbenches::octets::{lowest, noisy_beat, octets};
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};
use warpline_wire::error::Detail;
use warpline_wire::receive::{Framing, FramingConfig};
use warpline_wire::send::{CrcField, FpduWriter};
use warpline_wire::{crc, marker, mpa};

const STREAMS: usize = 4;
const RING: usize = 8 << 10;
/// Cycles after `close` until nothing of the stream moves in front of `scan` any more (see `control`).
const SETTLE: usize = 64;
/// Cycles without progress after which a sender sends again what is not acknowledged.
const TIMEOUT: usize = 150;

const fn config(width: usize) -> Config {
    Config {
        ring_octets: RING,
        commit_octets: RING,
        ..Config::simulated(width)
    }
}

/// An FPDU as `warpline_wire` sees it.
#[derive(Clone, Debug)]
struct Expected {
    position: u32,
    ulpdu: u16,
    refused: u64,
    /// Octets on the wire, and without markers.
    wire: Vec<u8>,
    content: Vec<u8>,
    /// What the first wrong marker should have held, and held.
    marker: Option<(u16, u16)>,
}

impl Expected {
    /// Finds the one FPDU that begins `wire`.
    fn of(position: u32, markers: bool, wire: &[u8]) -> Self {
        let config = FramingConfig {
            markers,
            crc: false,
            max_fpdu: RING,
            ..FramingConfig::default()
        };
        let mut framing = Framing::at(position, config);
        let place = |octet: usize| position.wrapping_add(octet as u32);
        let is_marker = |octet: usize| markers && marker::is_due(place(octet) & !3);
        let mut content: Vec<u8> = (0..wire.len())
            .filter(|octet| !is_marker(*octet))
            .map(|octet| wire[octet])
            .collect();
        let mut expected = Self {
            position,
            ulpdu: u16::from_be_bytes([content[0], content[1]]),
            refused: 0,
            wire: wire.to_vec(),
            content: vec![],
            marker: None,
        };
        match framing.push(&mut &wire[..]) {
            Ok(ulpdu) => {
                let ulpdu = ulpdu.expect("a whole FPDU");
                assert_eq!(ulpdu.fpdu_len, wire.len());
                assert_eq!(ulpdu.octets, &content[2..2 + ulpdu.octets.len()]);
            }
            Err(error) => match error.detail {
                Detail::Marker {
                    expected: due,
                    received,
                    ..
                } => {
                    expected.marker = Some((due, received & marker::FPDUPTR_MASK));
                }
                Detail::Length { .. } => expected.refused = refused::LENGTH.into(),
                Detail::TooLarge { .. } => expected.refused = refused::TOO_LARGE.into(),
                detail => panic!("{detail:?}"),
            },
        }
        if expected.refused != 0 {
            content.clear();
        }
        expected.content = content;
        expected
    }

    fn crc(&self) -> (u32, u32) {
        let (covered, field) = self.wire.split_last_chunk().unwrap();
        (crc::crc32c(covered), crc::from_wire(*field))
    }
}

/// A TCP connection and the FPDUs in it.
#[derive(Clone, Debug, Default)]
struct Stream {
    armed: bool,
    start: u32,
    markers: bool,
    crc: bool,
    wire: Vec<u8>,
    fpdus: VecDeque<Expected>,
    /// Position of the next octet to send, acknowledged up to, free up to; and when the latter moved.
    next: usize,
    acked: usize,
    /// Behind the last octet that was sent, gaps or not.
    furthest: usize,
    limit: usize,
    moved: usize,
    /// FPDUs between `issued` and `consumed`.
    under_way: usize,
    closed: usize,
}

#[derive(Clone, Debug, Default)]
struct Seen {
    fpdus: usize,
    with_markers: usize,
    bad_crc: usize,
    wrong_marker: usize,
    refused: usize,
    closed_early: usize,
    sent_again: usize,
    dropped: usize,
    segments: usize,
    octets: usize,
    /// Octets of streams that are closed now.
    of_closed: usize,
}

struct Bench<
    const W: usize,
    const K: usize,
    const D: usize,
    const H: usize,
    const LOGK: usize,
    const LOGD: usize,
> {
    lockstep: Lockstep<Ingress<W, K, D, H, LOGK, LOGD, STREAMS>>,
    rng: Rng,
    streams: [Stream; STREAMS],
    /// Beats of the segment that is being sent.
    beats: VecDeque<(usize, u32, Vec<u8>, bool)>,
    segments: VecDeque<Segment>,
    verdicts: VecDeque<Verdict>,
    /// FPDUs that are checked and to be read: first row, rows, octets, rows read.
    readable: VecDeque<(usize, usize, Vec<u8>, usize)>,
    reads: VecDeque<Vec<Option<u8>>>,
    segment_cycles: Vec<usize>,
    /// FPDUs with faults.
    faults: bool,
    check: Rhythm,
    place: Rhythm,
    segments_sent: usize,
    cycle: usize,
    wrong: usize,
    seen: Seen,
}

impl<
    const W: usize,
    const K: usize,
    const D: usize,
    const H: usize,
    const LOGK: usize,
    const LOGD: usize,
> Bench<W, K, D, H, LOGK, LOGD>
{
    fn new(seed: u64) -> Self {
        let block = Box::new(Ingress::new(&config(W)));
        let top = format!("ingress_{W}");
        let lockstep = Lockstep::new(&top, block, |b, level| b.clock.next = level.into());
        let mut bench = Self {
            lockstep: lockstep.unwrap_or_else(|e| panic!("{e}")),
            rng: Rng::with_seed(seed),
            streams: Default::default(),
            beats: VecDeque::new(),
            segments: VecDeque::new(),
            verdicts: VecDeque::new(),
            readable: VecDeque::new(),
            reads: VecDeque::new(),
            segment_cycles: vec![],
            faults: true,
            check: Rhythm::new(Pace::Always),
            place: Rhythm::new(Pace::Always),
            segments_sent: 0,
            cycle: 0,
            wrong: 0,
            seen: Seen::default(),
        };
        bench.reset();
        bench
    }

    /// Resets the block for as long as its longest line without reset is.
    fn reset(&mut self) {
        self.lockstep.block.reset.next = true;
        self.lockstep.block.s_axis_segment.tvalid.next = false;
        for _ in 0..40 {
            self.lockstep.settle().unwrap();
            self.lockstep.edge().unwrap();
        }
        self.lockstep.block.reset.next = false;
        self.streams = Default::default();
        self.beats.clear();
        self.segments.clear();
        self.verdicts.clear();
        self.readable.clear();
        self.reads.clear();
        self.segments_sent = 0;
        self.seen.octets = 0;
        self.seen.of_closed = 0;
        self.seen.segments = 0;
    }

    fn arm(&mut self, stream: usize, start: u32, markers: bool, crc: bool) {
        let b = &mut self.lockstep.block;
        b.arm.next = true;
        b.stream.next = (stream as u64).into();
        b.sequence_start.next = u64::from(start).into();
        b.markers.next = markers;
        b.crc.next = crc;
        self.streams[stream] = Stream {
            armed: true,
            start,
            markers,
            crc,
            moved: self.cycle,
            ..Stream::default()
        };
        self.cycle(false);
        self.lockstep.block.arm.next = false;
        // edge and limit of the former connection are still told
        (0..4).for_each(|_| self.cycle(false));
        self.streams[stream].acked = 0;
        self.streams[stream].limit = 0;
    }

    /// Sends what is missing in front of what has been sent: octets behind a gap are accepted, but not acknowledged.
    fn fill(&mut self, stream: usize) {
        let Stream { next, furthest, .. } = &mut self.streams[stream];
        if *next < *furthest {
            let (from, length) = (*next, *furthest - *next);
            *next = *furthest;
            self.segment(stream, from, length);
        }
    }

    fn close(&mut self, stream: usize) {
        self.fill(stream);
        // the TCP engine has stopped before
        while !self.beats.is_empty() {
            self.cycle(true);
        }
        let b = &mut self.lockstep.block;
        b.close.next = true;
        b.stream.next = (stream as u64).into();
        self.cycle(false);
        self.lockstep.block.close.next = false;
        // it is heard a cycle later
        self.cycle(false);
        self.streams[stream].armed = false;
        self.streams[stream].closed = self.cycle;
        (0..SETTLE).for_each(|_| self.cycle(false));
        let stream = &mut self.streams[stream];
        self.seen.of_closed += stream.acked;
        self.seen.closed_early += usize::from(stream.fpdus.len() > stream.under_way);
    }

    /// Appends an FPDU with `ulpdu` octets, and some fault.
    fn append(&mut self, stream: usize, ulpdu: usize) {
        let rng = &mut self.rng;
        let Stream {
            markers,
            wire,
            fpdus,
            ..
        } = &mut self.streams[stream];
        let position = wire.len();
        let payload: Vec<u8> = (0..ulpdu).map(|_| rng.u8(..)).collect();
        let mut writer = FpduWriter::at(position as u32, *markers, CrcField::Computed);
        let mut fpdu = vec![];
        writer.append(&[], &payload, &mut fpdu).unwrap();
        let lead = 4 * usize::from(*markers && marker::is_due(position as u32));
        if self.faults {
            // a marker that is untidy or wrong, if there is one, under a right CRC
            let due = |octet: &usize| *markers && marker::is_due((position + octet) as u32);
            let places: Vec<usize> = (0..fpdu.len()).step_by(4).filter(due).collect();
            for place in places {
                match rng.u8(0..10) {
                    0 => fpdu[place] ^= rng.u8(1..),
                    1 => fpdu[place + 3] |= 3,
                    2 => fpdu[place + rng.usize(2..4)] ^= 4 << rng.u8(0..6),
                    _ => {}
                }
            }
            let (covered, field) = fpdu.split_last_chunk_mut().unwrap();
            *field = crc::to_wire(crc::crc32c(covered));
            if chance(rng, 10) {
                // anything but ULPDU_Length
                let octet = rng.usize(lead + 2..fpdu.len());
                fpdu[octet] ^= 1 << rng.u8(0..8);
            }
        }
        fpdus.push_back(Expected::of(position as u32, *markers, &fpdu));
        wire.extend(fpdu);
    }

    /// Appends what begins with a length that is refused.
    fn append_refused(&mut self, stream: usize) {
        let rng = &mut self.rng;
        let Stream {
            markers,
            wire,
            fpdus,
            ..
        } = &mut self.streams[stream];
        let position = wire.len() as u32;
        let length = match chance(rng, 50) {
            true => rng.u16(mpa::MAX_ULPDU + 1..),
            false => rng.u16(RING as u16..mpa::MAX_ULPDU),
        };
        // more than the ring holds: the sender is not kept waiting
        let mut octets: Vec<u8> = (0..2 * RING).map(|_| rng.u8(..)).collect();
        let lead = 4 * usize::from(*markers && marker::is_due(position));
        octets[lead..lead + 2].copy_from_slice(&length.to_be_bytes());
        fpdus.push_back(Expected::of(position, *markers, &octets));
        wire.extend(octets);
    }

    /// Queues the beats of a segment.
    fn segment(&mut self, stream: usize, from: usize, length: usize) {
        let Stream { start, wire, .. } = &self.streams[stream];
        let sequence = start.wrapping_add(from as u32);
        let octets = &wire[from..from + length];
        let beats = octets.chunks(K).map(<[u8]>::to_vec).collect::<Vec<_>>();
        let last = beats.len() - 1;
        for (number, octets) in beats.into_iter().enumerate() {
            self.beats
                .push_back((stream, sequence, octets, number == last));
        }
        self.segments_sent += 1;
    }

    /// The next segment of some stream: as a rule new octets that the window has room for.
    fn send_something(&mut self) {
        let rng = &mut self.rng;
        let stream = rng.usize(0..STREAMS);
        let Stream {
            armed,
            wire,
            next,
            acked,
            furthest,
            limit,
            moved,
            ..
        } = &mut self.streams[stream];
        if !*armed || wire.is_empty() {
            return;
        }
        if *acked < *next && self.cycle > *moved + TIMEOUT {
            *next = *acked;
            *moved = self.cycle;
            self.seen.sent_again += 1;
        }
        let from = match rng.u8(0..20) {
            0 => next.saturating_sub(rng.usize(0..100)),
            1 => (*next + rng.usize(0..100)).min(wire.len()),
            _ => *next,
        };
        let most = match chance(rng, 3) {
            true => wire.len(),
            false => wire.len().min(*limit),
        };
        let length = match rng.u8(0..4) {
            0 => rng.usize(1..=2 * K),
            1 => 1460,
            _ => rng.usize(1..=1460),
        };
        let length = length.min(most.saturating_sub(from));
        if length > 0 {
            if from <= *next {
                *next = (*next).max(from + length);
            }
            *furthest = (*furthest).max(from + length);
            self.segment(stream, from, length);
        }
    }

    fn cycle(&mut self, send: bool) {
        let b = &mut self.lockstep.block;
        let beat = if send { self.beats.pop_front() } else { None };
        let s = &mut b.s_axis_segment;
        s.tvalid.next = beat.is_some();
        let idle = (self.rng.usize(0..STREAMS), self.rng.u32(..), vec![], true);
        let (stream, sequence, beat, last) = beat.unwrap_or(idle);
        s.tdata.next = noisy_beat(&mut self.rng, &beat);
        s.tkeep.next = lowest(beat.len());
        s.tlast.next = last;
        s.tdest.next = (stream as u64).into();
        s.tuser.next = u64::from(sequence).into();

        // `check` takes an FPDU when it has both of its records
        let both = !self.segments.is_empty() && !self.verdicts.is_empty();
        let consumed = both && self.check.go(&mut self.rng);
        b.consumed.next = consumed;
        if consumed {
            let segment = self.segments.pop_front().unwrap();
            let verdict = self.verdicts.pop_front().unwrap();
            self.judge(segment, verdict);
        }
        self.read();
        self.lockstep.settle().unwrap();
        self.compare();
        self.lockstep.edge().unwrap();
        self.cycle += 1;
    }

    /// Holds what came out against the stream's next FPDU, or the one of its position.
    fn judge(&mut self, segment: Segment, verdict: Verdict) {
        let stream = &mut self.streams[segment.stream.index()];
        // one behind a gap comes again in order
        let expected = if segment.ahead {
            let mut fpdus = stream.fpdus.iter();
            fpdus
                .find(|fpdu| segment.position == u64::from(fpdu.position))
                .cloned()
        } else {
            stream.fpdus.pop_front()
        };
        let Some(expected) = expected.filter(|_| stream.under_way > 0) else {
            self.wrong += 1;
            return;
        };
        stream.under_way -= 1;
        let (row, rows) = (segment.row.index(), segment.rows.index());
        let mut same = segment.position == u64::from(expected.position)
            && segment.ulpdu == u64::from(expected.ulpdu)
            && segment.refused == expected.refused
            && segment.crc == stream.crc;
        self.seen.refused += usize::from(expected.refused != 0);
        if expected.refused == 0 {
            let (computed, field) = expected.crc();
            let (state, zeros) = (verdict.state.to_u32(), verdict.zeros.index());
            same &= verdict.good == (computed == field)
                && verdict.received == u64::from(field)
                && crc::expected(state, zeros, field) == computed;
            let report = (
                verdict.marker_expected.to_u16(),
                verdict.marker_received.to_u16(),
            );
            same &= verdict.marker_wrong.then_some(report) == expected.marker;
            let headers = [
                segment.header_0,
                segment.header_1,
                segment.header_2,
                segment.header_3,
                segment.header_4,
            ];
            for (header, dword) in headers.into_iter().zip(expected.content.chunks_exact(4)) {
                same &= header == u64::from(u32::from_be_bytes(dword.try_into().unwrap()));
            }
            self.seen.fpdus += 1;
            self.seen.with_markers += usize::from(stream.markers);
            self.seen.bad_crc += usize::from(computed != field);
            self.seen.wrong_marker += usize::from(expected.marker.is_some());
        }
        self.wrong += usize::from(!same);
        self.readable.push_back((row, rows, expected.content, 0));
    }

    /// Reads the oldest FPDU that `check` has taken, K octets a cycle from any octet on, and frees its rows.
    fn read(&mut self) {
        let all = RING / K;
        let b = &mut self.lockstep.block;
        b.freed.next = false;
        let go = self.place.go(&mut self.rng);
        let Some((row, rows, content, read)) = self.readable.front_mut().filter(|_| go) else {
            self.reads.push_back(vec![None; K]);
            return;
        };
        if *read * K >= content.len() {
            b.freed.next = true;
            b.freed_rows.next = (*rows as u64).into();
            self.readable.pop_front();
            self.reads.push_back(vec![None; K]);
            return;
        }
        let lane = self.rng.usize(0..K);
        b.read_row_0.next = (((*row + *read) % all) as u64).into();
        b.read_row_1.next = (((*row + *read + 1) % all) as u64).into();
        b.read_select.next = lowest(lane);
        let octet = |at: usize| {
            content
                .get((*read + usize::from(at < lane)) * K + at)
                .copied()
        };
        self.reads.push_back((0..K).map(octet).collect());
        *read += 1;
    }

    fn compare(&mut self) {
        let b = &self.lockstep.block;
        if self.reads.len() > lane_ram::LATENCY {
            let found = octets(b.read_data.val());
            let expected = self.reads.pop_front().unwrap();
            let same = |(expected, found): (&Option<u8>, &u8)| expected.is_none_or(|e| e == *found);
            self.wrong += usize::from(!expected.iter().zip(&found).all(same));
        }
        if b.issued.val() {
            let stream = b.issued_stream.val().index();
            // none is issued when its stream is closed
            self.wrong += usize::from(!self.streams[stream].armed);
            self.streams[stream].under_way += 1;
        }
        if b.segment_valid.val() {
            self.segments.push_back(b.segment.val());
            self.segment_cycles.push(self.cycle);
        }
        if b.verdict_valid.val() {
            self.verdicts.push_back(b.verdict.val());
        }
        let under_way: usize = self.streams.iter().map(|stream| stream.under_way).sum();
        // 16 behind `fetch` or next; 16 in the queue of `scan`, one counted
        self.wrong += usize::from(self.segments.len() > 16 || under_way > 16 + 16 + 1);
        self.wrong += usize::from(!b.s_axis_segment.tready.val());
        self.seen.segments += usize::from(b.segments.val());
        self.seen.dropped += usize::from(b.segments_dropped.val());
        self.seen.octets += b.octets.val().index();
        for (number, stream) in self.streams.iter_mut().enumerate() {
            let position = |sequence: u32| sequence.wrapping_sub(stream.start) as usize;
            let acked = position(b.edge_sequence[number].val().to_u32());
            if acked != stream.acked {
                stream.acked = acked;
                stream.moved = self.cycle;
            }
            stream.limit = position(b.limit_sequence[number].val().to_u32());
        }
    }

    /// Random traffic until `fpdus` more have come through.
    fn traffic(&mut self, fpdus: usize) {
        let until = self.seen.fpdus + fpdus;
        let mut rhythm = Rhythm::new(Pace::Percent(90));
        let mut patience = fpdus * 3000 / K + 100_000;
        while self.seen.fpdus < until {
            patience -= 1;
            assert!(patience > 0, "stuck: {:?}", self.seen);
            let number = self.rng.usize(0..STREAMS);
            let stream = &self.streams[number];
            let refused = stream.fpdus.back().is_some_and(|fpdu| fpdu.refused != 0);
            let drained = stream.fpdus.is_empty() && stream.acked == stream.wire.len();
            if !stream.armed {
                let ready = stream.under_way == 0 && self.cycle > stream.closed + SETTLE;
                if ready {
                    let start = 0_u32.wrapping_sub(self.rng.u32(0..20_000));
                    let (markers, crc) = (chance(&mut self.rng, 60), chance(&mut self.rng, 80));
                    self.arm(number, start, markers, crc);
                }
            } else if (drained && refused) || self.rng.u32(0..2_000) == 0 {
                self.close(number);
            } else if !refused && stream.fpdus.len() < 5 {
                match self.rng.u16(0..200) {
                    0..=4 => self.append_refused(number),
                    5 => self.append(number, RING - 1000),
                    6..=120 => {
                        let ulpdu = self.rng.usize(0..200);
                        self.append(number, ulpdu);
                    }
                    _ => {
                        let ulpdu = self.rng.usize(0..1500);
                        self.append(number, ulpdu);
                    }
                }
            }
            if self.beats.is_empty() {
                self.send_something();
            }
            let send = rhythm.go(&mut self.rng);
            self.cycle(send);
        }
    }

    /// Lets everything that is under way come through.
    fn drain(&mut self) {
        for stream in 0..STREAMS {
            if self.streams[stream].armed {
                self.fill(stream);
            }
        }
        let busy = |bench: &Self| {
            !(bench.beats.is_empty() && bench.readable.is_empty())
                || bench.streams.iter().any(|stream| stream.under_way > 0)
        };
        let mut patience = 10_000;
        while busy(self) {
            self.cycle(true);
            patience -= 1;
            assert!(patience > 0, "stuck");
        }
        (0..100).for_each(|_| self.cycle(true));
    }
}

type Bench64 = Bench<64, 8, 2, 32, 3, 1>;

fn assert_traffic<
    const W: usize,
    const K: usize,
    const D: usize,
    const H: usize,
    const LOGK: usize,
    const LOGD: usize,
>(
    fpdus: usize,
    seed: u64,
) -> Seen {
    let mut bench = Bench::<W, K, D, H, LOGK, LOGD>::new(seed);
    for (check, place) in [
        (Pace::Always, Pace::Always),
        (Pace::Percent(5), Pace::Always),
        (Pace::Percent(50), Pace::Percent(30)),
        (Pace::Bursts(400), Pace::Bursts(400)),
    ] {
        bench.check = Rhythm::new(check);
        bench.place = Rhythm::new(place);
        bench.traffic(fpdus / 4);
    }
    bench.drain();
    let acked: usize = bench
        .streams
        .iter()
        .filter(|s| s.armed)
        .map(|s| s.acked)
        .sum();
    let seen = bench.seen;
    assert_eq!(bench.wrong, 0, "{seen:?}");
    assert_eq!(seen.octets, acked + seen.of_closed, "{seen:?}");
    assert_eq!(seen.segments, bench.segments_sent, "{seen:?}");
    seen
}

// req: MPA-FMT-07, MPA-FMT-08, MPA-FMT-09, MPA-FMT-14, MPA-MRK-12, MPA-MRK-16, MPA-MRK-21, MPA-CRC-13, MPA-CRC-14
// req: MPA-CRC-15, MPA-CRC-17, MPA-CRC-18, MPA-CRC-19, MPA-RCV-02, MPA-RCV-03, MPA-RCV-05, MPA-RCV-08, MPA-RCV-09
// req: MPA-RCV-10, MPA-RCV-11, MPA-RCV-17, MPA-RCV-19, MPA-RCV-20, MPA-RCV-25, MPA-RCV-26, MPA-RCV-31, MPA-RCV-36
// req: MPA-RCV-38, MPA-ERR-05, DDP-ORD-07, AMB-10, AMB-13, AMB-21, AMB-22, AMB-40, MPA-RCV-14
#[test]
fn streams_cut_anyhow_reach_the_commit_buffer_at_64_bits() {
    let seen = on_large_stack(|| assert_traffic::<64, 8, 2, 32, 3, 1>(320, 66));
    assert!(
        seen.with_markers > 40 && seen.bad_crc > 5 && seen.wrong_marker > 2,
        "{seen:?}"
    );
    assert!(
        seen.refused > 0 && seen.sent_again > 3 && seen.dropped > 0,
        "{seen:?}"
    );
    assert!(seen.closed_early > 0, "{seen:?}");
}

// req: MPA-FMT-14, MPA-MRK-12, MPA-MRK-21, MPA-CRC-14, MPA-CRC-15, MPA-CRC-19, MPA-RCV-17, MPA-ERR-05
#[test]
fn streams_cut_anyhow_reach_the_commit_buffer_at_512_bits() {
    let seen = on_large_stack(|| assert_traffic::<512, 64, 16, 256, 6, 4>(60, 512));
    assert!(
        seen.with_markers > 10 && seen.bad_crc > 2 && seen.wrong_marker > 1,
        "{seen:?}"
    );
}

// req: MPA-RCV-17
#[test]
fn a_beat_a_cycle_without_loss() {
    on_large_stack(|| {
        let mut bench = Bench64::new(5);
        bench.faults = false;
        bench.arm(2, 99, true, true);
        (0..40).for_each(|_| bench.append(2, 1442));
        for from in (0..bench.streams[2].wire.len()).step_by(1460) {
            let length = (bench.streams[2].wire.len() - from).min(1460);
            bench.segment(2, from, length);
        }
        let beats = bench.beats.len();
        let before = bench.cycle;
        while bench.seen.fpdus < 40 && bench.cycle < before + 2 * beats {
            bench.cycle(true);
        }
        // every segment at once, and the last FPDU checked shortly after its last beat
        assert_eq!(
            (bench.seen.dropped, bench.seen.fpdus, bench.wrong),
            (0, 40, 0)
        );
        let late = bench.cycle - before - beats;
        assert!(late < 1442 / 8 + 60, "{late} cycles behind the last beat");
    });
}

/// FPDUs that land as fast as the bus brings them are in the commit buffer at a rate of one for as many cycles as it
/// has beats, or as it takes to land, whichever is more; from one stream and from four in turn.
fn assert_rate<
    const W: usize,
    const K: usize,
    const D: usize,
    const H: usize,
    const LOGK: usize,
    const LOGD: usize,
>(
    streams: &[usize],
    markers: bool,
    ulpdu: usize,
    fpdus: usize,
) {
    let mut bench = Bench::<W, K, D, H, LOGK, LOGD>::new(11);
    bench.faults = false;
    for stream in streams {
        bench.arm(*stream, 5, markers, true);
        (0..fpdus).for_each(|_| bench.append(*stream, ulpdu));
    }
    let length = bench.streams[streams[0]].wire.len();
    for from in (0..length).step_by(1460) {
        for stream in streams {
            bench.segment(*stream, from, (length - from).min(1460));
        }
    }
    let octets = bench.streams[streams[0]].fpdus[1].wire.len();
    let all = fpdus * streams.len();
    let due = (bench.beats.len()).max(all * octets.div_ceil(K));
    let before = bench.cycle;
    while bench.seen.fpdus < all && bench.cycle < before + 2 * due + 200 {
        bench.cycle(true);
    }
    assert_eq!(
        (bench.seen.dropped, bench.seen.fpdus, bench.wrong),
        (0, all, 0)
    );
    let first = bench.segment_cycles[0];
    let taken = bench.segment_cycles[all - 1] - first;
    assert!(
        taken <= due + 20,
        "{W} bits, {ulpdu} octets: {taken} cycles for {due}"
    );
}

#[test]
fn small_fpdus_take_no_more_cycles_than_their_beats() {
    on_large_stack(|| {
        for markers in [false, true] {
            assert_rate::<64, 8, 2, 32, 3, 1>(&[2], markers, 20, 200);
            assert_rate::<512, 64, 16, 256, 6, 4>(&[2], markers, 20, 200);
            assert_rate::<512, 64, 16, 256, 6, 4>(&[0, 1, 2, 3], markers, 20, 50);
            assert_rate::<512, 64, 16, 256, 6, 4>(&[1], markers, 100, 60);
        }
    });
}

#[test]
fn the_header_of_an_fpdu_of_three_beats_is_known_22_cycles_after_its_last_beat() {
    on_large_stack(|| {
        let mut bench = Bench64::new(6);
        bench.faults = false;
        bench.arm(1, 1, false, true);
        bench.append(1, 16);
        bench.segment(1, 0, 24);
        (0..3).for_each(|_| bench.cycle(true));
        let last = bench.cycle - 1;
        bench.drain();
        (0..100).for_each(|_| bench.cycle(false));
        assert_eq!((bench.segment_cycles[0] - last, bench.wrong), (22, 0));
    });
}

// req: AMB-10, AMB-21, AMB-22
#[test]
fn a_stream_whose_lengths_are_lost_does_not_hold_its_sender() {
    on_large_stack(|| {
        let mut bench = Bench64::new(9);
        bench.arm(3, 0xFFFF_FFFF, true, true);
        bench.append(3, 200);
        bench.append_refused(3);
        let length = bench.streams[3].wire.len();
        bench.segment(3, 0, length);
        bench.drain();
        (0..length / 8).for_each(|_| bench.cycle(true));
        assert_eq!((bench.streams[3].acked, bench.seen.dropped), (length, 0));
        assert_eq!(
            (bench.seen.fpdus, bench.seen.refused, bench.wrong),
            (1, 1, 0)
        );
    });
}

#[test]
fn reset_in_the_middle_leaves_nothing_behind() {
    on_large_stack(|| {
        let mut bench = Bench64::new(7);
        for _ in 0..3 {
            bench.traffic(20);
            bench.reset();
        }
        bench.traffic(20);
        assert_eq!(bench.wrong, 0);
    });
}

// req: MPA-RCV-03
#[test]
fn a_scoreboard_with_another_payload_sees_it() {
    on_large_stack(|| {
        let mut bench = Bench64::new(8);
        bench.faults = false;
        bench.arm(0, 1, true, true);
        bench.append(0, 700);
        let length = bench.streams[0].wire.len();
        bench.streams[0].wire[300] ^= 1;
        bench.segment(0, 0, length);
        while bench.seen.fpdus == 0 {
            bench.cycle(true);
        }
        bench.drain();
        // the verdict on its CRC, and one row
        assert_eq!(bench.wrong, 2);
    });
}
