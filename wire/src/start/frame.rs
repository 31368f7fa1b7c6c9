//! Start frames: the octets each end sends before full operation (RFC 5044 §7.1.1, RFC 6581 §9).
//! They carry neither markers nor a CRC (MPA-CRC-26).
//!
//! ```text
//!  0                     16      17    18          20              20+PD_Length
//!  ├ "MPA ID Req Frame" ─┼ flags ┼ Rev ┼ PD_Length ┼ private data ─┤
//!    "MPA ID Rep Frame"    M C R S
//! ```
//!
//! With S = 1 (revision 2) the private data begins with the IRD/ORD block. The frame's last octet
//! is followed by stream position 0 of full operation.

use thiserror::Error;

/// Octets of the key.
pub const KEY_LEN: usize = 16;
/// Octets in front of the private data.
pub const HEADER_LEN: usize = 20;
/// Most octets of private data, the IRD/ORD block included (MPA-PRIV-07).
pub const MAX_PRIVATE_DATA: usize = 512;
/// Octets of the longest frame.
pub const MAX_FRAME_LEN: usize = HEADER_LEN + MAX_PRIVATE_DATA;
/// Octets of RFC 6581's IRD/ORD block.
pub const NEGOTIATION_LEN: usize = 4;
/// Highest supported revision.
pub const MAX_REVISION: u8 = 2;
/// IRD or ORD that requests no automatic negotiation; also the largest value.
pub const NO_NEGOTIATION: u16 = negotiation_bit::DEPTH;

/// Places of the frame's fields.
pub mod field {
    use crate::Field;
    /// The key, which differs between Request and Reply.
    pub const KEY: Field = 0..16;
    /// M, C, R, S and four reserved bits.
    pub const FLAGS: usize = 16;
    /// Revision.
    pub const REVISION: usize = 17;
    /// Octets of private data, big-endian.
    pub const PD_LENGTH: Field = 18..20;
    /// First octet of private data.
    pub const PRIVATE_DATA: usize = 20;
    /// With S = 1: A, B and IRD, big-endian.
    pub const IRD: Field = 20..22;
    /// With S = 1: C, D and ORD, big-endian.
    pub const ORD: Field = 22..24;
}

/// Bits of the two words of RFC 6581's IRD/ORD block.
pub mod negotiation_bit {
    /// A, in the word of [`IRD`](super::field::IRD): peer-to-peer model.
    pub const PEER_TO_PEER: u16 = 0x8000;
    /// B, in the same word: a zero-length Send may be the RTR indication.
    pub const RTR_SEND: u16 = 0x4000;
    /// C, in the word of [`ORD`](super::field::ORD): a zero-length RDMA Write may be it.
    pub const RTR_WRITE: u16 = 0x8000;
    /// D, in the same word: a zero-length RDMA Read may be it.
    pub const RTR_READ: u16 = 0x4000;
    /// The depth, in either word.
    pub const DEPTH: u16 = 0x3FFF;
}

/// Bits of the flag octet.
pub mod flag {
    /// M: this sender's receiver requires markers.
    pub const MARKERS: u8 = 0x80;
    /// C: this sender requests CRCs.
    pub const CRC: u8 = 0x40;
    /// R: connection rejected; only in a Reply.
    pub const REJECTED: u8 = 0x20;
    /// S: private data begins with the IRD/ORD block; from revision 2 on.
    pub const NEGOTIATION: u8 = 0x10;
    /// Sent as zero, not examined on receive.
    pub const RESERVED: u8 = 0x0F;
}

/// Which of the two frames; the Initiator sends the Request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// From the Initiator.
    Request,
    /// From the Responder.
    Reply,
}

impl Kind {
    /// The key that begins the frame.
    pub const fn key(self) -> &'static [u8; KEY_LEN] {
        match self {
            Self::Request => b"MPA ID Req Frame",
            Self::Reply => b"MPA ID Rep Frame",
        }
    }
}

/// A start frame is malformed: MPA error 4, close the connection (MPA-ERR-09).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StartError {
    /// The key is wrong.
    #[error("octet {octet:#04x} at offset {offset} is not the expected start key: close")]
    Key {
        /// First octet that differs.
        offset: usize,
        /// Its value.
        octet: u8,
    },
    /// Only revisions 1 and 2 are supported (AMB-25).
    #[error("MPA revision {revision} is not supported: close")]
    Revision {
        /// Rev as received or given.
        revision: u8,
    },
    /// Private data is at most 512 octets, IRD/ORD block included.
    #[error("{len} octets of private data exceed 512")]
    PrivateData {
        /// PD_Length as received or needed.
        len: usize,
    },
    /// S = 1 announces an IRD/ORD block, but the private data is shorter than one.
    #[error("{len} octets of private data cannot hold the IRD/ORD block")]
    Negotiation {
        /// PD_Length as received.
        len: usize,
    },
    /// The IRD/ORD block exists from revision 2 on, and its values have 14 bits.
    #[error("IRD/ORD block needs revision 2 and values up to 0x3fff: {negotiation:?}")]
    NegotiationValue {
        /// The block given.
        negotiation: Negotiation,
    },
    /// The output buffer is too small for the frame.
    #[error("output has {have} octets, the start frame needs {need}")]
    Output {
        /// Octets in the buffer.
        have: usize,
        /// Octets of the frame.
        need: usize,
    },
    /// Draft start key only: the low four flag bits are not zero (AMB-26).
    #[error("start key flags {flags:#04x} announce an unknown revision: close")]
    DraftFlags {
        /// The flag octet.
        flags: u8,
    },
}

/// Result of parsing the octets received so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<T> {
    /// Valid so far, but incomplete.
    NeedMore {
        /// Total octets needed before parsing can get further.
        total: usize,
    },
    /// The whole frame.
    Complete {
        /// The frame.
        frame: T,
        /// Its octets; stream position 0 follows.
        len: usize,
    },
}

/// IRD/ORD block of RFC 6581.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Negotiation {
    /// A: peer-to-peer model; requests an RTR indication.
    pub peer_to_peer: bool,
    /// B: a zero-length Send may be the RTR indication.
    pub rtr_send: bool,
    /// C: a zero-length RDMA Write may be the RTR indication.
    pub rtr_write: bool,
    /// D: a zero-length RDMA Read may be the RTR indication.
    pub rtr_read: bool,
    /// Inbound RDMA Read queue depth, 14 bits.
    pub ird: u16,
    /// Outbound RDMA Read queue depth, 14 bits.
    pub ord: u16,
}

impl Negotiation {
    fn parse(octets: [u8; NEGOTIATION_LEN]) -> Self {
        let [a, b, c, d] = octets;
        let (first, second) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        Self {
            peer_to_peer: first & negotiation_bit::PEER_TO_PEER != 0,
            rtr_send: first & negotiation_bit::RTR_SEND != 0,
            rtr_write: second & negotiation_bit::RTR_WRITE != 0,
            rtr_read: second & negotiation_bit::RTR_READ != 0,
            ird: first & negotiation_bit::DEPTH,
            ord: second & negotiation_bit::DEPTH,
        }
    }

    fn emit(&self) -> [u8; NEGOTIATION_LEN] {
        use negotiation_bit::{PEER_TO_PEER, RTR_READ, RTR_SEND, RTR_WRITE};
        let bit = |set, bit| if set { bit } else { 0 };
        let first = bit(self.peer_to_peer, PEER_TO_PEER) | bit(self.rtr_send, RTR_SEND);
        let second = bit(self.rtr_write, RTR_WRITE) | bit(self.rtr_read, RTR_READ);
        let [a, b] = (first | self.ird).to_be_bytes();
        let [c, d] = (second | self.ord).to_be_bytes();
        [a, b, c, d]
    }
}

/// A Request or Reply frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'d> {
    /// Request or Reply.
    pub kind: Kind,
    /// M: this sender's receiver requires markers.
    pub markers: bool,
    /// C: this sender requests CRCs.
    pub crc: bool,
    /// R: connection rejected. Always false in a Request, even if the bit was received as 1
    /// (MPA-START-32).
    pub rejected: bool,
    /// Rev: 1, or 2 for RFC 6581.
    pub revision: u8,
    /// IRD/ORD block, only with revision 2.
    pub negotiation: Option<Negotiation>,
    /// The ULP's private data: at most 512 octets, or 508 after an IRD/ORD block.
    pub private_data: &'d [u8],
}

/// Compares the part of a key that has been received.
fn check_key(octets: &[u8], key: &[u8]) -> Result<(), StartError> {
    match octets.iter().zip(key).position(|(a, b)| a != b) {
        Some(offset) => Err(StartError::Key {
            offset,
            octet: octets[offset],
        }),
        None => Ok(()),
    }
}

impl<'d> Frame<'d> {
    /// Parses a frame of this kind at the front of the octets received so far. It reports an error at
    /// the first wrong octet; the other kind's key is an error (MPA-START-29).
    pub fn parse(octets: &'d [u8], kind: Kind) -> Result<Progress<Self>, StartError> {
        check_key(octets, kind.key())?;
        let Some((header, rest)) = octets.split_first_chunk::<HEADER_LEN>() else {
            return match octets.get(field::REVISION) {
                Some(&revision) => check_revision(revision),
                None => Ok(()),
            }
            .map(|()| Progress::NeedMore { total: HEADER_LEN });
        };
        let revision = header[field::REVISION];
        check_revision(revision)?;
        let flags = header[field::FLAGS];
        let negotiated = revision >= 2 && flags & flag::NEGOTIATION != 0;
        let len = usize::from(u16::from_be_bytes([header[18], header[19]]));
        if len > MAX_PRIVATE_DATA {
            return Err(StartError::PrivateData { len });
        }
        if negotiated && len < NEGOTIATION_LEN {
            return Err(StartError::Negotiation { len });
        }
        let total = HEADER_LEN + len;
        let Some(private_data) = rest.get(..len) else {
            return Ok(Progress::NeedMore { total });
        };
        let (negotiation, private_data) = match private_data.split_first_chunk() {
            Some((block, ulp)) if negotiated => (Some(Negotiation::parse(*block)), ulp),
            _ => (None, private_data),
        };
        let frame = Self {
            kind,
            markers: flags & flag::MARKERS != 0,
            crc: flags & flag::CRC != 0,
            rejected: kind == Kind::Reply && flags & flag::REJECTED != 0,
            revision,
            negotiation,
            private_data,
        };
        Ok(Progress::Complete { frame, len: total })
    }

    /// Octets of the frame.
    pub const fn total_len(&self) -> usize {
        let block = if self.negotiation.is_some() {
            NEGOTIATION_LEN
        } else {
            0
        };
        HEADER_LEN + block + self.private_data.len()
    }

    /// Writes the frame to the front of `out` and returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, StartError> {
        check_revision(self.revision)?;
        let (have, need) = (out.len(), self.total_len());
        let pd_length = need - HEADER_LEN;
        if pd_length > MAX_PRIVATE_DATA {
            return Err(StartError::PrivateData { len: pd_length });
        }
        if let Some(negotiation) = self.negotiation
            && (self.revision < 2 || negotiation.ird.max(negotiation.ord) > NO_NEGOTIATION)
        {
            return Err(StartError::NegotiationValue { negotiation });
        }
        let Some(out) = out.get_mut(..need) else {
            return Err(StartError::Output { have, need });
        };
        let bit = |set, bit| if set { bit } else { 0 };
        out[field::KEY].copy_from_slice(self.kind.key());
        out[field::FLAGS] = bit(self.markers, flag::MARKERS)
            | bit(self.crc, flag::CRC)
            | bit(self.rejected && self.kind == Kind::Reply, flag::REJECTED)
            | bit(self.negotiation.is_some(), flag::NEGOTIATION);
        out[field::REVISION] = self.revision;
        out[field::PD_LENGTH].copy_from_slice(&(pd_length as u16).to_be_bytes());
        let mut ulp = field::PRIVATE_DATA;
        if let Some(negotiation) = self.negotiation {
            out[ulp..ulp + NEGOTIATION_LEN].copy_from_slice(&negotiation.emit());
            ulp += NEGOTIATION_LEN;
        }
        out[ulp..].copy_from_slice(self.private_data);
        Ok(need)
    }
}

fn check_revision(revision: u8) -> Result<(), StartError> {
    if (1..=MAX_REVISION).contains(&revision) {
        Ok(())
    } else {
        Err(StartError::Revision { revision })
    }
}

/// Start Key of draft-culley-iwarp-mpa-03 §8.1.1, layout inferred (AMB-26). For tests only; no
/// deployed device is known to use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DraftKey {
    /// M: this sender's receiver requires markers.
    pub markers: bool,
    /// C: this sender requests CRCs.
    pub crc: bool,
}

impl DraftKey {
    /// The key octets before the flag octet, the same from both ends.
    pub const KEY: &'static [u8; 15] = b"MPA ident frame";
    /// Octets of the whole Start Key.
    pub const LEN: usize = 16;
    /// Place of the flag octet.
    pub const FLAGS: usize = Self::KEY.len();
    /// Rev, up to four bits wide: this part of the flag octet must be zero.
    pub const REVISION_BITS: u8 = 0x0F;

    /// Parses a Start Key at the front of the octets received so far.
    pub fn parse(octets: &[u8]) -> Result<Progress<Self>, StartError> {
        check_key(octets, Self::KEY)?;
        let Some(&flags) = octets.get(Self::KEY.len()) else {
            return Ok(Progress::NeedMore { total: Self::LEN });
        };
        if flags & Self::REVISION_BITS != 0 {
            return Err(StartError::DraftFlags { flags });
        }
        Ok(Progress::Complete {
            frame: Self {
                markers: flags & flag::MARKERS != 0,
                crc: flags & flag::CRC != 0,
            },
            len: Self::LEN,
        })
    }

    /// The Start Key's octets.
    pub fn emit(&self) -> [u8; Self::LEN] {
        let mut octets = [0; Self::LEN];
        octets[..Self::KEY.len()].copy_from_slice(Self::KEY);
        let markers = if self.markers { flag::MARKERS } else { 0 };
        let crc = if self.crc { flag::CRC } else { 0 };
        octets[Self::KEY.len()] = markers | crc;
        octets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: [u8; 23] = *b"MPA ID Req Frame\xC0\x01\x00\x02hi!";

    // req: MPA-START-01, MPA-PRIV-09
    #[test]
    fn every_prefix_asks_for_more_until_the_frame_is_there() {
        for have in 0..22 {
            let total = if have < HEADER_LEN { HEADER_LEN } else { 22 };
            assert_eq!(
                Frame::parse(&REQUEST[..have], Kind::Request),
                Ok(Progress::NeedMore { total })
            );
        }
        let Ok(Progress::Complete { frame, len }) = Frame::parse(&REQUEST, Kind::Request) else {
            panic!("a whole frame is there");
        };
        assert_eq!((frame.private_data, len), (&b"hi"[..], 22));
    }

    // req: MPA-START-11, MPA-START-25, MPA-START-29
    #[test]
    fn every_single_bit_error_in_the_key_shows_at_its_octet() {
        for bit in 0..8 * KEY_LEN {
            let mut octets = REQUEST;
            octets[bit / 8] ^= 1 << (bit % 8);
            let offset = bit / 8;
            let octet = octets[offset];
            assert_eq!(
                Frame::parse(&octets[..=offset], Kind::Request),
                Err(StartError::Key { offset, octet })
            );
        }
        assert!(matches!(
            Frame::parse(&REQUEST, Kind::Reply),
            Err(StartError::Key {
                offset: 9,
                octet: b'q'
            })
        ));
    }

    // req: MPA-START-31, MPA-START-35, AMB-25
    #[test]
    fn revisions_one_and_two_are_understood() {
        for revision in 0..=255 {
            let mut octets = REQUEST;
            octets[field::REVISION] = revision;
            let understood = Frame::parse(&octets, Kind::Request).is_ok();
            assert_eq!(understood, (1..=2).contains(&revision));
            // The error shows before PD_Length is received.
            assert_eq!(
                Frame::parse(&octets[..18], Kind::Request).is_ok(),
                understood
            );
        }
    }

    // req: MPA-START-16, MPA-START-32, MPA-START-36
    #[test]
    fn bits_without_meaning_are_not_examined() {
        let mut octets = REQUEST;
        octets[field::FLAGS] |= 0x3F; // R in a Request; S and Res in revision 1
        assert_eq!(
            Frame::parse(&octets, Kind::Request),
            Frame::parse(&REQUEST, Kind::Request)
        );
    }

    // req: MPA-PRIV-06, MPA-PRIV-07, MPA-PRIV-08
    #[test]
    fn private_data_is_at_most_512_octets() {
        let data = [7; 513];
        let mut frame = Frame {
            kind: Kind::Reply,
            markers: true,
            crc: true,
            rejected: true,
            revision: 1,
            negotiation: None,
            private_data: &data[..512],
        };
        let mut out = [0; MAX_FRAME_LEN];
        assert_eq!(frame.emit(&mut out), Ok(MAX_FRAME_LEN));
        assert_eq!(
            Frame::parse(&out, Kind::Reply),
            Ok(Progress::Complete {
                frame,
                len: MAX_FRAME_LEN
            })
        );
        frame.private_data = &data;
        assert_eq!(
            frame.emit(&mut out),
            Err(StartError::PrivateData { len: 513 })
        );
        out[field::PD_LENGTH].copy_from_slice(&[0x02, 0x01]);
        assert_eq!(
            Frame::parse(&out[..HEADER_LEN], Kind::Reply),
            Err(StartError::PrivateData { len: 513 })
        );
    }

    // req: MPA-PRIV-11
    #[test]
    fn the_ird_ord_block_is_checked_both_ways() {
        let negotiation = Negotiation {
            rtr_read: true,
            ird: NO_NEGOTIATION,
            ord: 1,
            ..Negotiation::default()
        };
        let mut frame = Frame {
            kind: Kind::Request,
            markers: false,
            crc: true,
            rejected: false,
            revision: 2,
            negotiation: Some(negotiation),
            private_data: &[0; 509],
        };
        let mut out = [0; 600];
        assert_eq!(
            frame.emit(&mut out),
            Err(StartError::PrivateData { len: 513 })
        );
        frame.private_data = b"x";
        let len = frame.emit(&mut out).unwrap();
        assert_eq!(out[20..len], [0x3F, 0xFF, 0x40, 0x01, b'x']);
        assert_eq!(
            Frame::parse(&out, Kind::Request),
            Ok(Progress::Complete { frame, len })
        );
        out[19] = 3;
        assert_eq!(
            Frame::parse(&out, Kind::Request),
            Err(StartError::Negotiation { len: 3 })
        );
        frame.revision = 1;
        assert_eq!(
            frame.emit(&mut out),
            Err(StartError::NegotiationValue { negotiation })
        );
    }

    // req: MPA-START-11, MPA-START-16, MPA-START-18, AMB-26
    #[test]
    fn draft_key_is_exact_but_for_two_reserved_bits() {
        let key = DraftKey {
            markers: true,
            crc: false,
        };
        let octets = key.emit();
        for bit in 0..8 * DraftKey::LEN {
            let mut changed = octets;
            changed[bit / 8] ^= 1 << (bit % 8);
            let accepted = DraftKey::parse(&changed).is_ok();
            assert_eq!(accepted, bit >= 15 * 8 + 4, "bit {bit}");
        }
        assert_eq!(
            DraftKey::parse(&octets[..15]),
            Ok(Progress::NeedMore { total: 16 })
        );
    }
}
