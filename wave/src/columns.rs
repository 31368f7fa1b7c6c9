//! Which cycles of a window are drawn, and where it is cut.

use std::ops::Range;

use crate::diagram::Diagram;

/// Quiet cycles that are drawn at either side of a cut.
pub const KEEP: u64 = 2;
/// Fewest cycles that a cut leaves out.
const LEAST: u64 = 6;

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
    let mut columns = Vec::new();
    let mut cycle = start;
    for out in left_out(diagram) {
        columns.extend((cycle..out.start).map(Column::Cycle));
        cycle = out.end;
        columns.push(Column::Cut(out));
    }
    columns.extend((cycle..end).map(Column::Cycle));
    columns
}

/// Stretches that are left out: the idle ones, and those in which no row changes.
fn left_out(diagram: &Diagram) -> Vec<Range<u64>> {
    let Range { start, end } = diagram.window;
    if !diagram.cut {
        return Vec::new();
    }
    let changes = diagram.rows.iter().map(|row| row.changes(&diagram.window));
    let mut changes: Vec<u64> = changes.flatten().chain([start, end]).collect();
    changes.sort_unstable();
    changes.dedup();
    let quiet = changes.windows(2).map(|pair| {
        // the rows are the same in all of these cycles
        let [from, to] = [pair[0], pair[1]];
        from + KEEP..to.saturating_sub(KEEP)
    });
    let idle = diagram
        .idle
        .iter()
        .map(|idle| idle.start.max(start)..idle.end.min(end));
    let mut all: Vec<_> = quiet
        .chain(idle)
        .filter(|out| out.start < out.end)
        .collect();
    all.sort_by_key(|out| out.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for out in all {
        match merged.last_mut() {
            Some(last) if out.start <= last.end => last.end = last.end.max(out.end),
            _ => merged.push(out),
        }
    }
    merged.retain(|out| out.end - out.start >= LEAST);
    merged
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
        // Idle cycles are left out though rows change in them, and join what is quiet beside them.
        diagram.idle = vec![8..14, 45..60];
        let cuts = |columns: Vec<Column>| {
            let cuts = columns.into_iter().filter_map(|column| match column {
                Column::Cut(cycles) => Some(cycles),
                Column::Cycle(_) => None,
            });
            cuts.collect::<Vec<_>>()
        };
        assert_eq!(cuts(super::columns(&diagram)), [2..18, 23..38, 42..50]);
        diagram.cut = false;
        assert_eq!(super::columns(&diagram).len(), 50);
    }
}
