//! Error numbers (RFC 5041 §7.2, RFC 5044 §8), the failed-check bitmap and the error record of a
//! stream (AMB-09).

use crate::ddp::{self, Control};
use bitflags::bitflags;

/// What went wrong: an error type (4 bits) and a code (8 bits). The discriminant is
/// `type << 8 | code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum ErrorNumber {
    /// Local catastrophic error, or a ULPDU shorter than its DDP header (AMB-20).
    LocalCatastrophic = 0x000,
    /// Tagged: no valid STag, no write right, or an empty range (AMB-03).
    TaggedInvalidStag = 0x100,
    /// Tagged: TO or the segment's end outside the registered range.
    TaggedBounds = 0x101,
    /// Tagged: the STag belongs to another protection domain or stream.
    TaggedNotAssociated = 0x102,
    /// Tagged: TO plus payload length exceeds 2^64.
    TaggedWrap = 0x103,
    /// Tagged: DV is not 1.
    TaggedVersion = 0x104,
    /// Untagged: the stream has no such queue.
    UntaggedQn = 0x201,
    /// Untagged: no buffer is posted for this MSN.
    UntaggedNoBuffer = 0x202,
    /// Untagged: MSN behind the window or, in strict mode, not the expected one (AMB-04).
    UntaggedMsnRange = 0x203,
    /// Untagged: MO outside the buffer.
    UntaggedMo = 0x204,
    /// Untagged: the message is longer than its buffer.
    UntaggedTooLong = 0x205,
    /// Untagged: DV is not 1.
    UntaggedVersion = 0x206,
    /// MPA 1: the TCP connection is closed or lost.
    MpaConnection = 0x301,
    /// MPA 2: the CRC does not match.
    MpaCrc = 0x302,
    /// MPA 3: marker and length disagree, or the length is beyond a limit (AMB-21, AMB-22).
    MpaMarker = 0x303,
    /// MPA 4: invalid start frame.
    MpaStart = 0x304,
    /// MPA 5: local catastrophic error (RFC 6581).
    MpaLocalCatastrophic = 0x305,
    /// MPA 6: insufficient IRD resources (RFC 6581).
    MpaInsufficientIrd = 0x306,
    /// MPA 7: no matching ready-to-receive option (RFC 6581).
    MpaNoMatchingRtr = 0x307,
}

impl ErrorNumber {
    /// Every number there is, in rising order.
    pub const ALL: [Self; 19] = [
        Self::LocalCatastrophic,
        Self::TaggedInvalidStag,
        Self::TaggedBounds,
        Self::TaggedNotAssociated,
        Self::TaggedWrap,
        Self::TaggedVersion,
        Self::UntaggedQn,
        Self::UntaggedNoBuffer,
        Self::UntaggedMsnRange,
        Self::UntaggedMo,
        Self::UntaggedTooLong,
        Self::UntaggedVersion,
        Self::MpaConnection,
        Self::MpaCrc,
        Self::MpaMarker,
        Self::MpaStart,
        Self::MpaLocalCatastrophic,
        Self::MpaInsufficientIrd,
        Self::MpaNoMatchingRtr,
    ];

    /// Error type, 4 bits: 0 local, 1 tagged, 2 untagged, 3 LLP.
    pub const fn error_type(self) -> u8 {
        (self as u16 >> 8) as u8
    }

    /// Error code, 8 bits.
    pub const fn code(self) -> u8 {
        self as u16 as u8
    }

    /// What is wrong, in the RFCs' words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LocalCatastrophic | Self::MpaLocalCatastrophic => "local catastrophic error",
            Self::TaggedInvalidStag => "invalid STag",
            Self::TaggedBounds => "base or bounds violation",
            Self::TaggedNotAssociated => "STag not associated with the stream",
            Self::TaggedWrap => "TO wrap",
            Self::TaggedVersion | Self::UntaggedVersion => "invalid DDP version",
            Self::UntaggedQn => "invalid QN",
            Self::UntaggedNoBuffer => "invalid MSN, no buffer available",
            Self::UntaggedMsnRange => "invalid MSN, range not valid",
            Self::UntaggedMo => "invalid MO",
            Self::UntaggedTooLong => "message too long for the buffer",
            Self::MpaConnection => "TCP connection closed, terminated or lost",
            Self::MpaCrc => "CRC does not match",
            Self::MpaMarker => "marker and ULPDU_Length disagree",
            Self::MpaStart => "invalid start frame",
            Self::MpaInsufficientIrd => "insufficient IRD resources",
            Self::MpaNoMatchingRtr => "no matching RTR option",
        }
    }

    /// The number with this type and code, if there is one.
    pub fn from_parts(error_type: u8, code: u8) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|number| number.error_type() == error_type && number.code() == code)
    }
}

/// Bit numbers of the failed-check bitmap.
pub mod check_bit {
    /// The ULPDU is shorter than its DDP header.
    pub const SHORT: u32 = 0;
    /// DV is not 1.
    pub const VERSION: u32 = 1;
    /// No valid entry of the STag table has this STag.
    pub const STAG: u32 = 2;
    /// The STag belongs to another stream or protection domain.
    pub const ASSOC: u32 = 3;
    /// No remote write right, or an empty range.
    pub const ACCESS: u32 = 4;
    /// TO outside the range.
    pub const TO: u32 = 5;
    /// TO plus payload length exceeds 2^64.
    pub const WRAP: u32 = 6;
    /// TO plus payload length beyond the end of the range.
    pub const END: u32 = 7;
    /// No such queue.
    pub const QN: u32 = 8;
    /// No buffer posted for this MSN.
    pub const NOBUF: u32 = 9;
    /// MO outside the buffer.
    pub const MO: u32 = 10;
    /// MO plus payload length beyond the buffer.
    pub const LEN: u32 = 11;
    /// MSN behind the window, or not the expected one.
    pub const MSN: u32 = 12;
}

bitflags! {
    /// Which checks a DDP segment failed. Empty for MPA errors.
    ///
    /// A failed SHORT, VERSION, STAG, QN, MSN or NOBUF makes the later checks meaningless, so each of
    /// them always appears alone. ASSOC to END are evaluated in parallel (AMB-01), and so are MO and
    /// LEN.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Checks: u16 {
        /// See [`check_bit::SHORT`].
        const SHORT = 1 << check_bit::SHORT;
        /// See [`check_bit::VERSION`].
        const VERSION = 1 << check_bit::VERSION;
        /// See [`check_bit::STAG`].
        const STAG = 1 << check_bit::STAG;
        /// See [`check_bit::ASSOC`].
        const ASSOC = 1 << check_bit::ASSOC;
        /// See [`check_bit::ACCESS`].
        const ACCESS = 1 << check_bit::ACCESS;
        /// See [`check_bit::TO`].
        const TO = 1 << check_bit::TO;
        /// See [`check_bit::WRAP`].
        const WRAP = 1 << check_bit::WRAP;
        /// See [`check_bit::END`].
        const END = 1 << check_bit::END;
        /// See [`check_bit::QN`].
        const QN = 1 << check_bit::QN;
        /// See [`check_bit::NOBUF`].
        const NOBUF = 1 << check_bit::NOBUF;
        /// See [`check_bit::MO`].
        const MO = 1 << check_bit::MO;
        /// See [`check_bit::LEN`].
        const LEN = 1 << check_bit::LEN;
        /// See [`check_bit::MSN`].
        const MSN = 1 << check_bit::MSN;
    }
}

/// DDP header octets as received: 14 or 18, fewer if the ULPDU is shorter.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct HeaderOctets {
    octets: [u8; ddp::MAX_HEADER_LEN],
    len: u8,
}

impl HeaderOctets {
    /// The header octets at the front of a ULPDU; its T bit selects 14 or 18.
    pub fn of(ulpdu: &[u8]) -> Self {
        let mut header = Self::default();
        if let Some(&control) = ulpdu.first() {
            let len = Control(control).header_len().min(ulpdu.len());
            header.octets[..len].copy_from_slice(&ulpdu[..len]);
            header.len = len as u8;
        }
        header
    }

    /// The octets.
    pub fn as_slice(&self) -> &[u8] {
        &self.octets[..usize::from(self.len)]
    }
}

impl core::fmt::Debug for HeaderOctets {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:02x?}", self.as_slice())
    }
}

/// Sub-codes: the causes of MPA codes 1 and 3.
pub mod sub_code {
    /// Code 1: FIN after an FPDU. The receiver reports it as a close, not as an error (AMB-31).
    pub const FIN_CLEAN: u8 = 0;
    /// Code 1: FIN within an FPDU.
    pub const FIN_TRUNCATED: u8 = 1;
    /// Code 1: RST, time-out, or another end without FIN.
    pub const LOST: u8 = 2;
    /// Code 1: octets after FIN (DDP-TEAR-08, AMB-57).
    pub const BEHIND_FIN: u8 = 3;
    /// Code 3: a marker and ULPDU_Length disagree about the FPDU's start.
    pub const MISMATCH: u8 = 0;
    /// Code 3: ULPDU_Length is above the limit (AMB-21).
    pub const LENGTH: u8 = 1;
    /// Code 3: the FPDU is larger than the receiver's buffer (AMB-22).
    pub const TOO_LARGE: u8 = 2;
}

/// How a connection ended in an error: the fatal causes of MPA code 1 (AMB-31).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// The peer's FIN cuts an FPDU.
    Truncated,
    /// The connection ended without FIN: RST, time-out.
    Lost,
    /// Octets arrived after the peer's FIN, or a second FIN at another position (DDP-TEAR-08).
    BehindFin,
}

/// Details of an error beyond its number and checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// A DDP check failed; see the checks.
    Ddp,
    /// MPA code 1.
    Connection(Ending),
    /// MPA code 2.
    Crc {
        /// Calculated from the octets received.
        expected: u32,
        /// Value of the CRC field.
        received: u32,
    },
    /// MPA code 3: the first marker of the FPDU that points to another position.
    Marker {
        /// Stream position of the marker.
        position: u32,
        /// Pointer it should hold.
        expected: u16,
        /// Pointer it holds, low bits as received.
        received: u16,
    },
    /// MPA code 3: ULPDU_Length above the limit.
    Length {
        /// The limit in octets.
        max: u16,
    },
    /// MPA code 3: FPDU above the limit.
    TooLarge {
        /// Octets of the FPDU, markers included.
        fpdu_len: usize,
        /// The limit in octets.
        max: usize,
    },
}

impl Detail {
    /// Sub-code of MPA codes 1 and 3; zero for everything else.
    pub const fn sub_code(self) -> u8 {
        match self {
            Self::Connection(Ending::Truncated) => sub_code::FIN_TRUNCATED,
            Self::Connection(Ending::Lost) => sub_code::LOST,
            Self::Connection(Ending::BehindFin) => sub_code::BEHIND_FIN,
            Self::Ddp | Self::Crc { .. } | Self::Marker { .. } => sub_code::MISMATCH,
            Self::Length { .. } => sub_code::LENGTH,
            Self::TooLarge { .. } => sub_code::TOO_LARGE,
        }
    }
}

/// The one error report of a stream (AMB-09).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorRecord {
    /// The stream, which is now frozen.
    pub stream: u32,
    /// Error type and code.
    pub number: ErrorNumber,
    /// All checks that the DDP segment failed; empty for MPA errors.
    pub checks: Checks,
    /// DDP header as received. Empty for the end of the connection and for the two length limits,
    /// which are checked before the ULPDU arrives. After a CRC error its octets are not verified.
    pub header: HeaderOctets,
    /// ULPDU_Length of the failing FPDU; 0 if it was not received.
    pub ulpdu_len: u16,
    /// Stream position where the failing FPDU begins, its leading marker included. All octets before
    /// it were accepted.
    pub position: u32,
    /// Expected and received values.
    pub detail: Detail,
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: DDP-ERR-22, DDP-ERR-23, DDP-ERR-24, DDP-ERR-25, DDP-ERR-26, DDP-ERR-27, DDP-ERR-28
    // req: DDP-ERR-29, DDP-ERR-30, DDP-ERR-31, DDP-ERR-32, DDP-ERR-33, DDP-ERR-34, DDP-ERR-35
    // req: MPA-ERR-02, MPA-ERR-18, AMB-45
    #[test]
    fn numbers_are_those_of_the_tables() {
        let table = [
            (0, 0..=0),
            (1, 0..=4),
            (2, 1..=6),
            (3, 1..=7), // MPA 1..4, RFC 6581 5..7
        ];
        let expected = table
            .into_iter()
            .flat_map(|(error_type, codes)| codes.map(move |code| (error_type, code)));
        let numbers = ErrorNumber::ALL.map(|number| (number.error_type(), number.code()));
        assert!(expected.eq(numbers));
        for (error_type, code) in numbers {
            let number = ErrorNumber::from_parts(error_type, code).unwrap();
            assert_eq!((number.error_type(), number.code()), (error_type, code));
        }
        assert_eq!(ErrorNumber::from_parts(2, 0), None);
        assert_eq!(ErrorNumber::from_parts(1, 5), None);
    }

    // req: AMB-09
    #[test]
    fn check_bits_follow_the_decided_order() {
        let names = [
            "SHORT", "VERSION", "STAG", "ASSOC", "ACCESS", "TO", "WRAP", "END", "QN", "NOBUF",
            "MO", "LEN", "MSN",
        ];
        for (bit, name) in names.into_iter().enumerate() {
            assert_eq!(Checks::from_name(name).unwrap().bits(), 1 << bit);
        }
        assert_eq!(Checks::all().bits(), 0x1FFF);
    }

    // req: AMB-09, AMB-20
    #[test]
    fn header_octets_are_what_exists() {
        assert_eq!(HeaderOctets::of(&[]).as_slice(), []);
        assert_eq!(HeaderOctets::of(&[0xC1; 5]).as_slice(), [0xC1; 5]);
        assert_eq!(HeaderOctets::of(&[0xC1; 40]).as_slice(), [0xC1; 14]);
        assert_eq!(HeaderOctets::of(&[0x41; 40]).as_slice(), [0x41; 18]);
    }
}
