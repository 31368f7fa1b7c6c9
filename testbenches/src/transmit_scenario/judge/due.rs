//! What may come next of a stream: the segments of its requests, the FPDUs that carry them, and why a request fails.

use warpline_regmap::transmit::{Payload, Target, status};
use warpline_wire::ddp::{TaggedHeader, UntaggedHeader};
use warpline_wire::{marker, mpa};

use super::super::common::{Spoil, memory_octet};
use super::super::plan::Fault;
use super::state::{Judge, Which};
use crate::local_memory::{self, bus_address};

/// The next segment of a request.
pub(super) struct Segment {
    pub(super) header: Vec<u8>,
    pub(super) payload: Vec<u8>,
    pub(super) count: u32,
    pub(super) last: bool,
}

/// An FPDU that may come next.
pub(super) struct Fpdu {
    /// Its request, and the octets of that which were sent before.
    pub(super) request: Which,
    pub(super) sent: u32,
    /// Which of the stream's sizes it has.
    pub(super) size: usize,
    pub(super) octets: Vec<u8>,
    pub(super) segment: Segment,
}

/// Why a segment does not come.
pub(super) struct Refused(pub(super) u32);

impl Judge {
    /// The next segment of a request, of which `sent` octets were sent, or why there is none.
    pub(super) fn segment(&self, which: Which, sent: u32, mulpdu: u16) -> Result<Segment, Refused> {
        let announced = self.message(which);
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
        let payload = self.payload(which, sent, count)?;
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
                let spoiled = u32::from(
                    self.spoil == Some(Spoil::Msn) && !matches!(which, Which::Slot(0 | 1)),
                );
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

    pub(super) fn msn(&self, queue: u32) -> u32 {
        self.msns.get(&queue).copied().unwrap_or(self.first_msn)
    }

    pub(super) fn payload(&self, which: Which, sent: u32, count: u32) -> Result<Vec<u8>, Refused> {
        let announced = self.message(which);
        let Some(request) = &announced.posting.request else {
            return Err(Refused(status::MALFORMED));
        };
        // memory that the peer reads needs its right
        let remote = matches!(which, Which::Read(_)) && self.spoil != Some(Spoil::Right);
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
                    remote,
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
    pub(super) fn meets_revocation(&self, which: Which, sent: u32, mulpdu: u16) -> bool {
        let Some(request) = &self.message(which).posting.request else {
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

    /// Messages whose next segment may come next, with the octets of them that were sent: that of a message that is sent in
    /// part, or else of either kind; RFC 5040 §5.5 orders messages of one kind only.
    pub(super) fn candidates(&self) -> Vec<(Which, u32)> {
        if self.last.is_some() || !self.open {
            return vec![];
        }
        let mut all = vec![];
        let mut behind = self.slot_at;
        match self.under_way {
            Some((which, sent)) => {
                all.push((which, sent));
                behind += usize::from(which == Which::Slot(behind));
            }
            None => {
                if self.slot_at < self.requests.len() {
                    all.push((Which::Slot(self.slot_at), 0));
                }
                if self.may_answer(self.reads.seen) {
                    all.push((Which::Read(self.reads.seen), 0));
                }
            }
        }
        if self.frozen.is_some() {
            let last = (behind..self.requests.len()).find(|i| self.requests[*i].terminates);
            all.extend(last.map(|index| (Which::Slot(index), 0)));
        }
        all
    }

    /// FPDUs that may come next.
    pub(super) fn next(&self) -> Vec<Fpdu> {
        let mut all: Vec<Fpdu> = vec![];
        for (which, sent) in self.candidates() {
            let from = self.size.max(self.message(which).size);
            for size in from..self.sizes.len() {
                let mulpdu = self.sizes[size].mulpdu;
                let Ok(segment) = self.segment(which, sent, mulpdu) else {
                    continue;
                };
                let mut octets = vec![];
                let mut writer = self.writer.clone();
                let written = writer.append(&segment.header, &segment.payload, &mut octets);
                if written.is_err() || all.iter().any(|other| other.octets == octets) {
                    continue;
                }
                let spoiled = match which {
                    Which::Slot(index) => self.spoil == Some(Spoil::Octet) && index > 0,
                    Which::Read(_) => self.spoil == Some(Spoil::Response),
                };
                if spoiled {
                    let middle = octets.len() / 2;
                    octets[middle] ^= 0x10;
                }
                all.push(Fpdu {
                    request: which,
                    sent,
                    size,
                    octets,
                    segment,
                });
            }
        }
        all
    }

    /// Octets of the FPDU at `judged`, as its length says, if that is there.
    pub(super) fn needed(&self) -> Option<usize> {
        let at = self.judged;
        let leads = self.markers && marker::is_due(at as u32);
        let length_at = at + if leads { marker::LEN } else { 0 };
        let length = self.octets.get(length_at..length_at + 2)?;
        let length = u16::from_be_bytes([length[0], length[1]]);
        Some(mpa::fpdu_len(at as u32, length.into(), self.markers))
    }

    /// The status with which a request fails, whenever it is sent.
    pub(super) fn fault(&self, which: Which) -> Option<u32> {
        let announced = self.message(which);
        let (fault, request) = (announced.posting.fault, announced.posting.request.as_ref());
        match (fault, request) {
            (Fault::Unread, _) => Some(status::BUS),
            (Fault::Head | Fault::Elements(_), _) | (_, None) => Some(status::MALFORMED),
            (Fault::None, Some(request)) => {
                let total = request.payload().length();
                let found = self.payload(which, 0, total);
                found.err().map(|Refused(reason)| reason)
            }
        }
    }

    /// A request reads a region that is being revoked, or was.
    pub(super) fn meets(&self, which: Which) -> bool {
        let Some(request) = &self.message(which).posting.request else {
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
}
