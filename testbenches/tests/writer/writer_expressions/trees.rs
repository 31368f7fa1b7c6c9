//! Random trees of expressions, each made together with a closure that computes its value.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use fastrand::Rng;
use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};
use rust_hdl_core::ast::{VerilogExpression as Ast, VerilogOp as Op, VerilogOpUnary as UnaryOp};
use rust_hdl_core::prelude::*;

use crate::arithmetic::{apply, cut, mask, shift, truth};
use crate::support::Atomic;

pub type Values = HashMap<String, BigUint>;
pub type Meaning = Rc<dyn Fn(&Values) -> BigUint>;

pub struct Tree {
    pub ast: Ast,
    pub width: usize,
    pub meaning: Meaning,
}

pub fn number(value: usize) -> Ast {
    Ast::Literal((value as u64).into())
}

pub struct Generator {
    pub rng: Rng,
    /// Widths of inputs, two inputs each.
    pub widths: Vec<usize>,
    /// Constants by name, width and value.
    pub constants: Vec<(String, usize, u128)>,
    /// Other signals that may be read now.
    pub readable: Vec<(String, usize)>,
}

impl Generator {
    pub fn new(seed: u64) -> Self {
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

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.rng.usize(0..from.len())].clone()
    }

    pub fn a_width(&mut self) -> usize {
        let widths = self.widths.clone();
        self.pick(&widths)
    }

    pub fn wider_than(&mut self, width: usize) -> Option<usize> {
        let wider: Vec<usize> = self.widths.iter().copied().filter(|w| *w > width).collect();
        (!wider.is_empty()).then(|| self.pick(&wider))
    }

    /// A tree; its meaning comes from the parts it was made of, never from the tree.
    pub fn tree(&mut self, width: usize, depth: usize) -> Tree {
        let mut tree = self.bare(width, depth);
        assert_eq!(tree.width, width);
        if self.rng.u8(0..3) == 0 {
            tree.ast = Ast::Paren(Box::new(tree.ast));
        }
        tree
    }

    pub fn bare(&mut self, width: usize, depth: usize) -> Tree {
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

    pub fn leaf(&mut self, width: usize) -> Tree {
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

    pub fn input(&mut self, width: usize) -> Tree {
        let name = format!("{}{width}", if self.rng.bool() { 'a' } else { 'b' });
        let key = name.clone();
        Tree {
            ast: Ast::Signal(name),
            width,
            meaning: Rc::new(move |v| v[&key].clone()),
        }
    }

    /// A tree of `width`, or of an input's width when `width` has no input.
    pub fn cast(&mut self, width: usize, depth: usize) -> Tree {
        let from = self.a_width();
        let a = self.tree(from, depth);
        Tree {
            ast: Ast::Cast(Box::new(a.ast), width),
            width,
            meaning: Rc::new(move |v| cut((a.meaning)(v), width)),
        }
    }

    pub fn binary(&mut self, op: Op, operands: usize, width: usize, depth: usize) -> Tree {
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
    pub fn literal_operand(&mut self, width: usize, depth: usize) -> Tree {
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
    pub fn add_bit(&mut self, width: usize, depth: usize) -> Tree {
        let (a, b) = (self.tree(width, depth), self.tree(1, depth));
        Tree {
            ast: Ast::Binary(Box::new(a.ast), Op::Add, Box::new(b.ast)),
            width,
            meaning: Rc::new(move |v| cut((a.meaning)(v) + (b.meaning)(v), width)),
        }
    }

    pub fn shifted(&mut self, width: usize, depth: usize) -> Tree {
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

    pub fn slice(&mut self, width: usize, depth: usize) -> Tree {
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
    pub fn position(&mut self, last: usize, depth: usize) -> Option<Tree> {
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

    pub fn dynamic_slice(&mut self, width: usize, depth: usize) -> Tree {
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

    pub fn replaced(&mut self, width: usize, depth: usize) -> Tree {
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
    pub fn truth(&mut self, depth: usize) -> Tree {
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

    pub fn inputs(&self) -> Vec<Atomic> {
        let input = |width: usize, letter: &str| {
            Atomic::new(&format!("{letter}{width}"), AtomKind::InputParameter, width)
        };
        let widths = self.widths.iter();
        widths
            .flat_map(|w| [input(*w, "a"), input(*w, "b")])
            .collect()
    }

    pub fn constant_atoms(&self) -> Vec<Atomic> {
        let atom = |(name, width, value): &(String, usize, u128)| Atomic {
            name: name.clone(),
            kind: AtomKind::Constant,
            width: *width,
            value: *value,
        };
        self.constants.iter().map(atom).collect()
    }
}
