//! Why a model stopped.

use std::fmt;

/// Place and reason of a stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Source name; empty when unknown.
    pub file: String,
    /// Line, from 1; 0 when unknown.
    pub line: u32,
    /// Instance, such as `TOP.counter`; may be empty.
    pub scope: String,
    /// The text of `$fatal`, `$error` or the assertion; `$stop` when there is none.
    pub message: String,
    /// True when Verilator's run-time library failed (no convergence, null dereference), false when the design stopped.
    pub runtime: bool,
}

impl std::error::Error for Stopped {}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "model stopped at {}:{}: {}",
            self.file, self.line, self.message
        )
    }
}
