//! DDP segments (RFC 5041 §4): the control octet, the tagged header (14 octets) and the untagged
//! header (18 octets).
//!
//! ```text
//!   0         1          2              6             10     14     18
//!   ├ control ┼ RsvdULP ─┼ STag ────────┼ TO ────────────────┼ payload        T = 1
//!   ├ control ┼ RsvdULP ────────────────┼ QN ──────────┼ MSN ┼ MO ──┼ payload T = 0
//! ```
//!
//! Over MPA a DDP segment begins two octets into its FPDU. This aligns every 32-bit field to a 32-bit
//! boundary of the FPDU (DDP-HDR-17); [`fpdu_field`] holds those offsets.

use thiserror::Error;

/// The only DDP version (DDP-HDR-12).
pub const VERSION: u8 = 1;
/// Octets of the tagged header.
pub const TAGGED_HEADER_LEN: usize = 14;
/// Octets of the untagged header.
pub const UNTAGGED_HEADER_LEN: usize = 18;
/// Octets of the longer header.
pub const MAX_HEADER_LEN: usize = UNTAGGED_HEADER_LEN;

/// Bits of the control octet.
pub mod control {
    /// T: the segment targets a Tagged Buffer.
    pub const TAGGED: u8 = 0x80;
    /// L: last segment of its message.
    pub const LAST: u8 = 0x40;
    /// Rsvd: sent as zero, not checked on receive.
    pub const RSVD: u8 = 0x3C;
    /// DV: the DDP version.
    pub const VERSION: u8 = 0x03;
}

/// Places of the header fields, from the first octet of the segment.
pub mod field {
    /// The control octet.
    pub const CONTROL: usize = 0;

    /// Fields of the tagged header.
    pub mod tagged {
        use crate::Field;
        /// One octet, opaque to DDP.
        pub const RSVD_ULP: Field = 1..2;
        /// Name of the Tagged Buffer.
        pub const STAG: Field = 2..6;
        /// Tagged Offset of the first payload octet.
        pub const TO: Field = 6..14;
        /// First payload octet.
        pub const PAYLOAD: usize = 14;
    }

    /// Parts of an STag, from its first octet (AMB-50).
    pub mod stag {
        use crate::Field;
        /// The index, which an implementation chooses.
        pub const INDEX: Field = 0..3;
        /// The key, which its user chooses.
        pub const KEY: Field = 3..4;
    }

    /// Fields of the untagged header.
    pub mod untagged {
        use crate::Field;
        /// Five octets, opaque to DDP.
        pub const RSVD_ULP: Field = 1..6;
        /// Queue number.
        pub const QN: Field = 6..10;
        /// Message sequence number.
        pub const MSN: Field = 10..14;
        /// Message offset of the first payload octet.
        pub const MO: Field = 14..18;
        /// First payload octet.
        pub const PAYLOAD: usize = 18;
    }
}

/// The same places, from the first octet of ULPDU_Length and without markers.
pub mod fpdu_field {
    use crate::{Field, mpa::field::ULPDU};

    const fn shifted(field: Field) -> Field {
        field.start + ULPDU..field.end + ULPDU
    }

    /// The control octet.
    pub const CONTROL: usize = super::field::CONTROL + ULPDU;

    /// Fields of the tagged header.
    pub mod tagged {
        use super::{Field, ULPDU, shifted};
        use crate::ddp::field::tagged;
        /// One octet, opaque to DDP.
        pub const RSVD_ULP: Field = shifted(tagged::RSVD_ULP);
        /// Name of the Tagged Buffer.
        pub const STAG: Field = shifted(tagged::STAG);
        /// Tagged Offset of the first payload octet.
        pub const TO: Field = shifted(tagged::TO);
        /// First payload octet.
        pub const PAYLOAD: usize = tagged::PAYLOAD + ULPDU;
    }

    /// Fields of the untagged header.
    pub mod untagged {
        use super::{Field, ULPDU, shifted};
        use crate::ddp::field::untagged;
        /// Five octets, opaque to DDP.
        pub const RSVD_ULP: Field = shifted(untagged::RSVD_ULP);
        /// Queue number.
        pub const QN: Field = shifted(untagged::QN);
        /// Message sequence number.
        pub const MSN: Field = shifted(untagged::MSN);
        /// Message offset of the first payload octet.
        pub const MO: Field = shifted(untagged::MO);
        /// First payload octet.
        pub const PAYLOAD: usize = untagged::PAYLOAD + ULPDU;
    }
}

/// A DDP segment cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The header is incomplete.
    #[error("DDP segment of {have} octets is shorter than its {need}-octet header")]
    Truncated {
        /// Octets in the segment.
        have: usize,
        /// Octets of the header that its T bit announces; 14 if the segment is empty.
        need: usize,
    },
    /// The view is for the other header format.
    #[error("control octet {control:#04x} announces the other header format: use the other view")]
    OtherFormat {
        /// The control octet.
        control: u8,
    },
    /// DV is not 1.
    #[error("DDP version {version} is not supported: only version 1 exists")]
    Version {
        /// DV as received.
        version: u8,
        /// The T bit, which selects the error number.
        tagged: bool,
    },
}

/// The control octet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control(pub u8);

impl Control {
    /// The octet a sender writes.
    pub const fn new(tagged: bool, last: bool) -> Self {
        let tagged = if tagged { control::TAGGED } else { 0 };
        let last = if last { control::LAST } else { 0 };
        Self(tagged | last | VERSION)
    }

    /// T bit.
    pub const fn tagged(self) -> bool {
        self.0 & control::TAGGED != 0
    }

    /// L bit.
    pub const fn last(self) -> bool {
        self.0 & control::LAST != 0
    }

    /// DV.
    pub const fn version(self) -> u8 {
        self.0 & control::VERSION
    }

    /// Octets of the header, which T selects.
    pub const fn header_len(self) -> usize {
        if self.tagged() {
            TAGGED_HEADER_LEN
        } else {
            UNTAGGED_HEADER_LEN
        }
    }
}

/// The control octet of a DDP segment whose header is complete.
fn complete(segment: &[u8]) -> Result<Control, Error> {
    let control = segment.first().map(|&octet| Control(octet));
    let need = control.map_or(TAGGED_HEADER_LEN, Control::header_len);
    match control {
        Some(control) if segment.len() >= need => Ok(control),
        _ => Err(Error::Truncated {
            have: segment.len(),
            need,
        }),
    }
}

/// Copies a field; the caller's view has checked the length.
fn octets<const N: usize>(segment: &[u8], field: crate::Field) -> [u8; N] {
    let mut octets = [0; N];
    octets.copy_from_slice(&segment[field]);
    octets
}

/// View of a tagged DDP segment.
#[derive(Clone, Copy, Debug)]
pub struct TaggedSegment<T> {
    buffer: T,
}

impl<T: AsRef<[u8]>> TaggedSegment<T> {
    /// Checks that the header is complete and has T = 1; the caller checks DV.
    pub fn new_checked(buffer: T) -> Result<Self, Error> {
        let control = complete(buffer.as_ref())?;
        if !control.tagged() {
            return Err(Error::OtherFormat { control: control.0 });
        }
        Ok(Self { buffer })
    }

    /// The control octet.
    pub fn control(&self) -> Control {
        Control(self.buffer.as_ref()[field::CONTROL])
    }

    /// The ULP's octet.
    pub fn rsvd_ulp(&self) -> u8 {
        self.buffer.as_ref()[field::tagged::RSVD_ULP.start]
    }

    /// Name of the Tagged Buffer.
    pub fn stag(&self) -> u32 {
        u32::from_be_bytes(octets(self.buffer.as_ref(), field::tagged::STAG))
    }

    /// Tagged Offset of the first payload octet.
    pub fn to(&self) -> u64 {
        u64::from_be_bytes(octets(self.buffer.as_ref(), field::tagged::TO))
    }

    /// The payload.
    pub fn payload(&self) -> &[u8] {
        &self.buffer.as_ref()[field::tagged::PAYLOAD..]
    }
}

/// View of an untagged DDP segment.
#[derive(Clone, Copy, Debug)]
pub struct UntaggedSegment<T> {
    buffer: T,
}

impl<T: AsRef<[u8]>> UntaggedSegment<T> {
    /// Checks that the header is complete and has T = 0; the caller checks DV.
    pub fn new_checked(buffer: T) -> Result<Self, Error> {
        let control = complete(buffer.as_ref())?;
        if control.tagged() {
            return Err(Error::OtherFormat { control: control.0 });
        }
        Ok(Self { buffer })
    }

    /// The control octet.
    pub fn control(&self) -> Control {
        Control(self.buffer.as_ref()[field::CONTROL])
    }

    /// The ULP's five octets in wire order.
    pub fn rsvd_ulp(&self) -> [u8; 5] {
        octets(self.buffer.as_ref(), field::untagged::RSVD_ULP)
    }

    /// Queue number.
    pub fn qn(&self) -> u32 {
        u32::from_be_bytes(octets(self.buffer.as_ref(), field::untagged::QN))
    }

    /// Message sequence number.
    pub fn msn(&self) -> u32 {
        u32::from_be_bytes(octets(self.buffer.as_ref(), field::untagged::MSN))
    }

    /// Message offset of the first payload octet.
    pub fn mo(&self) -> u32 {
        u32::from_be_bytes(octets(self.buffer.as_ref(), field::untagged::MO))
    }

    /// The payload.
    pub fn payload(&self) -> &[u8] {
        &self.buffer.as_ref()[field::untagged::PAYLOAD..]
    }
}

/// Meaning of a tagged header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaggedHeader {
    /// L: last segment of its message.
    pub last: bool,
    /// The ULP's octet.
    pub rsvd_ulp: u8,
    /// Name of the Tagged Buffer.
    pub stag: u32,
    /// Tagged Offset of the first payload octet.
    pub to: u64,
}

impl TaggedHeader {
    /// The header's octets; Rsvd is zero and DV is 1 (DDP-HDR-10, DDP-HDR-12).
    pub fn emit(&self) -> [u8; TAGGED_HEADER_LEN] {
        let mut header = [0; TAGGED_HEADER_LEN];
        header[field::CONTROL] = Control::new(true, self.last).0;
        header[field::tagged::RSVD_ULP.start] = self.rsvd_ulp;
        header[field::tagged::STAG].copy_from_slice(&self.stag.to_be_bytes());
        header[field::tagged::TO].copy_from_slice(&self.to.to_be_bytes());
        header
    }
}

/// Meaning of an untagged header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UntaggedHeader {
    /// L: last segment of its message.
    pub last: bool,
    /// The ULP's five octets in wire order.
    pub rsvd_ulp: [u8; 5],
    /// Queue number.
    pub qn: u32,
    /// Message sequence number.
    pub msn: u32,
    /// Message offset of the first payload octet.
    pub mo: u32,
}

impl UntaggedHeader {
    /// The header's octets; Rsvd is zero and DV is 1 (DDP-HDR-10, DDP-HDR-12).
    pub fn emit(&self) -> [u8; UNTAGGED_HEADER_LEN] {
        let mut header = [0; UNTAGGED_HEADER_LEN];
        header[field::CONTROL] = Control::new(false, self.last).0;
        header[field::untagged::RSVD_ULP].copy_from_slice(&self.rsvd_ulp);
        header[field::untagged::QN].copy_from_slice(&self.qn.to_be_bytes());
        header[field::untagged::MSN].copy_from_slice(&self.msn.to_be_bytes());
        header[field::untagged::MO].copy_from_slice(&self.mo.to_be_bytes());
        header
    }
}

/// Meaning of either header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// T = 1.
    Tagged(TaggedHeader),
    /// T = 0.
    Untagged(UntaggedHeader),
}

impl Header {
    /// Parses a segment's header and returns it with the payload. It checks the length, then DV, and
    /// nothing else (AMB-20).
    pub fn parse(segment: &[u8]) -> Result<(Self, &[u8]), Error> {
        let control = complete(segment)?;
        if control.version() != VERSION {
            return Err(Error::Version {
                version: control.version(),
                tagged: control.tagged(),
            });
        }
        let payload = &segment[control.header_len()..];
        let header = if control.tagged() {
            let view = TaggedSegment::new_checked(segment)?;
            Self::Tagged(TaggedHeader {
                last: control.last(),
                rsvd_ulp: view.rsvd_ulp(),
                stag: view.stag(),
                to: view.to(),
            })
        } else {
            let view = UntaggedSegment::new_checked(segment)?;
            Self::Untagged(UntaggedHeader {
                last: control.last(),
                rsvd_ulp: view.rsvd_ulp(),
                qn: view.qn(),
                msn: view.msn(),
                mo: view.mo(),
            })
        };
        Ok((header, payload))
    }

    /// Writes the header to the front of `out` and returns its length, 14 or 18.
    pub fn emit(&self, out: &mut [u8; MAX_HEADER_LEN]) -> usize {
        match self {
            Self::Tagged(header) => {
                out[..TAGGED_HEADER_LEN].copy_from_slice(&header.emit());
                TAGGED_HEADER_LEN
            }
            Self::Untagged(header) => {
                *out = header.emit();
                UNTAGGED_HEADER_LEN
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAGGED: [u8; 16] = [
        0xC1, 0x40, 0x12, 0x34, 0x56, 0x78, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x10, b'D',
        b'I',
    ];
    const UNTAGGED: [u8; 19] = [
        0x01, 0x43, 0x11, 0x22, 0x33, 0x44, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0x05, 0xCA, 0xEE,
    ];

    // req: DDP-HDR-01, DDP-HDR-02, DDP-HDR-16, DDP-TAG-01, DDP-TAG-02, DDP-TAG-11
    #[test]
    fn tagged_header_is_read_and_written() {
        let (header, payload) = Header::parse(&TAGGED).unwrap();
        let expected = TaggedHeader {
            last: true,
            rsvd_ulp: 0x40,
            stag: 0x1234_5678,
            to: 0x1_0000_0010,
        };
        assert_eq!(header, Header::Tagged(expected));
        assert_eq!(payload, b"DI");
        assert_eq!(expected.emit(), TAGGED[..14]);
    }

    // req: DDP-HDR-01, DDP-HDR-03, DDP-HDR-16, DDP-UNT-01, DDP-UNT-02
    #[test]
    fn untagged_header_is_read_and_written() {
        let (header, payload) = Header::parse(&UNTAGGED).unwrap();
        let expected = UntaggedHeader {
            last: false,
            rsvd_ulp: [0x43, 0x11, 0x22, 0x33, 0x44],
            qn: 2,
            msn: 7,
            mo: 1482,
        };
        assert_eq!(header, Header::Untagged(expected));
        assert_eq!(payload, [0xEE]);
        assert_eq!(expected.emit(), UNTAGGED[..18]);
    }

    // req: DDP-HDR-11
    #[test]
    fn reserved_control_bits_do_not_matter() {
        let mut segment = TAGGED;
        segment[0] = 0xFD;
        assert_eq!(Header::parse(&segment), Header::parse(&TAGGED));
    }

    // req: DDP-HDR-14, AMB-20
    #[test]
    fn length_is_judged_before_the_version() {
        let need = |have, need| Err(Error::Truncated { have, need });
        assert_eq!(Header::parse(&[]), need(0, 14));
        assert_eq!(Header::parse(&TAGGED[..13]), need(13, 14));
        assert_eq!(Header::parse(&[0x00; 17]), need(17, 18));
        assert_eq!(
            Header::parse(&[0x02; 18]),
            Err(Error::Version {
                version: 2,
                tagged: false
            })
        );
    }

    // req: DDP-HDR-17
    #[test]
    fn fields_are_aligned_in_the_fpdu() {
        assert_eq!(fpdu_field::CONTROL, 2);
        assert_eq!(fpdu_field::tagged::STAG, 4..8);
        assert_eq!(fpdu_field::tagged::TO, 8..16);
        assert_eq!(fpdu_field::untagged::QN, 8..12);
        assert_eq!(fpdu_field::untagged::MSN, 12..16);
        assert_eq!(fpdu_field::untagged::MO, 16..20);
        assert_eq!(fpdu_field::untagged::PAYLOAD, 20);
    }

    #[test]
    fn a_view_refuses_the_other_format() {
        assert!(matches!(
            TaggedSegment::new_checked(&UNTAGGED),
            Err(Error::OtherFormat { control: 0x01 })
        ));
        assert!(matches!(
            UntaggedSegment::new_checked(&[0xC1; 18]),
            Err(Error::OtherFormat { control: 0xC1 })
        ));
    }
}
