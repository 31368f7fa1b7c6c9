//! `warpline.h`: registers, commands, error numbers and records for C99 and C++.

use std::fmt::Write as _;

use warpline_regmap::register_list;

use super::facts::{self, Constant};
use super::names::{LICENSE, Names, VERSION};

pub(super) fn text(names: &Names<'_>) -> String {
    let Names { top, .. } = names;
    let prefix = &names.macros;
    let mut text = format!(
        "/* Registers, commands, error numbers and records of {top} {VERSION}, for C99 and C++. Generated; do not edit.
 * SPDX-License-Identifier: {LICENSE}
 *
 * Offsets are octets from the start of the register space. Registers and the words of records have 32 bits; in memory a
 * record is little-endian, word 0 first. _SHIFT and _MASK are of a field within its word, _LSB counts from bit 0 of word 0.
 */
#ifndef {prefix}_H
#define {prefix}_H

#include <stdint.h>

"
    );
    let mut define = |title: &str, constants: &[Constant]| {
        // into a string: cannot fail
        let _ = writeln!(text, "/* {} */", commented(title));
        for constant in constants {
            define_one(&mut text, prefix, constant);
        }
        text.push('\n');
    };
    define("Identity of the register map.", &facts::identity());
    for register in register_list::all() {
        let mut constants = facts::places(register);
        for field in facts::fields(register) {
            let name = format!("{}_{}", facts::register_name(register), field.name);
            constants.extend(position(&name, field.lsb, field.width, field.doc));
        }
        define(register.name, &constants);
    }
    for enumeration in facts::enumerations() {
        define(enumeration.doc, &enumeration.constants);
    }
    for layout in facts::layouts(names) {
        let record = layout.name.to_uppercase();
        let mut constants = vec![number(
            format!("{record}_WORDS"),
            layout.words,
            "32-bit words.",
        )];
        for field in layout.fields {
            let name = format!("{record}_{}", field.name);
            constants.push(number(format!("{name}_LSB"), field.lsb, field.doc));
            constants.push(number(format!("{name}_WIDTH"), field.width, ""));
            if field.lsb % 32 + field.width <= 32 {
                constants.push(number(format!("{name}_WORD"), field.lsb / 32, ""));
                constants.extend(position(&name, field.lsb % 32, field.width, ""));
            }
        }
        define(layout.doc, &constants);
    }
    text + &accessors(names)
}

fn number(name: String, value: usize, doc: &str) -> Constant {
    Constant {
        name,
        value: value as u64,
        width: 0,
        doc: doc.trim().into(),
    }
}

/// Shift and mask of a field within its word.
fn position(name: &str, lsb: usize, width: usize, doc: &str) -> [Constant; 2] {
    let mask = ((1_u64 << width) - 1) << lsb;
    [
        number(format!("{name}_SHIFT"), lsb, doc),
        Constant {
            value: mask,
            width: 32,
            ..number(format!("{name}_MASK"), 0, "")
        },
    ]
}

fn define_one(text: &mut String, prefix: &str, constant: &Constant) {
    let Constant {
        name,
        value,
        width,
        doc,
    } = constant;
    if !doc.is_empty() {
        let _ = writeln!(text, "/* {} */", commented(doc));
    }
    let _ = match width.div_ceil(4) {
        0 => writeln!(text, "#define {prefix}_{name} {value}u"),
        digits => writeln!(text, "#define {prefix}_{name} 0x{value:0digits$x}u"),
    };
}

/// A text that ends no comment.
fn commented(text: &str) -> String {
    text.trim().replace("*/", "* /")
}

/// Functions that read and write a field of any width.
fn accessors(names: &Names<'_>) -> String {
    let (top, prefix) = (names.top, &names.macros);
    format!(
        "/* A field of `words`, a record in the byte order of the host. For instance:
 * {prefix}_GET(words, {prefix}_STAG_ENTRY_BASE), {prefix}_PUT(words, {prefix}_STAG_ENTRY_BASE, base). */
#define {prefix}_GET(words, field) {top}_get((words), field##_LSB, field##_WIDTH)
#define {prefix}_PUT(words, field, value) {top}_put((words), field##_LSB, field##_WIDTH, (value))

static inline uint64_t {top}_get(const uint32_t *words, unsigned lsb, unsigned width)
{{
    uint64_t value = 0;
    unsigned bit;
    for (bit = 0; bit < width; bit++) {{
        unsigned at = lsb + bit;
        value |= (uint64_t)(words[at / 32] >> (at % 32) & 1u) << bit;
    }}
    return value;
}}

static inline void {top}_put(uint32_t *words, unsigned lsb, unsigned width, uint64_t value)
{{
    unsigned bit;
    for (bit = 0; bit < width; bit++) {{
        unsigned at = lsb + bit;
        uint32_t mask = (uint32_t)1 << (at % 32);
        if (value >> bit & 1u)
            words[at / 32] |= mask;
        else
            words[at / 32] &= ~mask;
    }}
}}

#endif /* {prefix}_H */
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_macro_is_defined_once() {
        let config = warpline_hdl::Config::simulated(64);
        let design = warpline_design::design(&config).unwrap();
        let text = text(&Names::new(&design, &config));
        let names = text
            .lines()
            .filter_map(|line| line.strip_prefix("#define "));
        let names: Vec<_> = names
            .filter_map(|rest| rest.split([' ', '(']).next())
            .collect();
        let count = names.len();
        assert!(count > 200, "{count}");
        assert!(names.iter().all(|name| name.starts_with("WARPLINE_")));
        let names: BTreeSet<_> = names.into_iter().collect();
        assert_eq!(names.len(), count);
        // what only a device that sends has is there as well
        for name in [
            "REG_SEND_PRODUCER",
            "REG_HOST_MESSAGE",
            "REG_MAILBOX_ELEMENTS",
            "VECTOR_MAILBOX",
            "HOST_MESSAGE_KIND_LISTEN",
            "MESSAGE_NUMBER_LSB",
        ] {
            let name = format!("WARPLINE_{name}");
            assert!(names.contains(&*name), "{name}");
        }
    }
}
