//! Random octets, and good streams with random damage: nothing panics, no octet is left out, and the verdict is the reference
//! receiver's.

use std::io;

use fastrand::Rng;

use super::*;
use warpline_capture::explain::{Kind, Source, unit_text, write_json};
use warpline_wire::ddp::{self, Header};
use warpline_wire::error_number::Detail;
use warpline_wire::rdmap::{self, Delivered, Message};
use warpline_wire::receive::{Framing, FramingConfig};
use warpline_wire::send::{CrcField, FpduWriter};

/// What the reference receiver says of a ULPDU by itself: the check that refuses it.
fn judged(ulpdu: &[u8]) -> Option<Check> {
    let (header, payload) = match Header::parse(ulpdu) {
        Ok(parsed) => parsed,
        Err(ddp::Error::Version { .. }) => return Some(Check::DdpVersion),
        Err(_) => return Some(Check::DdpHeader),
    };
    let (message, alone) = match header {
        Header::Tagged(header) => {
            if !payload.is_empty() && header.to.checked_add(payload.len() as u64 - 1).is_none() {
                return Some(Check::Bounds);
            }
            let len = payload.len() as u32;
            let (rsvd_ulp, stag, to) = (header.rsvd_ulp, header.stag, header.to);
            let message = Delivered::Tagged {
                rsvd_ulp,
                stag,
                to,
                len,
            };
            (message, true)
        }
        Header::Untagged(header) => {
            if header.qn >= rdmap::queue::COUNT {
                return Some(Check::Queue);
            }
            if u64::from(header.mo) + payload.len() as u64 > 1 << 32 {
                return Some(Check::Bounds);
            }
            let (rsvd_ulp, qn, msn) = (header.rsvd_ulp, header.qn, header.msn);
            let message = Delivered::Untagged {
                rsvd_ulp,
                qn,
                msn,
                payload,
            };
            (message, header.last && header.mo == 0)
        }
    };
    match Message::parse(&message) {
        Ok(_) => None,
        Err(rdmap::Error::ReadRequestLength { .. } | rdmap::Error::TerminateLength { .. }) => {
            alone.then_some(Check::RdmapLength)
        }
        Err(_) => Some(Check::Rdmap),
    }
}

/// Every octet of a unit is in one of its fields, and no field lies outside.
fn covered(unit: &Unit) {
    let mut seen = vec![false; unit.length];
    for piece in unit.fields.iter().flat_map(|field| &field.pieces) {
        for octet in &mut seen[piece.offset..piece.offset + piece.length] {
            *octet = true;
        }
    }
    let left_out = seen.iter().position(|seen| !seen);
    assert_eq!(left_out, None, "{unit:?}");
}

/// Explains octets, and compares with the reference receiver up to what that refuses; returns the verdicts of FPDUs.
fn check(octets: &[u8], markers: bool, crc: bool, position: u32) -> Vec<Option<Check>> {
    let settings = Settings {
        markers,
        crc,
        position,
        payload: octets.len().is_multiple_of(2),
    };
    let units: Vec<_> = Units::new(octets, settings).collect();
    let lengths: usize = units.iter().map(|unit| unit.length).sum();
    assert_eq!(lengths, octets.len());
    let mut framing = Framing::at(
        position,
        FramingConfig {
            markers,
            crc,
            ..FramingConfig::default()
        },
    );
    let (mut rest, mut refused) = (octets, false);
    for unit in &units {
        covered(unit);
        if unit.unit != Kind::Fpdu {
            refused = true; // random octets seldom have one, and then position 0 follows
        }
        if refused {
            continue;
        }
        let found = verdict(unit);
        match framing.push(&mut rest) {
            Ok(Some(ulpdu)) => {
                assert_eq!(unit.length, ulpdu.fpdu_len);
                assert_eq!(found, judged(ulpdu.octets), "{unit:?}");
            }
            Ok(None) => {
                // The length may be there before the four octets that the receiver gathers first.
                let early = unit.length < 8 && found == Some(Check::Length);
                assert!(early || found == Some(Check::Complete), "{unit:?}");
            }
            Err(error) => {
                let expected = match error.detail {
                    Detail::Crc { .. } => Check::Crc,
                    Detail::Marker { .. } => Check::Marker,
                    _ => Check::Length,
                };
                assert_eq!(found, Some(expected), "{unit:?}");
                refused = true;
            }
        }
    }
    for unit in &units {
        let text = unit_text(unit, &|_, text| text.to_owned());
        assert!(
            text.lines()
                .all(|line| line.trim_end() == line && !line.is_empty())
        );
    }
    if !octets.len().is_multiple_of(8) {
        return units.iter().map(verdict).collect();
    }
    let source = Source {
        kind: "octets",
        connection: None,
        direction: None,
        initiator: None,
        responder: None,
        markers,
        crc,
        warnings: Vec::new(),
    };
    let tally = write_json(io::sink(), &source, units.iter().cloned()).unwrap();
    assert_eq!((tally.fpdus + tally.start_frames) as usize, units.len());
    units.iter().map(verdict).collect()
}

#[test]
fn random_octets() {
    let mut rng = Rng::with_seed(5044);
    for _ in 0..100_000 {
        let mut octets = vec![0; rng.usize(1..160)];
        rng.fill(&mut octets);
        if rng.bool() {
            octets[0] = 0; // a short FPDU, so that more follow
        }
        let position = rng.u32(..) & !3;
        check(&octets, rng.bool(), rng.bool(), position);
    }
}

/// Start frames of random octets behind a key.
#[test]
fn random_start_frames() {
    let mut rng = Rng::with_seed(6581);
    let keys: [&[u8]; 3] = [b"MPA ID Req Frame", b"MPA ID Rep Frame", b"MPA ident frame"];
    for _ in 0..10_000 {
        let mut octets = keys[rng.usize(..3)].to_vec();
        if rng.u8(..4) == 0 {
            let at = rng.usize(..octets.len());
            octets[at] ^= 1 << rng.u8(..8);
        }
        octets.extend([rng.u8(..), rng.u8(..4), rng.u8(..3), rng.u8(..)]);
        octets.extend(std::iter::repeat_with(|| rng.u8(..)).take(70));
        octets.truncate(rng.usize(1..=octets.len()));
        check(&octets, rng.bool(), true, 0);
    }
}

/// Good messages of all kinds in one stream, then a few flipped bits whose CRC is right.
#[test]
fn damaged_streams() {
    let mut rng = Rng::with_seed(5040);
    let mut seen = std::collections::BTreeMap::new();
    for _ in 0..5_000 {
        let (markers, position) = (rng.bool(), rng.u32(..) & !3);
        let mut writer = FpduWriter::at(position, markers, CrcField::Computed);
        let mut octets = Vec::new();
        for _ in 0..rng.usize(1..4) {
            let opcode = rng.u8(..8);
            let tagged = matches!(opcode, 0 | 2);
            let mut ulpdu = vec![if tagged { 0xC1 } else { 0x41 }, 0x40 | opcode];
            ulpdu.extend([0; 4]);
            let qn = match opcode {
                1 => 1,
                7 => 2,
                _ => 0,
            };
            let (words, length) = match (tagged, opcode) {
                (true, _) => ([0, rng.u32(..), 0], rng.usize(..700)),
                (false, 1) => ([qn, 1, 0], 28),
                (false, 7) => ([qn, 1, 0], 4),
                (false, _) => ([qn, rng.u32(..), 0], rng.usize(..700)),
            };
            for word in &words[..if tagged { 2 } else { 3 }] {
                ulpdu.extend(word.to_be_bytes());
            }
            ulpdu.resize(ulpdu.len() + length, 0);
            if rng.bool() {
                let bit = rng.usize(..8 * ulpdu.len().min(24));
                ulpdu[bit / 8] ^= 1 << (bit % 8);
            }
            writer.append(&ulpdu, &[], &mut octets).unwrap();
        }
        if rng.u8(..4) == 0 {
            let bit = rng.usize(..8 * octets.len());
            octets[bit / 8] ^= 1 << (bit % 8);
        }
        if rng.u8(..50) == 0 {
            let length = octets.len().min(6);
            octets[..length].fill(0xFF); // the marker, if there is one, and ULPDU_Length
        }
        if rng.u8(..4) == 0 {
            octets.truncate(rng.usize(1..=octets.len()));
        }
        let mut crc = rng.u8(..4) > 0;
        let marker = (position.wrapping_neg() % 512) as usize;
        if markers && rng.u8(..20) == 0 && marker + 4 <= octets.len() {
            octets[marker + 3] ^= 4; // FPDUPTR
            crc = false;
        }
        for found in check(&octets, markers, crc, position) {
            *seen.entry(found).or_insert(0) += 1;
        }
    }
    for check in [
        Check::Length,
        Check::Complete,
        Check::Crc,
        Check::Marker,
        Check::DdpVersion,
        Check::Queue,
        Check::Rdmap,
        Check::RdmapLength,
    ] {
        assert!(
            seen.contains_key(&Some(check)),
            "{check:?} never came: {seen:?}"
        );
    }
    assert!(seen[&None] > 3_000, "{seen:?}");
}
