//! Cycles: what a segment costs, and how long the first one takes.

use warpline_hdl::tx::ddp::segment::command::TransmitCommand;
use warpline_hdl::tx::ddp::segment::{FIRST_PIECE, cycles, part_cycles};
use warpline_regmap::transmit::{Element, Flags, Gather, Inline, Payload, SendRequest, Target};

use crate::bench::{Bench, Paces};
use crate::model::Event;
use crate::requests::arming;

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
        let arguments = arming(&mut bench.rng, stream, 512);
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
        [15, 8, 8, 8]
    );
    for elements in [0, 1, 2, 3, 4, 5, 8] {
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
        // no peer acknowledges an FPDU before it is measured
        let position = bench.streams[0].position;
        if position != freed && bench.seen.last().unwrap().cycle + 8 < bench.cycle {
            freed = position;
            bench.events.push_back((0, Event::Freed(position)));
        }
        bench.must_step();
    }
    let cost = part_cycles(1);
    let gaps = bench
        .seen
        .windows(2)
        .map(|pair| pair[1].cycle - pair[0].cycle);
    let gaps: Vec<usize> = gaps.collect();
    assert!(gaps.iter().all(|gap| *gap == cost), "{gaps:?}");
}

/// Small requests, one behind the other, with the peer's acknowledgements: inline, without payload, and of one element.
fn small(kind: usize) -> SendRequest {
    let target = Target::Untagged {
        queue: 3,
        rsvd_ulp: [0; 5],
    };
    let payload = Payload::Inline(Inline::new(&[0x5A; 64]).unwrap());
    match kind {
        0 => request(0),
        1 => SendRequest::new(target, Flags::default(), 0, payload).unwrap(),
        _ => request(1),
    }
}

/// Steps until nothing is left, and acknowledges everything that was seen.
fn acknowledged(bench: &mut Bench<4>) {
    let mut stream = 0;
    while bench.streams.iter().any(|stream| !stream.slots.is_empty()) {
        let position = bench.streams[stream].position;
        bench
            .events
            .push_back((stream as u8, Event::Freed(position)));
        bench.must_step();
        stream = (stream + 1) % 4;
    }
}

fn gaps(bench: &Bench<4>) -> Vec<usize> {
    let pairs = bench.seen.windows(2);
    pairs.map(|pair| pair[1].cycle - pair[0].cycle).collect()
}

/// From one stream a small segment leaves every 8 cycles, also from visit to visit.
#[test]
fn one_stream_sends_a_small_segment_every_eight_cycles() {
    for kind in 0..3 {
        let mut bench = armed();
        for _ in 0..250 {
            bench.stream(2).post(&small(kind));
        }
        acknowledged(&mut bench);
        let gaps = gaps(&bench);
        assert!(gaps.iter().all(|gap| *gap == 8), "kind {kind}: {gaps:?}");
    }
}

/// Many streams do the same together, and take turns; only a change of the visit may cost more.
#[test]
fn many_streams_send_a_small_segment_every_eight_cycles() {
    for kind in 0..3 {
        let mut bench = armed();
        for stream in 0..4 {
            for _ in 0..200 {
                bench.stream(stream).post(&small(kind));
            }
        }
        acknowledged(&mut bench);
        let gaps = gaps(&bench);
        let streams = bench.seen.iter().map(|seen| seen.segment.stream.index());
        let streams: Vec<usize> = streams.collect();
        let changes = streams.windows(2).filter(|pair| pair[0] != pair[1]);
        let changes = changes.count();
        assert!(changes >= 4);
        // a change of the visit costs at most six cycles
        let total: usize = gaps.iter().sum();
        assert!(
            total <= 8 * gaps.len() + 6 * changes,
            "kind {kind}: {gaps:?}"
        );
        let usual = gaps.iter().filter(|gap| **gap == 8).count();
        assert!(usual + 3 * changes >= gaps.len(), "kind {kind}: {gaps:?}");
    }
}

/// A visit that ends since the stream has nothing more costs two cycles.
#[test]
fn streams_with_one_request_each_cost_two_more() {
    let mut bench = armed();
    for stream in 0..4 {
        bench.stream(stream).post(&small(1));
    }
    acknowledged(&mut bench);
    assert_eq!(gaps(&bench), [10; 3]);
}
