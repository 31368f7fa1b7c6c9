//! Which start frames a machine speaks: those of the RFCs, or the draft's Start Key.

use super::frame::{DraftKey, Frame, Kind, Progress, StartError};

/// The form of the start frames. Both ends of a connection use the same one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Request and Reply of RFC 5044 and RFC 6581.
    #[default]
    Rfc,
    /// Start Key of draft-culley-iwarp-mpa-03, for tests only (AMB-26). The Initiator is the draft's
    /// Passive end, the Responder its Active one. The key has no private data and no rejection, and
    /// frames report revision 0.
    Draft,
}

impl Profile {
    /// Parses the peer's frame at the front of the octets received so far.
    pub(super) fn parse(
        self,
        octets: &[u8],
        kind: Kind,
    ) -> Result<Progress<Frame<'_>>, StartError> {
        if self == Self::Rfc {
            return Frame::parse(octets, kind);
        }
        Ok(match DraftKey::parse(octets)? {
            Progress::NeedMore { total } => Progress::NeedMore { total },
            Progress::Complete { frame, len } => Progress::Complete {
                frame: Frame {
                    kind,
                    markers: frame.markers,
                    crc: frame.crc,
                    rejected: false,
                    revision: 0,
                    negotiation: None,
                    private_data: &[],
                },
                len,
            },
        })
    }

    /// Writes a frame to the front of `out` and returns its length.
    pub(super) fn emit(self, frame: &Frame<'_>, out: &mut [u8]) -> Result<usize, StartError> {
        if self == Self::Rfc {
            return frame.emit(out);
        }
        let key = DraftKey {
            markers: frame.markers,
            crc: frame.crc,
        };
        let (have, need) = (out.len(), DraftKey::LEN);
        match out.first_chunk_mut() {
            Some(octets) => *octets = key.emit(),
            None => return Err(StartError::Output { have, need }),
        }
        Ok(need)
    }
}
