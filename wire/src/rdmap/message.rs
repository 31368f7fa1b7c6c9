//! What a delivered DDP message means (RFC 5040 §4).

use super::delivered::{Address, Delivered};
use super::header::{
    Control, Error, MAX_HEADER_LEN, Opcode, READ_REQUEST_LEN, ReadRequest, Version, field, octets,
    queue,
};
use super::terminate::Terminate;

/// Meaning of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// RDMA Write.
    Write {
        /// STag of the remote buffer.
        stag: u32,
        /// Tagged Offset; of a delivered message, that of the last segment.
        to: u64,
    },
    /// RDMA Read Request.
    ReadRequest(ReadRequest),
    /// RDMA Read Response.
    ReadResponse {
        /// Data Sink STag.
        stag: u32,
        /// Data Sink Tagged Offset; of a delivered message, that of the last segment.
        to: u64,
    },
    /// Send and its variants.
    Send {
        /// With Solicited Event.
        solicited: bool,
        /// With Invalidate, and which STag.
        invalidate: Option<u32>,
    },
    /// Terminate.
    Terminate(Terminate),
}

impl Message {
    /// Kind of the message.
    pub const fn opcode(&self) -> Opcode {
        match self {
            Self::Write { .. } => Opcode::Write,
            Self::ReadRequest(_) => Opcode::ReadRequest,
            Self::ReadResponse { .. } => Opcode::ReadResponse,
            Self::Send {
                solicited,
                invalidate,
            } => Opcode::send(*solicited, invalidate.is_some()),
            Self::Terminate(_) => Opcode::Terminate,
        }
    }

    /// Parses a delivered message: version, opcode, format, queue, and the RDMAP header.
    pub fn parse(message: &Delivered<'_>) -> Result<Self, Error> {
        let qn = match message {
            Delivered::Tagged { .. } => None,
            Delivered::Untagged { qn, .. } => Some(*qn),
        };
        let opcode = message.control().check_address(qn)?;
        match *message {
            Delivered::Tagged { stag, to, .. } => Ok(match opcode {
                Opcode::ReadResponse => Self::ReadResponse { stag, to },
                _ => Self::Write { stag, to },
            }),
            Delivered::Untagged {
                rsvd_ulp, payload, ..
            } => match opcode {
                Opcode::ReadRequest => Ok(Self::ReadRequest(ReadRequest::parse(payload)?)),
                Opcode::Terminate => Ok(Self::Terminate(Terminate::parse(payload)?)),
                _ => {
                    let stag = u32::from_be_bytes(octets(&rsvd_ulp, field::INVALIDATE_STAG));
                    Ok(Self::Send {
                        solicited: opcode.solicited(),
                        invalidate: opcode.invalidates().then_some(stag),
                    })
                }
            },
        }
    }

    /// Where the message goes. Rsv and an unused Invalidate STag are zero (RFC 5040 §4.1).
    pub fn address(&self, version: Version) -> Address {
        let opcode = self.opcode();
        let control = Control::new(version, opcode).0;
        match *self {
            Self::Write { stag, to } | Self::ReadResponse { stag, to } => Address::Tagged {
                stag,
                to,
                rsvd_ulp: control,
            },
            Self::ReadRequest(_) => untagged(queue::READ_REQUEST, control, None),
            Self::Send { invalidate, .. } => untagged(queue::SEND, control, invalidate),
            Self::Terminate(_) => untagged(queue::TERMINATE, control, None),
        }
    }

    /// Writes the RDMAP header to the front of `out` and returns its length, 0 to 52.
    pub fn emit_header(&self, out: &mut [u8; MAX_HEADER_LEN]) -> usize {
        match self {
            Self::Write { .. } | Self::ReadResponse { .. } | Self::Send { .. } => 0,
            Self::ReadRequest(request) => {
                out[..READ_REQUEST_LEN].copy_from_slice(&request.emit());
                READ_REQUEST_LEN
            }
            Self::Terminate(terminate) => terminate.emit(out),
        }
    }
}

fn untagged(qn: u32, control: u8, invalidate: Option<u32>) -> Address {
    let mut rsvd_ulp = [control, 0, 0, 0, 0];
    rsvd_ulp[field::INVALIDATE_STAG].copy_from_slice(&invalidate.unwrap_or(0).to_be_bytes());
    Address::Untagged { qn, rsvd_ulp }
}
