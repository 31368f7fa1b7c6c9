//! RDMAP messages (RFC 5040 §4): the headers in the payload.

use warpline_wire::rdmap::{
    self, BitOrder, Layer, Opcode, READ_REQUEST_LEN, TERMINATE_CONTROL_LEN, TerminateView, field,
    hdr_ct,
};

use super::ddp;
use super::field::{Field, Octets};
use super::finding::{Check, Finding};
use super::name::{self, Name};
use super::rdmap_control::checked;
use super::segment::{Header, Segment, stag};

const READ_REQUEST: &str = "RFC 5040 §4.4";
const TERMINATE: &str = "RFC 5040 §4.8";

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
    stag(fields, octets, name::SINK_STAG, place(at::SINK_STAG));
    let to = octets.field(name::RDMAP_SINK_TO, place(at::SINK_TO));
    fields.extend(to.map(|field| {
        let says = "where the Response goes, at the end that reads";
        field.hexadecimal().meaning(says)
    }));
    let size = octets.field(name::RDMAP_SIZE, place(at::SIZE));
    fields.extend(size.map(|field| field.decimal().meaning("octets to read")));
    stag(fields, octets, name::SOURCE_STAG, place(at::SOURCE_STAG));
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
        // what is missing of it, the Terminate has told
        let _ = ddp::header(fields, octets, segment);
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
