//! Everything that crosses the host bus, described once: registers, command arguments, completion
//! entries and error records. The RTL takes its bit positions from here, and the driver reads and writes
//! fields by the same description.
//!
//! ```text
//!             ┌── register::*  ──► address decode of the RTL, driver accesses
//!  this crate ┤
//!             └── layout modules (stag_entry, completion, …) ──► bit slices of the RTL,
//!                                                                Field::get / Field::put of the driver
//!              both ──► markdown, rdl (feature `alloc`) ──► docs/registers.md, docs/registers.rdl
//! ```
//!
//! [`transmit`] describes send queues, which the RTL has as an option, and [`mailbox`] the way to the card's control program,
//! which it does not have: their registers and records are in lists of their own. [`sctp`] has what the option of DDP over SCTP adds.
//!
//! All records are arrays of 32-bit words, little-endian in host memory, word 0 first.
//!
//! ```
//! use warpline_regmap::{layout::stag_entry, register};
//!
//! let mut words = [0; stag_entry::WORDS];
//! stag_entry::STAG.put(&mut words, 0x0001_2345);
//! stag_entry::LENGTH.put(&mut words, 4096);
//! let arguments = (0..).zip(words).map(|(index, word)| (register::ARGUMENT.at(index), word));
//! let command = (register::COMMAND.offset, register::command::WRITE_STAG);
//! let writes: Vec<(u32, u32)> = arguments.chain([command]).collect();
//! assert_eq!(writes[0], (0x040, 0x0001_2345));
//! assert_eq!(writes[8], (0x020, 1));
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(feature = "alloc")]
extern crate alloc;

mod address;
#[macro_use]
mod codes_macro;
mod field;
#[macro_use]
pub mod layout;
#[cfg(feature = "alloc")]
pub mod markdown;
pub mod pci;
#[cfg(feature = "alloc")]
pub mod rdl;
pub mod register_list;
#[macro_use]
pub mod register;
pub mod mailbox;
pub mod processor;
pub mod sctp;
pub mod transmit;

pub use address::AddressFields;
pub use field::{Field, Layout, Value};
pub use register::{Access, Register};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_no_overlap_and_fit() {
        for layout in layout::LAYOUTS {
            let mut used = [false; 512];
            for field in layout.fields {
                // STAG and QUEUE of a completion share a word: `KIND` selects one of them.
                if layout.name == "completion" && field.name == "QUEUE" {
                    continue;
                }
                let end = field.lsb + field.width;
                assert!(
                    end <= 32 * layout.words,
                    "{}.{} leaves the record",
                    layout.name,
                    field.name
                );
                for bit in &mut used[field.lsb..end] {
                    assert!(!*bit, "{}.{} overlaps", layout.name, field.name);
                    *bit = true;
                }
            }
        }
    }

    #[test]
    fn registers_have_no_overlap_and_fit() {
        let mut used = [""; register::SPACE as usize / 4];
        for register in register::REGISTERS {
            for index in 0..register.count {
                for word in 0..register.words() as usize {
                    let at = register.at(index) as usize / 4 + word;
                    assert_eq!(used[at], "", "{} overlaps", register.name);
                    used[at] = register.name;
                    let (found, element, part) = register::locate(4 * at as u32 + 3).unwrap();
                    assert_eq!((found.name, element), (register.name, index));
                    assert_eq!(part as usize, word);
                }
            }
        }
    }

    #[test]
    fn nothing_is_found_between_registers() {
        for offset in [0x01c, 0x024, 0x0dc, 0x3ff + 1 + 8, 0x830, 0xc00, u32::MAX] {
            let found = register::locate(offset).map(|(register, ..)| register.name);
            assert_eq!(found, None, "{offset:#x}");
        }
    }

    #[test]
    fn masks_and_octets_follow_the_fields() {
        assert_eq!(
            register::ERROR_RECORD.words() as usize,
            layout::error_record::WORDS
        );
        assert_eq!(register::COMPLETION_ARM.mask(), u32::MAX);
        assert_eq!(register::COMPLETION_ARM.octets(), 0b1111);
        assert_eq!(register::COMMAND.mask(), 0xc000_00ff);
        assert_eq!(register::COMMAND.octets(), 0b1001);
        assert_eq!(register::COMMAND.writable(), 0xff);
        assert_eq!(register::SHAPE.writable(), 0);
        assert_eq!(register::RECEIVE_PRODUCER.octets(), 0b0011);
        assert_eq!(register::INTERRUPT_TEST.mask(), 0b11);
        let all_queues = register::STREAM_EDGE.count * register::RECEIVE_PRODUCER_STRIDE;
        assert_eq!(register::RECEIVE_PRODUCER.count, all_queues);
    }

    #[test]
    fn vectors_and_their_bits_have_the_same_numbers() {
        let fields = register::INTERRUPT_STATE.fields;
        assert_eq!(fields.len(), register::interrupt::COUNT);
        assert_eq!(
            fields[register::interrupt::COMPLETION],
            register::INTERRUPT_COMPLETION
        );
        assert_eq!(
            fields[register::interrupt::FAULT],
            register::INTERRUPT_FAULT
        );
        for (vector, field) in fields.iter().enumerate() {
            assert_eq!((field.lsb, field.width), (vector, 1));
        }
    }

    #[test]
    fn fields_read_back_what_was_put() {
        let mut words = [0xffff_ffff; 8];
        layout::stag_entry::BASE.put(&mut words, 0x0123_4567_89ab_cdef);
        layout::stag_entry::STREAM.put(&mut words, 0x5a);
        assert_eq!(layout::stag_entry::BASE.get(&words), 0x0123_4567_89ab_cdef);
        assert_eq!(words[2..4], [0x89ab_cdef, 0x0123_4567]);
        assert_eq!(layout::stag_entry::STREAM.get(&words), 0x5a);
        assert_eq!(words[1], 0xff5a_ffff);
    }
}
