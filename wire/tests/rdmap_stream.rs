//! The RDMAP stream: order of messages, limits of reads, and the end of a stream (RFC 5040 §5 to §7).

use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::VecDeque;
use warpline_wire::error_number::{Checks, Detail, ErrorNumber, ErrorRecord, HeaderOctets};
use warpline_wire::rdmap::{
    Address, Cause, Delivered, Error, Event, InboundRead, Opcode, OutboundRead, Outgoing,
    RdmaError, ReadRequest, Refused, Stream, Terminate, Version, Violation, queue,
};

type Arrays<const IRD: usize, const ORD: usize> = Stream<[InboundRead; IRD], [OutboundRead; ORD]>;

fn open<const IRD: usize, const ORD: usize>() -> Arrays<IRD, ORD> {
    Stream::new(
        Version::Ietf,
        [InboundRead::default(); IRD],
        [OutboundRead::default(); ORD],
    )
}

fn request(number: u32) -> ReadRequest {
    ReadRequest {
        sink_stag: 0x100 + number,
        sink_to: 0x1000 * u64::from(number),
        size: 10 + number,
        source_stag: 0x900,
        source_to: 0x40,
    }
}

/// A message of one segment as the other end gets it.
fn arrived(outgoing: &Outgoing, msn: u32, len: u32) -> Delivered<'_> {
    match outgoing.address {
        Address::Tagged { stag, to, rsvd_ulp } => Delivered::Tagged {
            rsvd_ulp,
            stag,
            to,
            len,
        },
        Address::Untagged { qn, rsvd_ulp } => Delivered::Untagged {
            rsvd_ulp,
            qn,
            msn,
            payload: outgoing.header(),
        },
    }
}

fn response(stag: u32, to: u64, len: u32) -> Delivered<'static> {
    Delivered::Tagged {
        rsvd_ulp: 0x42,
        stag,
        to,
        len,
    }
}

fn untagged(rsvd_ulp: [u8; 5], qn: u32, payload: &[u8]) -> Delivered<'_> {
    Delivered::Untagged {
        rsvd_ulp,
        qn,
        msn: 4,
        payload,
    }
}

fn parsed(outgoing: &Outgoing) -> Terminate {
    assert_eq!(
        outgoing.address,
        Address::Untagged {
            qn: 2,
            rsvd_ulp: [0x47, 0, 0, 0, 0]
        }
    );
    Terminate::parse(outgoing.header()).unwrap()
}

#[test]
fn messages_are_reported_by_kind() {
    let mut stream = open::<1, 1>();
    let write = Delivered::Tagged {
        rsvd_ulp: 0x40,
        stag: 7,
        to: 8,
        len: 9,
    };
    let event = stream.deliver(&write);
    assert_eq!(
        event,
        Ok(Event::Write {
            stag: 7,
            to: 8,
            len: 9
        })
    );
    for (control, solicited, invalidate) in [
        (0x43, false, None),
        (0x44, false, Some(0xAABB_CCDD)),
        (0x45, true, None),
        (0x46, true, Some(0xAABB_CCDD)),
    ] {
        // The Invalidate STag of the other two is ignored (§4.1).
        let message = untagged([control, 0xAA, 0xBB, 0xCC, 0xDD], 0, b"abc");
        let expected = Event::Send {
            msn: 4,
            len: 3,
            solicited,
            invalidate,
        };
        assert_eq!(stream.deliver(&message), Ok(expected));
    }
}

// §6.1: at most ORD reads of this end; §5.2.1: Responses complete them in order.
#[test]
fn reads_are_limited_and_complete_in_order() {
    let mut stream = open::<0, 2>();
    stream.read(request(1), 11).unwrap();
    stream.read(request(2), 22).unwrap();
    assert_eq!(stream.read(request(3), 33), Err(Refused::Ord { ord: 2 }));
    let first = stream.deliver(&response(0x101, 0x1000, 11));
    let request = request(1);
    assert_eq!(first, Ok(Event::ReadDone { id: 11, request }));
    assert_eq!(stream.reads_outstanding(), 1);
    // The last of several segments: it ends where the read ends.
    let second = stream.deliver(&response(0x102, 0x2008, 4));
    assert!(matches!(second, Ok(Event::ReadDone { id: 22, .. })));
    stream.read(request, 44).unwrap();
    assert_eq!(stream.flush(), None);
}

#[test]
fn a_response_must_fit_the_oldest_read() {
    let cases = [
        (
            response(0x102, 0x1000, 11),
            Violation::ResponseStag {
                expected: 0x101,
                received: 0x102,
            },
            (1, 1, 0),
        ),
        (
            response(0x101, 0x1000, 10),
            Violation::ResponseEnd {
                expected: 0x100B,
                received: 0x100A,
            },
            (1, 1, 1),
        ),
        (
            // The right end, but more octets than were asked for.
            response(0x101, 0x0FFF, 12),
            Violation::ResponseEnd {
                expected: 0x100B,
                received: 0x100B,
            },
            (1, 1, 1),
        ),
    ];
    for (message, violation, number) in cases {
        let mut stream = open::<0, 2>();
        stream.read(request(1), 11).unwrap();
        stream.read(request(2), 22).unwrap();
        let rejected = stream.deliver(&message).unwrap_err();
        assert_eq!(rejected.violation, violation);
        let terminate = parsed(&rejected.terminate.unwrap());
        assert_eq!(terminate.cause.parts(), number);
        assert_eq!(terminate.ddp_header.unwrap().as_slice().len(), 14);
        // Both reads end in error, oldest first.
        let ids = std::iter::from_fn(|| stream.flush()).map(|read| read.id);
        assert!(ids.eq([11, 22]));
    }
}

#[test]
fn a_response_needs_a_read() {
    let mut stream = open::<1, 1>();
    let rejected = stream.deliver(&response(0x101, 0x1000, 11)).unwrap_err();
    let violation = Violation::NoRead {
        stag: 0x101,
        to: 0x1000,
    };
    assert_eq!(rejected.violation, violation);
    let terminate = parsed(&rejected.terminate.unwrap());
    assert_eq!(terminate.cause.parts(), (0, 2, 6));
    assert_eq!(terminate.segment_length, Some(25));
}

// §5.2.2: the limit is the number of buffers on queue 1; §5.5 rule 20: Responses in order.
#[test]
fn requests_are_limited_and_answered_in_order() {
    let mut slots = [InboundRead::default(); 2];
    let mut none: [OutboundRead; 0] = [];
    let mut stream = Stream::new(Version::Ietf, &mut slots[..], &mut none[..]);
    assert_eq!(stream.respond(), Err(Refused::NoRequest));
    let deliver = |stream: &mut Stream<_, _>, number| {
        let payload = request(number).emit();
        stream.deliver(&untagged([0x41, 0, 0, 0, 0], queue::READ_REQUEST, &payload))
    };
    let first = deliver(&mut stream, 1).unwrap();
    let Event::ReadRequest(read) = first else {
        panic!("{first:?}");
    };
    assert_eq!((read.request, read.msn), (request(1), 4));
    deliver(&mut stream, 2).unwrap();
    for number in [1, 2] {
        let read = *stream.next_request().unwrap();
        let (answered, outgoing) = stream.respond().unwrap();
        assert_eq!((answered, answered.request), (read, request(number)));
        let expected = Address::Tagged {
            stag: 0x100 + number,
            to: 0x1000 * u64::from(number),
            rsvd_ulp: 0x42,
        };
        assert_eq!((outgoing.address, outgoing.header()), (expected, &[][..]));
        deliver(&mut stream, number + 2).unwrap();
    }
    let rejected = deliver(&mut stream, 5).unwrap_err();
    assert_eq!(rejected.violation, Violation::Ird { msn: 4, ird: 2 });
    let terminate = parsed(&rejected.terminate.unwrap());
    assert_eq!(terminate.cause, Cause::Lower(ErrorNumber::UntaggedNoBuffer));
    let ended = Refused::Terminated {
        sent: true,
        received: false,
    };
    assert_eq!(stream.respond(), Err(ended));
}

// §4.8 and §7.1, case 3.
#[test]
fn a_read_that_fails_half_way_is_returned_with_what_is_left() {
    let mut stream = open::<1, 0>();
    let payload = request(1).emit();
    stream
        .deliver(&untagged([0x41, 0, 0, 0, 0], 1, &payload))
        .unwrap();
    let (read, _) = stream.respond().unwrap();
    let outgoing = stream.refuse_read(&read, 4, RdmaError::ProtectionAccess);
    let terminate = parsed(&outgoing.unwrap());
    assert_eq!(terminate.cause.parts(), (0, 1, 2));
    let left = ReadRequest {
        sink_to: 0x1004,
        size: 7,
        source_to: 0x44,
        ..request(1)
    };
    assert_eq!(terminate.read_request, Some(left));
    let header = [0x41, 0x41, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 0];
    assert_eq!(terminate.ddp_header.unwrap().as_slice(), header);
}

// §5.3
#[test]
fn an_stag_of_another_stream_ends_the_stream() {
    let mut stream = open::<0, 0>();
    let message = untagged([0x46, 0, 0, 1, 2], 0, b"abc");
    stream.deliver(&message).unwrap();
    let terminate = parsed(&stream.refuse_invalidate(&message).unwrap());
    assert_eq!(terminate.cause.parts(), (0, 1, 9));
    let header = [0x41, 0x46, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0];
    assert_eq!(terminate.ddp_header.unwrap().as_slice(), header);
    assert_eq!(terminate.read_request, None);
}

// §5.4, §7.1 rule 4
#[test]
fn nothing_follows_this_ends_terminate() {
    let mut stream = open::<1, 2>();
    stream.read(request(1), 11).unwrap();
    let record = ErrorRecord {
        stream: 0,
        number: ErrorNumber::MpaCrc,
        checks: Checks::empty(),
        header: HeaderOctets::default(),
        ulpdu_len: 0,
        position: 0,
        detail: Detail::Ddp,
    };
    let first = stream.fail(&record).unwrap();
    assert_eq!(first.header(), [0x20, 0x02, 0, 0]);
    assert_eq!(stream.fail(&record), None);
    let ended = Refused::Terminated {
        sent: true,
        received: false,
    };
    assert_eq!(stream.write(1, 2), Err(ended));
    assert_eq!(stream.send(true, None), Err(ended));
    assert_eq!(stream.read(request(2), 22), Err(ended));
    assert_eq!(stream.respond(), Err(ended));
    // What was under way is not for the ULP, and a second error is not reported.
    let late = stream.deliver(&response(0x101, 0x1000, 11));
    assert_eq!(late, Ok(Event::Discarded(Opcode::ReadResponse)));
    let wrong = stream
        .deliver(&untagged([0x4F, 0, 0, 0, 0], 0, b""))
        .unwrap_err();
    assert_eq!(wrong.violation, Error::Opcode { opcode: 0xF }.into());
    assert_eq!(wrong.terminate, None);
    // Terminates may cross.
    let crossing = stream.deliver(&untagged([0x47, 0, 0, 0, 0], 2, &[2, 7, 0, 0]));
    let cause = Cause::Rdma(RdmaError::OperationStream);
    assert_eq!(crossing, Ok(Event::Terminated(Terminate::new(cause))));
    assert_eq!(stream.flush().map(|read| read.id), Some(11));
    assert_eq!(stream.flush(), None);
}

// §5.4
#[test]
fn nothing_follows_the_peers_terminate() {
    for malformed in [false, true] {
        let mut stream = open::<1, 1>();
        stream.read(request(1), 11).unwrap();
        let payload: &[u8] = if malformed {
            &[0x12, 0x02, 0xC0, 0]
        } else {
            &[0x20, 0x02, 0, 0]
        };
        let found = stream.deliver(&untagged([0x47, 0, 0, 0, 0], 2, payload));
        if malformed {
            // It ends the stream all the same, and no Terminate answers it (§7.1).
            let rejected = found.unwrap_err();
            let error = Error::TerminateLength { have: 4, need: 20 };
            assert_eq!(
                (rejected.violation, rejected.terminate),
                (error.into(), None)
            );
        } else {
            let terminate = Terminate::new(Cause::Lower(ErrorNumber::MpaCrc));
            assert_eq!(found, Ok(Event::Terminated(terminate)));
        }
        let ended = Refused::Terminated {
            sent: false,
            received: true,
        };
        assert_eq!(stream.send(false, None), Err(ended));
        let again = Terminate::new(Cause::Rdma(RdmaError::LocalCatastrophic));
        assert_eq!(stream.terminate(&again), None);
        for control in [0x43, 0x47] {
            let rejected = stream
                .deliver(&untagged([control, 0, 0, 0, 0], 0, b""))
                .unwrap_err();
            let opcode = control & 0xF;
            assert_eq!(rejected.violation, Violation::AfterTerminate { opcode });
            assert_eq!(rejected.terminate, None);
        }
        assert_eq!(stream.flush().map(|read| read.id), Some(11));
    }
}

/// What a program does at one end, or the network to the oldest message under way to it.
#[derive(Clone, Copy, Debug)]
enum Step {
    Write,
    Send,
    Read,
    Respond,
    Terminate,
    Deliver,
}

fn step() -> impl Strategy<Value = (usize, Step)> {
    let step = prop_oneof![
        3 => Just(Step::Write),
        3 => Just(Step::Send),
        8 => Just(Step::Read),
        6 => Just(Step::Respond),
        1 => Just(Step::Terminate),
        20 => Just(Step::Deliver),
    ];
    (0..2_usize, step)
}

/// One end, its messages under way, and what is known about it without the code under test.
struct End {
    stream: Stream<Vec<InboundRead>, Vec<OutboundRead>>,
    sent: VecDeque<(Outgoing, u32)>,
    posted: VecDeque<u64>,
    unanswered: VecDeque<u64>,
    terminated: bool,
    delivered: u32,
    next: u64,
}

impl End {
    fn new(ird: usize, ord: usize) -> Self {
        Self {
            stream: Stream::new(
                Version::Ietf,
                vec![InboundRead::default(); ird],
                vec![OutboundRead::default(); ord],
            ),
            sent: VecDeque::new(),
            posted: VecDeque::new(),
            unanswered: VecDeque::new(),
            terminated: false,
            delivered: 0,
            next: 0,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Two ends with matching limits exchange messages in any interleaving. Neither finds a violation;
    /// reads complete in the order of posting, requests are answered in the order of arrival, limits
    /// hold, and after a Terminate nothing follows.
    #[test]
    fn two_ends_agree(
        limits in (0..4_usize, 0..4_usize),
        steps in vec(step(), 0..200),
    ) {
        // The limit of each end's requests is the room of the other end.
        let mut ends = [End::new(limits.0, limits.1), End::new(limits.1, limits.0)];
        let ord = [limits.1, limits.0];
        for (at, step) in steps {
            let [first, second] = &mut ends;
            let (end, peer) = if at == 0 { (first, second) } else { (second, first) };
            let open = !end.terminated;
            match step {
                Step::Write => match end.stream.write(1, 2) {
                    Ok(outgoing) => {
                        prop_assert!(open);
                        end.sent.push_back((outgoing, 5));
                    }
                    Err(_) => prop_assert!(!open),
                },
                Step::Send => match end.stream.send(false, None) {
                    Ok(outgoing) => {
                        prop_assert!(open);
                        end.sent.push_back((outgoing, 0));
                    }
                    Err(_) => prop_assert!(!open),
                },
                Step::Read => {
                    let room = end.posted.len() < ord[at];
                    // The request names itself in SourceTO, the Response in SinkTO.
                    let id = end.next;
                    let request = ReadRequest {
                        sink_to: id << 32,
                        source_to: id,
                        ..request(id as u32 % 7)
                    };
                    match end.stream.read(request, id) {
                        Ok(outgoing) => {
                            prop_assert!(open && room);
                            end.sent.push_back((outgoing, 0));
                            end.posted.push_back(id);
                            end.next += 1;
                        }
                        Err(_) => prop_assert!(!open || !room),
                    }
                }
                Step::Respond => match end.stream.respond() {
                    Ok((read, outgoing)) => {
                        prop_assert!(open);
                        prop_assert_eq!(end.unanswered.pop_front(), Some(read.request.source_to));
                        end.sent.push_back((outgoing, read.request.size));
                    }
                    Err(_) => prop_assert!(!open || end.unanswered.is_empty()),
                },
                Step::Terminate => {
                    let cause = Cause::Rdma(RdmaError::LocalCatastrophic);
                    if let Some(outgoing) = end.stream.terminate(&Terminate::new(cause)) {
                        prop_assert!(open);
                        end.sent.push_back((outgoing, 0));
                        end.terminated = true;
                    } else {
                        prop_assert!(!open);
                    }
                }
                Step::Deliver => {
                    let Some((outgoing, len)) = peer.sent.pop_front() else {
                        continue;
                    };
                    end.delivered += 1;
                    let message = arrived(&outgoing, end.delivered, len);
                    let event = end.stream.deliver(&message);
                    match event {
                        Ok(Event::ReadRequest(read)) => {
                            prop_assert!(open);
                            end.unanswered.push_back(read.request.source_to);
                        }
                        Ok(Event::ReadDone { id, request }) => {
                            prop_assert!(open);
                            prop_assert_eq!(end.posted.pop_front(), Some(id));
                            prop_assert_eq!(request.source_to, id);
                        }
                        Ok(Event::Terminated(_)) => {
                            prop_assert!(peer.sent.is_empty());
                            end.terminated = true;
                        }
                        Ok(Event::Discarded(_)) => prop_assert!(!open),
                        Ok(Event::Write { .. } | Event::Send { .. }) => prop_assert!(open),
                        Err(rejected) => prop_assert!(false, "{}", rejected),
                    }
                }
            }
            prop_assert_eq!(end.stream.reads_outstanding(), end.posted.len());
            prop_assert_eq!(end.stream.reads_unanswered(), end.unanswered.len());
        }
        for end in &mut ends {
            let flushed: Vec<u64> = std::iter::from_fn(|| end.stream.flush()).map(|read| read.id).collect();
            let expected = if end.terminated { Vec::from_iter(end.posted.clone()) } else { Vec::new() };
            prop_assert_eq!(flushed, expected);
        }
    }

    /// Whatever arrives: no panic, at most one Terminate goes out, and none after the peer's.
    #[test]
    fn arbitrary_messages_cause_at_most_one_terminate(
        messages in vec(
            (
                any::<Option<(u32, u64, u32)>>(),
                0..=0x4F_u8,
                any::<[u8; 4]>(),
                0..4_u32,
                prop_oneof![vec(any::<u8>(), 0..56), vec(any::<u8>(), 28..=28)],
            ),
            0..40,
        ),
    ) {
        let mut stream = open::<2, 2>();
        stream.read(request(1), 1).unwrap();
        let (mut sent, mut received) = (0, false);
        for (tagged, control, stag, qn, payload) in &messages {
            let message = match *tagged {
                Some((stag, to, len)) => Delivered::Tagged { rsvd_ulp: *control, stag, to, len },
                None => {
                    let [a, b, c, d] = *stag;
                    untagged([*control, a, b, c, d], *qn, payload)
                }
            };
            let before = received;
            match stream.deliver(&message) {
                Ok(Event::Terminated(_)) => received = true,
                Ok(_) => prop_assert!(!before),
                Err(rejected) => {
                    received |= matches!(
                        rejected.violation,
                        Violation::Format(Error::TerminateLength { .. })
                    );
                    if let Some(terminate) = rejected.terminate {
                        prop_assert!(!before);
                        Terminate::parse(terminate.header()).unwrap();
                        sent += 1;
                    }
                }
            }
        }
        prop_assert!(sent <= 1);
        prop_assert_eq!(stream.is_open(), sent == 0 && !received);
    }
}
