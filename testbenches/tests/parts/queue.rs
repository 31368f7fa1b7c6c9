//! `queue`: order, capacity, latency and throughput against `VecDeque`, with every rhythm at both ends.

use rust_hdl_core::prelude::*;
use std::collections::VecDeque;
use warpline_hdl::parts::queue::Queue;
use warpline_hdl::records::CrcVerdict;
use warpline_sv_writer as writer;
use warpline_testbenches::lockstep::{Lockstep, LockstepError};
use warpline_testbenches::mutant_runs::unnoticed;
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};

type Bench<T, const LOG: usize> = Lockstep<Queue<T, LOG>>;

fn bench<T: Synth, const LOG: usize>(top: &str) -> Bench<T, LOG> {
    let mut bench = Lockstep::new(top, Box::new(Queue::default()), |b, level| {
        b.clock.next = level.into();
    })
    .unwrap();
    bench.block.reset.next = true;
    bench.settle().unwrap();
    bench.edge().unwrap();
    bench.block.reset.next = false;
    bench
}

/// A cycle: offers `put`, takes when `take`; says whether the record went in, and what came out.
fn cycle<T: Synth, const LOG: usize>(
    bench: &mut Bench<T, LOG>,
    put: Option<T>,
    take: bool,
) -> (bool, Option<T>) {
    let b = &mut bench.block;
    b.s_valid.next = put.is_some();
    b.s_data.next = put.unwrap_or_default();
    b.m_ready.next = take;
    bench.settle().unwrap();
    let b = &bench.block;
    let went = put.is_some() && b.s_ready.val();
    let came = (take && b.m_valid.val()).then(|| b.m_data.val());
    bench.edge().unwrap();
    (went, came)
}

/// Random traffic; the queue must say "ready" and "valid" exactly when a deque of 2^LOG records would.
fn traffic<T: Synth, const LOG: usize>(top: &str, record: impl Fn(&mut fastrand::Rng) -> T) {
    let mut rng = fastrand::Rng::with_seed(LOG as u64);
    let mut bench = bench::<T, LOG>(top);
    let mut model: VecDeque<T> = VecDeque::new();
    let paces = [
        Pace::Always,
        Pace::Percent(30),
        Pace::Percent(80),
        Pace::Bursts(3 << LOG),
    ];
    let (mut full, mut empty, mut passed) = (0, 0, 0);
    for (source, sink) in paces
        .into_iter()
        .flat_map(|source| paces.map(|sink| (source, sink)))
    {
        let (mut source, mut sink) = (Rhythm::new(source), Rhythm::new(sink));
        for _ in 0..300 {
            let put = source.go(&mut rng).then(|| record(&mut rng));
            let take = sink.go(&mut rng);
            assert_eq!(bench.block.s_ready.val(), model.len() < 1 << LOG);
            assert_eq!(bench.block.m_valid.val(), !model.is_empty());
            full += usize::from(model.len() == 1 << LOG);
            empty += usize::from(model.is_empty());
            let (went, came) = cycle(&mut bench, put, take);
            if came.is_some() {
                assert_eq!(came, model.pop_front());
                passed += 1;
            }
            model.extend(put.filter(|_| went));
        }
    }
    assert!(
        full > 100 && empty > 100 && passed > 1000,
        "{full} {empty} {passed}"
    );
}

#[test]
fn words_in_order_at_several_depths() {
    traffic::<Bits<16>, 1>("queue_1", stimulus::bits);
    traffic::<Bits<16>, 3>("queue_3", stimulus::bits);
    traffic::<Bits<16>, 7>("queue_7", stimulus::bits);
}

#[test]
fn records_in_order() {
    traffic::<CrcVerdict, 4>("queue_verdict", |rng| CrcVerdict {
        good: chance(rng, 50),
        state: stimulus::bits(rng),
        zeros: stimulus::bits(rng),
        received: stimulus::bits(rng),
    });
}

#[test]
fn a_record_comes_out_a_cycle_later_and_one_each_cycle() {
    let mut bench = bench::<Bits<16>, 2>("queue_2");
    assert_eq!(cycle(&mut bench, Some(0.into()), true), (true, None));
    for number in 1..100_u64 {
        let (went, came) = cycle(&mut bench, Some(number.into()), true);
        assert_eq!((went, came), (true, Some((number - 1).into())));
    }
}

#[test]
fn all_rows_are_used_and_reset_empties_them() {
    let mut bench = bench::<Bits<16>, 2>("queue_2");
    for number in 0..4_u64 {
        assert!(cycle(&mut bench, Some(number.into()), false).0);
    }
    assert!(!cycle(&mut bench, Some(4.into()), false).0);
    // no path from m_ready to s_ready: a full queue is full until the cycle after
    assert_eq!(
        cycle(&mut bench, Some(5.into()), true),
        (false, Some(0.into()))
    );
    assert!(cycle(&mut bench, Some(6.into()), false).0);
    bench.block.reset.next = true;
    cycle(&mut bench, None, false);
    bench.block.reset.next = false;
    assert_eq!(cycle(&mut bench, None, true), (false, None));
    assert!(bench.block.s_ready.val() && !bench.block.m_valid.val());
}

#[test]
fn a_row_that_is_not_written_is_seen() {
    let block = Box::new(Queue::<Bits<16>, 2>::default());
    let mut design = writer::write(&*block, "queue_fault").unwrap();
    let faulty: usize = design
        .modules
        .iter_mut()
        .map(|module| {
            let text = module
                .text
                .replace("if (write) rows", "if (write & write_row != 2) rows");
            usize::from(std::mem::replace(&mut module.text, text.clone()) != text)
        })
        .sum();
    assert_eq!(faulty, 1);
    let clock: fn(&mut Queue<Bits<16>, 2>, bool) = |b, level| b.clock.next = level.into();
    let mut bench = Lockstep::with_fault("queue_fault", block, &design, clock).unwrap();
    bench.block.s_valid.next = true;
    bench.block.s_data.next = 7.into();
    bench.block.m_ready.next = true;
    let seen = (0..8).find_map(|_| bench.settle().and_then(|()| bench.edge()).err());
    assert!(matches!(seen, Some(LockstepError::Differ { .. })));
}

/// A sample of what `make mutants` does, each time.
#[test]
fn planted_faults_are_noticed() {
    let tests = ["a_record_comes_out", "words_in_order"];
    assert_eq!(unnoticed(3, 1, &tests).unwrap(), []);
}
