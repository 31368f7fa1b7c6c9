//! Coverage of a test run: what the random traffic reached, and which parts of the RTL ran. `make coverage` writes both.
//!
//! ```text
//!  Bins of all widths ──────────────────────────────┐
//!  <WARPLINE_COVERAGE>/*.dat ─► Coverage, merged ───┼─► Report ─► docs/coverage.md, docs/coverage.json
//!  coverage-waivers.json: lines that cannot run ────┘       └─► problems: bins and lines that nothing reached
//! ```
//!
//! A line is named by its block and its text, so that a waiver lives until the line itself changes; a waiver of a line
//! that ran, or is gone, is a problem, too. Toggles are counted and not enforced: constants and widths leave many bits
//! still.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use warpline_sim::Card;
use warpline_verilate::coverage::{Coverage, Kind};

use crate::scenario::Bins;

/// Environment variable that names the directory for coverage data; tests that look at it count what they run.
pub const DIRECTORY: &str = "WARPLINE_COVERAGE";

/// Where coverage data go, if they are wanted.
#[must_use]
pub fn directory() -> Option<PathBuf> {
    std::env::var_os(DIRECTORY).map(PathBuf::from)
}

/// Keeps what a card that was opened with `coverage` has counted, if that is wanted.
///
/// # Errors
/// Those of the card, and of the directory.
pub fn keep(card: &Card) -> Result<(), Box<dyn std::error::Error>> {
    static CARDS: AtomicUsize = AtomicUsize::new(0);
    let Some(directory) = directory() else {
        return Ok(());
    };
    std::fs::create_dir_all(&directory)?;
    let number = CARDS.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}-{number}.dat", std::process::id());
    Ok(card.coverage_write(directory.join(name))?)
}

/// A card whose counts are kept when nobody needs it any more.
#[derive(Clone)]
pub struct Counted(pub Card);

impl Drop for Counted {
    fn drop(&mut self) {
        // After a failure nobody looks at them; otherwise the report lacks what is not kept, and says so.
        if let Err(error) = keep(&self.0)
            && !std::thread::panicking()
        {
            eprintln!("coverage is lost: {error}");
        }
    }
}

/// A line that cannot run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiver {
    /// Its module.
    pub block: String,
    /// Its text without the space around it.
    pub line: String,
    /// Why it cannot run.
    pub reason: String,
}

/// Reached and existing points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Reached.
    pub hit: usize,
    /// Existing.
    pub total: usize,
}

/// Coverage of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Block {
    /// Blocks of statements and branches.
    pub lines: Share,
    /// Of those that were not reached, the waived ones.
    pub waived: usize,
    /// Bits that rose or fell.
    pub toggles: Share,
}

/// All of it.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Streams of each width.
    pub streams: usize,
    /// Widths.
    pub widths: Vec<usize>,
    /// Group, bin and count.
    pub bins: Vec<(String, String, u64)>,
    /// By module.
    pub blocks: BTreeMap<String, Block>,
    /// What has to be reached and was not.
    pub problems: Vec<String>,
}

impl Report {
    /// Adds everything up. `text` gives the text of a source by its name.
    #[must_use]
    pub fn new(
        streams: usize,
        widths: &[usize],
        bins: &Bins,
        coverage: &Coverage,
        waivers: &[Waiver],
        text: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let empty = bins.empty(widths);
        let mut problems: Vec<String> = empty
            .into_iter()
            .map(|bin| format!("never reached: {bin}"))
            .collect();
        let mut blocks: BTreeMap<String, Block> = BTreeMap::new();
        let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut used = BTreeSet::new();
        for (point, count) in coverage.points() {
            let name = point.file.trim_end_matches(".sv").to_owned();
            let block = blocks.entry(name.clone()).or_default();
            let share = match point.kind {
                Kind::Toggle => &mut block.toggles,
                _ => &mut block.lines,
            };
            share.total += 1;
            share.hit += usize::from(count > 0);
            if count > 0 || point.kind == Kind::Toggle {
                continue;
            }
            let lines = texts.entry(point.file.clone()).or_insert_with(|| {
                let text = text(&point.file).unwrap_or_default();
                text.lines().map(|line| line.trim().to_owned()).collect()
            });
            let line = lines.get((point.line as usize).saturating_sub(1));
            let line = line.map_or("", String::as_str);
            let waiver = waivers
                .iter()
                .position(|waiver| waiver.block == name && waiver.line == line);
            match waiver {
                Some(waiver) => {
                    used.insert(waiver);
                    block.waived += 1;
                }
                None => problems.push(format!("never ran: {point}: {line}")),
            }
        }
        for (index, waiver) in waivers.iter().enumerate() {
            if !used.contains(&index) {
                let Waiver { block, line, .. } = waiver;
                problems.push(format!("waived, but it ran or is gone: {block}: {line}"));
            }
        }
        Self {
            streams,
            widths: widths.to_vec(),
            bins: bins.all(widths),
            blocks,
            problems,
        }
    }

    /// As a page.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut page = String::from(
            "# Coverage\n\nWritten by `make coverage`; the numbers behind it are in [coverage.json](coverage.json).\n\n",
        );
        let widths: Vec<String> = self.widths.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            page,
            "## What random streams reach\n\n{} streams or more at each of {} bits. A bin that has to be reached and is not fails the run.\n",
            self.streams,
            widths.join(", ")
        );
        let mut groups: BTreeMap<&str, Vec<(&str, u64)>> = BTreeMap::new();
        for (group, bin, count) in &self.bins {
            groups.entry(group).or_default().push((bin, *count));
        }
        page.push_str("| group | bins | reached | rarest |\n|---|---:|---:|---|\n");
        for (group, bins) in &groups {
            let reached = bins.iter().filter(|(_, count)| *count > 0).count();
            let rarest = bins.iter().min_by_key(|(_, count)| count);
            let (bin, count) = rarest.copied().unwrap_or_default();
            let _ = writeln!(
                page,
                "| {group} | {} | {reached} | {bin}: {count} |",
                bins.len()
            );
        }
        if !self.problems.is_empty() {
            page.push_str("\nNot reached, and not waived:\n\n");
            for problem in &self.problems {
                let _ = writeln!(page, "- {problem}");
            }
        }
        for (group, bins) in groups.iter().filter(|(_, bins)| bins.len() <= 60) {
            let _ = writeln!(page, "\n### {group}\n\n| bin | count |\n|---|---:|");
            for (bin, count) in bins {
                let _ = writeln!(page, "| {bin} | {count} |");
            }
        }
        page.push_str(
            "\n## Which parts of the RTL run\n\nRandom streams and the directed tests of the whole device, merged over widths. Lines are blocks of statements and\nbranches; those that cannot run are waived with a reason in `testbenches/coverage-waivers.json`.\n\n| block | lines | waived | toggles |\n|---|---:|---:|---:|\n",
        );
        if self.blocks.is_empty() {
            page.push_str("| not counted in this run | | | |\n");
            return page;
        }
        let share = |share: Share| match share.total {
            0 => "-".into(),
            total => format!(
                "{} of {total}, {:.1} %",
                share.hit,
                100.0 * share.hit as f64 / total as f64
            ),
        };
        let mut sum = Block::default();
        for (name, block) in &self.blocks {
            let (lines, toggles) = (share(block.lines), share(block.toggles));
            let _ = writeln!(page, "| {name} | {lines} | {} | {toggles} |", block.waived);
            for (sum, part) in [
                (&mut sum.lines, block.lines),
                (&mut sum.toggles, block.toggles),
            ] {
                sum.hit += part.hit;
                sum.total += part.total;
            }
            sum.waived += block.waived;
        }
        let (lines, toggles) = (share(sum.lines), share(sum.toggles));
        let _ = writeln!(page, "| all | {lines} | {} | {toggles} |", sum.waived);
        page
    }
}

/// Reads the waivers.
///
/// # Errors
/// Those of the file.
pub fn waivers(path: &Path) -> Result<Vec<Waiver>, Box<dyn std::error::Error>> {
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(waivers: &[Waiver]) -> Report {
        let point = |line: u32, page: &str, count: u32| {
            format!(
                "C '\u{1}f\u{2}a.sv\u{1}l\u{2}{line}\u{1}n\u{2}3\u{1}page\u{2}{page}/a\u{1}o\u{2}if' {count}\n"
            )
        };
        let text = point(1, "v_line", 5) + &point(2, "v_branch", 0) + &point(3, "v_toggle", 0);
        let coverage = Coverage::parse(&text).unwrap();
        let source = |_: &str| Some("one\n  two\nthree\n".to_owned());
        Report::new(7, &[], &Bins::default(), &coverage, waivers, source)
    }

    fn waiver(line: &str) -> Waiver {
        Waiver {
            block: "a".into(),
            line: line.into(),
            reason: "because".into(),
        }
    }

    #[test]
    fn a_line_that_never_ran_and_a_bin_that_was_never_reached_are_problems() {
        let found = report(&[]);
        let lines: Vec<_> = found
            .problems
            .iter()
            .filter(|line| line.contains("a.sv"))
            .collect();
        assert_eq!(lines, ["never ran: a.sv:2:3: branch if in a: two"]);
        let bins = |line: &&String| line.starts_with("never reached: cuts modulo 512: 511");
        assert_eq!(found.problems.iter().filter(bins).count(), 1);
        let block = found.blocks["a"];
        assert_eq!((block.lines, block.waived), (Share { hit: 1, total: 2 }, 0));
        assert_eq!(block.toggles, Share { hit: 0, total: 1 });
        assert!(
            found
                .markdown()
                .contains("| a | 1 of 2, 50.0 % | 0 | 0 of 1, 0.0 % |")
        );
    }

    #[test]
    fn a_waiver_counts_while_its_line_does_not_run() {
        let ran = |report: &Report| {
            let lines = report.problems.iter();
            let lines = lines.filter(|line| !line.starts_with("never reached"));
            lines.cloned().collect::<Vec<_>>()
        };
        let found = report(&[waiver("two")]);
        assert_eq!((ran(&found), found.blocks["a"].waived), (vec![], 1));
        let found = report(&[waiver("two"), waiver("one")]);
        assert_eq!(ran(&found), ["waived, but it ran or is gone: a: one"]);
    }
}
