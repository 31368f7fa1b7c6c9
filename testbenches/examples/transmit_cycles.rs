//! Measures transmission at the widths that are given, in bits, and writes the figures of all of them to a file:
//! `transmit_cycles FILE WIDTH…`; figures of other widths in the file stay.

use std::error::Error;
use std::path::Path;

use warpline_design::{TOP, design};
use warpline_testbenches::lockstep::sources;
use warpline_testbenches::transmit_rate::{Delay, Figures, Rate, ReadDelay, config, figures};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments
        .next()
        .ok_or("say which file, then which widths")?;
    let widths = arguments.map(|width| width.parse());
    let widths: Vec<usize> = widths.collect::<Result<_, _>>()?;
    let mut all = match Path::new(&file).exists() {
        true => serde_json::from_str(&std::fs::read_to_string(&file)?)?,
        false => Figures::default(),
    };
    for width in widths {
        let build = sources(TOP, &design(&config(width))?).comparable();
        let found = figures(&mut build.open()?, width)?;
        found.rates.iter().for_each(show_rate);
        found.delays.iter().for_each(show_delay);
        found.reads.iter().for_each(show_read);
        all.rates.retain(|rate| rate.width != width);
        all.delays.retain(|delay| delay.width != width);
        all.reads.retain(|read| read.width != width);
        all.rates.extend(found.rates);
        all.delays.extend(found.delays);
        all.reads.extend(found.reads);
        all.rates.sort_by_key(|rate| rate.width);
        all.delays.sort_by_key(|delay| delay.width);
        all.reads.sort_by_key(|read| read.width);
        let text = serde_json::to_string_pretty(&all)?;
        std::fs::write(&file, text + "\n")?;
    }
    Ok(())
}

fn show_rate(rate: &Rate) {
    println!(
        "{:3} bits, {:?}: {:.4} of the bus, {:.2} cycles an FPDU, {:.4} received",
        rate.width, rate.workload, rate.of_bus, rate.cycles_per_fpdu, rate.received_of_bus
    );
}

fn show_delay(delay: &Delay) {
    println!(
        "{:3} bits, {:?}: {} cycles, {} of them for memory, {} for the write before; {} beats; {:?}",
        delay.width,
        delay.workload,
        delay.cycles,
        delay.memory,
        delay.write,
        delay.beats,
        delay.stations
    );
}

fn show_read(read: &ReadDelay) {
    println!(
        "{:3} bits, {:?}: {} cycles, {} of them for memory; {} beats; {:?}",
        read.width, read.workload, read.cycles, read.memory, read.beats, read.stations
    );
}
