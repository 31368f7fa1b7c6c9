//! Requests that fail, streams that end.

use std::io::{Read, Write};

use warpline_driver::{Completion, DmaMemory, Registration, Scope, SendStatus};
use warpline_regmap::transmit::{Element, Flags, Gather, Payload};

use crate::bench::{
    Arming, Bench, Engine, SIGNALLED, each, gather, inline, pattern, read, tagged, untagged,
};

const TERMINATE: Flags = Flags {
    signalled: true,
    fence: false,
    terminate: true,
};

/// A request that fails puts nothing on the wire, and ends the queue.
fn refused(engine: Engine, expected: SendStatus, payload: impl FnOnce(&Bench) -> Payload) {
    let bench = Bench::open(engine, 64);
    let (mut peer, handle, stream) = bench.peer(0, Arming::default());
    let queue = stream.send_queue().unwrap();
    let payload = payload(&bench);
    queue
        .post(untagged(0), SIGNALLED, 1, inline(b"good"))
        .unwrap();
    queue
        .post(untagged(0), Flags::default(), 2, payload)
        .unwrap();
    queue
        .post(untagged(0), Flags::default(), 3, inline(b"behind"))
        .unwrap();
    read(&mut peer, 28);
    assert_eq!((bench.sent().id, bench.sent().status), (1, expected));
    let behind = bench.sent();
    assert_eq!((behind.id, behind.status), (3, SendStatus::Flushed));
    bench.connections.finish(handle).unwrap();
    let mut rest = Vec::new();
    peer.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty(), "{rest:?}");
    stream.close().unwrap();
}

// req: DDP-SEC-12
#[test]
fn an_unknown_stag_is_refused() {
    each(|engine| {
        refused(engine, SendStatus::Stag, |_| {
            let element = Element {
                stag: 0xDEAD_BEEF,
                length: 1,
                offset: 0,
            };
            Payload::Gather(Gather::new(&[element]).unwrap())
        });
    });
}

#[test]
fn a_revoked_stag_is_refused() {
    each(|engine| {
        refused(engine, SendStatus::Stag, |bench| {
            let region = bench.region(&[7; 100]);
            let payload = gather(&region, &[(0, 100)]);
            region.revoke().unwrap();
            payload
        });
    });
}

// req: AMB-59
#[test]
fn an_stag_of_another_domain_or_stream_is_refused() {
    each(|engine| {
        refused(engine, SendStatus::NotAssociated, |bench| {
            let other = bench.context.protection_domain().unwrap();
            let region = other
                .register(DmaMemory::new(64).unwrap(), Registration::default())
                .unwrap();
            let payload = gather(&region, &[(0, 1)]);
            std::mem::forget(region); // it stays registered
            payload
        });
        refused(engine, SendStatus::NotAssociated, |bench| {
            let scope = Scope::Stream(3);
            let registration = Registration {
                scope,
                ..Registration::default()
            };
            let region = bench
                .domain
                .register(DmaMemory::new(64).unwrap(), registration)
                .unwrap();
            let payload = gather(&region, &[(0, 1)]);
            std::mem::forget(region);
            payload
        });
    });
}

#[test]
fn an_element_outside_its_region_is_refused() {
    each(|engine| {
        for (at, length) in [(0_u64, 65), (64, 1), (63, 2), (u64::MAX, 1)] {
            refused(engine, SendStatus::Bounds, |bench| {
                let registration = Registration {
                    base: Some(1 << 20),
                    ..Registration::default()
                };
                let region = bench
                    .domain
                    .register(DmaMemory::new(64).unwrap(), registration)
                    .unwrap();
                let offset = region.base().wrapping_add(at);
                let elements = [
                    Element {
                        stag: region.stag(),
                        length: 64,
                        offset: region.base(),
                    },
                    Element {
                        stag: region.stag(),
                        length,
                        offset,
                    },
                ];
                std::mem::forget(region);
                Payload::Gather(Gather::new(&elements).unwrap())
            });
        }
    });
}

#[test]
fn memory_that_the_bus_refuses_ends_the_request() {
    each(|engine| {
        refused(engine, SendStatus::Bus, |bench| {
            let registration = Registration {
                base: Some(0),
                ..Registration::default()
            };
            let memory = DmaMemory::new(4096).unwrap();
            let region = bench.domain.register(memory, registration).unwrap();
            let payload = gather(&region, &[(0, 4096)]);
            let address = bench
                .card
                .mapped()
                .into_iter()
                .find(|(_, octets)| *octets == 4096);
            // The only map of a page that was made last.
            let address = address
                .map(|_| bench.card.mapped().last().copied().unwrap())
                .unwrap();
            bench.card.fail_reads(address.0..address.0 + address.1);
            std::mem::forget(region);
            payload
        });
    });
}

/// An element is checked when a segment reaches it: those in front of it leave, whole FPDUs.
#[test]
fn segments_in_front_of_a_bad_element_leave() {
    each(|engine| {
        let bench = Bench::open(engine, 64);
        let (mut peer, handle, stream) = bench.peer(0, Arming::default());
        let queue = stream.send_queue().unwrap();
        let region = bench.region(&pattern(9, 4000));
        // MULPDU is 1460 - 6, less the header: the third segment reaches the second element, whose first octet alone is there.
        let room = 1454 - 18;
        let elements = [
            Element {
                stag: region.stag(),
                length: 3000,
                offset: region.base(),
            },
            Element {
                stag: region.stag(),
                length: 2000,
                offset: region.base() + 3999,
            },
        ];
        let payload = Payload::Gather(Gather::new(&elements).unwrap());
        queue.post(untagged(0), SIGNALLED, 1, payload).unwrap();
        queue
            .post(untagged(0), Flags::default(), 2, inline(b"behind"))
            .unwrap();
        let found = [(); 2]
            .map(|()| bench.sent())
            .map(|sent| (sent.id, sent.status));
        assert_eq!(found, [(1, SendStatus::Bounds), (2, SendStatus::Flushed)]);
        let fpdus = read(&mut peer, 2 * (2 + 18 + room + 4));
        for (number, fpdu) in fpdus.chunks(2 + 18 + room + 4).enumerate() {
            let from = number * room;
            assert_eq!(fpdu[20..20 + room], pattern(9, 4000)[from..from + room]);
        }
        bench.connections.finish(handle).unwrap();
        let mut rest = Vec::new();
        peer.read_to_end(&mut rest).unwrap();
        assert!(rest.is_empty(), "{rest:?}");
        stream.close().unwrap();
    });
}

/// Memory that is revoked while a message is read from it: the message ends, and no octet is read once the command is done.
#[test]
fn revoked_memory_is_not_read_any_more() {
    each(|engine| {
        for seed in 1..=6 {
            let bench = match engine {
                Engine::Software => Bench::open(engine, 64),
                Engine::Rtl => Bench::stalling(64, 64, seed),
            };
            let (mut peer, handle, stream) = bench.peer(0, Arming::default());
            let region = bench.region(&pattern(seed, 300_000));
            let queue = stream.send_queue().unwrap();
            let elements = [(0, 100_000), (100_000, 200_000)];
            queue
                .post(untagged(0), SIGNALLED, 1, gather(&region, &elements))
                .unwrap();
            // Some of it is on its way.
            let count = 3 + 1000 * seed as usize;
            let first = read(&mut peer, count);
            drop(region.revoke().unwrap());
            let refused = bench.card.bus_errors();
            assert_eq!((refused, bench.sent().status), (0, SendStatus::Stag));
            bench.card.step(10_000).unwrap();
            assert_eq!(bench.card.bus_errors(), 0, "seed {seed}");
            bench.connections.finish(handle).unwrap();
            let mut rest = Vec::new();
            peer.read_to_end(&mut rest).unwrap();
            // Whole FPDUs of 1460 octets.
            assert_eq!((first.len() + rest.len()) % 1460, 0);
            stream.close().unwrap();
        }
    });
}

// req: DDP-ERR-21, DDP-TEAR-16, MPA-ERR-14, AMB-55, LLP-08
#[test]
fn after_an_error_only_a_terminate_is_sent() {
    each(|engine| {
        let bench = Bench::open(engine, 64);
        let (mut peer, _, stream) = bench.peer(0, Arming::default());
        let queue = stream.send_queue().unwrap();
        // An FPDU whose CRC is wrong.
        peer.write_all(&[
            0, 14, 0xC1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4,
        ])
        .unwrap();
        let Completion::Error(_) = bench.completion() else {
            panic!("no error")
        };
        queue
            .post(untagged(0), SIGNALLED, 1, inline(b"no more"))
            .unwrap();
        queue
            .post(untagged(2), TERMINATE, 2, inline(b"term"))
            .unwrap();
        queue
            .post(untagged(0), SIGNALLED, 3, inline(b"behind"))
            .unwrap();
        let found = [(); 3]
            .map(|()| bench.sent())
            .map(|sent| (sent.id, sent.status));
        let expected = [
            (1, SendStatus::Flushed),
            (2, SendStatus::Ok),
            (3, SendStatus::Flushed),
        ];
        assert_eq!(found, expected);
        assert_eq!(read(&mut peer, 28)[20..24], *b"term");
        assert_eq!(bench.state(0) & 0b1100, 0b1100, "idle and ended");
        stream.close().unwrap();
    });
}

// req: DDP-TEAR-15, MPA-SEG-17, LLP-03
#[test]
fn closing_a_stream_flushes_what_is_under_way() {
    each(|engine| {
        let bench = Bench::open(engine, 64);
        let (peer, _, stream) = bench.peer(0, Arming::default());
        let region = bench.region(&pattern(1, 8 << 20));
        let queue = stream.send_queue().unwrap();
        for id in 0..4 {
            // More than the buffers of both sockets hold: the peer reads nothing.
            queue
                .post(
                    tagged(1, 0),
                    SIGNALLED,
                    id,
                    gather(&region, &[(0, 8 << 20)]),
                )
                .unwrap();
        }
        stream.close().unwrap();
        let flushed = [(); 4].map(|()| bench.sent());
        assert!(
            flushed
                .iter()
                .all(|sent| sent.status == SendStatus::Flushed),
            "{flushed:?}"
        );
        assert_eq!(flushed.map(|sent| sent.id), [0, 1, 2, 3]);
        drop(peer);
        // The stream can be used again.
        let (mut peer, _, stream) = bench.peer(0, Arming::default());
        stream
            .send_queue()
            .unwrap()
            .post(untagged(0), SIGNALLED, 9, inline(b"warp"))
            .unwrap();
        assert_eq!(read(&mut peer, 28)[12..16], [0, 0, 0, 1], "MSN 1 again");
        stream.close().unwrap();
    });
}

#[test]
fn commands_of_the_control_program_are_refused_for_each_reason() {
    each(|engine| {
        let bench = Bench::open(engine, 64);
        assert!(
            !bench.arm_transmit(1, Arming::default()),
            "the stream is not armed"
        );
        assert!(
            !bench.arm_transmit(77, Arming::default()),
            "there is no such stream"
        );
        let (_peer, _, stream) = bench.peer(1, Arming::default());
        assert!(
            !bench.arm_transmit(1, Arming::default()),
            "it is armed already"
        );
        stream.close().unwrap();
        assert!(!bench.arm_transmit(1, Arming::default()), "it is closed");
        assert!(!bench.command(99, &[]), "there is no such command");
    });
}
