//! The same queue pairs over SCTP: only the endpoint says so.

use std::sync::atomic::Ordering;

use warpline_driver::{
    CloseReason, ConnectOptions, Endpoint, Error, FailureCause, ListenOptions, Listener, Local,
    PairEvent, PairState, Registration, Revision, Transport, Work, WorkRequest, connect,
};
use warpline_hdl::{Config, Sctp};

use crate::bench::{Machine, PATIENCE, anywhere};
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
