//! RDMAP header fields, opcodes and the Read Request Header (RFC 5040 §4.1 to §4.4).

use super::cause::{Cause, RdmaError};

use thiserror::Error;

/// Octets of the RDMA Read Request Header (RFC 5040 §4.4).
pub const READ_REQUEST_LEN: usize = 28;
/// Most octets of a Terminate Header: control, DDP Segment Length, untagged DDP header, Read Request
/// Header (RFC 5040 §4.8).
pub const MAX_TERMINATE_LEN: usize = 4 + 2 + 18 + READ_REQUEST_LEN;
/// Octets of the longest RDMAP header.
pub const MAX_HEADER_LEN: usize = MAX_TERMINATE_LEN;

/// Bits of the RDMAP control octet (RFC 5040 §4.1, Figure 3).
pub mod control {
    /// RV: the RDMAP version.
    pub const VERSION: u8 = 0xC0;
    /// Rsv: sent as zero, not checked on receive.
    pub const RSVD: u8 = 0x30;
    /// Opcode.
    pub const OPCODE: u8 = 0x0F;
}

/// Queue numbers (RFC 5040 §4.1, Figure 4).
pub mod queue {
    /// Send and its variants.
    pub const SEND: u32 = 0;
    /// RDMA Read Request.
    pub const READ_REQUEST: u32 = 1;
    /// Terminate.
    pub const TERMINATE: u32 = 2;
    /// Queues that RDMAP uses.
    pub const COUNT: u32 = 3;
}

/// Places of fields.
pub mod field {
    /// The control octet, in RsvdULP of either format.
    pub const CONTROL: usize = 0;
    /// Invalidate STag, in RsvdULP of an untagged message.
    pub const INVALIDATE_STAG: crate::Field = 1..5;

    /// Fields of the RDMA Read Request Header (RFC 5040 §4.4, Figure 6).
    pub mod read_request {
        use crate::Field;
        /// Data Sink STag.
        pub const SINK_STAG: Field = 0..4;
        /// Data Sink Tagged Offset.
        pub const SINK_TO: Field = 4..12;
        /// RDMA Read Message Size.
        pub const SIZE: Field = 12..16;
        /// Data Source STag.
        pub const SOURCE_STAG: Field = 16..20;
        /// Data Source Tagged Offset.
        pub const SOURCE_TO: Field = 20..28;
    }

    /// Fields of the Terminate Header (RFC 5040 §4.8, Figures 7 and 8). The terminated headers have
    /// no fixed place.
    pub mod terminate {
        use crate::Field;
        /// Layer and error type, four bits each.
        pub const LAYER_ETYPE: usize = 0;
        /// The layer, in that octet.
        pub const LAYER_BITS: u8 = 0xF0;
        /// The error type, in that octet.
        pub const ETYPE_BITS: u8 = 0x0F;
        /// Error code.
        pub const CODE: usize = 1;
        /// Header control bits M, D, R; five reserved bits.
        pub const HDR_CT: usize = 2;
        /// Eight more reserved bits.
        pub const RESERVED: usize = 3;
        /// DDP Segment Length; present with M or D.
        pub const SEGMENT_LENGTH: Field = 4..6;
        /// First octet behind the DDP Segment Length.
        pub const HEADERS: usize = 6;
    }
}

/// A message is not one of RDMAP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// RV is neither 0 nor 1.
    #[error("RDMAP version {version} is not supported: only 0 and 1 exist")]
    Version {
        /// RV as received.
        version: u8,
    },
    /// The opcode is reserved.
    #[error("RDMAP opcode {opcode:#x} is reserved")]
    Opcode {
        /// The opcode as received, 8 to 15.
        opcode: u8,
    },
    /// The opcode does not go with the format of the DDP message.
    #[error("{opcode:?} arrived as a DDP message with T = {tagged}")]
    Format {
        /// The opcode.
        opcode: Opcode,
        /// T as received.
        tagged: bool,
    },
    /// The opcode does not go with the queue.
    #[error("{opcode:?} arrived on queue {qn}")]
    Queue {
        /// The opcode.
        opcode: Opcode,
        /// QN as received.
        qn: u32,
    },
    /// A Read Request consists of its header and nothing else (RFC 5040 §4.2, Figure 5).
    #[error("Read Request of {len} octets: it has 28")]
    ReadRequestLength {
        /// Octets of the message.
        len: usize,
    },
    /// A Terminate ends before the headers that its M, D and R bits announce.
    #[error("Terminate of {have} octets announces {need}")]
    TerminateLength {
        /// Octets of the message.
        have: usize,
        /// Octets that its bits announce.
        need: usize,
    },
}

impl Error {
    /// What a Terminate reports. `None` for a malformed Terminate, which none answers (RFC 5040 §7.1).
    pub const fn cause(&self) -> Option<Cause> {
        match self {
            Self::Version { .. } => Some(Cause::Rdma(RdmaError::OperationVersion)),
            Self::Opcode { .. } | Self::Format { .. } | Self::Queue { .. } => {
                Some(Cause::Rdma(RdmaError::OperationOpcode))
            }
            // Figure 9 has no number for it.
            Self::ReadRequestLength { .. } => Some(Cause::Rdma(RdmaError::OperationUnspecified)),
            Self::TerminateLength { .. } => None,
        }
    }
}

/// The two versions; both are valid, and which of them a peer speaks goes with its MPA start frame
/// (RFC 5040 §4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Version {
    /// The RDMA Consortium's specification.
    Consortium = 0,
    /// RFC 5040.
    #[default]
    Ietf = 1,
}

/// Kinds of message (RFC 5040 §4.1, Figure 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Opcode {
    /// RDMA Write.
    Write = 0,
    /// RDMA Read Request.
    ReadRequest = 1,
    /// RDMA Read Response.
    ReadResponse = 2,
    /// Send.
    Send = 3,
    /// Send with Invalidate.
    SendInvalidate = 4,
    /// Send with Solicited Event.
    SendSolicited = 5,
    /// Send with Solicited Event and Invalidate.
    SendSolicitedInvalidate = 6,
    /// Terminate.
    Terminate = 7,
}

impl Opcode {
    /// All of them; the index is the opcode.
    pub const ALL: [Self; 8] = [
        Self::Write,
        Self::ReadRequest,
        Self::ReadResponse,
        Self::Send,
        Self::SendInvalidate,
        Self::SendSolicited,
        Self::SendSolicitedInvalidate,
        Self::Terminate,
    ];

    /// The Send with these options.
    pub const fn send(solicited: bool, invalidate: bool) -> Self {
        match (solicited, invalidate) {
            (false, false) => Self::Send,
            (false, true) => Self::SendInvalidate,
            (true, false) => Self::SendSolicited,
            (true, true) => Self::SendSolicitedInvalidate,
        }
    }

    /// The RFC's name of the message.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "RDMA Write",
            Self::ReadRequest => "RDMA Read Request",
            Self::ReadResponse => "RDMA Read Response",
            Self::Send => "Send",
            Self::SendInvalidate => "Send with Invalidate",
            Self::SendSolicited => "Send with Solicited Event",
            Self::SendSolicitedInvalidate => "Send with Solicited Event and Invalidate",
            Self::Terminate => "Terminate",
        }
    }

    /// Queue number; `None` for the tagged messages.
    pub const fn queue(self) -> Option<u32> {
        match self {
            Self::Write | Self::ReadResponse => None,
            Self::ReadRequest => Some(queue::READ_REQUEST),
            Self::Send
            | Self::SendInvalidate
            | Self::SendSolicited
            | Self::SendSolicitedInvalidate => Some(queue::SEND),
            Self::Terminate => Some(queue::TERMINATE),
        }
    }

    /// Whether the message asks for an event at the receiver.
    pub const fn solicited(self) -> bool {
        matches!(self, Self::SendSolicited | Self::SendSolicitedInvalidate)
    }

    /// Whether Invalidate STag is valid.
    pub const fn invalidates(self) -> bool {
        matches!(self, Self::SendInvalidate | Self::SendSolicitedInvalidate)
    }
}

/// The RDMAP control octet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control(pub u8);

impl Control {
    /// The octet a sender writes; Rsv is zero.
    pub const fn new(version: Version, opcode: Opcode) -> Self {
        Self((version as u8) << 6 | opcode as u8)
    }

    /// RV as received.
    pub const fn version(self) -> u8 {
        (self.0 & control::VERSION) >> 6
    }

    /// The opcode bits as received.
    pub const fn opcode(self) -> u8 {
        self.0 & control::OPCODE
    }

    /// Checks the version, then the opcode.
    pub fn check(self) -> Result<Opcode, Error> {
        if self.version() > Version::Ietf as u8 {
            return Err(Error::Version {
                version: self.version(),
            });
        }
        let opcode = self.opcode();
        let found = Opcode::ALL.get(usize::from(opcode)).copied();
        found.ok_or(Error::Opcode { opcode })
    }

    /// Checks the version, the opcode, and that the message is addressed as the opcode demands: `qn` is its queue, or none
    /// if it is tagged.
    pub fn check_address(self, qn: Option<u32>) -> Result<Opcode, Error> {
        let opcode = self.check()?;
        match (opcode.queue(), qn) {
            (Some(expected), Some(qn)) if qn != expected => Err(Error::Queue { opcode, qn }),
            (Some(_), None) | (None, Some(_)) => Err(Error::Format {
                opcode,
                tagged: qn.is_none(),
            }),
            (Some(_), Some(_)) | (None, None) => Ok(opcode),
        }
    }
}

/// Copies a field; the caller has checked the length.
pub(super) fn octets<const N: usize>(from: &[u8], field: crate::Field) -> [u8; N] {
    let mut octets = [0; N];
    octets.copy_from_slice(&from[field]);
    octets
}

/// View of an RDMA Read Request Header.
#[derive(Clone, Copy, Debug)]
pub struct ReadRequestView<T> {
    buffer: T,
}

impl<T: AsRef<[u8]>> ReadRequestView<T> {
    /// Checks that there are exactly 28 octets.
    pub fn new_checked(buffer: T) -> Result<Self, Error> {
        let len = buffer.as_ref().len();
        if len != READ_REQUEST_LEN {
            return Err(Error::ReadRequestLength { len });
        }
        Ok(Self { buffer })
    }

    /// Data Sink STag.
    pub fn sink_stag(&self) -> u32 {
        u32::from_be_bytes(octets(self.buffer.as_ref(), field::read_request::SINK_STAG))
    }

    /// Data Sink Tagged Offset.
    pub fn sink_to(&self) -> u64 {
        u64::from_be_bytes(octets(self.buffer.as_ref(), field::read_request::SINK_TO))
    }

    /// RDMA Read Message Size.
    pub fn size(&self) -> u32 {
        u32::from_be_bytes(octets(self.buffer.as_ref(), field::read_request::SIZE))
    }

    /// Data Source STag.
    pub fn source_stag(&self) -> u32 {
        u32::from_be_bytes(octets(
            self.buffer.as_ref(),
            field::read_request::SOURCE_STAG,
        ))
    }

    /// Data Source Tagged Offset.
    pub fn source_to(&self) -> u64 {
        u64::from_be_bytes(octets(self.buffer.as_ref(), field::read_request::SOURCE_TO))
    }
}

/// A region that a Read Request names, as its owner knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceRegion {
    /// Tagged Offset of its first octet.
    pub base: u64,
    /// Its octets.
    pub length: u64,
    /// Whether the STag belongs to the stream.
    pub associated: bool,
    /// Whether the peer may read it.
    pub remote_read: bool,
}

/// Meaning of an RDMA Read Request Header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReadRequest {
    /// STag of the buffer that the Response goes to; the Data Source copies it without checks.
    pub sink_stag: u32,
    /// Tagged Offset of its first octet.
    pub sink_to: u64,
    /// Octets to read.
    pub size: u32,
    /// STag of the buffer to read.
    pub source_stag: u32,
    /// Tagged Offset of its first octet.
    pub source_to: u64,
}

impl ReadRequest {
    /// Parses the payload of a Read Request.
    pub fn parse(payload: &[u8]) -> Result<Self, Error> {
        let view = ReadRequestView::new_checked(payload)?;
        Ok(Self {
            sink_stag: view.sink_stag(),
            sink_to: view.sink_to(),
            size: view.size(),
            source_stag: view.source_stag(),
            source_to: view.source_to(),
        })
    }

    /// The header's octets.
    pub fn emit(&self) -> [u8; READ_REQUEST_LEN] {
        use field::read_request as at;
        let mut header = [0; READ_REQUEST_LEN];
        header[at::SINK_STAG].copy_from_slice(&self.sink_stag.to_be_bytes());
        header[at::SINK_TO].copy_from_slice(&self.sink_to.to_be_bytes());
        header[at::SIZE].copy_from_slice(&self.size.to_be_bytes());
        header[at::SOURCE_STAG].copy_from_slice(&self.source_stag.to_be_bytes());
        header[at::SOURCE_TO].copy_from_slice(&self.source_to.to_be_bytes());
        header
    }

    /// What is left of the read after `done` octets of the Response were sent: the form in which a
    /// Terminate returns it (RFC 5040 §4.8).
    #[must_use]
    pub fn advanced(&self, done: u32) -> Self {
        let done = done.min(self.size);
        Self {
            sink_to: self.sink_to.wrapping_add(done.into()),
            size: self.size - done,
            source_to: self.source_to.wrapping_add(done.into()),
            ..*self
        }
    }

    /// Checks the source buffer (RFC 5040 §7.2). A read of no octets is valid whatever it names
    /// (§5.2.1). The order of the checks is that of tagged segments (AMB-01): stream, right, first
    /// octet, wrap, end.
    pub fn check(&self, region: Option<SourceRegion>) -> Result<(), RdmaError> {
        if self.size == 0 {
            return Ok(());
        }
        let Some(region) = region else {
            return Err(RdmaError::ProtectionInvalidStag);
        };
        let end = u128::from(self.source_to) + u128::from(self.size);
        let limit = u128::from(region.base) + u128::from(region.length);
        let first = u128::from(self.source_to);
        if !region.associated {
            Err(RdmaError::ProtectionNotAssociated)
        } else if !region.remote_read {
            Err(RdmaError::ProtectionAccess)
        } else if first < u128::from(region.base) || first >= limit {
            Err(RdmaError::ProtectionBounds)
        } else if end > 1 << 64 {
            Err(RdmaError::ProtectionWrap)
        } else if end > limit {
            Err(RdmaError::ProtectionBounds)
        } else {
            Ok(())
        }
    }
}
