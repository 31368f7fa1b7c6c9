//! Sender side: a ULP message becomes DDP segments, and a DDP segment becomes an FPDU at the current
//! stream position.
//!
//! ```text
//!  message ─ ddp_segments() ─► header + payload range ─ FpduWriter ─► length · DDP segment · PAD · CRC
//!                              (≤ MULPDU)                             (markers at multiples of 512)
//! ```

use crate::ddp::{self, Header, TaggedHeader, UntaggedHeader};
use crate::{crc, marker, mpa};
use core::ops::Range;
use thiserror::Error;

/// A message or DDP segment that must not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SendError {
    /// A message has fewer than 2^32 octets (DDP-SEG-02).
    #[error("message of {len} octets: split it below 2^32 octets")]
    MessageLength {
        /// Octets of the message.
        len: u64,
    },
    /// MULPDU lies in 128..=64768 (MPA-SEG-03).
    #[error("MULPDU {mulpdu} is outside 128..=64768: take it from mpa::mulpdu")]
    Mulpdu {
        /// The value given.
        mulpdu: u16,
    },
    /// A tagged message ends at or before 2^64.
    #[error("tagged message of {len} octets at TO {to:#x} runs past 2^64")]
    TaggedOffset {
        /// Initial TO.
        to: u64,
        /// Octets of the message.
        len: u64,
    },
    /// A ULPDU has at most 64768 octets (MPA-SEG-06).
    #[error("ULPDU of {len} octets exceeds 64768: segment the message first")]
    UlpduLength {
        /// Octets of the ULPDU.
        len: usize,
    },
    /// The output buffer is too small for the FPDU.
    #[error("output has {have} octets, the FPDU needs {need}")]
    Output {
        /// Octets in the buffer.
        have: usize,
        /// Octets of the FPDU.
        need: usize,
    },
}

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Into a Tagged Buffer.
    Tagged {
        /// Name of the buffer.
        stag: u32,
        /// Tagged Offset of the first octet.
        to: u64,
        /// The ULP's octet, the same in all DDP segments.
        rsvd_ulp: u8,
    },
    /// Into the Untagged Buffer of an MSN.
    Untagged {
        /// Queue number.
        qn: u32,
        /// Message sequence number: 1 for a queue's first message, then counting up modulo 2^32.
        msn: u32,
        /// The ULP's octets, the same in all DDP segments.
        rsvd_ulp: [u8; 5],
    },
}

impl Message {
    const fn header_len(&self) -> usize {
        match self {
            Self::Tagged { .. } => ddp::TAGGED_HEADER_LEN,
            Self::Untagged { .. } => ddp::UNTAGGED_HEADER_LEN,
        }
    }

    fn header(&self, offset: u32, last: bool) -> Header {
        match *self {
            Self::Tagged { stag, to, rsvd_ulp } => Header::Tagged(TaggedHeader {
                last,
                rsvd_ulp,
                stag,
                // ddp_segments() rejects messages that wrap.
                to: to.wrapping_add(u64::from(offset)),
            }),
            Self::Untagged { qn, msn, rsvd_ulp } => Header::Untagged(UntaggedHeader {
                last,
                rsvd_ulp,
                qn,
                msn,
                mo: offset,
            }),
        }
    }
}

/// One DDP segment of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DdpSegment {
    /// Its header.
    pub header: Header,
    /// Its payload, as octets of the message.
    pub payload: Range<u64>,
}

/// Cuts a message of `len` octets into DDP segments of at most `mulpdu` octets each, as large as
/// possible and in ascending order; an empty message is one empty segment (RFC 5041 §5.2).
pub fn ddp_segments(
    message: Message,
    len: u64,
    mulpdu: u16,
) -> Result<impl Iterator<Item = DdpSegment>, SendError> {
    let Ok(total) = u32::try_from(len) else {
        return Err(SendError::MessageLength { len });
    };
    if !(mpa::MIN_MULPDU..=mpa::MAX_ULPDU).contains(&mulpdu) {
        return Err(SendError::Mulpdu { mulpdu });
    }
    if let Message::Tagged { to, .. } = message
        && u128::from(to) + u128::from(len) > 1 << 64
    {
        return Err(SendError::TaggedOffset { to, len });
    }
    let room = u32::from(mulpdu) - message.header_len() as u32;
    let count = total.div_ceil(room).max(1);
    Ok((0..count).map(move |index| {
        let start = index * room;
        let end = start.saturating_add(room).min(total);
        DdpSegment {
            header: message.header(start, index + 1 == count),
            payload: u64::from(start)..u64::from(end),
        }
    }))
}

/// What goes into the CRC field (AMB-12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CrcField {
    /// The CRC, even if the peer does not check it.
    #[default]
    Computed,
    /// Zero; only when both ends declined CRCs.
    Zero,
}

/// Writes the FPDUs of one stream direction back to back.
#[derive(Clone, Debug)]
pub struct FpduWriter {
    position: u32,
    markers: bool,
    crc: CrcField,
}

impl FpduWriter {
    /// A writer at stream position 0, the first octet after the start frame.
    pub const fn new(markers: bool, crc: CrcField) -> Self {
        Self::at(0, markers, crc)
    }

    /// A writer at any stream position; positions of FPDUs are multiples of four, so the two low
    /// bits of `position` are dropped.
    pub const fn at(position: u32, markers: bool, crc: CrcField) -> Self {
        Self {
            position: position & !(mpa::ALIGN as u32 - 1),
            markers,
            crc,
        }
    }

    /// Stream position of the next FPDU.
    pub const fn position(&self) -> u32 {
        self.position
    }

    /// Octets the next FPDU takes on the wire if its ULPDU has `ulpdu_len` octets.
    pub const fn fpdu_len(&self, ulpdu_len: usize) -> usize {
        mpa::fpdu_len(self.position, ulpdu_len, self.markers)
    }

    /// Writes one FPDU whose ULPDU is `header` followed by `payload` to the front of `out` and
    /// returns its length. Nothing changes on an error.
    pub fn emit(
        &mut self,
        header: &[u8],
        payload: &[u8],
        out: &mut [u8],
    ) -> Result<usize, SendError> {
        let ulpdu_len = header.len() + payload.len();
        let length = match u16::try_from(ulpdu_len) {
            Ok(length) if length <= mpa::MAX_ULPDU => length,
            _ => return Err(SendError::UlpduLength { len: ulpdu_len }),
        };
        let need = self.fpdu_len(ulpdu_len);
        let have = out.len();
        let Some(out) = out.get_mut(..need) else {
            return Err(SendError::Output { have, need });
        };

        let mut fpdu = Cursor {
            start: self.position,
            header: None,
            markers: self.markers,
            out,
            len: 0,
        };
        fpdu.put(&length.to_be_bytes());
        fpdu.put(header);
        fpdu.put(payload);
        fpdu.put(&[0; mpa::ALIGN][..mpa::pad_len(ulpdu_len)]);
        // A marker due here is in front of the CRC field and covered by it (MPA-CRC-14).
        fpdu.put_due_marker();
        let crc = match self.crc {
            CrcField::Computed => crc::crc32c(&fpdu.out[..fpdu.len]),
            CrcField::Zero => 0,
        };
        fpdu.put(&crc::to_wire(crc));
        self.position = self.position.wrapping_add(need as u32);
        Ok(need)
    }

    /// Appends one FPDU to `out`; see [`FpduWriter::emit`].
    #[cfg(feature = "alloc")]
    pub fn append(
        &mut self,
        header: &[u8],
        payload: &[u8],
        out: &mut alloc::vec::Vec<u8>,
    ) -> Result<(), SendError> {
        let start = out.len();
        out.resize(start + self.fpdu_len(header.len() + payload.len()), 0);
        let result = self.emit(header, payload, &mut out[start..]);
        if result.is_err() {
            out.truncate(start);
        }
        result.map(|_| ())
    }

    /// Appends a whole message, one FPDU per DDP segment, to `out`.
    #[cfg(feature = "alloc")]
    pub fn append_message(
        &mut self,
        message: Message,
        payload: &[u8],
        mulpdu: u16,
        out: &mut alloc::vec::Vec<u8>,
    ) -> Result<(), SendError> {
        for segment in ddp_segments(message, payload.len() as u64, mulpdu)? {
            let mut header = [0; ddp::MAX_HEADER_LEN];
            let header_len = segment.header.emit(&mut header);
            let range = segment.payload.start as usize..segment.payload.end as usize;
            self.append(&header[..header_len], &payload[range], out)?;
        }
        Ok(())
    }
}

/// One FPDU being written; `out` has exactly its length.
struct Cursor<'o> {
    /// Stream position of the FPDU.
    start: u32,
    /// Stream position of ULPDU_Length, once written.
    header: Option<u32>,
    markers: bool,
    out: &'o mut [u8],
    len: usize,
}

impl Cursor<'_> {
    fn position(&self) -> u32 {
        self.start.wrapping_add(self.len as u32)
    }

    fn put_due_marker(&mut self) {
        let position = self.position();
        if self.markers && marker::is_due(position) {
            let fpduptr = self
                .header
                .map_or(0, |header| marker::expected_fpduptr(position, header));
            self.copy(&marker::emit(fpduptr));
        }
    }

    /// Writes FPDU octets and the markers that are due between them.
    fn put(&mut self, mut octets: &[u8]) {
        while !octets.is_empty() {
            self.put_due_marker();
            let position = self.position();
            self.header.get_or_insert(position);
            let to_marker = (marker::SPACING - position % marker::SPACING) as usize;
            let (now, later) = octets.split_at(octets.len().min(to_marker));
            self.copy(now);
            octets = later;
        }
    }

    fn copy(&mut self, octets: &[u8]) {
        self.out[self.len..][..octets.len()].copy_from_slice(octets);
        self.len += octets.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEND: Message = Message::Untagged {
        qn: 0,
        msn: 1,
        rsvd_ulp: [0; 5],
    };

    // req: DDP-SEG-02, AMB-47
    #[test]
    fn refuses_what_must_not_be_sent() {
        let refused = |message, len, mulpdu| ddp_segments(message, len, mulpdu).err();
        let too_long = 1 << 32;
        assert_eq!(
            refused(SEND, too_long, 1500),
            Some(SendError::MessageLength { len: too_long })
        );
        assert_eq!(refused(SEND, too_long - 1, 1500), None);
        assert_eq!(
            refused(SEND, 1, 127),
            Some(SendError::Mulpdu { mulpdu: 127 })
        );
        assert_eq!(
            refused(SEND, 1, 64769),
            Some(SendError::Mulpdu { mulpdu: 64769 })
        );
        let write = Message::Tagged {
            stag: 1,
            to: u64::MAX,
            rsvd_ulp: 0,
        };
        assert_eq!(refused(write, 1, 1500), None);
        assert_eq!(
            refused(write, 2, 1500),
            Some(SendError::TaggedOffset {
                to: u64::MAX,
                len: 2
            })
        );
    }

    // req: MPA-SEG-06, MPA-SEG-07, AMB-21
    #[test]
    fn refuses_a_ulpdu_above_the_limit_and_a_small_output() {
        let mut writer = FpduWriter::new(true, CrcField::Computed);
        let mut out = [0; 32];
        assert_eq!(
            writer.emit(&[], &[0; 64769], &mut out),
            Err(SendError::UlpduLength { len: 64769 })
        );
        assert_eq!(
            writer.emit(&[0; 18], &[0; 24], &mut out),
            Err(SendError::Output { have: 32, need: 52 })
        );
        assert_eq!(writer.position(), 0);
    }

    // req: MPA-FMT-06
    #[test]
    fn pad_octets_are_zero() {
        for ulpdu_len in 1..=4 {
            let mut out = [0xFF; 16];
            let mut writer = FpduWriter::new(false, CrcField::Computed);
            let len = writer.emit(&[], &[0xA5; 4][..ulpdu_len], &mut out).unwrap();
            let fpdu = mpa::Fpdu::new_checked(&out[..len]).unwrap();
            assert!(fpdu.pad().iter().all(|&octet| octet == 0));
            assert_eq!(fpdu.pad().len(), mpa::pad_len(ulpdu_len));
        }
    }
}
