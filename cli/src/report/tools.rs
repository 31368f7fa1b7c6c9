//! Versions: of the tools that made the records, of those that the checkout installs, and of this program.

use std::collections::{BTreeMap, BTreeSet};

use maud::html;
use warpline_synth::Tool;

use super::figures::Synthesis;
use super::page::Section;
use super::records::Records;
use super::table::{Cell, Table};

pub(super) fn section(records: &Records) -> Section {
    let recorded = recorded(records);
    let pinned = records.pins.iter().flat_map(|list| {
        list.tools.iter().map(|(tool, version)| {
            (
                tool.clone(),
                list.name.to_owned(),
                vec![Cell::words(version)],
            )
        })
    });
    let table = |id: &str, caption: &str, corner, columns: Vec<String>, rows| Table {
        id: id.into(),
        caption: caption.into(),
        corner,
        columns,
        rows,
    };
    let recorded = recorded.into_iter().map(|((tool, version), records)| {
        let records: Vec<_> = records.into_iter().collect();
        (
            tool,
            String::new(),
            vec![Cell::words(version), Cell::words(records.join(", "))],
        )
    });
    let program = [
        ("warpline", env!("CARGO_PKG_VERSION")),
        ("compiled by", env!("WARPLINE_RUSTC")),
        (
            "oldest Rust that it accepts",
            env!("CARGO_PKG_RUST_VERSION"),
        ),
    ]
    .map(|(what, version)| (what.to_owned(), String::new(), vec![Cell::words(version)]));
    let pinned = table(
        "pinned-tools",
        "Tools that the checkout installs, exactly these",
        "tool",
        vec!["version".into()],
        pinned.collect(),
    );
    Section {
        id: "tools",
        title: "Tools",
        body: html! {
            (table("recorded-tools", "Tools that made the records, as these say", "tool", vec!["version".into(), "records".into()], recorded.collect()).html())
            @if pinned.rows.is_empty() {
                p.lack { "This checkout has none of the lists " @for list in &records.pins { code { (list.name) } " " } "." }
            } @else {
                (pinned.html())
            }
            (table("this-program", "The program that wrote this page", "", vec!["version".into()], program.into()).html())
        },
    }
}

/// Tool and version, and the records that name them; the other records name none.
fn recorded(records: &Records) -> BTreeMap<(String, String), BTreeSet<String>> {
    let mut all: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    let mut add = |tool: &str, version: &str, record: &str| {
        let key = (tool.to_owned(), version.to_owned());
        let name = record.rsplit('/').next().unwrap_or(record);
        all.entry(key)
            .or_default()
            .insert(name.trim_end_matches(".json").into());
    };
    for record in &records.syntheses {
        let tools: &[Tool] = match record.get() {
            Some(Synthesis::Placed(of)) => &of.tools,
            Some(Synthesis::Estimated(of)) => &of.tools,
            Some(Synthesis::Crc(of)) => &of.tools,
            None => &[],
        };
        for tool in tools {
            add(&tool.name, &tool.version, &record.name);
        }
    }
    if let Some(of) = records.host_cost.get() {
        let valgrind = of.valgrind.trim_start_matches("valgrind-");
        add("valgrind", valgrind, &records.host_cost.name);
        add(
            "rustc",
            of.rustc.trim_start_matches("rustc "),
            &records.host_cost.name,
        );
    }
    for sample in records
        .software
        .get()
        .into_iter()
        .flat_map(BTreeMap::values)
    {
        add("cargo-mutants", &sample.tool, &records.software.name);
    }
    all
}
