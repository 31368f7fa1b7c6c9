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
use crate::tcp::{Direction, Gap, Placed, Side, Stream};

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
}

impl Flow {
    /// The contiguous octets from `seq_start`, each once; `position` of a gap counts from `seq_start`.
    pub fn stream(&self) -> Stream {
        let payloads = self
            .segments
            .iter()
            .map(|(seq, o)| (*seq, o.as_slice(), false));
        Stream::join(self.seq_start, payloads)
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
    let (client, server) = (client.stream(), server.stream());
    let keys = (first_key(&client), first_key(&server));
    let (initiator, from_initiator, from_responder) = match keys {
        (Some((Kind::Request, at)), reply) => (
            Side::Client,
            (client, at),
            reply.map(|reply| (server, reply)),
        ),
        (reply, Some((Kind::Request, at))) => (
            Side::Server,
            (server, at),
            reply.map(|reply| (client, reply)),
        ),
        _ => return Err(MpaError::NoRequest),
    };
    let Some((reply_stream, (Kind::Reply, reply_at))) = from_responder else {
        return Err(MpaError::NoReply);
    };
    let (request_stream, request_at) = from_initiator;
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

/// The first start key in a stream and its position.
fn first_key(stream: &Stream) -> Option<(Kind, usize)> {
    [Kind::Request, Kind::Reply]
        .into_iter()
        .filter_map(|kind| Some((kind, memmem::find(&stream.octets, kind.key())?)))
        .min_by_key(|&(_, at)| at)
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
    // The start frame lies in the first 2 GiB of the stream, so the difference is a position.
    let start = i64::from(seq_start.wrapping_sub(direction.start_seq()));
    let after_start = direction.placed().filter_map(|placed| {
        let before = usize::try_from((start - placed.position).max(0)).ok()?;
        let octets = placed.octets.get(before..)?;
        let seq = placed.seq.wrapping_add(before as u32);
        (!octets.is_empty()).then(|| (seq, octets.to_vec()))
    });
    let end = direction.placed().map(|placed| placed.end()).max();
    let is_end = |placed: Placed<'_>| placed.fin && Some(placed.end()) == end;
    Flow {
        fin: direction.placed().any(is_end),
        seq_start,
        markers: mpa.markers(side),
        crc: mpa.crc(),
        segments: after_start.collect(),
    }
}
