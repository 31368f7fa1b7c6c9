//! Cuts a stream into new TCP segments: TCP may cut at any octet, so a receiver must not depend on the cuts.

use std::num::NonZeroUsize;

use fastrand::Rng;

/// A TCP segment's sequence number of the first octet, and its octets.
pub type Piece = (u32, Vec<u8>);

/// Where to cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segmentation {
    /// The captured segments in captured order, with repetitions and reordering. For octets that were not captured as
    /// segments: one piece.
    AsCaptured,
    /// One piece.
    Whole,
    /// Pieces of this many octets; the last one may be shorter.
    Every(NonZeroUsize),
    /// Pieces of 1 to `max` octets, uniformly distributed.
    Random {
        /// The same seed gives the same pieces.
        seed: u64,
        /// Longest piece.
        max: NonZeroUsize,
    },
}

/// Cuts `octets`, whose first one has sequence number `seq`, into pieces in order; none is empty.
pub fn resegment(seq: u32, octets: &[u8], plan: Segmentation) -> Vec<Piece> {
    let mut length: Box<dyn FnMut() -> usize> = match plan {
        Segmentation::AsCaptured | Segmentation::Whole => Box::new(|| usize::MAX),
        Segmentation::Every(n) => Box::new(move || n.get()),
        Segmentation::Random { seed, max } => {
            let mut rng = Rng::with_seed(seed);
            Box::new(move || rng.usize(1..=max.get()))
        }
    };
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < octets.len() {
        let end = at.saturating_add(length()).min(octets.len());
        pieces.push((seq.wrapping_add(at as u32), octets[at..end].to_vec()));
        at = end;
    }
    pieces
}

/// Shuffles pieces within successive groups of `window`: no piece moves further, so a receiver whose window covers two
/// groups accepts them all. The same seed gives the same order.
pub fn reorder(pieces: &mut [Piece], seed: u64, window: NonZeroUsize) {
    let mut rng = Rng::with_seed(seed);
    for group in pieces.chunks_mut(window.get()) {
        rng.shuffle(group);
    }
}
