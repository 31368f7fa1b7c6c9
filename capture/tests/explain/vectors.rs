//! The golden vectors: their values are those of the RFCs' figures, and of the calculations that made the vectors.

use super::*;

fn vector(all: &Value, name: &str) -> Vec<u8> {
    octets(all[name]["fpdu"].as_str().unwrap())
}

fn number(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap(), 16).unwrap()
}

/// The only unit of a vector.
fn only(mut units: Vec<Unit>) -> Unit {
    assert_eq!(units.len(), 1, "{units:?}");
    units.remove(0)
}

// req: MPA-CRC-20, MPA-CRC-21, MPA-CRC-22, MPA-CRC-23, MPA-MRK-19, DDP-HDR-01, DDP-HDR-03, DDP-HDR-12
#[test]
fn the_printed_frames() {
    let all = vectors();
    for (name, dv, opcode_octet, msn, fpduptr) in [
        ("V-MPA-1", 0, 0x03, 1, 0),
        ("V-MPA-2", 0, 0x03, 2, 0x14),
        ("V-MPA-3", 1, 0x43, 1, 0),
        ("V-MPA-4", 1, 0x43, 2, 0x14),
    ] {
        let position = all[name]["start"].as_u64().unwrap() as u32;
        let unit = only(marked(&vector(&all, name), position));
        for (field, expected) in [
            ("mpa.marker.fpduptr", fpduptr),
            ("mpa.ulpdu_length", 42),
            ("ddp.tagged", 0),
            ("ddp.last", 1),
            ("ddp.reserved", 0),
            ("ddp.version", dv),
            ("rdmap.control", opcode_octet),
            ("rdmap.opcode", 3),
            ("ddp.qn", 0),
            ("ddp.msn", msn),
            ("mpa.crc", number(&all[name]["crc_value"])),
        ] {
            assert_eq!(value(&unit, field), expected, "{name}: {field}");
        }
        assert_eq!(unit.field("ddp.payload").unwrap().length, 24);
        assert_eq!(unit.field("mpa.crc").unwrap().meaning, "good");
        // The draft's frames have DV 0 (AMB-25).
        let refused = (dv == 0).then_some(Check::DdpVersion);
        assert_eq!(verdict(&unit), refused, "{name}");
        assert_eq!(unit.missing, 0);
        // Without markers, or from another position, nothing of it fits.
        assert!(
            marked(&vector(&all, name), position + 4)[0]
                .verdict()
                .is_some()
        );
    }
}

// req: MPA-MRK-07, MPA-MRK-13, MPA-MRK-08, MPA-CRC-14
#[test]
fn markers_are_where_the_vectors_have_them() {
    let all = vectors();
    let pointers = |unit: &Unit| {
        let base = unit.position.unwrap();
        let markers = unit.fields.iter().filter(|f| f.name == "mpa.marker");
        let places: Vec<_> = markers.map(|f| base + f.pieces[0].offset as u64).collect();
        let pointers = unit
            .fields
            .iter()
            .filter(|f| f.name == "mpa.marker.fpduptr");
        let pointers = pointers.map(|f| f.value.unwrap());
        places.into_iter().zip(pointers).collect::<Vec<_>>()
    };
    let unit = only(marked(&vector(&all, "V-MPA-8"), 0));
    let expected = all["V-MPA-8"]["markers"].as_array().unwrap();
    let expected: Vec<_> = expected
        .iter()
        .map(|pair| (pair[0].as_u64().unwrap(), pair[1].as_u64().unwrap()))
        .collect();
    assert_eq!(pointers(&unit), expected);
    assert_eq!(value(&unit, "mpa.ulpdu_length"), 1442);
    assert_eq!(
        value(&unit, "mpa.crc"),
        number(&all["V-MPA-8"]["crc_value"])
    );

    // SeqStart FFFFFF00, header at FFFFFFF0, marker at 00000100.
    let unit = only(marked(&vector(&all, "V-MPA-17"), 0xF0));
    assert_eq!(pointers(&unit), [(0x200, 0x110)]);

    let both = ["fpdu1", "fpdu2"].map(|name| octets(all["V-MPA-6"][name].as_str().unwrap()));
    let units = marked(&both.concat(), 0);
    assert_eq!(units.len(), 2);
    assert_eq!(pointers(&units[0]), [(0, 0)]);
    assert_eq!(pointers(&units[1]), [(512, 0)]);
    assert_eq!(value(&units[0], "mpa.ulpdu_length"), 502);
    assert_eq!(
        units.iter().map(|u| u.number.unwrap()).collect::<Vec<_>>(),
        [1, 2]
    );

    // A PAD octet at 511, a marker at 512, the CRC at 516.
    let unit = only(marked(&vector(&all, "V-MPA-7"), 0));
    assert_eq!(value(&unit, "mpa.ulpdu_length"), 505);
    assert_eq!(unit.field("mpa.pad").unwrap().pieces[0].offset, 511);
    assert_eq!(unit.field("mpa.crc").unwrap().pieces[0].offset, 516);
    assert_eq!(pointers(&unit), [(0, 0), (512, 508)]);
    assert_eq!(
        value(&unit, "mpa.crc"),
        number(&all["V-MPA-7"]["crc_value"])
    );
}

// req: DDP-HDR-02, DDP-HDR-14, DDP-HDR-15, DDP-TAG-01, MPA-FMT-09, AMB-20
#[test]
fn frames_without_markers() {
    let all = vectors();
    let unit = only(explained(&vector(&all, "V-MPA-9")));
    assert_eq!(value(&unit, "ddp.stag"), 0x1234_5678);
    assert_eq!(value(&unit, "ddp.stag.index"), 0x12_3456);
    assert_eq!(value(&unit, "ddp.stag.key"), 0x78);
    assert_eq!(value(&unit, "ddp.to"), 0x1_0000_0010);
    let payload = unit.field("ddp.payload").unwrap();
    assert_eq!((&payload.octets[..], payload.length), (&b"DIRECT!"[..], 7));
    assert_eq!(
        value(&unit, "mpa.crc"),
        number(&all["V-MPA-9"]["crc_value"])
    );
    assert_eq!(verdict(&unit), None);

    let unit = only(explained(&vector(&all, "V-MPA-10")));
    assert_eq!((value(&unit, "ddp.tagged"), verdict(&unit)), (1, None));
    assert!(unit.field("ddp.payload").is_none());
    let unit = only(explained(&vector(&all, "V-MPA-11")));
    let named = ["ddp.tagged", "ddp.qn", "ddp.msn"].map(|name| value(&unit, name));
    assert_eq!((named, verdict(&unit)), ([0, 0, 1], None));

    for (name, length) in [("V-MPA-12", 1), ("V-MPA-13", 0)] {
        let unit = only(explained(&vector(&all, name)));
        assert_eq!(value(&unit, "mpa.ulpdu_length"), length);
        assert_eq!(verdict(&unit), Some(Check::DdpHeader), "{name}");
        assert_eq!(unit.field("mpa.crc").unwrap().meaning, "good");
    }

    let crc_off = vector(&all, "V-MPA-14");
    assert_eq!(verdict(&explained(&crc_off)[0]), Some(Check::Crc));
    let settings = Settings {
        crc: false,
        ..Settings::default()
    };
    let unit = only(Units::new(&crc_off, settings).collect());
    assert_ne!(verdict(&unit), Some(Check::Crc));
    assert_eq!(value(&unit, "mpa.crc"), 0);
}

// req: MPA-ERR-04, MPA-ERR-05, MPA-MRK-12, MPA-FMT-07, MPA-FMT-14
#[test]
fn refused_and_accepted_oddities() {
    let all = vectors();
    let of = |name: &str| only(marked(&vector(&all, name), 500));
    // All four are V-MPA-5, whose ULPDU of 16 octets is too short for DDP.
    let only_short = Some(Check::DdpHeader);
    assert_eq!(verdict(&of("V-MPA-5")), only_short);
    let marker = of("V-ERR-1");
    assert_eq!(verdict(&marker), Some(Check::Marker));
    let reports = marker.verdict().unwrap().reports.unwrap();
    let numbers = (reports.layer, reports.error_type, reports.error_code);
    assert_eq!(numbers, (2, 0, 3));
    let crc = of("V-ERR-2");
    assert_eq!(verdict(&crc), Some(Check::Crc));
    let reports = crc.verdict().unwrap().reports.unwrap();
    assert_eq!(
        (reports.layer, reports.error_type, reports.error_code),
        (2, 0, 2)
    );

    for (name, notes) in [
        ("V-OK-1", &["MPA-FMT-13", "MPA-MRK-12"][..]),
        ("V-OK-2", &["MPA-FMT-06"]),
    ] {
        let unit = of(name);
        assert_eq!(verdict(&unit), only_short, "{name}");
        let found: Vec<_> = unit
            .all_findings()
            .filter(|finding| finding.check == Check::None)
            .filter_map(|finding| finding.requirement)
            .collect();
        assert_eq!(found, notes, "{name}");
    }
}

/// A ULPDU in an FPDU at position 0, its payload zeros, without markers.
fn framed(header: &[u8], payload: usize) -> Vec<u8> {
    let mut frame = ((header.len() + payload) as u16).to_be_bytes().to_vec();
    frame.extend(header);
    frame.resize(frame.len() + payload, 0);
    frame.resize(frame.len().next_multiple_of(4), 0);
    let crc = crc32c::crc32c(&frame);
    frame.extend(crc.to_le_bytes());
    frame
}

// req: DDP-SEG-01, DDP-TAG-11, DDP-UNT-02, DDP-ERR-27, DDP-HDR-12
#[test]
fn headers_of_segmentation_and_of_the_checks() {
    let all = vectors();
    for (set, offset) in [
        ("V-SEG-U", "ddp.mo"),
        ("V-SEG-T", "ddp.to"),
        ("V-SEG-EXACT", "ddp.mo"),
    ] {
        for case in all[set].as_array().unwrap() {
            let header = octets(case["header"].as_str().unwrap());
            let payload = case["payload"].as_u64().unwrap();
            let frame = framed(&header, payload as usize);
            assert_eq!(frame.len() as u64, case["fpdu_len"].as_u64().unwrap());
            let unit = only(explained(&frame));
            assert_eq!(
                value(&unit, "mpa.ulpdu_length"),
                case["ulpdu_len"].as_u64().unwrap()
            );
            assert_eq!(value(&unit, offset), case["offset"].as_u64().unwrap());
            let last = u64::from(case["last"].as_bool().unwrap());
            assert_eq!(value(&unit, "ddp.last"), last);
            assert_eq!(unit.field("ddp.payload").unwrap().length as u64, payload);
            assert_eq!(verdict(&unit), None, "{set}");
        }
    }
    for (set, names) in [
        ("V-CHK-T", &["stag", "to"][..]),
        ("V-CHK-U", &["msn", "mo"]),
    ] {
        let mut wraps = 0;
        for case in all[set].as_array().unwrap() {
            let header = octets(case["header"].as_str().unwrap());
            let length = case["length"].as_u64().unwrap();
            if header.len() < 14 || length > 60_000 {
                continue;
            }
            let unit = only(explained(&framed(&header, length as usize)));
            for name in names {
                assert_eq!(
                    value(&unit, &format!("ddp.{name}")),
                    number(&case[*name]),
                    "{case}"
                );
            }
            let dv = case["dv"].as_u64().unwrap();
            assert_eq!(value(&unit, "ddp.version"), dv);
            assert_eq!(verdict(&unit) == Some(Check::DdpVersion), dv != 1, "{case}");
            if set == "V-CHK-U" {
                assert_eq!(value(&unit, "ddp.qn"), case["qn"].as_u64().unwrap());
            }
            // What depends on the receiver's memory is not found, and a wrap is.
            let failed = case["failed"].as_array().map_or(&[][..], |failed| failed);
            let wrap = failed
                .iter()
                .any(|check| check.as_str().unwrap().eq_ignore_ascii_case("wrap"));
            if set == "V-CHK-T" && dv == 1 {
                let found = verdict(&unit) == Some(Check::Bounds);
                assert_eq!(found, wrap, "{case}");
                wraps += usize::from(wrap);
            }
        }
        assert!(set == "V-CHK-U" || wraps > 0, "no case with a wrap");
    }
}

// req: MPA-START-13, MPA-START-23, MPA-START-26, MPA-START-27, MPA-START-36, MPA-PRIV-06, MPA-PRIV-11
#[test]
fn start_frames() {
    let all = vectors();
    let of = |name: &str| only(explained(&octets(all[name]["frame"].as_str().unwrap())));
    for (name, markers, crc) in [
        ("V-START-D M=0 C=0", 0, 0),
        ("V-START-D M=0 C=1", 0, 1),
        ("V-START-D M=1 C=0", 1, 0),
        ("V-START-D M=1 C=1", 1, 1),
        ("V-START-R1 request M=1 C=1 no PD", 1, 1),
        ("V-START-R2 reply M=0 C=1 PD=hello", 0, 1),
        ("V-START-R3 reply rejected R=1", 0, 1),
    ] {
        let unit = of(name);
        let found = ["start.markers", "start.crc"].map(|field| value(&unit, field));
        assert_eq!(found, [markers, crc], "{name}");
        assert_eq!(verdict(&unit), None, "{name}");
    }
    let hello = of("V-START-R2 reply M=0 C=1 PD=hello");
    assert_eq!(value(&hello, "start.pd_length"), 5);
    assert_eq!(hello.field("start.private_data").unwrap().octets, b"hello");
    let rejected = of("V-START-R3 reply rejected R=1");
    assert_eq!(value(&rejected, "start.rejected"), 1);
    assert_eq!(
        rejected.all_findings().next().unwrap().requirement,
        Some("MPA-START-27")
    );
    let block = of("V-START-R4 RFC 6581 request rev 2, S=1, A=1 C=1(write RTR), IRD 16 ORD 8");
    for (name, expected) in [
        ("start.revision", 2),
        ("start.negotiation", 1),
        ("start.peer_to_peer", 1),
        ("start.rtr_send", 0),
        ("start.rtr_write", 1),
        ("start.rtr_read", 0),
        ("start.ird", 16),
        ("start.ord", 8),
        ("start.pd_length", 4),
    ] {
        assert_eq!(value(&block, name), expected, "{name}");
    }
}
