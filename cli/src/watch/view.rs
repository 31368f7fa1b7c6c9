//! Draws a report. What is drawn depends on the arguments alone.
//!
//! ```text
//!  card, host ─────────────── PAUSED      one line
//!  cycles, octets, counters, completions  five lines
//!  #  STATE    RECEIVED … TX              heading
//!  streams, connections                   scrolls
//!  last error, log, keys                  the last lines, where there is room
//! ```
//!
//! 80 columns by 24 lines are enough for four streams and some connections. A smaller terminal shows what fits.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget};

use crate::numbers::grouped;
use crate::watch::controls::{Controls, Sort};
use crate::watch::report::{Fill, Flow, Report, Stream};

/// Lines in front of the streams, their heading included.
const TOP: u16 = 7;
/// Lines that streams and connections have before anything is shown below them.
const LEAST: u16 = 4;
/// Most lines of the log.
const LOG: u16 = 4;
/// Cells of a stream's gauge, and of the completion queue's.
const SMALL: usize = 4;
const LARGE: usize = 20;

const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BAD: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
const ODD: Style = Style::new().fg(Color::Yellow);
const GOOD: Style = Style::new().fg(Color::Green);

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub struct View<'v> {
    /// Name of the card, and where it is.
    pub title: &'v str,
    /// The figures.
    pub report: &'v Report,
    /// The last lines of the log, the newest one last.
    pub log: &'v [String],
    /// What the keys have set.
    pub controls: Controls,
}

impl Widget for View<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let height = area.height;
        let below = height.saturating_sub(TOP);
        // From the bottom: keys, the last error, the log.
        let keys = u16::from(below > LEAST);
        let error = u16::from(self.report.last_error.is_some() && below > LEAST + keys);
        let room = below.saturating_sub(LEAST + 2 + keys + error);
        let log = room.min(LOG).min(self.log.len() as u16);
        let rows = below - keys - error - log;

        let mut lines = self.top();
        lines.truncate(height.into());
        let body = self.body();
        let from = self.controls.scroll.min(body.len().saturating_sub(1));
        let mut shown: Vec<_> = body.into_iter().skip(from).take(rows.into()).collect();
        shown.resize_with(rows.into(), Line::default);
        lines.extend(shown);
        if let Some(last) = self.report.last_error.as_ref().filter(|_| error == 1) {
            let text = format!("error: stream {}, {}", last.stream, last.text);
            lines.push(Line::styled(text, BAD));
        }
        let newest = self.log.len() - usize::from(log);
        for text in &self.log[newest..] {
            lines.push(Line::styled(text.as_str(), DIM));
        }
        if keys == 1 {
            lines.push(self.keys());
        }
        Paragraph::new(lines).render(area, buffer);
    }
}

impl View<'_> {
    /// Lines that can be scrolled.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.body().len()
    }

    fn top(&self) -> Vec<Line<'static>> {
        let report = self.report;
        let host = match report.host {
            true => Span::styled("a host is connected", GOOD),
            false => Span::styled("no host", DIM),
        };
        let mut first = vec![
            Span::styled(self.title.to_owned(), STRONG),
            Span::raw("  "),
            host,
        ];
        if self.controls.paused {
            first.push(Span::raw("  "));
            first.push(Span::styled("PAUSED", ODD));
        }
        let speed = match report.cycles_per_second {
            Some(rate) => format!("{} cycles/s", whole(rate)),
            None => String::new(),
        };
        let resets = format!("resets {}", grouped(report.resets));
        let count = |number: u32, name: &str, bad: bool| {
            let style = if bad && number > 0 { BAD } else { Style::new() };
            Span::styled(format!("{name} {}  ", grouped(number)), style)
        };
        let bus = u32::try_from(report.bus_errors).unwrap_or(u32::MAX);
        vec![
            Line::from(first),
            Line::raw(format!(
                "cycles   {:>15}  {speed:>27}  {resets}",
                grouped(report.cycles)
            )),
            flow("received", report.received),
            flow("sent", report.sent),
            Line::from(vec![
                count(report.segments, "segments", false),
                count(report.segments_dropped, "dropped", true),
                count(report.fpdus, "FPDUs", false),
                count(report.fpdus_discarded, "discarded", true),
                count(report.errors, "errors", true),
                count(bus, "bus errors", true),
            ]),
            completions(report.completions),
            Line::styled(
                format!(
                    "{:>2} {:<7} {:>13} {:>10} {:>7} {:<9} {:>7} {:>9} {:<5}",
                    "#",
                    "STATE",
                    "RECEIVED",
                    "OCTETS/S",
                    "WINDOW",
                    "RING",
                    "BUFFERS",
                    "SENDS",
                    "TX"
                ),
                DIM,
            ),
        ]
    }

    /// Streams and connections.
    fn body(&self) -> Vec<Line<'static>> {
        let mut streams: Vec<&Stream> = self.report.streams.iter().collect();
        match self.controls.sort {
            Sort::Number => {}
            // stable: equal ones stay in the order of their numbers
            Sort::Rate => streams.sort_by(|a, b| {
                let rate = |stream: &Stream| stream.received_per_second.unwrap_or(0.0);
                rate(b).total_cmp(&rate(a))
            }),
            Sort::Ring => streams.sort_by_key(|stream| std::cmp::Reverse(stream.ring.used)),
        }
        let mut lines: Vec<_> = streams.into_iter().map(stream_line).collect();
        let report = self.report;
        if report.listeners.is_empty() && report.connections.is_empty() {
            return lines;
        }
        lines.push(Line::default());
        for listener in &report.listeners {
            lines.push(Line::raw(format!("listens at {listener}")));
        }
        if !report.connections.is_empty() {
            lines.push(Line::styled(
                format!("{:<46} {:<10} {}", "PEER", "STATE", "STREAM"),
                DIM,
            ));
        }
        for connection in &report.connections {
            let stream = connection.stream.map(|stream| stream.to_string());
            lines.push(Line::raw(format!(
                "{:<46} {:<10} {}",
                connection.peer.to_string(),
                connection.state,
                stream.as_deref().unwrap_or("-"),
            )));
        }
        lines
    }

    fn keys(&self) -> Line<'static> {
        let sort = format!("sort: {}  ", self.controls.sort.name());
        let pause = match self.controls.paused {
            true => "go on  ",
            false => "pause  ",
        };
        Line::from(vec![
            Span::styled("q ", STRONG),
            Span::raw("end the card  "),
            Span::styled("p ", STRONG),
            Span::raw(pause),
            Span::styled("s ", STRONG),
            Span::raw(sort),
            Span::styled("↑ ↓ ", STRONG),
            Span::raw("scroll"),
        ])
    }
}

/// A rate as a whole number.
fn whole(rate: f64) -> String {
    grouped(rate.round() as u64) // saturates
}

fn flow(name: &str, flow: Flow) -> Line<'static> {
    let octets = grouped(flow.octets);
    let (Some(cycle), Some(second)) = (flow.octets_per_cycle, flow.octets_per_second) else {
        return Line::raw(format!("{name:<8} {octets:>15} octets"));
    };
    Line::raw(format!(
        "{name:<8} {octets:>15} octets  {:>11} octets/s  {cycle:>7.3} octets/cycle",
        whole(second)
    ))
}

/// A bar of `cells` cells.
fn gauge(fill: Fill, cells: usize) -> String {
    let full = match fill.entries {
        0 => 0,
        // something is something, and only a full one is full
        entries => (cells as u64 * u64::from(fill.used)).div_ceil(u64::from(entries)) as usize,
    };
    let full = full.min(cells);
    format!("{}{}", "█".repeat(full), "·".repeat(cells - full))
}

/// In percent, rounded up as the bar is.
fn percent(fill: Fill) -> u64 {
    match fill.entries {
        0 => 0,
        entries => (100 * u64::from(fill.used)).div_ceil(entries.into()),
    }
}

fn completions(fill: Fill) -> Line<'static> {
    Line::raw(match fill.entries {
        0 => "completions: no queue".to_owned(),
        entries => format!(
            "completions {} {} of {}",
            gauge(fill, LARGE),
            grouped(fill.used),
            grouped(entries)
        ),
    })
}

fn stream_line(stream: &Stream) -> Line<'static> {
    let style = match stream.state {
        "frozen" => BAD,
        "open" => GOOD,
        "closing" | "ended" => ODD,
        "free" => DIM,
        _ => Style::new(),
    };
    if stream.state == "free" {
        return Line::styled(format!("{:>2} free", stream.stream), DIM);
    }
    let rate = stream.received_per_second.map_or("-".to_owned(), whole);
    let sends = match stream.sends.entries {
        0 => "-".to_owned(),
        entries => format!("{}/{entries}", stream.sends.used),
    };
    Line::from(vec![
        Span::raw(format!("{:>2} ", stream.stream)),
        Span::styled(format!("{:<7} ", stream.state), style),
        Span::raw(format!(
            "{:>13} {rate:>10} {:>7} {}{:>3} % {:>7} {sends:>9} {:<5}",
            grouped(stream.received),
            grouped(stream.window),
            gauge(stream.ring, SMALL),
            percent(stream.ring),
            grouped(stream.buffers),
            stream.transmit,
        )),
    ])
}
