//! What is due of a stream's requests: its octets for TCP, and its completions.

use warpline_regmap::transmit::{Element, Payload, SendRequest, Target, status};
use warpline_wire::ddp::{TaggedHeader, UntaggedHeader};
use warpline_wire::mpa;
use warpline_wire::send::{CrcField, FpduWriter};

/// A region of local memory.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    pub stag: u32,
    pub domain: u16,
    pub base: u64,
    pub length: u64,
    pub address: u64,
}

/// Addresses whose reads the bus refuses.
pub const REFUSED: std::ops::Range<u64> = 0x7_0000_0000..0x7_0000_1000;

/// The octet of local memory at a bus address.
pub fn octet(address: u64) -> u8 {
    (address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

/// A completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub status: u32,
    pub request: u64,
    pub octets: u32,
    pub consumed: u16,
}

/// A stream in the model.
#[derive(Clone, Debug)]
pub struct Sender {
    pub domain: u16,
    pub mulpdu: u16,
    writer: FpduWriter,
    msns: Vec<u32>,
    ended: bool,
    posted: u16,
    /// Octets for TCP.
    pub octets: Vec<u8>,
    pub entries: Vec<Entry>,
}

impl Sender {
    pub fn new(domain: u16, emss: u16, markers: bool, crc: bool, first_msn: u32) -> Self {
        let field = match crc {
            true => CrcField::Computed,
            false => CrcField::Zero,
        };
        Self {
            domain,
            mulpdu: mpa::mulpdu(emss.into(), markers),
            writer: FpduWriter::new(markers, field),
            msns: vec![first_msn; 256],
            ended: false,
            posted: 0,
            octets: vec![],
            entries: vec![],
        }
    }

    /// The octets of a range of an element, or why there are none.
    fn read(
        &self,
        regions: &[Region],
        element: &Element,
        from: u64,
        count: u64,
    ) -> Result<Vec<u8>, u32> {
        let found = regions.iter().find(|region| region.stag == element.stag);
        let region = found.ok_or(status::STAG)?;
        if region.domain != self.domain {
            return Err(status::ASSOC);
        }
        let first = u128::from(element.offset) + u128::from(from);
        let base = u128::from(region.base);
        if first < base || first + u128::from(count) > base + u128::from(region.length) {
            return Err(status::BOUNDS);
        }
        let address = region.address.wrapping_add((first - base) as u64);
        Ok((address..address + count).map(octet).collect())
    }

    /// The payload of a segment: the check of all of it comes before the bus.
    fn payload(
        &self,
        regions: &[Region],
        request: &SendRequest,
        sent: u32,
        count: u32,
    ) -> Result<Vec<u8>, u32> {
        let Payload::Gather(gather) = request.payload() else {
            let Payload::Inline(inline) = request.payload() else {
                unreachable!("there are two kinds");
            };
            return Ok(inline.as_slice()[sent as usize..][..count as usize].to_vec());
        };
        let (mut skip, mut left) = (u64::from(sent), u64::from(count));
        let (mut octets, mut refused) = (vec![], false);
        for element in gather.as_slice() {
            let length = u64::from(element.length);
            let taken = length.saturating_sub(skip).min(left);
            if taken > 0 {
                octets.extend(self.read(regions, element, skip, taken)?);
                let region = regions.iter().find(|region| region.stag == element.stag);
                let address = region.map_or(0, |r| r.address + (element.offset - r.base) + skip);
                refused |= address < REFUSED.end && REFUSED.start < address + taken;
            }
            skip = skip.saturating_sub(length);
            left -= taken;
        }
        match refused {
            true => Err(status::BUS),
            false => Ok(octets),
        }
    }

    /// A request is posted.
    pub fn post(&mut self, regions: &[Region], request: &SendRequest) {
        self.posted = self.posted.wrapping_add(1);
        let total = request.payload().length();
        let mut outcome = request.flags().signalled.then_some(status::OK);
        let mut sent = 0;
        if self.ended {
            outcome = Some(status::FLUSHED);
        }
        while !self.ended {
            let header_len = match request.target() {
                Target::Tagged { .. } => 14,
                Target::Untagged { .. } => 18,
            };
            let count = (u32::from(self.mulpdu) - header_len).min(total - sent);
            let last = sent + count == total;
            let payload = match self.payload(regions, request, sent, count) {
                Ok(payload) => payload,
                Err(status) => {
                    (self.ended, outcome) = (true, Some(status));
                    break;
                }
            };
            let header = self.header(request, sent, last);
            let written = self.writer.append(&header, &payload, &mut self.octets);
            written.expect("it fits MULPDU");
            sent += count;
            if last {
                break;
            }
        }
        if let (Target::Untagged { queue, .. }, false) = (request.target(), self.ended) {
            let msn = &mut self.msns[queue as usize];
            *msn = msn.wrapping_add(1);
        }
        self.ended |= request.flags().terminate;
        self.entries.extend(outcome.map(|status| Entry {
            status,
            request: request.request(),
            octets: total,
            consumed: self.posted,
        }));
    }

    fn header(&self, request: &SendRequest, sent: u32, last: bool) -> Vec<u8> {
        match request.target() {
            Target::Tagged {
                stag,
                offset,
                rsvd_ulp,
            } => TaggedHeader {
                last,
                rsvd_ulp,
                stag,
                to: offset.wrapping_add(sent.into()),
            }
            .emit()
            .to_vec(),
            Target::Untagged { queue, rsvd_ulp } => UntaggedHeader {
                last,
                rsvd_ulp,
                qn: queue,
                msn: self.msns[queue as usize],
                mo: sent,
            }
            .emit()
            .to_vec(),
        }
    }
}
