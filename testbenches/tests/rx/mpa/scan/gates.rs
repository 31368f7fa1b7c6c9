//! Streams that `pace` holds back, for a while or to one FPDU at a time: nothing of them goes out meanwhile, all of it in the
//! end, and other streams go on.

use super::support::*;
use warpline_hdl::Config;
use warpline_hdl::rx::mpa::scan::SINGLE;
use warpline_testbenches::lockstep::on_large_stack;

// req: MPA-RCV-05, MPA-RCV-08
#[test]
fn streams_held_back_at_random_at_64_bits() {
    let bench = Bench::<32, 2, 1>::new(Config::simulated(64), 77);
    let bench = gated_traffic(bench, 1400);
    let seen = &bench.seen;
    assert_eq!(bench.wrong, 0, "{seen:?}");
    assert!(
        seen.held_whole > 1000 && seen.issued_single > 100,
        "{seen:?}"
    );
    assert!(
        seen.prompt > 20 && seen.ends_with_backlog > 1 && seen.closed_with_backlog > 3,
        "{seen:?}"
    );
}

#[test]
fn streams_held_back_at_random_at_512_bits() {
    let (wrong, seen) = on_large_stack(|| {
        let bench = Bench::<256, 16, 4>::new(Config::simulated(512), 78);
        let bench = gated_traffic(bench, 600);
        (bench.wrong, bench.seen)
    });
    assert_eq!(wrong, 0, "{seen:?}");
    assert!(seen.held_whole > 500 && seen.issued_single > 50, "{seen:?}");
}

/// A held stream lets the others go, and its FPDUs go when its gate opens: in a row, or as close as single ones come.
#[test]
fn a_held_stream_holds_up_no_other() {
    let gate = |bench: &mut Bench64, gate| bench.gates[2].gate = gate;
    for (opens, apart) in [(Gate::Runs, 1), (Gate::Single, SINGLE)] {
        let mut bench = armed(false);
        bench.arm(1, false, true);
        gate(&mut bench, Gate::Held);
        bench.idle(4);
        for stream in [2, 1] {
            (0..6).for_each(|_| bench.plan(stream, 40));
            bench.land(stream, 1 << 16);
        }
        bench.idle(SETTLED);
        assert_eq!(bench.issued.len(), 6, "those of stream 1");
        assert_eq!(bench.sources[2].plan.len(), 6);
        gate(&mut bench, opens);
        let opened = bench.cycle;
        bench.idle(SETTLED);
        assert_eq!((bench.issued.len(), bench.wrong), (12, 0));
        assert!(bench.issued[6] <= opened + KNOWN, "its length was known");
        let closest = bench.issued[6..]
            .windows(2)
            .map(|two| two[1] - two[0])
            .min();
        assert!(closest >= Some(apart), "{closest:?}");
        println!("{opens:?}: {:?}", &bench.issued[6..]);
    }
}

/// FPDUs that arrive alone, as fast as they can be selected one by one.
#[test]
fn single_fpdus_that_land_with_their_beats() {
    let mut bench = armed(false);
    bench.gates[2].gate = Gate::Single;
    bench.idle(8);
    for apart in 0..6 {
        (0..8).for_each(|_| bench.plan(2, 0));
        match apart {
            0 => bench.land_beats(2, &[8; 8]),
            _ => (0..8).for_each(|_| {
                bench.land_beats(2, &[8]);
                bench.idle(apart);
            }),
        }
        bench.idle(SETTLED);
    }
    assert_eq!((bench.issued.len(), bench.wrong), (8 * 6, 0));
    let closest = bench.issued.windows(2).map(|two| two[1] - two[0]).min();
    assert!(closest >= Some(SINGLE), "{closest:?}");
    assert!(bench.seen.prompt > 20, "{:?}", bench.seen);
}

/// An end goes out behind whole FPDUs that are held, and without any of them at once.
// req: MPA-RCV-17
#[test]
fn ends_of_held_streams() {
    for whole in [0, 2] {
        let mut bench = armed(true);
        bench.gates[2].gate = Gate::Held;
        bench.idle(4);
        (0..3).for_each(|_| bench.plan(2, 100));
        let octets = bench.sources[2].plan.iter().take(whole).map(|p| p.octets);
        let octets = octets.sum::<u64>() + 20;
        bench.land(2, octets);
        bench.mark(2, true, 0);
        bench.idle(SETTLED);
        let ended = bench.seen.ends.iter().sum::<usize>();
        assert_eq!(ended, usize::from(whole == 0));
        bench.gates[2].gate = Gate::Single;
        bench.idle(SETTLED);
        let ended = bench.seen.ends.iter().sum::<usize>();
        assert_eq!((bench.issued.len(), ended, bench.wrong), (whole, 1, 0));
    }
}

/// The bench sees FPDUs that go out through closed gates.
#[test]
fn gates_without_effect_are_counted() {
    let mut bench = Bench::<32, 2, 1>::new(Config::simulated(64), 80);
    bench.gates_lie = true;
    let bench = gated_traffic(bench, 200);
    assert!(bench.wrong > 10, "{}", bench.wrong);
}

/// FPDUs of a beat each, of a stream that is held.
fn alone_and_held(mut bench: Bench64) -> Bench64 {
    bench.arm(2, false, true);
    bench.gates[2].gate = Gate::Held;
    bench.idle(16);
    for _ in 0..4 {
        bench.plan(2, 0);
        bench.land_beats(2, &[8]);
        bench.idle(20);
    }
    bench
}

/// A gate that is not looked at, in each of the three places.
#[test]
fn gates_that_are_left_open_are_seen() {
    for (name, right, wrong) in [
        (
            "weigh",
            "& may_run_2) begin",
            "& (may_run_2 | may_issue_2)) begin",
        ),
        (
            "give",
            "(known_2_q & may_issue_2)",
            "(known_2_q & (may_issue_2 | may_run_1))",
        ),
        (
            "prompt",
            "fast_path_fpdu_of_2 & may_issue_2",
            "fast_path_fpdu_of_2 & (may_issue_2 | may_run_1)",
        ),
    ] {
        let config = Config::simulated(64);
        let bench = Bench::<32, 2, 1>::with_fault(config, 79, name, right, wrong);
        let bench = match name {
            "prompt" => alone_and_held(bench),
            _ => gated_traffic(bench, 400),
        };
        println!("{name}: {}", bench.failed.expect(name));
    }
}
