//! What a network does to a peer's octets between socket and card: other cuts, other order, copies, losses.
//!
//! ```text
//!  octets ─► joined ─► cut ─┬─ lost ──────► after a time-out: cut and drawn anew ─┐
//!            (until full)   ├─ late ──────► after a delay                        ─┼─► by due cycle ─► segments
//!                           ├─ a copy ────► after a delay                        ─┤
//!                           └──────────────► at once                             ─┘
//! ```
//!
//! Every octet leaves at least once: a segment that was lost [`MOST_LOSSES`] times is not lost again. Time is that of the
//! card, in cycles, so a run depends on the seed and on the cycles in which octets arrive, not on the machine's speed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::RangeInclusive;

use fastrand::Rng;

/// Losses of a segment after which it arrives.
const MOST_LOSSES: u8 = 8;
/// Longest delay in cycles: less than what a card takes for a standstill.
const LONGEST_DELAY: u64 = 100_000;

/// What the network between socket and card does. Each percentage is drawn per segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathOptions {
    /// Seed of all draws; each connection has draws of its own.
    pub seed: u64,
    /// Octets of the largest segment, at least 1.
    pub largest: u16,
    /// Cycles for which octets wait until they fill a segment; 0 keeps the cuts of the socket.
    pub join: u64,
    /// Percentage of segments that are cut into pieces of random lengths.
    pub cut: u8,
    /// Percentage of segments that arrive late, behind later ones.
    pub reorder: u8,
    /// Percentage of segments that arrive twice.
    pub duplicate: u8,
    /// Percentage of segments that are lost and sent again, in other pieces and with the same chance to be lost.
    pub lose: u8,
    /// Cycles by which late segments and copies are late, at most 100,000.
    pub delay: RangeInclusive<u64>,
    /// Cycles after which lost segments are sent again, at most 100,000.
    pub retransmission: RangeInclusive<u64>,
}

impl PathOptions {
    /// A third cut, a tenth late, a tenth twice, a twentieth lost.
    #[must_use]
    pub fn rough(seed: u64) -> Self {
        Self {
            seed,
            cut: 33,
            reorder: 10,
            duplicate: 10,
            lose: 5,
            ..Self::default()
        }
    }
}

impl Default for PathOptions {
    /// Segments of at most 1460 octets, as they come from the socket, once and in order.
    fn default() -> Self {
        Self {
            seed: 1,
            largest: 1460,
            join: 0,
            cut: 0,
            reorder: 0,
            duplicate: 0,
            lose: 0,
            delay: 100..=2000,
            retransmission: 1000..=4000,
        }
    }
}

/// A segment that leaves the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub sequence: u32,
    pub octets: Vec<u8>,
    /// The peer's FIN follows.
    pub fin: bool,
}

/// A segment under way, ordered by the cycle in which it is due.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    cycle: u64,
    /// Segments that are due together keep their order.
    number: u64,
    sequence: u32,
    octets: Vec<u8>,
    fin: bool,
    /// It was lost, and is sent again when due.
    lost: bool,
    losses: u8,
}

/// The path of one connection.
#[derive(Debug)]
pub(crate) struct Path {
    options: PathOptions,
    rng: Rng,
    /// Sequence number of the next octet that is cut off `joined`.
    sequence: u32,
    joined: Vec<u8>,
    /// Cycle in which `joined` leaves, full or not.
    leaves: Option<u64>,
    under_way: BinaryHeap<Reverse<Due>>,
    number: u64,
}

impl Path {
    /// A path of octets from `sequence` on, with draws of its own among those of the same seed.
    pub fn new(options: PathOptions, own: u64, sequence: u32) -> Self {
        Self {
            rng: Rng::with_seed(options.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ own),
            options,
            sequence,
            joined: Vec::new(),
            leaves: None,
            under_way: BinaryHeap::new(),
            number: 0,
        }
    }

    /// Octets have come from the socket.
    pub fn arrive(&mut self, cycle: u64, octets: &[u8]) {
        self.joined.extend_from_slice(octets);
        let largest = usize::from(self.options.largest.max(1));
        let joined = std::mem::take(&mut self.joined);
        let whole = match self.options.join {
            0 => joined.len(),
            _ => joined.len() / largest * largest,
        };
        let (whole, rest) = joined.split_at(whole);
        for octets in whole.chunks(largest) {
            let sequence = self.take(octets.len());
            self.send(cycle, sequence, octets, false, 0);
        }
        if rest.is_empty() {
            self.leaves = None;
        } else if !whole.is_empty() || self.leaves.is_none() {
            self.leaves = Some(cycle + self.options.join.min(LONGEST_DELAY));
        }
        self.joined = rest.to_vec();
    }

    /// The peer's FIN has come, behind all octets.
    pub fn finish(&mut self, cycle: u64) {
        self.leave(cycle, true);
    }

    /// Cycle in which something leaves the path.
    pub fn due(&self) -> Option<u64> {
        let first = self.under_way.peek().map(|Reverse(due)| due.cycle);
        [self.leaves, first].into_iter().flatten().min()
    }

    /// The next segment that is due.
    pub fn next(&mut self, cycle: u64) -> Option<Segment> {
        if self.leaves.is_some_and(|leaves| leaves <= cycle) {
            self.leave(cycle, false);
        }
        while self.under_way.peek()?.0.cycle <= cycle {
            let Reverse(due) = self.under_way.pop()?;
            if !due.lost {
                return Some(Segment {
                    sequence: due.sequence,
                    octets: due.octets,
                    fin: due.fin,
                });
            }
            self.send(cycle, due.sequence, &due.octets, due.fin, due.losses);
        }
        None
    }

    /// The connection is lost, and what is under way with it.
    pub fn drop_all(&mut self) {
        self.joined.clear();
        self.leaves = None;
        self.under_way.clear();
    }

    /// Segments and octets under way, copies included.
    pub fn waiting(&self) -> (u64, u64) {
        let lengths = self.under_way.iter().map(|Reverse(due)| due.octets.len());
        lengths
            .chain([self.joined.len()])
            .fold((0, 0), |(segments, octets), length| {
                (segments + 1, octets + length as u64)
            })
    }

    /// Sends what waits for more octets.
    fn leave(&mut self, cycle: u64, fin: bool) {
        self.leaves = None;
        let octets = std::mem::take(&mut self.joined);
        let sequence = self.take(octets.len());
        self.send(cycle, sequence, &octets, fin, 0);
    }

    /// The sequence number of the next `count` octets.
    fn take(&mut self, count: usize) -> u32 {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(count as u32);
        sequence
    }

    fn send(&mut self, cycle: u64, sequence: u32, octets: &[u8], fin: bool, losses: u8) {
        let cut = self.draw(self.options.cut);
        let (mut sequence, mut rest) = (sequence, octets);
        loop {
            let length = match rest.len() {
                0 | 1 => rest.len(),
                longer if cut => self.rng.usize(1..=longer),
                longer => longer,
            };
            let (piece, behind) = rest.split_at(length);
            self.transmit(cycle, sequence, piece, fin && behind.is_empty(), losses);
            sequence = sequence.wrapping_add(length as u32);
            rest = behind;
            if rest.is_empty() {
                return;
            }
        }
    }

    fn transmit(&mut self, cycle: u64, sequence: u32, octets: &[u8], fin: bool, losses: u8) {
        let due = |cycle, lost, losses| Due {
            cycle,
            number: 0,
            sequence,
            octets: octets.to_vec(),
            fin,
            lost,
            losses,
        };
        if losses < MOST_LOSSES && self.draw(self.options.lose) {
            let again = cycle + self.time(self.options.retransmission.clone());
            self.push(due(again, true, losses + 1));
            return;
        }
        let mut when = cycle;
        if self.draw(self.options.reorder) {
            when += self.time(self.options.delay.clone());
        }
        self.push(due(when, false, losses));
        if self.draw(self.options.duplicate) {
            let when = cycle + self.time(self.options.delay.clone());
            self.push(due(when, false, losses));
        }
    }

    fn push(&mut self, due: Due) {
        let number = self.number;
        self.number += 1;
        self.under_way.push(Reverse(Due { number, ..due }));
    }

    fn draw(&mut self, percentage: u8) -> bool {
        percentage > 0 && self.rng.u8(..100) < percentage
    }

    fn time(&mut self, range: RangeInclusive<u64>) -> u64 {
        let (least, most) = (*range.start(), *range.end());
        self.rng.u64(least..=most.max(least)).min(LONGEST_DELAY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octets(count: usize) -> Vec<u8> {
        (0..count).map(|i| (i * 7 + i / 256) as u8).collect()
    }

    /// What leaves `path` up to a cycle.
    fn drain(path: &mut Path, until: u64, left: &mut Vec<(u64, Segment)>) {
        while let Some(due) = path.due().filter(|due| *due <= until) {
            left.extend(path.next(due).map(|segment| (due, segment)));
        }
    }

    /// Sends `octets` in pieces of `length`, one each 10 cycles, then FIN. Returns segments and their cycles.
    fn run(options: &PathOptions, octets: &[u8], length: usize) -> Vec<(u64, Segment)> {
        let mut path = Path::new(options.clone(), 3, START);
        let (mut left, mut cycle) = (Vec::new(), 0);
        for piece in octets.chunks(length) {
            path.arrive(cycle, piece);
            drain(&mut path, cycle + 9, &mut left);
            cycle += 10;
        }
        path.finish(cycle);
        drain(&mut path, u64::MAX, &mut left);
        left
    }

    const START: u32 = 0xFFFF_FF00;

    /// What a receiver makes of segments, and whether the FIN stood behind the last octet each time.
    fn received(segments: &[(u64, Segment)], length: usize) -> Vec<u8> {
        let mut memory = vec![None; length];
        let mut fins = 0;
        for (_, segment) in segments {
            let at = segment.sequence.wrapping_sub(START) as usize;
            for (i, octet) in segment.octets.iter().enumerate() {
                let known = memory[at + i].replace(*octet);
                assert!(known.is_none_or(|known| known == *octet));
            }
            if segment.fin {
                fins += 1;
                assert_eq!(at + segment.octets.len(), length);
            }
        }
        assert!(fins > 0, "no FIN");
        memory.into_iter().map(|octet| octet.unwrap()).collect()
    }

    #[test]
    fn without_options_segments_leave_as_they_came() {
        let whole = octets(5000);
        let left = run(&PathOptions::default(), &whole, 2000);
        let lengths = left.iter().map(|(cycle, segment)| {
            let at = segment.sequence.wrapping_sub(START);
            (*cycle, at, segment.octets.len(), segment.fin)
        });
        let expected = [
            (0, 0, 1460, false),
            (0, 1460, 540, false),
            (10, 2000, 1460, false),
            (10, 3460, 540, false),
            (20, 4000, 1000, false),
            (30, 5000, 0, true),
        ];
        assert_eq!(lengths.collect::<Vec<_>>(), expected);
        assert_eq!(received(&left, 5000), whole);
    }

    #[test]
    fn joined_segments_do_not_depend_on_the_cuts_of_the_socket() {
        let options = PathOptions {
            join: 500,
            largest: 100,
            ..PathOptions::rough(5)
        };
        let whole = octets(900);
        let mut one = Path::new(options.clone(), 3, START);
        let mut other = Path::new(options, 3, START);
        one.arrive(7, &whole);
        whole.chunks(13).for_each(|piece| other.arrive(7, piece));
        let all = |path: &mut Path| {
            let mut left = Vec::new();
            drain(path, u64::MAX, &mut left);
            left
        };
        let left = all(&mut one);
        assert!(left.len() > 9, "{}", left.len());
        assert_eq!(left, all(&mut other));
    }

    #[test]
    fn a_part_of_a_segment_leaves_after_a_while() {
        let options = PathOptions {
            join: 50,
            ..PathOptions::default()
        };
        let mut path = Path::new(options, 0, 9);
        path.arrive(100, &[1, 2]);
        path.arrive(120, &[3]);
        assert_eq!((path.due(), path.next(149)), (Some(150), None));
        let segment = path.next(150).unwrap();
        assert_eq!((segment.sequence, &segment.octets[..]), (9, &[1, 2, 3][..]));
        assert_eq!(path.due(), None);
    }

    #[test]
    fn whatever_the_path_does_every_octet_leaves_it() {
        let whole = octets(40_000);
        for seed in 0..20 {
            let options = PathOptions {
                cut: 50,
                reorder: 30,
                duplicate: 30,
                lose: 40,
                ..PathOptions::rough(seed)
            };
            let left = run(&options, &whole, 3000);
            assert!(received(&left, whole.len()) == whole, "seed {seed}");
            let late = left
                .windows(2)
                .filter(|pair| {
                    pair[1].1.sequence.wrapping_sub(START) < pair[0].1.sequence.wrapping_sub(START)
                })
                .count();
            let sum: usize = left.iter().map(|(_, segment)| segment.octets.len()).sum();
            assert!(late > 3 && sum > whole.len(), "seed {seed}: {late}, {sum}");
            assert_eq!(run(&options, &whole, 3000), left, "the same seed");
        }
        let everything = PathOptions {
            lose: 100,
            ..PathOptions::default()
        };
        assert!(received(&run(&everything, &whole, 3000), whole.len()) == whole);
    }
}
