//! MPA start-up in a captured connection, and the octets of full operation after it (RFC 5044 §7.1).
//!
//! ```text
//! Initiator ─► [streaming …][Request ‖ private data]│ FPDU FPDU …      │ = SeqStart of that direction
//! Responder ─► [streaming …][Reply   ‖ private data]│ FPDU FPDU …
//! ```

use memchr::memmem;
use warpline_wire::start::{Frame, Kind, Negotiation, Progress};

use crate::error::MpaError;
use crate::segmentation::{Piece, Segmentation, resegment};
use crate::tcp::{Assembly, Direction, Gap, MOST_AHEAD, Side, Stream};

/// The content of a Request or Reply frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartFrame {
    /// M: the sender's receiver requires markers.
    pub markers: bool,
    /// C: the sender requests CRCs.
    pub crc: bool,
    /// Revision: 1 for RFC 5044, 2 for RFC 6581.
    pub revision: u8,
    /// IRD/ORD block at the start of the private data (S = 1, revision 2).
    pub negotiation: Option<Negotiation>,
    /// The ULP's private data after that block.
    pub private_data: Vec<u8>,
}

/// The result of start-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mpa {
    /// The end that sent the Request.
    pub initiator: Side,
    /// The Request frame.
    pub request: StartFrame,
    /// The Reply frame.
    pub reply: StartFrame,
    /// Sequence number of the Initiator's first octet of full operation.
    pub initiator_seq_start: u32,
    /// Sequence number of the Responder's first octet of full operation.
    pub responder_seq_start: u32,
}

impl Mpa {
    /// The end that sent the Reply.
    pub fn responder(&self) -> Side {
        self.initiator.peer()
    }

    /// Whether CRCs are in use, in both directions: either end requested them (MPA-CRC-10).
    pub fn crc(&self) -> bool {
        self.request.crc || self.reply.crc
    }

    /// Whether what `side` sends carries markers: its peer, the receiver, decides (MPA-START-14).
    pub fn markers(&self, side: Side) -> bool {
        if side == self.initiator {
            self.reply.markers
        } else {
            self.request.markers
        }
    }

    /// SeqStart of what `side` sends: the first octet after its start frame, private data included.
    pub fn seq_start(&self, side: Side) -> u32 {
        if side == self.initiator {
            self.initiator_seq_start
        } else {
            self.responder_seq_start
        }
    }
}

/// One direction in full operation, as TCP segments for a receiver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flow {
    /// Sequence number of the first octet, the origin of all marker positions.
    pub seq_start: u32,
    /// Whether the stream carries markers.
    pub markers: bool,
    /// Whether CRCs are in use.
    pub crc: bool,
    /// Payload pieces in capture order, repeated and late ones included. None is empty, and none begins before
    /// `seq_start`.
    pub segments: Vec<Piece>,
    /// The sender's FIN was captured, right after the last of these octets.
    pub fin: bool,
    /// Octets that are missing between the last of these octets and the sender's FIN; then `fin` is false.
    pub missing_before_fin: u64,
    /// Octets that came again with another value; `segments` holds the one that came first.
    pub differing: u64,
    /// Segments that cannot belong to the stream: behind its FIN, or further ahead than any window.
    pub stray: u64,
}

impl Flow {
    /// The contiguous octets from `seq_start`, each once; `position` of a gap counts from `seq_start`.
    pub fn stream(&self) -> Stream {
        let payloads = self
            .segments
            .iter()
            .map(|(seq, o)| (*seq, o.as_slice(), false));
        let mut stream = Stream::join(self.seq_start, payloads);
        if stream.gap.is_none() && self.missing_before_fin > 0 {
            let position = stream.octets.len() as u64;
            stream.gap = Some(Gap {
                seq: self.seq_start.wrapping_add(position as u32),
                position,
                missing: self.missing_before_fin,
            });
        }
        stream
    }

    /// All octets of the flow in order.
    ///
    /// # Errors
    /// Some were not captured.
    pub fn octets(&self) -> Result<Vec<u8>, Gap> {
        let stream = self.stream();
        match stream.gap {
            None => Ok(stream.octets),
            Some(gap) => Err(gap),
        }
    }

    /// Octets of the segments from stream position `end` on; those that came twice count twice.
    pub(crate) fn behind(&self, end: u64) -> u64 {
        let behind = self.segments.iter().map(|(seq, octets)| {
            let start = u64::from(seq.wrapping_sub(self.seq_start));
            let octets = octets.len() as u64;
            octets - octets.min(end.saturating_sub(start))
        });
        behind.sum()
    }

    /// Leaves out all octets from stream position `end` on, and with them the FIN.
    pub(crate) fn truncate(&mut self, end: u64) {
        let seq_start = self.seq_start;
        self.segments.retain_mut(|(seq, octets)| {
            let start = u64::from(seq.wrapping_sub(seq_start));
            let kept = end.saturating_sub(start).min(octets.len() as u64);
            octets.truncate(kept as usize);
            !octets.is_empty()
        });
        self.fin = false;
        self.missing_before_fin = 0;
    }

    /// The same flow in other TCP segments; the same plan always gives the same pieces.
    ///
    /// # Errors
    /// The plan needs the octets in order and some were not captured.
    pub fn resegment(&self, plan: Segmentation) -> Result<Vec<Piece>, Gap> {
        match plan {
            Segmentation::AsCaptured => Ok(self.segments.clone()),
            _ => Ok(resegment(self.seq_start, &self.octets()?, plan)),
        }
    }
}

/// Finds Request and Reply in both directions of a connection; what precedes them is streaming data (MPA-START-04).
pub(crate) fn start_up(client: &Direction, server: &Direction) -> Result<Mpa, MpaError> {
    let keys = (first_key(client), first_key(server));
    let (initiator, request, reply) = match keys {
        (Some(request @ (Kind::Request, ..)), reply) => (Side::Client, request, reply),
        (reply, Some(request @ (Kind::Request, ..))) => (Side::Server, request, reply),
        _ => return Err(MpaError::NoRequest),
    };
    let Some((Kind::Reply, reply_stream, reply_at)) = reply else {
        return Err(MpaError::NoReply);
    };
    let (_, request_stream, request_at) = request;
    let (request, initiator_seq_start) = parse(Kind::Request, &request_stream, request_at)?;
    let (reply, responder_seq_start) = parse(Kind::Reply, &reply_stream, reply_at)?;
    Ok(Mpa {
        initiator,
        request,
        reply,
        initiator_seq_start,
        responder_seq_start,
    })
}

/// The first start key of a direction, the octets that were captured around it without a gap, and its place among them. What
/// is missing before it was streaming data.
pub(crate) fn first_key(direction: &Direction) -> Option<(Kind, Stream, usize)> {
    direction.runs().into_iter().find_map(|stream| {
        let keys = [Kind::Request, Kind::Reply].into_iter();
        let keys = keys.filter_map(|kind| Some((kind, memmem::find(&stream.octets, kind.key())?)));
        let (kind, at) = keys.min_by_key(|&(_, at)| at)?;
        Some((kind, stream, at))
    })
}

/// Parses the frame at `at`; also returns the sequence number after it, where full operation begins.
fn parse(kind: Kind, stream: &Stream, at: usize) -> Result<(StartFrame, u32), MpaError> {
    let seq = stream.seq.wrapping_add(at as u32);
    let octets = &stream.octets[at..];
    match Frame::parse(octets, kind) {
        Err(source) => Err(MpaError::Frame { kind, seq, source }),
        Ok(Progress::NeedMore { total }) => Err(MpaError::Incomplete {
            kind,
            seq,
            needed: total,
            found: octets.len(),
        }),
        Ok(Progress::Complete { frame, .. }) if frame.rejected => Err(MpaError::Rejected),
        Ok(Progress::Complete { frame, len }) => {
            let content = StartFrame {
                markers: frame.markers,
                crc: frame.crc,
                revision: frame.revision,
                negotiation: frame.negotiation,
                private_data: frame.private_data.to_vec(),
            };
            Ok((content, seq.wrapping_add(len as u32)))
        }
    }
}

/// What `side` sent, in its `direction`, after its start frame.
pub(crate) fn flow(direction: &Direction, mpa: &Mpa, side: Side) -> Flow {
    let seq_start = mpa.seq_start(side);
    // The start frame lies in the first 4 GiB of the stream, so the difference is a position.
    let start = i64::from(seq_start.wrapping_sub(direction.start_seq()));
    let fin = direction
        .placed()
        .find(|p| p.fin && !p.stray && p.end() >= start);
    let end = fin.map_or(i64::MAX, |p| p.end());
    let (mut assembly, mut pieces) = (Assembly::default(), Vec::new());
    let (mut reach, mut stray) = (start, 0);
    for placed in direction.placed() {
        let (from, to) = (placed.position.max(start), placed.end());
        if from >= to {
            continue; // empty, or before full operation
        }
        if from >= end || from - reach > MOST_AHEAD {
            stray += 1;
            continue;
        }
        let to = to.min(end);
        let octets =
            &placed.octets[(from - placed.position) as usize..(to - placed.position) as usize];
        assembly.add(from, octets);
        pieces.push((from, octets));
        reach = reach.max(to);
    }
    let segments = pieces.into_iter().map(|(from, octets)| {
        let mut octets = octets.to_vec();
        if assembly.differing > 0 {
            assembly.settle(from, &mut octets);
        }
        (seq_start.wrapping_add((from - start) as u32), octets)
    });
    let missing = match end {
        i64::MAX => 0,
        end => (end - reach) as u64,
    };
    Flow {
        seq_start,
        markers: mpa.markers(side),
        crc: mpa.crc(),
        segments: segments.collect(),
        fin: end != i64::MAX && missing == 0,
        missing_before_fin: missing,
        differing: assembly.differing,
        stray,
    }
}
