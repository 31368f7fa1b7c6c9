//! A reset of the device, as the control program's port shows it.

use warpline_regmap::mailbox::{CARD_MESSAGE, HOST_MESSAGE, MAILBOX};

use crate::bench::{Arming, Bench, each, notice_reset};

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
