//! Errors of the flow. Each prints as one line and says what to do.

use std::io;
use std::path::PathBuf;

/// Why a step of the flow failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No such part.
    #[error("no part {name:?}: choose one of {known}")]
    Part {
        /// The name given.
        name: String,
        /// The parts that there are.
        known: String,
    },
    /// No such board.
    #[error("no board {name:?}: choose one of {known}")]
    Board {
        /// The name given.
        name: String,
        /// The boards that there are.
        known: String,
    },
    /// No such width.
    #[error("no {width} bits: choose 64, 128, 256 or 512")]
    Width {
        /// The width given.
        width: usize,
    },
    /// The device cannot be written as SystemVerilog.
    #[error(transparent)]
    Design(#[from] warpline_design::DesignError),
    /// The self-test cannot be made.
    #[error("the traffic of the self-test cannot be made: {0}")]
    Traffic(#[from] warpline_wire::send::SendError),
    /// A request of the self-test cannot be made.
    #[error("the requests of the self-test cannot be made: {0}")]
    Request(#[from] warpline_regmap::transmit::SlotError),
    /// A tool is not installed.
    #[error(
        "{program} is not installed: run tools/setup.sh fpga ({})",
        shown(searched)
    )]
    NoTool {
        /// Its program.
        program: &'static str,
        /// The paths that were searched.
        searched: Vec<PathBuf>,
    },
    /// The netlist needs more than the part has.
    #[error("the {width}-bit device is too large for {part}: {}", needs.join(", "))]
    TooLarge {
        /// Bits of the data path.
        width: usize,
        /// The part.
        part: &'static str,
        /// Resources that do not suffice, with the excess.
        needs: Vec<String>,
    },
    /// A tool ended with an error.
    #[error("{program} failed: {reason} (all of it: {})", log.display())]
    Tool {
        /// Its program.
        program: &'static str,
        /// Its error message; without one, its status and last line.
        reason: String,
        /// Its log.
        log: PathBuf,
    },
    /// A tool exceeded its time limit and was killed.
    #[error("{program} exceeded {seconds} s and was killed (log: {})", log.display())]
    Slow {
        /// Its program.
        program: &'static str,
        /// The limit.
        seconds: u64,
        /// Its log.
        log: PathBuf,
    },
    /// Another process works in the folder.
    #[error("{}: another warpline works there, or a tool that one has left running: wait for it, or give another folder", folder.display())]
    InUse {
        /// The folder.
        folder: PathBuf,
    },
    /// A tool does not start.
    #[error("{}: does not start: {source}; to reinstall it, remove .venv/requirements-fpga.txt and run tools/setup.sh fpga", path.display())]
    Start {
        /// Its path.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The output of a tool is not as expected.
    #[error("{}: {what}; is the tool's version the pinned one?", path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl Error {
    /// Whether the request is at fault, not a tool.
    #[must_use]
    pub const fn is_request(&self) -> bool {
        matches!(
            self,
            Self::Part { .. }
                | Self::Board { .. }
                | Self::Width { .. }
                | Self::TooLarge { .. }
                | Self::InUse { .. }
                | Self::File { .. }
        )
    }

    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }

    pub(crate) fn start(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Start { path, source }
    }

    pub(crate) fn output(path: impl Into<PathBuf>) -> impl FnOnce(String) -> Self {
        let path = path.into();
        move |what| Self::Output { path, what }
    }
}

/// Output of a tool as part of one line: without control characters, and cut to 300 characters.
pub(crate) fn quoted(text: &str) -> String {
    const MOST: usize = 300;
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let mut quoted: String = text.trim().chars().take(MOST).map(plain).collect();
    if text.trim().chars().nth(MOST).is_some() {
        quoted.push('…');
    }
    quoted
}

fn shown(paths: &[PathBuf]) -> String {
    if paths.is_empty() {
        return "there is no .venv/bin here or in a folder above, nor above this program".into();
    }
    let paths: Vec<_> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    format!("looked in {}", paths.join(", "))
}
