//! TCP segments that wait for the program: it posts buffers and renews STags at places of the stream.
//!
//! ```text
//!  as captured:   [0 ……… 300) [500 …… 700) [300 …… 500)           a place at 400
//!  fed first:     [0 ……… 300)              [300 … 400)
//!  then:                      [500 …… 700) [400 … 500)
//! ```

use std::collections::VecDeque;

use warpline_capture::Piece;

/// TCP segments in the order of their capture.
pub(super) struct Pieces {
    seq_start: u32,
    /// Segments, and the lowest stream position that one of them or of those behind begins at.
    waiting: VecDeque<(u64, Piece)>,
}

impl Pieces {
    /// Segments of the stream that begins at `seq_start`.
    pub fn new(seq_start: u32, pieces: Vec<Piece>) -> Self {
        let mut lowest = u64::MAX;
        let mut waiting = VecDeque::with_capacity(pieces.len());
        for piece in pieces.into_iter().rev() {
            lowest = lowest.min(u64::from(piece.0.wrapping_sub(seq_start)));
            waiting.push_front((lowest, piece));
        }
        Self { seq_start, waiting }
    }

    /// None is left.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Octets of all of them.
    pub fn octets(&self) -> u64 {
        let octets = self
            .waiting
            .iter()
            .map(|(_, (_, octets))| octets.len() as u64);
        octets.sum()
    }

    /// Takes all octets in front of stream position `end`.
    pub fn take(&mut self, end: u64) -> Vec<Piece> {
        let mut taken = Vec::new();
        let mut later = Vec::new();
        while let Some((lowest, _)) = self.waiting.front()
            && *lowest < end
            && let Some((_, (seq, mut octets))) = self.waiting.pop_front()
        {
            let start = u64::from(seq.wrapping_sub(self.seq_start));
            let length = end.saturating_sub(start).min(octets.len() as u64);
            let rest = octets.split_off(length as usize);
            if !octets.is_empty() {
                taken.push((seq, octets));
            }
            if !rest.is_empty() {
                later.push((seq.wrapping_add(length as u32), rest));
            }
        }
        let mut lowest = self.waiting.front().map_or(u64::MAX, |(lowest, _)| *lowest);
        for piece in later.into_iter().rev() {
            lowest = lowest.min(u64::from(piece.0.wrapping_sub(self.seq_start)));
            self.waiting.push_front((lowest, piece));
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_in_front_of_a_place_come_first() {
        let start = u32::MAX - 99; // sequence numbers wrap
        let piece = |from: u32, to: u32| {
            let octets = (from..to).map(|at| at as u8).collect();
            (start.wrapping_add(from), octets)
        };
        let all = vec![
            piece(0, 300),
            piece(500, 700),
            piece(300, 500),
            piece(700, 710),
        ];
        let mut pieces = Pieces::new(start, all);
        assert_eq!(pieces.take(0), []);
        assert_eq!(pieces.take(400), [piece(0, 300), piece(300, 400)]);
        assert_eq!(pieces.take(400), []);
        assert_eq!(pieces.take(450), [piece(400, 450)]);
        assert!(!pieces.is_empty());
        let rest = [piece(500, 700), piece(450, 500), piece(700, 710)];
        assert_eq!(pieces.take(u64::MAX), rest);
        assert!(pieces.is_empty());
    }
}
