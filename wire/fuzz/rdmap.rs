//! The body of the fuzz target and of the stable smoke test of RDMAP: arbitrary calls and messages at one
//! stream beside a model of what RFC 5040 allows.
//!
//! ```text
//!   calls ──► stream ──► what it sends ──► fits its header, parses to the same
//!     └─────► model: reads in order, limits, Terminates ──► what the stream must do
//! ```
//!
//! Arbitrary octets alone would rarely be a message, so a message from the peer is mostly a valid one with
//! few octets changed.

use arbitrary::{Arbitrary, Result, Unstructured};
use std::collections::VecDeque;
use warpline_wire::rdmap::{
    Address, Cause, Delivered, Event, InboundRead, OutboundRead, Outgoing, RdmaError, ReadRequest,
    Refused, Stream, Terminate, Version, Violation,
};

/// Most unanswered reads in either direction.
const MOST_READS: usize = 4;
/// RDMAP opcodes (RFC 5040 §4.3), as octets on the wire have them in their low bits.
const READ_REQUEST: u8 = 1;
const READ_RESPONSE: u8 = 2;
const TERMINATE: u8 = 7;
/// The version bits of RFC 5040 in the control octet.
const VERSION: u8 = 0x40;

/// One input.
#[derive(Debug)]
pub struct Input {
    ird: usize,
    ord: usize,
    calls: Vec<Call>,
}

/// What happens next.
#[derive(Clone, Debug)]
enum Call {
    Write,
    Send {
        solicited: bool,
        invalidate: bool,
    },
    Read {
        stag: u32,
        to: u64,
        size: u32,
    },
    Respond,
    RefuseRead {
        done: u32,
    },
    Terminate,
    Flush,
    Deliver(Message),
    /// The Response of the oldest read, or one that is wrong in its STag or its end.
    DeliverResponse {
        stag: u32,
        end: u64,
    },
}

/// A message of the peer.
#[derive(Clone, Debug)]
struct Message {
    tagged: bool,
    control: u8,
    stag: u32,
    to: u64,
    len: u32,
    qn: u32,
    msn: u32,
    payload: Vec<u8>,
}

impl Message {
    /// A Terminate in its queue, whatever it holds (RFC 5040 §4.8).
    fn is_terminate(&self) -> bool {
        let version = self.control >> 6;
        version <= 1 && self.control & 15 == TERMINATE && !self.tagged && self.qn == 2
    }

    fn delivered(&self) -> Delivered<'_> {
        if self.tagged {
            return Delivered::Tagged {
                rsvd_ulp: self.control,
                stag: self.stag,
                to: self.to,
                len: self.len,
            };
        }
        let [a, b, c, d] = self.stag.to_be_bytes();
        Delivered::Untagged {
            rsvd_ulp: [self.control, a, b, c, d],
            qn: self.qn,
            msn: self.msn,
            payload: &self.payload,
        }
    }
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(source: &mut Unstructured<'a>) -> Result<Self> {
        let (ird, ord) = (
            source.int_in_range(0..=MOST_READS)?,
            source.int_in_range(0..=MOST_READS)?,
        );
        let count = source.int_in_range(1..=24)?;
        let calls = (0..count).map(|_| call(source)).collect::<Result<_>>()?;
        Ok(Self { ird, ord, calls })
    }
}

fn call(source: &mut Unstructured<'_>) -> Result<Call> {
    Ok(match source.int_in_range(0..=19)? {
        0 => Call::Write,
        1 => Call::Send {
            solicited: source.arbitrary()?,
            invalidate: source.arbitrary()?,
        },
        2..=5 => Call::Read {
            stag: source.arbitrary()?,
            to: source.arbitrary()?,
            size: source.arbitrary()?,
        },
        6 | 7 => Call::Respond,
        8 => Call::RefuseRead {
            done: source.int_in_range(0..=40)?,
        },
        9 if source.ratio(1, 4)? => Call::Terminate,
        9 | 10 => Call::Flush,
        11..=13 => Call::DeliverResponse {
            stag: u32::from(source.ratio(1, 8)?),
            end: u64::from(source.ratio(1, 8)?),
        },
        _ => Call::Deliver(message(source)?),
    })
}

/// Mostly a message in its right queue with its header; mistakes in few of them.
fn message(source: &mut Unstructured<'_>) -> Result<Message> {
    let opcode = match source.int_in_range(0..=15)? {
        0..=4 => READ_REQUEST,
        5 if source.ratio(1, 4)? => TERMINATE,
        6 => source.int_in_range(0..=15)?,
        _ => source.int_in_range(0..=6)?,
    };
    let (tagged, qn, length) = match opcode {
        0 | READ_RESPONSE => (true, 0, 0),
        READ_REQUEST => (false, 1, 28),
        TERMINATE => (false, 2, source.int_in_range(4..=52)?),
        _ => (false, 0, source.int_in_range(0..=9)?),
    };
    let mut message = Message {
        tagged,
        control: VERSION | opcode,
        stag: source.arbitrary()?,
        to: source.arbitrary()?,
        len: source.arbitrary()?,
        qn,
        msn: source.arbitrary()?,
        payload: source.bytes(length)?.to_vec(),
    };
    match source.int_in_range(0..=23)? {
        0 => message.tagged = !tagged,
        1 => message.qn = source.arbitrary()?,
        2 => message.control = source.arbitrary()?,
        3 => message.payload.truncate(source.int_in_range(0..=52)?),
        4 => message.payload.push(0),
        _ => {}
    }
    Ok(message)
}

/// What RFC 5040 allows, kept apart from the stream.
struct Model {
    ird: usize,
    ord: usize,
    outbound: VecDeque<(u64, ReadRequest)>,
    inbound: VecDeque<u32>,
    sent: bool,
    received: bool,
}

impl Model {
    fn open(&self) -> bool {
        !self.sent && !self.received
    }

    /// A Terminate is due, unless there was one.
    fn terminates(&mut self, outgoing: Option<Outgoing>) {
        assert_eq!(outgoing.is_some(), self.open(), "one Terminate, the first");
        if let Some(outgoing) = outgoing {
            self.sent = true;
            let (opcode, _) = sent(&outgoing);
            assert_eq!(opcode, TERMINATE);
        }
    }
}

/// What leaves is addressed as §4 has it and parses to the same: opcode and its meaning.
fn sent(outgoing: &Outgoing) -> (u8, Option<ReadRequest>) {
    let header = outgoing.header();
    match outgoing.address {
        Address::Tagged { rsvd_ulp, .. } => {
            assert!(header.is_empty());
            assert!(matches!(rsvd_ulp & 15, 0 | READ_RESPONSE), "{rsvd_ulp:#x}");
            (rsvd_ulp & 15, None)
        }
        Address::Untagged { qn, rsvd_ulp } => {
            let opcode = rsvd_ulp[0] & 15;
            let read = match opcode {
                READ_REQUEST => {
                    assert_eq!((qn, header.len()), (1, 28));
                    let request = ReadRequest::parse(header).expect("a Read Request of ours");
                    assert_eq!(request.emit(), header);
                    Some(request)
                }
                TERMINATE => {
                    assert_eq!(qn, 2);
                    let terminate = Terminate::parse(header).expect("a Terminate of ours");
                    let mut out = [0; 52];
                    let len = terminate.emit(&mut out);
                    assert_eq!(out[..len], *header);
                    None
                }
                3..=6 => {
                    assert_eq!((qn, header.len()), (0, 0));
                    assert!(matches!(opcode, 4 | 6) || rsvd_ulp[1..] == [0; 4]);
                    None
                }
                other => panic!("opcode {other} is sent"),
            };
            (opcode, read)
        }
    }
}

/// Runs one input, panics if a guarantee is broken, and returns what happened as text.
pub fn run(input: &Input) -> Vec<String> {
    let inbound = vec![InboundRead::default(); input.ird];
    let outbound = vec![OutboundRead::default(); input.ord];
    let mut stream = Stream::new(Version::Ietf, inbound, outbound);
    let mut model = Model {
        ird: input.ird,
        ord: input.ord,
        outbound: VecDeque::new(),
        inbound: VecDeque::new(),
        sent: false,
        received: false,
    };
    let mut seen = Vec::new();
    for (id, call) in input.calls.iter().enumerate() {
        seen.push(step(&mut stream, &mut model, id as u64, call));
        assert_eq!(stream.is_open(), model.open());
        assert_eq!(stream.reads_outstanding(), model.outbound.len());
        assert_eq!(stream.reads_unanswered(), model.inbound.len());
        let next = stream.next_request().map(|read| read.msn);
        assert_eq!(next, model.inbound.front().copied());
    }
    seen
}

type Reads = Stream<Vec<InboundRead>, Vec<OutboundRead>>;

fn step(stream: &mut Reads, model: &mut Model, id: u64, call: &Call) -> String {
    match call {
        Call::Write => plain(stream.write(1, 2), model, 0),
        Call::Send {
            solicited,
            invalidate,
        } => {
            let result = stream.send(*solicited, invalidate.then_some(9));
            plain(
                result,
                model,
                3 + u8::from(*invalidate) + 2 * u8::from(*solicited),
            )
        }
        Call::Read { stag, to, size } => {
            let request = ReadRequest {
                sink_stag: *stag,
                sink_to: *to,
                size: *size,
                ..ReadRequest::default()
            };
            let result = stream.read(request, id);
            if model.open() && model.outbound.len() < model.ord {
                let (opcode, read) = sent(&result.expect("a read within its limits"));
                assert_eq!((opcode, read), (READ_REQUEST, Some(request)));
                model.outbound.push_back((id, request));
                "read".into()
            } else {
                let full = matches!(result, Err(Refused::Ord { ord }) if ord == model.ord);
                assert!(full == model.open() && result.is_err());
                refused(&result.unwrap_err())
            }
        }
        Call::Respond => match stream.respond() {
            Ok((read, outgoing)) => {
                assert!(model.open());
                assert_eq!(Some(read.msn), model.inbound.pop_front());
                assert_eq!(sent(&outgoing).0, READ_RESPONSE);
                let to = match outgoing.address {
                    Address::Tagged { stag, to, .. } => (stag, to),
                    other => panic!("{other:?}"),
                };
                assert_eq!(to, (read.request.sink_stag, read.request.sink_to));
                "response".into()
            }
            Err(error) => {
                assert!(!model.open() || model.inbound.is_empty());
                refused(&error)
            }
        },
        Call::RefuseRead { done } => {
            let Some(read) = stream.next_request().copied() else {
                return "no read to refuse".into();
            };
            model.terminates(stream.refuse_read(&read, *done, RdmaError::ProtectionBounds));
            "read refused".into()
        }
        Call::Terminate => {
            let cause = Cause::Rdma(RdmaError::OperationUnspecified);
            model.terminates(stream.terminate(&Terminate::new(cause)));
            "terminate".into()
        }
        Call::Flush => match stream.flush() {
            Some(read) => {
                assert!(!model.open());
                assert_eq!(Some((read.id, read.request)), model.outbound.pop_front());
                "flushed".into()
            }
            None => {
                assert!(model.open() || model.outbound.is_empty());
                "nothing to flush".into()
            }
        },
        Call::Deliver(message) => deliver(stream, model, message),
        Call::DeliverResponse { stag, end } => {
            let oldest = model.outbound.front().map(|(_, request)| *request);
            let request = oldest.unwrap_or_default();
            let len = request.size.min(1000);
            let at_end = request.sink_to.wrapping_add(u64::from(request.size - len));
            let message = Message {
                tagged: true,
                control: VERSION | READ_RESPONSE,
                stag: request.sink_stag.wrapping_add(*stag),
                to: at_end.wrapping_add(*end),
                len,
                qn: 0,
                msn: 0,
                payload: Vec::new(),
            };
            let right = oldest.is_some() && *stag == 0 && *end == 0 && model.open();
            let reads = model.outbound.len();
            let outcome = deliver(stream, model, &message);
            assert_eq!(reads > model.outbound.len(), right, "{outcome}");
            outcome
        }
    }
}

/// An operation that only an ended stream refuses.
fn plain(result: std::result::Result<Outgoing, Refused>, model: &Model, expected: u8) -> String {
    assert_eq!(result.is_ok(), model.open());
    match result {
        Ok(outgoing) => {
            assert_eq!(sent(&outgoing), (expected, None));
            "sent".into()
        }
        Err(error) => refused(&error),
    }
}

fn deliver(stream: &mut Reads, model: &mut Model, message: &Message) -> String {
    let delivered = message.delivered();
    let before = (model.sent, model.received);
    match stream.deliver(&delivered) {
        Ok(event) => {
            assert!(!before.1, "behind the peer's Terminate: {event:?}");
            let (opcode, version) = (message.control & 15, message.control >> 6);
            assert!(version <= 1 && opcode <= TERMINATE);
            assert_eq!(message.tagged, matches!(opcode, 0 | READ_RESPONSE));
            if !message.tagged {
                let queue = match opcode {
                    READ_REQUEST => 1,
                    TERMINATE => 2,
                    _ => 0,
                };
                assert_eq!(message.qn, queue);
            }
            assert_eq!(
                matches!(event, Event::Discarded(_)),
                before.0 && opcode != TERMINATE
            );
            match event {
                Event::ReadRequest(read) => {
                    assert!(model.inbound.len() < model.ird);
                    assert_eq!(read.request.emit(), message.payload[..28]);
                    assert_eq!(read.msn, message.msn);
                    model.inbound.push_back(read.msn);
                }
                Event::ReadDone { id, request } => {
                    assert_eq!(Some((id, request)), model.outbound.pop_front());
                }
                Event::Terminated(terminate) => {
                    model.received = true;
                    let mut out = [0; 52];
                    let len = terminate.emit(&mut out);
                    assert_eq!(Terminate::parse(&out[..len]), Ok(terminate));
                }
                Event::Send { len, .. } => assert_eq!(len, message.payload.len()),
                Event::Write { .. } | Event::Discarded(_) => {}
            }
            name(&event)
        }
        Err(rejected) => {
            // A Terminate that cannot be read ends the stream all the same.
            model.received |= message.is_terminate();
            if let Some(terminate) = rejected.terminate {
                model.terminates(Some(terminate));
            }
            match rejected.violation {
                Violation::Format(error) => name(&error),
                violation => name(&violation),
            }
        }
    }
}

fn refused(error: &Refused) -> String {
    format!("refused: {}", name(error))
}

/// The name of a variant.
fn name(value: &impl core::fmt::Debug) -> String {
    let text = format!("{value:?}");
    text.split([' ', '(', '{'])
        .next()
        .unwrap_or_default()
        .into()
}
