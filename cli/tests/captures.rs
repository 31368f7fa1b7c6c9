//! All captures of Linux soft-iWARP, at all widths, in several segmentations: the card's result equals that of Linux.

use std::num::NonZeroUsize;
use std::path::Path;

use warpline::replay::{CompletionReport, ErrorReport, Replay, Replayed, replay};
use warpline_capture::replay::ReplayError;
use warpline_capture::{Capture, Segmentation, Side, TcpSegment, resegment};
use warpline_hdl::Config;
use warpline_sim::{Card, CardOptions};
use warpline_wire::error_number::Checks;
use warpline_wire::receive::{Framing, FramingConfig};
use warpline_wire::send::{CrcField, FpduWriter};

/// Octets of an entry of the completion queue.
const ENTRY: u64 = 32;

fn capture(name: &str) -> Capture {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testbenches/captures");
    Capture::open(captures.join(name)).unwrap()
}

fn card(width: usize) -> Card {
    Card::open(&Config::simulated(width), CardOptions::default()).unwrap()
}

fn run(card: &Card, capture: &Capture, segmentation: Segmentation) -> Replayed {
    let mut seen = (0, 0);
    let stream = Replay::new(capture).unwrap();
    let replayed = replay(card, &stream, segmentation, &mut |now, of| {
        assert!(seen.0 <= now && now <= of, "{now} of {of} after {seen:?}");
        seen = (now, of);
    });
    replayed.unwrap()
}

/// What a capture holds, counted in its pcap by another program, and the error that Linux reported.
struct Case {
    name: &'static str,
    fpdus: u32,
    /// Payload octets that may be placed.
    payload: u32,
    /// Tagged messages.
    tagged: usize,
    /// Messages on queue 0 and 1.
    untagged: [usize; 2],
    error: Option<(u8, u8, Checks)>,
}

const fn case(
    name: &'static str,
    fpdus: u32,
    payload: u32,
    tagged: usize,
    untagged: [usize; 2],
    error: Option<(u8, u8, Checks)>,
) -> Case {
    Case {
        name,
        fpdus,
        payload,
        tagged,
        untagged,
        error,
    }
}

const BAD_STAG: Option<(u8, u8, Checks)> = Some((0x1, 0x00, Checks::STAG));
const OUT_OF_BOUNDS: Option<(u8, u8, Checks)> = Some((0x1, 0x01, Checks::END));
const NO_BUFFER: Option<(u8, u8, Checks)> = Some((0x2, 0x02, Checks::NOBUF));

const CASES: [Case; 8] = [
    case("crc0-rev2-writes", 260, 325_767, 49, [1, 0], None),
    case("crc1-rev2-writes", 260, 325_767, 49, [1, 0], None),
    case("crc1-rev2-mixed", 151, 161_241, 30, [10, 8], None),
    case("crc1-rev2-sends", 40, 10_140, 0, [40, 0], None),
    case("crc1-rping", 50, 40_320, 10, [20, 0], None),
    // One message of 64 octets is good, the other one names no region.
    case("crc1-rev2-badstag", 2, 64, 1, [0, 0], BAD_STAG),
    // A message in FPDUs of 1428, 1428 and 1144 octets; the second one passes the region's end.
    case("crc1-rev2-oob", 3, 1428, 0, [0, 0], OUT_OF_BOUNDS),
    // 65 messages of 64 octets for 64 buffers.
    case("crc1-rev2-nobuf", 65, 64 * 64, 0, [64, 0], NO_BUFFER),
];

fn check(card: &Card, case: &Case, capture: &Capture, segmentation: Segmentation) {
    let replayed = run(card, capture, segmentation);
    let report = &replayed.report;
    let markers = capture.target_flow().markers;
    let (name, width) = (case.name, report.width);
    let name = format!("{name} at {width} bits, markers {markers}, {segmentation:?}");

    assert_eq!(replayed.differences, [], "{name}");
    assert!(report.memory_match && report.receive_match, "{name}");
    assert_eq!(replayed.plan.learnt, capture.regions.is_none(), "{name}");
    assert_eq!(report.crc, case.name.starts_with("crc1"), "{name}");
    assert_eq!(report.markers, markers, "{name}");

    assert_eq!(report.fpdus, case.fpdus, "{name}");
    assert_eq!(report.payload_octets, case.payload, "{name}");
    let stream = capture.target_flow().octets().unwrap();
    assert_eq!(report.octets as usize, stream.len(), "{name}");
    assert!(report.of_bus() <= 1.0, "{name}: {}", report.of_bus());

    let untagged = |of: u8| {
        let completions = report.completions.iter();
        let of = completions
            .filter(|c| matches!(c, CompletionReport::Untagged { queue, .. } if *queue == of));
        of.count()
    };
    assert_eq!([untagged(0), untagged(1)], case.untagged, "{name}");
    let messages = case.tagged + case.untagged[0] + case.untagged[1];
    assert_eq!(report.completions.len(), messages, "{name}");

    let error = case.error.map(|(kind, code, checks)| ErrorReport {
        stream: 0,
        kind,
        code,
        checks: checks.bits(),
    });
    assert_eq!(report.errors, Vec::from_iter(error), "{name}");
    // No other octet crosses the bus, and none of a failing DDP segment.
    let closed = usize::from(replayed.landed.closed.is_some());
    let entries = (report.completions.len() + report.errors.len() + closed) as u64;
    let written = card.timing().written;
    assert_eq!(written, u64::from(case.payload) + ENTRY * entries, "{name}");
}

fn every(octets: usize) -> Segmentation {
    Segmentation::Every(NonZeroUsize::new(octets).unwrap())
}

/// The same connection as if the receiver had requested markers, which Linux never does.
fn with_markers(mut capture: Capture) -> Capture {
    let flow = capture.target_flow();
    let octets = flow.octets().unwrap();
    let mut framing = Framing::new(FramingConfig {
        crc: flow.crc,
        ..FramingConfig::default()
    });
    let mut writer = FpduWriter::new(true, CrcField::Computed);
    let (mut rest, mut marked) = (&octets[..], Vec::new());
    while let Some(ulpdu) = framing.push(&mut rest).unwrap() {
        writer.append(&[], ulpdu.octets, &mut marked).unwrap();
    }
    let connection = &mut capture.connections[0];
    let mpa = connection.mpa.as_mut().unwrap();
    mpa.reply.markers = true;
    let sent = match mpa.initiator {
        Side::Client => &mut connection.client,
        Side::Server => &mut connection.server,
    };
    let before = |segment: &TcpSegment| (flow.seq_start.wrapping_sub(segment.seq) as i32) > 0;
    sent.segments.retain(before);
    let last = sent.segments.last().unwrap().clone();
    for (seq, payload) in resegment(flow.seq_start, &marked, every(1448)) {
        sent.segments.push(TcpSegment {
            seq,
            payload,
            ..last.clone()
        });
    }
    capture
}

fn all_captures(width: usize) {
    let card = card(width);
    for (seed, case) in (0..).zip(&CASES) {
        let capture = capture(case.name);
        for capture in [&capture, &with_markers(capture.clone())] {
            check(&card, case, capture, Segmentation::AsCaptured);
            check(&card, case, capture, every(1));
            check(&card, case, capture, every(65535));
            for max in [7, 300, 5000] {
                let max = NonZeroUsize::new(max).unwrap();
                check(&card, case, capture, Segmentation::Random { seed, max });
            }
        }
    }
}

// req: MPA-RCV-05, MPA-RCV-21, MPA-RCV-22, DDP-TAG-11, AMB-03, AMB-10
#[test]
fn captures_at_64_bits() {
    all_captures(64);
}

// req: MPA-RCV-05, MPA-RCV-21, MPA-RCV-22, DDP-TAG-11, AMB-03, AMB-10
#[test]
fn captures_at_128_bits() {
    all_captures(128);
}

// req: MPA-RCV-05, MPA-RCV-21, MPA-RCV-22, DDP-TAG-11, AMB-03, AMB-10
#[test]
fn captures_at_256_bits() {
    all_captures(256);
}

// req: MPA-RCV-05, MPA-RCV-21, MPA-RCV-22, DDP-TAG-11, AMB-03, AMB-10
#[test]
fn captures_at_512_bits() {
    all_captures(512);
}

/// 65 messages on a queue that holds 64 buffers: without recorded regions, a buffer is posted whenever one is used.
#[test]
fn buffers_follow_the_messages() {
    let card = card(64);
    let traffic = capture("crc1-rev2-nobuf/wire.pcap");
    let replayed = run(&card, &traffic, Segmentation::AsCaptured);
    assert!(replayed.plan.learnt);
    assert_eq!(replayed.differences, []);
    assert_eq!(replayed.report.errors, []);
    assert_eq!(replayed.report.completions.len(), 65);
    assert_eq!(replayed.landed.receive.1.len(), 65 * 64);

    // A segment that completes more messages is cut where the program posts.
    let whole = run(&card, &traffic, every(65535));
    assert_eq!((whole.segments, &whole.landed), (1, &replayed.landed));
}

/// A TCP segment that was not captured leaves a gap that no replay can fill: it ends there, and says so.
#[test]
fn a_gap_ends_the_replay() {
    let card = card(64);
    let mut traffic = capture("crc1-rev2-sends");
    let missing = 3;
    let sent = &mut traffic.connections[0];
    let initiator = match sent.mpa.as_ref().unwrap().initiator {
        Side::Client => &mut sent.client,
        Side::Server => &mut sent.server,
    };
    let fpdus: Vec<_> = (0..initiator.segments.len())
        .filter(|&i| !initiator.segments[i].payload.is_empty())
        .collect();
    let removed = initiator.segments.remove(fpdus[missing]);
    let replayed = run(&card, &traffic, Segmentation::AsCaptured);
    assert_eq!(replayed.differences, []);
    assert_eq!(replayed.report.errors, []);
    let start = traffic.target_flow().seq_start;
    let position = u64::from(removed.seq.wrapping_sub(start));
    assert_eq!(u64::from(replayed.report.octets), position);
    let lost = removed.payload.len();
    let gap = format!("{lost} octets from stream position {position} on were not captured");
    let warnings = &replayed.report.warnings;
    assert!(
        warnings.iter().any(|line| line.starts_with(&gap)),
        "{warnings:?}"
    );
    assert!(
        warnings
            .iter()
            .any(|line| line.ends_with("the stream was not captured completely")),
        "{warnings:?}"
    );

    // Nothing is left when the first octets of full operation are missing.
    let initiator = match traffic.connections[0].mpa.as_ref().unwrap().initiator {
        Side::Client => &mut traffic.connections[0].client,
        Side::Server => &mut traffic.connections[0].server,
    };
    initiator.segments.retain(|segment| segment.seq != start);
    let refused = Replay::new(&traffic).unwrap_err();
    assert!(
        matches!(refused, ReplayError::Gap { position: 0, .. }),
        "{refused}"
    );
}
