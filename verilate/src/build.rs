//! From SystemVerilog text to a shared object in the cache.
//!
//! ```text
//!  <cache>/runtime-<key>/libverilated.a     Verilator's own C++, once per tool set
//!  <cache>/headers-<key>/models.h.pch       what all models include, compiled once per tool set and options
//!  <cache>/<top>-<key>/rtl/*.sv             the sources as given
//!                     /cpp/*.cpp            Verilator's C++, the shim, unity files
//!                     /model.so
//!  <cache>/lint-<key>/                       a text without warnings
//! ```

use std::{
    collections::HashSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Instant,
};

use crate::{
    cache,
    error::{Error, at},
    header,
    messages::{self, Warning},
    model::Model,
    tools::Tools,
    trace::Trace,
};

const SHIM: &str = include_str!("shim.cpp");

/// Follows the shim in models whose state is compared.
const STATE: &str = include_str!("state.cpp");

/// Included before everything else, so that the runtime's text output ends in the shim.
const PRELUDE: &str = "int warpline_printf(const char* format, ...);\n";

/// The file with it.
const PRELUDE_FILE: &str = "prelude.h";

/// What every model includes: parsing it takes longer than compiling a small model.
const HEADERS: &str = r#"#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>
#include "verilated.h"
"#;

/// The file with both.
const HEADERS_FILE: &str = "models.h";

/// Included before the runtime's FST writer, whose debug checks abort the process when the disk is full. Closing the trace
/// reports what could not be written.
const FST_PRELUDE: &str = r#"#if __has_include("fstcpp/fstcpp_assertion.h")
#include "fstcpp/fstcpp_assertion.h"
#undef FST_DCHECK_EQ
#define FST_DCHECK_EQ(a, b)
#endif
"#;

/// Arguments of a check without a build.
const LINT: &[&str] = &["--lint-only", "-Wall", "-Wno-fatal"];

/// Verilator's runtime; the linker takes from the archive what a model needs.
const RUNTIME: [&str; 5] = [
    "verilated",
    "verilated_threads",
    "verilated_vcd_c",
    "verilated_fst_c",
    "verilated_cov",
];

/// What to build: sources, top module and options of a model.
///
/// Verilator's default warnings are errors. `assert` is on; every register without reset and every `x` starts at a random
/// value drawn from [`seed`](Build::seed), so that a missing reset shows.
#[derive(Clone, Debug)]
pub struct Build {
    top: String,
    sources: Vec<(String, String)>,
    trace: Trace,
    line_coverage: bool,
    toggle_coverage: bool,
    state: bool,
    lint_off: Vec<String>,
    verilator_args: Vec<String>,
    optimised: bool,
    seed: u32,
}

impl Build {
    /// A model of the module `top`, without sources yet.
    pub fn new(top: impl Into<String>) -> Self {
        Self {
            top: top.into(),
            sources: Vec::new(),
            trace: Trace::Off,
            line_coverage: false,
            toggle_coverage: false,
            state: false,
            lint_off: Vec::new(),
            verilator_args: Vec::new(),
            optimised: true,
            seed: 1,
        }
    }

    /// Adds a source. Names ending in `.sv`, `.v` or `.vlt` are compiled in the order given (all as SystemVerilog); others
    /// are for `` `include ``. Messages, waveforms and coverage use the name.
    pub fn source(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.sources.push((name.into(), text.into()));
        self
    }

    /// Lets the model write waveforms. While no waveform is open this costs about a seventh of the speed.
    pub fn trace(mut self, trace: Trace) -> Self {
        self.trace = trace;
        self
    }

    /// Counts how often each statement and branch ran. Costs next to nothing.
    pub fn line_coverage(mut self) -> Self {
        self.line_coverage = true;
        self
    }

    /// Counts how often each bit changed, for signals up to Verilator's limit (256 bits). Halves the speed. The step from a random
    /// initial value counts as a change.
    pub fn toggle_coverage(mut self) -> Self {
        self.toggle_coverage = true;
        self
    }

    /// Lets the model's state be compared with an earlier one: [`Model::keep_state`](crate::Model::keep_state).
    pub fn comparable(mut self) -> Self {
        self.state = true;
        self
    }

    /// Compiles the model's C++ without optimisation: in a third of the time, for a model that runs briefly, or beside
    /// something slower.
    pub fn unoptimised(mut self) -> Self {
        self.optimised = false;
        self
    }

    /// Turns off one kind of warning, such as `WIDTHTRUNC`, in this build.
    pub fn lint_off(mut self, code: impl Into<String>) -> Self {
        self.lint_off.push(code.into());
        self
    }

    /// One more argument for Verilator, such as `-GWIDTH=8`. Not supported: `--timing`, `--sc`, `--threads` above 1.
    pub fn verilator_arg(mut self, argument: impl Into<String>) -> Self {
        self.verilator_args.push(argument.into());
        self
    }

    /// Seed of the random initial values (modulo 2³¹-1), 1 unless set. It applies when the model is opened and needs no new build.
    pub fn seed(mut self, seed: u32) -> Self {
        self.seed = seed;
        self
    }

    /// Checks the sources with all of Verilator's warnings (`-Wall`, nothing turned off) and returns them; builds nothing.
    /// That a text has none is kept in the cache.
    ///
    /// # Errors
    /// [`Error::Verilator`] when the text has errors, and as [`build`](Build::build) for names and tools.
    pub fn lint(&self) -> Result<Vec<Warning>, Error> {
        self.check_names()?;
        let tools = Tools::find()?;
        let arguments = [LINT, &[self.top.as_str(), &tools.verilator_version]].concat();
        let arguments = arguments
            .into_iter()
            .chain(self.verilator_args.iter().map(String::as_str));
        let clean = cache::folder()?.join(format!(
            "lint-{}",
            cache::key(arguments.chain(self.texts()))
        ));
        if clean.is_dir() {
            return Ok(Vec::new());
        }
        let folder = tempfile::tempdir().map_err(at(std::env::temp_dir()))?;
        self.write_sources(folder.path())?;
        let mut command = self.verilator(&tools, folder.path());
        command
            .args(LINT)
            .args(&self.verilator_args)
            .args(self.compiled());
        let warnings = self.run_verilator(&mut command)?;
        if warnings.is_empty() {
            fs::create_dir_all(&clean).map_err(at(&clean))?;
        }
        Ok(warnings)
    }

    /// Builds the model unless the cache has it.
    ///
    /// # Errors
    /// - [`Error::TopName`], [`Error::SourceName`], [`Error::SourceTwice`], [`Error::NoSource`]: refused before anything runs
    /// - [`Error::NoVerilator`], [`Error::NoCompiler`]
    /// - [`Error::Verilator`], [`Error::UnsupportedPort`], [`Error::Compiler`]: the text is wrong, or a system package is missing
    /// - [`Error::Io`]
    ///
    /// After an error nothing is left in the cache; the next call tries again.
    pub fn build(&self) -> Result<Library, Error> {
        self.check_names()?;
        let tools = Tools::find()?;
        let cache = cache::folder()?;
        let folder = cache.join(format!("{}-{}", self.top, self.key(&tools)));
        let built = cache::once(&folder, |f| {
            let start = Instant::now();
            let runtime = runtime(&tools, &cache)?;
            let headers = headers(&tools, &cache, &self.options())?;
            self.make(&tools, f, &runtime, &headers)?;
            tracing::info!(
                top = self.top,
                seconds = start.elapsed().as_secs_f32(),
                "built model"
            );
            Ok(())
        })?;
        Ok(Library {
            object: folder.join("model.so"),
            description: self.clone(),
            built,
        })
    }

    /// Builds the model if needed and opens it with [`seed`](Build::seed).
    ///
    /// # Errors
    /// As [`build`](Build::build) and [`Library::open`].
    pub fn open(&self) -> Result<Model, Error> {
        self.build()?.open(self.seed)
    }

    fn check_names(&self) -> Result<(), Error> {
        let first = |c: char| c.is_ascii_alphabetic() || c == '_';
        if !self.top.starts_with(first)
            || !self
                .top
                .chars()
                .all(|c| first(c) || c.is_ascii_digit() || c == '$')
        {
            return Err(Error::TopName(self.top.clone()));
        }
        // The names become files and arguments: no directories, no options.
        let mut seen = HashSet::new();
        for (name, _) in &self.sources {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if !name.starts_with(plain) || !name.chars().all(|c| plain(c) || c == '.' || c == '-') {
                return Err(Error::SourceName(name.clone()));
            }
            if !seen.insert(name) {
                return Err(Error::SourceTwice(name.clone()));
            }
        }
        match self.compiled().next() {
            Some(_) => Ok(()),
            None => Err(Error::NoSource {
                top: self.top.clone(),
            }),
        }
    }

    /// Names of the sources that go on Verilator's command line.
    fn compiled(&self) -> impl Iterator<Item = &str> {
        let names = self.sources.iter().map(|(name, _)| name.as_str());
        names.filter(|name| {
            [".sv", ".v", ".vlt"]
                .iter()
                .any(|ending| name.ends_with(ending))
        })
    }

    fn write_sources(&self, folder: &Path) -> Result<(), Error> {
        self.sources
            .iter()
            .try_for_each(|(name, text)| write(&folder.join(name), text))
    }

    /// Everything the result depends on.
    fn key(&self, tools: &Tools) -> String {
        let mut parts = vec![SHIM.to_owned(), PRELUDE.to_owned(), self.top.clone()];
        parts.extend([
            tools.verilator_version.clone(),
            tools.compiler_version.clone(),
        ]);
        parts.push(self.verilate_arguments().join("\n"));
        parts.push(compile_flags(tools, Path::new(PRELUDE_FILE)).join("\n"));
        parts.push(self.abilities().join("\n"));
        parts.extend([SLOW_FLAG.to_owned(), SLOW_OCTETS.to_string()]);
        if self.trace == Trace::Fst {
            parts.push(FST_PRELUDE.to_owned());
        }
        if self.state {
            parts.push(STATE.to_owned());
        }
        if !self.optimised {
            parts.push("unoptimised".into());
        }
        cache::key(parts.iter().map(String::as_str).chain(self.texts()))
    }

    /// Names and texts of the sources.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let pairs = self.sources.iter();
        pairs.flat_map(|(name, text)| [name.as_str(), text])
    }

    fn verilate_arguments(&self) -> Vec<String> {
        // x-initial and x-assign "unique": the values come from the seed at run time.
        let mut arguments: Vec<String> = [
            "--cc",
            "--Mdir",
            "../cpp",
            "--prefix",
            "Vmodel",
            "-O3",
            "--assert",
            "--x-assign",
            "unique",
            "--x-initial",
            "unique",
        ]
        .map(String::from)
        .into();
        match self.trace {
            Trace::Off => {}
            Trace::Vcd => arguments.extend(["--trace".into(), "--trace-structs".into()]),
            Trace::Fst => arguments.extend(["--trace-fst".into(), "--trace-structs".into()]),
        }
        if self.line_coverage {
            arguments.push("--coverage-line".into());
        }
        if self.toggle_coverage {
            arguments.push("--coverage-toggle".into());
        }
        arguments.extend(self.lint_off.iter().map(|code| format!("-Wno-{code}")));
        arguments.extend(self.verilator_args.iter().cloned());
        arguments
    }

    /// The options as macros for generated code and shim.
    fn abilities(&self) -> [String; 4] {
        let set = |name: &str, on: bool| format!("-D{name}={}", u8::from(on));
        [
            set("VM_TRACE", self.trace != Trace::Off),
            set("VM_TRACE_VCD", self.trace == Trace::Vcd),
            set("VM_TRACE_FST", self.trace == Trace::Fst),
            set("VM_COVERAGE", self.has_coverage()),
        ]
    }

    /// What the model's C++ is compiled with beside what the runtime is.
    fn options(&self) -> Vec<String> {
        let mut options = Vec::from(self.abilities());
        if !self.optimised {
            options.push(SLOW_FLAG.into());
        }
        options
    }

    fn has_coverage(&self) -> bool {
        self.line_coverage || self.toggle_coverage
    }

    fn verilator(&self, tools: &Tools, cwd: &Path) -> Command {
        let mut command = Command::new(&tools.verilator);
        command
            .env("VERILATOR_ROOT", &tools.root)
            .current_dir(cwd)
            .args(["--top-module", &self.top]);
        command
    }

    /// Runs Verilator and returns its warnings.
    fn run_verilator(&self, command: &mut Command) -> Result<Vec<Warning>, Error> {
        let output = command.output().map_err(at(command.get_program()))?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let warnings = messages::warnings(&text);
        if output.status.success() {
            return Ok(warnings);
        }
        Err(Error::Verilator {
            top: self.top.clone(),
            warnings,
            output: text,
        })
    }

    /// Verilates, compiles and links into `folder`.
    fn make(
        &self,
        tools: &Tools,
        folder: &Path,
        runtime: &Path,
        headers: &Path,
    ) -> Result<(), Error> {
        let (rtl, cpp) = (folder.join("rtl"), folder.join("cpp"));
        for new in [&rtl, &cpp] {
            fs::create_dir(new).map_err(at(new))?;
        }
        self.write_sources(&rtl)?;
        let mut command = self.verilator(tools, &rtl);
        self.run_verilator(
            command
                .args(self.verilate_arguments())
                .args(self.compiled()),
        )?;

        let header_path = cpp.join("Vmodel.h");
        let header = fs::read_to_string(&header_path).map_err(at(&header_path))?;
        let mut list = String::new();
        for port in header::ports(&header)? {
            let name = port.name.escape_default(); // an escaped identifier may hold a quote or backslash
            let _ = writeln!(
                list,
                "PORT({}, \"{name}\", {}, {})",
                port.member, port.direction as u32, port.width
            );
        }
        write(&cpp.join("model_ports.h"), &list)?;
        write(&cpp.join(PRELUDE_FILE), PRELUDE)?;
        let mut shim = SHIM.to_owned();
        if self.state {
            let path = cpp.join("Vmodel__Syms.h");
            let header = fs::read_to_string(&path).map_err(at(&path))?;
            let parts = header::parts(&header).map(|part| format!("PART({part})\n"));
            write(&cpp.join("model_parts.h"), &parts.collect::<String>())?;
            shim += STATE;
        }
        write(&cpp.join("shim.cpp"), &shim)?;

        let flags = |first: &Path| {
            let mut flags = compile_flags(tools, first);
            flags.extend(self.options());
            flags
        };
        let mut plain = flags(Path::new(PRELUDE_FILE));
        let files = cpp_files(&cpp)?.into_iter();
        let (mut slow, mut fast): (Vec<_>, Vec<_>) =
            files.partition(|(_, name)| name.ends_with(SLOW));
        if slow.iter().map(|(octets, _)| octets).sum::<u64>() < SLOW_OCTETS {
            fast.append(&mut slow);
        }
        let slow = unity_files(&cpp, "slow", slow)?;
        let fast = unity_files(&cpp, "unity", fast)?;
        // The compiler refuses compiled headers when one of the system's has changed since.
        let mut objects = compile(tools, &flags(headers), &cpp, &fast)
            .or_else(|_| compile(tools, &plain, &cpp, &fast))?;
        plain.push(SLOW_FLAG.into());
        objects.extend(compile(tools, &plain, &cpp, &slow)?);

        let mut link = Command::new(&tools.compiler);
        link.current_dir(&cpp)
            .args(["-shared", "-o", "../model.so", "-Wl,-Bsymbolic"])
            .args(&objects);
        link.arg(runtime).args(["-pthread", "-latomic"]);
        if self.trace == Trace::Fst {
            link.args(["-lz", "-llz4"]);
        }
        run(&mut link)?;
        for object in objects {
            let object = cpp.join(object);
            fs::remove_file(&object).map_err(at(object))?; // no longer needed
        }
        Ok(())
    }
}

/// A compiled model in the cache, from which any number of [`Model`]s can be opened.
#[derive(Clone, Debug)]
pub struct Library {
    object: PathBuf,
    description: Build,
    built: bool,
}

impl Library {
    /// A new simulation in its initial state, with the given seed of initial values.
    ///
    /// # Errors
    /// [`Error::Load`] when the file is gone or damaged.
    pub fn open(&self, seed: u32) -> Result<Model, Error> {
        Model::load(
            &self.object,
            seed,
            self.description.trace,
            self.description.has_coverage(),
            self.description.state,
        )
    }

    /// The shared object.
    pub fn path(&self) -> &Path {
        &self.object
    }

    /// Whether this call compiled the model: `false` if it was in the cache.
    pub fn was_built(&self) -> bool {
        self.built
    }
}

/// Flags that runtime and models are compiled with; `first` is included before everything else.
fn compile_flags(tools: &Tools, first: &Path) -> Vec<String> {
    let mut flags: Vec<String> = [
        "-std=gnu++17",
        "-O2",
        "-fPIC",
        "-w", // generated code
        "-DVERILATOR=1",
        "-DVM_SC=0",
        "-DVM_TIMING=0",
        "-DVL_TIME_CONTEXT",
        // Functions that print or exit call the shim instead.
        "-DVL_USER_FINISH",
        "-DVL_USER_STOP",
        "-DVL_USER_FATAL",
        "-DVL_USER_WARN",
        "-DVL_PRINTF=warpline_printf",
        // Models in one process share no symbols, though all define the same classes.
        "-fvisibility=hidden",
        "-I.",
        "-include",
    ]
    .map(String::from)
    .into();
    flags.push(first.display().to_string());
    if !tools.compiler_is_clang() {
        flags.push("-fno-gnu-unique".into()); // else the loader merges static members across libraries
    }
    for include in ["include", "include/vltstd"] {
        flags.push(format!("-I{}", tools.root.join(include).display()));
    }
    flags
}

/// Verilator's own C++ as an archive, compiled once per tool set.
fn runtime(tools: &Tools, cache: &Path) -> Result<PathBuf, Error> {
    let flags = compile_flags(tools, Path::new(PRELUDE_FILE));
    let versions = [
        tools.verilator_version.as_str(),
        &tools.compiler_version,
        PRELUDE,
        FST_PRELUDE,
    ];
    let key = cache::key(versions.into_iter().chain(flags.iter().map(String::as_str)));
    let folder = cache.join(format!("runtime-{key}"));
    cache::once(&folder, |f| {
        // The other files of the runtime do not include the FST writer.
        write(&f.join(PRELUDE_FILE), &format!("{PRELUDE}{FST_PRELUDE}"))?;
        let files: Vec<_> = RUNTIME
            .iter()
            .map(|name| tools.root.join(format!("include/{name}.cpp")))
            .collect();
        let objects = compile(tools, &flags, f, &files)?;
        run(Command::new("ar")
            .current_dir(f)
            .arg("rcs")
            .arg("libverilated.a")
            .args(&objects))
    })?;
    Ok(folder.join("libverilated.a"))
}

/// [`PRELUDE`] and [`HEADERS`] as a header with its compiled form beside it, which the compiler takes in its place.
fn headers(tools: &Tools, cache: &Path, options: &[String]) -> Result<PathBuf, Error> {
    let runtime = tools.root.join("include/verilated.h");
    let modified = fs::metadata(&runtime).and_then(|metadata| metadata.modified());
    let modified = modified.map_err(at(&runtime))?;
    let flags = compile_flags(tools, Path::new(PRELUDE_FILE)); // with the path of Verilator's headers
    let text = format!("{PRELUDE}{HEADERS}");
    let parts = [
        tools.compiler_version.clone(),
        text.clone(),
        format!("{modified:?}"),
    ];
    let parts = parts.iter().chain(&flags).chain(options);
    let folder = cache.join(format!("headers-{}", cache::key(parts.map(String::as_str))));
    cache::once(&folder, |f| {
        write(&f.join(PRELUDE_FILE), "")?; // its text is in the header itself
        write(&f.join(HEADERS_FILE), &text)
    })?;
    // The compiled form names its header by path: it is made when the folder has its name.
    cache::once(&folder.join("compiled"), |f| {
        let ending = match tools.compiler_is_clang() {
            true => "h.pch",
            false => "h.gch",
        };
        let compiled = f.join(HEADERS_FILE).with_extension(ending);
        run(Command::new(&tools.compiler)
            .current_dir(&folder)
            .args(&flags)
            .args(options)
            .args(["-x", "c++-header", HEADERS_FILE, "-o"])
            .arg(&compiled))?;
        let beside = folder.join(HEADERS_FILE).with_extension(ending);
        fs::rename(&compiled, &beside).map_err(at(beside))
    })?;
    Ok(folder.join(HEADERS_FILE))
}

/// Suffix of files whose code runs once, at the start.
const SLOW: &str = "__Slow.cpp";

/// Flag for [`SLOW`] files. For a device that sends they are half of the text, and clang takes 1.4 s for them instead of 6.7 s with
/// `-O2`. With coverage one function there has a statement per counter: 5 s, 58 s with `-O1`, not within 150 s with `-O2`.
const SLOW_FLAG: &str = "-O0";

/// Octets of [`SLOW`] files from which on they are compiled by themselves: below, the headers cost more.
const SLOW_OCTETS: u64 = 256 << 10;

/// The generated files with their sizes.
fn cpp_files(cpp: &Path) -> Result<Vec<(u64, String)>, Error> {
    let mut files = Vec::new();
    for entry in fs::read_dir(cpp).map_err(at(cpp))? {
        let entry = entry.map_err(at(cpp))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".cpp") {
            files.push((entry.metadata().map_err(at(entry.path()))?.len(), name));
        }
    }
    Ok(files)
}

/// Groups files: one group up to this number of octets, then up to one per processor. Parsing the headers costs more than a
/// small model.
const UNIT_OCTETS: u64 = 2 << 20;

fn unity_files(
    cpp: &Path,
    stem: &str,
    mut files: Vec<(u64, String)>,
) -> Result<Vec<PathBuf>, Error> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    files.sort_by(|a, b| b.cmp(a)); // largest first, into the lightest group
    let total: u64 = files.iter().map(|(octets, _)| octets).sum();
    let count = total.div_ceil(UNIT_OCTETS).clamp(1, processors() as u64) as usize;
    let mut groups = vec![(0, String::new()); count];
    for (octets, name) in files {
        let lightest = groups
            .iter_mut()
            .min_by_key(|(weight, _)| *weight)
            .expect("count is at least 1");
        lightest.0 += octets;
        let _ = writeln!(lightest.1, "#include \"{name}\"");
    }
    let mut units = Vec::new();
    for (i, (_, text)) in groups.into_iter().enumerate() {
        let unit = PathBuf::from(format!("{stem}{i}.cc"));
        write(&cpp.join(&unit), &text)?;
        units.push(unit);
    }
    Ok(units)
}

/// Compiles `files` in `folder`, as many at once as there are processors, and returns the objects' names.
fn compile(
    tools: &Tools,
    flags: &[String],
    folder: &Path,
    files: &[PathBuf],
) -> Result<Vec<PathBuf>, Error> {
    let one = |file: &PathBuf| {
        let object = PathBuf::from(file.file_name().expect("a file")).with_extension("o");
        run(Command::new(&tools.compiler)
            .current_dir(folder)
            .args(flags)
            .arg("-c")
            .arg(file)
            .arg("-o")
            .arg(&object))?;
        Ok(object)
    };
    let one = &one;
    let share = files.len().div_ceil(processors()).max(1);
    thread::scope(|scope| {
        let workers: Vec<_> = files
            .chunks(share)
            .map(|some| {
                scope.spawn(move || some.iter().map(one).collect::<Result<Vec<_>, Error>>())
            })
            .collect();
        let mut objects = Vec::new();
        for worker in workers {
            objects.extend(worker.join().expect("workers do not panic")?);
        }
        Ok(objects)
    })
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn run(command: &mut Command) -> Result<(), Error> {
    let output = command.output().map_err(at(command.get_program()))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(Error::Compiler {
        command: format!("{command:?}"),
        output: String::from_utf8_lossy(&text).into_owned(),
    })
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(at(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the compiler takes the compiled headers in `cache` in place of the text, with the options of `build`.
    fn takes(tools: &Tools, cache: &Path, build: &Build) -> bool {
        let options = build.options();
        let mut flags = compile_flags(tools, &headers(tools, cache, &options).unwrap());
        flags.extend(options);
        flags.extend(["-Winvalid-pch".into(), "-Werror".into()]);
        write(&cache.join("empty.cc"), "").unwrap();
        compile(tools, &flags, cache, &["empty.cc".into()]).is_ok()
    }

    #[test]
    fn compiled_headers_are_taken_and_damaged_ones_refused() {
        let tools = Tools::find().unwrap();
        let part = || Build::new("part");
        for build in [part(), part().unoptimised(), part().trace(Trace::Fst)] {
            let place = tempfile::tempdir().unwrap();
            assert!(takes(&tools, place.path(), &build));
            let header = headers(&tools, place.path(), &build.options()).unwrap();
            let compiled = ["h.pch", "h.gch"].map(|ending| header.with_extension(ending));
            let compiled = compiled.iter().find(|file| file.is_file()).unwrap();
            write(compiled, "no headers").unwrap();
            assert!(!takes(&tools, place.path(), &build));
        }
    }
}
