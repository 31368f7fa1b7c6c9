//! Queue pairs of the driver over two simulated cards with their control programs, connected through TCP on this machine.
//!
//! ```text
//!   driver ─► vfio-user ─► card A ─► socket ═══ localhost ═══ socket ◄─ card B ◄─ vfio-user ◄─ driver
//!                            └ control program                control program ┘
//! ```

mod bench;
mod connections;
mod damage;
mod killed_peers;
#[cfg(feature = "sctp")]
#[path = "../sctp/lossy.rs"]
mod lossy;
mod reads;
mod rtr;
#[cfg(feature = "sctp")]
mod sctp;
mod segments;

use std::sync::Arc;

use warpline_driver::{
    Cause, CloseReason, ConnectOptions, Data, Endpoint, Error, ListenOptions, Listener, Local,
    MemoryRegion, PairEvent, PairState, QueuePair, RdmaError, Refusal, Registration, Remote,
    Revision, Transport, Work, WorkOpcode, WorkRequest, WorkStatus, connect,
};
use warpline_hdl::Config;

use crate::bench::{Machine, PATIENCE, anywhere, each};

/// Connects `client` to `server`.
fn pair(client: &Machine, server: &Machine, revision: Revision) -> (QueuePair, QueuePair) {
    pair_saying(client, server, revision, b"who is there?", b"me")
}

/// The same with this private data in the Request and the Reply.
fn pair_saying(
    client: &Machine,
    server: &Machine,
    revision: Revision,
    question: &[u8],
    answer: &[u8],
) -> (QueuePair, QueuePair) {
    pair_at(
        anywhere().into(),
        client,
        server,
        revision,
        question,
        answer,
    )
}

/// The same at an endpoint of the server.
fn pair_at(
    endpoint: Endpoint,
    client: &Machine,
    server: &Machine,
    revision: Revision,
    question: &[u8],
    answer: &[u8],
) -> (QueuePair, QueuePair) {
    let straight = |endpoint| endpoint;
    pair_through(
        straight, endpoint, client, server, revision, question, answer,
    )
}

/// The same by a way to the server: the client connects to what `way` makes of the endpoint at which the server listens.
fn pair_through(
    way: impl FnOnce(Endpoint) -> Endpoint,
    endpoint: Endpoint,
    client: &Machine,
    server: &Machine,
    revision: Revision,
    question: &[u8],
    answer: &[u8],
) -> (QueuePair, QueuePair) {
    let listener = Listener::bind(&server.context, endpoint, ListenOptions::default()).unwrap();
    let (transport, endpoint) = (endpoint.transport, listener.endpoint());
    assert_eq!(endpoint.transport, transport);
    let endpoint = way(endpoint);
    std::thread::scope(|scope| {
        let accepted = scope.spawn(|| {
            let request = listener.accept(PATIENCE).unwrap().expect("a request");
            assert_eq!(request.private_data(), question);
            assert!(request.peer().ip().is_loopback());
            let settles = transport == Transport::Tcp && revision != Revision::One;
            assert_eq!(request.ird().is_some(), settles);
            let options = server.options();
            request
                .accept(&server.domain, &server.queue, options, answer)
                .unwrap()
        });
        let options = ConnectOptions {
            private_data: question.into(),
            revision,
            pair: client.options(),
        };
        let (ours, reply) = connect(&client.domain, &client.queue, endpoint, options).unwrap();
        assert_eq!(reply, answer);
        (ours, accepted.join().unwrap())
    })
}

fn remote(region: &MemoryRegion) -> Remote {
    Remote {
        stag: region.stag(),
        offset: region.base(),
    }
}

/// Ends a connection gracefully, from `first` on.
fn finish(first: (&Machine, QueuePair), second: (&Machine, QueuePair)) {
    first.1.disconnect().unwrap();
    let refused = first.1.post_send(WorkRequest::send(0, Data::none()));
    assert!(
        matches!(refused, Err(Error::PairEnded { .. })),
        "{refused:?}"
    );
    assert_eq!(second.0.event(), PairEvent::HalfClosed);
    // The other half still works.
    second
        .1
        .post_send(WorkRequest::send(99, &b"bye"[..]))
        .unwrap();
    assert_eq!(second.0.done().id, 99);
    let last = first.0.done();
    assert_eq!((last.opcode, last.length), (WorkOpcode::Receive, 3));
    second.1.disconnect().unwrap();
    for (machine, pair) in [first, second] {
        let mut flushed = 0;
        loop {
            match machine.next() {
                Work::Event {
                    event: PairEvent::HalfClosed,
                    ..
                } => {}
                Work::Event { event, .. } => {
                    assert_eq!(event, PairEvent::Closed(CloseReason::Finished));
                    break;
                }
                Work::Completion(completion) => {
                    assert_eq!(completion.status, WorkStatus::Flushed);
                    flushed += 1;
                }
                other => panic!("{other:?}"),
            }
        }
        assert!((1..=4).contains(&flushed), "{flushed}");
        assert_eq!(pair.state(), PairState::Closed);
        pair.close().unwrap();
        assert_eq!(machine.context.connections(), 0);
    }
}

/// Writes, Sends, invalidation and Reads, all from one end.
fn exercise((client, ours): (&Machine, &QueuePair), (server, theirs): (&Machine, &QueuePair)) {
    let data: Vec<u8> = (0..10_000_u32).map(|i| (i * 7 + i / 256) as u8).collect();
    let source = client.region(&data, Registration::local());
    let target = server.region(&vec![0; 10_000], Registration::default());

    // Write, then a Send that says so: its completion at the server covers the Write.
    let write = WorkRequest::write(1, Local::all(&source).unwrap(), remote(&target));
    ours.post_sends([write, WorkRequest::send(2, &b"written"[..]).solicited()])
        .unwrap();
    for (id, opcode, length) in [(1, WorkOpcode::Write, 10_000), (2, WorkOpcode::Send, 7)] {
        let done = client.done();
        assert_eq!((done.id, done.opcode, done.length), (id, opcode, length));
        assert_eq!((done.status, done.pair), (WorkStatus::Success, ours.id()));
    }
    let received = server.done();
    assert_eq!((received.opcode, received.length), (WorkOpcode::Receive, 7));
    assert!(received.solicited && received.invalidated.is_none());
    let buffer = received.buffer.unwrap();
    assert_eq!(buffer.to_vec()[..7], *b"written");
    assert_eq!(target.to_vec().unwrap(), data);
    theirs.post_receive(buffer).unwrap();

    // A Send out of three pieces that invalidates the server's region.
    let pieces = [0..10, 5000..5001, 9000..9100].map(|r| Local::new(&source, r).unwrap());
    let send = WorkRequest::send(3, Vec::from(pieces)).invalidate(target.stag());
    assert!(target.is_valid());
    ours.post_send(send).unwrap();
    assert_eq!(client.done().id, 3);
    let received = server.done();
    assert_eq!(received.invalidated, Some(target.stag()));
    assert!(!target.is_valid());
    let expected = [&data[..10], &data[5000..5001], &data[9000..9100]].concat();
    assert_eq!(received.buffer.unwrap().to_vec()[..111], expected);
    let memory = Arc::into_inner(target).unwrap().revoke().unwrap();
    assert_eq!(memory[..], data);

    // Reads: more than ORD, and a fenced Send behind them. The server polls, and sees nothing.
    let readable = server.region(&data, Registration::readable());
    let sink = client.region(&vec![0; 10_000], Registration::default());
    let reads = (0..5).map(|i| {
        let piece = Local::new(&sink, 2000 * i..2000 * (i + 1)).unwrap();
        let from = Remote {
            offset: readable.base() + 2000 * i as u64,
            ..remote(&readable)
        };
        WorkRequest::read(10 + i as u64, piece, from)
    });
    let fenced = WorkRequest::send(15, Data::none()).fenced();
    ours.post_sends(reads.chain([fenced])).unwrap();
    std::thread::scope(|scope| {
        let sent = scope.spawn(|| server.done());
        for id in 10..=15 {
            let done = client.done();
            assert_eq!((done.id, done.status), (id, WorkStatus::Success));
        }
        assert_eq!(sent.join().unwrap().length, 0);
    });
    assert_eq!(sink.to_vec().unwrap(), data);
}

// req: AMB-31, MPA-ERR-15, MPA-ERR-16, MPA-ERR-17, DDP-TEAR-06, DDP-TEAR-07, DDP-TEAR-09, DDP-TEAR-10, DDP-TEAR-11
#[test]
fn two_machines_write_send_and_read() {
    each(|engine| {
        for revision in [Revision::Two, Revision::One, Revision::PeerToPeer] {
            let (client, server) = (Machine::new(engine, 1), Machine::new(engine, 2));
            let (ours, theirs) = pair(&client, &server, revision);
            exercise((&client, &ours), (&server, &theirs));
            finish((&client, ours), (&server, theirs));
            client.empties();
            server.empties();
        }
    });
}

// req: DDP-TEAR-12, DDP-TEAR-15, DDP-SEC-21
#[test]
fn a_read_without_a_right_ends_the_stream() {
    each(|engine| {
        let (client, server) = (Machine::new(engine, 3), Machine::new(engine, 4));
        let (ours, theirs) = pair(&client, &server, Revision::Two);
        let closed = server.region(&[7; 100], Registration::default());
        let sink = client.region(&[0; 100], Registration::default());
        let read = WorkRequest::read(1, Local::all(&sink).unwrap(), remote(&closed));
        ours.post_sends([read, WorkRequest::send(2, Data::none()).fenced()])
            .unwrap();
        let cause = Cause::Rdma(RdmaError::ProtectionAccess);
        match server.event() {
            PairEvent::Terminating(terminate) => {
                assert_eq!(terminate.cause, cause);
                assert!(terminate.read_request.is_some());
            }
            other => panic!("{other:?}"),
        }
        let (mut terminated, mut flushed) = (false, Vec::new());
        loop {
            // The server reports Terminating, then its end; it has to be polled for that.
            match client.next_while_polled(&server) {
                Work::Event {
                    event: PairEvent::Terminated(terminate),
                    ..
                } => {
                    assert_eq!(terminate.cause, cause);
                    terminated = true;
                }
                Work::Event {
                    event: PairEvent::Closed(_),
                    ..
                } => break,
                Work::Event { .. } => {}
                Work::Completion(done) => {
                    assert_eq!(done.status, WorkStatus::Flushed, "{done:?}");
                    flushed.push((done.opcode, done.id));
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(terminated);
        flushed.sort_by_key(|(opcode, id)| (*opcode == WorkOpcode::Receive, *id));
        assert_eq!(flushed[..2], [(WorkOpcode::Read, 1), (WorkOpcode::Send, 2)]);
        assert_eq!(flushed.len(), 2 + 4);
        assert_eq!(sink.to_vec().unwrap(), [0; 100]);
        drop((ours, theirs));
        assert_eq!(
            client.context.connections() + server.context.connections(),
            0
        );
    });
}

#[test]
fn a_rejected_request_says_why() {
    each(|engine| {
        let (client, server) = (Machine::new(engine, 5), Machine::new(engine, 6));
        let listener =
            Listener::bind(&server.context, anywhere(), ListenOptions::default()).unwrap();
        let address = listener.address();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let request = listener.accept(PATIENCE).unwrap().expect("a request");
                request.reject(b"not today").unwrap();
            });
            let options = ConnectOptions {
                pair: client.options(),
                ..ConnectOptions::default()
            };
            let refused = connect(&client.domain, &client.queue, address, options).unwrap_err();
            match refused {
                Error::Rejected { private_data } => assert_eq!(private_data, b"not today"),
                other => panic!("{other}"),
            }
        });
        assert_eq!(client.context.connections(), 0);
        drop(listener);
        // Nobody listens any more.
        let options = ConnectOptions {
            pair: client.options(),
            ..ConnectOptions::default()
        };
        let refused = connect(&client.domain, &client.queue, address, options).unwrap_err();
        assert!(matches!(refused, Error::StartUp { .. }), "{refused}");
    });
}

/// 512 octets, of which IRD and ORD take four in revision 2.
// req: MPA-PRIV-06, MPA-PRIV-07, MPA-PRIV-09
#[test]
fn private_data_of_any_length_arrives_at_both_ends() {
    each(|engine| {
        let (client, server) = (Machine::new(engine, 7), Machine::new(engine, 8));
        let all: Vec<u8> = (0..513_u32).map(|i| (11 * i + i / 256) as u8).collect();
        for (revision, question, answer) in [
            (Revision::One, 0, 0),
            (Revision::One, 511, 512),
            (Revision::One, 512, 511),
            (Revision::Two, 508, 507),
            (Revision::Two, 507, 508),
        ] {
            let (question, answer) = (&all[..question], &all[..answer]);
            let (ours, theirs) = pair_saying(&client, &server, revision, question, answer);
            // The Responder may not send before an FPDU of the Initiator.
            ours.post_send(WorkRequest::send(1, &b"hello"[..])).unwrap();
            assert_eq!((client.done().id, server.done().length), (1, 5));
            finish((&client, ours), (&server, theirs));
        }
        for (revision, length) in [(Revision::One, 513), (Revision::Two, 509)] {
            let options = ConnectOptions {
                private_data: all[..length].into(),
                revision,
                pair: client.options(),
            };
            let refused = connect(&client.domain, &client.queue, anywhere(), options).unwrap_err();
            let names_it = match refused {
                Error::PrivateData(_) => length > 512,
                Error::MessageRefused { reason, .. } => reason == Refusal::Private,
                _ => false,
            };
            assert!(names_it, "{refused}");
        }
        assert_eq!(client.context.connections(), 0);
    });
}

/// A connection whose stream the driver cannot take over: the control program closes it, and the next connection gets it.
#[test]
fn a_stream_that_cannot_be_taken_over_is_closed() {
    each(|engine| {
        let (client, server) = (Machine::new(engine, 9), Machine::new(engine, 10));
        let listener =
            Listener::bind(&server.context, anywhere(), ListenOptions::default()).unwrap();
        let address = listener.address();
        for _ in 0..2 * Config::simulated(64).streams {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let request = listener.accept(PATIENCE).unwrap().expect("a request");
                    let mut options = server.options();
                    options.sizes.receive_depth = u16::MAX;
                    let accepted = request.accept(&server.domain, &server.queue, options, b"");
                    let error = accepted.expect_err("a ring that is too large");
                    assert!(matches!(error, Error::ReceiveEntries { .. }), "{error}");
                });
                let options = ConnectOptions {
                    pair: client.options(),
                    ..ConnectOptions::default()
                };
                let error = connect(&client.domain, &client.queue, address, options).unwrap_err();
                assert!(matches!(error, Error::StartUp { .. }), "{error}");
            });
        }
        drop(listener);
        drop(pair(&client, &server, Revision::Two));
        client.empties();
        server.empties();
    });
}

#[test]
fn pairs_that_are_dropped_leave_nothing() {
    each(|engine| {
        let (client, server) = (Machine::new(engine, 7), Machine::new(engine, 8));
        for _ in 0..5 {
            let (ours, theirs) = pair(&client, &server, Revision::Two);
            drop(ours);
            drop(theirs);
            assert_eq!(
                client.context.connections() + server.context.connections(),
                0
            );
        }
        while client.queue.poll().unwrap().is_some() {}
    });
}
