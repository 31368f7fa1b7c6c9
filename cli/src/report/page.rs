//! The page around the sections.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Style of the page; the only one it has.
const STYLE: &str = include_str!("style.css");
/// Nothing may be fetched, whatever a record holds.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// A subject.
pub(super) struct Section {
    /// Its anchor.
    pub id: &'static str,
    pub title: &'static str,
    pub body: Markup,
}

/// A figure of the overview, and the section that has the others.
pub(super) struct Tile {
    pub id: &'static str,
    pub figure: String,
    pub what: String,
    pub section: &'static str,
}

pub(super) fn html(tiles: &[Tile], sections: &[Section]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                title { "warpline: recorded figures" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { "warpline: recorded figures" }
                    p {
                        "An open iWARP RNIC: RTL that receives and sends, its simulated card, driver and tools. Every figure here "
                        "stands in a record of the repository, which a command writes and, where this page does not say otherwise, a "
                        "test holds. Figures of cycles are exact, counted in simulation; figures of area and clock are of synthesis, "
                        "placement and routing. No board has run the device."
                    }
                    p.source {
                        "Written by " code { "warpline report" } ", version " (env!("CARGO_PKG_VERSION"))
                        ". What each record lacks is said in its place, and in " a href="#records" { "the list of records" } "."
                    }
                }
                ul.tiles {
                    @for tile in tiles {
                        li id=(tile.id) {
                            a href={ "#" (tile.section) } {
                                strong { (tile.figure) } " " span { (tile.what) }
                            }
                        }
                    }
                }
                nav aria-label="Sections" {
                    ul {
                        @for section in sections {
                            li { a href={ "#" (section.id) } { (section.title) } }
                        }
                    }
                }
                main {
                    @for section in sections {
                        section id=(section.id) {
                            h2 { (section.title) }
                            (section.body)
                        }
                    }
                }
            }
        }
    };
    page.into_string() + "\n"
}
