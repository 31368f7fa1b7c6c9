//! What must come of a stream's requests: its octets, FPDU by FPDU, and its completions.
//!
//! When a command or the peer changes something about a stream that has requests under way, the exact segment at which the change
//! takes effect is the device's choice. The judge then accepts what any of the moments would give, and nothing else:
//!
//! | event | accepted |
//! |---|---|
//! | `SET_EMSS` | FPDUs of the size before it, then of the size behind it; for requests announced when it was done, of the latter only |
//! | `REVOKE_STAG` | segments that read the region, up to one that fails with `STAG`; none of requests announced when it was done |
//! | error of the peer | requests that are sent, then flushed; of those announced behind the error's completion only `TERMINATE` is sent |
//! | `CLOSE_STREAM` | requests that are sent, then flushed; octets that TCP has not read by then do not come |

use std::collections::HashMap;

use warpline_regmap::transmit::{Payload, SendRequest, Target, status};
use warpline_wire::ddp::{TaggedHeader, UntaggedHeader};
use warpline_wire::mpa;
use warpline_wire::send::{CrcField, FpduWriter};

use super::common::{Coverage, RING, Spoil, memory_octet};
use super::plan::{Fault, Life, Posting};
use crate::local_memory::{self, Region, bus_address};

/// FPDUs of a former size that may still come when `SET_EMSS` is done: those that are cut, and not in the ring.
const CUT: usize = 40;

/// A region as the host has left it.
#[derive(Clone, Debug)]
pub struct Known {
    pub region: Region,
    pub registered: bool,
    pub faulty: std::ops::Range<u64>,
    /// Cycles in which `REVOKE_STAG` was written, and was done.
    pub revoked: Option<u64>,
    pub gone: Option<u64>,
}

/// An EMSS, as MULPDU.
#[derive(Clone, Copy, Debug)]
struct Size {
    mulpdu: u16,
    /// Position of the edge when the command was done.
    done: Option<u32>,
}

/// A request that was announced.
#[derive(Clone, Debug)]
struct Announced {
    posting: Posting,
    cycle: u64,
    /// First size that its FPDUs may have.
    size: usize,
    /// All of its octets were seen.
    seen: bool,
    report: Option<u32>,
    signalled: bool,
    terminates: bool,
}

/// The answer to a MEASURE.
#[derive(Clone, Copy, Debug)]
struct Measured {
    from: u32,
    length: u32,
    /// Edge when the command was given, and when it was answered.
    edges: (u32, u32),
    answer: u32,
}

/// The next segment of a request.
struct Segment {
    header: Vec<u8>,
    payload: Vec<u8>,
    count: u32,
    last: bool,
}

/// Why a segment does not come.
struct Refused(u32);

/// The judge of a stream's life.
#[derive(Debug)]
pub struct Judge {
    pub number: u8,
    domain: u16,
    markers: bool,
    pub known: Vec<Known>,
    sizes: Vec<Size>,
    /// Size of the last FPDU seen, and FPDUs of it behind the end of its command.
    size: usize,
    late: usize,
    requests: Vec<Announced>,
    /// Request and octets of it that were seen.
    cursor: (usize, u32),
    msns: HashMap<u32, u32>,
    first_msn: u32,
    writer: FpduWriter,
    /// Octets that TCP has read, once each, and those of them that are judged.
    pub octets: Vec<u8>,
    pub judged: usize,
    /// Positions behind FPDUs.
    ends: Vec<u32>,
    edges: Vec<u32>,
    measured: Vec<Measured>,
    reported: usize,
    /// A request has failed; the last message was seen or reported.
    failed: Option<usize>,
    last: Option<usize>,
    pub open: bool,
    pub frozen: Option<u64>,
    /// The completion of the peer's error was read.
    pub error_read: Option<u64>,
    pub closing: bool,
    /// The close came before all was done: TCP may not have read all octets.
    pub aborted: bool,
    spoil: Option<Spoil>,
}

impl Judge {
    pub fn new(number: u8, life: &Life, spoil: Option<Spoil>) -> Self {
        let field = match life.crc {
            true => CrcField::Computed,
            false => CrcField::Zero,
        };
        let known = life.regions.iter().map(|memory| Known {
            region: memory.region,
            registered: memory.registered,
            faulty: memory.faulty.clone(),
            revoked: None,
            gone: None,
        });
        let mut judge = Self {
            number,
            domain: life.domain,
            markers: life.markers,
            known: known.collect(),
            sizes: vec![],
            size: 0,
            late: 0,
            requests: vec![],
            cursor: (0, 0),
            msns: HashMap::new(),
            first_msn: life.first_msn,
            writer: FpduWriter::new(life.markers, field),
            octets: vec![],
            judged: 0,
            ends: vec![],
            edges: vec![],
            measured: vec![],
            reported: 0,
            failed: None,
            last: None,
            open: !life.gate,
            frozen: None,
            error_read: None,
            closing: false,
            aborted: false,
            spoil,
        };
        judge.size_given(life.emss);
        judge.size_done(0);
        judge
    }

    /// `SET_EMSS` is written.
    pub fn size_given(&mut self, emss: u16) {
        let lengths = mpa::MIN_MULPDU..=mpa::MAX_ULPDU;
        // a leading marker makes an FPDU longest
        let fits = |length: &u16| mpa::fpdu_len(0, usize::from(*length), self.markers) <= RING;
        let largest = lengths.rev().find(fits).unwrap_or(mpa::MIN_MULPDU);
        let mulpdu = mpa::mulpdu(emss.into(), self.markers).min(largest);
        self.sizes.push(Size { mulpdu, done: None });
    }

    /// It is done.
    pub fn size_done(&mut self, edge: u32) {
        if let Some(size) = self.sizes.last_mut() {
            size.done = Some(edge);
        }
    }

    /// The doorbell of these slots is written.
    pub fn announce(&mut self, postings: &[Posting], cycle: u64) {
        let size = self.sizes.iter().rposition(|size| size.done.is_some());
        let size = size.unwrap_or(0);
        self.requests.extend(postings.iter().map(|posting| {
            let flags = posting.request.map(|request| request.flags());
            Announced {
                posting: posting.clone(),
                cycle,
                size,
                seen: false,
                report: None,
                signalled: flags.is_some_and(|flags| flags.signalled),
                terminates: flags.is_some_and(|flags| flags.terminate),
            }
        }));
    }

    pub fn announced(&self) -> usize {
        self.requests.len()
    }

    /// Slots that are free again, as far as completions say.
    pub fn consumed(&self) -> usize {
        self.reported
    }

    /// A report says that the edge is here.
    pub fn edge(&mut self, edge: u32) {
        if self.edges.last() != Some(&edge) {
            self.edges.push(edge);
        }
    }

    pub fn measured(&mut self, from: u32, length: u32, edges: (u32, u32), answer: u32) {
        self.measured.push(Measured {
            from,
            length,
            edges,
            answer,
        });
    }

    /// Some request has failed, or the last message has been sent.
    pub fn ended(&self) -> bool {
        self.failed.is_some() || self.behind_last(self.requests.len())
    }

    /// The next segment of a request, of which `sent` octets were sent, or why there is none.
    fn segment(&self, index: usize, sent: u32, mulpdu: u16) -> Result<Segment, Refused> {
        let announced = &self.requests[index];
        let posting = &announced.posting;
        let request = match (posting.fault, &posting.request) {
            (Fault::Unread, _) => return Err(Refused(status::BUS)),
            (Fault::Head, _) | (_, None) => return Err(Refused(status::MALFORMED)),
            (_, Some(request)) => request,
        };
        let total = request.payload().length();
        let header_len = match request.target() {
            Target::Tagged { .. } => 14,
            Target::Untagged { .. } => 18,
        };
        let count = (u32::from(mulpdu) - header_len).min(total - sent);
        let last = sent + count == total;
        if let Fault::Elements(at) = posting.fault
            && (at < sent + count || last)
        {
            return Err(Refused(status::MALFORMED));
        }
        let payload = self.payload(announced, request, sent, count)?;
        let header = match request.target() {
            Target::Tagged {
                stag,
                offset,
                rsvd_ulp,
            } => {
                let to = offset.wrapping_add(sent.into());
                let header = TaggedHeader {
                    last,
                    rsvd_ulp,
                    stag,
                    to,
                };
                header.emit().to_vec()
            }
            Target::Untagged { queue, rsvd_ulp } => {
                let spoiled = u32::from(self.spoil == Some(Spoil::Msn) && index > 1);
                let header = UntaggedHeader {
                    last,
                    rsvd_ulp,
                    qn: queue,
                    msn: self.msn(queue).wrapping_add(spoiled),
                    mo: sent,
                };
                header.emit().to_vec()
            }
        };
        Ok(Segment {
            header,
            payload,
            count,
            last,
        })
    }

    fn msn(&self, queue: u32) -> u32 {
        self.msns.get(&queue).copied().unwrap_or(self.first_msn)
    }

    fn payload(
        &self,
        announced: &Announced,
        request: &SendRequest,
        sent: u32,
        count: u32,
    ) -> Result<Vec<u8>, Refused> {
        let gather = match request.payload() {
            Payload::Inline(inline) => {
                let part = sent as usize..(sent + count) as usize;
                return Ok(inline.as_slice()[part].to_vec());
            }
            Payload::Gather(gather) => gather,
        };
        let (mut octets, mut refused, mut begins) = (vec![], false, 0);
        let (sent, end) = (u64::from(sent), u64::from(sent) + u64::from(count));
        for element in gather.as_slice() {
            let ends = begins + u64::from(element.length);
            let (from, to) = (sent.max(begins), end.min(ends));
            if from < to {
                let known = self.known.iter().find(|k| k.region.stag == element.stag);
                let known = known.filter(|known| {
                    known.registered && known.gone.is_none_or(|gone| announced.cycle < gone)
                });
                let range = local_memory::Range {
                    stag: element.stag,
                    offset: element.offset.wrapping_add(from - begins),
                    length: to - from,
                };
                let region = known.map(|known| &known.region);
                let address = bus_address(region, self.number, self.domain, range);
                let address = address.map_err(Refused)?;
                let faulty = known.map_or(0..0, |known| known.faulty.clone());
                refused |= address < faulty.end && faulty.start < address + range.length;
                octets.extend((address..address + range.length).map(memory_octet));
            }
            begins = ends;
        }
        match refused {
            true => Err(Refused(status::BUS)),
            false => Ok(octets),
        }
    }

    /// The next segment reads a region that is being revoked, or was.
    fn meets_revocation(&self, index: usize, sent: u32, mulpdu: u16) -> bool {
        let Some(request) = &self.requests[index].posting.request else {
            return false;
        };
        let Payload::Gather(gather) = request.payload() else {
            return false;
        };
        let end = u64::from(sent) + u64::from(mulpdu);
        let mut begins = 0;
        gather.as_slice().iter().any(|element| {
            let ends = begins + u64::from(element.length);
            let part = u64::from(sent) < ends && begins < end;
            begins = ends;
            let known = self.known.iter().find(|k| k.region.stag == element.stag);
            part && known.is_some_and(|known| known.revoked.is_some())
        })
    }

    /// Requests whose next segment may come next, with the octets of them that were sent.
    fn candidates(&self) -> Vec<(usize, u32)> {
        if self.last.is_some_and(|last| last < self.cursor.0) || !self.open {
            return vec![];
        }
        let (at, sent) = self.cursor;
        let mut all = vec![];
        if at < self.requests.len() {
            all.push((at, sent));
        }
        if self.frozen.is_some() {
            let from = at + usize::from(sent > 0);
            let mut behind = from.max(at)..self.requests.len();
            all.extend(
                behind
                    .find(|i| self.requests[*i].terminates)
                    .map(|i| (i, 0)),
            );
        }
        all
    }

    /// FPDUs that may come next: request, octets of it sent, size, octets of the FPDU, and its segment.
    fn next(&self) -> Vec<(usize, u32, usize, Vec<u8>, Segment)> {
        let mut all: Vec<(usize, u32, usize, Vec<u8>, Segment)> = vec![];
        for (index, sent) in self.candidates() {
            let from = self.size.max(self.requests[index].size);
            for size in from..self.sizes.len() {
                let mulpdu = self.sizes[size].mulpdu;
                let Ok(segment) = self.segment(index, sent, mulpdu) else {
                    continue;
                };
                let mut octets = vec![];
                let mut writer = self.writer.clone();
                let written = writer.append(&segment.header, &segment.payload, &mut octets);
                if written.is_err() || all.iter().any(|other| other.3 == octets) {
                    continue;
                }
                if self.spoil == Some(Spoil::Octet) && index > 0 {
                    let middle = octets.len() / 2;
                    octets[middle] ^= 0x10;
                }
                all.push((index, sent, size, octets, segment));
            }
        }
        all
    }

    /// Octets of the FPDU at `judged`, as its length says, if that is there.
    fn needed(&self) -> Option<usize> {
        let at = self.judged;
        let marker = self.markers && warpline_wire::marker::is_due(at as u32);
        let length_at = at
            + if marker {
                warpline_wire::marker::LEN
            } else {
                0
            };
        let length = self.octets.get(length_at..length_at + 2)?;
        let length = u16::from_be_bytes([length[0], length[1]]);
        Some(mpa::fpdu_len(at as u32, length.into(), self.markers))
    }

    /// Judges the FPDUs that TCP has read.
    pub fn judge(&mut self, coverage: &mut Coverage) -> Result<(), String> {
        while let Some(need) = self.needed() {
            let at = self.judged;
            let Some(found) = self.octets.get(at..at + need) else {
                break;
            };
            let mut next = self.next();
            let Some(index) = next.iter().position(|fpdu| fpdu.3 == found) else {
                return Err(self.wrong_fpdu(found, &next));
            };
            let fpdu = next.swap_remove(index);
            self.accept(fpdu, need, coverage)?;
        }
        self.check_measured()
    }

    fn wrong_fpdu(&self, found: &[u8], next: &[(usize, u32, usize, Vec<u8>, Segment)]) -> String {
        let at = self.judged;
        let Some((request, sent, _, due, _)) = next.first() else {
            let length = found.len();
            return format!("an FPDU of {length} octets at {at}, and none is due: {found:02x?}");
        };
        let same = found.iter().zip(due).take_while(|(a, b)| a == b).count();
        let part = |octets: &[u8]| format!("{:02x?}", &octets[same..octets.len().min(same + 24)]);
        format!(
            "FPDU at {at}, of request {request} from octet {sent} on: from octet {same} of {} on {}, due {} of {}, or {} others",
            found.len(),
            part(found),
            part(due),
            due.len(),
            next.len() - 1
        )
    }

    fn accept(
        &mut self,
        (index, sent, size, _, segment): (usize, u32, usize, Vec<u8>, Segment),
        octets: usize,
        coverage: &mut Coverage,
    ) -> Result<(), String> {
        if size != self.size {
            (self.size, self.late) = (size, 0);
            coverage.count("EMSS changed between FPDUs");
            if sent > 0 {
                coverage.count("EMSS changed in a message");
            }
        }
        let behind = self.sizes.get(size + 1).and_then(|next| next.done);
        if behind.is_some_and(|edge| self.judged as u32 >= edge)
            && self.sizes[size].mulpdu != self.sizes[size + 1].mulpdu
        {
            self.late += usize::from(!segment.last);
            if self.late > CUT {
                return Err(format!("{CUT} FPDUs of a former EMSS, and one more"));
            }
        }
        if index != self.cursor.0 {
            coverage.count("TERMINATE behind an error of the peer");
        }
        if self.markers {
            coverage.count("FPDU with markers");
        }
        let written = self.writer.append(
            &segment.header,
            &segment.payload,
            &mut Vec::with_capacity(octets),
        );
        written.map_err(|error| error.to_string())?;
        self.judged += octets;
        self.ends.push(self.judged as u32);
        coverage.count("FPDU");
        self.cursor = (index, sent + segment.count);
        if segment.last {
            let announced = &mut self.requests[index];
            announced.seen = true;
            if let Some(request) = announced.posting.request
                && let Target::Untagged { queue, .. } = request.target()
            {
                let next = self.msn(queue).wrapping_add(1);
                if next == 0 {
                    coverage.count("MSN wraps");
                }
                self.msns.insert(queue, next);
            }
            if self.requests[index].terminates {
                self.last = Some(index);
                coverage.count("TERMINATE");
            }
            self.cursor = (index + 1, 0);
        }
        Ok(())
    }

    /// Answers to MEASURE that can be judged.
    fn check_measured(&mut self) -> Result<(), String> {
        let judged = self.judged as u32;
        let ends = &self.ends;
        let mut wrong = None;
        self.measured.retain(|m| {
            let reach = |edge: u32| edge.min(m.from + m.length);
            if reach(m.edges.1) > judged {
                return true;
            }
            let last = |reach: u32| ends[..ends.partition_point(|end| *end <= reach)].last();
            let least = last(reach(m.edges.0)).map_or(0, |end| end.saturating_sub(m.from));
            let most = last(reach(m.edges.1)).map_or(0, |end| end.saturating_sub(m.from));
            let is_end = m.answer == 0 || ends.binary_search(&(m.from + m.answer)).is_ok();
            if !is_end || m.answer < least || m.answer > most {
                wrong = Some(format!("{m:?}: due {least} to {most}, at an FPDU's end"));
            }
            false
        });
        wrong.map_or(Ok(()), Err)
    }

    /// A completion of the stream.
    pub fn complete(
        &mut self,
        consumed: u16,
        found: u32,
        length: u32,
        name: u64,
        coverage: &mut Coverage,
    ) -> Result<(), String> {
        let index = usize::from(consumed.wrapping_sub(1));
        let what = format!("completion {found} of slot {index}");
        if index < self.reported || index >= self.requests.len() {
            let (from, to) = (self.reported, self.requests.len());
            return Err(format!("{what}, due {from} to {to}"));
        }
        for skipped in self.reported..index {
            self.pass(skipped).map_err(|e| format!("{what}: {e}"))?;
        }
        let announced = &self.requests[index];
        let posting = &announced.posting;
        if posting.fault != Fault::Unread {
            use warpline_regmap::transmit::send_slot;
            let due = (
                send_slot::LENGTH.get(&posting.slot) as u32,
                send_slot::REQUEST.get(&posting.slot),
            );
            if due != (length, name) {
                return Err(format!("{what}: {:?}, due {due:?}", (length, name)));
            }
        }
        let spoiled = self.spoil == Some(Spoil::Status) && index > 0;
        match found ^ u32::from(spoiled) {
            status::OK => {
                if !announced.signalled {
                    return Err(format!("{what}, which is not signalled"));
                }
                self.sent(index).map_err(|e| format!("{what}: {e}"))?;
                coverage.count("status OK");
            }
            status::FLUSHED => {
                let ended = self.failed.is_some() || self.behind_last(index);
                if !ended && self.frozen.is_none() && !self.closing {
                    return Err(format!("{what}: flushed for no reason"));
                }
                coverage.count("status FLUSHED");
                if !ended && self.closing {
                    coverage.count("flushed by a close");
                }
                if !ended && self.frozen.is_some() {
                    coverage.count("flushed by an error of the peer");
                }
            }
            reason => {
                if self.failed.is_some() || self.behind_last(index) {
                    return Err(format!("{what}, behind the end"));
                }
                self.may_fail(index, reason)
                    .map_err(|e| format!("{what}: {e}"))?;
                self.failed = Some(index);
                coverage.count(match reason {
                    status::MALFORMED => "status MALFORMED",
                    status::STAG => "status STAG",
                    status::ASSOC => "status ASSOC",
                    status::BOUNDS => "status BOUNDS",
                    _ => "status BUS",
                });
            }
        }
        self.requests[index].report = Some(found);
        self.reported = index + 1;
        Ok(())
    }

    /// The stream's last message lies in front of a request, and was sent.
    fn behind_last(&self, index: usize) -> bool {
        let mut before = self.requests[..index].iter();
        before.any(|r| r.terminates && r.report.is_none_or(|report| report == status::OK))
    }

    /// A request that is not reported must have been sent.
    fn pass(&self, index: usize) -> Result<(), String> {
        if self.requests[index].signalled {
            return Err(format!("no completion of slot {index}, which is signalled"));
        }
        self.sent(index)
    }

    /// A request may have been sent.
    fn sent(&self, index: usize) -> Result<(), String> {
        let announced = &self.requests[index];
        if self.failed.is_some() {
            return Err(format!("slot {index} is not flushed behind a failure"));
        }
        if self.behind_last(index) {
            return Err(format!("slot {index} is not flushed behind TERMINATE"));
        }
        if !self.open {
            return Err(format!("slot {index} is sent, the gate is closed"));
        }
        let flushed = self.requests[..index]
            .iter()
            .any(|r| r.report == Some(status::FLUSHED));
        let behind_error = self.error_read.is_some_and(|read| read < announced.cycle);
        if (flushed || behind_error) && !(announced.terminates && self.frozen.is_some()) {
            return Err(format!("slot {index} is not flushed"));
        }
        match self.fault(index) {
            Some(reason) => Err(format!("slot {index} is sent, due {reason}")),
            None => Ok(()),
        }
    }

    /// The status with which a request fails, whenever it is sent.
    fn fault(&self, index: usize) -> Option<u32> {
        let announced = &self.requests[index];
        let (fault, request) = (announced.posting.fault, announced.posting.request.as_ref());
        match (fault, request) {
            (Fault::Unread, _) => Some(status::BUS),
            (Fault::Head | Fault::Elements(_), _) | (_, None) => Some(status::MALFORMED),
            (Fault::None, Some(request)) => {
                let total = request.payload().length();
                let found = self.payload(announced, request, 0, total);
                found.err().map(|Refused(reason)| reason)
            }
        }
    }

    fn may_fail(&self, index: usize, reason: u32) -> Result<(), String> {
        let revoked = reason == status::STAG && self.meets(index);
        match self.fault(index) {
            Some(due) if due == reason => Ok(()),
            _ if revoked => Ok(()),
            due => Err(format!("due {due:?}")),
        }
    }

    /// A request reads a region that is being revoked, or was.
    fn meets(&self, index: usize) -> bool {
        let Some(request) = &self.requests[index].posting.request else {
            return false;
        };
        let Payload::Gather(gather) = request.payload() else {
            return false;
        };
        gather.as_slice().iter().any(|element| {
            let known = self.known.iter().find(|k| k.region.stag == element.stag);
            known.is_some_and(|known| known.revoked.is_some())
        })
    }

    /// All that was announced is sent and read, or reported.
    pub fn is_done(&self) -> bool {
        self.requests.iter().all(|r| {
            r.report.map_or(r.seen && !r.signalled, |report| {
                report != status::OK || r.seen
            })
        }) && self.judged == self.octets.len()
            && self.spoil != Some(Spoil::Missing)
    }

    /// What must be true when the stream is closed, and its octets and completions have come.
    pub fn end(&mut self, coverage: &mut Coverage) -> Result<(), String> {
        self.judge(coverage)?;
        for index in self.reported..self.requests.len() {
            self.pass(index).map_err(|e| format!("at the end: {e}"))?;
        }
        let rest = &self.octets[self.judged..];
        let next = self.next();
        if !rest.is_empty() && !next.iter().any(|fpdu| fpdu.3.starts_with(rest)) {
            return Err(self.wrong_fpdu(rest, &next));
        }
        let unknown = |edge: &&u32| {
            **edge != 0 && **edge <= self.judged as u32 && self.ends.binary_search(edge).is_err()
        };
        if let Some(edge) = self.edges.iter().find(unknown) {
            return Err(format!("the edge was at {edge}, where no FPDU ends"));
        }
        for (index, request) in self.requests.iter().enumerate() {
            if request.seen && request.report.is_some_and(|report| report != status::OK) {
                return Err(format!(
                    "slot {index} was sent, and its report is {:?}",
                    request.report
                ));
            }
        }
        let Some(index) = self.failed.filter(|_| !self.aborted) else {
            return Ok(());
        };
        // the message stops at a segment that fails for this reason
        let reason = self.requests[index].report.unwrap_or(status::OK);
        let (at, sent) = self.cursor;
        let sent = match at == index {
            true => sent,
            false => 0,
        };
        if sent > 0 {
            coverage.count("failure in a message");
        }
        let sizes = self.sizes[self.size..].iter();
        let fails = |mulpdu: u16| match self.segment(index, sent, mulpdu) {
            Err(Refused(due)) => {
                due == reason
                    || reason == status::STAG && self.meets_revocation(index, sent, mulpdu)
            }
            Ok(_) => reason == status::STAG && self.meets_revocation(index, sent, mulpdu),
        };
        if !sizes.map(|size| size.mulpdu).any(fails) {
            return Err(format!("slot {index} failed with {reason} at octet {sent}"));
        }
        if reason == status::STAG && self.meets(index) && sent > 0 {
            coverage.count("revocation in a message");
        }
        Ok(())
    }
}
