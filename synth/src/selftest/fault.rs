//! Faults of a self-test itself.

/// A planted fault, for tests of the self-test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A bit of what is sent is inverted: as an FPDU's it fails the CRC, as one of memory it arrives.
    Traffic,
    /// The expected CRC of memory is wrong.
    Memory,
}
