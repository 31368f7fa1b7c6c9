//! `warpline bench`: octets per cycle, for small and large ULPDUs, at all widths.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use tempfile::NamedTempFile;

use super::OK;
use super::terminal::{DIM, STRONG, open_card, show, with_bar};
use crate::Error;
use crate::host_path::{self, HostPath, Ways};
use crate::measure::{Figure, ULPDUS, WIDTHS, measure};
use crate::options::Bench;

pub(super) fn run(options: &Bench) -> Result<u8, Error> {
    for path in options.json.iter().chain(&options.host_path) {
        writable(path)?; // not after minutes of measuring
    }
    let mut figures = Vec::new();
    for width in WIDTHS {
        let card = open_card(width, false)?;
        let measured = with_bar(format!("{width:>3} bits"), |progress| {
            let runs = ULPDUS.len() as u64;
            let mut figures = Vec::new();
            for (done, ulpdu) in (0..).zip(ULPDUS) {
                progress(done, runs);
                figures.push(measure(&card, ulpdu, false, 1)?);
                figures.push(measure(&card, ulpdu, true, 1)?);
            }
            Ok::<_, Error>(figures)
        })?;
        figures.extend(measured);
    }
    show(&table(&figures))?;
    if let Some(path) = &options.json {
        write(path, &figures)?;
    }
    if let Some(path) = &options.host_path {
        let [width, ..] = WIDTHS;
        let figures = host_path::measure(&open_card(width, false)?, width)?;
        show(&host_path(&figures))?;
        write(path, &figures)?;
    }
    Ok(OK)
}

/// Checks that there can be a file at `path`, and makes its folder. What it holds stays.
fn writable(path: &Path) -> Result<(), Error> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Error::write(folder))?;
    }
    let file = File::options().append(true).create(true).open(path);
    file.map(drop).map_err(Error::write(path))
}

/// Writes the figures to a path that is [`writable`]; if that fails, earlier ones are still there.
fn write<T: Serialize + ?Sized>(path: &Path, figures: &T) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(figures)? + "\n";
    let replaced = match fs::symlink_metadata(path) {
        Ok(file) if file.is_file() => replace(path, &file, &text),
        _ => fs::write(path, text), // a terminal, a link: stays what it is
    };
    replaced.map_err(Error::write(path))
}

/// Puts a whole new file in the place of the old one.
fn replace(path: &Path, old: &Metadata, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let mut new = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    new.write_all(text.as_bytes())?;
    new.as_file().set_permissions(old.permissions())?;
    new.persist(path)?;
    Ok(())
}

/// What the host's path costs, in two lines.
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
    let mut text = format!(
        "{STRONG}Receive path: octets per cycle, and share of what the bus can carry{STRONG:#}\n"
    );
    text += " ULPDU markers";
    for width in WIDTHS {
        text += &format!("{width:>12} bits ");
    }
    for ulpdu in ULPDUS {
        for (markers, word) in [(false, "off"), (true, "on")] {
            text += &format!("\n{ulpdu:>6} {word:<7}");
            let row = figures
                .iter()
                .filter(|f| f.ulpdu == ulpdu && f.markers == markers);
            text.extend(row.map(cell));
        }
    }
    text + "\n"
}

fn cell(figure: &Figure) -> String {
    let share = 100.0 * figure.of_bus;
    format!(
        "{:>9.2} {DIM}{share:>5.1} %{DIM:#}",
        figure.octets_per_cycle
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_become_a_table_and_a_list() {
        let figure = |width, octets: u32| Figure {
            width,
            ulpdu: 1442,
            markers: true,
            streams: 1,
            octets: octets.into(),
            cycles: 1000,
            octets_per_cycle: f64::from(octets) / 1000.0,
            of_bus: f64::from(octets) / 125.0 / width as f64,
        };
        let figures = WIDTHS.map(|width| figure(width, width as u32 * 100));

        let table = table(&figures);
        let row = table.lines().find(|line| line.starts_with("  1442 on"));
        let row = anstream::adapter::strip_str(row.unwrap()).to_string();
        let words: Vec<_> = row.split_whitespace().collect();
        let expected = "1442 on 6.40 80.0 % 12.80 80.0 % 25.60 80.0 % 51.20 80.0 %";
        assert_eq!(words.join(" "), expected);

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/figures.json");
        writable(&path).unwrap();
        write(&path, &figures).unwrap();
        let list: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(
            list[0],
            serde_json::json!({
                "width": 64, "ulpdu": 1442, "markers": true,
                "octets": 6400, "cycles": 1000, "octets_per_cycle": 6.4, "of_bus": 0.8,
            })
        );
        assert_eq!(list.as_array().unwrap().len(), WIDTHS.len());
    }

    #[test]
    fn figures_of_before_stay_until_new_ones_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("figures.json");
        write(&path, "first").unwrap();
        writable(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "\"first\"\n");
        // Who has the old file open sees no half of a new one.
        let old = File::open(&path).unwrap();
        write(&path, "second").unwrap();
        assert_eq!(io::read_to_string(old).unwrap(), "\"first\"\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), "\"second\"\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let full = write(Path::new("/dev/full"), "third").unwrap_err();
        assert!(full.to_string().starts_with("/dev/full: cannot write"));
        assert!(writable(folder.path()).is_err());
    }
}
