//! `warpline_pkg.sv`: register offsets, field positions, numbers and records as a SystemVerilog package.
//!
//! A record is a packed structure: its first member holds the highest bits, so that word 0 of the record is bits 31:0.

use std::fmt::Write as _;

use warpline_regmap::{Layout, register_list};

use super::facts::{self, Constant};
use super::names::{LICENSE, Names, VERSION};

/// Names of fields that are keywords of SystemVerilog, or C++ words of which Verilator warns; an underscore follows them.
const TAKEN: [&str; 3] = ["type", "queue", "inline"];

pub(super) fn text(names: &Names<'_>) -> String {
    let (top, name) = (names.top, names.sv_package());
    let mut text = format!(
        "// Register offsets, field positions, numbers and records of {top} {VERSION}. Generated; do not edit.
// SPDX-License-Identifier: {LICENSE}
//
// Offsets are octets on s_axil. A record is a packed structure with word 0 in bits 31:0, as the words of ARGUMENT and the
// entries in memory have it.
package {name};

    // a design need not use all of it
    // verilator lint_off UNUSEDPARAM
"
    );
    constants(
        &mut text,
        "Identity of the register map",
        &facts::identity(),
    );
    for register in register_list::all() {
        let mut all = facts::places(register);
        for field in facts::fields(register) {
            let name = format!("{}_{}", facts::register_name(register), field.name);
            all.extend(
                [("LSB", field.lsb), ("WIDTH", field.width)].map(|(suffix, value)| Constant {
                    name: format!("{name}_{suffix}"),
                    value: value as u64,
                    width: 0,
                    doc: String::new(),
                }),
            );
        }
        constants(&mut text, register.name, &all);
    }
    for enumeration in facts::enumerations() {
        let facts::Enumeration {
            name,
            doc,
            constants,
        } = enumeration;
        // into a string: cannot fail
        let _ = write!(
            text,
            "\n    // {doc}\n    typedef enum logic [{}:0] {{\n",
            width(&constants) - 1
        );
        let last = constants.len().saturating_sub(1);
        for (at, constant) in constants.iter().enumerate() {
            let comma = if at == last { "" } else { "," };
            let _ = writeln!(
                text,
                "        {} = {}{comma}",
                constant.name,
                literal(constant)
            );
        }
        let _ = writeln!(text, "    }} {name}_e;");
    }
    for layout in facts::layouts(names) {
        text += &record(layout);
    }
    text + &format!("\n    // verilator lint_on UNUSEDPARAM\nendpackage : {name}\n")
}

fn width(constants: &[Constant]) -> usize {
    constants
        .iter()
        .map(|constant| constant.width)
        .max()
        .unwrap_or(1)
}

fn literal(constant: &Constant) -> String {
    format!("{}'h{:x}", constant.width, constant.value)
}

fn constants(text: &mut String, title: &str, constants: &[Constant]) {
    let _ = write!(text, "\n    // {title}\n");
    for constant in constants {
        if !constant.doc.is_empty() {
            let _ = writeln!(text, "    // {}", constant.doc);
        }
        let Constant {
            name, value, width, ..
        } = constant;
        let _ = match width {
            0 => writeln!(text, "    localparam int {name} = {value};"),
            width => {
                let high = width - 1;
                let value = literal(constant);
                writeln!(text, "    localparam logic [{high}:0] {name} = {value};")
            }
        };
    }
}

/// A member of a packed structure.
struct Member {
    name: String,
    lsb: usize,
    width: usize,
    doc: String,
}

/// A packed structure, highest bits first. Fields that share their bits are one member, bits of no field are reserved.
fn record(layout: &Layout) -> String {
    let mut members: Vec<Member> = Vec::new();
    let mut next = 0;
    for field in layout.fields {
        let name = field.name.to_lowercase();
        let doc = field.doc.trim().to_owned();
        match members.last_mut() {
            Some(last) if field.lsb < next => {
                last.name += &format!("_or_{name}");
                last.doc += &format!(" {doc}");
            }
            _ => {
                members.extend(reserved(next, field.lsb));
                let end = if TAKEN.contains(&name.as_str()) {
                    "_"
                } else {
                    ""
                };
                let (lsb, width) = (field.lsb, field.width);
                members.push(Member {
                    name: name + end,
                    lsb,
                    width,
                    doc,
                });
                next = lsb + width;
            }
        }
    }
    members.extend(reserved(next, 32 * layout.words));
    let mut text = format!(
        "\n    // {}\n    typedef struct packed {{\n",
        layout.doc.trim()
    );
    for Member {
        name,
        lsb,
        width,
        doc,
    } in members.iter().rev()
    {
        let high = lsb + width - 1;
        let _ = match width {
            1 => writeln!(text, "        logic {name}; // {lsb}: {doc}"),
            _ => writeln!(
                text,
                "        logic [{}:0] {name}; // {high}:{lsb}: {doc}",
                width - 1
            ),
        };
    }
    text + &format!("    }} {}_t;\n", layout.name)
}

fn reserved(from: usize, to: usize) -> Option<Member> {
    (to > from).then(|| Member {
        name: format!("reserved_{from}"),
        lsb: from,
        width: to - from,
        doc: "Zero.".into(),
    })
}
