//! The reference receiver: placed on arrival, delivered in DDP-SSN order.

use crate::common::pattern;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use warpline_wire::error_number::{Checks, ErrorNumber};
use warpline_wire::receive::{Delivery, Flags, ReceiverError, Scope, StagEntry, Target};
use warpline_wire::sctp::receive::{
    Counters, Event, Failure, OpenError, Receiver, SessionConfig, Sink,
};
use warpline_wire::sctp::{Chunk, InvalidSsn, Segment, Sender, Ssn};
use warpline_wire::{receive, send};

/// An event that owns its octets.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Place(Target, Vec<u8>),
    Delivered(Delivery, Flags),
    Failed(Failure),
}

#[derive(Debug, Default)]
struct Log(Vec<Seen>);

impl Sink for Log {
    fn event(&mut self, event: Event<'_>) {
        self.0.push(match event {
            Event::Place { target, octets, .. } => Seen::Place(target, octets.to_vec()),
            Event::Delivered {
                delivery, flags, ..
            } => Seen::Delivered(delivery, flags),
            Event::Failed(failure) => Seen::Failed(failure),
        });
    }
}

const STAG: u32 = 7;
const RANGE: u64 = 1 << 20;

fn entry() -> StagEntry {
    StagEntry {
        valid: true,
        scope: Scope::ProtectionDomain(0),
        remote_write: true,
        base: 0,
        length: RANGE,
    }
}

/// A receiver with a session on stream 3 whose Initiate or Accept has arrived.
fn open(buffers: &[u32]) -> Receiver {
    let mut receiver = Receiver::default();
    receiver.set_stag(STAG, entry());
    begin(&mut receiver, 3, buffers);
    receiver
}

fn begin(receiver: &mut Receiver, stream: u32, buffers: &[u32]) {
    receiver.open(stream, SessionConfig::default()).unwrap();
    receiver.enable_queue(stream, 0, 1).unwrap();
    for &len in buffers {
        receiver.post(stream, 0, len).unwrap();
    }
    let mut log = Log::default();
    receiver.control(stream, Ssn(0), &mut log).unwrap();
    assert_eq!(receiver.next(stream), Ok(Ssn(1)));
    assert_eq!(log.0, []);
}

fn receive(receiver: &mut Receiver, user_data: &[u8]) -> Vec<Seen> {
    let mut log = Log::default();
    let segment = Segment::parse(user_data).unwrap();
    receiver.segment(3, segment, &mut log).unwrap();
    log.0
}

/// A message: the MSN of a send, or the Tagged Offset of a write, and its payload.
#[derive(Clone, Debug)]
enum Message {
    Send(u32, Vec<u8>),
    Write(u64, Vec<u8>),
}

impl Message {
    fn address(&self) -> send::Message {
        match *self {
            Self::Send(msn, _) => send::Message::Untagged {
                qn: 0,
                msn,
                rsvd_ulp: [0x43, 0, 0, 0, 0],
            },
            Self::Write(to, _) => send::Message::Tagged {
                stag: STAG,
                to,
                rsvd_ulp: 0x40,
            },
        }
    }

    fn payload(&self) -> &[u8] {
        match self {
            Self::Send(_, payload) | Self::Write(_, payload) => payload,
        }
    }
}

/// The chunks of messages, the first of which has this DDP-SSN.
fn chunks(messages: &[Message], first: Ssn) -> Vec<Vec<u8>> {
    let mut sender = Sender::new(first);
    let mut chunks = Vec::new();
    for message in messages {
        sender
            .append_message(message.address(), message.payload(), 516, &mut chunks)
            .unwrap();
    }
    chunks
}

/// What memory holds and what is delivered, of either kind of receiver.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    tagged: BTreeMap<u64, u8>,
    untagged: BTreeMap<(u32, u32), u8>,
    delivered: Vec<(Delivery, Flags)>,
}

impl Outcome {
    fn place(&mut self, target: Target, octets: &[u8]) {
        for (index, &octet) in octets.iter().enumerate() {
            match target {
                Target::Tagged { to, .. } => self.tagged.insert(to + index as u64, octet),
                Target::Untagged { msn, offset, .. } => {
                    self.untagged.insert((msn, offset + index as u32), octet)
                }
            };
        }
    }

    fn add(&mut self, seen: &Seen) {
        match seen {
            Seen::Place(target, octets) => self.place(*target, octets),
            Seen::Delivered(delivery, flags) => self.delivered.push((*delivery, *flags)),
            Seen::Failed(failure) => panic!("{failure:?}"),
        }
    }

    /// What the reference receiver of MPA makes of the same messages over TCP.
    fn over_mpa(messages: &[Message], buffers: &[u32]) -> Self {
        let mut receiver = receive::Receiver::new(receive::ReceiverConfig::default());
        receiver.set_stag(STAG, entry());
        receiver.open(3, receive::StreamConfig::default()).unwrap();
        receiver.enable_queue(3, 0, 1).unwrap();
        for &len in buffers {
            receiver.post(3, 0, len).unwrap();
        }
        let mut wire = Vec::new();
        let mut writer = send::FpduWriter::new(false, send::CrcField::Computed);
        for message in messages {
            writer
                .append_message(message.address(), message.payload(), 516, &mut wire)
                .unwrap();
        }
        let mut outcome = Self::default();
        let mut sink = |event: receive::Event<'_>| match event {
            receive::Event::Place { target, octets, .. } => outcome.place(target, octets),
            receive::Event::Delivered {
                delivery, flags, ..
            } => outcome.delivered.push((delivery, flags)),
            other => panic!("{other:?}"),
        };
        receiver.receive(3, &wire, &mut sink).unwrap();
        outcome
    }
}

// req: SCTP-SSN-05, SCTP-SSN-06, LLP-05, DDP-DEL-07
#[test]
fn segments_are_placed_on_arrival_and_delivered_in_order() {
    let messages = [
        Message::Send(1, pattern(1, 600)),
        Message::Write(0x100, pattern(2, 20)),
        Message::Send(2, pattern(3, 5)),
    ];
    // 516 - 18 = 498 octets in the first segment.
    let chunks = chunks(&messages, Ssn(1));
    assert_eq!(chunks.len(), 4);
    let mut receiver = open(&[600, 5]);
    let untagged = |msn, offset| Target::Untagged {
        queue: 0,
        msn,
        offset,
    };
    let place = |target, octets: &[u8]| [Seen::Place(target, octets.to_vec())];
    assert_eq!(
        receive(&mut receiver, &chunks[3]),
        place(untagged(2, 0), &pattern(3, 5))
    );
    let to_100 = Target::Tagged {
        stag: STAG,
        to: 0x100,
    };
    assert_eq!(
        receive(&mut receiver, &chunks[2]),
        place(to_100, &pattern(2, 20))
    );
    let tail = &pattern(1, 600)[498..];
    assert_eq!(
        receive(&mut receiver, &chunks[1]),
        place(untagged(1, 498), tail)
    );
    assert_eq!((receiver.next(3), receiver.waiting(3)), (Ok(Ssn(1)), Ok(3)));
    let events = receive(&mut receiver, &chunks[0]);
    let head = &pattern(1, 600)[..498];
    assert_eq!(events[0], Seen::Place(untagged(1, 0), head.to_vec()));
    let delivered = |delivery| Seen::Delivered(delivery, Flags::empty());
    let send = |msn, length| {
        delivered(Delivery::Untagged {
            queue: 0,
            msn,
            length,
            rsvd_ulp: [0x43, 0, 0, 0, 0],
        })
    };
    let write = delivered(Delivery::Tagged {
        stag: STAG,
        to: 0x100,
        length: 20,
        rsvd_ulp: 0x40,
    });
    assert_eq!(events[1..], [send(1, 600), write, send(2, 5)]);
    assert_eq!((receiver.next(3), receiver.waiting(3)), (Ok(Ssn(5)), Ok(0)));
    let counters = Counters {
        segments: 4,
        placed_octets: 625,
        delivered: 3,
        ..Counters::default()
    };
    assert_eq!(receiver.counters(3), Ok(counters));
}

// req: AMB-40, LLP-11
#[test]
fn a_repeated_number_is_not_placed_again() {
    let chunks = chunks(&[Message::Write(0, pattern(0, 1000))], Ssn(1));
    assert_eq!(chunks.len(), 2);
    let mut receiver = open(&[]);
    for (chunk, events) in [(1, 1), (1, 0), (0, 2), (0, 0), (1, 0)] {
        assert_eq!(receive(&mut receiver, &chunks[chunk]).len(), events);
    }
    assert_eq!(receiver.counters(3).unwrap().duplicates, 3);
    // Not even if it carries something else.
    let mut other = chunks[0].clone();
    other[20] ^= 0xFF;
    assert_eq!(receive(&mut receiver, &other), []);
}

// req: AMB-34, SCTP-SSN-10, SCTP-SSN-11, SCTP-SSN-12
#[test]
fn a_number_outside_the_window_freezes_its_stream_alone() {
    for (ssn, window) in [(32_768, 32_767), (40_000, 32_767), (6, 5), (65_535, 5)] {
        let mut receiver = open(&[]);
        let config = SessionConfig {
            window,
            ..SessionConfig::default()
        };
        receiver.close(3).unwrap();
        receiver.open(3, config).unwrap();
        receiver.control(3, Ssn(0), &mut Log::default()).unwrap();
        begin(&mut receiver, 4, &[]);
        let chunk = chunks(&[Message::Write(0, pattern(0, 9))], Ssn(ssn));
        let invalid = InvalidSsn {
            ssn: Ssn(ssn),
            next: Ssn(1),
            window,
        };
        let failure = Failure::Ssn { stream: 3, invalid };
        assert_eq!(receive(&mut receiver, &chunk[0]), [Seen::Failed(failure)]);
        assert!(receiver.is_frozen(3).unwrap());
        let next = chunks(&[Message::Write(0, pattern(0, 9))], Ssn(1));
        assert_eq!(receive(&mut receiver, &next[0]), []);
        assert_eq!(receiver.counters(3).unwrap().frozen, 1);
        let mut log = Log::default();
        let segment = Segment::parse(&next[0]).unwrap();
        receiver.segment(4, segment, &mut log).unwrap();
        assert_eq!(log.0.len(), 2, "the other stream goes on");
    }
}

// req: AMB-10, AMB-11
#[test]
fn the_first_error_freezes_its_stream_at_once() {
    let good = chunks(
        &[
            Message::Write(0, pattern(0, 9)),
            Message::Write(100, pattern(0, 9)),
            Message::Write(RANGE, pattern(0, 9)),
            Message::Write(200, pattern(0, 9)),
        ],
        Ssn(1),
    );
    let mut receiver = open(&[]);
    assert_eq!(receive(&mut receiver, &good[0]).len(), 2);
    // The third one is out of bounds, and arrives ahead of the second one.
    let events = receive(&mut receiver, &good[2]);
    let [Seen::Failed(Failure::Ddp(record))] = events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(record.number, ErrorNumber::TaggedBounds);
    assert_eq!(record.checks, Checks::TO | Checks::END);
    assert_eq!(
        (record.stream, record.position, record.ulpdu_len),
        (3, 3, 23)
    );
    assert_eq!(receive(&mut receiver, &good[1]), []);
    assert_eq!(receive(&mut receiver, &good[3]), []);
    assert_eq!(receiver.waiting(3), Ok(0));
    // What is behind a gap when the error comes is not delivered.
    let mut receiver = open(&[]);
    assert_eq!(receive(&mut receiver, &good[1]).len(), 1);
    assert_eq!(receive(&mut receiver, &good[2]).len(), 1);
    assert_eq!(receive(&mut receiver, &good[0]), []);
}

// req: AMB-06, SCTP-SSN-06
#[test]
fn a_later_message_waits_for_the_earlier_one_of_its_queue() {
    // The peer breaks DDP's order of messages: MSN 2 stands in front of MSN 1.
    let messages = [
        Message::Send(2, pattern(0, 4)),
        Message::Send(1, pattern(0, 4)),
    ];
    let chunks = chunks(&messages, Ssn(1));
    let mut receiver = open(&[4, 4]);
    assert_eq!(receive(&mut receiver, &chunks[0]).len(), 1);
    let events = receive(&mut receiver, &chunks[1]);
    let msns: Vec<_> = events[1..]
        .iter()
        .map(|seen| match seen {
            Seen::Delivered(Delivery::Untagged { msn, .. }, _) => *msn,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(msns, [1, 2]);
}

// req: SCTP-SES-22, SCTP-SSN-02, SCTP-SES-03
#[test]
fn nothing_of_a_session_reaches_the_next_one() {
    let mut receiver = open(&[]);
    let old = chunks(&[Message::Write(0, pattern(0, 1000))], Ssn(1));
    assert_eq!(receive(&mut receiver, &old[1]).len(), 1);
    assert_eq!(
        receiver.open(3, SessionConfig::default()),
        Err(OpenError::Stream(ReceiverError::StreamOpen { stream: 3 }))
    );
    receiver.close(3).unwrap();
    // The domain of a session is fixed when it begins: the next one has another, and no right to the STag.
    let config = SessionConfig {
        protection_domain: 9,
        ..SessionConfig::default()
    };
    receiver.open(3, config).unwrap();
    assert_eq!((receiver.next(3), receiver.waiting(3)), (Ok(Ssn(0)), Ok(0)));
    receiver.control(3, Ssn(0), &mut Log::default()).unwrap();
    let new = chunks(&[Message::Write(0, pattern(0, 9))], Ssn(1));
    let events = receive(&mut receiver, &new[0]);
    let [Seen::Failed(Failure::Ddp(record))] = events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(record.number, ErrorNumber::TaggedNotAssociated);
    let unknown = Err(ReceiverError::UnknownStream { stream: 5 });
    let segment = Segment::parse(&new[0]).unwrap();
    assert_eq!(receiver.segment(5, segment, &mut Log::default()), unknown);
    assert_eq!(receiver.close(5), unknown);
}

// req: AMB-34, SCTP-SSN-01
#[test]
fn a_full_window_arrives_backwards_and_across_the_wrap() {
    let mut receiver = open(&[]);
    let mut sender = Sender::new(Ssn(1));
    let message = |to| Message::Write(to, vec![0xA5]);
    for round in 0..3u64 {
        let mut chunks = Vec::new();
        for number in 0..32_767 {
            let message = message(number % 1000);
            sender
                .append_message(message.address(), message.payload(), 516, &mut chunks)
                .unwrap();
        }
        sender.acknowledged(32_767);
        for chunk in chunks[1..].iter().rev() {
            assert_eq!(receive(&mut receiver, chunk).len(), 1);
        }
        assert_eq!(receiver.waiting(3), Ok(32_766), "the memory's bound");
        assert_eq!(receive(&mut receiver, &chunks[0]).len(), 1 + 32_767);
        assert_eq!(receiver.waiting(3), Ok(0));
        let delivered = 32_767 * (round + 1);
        assert_eq!(receiver.counters(3).unwrap().delivered, delivered);
    }
    // 3 × 32,767 + 1 modulo 2^16.
    assert_eq!(receiver.next(3), Ok(Ssn(32_766)));
}

fn message() -> impl Strategy<Value = (bool, u64, Vec<u8>)> {
    let payload = prop_oneof![vec(any::<u8>(), 0..40), vec(any::<u8>(), 400..1700)];
    (any::<bool>(), 0..1000u64, payload)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    // req: SCTP-SSN-01, SCTP-SSN-05, SCTP-SSN-06, SCTP-LIM-06, LLP-11, AMB-38, AMB-40
    #[test]
    fn any_order_leads_to_what_mpa_delivers_in_order(
        messages in vec(message(), 1..20),
        start in prop_oneof![Just(0u32), 65_500..65_536u32],
        keys in vec(any::<u32>(), 100),
        repeats in vec(any::<prop::sample::Index>(), 0..10),
    ) {
        let mut msn = 0;
        let messages: Vec<_> = messages
            .into_iter()
            .enumerate()
            .map(|(place, (send, to, payload))| if send {
                msn += 1;
                Message::Send(msn, payload)
            } else {
                // Ranges of their own: overlapping writes depend on the order of placement.
                Message::Write(place as u64 * 4000 + to, payload)
            })
            .collect();
        let buffers: Vec<_> = messages
            .iter()
            .filter(|message| matches!(message, Message::Send(..)))
            .map(|message| message.payload().len() as u32)
            .collect();
        let mut receiver = open(&buffers);
        // Empty writes get the numbers on.
        for ssn in 1..=start as u16 {
            let chunk = chunks(&[Message::Write(0, vec![])], Ssn(ssn));
            receive(&mut receiver, &chunk[0]);
        }
        let chunks = chunks(&messages, Ssn(start as u16).next());
        let mut arrivals: Vec<_> = (0..chunks.len()).collect();
        arrivals.sort_by_key(|&index| keys[index % keys.len()].wrapping_mul(index as u32 | 1));
        for repeat in repeats {
            let again = arrivals[repeat.index(arrivals.len())];
            arrivals.push(again);
        }
        let mut outcome = Outcome::default();
        for index in arrivals {
            let Ok(Chunk::Segment(_)) = Chunk::parse(16, &chunks[index]) else {
                panic!("a segment is written");
            };
            for seen in receive(&mut receiver, &chunks[index]) {
                outcome.add(&seen);
            }
        }
        prop_assert_eq!(&outcome, &Outcome::over_mpa(&messages, &buffers));
        prop_assert_eq!(outcome.delivered.len(), messages.len());
        prop_assert_eq!(receiver.waiting(3), Ok(0));

        // The comparison finds an octet that is wrong, and two deliveries exchanged.
        if let Some((_, octet)) = outcome.tagged.iter_mut().next() {
            *octet ^= 1;
            prop_assert_ne!(&outcome, &Outcome::over_mpa(&messages, &buffers));
        }
    }
}
