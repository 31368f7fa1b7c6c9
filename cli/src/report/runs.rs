//! Long runs: random streams, request sequences, connections, transfers, random inputs.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::figures::{Connections, Fuzz, Streams, Transfer, TransmitStreams};
use super::page::Section;
use super::records::Records;
use super::table::{Cell, Table};
use crate::numbers::{counted, grouped};

pub(super) fn section(records: &Records) -> Section {
    Section {
        id: "runs",
        title: "Long runs",
        body: html! {
            h3 { "Random streams, receiving" }
            p { "The RTL against the reference receiver, octet for octet, each width with full and with the smallest buffers." }
            (records.streams.show(|all| streams(all)))
            h3 { "Random request sequences, sending" }
            (records.transmit_streams.show(|all| sequences(all)))
            h3 { "Connections" }
            p { "Between two simulated cards: start-up, a message each way, and the end. Growth is that of the process's memory." }
            (records.connections.show(|all| connections(all)))
            h3 { "Transfer" }
            p { "A region of memory written by RDMA Write, and read back by RDMA Read, between two simulated cards." }
            (records.transfer.show(|all| transfers(all)))
            h3 { "Random inputs" }
            p { "Files, frames and messages made of random octets and of mutated valid ones, into what reads them. None may panic, take long, or keep memory." }
            (records.fuzz.show(fuzz))
        },
    }
}

fn strings<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(String::from).into()
}

/// The hours of so many milliseconds.
fn hours(milliseconds: u64) -> String {
    format!("{:.1}", milliseconds as f64 / 3_600_000.0)
}

fn failures<'f>(of: impl Iterator<Item = (&'f str, &'f [String])>) -> Markup {
    let all: Vec<_> = of.filter(|(_, failures)| !failures.is_empty()).collect();
    html! {
        @for (text, failures) in all {
            p.lack { "What failed in the run of text " code { (text) } ", its first lines:" }
            ul {
                @for failure in failures {
                    li { code { @for line in failure.lines().take(2) { (line) " " } } }
                }
            }
        }
    }
}

fn streams(all: &[Streams]) -> Markup {
    let rows = all.iter().map(|of| {
        let cells = vec![
            Cell::count(of.streams),
            Cell::number(hours(of.milliseconds)),
            Cell::count(of.failures.len() as u64),
        ];
        (of.text.clone(), format!("commit {}", of.commit), cells)
    });
    let table = Table {
        id: "streams".into(),
        caption: "Random streams, by RTL text, the latest last".into(),
        corner: "RTL text",
        columns: strings(["streams", "hours", "failures"]),
        rows: rows.collect(),
    };
    let devices = all.last().map(|last| {
        let rows = last.devices.iter().map(|run| {
            let buffers = if run.small { "smallest buffers" } else { "" };
            let cells = vec![
                Cell::count(run.streams),
                Cell::count(run.fpdus),
                Cell::count(run.octets),
            ];
            (format!("{} bits", run.width), buffers.into(), cells)
        });
        Table {
            id: "streams-devices".into(),
            caption: format!("Random streams of text {}, by device", last.text),
            corner: "device",
            columns: strings(["streams", "valid FPDUs", "octets"]),
            rows: rows.collect(),
        }
    });
    html! {
        (table.html())
        @if let Some(devices) = devices { (devices.html()) }
        (failures(all.iter().map(|of| (&*of.text, &*of.failures))))
    }
}

fn sequences(all: &[TransmitStreams]) -> Markup {
    let tables = all.iter().map(|of| {
        let rows = of.widths.iter().map(|run| {
            let cells = [
                run.sequences,
                run.requests,
                run.octets,
                run.failures.len() as u64,
            ];
            (
                format!("{} bits", run.width),
                String::new(),
                cells.map(Cell::count).into(),
            )
        });
        Table {
            id: format!("sequences-{}", of.text),
            caption: format!(
                "Request sequences of text {}, commit {}",
                of.text, of.commit
            ),
            corner: "device",
            columns: strings(["sequences", "requests", "octets", "failures"]),
            rows: rows.collect(),
        }
    });
    html! {
        @for table in tables { (table.html()) }
        (failures(all.iter().flat_map(|of| of.widths.iter().map(|run| (&*of.text, &*run.failures)))))
    }
}

fn connections(all: &[Connections]) -> Markup {
    let rows = all.iter().map(|of| {
        let cells = vec![
            Cell::count(of.connections),
            Cell::number(format!("{:.1}", of.milliseconds_each)),
            Cell::count(of.growth),
        ];
        (format!("{} at a time", of.at_a_time), String::new(), cells)
    });
    let table = Table {
        id: "connections".into(),
        caption: "Connections".into(),
        corner: "",
        columns: strings(["connections", "ms each", "growth, octets"]),
        rows: rows.collect(),
    };
    table.html()
}

fn transfers(all: &[Transfer]) -> Markup {
    let rows = (0..).zip(all).map(|(at, of)| {
        let way = match at {
            0 => "RDMA Write",
            1 => "RDMA Read",
            _ => "further",
        };
        let cells = vec![
            Cell::count(of.octets),
            Cell::number(format!("{:.1}", of.seconds)),
            Cell::words(if of.equal { "equal" } else { "different" }),
        ];
        (way.to_owned(), String::new(), cells)
    });
    let table = Table {
        id: "transfer".into(),
        caption: "Transfer".into(),
        corner: "",
        columns: strings(["octets", "seconds, simulated", "octets compared"]),
        rows: rows.collect(),
    };
    table.html()
}

fn fuzz(all: &BTreeMap<String, Fuzz>) -> Markup {
    let rows = all.iter().map(|(kind, of)| {
        let growth = of.resident_last.saturating_sub(of.resident_first);
        let cells = vec![
            Cell::count(of.inputs).with(counted(of.messages, "message")),
            Cell::count(of.outcomes),
            Cell::number(format!("{:.1}", of.longest_input_us as f64 / 1000.0)),
            Cell::count(growth),
        ];
        (kind.clone(), format!("seed {}", grouped(of.seed)), cells)
    });
    let table = Table {
        id: "fuzz".into(),
        caption: "Random inputs, by what reads them".into(),
        corner: "",
        columns: strings(["inputs", "out\u{ad}comes", "ms, longest", "growth, octets"]),
        rows: rows.collect(),
    };
    table.html()
}
