//! The sticky error record of a stream (AMB-09).

use std::fmt;

use warpline_regmap::layout::{error_record as layout, refused};
use warpline_wire::error_number::{Checks, Ending, ErrorNumber, HeaderOctets};
use warpline_wire::{crc, ddp};

/// The device's record of a stream's first error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorRecord {
    /// The stream.
    pub stream: u8,
    /// Error type and code (RFC 5041 §7.2).
    pub number: ErrorNumber,
    /// Failed checks; empty for MPA errors.
    pub checks: Checks,
    /// ULPDU_Length of the failing FPDU; 0 when the connection ended before it.
    pub segment_length: u16,
    /// Stream position of the failing FPDU's first octet, a leading marker included.
    pub position: u32,
    /// DDP header as received: 14 or 18 octets, fewer when the ULPDU was shorter, none when its length was refused
    /// or the connection ended.
    pub header: HeaderOctets,
    /// What MPA expected and found.
    pub detail: ErrorDetail,
}

/// Details of MPA errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorDetail {
    /// Not an MPA error of the kinds below.
    None,
    /// MPA code 2.
    Crc {
        /// Calculated from the octets received.
        expected: u32,
        /// Value of the CRC field.
        received: u32,
    },
    /// MPA code 3: the FPDU's first wrong marker.
    Marker {
        /// FPDUPTR expected.
        expected: u16,
        /// FPDUPTR received, low two bits cleared.
        received: u16,
    },
    /// MPA code 1: how the connection ended (AMB-31).
    Connection(Ending),
    /// MPA code 3: ULPDU_Length above the largest ULPDU (AMB-21).
    Length,
    /// MPA code 3: FPDU above the device's buffers (AMB-22), or a chunk of SCTP above its slot.
    TooLarge,
    /// MPA code 1: a chunk of SCTP has a DDP-SSN that no chunk under way can have, or none (RFC 5043 §10, AMB-34).
    Ssn,
}

impl fmt::Display for ErrorDetail {
    /// What the record says beside number and checks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no detail"),
            Self::Crc { expected, received } => {
                write!(f, "CRC {received:#010x} instead of {expected:#010x}")
            }
            Self::Marker { expected, received } => {
                write!(f, "FPDUPTR {received:#06x} instead of {expected:#06x}")
            }
            Self::Connection(Ending::Truncated) => f.write_str("the peer's FIN cuts an FPDU"),
            Self::Connection(Ending::Lost) => f.write_str("the connection ended without FIN"),
            Self::Connection(Ending::BehindFin) => f.write_str("octets followed the peer's FIN"),
            Self::Length => f.write_str("ULPDU_Length is above the device's largest ULPDU"),
            Self::TooLarge => f.write_str("the FPDU or chunk is above the device's buffers"),
            Self::Ssn => f.write_str(
                "invalid DDP-SSN: the peer's chunk cannot be one under way; terminate the session",
            ),
        }
    }
}

impl ErrorRecord {
    /// Parses the words of a stream's record, in the layout `warpline_regmap::layout::error_record`; `None` when it holds no error.
    ///
    /// # Errors
    /// What is wrong with it: no device writes such a record.
    pub fn parse(stream: u8, words: &[u32; layout::WORDS]) -> Result<Option<Self>, &'static str> {
        let get = |field: warpline_regmap::Field| field.get(words);
        if get(layout::VALID) == 0 {
            return Ok(None);
        }
        let (kind, code) = (get(layout::TYPE) as u8, get(layout::CODE) as u8);
        let number = ErrorNumber::from_parts(kind, code).ok_or("no such error number")?;
        let checks = Checks::from_bits(get(layout::CHECKS) as u16).ok_or("no such check")?;
        let segment_length = get(layout::LENGTH) as u16;
        let detail = match (number, get(layout::REFUSED) as u32) {
            (ErrorNumber::MpaCrc, refused::NO) => {
                let received = get(layout::CRC_RECEIVED) as u32;
                let (state, zeros) = (get(layout::CRC_STATE) as u32, get(layout::CRC_ZEROS));
                ErrorDetail::Crc {
                    expected: crc::expected(state, zeros as usize, received),
                    received,
                }
            }
            (ErrorNumber::MpaMarker, refused::NO) => ErrorDetail::Marker {
                expected: get(layout::MARKER_EXPECTED) as u16,
                received: get(layout::MARKER_RECEIVED) as u16,
            },
            (ErrorNumber::MpaMarker, refused::LENGTH) => ErrorDetail::Length,
            (ErrorNumber::MpaMarker, refused::TOO_LARGE) => ErrorDetail::TooLarge,
            (ErrorNumber::MpaConnection, refused::TRUNCATED) => {
                ErrorDetail::Connection(Ending::Truncated)
            }
            (ErrorNumber::MpaConnection, refused::LOST) => ErrorDetail::Connection(Ending::Lost),
            (ErrorNumber::MpaConnection, refused::BEHIND_FIN) => {
                ErrorDetail::Connection(Ending::BehindFin)
            }
            (ErrorNumber::MpaConnection, refused::SSN) => ErrorDetail::Ssn,
            (_, refused::NO) => ErrorDetail::None,
            _ => return Err("no such reason to refuse a length or to end"),
        };
        let ulpdu = match detail {
            ErrorDetail::Length
            | ErrorDetail::TooLarge
            | ErrorDetail::Connection(_)
            | ErrorDetail::Ssn => 0,
            _ => ddp::MAX_HEADER_LEN.min(segment_length.into()),
        };
        let dwords = [
            layout::HEADER_0,
            layout::HEADER_1,
            layout::HEADER_2,
            layout::HEADER_3,
            layout::HEADER_4,
        ];
        let mut octets = [0; 20];
        for (octets, field) in octets.chunks_exact_mut(4).zip(dwords) {
            octets.copy_from_slice(&(get(field) as u32).to_be_bytes());
        }
        // ULPDU_Length comes first, then the ULPDU.
        let header = HeaderOctets::of(&octets[2..][..ulpdu]);
        Ok(Some(Self {
            stream,
            number,
            checks,
            segment_length,
            position: get(layout::POSITION) as u32,
            header,
            detail,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: ErrorNumber, cause: u32) -> Result<Option<ErrorRecord>, &'static str> {
        let mut words = [0; layout::WORDS];
        layout::VALID.put(&mut words, 1);
        layout::TYPE.put(&mut words, number.error_type().into());
        layout::CODE.put(&mut words, number.code().into());
        layout::REFUSED.put(&mut words, cause.into());
        layout::POSITION.put(&mut words, 0x0012_3000);
        layout::LENGTH.put(&mut words, 100);
        layout::HEADER_0.put(&mut words, 0xFFFF_FFFF); // of no FPDU
        ErrorRecord::parse(3, &words)
    }

    // req: AMB-34
    #[test]
    fn an_invalid_ssn_is_told_from_a_lost_connection() {
        let found = record(ErrorNumber::MpaConnection, refused::SSN);
        let found = found.unwrap().unwrap();
        assert_eq!(found.detail, ErrorDetail::Ssn);
        assert_eq!((found.stream, found.position), (3, 0x0012_3000));
        assert_eq!(found.header, HeaderOctets::default());
        assert!(found.detail.to_string().starts_with("invalid DDP-SSN"));
        let lost = record(ErrorNumber::MpaConnection, refused::LOST);
        let lost = lost.unwrap().unwrap().detail;
        assert_eq!(lost, ErrorDetail::Connection(Ending::Lost));
        assert_ne!(lost.to_string(), found.detail.to_string());
        assert!(record(ErrorNumber::MpaCrc, refused::SSN).is_err());
    }
}
