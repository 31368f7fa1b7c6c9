//! The report and the book in a browser: nothing is fetched, nothing complains, nothing leaves its place, on a telephone, on a
//! screen and on paper. Chromium has to be there (`tools/setup.sh browser`), so these run with `make browser`.
#![cfg(feature = "report")]

mod devtools;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use devtools::{Browser, Seen, View};
use tempfile::TempDir;

/// A telephone and a screen.
const SIZES: [(u32, u32); 2] = [(360, 800), (1280, 900)];
/// Width of A4 between the margins of the report, at 96 pixels an inch.
const PAPER: (u32, u32) = (688, 1000);
/// Chapters of the book that hold what pages have: tables, code, drawings (the widest), pictures.
const CHAPTERS: [&str; 4] = [
    "docs/book/quick-start.html",
    "docs/theory.html",
    "docs/integration.html",
    "docs/registers.html",
];

fn views() -> impl Iterator<Item = View> {
    let screens = SIZES
        .into_iter()
        .flat_map(|size| [false, true].map(|dark| (size, dark, false)));
    screens
        .chain([(PAPER, false, true)])
        .map(|((width, height), dark, print)| View {
            width,
            height,
            dark,
            print,
        })
}

fn screen(width: u32) -> View {
    View {
        width,
        height: 800,
        dark: false,
        print: false,
    }
}

/// Where pictures of all pages are kept, if they are wanted.
fn pictures() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("WARPLINE_PICTURES")?);
    fs::create_dir_all(&folder).unwrap();
    Some(folder)
}

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap()
}

fn report(folder: &TempDir, records: &Path) -> PathBuf {
    let page = folder.path().join("report.html");
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    command.args(["report", "--records"]).arg(records);
    let output = command.arg("-o").arg(&page).output().unwrap();
    // 1: a record is missing, which the page says
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    page
}

#[track_caller]
fn is_sound(page: &Path, view: View, seen: &Seen) {
    let none: [String; 0] = [];
    let place = format!("{} at {view:?}", page.display());
    assert_eq!(seen.complaints, none, "{place}");
    assert_eq!(seen.requests, none, "{place}");
    assert_eq!(seen.overflow, none, "{place}");
}

#[test]
#[ignore = "needs Chromium: make browser"]
fn the_report_fits_telephone_screen_and_paper_and_fetches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let page = report(&folder, &root());
    let mut browser = Browser::start();
    let mut backgrounds = vec![];
    for view in views() {
        let seen = browser.look(&page, view, pictures().as_deref());
        is_sound(&page, view, &seen);
        backgrounds.push((view.dark, seen.background));
    }
    for (dark, background) in backgrounds {
        let expected = if dark {
            "rgb(20, 23, 27)"
        } else {
            "rgb(255, 255, 255)"
        };
        assert_eq!(background, expected, "dark: {dark}");
    }
    let pdf = browser.print(&page);
    assert!(pdf.starts_with(b"%PDF-"));
    let pages = pdf.windows(12).filter(|at| at == b"/Type /Page\n").count();
    assert!((3..=40).contains(&pages), "{pages} pages");
    if let Some(folder) = pictures() {
        fs::write(folder.join("report.pdf"), pdf).unwrap();
    }
}

/// A record that is missing or unusable, however long its texts are, leaves the page sound.
#[test]
#[ignore = "needs Chromium: make browser"]
fn the_report_of_broken_records_fits_too() {
    let records = tempfile::tempdir().unwrap();
    fs::create_dir_all(records.path().join("docs/bench")).unwrap();
    let long = "x".repeat(500);
    let fuzz = format!(
        r#"{{"{long}<script>throw 1</script>": {{"inputs": 18446744073709551615, "messages": 1, "seed": 1, "outcomes": 1,
            "longest_input_us": 1, "resident_first": 1, "resident_last": 1}}}}"#
    );
    fs::write(records.path().join("docs/bench/fuzz.json"), fuzz).unwrap();
    fs::write(
        records.path().join("docs/coverage.json"),
        format!("[\"{long}\""),
    )
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let page = report(&folder, records.path());
    let mut browser = Browser::start();
    for view in views() {
        let seen = browser.look(&page, view, None);
        is_sound(&page, view, &seen);
    }
}

/// Four chapters, at both widths and on paper; `make book` has to have made them, and the variable says where.
#[test]
#[ignore = "needs Chromium and the book: make browser"]
fn chapters_of_the_book_fit() {
    let book =
        std::env::var_os("WARPLINE_BOOK").expect("WARPLINE_BOOK: folder of the book's pages");
    let book = fs::canonicalize(book).unwrap();
    let mut browser = Browser::start();
    for chapter in CHAPTERS {
        let page = book.join(chapter);
        for view in views() {
            let seen = browser.look(&page, view, pictures().as_deref());
            let inside = format!("file://{}/", book.display());
            let outside: Vec<_> = seen
                .requests
                .iter()
                .filter(|url| !url.starts_with(&inside))
                .collect();
            assert!(outside.is_empty(), "{chapter}: {outside:?}");
            let seen = Seen {
                requests: vec![],
                ..seen
            };
            is_sound(&page, view, &seen);
        }
    }
}

/// Each check is shown to fail.
#[test]
#[ignore = "needs Chromium: make browser"]
fn planted_faults_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let mut browser = Browser::start();
    let mut seen = |body: &str, width| {
        fs::write(
            &page,
            format!("<!DOCTYPE html><title>t</title><body style=margin:0>{body}"),
        )
        .unwrap();
        browser.look(&page, screen(width), None)
    };
    let sound = seen("<p>text", 360);
    is_sound(&page, screen(360), &sound);
    let wide = "<div style=width:400px>wide</div>";
    assert!(!seen(wide, 360).overflow.is_empty());
    assert!(seen(wide, 1280).overflow.is_empty());
    // no wider than the view, but beyond its cell: a figure in another one's column
    let beyond = "<table style=width:100px;table-layout:fixed><tr><td style=white-space:nowrap>1 000 000 000 000 000<td>2</table>";
    assert!(!seen(beyond, 1280).overflow.is_empty());
    // the page may not scroll sideways in any other box
    let scrolls = "<div style=overflow-x:auto><p style=width:900px>x</div>";
    assert!(!seen(scrolls, 360).overflow.is_empty());
    // but code may
    assert!(
        seen(
            "<pre style=overflow-x:auto><b style=display:block;width:900px>x</b></pre>",
            360
        )
        .overflow
        .is_empty()
    );
    assert_eq!(
        seen("<script>throw Error('thrown')</script>", 360)
            .complaints
            .len(),
        1
    );
    assert_eq!(
        seen("<script>console.error('said')</script>", 360)
            .complaints
            .len(),
        1
    );
    let fetches = seen("<img src=http://127.0.0.1:9/picture.png>", 360);
    assert_eq!(fetches.requests, ["http://127.0.0.1:9/picture.png"]);
    assert!(!fetches.complaints.is_empty());
}
