//! How connections begin and end.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use fastrand::Rng;
use warpline_driver::{Completion, ErrorDetail, ErrorNumber};
use warpline_sim::{Error, Event, NetworkError, NetworkOptions};
use warpline_wire::error_number::Ending;

use crate::bench::{Bench, fpdus, pattern, peer, read_all, rough, tagged, untagged, until, writes};

fn rough_bench(seed: u64) -> Bench {
    Bench::open(NetworkOptions {
        path: rough(seed),
        ..NetworkOptions::default()
    })
}

/// Closes with RST.
fn reset(peer: TcpStream) {
    let linger = Some(std::time::Duration::ZERO);
    rustix::net::sockopt::set_socket_linger(&peer, linger).unwrap();
}

// req: MPA-ERR-01, MPA-ERR-03, DDP-TEAR-12, AMB-31
#[test]
fn a_fin_within_an_fpdu_is_an_error_behind_what_was_complete() {
    let bench = rough_bench(11);
    let (_, address) = bench.listen("127.0.0.1:0");
    let region = bench.region(2000);
    for (stream, cut) in [(0, 1), (1, 4), (2, 1000)] {
        let socket = peer(address);
        let (handle, armed) = bench.attach(stream);
        let mut octets = fpdus(&[
            (tagged(&region, 0), &[1; 1000][..]),
            (tagged(&region, 1000), &[2; 1000]),
        ]);
        octets.truncate(octets.len() - cut);
        let socket = writes(socket, octets, 1).join().unwrap();
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        assert!(matches!(bench.completion(), Completion::Tagged(found) if found.length == 1000));
        match bench.completion() {
            Completion::Error(event) => {
                assert_eq!(
                    (event.stream, event.number),
                    (stream, ErrorNumber::MpaConnection)
                );
            }
            other => panic!("{other:?}"),
        }
        let record = armed.error_record().unwrap().unwrap();
        assert_eq!(record.detail, ErrorDetail::Connection(Ending::Truncated));
        // The other half still works.
        let half_closed = bench.event(|which, event| (event == Event::HalfClosed).then_some(which));
        assert_eq!(half_closed, handle);
        assert_eq!(bench.connections.send(handle, b"terminate").unwrap(), 9);
        bench.connections.finish(handle).unwrap();
        let late = bench.connections.send(handle, b"more");
        assert!(matches!(late, Err(NetworkError::Finished)));
        assert_eq!(read_all(&mut { socket }), b"terminate");
        armed.close().unwrap();
        bench.connections.close(handle);
    }
}

// req: MPA-ERR-01, DDP-TEAR-12, DDP-ERR-01, AMB-31
#[test]
fn a_reset_is_an_error_of_its_stream_alone() {
    let bench = rough_bench(12);
    let (_, address) = bench.listen("127.0.0.1:0");
    let region = bench.region(1000);
    let (gone, stays) = (peer(address), peer(address));
    let (first, first_stream) = bench.attach(0);
    let (_second, second_stream) = bench.attach(1);
    let octets = fpdus(&[(tagged(&region, 0), &[1; 1000][..])]);
    let gone = writes(gone, octets.clone(), 1).join().unwrap();
    assert!(matches!(bench.completion(), Completion::Tagged(found) if found.stream == 0));
    reset(gone);
    match bench.completion() {
        Completion::Error(event) => {
            assert_eq!(
                (event.stream, event.number),
                (0, ErrorNumber::MpaConnection)
            );
        }
        other => panic!("{other:?}"),
    }
    let record = first_stream.error_record().unwrap().unwrap();
    assert_eq!(record.detail, ErrorDetail::Connection(Ending::Lost));
    let lost = bench.event(|which, event| match event {
        Event::Lost(kind) => Some((which, kind)),
        _ => None,
    });
    assert_eq!(lost, (first, ErrorKind::ConnectionReset));
    let sent = bench.connections.send(first, &[0]);
    assert!(matches!(
        sent,
        Err(NetworkError::Lost(ErrorKind::ConnectionReset))
    ));

    let _stays = writes(stays, octets, 1).join().unwrap();
    assert!(matches!(bench.completion(), Completion::Tagged(found) if found.stream == 1));
    assert_eq!(second_stream.error_record().unwrap(), None);
    bench.no_completion();
}

/// A peer sends its last message and resets the connection at once, as Linux does behind a Terminate: the message arrives.
// req: MPA-ERR-01, AMB-31
#[test]
fn what_came_in_front_of_a_reset_arrives() {
    let bench = Bench::open(NetworkOptions::default());
    let (_, address) = bench.listen("127.0.0.1:0");
    let region = bench.region(1000);
    let octets = fpdus(&[(tagged(&region, 0), &[1; 1000][..])]);
    for _ in 0..100 {
        let mut gone = peer(address);
        let (handle, stream) = bench.attach(0);
        gone.write_all(&octets).unwrap();
        reset(gone);
        let placed = bench.completion();
        assert!(matches!(placed, Completion::Tagged(_)), "{placed:?}");
        let ended = bench.completion();
        assert!(
            matches!(&ended, Completion::Error(event) if event.number == ErrorNumber::MpaConnection),
            "{ended:?}"
        );
        bench.event(|_, event| matches!(event, Event::Lost(_)).then_some(()));
        stream.close().unwrap();
        bench.connections.close(handle);
    }
}

#[test]
fn connections_that_nobody_accepts_are_refused() {
    let bench = rough_bench(13);
    for address in ["127.0.0.1:0", "[::1]:0"] {
        // A port that was free a moment ago.
        let closed = TcpListener::bind(address).unwrap().local_addr().unwrap();
        let handle = bench.connections.connect(closed).unwrap();
        let early = bench.connections.write(handle, &[0]);
        assert!(matches!(
            early,
            Err(NetworkError::NotEstablished | NetworkError::Lost(_))
        ));
        let refused = bench.event(|which, event| match event {
            Event::Refused(kind) => Some((which, kind)),
            Event::Connected => panic!("connected"),
            _ => None,
        });
        assert_eq!(refused, (handle, ErrorKind::ConnectionRefused));
        bench.connections.close(handle);
        let closed = bench.connections.ends(handle);
        assert!(matches!(closed, Err(NetworkError::Closed)));
    }
    let (_, taken) = bench.listen("127.0.0.1:0");
    let again = bench.connections.listen(taken);
    match again {
        Err(NetworkError::Address {
            address, source, ..
        }) => {
            assert_eq!((address, source.kind()), (taken, ErrorKind::AddrInUse));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_card_ends_connections_by_fin_and_by_rst() {
    let bench = rough_bench(14);
    let (_, address) = bench.listen("127.0.0.1:0");
    let mut peers = [(); 2].map(|()| peer(address));
    let handles = [(); 2].map(|()| bench.accepted());
    for handle in handles {
        assert_eq!(bench.connections.write(handle, b"good bye").unwrap(), 8);
    }
    let place = |handle| {
        peers
            .iter()
            .position(|peer| peer.local_addr().unwrap() == peer_of(&bench, handle))
    };
    assert_eq!(handles.map(place), [Some(0), Some(1)], "in order");
    bench.connections.close(handles[0]);
    assert_eq!(read_all(&mut peers[0]), b"good bye");
    let mut octets = [0; 8];
    peers[1].read_exact(&mut octets).unwrap();
    bench.connections.abort(handles[1]);
    let error = peers[1].read(&mut octets).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(bench.connections.counts(), (0, 0));
}

fn peer_of(bench: &Bench, handle: warpline_sim::ConnectionHandle) -> SocketAddr {
    bench.connections.ends(handle).unwrap().1
}

/// Writes are cut short when the peer does not read, and go on with an event.
#[test]
fn what_the_card_sends_arrives_at_a_slow_peer() {
    let bench = Bench::open(NetworkOptions {
        send_buffer: 8 << 10,
        ..NetworkOptions::default()
    });
    let (_, address) = bench.listen("127.0.0.1:0");
    let mut socket = peer(address);
    let (handle, _stream) = bench.attach(0);
    let octets = pattern(&mut Rng::with_seed(15), 16 << 20);
    let (mut sent, mut waits) = (0, 0);
    let mut reader = None;
    while sent < octets.len() {
        let count = bench.connections.send(handle, &octets[sent..]).unwrap();
        sent += count;
        if sent < octets.len() {
            // Nobody reads before the first wait.
            let slow = socket.try_clone().unwrap();
            reader.get_or_insert_with(|| thread::spawn(move || read_all(&mut { slow })));
            bench.event(|which, event| (which == handle && event == Event::Writable).then_some(()));
            waits += 1;
        }
    }
    assert!(waits > 0, "the kernel took all at once");
    bench.connections.finish(handle).unwrap();
    let received = reader.unwrap().join().unwrap();
    assert!(received == octets, "{} of {} octets", received.len(), sent);
    socket.write_all(&[0; 4]).unwrap(); // the other half is open
}

/// Closing the stream, or resetting the card, detaches its connection; its number is free for another one.
#[test]
fn a_closed_stream_detaches_its_connection() {
    let bench = rough_bench(16);
    let (_, address) = bench.listen("127.0.0.1:0");
    let region = bench.region(1000);
    let octets = fpdus(&[(tagged(&region, 0), &[1; 1000][..])]);
    let mut sockets = Vec::new();
    let mut first = None;
    for _ in 0..3 {
        let socket = peer(address);
        let (handle, armed) = bench.attach(7);
        let late = peer(address);
        let second = bench.accepted();
        let occupied = bench.connections.attach(second, 7, 0, &[]);
        assert!(matches!(
            occupied,
            Err(NetworkError::Occupied { stream: 7 })
        ));
        let none = bench.connections.attach(second, 16, 0, &[]);
        assert!(matches!(
            none,
            Err(NetworkError::Card(Error::NoStream { stream: 16, .. }))
        ));
        let attached = bench.connections.read(handle, &mut [0; 9]);
        assert!(matches!(
            attached,
            Err(NetworkError::Attached { stream: 7 })
        ));
        let start = bench.connections.send(second, &[0; 9]);
        assert!(matches!(start, Err(NetworkError::NotAttached)));
        let socket = writes(socket, octets.clone(), 3).join().unwrap();
        assert!(matches!(bench.completion(), Completion::Tagged(found) if found.stream == 7));
        armed.close().unwrap();
        let detached = bench.event(|which, event| (event == Event::Detached).then_some(which));
        assert_eq!(detached, handle);
        bench.connections.close(second);
        first.get_or_insert(handle);
        sockets.extend([socket, late]);
    }
    bench.connections.close(first.unwrap());
    bench.connections.close(first.unwrap());
    assert_eq!(
        bench.connections.counts(),
        (2, 0),
        "a handle is closed once"
    );
    bench.no_completion();
}

/// Octets that were read with the start frame, and a FIN that was seen before, reach the stream.
#[test]
fn what_was_read_early_comes_first() {
    let bench = rough_bench(17);
    let (_, address) = bench.listen("127.0.0.1:0");
    let mut socket = peer(address);
    let handle = bench.accepted();
    let octets = fpdus(&[(untagged(1), &b"early"[..]), (untagged(2), b"late")]);
    socket.write_all(&octets).unwrap();
    drop(socket);
    let mut early = Vec::new();
    let mut piece = [0; 30];
    let mut closed = false;
    until("all is read, and the FIN", || {
        let count = bench.connections.read(handle, &mut piece).unwrap();
        early.extend(&piece[..count]);
        while let Some((_, event)) = bench.connections.next_event() {
            closed |= event == Event::HalfClosed;
        }
        closed
    });
    assert_eq!(early, octets);
    let stream = bench.arm(1, 5);
    for buffer in bench.context.buffers(2, 10).unwrap() {
        stream.receive_queue(0).unwrap().post(buffer).unwrap();
    }
    let most = bench.connections.attach(handle, 1, 5, &[0; 200_000]);
    assert!(matches!(
        most,
        Err(NetworkError::Early {
            octets: 200_000,
            ..
        })
    ));
    bench.connections.attach(handle, 1, 5, &early).unwrap();
    let mut texts = Vec::new();
    for _ in 0..2 {
        match bench.completion() {
            Completion::Untagged(found) => {
                texts.push(found.buffer.to_vec()[..found.length as usize].to_vec());
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(texts, [&b"early"[..], b"late"]);
    assert!(matches!(bench.completion(), Completion::Closed(_)));
}
