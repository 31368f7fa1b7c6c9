//! DDP headers (RFC 5041 §4), and the checks that need nothing but their octets.

use warpline_wire::ddp::{Control, TAGGED_HEADER_LEN, VERSION, control, field};
use warpline_wire::error_number::ErrorNumber;
use warpline_wire::rdmap::{self, queue};

use super::amount::in_octets;
use super::field::{Field, Octets};
use super::finding::{Check, Finding};
use super::name::{self, Name};
use super::rdmap_control;
use super::segment::{Header, Segment, stag};

/// Explains the header of a DDP segment: what it says, and the octets of payload behind it; or what is missing.
pub(super) fn header(
    fields: &mut Vec<Field>,
    octets: &Octets<'_>,
    segment: Segment,
) -> Result<(Header, usize), &'static str> {
    let control = octets.present.get(segment.start).copied().map(Control);
    let control = control.filter(|_| segment.length > 0);
    let Some(control) = control else {
        if segment.length == 0 {
            let fault = short(0, TAGGED_HEADER_LEN);
            let length = fields
                .iter_mut()
                .find(|field| field.name == name::ULPDU_LENGTH.id);
            if let Some(length) = length {
                length.findings.push(fault);
            }
        }
        return Err("no DDP header");
    };
    let need = control.header_len();
    if segment.length < need {
        let at = segment.start..segment.start + segment.length;
        let rest = octets.field(name::DDP_PAYLOAD, at);
        let fault = || short(segment.length, need);
        fields.extend(rest.map(|field| {
            let field = field.data(true);
            let field = field.meaning("part of a DDP header");
            field.finding(fault())
        }));
        return Err("no whole DDP header");
    }
    control_octet(fields, octets, segment, control);
    let mut header = Header {
        control: Some(control),
        rdmap: octets
            .present
            .get(segment.start + field::tagged::RSVD_ULP.start)
            .copied()
            .map(rdmap::Control),
        ..Header::default()
    };
    let payload = segment.length - need;
    match control.tagged() {
        true => tagged(fields, octets, segment, &header, payload),
        false => untagged(fields, octets, segment, &mut header, payload),
    }
    Ok((header, payload))
}

/// A line about the segment, which is a part of `message`.
pub(super) fn summary(header: &Header, message: &str, payload: usize, fields: &[Field]) -> String {
    let mut text = message.to_owned();
    let last = header.control.is_some_and(Control::last);
    text += &format!(", {} of payload", in_octets(payload));
    if last {
        text += ", last segment";
    }
    let names = [
        name::DDP_STAG,
        name::DDP_TO,
        name::DDP_QN,
        name::DDP_MSN,
        name::DDP_MO,
    ];
    for name in names {
        let field = fields.iter().find(|field| field.name == name.id);
        if let Some(field) = field.filter(|field| field.value.is_some()) {
            text += &format!(", {} {}", field.label, field.shown);
        }
    }
    text
}

pub(super) fn short(have: usize, need: usize) -> Finding {
    let text = format!("a ULPDU of {have} octets is shorter than its DDP header of {need}");
    Finding::fault(Check::DdpHeader, "AMB-20", "RFC 5041 §4.4", text)
        .reported_as(ErrorNumber::LocalCatastrophic)
}

fn control_octet(fields: &mut Vec<Field>, octets: &Octets<'_>, segment: Segment, value: Control) {
    const SECTION: &str = "RFC 5041 §4.1";
    let at = segment.octet(field::CONTROL);
    fields.extend(
        octets
            .field(name::DDP_CONTROL, at.clone())
            .map(Field::hexadecimal),
    );
    let bit = |name: Name, bits: u8| octets.bits(name, at.clone(), bits.into());
    let bit = |name, bits| bit(name, bits).map(Field::decimal);
    fields.extend(bit(name::DDP_TAGGED, control::TAGGED).map(|field| {
        field.meaning(match value.tagged() {
            true => "into a Tagged Buffer",
            false => "into an Untagged Buffer",
        })
    }));
    fields.extend(bit(name::DDP_LAST, control::LAST).map(|field| {
        field.meaning(match value.last() {
            true => "last segment of its message",
            false => "more segments follow",
        })
    }));
    fields.extend(bit(name::DDP_RESERVED, control::RSVD).map(|field| {
        let set = field.is_set();
        field.finding_if(set && !segment.returned, || {
            let text = "reserved bits are sent as 0; a receiver ignores them";
            Finding::note(Some("DDP-HDR-10"), SECTION, text)
        })
    }));
    fields.extend(bit(name::DDP_VERSION, control::VERSION).map(|field| {
        let version = value.version();
        let wrong = version != VERSION;
        field.finding_if(wrong && !segment.returned, || {
            let text = format!("DV is {version}: only version {VERSION} exists");
            let number = match value.tagged() {
                true => ErrorNumber::TaggedVersion,
                false => ErrorNumber::UntaggedVersion,
            };
            Finding::fault(Check::DdpVersion, "DDP-HDR-12", SECTION, text).reported_as(number)
        })
    }));
}

fn tagged(
    fields: &mut Vec<Field>,
    octets: &Octets<'_>,
    segment: Segment,
    header: &Header,
    payload: usize,
) {
    let at = segment.place(field::tagged::RSVD_ULP);
    let ulp = octets.field(name::DDP_RSVD_ULP, at);
    fields.extend(ulp.map(|field| field.hexadecimal().meaning("for the ULP: RDMAP's control")));
    rdmap_control::control_octet(fields, octets, segment, header);
    stag(
        fields,
        octets,
        name::STAG,
        segment.place(field::tagged::STAG),
    );
    let to = octets.field(name::DDP_TO, segment.place(field::tagged::TO));
    fields.extend(to.map(|field| {
        let field = field.hexadecimal().meaning("Tagged Offset of the payload");
        let to = u128::from(field.value.unwrap_or_default());
        let wraps = payload > 0 && to + payload as u128 > 1 << 64;
        field.finding_if(wraps && !segment.returned, || {
            let text = format!("TO and {payload} octets of payload pass 2^64");
            Finding::fault(Check::Bounds, "DDP-ERR-27", "RFC 5041 §7.1", text)
                .reported_as(ErrorNumber::TaggedWrap)
        })
    }));
}

fn untagged(
    fields: &mut Vec<Field>,
    octets: &Octets<'_>,
    segment: Segment,
    header: &mut Header,
    payload: usize,
) {
    let at = segment.place(field::untagged::RSVD_ULP);
    let ulp = octets.field(name::DDP_RSVD_ULP, at);
    fields.extend(ulp.map(|field| {
        let says = "for the ULP: RDMAP's control and Invalidate STag";
        field.hexadecimal().meaning(says)
    }));
    let qn = octets.field(name::DDP_QN, segment.place(field::untagged::QN));
    let qn = qn.map(Field::decimal);
    header.qn = qn
        .as_ref()
        .and_then(|field| field.value)
        .map(|qn| qn as u32);
    rdmap_control::control_octet(fields, octets, segment, header);
    rdmap_control::invalidate_stag(fields, octets, segment, header);
    fields.extend(qn.map(|field| {
        let qn = header.qn.unwrap_or_default();
        let field = field.meaning(match qn {
            queue::SEND => "queue of Sends",
            queue::READ_REQUEST => "queue of RDMA Read Requests",
            queue::TERMINATE => "queue of Terminates",
            _ => "no queue of RDMAP",
        });
        field.finding_if(qn >= queue::COUNT && !segment.returned, || {
            let text = format!("queue {qn}: RDMAP has queues 0 to {}", queue::COUNT - 1);
            Finding::fault(Check::Queue, "DDP-ERR-29", "RFC 5041 §7.1", text)
                .reported_as(ErrorNumber::UntaggedQn)
        })
    }));
    let msn = octets.field(name::DDP_MSN, segment.place(field::untagged::MSN));
    fields.extend(msn.map(|field| {
        field
            .decimal()
            .meaning("number of the message in its queue")
    }));
    let mo = octets.field(name::DDP_MO, segment.place(field::untagged::MO));
    fields.extend(mo.map(|field| {
        let field = field
            .decimal()
            .meaning("offset of the payload in its message");
        header.mo = field.value.map(|mo| mo as u32);
        let end = field.value.unwrap_or_default() + payload as u64;
        field.finding_if(end > 1 << 32 && !segment.returned, || {
            let text = format!(
                "MO and {payload} octets of payload pass 2^32, so no buffer is large enough"
            );
            Finding::fault(Check::Bounds, "DDP-ERR-33", "RFC 5041 §7.1", text)
                .reported_as(ErrorNumber::UntaggedTooLong)
        })
    }));
}
