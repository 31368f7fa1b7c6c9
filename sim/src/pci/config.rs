//! The configuration space: a table of fields and the bits that a host may change.
//!
//! ```text
//!  0x00 header, type 0 ─► 0x40 power management ─► 0x50 MSI-X ─► 0x60 PCI Express endpoint ─► end of the list
//! ```
//!
//! Sections are those of the PCI Local Bus Specification 3.0 and the PCI Express Base Specification 3.0. All numbers are
//! little-endian, and a host may access any octets of a number.

use std::ops::Range;

use warpline_regmap::pci;

/// Octets of the space. There is no extended space (from 0x100 on): no capability of it is needed.
pub(crate) const SIZE: usize = 256;

const POWER: u8 = 0x40;
const MSIX: u8 = 0x50;
const EXPRESS: u8 = 0x60;

const COMMAND: usize = 0x04;
const COMMAND_MEMORY: u8 = 1 << 1;
const COMMAND_MASTER: u8 = 1 << 2;
const POWER_STATUS: usize = POWER as usize + 4;
const MSIX_CONTROL: usize = MSIX as usize + 2;
const DEVICE_CONTROL: usize = EXPRESS as usize + 8;
/// Bit of the upper octet of Device Control that resets the function.
const RESET: u8 = 1 << 7;

/// What a host may do to the bits of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// Nothing.
    Fixed,
    /// Change those in the mask.
    Change(u32),
    /// Clear those in the mask by writing 1.
    Clear(u32),
}

/// A field of the space.
struct Field {
    offset: usize,
    /// Octets: 1 to 4.
    octets: usize,
    /// After reset.
    value: u32,
    access: Access,
}

const fn field(offset: usize, octets: usize, value: u32, access: Access) -> Field {
    Field {
        offset,
        octets,
        value,
        access,
    }
}

const fn fixed(offset: usize, octets: usize, value: u32) -> Field {
    field(offset, octets, value, Access::Fixed)
}

/// A field of a capability.
const fn at(capability: u8, offset: usize) -> usize {
    capability as usize + offset
}

/// A base address register of 32 bits: the bits below the size are zero, by which the host finds the size.
const fn bar(number: usize, size: u32) -> Field {
    field(0x10 + 4 * number, 4, 0, Access::Change(!(size - 1)))
}

/// A capability's number, and the offset of the next one.
const fn capability(offset: u8, number: u8, next: u8) -> Field {
    fixed(offset as usize, 2, number as u32 | (next as u32) << 8)
}

/// All fields that are not a fixed zero.
#[rustfmt::skip]
const FIELDS: &[Field] = &[
    // Header (PCI §6.1, §6.2).
    fixed(0x00, 2, pci::VENDOR as u32),
    fixed(0x02, 2, pci::DEVICE as u32),
    // Command: memory space, bus master, parity error response, SERR# enable, interrupt disable; no I/O space.
    field(COMMAND, 2, 0, Access::Change(0x0546)),
    // Status: there is a list of capabilities.
    field(0x06, 2, 0x0010, Access::Clear(0xF900)),
    fixed(0x08, 1, pci::REVISION as u32),
    fixed(0x09, 3, pci::CLASS),
    // Cache line size: has no effect (PCI Express §7.5.1.3).
    field(0x0C, 1, 0, Access::Change(0xFF)),
    bar(pci::REGISTER_BAR, pci::REGISTER_BAR_SIZE as u32),
    bar(pci::MSIX_BAR, pci::MSIX_BAR_SIZE as u32),
    fixed(0x2C, 2, pci::SUBSYSTEM_VENDOR as u32),
    fixed(0x2E, 2, pci::SUBSYSTEM as u32),
    fixed(0x34, 1, POWER as u32),
    // Interrupt line: a scratch register for the host. Interrupt pin 0: messages only.
    field(0x3C, 1, 0, Access::Change(0xFF)),

    // Power management (PCI Bus Power Management 1.2 §3.2): version 3, D0 and D3hot, nothing is lost in D3hot.
    capability(POWER, 0x01, MSIX),
    fixed(at(POWER, 2), 2, 0x0003),
    field(POWER_STATUS, 2, 0x0008, Access::Change(0x0003)),

    // MSI-X (PCI §6.8.2): enable, function mask.
    capability(MSIX, 0x11, EXPRESS),
    field(MSIX_CONTROL, 2, pci::VECTORS as u32 - 1, Access::Change(0xC000)),
    fixed(at(MSIX, 4), 4, pci::MSIX_TABLE as u32 | pci::MSIX_BAR as u32),
    fixed(at(MSIX, 8), 4, pci::MSIX_PENDING as u32 | pci::MSIX_BAR as u32),

    // PCI Express (§7.8): version 2, endpoint.
    capability(EXPRESS, 0x10, 0),
    fixed(at(EXPRESS, 0x02), 2, 0x0002),
    // Device: payload up to 256 octets, role-based error reporting, function level reset.
    fixed(at(EXPRESS, 0x04), 4, 0x1000_8001),
    // Relaxed ordering, no snoop, reads of up to 512 octets. The bit that resets the function reads 0.
    field(DEVICE_CONTROL, 2, 0x2810, Access::Change(0x78FF)),
    field(at(EXPRESS, 0x0A), 2, 0, Access::Clear(0x000F)),
    // Link: one lane of 2.5 GT/s; there is no real link.
    fixed(at(EXPRESS, 0x0C), 4, 0x0000_0011),
    field(at(EXPRESS, 0x10), 2, 0, Access::Change(0x00CB)),
    fixed(at(EXPRESS, 0x12), 2, 0x0011),
    // Completion time-outs can be disabled: the card has none.
    fixed(at(EXPRESS, 0x24), 4, 0x0000_0010),
    field(at(EXPRESS, 0x28), 2, 0, Access::Change(0x0010)),
    // Supported link speeds, and the target speed.
    fixed(at(EXPRESS, 0x2C), 4, 0x0000_0002),
    field(at(EXPRESS, 0x30), 2, 0x0001, Access::Fixed),
];

/// The space of a function.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    values: [u8; SIZE],
    /// Bits that a write changes.
    changeable: [u8; SIZE],
    /// Bits that a 1 clears.
    clearable: [u8; SIZE],
}

impl Configuration {
    /// The space after power-up.
    pub fn new() -> Self {
        let mut space = Self {
            values: [0; SIZE],
            changeable: [0; SIZE],
            clearable: [0; SIZE],
        };
        for field in FIELDS {
            let octets = field.offset..field.offset + field.octets;
            let put = |to: &mut [u8; SIZE], value: u32| {
                to[octets.clone()].copy_from_slice(&value.to_le_bytes()[..field.octets]);
            };
            put(&mut space.values, field.value);
            match field.access {
                Access::Fixed => {}
                Access::Change(mask) => put(&mut space.changeable, mask),
                Access::Clear(mask) => put(&mut space.clearable, mask),
            }
        }
        space
    }

    /// Reads octets from `offset` on; those outside read zero.
    pub fn read(&self, offset: u64, octets: &mut [u8]) {
        let range = inside(offset, octets.len());
        octets.fill(0);
        octets[..range.len()].copy_from_slice(&self.values[range]);
    }

    /// Writes the changeable bits of octets from `offset` on. True when the write requests a reset of the function.
    #[must_use]
    pub fn write(&mut self, offset: u64, octets: &[u8]) -> bool {
        let power = self.values[POWER_STATUS];
        let mut reset = false;
        for (at, &octet) in inside(offset, octets.len()).zip(octets) {
            let change = self.changeable[at];
            let value = &mut self.values[at];
            *value = (*value & !change | octet & change) & !(octet & self.clearable[at]);
            reset |= at == DEVICE_CONTROL + 1 && octet & RESET != 0;
        }
        if matches!(self.values[POWER_STATUS] & 3, 1 | 2) {
            self.values[POWER_STATUS] = power; // D1 and D2 are not supported: such a write has no effect
        }
        reset
    }

    /// The function answers accesses to its memory.
    pub fn answers(&self) -> bool {
        self.values[COMMAND] & COMMAND_MEMORY != 0 && self.is_awake()
    }

    /// The function may read and write host memory and send messages.
    pub fn is_master(&self) -> bool {
        self.values[COMMAND] & COMMAND_MASTER != 0 && self.is_awake()
    }

    fn is_awake(&self) -> bool {
        self.values[POWER_STATUS] & 3 == 0
    }
}

/// The part of an access that lies in the space.
fn inside(offset: u64, octets: usize) -> Range<usize> {
    let start = usize::try_from(offset).unwrap_or(SIZE).min(SIZE);
    start..start + octets.min(SIZE - start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(space: &Configuration, offset: usize, octets: usize) -> u32 {
        let mut number = [0; 4];
        space.read(offset as u64, &mut number[..octets]);
        u32::from_le_bytes(number)
    }

    fn write(space: &mut Configuration, offset: usize, value: u32, octets: usize) -> bool {
        space.write(offset as u64, &value.to_le_bytes()[..octets])
    }

    #[test]
    fn fields_lie_apart_and_masks_inside() {
        let mut owner = [None; SIZE];
        for field in FIELDS {
            let mask = u32::MAX >> (32 - 8 * field.octets);
            assert_eq!(field.value & !mask, 0, "{:#x}", field.offset);
            let (Access::Change(bits) | Access::Clear(bits)) = field.access else {
                continue;
            };
            assert_eq!(bits & !mask, 0, "{:#x}", field.offset);
        }
        for (i, field) in FIELDS.iter().enumerate() {
            for owner in &mut owner[field.offset..field.offset + field.octets] {
                assert_eq!(owner.replace(i), None, "{:#x}", field.offset);
            }
        }
    }

    #[test]
    fn the_list_of_capabilities_is_whole() {
        let space = Configuration::new();
        assert_eq!(number(&space, 0x06, 2) >> 4 & 1, 1);
        let mut found = Vec::new();
        let mut next = number(&space, 0x34, 1) as usize;
        while next != 0 {
            assert!(next >= 0x40 && next.is_multiple_of(4), "{next:#x}");
            found.push(number(&space, next, 1));
            next = number(&space, next + 1, 1) as usize;
        }
        assert_eq!(found, [0x01, 0x11, 0x10]);
    }

    #[test]
    fn the_header_says_what_it_is() {
        let space = Configuration::new();
        let id = u32::from(pci::VENDOR) | u32::from(pci::DEVICE) << 16;
        assert_eq!(number(&space, 0, 4), id);
        let class = pci::CLASS << 8 | u32::from(pci::REVISION);
        assert_eq!(number(&space, 8, 4), class);
        assert_eq!(number(&space, 0x0E, 1), 0, "header type 0, one function");
        assert_eq!(number(&space, 0x3D, 1), 0, "no interrupt pin");
        let table = number(&space, MSIX.into(), 4) >> 16 & 0x7FF;
        assert_eq!(table as usize + 1, pci::VECTORS);
    }

    #[test]
    fn bars_tell_their_size() {
        let mut space = Configuration::new();
        let sizes = (0..6).map(|i| {
            let _ = write(&mut space, 0x10 + 4 * i, u32::MAX, 4);
            let sizing = number(&space, 0x10 + 4 * i, 4);
            assert_eq!(sizing & 0xF, 0, "32 bits, not prefetchable");
            (i, (!sizing).wrapping_add(1))
        });
        let there: Vec<_> = sizes.filter(|(_, size)| *size != 0).collect();
        let mut expected = vec![
            (pci::REGISTER_BAR, pci::REGISTER_BAR_SIZE as u32),
            (pci::MSIX_BAR, pci::MSIX_BAR_SIZE as u32),
        ];
        expected.sort_unstable();
        assert_eq!(there, expected);
        let _ = write(&mut space, 0x10, 0xFEDC_BA98, 4);
        assert_eq!(number(&space, 0x10, 4), 0xFEDC_B000);
    }

    #[test]
    fn writes_change_what_they_may() {
        let mut space = Configuration::new();
        let fresh = space.clone();
        assert!(!write(&mut space, 0, u32::MAX, 4));
        assert_eq!(space.values, fresh.values);
        for at in 0..SIZE {
            let mut space = fresh.clone();
            let _ = space.write(at as u64, &[0xFF]);
            let mut expected = fresh.values;
            expected[at] = (expected[at] | fresh.changeable[at]) & !fresh.clearable[at];
            assert_eq!(space.values, expected, "{at:#x}");
        }
    }

    #[test]
    fn status_bits_are_cleared_by_ones() {
        let mut space = Configuration::new();
        space.values[0x07] = 0xF9;
        let _ = write(&mut space, 0x06, 0x2000, 2);
        assert_eq!(number(&space, 0x06, 2), 0xD910);
        let _ = write(&mut space, 0x06, 0xFFFF, 2);
        assert_eq!(number(&space, 0x06, 2), 0x0010);
    }

    #[test]
    fn command_and_power_state_gate_the_function() {
        let mut space = Configuration::new();
        let gates = |space: &Configuration| (space.answers(), space.is_master());
        assert_eq!(gates(&space), (false, false));
        let _ = write(&mut space, COMMAND, 0x0002, 2);
        assert_eq!(gates(&space), (true, false));
        let _ = write(&mut space, COMMAND, 0x0006, 1);
        assert_eq!(gates(&space), (true, true));
        for absent in [1, 2] {
            let _ = write(&mut space, POWER_STATUS, absent, 2);
            assert_eq!(number(&space, POWER_STATUS, 2), 0x0008);
        }
        let _ = write(&mut space, POWER_STATUS, 3, 2);
        assert_eq!(number(&space, POWER_STATUS, 2), 0x000B);
        assert_eq!(gates(&space), (false, false));
        let _ = write(&mut space, POWER_STATUS, 0, 2);
        assert_eq!(gates(&space), (true, true), "nothing was lost");
    }

    #[test]
    fn a_reset_is_asked_for_by_its_bit_alone() {
        let mut space = Configuration::new();
        assert!(!write(&mut space, DEVICE_CONTROL, 0x7FFF, 2));
        assert!(write(&mut space, DEVICE_CONTROL, 0x8000, 2));
        assert!(space.write(DEVICE_CONTROL as u64 + 1, &[RESET]));
        assert_eq!(number(&space, DEVICE_CONTROL, 2) >> 15, 0);
    }

    #[test]
    fn outside_everything_reads_zero() {
        let mut space = Configuration::new();
        let mut octets = [0xFF; 4];
        space.read(254, &mut octets);
        assert_eq!(octets, [0; 4]);
        space.read(u64::MAX, &mut octets[..1]);
        let fresh = space.values;
        assert!(!space.write(254, &[0xFF; 4]));
        assert!(!space.write(u64::MAX, &[0xFF; 1]));
        assert_eq!(space.values, fresh);
    }
}
