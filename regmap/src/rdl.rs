//! The registers as SystemRDL 2.0 (Accellera), `docs/registers.rdl`, for register generators and other tools.
//!
//! ```text
//!  Register ──► reg NAME { field … } NAME[count] @ offset += stride
//!    several words ──► regfile NAME { reg WORD_0 …; reg WORD_1 … }
//!    in the gaps of another array ──► regfile NAME { reg A; reg B }    (SystemRDL has no interleaved arrays)
//! ```
//!
//! It has the registers of the transmit interface, too, which read 0 in a device without it. Commands and records are not
//! registers; `registers.md` lists them.

use crate::register;
use crate::register_list;
use crate::{Access, Field, Register};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Name of the address map.
pub const ADDRESS_MAP: &str = "warpline";
/// Name of the field of a register that is one plain number.
pub const PLAIN: &str = "VALUE";

/// The text.
#[must_use]
pub fn registers() -> String {
    let groups = groups();
    let body: String = groups.iter().map(|group| group_text(group)).collect();
    format!(
        "{OPENING}addrmap {ADDRESS_MAP} {{\n    name = \"warpline registers\";\n    \
         desc = \"The first BAR: {:#x} octets, version {:#010x} of the register map.\";\n    \
         littleendian;\n    default regwidth = 32;\n    default accesswidth = 8;\n{body}}};\n",
        register::SPACE,
        register::VERSION_VALUE,
    )
}

const OPENING: &str = "\
// Generated from regmap/src by its example `registers_rdl`; edit the description there.
//
// Octets of a register can be written one by one, but a write-only register takes effect when all octets of its fields
// are written at once. A reset value that is missing depends on the device's configuration.

";

/// Name of the register file of interleaved arrays: the common start of their names.
fn group_name(group: &[Register]) -> &'static str {
    let name = group[0].name;
    let same = |length: &usize| {
        let start = &name[..*length];
        group.iter().all(|r| r.name.starts_with(start))
    };
    let longest = (0..=name.len()).rev().find(same).unwrap_or(0);
    name[..longest].trim_end_matches('_')
}

/// Registers in order; interleaved arrays share a group.
fn groups() -> Vec<Vec<Register>> {
    let mut groups: Vec<Vec<Register>> = Vec::new();
    for register in register_list::all() {
        match groups.last_mut() {
            Some(group) if lies_between(register, &group[0]) => group.push(*register),
            _ => groups.push([*register].into()),
        }
    }
    groups
}

fn lies_between(register: &Register, first: &Register) -> bool {
    (register.count, register.stride) == (first.count, first.stride)
        && first.count > 1
        && register.offset < first.offset + first.stride
}

fn group_text(group: &[Register]) -> String {
    let first = &group[0];
    let place = match first.count {
        1 => format!("@ {:#05x}", first.offset),
        count => format!("[{count}] @ {:#05x} += {:#x}", first.offset, first.stride),
    };
    if group.len() > 1 {
        let body: String = group
            .iter()
            .map(|r| {
                let offset = r.offset - first.offset;
                let place = format!("{} @ {offset:#x}", r.name);
                reg(r, r.fields, 0, Some(r.doc), &place, "        ")
            })
            .collect();
        let name = group_name(group);
        return format!("\n    regfile {{\n{body}    }} {name}{place};\n");
    }
    if first.words() == 1 {
        let place = format!("{}{place}", spaced(first));
        return String::from("\n") + &reg(first, first.fields, 0, Some(first.doc), &place, "    ");
    }
    let words: String = (0..first.words())
        .map(|word| {
            let place = format!("WORD_{word} @ {:#x}", 4 * word);
            reg(first, first.fields, word, None, &place, "        ")
        })
        .collect();
    let doc = text(first.doc);
    format!(
        "\n    regfile {{\n        desc = \"{doc}\";\n{words}    }} {}{place};\n",
        spaced(first)
    )
}

/// The name, followed by a space unless brackets follow.
fn spaced(register: &Register) -> String {
    match register.count {
        1 => format!("{} ", register.name),
        _ => register.name.into(),
    }
}

/// One word: its `fields`, or a plain number.
fn reg(
    register: &Register,
    fields: &[Field],
    word: u32,
    doc: Option<&str>,
    place: &str,
    indent: &str,
) -> String {
    let reset = |field: &Field| {
        let all = [register.reset?];
        let value = if word == 0 { field.get(&all) } else { 0 };
        Some(format!(" = {}'h{value:x}", field.width))
    };
    let line = |field: &Field, doc: &str| {
        let lsb = field.lsb % 32;
        let status = register.status.contains(field);
        let access = access(if status {
            Access::ReadOnly
        } else {
            register.access
        });
        let doc = match doc {
            "" => String::new(),
            doc => format!(" desc = \"{}\";", text(doc)),
        };
        format!(
            "{indent}    field {{ {access}{doc} }} {}[{}:{lsb}]{};\n",
            field.name,
            lsb + field.width - 1,
            reset(field).unwrap_or_default(),
        )
    };
    let plain = Field {
        name: PLAIN,
        lsb: 0,
        width: 32,
        doc: "",
    };
    let body: String = if fields.is_empty() {
        line(&plain, "")
    } else {
        let here = |field: &&Field| field.lsb / 32 == word as usize;
        let lines = fields.iter().filter(here);
        lines.map(|field| line(field, field.doc)).collect()
    };
    let doc = doc.map_or_else(String::new, |doc| {
        format!("{indent}    desc = \"{}\";\n", text(doc))
    });
    format!("{indent}reg {{\n{doc}{body}{indent}}} {place};\n")
}

/// Access of software and of hardware.
fn access(access: Access) -> &'static str {
    match access {
        Access::ReadOnly => "sw = r; hw = w;",
        Access::ReadWrite => "sw = rw; hw = r;",
        Access::WriteOnly => "sw = w; hw = r;",
        Access::WriteOneToClear => "sw = rw; onwrite = woclr; hw = w;",
    }
}

/// A doc comment as a SystemRDL string; a link becomes its label.
fn text(doc: &str) -> String {
    let (mut shown, mut rest) = (String::new(), doc.trim());
    while let Some((before, label, after)) = link(rest) {
        shown = shown + before + label;
        rest = after;
    }
    (shown + rest).replace('\\', "\\\\").replace('"', "\\\"")
}

/// The text before the first link, its label, and the text after it.
fn link(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('[')?;
    let (label, rest) = rest.split_once("](")?;
    let (_, after) = rest.split_once(')')?;
    Some((before, label, after))
}
