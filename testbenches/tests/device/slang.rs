//! The text of the whole device read by slang, which holds it against IEEE 1800 more strictly than Verilator does: no
//! diagnostic at any width, with all warnings on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use warpline_design::{TOP, design};
use warpline_hdl::{Config, Sctp};
use warpline_synth::packaging;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const LINT: &str = "tools/lint/slang_lint.py";

/// Exit codes of [`LINT`].
const CLEAN: i32 = 0;
const DIAGNOSTICS: i32 = 1;

/// What slang has to say of the files that `folder`/`top`.f lists, a line for each diagnostic.
fn diagnostics(top: &str, folder: &Path) -> Vec<String> {
    let python = PathBuf::from(ROOT).join(".venv/bin/python");
    let output = Command::new(&python)
        .arg(PathBuf::from(ROOT).join(LINT))
        .args(["--top", top])
        .arg(folder)
        .output()
        .unwrap_or_else(|e| panic!("{}: {e}; run make setup", python.display()));
    let said = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<String> = said.lines().map(str::to_owned).collect();
    match output.status.code() {
        Some(CLEAN) => assert_eq!(lines, [""; 0]),
        Some(DIAGNOSTICS) => assert!(!lines.is_empty()),
        _ => panic!(
            "{LINT}: {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        ),
    }
    lines
}

/// What slang has to say of these texts, the top module last.
fn said_of(top: &str, files: &[(String, String)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    diagnostics(top, folder.path())
}

fn is_clean(width: usize, streams: usize) {
    for transmit in [false, true] {
        is_clean_as(&Config {
            streams,
            transmit,
            ..Config::simulated(width)
        });
    }
}

fn is_clean_as(config: &Config) {
    let design = design(config).unwrap_or_else(|e| panic!("{e}"));
    let said = said_of(TOP, &design.files());
    let first: Vec<&String> = said.iter().take(20).collect();
    assert!(
        said.is_empty(),
        "{config:?}: {} diagnostics, the first {first:#?}",
        said.len()
    );
}

#[test]
fn the_device_of_64_bits_is_clean() {
    is_clean(64, 4);
    is_clean(64, 16);
}

#[test]
fn the_device_of_64_bits_that_takes_chunks_is_clean() {
    for transmit in [false, true] {
        is_clean_as(&Config {
            transmit,
            sctp: Some(Sctp::default()),
            ..Config::simulated(64)
        });
    }
}

#[test]
fn the_device_of_128_bits_is_clean() {
    is_clean(128, 4);
    is_clean(128, 16);
}

#[test]
fn the_device_of_256_bits_is_clean() {
    is_clean(256, 4);
    is_clean(256, 16);
}

#[test]
fn the_device_of_512_bits_is_clean() {
    is_clean(512, 4);
    is_clean(512, 16);
}

/// What slang has to say of the package of registers and records and the example with registers only, the device in it; the
/// example's text is changed by `edit`.
fn said_of_example(edit: impl Fn(&str) -> String) -> Vec<String> {
    let config = Config::simulated(64);
    let design = design(&config).unwrap_or_else(|e| panic!("{e}"));
    let mut files = design.sources();
    files.extend(packaging::files(&design, &config));
    let example = format!("{TOP}_registers_example");
    let list = files.iter().find(|(name, _)| *name == format!("{TOP}.f"));
    let list = format!("{}{example}.sv\n", list.unwrap().1);
    files.push((format!("{example}.f"), list));
    let text = files
        .iter_mut()
        .find(|(name, _)| *name == format!("{example}.sv"));
    let text = &mut text.unwrap().1;
    *text = edit(text);
    said_of(&example, &files)
}

#[test]
fn package_and_example_are_clean() {
    assert_eq!(said_of_example(str::to_owned), [""; 0]);
    let said = said_of_example(|text| text.replace("wire aclk,", "wire clock,"));
    assert!(
        said.iter()
            .any(|line| line.contains("implicit-net: implicit net 'aclk'")),
        "{said:?}"
    );
}

/// What slang has to say of one module.
fn said_of_module(top: &str, text: &str) -> Vec<String> {
    said_of(
        top,
        &[
            (format!("{top}.sv"), text.into()),
            (format!("{top}.f"), format!("{top}.sv\n")),
        ],
    )
}

/// IEEE 1800-2017 9.2.2.4: what `always_ff` writes, no other process may.
#[test]
fn a_register_that_an_initial_block_writes_too_is_seen() {
    let module = |process: &str| {
        format!(
            "module twice (input wire clock, input wire d, output logic q);
                 logic q_q;
                 initial begin q_q = 1'b0; end
                 {process} @(posedge clock) begin q_q <= d; end
                 assign q = q_q;
             endmodule\n"
        )
    };
    let said = said_of_module("twice", &module("always_ff"));
    assert!(
        said.len() == 1 && said[0].contains("error: multiple-always-assigns: variable 'q_q'"),
        "{said:?}"
    );
    assert_eq!(said_of_module("twice", &module("always")), [""; 0]);
}

#[test]
fn a_text_that_does_not_parse_is_seen() {
    let said = said_of_module("broken", "module broken; assign = 1; endmodule\n");
    assert!(
        said.iter()
            .any(|line| line.contains("error: ExpectedExpression")),
        "{said:?}"
    );
}

/// What slang has to say of the device, more than of the device as it is, when `line` stands at the end of its top module.
fn said_of_device_with(line: &str) -> Vec<String> {
    let design = design(&Config::simulated(64)).unwrap_or_else(|e| panic!("{e}"));
    let mut files = design.files();
    let without = said_of(TOP, &files);
    let top = files
        .iter_mut()
        .find(|(name, _)| *name == format!("{TOP}.sv"))
        .unwrap();
    top.1 = top
        .1
        .replacen("endmodule", &format!("{line}\nendmodule"), 1);
    let mut said = said_of(TOP, &files);
    said.retain(|line| !without.contains(line));
    said
}

#[test]
fn a_name_that_was_never_declared_is_seen() {
    let said = said_of_device_with("assign undeclared = aresetn;");
    assert!(
        said.iter()
            .any(|line| line.contains("implicit-net") && line.contains("'undeclared'")),
        "{said:?}"
    );
}

#[test]
fn a_net_without_reader_is_seen() {
    let said = said_of_device_with("wire spare = aresetn;");
    assert!(
        said.len() == 1 && said[0].contains("unused-net: unused net 'spare'"),
        "{said:?}"
    );
}
