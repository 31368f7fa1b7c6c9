//! The Initiator against composed peers.

use crate::common::pattern;
use crate::{R1, R2, R3, R4, failure, plain, refuses, vector, waiting_initiator, written};
use warpline_wire::error_number::ErrorNumber;
use warpline_wire::start::{
    Cause, Closing, Depth, Enhanced, Event, Frame, Initiator, Kind, Negotiation, Role, Rtr,
    Settings, StartError, field,
};

/// An Initiator that has this Reply before it.
#[track_caller]
fn answered(reply: &[u8]) -> Initiator {
    let mut machine = waiting_initiator(Settings::default());
    assert_eq!(machine.input(reply), reply.len());
    assert_eq!(machine.poll(0), Some(Event::Replied));
    machine
}

// req: MPA-START-03, MPA-START-23, MPA-START-36, MPA-CRC-26
#[test]
fn the_request_is_the_first_that_is_sent() {
    let markers = Settings {
        markers: true,
        ..Settings::default()
    };
    let machine = Initiator::new(markers, None, b"", 0, 0).unwrap();
    assert_eq!(machine.output(), vector(R1));

    let settings = Settings {
        max_ird: 16,
        ..Settings::default()
    };
    let enhanced = Enhanced {
        ird: Depth::Negotiated(16),
        ord: Depth::Negotiated(8),
        rtr: Some(Rtr::WRITE),
    };
    let machine = Initiator::new(settings, Some(enhanced), b"", 0, 0).unwrap();
    assert_eq!(machine.output(), vector(R4));

    for len in [1, 512] {
        let data = pattern(1, len);
        let machine = Initiator::new(Settings::default(), None, &data, 0, 0).unwrap();
        let request = Frame {
            private_data: &data,
            ..plain(Kind::Request)
        };
        assert_eq!(machine.output(), written(&request));
    }
}

// req: MPA-START-09, MPA-START-28, MPA-START-14, MPA-START-33
#[test]
fn a_good_reply_leads_to_full_operation() {
    let mut machine = Initiator::new(Settings::default(), None, b"", 0, 0).unwrap();
    let reply = vector(R2);
    assert_eq!(machine.input(&reply), 0, "not before the Request is sent");
    machine.sent(19);
    assert_eq!(machine.output().len(), 1);
    assert_eq!(machine.input(&reply), 0);
    machine.sent(1);
    for octet in reply.chunks(1) {
        assert_eq!(machine.poll(0), None);
        assert!(machine.proceed().is_err(), "nothing to send FPDUs with yet");
        assert_eq!(machine.peer(), None);
        assert_eq!(machine.input(octet), 1);
    }
    assert_eq!(machine.poll(0), Some(Event::Replied));
    let private_data = machine.peer().map(|reply| reply.private_data.to_vec());
    assert_eq!(private_data.as_deref(), Some(&b"hello"[..]));
    assert_eq!(machine.deadline(), None);
    let parameters = machine.proceed().unwrap();
    assert_eq!(parameters.role, Role::Initiator);
    assert_eq!((parameters.revision, parameters.ddp_version()), (1, 1));
    assert!(!parameters.send_markers && !parameters.receive_markers && parameters.crc);
    assert_eq!((parameters.sent, parameters.received), (20, 25));
    assert!(machine.is_over());
    assert_eq!(machine.input(b"FPDU"), 0, "stays with the caller");
    assert_eq!(machine.output(), b"");
    assert_eq!(machine.poll(u64::MAX), None);
}

// req: MPA-START-28, AMB-30
#[test]
fn a_rejection_leaves_the_connection_and_all_octets_behind_it_to_the_ulp() {
    let reply = vector(R3);
    let together = [&reply[..], b"streaming octets"].concat();
    for size in [together.len(), 1] {
        let mut machine = waiting_initiator(Settings::default());
        let taken: usize = together
            .chunks(size)
            .map(|piece| machine.input(piece))
            .sum();
        assert_eq!(taken, reply.len());
        assert_eq!(machine.poll(0), Some(Event::Rejected));
        assert!(machine.is_over());
        machine.finish();
        machine.lose();
        assert_eq!(machine.poll(u64::MAX), None, "no error: TCP is the ULP's");
        assert!(machine.proceed().is_err());
    }
    // The reason is the ULP's to read, with a block and without one.
    let negotiation = Negotiation {
        ord: 3,
        ..Negotiation::default()
    };
    for (revision, negotiation) in [(1, None), (2, Some(negotiation))] {
        let reply = Frame {
            rejected: true,
            revision,
            negotiation,
            private_data: b"no",
            ..plain(Kind::Reply)
        };
        let mut machine = waiting_initiator(Settings::default());
        machine.input(&written(&reply));
        assert_eq!(machine.poll(0), Some(Event::Rejected));
        assert_eq!(machine.peer(), Some(reply));
    }
}

// req: MPA-START-28, MPA-PRIV-10
#[test]
fn the_ulp_may_refuse_the_reply_once_it_has_seen_the_private_data() {
    let mut machine = answered(&vector(R2));
    assert_eq!(machine.peer().unwrap().private_data, b"hello");
    machine.refuse().unwrap();
    assert!(machine.is_over());
    assert!(machine.proceed().is_err(), "no way into full operation");
    assert_eq!(machine.output(), b"");
    assert_eq!(machine.input(b"streaming octets"), 0);
    assert_eq!(machine.poll(u64::MAX), None, "no error: TCP is the ULP's");
}

// req: MPA-START-11, MPA-START-28, MPA-ERR-09
#[test]
fn every_single_bit_error_in_the_key_closes_the_connection() {
    for bit in 0..8 * 16 {
        let mut reply = vector(R2);
        reply[bit / 8] ^= 1 << (bit % 8);
        let machine = waiting_initiator(Settings::default());
        let failure = refuses(&machine, &reply, &format!("bit {bit}"));
        let octet = reply[bit / 8];
        let wrong = match (bit / 8, octet) {
            (9, b'q') => Cause::TwoInitiators,
            (offset, octet) => Cause::Frame(StartError::Key { offset, octet }),
        };
        assert_eq!(failure.cause, wrong);
    }
}

// req: MPA-START-31, MPA-START-28, MPA-PRIV-07, AMB-25
#[test]
fn replies_of_other_revisions_and_with_too_much_private_data_close_the_connection() {
    for revision in (0..=255).filter(|revision| !(1..=2).contains(revision)) {
        let mut reply = vector(R2);
        reply[field::REVISION] = revision;
        let machine = waiting_initiator(Settings::default());
        let failure = refuses(&machine, &reply, "revision");
        let wrong = StartError::Revision { revision };
        assert_eq!(failure.cause, Cause::Frame(wrong));
    }
    for len in [513_u16, 0xFFFF] {
        let mut reply = vector(R2);
        reply[field::PD_LENGTH].copy_from_slice(&len.to_be_bytes());
        refuses(&waiting_initiator(Settings::default()), &reply, "length");
    }
    let data = pattern(2, 512);
    let longest = Frame {
        private_data: &data,
        ..plain(Kind::Reply)
    };
    let machine = answered(&written(&longest));
    assert_eq!(machine.peer(), Some(longest));
}

// req: MPA-START-31
#[test]
fn the_lower_revision_counts() {
    let reply = Frame {
        revision: 2,
        ..plain(Kind::Reply)
    };
    let mut machine = answered(&written(&reply));
    assert_eq!(machine.proceed().unwrap().revision, 1);
}

// req: MPA-START-29
#[test]
fn two_initiators_close_the_connection_on_each_other() {
    for data in [&b""[..], b"private"] {
        let mut ends = [(); 2].map(|()| {
            let settings = Settings::default();
            Initiator::new(settings, None, data, 0, 0).unwrap()
        });
        let requests = ends.each_ref().map(|end| end.output().to_vec());
        for (end, request) in ends.iter_mut().zip(&requests) {
            assert_eq!(end.input(request), 0, "our Request first");
            end.sent(request.len());
            let failure = refuses(end, request, "a Request");
            assert_eq!(failure.cause, Cause::TwoInitiators);
        }
    }
}

// req: MPA-START-30, AMB-52
#[test]
fn a_silent_or_slow_responder_is_closed_after_the_time_out() {
    let reply = vector(R2);
    let timed_out = |timeout| Cause::TimedOut {
        kind: Kind::Reply,
        timeout,
    };
    for arrived in 0..reply.len() {
        let mut machine = waiting_initiator(Settings::default());
        for (at, octet) in reply[..arrived].chunks(1).enumerate() {
            machine.input(octet);
            assert_eq!(machine.poll(at as u64), None);
        }
        assert_eq!(machine.deadline(), Some(10_000));
        assert_eq!(machine.poll(9_999), None);
        let failure = failure(machine.poll(10_000));
        assert_eq!(failure.cause, timed_out(10_000));
        assert_eq!(failure.cause.number(), ErrorNumber::MpaConnection);
        assert_eq!(machine.input(&reply[arrived..]), 0);
    }
    // The time of the set of frames: it runs while TCP does not take the Request.
    let mut settings = Settings::default();
    settings.timeouts.start_frames = 40;
    let mut machine = Initiator::new(settings, None, b"", 0, 3).unwrap();
    assert_eq!(machine.deadline(), Some(43));
    assert_eq!(machine.poll(42), None);
    assert_eq!(failure(machine.poll(43)).cause, timed_out(40));
    assert_eq!(machine.output(), b"", "nothing more is sent");
}

// req: AMB-28
#[test]
fn octets_behind_the_reply_are_an_error_before_our_first_fpdu() {
    let together = [&vector(R2)[..], b"x"].concat();
    let machine = waiting_initiator(Settings::default());
    let failure = refuses(&machine, &together, "in one piece or many");
    assert_eq!(failure.cause, Cause::EarlyOctets);

    let mut machine = answered(&vector(R2));
    assert_eq!(machine.input(b""), 0);
    assert_eq!(machine.poll(0), None);
    assert_eq!(machine.input(b"x"), 0);
    assert_eq!(crate::failure(machine.poll(0)).cause, Cause::EarlyOctets);
    assert!(machine.proceed().is_err());
}

// req: MPA-PRIV-07, MPA-START-28, MPA-ERR-09, MPA-ERR-10
#[test]
fn a_fin_within_the_reply_is_error_4_and_before_it_error_1() {
    let reply = vector(R2);
    for have in 0..reply.len() {
        let mut machine = waiting_initiator(Settings::default());
        machine.input(&reply[..have]);
        machine.finish();
        let failure = failure(machine.poll(0));
        assert_eq!(failure.closing, Closing::AtOnce);
        let need = if have < 20 { 20 } else { 25 };
        let (cause, number) = match have {
            0 => (Cause::Closed, ErrorNumber::MpaConnection),
            _ => (Cause::Truncated { have, need }, ErrorNumber::MpaStart),
        };
        assert_eq!((failure.cause, failure.cause.number()), (cause, number));
        assert_eq!(machine.peer(), None);
    }
    // Behind the Reply it is the stream's, and the ULP may still send.
    let mut machine = answered(&vector(R2));
    machine.finish();
    assert_eq!(machine.poll(0), None);
    machine.proceed().unwrap();
}

// req: MPA-ERR-10
#[test]
fn a_lost_connection_is_error_1() {
    let sending = Initiator::new(Settings::default(), None, b"", 0, 0).unwrap();
    let waiting = waiting_initiator(Settings::default());
    let deciding = answered(&vector(R2));
    for mut machine in [sending, waiting, deciding] {
        machine.lose();
        let failure = failure(machine.poll(0));
        assert_eq!(failure.cause, Cause::Lost);
        assert_eq!(failure.cause.number(), ErrorNumber::MpaConnection);
        assert_eq!(failure.closing, Closing::AtOnce);
        assert_eq!(machine.output(), b"");
        assert!(machine.is_over() && machine.proceed().is_err());
    }
}

#[test]
fn an_initiator_that_gives_up_closes_without_a_terminate_in_revision_1() {
    let mut machine = answered(&vector(R2));
    machine.abandon().unwrap();
    let failure = failure(machine.poll(0));
    assert_eq!(failure.cause, Cause::Local);
    assert_eq!(failure.cause.number(), ErrorNumber::MpaLocalCatastrophic);
    assert_eq!(failure.closing, Closing::AtOnce);
    assert!(machine.abandon().is_err());
}
