//! Kernels of random trees: one output for each expression, or programs of assignments, `if` and `match`.

use std::rc::Rc;

use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};
use rust_hdl_core::ast::{
    VerilogBlockOrConditional, VerilogCase, VerilogConditional, VerilogExpression as Ast,
    VerilogMatch, VerilogStatement,
};
use rust_hdl_core::prelude::*;

use crate::arithmetic::mask;
use crate::support::{Atomic, Kernel};
use crate::trees::{Generator, Values, number};

/// A kernel, and what its outputs should be for given inputs.
pub struct Sample {
    pub kernel: Kernel,
    pub outputs: Vec<(String, usize)>,
    /// What each statement does.
    pub steps: Vec<Step>,
    pub constants: Values,
}

/// One output per random expression.
pub fn expressions(seed: u64, count: usize) -> Sample {
    let mut generator = Generator::new(seed);
    let mut kernel = Kernel::default();
    kernel.atoms.extend(generator.inputs());
    kernel.atoms.extend(generator.constant_atoms());
    let (mut outputs, mut steps): (Vec<_>, Vec<Step>) = (vec![], vec![]);
    for i in 0..count {
        let width = match i % 4 {
            0 => 1,
            1 => generator.rng.usize(1..=100),
            _ => generator.a_width(),
        };
        let depth = generator.rng.usize(1..=4);
        let tree = generator.tree(width, depth);
        let name = format!("o{i}");
        let output = Atomic::new(&name, AtomKind::OutputParameter, width);
        kernel.atoms.push(output);
        kernel.statements.push(VerilogStatement::Assignment(
            Ast::Signal(format!("{name}$next")),
            tree.ast,
        ));
        outputs.push((name.clone(), width));
        steps.push(Rc::new(move |values| {
            let value = (tree.meaning)(values);
            values.insert(name.clone(), value);
        }));
    }
    let constants = constants(&generator);
    Sample {
        kernel,
        outputs,
        constants,
        steps,
    }
}

/// A random program over local signals and outputs: assignments of wholes and parts, `if` and `match`, in which values
/// in between are read as often as final ones.
pub fn program(seed: u64, signals: usize, length: usize) -> Sample {
    let mut generator = Generator::new(seed);
    let mut kernel = Kernel::default();
    kernel.atoms.extend(generator.inputs());
    kernel.atoms.extend(generator.constant_atoms());
    let mut writable: Vec<(String, usize)> = vec![];
    let mut outputs = vec![];
    for i in 0..signals {
        let width = generator.a_width();
        let (name, kind) = match i % 3 {
            0 => (format!("o{i}"), AtomKind::OutputParameter),
            _ => (format!("l{i}"), AtomKind::LocalSignal),
        };
        kernel.atoms.push(Atomic::new(&name, kind, width));
        if kind == AtomKind::OutputParameter {
            outputs.push((name.clone(), width));
        }
        writable.push((name, width));
    }
    let (mut statements, mut steps): (Vec<_>, Vec<Step>) = (vec![], vec![]);
    let mut unassigned = writable.clone();
    for at in 0..length {
        // a first value for each, spread over the first half of the program
        let fresh =
            !unassigned.is_empty() && (at * 2 * signals / length > signals - unassigned.len());
        let (statement, step) = if fresh || generator.readable.is_empty() {
            let target = unassigned.swap_remove(generator.rng.usize(0..unassigned.len()));
            let assignment = generator.assignment(&target, false);
            generator.readable.push(target);
            assignment
        } else {
            generator.statement(3)
        };
        statements.push(statement);
        steps.push(step);
    }
    assert!(unassigned.is_empty(), "the program is too short");
    for (name, width) in &writable {
        let copy = format!("copy_{name}");
        kernel
            .atoms
            .push(Atomic::new(&copy, AtomKind::OutputParameter, *width));
        statements.push(VerilogStatement::Assignment(
            Ast::Signal(copy.clone()),
            Ast::Signal(name.clone()),
        ));
        outputs.push((copy.clone(), *width));
        let name = name.clone();
        steps.push(Rc::new(move |values| {
            let value = values[&name].clone();
            values.insert(copy.clone(), value);
        }));
    }
    kernel.statements = statements;
    let constants = constants(&generator);
    Sample {
        kernel,
        outputs,
        constants,
        steps,
    }
}

/// What a statement does to the values.
pub type Step = Rc<dyn Fn(&mut Values)>;

impl Generator {
    fn statement(&mut self, depth: usize) -> (VerilogStatement, Step) {
        match self.rng.u8(0..8) {
            0 | 1 if depth > 0 => self.conditional(depth - 1),
            2 if depth > 0 => self.case(depth - 1),
            kind => {
                let readable = self.readable.clone();
                let target = self.pick(&readable);
                self.assignment(&target, kind < 5)
            }
        }
    }

    fn block(&mut self, depth: usize) -> (Vec<VerilogStatement>, Vec<Step>) {
        let length = self.rng.usize(0..4);
        (0..length).map(|_| self.statement(depth)).unzip()
    }

    fn assignment(
        &mut self,
        (name, whole): &(String, usize),
        part: bool,
    ) -> (VerilogStatement, Step) {
        let width = match part {
            true => self.rng.usize(1..=*whole),
            false => *whole,
        };
        let low = self.rng.usize(0..=*whole - width);
        let value = self.tree(width, 2);
        let target = Ast::Signal(name.clone());
        let statement = match part {
            false => VerilogStatement::Assignment(target, value.ast),
            true => VerilogStatement::SliceAssignment {
                base: target,
                width,
                offset: number(low),
                replacement: value.ast,
            },
        };
        let (name, meaning) = (name.clone(), value.meaning);
        let step: Step = Rc::new(move |values| {
            let new = meaning(values) << low;
            let hole = mask(width) << low;
            let old = values.get(&name).cloned().unwrap_or_default();
            values.insert(name.clone(), (&old | &hole) ^ &hole | new);
        });
        (statement, step)
    }

    fn conditional(&mut self, depth: usize) -> (VerilogStatement, Step) {
        let test = self.tree(1, 2);
        let (then, then_steps) = self.block(depth);
        let (otherwise, otherwise_steps) = match self.rng.u8(0..3) {
            0 => (VerilogBlockOrConditional::None, vec![]),
            1 => {
                let (block, steps) = self.block(depth);
                (VerilogBlockOrConditional::Block(block), steps)
            }
            _ => {
                let (statement, step) = self.conditional(depth.saturating_sub(1));
                (
                    VerilogBlockOrConditional::Conditional(Box::new(statement)),
                    vec![step],
                )
            }
        };
        let statement = VerilogStatement::If(VerilogConditional {
            test: test.ast,
            then,
            otherwise,
        });
        let meaning = test.meaning;
        let step: Step = Rc::new(move |values| {
            let taken = match meaning(values).is_zero() {
                true => &otherwise_steps,
                false => &then_steps,
            };
            taken.iter().for_each(|step| step(values));
        });
        (statement, step)
    }

    fn case(&mut self, depth: usize) -> (VerilogStatement, Step) {
        let test = self.tree(2, 2);
        let (mut cases, mut arms) = (vec![], vec![]);
        for condition in ["0", "2", "default"] {
            let (block, steps) = self.block(depth);
            cases.push(VerilogCase {
                condition: condition.into(),
                block,
            });
            arms.push(steps);
        }
        let meaning = test.meaning;
        let step: Step = Rc::new(move |values| {
            let arm = match meaning(values).to_u32() {
                Some(0) => 0,
                Some(2) => 1,
                _ => 2,
            };
            arms[arm].iter().for_each(|step| step(values));
        });
        let statement = VerilogStatement::Match(VerilogMatch {
            test: test.ast,
            cases,
        });
        (statement, step)
    }
}

fn constants(generator: &Generator) -> Values {
    let pair = |(name, _, value): &(String, usize, u128)| (name.clone(), BigUint::from(*value));
    generator.constants.iter().map(pair).collect()
}
