//! The files that `warpline rtl` writes for integrators, in their tools.

mod bus;
mod c_header;
mod ip_xact;
mod prefix;
mod sv_package;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use warpline_design::{add_axi_ids, design};
use warpline_hdl::{Config, Sctp};
use warpline_regmap::register::REGISTERS;
use warpline_regmap::{Register, mailbox, transmit};
use warpline_sv_writer::{Design, Direction};
use warpline_synth::{packaging, tool};
use warpline_verilate::{Build, Tools};

static CONFIG: LazyLock<Config> = LazyLock::new(|| Config::simulated(64));
/// The device of 64 bits.
static DEVICE: LazyLock<Design> = LazyLock::new(|| design(&CONFIG).unwrap());

/// All registers, those of transmission and of the mailbox, too.
fn registers() -> impl Iterator<Item = &'static Register> {
    REGISTERS
        .iter()
        .chain(transmit::REGISTERS)
        .chain(mailbox::REGISTERS)
}

/// The text of the file called `name`.
fn file(name: &str) -> String {
    let files = packaging::files(&DEVICE, &CONFIG);
    let found = files.into_iter().find(|(other, _)| other == name);
    found.unwrap_or_else(|| panic!("no {name}")).1
}

fn write(folder: &Path) {
    DEVICE.write_to(folder).unwrap();
    for (name, text) in packaging::files(&DEVICE, &CONFIG) {
        fs::write(folder.join(name), text).unwrap();
    }
}

/// Warnings of the registers-only example, its text changed by `edit`.
fn warnings(edit: impl Fn(&str) -> String) -> Vec<String> {
    let files = packaging::files(&DEVICE, &CONFIG);
    let example = files
        .iter()
        .find(|(name, _)| name.ends_with("_example.sv"))
        .unwrap();
    let build = Build::new("warpline_registers_example").source(&example.0, edit(&example.1));
    let build = DEVICE.parts().fold(build, |build, m| {
        build.source(format!("{}.sv", m.name), m.text.clone())
    });
    let warnings = build.lint().unwrap_or_else(|e| panic!("{e}"));
    warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn the_example_with_registers_only_is_free_of_warnings() {
    assert_eq!(warnings(str::to_owned), [""; 0]);
    let short = |text: &str| {
        text.replace(
            ".s_axis_segment_tdata(64'b0)",
            ".s_axis_segment_tdata(63'b0)",
        )
    };
    assert_eq!(warnings(short).len(), 1);
}

/// The device with IDs of `bits`.
fn with_ids(bits: usize) -> Design {
    let mut device = DEVICE.clone();
    add_axi_ids(&mut device, bits);
    device
}

/// What Verilator warns about in a device and in the example around it, the device's top changed by `edit`.
fn warnings_of(device: &Design, edit: impl Fn(&str) -> String) -> Vec<String> {
    let files = packaging::files(device, &CONFIG);
    let example = files
        .iter()
        .find(|(name, _)| name.ends_with("_example.sv"))
        .unwrap();
    let build = Build::new("warpline_registers_example").source(&example.0, &*example.1);
    let build = device.parts().fold(build, |build, m| {
        let top = m.name == device.top();
        let text = if top { edit(&m.text) } else { m.text.clone() };
        build.source(format!("{}.sv", m.name), text)
    });
    let warnings = build.lint().unwrap_or_else(|e| panic!("{e}"));
    warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn constant_ids_are_ports_like_any_other_and_free_of_warnings() {
    assert_eq!(with_ids(0), *DEVICE, "none");
    for bits in [1, 4, 32] {
        let device = with_ids(bits);
        let added: Vec<_> = device
            .ports
            .iter()
            .filter(|port| !DEVICE.ports.contains(port))
            .map(|port| (&*port.name, port.direction, port.width))
            .collect();
        let expected = [
            ("m_axi_awid", Direction::Output, bits),
            ("m_axi_bid", Direction::Input, bits),
            ("m_axi_arid", Direction::Output, bits),
            ("m_axi_rid", Direction::Input, bits),
        ];
        assert_eq!(added, expected);
        assert_eq!(device.ports.len(), DEVICE.ports.len() + 4);
        assert_eq!(warnings_of(&device, str::to_owned), [""; 0], "{bits} bits");
        let files = packaging::files(&device, &CONFIG);
        let instance = &files
            .iter()
            .find(|(name, _)| name.ends_with(".svh"))
            .unwrap()
            .1;
        assert!(instance.contains(".m_axi_rid(m_axi_rid),"));
    }
    // an ID that nothing drives, and one that is not said to be ignored
    for (from, to, signal) in [
        ("assign m_axi_awid = 4'h0;", "", "m_axi_awid"),
        ("m_axi_bid, m_axi_rid}", "m_axi_bid}", "m_axi_rid"),
    ] {
        let found = warnings_of(&with_ids(4), |text| text.replacen(from, to, 1));
        assert!(found.len() == 1 && found[0].contains(signal), "{found:?}");
    }
}

#[test]
fn lists_of_files_name_every_part_in_order() {
    let parts = DEVICE.parts().map(|m| &*m.name);
    let names = ["warpline_pkg"].into_iter().chain(parts);
    let names: Vec<_> = names.map(|name| format!("{name}.sv")).collect();
    let listed = |text: &str| -> Vec<String> {
        let items = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("- "));
        items
            .filter(|item| item.ends_with(".sv"))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(listed(&file("Bender.yml")), names);
    let [core @ .., example] = &listed(&file("warpline.core"))[..] else {
        panic!("an empty core");
    };
    assert_eq!(core, names);
    assert_eq!(example, "warpline_registers_example.sv");
    let told = [
        "warpline.core",
        "Bender.yml",
        "warpline.xml",
        "warpline.sdc",
        "warpline.xdc",
        "warpline_instance.svh",
    ];
    for name in told {
        let which = "64-bit data path, 4 streams, rings of";
        assert!(
            file(name).contains(which),
            "{name} does not say which device it is of"
        );
    }
}

/// Tools show the core's description in their catalogues.
#[test]
fn the_core_is_described_by_what_its_device_can_do() {
    for (transmit, sctp, begins) in [
        (false, None, "iWARP receive offload, 64-bit"),
        (true, None, "iWARP RNIC, 64-bit"),
        (
            true,
            Some(Sctp::default()),
            "iWARP RNIC, TCP and SCTP, 64-bit",
        ),
    ] {
        let config = Config {
            transmit,
            sctp,
            ..Config::simulated(64)
        };
        let files = packaging::files(&DEVICE, &config);
        let described = files.iter().filter(|(_, text)| text.contains(begins));
        let described: Vec<_> = described.map(|(name, _)| &**name).collect();
        assert!(described.contains(&"warpline.core"), "{described:?}");
    }
}

#[test]
fn licences_are_those_of_the_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        assert_eq!(file(name), fs::read_to_string(root.join(name)).unwrap());
    }
}

/// Commands of a constraints file, without comments.
fn commands(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter(|line| !line.is_empty()).collect()
}

#[test]
fn constraints_make_every_clock_of_the_device_and_nothing_else() {
    let clocks = DEVICE.ports.iter().filter(|port| port.clock);
    let clocks: Vec<_> = clocks
        .map(|port| {
            let name = &port.name;
            format!("create_clock -name {name} -period 6.400 [get_ports {{{name}}}]")
        })
        .collect();
    assert_eq!(clocks.len(), 1);
    for name in ["warpline.sdc", "warpline.xdc"] {
        assert_eq!(commands(&file(name)), clocks, "{name}");
    }
}

/// Has FuseSoC prepare a target; the error is its output.
fn fusesoc(root: &Path, target: &str) -> Result<(), String> {
    let output = Command::new(tool("fusesoc").unwrap_or_else(|e| panic!("{e}")))
        .current_dir(root)
        .args([
            "--cores-root",
            ".",
            "run",
            "--setup",
            "--target",
            target,
            "--build-root",
            "build",
        ])
        .arg("warpline:iwarp:warpline")
        .output()
        .unwrap();
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Output of Verilator for the command file that FuseSoC prepared.
fn verilator(root: &Path, target: &str) -> String {
    let tools = Tools::find().unwrap_or_else(|e| panic!("{e}"));
    let version = env!("CARGO_PKG_VERSION");
    let core = format!("warpline_iwarp_warpline_{version}");
    let output = Command::new(&tools.verilator)
        .env("VERILATOR_ROOT", &tools.root)
        .current_dir(root.join(format!("build/{core}/{target}-verilator")))
        .args(["--lint-only", "-f", &format!("{core}.vc")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.success(), said.is_empty(), "{said}");
    said
}

#[test]
#[ignore = "needs tools/setup.sh fpga: make test-fpga"]
fn fusesoc_takes_the_core() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    for target in ["lint", "registers_example"] {
        fusesoc(folder.path(), target).unwrap();
        assert_eq!(verilator(folder.path(), target), "", "{target}");
    }
    let core = folder.path().join("warpline.core");
    let text = fs::read_to_string(&core).unwrap();
    fs::write(
        &core,
        text.replace("warpline_core_check.sv", "warpline_core_chek.sv"),
    )
    .unwrap();
    let said = fusesoc(folder.path(), "lint").unwrap_err();
    assert!(said.contains("warpline_chek.sv"), "{said}");
}
