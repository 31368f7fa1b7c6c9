//! What `warpline_regmap` and `warpline_wire` describe, in the form that the C header and the SystemVerilog package share. They have what
//! only a device that sends has, too: `CAPABILITIES` tells a host which one it has.

use super::names::Names;
use warpline_hdl::tx::mpa::transmit_ring::ports::{COMMANDS, KIND_BITS, REPORTS};
use warpline_regmap::layout::{self, completion, error_record};
use warpline_regmap::mailbox::{
    CardKind, CloseReason, FailureCause, HostKind, INTERRUPT_MAILBOX, ListenFailure, Refusal,
    Transport, records::message, records::message_transport,
};
use warpline_regmap::register::{self, COMMAND_NUMBER, INTERRUPT_STATE, command};
use warpline_regmap::transmit::{send_event, send_slot};
use warpline_regmap::{Field, Layout, Register, Value, mailbox, sctp, transmit};
use warpline_wire::error_number::{Checks, ErrorNumber};

/// A number with a name.
pub(super) struct Constant {
    pub(super) name: String,
    pub(super) value: u64,
    /// Bits that a value of its kind takes; 0 of a plain number, which is shown in decimal.
    pub(super) width: usize,
    pub(super) doc: String,
}

/// Numbers of one kind.
pub(super) struct Enumeration {
    /// What the names of its numbers begin with, in lower case.
    pub(super) name: &'static str,
    pub(super) doc: &'static str,
    pub(super) constants: Vec<Constant>,
}

/// Bits of an offset in the register space.
pub(super) const OFFSET_BITS: usize = register::SPACE.ilog2() as usize;

/// What identifies the register map.
pub(super) fn identity() -> Vec<Constant> {
    let word = |name: &str, value: u32, doc: &str| Constant {
        name: name.into(),
        value: value.into(),
        width: 32,
        doc: doc.into(),
    };
    vec![
        word(
            "IDENTITY_VALUE",
            register::IDENTITY_VALUE,
            "What IDENTITY reads.",
        ),
        word(
            "VERSION_VALUE",
            register::VERSION_VALUE,
            "What VERSION reads: major number in the high half, minor number in the low half.",
        ),
        word("SPACE", register::SPACE, "Octets of the register space."),
    ]
}

/// What the C header and the package call a register.
pub(super) fn register_name(register: &Register) -> String {
    format!("REG_{}", register.name)
}

/// Offset of a register; of an array, that of its first element, the number of elements and their distance.
pub(super) fn places(register: &Register) -> Vec<Constant> {
    let constant = |suffix: &str, value: u32, width, doc: &str| Constant {
        name: register_name(register) + suffix,
        value: value.into(),
        width,
        doc: doc.trim().into(),
    };
    let mut places = vec![constant("", register.offset, OFFSET_BITS, register.doc)];
    if register.count > 1 {
        places.push(constant("_ELEMENTS", register.count, 0, ""));
        places.push(constant("_STRIDE", register.stride, 0, ""));
    }
    places
}

/// Fields of a register of one word. One of several words holds a record.
pub(super) fn fields(register: &Register) -> &'static [Field] {
    match register.words() {
        1 => register.fields,
        _ => &[],
    }
}

/// All records, those of transmission and of the mailbox last; behind them what the option of SCTP adds, if the device has it.
pub(super) fn layouts(names: &Names<'_>) -> impl Iterator<Item = &'static Layout> {
    let added = if names.sctp { sctp::LAYOUTS } else { &[] };
    let sent = match names.sctp && names.transmit {
        true => sctp::TRANSMIT_LAYOUTS,
        false => &[],
    };
    let of_every = layout::LAYOUTS.iter().chain(transmit::LAYOUTS);
    let of_all = of_every.chain(mailbox::records::LAYOUTS);
    of_all.chain(added).chain(sent)
}

/// All numbers that have a meaning of their own.
pub(super) fn enumerations() -> Vec<Enumeration> {
    let of_values = |name, doc, width, values: &mut dyn Iterator<Item = Value>| Enumeration {
        name,
        doc,
        constants: values
            .map(|value| Constant {
                name: format!("{}_{}", name.to_uppercase(), value.name),
                value: value.value.into(),
                width,
                doc: value.doc.trim().into(),
            })
            .collect(),
    };
    let vector = |field: &Field| Constant {
        name: format!("VECTOR_{}", field.name),
        value: field.lsb as u64,
        width: mailbox::INTERRUPT.ilog2() as usize + 1, // the highest one
        doc: field.doc.into(),
    };
    let error = |number: ErrorNumber| Constant {
        name: format!("ERROR_{}", upper_snake(&format!("{number:?}"))),
        value: number as u64,
        width: error_record::TYPE.width + error_record::CODE.width,
        doc: String::new(),
    };
    let check = |(name, check): (&str, Checks)| Constant {
        name: format!("CHECK_{name}"),
        value: check.bits().trailing_zeros().into(),
        width: error_record::CHECKS.width.ilog2() as usize,
        doc: String::new(),
    };
    let commands = command::COMMANDS.iter().chain(transmit::COMMANDS);
    let commands = commands.map(|command| command.value);
    let kinds = layout::kind::VALUES.iter().chain(transmit::kind::VALUES);
    vec![
        of_values(
            "command",
            "Commands: write the argument record to ARGUMENT, then the number to COMMAND.",
            COMMAND_NUMBER.width,
            &mut { commands },
        ),
        of_values(
            "kind",
            "Kinds of completion entries.",
            completion::KIND.width,
            &mut { kinds.copied() },
        ),
        of_values(
            "target",
            "Kinds of messages in send slots.",
            send_slot::KIND.width,
            &mut transmit::target::VALUES.iter().copied(),
        ),
        of_values(
            "status",
            "How a request of a send queue has ended.",
            send_event::STATUS.width,
            &mut transmit::status::VALUES.iter().copied(),
        ),
        of_values(
            "refused",
            "Causes of an error without a failed check.",
            error_record::REFUSED.width,
            &mut layout::refused::VALUES.iter().copied(),
        ),
        of_values(
            "ring_command",
            "Kinds of commands to the transmit rings, on s_axis_send.",
            KIND_BITS,
            &mut COMMANDS.into_iter(),
        ),
        of_values(
            "ring_report",
            "Kinds of reports of the transmit rings, on m_axis_status.",
            KIND_BITS,
            &mut REPORTS.into_iter(),
        ),
        of_values(
            "host_message_kind",
            "Kinds of messages that the host passes through the mailbox.",
            message::KIND.width,
            &mut HostKind::VALUES.iter().copied(),
        ),
        of_values(
            "card_message_kind",
            "Kinds of messages that the card passes through the mailbox.",
            message::KIND.width,
            &mut CardKind::VALUES.iter().copied(),
        ),
        of_values(
            "transport",
            "Transports of listeners and connections.",
            message_transport::TRANSPORT.width,
            &mut Transport::VALUES.iter().copied(),
        ),
        of_values(
            "listen_failure",
            "REASON of LISTEN_FAILED.",
            message::REASON.width,
            &mut ListenFailure::VALUES.iter().copied(),
        ),
        of_values(
            "failure_cause",
            "REASON of FAILED.",
            message::REASON.width,
            &mut FailureCause::VALUES.iter().copied(),
        ),
        of_values(
            "close_reason",
            "REASON of CLOSED.",
            message::REASON.width,
            &mut CloseReason::VALUES.iter().copied(),
        ),
        of_values(
            "refusal",
            "REASON of REFUSED.",
            message::REASON.width,
            &mut Refusal::VALUES.iter().copied(),
        ),
        Enumeration {
            name: "vector",
            doc: "Interrupt vectors; each has the bit of its number in INTERRUPT_STATE.",
            constants: INTERRUPT_STATE
                .fields
                .iter()
                .chain([&INTERRUPT_MAILBOX])
                .map(vector)
                .collect(),
        },
        Enumeration {
            name: "error",
            doc: "Error numbers: type << 8 | code (RFC 5041 section 7.2, RFC 5044 section 8).",
            constants: ErrorNumber::ALL.into_iter().map(error).collect(),
        },
        Enumeration {
            name: "check",
            doc: "Bit numbers of CHECKS, the failed checks of an error.",
            constants: Checks::all().iter_names().map(check).collect(),
        },
    ]
}

/// `TaggedInvalidStag` as `TAGGED_INVALID_STAG`.
fn upper_snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_uppercase());
    }
    snake
}
