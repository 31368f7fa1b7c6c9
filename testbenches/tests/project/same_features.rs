//! No crate that `make demo` has built is compiled again, with other features, by the command that a reader gives next.
//!
//! Cargo turns on the features that the selected packages ask for, so each selection may have others. `tools/features` asks for
//! what all of them need. Read by `cargo tree`, which resolves features as a build does.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Crates of a build, each with the sets of features that it is compiled with: macros and build scripts may have another one.
type Build = BTreeMap<String, BTreeSet<String>>;

/// What `make demo` builds.
const DEMO: &[&str] = &["--package", "warpline", "--no-default-features"];

/// What is built with other features for a reason.
const MEANT: [&str; 3] = [
    "warpline",        // the commands that the demo leaves out
    "warpline-driver", // the workspace has the test program of the guest, which uses the library pci-driver
    "warpline-sim",    // SCTP needs libusrsctp, which the demo does not install
];

/// The crates that cargo would compile for these arguments; with `tests`, for their tests and examples, too.
fn build(selection: &[&str], tests: bool) -> Build {
    let edges = if tests {
        "normal,build,dev"
    } else {
        "normal,build"
    };
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--prefix", "none", "--no-dedupe"])
        .args(["--edges", edges, "--format", "{p}\t{f}"])
        .args(selection)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .expect("cargo runs this test");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo tree {selection:?}: {said}");
    read(&String::from_utf8_lossy(&output.stdout))
}

/// Reads the lines of `cargo tree`: name, version and where it comes from, a tab, features.
fn read(tree: &str) -> Build {
    let mut build = Build::new();
    for line in tree.lines() {
        let Some((package, features)) = line.split_once('\t') else {
            continue;
        };
        let name: Vec<_> = package.split(' ').take(2).collect();
        let features = features.trim_end_matches(" (*)").to_owned();
        build.entry(name.join(" ")).or_default().insert(features);
    }
    build
}

/// Crates of `then` that `before` has compiled, but not with these features.
fn again(before: &Build, then: &Build) -> Vec<String> {
    let other = |(name, features): (&String, &BTreeSet<String>)| {
        let built = before.get(name)?;
        let new: Vec<_> = features.difference(built).collect();
        (!new.is_empty()).then(|| format!("{name}: {new:?} behind {built:?}"))
    };
    then.iter().filter_map(other).collect()
}

#[test]
fn what_the_demo_has_built_is_of_use_to_every_other_build() {
    let demo = build(DEMO, false);
    assert!(demo.len() > 100, "{} crates", demo.len());
    let others: [(&[&str], bool); 10] = [
        (&["--package", "warpline"], false),
        (&["--package", "warpline"], true),
        (&["--workspace"], false),
        (&["--workspace"], true),
        (&["--package", "warpline-driver"], true),
        (&["--package", "warpline-sim"], true),
        (&["--package", "warpline-synth"], true),
        (&["--package", "warpline-formal"], true),
        (&["--package", "warpline-testbenches"], true),
        (&["--package", "warpline-book"], true),
    ];
    for (selection, tests) in others {
        let mut again = again(&demo, &build(selection, tests));
        again.retain(|line| {
            !MEANT
                .iter()
                .any(|name| line.starts_with(&format!("{name} ")))
        });
        assert!(
            again.is_empty(),
            "add to tools/features what cargo {selection:?} (tests: {tests}) compiles again:\n{}",
            again.join("\n")
        );
    }
}

/// The guest's program is linked statically, in a build of its own; it does not depend on `tools/features`.
#[test]
fn a_build_with_other_features_is_found() {
    let guest = build(&["--package", "warpline-card-program"], false);
    let again = again(&build(DEMO, false), &guest);
    for name in ["rustix v1", "syn v3", "warpline-driver v0"] {
        let found = again.iter().any(|line| line.starts_with(name));
        assert!(found, "{name} is not in {again:?}");
    }
}

#[test]
fn only_features_that_nobody_has_compiled_count() {
    let before =
        read("a v1.0.0\tdefault,std\nb v2.0.0 (proc-macro)\t\nb v2.0.0\tfull\n\nmade (/here)\n");
    let same = read("b v2.0.0\tfull (*)\na v1.0.0\tdefault,std\nc v1.0.0\tstd\n");
    assert_eq!(again(&before, &same), [""; 0]);
    let other = read("a v1.0.0\tstd\na v1.1.0\tdefault\n");
    assert_eq!(
        again(&before, &other),
        [r#"a v1.0.0: ["std"] behind {"default,std"}"#]
    );
}
