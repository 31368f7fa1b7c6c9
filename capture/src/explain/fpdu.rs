//! FPDUs (RFC 5044 §4): length, markers, PAD and CRC.

use warpline_wire::error_number::ErrorNumber;
use warpline_wire::{crc, marker, mpa};

use super::Settings;
use super::amount::in_octets;
use super::ddp;
use super::field::{Field, Octets};
use super::finding::{Check, Finding};
use super::name;
use super::rdmap;
use super::segment::Segment;
use super::unit::{Kind, Unit};

const FPDU: &str = "RFC 5044 §4.1";
const MARKERS: &str = "RFC 5044 §4.3";
const ERRORS: &str = "RFC 5044 §8";

/// Where an FPDU begins and ends.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    /// Stream position of its first octet, modulo 2^32.
    position: u32,
    /// Octets of the leading marker: 4 or 0.
    lead: usize,
    /// ULPDU_Length, if it is there.
    length: Option<u16>,
    /// Octets on the wire; without ULPDU_Length those up to the end of it.
    total: usize,
    /// Octets that are there.
    pub have: usize,
}

impl Extent {
    /// The FPDU that begins at the front of `octets`.
    pub(super) fn new(octets: &[u8], position: u32, markers: bool) -> Self {
        let lead = match markers && marker::is_due(position) {
            true => marker::LEN,
            false => 0,
        };
        let length = octets.get(lead..).and_then(<[u8]>::first_chunk).copied();
        let length = length.map(u16::from_be_bytes);
        let total = match length {
            Some(length) => mpa::fpdu_len(position, length.into(), markers),
            None => lead + mpa::LENGTH_LEN,
        };
        Self {
            position,
            lead,
            length,
            total,
            have: octets.len().min(total),
        }
    }
}

/// Explains the FPDU at the front of `octets`.
pub(super) fn explain(octets: &[u8], extent: Extent, settings: &Settings) -> Unit {
    let wire = &octets[..extent.have];
    let mut fields = Vec::new();
    let (content, runs) = without_markers(wire, extent, settings.markers, &mut fields);
    let region = Octets {
        present: &content,
        runs,
    };
    let length = region.field(name::ULPDU_LENGTH, mpa::field::ULPDU_LENGTH);
    fields.extend(length.map(|field| {
        let field = field.decimal().meaning("octets of the ULPDU");
        let length = extent.length.unwrap_or_default();
        field.finding_if(length > mpa::MAX_ULPDU, || {
            let text = format!(
                "ULPDU_Length {length} is above {}, the longest ULPDU of RFC 5044",
                mpa::MAX_ULPDU
            );
            Finding::fault(Check::Length, "AMB-21", "RFC 5044 §4.5", text)
                .reported_as(ErrorNumber::MpaMarker)
        })
    }));
    let mut summary = String::from("the beginning of an FPDU");
    if let Some(length) = extent.length {
        let segment = Segment {
            start: mpa::field::ULPDU,
            length: length.into(),
            returned: false,
        };
        summary = match ddp::header(&mut fields, &region, segment) {
            Ok((header, payload)) => {
                let whole = settings.payload;
                let message = rdmap::payload(&mut fields, &region, segment, &header, whole);
                ddp::summary(&header, &message, payload, &fields)
            }
            Err(missing) => missing.into(),
        };
        let pad = mpa::field::pad(length);
        if !pad.is_empty() {
            fields.extend(region.field(name::PAD, pad).map(pad_field));
        }
        let crc = region.field(name::CRC, mpa::field::crc(length));
        fields.extend(crc.map(|field| crc_field(field, wire, settings.crc)));
    }
    fields.sort_by_key(|field| field.pieces.first().map_or(0, |piece| piece.offset));
    let missing = extent.total - extent.have;
    let mut findings = Vec::new();
    let missing_at_least = extent.length.is_none();
    if missing > 0 {
        let text = match extent.length {
            Some(_) => format!(
                "{missing} of {} octets are missing; a receiver waits for them",
                extent.total
            ),
            None => format!(
                "ULPDU_Length is not whole, at least {} missing",
                in_octets(missing)
            ),
        };
        findings.push(Finding::fault(Check::Complete, "AMB-23", ERRORS, text));
    }
    Unit {
        unit: Kind::Fpdu,
        number: None,
        position: None,
        sequence: None,
        length: extent.have,
        missing,
        missing_at_least,
        summary,
        fields,
        findings,
    }
}

/// Takes the markers out, as fields; returns the other octets, and the first of each run among them and on the wire.
fn without_markers(
    wire: &[u8],
    extent: Extent,
    markers: bool,
    fields: &mut Vec<Field>,
) -> (Vec<u8>, Vec<(usize, usize)>) {
    let header = extent.position.wrapping_add(extent.lead as u32);
    let (mut content, mut runs) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < wire.len() {
        let position = extent.position.wrapping_add(at as u32);
        if markers && marker::is_due(position) {
            marker_fields(fields, wire, at, position, header);
            at = wire.len().min(at + marker::LEN);
        }
        let position = extent.position.wrapping_add(at as u32);
        let to_marker = match markers {
            true => (marker::SPACING - position % marker::SPACING) as usize,
            false => wire.len(),
        };
        let end = wire.len().min(at + to_marker);
        runs.push((content.len(), at));
        content.extend_from_slice(&wire[at..end]);
        at = end;
    }
    if runs.is_empty() {
        runs.push((0, 0));
    }
    (content, runs)
}

fn marker_fields(fields: &mut Vec<Field>, wire: &[u8], at: usize, position: u32, header: u32) {
    let region = Octets::plain(wire);
    let place = |place: warpline_wire::Field| at + place.start..at + place.end;
    let Some(field) = region.field(name::MARKER, at..at + marker::LEN) else {
        return;
    };
    let found = marker::Marker::new_checked(&wire[at..]);
    let expected = marker::expected_fpduptr(position, header);
    let agrees = found.is_some_and(|found| found.agrees_with(expected));
    fields.push(field.meaning(match agrees {
        true => "points to this FPDU",
        false => "points to something else",
    }));
    let Some(found) = found else {
        return;
    };
    let reserved = region.field(name::MARKER_RESERVED, place(marker::field::RESERVED));
    fields.extend(reserved.map(|field| {
        let set = field.is_set();
        field.hexadecimal().finding_if(set, || {
            let text = "RESERVED is sent as 0; a receiver ignores it";
            Finding::note(Some("MPA-FMT-13"), MARKERS, text)
        })
    }));
    let pointer = region.field(name::MARKER_FPDUPTR, place(marker::field::FPDUPTR));
    fields.extend(pointer.map(|field| {
        let received = found.fpduptr();
        let named = marker::header_position(position, received);
        let says = match received & marker::FPDUPTR_MASK {
            0 => "ULPDU_Length follows".into(),
            back => format!("ULPDU_Length is {back} octets before"),
        };
        let field = field.decimal().meaning(says);
        let field = field.finding_if(!agrees, || {
            let text = format!(
                "FPDUPTR {received} names stream position {named}; ULPDU_Length is at {header}, so FPDUPTR must be {expected}"
            );
            Finding::fault(Check::Marker, "MPA-ERR-05", ERRORS, text)
                .reported_as(ErrorNumber::MpaMarker)
        });
        field.finding_if(received & !marker::FPDUPTR_MASK != 0, || {
            let text = "the low two bits of FPDUPTR are sent as 0; a receiver ignores them";
            Finding::note(Some("MPA-MRK-12"), MARKERS, text)
        })
    }));
}

fn pad_field(field: Field) -> Field {
    let zeros = field.octets.iter().all(|octet| *octet == 0);
    let field = field.data(true);
    let field = field.meaning(match zeros {
        true => "zeros",
        false => "not zero",
    });
    field.finding_if(!zeros, || {
        let text = "PAD is sent as 0; a receiver ignores its value";
        Finding::note(Some("MPA-FMT-06"), FPDU, text)
    })
}

fn crc_field(field: Field, wire: &[u8], checked: bool) -> Field {
    let Some((covered, received)) = wire.split_last_chunk().filter(|_| !field.cut) else {
        return field.meaning("");
    };
    let (expected, received) = (crc::crc32c(covered), crc::from_wire(*received));
    let field = field.valued(received.into(), format!("{received:#010x}"));
    match (received == expected, checked) {
        (true, _) => field.meaning("good"),
        (false, false) => field.meaning(format!("not checked; {expected:#010x} would be right")),
        (false, true) => {
            let text = format!(
                "CRC {received:#010x} found, {expected:#010x} expected over {} octets",
                covered.len()
            );
            field.meaning("wrong").finding(
                Finding::fault(Check::Crc, "MPA-CRC-19", ERRORS, text)
                    .reported_as(ErrorNumber::MpaCrc),
            )
        }
    }
}
