//! Sessions of DDP over SCTP: Initiate, Accept, Reject and Terminate in place of start frames and FINs.

use crate::model::{
    Card, Control, End, LISTENER, Session, accept, accept_with, configure, connect,
};
use warpline_firmware::{Answer, Event, OpenError};
use warpline_regmap::layout::stream_context;
use warpline_regmap::mailbox::{
    Armed, CardMessage, CloseReason, Connect, FailureCause, HostMessage, Listen, PrivateData,
    Refusal, Reject, Rtr, StreamOptions, Transport,
};
use warpline_regmap::register::command::ARM_STREAM;
use warpline_regmap::sctp::sctp_context;
use warpline_regmap::transmit::{ARM_TRANSMIT, SET_EMSS, emss, transmit_context};
use warpline_wire::error_number::ErrorNumber;

const CONNECTION: u16 = 0x8000;
const PRIVATE: &[u8] = b"volume 7";

fn private(octets: &[u8]) -> PrivateData {
    PrivateData::new(octets).unwrap()
}

fn session(private_data: &[u8]) -> Connect {
    Connect {
        transport: Transport::Sctp,
        private_data: private(private_data),
        ..connect(CONNECTION)
    }
}

fn listening() -> (Card, u32) {
    let mut card = Card::new();
    let listener = card.listen_by(Transport::Sctp, LISTENER, 8);
    (card, listener)
}

fn sent(card: &mut Card, handle: u32) -> Vec<(Control, bool)> {
    card.tcp.at(handle).session.clone().unwrap().sent
}

#[track_caller]
fn armed(card: &mut Card) -> Armed {
    match card.next() {
        CardMessage::Armed(armed) => armed,
        other => panic!("{other:?}"),
    }
}

fn failed(cause: FailureCause) -> CardMessage {
    let number = ErrorNumber::MpaConnection;
    CardMessage::Failed {
        connection: CONNECTION,
        cause,
        error_type: number.error_type(),
        code: number.code(),
    }
}

/// Arguments of the last command of that number.
fn command(card: &Card, number: u32) -> [u32; 8] {
    let of_it = card.registers.log.iter().rev();
    let last = of_it.clone().find(|(command, ..)| *command == number);
    last.expect("the command was given").1
}

/// A session that a peer has asked for, up to `ESTABLISHED`: its handle, number and stream.
fn established(card: &mut Card, listener: u32) -> (u32, u16, u8) {
    let handle = card.tcp.initiates(listener, PRIVATE);
    card.settle();
    let CardMessage::Requested(requested) = card.next() else {
        panic!("no REQUESTED");
    };
    let connection = requested.connection;
    card.host(&accept(connection));
    let stream = armed(card).stream;
    card.host(&HostMessage::Proceed { connection });
    assert_eq!(card.next(), CardMessage::Established { connection });
    (handle, connection, stream)
}

// req: SCTP-SES-03, SCTP-SES-06, SCTP-SSN-03
#[test]
fn a_session_of_the_peer_is_accepted() {
    let (mut card, listener) = listening();
    card.tcp.segment = Some(1440);
    let handle = card.tcp.initiates(listener, PRIVATE);
    card.settle();
    let CardMessage::Requested(requested) = card.next() else {
        panic!("no REQUESTED");
    };
    assert_eq!(requested.private_data.as_slice(), PRIVATE);
    assert_eq!(requested.address, card.tcp.at(handle).peer);
    assert_eq!((requested.listener, requested.block), (LISTENER, None));
    let connection = requested.connection;
    let options = StreamOptions {
        protection_domain: 9,
        ..StreamOptions::default()
    };
    card.host(&accept_with(connection, b"come in", options));
    let armed = armed(&mut card);
    assert_eq!((armed.revision, armed.settled), (0, None));
    assert_eq!((armed.crc, armed.send_markers), (false, false));
    assert_eq!(armed.private_data, PrivateData::EMPTY);
    // Nothing is sent before the stream has its rings.
    assert_eq!(sent(&mut card, handle), []);
    card.pass(9_000);
    card.host(&HostMessage::Proceed { connection });
    assert_eq!(card.next(), CardMessage::Established { connection });
    // Accept comes first, then segments: both begin at number 1.
    let accept = Control::Accept(b"come in".into());
    assert_eq!(sent(&mut card, handle), [(accept, false)]);
    assert_eq!(card.tcp.at(handle).attached, Some((armed.stream, 1)));

    let words = command(&card, ARM_STREAM);
    assert_eq!(sctp_context::SCTP.get(&words), 1);
    assert_eq!(stream_context::SEQUENCE_START.get(&words), 1);
    assert_eq!(stream_context::PROTECTION_DOMAIN.get(&words), 9);
    let words = command(&card, ARM_TRANSMIT);
    assert_eq!(transmit_context::SEQUENCE_START.get(&words), 1);
    assert_eq!(transmit_context::CRC.get(&words), 0);
    assert_eq!(transmit_context::MARKERS.get(&words), 0);
    assert_eq!(transmit_context::GATE.get(&words), 0);
    // ULPDUs of 1440 octets: with length and CRC 1446, and FPDUs are multiples of four.
    assert_eq!(transmit_context::EMSS.get(&words), 1446);
    card.quiet();
}

// req: SCTP-SES-03, SCTP-SES-06
#[test]
fn a_session_of_the_card_is_accepted() {
    let mut card = Card::new();
    card.host(&HostMessage::Connect(session(PRIVATE)));
    let handle = *card.tcp.open.keys().last().unwrap();
    assert_eq!(sent(&mut card, handle), []);
    card.tcp.answers(handle);
    card.settle();
    let initiate = (Control::Initiate(PRIVATE.into()), false);
    assert_eq!(sent(&mut card, handle), std::slice::from_ref(&initiate));
    card.pass(9_000);
    card.quiet();
    card.tcp.decides(handle, Answer::Accepted, &[5; 512]);
    card.settle();
    let armed = armed(&mut card);
    assert_eq!(armed.private_data.as_slice(), [5; 512]);
    assert_eq!(armed.connection, CONNECTION);
    let connection = CONNECTION;
    card.host(&HostMessage::Proceed { connection });
    assert_eq!(card.next(), CardMessage::Established { connection });
    assert_eq!(sent(&mut card, handle), [initiate]);
    assert_eq!(card.tcp.at(handle).attached, Some((armed.stream, 1)));
    card.quiet();
}

#[test]
fn what_is_refused_leaves_nothing() {
    for (answer, message) in [
        (
            Answer::Rejected,
            CardMessage::Rejected {
                connection: CONNECTION,
                block: None,
                private_data: private(b"no"),
            },
        ),
        (Answer::Terminated, failed(FailureCause::Closed)),
    ] {
        let mut card = Card::new();
        card.host(&HostMessage::Connect(session(b"")));
        let handle = *card.tcp.open.keys().last().unwrap();
        card.tcp.answers(handle);
        card.settle();
        card.tcp.decides(handle, answer, b"no");
        card.settle();
        assert_eq!(card.next(), message, "{answer:?}");
        let how = match answer {
            Answer::Rejected => End::Closed,
            _ => End::Aborted,
        };
        assert_eq!(card.tcp.sessions[&handle].0, how);
        card.empty();
    }
}

#[test]
fn the_host_rejects_with_private_data() {
    let (mut card, listener) = listening();
    let handle = card.tcp.initiates(listener, b"");
    card.settle();
    let CardMessage::Requested(requested) = card.next() else {
        panic!("no REQUESTED");
    };
    let reject = Reject {
        connection: requested.connection,
        ird: 0,
        ord: 0,
        rtr: Rtr::default(),
        private_data: private(b"full"),
    };
    card.host(&HostMessage::Reject(reject));
    let (end, Session { sent, .. }) = &card.tcp.sessions[&handle];
    assert_eq!(*end, End::Closed);
    assert_eq!(*sent, [(Control::Reject(b"full".into()), false)]);
    card.empty();
    // A decision is made once.
    card.host(&HostMessage::Reject(reject));
    let (number, kind) = (requested.connection, 5);
    let reason = Refusal::Unknown;
    let refused = CardMessage::Refused {
        number,
        kind,
        reason,
    };
    assert_eq!(card.next(), refused);
}

#[test]
fn a_session_that_has_ended_is_not_accepted() {
    let (mut card, listener) = listening();
    card.tcp.initiates(listener, b"");
    card.settle();
    let CardMessage::Requested(requested) = card.next() else {
        panic!("no REQUESTED");
    };
    let connection = requested.connection;
    card.deaf = true; // the host's next messages cross CLOSED
    card.host(&configure(|_| {}));
    card.host(&HostMessage::Abort { connection });
    card.host(&accept(connection));
    card.deaf = false;
    card.settle();
    let reason = CloseReason::Aborted;
    assert!(
        card.messages
            .contains(&CardMessage::Closed { connection, reason })
    );
    assert!(
        !card
            .messages
            .iter()
            .any(|message| matches!(message, CardMessage::Failed { .. })),
        "{:?}",
        card.messages
    );
}

#[test]
fn time_is_limited() {
    // The peer's answer.
    for associated in [false, true] {
        let mut card = Card::new();
        card.host(&configure(|settings| settings.peer_time = 700));
        assert_eq!(card.next(), CardMessage::Configured);
        card.host(&HostMessage::Connect(session(b"")));
        let handle = *card.tcp.open.keys().last().unwrap();
        if associated {
            card.tcp.answers(handle);
            card.settle();
        }
        card.pass(699);
        card.quiet();
        card.pass(1);
        assert_eq!(card.next(), failed(FailureCause::TimedOut));
        card.empty();
    }
    // The host's decision.
    let (mut card, listener) = listening();
    card.host(&configure(|settings| settings.host_time = 300));
    assert_eq!(card.next(), CardMessage::Configured);
    let handle = card.tcp.initiates(listener, b"");
    card.settle();
    let CardMessage::Requested(_) = card.next() else {
        panic!("no REQUESTED");
    };
    card.pass(300);
    let CardMessage::Failed { cause, .. } = card.next() else {
        panic!("no FAILED");
    };
    assert_eq!(cause, FailureCause::Undecided);
    assert_eq!(card.tcp.sessions[&handle].0, End::Aborted);
    card.empty();
}

// req: DDP-TEAR-09, DDP-TEAR-10
#[test]
fn both_ends_terminate() {
    let (mut card, listener) = listening();
    let (handle, connection, stream) = established(&mut card, listener);
    card.registers.streams[usize::from(stream)].idle = false;
    card.host(&HostMessage::Disconnect { connection });
    card.pass(1_000);
    let terminates = |card: &mut Card| {
        let sent = sent(card, handle).into_iter();
        sent.filter(|(control, _)| *control == Control::Terminate)
            .count()
    };
    assert_eq!(
        terminates(&mut card),
        0,
        "Terminate in front of the send queue"
    );
    card.registers.streams[usize::from(stream)].idle = true;
    card.pass(5);
    assert_eq!(terminates(&mut card), 1);
    card.quiet();
    card.tcp.finishes(handle);
    card.settle();
    assert_eq!(card.next(), CardMessage::HalfClosed { connection });
    let reason = CloseReason::Finished;
    assert_eq!(card.next(), CardMessage::Closed { connection, reason });
    card.closes(stream);
    card.tcp.events.push_back((handle, Event::Detached));
    card.settle();
    card.host(&HostMessage::Release { connection });
    assert_eq!(card.tcp.sessions[&handle].0, End::Closed);
    card.empty();
}

// req: MPA-SEG-04
#[test]
fn the_largest_segment_follows_the_path() {
    let (mut card, listener) = listening();
    let (_, _, stream) = established(&mut card, listener);
    for (octets, expected) in [(516, 522), (1440, 1446), (40, 128), (u16::MAX, 65_535_u64)] {
        card.tcp.resegments(octets);
        card.settle();
        assert_eq!(emss::EMSS.get(&command(&card, SET_EMSS)), expected);
        assert_eq!(
            u64::from(card.registers.streams[usize::from(stream)].emss),
            expected
        );
    }
}

#[test]
fn a_chunk_that_stays_away_is_a_matter_of_sctp() {
    let (mut card, listener) = listening();
    let (_, _, stream) = established(&mut card, listener);
    card.registers.streams[usize::from(stream)].edge += 100;
    card.pass(1_000_000);
    card.quiet();
}

#[test]
fn a_card_without_sctp_refuses() {
    let refused = |number, kind| CardMessage::Refused {
        number,
        kind,
        reason: Refusal::Transport,
    };
    let listen = HostMessage::Listen(Listen {
        listener: 3,
        transport: Transport::Sctp,
        address: "127.0.0.1:0".parse().unwrap(),
        backlog: 1,
    });
    for of_device in [true, false] {
        let mut card = Card::new();
        match of_device {
            true => card.registers.sctp = false,
            false => card.tcp.refuses = Some(OpenError::Transport),
        }
        card.host(&HostMessage::Connect(session(b"")));
        assert_eq!(card.next(), refused(CONNECTION, 3));
        card.host(&listen);
        assert_eq!(card.next(), refused(3, 1));
        card.empty();
        if of_device {
            card.listen(3, 1); // TCP has it all the same
        }
    }
}

#[test]
fn sessions_beyond_the_backlog_are_ended_and_others_stay() {
    let (mut card, listener) = listening();
    let handles: Vec<u32> = (0..12)
        .map(|_| card.tcp.initiates(listener, b"me"))
        .collect();
    card.settle();
    for _ in 0..8 {
        let CardMessage::Requested(requested) = card.next() else {
            panic!("no REQUESTED");
        };
        assert_eq!(requested.private_data.as_slice(), b"me");
    }
    card.quiet();
    assert_eq!((card.usage().connections, card.usage().half_open), (8, 0));
    let ended: Vec<u32> = card.tcp.sessions.keys().copied().collect();
    assert_eq!(ended, handles[8..]);
}
