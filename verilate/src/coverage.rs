//! Coverage data: read the files of models, merge, count, list what was not reached.
//!
//! One process writes one file per model; a whole test run is their sum:
//!
//! ```text
//!   a.dat ──┐
//!   b.dat ──┼─► Coverage::merge ─► summary(), unhit(), write()
//!   c.dat ──┘
//! ```
//!
//! A file has one line per point, `C '<keys and values>' <count>`, where octet 1 precedes a key and octet 2 its value.
//! Points are the same when all but their hierarchy agrees: instances of a module count together, as in Verilator itself.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::{self, Write as _},
    fs,
    path::Path,
};

use crate::error::{Error, at};

const FIRST_LINE: &str = "# SystemC::Coverage-3";

/// What a point observes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A block of statements ran.
    Line,
    /// A branch was taken (or, as a separate point, not taken).
    Branch,
    /// A bit rose or fell.
    Toggle,
    /// Any other of Verilator's kinds, by its name: `user`, `expr`, …
    Other(String),
}

impl Kind {
    /// From the page, which is `v_<kind>/<module>`.
    fn of_page(page: &str) -> Self {
        let kind = page.split('/').next().unwrap_or_default();
        match kind.strip_prefix("v_").unwrap_or(kind) {
            "line" => Self::Line,
            "branch" => Self::Branch,
            "toggle" => Self::Toggle,
            other => Self::Other(other.into()),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Line => "line",
            Self::Branch => "branch",
            Self::Toggle => "toggle",
            Self::Other(name) => name,
        })
    }
}

/// A place in a source that coverage observes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Name of the source.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// What is observed.
    pub kind: Kind,
    /// Module, with its parameters when Verilator made variants.
    pub module: String,
    /// Verilator's name of the point: `block`, `if`, `else`, `case`, or signal and bit.
    pub comment: String,
    /// The lines that belong to it, such as `4-6,9`; empty for toggles.
    pub lines: String,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            column,
            kind,
            module,
            comment,
            ..
        } = self;
        write!(f, "{file}:{line}:{column}: {kind} {comment} in {module}")
    }
}

/// Points reached and all points, of one kind in one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Name of the source.
    pub file: String,
    /// Kind of point.
    pub kind: Kind,
    /// Points that were reached at least once.
    pub hit: usize,
    /// All points.
    pub total: usize,
}

/// A set of points with their counts. It starts empty; merging adds counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Ordered by place.
    points: BTreeMap<(String, u32, u32, String), Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    point: Point,
    /// Keys and values as read, in order, including unknown keys.
    fields: Vec<(String, String)>,
    count: u64,
}

impl Coverage {
    /// Reads one file.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::CoverageFormat`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        Self::parse(&fs::read_to_string(path).map_err(at(path))?)
    }

    /// Reads and merges many files. Files of one model differ in their counts only, so equal lines are added before
    /// parsing, which takes much longer.
    ///
    /// # Errors
    /// As [`read`](Self::read), of a file that fails.
    pub fn read_all<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, Error> {
        let mut lines: HashMap<String, Entry> = HashMap::new();
        for path in paths {
            let path = path.as_ref();
            let text = fs::read_to_string(path).map_err(at(path))?;
            for (i, line) in point_lines(&text) {
                let (point, count) = line.rsplit_once(' ').ok_or_else(|| damaged(i, line))?;
                if let Some(known) = lines.get_mut(point) {
                    let count: u64 = count.parse().map_err(|_| damaged(i, line))?;
                    known.count = known.count.saturating_add(count);
                } else {
                    let entry = entry(line).ok_or_else(|| damaged(i, line))?;
                    lines.insert(point.to_owned(), entry);
                }
            }
        }
        // in order: of points that differ in their hierarchy the first one is kept
        let lines: BTreeMap<_, _> = lines.into_iter().collect();
        let mut coverage = Self::default();
        lines.into_values().for_each(|entry| coverage.add(entry));
        Ok(coverage)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// [`Error::CoverageFormat`] with the first malformed line.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut coverage = Self::default();
        for (i, line) in point_lines(text) {
            let entry = entry(line).ok_or_else(|| damaged(i, line))?;
            coverage.add(entry);
        }
        Ok(coverage)
    }

    /// Adds the counts of `other`; points of one side only are kept.
    pub fn merge(&mut self, other: Self) {
        other.points.into_values().for_each(|entry| self.add(entry));
    }

    fn add(&mut self, new: Entry) {
        // The hierarchy is the only field in which equal points may differ.
        let identity = new.fields.iter().filter(|(key, _)| key != "h");
        let identity = identity
            .map(|(key, value)| format!("{key}\u{2}{value}\u{1}"))
            .collect();
        let key = (
            new.point.file.clone(),
            new.point.line,
            new.point.column,
            identity,
        );
        self.points
            .entry(key)
            .and_modify(|known| known.count = known.count.saturating_add(new.count))
            .or_insert(new);
    }

    /// All points with their counts, ordered by file, line and column.
    pub fn points(&self) -> impl Iterator<Item = (&Point, u64)> {
        self.points
            .values()
            .map(|entry| (&entry.point, entry.count))
    }

    /// The points that were not reached, in the same order.
    pub fn unhit(&self) -> impl Iterator<Item = &Point> {
        self.points()
            .filter(|(_, count)| *count == 0)
            .map(|(point, _)| point)
    }

    /// Points reached and all points, per file and kind, ordered by both.
    pub fn summary(&self) -> Vec<Summary> {
        let mut totals = BTreeMap::new();
        for (point, count) in self.points() {
            let (hit, total) = totals.entry((&point.file, &point.kind)).or_insert((0, 0));
            *total += 1;
            *hit += usize::from(count > 0);
        }
        let summary = |((file, kind), (hit, total)): ((&String, &Kind), _)| Summary {
            file: file.clone(),
            kind: kind.clone(),
            hit,
            total,
        };
        totals.into_iter().map(summary).collect()
    }

    /// The data in Verilator's format, which [`parse`](Self::parse) and Verilator's own tools read.
    pub fn to_dat(&self) -> String {
        let mut text = format!("{FIRST_LINE}\n");
        for entry in self.points.values() {
            text.push_str("C '");
            for (key, value) in &entry.fields {
                let _ = write!(text, "\u{1}{key}\u{2}{value}");
            }
            let _ = writeln!(text, "' {}", entry.count);
        }
        text
    }

    /// Writes [`to_dat`](Self::to_dat) into a file.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        fs::write(&path, self.to_dat()).map_err(at(path.as_ref()))
    }
}

/// The lines of a file that hold points, and their numbers from 0.
fn point_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate();
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// The error of a malformed line.
fn damaged(index: usize, line: &str) -> Error {
    Error::CoverageFormat {
        line: index + 1,
        text: line.into(),
    }
}

/// One line of a file; `None` when it is malformed.
fn entry(line: &str) -> Option<Entry> {
    let (text, count) = line.strip_prefix("C '")?.rsplit_once("' ")?;
    let count = count.parse().ok()?;
    let mut fields = Vec::new();
    for field in text.strip_prefix('\u{1}')?.split('\u{1}') {
        let (key, value) = field.split_once('\u{2}')?;
        fields.push((key.to_owned(), value.to_owned()));
    }
    let value = |key: &str| {
        fields
            .iter()
            .find(|(k, _)| k == key)
            .map(|(_, value)| value.as_str())
    };
    let text = |key: &str| value(key).unwrap_or_default().to_owned();
    let page = value("page")?;
    let point = Point {
        file: value("f")?.into(),
        line: value("l")?.parse().ok()?,
        column: value("n").map_or(Some(0), |n| n.parse().ok())?,
        kind: Kind::of_page(page),
        module: page.split_once('/').map_or("", |(_, module)| module).into(),
        comment: text("o"),
        lines: text("S"),
    };
    Some(Entry {
        point,
        fields,
        count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(file: &str, line: u32, page: &str, hierarchy: &str, count: &str) -> String {
        format!(
            "C '\u{1}f\u{2}{file}\u{1}l\u{2}{line}\u{1}n\u{2}3\u{1}page\u{2}{page}\u{1}o\u{2}if\u{1}h\u{2}{hierarchy}' {count}\n"
        )
    }

    #[test]
    fn counts_add_up_across_files_and_instances() {
        let a = line("a.sv", 4, "v_line/a", "TOP.x", "2")
            + &line("a.sv", 9, "v_branch/a", "TOP.x", "0");
        let b = line("a.sv", 4, "v_line/a", "TOP.y", "3")
            + &line("b.sv", 1, "v_toggle/b", "TOP.y", "0");
        let mut all = Coverage::parse(&a).unwrap();
        all.merge(Coverage::parse(&b).unwrap());
        let counts: Vec<_> = all
            .points()
            .map(|(p, n)| (p.file.as_str(), p.line, n))
            .collect();
        assert_eq!(counts, [("a.sv", 4, 5), ("a.sv", 9, 0), ("b.sv", 1, 0)]);
        let rows: Vec<_> = all
            .summary()
            .iter()
            .map(|s| (s.file.clone(), s.kind.clone(), s.hit, s.total))
            .collect();
        let file = |name: &str| name.to_owned();
        assert_eq!(
            rows,
            [
                (file("a.sv"), Kind::Line, 1, 1),
                (file("a.sv"), Kind::Branch, 0, 1),
                (file("b.sv"), Kind::Toggle, 0, 1)
            ]
        );
        let unhit: Vec<_> = all.unhit().map(ToString::to_string).collect();
        assert_eq!(
            unhit,
            ["a.sv:9:3: branch if in a", "b.sv:1:3: toggle if in b"]
        );
    }

    #[test]
    fn many_files_read_together_are_the_sum_of_each() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let a =
            line("a.sv", 4, "v_line/a", "TOP.x", "2") + &line("b.sv", 1, "v_line/b", "TOP", "0");
        let b =
            line("a.sv", 4, "v_line/a", "TOP.x", "3") + &line("a.sv", 4, "v_line/a", "TOP.y", "7");
        let paths = [write("a", &format!("{FIRST_LINE}\n{a}")), write("b", &b)];
        let mut sum = Coverage::parse(&a).unwrap();
        sum.merge(Coverage::parse(&b).unwrap());
        assert_eq!(Coverage::read_all(&paths).unwrap(), sum);
        assert_eq!(sum.points().map(|(_, n)| n).collect::<Vec<_>>(), [12, 0]);
        for bad in ["hello", "C '' 1", &a.replacen("' 2", "' x", 1)] {
            let damaged = write("c", &format!("{b}{}\n", bad.lines().next().unwrap()));
            let read = Coverage::read_all([&paths[0], &damaged]);
            assert!(
                matches!(read, Err(Error::CoverageFormat { line: 3, .. })),
                "{bad}"
            );
        }
    }

    #[test]
    fn written_data_reads_back_equal_with_unknown_keys() {
        let text = line(
            "a.sv",
            4,
            "v_user/a",
            "TOP.x\u{1}zz\u{2}it's 'odd' 7",
            "18446744073709551615",
        );
        let read = Coverage::parse(&text).unwrap();
        assert_eq!(Coverage::parse(&read.to_dat()).unwrap(), read);
        assert!(read.to_dat().contains("zz\u{2}it's 'odd' 7"));
        let mut twice = read.clone();
        twice.merge(read); // saturates
        assert_eq!(twice.points().next().unwrap().1, u64::MAX);
    }

    #[test]
    fn damaged_lines_are_named() {
        let good = line("a.sv", 4, "v_line/a", "TOP", "1");
        for bad in [
            "C '' 1",
            "C 'x",
            "hello",
            "C '\u{1}f\u{2}a' 1",
            &good.replace("' 1", "' -1"),
            &good.replace("l\u{2}4", "l\u{2}x"),
        ] {
            let text = format!("{FIRST_LINE}\n{good}{bad}\n");
            match Coverage::parse(&text) {
                Err(Error::CoverageFormat { line: 3, text }) => assert_eq!(text, bad.trim_end()),
                other => panic!("{bad:?} gives {other:?}"),
            }
        }
    }
}
