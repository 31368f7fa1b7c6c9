//! Everything that crosses the host bus, described once: registers, command arguments, completion
//! entries and error records. The RTL takes its bit positions from here, the driver its typed access.
//!
//! ```text
//!             ┌── register::*  ──► address decode of the RTL, driver accesses
//!  this crate ┤
//!             └── layout modules (stag_entry, completion, …) ──► bit slices of the RTL,
//!                                                                Field::get / Field::put of the driver
//!              both ──► markdown (feature `alloc`) ──► docs/registers.md
//! ```
//!
//! All records are arrays of 32-bit words, little-endian in host memory, word 0 first.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(feature = "alloc")]
extern crate alloc;

mod field;
pub mod layout;
#[cfg(feature = "alloc")]
pub mod markdown;
pub mod register;

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
                // STAG and QUEUE of a completion share a word: the kind tells which one it is.
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
                let words = if register.name == "ERROR_RECORD" {
                    layout::error_record::WORDS
                } else {
                    1
                };
                for word in 0..words {
                    let at = register.at(index) as usize / 4 + word;
                    assert_eq!(used[at], "", "{} overlaps", register.name);
                    used[at] = register.name;
                }
            }
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
