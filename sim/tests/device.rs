//! The device in the simulated card, as a program sees it through the driver.

use std::time::Duration;

use fastrand::Rng;
use warpline_driver::{
    Buffer, Completion, Context, DmaMemory, ErrorNumber, Options, ProtectionDomain, Registration,
    Stream, StreamOptions,
};
use warpline_hdl::Config;
use warpline_sim::{BackPressure, Card, CardOptions};
use warpline_wire::send::{CrcField, FpduWriter, Message};

fn options(seed: u64) -> CardOptions {
    CardOptions {
        seed,
        back_pressure: BackPressure::RANDOM,
        idle: 20,
        ..Default::default()
    }
}

/// A device with small rings, so that windows matter.
fn small() -> Config {
    Config {
        ring_octets: 4 << 10,
        commit_octets: 4 << 10,
        stag_slots: 16,
        receive_slots: 4,
        ..Config::simulated(64)
    }
}

fn open(card: &Card, completion_entries: u32) -> Context {
    let options = Options {
        completion_entries,
        ..Default::default()
    };
    Context::open(Box::new(card.clone()), options).unwrap()
}

fn arm(domain: &ProtectionDomain, number: u8, sequence_start: u32, markers: bool) -> Stream {
    let options = StreamOptions {
        sequence_start,
        markers,
        queues: 0b11,
        ..Default::default()
    };
    domain.arm(number, options).unwrap()
}

/// The octets of messages on one stream.
fn octets(markers: bool, mulpdu: u16, messages: &[(Message, &[u8])]) -> Vec<u8> {
    let mut writer = FpduWriter::new(markers, CrcField::Computed);
    let mut octets = Vec::new();
    for (message, payload) in messages {
        writer
            .append_message(*message, payload, mulpdu, &mut octets)
            .unwrap();
    }
    octets
}

/// Segments of random sizes, in an order of their own, some of them twice.
fn feed(card: &Card, rng: &mut Rng, stream: u8, start: u32, octets: &[u8], most: usize) {
    let mut segments = Vec::new();
    let mut at = 0;
    while at < octets.len() {
        let end = octets.len().min(at + rng.usize(1..=most));
        segments.push(at..end);
        if rng.u8(..10) == 0 {
            segments.push(at..end);
        }
        at = end;
    }
    for i in 1..segments.len() {
        if rng.u8(..4) == 0 {
            segments.swap(i - 1, i);
        }
    }
    for segment in segments {
        let sequence = start.wrapping_add(segment.start as u32);
        card.feed(stream, sequence, &octets[segment]).unwrap();
    }
}

fn tagged(stag: u32, to: u64) -> Message {
    let rsvd_ulp = 0xC0;
    Message::Tagged { stag, to, rsvd_ulp }
}

fn untagged(qn: u32, msn: u32) -> Message {
    let rsvd_ulp = [0x43, 5, 6, 7, 8];
    Message::Untagged { qn, msn, rsvd_ulp }
}

fn pattern(rng: &mut Rng, length: usize) -> Vec<u8> {
    std::iter::repeat_with(|| rng.u8(1..))
        .take(length)
        .collect()
}

fn all(context: &Context) -> Vec<Completion> {
    let queue = context.completion_queue();
    std::iter::from_fn(|| queue.poll().unwrap()).collect()
}

/// Tagged and untagged messages on two streams at once, in odd places of memory.
fn traffic(config: &Config, markers: bool, seed: u64) {
    let card = Card::open(config, options(seed)).unwrap();
    let context = open(&card, 16);
    let shape = context.shape();
    assert_eq!(usize::from(shape.width), config.octets());
    assert_eq!(usize::from(shape.streams), config.streams);
    assert_eq!(shape.ring_octets as usize, config.ring_octets);
    assert_eq!(shape.stag_slots as usize, config.stag_slots);

    let mut rng = Rng::with_seed(seed);
    let domain = context.protection_domain().unwrap();
    let registration = Registration {
        offset: 13,
        length: Some(5000),
        base: Some(0xFFFF_FFFF_0000_0007),
        ..Default::default()
    };
    let region = domain
        .register(DmaMemory::new(6000).unwrap(), registration)
        .unwrap();
    let streams = [
        arm(&domain, 0, 0xFFFF_FE00, markers),
        arm(&domain, 2, 77, markers),
    ];
    let mut buffers = context.buffers(3, 1500).unwrap();
    let spare: Buffer = buffers.pop().unwrap();
    for buffer in buffers {
        streams[1].receive_queue(1).unwrap().post(buffer).unwrap();
    }
    let (first, second) = (pattern(&mut rng, 4321), pattern(&mut rng, 300));
    let (send, empty) = (pattern(&mut rng, 1500), []);
    let base = region.base();
    let writes = octets(
        markers,
        1111,
        &[
            (tagged(region.stag(), base), &first),
            (tagged(region.stag(), base + 4700), &second),
        ],
    );
    let sends = octets(
        markers,
        700,
        &[(untagged(1, 1), &send), (untagged(1, 2), &empty)],
    );
    feed(&card, &mut rng, 0, 0xFFFF_FE00, &writes, 1460);
    feed(&card, &mut rng, 2, 77, &sends, 100);
    card.run_until_idle().unwrap();
    assert_eq!([card.untaken(0).unwrap(), card.untaken(2).unwrap()], [0, 0]);
    assert_eq!(card.bus_errors(), 0);

    let mut expected = vec![0; 6000];
    expected[13..][..4321].copy_from_slice(&first);
    expected[13 + 4700..][..300].copy_from_slice(&second);
    assert!(region.to_vec().unwrap() == expected, "memory differs");
    let (mut offsets, mut messages) = (Vec::new(), Vec::new());
    for completion in all(&context) {
        match completion {
            Completion::Tagged(c) => {
                assert_eq!((c.stream, c.stag, c.rsvd_ulp), (0, region.stag(), 0xC0));
                offsets.push(c.offset + u64::from(c.length) - base);
            }
            Completion::Untagged(c) => {
                assert_eq!((c.stream, c.queue), (2, 1));
                assert_eq!(c.rsvd_ulp, [0x43, 5, 6, 7, 8]);
                messages.push((
                    c.msn,
                    c.buffer.id(),
                    c.buffer.to_vec()[..c.length as usize].to_vec(),
                ));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(offsets, [4321, 5000]);
    assert_eq!(messages, [(1, 0, send), (2, 1, vec![])]);

    let counters = context.counters().unwrap();
    assert_eq!(counters.octets as usize, writes.len() + sends.len());
    assert_eq!(counters.payload_octets, 4321 + 300 + 1500);
    assert_eq!((counters.errors, counters.fpdus_discarded), (0, 0));
    let end = 0xFFFF_FE00_u32.wrapping_add(writes.len() as u32);
    assert_eq!(streams[0].edge().unwrap(), end);
    assert_eq!(
        streams[0].limit().unwrap(),
        end.wrapping_add(shape.ring_octets)
    );

    // A stream closed and armed again starts afresh.
    let [zero, _] = streams;
    zero.close().unwrap();
    let zero = arm(&domain, 0, 5, markers);
    zero.receive_queue(0).unwrap().post(spare).unwrap();
    let again = octets(markers, 700, &[(untagged(0, 1), b"again")]);
    feed(&card, &mut rng, 0, 5, &again, 7);
    let completion = context
        .completion_queue()
        .wait(Duration::from_secs(60))
        .unwrap();
    match completion {
        Some(Completion::Untagged(c)) => assert_eq!(c.buffer.to_vec()[..5], *b"again"),
        other => panic!("{other:?}"),
    }
}

// req: MPA-RCV-26, DDP-DEL-07, AMB-16, AMB-41
#[test]
fn traffic_of_64_bits() {
    traffic(&small(), false, 1);
    traffic(&small(), true, 2);
}
