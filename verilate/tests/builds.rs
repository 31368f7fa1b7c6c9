//! Builds: errors as values, lint, the cache, concurrent processes.

mod common;

use std::fs;

use common::{again, nonce, role};
use warpline_verilate::{Build, Error, Tools};

const GOOD: &str =
    "module part(input wire [7:0] x, output wire [7:0] y); assign y = ~x; endmodule\n";
const NARROWS: &str =
    "module part(input wire [7:0] x,\n output wire [3:0] y);\n assign y = x;\nendmodule\n";

/// Verilator 5.006 names the warning `WIDTH`, later versions `WIDTHTRUNC`.
const WIDTH_CODES: [&str; 2] = ["WIDTH", "WIDTHTRUNC"];

fn part(text: impl Into<String>) -> Build {
    Build::new("part").source("part.sv", text)
}

#[test]
fn tools_are_there() {
    let tools = Tools::find().unwrap_or_else(|e| panic!("{e}"));
    assert!(!tools.verilator_version.is_empty() && !tools.compiler_version.is_empty());
}

#[test]
fn missing_tools_are_typed_errors_that_say_what_to_do() {
    const TEST: &str = "missing_tools_are_typed_errors_that_say_what_to_do";
    match role().as_deref() {
        Some("verilator") => match part(GOOD).build() {
            Err(error @ Error::NoVerilator { .. }) => {
                assert!(error.to_string().contains("/nowhere/bin/verilator_bin"));
                return assert!(error.to_string().contains("make setup"));
            }
            other => panic!("{other:?}"),
        },
        Some(_) => match part(GOOD).build() {
            Err(error @ Error::NoCompiler { .. }) => {
                assert!(error.to_string().contains("no-such-compiler"));
                return assert!(error.to_string().contains("make setup"));
            }
            other => panic!("{other:?}"),
        },
        None => {}
    }
    let without_verilator = again(TEST, "verilator")
        .env("VERILATOR_ROOT", "/nowhere")
        .status();
    assert!(without_verilator.unwrap().success());
    let without_compiler = again(TEST, "compiler")
        .env("WARPLINE_CXX", "no-such-compiler")
        .status();
    assert!(without_compiler.unwrap().success());
}

#[test]
fn failed_build_is_a_typed_error_and_poisons_nothing() {
    let unique = nonce();
    for _ in 0..2 {
        match part(
            unique.clone()
                + "module part(input wire x, output wire y); assign y = nowhere; endmodule",
        )
        .build()
        {
            Err(Error::Verilator { top, output, .. }) => {
                assert_eq!(top, "part");
                assert!(
                    output.contains("part.sv:2") && output.contains("nowhere"),
                    "{output}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
    // A build that fails in the C++ compiler, at the same content each time: the cause is in `$c`.
    let broken = part(
        unique.clone()
            + "module part(input wire x, output wire y); assign y = x; initial $c(\"no such thing;\"); endmodule",
    );
    for _ in 0..2 {
        match broken.build() {
            Err(Error::Compiler { output, .. }) => assert!(output.contains("no such"), "{output}"),
            other => panic!("{other:?}"),
        }
    }
    let good = part(unique + GOOD);
    let library = good.build().unwrap();
    assert!(library.was_built());
    assert!(!good.build().unwrap().was_built());
    let mut model = library.open(1).unwrap();
    let (x, y) = (model.port("x").unwrap(), model.port("y").unwrap());
    model.set(x, 0x0F);
    model.eval().unwrap();
    assert_eq!(model.get(y), 0xF0);
    fs::remove_dir_all(library.path().parent().unwrap()).unwrap();
}

#[test]
fn warnings_are_errors_unless_turned_off() {
    let code = match part(NARROWS).build() {
        Err(Error::Verilator { warnings, .. }) => {
            assert_eq!(warnings.len(), 1);
            assert!(WIDTH_CODES.contains(&warnings[0].code.as_str()));
            warnings[0].code.clone()
        }
        other => panic!("{other:?}"),
    };
    part(NARROWS).lint_off(code).build().unwrap();
}

#[test]
fn lint_returns_warnings_as_values() {
    assert_eq!(part(GOOD).lint().unwrap(), []);
    let found = part(NARROWS).lint_off("WIDTHTRUNC").lint().unwrap(); // lint_off is for builds only
    let width = found
        .iter()
        .find(|w| WIDTH_CODES.contains(&w.code.as_str()))
        .unwrap();
    assert_eq!((width.file.as_str(), width.line), ("part.sv", 3));
    assert!(
        width.column > 0 && width.message.contains("4 bits"),
        "{width}"
    );
    let unused = found
        .iter()
        .find(|w| w.code == "UNUSEDSIGNAL")
        .expect("-Wall finds the unused bits");
    assert_eq!((unused.line, unused.message.contains("'x'")), (1, true));
    assert!(matches!(
        part("module part(").lint(),
        Err(Error::Verilator { .. })
    ));
}

#[test]
fn names_are_checked_before_anything_runs() {
    for top in ["", "1part", "a b", "--build", "a;b", "ä", "a\0"] {
        assert!(
            matches!(Build::new(top).source("part.sv", GOOD).build(), Err(Error::TopName(name)) if name == top)
        );
    }
    for file in [
        "",
        "../part.sv",
        "/part.sv",
        "-part.sv",
        "a b.sv",
        ".sv",
        "a\0.sv",
    ] {
        assert!(
            matches!(Build::new("part").source(file, GOOD).lint(), Err(Error::SourceName(name)) if name == file)
        );
    }
    assert!(
        matches!(part(GOOD).source("part.sv", GOOD).build(), Err(Error::SourceTwice(name)) if name == "part.sv")
    );
    assert!(matches!(
        Build::new("part").source("part.svh", GOOD).build(),
        Err(Error::NoSource { .. })
    ));
}

#[test]
fn several_sources_includes_and_parameters() {
    let build = |width: u32| {
        Build::new("outer")
            .source("outer.sv", "`include \"size.svh\"\nmodule outer #(parameter int W = `SIZE)(input wire [W-1:0] x, output wire [W-1:0] y); inner #(W) i(.x, .y); endmodule")
            .source("inner.sv", "module inner #(parameter int W = 1)(input wire [W-1:0] x, output wire [W-1:0] y); assign y = x; endmodule")
            .source("size.svh", "`define SIZE 5\n")
            .verilator_arg(format!("-GW={width}"))
    };
    for width in [8, 70] {
        let model = build(width).open().unwrap();
        assert_eq!(model.info(model.port("y").unwrap()).width, width);
    }
}

/// Exit codes of a child process, different from those of the test harness.
const BUILT: i32 = 90;
const FOUND: i32 = 91;

#[test]
fn concurrent_processes_build_once() {
    if let Some(text) = role() {
        let library = part(text).build().unwrap();
        let mut model = library.open(1).unwrap();
        let (x, y) = (model.port("x").unwrap(), model.port("y").unwrap());
        model.set(x, 1);
        model.eval().unwrap();
        assert_eq!(model.get(y), 0xFE);
        std::process::exit(if library.was_built() { BUILT } else { FOUND });
    }
    let text = nonce() + GOOD;
    let children: Vec<_> = (0..5)
        .map(|_| {
            again("concurrent_processes_build_once", &text)
                .spawn()
                .unwrap()
        })
        .collect();
    let mut codes: Vec<_> = children
        .into_iter()
        .map(|mut child| child.wait().unwrap().code())
        .collect();
    codes.sort();
    assert_eq!(
        codes,
        [
            Some(BUILT),
            Some(FOUND),
            Some(FOUND),
            Some(FOUND),
            Some(FOUND)
        ]
    );
    let library = part(text).build().unwrap();
    assert!(!library.was_built());
    fs::remove_dir_all(library.path().parent().unwrap()).unwrap();
}
