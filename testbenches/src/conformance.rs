//! Which test shows which requirement: the table behind `docs/conformance.md` and `docs/conformance.json`.
//!
//! ```text
//!  docs/requirements/ids.json ───────────┐
//!  docs/requirements/reasons.json ───────┼──► Table ──► conformance.md, conformance.json
//!  `// req: MPA-CRC-15` above tests ─────┘      └─────► what is wrong: unknown IDs, no test and no reason, tests lost
//! ```
//!
//! A citation stands directly above a test that fails when the rule is broken. An ID without one needs an entry in
//! `reasons.json`: `reason` when the rule does not bind what warpline is, `open` when it is still to be built or shown. An
//! entry may also limit what the tests of an ID show: `open` with tests, or `tested` with the part that is not shown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

/// One row of `ids.json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// `AREA-NN`; citations name it.
    pub id: String,
    /// MUST, SHOULD, MAY, FACT; DECISION where the documents leave a choice and this project made it.
    pub level: String,
    /// Which part it binds, joined by `+`: RX, TX, DRV (driver), SWE (software endpoint), DOC.
    #[serde(rename = "where")]
    pub place: String,
    /// Document and section.
    pub source: String,
    /// What it says.
    pub statement: String,
}

impl Requirement {
    /// The ID without its number.
    pub fn area(&self) -> &str {
        self.id.rsplit_once('-').map_or(&self.id, |(area, _)| area)
    }

    fn binds(&self, part: &str) -> bool {
        self.place.split('+').any(|place| place == part)
    }
}

/// What is known of an ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Tests show it.
    Tested,
    /// It does not bind what warpline is.
    Reason,
    /// To be built or to be shown.
    Open,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Status::Tested => "tested",
            Status::Reason => "reason",
            Status::Open => "open",
        }
    }
}

/// One row of `reasons.json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// Status of these IDs.
    pub status: Status,
    /// The IDs that share the reason.
    pub ids: Vec<String>,
    /// Why they are not tested; with `tested`, which part of them is not.
    pub reason: String,
}

/// A test that cites an ID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Citation {
    /// `crate::file::test`; without test where the whole file cites.
    pub test: String,
    /// Path from the repository's root.
    pub path: String,
    /// Line of the citation.
    pub line: usize,
    /// The cited ID.
    pub id: String,
}

/// What is wrong with the citations, the IDs or the reasons.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A citation of something that is no ID.
    #[error("{path}:{line} cites {id:?}, which is not in docs/requirements/ids.json")]
    UnknownId {
        /// File of the citation.
        path: String,
        /// Its line.
        line: usize,
        /// What it cites.
        id: String,
    },
    /// A citation above something that is not run as a test.
    #[error("{path}:{line} is not directly above a test that runs: {found:?}")]
    NotATest {
        /// File of the citation.
        path: String,
        /// Its line.
        line: usize,
        /// The line it stands above.
        found: String,
    },
    /// An ID that stands in `ids.json` or in `reasons.json` twice.
    #[error("{id} is listed twice")]
    Twice {
        /// The ID.
        id: String,
    },
    /// An entry of `reasons.json` for something that is no ID.
    #[error("docs/requirements/reasons.json names {id:?}, which is not in ids.json")]
    ReasonForUnknown {
        /// What it names.
        id: String,
    },
    /// No test and no reason.
    #[error("{id} has neither a test nor an entry in docs/requirements/reasons.json")]
    Unexplained {
        /// The ID.
        id: String,
    },
    /// `reasons.json` calls it tested, and no test cites it.
    #[error("docs/requirements/reasons.json calls {id} tested, and no test cites it")]
    NotTested {
        /// The ID.
        id: String,
    },
    /// It binds the receive path, and no test that runs the device's RTL shows it.
    #[error(
        "{id} binds the receive path: it counts as tested once a test of the RTL cites it, not {tests} alone"
    )]
    NotOnTheDevice {
        /// The ID.
        id: String,
        /// The tests that it has.
        tests: String,
    },
    /// `reasons.json` says that it does not apply, and a test cites it.
    #[error("{id} has a test ({test}) and a reason why it does not apply: drop one")]
    TestedAndNot {
        /// The ID.
        id: String,
        /// One of its tests.
        test: String,
    },
    /// It was tested when the page was written.
    #[error(
        "{id} was tested by {tests}, and is no more: repair the test, or say so with --drop {id}"
    )]
    Lost {
        /// The ID.
        id: String,
        /// The tests that it had.
        tests: String,
    },
}

/// A file that cannot be read as what it should be.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file system's answer.
    #[error("{path}: {error}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Not the JSON that it should be.
    #[error("{name}: {error}")]
    Json {
        /// Which list.
        name: &'static str,
        /// Where and why.
        error: serde_json::Error,
    },
}

/// One ID with all that is known of it; a row of `conformance.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    id: String,
    level: String,
    area: String,
    status: Status,
    tests: Vec<Test>,
    reason: String,
    #[serde(skip)]
    requirement: Requirement,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Test {
    name: String,
    path: String,
}

impl Test {
    /// Whether it runs RTL, and not the reference receiver or the host's side alone.
    fn runs_rtl(&self) -> bool {
        let rooms = ["hdl/", "testbenches/", "sim/", "cli/"];
        rooms.iter().any(|room| self.path.starts_with(room))
    }
}

fn names(tests: &[Test]) -> String {
    let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
    names.join(", ")
}

/// The whole table.
#[derive(Clone, Debug)]
pub struct Table {
    rows: Vec<Row>,
}

/// What is in the repository at `root`: the table, or everything that is wrong with it.
pub fn read(root: &Path) -> Result<Result<Table, Vec<Problem>>, ReadError> {
    let text = |name: &str| {
        let path = root.join("docs/requirements").join(name);
        fs::read_to_string(&path).map_err(|error| ReadError::Io { path, error })
    };
    let requirements: Vec<Requirement> =
        serde_json::from_str(&text("ids.json")?).map_err(|error| ReadError::Json {
            name: "ids.json",
            error,
        })?;
    let reasons: Vec<Reason> =
        serde_json::from_str(&text("reasons.json")?).map_err(|error| ReadError::Json {
            name: "reasons.json",
            error,
        })?;
    let mut files = vec![];
    sources(root, Path::new(""), &mut files)?;
    Ok(Table::new(&requirements, &reasons, &files))
}

/// Every Rust file below `root`/`folder`, path and text, in order of paths.
fn sources(root: &Path, folder: &Path, files: &mut Vec<(String, String)>) -> Result<(), ReadError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| ReadError::Io { path, error }
    };
    let place = root.join(folder);
    let mut names = fs::read_dir(&place)
        .and_then(|entries| {
            entries
                .map(|entry| Ok(entry?.file_name()))
                .collect::<io::Result<Vec<_>>>()
        })
        .map_err(failed(&place))?;
    names.sort();
    for name in names {
        let Some(name) = name.to_str() else { continue };
        let path = folder.join(name);
        let whole = root.join(&path);
        if whole.is_dir() {
            if !name.starts_with('.') && name != "target" {
                sources(root, &path, files)?;
            }
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&whole).map_err(failed(&whole))?;
            let path = path.iter().map(|part| part.to_string_lossy());
            files.push((path.collect::<Vec<_>>().join("/"), text));
        }
    }
    Ok(())
}

/// The citations of one file, and what is wrong with them. The text is as rustfmt leaves it.
pub fn citations(path: &str, text: &str) -> (Vec<Citation>, Vec<Problem>) {
    let (mut found, mut problems) = (vec![], vec![]);
    let lines: Vec<&str> = text.lines().collect();
    let mut modules: Vec<(usize, &str)> = vec![]; // indentation and name of those that are open here
    for (index, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let module = code.strip_prefix("pub ").unwrap_or(code);
        if let Some(name) = module
            .strip_prefix("mod ")
            .and_then(|rest| rest.strip_suffix(" {"))
        {
            modules.push((indent, name));
        } else if code == "}" && modules.last().is_some_and(|last| last.0 == indent) {
            modules.pop();
        }
        let (ids, whole_file) = match (code.strip_prefix("// req:"), code.strip_prefix("//! req:"))
        {
            (Some(ids), _) => (ids, false),
            (_, Some(ids)) => (ids, true),
            _ => continue,
        };
        let mut name = module_of(path);
        name.extend(modules.iter().map(|(_, name)| name.to_string()));
        if !whole_file {
            match test_below(&lines, index) {
                Ok(test) => name.push(test.into()),
                Err(below) => problems.push(Problem::NotATest {
                    path: path.into(),
                    line: index + 1,
                    found: below.into(),
                }),
            }
        }
        let ids = ids.split(',').map(str::trim).filter(|id| !id.is_empty());
        found.extend(ids.map(|id| Citation {
            test: name.join("::"),
            path: path.into(),
            line: index + 1,
            id: id.into(),
        }));
    }
    (found, problems)
}

/// Crate and file of a path as one names them in a test: `wire/src/ddp.rs` is `wire::ddp`.
fn module_of(path: &str) -> Vec<String> {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let parts = path.split('/');
    let parts = parts.filter(|part| !matches!(*part, "src" | "tests" | "mod" | "lib"));
    parts.map(str::to_string).collect()
}

/// Name of the test that the comment in `lines[index]` stands above; otherwise the line it does stand above. Comments and
/// attributes may be between and around.
fn test_below<'a>(lines: &[&'a str], index: usize) -> Result<&'a str, &'a str> {
    let aside = |line: &&str| line.trim_start().starts_with("//") || attribute(line);
    let below = lines[index..].iter().take_while(|line| aside(line));
    let above = lines[..index].iter().rev().take_while(|line| aside(line));
    let after = index + below.clone().count();
    let attributes: Vec<&str> = below
        .chain(above)
        .filter(|line| attribute(line))
        .map(|line| line.trim_start())
        .collect();
    let line = lines.get(after).copied().unwrap_or("").trim();
    let runs = attributes.contains(&"#[test]")
        && !attributes.iter().any(|line| line.starts_with("#[ignore"));
    // a test that others start, to see that it finds a fault, is `pub`
    let name = (line.strip_prefix("pub ").unwrap_or(line))
        .strip_prefix("fn ")
        .and_then(|rest| rest.split('(').next());
    name.filter(|_| runs).ok_or(line)
}

fn attribute(line: &str) -> bool {
    line.trim_start().starts_with("#[")
}

impl Table {
    /// The table of these rows, reasons and files (path and text), or everything that is wrong with them.
    pub fn new(
        requirements: &[Requirement],
        reasons: &[Reason],
        files: &[(String, String)],
    ) -> Result<Table, Vec<Problem>> {
        let mut problems = vec![];
        let mut tests: BTreeMap<&str, BTreeSet<Test>> = BTreeMap::new();
        for requirement in requirements {
            if tests.insert(&requirement.id, BTreeSet::new()).is_some() {
                let id = requirement.id.clone();
                problems.push(Problem::Twice { id });
            }
        }
        for (path, text) in files {
            let (citations, wrong) = citations(path, text);
            problems.extend(wrong);
            for citation in citations {
                let Citation {
                    test: name,
                    path,
                    line,
                    id,
                } = citation;
                match tests.get_mut(id.as_str()) {
                    Some(tests) => {
                        tests.insert(Test { name, path });
                    }
                    None => problems.push(Problem::UnknownId { path, line, id }),
                }
            }
        }
        let mut entries = BTreeMap::new();
        for entry in reasons {
            for id in &entry.ids {
                if !tests.contains_key(id.as_str()) {
                    problems.push(Problem::ReasonForUnknown { id: id.clone() });
                }
                if entries.insert(id.as_str(), entry).is_some() {
                    problems.push(Problem::Twice { id: id.clone() });
                }
            }
        }
        let mut rows = vec![];
        for requirement in requirements {
            let id = requirement.id.clone();
            let tests: Vec<Test> = tests[requirement.id.as_str()].iter().cloned().collect();
            let entry = entries.get(requirement.id.as_str());
            let status = entry.map_or(Status::Tested, |entry| entry.status);
            let on_rtl = !requirement.binds("RX") || tests.iter().any(Test::runs_rtl);
            match (entry, tests.first()) {
                (None, None) => problems.push(Problem::Unexplained { id: id.clone() }),
                (Some(_), None) if status == Status::Tested => {
                    problems.push(Problem::NotTested { id: id.clone() });
                }
                (Some(_), Some(test)) if status == Status::Reason => {
                    problems.push(Problem::TestedAndNot {
                        id: id.clone(),
                        test: test.name.clone(),
                    });
                }
                (_, Some(_)) if status == Status::Tested && !on_rtl => {
                    let (id, tests) = (id.clone(), names(&tests));
                    problems.push(Problem::NotOnTheDevice { id, tests });
                }
                _ => {}
            }
            rows.push(Row {
                id,
                level: requirement.level.clone(),
                area: requirement.area().into(),
                status,
                tests,
                reason: entry.map_or(String::new(), |entry| entry.reason.clone()),
                requirement: requirement.clone(),
            });
        }
        match problems.is_empty() {
            true => Ok(Table { rows }),
            false => Err(problems),
        }
    }

    /// IDs that were tested by the word of `recorded`, an earlier `conformance.json`, and are not tested now.
    pub fn lost(&self, recorded: &str) -> Result<Vec<Problem>, ReadError> {
        #[derive(Deserialize)]
        struct Recorded {
            id: String,
            status: Status,
            tests: Vec<Test>,
        }
        let recorded: Vec<Recorded> =
            serde_json::from_str(recorded).map_err(|error| ReadError::Json {
                name: "conformance.json",
                error,
            })?;
        let tested: BTreeSet<&str> = self.with(Status::Tested).map(|row| &*row.id).collect();
        let lost = recorded
            .into_iter()
            .filter(|row| row.status == Status::Tested && !tested.contains(&*row.id));
        Ok(lost
            .map(|Recorded { id, tests, .. }| {
                let tests = names(&tests);
                Problem::Lost { id, tests }
            })
            .collect())
    }

    /// How many rows that bind `part` have this status; decisions are counted apart, as part `DECISION`.
    pub fn count(&self, part: &str, status: Status) -> usize {
        self.with(status).filter(|row| row.counts_in(part)).count()
    }

    fn with(&self, status: Status) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.status == status)
    }

    /// `docs/conformance.json`: a row a line.
    pub fn json(&self) -> String {
        let rows = self
            .rows
            .iter()
            .map(|row| serde_json::to_string(row).expect("strings and lists of strings are JSON"));
        format!("[\n{}\n]\n", rows.collect::<Vec<_>>().join(",\n"))
    }

    /// `docs/conformance.md`.
    pub fn markdown(&self) -> String {
        let mut page = String::from(HEAD);
        for (part, name) in PARTS {
            let [tested, reason, open] = [Status::Tested, Status::Reason, Status::Open]
                .map(|status| self.count(part, status));
            let all = tested + reason + open;
            let line = format!("| {name} | {tested} | {reason} | {open} | {all} |\n");
            page += &line;
        }
        page += NOTES;
        let open = self.with(Status::Open).filter(|row| row.counts_in("RX"));
        let open: Vec<&str> = open.map(|row| row.id.as_str()).collect();
        if !open.is_empty() {
            let _ = writeln!(page, "\nOpen in the receive path: {}.", open.join(", "));
        }
        let mut area = "";
        for row in &self.rows {
            if row.area != area {
                area = &row.area;
                let title = TITLES
                    .iter()
                    .find(|(name, _)| *name == area)
                    .map_or(String::new(), |(_, title)| format!(": {title}"));
                let _ = write!(
                    page,
                    "\n## {area}{title}\n\n| ID | level | where | what | source | shown by |\n\
                     |---|---|---|---|---|---|\n"
                );
            }
            let Requirement {
                level,
                place,
                statement,
                source,
                ..
            } = &row.requirement;
            let level = level.replace("DECISION", "decision");
            let [statement, source] = [statement, source].map(|text| text.replace('|', "\\|"));
            let shown = row.shown();
            let _ = writeln!(
                page,
                "| {} | {level} | {place} | {statement} | {source} | {shown} |",
                row.id
            );
        }
        page
    }
}

impl Row {
    fn counts_in(&self, part: &str) -> bool {
        match self.level.as_str() {
            "DECISION" => part == "DECISION",
            _ => self.requirement.binds(part) || part.is_empty(),
        }
    }

    fn shown(&self) -> String {
        let mut shown = String::new();
        if self.status != Status::Tested {
            let _ = write!(shown, "**{}**: ", self.status.name());
        }
        shown += &self.reason;
        let mut path = "";
        for test in &self.tests {
            let (file, name) = test.name.rsplit_once("::").unwrap_or(("", &test.name));
            if test.path == path {
                let _ = write!(shown, ", `{name}`");
            } else {
                let between = match (shown.is_empty(), path.is_empty()) {
                    (true, _) => "",
                    (false, true) => " ",
                    (false, false) => "; ",
                };
                let _ = write!(shown, "{between}[`{file}`](../{}) `{name}`", test.path);
            }
            path = &test.path;
        }
        shown
    }
}

const HEAD: &str = "# Conformance\n\n\
    | rows | tested | reason | open | all |\n|---|---|---|---|---|\n";

const PARTS: [(&str, &str); 7] = [
    ("RX", "receive path (RX)"),
    ("DRV", "driver (DRV)"),
    ("TX", "transmit path (TX)"),
    ("SWE", "software endpoint (SWE)"),
    ("DOC", "documentation (DOC)"),
    ("", "all, each once"),
    ("DECISION", "our decisions (AMB)"),
];

const NOTES: &str = "
Made by `make docs`; not written by hand. Every requirement that we read out of the documents, and what shows it:

- **tested**: the tests named here cite it (`// req: MPA-CRC-15` above them) and fail when it is broken; for the receive path,
  at least one of them runs the RTL. Text before the tests says which part of it they do not show.
- **reason**: it does not bind what warpline is; the reason says why.
- **open**: still to be built or to be shown; tests named here show a part of it.

A row may bind several parts and is then counted in each. `TX` rows that are tested are tested on `wire`'s sender, on the
transmit path in RTL (`tx`, and `sim`, whose suites run over both), or on both.

Sources: MPA03 is draft-culley-iwarp-mpa-03, DDP is RFC 5041, SCTP is RFC 5043, R5044 and R6581 are RFC 5044 and RFC 6581;
`derived` follows by arithmetic. Names like `V-ERR-1` are golden vectors in `wire/tests/vectors.json`. The IDs are in
[`requirements/ids.json`](requirements/ids.json), the reasons in [`requirements/reasons.json`](requirements/reasons.json); the
same table for programs is [`conformance.json`](conformance.json).
";

const TITLES: [(&str, &str); 24] = [
    ("MPA-FMT", "FPDU and marker formats"),
    ("MPA-MRK", "markers"),
    ("MPA-CRC", "CRC use and calculation"),
    ("MPA-SEG", "MULPDU, limits, sender"),
    ("MPA-RCV", "receiver, FPDU identification, ordering"),
    ("MPA-START", "start-up"),
    ("MPA-PRIV", "private data"),
    ("MPA-ERR", "errors and teardown"),
    ("DDP-HDR", "control field and segment format"),
    ("DDP-TAG", "tagged model"),
    ("DDP-UNT", "untagged model"),
    ("DDP-SEG", "segmentation and reassembly"),
    ("DDP-ORD", "ordering"),
    ("DDP-DEL", "completion and delivery"),
    ("DDP-TEAR", "set-up and teardown"),
    ("DDP-ERR", "error semantics"),
    ("DDP-SEC", "STags, protection domains, resource manager"),
    ("LLP", "what DDP asks of the layer below"),
    ("SCTP-FMT", "formats and code points"),
    ("SCTP-SSN", "DDP-SSN and unordered operation"),
    ("SCTP-SES", "stream sessions"),
    ("SCTP-LIM", "sizes, fragmentation, bundling, termination"),
    ("SCTP-INIT", "endpoints, streams, association set-up"),
    ("AMB", "what the documents leave open, and what we decided"),
];
