//! Exact SystemVerilog from rust-hdl blocks.
//!
//! ```text
//!   Block ──Probe──► collect ──► lower ──► check ──► print ──► Design
//!                    tree of     names,    latches,  text
//!                    blocks      widths    order     equal modules once
//! ```
//!
//! rust-hdl's own generator loses parentheses and carries; this one computes every width and refuses what has no exact
//! meaning. Each module is an `always_comb` for what is assigned more than once or under a condition, `assign` for the
//! rest, and one clocked `always` per clock for its [`Dff`]s. A `LogicStruct` is a packed structure of the
//! design's package. The text is legal IEEE 1800, free of warnings of
//! Verilator and slang, the same on every run, and names ports as AXI does: `s_axis.tdata` is `s_axis_tdata`. What the Rust
//! source documents, with [`Block`](macro@Block) derived, stands in the text as comments.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod check;
pub mod clocked;
mod collect;
mod constant;
pub mod dff;
mod doc;
mod error;
mod kernel;
mod lower;
mod names;
mod optional;
mod print;
mod record;
mod schedule;
mod stack;

pub use clocked::Clocked;
pub use constant::{ConstantValue, constant, constants};
pub use dff::Dff;
pub use error::{Problem, WriteError};
#[doc(hidden)] // for the derive
pub use inventory;
pub use optional::Optional;
pub use print::{COMBINATIONAL, Faults};
pub use record::RecordDoc;
pub use stack::on_large_stack;
pub use warpline_sv_writer_derive::{Block, Record};

use collect::Node;
use kernel::Body;
use record::Records;
use rust_hdl_core::prelude::{AtomKind, Block};
use std::collections::HashMap;
use std::io;
use std::path::Path;

/// One SystemVerilog module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Module name.
    pub name: String,
    /// Its whole text, from the header comment to `endmodule`.
    pub text: String,
}

/// Direction of a port of the top module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Driven from outside.
    Input,
    /// Driven by the block.
    Output,
}

/// One port of the top module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Name, such as `s_axis_tdata`.
    pub name: String,
    /// Direction.
    pub direction: Direction,
    /// Bits, at least 1.
    pub width: usize,
    /// Whether it is a clock.
    pub clock: bool,
}

/// A written block: its modules, and the ports of the top one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Design {
    /// The package of the records that modules name, `<top>_types`; none without records.
    pub package: Option<Module>,
    /// Modules, each after those it instantiates; the top is the last.
    pub modules: Vec<Module>,
    /// Ports of the top module, in declaration order.
    pub ports: Vec<Port>,
}

impl Design {
    /// The package and all modules in one text.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.parts().map(|part| part.text.as_str()).collect();
        texts.join("\n")
    }

    /// The package and all modules, in compile order.
    pub fn parts(&self) -> impl Iterator<Item = &Module> {
        self.package.iter().chain(&self.modules)
    }

    /// The same design with `header` as the first lines of each module's text, as comments: what made it, its licence, its
    /// configuration.
    #[must_use]
    pub fn headed(mut self, header: &str) -> Self {
        let lines: String = header.lines().map(|line| format!("// {line}\n")).collect();
        for module in self.package.iter_mut().chain(&mut self.modules) {
            module.text.insert_str(0, &lines);
        }
        self
    }

    /// Name of the top module; empty when there is none.
    #[must_use]
    pub fn top(&self) -> &str {
        self.modules.last().map_or("", |module| &module.name)
    }

    /// One file for the package and for each module, in compile order.
    #[must_use]
    pub fn sources(&self) -> Vec<(String, String)> {
        self.parts()
            .map(|module| (format!("{}.sv", module.name), module.text.clone()))
            .collect()
    }

    /// [`sources`](Self::sources), and `<top>.f`, the list of them.
    pub fn files(&self) -> Vec<(String, String)> {
        let mut files = self.sources();
        if !files.is_empty() {
            let list = files.iter().map(|(name, _)| format!("{name}\n")).collect();
            files.push((format!("{}.f", self.top()), list));
        }
        files
    }

    /// Writes [`files`](Self::files) into `folder`, which must exist.
    ///
    /// # Errors
    /// Those of writing a file.
    pub fn write_to(&self, folder: &Path) -> io::Result<()> {
        let mut files = self.files().into_iter();
        files.try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
    }
}

/// What a tool reads of a SystemVerilog text: without comments that begin with `//`, blank lines and indentation. Records of
/// runs are keyed by it, so that a better comment voids nothing. The text must have no `//` in a string; the writer puts none
/// there.
#[must_use]
pub fn code(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| line.split_once("//").map_or(line, |(code, _)| code).trim());
    let lines = lines.filter(|line| !line.is_empty());
    lines.map(|line| format!("{line}\n")).collect()
}

/// Writes `block` and everything below it; the top module is called `top`, the others `<top>_<instance path>`.
///
/// # Errors
/// [`WriteError`] when something in a kernel has no exact SystemVerilog; see [`Problem`] for the list.
pub fn write<B: Block>(block: &B, top: &str) -> Result<Design, WriteError> {
    write_with_faults(block, top, Faults::default())
}

/// [`write`] with planted mistakes, for tests of tests.
///
/// # Errors
/// As [`write`].
#[doc(hidden)]
pub fn write_with_faults<B: Block>(
    block: &B,
    top: &str,
    faults: Faults,
) -> Result<Design, WriteError> {
    let refuse = |problem| WriteError {
        module: top.into(),
        problem,
    };
    names::check(top).map_err(refuse)?;
    let root = collect::collect(block, top)?;
    let mut writer = Writer {
        faults,
        ..Default::default()
    };
    let types = format!("{top}_types");
    writer.types.clone_from(&types);
    writer.module(&root, top)?;
    let package = writer.records.package(&types);
    Ok(Design {
        package: package.map(|text| Module { name: types, text }),
        modules: writer.finish(),
        ports: ports(&root),
    })
}

fn ports(node: &Node) -> Vec<Port> {
    let port = |atom: &collect::AtomInfo| Port {
        name: atom.name.clone(),
        direction: match atom.kind {
            AtomKind::InputParameter => Direction::Input,
            _ => Direction::Output,
        },
        width: atom.width,
        clock: atom.clock,
    };
    node.ports().map(port).collect()
}

/// Modules written so far; equal ones are kept once, under the name of the first.
#[derive(Default)]
struct Writer {
    faults: Faults,
    /// Name of the package.
    types: String,
    records: Records,
    by_body: HashMap<String, usize>,
    written: Vec<Written>,
}

struct Written {
    name: String,
    /// With what the source says of its fields.
    body: String,
    doc: Vec<String>,
    /// Paths of all instances.
    paths: Vec<String>,
}

impl Writer {
    /// Writes `node` and what is below it, and returns the name of its module.
    fn module(&mut self, node: &Node, name: &str) -> Result<String, WriteError> {
        let mut child_modules = vec![];
        for child in &node.children {
            child_modules.push(match child.power_up() {
                Some(_) => String::new(), // written inline
                None => self.module(child, &format!("{name}_{}", child.name))?,
            });
        }
        let refuse = |problem| WriteError {
            module: node.path.clone(),
            problem,
        };
        let mut module = lower::lower(node).map_err(refuse)?;
        check::check(&module).map_err(refuse)?;
        if let Body::Kernel(statements) = &mut module.body {
            *statements = schedule::without_dead_assignments(std::mem::take(statements));
        }
        let records = module.signals.iter().filter_map(|s| s.record.as_ref());
        for record in records {
            self.records.add(record).map_err(refuse)?;
        }
        let style = |documented| print::Style {
            faults: self.faults,
            types: &self.types,
            documented,
        };
        let body = print::body(&module, &child_modules, style(false));
        if let Some(index) = self.by_body.get(&body) {
            let twin = &mut self.written[*index];
            twin.paths.push(module.path);
            return Ok(twin.name.clone());
        }
        if name == self.types || self.written.iter().any(|written| written.name == name) {
            return Err(refuse(Problem::NameTaken(name.into())));
        }
        let documented = print::body(&module, &child_modules, style(true));
        self.by_body.insert(body, self.written.len());
        self.written.push(Written {
            name: name.into(),
            body: documented,
            doc: node.doc.clone(),
            paths: vec![module.path],
        });
        Ok(name.into())
    }

    fn finish(self) -> Vec<Module> {
        let module = |written: Written| {
            let Written {
                name,
                body,
                doc,
                paths,
            } = written;
            let more = match paths.len() {
                1 => String::new(),
                n => format!(" and {} more", n - 1),
            };
            let apart = (!doc.is_empty()).then(String::new);
            let doc: String = apart
                .iter()
                .chain(&doc)
                .map(|line| format!("{}\n", format!("// {line}").trim_end()))
                .collect();
            let macros = match body.contains(print::COMBINATIONAL) {
                true => print::COMBINATIONAL_MACRO,
                false => "",
            };
            let place = &paths[0];
            Module {
                text: format!(
                    "// Instance: {place}{more}\n{doc}{macros}module {name} (\n{body}endmodule\n"
                ),
                name,
            }
        };
        self.written.into_iter().map(module).collect()
    }
}

/// A line of comment for the written text, above the statement that follows; nothing in simulation.
#[macro_export]
macro_rules! comment {
    ($text:literal) => {};
}
