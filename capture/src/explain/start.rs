//! Start frames (RFC 5044 §7.1.1, RFC 6581 §9), and the Start Key of the draft.

use warpline_wire::start::{
    DraftKey, HEADER_LEN, KEY_LEN, Kind as FrameKind, MAX_PRIVATE_DATA, MAX_REVISION,
    NEGOTIATION_LEN, NO_NEGOTIATION, StartError, field, flag, negotiation_bit,
};

use super::field::{Field, Octets};
use super::finding::{Check, Finding};
use super::name;
use super::unit::{Kind, Unit};

/// Octets of a key that must agree for octets to count as a start frame: a wrong octet is then named, and an FPDU is none.
const ENOUGH: usize = 12;
/// Octets of a frame that ends inside its key.
const ENOUGH_OF_A_BEGINNING: usize = 5;
const FRAME: &str = "RFC 5044 §7.1.1";
const BLOCK: &str = "RFC 6581 §9";

/// Which start frame begins here, if one does.
pub(super) fn recognize(octets: &[u8]) -> Option<Kind> {
    // The last of several that agree alike counts: the first octets of Request and Reply are the same.
    let keys: [(Kind, &[u8]); 3] = [
        (Kind::DraftKey, DraftKey::KEY),
        (Kind::Reply, FrameKind::Reply.key()),
        (Kind::Request, FrameKind::Request.key()),
    ];
    let agreeing = |key: &[u8]| octets.iter().zip(key).filter(|(a, b)| a == b).count();
    let (kind, key) = keys.into_iter().max_by_key(|(_, key)| agreeing(key))?;
    let begins = octets.len() < key.len()
        && octets.len() >= ENOUGH_OF_A_BEGINNING
        && key.starts_with(octets);
    (agreeing(key) >= ENOUGH || begins).then_some(kind)
}

/// Octets of the frame, as far as they are known, and whether they are all of them.
fn total(octets: &[u8], kind: Kind) -> (usize, bool) {
    if kind == Kind::DraftKey {
        return (DraftKey::LEN, true);
    }
    match octets.get(field::PD_LENGTH) {
        Some(length) => (HEADER_LEN + be16(length), true),
        None => (HEADER_LEN, false),
    }
}

fn be16(octets: &[u8]) -> usize {
    octets
        .iter()
        .fold(0, |value, octet| value << 8 | usize::from(*octet))
}

/// Explains the start frame at the front of `octets`.
pub(super) fn explain(octets: &[u8], kind: Kind, whole: bool) -> Unit {
    let (total, known) = total(octets, kind);
    let have = octets.len().min(total);
    let region = Octets::plain(&octets[..have]);
    let fields = match kind {
        Kind::DraftKey => draft_key(&region),
        _ => frame(&region, kind, whole),
    };
    let mut findings = Vec::new();
    let missing = total - have;
    if missing > 0 {
        let least = if known { "" } else { "at least " };
        let text = format!("{least}{missing} of {total} octets are missing");
        let reported = Finding::fault(Check::Complete, "MPA-PRIV-07", FRAME, text);
        findings.push(reported);
    }
    Unit {
        unit: kind,
        number: None,
        position: None,
        sequence: None,
        length: have,
        missing,
        missing_at_least: !known && missing > 0,
        summary: summary(&fields, kind),
        fields,
        findings,
    }
}

fn summary(fields: &[Field], kind: Kind) -> String {
    let set = |name: name::Name| {
        let field = fields.iter().find(|field| field.name == name.id);
        field.is_some_and(Field::is_set)
    };
    let mut text = String::from(match kind {
        Kind::Request => "MPA Request frame",
        Kind::Reply => "MPA Reply frame",
        _ => "Start Key of draft-culley-iwarp-mpa-03",
    });
    for (name, said) in [
        (name::START_MARKERS, "markers required"),
        (name::START_CRC, "CRC requested"),
    ] {
        let none = if set(name) { "" } else { "no " };
        text += &format!(", {none}{said}");
    }
    if kind == Kind::Reply && set(name::START_REJECTED) {
        text += ", connection rejected";
    }
    text
}

/// The first octet of the key that is wrong.
fn key_fault(octets: &[u8], key: &[u8], requirement: &'static str) -> Option<Finding> {
    let offset = octets.iter().zip(key).position(|(a, b)| a != b)?;
    let octet = octets[offset];
    let error = StartError::Key { offset, octet };
    Some(start_fault(requirement, FRAME, error.to_string()))
}

fn start_fault(requirement: &'static str, section: &'static str, text: String) -> Finding {
    Finding::fault(Check::Start, requirement, section, text)
        .reported_as(warpline_wire::error_number::ErrorNumber::MpaStart)
}

fn ascii(octets: &[u8]) -> String {
    octets.escape_ascii().to_string()
}

fn frame(region: &Octets<'_>, kind: Kind, whole: bool) -> Vec<Field> {
    let frame_kind = match kind {
        Kind::Reply => FrameKind::Reply,
        _ => FrameKind::Request,
    };
    let is_reply = kind == Kind::Reply;
    let octets = region.present;
    let mut fields = Vec::new();
    fields.extend(region.field(name::START_KEY, field::KEY).map(|key| {
        let shown = ascii(&key.octets);
        let from = match is_reply {
            true => "from the Responder",
            false => "from the Initiator",
        };
        let fault = key_fault(octets, frame_kind.key(), "MPA-START-11");
        let mut key = key.meaning(from).finding(fault);
        key.shown = shown;
        key
    }));
    let flags = octets.get(field::FLAGS).copied().unwrap_or(0);
    let revision = octets.get(field::REVISION).copied();
    let second = revision.is_none_or(|revision| revision >= 2);
    let at = field::FLAGS..field::FLAGS + 1;
    fields.extend(
        region
            .field(name::START_FLAGS, at.clone())
            .map(Field::hexadecimal),
    );
    let bit = |name, bits: u8| region.bits(name, at.clone(), bits.into());
    let bit = |name, bits| bit(name, bits).map(Field::decimal);
    fields.extend(bit(name::START_MARKERS, flag::MARKERS).map(|field| {
        let says = ["needs no markers", "requires markers"][usize::from(field.is_set())];
        field.meaning(format!("this end's receiver {says}"))
    }));
    fields.extend(bit(name::START_CRC, flag::CRC).map(|field| {
        let says = match field.is_set() {
            true => "requests CRCs: both ends generate and check them",
            false => "requests no CRCs: they are off if the other end does not, either",
        };
        field.meaning(says)
    }));
    fields.extend(bit(name::START_REJECTED, flag::REJECTED).map(|field| {
        let set = field.is_set();
        let says = match (is_reply, set) {
            (true, true) => "connection rejected",
            (true, false) => "connection accepted",
            (false, _) => "without meaning in a Request",
        };
        let field = field.meaning(says);
        let field = field.finding_if(set && is_reply, || {
            let text = "the Responder rejects the connection: full operation does not begin";
            Finding::note(Some("MPA-START-27"), "RFC 5044 §7.1.2", text)
        });
        field.finding_if(set && !is_reply, || {
            let text = "R is sent as 0 in a Request; a receiver ignores it";
            Finding::note(Some("MPA-START-32"), FRAME, text)
        })
    }));
    fields.extend(
        bit(name::START_NEGOTIATION, flag::NEGOTIATION).map(|field| {
            let set = field.is_set();
            let says = match (second, set) {
                (true, true) => "the private data begins with IRD and ORD",
                (true, false) => "no IRD and ORD",
                (false, _) => "reserved in revision 1",
            };
            let field = field.meaning(says);
            field.finding_if(set && !second, || {
                let text = "reserved bits are sent as 0; a receiver ignores them";
                Finding::note(Some("MPA-START-16"), FRAME, text)
            })
        }),
    );
    fields.extend(bit(name::START_RESERVED, flag::RESERVED).map(|field| {
        let set = field.is_set();
        field.meaning("").finding_if(set, || {
            let text = "reserved bits are sent as 0; a receiver ignores them";
            Finding::note(Some("MPA-START-16"), FRAME, text)
        })
    }));
    let at = field::REVISION..field::REVISION + 1;
    fields.extend(region.field(name::START_REVISION, at).map(|field| {
        let revision = revision.unwrap_or_default();
        let says = match revision {
            1 => "RFC 5044",
            2 => "RFC 6581",
            _ => "not supported",
        };
        let field = field.decimal().meaning(says);
        field.finding_if(!(1..=MAX_REVISION).contains(&revision), || {
            let error = StartError::Revision { revision };
            start_fault("MPA-START-31", FRAME, error.to_string())
        })
    }));
    let length = octets.get(field::PD_LENGTH).map(be16);
    let negotiated = second && flags & flag::NEGOTIATION != 0;
    fields.extend(
        region
            .field(name::START_PD_LENGTH, field::PD_LENGTH)
            .map(|field| {
                let field = field.decimal().meaning("octets of private data");
                let len = length.unwrap_or_default();
                let field = field.finding_if(len > MAX_PRIVATE_DATA, || {
                    let error = StartError::PrivateData { len };
                    start_fault("MPA-PRIV-07", FRAME, error.to_string())
                });
                field.finding_if(negotiated && len < NEGOTIATION_LEN, || {
                    let error = StartError::Negotiation { len };
                    start_fault("MPA-PRIV-11", BLOCK, error.to_string())
                })
            }),
    );
    let Some(length) = length else {
        return fields;
    };
    let mut data = field::PRIVATE_DATA;
    if negotiated && length >= NEGOTIATION_LEN {
        negotiation(&mut fields, region);
        data += NEGOTIATION_LEN;
    }
    let end = field::PRIVATE_DATA + length;
    if data < end {
        let private = region.field(name::START_PRIVATE_DATA, data..end);
        fields.extend(private.map(|field| field.data(whole).meaning("for the ULP")));
    }
    fields
}

/// The IRD/ORD block.
fn negotiation(fields: &mut Vec<Field>, region: &Octets<'_>) {
    let depth = |value: u64| match value == u64::from(NO_NEGOTIATION) {
        true => " (0x3fff: no automatic negotiation)",
        false => "",
    };
    let words = [
        (
            field::IRD,
            (
                name::START_PEER_TO_PEER,
                negotiation_bit::PEER_TO_PEER,
                [
                    "client-server model",
                    "peer-to-peer model: an RTR indication comes first",
                ],
            ),
            (
                name::START_RTR_SEND,
                negotiation_bit::RTR_SEND,
                [
                    "no RTR indication by a Send",
                    "RTR indication by a Send without octets",
                ],
            ),
            (name::START_IRD, "RDMA Reads taken in at a time"),
        ),
        (
            field::ORD,
            (
                name::START_RTR_WRITE,
                negotiation_bit::RTR_WRITE,
                [
                    "no RTR indication by an RDMA Write",
                    "RTR indication by an RDMA Write without octets",
                ],
            ),
            (
                name::START_RTR_READ,
                negotiation_bit::RTR_READ,
                [
                    "no RTR indication by an RDMA Read",
                    "RTR indication by an RDMA Read without octets",
                ],
            ),
            (name::START_ORD, "RDMA Reads sent at a time"),
        ),
    ];
    for (place, high, low, (name, says)) in words {
        if let Some(cut) = region.field(name, place.clone()).filter(|field| field.cut) {
            fields.push(cut.meaning(says));
            continue;
        }
        for (name, bits, says) in [high, low] {
            let bit = region.bits(name, place.clone(), bits.into());
            fields.extend(bit.map(|field| {
                let says = says[usize::from(field.is_set())];
                field.decimal().meaning(says)
            }));
        }
        let bits = region.bits(name, place, negotiation_bit::DEPTH.into());
        fields.extend(bits.map(|field| {
            let field = field.decimal();
            let value = field.value.unwrap_or_default();
            field.meaning(format!("{says}{}", depth(value)))
        }));
    }
}

/// The draft's Start Key.
fn draft_key(region: &Octets<'_>) -> Vec<Field> {
    let mut fields = Vec::new();
    let key = DraftKey::KEY;
    fields.extend(region.field(name::START_KEY, 0..key.len()).map(|field| {
        let shown = ascii(&field.octets);
        let fault = key_fault(&field.octets, key, "MPA-START-11");
        let mut field = field.meaning("from either end").finding(fault);
        field.shown = shown;
        field
    }));
    let at = DraftKey::FLAGS..DraftKey::LEN;
    fields.extend(
        region
            .field(name::START_FLAGS, at.clone())
            .map(Field::hexadecimal),
    );
    for (name, bits, says) in [
        (
            name::START_MARKERS,
            flag::MARKERS,
            [
                "this end's receiver needs no markers",
                "this end's receiver requires markers",
            ],
        ),
        (
            name::START_CRC,
            flag::CRC,
            ["requests no CRCs", "requests CRCs"],
        ),
    ] {
        let bit = region.bits(name, at.clone(), bits.into());
        fields.extend(bit.map(|field| {
            let says = says[usize::from(field.is_set())];
            field.decimal().meaning(says)
        }));
    }
    let bits = region.bits(name::START_REVISION, at, DraftKey::REVISION_BITS.into());
    fields.extend(bits.map(|field| {
        let (set, octet) = (field.is_set(), field.octets[0]);
        let field = field.decimal().meaning("0 in this draft");
        field.finding_if(set, || {
            let error = StartError::DraftFlags { flags: octet };
            start_fault(
                "AMB-26",
                "draft-culley-iwarp-mpa-03 §8.1.1",
                error.to_string(),
            )
        })
    }));
    fields
}

const _: () = assert!(KEY_LEN > ENOUGH);
