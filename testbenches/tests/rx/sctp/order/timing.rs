//! Latency and throughput, in cycles.

use warpline_hdl::rx::sctp::order::{CHAIN, IN_ORDER, ISSUE, JUDGE};

use crate::random::quick;
use crate::support::{Act, Bench, key};

type Bench4 = Bench<4>;

fn armed() -> Bench4 {
    let mut bench = Bench4::new(32_767, 3);
    bench.reset().unwrap();
    let mut paces = quick();
    let act = Act {
        arm: Some((2, 1)),
        ..Act::default()
    };
    bench.cycle = 100;
    bench.step(act, &mut paces).unwrap();
    // eight slots are swept
    for _ in 0..20 {
        bench.step(Act::default(), &mut paces).unwrap();
    }
    bench
}

/// Offers keys one behind the other; ends and FPDUs are accepted at once.
fn offer(bench: &mut Bench4, numbers: &[u16]) {
    let mut paces = quick();
    let mut numbers = numbers.iter();
    let mut left = 300;
    while left > 0 {
        let mut act = Act::default();
        if !bench.has_key() {
            act.key = numbers.next().map(|ssn| key(2, *ssn));
        }
        bench.step(act, &mut paces).unwrap();
        left -= 1;
    }
    assert!(bench.is_idle());
}

#[test]
fn latencies_are_as_stated() {
    assert_eq!((JUDGE, ISSUE, CHAIN, IN_ORDER), (7, 4, 3, 7));
    let mut bench = armed();
    offer(&mut bench, &[1]);
    assert_eq!(bench.answered[0], bench.keyed[0] + JUDGE);
    assert_eq!(bench.log[0].0, bench.ended[0] + ISSUE);
}

#[test]
fn a_chain_behind_a_gap_follows_in_three_cycles_each() {
    let mut bench = armed();
    offer(&mut bench, &[3, 2, 4, 6, 5]);
    assert!(bench.log.iter().all(|(_, fpdu)| fpdu.ahead));
    let before = bench.log.len();
    offer(&mut bench, &[1]);
    let chain = &bench.log[before..];
    assert_eq!(chain.len(), 6);
    assert!(chain.windows(2).all(|pair| pair[1].0 == pair[0].0 + CHAIN));
    let numbers = chain.iter().map(|(_, f)| f.position.to_u64() / 512);
    assert!(numbers.eq(1..=6));
}

#[test]
fn keys_and_ends_alternate_without_idle_cycles() {
    let mut bench = armed();
    offer(&mut bench, &[1, 2, 3, 4, 5, 6, 7, 8]);
    // a key, and the end of the chunk in front of it
    let gaps: Vec<usize> = bench.keyed.windows(2).map(|k| k[1] - k[0]).collect();
    assert_eq!(
        gaps[2..],
        vec![JUDGE + IN_ORDER; gaps.len() - 2],
        "{gaps:?}"
    );
}
