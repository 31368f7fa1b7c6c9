//! From a seed to a scenario.

use std::collections::BTreeSet;

use fastrand::Rng;
use warpline_driver::StreamOptions;
use warpline_hdl::Config;
use warpline_sim::BackPressure;

use super::cut::arrivals;
use super::traffic::Traffic;
use super::{Late, Phase, Post, QUEUES, Region, STREAMS, Scenario, Stream};
use crate::stimulus::chance;

/// Slots of the STag table of the simulated card; each STag needs one of its own.
const STAG_SLOTS: u32 = 256;

impl Scenario {
    /// The scenario of a seed for a device. Payload lengths cluster around its beats and the size of its rings.
    #[must_use]
    pub fn new(seed: u64, config: &Config) -> Self {
        // Drawn apart, so that the others stay what their seed made them.
        if chance(&mut Rng::with_seed(!seed), 3) {
            return Self::with_error_behind_a_gap(seed, config);
        }
        let rng = &mut Rng::with_seed(seed ^ (config.width as u64) << 48);
        let large = chance(rng, 2);
        let domains = rng.usize(1..=2);
        let phase_count = if chance(rng, 25) { 2 } else { 1 };

        let mut numbers: Vec<u8> = (0..STREAMS).collect();
        rng.shuffle(&mut numbers);
        numbers.truncate(rng.usize(1..=numbers.len()));
        let mut streams: Vec<Stream> = numbers
            .into_iter()
            .map(|number| stream(rng, number, domains))
            .collect();
        let regions = regions(rng, &streams, domains, phase_count, large);
        let mut traffic: Vec<Traffic> = streams
            .iter()
            .map(|stream| Traffic::new(rng, stream, config, large))
            .collect();

        let mut arrived = vec![0; streams.len()];
        let mut phases = Vec::new();
        for number in 0..phase_count {
            let mut phase = Phase::default();
            for (index, stream) in streams.iter_mut().enumerate() {
                let posts = posts(rng, index, stream.options.queues, large);
                traffic[index].post(&posts);
                phase.posts.extend(posts);
                let usable: Vec<&Region> = regions
                    .iter()
                    .filter(|region| is_usable(region, stream, number))
                    .collect();
                traffic[index].write(rng, &regions, &usable, stream);

                // Up to where the phase goes: anywhere, the end of an FPDU or not.
                let all = stream.wire.len();
                let cut = number + 1 < phase_count || chance(rng, 10);
                let received = if cut {
                    rng.usize(arrived[index]..=all)
                } else {
                    all
                };
                if number + 1 == phase_count {
                    stream.wire.truncate(received);
                }
                phase.received.push(received);
            }
            let last = number + 1 == phase_count;
            phase.arrivals = arrivals(rng, config, &streams, &arrived, &phase.received, last);
            arrived.clone_from(&phase.received);
            phases.push(phase);
        }
        Self {
            seed,
            restart: chance(rng, 12).then(|| 1 << rng.u32(0..=10)),
            back_pressure: back_pressure(rng),
            domains,
            regions,
            streams,
            phases,
        }
    }
}

pub(super) fn back_pressure(rng: &mut Rng) -> BackPressure {
    match rng.u8(..10) {
        0..4 => BackPressure::NONE,
        4..7 => BackPressure::RANDOM,
        7 => BackPressure {
            stall: 0,
            latency: 1..=200,
        },
        8 => BackPressure {
            stall: 80,
            latency: 1..=1,
        },
        _ => BackPressure {
            stall: rng.u8(..90),
            latency: 1..=rng.u32(1..100),
        },
    }
}

fn stream(rng: &mut Rng, number: u8, domains: usize) -> Stream {
    let near_wrap = |rng: &mut Rng, reach: u32| 0_u32.wrapping_sub(rng.u32(..reach));
    let options = StreamOptions {
        sequence_start: match rng.u8(..4) {
            0 => near_wrap(rng, 4096),
            1 => near_wrap(rng, 8),
            _ => rng.u32(..),
        },
        markers: rng.bool(),
        crc: chance(rng, 80),
        tagged_completions: chance(rng, 80),
        strict_mo: chance(rng, 15),
        msn_window: chance(rng, 40),
        // of its own numbers, so that the other choices of a seed are as they were
        long_ulpdus: Rng::with_seed(!rng.clone().u64(..)).u8(..4) == 0,
        queues: rng.u8(..1 << QUEUES) | rng.u8(..2),
        first_msn: match rng.u8(..8) {
            0 => near_wrap(rng, 4),
            1 => rng.u32(..),
            _ => 1,
        },
        ..StreamOptions::default()
    };
    let fin = rng.bool();
    let late = match rng.u8(..8) {
        0 if fin => {
            let mut octets = vec![0; rng.usize(1..100)];
            rng.fill(&mut octets);
            Some(Late::Octets(octets))
        }
        1 => Some(Late::Lost),
        _ => None,
    };
    Stream {
        number,
        domain: rng.usize(..domains),
        options,
        oddities: Vec::new(),
        wire: Vec::new(),
        fin,
        late,
    }
}

fn regions(
    rng: &mut Rng,
    streams: &[Stream],
    domains: usize,
    phases: usize,
    large: bool,
) -> Vec<Region> {
    let mut slots = BTreeSet::new();
    let mut regions: Vec<Region> = Vec::new();
    for index in 0..rng.usize(1..=5) {
        let stag = rng.u32(..);
        if !slots.insert(stag >> 8 & (STAG_SLOTS - 1)) {
            continue;
        }
        let length = match rng.u8(..16) {
            0 => 0,
            1..4 => rng.usize(1..64),
            4 if large => 70_000,
            4..6 => rng.usize(4000..10_000),
            _ => rng.usize(64..4000),
        };
        let last_base = 0_u64.wrapping_sub(length as u64);
        let base = match rng.u8(..8) {
            0 => 0,
            1..3 => last_base, // ends at 2^64
            3 => rng.u64(..1 << 32),
            4 => rng.u64(..1 << 20) << 12,
            _ => rng.u64(..).min(last_base.wrapping_sub(1)),
        };
        // A length of 0 has no base that ends at 2^64.
        let base = if length == 0 && base == 0 { 4096 } else { base };
        regions.push(Region {
            stag,
            domain: rng.usize(..domains),
            stream: chance(rng, 20).then(|| rng.u8(..STREAMS)),
            remote_write: chance(rng, 90),
            base,
            offset: rng.usize(..100),
            length,
            behind: rng.usize(1..100),
            revoked: chance(rng, 15).then(|| rng.usize(..phases)),
        });
        if index == 0 {
            // One at least that the first stream can write to.
            regions[0].domain = streams[0].domain;
            regions[0].stream = regions[0].stream.map(|_| streams[0].number);
            regions[0].remote_write = true;
            regions[0].revoked = regions[0].revoked.filter(|&phase| phase > 0);
        }
    }
    // What belongs to one stream is of its domain: the driver refuses another one (AMB-59).
    for region in &mut regions {
        let owner = streams
            .iter()
            .find(|stream| region.stream == Some(stream.number));
        region.domain = owner.map_or(region.domain, |stream| stream.domain);
    }
    regions
}

impl Region {
    /// Whether a stream is one of those that the region was registered for.
    pub(super) fn is_for(&self, stream: &Stream) -> bool {
        self.domain == stream.domain && self.stream.is_none_or(|number| number == stream.number)
    }
}

/// Whether a stream's peer may write to a region.
fn is_usable(region: &Region, stream: &Stream, phase: usize) -> bool {
    region.is_for(stream)
        && region.remote_write
        && region.length > 0
        && region.revoked.is_none_or(|revoked| phase < revoked)
}

/// Buffers for some queues of a stream.
fn posts(rng: &mut Rng, stream: usize, queues: u8, large: bool) -> Vec<Post> {
    let enabled: Vec<u8> = (0..QUEUES)
        .filter(|queue| queues >> queue & 1 == 1)
        .collect();
    if enabled.is_empty() {
        return Vec::new();
    }
    let post = |rng: &mut Rng| Post {
        stream,
        queue: enabled[rng.usize(..enabled.len())],
        length: match rng.u8(..16) {
            0 => 0,
            1..4 => rng.u32(1..64),
            4 if large => 70_000,
            4..6 => rng.u32(2000..5000),
            _ => rng.u32(64..2000),
        },
        in_front: rng.usize(..3),
    };
    (0..rng.usize(..=6)).map(|_| post(rng)).collect()
}
