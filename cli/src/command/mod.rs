//! The commands, one file each. This file runs the requested one, and reports its error.

mod bench;
mod card;
#[cfg(feature = "manual")]
mod completions;
mod demo;
mod doctor;
mod exit_code;
mod explain;
mod get;
#[cfg(feature = "manual")]
mod man;
mod output;
mod put;
mod replay;
#[cfg(feature = "report")]
mod report;
#[cfg(feature = "rtl")]
mod rtl;
mod serve;
mod serving;
mod stat;
#[cfg(feature = "rtl")]
mod synth;
mod terminal;
mod transfer;
#[cfg(feature = "watch")]
mod watch;
#[cfg(feature = "wave")]
mod wave;

use std::ffi::OsString;
use std::io::{self, IsTerminal, stderr};
use std::process::ExitCode;
use std::sync::Arc;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use signal_hook::consts::SIGXFSZ;
use tracing::Level;

use self::exit_code::{OK, UNUSABLE};
use crate::Error;
use crate::options::{Command, Options};

/// Runs the command in `arguments`, which begin with the program name.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    // a file at its size limit (`ulimit -f`) gives a write error, as a full disk does, and does not kill the process
    let received = Arc::default();
    if let Err(error) = signal_hook::flag::register(SIGXFSZ, received) {
        return fail(&Error::Signals(error)).into();
    }
    let options = match Options::try_parse_from(arguments) {
        Ok(options) => options,
        Err(error) => return tell(&error),
    };
    let level = match (options.verbose, &options.command) {
        (true, _) => Some(Level::DEBUG),
        (false, Command::Card(_)) => Some(Level::INFO), // its output is the log of what hosts do
        (false, _) => None,
    };
    match level {
        #[cfg(feature = "watch")]
        Some(level) if has_view(&options.command) => tracing_subscriber::fmt()
            .with_writer(|| crate::watch::log::Lines)
            .with_ansi(false)
            .with_target(false)
            .without_time()
            .with_max_level(level)
            .init(),
        Some(level) => tracing_subscriber::fmt()
            .with_writer(|| terminal::Lossy(stderr()))
            .with_ansi(stderr().is_terminal())
            .with_max_level(level)
            .init(),
        None => {}
    }
    let code = match options.command {
        #[cfg(feature = "rtl")]
        Command::Rtl(rtl) => rtl::run(&rtl),
        Command::Replay(replay) => match replay.segmentation() {
            Ok(segmentation) => replay::run(&replay, segmentation),
            Err(reason) => return unusable(&reason),
        },
        Command::Explain(explain) => explain::run(&explain),
        Command::Demo(demo) => demo::run(&demo),
        Command::Bench(bench) => bench::run(&bench),
        Command::Card(card) => card::run(&card),
        Command::Serve(serve) => serve::run(&serve),
        Command::Put(put) => put::run(&put),
        Command::Get(get) => get::run(&get),
        Command::Doctor(doctor) => doctor::run(&doctor),
        Command::Stat(stat) => stat::run(&stat),
        #[cfg(feature = "rtl")]
        Command::Synth(synth) => synth::run(&synth),
        #[cfg(feature = "report")]
        Command::Report(report) => report::run(&report),
        #[cfg(feature = "manual")]
        Command::Completions(completions) => completions::run(&completions),
        #[cfg(feature = "manual")]
        Command::Man(man) => man::run(&man),
        #[cfg(feature = "wave")]
        Command::Wave(wave) => wave::run(&wave),
    };
    code.unwrap_or_else(|error| fail(&error)).into()
}

/// Whether a view is shown where the log would go: its lines are part of the view.
#[cfg(feature = "watch")]
fn has_view(command: &Command) -> bool {
    matches!(command, Command::Card(card) if card.watch && !card.json) && stderr().is_terminal()
}

/// The command line: commands, options and what each of them accepts. Tests hold documents to it.
pub fn command_line() -> clap::Command {
    Options::command()
}

fn unusable(reason: &str) -> ExitCode {
    terminal::complain(&reason);
    UNUSABLE.into()
}

fn fail(error: &Error) -> u8 {
    match error.has_lines() {
        true => terminal::complain_in_lines(error),
        false => terminal::complain(error),
    }
    error.exit_code()
}

/// Prints the requested help, or one line about the error in the options.
fn tell(error: &clap::Error) -> ExitCode {
    if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return unusable(&reason(error));
    }
    match error.print() {
        Err(lost) if lost.kind() != io::ErrorKind::BrokenPipe => {
            fail(&Error::write("standard output")(lost)).into()
        }
        // the reader of a closed pipe has ended
        _ => (if error.use_stderr() { UNUSABLE } else { OK }).into(),
    }
}

/// The reason and the remedy, in one line: what is similar, or else the help that lists what there is.
fn reason(error: &clap::Error) -> String {
    let text = error.to_string();
    let reason = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<_> = reason.split_whitespace().collect();
    let words = words.join(" ");
    let reason = words.trim_start_matches("error: ");
    let mut tips = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("tip: "));
    let similar = tips.find(|tip| tip.contains("similar"));
    let lists = match error.kind() {
        ErrorKind::UnknownArgument
        | ErrorKind::InvalidSubcommand
        | ErrorKind::MissingRequiredArgument
        | ErrorKind::ArgumentConflict => help(&text),
        _ => None, // the reason of a value says what to give
    };
    match similar.map(Into::into).or(lists) {
        Some(remedy) => format!("{reason}: {remedy}"),
        None => reason.to_owned(),
    }
}

/// The help of the command whose usage stands in `text`.
fn help(text: &str) -> Option<String> {
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: "))?;
    let is_name = |word: &&str| word.starts_with(|first: char| first.is_ascii_lowercase());
    let names: Vec<_> = usage.split(' ').take_while(is_name).collect();
    Some(format!("see {} --help", names.join(" ")))
}
