//! Sessions between two cards: answers, ends, and peers that do not speak DDP.

use std::time::{Duration, Instant};

use warpline_sim::{
    AssociationEnd, AssociationError, AssociationEvent, AssociationHandle, AssociationOptions,
    Associations, Card,
};
use warpline_usrsctp::{Event, Options, Udp};
use warpline_wire::sctp::{Ending, Indication, Refusal, Settings};

use crate::bench::{PATIENCE, PORT, event, options, set_up};
use crate::stand_in;

/// An end, on a card that is none: sessions do not touch it before they are attached.
struct End {
    associations: Associations,
    card: Card,
}

impl End {
    fn open(options: AssociationOptions) -> Self {
        let card = stand_in::card(0);
        let associations = Associations::open(&card, options).unwrap();
        Self { associations, card }
    }

    #[track_caller]
    fn event<T>(&self, wanted: impl FnMut(AssociationHandle, &AssociationEvent) -> Option<T>) -> T {
        event(&self.associations, wanted)
    }
}

/// Two ends with an association.
fn pair(bench: &End) -> (Associations, AssociationHandle, AssociationHandle) {
    let other = Associations::open(&bench.card, options()).unwrap();
    other.listen(PORT).unwrap();
    let here = bench
        .associations
        .connect(other.address().unwrap(), PORT)
        .unwrap();
    let up = |event: &AssociationEvent| matches!(event, AssociationEvent::Up { .. });
    bench.event(|_, event| up(event).then_some(()));
    let there = wait(&other, up).0;
    (other, here, there)
}

/// Waits for an event, whatever comes in front of it.
#[track_caller]
fn wait(
    associations: &Associations,
    wanted: impl Fn(&AssociationEvent) -> bool,
) -> (AssociationHandle, AssociationEvent) {
    loop {
        let found = associations.wait_event(PATIENCE).expect("an event");
        if wanted(&found.1) {
            return found;
        }
    }
}

// req: SCTP-SES-10, SCTP-SES-24, SCTP-FMT-12, SCTP-FMT-14, SCTP-FMT-15
#[test]
fn a_session_is_rejected_and_its_streams_are_used_again() {
    let bench = End::open(options());
    let (other, here, there) = pair(&bench);
    for round in 0..3_u8 {
        let data = [round; 512];
        bench.associations.initiate(here, 5, &data).unwrap();
        let requested = wait(&other, |event| {
            matches!(event, AssociationEvent::Requested(..))
        });
        assert_eq!(
            requested,
            (there, AssociationEvent::Requested(5, data.to_vec()))
        );
        other.reject(there, 5, &[9, round]).unwrap();
        let rejected = |_, event: &AssociationEvent| match event {
            AssociationEvent::Rejected(5, data) => Some(data.clone()),
            _ => None,
        };
        assert_eq!(bench.event(rejected), [9, round]);
        bench.event(|_, event| matches!(event, AssociationEvent::Free(5)).then_some(()));
        wait(&other, |event| matches!(event, AssociationEvent::Free(5)));
    }
    let long = bench.associations.initiate(here, 5, &[0; 513]);
    assert!(matches!(long, Err(AssociationError::Call(_))), "{long:?}");
}

// req: SCTP-SES-07, SCTP-LIM-11
#[test]
fn an_accepted_session_is_ended_by_one_side_after_the_other() {
    let bench = End::open(options());
    let (other, here, there) = pair(&bench);
    asks(&bench, here, &other);
    other.accept(there, 0, b"yes").unwrap();
    let accepted = |_, event: &AssociationEvent| match event {
        AssociationEvent::Accepted(0, data) => Some(data.clone()),
        _ => None,
    };
    assert_eq!(bench.event(accepted), b"yes");
    bench.associations.terminate(here, 0).unwrap();
    wait(&other, |event| {
        matches!(event, AssociationEvent::Terminated(0))
    });
    other.terminate(there, 0).unwrap();
    bench.event(|_, event| matches!(event, AssociationEvent::Free(0)).then_some(()));
    wait(&other, |event| matches!(event, AssociationEvent::Free(0)));
    // With no session left, the association ends in order.
    bench.associations.shutdown(here).unwrap();
    let ended = |event: &AssociationEvent| matches!(event, AssociationEvent::Ended(_));
    let expected =
        AssociationEvent::Ended(AssociationEnd::Sctp(warpline_usrsctp::Ending::ShutDown));
    assert_eq!(wait(&bench.associations, ended), (here, expected.clone()));
    assert_eq!(wait(&other, ended), (there, expected));
    let gone = bench.associations.initiate(here, 0, b"");
    assert!(matches!(gone, Err(AssociationError::Ended)), "{gone:?}");
}

/// One end asks for a session, and the other one is told.
fn asks(bench: &End, here: AssociationHandle, other: &Associations) {
    bench.associations.initiate(here, 0, b"").unwrap();
    wait(other, |event| {
        matches!(event, AssociationEvent::Requested(..))
    });
}

/// A session that both ends have ended, `here` first: that end knows that all is over.
fn ended(bench: &End, here: AssociationHandle, other: &Associations, there: AssociationHandle) {
    asks(bench, here, other);
    other.accept(there, 0, b"").unwrap();
    bench.event(|_, event| matches!(event, AssociationEvent::Accepted(..)).then_some(()));
    bench.associations.terminate(here, 0).unwrap();
    wait(other, |event| {
        matches!(event, AssociationEvent::Terminated(0))
    });
    other.terminate(there, 0).unwrap();
    bench.event(|_, event| matches!(event, AssociationEvent::Free(0)).then_some(()));
}

/// The other end reports that its session is free, and then that its association was shut down.
#[track_caller]
fn is_over(other: &Associations, there: AssociationHandle) {
    assert_eq!(wait(other, |_| true), (there, AssociationEvent::Free(0)));
    let shut_down = AssociationEnd::Sctp(warpline_usrsctp::Ending::ShutDown);
    let shut_down = AssociationEvent::Ended(shut_down);
    assert_eq!(wait(other, |_| true), (there, shut_down));
}

/// SHUTDOWN acknowledges, too (RFC 9260 §9.2), and may come before the SACK of a Terminate, which SCTP delays.
// req: SCTP-SES-21, LLP-10
#[test]
fn a_session_that_ends_with_a_shutdown_is_not_lost() {
    let bench = End::open(options());
    let (other, here, there) = pair(&bench);
    ended(&bench, here, &other, there);
    bench.associations.shutdown(here).unwrap();
    is_over(&other, there);
}

/// A program that exits does not wait for SCTP: an ABORT would overtake the SACK of the peer's Terminate.
// req: LLP-10
#[test]
fn an_association_without_sessions_is_shut_down_when_its_end_is_dropped() {
    let bench = End::open(options());
    let (other, here, there) = pair(&bench);
    ended(&bench, here, &other, there);
    drop(bench);
    is_over(&other, there);
}

/// The same where this end's Terminate is still under way.
// req: LLP-10, SCTP-SES-07
#[test]
fn a_session_that_is_ending_ends_when_its_end_is_dropped() {
    let bench = End::open(options());
    let (other, here, there) = pair(&bench);
    asks(&bench, here, &other);
    other.accept(there, 0, b"").unwrap();
    other.terminate(there, 0).unwrap();
    bench.event(|_, event| matches!(event, AssociationEvent::Terminated(0)).then_some(()));
    bench.associations.terminate(here, 0).unwrap();
    drop(bench);
    let terminated = (there, AssociationEvent::Terminated(0));
    assert_eq!(wait(&other, |_| true), terminated);
    is_over(&other, there);
}

/// An open session is aborted at once: the program that would end it has exited.
// req: SCTP-LIM-09
#[test]
fn an_association_with_an_open_session_is_aborted_when_its_end_is_dropped() {
    let bench = End::open(options());
    let (other, here, there) = pair(&bench);
    asks(&bench, here, &other);
    other.accept(there, 0, b"").unwrap();
    bench.event(|_, event| matches!(event, AssociationEvent::Accepted(..)).then_some(()));
    let start = Instant::now();
    drop(bench);
    assert!(start.elapsed() < Duration::from_secs(1));
    let lost = AssociationEvent::Lost(0, Ending::Lost);
    assert_eq!(wait(&other, |_| true), (there, lost));
}

// req: SCTP-LIM-09
#[test]
fn an_abort_is_the_end_of_all_sessions() {
    let bench = End::open(options());
    let (other, here, there) = pair(&bench);
    for session in [1, 2] {
        bench.associations.initiate(here, session, b"").unwrap();
        wait(&other, |event| {
            matches!(event, AssociationEvent::Requested(..))
        });
        other.accept(there, session, b"").unwrap();
        bench.event(|_, event| matches!(event, AssociationEvent::Accepted(..)).then_some(()));
    }
    bench.associations.abort(here);
    for session in [1, 2] {
        let lost = AssociationEvent::Lost(session, Ending::Aborted);
        assert_eq!(wait(&bench.associations, |_| true), (here, lost));
        let lost = AssociationEvent::Lost(session, Ending::Lost);
        assert_eq!(wait(&other, |_| true), (there, lost));
    }
    let ended = AssociationEnd::Sctp(warpline_usrsctp::Ending::Aborted);
    assert_eq!(
        wait(&other, |_| true),
        (there, AssociationEvent::Ended(ended))
    );
}

/// Peers that set up associations and ask for nothing take no place for long, whether they answer a shutdown or not; one with a
/// session may be silent.
#[test]
fn an_association_without_a_session_is_ended() {
    let limits = AssociationOptions {
        idle: Duration::from_millis(300),
        ..options()
    };
    let bench = End::open(limits);
    bench.associations.listen(PORT).unwrap();
    let address = bench.associations.address().unwrap();
    let serve = |peer: &mut Udp| peer.serve(Duration::from_millis(1)).unwrap();
    let up = |peer: &mut Udp| {
        let association = set_up(peer, address);
        let found = bench.event(|handle, event| {
            let up = matches!(event, AssociationEvent::Up { passive: true, .. });
            up.then_some(handle)
        });
        (association, found)
    };
    let ended = |handle, how| {
        let expected = (handle, AssociationEvent::Ended(how));
        let same =
            |found, event: &AssociationEvent| ((found, event.clone()) == expected).then_some(());
        bench.event(same);
    };
    let mut with = Udp::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let (mut accepted, there) = up(&mut with);
    accepted.send(1, 17, true, &[0, 0, 0, 1]).unwrap();
    serve(&mut with);
    bench.event(|_, event| matches!(event, AssociationEvent::Requested(1, _)).then_some(()));
    bench.associations.accept(there, 1, b"").unwrap();

    let mut without = Udp::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let (mut idle, handle) = up(&mut without);
    let start = Instant::now();
    let mut events = vec![];
    while !matches!(events.last(), Some(Event::Ended(_))) {
        assert!(start.elapsed() < PATIENCE, "{events:?}");
        serve(&mut without);
        serve(&mut with);
        events.extend(idle.next_event());
    }
    assert!(events.contains(&Event::PeerShutdown), "{events:?}");
    ended(
        handle,
        AssociationEnd::Sctp(warpline_usrsctp::Ending::ShutDown),
    );

    let mut silent = Udp::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let (_association, handle) = up(&mut silent);
    ended(handle, AssociationEnd::Idle);
    while let Some(event) = accepted.next_event() {
        assert!(
            !matches!(event, Event::PeerShutdown | Event::Ended(_)),
            "{event:?}"
        );
    }
    assert_eq!(
        bench.associations.peer(there).unwrap(),
        with.local_address().unwrap()
    );
}

// req: SCTP-INIT-03, SCTP-INIT-05, SCTP-INIT-06, SCTP-INIT-10
#[test]
fn peers_that_do_not_speak_ddp_are_aborted() {
    let bench = End::open(options());
    bench.associations.listen(PORT).unwrap();
    let address = bench.associations.address().unwrap();
    for adaptation in [None, Some(2)] {
        let mut peer = Udp::bind(([127, 0, 0, 1], 0).into()).unwrap();
        let options = Options {
            adaptation,
            ..Options::default()
        };
        let mut association = peer.connect(address, PORT, &options).unwrap();
        let mut events = vec![];
        let start = Instant::now();
        while !matches!(events.last(), Some(Event::Ended(_))) {
            assert!(start.elapsed() < PATIENCE, "{events:?}");
            peer.serve(Duration::from_millis(1)).unwrap();
            events.extend(association.next_event());
        }
        let expected = match adaptation {
            None => Refusal::NoIndication,
            Some(code) => Refusal::OtherIndication {
                indication: Indication(code),
            },
        };
        let found = bench.associations.wait_event(PATIENCE).unwrap().1;
        assert_eq!(found, AssociationEvent::NotDdp(expected));
    }
}

/// An end that indicates something else itself takes no DDP either, and says so.
// req: SCTP-INIT-08
#[test]
fn this_end_may_indicate_something_else() {
    let other = AssociationOptions {
        settings: Settings {
            indication: Indication(3),
            ..Settings::default()
        },
        ..options()
    };
    let bench = End::open(other);
    bench.associations.listen(PORT).unwrap();
    let active = Associations::open(&bench.card, options()).unwrap();
    let here = active
        .connect(bench.associations.address().unwrap(), PORT)
        .unwrap();
    let refused = AssociationEvent::NotDdp(Refusal::OtherIndication {
        indication: Indication(3),
    });
    assert_eq!(wait(&active, |_| true), (here, refused));
}

// req: SCTP-INIT-12, SCTP-INIT-13
#[test]
fn an_end_is_bound_to_one_address() {
    assert!(AssociationOptions::default().address.ip().is_loopback());
    let address = ([127, 0, 0, 2], 0).into();
    let end = End::open(AssociationOptions {
        address,
        ..options()
    });
    let bound = end.associations.address().unwrap();
    assert_eq!(bound.ip(), address.ip());
    // A peer finds it there, and at no other address of the machine.
    let mut peer = Udp::bind(([127, 0, 0, 1], 0).into()).unwrap();
    end.associations.listen(PORT).unwrap();
    let options = Options {
        adaptation: Some(1),
        ..Options::default()
    };
    let elsewhere = ([127, 0, 0, 1], bound.port()).into();
    let mut lost = peer.connect(elsewhere, PORT, &options).unwrap();
    let mut found = peer.connect(bound, PORT, &options).unwrap();
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < PATIENCE, "no association");
        peer.serve(Duration::from_millis(1)).unwrap();
        if let Some(Event::Up { .. }) = found.next_event() {
            break;
        }
    }
    assert_eq!(lost.next_event(), None);
}

#[test]
fn a_device_without_the_option_has_no_associations() {
    let refused = Associations::open(&stand_in::without(), options()).err();
    let refused = refused.unwrap();
    assert!(matches!(refused, AssociationError::NoSctp), "{refused}");
}
