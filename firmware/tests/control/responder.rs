//! Connections that a listener accepts: from the Request to full operation, rejection, and everything wrong with a peer.

use crate::model::{
    CARD_FIRST, Card, End, LISTENER, PEER_FIRST, Request, WRITE, accept, accept_with, configure,
    connect, enhanced_settings,
};
use warpline_firmware::ConnectionError;
use warpline_regmap::layout::stream_context;
use warpline_regmap::mailbox::{
    Accept, Block, CardMessage, CloseReason, FailureCause, HostMessage, PrivateData, Refusal,
    Reject, Rtr, StreamOptions,
};
use warpline_regmap::register::command::{ARM_STREAM, CLOSE_STREAM};
use warpline_regmap::transmit::{ARM_TRANSMIT, transmit_context};
use warpline_wire::start::{self, Depth, Enhanced, Frame, Kind, Progress};

fn reply(octets: &[u8]) -> (Frame<'_>, usize) {
    match Frame::parse(octets, Kind::Reply) {
        Ok(Progress::Complete { frame, len }) => (frame, len),
        other => panic!("no Reply: {other:?}"),
    }
}

fn failed(connection: u16, cause: FailureCause, code: u8) -> CardMessage {
    CardMessage::Failed {
        connection,
        cause,
        error_type: 3,
        code,
    }
}

// req: MPA-START-01, MPA-START-02, MPA-START-08, MPA-START-10, MPA-START-24, MPA-START-26, MPA-PRIV-05, MPA-PRIV-09, AMB-16, AMB-29
#[test]
fn a_request_is_accepted() {
    let (mut card, listener) = Card::listening();
    let request = Request {
        private_data: b"user 7".to_vec(),
        ..Request::default()
    };
    let (handle, mut peer, requested) = card.requested(listener, &request);
    assert_eq!(requested.listener, LISTENER);
    assert!(requested.connection < 0x8000);
    assert_eq!(requested.revision, 1);
    assert_eq!(requested.block, None);
    assert_eq!(requested.private_data.as_slice(), b"user 7");
    assert_eq!(requested.address, card.tcp.at(handle).peer);
    assert_eq!(
        card.registers.log,
        [],
        "a stream before the host has answered"
    );

    let options = StreamOptions {
        protection_domain: 0x1234,
        queues: 0b101,
        tagged_completions: true,
        strict_mo: false,
        msn_window: true,
        long_ulpdus: true,
        receive_msn: 0xffff_ffff,
        send_msn: 7,
    };
    let connection = requested.connection;
    card.host(&accept_with(connection, b"welcome", options));
    let CardMessage::Armed(armed) = card.next() else {
        panic!("no ARMED");
    };
    assert_eq!(
        (armed.connection, armed.stream, armed.emss),
        (connection, 0, 1448)
    );
    assert_eq!((armed.revision, armed.crc), (1, true));
    assert!(!armed.send_markers && !armed.receive_markers);
    assert_eq!((armed.settled, armed.peer_depths), (None, (0, 0)));

    // Both directions, before anything is sent.
    let reply_len = 20 + 7;
    let [(first, receive, true), (second, transmit, true)] = card.registers.log[..] else {
        panic!("{:?}", card.registers.log);
    };
    assert_eq!((first, second), (ARM_STREAM, ARM_TRANSMIT));
    let start = PEER_FIRST.wrapping_add(20 + 6);
    assert_eq!(
        stream_context::SEQUENCE_START.get(&receive),
        u64::from(start)
    );
    assert_eq!(stream_context::PROTECTION_DOMAIN.get(&receive), 0x1234);
    assert_eq!(stream_context::QUEUES.get(&receive), 0b101);
    assert_eq!(stream_context::FIRST_MSN.get(&receive), 0xffff_ffff);
    assert_eq!(stream_context::TAGGED_COMPLETIONS.get(&receive), 1);
    assert_eq!(stream_context::STRICT_MO.get(&receive), 0);
    assert_eq!(stream_context::MSN_WINDOW.get(&receive), 1);
    assert_eq!(stream_context::LONG_ULPDUS.get(&receive), 1);
    assert_eq!(stream_context::CRC.get(&receive), 1);
    assert_eq!(stream_context::MARKERS.get(&receive), 0);
    let start = u64::from(CARD_FIRST) + reply_len;
    assert_eq!(transmit_context::SEQUENCE_START.get(&transmit), start);
    assert_eq!(transmit_context::FIRST_MSN.get(&transmit), 7);
    assert_eq!(transmit_context::EMSS.get(&transmit), 1448);
    assert_eq!(
        transmit_context::GATE.get(&transmit),
        1,
        "the Responder may not send first"
    );
    assert_eq!(transmit_context::CRC.get(&transmit), 1);
    assert_eq!(
        card.tcp.at(handle).outbound,
        [],
        "a Reply before the host has its rings"
    );
    assert_eq!(card.tcp.at(handle).attached, None);

    card.host(&HostMessage::Proceed { connection });
    assert_eq!(card.next(), CardMessage::Established { connection });
    let outbound = card.tcp.at(handle).outbound.clone();
    assert_eq!(peer.input(&outbound), outbound.len());
    assert_eq!(outbound.len() as u64, reply_len);
    assert_eq!(peer.poll(0), Some(start::Event::Replied));
    assert_eq!(peer.peer().unwrap().private_data, b"welcome");
    let attached = (0, PEER_FIRST.wrapping_add(20 + 6));
    assert_eq!(card.tcp.at(handle).attached, Some(attached));
    card.quiet();
}

// req: MPA-START-35, MPA-START-36, MPA-PRIV-11
#[test]
fn depths_and_rtr_indications_are_settled() {
    let (mut card, listener) = Card::listening();
    let request = Request {
        enhanced: Some(Enhanced {
            ird: Depth::Negotiated(1),
            ord: Depth::Ulp(5),
            rtr: Some(start::Rtr::WRITE | start::Rtr::READ),
        }),
        private_data: vec![0x77; 508],
        ..Request::default()
    };
    let (handle, mut peer, requested) = card.requested(listener, &request);
    let asked = Block {
        ird: 1,
        ord: 0x3fff,
        peer_to_peer: true,
        rtr: Rtr {
            read: true,
            ..WRITE
        },
    };
    assert_eq!((requested.revision, requested.block), (2, Some(asked)));
    assert_eq!(requested.private_data.as_slice(), [0x77; 508]);

    let connection = requested.connection;
    card.host(&accept(connection));
    let CardMessage::Armed(armed) = card.next() else {
        panic!("no ARMED");
    };
    let settled = Block {
        ird: 4,
        ord: 1,
        peer_to_peer: true,
        rtr: WRITE,
    };
    assert_eq!(
        (armed.settled, armed.peer_depths),
        (Some(settled), (1, 0x3fff))
    );
    card.host(&HostMessage::Proceed { connection });
    let outbound = card.tcp.at(handle).outbound.clone();
    peer.input(&outbound);
    assert_eq!(peer.poll(0), Some(start::Event::Replied));
    assert_eq!(
        peer.proceed().unwrap().agreement.unwrap().rtr,
        start::Rtr::WRITE
    );
}

/// Before any setting of the administrator: in the Request, and in the Reply to a peer that asks for none.
// req: MPA-CRC-02
#[test]
fn crcs_are_asked_for_without_a_setting() {
    let (mut card, listener) = Card::listening();
    let request = Request {
        settings: Some(start::Settings {
            crc_off: true,
            ..enhanced_settings()
        }),
        ..Request::default()
    };
    let (handle, _, requested) = card.requested(listener, &request);
    let connection = requested.connection;
    card.host(&accept(connection));
    assert!(matches!(card.next(), CardMessage::Armed(armed) if armed.crc));
    card.host(&HostMessage::Proceed { connection });
    let outbound = card.tcp.at(handle).outbound.clone();
    assert!(reply(&outbound).0.crc);

    let mut card = Card::new();
    let (handle, _) = card.connecting(connect(0x8000));
    // RFC 5044 §7.1.1: M, C, R, then five reserved bits.
    assert_eq!(card.tcp.at(handle).outbound[16] & 0xC0, 0x40);
}

// req: MPA-START-14, MPA-START-15, MPA-MRK-02, MPA-CRC-02, MPA-CRC-03, MPA-CRC-04, MPA-CRC-06, MPA-CRC-07, MPA-CRC-10, MPA-CRC-11
#[test]
fn crc_and_markers_follow_the_administrator_and_the_peer() {
    for case in 0..16_u32 {
        let [crc_off, force_crc, markers, peer_crc_off] = [1, 2, 4, 8].map(|bit| case & bit != 0);
        let (mut card, listener) = Card::listening();
        card.host(&configure(|settings| {
            (settings.crc_off, settings.force_crc) = (crc_off, force_crc);
            settings.markers = markers;
        }));
        assert_eq!(card.next(), CardMessage::Configured);
        let request = Request {
            settings: Some(start::Settings {
                crc_off: peer_crc_off,
                markers: !markers,
                ..enhanced_settings()
            }),
            ..Request::default()
        };
        let (handle, _, requested) = card.requested(listener, &request);
        let connection = requested.connection;
        card.host(&accept(connection));
        let CardMessage::Armed(armed) = card.next() else {
            panic!("no ARMED");
        };
        let crc = !crc_off || force_crc || !peer_crc_off;
        assert_eq!(armed.crc, crc, "{case:#06b}");
        assert_eq!(
            (armed.send_markers, armed.receive_markers),
            (!markers, markers)
        );
        let [(_, receive, _), (_, transmit, _)] = card.registers.log[..] else {
            panic!("{:?}", card.registers.log);
        };
        assert_eq!(stream_context::CRC.get(&receive), u64::from(crc));
        assert_eq!(transmit_context::CRC.get(&transmit), u64::from(crc));
        assert_eq!(stream_context::MARKERS.get(&receive), u64::from(markers));
        assert_eq!(
            transmit_context::MARKERS.get(&transmit),
            u64::from(!markers)
        );
        card.host(&HostMessage::Proceed { connection });
        let outbound = card.tcp.at(handle).outbound.clone();
        let (frame, _) = reply(&outbound);
        assert_eq!((frame.crc, frame.markers), (crc, markers));
    }
}

// req: MPA-START-27, MPA-PRIV-09, AMB-30
#[test]
fn a_request_is_rejected_and_tcp_closed_by_fins() {
    let (mut card, listener) = Card::listening();
    let (handle, mut peer, requested) = card.requested(listener, &Request::default());
    let connection = requested.connection;
    card.host(&HostMessage::Reject(Reject {
        connection,
        ird: 0,
        ord: 0,
        rtr: WRITE,
        private_data: PrivateData::new(b"no").unwrap(),
    }));
    card.quiet();
    let outbound = card.tcp.at(handle).outbound.clone();
    peer.input(&outbound);
    assert_eq!(peer.poll(0), Some(start::Event::Rejected));
    assert_eq!(peer.peer().unwrap().private_data, b"no");
    assert!(card.tcp.at(handle).fin, "a FIN, not a RST");
    // The number means nothing from now on.
    card.host(&accept(connection));
    refused(&mut card, connection, 4, Refusal::Unknown);
    card.tcp.sends(handle, b"streaming octets of a ULP");
    card.tcp.finishes(handle);
    card.settle();
    assert_eq!(card.tcp.ended[&handle].0, End::Closed);
    card.empty();
}

#[track_caller]
fn refused(card: &mut Card, number: u16, kind: u8, reason: Refusal) {
    assert_eq!(
        card.next(),
        CardMessage::Refused {
            number,
            kind,
            reason
        }
    );
}

// req: AMB-30, AMB-52
#[test]
fn a_peer_that_does_not_close_after_a_rejection_is_reset() {
    let (mut card, listener) = Card::listening();
    let (handle, _, requested) = card.requested(listener, &Request::default());
    card.tcp.makes_room(handle, 5);
    card.host(&HostMessage::Reject(Reject {
        connection: requested.connection,
        ird: 0,
        ord: 0,
        rtr: WRITE,
        private_data: PrivateData::EMPTY,
    }));
    assert_eq!(card.tcp.at(handle).outbound.len(), 5);
    assert!(!card.tcp.at(handle).fin, "a FIN in the middle of the Reply");
    card.tcp.makes_room(handle, usize::MAX);
    card.settle();
    assert_eq!(card.tcp.at(handle).outbound.len(), 20);
    assert!(card.tcp.at(handle).fin);
    card.pass(9_999);
    assert_eq!(card.tcp.open.len(), 1);
    card.pass(2);
    assert_eq!(card.tcp.ended[&handle].0, End::Aborted);
    card.empty();
}

// req: MPA-START-11, MPA-START-25, MPA-START-31, MPA-PRIV-07, MPA-ERR-09, AMB-25
#[test]
fn malformed_requests_end_the_connection_and_are_reported() {
    let mut request = Request::default().initiator().output().to_vec();
    let good = request.clone();
    request[3] ^= 1;
    let wrong_key = request.clone();
    request = good.clone();
    request[17] = 3;
    let revision = request.clone();
    request = good.clone();
    request[18..20].copy_from_slice(&513_u16.to_be_bytes());
    let too_long = request;
    for octets in [wrong_key, revision, too_long] {
        let (mut card, listener) = Card::listening();
        let handle = card.tcp.arrives(listener);
        card.tcp.sends(handle, &octets);
        card.settle();
        let (end, outbound) = card.tcp.ended[&handle].clone();
        assert_eq!((end, outbound.as_slice()), (End::Closed, &[][..]));
        assert!(matches!(
            card.next(),
            CardMessage::Failed {
                cause: FailureCause::Frame,
                error_type: 3,
                code: 4,
                ..
            }
        ));
        card.empty();
    }
}

// req: AMB-25
#[test]
fn a_peer_of_the_consortium_gets_a_reply_before_the_close() {
    let (mut card, listener) = Card::listening();
    let handle = card.tcp.arrives(listener);
    let mut octets = Request::default().initiator().output().to_vec();
    octets[17] = 0;
    card.tcp.sends(handle, &octets);
    card.settle();
    assert!(matches!(
        card.next(),
        CardMessage::Failed {
            cause: FailureCause::Frame,
            ..
        }
    ));
    let outbound = card.tcp.at(handle).outbound.clone();
    let (frame, _) = reply(&outbound);
    assert_eq!((frame.revision, frame.rejected), (1, true));
    assert!(card.tcp.at(handle).fin);
    card.tcp.finishes(handle);
    card.settle();
    assert_eq!(card.tcp.ended[&handle].0, End::Closed);
    card.empty();
}

// req: AMB-28
#[test]
fn octets_before_the_answer_end_the_request() {
    for late in [false, true] {
        let (mut card, listener) = Card::listening();
        let handle = card.tcp.arrives(listener);
        let mut octets = Request::default().initiator().output().to_vec();
        if late {
            card.tcp.sends(handle, &octets);
            card.settle();
            assert!(matches!(card.next(), CardMessage::Requested(_)));
            card.tcp.sends(handle, &[1]);
        } else {
            octets.push(1);
            card.tcp.sends(handle, &octets);
        }
        card.settle();
        let connection = card.usage().connections;
        assert_eq!(connection, 0);
        assert!(matches!(
            card.next(),
            CardMessage::Failed {
                cause: FailureCause::EarlyOctets,
                code: 4,
                ..
            }
        ));
        card.empty();
    }
}

// req: AMB-16, AMB-28
#[test]
fn octets_behind_the_request_stay_for_the_stream_once_it_is_answered() {
    let (mut card, listener) = Card::listening();
    let (handle, _, requested) = card.requested(listener, &Request::default());
    let connection = requested.connection;
    card.host(&accept(connection));
    assert!(matches!(card.next(), CardMessage::Armed(_)));
    card.tcp.sends(handle, b"early FPDU");
    card.settle();
    card.host(&HostMessage::Proceed { connection });
    assert_eq!(card.next(), CardMessage::Established { connection });
    let inbound: Vec<u8> = card.tcp.at(handle).inbound.iter().copied().collect();
    assert_eq!(
        inbound, b"early FPDU",
        "octets of the stream were read by the control program"
    );
    let attached = Some((0, PEER_FIRST.wrapping_add(20)));
    assert_eq!(card.tcp.at(handle).attached, attached);
}

// req: MPA-START-30, AMB-52
#[test]
fn silent_peers_and_silent_hosts_time_out() {
    let (mut card, listener) = Card::listening();
    let handle = card.tcp.arrives(listener);
    let octets = Request::default().initiator().output().to_vec();
    card.tcp.sends(handle, &octets[..octets.len() - 1]);
    card.pass(9_999);
    card.quiet();
    card.pass(1);
    assert_eq!(card.next(), failed(0, FailureCause::TimedOut, 1));
    assert_eq!(card.tcp.ended[&handle].0, End::Aborted);
    card.empty();

    // Both times are settings.
    card.host(&configure(|settings| settings.peer_time = 700));
    assert_eq!(card.next(), CardMessage::Configured);
    let handle = card.tcp.arrives(listener);
    card.pass(699);
    card.quiet();
    card.pass(1);
    let cause = FailureCause::TimedOut;
    assert!(matches!(card.next(), CardMessage::Failed { cause: found, .. } if found == cause));
    assert_eq!(card.tcp.ended[&handle].0, End::Aborted);
    card.empty();
    card.host(&configure(|settings| settings.host_time = 500));
    assert_eq!(card.next(), CardMessage::Configured);
    let (handle, _, requested) = card.requested(listener, &Request::default());
    card.pass(499);
    card.quiet();
    card.pass(1);
    let connection = requested.connection;
    assert_eq!(card.next(), failed(connection, FailureCause::Undecided, 1));
    assert_eq!(card.tcp.ended[&handle].0, End::Aborted);
    card.host(&accept(connection));
    refused(&mut card, connection, 4, Refusal::Unknown);
    card.empty();

    // The host accepts, and does not proceed.
    let (_, _, requested) = card.requested(listener, &Request::default());
    let connection = requested.connection;
    card.host(&accept(connection));
    assert!(matches!(card.next(), CardMessage::Armed(_)));
    card.pass(501);
    let reason = CloseReason::TimedOut;
    assert_eq!(card.next(), CardMessage::Closed { connection, reason });
    assert_eq!(
        card.registers.armed(),
        1,
        "the stream is the host's until it releases it"
    );
    card.host(&HostMessage::Release { connection });
    card.empty();
}

// req: MPA-START-25, MPA-PRIV-07
#[test]
fn a_fin_instead_of_the_rest_of_a_request() {
    for have in [0, 7] {
        let (mut card, listener) = Card::listening();
        let handle = card.tcp.arrives(listener);
        let octets = Request::default().initiator().output().to_vec();
        card.tcp.sends(handle, &octets[..have]);
        card.tcp.finishes(handle);
        card.settle();
        let (cause, code) = match have {
            0 => (FailureCause::Closed, 1),
            _ => (FailureCause::Truncated, 4),
        };
        assert_eq!(card.next(), failed(0, cause, code));
        card.empty();
    }
}

#[test]
fn a_request_may_come_octet_by_octet() {
    let (mut card, listener) = Card::listening();
    let handle = card.tcp.arrives(listener);
    let request = Request {
        private_data: vec![3; 512],
        ..Request::default()
    };
    let octets = request.initiator().output().to_vec();
    for octet in &octets {
        card.quiet();
        card.tcp.sends(handle, &[*octet]);
        card.settle();
    }
    let CardMessage::Requested(requested) = card.next() else {
        panic!("no REQUESTED");
    };
    assert_eq!(requested.private_data.as_slice(), [3; 512]);
}

#[test]
fn a_reply_is_sent_whole_before_the_connection_is_attached() {
    let (mut card, listener) = Card::listening();
    let (handle, _, requested) = card.requested(listener, &Request::default());
    let connection = requested.connection;
    card.host(&accept_with(
        connection,
        &[9; 100],
        StreamOptions::default(),
    ));
    assert!(matches!(card.next(), CardMessage::Armed(_)));
    card.tcp.makes_room(handle, 50);
    card.host(&HostMessage::Proceed { connection });
    card.quiet();
    assert_eq!(card.tcp.at(handle).outbound.len(), 50);
    assert_eq!(card.tcp.at(handle).attached, None);
    card.tcp.makes_room(handle, usize::MAX);
    card.settle();
    assert_eq!(card.next(), CardMessage::Established { connection });
    assert_eq!(card.tcp.at(handle).outbound.len(), 120);
    assert!(card.tcp.at(handle).attached.is_some());

    // A peer that does not take the Reply holds the connection only so long.
    let (handle, _, requested) = card.requested(listener, &Request::default());
    let connection = requested.connection;
    card.host(&accept(connection));
    assert!(matches!(card.next(), CardMessage::Armed(_)));
    card.tcp.makes_room(handle, 1);
    card.host(&HostMessage::Proceed { connection });
    card.pass(10_000);
    let reason = CloseReason::TimedOut;
    assert_eq!(card.next(), CardMessage::Closed { connection, reason });
}

#[test]
fn messages_that_do_not_fit_change_nothing() {
    let (mut card, listener) = Card::listening();
    let request = Request {
        enhanced: Some(Enhanced {
            ird: Depth::Negotiated(1),
            ord: Depth::Negotiated(1),
            rtr: None,
        }),
        ..Request::default()
    };
    let (_, _, requested) = card.requested(listener, &request);
    let connection = requested.connection;
    let good = Accept {
        connection,
        ird: 4,
        ord: 2,
        rtr: WRITE,
        stream: StreamOptions::default(),
        private_data: PrivateData::EMPTY,
    };
    let deep = Accept { ird: 33, ..good };
    let no_rtr = Accept {
        rtr: Rtr::default(),
        ..good
    };
    let long = Accept {
        private_data: PrivateData::new(&[0; 509]).unwrap(),
        ..good
    };
    for (message, reason) in [
        (deep, Refusal::Depth),
        (no_rtr, Refusal::Rtr),
        (long, Refusal::Private),
    ] {
        card.host(&HostMessage::Accept(message));
        refused(&mut card, connection, 4, reason);
    }
    for message in [
        HostMessage::Proceed { connection },
        HostMessage::Disconnect { connection },
    ] {
        card.host(&message);
        refused(&mut card, connection, message.kind() as u8, Refusal::State);
    }
    card.host(&HostMessage::Accept(good));
    assert!(matches!(card.next(), CardMessage::Armed(_)));
    card.host(&HostMessage::Accept(good));
    refused(&mut card, connection, 4, Refusal::State);
    let unknown = connection + 0x100;
    for message in [
        accept(unknown),
        HostMessage::Proceed {
            connection: unknown,
        },
        HostMessage::Abort {
            connection: unknown,
        },
        HostMessage::Release {
            connection: unknown,
        },
        HostMessage::Unlisten { listener: unknown },
    ] {
        card.host(&message);
        refused(&mut card, unknown, message.kind() as u8, Refusal::Unknown);
    }
    card.registers.host_window = [0x0007_00ff; 256];
    card.registers.host_pending = true;
    card.settle();
    refused(&mut card, 7, 0xff, Refusal::Message);
}

#[test]
fn the_next_stream_is_tried_if_one_is_refused() {
    let (mut card, listener) = Card::listening();
    card.registers.no_stream.extend([0, 1, 2]);
    let (_, _, first) = card.requested(listener, &Request::default());
    card.host(&accept(first.connection));
    let CardMessage::Armed(armed) = card.next() else {
        panic!("no ARMED");
    };
    assert_eq!(armed.stream, 3);

    card.registers.no_stream.extend(0..16);
    let (handle, _, second) = card.requested(listener, &Request::default());
    card.host(&accept(second.connection));
    assert_eq!(
        card.next(),
        failed(second.connection, FailureCause::NoStream, 5)
    );
    assert_eq!(card.tcp.ended[&handle].0, End::Aborted);
    assert_eq!(card.registers.armed(), 1);

    // The receiving side is armed and the sending side refused: it is closed again.
    card.registers.no_stream.clear();
    card.registers.no_transmit.extend(0..16);
    let (_, _, third) = card.requested(listener, &Request::default());
    card.host(&accept(third.connection));
    assert_eq!(
        card.next(),
        failed(third.connection, FailureCause::NoStream, 5)
    );
    assert_eq!(card.registers.log.last().unwrap().0, CLOSE_STREAM);
    assert_eq!(card.registers.armed(), 1);
    card.registers.host_closes(3);
    let connection = first.connection;
    card.host(&HostMessage::Release { connection });
    card.empty();
}

#[test]
fn the_network_fails_as_the_connection_is_attached() {
    for (error, reason) in [
        (ConnectionError::Lost, CloseReason::Reset),
        (ConnectionError::Failed, CloseReason::Network),
    ] {
        let (mut card, listener) = Card::listening();
        let (_, _, requested) = card.requested(listener, &Request::default());
        let connection = requested.connection;
        card.host(&accept(connection));
        assert!(matches!(card.next(), CardMessage::Armed(_)));
        card.tcp.attach_error = Some(error);
        card.host(&HostMessage::Proceed { connection });
        assert_eq!(card.next(), CardMessage::Closed { connection, reason });
        card.host(&HostMessage::Release { connection });
        card.empty();
    }
}
