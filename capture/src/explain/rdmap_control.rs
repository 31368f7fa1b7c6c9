//! What RDMAP has in RsvdULP (RFC 5040 §4.1): its control octet, and Invalidate STag.

use warpline_wire::ddp::field as ddp_field;
use warpline_wire::rdmap::{self, Opcode, control, field, queue};

use super::field::{Field, Octets};
use super::finding::{Check, Finding};
use super::name::{self, Name};
use super::segment::{Header, Segment};

const CONTROL: &str = "RFC 5040 §4.1";

/// The opcode, if the message is one of RDMAP.
pub(super) fn checked(header: &Header) -> Option<Result<Opcode, rdmap::Error>> {
    let control = header.rdmap?;
    if !header.control?.tagged() && header.qn.is_none() {
        return None; // the header is cut before QN
    }
    Some(control.check_address(header.qn))
}

/// The control octet in RsvdULP.
pub(super) fn control_octet(
    fields: &mut Vec<Field>,
    octets: &Octets<'_>,
    segment: Segment,
    header: &Header,
) {
    let at = segment.octet(ddp_field::tagged::RSVD_ULP.start + field::CONTROL);
    fields.extend(
        octets
            .field(name::RDMAP_CONTROL, at.clone())
            .map(Field::hexadecimal),
    );
    let Some(value) = header.rdmap else {
        return;
    };
    let fault = checked(header).and_then(Result::err);
    let fault = fault.filter(|_| !segment.returned);
    let bit = |name: Name, bits: u8| octets.bits(name, at.clone(), bits.into());
    let bit = |name, bits| bit(name, bits).map(Field::decimal);
    fields.extend(bit(name::RDMAP_VERSION, control::VERSION).map(|field| {
        let field = field.meaning(match value.version() {
            0 => "the RDMA Consortium's specification",
            1 => "RFC 5040",
            _ => "not supported",
        });
        field.finding(match &fault {
            Some(error @ rdmap::Error::Version { .. }) => {
                Some(Finding::refused_by_rdmap(Check::Rdmap, CONTROL, error))
            }
            _ => None,
        })
    }));
    fields.extend(bit(name::RDMAP_RESERVED, control::RSVD).map(|field| {
        let set = field.is_set();
        field.finding_if(set && !segment.returned, || {
            let text = "reserved bits are sent as 0; a receiver ignores them";
            Finding::note(None, CONTROL, text)
        })
    }));
    fields.extend(bit(name::RDMAP_OPCODE, control::OPCODE).map(|field| {
        let opcode = Opcode::ALL.get(usize::from(value.opcode()));
        let field = field.meaning(opcode.map_or("reserved", |opcode| opcode.name()));
        // A queue that RDMAP does not have is refused by DDP.
        let by_ddp = header.qn.is_some_and(|qn| qn >= queue::COUNT);
        field.finding(match &fault {
            None | Some(rdmap::Error::Version { .. }) => None,
            Some(rdmap::Error::Queue { .. }) if by_ddp => None,
            Some(error) => Some(opcode_fault(error)),
        })
    }));
}

fn opcode_fault(error: &rdmap::Error) -> Finding {
    let text = match *error {
        rdmap::Error::Format { opcode, tagged } => {
            let is = if tagged { "tagged" } else { "untagged" };
            let must = if tagged { "untagged" } else { "tagged" };
            format!(
                "{} in a {is} segment: it goes in {must} ones",
                opcode.name()
            )
        }
        rdmap::Error::Queue { opcode, qn } => match opcode.queue() {
            Some(right) => format!("{} on queue {qn}: it goes to queue {right}", opcode.name()),
            None => error.to_string(),
        },
        // RFC 7306 has given some of them a meaning, for ends that have agreed on it.
        rdmap::Error::Opcode { opcode: 8 | 9 } => {
            format!("{error} in RFC 5040; RFC 7306 has Immediate Data there")
        }
        rdmap::Error::Opcode { opcode: 10 | 11 } => {
            format!("{error} in RFC 5040; RFC 7306 has Atomic Operations there")
        }
        _ => error.to_string(),
    };
    Finding {
        text,
        ..Finding::refused_by_rdmap(Check::Rdmap, "RFC 5040 §4.1, Figure 4", error)
    }
}

/// Invalidate STag of an untagged segment.
pub(super) fn invalidate_stag(
    fields: &mut Vec<Field>,
    octets: &Octets<'_>,
    segment: Segment,
    header: &Header,
) {
    let from = ddp_field::untagged::RSVD_ULP.start;
    let place = from + field::INVALIDATE_STAG.start..from + field::INVALIDATE_STAG.end;
    let Some(stag) = octets.field(name::RDMAP_INVALIDATE_STAG, segment.place(place)) else {
        return;
    };
    let used = matches!(checked(header), Some(Ok(opcode)) if opcode.invalidates());
    let known = matches!(checked(header), Some(Ok(_)));
    let set = stag.is_set();
    let stag = stag.hexadecimal().meaning(match used {
        true => "the receiver invalidates it",
        false => "unused",
    });
    fields.push(
        stag.finding_if(set && known && !used && !segment.returned, || {
            let text = "an unused Invalidate STag is sent as 0; a receiver ignores it";
            Finding::note(None, CONTROL, text)
        }),
    );
}
