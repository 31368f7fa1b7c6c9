//! Two cards with their control programs and hosts, over TCP.

use crate::bench::{Engine, Host, PROGRAMS, each};
use warpline_regmap::mailbox::{
    Accept, Armed, Block, CardMessage, CloseReason, Connect, Depth, FailureCause, HostMessage,
    Offer, PrivateData, Refusal, Reject, Requested, Rtr, Settings, StreamOptions, Transport,
};
use warpline_sim::PathOptions;
use warpline_wire::error_number::ErrorNumber;

const ME: u16 = 0x8000;

const WRITE: Rtr = Rtr {
    send: false,
    write: true,
    read: false,
};

fn connect(host: &Host, connection: u16, address: std::net::SocketAddr) {
    let offer = Offer {
        ird: Depth::Negotiated(3),
        ord: Depth::Negotiated(5),
        rtr: Some(WRITE),
    };
    host.send(&HostMessage::Connect(Connect {
        connection,
        transport: Transport::Tcp,
        address,
        offer: Some(offer),
        stream: StreamOptions::default(),
        private_data: PrivateData::new(b"may I").unwrap(),
    }));
}

fn requested(host: &Host) -> Requested {
    match host.next() {
        CardMessage::Requested(requested) => requested,
        other => panic!("{other:?}"),
    }
}

fn armed(host: &Host) -> Armed {
    match host.next() {
        CardMessage::Armed(armed) => armed,
        other => panic!("{other:?}"),
    }
}

fn accept(host: &Host, connection: u16) -> Armed {
    host.send(&HostMessage::Accept(Accept {
        connection,
        ird: 4,
        ord: 2,
        rtr: WRITE,
        stream: StreamOptions::default(),
        private_data: PrivateData::new(b"you may").unwrap(),
    }));
    armed(host)
}

fn closed(connection: u16, reason: CloseReason) -> CardMessage {
    CardMessage::Closed { connection, reason }
}

/// Both ends in full operation: the Initiator's number, the Responder's.
fn establish(ours: &Host, theirs: &Host, connection: u16, address: std::net::SocketAddr) -> u16 {
    connect(ours, connection, address);
    let request = requested(theirs);
    assert_eq!((request.listener, request.revision), (1, 2));
    assert_eq!(request.private_data.as_slice(), b"may I");
    let other = request.connection;
    let armed_there = accept(theirs, other);
    assert!(armed_there.crc && armed_there.settled.is_some_and(|block| block.rtr == WRITE));
    theirs.send(&HostMessage::Proceed { connection: other });
    assert_eq!(
        theirs.next(),
        CardMessage::Established { connection: other }
    );
    let armed_here = armed(ours);
    assert_eq!(armed_here.private_data.as_slice(), b"you may");
    let settled = Block {
        ird: 3,
        ord: 4,
        peer_to_peer: true,
        rtr: WRITE,
    };
    assert_eq!(armed_here.settled, Some(settled));
    ours.send(&HostMessage::Proceed { connection });
    assert_eq!(ours.next(), CardMessage::Established { connection });
    other
}

// req: MPA-START-01, MPA-START-23, MPA-START-24, MPA-START-26, MPA-START-28, DDP-TEAR-09, DDP-TEAR-10, LLP-09, LLP-10
#[test]
fn connections_are_set_up_and_closed_by_fins() {
    each(|engine| {
        for program in PROGRAMS {
            let (ours, theirs) = (
                Host::new(engine, program),
                Host::with(engine, program, PathOptions::rough(9)),
            );
            for (round, listen) in ["127.0.0.1:0", "[::1]:0"].into_iter().enumerate() {
                let address = theirs.listen(listen);
                let connection = ME + round as u16;
                let other = establish(&ours, &theirs, connection, address);
                ours.send(&HostMessage::Disconnect { connection });
                assert_eq!(theirs.next(), CardMessage::HalfClosed { connection: other });
                theirs.send(&HostMessage::Disconnect { connection: other });
                assert_eq!(theirs.next(), closed(other, CloseReason::Finished));
                assert_eq!(ours.next(), CardMessage::HalfClosed { connection });
                assert_eq!(ours.next(), closed(connection, CloseReason::Finished));
                ours.send(&HostMessage::Release { connection });
                theirs.send(&HostMessage::Release { connection: other });
                theirs.send(&HostMessage::Unlisten { listener: 1 });
                ours.empties();
                theirs.empties();
            }
        }
    });
}

/// TCP's connection first; then each end enables both directions before it lets the other one know, and nothing flows in between
/// (RFC 5041 §6.1).
// req: DDP-TEAR-01, DDP-TEAR-02, MPA-START-01, MPA-START-02
#[test]
fn both_directions_are_enabled_at_both_ends() {
    each(|engine| {
        let (ours, theirs) = (
            Host::new(engine, PROGRAMS[0]),
            Host::new(engine, PROGRAMS[0]),
        );
        let address = theirs.listen("127.0.0.1:0");
        connect(&ours, ME, address);
        let other = requested(&theirs).connection;
        // TCP connects both ends, and DDP is enabled at none.
        assert_eq!(
            (ours.connections.counts().0, theirs.connections.counts().0),
            (1, 1)
        );
        assert_eq!(
            (ours.sends(0), theirs.sends(0)),
            ((false, false), (false, false))
        );
        let there = accept(&theirs, other).stream;
        assert!(theirs.receives(there), "the Responder's end, inbound");
        assert_eq!(
            theirs.sends(there),
            (true, false),
            "outbound, and its gate is closed"
        );
        assert_eq!(ours.sends(0), (false, false), "the Initiator has no Reply");
        let before = theirs.edge(there);
        theirs.send(&HostMessage::Proceed { connection: other });
        assert_eq!(
            theirs.next(),
            CardMessage::Established { connection: other }
        );
        let here = armed(&ours).stream;
        assert!(ours.receives(here), "the Initiator's end, inbound");
        assert_eq!(ours.sends(here), (true, true), "outbound: it sends first");
        ours.send(&HostMessage::Proceed { connection: ME });
        assert_eq!(ours.next(), CardMessage::Established { connection: ME });
        assert_eq!(
            theirs.edge(there),
            before,
            "no octet of the stream before that"
        );
        ours.send(&HostMessage::Abort { connection: ME });
        assert_eq!(ours.next(), closed(ME, CloseReason::Aborted));
        assert_eq!(theirs.next(), closed(other, CloseReason::Reset));
    });
}

/// Switches all time-outs off.
fn patient(host: &Host) {
    host.send(&HostMessage::Configure(Settings {
        peer_time: 0,
        host_time: 0,
        ..Settings::default()
    }));
    assert_eq!(host.next(), CardMessage::Configured);
}

/// A restart of the program between any two messages: the host's streams stay the host's, report that their connections are lost,
/// and are all usable again once they are closed.
// req: LLP-10, DDP-TEAR-12
#[test]
fn a_control_program_begins_anew() {
    each(|engine| {
        for program in PROGRAMS {
            let mut host = Host::new(engine, program);
            let theirs = Host::new(engine, PROGRAMS[0]);
            // The soft processor takes its time, and the engine that sends has no part in it.
            let steps: &[usize] = match program.soft_processor || engine == Engine::Rtl {
                false => &[0, 1, 2, 3, 4, 5],
                true => &[2, 4],
            };
            for &step in steps {
                patient(&host);
                patient(&theirs);
                let address = theirs.listen("127.0.0.1:0");
                // One connection that is established, and one that gets as far as `step`.
                let first = establish(&host, &theirs, ME, address);
                connect(&host, ME + 1, address);
                host.taken();
                let mut streams = vec![0];
                if step > 0 {
                    let second = requested(&theirs).connection;
                    if step > 1 {
                        accept(&theirs, second);
                        theirs.send(&HostMessage::Proceed { connection: second });
                        let established = CardMessage::Established { connection: second };
                        assert_eq!(theirs.next(), established);
                    }
                    if step > 2 {
                        streams.push(armed(&host).stream);
                    }
                    if step > 3 {
                        host.send(&HostMessage::Proceed { connection: ME + 1 });
                    }
                    if step > 4 {
                        assert_eq!(host.next(), CardMessage::Established { connection: ME + 1 });
                    }
                }
                host.restart();
                host.until("the peer hears of it", |_| {
                    theirs.connections.counts().0 == 0
                });
                // The first stream says so as well, since it had its connection.
                host.until("its error record", |host| {
                    host.error(0) == Some(ErrorNumber::MpaConnection)
                });
                // Its connection is unknown; a message of before may come first.
                host.send(&HostMessage::Disconnect { connection: ME });
                loop {
                    match host.next() {
                        CardMessage::Refused {
                            number: ME, reason, ..
                        } => {
                            assert_eq!(reason, Refusal::Unknown);
                            break;
                        }
                        CardMessage::Armed(armed) => streams.push(armed.stream),
                        CardMessage::Refused { number, .. }
                        | CardMessage::Established { connection: number } => {
                            assert_eq!(number, ME + 1);
                        }
                        other => panic!("{other:?}"),
                    }
                }
                assert_eq!(host.sends(0), (true, true), "it is the host's");
                for stream in streams {
                    host.close_stream(stream);
                }
                let still = (0..16).find(|stream| host.sends(*stream).0);
                assert_eq!(still, None, "behind step {step}");
                // What the peer has heard.
                theirs.send(&HostMessage::Release { connection: first });
                theirs.reset();
                theirs.empties();
            }
        }
    });
}

// req: MPA-START-27, MPA-START-28
#[test]
fn connections_are_rejected_and_refused() {
    each(|engine| {
        for program in PROGRAMS {
            let (ours, theirs) = (Host::new(engine, program), Host::new(engine, program));
            let address = theirs.listen("127.0.0.1:0");
            connect(&ours, ME, address);
            let connection = requested(&theirs).connection;
            theirs.send(&HostMessage::Reject(Reject {
                connection,
                ird: 0,
                ord: 9,
                rtr: WRITE,
                private_data: PrivateData::new(b"no").unwrap(),
            }));
            match ours.next() {
                CardMessage::Rejected {
                    connection,
                    block,
                    private_data,
                } => {
                    assert_eq!((connection, private_data.as_slice()), (ME, &b"no"[..]));
                    assert_eq!(block.map(|block| block.ord), Some(9));
                }
                other => panic!("{other:?}"),
            }
            ours.empties();
            theirs.empties();
            // Nobody listens any more.
            theirs.send(&HostMessage::Unlisten { listener: 1 });
            theirs.send(&HostMessage::Proceed { connection });
            let refused = CardMessage::Refused {
                number: connection,
                kind: 6,
                reason: Refusal::Unknown,
            };
            assert_eq!(theirs.next(), refused);
            connect(&ours, ME, address);
            assert!(matches!(
                ours.next(),
                CardMessage::Failed {
                    connection: ME,
                    cause: FailureCause::Unreachable,
                    ..
                }
            ));
            ours.empties();
        }
    });
}

// req: DDP-TEAR-12, MPA-ERR-03
#[test]
fn an_abort_reaches_the_other_end() {
    each(|engine| {
        for program in PROGRAMS {
            let (ours, theirs) = (Host::new(engine, program), Host::new(engine, program));
            let address = theirs.listen("127.0.0.1:0");
            let other = establish(&ours, &theirs, ME, address);
            theirs.send(&HostMessage::Abort { connection: other });
            assert_eq!(theirs.next(), closed(other, CloseReason::Aborted));
            assert_eq!(ours.next(), closed(ME, CloseReason::Reset));
            ours.send(&HostMessage::Release { connection: ME });
            theirs.send(&HostMessage::Release { connection: other });
            // The streams are free again, and a reset of the device takes everything with it.
            let other = establish(&ours, &theirs, ME + 1, address);
            theirs.reset();
            assert_eq!(ours.next(), closed(ME + 1, CloseReason::Reset));
            theirs.empties();
            theirs.send(&HostMessage::Abort { connection: other });
            assert!(matches!(
                theirs.next(),
                CardMessage::Refused {
                    reason: Refusal::Unknown,
                    ..
                }
            ));
        }
    });
}

// req: LLP-10
#[test]
fn a_stream_that_its_host_closes_takes_the_connection_with_it() {
    each(|engine| {
        for program in PROGRAMS {
            let (ours, theirs) = (Host::new(engine, program), Host::new(engine, program));
            let address = theirs.listen("127.0.0.1:0");
            for round in 0..2 {
                let other = establish(&ours, &theirs, ME + round, address);
                theirs.close_stream(0);
                assert_eq!(theirs.next(), closed(other, CloseReason::Aborted));
                theirs.send(&HostMessage::Release { connection: other });
                assert_eq!(ours.next(), closed(ME + round, CloseReason::Reset));
                ours.close_stream(0);
                ours.send(&HostMessage::Release {
                    connection: ME + round,
                });
                ours.empties();
                theirs.empties();
            }
        }
    });
}

// req: LLP-10
#[test]
fn connections_come_and_go_on_all_streams() {
    each(|engine| {
        for program in PROGRAMS {
            let (ours, theirs) = (Host::new(engine, program), Host::new(engine, program));
            let address = theirs.listen("127.0.0.1:0");
            // All streams at once, then some of them again.
            for (round, streams) in [(0, 16), (1, 3)] {
                let mut open = Vec::new();
                for index in 0..streams {
                    let connection = ME + 16 * round + index;
                    open.push((connection, establish(&ours, &theirs, connection, address)));
                }
                for (connection, other) in open {
                    ours.send(&HostMessage::Release { connection });
                    assert_eq!(theirs.next(), closed(other, CloseReason::Reset));
                    theirs.send(&HostMessage::Release { connection: other });
                }
                ours.empties();
                theirs.empties();
            }
        }
    });
}
