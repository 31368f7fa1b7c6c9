//! Peers at plain sockets that are killed at every step of a connection, and floods of them. Frames are octets of the RFC's
//! figures here, not those of `wire`.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use socket2::SockRef;
use warpline_driver::{
    ConnectOptions, ConnectRequest, Error, ErrorNumber, ListenOptions, Listener, PairEvent,
    QueuePair, Revision, Settings, Work, WorkStatus, connect,
};

use crate::bench::{Engine, Machine, PATIENCE, anywhere, each};

/// A Request and a Reply of revision 1 with CRC, without markers and private data (RFC 5044 §7.1.1).
const REQUEST: [u8; 20] = *b"MPA ID Req Frame\x40\x01\0\0";
const REPLY: [u8; 20] = *b"MPA ID Rep Frame\x40\x01\0\0";
/// The first octets of an FPDU: ULPDU_Length 64, DDP and RDMAP control, the rest of which never comes.
const FPDU: [u8; 8] = [0, 64, 0xC1, 0x40, 0, 0, 1, 0];

/// How the peer's socket ends.
#[derive(Clone, Copy, Debug)]
enum Kill {
    /// By a FIN, unless octets are unread.
    Close,
    /// By an RST.
    Reset,
}

const KILLS: [Kill; 2] = [Kill::Close, Kill::Reset];

fn kill(socket: TcpStream, how: Kill) {
    if let Kill::Reset = how {
        let at_once = Some(Duration::ZERO);
        SockRef::from(&socket).set_linger(at_once).unwrap();
    }
    drop(socket);
}

fn peer(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.set_nodelay(true).unwrap();
    socket
}

/// The pair of a peer that was killed reports that it is closed, and all that was posted as flushed.
fn ends(machine: &Machine, pair: QueuePair) {
    loop {
        match machine.next() {
            Work::Completion(done) => assert_eq!(done.status, WorkStatus::Flushed),
            Work::Event { event, .. } => match event {
                PairEvent::Closed(_) => break,
                // The card may notice an RST before the answer to this.
                PairEvent::HalfClosed => drop(pair.disconnect()),
                // Of a stream that ends within an FPDU.
                PairEvent::StreamError(_) | PairEvent::Terminating(_) => {}
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
    pair.close().unwrap();
}

/// Nothing is left but `listeners` listeners.
fn nothing_left(machine: &Machine, listeners: usize) {
    machine.empties();
    let end = Instant::now() + PATIENCE;
    while machine.context.connections() > listeners {
        assert!(Instant::now() < end, "a connection is left");
        // What the card reports of connections without a queue pair is taken on the way.
        drop(machine.queue.poll().unwrap());
        thread::yield_now();
    }
    assert_eq!(machine.context.connections(), listeners);
}

fn accept(machine: &Machine, request: ConnectRequest) -> Result<QueuePair, warpline_driver::Error> {
    request.accept(&machine.domain, &machine.queue, machine.options(), b"")
}

/// A whole connection: start frames and the end.
fn is_served(machine: &Machine, listener: &Listener) {
    let mut socket = peer(listener.address());
    socket.write_all(&REQUEST).unwrap();
    let request = listener.accept(PATIENCE).unwrap().expect("a request");
    let pair = accept(machine, request).unwrap();
    let mut reply = [0; 20];
    socket.read_exact(&mut reply).unwrap();
    assert_eq!(reply, REPLY);
    kill(socket, Kill::Close);
    ends(machine, pair);
}

// req: LLP-10, DDP-TEAR-10, DDP-TEAR-11
#[test]
fn an_initiator_may_be_killed_at_every_step() {
    each(|engine| {
        let machine = Machine::new(engine, 11);
        let listener =
            Listener::bind(&machine.context, anywhere(), ListenOptions::default()).unwrap();
        for how in KILLS {
            // Within the Request: the host gets no request.
            for octets in [0, 1, 16, 19] {
                let mut socket = peer(listener.address());
                socket.write_all(&REQUEST[..octets]).unwrap();
                kill(socket, how);
                nothing_left(&machine, 1);
            }
            // Behind the Request, before the host accepts, rejects or drops it.
            for answer in 0..3 {
                let mut socket = peer(listener.address());
                socket.write_all(&REQUEST).unwrap();
                let request = listener.accept(PATIENCE).unwrap().expect("a request");
                kill(socket, how);
                match answer {
                    0 => {
                        if let Ok(pair) = accept(&machine, request) {
                            ends(&machine, pair);
                        }
                    }
                    1 => drop(request.reject(b"no")),
                    _ => drop(request),
                }
                nothing_left(&machine, 1);
            }
            // Before and within the Reply, behind it, and within an FPDU.
            for (read, written) in [(0, 0), (7, 0), (20, 0), (20, 1), (20, 8)] {
                let mut socket = peer(listener.address());
                socket.write_all(&REQUEST).unwrap();
                let request = listener.accept(PATIENCE).unwrap().expect("a request");
                let pair = accept(&machine, request).unwrap();
                socket.read_exact(&mut [0; 20][..read]).unwrap();
                socket.write_all(&FPDU[..written]).unwrap();
                kill(socket, how);
                ends(&machine, pair);
                nothing_left(&machine, 1);
            }
        }
        is_served(&machine, &listener);
        nothing_left(&machine, 1);
    });
}

// req: LLP-10, DDP-TEAR-10, DDP-TEAR-11, MPA-ERR-10
#[test]
fn a_responder_may_be_killed_at_every_step() {
    each(|engine| {
        let machine = Machine::new(engine, 12);
        let begin = |address| {
            let options = ConnectOptions {
                revision: Revision::One,
                pair: machine.options(),
                ..ConnectOptions::default()
            };
            connect(&machine.domain, &machine.queue, address, options)
        };
        for how in KILLS {
            // Octets that the peer reads of the Request and writes of the Reply, and behind it.
            for (read, written) in [
                (0, 0),
                (10, 0),
                (20, 0),
                (20, 1),
                (20, 19),
                (20, 20),
                (20, 28),
            ] {
                let peer = TcpListener::bind(anywhere()).unwrap();
                let address = peer.local_addr().unwrap();
                let begun = thread::scope(|scope| {
                    scope.spawn(|| {
                        let (mut socket, _) = peer.accept().unwrap();
                        socket.read_exact(&mut [0; 20][..read]).unwrap();
                        let octets = [&REPLY[..], &FPDU].concat();
                        socket.write_all(&octets[..written]).unwrap();
                        kill(socket, how);
                    });
                    begin(address)
                });
                match begun {
                    Ok((pair, _)) if written >= 20 => ends(&machine, pair),
                    Ok(_) => panic!("connected by {written} octets"),
                    // With the whole Reply, an RST may overtake the start of the stream.
                    Err(_) if written >= 20 => {}
                    // Whether the Reply is cut, error 4, or nothing has come, error 1.
                    Err(error) => assert!(matches!(error, Error::StartUp { .. }), "{error}"),
                }
                nothing_left(&machine, 0);
            }
        }
        // Where nobody listens.
        let nowhere = TcpListener::bind(anywhere()).unwrap().local_addr().unwrap();
        assert!(begin(nowhere).is_err());
        nothing_left(&machine, 0);
    });
}

/// The FIN cuts an FPDU: everything completes in error, and the peer gets an RST when the host closes the pair, not before.
// req: AMB-57, DDP-TEAR-03, DDP-TEAR-17, MPA-ERR-03
#[test]
fn a_stream_that_ends_in_an_error_is_reset_when_the_host_closes_it() {
    each(|engine| {
        let machine = Machine::new(engine, 14);
        let listener =
            Listener::bind(&machine.context, anywhere(), ListenOptions::default()).unwrap();
        let mut socket = peer(listener.address());
        socket.write_all(&REQUEST).unwrap();
        let request = listener.accept(PATIENCE).unwrap().expect("a request");
        let pair = accept(&machine, request).unwrap();
        socket.read_exact(&mut [0; 20]).unwrap();
        socket.write_all(&FPDU).unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        let (mut failed, mut flushed) = (false, 0);
        while !failed || flushed < 4 {
            match machine.next() {
                Work::Completion(done) => {
                    assert_eq!(done.status, WorkStatus::Flushed);
                    flushed += 1;
                }
                Work::Event { event, .. } => match event {
                    PairEvent::StreamError(error) => {
                        assert_eq!(error.number, ErrorNumber::MpaConnection);
                        failed = true;
                    }
                    PairEvent::Terminating(_) => {}
                    other => panic!("{other:?}"),
                },
                other => panic!("{other:?}"),
            }
        }
        // What the card has sent, a Terminate perhaps, and no end.
        socket
            .set_read_timeout(Some(Duration::from_millis(300)))
            .unwrap();
        let end = loop {
            match socket.read(&mut [0; 100]) {
                Ok(0) => panic!("closed before the host has closed it"),
                Ok(_) => {}
                Err(error) => break error.kind(),
            }
        };
        assert_eq!(end, ErrorKind::WouldBlock);
        pair.close().unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let end = socket.read(&mut [0; 100]).map_err(|error| error.kind());
        assert_eq!(end, Err(ErrorKind::ConnectionReset));
        nothing_left(&machine, 1);
    });
}

#[test]
fn a_flood_of_half_open_start_ups_keeps_nobody_out() {
    each(|engine| {
        // Fewer than the network side can hold for a listener, what a listener has if its program does not choose, and more
        // than the control program has room for.
        for backlog in [8, ListenOptions::default().backlog, 1000] {
            flood(engine, backlog);
        }
    });
}

fn flood(engine: Engine, backlog: u16) {
    const FLOOD: usize = 70;
    const ROUNDS: usize = 2;
    /// Connections of the network side.
    const BOUND: usize = 80;
    let machine = Machine::new(engine, 13);
    // No time ends a silent peer: what does is that another one comes.
    let patient = Settings {
        peer_time: 0,
        ..Settings::default()
    };
    machine.context.configure(patient).unwrap();
    let options = ListenOptions {
        backlog,
        ..ListenOptions::default()
    };
    let listener = Listener::bind(&machine.context, anywhere(), options).unwrap();
    let mut flood = Vec::new();
    for round in 0..ROUNDS {
        for place in 0..FLOOD {
            let mut socket = peer(listener.address());
            // Silence, or a Request that stops; an evicted one has got an RST.
            let _ = socket.write_all(&REQUEST[..place % 20]);
            flood.push(socket);
        }
        is_served(&machine, &listener);
        let (connections, _) = machine.network.counts();
        assert!(connections <= BOUND, "{connections} in round {round}");
    }
    assert_eq!(flood.len(), ROUNDS * FLOOD);
    drop(flood);
    nothing_left(&machine, 1);
}
