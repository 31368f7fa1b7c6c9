//! Tables of figures, and numbers as they stand in them.

use maud::{Markup, html};

use crate::numbers::grouped;

/// What a cell shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    text: String,
    /// Smaller, below it.
    note: String,
    /// Right-aligned, and never broken.
    number: bool,
}

impl Cell {
    /// A figure.
    pub(super) fn number(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            note: String::new(),
            number: true,
        }
    }

    /// A count.
    pub(super) fn count(count: u64) -> Self {
        Self::number(grouped(count))
    }

    /// Words.
    pub(super) fn words(text: impl Into<String>) -> Self {
        Self {
            number: false,
            ..Self::number(text)
        }
    }

    /// The cell with a smaller line below.
    pub(super) fn with(self, note: impl Into<String>) -> Self {
        Self {
            note: note.into(),
            ..self
        }
    }

    /// For a figure that was not recorded.
    pub(super) fn none() -> Self {
        Self::number("–")
    }
}

/// A table; columns have heads, rows begin with theirs.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub id: String,
    pub caption: String,
    /// Head of the heads of rows.
    pub corner: &'static str,
    pub columns: Vec<String>,
    /// Head, a smaller line below it, and cells.
    pub rows: Vec<(String, String, Vec<Cell>)>,
}

impl Table {
    /// Whether the column is one of figures.
    fn has_numbers(&self, column: usize) -> bool {
        let mut cells = self
            .rows
            .iter()
            .filter_map(|(_, _, cells)| cells.get(column));
        cells.next().is_some_and(|cell| cell.number)
    }

    pub(super) fn html(&self) -> Markup {
        html! {
            table id=(self.id) {
                caption { (self.caption) }
                thead {
                    tr {
                        th scope="col" { (self.corner) }
                        @for (at, column) in self.columns.iter().enumerate() {
                            th.n[self.has_numbers(at)] scope="col" { (column) }
                        }
                    }
                }
                tbody {
                    @for (head, note, cells) in &self.rows {
                        tr {
                            th scope="row" {
                                (head)
                                @if !note.is_empty() { " " small { (note) } }
                            }
                            @for (at, cell) in cells.iter().enumerate() {
                                td.n[cell.number].r[!cell.number && self.has_numbers(at)] {
                                    (cell.text)
                                    @if !cell.note.is_empty() { " " small { (cell.note) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Heads of columns for the widths of the data path.
pub(super) fn bits(widths: &[usize]) -> Vec<String> {
    widths.iter().map(|width| format!("{width} bits")).collect()
}

/// A share in percent, with a decimal.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1}\u{a0}%", 100.0 * share)
}

/// A share of counts; of nothing there is none.
pub(super) fn percent_of(part: u64, whole: u64) -> String {
    match whole {
        0 => "–".into(),
        _ => percent(part as f64 / whole as f64),
    }
}
