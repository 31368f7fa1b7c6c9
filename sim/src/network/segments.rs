//! A TCP engine in front of the card, which sends the segments that have arrived.
//!
//! ```text
//!  feed ─► pending ─┬─ fits the window ─► beats ─► s_axis_segment
//!            ▲      └─ held                            │
//!            │                                         ▼
//!            └── still covers the edge after a while ── sent ◄── m_axis_window (edge, limit)
//! ```
//!
//! The device may drop what it cannot keep; TCP keeps it and sends it again. A segment beyond the window is held until it
//! fits, or cut when nothing else can be sent. A FIN goes with the segment that ends at it, or alone. Streams take turns
//! segment by segment. Segments of a stream that is not armed wait.

use std::collections::VecDeque;

use fastrand::Rng;

/// Cycles without progress after which a stream sends again: more than a segment needs to change the window.
const RETRY: u64 = 128;
/// Cycles after a stream's start in which a report may still be from before it.
const SETTLE: u64 = 64;

/// All streams.
#[derive(Debug)]
pub(crate) struct Segments {
    /// Octets of a beat.
    octets: usize,
    /// Percentage of idle cycles.
    pub idle: u8,
    streams: Vec<Sender>,
    turn: usize,
    sending: Option<Sending>,
    /// `beat` is on the bus and not yet accepted.
    held: bool,
    beat: SegmentBeat,
    /// Cycle of the first beat accepted.
    pub first_beat: Option<u64>,
    /// Cycle of the last one.
    pub last_beat: Option<u64>,
    /// Cycle of the last change of a window.
    pub last_change: u64,
    /// Cycle of the last beat of a segment sent for the first time.
    pub last_new: u64,
}

/// A beat of `s_axis_segment`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SegmentBeat {
    /// Octets, lane 0 first; one per lane, zeros after the last valid one.
    pub octets: Vec<u8>,
    pub keep: u64,
    pub last: bool,
    pub stream: u8,
    pub sequence: u32,
    /// What follows the segment's last octet.
    pub tail: Tail,
}

/// What follows the last octet of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tail {
    /// More octets, or nothing yet.
    #[default]
    More,
    /// The peer's FIN.
    Fin,
    /// Nothing: the connection is lost.
    Abort,
}

/// The segment that is being sent.
#[derive(Debug)]
struct Sending {
    stream: usize,
    segment: TcpSegment,
    at: usize,
}

#[derive(Clone, Debug)]
struct TcpSegment {
    sequence: u32,
    octets: Vec<u8>,
    tail: Tail,
    /// Sent once, regardless of the window.
    injected: bool,
    /// It was sent before.
    again: bool,
}

impl TcpSegment {
    fn end(&self) -> u32 {
        self.sequence.wrapping_add(self.octets.len() as u32)
    }

    fn covers(&self, edge: u32) -> bool {
        distance(self.sequence, edge) >= 0 && distance(edge, self.end()) > 0
    }
}

/// Distance from one sequence number to another, negative when the other lies before.
pub(crate) fn distance(from: u32, to: u32) -> i32 {
    to.wrapping_sub(from) as i32
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    edge: u32,
    limit: u32,
}

#[derive(Debug, Default)]
struct Sender {
    /// The stream is armed, and reports are valid from this cycle on.
    opens: Option<u64>,
    window: Option<Window>,
    pending: VecDeque<TcpSegment>,
    sent: Vec<TcpSegment>,
    /// Nothing in `pending` fits, until the window or `pending` changes.
    blocked: bool,
    /// Cycle of the last progress.
    progress: u64,
}

impl Sender {
    /// Whether a segment may be sent.
    fn fits(&self, segment: &TcpSegment) -> bool {
        match (segment.tail, self.window) {
            // Behind what arrived in front of it, which waits for the first window of an armed stream.
            (Tail::Abort, window) => window.is_some() || self.opens.is_none(),
            _ if segment.injected => true,
            (_, window) => window.is_some_and(|window| distance(segment.end(), window.limit) >= 0),
        }
    }

    /// The first segment that may be sent.
    fn next(&mut self) -> Option<TcpSegment> {
        if self.blocked {
            return None;
        }
        let position = self.pending.iter().position(|segment| self.fits(segment));
        self.blocked = position.is_none();
        position.and_then(|position| self.pending.remove(position))
    }

    /// Whether the stream has nothing to send, now or later.
    fn is_idle(&self) -> bool {
        let waits = |segment: &TcpSegment| !self.fits(segment);
        self.pending.iter().all(waits) && !self.can_retry()
    }

    fn can_retry(&self) -> bool {
        self.window.is_some_and(|Window { edge, limit }| {
            let again = self.sent.iter().any(|segment| segment.covers(edge));
            let cut = self.pending.iter().any(|segment| segment.covers(edge));
            again || cut && distance(edge, limit) > 0
        })
    }

    /// Queues again what the device lacks, or the part of it that fits.
    fn retry(&mut self, cycle: u64) {
        let Some(Window { edge, limit }) = self.window else {
            return;
        };
        if cycle < self.progress + RETRY || !self.can_retry() {
            return;
        }
        self.progress = cycle;
        self.blocked = false;
        if self.sent.iter().any(|segment| segment.covers(edge)) {
            self.sent
                .sort_by_key(|segment| distance(edge, segment.sequence));
            for segment in self.sent.drain(..).rev() {
                self.pending.push_front(TcpSegment {
                    again: true,
                    ..segment
                });
            }
        } else if let Some(at) = self.pending.iter().position(|segment| segment.covers(edge))
            && let Some(mut front) = self.pending.remove(at)
        {
            let fits = distance(front.sequence, limit).max(0) as usize;
            let rest = front.octets.split_off(fits.min(front.octets.len()));
            let rest = TcpSegment {
                sequence: front.end(),
                octets: rest,
                tail: front.tail,
                injected: false,
                again: front.again,
            };
            front.tail = Tail::More;
            for part in [rest, front] {
                if !part.octets.is_empty() {
                    self.pending.push_front(part);
                }
            }
        }
    }
}

impl Segments {
    /// `streams` streams, none of them armed, and beats of `octets`.
    pub fn new(streams: usize, octets: usize, idle: u8) -> Self {
        Self {
            octets,
            idle,
            streams: std::iter::repeat_with(Sender::default)
                .take(streams)
                .collect(),
            turn: 0,
            sending: None,
            held: false,
            beat: SegmentBeat::default(),
            first_beat: None,
            last_beat: None,
            last_change: 0,
            last_new: 0,
        }
    }

    /// A segment has arrived.
    pub fn feed(
        &mut self,
        stream: usize,
        sequence: u32,
        octets: Vec<u8>,
        tail: Tail,
        injected: bool,
    ) {
        let sender = &mut self.streams[stream];
        sender.blocked = false;
        sender.pending.push_back(TcpSegment {
            sequence,
            octets,
            tail,
            injected,
            again: false,
        });
    }

    /// The stream was armed.
    pub fn arm(&mut self, stream: usize, cycle: u64) {
        if let Some(sender) = self.streams.get_mut(stream) {
            sender.opens = Some(cycle + SETTLE);
            sender.progress = cycle;
            self.last_change = cycle + SETTLE;
        }
    }

    /// The stream is closed: its segments are dropped, except one that is half sent.
    pub fn close(&mut self, stream: usize) {
        if let Some(sender) = self.streams.get_mut(stream) {
            *sender = Sender::default();
        }
    }

    /// The card was reset.
    pub fn clear(&mut self) {
        (0..self.streams.len()).for_each(|stream| self.close(stream));
        self.sending = None;
        self.held = false;
    }

    /// Sequence number behind the last octet that the device has in order, once it has reported one.
    pub fn edge(&self, stream: usize) -> Option<u32> {
        let window = self.streams.get(stream)?.window?;
        Some(window.edge)
    }

    /// Octets that wait to be sent, copies included.
    pub fn queued(&self, stream: usize) -> usize {
        let pending = self.streams.get(stream).map(|sender| &sender.pending);
        let segments = pending.into_iter().flatten();
        segments.map(|segment| segment.octets.len()).sum()
    }

    /// Octets that the device has not accepted yet.
    pub fn untaken(&self, stream: usize) -> usize {
        let Sender {
            pending,
            sent,
            window,
            ..
        } = &self.streams[stream];
        let beyond = |segment: &&TcpSegment| {
            window.is_none_or(|window| distance(window.edge, segment.end()) > 0)
        };
        let segments = pending.iter().chain(sent).filter(beyond);
        segments.map(|segment| segment.octets.len()).sum()
    }

    /// Segments and octets that the device has not acknowledged.
    pub fn waiting(&self) -> (u64, u64) {
        let senders = self.streams.iter();
        let waiting = senders.flat_map(|sender| sender.pending.iter().chain(&sender.sent));
        let sending = self.sending.as_ref().map(|sending| &sending.segment);
        let lengths = waiting
            .chain(sending)
            .map(|segment| segment.octets.len() as u64);
        lengths.fold((0, 0), |(segments, octets), length| {
            (segments + 1, octets + length)
        })
    }

    /// Nothing to send unless the device reports or a segment is fed.
    pub fn is_idle(&self) -> bool {
        self.sending.is_none() && !self.held && self.streams.iter().all(Sender::is_idle)
    }

    /// Octets in the assembly rings of all streams, if the rings have `ring` octets each. A stream whose FPDU was refused
    /// for its length may have released more than has arrived: its ring is empty. A device in error may report anything.
    pub fn resident(&self, ring: u32) -> u64 {
        let windows = self.streams.iter().filter_map(|sender| sender.window);
        windows
            .map(|Window { edge, limit }| {
                let octets = distance(limit.wrapping_sub(ring), edge);
                octets.clamp(0, ring as i32) as u64
            })
            .sum()
    }

    /// A report on `m_axis_window`.
    pub fn report(&mut self, cycle: u64, stream: usize, edge: u32, limit: u32) {
        let Some(sender) = self.streams.get_mut(stream) else {
            return;
        };
        let window = Some(Window { edge, limit });
        if sender.opens.is_none_or(|opens| cycle < opens) || sender.window == window {
            return;
        }
        if sender.window.is_none_or(|before| before.edge != edge) {
            sender.progress = cycle;
            sender
                .sent
                .retain(|segment| distance(edge, segment.end()) > 0);
        }
        sender.window = window;
        sender.blocked = false;
        self.last_change = cycle;
    }

    /// The beat of this cycle, if there is one.
    pub fn offer(&mut self, cycle: u64, rng: &mut Rng) -> Option<&SegmentBeat> {
        if !self.held {
            if self.idle > 0 && rng.u8(..100) < self.idle.min(99) {
                return None;
            }
            if self.sending.is_none() {
                self.sending = self.choose(cycle);
            }
            let sending = self.sending.as_mut()?;
            let rest = &sending.segment.octets[sending.at..];
            let count = rest.len().min(self.octets);
            self.beat.octets.clear();
            self.beat.octets.extend_from_slice(&rest[..count]);
            self.beat.octets.resize(self.octets, 0);
            self.beat.keep = match count {
                0 => 0,
                _ => u64::MAX >> (64 - count),
            };
            self.beat.last = count == rest.len();
            self.beat.tail = match self.beat.last {
                true => sending.segment.tail,
                false => Tail::More,
            };
            self.beat.stream = sending.stream as u8;
            self.beat.sequence = sending.segment.sequence;
            self.held = true;
        }
        Some(&self.beat)
    }

    /// The device has accepted the beat of this cycle.
    pub fn taken(&mut self, cycle: u64) {
        self.held = false;
        self.first_beat.get_or_insert(cycle);
        self.last_beat = Some(cycle);
        let Some(sending) = &mut self.sending else {
            return;
        };
        sending.at += self.octets;
        if !sending.segment.again {
            self.last_new = cycle;
        }
        let sender = &mut self.streams[sending.stream];
        sender.progress = cycle;
        if self.beat.last
            && let Some(sending) = self.sending.take()
        {
            let waits = |window: Window| distance(window.edge, sending.segment.end()) > 0;
            if !sending.segment.injected && sender.window.is_some_and(waits) {
                sender.sent.push(sending.segment);
            }
        }
    }

    fn choose(&mut self, cycle: u64) -> Option<Sending> {
        let count = self.streams.len();
        for i in 0..count {
            let stream = (self.turn + i) % count;
            let sender = &mut self.streams[stream];
            let next = sender.next().or_else(|| {
                sender.retry(cycle);
                sender.next()
            });
            if let Some(segment) = next {
                self.turn = stream + 1;
                return Some(Sending {
                    stream,
                    segment,
                    at: 0,
                });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that accepts octets in order, at most `window` octets beyond the edge.
    struct Device {
        network: Segments,
        rng: Rng,
        cycle: u64,
        edges: Vec<u32>,
        window: u32,
        taken: Vec<Vec<u8>>,
        beats: Vec<SegmentBeat>,
    }

    impl Device {
        fn new(edges: &[u32], window: u32) -> Self {
            let mut network = Segments::new(edges.len(), 8, 0);
            (0..edges.len()).for_each(|stream| network.arm(stream, 0));
            Self {
                network,
                rng: Rng::with_seed(1),
                cycle: 0,
                edges: edges.to_vec(),
                window,
                taken: vec![Vec::new(); edges.len()],
                beats: Vec::new(),
            }
        }

        fn run(&mut self, cycles: u64) {
            let mut at = 0; // octets of the segment before the beat
            for _ in 0..cycles {
                for (stream, edge) in self.edges.iter().enumerate() {
                    let limit = edge.wrapping_add(self.window);
                    self.network.report(self.cycle, stream, *edge, limit);
                }
                if let Some(beat) = self.network.offer(self.cycle, &mut self.rng).cloned() {
                    self.network.taken(self.cycle);
                    let stream = usize::from(beat.stream);
                    let edge = &mut self.edges[stream];
                    let count = beat.keep.count_ones();
                    let skip = distance(beat.sequence.wrapping_add(at), *edge);
                    if (0..count as i32).contains(&skip) {
                        let new = &beat.octets[skip as usize..count as usize];
                        self.taken[stream].extend_from_slice(new);
                        *edge = edge.wrapping_add(new.len() as u32);
                    }
                    at = if beat.last { 0 } else { at + count };
                    self.beats.push(beat);
                }
                self.cycle += 1;
            }
        }
    }

    fn octets(range: std::ops::Range<usize>) -> Vec<u8> {
        range.map(|i| (i * 7 + i / 256) as u8).collect()
    }

    #[test]
    fn beats_carry_a_segment() {
        let mut device = Device::new(&[100, 0], 1000);
        device
            .network
            .feed(0, 100, octets(0..17), Tail::More, false);
        assert!(!device.network.is_idle() || device.network.untaken(0) == 17);
        device.run(100);
        let keeps: Vec<_> = device
            .beats
            .iter()
            .map(|beat| (beat.keep, beat.last))
            .collect();
        assert_eq!(keeps, [(0xFF, false), (0xFF, false), (0x01, true)]);
        assert!(
            device
                .beats
                .iter()
                .all(|beat| beat.sequence == 100 && beat.stream == 0)
        );
        assert_eq!(device.taken[0], octets(0..17));
        assert!(device.network.is_idle());
        assert_eq!(device.network.untaken(0), 0);
        assert!(
            device.network.first_beat >= Some(SETTLE),
            "not before the window is known"
        );
    }

    // req: AMB-40, MPA-RCV-26
    #[test]
    fn segments_in_any_order_and_twice_arrive_in_order() {
        let mut rng = Rng::with_seed(3);
        for start in [0, 0xFFFF_FF80] {
            let mut device = Device::new(&[start], 300);
            let whole = octets(0..2000);
            let mut cuts = vec![0, 2000];
            cuts.extend((0..20).map(|_| rng.usize(1..2000)));
            cuts.sort_unstable();
            cuts.dedup();
            let mut pieces: Vec<_> = cuts.windows(2).map(|cut| cut[0]..cut[1]).collect();
            pieces.extend(pieces.clone());
            rng.shuffle(&mut pieces);
            for piece in pieces {
                let sequence = start.wrapping_add(piece.start as u32);
                device
                    .network
                    .feed(0, sequence, whole[piece].to_vec(), Tail::More, false);
            }
            device.run(20_000);
            assert_eq!(device.taken[0], whole);
            assert!(device.network.is_idle());
            let beyond = |beat: &SegmentBeat| {
                let sent = distance(start, beat.sequence) + 8;
                sent > 2300
            };
            assert!(
                !device.beats.iter().any(beyond),
                "nothing beyond the window"
            );
        }
    }

    #[test]
    fn a_segment_larger_than_the_window_is_cut() {
        let mut device = Device::new(&[5], 64);
        device
            .network
            .feed(0, 5, octets(0..1000), Tail::More, false);
        device.run(10_000);
        assert_eq!(device.taken[0], octets(0..1000));
    }

    #[test]
    fn a_window_that_stays_shut_leaves_the_network_idle() {
        let mut device = Device::new(&[5], 0);
        device.network.feed(0, 5, octets(0..10), Tail::More, false);
        device.run(1000);
        assert!(device.network.is_idle() && device.beats.is_empty());
        assert_eq!(device.network.untaken(0), 10);
        device.window = 100;
        device.run(1000);
        assert_eq!(device.taken[0], octets(0..10));
    }

    #[test]
    fn streams_take_turns() {
        let mut device = Device::new(&[0, 0, 0], 4096);
        for stream in 0..3 {
            for i in 0..4 {
                device
                    .network
                    .feed(stream, 16 * i, octets(0..16), Tail::More, false);
            }
        }
        device.run(200);
        let lasts = device.beats.iter().filter(|beat| beat.last);
        let turns: Vec<_> = lasts.map(|beat| beat.stream).collect();
        assert_eq!(turns, [0, 1, 2].repeat(4));
    }

    /// A device that accepts nothing gets the same segments again. That is no progress; their first transmission is.
    #[test]
    fn what_is_sent_again_is_not_new() {
        let mut network = Segments::new(1, 8, 0);
        let mut rng = Rng::with_seed(1);
        network.arm(0, 0);
        network.feed(0, 0, octets(0..16), Tail::More, false);
        let mut beats = vec![];
        for cycle in SETTLE..SETTLE + 4 * RETRY {
            network.report(cycle, 0, 0, 1000);
            if network.offer(cycle, &mut rng).is_some() {
                network.taken(cycle);
                beats.push(cycle);
            }
        }
        assert!(beats.len() >= 6, "{beats:?}");
        assert_eq!(network.last_new, beats[1]);
    }

    #[test]
    fn streams_that_are_not_armed_wait_unless_injected() {
        let mut device = Device::new(&[0], 100);
        device.network.close(0);
        device.network.feed(0, 0, octets(0..8), Tail::More, false);
        device.run(1000);
        assert!(device.beats.is_empty() && device.network.is_idle());
        device.network.feed(0, 7777, octets(0..8), Tail::More, true);
        device.run(1000);
        assert_eq!(device.beats.len(), 1);
        device.network.arm(0, device.cycle);
        device.run(1000);
        assert_eq!(device.taken[0], octets(0..8));
    }

    #[test]
    fn an_unfilled_gap_ends() {
        let mut device = Device::new(&[0], 100);
        device.network.feed(0, 50, octets(0..8), Tail::More, false);
        device.run(1000);
        assert_eq!(device.beats.len(), 1, "dropped, and not sent again in vain");
        assert!(device.network.is_idle());
        device.network.feed(0, 0, octets(0..50), Tail::More, false);
        device.run(1000);
        assert_eq!(device.taken[0].len(), 58);
    }

    #[test]
    fn a_device_in_error_has_no_more_octets_than_its_ring_holds() {
        let mut device = Device::new(&[0], 100);
        device.run(1000);
        assert_eq!(device.network.resident(100), 0);
        device.edges[0] = 60;
        device.window = 40;
        device.run(1);
        assert_eq!(device.network.resident(100), 60);
        device.window = 0;
        device.edges[0] = 1 << 30;
        device.network.report(device.cycle, 0, 1 << 30, 100);
        assert_eq!(device.network.resident(100), 100);
    }

    // req: MPA-ERR-15
    #[test]
    fn a_fin_goes_behind_the_last_octet_and_an_abort_at_once() {
        let mut device = Device::new(&[100, 0], 20);
        device.network.feed(0, 100, octets(0..30), Tail::Fin, false);
        device.network.feed(1, 8, Vec::new(), Tail::Fin, false);
        device.run(500);
        device.network.feed(1, 7777, Vec::new(), Tail::Abort, true);
        device.run(100);
        assert!(device.network.is_idle());
        let tails = |stream| {
            let beats = device
                .beats
                .iter()
                .filter(move |beat| beat.stream == stream);
            let ends = beats.map(|beat| (beat.sequence, beat.keep, beat.last, beat.tail));
            ends.collect::<Vec<_>>()
        };
        // Cut to the window, with the FIN on the second part only.
        let cut = [
            (100, 0xFF, false, Tail::More),
            (100, 0xFF, false, Tail::More),
            (100, 0x0F, true, Tail::More),
            (120, 0xFF, false, Tail::More),
            (120, 0x03, true, Tail::Fin),
        ];
        assert_eq!(tails(0), cut);
        let alone = [(8, 0, true, Tail::Fin), (7777, 0, true, Tail::Abort)];
        assert_eq!(tails(1), alone);
    }

    #[test]
    fn idle_cycles_lie_between_beats() {
        let mut device = Device::new(&[0], 100_000);
        device.network.idle = 50;
        device
            .network
            .feed(0, 0, octets(0..8000), Tail::More, false);
        device.run(10_000);
        let (first, last) = (device.network.first_beat, device.network.last_beat);
        let cycles = last.unwrap() - first.unwrap();
        assert!((1500..2500).contains(&cycles), "{cycles}");
    }
}
