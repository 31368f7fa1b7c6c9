//! Expressions: a width for each, and only what has one meaning.

use super::{Ast, Lowered, Name, Reach, Scope};
use crate::collect::literal_value;
use crate::error::Problem;
use crate::kernel::*;
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive};
use rust_hdl_core::ast::*;

impl Scope {
    /// Value of an expression over loop variables and numbers, as Rust computes it while unrolling.
    pub(super) fn number(&self, e: &Ast) -> Option<i128> {
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
    pub(super) fn width(&self, e: &Ast) -> Lowered<Option<usize>> {
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

    pub(super) fn value_of_width(
        &self,
        e: &Ast,
        width: usize,
        place: impl Fn() -> String,
    ) -> Lowered<Expr> {
        let value = self.value(e, Some(width))?;
        same_width(&place(), width, value.width(&self.signals))?;
        Ok(value)
    }

    pub(super) fn value(&self, e: &Ast, wanted: Option<usize>) -> Lowered<Expr> {
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
    pub(super) fn position(&self, at: &Ast, of: &str) -> Lowered<Position> {
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

    pub(super) fn resize(&self, value: Expr, width: usize) -> Expr {
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

pub(super) fn clog2(n: usize) -> usize {
    rust_hdl_core::prelude::clog2(n).max(1)
}

fn mask(width: usize) -> BigUint {
    (BigUint::one() << width) - BigUint::one()
}

pub(super) fn literal(value: i128, width: usize) -> Lowered<Expr> {
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

pub(super) fn same_width(place: &str, left: usize, right: usize) -> Lowered<()> {
    if left == right {
        return Ok(());
    }
    Err(Problem::WidthMismatch {
        place: place.into(),
        left,
        right,
    })
}

pub(super) fn in_range(
    name: impl FnOnce() -> String,
    low: usize,
    width: usize,
    whole: usize,
) -> Lowered<()> {
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
pub(super) fn describe(e: &Ast) -> String {
    match e {
        Ast::Signal(name) => name.replace('$', "."),
        Ast::Paren(inner) => describe(inner),
        _ => "an expression".into(),
    }
}
