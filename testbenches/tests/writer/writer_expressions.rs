//! Random kernels: what the writer makes of a syntax tree against what the operators mean in rust-hdl.
//!
//! Each tree is made together with a closure that computes its value with unbounded integers, cut to width as
//! `Bits<N>` does; `reference_agrees_with_bits` ties that meaning to rust-hdl's own arithmetic. Trees carry parentheses
//! at random, since the writer must not depend on them. The written text runs in Verilator on random inputs.

use fastrand::Rng;
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};
use rust_hdl_core::ast::{
    VerilogBlockOrConditional, VerilogCase, VerilogConditional, VerilogExpression as Ast,
    VerilogMatch, VerilogOp as Op, VerilogOpUnary as UnaryOp, VerilogStatement,
};
use rust_hdl_core::prelude::*;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use support::{Atomic, Kernel};
use warpline_sv_writer::{self as writer, Faults};
use warpline_testbenches::lockstep::sources;
use warpline_testbenches::stimulus;
use warpline_verilate::Model;

mod support;

// ---- random trees with their meaning

type Values = HashMap<String, BigUint>;
type Meaning = Rc<dyn Fn(&Values) -> BigUint>;

struct Tree {
    ast: Ast,
    width: usize,
    meaning: Meaning,
}

fn mask(width: usize) -> BigUint {
    (BigUint::one() << width) - 1u8
}

fn cut(value: BigUint, width: usize) -> BigUint {
    value & mask(width)
}

fn truth(value: bool) -> BigUint {
    BigUint::from(u8::from(value))
}

fn number(value: usize) -> Ast {
    Ast::Literal((value as u64).into())
}

/// The meaning of an operator on equally wide operands.
fn apply(op: &Op, a: &BigUint, b: &BigUint, width: usize) -> BigUint {
    match op {
        Op::Add => cut(a + b, width),
        Op::Sub => cut((BigUint::one() << width) + a - b, width),
        Op::BitAnd => a & b,
        Op::BitOr => a | b,
        Op::BitXor => a ^ b,
        Op::LogicalAnd => truth(!a.is_zero() && !b.is_zero()),
        Op::LogicalOr => truth(!a.is_zero() || !b.is_zero()),
        Op::Eq => truth(a == b),
        Op::Ne => truth(a != b),
        Op::Lt => truth(a < b),
        Op::Le => truth(a <= b),
        Op::Gt => truth(a > b),
        Op::Ge => truth(a >= b),
        Op::Shl | Op::Shr | Op::Mul => unreachable!("not an operator on equal widths"),
    }
}

/// Bits that leave are lost, also when all of them leave.
fn shift(left: bool, value: &BigUint, by: &BigUint, width: usize) -> BigUint {
    match by.to_usize().filter(|by| *by < width) {
        Some(by) if left => cut(value << by, width),
        Some(by) => value >> by,
        None => BigUint::zero(),
    }
}

struct Generator {
    rng: Rng,
    /// Widths of inputs, two inputs each.
    widths: Vec<usize>,
    /// Constants by name, width and value.
    constants: Vec<(String, usize, u128)>,
    /// Other signals that may be read now.
    readable: Vec<(String, usize)>,
}

impl Generator {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let mut widths: BTreeSet<usize> = [1, 2, 3, 7, 8, 32, 33, 64, 65, 100, 512].into();
        while widths.len() < 18 {
            widths.insert(rng.usize(1..=100));
        }
        let constant = |i: usize, rng: &mut Rng| {
            let width = rng.usize(1..=100);
            (format!("c{i}"), width, rng.u128(..) >> (128 - width))
        };
        let constants = (0..8).map(|i| constant(i, &mut rng)).collect();
        Self {
            constants,
            rng,
            widths: widths.into_iter().collect(),
            readable: vec![],
        }
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.rng.usize(0..from.len())].clone()
    }

    fn a_width(&mut self) -> usize {
        let widths = self.widths.clone();
        self.pick(&widths)
    }

    fn wider_than(&mut self, width: usize) -> Option<usize> {
        let wider: Vec<usize> = self.widths.iter().copied().filter(|w| *w > width).collect();
        (!wider.is_empty()).then(|| self.pick(&wider))
    }

    /// A tree; its meaning comes from the parts it was made of, never from the tree.
    fn tree(&mut self, width: usize, depth: usize) -> Tree {
        let mut tree = self.bare(width, depth);
        assert_eq!(tree.width, width);
        if self.rng.u8(0..3) == 0 {
            tree.ast = Ast::Paren(Box::new(tree.ast));
        }
        tree
    }

    fn bare(&mut self, width: usize, depth: usize) -> Tree {
        if depth == 0 {
            return self.leaf(width);
        }
        let depth = depth - 1;
        if width == 1 && self.rng.u8(0..10) < 6 {
            return self.truth(depth);
        }
        match self.rng.u8(0..12) {
            0 => {
                let a = self.tree(width, depth);
                let meaning = a.meaning.clone();
                Tree {
                    ast: Ast::Unary(UnaryOp::Not, Box::new(a.ast)),
                    width,
                    meaning: Rc::new(move |v| mask(width) ^ meaning(v)),
                }
            }
            1 | 2 => self.cast(width, depth),
            3 => self.slice(width, depth),
            4 => self.dynamic_slice(width, depth),
            5 | 6 => self.shifted(width, depth),
            7 => self.replaced(width, depth),
            8 => self.literal_operand(width, depth),
            9 if width > 1 => self.add_bit(width, depth),
            _ => {
                let op = self.pick(&[Op::Add, Op::Sub, Op::BitAnd, Op::BitOr, Op::BitXor]);
                self.binary(op, width, width, depth)
            }
        }
    }

    fn leaf(&mut self, width: usize) -> Tree {
        let mut names: Vec<String> = vec![];
        let local = |(n, w): &(String, usize)| (*w == width).then(|| n.clone());
        names.extend(self.readable.iter().filter_map(local));
        names.extend(
            self.constants
                .iter()
                .filter(|(_, w, _)| *w == width)
                .map(|(n, ..)| n.clone()),
        );
        if self.widths.contains(&width) {
            names.extend([format!("a{width}"), format!("b{width}")]);
        }
        if names.is_empty() {
            return self.cast(width, 0);
        }
        let name = self.pick(&names);
        let key = name.clone();
        Tree {
            ast: Ast::Signal(name),
            width,
            meaning: Rc::new(move |v| v[&key].clone()),
        }
    }

    fn input(&mut self, width: usize) -> Tree {
        let name = format!("{}{width}", if self.rng.bool() { 'a' } else { 'b' });
        let key = name.clone();
        Tree {
            ast: Ast::Signal(name),
            width,
            meaning: Rc::new(move |v| v[&key].clone()),
        }
    }

    /// A tree of `width`, or of an input's width when `width` has no input.
    fn cast(&mut self, width: usize, depth: usize) -> Tree {
        let from = self.a_width();
        let a = self.tree(from, depth);
        Tree {
            ast: Ast::Cast(Box::new(a.ast), width),
            width,
            meaning: Rc::new(move |v| cut((a.meaning)(v), width)),
        }
    }

    fn binary(&mut self, op: Op, operands: usize, width: usize, depth: usize) -> Tree {
        let (a, b) = (self.tree(operands, depth), self.tree(operands, depth));
        let meaning_op = op.clone();
        Tree {
            ast: Ast::Binary(Box::new(a.ast), op, Box::new(b.ast)),
            width,
            meaning: Rc::new(move |v| {
                apply(&meaning_op, &(a.meaning)(v), &(b.meaning)(v), operands)
            }),
        }
    }

    /// One operand is a number, as in `x + 3` or `3 & x`.
    fn literal_operand(&mut self, width: usize, depth: usize) -> Tree {
        let a = self.tree(width, depth);
        let op = self.pick(&[Op::Add, Op::Sub, Op::BitAnd, Op::BitOr, Op::BitXor]);
        let value = self.rng.u64(..) >> (64 - width.min(32));
        let literal = Ast::Literal(value.into());
        let (swapped, meaning_op, value) = (self.rng.bool(), op.clone(), BigUint::from(value));
        let (left, right) = if swapped {
            (literal, a.ast)
        } else {
            (a.ast, literal)
        };
        Tree {
            ast: Ast::Binary(Box::new(left), op, Box::new(right)),
            width,
            meaning: Rc::new(move |v| match swapped {
                true => apply(&meaning_op, &value, &(a.meaning)(v), width),
                false => apply(&meaning_op, &(a.meaning)(v), &value, width),
            }),
        }
    }

    /// `Bits<N> + bool`.
    fn add_bit(&mut self, width: usize, depth: usize) -> Tree {
        let (a, b) = (self.tree(width, depth), self.tree(1, depth));
        Tree {
            ast: Ast::Binary(Box::new(a.ast), Op::Add, Box::new(b.ast)),
            width,
            meaning: Rc::new(move |v| cut((a.meaning)(v) + (b.meaning)(v), width)),
        }
    }

    fn shifted(&mut self, width: usize, depth: usize) -> Tree {
        let left = self.rng.bool();
        let op = if left { Op::Shl } else { Op::Shr };
        let (by, distance): (Ast, Meaning) = if self.rng.bool() {
            let distance = self.rng.usize(0..=width + 2);
            let value = BigUint::from(distance);
            (number(distance), Rc::new(move |_| value.clone()))
        } else {
            let narrow: Vec<usize> = self.widths.iter().copied().filter(|w| *w <= 64).collect();
            let of = self.pick(&narrow);
            let tree = self.tree(of, depth);
            (tree.ast, tree.meaning)
        };
        if width == 64 && self.rng.bool() && !matches!(by, Ast::Literal(_)) {
            // u64 << Bits<N> is Bits<64>
            let value = self.rng.u64(..);
            return Tree {
                ast: Ast::Binary(Box::new(Ast::Literal(value.into())), op, Box::new(by)),
                width,
                meaning: Rc::new(move |v| shift(left, &value.into(), &distance(v), 64)),
            };
        }
        let a = self.tree(width, depth);
        Tree {
            ast: Ast::Binary(Box::new(a.ast), op, Box::new(by)),
            width,
            meaning: Rc::new(move |v| shift(left, &(a.meaning)(v), &distance(v), width)),
        }
    }

    fn slice(&mut self, width: usize, depth: usize) -> Tree {
        let Some(of) = self.wider_than(width) else {
            return self.leaf(width);
        };
        let a = self.tree(of, depth);
        let low = self.rng.usize(0..=of - width);
        Tree {
            ast: Ast::Slice(Box::new(a.ast), width, Box::new(number(low))),
            width,
            meaning: Rc::new(move |v| cut((a.meaning)(v) >> low, width)),
        }
    }

    /// A run-time position below `2^k`, where `2^k - 1` is at most `last`; arithmetic only inside a cast, as the writer
    /// demands.
    fn position(&mut self, last: usize, depth: usize) -> Option<Tree> {
        let most = (last + 1).ilog2() as usize;
        if most == 0 {
            return None;
        }
        let width = self.rng.usize(1..=most);
        Some(match self.widths.contains(&width) && self.rng.bool() {
            // no constant: a slice that hangs over at a known position is refused
            true => self.input(width),
            false => self.cast(width, depth),
        })
    }

    fn dynamic_slice(&mut self, width: usize, depth: usize) -> Tree {
        let of = match self.wider_than(width) {
            Some(of) => of,
            None => return self.leaf(width),
        };
        let Some(at) = self.position(of, depth) else {
            return self.slice(width, depth);
        };
        let a = self.tree(of, depth.min(1));
        Tree {
            ast: Ast::Slice(Box::new(a.ast), width, Box::new(at.ast)),
            width,
            meaning: Rc::new(move |v| {
                cut(
                    shift(false, &(a.meaning)(v), &(at.meaning)(v), of + 1),
                    width,
                )
            }),
        }
    }

    fn replaced(&mut self, width: usize, depth: usize) -> Tree {
        let (a, bit) = (self.tree(width, depth), self.tree(1, depth));
        let at = match self.position(width - 1, depth) {
            Some(at) if self.rng.bool() => at,
            _ => {
                let at = self.rng.usize(0..width);
                Tree {
                    ast: number(at),
                    width: 0,
                    meaning: Rc::new(move |_| at.into()),
                }
            }
        };
        Tree {
            ast: Ast::IndexReplace(Box::new(a.ast), Box::new(at.ast), Box::new(bit.ast)),
            width,
            meaning: Rc::new(move |v| {
                let mut value = (a.meaning)(v);
                let at = (at.meaning)(v).to_u64().expect("a bit position");
                value.set_bit(at, !(bit.meaning)(v).is_zero());
                value
            }),
        }
    }

    /// A bit that is made of wider things.
    fn truth(&mut self, depth: usize) -> Tree {
        let of = self.a_width();
        match self.rng.u8(0..8) {
            0..=2 => {
                let op = self.pick(&[Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge]);
                self.binary(op, of, 1, depth)
            }
            3 => {
                let op = self.pick(&[Op::LogicalAnd, Op::LogicalOr]);
                self.binary(op, 1, 1, depth)
            }
            4 => {
                let op = self.pick(&[UnaryOp::All, UnaryOp::Any, UnaryOp::Xor]);
                let a = self.tree(of, depth);
                let meaning_op = op.clone();
                Tree {
                    ast: Ast::Unary(op, Box::new(a.ast)),
                    width: 1,
                    meaning: Rc::new(move |v| {
                        let a = (a.meaning)(v);
                        truth(match meaning_op {
                            UnaryOp::All => a == mask(of),
                            UnaryOp::Any => !a.is_zero(),
                            _ => a.count_ones() % 2 == 1,
                        })
                    }),
                }
            }
            5 => {
                let a = self.tree(of, depth);
                let op = self.pick(&[Op::Eq, Op::Ne, Op::Lt, Op::Ge]);
                let value = self.rng.u64(..) >> (64 - of.min(32));
                let (meaning_op, literal) = (op.clone(), BigUint::from(value));
                Tree {
                    ast: Ast::Binary(Box::new(a.ast), op, Box::new(Ast::Literal(value.into()))),
                    width: 1,
                    meaning: Rc::new(move |v| apply(&meaning_op, &(a.meaning)(v), &literal, of)),
                }
            }
            _ => {
                let a = self.tree(of, depth);
                let at = match self.position(of - 1, depth) {
                    Some(at) if self.rng.bool() => at,
                    _ => {
                        let at = self.rng.usize(0..of);
                        Tree {
                            ast: number(at),
                            width: 0,
                            meaning: Rc::new(move |_| at.into()),
                        }
                    }
                };
                Tree {
                    ast: Ast::Index(Box::new(a.ast), Box::new(at.ast)),
                    width: 1,
                    meaning: Rc::new(move |v| {
                        let at = (at.meaning)(v).to_u64().expect("a bit position");
                        truth((a.meaning)(v).bit(at))
                    }),
                }
            }
        }
    }

    fn inputs(&self) -> Vec<Atomic> {
        let input = |width: usize, letter: &str| {
            Atomic::new(&format!("{letter}{width}"), AtomKind::InputParameter, width)
        };
        let widths = self.widths.iter();
        widths
            .flat_map(|w| [input(*w, "a"), input(*w, "b")])
            .collect()
    }

    fn constant_atoms(&self) -> Vec<Atomic> {
        let atom = |(name, width, value): &(String, usize, u128)| Atomic {
            name: name.clone(),
            kind: AtomKind::Constant,
            width: *width,
            value: *value,
        };
        self.constants.iter().map(atom).collect()
    }
}

// ---- running them

/// A kernel, and what its outputs should be for given inputs.
struct Sample {
    kernel: Kernel,
    outputs: Vec<(String, usize)>,
    /// What each statement does.
    steps: Vec<Step>,
    constants: Values,
}

/// One output per random expression.
fn expressions(seed: u64, count: usize) -> Sample {
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
fn program(seed: u64, signals: usize, length: usize) -> Sample {
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
type Step = Rc<dyn Fn(&mut Values)>;

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

/// Runs `rounds` random inputs; returns the names of outputs that were wrong at least once, with an example.
fn wrong_outputs(sample: &Sample, mut model: Model, rounds: usize) -> HashMap<String, String> {
    let mut rng = Rng::with_seed(99);
    let mut wrong = HashMap::new();
    let inputs = |kernel: &Kernel| {
        let inputs = kernel
            .atoms
            .iter()
            .filter(|a| a.kind == AtomKind::InputParameter);
        inputs.cloned().collect::<Vec<_>>()
    };
    for _ in 0..rounds {
        let mut values = sample.constants.clone();
        for input in inputs(&sample.kernel) {
            let value = stimulus::wide(&mut rng, input.width);
            let port = model.port(&input.name).expect("the input is a port");
            model.set_words(port, &value.to_u32_digits());
            values.insert(input.name, value);
        }
        model.eval().expect("the model runs");
        sample.steps.iter().for_each(|step| step(&mut values));
        for (name, _) in &sample.outputs {
            let port = model.port(name).expect("the output is a port");
            let got = BigUint::new(model.to_words(port));
            if got != values[name] {
                let example = format!("{name}: {got:x}, should be {:x}", values[name]);
                wrong.entry(name.clone()).or_insert(example);
            }
        }
    }
    wrong
}

fn check(sample: &Sample, top: &str, rounds: usize) {
    let design = writer::write(&sample.kernel, top).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(design, writer::write(&sample.kernel, top).unwrap());
    let build = sources(top, &design);
    let warnings = build.lint().unwrap_or_else(|e| panic!("{e}"));
    assert!(
        warnings.iter().all(|w| HARMLESS.contains(&w.code.as_str())),
        "{warnings:?}"
    );
    let build = HARMLESS
        .iter()
        .fold(build, |build, code| build.lint_off(*code));
    let model = build.open().unwrap_or_else(|e| panic!("{e}"));
    let wrong = wrong_outputs(sample, model, rounds);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What Verilator says of expressions that are constant by chance, such as `x < 0`.
const HARMLESS: [&str; 2] = ["CMPCONST", "UNSIGNED"];

/// Expressions of all operators, widths 1 to 100 and 512.
#[test]
fn random_expressions_mean_in_verilator_what_they_mean_in_rust_hdl() {
    for seed in 1..=2 {
        check(&expressions(seed, 240), &format!("expressions_{seed}"), 200);
    }
}

/// The same check finds a writer that forgets parentheses, casts, or compares wrongly.
#[test]
fn planted_mistakes_of_the_writer_are_found() {
    let sample = expressions(3, 60);
    let none = Faults::default();
    let faults = [
        Faults {
            no_parentheses: true,
            ..none
        },
        Faults {
            no_casts: true,
            ..none
        },
        Faults {
            wrong_compare: true,
            ..none
        },
    ];
    for (i, fault) in faults.into_iter().enumerate() {
        let top = format!("faulty_{i}");
        let design = writer::write_with_faults(&sample.kernel, &top, fault).unwrap();
        let model = sources(&top, &design)
            .verilator_arg("-Wno-fatal")
            .open()
            .unwrap_or_else(|e| panic!("{e}"));
        let wrong = wrong_outputs(&sample, model, 50);
        assert!(!wrong.is_empty(), "{fault:?} was not found");
    }
}

/// Order matters: values in between, dead assignments, parts, branches.
#[test]
fn random_programs_mean_in_verilator_what_they_mean_in_rust_hdl() {
    for (seed, signals, length) in [(10, 24, 120), (11, 24, 120), (12, 100, 110), (13, 100, 130)] {
        let sample = program(seed, signals, length);
        check(&sample, &format!("program_{seed}"), 100);
    }
}

fn agrees_with_bits<const N: usize>(rng: &mut Rng) {
    for _ in 0..200 {
        let (a, b) = (stimulus::wide(rng, N), stimulus::wide(rng, N));
        let (x, y): (Bits<N>, Bits<N>) = (a.clone().into(), b.clone().into());
        let same = |op: Op, bits: Bits<N>| {
            let bits: BigUint = bits.into();
            assert_eq!(apply(&op, &a, &b, N), bits, "{a:x} {op:?} {b:x}, {N} bits");
        };
        same(Op::Add, x + y);
        same(Op::Sub, x - y);
        same(Op::BitAnd, x & y);
        same(Op::BitOr, x | y);
        same(Op::BitXor, x ^ y);
        let same = |op: Op, bit: bool| assert_eq!(apply(&op, &a, &b, N), truth(bit), "{op:?}");
        same(Op::Eq, x == y);
        same(Op::Ne, x != y);
        same(Op::Lt, x < y);
        same(Op::Le, x <= y);
        same(Op::Gt, x > y);
        same(Op::Ge, x >= y);
        let same = |meant: BigUint, bits: BigUint| assert_eq!(meant, bits, "{a:x}, {N} bits");
        same(mask(N) ^ &a, (!x).into());
        for by in [0, 1, N / 2, N - 1, N, N + 3] {
            let amount: Bits<10> = (by as u64).into();
            same(shift(true, &a, &by.into(), N), (x << amount).into());
            same(shift(false, &a, &by.into(), N), (x >> amount).into());
            let part = cut(shift(false, &a, &by.min(N).into(), N), 40);
            same(part, x.get_bits::<40>(by.min(N)).into());
        }
        let at = rng.usize(0..N);
        let mut replaced = a.clone();
        replaced.set_bit(at as u64, !a.bit(at as u64));
        same(replaced, x.replace_bit(at, !x.get_bit(at)).into());
        same(cut(a.clone(), 7), bit_cast::<7, N>(x).into());
        same(cut(a.clone(), 300), bit_cast::<300, N>(x).into());
        let reductions = (!a.is_zero(), a == mask(N), a.count_ones() % 2 == 1);
        assert_eq!(reductions, (x.any(), x.all(), x.xor()));
    }
    let value = rng.u64(..);
    let by: Bits<N> = stimulus::wide(rng, N.min(6)).into();
    let shifted: BigUint = (value << by).into();
    assert_eq!(shift(true, &value.into(), &by.into(), 64), shifted);
}

/// The meaning used above is rust-hdl's.
#[test]
fn reference_agrees_with_bits() {
    let rng = &mut Rng::with_seed(7);
    agrees_with_bits::<1>(rng);
    agrees_with_bits::<8>(rng);
    agrees_with_bits::<31>(rng);
    agrees_with_bits::<32>(rng);
    agrees_with_bits::<33>(rng);
    agrees_with_bits::<64>(rng);
    agrees_with_bits::<100>(rng);
    agrees_with_bits::<512>(rng);
}
