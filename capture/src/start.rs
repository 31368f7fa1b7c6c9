//! MPA Request and Reply frames (RFC 5044 §7.1.1, with the S bit of RFC 6581 §6).
//!
//! ```text
//!  0               16 17  18        20
//! ┌────────────────┬──┬───┬─────────┬──────────────┐
//! │ key            │MC│Rev│PD_Length│ private data │      flag octet: M C R S 0 0 0 0
//! │                │RS│   │         │ 0..512       │
//! └────────────────┴──┴───┴─────────┴──────────────┘
//! ```

use crate::error::StartError;

/// Octets before the private data.
const HEADER_LEN: usize = 20;
const MAX_PRIVATE_DATA: u16 = 512;

/// Which of the two start frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameKind {
    Request,
    Reply,
}

impl FrameKind {
    pub fn key(self) -> &'static [u8; 16] {
        match self {
            Self::Request => b"MPA ID Req Frame",
            Self::Reply => b"MPA ID Rep Frame",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Request => "Request",
            Self::Reply => "Reply",
        }
    }
}

/// The content of a Request or Reply frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartFrame {
    /// M: the sender's receiver requires markers.
    pub markers: bool,
    /// C: the sender wants CRCs.
    pub crc: bool,
    /// R: the Reply rejects the connection; without meaning in a Request.
    pub rejected: bool,
    /// S: the private data begins with the IRD/ORD block (RFC 6581; revision 2 and up).
    pub enhanced: bool,
    /// Revision: 1 for RFC 5044, 2 for RFC 6581.
    pub revision: u8,
    /// Private data, 0 to 512 octets, the IRD/ORD block included.
    pub private_data: Vec<u8>,
}

impl StartFrame {
    /// Octets of the whole frame on the wire.
    pub fn frame_len(&self) -> usize {
        HEADER_LEN + self.private_data.len()
    }
}

/// Parses the frame that `octets` begin with; its key has been matched already.
pub(crate) fn parse(kind: FrameKind, seq: u32, octets: &[u8]) -> Result<StartFrame, StartError> {
    let incomplete = |needed| StartError::Incomplete {
        frame: kind.name(),
        seq,
        needed,
        found: octets.len(),
    };
    let header: &[u8; HEADER_LEN] = octets.first_chunk().ok_or_else(|| incomplete(HEADER_LEN))?;
    let length = u16::from_be_bytes([header[18], header[19]]);
    if length > MAX_PRIVATE_DATA {
        return Err(StartError::PrivateDataLength {
            frame: kind.name(),
            seq,
            length,
        });
    }
    let end = HEADER_LEN + usize::from(length);
    let private_data = octets.get(HEADER_LEN..end).ok_or_else(|| incomplete(end))?;
    let flag = |bit: u8| header[16] & (1 << bit) != 0;
    Ok(StartFrame {
        markers: flag(7),
        crc: flag(6),
        rejected: flag(5),
        enhanced: flag(4),
        revision: header[17],
        private_data: private_data.to_vec(),
    })
}
