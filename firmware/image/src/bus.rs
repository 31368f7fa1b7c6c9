//! Registers on the processor's bus.

use core::ptr;

use warpline_firmware::Bus;

/// A port: registers from one address on.
pub struct Port {
    base: u32,
}

impl Port {
    /// The port at `base`.
    ///
    /// # Safety
    /// Every offset that `read` and `write` are given is that of a register of the port.
    pub const unsafe fn at(base: u32) -> Self {
        Self { base }
    }

    const fn address(&self, offset: u32) -> *mut u32 {
        (self.base.wrapping_add(offset) & !3) as *mut u32
    }

    /// Reads the register at `offset`.
    pub fn word(&self, offset: u32) -> u32 {
        // SAFETY: the address is that of a register (`Port::at`), aligned to a word, and no object of the program lies there.
        unsafe { ptr::read_volatile(self.address(offset)) }
    }

    /// Writes the register at `offset`.
    pub fn set_word(&self, offset: u32, value: u32) {
        // SAFETY: as for `word`.
        unsafe { ptr::write_volatile(self.address(offset), value) }
    }
}

impl Bus for Port {
    fn read(&mut self, offset: u32) -> u32 {
        self.word(offset)
    }

    fn write(&mut self, offset: u32, value: u32) {
        self.set_word(offset, value);
    }
}
