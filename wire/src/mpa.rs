//! FPDUs (RFC 5044 §4): how MPA frames one ULPDU, how long a frame is on the wire, and how large a
//! ULPDU may be.
//!
//! ```text
//!  0              2                 2+L        2+L+P      6+L+P     without markers
//!  ├ ULPDU_Length ┼ ULPDU (L octets) ┼ PAD (P) ─┼ CRC ─────┤
//! ```
//!
//! An FPDU is a multiple of four octets, so each one begins at a stream position that is a multiple
//! of four, and a marker never splits ULPDU_Length, PAD or CRC (MPA-FMT-11, MPA-MRK-18).

use crate::{crc, marker};
use thiserror::Error;

/// Every FPDU is a multiple of this many octets.
pub const ALIGN: usize = 4;
/// Size of the ULPDU_Length field in octets.
pub const LENGTH_LEN: usize = 2;
/// Least number of octets that an FPDU adds to its ULPDU: length field and CRC.
pub const MIN_OVERHEAD: usize = LENGTH_LEN + crc::LEN;
/// Largest ULPDU a sender may post, and the upper end of MULPDU (MPA-SEG-06).
pub const MAX_ULPDU: u16 = 64768;
/// Lower end of MULPDU, for any EMSS (MPA-SEG-04).
pub const MIN_MULPDU: u16 = 128;
/// Largest legal FPDU without markers, in octets.
pub const MAX_FPDU_UNMARKED: usize = 64776;
/// Largest legal FPDU with markers, over all stream positions, in octets.
pub const MAX_FPDU_MARKED: usize = 65288;
/// Largest FPDUPTR a legal FPDU holds.
pub const MAX_FPDUPTR: u16 = 0xFF00;
/// Smallest legal reassembly buffer: FPDU of a 128-octet ULPDU with one marker (MPA-RCV-31).
pub const MIN_REASSEMBLY: usize = 140;
/// Default of the receiver's FPDU limit, above every legal FPDU (AMB-22).
pub const DEFAULT_MAX_FPDU: usize = 65536;

/// Places of the FPDU's fields, without markers.
pub mod field {
    use crate::Field;
    /// Number of ULPDU octets, big-endian.
    pub const ULPDU_LENGTH: Field = 0..2;
    /// First ULPDU octet.
    pub const ULPDU: usize = 2;

    /// The ULPDU of an FPDU with this ULPDU_Length.
    pub const fn ulpdu(length: u16) -> Field {
        ULPDU..ULPDU + length as usize
    }

    /// The PAD, 0 to 3 octets.
    pub const fn pad(length: u16) -> Field {
        let start = ULPDU + length as usize;
        start..start + super::pad_len(length as usize)
    }

    /// The CRC field.
    pub const fn crc(length: u16) -> Field {
        let start = super::body_len(length as usize);
        start..start + crate::crc::LEN
    }
}

/// PAD octets after a ULPDU of `ulpdu_len` octets (MPA-FMT-05).
pub const fn pad_len(ulpdu_len: usize) -> usize {
    (ALIGN - (LENGTH_LEN + ulpdu_len) % ALIGN) % ALIGN
}

/// Octets of length field, ULPDU and PAD.
pub const fn body_len(ulpdu_len: usize) -> usize {
    LENGTH_LEN + ulpdu_len + pad_len(ulpdu_len)
}

/// Octets on the wire, markers included, of an FPDU that begins at stream position `position`. If a
/// marker is due there, it leads the FPDU (MPA-FMT-10).
pub const fn fpdu_len(position: u32, ulpdu_len: usize, markers: bool) -> usize {
    let content = body_len(ulpdu_len) + crc::LEN;
    if markers {
        content + marker::LEN * marker::count(position, content)
    } else {
        content
    }
}

/// MULPDU for an effective maximum segment size: the largest ULPDU whose FPDU fits one TCP segment
/// at every stream position, clamped to 128..=64768 (MPA-SEG-01..04, RFC 5044 §4.5).
pub const fn mulpdu(emss: u32, markers: bool) -> u16 {
    let marker_octets = if markers {
        marker::LEN as u32 * emss.div_ceil(marker::SPACING)
    } else {
        0
    };
    let overhead = MIN_OVERHEAD as u32 + marker_octets + emss % ALIGN as u32;
    let room = emss.saturating_sub(overhead);
    if room < MIN_MULPDU as u32 {
        MIN_MULPDU
    } else if room > MAX_ULPDU as u32 {
        MAX_ULPDU
    } else {
        room as u16
    }
}

/// An FPDU buffer is shorter than its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("FPDU has {have} of {need} octets: receive the rest first")]
pub struct Truncated {
    /// Octets in the buffer.
    pub have: usize,
    /// Octets the FPDU needs, as far as its length is known.
    pub need: usize,
}

/// View of one FPDU without its markers.
#[derive(Clone, Copy, Debug)]
pub struct Fpdu<T> {
    buffer: T,
}

impl<T: AsRef<[u8]>> Fpdu<T> {
    /// Checks that `buffer` holds a whole FPDU; it may hold more octets.
    pub fn new_checked(buffer: T) -> Result<Self, Truncated> {
        let have = buffer.as_ref().len();
        let Some(length) = buffer.as_ref().first_chunk() else {
            return Err(Truncated {
                have,
                need: LENGTH_LEN,
            });
        };
        let need = field::crc(u16::from_be_bytes(*length)).end;
        if have < need {
            return Err(Truncated { have, need });
        }
        Ok(Self { buffer })
    }

    /// Octets of the ULPDU.
    pub fn ulpdu_length(&self) -> u16 {
        let octets = self.buffer.as_ref();
        u16::from_be_bytes([octets[0], octets[1]])
    }

    /// The ULPDU: one DDP segment.
    pub fn ulpdu(&self) -> &[u8] {
        &self.buffer.as_ref()[field::ulpdu(self.ulpdu_length())]
    }

    /// The PAD octets; their values have no meaning (MPA-FMT-07).
    pub fn pad(&self) -> &[u8] {
        &self.buffer.as_ref()[field::pad(self.ulpdu_length())]
    }

    /// Value of the CRC field.
    pub fn crc(&self) -> u32 {
        let octets = &self.buffer.as_ref()[field::crc(self.ulpdu_length())];
        crc::from_wire([octets[0], octets[1], octets[2], octets[3]])
    }

    /// Octets of the whole FPDU.
    pub fn total_len(&self) -> usize {
        field::crc(self.ulpdu_length()).end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: MPA-FMT-05
    #[test]
    fn pad_fills_to_four() {
        assert!((0..7).map(pad_len).eq([2, 1, 0, 3, 2, 1, 0]));
    }

    // req: MPA-FMT-03, MPA-FMT-04, MPA-FMT-07
    #[test]
    fn view_finds_the_fields() {
        let octets = [0x00, 0x01, 0xA5, 0xDE, 0xE9, 0x39, 0x46, 0x34, 0xFF];
        let fpdu = Fpdu::new_checked(&octets).unwrap();
        assert_eq!(fpdu.ulpdu_length(), 1);
        assert_eq!(fpdu.ulpdu(), [0xA5]);
        assert_eq!(fpdu.pad(), [0xDE]);
        assert_eq!(fpdu.crc(), 0x3446_39E9);
        assert_eq!(fpdu.total_len(), 8);
        let short = Fpdu::new_checked(&octets[..7]).unwrap_err();
        assert_eq!(short, Truncated { have: 7, need: 8 });
    }

    // req: MPA-FMT-10, MPA-FMT-11, MPA-MRK-17
    #[test]
    fn wire_length_equals_a_word_by_word_count() {
        for position in (0..1024).step_by(4) {
            for ulpdu_len in 0..1100 {
                let mut at = position;
                for _ in 0..(body_len(ulpdu_len) + crc::LEN) / ALIGN {
                    at += if marker::is_due(at) { 8 } else { 4 };
                }
                assert_eq!(
                    fpdu_len(position, ulpdu_len, true),
                    (at - position) as usize
                );
            }
        }
    }
}
