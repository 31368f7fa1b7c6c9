//! MPA on receive: the octets of one stream, in pieces of any length, become validated ULPDUs
//! (RFC 5044 §5, §8).
//!
//! ```text
//!  octets ─► gather ─► length limits ─► gather whole FPDU ─► CRC ─► markers ─► ULPDU
//!            (first dword)                                   2      3
//! ```
//!
//! A ULPDU leaves when its whole FPDU is received and valid. The limits are checked as soon as the
//! dword that begins with ULPDU_Length is complete: an FPDU beyond them is not stored up to its CRC.

use crate::error_number::{Detail, Ending, ErrorNumber, HeaderOctets};
use crate::{crc, marker, mpa};
use alloc::vec::Vec;

/// How a stream is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramingConfig {
    /// The stream carries markers.
    pub markers: bool,
    /// The CRC field is checked.
    pub crc: bool,
    /// Largest ULPDU_Length accepted (AMB-21).
    pub max_ulpdu: u16,
    /// Largest FPDU accepted, in octets on the wire with markers (AMB-22).
    pub max_fpdu: usize,
}

impl Default for FramingConfig {
    /// No markers, CRC on, the limits of the standard.
    fn default() -> Self {
        Self {
            markers: false,
            crc: true,
            max_ulpdu: mpa::MAX_ULPDU,
            max_fpdu: mpa::DEFAULT_MAX_FPDU,
        }
    }
}

/// A validated ULPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ulpdu<'f> {
    /// Its octets: one DDP segment.
    pub octets: &'f [u8],
    /// Stream position where its FPDU begins, the leading marker included.
    pub position: u32,
    /// Stream position of ULPDU_Length: `position`, or four more after a leading marker.
    pub header_position: u32,
    /// Octets of the FPDU on the wire.
    pub fpdu_len: usize,
}

/// The first MPA error of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramingError {
    /// [`ErrorNumber::MpaCrc`], [`ErrorNumber::MpaMarker`] or [`ErrorNumber::MpaConnection`].
    pub number: ErrorNumber,
    /// Expected and received values.
    pub detail: Detail,
    /// Stream position where the FPDU begins, the leading marker included.
    pub position: u32,
    /// ULPDU_Length as received; 0 if the connection ended before it.
    pub ulpdu_len: u16,
    /// DDP header as received; empty if a length limit was exceeded or the connection ended.
    pub header: HeaderOctets,
}

/// State of the FPDU in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// ULPDU_Length is incomplete.
    Length,
    /// ULPDU_Length is known; the FPDU has this many octets on the wire.
    Body { wire_len: usize },
    /// The ULPDU was returned; the next octet begins another FPDU.
    Done,
    /// An error was reported; no more ULPDUs follow.
    Failed,
}

/// Framing of one stream direction.
#[derive(Clone, Debug)]
pub struct Framing {
    config: FramingConfig,
    state: State,
    /// Stream position where the FPDU in progress begins.
    position: u32,
    /// Its octets so far, markers included.
    wire: Vec<u8>,
    /// Its octets without markers, once it is complete.
    content: Vec<u8>,
}

impl Framing {
    /// Framing that begins at stream position 0.
    pub fn new(config: FramingConfig) -> Self {
        Self::at(0, config)
    }

    /// Framing whose first FPDU begins at `position`; the two low bits are dropped.
    pub fn at(position: u32, config: FramingConfig) -> Self {
        Self {
            config,
            state: State::Length,
            position: position & !(mpa::ALIGN as u32 - 1),
            wire: Vec::new(),
            content: Vec::new(),
        }
    }

    /// Whether the last FPDU is complete and the next one has not begun; a FIN is clean then (AMB-14,
    /// AMB-31).
    pub fn at_boundary(&self) -> bool {
        match self.state {
            State::Length => self.wire.is_empty(),
            State::Done => true,
            State::Body { .. } | State::Failed => false,
        }
    }

    /// Stream position where the FPDU in progress begins, or where the next one will begin.
    pub fn position(&self) -> u32 {
        match self.state {
            State::Done => self.position.wrapping_add(self.wire.len() as u32),
            _ => self.position,
        }
    }

    /// The connection ends here, in an error: no more ULPDUs follow.
    pub fn end(&mut self, ending: Ending) -> FramingError {
        let error = FramingError {
            number: ErrorNumber::MpaConnection,
            detail: Detail::Connection(ending),
            position: self.position(),
            ulpdu_len: match self.state {
                State::Body { .. } => self.ulpdu_len(),
                _ => 0,
            },
            header: HeaderOctets::default(),
        };
        self.fail();
        error
    }

    /// Consumes `octets` up to the end of the FPDU in progress and returns its ULPDU. `None`: all
    /// octets are consumed, and more are needed. After an error all octets are dropped.
    pub fn push(&mut self, octets: &mut &[u8]) -> Result<Option<Ulpdu<'_>>, FramingError> {
        if self.state == State::Done {
            self.position = self.position.wrapping_add(self.wire.len() as u32);
            self.wire.clear();
            self.state = State::Length;
        }
        if self.state == State::Length {
            if !self.gather(octets, self.lead() + mpa::ALIGN) {
                return Ok(None);
            }
            let wire_len = self.judge_length().inspect_err(|_| self.fail())?;
            self.state = State::Body { wire_len };
        }
        let State::Body { wire_len } = self.state else {
            *octets = &[];
            return Ok(None);
        };
        if !self.gather(octets, wire_len) {
            return Ok(None);
        }
        self.judge_fpdu().inspect_err(|_| self.fail())?;
        self.state = State::Done;
        Ok(Some(Ulpdu {
            octets: &self.content[mpa::field::ulpdu(self.ulpdu_len())],
            position: self.position,
            header_position: self.header_position(),
            fpdu_len: wire_len,
        }))
    }

    /// Moves octets until `wire` holds `target`; returns false if there were too few.
    fn gather(&mut self, octets: &mut &[u8], target: usize) -> bool {
        let missing = target.saturating_sub(self.wire.len());
        let (now, later) = octets.split_at(missing.min(octets.len()));
        self.wire.extend_from_slice(now);
        *octets = later;
        now.len() == missing
    }

    /// Octets of the leading marker: 4 or 0.
    fn lead(&self) -> usize {
        if self.config.markers && marker::is_due(self.position) {
            marker::LEN
        } else {
            0
        }
    }

    fn header_position(&self) -> u32 {
        self.position.wrapping_add(self.lead() as u32)
    }

    /// ULPDU_Length; zero while it is incomplete.
    fn ulpdu_len(&self) -> u16 {
        let field = self.wire.get(self.lead()..).and_then(|w| w.first_chunk());
        field.copied().map_or(0, u16::from_be_bytes)
    }

    fn error(&self, number: ErrorNumber, detail: Detail) -> FramingError {
        let ulpdu_len = self.ulpdu_len();
        let ulpdu = self.content.get(mpa::field::ulpdu(ulpdu_len));
        FramingError {
            number,
            detail,
            position: self.position,
            ulpdu_len,
            header: ulpdu.map_or_else(HeaderOctets::default, HeaderOctets::of),
        }
    }

    fn fail(&mut self) {
        self.state = State::Failed;
        self.wire = Vec::new();
        self.content = Vec::new();
    }

    /// Octets of the FPDU on the wire, if within the limits.
    fn judge_length(&mut self) -> Result<usize, FramingError> {
        self.content.clear();
        let ulpdu_len = self.ulpdu_len();
        let fpdu_len = mpa::fpdu_len(self.position, ulpdu_len.into(), self.config.markers);
        let (max_ulpdu, max_fpdu) = (self.config.max_ulpdu, self.config.max_fpdu);
        let detail = if ulpdu_len > max_ulpdu {
            Detail::Length { max: max_ulpdu }
        } else if fpdu_len > max_fpdu {
            Detail::TooLarge {
                fpdu_len,
                max: max_fpdu,
            }
        } else {
            return Ok(fpdu_len);
        };
        Err(self.error(ErrorNumber::MpaMarker, detail))
    }

    /// CRC first, then every marker, even with the CRC off (AMB-13, AMB-19).
    fn judge_fpdu(&mut self) -> Result<(), FramingError> {
        let disagreement = self.take_markers_out();
        if self.config.crc
            && let Some((covered, field)) = self.wire.split_last_chunk()
        {
            let (expected, received) = (crc::crc32c(covered), crc::from_wire(*field));
            if expected != received {
                let detail = Detail::Crc { expected, received };
                return Err(self.error(ErrorNumber::MpaCrc, detail));
            }
        }
        match disagreement {
            Some(detail) => Err(self.error(ErrorNumber::MpaMarker, detail)),
            None => Ok(()),
        }
    }

    /// Copies the FPDU without its markers and returns the first marker with a wrong pointer.
    fn take_markers_out(&mut self) -> Option<Detail> {
        let header = self.header_position();
        let mut disagreement = None;
        let mut position = self.position;
        let mut rest = &self.wire[..];
        self.content.clear();
        while !rest.is_empty() {
            if self.config.markers
                && marker::is_due(position)
                && let Some(found) = marker::Marker::new_checked(rest)
            {
                let expected = marker::expected_fpduptr(position, header);
                if !found.agrees_with(expected) {
                    disagreement.get_or_insert(Detail::Marker {
                        position,
                        expected,
                        received: found.fpduptr(),
                    });
                }
                rest = &rest[marker::LEN..];
                position = position.wrapping_add(marker::LEN as u32);
            }
            let to_marker = (marker::SPACING - position % marker::SPACING) as usize;
            let (content, later) = rest.split_at(rest.len().min(to_marker));
            self.content.extend_from_slice(content);
            position = position.wrapping_add(content.len() as u32);
            rest = later;
        }
        disagreement
    }
}
