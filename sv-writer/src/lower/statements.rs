//! Statements: assignments, conditions, cases, loops unrolled, connections of clocks and interfaces.

use super::expressions::{clog2, describe, in_range, literal, same_width};
use super::{Ast, Lowered, Name, Scope};
use crate::error::Problem;
use crate::kernel::*;
use crate::names;
use rust_hdl_core::ast::*;

impl Scope {
    pub(super) fn block(
        &mut self,
        block: &[VerilogStatement],
        out: &mut Vec<Statement>,
    ) -> Lowered<()> {
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
