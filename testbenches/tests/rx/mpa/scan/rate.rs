//! Cycles per FPDU, and how streams take turns.

use super::support::*;
use warpline_hdl::Config;
use warpline_hdl::rx::mpa::scan::{AGAIN, FAR, ROWS, VISIT};
use warpline_testbenches::lockstep::on_large_stack;
use warpline_wire::mpa;

/// Octets of a beat that `fetch` needs for an FPDU, which begins in lane 0.
fn beats(config: &Config, octets: u64) -> usize {
    octets.div_ceil(config.octets() as u64) as usize
}

/// Lets `plan` land at once in stream 2, and checks that no FPDU comes later than the beats of those before it take.
fn assert_no_bubbles<const H: usize, const D: usize, const LOGD: usize>(
    bench: &mut Bench<H, D, LOGD>,
    markers: bool,
    plan: &[u16],
) {
    bench.close(2);
    bench.idle(64);
    bench.arm(2, markers, true);
    bench.issued.clear();
    plan.iter().for_each(|ulpdu| bench.plan(2, *ulpdu));
    let config = bench.config;
    let beats: Vec<usize> = bench.sources[2]
        .plan
        .iter()
        .map(|planned| beats(&config, planned.octets))
        .collect();
    bench.land(2, 1 << 20);
    bench.idle(beats.iter().sum::<usize>() + UNKNOWN + COUNTING);
    assert_eq!(
        (bench.issued.len(), bench.wrong),
        (plan.len(), 0),
        "{plan:?}"
    );
    let counting = if markers && plan.iter().any(|ulpdu| *ulpdu >= LONG) {
        COUNTING
    } else {
        0
    };
    let (mut due, first) = (bench.issued[0] + counting, bench.issued[0]);
    for (number, (issued, beats)) in bench.issued.iter().zip(&beats).enumerate() {
        assert!(
            *issued <= due,
            "{} bits, markers {markers}: {number} of {plan:?} {} cycles behind the first, due after {}",
            config.width,
            issued - first,
            due - first
        );
        due += beats;
    }
}

fn assert_no_bubbles_at<const H: usize, const D: usize, const LOGD: usize>(width: usize) {
    let config = Config::simulated(width);
    let mut bench = Bench::<H, D, LOGD>::new(config, 3);
    // the other streams have not enough octets to be worth a look, or know what they wait for
    for stream in [0, 1, 3] {
        bench.arm(stream, false, true);
        bench.plan(stream, 1000);
    }
    bench.land(0, 3);
    bench.land(1, 4);
    bench.land(3, 1007);
    bench.idle(SETTLED);
    let row = config.octets() as u16;
    for markers in [false, true] {
        // the smallest ones that there are, and those of DDP
        assert_no_bubbles(&mut bench, markers, &[0; 30]);
        assert_no_bubbles(&mut bench, markers, &[20; 30]);
        // as long as a row, as two, a dword more
        for ulpdu in [row - 6, row - 2, 2 * row - 6, 2 * row - 2] {
            assert_no_bubbles(&mut bench, markers, &[ulpdu; 12]);
        }
        // around the length from which on markers are counted, and the one that ends a visit
        let far = (FAR * config.octets()) as u16;
        for ulpdu in [LONG - 4, LONG - 1, LONG, LONG + 8, 620] {
            assert_no_bubbles(&mut bench, markers, &[ulpdu; 6]);
        }
        for ulpdu in [far - 10, far - 6, far - 2, far + 20, 1442] {
            assert_no_bubbles(&mut bench, markers, &[ulpdu; 4]);
        }
        for most in [40, 200, 700, 2000] {
            let plan: Vec<u16> = (0..16).map(|_| bench.rng.u16(0..most)).collect();
            assert_no_bubbles(&mut bench, markers, &plan);
        }
    }
}

#[test]
fn no_fpdu_takes_more_cycles_than_its_beats_at_64_bits() {
    assert_no_bubbles_at::<32, 2, 1>(64);
}

#[cfg(feature = "every-width")]
#[test]
fn no_fpdu_takes_more_cycles_than_its_beats_at_128_bits() {
    assert_no_bubbles_at::<64, 4, 2>(128);
}

#[cfg(feature = "every-width")]
#[test]
fn no_fpdu_takes_more_cycles_than_its_beats_at_256_bits() {
    assert_no_bubbles_at::<128, 8, 3>(256);
}

#[test]
fn no_fpdu_takes_more_cycles_than_its_beats_at_512_bits() {
    on_large_stack(|| assert_no_bubbles_at::<256, 16, 4>(512));
}

#[test]
fn a_visit_that_an_fpdu_ends_is_taken_up_again_in_time() {
    for (markers, again) in [(false, AGAIN - COUNTING), (true, AGAIN)] {
        let mut bench = armed(markers);
        (0..10).for_each(|_| bench.plan(2, 1442));
        bench.land(2, 1 << 20);
        bench.idle(SETTLED);
        let apart = bench.issued.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(apart.eq([again; 9]), "{:?}", bench.issued);
        assert_eq!(bench.wrong, 0);
    }
}

#[test]
fn an_fpdu_a_cycle_at_512_bits() {
    on_large_stack(|| {
        let mut bench = Bench::<256, 16, 4>::new(Config::simulated(512), 3);
        for (markers, ulpdu) in [(false, 20), (true, 20), (true, 0), (false, 54)] {
            assert_no_bubbles(&mut bench, markers, &vec![ulpdu; 300]);
            let taken = bench.issued[299] - bench.issued[0];
            assert_eq!(taken, 299, "markers {markers}, ULPDU of {ulpdu} octets");
        }
    });
}

/// Cycles from the landing of the last of `beats` to `issued`, for an FPDU that comes alone in them.
fn alone<const H: usize, const D: usize, const LOGD: usize>(
    width: usize,
    markers: bool,
    before: u16,
    ulpdu: u16,
    beats: &[u64],
) -> usize {
    let mut bench = Bench::<H, D, LOGD>::new(Config::simulated(width), 5);
    bench.arm(2, markers, true);
    bench.idle(64);
    if before > 0 {
        bench.plan(2, before);
        bench.land_at_once(2, bench.room(2));
        bench.idle(SETTLED);
    }
    bench.issued.clear();
    bench.longest = 0;
    bench.plan(2, ulpdu);
    assert_eq!(bench.room(2), beats.iter().sum::<u64>());
    bench.land_beats(2, beats);
    bench.idle(SETTLED);
    assert_eq!((bench.issued.len(), bench.wrong), (1, 0));
    bench.longest
}

#[test]
fn an_fpdu_that_comes_alone_needs_no_visit() {
    on_large_stack(|| {
        // in one beat, or with the second one
        for before in [0, 488] {
            assert_eq!(alone::<32, 2, 1>(64, false, before, 0, &[8]), PROMPT);
            assert_eq!(alone::<256, 16, 4>(512, false, before, 20, &[28]), PROMPT);
            assert_eq!(alone::<256, 16, 4>(512, false, before, 58, &[64]), PROMPT);
            assert_eq!(
                alone::<256, 16, 4>(512, false, before, 64, &[64, 8]),
                PROMPT - 1
            );
            #[cfg(feature = "every-width")]
            assert_eq!(
                alone::<64, 4, 2>(128, false, before, 20, &[16, 12]),
                PROMPT - 1
            );
        }
        // a marker in front, in the middle, none
        #[cfg(feature = "every-width")]
        assert_eq!(alone::<128, 8, 3>(256, true, 0, 20, &[32]), PROMPT);
        assert_eq!(alone::<256, 16, 4>(512, true, 462, 40, &[52]), PROMPT);
        assert_eq!(alone::<256, 16, 4>(512, true, 40, 40, &[48]), PROMPT);
        // the rest comes later: its length is known by then
        assert_eq!(alone::<32, 2, 1>(64, true, 0, 20, &[8, 8, 8, 8]), KNOWN);
        #[cfg(feature = "every-width")]
        assert_eq!(alone::<128, 8, 3>(256, false, 0, 64, &[32, 32, 8]), KNOWN);
        are_known(&[505, 1011]);
        // ULPDU_Length is cut: a visit it is
        #[cfg(feature = "every-width")]
        assert_eq!(alone::<128, 8, 3>(256, false, 0, 20, &[3, 25]), UNKNOWN);
    });
}

/// At 512 bits, FPDUs of these lengths that come a row a cycle are known when their last row lands.
fn are_known(ulpdus: &[u16]) {
    let rows = |octets: u64| -> Vec<u64> {
        (0..octets.div_ceil(64))
            .map(|row| (octets - 64 * row).min(64))
            .collect()
    };
    for markers in [false, true] {
        for &ulpdu in ulpdus {
            for before in [0, 40, 482] {
                let begin = mpa::fpdu_len(0, before.into(), markers) * usize::from(before > 0);
                let octets = mpa::fpdu_len(begin as u32, ulpdu.into(), markers) as u64;
                let took = alone::<256, 16, 4>(512, markers, before, ulpdu, &rows(octets));
                assert_eq!(took, KNOWN, "{ulpdu} octets behind {before}, {markers}");
            }
        }
    }
}

#[test]
#[ignore = "make long-scan: more lengths"]
fn fpdus_that_come_alone_need_no_visit_around_each_marker() {
    on_large_stack(|| are_known(&[503, 504, 511, 700, 1000, 1006, 1010, 1014]));
}

/// Four streams have much to be looked at: the changes from one to the next cost less than a cycle in a hundred.
fn assert_turns<const H: usize, const D: usize, const LOGD: usize>(width: usize, ulpdu: u16) {
    let config = Config::simulated(width);
    let mut bench = Bench::<H, D, LOGD>::new(config, 3);
    let rows = 4 * VISIT;
    let fpdus = (rows * config.octets() as u64 / mpa::fpdu_len(0, ulpdu.into(), true) as u64).max(8)
        as usize;
    for stream in 0..STREAMS {
        bench.arm(stream, stream == 1, true);
        (0..fpdus).for_each(|_| bench.plan(stream, ulpdu));
    }
    let plans = bench.sources.iter().flat_map(|source| &source.plan);
    let beats: usize = plans.map(|planned| beats(&config, planned.octets)).sum();
    (0..STREAMS).for_each(|stream| bench.land(stream, 1 << 20));
    bench.idle(beats + SETTLED);
    assert_eq!((bench.issued.len(), bench.wrong), (STREAMS * fpdus, 0));
    let taken = bench.issued[STREAMS * fpdus - 1] - bench.issued[0];
    assert!(
        100 * taken <= 101 * beats,
        "{width} bits, {ulpdu} octets: {taken} cycles for {beats} beats"
    );
}

#[test]
fn four_busy_streams_take_turns_at_the_rate_of_one() {
    for ulpdu in [20, 50, 200, 1442] {
        assert_turns::<32, 2, 1>(64, ulpdu);
    }
    on_large_stack(|| {
        for ulpdu in [20, 50, 200, 1000, 1442] {
            assert_turns::<256, 16, 4>(512, ulpdu);
        }
    });
}

#[test]
fn nobody_waits_longer_than_the_others_visits_take() {
    let mut bench = armed(true);
    for stream in [0, 1, 3] {
        bench.arm(stream, false, true);
    }
    for stream in [0, 1, 3] {
        (0..400).for_each(|_| bench.plan(stream, 20));
        bench.land(stream, 1 << 20);
    }
    for _ in 0..20 {
        let idle = bench.rng.usize(0..60);
        bench.idle(idle);
        bench.plan(2, 700);
        bench.longest = 0;
        bench.land(2, 1 << 20);
        bench.idle(5 * VISIT as usize);
        // the visit that is going on, one of each other stream, and the rows that wait for the walker by then
        let most = STREAMS * VISIT as usize + ROWS as usize + UNKNOWN + COUNTING;
        assert!(bench.longest <= most, "{}", bench.longest);
    }
    bench.idle(3000);
    assert_eq!((bench.issued.len(), bench.wrong), (1220, 0));
}
