//! Random kernels: what the writer makes of a syntax tree against what the operators mean in rust-hdl.
//!
//! Each tree is made together with a closure that computes its value with unbounded integers, cut to width as
//! `Bits<N>` does; `arithmetic` ties that meaning to rust-hdl's own arithmetic. Trees carry parentheses
//! at random, since the writer must not depend on them. The written text runs in Verilator on random inputs.
//!
//! ```text
//!  trees: syntax tree ─► samples: kernel ─► writer ─► Verilator ─► outputs ─► equal?
//!    └──► closure, by arithmetic ─► steps ──────────────────────────► values ──┘
//! ```

use std::collections::HashMap;

use fastrand::Rng;
use num_bigint::BigUint;
use rust_hdl_core::prelude::*;
use samples::{Sample, expressions, program};
use support::Kernel;
use warpline_sv_writer::{self as writer, Faults};
use warpline_testbenches::lockstep::sources;
use warpline_testbenches::stimulus;
use warpline_verilate::Model;

mod arithmetic;
mod samples;
#[path = "../support/mod.rs"]
mod support;
mod trees;

/// Runs `rounds` random inputs; returns the names of outputs that were wrong at least once, with an example.
fn wrong_outputs(sample: &Sample, mut model: Model, rounds: usize) -> HashMap<String, String> {
    let mut rng = Rng::with_seed(99);
    let mut wrong = HashMap::new();
    let inputs = |kernel: &Kernel| {
        let inputs = kernel
            .atoms
            .iter()
            .filter(|a| a.kind == AtomKind::InputParameter);
        inputs.cloned().collect::<Vec<_>>()
    };
    for _ in 0..rounds {
        let mut values = sample.constants.clone();
        for input in inputs(&sample.kernel) {
            let value = stimulus::wide(&mut rng, input.width);
            let port = model.port(&input.name).expect("the input is a port");
            model.set_words(port, &value.to_u32_digits());
            values.insert(input.name, value);
        }
        model.eval().expect("the model runs");
        sample.steps.iter().for_each(|step| step(&mut values));
        for (name, _) in &sample.outputs {
            let port = model.port(name).expect("the output is a port");
            let got = BigUint::new(model.to_words(port));
            if got != values[name] {
                let example = format!("{name}: {got:x}, should be {:x}", values[name]);
                wrong.entry(name.clone()).or_insert(example);
            }
        }
    }
    wrong
}

fn check(sample: &Sample, top: &str, rounds: usize) {
    let design = writer::write(&sample.kernel, top).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(design, writer::write(&sample.kernel, top).unwrap());
    let build = sources(top, &design);
    let warnings = build.lint().unwrap_or_else(|e| panic!("{e}"));
    assert!(
        warnings.iter().all(|w| HARMLESS.contains(&w.code.as_str())),
        "{warnings:?}"
    );
    let build = HARMLESS
        .iter()
        .fold(build, |build, code| build.lint_off(*code));
    let model = build.open().unwrap_or_else(|e| panic!("{e}"));
    let wrong = wrong_outputs(sample, model, rounds);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What Verilator says of expressions that are constant by chance, such as `x < 0`.
const HARMLESS: [&str; 2] = ["CMPCONST", "UNSIGNED"];

/// Expressions of all operators, widths 1 to 100 and 512.
#[test]
fn random_expressions_mean_in_verilator_what_they_mean_in_rust_hdl() {
    for seed in 1..=2 {
        check(&expressions(seed, 240), &format!("expressions_{seed}"), 200);
    }
}

/// The same check finds a writer that forgets parentheses, casts, or compares wrongly.
#[test]
fn planted_mistakes_of_the_writer_are_found() {
    let sample = expressions(3, 60);
    let none = Faults::default();
    let faults = [
        Faults {
            no_parentheses: true,
            ..none
        },
        Faults {
            no_casts: true,
            ..none
        },
        Faults {
            wrong_compare: true,
            ..none
        },
    ];
    for (i, fault) in faults.into_iter().enumerate() {
        let top = format!("faulty_{i}");
        let design = writer::write_with_faults(&sample.kernel, &top, fault).unwrap();
        let model = sources(&top, &design)
            .verilator_arg("-Wno-fatal")
            .open()
            .unwrap_or_else(|e| panic!("{e}"));
        let wrong = wrong_outputs(&sample, model, 50);
        assert!(!wrong.is_empty(), "{fault:?} was not found");
    }
}

/// Order matters: values in between, dead assignments, parts, branches.
#[test]
fn random_programs_mean_in_verilator_what_they_mean_in_rust_hdl() {
    for (seed, signals, length) in [(10, 24, 120), (11, 24, 120), (12, 100, 110), (13, 100, 130)] {
        let sample = program(seed, signals, length);
        check(&sample, &format!("program_{seed}"), 100);
    }
}
