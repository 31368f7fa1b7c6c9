//! Read Requests of the peer: each is answered, or fails, or goes to the host, as decision 28 has it.
//!
//! ```text
//!  Ask ─► asked ─┬─ plain ────────────► responses in their order (due) ─► seen, or an event of a response
//!                └─ any reason not to ─► completion of queue 1: it, and all behind it
//! ```
//!
//! What a request names is checked by `warpline_wire` when the peer sends it. Whether one that meets a revocation, or the end of
//! the responder, is answered is the device's choice; what it has chosen binds all requests behind it.

use warpline_regmap::layout::{completion, kind};
use warpline_regmap::transmit::{
    Element, Flags, Gather, Payload, READ_REQUESTS_MAX, SendRequest, Target, send_slot, status,
};
use warpline_wire::rdmap::{Control, Opcode, RdmaError, ReadRequest, SourceRegion, Version, queue};

use super::super::common::{Coverage, Spoil};
use super::super::plan::{Ask, Cut, Fault, Posting};
use super::announced::Announced;
use super::asked::Asked;
use super::state::{Judge, Which};

/// What the device makes of a Read Request (RFC 5040 §4.5): a tagged message to Data Sink out of Data Source.
fn response(request: &ReadRequest, msn: u32) -> Option<SendRequest> {
    let element = Element {
        stag: request.source_stag,
        length: request.size,
        offset: request.source_to,
    };
    let elements = &[element][..usize::from(request.size > 0)];
    let target = Target::Tagged {
        stag: request.sink_stag,
        offset: request.sink_to,
        rsvd_ulp: Control::new(Version::Ietf, Opcode::ReadResponse).0,
    };
    let payload = Payload::Gather(Gather::new(elements).ok()?);
    SendRequest::new(target, Flags::default(), msn.into(), payload).ok()
}

impl Judge {
    /// The peer sends a Read Request; gives its MSN.
    pub fn ask(&mut self, ask: &Ask, cycle: u64) -> u32 {
        let first = self.reads.place.map_or(1, |place| place.first_msn);
        let msn = first.wrapping_add(self.reads.sent);
        self.reads.sent = self.reads.sent.wrapping_add(1);
        // nothing is received behind an error
        if self.frozen.is_some() {
            return msn;
        }
        self.open = true;
        let index = self.reads.all.len();
        let request = well_formed(ask);
        let reason = self.must_hand(ask, request.as_ref());
        let response = request.and_then(|request| response(&request, msn));
        let last = self.requests.iter().find(|r| r.terminates);
        let late = self.failed.is_some() || last.is_some_and(|r| r.report == Some(status::OK));
        self.reads.all.push(Asked {
            ask: ask.clone(),
            msn,
            announced: Announced {
                posting: Posting {
                    slot: response.map_or([0; send_slot::WORDS], |response| response.emit()),
                    request: response,
                    fault: Fault::None,
                },
                cycle,
                size: self.first_size(),
                seen: false,
                report: None,
                signalled: false,
                terminates: false,
            },
            reason,
            others: index - self.reads.seen,
            late,
        });
        if ask.beyond {
            self.reads.doubt = Some(index);
            self.frozen = Some(cycle);
        }
        msn
    }

    /// Why a request goes to the host, whatever happens beside it.
    fn must_hand(&self, ask: &Ask, request: Option<&ReadRequest>) -> Option<&'static str> {
        if self.reads.place.is_none_or(|place| !place.on) {
            return Some("read without a responder");
        }
        if self.reads.off_done {
            return Some("read behind the end of the responder");
        }
        let Some(request) = request else {
            return Some("read refused: malformed");
        };
        if ask.unread {
            return Some("read refused: its buffer is not read");
        }
        if u128::from(request.sink_to) + u128::from(request.size) > 1 << 64 {
            return Some("read refused: Data Sink");
        }
        let mut known = self.known.iter();
        let known = known.find(|known| known.region.stag == request.source_stag);
        let known = known.filter(|known| known.registered && known.gone.is_none());
        let region = known.map(|known| SourceRegion {
            base: known.region.base,
            length: known.region.length,
            associated: known.region.domain == self.domain
                && known.region.stream.is_none_or(|only| only == self.number),
            remote_read: known.region.remote_read == Some(true) || self.spoil == Some(Spoil::Right),
        });
        Some(match request.check(region).err()? {
            RdmaError::ProtectionInvalidStag => "read refused: STag",
            RdmaError::ProtectionNotAssociated => "read refused: association",
            RdmaError::ProtectionAccess => "read refused: right",
            _ => "read refused: bounds",
        })
    }

    /// The response to this request may be sent.
    pub(super) fn may_answer(&self, index: usize) -> bool {
        let handed = self.reads.handed.is_some_and(|(first, _)| first <= index);
        let asked = self.reads.all.get(index);
        !handed && asked.is_some_and(|asked| asked.reason.is_none() && !asked.late)
    }

    /// A response was seen.
    pub(super) fn answered(&mut self, index: usize, coverage: &mut Coverage) {
        self.reads.seen = index + 1;
        let asked = &self.reads.all[index];
        coverage.count("read answered");
        if asked
            .announced
            .posting
            .request
            .is_some_and(|r| r.payload().length() == 0)
        {
            coverage.count("read of 0 octets");
        }
        if self.reads.all.len() > index + 1 {
            coverage.count("reads outstanding");
        }
        if asked.ask.cut != Cut::Whole {
            coverage.count("read request of two segments");
        }
        if self.meets(Which::Read(index)) {
            coverage.count("read answered under a revocation");
        }
        self.resolve(index);
    }

    /// Something has come of a request: it was received.
    fn resolve(&mut self, index: usize) {
        if self.reads.doubt == Some(index) {
            (self.reads.doubt, self.frozen) = (None, None);
        }
    }

    /// The request in doubt has found no buffer: the stream is frozen.
    pub fn no_buffer(&mut self, coverage: &mut Coverage) {
        if let Some(index) = self.reads.doubt.take() {
            self.reads.all.truncate(index);
            coverage.count("read finds no buffer");
        }
    }

    /// An event of a response.
    pub fn complete_response(
        &mut self,
        consumed: u16,
        found: u32,
        length: u32,
        name: u64,
        coverage: &mut Coverage,
    ) -> Result<(), String> {
        let first = self.reads.place.map_or(1, |place| place.first_msn);
        let index = (name as u32).wrapping_sub(first) as usize;
        let slots = usize::from(consumed);
        let what = format!("event {found} of response {index}, behind {slots} slots");
        let asked = self.reads.all.get(index).filter(|_| name >> 32 == 0);
        let Some(asked) = asked.filter(|_| index >= self.reads.reported) else {
            let (from, to) = (self.reads.reported, self.reads.all.len());
            return Err(format!("{what}, due {from} to {to}: {name:#x}"));
        };
        let due = asked
            .announced
            .posting
            .request
            .map(|r| r.payload().length());
        if due != Some(length) || asked.reason.is_some() {
            return Err(format!(
                "{what}: {length} octets, due {due:?}, {:?}",
                asked.reason
            ));
        }
        if self.reads.handed.is_some_and(|(first, _)| first <= index) {
            return Err(format!("{what}, which the host has"));
        }
        if slots < self.reported || slots > self.requests.len() {
            let (from, to) = (self.reported, self.requests.len());
            return Err(format!("{what}, due {from} to {to}"));
        }
        for skipped in self.reported..slots {
            self.pass(skipped).map_err(|e| format!("{what}: {e}"))?;
        }
        self.reported = slots;
        match found {
            status::OK => return Err(format!("{what}, which has not failed")),
            status::FLUSHED => {
                let (failed, behind) = (self.failed.is_some(), self.behind_last(slots));
                if !failed && !behind && self.frozen.is_none() && !self.closing {
                    return Err(format!("{what}: flushed for no reason"));
                }
                self.reads.flushed_from.get_or_insert(slots);
                coverage.count(match (failed, behind, self.closing) {
                    (true, ..) => "read flushed behind a failure",
                    (_, true, _) => "read flushed behind TERMINATE",
                    (.., true) => "read flushed by a close",
                    _ => "read flushed by an error of the peer",
                });
            }
            reason => {
                if self.failed.is_some() || self.behind_last(slots) || asked.late {
                    return Err(format!("{what}, behind the end"));
                }
                // all but memory was checked before there was a response
                if reason != status::BUS && !self.meets(Which::Read(index)) {
                    return Err(format!("{what}: its request was allowed"));
                }
                self.may_fail(Which::Read(index), reason)
                    .map_err(|e| format!("{what}: {e}"))?;
                self.failed = Some(Which::Read(index));
                coverage.count(match reason {
                    status::BUS => "response fails with BUS",
                    _ => "response fails with STAG",
                });
            }
        }
        self.reads.all[index].announced.report = Some(found);
        self.reads.reported = index + 1;
        self.resolve(index);
        Ok(())
    }

    /// A completion of queue 1, with what lies in the buffer of each request.
    pub fn hand(
        &mut self,
        words: &[u32],
        buffer: impl FnOnce(usize) -> Vec<u8>,
        coverage: &mut Coverage,
    ) -> Result<(), String> {
        let first = self.reads.place.map_or(1, |place| place.first_msn);
        let index = (completion::MSN.get(words) as u32).wrapping_sub(first) as usize;
        let what = format!("request {index} is the host's");
        let Some(asked) = self.reads.all.get(index) else {
            return Err(format!("{what}: {words:x?}"));
        };
        let due = entry(asked, self.number, words);
        if due != words {
            return Err(format!("{what}: {words:x?}, due {due:x?}"));
        }
        let (ask, hole) = (&asked.ask, asked.ask.hole());
        let found = buffer(index);
        if found.get(hole..ask.octets.len()) != ask.octets.get(hole..) {
            return Err(format!(
                "{what}: {found:02x?} is in its buffer, due {ask:02x?}"
            ));
        }
        let from = match self.reads.handed {
            Some((_, last)) => last + 1,
            None => {
                let from = self.reads.reported.max(self.reads.seen);
                let mut before = (from..index).filter(|i| self.reads.all[*i].reason.is_some());
                before.next().unwrap_or(index).max(from)
            }
        };
        if index != from {
            return Err(format!("{what}, due {from}"));
        }
        let behind = self.reads.handed.is_some() && self.spoil != Some(Spoil::Handed);
        let reasons = [
            (behind, "read behind one of the host"),
            (self.reads.off_given, "read at the end of the responder"),
            (
                asked.others >= READ_REQUESTS_MAX,
                "read refused: one too many",
            ),
            (self.meets(Which::Read(index)), "read refused: revoked"),
        ];
        let other = reasons.into_iter().find(|(is, _)| *is);
        coverage.count("read handed to the host");
        match asked.reason.or(other.map(|(_, name)| name)) {
            Some(reason) => coverage.count(reason),
            // a close switches off
            None if self.closing => {}
            None => return Err(format!("{what}, for no reason")),
        }
        let begins = self.reads.handed.map_or(index, |(first, _)| first);
        self.reads.handed = Some((begins, index));
        self.resolve(index);
        Ok(())
    }

    /// What must be true of Read Requests at the end.
    pub(super) fn end_of_reads(&self) -> Result<(), String> {
        let mut ended = None;
        for (index, asked) in self.reads.all.iter().enumerate() {
            let seen = index < self.reads.seen;
            let handed = self.reads.is_handed(index);
            if seen && (ended.is_some() || asked.announced.report.is_some() || handed) {
                return Err(format!(
                    "request {index} is answered, behind {ended:?}: {asked:?}"
                ));
            }
            if asked.announced.report.is_some() || handed {
                ended = Some(index);
            }
        }
        Ok(())
    }
}

impl Ask {
    /// Octets at the front that do not come.
    pub fn hole(&self) -> usize {
        match self.cut {
            Cut::Hole(octets) => octets,
            _ => 0,
        }
    }
}

/// A request of 28 octets without a hole, of RDMAP version 1; Rsv is not checked (RFC 5040 §4.1).
fn well_formed(ask: &Ask) -> Option<ReadRequest> {
    let control = Control(ask.rsvd_ulp[0]);
    let opcode = control.check_address(Some(queue::READ_REQUEST)).ok()?;
    let is_request = opcode == Opcode::ReadRequest
        && control.version() == Version::Ietf as u8
        && ask.hole() == 0;
    ReadRequest::parse(&ask.octets).ok().filter(|_| is_request)
}

/// The completion of a request, with PHASE as it was found.
fn entry(asked: &Asked, stream: u8, found: &[u32]) -> Vec<u32> {
    let mut words = vec![0; completion::WORDS];
    let [first, low @ ..] = asked.ask.rsvd_ulp;
    for (field, value) in [
        (completion::KIND, kind::UNTAGGED.into()),
        (completion::STREAM, stream.into()),
        (completion::HOLE, u64::from(asked.ask.hole() > 0)),
        (completion::QUEUE, queue::READ_REQUEST.into()),
        (completion::MSN, asked.msn.into()),
        (completion::LENGTH, asked.ask.octets.len() as u64),
        (completion::RSVD_ULP_FIRST, first.into()),
        (completion::RSVD_ULP_LOW, u32::from_be_bytes(low).into()),
        (completion::PHASE, completion::PHASE.get(found)),
    ] {
        field.put(&mut words, value);
    }
    words
}
