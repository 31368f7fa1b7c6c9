//! What SCTP itself puts around user data and into INIT: for captures, tests and a stack of one's own
//! (RFC 9260 §3.3.1, RFC 5061 §4.2.6). Sockets hand over user data, stream and PPID instead.
//!
//! ```text
//!  0      1       2        4     8           10      12     16
//!  ├ Type ┼ Flags ┼ Length ┼ TSN ┼ Stream Id ┼ SSN ──┼ PPID ┼ user data ┤ pad to 4 octets
//! ```

use thiserror::Error;

/// Type of a DATA chunk.
pub const DATA: u8 = 0;
/// Octets of a DATA chunk in front of its user data.
pub const DATA_HEADER_LEN: usize = 16;
/// Octets of SCTP's common header in front of the first chunk.
pub const COMMON_HEADER_LEN: usize = 12;
/// Chunks and parameters begin at multiples of this many octets; their Length counts no padding.
pub const ALIGN: usize = 4;

/// Places of a DATA chunk's fields, in octets.
pub mod data_field {
    use crate::Field;
    /// Chunk type, 0.
    pub const TYPE: usize = 0;
    /// U, B and E.
    pub const FLAGS: usize = 1;
    /// Octets of the chunk without padding.
    pub const LENGTH: Field = 2..4;
    /// Transmission Sequence Number, SCTP's own.
    pub const TSN: Field = 4..8;
    /// Stream identifier, the same in both directions of a DDP stream.
    pub const STREAM: Field = 8..10;
    /// Stream sequence number, without meaning in an unordered chunk.
    pub const STREAM_SEQUENCE: Field = 10..12;
    /// Payload protocol identifier.
    pub const PPID: Field = 12..16;
    /// First octet of the user data.
    pub const USER_DATA: usize = 16;
}

/// Flags of a DATA chunk.
pub mod data_flag {
    /// U: unordered.
    pub const UNORDERED: u8 = 0x04;
    /// B: first fragment.
    pub const BEGINNING: u8 = 0x02;
    /// E: last fragment.
    pub const ENDING: u8 = 0x01;
    /// What DDP sends: unordered and not fragmented (AMB-39).
    pub const DDP: u8 = UNORDERED | BEGINNING | ENDING;
}

/// SCTP octets are malformed, or do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PacketError {
    /// The octets end within a header, or before the Length that it announces.
    #[error("{have} octets of {need}: the packet is cut")]
    Truncated {
        /// Octets there.
        have: usize,
        /// Octets needed.
        need: usize,
    },
    /// Another type of chunk.
    #[error("chunk type {chunk_type} is not DATA")]
    Type {
        /// The type.
        chunk_type: u8,
    },
    /// Length is shorter than the header that it counts, or other than its type demands.
    #[error("length {length} of type {kind:#06x} is wrong: {need} is right or least")]
    Length {
        /// Type of the chunk or parameter.
        kind: u16,
        /// The Length field.
        length: u16,
        /// Octets of the header or of the whole.
        need: usize,
    },
    /// The user data does not fit a chunk, whose Length has 16 bits.
    #[error("user data of {len} octets exceeds 65519: cut smaller DDP segments")]
    UserData {
        /// Octets of the user data.
        len: usize,
    },
}

/// Octets up to the next multiple of four.
const fn padded(len: usize) -> usize {
    len.saturating_add(ALIGN - 1) & !(ALIGN - 1)
}

/// Copies a field whose place was checked.
fn octets<const N: usize>(buffer: &[u8], field: crate::Field) -> [u8; N] {
    let mut octets = [0; N];
    octets.copy_from_slice(&buffer[field]);
    octets
}

/// View of a DATA chunk, which may be followed by others.
#[derive(Clone, Copy, Debug)]
pub struct DataChunk<T> {
    buffer: T,
    length: usize,
}

impl<T: AsRef<[u8]>> DataChunk<T> {
    /// Checks type and Length.
    pub fn new_checked(buffer: T) -> Result<Self, PacketError> {
        let chunk = buffer.as_ref();
        let (have, need) = (chunk.len(), DATA_HEADER_LEN);
        if have < need {
            return Err(PacketError::Truncated { have, need });
        }
        let chunk_type = chunk[data_field::TYPE];
        if chunk_type != DATA {
            return Err(PacketError::Type { chunk_type });
        }
        let length = u16::from_be_bytes(octets(chunk, data_field::LENGTH));
        let total = usize::from(length);
        if total < DATA_HEADER_LEN {
            let (kind, need) = (DATA.into(), DATA_HEADER_LEN);
            return Err(PacketError::Length { kind, length, need });
        }
        if have < total {
            return Err(PacketError::Truncated { have, need: total });
        }
        Ok(Self {
            buffer,
            length: total,
        })
    }

    /// U, B and E.
    pub fn flags(&self) -> u8 {
        self.buffer.as_ref()[data_field::FLAGS]
    }

    /// Transmission Sequence Number.
    pub fn tsn(&self) -> u32 {
        u32::from_be_bytes(octets(self.buffer.as_ref(), data_field::TSN))
    }

    /// Stream identifier.
    pub fn stream(&self) -> u16 {
        u16::from_be_bytes(octets(self.buffer.as_ref(), data_field::STREAM))
    }

    /// Payload protocol identifier.
    pub fn ppid(&self) -> u32 {
        u32::from_be_bytes(octets(self.buffer.as_ref(), data_field::PPID))
    }

    /// The user data, or this fragment of it.
    pub fn user_data(&self) -> &[u8] {
        &self.buffer.as_ref()[data_field::USER_DATA..self.length]
    }

    /// Octets up to the next chunk of the packet.
    pub fn total_len(&self) -> usize {
        padded(self.length).min(self.buffer.as_ref().len())
    }
}

/// Meaning of a DATA chunk that DDP sends: unordered, not fragmented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'d> {
    /// Transmission Sequence Number.
    pub tsn: u32,
    /// Stream identifier.
    pub stream: u16,
    /// Payload protocol identifier, one of [`ppid`](super::ppid).
    pub ppid: u32,
    /// User data.
    pub user_data: &'d [u8],
}

impl Data<'_> {
    /// Writes the chunk with its padding to the front of `out`, and returns its octets.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, PacketError> {
        let len = self.user_data.len();
        let Ok(length) = u16::try_from(DATA_HEADER_LEN.saturating_add(len)) else {
            return Err(PacketError::UserData { len });
        };
        let (have, need) = (out.len(), padded(length.into()));
        let Some(out) = out.get_mut(..need) else {
            return Err(PacketError::Truncated { have, need });
        };
        out.fill(0); // the padding, and a stream sequence number of zero
        out[data_field::TYPE] = DATA;
        out[data_field::FLAGS] = data_flag::DDP;
        out[data_field::LENGTH].copy_from_slice(&length.to_be_bytes());
        out[data_field::TSN].copy_from_slice(&self.tsn.to_be_bytes());
        out[data_field::STREAM].copy_from_slice(&self.stream.to_be_bytes());
        out[data_field::PPID].copy_from_slice(&self.ppid.to_be_bytes());
        out[data_field::USER_DATA..][..len].copy_from_slice(self.user_data);
        Ok(need)
    }
}

/// Places of a parameter of INIT or INIT-ACK, in octets.
pub mod parameter_field {
    use crate::Field;
    /// Parameter type.
    pub const TYPE: Field = 0..2;
    /// Octets of the parameter without padding.
    pub const LENGTH: Field = 2..4;
    /// Its value; of the Adaptation Layer Indication the code point.
    pub const VALUE: Field = 4..8;
}

/// The Adaptation Layer Indication: which layer above SCTP an endpoint speaks (RFC 5043 §5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Indication(pub u32);

impl Indication {
    /// DDP's code point (RFC 5043 §12).
    pub const DDP: Self = Self(1);
    /// Type of the parameter (RFC 5061 §4.2.6).
    pub const TYPE: u16 = 0xC006;
    /// Octets of the parameter.
    pub const LEN: usize = 8;
    /// Octets of a parameter's type and length.
    const HEADER_LEN: usize = 4;

    /// The parameter's octets, for INIT and INIT-ACK alike.
    pub fn emit(self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[parameter_field::TYPE].copy_from_slice(&Self::TYPE.to_be_bytes());
        out[parameter_field::LENGTH].copy_from_slice(&(Self::LEN as u16).to_be_bytes());
        out[parameter_field::VALUE].copy_from_slice(&self.0.to_be_bytes());
        out
    }

    /// Finds the indication among the parameters of an INIT or INIT-ACK; `None` if there is none.
    pub fn find(mut parameters: &[u8]) -> Result<Option<Self>, PacketError> {
        while !parameters.is_empty() {
            let (have, need) = (parameters.len(), Self::HEADER_LEN);
            if have < need {
                return Err(PacketError::Truncated { have, need });
            }
            let kind = u16::from_be_bytes(octets(parameters, parameter_field::TYPE));
            let length = u16::from_be_bytes(octets(parameters, parameter_field::LENGTH));
            let total = usize::from(length);
            let need = if kind == Self::TYPE { Self::LEN } else { need };
            if total < need || (kind == Self::TYPE && total != need) {
                return Err(PacketError::Length { kind, length, need });
            }
            if have < total {
                return Err(PacketError::Truncated { have, need: total });
            }
            if kind == Self::TYPE {
                let value = octets(parameters, parameter_field::VALUE);
                return Ok(Some(Self(u32::from_be_bytes(value))));
            }
            // The padding of the last parameter may be left out.
            parameters = parameters.get(padded(total)..).unwrap_or_default();
        }
        Ok(None)
    }
}
