//! Cycles: what a segment costs, and how long the first one takes.

use warpline_hdl::tx::ddp::segment::{FIRST_PIECE, TransmitCommand, cycles};
use warpline_regmap::transmit::{Element, Flags, Gather, Payload, SendRequest, Target};

use crate::support::{Bench, Event, Paces, arming};

/// An untagged request of elements of 24 octets each.
fn request(elements: usize) -> SendRequest {
    let element = Element {
        stag: 0x100,
        length: 24,
        offset: 0,
    };
    let target = Target::Untagged {
        queue: 0,
        rsvd_ulp: [0; 5],
    };
    let gather = Gather::new(&vec![element; elements]).unwrap();
    SendRequest::new(target, Flags::default(), 0, Payload::Gather(gather)).unwrap()
}

fn armed() -> Bench<4> {
    let mut bench = Bench::new(1, Paces::ALWAYS);
    for stream in 0..4 {
        let arguments = arming(&mut bench.rng, stream, 1460);
        bench.carry_out(TransmitCommand::Arm, arguments);
    }
    bench.wait(20);
    bench
}

#[test]
fn the_first_piece_follows_the_head() {
    let mut bench = armed();
    let start = bench.cycle;
    bench.stream(1).post(&request(1));
    bench.drain();
    assert_eq!(bench.seen[0].first_piece - start, FIRST_PIECE);
}

#[test]
fn segments_of_a_visit_follow_each_other() {
    assert_eq!(
        [FIRST_PIECE, cycles(0), cycles(1), cycles(2)],
        [16, 23, 28, 36]
    );
    for elements in [0, 1, 2, 8] {
        let mut bench = armed();
        for _ in 0..8 {
            bench.stream(1).post(&request(elements));
        }
        bench.drain();
        let cost = cycles(elements);
        for pair in bench.seen.windows(2) {
            assert_eq!(pair[1].cycle - pair[0].cycle, cost, "{elements} elements");
        }
    }
}

/// A long message costs what its segments cost, whatever is in front of them.
#[test]
fn segments_of_a_message_follow_each_other() {
    let mut bench = armed();
    let element = Element {
        stag: 0x100,
        length: 30_000,
        offset: 0,
    };
    let target = Target::Tagged {
        stag: 1,
        offset: 0,
        rsvd_ulp: 0,
    };
    let gather = Gather::new(&[element]).unwrap();
    let long = SendRequest::new(target, Flags::default(), 0, Payload::Gather(gather)).unwrap();
    bench.stream(0).post(&long);
    let mut freed = 0;
    while !bench.streams[0].slots.is_empty() {
        let position = bench.streams[0].position;
        if position != freed {
            freed = position;
            bench.events.push_back((0, Event::Freed(position)));
        }
        bench.must_step();
    }
    let cost = cycles(1);
    let gaps = bench
        .seen
        .windows(2)
        .map(|pair| pair[1].cycle - pair[0].cycle);
    let within = gaps.filter(|gap| *gap == cost).count();
    // every QUANTUM a new visit begins
    assert!(
        3 * within > bench.seen.len(),
        "{within} of {}",
        bench.seen.len()
    );
}
