//! How many octets the receive path takes in each cycle.
//!
//! ```text
//!  an RDMA Write  ─► FPDUs ─► TCP segments ─► card ─► memory: compared with what was sent
//!                             first beat ├────────────────┤ last write response
//! ```
//!
//! The network is always ready to send and memory always ready to take, so that the card alone decides. Segments are
//! those of an MPA sender (RFC 5044 §5): whole FPDUs, as many as fit an Ethernet's segment, or one that is larger. Several
//! streams take turns, a segment each.

use serde::Serialize;
use warpline_driver::{Completion, DmaMemory, Options, Registration, Stream, StreamOptions};
use warpline_sim::Card;
use warpline_wire::ddp::{TAGGED_HEADER_LEN, TaggedHeader};
use warpline_wire::send::{CrcField, FpduWriter};

use crate::Error;
use crate::replay::open;

/// Widths of the data path in bits.
pub const WIDTHS: [usize; 4] = [64, 128, 256, 512];
/// Octets of the ULPDUs that are measured.
pub const ULPDUS: [usize; 6] = [20, 64, 256, 1442, 8960, 64768];

/// Octets that small FPDUs are packed into: the payload of a TCP segment with time stamps on Ethernet.
const SEGMENT: usize = 1448;
/// FPDUs: enough that the bus alone needs so many cycles, within limits. Filling the pipeline then hardly counts.
const CYCLES: usize = 1 << 15;
const FEWEST_FPDUS: usize = 64;
const MOST_FPDUS: usize = 8192;

/// A measured figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Bits of the data path.
    pub width: usize,
    /// Octets of each ULPDU, DDP header included.
    pub ulpdu: usize,
    /// The streams carry markers.
    pub markers: bool,
    /// Streams that take turns.
    pub streams: u8,
    /// Octets of all streams.
    pub octets: u64,
    /// Cycles from the first beat in to the last write response, both counted.
    pub cycles: u64,
    /// `octets` by `cycles`.
    pub octets_per_cycle: f64,
    /// Share of the octets that the bus could have carried in these cycles.
    pub of_bus: f64,
}

/// Sends tagged ULPDUs of `ulpdu` octets, 15 to 64768, to each of the first `streams` streams of `card`, which is reset
/// before.
///
/// # Errors
/// Those of card and driver; [`Error::Bench`] when memory does not hold afterwards what was sent.
pub fn measure(card: &Card, ulpdu: usize, markers: bool, streams: u8) -> Result<Figure, Error> {
    let context = open(card, Options::default())?;
    let beat = usize::from(context.shape().width);
    let wrong = |reason: String| Error::Bench {
        width: beat * 8,
        ulpdu,
        reason,
    };
    let Some(payload) = ulpdu.checked_sub(TAGGED_HEADER_LEN).filter(|&n| n > 0) else {
        return Err(wrong("the ULPDU has no payload".into()));
    };
    let count = (CYCLES * beat)
        .div_ceil(ulpdu)
        .clamp(FEWEST_FPDUS, MOST_FPDUS)
        .next_multiple_of(usize::from(streams).max(1));
    let memory: Vec<u8> = {
        let mut rng = fastrand::Rng::with_seed(ulpdu as u64);
        std::iter::repeat_with(|| rng.u8(..))
            .take(count * payload)
            .collect()
    };

    let domain = context.protection_domain()?;
    let base = Registration {
        base: Some(0),
        ..Registration::default()
    };
    let region = DmaMemory::new(memory.len())?;
    let region = domain
        .register(region, base)
        .map_err(|returned| returned.error)?;
    let arm = StreamOptions {
        markers,
        ..StreamOptions::default()
    };
    let message = memory.len() / usize::from(streams).max(1);
    let mut armed: Vec<Stream> = Vec::new();
    let mut sent = Vec::new();
    for (stream, at) in (0..streams).zip((0..).step_by(message)) {
        armed.push(domain.arm(stream, arm)?);
        let message = &memory[at..at + message];
        let segments = segments(region.stag(), at, message, payload, markers);
        sent.push((stream, segments.map_err(|error| wrong(error.to_string()))?));
    }

    card.clear_timing();
    let mut octets = 0;
    for (stream, segments) in sent {
        let mut sequence = 0_u32;
        for segment in segments {
            let length = segment.len() as u32;
            card.feed(stream, sequence, segment)?;
            sequence = sequence.wrapping_add(length);
            octets += u64::from(length);
        }
    }
    card.run_until_idle()?;
    let timing = card.timing();
    let (Some(first), Some(last)) = (timing.first_beat, timing.last_response) else {
        return Err(wrong("nothing was written".into()));
    };
    for _ in 0..streams {
        match context.completion_queue().poll()? {
            Some(Completion::Tagged(_)) => {}
            other => {
                return Err(wrong(format!(
                    "a completion of each message expected, got {other:?}"
                )));
            }
        }
    }
    for stream in armed {
        stream.close()?;
    }
    if region.revoke()?[..] != memory[..] {
        return Err(wrong("memory does not hold the messages".into()));
    }

    let cycles = last - first + 1;
    let octets_per_cycle = octets as f64 / cycles as f64;
    Ok(Figure {
        width: beat * 8,
        ulpdu,
        markers,
        streams,
        octets,
        cycles,
        octets_per_cycle,
        of_bus: octets_per_cycle / beat as f64,
    })
}

/// A tagged message from Tagged Offset `to` on, `payload` octets in each FPDU, in TCP segments.
fn segments(
    stag: u32,
    to: usize,
    message: &[u8],
    payload: usize,
    markers: bool,
) -> Result<Vec<Vec<u8>>, warpline_wire::send::SendError> {
    let mut writer = FpduWriter::new(markers, CrcField::Computed);
    let mut segments: Vec<Vec<u8>> = Vec::new();
    let parts = message.chunks(payload);
    let last = parts.len() - 1;
    for (i, part) in parts.enumerate() {
        let header = TaggedHeader {
            last: i == last,
            rsvd_ulp: 0,
            stag,
            to: (to + i * payload) as u64,
        };
        let length = writer.fpdu_len(TAGGED_HEADER_LEN + part.len());
        match segments.last_mut() {
            Some(segment) if segment.len() + length <= SEGMENT => {
                writer.append(&header.emit(), part, segment)?;
            }
            _ => {
                let mut segment = Vec::new();
                writer.append(&header.emit(), part, &mut segment)?;
                segments.push(segment);
            }
        }
    }
    Ok(segments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpline_capture::{Flow, Segmentation, resegment};

    #[test]
    fn segments_are_those_of_an_mpa_sender() {
        let message: Vec<u8> = (0..=255).cycle().take(64_000).collect();
        for (ulpdu, markers) in [
            (20, false),
            (64, true),
            (256, true),
            (1442, false),
            (8960, true),
        ] {
            let segments = segments(7, 0, &message, ulpdu - TAGGED_HEADER_LEN, markers).unwrap();
            let octets = segments.concat();
            let fpdus = message.len().div_ceil(ulpdu - TAGGED_HEADER_LEN);
            let flow = Flow {
                markers,
                crc: true,
                segments: resegment(0, &octets, Segmentation::Whole),
                ..Flow::default()
            };
            let survey = crate::replay::Survey::new(&flow, &octets);
            assert_eq!(survey.fpdus, fpdus as u64);
            assert_eq!(
                survey.tagged[&7],
                std::slice::from_ref(&(0..message.len() as u64))
            );
            let small = segments
                .iter()
                .filter(|segment| segment.len() <= SEGMENT)
                .count();
            if ulpdu < 1442 {
                assert_eq!(small, segments.len());
                let fill = octets.len() as f64 / (small * SEGMENT) as f64;
                assert!(fill > 0.75, "{ulpdu}: {fill}");
            } else {
                assert_eq!(segments.len(), fpdus, "one FPDU a segment");
            }
        }
    }
}
