//! Coverage: written by models in several processes, merged here.

mod common;

use common::{again, cycle, role};
use warpline_verilate::{
    Build, Error, Model,
    coverage::{Coverage, Kind, Summary},
};

/// One two-way branch on `pick`; bit 1 of `y` never moves.
const TEXT: &str = "module chooser(input wire clk, input wire pick, output reg [1:0] y);
  always @(posedge clk)
    if (pick)
      y <= 2'b01;
    else
      y <= 2'b00;
endmodule
";

fn chooser() -> Model {
    let build = Build::new("chooser").source("chooser.sv", TEXT);
    build.line_coverage().toggle_coverage().open().unwrap()
}

/// Four cycles with `pick` as given, then the file.
fn run(pick: bool, path: &str) {
    let mut model = chooser();
    let (clk, port) = (model.port("clk").unwrap(), model.port("pick").unwrap());
    model.set(port, pick.into());
    for _ in 0..4 {
        cycle(&mut model, clk).unwrap();
    }
    model.coverage_write(path).unwrap();
}

fn row(coverage: &Coverage, kind: Kind) -> (usize, usize) {
    let rows: Vec<Summary> = coverage
        .summary()
        .into_iter()
        .filter(|s| s.kind == kind)
        .collect();
    assert_eq!(rows.len(), 1, "{kind}");
    assert_eq!(rows[0].file, "chooser.sv");
    (rows[0].hit, rows[0].total)
}

/// Count of the branch that starts with `comment`.
fn branch(coverage: &Coverage, comment: &str) -> u64 {
    let mut found = coverage
        .points()
        .filter(|(p, _)| p.kind == Kind::Branch && p.comment == comment);
    let (_, count) = found
        .next()
        .unwrap_or_else(|| panic!("no branch {comment}"));
    assert!(found.next().is_none());
    count
}

#[test]
fn two_processes_cover_both_branches() {
    const TEST: &str = "two_processes_cover_both_branches";
    if let Some(role) = role() {
        let (pick, path) = role.split_once(' ').unwrap();
        return run(pick == "1", path);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |pick: &str| folder.path().join(pick).with_extension("dat");
    let children: Vec<_> = ["0", "1"]
        .map(|pick| {
            again(TEST, &format!("{pick} {}", path(pick).display()))
                .spawn()
                .unwrap()
        })
        .into();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }

    let (not_picked, picked) = (
        Coverage::read(path("0")).unwrap(),
        Coverage::read(path("1")).unwrap(),
    );
    assert_eq!(
        (branch(&not_picked, "if"), branch(&not_picked, "else")),
        (0, 4)
    );
    assert_eq!((branch(&picked, "if"), branch(&picked, "else")), (4, 0));
    assert_eq!(row(&picked, Kind::Branch), (1, 2));

    let merged = Coverage::read_all([path("0"), path("1")]).unwrap();
    assert_eq!((branch(&merged, "if"), branch(&merged, "else")), (4, 4));
    assert_eq!(row(&merged, Kind::Branch), (2, 2));
    assert_eq!(row(&merged, Kind::Line), (1, 1));
    let (hit, total) = row(&merged, Kind::Toggle);
    assert!(0 < hit && hit < total, "{hit} of {total}");
    assert!(merged.unhit().all(|point| point.kind == Kind::Toggle));
    assert_eq!(merged.unhit().count(), total - hit);
    assert!(
        merged
            .unhit()
            .any(|point| point.comment.starts_with("y[1]"))
    );
    assert!(!merged.unhit().any(|point| point.comment.starts_with("clk")));

    let written = folder.path().join("merged.dat");
    merged.write(&written).unwrap();
    assert_eq!(Coverage::read(&written).unwrap(), merged);
}

#[test]
fn misuse_of_coverage_is_a_typed_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut plain = Build::new("chooser")
        .source("chooser.sv", TEXT)
        .open()
        .unwrap();
    assert!(matches!(
        plain.coverage_write(folder.path().join("x.dat")),
        Err(Error::NoCoverage)
    ));
    let mut model = chooser();
    assert!(matches!(
        model.coverage_write(folder.path()),
        Err(Error::Io { .. })
    ));
    assert!(matches!(
        Coverage::read(folder.path().join("missing.dat")),
        Err(Error::Io { .. })
    ));
}
