//! `warpline bench`: octets per cycle for small and large ULPDUs, at all widths.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::exit_code::OK;
use super::output::{real, writable, write_text};
use super::terminal::{Bar, DIM, STRONG, open_card, show};
use crate::Error;
use crate::chart::{COLORS, Chart, DrawingError, Line, Stroke};
use crate::host_path::{self, HostPath, Ways};
use crate::measure::{
    Figure, Latency, REVERSED, ULPDUS, WIDTHS, latency, measure, measure_reversed,
};
use crate::options::Bench;

pub(super) fn run(options: &Bench) -> Result<u8, Error> {
    let paths = [
        &options.json,
        &options.plot,
        &options.latency,
        &options.reversed,
        &options.host_path,
    ];
    let paths: Vec<&PathBuf> = paths.into_iter().flatten().collect();
    for (i, path) in paths.iter().enumerate() {
        // check now, not after minutes of measuring
        let (to, mut others) = (real(path), paths[..i].iter().map(|other| real(other)));
        if others.any(|other| to.starts_with(&other) || other.starts_with(&to)) {
            return Err(Error::Taken {
                path: path.to_path_buf(),
            });
        }
        writable(path)?;
    }
    let mut figures = Vec::new();
    let mut latencies = Vec::new();
    let mut reversed = Vec::new();
    for width in WIDTHS {
        let card = open_card(width, false, false)?;
        let bar = Bar::new(format!("{width:>3} bits"));
        let runs = ULPDUS.len() as u64;
        for (done, ulpdu) in (0..).zip(ULPDUS) {
            bar.show(done, runs);
            figures.push(measure(&card, ulpdu, false, 1)?);
            figures.push(measure(&card, ulpdu, true, 1)?);
            latencies.push(latency(&card, ulpdu, false)?);
            latencies.push(latency(&card, ulpdu, true)?);
        }
        if options.reversed.is_some() {
            for ulpdu in REVERSED {
                reversed.push(measure_reversed(&card, ulpdu)?);
            }
        }
    }
    show(&table(&figures))?;
    show(&format!("\n{}", latency_table(&latencies)))?;
    if let Some(path) = &options.json {
        write(path, &figures)?;
    }
    if let Some(path) = &options.plot {
        let picture = plot(&figures).map_err(|reason| Error::Plot {
            path: path.clone(),
            reason: reason.to_string(),
        })?;
        write_text(path, &picture)?;
    }
    if let Some(path) = &options.latency {
        write(path, &latencies)?;
    }
    if let Some(path) = &options.reversed {
        show(&reversed_table(&reversed))?;
        write(path, &reversed)?;
    }
    if let Some(path) = &options.host_path {
        let [width, ..] = WIDTHS;
        let figures = host_path::measure(&open_card(width, false, false)?, width)?;
        show(&host_path(&figures))?;
        write(path, &figures)?;
    }
    Ok(OK)
}

/// Writes the figures to a path that is [`writable`]; if that fails, the old file is kept.
fn write<T: Serialize + ?Sized>(path: &Path, figures: &T) -> Result<(), Error> {
    write_text(path, &(serde_json::to_string_pretty(figures)? + "\n"))
}

/// The cost of the host's path, in two lines.
fn host_path(path: &HostPath) -> String {
    let line = |what: &str, ways: &Ways| {
        format!(
            "  {what:<14} {:>8.1} µs called directly, {:>8.1} µs through driver and vfio-user: {STRONG}{:.2}{STRONG:#} times as much\n",
            ways.direct, ways.vfio_user, ways.ratio
        )
    };
    format!(
        "\n{STRONG}Host path: medians, on this machine, simulation of {} bits included{STRONG:#}\n{}{}",
        path.width,
        line("register read", &path.register_read),
        line("completion", &path.completion),
    )
}

fn table(figures: &[Figure]) -> String {
    let title = "Receive path: octets per cycle, share of what the bus can carry, cycles per beat that the FPDUs touch";
    rows(title, 17, |ulpdu, markers| {
        let row = figures
            .iter()
            .filter(|figure| (figure.ulpdu, figure.markers) == (ulpdu, markers));
        row.map(cell).collect()
    })
}

fn latency_table(latencies: &[Latency]) -> String {
    let title = "A single FPDU: cycles from the last beat of its segment to the first one to memory, and its own beats";
    rows(title, 9, |ulpdu, markers| {
        let row = latencies
            .iter()
            .filter(|latency| (latency.ulpdu, latency.markers) == (ulpdu, markers));
        row.map(|latency| format!("{:>7} {DIM}{:>6}{DIM:#}", latency.cycles, latency.beats))
            .collect()
    })
}

/// A line for each ULPDU.
fn reversed_table(figures: &[Figure]) -> String {
    let mut text = format!(
        "\n{STRONG}Markers on, each 64 KiB in reverse: octets per cycle, share of the bus, cycles per beat{STRONG:#}\n"
    );
    for ulpdu in REVERSED {
        let row = figures.iter().filter(|figure| figure.ulpdu == ulpdu);
        let row = row.map(cell);
        text += &format!("{ulpdu:>6} on     {}\n", row.collect::<String>());
    }
    text
}

/// A table with rows for each ULPDU, without and with markers; `row` returns the cells of a row, one for each width.
fn rows(title: &str, column: usize, row: impl Fn(usize, bool) -> String) -> String {
    let mut text = format!("{STRONG}{title}{STRONG:#}\n ULPDU markers");
    for width in WIDTHS {
        text += &format!("{width:>column$} bits ");
    }
    for ulpdu in ULPDUS {
        for (markers, word) in [(false, "off"), (true, "on")] {
            text += &format!("\n{ulpdu:>6} {word:<7}{}", row(ulpdu, markers));
        }
    }
    text + "\n"
}

/// The share of the bus over the ULPDU's size: a line for each width, dashed with markers.
fn plot(figures: &[Figure]) -> Result<String, DrawingError> {
    let lines = WIDTHS.into_iter().zip(COLORS).flat_map(|(width, color)| {
        [false, true].map(|markers| {
            let (name, stroke) = match markers {
                false => (format!("{width} bits"), Stroke::Solid(3)),
                true => (format!("{width} bits, markers"), Stroke::Dashed(1)),
            };
            let of_line = figures
                .iter()
                .filter(|f| f.width == width && f.markers == markers);
            Line {
                name,
                color,
                stroke,
                points: of_line
                    .map(|f| (f.ulpdu as f64, 100.0 * f.of_bus))
                    .collect(),
            }
        })
    });
    let chart = Chart {
        caption: Some("Receive path: share of the bus"),
        size: (800, 480),
        paper: true,
        legend: true,
        x: ULPDUS[0] as f64..ULPDUS[ULPDUS.len() - 1] as f64,
        y: 0.0..105.0,
        x_label: "octets of a ULPDU",
        y_label: "% of the octets that the bus can carry",
        text: None,
    };
    chart.draw(&lines.collect::<Vec<_>>())
}

fn cell(figure: &Figure) -> String {
    let share = 100.0 * figure.of_bus;
    format!(
        "{:>9.2} {DIM}{share:>5.1} %{DIM:#} {:.2}",
        figure.octets_per_cycle,
        figure.cycles as f64 / figure.beats as f64
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(width: usize, ulpdu: usize, markers: bool, octets: u32) -> Figure {
        Figure {
            width,
            ulpdu,
            markers,
            streams: 1,
            octets: octets.into(),
            beats: 800,
            cycles: 1000,
            octets_per_cycle: f64::from(octets) / 1000.0,
            of_bus: f64::from(octets) / 125.0 / width as f64,
        }
    }

    #[test]
    fn figures_become_a_table_and_a_list() {
        let figures = WIDTHS.map(|width| figure(width, 1442, true, width as u32 * 100));

        let table = table(&figures);
        let row = table.lines().find(|line| line.starts_with("  1442 on"));
        let row = anstream::adapter::strip_str(row.unwrap()).to_string();
        let words: Vec<_> = row.split_whitespace().collect();
        let expected =
            "1442 on 6.40 80.0 % 1.25 12.80 80.0 % 1.25 25.60 80.0 % 1.25 51.20 80.0 % 1.25";
        assert_eq!(words.join(" "), expected);

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/figures.json");
        writable(&path).unwrap();
        write(&path, &figures).unwrap();
        let list: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(
            list[0],
            serde_json::json!({
                "width": 64, "ulpdu": 1442, "markers": true, "streams": 1,
                "octets": 6400, "beats": 800, "cycles": 1000, "octets_per_cycle": 6.4, "of_bus": 0.8,
            })
        );
        assert_eq!(list.as_array().unwrap().len(), WIDTHS.len());
    }

    #[test]
    fn figures_become_a_picture() {
        let figures: Vec<_> = WIDTHS
            .into_iter()
            .flat_map(|width| ULPDUS.map(|ulpdu| (width, ulpdu)))
            .flat_map(|(width, ulpdu)| [false, true].map(|markers| (width, ulpdu, markers)))
            .map(|(width, ulpdu, markers)| figure(width, ulpdu, markers, 6400))
            .collect();
        let picture = plot(&figures).unwrap();
        assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"));
        let lines = |figures| {
            let picture = plot(figures).unwrap();
            picture.matches("<polyline").count()
        };
        let without: Vec<_> = figures.iter().filter(|f| f.width != 256).copied().collect();
        assert!(lines(&figures) > lines(&without));
        for width in WIDTHS {
            assert!(picture.contains(&format!("{width} bits, markers")));
        }
    }

    #[test]
    fn the_picture_in_docs_is_of_the_figures_beside_it() {
        let figures = include_str!("../../../docs/bench/receive-cycles.json");
        let figures: Vec<Figure> = serde_json::from_str(figures).unwrap();
        let picture = include_str!("../../../docs/bench/receive-cycles.svg");
        assert_eq!(plot(&figures).unwrap(), picture);
        assert_ne!(plot(&figures[1..]).unwrap(), picture);
    }

    #[test]
    fn reversed_segments_have_a_line_for_each_ulpdu() {
        let figures = WIDTHS.map(|width| figure(width, REVERSED[0], true, width as u32 * 100));
        let table = reversed_table(&figures);
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines.len(), 2 + REVERSED.len());
        let line = anstream::adapter::strip_str(lines[2]).to_string();
        let words: Vec<_> = line.split_whitespace().take(5).collect();
        assert_eq!(words, ["1442", "on", "6.40", "80.0", "%"]);
    }

    #[test]
    fn latencies_become_a_table() {
        let latencies = WIDTHS.map(|width| Latency {
            width,
            ulpdu: 64,
            markers: false,
            beats: 512 / width as u64,
            cycles: 30,
        });
        let table = latency_table(&latencies);
        let row = table.lines().find(|line| line.starts_with("    64 off"));
        let row = anstream::adapter::strip_str(row.unwrap()).to_string();
        let words: Vec<_> = row.split_whitespace().collect();
        assert_eq!(words.join(" "), "64 off 30 8 30 4 30 2 30 1");
    }
}
