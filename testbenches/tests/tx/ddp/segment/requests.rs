//! Random requests, and the arguments that arm a stream for them.

use fastrand::Rng;
use warpline_hdl::tx::ddp::segment::command::TransmitArguments;
use warpline_regmap::transmit::{Element, Flags, Gather, Inline, Payload, SendRequest, Target};
use warpline_testbenches::stimulus::{self, chance};

/// Arguments of `Arm`.
pub fn arming(rng: &mut Rng, stream: u8, emss: u16) -> TransmitArguments {
    TransmitArguments {
        stream: u64::from(stream).into(),
        protection_domain: stimulus::bits(rng),
        markers: chance(rng, 50),
        crc: chance(rng, 50),
        gate: false,
        emss: u64::from(emss).into(),
        first_msn: stimulus::bits(rng),
    }
}

/// A request with random target and flags, and payload of `length` octets.
pub fn request(rng: &mut Rng, length: u32, terminate: bool) -> SendRequest {
    let target = match chance(rng, 50) {
        true => Target::Tagged {
            stag: rng.u32(..),
            offset: match rng.u8(0..4) {
                0 => 0_u64.wrapping_sub(length.max(1).into()),
                1 => rng.u64(0..1 << 33),
                2 => 0xFFFF_FF00,
                _ => rng.u64(..u64::MAX - (1 << 33)),
            },
            rsvd_ulp: rng.u8(..),
        },
        false => Target::Untagged {
            queue: *rng.choice(&[0, 1, 2, 3, 255, 128]).expect("some"),
            rsvd_ulp: rng.u64(..).to_be_bytes()[3..].try_into().expect("five"),
        },
    };
    let flags = Flags {
        signalled: chance(rng, 50),
        fence: false,
        terminate,
    };
    let payload = match length <= 64 && chance(rng, 50) {
        true => {
            let octets: Vec<u8> = (0..length).map(|_| rng.u8(..)).collect();
            Payload::Inline(Inline::new(&octets).expect("at most 64"))
        }
        false => Payload::Gather(gather(rng, length)),
    };
    SendRequest::new(target, flags, rng.u64(..), payload).expect("a legal request")
}

/// Elements of `length` octets together.
pub fn gather(rng: &mut Rng, length: u32) -> Gather {
    let most = length.min(8);
    let count = match most {
        0 => 0,
        most => rng.u32(1..=most),
    };
    let (mut elements, mut left) = (vec![], length);
    for index in 0..count {
        let behind = count - index - 1;
        let octets = match behind {
            0 => left,
            _ => rng.u32(1..=left - behind),
        };
        left -= octets;
        elements.push(Element {
            stag: rng.u32(..),
            length: octets,
            offset: match rng.u8(0..3) {
                0 => 0xFFFF_FFF0,
                1 => rng.u64(0..1 << 20),
                _ => rng.u64(..u64::MAX - (1 << 33)),
            },
        });
    }
    Gather::new(&elements).expect("a legal list")
}
