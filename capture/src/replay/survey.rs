//! A first pass over the stream: which tagged and untagged buffers its FPDUs name.
//!
//! ```text
//!  FPDUs ─► DDP headers ─┬─ tagged:   STag ─► ranges of Tagged Offsets, and where the stream turns to another STag
//!                        └─ untagged: queue ─► MSN ─► where the message begins, how far its octets reach
//! ```
//!
//! The pass ends at the first FPDU that MPA rejects. It checks nothing else.

use std::collections::BTreeMap;
use std::ops::Range;

use warpline_wire::ddp::{Header, UntaggedHeader};
use warpline_wire::receive::{Framing, FramingConfig};

use crate::Flow;

/// MSN of the first message of a queue (DDP-UNT-11).
const FIRST_MSN: u32 = 1;
/// No write extends past this Tagged Offset.
const LAST_OFFSET: u128 = 1 << 64;

/// What the FPDUs of a stream name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// FPDUs that MPA accepts.
    pub fpdus: u64,
    /// Messages, tagged and untagged, whose last DDP segment is in the stream.
    pub messages: u64,
    /// Octets of an FPDU behind the others that is not complete.
    pub rest: u64,
    /// Tagged Offsets that are written to, by STag; a range that continues the one before it is merged with it. None extends
    /// past 2^64.
    pub tagged: BTreeMap<u32, Vec<Range<u128>>>,
    /// Stream positions of the FPDUs whose STag is not that of the tagged FPDU before, with that STag.
    pub uses: Vec<(u64, u32)>,
    /// Messages of the untagged queues.
    pub untagged: BTreeMap<u32, Messages>,
}

/// Messages of one untagged queue: those with MSN 1, 2 and so on, up to the first MSN that no segment has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// Stream position of the first FPDU that belongs to each message or to a later one, ascending.
    pub starts: Vec<u64>,
    /// Messages whose last segment is in the stream.
    pub complete: usize,
    /// Octets of the longest message; a segment that lies farther out than the stream has octets does not count.
    pub longest: u64,
    /// Octets of the longest message up to its first gap.
    pub gapless: u64,
    /// Where the segment that lies farthest out ends, whatever the stream can hold.
    pub farthest: u64,
}

/// One message, as far as it is in the stream.
#[derive(Default)]
struct Begun {
    start: u64,
    complete: bool,
    longest: u64,
    gapless: u64,
    farthest: u64,
}

impl Survey {
    /// Surveys `octets`, which are all of `flow`.
    #[must_use]
    pub fn new(flow: &Flow, octets: &[u8]) -> Self {
        let mut survey = Self::default();
        let mut begun = BTreeMap::new();
        let mut framing = Framing::new(FramingConfig {
            markers: flow.markers,
            crc: flow.crc,
            ..FramingConfig::default()
        });
        let mut rest = octets;
        let mut start = 0;
        let rejected = loop {
            let ulpdu = match framing.push(&mut rest) {
                Ok(Some(ulpdu)) => ulpdu,
                Ok(None) => break false,
                Err(_) => break true,
            };
            survey.fpdus += 1;
            if let Ok((header, payload)) = Header::parse(ulpdu.octets) {
                let payload = payload.len() as u64;
                match header {
                    Header::Tagged(header) => {
                        survey.messages += u64::from(header.last);
                        survey.note_write(header.stag, header.to, payload, start);
                    }
                    Header::Untagged(header) => {
                        survey.messages += u64::from(header.last);
                        let most = octets.len() as u64;
                        note_segment(&mut begun, header, payload, start, most);
                    }
                }
            }
            start = (octets.len() - rest.len()) as u64;
        };
        if !rejected {
            survey.rest = octets.len() as u64 - start;
        }
        survey.untagged = begun
            .into_iter()
            .map(|(queue, begun)| (queue, Messages::new(begun)))
            .collect();
        survey
    }

    fn note_write(&mut self, stag: u32, to: u64, payload: u64, start: u64) {
        if payload == 0 {
            return;
        }
        if self.uses.last().is_none_or(|(_, last)| *last != stag) {
            self.uses.push((start, stag));
        }
        let to = u128::from(to);
        let end = (to + u128::from(payload)).min(LAST_OFFSET);
        let ranges = self.tagged.entry(stag).or_default();
        match ranges.last_mut() {
            Some(range) if range.end == to => range.end = end,
            _ => ranges.push(to..end),
        }
    }
}

/// Messages by queue and MSN.
type AllBegun = BTreeMap<u32, BTreeMap<u32, Begun>>;

/// Notes a segment of a stream of `most` octets.
fn note_segment(begun: &mut AllBegun, header: UntaggedHeader, payload: u64, start: u64, most: u64) {
    let message = begun.entry(header.qn).or_default().entry(header.msn);
    let message = message.or_insert(Begun {
        start,
        ..Begun::default()
    });
    let offset = u64::from(header.mo);
    let end = offset + payload;
    message.complete |= header.last;
    message.farthest = message.farthest.max(end);
    if end <= most {
        message.longest = message.longest.max(end);
    }
    if offset <= message.gapless {
        message.gapless = message.gapless.max(end);
    }
}

impl Messages {
    fn new(mut begun: BTreeMap<u32, Begun>) -> Self {
        let mut messages = Self::default();
        for msn in FIRST_MSN.. {
            let Some(message) = begun.remove(&msn) else {
                break;
            };
            messages.starts.push(message.start);
            messages.complete += usize::from(message.complete);
            messages.longest = messages.longest.max(message.longest);
            messages.gapless = messages.gapless.max(message.gapless);
            messages.farthest = messages.farthest.max(message.farthest);
        }
        let mut first = u64::MAX;
        for start in messages.starts.iter_mut().rev() {
            first = first.min(*start);
            *start = first;
        }
        messages
    }

    /// Octets of the stream that need no more than `buffers` buffers.
    #[must_use]
    pub fn reach(&self, buffers: usize) -> u64 {
        self.starts.get(buffers).copied().unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpline_wire::send::{CrcField, FpduWriter, Message};

    const FLOW: Flow = Flow {
        seq_start: 0,
        markers: true,
        crc: true,
        segments: Vec::new(),
        fin: false,
        missing_before_fin: 0,
        differing: 0,
        stray: 0,
    };

    const fn tagged(stag: u32, to: u64) -> Message {
        Message::Tagged {
            stag,
            to,
            rsvd_ulp: 0,
        }
    }

    const fn untagged(msn: u32) -> Message {
        Message::Untagged {
            qn: 1,
            msn,
            rsvd_ulp: [0; 5],
        }
    }

    /// The messages' FPDUs, 200 octets of a message in each, and where each message begins.
    fn stream(messages: &[(Message, usize)]) -> (Vec<u8>, Vec<u64>) {
        let mut octets = Vec::new();
        let mut writer = FpduWriter::new(true, CrcField::Computed);
        let mut starts = Vec::new();
        for (message, length) in messages {
            starts.push(octets.len() as u64);
            writer
                .append_message(*message, &vec![9; *length], 200, &mut octets)
                .unwrap();
        }
        (octets, starts)
    }

    #[test]
    fn names_what_the_stream_names() {
        let (mut octets, starts) = stream(&[
            (tagged(7, 0x1000), 500),
            (tagged(7, 0x1000 + 500), 12),
            (tagged(8, u64::MAX - 3), 4), // ends at 2^64
            (tagged(7, 0x10), 1),
            (untagged(1), 300),
            (untagged(2), 0),
        ]);
        octets.extend([0xFF; 40]); // refused
        let survey = Survey::new(&FLOW, &octets);
        assert_eq!(survey.fpdus, 3 + 1 + 1 + 1 + 2 + 1);
        assert_eq!((survey.messages, survey.rest), (6, 0));
        let end = 1 << 64;
        assert_eq!(survey.tagged[&7], [0x1000..0x1200, 0x10..0x11]);
        assert_eq!(survey.tagged[&8], vec![end - 4..end; 1]);
        assert_eq!(
            survey.uses,
            [(starts[0], 7), (starts[2], 8), (starts[3], 7)]
        );
        let messages = &survey.untagged[&1];
        assert_eq!(messages.starts, starts[4..]);
        assert_eq!((messages.complete, messages.longest), (2, 300));
        assert_eq!(messages.reach(0), starts[4]);
        assert_eq!(messages.reach(1), starts[5]);
        assert_eq!(messages.reach(2), u64::MAX);
    }

    /// A message counts from its first segment on, and MSNs behind a gap do not.
    // req: AMB-04, DDP-UNT-11
    #[test]
    fn messages_count_from_their_first_segment() {
        let (octets, starts) = stream(&[
            (untagged(2), 10),
            (untagged(1), 10),
            (untagged(4), 10),
            (untagged(3), 300),
            (untagged(6), 10),
        ]);
        let all = &Survey::new(&FLOW, &octets).untagged[&1];
        assert_eq!(all.starts, [starts[0], starts[0], starts[2], starts[2]]);
        assert_eq!(all.complete, 4);
        let cut = starts[4] as usize - 4; // in the last FPDU of MSN 3
        let some = &Survey::new(&FLOW, &octets[..cut]).untagged[&1];
        assert_eq!((some.starts.len(), some.complete), (4, 3));
    }

    /// A write that passes 2^64 is one up to there, and the device says the rest.
    // req: DDP-ERR-18
    #[test]
    fn no_range_passes_the_last_offset() {
        let mut octets = Vec::new();
        let mut writer = FpduWriter::new(true, CrcField::Computed);
        let mut ulpdu = vec![0xC1, 0, 0, 0, 0, 7];
        ulpdu.extend((u64::MAX - 3).to_be_bytes());
        ulpdu.extend([1; 5]);
        writer.append(&[], &ulpdu, &mut octets).unwrap();
        let survey = Survey::new(&FLOW, &octets);
        assert_eq!(survey.tagged[&7], vec![(1 << 64) - 4..1 << 64; 1]);
    }

    /// What a header says about a length is believed up to what the stream can hold.
    // req: DDP-ERR-18
    #[test]
    fn forged_offsets_are_noted_apart() {
        let mut octets = Vec::new();
        let mut writer = FpduWriter::new(true, CrcField::Computed);
        writer
            .append_message(untagged(1), &[9; 300], 200, &mut octets)
            .unwrap();
        let mut ulpdu = vec![0x41, 0, 0, 0, 0, 0];
        for field in [1, 2, u32::MAX - 3] {
            ulpdu.extend(field.to_be_bytes()); // queue, MSN, MO
        }
        ulpdu.extend([1; 8]);
        writer.append(&[], &ulpdu, &mut octets).unwrap();
        let messages = &Survey::new(&FLOW, &octets).untagged[&1];
        assert_eq!((messages.longest, messages.gapless), (300, 300));
        assert_eq!(messages.farthest, (1 << 32) + 4);
    }
}
