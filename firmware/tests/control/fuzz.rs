//! Random events, octets, messages and times: nothing panics, tables stay bounded, and in the end nothing is left.

use super::model::{
    CONNECTIONS, Card, LISTENER, Random, Request, WRITE, accept, configure, connect,
};
use proptest::prelude::*;
use warpline_firmware::{Answer, ConnectionError, Event};
use warpline_regmap::mailbox::{
    Block, CardMessage, Connect, HostMessage, PrivateData, Reject, Settings, Transport, Words,
};
use warpline_wire::start::{self, Depth, Enhanced, Frame, Kind};

/// A message of a host that has lost its mind.
fn message(random: &mut Random, known: &[u16]) -> Words {
    let connection = match known.len() {
        0 => random.below(0x1_0000) as u16,
        count => known[random.below(count as u64) as usize],
    };
    let mut words = match random.below(12) {
        0 | 1 => accept(connection).emit(),
        2 | 3 => HostMessage::Proceed { connection }.emit(),
        4 => HostMessage::Disconnect { connection }.emit(),
        5 => HostMessage::Abort { connection }.emit(),
        6 => HostMessage::Release { connection }.emit(),
        7 => HostMessage::Connect(Connect {
            transport: Transport::ALL[random.below(2) as usize],
            ..connect(0x8000 | random.below(64) as u16)
        })
        .emit(),
        8 => HostMessage::Reject(Reject {
            connection,
            ird: 0,
            ord: 0,
            rtr: WRITE,
            private_data: PrivateData::EMPTY,
        })
        .emit(),
        9 => configure(|settings| {
            *settings = Settings {
                enhanced: random.below(4) > 0,
                markers: random.below(2) > 0,
                peer_time: random.below(3) as u32 * 500,
                host_time: random.below(3) as u32 * 500,
                close_time: random.below(3) as u32 * 500,
                idle_time: random.below(3) as u32 * 500,
                domain_connections: random.below(20) as u16,
                listener_connections: random.below(20) as u16,
                ..*settings
            };
        })
        .emit(),
        10 if random.below(8) == 0 => HostMessage::Unlisten { listener: LISTENER }.emit(),
        _ => {
            let mut words = [0; 256];
            words.fill_with(|| random.below(1 << 32) as u32);
            words[0] = words[0] & !0xff | random.below(12) as u32;
            words[1] &= 0xffff_03ff;
            words[23] &= 3;
            words
        }
    };
    if random.below(20) == 0 {
        let index = random.below(16) as usize;
        words[index] ^= 1 << random.below(32);
    }
    words
}

/// Octets that a peer sends: a frame, mostly good ones.
fn octets(random: &mut Random) -> Vec<u8> {
    let enhanced = (random.below(2) > 0).then(|| Enhanced {
        ird: Depth::Negotiated(random.below(8) as u16),
        ord: Depth::Negotiated(random.below(8) as u16),
        rtr: (random.below(2) > 0).then_some(start::Rtr::WRITE),
    });
    let private_data = vec![7; random.below(40) as usize];
    let mut octets = match random.below(2) {
        0 => Request {
            enhanced,
            private_data,
            ..Request::default()
        }
        .initiator()
        .output()
        .to_vec(),
        _ => {
            let mut room = [0; start::MAX_FRAME_LEN];
            let frame = Frame {
                kind: Kind::Reply,
                markers: random.below(2) > 0,
                crc: random.below(2) > 0,
                rejected: random.below(4) == 0,
                revision: 1,
                negotiation: None,
                private_data: &private_data,
            };
            let len = frame.emit(&mut room).unwrap();
            room[..len].to_vec()
        }
    };
    match random.below(12) {
        0 => octets.push(random.below(256) as u8),
        1 => octets.truncate(random.below(octets.len() as u64) as usize),
        2 => {
            let index = random.below(octets.len() as u64) as usize;
            octets[index] ^= 1 << random.below(8);
        }
        _ => {}
    }
    octets
}

/// One random thing happens.
fn happen(card: &mut Card, random: &mut Random, listeners: [u32; 2], known: &[u16]) {
    let (listener, of_sessions) = match random.below(2) {
        0 => (listeners[0], u32::MAX),
        _ => (u32::MAX, listeners[1]),
    };
    let handles: Vec<u32> = card.tcp.open.keys().copied().collect();
    let handle = match handles.len() {
        0 => None,
        count => Some(handles[random.below(count as u64) as usize]),
    };
    match (random.below(16), handle) {
        (0 | 1, _) if card.tcp.listeners.contains_key(&listener) => {
            card.tcp.arrives(listener);
        }
        (0 | 1, _) if card.tcp.listeners.contains_key(&of_sessions) => {
            let private_data = vec![9; random.below(513) as usize];
            card.tcp.initiates(of_sessions, &private_data);
        }
        (6 | 7, Some(handle)) if card.tcp.at(handle).session.is_some() => {
            let answers = [Answer::Accepted, Answer::Rejected, Answer::Terminated];
            let private_data = vec![8; random.below(513) as usize];
            card.tcp
                .decides(handle, answers[random.below(3) as usize], &private_data);
        }
        (2..=5, _) if !card.registers.host_pending => {
            card.registers.host_window = message(random, known);
            card.registers.host_pending = true;
        }
        (6 | 7, Some(handle)) if !card.tcp.at(handle).peer_fin => {
            let octets = octets(random);
            card.tcp.sends(handle, &octets);
        }
        (8, Some(handle)) if card.tcp.at(handle).connecting && !card.tcp.at(handle).lost => {
            card.tcp.answers(handle);
        }
        (9, Some(handle)) if !card.tcp.at(handle).peer_fin && !card.tcp.at(handle).connecting => {
            card.tcp.finishes(handle);
        }
        (10, Some(handle)) if !card.tcp.at(handle).lost => card.tcp.resets(handle),
        (11, Some(handle)) => {
            let room = if random.below(2) == 0 {
                random.below(30)
            } else {
                1 << 20
            };
            card.tcp.makes_room(handle, room as usize);
        }
        (12, _) => {
            let count = card.registers.streams.len() as u64;
            let stream = &mut card.registers.streams[random.below(count) as usize];
            stream.idle = random.below(4) > 0;
            stream.edge = stream.edge.wrapping_add(random.below(9) as u32);
        }
        (13, Some(handle)) => {
            if let Some((stream, _)) = card.tcp.at(handle).attached {
                card.registers.host_closes(stream);
                card.tcp.events.push_back((handle, Event::Detached));
            }
        }
        (14, _) => {
            card.registers.latency = random.below(4) as u32;
            card.registers.no_stream.clear();
            card.registers.no_transmit.clear();
            for _ in 0..random.below(6) {
                card.registers.no_stream.insert(random.below(16) as u8);
                card.registers.no_transmit.insert(random.below(16) as u8);
            }
            card.tcp.attach_error = match random.below(8) {
                0 => Some(ConnectionError::Lost),
                1 => Some(ConnectionError::Failed),
                _ => None,
            };
            let octets = [1448, 1448, 1448, 100, 600, 9000][random.below(6) as usize];
            card.tcp.resegments(octets);
        }
        _ => card.now += random.below(400),
    }
}

/// What the host knows by the messages: each connection's steps come in order.
#[derive(Default)]
struct Host {
    known: Vec<u16>,
    steps: std::collections::BTreeMap<u16, u8>,
}

impl Host {
    fn hears(&mut self, message: &CardMessage) {
        let (rank, number) = match message {
            CardMessage::Requested(requested) => {
                if let Some(Block { ird, ord, .. }) = requested.block {
                    assert!(ird <= 0x3fff && ord <= 0x3fff);
                }
                self.known.push(requested.connection);
                self.steps.remove(&requested.connection);
                (1, requested.connection)
            }
            CardMessage::Armed(armed) => {
                assert!(armed.stream < 16 && armed.emss >= 128);
                self.known.push(armed.connection);
                (2, armed.connection)
            }
            CardMessage::Established { connection } => (3, *connection),
            CardMessage::HalfClosed { connection } => (4, *connection),
            CardMessage::Closed { connection, .. } => (5, *connection),
            CardMessage::Failed { connection, .. } | CardMessage::Rejected { connection, .. } => {
                let step = self.steps.get(connection).copied().unwrap_or(0);
                assert!(
                    step < 2 || *connection >= 0x8000,
                    "{message:?} behind ARMED"
                );
                (6, *connection)
            }
            _ => return,
        };
        let step = self.steps.entry(number).or_insert(0);
        // The host's numbers are taken again by this host without a thought.
        assert!(
            *step < rank || number >= 0x8000,
            "{message:?} behind step {step}"
        );
        *step = rank;
        if self.known.len() > 400 {
            self.known.remove(0);
        }
    }
}

/// One run; returns the number of messages of the card.
pub fn run(seed: u64, steps: usize) -> usize {
    let (mut card, listener) = Card::listening();
    let of_sessions = card.listen_by(Transport::Sctp, LISTENER + 1, 8);
    let mut random = Random(seed);
    let mut host = Host::default();
    let mut heard = 0;
    for _ in 0..steps {
        happen(&mut card, &mut random, [listener, of_sessions], &host.known);
        let due = card
            .firmware
            .poll(&mut card.registers, &mut card.tcp, card.now);
        assert!(due.is_none_or(|due| due >= card.now));
        if card.registers.card_pending && random.below(3) > 0 {
            let message = CardMessage::parse(&card.registers.card_window).unwrap();
            host.hears(&message);
            heard += 1;
            card.registers.card_pending = false;
        }
        assert!(card.usage().connections <= CONNECTIONS);
        assert!(card.tcp.open.len() <= card.usage().connections);
    }
    // The host tidies up: whatever it was told of, it releases; everything else ends by itself.
    card.deaf = false;
    card.tcp.attach_error = None;
    card.settle();
    let settings = configure(|_| {});
    card.host(&settings);
    for number in (0..64).map(|number| 0x8000 | number).chain(host.known) {
        card.host(&HostMessage::Release { connection: number });
    }
    for round in 0.. {
        assert!(round < 50, "{:?} is left", card.usage());
        for message in std::mem::take(&mut card.messages) {
            let connection = message.number();
            if matches!(
                message,
                CardMessage::Requested(_) | CardMessage::Armed(_) | CardMessage::Closed { .. }
            ) {
                card.host(&HostMessage::Release { connection });
            }
        }
        for handle in card.tcp.open.keys().copied().collect::<Vec<_>>() {
            if !card.tcp.at(handle).lost {
                card.tcp.resets(handle); // peers without a limit of time
            }
        }
        card.pass(100_000);
        if card.usage().connections == 0 && card.messages.is_empty() {
            break;
        }
    }
    card.empty();
    heard
}

#[test]
fn random_events_and_messages() {
    let mut heard = 0;
    for seed in 0..300 {
        heard += run(seed, 400);
    }
    assert!(heard > 5_000, "{heard} messages: the runs show little");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_events_and_messages_of_any_seed(seed: u64, steps in 1..800_usize) {
        run(seed, steps);
    }
}

/// Many more, by hand: `SEEDS=1000000 cargo test --release -p warpline-firmware --test control -- --ignored`.
#[test]
#[ignore = "takes as long as SEEDS says"]
fn many_random_events_and_messages() {
    let seeds = std::env::var("SEEDS")
        .ok()
        .and_then(|seeds| seeds.parse().ok());
    for seed in 1_000..1_000 + seeds.unwrap_or(10_000) {
        run(seed, 400);
    }
}
