//! The device in the simulated card, as a program sees it through the driver.

use std::time::Duration;

use fastrand::Rng;
use warpline_driver::{
    Buffer, Completion, Context, DmaMemory, ErrorDetail, ErrorNumber, Options, ProtectionDomain,
    Registration, Stream, StreamOptions, VfioUser,
};
use warpline_hdl::Config;
use warpline_sim::{BackPressure, Card, CardOptions, Error};
use warpline_wire::send::{CrcField, FpduWriter, Message};

/// Time for an answer of the card, on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

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
    let device = VfioUser::over(card.connect().unwrap(), TIMEOUT).unwrap();
    Context::open(Box::new(device), options).unwrap()
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

/// Feeds segments of random sizes, in random order, some of them twice.
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

/// Tagged and untagged messages on two streams at once, at unaligned addresses.
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

    // A stream that is closed and armed again starts anew.
    let [zero, _] = streams;
    zero.close().unwrap();
    let zero = arm(&domain, 0, 5, markers);
    zero.receive_queue(0).unwrap().post(spare).unwrap();
    let again = octets(markers, 700, &[(untagged(0, 1), b"again")]);
    feed(&card, &mut rng, 0, 5, &again, 7);
    card.run_until_idle().unwrap();
    match context.completion_queue().poll().unwrap() {
        Some(Completion::Untagged(c)) => assert_eq!(c.buffer.to_vec()[..5], *b"again"),
        other => panic!("{other:?}"),
    }
}

// req: MPA-RCV-26, DDP-DEL-02, DDP-DEL-04, DDP-TAG-04, DDP-TAG-08, AMB-16, AMB-41, DDP-UNT-02, DDP-UNT-04
#[test]
fn traffic_of_64_bits() {
    traffic(&small(), false, 1);
    traffic(&small(), true, 2);
}

// req: MPA-RCV-26, DDP-DEL-02, DDP-DEL-04, DDP-TAG-04, DDP-TAG-08, AMB-16, AMB-41
#[test]
fn traffic_of_128_bits() {
    traffic(&Config::simulated(128), true, 3);
}

// req: MPA-RCV-26, DDP-DEL-02, DDP-DEL-04, DDP-TAG-04, DDP-TAG-08, AMB-16, AMB-41
#[test]
fn traffic_of_256_bits() {
    traffic(&Config::simulated(256), true, 4);
}

// req: MPA-RCV-26, DDP-DEL-02, DDP-DEL-04, DDP-TAG-04, DDP-TAG-08, AMB-16, AMB-41
#[test]
fn traffic_of_512_bits() {
    traffic(&Config::simulated(512), true, 5);
}

/// Many messages for one region as one octet stream, and the region's memory afterwards.
fn many_writes(
    rng: &mut Rng,
    stag: u32,
    base: u64,
    size: usize,
    count: usize,
) -> (Vec<u8>, Vec<u8>) {
    let mut memory = vec![0; size];
    let writes: Vec<_> = (0..count)
        .map(|_| {
            let length = rng.usize(1..200);
            let at = rng.usize(..=size - length);
            let payload = pattern(rng, length);
            memory[at..at + length].copy_from_slice(&payload);
            (tagged(stag, base + at as u64), payload)
        })
        .collect();
    let messages: Vec<_> = writes
        .iter()
        .map(|(m, payload)| (*m, &payload[..]))
        .collect();
    (octets(false, 500, &messages), memory)
}

// req: DDP-DEL-01
#[test]
fn a_full_completion_queue_holds_the_device_and_loses_nothing() {
    for seed in 0..5 {
        let card = Card::open(&small(), options(seed)).unwrap();
        let context = open(&card, 2);
        let domain = context.protection_domain().unwrap();
        let region = domain
            .register(DmaMemory::new(4096).unwrap(), Registration::default())
            .unwrap();
        let stream = arm(&domain, 1, 9, false);
        let mut rng = Rng::with_seed(seed);
        let (octets, memory) = many_writes(&mut rng, region.stag(), region.base(), 4096, 200);
        feed(&card, &mut rng, 1, 9, &octets, 300);
        card.run_until_idle().unwrap();
        assert!(card.untaken(1).unwrap() > 0, "the window shuts");
        let queue = context.completion_queue();
        for i in 0..200 {
            let mut completion = queue.poll().unwrap();
            if completion.is_none() {
                card.run_until_idle().unwrap();
                completion = queue.poll().unwrap();
            }
            let tagged = matches!(completion, Some(Completion::Tagged(_)));
            assert!(tagged, "seed {seed}, {i}: {completion:?}");
        }
        card.run_until_idle().unwrap();
        assert!(all(&context).is_empty(), "seed {seed}");
        assert!(region.to_vec().unwrap() == memory, "seed {seed}");
        stream.close().unwrap();
    }
}

// req: AMB-42, DDP-SEC-22
#[test]
fn nothing_is_written_behind_a_revocation() {
    for seed in 0..20 {
        let mut slow = options(seed);
        slow.back_pressure = BackPressure {
            stall: 50,
            latency: 1..=300,
        };
        let card = Card::open(&small(), slow).unwrap();
        let context = open(&card, 64);
        let domain = context.protection_domain().unwrap();
        let region = domain
            .register(DmaMemory::new(4096).unwrap(), Registration::default())
            .unwrap();
        let stream = arm(&domain, 1, 9, false);
        let mut rng = Rng::with_seed(seed);
        // More than the device can have checked by then: it holds completions, Deliveries and FPDUs under way.
        let (octets, _) = many_writes(&mut rng, region.stag(), region.base(), 4096, 250);
        feed(&card, &mut rng, 1, 9, &octets, 300);
        card.step(rng.u64(200..3000)).unwrap();
        let memory = region.revoke().unwrap(); // unmapped: a late write would be a bus error
        let before = memory.to_vec();
        card.run_until_idle().unwrap();
        assert!(memory[..] == before, "seed {seed}");
        assert_eq!(card.bus_errors(), 0, "seed {seed}");
        let errors = |c: &Completion| matches!(c, Completion::Error(e) if e.number == ErrorNumber::TaggedInvalidStag);
        assert_eq!(
            all(&context).iter().filter(|c| errors(c)).count(),
            1,
            "seed {seed}"
        );
        assert_eq!(
            card.untaken(1).unwrap(),
            0,
            "a frozen stream is still consumed"
        );
        stream.close().unwrap();
    }
}

// req: DDP-ERR-23, DDP-TEAR-15
#[test]
fn a_write_that_fails_is_an_error_of_its_stream() {
    let card = Card::open(&small(), options(7)).unwrap();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let register = || {
        domain
            .register(DmaMemory::new(64).unwrap(), Registration::default())
            .unwrap()
    };
    let [bad, good] = [register(), register()];
    let streams = [arm(&domain, 0, 0, false), arm(&domain, 1, 0, false)];
    for buffer in context.buffers(2, 8).unwrap() {
        streams[0].receive_queue(1).unwrap().post(buffer).unwrap();
    }
    card.fail_writes(bad.base()..bad.base() + 1);
    for (stream, region) in [(0, &bad), (1, &good)] {
        let octets = octets(
            false,
            500,
            &[(tagged(region.stag(), region.base()), &[1; 20])],
        );
        card.feed(stream, 0, octets).unwrap();
    }
    card.run_until_idle().unwrap();
    assert_eq!(card.bus_errors(), 1);
    let (mut failed, mut flushed, mut delivered) = (0, 0, 0);
    for completion in all(&context) {
        match completion {
            Completion::Error(event) => {
                assert_eq!(
                    (event.stream, event.number),
                    (0, ErrorNumber::LocalCatastrophic)
                );
                failed += 1;
            }
            Completion::Flushed(_) => flushed += 1,
            Completion::Tagged(c) => {
                assert_eq!(c.stream, 1);
                delivered += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((failed, flushed, delivered), (1, 2, 1));
    let record = streams[0].error_record().unwrap().unwrap();
    assert_eq!(record.number, ErrorNumber::LocalCatastrophic);
}

// req: AMB-09, DDP-TEAR-13, MPA-ERR-04, MPA-CRC-19
#[test]
fn a_wrong_crc_is_reported_with_the_right_one() {
    let card = Card::open(&small(), options(8)).unwrap();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let mut rng = Rng::with_seed(8);
    for length in [0, 1, 5, 6, 7, 40, 333] {
        let stream = arm(&domain, 3, 0, false);
        let payload = pattern(&mut rng, length);
        let mut octets = octets(false, 500, &[(untagged(0, 1), &payload)]);
        let end = octets.len();
        let right = u32::from_le_bytes(octets[end - 4..].try_into().unwrap());
        octets[end - 2] ^= 0x10;
        card.feed(3, 0, octets).unwrap();
        card.run_until_idle().unwrap();
        let record = stream.error_record().unwrap().unwrap();
        assert_eq!(record.number, ErrorNumber::MpaCrc);
        assert_eq!(usize::from(record.segment_length), 18 + length);
        let received = right ^ 0x0010_0000;
        let detail = ErrorDetail::Crc {
            expected: right,
            received,
        };
        assert_eq!(record.detail, detail);
        assert!(matches!(all(&context)[..], [Completion::Error(_)]));
        stream.close().unwrap();
    }
}

#[test]
fn segments_of_streams_that_are_not_armed_are_dropped_and_counted() {
    let card = Card::open(&small(), options(9)).unwrap();
    let context = open(&card, 64);
    card.inject(2, 1234, vec![7; 100]).unwrap();
    card.inject(2, 1334, vec![7; 1]).unwrap();
    card.run_until_idle().unwrap();
    let counters = context.counters().unwrap();
    assert_eq!((counters.segments, counters.segments_dropped), (2, 2));
    assert_eq!(counters.octets, 0);
    assert!(matches!(
        card.feed(4, 0, [1]),
        Err(Error::NoStream {
            stream: 4,
            streams: 4
        })
    ));
    for length in [0, 65536] {
        let refused = card.feed(0, 0, vec![0; length]);
        assert!(matches!(refused, Err(Error::SegmentLength { length: l }) if l == length));
    }
}

#[test]
fn the_same_seed_is_the_same_run() {
    let run = |seed| {
        let card = Card::open(&small(), options(seed)).unwrap();
        let context = open(&card, 64);
        let domain = context.protection_domain().unwrap();
        let memory = DmaMemory::new(4096).unwrap();
        let region = domain
            .register_as(0x500, memory, Registration::default())
            .unwrap();
        let _stream = arm(&domain, 1, 9, false);
        let mut rng = Rng::with_seed(1);
        let (octets, _) = many_writes(&mut rng, region.stag(), region.base(), 4096, 20);
        feed(&card, &mut rng, 1, 9, &octets, 300);
        card.run_until_idle().unwrap();
        card.timing()
    };
    let timing = run(1);
    assert_eq!(run(1), timing);
    assert_ne!(run(2), timing);
    assert!(timing.first_beat < timing.last_beat && timing.last_beat < timing.last_response);
}

#[test]
fn waveforms_and_coverage_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let with = CardOptions {
        trace: true,
        coverage: true,
        ..options(1)
    };
    let card = Card::open(&small(), with).unwrap();
    let (trace, coverage) = (
        folder.path().join("card.fst"),
        folder.path().join("card.dat"),
    );
    card.trace_open(&trace).unwrap();
    card.step(100).unwrap();
    card.trace_close().unwrap();
    card.coverage_write(&coverage).unwrap();
    assert!(std::fs::metadata(trace).unwrap().len() > 1000);
    let points = warpline_verilate::coverage::Coverage::read(&coverage);
    assert!(points.is_ok());

    let without = Card::open(&small(), options(1)).unwrap();
    assert!(without.trace_open(folder.path().join("none.fst")).is_err());
    assert!(
        without
            .coverage_write(folder.path().join("none.dat"))
            .is_err()
    );
}
