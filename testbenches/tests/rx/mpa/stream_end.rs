//! `stream_end`: beats, FINs and aborts of streams that come and go, against everything that was ever said of them.
//!
//! ```text
//!  History of each stream ─ beats, marks ─►┌────────┐─ Mark ─► what the whole history says, latency cycles later?
//!                           arm ──────────►│ ending │
//!                                          └────────┘
//! ```

use fastrand::Rng;
use std::collections::VecDeque;
use warpline_hdl::rx::mpa::stream_end::{Mark, StreamEnd, latency};
use warpline_regmap::layout::refused;
use warpline_sv_writer as writer;
use warpline_testbenches::lockstep::{Lockstep, LockstepError};
use warpline_testbenches::stimulus::chance;

const STREAMS: usize = 3;

/// What has happened to a stream; positions do not wrap.
#[derive(Clone, Debug, Default)]
struct History {
    /// Position of octet 0 as the device counts: near the wrap.
    start: u32,
    edge: i64,
    /// Ends of accepted beats.
    ends: Vec<i64>,
    fins: Vec<i64>,
    finished: bool,
    lost: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Event {
    /// Stream, end and octets of an accepted beat.
    beat: Option<(i64, i64)>,
    fin: Option<i64>,
    abort: bool,
}

impl History {
    /// What is to be told of an event.
    fn judge(&mut self, stream: usize, event: Event) -> Mark {
        self.ends.extend(event.beat.map(|(end, _)| end));
        self.fins.extend(event.fin);
        let first = self.fins.first().copied();
        let behind = first.is_some_and(|fin| {
            self.ends.iter().any(|&end| end > fin) || self.fins.iter().any(|&other| other != fin)
        });
        let told = self.lost;
        let finished = first == Some(self.edge) && (event.beat.is_some() || event.fin.is_some());
        let cause = match (
            event.abort,
            behind && (event.beat.is_some() || event.fin.is_some()),
        ) {
            (true, _) => refused::LOST,
            (_, true) => refused::BEHIND_FIN,
            _ => 0,
        };
        let mark = Mark {
            finished: finished && !self.finished && !told,
            cause: if told { 0 } else { u64::from(cause) }.into(),
            stream: (stream as u64).into(),
        };
        self.finished |= finished;
        self.lost |= cause != 0;
        mark
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    finished: usize,
    finished_late: usize,
    lost: usize,
    behind: usize,
    both: usize,
}

/// Random histories; cycles in which the block says something else than a model that is `later` cycles late.
fn mismatches(top: &str, octets: usize, later: usize, cycles: usize) -> (usize, Seen) {
    let block = Box::new(StreamEnd::<STREAMS>::new(octets));
    let mut lockstep = Lockstep::new(top, block, |b, level| b.clock.next = level.into()).unwrap();
    let mut rng = Rng::with_seed(octets as u64);
    let mut histories: [History; STREAMS] = Default::default();
    let mut due: VecDeque<Mark> = VecDeque::from(vec![Mark::default(); latency(octets) + later]);
    let (mut wrong, mut seen) = (0, Seen::default());
    lockstep.block.reset.next = true;
    for _ in 0..8 {
        lockstep.settle().unwrap();
        lockstep.edge().unwrap();
    }
    lockstep.block.reset.next = false;
    for cycle in 0..cycles {
        let stream = rng.usize(0..STREAMS);
        let history = &mut histories[stream];
        let over = history.lost || history.edge > 4000;
        let starts = cycle < STREAMS || over && chance(&mut rng, 20);
        let b = &mut lockstep.block;
        b.arm.next = starts;
        b.stream.next = (stream as u64).into();
        let mut event = Event::default();
        if starts {
            *history = History {
                start: 0_u32.wrapping_sub(rng.u32(..3000)),
                ..History::default()
            };
        } else if chance(&mut rng, 70) {
            // in order, or an island; now and then a gap is closed up to the furthest octet
            let most = history
                .ends
                .iter()
                .copied()
                .max()
                .unwrap_or(0)
                .max(history.edge);
            let fin = history.fins.first().copied().unwrap_or(i64::MAX);
            let careful = chance(&mut rng, 95);
            let (from, to) = match rng.u8(..4) {
                0 => (history.edge + rng.i64(1..300), 0),
                1 => (history.edge, most),
                _ => (history.edge, 0),
            };
            let mut end = from + rng.i64(1..=octets as i64);
            if careful {
                end = end.min(fin);
            }
            if end > from {
                if from == history.edge {
                    history.edge = end.max(to);
                }
                event.beat = Some((end, end - from));
            }
            if chance(&mut rng, 4) {
                event.fin = Some(match rng.u8(..8) {
                    _ if fin < i64::MAX && rng.u8(..8) > 0 => fin,
                    0 => most - rng.i64(0..=most.min(100)),
                    1..4 => most.max(end) + rng.i64(0..200),
                    _ => most.max(end),
                });
                if event.fin < Some(end) {
                    event.beat = None; // a beat is not longer than its segment
                    history.edge = history.edge.min(most);
                }
            }
            event.abort = chance(&mut rng, 1);
        }
        // the beat's segment is what the FIN stands behind, or nothing was accepted
        let (end, count) = event.beat.unwrap_or((history.edge, 0));
        let at = |position: i64| u64::from(history.start.wrapping_add(position as u32));
        b.beat_valid.next = event.beat.is_some();
        b.beat.next.stream = (stream as u64).into();
        b.beat.next.position = at(end - count).into();
        b.beat.next.count = (count as u64).into();
        b.beat.next.new_edge = at(history.edge).into();
        b.mark_fin.next = event.fin.is_some();
        b.mark_end.next = event.fin.map_or(rng.u64(..1 << 32), at).into();
        b.mark_abort.next = event.abort;
        let late = history
            .fins
            .first()
            .is_some_and(|&fin| event.fin != Some(fin));
        let mark = history.judge(stream, event);
        seen.finished += usize::from(mark.finished);
        seen.finished_late += usize::from(mark.finished && late);
        seen.both += usize::from(mark.finished && mark.cause.any());
        seen.lost += usize::from(mark.cause.to_u64() == u64::from(refused::LOST));
        seen.behind += usize::from(mark.cause.to_u64() == u64::from(refused::BEHIND_FIN));
        due.push_back(mark);
        lockstep.settle().unwrap();
        let (found, due) = (lockstep.block.mark.val(), due.pop_front().unwrap());
        let quiet = |mark: &Mark| !mark.finished && !mark.cause.any();
        wrong += lockstep.mismatch(found != due && !(quiet(&found) && quiet(&due)));
        lockstep.edge().unwrap();
    }
    (wrong, seen)
}

// req: MPA-ERR-15, MPA-ERR-17, DDP-TEAR-08, AMB-31
#[test]
fn ends_are_told_once_and_where_they_are() {
    for octets in [8, 64] {
        let (wrong, seen) = mismatches(&format!("ending_{octets}"), octets, 0, 40_000);
        assert_eq!(wrong, 0, "{seen:?}");
        for (what, count) in [
            ("finished", seen.finished),
            (
                "finished by octets behind the FIN's segment",
                seen.finished_late,
            ),
            ("lost", seen.lost),
            ("octets behind a FIN", seen.behind),
        ] {
            assert!(count > 20, "{octets}: {what}: {count}");
        }
    }
    let (wrong, _) = mismatches("ending_8", 8, 1, 4000);
    assert!(wrong > 20, "a mark that comes a cycle early is seen");
}

/// What lockstep says of a block whose text was changed in one place, on small numbers of one stream.
fn planted(name: &str, right: &str, wrong: &str) -> Option<LockstepError> {
    let block = Box::new(StreamEnd::<STREAMS>::new(8));
    let mut design = writer::write(&*block, name).unwrap();
    let module = design
        .modules
        .iter_mut()
        .find(|module| module.text.contains(right));
    let text = &mut module.unwrap_or_else(|| panic!("no {right}")).text;
    *text = text.replace(right, wrong);
    let clock: fn(&mut StreamEnd<STREAMS>, bool) = |b, level| b.clock.next = level.into();
    let mut lockstep = Lockstep::with_fault(name, block, &design, clock).unwrap();
    let mut rng = Rng::with_seed(3);
    (0..2000_u64).find_map(|cycle| {
        let b = &mut lockstep.block;
        b.reset.next = cycle < 2;
        b.arm.next = chance(&mut rng, 20);
        b.beat_valid.next = rng.bool();
        b.beat.next.position = rng.u64(..4).into();
        b.beat.next.count = rng.u64(1..4).into();
        b.beat.next.new_edge = rng.u64(..8).into();
        b.mark_fin.next = chance(&mut rng, 20);
        b.mark_end.next = rng.u64(..8).into();
        lockstep.settle().and_then(|()| lockstep.edge()).err()
    })
}

#[test]
fn planted_faults_are_seen() {
    for (name, right, wrong) in [
        ("ending_fault_none", "edge_now_q", "edge_now_q"),
        (
            "ending_fault_reached",
            "edge_now_q == fin_end_q",
            "edge_now_q != fin_end_q",
        ),
        ("ending_fault_behind", "room[31]", "(~room[31])"),
        (
            "ending_fault_before",
            "room_before[31]",
            "(~room_before[31])",
        ),
    ] {
        let seen = planted(name, right, wrong);
        let differs = matches!(seen, Some(LockstepError::Differ { .. }));
        assert_eq!(differs, right != wrong, "{name}: {seen:?}");
    }
}
