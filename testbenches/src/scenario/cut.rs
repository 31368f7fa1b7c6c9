//! From streams of octets to TCP segments: cut anyhow, some twice, some late, in any order, those of several streams mixed.

use std::ops::Range;

use fastrand::Rng;
use warpline_hdl::Config;

use super::{Arrival, Stream};
use crate::stimulus::chance;

/// Largest segment: what an IP datagram can carry.
const MOST: usize = 65535;

/// A segment on its way: sequence number, octets, whether a FIN stands behind it.
type Piece = (u32, Vec<u8>, bool);

/// Segments that bring each stream from `before` to `received` octets without a gap; in the `last` phase with the FIN of
/// those that end in one.
pub(super) fn arrivals(
    rng: &mut Rng,
    config: &Config,
    streams: &[Stream],
    before: &[usize],
    received: &[usize],
    last: bool,
) -> Vec<Arrival> {
    let mut queues: Vec<_> = streams
        .iter()
        .zip(before.iter().zip(received))
        .map(|(stream, (&from, &to))| {
            segments(rng, config, stream, from..to, last && stream.fin).into_iter()
        })
        .collect();
    let pauses = chance(rng, 20);
    let mut arrivals = Vec::new();
    let mut open: Vec<usize> = (0..queues.len()).collect();
    while !open.is_empty() {
        let turn = rng.usize(..open.len());
        let stream = open[turn];
        match queues[stream].next() {
            Some((sequence, octets, fin)) => arrivals.push(Arrival {
                stream,
                sequence,
                octets,
                fin,
                // Long ones, as there are hundreds of segments, now and then.
                pause: match pauses {
                    true => 4 * rng.u64(..100).saturating_sub(75),
                    false => 0,
                },
            }),
            None => {
                open.swap_remove(turn);
            }
        }
    }
    arrivals
}

/// The segments of a stream. The FIN goes with those that end at it, or alone, mostly last and sometimes early or again.
fn segments(
    rng: &mut Rng,
    config: &Config,
    stream: &Stream,
    range: Range<usize>,
    fin: bool,
) -> Vec<Piece> {
    let alone = fin && (range.is_empty() || chance(rng, 40));
    let mut pieces = pieces(rng, range.clone());
    let shuffled = chance(rng, 40);
    if shuffled {
        reorder(rng, &mut pieces);
    }
    let again = chance(rng, 25);
    let mut segments = Vec::new();
    let mut edge = range.start;
    for piece in pieces {
        let segment = |piece: Range<usize>| {
            let position = piece.start as u32;
            let sequence = stream.options.sequence_start.wrapping_add(position);
            let behind = fin && !alone && piece.end == range.end;
            (sequence, stream.wire[piece].to_vec(), behind)
        };
        edge = edge.max(piece.end);
        segments.push(segment(piece));
        if again && chance(rng, 30) {
            // What was sent before, and perhaps some octets more (AMB-40).
            let start = rng.usize(edge.saturating_sub(2000)..edge);
            let most = if rng.bool() { edge } else { edge + 50 };
            let end = rng.usize(start + 1..=range.end.min(most));
            let (sequence, mut octets, behind) = segment(start..end);
            if !shuffled && stream.wire.len() <= config.ring_octets {
                // Octets that were received before count, whatever the second copy says (MPA-RCV-24). The ring has room for
                // the whole stream, so that no segment waits and is overtaken.
                let old = end.min(edge) - start;
                octets[..old].iter_mut().for_each(|octet| *octet ^= 0x55);
            }
            segments.push((sequence, octets, behind));
            edge = edge.max(end);
        }
    }
    if alone {
        let sequence = stream.options.sequence_start.wrapping_add(range.end as u32);
        for _ in 0..1 + usize::from(chance(rng, 10)) {
            let at = match chance(rng, 30) {
                true => rng.usize(..=segments.len()),
                false => segments.len(),
            };
            segments.insert(at, (sequence, Vec::new(), true));
        }
    }
    segments
}

/// Another order: neighbours change places, single ones come late, a stretch comes from its end, or anything anywhere.
fn reorder(rng: &mut Rng, pieces: &mut [Range<usize>]) {
    match rng.u8(..4) {
        0 => {
            for i in 1..pieces.len() {
                if chance(rng, 20) {
                    pieces.swap(i - 1, i);
                }
            }
        }
        1 => {
            // lost, and sent again behind up to eight others
            for i in 0..pieces.len() {
                if chance(rng, 10) {
                    let later = pieces.len().min(i + rng.usize(2..=9));
                    pieces[i..later].rotate_left(1);
                }
            }
        }
        2 => {
            for stretch in pieces.chunks_mut(rng.usize(2..20)) {
                stretch.reverse();
            }
        }
        _ => {
            for stretch in pieces.chunks_mut(rng.usize(2..20)) {
                rng.shuffle(stretch);
            }
        }
    }
}

/// The range in pieces, in order.
fn pieces(rng: &mut Rng, range: Range<usize>) -> Vec<Range<usize>> {
    let style = match rng.u8(..8) {
        0 if range.len() <= 2000 => 1..2,
        1 if range.len() <= 20_000 => 1..17,
        2 => 1..300,
        3 => 536..537,
        4 => 1448..1449,
        5 => 8960..8961,
        6 => MOST..MOST + 1,
        _ => 1..3000,
    };
    let mixed = chance(rng, 20);
    let mut pieces = Vec::new();
    let mut start = range.start;
    while start < range.end {
        let length = match mixed {
            true => 1 << rng.u8(..=12),
            false => rng.usize(style.clone()),
        };
        let end = range.end.min(start + length);
        pieces.push(start..end);
        start = end;
    }
    pieces
}
