//! The driver's calls, with a card in software.

mod peer;
mod software_card;

use std::time::Duration;

use peer::Peer;
use proptest::prelude::*;
use software_card::{QUEUES, STAG_SLOTS, STREAMS, SoftwareCard};
use warpline_driver::{
    Checks, Completion, CompletionQueue, Context, DmaMemory, Ending, Error, ErrorDetail,
    ErrorNumber, Options, ProtectionDomain, Registration, Scope, Stream, StreamOptions,
};
use warpline_regmap::register::{self, command};
use warpline_wire::send::{CrcField, FpduWriter, Message};

const SHORT: Duration = Duration::from_millis(50);

fn open(card: &SoftwareCard, completion_entries: u32) -> Context {
    let options = Options {
        completion_entries,
        command_timeout: SHORT,
        ..Options::default()
    };
    Context::open(Box::new(card.clone()), options).unwrap()
}

fn arm(domain: &ProtectionDomain, number: u8) -> Stream {
    let options = StreamOptions {
        sequence_start: 0xFFFF_FF00,
        queues: 0b11,
        ..Default::default()
    };
    domain.arm(number, options).unwrap()
}

fn all(queue: &CompletionQueue) -> Vec<Completion> {
    std::iter::from_fn(|| queue.poll().unwrap()).collect()
}

// req: DDP-SEC-09, DDP-SEC-20, DDP-DEL-07
#[test]
fn a_region_takes_exactly_its_octets() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let registration = Registration {
        offset: 1001,
        length: Some(4097),
        base: Some(0x7000_0000_0003),
        ..Default::default()
    };
    for (to, accepted) in [
        (0x7000_0000_0003, true),
        (0x7000_0000_1003, true),
        (0x7000_0000_0002, false),
        (0x7000_0000_1004, false),
    ] {
        let memory = DmaMemory::new(10_000).unwrap();
        let region = domain.register(memory, registration).unwrap();
        let stream = arm(&domain, 0);
        Peer::new(&card, &stream, 0xFFFF_FF00).write(region.stag(), to, &[7]);
        let completions = all(&context.completion_queue());
        let octets = region.to_vec().unwrap();
        match (accepted, &completions[..]) {
            (true, [Completion::Tagged(completion)]) => {
                assert_eq!(completion.stag, region.stag());
                assert_eq!((completion.offset, completion.length), (to, 1));
                assert_eq!((completion.rsvd_ulp, completion.unverified), (0x40, false));
                let at = 1001 + (to - 0x7000_0000_0003) as usize;
                assert_eq!(octets[at], 7);
                assert_eq!(octets.iter().filter(|octet| **octet != 0).count(), 1);
            }
            (false, [Completion::Error(event)]) => {
                assert_eq!(event.number, ErrorNumber::TaggedBounds);
                assert!(octets.iter().all(|octet| *octet == 0));
            }
            other => panic!("{other:?}"),
        }
        stream.close().unwrap();
        assert_eq!(region.revoke().unwrap()[..], octets);
    }
    card.assert_no_violations();
}

// req: DDP-SEC-01, DDP-SEC-02, DDP-SEC-04, DDP-SEC-06, DDP-SEC-11, DDP-SEC-21, DDP-SEC-08
#[test]
fn regions_belong_to_their_domain_or_stream() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let [ours, theirs] = [0; 2].map(|_| context.protection_domain().unwrap());
    assert_ne!(ours.id(), theirs.id());
    let register = |registration| {
        ours.register(DmaMemory::new(64).unwrap(), registration)
            .unwrap()
    };
    let shared = register(Registration::default());
    let of_stream_1 = register(Registration {
        scope: Scope::Stream(1),
        ..Default::default()
    });
    let read_only = register(Registration {
        remote_write: false,
        ..Default::default()
    });
    let empty = register(Registration {
        length: Some(0),
        ..Default::default()
    });
    let cases = [
        (&ours, 0, &shared, None),
        (&theirs, 0, &shared, Some(ErrorNumber::TaggedNotAssociated)),
        (&ours, 1, &of_stream_1, None),
        (
            &ours,
            0,
            &of_stream_1,
            Some(ErrorNumber::TaggedNotAssociated),
        ),
        (&ours, 0, &read_only, Some(ErrorNumber::TaggedInvalidStag)),
        (&ours, 0, &empty, Some(ErrorNumber::TaggedInvalidStag)),
    ];
    for (i, (domain, number, region, expected)) in cases.into_iter().enumerate() {
        let stream = arm(domain, number);
        Peer::new(&card, &stream, 0xFFFF_FF00).write(region.stag(), region.base(), &[1]);
        match (expected, &all(&context.completion_queue())[..]) {
            (None, [Completion::Tagged(_)]) => {}
            (Some(number), [Completion::Error(event)]) => assert_eq!(event.number, number, "{i}"),
            other => panic!("{i}: {other:?}"),
        }
        stream.close().unwrap();
    }
    card.assert_no_violations();
}

// req: AMB-42, DDP-SEC-10, DDP-SEC-22
#[test]
fn a_revoked_region_is_out_of_reach() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let memory = DmaMemory::new(64).unwrap();
    let region = domain.register(memory, Registration::default()).unwrap();
    let (stag, base) = (region.stag(), region.base());
    let stream = arm(&domain, 0);
    let memory = region.revoke().unwrap();
    Peer::new(&card, &stream, 0xFFFF_FF00).write(stag, base, &[1; 64]);
    assert_eq!(memory[..], [0; 64]);
    let record = stream.error_record().unwrap().unwrap();
    assert_eq!(record.number, ErrorNumber::TaggedInvalidStag);
    // The same memory can be registered again, under another STag.
    let again = domain.register(memory, Registration::default()).unwrap();
    assert_ne!(again.stag(), stag);
    card.assert_no_violations();
}

// req: DDP-ERR-07, AMB-24, DDP-DEL-02, DDP-DEL-04
#[test]
fn posted_buffers_come_back_with_their_messages() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let options = StreamOptions {
        first_msn: 0xFFFF_FFFF,
        queues: 0b101,
        ..Default::default()
    };
    let stream = domain.arm(2, options).unwrap();
    assert!(matches!(
        stream.receive_queue(1),
        Err(Error::NoQueue {
            stream: 2,
            queue: 1
        })
    ));
    let queue = stream.receive_queue(2).unwrap();
    let msns: Vec<u32> = context
        .buffers(3, 100)
        .unwrap()
        .into_iter()
        .map(|buffer| queue.post(buffer).unwrap())
        .collect();
    assert_eq!(msns, [0xFFFF_FFFF, 0, 1]);
    let mut peer = Peer::new(&card, &stream, 0);
    peer.untagged(2, 0xFFFF_FFFF, &[5; 100]);
    peer.untagged(2, 0, b"");
    peer.untagged(2, 1, b"third");
    for (i, octets) in [&[5; 100][..], b"", b"third"].into_iter().enumerate() {
        match context.completion_queue().poll().unwrap() {
            Some(Completion::Untagged(completion)) => {
                assert_eq!((completion.stream, completion.queue), (2, 2));
                assert_eq!(completion.msn, msns[i]);
                assert_eq!(completion.buffer.id(), i as u64);
                assert_eq!(completion.length as usize, octets.len());
                assert_eq!(completion.buffer.to_vec()[..octets.len()], *octets);
                assert_eq!(completion.rsvd_ulp, [0x43, 1, 2, 3, 4]);
            }
            other => panic!("{other:?}"),
        }
    }
    stream.close().unwrap();
    assert!(all(&context.completion_queue()).is_empty());
    card.assert_no_violations();
}

// req: AMB-09, AMB-10, DDP-UNT-11, DDP-TEAR-15, DDP-TEAR-17, DDP-ERR-18, DDP-ERR-19, DDP-SEC-14
#[test]
fn an_error_comes_behind_deliveries_and_flushes_what_is_posted() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let stream = arm(&domain, 3);
    let mut buffers = context.buffers(6, 64).unwrap().into_iter();
    for queue in [1, 0, 0, 1, 0] {
        let queue = stream.receive_queue(queue).unwrap();
        queue.post(buffers.next().unwrap()).unwrap();
    }
    let mut peer = Peer::new(&card, &stream, 0xFFFF_FF00);
    peer.untagged(0, 1, b"good");
    peer.untagged(0, 9, b"wrong MSN");
    peer.untagged(0, 2, b"too late");
    let completions = all(&context.completion_queue());
    let [
        Completion::Untagged(good),
        Completion::Error(event),
        flushed @ ..,
    ] = &completions[..]
    else {
        panic!("{completions:?}");
    };
    assert_eq!((good.msn, good.buffer.id()), (1, 1));
    assert_eq!(event.stream, 3);
    assert_eq!(event.number, ErrorNumber::UntaggedMsnRange);
    assert_eq!(event.checks, Checks::MSN);
    assert_eq!((event.segment_length, event.position), (18 + 9, 28));
    let flushed: Vec<_> = flushed
        .iter()
        .map(|completion| match completion {
            Completion::Flushed(receive) => (receive.queue, receive.msn, receive.buffer.id()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(flushed, [(0, 2, 2), (0, 3, 4), (1, 1, 0), (1, 2, 3)]);

    let queue = stream.receive_queue(0).unwrap();
    let refused = queue.post(buffers.next().unwrap()).unwrap_err();
    assert!(matches!(refused.error, Error::StreamFailed { stream: 3 }));
    assert_eq!(refused.item.map(|buffer| buffer.id()), Some(5));

    let record = stream.error_record().unwrap().unwrap();
    assert_eq!(record.number, event.number);
    assert_eq!(record.header.as_slice().len(), 18);
    assert_eq!(record.header.as_slice()[..2], [0x41, 0x43]);
    assert_eq!(record.detail, ErrorDetail::None);
    stream.close().unwrap();
    assert!(all(&context.completion_queue()).is_empty());
    // Armed again, the stream works.
    let stream = arm(&domain, 3);
    assert_eq!(stream.error_record().unwrap(), None);
    card.assert_no_violations();
}

// req: MPA-RCV-16, MPA-ERR-15, MPA-ERR-17, DDP-TEAR-09, LLP-09, AMB-31
#[test]
fn a_stream_that_its_peer_closes_keeps_its_buffers_until_it_is_closed_here() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let stream = arm(&domain, 3);
    let mut buffers = context.buffers(3, 64).unwrap().into_iter();
    let mut post = || {
        let queue = stream.receive_queue(0).unwrap();
        queue.post(buffers.next().unwrap()).unwrap()
    };
    post();
    post();
    let mut peer = Peer::new(&card, &stream, 0xFFFF_FF00);
    peer.untagged(0, 1, b"good");
    card.finish(3);
    let completions = all(&context.completion_queue());
    let [Completion::Untagged(good), Completion::Closed(event)] = &completions[..] else {
        panic!("{completions:?}");
    };
    assert_eq!(good.msn, 1);
    assert_eq!((event.stream, event.position), (3, 28));
    assert_eq!(completions[1].stream(), 3);
    assert_eq!(post(), 3, "half closed is no error");
    assert_eq!(stream.error_record().unwrap(), None);
    stream.close().unwrap();
    let flushed = all(&context.completion_queue());
    assert!(matches!(
        &flushed[..],
        [Completion::Flushed(a), Completion::Flushed(b)] if (a.msn, b.msn) == (2, 3)
    ));
    // Armed again, the stream is open.
    let stream = arm(&domain, 3);
    Peer::new(&card, &stream, 0xFFFF_FF00).write(7, 0, b"");
    assert!(matches!(
        all(&context.completion_queue())[..],
        [Completion::Tagged(_)]
    ));
    card.assert_no_violations();
}

// req: MPA-ERR-01, MPA-ERR-03, DDP-TEAR-08, DDP-TEAR-12, DDP-TEAR-15, DDP-ERR-01, AMB-31, AMB-57
#[test]
fn each_end_of_a_connection_that_is_no_clean_close_is_fatal() {
    for ending in [Ending::Truncated, Ending::Lost, Ending::BehindFin] {
        let card = SoftwareCard::default();
        let context = open(&card, 64);
        let domain = context.protection_domain().unwrap();
        let stream = arm(&domain, 1);
        let mut buffers = context.buffers(2, 64).unwrap().into_iter();
        let queue = stream.receive_queue(0).unwrap();
        queue.post(buffers.next().unwrap()).unwrap();
        let mut peer = Peer::new(&card, &stream, 0xFFFF_FF00);
        match ending {
            Ending::Truncated => {
                peer.send_octets(&[0, 100, 0x41]);
                card.finish(1);
            }
            Ending::Lost => card.lose(1),
            Ending::BehindFin => {
                card.finish(1);
                peer.send_octets(&[0]);
            }
        }
        let mut completions = all(&context.completion_queue());
        if ending == Ending::BehindFin {
            let first = completions.remove(0);
            assert!(matches!(first, Completion::Closed(event) if event.position == 0));
        }
        let [Completion::Error(event), Completion::Flushed(_)] = &completions[..] else {
            panic!("{completions:?}");
        };
        assert_eq!(event.number, ErrorNumber::MpaConnection);
        let refused = queue.post(buffers.next().unwrap()).unwrap_err();
        assert!(matches!(refused.error, Error::StreamFailed { stream: 1 }));
        let record = stream.error_record().unwrap().unwrap();
        assert_eq!(record.detail, ErrorDetail::Connection(ending));
        assert!(record.header.as_slice().is_empty());
        card.assert_no_violations();
    }
}

// req: AMB-09, DDP-TEAR-13, MPA-ERR-04, MPA-CRC-19, MPA-CRC-03, MPA-ERR-02
#[test]
fn a_wrong_crc_is_reported_with_the_right_one() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let stream = arm(&domain, 0);
    let mut octets = Vec::new();
    let message = Message::Tagged {
        stag: 1,
        to: 2,
        rsvd_ulp: 3,
    };
    let mut writer = FpduWriter::new(false, CrcField::Computed);
    writer
        .append_message(message, &[9; 40], 1000, &mut octets)
        .unwrap();
    let end = octets.len();
    let right = u32::from_le_bytes(octets[end - 4..].try_into().unwrap());
    octets[end - 1] ^= 0x80;
    Peer::new(&card, &stream, 0xFFFF_FF00).send_octets(&octets);
    let record = stream.error_record().unwrap().unwrap();
    assert_eq!(record.number, ErrorNumber::MpaCrc);
    let received = right ^ 0x8000_0000;
    let detail = ErrorDetail::Crc {
        expected: right,
        received,
    };
    assert_eq!(record.detail, detail);
    assert!(record.checks.is_empty());
}

#[test]
fn a_full_queue_takes_no_more() {
    const SLOTS: u32 = 16;
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let options = StreamOptions {
        receive_entries: SLOTS,
        ..Default::default()
    };
    let stream = domain.arm(0, options).unwrap();
    let queue = stream.receive_queue(0).unwrap();
    let mut buffers = context.buffers(SLOTS as usize + 1, 4).unwrap();
    let one_more = buffers.pop().unwrap();
    for buffer in buffers {
        queue.post(buffer).unwrap();
    }
    let full = queue.post(one_more).unwrap_err();
    assert!(matches!(
        full.error,
        Error::QueueFull {
            stream: 0,
            queue: 0,
            slots: SLOTS
        }
    ));
    // A message frees an entry, whether or not its completion was polled.
    Peer::new(&card, &stream, 0).untagged(0, 1, b"room");
    assert_eq!(queue.post(full.item.unwrap()).unwrap(), SLOTS + 1);
    stream.close().unwrap();
    let completions = all(&context.completion_queue());
    assert!(matches!(completions[0], Completion::Untagged(_)));
    let flushed = |completion: &Completion| matches!(completion, Completion::Flushed(_));
    assert!(completions[1..].iter().all(flushed));
    assert_eq!(completions.len(), 1 + SLOTS as usize);
    card.assert_no_violations();
}

#[test]
fn what_does_not_exist_is_named() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let armed = |number, queues| {
        let options = StreamOptions {
            queues,
            ..Default::default()
        };
        domain
            .arm(number, options)
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        armed(7, 1),
        "the device has 4 streams, stream 7 does not exist: use 0 to 3"
    );
    assert!(
        armed(0, 0x10).contains("queue mask 0x10"),
        "{}",
        armed(0, 0x10)
    );
    let _stream = arm(&domain, 0);
    assert_eq!(armed(0, 1), "stream 0 is armed: close it first");

    let register = |registration| {
        let memory = DmaMemory::new(100).unwrap();
        let refused = domain.register(memory, registration).unwrap_err();
        assert_eq!(refused.item.map(|memory| memory.len()), Some(100));
        refused.error
    };
    let default = Registration::default;
    let range = register(Registration {
        offset: 50,
        length: Some(51),
        ..default()
    });
    assert!(matches!(
        range,
        Error::Range {
            offset: 50,
            length: 51,
            size: 100
        }
    ));
    let range = register(Registration {
        offset: 101,
        ..default()
    });
    assert!(matches!(
        range,
        Error::Range {
            offset: 101,
            length: 0,
            size: 100
        }
    ));
    let base = register(Registration {
        base: Some(u64::MAX - 98),
        ..default()
    });
    assert!(matches!(base, Error::TaggedOffsets { length: 100, .. }));
    let scope = register(Registration {
        scope: Scope::Stream(STREAMS),
        ..default()
    });
    assert!(matches!(
        scope,
        Error::NoStream {
            stream: STREAMS,
            streams: STREAMS
        }
    ));
    let last = Registration {
        base: Some(u64::MAX - 99),
        ..default()
    };
    domain.register(DmaMemory::new(100).unwrap(), last).unwrap();
    card.assert_no_violations();
}

// req: AMB-50
#[test]
fn stags_are_drawn_or_given() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let memory = || DmaMemory::new(8).unwrap();
    let zero = domain
        .register_as(0, memory(), Registration::default())
        .unwrap();
    assert_eq!(zero.stag(), 0);
    let taken = domain
        .register_as(0x1005, memory(), Registration::default())
        .unwrap_err();
    assert_eq!(
        taken.to_string(),
        "STag 0x00001005 needs slot 0, which STag 0x00000000 uses: revoke that one first"
    );
    assert!(taken.item.is_some());
    let others: Vec<_> = (1..STAG_SLOTS)
        .map(|_| domain.register(memory(), Registration::default()).unwrap())
        .collect();
    let full = domain
        .register(memory(), Registration::default())
        .unwrap_err();
    assert!(matches!(
        full.error,
        Error::NoStagSlot { slots: STAG_SLOTS }
    ));
    // 15 keys of 8 random bits are all equal once in 2^112 runs.
    assert!(
        others
            .iter()
            .any(|other| other.stag() & 0xFF != others[0].stag() & 0xFF)
    );
    drop(zero);
    domain
        .register_as(0x1005, memory(), Registration::default())
        .unwrap();
    card.assert_no_violations();
}

// req: DDP-SEC-18
#[test]
fn a_new_stream_does_not_inherit_regions() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let registration = Registration {
        scope: Scope::Stream(1),
        ..Default::default()
    };
    let region = domain
        .register(DmaMemory::new(8).unwrap(), registration)
        .unwrap();
    arm(&domain, 1).close().unwrap();
    let refused = domain
        .arm(1, StreamOptions::default())
        .map(|_| ())
        .unwrap_err();
    assert!(
        matches!(refused, Error::StreamRegions { stream: 1, stag } if stag == region.stag()),
        "{refused}"
    );
    drop(region);
    arm(&domain, 1);
}

// req: AMB-59, DDP-SEC-17
#[test]
fn a_region_of_a_stream_is_of_its_domain() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let [ours, theirs] = [0; 2].map(|_| context.protection_domain().unwrap());
    let registration = Registration {
        scope: Scope::Stream(1),
        ..Default::default()
    };
    let memory = || DmaMemory::new(8).unwrap();

    let stream = arm(&ours, 1);
    let refused = theirs.register(memory(), registration).unwrap_err();
    assert!(refused.item.is_some(), "the memory comes back");
    assert!(
        matches!(refused.error, Error::StreamDomain { stream: 1, domain } if domain == ours.id()),
        "{}",
        refused.error
    );
    ours.register(memory(), registration).unwrap();
    stream.close().unwrap();

    // Closed, it may be armed in any domain: in that of its regions.
    let region = theirs.register(memory(), registration).unwrap();
    let refused = ours.arm(1, StreamOptions::default());
    let refused = refused.map(|_| ()).unwrap_err();
    assert!(
        matches!(refused, Error::RegionDomain { stream: 1, stag, domain }
            if (stag, domain) == (region.stag(), theirs.id())),
        "{refused}"
    );
    arm(&ours, 2);
    arm(&theirs, 1).close().unwrap();
    drop(region);
    arm(&ours, 1);
    card.assert_no_violations();
}

#[test]
fn domains_are_reused_when_nothing_needs_them() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let first = context.protection_domain().unwrap();
    let memory = DmaMemory::new(8).unwrap();
    let region = first.register(memory, Registration::default()).unwrap();
    let id = first.id();
    drop(first);
    assert_ne!(context.protection_domain().unwrap().id(), id);
    drop(region);
    assert_eq!(context.protection_domain().unwrap().id(), id);
}

// req: DDP-DEL-01
#[test]
fn a_full_completion_queue_is_not_overrun() {
    let card = SoftwareCard::default();
    let context = open(&card, 4);
    let domain = context.protection_domain().unwrap();
    let region = domain
        .register(DmaMemory::new(64).unwrap(), Registration::default())
        .unwrap();
    let stream = arm(&domain, 0);
    let mut peer = Peer::new(&card, &stream, 0xFFFF_FF00);
    for i in 0..20 {
        peer.write(region.stag(), region.base() + i, &[1]);
    }
    let offsets = |completions: Vec<Completion>| -> Vec<u64> {
        completions
            .iter()
            .map(|completion| match completion {
                Completion::Tagged(completion) => completion.offset - region.base(),
                other => panic!("{other:?}"),
            })
            .collect()
    };
    assert_eq!(card.model().most_unread, 4);
    let first = context.completion_queue().poll().unwrap().unwrap();
    assert_eq!(offsets(vec![first]), [0]);
    // Closing waits for writes that wait for room in the queue.
    stream.close().unwrap();
    assert_eq!(
        offsets(all(&context.completion_queue())),
        (1..20).collect::<Vec<_>>()
    );
    assert_eq!(card.model().most_unread, 4);
    card.assert_no_violations();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn completions_arrive_once_and_in_order(
        log_entries in 0_u32..5,
        steps in prop::collection::vec((0_usize..12, 0_usize..12), 1..30),
    ) {
        let card = SoftwareCard::default();
        let context = open(&card, 1 << log_entries);
        let domain = context.protection_domain().unwrap();
        let region = domain.register(DmaMemory::new(4096).unwrap(), Registration::default()).unwrap();
        let stream = arm(&domain, 1);
        let mut peer = Peer::new(&card, &stream, 0xFFFF_FF00);
        let queue = context.completion_queue();
        let (mut sent, mut seen) = (0, 0);
        let mut check = |completion| match completion {
            Completion::Tagged(completion) => {
                let expected = region.base() + seen;
                seen += 1;
                completion.offset == expected
            }
            _ => false,
        };
        for (writes, polls) in steps {
            for _ in 0..writes {
                peer.write(region.stag(), region.base() + sent, &[1]);
                sent += 1;
            }
            for completion in (0..polls).map_while(|_| queue.poll().unwrap()) {
                prop_assert!(check(completion));
            }
        }
        while let Some(completion) = queue.poll().unwrap() {
            prop_assert!(check(completion));
        }
        prop_assert_eq!(seen, sent);
        card.assert_no_violations();
    }

    /// For any entry that a device writes, the driver neither panics nor loses a buffer.
    #[test]
    fn nonsense_from_the_device_is_an_error(
        entries in prop::collection::vec(
            (prop::array::uniform8(any::<u32>()), 0_u32..5, 0_u32..5, 0_u32..3, 0_u32..4),
            1..40,
        ),
    ) {
        let card = SoftwareCard::default();
        let context = open(&card, 16);
        let domain = context.protection_domain().unwrap();
        let stream = arm(&domain, 1);
        for buffer in context.buffers(5, 8).unwrap() {
            stream.receive_queue(0).unwrap().post(buffer).unwrap();
        }
        let queue = context.completion_queue();
        let mut back = Vec::new();
        let mut take = |completion| match completion {
            Ok(Some(Completion::Untagged(completion))) => back.push(completion.buffer.id()),
            Ok(Some(Completion::Flushed(receive))) => back.push(receive.buffer.id()),
            _ => {}
        };
        for (mut words, kind, stream, low, msn) in entries {
            words[0] = words[0] & 0xFFFF_00F0 | kind | stream << 8;
            words[1] = low; // a queue, or an error code
            words[2] = msn; // an MSN, or checks
            words[3] &= 0xF;
            card.invent(words);
            take(queue.poll());
        }
        loop {
            match queue.poll() {
                Ok(None) => break,
                other => take(other),
            }
        }
        stream.close().unwrap();
        while let Some(completion) = queue.poll().unwrap() {
            take(Ok(Some(completion)));
        }
        prop_assert_eq!(back, [0, 1, 2, 3, 4]);
    }
}

#[test]
fn each_malformed_entry_is_named() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let stream = arm(&domain, 1);
    let buffer = context.buffers(1, 8).unwrap().remove(0);
    stream.receive_queue(0).unwrap().post(buffer).unwrap();
    let queue = context.completion_queue();
    let cases = [
        ([0x0101, 0, 0, 0], None),
        ([0x0001, 0, 0, 0], Some("the stream is not armed")),
        ([0x0401, 0, 0, 0], Some("the device has no such stream")),
        ([0x0100, 0, 0, 0], Some("no such kind")),
        ([0x0103, 0x200, 0, 0], Some("no such error number")),
        ([0x0103, 0x201, 0x8000, 0], Some("no such check")),
        ([0x0102, 5, 1, 0], Some("the stream has no such queue")),
        ([0x0102, 0x100, 1, 0], Some("no such queue")),
        ([0x0102, 1, 1, 0], Some("no buffer is posted")),
        ([0x0102, 0, 2, 0], Some("another MSN is due")),
        (
            [0x0102, 0, 1, 9],
            Some("the message is longer than its buffer"),
        ),
        ([0x0102, 0, 1, 8], None),
        ([0x0103, 0x201, 1 << 8, 0], None),
        ([0x0101, 0, 0, 0], Some("the stream has failed before")),
    ];
    for (i, ([a, b, c, d], expected)) in (0..).zip(cases) {
        card.invent([a, b, c, d, 0, 0, 0, 0]);
        match (queue.poll(), expected) {
            (Ok(Some(_)), None) => {}
            (
                Err(Error::Completion {
                    index,
                    reason,
                    words,
                }),
                Some(expected),
            ) => {
                assert_eq!((index, reason, words[0]), (i, expected, a));
            }
            (other, _) => panic!("{i}: {other:?}"),
        }
    }
}

/// Bus addresses that are mapped now.
fn maps(card: &SoftwareCard) -> usize {
    card.model().mapped()
}

// req: DDP-SEC-22
#[test]
fn memory_that_the_device_may_write_to_is_never_freed() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let region = domain
        .register(DmaMemory::new(8).unwrap(), Registration::default())
        .unwrap();
    let dropped = domain
        .register(DmaMemory::new(8).unwrap(), Registration::default())
        .unwrap();
    let stream = arm(&domain, 0);
    for buffer in context.buffers(2, 8).unwrap() {
        stream.receive_queue(0).unwrap().post(buffer).unwrap();
    }
    assert_eq!(maps(&card), 6, "two of them are receive rings");
    card.model().hangs = true;
    let failed = region.revoke().unwrap_err();
    assert!(matches!(
        failed,
        Error::CommandTimeout {
            command: "REVOKE_STAG",
            timeout: SHORT
        }
    ));
    drop(dropped);
    assert!(matches!(stream.close().unwrap_err(), Error::Gone));
    card.model().fails = Some("reset");
    drop((domain, context));
    assert_eq!(maps(&card), 6, "nothing was unmapped");
    assert_eq!(card.model().held(), 6, "nothing was freed");
    card.assert_no_violations();
}

#[test]
fn all_memory_is_freed() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let region = domain
        .register(DmaMemory::new(8).unwrap(), Registration::default())
        .unwrap();
    let stream = arm(&domain, 0);
    for buffer in context.buffers(2, 8).unwrap() {
        stream.receive_queue(0).unwrap().post(buffer).unwrap();
    }
    drop((domain, context));
    assert_eq!(maps(&card), 5, "handles keep the device open");
    assert_eq!(card.model().held(), 5);
    drop((stream, region));
    assert_eq!(maps(&card), 0);
    assert_eq!(
        card.model().commands[3..5],
        [command::SET_RECEIVE_RING, command::CLOSE_STREAM]
    );
    card.assert_no_violations();
}

#[test]
fn a_failing_backend_is_an_error() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    card.model().fails = Some("map");
    let refused = domain
        .register(DmaMemory::new(8).unwrap(), Registration::default())
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "mapping memory for DMA failed: map is out of order"
    );
    card.model().fails = None;
    let region = domain
        .register(DmaMemory::new(8).unwrap(), Registration::default())
        .unwrap();
    card.model().fails = Some("unmap");
    let refused = region.revoke().unwrap_err();
    assert_eq!(
        refused.to_string(),
        "unmapping memory failed: unmap is out of order"
    );
    assert_eq!(card.model().held(), 2, "the device may still write");
}

#[test]
fn refused_commands_leave_the_driver_as_it_was() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let refuse = |number| card.model().refuses = Some(number);
    let memory = DmaMemory::new(8).unwrap();
    refuse(command::WRITE_STAG);
    let refused = domain
        .register_as(7, memory, Registration::default())
        .unwrap_err();
    assert!(matches!(
        refused.error,
        Error::Refused {
            command: "WRITE_STAG",
            ..
        }
    ));
    let memory = refused.item.unwrap();
    domain
        .register_as(7, memory, Registration::default())
        .unwrap();

    refuse(command::ARM_STREAM);
    let refused = domain
        .arm(0, StreamOptions::default())
        .map(|_| ())
        .unwrap_err();
    assert!(matches!(
        refused,
        Error::Refused {
            command: "ARM_STREAM",
            ..
        }
    ));
    let mut model = card.model();
    model.close(0);
    drop(model);
    let before = maps(&card);
    refuse(command::SET_RECEIVE_RING);
    let refused = domain.arm(0, StreamOptions::default()).map(|_| ());
    assert!(matches!(
        refused.unwrap_err(),
        Error::Refused {
            command: "SET_RECEIVE_RING",
            ..
        }
    ));
    assert_eq!(card.model().commands.last(), Some(&command::CLOSE_STREAM));
    assert_eq!(maps(&card), before);
    domain.arm(0, StreamOptions::default()).unwrap();
    card.assert_no_violations();
}

#[test]
fn other_devices_are_refused() {
    let shape = 8 | u32::from(STREAMS) << 16 | u32::from(QUEUES) << 24;
    let cases = [
        (register::IDENTITY, 0, "IDENTITY reads 0x00000000"),
        (register::IDENTITY, u32::MAX, "IDENTITY reads 0xffffffff"),
        (register::VERSION, 0x0001_0000, "register map 0x00010000"),
        (register::SHAPE, shape & !0xFF_0000, "register SHAPE reads"),
        (register::SHAPE, shape | 0xFF_0000, "register SHAPE reads"),
        (
            register::STAG_SLOTS,
            0,
            "register STAG_SLOTS reads 0x00000000",
        ),
        (
            register::STAG_SLOTS,
            48,
            "register STAG_SLOTS reads 0x00000030",
        ),
        (
            register::RECEIVE_SLOTS,
            3,
            "register RECEIVE_SLOTS reads 0x00000003",
        ),
    ];
    for (register, value, text) in cases {
        let card = SoftwareCard::default();
        card.model().overrides.insert(register.offset, value);
        let refused = Context::open(Box::new(card), Options::default()).map(|_| ());
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(text), "{refused}");
    }
    let gone = SoftwareCard::default();
    let context = open(&gone, 64);
    gone.model()
        .overrides
        .insert(register::COMMAND.offset, u32::MAX);
    let domain = context.protection_domain().unwrap();
    let refused = domain.arm(0, StreamOptions::default()).map(|_| ());
    assert!(matches!(refused.unwrap_err(), Error::Gone));

    for entries in [0, 3, 1 << 17] {
        let options = Options {
            completion_entries: entries,
            ..Default::default()
        };
        let card = Box::new(SoftwareCard::default());
        let refused = Context::open(card, options).map(|_| ()).unwrap_err();
        assert!(matches!(refused, Error::CompletionEntries { entries: e } if e == entries));
    }

    let entries = register::COMPLETION_ENTRIES.offset;
    for found in [0, 512] {
        let card = SoftwareCard::default();
        card.model().overrides.insert(entries, found);
        let refused = Context::open(Box::new(card), Options::default()).map(|_| ());
        let refused = refused.unwrap_err();
        assert!(
            matches!(refused, Error::CompletionQueueRefused { entries: 1024, iova, found: f }
                if f == found && iova.is_multiple_of(64)),
            "{refused}"
        );
        assert!(refused.to_string().contains("queue of 1024 entries"));
    }
    let card = SoftwareCard::default();
    card.model().overrides.insert(entries, u32::MAX);
    let refused = Context::open(Box::new(card), Options::default()).map(|_| ());
    assert!(matches!(refused.unwrap_err(), Error::Gone));
}
