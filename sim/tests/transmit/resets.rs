//! A reset of the device, as the control program's port shows it.

use warpline_regmap::mailbox::{CARD_MESSAGE, HOST_MESSAGE, MAILBOX};

use crate::bench::{
    Arming, Bench, SIGNALLED, each, gather, inline, notice_reset, pattern, read, untagged,
};

const PENDING: u32 = 1;
const RESET: u32 = 2;

/// A host that resets the card and passes a message at once, before the control program has run: the message meets a program
/// that has noticed the reset, and what the program began before it does not reach the device.
#[test]
fn a_message_behind_a_reset_comes_behind_it() {
    each(|engine| {
        let bench = Bench::open(engine, 64);
        let control = |offset: u32| bench.control.read(offset).unwrap();
        let host = |offset: u32, value: u32| bench.card.write_register(offset, value).unwrap();
        assert_eq!(control(HOST_MESSAGE.offset), 0);
        bench.control.write(CARD_MESSAGE.offset, PENDING).unwrap();
        assert_eq!(control(CARD_MESSAGE.offset), PENDING);

        bench.card.reset().unwrap();
        host(MAILBOX.offset, 0x1234);
        host(HOST_MESSAGE.offset, PENDING | RESET);
        assert_eq!(control(HOST_MESSAGE.offset), RESET);
        let offset = HOST_MESSAGE.offset;
        assert_eq!(bench.card.read_register(offset).unwrap(), PENDING);

        // The program does not know yet, and goes on with what it was doing.
        assert!(!bench.arm_transmit(0, Arming::default()));
        bench.control.write(CARD_MESSAGE.offset, PENDING).unwrap();
        bench.control.write(HOST_MESSAGE.offset, PENDING).unwrap();
        assert_eq!(control(CARD_MESSAGE.offset), 0);

        notice_reset(&bench.control);
        assert_eq!(control(HOST_MESSAGE.offset), PENDING);
        assert_eq!(control(MAILBOX.offset), 0x1234);
        bench.control.write(HOST_MESSAGE.offset, PENDING).unwrap();
        assert_eq!(control(HOST_MESSAGE.offset), 0);
        assert_eq!(bench.card.read_register(offset).unwrap(), 0);
    });
}

/// A reset while octets are read, framed and sent: no port breaks a rule, and the next host finds a device as after power-up.
#[test]
fn a_reset_under_traffic_leaves_nothing() {
    for seed in 1..=8 {
        let bench = Bench::stalling(64, 64, seed);
        let (peer, handle, stream) = bench.peer(0, Arming::default());
        let region = bench.region(&pattern(seed, 100_000));
        let queue = stream.send_queue().unwrap();
        for id in 0..8 {
            let payload = gather(&region, &[(0, 60_000), (3, 20_000)]);
            queue.post(untagged(0), SIGNALLED, id, payload).unwrap();
        }
        bench.card.step(333 * seed).unwrap();
        bench.card.reset().unwrap();
        bench.card.step(1000).unwrap();
        drop(peer);
        bench.connections.close(handle);
        stream.close().unwrap(); // of a device that knows nothing of it
        drop(region);
        let bench = bench.next_host();
        assert_eq!(bench.state(0) & 0b1111, 0b0100, "idle, and nothing else");
        let (mut peer, _, stream) = bench.peer(0, Arming::default());
        let queue = stream.send_queue().unwrap();
        let payload = inline(b"warp");
        queue.post(untagged(0), SIGNALLED, 9, payload).unwrap();
        let octets = read(&mut peer, 28);
        assert_eq!(
            (&octets[12..16], &octets[20..24]),
            (&[0, 0, 0, 1][..], &b"warp"[..])
        );
        assert_eq!(bench.sent().id, 9);
        stream.close().unwrap();
    }
}
