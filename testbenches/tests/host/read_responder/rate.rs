//! Cycles: how long a request takes, and how many come one behind the other.

use warpline_hdl::host::read_responder::{
    BELL_LATENCY, HEAD_LATENCY, PASS_LATENCY, READ_LATENCY, READ_TURN, TURN, slots,
};
use warpline_regmap::layout::completion;
use warpline_testbenches::lockstep::on_large_stack;
use warpline_testbenches::stimulus::Pace;

use crate::model::{Given, Wrong};
use crate::random::{quick, random_request};
use crate::support::Rig;

fn latencies<const W: usize, const K: usize, const S: usize>() {
    let mut rig = Rig::<W, K, S>::new(quick(20), 1);
    let run = |rig: &mut Rig<W, K, S>| -> Result<(), Wrong> {
        for stream in 0..S {
            rig.switch_on(stream)?;
            rig.finish()?;
            rig.accepted.clear();
            let request = random_request(&mut rig.rng);
            let words = rig.ask(stream, &request);
            rig.give(words);
            rig.finish()?;
            let [accepted, asked, landed] = [&rig.accepted, &rig.asked, &rig.landed].map(|c| c[0]);
            assert_eq!(asked - accepted, READ_LATENCY as u64);
            assert_eq!(rig.rose[0] - landed, HEAD_LATENCY as u64);
            assert_eq!(rig.rang[0] - rig.pops[0], BELL_LATENCY as u64);
            for cycles in [
                &mut rig.accepted,
                &mut rig.asked,
                &mut rig.landed,
                &mut rig.rose,
                &mut rig.pops,
                &mut rig.rang,
            ] {
                cycles.clear();
            }
        }
        // others pass
        rig.out.clear();
        let mut words = [0; completion::WORDS];
        completion::KIND.put(&mut words, 1);
        for _ in 0..20 {
            rig.events.push_back(Given { words, seq: 0 });
        }
        rig.finish()?;
        assert_eq!(rig.out[0] - rig.accepted[0], PASS_LATENCY as u64);
        assert_eq!(rig.out[19] - rig.out[0], 3 * 19);
        Ok(())
    };
    run(&mut rig).unwrap_or_else(|wrong| panic!("{W} bits: {wrong}"));
}

#[test]
fn a_request_takes_as_long_as_is_said() {
    // beside the memory: 20 cycles are allowed
    const { assert!(READ_LATENCY + HEAD_LATENCY <= 20) };
    assert_eq!(
        (READ_LATENCY, HEAD_LATENCY, PASS_LATENCY, BELL_LATENCY),
        (5, 9, 3, 4)
    );
    assert_eq!((slots::ROW_LATENCY, slots::POP_LATENCY), (3, 3));
    on_large_stack(|| {
        latencies::<64, 8, 4>();
        latencies::<512, 64, 4>();
    });
}

/// An address every `READ_TURN` cycles and a slot every `TURN`, of one stream or of all, with a memory that takes 40 cycles; 16
/// of one stream are under way.
fn rates<const W: usize, const K: usize, const S: usize>() {
    let mut rig = Rig::<W, K, S>::new(quick(40), 2);
    let run = |rig: &mut Rig<W, K, S>| -> Result<(), Wrong> {
        rig.pace(Pace::Always);
        for stream in 0..S {
            rig.switch_on(stream)?;
        }
        for streams in [1, S] {
            rig.finish()?;
            rig.asked.clear();
            rig.rose.clear();
            for request in 0..16 {
                let stream = request % streams;
                let request = random_request(&mut rig.rng);
                let words = rig.ask(stream, &request);
                rig.give(words);
            }
            rig.finish()?;
            assert_eq!(
                rig.asked[15] - rig.asked[0],
                15 * READ_TURN as u64,
                "{streams}"
            );
            assert_eq!(rig.rose[15] - rig.rose[0], 15 * TURN as u64, "{streams}");
        }
        // as many as the memory's delay and what is under way allow: a closed loop with the doorbells
        rig.asked.clear();
        let begin = rig.now();
        let mut given = 0;
        while given < 600 {
            let stream = given % S;
            if rig.streams[stream].credit > 0 && rig.events.len() < 4 {
                let request = random_request(&mut rig.rng);
                let words = rig.ask(stream, &request);
                rig.give(words);
                given += 1;
            } else {
                rig.cycle()?;
            }
        }
        rig.finish()?;
        let each = (rig.now() - begin) / 600;
        assert!(each <= 8, "{each} cycles for a request");
        Ok(())
    };
    run(&mut rig).unwrap_or_else(|wrong| panic!("{W} bits: {wrong}"));
}

#[test]
fn requests_are_read_every_4_cycles_and_become_slots_every_7() {
    assert_eq!((READ_TURN, TURN), (4, 7));
    on_large_stack(|| {
        rates::<64, 8, 4>();
        rates::<512, 64, 4>();
    });
}

/// A request that stalls, since as many of another stream are being read as can be, is not forgotten by a close.
#[test]
fn a_request_that_stalls_keeps_its_stream_from_being_idle() {
    let mut rig = Rig::<64, 8, 4>::new(quick(200), 7);
    let run = |rig: &mut Rig<64, 8, 4>| -> Result<(), Wrong> {
        rig.switch_on(1)?;
        rig.switch_on(2)?;
        for stream in [vec![1; 16], vec![2]].concat() {
            let request = random_request(&mut rig.rng);
            let words = rig.ask(stream, &request);
            rig.give(words);
        }
        let begin = rig.now();
        rig.close(2)?;
        assert!(rig.now() - begin > 200, "the reads were under way");
        rig.finish()
    };
    run(&mut rig).unwrap_or_else(|wrong| panic!("{wrong}"));
}

/// 16 requests of a stream that is not popped are held; one more goes to the host, and ends the responder.
#[test]
fn a_stream_has_room_for_16_requests() {
    for seed in 0..4 {
        let mut rig = Rig::<64, 8, 4>::new(quick(3 + seed), seed);
        let run = |rig: &mut Rig<64, 8, 4>| -> Result<(), Wrong> {
            rig.switch_on(2)?;
            rig.holds.insert(2);
            rig.streams[2].credit = 20;
            for _ in 0..16 + seed {
                let request = random_request(&mut rig.rng);
                let words = rig.ask(2, &request);
                rig.give(words);
            }
            rig.finish()?;
            assert_eq!(u64::from(rig.to_host), seed);
            assert_eq!(rig.streams[2].slots.len(), 16);
            rig.holds.clear();
            rig.finish()?;
            assert_eq!(rig.answered, 16);
            Ok(())
        };
        run(&mut rig).unwrap_or_else(|wrong| panic!("{wrong}"));
    }
}
