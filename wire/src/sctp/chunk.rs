//! User data of the two kinds of chunks (RFC 5043 §5.2).
//!
//! ```text
//!  0         2                                   PPID 16: DDP Segment Chunk
//!  ├ DDP-SSN ┼ DDP segment ─────────────┤
//!
//!  0         2               4                   PPID 17: DDP Stream Session Control
//!  ├ DDP-SSN ┼ Function Code ┼ private data, 0 to 512 octets ┤
//! ```
//!
//! The DDP segment begins two octets into the user data, as it does in an FPDU: one alignment serves
//! both, and [`ddp::fpdu_field`](crate::ddp::fpdu_field) holds the places.

use super::ssn::Ssn;
use thiserror::Error;

/// Payload protocol identifiers of SCTP DATA chunks (RFC 5043 §12).
pub mod ppid {
    /// DDP Segment Chunk.
    pub const SEGMENT: u32 = 16;
    /// DDP Stream Session Control.
    pub const CONTROL: u32 = 17;
}

/// Places of the fields in the user data, in octets.
pub mod field {
    use crate::Field;
    /// DDP-SSN of either kind, big-endian.
    pub const DDP_SSN: Field = 0..2;
    /// First octet of the DDP segment.
    pub const SEGMENT: usize = 2;
    /// Function Code of a control message, big-endian.
    pub const FUNCTION: Field = 2..4;
    /// First octet of its private data.
    pub const PRIVATE_DATA: usize = 4;
}

/// Octets that a DDP Segment Chunk adds to its segment.
pub const SSN_LEN: usize = field::SEGMENT;
/// Octets of a control message in front of its private data.
pub const CONTROL_HEADER_LEN: usize = field::PRIVATE_DATA;
/// Most octets of private data in any message (RFC 5043 §5.2.3).
pub const MAX_PRIVATE_DATA: usize = 512;
/// Octets of the longest control message: the 516 of RFC 5043 §9 (AMB-36).
pub const MAX_CONTROL_LEN: usize = CONTROL_HEADER_LEN + MAX_PRIVATE_DATA;

/// A chunk is malformed, or must not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChunkError {
    /// A DDP association carries two kinds of chunks only (AMB-35).
    #[error("payload protocol identifier {ppid} is neither 16 nor 17: use another association")]
    Ppid {
        /// The identifier.
        ppid: u32,
    },
    /// The user data ends within the header.
    #[error("user data of {have} octets is shorter than its {need}-octet header")]
    Truncated {
        /// Octets of the user data.
        have: usize,
        /// Octets of the header.
        need: usize,
    },
    /// The Function Code is none of the four. Those of RFC 6581, 5 to 7, are not in use (AMB-35).
    #[error("function code {code:#06x} is unknown: 1 to 4 are defined")]
    Function {
        /// All 16 bits of the code.
        code: u16,
    },
    /// Too much private data.
    #[error("private data of {len} octets exceeds 512: shorten it")]
    PrivateData {
        /// Octets of the private data.
        len: usize,
    },
    /// A Terminate carries no private data.
    #[error("{len} octets follow a Terminate: it carries no private data")]
    TerminateData {
        /// Octets behind the Function Code.
        len: usize,
    },
    /// The output buffer is too small.
    #[error("output has {have} octets, the chunk needs {need}")]
    Output {
        /// Octets of the buffer.
        have: usize,
        /// Octets of the user data.
        need: usize,
    },
}

/// What a session control message does (RFC 5043 §5.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Function {
    /// Asks for a session.
    Initiate = 1,
    /// Grants it.
    Accept = 2,
    /// Declines it, at the ULP's direction.
    Reject = 3,
    /// Ends the sender's half of the session.
    Terminate = 4,
}

impl Function {
    /// All of them, in rising order of their codes.
    pub const ALL: [Self; 4] = [Self::Initiate, Self::Accept, Self::Reject, Self::Terminate];

    /// The Function Code.
    pub const fn code(self) -> u16 {
        self as u16
    }

    /// The function with this code, all 16 bits of which count.
    pub fn from_code(code: u16) -> Result<Self, ChunkError> {
        Self::ALL
            .into_iter()
            .find(|function| function.code() == code)
            .ok_or(ChunkError::Function { code })
    }
}

/// The DDP-SSN at the front of a chunk's user data, of either kind.
fn ssn(user_data: &[u8]) -> Ssn {
    Ssn(u16::from_be_bytes([user_data[0], user_data[1]]))
}

/// View of a DDP Segment Chunk's user data.
#[derive(Clone, Copy, Debug)]
pub struct SegmentChunk<T> {
    buffer: T,
}

impl<T: AsRef<[u8]>> SegmentChunk<T> {
    /// Checks that the DDP-SSN is there; DDP judges the segment, which may be empty.
    pub fn new_checked(buffer: T) -> Result<Self, ChunkError> {
        let (have, need) = (buffer.as_ref().len(), SSN_LEN);
        if have < need {
            return Err(ChunkError::Truncated { have, need });
        }
        Ok(Self { buffer })
    }

    /// The DDP-SSN.
    pub fn ssn(&self) -> Ssn {
        ssn(self.buffer.as_ref())
    }

    /// The DDP segment.
    pub fn segment(&self) -> &[u8] {
        &self.buffer.as_ref()[field::SEGMENT..]
    }
}

/// View of a session control message's user data.
#[derive(Clone, Copy, Debug)]
pub struct ControlChunk<T> {
    buffer: T,
}

impl<T: AsRef<[u8]>> ControlChunk<T> {
    /// Checks that both fields are there, and nothing of their values.
    pub fn new_checked(buffer: T) -> Result<Self, ChunkError> {
        let (have, need) = (buffer.as_ref().len(), CONTROL_HEADER_LEN);
        if have < need {
            return Err(ChunkError::Truncated { have, need });
        }
        Ok(Self { buffer })
    }

    /// The DDP-SSN.
    pub fn ssn(&self) -> Ssn {
        ssn(self.buffer.as_ref())
    }

    /// The Function Code as received.
    pub fn function_code(&self) -> u16 {
        let octets = &self.buffer.as_ref()[field::FUNCTION];
        u16::from_be_bytes([octets[0], octets[1]])
    }

    /// The octets behind the Function Code.
    pub fn private_data(&self) -> &[u8] {
        &self.buffer.as_ref()[field::PRIVATE_DATA..]
    }
}

/// Meaning of a DDP Segment Chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'d> {
    /// Its DDP-SSN.
    pub ssn: Ssn,
    /// The DDP segment, header and payload.
    pub octets: &'d [u8],
}

impl<'d> Segment<'d> {
    /// Reads the user data of a chunk with PPID 16.
    pub fn parse(user_data: &'d [u8]) -> Result<Self, ChunkError> {
        let ssn = SegmentChunk::new_checked(user_data)?.ssn();
        let octets = &user_data[field::SEGMENT..];
        Ok(Self { ssn, octets })
    }

    /// Writes the user data of a segment that consists of `header` and `payload` to the front of
    /// `out`, and returns its length.
    pub fn emit(
        ssn: Ssn,
        header: &[u8],
        payload: &[u8],
        out: &mut [u8],
    ) -> Result<usize, ChunkError> {
        let (have, need) = (out.len(), SSN_LEN + header.len() + payload.len());
        let Some(out) = out.get_mut(..need) else {
            return Err(ChunkError::Output { have, need });
        };
        let (front, behind) = out.split_at_mut(SSN_LEN + header.len());
        front[field::DDP_SSN].copy_from_slice(&ssn.0.to_be_bytes());
        front[field::SEGMENT..].copy_from_slice(header);
        behind.copy_from_slice(payload);
        Ok(need)
    }
}

/// Meaning of a session control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control<'d> {
    /// Its DDP-SSN.
    pub ssn: Ssn,
    /// What it does.
    pub function: Function,
    /// The ULP's private data, at most 512 octets; of a Terminate none.
    pub private_data: &'d [u8],
}

impl<'d> Control<'d> {
    /// Reads the user data of a chunk with PPID 17: the code first, then what follows it.
    pub fn parse(user_data: &'d [u8]) -> Result<Self, ChunkError> {
        let view = ControlChunk::new_checked(user_data)?;
        let control = Self {
            ssn: view.ssn(),
            function: Function::from_code(view.function_code())?,
            private_data: &user_data[field::PRIVATE_DATA..],
        };
        control.check()?;
        Ok(control)
    }

    /// Octets of the user data.
    pub const fn total_len(&self) -> usize {
        CONTROL_HEADER_LEN + self.private_data.len()
    }

    /// Writes the user data to the front of `out` and returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, ChunkError> {
        self.check()?;
        let (have, need) = (out.len(), self.total_len());
        let Some(out) = out.get_mut(..need) else {
            return Err(ChunkError::Output { have, need });
        };
        out[field::DDP_SSN].copy_from_slice(&self.ssn.0.to_be_bytes());
        out[field::FUNCTION].copy_from_slice(&self.function.code().to_be_bytes());
        out[field::PRIVATE_DATA..].copy_from_slice(self.private_data);
        Ok(need)
    }

    fn check(&self) -> Result<(), ChunkError> {
        let len = self.private_data.len();
        if self.function == Function::Terminate && len > 0 {
            return Err(ChunkError::TerminateData { len });
        }
        if len > MAX_PRIVATE_DATA {
            return Err(ChunkError::PrivateData { len });
        }
        Ok(())
    }
}

/// Meaning of a chunk of either kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunk<'d> {
    /// PPID 16.
    Segment(Segment<'d>),
    /// PPID 17.
    Control(Control<'d>),
}

impl<'d> Chunk<'d> {
    /// Reads the user data of a chunk with this payload protocol identifier.
    pub fn parse(ppid: u32, user_data: &'d [u8]) -> Result<Self, ChunkError> {
        match ppid {
            ppid::SEGMENT => Segment::parse(user_data).map(Self::Segment),
            ppid::CONTROL => Control::parse(user_data).map(Self::Control),
            _ => Err(ChunkError::Ppid { ppid }),
        }
    }

    /// Its DDP-SSN.
    pub const fn ssn(&self) -> Ssn {
        match self {
            Self::Segment(segment) => segment.ssn,
            Self::Control(control) => control.ssn,
        }
    }
}
