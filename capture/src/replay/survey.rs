//! A first pass over the stream: which tagged and untagged buffers its FPDUs name.
//!
//! The pass ends at the first FPDU that MPA rejects. It checks nothing else.

use std::collections::BTreeMap;
use std::ops::Range;

use warpline_wire::ddp::Header;
use warpline_wire::receive::{Framing, FramingConfig};

use crate::Flow;

/// What the FPDUs of a stream name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// FPDUs that MPA accepts.
    pub fpdus: u64,
    /// Messages, tagged and untagged, whose last DDP segment is in the stream.
    pub messages: u64,
    /// Tagged Offsets that are written to, by STag; a range that continues the one before it is merged with it.
    pub tagged: BTreeMap<u32, Vec<Range<u64>>>,
    /// Messages of the untagged queues.
    pub untagged: BTreeMap<u32, Messages>,
}

/// Messages of one untagged queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// Octets of the stream up to the end of each message, ascending.
    pub ends: Vec<u64>,
    /// Octets of the longest message.
    pub longest: u64,
}

impl Survey {
    /// Surveys `octets`, which are all of `flow`.
    #[must_use]
    pub fn new(flow: &Flow, octets: &[u8]) -> Self {
        let mut survey = Self::default();
        let mut framing = Framing::new(FramingConfig {
            markers: flow.markers,
            crc: flow.crc,
            ..FramingConfig::default()
        });
        let mut rest = octets;
        while let Ok(Some(ulpdu)) = framing.push(&mut rest) {
            survey.fpdus += 1;
            let end = (octets.len() - rest.len()) as u64;
            if let Ok((header, payload)) = Header::parse(ulpdu.octets) {
                survey.note(header, payload.len() as u64, end);
            }
        }
        survey
    }

    fn note(&mut self, header: Header, payload: u64, end: u64) {
        match header {
            Header::Tagged(header) => {
                self.messages += u64::from(header.last);
                let Some(to_end) = header.to.checked_add(payload).filter(|_| payload > 0) else {
                    return;
                };
                let ranges = self.tagged.entry(header.stag).or_default();
                match ranges.last_mut() {
                    Some(range) if range.end == header.to => range.end = to_end,
                    _ => ranges.push(header.to..to_end),
                }
            }
            Header::Untagged(header) => {
                let messages = self.untagged.entry(header.qn).or_default();
                messages.longest = messages.longest.max(u64::from(header.mo) + payload);
                if header.last {
                    self.messages += 1;
                    messages.ends.push(end);
                }
            }
        }
    }
}

impl Messages {
    /// Number of messages in the first `octets` of the stream.
    #[must_use]
    pub fn complete(&self, octets: u64) -> usize {
        self.ends.partition_point(|&end| end <= octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpline_wire::send::{CrcField, FpduWriter, Message};

    #[test]
    fn names_what_the_stream_names() {
        let mut octets = Vec::new();
        let mut writer = FpduWriter::new(true, CrcField::Computed);
        let tagged = |to| Message::Tagged {
            stag: 7,
            to,
            rsvd_ulp: 0,
        };
        let untagged = |msn| Message::Untagged {
            qn: 1,
            msn,
            rsvd_ulp: [0; 5],
        };
        let mut ends = Vec::new();
        for (message, length) in [
            (tagged(0x1000), 500),
            (tagged(0x1000 + 500), 12),
            (tagged(u64::MAX - 3), 4), // ends at 2^64, which no range can express
            (tagged(0x10), 1),
            (untagged(1), 300),
            (untagged(2), 0),
        ] {
            writer
                .append_message(message, &vec![9; length], 200, &mut octets)
                .unwrap();
            ends.push(octets.len() as u64);
        }
        let good = octets.len();
        octets.extend([0xFF; 40]); // refused
        let flow = Flow {
            fin: false,
            markers: true,
            crc: true,
            ..Flow::default()
        };
        let survey = Survey::new(&flow, &octets);
        assert_eq!(survey.fpdus, 3 + 1 + 1 + 1 + 2 + 1);
        assert_eq!(survey.messages, 6);
        assert_eq!(survey.tagged[&7], [0x1000..0x1200, 0x10..0x11]);
        let messages = &survey.untagged[&1];
        assert_eq!(messages.ends, ends[4..]);
        assert_eq!(messages.longest, 300);
        assert_eq!(messages.complete(ends[4] - 1), 0);
        assert_eq!(messages.complete(good as u64), 2);
    }
}
