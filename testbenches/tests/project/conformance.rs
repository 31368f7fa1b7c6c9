//! The conformance table is up to date and nothing in it was lost; and each thing that can be wrong with it is found.

use std::fs;
use std::path::Path;

use warpline_testbenches::conformance::{
    self, Citation, Problem, Reason, Requirement, Status, Table, citations,
};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join("docs").join(name)).unwrap()
}

#[test]
fn the_pages_are_up_to_date_and_nothing_lost_its_test() {
    let table = conformance::read(Path::new(ROOT)).unwrap();
    let table = table.unwrap_or_else(|problems| {
        let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
        panic!("{}", lines.join("\n"))
    });
    let lost = table.lost(&page("conformance.json")).unwrap();
    assert!(lost.is_empty(), "{lost:#?}");
    assert!(page("conformance.json") == table.json(), "make docs");
    assert!(page("conformance.md") == table.markdown(), "make docs");
}

fn requirement(id: &str, place: &str) -> Requirement {
    Requirement {
        id: id.into(),
        level: "MUST".into(),
        place: place.into(),
        source: "somewhere".into(),
        statement: "a or | b".into(),
    }
}

fn reason(status: Status, id: &str) -> Reason {
    Reason {
        status,
        ids: vec![id.into()],
        reason: "because.".into(),
    }
}

/// Two rows, a test for the first, a reason for the second.
fn table_of(text: &str, reasons: &[Reason]) -> Result<Table, Vec<Problem>> {
    let requirements = [requirement("X-Y-01", "DRV+TX"), requirement("X-Y-02", "RX")];
    let files = [("wire/tests/golden.rs".into(), text.into())];
    Table::new(&requirements, reasons, &files)
}

const CITED: &str = "// req: X-Y-01\n#[test]\nfn shows() {}\n";

#[test]
fn a_test_and_a_reason_make_a_table() {
    let table = table_of(CITED, &[reason(Status::Open, "X-Y-02")]).unwrap();
    assert_eq!(table.count("TX", Status::Tested), 1);
    assert_eq!(table.count("RX", Status::Open), 1);
    assert_eq!(table.count("TX", Status::Open), 0);
    assert_eq!(
        table.json(),
        "[\n{\"id\":\"X-Y-01\",\"level\":\"MUST\",\"area\":\"X-Y\",\"status\":\"tested\",\
         \"tests\":[{\"name\":\"wire::golden::shows\",\"path\":\"wire/tests/golden.rs\"}],\"reason\":\"\"},\n\
         {\"id\":\"X-Y-02\",\"level\":\"MUST\",\"area\":\"X-Y\",\"status\":\"open\",\"tests\":[],\"reason\":\"because.\"}\n]\n"
    );
    let page = table.markdown();
    for line in [
        "| receive path (RX) | 0 | 0 | 1 | 1 |",
        "Open in the receive path: X-Y-02.",
        "| X-Y-01 | MUST | DRV+TX | a or \\| b | somewhere | [`wire::golden`](../wire/tests/golden.rs) `shows` |",
        "| X-Y-02 | MUST | RX | a or \\| b | somewhere | **open**: because. |",
    ] {
        assert!(page.lines().any(|found| found == line), "{line}\n{page}");
    }
    // the figure of the receive path is the first line of the first table
    assert_eq!(
        page.lines()
            .find(|line| line.starts_with("| ") && !line.contains("rows")),
        Some("| receive path (RX) | 0 | 0 | 1 | 1 |")
    );
}

#[test]
fn citations_belong_to_the_test_below() {
    let text = "//! req: A-01\n\nmod outer {\n    mod tests {\n        // req: B-01, B-02,\n        // req: B-03\n        \
                // said more\n        #[test]\n        #[should_panic]\n        fn inner() {\n        }\n    }\n}\n\n\
                #[test]\n// req: C-01\nfn outside() {\n}\n";
    let (found, problems) = citations("wire/src/ddp.rs", text);
    assert_eq!(problems, []);
    let found: Vec<(&str, &str, usize)> = found
        .iter()
        .map(|Citation { test, id, line, .. }| (test.as_str(), id.as_str(), *line))
        .collect();
    let inner = "wire::ddp::outer::tests::inner";
    assert_eq!(
        found,
        [
            ("wire::ddp", "A-01", 1),
            (inner, "B-01", 5),
            (inner, "B-02", 5),
            (inner, "B-03", 6),
            ("wire::ddp::outside", "C-01", 16),
        ]
    );
}

/// Each of these is found; nothing else is.
#[test]
fn what_is_wrong_is_found() {
    let open = || reason(Status::Open, "X-Y-02");
    let wrong = |text: &str, reasons: &[Reason]| table_of(text, reasons).unwrap_err();
    let path = String::from("wire/tests/golden.rs");
    let id = |id: &str| String::from(id);

    let unknown = CITED.replace("X-Y-01", "X-Y-01, X-Y-1");
    let problem = Problem::UnknownId {
        path: path.clone(),
        line: 1,
        id: id("X-Y-1"),
    };
    assert_eq!(wrong(&unknown, &[open()]), [problem]);

    for (text, found) in [
        ("// req: X-Y-01\nfn helper() {}\n", "fn helper() {}"),
        (
            "// req: X-Y-01\n#[test]\n#[ignore]\nfn never() {}\n",
            "fn never() {}",
        ),
        (
            "#[ignore = \"slow\"]\n#[test]\n// req: X-Y-01\nfn never() {}\n",
            "fn never() {}",
        ),
        ("// req: X-Y-01\n\n#[test]\nfn apart() {}\n", ""),
        (
            "#[test]\nfn early() {\n    // req: X-Y-01\n    assert!(true);\n}\n",
            "assert!(true);",
        ),
        ("// req: X-Y-01\n", ""),
    ] {
        let problem = Problem::NotATest {
            path: path.clone(),
            line: 1 + text.lines().position(|line| line.contains("req:")).unwrap(),
            found: found.into(),
        };
        assert_eq!(wrong(text, &[open()]), [problem], "{text}");
    }

    let unexplained = |name| Problem::Unexplained { id: id(name) };
    assert_eq!(wrong("", &[open()]), [unexplained("X-Y-01")]);
    assert_eq!(wrong(CITED, &[]), [unexplained("X-Y-02")]);
    assert_eq!(
        wrong(CITED, &[reason(Status::Tested, "X-Y-02")]),
        [Problem::NotTested { id: id("X-Y-02") }]
    );
    assert_eq!(
        wrong(CITED, &[open(), reason(Status::Reason, "X-Y-01")]),
        [Problem::TestedAndNot {
            id: id("X-Y-01"),
            test: "wire::golden::shows".into()
        }]
    );
    assert_eq!(
        wrong(CITED, &[open(), reason(Status::Open, "X-Y-03")]),
        [Problem::ReasonForUnknown { id: id("X-Y-03") }]
    );
    // the receive path is shown on its RTL, not on the reference receiver alone
    let on_reference = CITED.replace("X-Y-01", "X-Y-01, X-Y-02");
    let problem = Problem::NotOnTheDevice {
        id: id("X-Y-02"),
        tests: "wire::golden::shows".into(),
    };
    assert_eq!(wrong(&on_reference, &[]), [problem]);
    let rows = [requirement("X-Y-02", "TX+RX")];
    let text = "// req: X-Y-02\n#[test]\nfn shows() {}\n";
    for room in [
        "hdl/src/parts/crc_register.rs",
        "testbenches/tests/device/device.rs",
    ] {
        let files = [(room.into(), text.into())];
        assert!(Table::new(&rows, &[], &files).is_ok(), "{room}");
    }

    let twice = [Problem::Twice { id: id("X-Y-02") }];
    assert_eq!(wrong(CITED, &[open(), open()]), twice);
    let rows = ["X-Y-02", "X-Y-02"].map(|id| requirement(id, "RX"));
    assert_eq!(Table::new(&rows, &[open()], &[]).unwrap_err(), twice);
}

/// A test that goes away is missed, also when somebody writes a reason for it.
#[test]
fn a_lost_test_is_found() {
    let open = || reason(Status::Open, "X-Y-02");
    let before = table_of(CITED, &[open()]).unwrap();
    assert_eq!(before.lost(&before.json()).unwrap(), []);
    for excuse in [Status::Open, Status::Reason] {
        let after = table_of("", &[open(), reason(excuse, "X-Y-01")]).unwrap();
        let lost = Problem::Lost {
            id: "X-Y-01".into(),
            tests: "wire::golden::shows".into(),
        };
        assert_eq!(after.lost(&before.json()).unwrap(), [lost]);
    }
    // a test more is no loss
    let more = CITED.replace("shows", "shows_too");
    let more = table_of(&[CITED, &more].concat(), &[open()]).unwrap();
    assert_eq!(more.lost(&before.json()).unwrap(), []);
    assert!(more.lost("{}").is_err());
}
