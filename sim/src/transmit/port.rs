//! The register port of the card's control program.

use warpline_firmware::Bus;

use crate::card::Card;
use crate::error::Error;

/// The second register port of a card, for its control program: same addresses as the host's, but its own pair of `ARGUMENT` and
/// `COMMAND`, and the other end of the mailbox (`warpline_regmap::mailbox`). Clones are handles of the same port.
#[derive(Clone)]
pub struct ControlPort {
    card: Card,
}

impl Card {
    /// The register port of the card's control program.
    #[must_use]
    pub fn control_port(&self) -> ControlPort {
        let card = self.clone();
        ControlPort { card }
    }
}

impl ControlPort {
    /// Reads the register at `offset`, a multiple of 4 below `register::SPACE`.
    ///
    /// # Errors
    /// As [`Card::read_register`].
    pub fn read(&self, offset: u32) -> Result<u32, Error> {
        self.card.control_read(offset)
    }

    /// Writes the register at `offset`. Registers other than those of the mailbox and of commands belong to the host: a write to
    /// them does nothing.
    ///
    /// # Errors
    /// As [`Card::write_register`].
    pub fn write(&self, offset: u32, value: u32) -> Result<(), Error> {
        self.card.control_write(offset, value)
    }
}

/// As on a bus that has lost its device, all bits of a word that cannot be read are 1.
impl Bus for ControlPort {
    fn read(&mut self, offset: u32) -> u32 {
        ControlPort::read(self, offset).unwrap_or_else(|error| {
            tracing::warn!(%error, "the control program cannot read a register");
            u32::MAX
        })
    }

    fn write(&mut self, offset: u32, value: u32) {
        if let Err(error) = ControlPort::write(self, offset, value) {
            tracing::warn!(%error, "the control program cannot write a register");
        }
    }
}
