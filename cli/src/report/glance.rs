//! The overview: a figure of each subject.

use super::coverage::sums;
use super::figures::{Fate, Status, Synthesis};
use super::mutants::count;
use super::page::Tile;
use super::records::Records;
use super::table::percent_of;
use super::{conformance, transmit};
use crate::measure::WIDTHS;
use crate::numbers::grouped;

/// Octets of a ULPDU that fills an Ethernet frame.
const ETHERNET: usize = 1442;

/// Tiles of the records that are there.
pub(super) fn tiles(records: &Records) -> Vec<Tile> {
    let tiles = [
        received(records),
        sent(records),
        clock(records),
        requirements(records),
        lines(records),
        mutants(records),
        streams(records),
        inputs(records),
        host(records),
    ];
    tiles.into_iter().flatten().collect()
}

/// Figures of all widths, if each has one.
fn widths(figure: impl Fn(usize) -> Option<f64>, decimals: usize) -> Option<String> {
    let texts = WIDTHS.map(|width| figure(width).map(|figure| format!("{figure:.decimals$}")));
    let texts: Option<Vec<_>> = texts.into_iter().collect();
    Some(texts?.join(" · "))
}

fn received(records: &Records) -> Option<Tile> {
    let all = records.receive.get()?;
    let of = |width| {
        let is = |of: &&crate::measure::Figure| {
            (of.width, of.ulpdu, of.markers) == (width, ETHERNET, false)
        };
        all.iter().find(is).map(|of| of.octets_per_cycle)
    };
    Some(Tile {
        id: "glance-receive",
        figure: widths(of, 1)?,
        what: format!(
            "octets per cycle received at 64, 128, 256 and 512 bits, ULPDUs of {ETHERNET} octets"
        ),
        section: "receive",
    })
}

fn sent(records: &Records) -> Option<Tile> {
    let all = records.transmit.get()?;
    let of = |width| {
        let is = |of: &&super::figures::Rate| {
            let workload = &of.workload;
            let plain = (
                workload.streams,
                workload.receiving,
                workload.silent,
                workload.markers,
            );
            of.width == width
                && workload.ulpdu == ETHERNET
                && plain == (1, 0, false, false)
                && workload.requests == super::figures::Requests::Memory { fpdus: 16 }
        };
        all.rates.iter().find(is).map(transmit::per_cycle)
    };
    Some(Tile {
        id: "glance-transmit",
        figure: widths(of, 1)?,
        what: "octets per cycle sent, the same size, 16 FPDUs a message".into(),
        section: "transmit",
    })
}

fn clock(records: &Records) -> Option<Tile> {
    let of = |width| {
        records
            .syntheses
            .iter()
            .find_map(|record| match record.get()? {
                Synthesis::Placed(of) if of.width == width && !of.transmit => Some(of.fmax_mhz_min),
                _ => None,
            })
    };
    Some(Tile {
        id: "glance-clock",
        figure: widths(of, 0)?,
        what: "MHz on an ECP5, slowest seed, receiving".into(),
        section: "area",
    })
}

fn requirements(records: &Records) -> Option<Tile> {
    let all = records.conformance.get()?;
    let of = |status| conformance::count(all, status);
    Some(Tile {
        id: "glance-conformance",
        figure: format!(
            "{} of {}",
            grouped(of(Status::Tested)),
            grouped(all.len() as u64)
        ),
        what: format!(
            "requirements tested; {} have a reason, {} are open",
            grouped(of(Status::Reason)),
            grouped(of(Status::Open))
        ),
        section: "conformance",
    })
}

fn lines(records: &Records) -> Option<Tile> {
    let of = records.coverage.get()?;
    let least = of.widths.iter().map(|&width| sums(of, width).lines);
    let least = least.min_by(|a, b| {
        // a / b of one against that of the other
        let cross = |x: u64, y: u64| u128::from(x) * u128::from(y);
        cross(a.hit, b.total).cmp(&cross(b.hit, a.total))
    })?;
    Some(Tile {
        id: "glance-coverage",
        figure: percent_of(least.hit, least.total),
        what: "of the RTL's lines run, at the width with the fewest; the others are waived with reasons".into(),
        section: "coverage",
    })
}

fn mutants(records: &Records) -> Option<Tile> {
    let blocks = records.mutants.get()?;
    let all: Vec<_> = blocks.values().flatten().copied().collect();
    let planted = all.len() as u64 - count(&all, Fate::Stillborn);
    Some(Tile {
        id: "glance-mutants",
        figure: format!(
            "{} of {}",
            grouped(count(&all, Fate::Killed)),
            grouped(planted)
        ),
        what: format!(
            "faults planted in the RTL noticed; {} are equivalent, {} are open",
            grouped(count(&all, Fate::Equivalent)),
            grouped(count(&all, Fate::Survived))
        ),
        section: "mutants",
    })
}

fn streams(records: &Records) -> Option<Tile> {
    let last = records.streams.get()?.last()?;
    Some(Tile {
        id: "glance-streams",
        figure: grouped(last.streams),
        what: format!(
            "random streams through RTL and reference receiver, text {}, {} failures",
            last.text,
            last.failures.len()
        ),
        section: "runs",
    })
}

fn inputs(records: &Records) -> Option<Tile> {
    let all = records.fuzz.get()?.values();
    let inputs = all.fold(0_u64, |sum, of| sum.saturating_add(of.inputs));
    Some(Tile {
        id: "glance-inputs",
        figure: grouped(inputs),
        what: "random inputs into what reads files, frames and messages; each kind within its bounds of time and memory".into(),
        section: "runs",
    })
}

fn host(records: &Records) -> Option<Tile> {
    let of = records.host_cost.get()?;
    Some(Tile {
        id: "glance-host",
        figure: format!("{:.1} ×", of.ratio),
        what: "the driver's instructions are what a receiver in software takes for the same octets"
            .into(),
        section: "host",
    })
}
