//! What the page has to show, read from the JSON of the records, without the program's types.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::sheet::{Cell, Sheet};

/// Exact figures by table, row and column; what stands below them is another figure.
#[derive(Default)]
pub struct Figures(HashMap<[String; 3], (Figure, Option<Figure>)>);

/// A figure that a cell shows.
#[derive(Clone, Debug, PartialEq)]
enum Figure {
    /// A number, which the page may round.
    Number(f64),
    /// A share, which it shows in percent.
    Share(f64),
    /// Words, exactly.
    Words(String),
    /// None was recorded.
    None,
}

/// A number as the page writes it, and half of its last place. Blanks between groups of digits do not count.
fn number(text: &str) -> Option<(f64, f64)> {
    let digits: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let digits = digits.trim_end_matches(|c: char| c.is_alphabetic());
    let places = digits.split_once('.').map_or(0, |(_, places)| places.len());
    let half = 0.5 * 10_f64.powi(-i32::try_from(places).unwrap());
    Some((digits.parse().ok()?, half))
}

impl Figure {
    fn is(&self, shown: &str) -> bool {
        let near = |shown: Option<(f64, f64)>, exact: f64| {
            shown.is_some_and(|(shown, half)| (shown - exact).abs() <= half * 1.000_001)
        };
        match self {
            Self::Number(exact) => near(number(shown), *exact),
            Self::Share(exact) => {
                let percent = shown.strip_suffix('%').and_then(number);
                near(percent, 100.0 * exact)
            }
            Self::Words(words) => words == shown,
            Self::None => shown == "–",
        }
    }
}

impl Figures {
    fn add(&mut self, table: &str, row: &str, column: &str, figure: Figure, note: Option<Figure>) {
        let place = [table, row, column].map(String::from);
        let before = self.0.insert(place.clone(), (figure, note));
        assert!(before.is_none(), "{place:?} twice");
    }

    fn number(&mut self, table: &str, row: &str, column: &str, value: &Value) {
        let number = Figure::Number(value.as_f64().unwrap());
        self.add(table, row, column, number, None);
    }

    /// Cells of `sheet` that differ from these, and figures that are on one side only.
    pub fn differences(&self, sheet: &Sheet) -> Vec<String> {
        let mut found = vec![];
        let mut seen = 0;
        for (place, cell) in sheet.cells() {
            let Cell { text, note, figure } = &cell;
            let [table, row, column] = &place;
            match self.0.get(&place) {
                Some((expected, expected_note)) => {
                    seen += 1;
                    let below = expected_note
                        .as_ref()
                        .is_none_or(|expected| expected.is(note));
                    if !expected.is(text) || !below {
                        found.push(format!(
                            "{table}, {row}, {column}: {text} {note}, recorded {expected:?} {expected_note:?}"
                        ));
                    }
                }
                None if *figure => {
                    found.push(format!("{table}, {row}, {column}: {text} is of no record"))
                }
                None => {}
            }
        }
        if seen < self.0.len() {
            let shown: Vec<_> = sheet.cells().into_iter().map(|(place, _)| place).collect();
            let lost = self.0.keys().filter(|place| !shown.contains(place));
            found.extend(lost.map(|place| format!("{}: not on the page", place.join(", "))));
        }
        found
    }
}

fn read(root: &Path, name: &str) -> Value {
    let text = fs::read_to_string(root.join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn str_of(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn bits(of: &Value) -> String {
    format!("{} bits", of["width"])
}

/// Every figure of the records below `root`.
pub fn all(root: &Path) -> Figures {
    let mut all = Figures::default();
    receive(&mut all, root);
    transmit(&mut all, root);
    synthesis(&mut all, root);
    coverage(&mut all, root);
    mutants(&mut all, root);
    conformance(&mut all, root);
    runs(&mut all, root);
    host(&mut all, root);
    all
}

/// A row's widths that have no figure show a dash, if another row of its table has one.
fn fill(all: &mut Figures) {
    let (mut rows, mut widths) = (HashSet::new(), HashSet::new());
    for [table, row, column] in all.0.keys() {
        if column.ends_with(" bits") {
            rows.insert([table.clone(), row.clone()]);
            widths.insert([table.clone(), column.clone()]);
        }
    }
    for [table, row] in rows {
        for [of, column] in &widths {
            if *of == table {
                let place = [table.clone(), row.clone(), column.clone()];
                all.0.entry(place).or_insert((Figure::None, None));
            }
        }
    }
}

fn receive(all: &mut Figures, root: &Path) {
    let head = |of: &Value| {
        let markers = if of["markers"].as_bool().unwrap() {
            " markers"
        } else {
            ""
        };
        format!("{}{markers}", of["ulpdu"])
    };
    for (table, name) in [
        ("receive-cycles", "docs/bench/receive-cycles.json"),
        ("receive-reversed", "docs/bench/receive-reversed.json"),
    ] {
        for of in list(&read(root, name)) {
            let number = Figure::Number(of["octets_per_cycle"].as_f64().unwrap());
            let share = Figure::Share(of["of_bus"].as_f64().unwrap());
            all.add(table, &head(of), &bits(of), number, Some(share));
        }
    }
    for of in list(&read(root, "docs/bench/receive-latency.json")) {
        let cycles = Figure::Number(of["cycles"].as_f64().unwrap());
        let beats = Figure::Number(of["beats"].as_f64().unwrap());
        all.add("receive-latency", &head(of), &bits(of), cycles, Some(beats));
    }
    fill(all);
}

/// What is sent, as the page says it.
fn workload(of: &Value) -> String {
    let requests = &of["requests"];
    let several = |what: &str, fpdus: &Value| match fpdus.as_u64().unwrap() {
        1 => format!("{what} of one FPDU"),
        fpdus => format!("{what} of {fpdus} FPDUs"),
    };
    let mut text = format!("{} ", of["ulpdu"]);
    text += &match requests {
        Value::String(inline) if inline == "inline" => "Sends, payload in the slot".to_owned(),
        _ if requests["memory"].is_object() => several("RDMA Writes", &requests["memory"]["fpdus"]),
        _ => several("Read Responses", &requests["reads"]["fpdus"]),
    };
    if of["markers"] == true {
        text += ", markers";
    }
    if of["streams"] != 1 {
        text += &format!(", {} streams", of["streams"]);
    }
    if of["receiving"] != 0 {
        text += &format!(", {} streams receive", of["receiving"]);
    }
    if of["silent"] == true {
        text += ", one never acknowledged";
    }
    text
}

fn transmit(all: &mut Figures, root: &Path) {
    let record = read(root, "docs/bench/transmit-cycles.json");
    for of in list(&record["rates"]) {
        let per_cycle = of["octets"].as_f64().unwrap() / of["cycles"].as_f64().unwrap();
        let share = Figure::Share(of["of_bus"].as_f64().unwrap());
        let figure = Figure::Number(per_cycle);
        all.add(
            "transmit-cycles",
            &workload(of),
            &bits(of),
            figure,
            Some(share),
        );
    }
    for (table, delays) in [("transmit-delays", "delays"), ("read-delays", "reads")] {
        for of in list(&record[delays]) {
            let cycles = Figure::Number(of["cycles"].as_f64().unwrap());
            let beats = Figure::Number(of["beats"].as_f64().unwrap());
            all.add(table, &workload(of), &bits(of), cycles, Some(beats));
        }
    }
    fill(all);
}

fn synthesis(all: &mut Figures, root: &Path) {
    let mut files: Vec<_> = fs::read_dir(root.join("constraints/reports"))
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    for file in files {
        let of: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let extent: String = [("transmit", "-transmit"), ("sctp", "-sctp")]
            .into_iter()
            .filter_map(|(field, suffix)| (of[field] == true).then_some(suffix))
            .collect();
        if let Some(family) = of["family"].as_str() {
            let table = format!("estimate-{family}{extent}");
            for (row, field) in [
                ("LUTs", "lut"),
                ("carry cells", "carry"),
                ("flip-flops", "ff"),
                ("LUT RAMs", "lut_ram"),
                ("block RAMs of 18 kbit", "ram18"),
                ("LUTs in a row", "lut_levels"),
            ] {
                all.number(&table, row, &bits(&of), &of[field]);
            }
            let path = of["longest_path"]["ps"].as_f64();
            let path = path.map_or(Figure::None, Figure::Number);
            all.add(&table, "longest path, ps", &bits(&of), path, None);
        } else if of["built"].is_array() {
            for built in list(&of["built"]) {
                let row = format!("{} {}", str_of(&built["what"]), bits(built));
                all.number("crc32c", &row, "LUT4", &built["lut4"]);
                all.number("crc32c", &row, "flip-flops", &built["ff"]);
                let clock = built["fmax_mhz_min"].as_f64();
                let clock = clock.map_or(Figure::Words("not routed".into()), Figure::Number);
                all.add("crc32c", &row, "MHz, slowest seed", clock, None);
            }
        } else {
            let table = format!("placed-{}{extent}", str_of(&of["part"]));
            for (row, value) in [
                ("LUT4", &of["lut4"]),
                ("flip-flops", &of["ff"]),
                ("block RAMs", &of["ebr"]),
                ("MHz, slowest seed", &of["fmax_mhz_min"]),
                ("MHz, fastest seed", &of["fmax_mhz"]),
                ("Gbit/s, slowest seed", &of["gbit_per_second"]),
                ("worst path, ns", &of["worst_path"]["ns"]),
            ] {
                all.number(&table, row, &bits(&of), value);
            }
            let seeds = Figure::Number(list(&of["seeds"]).len() as f64);
            all.add(&table, "seeds", &bits(&of), seeds, None);
        }
    }
    fill(all);
}

fn coverage(all: &mut Figures, root: &Path) {
    let record = read(root, "docs/coverage.json");
    for width in list(&record["widths"]) {
        let blocks = record["blocks"][width.to_string()].as_object().unwrap();
        let sum = |path: &str| -> f64 {
            let of = blocks
                .values()
                .map(|block| block.pointer(path).unwrap().as_u64().unwrap());
            of.sum::<u64>() as f64
        };
        let column = format!("{width} bits");
        let table = "coverage-lines";
        for (row, kind) in [("lines that ran", "lines"), ("toggles seen", "toggles")] {
            let (hit, total) = (sum(&format!("/{kind}/hit")), sum(&format!("/{kind}/total")));
            if total == 0.0 {
                continue; // not counted at this width
            }
            all.add(
                table,
                row,
                &column,
                Figure::Number(hit),
                Some(Figure::Share(hit / total)),
            );
            all.add(
                table,
                &format!("{kind} in all"),
                &column,
                Figure::Number(total),
                None,
            );
        }
        all.add(
            table,
            "lines waived",
            &column,
            Figure::Number(sum("/waived")),
            None,
        );
    }
    fill(all);
    let mut groups: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for bin in list(&record["bins"]) {
        groups
            .entry(str_of(&bin[0]))
            .or_default()
            .push(bin[2].as_u64().unwrap());
    }
    for (group, counts) in groups {
        let reached = counts.iter().filter(|count| **count > 0).count();
        all.add(
            "coverage-bins",
            group,
            "bins",
            Figure::Number(counts.len() as f64),
            None,
        );
        all.add(
            "coverage-bins",
            group,
            "reached",
            Figure::Number(reached as f64),
            None,
        );
    }
}

fn mutants(all: &mut Figures, root: &Path) {
    let count =
        |mutants: &[Value], fate: &str| mutants.iter().filter(|of| of["fate"] == fate).count();
    let mut row = |table: &str, row: &str, mutants: &[Value]| {
        let planted = mutants.len() - count(mutants, "stillborn");
        for (column, count) in [
            ("planted", planted),
            ("killed", count(mutants, "killed")),
            ("equivalent", count(mutants, "equivalent")),
            ("open", count(mutants, "survived")),
        ] {
            all.add(table, row, column, Figure::Number(count as f64), None);
        }
    };
    for (bench, mutants) in read(root, "docs/mutants.json").as_object().unwrap() {
        row("mutants-by-bench", bench, list(mutants));
    }
    for (name, of) in read(root, "docs/mutants-software.json")
        .as_object()
        .unwrap()
    {
        let [shard, tool] = ["shard", "tool"].map(|field| str_of(&of[field]));
        let head = format!(
            "{name} sample {shard} of {}, cargo-mutants {tool}",
            of["candidates"]
        );
        row("software-mutants", &head, list(&of["mutants"]));
    }
}

fn conformance(all: &mut Figures, root: &Path) {
    let record = read(root, "docs/conformance.json");
    for (table, field) in [
        ("conformance-levels", "level"),
        ("conformance-areas", "area"),
    ] {
        let mut counts: BTreeMap<(&str, &str), f64> = BTreeMap::new();
        for of in list(&record) {
            for row in [str_of(&of[field]), "all"] {
                for column in ["tested", "reason", "open"] {
                    let one = if of["status"] == column { 1.0 } else { 0.0 };
                    *counts.entry((row, column)).or_default() += one;
                }
                *counts.entry((row, "all")).or_default() += 1.0;
            }
        }
        for ((row, column), count) in counts {
            all.add(table, row, column, Figure::Number(count), None);
        }
    }
}

fn runs(all: &mut Figures, root: &Path) {
    let streams = read(root, "docs/bench/streams.json");
    for of in list(&streams) {
        let row = format!("{} commit {}", str_of(&of["text"]), str_of(&of["commit"]));
        all.number("streams", &row, "streams", &of["streams"]);
        let hours = of["milliseconds"].as_f64().unwrap() / 1000.0 / 3600.0;
        all.add("streams", &row, "hours", Figure::Number(hours), None);
        let failures = list(&of["failures"]).len() as f64;
        all.add("streams", &row, "failures", Figure::Number(failures), None);
    }
    for run in list(&list(&streams).last().unwrap()["devices"]) {
        let small = if run["small"] == true {
            " smallest buffers"
        } else {
            ""
        };
        let row = format!("{}{small}", bits(run));
        for (column, field) in [
            ("streams", "streams"),
            ("valid FPDUs", "fpdus"),
            ("octets", "octets"),
        ] {
            all.number("streams-devices", &row, column, &run[field]);
        }
    }
    let sequences = root.join("docs/bench/transmit-streams.json");
    if sequences.exists() {
        for of in list(&read(root, "docs/bench/transmit-streams.json")) {
            let table = format!("sequences-{}", str_of(&of["text"]));
            for run in list(&of["widths"]) {
                for field in ["sequences", "requests", "octets"] {
                    all.number(&table, &bits(run), field, &run[field]);
                }
                let failures = list(&run["failures"]).len() as f64;
                all.add(
                    &table,
                    &bits(run),
                    "failures",
                    Figure::Number(failures),
                    None,
                );
            }
        }
    }
    for of in list(&read(root, "docs/bench/connections.json")) {
        let row = format!("{} at a time", of["at_a_time"]);
        all.number("connections", &row, "connections", &of["connections"]);
        all.number("connections", &row, "ms each", &of["milliseconds_each"]);
        all.number("connections", &row, "growth, octets", &of["growth"]);
    }
    let transfers = read(root, "docs/bench/transfer.json");
    for (row, of) in ["RDMA Write", "RDMA Read"]
        .into_iter()
        .zip(list(&transfers))
    {
        all.number("transfer", row, "octets", &of["octets"]);
        all.number("transfer", row, "seconds, simulated", &of["seconds"]);
        let compared = if of["equal"] == true {
            "equal"
        } else {
            "different"
        };
        all.add(
            "transfer",
            row,
            "octets compared",
            Figure::Words(compared.into()),
            None,
        );
    }
    for (kind, of) in read(root, "docs/bench/fuzz.json").as_object().unwrap() {
        let row = format!("{kind} seed {}", of["seed"]);
        let figure = |field: &str| of[field].as_f64().unwrap();
        let messages = Figure::Number(figure("messages"));
        all.add(
            "fuzz",
            &row,
            "inputs",
            Figure::Number(figure("inputs")),
            Some(messages),
        );
        all.number("fuzz", &row, "out\u{ad}comes", &of["outcomes"]);
        let longest = Figure::Number(figure("longest_input_us") / 1000.0);
        all.add("fuzz", &row, "ms, longest", longest, None);
        let growth = figure("resident_last") - figure("resident_first");
        all.add(
            "fuzz",
            &row,
            "growth, octets",
            Figure::Number(growth.max(0.0)),
            None,
        );
    }
}

fn host(all: &mut Figures, root: &Path) {
    let cost = read(root, "docs/bench/host-cost.json");
    for (table, field) in [("host-cost", "instructions"), ("host-cost-kib", "per_kib")] {
        for (what, count) in cost[field].as_object().unwrap() {
            all.number(table, &what.replace('-', " "), "instructions", count);
        }
    }
    let path = read(root, "docs/bench/host-path.json");
    for (row, field) in [
        ("register read", "register_read"),
        ("completion", "completion"),
    ] {
        for (column, way) in [
            ("direct call", "direct"),
            ("driver and vfio-user", "vfio_user"),
            ("ratio", "ratio"),
        ] {
            all.number("host-path", row, column, &path[field][way]);
        }
    }
}
