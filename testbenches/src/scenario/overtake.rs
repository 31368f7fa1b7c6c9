//! An error behind a gap, close behind the closing of another one.
//!
//! ```text
//!  stream   ├ long FPDU ──────────┬┬┬┬┬┬┬┬┤┬┬┤ wrong ┤┬┤
//!  arrival      ①   ③(closes)   ②          ⑤    ④
//! ```
//!
//! With ③ many FPDUs are whole in order at once. The chain in order needs some hundred cycles for them, and in these comes ④,
//! which the look-ahead finds by its markers. Its error does not depend on order and freezes the stream (AMB-11), but all
//! messages up to ⑤ were complete before it arrived and have to be delivered (AMB-10).

use std::ops::Range;

use fastrand::Rng;
use warpline_driver::StreamOptions;
use warpline_hdl::Config;
use warpline_sim::BackPressure;
use warpline_wire::ddp::{TaggedHeader, UntaggedHeader};
use warpline_wire::send::{CrcField, FpduWriter};

use super::generate::back_pressure;
use super::{Arrival, Phase, Post, Region, STREAMS, Scenario, Stream};
use crate::stimulus::chance;

/// Octets of headers, markers, pads and CRCs that payloads leave room for in the ring.
const OVERHEAD: usize = 1200;
/// Octets of a stream, so that any part of it is a segment.
const MOST: usize = 48 << 10;
/// A message into the receive buffer, in octets.
const MESSAGE: usize = 9;

/// The stream while it is written.
struct Peer<'r> {
    rng: &'r mut Rng,
    writer: FpduWriter,
    wire: Vec<u8>,
    region: Region,
}

impl Peer<'_> {
    fn append(&mut self, header: &[u8], length: usize) {
        let mut payload = vec![0; length];
        self.rng.fill(&mut payload);
        let sent = self.writer.append(header, &payload, &mut self.wire);
        sent.expect("shorter than the largest ULPDU");
    }

    /// A message of one segment somewhere in the region.
    fn header(&mut self, length: usize) -> TaggedHeader {
        let at = self.rng.usize(..=self.region.length - length);
        TaggedHeader {
            last: true,
            rsvd_ulp: self.rng.u8(..),
            stag: self.region.stag,
            to: self.region.base.wrapping_add(at as u64),
        }
    }

    fn write(&mut self, length: usize) {
        let header = self.header(length).emit();
        self.append(&header, length);
    }

    fn send(&mut self) {
        let header = UntaggedHeader {
            last: true,
            rsvd_ulp: std::array::from_fn(|_| self.rng.u8(..)),
            qn: 0,
            msn: 1,
            mo: 0,
        };
        self.append(&header.emit(), MESSAGE);
    }

    /// An FPDU with an error that is one whatever is missing.
    fn write_wrong(&mut self, length: usize) {
        let mut header = self.header(length);
        let wrong = self.rng.u8(..4);
        match wrong {
            0 => header.stag ^= 1,
            1 => header.to = self.region.base.wrapping_sub(1),
            _ => {}
        }
        let mut octets = header.emit();
        if wrong > 1 {
            octets[0] ^= 1; // DV
        }
        self.append(&octets, length);
    }

    /// Segments of `range`, at most `most` of them.
    fn pieces(&mut self, range: Range<usize>, most: usize) -> Vec<Range<usize>> {
        let mut cuts: Vec<_> = (1..self.rng.usize(1..=most))
            .map(|_| self.rng.usize(range.clone()))
            .collect();
        cuts.extend([range.start, range.end]);
        cuts.sort_unstable();
        cuts.dedup();
        cuts.windows(2).map(|cut| cut[0]..cut[1]).collect()
    }
}

impl Scenario {
    /// The scenario of a seed in which an error behind a gap comes close behind the closing of another one.
    #[must_use]
    pub fn with_error_behind_a_gap(seed: u64, config: &Config) -> Self {
        let rng = &mut Rng::with_seed(seed ^ (config.width as u64) << 48 ^ 1 << 47);
        let restart = chance(rng, 12).then(|| 1 << rng.u32(0..=10));
        let back_pressure = match rng.bool() {
            true => BackPressure::NONE,
            false => back_pressure(rng),
        };
        let number = rng.u8(..STREAMS);
        let options = StreamOptions {
            sequence_start: rng.u32(..),
            markers: true,
            crc: true,
            queues: 1,
            ..StreamOptions::default()
        };
        let octets = config.ring_octets.min(MOST);
        let room = octets - OVERHEAD - octets / 64;
        let region = Region {
            stag: rng.u32(..),
            domain: 0,
            stream: None,
            remote_write: true,
            base: rng.u64(1..1 << 60),
            offset: rng.usize(..100),
            length: room,
            behind: rng.usize(1..100),
            revoked: None,
        };
        let mut peer = Peer {
            rng,
            writer: FpduWriter::new(true, CrcField::Computed),
            wire: Vec::new(),
            region: region.clone(),
        };

        // What becomes whole in order at once: an FPDU in which the gap lies, and those behind it. They are placed already,
        // and of each one that reaches 16 rows the chain in order takes 16 cycles to come to the next one.
        let long = room >> peer.rng.u32(1..8);
        peer.write(long);
        let count = peer.rng.usize(1..=20);
        let most = [100, 600, 2000][peer.rng.usize(..3)].min(room / 3 / count);
        let send_at = peer.rng.usize(..count);
        for i in 0..count {
            if i == send_at {
                peer.send();
            }
            let length = peer.rng.usize(most / 2..=most);
            peer.write(length);
        }
        let complete = peer.wire.len();
        for _ in 0..peer.rng.usize(1..4) {
            let length = peer.rng.usize(..room / 64);
            peer.write(length);
        }
        let wrong = peer.wire.len();
        let length = peer.rng.usize(1..600.min(room / 16));
        peer.write_wrong(length);
        let behind = peer.wire.len();
        peer.write(room / 64);
        let end = peer.wire.len();

        let gap = peer.rng.usize(4..long / 2);
        let gap_end = peer.rng.usize(gap + 1..long);
        let mut order = peer.pieces(0..gap, 2);
        let mut island = peer.pieces(gap_end..complete, 3);
        if peer.rng.bool() {
            island.reverse();
        }
        order.append(&mut island);
        if peer.rng.bool() {
            order.rotate_left(1);
        }
        let long_pause = peer.rng.u64(..3000);
        let before = order.len();
        order.push(gap..gap_end);
        let closes = order.len();
        order.push(wrong..if peer.rng.bool() { behind } else { end });
        let fails = order.len();
        order.append(&mut peer.pieces(complete..wrong, 2));
        order.push(behind..end);
        let (soon, later) = (peer.rng.u64(..300), peer.rng.u64(..600));
        let pause = |sent: usize| match sent {
            _ if sent == before => long_pause,
            _ if sent == closes => soon,
            _ if sent == fails => later,
            _ => 0,
        };
        let wire = peer.wire;
        let arrivals = (1..).zip(order).map(|(sent, range)| Arrival {
            stream: 0,
            sequence: options.sequence_start.wrapping_add(range.start as u32),
            octets: wire[range].to_vec(),
            fin: false,
            pause: pause(sent),
        });
        let phase = Phase {
            arrivals: arrivals.collect(),
            posts: (0..2)
                .map(|in_front| Post {
                    stream: 0,
                    queue: 0,
                    length: 64,
                    in_front,
                })
                .collect(),
            received: vec![end],
        };
        let stream = Stream {
            number,
            domain: 0,
            options,
            oddities: vec![format!("wrong FPDU at {wrong}, complete up to {complete}")],
            wire,
            fin: false,
            late: None,
        };
        Self {
            seed,
            restart,
            back_pressure,
            domains: 1,
            regions: vec![region],
            streams: vec![stream],
            phases: vec![phase],
        }
    }
}
