//! Random requests of several streams, and the cycles that they take.

use fastrand::Rng;
use warpline_hdl::tx::ddp::segment::command::TransmitArguments;
use warpline_regmap::transmit::{Element, Flags, Gather, Inline, Payload, SendRequest, Target};
use warpline_testbenches::local_memory::Region;
use warpline_testbenches::stimulus::chance;

use crate::model::REFUSED;
use crate::support::{Bench, Manners};

type Bench64 = Bench<64, 8, 2, 3, 1, 4>;

/// Regions of two domains, and one that the bus does not read.
fn regions() -> Vec<Region> {
    let region = |index: u64, address| Region {
        stag: (0x0100 * (index as u32 + 1)) | 0x35,
        domain: (index % 2) as u16,
        stream: None,
        base: [0, 0xFFFF_FF00, 0x1234_5678_9ABC][index as usize % 3],
        length: 20_000,
        address,
        remote_read: None,
    };
    vec![
        region(0, 0x4_0000_0007),
        region(1, 0xFFFF_F003),
        region(2, 0x5_0000_0FFE),
        region(3, 0x6_0000_0101),
        region(4, REFUSED.start),
        region(5, REFUSED.start),
    ]
}

/// An element of `length` octets of the domain.
fn element(rng: &mut Rng, regions: &[Region], domain: u16, length: u32) -> Element {
    let own: Vec<&Region> = regions[..4].iter().filter(|r| r.domain == domain).collect();
    let region = own[rng.usize(..own.len())];
    Element {
        stag: region.stag,
        length,
        offset: region.base + rng.u64(0..=region.length - u64::from(length)),
    }
}

pub fn request(
    rng: &mut Rng,
    regions: &[Region],
    domain: u16,
    most: u32,
    failing: u32,
) -> SendRequest {
    let target = match chance(rng, 50) {
        true => Target::Tagged {
            stag: rng.u32(..),
            offset: rng.u64(..1 << 50),
            rsvd_ulp: rng.u8(..),
        },
        false => Target::Untagged {
            queue: rng.u32(0..4),
            rsvd_ulp: rng.u64(..).to_be_bytes()[3..].try_into().unwrap(),
        },
    };
    let flags = Flags {
        // a request of which nothing is reported frees its slot with a later one
        signalled: true,
        fence: chance(rng, 20),
        terminate: false,
    };
    let payload = match chance(rng, 30) {
        true => {
            let octets: Vec<u8> = (0..rng.usize(0..=64)).map(|_| rng.u8(..)).collect();
            Payload::Inline(Inline::new(&octets).unwrap())
        }
        false => {
            let count = rng.usize(0..=8);
            let elements = (0..count).map(|_| {
                let length = rng.u32(1..=most);
                element(rng, regions, domain, length)
            });
            let mut elements: Vec<Element> = elements.collect();
            if rng.u32(0..100) < failing && !elements.is_empty() {
                let index = rng.usize(..elements.len());
                let wrong = &mut elements[index];
                match rng.u8(0..4) {
                    0 => wrong.stag ^= 1 << 20,
                    1 => wrong.stag = regions[usize::from(1 - domain)].stag,
                    2 => wrong.offset += 20_000,
                    _ => {
                        let refused = regions[4 + usize::from(domain)];
                        (wrong.stag, wrong.offset) = (refused.stag, refused.base);
                        wrong.length = wrong.length.min(2000);
                    }
                }
            }
            Payload::Gather(Gather::new(&elements).unwrap())
        }
    };
    SendRequest::new(target, flags, rng.u64(..), payload).unwrap()
}

fn arguments(rng: &mut Rng, stream: u8, emss: u16) -> TransmitArguments {
    TransmitArguments {
        stream: u64::from(stream).into(),
        protection_domain: u64::from(stream % 2).into(),
        markers: chance(rng, 50),
        crc: chance(rng, 75),
        gate: false,
        emss: u64::from(emss).into(),
        first_msn: 1_u64.into(),
    }
}

fn random(seed: u64, manners: Manners, requests: usize, failing: u32) {
    let mut bench = Bench64::new(seed, manners);
    for region in regions() {
        bench.region(region);
    }
    for number in 0..bench.streams.len() as u8 {
        let emss = [1460, 536, 200, 1000][usize::from(number % 4)];
        let arguments = arguments(&mut bench.rng, number, emss);
        let start = [0, u32::MAX - 3000, 0x1234_5671][bench.rng.usize(0..3)];
        bench.arm(number, arguments, start);
    }
    let regions = bench.regions.clone();
    for number in 0..bench.streams.len() as u8 {
        let most = [30, 400, 1200][bench.rng.usize(0..3)];
        for _ in 0..requests {
            let request = request(
                &mut bench.rng,
                &regions,
                u16::from(number % 2),
                most,
                failing,
            );
            bench.post(number, request);
        }
    }
    bench.run().unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    let octets: usize = bench.streams.iter().map(|stream| stream.octets.len()).sum();
    assert!(octets > 1000, "{octets}");
}

#[test]
fn requests_become_octets_at_64_bits() {
    random(1, Manners::quick(20), 5, 0);
    random(2, Manners::slow(), 5, 8);
}

/// Stream 1 is armed, and has a few requests.
fn few(bench: &mut Bench64) {
    for region in regions() {
        bench.region(region);
    }
    let arguments = arguments(&mut bench.rng, 1, 536);
    bench.arm(1, arguments, 7);
    let regions = bench.regions.clone();
    for _ in 0..3 {
        let request = request(&mut bench.rng, &regions, 1, 300, 0);
        bench.post(1, request);
    }
}

/// What is due is compared: an octet and a completion that are not due are seen, and so is what does not come.
#[test]
fn what_is_not_due_is_seen() {
    let mut bench = Bench64::new(7, Manners::quick(3));
    few(&mut bench);
    let sender = bench.streams[1].sender.as_mut().unwrap();
    let at = sender.octets.len() / 2;
    sender.octets[at] ^= 0x10;
    let seen = bench.run().unwrap_err();
    assert!(seen.contains("stream 1 from"), "{seen}");

    let mut bench = Bench64::new(7, Manners::quick(3));
    few(&mut bench);
    bench.streams[1].sender.as_mut().unwrap().entries[1].consumed += 1;
    let seen = bench.run().unwrap_err();
    assert!(
        seen.contains("consumed: 2") && seen.contains("consumed: 3"),
        "{seen}"
    );

    let mut bench = Bench64::new(7, Manners::quick(3));
    few(&mut bench);
    bench.streams[1].sender.as_mut().unwrap().octets.push(0);
    let seen = bench.run().unwrap_err();
    assert!(seen.contains("nothing moves"), "{seen}");
}
