//! TCP segments as captured, and the in-order stream that one end of a connection sends in them.
//!
//! ```text
//! capture order:   [0..100) [200..300) [100..200) [50..150)      retransmitted, out of order, overlapping
//! stream:          [0..100)[100..200)[200..300)                  each octet once, in order, up to the first gap
//! ```

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

/// Octets beyond those captured so far that a segment can hold: the largest TCP window (RFC 7323 §2.3).
pub(crate) const MOST_AHEAD: i64 = 1 << 30;

/// One end of a TCP connection. MPA's Initiator may be either (MPA-START-05).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The end that opened the connection; without a SYN in the capture, the end that sent first.
    Client,
    /// The other end.
    Server,
}

impl Side {
    /// The other side.
    pub fn peer(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// The TCP flags that delimit a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpFlags {
    /// The sender has no more octets after this segment.
    pub fin: bool,
    /// Opens the stream; takes one sequence number before the payload.
    pub syn: bool,
    /// Aborts the connection; any payload is a diagnostic and not part of the stream.
    pub rst: bool,
}

/// A TCP segment as captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpSegment {
    /// When it was captured, since the Unix epoch.
    pub time: Duration,
    /// Sequence number in the TCP header.
    pub seq: u32,
    /// Payload octets; may be empty.
    pub payload: Vec<u8>,
    /// SYN, FIN, RST.
    pub flags: TcpFlags,
}

impl TcpSegment {
    /// Sequence number of the first payload octet: a SYN occupies the number before it.
    pub fn payload_seq(&self) -> u32 {
        self.seq.wrapping_add(self.flags.syn.into())
    }
}

/// What one end of a connection sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Direction {
    /// The sender.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
    /// Every segment in capture order, repeated, overlapping and late ones included.
    pub segments: Vec<TcpSegment>,
}

/// The contiguous octets of a direction from its start, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stream {
    /// Sequence number of the first octet.
    pub seq: u32,
    /// Octets up to the end or to the first gap.
    pub octets: Vec<u8>,
    /// The first gap: octets that were not captured, although later ones or the FIN were.
    pub gap: Option<Gap>,
}

/// Octets that were not captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{missing} octets from sequence number {seq} (stream position {position}) on were not captured"
)]
pub struct Gap {
    /// Sequence number of the first missing octet.
    pub seq: u32,
    /// Its position, counted from the first octet of the stream or flow.
    pub position: u64,
    /// Number of octets up to the next captured one.
    pub missing: u64,
}

/// Payload octets and their position, counted from the first octet of their stream. Negative: an old segment.
pub(crate) struct Placed<'a> {
    pub position: i64,
    pub octets: &'a [u8],
    /// The stream ends after these octets.
    pub fin: bool,
    /// Farther from the segments around it than any window reaches: it belongs to another connection, or to another time.
    pub stray: bool,
}

impl Placed<'_> {
    /// Position after the last of the octets.
    pub fn end(&self) -> i64 {
        self.position + self.octets.len() as i64
    }
}

/// Places payloads, given as (sequence number, octets, FIN) in capture order, in the stream that begins at `start`.
///
/// Sequence numbers wrap at 2^32; each one is assumed to lie within 2 GiB of those captured before it. Stray segments do not
/// count among those.
fn place<'a>(
    start: u32,
    payloads: impl Iterator<Item = (u32, &'a [u8], bool)>,
) -> impl Iterator<Item = Placed<'a>> {
    let mut position = 0_i64;
    payloads.map(move |(seq, octets, fin)| {
        let expected = start.wrapping_add(position as u32);
        let ahead = i64::from(seq.wrapping_sub(expected) as i32);
        let at = position + ahead;
        let stray = ahead.abs() > MOST_AHEAD;
        if !stray {
            position = at;
        }
        Placed {
            position: at,
            octets,
            fin,
            stray,
        }
    })
}

/// Payload octets by position: of each octet the copy that came first (RFC 9293 §3.10.7.4: a receiver keeps what it has and
/// trims the rest).
#[derive(Debug, Default)]
pub(crate) struct Assembly<'a> {
    /// Pieces that do not overlap, by the position of their first octet.
    pieces: BTreeMap<i64, &'a [u8]>,
    /// Octets that came again with another value.
    pub differing: u64,
}

impl<'a> Assembly<'a> {
    /// Adds octets that came behind all those added before.
    pub fn add(&mut self, position: i64, octets: &'a [u8]) {
        let end = position + octets.len() as i64;
        let part =
            |from: i64, to: i64| &octets[(from - position) as usize..(to - position) as usize];
        let mut at = position;
        if let Some((&start, &piece)) = self.pieces.range(..position).next_back()
            && start + piece.len() as i64 > position
        {
            let to = end.min(start + piece.len() as i64);
            let known = &piece[(position - start) as usize..(to - start) as usize];
            self.differing += differing(known, part(position, to));
            at = to;
        }
        while at < end {
            let next = self.pieces.range(at..end).next();
            let next = next.map(|(&start, &piece)| (start, piece));
            let free_to = next.map_or(end, |(start, _)| start);
            if free_to > at {
                self.pieces.insert(at, part(at, free_to));
            }
            at = free_to;
            if let Some((start, piece)) = next {
                let to = end.min(start + piece.len() as i64);
                self.differing += differing(&piece[..(to - start) as usize], part(start, to));
                at = to;
            }
        }
    }

    /// Replaces octets by the copy that came first, where there is one.
    pub fn settle(&self, position: i64, octets: &mut [u8]) {
        let end = position + octets.len() as i64;
        let first = self.pieces.range(..=position).next_back();
        let first = first.map_or(position, |(start, _)| *start);
        for (&start, piece) in self.pieces.range(first..end) {
            let (from, to) = (start.max(position), end.min(start + piece.len() as i64));
            if from < to {
                octets[(from - position) as usize..(to - position) as usize]
                    .copy_from_slice(&piece[(from - start) as usize..(to - start) as usize]);
            }
        }
    }

    /// Runs of octets without a gap, in order, from position 0 on.
    fn runs(&self) -> Vec<(i64, Vec<u8>)> {
        let mut runs: Vec<(i64, Vec<u8>)> = Vec::new();
        for (&start, &piece) in &self.pieces {
            let Some(piece) = piece.get((-start).max(0) as usize..) else {
                continue; // before the stream
            };
            let start = start.max(0);
            match runs.last_mut() {
                Some((from, octets)) if *from + octets.len() as i64 == start => {
                    octets.extend_from_slice(piece);
                }
                _ if piece.is_empty() => {}
                _ => runs.push((start, piece.to_vec())),
            }
        }
        runs
    }
}

fn differing(a: &[u8], b: &[u8]) -> u64 {
    match a == b {
        true => 0,
        false => a.iter().zip(b).filter(|(a, b)| a != b).count() as u64,
    }
}

impl Stream {
    /// Joins payloads, given as (sequence number, octets, FIN) in capture order, to the stream that begins at `seq`.
    pub(crate) fn join<'a>(
        seq: u32,
        payloads: impl Iterator<Item = (u32, &'a [u8], bool)>,
    ) -> Self {
        let runs = Self::runs(seq, payloads);
        runs.into_iter().next().unwrap_or(Self {
            seq,
            ..Self::default()
        })
    }

    /// All runs of octets without a gap, the first one from `seq` on; it is empty if its octets are missing.
    pub(crate) fn runs<'a>(
        seq: u32,
        payloads: impl Iterator<Item = (u32, &'a [u8], bool)>,
    ) -> Vec<Self> {
        let mut assembly = Assembly::default();
        let mut fin = None;
        for placed in place(seq, payloads) {
            assembly.add(placed.position, placed.octets);
            if placed.fin && !placed.stray && placed.end() >= 0 {
                fin.get_or_insert(placed.end());
            }
        }
        let mut runs = assembly.runs();
        if let Some(end) = fin {
            // Nothing lies behind the FIN; what carries later sequence numbers is a probe or a stray segment.
            runs.retain(|(from, _)| *from < end);
            if let Some((from, octets)) = runs.last_mut() {
                octets.truncate((end - *from) as usize);
            }
        }
        if runs.first().is_none_or(|(from, _)| *from > 0) {
            runs.insert(0, (0, Vec::new()));
        }
        let starts: Vec<_> = runs.iter().map(|(from, _)| *from).skip(1).collect();
        let starts = starts.into_iter().map(Some).chain([fin]);
        let runs = runs.into_iter().zip(starts);
        let runs = runs.map(|((from, octets), next)| {
            let end = from + octets.len() as i64;
            let gap = next.filter(|next| *next > end).map(|next| Gap {
                seq: seq.wrapping_add(end as u32),
                position: end as u64,
                missing: (next - end) as u64,
            });
            Self {
                seq: seq.wrapping_add(from as u32),
                octets,
                gap,
            }
        });
        runs.collect()
    }
}

impl Direction {
    /// The sequence number of the stream's first octet.
    ///
    /// One past the SYN. If the capture began later: the lowest sequence number that carried payload, or 0 if nothing was
    /// sent.
    pub fn start_seq(&self) -> u32 {
        let sent = || self.segments.iter().filter(|s| !s.flags.rst);
        if let Some(syn) = sent().find(|s| s.flags.syn) {
            return syn.payload_seq();
        }
        let Some(first) = sent()
            .find(|s| !s.payload.is_empty())
            .or_else(|| sent().next())
        else {
            return 0;
        };
        let lowest = place(first.seq, self.payloads())
            .filter(|p| !p.octets.is_empty() && !p.stray)
            .map(|p| p.position)
            .min()
            .unwrap_or(0);
        first.seq.wrapping_add(lowest as u32)
    }

    /// The in-order stream; where segments overlap with different octets, those that were captured first count.
    pub fn stream(&self) -> Stream {
        Stream::join(self.start_seq(), self.payloads())
    }

    /// All runs of octets that were captured without a gap.
    pub(crate) fn runs(&self) -> Vec<Stream> {
        Stream::runs(self.start_seq(), self.payloads())
    }

    /// All payloads in capture order, placed in the stream.
    pub(crate) fn placed(&self) -> impl Iterator<Item = Placed<'_>> {
        place(self.start_seq(), self.payloads())
    }

    fn payloads(&self) -> impl Iterator<Item = (u32, &[u8], bool)> {
        self.segments
            .iter()
            .filter(|s| !s.flags.rst)
            .map(|s| (s.payload_seq(), s.payload.as_slice(), s.flags.fin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Octets 10 to 12 with a FIN, octets 13 and 14 behind it, and nothing before: the FIN cuts the run that it is in.
    #[test]
    fn nothing_lies_behind_the_fin_in_a_later_run() {
        let payloads: [(u32, &[u8], bool); 2] = [(110, b"abc", true), (113, b"de", false)];
        let runs = Stream::runs(100, payloads.into_iter());
        let gap = Gap {
            seq: 100,
            position: 0,
            missing: 10,
        };
        let first = Stream {
            seq: 100,
            octets: Vec::new(),
            gap: Some(gap),
        };
        let second = Stream {
            seq: 110,
            octets: b"abc".to_vec(),
            gap: None,
        };
        assert_eq!(runs, [first, second]);
    }
}
