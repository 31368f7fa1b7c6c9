//! Output for a terminal: colours, numbers, progress. Progress goes to standard error, and only to a terminal.

use std::fmt::Display;
use std::io::{self, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};
use warpline_hdl::Config;
use warpline_sim::{Card, CardOptions};

use crate::Error;
pub(super) use crate::numbers::{counted, grouped};

/// The main result.
pub(super) const STRONG: Style = Style::new().bold();
/// A check that passed.
pub(super) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// A check that failed.
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Something unusual.
pub(super) const ODD: Style = AnsiColor::Yellow.on_default();
/// Secondary information.
pub(super) const DIM: Style = Style::new().dimmed();

const BAR: &str = "{prefix} {bar:40} {percent:>3} %";
const SPINNER: &str = "{spinner} {msg} {elapsed}";

/// Prints `text`, with colours only on a terminal.
pub(super) fn show(text: &str) -> Result<(), Error> {
    let mut out = anstream::stdout().lock(); // a line is printed as a whole
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(Error::write("standard output"))
}

/// What came of writing to standard output, of which the reader may have seen enough: its closed pipe is no error.
pub(super) fn unless_closed(written: io::Result<()>) -> Result<(), Error> {
    match written {
        Err(lost) if lost.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::write("standard output")(lost))
        }
        _ => Ok(()),
    }
}

/// Prints an error to standard error, in one line.
pub(super) fn complain(reason: &dyn Display) {
    remark(&format_args!("warpline: {}", a_line(&reason.to_string())));
}

/// Prints an error with the output of another program to standard error, in several lines.
pub(super) fn complain_in_lines(reason: &dyn Display) {
    let reason = reason.to_string();
    let lines: Vec<_> = reason.lines().take(MOST_LINES).map(a_line).collect();
    remark(&format_args!("warpline: {}", lines.join("\n")));
}

/// Most lines of another program's output; the first ones name the cause.
const MOST_LINES: usize = 50;
/// Longest line printed, in characters: paths have at most 4,096.
const MOST: usize = 5000;

/// The text, with control characters escaped and cut to [`MOST`] characters.
fn a_line(text: &str) -> String {
    let mut line = String::new();
    for (i, c) in text.chars().enumerate() {
        match c {
            _ if i == MOST => {
                line.push('…');
                break;
            }
            _ if c.is_control() => line.extend(c.escape_default()),
            _ => line.push(c),
        }
    }
    line
}

/// Prints a line to standard error.
pub(super) fn remark(text: &dyn Display) {
    let _ = writeln!(Lossy(io::stderr()), "{text}"); // never fails
}

/// A writer that drops what it cannot write: a closed pipe or a full disk behind standard error must not end the program.
/// A card keeps serving hosts when its log has no reader.
pub(super) struct Lossy<W>(pub W);

impl<W: Write> Write for Lossy<W> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match self.0.write(octets) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error), // the caller retries
            written => Ok(written.unwrap_or(octets.len())),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.0.flush();
        Ok(())
    }
}

/// A progress bar, which is cleared when it is dropped.
pub(super) struct Bar(ProgressBar);

impl Bar {
    /// A bar with the prefix `what`.
    pub fn new(what: String) -> Self {
        let bar = ProgressBar::new(1).with_prefix(what);
        if let Ok(style) = ProgressStyle::with_template(BAR) {
            bar.set_style(style.progress_chars("━╸ "));
        }
        Self(bar)
    }

    /// Moves it to `done` of `total`.
    pub fn show(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
    }

    /// Prints an error in a line above the bar.
    pub fn complain(&self, reason: &dyn Display) {
        self.0.suspend(|| complain(reason));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A spinner with the elapsed time, for work of unknown length.
pub(super) fn spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template(SPINNER) {
        spinner.set_style(style);
    }
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}

/// Opens a simulated card. The first time it builds the model, which may take minutes.
/// With `transmit` the device sends, too, and the card can have a network side and a control program.
pub(super) fn open_card(width: usize, trace: bool, transmit: bool) -> Result<Card, Error> {
    let spinner = spinner();
    spinner.set_message(format!(
        "building the {width}-bit card (once; the model is kept)"
    ));
    let options = CardOptions {
        trace,
        transmit,
        ..CardOptions::default()
    };
    let config = Config {
        transmit,
        ..Config::simulated(width)
    };
    let card = Card::open(&config, options);
    spinner.finish_and_clear();
    Ok(card?)
}
