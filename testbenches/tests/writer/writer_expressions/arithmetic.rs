//! What the operators mean: unbounded integers, cut to width as `Bits<N>` does. The last test ties it to rust-hdl's own arithmetic.

use fastrand::Rng;
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};
use rust_hdl_core::ast::VerilogOp as Op;
use rust_hdl_core::prelude::*;
use warpline_testbenches::stimulus;

pub fn mask(width: usize) -> BigUint {
    (BigUint::one() << width) - 1u8
}

pub fn cut(value: BigUint, width: usize) -> BigUint {
    value & mask(width)
}

pub fn truth(value: bool) -> BigUint {
    BigUint::from(u8::from(value))
}

/// The meaning of an operator on equally wide operands.
pub fn apply(op: &Op, a: &BigUint, b: &BigUint, width: usize) -> BigUint {
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
pub fn shift(left: bool, value: &BigUint, by: &BigUint, width: usize) -> BigUint {
    match by.to_usize().filter(|by| *by < width) {
        Some(by) if left => cut(value << by, width),
        Some(by) => value >> by,
        None => BigUint::zero(),
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

/// The meaning is rust-hdl's.
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
