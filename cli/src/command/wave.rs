//! `warpline wave`: a timing diagram of a waveform, or of an FPDU's way through the device.

use std::path::Path;

use warpline_capture::{Capture, Segmentation};
use warpline_wave::{Diagram, Trace, rows};

use super::exit_code::OK;
use super::output::{apart, real, writable, write_text};
use super::replay::{outcome, watched};
use super::terminal::{STRONG, counted, open_card, show};
use crate::Error;
use crate::options::Wave as Options;
use crate::replay::Replay;
use crate::wave::{Life, diagram, fpdus};

/// Most cycles of a diagram: browsers can still draw it.
const MOST: u64 = 2000;

pub(super) fn run(options: &Options) -> Result<u8, Error> {
    match options.fpdu {
        Some(number) => fpdu(options, number),
        None => signals(options),
    }
}

/// A file as it is.
fn signals(options: &Options) -> Result<u8, Error> {
    apart(&options.out, std::slice::from_ref(&options.input))?;
    let mut trace = Trace::open(&options.input, options.clock.as_deref())?;
    // A misspelled name is said first, however many cycles there are.
    let rows = rows(&mut trace, &options.signals, options.when_valid)?;
    let from = options.from.unwrap_or(0);
    let from = match &options.when {
        Some(name) => first(&mut trace, name, from)?.saturating_sub(options.before),
        None => from,
    };
    let last = trace.cycles() - 1;
    let to = match (options.to, options.cycles) {
        (Some(to), _) => to,
        (None, Some(cycles)) => from.saturating_add(cycles - 1).min(last),
        (None, None) => last,
    };
    let window = trace.window(from, to)?;
    let cycles = window.end - window.start;
    if cycles > MOST {
        return Err(Error::Wide { cycles, most: MOST });
    }
    let title = options.title.clone().unwrap_or_else(|| {
        let name = options
            .input
            .file_name()
            .unwrap_or(options.input.as_os_str());
        format!("{}, cycles {from} to {to}", name.to_string_lossy())
    });
    let mut diagram = Diagram::new(title, window);
    diagram.cut = !options.whole;
    diagram.rows = rows;
    writable(&options.out)?;
    write_text(&options.out, &diagram.svg())?;
    let names = counted(options.signals.len() as u64, "signal");
    show(&format!(
        "{names} in {} to {}\n",
        counted(cycles, "cycle"),
        options.out.display()
    ))?;
    Ok(OK)
}

/// The first cycle from `from` on in which a signal is not zero.
fn first(trace: &mut Trace, name: &str, from: u64) -> Result<u64, Error> {
    let signal = trace.signal(name)?;
    let samples = trace.read(&[signal])?.remove(0);
    let found = (from..trace.cycles()).find(|cycle| samples.value(*cycle).ones() > 0);
    found.ok_or_else(|| Error::Never {
        path: trace.path().into(),
        signal: name.into(),
        from,
    })
}

/// A captured FPDU, replayed.
fn fpdu(options: &Options, number: u64) -> Result<u8, Error> {
    let capture = Capture::open(&options.input)?;
    let stream = Replay::of(&capture, options.choice())?;
    let all = fpdus(&stream);
    let input = name(&options.input);
    let Some(fpdu) = all.iter().find(|fpdu| fpdu.number == number) else {
        return Err(Error::NoFpdu {
            input,
            number,
            last: all.len() as u64,
        });
    };
    apart(&options.out, &Capture::files(&options.input))?;
    writable(&options.out)?;
    let folder = tempfile::tempdir().map_err(Error::write(std::env::temp_dir()))?;
    let file = folder.path().join("replay.fst");
    let card = open_card(options.width, true, false)?;
    card.trace_open(&file)?;
    let replayed = watched(&card, &stream, Segmentation::AsCaptured, options.width)?;
    card.trace_close()?;
    let mut trace = Trace::open(&file, None)?;
    let life = Life::of(&mut trace, &all, fpdu, stream.flow.seq_start)?;
    let Some(life) = life else {
        return Err(Error::NoLife { input, number });
    };
    let alive = life.cycles.end - life.cycles.start;
    let (first, last) = (life.cycles.start, life.cycles.end - 1);
    let title = format!(
        "FPDU {number} of {input} in the {}-bit device",
        options.width
    );
    let mut notes = vec![
        format!(
            "{} at stream position {}, {}.",
            fpdu.summary,
            fpdu.position,
            counted(fpdu.length, "octet"),
        ),
        format!(
            "Cycles {first} to {last}: {}. Cycles in which it waits, or no row changes, are left out and counted.",
            counted(alive, "cycle"),
        ),
    ];
    let stages = life.stages();
    if !stages
        .iter()
        .any(|stage| stage.port == "deliver to completion")
    {
        notes.push("It reports nothing to the host.".into());
    }
    let diagram = diagram(&life, &title, notes, stream.flow.markers);
    write_text(&options.out, &diagram.svg())?;
    let mut text = format!("{STRONG}{title}{STRONG:#}\n{}\n", fpdu.summary);
    for stage in stages {
        text += &format!(
            "  {:<28} cycles {:>7} to {:>7}  {}\n",
            stage.port,
            stage.cycles.start,
            stage.cycles.end - 1,
            counted(stage.transfers, "transfer"),
        );
    }
    text += &format!("{} to {}\n", counted(alive, "cycle"), options.out.display());
    show(&text)?;
    Ok(outcome(&replayed))
}

/// The last part of a path that has a name.
fn name(path: &Path) -> String {
    let whole = real(path);
    let last = whole.file_name().unwrap_or(whole.as_os_str());
    last.to_string_lossy().into_owned()
}
