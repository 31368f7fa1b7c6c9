//! Octets per cycle of the receive path.

use maud::{Markup, PreEscaped, html};

use super::page::Section;
use super::records::Records;
use super::table::{Cell, Table, bits, percent};
use crate::Error;
use crate::chart::{COLORS, Chart, Line, Stroke};
use crate::measure::{Figure, WIDTHS};

pub(super) fn section(records: &Records) -> Result<Section, Error> {
    let chart = match records.receive.get() {
        None => html! {},
        Some(figures) => {
            let lines = lines(figures.iter().map(|of| Point {
                width: of.width,
                thin: of.markers,
                octets: of.ulpdu,
                figure: of.octets_per_cycle,
            }));
            chart("receive-chart", lines, "without markers", "with markers")?
        }
    };
    let (steady, reversed) = (&records.receive, &records.reversed);
    Ok(Section {
        id: "receive",
        title: "Throughput, receiving",
        body: html! {
            p {
                "Octets of FPDUs per clock cycle, CRC on, in the steady state: neither network nor memory stalls, so the device alone "
                "limits the rate. An FPDU is a ULPDU with its length, PAD and CRC, and markers if the stream has them."
            }
            (steady.show(|figures| html! { (chart) (table("receive-cycles", "Receive path: octets per cycle, and share of the bus", figures)) }))
            h3 { "Segments in reverse" }
            p { "The worst order that a TCP window allows: the segments of each 64 KiB arrive last to first, with markers." }
            (reversed.show(|figures| table("receive-reversed", "Reversed segments: octets per cycle, and share of the bus", figures)))
        },
    })
}

/// A row for each size of ULPDU and use of markers, in the order of the record.
fn table(id: &str, caption: &str, figures: &[Figure]) -> Markup {
    let mut keys: Vec<(usize, bool)> = Vec::new();
    for figure in figures {
        let key = (figure.ulpdu, figure.markers);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let rows = keys.into_iter().map(|(ulpdu, markers)| {
        let cells = WIDTHS.map(|width| {
            let is = |of: &&Figure| (of.width, of.ulpdu, of.markers) == (width, ulpdu, markers);
            figures.iter().find(is).map_or_else(Cell::none, |of| {
                Cell::number(format!("{:.2}", of.octets_per_cycle)).with(percent(of.of_bus))
            })
        });
        let marked = if markers { "markers" } else { "" };
        (format!("{ulpdu}"), marked.into(), cells.into())
    });
    let table = Table {
        id: id.into(),
        caption: caption.into(),
        corner: "octets of a ULPDU",
        columns: bits(&WIDTHS),
        rows: rows.collect(),
    };
    table.html()
}

/// A point of a chart.
pub(super) struct Point {
    pub width: usize,
    /// On the dashed line.
    pub thin: bool,
    pub octets: usize,
    pub figure: f64,
}

/// Two lines for each width.
pub(super) fn lines(points: impl Iterator<Item = Point>) -> Vec<Line> {
    let points: Vec<_> = points.collect();
    let widths = WIDTHS.into_iter().zip(COLORS);
    let lines = widths.flat_map(|(width, color)| {
        [(false, Stroke::Solid(3)), (true, Stroke::Dashed(2))].map(|(thin, stroke)| {
            let on = points
                .iter()
                .filter(|of| (of.width, of.thin) == (width, thin));
            let mut points: Vec<_> = on.map(|of| (of.octets as f64, of.figure)).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Line {
                name: format!("{width} bits"),
                color,
                stroke,
                points,
            }
        })
    });
    lines.collect()
}

/// Octets per cycle over octets of a ULPDU, with a legend of its own, which a narrow page can break.
pub(super) fn chart(
    id: &str,
    lines: Vec<Line>,
    solid: &str,
    dashed: &str,
) -> Result<Markup, Error> {
    let sizes = lines
        .iter()
        .flat_map(|line| &line.points)
        .map(|point| point.0);
    let (least, most) = sizes.fold((f64::MAX, 0.0), |(least, most): (f64, f64), size| {
        (least.min(size), most.max(size))
    });
    if most < 1.0 {
        return Ok(html! {}); // nothing to draw
    }
    let least = least.clamp(1.0, most);
    let chart = Chart {
        caption: None,
        size: (480, 300),
        paper: false,
        legend: false,
        x: least..most.max(2.0 * least),
        y: 0.0..WIDTHS[WIDTHS.len() - 1] as f64 / 8.0,
        x_label: "octets of a ULPDU",
        y_label: "octets per cycle",
        text: Some(13),
    };
    let svg = chart.draw(&lines).map_err(|reason| Error::Chart {
        chart: id.into(),
        reason: reason.to_string(),
    })?;
    // within the page an SVG needs no declaration, and a name for those who do not see it
    let svg = svg.replacen(
        "<svg ",
        &format!("<svg role=\"img\" aria-labelledby=\"{id}-legend\" "),
        1,
    );
    Ok(html! {
        figure id=(id) {
            (PreEscaped(svg))
            figcaption id={ (id) "-legend" } {
                "Octets per cycle over the size of a ULPDU, at "
                @for (at, width) in WIDTHS.into_iter().enumerate() {
                    span class={ "key w" (width) } { (width) }
                    @if at + 1 < WIDTHS.len() { ", " }
                }
                " bits: solid " (solid) ", dashed " (dashed) ". A bus of " (WIDTHS[WIDTHS.len() - 1]) " bits carries "
                (WIDTHS[WIDTHS.len() - 1] / 8) " octets in a cycle."
            }
        }
    })
}
