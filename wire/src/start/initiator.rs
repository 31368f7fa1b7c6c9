//! The Initiator: sends the Request, and takes the Reply.
//!
//! ```text
//!          sent()              input(): Reply            proceed()
//!  Sending ──────► Waiting ───────────────────► Deciding ─────────► Over   full operation
//!     │               │ │                           │ refuse() ───► Over   TCP is the ULP's
//!     │               │ └ R = 1 ────────────────────┼─────────────► Over   TCP is the ULP's
//!     └ time-out,     └ time-out, end of the        └ octets, loss,
//!       end             connection, bad Reply         abandon() ──► Over   Failed: close TCP
//! ```

use super::buffer::Buffer;
use super::cause::{CallError, Cause};
use super::event::{Closing, Event, Failure, Terminate};
use super::frame::{Frame, Kind, StartError};
use super::negotiate::{Agreement, Enhanced};
use super::parameters::{Parameters, Role};
use super::profile::Profile;
use super::settings::Settings;

/// Offset of the key's first octet that tells a Request from a Reply, and its value in a Request.
const REQUEST_MARK: (usize, u8) = (9, b'q');

#[derive(Clone, Copy)]
enum State {
    /// The Request is in the buffer.
    Sending,
    /// The Reply arrives in the buffer.
    Waiting,
    /// The Reply is complete, and the ULP decides.
    Deciding(Parameters),
    /// Nothing more is taken or sent.
    Over,
}

/// The end that sends the Request and, later, the first FPDU. Its ULP speaks first.
#[derive(Clone)]
pub struct Initiator {
    settings: Settings,
    enhanced: Option<Enhanced>,
    buffer: Buffer,
    state: State,
    /// Time by which the Reply must be complete.
    deadline: u64,
    event: Option<Event>,
    /// Octets of the Request.
    request_len: usize,
}

impl Initiator {
    /// Puts a Request into `output`: of revision 2 with an IRD/ORD block if `enhanced` asks for one,
    /// otherwise of revision 1 (RFC 6581 §10). `unread` is the number of streaming octets that TCP has
    /// received and the ULP has not read: they must be none.
    pub fn new(
        settings: Settings,
        enhanced: Option<Enhanced>,
        private_data: &[u8],
        unread: usize,
        now: u64,
    ) -> Result<Self, CallError> {
        if unread > 0 {
            return Err(CallError::Unread { octets: unread });
        }
        if settings.profile == Profile::Draft && (enhanced.is_some() || !private_data.is_empty()) {
            return Err(CallError::DraftKey);
        }
        if let Some(enhanced) = enhanced {
            if !settings.enhanced {
                return Err(CallError::NotEnabled);
            }
            enhanced.check(&settings)?;
        }
        let request = Frame {
            kind: Kind::Request,
            markers: settings.markers,
            crc: settings.requests_crc(),
            rejected: false,
            revision: if enhanced.is_some() { 2 } else { 1 },
            negotiation: enhanced.map(|enhanced| enhanced.block()),
            private_data,
        };
        let mut buffer = Buffer::new();
        let request_len = buffer.load(|out| settings.profile.emit(&request, out))?;
        Ok(Self {
            settings,
            enhanced,
            buffer,
            state: State::Sending,
            deadline: now.saturating_add(settings.timeouts.start_frames.into()),
            event: None,
            request_len,
        })
    }

    /// What is to be sent, as far as TCP has not accepted it yet.
    pub fn output(&self) -> &[u8] {
        match self.state {
            State::Sending => self.buffer.unsent(),
            _ => &[],
        }
    }

    /// TCP has accepted this many octets of `output`.
    pub fn sent(&mut self, octets: usize) {
        if let State::Sending = self.state {
            self.buffer.sent(octets);
            if self.buffer.unsent().is_empty() {
                self.buffer.clear();
                self.state = State::Waiting;
            }
        }
    }

    /// Takes octets of the stream, in order, and returns how many. The others stay with the caller:
    /// until the Request is sent, they are to be given again; afterwards they lie behind the Reply.
    ///
    /// Octets behind an accepting Reply are an error, since the Responder may not send before our
    /// first FPDU (AMB-28). Behind a rejecting one they are the ULP's.
    pub fn input(&mut self, octets: &[u8]) -> usize {
        match self.state {
            State::Sending | State::Over => 0,
            State::Waiting => {
                let profile = self.settings.profile;
                let (taken, result) = self.buffer.receive(profile, Kind::Reply, octets);
                match result {
                    Ok(false) => {}
                    Ok(true) => self.complete(taken < octets.len()),
                    Err(error) => self.fail(key_cause(profile, error), Closing::AtOnce),
                }
                taken
            }
            State::Deciding(_) => {
                if !octets.is_empty() {
                    self.fail(Cause::EarlyOctets, Closing::AtOnce);
                }
                0
            }
        }
    }

    /// The peer's FIN follows the octets given so far. In full operation it is the stream's.
    pub fn finish(&mut self) {
        let cause = match self.state {
            State::Sending => Cause::Closed,
            State::Waiting => self.buffer.cut(self.settings.profile, Kind::Reply),
            State::Deciding(_) | State::Over => return,
        };
        self.fail(cause, Closing::AtOnce);
    }

    /// The connection ended without FIN: RST, or TCP gave up.
    pub fn lose(&mut self) {
        match self.state {
            State::Sending | State::Waiting | State::Deciding(_) => {
                self.fail(Cause::Lost, Closing::AtOnce);
            }
            State::Over => {}
        }
    }

    /// Applies the time-out and returns what happened since the last call. `now` is in milliseconds of
    /// a clock that does not run backwards.
    pub fn poll(&mut self, now: u64) -> Option<Event> {
        if let State::Sending | State::Waiting = self.state
            && now >= self.deadline
        {
            let timeout = self.settings.timeouts.start_frames;
            let kind = Kind::Reply;
            self.fail(Cause::TimedOut { kind, timeout }, Closing::AtOnce);
        }
        self.event.take()
    }

    /// Time at which `poll` has something to do even if nothing arrives.
    pub const fn deadline(&self) -> Option<u64> {
        match self.state {
            State::Sending | State::Waiting => Some(self.deadline),
            State::Deciding(_) | State::Over => None,
        }
    }

    /// The Reply, once it is complete.
    pub fn peer(&self) -> Option<Frame<'_>> {
        match self.state {
            State::Sending => None,
            _ => self.buffer.frame(self.settings.profile, Kind::Reply),
        }
    }

    /// Enters full operation. The stream may be armed and our first FPDU sent, an RTR indication in
    /// the peer-to-peer model.
    pub fn proceed(&mut self) -> Result<Parameters, CallError> {
        let State::Deciding(parameters) = self.state else {
            return Err(CallError::NotDue);
        };
        (self.state, self.event) = (State::Over, None);
        Ok(parameters)
    }

    /// Leaves MPA because the ULP does not agree with the Reply; the TCP connection stays open and is
    /// the ULP's to use or to close (RFC 5044 §7.1.2, MPA-PRIV-10).
    pub fn refuse(&mut self) -> Result<(), CallError> {
        self.proceed().map(|_| ())
    }

    /// Gives up because our own side has no means for the stream. Fails with a Terminate of code 5 if
    /// RFC 6581 is in use (RFC 6581 §9.3).
    pub fn abandon(&mut self) -> Result<(), CallError> {
        let parameters = self.proceed()?;
        let closing = match parameters.agreement {
            Some(_) => after_terminate(Cause::Local, parameters),
            None => Closing::AtOnce,
        };
        self.fail(Cause::Local, closing);
        Ok(())
    }

    /// Nothing more is taken or sent.
    pub const fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Judges the complete Reply.
    fn complete(&mut self, more: bool) {
        let Some(reply) = self.buffer.frame(self.settings.profile, Kind::Reply) else {
            return;
        };
        if reply.rejected {
            (self.state, self.event) = (State::Over, Some(Event::Rejected));
            return;
        }
        let asked = if self.enhanced.is_some() { 2 } else { 1 };
        let mut parameters = Parameters {
            role: Role::Initiator,
            revision: reply.revision.min(asked),
            send_markers: reply.markers,
            receive_markers: self.settings.markers,
            crc: reply.crc || self.settings.requests_crc(),
            sent: self.request_len as u16,
            received: self.buffer.octets().len() as u16,
            agreement: None,
        };
        match self.agree(&reply) {
            // What is wrong with the Reply comes first, as if the octets had arrived later.
            Ok(_) if more => self.fail(Cause::EarlyOctets, Closing::AtOnce),
            Ok(agreement) => {
                parameters.agreement = agreement;
                (self.state, self.event) = (State::Deciding(parameters), Some(Event::Replied));
            }
            Err(cause @ (Cause::InsufficientIrd { .. } | Cause::NoRtr { .. })) => {
                self.fail(cause, after_terminate(cause, parameters));
            }
            Err(cause) => self.fail(cause, Closing::AtOnce),
        }
    }

    fn agree(&self, reply: &Frame<'_>) -> Result<Option<Agreement>, Cause> {
        match (self.enhanced, reply.negotiation) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err(Cause::Unrequested),
            (Some(_), None) => Err(Cause::NotEnhanced {
                revision: reply.revision,
            }),
            (Some(enhanced), Some(block)) => {
                let max_ird = self.settings.max_ird;
                enhanced.conclude(&block, max_ird).map(Some)
            }
        }
    }

    fn fail(&mut self, cause: Cause, closing: Closing) {
        if let State::Sending = self.state {
            self.buffer.clear(); // our own frame, which `peer` must not return
        }
        self.state = State::Over;
        self.event = Some(Event::Failed(Failure { cause, closing }));
    }
}

fn after_terminate(cause: Cause, parameters: Parameters) -> Closing {
    Closing::AfterTerminate(Terminate {
        number: cause.number(),
        parameters,
    })
}

/// The cause behind a malformed Reply. A Request is named as what it is; the draft's two keys are the
/// same, so two of its first senders cannot detect each other.
fn key_cause(profile: Profile, error: StartError) -> Cause {
    match error {
        StartError::Key { offset, octet }
            if profile == Profile::Rfc && (offset, octet) == REQUEST_MARK =>
        {
            Cause::TwoInitiators
        }
        // RFC 5044 App. C.2.2 closes gracefully here; nothing is left to be sent.
        error => Cause::Frame(error),
    }
}
