//! Set-up, streams, and the end of an association.

use crate::{
    Log, PATH, Seen, acknowledged, active, chunk, control, hex, new, passive, peer, pending,
    placed, segment, send, sends, sends_nothing, terminate, up,
};
use warpline_wire::sctp::{
    Association, CallError, Cause, Ending, Indication, Peer, Receipt, Received, Refusal, SendError,
    Settings, Stream, WindowError,
};

// req: SCTP-INIT-01, SCTP-INIT-08, SCTP-INIT-09, SCTP-FMT-02
#[test]
fn init_and_init_ack_contain_the_indication_that_the_endpoint_was_given() {
    let end = new(Settings::default(), 4);
    assert_eq!(end.indication().emit(), hex("C006 0008 0000 0001")[..]);
    let indication = Indication(0x0505);
    let other = Settings {
        indication,
        ..Settings::default()
    };
    let mut end = new(other, 4);
    assert_eq!(end.indication().emit(), hex("C006 0008 0000 0505")[..]);
    // An endpoint of another protocol carries no DDP, whatever the peer says.
    for theirs in [indication, Indication::DDP] {
        let peer = Peer {
            indication: Some(theirs),
            ..peer(4)
        };
        let refusal = end.established(&peer, &mut Log::default());
        assert_eq!(refusal, Err(Refusal::NotOurs { indication }));
        assert!(!end.is_up());
    }
}

// req: SCTP-INIT-02, SCTP-INIT-03, SCTP-INIT-04, SCTP-INIT-05, SCTP-INIT-07, SCTP-INIT-10
#[test]
fn without_ddps_indication_nothing_of_ddp_is_done() {
    let refused = [
        (None, Refusal::NoIndication),
        (
            Some(Indication(2)),
            Refusal::OtherIndication {
                indication: Indication(2),
            },
        ),
        (
            Some(Indication(0x0100_0000)),
            Refusal::OtherIndication {
                indication: Indication(0x0100_0000),
            },
        ),
    ];
    for (indication, refusal) in refused {
        let mut end = new(Settings::default(), 4);
        let peer = Peer {
            indication,
            ..peer(4)
        };
        let mut log = Log::default();
        assert_eq!(end.established(&peer, &mut log), Err(refusal));
        assert!(!end.is_up());
        assert_eq!(end.initiate(0, b"", 0), Err(CallError::NotUp));
        assert_eq!(send(&mut end, 0), Err(SendError::NotUp));
        assert_eq!(control(&mut end, 0, "0000 0001"), []);
        assert_eq!(segment(&mut end, 0, 1), []);
        end.all_acknowledged(&mut log);
        end.path_changed(PATH, &mut log);
        assert_eq!(log.take(), []);
        sends_nothing(&mut end);
    }
    let mut end = up(Settings::default(), 4);
    assert_eq!(
        control(&mut end, 0, "0000 0001"),
        [Seen::Requested(0, vec![])]
    );
}

// req: SCTP-INIT-17, SCTP-INIT-18, SCTP-SES-01
#[test]
fn both_directions_have_the_same_streams() {
    let mut log = Log::default();
    for (own, outbound, inbound, pairs) in [(8, 8, 8, 8), (8, 3, 9, 3), (8, 9, 5, 5), (2, 9, 9, 2)]
    {
        let mut end = new(Settings::default(), own);
        assert_eq!(end.requested_streams(), own);
        let peer = Peer {
            outbound,
            inbound,
            ..peer(1)
        };
        assert_eq!(end.established(&peer, &mut log), Ok(pairs));
        log.take();
        assert_eq!(end.initiate(pairs - 1, b"", 0), Ok(()));
        let (stream, streams) = (pairs, pairs);
        let refused = Err(CallError::Stream { stream, streams });
        assert_eq!(end.initiate(pairs, b"", 0), refused);
        // What arrives without a pair cannot be answered.
        let stray = [Seen::Stray(pairs, Cause::Unpaired { stream, streams })];
        assert_eq!(control(&mut end, pairs, "0000 0001"), stray);
        sends(&mut end, pairs - 1, "0000 0001");
        sends_nothing(&mut end);
    }
    for (own, outbound, inbound) in [(4, 0, 4), (4, 4, 0), (0, 4, 4)] {
        let mut end = new(Settings::default(), own);
        let peer = Peer {
            outbound,
            inbound,
            ..peer(1)
        };
        let refusal = Refusal::NoStreams {
            outbound,
            inbound,
            own,
        };
        assert_eq!(end.established(&peer, &mut log), Err(refusal));
        assert!(!end.is_up());
    }
}

// req: SCTP-SES-01
#[test]
fn streams_have_sessions_of_their_own() {
    let mut end = up(Settings::default(), 4);
    for stream in 0..4 {
        assert_eq!(control(&mut end, stream, "0000 0001").len(), 1);
        end.accept(stream, b"").unwrap();
    }
    for stream in 0..4 {
        sends(&mut end, stream, "0000 0002");
    }
    for ssn in [2, 1] {
        for stream in 0..4 {
            assert_eq!(segment(&mut end, stream, ssn)[0], placed(stream, ssn));
        }
    }
    for stream in 0..4 {
        assert_eq!(send(&mut end, stream), Ok(hex("0001 D0")));
    }
}

// req: SCTP-LIM-09, SCTP-LIM-10
#[test]
fn each_session_learns_of_the_associations_end_and_sends_nothing() {
    for ending in [
        Ending::Lost,
        Ending::Aborted,
        Ending::ShutDown,
        Ending::Restarted,
    ] {
        let mut end = up(Settings::default(), 6);
        // 0 waits for the answer, 1 for the decision, 2 is open, 3 was terminated, 4 has failed.
        end.initiate(0, b"", 0).unwrap();
        for stream in 1..5 {
            control(&mut end, stream, "0000 0001");
        }
        for stream in 2..5 {
            end.accept(stream, b"").unwrap();
        }
        terminate(&mut end, 3);
        assert_eq!(control(&mut end, 4, "0001 0001").len(), 1);
        assert_eq!(end.in_use(), 5);

        let mut log = Log::default();
        end.end(ending, &mut log);
        // The failed one was reported before.
        let lost = [0, 1, 2, 3].map(|stream| Seen::Lost(stream, ending));
        assert_eq!(log.take(), lost);
        assert!(!end.is_up());
        sends_nothing(&mut end);
        assert_eq!(end.deadline(), None);
        assert_eq!(crate::poll(&mut end, 1 << 40), []);
        end.end(ending, &mut log);
        assert_eq!(log.take(), [], "once");
        assert_eq!(end.in_use(), 0);
        assert_eq!(end.initiate(0, b"", 0), Err(CallError::NotUp));
    }
}

// req: SCTP-INIT-02, SCTP-SES-22
#[test]
fn a_restarted_association_begins_again() {
    let mut end = passive();
    let mut log = Log::default();
    assert_eq!(end.established(&peer(4), &mut log), Err(Refusal::NotDue));
    assert!(end.is_open(1));
    send(&mut end, 1).unwrap();
    end.end(Ending::Restarted, &mut log);
    assert_eq!(log.take(), [Seen::Lost(1, Ending::Restarted)]);
    // Until the peer's indication is inspected anew, its chunks are nothing.
    assert_eq!(control(&mut end, 1, "0000 0001"), []);
    let no_ddp = Peer {
        indication: None,
        ..peer(4)
    };
    assert_eq!(
        end.established(&no_ddp, &mut log),
        Err(Refusal::NoIndication)
    );
    assert_eq!(end.established(&peer(2), &mut log), Ok(2));
    assert_eq!(log.take(), [Seen::MaxSegment(1434)]);
    assert_eq!(
        control(&mut end, 1, "0000 0001"),
        [Seen::Requested(1, vec![])]
    );
    end.accept(1, b"").unwrap();
    sends(&mut end, 1, "0000 0002");
    // What was unacknowledged before counts no more.
    terminate(&mut end, 1);
    sends_nothing(&mut end);
    assert_eq!(acknowledged(&mut end, 1, 1), []);
    sends(&mut end, 1, "0001 0004");
}

// req: SCTP-LIM-12, LLP-10
#[test]
fn the_end_of_a_session_leaves_the_association_and_its_other_streams() {
    let mut end = active();
    assert_eq!(
        control(&mut end, 2, "0000 0001"),
        [Seen::Requested(2, vec![])]
    );
    end.accept(2, b"").unwrap();
    sends(&mut end, 2, "0000 0002");
    terminate(&mut end, 1);
    sends(&mut end, 1, "0001 0004");
    control(&mut end, 1, "0001 0004");
    assert_eq!(acknowledged(&mut end, 1, 1), [Seen::Free(1)]);
    assert!(end.is_up());
    assert_eq!(end.in_use(), 1);
    assert_eq!(segment(&mut end, 2, 1), [placed(2, 1), Seen::InOrder(2, 2)]);
    assert_eq!(send(&mut end, 2), Ok(hex("0001 D0")));
    // The last session: the association may be shut down.
    terminate(&mut end, 2);
    let mut log = Log::default();
    end.all_acknowledged(&mut log);
    sends(&mut end, 2, "0002 0004");
    control(&mut end, 2, "0002 0004");
    end.all_acknowledged(&mut log);
    assert_eq!(log.take(), [Seen::Free(2)]);
    assert_eq!(end.in_use(), 0);
}

// req: SCTP-LIM-11
#[test]
fn behind_the_peers_terminate_this_end_still_sends() {
    for mut end in [active(), passive()] {
        control(&mut end, 1, "0001 0004");
        assert!(end.is_open(1));
        assert_eq!(send(&mut end, 1), Ok(hex("0001 D0")));
        terminate(&mut end, 1);
        assert_eq!(end.deadline(), None, "nothing is awaited");
        sends(&mut end, 1, "0002 0004");
        assert_eq!(acknowledged(&mut end, 1, 2), [Seen::Free(1)]);
    }
}

// req: SCTP-SSN-05
#[test]
fn only_the_ddp_ssn_orders() {
    // The order of arrival, which is that of TSNs here, and the flag for ordered delivery say nothing:
    // neither reaches the machine.
    let mut end = passive();
    let mut log = Log::default();
    for (ssn, octet) in [(3, 0x33), (1, 0x11), (2, 0x22)] {
        let user_data = [0, ssn, octet];
        let received = Received {
            stream: 1,
            ppid: 16,
            user_data: &user_data,
        };
        assert_eq!(end.receive(&received, 0, &mut log), Receipt::Taken);
    }
    let expected = [
        Seen::Segment(1, 3, vec![0x33]),
        Seen::Segment(1, 1, vec![0x11]),
        Seen::InOrder(1, 2),
        Seen::Segment(1, 2, vec![0x22]),
        Seen::InOrder(1, 4),
    ];
    assert_eq!(log.take(), expected);
}

// req: AMB-34, SCTP-SSN-11, SCTP-SSN-12
#[test]
fn the_window_is_a_setting() {
    let settings = |window| Settings {
        window,
        ..Settings::default()
    };
    let streams = || vec![Stream::<1>::default(); 2];
    let error = |window, max| Err(WindowError { window, max });
    let made = |window| Association::new(settings(window), streams()).map(|_| ());
    assert_eq!(made(0), error(0, 32));
    assert_eq!(made(33), error(33, 32));
    assert_eq!(made(32), Ok(()));

    let mut end = crate::up(settings(4), 2);
    control(&mut end, 1, "0000 0001");
    end.accept(1, b"").unwrap();
    assert_eq!(segment(&mut end, 1, 4), [placed(1, 4)]);
    let failed = segment(&mut end, 1, 5);
    assert!(
        matches!(failed[..], [Seen::Failed(1, Cause::Ssn(_))]),
        "{failed:?}"
    );
}

// req: SCTP-SES-14
#[test]
fn a_lost_association_forgets_what_waits() {
    let mut end = pending();
    for _ in 0..40 {
        end.end(Ending::Restarted, &mut Log::default());
        end.established(&peer(4), &mut Log::default()).unwrap();
        // 16 may wait, and never more than one does.
        let requested = [Seen::Requested(1, vec![])];
        assert_eq!(chunk(&mut end, 1, 17, &hex("0000 0001")), requested);
    }
}
