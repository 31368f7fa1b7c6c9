//! CRCs and FPDUs, and what DDP makes of them.

use super::*;

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
