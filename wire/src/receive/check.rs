//! DDP on receive: may this segment be placed (RFC 5041 §7.1)?
//!
//! ```text
//!  ULPDU ─► short ─► version ─┬ T=1, n>0: stag ─► assoc · access · to · wrap · end   (in parallel)
//!                             └ T=0:      qn ─► msn or nobuf ─► mo · len             (in parallel)
//! ```
//!
//! The first failing check in that order selects the error number; the bitmap holds every evaluated
//! check that failed (AMB-01..05). For a zero-length tagged segment only the version is checked.
//! With strict MOs a segment must begin where the octets placed so far end (AMB-07).
//! Checking changes no state.

use super::{error::ReceiverError, event::Target, queue::Queue};
use crate::ddp::{self, Header, TaggedHeader, UntaggedHeader};
use crate::error_number::{Checks, ErrorNumber};
use alloc::collections::{BTreeMap, btree_map::Entry};

/// Who may use an STag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every stream of this protection domain.
    ProtectionDomain(u32),
    /// This stream only; it has to be of the entry's protection domain, too (AMB-59).
    Stream {
        /// The stream.
        stream: u32,
        /// Its protection domain.
        protection_domain: u32,
    },
}

/// One entry of the STag table. The range is `base..base + length` in Tagged Offsets, and does not
/// extend past 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StagEntry {
    /// False once revoked.
    pub valid: bool,
    /// Who may use it.
    pub scope: Scope,
    /// The peer may write.
    pub remote_write: bool,
    /// First Tagged Offset of the range.
    pub base: u64,
    /// Octets of the range.
    pub length: u64,
}

/// Which untagged MSNs are accepted (AMB-04).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MsnMode {
    /// Only the next expected MSN; for an LLP that delivers in order.
    #[default]
    Strict,
    /// Any MSN with a posted buffer.
    Window,
}

/// DDP's state of a stream.
#[derive(Clone, Debug)]
pub struct StreamContext {
    /// Stream identifier.
    pub stream: u32,
    /// Its protection domain.
    pub protection_domain: u32,
    /// Which MSNs are accepted.
    pub msn_mode: MsnMode,
    /// Each MO must equal the octets that the message has so far (AMB-07).
    pub strict_mo: bool,
    /// Its untagged queues by QN.
    pub queues: BTreeMap<u32, Queue>,
}

impl StreamContext {
    /// Adds an untagged queue whose first message has `first_msn`, and of whose buffers segments can target `window` at a time.
    pub(crate) fn enable_queue(
        &mut self,
        queue: u32,
        first_msn: u32,
        window: usize,
    ) -> Result<(), ReceiverError> {
        let stream = self.stream;
        match self.queues.entry(queue) {
            Entry::Vacant(slot) => {
                slot.insert(Queue::with_window(first_msn, window));
                Ok(())
            }
            Entry::Occupied(_) => Err(ReceiverError::QueueEnabled { stream, queue }),
        }
    }

    /// Posts a buffer of `len` octets and returns the MSN it is for.
    pub(crate) fn post(&mut self, queue: u32, len: u32) -> Result<u32, ReceiverError> {
        let stream = self.stream;
        let Some(entry) = self.queues.get_mut(&queue) else {
            return Err(ReceiverError::UnknownQueue { stream, queue });
        };
        let msn = entry.first_msn().wrapping_add(entry.posted() as u32);
        if entry.post(len) {
            Ok(msn)
        } else {
            Err(ReceiverError::QueueFull { stream, queue })
        }
    }
}

/// A DDP segment that may be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted<'u> {
    /// Its header.
    pub header: Header,
    /// Its payload, possibly empty.
    pub payload: &'u [u8],
}

impl Accepted<'_> {
    /// Where the payload goes.
    pub fn target(&self) -> Target {
        match self.header {
            Header::Tagged(header) => Target::Tagged {
                stag: header.stag,
                to: header.to,
            },
            Header::Untagged(header) => Target::Untagged {
                queue: header.qn,
                msn: header.msn,
                offset: header.mo,
            },
        }
    }
}

/// A DDP segment that failed a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Number of the first failing check.
    pub number: ErrorNumber,
    /// All failing checks.
    pub checks: Checks,
}

const fn rejected(number: ErrorNumber, checks: Checks) -> Rejected {
    Rejected { number, checks }
}

/// The checks and the STag table that they use. They compare the whole 32-bit STag (AMB-50).
#[derive(Clone, Debug, Default)]
pub struct DdpChecker {
    /// STag table.
    pub stags: BTreeMap<u32, StagEntry>,
}

impl DdpChecker {
    /// Makes an STag invalid; returns false if the table has no such STag.
    pub(crate) fn revoke(&mut self, stag: u32) -> bool {
        let entry = self.stags.get_mut(&stag);
        entry.map(|entry| entry.valid = false).is_some()
    }

    /// Checks one ULPDU of a stream.
    pub fn check<'u>(
        &self,
        context: &StreamContext,
        ulpdu: &'u [u8],
    ) -> Result<Accepted<'u>, Rejected> {
        let (header, payload) = Header::parse(ulpdu).map_err(|error| match error {
            ddp::Error::Version { tagged: true, .. } => {
                rejected(ErrorNumber::TaggedVersion, Checks::VERSION)
            }
            ddp::Error::Version { tagged: false, .. } => {
                rejected(ErrorNumber::UntaggedVersion, Checks::VERSION)
            }
            ddp::Error::Truncated { .. } | ddp::Error::OtherFormat { .. } => {
                rejected(ErrorNumber::LocalCatastrophic, Checks::SHORT)
            }
        })?;
        match &header {
            Header::Tagged(_) if payload.is_empty() => {}
            Header::Tagged(tagged) => self.check_tagged(context, tagged, payload.len() as u64)?,
            Header::Untagged(untagged) => {
                self.check_untagged(context, untagged, payload.len() as u64)?;
            }
        }
        Ok(Accepted { header, payload })
    }

    fn check_tagged(
        &self,
        context: &StreamContext,
        header: &TaggedHeader,
        len: u64,
    ) -> Result<(), Rejected> {
        let entry = self.stags.get(&header.stag).filter(|entry| entry.valid);
        let Some(entry) = entry else {
            return Err(rejected(ErrorNumber::TaggedInvalidStag, Checks::STAG));
        };
        let associated = match entry.scope {
            Scope::ProtectionDomain(id) => id == context.protection_domain,
            Scope::Stream {
                stream,
                protection_domain,
            } => stream == context.stream && protection_domain == context.protection_domain,
        };
        let (base, to) = (u128::from(entry.base), u128::from(header.to));
        let range_end = base + u128::from(entry.length);
        let segment_end = to + u128::from(len);

        let mut checks = Checks::empty();
        checks.set(Checks::ASSOC, !associated);
        checks.set(Checks::ACCESS, !entry.remote_write || entry.length == 0);
        checks.set(Checks::TO, to < base || to >= range_end);
        checks.set(Checks::WRAP, segment_end > 1 << 64);
        checks.set(Checks::END, segment_end > range_end);

        let number = if checks.is_empty() {
            return Ok(());
        } else if checks.contains(Checks::ASSOC) {
            ErrorNumber::TaggedNotAssociated
        } else if checks.contains(Checks::ACCESS) {
            ErrorNumber::TaggedInvalidStag
        } else if checks.contains(Checks::TO) {
            ErrorNumber::TaggedBounds
        } else if checks.contains(Checks::WRAP) {
            ErrorNumber::TaggedWrap
        } else {
            ErrorNumber::TaggedBounds
        };
        Err(rejected(number, checks))
    }

    fn check_untagged(
        &self,
        context: &StreamContext,
        header: &UntaggedHeader,
        len: u64,
    ) -> Result<(), Rejected> {
        let Some(queue) = context.queues.get(&header.qn) else {
            return Err(rejected(ErrorNumber::UntaggedQn, Checks::QN));
        };
        let distance = queue.distance(header.msn);
        let out_of_range = match context.msn_mode {
            MsnMode::Strict => distance != 0,
            MsnMode::Window => distance >= 1 << 31,
        };
        if out_of_range {
            return Err(rejected(ErrorNumber::UntaggedMsnRange, Checks::MSN));
        }
        let Some((buffer_len, placed)) = queue.buffer(distance) else {
            return Err(rejected(ErrorNumber::UntaggedNoBuffer, Checks::NOBUF));
        };
        let (mo, buffer_len) = (u64::from(header.mo), u64::from(buffer_len));
        // An empty segment may lie at the very end of the buffer (AMB-05).
        let mo_inside = mo < buffer_len || (len == 0 && mo == buffer_len);
        let mo_expected = !context.strict_mo || mo == placed;

        let mut checks = Checks::empty();
        checks.set(Checks::MO, !mo_inside || !mo_expected);
        checks.set(Checks::LEN, mo + len > buffer_len);

        if checks.is_empty() {
            Ok(())
        } else if checks.contains(Checks::MO) {
            Err(rejected(ErrorNumber::UntaggedMo, checks))
        } else {
            Err(rejected(ErrorNumber::UntaggedTooLong, checks))
        }
    }
}
