//! DDP over SCTP (RFC 5043): DATA chunks, session control messages, and DDP segments in them.
//!
//! ```text
//!  0      1       2        4     8           10      12     16        18
//!  ├ Type ┼ Flags ┼ Length ┼ TSN ┼ Stream Id ┼ SSN ──┼ PPID ┼ DDP-SSN ┼ DDP segment, PPID 16
//!                                                             └ Function Code, private data, PPID 17
//!  └──────── DATA chunk, RFC 9260 §3.3.1 ─────────────────┘└─────── user data, RFC 5043 §5.2 ───────
//! ```
//!
//! A chunk is taken by itself: whether a DDP-SSN is due, or a message legal in its session, depends on those before.

use warpline_wire::sctp::{
    ALIGN, CONTROL_HEADER_LEN, ChunkError, DATA, DATA_HEADER_LEN, Function, MAX_PRIVATE_DATA,
    SSN_LEN, data_field, data_flag, field, ppid,
};

use super::amount::in_octets;
use super::ddp;
use super::field::{Field, Octets};
use super::finding::{Check, Finding};
use super::name;
use super::rdmap;
use super::segment::Segment;
use super::unit::{Kind, Unit};

const CHUNKS: &str = "RFC 5043 §5.2";
const CONTROL: &str = "RFC 5043 §5.2.3";
const DATA_CHUNK: &str = "RFC 9260 §3.3.1";

/// What octets of SCTP are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SctpForm {
    /// User data of a DATA chunk with PPID 16: a DDP Segment Chunk.
    Segment,
    /// User data of a DATA chunk with PPID 17: DDP Stream Session Control.
    Control,
    /// Chunks, one behind another, as they follow the common header of a packet.
    Chunks,
}

/// Explains octets of SCTP. Of `Chunks`, those that are not DATA are left out.
pub fn sctp_units(octets: &[u8], form: SctpForm, payload: bool) -> impl Iterator<Item = Unit> {
    let mut rest = Some(octets);
    std::iter::from_fn(move || {
        let octets = rest?;
        let number = match form {
            SctpForm::Segment => ppid::SEGMENT,
            SctpForm::Control => ppid::CONTROL,
            SctpForm::Chunks => {
                let (chunk, behind) = next_data(octets)?;
                rest = behind;
                return Some(data_chunk(chunk, payload));
            }
        };
        rest = None;
        let region = Octets::plain(octets);
        let mut fields = Vec::new();
        let summary = user_data(&mut fields, &region, 0, octets.len(), number, payload);
        Some(unit(octets.len(), 0, summary, fields))
    })
}

/// The next DATA chunk, with its padding, and what is behind it.
fn next_data(mut octets: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    loop {
        let kind = *octets.first()?;
        let end = match length(octets).map(usize::from) {
            // No chunk is shorter than its own header: nothing can follow.
            Some(length) if length >= ALIGN => length.next_multiple_of(ALIGN),
            _ => octets.len(),
        };
        let (chunk, behind) = octets.split_at(end.min(octets.len()));
        if kind == DATA {
            return Some((chunk, (!behind.is_empty()).then_some(behind)));
        }
        octets = behind;
    }
}

fn length(chunk: &[u8]) -> Option<u16> {
    let octets = chunk.get(data_field::LENGTH)?;
    Some(u16::from_be_bytes([octets[0], octets[1]]))
}

fn unit(length: usize, missing: usize, summary: String, fields: Vec<Field>) -> Unit {
    let findings = (missing > 0).then(|| {
        let text = format!("{missing} of {} octets are missing", length + missing);
        Finding {
            requirement: None,
            ..Finding::fault(Check::Complete, "", DATA_CHUNK, text)
        }
    });
    Unit {
        unit: Kind::Chunk,
        number: None,
        position: None,
        sequence: None,
        length,
        missing,
        missing_at_least: false,
        summary,
        fields,
        findings: findings.into_iter().collect(),
    }
}

/// A DATA chunk with its padding.
fn data_chunk(chunk: &[u8], whole: bool) -> Unit {
    let region = Octets::plain(chunk);
    let mut fields = Vec::new();
    let octet = |at: usize| at..at + 1;
    fields.extend(
        region
            .field(name::SCTP_TYPE, octet(data_field::TYPE))
            .map(|field| field.decimal().meaning("DATA")),
    );
    flags(&mut fields, &region);
    let total = length(chunk).map_or(DATA_HEADER_LEN, usize::from);
    let is_short = total < DATA_HEADER_LEN;
    fields.extend(
        region
            .field(name::SCTP_LENGTH, data_field::LENGTH)
            .map(|field| {
                let field = field
                    .decimal()
                    .meaning("octets of the chunk without padding");
                field.finding_if(is_short, || {
                    let text = format!(
                        "Length {total} is shorter than the header of {DATA_HEADER_LEN} octets"
                    );
                    Finding {
                        requirement: None,
                        ..Finding::fault(Check::Chunk, "", DATA_CHUNK, text)
                    }
                })
            }),
    );
    fields.extend(region.field(name::SCTP_TSN, data_field::TSN).map(|field| {
        field
            .decimal()
            .meaning("SCTP's own, in the order of transmission")
    }));
    fields.extend(
        region
            .field(name::SCTP_STREAM, data_field::STREAM)
            .map(|field| {
                field
                    .decimal()
                    .meaning("the DDP stream, in both directions")
            }),
    );
    fields.extend(
        region
            .field(name::SCTP_STREAM_SEQUENCE, data_field::STREAM_SEQUENCE)
            .map(|field| {
                field
                    .decimal()
                    .meaning("without meaning in an unordered chunk")
            }),
    );
    let number = region
        .field(name::SCTP_PPID, data_field::PPID)
        .map(Field::decimal);
    let protocol = number
        .as_ref()
        .and_then(|field| field.value)
        .map(|value| value as u32);
    fields.extend(number.map(|field| {
        let value = protocol.unwrap_or_default();
        let field = field.meaning(match value {
            ppid::SEGMENT => "DDP Segment Chunk",
            ppid::CONTROL => "DDP Stream Session Control",
            _ => "not supported",
        });
        field.finding_if(!is_ddp(value), || {
            let text = ChunkError::Ppid { ppid: value }.to_string();
            Finding::fault(Check::Chunk, "AMB-35", "RFC 5043 §5.1", text)
        })
    }));
    let missing = total.saturating_sub(chunk.len());
    let first = chunk
        .get(data_field::FLAGS)
        .is_none_or(|flags| flags & data_flag::BEGINNING != 0);
    let summary = match protocol {
        Some(_) if is_short => "a DATA chunk without a whole header".into(),
        Some(value) if is_ddp(value) && first => {
            let end = total.min(chunk.len());
            let data = Octets::plain(&chunk[..end]);
            user_data(&mut fields, &data, DATA_HEADER_LEN, total, value, whole)
        }
        Some(value) => {
            let rest = region.field(name::DDP_PAYLOAD, DATA_HEADER_LEN..total);
            fields.extend(
                rest.filter(|field| field.length > 0)
                    .map(|field| field.data(whole)),
            );
            match is_ddp(value) {
                true => "a later fragment of a message".into(),
                false => "a chunk of another protocol".into(),
            }
        }
        None => "the beginning of a DATA chunk".into(),
    };
    let pad = total..total.next_multiple_of(ALIGN).min(chunk.len().max(total));
    if !pad.is_empty() && !is_short {
        fields.extend(region.field(name::SCTP_PADDING, pad).map(|field| {
            let zeros = field.octets.iter().all(|octet| *octet == 0);
            let field = field
                .data(true)
                .meaning(if zeros { "zeros" } else { "not zero" });
            field.finding_if(!zeros, || {
                let text = "padding is sent as 0; a receiver ignores its value";
                Finding::note(None, "RFC 9260 §3.2", text)
            })
        }));
    }
    unit(chunk.len(), missing, summary, fields)
}

fn is_ddp(protocol: u32) -> bool {
    [ppid::SEGMENT, ppid::CONTROL].contains(&protocol)
}

fn flags(fields: &mut Vec<Field>, region: &Octets<'_>) {
    let at = data_field::FLAGS..data_field::FLAGS + 1;
    let all = region.field(name::SCTP_FLAGS, at.clone());
    fields.extend(all.map(Field::hexadecimal));
    let bit = |name, bits: u8| {
        region
            .bits(name, at.clone(), bits.into())
            .map(Field::decimal)
    };
    fields.extend(
        bit(name::SCTP_UNORDERED, data_flag::UNORDERED).map(|field| {
            let set = field.is_set();
            let field = field.meaning(if set { "unordered" } else { "ordered" });
            field.finding_if(!set, || {
                let text = "DDP sends all chunks unordered (U = 1)";
                Finding::note(Some("SCTP-SSN-04"), "RFC 5043 §10", text)
            })
        }),
    );
    for (name, bits, says) in [
        (
            name::SCTP_BEGINNING,
            data_flag::BEGINNING,
            ["not the first fragment", "begins a message"],
        ),
        (
            name::SCTP_ENDING,
            data_flag::ENDING,
            ["more fragments follow", "ends a message"],
        ),
    ] {
        fields.extend(bit(name, bits).map(|field| {
            let set = field.is_set();
            let field = field.meaning(says[usize::from(set)]);
            field.finding_if(!set, || {
                let text =
                    "a fragment: a message is not put together here, and DDP avoids fragments";
                Finding::note(Some("AMB-39"), "RFC 5043 §9", text)
            })
        }));
    }
}

/// User data from `start` to `end`, of which some may be missing; returns a line about it.
fn user_data(
    fields: &mut Vec<Field>,
    octets: &Octets<'_>,
    start: usize,
    end: usize,
    protocol: u32,
    whole: bool,
) -> String {
    let place = |place: warpline_wire::Field| start + place.start..start + place.end;
    let (have, need) = match protocol {
        ppid::CONTROL => (end - start, CONTROL_HEADER_LEN),
        _ => (end - start, SSN_LEN),
    };
    let short = (have < need).then(|| {
        let text = ChunkError::Truncated { have, need }.to_string();
        let requirement = if protocol == ppid::CONTROL {
            "SCTP-FMT-07"
        } else {
            "SCTP-FMT-05"
        };
        Finding::fault(Check::Chunk, requirement, CHUNKS, text)
    });
    if let Some(short) = short {
        let rest = octets.field(name::SCTP_USER_DATA, start..end);
        fields.extend(rest.map(|field| field.data(true).meaning("no whole header").finding(short)));
        return "no whole header of DDP over SCTP".into();
    }
    let ssn = octets
        .field(name::SCTP_DDP_SSN, place(field::DDP_SSN))
        .map(Field::decimal);
    let numbered = match ssn.as_ref().and_then(|field| field.value) {
        Some(ssn) => format!("DDP-SSN {ssn}, "),
        None => String::new(),
    };
    fields
        .extend(ssn.map(|field| field.meaning("number of the chunk in its session and direction")));
    let says = match protocol {
        ppid::CONTROL => control(fields, octets, start, end, whole),
        _ => {
            let segment = Segment {
                start: start + field::SEGMENT,
                length: end - start - field::SEGMENT,
                returned: false,
            };
            if segment.length == 0
                && let Some(ssn) = fields
                    .iter_mut()
                    .find(|field| field.name == name::SCTP_DDP_SSN.id)
            {
                ssn.findings
                    .push(ddp::short(0, warpline_wire::ddp::TAGGED_HEADER_LEN));
            }
            match ddp::header(fields, octets, segment) {
                Ok((header, payload)) => {
                    let message = rdmap::payload(fields, octets, segment, &header, whole);
                    ddp::summary(&header, &message, payload, fields)
                }
                Err(missing) => missing.into(),
            }
        }
    };
    numbered + &says
}

/// A session control message; returns a line about it.
fn control(
    fields: &mut Vec<Field>,
    octets: &Octets<'_>,
    start: usize,
    end: usize,
    whole: bool,
) -> String {
    let code = octets.field(
        name::SCTP_FUNCTION,
        start + field::FUNCTION.start..start + field::FUNCTION.end,
    );
    let value = code.as_ref().filter(|field| !field.cut);
    let value = value.map(|field| u16::from_be_bytes([field.octets[0], field.octets[1]]));
    let function = value.and_then(|code| Function::from_code(code).ok());
    let data = start + field::PRIVATE_DATA..end;
    let len = data.len();
    fields.extend(code.map(|field| {
        let field = field.hexadecimal().meaning(match (function, value) {
            (Some(function), _) => says(function),
            (None, Some(5..=7)) => "of RFC 6581, not in use here",
            _ => "not supported",
        });
        field.finding_if(function.is_none(), || {
            let error = ChunkError::Function {
                code: value.unwrap_or_default(),
            };
            Finding::fault(Check::Chunk, "AMB-35", CONTROL, error.to_string())
        })
    }));
    if len > 0 {
        let private = octets.field(name::SCTP_PRIVATE_DATA, data);
        fields.extend(private.map(|field| {
            let terminate = function == Some(Function::Terminate);
            let fault = |requirement, error: ChunkError| {
                Finding::fault(Check::Chunk, requirement, CONTROL, error.to_string())
            };
            let field = field.data(whole).meaning("for the ULP");
            let field = field.finding(
                terminate.then(|| fault("SCTP-FMT-13", ChunkError::TerminateData { len })),
            );
            let long = !terminate && len > MAX_PRIVATE_DATA;
            field.finding(long.then(|| fault("SCTP-FMT-12", ChunkError::PrivateData { len })))
        }));
    }
    match function {
        Some(function) => format!("{}, {} of private data", name_of(function), in_octets(len)),
        None => "no known session control message".into(),
    }
}

fn name_of(function: Function) -> &'static str {
    match function {
        Function::Initiate => "Initiate",
        Function::Accept => "Accept",
        Function::Reject => "Reject",
        Function::Terminate => "Terminate of the session",
    }
}

fn says(function: Function) -> &'static str {
    match function {
        Function::Initiate => "Initiate: asks for a session",
        Function::Accept => "Accept: grants it",
        Function::Reject => "Reject: declines it, as the ULP said",
        Function::Terminate => "Terminate: ends the sender's half of the session",
    }
}
