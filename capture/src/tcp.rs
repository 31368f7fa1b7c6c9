//! TCP segments as captured, and the in-order stream that one end of a connection sends in them.
//!
//! ```text
//! capture order:   [0..100) [200..300) [100..200) [50..150)      retransmitted, out of order, overlapping
//! stream:          [0..100)[100..200)[200..300)                  each octet once, in order, up to the first gap
//! ```

use std::net::SocketAddr;
use std::time::Duration;

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
    pub seq: u32,
    pub octets: &'a [u8],
    /// The stream ends after these octets.
    pub fin: bool,
}

impl Placed<'_> {
    /// Position after the last of the octets.
    pub fn end(&self) -> i64 {
        self.position + self.octets.len() as i64
    }
}

/// Places payloads, given as (sequence number, octets, FIN) in capture order, in the stream that begins at `start`.
///
/// Sequence numbers wrap at 2^32; each one is assumed to lie within 2 GiB of the one captured before it.
fn place<'a>(
    start: u32,
    payloads: impl Iterator<Item = (u32, &'a [u8], bool)>,
) -> impl Iterator<Item = Placed<'a>> {
    let mut position = 0_i64;
    payloads.map(move |(seq, octets, fin)| {
        let expected = start.wrapping_add(position as u32);
        position += i64::from(seq.wrapping_sub(expected) as i32);
        Placed {
            position,
            seq,
            octets,
            fin,
        }
    })
}

impl Stream {
    /// Joins payloads, given as (sequence number, octets, FIN) in any order, to the stream that begins at `seq`.
    pub(crate) fn join<'a>(
        seq: u32,
        payloads: impl Iterator<Item = (u32, &'a [u8], bool)>,
    ) -> Self {
        let mut placed: Vec<_> = place(seq, payloads)
            .filter(|p| p.fin || !p.octets.is_empty())
            .collect();
        placed.sort_by_key(|p| p.position);
        let mut octets = Vec::new();
        let mut gap = None;
        for piece in placed {
            let known = octets.len() as i64 - piece.position;
            if known < 0 {
                gap = Some(Gap {
                    seq: seq.wrapping_add(octets.len() as u32),
                    position: octets.len() as u64,
                    missing: known.unsigned_abs(),
                });
                break;
            }
            let new = piece.octets.get(known as usize..);
            octets.extend_from_slice(new.unwrap_or_default());
        }
        Self { seq, octets, gap }
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
            .filter(|p| !p.octets.is_empty())
            .map(|p| p.position)
            .min()
            .unwrap_or(0);
        first.seq.wrapping_add(lowest as u32)
    }

    /// The in-order stream; it does not depend on the order in which the segments were captured.
    ///
    /// Where segments overlap, the octets of the one that begins first win.
    pub fn stream(&self) -> Stream {
        Stream::join(self.start_seq(), self.payloads())
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
