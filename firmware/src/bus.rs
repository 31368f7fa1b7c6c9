//! The register port of the control program.

/// Reads and writes registers of `warpline_regmap` by their offset, through the control program's port
/// (`warpline_regmap::mailbox`).
pub trait Bus {
    /// Reads the register at `offset`.
    fn read(&mut self, offset: u32) -> u32;

    /// Writes the register at `offset`.
    fn write(&mut self, offset: u32, value: u32);
}
