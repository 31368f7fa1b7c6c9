//! The page of planted faults is that of its records, and each survivor that is explained is one.

use std::path::Path;

use warpline_testbenches::mutant_records::{
    self, EQUIVALENT, Explained, Fate, PAGE, SOFTWARE, Software, TEXTS, Texts,
};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn records() -> (Texts, Software) {
    let root = Path::new(ROOT);
    let texts = mutant_records::read(root, TEXTS).unwrap();
    (texts, mutant_records::read(root, SOFTWARE).unwrap())
}

#[test]
fn the_page_is_that_of_the_records() {
    let (texts, software) = records();
    let page = std::fs::read_to_string(Path::new(ROOT).join(PAGE)).unwrap();
    assert!(
        page == mutant_records::page(&texts, &software),
        "it was edited, or a record was: make mutants, make mutants-software"
    );
}

#[test]
fn each_explanation_is_of_a_recorded_survivor() {
    let (_, software) = records();
    let explained: Vec<Explained> = mutant_records::read(Path::new(ROOT), EQUIVALENT).unwrap();
    for Explained { fault, reason } in &explained {
        assert!(!reason.is_empty(), "{fault:?}");
        let mut tried = software.values().flat_map(|sample| &sample.mutants);
        assert!(
            tried.any(|tried| tried.fault == *fault && tried.fate == Fate::Equivalent),
            "{fault:?}"
        );
    }
}

#[test]
fn a_survivor_is_counted_and_shown() {
    let (texts, mut software) = records();
    let before = mutant_records::page(&texts, &software);
    let (name, sample) = software.iter_mut().next().unwrap();
    let mut tried = sample.mutants.iter_mut();
    let tried = tried.find(|tried| tried.fate == Fate::Killed).unwrap();
    tried.fate = Fate::Survived;
    tried.fault.line = "if a || b {".into();
    let shown = format!("| `{}` | `if a \\|\\| b {{` |", tried.fault.file);
    let row = format!("| `{name}` |");
    let after = mutant_records::page(&texts, &software);
    assert!(after.contains(&shown) && !before.contains(&shown));
    let changed: Vec<_> = before
        .lines()
        .filter(|line| !after.contains(line))
        .collect();
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert!(changed[0].starts_with(&row), "{changed:?}");
}
