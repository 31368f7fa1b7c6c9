//! What a Terminate reports: layer, error type and code (RFC 5040 §4.8, Figure 9).

use core::fmt;

use crate::error_number::ErrorNumber;

/// Layer that found the error (RFC 5040 §4.8, Figure 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Layer {
    /// RDMAP.
    Rdma = 0,
    /// DDP.
    Ddp = 1,
    /// The layer below DDP, MPA here.
    Llp = 2,
}

impl Layer {
    /// The layer with this number, if there is one.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Rdma),
            1 => Some(Self::Ddp),
            2 => Some(Self::Llp),
            _ => None,
        }
    }

    /// Its name; the layer below DDP is MPA.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rdma => "RDMAP",
            Self::Ddp => "DDP",
            Self::Llp => "MPA",
        }
    }

    /// What an error type of this layer is about, if it is one (RFC 5040 §4.8, Figure 9).
    pub const fn error_type_name(self, etype: u8) -> Option<&'static str> {
        match (self, etype) {
            (Self::Rdma | Self::Ddp, 0) => Some("local catastrophic error"),
            (Self::Rdma, 1) => Some("remote protection error"),
            (Self::Rdma, 2) => Some("remote operation error"),
            (Self::Ddp, 1) => Some("tagged buffer error"),
            (Self::Ddp, 2) => Some("untagged buffer error"),
            (Self::Llp, LLP_ETYPE_MPA) => Some("MPA error"),
            _ => None,
        }
    }
}

/// Errors of the RDMAP layer (RFC 5040 §4.8, Figure 9). The discriminant is `type << 8 | code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum RdmaError {
    /// Local catastrophic error; any code.
    LocalCatastrophic = 0x000,
    /// Remote protection: invalid STag.
    ProtectionInvalidStag = 0x100,
    /// Remote protection: base or bounds violation.
    ProtectionBounds = 0x101,
    /// Remote protection: access rights violation.
    ProtectionAccess = 0x102,
    /// Remote protection: the STag is not associated with the stream.
    ProtectionNotAssociated = 0x103,
    /// Remote protection: TO wrap.
    ProtectionWrap = 0x104,
    /// Remote protection: the STag cannot be invalidated.
    ProtectionCannotInvalidate = 0x109,
    /// Remote protection: unspecified.
    ProtectionUnspecified = 0x1FF,
    /// Remote operation: invalid RDMAP version.
    OperationVersion = 0x205,
    /// Remote operation: unexpected opcode.
    OperationOpcode = 0x206,
    /// Remote operation: catastrophic, localized to the stream.
    OperationStream = 0x207,
    /// Remote operation: catastrophic, global.
    OperationGlobal = 0x208,
    /// Remote operation: the STag cannot be invalidated.
    OperationCannotInvalidate = 0x209,
    /// Remote operation: unspecified.
    OperationUnspecified = 0x2FF,
}

impl RdmaError {
    /// Every error there is, in rising order.
    pub const ALL: [Self; 14] = [
        Self::LocalCatastrophic,
        Self::ProtectionInvalidStag,
        Self::ProtectionBounds,
        Self::ProtectionAccess,
        Self::ProtectionNotAssociated,
        Self::ProtectionWrap,
        Self::ProtectionCannotInvalidate,
        Self::ProtectionUnspecified,
        Self::OperationVersion,
        Self::OperationOpcode,
        Self::OperationStream,
        Self::OperationGlobal,
        Self::OperationCannotInvalidate,
        Self::OperationUnspecified,
    ];

    /// Error type, 4 bits: 0 local, 1 remote protection, 2 remote operation.
    pub const fn error_type(self) -> u8 {
        (self as u16 >> 8) as u8
    }

    /// Error code, 8 bits.
    pub const fn code(self) -> u8 {
        self as u16 as u8
    }

    /// What is wrong, in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LocalCatastrophic => "local catastrophic error",
            Self::ProtectionInvalidStag => "invalid STag",
            Self::ProtectionBounds => "base or bounds violation",
            Self::ProtectionAccess => "access rights violation",
            Self::ProtectionNotAssociated => "STag not associated with the stream",
            Self::ProtectionWrap => "TO wrap",
            Self::ProtectionCannotInvalidate | Self::OperationCannotInvalidate => {
                "STag cannot be invalidated"
            }
            Self::ProtectionUnspecified | Self::OperationUnspecified => "unspecified error",
            Self::OperationVersion => "invalid RDMAP version",
            Self::OperationOpcode => "unexpected opcode",
            Self::OperationStream => "catastrophic error of the stream",
            Self::OperationGlobal => "catastrophic error of all streams",
        }
    }

    /// The error with this type and code, if there is one. Type 0 has no codes: any value goes.
    pub fn from_parts(error_type: u8, code: u8) -> Option<Self> {
        if error_type == Self::LocalCatastrophic.error_type() {
            return Some(Self::LocalCatastrophic);
        }
        Self::ALL
            .into_iter()
            .find(|error| error.error_type() == error_type && error.code() == code)
    }
}

/// What a Terminate reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// An error of RDMAP: layer 0.
    Rdma(RdmaError),
    /// An error of DDP or MPA, by the number that the device's error record has. DDP's numbers keep
    /// their type and code in layer 1. MPA's have type 3 in the record, because DDP reserves that
    /// type for the layer below it; in a Terminate they have layer 2 and type 0.
    Lower(ErrorNumber),
    /// Another number.
    Unknown {
        /// Layer, 4 bits.
        layer: u8,
        /// Error type, 4 bits.
        etype: u8,
        /// Error code.
        code: u8,
    },
}

impl Cause {
    /// Layer, error type and code, as a Terminate has them.
    pub const fn parts(self) -> (u8, u8, u8) {
        match self {
            Self::Rdma(error) => (Layer::Rdma as u8, error.error_type(), error.code()),
            Self::Lower(number) if number.error_type() == ERROR_TYPE_LLP => {
                (Layer::Llp as u8, LLP_ETYPE_MPA, number.code())
            }
            Self::Lower(number) => (Layer::Ddp as u8, number.error_type(), number.code()),
            Self::Unknown { layer, etype, code } => (layer & 0xF, etype & 0xF, code),
        }
    }

    /// The error with these parts.
    pub fn from_parts(layer: u8, etype: u8, code: u8) -> Self {
        let found = if layer == Layer::Rdma as u8 {
            RdmaError::from_parts(etype, code).map(Self::Rdma)
        } else if layer == Layer::Ddp as u8 && etype != ERROR_TYPE_LLP {
            ErrorNumber::from_parts(etype, code).map(Self::Lower)
        } else if layer == Layer::Llp as u8 && etype == LLP_ETYPE_MPA {
            ErrorNumber::from_parts(ERROR_TYPE_LLP, code).map(Self::Lower)
        } else {
            None
        };
        found.unwrap_or(Self::Unknown { layer, etype, code })
    }

    /// What is wrong, in words; `None` for another number.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::Rdma(error) => Some(error.name()),
            Self::Lower(number) => Some(number.name()),
            Self::Unknown { .. } => None,
        }
    }

    /// Whether the Terminate includes the DDP header and its length (RFC 5040 §4.8, Figure 10).
    pub const fn includes_ddp_header(self) -> bool {
        match self {
            Self::Rdma(error) => error.error_type() != 0,
            Self::Lower(number) => number.error_type() == 1 || number.error_type() == 2,
            Self::Unknown { .. } => false,
        }
    }

    /// Whether it includes the header of a Read Request (RFC 5040 §4.8, Figure 10).
    pub const fn includes_read_request(self) -> bool {
        matches!(self, Self::Rdma(error) if error.error_type() == 1)
    }
}

impl fmt::Display for Cause {
    /// What is wrong, and its numbers: `invalid RDMAP version (RDMAP, layer 0x0, type 0x2, code 0x05)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (layer, etype, code) = self.parts();
        let of = Layer::from_number(layer).map_or("unknown layer", Layer::name);
        let what = self.name().unwrap_or("an error of no known number");
        write!(
            f,
            "{what} ({of}, layer {layer:#x}, type {etype:#x}, code {code:#04x})"
        )
    }
}

/// Error type of the layer below DDP in an error record (RFC 5041 §7.2).
const ERROR_TYPE_LLP: u8 = 3;
/// The only error type of MPA (RFC 5044 §8).
const LLP_ETYPE_MPA: u8 = 0;
