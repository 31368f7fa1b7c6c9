//! Faults planted in good octets: each check finds its own, with the rule and the error that a receiver reports.

use super::*;
use warpline_capture::explain::{Kind, Severity};
use warpline_wire::rdmap::{Cause, Opcode, RdmaError, ReadRequest, Terminate};
use warpline_wire::send::{CrcField, FpduWriter};

/// An FPDU of a ULPDU, at position 0, without markers.
fn fpdu(ulpdu: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = FpduWriter::new(false, CrcField::Computed);
    writer.append(ulpdu, &[], &mut out).unwrap();
    out
}

/// An untagged segment: control, RDMAP control, Invalidate STag, QN, MSN, MO, payload.
fn untagged(control: u8, rdmap: u8, qn: u32, mo: u32, payload: &[u8]) -> Vec<u8> {
    let mut ulpdu = vec![control, rdmap, 0, 0, 0, 0];
    for number in [qn, 1, mo] {
        ulpdu.extend(number.to_be_bytes());
    }
    ulpdu.extend(payload);
    ulpdu
}

fn tagged(control: u8, rdmap: u8, to: u64, payload: &[u8]) -> Vec<u8> {
    let mut ulpdu = vec![control, rdmap, 0x12, 0x34, 0x56, 0x78];
    ulpdu.extend(to.to_be_bytes());
    ulpdu.extend(payload);
    ulpdu
}

fn send() -> Vec<u8> {
    untagged(0x41, 0x43, 0, 0, b"hello, memory")
}

/// The FPDU has one fault: of this check, citing this rule, reported as these numbers.
#[track_caller]
fn refused(octets: &[u8], check: Check, rule: &str, numbers: Option<(u8, u8, u8)>) {
    let units = explained(octets);
    let faults: Vec<_> = units
        .iter()
        .flat_map(Unit::all_findings)
        .filter(|finding| finding.severity == Severity::Fault)
        .collect();
    assert_eq!(faults.len(), 1, "{faults:?}");
    let fault = faults[0];
    assert_eq!(fault.check, check, "{fault:?}");
    let cited = fault.requirement.unwrap_or(fault.section);
    assert_eq!(cited, rule, "{fault:?}");
    let reports = fault.reports.as_ref();
    let reported = reports.map(|r| (r.layer, r.error_type, r.error_code));
    assert_eq!(reported, numbers, "{fault:?}");
}

#[track_caller]
fn noted(octets: &[u8], rule: &str) {
    let units = explained(octets);
    let found: Vec<_> = units.iter().flat_map(Unit::all_findings).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].severity, Severity::Note, "{found:?}");
    let cited = found[0].requirement.unwrap_or(found[0].section);
    assert_eq!(cited, rule);
}

#[track_caller]
fn good(octets: &[u8]) {
    for unit in explained(octets) {
        let found: Vec<_> = unit.all_findings().collect();
        assert!(found.is_empty(), "{found:?}");
    }
}

/// Every single bit of an FPDU but those of its length: the CRC is wrong, and nothing else decides.
// req: MPA-CRC-19, MPA-ERR-04
#[test]
fn any_flipped_bit_is_a_wrong_crc() {
    let frame = fpdu(&send());
    good(&frame);
    for bit in 16..8 * frame.len() {
        let mut planted = frame.clone();
        planted[bit / 8] ^= 0x80 >> (bit % 8);
        let units = explained(&planted);
        assert_eq!(units.len(), 1);
        let first = units[0].verdict().unwrap();
        assert_eq!(first.check, Check::Crc, "bit {bit}");
        assert_eq!(first.requirement, Some("MPA-CRC-19"));
        let right = warpline_wire::crc::crc32c(&planted[..planted.len() - 4]);
        assert!(
            first.text.contains(&format!("{right:#010x} expected")),
            "{}",
            first.text
        );
    }
}

// req: MPA-ERR-05, MPA-MRK-19
#[test]
fn a_marker_that_points_elsewhere() {
    let mut stream = Vec::new();
    let mut writer = FpduWriter::new(true, CrcField::Computed);
    writer
        .append(&untagged(0x41, 0x43, 0, 0, &[7; 600]), &[], &mut stream)
        .unwrap();
    assert!(marked(&stream, 0)[0].all_findings().next().is_none());
    for (marker, expected) in [(0, 0), (512, 508)] {
        let mut planted = stream.clone();
        planted[marker + 3] ^= 8;
        let end = planted.len() - 4;
        let crc = crc32c::crc32c(&planted[..end]);
        planted[end..].copy_from_slice(&crc.to_le_bytes());
        let units = marked(&planted, 0);
        let fault = units[0].verdict().unwrap();
        assert_eq!(
            (fault.check, fault.requirement),
            (Check::Marker, Some("MPA-ERR-05"))
        );
        assert!(
            fault.text.ends_with(&format!("must be {expected}")),
            "{}",
            fault.text
        );
        let right = units[0]
            .fields
            .iter()
            .filter(|f| f.meaning == "points to this FPDU");
        assert_eq!(right.count(), 1);
    }
}

// req: AMB-20, AMB-21, AMB-23, MPA-FMT-03
#[test]
fn lengths_out_of_bounds() {
    refused(
        &fpdu(&[0x41; 17]),
        Check::DdpHeader,
        "AMB-20",
        Some((1, 0, 0)),
    );
    refused(
        &fpdu(&[0xC1; 13]),
        Check::DdpHeader,
        "AMB-20",
        Some((1, 0, 0)),
    );
    refused(&fpdu(&[]), Check::DdpHeader, "AMB-20", Some((1, 0, 0)));
    good(&fpdu(&tagged(0xC1, 0x40, 0, &[])));

    let frame = fpdu(&send());
    for have in 1..frame.len() {
        let units = explained(&frame[..have]);
        assert_eq!(units.len(), 1, "{have}");
        assert_eq!(units[0].length, have);
        let missing = if have == 1 { 1 } else { frame.len() - have };
        assert_eq!(units[0].missing, missing, "{have}");
        assert_eq!(units[0].missing_at_least, have == 1);
        assert_eq!(verdict(&units[0]), Some(Check::Complete), "{have}");
    }
    // The limit, and one octet more.
    let long = |length: usize| fpdu(&untagged(0x41, 0x43, 0, 0, &vec![0; length - 18]));
    good(&long(64768));
    let mut over = long(64768);
    over[..2].copy_from_slice(&64769_u16.to_be_bytes());
    let units = explained(&over);
    assert_eq!(verdict(&units[0]), Some(Check::Length));
    let rule = units[0].verdict().unwrap();
    assert_eq!(rule.requirement, Some("AMB-21"));
}

// req: DDP-HDR-10, DDP-HDR-11, DDP-HDR-12, DDP-ERR-27, DDP-ERR-28, DDP-ERR-29, DDP-ERR-33, DDP-ERR-34
#[test]
fn ddp_headers() {
    for dv in [0, 2, 3] {
        let segment = untagged(0x40 | dv, 0x43, 0, 0, b"x");
        refused(
            &fpdu(&segment),
            Check::DdpVersion,
            "DDP-HDR-12",
            Some((1, 2, 6)),
        );
        let segment = tagged(0xC0 | dv, 0x40, 0, b"x");
        refused(
            &fpdu(&segment),
            Check::DdpVersion,
            "DDP-HDR-12",
            Some((1, 1, 4)),
        );
    }
    for bit in 2..6 {
        noted(
            &fpdu(&untagged(0x41 | 1 << bit, 0x43, 0, 0, b"x")),
            "DDP-HDR-10",
        );
    }
    refused(
        &fpdu(&untagged(0x41, 0x43, 3, 0, b"x")),
        Check::Queue,
        "DDP-ERR-29",
        Some((1, 2, 1)),
    );
    let last = u64::MAX;
    good(&fpdu(&tagged(0xC1, 0x40, last, b"x")));
    refused(
        &fpdu(&tagged(0xC1, 0x40, last, b"xy")),
        Check::Bounds,
        "DDP-ERR-27",
        Some((1, 1, 3)),
    );
    good(&fpdu(&tagged(0xC1, 0x40, last, b"")));
    let mo = u32::MAX;
    good(&fpdu(&untagged(0x41, 0x43, 0, mo, b"x")));
    refused(
        &fpdu(&untagged(0x41, 0x43, 0, mo, b"xy")),
        Check::Bounds,
        "DDP-ERR-33",
        Some((1, 2, 5)),
    );
}

#[test]
fn rdmap_control() {
    let section = "RFC 5040 §4.1";
    let opcodes = "RFC 5040 §4.1, Figure 4";
    for version in [2, 3] {
        let segment = untagged(0x41, version << 6 | 3, 0, 0, b"x");
        refused(&fpdu(&segment), Check::Rdmap, section, Some((0, 2, 5)));
    }
    good(&fpdu(&untagged(0x41, 0x03, 0, 0, b"x"))); // the RDMA Consortium's version
    for bit in [0x10, 0x20] {
        noted(&fpdu(&untagged(0x41, 0x43 | bit, 0, 0, b"x")), section);
    }
    for opcode in 8..16 {
        let segment = untagged(0x41, 0x40 | opcode, 0, 0, b"x");
        refused(&fpdu(&segment), Check::Rdmap, opcodes, Some((0, 2, 6)));
        refused(
            &fpdu(&tagged(0xC1, 0x40 | opcode, 0, b"x")),
            Check::Rdmap,
            opcodes,
            Some((0, 2, 6)),
        );
    }
    for opcode in Opcode::ALL {
        let control = 0x40 | opcode as u8;
        if opcode.queue().is_some() {
            refused(
                &fpdu(&tagged(0xC1, control, 0, b"x")),
                Check::Rdmap,
                opcodes,
                Some((0, 2, 6)),
            );
        }
        for qn in (0..3).filter(|qn| opcode.queue() != Some(*qn)) {
            let segment = untagged(0x41, control, qn, 0, b"x");
            refused(&fpdu(&segment), Check::Rdmap, opcodes, Some((0, 2, 6)));
        }
    }
    // An STag to invalidate where there is none.
    let mut segment = send();
    segment[5] = 9;
    noted(&fpdu(&segment), section);
    segment[1] = 0x44;
    good(&fpdu(&segment));
}

#[test]
fn read_requests() {
    let request = ReadRequest {
        sink_stag: 0x0102_0304,
        sink_to: 0x0506_0708_090A_0B0C,
        size: 0x0D0E_0F10,
        source_stag: 0x1112_1314,
        source_to: 0x1516_1718_191A_1B1C,
    };
    let frame = fpdu(&untagged(0x41, 0x41, 1, 0, &request.emit()));
    good(&frame);
    let unit = &explained(&frame)[0];
    for (name, expected) in [
        ("rdmap.sink_stag", 0x0102_0304),
        ("rdmap.sink_to", 0x0506_0708_090A_0B0C),
        ("rdmap.size", 0x0D0E_0F10),
        ("rdmap.source_stag", 0x1112_1314),
        ("rdmap.source_to", 0x1516_1718_191A_1B1C),
    ] {
        assert_eq!(value(unit, name), expected, "{name}");
    }
    for length in [0, 27, 29] {
        let mut payload = request.emit().to_vec();
        payload.resize(length, 0);
        let frame = fpdu(&untagged(0x41, 0x41, 1, 0, &payload));
        refused(
            &frame,
            Check::RdmapLength,
            "RFC 5040 §4.4",
            Some((0, 2, 0xFF)),
        );
    }
    noted(
        &fpdu(&untagged(0x01, 0x41, 1, 0, &[0; 20])),
        "RFC 5040 §4.2",
    );
}

#[test]
fn terminates() {
    let mut terminate = Terminate::new(Cause::Rdma(RdmaError::ProtectionBounds));
    let refused_request = untagged(0x41, 0x41, 1, 0, &[]);
    let request = ReadRequest {
        size: 99,
        ..ReadRequest::default()
    };
    terminate.segment_length = Some(46);
    terminate.ddp_header = Some(warpline_wire::error_number::HeaderOctets::of(
        &refused_request,
    ));
    terminate.read_request = Some(request);
    let mut header = [0; 52];
    let length = terminate.emit(&mut header);
    let message = |payload: &[u8]| fpdu(&untagged(0x41, 0x47, 2, 0, payload));
    let frame = message(&header[..length]);
    good(&frame);
    let unit = &explained(&frame)[0];
    for (name, expected) in [
        ("rdmap.layer", 0),
        ("rdmap.error_type", 1),
        ("rdmap.error_code", 1),
        ("rdmap.m", 1),
        ("rdmap.d", 1),
        ("rdmap.r", 1),
        ("rdmap.segment_length", 46),
        ("terminated.ddp.qn", 1),
        ("terminated.rdmap.opcode", 1),
        ("terminated.rdmap.size", 99),
    ] {
        assert_eq!(value(unit, name), expected, "{name}");
    }
    assert_eq!(
        unit.field("rdmap.error_code").unwrap().meaning,
        "base or bounds violation"
    );
    assert!(unit.field("ddp.payload").is_none());
    // Cut behind each of its parts, it announces more than it has.
    for have in [0, 3, 5, 6, 23, 24, length - 1] {
        let frame = message(&header[..have]);
        refused(&frame, Check::RdmapLength, "RFC 5040 §4.8", None);
    }
    let mut reserved = header;
    reserved[3] = 1;
    noted(&message(&reserved[..length]), "RFC 5040 §4.8");
}

// req: MPA-FMT-06, MPA-FMT-13, MPA-MRK-12
#[test]
fn what_a_receiver_ignores_is_noted() {
    let mut frame = fpdu(&untagged(0x41, 0x43, 0, 0, b"x")); // 19 octets: PAD has 3
    let end = frame.len() - 4;
    frame[end - 1] = 1;
    let crc = crc32c::crc32c(&frame[..end]);
    frame[end..].copy_from_slice(&crc.to_le_bytes());
    noted(&frame, "MPA-FMT-06");
}

const REQUEST: &[u8] = b"MPA ID Req Frame\x50\x02\0\x06\0\x04\0\x04hi";

// req: MPA-START-11, MPA-START-16, MPA-START-31, MPA-START-32, MPA-PRIV-07, MPA-PRIV-11, AMB-26
#[test]
fn start_frames() {
    let planted = |at: usize, value: u8| {
        let mut frame = REQUEST.to_vec();
        frame[at] = value;
        frame
    };
    let start = Some((2, 0, 4));
    good(REQUEST);
    for (at, octet) in REQUEST.iter().enumerate().take(16) {
        refused(&planted(at, octet ^ 4), Check::Start, "MPA-START-11", start);
    }
    for revision in [0, 3, 255] {
        let units = explained(&planted(17, revision));
        let fault = units[0].verdict().unwrap();
        assert_eq!(
            (fault.check, fault.requirement),
            (Check::Start, Some("MPA-START-31"))
        );
    }
    let mut long = planted(18, 2);
    long[19] = 1; // 513
    long.resize(20 + 513, 0);
    refused(&long, Check::Start, "MPA-PRIV-07", start);
    long[19] = 0;
    long.pop();
    good(&long);
    let mut without_block = REQUEST[..20].to_vec();
    without_block[19] = 0;
    refused(&without_block, Check::Start, "MPA-PRIV-11", start);
    noted(&planted(16, 0x51), "MPA-START-16");
    noted(&planted(16, 0x70), "MPA-START-32");
    for have in 5..REQUEST.len() {
        let units = explained(&REQUEST[..have]);
        assert_eq!((units.len(), units[0].unit), (1, Kind::Request), "{have}");
        assert_eq!(verdict(&units[0]), Some(Check::Complete), "{have}");
        let whole = if have < 20 { 20 } else { REQUEST.len() };
        assert_eq!(units[0].missing, whole - have);
        assert_eq!(units[0].missing_at_least, have < 20);
    }
    refused(b"MPA ident frame\xC1", Check::Start, "AMB-26", start);
    good(b"MPA ident frame\xC0");
}

/// Behind a start frame full operation begins at position 0, whatever position was given.
// req: MPA-MRK-05, MPA-START-12
#[test]
fn full_operation_begins_behind_the_start_frame() {
    let mut stream = REQUEST.to_vec();
    let mut writer = FpduWriter::new(true, CrcField::Computed);
    writer.append(&send(), &[], &mut stream).unwrap();
    writer.append(&send(), &[], &mut stream).unwrap();
    let units = marked(&stream, 400);
    let positions: Vec<_> = units.iter().map(|unit| unit.position).collect();
    assert_eq!(positions, [None, Some(0), Some(44)]);
    assert!(units.iter().all(|unit| unit.verdict().is_none()));
    let settings = Settings {
        markers: true,
        ..Settings::default()
    };
    let second = Units::new(&stream, settings).from_fpdu(2).next().unwrap();
    assert_eq!(second, units[2]);
    assert_eq!(
        Units::new(&stream, settings).from_fpdu(1).next().unwrap(),
        units[1]
    );
    let mut behind = Units::new(&stream, settings).from_fpdu(9);
    assert_eq!(behind.next_number(), 3);
    assert!(behind.next().is_none());
}

/// Each rule that is cited is in the project's table.
#[test]
fn cited_rules_exist() {
    let ids = include_str!("../../../docs/requirements/ids.json");
    let rows: Vec<Value> = serde_json::from_str(ids).unwrap();
    let known: Vec<_> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/explain");
    let mut cited = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let source = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for word in source.split(|c: char| !c.is_ascii_alphanumeric() && c != '-') {
            let layer = ["MPA-", "DDP-", "AMB-"]
                .iter()
                .any(|layer| word.starts_with(layer));
            if layer && word.ends_with(|c: char| c.is_ascii_digit()) {
                assert!(known.contains(&word), "{word}");
                cited += 1;
            }
        }
    }
    assert!(cited > 20, "{cited}");
}
