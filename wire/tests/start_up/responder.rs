//! The Responder against composed peers.

use crate::{R1, R2, R3, failure, plain, refuses, vector, written};
use warpline_wire::error_number::ErrorNumber;
use warpline_wire::start::{
    Answer, Cause, Closing, Event, Kind, Progress, Responder, Settings, StartError, field,
};
use warpline_wire::start::{Frame, Negotiation, Role};

fn responder() -> Responder {
    Responder::new(Settings::default(), 0)
}

/// A Responder that has this Request before it.
#[track_caller]
fn asked(settings: Settings, request: &[u8]) -> Responder {
    let mut machine = Responder::new(settings, 0);
    assert_eq!(machine.input(request), request.len());
    assert_eq!(machine.poll(0), Some(Event::Requested));
    machine
}

// req: MPA-START-24, MPA-START-26, MPA-START-14, MPA-START-15, AMB-16
#[test]
fn a_request_is_answered_with_a_reply() {
    let request = vector(R1);
    let mut machine = responder();
    for octet in request.chunks(1) {
        assert_eq!(machine.poll(9_999), None);
        assert_eq!(machine.output(), b"", "silent until it is asked");
        assert_eq!(machine.peer(), None);
        assert_eq!(machine.input(octet), 1);
    }
    assert_eq!(machine.poll(0), Some(Event::Requested));
    assert_eq!(machine.output(), b"", "silent until the ULP decides");
    assert_eq!(machine.peer().map(|frame| frame.markers), Some(true));

    let parameters = machine.accept(b"hello", &Answer::default()).unwrap();
    assert_eq!(machine.output(), vector(R2));
    assert_eq!(parameters.role, Role::Responder);
    assert!(parameters.send_markers && !parameters.receive_markers && parameters.crc);
    assert_eq!((parameters.received, parameters.sent), (20, 25));
    assert_eq!(parameters.agreement, None);
    // Sent in pieces, as TCP takes them.
    machine.sent(7);
    assert_eq!(machine.output(), &vector(R2)[7..]);
    assert!(!machine.is_over());
    assert_eq!(machine.input(b"FPDU"), 0, "stays with the caller");
    machine.sent(18);
    assert!(machine.is_over());
    assert_eq!(machine.poll(u64::MAX), None);
}

// req: MPA-START-27, AMB-30
#[test]
fn a_rejection_leaves_the_connection_to_the_ulp() {
    let mut machine = asked(Settings::default(), &vector(R1));
    machine.reject(b"", &Answer::default()).unwrap();
    assert_eq!(machine.output(), vector(R3));
    machine.sent(20);
    assert!(machine.is_over());
    assert_eq!(
        machine.input(b"streaming octets"),
        0,
        "stay with the caller"
    );
    machine.finish();
    assert_eq!(machine.poll(u64::MAX), None, "no error: TCP is the ULP's");

    // With the reason, as private data.
    let mut machine = asked(Settings::default(), &vector(R1));
    machine.reject(&[7; 512], &Answer::default()).unwrap();
    let reply = Frame {
        rejected: true,
        private_data: &[7; 512],
        ..plain(Kind::Reply)
    };
    assert_eq!(machine.output(), written(&reply));
}

// req: MPA-START-11, MPA-START-25, MPA-ERR-09
#[test]
fn every_single_bit_error_in_the_key_closes_the_connection() {
    for bit in 0..8 * 16 {
        let mut request = vector(R1);
        request[bit / 8] ^= 1 << (bit % 8);
        let failure = refuses(&responder(), &request, &format!("bit {bit}"));
        let octet = request[bit / 8];
        let wrong = StartError::Key {
            offset: bit / 8,
            octet,
        };
        assert_eq!(failure.cause, Cause::Frame(wrong));
    }
}

// req: MPA-START-08, MPA-START-24, MPA-START-25
#[test]
fn an_fpdu_in_place_of_a_request_closes_the_connection() {
    for name in ["V-MPA-1", "V-MPA-9"] {
        let fpdu = crate::common::octets(&crate::common::vectors()[name]["fpdu"]);
        let failure = refuses(&responder(), &fpdu, name);
        let (offset, octet) = (0, fpdu[0]);
        assert_eq!(
            failure.cause,
            Cause::Frame(StartError::Key { offset, octet })
        );
    }
    refuses(&responder(), &vector(R2), "a Reply");
}

// req: MPA-PRIV-07, MPA-START-25
#[test]
fn private_data_of_0_to_512_octets_is_taken_and_no_other() {
    for len in [0, 1, 511, 512] {
        let data = crate::common::pattern(3, len);
        let request = Frame {
            private_data: &data,
            ..plain(Kind::Request)
        };
        let machine = asked(Settings::default(), &written(&request));
        assert_eq!(machine.peer(), Some(request));
    }
    for len in [513, 514, 0x8000, 0xFFFF_u16] {
        let mut request = vector(R1);
        request[field::PD_LENGTH].copy_from_slice(&len.to_be_bytes());
        let failure = refuses(&responder(), &request, "too long");
        let len = len.into();
        assert_eq!(failure.cause, Cause::Frame(StartError::PrivateData { len }));
    }
}

// req: MPA-PRIV-07, MPA-START-25, MPA-ERR-01, MPA-ERR-09, MPA-ERR-10
#[test]
fn a_fin_within_the_request_is_error_4_and_before_it_error_1() {
    let request = written(&Frame {
        private_data: &[9; 40],
        ..plain(Kind::Request)
    });
    for have in 0..request.len() {
        let mut machine = responder();
        machine.input(&request[..have]);
        machine.finish();
        // Both are the same kind of event to the ULP; only the number differs.
        let failure = failure(machine.poll(0));
        assert_eq!(failure.closing, Closing::AtOnce);
        let need = if have < 20 { 20 } else { 60 };
        let (cause, number) = match have {
            0 => (Cause::Closed, ErrorNumber::MpaConnection),
            _ => (Cause::Truncated { have, need }, ErrorNumber::MpaStart),
        };
        assert_eq!((failure.cause, failure.cause.number()), (cause, number));
    }
}

// req: MPA-ERR-10
#[test]
fn the_end_of_the_connection_is_error_1_while_the_ulp_decides() {
    type End = fn(&mut Responder);
    let ends: [(End, Cause); 2] = [
        (Responder::finish, Cause::Closed),
        (Responder::lose, Cause::Lost),
    ];
    for (end, cause) in ends {
        let mut machine = asked(Settings::default(), &vector(R1));
        end(&mut machine);
        let failure = failure(machine.poll(0));
        assert_eq!(failure.cause, cause);
        assert_eq!(failure.cause.number(), ErrorNumber::MpaConnection);
        assert!(machine.accept(b"", &Answer::default()).is_err());
        assert_eq!(machine.output(), b"");
    }
}

// req: MPA-START-30, AMB-52
#[test]
fn a_silent_or_slow_peer_is_closed_after_the_time_out() {
    let request = vector(R1);
    for arrived in 0..request.len() {
        let mut machine = Responder::new(Settings::default(), 500);
        for (at, octet) in request[..arrived].chunks(1).enumerate() {
            machine.input(octet);
            assert_eq!(machine.poll(500 + at as u64), None);
        }
        assert_eq!(machine.deadline(), Some(10_500));
        assert_eq!(machine.poll(10_499), None);
        let failure = failure(machine.poll(10_500));
        let timed_out = Cause::TimedOut {
            kind: Kind::Request,
            timeout: 10_000,
        };
        assert_eq!(failure.cause, timed_out);
        assert_eq!(failure.cause.number(), ErrorNumber::MpaConnection);
        assert_eq!(failure.closing, Closing::AtOnce);
        assert_eq!(machine.deadline(), None);
        assert_eq!(machine.input(&request[arrived..]), 0);
    }
}

// req: MPA-START-30, AMB-52
#[test]
fn both_time_outs_of_the_responder_are_settings() {
    let mut settings = Settings::default();
    settings.timeouts.responder_wait = 70;
    settings.timeouts.start_frames = 30;
    assert_eq!(Responder::new(settings, 5).deadline(), Some(75));

    // The Request arrives late, but in time; then the ULP has its own time.
    let mut machine = Responder::new(settings, 5);
    machine.input(&vector(R1));
    assert_eq!(machine.poll(74), Some(Event::Requested));
    assert_eq!(machine.deadline(), Some(104));
    assert_eq!(machine.poll(103), None);
    let mut late = machine.clone();
    let failure = failure(late.poll(104));
    assert_eq!(failure.cause, Cause::Undecided { timeout: 30 });
    assert!(late.accept(b"", &Answer::default()).is_err());
    assert_eq!(late.output(), b"");

    machine.accept(b"", &Answer::default()).unwrap();
    assert_eq!(machine.deadline(), None);
    assert_eq!(machine.poll(u64::MAX), None);
}

// req: AMB-28
#[test]
fn octets_behind_the_request_are_an_error_before_the_answer() {
    let request = vector(R1);
    let together = [&request[..], b"x"].concat();
    let failure = refuses(&responder(), &together, "in one piece or many");
    assert_eq!(failure.cause, Cause::EarlyOctets);

    // Behind an answer, they belong to full operation: the same octets, and none is lost.
    let mut machine = asked(Settings::default(), &request);
    assert_eq!(machine.input(b""), 0);
    assert_eq!(machine.poll(0), None);
    machine.accept(b"", &Answer::default()).unwrap();
    assert_eq!(machine.input(b"x"), 0);
    assert_eq!(machine.poll(0), None);
}

// req: MPA-START-31, AMB-25
#[test]
fn an_rdma_consortium_peer_is_answered_with_revision_1_and_closed_gracefully() {
    let mut request = vector(R1);
    request[field::REVISION] = 0;
    let mut machine = responder();
    machine.input(&request);
    let failure = failure(machine.poll(0));
    let revision = StartError::Revision { revision: 0 };
    assert_eq!(failure.cause, Cause::Frame(revision));
    assert_eq!(failure.cause.number(), ErrorNumber::MpaStart);
    assert_eq!(failure.closing, Closing::AfterOutput);
    let reply = Frame {
        rejected: true,
        ..plain(Kind::Reply)
    };
    assert_eq!(machine.output(), written(&reply));
    assert!(!machine.is_over());
    machine.sent(20);
    assert!(machine.is_over());
    assert!(machine.accept(b"", &Answer::default()).is_err());
}

// req: MPA-START-31, MPA-START-33, MPA-START-35, AMB-25
#[test]
fn revisions_1_and_2_are_accepted_and_reported_and_later_ones_closed() {
    for revision in 1..=2 {
        let request = Frame {
            revision,
            ..plain(Kind::Request)
        };
        let mut machine = asked(Settings::default(), &written(&request));
        let parameters = machine.accept(b"", &Answer::default()).unwrap();
        assert_eq!(
            (parameters.revision, parameters.ddp_version()),
            (revision, 1)
        );
        // An unenhanced Request has an unenhanced Reply (RFC 6581 §10).
        let reply = Frame {
            revision,
            ..plain(Kind::Reply)
        };
        assert_eq!(machine.output(), written(&reply));
    }
    for revision in 3..=255 {
        let mut request = vector(R1);
        request[field::REVISION] = revision;
        let failure = refuses(&responder(), &request, "later revision");
        assert_eq!(
            failure.cause,
            Cause::Frame(StartError::Revision { revision })
        );
    }
}

// req: MPA-START-35
#[test]
fn without_rfc_6581_a_request_of_revision_2_is_malformed() {
    let settings = Settings {
        enhanced: false,
        ..Settings::default()
    };
    let enhanced = Frame {
        revision: 2,
        negotiation: Some(Negotiation::default()),
        ..plain(Kind::Request)
    };
    let failure = refuses(&Responder::new(settings, 0), &written(&enhanced), "rev 2");
    assert_eq!(
        failure.cause,
        Cause::Frame(StartError::Revision { revision: 2 })
    );
    asked(settings, &vector(R1));
}

// req: MPA-START-16, MPA-START-32
#[test]
fn meaningless_bits_of_a_request_change_nothing() {
    let mut request = vector(R1);
    request[field::FLAGS] |= 0x3F; // R; S and Res in revision 1
    let mut machine = asked(Settings::default(), &request);
    machine.accept(b"hello", &Answer::default()).unwrap();
    assert_eq!(machine.output(), vector(R2));
}

// req: MPA-START-21, MPA-START-04
#[test]
fn the_last_streaming_message_goes_out_first_and_the_request_behind_it_is_not_lost() {
    let (message, request) = (b"go to MPA", vector(R1));
    let settings = Settings::default();
    let mut machine = Responder::after_message(settings, message, 0, 0).unwrap();
    assert_eq!(machine.output(), message);
    machine.sent(4);
    assert_eq!(machine.output(), &message[4..]);
    // The peer has the message before the machine learns that TCP took its end.
    assert_eq!(machine.input(&request), 0, "stays with the caller");
    assert_eq!(machine.poll(0), None);
    machine.sent(5);
    assert_eq!(machine.output(), b"");
    assert_eq!(machine.input(&request), request.len());
    assert_eq!(machine.poll(0), Some(Event::Requested));
    let parameters = machine.accept(b"hello", &Answer::default()).unwrap();
    assert_eq!(machine.output(), vector(R2));
    // Stream positions count from behind both.
    assert_eq!((parameters.sent, parameters.received), (9 + 25, 20));

    // An empty message is none, and the machine waits at once.
    let mut machine = Responder::after_message(settings, b"", 0, 0).unwrap();
    assert_eq!(machine.input(&request), request.len());
}

#[test]
fn the_reply_parses_whatever_the_ulp_gives() {
    for len in [0, 1, 508, 512] {
        let data = crate::common::pattern(5, len);
        let mut machine = asked(Settings::default(), &vector(R1));
        machine.accept(&data, &Answer::default()).unwrap();
        let octets = machine.output();
        let Ok(Progress::Complete { frame, len }) = Frame::parse(octets, Kind::Reply) else {
            panic!("{octets:02x?}");
        };
        assert_eq!((frame.private_data, len), (&data[..], octets.len()));
    }
}
