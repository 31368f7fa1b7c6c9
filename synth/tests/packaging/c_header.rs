//! The C header, compiled as C99 and as C++, against the register description.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use warpline_regmap::layout::{LAYOUTS, completion, error_record};
use warpline_regmap::register::{COMMAND_BUSY, command};
use warpline_regmap::transmit;
use warpline_wire::error_number::{ErrorNumber, check_bit};

use crate::{file, registers};

/// Words of the largest record.
const WORDS: usize = transmit::send_slot::WORDS;

/// A program that prints values of the header, and its expected output.
fn program() -> (String, String) {
    let (mut body, mut expected) = (String::new(), String::new());
    let mut number = |name: &str, value: u64| {
        let _ = writeln!(
            body,
            "    printf(\"{name} %llu\\n\", (unsigned long long)WARPLINE_{name});"
        );
        let _ = writeln!(expected, "{name} {value}");
    };
    for register in registers() {
        number(&format!("REG_{}", register.name), register.offset.into());
        if register.count > 1 {
            number(
                &format!("REG_{}_ELEMENTS", register.name),
                register.count.into(),
            );
            number(
                &format!("REG_{}_STRIDE", register.name),
                register.stride.into(),
            );
        }
    }
    number("REG_COMMAND_BUSY_SHIFT", COMMAND_BUSY.lsb as u64);
    number(
        "REG_COMMAND_BUSY_MASK",
        COMMAND_BUSY.max() << COMMAND_BUSY.lsb,
    );
    for command in command::COMMANDS.iter().chain(transmit::COMMANDS) {
        number(
            &format!("COMMAND_{}", command.value.name),
            command.value.value.into(),
        );
    }
    number(
        "ERROR_TAGGED_INVALID_STAG",
        ErrorNumber::TaggedInvalidStag as u64,
    );
    number("ERROR_MPA_CRC", ErrorNumber::MpaCrc as u64);
    number("CHECK_MSN", check_bit::MSN.into());
    number("KIND_SEND", transmit::kind::SEND.into());
    number("STATUS_BUS", transmit::status::BUS.into());
    number("TARGET_UNTAGGED", transmit::target::UNTAGGED.into());
    number("KIND_CLOSED", warpline_regmap::layout::kind::CLOSED.into());
    number(
        "REFUSED_LOST",
        warpline_regmap::layout::refused::LOST.into(),
    );
    number(
        "VECTOR_FAULT",
        warpline_regmap::register::interrupt::FAULT as u64,
    );
    number("COMPLETION_PHASE_WORD", completion::PHASE.lsb as u64 / 32);
    number("COMPLETION_PHASE_MASK", 1 << (completion::PHASE.lsb % 32));
    number(
        "ERROR_RECORD_MARKER_RECEIVED_SHIFT",
        error_record::MARKER_RECEIVED.lsb as u64 % 32,
    );
    for layout in LAYOUTS.iter().chain(transmit::LAYOUTS) {
        let record = layout.name.to_uppercase();
        for field in layout.fields {
            let mut words = [0; WORDS];
            let value = 0xfedc_ba98_7654_3211 & field.max();
            field.put(&mut words, value);
            let name = format!("{record}_{}", field.name);
            let _ = writeln!(
                body,
                "    WARPLINE_PUT(words, WARPLINE_{name}, 0x{value:x}u);"
            );
            let _ = writeln!(
                body,
                "    show(\"{name}\", words, WARPLINE_GET(words, WARPLINE_{name}), WARPLINE_{record}_WORDS);"
            );
            let _ = write!(expected, "{name} {value:x}");
            for word in &words[..layout.words] {
                let _ = write!(expected, " {word:x}");
            }
            expected.push('\n');
        }
    }
    let text = format!(
        "#include <stdio.h>
#include <string.h>
#include \"warpline.h\"
static void show(const char *name, uint32_t *words, uint64_t value, unsigned count)
{{
    unsigned at;
    printf(\"%s %llx\", name, (unsigned long long)value);
    for (at = 0; at < count; at++)
        printf(\" %lx\", (unsigned long)words[at]);
    printf(\"\\n\");
    memset(words, 0, {WORDS} * sizeof *words);
}}
int main(void)
{{
    uint32_t words[{WORDS}] = {{0}};
{body}    return 0;
}}
"
    );
    (text, expected)
}

/// Lines in which a program with this header differs from the description.
fn differences(header: &str, compiler: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let (program, expected) = program();
    fs::write(folder.path().join("warpline.h"), header).unwrap();
    fs::write(folder.path().join("program.c"), program).unwrap();
    let output = Command::new(compiler[0])
        .current_dir(folder.path())
        .args(&compiler[1..])
        .args([
            "-pedantic",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-o",
            "program",
            "program.c",
        ])
        .output()
        .unwrap_or_else(|e| panic!("{}: {e}", compiler[0]));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let output = Command::new(folder.path().join("program"))
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed.lines().count(), expected.lines().count());
    let both = printed.lines().zip(expected.lines());
    let differ = both.filter(|(printed, expected)| printed != expected);
    differ
        .map(|(printed, expected)| format!("{printed}, expected {expected}"))
        .collect()
}

#[test]
fn the_header_is_c_and_cpp_and_says_what_the_description_says() {
    let header = file("warpline.h");
    assert_eq!(differences(&header, &["cc", "-std=c99"]), [""; 0]);
    assert_eq!(
        differences(&header, &["c++", "-x", "c++", "-std=c++11"]),
        [""; 0]
    );
}

#[test]
fn a_wrong_offset_or_field_is_found() {
    let header = file("warpline.h");
    for (right, wrong) in [
        ("WARPLINE_REG_COMMAND 0x020u", "WARPLINE_REG_COMMAND 0x024u"),
        (
            "WARPLINE_COMPLETION_LENGTH_LSB 96u",
            "WARPLINE_COMPLETION_LENGTH_LSB 64u",
        ),
    ] {
        assert_eq!(header.matches(right).count(), 1, "{right}");
        let found = differences(&header.replace(right, wrong), &["cc", "-std=c99"]);
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
