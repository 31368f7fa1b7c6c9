//! Which rules of the RFCs a test shows.

use maud::{Markup, html};

use super::figures::{Requirement, Status};
use super::page::Section;
use super::records::Records;
use super::table::{Cell, Table};

pub(super) fn section(records: &Records) -> Section {
    Section {
        id: "conformance",
        title: "Conformance",
        body: html! {
            p {
                "Each requirement that was read out of RFC 5040, 5041, 5042, 5043, 5044, 6581 and the drafts before them. "
                strong { "Tested" } ": tests cite it, and fail when it is broken. " strong { "Reason" } ": it does not bind what "
                "warpline is, and a reason says why. " strong { "Open" } ": still to be built or to be shown."
            }
            (records.conformance.show(|all| body(all)))
        },
    }
}

fn body(all: &[Requirement]) -> Markup {
    let open: Vec<_> = all.iter().filter(|of| of.status == Status::Open).collect();
    html! {
        (table("conformance-levels", "Requirements by level", "level", all, |of| &of.level))
        (table("conformance-areas", "Requirements by area", "area", all, |of| &of.area))
        @if !open.is_empty() {
            h3 { "What is open" }
            dl {
                @for of in open {
                    dt { (of.id) ", " (of.level) }
                    dd { (of.reason) }
                }
            }
        }
    }
}

/// How many have this status.
pub(super) fn count<'r>(all: impl IntoIterator<Item = &'r Requirement>, status: Status) -> u64 {
    all.into_iter().filter(|of| of.status == status).count() as u64
}

fn tally(all: &[&Requirement]) -> Vec<Cell> {
    let of = |status| count(all.iter().copied(), status);
    [
        of(Status::Tested),
        of(Status::Reason),
        of(Status::Open),
        all.len() as u64,
    ]
    .map(Cell::count)
    .into()
}

/// Rows in the order in which `key` first has them, and their sum.
fn table<'r>(
    id: &str,
    caption: &str,
    corner: &'static str,
    all: &'r [Requirement],
    key: impl Fn(&'r Requirement) -> &'r str,
) -> Markup {
    let mut keys: Vec<&str> = Vec::new();
    for of in all {
        if !keys.contains(&key(of)) {
            keys.push(key(of));
        }
    }
    let row = |head: &str, of: Vec<&Requirement>| (head.to_owned(), String::new(), tally(&of));
    let mut rows: Vec<_> = keys
        .into_iter()
        .map(|head| row(head, all.iter().filter(|of| key(of) == head).collect()))
        .collect();
    rows.push(row("all", all.iter().collect()));
    let table = Table {
        id: id.into(),
        caption: caption.into(),
        corner,
        columns: ["tested", "reason", "open", "all"].map(String::from).into(),
        rows,
    };
    table.html()
}
