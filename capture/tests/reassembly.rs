//! The stream does not depend on how its octets were cut, repeated, overlapped or ordered.

mod common;

use std::num::NonZeroUsize;

use common::{CAPTURES, Wire, open};
use proptest::prelude::*;
use warpline_capture::{Gap, Segmentation, Side, read_traffic, reorder, resegment};

fn nonzero(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap()
}

// req: MPA-START-22
#[test]
fn shuffled_captures_give_the_same_streams_and_frames() {
    for name in CAPTURES {
        let capture = open(name);
        let original = &capture.connections[0];
        for seed in 0..5 {
            let mut shuffled = original.clone();
            let mut rng = fastrand::Rng::with_seed(seed);
            rng.shuffle(&mut shuffled.client.segments);
            rng.shuffle(&mut shuffled.server.segments);
            assert_ne!(shuffled.client, original.client);
            for side in [Side::Client, Side::Server] {
                assert_eq!(
                    shuffled.sent_by(side).stream(),
                    original.sent_by(side).stream()
                );
                assert_eq!(
                    shuffled.flow(side).unwrap().octets(),
                    original.flow(side).unwrap().octets()
                );
            }
        }
    }
}

proptest! {
    /// Any cutting, order, repetition and sequence wrap; the Initiator may be either TCP side, after streaming data.
    // req: MPA-START-04, MPA-START-05, MPA-START-22
    #[test]
    fn any_segmentation_gives_the_same_flow(
        isn: u32,
        swap: bool,
        streaming in 0_usize..50,
        private in 0_usize..=512,
        data in proptest::collection::vec(any::<u8>(), 1..2000),
        max in 1_usize..300,
        seed: u64,
    ) {
        let mut sent = vec![b'x'; streaming];
        sent.extend(common::frame(b"MPA ID Req Frame", 0xC0, 1, &vec![7; private]));
        let seq_start = isn.wrapping_add(1 + sent.len() as u32);
        sent.extend(&data);
        let reply = common::frame(b"MPA ID Rep Frame", 0, 1, b"hello");
        let random = |seed| Segmentation::Random { seed, max: nonzero(max) };

        let (initiator, responder) = if swap { (Side::Server, Side::Client) } else { (Side::Client, Side::Server) };
        let mut wire = Wire::default();
        wire.handshake(initiator, isn, 77);
        // Two different cuttings of the same stream: everything is sent twice, with overlaps.
        let mut pieces = resegment(isn.wrapping_add(1), &sent, random(seed));
        pieces.extend(resegment(isn.wrapping_add(1), &sent, random(!seed)));
        let all = pieces.len();
        reorder(&mut pieces, seed, nonzero(all));
        for (seq, octets) in &pieces {
            wire.segment(initiator, *seq, octets);
        }
        for (seq, octets) in resegment(78, &reply, random(seed)) {
            wire.segment(responder, seq, &octets);
        }

        let connections = read_traffic(&wire.pcap()).unwrap();
        prop_assert_eq!(connections.len(), 1);
        let mpa = connections[0].mpa.as_ref().unwrap();
        prop_assert_eq!(mpa.initiator, initiator);
        prop_assert!(mpa.crc() && mpa.markers(responder) && !mpa.markers(initiator));
        prop_assert_eq!(mpa.request.private_data.len(), private);
        let flow = connections[0].flow(initiator).unwrap();
        prop_assert_eq!(flow.seq_start, seq_start);
        prop_assert_eq!(flow.octets().unwrap(), data);
        prop_assert!(flow.segments.iter().all(|(_, o)| !o.is_empty()));
        let answer = connections[0].flow(responder).unwrap();
        prop_assert_eq!((answer.seq_start, answer.segments.len()), (78 + 25, 0));
    }

    #[test]
    fn resegmentation_keeps_octets_and_sequence_numbers(
        seq: u32,
        data in proptest::collection::vec(any::<u8>(), 0..500),
        n in 1_usize..600,
        seed: u64,
    ) {
        for plan in [
            Segmentation::AsCaptured,
            Segmentation::Whole,
            Segmentation::Every(nonzero(n)),
            Segmentation::Random { seed, max: nonzero(n) },
        ] {
            let pieces = resegment(seq, &data, plan);
            prop_assert_eq!(&pieces, &resegment(seq, &data, plan), "not deterministic");
            let mut next = seq;
            for (at, octets) in &pieces {
                prop_assert_eq!(*at, next);
                prop_assert!(!octets.is_empty());
                next = next.wrapping_add(octets.len() as u32);
            }
            prop_assert_eq!(pieces.concat_octets(), data.clone());
            match plan {
                Segmentation::Every(n) => {
                    prop_assert_eq!(pieces.len(), data.len().div_ceil(n.get()));
                    prop_assert!(pieces.iter().rev().skip(1).all(|(_, o)| o.len() == n.get()));
                }
                Segmentation::Random { max, .. } => {
                    prop_assert!(pieces.iter().all(|(_, o)| o.len() <= max.get()));
                }
                _ => prop_assert!(pieces.len() <= 1),
            }
        }
    }

    #[test]
    fn reordering_stays_inside_its_window(count in 0_usize..200, window in 1_usize..20, seed: u64) {
        let original: Vec<_> = (0..count as u32).map(|i| (i, vec![0])).collect();
        let mut pieces = original.clone();
        reorder(&mut pieces, seed, nonzero(window));
        for (place, (was, _)) in pieces.iter().enumerate() {
            prop_assert_eq!(place / window, *was as usize / window);
        }
        pieces.sort();
        prop_assert_eq!(pieces, original);
    }
}

trait Concat {
    fn concat_octets(&self) -> Vec<u8>;
}

impl Concat for Vec<warpline_capture::Piece> {
    fn concat_octets(&self) -> Vec<u8> {
        self.iter().flat_map(|(_, octets)| octets.clone()).collect()
    }
}

#[test]
fn random_segmentation_reaches_every_length() {
    let plan = Segmentation::Random {
        seed: 1,
        max: nonzero(7),
    };
    let mut lengths: Vec<_> = resegment(0, &[0; 1000], plan)
        .iter()
        .map(|(_, o)| o.len())
        .collect();
    lengths.sort_unstable();
    lengths.dedup();
    assert_eq!(lengths, [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_lost_segment_is_reported_as_a_gap() {
    let capture = open("crc1-rev2-sends");
    let mut connection = capture.connections[0].clone();
    let start = connection.client.start_seq();
    let lost = connection.client.segments.remove(10);
    let position = u64::from(lost.seq.wrapping_sub(start));
    let missing = lost.payload.len() as u64;
    assert!(missing > 0);

    let stream = connection.client.stream();
    assert_eq!(
        stream.gap,
        Some(Gap {
            seq: lost.seq,
            position,
            missing
        })
    );
    assert_eq!(stream.octets.len() as u64, position);
    // The same hole, counted from SeqStart: 33 octets of Request frame lie before it.
    let gap = connection.flow(Side::Client).unwrap().octets().unwrap_err();
    assert_eq!(
        gap,
        Gap {
            seq: lost.seq,
            position: position - 33,
            missing
        }
    );
    // Without the octets there is no other cutting, but the captured one stays.
    let flow = connection.flow(Side::Client).unwrap();
    assert_eq!(flow.resegment(Segmentation::Whole), Err(gap));
    assert_eq!(
        flow.resegment(Segmentation::AsCaptured).unwrap(),
        flow.segments
    );
}

#[test]
fn a_lost_last_segment_shows_at_the_fin() {
    let capture = open("crc1-rev2-sends");
    let mut client = capture.connections[0].client.clone();
    let last = client
        .segments
        .iter()
        .rposition(|s| !s.payload.is_empty())
        .unwrap();
    let lost = client.segments.remove(last);
    let gap = client.stream().gap.unwrap();
    assert_eq!(
        (gap.seq, gap.missing),
        (lost.seq, lost.payload.len() as u64)
    );
}

#[test]
fn resets_and_keep_alives_add_nothing() {
    let mut wire = Wire::started(100, b"abcd");
    let after = wire.next_seq();
    wire.segment(Side::Client, after.wrapping_sub(1), b"\0"); // keep-alive probe with one old octet
    wire.flagged(Side::Client, after, b"no such port", |tcp| tcp.rst = true);
    wire.segment(Side::Client, after, b"efgh");
    let connections = read_traffic(&wire.pcap()).unwrap();
    assert_eq!(
        connections[0].flow(Side::Client).unwrap().octets().unwrap(),
        b"abcdefgh"
    );
}

#[test]
fn a_capture_that_begins_late_starts_at_the_lowest_octet() {
    let capture = open("crc1-rev2-sends");
    let mut client = capture.connections[0].client.clone();
    let whole = client.stream();
    client.segments.retain(|s| !s.flags.syn);
    assert_eq!(client.stream(), whole);
    client.segments.reverse();
    assert_eq!(client.stream(), whole);
}

#[test]
fn the_same_ports_used_again_are_another_connection() {
    let mut wire = Wire::started(100, b"first");
    wire.again(0x8000_0000, b"second");
    let connections = read_traffic(&wire.pcap()).unwrap();
    let flows: Vec<_> = connections
        .iter()
        .map(|c| c.flow(Side::Client).unwrap().octets().unwrap())
        .collect();
    assert_eq!(flows, [b"first".as_slice(), b"second"]);
}
