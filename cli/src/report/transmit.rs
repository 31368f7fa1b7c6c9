//! Octets per cycle of the transmit path.

use maud::{Markup, html};

use super::figures::{Rate, Requests, Workload};
use super::page::Section;
use super::receive::{Point, chart, lines};
use super::records::Records;
use super::table::{Cell, Table, bits, percent};
use crate::Error;
use crate::measure::WIDTHS;

pub(super) fn section(records: &Records) -> Result<Section, Error> {
    let chart = match records.transmit.get() {
        None => html! {},
        Some(all) => chart(
            "transmit-chart",
            lines(all.rates.iter().filter_map(point)),
            "for messages of 16 FPDUs",
            "for messages of one",
        )?,
    };
    Ok(Section {
        id: "transmit",
        title: "Throughput, sending",
        body: html! {
            p {
                "Octets of FPDUs per clock cycle that leave the device, from send queues and payload in host memory. A small message "
                "costs its slot, its memory and its completion, whatever the width; with several FPDUs for a message these are hidden."
            }
            (records.transmit.show(|all| html! { (chart) (table(&all.rates)) }))
        },
    })
}

/// A point of the chart: one stream sends from memory, without markers, and nothing else happens.
fn point(rate: &Rate) -> Option<Point> {
    let Workload {
        requests: Requests::Memory {
            fpdus: fpdus @ (1 | 16),
        },
        streams: 1,
        markers: false,
        receiving: 0,
        silent: false,
        ulpdu,
    } = rate.workload
    else {
        return None;
    };
    Some(Point {
        width: rate.width,
        thin: fpdus == 1,
        octets: ulpdu,
        figure: per_cycle(rate),
    })
}

/// Octets of a cycle.
pub(super) fn per_cycle(rate: &Rate) -> f64 {
    rate.octets as f64 / rate.cycles as f64
}

fn table(rates: &[Rate]) -> Markup {
    let mut workloads: Vec<Workload> = Vec::new();
    for rate in rates {
        if !workloads.contains(&rate.workload) {
            workloads.push(rate.workload);
        }
    }
    let rows = workloads.into_iter().map(|workload| {
        let cells = WIDTHS.map(|width| {
            let is = |rate: &&Rate| (rate.width, rate.workload) == (width, workload);
            rates.iter().find(is).map_or_else(Cell::none, |rate| {
                Cell::number(format!("{:.2}", per_cycle(rate))).with(percent(rate.of_bus))
            })
        });
        let (head, note) = words(&workload);
        (head, note, cells.into())
    });
    let table = Table {
        id: "transmit-cycles".into(),
        caption: "Transmit path: octets per cycle, and share of the bus".into(),
        corner: "ULPDU, and what sends it",
        columns: bits(&WIDTHS),
        rows: rows.collect(),
    };
    table.html()
}

/// What is sent, and what else happens.
pub(super) fn words(workload: &Workload) -> (String, String) {
    let several = |fpdus: usize, what: &str| match fpdus {
        1 => format!("{what} of one FPDU"),
        _ => format!("{what} of {fpdus} FPDUs"),
    };
    let mut note = match workload.requests {
        Requests::Memory { fpdus } => several(fpdus, "RDMA Writes"),
        Requests::Inline => "Sends, payload in the slot".into(),
        Requests::Reads { fpdus } => several(fpdus, "Read Responses"),
    };
    if workload.markers {
        note += ", markers";
    }
    if workload.streams != 1 {
        note += &format!(", {} streams", workload.streams);
    }
    if workload.receiving != 0 {
        note += &format!(", {} streams receive", workload.receiving);
    }
    if workload.silent {
        note += ", one never acknowledged";
    }
    (workload.ulpdu.to_string(), note)
}
