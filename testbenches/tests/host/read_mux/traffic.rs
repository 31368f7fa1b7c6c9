//! Random traffic, turns, cycles.

use warpline_hdl::host::read_mux::{ADDRESS, ANSWER, BURSTS};
use warpline_testbenches::lockstep::on_large_stack;
use warpline_testbenches::octets::octets;
use warpline_testbenches::read_bus::Manner;
use warpline_testbenches::stimulus::Pace;

use crate::support::{Bench, Requester, SPACE, bursts, got, memory, mixed};

fn random<const W: usize>() {
    let mut bench = Bench::<W>::new(W as u64);
    let paces = [Pace::Bursts(30), Pace::Percent(50), Pace::Always];
    for (number, pace) in paces.into_iter().enumerate() {
        let manner = Manner {
            ar: [Pace::Bursts(20), Pace::Percent(50), Pace::Always][number],
            r: [Pace::Percent(70), Pace::Bursts(30), Pace::Always][number],
            delay: 0..60,
            // whatever its length, a burst ends with RLAST
            wrong_ends: [0, 10, 0][number],
            ..memory(0)
        };
        let bursts = mixed(&mut bench.rng, W / 8, 40);
        let outcome = bench.run(bursts, pace, manner);
        let outcome = outcome.unwrap_or_else(|e| panic!("{W} bits, {number}: {e}"));
        assert!(outcome.most > 3, "{}", outcome.most);
    }
}

#[test]
fn random_64() {
    random::<64>();
}

#[test]
fn random_128() {
    random::<128>();
}

#[test]
fn random_256() {
    on_large_stack(random::<256>);
}

#[test]
fn random_512() {
    on_large_stack(random::<512>);
}

/// More bursts wait for their answers than the mux knows owners for: as many as it says are under way.
#[test]
fn slow_answers() {
    let mut bench = Bench::<64>::new(1);
    let bursts = [0, 1, 2, 3].map(|owner| bursts(&mut bench.rng, 8, owner, 40, 2));
    let outcome = bench.run(bursts, Pace::Always, memory(300)).unwrap();
    assert_eq!(outcome.most, BURSTS);
}

/// A requester that does not accept its answer stalls those behind it, and nothing else: they come when it does.
#[test]
fn answers_wait_for_the_oldest_one() {
    let mut bench = Bench::<64>::new(2);
    let bursts = mixed(&mut bench.rng, 8, 10);
    let outcome = bench.run(bursts, Pace::Percent(3), memory(0)).unwrap();
    assert!(outcome.requesters.iter().all(Requester::is_done));
}

/// While a requester offers an address, no other requester is granted two.
#[test]
fn in_turn() {
    let mut bench = Bench::<64>::new(3);
    let bursts = [0, 1, 2, 3].map(|owner| bursts(&mut bench.rng, 8, owner, 60, 4));
    let manner = Manner {
        ar: Pace::Percent(30),
        ..memory(2)
    };
    let outcome = bench.run(bursts, Pace::Always, manner).unwrap();
    let owners = outcome
        .bus
        .bursts
        .iter()
        .map(|(_, burst)| burst.address / SPACE - 1);
    let owners: Vec<u64> = owners.collect();
    // all of them ask all the time
    for turn in owners[..150].windows(4) {
        let mut turn = turn.to_vec();
        turn.sort_unstable();
        assert_eq!(turn, [0, 1, 2, 3]);
    }
}

/// No cycle of R is lost: of one requester, or of all, and at an address a cycle. Both latencies are as stated.
fn rates<const W: usize>() {
    let mut bench = Bench::<W>::new(4);
    let gaps = |cycles: &[usize]| cycles[cycles.len() - 1] + 1 - cycles[0] - cycles.len();
    for owner in 0..4 {
        for longest in [1, 16] {
            let mut sets = [vec![], vec![], vec![], vec![]];
            sets[owner] = bursts(&mut bench.rng, W / 8, owner as u64, 50, longest);
            let outcome = bench.run(sets, Pace::Always, memory(5)).unwrap();
            assert_eq!(gaps(&outcome.beat_cycles), 0, "{owner}, {longest}");
            let requester = &outcome.requesters[owner];
            assert_eq!(gaps(&requester.beat_cycles), 0);
            assert_eq!(outcome.address_cycles[0] - requester.ask_cycles[0], ADDRESS);
            for (bus, own) in outcome.beat_cycles.iter().zip(&requester.beat_cycles) {
                assert_eq!(own - bus, ANSWER);
            }
        }
    }
    for longest in [1, 12] {
        let sets = [0, 1, 2, 3].map(|owner| bursts(&mut bench.rng, W / 8, owner, 40, longest));
        let outcome = bench.run(sets, Pace::Always, memory(9)).unwrap();
        assert_eq!(gaps(&outcome.beat_cycles), 0, "{longest}");
    }
}

#[test]
fn no_cycle_is_lost_at_64_bits() {
    assert_eq!((ADDRESS, ANSWER), (2, 1));
    rates::<64>();
}

#[test]
fn no_cycle_is_lost_at_wider_buses() {
    #[cfg(feature = "every-width")]
    rates::<128>();
    #[cfg(feature = "every-width")]
    on_large_stack(rates::<256>);
    on_large_stack(rates::<512>);
}

/// Whatever is at the inputs, the outputs of a cycle are the same.
#[test]
fn no_path_leads_through() {
    let mut bench = Bench::<64>::new(5);
    let (mut valid, mut full) = (0, 0);
    for _ in 0..4000 {
        let outputs = [(); 3].map(|()| {
            bench.noise();
            bench.lockstep.settle().unwrap();
            let b = &bench.lockstep.block;
            let port = &b.m_axi;
            let bus = (port.arvalid.val(), port.araddr.val(), port.arlen.val());
            let gets = [
                got!(b.rings),
                got!(b.queues),
                got!(b.gather),
                got!(b.responder),
            ];
            (bus, port.rready.val(), gets)
        });
        assert!(outputs[0] == outputs[1] && outputs[1] == outputs[2]);
        let (_, rready, gets) = &outputs[0];
        valid += usize::from(gets.iter().any(|(_, beat)| beat.is_some()));
        full += usize::from(!rready);
        bench.lockstep.edge().unwrap();
    }
    assert!(valid > 500 && full > 500, "{valid} {full}");
}

#[test]
fn reset_forgets_what_is_under_way() {
    let mut bench = Bench::<64>::new(6);
    for _ in 0..5 {
        for _ in 0..bench.rng.usize(1..80) {
            bench.noise();
            bench.lockstep.settle().unwrap();
            bench.lockstep.edge().unwrap();
        }
        bench.reset();
        let bursts = mixed(&mut bench.rng, 8, 4);
        let found = bench.run(bursts, Pace::Percent(60), memory(2));
        found.map(|_| ()).unwrap_or_else(|e| panic!("{e}"));
    }
}
