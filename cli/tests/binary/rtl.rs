//! `warpline rtl`: what it writes, and what it leaves alone.

use super::*;

/// What `warpline rtl` writes beside the modules.
const BESIDE: [&str; 12] = [
    "warpline.f",
    "warpline.core",
    "Bender.yml",
    "registers.rdl",
    "warpline_instance.svh",
    "warpline_registers_example.sv",
    "warpline.h",
    "warpline.xml",
    "warpline.sdc",
    "warpline.xdc",
    "LICENSE-MIT",
    "LICENSE-APACHE",
];

#[test]
fn rtl_is_one_file_a_module_and_a_list() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/rtl");
    let output = warpline(&["rtl", "--width", "128", "--out", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let list = fs::read_to_string(out.join("warpline.f")).unwrap();
    let mut listed: Vec<_> = list.lines().map(str::to_owned).collect();
    assert_eq!(listed.last().unwrap(), "warpline.sv", "the top comes last");
    let packages = ["warpline_pkg.sv", "warpline_types.sv"];
    assert_eq!(listed[..2], packages, "packages come first");
    for file in &listed[2..] {
        let text = fs::read_to_string(out.join(file)).unwrap();
        let name = file.strip_suffix(".sv").unwrap();
        let modules: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("module "))
            .collect();
        assert_eq!(modules.len(), 1, "{file}");
        let declared = modules[0].trim_start_matches("module ");
        let end = declared.find(|c: char| !c.is_alphanumeric() && c != '_');
        assert_eq!(&declared[..end.unwrap_or(declared.len())], name);
    }
    let mut written: Vec<_> = fs::read_dir(&out)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|file| !BESIDE.contains(&file.as_str()))
        .collect();
    listed.sort_unstable();
    written.sort_unstable();
    assert_eq!(written, listed);
    let registers = fs::read_to_string(out.join("registers.rdl")).unwrap();
    assert!(registers == include_str!("../../../docs/registers.rdl"));
    let prefixed = folder.path().join("prefixed");
    let arguments = ["rtl", "--width", "128", "--prefix", "nic", "--out"];
    let output = warpline(&[&arguments[..], &[prefixed.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout)
            .contains("top module nic_warpline, to copy from nic_warpline_instance.svh;")
    );
    let listing = fs::read_to_string(prefixed.join("nic_warpline.f")).unwrap();
    let with_prefix = list.lines().map(|name| format!("nic_{name}\n"));
    assert_eq!(listing, with_prefix.collect::<Vec<_>>().concat());
    let registers = fs::read_to_string(prefixed.join("nic_registers.rdl")).unwrap();
    assert!(registers.contains("\naddrmap nic_warpline {"));
    assert!(prefixed.join("nic_warpline.h").exists() && !prefixed.join("warpline.h").exists());
    let top = |out: &Path| fs::read_to_string(out.join("warpline.sv")).unwrap();
    let many = folder.path().join("many");
    let arguments = ["rtl", "--width", "128", "--streams", "16", "--out"];
    let output = warpline(&[&arguments[..], &[many.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let streams = |out: &Path| top(out).matches("edge_sequence_").count();
    assert_eq!(streams(&many), 4 * streams(&out));
    // with the rings of a bitstream, the text is that of a bitstream
    let small = folder.path().join("small");
    let arguments = ["rtl", "--width", "128", "--ring-octets", "16384", "--out"];
    let output = warpline(&[&arguments[..], &[small.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let bitstream = warpline_design::design(&warpline_synth::config(128)).unwrap();
    let read = |out: &Path, name: &str| fs::read_to_string(out.join(name)).unwrap();
    let mut others = 0;
    for (name, text) in bitstream.sources() {
        assert!(read(&small, &name) == text, "{name}");
        others += usize::from(read(&out, &name) != text);
    }
    assert!(others > 0, "larger rings change the text");
    // IDs change the top only
    let ids = folder.path().join("ids");
    let arguments = ["rtl", "--width", "128", "--axi-ids", "6", "--out"];
    let output = warpline(&[&arguments[..], &[ids.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for file in &listed {
        let same = read(&out, file) == read(&ids, file);
        assert_eq!(same, file != "warpline.sv", "{file}");
    }
    assert!(top(&ids).contains("output logic [5:0] m_axi_awid,\n"));
    assert!(!top(&out).contains("m_axi_awid"));
}

#[test]
fn rtl_that_cannot_be_written_as_a_whole_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let rtl = |width| ["rtl", "--width", width, "--out", out];
    assert_eq!(warpline(&rtl("64")).status.code(), Some(0));
    let top = || fs::read_to_string(folder.path().join("warpline.sv")).unwrap();
    let before = top();
    let list = folder.path().join("warpline.f");
    fs::remove_file(&list).unwrap();
    fs::create_dir(&list).unwrap();
    unusable(&rtl("512"), "warpline.f: cannot write");
    fs::remove_dir(&list).unwrap();
    pipe(&list);
    unusable(&rtl("512"), "a pipe, give a file");
    assert!(top() == before);
}

/// A shell's size limit gives an error, as a full disk does.
#[test]
fn a_file_that_may_not_grow_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let script = "ulimit -f 1; exec \"$0\" rtl --width 64 --out \"$1\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_warpline")]);
    let output = command.arg(folder.path().join("rtl")).output().unwrap();
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("File too large"), "{complaint}");
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
    let left = fs::read_dir(folder.path().join("rtl")).unwrap();
    assert_eq!(left.count(), 0, "a part of the device");
}
