//! A host that waits for nothing: commands over commands, arguments under way, any register at any time.

use std::io::{Read, Write};
use std::thread;

use fastrand::Rng;
use warpline_regmap::register::{self, command};
use warpline_regmap::transmit::{ARM_TRANSMIT, SEND_PRODUCER, SET_EMSS, SET_SEND_RING};
use warpline_sim::Card;

use crate::bench::{
    Arming, Bench, Engine, SIGNALLED, each, gather, inline, notice_reset, pattern, read, untagged,
};

/// Commands that there are, and some that there are not.
const COMMANDS: [u32; 11] = [
    command::WRITE_STAG,
    command::REVOKE_STAG,
    command::ARM_STREAM,
    command::CLOSE_STREAM,
    command::POST_RECEIVE,
    command::SET_RECEIVE_RING,
    SET_SEND_RING,
    ARM_TRANSMIT,
    SET_EMSS,
    0,
    0xFF,
];

/// Starts a command on one of few streams, with arguments that are partly sensible, and does not wait for it.
fn hurry(card: &Card, rng: &mut Rng) {
    let number = COMMANDS[rng.usize(..COMMANDS.len())];
    for index in 0..rng.u32(1..=register::ARGUMENT.count) {
        let word = match (index, rng.u8(..4)) {
            (0, 0..3) => rng.u32(..5) | 0x0007_0200,
            (1, 0..2) => 1460,
            (2, 0..2) => 0x1_0000 * rng.u32(..4),
            _ => rng.u32(..),
        };
        card.write_register(register::ARGUMENT.at(index), word)
            .unwrap();
    }
    card.write_register(register::COMMAND.offset, number)
        .unwrap();
}

/// Accesses anything in any way.
fn anything(card: &Card, rng: &mut Rng) {
    let offset = 4 * rng.u32(..register::SPACE / 4);
    let value = match rng.u8(..4) {
        0 => rng.u32(..),
        1 => u32::MAX,
        2 => 1 << rng.u32(..32),
        _ => rng.u32(..20),
    };
    match rng.u8(..5) {
        0 => drop(card.read_register(offset).unwrap()),
        1 => card.write_octets(offset, value, rng.u8(..16)).unwrap(),
        2 => card
            .write_register(SEND_PRODUCER.offset, rng.u32(..5) << 16 | value & 0xFFFF)
            .unwrap(),
        3 => {
            let registers = [
                register::COMPLETION_BASE_LOW,
                register::COMPLETION_BASE_HIGH,
                register::COMPLETION_ENTRIES,
                register::COMPLETION_CONSUMER,
                register::COMPLETION_ARM,
                register::COMMAND,
            ];
            let register = registers[rng.usize(..registers.len())];
            card.write_register(register.offset, value).unwrap();
        }
        _ => card.write_register(offset, value).unwrap(),
    }
}

/// The card goes on, and after a reset it is as new.
fn lives(bench: Bench) {
    bench.card.step(5000).unwrap();
    bench.card.reset().unwrap();
    notice_reset(&bench.control);
    let bench = bench.next_host();
    let (mut peer, _, stream) = bench.peer(0, Arming::default());
    let queue = stream.send_queue().unwrap();
    queue
        .post(untagged(0), SIGNALLED, 9, inline(b"warp"))
        .unwrap();
    assert_eq!(&read(&mut peer, 28)[20..24], b"warp");
    assert_eq!(bench.sent().id, 9);
    stream.close().unwrap();
}

fn with_traffic(engine: Engine, seed: u64, mut act: impl FnMut(&Card, &mut Rng)) {
    let bench = Bench::open(engine, 64);
    let (peer, handle, stream) = bench.peer(0, Arming::default());
    let region = bench.region(&pattern(seed, 100_000));
    let queue = stream.send_queue().unwrap();
    for id in 0..8 {
        let payload = gather(&region, &[(0, 60_000), (3, 20_000)]);
        queue.post(untagged(0), SIGNALLED, id, payload).unwrap();
    }
    let (mut reads, mut writes) = (peer.try_clone().unwrap(), peer);
    thread::spawn(move || while reads.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {});
    let garbage = pattern(seed ^ 7, 3000);
    let _ = writes.write_all(&garbage); // the card may have closed it
    act(&bench.card, &mut Rng::with_seed(seed));
    bench.card.step(5000).unwrap();
    bench.card.reset().unwrap();
    bench.connections.close(handle);
    let _ = stream.close(); // of a device that knows nothing of it
    drop(region);
    lives(bench);
}

/// The registers ignore what comes while a command runs (`registers.md`), so whoever follows the host's commands does, too.
#[test]
fn a_host_that_does_not_wait_for_its_commands_leaves_the_card_alive() {
    each(|engine| {
        for seed in 1..=4 {
            with_traffic(engine, seed, |card, rng| {
                for _ in 0..300 {
                    hurry(card, rng);
                    card.step(rng.u64(..40)).unwrap();
                }
            });
        }
    });
}

#[test]
fn any_access_at_any_time_leaves_the_card_alive() {
    each(|engine| {
        for seed in 1..=4 {
            with_traffic(engine, seed, |card, rng| {
                for _ in 0..1500 {
                    match rng.u8(..8) {
                        0 => hurry(card, rng),
                        _ => anything(card, rng),
                    }
                }
            });
        }
    });
}
