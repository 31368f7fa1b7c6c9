//! From rust-hdl's syntax tree to [`Module`]: names are resolved, widths computed, loops unrolled, everything that has
//! no exact meaning refused.

use crate::collect::{AtomInfo, Node, literal_value};
use crate::error::Problem;
use crate::kernel::*;
use crate::names;
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive};
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
        let name = self.without_indices(text)?.replace(['$', '.'], "_");
        if let Some(id) = self.by_name.get(&name) {
            return Ok(Name::Signal(*id));
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

    /// `x[i+1]$d` becomes `x_3$d`.
    fn without_indices(&self, text: &str) -> Lowered<String> {
        let mut result = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('[') {
            let bad = || Problem::ArrayIndex(text.replace('$', "."));
            let (index, after) = after.split_once(']').ok_or_else(bad)?;
            let value =
                names::index_value(index, &|name| self.loop_variable(name)).ok_or_else(bad)?;
            result += &format!("{before}_{value}");
            rest = after;
        }
        Ok(result + rest)
    }

    fn name_of(&self, id: SignalId) -> String {
        self.signals[id].name.clone()
    }
}

// ---- statements

impl Scope {
    fn block(&mut self, block: &[VerilogStatement], out: &mut Vec<Statement>) -> Lowered<()> {
        block.iter().try_for_each(|s| self.statement(s, out))
    }

    fn nested(&mut self, block: &[VerilogStatement]) -> Lowered<Vec<Statement>> {
        let mut out = vec![];
        self.depth += 1;
        self.block(block, &mut out)?;
        self.depth -= 1;
        Ok(out)
    }

    fn statement(&mut self, statement: &VerilogStatement, out: &mut Vec<Statement>) -> Lowered<()> {
        match statement {
            VerilogStatement::Assignment(left, right) => self.assign(left, right, out)?,
            VerilogStatement::SliceAssignment {
                base,
                width,
                offset,
                replacement,
            } => out.push(self.assign_part(base, *width, offset, replacement)?),
            VerilogStatement::If(conditional) => self.conditional(conditional, out)?,
            VerilogStatement::Match(m) => self.case(m, out)?,
            VerilogStatement::Loop(l) => {
                for value in l.from.as_usize()..l.to.as_usize() {
                    self.loops.push((l.index.clone(), value as i128));
                    self.block(&l.block, out)?;
                    self.loops.pop();
                }
            }
            VerilogStatement::Comment(text) => out.push(Statement::Comment(comment(text))),
            VerilogStatement::Macro(block) => self.block(block, out)?,
            VerilogStatement::Link(links) => {
                for link in links {
                    let (to, from) = link_ends(link)?;
                    self.assign(&Ast::Signal(to), &Ast::Signal(from), out)?;
                }
            }
        }
        Ok(())
    }

    fn target(&self, left: &Ast) -> Lowered<SignalId> {
        let name = match left {
            Ast::Signal(name) => name,
            Ast::Paren(inner) => return self.target(inner),
            _ => return Err(Problem::Unsupported("only a signal can be assigned")),
        };
        match self.resolve(name)? {
            Name::Signal(id) if self.signals[id].role.is_driven_here() => Ok(id),
            Name::Signal(id) => Err(Problem::NotAssignable(self.name_of(id))),
            Name::Number(_) | Name::Member(_) => Err(Problem::NotAssignable(name.clone())),
        }
    }

    fn assign(&mut self, left: &Ast, right: &Ast, out: &mut Vec<Statement>) -> Lowered<()> {
        let signal = self.target(left)?;
        if self.signals[signal].clock {
            return self.connect_clock(signal, right);
        }
        let width = self.signals[signal].width;
        let value = self.value_of_width(right, width, || self.name_of(signal))?;
        out.push(Statement::Assign {
            target: Target { signal, part: None },
            value,
        });
        Ok(())
    }

    fn assign_part(
        &mut self,
        base: &Ast,
        width: usize,
        offset: &Ast,
        value: &Ast,
    ) -> Lowered<Statement> {
        let signal = self.target(base)?;
        let place = || self.name_of(signal);
        let value = self.value_of_width(value, width, place)?;
        let whole = self.signals[signal].width;
        let position = match self.position(offset, &place())? {
            Position::Constant(low) => {
                in_range(place, low, width, whole)?;
                Position::Constant(low)
            }
            Position::Dynamic(at) => Position::Dynamic(Box::new(self.resize(*at, clog2(whole)))),
        };
        let part = (width < whole).then_some((position, width));
        Ok(Statement::Assign {
            target: Target { signal, part },
            value,
        })
    }

    fn connect_clock(&mut self, to: SignalId, from: &Ast) -> Lowered<()> {
        let refused = || Problem::Clock(self.name_of(to));
        let Ast::Signal(name) = from else {
            return Err(refused());
        };
        let Name::Signal(source) = self.resolve(name)? else {
            return Err(refused());
        };
        let is_source = matches!(self.signals[source].role, Role::Input | Role::ChildOutput);
        if self.depth > 0 || !self.signals[source].clock || !is_source {
            return Err(refused());
        }
        match self.clocks.insert(to, source) {
            Some(before) if before != source => Err(Problem::Clock(self.name_of(to))),
            _ => Ok(()),
        }
    }

    fn conditional(&mut self, c: &VerilogConditional, out: &mut Vec<Statement>) -> Lowered<()> {
        let otherwise = match &c.otherwise {
            VerilogBlockOrConditional::Block(block) => block.as_slice(),
            VerilogBlockOrConditional::Conditional(statement) => std::slice::from_ref(&**statement),
            VerilogBlockOrConditional::None => &[],
        };
        // a condition made of loop variables and numbers is decided here; the other branch may not even exist
        if let Some(taken) = self.number(&c.test) {
            return self.block(if taken != 0 { &c.then } else { otherwise }, out);
        }
        out.push(Statement::If {
            test: self.value_of_width(&c.test, 1, || "if".into())?,
            then: self.nested(&c.then)?,
            otherwise: self.nested(otherwise)?,
        });
        Ok(())
    }

    fn case(&mut self, m: &VerilogMatch, out: &mut Vec<Statement>) -> Lowered<()> {
        if let Some(value) = self.number(&m.test) {
            let taken = |c: &&VerilogCase| {
                c.condition == "default" || names::number(&c.condition) == Some(value)
            };
            return match m.cases.iter().find(taken) {
                Some(case) => self.block(&case.block, out),
                None => Err(Problem::NotExhaustive(value.to_string())),
            };
        }
        let test = self.value(&m.test, None)?;
        let width = test.width(&self.signals);
        let mut arms = vec![];
        for case in &m.cases {
            arms.push((
                self.label(&case.condition, width)?,
                self.nested(&case.block)?,
            ));
            if case.condition == "default" {
                break; // Rust never reaches what follows
            }
        }
        let open = !matches!(arms.last(), Some((Label::Default, _)));
        if open {
            // the codes an enum does not use go with its last member, so that no path is left open
            let labels: Vec<&str> = m.cases.iter().map(|case| case.condition.as_str()).collect();
            let last = arms.last_mut().filter(|_| self.is_exhaustive(&labels));
            match last {
                Some((label, _)) => {
                    if let Label::Value(value) = label.clone() {
                        *label = Label::Last(value);
                    }
                }
                None => return Err(Problem::NotExhaustive(describe(&m.test))),
            }
        }
        out.push(Statement::Case { test, arms });
        Ok(())
    }

    fn label(&self, condition: &str, width: usize) -> Lowered<Label> {
        let value = match condition {
            "default" => return Ok(Label::Default),
            "true" => literal(1, 1)?,
            "false" => literal(0, 1)?,
            text => match names::number(text) {
                Some(value) => literal(value, width)?,
                None => match self.resolve(text)? {
                    Name::Member(member) => member,
                    Name::Signal(_) | Name::Number(_) => {
                        return Err(Problem::UnknownName(text.into()));
                    }
                },
            },
        };
        same_width("match", width, value.width(&self.signals))?;
        Ok(Label::Value(value))
    }

    fn is_exhaustive(&self, labels: &[&str]) -> bool {
        if labels.contains(&"true") && labels.contains(&"false") {
            return true;
        }
        let tail = |label: &str| {
            let label = label.replace("::", "$");
            let mut segments = label.rsplit('$').map(str::to_string);
            let member = segments.next().unwrap_or_default();
            (segments.next().unwrap_or_default(), member)
        };
        let Some((of, _)) = labels.first().map(|label| tail(label)) else {
            return false;
        };
        let named: Vec<_> = labels.iter().map(|label| tail(label)).collect();
        let mut members = self
            .members
            .keys()
            .filter_map(|m| m.split_once("::"))
            .filter(|(o, _)| *o == of);
        !of.is_empty() && members.all(|(o, m)| named.contains(&(o.into(), m.into())))
    }
}

/// The text of a comment; rust-hdl leaves the opening of the macro call in it, and line breaks.
fn comment(text: &str) -> String {
    let text = text.split_once("(\"").map_or(text, |(_, text)| text);
    let text = text.strip_suffix("\")").unwrap_or(text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn link_ends(link: &VerilogLink) -> Lowered<(String, String)> {
    let port = |owner: &str, details: &VerilogLinkDetails| {
        format!("{owner}${}", details.my_name.trim_start_matches('.'))
    };
    let ends = |details: &VerilogLinkDetails| {
        if details.my_name.is_empty() {
            (details.owner_name.clone(), details.other_name.clone())
        } else {
            (
                port(&details.owner_name, details),
                port(&details.other_name, details),
            )
        }
    };
    match link {
        VerilogLink::Forward(details) => {
            let (owner, other) = ends(details);
            Ok((other, owner))
        }
        VerilogLink::Backward(details) => Ok(ends(details)),
        VerilogLink::Bidirectional(details) => Err(Problem::InOut(ends(details).0)),
    }
}

// ---- expressions

impl Scope {
    /// Value of an expression over loop variables and numbers, as Rust computes it while unrolling.
    fn number(&self, e: &Ast) -> Option<i128> {
        match e {
            Ast::Literal(literal) => literal_value(literal).to_i128(),
            Ast::Signal(name) => self.loop_variable(name),
            Ast::Paren(inner) => self.number(inner),
            Ast::Binary(left, op, right) => {
                let (a, b) = (self.number(left)?, self.number(right)?);
                let truth = |x: bool| Some(i128::from(x));
                match op {
                    VerilogOp::Add => a.checked_add(b),
                    VerilogOp::Sub => a.checked_sub(b),
                    VerilogOp::Mul => a.checked_mul(b),
                    VerilogOp::Shl => a.checked_shl(b.to_u32()?),
                    VerilogOp::Shr => a.checked_shr(b.to_u32()?),
                    VerilogOp::BitAnd => Some(a & b),
                    VerilogOp::BitOr => Some(a | b),
                    VerilogOp::BitXor => Some(a ^ b),
                    VerilogOp::LogicalAnd => truth(a != 0 && b != 0),
                    VerilogOp::LogicalOr => truth(a != 0 || b != 0),
                    VerilogOp::Eq => truth(a == b),
                    VerilogOp::Ne => truth(a != b),
                    VerilogOp::Lt => truth(a < b),
                    VerilogOp::Le => truth(a <= b),
                    VerilogOp::Gt => truth(a > b),
                    VerilogOp::Ge => truth(a >= b),
                }
            }
            _ => None,
        }
    }

    /// Width of an expression; `None` for numbers, which take the width of their place.
    fn width(&self, e: &Ast) -> Lowered<Option<usize>> {
        Ok(match e {
            Ast::Literal(literal) => literal.to_string().starts_with("1'").then_some(1),
            Ast::Signal(name) => match self.resolve(name)? {
                Name::Signal(id) => Some(self.signals[id].width),
                Name::Number(_) => None,
                Name::Member(member) => Some(member.width(&self.signals)),
            },
            Ast::Cast(_, width) | Ast::Slice(_, width, _) => Some(*width),
            Ast::Signed(e) | Ast::Unsigned(e) | Ast::Paren(e) => self.width(e)?,
            Ast::Index(..) => Some(1),
            Ast::IndexReplace(e, ..) => self.width(e)?,
            Ast::Unary(VerilogOpUnary::Not | VerilogOpUnary::Neg, e) => self.width(e)?,
            Ast::Unary(..) => Some(1),
            Ast::Binary(left, op, right) => match op {
                // Rust: u64 << Bits<N> is Bits<64>
                VerilogOp::Shl | VerilogOp::Shr if self.number(e).is_none() => {
                    self.width(left)?.or(Some(64))
                }
                VerilogOp::Add
                | VerilogOp::Sub
                | VerilogOp::Mul
                | VerilogOp::BitAnd
                | VerilogOp::BitOr
                | VerilogOp::BitXor
                | VerilogOp::Shl
                | VerilogOp::Shr => self.width(left)?.or(self.width(right)?),
                _ => Some(1),
            },
        })
    }

    fn value_of_width(&self, e: &Ast, width: usize, place: impl Fn() -> String) -> Lowered<Expr> {
        let value = self.value(e, Some(width))?;
        same_width(&place(), width, value.width(&self.signals))?;
        Ok(value)
    }

    fn value(&self, e: &Ast, wanted: Option<usize>) -> Lowered<Expr> {
        if let Some(number) = self.number(e) {
            return match self.width(e)?.or(wanted) {
                Some(width) => literal(number, width),
                None => Err(Problem::WidthUnknown(number.to_string())),
            };
        }
        match e {
            Ast::Signal(name) => self.named_value(name),
            Ast::Literal(value) => match wanted {
                Some(width) => big_literal(literal_value(value), width),
                None => Err(Problem::WidthUnknown(value.to_string())),
            },
            Ast::Paren(inner) => self.value(inner, wanted),
            Ast::Signed(_) | Ast::Unsigned(_) => Err(Problem::Signed(describe(e))),
            Ast::Cast(inner, width) => {
                let value = self.value(inner, Some(*width))?;
                Ok(self.resize(value, *width))
            }
            Ast::Index(of, at) => self.slice(of, 1, at, Reach::Inside),
            Ast::Slice(of, width, at) => self.slice(of, *width, at, Reach::OverTheTop),
            Ast::IndexReplace(of, at, bit) => self.replace_bit(of, at, bit, wanted),
            Ast::Unary(op, inner) => {
                let op = match op {
                    VerilogOpUnary::Not => UnaryOp::Not,
                    VerilogOpUnary::All => UnaryOp::All,
                    VerilogOpUnary::Any => UnaryOp::Any,
                    VerilogOpUnary::Xor => UnaryOp::Xor,
                    VerilogOpUnary::Neg => return Err(Problem::Operator("unary -")),
                };
                let wanted = wanted.filter(|_| op == UnaryOp::Not);
                Ok(Expr::Unary(op, Box::new(self.value(inner, wanted)?)))
            }
            Ast::Binary(left, op, right) => self.binary(left, op, right, wanted),
        }
    }

    fn named_value(&self, name: &str) -> Lowered<Expr> {
        match self.resolve(name)? {
            Name::Signal(id) if self.signals[id].clock => Err(Problem::Clock(self.name_of(id))),
            Name::Signal(id) => Ok(Expr::Signal(id)),
            Name::Member(member) => Ok(member),
            Name::Number(value) => Err(Problem::WidthUnknown(value.to_string())),
        }
    }

    fn binary(
        &self,
        left: &Ast,
        op: &VerilogOp,
        right: &Ast,
        wanted: Option<usize>,
    ) -> Lowered<Expr> {
        let op = match op {
            VerilogOp::Shl => return self.shift(true, left, right),
            VerilogOp::Shr => return self.shift(false, left, right),
            VerilogOp::Mul => return Err(Problem::Operator("*")),
            VerilogOp::Add => BinaryOp::Add,
            VerilogOp::Sub => BinaryOp::Sub,
            VerilogOp::BitAnd => BinaryOp::And,
            VerilogOp::BitOr => BinaryOp::Or,
            VerilogOp::BitXor => BinaryOp::Xor,
            VerilogOp::LogicalAnd => BinaryOp::LogicalAnd,
            VerilogOp::LogicalOr => BinaryOp::LogicalOr,
            VerilogOp::Eq => BinaryOp::Eq,
            VerilogOp::Ne => BinaryOp::Ne,
            VerilogOp::Lt => BinaryOp::Lt,
            VerilogOp::Le => BinaryOp::Le,
            VerilogOp::Gt => BinaryOp::Gt,
            VerilogOp::Ge => BinaryOp::Ge,
        };
        let (left_width, right_width) = (self.width(left)?, self.width(right)?);
        let common = left_width
            .or(right_width)
            .or(wanted.filter(|_| op.keeps_width()));
        let left = self.value(left, common)?;
        let mut right = self.value(right, common)?;
        let (a, b) = (left.width(&self.signals), right.width(&self.signals));
        if op == BinaryOp::Add && b == 1 {
            right = self.resize(right, a); // Rust: Bits<N> + bool
        } else {
            same_width(op.symbol(), a, b)?;
        }
        if matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr) {
            same_width(op.symbol(), 1, a)?;
        }
        Ok(Expr::Binary(op, Box::new(left), Box::new(right)))
    }

    fn shift(&self, left: bool, value: &Ast, by: &Ast) -> Lowered<Expr> {
        let by = match self.number(by) {
            Some(number) => Position::Constant(distance(number)?),
            None => Position::Dynamic(Box::new(self.value(by, None)?)),
        };
        Ok(Expr::Shift {
            left,
            value: Box::new(self.value(value, Some(64))?),
            by,
        })
    }

    /// Where an index points. Arithmetic is refused: Rust may do it after `.index()`, in 64 bits.
    fn position(&self, at: &Ast, of: &str) -> Lowered<Position> {
        if let Some(number) = self.number(at) {
            return Ok(Position::Constant(distance(number)?));
        }
        let mut bare = at;
        while let Ast::Paren(inner) = bare {
            bare = inner;
        }
        if matches!(bare, Ast::Binary(..) | Ast::Unary(..)) {
            self.width(bare)?; // unknown names are worse
            return Err(Problem::IndexArithmetic(of.into()));
        }
        let value = self.value(bare, None)?;
        let constant = match &value {
            Expr::Literal { value, .. } => value.to_usize(),
            Expr::Signal(id) => match &self.signals[*id].role {
                Role::Constant(value) => value.to_usize(),
                _ => None,
            },
            _ => None,
        };
        Ok(match constant {
            Some(at) => Position::Constant(at),
            None => Position::Dynamic(Box::new(value)),
        })
    }

    fn slice(&self, of: &Ast, width: usize, at: &Ast, reach: Reach) -> Lowered<Expr> {
        let name = describe(of);
        let value = self.value(of, None)?;
        let whole = value.width(&self.signals);
        match self.position(at, &name)? {
            Position::Constant(low) => {
                in_range(|| name, low, width, whole)?;
                Ok(self.constant_slice(value, low, width))
            }
            Position::Dynamic(at) => Ok(self.dynamic_slice(value, *at, width, reach)),
        }
    }

    fn constant_slice(&self, value: Expr, low: usize, width: usize) -> Expr {
        if low == 0 && width == value.width(&self.signals) {
            return value;
        }
        match value {
            Expr::Signal(of) => Expr::Slice { of, low, width },
            Expr::Slice { of, low: below, .. } => Expr::Slice {
                of,
                low: below + low,
                width,
            },
            Expr::Literal { value, .. } => Expr::Literal {
                value: (value >> low) & mask(width),
                width,
            },
            value if low == 0 => Expr::Resize {
                value: Box::new(value),
                width,
            },
            value => Expr::Resize {
                value: Box::new(Expr::Shift {
                    left: false,
                    value: Box::new(value),
                    by: Position::Constant(low),
                }),
                width,
            },
        }
    }

    fn dynamic_slice(&self, value: Expr, at: Expr, width: usize, reach: Reach) -> Expr {
        let whole = value.width(&self.signals);
        let bits = at.width(&self.signals);
        let inside = match reach {
            Reach::Inside => true,
            Reach::OverTheTop => bits < 32 && (1 << bits) - 1 + width <= whole,
        };
        match value {
            Expr::Signal(_) if inside && whole == 1 => value,
            Expr::Signal(of) if inside => Expr::Part {
                of,
                low: Box::new(self.resize(at, clog2(whole))),
                width,
            },
            value => {
                let shifted = Expr::Shift {
                    left: false,
                    value: Box::new(value),
                    by: Position::Dynamic(Box::new(at)),
                };
                self.resize(shifted, width)
            }
        }
    }

    fn replace_bit(&self, of: &Ast, at: &Ast, bit: &Ast, wanted: Option<usize>) -> Lowered<Expr> {
        let value = self.value(of, wanted)?;
        let width = value.width(&self.signals);
        let bit = self.value_of_width(bit, 1, || "replace_bit".into())?;
        let position = self.position(at, &describe(of))?;
        match (&value, &position) {
            (_, Position::Constant(low)) if *low >= width => {
                in_range(|| describe(of), *low, 1, width)?;
                Ok(value)
            }
            (_, _) if width == 1 => Ok(bit),
            (Expr::Signal(_), Position::Constant(low)) => {
                let above = (*low + 1 < width)
                    .then(|| self.constant_slice(value.clone(), low + 1, width - low - 1));
                let below = (*low > 0).then(|| self.constant_slice(value.clone(), 0, *low));
                let parts = above.into_iter().chain([bit]).chain(below);
                Ok(Expr::Concat(parts.collect()))
            }
            _ => {
                let one = Expr::Literal {
                    value: BigUint::one(),
                    width,
                };
                let at_position = |value: Expr| Expr::Shift {
                    left: true,
                    value: Box::new(value),
                    by: position.clone(),
                };
                let hole = Expr::Unary(UnaryOp::Not, Box::new(at_position(one)));
                let cleared = Expr::Binary(BinaryOp::And, Box::new(value.clone()), Box::new(hole));
                let set = at_position(self.resize(bit, width));
                Ok(Expr::Binary(BinaryOp::Or, Box::new(cleared), Box::new(set)))
            }
        }
    }

    fn resize(&self, value: Expr, width: usize) -> Expr {
        if width <= value.width(&self.signals) {
            return self.constant_slice(value, 0, width);
        }
        match value {
            Expr::Literal { value, .. } => Expr::Literal { value, width },
            value => Expr::Resize {
                value: Box::new(value),
                width,
            },
        }
    }
}

// ---- small helpers

fn clog2(n: usize) -> usize {
    rust_hdl_core::prelude::clog2(n).max(1)
}

fn mask(width: usize) -> BigUint {
    (BigUint::one() << width) - BigUint::one()
}

fn literal(value: i128, width: usize) -> Lowered<Expr> {
    let too_big = || Problem::DoesNotFit {
        value: value.to_string(),
        bits: width,
    };
    big_literal(BigUint::try_from(value).map_err(|_| too_big())?, width)
}

fn big_literal(value: BigUint, width: usize) -> Lowered<Expr> {
    if value.bits() > width as u64 {
        return Err(Problem::DoesNotFit {
            value: value.to_string(),
            bits: width,
        });
    }
    Ok(Expr::Literal { value, width })
}

fn distance(number: i128) -> Lowered<usize> {
    usize::try_from(number).map_err(|_| Problem::DoesNotFit {
        value: number.to_string(),
        bits: usize::BITS as usize,
    })
}

fn same_width(place: &str, left: usize, right: usize) -> Lowered<()> {
    if left == right {
        return Ok(());
    }
    Err(Problem::WidthMismatch {
        place: place.into(),
        left,
        right,
    })
}

fn in_range(name: impl FnOnce() -> String, low: usize, width: usize, whole: usize) -> Lowered<()> {
    if width > 0 && low.saturating_add(width) <= whole {
        return Ok(());
    }
    Err(Problem::OutOfRange {
        name: name(),
        high: low.saturating_add(width).saturating_sub(1),
        low,
        width: whole,
    })
}

/// An expression in a message.
fn describe(e: &Ast) -> String {
    match e {
        Ast::Signal(name) => name.replace('$', "."),
        Ast::Paren(inner) => describe(inner),
        _ => "an expression".into(),
    }
}
