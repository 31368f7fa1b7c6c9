//! The Responder: takes the Request, asks the ULP, and sends the Reply.
//!
//! ```text
//!            sent()          input(): Request            accept()
//!  Streaming ──────► Waiting ────────────────► Deciding ─────────► Over   full operation, gate closed
//!     │                 │                         │ reject() ────► Over   TCP is the ULP's
//!     └ time-out,       └ time-out, end of the    └ time-out, end of the connection,
//!       end               connection, bad Request   octets ──────► Over   Failed: close TCP
//! ```
//!
//! `Streaming` exists only if the machine sends the last streaming message. What `accept`, `reject`
//! or the answer to revision 0 leave in `output` is still to be sent when the machine is over.

use super::buffer::Buffer;
use super::cause::{CallError, Cause};
use super::event::{Closing, Event, Failure};
use super::frame::{Frame, Kind, MAX_FRAME_LEN, Negotiation, StartError};
use super::negotiate::{Agreement, Answer};
use super::parameters::{Parameters, Role};
use super::profile::Profile;
use super::settings::Settings;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The last streaming message is in the buffer.
    Streaming,
    /// The Request arrives in the buffer.
    Waiting,
    /// The Request is complete, and the ULP decides.
    Deciding,
    /// Nothing more is taken; the buffer holds what is still to be sent.
    Over,
}

/// What counts of a Request once the buffer is used for the Reply.
#[derive(Clone, Copy)]
struct Request {
    markers: bool,
    crc: bool,
    revision: u8,
    negotiation: Option<Negotiation>,
    len: usize,
}

/// The end that waits for the Request and sends the Reply. It sends no FPDU before the Initiator's
/// first one.
#[derive(Clone)]
pub struct Responder {
    settings: Settings,
    buffer: Buffer,
    state: State,
    /// Time by which the Request must be complete or the ULP must have decided; not known between the
    /// arrival of the Request and the next `poll`.
    deadline: Option<u64>,
    event: Option<Event>,
    /// Octets of the last streaming message.
    message_len: usize,
}

impl Responder {
    /// Waits for a Request, without sending anything.
    pub const fn new(settings: Settings, now: u64) -> Self {
        Self {
            settings,
            buffer: Buffer::new(),
            state: State::Waiting,
            deadline: Some(now.saturating_add(settings.timeouts.responder_wait as u64)),
            event: None,
            message_len: 0,
        }
    }

    /// Sends the last streaming message, after which the peer sends its Request (MPA-START-21).
    /// `unread` is the number of streaming octets that TCP has received and the ULP has not read: they
    /// must be none.
    pub fn after_message(
        settings: Settings,
        message: &[u8],
        unread: usize,
        now: u64,
    ) -> Result<Self, CallError> {
        if unread > 0 {
            return Err(CallError::Unread { octets: unread });
        }
        let mut machine = Self::new(settings, now);
        machine.message_len = machine.buffer.load(|out| {
            let (len, max) = (message.len(), MAX_FRAME_LEN);
            let room = out.get_mut(..len);
            let room = room.ok_or(CallError::LastMessage { len, max })?;
            room.copy_from_slice(message);
            Ok::<_, CallError>(len)
        })?;
        if !message.is_empty() {
            machine.state = State::Streaming;
        }
        Ok(machine)
    }

    /// What is to be sent, as far as TCP has not accepted it yet: the last streaming message, then the
    /// Reply.
    pub fn output(&self) -> &[u8] {
        match self.state {
            State::Streaming | State::Over => self.buffer.unsent(),
            State::Waiting | State::Deciding => &[],
        }
    }

    /// TCP has accepted this many octets of `output`.
    pub fn sent(&mut self, octets: usize) {
        if let State::Streaming | State::Over = self.state {
            self.buffer.sent(octets);
        }
        if self.state == State::Streaming && self.buffer.unsent().is_empty() {
            self.buffer.clear();
            self.state = State::Waiting;
        }
    }

    /// Takes octets of the stream, in order, and returns how many. The others stay with the caller:
    /// until the last streaming message is sent, they are to be given again; after `accept`, the first
    /// of them is stream position 0; after `reject`, they are the ULP's.
    ///
    /// Octets behind the Request and before the answer are an error, since the Initiator waits for it
    /// (AMB-28).
    pub fn input(&mut self, octets: &[u8]) -> usize {
        match self.state {
            State::Streaming | State::Over => 0,
            State::Waiting => {
                let profile = self.settings.profile;
                let (taken, result) = self.buffer.receive(profile, Kind::Request, octets);
                match result {
                    Ok(false) => {}
                    Ok(true) => self.complete(taken < octets.len()),
                    Err(error) => self.malformed(error),
                }
                taken
            }
            State::Deciding => {
                if !octets.is_empty() {
                    self.fail(Cause::EarlyOctets, Closing::AtOnce);
                }
                0
            }
        }
    }

    /// The peer's FIN follows the octets given so far. After the answer it is the stream's or the
    /// ULP's; before, the peer could not send the FPDU that opens the gate.
    pub fn finish(&mut self) {
        let cause = match self.state {
            State::Streaming | State::Deciding => Cause::Closed,
            State::Waiting => self.buffer.cut(self.settings.profile, Kind::Request),
            State::Over => return,
        };
        self.fail(cause, Closing::AtOnce);
    }

    /// The connection ended without FIN: RST, or TCP gave up.
    pub fn lose(&mut self) {
        if self.state != State::Over {
            self.fail(Cause::Lost, Closing::AtOnce);
        }
    }

    /// Applies the time-outs and returns what happened since the last call. `now` is in milliseconds of
    /// a clock that does not run backwards.
    pub fn poll(&mut self, now: u64) -> Option<Event> {
        let timeouts = self.settings.timeouts;
        let expired = match self.deadline {
            Some(deadline) => now >= deadline,
            None => {
                self.deadline = Some(now.saturating_add(timeouts.start_frames.into()));
                false
            }
        };
        if expired {
            let cause = match self.state {
                State::Streaming | State::Waiting => Some(Cause::TimedOut {
                    kind: Kind::Request,
                    timeout: timeouts.responder_wait,
                }),
                State::Deciding => Some(Cause::Undecided {
                    timeout: timeouts.start_frames,
                }),
                State::Over => None,
            };
            if let Some(cause) = cause {
                self.fail(cause, Closing::AtOnce);
            }
        }
        self.event.take()
    }

    /// Time at which `poll` has something to do even if nothing arrives.
    pub fn deadline(&self) -> Option<u64> {
        self.deadline.filter(|_| self.state != State::Over)
    }

    /// The Request, once it is complete and until it is answered.
    pub fn peer(&self) -> Option<Frame<'_>> {
        match self.state {
            State::Deciding => self.buffer.frame(self.settings.profile, Kind::Request),
            _ => None,
        }
    }

    /// Accepts. The caller first arms the stream to receive, then sends `output`: FPDUs may follow the
    /// Reply at once. Our own wait for the [`Gate`](super::Gate).
    pub fn accept(
        &mut self,
        private_data: &[u8],
        answer: &Answer,
    ) -> Result<Parameters, CallError> {
        let (request, len, agreement) = self.answer(private_data, answer, false)?;
        Ok(Parameters {
            role: Role::Responder,
            revision: request.revision,
            send_markers: request.markers,
            receive_markers: self.settings.markers,
            crc: request.crc || self.settings.requests_crc(),
            sent: self.message_len.saturating_add(len) as u16,
            received: request.len as u16,
            agreement,
        })
    }

    /// Rejects with a Reply of R = 1. MPA is left; once `output` is sent, the TCP connection is the
    /// ULP's (AMB-30). With RFC 6581, `answer` says which depths and RTR indications would do.
    pub fn reject(&mut self, private_data: &[u8], answer: &Answer) -> Result<(), CallError> {
        if self.settings.profile == Profile::Draft {
            return Err(CallError::DraftKey);
        }
        self.answer(private_data, answer, true).map(|_| ())
    }

    /// Nothing more is taken, and everything is sent.
    pub fn is_over(&self) -> bool {
        self.state == State::Over && self.output().is_empty()
    }

    /// Puts the Reply into the buffer. Returns the Request, the Reply's length and what was settled.
    fn answer(
        &mut self,
        private_data: &[u8],
        answer: &Answer,
        rejected: bool,
    ) -> Result<(Request, usize, Option<Agreement>), CallError> {
        let request = self.peer().map(|frame| Request {
            markers: frame.markers,
            crc: frame.crc,
            revision: frame.revision,
            negotiation: frame.negotiation,
            len: self.buffer.octets().len(),
        });
        let request = request.ok_or(CallError::NotDue)?;
        let rfc = self.settings.profile == Profile::Rfc;
        if !rfc && !private_data.is_empty() {
            return Err(CallError::DraftKey);
        }
        let settled = match request.negotiation {
            Some(block) => {
                answer.check(&self.settings)?;
                Some(answer.reply(&block, rejected))
            }
            None => None,
        };
        let reply = Frame {
            kind: Kind::Reply,
            markers: self.settings.markers,
            // Linux siw goes by the C of the Reply alone, so a requested CRC is confirmed.
            crc: self.settings.requests_crc() || (rfc && request.crc),
            rejected,
            revision: request.revision,
            negotiation: settled.map(|(block, _)| block),
            private_data,
        };
        let profile = self.settings.profile;
        let len = self.buffer.load(|out| profile.emit(&reply, out))?;
        (self.state, self.event) = (State::Over, None);
        Ok((request, len, settled.map(|(_, agreement)| agreement)))
    }

    /// Judges the complete Request.
    fn complete(&mut self, more: bool) {
        let revision = self.peer_revision();
        if revision > 1 && !self.settings.enhanced {
            self.malformed(StartError::Revision { revision });
        } else if more {
            self.fail(Cause::EarlyOctets, Closing::AtOnce);
        } else {
            self.state = State::Deciding;
            self.event = Some(Event::Requested);
            self.deadline = None;
        }
    }

    fn peer_revision(&self) -> u8 {
        let frame = self.buffer.frame(self.settings.profile, Kind::Request);
        frame.map_or(0, |frame| frame.revision)
    }

    /// Fails. An RDMA Consortium peer, whose revision is 0, first gets a Reply of revision 1.
    fn malformed(&mut self, error: StartError) {
        let mut closing = Closing::AtOnce;
        if error == (StartError::Revision { revision: 0 }) {
            let reply = Frame {
                kind: Kind::Reply,
                markers: self.settings.markers,
                crc: self.settings.requests_crc(),
                rejected: true,
                revision: 1,
                negotiation: None,
                private_data: &[],
            };
            if self.buffer.load(|out| reply.emit(out)).is_ok() {
                closing = Closing::AfterOutput;
            }
        }
        self.fail(Cause::Frame(error), closing);
    }

    fn fail(&mut self, cause: Cause, closing: Closing) {
        if closing == Closing::AtOnce {
            self.buffer.clear();
        }
        self.state = State::Over;
        self.event = Some(Event::Failed(Failure { cause, closing }));
    }
}
