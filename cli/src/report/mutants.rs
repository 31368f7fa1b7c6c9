//! Planted faults, and whether tests notice them.

use maud::{Markup, html};

use super::figures::{Fate, Mutant, Mutants};
use super::page::Section;
use super::records::Records;
use super::table::{Cell, Table};

pub(super) fn section(records: &Records) -> Section {
    Section {
        id: "mutants",
        title: "Planted faults",
        body: html! {
            p {
                "One fault at a time is planted, and tests have to fail. An equivalent one cannot be noticed by any test, which a list "
                "explains; an open one passed all tests. Those that no tool accepts are not counted."
            }
            h3 { "In the RTL" }
            (records.mutants.show(blocks))
            h3 { "In software" }
            (records.software.show(|all| {
                let rows = all.iter().map(|(name, sample)| {
                    let note = format!("sample {} of {}, cargo-mutants {}", sample.shard, sample.candidates, sample.tool);
                    (name.clone(), note, tally(&sample.mutants))
                });
                table("software-mutants", "Faults in Rust crates, by crate", "crate", rows.collect())
            }))
        },
    }
}

fn blocks(all: &Mutants) -> Markup {
    let rows = all
        .iter()
        .map(|(bench, mutants)| (bench.clone(), String::new(), tally(mutants)));
    table(
        "mutants-by-bench",
        "Faults in the text of blocks, by bench",
        "bench",
        rows.collect(),
    )
}

/// How many met this fate.
pub(super) fn count(mutants: &[Mutant], fate: Fate) -> u64 {
    mutants.iter().filter(|mutant| mutant.fate == fate).count() as u64
}

fn tally(mutants: &[Mutant]) -> Vec<Cell> {
    let of = |fate| count(mutants, fate);
    let planted = mutants.len() as u64 - of(Fate::Stillborn);
    [
        planted,
        of(Fate::Killed),
        of(Fate::Equivalent),
        of(Fate::Survived),
    ]
    .map(Cell::count)
    .into()
}

fn table(
    id: &str,
    caption: &str,
    corner: &'static str,
    rows: Vec<(String, String, Vec<Cell>)>,
) -> Markup {
    let table = Table {
        id: id.into(),
        caption: caption.into(),
        corner,
        columns: ["planted", "killed", "equivalent", "open"]
            .map(String::from)
            .into(),
        rows,
    };
    table.html()
}
