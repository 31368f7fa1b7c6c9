//! What all backends have in common: checks of a card's PCI function.

use warpline_regmap::{mailbox, register};

use crate::open_error::OpenError;

/// The bits of the configuration space's command register that a card needs.
pub mod command {
    /// Its offset in the configuration space; it is 16 bits wide.
    pub const OFFSET: u64 = 4;
    /// The card answers accesses to its BARs, reads and writes memory, and sends messages.
    pub const NEEDED: u16 = 1 << 1 | 1 << 2;
}

/// Checks BAR 0's size and the number of vectors.
pub fn check(register_octets: u64, vectors: u32) -> Result<(), OpenError> {
    if register_octets < register::SPACE.into() {
        return Err(OpenError::RegisterBar {
            found: register_octets,
        });
    }
    if (vectors as usize) < register::interrupt::COUNT {
        return Err(OpenError::Vectors { found: vectors });
    }
    Ok(())
}

/// Vectors that the driver uses of `found`: those that every card has, and the mailbox's.
pub fn vectors(found: u32) -> usize {
    (found as usize).min(mailbox::INTERRUPT + 1)
}

/// How much memory this process may lock, as text for a message.
#[cfg(all(
    target_arch = "x86_64",
    any(feature = "kernel", feature = "pci-driver")
))]
pub fn locked_limit() -> String {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    limit.map_or("none".into(), |octets| format!("{octets} octets"))
}

/// A register offset that the card does not have.
#[derive(Debug, thiserror::Error)]
#[error(
    "there is no register at {offset:#x}: give a multiple of 4 below {:#x}",
    register::SPACE
)]
pub struct NoRegister {
    offset: u32,
}

/// Checks the offset of a register.
pub fn check_offset(offset: u32) -> Result<(), NoRegister> {
    if offset < register::SPACE && offset.is_multiple_of(4) {
        Ok(())
    } else {
        Err(NoRegister { offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_that_cannot_be_are_refused() {
        check(4096, 2).unwrap();
        check(1 << 20, 32).unwrap();
        let small = check(4095, 2).unwrap_err();
        assert!(matches!(small, OpenError::RegisterBar { found: 4095 }));
        let deaf = check(4096, 1).unwrap_err();
        assert!(matches!(deaf, OpenError::Vectors { found: 1 }));
        let text = deaf.to_string();
        assert!(
            text.starts_with("the device has 1 MSI-X vectors, the driver needs 2"),
            "{text}"
        );
    }

    #[test]
    fn only_registers_have_offsets() {
        check_offset(0).unwrap();
        check_offset(4092).unwrap();
        for offset in [1, 2, 4093, 4096, u32::MAX] {
            assert!(check_offset(offset).is_err(), "{offset}");
        }
    }
}
