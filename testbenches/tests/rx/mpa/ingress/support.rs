//! The receive path up to the commit buffer, and what must come out of it.

use fastrand::Rng;
use std::collections::VecDeque;
use warpline_hdl::Config;
use warpline_hdl::parts::lane_ram;
use warpline_hdl::records::{DdpSegment, Verdict};
use warpline_hdl::rx::mpa::ingress::Ingress;
use warpline_regmap::layout::refused;
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::octets::{lowest, noisy_beat, octets};
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};
use warpline_wire::error_number::Detail;
use warpline_wire::receive::{Framing, FramingConfig};
use warpline_wire::send::{CrcField, FpduWriter};
use warpline_wire::{crc, marker, mpa};

pub const STREAMS: usize = 4;
pub const RING: usize = 8 << 10;
/// Cycles after `close` until nothing of the stream moves in front of `scan` any more (see `control`).
pub const SETTLE: usize = warpline_hdl::host::control::SETTLE as usize;
/// Cycles without progress after which a sender sends again what is not acknowledged.
pub const TIMEOUT: usize = 150;

pub const fn config(width: usize) -> Config {
    Config {
        ring_octets: RING,
        commit_octets: RING,
        ..Config::simulated(width)
    }
}

/// An FPDU as `warpline_wire` sees it.
#[derive(Clone, Debug)]
pub struct Expected {
    pub position: u32,
    pub ulpdu: u16,
    pub refused: u64,
    /// Octets on the wire, and without markers.
    pub wire: Vec<u8>,
    pub content: Vec<u8>,
    /// What the first wrong marker should have held, and held.
    pub marker: Option<(u16, u16)>,
}

impl Expected {
    /// Finds the one FPDU that begins `wire`.
    pub fn of(position: u32, markers: bool, wire: &[u8]) -> Self {
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

    pub fn crc(&self) -> (u32, u32) {
        let (covered, field) = self.wire.split_last_chunk().unwrap();
        (crc::crc32c(covered), crc::from_wire(*field))
    }
}

/// A TCP connection and the FPDUs in it.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    pub armed: bool,
    pub start: u32,
    pub markers: bool,
    pub crc: bool,
    pub wire: Vec<u8>,
    pub fpdus: VecDeque<Expected>,
    /// Position of the next octet to send, acknowledged up to, free up to; and when the latter moved.
    pub next: usize,
    pub acked: usize,
    /// Behind the last octet that was sent, gaps or not.
    pub furthest: usize,
    pub limit: usize,
    pub moved: usize,
    /// FPDUs between `issued` and `consumed`.
    pub under_way: usize,
    pub closed: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub fpdus: usize,
    pub with_markers: usize,
    pub bad_crc: usize,
    pub wrong_marker: usize,
    pub refused: usize,
    pub closed_early: usize,
    pub sent_again: usize,
    pub dropped: usize,
    pub segments: usize,
    pub octets: usize,
    /// Octets of streams that are closed now.
    pub of_closed: usize,
}

pub struct Bench<
    const W: usize,
    const K: usize,
    const D: usize,
    const H: usize,
    const LOGK: usize,
    const LOGD: usize,
> {
    pub lockstep: Lockstep<Ingress<W, K, D, H, LOGK, LOGD, STREAMS>>,
    pub rng: Rng,
    pub streams: [Stream; STREAMS],
    /// Beats of the segment that is being sent.
    pub beats: VecDeque<(usize, u32, Vec<u8>, bool)>,
    pub segments: VecDeque<DdpSegment>,
    pub verdicts: VecDeque<Verdict>,
    /// FPDUs that are checked and to be read: first row, rows, octets, rows read.
    pub readable: VecDeque<(usize, usize, Vec<u8>, usize)>,
    pub reads: VecDeque<Vec<Option<u8>>>,
    pub segment_cycles: Vec<usize>,
    /// FPDUs with faults.
    pub faults: bool,
    pub check: Rhythm,
    pub place: Rhythm,
    pub segments_sent: usize,
    pub cycle: usize,
    pub wrong: usize,
    pub seen: Seen,
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
    pub fn new(seed: u64) -> Self {
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
    pub fn reset(&mut self) {
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

    pub fn arm(&mut self, stream: usize, start: u32, markers: bool, crc: bool) {
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
    pub fn fill(&mut self, stream: usize) {
        let Stream { next, furthest, .. } = &mut self.streams[stream];
        if *next < *furthest {
            let (from, length) = (*next, *furthest - *next);
            *next = *furthest;
            self.segment(stream, from, length);
        }
    }

    pub fn close(&mut self, stream: usize) {
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
        // takes effect a cycle later
        self.cycle(false);
        self.streams[stream].armed = false;
        self.streams[stream].closed = self.cycle;
        (0..SETTLE).for_each(|_| self.cycle(false));
        let stream = &mut self.streams[stream];
        self.seen.of_closed += stream.acked;
        self.seen.closed_early += usize::from(stream.fpdus.len() > stream.under_way);
    }

    /// Closes a stream right behind its last beat: cycles from the close to the last one in which anything of it moves.
    pub fn rests_after(&mut self, stream: usize) -> usize {
        let moves = |bench: &Self| {
            let b = &bench.lockstep.block;
            let edge = b.edge_sequence[stream].val();
            (b.octets.val(), b.segments.val(), b.issued.val(), edge)
        };
        let b = &mut self.lockstep.block;
        b.close.next = true;
        b.stream.next = (stream as u64).into();
        let (mut before, mut rest) = (moves(self), 0);
        for cycle in 0..=200 {
            self.cycle(false);
            self.lockstep.block.close.next = false;
            let now = moves(self);
            let still = now.3 == before.3 && now.0 == 0 && !now.1 && !now.2;
            if !still {
                rest = cycle;
            }
            before = now;
        }
        self.streams[stream].armed = false;
        rest
    }

    /// Appends an FPDU with `ulpdu` octets, and some fault.
    pub fn append(&mut self, stream: usize, ulpdu: usize) {
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
    pub fn append_refused(&mut self, stream: usize) {
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
    pub fn segment(&mut self, stream: usize, from: usize, length: usize) {
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
    pub fn send_something(&mut self) {
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

    pub fn cycle(&mut self, send: bool) {
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
    pub fn judge(&mut self, segment: DdpSegment, verdict: Verdict) {
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
            self.wrong += self.lockstep.mismatch(true);
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
        self.wrong += self.lockstep.mismatch(!same);
        self.readable.push_back((row, rows, expected.content, 0));
    }

    /// Reads the oldest FPDU that `check` has taken, K octets a cycle from any octet on, and frees its rows.
    pub fn read(&mut self) {
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

    pub fn compare(&mut self) {
        let b = &self.lockstep.block;
        if self.reads.len() > lane_ram::LATENCY {
            let found = octets(b.read_data.val());
            let expected = self.reads.pop_front().unwrap();
            let same = |(expected, found): (&Option<u8>, &u8)| expected.is_none_or(|e| e == *found);
            self.wrong += self
                .lockstep
                .mismatch(!expected.iter().zip(&found).all(same));
        }
        if b.issued.val() {
            let stream = b.issued_stream.val().index();
            // none is issued when its stream is closed
            self.wrong += self.lockstep.mismatch(!self.streams[stream].armed);
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
        self.wrong += self
            .lockstep
            .mismatch(self.segments.len() > 16 || under_way > 16 + 16 + 1);
        self.wrong += self.lockstep.mismatch(!b.s_axis_segment.tready.val());
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
    pub fn traffic(&mut self, fpdus: usize) {
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
    pub fn drain(&mut self) {
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

pub type Bench64 = Bench<64, 8, 2, 32, 3, 1>;
