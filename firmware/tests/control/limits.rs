//! Bounds: quotas, full tables, floods of half-open connections, hosts that do not read.

use crate::model::{
    CONNECTIONS, Card, End, LISTENER, LISTENERS, Random, Request, Tcp, accept, accept_with,
    configure, connect,
};
use std::net::SocketAddr;
use warpline_firmware::{Firmware, OpenError};
use warpline_regmap::mailbox::{
    CardMessage, CloseReason, FailureCause, HostMessage, Listen, ListenFailure, Refusal,
    StreamOptions, Transport,
};

fn refused(number: u16, kind: u8, reason: Refusal) -> CardMessage {
    CardMessage::Refused {
        number,
        kind,
        reason,
    }
}

// req: MPA-START-30, AMB-52
#[test]
fn a_flood_of_silent_peers_keeps_nobody_out() {
    let (mut card, listener) = Card::listening();
    let other = card.listen(2, 4);
    // Some connections that are in use.
    let (_, first, _) = card.established(listener);
    let mut random = Random(7);
    let mut served = 0;
    let mut handles = Vec::new();
    for round in 0..1_000 {
        for _ in 0..random.below(30) {
            handles.push(card.tcp.arrives(listener));
        }
        card.settle();
        assert!(card.usage().half_open <= 8, "more than the backlog");
        assert!(card.tcp.open.len() <= CONNECTIONS);
        card.now += random.below(50);
        // Others are served, at the same listener and at another one.
        let at = if round % 2 == 0 { listener } else { other };
        let (handle, _, requested) = card.requested(at, &Request::default());
        let connection = requested.connection;
        card.host(&accept(connection));
        assert!(matches!(card.next(), CardMessage::Armed(_)));
        card.host(&HostMessage::Proceed { connection });
        assert_eq!(card.next(), CardMessage::Established { connection });
        card.host(&HostMessage::Release { connection });
        assert_eq!(card.tcp.ended[&handle].0, End::Aborted);
        served += 1;
        card.messages
            .retain(|message| !matches!(message, CardMessage::Failed { .. }));
    }
    assert_eq!(served, 1_000);
    assert!(handles.len() > 10_000);
    // The flood ends, and its rest times out.
    card.pass(10_000);
    card.messages
        .retain(|message| !matches!(message, CardMessage::Failed { .. }));
    assert_eq!(card.usage().connections, 1);
    card.host(&HostMessage::Release { connection: first });
    card.empty();
}

#[test]
fn a_full_table_evicts_only_what_nobody_knows() {
    let mut card = Card::new();
    let listener = card.listen(LISTENER, u16::MAX);
    let mut requests = Vec::new();
    for _ in 0..CONNECTIONS - 2 {
        requests.push(card.requested(listener, &Request::default()));
    }
    let silent = card.tcp.arrives(listener);
    card.now += 1;
    let younger = card.tcp.arrives(listener);
    card.settle();
    assert_eq!(card.usage().connections, CONNECTIONS);
    // The host's own connection takes the place of the oldest silent one, the next that of the other.
    card.host(&HostMessage::Connect(connect(0x8000)));
    assert_eq!(card.tcp.ended[&silent].0, End::Aborted);
    assert!(!card.tcp.ended.contains_key(&younger));
    card.host(&HostMessage::Connect(connect(0x8001)));
    assert_eq!(card.tcp.ended[&younger].0, End::Aborted);
    card.host(&HostMessage::Connect(connect(0x8002)));
    assert_eq!(card.next(), refused(0x8002, 3, Refusal::Full));
    let one_more = card.tcp.arrives(listener);
    card.settle();
    assert_eq!(card.tcp.ended[&one_more].0, End::Aborted);
    // All requests are still there.
    for (_, _, requested) in requests {
        card.host(&HostMessage::Abort {
            connection: requested.connection,
        });
        let reason = CloseReason::Aborted;
        let connection = requested.connection;
        assert_eq!(card.next(), CardMessage::Closed { connection, reason });
    }
    assert_eq!(card.usage().connections, 2);
}

#[test]
fn a_listener_has_no_more_requests_than_its_backlog() {
    for (backlog, setting, most) in [(3, 0, 3), (8, 2, 2), (0, 0, 1)] {
        let mut card = Card::new();
        card.host(&configure(|settings| {
            settings.listener_connections = setting
        }));
        assert_eq!(card.next(), CardMessage::Configured);
        let listener = card.listen(LISTENER, backlog);
        let mut last = 0;
        for _ in 0..most {
            last = card.requested(listener, &Request::default()).2.connection;
        }
        let one_more = card.tcp.arrives(listener);
        card.settle();
        assert_eq!(card.tcp.ended[&one_more].0, End::Aborted);
        // An answer makes room.
        card.host(&accept(last));
        assert!(matches!(card.next(), CardMessage::Armed(_)));
        card.requested(listener, &Request::default());
    }
}

#[test]
fn a_protection_domain_has_no_more_connections_than_its_quota() {
    let (mut card, listener) = Card::listening();
    card.host(&configure(|settings| settings.domain_connections = 2));
    assert_eq!(card.next(), CardMessage::Configured);
    let in_domain = |protection_domain| StreamOptions {
        protection_domain,
        ..StreamOptions::default()
    };
    let (_, _, first) = card.requested(listener, &Request::default());
    card.host(&accept_with(first.connection, b"", in_domain(5)));
    assert!(matches!(card.next(), CardMessage::Armed(_)));
    let mut own = connect(0x8000);
    own.stream = in_domain(5);
    card.host(&HostMessage::Connect(own));
    card.quiet();

    let (_, _, third) = card.requested(listener, &Request::default());
    card.host(&accept_with(third.connection, b"", in_domain(5)));
    assert_eq!(card.next(), refused(third.connection, 4, Refusal::Quota));
    own.connection = 0x8001;
    card.host(&HostMessage::Connect(own));
    assert_eq!(card.next(), refused(0x8001, 3, Refusal::Quota));
    // Another domain has its own, and what is given back counts no more.
    card.host(&accept_with(third.connection, b"", in_domain(6)));
    assert!(matches!(card.next(), CardMessage::Armed(_)));
    card.host(&HostMessage::Release {
        connection: first.connection,
    });
    card.host(&HostMessage::Connect(own));
    card.quiet();
}

#[test]
fn without_a_free_stream_the_host_learns_it_before_the_reply() {
    let mut card = Card::new();
    card.registers.streams.truncate(2);
    let listener = card.listen(LISTENER, 8);
    let (_, first, _) = card.established(listener);
    card.established(listener);
    let (_, mut peer, requested) = card.requested(listener, &Request::default());
    let connection = requested.connection;
    card.host(&accept(connection));
    assert_eq!(card.next(), refused(connection, 4, Refusal::Full));
    // It can still be rejected, or accepted when a stream is free.
    card.host(&HostMessage::Release { connection: first });
    card.host(&accept(connection));
    assert!(matches!(card.next(), CardMessage::Armed(_)));
    assert_eq!(peer.poll(0), None);
}

#[test]
fn messages_wait_for_a_slow_host_without_being_lost() {
    let (mut card, listener) = Card::listening();
    card.deaf = true;
    // Three that are refused before the first message is read: the host is answered one by one.
    card.registers.host_window = accept(0x300).emit();
    card.registers.host_pending = true;
    card.settle();
    assert!(!card.registers.host_pending);
    let mut handles = Vec::new();
    for _ in 0..8 {
        let handle = card.tcp.arrives(listener);
        let octets = Request::default().initiator().output().to_vec();
        card.tcp.sends(handle, &octets);
        handles.push(handle);
    }
    card.registers.host_window = accept(0x301).emit();
    card.registers.host_pending = true;
    card.settle();
    assert!(!card.registers.host_pending, "there is room for one answer");
    card.registers.host_window = accept(0x302).emit();
    card.registers.host_pending = true;
    card.settle();
    assert!(card.registers.host_pending, "the last answer was not read");
    // Two of the connections end before the host has heard of them.
    card.tcp.resets(handles[0]);
    card.tcp.finishes(handles[1]);
    card.settle();

    card.deaf = false;
    card.settle();
    let messages = std::mem::take(&mut card.messages);
    let count =
        |of: fn(&CardMessage) -> bool| messages.iter().filter(|message| of(message)).count();
    assert_eq!(
        count(|message| matches!(message, CardMessage::Requested(_))),
        6
    );
    assert_eq!(
        count(|message| matches!(message, CardMessage::Failed { .. })),
        2
    );
    assert_eq!(
        count(|message| matches!(message, CardMessage::Refused { .. })),
        3
    );
    assert_eq!(messages.len(), 11);
}

#[test]
fn messages_leave_no_words_of_the_last_one() {
    let (mut card, listener) = Card::listening();
    let long = Request {
        private_data: vec![0xff; 512],
        ..Request::default()
    };
    let (handle, _, _) = card.requested(listener, &long);
    card.tcp.resets(handle);
    card.settle();
    assert!(matches!(
        card.next(),
        CardMessage::Failed {
            cause: FailureCause::Lost,
            ..
        }
    ));
    assert!(
        card.registers.card_window[2..]
            .iter()
            .all(|word| *word == 0)
    );
}

#[test]
fn listeners_are_limited_and_named_once() {
    let mut card = Card::new();
    let address = SocketAddr::from(([127, 0, 0, 1], 4444));
    let listen = |listener| {
        HostMessage::Listen(Listen {
            listener,
            transport: Transport::Tcp,
            address,
            backlog: 1,
        })
    };
    let failed = |listener, reason| CardMessage::ListenFailed { listener, reason };
    for (error, reason) in [
        (OpenError::Address, ListenFailure::Address),
        (OpenError::Full, ListenFailure::Full),
        (OpenError::Failed, ListenFailure::Network),
    ] {
        card.tcp.refuses = Some(error);
        card.host(&listen(1));
        assert_eq!(card.next(), failed(1, reason));
    }
    card.tcp.refuses = None;
    for listener in 0..LISTENERS as u16 {
        card.host(&listen(listener));
        let port = 4444;
        assert_eq!(card.next(), CardMessage::Listening { listener, port });
    }
    card.host(&listen(1));
    assert_eq!(card.next(), refused(1, 1, Refusal::Number));
    card.host(&listen(77));
    assert_eq!(card.next(), failed(77, ListenFailure::Full));
    card.host(&HostMessage::Unlisten { listener: 1 });
    card.host(&listen(77));
    assert_eq!(
        card.next(),
        CardMessage::Listening {
            listener: 77,
            port: 4444
        }
    );
    card.host(&configure(|settings| settings.max_ird = 0x3fff));
    assert_eq!(card.next(), refused(0, 10, Refusal::Depth));
}

#[test]
fn no_limit_of_time_is_one() {
    let (mut card, listener) = Card::listening();
    card.host(&configure(|settings| {
        (settings.peer_time, settings.host_time) = (0, 0);
        (settings.close_time, settings.idle_time) = (0, 0);
    }));
    assert_eq!(card.next(), CardMessage::Configured);
    card.tcp.arrives(listener);
    let (_, _, requested) = card.requested(listener, &Request::default());
    card.host(&accept(requested.connection));
    assert!(matches!(card.next(), CardMessage::Armed(_)));
    let (_, connection, stream) = card.established(listener);
    card.registers.streams[usize::from(stream)].edge ^= 4;
    card.host(&HostMessage::Disconnect { connection });
    card.pass(1_000_000_000);
    card.quiet();
    assert_eq!(card.usage().connections, 3);
}

/// Room on a soft processor with 48 KiB for program and data.
#[test]
fn the_tables_are_small() {
    let octets = size_of::<Firmware<Tcp, CONNECTIONS, LISTENERS>>();
    assert!(octets < 16 << 10, "{octets} octets");
}
