//! The list of records: what is there, and of which RTL text it is.

use maud::html;

use super::page::Section;
use super::record::{Lack, Text};
use super::records::{Entry, Records};
use super::table::{Cell, Table};

pub(super) fn section(records: &Records) -> Section {
    let rows = records.entries().into_iter().map(|entry| {
        let cells = vec![Cell::words(there(&entry)), Cell::words(text(entry.text))];
        (entry.name.to_owned(), entry.made_by.to_owned(), cells)
    });
    let table = Table {
        id: "record-list".into(),
        caption: "Records of this page".into(),
        corner: "record, and what writes it",
        columns: ["state", "RTL text"].map(String::from).into(),
        rows: rows.collect(),
    };
    Section {
        id: "records",
        title: "Records",
        body: html! {
            p {
                "A key names the code of an RTL text: comments and layout do not count. Where a record has one, it is compared with "
                "the text that this program writes for the same devices. A record of another text tells of a device that has "
                "changed since, in some way: its figures may still hold. Records without a key cannot be told apart this way; tests "
                "measure the cycles of those of " code { "make bench" } " again."
            }
            (table.html())
        },
    }
}

fn there(entry: &Entry<'_>) -> String {
    match entry.lack {
        None => "read".into(),
        Some(Lack::Missing) if entry.optional => "not recorded yet".into(),
        Some(Lack::Missing) => "missing".into(),
        Some(Lack::Unusable(reason)) => format!("unusable: {reason}"),
    }
}

fn text(text: &Text) -> String {
    match text {
        Text::Same(key) => format!("{key}, this program's"),
        Text::Older { recorded, now } => format!("{recorded}, another than this program's {now}"),
        Text::Unkeyed => "not said".into(),
        Text::None => "–".into(),
    }
}
