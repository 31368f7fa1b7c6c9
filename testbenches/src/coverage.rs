//! Coverage of a test run: what the random traffic reached, and which parts of the RTL ran. `make coverage` writes both.
//!
//! ```text
//!  Bins of all widths ────────────────────────────────────────────┐
//!  <WARPLINE_COVERAGE>/<width>-*.dat ─► Coverage of each width ───┼─► Report ─► docs/coverage.md, docs/coverage.json
//!  coverage-waivers.json: lines that cannot run ──────────────────┘       └─► problems: bins and lines that nothing reached
//! ```
//!
//! Each width has a text of its own, so widths are never added up. A line is named by its block and its text, so that a
//! waiver lives until the line itself changes; a waiver of a line that ran, or is gone, is a problem, too. Toggles are
//! counted and not enforced: constants and widths leave many bits still.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use warpline_hdl::Config;
use warpline_sim::{Card, CardOptions};
use warpline_verilate::coverage::{Coverage, Kind};

use crate::scenario::{Bins, PLACES};

/// Environment variable that names the directory for coverage data; tests that look at it count what they run.
pub const DIRECTORY: &str = "WARPLINE_COVERAGE";

/// Where coverage data go, if they are wanted.
#[must_use]
pub fn directory() -> Option<PathBuf> {
    std::env::var_os(DIRECTORY).map(PathBuf::from)
}

/// Environment variable with the widths that are counted, all unless it is set.
pub const WIDTHS: &str = "WARPLINE_COVERAGE_WIDTHS";

/// Widths that are counted.
///
/// # Errors
/// A word of [`WIDTHS`] that is no number.
pub fn widths() -> Result<Vec<usize>, Box<dyn std::error::Error>> {
    let words = std::env::var(WIDTHS).unwrap_or_default();
    let words = words.split_whitespace();
    let widths: Result<Vec<usize>, _> = words
        .map(|word| {
            let refused = |error| format!("{WIDTHS}: {word:?}: {error}; give widths of the bus");
            word.parse().map_err(refused)
        })
        .collect();
    let widths = widths?;
    Ok(if widths.is_empty() {
        vec![64, 128, 256, 512]
    } else {
        widths
    })
}

/// Widths at which tests open the whole device: those that are counted, or else the narrowest and the widest.
///
/// # Errors
/// As [`widths`].
pub fn tested() -> Result<Vec<usize>, Box<dyn std::error::Error>> {
    match directory() {
        Some(_) => widths(),
        None => Ok(vec![64, 512]),
    }
}

/// Opens a card for a test. It counts if that is wanted of its device: another configuration than the one that is reported
/// has other lines.
///
/// # Errors
/// Those of the card, and of [`widths`].
pub fn open(
    config: &Config,
    options: CardOptions,
) -> Result<(Card, Option<Counted>), Box<dyn std::error::Error>> {
    let width = config.width;
    let coverage =
        directory().is_some() && *config == Config::simulated(width) && widths()?.contains(&width);
    let card = Card::open(
        config,
        CardOptions {
            coverage,
            ..options
        },
    )?;
    let counted = coverage.then(|| Counted(card.clone(), width));
    Ok((card, counted))
}

/// Keeps what a card of a width that was opened with `coverage` has counted, if that is wanted.
///
/// # Errors
/// Those of the card, and of the directory.
fn keep(card: &Card, width: usize) -> Result<(), Box<dyn std::error::Error>> {
    static CARDS: AtomicUsize = AtomicUsize::new(0);
    let Some(directory) = directory() else {
        return Ok(());
    };
    std::fs::create_dir_all(&directory)?;
    let number = CARDS.fetch_add(1, Ordering::Relaxed);
    let name = format!("{width}-{}-{number}.dat", std::process::id());
    Ok(card.coverage_write(directory.join(name))?)
}

/// What the cards of a width have left in a directory.
///
/// # Errors
/// Those of the directory and its files.
pub fn kept(directory: &Path, width: usize) -> Result<Coverage, Box<dyn std::error::Error>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(&format!("{width}-")) {
            files.push(path);
        }
    }
    Ok(Coverage::read_all(files)?)
}

/// A card whose counts are kept when nobody needs it any more, and its width.
#[derive(Clone)]
pub struct Counted(Card, usize);

impl Drop for Counted {
    fn drop(&mut self) {
        // After a failure nobody looks at them; otherwise the report lacks what is not kept, and says so.
        if let Err(error) = keep(&self.0, self.1)
            && !std::thread::panicking()
        {
            eprintln!("coverage is lost: {error}");
        }
    }
}

/// A line that cannot run, or several with the same text.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Waiver {
    /// Widths of the devices in which it cannot.
    pub widths: Vec<usize>,
    /// Its module.
    pub block: String,
    /// What of it: `if`, `else`, `case`, ...
    pub part: String,
    /// Its text without the space around it.
    pub line: String,
    /// The same of the line behind it, where several lines of the block have that text.
    #[serde(default)]
    pub next: Option<String>,
    /// Lines of the block that this tells from all others.
    #[serde(default = "one")]
    pub lines: usize,
    /// Why it cannot run.
    pub reason: String,
}

fn one() -> usize {
    1
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

impl Block {
    fn add(&mut self, other: &Self) {
        for (sum, part) in [
            (&mut self.lines, other.lines),
            (&mut self.toggles, other.toggles),
        ] {
            sum.hit += part.hit;
            sum.total += part.total;
        }
        self.waived += other.waived;
    }
}

/// What was counted in the devices of a width.
pub struct Run {
    /// Width.
    pub width: usize,
    /// Counts of all its devices.
    pub coverage: Coverage,
    /// Its sources.
    pub texts: HashMap<String, String>,
}

/// All of it.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Names the code of all devices: `key_of` of `warpline-design`.
    pub text: String,
    /// Streams of each width.
    pub streams: usize,
    /// Widths.
    pub widths: Vec<usize>,
    /// Group, bin and count.
    pub bins: Vec<(String, String, u64)>,
    /// By width and module.
    pub blocks: BTreeMap<usize, BTreeMap<String, Block>>,
    /// What has to be reached and was not.
    pub problems: Vec<String>,
}

impl Run {
    /// Adds up each block; lines that never ran and are not waived are problems, and so are waivers of lines that ran, or of
    /// none.
    fn blocks(&self, waivers: &[Waiver], problems: &mut Vec<String>) -> BTreeMap<String, Block> {
        let width = self.width;
        let mut blocks: BTreeMap<String, Block> = BTreeMap::new();
        let mut used = vec![0; waivers.len()];
        for (point, count) in self.coverage.points() {
            let name = point.file.trim_end_matches(".sv");
            let block = blocks.entry(name.to_owned()).or_default();
            let share = match point.kind {
                Kind::Toggle => &mut block.toggles,
                _ => &mut block.lines,
            };
            share.total += 1;
            share.hit += usize::from(count > 0);
            if point.kind == Kind::Toggle {
                continue;
            }
            let text = self.texts.get(&point.file).map_or("", String::as_str);
            let mut lines = text.lines().skip((point.line as usize).saturating_sub(1));
            let [line, next] = [(); 2].map(|()| lines.next().unwrap_or_default().trim());
            let is_of = |waiver: &Waiver| {
                waiver.widths.contains(&width)
                    && (&*waiver.block, &*waiver.part, &*waiver.line)
                        == (name, &*point.comment, line)
                    && waiver.next.as_deref().is_none_or(|text| text == next)
            };
            let waiver = waivers.iter().position(is_of);
            if let Some(index) = waiver {
                used[index] += 1;
            }
            let place = format!("{name}, line {}, {}: {line}", point.line, point.comment);
            match (waiver, count) {
                (Some(_), 0) => block.waived += 1,
                (None, 0) => problems.push(format!("never ran at {width} bits: {place}")),
                (Some(_), _) => {
                    problems.push(format!("waived at {width} bits, but it ran: {place}"))
                }
                (None, _) => {}
            }
        }
        for (waiver, used) in waivers.iter().zip(used) {
            let Waiver {
                block, part, line, ..
            } = waiver;
            let named = format!("{block}, {part}: {line}");
            if waiver.widths.contains(&width) && used != waiver.lines {
                problems.push(format!(
                    "waived at {width} bits, but of such lines there are {used}, not {}: {named}",
                    waiver.lines
                ));
            }
            if waiver.reason.trim().is_empty() {
                problems.push(format!("waived without a reason: {named}"));
            }
        }
        blocks
    }
}

impl Report {
    /// Adds everything up; `text` names the code.
    #[must_use]
    pub fn new(
        text: String,
        streams: usize,
        widths: &[usize],
        bins: &Bins,
        runs: &[Run],
        waivers: &[Waiver],
    ) -> Self {
        let empty = bins.empty(widths);
        let mut problems: Vec<String> = empty
            .into_iter()
            .map(|bin| format!("never reached: {bin}"))
            .collect();
        let mut blocks = BTreeMap::new();
        for run in runs {
            blocks.insert(run.width, run.blocks(waivers, &mut problems));
        }
        Self {
            text,
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
            "## What random streams reach\n\n{} streams or more at each of {} bits, and those of later seeds that reach what these did not. A bin that has to be reached\nand is not fails the run; at each width all of them are looked for.\n",
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
        if let Some(bins) = groups.remove(PLACES) {
            places(&mut page, &bins);
        }
        for (group, bins) in groups.iter().filter(|(_, bins)| bins.len() <= 60) {
            let _ = writeln!(page, "\n### {group}\n\n| bin | count |\n|---|---:|");
            for (bin, count) in bins {
                let _ = writeln!(page, "| {bin} | {count} |");
            }
        }
        page.push_str(
            "\n## Which parts of the RTL run\n\nRandom streams and the directed tests of the whole device. Lines are blocks of statements and branches; those that cannot\nrun are waived with a reason in `testbenches/coverage-waivers.json`. A toggle is a bit that rises, or one that falls; they are\ncounted at 64 bits only, and not in signals of more than 256 bits.\n\n| bits | lines | waived | toggles |\n|---:|---:|---:|---:|\n",
        );
        if self.blocks.is_empty() {
            page.push_str("| not counted in this run | | | |\n");
            return page;
        }
        let row = |page: &mut String, name: &str, block: &Block| {
            let [lines, toggles] = [block.lines, block.toggles].map(|share| match share.total {
                0 => "-".into(),
                total => format!(
                    "{} of {total}, {:.1} %",
                    share.hit,
                    100.0 * share.hit as f64 / total as f64
                ),
            });
            let _ = writeln!(page, "| {name} | {lines} | {} | {toggles} |", block.waived);
        };
        for (width, blocks) in &self.blocks {
            let mut sum = Block::default();
            for block in blocks.values() {
                sum.add(block);
            }
            row(&mut page, &width.to_string(), &sum);
        }
        for (width, blocks) in &self.blocks {
            let _ = writeln!(
                page,
                "\n### {width} bits\n\n| block | lines | waived | toggles |\n|---|---:|---:|---:|"
            );
            for (name, block) in blocks {
                row(&mut page, name, block);
            }
        }
        page
    }
}

/// Errors by place: a row for each error and width, a column for each place.
fn places(page: &mut String, bins: &[(&str, u64)]) {
    let parts = |bin: &str| -> Option<(String, String)> {
        let mut commas = bin.match_indices(", ");
        let (at, _) = commas.nth(1)?;
        Some((bin[..at].to_owned(), bin[at + 2..].to_owned()))
    };
    let mut rows: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    let mut columns = BTreeSet::new();
    for (bin, count) in bins {
        if let Some((row, column)) = parts(bin) {
            columns.insert(column.clone());
            rows.entry(row).or_default().insert(column, *count);
        }
    }
    let _ = write!(page, "\n### {PLACES}\n\n| error |");
    for column in &columns {
        let _ = write!(page, " {column} |");
    }
    let _ = writeln!(page, "\n|---|{}", "---:|".repeat(columns.len()));
    for (row, counts) in rows {
        let _ = write!(page, "| {row} |");
        for column in &columns {
            let _ = write!(page, " {} |", counts.get(column).copied().unwrap_or(0));
        }
        page.push('\n');
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

    /// Devices whose line 2 ran at 128 bits only, and stands one line further there.
    fn report(waivers: &[Waiver]) -> Report {
        let point = |line: u32, page: &str, count: u32| {
            format!(
                "C '\u{1}f\u{2}a.sv\u{1}l\u{2}{line}\u{1}n\u{2}3\u{1}page\u{2}{page}/a\u{1}o\u{2}if' {count}\n"
            )
        };
        let run = |width, first, text: &str| {
            let points = point(1, "v_line", 5)
                + &point(first, "v_branch", u32::from(first > 2))
                + &point(first + 1, "v_toggle", 0);
            Run {
                width,
                coverage: Coverage::parse(&points).unwrap(),
                texts: HashMap::from([("a.sv".to_owned(), text.to_owned())]),
            }
        };
        let runs = [
            run(64, 2, "one\n  two\nthree\n"),
            run(128, 3, "one\n\n  two\nthree\n"),
        ];
        Report::new("0123".into(), 7, &[], &Bins::default(), &runs, waivers)
    }

    fn waiver(widths: &[usize], part: &str, line: &str) -> Waiver {
        Waiver {
            widths: widths.to_vec(),
            block: "a".into(),
            part: part.into(),
            line: line.into(),
            next: None,
            lines: 1,
            reason: "because".into(),
        }
    }

    /// Problems with lines.
    fn lines(report: &Report) -> Vec<&str> {
        let problems = report.problems.iter().map(String::as_str);
        problems
            .filter(|line| !line.starts_with("never reached"))
            .collect()
    }

    #[test]
    fn a_line_that_never_ran_and_a_bin_that_was_never_reached_are_problems() {
        let found = report(&[]);
        assert_eq!(lines(&found), ["never ran at 64 bits: a, line 2, if: two"]);
        let bins = |line: &&String| line.starts_with("never reached: cuts modulo 512: 511");
        assert_eq!(found.problems.iter().filter(bins).count(), 1);
        let block = found.blocks[&64]["a"];
        assert_eq!((block.lines, block.waived), (Share { hit: 1, total: 2 }, 0));
        assert_eq!(block.toggles, Share { hit: 0, total: 1 });
        let page = found.markdown();
        let bins = [
            ("0x1/0x02, 64 bits, markers on, begins", 3),
            ("0x1/0x02, 128 bits, markers off, ends", 4),
        ];
        let mut matrix = String::new();
        places(&mut matrix, &bins);
        let expected = "| error | markers off, ends | markers on, begins |\n|---|---:|---:|\n\
                        | 0x1/0x02, 128 bits | 4 | 0 |\n| 0x1/0x02, 64 bits | 0 | 3 |\n";
        assert!(matrix.ends_with(expected), "{matrix}");
        for row in [
            "| 64 | 1 of 2, 50.0 % | 0 | 0 of 1, 0.0 % |",
            "| a | 1 of 2, 50.0 % | 0 | 0 of 1, 0.0 % |",
            "| 128 | 2 of 2, 100.0 % | 0 | 0 of 1, 0.0 % |",
        ] {
            assert!(page.contains(row), "{page}");
        }
    }

    #[test]
    fn a_waiver_counts_while_its_line_does_not_run() {
        let found = report(&[waiver(&[64], "if", "two")]);
        assert_eq!((lines(&found), found.blocks[&64]["a"].waived), (vec![], 1));
        let found = report(&[waiver(&[64, 128], "if", "two")]);
        assert_eq!(
            lines(&found),
            ["waived at 128 bits, but it ran: a, line 3, if: two"]
        );
        let found = report(&[waiver(&[64], "else", "two")]);
        assert_eq!(
            lines(&found),
            [
                "never ran at 64 bits: a, line 2, if: two",
                "waived at 64 bits, but of such lines there are 0, not 1: a, else: two"
            ]
        );
    }

    #[test]
    fn a_waiver_may_name_the_line_behind_it_counts_its_lines_and_has_a_reason() {
        let behind = |next: &str| Waiver {
            next: Some(next.into()),
            ..waiver(&[64], "if", "two")
        };
        assert_eq!(lines(&report(&[behind("three")])), [""; 0]);
        assert_eq!(lines(&report(&[behind("one")])).len(), 2);
        let two = Waiver {
            lines: 2,
            ..waiver(&[64], "if", "two")
        };
        assert_eq!(
            lines(&report(&[two])),
            ["waived at 64 bits, but of such lines there are 1, not 2: a, if: two"]
        );
        let without = Waiver {
            reason: " ".into(),
            ..waiver(&[64], "if", "two")
        };
        let found = report(&[without]);
        assert_eq!(lines(&found)[0], "waived without a reason: a, if: two");
    }

    /// Those of the device name lines that are there, and say how many.
    #[test]
    fn the_waivers_of_the_device_name_their_lines() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("coverage-waivers.json");
        let waivers = waivers(&path).unwrap();
        assert!(!waivers.is_empty());
        for width in [64, 128, 256, 512] {
            let texts = warpline_design::design(&Config::simulated(width)).unwrap();
            let texts: HashMap<_, _> = texts.files().into_iter().collect();
            for waiver in waivers
                .iter()
                .filter(|waiver| waiver.widths.contains(&width))
            {
                let text = texts.get(&format!("{}.sv", waiver.block));
                let text = text.unwrap_or_else(|| panic!("{waiver:?}: no such block"));
                let lines: Vec<_> = text.lines().map(str::trim).collect();
                let matching = lines.windows(2).filter(|two| {
                    two[0] == waiver.line
                        && waiver.next.as_deref().is_none_or(|next| next == two[1])
                });
                assert_eq!(matching.count(), waiver.lines, "{width} bits: {waiver:?}");
            }
        }
    }

    #[test]
    fn data_of_each_width_are_read_alone() {
        let directory = tempfile::tempdir().unwrap();
        for (name, count) in [("64-1-0.dat", 1), ("64-1-1.dat", 2), ("128-1-0.dat", 4)] {
            let text = format!("C '\u{1}f\u{2}a.sv\u{1}l\u{2}1\u{1}page\u{2}v_line/a' {count}\n");
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        for (width, count) in [(64, 3), (128, 4)] {
            let kept = kept(directory.path(), width).unwrap();
            assert_eq!(kept.points().map(|(_, n)| n).collect::<Vec<_>>(), [count]);
        }
    }
}
