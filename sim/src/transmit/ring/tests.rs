//! A transmit ring by its own document, at the other end of the ports; and the same with a fault.

use super::*;

const RING: u32 = 16 << 10;
const BEAT: usize = 8;
const EMSS: u16 = 1460;
/// The numbers wrap soon.
const START: u32 = u32::MAX - 5000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    TransmitFalls,
    TransmitChanges,
    StatusChanges,
    WrongNumber,
    WrongStream,
    OtherOrder,
    ShortKeep,
    EarlyLast,
    NoLast,
    Changed,
    Unasked,
    Refuses,
    EdgeBack,
    FreeTooMany,
    FreeTooFew,
    BoundaryBehind,
}

/// A stream that lives.
#[derive(Default)]
struct Live {
    octets: Vec<u8>,
    boundaries: Vec<usize>,
    acknowledged: usize,
}

/// Octets of a range that leave: stream, sequence number, the rest.
type Leaving = (u8, u32, Vec<u8>);

struct Device {
    fault: Fault,
    live: Vec<Option<Live>>,
    sends: VecDeque<Leaving>,
    reports: VecDeque<([u32; 3], u8)>,
    /// The beat that is offered: words, keep, last, stream, number.
    beat: Option<([u32; 2], u64, bool, u8, u32)>,
    report: Option<([u32; 3], u8)>,
    command: Option<(u64, u8)>,
    /// No beat is offered in the next cycle.
    pauses: bool,
}

impl Device {
    fn new(fault: Fault) -> Self {
        Self {
            fault,
            live: (0..4).map(|_| None).collect(),
            sends: VecDeque::new(),
            reports: VecDeque::new(),
            beat: None,
            report: None,
            command: None,
            pauses: false,
        }
    }

    fn arm(&mut self, stream: u8) {
        self.live[usize::from(stream)] = Some(Live::default());
    }

    /// An FPDU becomes visible.
    fn move_edge(&mut self, stream: u8, fpdu: &[u8]) {
        let live = self.live[usize::from(stream)].as_mut().unwrap();
        live.octets.extend(fpdu);
        live.boundaries.push(live.octets.len());
        self.push_report(stream, ports::MOVED, 0);
    }

    fn push_report(&mut self, stream: u8, kind: u64, octets: u16) {
        let none = Live::default();
        let live = self.live[usize::from(stream)].as_ref().unwrap_or(&none);
        let mut edge = START.wrapping_add(live.octets.len() as u32);
        let mut free = RING - (live.octets.len() - live.acknowledged) as u32;
        match self.fault {
            Fault::EdgeBack if live.octets.len() > 5000 => edge = edge.wrapping_sub(3000),
            Fault::FreeTooMany => free += 4,
            Fault::FreeTooFew => free -= 4,
            _ => {}
        }
        let word = u32::from(octets) | (kind as u32) << (ports::STATUS_KIND - 64);
        self.reports.push_back(([edge, free, word], stream));
    }

    fn execute(&mut self, (word, stream): (u64, u8)) {
        let sequence = (word >> ports::COMMAND_SEQUENCE) as u32;
        let octets = (word >> ports::COMMAND_LENGTH) as u16;
        let kind = word >> ports::COMMAND_KIND & 3;
        let position = sequence.wrapping_sub(START) as usize;
        let refuses = self.fault == Fault::Refuses && octets > 0;
        let live = self.live[usize::from(stream)].as_mut();
        let Some(live) = live.filter(|_| !refuses) else {
            if kind != ports::ACKNOWLEDGE {
                self.push_report(stream, ports::REFUSED, 0);
            }
            return;
        };
        let end = position + usize::from(octets);
        let inside = live.acknowledged <= position && position < live.octets.len();
        if kind == ports::ACKNOWLEDGE {
            assert!(live.acknowledged < position && position <= live.octets.len());
            live.acknowledged = position;
        } else if kind == ports::SEND && inside && octets > 0 && end <= live.octets.len() {
            let range = live.octets[position..end].to_vec();
            self.sends.push_back((stream, sequence, range));
        } else if kind == ports::MEASURE && inside {
            let reached = live
                .boundaries
                .iter()
                .filter(|b| (position + 1..=end).contains(*b));
            let mut found = reached.max().map_or(0, |boundary| boundary - position) as u16;
            if self.fault == Fault::BoundaryBehind {
                found = octets + 4;
            }
            self.push_report(stream, ports::ANSWER, found);
        } else {
            self.push_report(stream, ports::REFUSED, 0);
        }
        if self.fault == Fault::Changed && kind == ports::SEND {
            let octets = &mut live_mut(&mut self.live, stream).octets;
            if let Some(octet) = octets.get_mut((position + end) / 2) {
                *octet ^= 1;
            }
        }
        if self.fault == Fault::Unasked {
            self.push_report(stream, ports::ANSWER, 4);
        }
    }

    /// What is valid from now on.
    fn fill(&mut self, rng: &mut Rng) {
        if self.command.is_some() && self.sends.len() < 9 && rng.bool() {
            let command = self.command.take().unwrap();
            self.execute(command);
        }
        if self.report.is_none() && rng.bool() {
            self.report = self.reports.pop_front();
        }
        if self.beat.is_some() || std::mem::take(&mut self.pauses) || rng.u8(..4) == 0 {
            return;
        }
        if self.fault == Fault::OtherOrder && self.sends.len() > 1 {
            self.sends.swap(0, 1);
        }
        let Some((stream, sequence, rest)) = self.sends.front_mut() else {
            return;
        };
        let count = rest.len().min(BEAT);
        let mut lanes = [0xEE; BEAT];
        lanes[..count].copy_from_slice(&rest[..count]);
        rest.drain(..count);
        let words: [u32; 2] =
            std::array::from_fn(|i| u32::from_le_bytes(lanes[4 * i..][..4].try_into().unwrap()));
        let mut beat = (
            words,
            u64::MAX >> (64 - count),
            rest.is_empty(),
            *stream,
            *sequence,
        );
        match self.fault {
            Fault::WrongNumber => beat.4 = beat.4.wrapping_add(1),
            Fault::WrongStream => beat.3 ^= 1,
            Fault::ShortKeep => beat.1 >>= 1,
            Fault::EarlyLast => beat.2 = true,
            Fault::NoLast => beat.2 = false,
            _ => {}
        }
        if rest.is_empty() {
            self.sends.pop_front();
        }
        self.beat = Some(beat);
    }
}

fn live_mut(live: &mut [Option<Live>], stream: u8) -> &mut Live {
    live[usize::from(stream)].as_mut().unwrap()
}

struct Run {
    ring: Ring,
    device: Device,
    rng: Rng,
    cycle: u64,
}

impl Run {
    fn new(fault: Fault, seed: u64) -> Self {
        let config = Config {
            ring_octets: RING as usize,
            transmit: true,
            ..Config::simulated(64)
        };
        let options = CardOptions {
            seed,
            resend: 30,
            ..CardOptions::default()
        };
        Self {
            ring: Ring::new(&config, &options),
            device: Device::new(fault),
            rng: Rng::with_seed(seed),
            cycle: 0,
        }
    }

    fn arm(&mut self, stream: u8) {
        self.device.arm(stream);
        self.ring.follow(SendEvent::Armed {
            stream,
            sequence: START,
            emss: EMSS,
        });
    }

    fn step(&mut self) -> Result<(), Rule> {
        let Self {
            ring,
            device,
            rng,
            cycle,
        } = self;
        *cycle += 1;
        let offer = ring.offer(&BackPressure::RANDOM, rng);
        let send_ready = device.command.is_none();
        device.fill(rng);
        let (words, keep, last, dest, user) = device.beat.unwrap_or_default();
        let (report, report_dest) = device.report.unwrap_or_default();
        let wires = Wires {
            send_ready,
            transmit_valid: device.beat.is_some(),
            data: &words,
            keep,
            last,
            dest,
            user,
            status_valid: device.report.is_some(),
            report: &report,
            report_dest,
        };
        ring.take(*cycle, &wires)
            .map_err(|violation| violation.rule)?;
        if send_ready {
            device.command = device.command.or(offer.command);
        }
        match device.fault {
            Fault::TransmitFalls => device.pauses = device.beat.take().is_some(),
            Fault::TransmitChanges if device.beat.is_some() => {
                device.beat = Some((words.map(|word| !word), keep, last, dest, user));
            }
            Fault::StatusChanges if device.report.is_some() => {
                device.report = Some((report.map(|word| word ^ 4), report_dest));
            }
            _ => {}
        }
        if offer.transmit_ready {
            device.beat = None;
        }
        if offer.status_ready {
            device.report = None;
        }
        Ok(())
    }

    /// Runs until TCP has nothing to do, and the device has executed all commands.
    fn settle(&mut self) {
        while !self.ring.is_idle()
            || self.device.command.is_some()
            || !self.device.reports.is_empty()
        {
            self.step().unwrap();
        }
    }

    /// FPDUs of several lengths on two streams, whose connections accept some octets now and then: the segments that left.
    fn traffic(&mut self, cycles: u64) -> Result<[Vec<Vec<u8>>; 2], Rule> {
        let mut segments = [vec![], vec![]];
        for _ in 0..cycles {
            self.step()?;
            let stream = self.rng.u8(..2);
            let live = live_mut(&mut self.device.live, stream);
            let used = live.octets.len() - live.acknowledged;
            if used + 1460 < RING as usize && self.rng.u8(..60) == 0 {
                let length = 4 * self.rng.usize(5..365);
                let first = live.octets.len();
                let fpdu: Vec<u8> = (first..first + length)
                    .map(|i| (i * 7 + i / 256) as u8)
                    .collect();
                self.device.move_edge(stream, &fpdu);
            }
            let rate = if self.rng.u8(..2) == 0 { 20 } else { 200 };
            if self.rng.u32(..rate) == 0
                && let Some(octets) = self.ring.octets(stream).unwrap().first()
            {
                let octets = octets.to_vec();
                self.ring.accept(stream, octets.len());
                segments[usize::from(stream)].push(octets);
            }
        }
        Ok(segments)
    }
}

#[test]
fn segments_are_whole_fpdus_in_order_and_all_are_acknowledged() {
    for seed in 0..20 {
        let mut run = Run::new(Fault::None, seed);
        run.arm(0);
        run.arm(1);
        let segments = run.traffic(30_000).unwrap();
        for (stream, segments) in segments.iter().enumerate() {
            let live = run.device.live[stream].as_ref().unwrap();
            let (mut at, mut fpdus) = (0, 0);
            for segment in segments {
                let octets = &live.octets[at..at + segment.len()];
                assert_eq!(segment, octets, "seed {seed}");
                assert!(segment.len() <= EMSS.into());
                at += segment.len();
                let index = live.boundaries.iter().position(|boundary| *boundary == at);
                fpdus = index.expect("an FPDU boundary") + 1;
            }
            assert!(fpdus > segments.len(), "some segments have several");
            assert!(at > 30_000, "{at} octets");
        }
        assert!(run.ring.resent > 1000, "{}", run.ring.resent);
        run.settle();
        for stream in 0..2 {
            while let Some(segment) = run.ring.octets(stream).unwrap().first() {
                let count = segment.len();
                run.ring.accept(stream, count);
            }
            assert!(run.ring.is_drained(stream));
        }
        run.settle();
        for live in run.device.live.iter().flatten() {
            assert_eq!(live.acknowledged, live.octets.len());
        }
    }
}

#[test]
fn a_new_owner_gets_nothing_of_the_former_one() {
    for seed in 0..200 {
        let mut run = Run::new(Fault::None, seed);
        run.arm(0);
        run.arm(1);
        let cycles = run.rng.u64(100..4000);
        run.traffic(cycles).unwrap();
        run.ring.close(0);
        while run.ring.offers(0) {
            run.step().unwrap();
        }
        for _ in 0..run.rng.u8(..40) {
            run.step().unwrap();
        }
        // The device closes: no command of the stream is executed any more. One that was accepted may still be.
        run.device.live[0] = None;
        while run.device.command.is_some_and(|(_, stream)| stream == 0) {
            run.step().unwrap();
        }
        assert_eq!(run.ring.octets(0).unwrap().octets(), 0);
        run.arm(0);
        let segments = run.traffic(8000).unwrap();
        let live = run.device.live[0].as_ref().unwrap();
        let octets = segments[0].concat();
        assert!(octets.len() > 2000, "seed {seed}: {}", octets.len());
        assert_eq!(octets, live.octets[..octets.len()], "seed {seed}");
    }
}

#[test]
fn the_edge_is_asked_for_before_a_stream_is_drained() {
    let mut run = Run::new(Fault::None, 1);
    assert!(run.ring.is_drained(0), "not armed");
    run.arm(0);
    run.device.move_edge(0, &[7; 40]);
    run.device.reports.clear(); // the report is late
    run.ring.probe(0);
    while run.ring.is_probing(0) {
        run.step().unwrap();
    }
    assert!(!run.ring.is_drained(0));
    while !run.ring.is_idle() {
        run.step().unwrap();
    }
    assert_eq!(run.ring.octets(0).unwrap().first(), Some(&[7; 40][..]));
    assert!(!run.ring.is_drained(0));
    run.ring.accept(0, 40);
    assert!(
        run.ring.is_drained(0) && !run.ring.is_idle(),
        "to be acknowledged"
    );
    run.settle();
    assert_eq!(run.device.live[0].as_ref().unwrap().acknowledged, 40);
}

#[test]
fn an_fpdu_longer_than_a_segment_is_cut() {
    let mut run = Run::new(Fault::None, 1);
    run.arm(0);
    run.ring.follow(SendEvent::Emss {
        stream: 0,
        emss: 512,
    });
    run.device.move_edge(0, &[1; 1200]);
    run.device.move_edge(0, &[2; 100]);
    run.device.move_edge(0, &[3; 412]);
    run.device.move_edge(0, &[4; 404]);
    for _ in 0..4000 {
        run.step().unwrap();
    }
    let mut lengths = vec![];
    while let Some(segment) = run.ring.octets(0).unwrap().first().map(<[u8]>::to_vec) {
        run.ring.accept(0, segment.len());
        lengths.push(segment.len());
    }
    // The rest of the long one leaves with the next one that fits.
    assert_eq!(lengths, [512, 512, 176 + 100, 412, 404]);
}

#[test]
fn each_rule_is_watched() {
    let range = |rule: &Rule| matches!(rule, Rule::Range { .. });
    let beat = |rule: &Rule| matches!(rule, Rule::Beat { .. });
    let report = |rule: &Rule| matches!(rule, Rule::Report { .. });
    let edge = |rule: &Rule| matches!(rule, Rule::Edge { .. });
    type Expected = fn(&Rule) -> bool;
    let faults: [(Fault, Expected); 16] = [
        (Fault::TransmitFalls, |rule| *rule == Rule::ValidFell),
        (Fault::TransmitChanges, |rule| *rule == Rule::PayloadChanged),
        (Fault::StatusChanges, |rule| *rule == Rule::PayloadChanged),
        (Fault::WrongNumber, range),
        (Fault::WrongStream, range),
        (Fault::OtherOrder, range),
        (Fault::ShortKeep, beat),
        (Fault::EarlyLast, beat),
        (Fault::NoLast, beat),
        (Fault::Changed, |rule| matches!(rule, Rule::Resent { .. })),
        (Fault::Unasked, report),
        (Fault::Refuses, report),
        (Fault::EdgeBack, edge),
        (Fault::FreeTooMany, edge),
        (Fault::FreeTooFew, edge),
        (Fault::BoundaryBehind, |rule| {
            matches!(rule, Rule::Boundary { .. })
        }),
    ];
    for (fault, expected) in faults {
        let mut run = Run::new(fault, 3);
        run.arm(0);
        run.arm(1);
        let found = run.traffic(60_000).map(drop);
        let rule = found.expect_err(&format!("{fault:?} is not found"));
        assert!(expected(&rule), "{fault:?}: {rule}");
    }
}
