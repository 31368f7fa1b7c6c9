//! Proofs about the generated RTL: what holds for all inputs and for ever, not only in the runs that tests make.
//!
//! ```text
//!  block ─► sv-writer ─► its text ─┐
//!                                    ├─► yosys ─► SMT ─► yices   first states: no counterexample
//!  properties/<block>.sv ─► bound ───┘                           any state that keeps the properties: the next one does
//!                                                                covers: each is reached
//!                                                                planted fault: a counterexample from reset
//! ```
//!
//! A checker module is [bound](Proof::bind) to a module of the design by the names of its ports: `count` is the signal of
//! that name there, `store__proof_row` the signal `proof_row` of the instance `store`. Thereby a checker sees inside of a
//! block without a port or a line of the block being there for it. `proof_row` and `proof_data` are what is added to every
//! memory: an arbitrary row, and what it holds; `proof_before` is the row in front of it. Small memories show all rows, `proof_rows`.
//!
//! A proof is by induction, over one step unless it says more: a checker asserts what it is about, and as many facts about the block's registers as
//! it takes for all of them together to follow from themselves a cycle earlier.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod bind;
mod error;
mod run;

pub mod linear;

pub use error::Error;
pub use run::Tools;

use std::time::{Duration, Instant};
use warpline_sv_writer::Design;

/// A design and the checkers bound to it.
#[derive(Clone)]
pub struct Proof {
    top: String,
    text: String,
    induction: Induction,
}

/// How the step of induction is asked for.
#[derive(Clone, Copy)]
enum Induction {
    /// All assertions at once, assumed at so many steps before the one that is proved: 1, more where a checker says why.
    Steps(usize),
    /// Each assertion on its own, all of them being assumed one step before.
    OneByOne,
}

/// What a proof took.
#[derive(Clone, Copy, Debug)]
pub struct Proved {
    /// Time of yosys and of both solver runs.
    pub time: Duration,
}

/// Cycles from reset that are searched before induction is tried, so that a wrong property shows with a trace.
const FIRST_CYCLES: usize = 4;

impl Proof {
    /// About `design`, whose last module is the top.
    ///
    /// # Errors
    /// [`Error::NoModule`] when there is none.
    pub fn of(design: &Design) -> Result<Self, Error> {
        let top = design.modules.last().ok_or(Error::NoModule)?;
        Ok(Self {
            top: top.name.clone(),
            text: bind::with_proof_rows(&design.text()),
            induction: Induction::Steps(1),
        })
    }

    /// With induction over `steps` steps.
    #[must_use]
    pub fn steps(mut self, steps: usize) -> Self {
        self.induction = Induction::Steps(steps);
        self
    }

    /// With induction over one step, and a question to the solver for each assertion: many small questions may end where
    /// the one about all of them does not. No trace is kept of the one that does not hold.
    #[must_use]
    pub fn one_by_one(mut self) -> Self {
        self.induction = Induction::OneByOne;
        self
    }

    /// Binds the first module of `checker` to the instance `path` of the design, "" for the top, with parameters.
    /// Modules that follow in `checker` come along. An instance whose module has the checker already is left as it is.
    ///
    /// # Errors
    /// [`Error::NoInstance`], [`Error::NoSignal`] when the design has nothing of such a name.
    pub fn bind(
        mut self,
        path: &str,
        checker: &str,
        parameters: &[(&str, usize)],
    ) -> Result<Self, Error> {
        self.text = bind::bind(&self.text, &self.top, path, checker, parameters)?;
        Ok(self)
    }

    /// With arbitrary outputs in the place of what is in the instance `path`: what is proved holds whatever it does.
    ///
    /// # Errors
    /// [`Error::NoInstance`] when there is none.
    pub fn freed(mut self, path: &str) -> Result<Self, Error> {
        self.text = bind::free(&self.text, &self.top, path)?;
        Ok(self)
    }

    /// With more text beside the design: modules that checkers use.
    #[must_use]
    pub fn with(mut self, text: &str) -> Self {
        self.text += text;
        self
    }

    /// With `wrong` in the place of `right`, which occurs once.
    ///
    /// # Errors
    /// [`Error::NotOnce`].
    pub fn planted(mut self, right: &str, wrong: &str) -> Result<Self, Error> {
        match self.text.matches(right).count() {
            1 => self.text = self.text.replace(right, wrong),
            count => {
                return Err(Error::NotOnce {
                    text: right.into(),
                    count,
                });
            }
        }
        Ok(self)
    }

    /// Proves all assertions, for ever.
    ///
    /// # Errors
    /// [`Error::Refuted`] with a trace from reset; [`Error::NotInductive`] with the state that leads astray, which need
    /// not be one that can be reached.
    pub fn prove(&self, tools: &Tools) -> Result<Proved, Error> {
        let start = Instant::now();
        let model = tools.model(&self.top, &self.text)?;
        match self.induction {
            Induction::Steps(steps) => {
                model.search(FIRST_CYCLES.max(steps + 1))?;
                model.induction(steps)?;
            }
            Induction::OneByOne => {
                model.search(FIRST_CYCLES)?;
                model.induction_of_each()?;
            }
        }
        Ok(Proved {
            time: start.elapsed(),
        })
    }

    /// Searches the first `cycles` cycles for a violated assertion.
    ///
    /// # Errors
    /// [`Error::Refuted`] with the trace.
    pub fn search(&self, tools: &Tools, cycles: usize) -> Result<(), Error> {
        tools.model(&self.top, &self.text)?.search(cycles)
    }

    /// As [`search`](Self::search) in one cycle, for the one assertion whose name ends in `name`: a small question, where
    /// all assertions in all cycles are many. It is not asked what comes before that cycle.
    ///
    /// # Errors
    /// [`Error::Refuted`] without a trace; [`Error::NoAssertion`] when there is none of that name, or several.
    pub fn search_for(&self, tools: &Tools, name: &str, cycle: usize) -> Result<(), Error> {
        tools.model(&self.top, &self.text)?.search_for(name, cycle)
    }

    /// Reaches every cover within `cycles` cycles from reset.
    ///
    /// # Errors
    /// [`Error::NotCovered`].
    pub fn cover(&self, tools: &Tools, cycles: usize) -> Result<(), Error> {
        tools.model(&self.top, &self.text)?.cover(cycles)
    }

    /// The whole text, as yosys reads it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}
