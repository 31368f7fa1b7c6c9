//! `pace`: no more FPDUs of a stream are under way than it has buffers, whatever comes when; streams are held up by their own
//! supply only, and not for ever.
//!
//! ```text
//!  stream: FPDUs to issue, buffers ─ issued, consumed ─►┌──────┐─ may_run, may_issue ─┐
//!    a buffer is posted, an FPDU takes one ─ supply ───►│ pace │                      │
//!      ▲                                                └──────┘                      │
//!      └──────── issue, up to LAG behind the limit ◄──────────────────────────────────┘
//! ```

use std::collections::VecDeque;

use fastrand::Rng;
use warpline_hdl::host::receive_rings::{AMPLE, SOME, SUPPLIED};
use warpline_hdl::rx::mpa::pace::{LAG, Pace, RUN};
use warpline_hdl::rx::mpa::scan::SINGLE;
use warpline_sv_writer as writer;
use warpline_testbenches::lockstep::{Lockstep, plant};
use warpline_testbenches::stimulus::chance;

const STREAMS: usize = 4;
/// Cycles from a doorbell to the first FPDU that may be issued behind it.
const BEHIND: usize = 10;

/// A stream: `scan`, `check` and `receive_rings` in one.
#[derive(Clone, Debug, Default)]
struct Stream {
    /// Buffers that are unused, and descriptors that are not posted.
    unused: usize,
    unposted: usize,
    /// Messages that the peer may send: one for each buffer that was announced.
    announced: usize,
    /// The same, when their segments may have come.
    due: VecDeque<(usize, usize)>,
    /// What the supply shows, in the next cycles.
    shown: VecDeque<[bool; 3]>,
    /// FPDUs under way, by the cycles until they are finished.
    under_way: VecDeque<usize>,
    /// Cycle of the last one that was issued.
    last: Option<usize>,
    issued: usize,
    /// Cycles in which they have been scarce, and the most under way with another one that is issued then.
    scarce_for: usize,
    most_few: usize,
    most_scarce: usize,
    /// Outputs of the last cycles, the last one first.
    ran: VecDeque<bool>,
    might: VecDeque<bool>,
}

struct Bench {
    lockstep: Lockstep<Pace<STREAMS>>,
    rng: Rng,
    streams: [Stream; STREAMS],
    /// Cycles from an output to an FPDU that is issued for it.
    lag: usize,
    cycle: usize,
    overdrawn: usize,
}

impl Bench {
    fn new(top: &str, fault: Option<(&str, &str)>) -> Self {
        let block = Box::new(Pace::<STREAMS>::default());
        let mut design = writer::write(&*block, top).unwrap();
        if let Some((right, wrong)) = fault {
            plant(&mut design, right, wrong);
        }
        let clock: fn(&mut Pace<STREAMS>, bool) = |b, level| b.clock.next = level.into();
        let mut bench = Self {
            lockstep: Lockstep::with_design(top, block, &design, clock).unwrap(),
            rng: Rng::with_seed(5),
            streams: Default::default(),
            lag: 1,
            cycle: 0,
            overdrawn: 0,
        };
        bench.lockstep.block.reset.next = true;
        for _ in 0..SUPPLIED + 2 {
            bench.cycle().unwrap();
        }
        bench.lockstep.block.reset.next = false;
        for stream in &mut bench.streams {
            *stream = Stream::default();
        }
        bench
    }

    fn cycle(&mut self) -> Result<(), String> {
        let b = &mut self.lockstep.block;
        // one FPDU is issued, one is finished, which takes a buffer, and buffers come
        let first = self.rng.usize(0..STREAMS);
        let (mut issued, mut finished) = (None, None);
        for i in (0..STREAMS).map(|i| (first + i) % STREAMS) {
            let stream = &mut self.streams[i];
            let ran = stream.ran.get(self.lag - 1) == Some(&true);
            let might = stream.might.get(self.lag - 1) == Some(&true);
            let single = stream.last.is_none_or(|last| self.cycle >= last + SINGLE);
            let go = stream.announced > 0 && chance(&mut self.rng, 60);
            if issued.is_none() && go && (ran || (might && single)) {
                stream.announced -= 1;
                issued = Some(i);
                stream.last = Some(self.cycle);
                stream.issued += 1;
                let time = 20 + self.rng.usize(..40);
                stream.under_way.push_back(self.cycle + time);
            }
            let due = stream.under_way.front().is_some_and(|at| *at <= self.cycle);
            if finished.is_none() && due {
                finished = Some(i);
                stream.under_way.pop_front();
                if stream.unused == 0 {
                    self.overdrawn += usize::from(stream.unposted > 0);
                } else {
                    stream.unused -= 1;
                }
            }
            // descriptors are read in a while, and then posted
            let arrives = (self.cycle / 256 + i).is_multiple_of(2);
            if arrives && stream.unposted > 0 && chance(&mut self.rng, 8) && stream.unused < 64 {
                stream.unposted -= 1;
                stream.unused += 1;
            }
            // and the host announces more; the peer sends behind the doorbell
            if stream.announced < 40 && chance(&mut self.rng, 1) {
                let more = self.rng.choice([1, 3, 9, 70, 100]).unwrap();
                stream.unposted += more;
                stream.due.push_back((self.cycle + BEHIND, more));
            }
            if stream.due.front().is_some_and(|(at, _)| *at <= self.cycle) {
                stream.announced += stream.due.pop_front().map_or(0, |(_, more)| more);
            }
            let short = |most| stream.unposted > 0 && stream.unused < most;
            let levels = [short(AMPLE), short(SOME), short(1)];
            stream.shown.push_back(levels);
        }
        b.issued.next = issued.is_some();
        b.issued_stream.next = (issued.unwrap_or(first) as u64).into();
        b.consumed.next = finished.is_some();
        b.consumed_stream.next = (finished.unwrap_or(first) as u64).into();
        for (i, stream) in self.streams.iter_mut().enumerate() {
            // the state at the end of a cycle shows SUPPLIED cycles later
            let [scarce, few, empty] = match stream.shown.len() > SUPPLIED {
                true => stream.shown.pop_front().unwrap_or_default(),
                false => [false; 3],
            };
            b.scarce[i].next = scarce;
            b.few[i].next = few;
            b.empty[i].next = empty;
            stream.scarce_for = if scarce { stream.scarce_for + 1 } else { 0 };
            if issued == Some(i) && stream.scarce_for > LAG {
                let most = match few {
                    true => &mut stream.most_few,
                    false => &mut stream.most_scarce,
                };
                *most = stream.under_way.len().max(*most);
            }
        }
        self.lockstep.settle().map_err(|e| e.to_string())?;
        for (i, stream) in self.streams.iter_mut().enumerate() {
            let b = &self.lockstep.block;
            let (runs, issues) = (b.may_run[i].val(), b.may_issue[i].val());
            if runs && !issues {
                return Err(format!("cycle {}: many of {i}, and not one", self.cycle));
            }
            stream.ran.push_front(runs);
            stream.might.push_front(issues);
            stream.ran.truncate(LAG);
            stream.might.truncate(LAG);
        }
        self.lockstep.edge().map_err(|e| e.to_string())?;
        self.cycle += 1;
        Ok(())
    }
}

/// Runs so many cycles; FPDUs that found no buffer.
fn overdrawn(top: &str, fault: Option<(&str, &str)>, lag: usize) -> Result<Bench, String> {
    let mut bench = Bench::new(top, fault);
    bench.lag = lag;
    for _ in 0..20_000 {
        bench.cycle()?;
    }
    Ok(bench)
}

// req: DDP-UNT-17
#[test]
fn no_more_are_under_way_than_there_are_buffers() {
    let bench = overdrawn("pace", None, 1).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(bench.overdrawn, 0);
    for stream in &bench.streams {
        let most = (stream.most_few, stream.most_scarce);
        println!("{} issued, {most:?} under way", stream.issued);
        assert!(stream.issued > 500, "{stream:?}");
        assert!((RUN..=RUN + LAG).contains(&most.1), "{stream:?}");
    }
}

/// Without a supply from rings nothing is held back, however many are under way.
#[test]
fn without_rings_nothing_is_held_back() {
    let mut bench = Bench::new("pace", None);
    let b = &mut bench.lockstep.block;
    for level in [&mut b.scarce, &mut b.few, &mut b.empty] {
        level.iter_mut().for_each(|stream| stream.next = false);
    }
    bench.lockstep.settle().unwrap();
    bench.lockstep.edge().unwrap();
    for cycle in 0..300_u64 {
        let b = &mut bench.lockstep.block;
        b.issued.next = cycle < 100;
        b.issued_stream.next = (cycle % 2).into();
        bench.lockstep.settle().unwrap();
        let b = &bench.lockstep.block;
        assert!((0..STREAMS).all(|i| b.may_run[i].val() && b.may_issue[i].val()));
        bench.lockstep.edge().unwrap();
    }
}

/// The bench sees FPDUs without buffers: an issuer that is later than `pace` allows for.
#[test]
fn an_issuer_that_is_late_overdraws() {
    let bench = overdrawn("pace", None, LAG).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert!(bench.overdrawn > 10, "{}", bench.overdrawn);
}

#[test]
fn planted_faults_are_seen() {
    let faults = [
        (
            "lag",
            "(~(|under_way_1_q))) & (~up_1)",
            "(~(|under_way_1_q))) & (~up_2)",
        ),
        ("run", "under_way_2_q < run", "under_way_2_q <= run"),
        ("empty", "(~empty_0) & (~(|", "(~empty_0) | (~(|"),
        ("few", "(~few_3) & (", "(~few_3) | ("),
        (
            "early",
            "left_q.valid & (left_q.stream == index_1)",
            "consumed & (consumed_stream[3:0] == index_1)",
        ),
    ];
    for (name, right, wrong) in faults {
        let seen = overdrawn(&format!("pace_fault_{name}"), Some((right, wrong)), 1).err();
        println!("{name}: {}", seen.unwrap_or_else(|| panic!("{name}")));
    }
}
