//! Throughput of the receive path in octets per cycle, and latency of one FPDU.
//!
//! ```text
//!  an RDMA Write  ─► FPDUs ─► TCP segments ─► card ─► memory: compared with what was sent
//!                             first beat ├────────────────┤ last write response
//! ```
//!
//! Network and memory never stall, so the card alone limits the throughput. TCP segments are those of an MPA sender
//! (RFC 5044 §5): whole FPDUs, as many as fit into a segment on Ethernet, or a single larger one. Several streams alternate
//! segment by segment.
//!
//! **Octets per cycle** are those of the steady state. A short run, and a long one that begins with the same FPDUs, are
//! timed from their first beat to their last write response; the figure is the difference of the two. It excludes the time
//! to fill the pipeline and to store the first FPDU. **Latency** measures that time: from the last beat of a single segment
//! to the first beat of payload on the bus to memory.
//!
//! **Reversed** is the worst order that a TCP window allows: the segments of each 64 KiB arrive last to first. Markers
//! locate the FPDUs, which are placed at once; the segment that arrives last closes the gap.

use serde::{Deserialize, Serialize};
use warpline_driver::{Completion, DmaMemory, Options, Registration, Stream, StreamOptions};
use warpline_sim::Card;
use warpline_wire::ddp::{TAGGED_HEADER_LEN, TaggedHeader};
use warpline_wire::send::{CrcField, FpduWriter};

use crate::Error;
use crate::replay::open;

/// Widths of the data path in bits.
pub const WIDTHS: [usize; 4] = [64, 128, 256, 512];
/// Octets of the measured ULPDUs.
pub const ULPDUS: [usize; 6] = [20, 64, 256, 1442, 8960, 64768];

/// Octets of the ULPDUs measured in reverse: those that fill an Ethernet frame and a jumbo frame.
pub const REVERSED: [usize; 2] = [1442, 8960];

/// Octets of the TCP segments that hold small FPDUs: the payload on Ethernet, with TCP time stamps.
const TCP_SEGMENT: usize = 1448;
/// Octets that arrive in reverse.
const WINDOW: usize = 64 << 10;
/// Windows of the long run; the short one has a quarter of them.
const WINDOWS: usize = 16;
/// Cycles that the bus needs at least for the FPDUs of the long run, and limits of their number.
const CYCLES: usize = 1 << 15;
const FEWEST_FPDUS: usize = 64;
const MOST_FPDUS: usize = 8192;
/// The short run has this fraction of them.
const SHORT: usize = 4;

/// A measured figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Bits of the data path.
    pub width: usize,
    /// Octets of each ULPDU, DDP header included.
    pub ulpdu: usize,
    /// The streams carry markers.
    pub markers: bool,
    /// Streams that alternate.
    pub streams: u8,
    /// Octets of all streams in the long run, less those in the short one.
    pub octets: u64,
    /// Beats that these FPDUs touch if each begins a new beat: on the stream's side or the memory's, whichever is more.
    pub beats: u64,
    /// Cycles of the long run, less those of the short one, each from the first beat in to the last write response.
    pub cycles: u64,
    /// `octets / cycles`.
    pub octets_per_cycle: f64,
    /// `octets`, as a fraction of what the bus can carry in these cycles.
    pub of_bus: f64,
}

/// Latency of a single FPDU in an idle card.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Bits of the data path.
    pub width: usize,
    /// Octets of the ULPDU, DDP header included.
    pub ulpdu: usize,
    /// The stream carries markers.
    pub markers: bool,
    /// Beats of the FPDU.
    pub beats: u64,
    /// Cycles from the last beat of its segment to the first beat on the bus to memory.
    pub cycles: u64,
}

/// The measurements of one run.
#[derive(Clone, Copy, Debug)]
struct Run {
    beat: usize,
    octets: u64,
    stream_beats: u64,
    memory_beats: u64,
    cycles: u64,
    latency: u64,
}

/// Sends tagged ULPDUs of `ulpdu` octets, 15 to 64768, to each of the first `streams` streams of `card`, which it resets
/// first.
///
/// # Errors
/// Those of card and driver; [`Error::Bench`] if memory does not hold what was sent.
pub fn measure(card: &Card, ulpdu: usize, markers: bool, streams: u8) -> Result<Figure, Error> {
    let count = |beat: usize| {
        let bus_alone = (CYCLES * beat).div_ceil(ulpdu);
        bus_alone.clamp(FEWEST_FPDUS, MOST_FPDUS)
    };
    let short = run(card, ulpdu, markers, streams, None, |beat| {
        count(beat) / SHORT
    })?;
    let long = run(card, ulpdu, markers, streams, None, count)?;
    Ok(steady(ulpdu, markers, streams, &short, &long))
}

/// Sends tagged ULPDUs of `ulpdu` octets with markers, the TCP segments of each 64 KiB in reverse.
///
/// # Errors
/// As [`measure`].
pub fn measure_reversed(card: &Card, ulpdu: usize) -> Result<Figure, Error> {
    let count = (WINDOWS * WINDOW).div_ceil(ulpdu);
    let short = run(card, ulpdu, true, 1, Some(WINDOW), |_| count / SHORT)?;
    let long = run(card, ulpdu, true, 1, Some(WINDOW), |_| count)?;
    Ok(steady(ulpdu, true, 1, &short, &long))
}

/// The difference of the long run and the short one.
fn steady(ulpdu: usize, markers: bool, streams: u8, short: &Run, long: &Run) -> Figure {
    let (octets, cycles) = (long.octets - short.octets, long.cycles - short.cycles);
    let stream_beats = long.stream_beats - short.stream_beats;
    let memory_beats = long.memory_beats - short.memory_beats;
    let octets_per_cycle = octets as f64 / cycles as f64;
    Figure {
        width: long.beat * 8,
        ulpdu,
        markers,
        streams,
        octets,
        beats: stream_beats.max(memory_beats),
        cycles,
        octets_per_cycle,
        of_bus: octets_per_cycle / long.beat as f64,
    }
}

/// Sends a single tagged ULPDU of `ulpdu` octets.
///
/// # Errors
/// As [`measure`].
pub fn latency(card: &Card, ulpdu: usize, markers: bool) -> Result<Latency, Error> {
    let run = run(card, ulpdu, markers, 1, None, |_| 1)?;
    Ok(Latency {
        width: run.beat * 8,
        ulpdu,
        markers,
        beats: run.stream_beats,
        cycles: run.latency,
    })
}

/// Sends tagged ULPDUs of `ulpdu` octets, the same number to each of `streams` streams; `count` returns their total number,
/// given the octets of a beat. If there is a `window`, the TCP segments of each `window` octets arrive in reverse.
fn run(
    card: &Card,
    ulpdu: usize,
    markers: bool,
    streams: u8,
    window: Option<usize>,
    count: impl Fn(usize) -> usize,
) -> Result<Run, Error> {
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
    let count = count(beat).next_multiple_of(usize::from(streams).max(1));
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
    let mut in_fpdus = 0;
    for (stream, at) in (0..streams).zip((0..).step_by(message)) {
        armed.push(domain.arm(stream, arm)?);
        let message = &memory[at..at + message];
        let (segments, fpdus) = tcp_segments(region.stag(), at, message, payload, markers)
            .map_err(|error| wrong(error.to_string()))?;
        in_fpdus += fpdus.iter().map(|fpdu| fpdu.div_ceil(beat)).sum::<usize>();
        sent.push((stream, segments));
    }

    let in_memory: usize = (0..count * payload)
        .step_by(payload)
        .map(|first| (first + payload).div_ceil(beat) - first / beat)
        .sum();

    card.clear_timing();
    let mut octets = 0;
    for (stream, segments) in sent {
        for (begin, segment) in arrivals(segments, window) {
            octets += segment.len() as u64;
            card.feed(stream, begin as u32, segment)?;
        }
    }
    card.run_until_idle()?;
    let timing = card.timing();
    let (Some(first), Some(last_beat), Some(write), Some(last)) = (
        timing.first_beat,
        timing.last_beat,
        timing.first_write,
        timing.last_response,
    ) else {
        return Err(wrong("nothing was written".into()));
    };
    for _ in 0..streams {
        match context.completion_queue().poll()? {
            Some(Completion::Tagged(_)) => {}
            other => {
                let other = other.map_or("nothing".into(), |other| other.to_string());
                return Err(wrong(format!(
                    "expected a completion of each message, got {other}"
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

    Ok(Run {
        beat,
        octets,
        stream_beats: in_fpdus as u64,
        memory_beats: in_memory as u64,
        cycles: last - first + 1,
        latency: write.saturating_sub(last_beat),
    })
}

/// TCP segments and where they begin; those that begin in the same `window` octets are in reverse.
fn arrivals(segments: Vec<Vec<u8>>, window: Option<usize>) -> Vec<(usize, Vec<u8>)> {
    let mut end = 0;
    let placed = segments.into_iter().map(|segment| {
        end += segment.len();
        (end - segment.len(), segment)
    });
    let mut placed: Vec<_> = placed.collect();
    if let Some(window) = window {
        let same = |a: &(usize, _), b: &(usize, _)| a.0 / window == b.0 / window;
        placed.chunk_by_mut(same).for_each(<[_]>::reverse);
    }
    placed
}

/// TCP segments of a tagged message at Tagged Offset `to`, with `payload` octets in each FPDU; and the FPDUs' lengths.
fn tcp_segments(
    stag: u32,
    to: usize,
    message: &[u8],
    payload: usize,
    markers: bool,
) -> Result<(Vec<Vec<u8>>, Vec<usize>), warpline_wire::send::SendError> {
    let mut writer = FpduWriter::new(markers, CrcField::Computed);
    let mut segments: Vec<Vec<u8>> = Vec::new();
    let mut fpdus = Vec::new();
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
        fpdus.push(length);
        match segments.last_mut() {
            Some(segment) if segment.len() + length <= TCP_SEGMENT => {
                writer.append(&header.emit(), part, segment)?;
            }
            _ => {
                let mut segment = Vec::new();
                writer.append(&header.emit(), part, &mut segment)?;
                segments.push(segment);
            }
        }
    }
    Ok((segments, fpdus))
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpline_capture::{Flow, Segmentation, resegment};

    #[test]
    fn segments_of_a_window_arrive_in_reverse() {
        let segments: Vec<_> = [30, 30, 50, 20, 10].map(|length| vec![0; length]).into();
        let begins = |window| {
            let arrivals = arrivals(segments.clone(), window).into_iter();
            arrivals
                .map(|(begin, s)| (begin, s.len()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            begins(None),
            [(0, 30), (30, 30), (60, 50), (110, 20), (130, 10)]
        );
        assert_eq!(
            begins(Some(100)),
            [(60, 50), (30, 30), (0, 30), (130, 10), (110, 20)]
        );
    }

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
            let (segments, lengths) =
                tcp_segments(7, 0, &message, ulpdu - TAGGED_HEADER_LEN, markers).unwrap();
            let octets = segments.concat();
            assert_eq!(lengths.iter().sum::<usize>(), octets.len());
            let fpdus = message.len().div_ceil(ulpdu - TAGGED_HEADER_LEN);
            let flow = Flow {
                fin: false,
                markers,
                crc: true,
                segments: resegment(0, &octets, Segmentation::Whole),
                ..Flow::default()
            };
            let survey = crate::replay::Survey::new(&flow, &octets);
            assert_eq!(survey.fpdus, fpdus as u64);
            assert_eq!(
                survey.tagged[&7],
                std::slice::from_ref(&(0..message.len() as u128))
            );
            let small = segments
                .iter()
                .filter(|segment| segment.len() <= TCP_SEGMENT)
                .count();
            if ulpdu < 1442 {
                assert_eq!(small, segments.len());
                let fill = octets.len() as f64 / (small * TCP_SEGMENT) as f64;
                assert!(fill > 0.75, "{ulpdu}: {fill}");
            } else {
                assert_eq!(segments.len(), fpdus, "one FPDU a segment");
            }
        }
    }
}
