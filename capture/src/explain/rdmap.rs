//! RDMAP (RFC 5040 §4): the control octet, and the headers in the payload.

use warpline_wire::ddp::field as ddp_field;
use warpline_wire::rdmap::{
    self, BitOrder, Layer, Opcode, READ_REQUEST_LEN, TERMINATE_CONTROL_LEN, TerminateView, control,
    field, hdr_ct, queue,
};

use super::ddp::{self, Header, Segment};
use super::field::{Field, Octets};
use super::finding::{Check, Finding};
use super::name::{self, Name};

const CONTROL: &str = "RFC 5040 §4.1";
const READ_REQUEST: &str = "RFC 5040 §4.4";
const TERMINATE: &str = "RFC 5040 §4.8";

/// The opcode, if the message is one of RDMAP.
fn checked(header: &Header) -> Option<Result<Opcode, rdmap::Error>> {
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

/// Explains the payload; returns the name of the message.
pub(super) fn payload(
    fields: &mut Vec<Field>,
    octets: &Octets<'_>,
    segment: Segment,
    header: &Header,
    whole: bool,
) -> String {
    let Some(ddp) = header.control else {
        return String::new();
    };
    let message = Payload {
        start: segment.start + ddp.header_len(),
        end: segment.start + segment.length,
        // A message of one segment; another one is not a whole header.
        alone: ddp.last() && header.mo == Some(0),
    };
    let valid = ddp.version() == warpline_wire::ddp::VERSION;
    let opcode = checked(header).filter(|_| valid);
    let name = match &opcode {
        Some(Ok(opcode)) => opcode.name().to_owned(),
        _ => "no message of RDMAP".into(),
    };
    let from = match opcode {
        Some(Ok(Opcode::ReadRequest)) => read_request_message(fields, octets, message),
        Some(Ok(Opcode::Terminate)) => terminate(fields, octets, message),
        _ => message.start,
    };
    if from < message.end {
        let rest = octets.field(name::DDP_PAYLOAD, from..message.end);
        fields.extend(rest.map(|field| {
            let mut field = field.data(whole);
            if field.cut {
                field.meaning = format!("of {}", message.end - from);
            }
            field
        }));
    }
    name
}

/// Where a payload is.
#[derive(Clone, Copy)]
struct Payload {
    start: usize,
    end: usize,
    alone: bool,
}

impl Payload {
    fn len(self) -> usize {
        self.end - self.start
    }

    /// A header that the message must have is not whole in this segment.
    fn in_parts(self, what: &str, fields: &mut [Field]) {
        let text =
            format!("{what} in several segments is not put together here: see `warpline replay`");
        if let Some(field) = fields.iter_mut().rfind(|f| f.name == name::DDP_MO.id) {
            field
                .findings
                .push(Finding::note(None, "RFC 5040 §4.2", text));
        }
    }
}

/// Explains a Read Request; returns where its header ends.
fn read_request_message(fields: &mut Vec<Field>, octets: &Octets<'_>, payload: Payload) -> usize {
    if !payload.alone {
        payload.in_parts("an RDMA Read Request", fields);
        return payload.start;
    }
    let len = payload.len();
    if len != READ_REQUEST_LEN {
        let error = rdmap::Error::ReadRequestLength { len };
        let fault = Finding::refused_by_rdmap(Check::RdmapLength, READ_REQUEST, &error);
        if let Some(opcode) = field_named(fields, name::RDMAP_OPCODE) {
            opcode.findings.push(fault);
        }
    }
    let end = payload.end.min(payload.start + READ_REQUEST_LEN);
    if len >= READ_REQUEST_LEN {
        read_request(fields, octets, payload.start);
        return end;
    }
    payload.start
}

fn field_named(fields: &mut [Field], name: Name) -> Option<&mut Field> {
    fields.iter_mut().find(|field| field.name == name.id)
}

/// The five fields of a Read Request Header.
fn read_request(fields: &mut Vec<Field>, octets: &Octets<'_>, start: usize) {
    use field::read_request as at;
    let place = |place: warpline_wire::Field| start + place.start..start + place.end;
    ddp::stag(fields, octets, name::SINK_STAG, place(at::SINK_STAG));
    let to = octets.field(name::RDMAP_SINK_TO, place(at::SINK_TO));
    fields.extend(to.map(|field| {
        let says = "where the Response goes, at the end that reads";
        field.hexadecimal().meaning(says)
    }));
    let size = octets.field(name::RDMAP_SIZE, place(at::SIZE));
    fields.extend(size.map(|field| field.decimal().meaning("octets to read")));
    ddp::stag(fields, octets, name::SOURCE_STAG, place(at::SOURCE_STAG));
    let to = octets.field(name::RDMAP_SOURCE_TO, place(at::SOURCE_TO));
    fields.extend(to.map(|field| {
        field
            .hexadecimal()
            .meaning("where the read begins, at the other end")
    }));
}

/// Explains a Terminate; returns where its headers end.
fn terminate(fields: &mut Vec<Field>, octets: &Octets<'_>, payload: Payload) -> usize {
    if !payload.alone {
        payload.in_parts("a Terminate", fields);
        return payload.start;
    }
    let Some(message) = octets.present.get(payload.start..payload.end) else {
        return payload.start; // cut off
    };
    let view = match TerminateView::new_checked(message) {
        Ok(view) => view,
        Err(error) => {
            let fault = Finding::refused_by_rdmap(Check::RdmapLength, TERMINATE, &error);
            if let Some(opcode) = field_named(fields, name::RDMAP_OPCODE) {
                opcode.findings.push(fault);
            }
            return payload.start;
        }
    };
    let reversed = view.bit_order() == BitOrder::Reversed;
    let bits = |bits: u8| match reversed {
        true => bits.reverse_bits(),
        false => bits,
    };
    let octet = |at: usize| payload.start + at..payload.start + at + 1;
    let at = octet(field::terminate::LAYER_ETYPE);
    let (layer, etype, code) = view.cause().parts();
    let known = Layer::from_number(layer);
    fields.extend(octets.field(name::RDMAP_LAYER_ETYPE, at.clone()).map(|field| {
        let text = "layer and error type, and the header control bits, are in reverse order, as Linux soft-iWARP sends them";
        let note = reversed.then(|| Finding::note(None, TERMINATE, text));
        field.hexadecimal().finding(note)
    }));
    let (layer_bits, etype_bits) = match reversed {
        true => (field::terminate::ETYPE_BITS, field::terminate::LAYER_BITS),
        false => (field::terminate::LAYER_BITS, field::terminate::ETYPE_BITS),
    };
    let part = octets.bits(name::RDMAP_LAYER, at.clone(), layer_bits.into());
    fields.extend(part.map(|field| {
        let name = known.map_or("unknown layer", Layer::name);
        field.decimal().meaning(name)
    }));
    let part = octets.bits(name::RDMAP_ERROR_TYPE, at, etype_bits.into());
    fields.extend(part.map(|field| {
        let name = known.and_then(|layer| layer.error_type_name(etype));
        field.decimal().meaning(name.unwrap_or("unknown type"))
    }));
    let part = octets.field(name::RDMAP_ERROR_CODE, octet(field::terminate::CODE));
    fields.extend(part.map(|field| {
        let name = view.cause().name().unwrap_or("unknown error");
        let shown = format!("{code:#04x}");
        let mut field = field.decimal().meaning(name);
        field.shown = shown;
        field
    }));
    let at = octet(field::terminate::HDR_CT);
    let part = octets.field(name::RDMAP_HDR_CT, at.clone());
    fields.extend(part.map(Field::hexadecimal));
    for (name, bit, absent, present) in [
        (
            name::RDMAP_M,
            hdr_ct::M,
            "no valid DDP Segment Length",
            "the DDP Segment Length is valid",
        ),
        (
            name::RDMAP_D,
            hdr_ct::D,
            "no DDP header",
            "a DDP header is returned",
        ),
        (
            name::RDMAP_R,
            hdr_ct::R,
            "no RDMAP header",
            "an RDMAP header is returned",
        ),
    ] {
        let part = octets.bits(name, at.clone(), bits(bit).into());
        fields.extend(part.map(|field| {
            let says = if field.is_set() { present } else { absent };
            field.decimal().meaning(says)
        }));
    }
    let reserved = [
        octets.bits(name::RDMAP_HDR_RESERVED, at, bits(hdr_ct::RESERVED).into()),
        octets.field(name::RDMAP_TERM_RESERVED, octet(field::terminate::RESERVED)),
    ];
    for part in reserved.into_iter().flatten() {
        let set = part.is_set();
        fields.push(part.decimal().finding_if(set, || {
            Finding::note(None, TERMINATE, "reserved bits are sent as 0")
        }));
    }
    returned(fields, octets, payload.start, &view)
}

/// The headers that a Terminate returns; returns where they end.
fn returned(
    fields: &mut Vec<Field>,
    octets: &Octets<'_>,
    start: usize,
    view: &TerminateView<&[u8]>,
) -> usize {
    let mut end = start + TERMINATE_CONTROL_LEN;
    if view.hdr_ct() & (hdr_ct::M | hdr_ct::D) != 0 {
        let at = field::terminate::SEGMENT_LENGTH;
        end = start + at.end;
        let part = octets.field(name::RDMAP_SEGMENT_LENGTH, start + at.start..end);
        fields.extend(part.map(|field| {
            let says = "octets of the DDP segment that caused it";
            field.decimal().meaning(says)
        }));
    }
    let first = fields.len();
    if let Some(place) = view.ddp_header_place() {
        let segment = Segment {
            start: start + place.start,
            length: place.len(),
            returned: true,
        };
        ddp::explain(fields, octets, segment, false);
        end = start + place.end;
    }
    if let Some(place) = view.read_request_place() {
        read_request(fields, octets, start + place.start);
        end = start + place.end;
    }
    for field in &mut fields[first..] {
        field.name = format!("terminated.{}", field.name).into();
    }
    end
}
