//! The whole register map, with what only some devices have.

use crate::register::REGISTERS;
use crate::{Register, transmit};

/// All registers that a device can have, in ascending order of offset: those of every device, and those of the transmit
/// interface.
pub fn all() -> impl Iterator<Item = &'static Register> + Clone {
    let (mut every, mut transmit) = (REGISTERS, transmit::REGISTERS);
    core::iter::from_fn(move || {
        let list = match (every, transmit) {
            ([a, ..], [b, ..]) if b.offset < a.offset => &mut transmit,
            ([], _) => &mut transmit,
            _ => &mut every,
        };
        let (first, rest) = list.split_first()?;
        *list = rest;
        Some(first)
    })
}
