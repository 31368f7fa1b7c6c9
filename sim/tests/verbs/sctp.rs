//! The same queue pairs over SCTP: only the endpoint says so.

use warpline_driver::{
    CloseReason, ConnectOptions, Endpoint, Error, FailureCause, ListenOptions, Listener, PairEvent,
    Revision, Transport, Work, WorkStatus, connect,
};
use warpline_hdl::{Config, Sctp};

use crate::bench::{Machine, PATIENCE, anywhere};
use crate::{exercise, finish, pair_at};

/// A machine whose card takes sessions of SCTP, too.
fn machine(seed: u64) -> Machine {
    let config = Config {
        transmit: true,
        sctp: Some(Sctp::default()),
        ..Config::simulated(64)
    };
    Machine::with(&config, seed)
}

// req: SCTP-SES-03, SCTP-SES-06
#[test]
fn two_machines_write_send_and_read_over_sctp_and_tcp() {
    for endpoint in [Endpoint::sctp(anywhere()), anywhere().into()] {
        for private in [&[][..], &[9; 512]] {
            let (client, server) = (machine(1), machine(2));
            let revision = Revision::One;
            let (ours, theirs) = pair_at(endpoint, &client, &server, revision, private, private);
            exercise((&client, &ours), (&server, &theirs));
            if endpoint.transport == Transport::Tcp {
                finish((&client, ours), (&server, theirs));
                client.empties();
                server.empties();
                continue;
            }
            // The device passes no Terminate on in order, so a session has no graceful end yet.
            drop(ours);
            let ended = loop {
                match server.next() {
                    Work::Event {
                        event: PairEvent::Closed(reason),
                        ..
                    } => break reason,
                    Work::Completion(done) => assert_eq!(done.status, WorkStatus::Flushed),
                    other => panic!("{other:?}"),
                }
            };
            assert_eq!(ended, CloseReason::Reset);
            drop(theirs);
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
