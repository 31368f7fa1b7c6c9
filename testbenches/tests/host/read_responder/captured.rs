//! A Read Request and the header of its Read Response as Linux soft-iWARP sent them (capture `crc1-rping`), octet by octet.

use warpline_regmap::transmit::{Element, Payload, Target};

use crate::model::Wrong;
use crate::random::quick;
use crate::support::Rig;

/// Control octets, Invalidate STag, QN, MSN, MO, and the 28 octets behind them.
const REQUEST: [u8; 46] = *b"\x41\x41\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\
    \x6b\x3d\x04\x00\x00\x00\x55\x6d\x28\xf9\x2c\xe0\x00\x00\x0f\xa0\xb3\x08\x2d\x00\x00\x00\x55\x86\xc5\x0b\xf7\xa0";
/// Control octets, STag, Tagged Offset of the first segment, and of the last one, whose ULPDU has 0x486 octets.
const RESPONSE: [u8; 14] = *b"\x81\x42\x6b\x3d\x04\x00\x00\x00\x55\x6d\x28\xf9\x2c\xe0";
const LAST: [u8; 14] = *b"\xc1\x42\x6b\x3d\x04\x00\x00\x00\x55\x6d\x28\xf9\x38\x08";
const LAST_ULPDU: u64 = 0x486;

fn number(octets: &[u8]) -> u64 {
    octets
        .iter()
        .fold(0, |number, octet| number << 8 | u64::from(*octet))
}

#[test]
fn a_captured_request_becomes_its_captured_response() {
    let mut rig = Rig::<64, 8, 4>::new(quick(9), 1);
    let run = |rig: &mut Rig<64, 8, 4>| -> Result<_, Wrong> {
        rig.switch_on(1)?;
        rig.streams[1].first = 1;
        let mut words = rig.streams[1].arguments(1);
        // the message is the first one of its queue
        assert_eq!(number(&REQUEST[10..14]), 1);
        warpline_regmap::transmit::read_responder::ON.put(&mut words, 0);
        for on in [0, 1] {
            warpline_regmap::transmit::read_responder::ON.put(&mut words, on);
            let legal = true;
            rig.op = Some(crate::model::Op::Set {
                stream: 1,
                words,
                domain: rig.streams[1].domain,
                legal,
            });
            rig.settle_op()?;
        }
        let request = warpline_wire::rdmap::ReadRequest::default();
        let mut words = rig.ask(1, &request);
        let address = rig.streams[1].address(1);
        let mut line = [0xEE; 64];
        line[..28].copy_from_slice(&REQUEST[18..]);
        rig.memory.borrow_mut().insert(address / 64, line);
        let asked = warpline_wire::rdmap::ReadRequest::parse(&REQUEST[18..]);
        rig.allow(1, &asked.expect("a captured one"));
        let control = u64::from(REQUEST[1]);
        warpline_regmap::layout::completion::RSVD_ULP_FIRST.put(&mut words, control);
        rig.give(words);
        rig.holds.insert(1);
        rig.finish()?;
        let due = rig.streams[1].slots[0].0;
        rig.holds.clear();
        rig.finish()?;
        assert_eq!(rig.answered, 1);
        Ok(due)
    };
    // `due` is what the slot was compared with; here it is compared with the capture, without the crates
    let due = run(&mut rig).unwrap_or_else(|wrong| panic!("{wrong}"));
    let stag = number(&RESPONSE[2..6]) as u32;
    let offset = number(&RESPONSE[6..]);
    let rsvd_ulp = RESPONSE[1];
    let target = Target::Tagged {
        stag,
        offset,
        rsvd_ulp,
    };
    assert_eq!(due.target(), target);
    let octets = number(&LAST[6..]) + LAST_ULPDU - 14 - offset;
    assert_eq!((octets, due.request()), (4000, 1));
    let Payload::Gather(gather) = due.payload() else {
        panic!("{due:?}");
    };
    let element = Element {
        stag: 0xb308_2d00,
        length: 4000,
        offset: 0x5586_c50b_f7a0,
    };
    assert_eq!(gather.as_slice(), [element]);
}
