//! Cycles that one message takes through an idle device.

use maud::{Markup, html};

use super::figures::{Delay, Workload};
use super::page::Section;
use super::records::Records;
use super::table::{Cell, Table, bits};
use super::transmit::words;
use crate::measure::{Latency, WIDTHS};
use crate::numbers::counted;

pub(super) fn section(records: &Records) -> Section {
    Section {
        id: "latency",
        title: "Latency",
        body: html! {
            h3 { "Receiving" }
            p {
                "From the last beat of a segment with a single FPDU to its first beat on the bus to memory. The beats of the FPDU "
                "are in it: payload moves when its CRC is known to be right."
            }
            (records.latency.show(|all| received(all)))
            h3 { "Sending" }
            p {
                "From the response to the write of the doorbell, or from the last beat of a Read Request, to the first beat on "
                code { "m_axis_transmit" } ". Each write and read of memory on the way is in it."
            }
            (records.transmit.show(|all| html! {
                (sent("transmit-delays", "Sending: cycles for one message, and beats of it", &all.delays))
                (sent("read-delays", "Answering a Read Request: cycles, and beats of the response", &all.reads))
            }))
        },
    }
}

fn cell(cycles: u64, beats: u64) -> Cell {
    Cell::count(cycles).with(counted(beats, "beat"))
}

fn received(all: &[Latency]) -> Markup {
    let mut keys: Vec<(usize, bool)> = Vec::new();
    for of in all {
        if !keys.contains(&(of.ulpdu, of.markers)) {
            keys.push((of.ulpdu, of.markers));
        }
    }
    let rows = keys.into_iter().map(|(ulpdu, markers)| {
        let cells = WIDTHS.map(|width| {
            let is = |of: &&Latency| (of.width, of.ulpdu, of.markers) == (width, ulpdu, markers);
            let found = all.iter().find(is);
            found.map_or_else(Cell::none, |of| cell(of.cycles, of.beats))
        });
        let marked = if markers { "markers" } else { "" };
        (ulpdu.to_string(), marked.into(), cells.into())
    });
    let table = Table {
        id: "receive-latency".into(),
        caption: "Receiving: cycles for one FPDU, and beats of it".into(),
        corner: "octets of a ULPDU",
        columns: bits(&WIDTHS),
        rows: rows.collect(),
    };
    table.html()
}

fn sent(id: &str, caption: &str, delays: &[Delay]) -> Markup {
    let mut workloads: Vec<Workload> = Vec::new();
    for delay in delays {
        if !workloads.contains(&delay.workload) {
            workloads.push(delay.workload);
        }
    }
    let all = WIDTHS.into_iter();
    let widths: Vec<_> = all
        .filter(|width| delays.iter().any(|of| of.width == *width))
        .collect();
    let rows = workloads.into_iter().map(|workload| {
        let cells = widths.iter().map(|&width| {
            let is = |of: &&Delay| (of.width, of.workload) == (width, workload);
            let found = delays.iter().find(is);
            found.map_or_else(Cell::none, |of| cell(of.cycles, of.beats))
        });
        let (head, note) = words(&workload);
        (head, note, cells.collect())
    });
    let table = Table {
        id: id.into(),
        caption: caption.into(),
        corner: "ULPDU, and what sends it",
        columns: bits(&widths),
        rows: rows.collect(),
    };
    table.html()
}
