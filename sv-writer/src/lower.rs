//! From rust-hdl's syntax tree to [`Module`]: names are resolved, widths computed, loops unrolled, everything that has
//! no exact meaning refused.
//!
//! Here: modules, declarations, names and clocks. What a kernel says is in `statements` and `expressions`.

mod expressions;
mod statements;

use crate::collect::{AtomInfo, Node};
use crate::error::Problem;
use crate::kernel::*;
use crate::names;
use num_bigint::BigUint;
use rust_hdl_core::ast::*;
use rust_hdl_core::prelude::AtomKind;
use std::collections::{BTreeMap, HashMap};

type Lowered<T> = Result<T, Problem>;
type Ast = VerilogExpression;

/// Turns a collected node into a module; its children are only looked at for their ports.
pub fn lower(node: &Node) -> Lowered<Module> {
    let mut scope = Scope::default();
    for atom in &node.atoms {
        scope.declare(&atom.name, atom, own_role(atom))?;
        scope.learn_enums(atom)?;
    }
    let children = node
        .children
        .iter()
        .enumerate()
        .map(|(index, child)| scope.declare_child(index, child))
        .collect::<Lowered<Vec<_>>>()?;
    scope.check_member_names()?;
    let body = match &node.code {
        Verilog::Combinatorial(block) => {
            let mut statements = scope.hold(&children, node);
            scope.block(block, &mut statements)?;
            scope.clock(&children, node);
            Body::Kernel(statements)
        }
        Verilog::Custom(_) if !children.is_empty() => {
            return Err(Problem::Unsupported(
                "a block with text of its own cannot have sub-blocks",
            ));
        }
        Verilog::Custom(text) => Body::Text(text.clone()),
        Verilog::Empty => {
            return Err(Problem::Unsupported(
                "the block has neither #[hdl_gen] nor text",
            ));
        }
        Verilog::Wrapper(_) | Verilog::Blackbox(_) => {
            return Err(Problem::Unsupported(
                "Wrapper and Blackbox are not supported; instantiate the core in the text of a Custom block",
            ));
        }
    };
    match body {
        Body::Kernel(_) => scope.check_clocks()?,
        // written for bits, whatever they mean
        Body::Text(_) => scope.signals.iter_mut().for_each(|s| s.record = None),
    }
    Ok(Module {
        path: node.path.clone(),
        signals: scope.signals,
        children,
        clocks: scope.clocks,
        body,
    })
}

fn own_role(atom: &AtomInfo) -> Role {
    match atom.kind {
        AtomKind::InputParameter => Role::Input,
        AtomKind::Constant => Role::Constant(atom.value.clone()),
        AtomKind::LocalSignal => Role::Local,
        _ => Role::Output,
    }
}

/// What a name in a kernel stands for.
enum Name {
    Signal(SignalId),
    Number(i128),
    Member(Expr),
}

/// Where a slice at a run-time position may lie. rust-hdl stops at a bit beyond the top, but reads zeros there with
/// `get_bits`.
#[derive(Clone, Copy, PartialEq)]
enum Reach {
    Inside,
    OverTheTop,
}

#[derive(Default)]
struct Scope {
    signals: Vec<Signal>,
    by_name: HashMap<String, SignalId>,
    /// `State::Idle` to value and width.
    members: BTreeMap<String, (usize, usize)>,
    loops: Vec<(String, i128)>,
    clocks: BTreeMap<SignalId, SignalId>,
    /// Conditions around the statement at hand.
    depth: usize,
}

// ---- declarations

impl Scope {
    fn declare(&mut self, name: &str, atom: &AtomInfo, role: Role) -> Lowered<SignalId> {
        names::check(name)?;
        if name == names::SINK {
            return Err(Problem::NameTaken(name.into()));
        }
        let id = self.signals.len();
        if self.by_name.insert(name.into(), id).is_some() {
            return Err(Problem::NameTaken(name.into()));
        }
        let doc = match role {
            Role::ChildInput | Role::ChildOutput => vec![], // said where the sub-block is written
            _ => atom.doc.clone(),
        };
        self.signals.push(Signal {
            name: name.into(),
            width: atom.width,
            role,
            clock: atom.clock,
            record: atom.record.clone(),
            doc,
        });
        Ok(id)
    }

    fn declare_child(&mut self, index: usize, child: &Node) -> Lowered<Child> {
        names::check(&child.name)?;
        if self.by_name.contains_key(&child.name) {
            return Err(Problem::NameTaken(child.name.clone()));
        }
        let mut ports = vec![];
        for atom in child.ports() {
            let role = match atom.kind {
                AtomKind::InputParameter => Role::ChildInput,
                _ => Role::ChildOutput,
            };
            let id = self.declare(&format!("{}_{}", child.name, atom.name), atom, role)?;
            self.learn_enums(atom)?;
            ports.push((atom.name.clone(), id));
        }
        Ok(match (child.power_up(), ports.as_slice()) {
            (Some(power_up), [(_, d), (_, q), (_, clock)]) => {
                self.signals[*d].doc.clone_from(&child.field_doc);
                Child::FlipFlop {
                    d: *d,
                    q: *q,
                    clock: *clock,
                    power_up,
                }
            }
            _ => Child::Instance {
                name: child.name.clone(),
                node: index,
                ports,
                doc: child.field_doc.clone(),
            },
        })
    }

    fn learn_enums(&mut self, atom: &AtomInfo) -> Lowered<()> {
        for info in &atom.enums {
            for (value, member) in info.members.iter().enumerate() {
                let known = self.members.insert(member.clone(), (value, info.width));
                if known.is_some_and(|known| known != (value, info.width)) {
                    return Err(Problem::EnumClash(member.clone()));
                }
            }
        }
        Ok(())
    }

    /// Enum members become constants beside the signals.
    fn check_member_names(&self) -> Lowered<()> {
        for member in self.members.keys() {
            let name = member.replace("::", "_");
            names::check(&name)?;
            if self.by_name.contains_key(&name) {
                return Err(Problem::NameTaken(name));
            }
        }
        Ok(())
    }

    fn check_clocks(&self) -> Lowered<()> {
        for (id, signal) in self.signals.iter().enumerate().filter(|(_, s)| s.clock) {
            match signal.role {
                Role::ChildInput | Role::Output if !self.clocks.contains_key(&id) => {
                    return Err(Problem::NoClock(signal.name.clone()));
                }
                Role::Local | Role::Constant(_) => return Err(Problem::Clock(signal.name.clone())),
                _ => {}
            }
        }
        Ok(())
    }
}

// ---- what the derive does for fields with a clock

impl Scope {
    /// Registers hold what they have, unless the kernel says otherwise.
    fn hold(&self, children: &[Child], node: &Node) -> Vec<Statement> {
        let clocked = children.iter().zip(&node.children);
        let held = clocked.filter_map(|(child, node)| match child {
            Child::FlipFlop { d, q, .. } if node.clock.is_some() => Some(Statement::Assign {
                target: Target {
                    signal: *d,
                    part: None,
                },
                value: Expr::Signal(*q),
            }),
            _ => None,
        });
        held.collect()
    }

    /// They, and blocks, have the clock of their owner, unless the kernel gives them another one.
    fn clock(&mut self, children: &[Child], node: &Node) {
        for (child, node) in children.iter().zip(&node.children) {
            let source = node.clock.as_ref().and_then(|name| self.by_name.get(name));
            let clock = match child {
                Child::FlipFlop { clock, .. } => Some(*clock),
                Child::Instance { ports, .. } => {
                    let is_clock = |id: &SignalId| {
                        self.signals[*id].clock && self.signals[*id].role == Role::ChildInput
                    };
                    let mut clocks = ports.iter().map(|(_, id)| *id).filter(is_clock);
                    clocks.next().filter(|_| clocks.next().is_none())
                }
            };
            if let (Some(source), Some(clock)) = (source, clock) {
                self.clocks.entry(clock).or_insert(*source);
            }
        }
    }
}

// ---- names

impl Scope {
    fn resolve(&self, raw: &str) -> Lowered<Name> {
        let text = raw.trim_start_matches('.').replace("::", "$");
        let text = text.strip_suffix("$next").unwrap_or(&text);
        if let Some(value) = self.loop_variable(text) {
            return Ok(Name::Number(value));
        }
        let names = self.without_indices(text)?;
        let names = names.iter().map(|name| name.replace(['$', '.'], "_"));
        let mut known = names.filter(|name| self.by_name.contains_key(name));
        if let Some(name) = known.next() {
            return match known.next() {
                Some(other) => Err(Problem::NameTaken(other)),
                None => Ok(Name::Signal(self.by_name[&name])),
            };
        }
        let mut segments = text.rsplit('$');
        if let (Some(member), Some(of)) = (segments.next(), segments.next())
            && let Some((value, width)) = self.members.get(&format!("{of}::{member}"))
        {
            return Ok(Name::Member(Expr::Member {
                name: format!("{of}_{member}"),
                value: BigUint::from(*value),
                width: *width,
            }));
        }
        Err(if text.contains("val()") {
            Problem::NestedField(text.replace('$', "."))
        } else {
            Problem::UnknownName(text.replace('$', "."))
        })
    }

    fn loop_variable(&self, name: &str) -> Option<i128> {
        let mut innermost_first = self.loops.iter().rev();
        innermost_first.find(|(n, _)| n == name).map(|(_, v)| *v)
    }

    /// `x[i+1]$d` becomes `x_3$d`. `x[0]$d` may be `x$d`, too: that of an [`Optional`](crate::Optional).
    fn without_indices(&self, text: &str) -> Lowered<Vec<String>> {
        let mut results = vec![String::new()];
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('[') {
            let bad = || Problem::ArrayIndex(text.replace('$', "."));
            let (index, after) = after.split_once(']').ok_or_else(bad)?;
            let value =
                names::index_value(index, &|name| self.loop_variable(name)).ok_or_else(bad)?;
            let bare = results
                .iter()
                .filter(|_| value == 0)
                .map(|r| format!("{r}{before}"));
            let indexed = results.iter().map(|r| format!("{r}{before}_{value}"));
            results = indexed.chain(bare).collect();
            rest = after;
        }
        Ok(results
            .iter()
            .map(|result| format!("{result}{rest}"))
            .collect())
    }

    fn name_of(&self, id: SignalId) -> String {
        self.signals[id].name.clone()
    }
}
