//! Connections by the thousand, and peers and hosts that vanish at every step: nothing is left.

use crate::model::{Card, Random, Request, accept, answer, connect};
use warpline_regmap::mailbox::{CardMessage, HostMessage};

/// How a step ends the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kill {
    Reset,
    Fin,
    Silence,
    Abort,
    Release,
    CloseStream,
}

const KILLS: [Kill; 6] = [
    Kill::Reset,
    Kill::Fin,
    Kill::Silence,
    Kill::Abort,
    Kill::Release,
    Kill::CloseStream,
];

/// Steps of a start-up; a connection is killed behind one of them.
const STEPS: usize = 7;

/// Ends a connection in one way, and does what a host does with what it is told.
fn end(card: &mut Card, handle: u32, connection: Option<u16>, kill: Kill) {
    let open = card.tcp.open.contains_key(&handle);
    match (kill, connection) {
        (Kill::Reset, _) => card.tcp.resets(handle),
        (Kill::Fin, _) if open => card.tcp.finishes(handle),
        (Kill::Abort, Some(connection)) => card.host(&HostMessage::Abort { connection }),
        (Kill::Release, Some(connection)) => card.host(&HostMessage::Release { connection }),
        (Kill::CloseStream, _) if open => {
            if let Some((stream, _)) = card.tcp.at(handle).attached {
                card.registers.host_closes(stream);
                let event = warpline_firmware::Event::Detached;
                card.tcp.events.push_back((handle, event));
            }
        }
        _ => {}
    }
    card.pass(200_000);
    for _ in 0..4 {
        for message in std::mem::take(&mut card.messages) {
            match message {
                CardMessage::Closed { connection, .. } | CardMessage::HalfClosed { connection } => {
                    card.host(&HostMessage::Release { connection });
                }
                _ => {}
            }
        }
        if card.usage().connections > 0 {
            if let Some(connection) = connection {
                card.host(&HostMessage::Release { connection });
            }
            card.pass(200_000);
        }
    }
    card.messages.clear();
}

/// Kills a connection of a listener behind `step`.
fn responder(card: &mut Card, listener: u32, step: usize, kill: Kill) {
    let handle = card.tcp.arrives(listener);
    let octets = Request::default().initiator().output().to_vec();
    card.settle();
    let mut connection = None;
    'steps: {
        if step == 0 {
            break 'steps;
        }
        card.tcp.sends(handle, &octets[..9]);
        card.settle();
        if step == 1 {
            break 'steps;
        }
        card.tcp.sends(handle, &octets[9..]);
        card.settle();
        let CardMessage::Requested(requested) = card.next() else {
            panic!("no REQUESTED");
        };
        connection = Some(requested.connection);
        if step == 2 {
            break 'steps;
        }
        let connection = requested.connection;
        if step == 3 {
            // In the middle of a command.
            card.registers.host_window = accept(connection).emit();
            card.registers.host_pending = true;
            card.firmware
                .poll(&mut card.registers, &mut card.tcp, card.now);
            break 'steps;
        }
        card.host(&accept(connection));
        assert!(matches!(card.next(), CardMessage::Armed(_)));
        if step == 4 {
            break 'steps;
        }
        if step == 5 {
            card.tcp.makes_room(handle, 3);
        }
        card.host(&HostMessage::Proceed { connection });
    }
    end(card, handle, connection, kill);
}

/// Kills a connection of the host behind `step`.
fn initiator(card: &mut Card, number: u16, step: usize, kill: Kill) {
    card.host(&HostMessage::Connect(connect(number)));
    let handle = *card.tcp.open.keys().last().unwrap();
    'steps: {
        if step == 0 {
            break 'steps;
        }
        if step == 1 {
            card.tcp.makes_room(handle, 3);
        }
        card.tcp.answers(handle);
        card.settle();
        if step <= 2 {
            break 'steps;
        }
        let request = card.tcp.at(handle).outbound.clone();
        let mut peer = warpline_wire::start::Responder::new(Default::default(), 0);
        peer.input(&request);
        peer.poll(0);
        peer.accept(b"", &answer_without_reads()).unwrap();
        let reply = peer.output().to_vec();
        card.tcp.sends(handle, &reply[..7]);
        card.settle();
        if step == 3 {
            break 'steps;
        }
        card.tcp.sends(handle, &reply[7..]);
        if step == 4 {
            card.firmware
                .poll(&mut card.registers, &mut card.tcp, card.now);
            break 'steps;
        }
        card.settle();
        assert!(matches!(card.next(), CardMessage::Armed(_)));
        if step == 5 {
            break 'steps;
        }
        card.host(&HostMessage::Proceed { connection: number });
    }
    end(card, handle, Some(number), kill);
}

fn answer_without_reads() -> warpline_wire::start::Answer {
    warpline_wire::start::Answer {
        ird: 0,
        ord: 0,
        ..answer()
    }
}

// req: DDP-TEAR-12, MPA-START-30, MPA-ERR-03, MPA-ERR-09, LLP-10, AMB-52
#[test]
fn a_connection_killed_at_any_step_leaves_nothing() {
    for kill in KILLS {
        for step in 0..STEPS {
            for latency in [0, 1, 5] {
                let (mut card, listener) = Card::listening();
                card.registers.latency = latency;
                responder(&mut card, listener, step, kill);
                assert_eq!(card.usage().connections, 0, "{kill:?} behind step {step}");
                card.empty();
                initiator(&mut card, 0x8000, step, kill);
                assert_eq!(card.usage().connections, 0, "{kill:?} behind step {step}");
                card.empty();
            }
        }
    }
}

/// Establishes a connection, in either role, and returns its handle and number.
fn establish(card: &mut Card, listener: u32, number: u16) -> (u32, u16) {
    if number.is_multiple_of(2) {
        let (handle, connection, _) = card.established(listener);
        return (handle, connection);
    }
    let connection = number | 0x8000;
    let (handle, mut peer) = card.connecting(connect(connection));
    peer.accept(b"", &answer()).unwrap();
    card.tcp.sends(handle, peer.output());
    card.settle();
    assert!(matches!(card.next(), CardMessage::Armed(_)));
    card.host(&HostMessage::Proceed { connection });
    assert_eq!(card.next(), CardMessage::Established { connection });
    (handle, connection)
}

/// Closes it by FINs, in one of both orders.
fn close(card: &mut Card, handle: u32, connection: u16, host_first: bool) {
    if host_first {
        card.host(&HostMessage::Disconnect { connection });
        card.tcp.finishes(handle);
    } else {
        card.tcp.finishes(handle);
        card.host(&HostMessage::Disconnect { connection });
    }
    card.settle();
    assert_eq!(card.next(), CardMessage::HalfClosed { connection });
    assert!(matches!(card.next(), CardMessage::Closed { .. }));
    let (stream, _) = card.tcp.at(handle).attached.unwrap();
    card.registers.host_closes(stream);
    card.host(&HostMessage::Release { connection });
}

// req: LLP-10, DDP-TEAR-10
#[test]
fn a_thousand_connections_one_after_the_other_leave_nothing() {
    let (mut card, listener) = Card::listening();
    let mut numbers = std::collections::BTreeSet::new();
    for number in 0..1_000 {
        let (handle, connection) = establish(&mut card, listener, number);
        numbers.insert(connection);
        close(&mut card, handle, connection, number % 4 < 2);
        card.empty();
    }
    assert_eq!(numbers.len(), 1_000, "numbers come again too soon");
}

// req: LLP-10, DDP-TEAR-10
#[test]
fn a_thousand_connections_sixteen_at_a_time_leave_nothing() {
    let (mut card, listener) = Card::listening();
    let mut random = Random(3);
    let mut open = Vec::new();
    for number in 0..1_000 {
        if open.len() == 16 {
            let (handle, connection) = open.swap_remove(random.below(16) as usize);
            close(&mut card, handle, connection, random.below(2) == 0);
        }
        open.push(establish(&mut card, listener, number));
    }
    assert_eq!(card.registers.armed(), 16);
    for (handle, connection) in open {
        close(&mut card, handle, connection, true);
    }
    card.empty();
}
