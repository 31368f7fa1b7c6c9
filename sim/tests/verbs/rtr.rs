//! The peer-to-peer model of RFC 6581: the driver's first message lets the Responder speak first, of each of the three kinds.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use warpline_driver::{
    Cause, CloseReason, ConnectOptions, Data, Error, ErrorNumber, FailureCause, ListenOptions,
    Listener, PairEvent, QpOptions, QueuePair, Revision, Rtr, Work, WorkOpcode, WorkRequest,
    WorkStatus, connect,
};
use warpline_wire::send::{CrcField, FpduWriter, Message};

use crate::bench::{Machine, PATIENCE, anywhere, each};

const NONE: Rtr = Rtr {
    send: false,
    write: false,
    read: false,
};
const SEND: Rtr = Rtr { send: true, ..NONE };
const WRITE: Rtr = Rtr {
    write: true,
    ..NONE
};
const READ: Rtr = Rtr { read: true, ..NONE };
const ALL: Rtr = Rtr {
    send: true,
    write: true,
    read: true,
};

/// Start frames of revision 2 with CRC and 4 octets of private data: A and B are set, IRD and ORD 1 (RFC 6581 §6).
const REQUEST: [u8; 24] = *b"MPA ID Req Frame\x50\x02\0\x04\xC0\x01\0\x01";
const REPLY: [u8; 24] = *b"MPA ID Rep Frame\x50\x02\0\x04\xC0\x01\0\x01";
/// Behind ULPDU_Length: a Send of no octets, the first message of queue 0 (RFC 5041 §4.3, RFC 5040 §4.1).
const FIRST_SEND: [u8; 20] = [
    0, 18, 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
];

fn options(machine: &Machine, rtr: Rtr) -> QpOptions {
    QpOptions {
        rtr,
        ..machine.options()
    }
}

type Ends = (Result<QueuePair, Error>, Result<QueuePair, Error>);

/// Both ends of a connection, whose RTR indications are these.
fn pairs(client: (&Machine, Rtr), server: (&Machine, Rtr)) -> Ends {
    let listener = Listener::bind(&server.0.context, anywhere(), ListenOptions::default()).unwrap();
    let address = listener.address();
    thread::scope(|scope| {
        let accepted = scope.spawn(|| {
            let request = listener.accept(PATIENCE).unwrap().expect("a request");
            let options = options(server.0, server.1);
            request.accept(&server.0.domain, &server.0.queue, options, b"")
        });
        let ours = connect_to(client.0, client.1, address);
        (ours, accepted.join().unwrap())
    })
}

fn connect_to(machine: &Machine, rtr: Rtr, address: SocketAddr) -> Result<QueuePair, Error> {
    let options = ConnectOptions {
        revision: Revision::PeerToPeer,
        pair: options(machine, rtr),
        ..ConnectOptions::default()
    };
    connect(&machine.domain, &machine.queue, address, options).map(|(pair, _)| pair)
}

fn say(machine: &Machine, pair: &QueuePair, id: u64, words: &'static [u8]) {
    pair.post_send(WorkRequest::send(id, words)).unwrap();
    let done = machine.done();
    assert_eq!((done.id, done.status), (id, WorkStatus::Success));
}

fn hear(machine: &Machine, words: &[u8]) {
    let heard = machine.done();
    assert_eq!(heard.opcode, WorkOpcode::Receive);
    assert_eq!(heard.status, WorkStatus::Success);
    assert_eq!(
        heard.buffer.unwrap().to_vec()[..heard.length as usize],
        *words
    );
}

/// Closes the pair. Only the program's unused buffers are flushed: `buffers` of them.
fn flushed(machine: &Machine, pair: QueuePair, buffers: usize) {
    pair.close().unwrap();
    let mut count = 0;
    while let Some(work) = machine.queue.poll().unwrap() {
        match work {
            Work::Completion(done) => {
                assert_eq!(done.status, WorkStatus::Flushed);
                assert_eq!(done.opcode, WorkOpcode::Receive);
                count += 1;
            }
            Work::Event { event, .. } => {
                assert!(
                    matches!(
                        event,
                        PairEvent::Closed(CloseReason::Reset)
                            | PairEvent::StreamError(_)
                            | PairEvent::Terminating(_)
                    ),
                    "{event:?}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(count, buffers);
}

// req: MPA-START-10, MPA-START-35, MPA-START-36, AMB-29
#[test]
fn the_responder_speaks_first_behind_any_rtr_indication() {
    each(|engine| {
        let (client, server) = (Machine::new(engine, 41), Machine::new(engine, 42));
        for (ours, theirs) in [
            (SEND, SEND),
            (SEND, ALL),
            (ALL, SEND),
            (READ, ALL),
            (WRITE, ALL),
            (ALL, ALL),
        ] {
            let (ours, theirs) = pairs((&client, ours), (&server, theirs));
            let (ours, theirs) = (ours.unwrap(), theirs.unwrap());
            // Neither program has heard of the indication, and it has taken none of its buffers.
            say(&server, &theirs, 1, b"who is there?");
            hear(&client, b"who is there?");
            say(&client, &ours, 2, b"me");
            hear(&server, b"me");
            // A Send of no octets that is the program's own is none of the driver's.
            ours.post_send(WorkRequest::send(3, Data::none())).unwrap();
            assert_eq!(client.done().id, 3);
            hear(&server, b"");
            flushed(&server, theirs, 2);
            flushed(&client, ours, 3);
            client.empties();
            server.empties();
        }
    });
}

// req: MPA-ERR-18, MPA-START-36
#[test]
fn ends_without_a_common_rtr_indication_do_not_connect() {
    each(|engine| {
        let (client, server) = (Machine::new(engine, 43), Machine::new(engine, 44));
        for (ours, theirs) in [(SEND, WRITE), (WRITE, SEND), (READ, SEND)] {
            let (ours, theirs) = pairs((&client, ours), (&server, theirs));
            let Err(Error::StartUp { cause }) = ours else {
                panic!("{ours:?}");
            };
            assert_eq!(cause, FailureCause::NoRtr);
            // The Responder has done its part before it hears of that.
            if let Ok(pair) = theirs {
                let closed = loop {
                    match server.next() {
                        Work::Event { event, .. } => match event {
                            PairEvent::Terminated(terminate) => {
                                let cause = Cause::Lower(ErrorNumber::MpaNoMatchingRtr);
                                assert_eq!(terminate.cause, cause);
                            }
                            PairEvent::Closed(reason) => break reason,
                            _ => {}
                        },
                        Work::Completion(done) => assert_eq!(done.status, WorkStatus::Flushed),
                        other => panic!("{other:?}"),
                    }
                };
                assert!(matches!(closed, CloseReason::Finished | CloseReason::Reset));
                pair.close().unwrap();
            }
            client.empties();
            server.empties();
        }
    });
}

/// What the card sends as Initiator, at a plain socket: B in its Request, and a Send of no octets behind the Reply.
#[test]
fn the_first_fpdu_is_a_send_of_no_octets() {
    each(|engine| {
        let machine = Machine::new(engine, 45);
        let listener = TcpListener::bind(anywhere()).unwrap();
        let address = listener.local_addr().unwrap();
        thread::scope(|scope| {
            let connected = scope.spawn(|| connect_to(&machine, SEND, address).unwrap());
            let (mut socket, _) = listener.accept().unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut request = [0; 24];
            socket.read_exact(&mut request).unwrap();
            assert_eq!(request[20] & 0xC0, 0xC0, "A and B");
            assert_eq!(request[22] & 0xC0, 0, "neither C nor D");
            socket.write_all(&REPLY).unwrap();
            let mut fpdu = [0; 24];
            socket.read_exact(&mut fpdu).unwrap();
            assert_eq!(fpdu[..20], FIRST_SEND);
            drop(connected.join().unwrap());
        });
        machine.empties();
    });
}

/// The same Send at the card as Responder, and what is none: a message with octets, in a buffer of no octets.
// req: AMB-29
#[test]
fn a_longer_message_is_no_rtr_indication() {
    each(|engine| {
        let machine = Machine::new(engine, 46);
        let listener =
            Listener::bind(&machine.context, anywhere(), ListenOptions::default()).unwrap();
        for first in [&b""[..], b"x"] {
            let mut socket = TcpStream::connect(listener.address()).unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            socket.write_all(&REQUEST).unwrap();
            let request = listener.accept(PATIENCE).unwrap().expect("a request");
            let options = options(&machine, ALL);
            let pair = request
                .accept(&machine.domain, &machine.queue, options, b"")
                .unwrap();
            let mut reply = [0; 24];
            socket.read_exact(&mut reply).unwrap();
            assert_eq!(reply[20] & 0xC0, 0xC0, "A and B");
            assert_eq!(reply[22] & 0xC0, 0, "neither C nor D");
            // Nothing is sent before the indication.
            pair.post_send(WorkRequest::send(1, &b"hello"[..])).unwrap();
            let mut octets = Vec::new();
            let mut writer = FpduWriter::new(false, CrcField::Computed);
            let message = Message::Untagged {
                qn: 0,
                msn: 1,
                rsvd_ulp: [0x43, 0, 0, 0, 0],
            };
            writer
                .append_message(message, first, 1442, &mut octets)
                .unwrap();
            socket.write_all(&octets).unwrap();
            if first.is_empty() {
                assert_eq!(octets[..20], FIRST_SEND);
                let done = machine.done();
                assert_eq!((done.id, done.status), (1, WorkStatus::Success));
                flushed(&machine, pair, 4);
            } else {
                let terminate = loop {
                    match machine.next() {
                        Work::Event {
                            event: PairEvent::Terminating(terminate),
                            ..
                        } => break terminate,
                        Work::Event { .. } => {}
                        // The gate is open: MPA has found the FPDU valid (AMB-56).
                        Work::Completion(done) => assert_ne!(done.opcode, WorkOpcode::Read),
                        other => panic!("{other:?}"),
                    }
                };
                // Its first octet lies outside the buffer.
                let cause = Cause::Lower(ErrorNumber::UntaggedMo);
                assert_eq!(terminate.cause, cause);
                drop(pair);
            }
            drop(socket);
            machine.empties();
            while machine.queue.poll().unwrap().is_some() {}
        }
    });
}
