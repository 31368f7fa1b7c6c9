//! Coverage: written by models in several processes, merged here.

mod common;

use common::{again, cycle, role};
use warpline_verilate::{
    Build, Error, Model,
    coverage::{Coverage, Kind, Summary},
};

/// A branch on the low bit of `pick`, and a case on all of it; the tests pick at most 1, so line 9 is not reached.
const TEXT: &str =
    "module chooser(input wire clk, input wire [1:0] pick, output reg [1:0] y, output reg odd);
  always @(posedge clk) begin
    if (pick[0]) odd <= 1'b1;
    else
      odd <= 1'b0;
    case (pick)
      2'd0: y <= 2'd1;
      2'd1: y <= 2'd2;
      default: y <= 2'd3;
    endcase
  end
endmodule
";

fn chooser() -> Model {
    let build = Build::new("chooser").source("chooser.sv", TEXT);
    build.line_coverage().toggle_coverage().open().unwrap()
}

/// Four cycles with `pick` as given, then the file.
fn run(pick: u64, path: &str) {
    let mut model = chooser();
    let (clk, port) = (model.port("clk").unwrap(), model.port("pick").unwrap());
    model.set(port, pick);
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

fn unreached_lines(coverage: &Coverage) -> Vec<u32> {
    let lines = coverage.unhit().filter(|point| point.kind == Kind::Line);
    lines.map(|point| point.line).collect()
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
        return run(pick.parse().unwrap(), path);
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

    let even = Coverage::read(path("0")).unwrap();
    let odd = Coverage::read(path("1")).unwrap();
    assert_eq!((branch(&even, "if"), branch(&even, "else")), (0, 4));
    assert_eq!((branch(&odd, "if"), branch(&odd, "else")), (4, 0));
    assert_eq!(row(&even, Kind::Branch), (1, 2));
    assert_eq!(row(&even, Kind::Line), (2, 4)); // the block and three cases
    assert_eq!(unreached_lines(&even), [8, 9]);
    assert_eq!(unreached_lines(&odd), [7, 9]);

    let merged = Coverage::read_all([path("0"), path("1")]).unwrap();
    assert_eq!((branch(&merged, "if"), branch(&merged, "else")), (4, 4));
    assert_eq!(row(&merged, Kind::Branch), (2, 2));
    assert_eq!(row(&merged, Kind::Line), (3, 4));
    assert_eq!(unreached_lines(&merged), [9]);
    let (hit, total) = row(&merged, Kind::Toggle); // 6 bits; newer versions count each direction
    assert!(
        0 < hit && hit <= total && (total == 6 || total == 12),
        "{hit} of {total}"
    );
    assert_eq!(merged.unhit().count(), 1 + total - hit);

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
