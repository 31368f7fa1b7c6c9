//! The interface between driver and card.
//!
//! ```text
//!  driver ── read, write ──────────────► registers
//!         ── map, unmap ───────────────► which host memory the card may reach, and at which bus address
//!         ◄─ interrupt ───────────────── an eventfd for each vector
//!         ◄─ hang_up ─────────────────── the card is gone
//! ```
//!
//! A backend is a kernel VFIO device or a vfio-user socket, with a board or a simulation behind it. The driver cannot
//! tell them apart. No call needs the card to share the driver's address space.

use std::ops::Range;
use std::os::fd::BorrowedFd;

/// A backend's own error, of any type.
pub type BackendError = Box<dyn std::error::Error + Send + Sync>;

/// Result of a backend's call.
pub type Result<T> = std::result::Result<T, BackendError>;

/// What a backend says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Name of the card in messages: a PCI address, a socket path, `simulated`.
    pub name: String,
    /// Bus addresses that memory may be mapped at: ranges without overlap, in any order.
    pub bus_addresses: Vec<Range<u64>>,
}

/// Host memory for the card. It is a range of a file, so that it can be passed to a card in another process; backends that
/// need an address in this process map the file themselves.
#[derive(Clone, Copy, Debug)]
pub struct DmaMap<'m> {
    /// Bus address of the first octet; a multiple of 4096.
    pub iova: u64,
    /// Octets; a multiple of 4096.
    pub length: u64,
    /// File that holds the memory; its size is sealed.
    pub file: BorrowedFd<'m>,
    /// Offset of the memory in the file; a multiple of 4096.
    pub offset: u64,
}

/// An opened card.
///
/// Calls may come from several threads. Registers are those of `warpline_regmap::register`, 32 bits wide; all accesses
/// take effect in the order of the calls. A read that returns a register's new value makes visible what
/// the card wrote to host memory before it changed the register. A card that sees a register's new value also sees what
/// this process wrote to mapped memory before it wrote the register.
///
/// The driver gives memory back to the program when [`unmap`](Self::unmap) or [`reset`](Self::reset) returned without an
/// error. A backend that returns while the card can still write corrupts the program's memory.
pub trait Device: Send + Sync {
    /// Name and usable bus addresses.
    fn info(&self) -> DeviceInfo;

    /// Reads the register at `offset`, a multiple of 4 below `register::SPACE`.
    ///
    /// # Errors
    /// The card cannot be reached.
    fn read(&self, offset: u32) -> Result<u32>;

    /// Writes the register at `offset`, a multiple of 4 below `register::SPACE`.
    ///
    /// # Errors
    /// The card cannot be reached.
    fn write(&self, offset: u32, value: u32) -> Result<()>;

    /// Lets the card read and write `memory`. Ranges never overlap one that is mapped.
    ///
    /// # Errors
    /// The card cannot reach the memory; then nothing is mapped.
    fn map(&self, memory: DmaMap<'_>) -> Result<()>;

    /// Ends what [`map`](Self::map) with the same range began. When it returns, the card cannot reach it any more.
    ///
    /// # Errors
    /// The card may still be able to reach it: the memory must be kept.
    fn unmap(&self, iova: u64, length: u64) -> Result<()>;

    /// Interrupt vectors: at least `register::interrupt::COUNT`, and one more for a card with a mailbox.
    fn vectors(&self) -> usize {
        warpline_regmap::register::interrupt::COUNT
    }

    /// The eventfd of interrupt vector `vector`, below [`vectors`](Self::vectors): it becomes readable when the card
    /// sends that vector's message. The driver drains it and makes it non-blocking; it stays the same one.
    fn interrupt(&self, vector: usize) -> BorrowedFd<'_>;

    /// A descriptor that hangs up (`POLLRDHUP` or `POLLHUP`) when the card cannot be reached any more, and stays so. It
    /// wakes threads that wait for a message. `None` where the loss of a card shows at the next access only.
    fn hang_up(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Brings the card to its state after power-up. When it returns, no write to host memory is under way. Maps stay.
    ///
    /// # Errors
    /// The card may still be writing.
    fn reset(&self) -> Result<()>;
}
