//! What can go wrong with a proof.
use std::path::PathBuf;
use thiserror::Error;

/// Why there is no proof.
#[derive(Debug, Error)]
pub enum Error {
    /// A design without modules.
    #[error("the design has no module")]
    NoModule,
    /// A path that leads nowhere.
    #[error("module {module} has no instance {instance}")]
    NoInstance {
        /// Where it was looked for.
        module: String,
        /// What was looked for.
        instance: String,
    },
    /// A port of a checker that stands for nothing.
    #[error("module {module} has no signal {signal}, which a checker wants to see")]
    NoSignal {
        /// Where it was looked for.
        module: String,
        /// What was looked for.
        signal: String,
    },
    /// A checker whose text cannot be taken apart.
    #[error("a checker begins with `module <name> … (<ports>);`: {0}")]
    Checker(String),
    /// A planted fault that has no place.
    #[error("the design holds {count} times, not once: {text}")]
    NotOnce {
        /// What was to be replaced.
        text: String,
        /// How often it is there.
        count: usize,
    },
    /// A name that is not that of one assertion.
    #[error("no assertion, or more than one, is called {0}")]
    NoAssertion(String),
    /// yosys is not installed.
    #[error(transparent)]
    Tool(#[from] warpline_synth::Error),
    /// A file or a program that cannot be used.
    #[error("{path}: {cause}; run tools/setup.sh fpga if it is a program that is missing")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// yosys refuses the text.
    #[error("yosys: {0}")]
    Yosys(String),
    /// The solver did not come to an answer.
    #[error("solver: {0}")]
    Solver(String),
    /// An assertion does not hold.
    #[error("refuted from reset on:\n{0}")]
    Refuted(String),
    /// The assertions do not follow from themselves a cycle earlier.
    #[error("not inductive:\n{0}")]
    NotInductive(String),
    /// A cover that is not reached.
    #[error("not covered:\n{0}")]
    NotCovered(String),
    /// A netlist that is not linear where it should be.
    #[error("not linear: {0}")]
    NotLinear(String),
}

impl Error {
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |cause| Self::File { path, cause }
    }
}
