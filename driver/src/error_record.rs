//! The sticky error record of a stream (AMB-09).

use warpline_regmap::layout::{error_record as layout, refused};
use warpline_wire::error::{Checks, Ending, ErrorNumber, HeaderOctets};
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
    /// MPA code 3: FPDU above the device's buffers (AMB-22).
    TooLarge,
}

impl ErrorRecord {
    /// Parses a record; `None` when it holds no error, `Err` says what is wrong with it.
    pub(crate) fn parse(
        stream: u8,
        words: &[u32; layout::WORDS],
    ) -> Result<Option<Self>, &'static str> {
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
            (_, refused::NO) => ErrorDetail::None,
            _ => return Err("no such reason to refuse a length or to end"),
        };
        let ulpdu = match detail {
            ErrorDetail::Length | ErrorDetail::TooLarge | ErrorDetail::Connection(_) => 0,
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
