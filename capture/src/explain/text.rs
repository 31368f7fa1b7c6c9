//! An explanation as lines: a heading for each unit, a row for each field, and below it what is wrong with it.
//!
//! ```text
//!  FPDU 1 at stream position 0, 44 octets: Send, 18 octets of payload, …
//!      0000  00 26                    ULPDU_Length    38          octets of the ULPDU
//!      0002  41                       DDP control     0x41
//!            0... ....                  T             0           into an Untagged Buffer
//!      │     │                          │             │           └ meaning
//!      │     octets, or bits            field         value
//!      stream position; in a start frame or a chunk the offset
//! ```

use super::amount::in_octets;
use super::field::Field;
use super::finding::{Check, Finding, Severity};
use super::name;
use super::unit::{Kind, Unit};

/// How text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// A heading.
    Strong,
    /// A check that passed.
    Good,
    /// A fault.
    Bad,
    /// A note.
    Note,
    /// Secondary.
    Dim,
}

/// Adds colour to a text, or returns it as it is.
pub type Paint<'p> = dyn Fn(Ink, &str) -> String + 'p;

/// Octets in a row.
const IN_ROW: usize = 8;
/// Columns of them, and of a sign that there are more.
const OCTETS_WIDTH: usize = 3 * IN_ROW + 1;
const LABEL_WIDTH: usize = 18;
const VALUE_WIDTH: usize = 18;

/// The lines of a unit, each with its line end.
#[must_use]
pub fn unit(unit: &Unit, paint: &Paint<'_>) -> String {
    let mut rows: Vec<(usize, String)> = Vec::new();
    let base = unit.position.unwrap_or(0);
    let last = base + unit.length as u64;
    let digits = if last > 0xFFFF_FFFF {
        10
    } else if last > 0xFFFF {
        8
    } else {
        4
    };
    for field in &unit.fields {
        field_rows(&mut rows, field, base, digits, paint);
    }
    // A field that a marker splits continues behind the marker.
    rows.sort_by_key(|(offset, _)| *offset);
    let mut text = heading(unit, paint);
    text.extend(rows.into_iter().map(|(_, row)| row));
    for finding in &unit.findings {
        text += &finding_line(finding, paint);
    }
    text
}

fn heading(unit: &Unit, paint: &Paint<'_>) -> String {
    let name = match (unit.unit, unit.number, unit.position) {
        (Kind::Fpdu, Some(number), Some(position)) => {
            format!("FPDU {number} at stream position {position}")
        }
        (Kind::Request | Kind::Reply | Kind::DraftKey, ..) => "Start frame".into(),
        (Kind::Chunk, ..) => "Chunk".into(),
        _ => "FPDU".into(),
    };
    let sequence = match unit.sequence {
        Some(sequence) => format!(", sequence number {sequence}"),
        None => String::new(),
    };
    let octets = in_octets(unit.length);
    let heading = paint(Ink::Strong, &name);
    format!("{heading}{sequence}, {octets}: {}\n", unit.summary)
}

fn hex(octets: &[u8]) -> String {
    let digits: Vec<_> = octets.iter().map(|octet| format!("{octet:02x}")).collect();
    digits.join(" ")
}

/// The bits of a field in their octets, the others as dots.
fn bits(field: &Field, bits: u32) -> String {
    let mut text = String::new();
    let count = 8 * field.octets.len();
    for bit in (0..count).rev() {
        let octet = field.octets[field.octets.len() - 1 - bit / 8];
        let value = if octet >> (bit % 8) & 1 == 1 {
            '1'
        } else {
            '0'
        };
        text.push(if bits >> bit & 1 == 1 { value } else { '.' });
        if bit > 0 && bit % 4 == 0 {
            text.push(' ');
        }
    }
    text
}

fn ascii(octets: &[u8]) -> String {
    let shown = |octet: &u8| match octet {
        b' '..=b'~' => char::from(*octet),
        _ => '.',
    };
    octets.iter().map(shown).collect()
}

/// A part of a field has no octets of its own: bits, or one whose octets the row above shows.
fn is_part(field: &Field) -> bool {
    field.bits.is_some()
        || field.name.matches('.').count() > 1 && !field.name.starts_with("terminated.")
}

fn field_rows(
    rows: &mut Vec<(usize, String)>,
    field: &Field,
    base: u64,
    digits: usize,
    paint: &Paint<'_>,
) {
    let is_data = field.value.is_none() && field.shown == in_octets(field.length);
    let is_text = is_data && ![name::PAD.id, name::SCTP_PADDING.id].contains(&&*field.name);
    let returned = if field.name.starts_with("terminated.") {
        "> "
    } else {
        ""
    };
    let part = if is_part(field) { "  " } else { "" };
    let label = format!("{returned}{part}{}", field.label);
    let ink = match field.meaning.as_str() {
        "good" | "points to this FPDU" => Some(Ink::Good),
        "wrong" | "points to something else" | "not supported" | "cut off" => Some(Ink::Bad),
        _ => None,
    };
    let mut meaning = match ink {
        Some(ink) => paint(ink, &field.meaning),
        None => field.meaning.clone(),
    };
    if is_text {
        let first = &field.octets[..field.octets.len().min(IN_ROW)];
        let more = if field.length > first.len() {
            "…"
        } else {
            ""
        };
        let separator = if meaning.is_empty() { "" } else { "; " };
        meaning = format!("{meaning}{separator}\"{}\"{more}", ascii(first));
    }
    let mut octets = &field.octets[..];
    let mut is_first = true;
    let mut row = |offset: usize, octets: &str, label: &str, value: &str, meaning: &str| {
        let at = match field.bits {
            Some(_) if field.length == 1 => " ".repeat(digits),
            _ => format!("{:0digits$x}", base + offset as u64),
        };
        let line = format!(
            "  {}  {octets:<OCTETS_WIDTH$}  {label:<LABEL_WIDTH$}  {value:<VALUE_WIDTH$}  {meaning}",
            paint(Ink::Dim, &at)
        );
        rows.push((offset, format!("{}\n", line.trim_end())));
    };
    for piece in &field.pieces {
        let (mut offset, end) = (piece.offset, piece.offset + piece.length);
        loop {
            let count = octets.len().min(IN_ROW).min(end - offset);
            let (now, later) = octets.split_at(count);
            octets = later;
            let shown = match field.bits {
                Some(of) => bits(field, of),
                None => hex(now),
            };
            if is_first {
                let more = count < piece.length && octets.is_empty();
                let shown = if more && count == IN_ROW {
                    format!("{shown} …")
                } else {
                    shown
                };
                row(offset, &shown, &label, &field.shown, &meaning);
            } else if is_data && count > 0 {
                row(offset, &shown, "", "", &format!("\"{}\"", ascii(now)));
            } else {
                let left = format!("{label}, continued");
                let shown = if count == 0 { "…" } else { &shown };
                row(offset, shown, &left, "", "");
            }
            is_first = false;
            offset += count;
            if offset >= end || octets.is_empty() || field.bits.is_some() {
                break;
            }
        }
    }
    if let Some((_, last)) = rows.last_mut() {
        for finding in &field.findings {
            *last += &finding_line(finding, paint);
        }
    }
}

fn finding_line(finding: &Finding, paint: &Paint<'_>) -> String {
    let (word, ink) = match finding.severity {
        Severity::Fault if finding.check == Check::Complete => ("cut off:", Ink::Bad),
        Severity::Fault => ("refused:", Ink::Bad),
        Severity::Note => ("note:", Ink::Note),
    };
    let reports = match &finding.reports {
        Some(reports) => format!(
            "; reported as {} error {:#x}/{:#04x}, {}",
            reports.layer_name(),
            reports.error_type,
            reports.error_code,
            reports.name
        ),
        None => String::new(),
    };
    let requirement = finding.requirement.map(|id| format!("{id}, "));
    let rule = format!("[{}{}]", requirement.unwrap_or_default(), finding.section);
    format!(
        "        {} {}{reports} {}\n",
        paint(ink, word),
        finding.text,
        paint(Ink::Dim, &rule)
    )
}
