//! Legal sessions, chunk by chunk, with octets written from the RFC's figures (RFC 5043 §6.2 to §6.4).

use crate::{
    Log, Seen, acknowledged, active, chunk, control, hex, initiating, new, passive, peer, pending,
    placed, poll, segment, segment_octets, send, sends, sends_nothing, ssn, terminate, up,
};
use warpline_wire::sctp::{
    CallError, Cause, ChunkError, Receipt, Received, SendError, Settings, Ssn, Timeouts, ppid,
};

// req: SCTP-SES-06, SCTP-SES-07, SCTP-SES-08, SCTP-SSN-02, SCTP-FMT-10, SCTP-FMT-14, SCTP-FMT-15
#[test]
fn an_accepted_session_from_end_to_end() {
    let mut active = up(Settings::default(), 4);
    let mut passive = up(Settings::default(), 4);

    active.initiate(1, b"hi!", 0).unwrap();
    sends(&mut active, 1, "0000 0001 68 69 21");
    let requested = [Seen::Requested(1, b"hi!".to_vec())];
    assert_eq!(control(&mut passive, 1, "0000 0001 68 69 21"), requested);
    assert_eq!(acknowledged(&mut active, 1, 1), []);

    passive.accept(1, &[0xAB; 512]).unwrap();
    let accept = [&hex("0000 0002")[..], &[0xAB; 512]].concat();
    assert_eq!(crate::output(&mut passive), Some((1, accept.clone())));
    let accepted = [Seen::Accepted(1, vec![0xAB; 512]), Seen::InOrder(1, 1)];
    assert_eq!(chunk(&mut active, 1, ppid::CONTROL, &accept), accepted);
    assert!(active.is_open(1) && passive.is_open(1));
    assert_eq!(acknowledged(&mut passive, 1, 1), []);

    // The first segment of either side has DDP-SSN 1.
    for end in [&mut active, &mut passive] {
        assert_eq!(send(end, 1), Ok(hex("0001 D0")));
        assert_eq!(send(end, 1), Ok(hex("0002 D0")));
    }
    for end in [&mut active, &mut passive] {
        assert_eq!(segment(end, 1, 1), [placed(1, 1), Seen::InOrder(1, 2)]);
        assert_eq!(segment(end, 1, 2), [placed(1, 2), Seen::InOrder(1, 3)]);
    }

    assert_eq!(terminate(&mut active, 1), []);
    sends(&mut active, 1, "0003 0004");
    let terminated = [Seen::InOrder(1, 4), Seen::Terminated(1)];
    assert_eq!(control(&mut passive, 1, "0003 0004"), terminated);
    // The other half goes on until its own end.
    assert_eq!(send(&mut passive, 1), Ok(hex("0003 D0")));
    assert_eq!(
        segment(&mut active, 1, 3),
        [placed(1, 3), Seen::InOrder(1, 4)]
    );
    assert_eq!(terminate(&mut passive, 1), []);
    sends(&mut passive, 1, "0004 0004");
    let terminated = [Seen::InOrder(1, 5), Seen::Terminated(1)];
    assert_eq!(control(&mut active, 1, "0004 0004"), terminated);

    assert_eq!(acknowledged(&mut active, 1, 2), []);
    assert_eq!(acknowledged(&mut active, 1, 1), [Seen::Free(1)]);
    assert_eq!(acknowledged(&mut passive, 1, 4), [Seen::Free(1)]);
    assert_eq!((active.in_use(), passive.in_use()), (0, 0));

    // The next session on the same stream begins at DDP-SSN 0 at both ends, with roles exchanged.
    passive.initiate(1, b"", 0).unwrap();
    sends(&mut passive, 1, "0000 0001");
    assert_eq!(
        control(&mut active, 1, "0000 0001"),
        [Seen::Requested(1, vec![])]
    );
    active.accept(1, b"").unwrap();
    sends(&mut active, 1, "0000 0002");
    assert_eq!(send(&mut active, 1), Ok(hex("0001 D0")));
    let accepted = [Seen::Accepted(1, vec![]), Seen::InOrder(1, 1)];
    assert_eq!(control(&mut passive, 1, "0000 0002"), accepted);
    assert_eq!(send(&mut passive, 1), Ok(hex("0001 D0")));
}

// req: SCTP-SES-10, SCTP-SES-11, SCTP-SES-12, SCTP-FMT-15
#[test]
fn the_ulp_rejects() {
    let mut passive = pending();
    passive.reject(1, &[1]).unwrap();
    sends(&mut passive, 1, "0000 0003 01");
    sends_nothing(&mut passive);
    assert_eq!(acknowledged(&mut passive, 1, 1), [Seen::Free(1)]);

    let mut active = initiating(Settings::default());
    let rejected = [Seen::Rejected(1, vec![1])];
    assert_eq!(control(&mut active, 1, "0000 0003 01"), rejected);
    // Nothing but the Initiate is this end's part of the pattern.
    sends_nothing(&mut active);
    assert_eq!(
        active.initiate(1, b"", 0),
        Err(CallError::InUse { stream: 1 })
    );
    assert_eq!(acknowledged(&mut active, 1, 1), [Seen::Free(1)]);
    assert_eq!(active.initiate(1, b"", 0), Ok(()));
}

// req: SCTP-SES-14, SCTP-SES-15, SCTP-SES-24, SCTP-SES-12
#[test]
fn an_initiate_too_many_is_refused_with_terminate() {
    let settings = Settings {
        backlog: 2,
        ..Settings::default()
    };
    let mut end = up(settings, 4);
    for stream in [3, 0] {
        let requested = [Seen::Requested(stream, vec![])];
        assert_eq!(control(&mut end, stream, "0000 0001"), requested);
    }
    let stray = [Seen::Stray(1, Cause::Backlog { limit: 2 })];
    assert_eq!(control(&mut end, 1, "0000 0001"), stray);
    sends(&mut end, 1, "0000 0004");
    assert_eq!(acknowledged(&mut end, 1, 1), [Seen::Free(1)]);
    // Either decision makes room for another one, on any stream.
    end.reject(3, b"").unwrap();
    let requested = [Seen::Requested(1, vec![])];
    assert_eq!(control(&mut end, 1, "0000 0001"), requested);
    let stray = [Seen::Stray(2, Cause::Backlog { limit: 2 })];
    assert_eq!(control(&mut end, 2, "0000 0001"), stray);
    end.accept(0, b"").unwrap();
    sends(&mut end, 2, "0000 0004");
    assert_eq!(acknowledged(&mut end, 2, 1), [Seen::Free(2)]);
    let requested = [Seen::Requested(2, vec![])];
    assert_eq!(control(&mut end, 2, "0000 0001"), requested);

    let mut active = initiating(Settings::default());
    assert_eq!(control(&mut active, 1, "0000 0004"), [Seen::Refused(1)]);
    sends_nothing(&mut active);
    assert_eq!(acknowledged(&mut active, 1, 1), [Seen::Free(1)]);
}

/// Without what a session takes, the layer declines it: by Terminate with DDP-SSN 0, and the stream is used again.
// req: SCTP-SES-12, SCTP-SES-15
#[test]
fn an_initiate_is_declined_without_the_ulp() {
    let mut end = pending();
    let mut log = Log::default();
    end.decline(1, &mut log).unwrap();
    assert_eq!(log.take(), []);
    sends(&mut end, 1, "0000 0004");
    sends_nothing(&mut end);
    let due = CallError::NotDue { stream: 1 };
    assert_eq!(end.decline(1, &mut log), Err(due));
    assert_eq!(end.accept(1, b""), Err(due));
    assert_eq!(acknowledged(&mut end, 1, 1), [Seen::Free(1)]);
    let requested = [Seen::Requested(1, vec![])];
    assert_eq!(control(&mut end, 1, "0000 0001"), requested);
    end.accept(1, b"").unwrap();
    sends(&mut end, 1, "0000 0002");
}

// req: SCTP-SES-13, SCTP-SES-23, SCTP-SES-12
#[test]
fn only_the_ulp_accepts_and_only_it_rejects() {
    let mut end = pending();
    sends_nothing(&mut end);
    assert_eq!(poll(&mut end, 9_999), []);
    sends_nothing(&mut end);
    // Undecided, it ends with Terminate, not with Reject.
    let cause = Cause::Undecided { timeout: 10_000 };
    assert_eq!(poll(&mut end, 10_000), [Seen::Failed(1, cause)]);
    sends(&mut end, 1, "0000 0004");
    assert_eq!(poll(&mut end, 1 << 40), []);
    assert_eq!(end.accept(1, b""), Err(CallError::NotDue { stream: 1 }));
    assert_eq!(end.reject(1, b""), Err(CallError::NotDue { stream: 1 }));
    assert_eq!(acknowledged(&mut end, 1, 1), [Seen::Free(1)]);
}

// req: SCTP-SES-18, SCTP-SES-20
#[test]
fn terminate_does_not_overtake_initiate() {
    // The answer of the peer releases it. The acknowledgement of the Initiate alone would be enough for
    // RFC 5043 §6.6, but a Reject that crosses the Terminate would fit no pattern.
    let mut end = initiating(Settings::default());
    assert_eq!(terminate(&mut end, 1), []);
    sends_nothing(&mut end);
    assert_eq!(acknowledged(&mut end, 1, 1), []);
    // A segment of the peer is no control message, and answers nothing.
    assert_eq!(segment(&mut end, 1, 1), [placed(1, 1)]);
    sends_nothing(&mut end);
    let accepted = [Seen::Accepted(1, vec![]), Seen::InOrder(1, 2)];
    assert_eq!(control(&mut end, 1, "0000 0002"), accepted);
    sends(&mut end, 1, "0001 0004");
    assert!(!end.is_open(1));
    // Where the peer errs, nothing of a pattern is left to keep: the acknowledgement releases it.
    let mut end = initiating(Settings::default());
    assert_eq!(control(&mut end, 1, "0001 0002").len(), 1);
    sends_nothing(&mut end);
    assert_eq!(acknowledged(&mut end, 1, 1), []);
    sends(&mut end, 1, "0001 0004");
}

// req: SCTP-SES-18
#[test]
fn terminate_does_not_overtake_accept() {
    let mut end = pending();
    end.accept(1, b"").unwrap();
    assert_eq!(terminate(&mut end, 1), []);
    sends(&mut end, 1, "0000 0002");
    sends_nothing(&mut end);
    // The peer may send segments when its Initiate is acknowledged: they do not show that it has the
    // Accept.
    assert_eq!(segment(&mut end, 1, 1), [placed(1, 1), Seen::InOrder(1, 2)]);
    sends_nothing(&mut end);
    assert_eq!(acknowledged(&mut end, 1, 1), []);
    sends(&mut end, 1, "0001 0004");
}

// req: SCTP-SES-19, SCTP-SES-20
#[test]
fn no_segment_overtakes_the_initiate() {
    let not_open = Err(SendError::NotOpen { stream: 1 });
    let mut end = up(Settings::default(), 4);
    assert_eq!(send(&mut end, 1), not_open);
    // The Accept is awaited, whatever is acknowledged.
    let mut end = initiating(Settings::default());
    assert_eq!(send(&mut end, 1), not_open);
    acknowledged(&mut end, 1, 1);
    assert_eq!(send(&mut end, 1), not_open);
    control(&mut end, 1, "0000 0002");
    assert_eq!(send(&mut end, 1), Ok(hex("0001 D0")));
    // The Accept alone is enough: it answers the Initiate.
    let mut end = initiating(Settings::default());
    control(&mut end, 1, "0000 0002");
    assert_eq!(send(&mut end, 1), Ok(hex("0001 D0")));
}

// req: SCTP-SSN-01
#[test]
fn the_accept_is_submitted_before_the_segments_behind_it() {
    let mut end = pending();
    assert_eq!(send(&mut end, 1), Err(SendError::NotOpen { stream: 1 }));
    end.accept(1, b"").unwrap();
    let first = Err(SendError::ControlFirst { stream: 1 });
    assert_eq!(send(&mut end, 1), first);
    sends(&mut end, 1, "0000 0002");
    assert_eq!(send(&mut end, 1), Ok(hex("0001 D0")));
}

// req: AMB-38, SCTP-SSN-06, SCTP-SES-02
#[test]
fn the_active_side_places_what_overtakes_the_accept() {
    let mut end = initiating(Settings::default());
    assert_eq!(segment(&mut end, 1, 2), [placed(1, 2)]);
    // Terminate too: its place is behind the segments.
    assert_eq!(control(&mut end, 1, "0003 0004"), []);
    assert_eq!(segment(&mut end, 1, 1), [placed(1, 1)]);
    let accepted = [
        Seen::Accepted(1, b"x".to_vec()),
        Seen::InOrder(1, 4),
        Seen::Terminated(1),
    ];
    assert_eq!(control(&mut end, 1, "0000 0002 78"), accepted);
    assert!(end.is_open(1), "this end's half");
    assert_eq!(send(&mut end, 1), Ok(hex("0001 D0")));
}

/// A DDP Segment Chunk of stream 1.
fn segment_chunk(user_data: &[u8]) -> Received<'_> {
    Received {
        stream: 1,
        ppid: ppid::SEGMENT,
        user_data,
    }
}

// req: AMB-38, SCTP-SES-02, SCTP-SES-03
#[test]
fn the_passive_side_leaves_early_segments_with_the_caller() {
    let mut end = pending();
    let octets = segment_octets(1);
    let early = segment_chunk(&octets);
    let mut log = Log::default();
    assert_eq!(end.receive(&early, 0, &mut log), Receipt::Early);
    assert_eq!(end.receive(&early, 0, &mut log), Receipt::Early);
    assert_eq!(log.take(), []);
    // Once an endpoint is bound it is placed, and once only.
    end.accept(1, b"").unwrap();
    assert_eq!(end.receive(&early, 0, &mut log), Receipt::Taken);
    assert_eq!(log.take(), [placed(1, 1), Seen::InOrder(1, 2)]);
    assert_eq!(end.receive(&early, 0, &mut log), Receipt::Taken);
    assert_eq!(log.take(), []);

    // A caller without room for it ends the session.
    let mut end = pending();
    assert_eq!(end.receive(&early, 0, &mut log), Receipt::Early);
    end.early_overflow(1, &mut log).unwrap();
    assert_eq!(log.take(), [Seen::Failed(1, Cause::EarlyOverflow)]);
    sends(&mut end, 1, "0000 0004");
    let due = CallError::NotDue { stream: 1 };
    assert_eq!(end.early_overflow(1, &mut log), Err(due));
    assert_eq!(end.accept(1, b""), Err(due));
    // The bound holds before the decision, too.
    let mut end = pending();
    let far = segment(&mut end, 1, 32_768);
    assert!(
        matches!(far[..], [Seen::Failed(1, Cause::Ssn(_))]),
        "{far:?}"
    );
}

// req: SCTP-SES-07, SCTP-SES-08
#[test]
fn a_peer_that_gives_up_before_the_decision_is_answered_with_terminate() {
    let mut end = pending();
    let events = [Seen::InOrder(1, 2), Seen::Terminated(1)];
    assert_eq!(control(&mut end, 1, "0001 0004"), events);
    assert_eq!(end.accept(1, b""), Err(CallError::NotDue { stream: 1 }));
    sends(&mut end, 1, "0000 0004");
    assert_eq!(acknowledged(&mut end, 1, 1), [Seen::Free(1)]);
    // It was counted out of those that wait.
    for stream in 0..4 {
        assert_eq!(control(&mut end, stream, "0000 0001").len(), 1);
    }
}

// req: SCTP-SES-09, SCTP-SES-07
#[test]
fn an_rdmap_terminate_is_a_segment_in_front_of_the_session_terminate() {
    let mut end = active();
    // An untagged DDP segment of queue 2 with a Terminate Message (RFC 5040 §4.8).
    let rdmap = hex("41 47 00000000 00000002 00000001 00000000 1000 0000");
    let mut out = [0; 64];
    assert_eq!(end.send(1, &rdmap[..18], &rdmap[18..], &mut out), Ok(24));
    assert_eq!(out[..24], [&[0, 1], &rdmap[..]].concat());
    assert!(end.is_open(1));
    terminate(&mut end, 1);
    sends(&mut end, 1, "0002 0004");
    assert_eq!(send(&mut end, 1), Err(SendError::NotOpen { stream: 1 }));

    let mut end = passive();
    let user_data = [&[0, 1], &rdmap[..]].concat();
    let events = [Seen::Segment(1, 1, rdmap), Seen::InOrder(1, 2)];
    assert_eq!(chunk(&mut end, 1, ppid::SEGMENT, &user_data), events);
    assert!(end.is_open(1));
}

// req: SCTP-SSN-06, SCTP-SES-07
#[test]
fn terminate_takes_effect_at_its_place() {
    let mut end = passive();
    assert_eq!(control(&mut end, 1, "0003 0004"), []);
    assert_eq!(segment(&mut end, 1, 1), [placed(1, 1), Seen::InOrder(1, 2)]);
    let events = [placed(1, 2), Seen::InOrder(1, 4), Seen::Terminated(1)];
    assert_eq!(segment(&mut end, 1, 2), events);
}

// req: AMB-37
#[test]
fn behind_its_own_terminate_an_end_sends_nothing_and_takes_the_peers_half() {
    let mut end = active();
    terminate(&mut end, 1);
    sends(&mut end, 1, "0001 0004");
    assert_eq!(send(&mut end, 1), Err(SendError::NotOpen { stream: 1 }));
    let mut log = Log::default();
    let again = end.terminate(1, 0, &mut log);
    assert_eq!(again, Err(CallError::NoSession { stream: 1 }));
    assert_eq!(segment(&mut end, 1, 1), [placed(1, 1), Seen::InOrder(1, 2)]);
    // The time-out of the peer's end: the session is torn down locally, and says nothing more.
    assert_eq!(poll(&mut end, 9_999), []);
    assert_eq!(poll(&mut end, 10_000), [Seen::Abandoned(1)]);
    assert_eq!(poll(&mut end, 20_000), []);
    assert_eq!(segment(&mut end, 1, 2), []);
    // The stream is free only when the peer's tail is known.
    assert_eq!(acknowledged(&mut end, 1, 1), []);
    assert_eq!(end.initiate(1, b"", 0), Err(CallError::InUse { stream: 1 }));
    assert_eq!(control(&mut end, 1, "0003 0004"), [Seen::Free(1)]);
    assert_eq!(end.initiate(1, b"", 0), Ok(()));
}

// req: SCTP-SES-21, SCTP-SES-22
#[test]
fn a_stream_is_not_used_again_while_a_chunk_may_be_under_way() {
    let in_use = Err(CallError::InUse { stream: 1 });
    let mut end = active();
    assert_eq!(end.initiate(1, b"", 0), in_use);
    send(&mut end, 1).unwrap();
    terminate(&mut end, 1);
    assert_eq!(end.initiate(1, b"", 0), in_use);
    sends(&mut end, 1, "0002 0004");
    // The peer's Terminate is here, a segment before it is not.
    assert_eq!(control(&mut end, 1, "0002 0004"), []);
    assert_eq!(acknowledged(&mut end, 1, 1), []);
    assert_eq!(end.initiate(1, b"", 0), in_use);
    let events = [placed(1, 1), Seen::InOrder(1, 3), Seen::Terminated(1)];
    assert_eq!(segment(&mut end, 1, 1), events);
    // This end's Terminate is not acknowledged.
    assert_eq!(end.initiate(1, b"", 0), in_use);
    assert_eq!(acknowledged(&mut end, 1, 1), [Seen::Free(1)]);
    end.initiate(1, b"", 0).unwrap();
    sends(&mut end, 1, "0000 0001");
    // What should not come any more is no chunk of the new session: its number is taken by the window
    // of the new one, and what it carries goes to the endpoint of the new one only.
    assert_eq!(control(&mut end, 1, "0000 0002").len(), 2);
}

// req: SCTP-SES-07, SCTP-SES-21, SCTP-SES-22
#[test]
fn a_peer_that_ends_without_terminate_may_begin_again() {
    // This end terminates; the peer sends nothing more, waits until all of its chunks have arrived,
    // and initiates the next session.
    let mut end = active();
    terminate(&mut end, 1);
    sends(&mut end, 1, "0001 0004");
    assert_eq!(segment(&mut end, 1, 1), [placed(1, 1), Seen::InOrder(1, 2)]);
    let events = [Seen::Free(1), Seen::Requested(1, b"2".to_vec())];
    assert_eq!(control(&mut end, 1, "0000 0001 32"), events);
    end.accept(1, b"").unwrap();
    sends(&mut end, 1, "0000 0002");
    terminate(&mut end, 1);
    // The acknowledgement of the former Terminate says nothing of the Accept.
    assert_eq!(acknowledged(&mut end, 1, 1), []);
    sends_nothing(&mut end);
    assert_eq!(acknowledged(&mut end, 1, 1), []);
    sends(&mut end, 1, "0001 0004");
    // The new session counts from its own beginning.
    assert_eq!(segment(&mut end, 1, 1), [placed(1, 1), Seen::InOrder(1, 2)]);
}

// req: SCTP-SSN-08, SCTP-SSN-09, SCTP-SSN-01
#[test]
fn no_more_than_32767_chunks_are_unacknowledged() {
    let mut end = active();
    let mut submitted = 0u32;
    let mut unacknowledged = 0u32;
    let limit = Err(SendError::Unacknowledged { limit: 32_767 });
    while submitted < 70_000 {
        match send(&mut end, 1) {
            Ok(chunk) => {
                submitted += 1;
                unacknowledged += 1;
                assert_eq!(ssn(&chunk), Ssn(submitted as u16));
            }
            held => {
                assert_eq!(held, limit);
                assert_eq!(unacknowledged, 32_767);
                assert_eq!(acknowledged(&mut end, 1, 1000), []);
                unacknowledged -= 1000;
            }
        }
    }
    while send(&mut end, 1).is_ok() {}
    // Terminate keeps to the limit as well.
    terminate(&mut end, 1);
    sends_nothing(&mut end);
    acknowledged(&mut end, 1, 1);
    let (stream, terminate) = crate::output(&mut end).unwrap();
    assert_eq!((stream, &terminate[2..]), (1, &[0, 4][..]));
}

// req: SCTP-SSN-02, SCTP-SSN-06
#[test]
fn sessions_are_longer_than_the_number_space() {
    let mut end = passive();
    for number in 1..=70_000u32 {
        let ssn = number as u16;
        let events = [placed(1, ssn), Seen::InOrder(1, ssn.wrapping_add(1))];
        assert_eq!(segment(&mut end, 1, ssn), events);
    }
    // 70,001 modulo 2^16 is 0x1171.
    let events = [Seen::InOrder(1, 0x1172), Seen::Terminated(1)];
    assert_eq!(control(&mut end, 1, "1171 0004"), events);
}

#[test]
fn a_session_that_sctp_does_not_have_yet_has_never_begun() {
    let mut end = up(Settings::default(), 4);
    end.initiate(1, b"", 0).unwrap();
    assert_eq!(terminate(&mut end, 1), [Seen::Free(1)]);
    sends_nothing(&mut end);
    end.initiate(1, b"2", 0).unwrap();
    sends(&mut end, 1, "0000 0001 32");
}

// req: SCTP-SES-18
#[test]
fn an_initiate_without_answer_is_given_up() {
    let settings = Settings {
        timeouts: Timeouts {
            answer: 50,
            ..Timeouts::default()
        },
        ..Settings::default()
    };
    let mut end = initiating(settings);
    assert_eq!(end.deadline(), Some(50));
    assert_eq!(poll(&mut end, 49), []);
    let cause = Cause::NoAnswer { timeout: 50 };
    assert_eq!(poll(&mut end, 50), [Seen::Failed(1, cause)]);
    assert_eq!(end.deadline(), None);
    sends_nothing(&mut end);
    assert_eq!(acknowledged(&mut end, 1, 1), []);
    sends_nothing(&mut end);
    // A late Accept is not reported, and lets the Terminate go.
    assert_eq!(control(&mut end, 1, "0000 0002"), []);
    sends(&mut end, 1, "0001 0004");
    assert_eq!(segment(&mut end, 1, 1), []);
    assert_eq!(acknowledged(&mut end, 1, 1), []);
    assert_eq!(control(&mut end, 1, "0002 0004"), [Seen::Free(1)]);
}

#[test]
fn a_session_given_up_may_still_be_rejected() {
    let mut end = initiating(Settings::default());
    terminate(&mut end, 1);
    assert_eq!(
        control(&mut end, 1, "0000 0003"),
        [Seen::Rejected(1, vec![])]
    );
    sends_nothing(&mut end);
    assert_eq!(acknowledged(&mut end, 1, 1), [Seen::Free(1)]);
    // So it may be behind the time-out.
    let mut end = initiating(Settings::default());
    assert_eq!(poll(&mut end, 10_000).len(), 1);
    assert_eq!(control(&mut end, 1, "0000 0004"), []);
    sends_nothing(&mut end);
    assert_eq!(acknowledged(&mut end, 1, 1), [Seen::Free(1)]);
}

#[test]
fn a_peer_that_terminates_on_the_acknowledgement_may_cross_a_reject() {
    // Our own active side does not.
    let mut end = pending();
    end.reject(1, b"").unwrap();
    sends(&mut end, 1, "0000 0003");
    assert_eq!(control(&mut end, 1, "0001 0004"), []);
    assert_eq!(acknowledged(&mut end, 1, 1), [Seen::Free(1)]);
    // The same when the stream is free already: no answer, and no session.
    let mut end = pending();
    end.reject(1, b"").unwrap();
    sends(&mut end, 1, "0000 0003");
    assert_eq!(acknowledged(&mut end, 1, 1), [Seen::Free(1)]);
    let stray = control(&mut end, 1, "0001 0004");
    assert!(matches!(stray[..], [Seen::Stray(1, Cause::Control { .. })]));
    sends_nothing(&mut end);
    assert_eq!(end.in_use(), 0);
}

#[test]
fn a_rejected_peer_that_has_sent_segments_has_an_unknown_tail() {
    let mut end = pending();
    let octets = segment_octets(1);
    let early = segment_chunk(&octets);
    let mut log = Log::default();
    assert_eq!(end.receive(&early, 0, &mut log), Receipt::Early);
    end.reject(1, b"").unwrap();
    sends(&mut end, 1, "0000 0003");
    assert_eq!(acknowledged(&mut end, 1, 1), []);
    assert_eq!(end.receive(&early, 0, &mut log), Receipt::Taken);
    assert_eq!(log.take(), []);
    assert_eq!(end.initiate(1, b"", 0), Err(CallError::InUse { stream: 1 }));
    assert_eq!(control(&mut end, 1, "0002 0004"), [Seen::Free(1)]);
}

// req: SCTP-FMT-12, SCTP-FMT-10, SCTP-FMT-11
#[test]
fn private_data_of_the_three_calls_has_a_limit() {
    let too_long = Err(CallError::Chunk(ChunkError::PrivateData { len: 513 }));
    let mut end = up(Settings::default(), 4);
    assert_eq!(end.initiate(1, &[0; 513], 0), too_long);
    assert_eq!(end.in_use(), 0, "nothing has changed");
    assert_eq!(end.initiate(1, &[0; 512], 0), Ok(()));
    let mut end = pending();
    assert_eq!(end.accept(1, &[0; 513]), too_long);
    assert_eq!(end.reject(1, &[0; 513]), too_long);
    assert_eq!(end.accept(1, &[0; 512]), Ok(()));
    assert_eq!(end.accept(1, b""), Err(CallError::NotDue { stream: 1 }));
    // None is enough for each of them.
    let mut end = up(Settings::default(), 4);
    assert_eq!(end.initiate(1, b"", 0), Ok(()));
    sends(&mut end, 1, "0000 0001");
    let decide: [fn(&mut crate::End) -> _; 2] =
        [|end| end.accept(1, b""), |end| end.reject(1, b"")];
    for (decide, sent) in decide.into_iter().zip(["0000 0002", "0000 0003"]) {
        let mut end = pending();
        assert_eq!(decide(&mut end), Ok(()));
        sends(&mut end, 1, sent);
    }
}

#[test]
fn calls_that_are_not_due_are_refused() {
    let mut log = Log::default();
    let mut end = new(Settings::default(), 4);
    assert_eq!(end.initiate(0, b"", 0), Err(CallError::NotUp));
    assert_eq!(end.accept(0, b""), Err(CallError::NotUp));
    assert_eq!(end.terminate(0, 0, &mut log), Err(CallError::NotUp));
    assert_eq!(send(&mut end, 0), Err(SendError::NotUp));
    end.established(&peer(4), &mut log).unwrap();
    let (stream, streams) = (4, 4);
    assert_eq!(
        end.initiate(4, b"", 0),
        Err(CallError::Stream { stream, streams })
    );
    assert_eq!(
        send(&mut end, 4),
        Err(SendError::Stream { stream, streams })
    );
    let none = CallError::NoSession { stream: 0 };
    assert_eq!(end.terminate(0, 0, &mut log), Err(none));
    control(&mut end, 0, "0000 0001");
    assert_eq!(end.terminate(0, 0, &mut log), Err(none), "the ULP decides");
    assert_eq!(end.initiate(0, b"", 0), Err(CallError::InUse { stream: 0 }));
    // SCTP may say too much: it does no harm.
    end.sent(0, &mut log);
    end.sent(9, &mut log);
    end.acknowledged(9, 1, &mut log);
    end.acknowledged(0, 9, &mut log);
    end.accept(0, b"").unwrap();
    sends(&mut end, 0, "0000 0002");
}

#[test]
fn streams_send_their_control_messages_in_turn() {
    let mut end = up(Settings::default(), 4);
    for stream in [2, 0, 3] {
        end.initiate(stream, b"", 0).unwrap();
    }
    sends(&mut end, 0, "0000 0001");
    end.initiate(1, b"", 0).unwrap();
    for stream in [1, 2, 3] {
        sends(&mut end, stream, "0000 0001");
    }
    sends_nothing(&mut end);
}
