//! Rate and latency, in cycles.

use warpline_wire::send::Message;

use crate::directed::{REGION, STAG, chunks, pattern};
use crate::support::{Device, Kind};

/// Octets of a segment: an MTU of 1500 less headers of IP and SCTP, and the DDP-SSN.
const SEGMENT: usize = 1440;
const CHUNKS: usize = 64;
/// Share of the bus that segments must reach.
const GOAL: f64 = 0.98;
/// Most cycles from the last beat of a chunk to the first beat of its payload at the memory, beside those in which the chunk is
/// read once it is whole.
const LATENCY: u64 = 60;

fn filled(
    width: usize,
    segment: usize,
    count: usize,
    order: impl Iterator<Item = usize>,
) -> Device {
    let mut device = Device::new(width, 1);
    device.write_stag(STAG, REGION, 1 << 20);
    device.arm(0, Kind::Sctp(0), 0);
    // its slots are swept
    device.settle();
    let header = 14;
    let write = |i: usize| Message::Tagged {
        stag: STAG,
        to: (2048 * i) as u64,
        rsvd_ulp: 0,
    };
    let messages: Vec<_> = (0..count)
        .map(|i| (write(i), pattern(i, segment - header)))
        .collect();
    let chunks = chunks(0, 0, &messages, SEGMENT as u16);
    assert_eq!(chunks.len(), count);
    order.for_each(|i| device.chunk(chunks[i].clone()));
    device.settle();
    assert_eq!(device.payload().count(), count * (segment - header));
    device
}

/// Octets of chunks that are accepted in a cycle, from the end of one chunk to that of another, as a share of the bus; all of
/// them are placed.
fn share(width: usize, device: &Device) -> f64 {
    let ends = &device.chunk_ends;
    // the queue in front is full behind the first chunks
    let (first, last) = (8, ends.len() - 1);
    let octets = (last - first) * (SEGMENT + 2);
    octets as f64 / (ends[last] - ends[first]) as f64 / (width / 8) as f64
}

fn measure(width: usize) {
    let ordered = share(width, &filled(width, SEGMENT, CHUNKS, 0..CHUNKS));
    let swapped = share(
        width,
        &filled(width, SEGMENT, CHUNKS, (0..CHUNKS).map(|i| i ^ 1)),
    );
    let latencies = [64, SEGMENT].map(|segment| {
        let alone = filled(width, segment, 1, 0..1);
        let latency = alone.bus.beat_cycles[0] - alone.chunk_ends[0];
        let beats = (segment + 2).div_ceil(width / 8) as u64;
        assert!(
            latency <= beats + LATENCY,
            "{segment} octets: {latency} cycles"
        );
        latency
    });
    println!(
        "{width} bits: {ordered:.3} in order, {swapped:.3} in pairs; {latencies:?} cycles to memory"
    );
    let beats = (SEGMENT + 2).div_ceil(width / 8) * (width / 8);
    let most = (SEGMENT + 2) as f64 / beats as f64;
    let goal = GOAL.min(0.99 * most);
    assert!(ordered >= goal, "{ordered} of the bus");
    // the second one of a pair is read twice, if its verdict is not there by then
    assert!(swapped >= 0.65 * goal, "{swapped} of the bus");
}

#[test]
fn chunks_are_taken_at_bus_rate_at_64_bits() {
    measure(64);
}

#[test]
fn chunks_are_taken_at_bus_rate_at_128_bits() {
    measure(128);
}

#[test]
fn chunks_are_taken_at_bus_rate_at_256_bits() {
    measure(256);
}

#[test]
fn chunks_are_taken_at_bus_rate_at_512_bits() {
    measure(512);
}
