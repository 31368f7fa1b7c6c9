//! `deliver`: nothing is delivered before its payload is in memory, nothing overtakes, a failed write ends its stream.

use fastrand::Rng;
use rust_hdl_core::prelude::*;
use std::collections::VecDeque;
use warpline_hdl::records::Delivery;
use warpline_hdl::rx::ddp::deliver::{COMPLETE, Deliver, FENCE, LOG};
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};

const STREAMS: usize = 4;
const NOTHING: u64 = 0;

type Bench = Lockstep<Deliver<STREAMS>>;

fn bench() -> Bench {
    let mut bench = Lockstep::new(
        "deliver",
        Box::default(),
        |b: &mut Deliver<STREAMS>, level| {
            b.clock.next = level.into();
        },
    )
    .unwrap_or_else(|e| panic!("{e}"));
    for reset in [true, true, false] {
        bench.cycle(|b| b.reset.next = reset, |_| ()).unwrap();
    }
    bench
}

/// An FPDU: what it brings about, and how each of its bursts is answered (`true`: not written).
#[derive(Clone, Debug)]
struct Fpdu {
    stream: u64,
    action: u64,
    event: Bits<256>,
    answers: Vec<bool>,
}

impl Fpdu {
    fn random(rng: &mut Rng, errors: u32) -> Self {
        let action = *rng.choice(&[NOTHING, COMPLETE, COMPLETE, FENCE]).unwrap();
        let bursts = if action == FENCE { 0 } else { rng.usize(0..=3) };
        Self {
            stream: rng.u64(0..STREAMS as u64),
            action,
            event: stimulus::bits(rng),
            answers: (0..bursts).map(|_| chance(rng, errors)).collect(),
        }
    }

    fn delivery(&self) -> Delivery {
        Delivery {
            action: self.action.into(),
            stream: self.stream.into(),
            entry: self.event,
        }
    }
}

/// What comes out: each with the number of responses that must have come before.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    events: Vec<(usize, Bits<256>)>,
    /// With the number of events that must have been taken before.
    fences: Vec<(usize, usize)>,
    faults: Vec<(usize, u64)>,
}

/// The rule itself, over all FPDUs in order. Streams in `dead` deliver nothing.
fn expected(fpdus: &[Fpdu], dead: &mut [bool; STREAMS], already: usize) -> Seen {
    let mut seen = Seen::default();
    let mut answered = already;
    for fpdu in fpdus {
        answered += fpdu.answers.len();
        let dead = &mut dead[fpdu.stream as usize];
        if fpdu.action == FENCE {
            seen.fences.push((answered, seen.events.len()));
        } else if !*dead && fpdu.answers.contains(&true) {
            *dead = true;
            seen.faults.push((answered, fpdu.stream));
            // type 0, code 0, no checks, length and position 0 (regmap `error_event`)
            seen.events.push((answered, (3 | fpdu.stream << 8).into()));
        } else if !*dead && fpdu.action == COMPLETE {
            seen.events.push((answered, fpdu.event));
        }
    }
    seen
}

struct Paces {
    given: Pace,
    answered: Pace,
    taken: Pace,
}

/// Sends FPDUs through; every output is checked against the responses that have come so far.
fn send(bench: &mut Bench, rng: &mut Rng, fpdus: &[Fpdu], already: usize, paces: &Paces) -> Seen {
    let mut rhythms = [paces.given, paces.answered, paces.taken].map(Rhythm::new);
    let mut seen = Seen::default();
    let mut issued = already;
    let mut answered = already;
    let (mut given, mut quiet) = (0, 0);
    let mut answers: VecDeque<bool> = VecDeque::new();
    let (mut offering, mut answering) = (false, false);
    while quiet < 3 * (1 << LOG) {
        let [give, answer, take] = &mut rhythms;
        offering = given < fpdus.len() && (offering || give.go(rng));
        answering = !answers.is_empty() && (answering || answer.go(rng));
        let taking = take.go(rng);
        let b = &mut bench.block;
        b.s_valid.next = offering;
        if offering {
            let fpdu = &fpdus[given];
            b.s_delivery.next = fpdu.delivery();
            b.s_issued.next = ((issued + fpdu.answers.len()) as u64 & 0xffff).into();
        }
        b.b_valid.next = answering;
        b.b_error.next = answering && answers[0];
        b.m_ready.next = taking;
        bench.settle().unwrap_or_else(|e| panic!("{e}"));
        let b = &bench.block;
        let over = given == fpdus.len() && answers.is_empty() && !b.m_valid.val();
        quiet = if over { quiet + 1 } else { 0 };
        if b.m_valid.val() && taking {
            seen.events.push((answered, b.m_event.val()));
        }
        if b.m_fence.val() {
            seen.fences.push((answered, seen.events.len()));
        }
        if b.bus_fault.val() {
            seen.faults
                .push((answered, b.bus_fault_stream.val().to_u64()));
        }
        if answering && b.b_ready.val() {
            answers.pop_front();
            (answered, answering) = (answered + 1, false);
        }
        if offering && b.s_ready.val() {
            answers.extend(&fpdus[given].answers);
            issued += fpdus[given].answers.len();
            (given, offering) = (given + 1, false);
        }
        bench.edge().unwrap_or_else(|e| panic!("{e}"));
    }
    seen
}

/// The same things in the same order, none before its responses.
fn assert_delivered(seen: &Seen, expected: &Seen) {
    assert!(
        !has_early(seen, expected),
        "delivered before its payload was in memory"
    );
    let events = |seen: &Seen| {
        seen.events
            .iter()
            .map(|(_, event)| *event)
            .collect::<Vec<_>>()
    };
    let faults = |seen: &Seen| {
        seen.faults
            .iter()
            .map(|(_, stream)| *stream)
            .collect::<Vec<_>>()
    };
    assert!(events(seen) == events(expected), "events differ");
    assert_eq!(faults(seen), faults(expected));
    assert_eq!(seen.fences.len(), expected.fences.len());
}

fn has_early(seen: &Seen, expected: &Seen) -> bool {
    let events = seen.events.iter().zip(&expected.events);
    let faults = seen.faults.iter().zip(&expected.faults);
    let fences = seen.fences.iter().zip(&expected.fences);
    events.map(|(s, e)| (s.0, e.0)).any(|(s, e)| s < e)
        || faults.map(|(s, e)| (s.0, e.0)).any(|(s, e)| s < e)
        || fences.into_iter().any(|(s, e)| s.0 < e.0 || s.1 < e.1)
}

fn arm(bench: &mut Bench, stream: usize) {
    let drive = |b: &mut Deliver<STREAMS>| {
        b.arm.next = true;
        b.stream.next = (stream as u64).into();
    };
    bench.cycle(drive, |_| ()).unwrap();
    bench.block.arm.next = false;
}

// req: DDP-DEL-01, DDP-DEL-07, DDP-ERR-23, AMB-41, AMB-42, DDP-HDR-09
#[test]
fn random() {
    let mut rng = Rng::with_seed(1);
    let mut bench = bench();
    let mut dead = [false; STREAMS];
    let mut already = 0;
    let mut faults = 0;
    for round in 0..24 {
        let errors = [0, 3, 30][round % 3];
        let fpdus: Vec<Fpdu> = (0..80).map(|_| Fpdu::random(&mut rng, errors)).collect();
        let pace = |rng: &mut Rng| {
            *rng.choice(&[Pace::Always, Pace::Percent(30), Pace::Bursts(60)])
                .unwrap()
        };
        let paces = Paces {
            given: pace(&mut rng),
            answered: pace(&mut rng),
            taken: pace(&mut rng),
        };
        let expected = expected(&fpdus, &mut dead, already);
        let seen = send(&mut bench, &mut rng, &fpdus, already, &paces);
        assert_delivered(&seen, &expected);
        faults += seen.faults.len();
        already += fpdus.iter().map(|fpdu| fpdu.answers.len()).sum::<usize>();
        // some streams are armed again, the others stay dead
        for (stream, dead) in dead.iter_mut().enumerate() {
            if rng.bool() {
                arm(&mut bench, stream);
                *dead = false;
            }
        }
    }
    assert!(faults > 10);
}

/// The judge of this file sees a delivery that comes one response too early.
#[test]
fn early_is_seen() {
    let at = |answered, events| Seen {
        fences: vec![(answered, events)],
        ..Seen::default()
    };
    assert!(has_early(&at(4, 2), &at(5, 2)));
    assert!(has_early(&at(5, 1), &at(5, 2)));
    assert!(!has_early(&at(5, 2), &at(5, 2)));
}

/// The completion queue is full, so nothing is delivered; all responses are taken all the same.
// req: AMB-41
#[test]
fn responses_never_wait_for_completions() {
    let mut bench = bench();
    let mut rng = Rng::with_seed(2);
    let fpdus = 1 << LOG;
    let mut answered = 0;
    let mut given = 0;
    for _ in 0..300 {
        let b = &mut bench.block;
        b.s_valid.next = given < fpdus;
        b.s_delivery.next = Delivery {
            action: COMPLETE.into(),
            stream: 0_u64.into(),
            entry: stimulus::bits(&mut rng),
        };
        b.s_issued.next = (3 * (given as u64 + 1)).into();
        b.b_valid.next = answered < 3 * given;
        b.b_error.next = rng.bool();
        bench.settle().unwrap();
        answered += usize::from(bench.block.b_valid.val() && bench.block.b_ready.val());
        given += usize::from(bench.block.s_valid.val() && bench.block.s_ready.val());
        bench.edge().unwrap();
    }
    assert_eq!((given, answered), (fpdus, 3 * fpdus));
}

/// The number of bursts passes 2^16.
#[test]
fn numbers_wrap() {
    let mut bench = bench();
    let mut rng = Rng::with_seed(3);
    let fpdus: Vec<Fpdu> = (0..3)
        .map(|n| Fpdu {
            stream: n,
            action: COMPLETE,
            event: (n + 100).into(),
            answers: vec![false; 22_000],
        })
        .collect();
    let paces = Paces {
        given: Pace::Always,
        answered: Pace::Always,
        taken: Pace::Always,
    };
    let seen = send(&mut bench, &mut rng, &fpdus, 0, &paces);
    assert_delivered(&seen, &expected(&fpdus, &mut [false; STREAMS], 0));
    assert_eq!(seen.events.len(), 3);
}

/// Cycles from the last response to the event; and FPDUs with and without bursts, one a cycle, or a response a cycle.
#[test]
fn latency_and_throughput() {
    const BEGIN: u64 = 10;
    const CYCLES: u64 = 300;
    for bursts in [0, 1, 2] {
        let mut bench = bench();
        let mut first = None;
        let (mut given, mut answered, mut out) = (0_u64, 0_u64, 0_u64);
        let mut answered_at = None;
        for cycle in 0..BEGIN + CYCLES {
            let b = &mut bench.block;
            b.s_valid.next = true;
            b.s_delivery.next = Delivery {
                action: COMPLETE.into(),
                ..Delivery::default()
            };
            b.s_issued.next = (bursts * (given + 1)).into();
            // the first response comes late, then there is always one
            b.b_valid.next = cycle >= BEGIN && answered < bursts * given;
            b.m_ready.next = true;
            bench.settle().unwrap();
            let b = &bench.block;
            given += u64::from(b.s_ready.val());
            if b.b_valid.val() && b.b_ready.val() {
                answered += 1;
                if answered == bursts {
                    answered_at.get_or_insert(cycle);
                }
            }
            if b.m_valid.val() {
                out += 1;
                first.get_or_insert(cycle);
            }
            bench.edge().unwrap();
        }
        match bursts {
            0 => assert_eq!((first, out), (Some(6), BEGIN + CYCLES - 6)),
            _ => {
                assert_eq!(first.unwrap() - answered_at.unwrap(), 3);
                assert_eq!((answered, out), (CYCLES, (CYCLES - 3) / bursts));
            }
        }
    }
}
