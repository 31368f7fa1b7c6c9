//! Area and clock in the READMEs equal those in `constraints/reports`.

use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;
use warpline_synth::{Estimate, Report};

const WIDTHS: [usize; 4] = [64, 128, 256, 512];

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::read_to_string(root.join(path)).unwrap()
}

fn report<T: DeserializeOwned>(name: &str, width: usize) -> T {
    serde_json::from_str(&read(&format!("constraints/reports/{name}-w{width}.json"))).unwrap()
}

/// With a comma between thousands.
fn grouped(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", number / 1000, number % 1000),
    }
}

/// With one decimal; reports have two.
fn rounded(number: f64) -> String {
    format!("{:.1}", (number * 10.0).round() / 10.0)
}

/// The cells of a table's row for that width.
fn row(text: &str, width: usize) -> Vec<&str> {
    let start = format!("| {width} |");
    let row = text.lines().find(|line| line.starts_with(&start)).unwrap();
    row.trim_matches('|').split('|').map(str::trim).collect()
}

/// The paragraph that begins so, in one line.
fn paragraph(text: &str, start: &str) -> String {
    let found = text.split("\n\n").find(|part| part.starts_with(start));
    found.unwrap_or_default().replace('\n', " ")
}

/// Figures of the report that the texts lack.
fn missing(report: &Report, readme: &str, constraints: &str) -> Vec<String> {
    let Report { width, .. } = *report;
    let clock = rounded(report.fmax_mhz_min);
    let [lut4, ff, ebr] = [report.lut4, report.ff, report.ebr].map(grouped);
    let cells = row(readme, width);
    let columns = [&lut4, &ff, &ebr, &format!("{clock} MHz")];
    let in_row = columns.into_iter().zip(&cells[1..]);
    let in_row = in_row.filter(|(says, cell)| !cell.starts_with(*says));
    let in_row = in_row.map(|(says, _)| format!("README: {says}"));

    let text = paragraph(constraints, &format!("**The {width}-bit device reaches"));
    let says = [
        format!("reaches {clock} MHz**"),
        format!("{} Gb/s", rounded(report.gbit_per_second)),
        format!(" {lut4} "),
        format!(" {ff} flip-flops"),
        format!(" {ebr} "),
    ];
    let seeds = report.placed.iter().map(|placed| rounded(placed.fmax_mhz));
    let in_text = says.into_iter().chain(seeds);
    let in_text = in_text.filter(|says| !text.contains(says.as_str()));
    let in_text = in_text.map(|says| format!("constraints/README: {says}"));
    in_row.chain(in_text).collect()
}

#[test]
fn bitstreams_are_as_large_and_as_fast_as_is_said() {
    let (readme, constraints) = (read("README.md"), read("constraints/README.md"));
    for width in WIDTHS {
        let report: Report = report("lfe5um5g-85f", width);
        assert_eq!(missing(&report, &readme, &constraints), [""; 0], "{width}");
        let slower = Report {
            fmax_mhz_min: report.fmax_mhz_min - 1.0,
            ff: report.ff + 1,
            ..report
        };
        assert_eq!(missing(&slower, &readme, &constraints).len(), 4, "{width}");
    }
}

/// LUTs that memories of LUTs take on UltraScale+: RAM32M16 and RAM64M8 are a slice of eight.
fn luts_as_memories(estimate: &Estimate) -> u64 {
    let cells = estimate.cells.iter();
    let luts = cells.map(|(kind, count)| match kind.as_str() {
        "RAM32M16" | "RAM64M8" => 8 * count,
        "RAM64X1S" | "SRL16E" => *count,
        _ => 0,
    });
    luts.sum()
}

#[test]
fn estimates_are_what_is_said() {
    let text = read("constraints/README.md");
    let tables = text.split_once("UltraScale+ (`make estimates`)").unwrap().1;
    for width in WIDTHS {
        let estimate: Estimate = report("xcup", width);
        let kinds = ["RAM32M16", "RAM64M8", "RAM64X1S", "SRL16E"];
        let known = kinds.iter().map(|kind| estimate.cells[*kind]);
        assert_eq!(known.sum::<u64>(), estimate.lut_ram, "an unknown memory");
        let says = [
            estimate.lut,
            estimate.carry,
            estimate.ff,
            luts_as_memories(&estimate),
            estimate.ram18,
            estimate.lut_levels as u64,
        ];
        assert_eq!(row(tables, width)[1..7], says.map(grouped), "{width}");
    }
    let estimate: Estimate = report("ecp5", 64);
    let path = estimate.longest_path.as_ref().unwrap();
    let says = format!(
        "{} LUT4, {} carry cells, {} flip-flops, {} memories of LUTs, {} block RAMs and {} LUTs in a row",
        grouped(estimate.lut),
        grouped(estimate.carry),
        grouped(estimate.ff),
        grouped(estimate.lut_ram),
        estimate.ram18,
        estimate.lut_levels,
    );
    let text = paragraph(&text, "`warpline synth --estimate ecp5`");
    assert!(text.contains(&says), "{says}");
    let takes = format!("would take {} ns", rounded(path.ps as f64 / 1000.0));
    assert!(text.contains(&takes), "{takes}");
}
