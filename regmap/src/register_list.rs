//! The whole register map, with what only some devices have.

use crate::register::REGISTERS;
use crate::{Register, mailbox, transmit};

/// All registers that a device can have, in ascending order of offset: those of every device, those of the transmit
/// interface, and those of the mailbox.
pub fn all() -> impl Iterator<Item = &'static Register> + Clone {
    ascending([REGISTERS, transmit::REGISTERS, mailbox::REGISTERS])
}

/// Those of them that the device's register block decodes: all but the mailbox's, which is a block of its own.
pub fn of_register_block() -> impl Iterator<Item = &'static Register> + Clone {
    ascending([REGISTERS, transmit::REGISTERS])
}

/// Registers of lists that are in ascending order each, in ascending order.
fn ascending<const LISTS: usize>(
    mut lists: [&'static [Register]; LISTS],
) -> impl Iterator<Item = &'static Register> + Clone {
    core::iter::from_fn(move || {
        let filled = lists.iter_mut().filter(|list| !list.is_empty());
        let list = filled.min_by_key(|list| list[0].offset)?;
        let (first, rest) = list.split_first()?;
        *list = rest;
        Some(first)
    })
}
