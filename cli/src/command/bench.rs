//! `warpline bench`: octets per cycle, for small and large ULPDUs, at all widths.

use std::fs;

use anstream::println;

use super::OK;
use super::terminal::{DIM, STRONG, json, open_card, with_bar};
use crate::Error;
use crate::measure::{Figure, ULPDUS, WIDTHS, measure};
use crate::options::Bench;

pub(super) fn run(options: &Bench) -> Result<u8, Error> {
    let mut figures = Vec::new();
    for width in WIDTHS {
        let card = open_card(width, false)?;
        let runs: Vec<_> = ULPDUS
            .into_iter()
            .flat_map(|ulpdu| [(ulpdu, false), (ulpdu, true)])
            .collect();
        with_bar(format!("{width:>3} bits"), |progress| {
            for (i, &(ulpdu, markers)) in runs.iter().enumerate() {
                progress(i as u64, runs.len() as u64);
                figures.push(measure(&card, ulpdu, markers)?);
            }
            Ok::<(), Error>(())
        })?;
    }
    print(&figures);
    if let Some(path) = &options.json {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(Error::write(folder))?;
        }
        let text = json(&figures) + "\n";
        fs::write(path, text).map_err(Error::write(path))?;
    }
    Ok(OK)
}

fn print(figures: &[Figure]) {
    println!(
        "{STRONG}Receive path: stream octets per cycle, and share of what the bus can carry{STRONG:#}"
    );
    let head: String = WIDTHS
        .iter()
        .map(|width| format!("{:>18}", format!("{width} bits")))
        .collect();
    println!(" ULPDU markers{head}");
    for ulpdu in ULPDUS {
        for markers in [false, true] {
            let row = figures
                .iter()
                .filter(|f| f.ulpdu == ulpdu && f.markers == markers);
            let cells: String = row.map(cell).collect();
            println!(
                "{ulpdu:>6} {:<7}{cells}",
                if markers { "on" } else { "off" }
            );
        }
    }
}

fn cell(figure: &Figure) -> String {
    let share = 100.0 * figure.of_bus;
    format!(
        "{:>9.2} {DIM}{share:>6.1} %{DIM:#}",
        figure.octets_per_cycle
    )
}
