//! The golden vectors of `vectors.json`: CRC, FPDUs, limits, MULPDU, start frames, segmentation and
//! the validation cases.

mod common;

use common::*;
use sha2::{Digest, Sha256};
use warpline_wire::ddp::{Header, TaggedHeader, UntaggedHeader};
use warpline_wire::error::{Checks, Detail, ErrorNumber};
use warpline_wire::receive::{
    Delivery, Flags, Framing, FramingConfig, MsnMode, Receiver, ReceiverConfig, Scope, StagEntry,
    StreamConfig, Target,
};
use warpline_wire::send::{CrcField, FpduWriter, Message, ddp_segments};
use warpline_wire::start::{DraftKey, Frame, Kind, Negotiation, Progress};
use warpline_wire::{crc, marker, mpa};

// req: MPA-CRC-12, MPA-FMT-17
#[test]
fn crc_table() {
    let vectors = vectors();
    let names = [
        "CRC ascii \"123456789\"",
        "CRC 32 octets 00",
        "CRC 32 octets FF",
        "CRC 00 01 .. 1F",
        "CRC 1F 1E .. 00",
        "CRC iSCSI read(10) 48-octet PDU",
    ];
    for name in names {
        let vector = &vectors[name];
        let value = crc::crc32c(&octets(&vector["data"]));
        assert_eq!(u64::from(value), number(&vector["value"]), "{name}");
        assert_eq!(crc::to_wire(value)[..], octets(&vector["wire"]), "{name}");
        assert_eq!(crc::from_wire(crc::to_wire(value)), value);
    }
}

// req: MPA-CRC-24
#[test]
fn crc_residue() {
    let residue = &vectors()["CRC residue"];
    assert_eq!(
        u64::from(crc::RESIDUE_REGISTER),
        number(&residue["before_xorout"])
    );
    assert_eq!(u64::from(crc::RESIDUE), number(&residue["after_xorout"]));
    for len in 0..50 {
        let mut message = pattern(len, 3 * len);
        message.extend(crc::to_wire(crc::crc32c(&message)));
        assert_eq!(crc::crc32c(&message), crc::RESIDUE);
        for bit in 0..8 * message.len() {
            message[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(crc::crc32c(&message), crc::RESIDUE);
            message[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

// req: MPA-CRC-13, MPA-CRC-15, MPA-CRC-16, MPA-CRC-20, MPA-CRC-21, MPA-CRC-22, MPA-CRC-23
#[test]
fn printed_frames_and_their_negative_controls() {
    let vectors = vectors();
    for name in [
        "draft-culley-mpa-03 Fig 5",
        "draft-culley-mpa-03 Fig 6",
        "RFC 5044 Fig 5",
        "RFC 5044 Fig 6",
    ] {
        let vector = &vectors[name];
        let fpdu = octets(&vector["fpdu"]);
        let covered = octets(&vector["covered"]);
        let value = crc::crc32c(&covered);
        assert_eq!(fpdu[..fpdu.len() - 4], covered, "{name}");
        assert_eq!(u64::from(value), number(&vector["crc_value"]), "{name}");
        let field = crc::to_wire(value);
        assert_eq!(fpdu[fpdu.len() - 4..], field, "{name}");
        for (mistake, wrong) in vector["wrong"].as_object().unwrap() {
            assert_ne!(octets(wrong), field, "{name}: {mistake}");
        }
        // A plausible mistake: the CRC does not cover the marker.
        let at = if covered[..4] == [0; 4] { 0 } else { 20 };
        let mut bare = covered.clone();
        bare.drain(at..at + 4);
        assert_ne!(crc::crc32c(&bare), value, "{name}");
    }
}

fn untagged(rsvd_ulp: u8, last: bool, msn: u32) -> Vec<u8> {
    let header = UntaggedHeader {
        last,
        rsvd_ulp: [rsvd_ulp, 0, 0, 0, 0],
        qn: 0,
        msn,
        mo: 0,
    };
    header.emit().to_vec()
}

/// The header of the draft's printed frames: DDP version 0.
fn draft_untagged(msn: u32) -> Vec<u8> {
    let mut header = untagged(0x03, true, msn);
    header[0] = 0x40;
    header
}

struct FpduVector {
    name: &'static str,
    part: &'static str,
    start: u32,
    markers: bool,
    crc: CrcField,
    ulpdu: Vec<u8>,
}

/// Every FPDU vector given in full, with its ULPDU built from the description.
fn fpdu_vectors() -> Vec<FpduVector> {
    let marked = |name, part, start, ulpdu| FpduVector {
        name,
        part,
        start,
        markers: true,
        crc: CrcField::Computed,
        ulpdu,
    };
    let unmarked = |name, ulpdu| FpduVector {
        name,
        part: "fpdu",
        start: 0,
        markers: false,
        crc: CrcField::Computed,
        ulpdu,
    };
    let with = |header: Vec<u8>, payload: Vec<u8>| [header, payload].concat();
    let zeros = vec![0; 24];
    let direct = TaggedHeader {
        last: true,
        rsvd_ulp: 0x40,
        stag: 0x1234_5678,
        to: 0x1_0000_0010,
    };
    let empty_write = TaggedHeader {
        stag: 0,
        to: 0,
        ..direct
    };
    let mut no_crc = unmarked("V-MPA-14", with(untagged(0x43, true, 1), b"nocrc".to_vec()));
    no_crc.crc = CrcField::Zero;
    let draft = |msn, payload| with(draft_untagged(msn), payload);
    let rfc = |msn, payload| with(untagged(0x43, true, msn), payload);
    vec![
        marked("V-MPA-1", "fpdu", 0, draft(1, zeros.clone())),
        marked("V-MPA-2", "fpdu", 492, draft(2, zeros.clone())),
        marked("V-MPA-3", "fpdu", 0, rfc(1, zeros.clone())),
        marked("V-MPA-4", "fpdu", 492, rfc(2, zeros.clone())),
        marked("model Fig5 4003", "fpdu", 0, draft(1, zeros.clone())),
        marked("model Fig5 4143", "fpdu", 0, rfc(1, zeros.clone())),
        marked("V-MPA-5", "fpdu", 500, (0..16).collect()),
        marked("V-MPA-6", "fpdu1", 0, rfc(1, pattern(2, 484))),
        marked("V-MPA-6", "fpdu2", 512, rfc(2, b"ABCD".to_vec())),
        marked("V-MPA-7", "fpdu", 0, rfc(1, pattern(3, 487))),
        marked(
            "V-MPA-8",
            "fpdu",
            0,
            with(untagged(0x43, false, 1), pattern(4, 1424)),
        ),
        unmarked("V-MPA-9", with(direct.emit().to_vec(), b"DIRECT!".to_vec())),
        unmarked("V-MPA-10", empty_write.emit().to_vec()),
        unmarked("V-MPA-11", untagged(0x43, true, 1)),
        unmarked("V-MPA-12", vec![0xA5]),
        unmarked("V-MPA-13", vec![]),
        no_crc,
        marked("V-MPA-17", "fpdu", 240, pattern(6, 600)),
        marked("V-MPA-18-draft", "fpdu1", 0, draft(1, pattern(1, 464))),
        marked("V-MPA-18-draft", "fpdu2", 492, draft(2, zeros.clone())),
        marked("V-MPA-18-RFC", "fpdu1", 0, rfc(1, pattern(1, 464))),
        marked("V-MPA-18-RFC", "fpdu2", 492, rfc(2, zeros)),
    ]
}

// req: MPA-FMT-02, MPA-FMT-03, MPA-FMT-04, MPA-FMT-06, MPA-FMT-08, MPA-FMT-10, MPA-FMT-12
// req: MPA-FMT-15, MPA-FMT-17, MPA-MRK-05, MPA-MRK-07, MPA-MRK-08, MPA-MRK-19, MPA-CRC-01
// req: MPA-CRC-14, MPA-CRC-15, MPA-CRC-17, MPA-START-12, MPA-CRC-09, AMB-12, AMB-15
#[test]
fn fpdus_are_written_octet_for_octet() {
    let vectors = vectors();
    for vector in fpdu_vectors() {
        let expected = octets(&vectors[vector.name][vector.part]);
        let written = fpdu(vector.start, vector.markers, vector.crc, &vector.ulpdu);
        assert_eq!(
            hex::encode(&written),
            hex::encode(&expected),
            "{}",
            vector.name
        );
        let len = mpa::fpdu_len(vector.start, vector.ulpdu.len(), vector.markers);
        assert_eq!(written.len(), len, "{}", vector.name);
    }
}

// req: MPA-RCV-03, MPA-RCV-10, MPA-RCV-11, MPA-MRK-21, MPA-CRC-18
#[test]
fn fpdus_are_read_back_to_their_ulpdus() {
    let vectors = vectors();
    for vector in fpdu_vectors() {
        let config = FramingConfig {
            markers: vector.markers,
            crc: vector.crc == CrcField::Computed,
            ..FramingConfig::default()
        };
        let wire = octets(&vectors[vector.name][vector.part]);
        let mut framing = Framing::at(vector.start, config);
        assert_eq!(
            ulpdus(&mut framing, &wire),
            (vec![vector.ulpdu], None),
            "{}",
            vector.name
        );
        assert!(framing.at_boundary());
    }
}

// req: MPA-FMT-15, MPA-FMT-18, MPA-MRK-10, MPA-MRK-17
#[test]
fn largest_fpdus() {
    let vectors = vectors();
    let ulpdu = pattern(5, 64768);
    for (name, markers) in [("V-MPA-15", true), ("V-MPA-16", false)] {
        let vector = &vectors[name];
        let wire = fpdu(0, markers, CrcField::Computed, &ulpdu);
        assert_eq!(wire.len() as u64, vector["length"].as_u64().unwrap());
        assert_eq!(wire[wire.len() - 4..], octets(&vector["crc_wire"]));
        let digest = hex::encode(Sha256::digest(&wire));
        assert_eq!(digest, vector["sha256"].as_str().unwrap());
        let mut framing = Framing::new(FramingConfig {
            markers,
            ..FramingConfig::default()
        });
        assert_eq!(ulpdus(&mut framing, &wire), (vec![ulpdu.clone()], None));
        if markers {
            let pointers: Vec<u16> = (0..wire.len())
                .step_by(512)
                .map(|at| marker::Marker::new_checked(&wire[at..]).unwrap().fpduptr())
                .collect();
            assert_eq!(pointers.len() as u64, vector["n_markers"].as_u64().unwrap());
            assert_eq!(
                u64::from(*pointers.last().unwrap()),
                number(&vector["last_fpduptr"])
            );
            for (index, &pointer) in pointers.iter().enumerate().skip(1) {
                assert_eq!(512 * index - usize::from(pointer), 4);
            }
        }
    }
}

// req: MPA-MRK-07, MPA-MRK-13
#[test]
fn markers_of_the_vectors_point_at_their_header() {
    let vectors = vectors();
    let wire = octets(&vectors["V-MPA-8"]["fpdu"]);
    let digest = hex::encode(Sha256::digest(&wire));
    assert_eq!(digest, vectors["V-MPA-8"]["sha256"].as_str().unwrap());
    for pair in vectors["V-MPA-8"]["markers"].as_array().unwrap() {
        let at = pair[0].as_u64().unwrap() as usize;
        let found = marker::Marker::new_checked(&wire[at..]).unwrap();
        assert_eq!(u64::from(found.fpduptr()), pair[1].as_u64().unwrap());
        assert_eq!(marker::header_position(at as u32, found.fpduptr()), 4);
    }
    let pair = &vectors["V-MPA-17"]["markers"][0];
    let (sequence, pointer) = (number(&pair[0]) as u32, number(&pair[1]) as u16);
    let wire = octets(&vectors["V-MPA-17"]["fpdu"]);
    let at = sequence.wrapping_sub(0xFFFF_FFF0) as usize;
    let found = marker::Marker::new_checked(&wire[at..]).unwrap();
    assert_eq!(found.fpduptr(), pointer);
    assert_eq!(marker::header_position(sequence, pointer), 0xFFFF_FFF0);
}

/// A stream with queue 0 and one large buffer, fed one vector from position 0.
fn ddp_outcome(name: &str, part: &str, markers: bool, crc: bool) -> Log {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    let config = StreamConfig {
        markers,
        crc,
        ..StreamConfig::default()
    };
    receiver.open(3, config).unwrap();
    receiver.enable_queue(3, 0, 1).unwrap();
    receiver.post(3, 0, 4096).unwrap();
    receiver.set_stag(0x1234_5678, writable(0, 0x1_0000_0000, 0x100));
    feed(&mut receiver, 3, &octets(&vectors()[name][part]))
}

// req: DDP-HDR-02, DDP-HDR-03, DDP-HDR-12, DDP-HDR-14, DDP-HDR-15, DDP-HDR-18, DDP-TAG-11
// req: DDP-SEG-09, DDP-SEG-10, AMB-02, AMB-20, MPA-FMT-08
#[test]
fn what_ddp_makes_of_the_vectors() {
    let number = |log: Log| log.only_failure().number;
    let record = ddp_outcome("V-MPA-1", "fpdu", true, true).only_failure();
    assert_eq!(record.number, ErrorNumber::UntaggedVersion);
    assert_eq!(record.header.as_slice(), draft_untagged(1));
    assert_eq!((record.ulpdu_len, record.position), (42, 0));

    let send = |length| Delivery::Untagged {
        queue: 0,
        msn: 1,
        length,
        rsvd_ulp: [0x43, 0, 0, 0, 0],
    };
    let log = ddp_outcome("V-MPA-3", "fpdu", true, true);
    assert_eq!(log.deliveries(), [(send(24), Flags::empty())]);
    assert_eq!(log.placements().len(), 1);

    let log = ddp_outcome("V-MPA-9", "fpdu", false, true);
    let target = Target::Tagged {
        stag: 0x1234_5678,
        to: 0x1_0000_0010,
    };
    assert_eq!(log.placements(), [(target, &b"DIRECT!"[..])]);
    let write = Delivery::Tagged {
        stag: 0x1234_5678,
        to: 0x1_0000_0010,
        length: 7,
        rsvd_ulp: 0x40,
    };
    assert_eq!(log.deliveries(), [(write, Flags::empty())]);

    let log = ddp_outcome("V-MPA-10", "fpdu", false, true);
    let empty_write = Delivery::Tagged {
        stag: 0,
        to: 0,
        length: 0,
        rsvd_ulp: 0x40,
    };
    assert_eq!(log.placements(), []);
    assert_eq!(log.deliveries(), [(empty_write, Flags::UNVERIFIED)]);

    let log = ddp_outcome("V-MPA-11", "fpdu", false, true);
    assert_eq!(log.placements(), []);
    assert_eq!(log.deliveries(), [(send(0), Flags::empty())]);

    for (name, header) in [("V-MPA-12", &[0xA5][..]), ("V-MPA-13", &[])] {
        let record = ddp_outcome(name, "fpdu", false, true).only_failure();
        assert_eq!(record.number, ErrorNumber::LocalCatastrophic);
        assert_eq!(record.checks, Checks::SHORT);
        assert_eq!(record.header.as_slice(), header);
        assert_eq!(usize::from(record.ulpdu_len), header.len());
    }

    let log = ddp_outcome("V-MPA-14", "fpdu", false, false);
    assert_eq!(log.deliveries(), [(send(5), Flags::empty())]);
    let log = ddp_outcome("V-MPA-14", "fpdu", false, true);
    assert_eq!(number(log), ErrorNumber::MpaCrc);
}

// req: MPA-FMT-07, MPA-FMT-14, MPA-MRK-12, MPA-ERR-04, MPA-ERR-05, MPA-ERR-06, MPA-CRC-19, AMB-18, AMB-19
#[test]
fn accepted_and_refused_variants_of_one_fpdu() {
    let vectors = vectors();
    let read = |wire: &[u8]| {
        let mut framing = Framing::at(
            500,
            FramingConfig {
                markers: true,
                ..FramingConfig::default()
            },
        );
        ulpdus(&mut framing, wire)
    };
    let ulpdu: Vec<u8> = (0..16).collect();
    let original = octets(&vectors["V-MPA-5"]["fpdu"]);
    for name in ["V-OK-1", "V-OK-2"] {
        let mut wire = octets(&vectors[name]["fpdu"]);
        assert_eq!(read(&wire), (vec![ulpdu.clone()], None), "{name}");
        // With the CRC of the original it is code 2: RESERVED and PAD are covered.
        wire[24..].copy_from_slice(&original[24..]);
        let error = read(&wire).1.unwrap();
        assert_eq!(error.number, ErrorNumber::MpaCrc, "{name}");
    }

    let error = read(&octets(&vectors["V-ERR-1"]["fpdu"])).1.unwrap();
    assert_eq!(error.number, ErrorNumber::MpaMarker);
    assert_eq!(
        error.detail,
        Detail::Marker {
            position: 512,
            expected: 0x000C,
            received: 0x0010
        }
    );
    assert_eq!((error.position, error.ulpdu_len), (500, 16));
    assert_eq!(error.header.as_slice(), ulpdu);

    let mut wire = octets(&vectors["V-ERR-2"]["fpdu"]);
    let error = read(&wire).1.unwrap();
    assert_eq!(error.number, ErrorNumber::MpaCrc);
    let expected = crc::crc32c(&wire[..24]);
    let received = number(&vectors["V-MPA-5"]["crc_value"]) as u32;
    assert_eq!(error.detail, Detail::Crc { expected, received });
    // Bad CRC and bad marker: the CRC is judged first.
    wire[15] = 0x10;
    assert_eq!(read(&wire).1.unwrap().number, ErrorNumber::MpaCrc);
}

// req: MPA-FMT-10, MPA-FMT-18, MPA-SEG-13, MPA-RCV-32, AMB-21
#[test]
fn limits() {
    let vectors = vectors();
    let limits = &vectors["limits"];
    let limit = |name: &str| limits[name].as_u64().unwrap() as usize;
    let positions = || (0..512u32).step_by(4);
    let lengths: Vec<usize> = positions().map(|p| mpa::fpdu_len(p, 64768, true)).collect();
    let (max, min) = (
        *lengths.iter().max().unwrap(),
        *lengths.iter().min().unwrap(),
    );
    assert_eq!(max, limit("max_fpdu_64768_with_markers"));
    assert_eq!(max, mpa::MAX_FPDU_MARKED);
    assert_eq!(min, limit("min_fpdu_64768_with_markers"));
    let unmarked = mpa::fpdu_len(0, 64768, false);
    assert_eq!(unmarked, limit("max_fpdu_64768_no_markers"));
    assert_eq!(unmarked, mpa::MAX_FPDU_UNMARKED);

    // The last marker of an FPDU is at the last multiple of 512 inside it.
    let largest_pointer = |ulpdu_len| {
        positions()
            .map(|position| {
                let end = position as usize + mpa::fpdu_len(position, ulpdu_len, true);
                let header = position as usize + if position == 0 { 4 } else { 0 };
                ((end - 1) / 512 * 512).saturating_sub(header)
            })
            .max()
            .unwrap()
    };
    assert_eq!(largest_pointer(64768), limit("max_fpduptr_64768"));
    assert_eq!(largest_pointer(64768), usize::from(mpa::MAX_FPDUPTR));
    let first_overflow = (64768..65536).find(|&len| largest_pointer(len) > 0xFFFF);
    assert_eq!(
        first_overflow,
        Some(limit("first_ulpdu_with_fpduptr_overflow"))
    );

    for (ulpdu_len, expected) in vectors["first FPDU length by ULPDU length"]
        .as_object()
        .unwrap()
    {
        let len = mpa::fpdu_len(0, ulpdu_len.parse().unwrap(), true);
        assert_eq!(len as u64, expected.as_u64().unwrap());
    }

    let derivation = &limits["derivation"];
    let step = |name: &str| derivation[name].as_u64().unwrap() as u32;
    assert_eq!(
        step("ip") - step("minus_ip_tcp_headers_options"),
        step("left")
    );
    let overhead = 6 + 4 * step("left").div_ceil(512) + step("left") % 4;
    assert_eq!(overhead, step("mpa_overhead"));
    let rounded = (step("left") - overhead) / 128 * 128;
    assert_eq!(rounded, step("rounded"));
    assert_eq!(rounded, u32::from(mpa::MAX_ULPDU));

    // Smallest MULPDU, length field, PAD, CRC and one marker.
    let smallest = usize::from(mpa::MIN_MULPDU);
    assert_eq!(mpa::fpdu_len(0, smallest, true), mpa::MIN_REASSEMBLY);
}

// req: MPA-SEG-01, MPA-SEG-02, MPA-SEG-04
#[test]
fn mulpdu_table() {
    for row in vectors()["mulpdu"].as_array().unwrap() {
        let column = |index: usize| row[index].as_u64().unwrap();
        let emss = column(0) as u32;
        assert_eq!(u64::from(mpa::mulpdu(emss, true)), column(1), "EMSS {emss}");
        assert_eq!(
            u64::from(mpa::mulpdu(emss, false)),
            column(2),
            "EMSS {emss}"
        );
    }
    for emss in [0, 1, 100, 127] {
        assert_eq!(mpa::mulpdu(emss, true), 128);
    }
    assert_eq!(mpa::mulpdu(u32::MAX, true), 64768);
    assert_eq!(mpa::mulpdu(u32::MAX, false), 64768);
}

/// Each EMSS up to where the upper limit has long been reached, and some of all sizes above.
// req: MPA-SEG-03
#[test]
fn every_mulpdu_lies_in_its_limits() {
    let larger = (17..32).flat_map(|log| (0..999).map(move |n| (1_u32 << log).wrapping_add(n)));
    for markers in [false, true] {
        let mut reached = std::collections::BTreeSet::new();
        for emss in (0..=70_000).chain(larger.clone()).chain([u32::MAX]) {
            let mulpdu = mpa::mulpdu(emss, markers);
            assert!((128..=64768).contains(&mulpdu), "EMSS {emss}: {mulpdu}");
            reached.insert(mulpdu);
        }
        assert_eq!(
            (reached.first(), reached.last()),
            (Some(&128), Some(&64768))
        );
    }
}

// req: MPA-SEG-01, MPA-SEG-02, MPA-SEG-25
#[test]
fn a_mulpdu_sized_ulpdu_fits_at_every_stream_position() {
    let mut histogram = std::collections::BTreeMap::<String, u64>::new();
    for emss in 160..=65415u32 {
        for markers in [false, true] {
            let marker_octets = if markers { 4 * emss.div_ceil(512) } else { 0 };
            let formula = emss - (6 + marker_octets + emss % 4);
            let mulpdu = u32::from(mpa::mulpdu(emss, markers));
            assert_eq!(mulpdu, formula.min(64768), "EMSS {emss}");
            // The histogram is that of the formula before the upper limit cuts it.
            let worst = (0..512)
                .step_by(4)
                .map(|position| mpa::fpdu_len(position, formula as usize, markers))
                .max()
                .unwrap();
            let slack = (emss as usize).checked_sub(worst).expect("FPDU above EMSS");
            *histogram.entry(slack.to_string()).or_default() += 1;
        }
    }
    let expected: std::collections::BTreeMap<String, u64> =
        serde_json::from_value(vectors()["mulpdu_slack_histogram"].clone()).unwrap();
    assert_eq!(histogram, expected);
}

// req: MPA-START-13, MPA-START-17, MPA-START-19, MPA-START-23, MPA-START-26, MPA-START-27
// req: MPA-START-36, MPA-PRIV-06, MPA-PRIV-11, MPA-CRC-26
#[test]
fn start_frames() {
    let vectors = vectors();
    for (name, markers, crc) in [
        ("V-START-D M=0 C=0", false, false),
        ("V-START-D M=0 C=1", false, true),
        ("V-START-D M=1 C=0", true, false),
        ("V-START-D M=1 C=1", true, true),
    ] {
        let key = DraftKey { markers, crc };
        let wire = octets(&vectors[name]["frame"]);
        assert_eq!(key.emit()[..], wire, "{name}");
        let complete = Progress::Complete {
            frame: key,
            len: 16,
        };
        assert_eq!(DraftKey::parse(&wire), Ok(complete), "{name}");
    }

    let r1 = Frame {
        kind: Kind::Request,
        markers: true,
        crc: true,
        rejected: false,
        revision: 1,
        negotiation: None,
        private_data: &[],
    };
    let r2 = Frame {
        kind: Kind::Reply,
        markers: false,
        private_data: b"hello",
        ..r1
    };
    let r3 = Frame {
        rejected: true,
        private_data: &[],
        ..r2
    };
    let r4 = Frame {
        markers: false,
        revision: 2,
        negotiation: Some(Negotiation {
            peer_to_peer: true,
            rtr_send: false,
            rtr_write: true,
            rtr_read: false,
            ird: 16,
            ord: 8,
        }),
        ..r1
    };
    let r4_name = "V-START-R4 RFC 6581 request rev 2, S=1, A=1 C=1(write RTR), IRD 16 ORD 8";
    for (name, frame) in [
        ("V-START-R1 request M=1 C=1 no PD", r1),
        ("V-START-R2 reply M=0 C=1 PD=hello", r2),
        ("V-START-R3 reply rejected R=1", r3),
        (r4_name, r4),
    ] {
        let wire = octets(&vectors[name]["frame"]);
        let mut out = [0; 64];
        let len = frame.emit(&mut out).unwrap();
        assert_eq!(out[..len], wire, "{name}");
        let complete = Progress::Complete { frame, len };
        assert_eq!(Frame::parse(&wire, frame.kind), Ok(complete), "{name}");
    }
}

// req: DDP-HDR-04, DDP-HDR-05, DDP-HDR-07, DDP-SEG-01, DDP-SEG-03, DDP-SEG-05, DDP-SEG-06
// req: DDP-SEG-07, DDP-SEG-08, DDP-SEG-14, DDP-TAG-05, DDP-TAG-07, DDP-TAG-09, DDP-UNT-05
// req: DDP-UNT-09, DDP-UNT-13, DDP-UNT-15, MPA-SEG-08, MPA-SEG-09, DDP-HDR-06, DDP-HDR-10
#[test]
fn segmentation_examples() {
    let vectors = vectors();
    let send = |msn| Message::Untagged {
        qn: 0,
        msn,
        rsvd_ulp: [0x43, 0, 0, 0, 0],
    };
    let write = Message::Tagged {
        stag: 0x00AB_CD01,
        to: 16384,
        rsvd_ulp: 0x40,
    };
    for (name, message, len) in [
        ("V-SEG-U", send(1), 2048),
        ("V-SEG-T", write, 2048),
        ("V-SEG-EXACT", send(7), 2964),
    ] {
        let payload = pattern(0, len);
        let cut: Vec<_> = ddp_segments(message, len as u64, 1500).unwrap().collect();
        let expected = vectors[name].as_array().unwrap();
        assert_eq!(cut.len(), expected.len());
        for markers in [false, true] {
            let mut writer = FpduWriter::new(markers, CrcField::Computed);
            let mut wire = Vec::new();
            for (segment, expected) in cut.iter().zip(expected) {
                let value = |field: &str| expected[field].as_u64().unwrap();
                let mut header = [0; 18];
                let header_len = segment.header.emit(&mut header);
                let range = segment.payload.start as usize..segment.payload.end as usize;
                let (offset, last) = match segment.header {
                    Header::Tagged(header) => (header.to, header.last),
                    Header::Untagged(header) => (header.mo.into(), header.last),
                };
                assert_eq!(header[..header_len], octets(&expected["header"]), "{name}");
                assert_eq!(offset, value("offset"));
                assert_eq!(last, expected["last"].as_bool().unwrap());
                assert_eq!(range.len() as u64, value("payload"));
                let ulpdu_len = header_len + range.len();
                assert_eq!(ulpdu_len as u64, value("ulpdu_len"));
                let (len_field, crc_field) = if markers {
                    ("fpdu_len_markers", "crc_wire_markers")
                } else {
                    ("fpdu_len", "crc_wire")
                };
                assert_eq!(writer.fpdu_len(ulpdu_len) as u64, value(len_field));
                writer
                    .append(&header[..header_len], &payload[range], &mut wire)
                    .unwrap();
                assert_eq!(wire[wire.len() - 4..], octets(&expected[crc_field]));
            }
            let mut whole = Vec::new();
            FpduWriter::new(markers, CrcField::Computed)
                .append_message(message, &payload, 1500, &mut whole)
                .unwrap();
            assert_eq!(whole, wire, "{name}");
        }
    }
}

// req: DDP-SEG-02
#[test]
fn largest_message() {
    let vectors = vectors();
    let expected = &vectors["V-SEG-MAX"];
    let send = Message::Untagged {
        qn: 0,
        msn: 1,
        rsvd_ulp: [0; 5],
    };
    let (mut count, mut octets, mut last) = (0u64, 0, None);
    for segment in ddp_segments(send, (1 << 32) - 1, 1500).unwrap() {
        count += 1;
        octets += segment.payload.end - segment.payload.start;
        last = Some(segment);
    }
    let last = last.unwrap();
    assert_eq!(octets, (1 << 32) - 1);
    assert_eq!(count, expected["untagged_segments"].as_u64().unwrap());
    assert_eq!(last.payload.start, expected["last_mo"].as_u64().unwrap());
    let last_payload = last.payload.end - last.payload.start;
    assert_eq!(last_payload, expected["last_payload"].as_u64().unwrap());
}

/// Feeds one segment, its header given as octets, to a prepared stream 3.
fn judge(mut receiver: Receiver, header: &[u8], len: usize) -> Log {
    let ulpdu = [header, &pattern(9, len)].concat();
    feed(
        &mut receiver,
        3,
        &fpdu(0, false, CrcField::Computed, &ulpdu),
    )
}

/// Error number of a `type/code` result, or `None` for "place".
fn expected_number(result: &str) -> Option<ErrorNumber> {
    let (error_type, code) = result.split_once('/')?;
    ErrorNumber::from_parts(
        error_type.parse().unwrap(),
        u8::from_str_radix(code, 16).unwrap(),
    )
}

/// Compares the events of one case with its table row.
fn assert_outcome(log: &Log, result: &str, checks: Checks, header: &[u8], len: usize, case: &str) {
    match expected_number(result) {
        Some(number) => {
            let record = log.only_failure();
            assert_eq!(record.number, number, "{case}");
            assert_eq!(record.checks, checks, "{case}");
            assert_eq!(record.header.as_slice(), header, "{case}");
            assert_eq!(usize::from(record.ulpdu_len), header.len() + len, "{case}");
            assert_eq!(record.detail, Detail::Ddp, "{case}");
        }
        None => {
            assert_eq!(result, "place");
            let placed: Vec<u8> = log.placements().concat_octets();
            assert_eq!(placed, pattern(9, len), "{case}");
            assert_eq!(log.failure(), None, "{case}");
        }
    }
}

trait ConcatOctets {
    fn concat_octets(&self) -> Vec<u8>;
}

impl ConcatOctets for Vec<(Target, &[u8])> {
    fn concat_octets(&self) -> Vec<u8> {
        self.iter()
            .flat_map(|(_, octets)| octets.to_vec())
            .collect()
    }
}

// req: DDP-ERR-12, DDP-ERR-13, DDP-ERR-14, DDP-ERR-15, DDP-ERR-16, DDP-ERR-17, DDP-ERR-18
// req: DDP-ERR-19, DDP-ERR-24, DDP-ERR-25, DDP-ERR-26, DDP-ERR-27, DDP-ERR-28, DDP-ERR-36
// req: DDP-SEG-10, DDP-SEG-11, DDP-HDR-12, DDP-SEC-01, DDP-SEC-02, AMB-01, AMB-02, AMB-03, AMB-09
#[test]
fn tagged_validation_cases() {
    let no_write = StagEntry {
        remote_write: false,
        ..writable(7, 0, 64)
    };
    let revoked = StagEntry {
        valid: false,
        ..writable(7, 0, 64)
    };
    let other_stream = StagEntry {
        scope: Scope::Stream {
            stream: 4,
            protection_domain: 7,
        },
        ..writable(7, 0, 64)
    };
    let table = [
        (0x100, writable(7, 0x1000, 0x1000)),
        (0x200, other_stream),
        (0x300, revoked),
        (0x400, writable(7, 0u64.wrapping_sub(0x1000), 0x1000)),
        (0x500, no_write),
        (0x600, writable(8, 0, 64)),
    ];
    let vectors = vectors();
    let cases = vectors["V-CHK-T"].as_array().unwrap();
    assert_eq!(cases.len(), 20);
    for row in cases {
        let mut receiver = Receiver::new(ReceiverConfig::default());
        let config = StreamConfig {
            protection_domain: 7,
            ..StreamConfig::default()
        };
        receiver.open(3, config).unwrap();
        for (stag, entry) in table {
            receiver.set_stag(stag, entry);
        }
        let checks = row["failed"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| Checks::from_name(&name.as_str().unwrap().to_uppercase()).unwrap())
            .collect();
        let (case, result) = (
            row["case"].as_str().unwrap(),
            row["result"].as_str().unwrap(),
        );
        let header = octets(&row["header"]);
        let len = row["length"].as_u64().unwrap() as usize;
        let log = judge(receiver, &header, len);
        assert_outcome(&log, result, checks, &header, len, case);
        if result == "place" {
            let unverified = log.deliveries()[0].1.contains(Flags::UNVERIFIED);
            assert_eq!(unverified, len == 0, "{case}");
        }
    }
}

/// An STag registered with length 0 has no buffer; the parallel checks fail with it.
// req: DDP-ERR-13, AMB-03
#[test]
fn an_empty_range_is_no_buffer() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    receiver.open(3, StreamConfig::default()).unwrap();
    receiver.set_stag(0x700, writable(0, 0x40, 0));
    let header = TaggedHeader {
        last: true,
        rsvd_ulp: 0,
        stag: 0x700,
        to: 0x40,
    };
    let record = judge(receiver, &header.emit(), 1).only_failure();
    assert_eq!(record.number, ErrorNumber::TaggedInvalidStag);
    assert_eq!(record.checks, Checks::ACCESS | Checks::TO | Checks::END);
}

// req: DDP-ERR-02, DDP-ERR-03, DDP-ERR-04, DDP-ERR-05, DDP-ERR-06, DDP-ERR-29, DDP-ERR-30
// req: DDP-ERR-31, DDP-ERR-32, DDP-ERR-33, DDP-ERR-34, DDP-UNT-08, DDP-UNT-12, DDP-UNT-19
// req: AMB-04, AMB-05, AMB-24
#[test]
fn untagged_validation_cases() {
    let vectors = vectors();
    let cases = vectors["V-CHK-U"].as_array().unwrap();
    assert_eq!(cases.len(), 25);
    for (column, msn_mode) in [("window", MsnMode::Window), ("strict", MsnMode::Strict)] {
        for row in cases {
            let mut receiver = Receiver::new(ReceiverConfig::default());
            let config = StreamConfig {
                msn_mode,
                ..StreamConfig::default()
            };
            receiver.open(3, config).unwrap();
            for (queue, first_msn, buffers) in [
                (0, 5, &[100, 50][..]),
                (1, 1, &[]),
                (2, 0xFFFF_FFFF, &[64, 64, 64]),
            ] {
                receiver.enable_queue(3, queue, first_msn).unwrap();
                for &len in buffers {
                    receiver.post(3, queue, len).unwrap();
                }
            }
            let result = row[column].as_str().unwrap();
            let checks = match result {
                "2/01" => Checks::QN,
                "2/02" => Checks::NOBUF,
                "2/03" => Checks::MSN,
                "2/04" => Checks::MO | Checks::LEN, // MO outside implies MO + n outside
                "2/05" => Checks::LEN,
                "2/06" => Checks::VERSION,
                _ => Checks::empty(),
            };
            let case = format!("{column}: {}", row["case"].as_str().unwrap());
            let header = octets(&row["header"]);
            let len = row["length"].as_u64().unwrap() as usize;
            let log = judge(receiver, &header, len);
            assert_outcome(&log, result, checks, &header, len, &case);
        }
    }
}
