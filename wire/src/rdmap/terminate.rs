//! The Terminate Header (RFC 5040 §4.8) and the errors it reports.

use super::Cause;
use super::header::octets;
use super::{
    Control, Delivered, Error, MAX_TERMINATE_LEN, Opcode, READ_REQUEST_LEN, ReadRequest, field,
};
use crate::ddp::{self, TaggedHeader, UntaggedHeader};
use crate::error_number::{ErrorRecord, HeaderOctets};

/// Octets in front of the optional parts.
pub const CONTROL_LEN: usize = 4;

/// Header control bits of a Terminate, in the third octet.
pub mod hdr_ct {
    /// M: the DDP Segment Length is valid.
    pub const M: u8 = 0x80;
    /// D: the DDP header follows.
    pub const D: u8 = 0x40;
    /// R: the RDMAP header follows.
    pub const R: u8 = 0x20;
    /// All three.
    pub const ALL: u8 = M | D | R;
    /// Sent as zero.
    pub const RESERVED: u8 = !ALL;
}

/// Order of the bits within the first and third octet.
///
/// Linux soft-iWARP on a little-endian host writes them in reverse: `type << 4 | layer` and M, D, R as
/// 0x01, 0x02, 0x04. RFC 5040 requires those three bits to be zero, so such a Terminate is
/// recognised if it has a header. Without one both orders look alike, and RFC 5040's is assumed:
/// soft-iWARP's CRC error then reads as layer 0, type 2, code 2, which is [`Cause::Unknown`], and its
/// two errors of RDMAP version and opcode read as errors 5 and 6 of MPA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitOrder {
    /// As Figure 8 draws it.
    Rfc,
    /// As soft-iWARP writes it.
    Reversed,
}

/// View of a Terminate Header.
#[derive(Clone, Copy, Debug)]
pub struct TerminateView<T> {
    buffer: T,
}

impl<T: AsRef<[u8]>> TerminateView<T> {
    /// Checks that the message has the control field and all parts that M, D and R announce. Octets
    /// behind them are ignored.
    pub fn new_checked(buffer: T) -> Result<Self, Error> {
        let have = buffer.as_ref().len();
        if have < CONTROL_LEN {
            return Err(Error::TerminateLength {
                have,
                need: CONTROL_LEN,
            });
        }
        let view = Self { buffer };
        let mut need = view.ddp_header_at();
        if view.hdr_ct() & hdr_ct::D != 0 {
            let control = view.buffer.as_ref().get(need).copied();
            need += control.map_or(ddp::TAGGED_HEADER_LEN, |control| {
                ddp::Control(control).header_len()
            });
        }
        if have < need {
            return Err(Error::TerminateLength { have, need });
        }
        if view.has_read_request() {
            need += READ_REQUEST_LEN;
        }
        if have < need {
            return Err(Error::TerminateLength { have, need });
        }
        Ok(view)
    }

    /// In which order the sender put the bits.
    pub fn bit_order(&self) -> BitOrder {
        let bits = self.buffer.as_ref()[field::terminate::HDR_CT];
        let headers = self.buffer.as_ref().len() > CONTROL_LEN;
        if headers && bits & hdr_ct::ALL == 0 && bits.reverse_bits() & hdr_ct::ALL != 0 {
            BitOrder::Reversed
        } else {
            BitOrder::Rfc
        }
    }

    /// Layer, error type and code.
    pub fn cause(&self) -> Cause {
        let octet = self.buffer.as_ref()[field::terminate::LAYER_ETYPE];
        let code = self.buffer.as_ref()[field::terminate::CODE];
        let (high, low) = (octet >> 4, octet & 0xF);
        match self.bit_order() {
            BitOrder::Rfc => Cause::from_parts(high, low, code),
            BitOrder::Reversed => Cause::from_parts(low, high, code),
        }
    }

    /// M, D and R, in RFC 5040's order.
    pub fn hdr_ct(&self) -> u8 {
        let bits = self.buffer.as_ref()[field::terminate::HDR_CT];
        match self.bit_order() {
            BitOrder::Rfc => bits & hdr_ct::ALL,
            BitOrder::Reversed => bits.reverse_bits() & hdr_ct::ALL,
        }
    }

    /// DDP Segment Length, if M is set. Soft-iWARP counts the payload only.
    pub fn segment_length(&self) -> Option<u16> {
        let at = field::terminate::SEGMENT_LENGTH;
        (self.hdr_ct() & hdr_ct::M != 0)
            .then(|| u16::from_be_bytes(octets(self.buffer.as_ref(), at)))
    }

    /// The terminated DDP header, if D is set.
    pub fn ddp_header(&self) -> Option<HeaderOctets> {
        (self.hdr_ct() & hdr_ct::D != 0)
            .then(|| HeaderOctets::of(&self.buffer.as_ref()[self.ddp_header_at()..]))
    }

    /// Place of the terminated DDP header, if D is set.
    pub fn ddp_header_place(&self) -> Option<crate::Field> {
        let at = self.ddp_header_at();
        let header = self.ddp_header()?;
        Some(at..at + header.as_slice().len())
    }

    /// The octets of the terminated Read Request Header, if R is set.
    pub fn read_request(&self) -> Option<&[u8]> {
        self.read_request_place()
            .map(|place| &self.buffer.as_ref()[place])
    }

    /// Place of the terminated Read Request Header, if R is set and the header is one.
    pub fn read_request_place(&self) -> Option<crate::Field> {
        self.has_read_request().then(|| {
            let at = self.read_request_at();
            at..at + READ_REQUEST_LEN
        })
    }

    /// The length field is present when D is set; M says whether it is valid.
    fn ddp_header_at(&self) -> usize {
        if self.hdr_ct() & (hdr_ct::M | hdr_ct::D) != 0 {
            field::terminate::HEADERS
        } else {
            CONTROL_LEN
        }
    }

    fn read_request_at(&self) -> usize {
        let header = self.ddp_header();
        self.ddp_header_at() + header.map_or(0, |header| header.as_slice().len())
    }

    /// Only a Read Request has an RDMAP header to return (RFC 5040 §4.8). Soft-iWARP sets R for a
    /// Send with Invalidate as well, and appends nothing.
    fn has_read_request(&self) -> bool {
        let of_read_request = self.ddp_header().is_none_or(|header| {
            let octets = header.as_slice();
            let tagged = octets
                .first()
                .map(|&control| ddp::Control(control).tagged());
            let opcode = octets.get(1).map(|&octet| Control(octet).opcode());
            tagged == Some(false) && opcode == Some(Opcode::ReadRequest as u8)
        });
        self.hdr_ct() & hdr_ct::R != 0 && of_read_request
    }
}

/// Meaning of a Terminate.
///
/// ```text
///   0      4       8              16  17  18  19           32
///   ├ layer ┼ type ─┼ code ────────┼ M ┼ D ┼ R ┼ reserved ──┤
///   ├ DDP Segment Length ──────────┼ DDP header, 14 or 18 octets ┼ Read Request Header, 28 octets ┤
///     with M or D                    with D                       with R
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminate {
    /// The error.
    pub cause: Cause,
    /// M: octets of the DDP segment that caused it.
    pub segment_length: Option<u16>,
    /// D: the header of that segment, 14 or 18 octets.
    pub ddp_header: Option<HeaderOctets>,
    /// R: what is left of the Read Request.
    pub read_request: Option<ReadRequest>,
}

impl Terminate {
    /// Without headers: for errors that have no incoming message (RFC 5040 §7.1, case 1).
    pub const fn new(cause: Cause) -> Self {
        Self {
            cause,
            segment_length: None,
            ddp_header: None,
            read_request: None,
        }
    }

    /// For the error record of the stream, with the parts that Figure 10 names. A header that did not
    /// arrive whole is left out.
    pub fn of_record(record: &ErrorRecord) -> Self {
        let mut terminate = Self::new(Cause::Lower(record.number));
        if terminate.cause.includes_ddp_header() && is_whole(&record.header) {
            terminate.ddp_header = Some(record.header);
            terminate.segment_length = Some(record.ulpdu_len);
        }
        terminate
    }

    /// For a delivered message that RDMAP refuses, with the parts that Figure 10 names.
    ///
    /// DDP delivers messages and not segments. The header of a tagged message is that of its last
    /// segment. The header of an untagged message is the one it has if one segment carries it; M is
    /// set only for a Read Request, which fits into any segment.
    pub fn of_message(cause: Cause, message: &Delivered<'_>) -> Self {
        let mut terminate = Self::new(cause);
        if !cause.includes_ddp_header() {
            return terminate;
        }
        match *message {
            Delivered::Tagged {
                rsvd_ulp,
                stag,
                to,
                len,
            } => {
                let header = TaggedHeader {
                    last: true,
                    rsvd_ulp,
                    stag,
                    to,
                };
                terminate.ddp_header = Some(HeaderOctets::of(&header.emit()));
                let len = u64::from(len) + ddp::TAGGED_HEADER_LEN as u64;
                terminate.segment_length = u16::try_from(len).ok();
            }
            Delivered::Untagged {
                rsvd_ulp,
                qn,
                msn,
                payload,
            } => {
                let header = UntaggedHeader {
                    last: true,
                    rsvd_ulp,
                    qn,
                    msn,
                    mo: 0,
                };
                terminate.ddp_header = Some(HeaderOctets::of(&header.emit()));
                if message.control().opcode() == Opcode::ReadRequest as u8
                    && let Ok(request) = ReadRequest::parse(payload)
                {
                    terminate.segment_length =
                        Some((ddp::UNTAGGED_HEADER_LEN + READ_REQUEST_LEN) as u16);
                    terminate.read_request = cause.includes_read_request().then_some(request);
                }
            }
        }
        terminate
    }

    /// Parses the payload of a Terminate; octets behind its parts are ignored.
    pub fn parse(payload: &[u8]) -> Result<Self, Error> {
        let view = TerminateView::new_checked(payload)?;
        Ok(Self {
            cause: view.cause(),
            segment_length: view.segment_length(),
            ddp_header: view.ddp_header(),
            read_request: view.read_request().map(ReadRequest::parse).transpose()?,
        })
    }

    /// Writes the Terminate Header to the front of `out` and returns its length, 4 to 52. A header that
    /// is not whole is left out.
    pub fn emit(&self, out: &mut [u8; MAX_TERMINATE_LEN]) -> usize {
        let (layer, etype, code) = self.cause.parts();
        let ddp_header = self.ddp_header.filter(is_whole);
        let bit = |present, bit| if present { bit } else { 0 };
        out[field::terminate::LAYER_ETYPE] = layer << 4 | etype;
        out[field::terminate::CODE] = code;
        out[field::terminate::HDR_CT] = bit(self.segment_length.is_some(), hdr_ct::M)
            | bit(ddp_header.is_some(), hdr_ct::D)
            | bit(self.read_request.is_some(), hdr_ct::R);
        out[field::terminate::HDR_CT + 1] = 0;
        let mut len = CONTROL_LEN;
        let mut append = |octets: &[u8]| {
            out[len..len + octets.len()].copy_from_slice(octets);
            len += octets.len();
        };
        if self.segment_length.is_some() || ddp_header.is_some() {
            append(&self.segment_length.unwrap_or(0).to_be_bytes());
        }
        if let Some(header) = &ddp_header {
            append(header.as_slice());
        }
        if let Some(request) = &self.read_request {
            append(&request.emit());
        }
        len
    }
}

/// Whether a header has the 14 or 18 octets that its T bit announces.
fn is_whole(header: &HeaderOctets) -> bool {
    let octets = header.as_slice();
    let need = octets
        .first()
        .map(|&control| ddp::Control(control).header_len());
    need == Some(octets.len())
}
