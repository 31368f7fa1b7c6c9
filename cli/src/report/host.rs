//! What a message costs the host.

use maud::{Markup, html};

use super::figures::HostCost;
use super::page::Section;
use super::records::Records;
use super::table::{Cell, Table};
use crate::host_path::HostPath;

pub(super) fn section(records: &Records) -> Section {
    Section {
        id: "host",
        title: "Cost of the host",
        body: html! {
            p {
                "Instructions of the host's processor for a message, counted by callgrind: the driver against a receiver in software, "
                "which copies and checks the CRC."
            }
            (records.host_cost.show(cost))
            h3 { "The path to a simulated card" }
            p {
                "Medians of one run, the simulation in them: only the ratio means something, and it says what driver and vfio-user add."
            }
            (records.host_path.show(path))
        },
    }
}

fn cost(of: &HostCost) -> Markup {
    let figure = |figure: &f64| vec![Cell::number(format!("{figure:.1}"))];
    let rows = of.instructions.iter();
    let rows = rows.map(|(what, count)| (what.replace('-', " "), String::new(), figure(count)));
    let each = of.per_kib.iter();
    let each = each.map(|(what, count)| (what.replace('-', " "), String::new(), figure(count)));
    let table = |id: &str, caption: &str, rows| Table {
        id: id.into(),
        caption: caption.into(),
        corner: "",
        columns: vec!["instructions".into()],
        rows,
    };
    html! {
        (table("host-cost", "Instructions for one of each", rows.collect()).html())
        (table("host-cost-kib", "Instructions for a KiB of a long message", each.collect()).html())
        p {
            "Software takes " strong { (format!("{:.1}", of.ratio)) } " times the instructions of the driver. Counted with "
            (of.valgrind) " and " (of.rustc) "."
        }
    }
}

fn path(of: &HostPath) -> Markup {
    let rows = [
        ("register read", of.register_read),
        ("completion", of.completion),
    ];
    let rows = rows.map(|(what, ways)| {
        let cells = vec![
            Cell::number(format!("{:.1}", ways.direct)),
            Cell::number(format!("{:.1}", ways.vfio_user)),
            Cell::number(format!("{:.2}", ways.ratio)),
        ];
        (what.to_owned(), String::new(), cells)
    });
    let table = Table {
        id: "host-path".into(),
        caption: format!("Microseconds at {} bits", of.width),
        corner: "",
        columns: ["direct call", "driver and vfio-user", "ratio"]
            .map(String::from)
            .into(),
        rows: rows.into(),
    };
    table.html()
}
