//! A connection whose segments become shorter or longer: its stream is given the new EMSS.

use crate::model::{Card, Request, accept};
use warpline_regmap::mailbox::{CardMessage, CloseReason, HostMessage};
use warpline_regmap::register::command::CLOSE_STREAM;
use warpline_regmap::transmit::{ARM_TRANSMIT, SET_EMSS, emss, transmit_context};

/// Every EMSS that the device was given: the command, the stream, the octets, and whether it was carried out.
fn given(card: &Card) -> Vec<(u32, u64, u64, bool)> {
    let log = card.registers.log.iter();
    log.filter_map(|(number, words, done)| match *number {
        ARM_TRANSMIT => {
            let stream = transmit_context::STREAM.get(words);
            Some((
                ARM_TRANSMIT,
                stream,
                transmit_context::EMSS.get(words),
                *done,
            ))
        }
        SET_EMSS => Some((
            SET_EMSS,
            emss::STREAM.get(words),
            emss::EMSS.get(words),
            *done,
        )),
        _ => None,
    })
    .collect()
}

// req: MPA-SEG-04, MPA-SEG-10, MPA-SEG-24, LLP-01
#[test]
fn streams_follow_the_segments_of_their_connections() {
    let (mut card, listener) = Card::listening();
    let (_, first, stream) = card.established(listener);
    let (_, _, other) = card.established(listener);
    assert_eq!(card.registers.streams[usize::from(stream)].emss, 1448);
    for octets in [1400, 600, 8948, 1448] {
        card.tcp.resegments(octets);
        card.settle();
        for stream in [stream, other] {
            assert_eq!(card.registers.streams[usize::from(stream)].emss, octets);
        }
    }
    // A path can be narrower than the least MULPDU: TCP then cuts.
    card.tcp.resegments(48);
    card.settle();
    assert_eq!(card.registers.streams[usize::from(stream)].emss, 128);
    // The value that the device has is not given again.
    let before = given(&card);
    card.tcp.resegments(127);
    card.settle();
    assert_eq!(given(&card), before);
    assert!(before.iter().all(|(.., done)| *done));
    // The host has no part in it, and a connection that is over none either.
    card.quiet();
    card.host(&HostMessage::Abort { connection: first });
    card.next();
    card.tcp.resegments(1000);
    card.settle();
    assert_eq!(
        given(&card)[before.len()..],
        [(SET_EMSS, other.into(), 1000, true)]
    );
}

/// The value that holds when the stream is armed counts, whatever it was when the host accepted.
// req: MPA-SEG-24
#[test]
fn a_change_during_start_up_reaches_the_stream() {
    for latency in [0, 3] {
        for turns in 0..12 {
            let (mut card, listener) = Card::listening();
            card.registers.latency = latency;
            let (_, _, requested) = card.requested(listener, &Request::default());
            let connection = requested.connection;
            card.registers.host_window = accept(connection).emit();
            card.registers.host_pending = true;
            for _ in 0..turns {
                card.firmware
                    .poll(&mut card.registers, &mut card.tcp, card.now);
            }
            card.tcp.resegments(700);
            card.settle();
            assert!(matches!(card.next(), CardMessage::Armed(_)));
            assert_eq!(card.registers.streams[0].emss, 700, "behind turn {turns}");
            card.host(&HostMessage::Proceed { connection });
            assert_eq!(card.next(), CardMessage::Established { connection });
        }
    }
}

// req: LLP-10
#[test]
fn a_stream_that_is_closed_meanwhile_is_left_alone() {
    // The host has closed it, and the network has not noticed yet.
    let (mut card, listener) = Card::listening();
    let (handle, connection, stream) = card.established(listener);
    card.registers.host_closes(stream);
    card.tcp.resegments(600);
    card.settle();
    assert_eq!(
        given(&card)[1..],
        [(SET_EMSS, stream.into(), 600, false)],
        "once"
    );
    card.tcp
        .events
        .push_back((handle, warpline_firmware::Event::Detached));
    card.settle();
    let reason = CloseReason::Aborted;
    assert_eq!(card.next(), CardMessage::Closed { connection, reason });
    card.host(&HostMessage::Release { connection });
    card.empty();

    // The connection is released while the command runs: the stream is closed behind it.
    let (_, connection, stream) = card.established(listener);
    card.registers.latency = 20;
    card.tcp.resegments(900);
    card.firmware
        .poll(&mut card.registers, &mut card.tcp, card.now);
    assert!(card.registers.is_running());
    card.registers.host_window = HostMessage::Release { connection }.emit();
    card.registers.host_pending = true;
    card.firmware
        .poll(&mut card.registers, &mut card.tcp, card.now);
    assert!(card.registers.is_running(), "SET_EMSS is not done");
    assert_eq!(card.usage().streams, 1, "CLOSE_STREAM is still to come");
    card.settle();
    let last: Vec<u32> = card
        .registers
        .log
        .iter()
        .rev()
        .take(2)
        .map(|(number, ..)| *number)
        .collect();
    assert_eq!(last, [CLOSE_STREAM, SET_EMSS]);
    assert_eq!(
        u64::from(stream),
        card.registers.log.last().unwrap().1[0].into()
    );
    card.empty();
}
