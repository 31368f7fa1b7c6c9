//! What a diagram shows: rows over a window of cycles.

use std::ops::Range;

use crate::samples::Samples;

/// A timing diagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagram {
    /// Its heading.
    pub title: String,
    /// Sentences under the heading.
    pub notes: Vec<String>,
    /// What the inks mean, in this order.
    pub legend: Vec<(Ink, String)>,
    /// The cycles that it shows.
    pub window: Range<u64>,
    /// Rows, from top to bottom.
    pub rows: Vec<Row>,
    /// Stretches in which no row changes are left out, and counted.
    pub cut: bool,
    /// With `cut`, cycles that are left out though rows change in them.
    pub idle: Vec<Range<u64>>,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// A heading for the rows below it.
    Group(String),
    /// A signal of one bit.
    Line(Line),
    /// A signal of several bits, or items that pass.
    Lane(Lane),
}

/// A level of a signal of one bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// 0.
    Low,
    /// 1.
    High,
    /// Neither, or without meaning.
    Unknown,
}

/// A signal of one bit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// Cycles that begin another level, ascending, the first one 0.
    levels: Vec<(u64, Level)>,
    /// Cycles to point out.
    pub marked: Vec<Range<u64>>,
}

/// A row of values or items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// Values, ascending, without overlap. Cycles without one have no value.
    pub spans: Vec<Span>,
}

/// A value, or an item that passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its cycles.
    pub cycles: Range<u64>,
    /// Text in it, several forms, the longest first: the first one that fits is drawn.
    pub labels: Vec<String>,
    /// All about it: the text that a pointer at it shows.
    pub full: String,
    /// How it is drawn.
    pub ink: Ink,
}

/// How a value is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// As any value.
    Plain,
    /// As what the diagram is about.
    Subject,
    /// As something else that passes.
    Other,
    /// As a failure.
    Bad,
}

impl Diagram {
    /// A diagram without rows; its quiet stretches are cut.
    #[must_use]
    pub fn new(title: impl Into<String>, window: Range<u64>) -> Self {
        Self {
            title: title.into(),
            notes: Vec::new(),
            legend: Vec::new(),
            window,
            rows: Vec::new(),
            cut: true,
            idle: Vec::new(),
        }
    }
}

impl Line {
    /// The line of a signal of one bit from cycle 0 up to `end`; where `valid` is not 1, the level is unknown.
    #[must_use]
    pub fn of(name: &str, samples: &Samples, valid: Option<&Samples>, end: u64) -> Self {
        let level = |cycle| {
            let value = samples.value(cycle);
            match value.word() {
                _ if !valid.is_none_or(|valid| valid.high(cycle)) => Level::Unknown,
                _ if value.is_unknown() => Level::Unknown,
                0 => Level::Low,
                _ => Level::High,
            }
        };
        Self::new(name, (0..end).map(level))
    }

    /// A line of these levels, one a cycle from cycle 0 on.
    #[must_use]
    pub fn new(name: impl Into<String>, levels: impl IntoIterator<Item = Level>) -> Self {
        let mut changes: Vec<(u64, Level)> = Vec::new();
        for (cycle, level) in (0..).zip(levels) {
            if changes.last().is_none_or(|(_, last)| *last != level) {
                changes.push((cycle, level));
            }
        }
        Self {
            name: name.into(),
            levels: changes,
            marked: Vec::new(),
        }
    }

    /// The level in a cycle; that of the last one behind the end.
    #[must_use]
    pub fn level(&self, cycle: u64) -> Level {
        let index = self.levels.partition_point(|(at, _)| *at <= cycle);
        let level = index
            .checked_sub(1)
            .and_then(|index| self.levels.get(index));
        level.map_or(Level::Unknown, |(_, level)| *level)
    }

    /// Whether a cycle is pointed out.
    #[must_use]
    pub fn is_marked(&self, cycle: u64) -> bool {
        self.marked.iter().any(|range| range.contains(&cycle))
    }
}

impl Lane {
    /// A lane without values.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            spans: Vec::new(),
        }
    }
}

impl Row {
    /// Cycles of a window in which the row changes.
    pub(crate) fn changes(&self, window: &Range<u64>) -> Vec<u64> {
        let mut changes: Vec<u64> = match self {
            Self::Group(_) => Vec::new(),
            Self::Line(line) => {
                let marks = line
                    .marked
                    .iter()
                    .flat_map(|range| [range.start, range.end]);
                line.levels.iter().map(|(at, _)| *at).chain(marks).collect()
            }
            Self::Lane(lane) => {
                let ends = |span: &Span| [span.cycles.start, span.cycles.end];
                lane.spans.iter().flat_map(ends).collect()
            }
        };
        changes.retain(|cycle| window.contains(cycle));
        changes
    }
}
