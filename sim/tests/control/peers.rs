//! Peers at plain sockets, who speak start frames by `wire::start`, or nothing, or nonsense.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, Type};

use crate::bench::{Host, PATIENCE, PROGRAMS, each};
use warpline_regmap::mailbox::{
    Accept, Armed, CardMessage, CloseReason, FailureCause, HostMessage, PrivateData, Rtr, Settings,
    StreamOptions,
};
use warpline_sim::PathOptions;
use warpline_wire::error_number::ErrorNumber;
use warpline_wire::send::{CrcField, FpduWriter, Message};
use warpline_wire::start::{self, Event, Initiator};

fn socket(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.set_nodelay(true).unwrap();
    socket
}

fn accept(host: &Host) -> Armed {
    let CardMessage::Requested(requested) = host.next() else {
        panic!("no REQUESTED");
    };
    host.send(&HostMessage::Accept(Accept {
        connection: requested.connection,
        ird: 0,
        ord: 0,
        rtr: Rtr::default(),
        stream: StreamOptions::default(),
        private_data: PrivateData::EMPTY,
    }));
    match host.next() {
        CardMessage::Armed(armed) => armed,
        other => panic!("{other:?}"),
    }
}

/// The octets up to the peer's FIN or RST.
fn rest(socket: &mut TcpStream) -> Vec<u8> {
    let mut octets = Vec::new();
    match socket.read_to_end(&mut octets) {
        Ok(_) => octets,
        Err(error) if error.kind() == ErrorKind::ConnectionReset => octets,
        Err(error) => panic!("{error}"),
    }
}

// req: MPA-START-01, MPA-START-22, AMB-16
#[test]
fn the_first_octets_behind_the_reply_are_the_streams() {
    each(|engine| {
        for program in PROGRAMS {
            for path in [PathOptions::default(), PathOptions::rough(5)] {
                let host = Host::with(engine, program, path);
                let mut socket = socket(host.listen("127.0.0.1:0"));
                let settings = start::Settings::default();
                let mut peer = Initiator::new(settings, None, b"hello", 0, 0).unwrap();
                // Octet by octet, as TCP may.
                for octet in peer.output().to_vec() {
                    socket.write_all(&[octet]).unwrap();
                }
                peer.sent(peer.output().len());
                let armed = accept(&host);
                let connection = armed.connection;
                let before = host.edge(armed.stream);
                // FPDUs before the card has answered, against all rules: TCP keeps them for the stream.
                let mut octets = Vec::new();
                let message = Message::Tagged {
                    stag: 0x100,
                    to: 0,
                    rsvd_ulp: 0x40,
                };
                let mut writer = FpduWriter::new(false, CrcField::Computed);
                writer
                    .append_message(message, &[0x5a; 3000], 1442, &mut octets)
                    .unwrap();
                socket.write_all(&octets).unwrap();
                host.send(&HostMessage::Proceed { connection });
                assert_eq!(host.next(), CardMessage::Established { connection });
                let mut reply = [0; 20];
                socket.read_exact(&mut reply).unwrap();
                assert_eq!(peer.input(&reply), 20);
                assert_eq!(peer.poll(0), Some(Event::Replied));
                let end = before.wrapping_add(octets.len() as u32);
                host.until("the stream has all octets", |host| {
                    host.edge(armed.stream) == end
                });
                drop(socket);
                assert_eq!(host.next(), CardMessage::HalfClosed { connection });
                host.send(&HostMessage::Disconnect { connection });
                let finished = CardMessage::Closed {
                    connection,
                    reason: CloseReason::Finished,
                };
                assert_eq!(host.next(), finished);
                host.send(&HostMessage::Release { connection });
                host.empties();
            }
        }
    });
}

/// The peer's MSS is in its SYN; the card's TCP is the kernel's, which may take octets of it for options.
// req: MPA-SEG-23, MPA-SEG-24
#[test]
fn segments_are_as_small_as_the_peer_wants_them() {
    each(|engine| {
        let host = Host::new(engine, PROGRAMS[0]);
        let address = host.listen("127.0.0.1:0");
        for (mss, emss) in [
            (None, 1460..=1460),
            (Some(600), 560..=600),
            (Some(1400), 1360..=1400),
        ] {
            let socket = socket2::Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            if let Some(mss) = mss {
                socket.set_tcp_mss(mss).unwrap();
            }
            socket.connect(&address.into()).unwrap();
            let mut socket = TcpStream::from(socket);
            let peer = Initiator::new(start::Settings::default(), None, b"", 0, 0).unwrap();
            socket.write_all(peer.output()).unwrap();
            let armed = accept(&host);
            assert!(
                emss.contains(&armed.emss),
                "MSS {mss:?}: EMSS {}",
                armed.emss
            );
            let connection = armed.connection;
            host.send(&HostMessage::Abort { connection });
            assert!(matches!(host.next(), CardMessage::Closed { .. }));
            host.send(&HostMessage::Release { connection });
            host.empties();
        }
    });
}

// req: MPA-START-11, MPA-START-25, MPA-START-30, MPA-ERR-09, DDP-ERR-01, AMB-52
#[test]
fn peers_that_do_not_speak_mpa_are_closed() {
    each(|engine| {
        for program in PROGRAMS {
            let host = Host::new(engine, program);
            let address = host.listen("127.0.0.1:0");
            let mut wrong = socket(address);
            wrong.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            assert_eq!(rest(&mut wrong), b"");
            assert!(matches!(
                host.next(),
                CardMessage::Failed {
                    cause: FailureCause::Frame,
                    code: 4,
                    ..
                }
            ));

            host.send(&HostMessage::Configure(Settings {
                peer_time: 100,
                ..Settings::default()
            }));
            assert_eq!(host.next(), CardMessage::Configured);
            let mut silent = socket(address);
            assert_eq!(rest(&mut silent), b"");
            assert!(matches!(
                host.next(),
                CardMessage::Failed {
                    cause: FailureCause::TimedOut,
                    ..
                }
            ));

            drop(socket(address));
            assert!(matches!(
                host.next(),
                CardMessage::Failed {
                    cause: FailureCause::Closed,
                    ..
                }
            ));
            host.empties();
        }
    });
}

// req: AMB-23
#[test]
fn an_fpdu_that_never_ends_does() {
    each(|engine| {
        for program in PROGRAMS {
            let host = Host::new(engine, program);
            let address = host.listen("127.0.0.1:0");
            host.send(&HostMessage::Configure(Settings {
                idle_time: 200,
                ..Settings::default()
            }));
            assert_eq!(host.next(), CardMessage::Configured);
            let mut socket = socket(address);
            let peer = Initiator::new(start::Settings::default(), None, b"", 0, 0).unwrap();
            socket.write_all(peer.output()).unwrap();
            let armed = accept(&host);
            let connection = armed.connection;
            host.send(&HostMessage::Proceed { connection });
            assert_eq!(host.next(), CardMessage::Established { connection });
            let begin = std::time::Instant::now();
            socket.write_all(&[0, 100, 0x41]).unwrap();
            let timed_out = CardMessage::Closed {
                connection,
                reason: CloseReason::TimedOut,
            };
            assert_eq!(host.next(), timed_out);
            assert!(begin.elapsed().as_millis() >= 200);
            assert_eq!(rest(&mut socket).len(), 20, "only the Reply");
            host.send(&HostMessage::Release { connection });
            host.empties();
        }
    });
}

/// A stream in error is its host's to end, whatever the peer leaves incomplete.
// req: DDP-TEAR-17
#[test]
fn a_stream_in_error_outlives_the_time_of_an_fpdu() {
    const IDLE: u32 = 200;
    each(|engine| {
        for program in PROGRAMS {
            let host = Host::new(engine, program);
            let address = host.listen("127.0.0.1:0");
            host.send(&HostMessage::Configure(Settings {
                idle_time: IDLE,
                ..Settings::default()
            }));
            assert_eq!(host.next(), CardMessage::Configured);
            let mut socket = socket(address);
            let peer = Initiator::new(start::Settings::default(), None, b"", 0, 0).unwrap();
            socket.write_all(peer.output()).unwrap();
            let Armed {
                connection, stream, ..
            } = accept(&host);
            host.send(&HostMessage::Proceed { connection });
            assert_eq!(host.next(), CardMessage::Established { connection });
            // A Write to memory that is not there, and the head of another FPDU.
            let write = Message::Tagged {
                stag: 7,
                to: 0,
                rsvd_ulp: 0x40,
            };
            let mut octets = Vec::new();
            FpduWriter::new(false, CrcField::Computed)
                .append_message(write, b"x", 600, &mut octets)
                .unwrap();
            octets.extend([0, 100, 0x41]);
            socket.write_all(&octets).unwrap();
            host.until("its error record", |host| {
                host.error(stream) == Some(ErrorNumber::TaggedInvalidStag)
            });
            std::thread::sleep(Duration::from_millis(3 * u64::from(IDLE)));
            host.send(&HostMessage::Abort { connection });
            let reason = CloseReason::Aborted;
            assert_eq!(host.next(), CardMessage::Closed { connection, reason });
            assert_eq!(rest(&mut socket).len(), 20, "only the Reply");
            host.send(&HostMessage::Release { connection });
            host.empties();
        }
    });
}
