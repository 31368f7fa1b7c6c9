//! Messages of the mailbox: words by hand, every kind there and back, places of the parts, and words of any program.

use std::net::SocketAddr;
use warpline_regmap::mailbox::records::{LAYOUTS, PRIVATE_MAX, PRIVATE_WORD};
use warpline_regmap::mailbox::{
    Accept, Armed, Block, CardKind, CardMessage, CloseReason, Connect, Depth, FailureCause,
    HostKind, HostMessage, Listen, ListenFailure, MESSAGE_WORDS, MessageError, Offer, PrivateData,
    Refusal, Reject, Requested, Rtr, Settings, StreamOptions, Transport, Words,
};

fn words(at: &[(usize, u32)]) -> Words {
    let mut words = [0; MESSAGE_WORDS];
    for &(index, word) in at {
        words[index] = word;
    }
    words
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn private(length: usize) -> PrivateData {
    let octets: Vec<u8> = (0..length).map(|index| index as u8 ^ 0x5a).collect();
    PrivateData::new(&octets).unwrap()
}

const STREAM: StreamOptions = StreamOptions {
    protection_domain: 0x1234,
    queues: 0x87,
    tagged_completions: true,
    strict_mo: false,
    msn_window: true,
    long_ulpdus: true,
    receive_msn: 0xffff_fffe,
    send_msn: 7,
};

fn host_messages() -> Vec<HostMessage> {
    let rtr = Rtr {
        send: true,
        write: false,
        read: true,
    };
    let connect = |offer, transport, address| {
        HostMessage::Connect(Connect {
            connection: 0x8001,
            transport,
            address,
            offer,
            stream: STREAM,
            private_data: private(512),
        })
    };
    vec![
        HostMessage::Listen(Listen {
            listener: 9,
            transport: Transport::Sctp,
            address: address("[fe80::1%3]:4444"),
            backlog: 5,
        }),
        HostMessage::Unlisten { listener: 9 },
        connect(None, Transport::Tcp, address("192.0.2.1:80")),
        connect(
            Some(Offer {
                ird: Depth::Ulp(3),
                ord: Depth::Negotiated(4),
                rtr: Some(rtr),
            }),
            Transport::Sctp,
            address("[2001:db8::1]:80"),
        ),
        HostMessage::Accept(Accept {
            connection: 1,
            ird: 2,
            ord: 3,
            rtr,
            stream: STREAM,
            private_data: private(1),
        }),
        HostMessage::Reject(Reject {
            connection: 1,
            ird: 2,
            ord: 3,
            rtr,
            private_data: private(511),
        }),
        HostMessage::Proceed { connection: 0xffff },
        HostMessage::Disconnect { connection: 2 },
        HostMessage::Abort { connection: 3 },
        HostMessage::Release { connection: 4 },
        HostMessage::Configure(Settings {
            crc_off: true,
            markers: true,
            max_ird: 0x3ffe,
            idle_time: u32::MAX,
            listener_connections: 77,
            ..Settings::default()
        }),
    ]
}

fn card_messages() -> Vec<CardMessage> {
    let block = Block {
        ird: 0x3fff,
        ord: 1,
        peer_to_peer: true,
        rtr: Rtr {
            send: false,
            write: true,
            read: false,
        },
    };
    let mut messages = vec![
        CardMessage::Listening {
            listener: 1,
            port: 4444,
        },
        CardMessage::Requested(Requested {
            connection: 0x7fff,
            listener: 0xfffe,
            address: address("[::1]:65535"),
            revision: 2,
            block: Some(block),
            private_data: private(508),
        }),
        CardMessage::Armed(Armed {
            connection: 0x8000,
            stream: 15,
            emss: 1460,
            revision: 2,
            send_markers: true,
            receive_markers: false,
            crc: true,
            settled: Some(block),
            peer_depths: (0x3fff, 5),
            private_data: private(3),
        }),
        CardMessage::Established { connection: 5 },
        CardMessage::Rejected {
            connection: 0x8000,
            block: None,
            private_data: private(0),
        },
        CardMessage::HalfClosed { connection: 5 },
        CardMessage::Configured,
    ];
    messages.extend(ListenFailure::ALL.iter().map(|&reason| {
        let listener = 3;
        CardMessage::ListenFailed { listener, reason }
    }));
    messages.extend(FailureCause::ALL.iter().map(|&cause| CardMessage::Failed {
        connection: 6,
        cause,
        error_type: 3,
        code: 0x1f,
    }));
    messages.extend(CloseReason::ALL.iter().map(|&reason| CardMessage::Closed {
        connection: 7,
        reason,
    }));
    messages.extend(Refusal::ALL.iter().map(|&reason| CardMessage::Refused {
        number: 8,
        kind: 255,
        reason,
    }));
    messages
}

#[test]
fn messages_have_the_words_of_the_tables() {
    let connect = HostMessage::Connect(Connect {
        connection: 0x8002,
        transport: Transport::Sctp,
        address: address("192.0.2.17:4791"),
        offer: Some(Offer {
            ird: Depth::Negotiated(0x10),
            ord: Depth::Ulp(0x20),
            rtr: Some(Rtr {
                send: false,
                write: true,
                read: false,
            }),
        }),
        stream: STREAM,
        private_data: PrivateData::new(&[1, 2, 3, 4, 5]).unwrap(),
    });
    let at = [
        (0, 0x8002_0003),
        (1, 5),
        (4, 0xc000_0211), // ::ffff:192.0.2.17: the low half of the address, low word first
        (5, 0x0000_ffff),
        (7, 4791),
        (8, 0x0020_0010),
        (9, 0b100_1011), // ORD of the ULP, by Write, peer-to-peer, enhanced
        (10, 0x0d87_1234),
        (11, 0xffff_fffe),
        (12, 7),
        (23, 1),
        (64, 0x0403_0201),
        (65, 5),
    ];
    assert_eq!(connect.emit(), words(&at));
    assert_eq!(HostMessage::parse(&words(&at)), Ok(connect));

    let failed = CardMessage::Failed {
        connection: 0x12,
        cause: FailureCause::EarlyOctets,
        error_type: 3,
        code: 4,
    };
    let at = [(0, 0x0012_0307), (1, 0x0304_0000)];
    assert_eq!(failed.emit(), words(&at));
    assert_eq!(CardMessage::parse(&words(&at)), Ok(failed));

    let armed = CardMessage::Armed(Armed {
        connection: 1,
        stream: 3,
        emss: 1448,
        revision: 1,
        send_markers: true,
        receive_markers: false,
        crc: true,
        settled: None,
        peer_depths: (0, 0),
        private_data: PrivateData::EMPTY,
    });
    let at = [(0, 0x0001_0004), (9, 0x100), (13, 0x05a8_0503)];
    assert_eq!(armed.emit(), words(&at));
}

#[test]
fn every_message_is_read_as_it_was_written() {
    let (mut host, mut card) = (Vec::new(), Vec::new());
    for message in host_messages() {
        assert_eq!(HostMessage::parse(&message.emit()), Ok(message));
        host.push(message.kind());
    }
    for message in card_messages() {
        assert_eq!(CardMessage::parse(&message.emit()), Ok(message));
        card.push(message.kind());
    }
    assert!(HostKind::ALL.iter().all(|kind| host.contains(kind)));
    assert!(CardKind::ALL.iter().all(|kind| card.contains(kind)));
}

#[test]
fn parts_lie_side_by_side() {
    let mut used = vec![""; 32 * MESSAGE_WORDS];
    for layout in LAYOUTS {
        for field in layout.fields {
            let end = field.lsb + field.width;
            assert!(end <= 32 * layout.words && layout.words <= MESSAGE_WORDS);
            for bit in &mut used[field.lsb..end] {
                assert_eq!(*bit, "", "{}.{}", layout.name, field.name);
                *bit = field.name;
            }
        }
    }
    let last = 32 * (PRIVATE_WORD + PRIVATE_MAX / 4);
    assert!(
        used[32 * PRIVATE_WORD + 32..last]
            .iter()
            .all(|bit| bit.is_empty())
    );
    assert_eq!(last, 32 * 192);
}

#[test]
fn what_is_no_message_is_refused() {
    let host = |at: &[_]| HostMessage::parse(&words(at)).unwrap_err();
    let card = |at: &[_]| CardMessage::parse(&words(at)).unwrap_err();
    assert_eq!(host(&[]), MessageError::Kind { kind: 0 });
    assert_eq!(host(&[(0, 11)]), MessageError::Kind { kind: 11 });
    assert_eq!(card(&[(0, 0xab_ff)]), MessageError::Kind { kind: 0xff });
    let too_long = MessageError::Private { length: 513 };
    for kind in [3, 4, 5] {
        assert_eq!(host(&[(0, kind), (1, 513)]), too_long);
    }
    assert_eq!(PrivateData::new(&[0; 513]), Err(too_long));
    let reason = MessageError::Reason { kind: 9, reason: 7 };
    assert_eq!(card(&[(0, 0x709)]), reason);
    for kind in [1, 3] {
        let error = host(&[(0, kind), (23, 2)]);
        assert_eq!(error, MessageError::Transport { transport: 2 });
    }
    let detail = MessageError::Detail {
        kind: 10,
        detail: 256,
    };
    assert_eq!(card(&[(0, 0x10a), (1, 256 << 16)]), detail);
    assert!(detail.to_string().contains("0x100"));
}

#[test]
fn octets_behind_the_private_data_are_not_read() {
    let reject = HostMessage::Reject(Reject {
        connection: 1,
        ird: 0,
        ord: 0,
        rtr: Rtr::default(),
        private_data: private(5),
    });
    let mut dirty = reject.emit();
    dirty[65] |= 0xffff_ff00;
    dirty[66..].fill(u32::MAX);
    assert_eq!(HostMessage::parse(&dirty), Ok(reject));
}

/// A generator of numbers, xorshift (Marsaglia 2003).
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn any_words_are_read_without_panic_and_are_stable() {
    let mut state = 0x1234_5678_9abc_def1;
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let mut words: Words = [0; MESSAGE_WORDS];
        words.fill_with(|| random(&mut state) as u32);
        words[0] = words[0] & !0xff | (random(&mut state) % 13) as u32;
        words[1] = words[1] & !0xffff | (random(&mut state) % 600) as u32;
        for outcome in [
            HostMessage::parse(&words).map(|message| {
                assert_eq!(HostMessage::parse(&message.emit()), Ok(message));
            }),
            CardMessage::parse(&words).map(|message| {
                assert_eq!(CardMessage::parse(&message.emit()), Ok(message));
            }),
        ] {
            match outcome {
                Ok(()) => accepted += 1,
                Err(_) => refused += 1,
            }
        }
    }
    assert!(accepted > 10_000 && refused > 5_000, "{accepted} {refused}");
}
