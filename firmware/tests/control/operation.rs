//! Full operation and its end: half-closes, RST, time-outs, streams that the host closes.

use crate::model::{Card, End, RING, Request, accept, configure};
use warpline_regmap::mailbox::{CardMessage, CloseReason, HostMessage, Refusal};
use warpline_regmap::register::command::CLOSE_STREAM;

fn closed(connection: u16, reason: CloseReason) -> CardMessage {
    CardMessage::Closed { connection, reason }
}

/// The host closes the stream, then releases the connection.
fn release(card: &mut Card, handle: u32, connection: u16, stream: u8) {
    card.registers.host_closes(stream);
    if card
        .tcp
        .open
        .get(&handle)
        .is_some_and(|open| open.attached.is_some())
    {
        card.tcp
            .events
            .push_back((handle, warpline_firmware::Event::Detached));
    }
    card.settle();
    card.host(&HostMessage::Release { connection });
}

// req: DDP-TEAR-06, DDP-TEAR-09, DDP-TEAR-10, MPA-ERR-15, MPA-ERR-16, LLP-09, LLP-10
#[test]
fn the_peer_closes_first_and_the_host_follows() {
    let (mut card, listener) = Card::listening();
    let (handle, connection, stream) = card.established(listener);
    card.registers.streams[0].idle = false;
    card.tcp.finishes(handle);
    card.settle();
    assert_eq!(card.next(), CardMessage::HalfClosed { connection });
    card.pass(100_000);
    card.quiet(); // the host may send as long as it likes
    assert!(!card.tcp.at(handle).fin);

    card.host(&HostMessage::Disconnect { connection });
    card.pass(1_000);
    assert!(
        !card.tcp.at(handle).fin,
        "a FIN in front of octets of the send queue"
    );
    card.quiet();
    card.registers.streams[0].idle = true;
    card.pass(5);
    assert!(card.tcp.at(handle).fin);
    assert_eq!(card.next(), closed(connection, CloseReason::Finished));
    assert!(
        card.tcp.open.contains_key(&handle),
        "octets may be on their way to the stream"
    );
    release(&mut card, handle, connection, stream);
    assert_eq!(card.tcp.ended[&handle].0, End::Closed);
    assert!(
        card.registers
            .log
            .iter()
            .all(|(number, ..)| *number != CLOSE_STREAM)
    );
    card.empty();
}

// req: DDP-TEAR-10, DDP-TEAR-11, MPA-ERR-16
#[test]
fn the_host_closes_first_and_the_peer_goes_on_sending() {
    let (mut card, listener) = Card::listening();
    let (handle, connection, stream) = card.established(listener);
    card.host(&HostMessage::Disconnect { connection });
    assert!(card.tcp.at(handle).fin);
    card.host(&HostMessage::Disconnect { connection });
    let refused = CardMessage::Refused {
        number: connection,
        kind: 7,
        reason: Refusal::State,
    };
    assert_eq!(card.next(), refused);
    // Ten minutes of octets, every 50 seconds.
    for _ in 0..12 {
        let state = &mut card.registers.streams[0];
        state.edge = state.edge.wrapping_add(64);
        state.limit = state.limit.wrapping_add(64);
        card.pass(50_000);
        card.quiet();
    }
    card.tcp.finishes(handle);
    card.settle();
    assert_eq!(card.next(), CardMessage::HalfClosed { connection });
    assert_eq!(card.next(), closed(connection, CloseReason::Finished));
    release(&mut card, handle, connection, stream);
    card.empty();
}

#[test]
fn a_peer_that_keeps_its_half_open_in_silence_is_reset() {
    let (mut card, listener) = Card::listening();
    card.host(&configure(|settings| settings.close_time = 1_000));
    assert_eq!(card.next(), CardMessage::Configured);
    let (handle, connection, stream) = card.established(listener);
    card.pass(50_000);
    card.host(&HostMessage::Disconnect { connection });
    card.pass(990);
    card.quiet();
    card.pass(300);
    assert_eq!(card.next(), closed(connection, CloseReason::TimedOut));
    assert_eq!(card.tcp.ended[&handle].0, End::Aborted);
    release(&mut card, handle, connection, stream);
    card.empty();
}

// req: AMB-23
#[test]
fn an_fpdu_that_stays_incomplete_ends_the_connection() {
    let (mut card, listener) = Card::listening();
    card.host(&configure(|settings| settings.idle_time = 8_000));
    assert_eq!(card.next(), CardMessage::Configured);
    let (handle, connection, stream) = card.established(listener);
    let index = usize::from(stream);
    card.pass(600_000);
    card.quiet(); // nothing is incomplete
    // A part of an FPDU, then another one.
    card.registers.streams[index].edge = card.registers.streams[index].edge.wrapping_add(40);
    card.pass(7_000);
    card.registers.streams[index].edge = card.registers.streams[index].edge.wrapping_add(4);
    card.pass(7_000);
    card.quiet();
    // The rest of it, and a part of the next that stays alone.
    let state = &mut card.registers.streams[index];
    state.limit = state.edge.wrapping_add(RING);
    state.edge = state.edge.wrapping_add(1);
    card.pass(8_000);
    card.quiet();
    card.pass(4_000);
    assert_eq!(card.next(), closed(connection, CloseReason::TimedOut));
    assert_eq!(card.tcp.ended[&handle].0, End::Aborted);
    release(&mut card, handle, connection, stream);
    card.empty();
}

// req: AMB-23
#[test]
fn a_host_that_takes_no_completions_does_not_cost_the_connection() {
    let (mut card, listener) = Card::listening();
    let (_, connection, stream) = card.established(listener);
    card.registers.streams[usize::from(stream)].edge ^= 0x100;
    card.registers.completions = (64, 64);
    card.pass(1_000_000);
    card.quiet();
    card.registers.completions = (64, 63);
    card.pass(50_000);
    card.quiet();
    card.pass(30_000);
    assert_eq!(card.next(), closed(connection, CloseReason::TimedOut));
}

// req: DDP-TEAR-12, MPA-ERR-03
#[test]
fn a_reset_is_reported_in_every_state_of_full_operation() {
    for state in 0..4 {
        let (mut card, listener) = Card::listening();
        let (handle, connection, stream) = card.established(listener);
        if state & 1 != 0 {
            card.tcp.finishes(handle);
            card.settle();
            assert_eq!(card.next(), CardMessage::HalfClosed { connection });
        }
        if state & 2 != 0 {
            card.registers.streams[usize::from(stream)].idle = false;
            card.host(&HostMessage::Disconnect { connection });
        }
        card.tcp.resets(handle);
        card.settle();
        assert_eq!(card.next(), closed(connection, CloseReason::Reset));
        for message in [
            HostMessage::Disconnect { connection },
            HostMessage::Abort { connection },
            HostMessage::Proceed { connection },
        ] {
            card.host(&message);
            assert_eq!(
                card.next(),
                CardMessage::Refused {
                    number: connection,
                    kind: message.kind() as u8,
                    reason: Refusal::State,
                }
            );
        }
        assert_eq!(card.registers.armed(), 1);
        release(&mut card, handle, connection, stream);
        card.empty();
    }
}

// req: DDP-TEAR-03, AMB-57, LLP-10
#[test]
fn the_host_aborts() {
    let (mut card, listener) = Card::listening();
    let (handle, connection, stream) = card.established(listener);
    card.host(&HostMessage::Abort { connection });
    assert_eq!(card.next(), closed(connection, CloseReason::Aborted));
    assert_eq!(card.tcp.ended[&handle].0, End::Aborted);
    release(&mut card, handle, connection, stream);
    card.empty();
}

/// A peer that stops within an FPDU, in front of its stream's error or behind it.
// req: DDP-TEAR-03, DDP-TEAR-17
#[test]
fn a_stream_in_error_is_open_until_the_host_aborts() {
    for in_front in [0, 40_000] {
        let (mut card, listener) = Card::listening();
        let (handle, connection, stream) = card.established(listener);
        let index = usize::from(stream);
        card.registers.streams[index].edge = card.registers.streams[index].edge.wrapping_add(40);
        card.pass(in_front);
        card.registers.streams[index].frozen = true;
        card.pass(1_000_000);
        card.quiet();
        assert!(card.tcp.open.contains_key(&handle));
        card.host(&HostMessage::Abort { connection });
        assert_eq!(card.next(), closed(connection, CloseReason::Aborted));
        assert_eq!(card.tcp.ended[&handle].0, End::Aborted);
        release(&mut card, handle, connection, stream);
        card.empty();
    }
}

/// The FIN cuts the FPDU: the peer is closing, so the connection does not wait for the host for ever.
// req: AMB-57
#[test]
fn a_stream_whose_fin_cuts_an_fpdu_is_reset_in_the_end() {
    let (mut card, listener) = Card::listening();
    let (handle, connection, stream) = card.established(listener);
    let state = &mut card.registers.streams[usize::from(stream)];
    (state.edge, state.frozen) = (state.edge.wrapping_add(40), true);
    card.tcp.finishes(handle);
    card.settle();
    assert_eq!(card.next(), CardMessage::HalfClosed { connection });
    card.pass(59_000);
    card.quiet();
    card.pass(17_000);
    assert_eq!(card.next(), closed(connection, CloseReason::TimedOut));
    assert_eq!(card.tcp.ended[&handle].0, End::Aborted);
    release(&mut card, handle, connection, stream);
    card.empty();
}

// req: LLP-10, DDP-TEAR-04
#[test]
fn the_host_closes_the_stream_at_any_time() {
    // Without a word before: the peer is reset.
    let (mut card, listener) = Card::listening();
    let (handle, connection, stream) = card.established(listener);
    card.registers.host_closes(stream);
    card.tcp
        .events
        .push_back((handle, warpline_firmware::Event::Detached));
    card.settle();
    assert_eq!(card.next(), closed(connection, CloseReason::Aborted));
    assert_eq!(card.tcp.ended[&handle].0, End::Aborted);
    // The stream is the connection's until it is released: another one gets the next.
    let (other, second, next) = card.established(listener);
    assert_ne!(next, stream);
    card.host(&HostMessage::Release { connection });
    release(&mut card, other, second, next);
    assert_eq!(card.tcp.ended[&other].0, End::Aborted);
    assert_eq!(card.next(), closed(second, CloseReason::Aborted));
    card.empty();
}

// req: LLP-10
#[test]
fn a_host_that_only_releases_leaves_nothing_behind() {
    // In full operation, and before PROCEED.
    for established in [true, false] {
        let (mut card, listener) = Card::listening();
        let (handle, connection) = if established {
            let (handle, connection, _) = card.established(listener);
            (handle, connection)
        } else {
            let (handle, _, requested) = card.requested(listener, &Request::default());
            card.host(&accept(requested.connection));
            assert!(matches!(card.next(), CardMessage::Armed(_)));
            (handle, requested.connection)
        };
        card.host(&HostMessage::Release { connection });
        assert_eq!(card.tcp.ended[&handle].0, End::Aborted);
        assert_eq!(card.registers.log.last().unwrap().0, CLOSE_STREAM);
        card.empty();
        card.host(&HostMessage::Release { connection });
        let refused = CardMessage::Refused {
            number: connection,
            kind: 9,
            reason: Refusal::Unknown,
        };
        assert_eq!(card.next(), refused);
    }
}

#[test]
fn a_fin_before_full_operation_is_reported_behind_it() {
    for noticed in [false, true] {
        let (mut card, listener) = Card::listening();
        let (handle, _, requested) = card.requested(listener, &Request::default());
        let connection = requested.connection;
        card.host(&accept(connection));
        assert!(matches!(card.next(), CardMessage::Armed(_)));
        if noticed {
            card.tcp.notices_fin(handle);
        } else {
            card.tcp.finishes(handle);
        }
        card.settle();
        card.quiet();
        card.host(&HostMessage::Proceed { connection });
        assert_eq!(card.next(), CardMessage::Established { connection });
        assert_eq!(card.next(), CardMessage::HalfClosed { connection });
    }
}

#[test]
fn what_happens_while_the_stream_is_armed_comes_behind_armed() {
    for event in 0..4 {
        let (mut card, listener) = Card::listening();
        let (handle, _, requested) = card.requested(listener, &Request::default());
        let connection = requested.connection;
        card.registers.latency = 1_000;
        card.registers.host_window = accept(connection).emit();
        card.registers.host_pending = true;
        let turn = |card: &mut Card| {
            card.firmware
                .poll(&mut card.registers, &mut card.tcp, card.now)
        };
        assert_eq!(turn(&mut card), Some(card.now), "there may be one more");
        let due = turn(&mut card);
        assert_eq!(
            due,
            Some(card.now + 1),
            "it comes back soon, and does not spin"
        );
        let (next, reason) = match event {
            0 => (None, CloseReason::Reset),
            1 => (
                Some(HostMessage::Abort { connection }),
                CloseReason::Aborted,
            ),
            2 => (
                Some(HostMessage::Release { connection }),
                CloseReason::Aborted,
            ),
            _ => (
                Some(HostMessage::Unlisten {
                    listener: crate::model::LISTENER,
                }),
                CloseReason::Reset,
            ),
        };
        match next {
            None => card.tcp.resets(handle),
            Some(message) => {
                card.registers.host_window = message.emit();
                card.registers.host_pending = true;
            }
        }
        card.firmware
            .poll(&mut card.registers, &mut card.tcp, card.now);
        assert!(!card.registers.card_pending, "CLOSED in front of ARMED");
        card.registers.busy = 0;
        card.registers.latency = 3;
        card.settle();
        if event < 2 {
            assert!(matches!(card.next(), CardMessage::Armed(_)));
            assert_eq!(card.next(), closed(connection, reason));
            card.host(&HostMessage::Release { connection });
        }
        if event == 3 {
            // An accepted connection is not its listener's any more.
            assert!(matches!(card.next(), CardMessage::Armed(_)));
            card.host(&HostMessage::Release { connection });
        }
        card.empty();
    }
}

#[test]
fn connections_of_a_listener_end_with_it_unless_they_were_accepted() {
    let (mut card, listener) = Card::listening();
    let (open, connection, stream) = card.established(listener);
    let (asked, _, requested) = card.requested(listener, &Request::default());
    let silent = card.tcp.arrives(listener);
    card.settle();
    let late = card.tcp.arrives(listener); // accepted by TCP as the listener ends
    card.host(&HostMessage::Unlisten {
        listener: crate::model::LISTENER,
    });
    card.quiet();
    for handle in [asked, silent, late] {
        assert_eq!(card.tcp.ended[&handle].0, End::Aborted);
    }
    assert_eq!(card.usage().connections, 1);
    let gone = card.tcp.arrives(listener);
    card.settle();
    assert_eq!(
        card.tcp.ended[&gone].0,
        End::Aborted,
        "nobody listens any more"
    );
    card.host(&accept(requested.connection));
    let refused = CardMessage::Refused {
        number: requested.connection,
        kind: 4,
        reason: Refusal::Unknown,
    };
    assert_eq!(card.next(), refused);
    card.host(&HostMessage::Abort { connection });
    assert_eq!(card.next(), closed(connection, CloseReason::Aborted));
    release(&mut card, open, connection, stream);
    card.empty();
}

#[test]
fn a_reset_of_the_device_leaves_nothing() {
    let (mut card, listener) = Card::listening();
    card.established(listener);
    card.requested(listener, &Request::default());
    card.registers = crate::model::Registers::new(16);
    card.registers.reset = true;
    card.settle();
    assert!(card.tcp.listeners.is_empty());
    card.empty();
    let listener = card.listen(3, 1);
    card.established(listener);
}
