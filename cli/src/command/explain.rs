//! `warpline explain`: what octets of iWARP traffic are, and which check of a receiver fails.

use std::ffi::OsStr;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use anstyle::Style;
use warpline_capture::explain::{
    Conversation, Ink, SctpCapture, Settings, Source, Tally, Unit, Units, parse_hex, sctp_units,
    unit_text, write_json,
};
use warpline_capture::replay::Role;
use warpline_capture::{Traffic, read_file, read_input};

use super::exit_code::{DIFFERENT, OK};
use super::terminal::{BAD, DIM, GOOD, ODD, STRONG, complain, counted, unless_closed};
use crate::Error;
use crate::options::{Explain as Options, Sctp};

/// Standard input, as it is given and named.
const STDIN: (&str, &str) = ("-", "standard input");
/// Extensions of captures.
const CAPTURES: [&str; 4] = ["pcap", "pcapng", "cap", "gz"];
/// Begins every start frame: a file of one is not text.
const KEY: &[u8] = b"mpa id";

pub(super) fn run(options: &Options) -> Result<u8, Error> {
    let (name, octets) = input(&options.input)?;
    if octets.is_empty() {
        return Err(Error::NoOctets { input: name });
    }
    if let Some(form) = options.sctp {
        return sctp(options, form, name, &octets);
    }
    match Traffic::is_capture(&octets) {
        true => capture(options, name, &octets),
        false => stream(options, name, &octets),
    }
}

/// The octets of the input, and its name.
fn input(given: &[std::ffi::OsString]) -> Result<(String, Vec<u8>), Error> {
    let name = given.join(OsStr::new(" ")).to_string_lossy().into_owned();
    let mut unread = None;
    if let [one] = given {
        let path = Path::new(one);
        if one == STDIN.0 {
            let octets = read_input(STDIN.1, io::stdin().lock())?;
            return Ok((STDIN.1.into(), plain(STDIN.1, octets)?));
        }
        match path.try_exists() {
            Ok(true) => {
                let octets = plain(&name, read_file(path)?)?;
                return Ok((name, octets));
            }
            Ok(false) => {}
            // a string of octets may be longer than a file's name
            Err(error) if error.kind() == ErrorKind::InvalidFilename => {}
            Err(source) => {
                unread = Some(Error::Read {
                    path: path.into(),
                    source,
                });
            }
        }
    }
    match (parse_hex(&name), unread) {
        (Ok(octets), _) => Ok(("the octets given".into(), octets)),
        (Err(_), Some(error)) => Err(error),
        (Err(source), None) => Err(Error::NoInput {
            input: name,
            source,
        }),
    }
}

/// That a file named as a capture is read as plain octets: its header may be damaged.
fn doubt(input: &str) -> Option<String> {
    let extension = Path::new(input).extension()?.to_str()?;
    if !CAPTURES.contains(&extension.to_ascii_lowercase().as_str()) {
        return None;
    }
    Some(format!(
        "{input}: has not the header of a pcap, pcapng or gzip file, and is explained as plain octets"
    ))
}

/// The octets that a text describes, or else the octets of a file as they are.
fn plain(name: &str, octets: Vec<u8>) -> Result<Vec<u8>, Error> {
    let is_text = |octet: &u8| octet.is_ascii_graphic() || octet.is_ascii_whitespace();
    let key = octets.iter().map(u8::to_ascii_lowercase).take(KEY.len());
    if !octets.iter().all(is_text) || key.eq(KEY.iter().copied()) {
        return Ok(octets);
    }
    let text = String::from_utf8_lossy(&octets);
    parse_hex(&text).map_err(|source| Error::Hex {
        input: name.into(),
        source,
    })
}

/// The warnings, which are printed to standard error, too.
fn told(warnings: impl IntoIterator<Item = String>) -> Vec<String> {
    let warnings = warnings.into_iter();
    warnings.inspect(|warning| complain(warning)).collect()
}

fn capture(options: &Options, input: String, file: &[u8]) -> Result<u8, Error> {
    for (given, option) in [
        (options.markers, "--markers"),
        (options.no_crc, "--no-crc"),
        (options.offset.is_some(), "--offset"),
    ] {
        if given {
            let other = "octets without a capture, whose start frames say it";
            return Err(Error::WrongOption {
                input,
                option,
                other,
            });
        }
    }
    let found = Conversation::read(file, options.choice());
    let found = found.map_err(|source| Error::Conversation {
        input: input.clone(),
        source,
    })?;
    let mut warnings = Vec::new();
    warnings.extend(found.skipped.iter().map(ToString::to_string));
    warnings.extend(found.stopped.iter().map(ToString::to_string));
    warnings.extend(found.problem.iter().map(ToString::to_string));
    warnings.extend(found.gap.iter().map(ToString::to_string));
    let source = Source {
        kind: "capture",
        connection: found.number,
        direction: Some(match found.role {
            Role::Initiator => "initiator",
            Role::Responder => "responder",
        }),
        initiator: Some(found.initiator.to_string()),
        responder: Some(found.responder.to_string()),
        markers: found.markers,
        crc: found.crc,
        warnings: told(warnings),
    };
    let chosen = chosen(options, &input, found.fpdus(options.payload))?;
    let starts = found.start_frames(options.payload);
    let starts = starts.filter(|_| !is_part(options));
    print(options, &source, starts.chain(chosen))
}

fn stream(options: &Options, input: String, octets: &[u8]) -> Result<u8, Error> {
    for (given, option) in [
        (options.connection.is_some(), "--connection"),
        (options.direction.is_some(), "--direction"),
    ] {
        if given {
            let other = "captures, and this is none";
            return Err(Error::WrongOption {
                input,
                option,
                other,
            });
        }
    }
    let settings = Settings {
        markers: options.markers,
        crc: !options.no_crc,
        position: options.offset.unwrap_or(0),
        payload: options.payload,
    };
    let source = Source {
        kind: "octets",
        connection: None,
        direction: None,
        initiator: None,
        responder: None,
        markers: settings.markers,
        crc: settings.crc,
        warnings: told(doubt(&input)),
    };
    let chosen = chosen(options, &input, Units::new(octets, settings))?;
    print(options, &source, chosen)
}

/// Chunks of DDP over SCTP, or user data of one.
fn sctp(options: &Options, form: Sctp, input: String, octets: &[u8]) -> Result<u8, Error> {
    let mut source = Source {
        kind: "octets",
        connection: None,
        direction: None,
        initiator: None,
        responder: None,
        markers: false,
        crc: false,
        warnings: Vec::new(),
    };
    if !Traffic::is_capture(octets) {
        source.warnings = told(doubt(&input));
        let mut units = sctp_units(octets, form.form(), options.payload).peekable();
        if units.peek().is_none() {
            return Err(Error::NoChunk { input });
        }
        return print(options, &source, units);
    }
    if form != Sctp::Chunks {
        let option = match form {
            Sctp::Segment => "--sctp segment",
            Sctp::Control | Sctp::Chunks => "--sctp control",
        };
        let other = "octets without a capture; for the chunks of this capture, give --sctp chunks";
        return Err(Error::WrongOption {
            input,
            option,
            other,
        });
    }
    let found = SctpCapture::read(octets).map_err(|source| Error::Conversation {
        input,
        source: source.into(),
    })?;
    source.kind = "capture";
    let mut warnings = Vec::new();
    warnings.extend(found.skipped.iter().map(ToString::to_string));
    warnings.extend(found.stopped.iter().map(ToString::to_string));
    source.warnings = told(warnings);
    print(options, &source, found.units(options.payload))
}

/// Only some FPDUs, without what comes before.
fn is_part(options: &Options) -> bool {
    options.fpdu.is_some() || options.from.is_some()
}

/// The units that the options choose.
fn chosen<'u>(
    options: &Options,
    input: &str,
    units: Units<'u>,
) -> Result<impl Iterator<Item = Unit> + use<'u>, Error> {
    let (first, count) = match (options.fpdu, options.from) {
        (Some(number), _) => (Some(number), Some(1)),
        (None, first) => (first, options.count),
    };
    let units = match first {
        None => units,
        Some(number) => {
            let units = units.from_fpdu(number);
            if units.clone().next().is_none() {
                let (input, last) = (input.into(), units.next_number() - 1);
                return Err(Error::NoFpdu {
                    input,
                    number,
                    last,
                });
            }
            units
        }
    };
    let mut left = count.unwrap_or(u64::MAX);
    Ok(units.take_while(move |unit| {
        let is_fpdu = unit.number.is_some();
        let more = !is_fpdu || left > 0;
        left = left.saturating_sub(u64::from(is_fpdu));
        more
    }))
}

/// Prints the units, one at a time: they may be more than memory holds.
fn print(
    options: &Options,
    source: &Source,
    units: impl Iterator<Item = Unit>,
) -> Result<u8, Error> {
    let mut tally = Tally::default();
    let units = units.inspect(|unit| tally.count(unit));
    let mut out = BufWriter::new(anstream::stdout().lock());
    let written = match options.json {
        true => write_json(&mut out, source, units)
            .map_err(io::Error::from)
            .and_then(|_| writeln!(out)),
        false => text(&mut out, units),
    };
    let written = written.and_then(|()| match options.json {
        true => Ok(()),
        false => write!(out, "{}", summary(&tally)),
    });
    unless_closed(written.and_then(|()| out.flush()))?;
    Ok(if tally.faults == 0 { OK } else { DIFFERENT })
}

fn text(out: &mut impl Write, units: impl Iterator<Item = Unit>) -> io::Result<()> {
    for unit in units {
        writeln!(out, "{}", unit_text(&unit, &paint))?;
    }
    Ok(())
}

fn paint(ink: Ink, text: &str) -> String {
    let style: Style = match ink {
        Ink::Strong => STRONG,
        Ink::Good => GOOD,
        Ink::Bad => BAD,
        Ink::Note => ODD,
        Ink::Dim => DIM,
    };
    format!("{style}{text}{style:#}")
}

fn summary(tally: &Tally) -> String {
    let mut text = match tally.chunks {
        0 => counted(tally.fpdus, "FPDU"),
        chunks => counted(chunks, "chunk"),
    };
    if tally.start_frames > 0 {
        text = format!("{}, {text}", counted(tally.start_frames, "start frame"));
    }
    text += ": ";
    text += &match tally.faults {
        0 => format!("{GOOD}no fault{GOOD:#}"),
        faults => {
            let unit = if tally.chunks > 0 { "chunk" } else { "frame" };
            let of = counted(tally.faulty_units, unit);
            format!("{BAD}{}{BAD:#} in {of}", counted(faults, "fault"))
        }
    };
    if tally.notes > 0 {
        text += &format!(", {}", counted(tally.notes, "note"));
    }
    if let Some(number) = tally.first_refused {
        text += &format!("; a receiver drops what follows FPDU {number} (MPA-ERR-12, DDP-ERR-20)");
    }
    text + "\n"
}
