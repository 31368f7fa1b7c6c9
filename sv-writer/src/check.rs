//! Checks over the whole kernel: no latch, nothing read before it has a value. And which bits nothing reads.

use crate::error::Problem;
use crate::kernel::*;
use num_bigint::BigUint;
use num_traits::{One, Zero};
use std::collections::HashMap;

/// Refuses latches and reads that come too early.
pub fn check(module: &Module) -> Result<(), Problem> {
    let Body::Kernel(statements) = &module.body else {
        return Ok(());
    };
    let assigned = AssignedOnAllPaths { module }.block(statements, Bits::default())?;
    for (id, signal) in module.signals.iter().enumerate() {
        if signal.clock || !signal.role.is_driven_here() {
            continue;
        }
        let missing = all(signal.width) ^ assigned.of(id);
        if !missing.is_zero() {
            return Err(Problem::Latch {
                name: signal.name.clone(),
                bits: match missing == all(signal.width) {
                    true => "it".into(),
                    false => format!("its bits {}", ranges(&missing, signal.width).join(", ")),
                },
            });
        }
    }
    check_sub_block_inputs(module, statements)
}

fn all(width: usize) -> BigUint {
    (BigUint::one() << width) - BigUint::one()
}

/// Set bits as ranges, highest first: `["7:4", "0"]`.
fn ranges(mask: &BigUint, width: usize) -> Vec<String> {
    let text = |(low, width)| match width {
        1 => format!("{low}"),
        _ => format!("{}:{low}", low + width - 1),
    };
    runs(mask, width).into_iter().map(text).collect()
}

/// Set bits as the lowest bit and the number of each run, highest first.
pub fn runs(mask: &BigUint, width: usize) -> Vec<(usize, usize)> {
    let mut found = vec![];
    let mut high = width;
    while high > 0 {
        if !mask.bit(high as u64 - 1) {
            high -= 1;
            continue;
        }
        let mut low = high;
        while low > 0 && mask.bit(low as u64 - 1) {
            low -= 1;
        }
        found.push((low, high - low));
        high = low;
    }
    found
}

/// A set of bits for every signal.
#[derive(Clone, Default)]
struct Bits(HashMap<SignalId, BigUint>);

impl Bits {
    fn of(&self, id: SignalId) -> BigUint {
        self.0.get(&id).cloned().unwrap_or_default()
    }

    fn add(&mut self, id: SignalId, low: usize, width: usize) {
        *self.0.entry(id).or_default() |= all(width) << low;
    }

    fn intersect(mut self, other: &Bits) -> Bits {
        self.0.retain(|id, _| other.0.contains_key(id));
        for (id, bits) in &mut self.0 {
            *bits &= other.of(*id);
        }
        self
    }
}

/// Follows the kernel and keeps, at each point, the bits that have a value however one got there.
struct AssignedOnAllPaths<'a> {
    module: &'a Module,
}

impl AssignedOnAllPaths<'_> {
    fn block(&self, statements: &[Statement], mut have: Bits) -> Result<Bits, Problem> {
        for statement in statements {
            for expression in statement.own_expressions() {
                self.reads(expression, &have)?;
            }
            have = match statement {
                Statement::Assign { target, .. } => {
                    match &target.part {
                        None => {
                            have.add(target.signal, 0, self.module.signals[target.signal].width)
                        }
                        Some((Position::Constant(low), width)) => {
                            have.add(target.signal, *low, *width)
                        }
                        Some((Position::Dynamic(_), _)) => {}
                    }
                    have
                }
                Statement::If {
                    then, otherwise, ..
                } => {
                    let then = self.block(then, have.clone())?;
                    then.intersect(&self.block(otherwise, have)?)
                }
                Statement::Case { arms, .. } => {
                    let mut common: Option<Bits> = None;
                    for (_, block) in arms {
                        let arm = self.block(block, have.clone())?;
                        common = Some(match common {
                            Some(common) => common.intersect(&arm),
                            None => arm,
                        });
                    }
                    common.unwrap_or(have)
                }
                Statement::Comment(_) => have,
            };
        }
        Ok(have)
    }

    fn reads(&self, expression: &Expr, have: &Bits) -> Result<(), Problem> {
        let mut early = None;
        expression.reads(&mut |id, part| {
            let signal = &self.module.signals[id];
            let (low, width) = part.unwrap_or((0, signal.width));
            let wanted = all(width) << low;
            if signal.role.is_driven_here() && &have.of(id) & &wanted != wanted {
                early.get_or_insert(Problem::ReadBeforeAssigned(signal.name.clone()));
            }
        });
        early.map_or(Ok(()), Err)
    }
}

/// rust-hdl shows the settled value of a sub-block's input, `always_comb` the value so far; both agree only after the
/// last assignment.
fn check_sub_block_inputs(module: &Module, statements: &[Statement]) -> Result<(), Problem> {
    let mut assigned_at: HashMap<SignalId, usize> = HashMap::new();
    let mut read_at: HashMap<SignalId, usize> = HashMap::new();
    let mut step = 0;
    for statement in statements {
        statement.walk(&mut |s| {
            step += 1;
            for expression in s.own_expressions() {
                expression.reads(&mut |id, _| {
                    read_at.entry(id).or_insert(step);
                });
            }
            if let Statement::Assign { target, .. } = s {
                assigned_at.insert(target.signal, step);
            }
        });
    }
    for (id, signal) in module.signals.iter().enumerate() {
        if let (Role::ChildInput, Some(read), Some(assigned)) =
            (&signal.role, read_at.get(&id), assigned_at.get(&id))
            && read <= assigned
        {
            return Err(Problem::ReadBeforeLastAssignment(signal.name.clone()));
        }
    }
    Ok(())
}

/// Bits of each signal that nothing in the module reads; hand-written text is its author's matter.
pub fn unread(module: &Module) -> Vec<BigUint> {
    let signals = &module.signals;
    let Body::Kernel(statements) = &module.body else {
        return vec![BigUint::zero(); signals.len()];
    };
    let mut read = Bits::default();
    for statement in statements {
        statement.walk(&mut |s| {
            for expression in s.own_expressions() {
                expression.reads(&mut |id, part| {
                    let (low, width) = part.unwrap_or((0, signals[id].width));
                    read.add(id, low, width);
                });
            }
        });
    }
    for source in module.clocks.values() {
        read.add(*source, 0, 1);
    }
    for child in &module.children {
        match child {
            Child::FlipFlop { d, .. } => read.add(*d, 0, signals[*d].width),
            Child::Instance { ports, .. } => {
                for (_, id) in ports
                    .iter()
                    .filter(|(_, id)| signals[*id].role == Role::ChildInput)
                {
                    read.add(*id, 0, signals[*id].width);
                }
            }
        }
    }
    let unread = |(id, signal): (SignalId, &Signal)| match signal.role {
        Role::Output | Role::Constant(_) => BigUint::zero(),
        Role::ChildInput if signal.clock => BigUint::zero(),
        _ => all(signal.width) ^ read.of(id),
    };
    signals.iter().enumerate().map(unread).collect()
}
