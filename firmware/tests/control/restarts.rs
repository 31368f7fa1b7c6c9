//! The program stops at any access of a register, and begins anew on the same device: no stream is lost, none is taken from the host.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::model::{Card, LISTENER, Stopped, accept, answer, connect};
use warpline_firmware::Event;
use warpline_regmap::mailbox::{CardMessage, HostMessage, Refusal};

/// Streams that the host is told of in `everything`.
const TOLD: usize = 4;

/// A listener; connections of both roles on streams 0 and 1, one of which ends and comes again; segments of another length; a
/// stream that cannot send, and one that is somebody else's.
fn everything(card: &mut Card) {
    let listener = card.listen(LISTENER, 8);
    let (handle, connection, stream) = card.established(listener);
    let (other, mut peer) = card.connecting(connect(0x8000));
    peer.accept(b"", &answer()).unwrap();
    card.tcp.sends(other, peer.output());
    card.settle();
    assert!(matches!(card.next(), CardMessage::Armed(_)));
    let number = 0x8000;
    card.host(&HostMessage::Proceed { connection: number });
    let established = CardMessage::Established { connection: number };
    assert_eq!(card.next(), established);
    card.tcp.resegments(600);
    card.settle();
    // The host closes the first one.
    card.closes(stream);
    card.tcp.events.push_back((handle, Event::Detached));
    card.settle();
    assert!(matches!(card.next(), CardMessage::Closed { .. }));
    card.host(&HostMessage::Release { connection });
    let (.., again) = card.established(listener);
    assert_eq!(again, stream);
    card.registers.no_stream.insert(2);
    card.registers.no_transmit.insert(3);
    let (_, _, requested) = card.requested(listener, &crate::model::Request::default());
    card.host(&accept(requested.connection));
    assert!(matches!(card.next(), CardMessage::Failed { .. }));
    card.registers.no_transmit.clear();
    let (.., third) = card.established(listener);
    assert_eq!(third, 3);
}

/// Runs `act` until the program stops at `access`. Returns whether it did.
fn stops(card: &mut Card, access: u64, act: impl FnOnce(&mut Card)) -> bool {
    card.registers.stops_at = Some(access);
    match catch_unwind(AssertUnwindSafe(|| act(card))) {
        Ok(()) => false,
        Err(cause) if cause.is::<Stopped>() => true,
        Err(cause) => resume_unwind(cause),
    }
}

/// Streams that the host was told of, and that are not armed.
fn taken(card: &Card) -> Vec<u8> {
    let streams = &card.registers.streams;
    let told = card.told.iter().copied();
    told.filter(|stream| !streams[usize::from(*stream)].armed)
        .collect()
}

/// The host closes what it was told of; then nothing may be left, and all streams can be used.
fn nothing_is_left(card: &mut Card, what: &str) {
    for stream in std::mem::take(&mut card.told) {
        card.closes(stream);
    }
    assert_eq!(card.registers.armed(), 0, "{what}: a stream is left");
    card.registers.no_stream.clear();
    card.registers.no_transmit.clear();
    // A CONNECT that the former program had not taken was carried out.
    card.host(&HostMessage::Abort { connection: 0x8000 });
    card.messages.clear();
    let listener = card.listen(77, 16);
    for stream in 0..16 {
        assert_eq!(card.established(listener).2, stream, "{what}");
    }
}

// req: DDP-TEAR-12, LLP-10
#[test]
fn a_program_that_stops_anywhere_leaves_no_stream() {
    for (latency, step) in [(1, 1), (0, 7), (5, 7)] {
        let new = || {
            let mut card = Card::new();
            card.registers.latency = latency;
            card
        };
        let mut card = new();
        everything(&mut card);
        let accesses = card.registers.accesses;
        assert!(accesses > 400, "{accesses}");
        let mut early = 0;
        for access in (0..accesses).step_by(step) {
            let mut card = new();
            assert!(stops(&mut card, access, everything));
            let what = format!("latency {latency}, access {access}");
            card.restart();
            card.settle();
            // Between the write that tells the host and the next one, the stream is closed.
            let taken = taken(&card);
            assert!(taken.len() <= 1, "{what}: {taken:?}");
            early += taken.len();
            nothing_is_left(&mut card, &what);
        }
        if step == 1 {
            assert_eq!(early, TOLD, "as often as the host is told of a stream");
        }
    }
}

/// Again while the program looks at what the former one has left.
#[test]
fn a_program_may_stop_again_and_again() {
    let mut card = Card::new();
    everything(&mut card);
    let accesses = card.registers.accesses;
    for access in (0..accesses).step_by(11) {
        for second in 0..8 {
            let mut card = Card::new();
            assert!(stops(&mut card, access, everything));
            let what = format!("access {access}, then {second}");
            card.restart();
            let again = card.registers.accesses + second;
            if stops(&mut card, again, Card::settle) {
                card.restart();
            }
            card.registers.stops_at = None;
            card.settle();
            assert!(taken(&card).len() <= 1, "{what}");
            nothing_is_left(&mut card, &what);
        }
    }
}

/// A command of the former program that takes long is waited for; meanwhile no message is taken and no event.
#[test]
fn a_command_under_way_is_waited_for() {
    let mut card = Card::new();
    let listener = card.listen(LISTENER, 8);
    let (_, _, requested) = card.requested(listener, &crate::model::Request::default());
    let connection = requested.connection;
    card.registers.latency = 50;
    card.registers.host_window = accept(connection).emit();
    card.registers.host_pending = true;
    while !card.registers.is_running() {
        card.firmware
            .poll(&mut card.registers, &mut card.tcp, card.now);
    }
    card.restart();
    card.registers.host_window = HostMessage::Proceed { connection }.emit();
    card.registers.host_pending = true;
    for _ in 0..40 {
        let due = card
            .firmware
            .poll(&mut card.registers, &mut card.tcp, card.now);
        assert_eq!(due, Some(card.now + 1), "it does not spin");
        assert!(card.registers.host_pending && card.registers.is_running());
        card.now += 1;
    }
    card.settle();
    assert!(!card.registers.host_pending);
    // The stream was armed, and is closed; the connection is known to nobody.
    assert_eq!(card.registers.armed(), 0);
    let refused = CardMessage::Refused {
        number: connection,
        kind: HostMessage::Proceed { connection }.kind() as u8,
        reason: Refusal::Unknown,
    };
    assert_eq!(card.next(), refused);
    nothing_is_left(&mut card, "in the end");
}

/// While the host is not told of one stream, no other one is armed; a host that reads at last gets them all.
#[test]
fn one_stream_at_a_time_is_armed_and_told() {
    let (mut card, listener) = Card::listening();
    let connections: Vec<u16> = (0..4)
        .map(|_| {
            card.requested(listener, &crate::model::Request::default())
                .2
                .connection
        })
        .collect();
    card.deaf = true;
    // A message that the host does not read is in the way of ARMED.
    card.host(&HostMessage::Proceed { connection: 0x7777 });
    for connection in &connections {
        card.host(&accept(*connection));
    }
    assert_eq!(card.registers.armed(), 1);
    card.deaf = false;
    card.settle();
    let armed = card
        .messages
        .iter()
        .filter(|message| matches!(message, CardMessage::Armed(_)));
    assert_eq!((armed.count(), card.registers.armed()), (4, 4));
}
