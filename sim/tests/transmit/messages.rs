//! Octets of each kind of message, as the peer's TCP gives them.

use warpline_driver::SendStatus;
use warpline_wire::mpa;
use warpline_wire::send::{CrcField, FpduWriter, Message};

use crate::bench::{
    Arming, Bench, Engine, SIGNALLED, each, gather, inline, pattern, read, tagged, untagged,
};

/// A Send of 4 octets in one FPDU, octet by octet: length 22, DDP control 41 (untagged, last, version 1), RsvdULP, QN 0, MSN 1,
/// MO 0, payload, no PAD, CRC32C.
const SEND: [u8; 28] = [
    0x00, 0x16, 0x41, 0x43, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, b'w', b'a', b'r', b'p',
    0, 0, 0, 0,
];

/// CRC32C bit by bit (RFC 3720 §12.1), which shares nothing with `wire`.
fn crc32c(octets: &[u8]) -> [u8; 4] {
    let mut register = !0_u32;
    for octet in octets {
        register ^= u32::from(*octet);
        for _ in 0..8 {
            register = (register >> 1) ^ (0x82F6_3B78 & (register & 1).wrapping_neg());
        }
    }
    (!register).to_le_bytes()
}

// req: DDP-SEG-01, DDP-SEC-16, DDP-UNT-01
#[test]
fn a_send_is_what_the_documents_say_octet_by_octet() {
    each(|engine| {
        let bench = Bench::open(engine, 64);
        let (mut peer, _, stream) = bench.peer(0, Arming::default());
        let queue = stream.send_queue().unwrap();
        queue
            .post(untagged(0), SIGNALLED, 7, inline(b"warp"))
            .unwrap();
        let mut expected = SEND;
        let crc = crc32c(&SEND[..24]);
        expected[24..].copy_from_slice(&crc);
        assert_eq!(read(&mut peer, 28), expected);
        let sent = bench.sent();
        assert_eq!((sent.id, sent.length), (7, 4));
        assert!(sent.status == SendStatus::Ok, "{sent:?}");
        // The second message of the queue has MSN 2; the first of another queue has 1.
        queue.post(untagged(0), SIGNALLED, 8, inline(b"")).unwrap();
        queue.post(untagged(1), SIGNALLED, 9, inline(b"")).unwrap();
        let octets = read(&mut peer, 2 * 24);
        assert_eq!(
            (&octets[8..16], &octets[32..40]),
            (&[0, 0, 0, 0, 0, 0, 0, 2][..], &[0, 0, 0, 1, 0, 0, 0, 1][..])
        );
        stream.close().unwrap();
    });
}

/// All sizes and forms of one stream, as `wire` frames them. That they are right is shown by a second card, which receives them.
fn all_forms(engine: Engine, arming: Arming) {
    all_forms_on(Bench::open(engine, 256), arming);
}

fn all_forms_on(bench: Bench, arming: Arming) {
    let (mut peer, _, stream) = bench.peer(2, arming);
    let memory = pattern(1, 300_000);
    let region = bench.region(&memory);
    let queue = stream.send_queue().unwrap();
    let mulpdu = mpa::mulpdu(arming.emss.into(), arming.markers);
    let crc = if arming.crc {
        CrcField::Computed
    } else {
        CrcField::Zero
    };
    let mut writer = FpduWriter::new(arming.markers, crc);
    let lists: [&[(u64, u32)]; 7] = [
        &[],
        &[(5, 1)],
        &[(4090, 12)],
        &[
            (0, 1),
            (7, 2),
            (100, 3),
            (4000, 4),
            (8191, 5),
            (1, 6),
            (2, 7),
            (9, 8),
        ],
        &[(0, 1428), (1428, 1429)],
        &[(10, 70_000)],
        &[(1, 120_000), (299_999, 1), (150_000, 100_000)],
    ];
    for (number, ranges) in (0..).zip(lists) {
        let payload: Vec<u8> = ranges
            .iter()
            .flat_map(|&(at, length)| &memory[at as usize..][..length as usize])
            .copied()
            .collect();
        let to = 3 * number;
        queue
            .post(
                tagged(0x1234_5678, to),
                SIGNALLED,
                number,
                gather(&region, ranges),
            )
            .unwrap();
        let message = Message::Tagged {
            stag: 0x1234_5678,
            to,
            rsvd_ulp: 0x40,
        };
        let mut expected = Vec::new();
        writer
            .append_message(message, &payload, mulpdu, &mut expected)
            .unwrap();
        let found = read(&mut peer, expected.len());
        assert!(found == expected, "request {number}");
        let sent = bench.sent();
        assert_eq!((sent.id, sent.length as usize), (number, payload.len()));
    }
    stream.close().unwrap();
}

/// Long messages to places all over the Tagged Offsets: what leaves is taken apart here, octet by octet.
// req: DDP-TAG-12, DDP-SEG-07, MPA-CRC-07, MPA-FMT-02
#[test]
fn every_fpdu_of_long_messages_has_its_offset_and_its_crc() {
    each(|engine| {
        const LENGTH: u32 = 300_000;
        let bench = Bench::open(engine, 256);
        let (mut peer, _, stream) = bench.peer(2, Arming::default());
        let memory = pattern(1, LENGTH as usize);
        let region = bench.region(&memory);
        let queue = stream.send_queue().unwrap();
        let mut fpdus = 0;
        let last = u64::MAX - u64::from(LENGTH);
        for (number, to) in (0..).zip([0, 1, 16384, 0xFFFF_FF00, 1 << 63, last]) {
            let all = gather(&region, &[(0, LENGTH)]);
            queue
                .post(tagged(0x1234_5678, to), SIGNALLED, number, all)
                .unwrap();
            let mut at = 0;
            while at < memory.len() {
                let length = read(&mut peer, 2);
                let ulpdu_length = usize::from(u16::from_be_bytes([length[0], length[1]]));
                let pad = (2 + ulpdu_length).next_multiple_of(4) - (2 + ulpdu_length);
                let rest = read(&mut peer, ulpdu_length + pad + 4);
                let (covered, crc) = rest.split_at(ulpdu_length + pad);
                assert_eq!(crc, crc32c(&[&length[..], covered].concat()));
                let payload = &covered[14..ulpdu_length];
                let is_last = at + payload.len() == memory.len();
                let control = if is_last { 0xC1 } else { 0x81 };
                assert_eq!(covered[..6], [control, 0x40, 0x12, 0x34, 0x56, 0x78]);
                assert_eq!(covered[6..14], (to + at as u64).to_be_bytes());
                assert_eq!(payload, &memory[at..at + payload.len()]);
                assert!(covered[ulpdu_length..].iter().all(|octet| *octet == 0));
                at += payload.len();
                fpdus += 1;
            }
            assert_eq!(bench.sent().id, number);
        }
        assert!(fpdus > 1200, "{fpdus}");
        stream.close().unwrap();
    });
}

// req: MPA-MRK-14, MPA-MRK-15, DDP-SEG-02, MPA-SEG-03
#[test]
fn all_forms_without_markers() {
    each(|engine| {
        all_forms(engine, Arming::default());
    });
}

// req: MPA-MRK-01
#[test]
fn all_forms_with_markers() {
    each(|engine| {
        all_forms(
            engine,
            Arming {
                markers: true,
                ..Arming::default()
            },
        );
    });
}

#[test]
fn all_forms_without_crc_in_small_segments() {
    each(|engine| {
        all_forms(
            engine,
            Arming {
                crc: false,
                emss: 140,
                ..Arming::default()
            },
        );
    });
}

/// All forms by the RTL, while its ports stall. The engine in software has no such ports.
fn all_forms_while_ports_stall(width: usize) {
    for seed in 1..=4 {
        let bench = Bench::stalling(width, 256, seed);
        let arming = Arming {
            markers: seed % 2 == 0,
            ..Arming::default()
        };
        let card = bench.card.clone();
        all_forms_on(bench, arming);
        assert!(card.resent_octets() > 10_000, "{}", card.resent_octets());
    }
}

#[test]
fn all_forms_of_64_bits_while_ports_stall() {
    all_forms_while_ports_stall(64);
}

#[test]
#[ignore = "builds a model of its own: make long-transmit"]
fn all_forms_of_128_bits_while_ports_stall() {
    all_forms_while_ports_stall(128);
}

#[test]
#[ignore = "builds a model of its own: make long-transmit"]
fn all_forms_of_256_bits_while_ports_stall() {
    all_forms_while_ports_stall(256);
}

#[test]
fn all_forms_of_512_bits_while_ports_stall() {
    all_forms_while_ports_stall(512);
}

// req: MPA-START-10, AMB-29
#[test]
fn the_gate_is_closed_until_an_fpdu_is_valid() {
    each(|engine| {
        use std::io::Write;
        let bench = Bench::open(engine, 64);
        let (mut peer, _, stream) = bench.peer(
            1,
            Arming {
                gate: true,
                ..Arming::default()
            },
        );
        stream
            .receive_queue(0)
            .unwrap()
            .post_many(bench.context.buffers(2, 64).unwrap())
            .unwrap();
        stream
            .send_queue()
            .unwrap()
            .post(untagged(0), SIGNALLED, 1, inline(b"late"))
            .unwrap();
        // Long after the doorbell nothing has been sent.
        bench.card.step(20_000).unwrap();
        assert_eq!(
            bench.state(1) & 0b111,
            0b001,
            "armed, neither open nor idle"
        );
        peer.set_nonblocking(true).unwrap();
        assert_eq!(
            peer.peek(&mut [0]).unwrap_err().kind(),
            std::io::ErrorKind::WouldBlock
        );
        peer.set_nonblocking(false).unwrap();
        let mut fpdu = SEND;
        let crc = crc32c(&SEND[..24]);
        fpdu[24..].copy_from_slice(&crc);
        peer.write_all(&fpdu).unwrap();
        assert_eq!(read(&mut peer, 28)[20..24], *b"late");
        stream.close().unwrap();
    });
}

// req: AMB-56, DDP-ERR-35
#[test]
fn an_fpdu_that_mpa_refuses_leaves_the_gate_closed() {
    each(|engine| {
        use std::io::Write;
        use warpline_driver::Completion;
        let bench = Bench::open(engine, 64);
        let (mut peer, _, stream) = bench.peer(
            1,
            Arming {
                gate: true,
                ..Arming::default()
            },
        );
        stream
            .send_queue()
            .unwrap()
            .post(untagged(0), SIGNALLED, 1, inline(b"late"))
            .unwrap();
        peer.write_all(&SEND).unwrap(); // its CRC is wrong
        let Completion::Error(error) = bench.completion() else {
            panic!("no error")
        };
        // of the LLP, and its second error: an invalid CRC (RFC 5044 §8)
        assert_eq!((error.number.error_type(), error.number.code()), (3, 2));
        let sent = bench.sent();
        assert_eq!(sent.status, SendStatus::Flushed);
        assert_eq!(bench.state(1) & 0b010, 0);
        stream.close().unwrap();
    });
}

/// The gate depends on MPA alone, so that the error can be reported.
// req: AMB-56, MPA-START-10
#[test]
fn an_fpdu_with_a_ddp_error_opens_the_gate_for_its_terminate() {
    each(|engine| {
        use std::io::Write;
        use warpline_driver::Completion;
        use warpline_regmap::transmit::Flags;
        let bench = Bench::open(engine, 64);
        let (mut peer, _, stream) = bench.peer(
            1,
            Arming {
                gate: true,
                ..Arming::default()
            },
        );
        let queue = stream.send_queue().unwrap();
        queue
            .post(untagged(0), SIGNALLED, 1, inline(b"late"))
            .unwrap();
        // A good FPDU for a queue without a buffer: 0x2/0x02.
        let mut fpdu = SEND;
        fpdu[24..].copy_from_slice(&crc32c(&SEND[..24]));
        peer.write_all(&fpdu).unwrap();
        let Completion::Error(error) = bench.completion() else {
            panic!("no error")
        };
        assert_eq!(
            (error.number.error_type(), error.number.code()),
            (0x2, 0x02)
        );
        assert_eq!(bench.sent().status, SendStatus::Flushed);
        let terminate = Flags {
            terminate: true,
            ..SIGNALLED
        };
        queue
            .post(untagged(2), terminate, 2, inline(b"term"))
            .unwrap();
        let sent = bench.sent();
        assert_eq!((sent.id, sent.status), (2, SendStatus::Ok));
        assert_eq!(read(&mut peer, 28)[20..24], *b"term");
        stream.close().unwrap();
    });
}

// req: MPA-SEG-04, MPA-SEG-05, MPA-SEG-10, MPA-SEG-12, LLP-01
#[test]
fn a_new_emss_holds_from_the_next_fpdu_on() {
    each(|engine| {
        let bench = Bench::open(engine, 64);
        let (mut peer, _, stream) = bench.peer(
            0,
            Arming {
                emss: 512,
                ..Arming::default()
            },
        );
        let region = bench.region(&pattern(3, 4000));
        let queue = stream.send_queue().unwrap();
        for (emss, id) in [(512_u16, 0), (1024, 1), (200, 2), (128, 3)] {
            assert!(bench.set_emss(0, emss));
            queue
                .post(tagged(1, 0), SIGNALLED, id, gather(&region, &[(0, 4000)]))
                .unwrap();
            let mulpdu = mpa::mulpdu(emss.into(), false);
            let first = read(&mut peer, 2);
            let length = u16::from_be_bytes([first[0], first[1]]);
            assert_eq!(length, mulpdu);
            let whole = 4000_u32.div_ceil(u32::from(mulpdu) - 14);
            let octets = 4000 + whole as usize * (2 + 14 + 4);
            // PADs of whole FPDUs, and of the last one.
            let pad = |ulpdu: usize| (4 - (2 + ulpdu) % 4) % 4;
            let last = 4000 - (whole - 1) as usize * (usize::from(mulpdu) - 14) + 14;
            let pads = (whole - 1) as usize * pad(mulpdu.into()) + pad(last);
            read(&mut peer, octets + pads - 2);
            assert_eq!(bench.sent().id, id);
        }
        assert!(!bench.set_emss(0, 127), "below MPA's floor");
        assert!(!bench.set_emss(3, 1460), "not armed");
        stream.close().unwrap();
    });
}
