//! `window`: every stream in turn, numbers of the moment, and a report that holds still until it is taken.

use warpline_hdl::rx::mpa::window::Window;
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::mutant_runs::unnoticed;
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};

/// A report as the TCP engine sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Report {
    stream: usize,
    edge: u32,
    limit: u32,
}

struct Bench<const S: usize> {
    lockstep: Lockstep<Window<S>>,
    rng: fastrand::Rng,
    numbers: [(u32, u32); S],
}

impl<const S: usize> Bench<S> {
    fn new(top: &str) -> Self {
        let block = Box::new(Window::default());
        let mut bench = Self {
            lockstep: Lockstep::new(top, block, |b, level| b.clock.next = level.into()).unwrap(),
            rng: fastrand::Rng::with_seed(S as u64),
            numbers: [(0, 0); S],
        };
        bench.lockstep.block.reset.next = true;
        bench.cycle(true);
        bench.lockstep.block.reset.next = false;
        bench
    }

    /// A cycle with other numbers for some streams; what is offered, and the numbers that it could be seen with.
    fn cycle(&mut self, ready: bool) -> (Option<Report>, [(u32, u32); S]) {
        for (edge, limit) in &mut self.numbers {
            if chance(&mut self.rng, 30) {
                *edge = edge.wrapping_add(self.rng.u32(..1 << 20));
                *limit = self.rng.u32(..);
            }
        }
        let b = &mut self.lockstep.block;
        for (stream, (edge, limit)) in self.numbers.into_iter().enumerate() {
            b.edge_sequence[stream].next = u64::from(edge).into();
            b.limit_sequence[stream].next = u64::from(limit).into();
        }
        b.m_axis_window.tready.next = ready;
        self.lockstep.settle().unwrap();
        let m = &self.lockstep.block.m_axis_window;
        let offered = m.tvalid.val().then(|| Report {
            stream: m.tdest.val().index(),
            edge: m.tdata.val().get_bits::<32>(0).to_u32(),
            limit: m.tdata.val().get_bits::<32>(32).to_u32(),
        });
        self.lockstep.edge().unwrap();
        (offered, self.numbers)
    }
}

/// Reports that were not the next stream's, not of the moment, or changed before they were taken, a line each. The scoreboard
/// holds them against the numbers of `earlier` cycles before the one in which they are made.
fn mismatches<const S: usize>(top: &str, earlier: usize) -> Vec<String> {
    let mut bench = Bench::<S>::new(top);
    let mut wrong = vec![];
    let mut turn = 0;
    for pace in [Pace::Always, Pace::Percent(20), Pace::Bursts(9)] {
        let mut sink = Rhythm::new(pace);
        // numbers of each cycle, and the cycle in which the report that is offered was made
        let mut numbers = vec![];
        let mut made: Option<usize> = None;
        for cycle in 0..400 {
            let ready = sink.go(&mut bench.rng);
            let at = bench.lockstep.cycles(); // as a waveform counts
            let (offered, now) = bench.cycle(ready);
            numbers.push(now);
            if let (Some(report), Some(made)) = (offered, made) {
                let (edge, limit) = numbers[made.saturating_sub(earlier)][turn];
                let expected = Report {
                    stream: turn,
                    edge,
                    limit,
                };
                if bench.lockstep.mismatch(report != expected) > 0 {
                    wrong.push(format!(
                        "{top}, {pace:?}, cycle {at}: m_axis_window has {report:x?}, and should have {expected:x?}"
                    ));
                }
            }
            if offered.is_none() || ready {
                turn = offered.map_or(turn, |report| (report.stream + 1) % S);
                made = Some(cycle);
            }
        }
    }
    wrong
}

/// Fails with the first of them.
fn has_none(mismatches: &[String]) {
    if let [first, ..] = mismatches {
        panic!("{} reports are wrong. {first}", mismatches.len());
    }
}

// req: MPA-RCV-26
#[test]
fn reports_are_of_the_moment_in_turn_and_hold_still() {
    has_none(&mismatches::<4>("window_4", 0));
    has_none(&mismatches::<3>("window_3", 0));
    has_none(&mismatches::<1>("window_1", 0));
    // numbers of the cycle before are seen
    assert!(mismatches::<4>("window_4", 1).len() > 100);
}

// req: MPA-RCV-26
#[test]
fn a_report_each_cycle_and_each_stream_every_s_reports() {
    let mut bench = Bench::<4>::new("window_4");
    assert_eq!(bench.cycle(true).0, None);
    let streams: Vec<usize> = (0..40)
        .map(|_| bench.cycle(true).0.expect("a report each cycle").stream)
        .collect();
    assert!(streams.iter().copied().eq((0..4).cycle().take(40)));
}

/// A sample of what `make mutants` does, each time.
#[test]
fn planted_faults_are_noticed() {
    let tests = ["a_report_each_cycle", "reports_are_of_the_moment"];
    assert_eq!(unnoticed(4, 1, &tests).unwrap(), []);
}
