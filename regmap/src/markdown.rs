//! The whole description as one Markdown page, `docs/registers.md`.

use crate::layout::{self, check, kind, refused};
use crate::register::{self, command};
use crate::{Access, Field, Layout, Register, Value};
use alloc::format;
use alloc::string::{String, ToString};

/// The page: registers with their fields, commands, records.
#[must_use]
pub fn registers() -> String {
    let mut page = String::from(OPENING);
    page += "\n## Registers\n\n| offset | name | access | meaning |\n|---|---|---|---|\n";
    page.extend(register::REGISTERS.iter().map(register_row));
    let with_fields = |r: &&Register| !r.fields.is_empty() && r.words() == 1; // records have their own tables
    for register in register::REGISTERS.iter().filter(with_fields) {
        page += &format!("\n### `{}`\n\n", register.name);
        page += "| bits | field | meaning |\n|---|---|---|\n";
        page.extend(register.fields.iter().map(|field| {
            let (bits, doc) = (bit_range(field), sentence(field.doc));
            format!("| {bits} | `{}` | {doc} |\n", field.name)
        }));
    }
    page += &format!(
        "\n`IDENTITY` reads {:#010x}, `VERSION` {:#010x}.\n",
        register::IDENTITY_VALUE,
        register::VERSION_VALUE
    );

    page += "\n## Commands\n\n| number | name | arguments | meaning |\n|---|---|---|---|\n";
    page.extend(command::COMMANDS.iter().map(|command| {
        let (value, arguments) = (command.value, command.arguments.name);
        let doc = sentence(value.doc);
        format!(
            "| {} | `{}` | [`{arguments}`](#{arguments}) | {doc} |\n",
            value.value, value.name
        )
    }));

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
}

const OPENING: &str = "\
<!-- Generated from regmap/src by its example `registers_md`; edit the description there. -->

# Registers

The first BAR, 4 KiB: an AXI4-Lite slave of the device. Registers are 32 bits wide; octet strobes are honoured. Addresses
without a register, elements of streams that the device does not have, and bits outside a register's fields read 0 and
ignore writes. A write-only register takes effect when all octets of its fields are written at once. All registers are 0
after reset, except `STREAM_LIMIT` and those that describe the device.

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
