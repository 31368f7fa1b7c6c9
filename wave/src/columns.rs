//! Which cycles of a window are drawn, and where it is cut.

use std::ops::Range;

use crate::diagram::Diagram;

/// Quiet cycles that are drawn at either side of a cut.
pub const KEEP: u64 = 2;
/// Fewest cycles that a cut leaves out.
const LEAST: u64 = 3;

/// A column of a diagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// A cycle.
    Cycle(u64),
    /// Cycles in which nothing changes.
    Cut(Range<u64>),
}

/// The columns of a diagram, from left to right.
#[must_use]
pub fn columns(diagram: &Diagram) -> Vec<Column> {
    let Range { start, end } = diagram.window;
    if !diagram.cut {
        return (start..end).map(Column::Cycle).collect();
    }
    let changes = diagram.rows.iter().map(|row| row.changes(&diagram.window));
    let mut changes: Vec<u64> = changes.flatten().chain([start, end]).collect();
    changes.sort_unstable();
    changes.dedup();
    let mut columns = Vec::new();
    for pair in changes.windows(2) {
        // cycles of the same content
        let [from, to] = [pair[0], pair[1]];
        let cut = from + KEEP..to.saturating_sub(KEEP);
        if cut.start + LEAST > cut.end {
            columns.extend((from..to).map(Column::Cycle));
            continue;
        }
        columns.extend((from..cut.start).map(Column::Cycle));
        columns.push(Column::Cut(cut.clone()));
        columns.extend((cut.end..to).map(Column::Cycle));
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagram::{Ink, Lane, Level, Line, Row, Span};

    fn diagram() -> Diagram {
        let high = |cycle| match (10..12).contains(&cycle) {
            true => Level::High,
            false => Level::Low,
        };
        let mut lane = Lane::new("lane");
        lane.spans.push(Span {
            cycles: 11..40,
            labels: vec![],
            full: String::new(),
            ink: Ink::Plain,
        });
        let mut diagram = Diagram::new("", 0..50);
        let line = Line::new("line", (0..50).map(high));
        diagram.rows = vec![Row::Line(line), Row::Lane(lane)];
        diagram
    }

    #[test]
    fn quiet_cycles_are_cut_and_all_others_drawn() {
        let mut diagram = diagram();
        let columns = super::columns(&diagram);
        let cuts: Vec<_> = columns
            .iter()
            .filter_map(|column| match column {
                Column::Cut(cycles) => Some(cycles.clone()),
                Column::Cycle(_) => None,
            })
            .collect();
        assert_eq!(cuts, [2..8, 14..38, 42..48]);
        let covered = columns.iter().map(|column| match column {
            Column::Cycle(_) => 1,
            Column::Cut(cycles) => cycles.end - cycles.start,
        });
        assert_eq!(covered.sum::<u64>(), 50);
        // A change inside a cut of before ends it.
        diagram.rows.push(Row::Line(Line::new(
            "more",
            (0..50).map(|cycle| match cycle {
                20 => Level::High,
                _ => Level::Low,
            }),
        )));
        let drawn = super::columns(&diagram);
        assert!(drawn.contains(&Column::Cycle(20)) && drawn.contains(&Column::Cycle(21)));
        diagram.cut = false;
        assert_eq!(super::columns(&diagram).len(), 50);
    }
}
