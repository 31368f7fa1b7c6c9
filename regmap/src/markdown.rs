//! The whole description as one Markdown page, `docs/registers.md`.

use crate::layout::{self, check, kind, refused};
use crate::register::{self, Command, command};
use crate::{Access, Field, Layout, Register, Value, mailbox, sctp, transmit};
use alloc::format;
use alloc::string::{String, ToString};

/// The page: registers with their fields, commands, records.
#[must_use]
pub fn registers() -> String {
    let mut page = String::from(OPENING);
    page += "\n## Registers\n";
    page += &registers_of(register::REGISTERS);
    page += &format!(
        "\n`IDENTITY` reads {:#010x}, `VERSION` {:#010x}.\n",
        register::IDENTITY_VALUE,
        register::VERSION_VALUE
    );

    page += "\n## Commands\n";
    page += &commands(command::COMMANDS);
    page += "\n## Records\n";
    page.extend(layout::LAYOUTS.iter().map(record));
    page + &values("kind", "`completion.KIND`", kind::VALUES)
        + &values("refused", "`error_record.REFUSED`", refused::VALUES)
        + &bits(
            "check",
            "`error_record.CHECKS` and `error_event.CHECKS`",
            check::VALUES,
        )
        + MEMORY
        + &transmit_interface()
        + &sctp_interface()
        + &mailbox_interface()
}

/// A table of registers, and one of the fields of each.
fn registers_of(registers: &[Register]) -> String {
    let mut text = String::from("\n| offset | name | access | meaning |\n|---|---|---|---|\n");
    text.extend(registers.iter().map(register_row));
    let with_fields = |r: &&Register| !r.fields.is_empty() && r.words() == 1; // records have their own tables
    for register in registers.iter().filter(with_fields) {
        text += &format!("\n### `{}`\n\n", register.name);
        text += &field_table(register.fields);
    }
    text
}

fn field_table<'f>(fields: impl IntoIterator<Item = &'f Field>) -> String {
    let head = String::from("| bits | field | meaning |\n|---|---|---|\n");
    fields.into_iter().fold(head, |text, field| {
        let (bits, doc) = (bit_range(field), sentence(field.doc));
        text + &format!("| {bits} | `{}` | {doc} |\n", field.name)
    })
}

fn commands(commands: &[Command]) -> String {
    let head = String::from("\n| number | name | arguments | meaning |\n|---|---|---|---|\n");
    commands.iter().fold(head, |text, command| {
        let (value, arguments) = (command.value, command.arguments.name);
        let doc = sentence(value.doc);
        text + &format!(
            "| {} | `{}` | [`{arguments}`](#{arguments}) | {doc} |\n",
            value.value, value.name
        )
    })
}

/// Send queues, apart from what the RTL decodes.
fn transmit_interface() -> String {
    let mut text = String::from(TRANSMIT);
    text += &registers_of(transmit::REGISTERS);
    text += "\n### Commands\n";
    text += &commands(transmit::COMMANDS);
    text.extend(transmit::LAYOUTS.iter().map(record));
    text + &values(
        "kind of a send_event",
        "`completion.KIND` that are added",
        transmit::kind::VALUES,
    ) + &values("target", "`send_slot.KIND`", transmit::target::VALUES)
        + &values("status", "`send_event.STATUS`", transmit::status::VALUES)
}

/// What the option of SCTP adds.
fn sctp_interface() -> String {
    let mut text = String::from(SCTP);
    let all = sctp::LAYOUTS.iter().chain(sctp::TRANSMIT_LAYOUTS);
    text.extend(all.map(record));
    text
}

/// The mailbox, apart from what the RTL decodes.
fn mailbox_interface() -> String {
    use mailbox::{
        CardKind, CloseReason, FailureCause, HostKind, ListenFailure, Refusal, Transport,
    };
    let mut text = MAILBOX.replace("MAILBOX_BIT\n", &field_table([&mailbox::INTERRUPT_MAILBOX]));
    text += &registers_of(mailbox::REGISTERS);
    text.extend(mailbox::records::LAYOUTS.iter().map(record));
    let kind = "`message.KIND`";
    text + &values("kind of a host's message", kind, HostKind::VALUES)
        + &values("kind of a card's message", kind, CardKind::VALUES)
        + &values(
            "transport",
            "`message_transport.TRANSPORT`",
            Transport::VALUES,
        )
        + &values(
            "listen failure",
            "`message.REASON` of `LISTEN_FAILED`",
            ListenFailure::VALUES,
        )
        + &values(
            "failure cause",
            "`message.REASON` of `FAILED`",
            FailureCause::VALUES,
        )
        + &values(
            "close reason",
            "`message.REASON` of `CLOSED`",
            CloseReason::VALUES,
        )
        + &values("refusal", "`message.REASON` of `REFUSED`", Refusal::VALUES)
}

const OPENING: &str = "\
<!-- Generated from regmap/src by its example `registers_md`; edit the description there. -->

# Registers

The first BAR, 4 KiB: an AXI4-Lite slave of the device. Registers are 32 bits wide; octet strobes are honoured. Addresses
without a register, elements of streams that the device does not have, and bits outside a register's fields read 0 and
ignore writes. A write-only register takes effect when all octets of its fields are written at once. All registers are 0
after power-up, except `STREAM_LIMIT`, `TRANSMIT_STATE.IDLE` and those that describe the device. A later reset leaves `STREAM_EDGE`,
`STREAM_LIMIT` and `MAILBOX` as they are: they mean nothing before their stream is armed, or a message is passed.

To start a command, write its arguments to `ARGUMENT` and its number to `COMMAND`, then read `COMMAND` until `BUSY` is 0;
`FAILED` is then 1 if the device refused the command. While a command runs, the device ignores writes to both registers.

To sleep until there is a completion, without missing one: write 1 to `INTERRUPT_STATE.COMPLETION`, write the number of
entries consumed to `COMPLETION_ARM`, poll the completion queue once more, and only then wait for the message. Wake-ups
without a completion are possible.

Records are arrays of 32-bit words, word 0 first, little-endian in host memory. Names such as AMB-42 and DDP-UNT-11 refer
to the [conformance table](conformance.md).
";

const MEMORY: &str = "
## Memory

Writes of payload leave in the order in which FPDUs are accepted, all with one ID. A completion entry is written when the bus
has answered every payload write of its message and of those in front of it (AMB-41).

Of two FPDUs of a stream that write the same octets, the later one in stream order stands, unless the stream has markers and
CRC: an FPDU behind a gap is then written as soon as it is found, before those in front of it, and which of the two stands is
not defined (DDP-ORD-03). Between streams there is no order.

When the bus refuses a payload write, its stream is frozen, and an error event with type 0x0, code 0x00 and `CHECKS` 0 takes
the place of what the FPDU would have delivered. Nothing more of the stream is delivered until it is armed again. What the
refused write left in memory is not known. If a later FPDU of the stream has failed before the bus answers, its error record
stays, and its event is dropped: record and event then report different errors. A refused descriptor read freezes its stream
with the same event. A ULPDU shorter than its header has the same type and code, with `CHECKS.SHORT`. A refused completion entry
has no record; it raises `INTERRUPT_STATE.FAULT`.
";

const TRANSMIT: &str = "
## Transmit interface

Devices built with `--transmit` have it. On others `CAPABILITIES.TRANSMIT` reads 0, the other registers read 0 and ignore writes, and the
commands are refused.

A send ring holds the requests of a stream: slots of 256 octets in host memory. A request is one DDP message with up to 8
elements of local memory, or up to 64 octets in the slot. The host writes slots, then `SEND_PRODUCER`. The device reads each
slot once, sends the messages of a stream in the order of its slots, and reports a request that is signalled, or that failed,
by a `send_event` in the completion queue. `send_event.CONSUMED` says which slots may be written again.

The first 64 octets of a slot are enough for a request with up to two elements, or 32 octets. A request that fails ends the
stream's send queue: later requests are flushed.
";

const SCTP: &str = "
## SCTP

Devices built with `--sctp` take DDP over SCTP (RFC 5043) at ports of their own, on streams that are armed for it. On others the
bits below have no effect, and read 0. `POSITION` of an error is the number of the chunk, its DDP-SSN counted in 32 bits, times the octets
of a slot.
";

const MAILBOX: &str = "
## Mailbox

A device that sends has it; on one that only receives the registers read 0. The host and the card's control program exchange
messages of 256 words. A writer fills `MAILBOX`, then sets `PENDING` of its register; a reader clears it when it has read the message.
`INTERRUPT_STATE`, `INTERRUPT_ENABLE` and `INTERRUPT_TEST` have one more bit:

MAILBOX_BIT

A message is one record. Its parts have fixed places, and each kind uses some of them; the rest is 0 and is not read. The host
numbers the connections that it makes from 0x8000 up, the card those that it accepts from 0 to 0x7FFF; listeners have numbers
of the host's choice.

Before `ARMED`, a connection ends by `REJECTED`, `FAILED` or `CLOSED`, or by the host's `REJECT`, and its number is free. From
`ARMED` on it ends by `CLOSED`, and the host owns the stream until it sends `RELEASE`. A message that cannot be carried out is
answered by `REFUSED` and changes nothing.
";

fn register_row(register: &Register) -> String {
    let access = match register.access {
        Access::ReadOnly => "read",
        Access::ReadWrite => "read, write",
        Access::WriteOnly => "write",
        Access::WriteOneToClear => "read, write 1 to clear",
    };
    let offset = match (register.count, register.stride) {
        (1, _) => format!("{:#05x}", register.offset),
        (_, stride) => format!("{:#05x} + {stride}·n", register.offset),
    };
    let name = match register.count {
        1 => format!("`{}`", register.name),
        count => format!("`{}[n]`, n < {count}", register.name),
    };
    let doc = sentence(register.doc);
    format!("| {offset} | {name} | {access} | {doc} |\n")
}

fn record(layout: &Layout) -> String {
    let (name, doc, words) = (layout.name, sentence(layout.doc), layout.words);
    let plural = if words == 1 { "" } else { "s" };
    let head = format!(
        "\n### {name}\n\n{doc} {words} word{plural}.\n\n| word | bits | field | meaning |\n|---|---|---|---|\n"
    );
    let rows = layout.fields.iter().map(|field| {
        let (first, last) = (field.lsb / 32, (field.lsb + field.width - 1) / 32);
        let word = if first == last {
            first.to_string()
        } else {
            format!("{first}, {last}")
        };
        let (bits, doc) = (bit_range(field), sentence(field.doc));
        format!("| {word} | {bits} | `{}` | {doc} |\n", field.name)
    });
    rows.fold(head, |text, row| text + &row)
}

fn values(name: &str, of: &str, values: &[Value]) -> String {
    let head =
        format!("\n### {name}\n\nValues of {of}.\n\n| value | name | meaning |\n|---|---|---|\n");
    values.iter().fold(head, |text, value| {
        let doc = sentence(value.doc);
        text + &format!("| {} | `{}` | {doc} |\n", value.value, value.name)
    })
}

fn bits(name: &str, of: &str, values: &[Value]) -> String {
    let head =
        format!("\n### {name}\n\nBits of {of}.\n\n| bit | name | meaning |\n|---|---|---|\n");
    values.iter().fold(head, |text, value| {
        let doc = sentence(value.doc);
        text + &format!("| {} | `{}` | {doc} |\n", value.value, value.name)
    })
}

/// Bits within the first word, as `31:16`; the upper words follow on.
fn bit_range(field: &Field) -> String {
    let low = field.lsb % 32;
    match field.width {
        1 => low.to_string(),
        width => format!("{}:{low}", low + width - 1),
    }
}

/// A doc comment as text for a table; links to a module become links to its heading.
fn sentence(doc: &str) -> String {
    doc.trim().replace("(super::", "(#").replace('|', "\\|")
}
