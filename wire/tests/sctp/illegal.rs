//! Sequences that fit no legal pattern end their session, with Terminate and one report.

use crate::{
    End, Seen, acknowledged, active, chunk, control, hex, initiating, passive, pending, placed,
    segment, send, sends, sends_nothing, terminate, up,
};
use warpline_wire::sctp::{
    CallError, Cause, ChunkError, Function, InvalidSsn, SendError, Settings, Ssn,
};

const fn misplaced(function: Function, ssn: u16) -> Cause {
    Cause::Control {
        function,
        ssn: Ssn(ssn),
    }
}

/// The session on stream 1 fails for this cause; whatever follows of it is not reported.
#[track_caller]
fn fails(end: &mut End, events: Vec<Seen>, cause: Cause) {
    assert_eq!(events.last(), Some(&Seen::Failed(1, cause)));
    assert!(!end.is_open(1));
    assert_eq!(send(end, 1), Err(SendError::NotOpen { stream: 1 }));
    assert_eq!(control(end, 1, "0000 0009"), [], "one report");
    assert_eq!(segment(end, 1, 7), []);
    assert_eq!(end.initiate(1, b"", 0), Err(CallError::InUse { stream: 1 }));
    // Other streams go on.
    assert_eq!(control(end, 3, "0000 0001"), [Seen::Requested(3, vec![])]);
    end.accept(3, b"").unwrap();
    let accept = "0000 0002";
    while let Some(message) = end.output() {
        if message.stream == 3 {
            assert_eq!(message.user_data, hex(accept));
            let mut log = crate::Log::default();
            end.sent(3, &mut log);
            break;
        }
        assert_eq!(message.stream, 1);
        assert_eq!(&message.user_data[2..], [0, 4]);
        let mut log = crate::Log::default();
        end.sent(1, &mut log);
    }
    assert_eq!(segment(end, 3, 1), [placed(3, 1), Seen::InOrder(3, 2)]);
}

/// What fits no pattern once a session is open, behind `segments` segments.
fn after_accept() -> Vec<(&'static str, u32, &'static str, Cause)> {
    use Function::{Accept, Initiate, Reject};
    let chunk = Cause::Chunk;
    vec![
        ("a second Initiate", 17, "0001 0001", misplaced(Initiate, 1)),
        ("Accept", 17, "0001 0002", misplaced(Accept, 1)),
        ("Reject", 17, "0001 0003", misplaced(Reject, 1)),
        (
            "code 5",
            17,
            "0001 0005",
            chunk(ChunkError::Function { code: 5 }),
        ),
        (
            "code 0x104",
            17,
            "0001 0104",
            chunk(ChunkError::Function { code: 0x104 }),
        ),
        (
            "Terminate with data",
            17,
            "0001 0004 00",
            chunk(ChunkError::TerminateData { len: 1 }),
        ),
        (
            "PPID 0",
            0,
            "0001 0004",
            chunk(ChunkError::Ppid { ppid: 0 }),
        ),
        (
            "half a header",
            17,
            "0001 00",
            chunk(ChunkError::Truncated { have: 3, need: 4 }),
        ),
        (
            "no DDP-SSN",
            16,
            "00",
            chunk(ChunkError::Truncated { have: 1, need: 2 }),
        ),
        (
            "a jump",
            16,
            "8000 D0",
            Cause::Ssn(InvalidSsn {
                ssn: Ssn(0x8000),
                next: Ssn(1),
                window: 32_767,
            }),
        ),
    ]
}

// req: SCTP-SES-04, SCTP-SES-05, SCTP-FMT-01, SCTP-FMT-13, SCTP-SSN-12, AMB-34, AMB-35
#[test]
fn a_chunk_that_fits_no_pattern_ends_an_open_session() {
    for (name, ppid, octets, cause) in after_accept() {
        for mut end in [active(), passive()] {
            println!("{name}");
            let events = chunk(&mut end, 1, ppid, &hex(octets));
            assert_eq!(events, [Seen::Failed(1, cause)], "{name}");
            sends(&mut end, 1, "0001 0004");
            fails(&mut end, events, cause);
        }
    }
}

// req: SCTP-FMT-12
#[test]
fn too_much_private_data_ends_the_session_or_begins_none() {
    let long = |function: u8| [&[0, 0, 0, function][..], &[0; 513]].concat();
    let cause = Cause::Chunk(ChunkError::PrivateData { len: 513 });
    let mut end = up(Settings::default(), 4);
    let stray = [Seen::Stray(1, cause)];
    assert_eq!(chunk(&mut end, 1, 17, &long(1)), stray);
    sends(&mut end, 1, "0000 0004");
    for function in [2, 3] {
        let mut end = initiating(Settings::default());
        let events = chunk(&mut end, 1, 17, &long(function));
        assert_eq!(events, [Seen::Failed(1, cause)]);
        sends_nothing(&mut end);
        acknowledged(&mut end, 1, 1);
        sends(&mut end, 1, "0001 0004");
    }
    let most = [&[0, 0, 0, 1][..], &[7; 512]].concat();
    let mut end = up(Settings::default(), 4);
    let requested = [Seen::Requested(1, vec![7; 512])];
    assert_eq!(chunk(&mut end, 1, 17, &most), requested);
}

// req: SCTP-SES-05, AMB-37
#[test]
fn nothing_may_follow_the_peers_terminate() {
    for late in ["0003 D0", "0004 D0", "7000 D0"] {
        let mut end = passive();
        segment(&mut end, 1, 1);
        let events = [Seen::InOrder(1, 3), Seen::Terminated(1)];
        assert_eq!(control(&mut end, 1, "0002 0004"), events);
        let ssn = crate::ssn(&hex(late));
        let cause = Cause::BehindEnd { ssn, end: Ssn(2) };
        let events = chunk(&mut end, 1, 16, &hex(late));
        sends(&mut end, 1, "0001 0004");
        fails_without_reuse(&mut end, events, cause);
    }
    // Nor may it, if what comes before the Terminate is still missing.
    let mut end = passive();
    assert_eq!(control(&mut end, 1, "0002 0004"), []);
    let cause = Cause::BehindEnd {
        ssn: Ssn(3),
        end: Ssn(2),
    };
    let events = segment(&mut end, 1, 3);
    fails(&mut end, events, cause);
    // The other way round: the Terminate comes, and something behind it was here before.
    let mut end = passive();
    assert_eq!(segment(&mut end, 1, 3), [placed(1, 3)]);
    let events = control(&mut end, 1, "0002 0004");
    fails(&mut end, events, misplaced(Function::Terminate, 2));
    // Two Terminates.
    for (first, second, cause) in [
        (
            "0003 0004",
            "0004 0004",
            Cause::BehindEnd {
                ssn: Ssn(4),
                end: Ssn(3),
            },
        ),
        ("0004 0004", "0003 0004", misplaced(Function::Terminate, 3)),
    ] {
        let mut end = passive();
        assert_eq!(control(&mut end, 1, first), []);
        let events = control(&mut end, 1, second);
        fails(&mut end, events, cause);
    }
}

/// As `fails`, for a session whose peer has ended: its stream becomes free.
#[track_caller]
fn fails_without_reuse(end: &mut End, events: Vec<Seen>, cause: Cause) {
    assert_eq!(events, [Seen::Failed(1, cause)]);
    assert_eq!(acknowledged(end, 1, 1), [Seen::Free(1)]);
}

// req: SCTP-SES-05, SCTP-SES-19, AMB-38
#[test]
fn a_chunk_without_a_session_is_answered_with_terminate() {
    use Function::{Accept, Initiate, Reject};
    let before = Cause::BeforeInitiate { ssn: Ssn(1) };
    let chunk_error = Cause::Chunk(ChunkError::Function { code: 0xFFFF });
    for (ppid, octets, cause) in [
        (16, "0001 D0", before),
        (16, "0000 D0", Cause::BeforeInitiate { ssn: Ssn(0) }),
        (17, "0000 0002", misplaced(Accept, 0)),
        (17, "0000 0003", misplaced(Reject, 0)),
        (17, "0001 0001", misplaced(Initiate, 1)),
        (17, "0000 FFFF", chunk_error),
        (99, "", Cause::Chunk(ChunkError::Ppid { ppid: 99 })),
    ] {
        let mut end = up(Settings::default(), 4);
        assert_eq!(
            chunk(&mut end, 1, ppid, &hex(octets)),
            [Seen::Stray(1, cause)]
        );
        sends(&mut end, 1, "0000 0004");
        // One answer; what follows of the same session is dropped.
        assert_eq!(segment(&mut end, 1, 2), []);
        sends_nothing(&mut end);
        assert_eq!(acknowledged(&mut end, 1, 1), []);
    }
    // The Initiate that the segment has overtaken is of the session that has failed; the peer, which has
    // seen the Terminate, may begin another one.
    let mut end = up(Settings::default(), 4);
    assert_eq!(segment(&mut end, 1, 1), [Seen::Stray(1, before)]);
    sends(&mut end, 1, "0000 0004");
    assert_eq!(control(&mut end, 1, "0000 0001"), []);
    acknowledged(&mut end, 1, 1);
    let events = [Seen::Free(1), Seen::Requested(1, vec![])];
    assert_eq!(control(&mut end, 1, "0000 0001"), events);
}

// req: SCTP-SES-05
#[test]
fn a_terminate_without_a_session_is_reported_and_not_answered() {
    let mut end = up(Settings::default(), 4);
    for ssn in [0, 5] {
        let stray = Seen::Stray(1, misplaced(Function::Terminate, ssn));
        let octets = [0, ssn as u8, 0, 4];
        assert_eq!(chunk(&mut end, 1, 17, &octets), [stray]);
    }
    sends_nothing(&mut end);
    assert_eq!(end.in_use(), 0);
}

// req: AMB-37, SCTP-SES-18
#[test]
fn both_ends_initiate() {
    let mut ends = [
        initiating(Settings::default()),
        initiating(Settings::default()),
    ];
    for end in &mut ends {
        let events = control(end, 1, "0000 0001 68 69 21");
        assert_eq!(events, [Seen::Failed(1, Cause::BothInitiate)]);
        // Terminate must not overtake this end's own Initiate, which the peer's does not answer.
        sends_nothing(end);
        assert_eq!(acknowledged(end, 1, 1), []);
        sends(end, 1, "0001 0004");
    }
    for end in &mut ends {
        assert_eq!(control(end, 1, "0001 0004"), []);
        assert_eq!(acknowledged(end, 1, 1), [Seen::Free(1)]);
        assert_eq!(end.initiate(1, b"", 0), Ok(()));
    }
}

// req: SCTP-SES-05
#[test]
fn the_answer_is_the_peers_first_chunk() {
    // A segment in its place.
    let mut end = initiating(Settings::default());
    let events = segment(&mut end, 1, 0);
    assert_eq!(events, [Seen::Failed(1, Cause::FirstSegment)]);
    acknowledged(&mut end, 1, 1);
    sends(&mut end, 1, "0001 0004");
    // A Reject, or a refusal, of a session whose segments are here.
    for (octets, function) in [
        ("0000 0003", Function::Reject),
        ("0000 0004", Function::Terminate),
    ] {
        let mut end = initiating(Settings::default());
        assert_eq!(segment(&mut end, 1, 1), [placed(1, 1)]);
        let events = control(&mut end, 1, octets);
        assert_eq!(events, [Seen::Failed(1, misplaced(function, 0))]);
        sends(&mut end, 1, "0001 0004");
    }
    // An answer in the wrong place.
    for (octets, function) in [
        ("0001 0002", Function::Accept),
        ("0001 0003", Function::Reject),
    ] {
        let mut end = initiating(Settings::default());
        let events = control(&mut end, 1, octets);
        fails(&mut end, events, misplaced(function, 1));
    }
    // Something behind a Reject.
    let mut end = initiating(Settings::default());
    control(&mut end, 1, "0000 0003");
    assert_eq!(segment(&mut end, 1, 1), []);
    sends_nothing(&mut end);
}

// req: AMB-40, LLP-11
#[test]
fn repeated_numbers_are_dropped_in_silence() {
    let mut end = passive();
    // A second Initiate with the number of the first one, an Accept, and a segment.
    for octets in ["0000 0001", "0000 0002"] {
        assert_eq!(control(&mut end, 1, octets), []);
    }
    segment(&mut end, 1, 1);
    segment(&mut end, 1, 5);
    for ssn in [0, 1, 5] {
        assert_eq!(segment(&mut end, 1, ssn), []);
        assert_eq!(control(&mut end, 1, &format!("{ssn:04X} 0004")), []);
    }
    sends_nothing(&mut end);
    assert!(end.is_open(1));
    assert_eq!(control(&mut pending(), 1, "0000 0001"), []);
}

// req: SCTP-SES-05
#[test]
fn an_error_behind_the_own_terminate_is_reported_once() {
    let mut end = active();
    terminate(&mut end, 1);
    sends(&mut end, 1, "0001 0004");
    let events = control(&mut end, 1, "0001 0001");
    assert_eq!(events, [Seen::Failed(1, misplaced(Function::Initiate, 1))]);
    sends_nothing(&mut end);
    assert_eq!(segment(&mut end, 1, 1), []);
    assert_eq!(crate::poll(&mut end, 1 << 40), []);
}

// req: SCTP-SES-16, SCTP-FMT-08, AMB-35
#[test]
fn sequences_that_no_ulp_asked_for_are_illegal() {
    // The enhanced Initiate, Accept and Reject of RFC 6581 §7.
    for code in [5, 6, 7] {
        let cause = Cause::Chunk(ChunkError::Function { code });
        let mut end = up(Settings::default(), 4);
        let octets = [0, 0, 0, code as u8];
        assert_eq!(chunk(&mut end, 1, 17, &octets), [Seen::Stray(1, cause)]);
        let mut end = initiating(Settings::default());
        assert_eq!(chunk(&mut end, 1, 17, &octets), [Seen::Failed(1, cause)]);
    }
}
