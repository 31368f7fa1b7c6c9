//! `warpline report`: every figure on the page is that of a record, and what a record lacks is said.
#![cfg(feature = "report")]

mod expected;
mod sheet;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use sheet::Sheet;
use tempfile::TempDir;
use warpline_design::{design, key_of};
use warpline_testbenches::scenario::long::Record as Streams;
use warpline_testbenches::transmit_scenario;

const RECEIVE: &str = "docs/bench/receive-cycles.json";
const MUTANTS: &str = "docs/mutants.json";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn warpline(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    command.args(arguments).output().unwrap()
}

fn text(octets: &[u8]) -> &str {
    std::str::from_utf8(octets).unwrap()
}

/// The page of the records below `root`, and the exit code.
fn report(root: &Path) -> (String, Option<i32>, String) {
    let output = warpline(&["report", "--records", root.to_str().unwrap(), "-o", "-"]);
    let complaints = text(&output.stderr).to_owned();
    (
        text(&output.stdout).to_owned(),
        output.status.code(),
        complaints,
    )
}

/// A copy of the records, to be changed.
fn copied() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["docs", "docs/bench", "constraints/reports"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
        for file in fs::read_dir(root().join(name)).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_some_and(|end| end == "json") {
                let to = folder.path().join(name).join(file.file_name().unwrap());
                fs::copy(&file, to).unwrap();
            }
        }
    }
    fs::create_dir(folder.path().join("tools")).unwrap();
    for list in [
        "requirements.txt",
        "requirements-fpga.txt",
        "requirements-cocotb.txt",
    ] {
        let name = Path::new("tools").join(list);
        fs::copy(root().join(&name), folder.path().join(&name)).unwrap();
    }
    folder
}

fn read(root: &Path, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(root.join(name)).unwrap()).unwrap()
}

fn write(root: &Path, name: &str, value: &Value) {
    fs::write(root.join(name), value.to_string()).unwrap();
}

/// Figures of the page that are not those of the records, and figures that no record has.
fn differences(page: &str, records: &Path) -> Vec<String> {
    let sheet = Sheet::parse(page);
    expected::all(records).differences(&sheet)
}

#[test]
fn every_figure_is_that_of_its_record() {
    let (page, code, complaints) = report(&root());
    assert_eq!((code, &*complaints), (Some(0), ""));
    let none: [String; 0] = [];
    assert_eq!(differences(&page, &root()), none);
    let figures = Sheet::parse(&page).figures();
    assert!(figures > 500, "{figures} figures");
    // the same records, the same page
    assert_eq!(report(&root()).0, page);
}

#[test]
fn a_changed_record_changes_its_figure_and_no_other() {
    let records = copied();
    let mut figures = read(records.path(), RECEIVE);
    let figure = &mut figures[0];
    assert_eq!(
        (&figure["width"], &figure["ulpdu"]),
        (&json!(64), &json!(20))
    );
    figure["octets_per_cycle"] = json!(6.25);
    write(records.path(), RECEIVE, &figures);
    let (page, code, _) = report(records.path());
    assert_eq!(code, Some(0));
    let none: [String; 0] = [];
    assert_eq!(differences(&page, records.path()), none);
    let found = differences(&page, &root());
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("receive-cycles, 20, 64 bits: 6.25"),
        "{found:?}"
    );
}

/// The last digit of the first and of the last figure of each table is altered: each is noticed.
#[test]
fn an_altered_figure_is_noticed() {
    let (page, ..) = report(&root());
    let cell = "<td class=\"n\">";
    let mut tables = 0;
    for (start, _) in page.match_indices("<table id=") {
        let end = start + page[start..].find("</table>").unwrap();
        let table = &page[start..end];
        let (Some(first), Some(last)) = (table.find(cell), table.rfind(cell)) else {
            continue; // words only
        };
        for at in [first, last] {
            let at = start + at + cell.len();
            let length = page[at..].find('<').unwrap();
            let Some(digit) = page[at..at + length].rfind(|c: char| c.is_ascii_digit()) else {
                continue; // a figure that was not recorded
            };
            let mut altered = page.clone().into_bytes();
            let digit = &mut altered[at + digit];
            *digit = if *digit == b'9' { b'0' } else { *digit + 1 };
            let found = differences(text(&altered), &root());
            assert_eq!(found.len(), 1, "{}: {found:?}", &table[..60]);
        }
        tables += 1;
    }
    assert!(tables >= 20, "{tables} tables");
}

#[test]
fn a_table_that_is_left_out_is_noticed() {
    let (page, ..) = report(&root());
    let start = page.find("<table id=\"host-path\"").unwrap();
    let end = start + page[start..].find("</table>").unwrap();
    let without = page[..start].to_owned() + &page[end..];
    let found = differences(&without, &root());
    assert_eq!(found.len(), 6, "{found:?}");
}

#[test]
fn a_missing_record_is_a_line_on_the_page_and_on_standard_error() {
    let records = copied();
    fs::remove_file(records.path().join(MUTANTS)).unwrap();
    let (page, code, complaints) = report(records.path());
    assert_eq!(code, Some(1));
    let line = "warpline: docs/mutants.json: missing; make mutants writes it\n";
    assert_eq!(complaints, line);
    let sheet = Sheet::parse(&page);
    let lacks = sheet.texts("p.lack");
    assert!(
        lacks.contains(&"docs/mutants.json is missing. make mutants writes it.".to_owned()),
        "{lacks:?}"
    );
    let state = sheet.cell("record-list", "docs/mutants.json make mutants", "state");
    assert_eq!(state.unwrap().text, "missing");
}

#[test]
fn an_unusable_record_is_a_line_on_the_page_and_on_standard_error() {
    let mut wrong = read(&root(), RECEIVE);
    wrong[0]["of_bus"] = json!(1.5);
    let mut wide = read(&root(), RECEIVE);
    wide[0]["width"] = json!(1024);
    let mut fast = read(&root(), RECEIVE);
    fast[0]["octets_per_cycle"] = json!(9.0);
    for (content, reason) in [
        ("[".to_owned(), "EOF while parsing"),
        ("[{\"width\": 64}]".to_owned(), "missing field `ulpdu`"),
        (wrong.to_string(), "1.5 of the bus, which is no share"),
        (wide.to_string(), "a width of 1024 bits"),
        (fast.to_string(), "9 octets per cycle on a bus of 8"),
    ] {
        let records = copied();
        fs::write(records.path().join(RECEIVE), &content).unwrap();
        let (page, code, complaints) = report(records.path());
        assert_eq!(code, Some(1), "{reason}");
        assert_eq!(complaints.lines().count(), 1, "{complaints}");
        let begin = format!("warpline: {RECEIVE}: unusable: ");
        assert!(
            complaints.starts_with(&begin) && complaints.contains(reason),
            "{complaints}"
        );
        let lacks = Sheet::parse(&page).texts("p.lack").join("\n");
        assert!(lacks.contains(reason), "{lacks}");
    }
}

/// What is no file is not read: a pipe would block.
#[test]
fn a_pipe_in_place_of_a_record_is_unusable() {
    let records = copied();
    let path = records.path().join(MUTANTS);
    fs::remove_file(&path).unwrap();
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    let (_, code, complaints) = report(records.path());
    assert_eq!(code, Some(1));
    assert!(complaints.contains("unusable: not a file"), "{complaints}");
}

#[test]
fn a_folder_without_records_is_refused() {
    let empty = tempfile::tempdir().unwrap();
    let file = empty.path().join("file");
    fs::write(&file, "no folder").unwrap();
    for records in [empty.path(), &file] {
        let records = records.to_str().unwrap();
        let to = empty.path().join("report.html");
        let output = warpline(&["report", "--records", records, "-o", to.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        let expected = format!(
            "warpline: {records}: no records of warpline here: give the root of a checkout with --records\n"
        );
        assert_eq!(text(&output.stderr), expected);
        assert!(!to.exists());
    }
}

#[test]
fn the_file_is_what_standard_output_is_and_no_record_is_replaced() {
    let records = copied();
    let folder = records.path().to_str().unwrap();
    let to = records.path().join("new/report.html");
    let output = warpline(&["report", "--records", folder, "-o", to.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let page = fs::read_to_string(&to).unwrap();
    assert_eq!(page, report(records.path()).0);
    let said = text(&output.stdout);
    assert!(said.ends_with(&format!(" in {}\n", to.display())), "{said}");

    let before = fs::read(records.path().join(MUTANTS)).unwrap();
    let over = records.path().join("docs/bench/../mutants.json");
    let output = warpline(&["report", "--records", folder, "-o", over.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stderr).lines().count(), 1);
    assert_eq!(fs::read(records.path().join(MUTANTS)).unwrap(), before);
}

/// Each long run has its own configuration; the page compares the key of the record with the text of that configuration.
#[test]
fn a_record_says_whether_it_is_of_the_text_that_this_program_writes() {
    const WIDTHS: [usize; 4] = [64, 128, 256, 512];
    let all = Streams::new("", &WIDTHS);
    let designs: Vec<_> = all
        .devices
        .iter()
        .map(|run| design(&run.config()).unwrap())
        .collect();
    let of_streams = key_of(&designs);
    let simulated = designs.iter().step_by(2); // each width, with full and with the smallest buffers
    let of_coverage = key_of(simulated);
    let sending = WIDTHS.map(|width| design(&transmit_scenario::config(width)).unwrap());
    let of_sending = key_of(&sending);
    let of_board = [(false, false), (true, false), (false, true)].map(|(transmit, sctp)| {
        let config = warpline_hdl::Config {
            transmit,
            sctp: sctp.then(warpline_hdl::Sctp::default),
            ..warpline_synth::config(64)
        };
        key_of([&design(&config).unwrap()])
    });

    let streams = "docs/bench/streams.json";
    let sequences = "docs/bench/transmit-streams.json";
    let reports = [
        "constraints/reports/ecp5-w64.json",
        "constraints/reports/ecp5-w64-transmit.json",
        "constraints/reports/ecp5-w64-sctp.json",
    ];
    let records = copied();
    let keys = |streams_key: &str, coverage_key: &str, sending_key: &str, board: [&str; 3]| {
        let mut of = read(&root(), streams);
        of.as_array_mut().unwrap().last_mut().unwrap()["text"] = json!(streams_key);
        write(records.path(), streams, &of);
        let mut of = read(&root(), "docs/coverage.json");
        of["text"] = json!(coverage_key);
        write(records.path(), "docs/coverage.json", &of);
        let width = |width: usize| {
            json!({"width": width, "seeds": 1, "sequences": 1, "requests": 1, "octets": 1, "cycles": 1, "seconds": 1.0,
                "failures": []})
        };
        let of = json!([{"text": sending_key, "commit": "0", "widths": WIDTHS.map(width)}]);
        write(records.path(), sequences, &of);
        for (name, key) in reports.into_iter().zip(board) {
            let mut of = read(&root(), name);
            of["text"] = json!(key);
            write(records.path(), name, &of);
        }
        let (page, code, complaints) = report(records.path());
        assert_eq!((code, &*complaints), (Some(0), ""));
        let sheet = Sheet::parse(&page);
        let said = |name: &str, made_by: &str| {
            let cell = sheet.cell("record-list", &format!("{name} {made_by}"), "RTL text");
            cell.unwrap().text
        };
        [
            said(streams, "make long-streams"),
            said("docs/coverage.json", "make coverage"),
            said(sequences, "make long-transmit"),
            said(reports[0], "make area-record"),
            said(reports[1], "make transmit-area-record"),
            said(reports[2], "make sctp-area-record"),
        ]
    };
    let [board, sends, sctp] = &of_board;
    let now = [&of_streams, &of_coverage, &of_sending, board, sends, sctp];
    let same = keys(&of_streams, &of_coverage, &of_sending, [board, sends, sctp]);
    assert_eq!(same, now.map(|key| format!("{key}, this program's")));
    let other = "0123456789abcdef";
    let older = keys(other, other, other, [other; 3]);
    assert_eq!(
        older,
        now.map(|key| format!("{other}, another than this program's {key}"))
    );
}

/// Nothing that a browser would fetch or run, whatever the records hold.
#[test]
fn the_page_has_nothing_to_fetch_or_run() {
    let records = copied();
    let mut fuzz = read(records.path(), "docs/bench/fuzz.json");
    let kind = fuzz["rdmap"].clone();
    fuzz["<script>alert(1)</script><img src=http://example.com/>"] = kind;
    write(records.path(), "docs/bench/fuzz.json", &fuzz);
    let (page, code, _) = report(records.path());
    assert_eq!(code, Some(0));
    assert_eq!(fetched(&page), [""; 0]);
    for bad in [
        "<script>1</script>",
        "<img src='a.png'>",
        "<link rel=stylesheet href='a.css'>",
        "<style>@import 'a.css'</style>",
        "<style>p { background: url(a.png) }</style>",
        "<p onclick='f()'>",
        "<svg><image href='a.png'></svg>",
    ] {
        let planted = page.replacen("</body>", &format!("{bad}</body>"), 1);
        assert_eq!(fetched(&planted).len(), 1, "{bad}");
    }
}

fn fetched(page: &str) -> Vec<String> {
    let sheet = Sheet::parse(page);
    let mut found = sheet.elements(
        "script, img, iframe, object, embed, video, audio, image, use, [onclick], [onload], link:not([href^='data:'])",
    );
    let style = sheet.texts("style");
    found.extend(
        style
            .into_iter()
            .filter(|text| text.contains("url(") || text.contains("@import")),
    );
    found
}
