//! The timing diagrams of the documents are what `make diagrams` draws now. The model is that of the tests of `--trace`.
#![cfg(feature = "wave")]

#[path = "../../wave/tests/drawing/mod.rs"]
mod drawing;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use drawing::Drawing;

fn pictures(folder: &Path) -> BTreeMap<String, String> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap());
    files
        .map(|file| {
            let name = file.file_name().into_string().unwrap();
            (name, fs::read_to_string(file.path()).unwrap())
        })
        .collect()
}

/// Names of pictures that differ, or that one side only has.
fn stale(drawn: &BTreeMap<String, String>, kept: &BTreeMap<String, String>) -> Vec<String> {
    let names = drawn.keys().chain(kept.keys());
    let mut stale: Vec<_> = names
        .filter(|name| drawn.get(*name) != kept.get(*name))
        .cloned()
        .collect();
    stale.sort_unstable();
    stale.dedup();
    stale
}

#[test]
fn diagrams_in_documents_are_what_is_drawn_now() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = tempfile::tempdir().unwrap();
    let script = root.join("tools/diagrams.sh");
    let output = Command::new(script)
        .arg(env!("CARGO_BIN_EXE_warpline"))
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut drawn = pictures(folder.path());
    let kept = pictures(&root.join("docs/diagrams"));
    assert_eq!(stale(&drawn, &kept), [""; 0], "run make diagrams");
    assert!(drawn.len() >= 7, "{:?}", drawn.keys());
    for (name, svg) in &drawn {
        assert_eq!(Drawing::read(svg).untidy(), [""; 0], "{name}");
    }
    let one = drawn.get_mut("write.svg").unwrap();
    *one = one.replacen("m_axi_wvalid", "m_axi_wready", 1);
    drawn.remove("segment.svg");
    assert_eq!(stale(&drawn, &kept), ["segment.svg", "write.svg"]);
}
