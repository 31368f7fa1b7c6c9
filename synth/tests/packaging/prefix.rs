//! Two configurations in one design.

use std::fmt::Write as _;

use warpline_hdl::Config;
use warpline_sv_writer::{Design, Direction};
use warpline_synth::{Prefix, packaging, prefixed};
use warpline_verilate::Build;

use crate::{CONFIG, DEVICE};

/// Adds the modules and the package of a device, in files whose names begin with `files`.
fn with(build: Build, design: &Design, config: &Config, files: &str) -> Build {
    let package = format!("{}_pkg.sv", design.top());
    let beside = packaging::files(design, config).into_iter();
    let beside = beside.filter(|(name, _)| *name == package);
    let all = beside.chain(design.sources());
    all.fold(build, |build, (name, text)| {
        build.source(format!("{files}{name}"), text)
    })
}

/// A module with an instance of each device, all inputs zero.
fn wrapper(designs: [&Design; 2]) -> String {
    let mut text = String::from("/* verilator lint_off PINCONNECTEMPTY */\nmodule both;\n");
    for (at, design) in designs.into_iter().enumerate() {
        let _ = writeln!(text, "    {} device_{at} (", design.top());
        let ports: Vec<_> = (design.ports.iter())
            .map(|port| match port.direction {
                Direction::Input => format!("        .{}({}'b0)", port.name, port.width),
                Direction::Output => format!("        .{}()", port.name),
            })
            .collect();
        let _ = writeln!(text, "{}\n    );", ports.join(",\n"));
    }
    text + "endmodule\n"
}

/// Messages of Verilator for both devices in one design.
fn said(a: (&Design, &Config), b: (&Design, &Config)) -> Vec<String> {
    let build = Build::new("both");
    let build = with(build, a.0, a.1, "");
    // other file names, which do not collide
    let files = if a.0.top() == b.0.top() { "other_" } else { "" };
    let build = with(build, b.0, b.1, files).source("both.sv", wrapper([a.0, b.0]));
    match build.lint() {
        Ok(warnings) => warnings.iter().map(ToString::to_string).collect(),
        Err(error) => vec![error.to_string()],
    }
}

#[test]
fn two_configurations_lie_in_one_design_under_prefixes_and_collide_without() {
    let sixteen = Config {
        streams: 16,
        ..*CONFIG
    };
    let other = warpline_design::design(&sixteen).unwrap();
    let prefix = |text: &str| text.parse::<Prefix>().unwrap();
    let (a, b) = (
        prefixed(&DEVICE, &prefix("four")),
        prefixed(&other, &prefix("sixteen")),
    );
    assert_eq!((a.top(), b.top()), ("four_warpline", "sixteen_warpline"));
    assert_eq!(said((&a, &CONFIG), (&b, &sixteen)), [""; 0]);
    let collision = said((&DEVICE, &CONFIG), (&other, &sixteen));
    // the package, and each of the modules
    let twice = |line: &&String| line.contains("MODDUP") || line.contains("Duplicate declaration");
    assert!(collision.iter().any(|line| twice(&line)), "{collision:?}");
}

#[test]
fn everything_beside_the_modules_has_the_prefix_as_well() {
    let design = prefixed(&DEVICE, &"nic".parse().unwrap());
    let files = packaging::files(&design, &CONFIG);
    for (name, text) in &files {
        if name.starts_with("LICENSE") {
            continue;
        }
        assert!(
            name == "Bender.yml" || name.starts_with("nic_warpline"),
            "{name}"
        );
        // Vendor, project and IP-XACT's vendor keep the name; module, package, macro and file names do not.
        for start in ["warpline_", "WARPLINE_", "warpline."] {
            let bare = text.match_indices(start).filter(|(at, _)| {
                let before = text[..*at].chars().next_back().unwrap_or(' ');
                !(before.is_ascii_alphanumeric() || before == '_')
            });
            assert_eq!(bare.count(), 0, "{name}: {start}");
        }
    }
}
