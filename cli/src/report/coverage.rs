//! What random streams reach, and which lines of the RTL run.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::figures::{Block, Coverage, Share};
use super::page::Section;
use super::records::Records;
use super::table::{Cell, Table, bits, percent_of};
use crate::numbers::grouped;

pub(super) fn section(records: &Records) -> Section {
    Section {
        id: "coverage",
        title: "Coverage",
        body: html! { (records.coverage.show(body)) },
    }
}

fn body(of: &Coverage) -> Markup {
    html! {
        p {
            (grouped(of.streams)) " random streams or more at each width, against the reference receiver, with the benches of the whole "
            "device. A line that never runs fails the command, unless a list says why it cannot: those are waived."
        }
        (lines(of))
        (bins(of))
        @if of.problems.is_empty() {
            p { "Nothing that has to be reached was missed." }
        } @else {
            p.lack { (of.problems.len()) " were missed:" }
            ul { @for problem in &of.problems { li { (problem) } } }
        }
    }
}

/// Sums of all blocks of a width.
pub(super) fn sums(of: &Coverage, width: usize) -> Block {
    let mut sum = Block {
        lines: Share::default(),
        waived: 0,
        toggles: Share::default(),
    };
    for block in of.blocks.get(&width).into_iter().flat_map(BTreeMap::values) {
        for (to, from) in [
            (&mut sum.lines, block.lines),
            (&mut sum.toggles, block.toggles),
        ] {
            to.hit = to.hit.saturating_add(from.hit);
            to.total = to.total.saturating_add(from.total);
        }
        sum.waived = sum.waived.saturating_add(block.waived);
    }
    sum
}

fn lines(of: &Coverage) -> Markup {
    let row = |head: &str, cell: &dyn Fn(Block) -> Cell| {
        let cells = of.widths.iter().map(|&width| cell(sums(of, width)));
        (head.to_owned(), String::new(), cells.collect())
    };
    // toggles are not counted at every width
    let shared = |share: Share| match share.total {
        0 => Cell::none(),
        _ => Cell::count(share.hit).with(percent_of(share.hit, share.total)),
    };
    let total = |share: Share| match share.total {
        0 => Cell::none(),
        _ => Cell::count(share.total),
    };
    let table = Table {
        id: "coverage-lines".into(),
        caption: "Lines and branches of the RTL that ran, and toggles of bits".into(),
        corner: "",
        columns: bits(&of.widths),
        rows: vec![
            row("lines that ran", &|sum| shared(sum.lines)),
            row("lines waived", &|sum| Cell::count(sum.waived)),
            row("lines in all", &|sum| total(sum.lines)),
            row("toggles seen", &|sum| shared(sum.toggles)),
            row("toggles in all", &|sum| total(sum.toggles)),
        ],
    };
    table.html()
}

fn bins(of: &Coverage) -> Markup {
    let mut groups: BTreeMap<&str, Vec<(&str, u64)>> = BTreeMap::new();
    for (group, bin, count) in &of.bins {
        groups.entry(group).or_default().push((bin, *count));
    }
    let rows = groups.iter().map(|(group, bins)| {
        let reached = bins.iter().filter(|(_, count)| *count > 0).count();
        let rarest = bins.iter().min_by_key(|(_, count)| *count);
        let rarest = rarest.map_or_else(Cell::none, |(bin, count)| {
            Cell::words(*bin).with(format!("{} times", grouped(*count)))
        });
        let cells = vec![
            Cell::count(bins.len() as u64),
            Cell::count(reached as u64),
            rarest,
        ];
        ((*group).to_owned(), String::new(), cells)
    });
    let table = Table {
        id: "coverage-bins".into(),
        caption: "What random streams reach".into(),
        corner: "group",
        columns: ["bins", "reached", "rarest"].map(String::from).into(),
        rows: rows.collect(),
    };
    table.html()
}
