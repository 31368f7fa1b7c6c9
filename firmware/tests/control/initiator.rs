//! Connections that the host makes.

use crate::model::{
    Card, End, Request, WRITE, accept, answer, configure, connect, enhanced_settings,
};
use warpline_firmware::OpenError;
use warpline_regmap::layout::stream_context;
use warpline_regmap::mailbox::{
    Block, CardMessage, Connect, Depth, FailureCause, HostMessage, Offer, PrivateData, Refusal,
    Rtr, StreamOptions,
};
use warpline_regmap::transmit::transmit_context;
use warpline_wire::error_number::ErrorNumber;
use warpline_wire::rdmap::{Cause, Terminate};
use warpline_wire::receive::{Event, Receiver, ReceiverConfig, StreamConfig};
use warpline_wire::start::{Answer, Rtr as Kinds};

const ME: u16 = 0x8001;

const OFFER: Offer = Offer {
    ird: Depth::Negotiated(3),
    ord: Depth::Negotiated(9),
    rtr: Some(Rtr {
        send: true,
        ..WRITE
    }),
};

fn enhanced() -> Connect {
    Connect {
        offer: Some(OFFER),
        private_data: PrivateData::new(b"let me in").unwrap(),
        ..connect(ME)
    }
}

fn failed(cause: FailureCause, code: u8) -> CardMessage {
    CardMessage::Failed {
        connection: ME,
        cause,
        error_type: 3,
        code,
    }
}

// req: MPA-START-01, MPA-START-02, MPA-START-23, MPA-START-28, MPA-START-35, MPA-PRIV-09, MPA-PRIV-11, AMB-16
#[test]
fn a_reply_arms_the_stream_and_the_host_proceeds() {
    let mut card = Card::new();
    let (handle, mut peer) = card.connecting(Connect {
        stream: StreamOptions {
            protection_domain: 77,
            ..StreamOptions::default()
        },
        ..enhanced()
    });
    assert_eq!(peer.peer().unwrap().private_data, b"let me in");
    peer.accept(b"come in", &answer()).unwrap();
    card.tcp.sends(handle, peer.output());
    card.settle();
    let CardMessage::Armed(armed) = card.next() else {
        panic!("no ARMED");
    };
    assert_eq!((armed.connection, armed.revision), (ME, 2));
    assert_eq!(armed.private_data.as_slice(), b"come in");
    let settled = Block {
        ird: 3,
        ord: 8,
        peer_to_peer: true,
        rtr: WRITE,
    };
    assert_eq!((armed.settled, armed.peer_depths), (Some(settled), (8, 3)));
    let [(_, receive, _), (_, transmit, _)] = card.registers.log[..] else {
        panic!("{:?}", card.registers.log);
    };
    let reply = 20 + 4 + 7;
    let start = crate::model::PEER_FIRST.wrapping_add(reply);
    assert_eq!(
        stream_context::SEQUENCE_START.get(&receive),
        u64::from(start)
    );
    assert_eq!(stream_context::PROTECTION_DOMAIN.get(&receive), 77);
    let start = u64::from(crate::model::CARD_FIRST) + 20 + 4 + 9;
    assert_eq!(transmit_context::SEQUENCE_START.get(&transmit), start);
    assert_eq!(
        transmit_context::GATE.get(&transmit),
        0,
        "the Initiator sends first"
    );

    // What comes behind the Reply is the stream's.
    card.tcp.sends(handle, b"FPDU");
    card.settle();
    card.host(&HostMessage::Proceed { connection: ME });
    assert_eq!(card.next(), CardMessage::Established { connection: ME });
    let connection = card.tcp.at(handle);
    assert_eq!(
        connection.attached,
        Some((0, crate::model::PEER_FIRST.wrapping_add(reply)))
    );
    assert_eq!(connection.inbound, b"FPDU");
    assert_eq!(
        connection.outbound.len(),
        20 + 4 + 9,
        "only the Request was sent"
    );
}

// req: MPA-START-28, AMB-28
#[test]
fn octets_that_come_with_the_reply_are_an_error() {
    let mut card = Card::new();
    let (handle, mut peer) = card.connecting(connect(ME));
    peer.accept(b"", &answer()).unwrap();
    let mut octets = peer.output().to_vec();
    octets.push(0);
    card.tcp.sends(handle, &octets);
    card.settle();
    assert_eq!(card.next(), failed(FailureCause::EarlyOctets, 4));
    assert_eq!(card.tcp.ended[&handle].0, End::Closed);
    card.empty();
}

// req: AMB-16
#[test]
fn nothing_is_read_behind_the_reply() {
    let mut card = Card::new();
    let (handle, mut peer) = card.connecting(connect(ME));
    peer.accept(b"", &answer()).unwrap();
    let reply = peer.output().to_vec();
    // The first octets of the stream arrive between two reads.
    card.tcp.chunk = Some(reply.len());
    card.tcp.sends(handle, &reply);
    card.tcp.sends(handle, b"FPDU");
    card.settle();
    assert!(matches!(card.next(), CardMessage::Armed(_)));
    assert_eq!(card.tcp.at(handle).inbound, b"FPDU");
}

// req: MPA-START-28, MPA-PRIV-09, AMB-30
#[test]
fn a_rejection_is_passed_on_and_tcp_closed_by_fins() {
    let mut card = Card::new();
    let (handle, mut peer) = card.connecting(enhanced());
    let wanted = Answer {
        ird: 1,
        ord: 60,
        rtr: Kinds::READ,
    };
    peer.reject(b"full", &wanted).unwrap();
    card.tcp.sends(handle, peer.output());
    card.settle();
    let block = Block {
        ird: 1,
        ord: 60,
        peer_to_peer: true,
        rtr: Rtr {
            read: true,
            ..Rtr::default()
        },
    };
    assert_eq!(
        card.next(),
        CardMessage::Rejected {
            connection: ME,
            block: Some(block),
            private_data: PrivateData::new(b"full").unwrap(),
        }
    );
    assert!(card.tcp.at(handle).fin);
    // The number is free although TCP still closes.
    card.host(&HostMessage::Connect(connect(ME)));
    card.quiet();
    card.host(&HostMessage::Release { connection: ME });
    card.tcp.finishes(handle);
    card.settle();
    card.empty();
}

// req: MPA-START-29, MPA-START-11, MPA-ERR-09
#[test]
fn two_initiators_and_malformed_replies() {
    let request = Request::default().initiator().output().to_vec();
    let mut wrong = request.clone();
    wrong[9] = b'x';
    for (octets, cause) in [
        (request, FailureCause::TwoInitiators),
        (wrong, FailureCause::Frame),
    ] {
        let mut card = Card::new();
        let (handle, _) = card.connecting(connect(ME));
        card.tcp.sends(handle, &octets);
        card.settle();
        assert_eq!(card.next(), failed(cause, 4));
        card.empty();
    }
}

/// The Terminate in the one FPDU of a failed start-up.
fn terminate(octets: &[u8], markers: bool) -> Terminate {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    let config = StreamConfig {
        markers,
        ..StreamConfig::default()
    };
    receiver.open(1, config).unwrap();
    receiver.enable_queue(1, 2, 1).unwrap();
    receiver.post(1, 2, 64).unwrap();
    let mut payload = Vec::new();
    let mut delivered = 0;
    let sink = &mut |event: Event<'_>| match event {
        Event::Place { octets, .. } => payload.extend_from_slice(octets),
        Event::Delivered { .. } => delivered += 1,
        other => panic!("{other:?}"),
    };
    receiver.receive(1, octets, sink).unwrap();
    assert_eq!(delivered, 1);
    Terminate::parse(&payload).unwrap()
}

// req: MPA-ERR-18
#[test]
fn failures_by_rfc_6581_are_terminated() {
    for markers in [false, true] {
        let mut card = Card::new();
        let (handle, _) = card.connecting(enhanced());
        let request = card.tcp.at(handle).outbound.len();
        let settings = warpline_wire::start::Settings {
            markers,
            ..enhanced_settings()
        };
        let mut peer = warpline_wire::start::Responder::new(settings, 0);
        peer.input(&card.tcp.at(handle).outbound.clone());
        let greedy = Answer {
            ord: 60,
            ..answer()
        };
        // A Responder lowers its ORD to what was offered: one that does not is made by hand.
        peer.accept(b"", &greedy).unwrap();
        let mut reply = peer.output().to_vec();
        reply[22] |= 0x00;
        reply[23] = 60;
        card.tcp.makes_room(handle, 10);
        card.tcp.sends(handle, &reply);
        card.settle();
        assert_eq!(card.next(), failed(FailureCause::InsufficientIrd, 6));
        assert_eq!(card.tcp.at(handle).outbound.len(), request + 10);
        assert!(!card.tcp.at(handle).fin);
        card.tcp.makes_room(handle, usize::MAX);
        card.settle();
        let outbound = card.tcp.at(handle).outbound[request..].to_vec();
        let cause = Cause::Lower(ErrorNumber::MpaInsufficientIrd);
        assert_eq!(terminate(&outbound, markers).cause, cause);
        assert!(card.tcp.at(handle).fin);
        card.tcp.finishes(handle);
        card.settle();
        card.empty();
    }

    let mut card = Card::new();
    let (handle, mut peer) = card.connecting(enhanced());
    let request = card.tcp.at(handle).outbound.len();
    let read = Answer {
        rtr: Kinds::READ,
        ..answer()
    };
    peer.accept(b"", &read).unwrap();
    card.tcp.sends(handle, peer.output());
    card.settle();
    assert_eq!(card.next(), failed(FailureCause::NoRtr, 7));
    let cause = Cause::Lower(ErrorNumber::MpaNoMatchingRtr);
    let outbound = card.tcp.at(handle).outbound[request..].to_vec();
    assert_eq!(terminate(&outbound, false).cause, cause);
}

// req: MPA-ERR-18
#[test]
fn without_a_stream_the_peer_is_told() {
    for revision in [1, 2] {
        let mut card = Card::new();
        card.registers.no_stream.extend(0..16);
        let message = if revision == 2 {
            enhanced()
        } else {
            connect(ME)
        };
        let (handle, mut peer) = card.connecting(message);
        let request = card.tcp.at(handle).outbound.len();
        peer.accept(b"", &answer()).unwrap();
        card.tcp.sends(handle, peer.output());
        card.settle();
        assert_eq!(card.next(), failed(FailureCause::NoStream, 5));
        if revision == 2 {
            let outbound = card.tcp.at(handle).outbound[request..].to_vec();
            let cause = Cause::Lower(ErrorNumber::MpaLocalCatastrophic);
            assert_eq!(terminate(&outbound, false).cause, cause);
            card.tcp.finishes(handle);
            card.settle();
        }
        card.empty();
    }
}

// req: MPA-START-30, AMB-52
#[test]
fn a_peer_that_cannot_be_reached_or_stays_silent() {
    let mut card = Card::new();
    card.host(&HostMessage::Connect(connect(ME)));
    let handle = *card.tcp.open.keys().last().unwrap();
    card.tcp.resets(handle);
    card.settle();
    assert_eq!(card.next(), failed(FailureCause::Unreachable, 1));
    card.empty();

    // The time counts from CONNECT, whether TCP connects or not.
    for connects in [false, true] {
        card.host(&HostMessage::Connect(connect(ME)));
        let handle = *card.tcp.open.keys().last().unwrap();
        card.pass(4_000);
        if connects {
            card.tcp.answers(handle);
        }
        card.pass(5_999);
        card.quiet();
        card.pass(1);
        assert_eq!(card.next(), failed(FailureCause::TimedOut, 1));
        assert_eq!(card.tcp.ended[&handle].0, End::Aborted);
        card.empty();
    }
}

#[test]
fn the_request_is_sent_as_tcp_takes_it_and_the_reply_read_behind_it() {
    let mut card = Card::new();
    card.host(&HostMessage::Connect(enhanced()));
    let handle = *card.tcp.open.keys().last().unwrap();
    card.tcp.makes_room(handle, 8);
    card.tcp.answers(handle);
    card.tcp.sends(handle, b"too early");
    card.settle();
    assert_eq!(card.tcp.at(handle).outbound.len(), 8);
    assert_eq!(
        card.tcp.at(handle).inbound.len(),
        9,
        "read before the Request was sent"
    );
    card.tcp.makes_room(handle, usize::MAX);
    card.settle();
    assert_eq!(card.next(), failed(FailureCause::Frame, 4));
}

#[test]
fn connects_that_are_refused() {
    let mut card = Card::new();
    let deep = |depth| Connect {
        offer: Some(Offer {
            ird: Depth::Negotiated(depth),
            ..OFFER
        }),
        ..connect(ME)
    };
    let no_rtr = Connect {
        offer: Some(Offer {
            rtr: Some(Rtr::default()),
            ..OFFER
        }),
        ..connect(ME)
    };
    let long = Connect {
        private_data: PrivateData::new(&[0; 509]).unwrap(),
        ..enhanced()
    };
    let cases = [
        (connect(0x7fff), Refusal::Number),
        (deep(33), Refusal::Depth),
        (no_rtr, Refusal::Rtr),
        (long, Refusal::Private),
    ];
    for (message, reason) in cases {
        let number = message.connection;
        card.host(&HostMessage::Connect(message));
        let kind = 3;
        assert_eq!(
            card.next(),
            CardMessage::Refused {
                number,
                kind,
                reason
            }
        );
    }
    for (error, reason) in [
        (OpenError::Address, Refusal::Address),
        (OpenError::Full, Refusal::Full),
        (OpenError::Failed, Refusal::Network),
    ] {
        card.tcp.refuses = Some(error);
        card.host(&HostMessage::Connect(connect(ME)));
        let (number, kind) = (ME, 3);
        assert_eq!(
            card.next(),
            CardMessage::Refused {
                number,
                kind,
                reason
            }
        );
    }
    card.tcp.refuses = None;
    card.host(&configure(|settings| settings.enhanced = false));
    assert_eq!(card.next(), CardMessage::Configured);
    let refused = |reason| CardMessage::Refused {
        number: ME,
        kind: 3,
        reason,
    };
    card.host(&HostMessage::Connect(enhanced()));
    assert_eq!(card.next(), refused(Refusal::Enhanced));
    card.empty();
    card.host(&HostMessage::Connect(connect(ME)));
    card.quiet();
    card.host(&HostMessage::Connect(connect(ME)));
    assert_eq!(card.next(), refused(Refusal::Number));
    // It is no request either.
    card.host(&accept(ME));
    let (number, kind) = (ME, 4);
    let reason = Refusal::State;
    assert_eq!(
        card.next(),
        CardMessage::Refused {
            number,
            kind,
            reason
        }
    );
    assert_eq!(card.usage().connections, 1);
}
