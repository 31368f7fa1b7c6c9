//! Errors, with the offending value and the remedy.

use std::{fmt, path::PathBuf};

use crate::{messages::Warning, stopped::Stopped};

/// Errors of this crate.
///
/// `Debug` prints the same as `Display`: compiler messages keep their lines, and a test's `unwrap` says what to do.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Verilator was not found.
    #[error(
        "Verilator not found, looked at {}: run `make setup`, or set VERILATOR_ROOT, or install the package `verilator`", listed(searched.iter().map(|path| path.display()))
    )]
    NoVerilator {
        /// Programs that were looked for, in this order.
        searched: Vec<PathBuf>,
    },
    /// No C++ compiler was found.
    #[error(
        "C++ compiler not found, looked for {}: run `make setup`, or install the package `clang`, or name another one in WARPLINE_CXX",
        listed(searched)
    )]
    NoCompiler {
        /// Program names that were looked for, in this order.
        searched: Vec<String>,
    },
    /// A top module name that is not a plain SystemVerilog identifier.
    #[error("{0:?} is not a module name: use letters, digits, _ and $, not starting with a digit")]
    TopName(String),
    /// A source name that is not a plain file name.
    #[error(
        "{0:?} is not a plain file name: use ASCII letters, digits, _ - and . only, starting with a letter, digit or _"
    )]
    SourceName(String),
    /// Two sources of one build have the same file name.
    #[error("there are two sources named {0:?}: give each its own name")]
    SourceTwice(String),
    /// Nothing to compile.
    #[error("{top} has no source ending in .sv, .v or .vlt: add one with Build::source")]
    NoSource {
        /// Top module.
        top: String,
    },
    /// Verilator refused the text, or warned about it.
    #[error(
        "Verilator rejects {top} ({} warnings; Build::lint_off turns off one kind):\n{output}",
        warnings.len()
    )]
    Verilator {
        /// Top module.
        top: String,
        /// The warnings among the messages; empty when only errors were found.
        warnings: Vec<Warning>,
        /// Verilator's messages as it wrote them.
        output: String,
    },
    /// The generated C++ could not be compiled or linked.
    #[error("`{command}` failed (if a header or library is missing, run `make setup`):\n{output}")]
    Compiler {
        /// The command line.
        command: String,
        /// What it wrote.
        output: String,
    },
    /// A port of a type without a fixed packed width: unpacked array, `real`, `string`, interface.
    #[error(
        "port `{declaration}` has no packed type: only packed vectors can be ports of the top module"
    )]
    UnsupportedPort {
        /// The declaration in the generated C++.
        declaration: String,
    },
    /// The compiled model could not be loaded.
    #[error("cannot load {}: {reason}; delete the file's folder to build it anew", path.display())]
    Load {
        /// The shared object.
        path: PathBuf,
        /// The loader's message.
        reason: String,
    },
    /// No port of that name.
    #[error("no port {name}; there are {}", listed(known))]
    UnknownPort {
        /// The name asked for.
        name: String,
        /// The names of all ports.
        known: Vec<String>,
    },
    /// The model stopped: `$stop`, `$fatal`, a failed assertion, a run-time error. It cannot be evaluated again.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The model was built without traces.
    #[error(
        "the model was built without trace: use Build::trace(Trace::Fst) or Build::trace(Trace::Vcd)"
    )]
    NotTraced,
    /// A trace is already open.
    #[error("a trace is already open: call trace_close first")]
    TraceOpen,
    /// A trace or coverage file could not be written.
    #[error("writing failed, the file is incomplete: {0}")]
    Write(String),
    /// The model was built without coverage.
    #[error(
        "the model was built without coverage: use Build::line_coverage or Build::toggle_coverage"
    )]
    NoCoverage,
    /// A line of a coverage file is not in Verilator's format.
    #[error("line {line} of the coverage data is not in Verilator's format: {text:?}")]
    CoverageFormat {
        /// Line number, from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// The file system or a process refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// File, folder or program.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Items with commas between them.
fn listed(items: impl IntoIterator<Item: fmt::Display>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

/// `map_err` argument that adds the path to an I/O error.
pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
    move |source| Error::Io {
        path: path.into(),
        source,
    }
}
