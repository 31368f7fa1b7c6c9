//! What is due of a stream's requests: its octets for TCP, and its completions.

use std::ops::Range;

use warpline_regmap::transmit::{Payload, SendRequest, Target, status};
use warpline_testbenches::local_memory::{self, Region, bus_address};
use warpline_wire::ddp::MAX_HEADER_LEN;
use warpline_wire::mpa;
use warpline_wire::send::{CrcField, FpduWriter, Message, ddp_segments};

/// Addresses whose reads the bus refuses.
pub const REFUSED: Range<u64> = 0x7_0000_0000..0x7_0000_1000;

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
    stream: u8,
    domain: u16,
    mulpdu: u16,
    writer: FpduWriter,
    msns: Vec<u32>,
    ended: bool,
    posted: u16,
    /// Octets for TCP.
    pub octets: Vec<u8>,
    pub entries: Vec<Entry>,
}

impl Sender {
    pub fn new(
        stream: u8,
        domain: u16,
        emss: u16,
        markers: bool,
        crc: bool,
        first_msn: u32,
    ) -> Self {
        let field = match crc {
            true => CrcField::Computed,
            false => CrcField::Zero,
        };
        Self {
            stream,
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

    /// The octets of a segment's payload: the check of all of it comes before the bus.
    fn payload(
        &self,
        regions: &[Region],
        request: &SendRequest,
        payload: Range<u64>,
    ) -> Result<Vec<u8>, u32> {
        let gather = match request.payload() {
            Payload::Inline(inline) => {
                let octets = inline.as_slice();
                return Ok(octets[payload.start as usize..payload.end as usize].to_vec());
            }
            Payload::Gather(gather) => gather,
        };
        let (mut octets, mut refused, mut begins) = (vec![], false, 0);
        for element in gather.as_slice() {
            let ends = begins + u64::from(element.length);
            let (from, to) = (payload.start.max(begins), payload.end.min(ends));
            if from < to {
                let region = regions.iter().find(|region| region.stag == element.stag);
                let range = local_memory::Range {
                    stag: element.stag,
                    offset: element.offset + (from - begins),
                    length: to - from,
                    remote: false,
                };
                let address = bus_address(region, self.stream, self.domain, range)?;
                refused |= address < REFUSED.end && REFUSED.start < address + range.length;
                octets.extend((address..address + range.length).map(octet));
            }
            begins = ends;
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
        if self.ended {
            outcome = Some(status::FLUSHED);
        } else if let Err(status) = self.send(regions, request) {
            (self.ended, outcome) = (true, Some(status));
        }
        self.ended |= request.flags().terminate;
        self.entries.extend(outcome.map(|status| Entry {
            status,
            request: request.request(),
            octets: total,
            consumed: self.posted,
        }));
    }

    /// Sends the segments of a message, up to one that fails.
    fn send(&mut self, regions: &[Region], request: &SendRequest) -> Result<(), u32> {
        let message = match request.target() {
            Target::Tagged {
                stag,
                offset,
                rsvd_ulp,
            } => Message::Tagged {
                stag,
                to: offset,
                rsvd_ulp,
            },
            Target::Untagged { queue, rsvd_ulp } => Message::Untagged {
                qn: queue,
                msn: self.msns[queue as usize],
                rsvd_ulp,
            },
        };
        let total = u64::from(request.payload().length());
        let segments = ddp_segments(message, total, self.mulpdu).expect("a legal message");
        for segment in segments {
            let payload = self.payload(regions, request, segment.payload.clone())?;
            let mut header = [0; MAX_HEADER_LEN];
            let length = segment.header.emit(&mut header);
            let written = self
                .writer
                .append(&header[..length], &payload, &mut self.octets);
            written.expect("it fits MULPDU");
        }
        if let Target::Untagged { queue, .. } = request.target() {
            let msn = &mut self.msns[queue as usize];
            *msn = msn.wrapping_add(1);
        }
        Ok(())
    }
}
