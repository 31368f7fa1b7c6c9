//! The same queue pairs over SCTP: only the endpoint says so.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use warpline_driver::{
    CloseReason, ConnectOptions, Endpoint, Error, FailureCause, ListenOptions, Listener, Local,
    PairEvent, PairState, Registration, Revision, Transport, Work, WorkRequest, connect,
};
use warpline_hdl::{Config, Sctp};
use warpline_usrsctp::{Event, Options, Udp};

use crate::bench::{Machine, PATIENCE, anywhere, is_alone};
use crate::lossy::Lossy;
use crate::{exercise, finish, pair_at, pair_through, remote};

/// A machine whose card takes sessions of SCTP, too.
fn machine(seed: u64) -> Machine {
    let config = Config {
        transmit: true,
        sctp: Some(Sctp::default()),
        ..Config::simulated(64)
    };
    Machine::with(&config, seed)
}

// req: SCTP-SES-03, SCTP-SES-06, SCTP-SES-07, SCTP-SES-08
#[test]
fn two_machines_write_send_and_read_over_sctp_and_tcp() {
    for endpoint in [Endpoint::sctp(anywhere()), anywhere().into()] {
        for private in [&[][..], &[9; 512]] {
            let (client, server) = (machine(1), machine(2));
            let revision = Revision::One;
            let (ours, theirs) = pair_at(endpoint, &client, &server, revision, private, private);
            exercise((&client, &ours), (&server, &theirs));
            finish((&client, ours), (&server, theirs));
            if endpoint.transport == Transport::Tcp {
                client.empties();
                server.empties();
            }
        }
    }
}

/// On a path that loses 3 % of the datagrams, duplicates 3 % and delays 6 %, each end's Terminate arrives behind all that it has sent.
// req: SCTP-SES-06, SCTP-SES-07, SCTP-SSN-03
#[test]
fn a_session_ends_in_order_over_a_path_that_loses() {
    let (client, server) = (machine(5), machine(6));
    let mut lost = 0;
    for seed in 0..4 {
        let mut lossy = None;
        let way = |endpoint: Endpoint| {
            let path = lossy.insert(Lossy::to(endpoint.address, 3, seed));
            Endpoint::sctp(path.address)
        };
        let endpoint = Endpoint::sctp(anywhere());
        let (ours, theirs) = pair_through(way, endpoint, &client, &server, Revision::One, b"", b"");
        exercise((&client, &ours), (&server, &theirs));
        let data = vec![seed as u8; 60_000];
        let source = client.region(&data, Registration::local());
        let target = server.region(&vec![99; 60_000], Registration::default());
        let write = WorkRequest::write(1, Local::all(&source).unwrap(), remote(&target));
        ours.post_send(write).unwrap();
        // The Terminate is behind it.
        ours.disconnect().unwrap();
        assert_eq!(server.event(), PairEvent::HalfClosed);
        assert_eq!(target.to_vec().unwrap(), data);
        theirs.disconnect().unwrap();
        for (machine, pair) in [(&client, ours), (&server, theirs)] {
            assert_eq!(closed(machine), CloseReason::Finished);
            assert_eq!(pair.state(), PairState::Closed);
            pair.close().unwrap();
            assert_eq!(machine.context.connections(), 0);
        }
        lost += lossy.map_or(0, |path| path.lost.load(Ordering::SeqCst));
    }
    assert!(lost > 0);
}

/// How a pair is closed, whatever comes in front of that.
fn closed(machine: &Machine) -> CloseReason {
    loop {
        match machine.next() {
            Work::Event {
                event: PairEvent::Closed(reason),
                ..
            } => return reason,
            Work::Event {
                event: PairEvent::HalfClosed,
                ..
            }
            | Work::Completion(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_session_that_is_rejected_or_not_there() {
    let (client, server) = (machine(3), machine(4));
    let endpoint = Endpoint::sctp(anywhere());
    let listener = Listener::bind(&server.context, endpoint, ListenOptions::default()).unwrap();
    let call = |endpoint| {
        let options = ConnectOptions {
            pair: client.options(),
            ..ConnectOptions::default()
        };
        connect(&client.domain, &client.queue, endpoint, options)
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let request = listener.accept(PATIENCE).unwrap().expect("a request");
            request.reject(b"no room").unwrap();
        });
        match call(listener.endpoint()) {
            Err(Error::Rejected { private_data }) => assert_eq!(private_data, b"no room"),
            other => panic!("{other:?}"),
        }
    });
    let gone = listener.endpoint();
    drop(listener);
    match call(gone) {
        Err(Error::StartUp { cause }) => assert!(
            matches!(cause, FailureCause::Unreachable | FailureCause::TimedOut),
            "{cause:?}"
        ),
        other => panic!("{other:?}"),
    }
    assert_eq!(client.context.connections(), 0);
}

/// SCTP port in the datagrams.
const PORT: u16 = 5043;
/// PPID of control messages (RFC 5043 §12).
const CONTROL: u32 = 17;

/// A peer that asks for a session of its own on an association that the card has set up: no listener is there for it, so the card
/// declines by Terminate, DDP-SSN 0. Reject is for programs.
// req: SCTP-SES-12
#[test]
fn a_session_that_no_listener_is_there_for_is_declined() {
    let client = machine(7);
    let mut udp = Udp::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let adapted = Options {
        adaptation: Some(1),
        ..Options::default()
    };
    udp.listen(PORT, 1, &adapted).unwrap();
    let endpoint = Endpoint::sctp(udp.local_address().unwrap());
    thread::scope(|scope| {
        let peer = scope.spawn(move || {
            let (mut association, mut answer) = (None, None);
            let start = std::time::Instant::now();
            while start.elapsed() < PATIENCE {
                udp.serve(Duration::from_millis(1)).unwrap();
                let Some(peer) = &mut association else {
                    association = udp.accept().map(|(_, association)| association);
                    continue;
                };
                let send = |peer: &mut warpline_usrsctp::Association, stream, user_data: &[u8]| {
                    peer.send(stream, CONTROL, true, user_data).unwrap();
                };
                match peer.next_event() {
                    // The card's Initiate is answered behind the card's answer.
                    Some(Event::Message(message)) if message.stream == 0 => {
                        send(peer, 1, &[0, 0, 0, 1]);
                    }
                    Some(Event::Message(message)) => {
                        assert_eq!((message.stream, message.ppid), (1, CONTROL));
                        answer = Some(message.user_data);
                        send(peer, 0, &[0, 0, 0, 3]);
                    }
                    Some(Event::Ended(_)) => return answer,
                    _ => {}
                }
            }
            panic!("the association does not end");
        });
        let options = ConnectOptions {
            pair: client.options(),
            ..ConnectOptions::default()
        };
        match connect(&client.domain, &client.queue, endpoint, options) {
            Err(Error::Rejected { private_data }) => assert_eq!(private_data, b""),
            other => panic!("{other:?}"),
        }
        assert_eq!(peer.join().unwrap(), Some(vec![0, 0, 0, 4]));
    });
}

/// Each connection has an address of its own, with a thread and a socket: they go with it.
#[test]
fn connections_that_are_refused_cost_nothing() {
    if !is_alone("sctp::connections_that_are_refused_cost_nothing") {
        return;
    }
    let client = machine(8);
    let mut udp = Udp::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let endpoint = Endpoint::sctp(udp.local_address().unwrap());
    let ended = AtomicBool::new(false);
    let count = |what: &str| fs::read_dir(format!("/proc/self/{what}")).unwrap().count();
    thread::scope(|scope| {
        // No endpoint listens on this port, so SCTP answers each INIT with ABORT.
        scope.spawn(|| {
            while !ended.load(Ordering::SeqCst) {
                udp.serve(Duration::from_millis(1)).unwrap();
            }
        });
        let mut before = None;
        for round in 0..12 {
            let options = ConnectOptions {
                pair: client.options(),
                ..ConnectOptions::default()
            };
            match connect(&client.domain, &client.queue, endpoint, options) {
                Err(Error::StartUp { cause }) => assert_eq!(cause, FailureCause::Unreachable),
                other => panic!("{other:?}"),
            }
            if round == 2 {
                before = Some((count("fd"), count("task")));
            }
        }
        let (descriptors, threads) = before.unwrap();
        let start = std::time::Instant::now();
        while count("fd") > descriptors || count("task") > threads {
            let now = (count("fd"), count("task"));
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "{before:?}, then {now:?}"
            );
            thread::sleep(Duration::from_millis(10));
        }
        ended.store(true, Ordering::SeqCst);
    });
}
