//! One end dies after each octet of the exchange: the other one reports it once, in time, and stops.

use crate::{Machine, plain, written};
use warpline_wire::start::{
    Answer, Cause, Event, Failure, Frame, Initiator, Kind, Responder, Settings,
};

const REQUEST_DATA: &[u8] = b"private data of the Request";
const REPLY_DATA: &[u8] = b"of the Reply";

/// How an end dies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Death {
    /// Its process hangs, or its cable is cut.
    Silence,
    /// Its process ends, and its kernel closes the connection.
    Fin,
    /// Its machine restarts and resets the connection.
    Reset,
}

/// The octets of Request and Reply.
fn lengths() -> (usize, usize) {
    (20 + REQUEST_DATA.len(), 20 + REPLY_DATA.len())
}

/// Both ends after the first `delivered` octets of Request and Reply.
fn at(delivered: usize) -> (Initiator, Responder) {
    let settings = Settings::default();
    let mut initiator = Initiator::new(settings, None, REQUEST_DATA, 0, 0).unwrap();
    let mut responder = Responder::new(settings, 0);
    for _ in 0..delivered {
        if let Some(&octet) = initiator.output().first() {
            assert_eq!(responder.input(&[octet]), 1);
            initiator.sent(1);
        } else {
            let octet = responder.output()[0];
            assert_eq!(initiator.input(&[octet]), 1);
            responder.sent(1);
        }
        assert_eq!(initiator.poll(0), initiator.peer().map(|_| Event::Replied));
        if responder.poll(0) == Some(Event::Requested) {
            responder.accept(REPLY_DATA, &Answer::default()).unwrap();
        }
    }
    (initiator, responder)
}

/// What the survivor reports, by the time its time-out is over.
fn survives(machine: &mut impl Machine, death: Death) -> Option<Failure> {
    match death {
        Death::Silence => {}
        Death::Fin => machine.finish(),
        Death::Reset => machine.lose(),
    }
    let event = match death {
        Death::Silence => machine.poll(9_999).or_else(|| machine.poll(10_000)),
        _ => machine.poll(0),
    };
    assert_eq!(machine.poll(u64::MAX), None, "one report");
    event.map(|event| crate::failure(Some(event)))
}

/// The cause that a survivor reports that waits for a frame of which it has `have` octets.
fn expected(death: Death, kind: Kind, have: usize, total: usize) -> Cause {
    let need = if have < 20 { 20 } else { total };
    match death {
        Death::Silence => Cause::TimedOut {
            kind,
            timeout: 10_000,
        },
        Death::Fin if have == 0 => Cause::Closed,
        Death::Fin => Cause::Truncated { have, need },
        Death::Reset => Cause::Lost,
    }
}

// req: MPA-START-25, MPA-START-28, MPA-START-30, MPA-ERR-09, AMB-52
#[test]
fn the_survivor_reports_the_death_of_its_peer_at_every_octet() {
    let (request, reply) = lengths();
    for delivered in 0..=request + reply {
        for death in [Death::Silence, Death::Fin, Death::Reset] {
            let (mut initiator, mut responder) = at(delivered);
            let what = format!("{death:?} after {delivered}");

            let have = delivered.saturating_sub(request);
            let report = survives(&mut initiator, death);
            let cause = report.map(|failure| failure.cause);
            if have < reply {
                let expected = expected(death, Kind::Reply, have, reply);
                assert_eq!(cause, Some(expected), "{what}");
                assert!(initiator.is_over() && initiator.output().is_empty());
                assert!(initiator.proceed().is_err());
            } else {
                // The Reply is there, and the ULP's decision is due. A FIN is the stream's.
                let lost = (death == Death::Reset).then_some(Cause::Lost);
                assert_eq!(cause, lost, "{what}");
                assert_eq!(initiator.proceed().is_ok(), lost.is_none());
            }

            let report = survives(&mut responder, death);
            let cause = report.map(|failure| failure.cause);
            if delivered < request {
                let expected = expected(death, Kind::Request, delivered, request);
                assert_eq!(cause, Some(expected), "{what}");
                assert!(responder.is_over() && responder.output().is_empty());
            } else {
                // It has accepted: the end of the connection is the stream's.
                assert_eq!(cause, None, "{what}");
            }
        }
    }
}

#[test]
fn the_octets_counted_are_those_of_the_frames() {
    let of = |kind, private_data| {
        written(&Frame {
            private_data,
            ..plain(kind)
        })
        .len()
    };
    let frames = (of(Kind::Request, REQUEST_DATA), of(Kind::Reply, REPLY_DATA));
    assert_eq!(frames, lengths());
    let (initiator, responder) = at(frames.0 + frames.1);
    assert_eq!(initiator.peer().unwrap().private_data, REPLY_DATA);
    assert!(Machine::is_over(&responder));
}
