//! One RDMAP stream: what may be sent and received, given what was sent and received before.
//!
//! ```text
//!                    ┌────────── open ──────────┐
//!   first error:     │                          │   the peer's Terminate:
//!   Terminate sent   ▼                          ▼   delivered once
//!          incoming messages are          nothing is sent, and a
//!          discarded, except Terminate    further message is an error
//! ```
//!
//! Both can happen on one stream, because Terminates may cross.

use super::{
    Address, Cause, Delivered, Error as FormatError, MAX_HEADER_LEN, Message, Opcode, RdmaError,
    ReadRequest, Terminate, Version,
};
use crate::error_number::{ErrorNumber, ErrorRecord};
use thiserror::Error;

/// A Read Request of the peer that has no Response yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InboundRead {
    /// What to read, and where the Response goes.
    pub request: ReadRequest,
    /// Its MSN on queue 1.
    pub msn: u32,
    /// Its RsvdULP octets.
    pub rsvd_ulp: [u8; 5],
}

/// A Read Request of ours that has no Response yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutboundRead {
    /// The request.
    pub request: ReadRequest,
    /// The caller's name for it.
    pub id: u64,
}

/// A first-in first-out queue in storage that the caller provides; its capacity is the storage's length.
#[derive(Clone, Debug)]
struct Fifo<S> {
    slots: S,
    first: usize,
    len: usize,
}

impl<S> Fifo<S> {
    const fn new(slots: S) -> Self {
        Self {
            slots,
            first: 0,
            len: 0,
        }
    }

    fn capacity<T>(&self) -> usize
    where
        S: AsRef<[T]>,
    {
        self.slots.as_ref().len()
    }

    /// Appends; `false` if there is no room.
    fn push<T>(&mut self, value: T) -> bool
    where
        S: AsMut<[T]>,
    {
        let slots = self.slots.as_mut();
        if self.len == slots.len() {
            return false;
        }
        slots[(self.first + self.len) % slots.len()] = value;
        self.len += 1;
        true
    }

    fn front<T>(&self) -> Option<&T>
    where
        S: AsRef<[T]>,
    {
        if self.len == 0 {
            return None;
        }
        self.slots.as_ref().get(self.first)
    }

    fn pop<T: Copy>(&mut self) -> Option<T>
    where
        S: AsRef<[T]>,
    {
        let front = *self.front()?;
        self.first = (self.first + 1) % self.capacity();
        self.len -= 1;
        Some(front)
    }
}

/// A message to hand to DDP: its address, and the RDMAP header in front of the ULP's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Where it goes.
    pub address: Address,
    header: [u8; MAX_HEADER_LEN],
    header_len: u8,
}

impl Outgoing {
    fn new(version: Version, message: &Message) -> Self {
        let mut header = [0; MAX_HEADER_LEN];
        let header_len = message.emit_header(&mut header) as u8;
        Self {
            address: message.address(version),
            header,
            header_len,
        }
    }

    /// The RDMAP header: 28 octets of a Read Request, 4 to 52 of a Terminate, otherwise none. The two
    /// with a header carry nothing else.
    pub fn header(&self) -> &[u8] {
        &self.header[..usize::from(self.header_len)]
    }
}

/// What a delivered message means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An RDMA Write was placed. It is no event for the ULP (RFC 5040 §5.1).
    Write {
        /// STag of the last segment.
        stag: u32,
        /// Tagged Offset of the last segment.
        to: u64,
        /// Payload octets of the last segment.
        len: u32,
    },
    /// A Send is in the buffer of its MSN. With `invalidate`, the STag must be checked and invalidated
    /// before the ULP gets the message; if it does not belong to the stream,
    /// [`Stream::refuse_invalidate`] ends the stream (RFC 5040 §5.3).
    Send {
        /// MSN on queue 0.
        msn: u32,
        /// Octets of the message.
        len: usize,
        /// With Solicited Event.
        solicited: bool,
        /// With Invalidate, and which STag.
        invalidate: Option<u32>,
    },
    /// A Read Request was queued. Responses go out in this order: see [`Stream::respond`].
    ReadRequest(InboundRead),
    /// A Read Response was placed: the oldest outstanding read is done.
    ReadDone {
        /// The caller's name for it.
        id: u64,
        /// The request.
        request: ReadRequest,
    },
    /// The peer ended the stream. Reads that are still outstanding complete in error: see
    /// [`Stream::flush`].
    Terminated(Terminate),
    /// A message that arrived after this end sent its Terminate. It is not for the ULP.
    Discarded(Opcode),
}

/// A message that the peer must not send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Violation {
    /// The message is not one of RDMAP.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// More Read Requests are unanswered than were agreed on.
    #[error("Read Request with MSN {msn} exceeds the {ird} that may be unanswered")]
    Ird {
        /// Its MSN.
        msn: u32,
        /// The limit.
        ird: usize,
    },
    /// A Read Response arrived, and no read is outstanding.
    #[error("Read Response for STag {stag:#010x} at TO {to:#x}, and no read is outstanding")]
    NoRead {
        /// STag of the last segment.
        stag: u32,
        /// Tagged Offset of the last segment.
        to: u64,
    },
    /// A Read Response has another STag than the oldest outstanding read.
    #[error("Read Response for STag {received:#010x}, the oldest read has {expected:#010x}")]
    ResponseStag {
        /// SinkSTag of the read.
        expected: u32,
        /// STag of the last segment.
        received: u32,
    },
    /// A Read Response ends at another Tagged Offset than the oldest outstanding read.
    #[error("Read Response ends at TO {received:#x}, the oldest read at {expected:#x}")]
    ResponseEnd {
        /// SinkTO plus size, modulo 2^64.
        expected: u64,
        /// End of the last segment, modulo 2^64.
        received: u64,
    },
    /// A message follows the peer's Terminate (RFC 5040 §5.4).
    #[error("RDMAP opcode {opcode:#x} follows the peer's Terminate")]
    AfterTerminate {
        /// Opcode bits as received.
        opcode: u8,
    },
}

impl Violation {
    /// What the Terminate reports; `None` if none is due.
    ///
    /// Figure 9 of RFC 5040 has no number for the limits of reads, so these are DDP's. The limit of
    /// unanswered requests is the number of buffers on queue 1 (§5.2.2), and DDP reports a message
    /// without a buffer. A Response that does not match its request is a tagged message to the wrong
    /// place.
    pub const fn cause(&self) -> Option<Cause> {
        match self {
            Self::Format(error) => error.cause(),
            Self::Ird { .. } => Some(Cause::Lower(ErrorNumber::UntaggedNoBuffer)),
            Self::NoRead { .. } => Some(Cause::Rdma(RdmaError::OperationOpcode)),
            Self::ResponseStag { .. } => Some(Cause::Lower(ErrorNumber::TaggedInvalidStag)),
            Self::ResponseEnd { .. } => Some(Cause::Lower(ErrorNumber::TaggedBounds)),
            Self::AfterTerminate { .. } => None,
        }
    }
}

/// A refused message, and the Terminate to send because of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{violation}")]
pub struct Rejected {
    /// What is wrong.
    #[source]
    pub violation: Violation,
    /// The Terminate; `None` if one was sent or received before, or if the message was itself one.
    pub terminate: Option<Outgoing>,
}

/// The stream does not allow the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// A Terminate was sent or received: nothing is sent any more (RFC 5040 §5.4).
    #[error("the stream is terminated (Terminate sent: {sent}, received: {received})")]
    Terminated {
        /// This end sent one.
        sent: bool,
        /// The peer sent one.
        received: bool,
    },
    /// As many reads as were agreed on are outstanding (RFC 5040 §6.1).
    #[error("{ord} reads are outstanding: post the next one after a Read Response")]
    Ord {
        /// The limit.
        ord: usize,
    },
    /// There is no Read Request to respond to.
    #[error("no Read Request is unanswered")]
    NoRequest,
}

/// State of one RDMAP stream.
///
/// `I` and `O` are the storage for unanswered reads of the peer and of this end: arrays, slices or
/// vectors. Their lengths are IRD and ORD, the limits that MPA's start frames agree on
/// ([`start::Negotiation`](crate::start::Negotiation)).
#[derive(Clone, Debug)]
pub struct Stream<I, O> {
    version: Version,
    inbound: Fifo<I>,
    outbound: Fifo<O>,
    sent_terminate: bool,
    received_terminate: bool,
}

impl<I, O> Stream<I, O>
where
    I: AsRef<[InboundRead]> + AsMut<[InboundRead]>,
    O: AsRef<[OutboundRead]> + AsMut<[OutboundRead]>,
{
    /// An open stream that sends `version`, with room for `inbound.len()` unanswered reads of the peer
    /// and `outbound.len()` of this end.
    pub const fn new(version: Version, inbound: I, outbound: O) -> Self {
        Self {
            version,
            inbound: Fifo::new(inbound),
            outbound: Fifo::new(outbound),
            sent_terminate: false,
            received_terminate: false,
        }
    }

    /// Whether messages may still be sent.
    pub const fn is_open(&self) -> bool {
        !self.sent_terminate && !self.received_terminate
    }

    /// Reads of this end without a Response. A fence holds the next message until it is 0 (RFC 5040
    /// §5.5, rule 12).
    pub const fn reads_outstanding(&self) -> usize {
        self.outbound.len
    }

    /// Reads of the peer without a Response.
    pub const fn reads_unanswered(&self) -> usize {
        self.inbound.len
    }

    /// An RDMA Write to the peer's buffer.
    pub fn write(&self, stag: u32, to: u64) -> Result<Outgoing, Refused> {
        self.outgoing(&Message::Write { stag, to })
    }

    /// A Send.
    pub fn send(&self, solicited: bool, invalidate: Option<u32>) -> Result<Outgoing, Refused> {
        self.outgoing(&Message::Send {
            solicited,
            invalidate,
        })
    }

    /// An RDMA Read Request; `id` comes back with [`Event::ReadDone`] or [`Self::flush`].
    pub fn read(&mut self, request: ReadRequest, id: u64) -> Result<Outgoing, Refused> {
        let outgoing = self.outgoing(&Message::ReadRequest(request))?;
        if !self.outbound.push(OutboundRead { request, id }) {
            let ord = self.outbound.capacity();
            return Err(Refused::Ord { ord });
        }
        Ok(outgoing)
    }

    /// The oldest unanswered Read Request.
    pub fn next_request(&self) -> Option<&InboundRead> {
        self.inbound.front()
    }

    /// Takes the oldest unanswered Read Request and gives the Response's address. Responses go to DDP
    /// in the order of the requests (RFC 5040 §5.2.2). Before this call the source is checked:
    /// [`ReadRequest::check`].
    pub fn respond(&mut self) -> Result<(InboundRead, Outgoing), Refused> {
        self.check_open()?;
        let read: InboundRead = self.inbound.pop().ok_or(Refused::NoRequest)?;
        let response = Message::ReadResponse {
            stag: read.request.sink_stag,
            to: read.request.sink_to,
        };
        Ok((read, Outgoing::new(self.version, &response)))
    }

    /// Ends the stream because a Read Request cannot be answered; `done` octets of the Response were
    /// sent. The result is `None` if a Terminate was sent or received before.
    pub fn refuse_read(
        &mut self,
        read: &InboundRead,
        done: u32,
        error: RdmaError,
    ) -> Option<Outgoing> {
        let message = Delivered::Untagged {
            rsvd_ulp: read.rsvd_ulp,
            qn: super::queue::READ_REQUEST,
            msn: read.msn,
            payload: &read.request.advanced(done).emit(),
        };
        self.terminate(&Terminate::of_message(Cause::Rdma(error), &message))
    }

    /// Ends the stream because the STag of a delivered Send with Invalidate does not belong to it, or
    /// to nothing (RFC 5040 §5.3). The result is `None` if a Terminate was sent or received before.
    pub fn refuse_invalidate(&mut self, message: &Delivered<'_>) -> Option<Outgoing> {
        let cause = Cause::Rdma(RdmaError::ProtectionCannotInvalidate);
        self.terminate(&Terminate::of_message(cause, message))
    }

    /// Ends the stream because DDP or MPA reported an error. The result is `None` if a Terminate was
    /// sent or received before: the first error is the one that is reported (RFC 5040 §7.1).
    pub fn fail(&mut self, record: &ErrorRecord) -> Option<Outgoing> {
        self.terminate(&Terminate::of_record(record))
    }

    /// Ends the stream with a Terminate of the caller's, such as one for a local error. The result is
    /// `None` if a Terminate was sent or received before.
    pub fn terminate(&mut self, terminate: &Terminate) -> Option<Outgoing> {
        let outgoing = self.outgoing(&Message::Terminate(*terminate)).ok()?;
        self.sent_terminate = true;
        Some(outgoing)
    }

    /// Takes the next outstanding read of a stream that has ended, to complete it in error; `None` while
    /// the stream is open.
    pub fn flush(&mut self) -> Option<OutboundRead> {
        if self.is_open() {
            return None;
        }
        self.outbound.pop()
    }

    /// Takes a message that DDP has delivered. Messages must come in the order of delivery.
    pub fn deliver(&mut self, message: &Delivered<'_>) -> Result<Event, Rejected> {
        self.accept(message).map_err(|violation| Rejected {
            violation,
            terminate: violation
                .cause()
                .and_then(|cause| self.terminate(&Terminate::of_message(cause, message))),
        })
    }

    fn accept(&mut self, message: &Delivered<'_>) -> Result<Event, Violation> {
        if self.received_terminate {
            return Err(Violation::AfterTerminate {
                opcode: message.control().opcode(),
            });
        }
        let parsed = Message::parse(message);
        if let Err(FormatError::TerminateLength { .. }) = parsed {
            // Malformed, but the peer has ended the stream.
            self.received_terminate = true;
        }
        let parsed = parsed?;
        if self.sent_terminate && !matches!(parsed, Message::Terminate(_)) {
            return Ok(Event::Discarded(parsed.opcode()));
        }
        match (parsed, message) {
            (Message::Write { stag, to }, &Delivered::Tagged { len, .. }) => {
                Ok(Event::Write { stag, to, len })
            }
            (Message::ReadResponse { stag, to }, &Delivered::Tagged { len, .. }) => {
                self.read_response(stag, to, len)
            }
            (
                Message::Send {
                    solicited,
                    invalidate,
                },
                &Delivered::Untagged { msn, payload, .. },
            ) => Ok(Event::Send {
                msn,
                len: payload.len(),
                solicited,
                invalidate,
            }),
            (Message::ReadRequest(request), &Delivered::Untagged { rsvd_ulp, msn, .. }) => {
                let read = InboundRead {
                    request,
                    msn,
                    rsvd_ulp,
                };
                if !self.inbound.push(read) {
                    let ird = self.inbound.capacity();
                    return Err(Violation::Ird { msn, ird });
                }
                Ok(Event::ReadRequest(read))
            }
            (Message::Terminate(terminate), _) => {
                self.received_terminate = true;
                Ok(Event::Terminated(terminate))
            }
            // `Message::parse` has compared the format with the opcode.
            (parsed, message) => Err(Violation::Format(FormatError::Format {
                opcode: parsed.opcode(),
                tagged: matches!(message, Delivered::Tagged { .. }),
            })),
        }
    }

    /// The last segment must end where the read ends (RFC 5040 §5.2.2 allows the check). DDP has checked
    /// that the segment lies in the buffer; this finds a Response that is too short, too long or of
    /// another read.
    fn read_response(&mut self, stag: u32, to: u64, len: u32) -> Result<Event, Violation> {
        let Some(&OutboundRead { request, id }) = self.outbound.front() else {
            return Err(Violation::NoRead { stag, to });
        };
        if stag != request.sink_stag {
            return Err(Violation::ResponseStag {
                expected: request.sink_stag,
                received: stag,
            });
        }
        let expected = request.sink_to.wrapping_add(request.size.into());
        let received = to.wrapping_add(len.into());
        if received != expected || len > request.size {
            return Err(Violation::ResponseEnd { expected, received });
        }
        let _: Option<OutboundRead> = self.outbound.pop();
        Ok(Event::ReadDone { id, request })
    }

    fn check_open(&self) -> Result<(), Refused> {
        if self.is_open() {
            return Ok(());
        }
        Err(Refused::Terminated {
            sent: self.sent_terminate,
            received: self.received_terminate,
        })
    }

    fn outgoing(&self, message: &Message) -> Result<Outgoing, Refused> {
        self.check_open()?;
        Ok(Outgoing::new(self.version, message))
    }
}
