//! Markers (RFC 5044 §4.3): four octets at every stream position that is a multiple of 512. Each
//! points back to the header of the FPDU that contains it.
//!
//! ```text
//!  position  0        4                                512       516
//!            ├ marker ┼ ULPDU_Length · ULPDU …          ├ marker ┼ … ULPDU · PAD · CRC
//!              0x0000 └────────── 0x01FC = 512 - 4 ─────┘
//! ```
//!
//! A stream position is `(TCP sequence number - SeqStart) mod 2^32`. 512 divides 2^32, so markers keep
//! their spacing when the sequence space wraps (MPA-MRK-22).

use crate::Field;

/// Distance between the first octets of neighbouring markers, in stream octets.
pub const SPACING: u32 = 512;
/// Size of a marker in octets.
pub const LEN: usize = 4;
/// FPDU octets between two neighbouring markers (MPA-MRK-17).
pub const CONTENT_SPACING: usize = SPACING as usize - LEN;
/// The receiver treats the two low FPDUPTR bits as zero (MPA-MRK-12).
pub const FPDUPTR_MASK: u16 = 0xFFFC;

/// Places of the marker's fields.
pub mod field {
    use super::Field;
    /// Sent as zero, ignored on receive, covered by the CRC.
    pub const RESERVED: Field = 0..2;
    /// Distance from the first octet of ULPDU_Length to this marker, big-endian.
    pub const FPDUPTR: Field = 2..4;
}

/// Stream position of a TCP sequence number.
pub const fn position(sequence: u32, seq_start: u32) -> u32 {
    sequence.wrapping_sub(seq_start)
}

/// Whether a marker begins at this stream position, if markers are in use.
pub const fn is_due(position: u32) -> bool {
    position.is_multiple_of(SPACING)
}

/// Number of markers in an FPDU that begins at `position` and has `content` octets without markers.
/// A marker directly after its last octet belongs to the next FPDU (MPA-MRK-08).
pub const fn count(position: u32, content: usize) -> usize {
    let before_first = (position.wrapping_neg() % SPACING) as usize;
    if content > before_first {
        1 + (content - before_first - 1) / CONTENT_SPACING
    } else {
        0
    }
}

/// FPDUPTR a marker at `marker_position` must hold when ULPDU_Length begins at `header_position`
/// (MPA-MRK-19). The distance is modulo 2^16; legal FPDUs stay below 2^16.
pub const fn expected_fpduptr(marker_position: u32, header_position: u32) -> u16 {
    let leading = header_position.wrapping_sub(marker_position) == LEN as u32;
    if leading {
        0
    } else {
        marker_position.wrapping_sub(header_position) as u16
    }
}

/// Position of the ULPDU_Length field that a received marker points at: directly after the marker
/// for a pointer of zero, else that many octets back, modulo 2^32 (MPA-MRK-09, MPA-MRK-13).
pub const fn header_position(marker_position: u32, fpduptr: u16) -> u32 {
    match fpduptr & FPDUPTR_MASK {
        0 => marker_position.wrapping_add(LEN as u32),
        distance => marker_position.wrapping_sub(distance as u32),
    }
}

/// The octets of a marker with this FPDUPTR.
pub const fn emit(fpduptr: u16) -> [u8; LEN] {
    let [high, low] = fpduptr.to_be_bytes();
    [0, 0, high, low]
}

/// View of a received marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker([u8; LEN]);

impl Marker {
    /// The marker in the first four of `octets`, or `None` if there are fewer.
    pub fn new_checked(octets: &[u8]) -> Option<Self> {
        octets.first_chunk().copied().map(Self)
    }

    /// FPDUPTR as received, low bits included.
    pub const fn fpduptr(&self) -> u16 {
        u16::from_be_bytes([
            self.0[field::FPDUPTR.start],
            self.0[field::FPDUPTR.start + 1],
        ])
    }

    /// Whether the marker holds the expected pointer; RESERVED and the low two bits are ignored.
    pub const fn agrees_with(&self, expected: u16) -> bool {
        self.fpduptr() & FPDUPTR_MASK == expected & FPDUPTR_MASK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: MPA-MRK-04, MPA-MRK-06, MPA-MRK-22
    #[test]
    fn markers_stand_at_multiples_of_512_from_seq_start_across_the_wrap() {
        for (seq_start, markers) in [
            (11, [11, 523, 1035]),
            (0xFFFF_FF00, [0xFFFF_FF00, 0x0000_0100, 0x0000_0300]),
        ] {
            let found = (0..0x404u32)
                .map(|octet| u32::wrapping_add(seq_start, octet))
                .filter(|&sequence| is_due(position(sequence, seq_start)));
            assert!(found.eq(markers));
        }
        // Over five GiB of 4-octet steps the counter wraps once; every 128th step stays a marker.
        let mut at = 0xFFFF_FE00u32;
        for _ in 0..(5u64 << 30) / u64::from(SPACING) {
            assert!(is_due(at) && !is_due(at.wrapping_add(4)));
            at = at.wrapping_add(SPACING);
        }
    }

    // req: MPA-FMT-15, MPA-MRK-05, MPA-MRK-07, MPA-MRK-08, MPA-MRK-09, MPA-MRK-13, MPA-MRK-19
    #[test]
    fn a_pointer_and_the_header_it_names_agree() {
        assert_eq!(expected_fpduptr(0, 4), 0);
        assert_eq!(expected_fpduptr(0x200, 0x1EC), 0x14);
        assert_eq!(expected_fpduptr(0x200, 4), 0x1FC);
        assert_eq!(header_position(512, 0), 516);
        assert_eq!(header_position(0x0000_0100, 0x0110), 0xFFFF_FFF0);
        assert_eq!(header_position(512, 0x000F), 500);
    }

    // req: MPA-FMT-12, MPA-FMT-13, MPA-FMT-14, MPA-MRK-12
    #[test]
    fn layout_and_ignored_bits() {
        assert_eq!(emit(0x000C), [0, 0, 0, 0x0C]);
        let marker = Marker::new_checked(&[0xFF, 0xFF, 0x00, 0x0F, 0xAA]).unwrap();
        assert_eq!(marker.fpduptr(), 0x000F);
        assert!(marker.agrees_with(0x000C));
        assert!(!marker.agrees_with(0x0010));
        assert_eq!(Marker::new_checked(&[0, 0, 0]), None);
    }
}
