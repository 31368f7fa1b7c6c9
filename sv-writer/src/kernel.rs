//! A module between reading and writing: names resolved, widths known, loops unrolled.

use crate::record::Record;
use num_bigint::BigUint;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Index into [`Module::signals`].
pub type SignalId = usize;

/// Who drives a signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Input port: the parent.
    Input,
    /// Output port: the kernel.
    Output,
    /// Local signal: the kernel.
    Local,
    /// A `localparam`.
    Constant(BigUint),
    /// Input of a sub-block: the kernel.
    ChildInput,
    /// Output of a sub-block: the sub-block.
    ChildOutput,
}

impl Role {
    /// Whether the kernel has to give the signal a value.
    pub fn is_driven_here(&self) -> bool {
        matches!(self, Role::Output | Role::Local | Role::ChildInput)
    }
}

/// One named value of a module.
#[derive(Clone, Debug)]
pub struct Signal {
    pub name: String,
    pub width: usize,
    pub role: Role,
    pub clock: bool,
    /// Its fields, where it is a structure and not a plain vector.
    pub record: Option<Rc<Record>>,
    /// What the field's documentation says, a line each.
    pub doc: Vec<String>,
}

/// A sub-block: a flip-flop written inline, or an instance.
pub enum Child {
    FlipFlop {
        d: SignalId,
        q: SignalId,
        clock: SignalId,
        power_up: BigUint,
    },
    Instance {
        name: String,
        /// Position among the children of the collected node.
        node: usize,
        /// Port name and the signal it is connected with.
        ports: Vec<(String, SignalId)>,
        /// What the field's documentation says, a line each.
        doc: Vec<String>,
    },
}

/// What a module does.
pub enum Body {
    Kernel(Vec<Statement>),
    /// Text written by hand in the block.
    Text(String),
}

/// One module, ready to be checked and written.
pub struct Module {
    pub path: String,
    pub signals: Vec<Signal>,
    pub children: Vec<Child>,
    /// Clock inputs of sub-blocks (and clock outputs of this one), with the clock each is fed from.
    pub clocks: BTreeMap<SignalId, SignalId>,
    pub body: Body,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    Not,
    All,
    Any,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    Add,
    Sub,
    And,
    Or,
    Xor,
    LogicalAnd,
    LogicalOr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl BinaryOp {
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::And => "&",
            BinaryOp::Or => "|",
            BinaryOp::Xor => "^",
            BinaryOp::LogicalAnd => "&&",
            BinaryOp::LogicalOr => "||",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
        }
    }

    /// Whether the result has the operands' width; otherwise it is one bit.
    pub fn keeps_width(self) -> bool {
        use BinaryOp::*;
        matches!(self, Add | Sub | And | Or | Xor)
    }
}

/// A value with a known width.
#[derive(Clone, Debug)]
pub enum Expr {
    Signal(SignalId),
    Literal {
        value: BigUint,
        width: usize,
    },
    /// Enum member, by its written name.
    Member {
        name: String,
        value: BigUint,
        width: usize,
    },
    /// Constant part of a signal.
    Slice {
        of: SignalId,
        low: usize,
        width: usize,
    },
    /// Part of a signal at a run-time position, always within the signal.
    Part {
        of: SignalId,
        low: Box<Expr>,
        width: usize,
    },
    /// Top part first.
    Concat(Vec<Expr>),
    /// Zero-extended or truncated.
    Resize {
        value: Box<Expr>,
        width: usize,
    },
    Shift {
        left: bool,
        value: Box<Expr>,
        by: Position,
    },
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
}

/// A bit position or shift distance.
#[derive(Clone, Debug)]
pub enum Position {
    Constant(usize),
    Dynamic(Box<Expr>),
}

/// What an assignment writes to.
#[derive(Clone, Debug)]
pub struct Target {
    pub signal: SignalId,
    /// Part of it; all when `None`.
    pub part: Option<(Position, usize)>,
}

#[derive(Clone, Debug)]
pub enum Label {
    Value(Expr),
    Default,
    /// A value that is also what all unused codes do.
    Last(Expr),
}

#[derive(Clone, Debug)]
pub enum Statement {
    Assign {
        target: Target,
        value: Expr,
    },
    If {
        test: Expr,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    Case {
        test: Expr,
        arms: Vec<(Label, Vec<Statement>)>,
    },
    Comment(String),
}

impl Expr {
    pub fn width(&self, signals: &[Signal]) -> usize {
        match self {
            Expr::Signal(id) => signals[*id].width,
            Expr::Literal { width, .. }
            | Expr::Member { width, .. }
            | Expr::Slice { width, .. }
            | Expr::Part { width, .. }
            | Expr::Resize { width, .. } => *width,
            Expr::Concat(parts) => parts.iter().map(|part| part.width(signals)).sum(),
            Expr::Shift { value, .. } | Expr::Unary(UnaryOp::Not, value) => value.width(signals),
            Expr::Unary(..) => 1,
            Expr::Binary(op, left, _) if op.keeps_width() => left.width(signals),
            Expr::Binary(..) => 1,
        }
    }

    /// Calls `read` with every signal read and the bits concerned (`low`, `width`; `None` is all).
    pub fn reads(&self, read: &mut dyn FnMut(SignalId, Option<(usize, usize)>)) {
        match self {
            Expr::Signal(id) => read(*id, None),
            Expr::Literal { .. } | Expr::Member { .. } => {}
            Expr::Slice { of, low, width } => read(*of, Some((*low, *width))),
            Expr::Part { of, low, .. } => {
                read(*of, None);
                low.reads(read);
            }
            Expr::Concat(parts) => parts.iter().for_each(|part| part.reads(read)),
            Expr::Resize { value, .. } | Expr::Unary(_, value) => value.reads(read),
            Expr::Shift { value, by, .. } => {
                value.reads(read);
                by.reads(read);
            }
            Expr::Binary(_, left, right) => {
                left.reads(read);
                right.reads(read);
            }
        }
    }

    /// Calls `found` with every enum member named.
    pub fn members(&self, found: &mut dyn FnMut(&str, &BigUint, usize)) {
        match self {
            Expr::Member { name, value, width } => found(name, value, *width),
            Expr::Signal(_) | Expr::Literal { .. } | Expr::Slice { .. } => {}
            Expr::Part { low, .. } => low.members(found),
            Expr::Concat(parts) => parts.iter().for_each(|part| part.members(found)),
            Expr::Resize { value, .. } | Expr::Unary(_, value) => value.members(found),
            Expr::Shift { value, by, .. } => {
                value.members(found);
                if let Position::Dynamic(by) = by {
                    by.members(found);
                }
            }
            Expr::Binary(_, left, right) => {
                left.members(found);
                right.members(found);
            }
        }
    }
}

impl Position {
    pub fn reads(&self, read: &mut dyn FnMut(SignalId, Option<(usize, usize)>)) {
        if let Position::Dynamic(at) = self {
            at.reads(read);
        }
    }
}

impl Statement {
    /// Calls `visit` with this statement and all statements within, in program order.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Statement)) {
        visit(self);
        match self {
            Statement::If {
                then, otherwise, ..
            } => then.iter().chain(otherwise).for_each(|s| s.walk(visit)),
            Statement::Case { arms, .. } => arms
                .iter()
                .flat_map(|(_, block)| block)
                .for_each(|s| s.walk(visit)),
            Statement::Assign { .. } | Statement::Comment(_) => {}
        }
    }

    /// Expressions of this statement itself, not of statements within.
    pub fn own_expressions(&self) -> Vec<&Expr> {
        match self {
            Statement::Assign { target, value } => match &target.part {
                Some((Position::Dynamic(at), _)) => vec![at, value],
                _ => vec![value],
            },
            Statement::If { test, .. } => vec![test],
            Statement::Case { test, arms } => arms
                .iter()
                .filter_map(|(label, _)| match label {
                    Label::Value(value) => Some(value),
                    Label::Default | Label::Last(_) => None,
                })
                .chain([test])
                .collect(),
            Statement::Comment(_) => vec![],
        }
    }
}
