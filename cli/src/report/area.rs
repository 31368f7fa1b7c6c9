//! Area and clock, by width.

use maud::{Markup, html};
use warpline_synth::{Estimate, Extent, Report};

use super::figures::{Crc, Synthesis};
use super::page::Section;
use super::record::{Record, Text};
use super::records::Records;
use super::table::{Cell, Table, bits};
use crate::measure::WIDTHS;
use crate::numbers::grouped;

pub(super) fn section(records: &Records) -> Section {
    let all = &records.syntheses;
    Section {
        id: "area",
        title: "Area and clock",
        body: html! {
            @for record in all { @if record.get().is_none() { (record.show(|_| html! {})) } }
            @for (part, extent, of) in placed(all) { (placed_table(part, extent, &of)) }
            @for (family, extent, of) in estimated(all) { (estimated_table(family, extent, &of)) }
            @for record in all {
                @if let Some(Synthesis::Crc(_)) = record.get() {
                    h3 { "CRC32C alone" }
                    (record.show(|of| match of { Synthesis::Crc(crc) => crc_table(crc), _ => html! {} }))
                }
            }
        },
    }
}

/// Reports of a part, with what is known of their texts.
type Placed<'r> = Vec<(&'r Report, &'r Record<Synthesis>)>;
type Estimated<'r> = Vec<(&'r Estimate, &'r Record<Synthesis>)>;

/// Reports by part and what their devices do, in the order of the records.
fn placed(all: &[Record<Synthesis>]) -> Vec<(&str, Extent, Placed<'_>)> {
    let mut groups: Vec<(&str, Extent, Placed<'_>)> = Vec::new();
    for record in all {
        let Some(Synthesis::Placed(report)) = record.get() else {
            continue;
        };
        let key = (report.part.as_str(), report.extent());
        match groups
            .iter_mut()
            .find(|(part, extent, _)| (*part, *extent) == key)
        {
            Some((_, _, of)) => of.push((report, record)),
            None => groups.push((key.0, key.1, vec![(report, record)])),
        }
    }
    groups
}

fn estimated(all: &[Record<Synthesis>]) -> Vec<(&str, Extent, Estimated<'_>)> {
    let mut groups: Vec<(&str, Extent, Estimated<'_>)> = Vec::new();
    for record in all {
        let Some(Synthesis::Estimated(estimate)) = record.get() else {
            continue;
        };
        let key = (estimate.family.as_str(), estimate.extent);
        match groups
            .iter_mut()
            .find(|(family, extent, _)| (*family, *extent) == key)
        {
            Some((_, _, of)) => of.push((estimate, record)),
            None => groups.push((key.0, key.1, vec![(estimate, record)])),
        }
    }
    groups
}

/// The row that says of which RTL text each report is.
fn text(record: &Record<Synthesis>) -> Cell {
    Cell::words(match &record.text {
        Text::Same(_) => "this program's",
        Text::Older { .. } => "another",
        Text::Unkeyed | Text::None => "not said",
    })
}

/// Widths that reports are of.
fn widths<R>(of: &[(&R, &Record<Synthesis>)], width: impl Fn(&R) -> usize) -> Vec<usize> {
    let all = WIDTHS.into_iter();
    all.filter(|bits| of.iter().any(|(report, _)| width(report) == *bits))
        .collect()
}

/// A row of `of`, a cell for each width.
fn row<'r, R>(
    head: &str,
    of: &[(&'r R, &'r Record<Synthesis>)],
    width: impl Fn(&R) -> usize,
    cell: impl Fn(&'r R, &'r Record<Synthesis>) -> Cell,
) -> (String, String, Vec<Cell>) {
    let cells = widths(of, &width).into_iter().map(|bits| {
        let found = of.iter().find(|(report, _)| width(report) == bits);
        found.map_or_else(Cell::none, |(report, record)| cell(report, record))
    });
    (head.into(), String::new(), cells.collect())
}

fn id(kind: &str, name: &str, extent: Extent) -> String {
    let name: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let transmit = if extent.transmit { "-transmit" } else { "" };
    let sctp = if extent.sctp { "-sctp" } else { "" };
    format!("{kind}-{name}{transmit}{sctp}")
}

fn placed_table(part: &str, extent: Extent, of: &Placed<'_>) -> Markup {
    let width = |report: &Report| report.width;
    let megahertz = |clock: f64| Cell::number(format!("{clock:.1}"));
    let row =
        |head: &str, cell: &dyn Fn(&Report) -> Cell| row(head, of, width, |report, _| cell(report));
    let rows = vec![
        row("LUT4", &|report| Cell::count(report.lut4)),
        row("flip-flops", &|report| Cell::count(report.ff)),
        row("block RAMs", &|report| Cell::count(report.ebr)),
        row("MHz, slowest seed", &|report| {
            megahertz(report.fmax_mhz_min)
        }),
        row("MHz, fastest seed", &|report| megahertz(report.fmax_mhz)),
        row("seeds", &|report| Cell::count(report.seeds.len() as u64)),
        row("Gbit/s, slowest seed", &|report| {
            Cell::number(format!("{:.2}", report.gbit_per_second))
        }),
        row("worst path, ns", &|report| {
            Cell::number(format!("{:.2}", report.worst_path.ns))
        }),
        self::row("RTL text", of, width, |_, record| text(record)),
    ];
    let (streams, rings): (Vec<_>, Vec<_>) = of
        .iter()
        .map(|(report, _)| (report.streams as u64, report.ring_octets as u64))
        .unzip();
    let table = Table {
        id: id("placed", part, extent),
        caption: format!(
            "{part}, placed and routed with the self-test around the device: {extent}"
        ),
        corner: "",
        columns: bits(&widths(of, width)),
        rows,
    };
    html! {
        h3 { (part) ", " (extent) }
        p {
            "By yosys and nextpnr; streams: " (each(&streams)) ", octets of a ring: " (each(&rings)) ". The clock counts by its "
            "slowest seed. Throughput is that clock times octets per cycle for ULPDUs of 1442 octets."
        }
        (table.html())
        ul.paths {
            @for (report, _) in of {
                li {
                    (report.width) " bits: the worst path is " code { (report.worst_path.from) } " → "
                    code { (report.worst_path.to) } ", " (format!("{:.2}", report.worst_path.wires_ns)) " ns of it wires"
                }
            }
        }
        (sources(of.iter().map(|(_, record)| *record)))
    }
}

fn estimated_table(family: &str, extent: Extent, of: &Estimated<'_>) -> Markup {
    let width = |estimate: &Estimate| estimate.width;
    let row = |head: &str, cell: &dyn Fn(&Estimate) -> Cell| {
        row(head, of, width, |estimate, _| cell(estimate))
    };
    let rows = vec![
        row("LUTs", &|of| Cell::count(of.lut)),
        row("carry cells", &|of| Cell::count(of.carry)),
        row("flip-flops", &|of| Cell::count(of.ff)),
        row("LUT RAMs", &|of| Cell::count(of.lut_ram)),
        row("block RAMs of 18 kbit", &|of| Cell::count(of.ram18)),
        row("LUTs in a row", &|of| Cell::count(of.lut_levels as u64)),
        row("longest path, ps", &|of| {
            let path = of.longest_path.as_ref();
            path.map_or_else(Cell::none, |path| Cell::count(path.ps))
        }),
        self::row("RTL text", of, width, |_, record| text(record)),
    ];
    let table = Table {
        id: id("estimate", family, extent),
        caption: format!("{family}, estimated by yosys without placement: {extent}"),
        corner: "",
        columns: bits(&widths(of, width)),
        rows,
    };
    html! {
        h3 { (family) ", " (extent) ", estimated" }
        p { "The device alone, with open ports. The longest path takes all wires to be alike." }
        (table.html())
        (sources(of.iter().map(|(_, record)| *record)))
    }
}

/// One number if all are the same.
fn each(numbers: &[u64]) -> String {
    let mut distinct: Vec<u64> = numbers.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let texts: Vec<_> = distinct.into_iter().map(grouped).collect();
    texts.join(", ")
}

/// Where the figures of a table are from, and those that are of another RTL text.
fn sources<'r>(of: impl Iterator<Item = &'r Record<Synthesis>>) -> Markup {
    let of: Vec<_> = of.collect();
    html! {
        p.source {
            "From "
            @for (at, record) in of.iter().enumerate() {
                @if at > 0 { ", " }
                code { (record.name) }
            }
            "."
        }
        @for record in of {
            @match &record.text {
                Text::Older { recorded, now } => p.source {
                    strong.old { code { (record.name) } " is of another RTL text, " code { (recorded) } ": this program writes " code { (now) } "." }
                },
                Text::Unkeyed => p.source {
                    strong.old { code { (record.name) } " does not say of which RTL text it is." }
                },
                Text::Same(_) | Text::None => {}
            }
        }
    }
}

fn crc_table(crc: &Crc) -> Markup {
    let rows = crc.built.iter().map(|built| {
        let clock = built.fmax_mhz_min;
        let cells = vec![
            Cell::count(built.lut4),
            Cell::count(built.ff),
            clock.map_or_else(
                || Cell::words("not routed"),
                |clock| Cell::number(format!("{clock:.1}")),
            ),
        ];
        (built.what.clone(), format!("{} bits", built.width), cells)
    });
    let table = Table {
        id: "crc32c".into(),
        caption: format!(
            "CRC32C on {}: warpline's, and that of a parallel LFSR",
            crc.part
        ),
        corner: "",
        columns: ["LUT4", "flip-flops", "MHz, slowest seed"]
            .map(String::from)
            .into(),
        rows: rows.collect(),
    };
    table.html()
}
