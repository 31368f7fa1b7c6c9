//! What the device reports for a queue pair, and what the messages of the peer mean.
//!
//! ```text
//!   notice ─┬─ Sent ──────────► slots of the send ring
//!           ├─ ResponseFailed ► the stream ends
//!           ├─ Tagged ────────► a Read Response: its Read is done
//!           ├─ Untagged, QN 0 ► Send: revoke what it invalidates, then complete the buffer
//!           │            QN 1 ► Read Request: queued, answered by `advance`
//!           │            QN 2 ► the peer's Terminate
//!           └─ Error ─────────► our Terminate
//! ```

use std::sync::Arc;

use warpline_regmap::layout::revoke;
use warpline_regmap::register::command;
use warpline_wire::error_number::{Detail, ErrorNumber, ErrorRecord};
use warpline_wire::rdmap::{Cause, Delivered, Event, Terminate};

use super::machine::Machine;
use super::work::{PairEvent, PairState, Work, WorkCompletion, WorkOpcode, WorkStatus};
use super::{READ_REQUESTS, SENDS, TERMINATES};
use crate::buffer::Buffer;
use crate::completion::{Completion, ErrorEvent, UntaggedCompletion};
use crate::error::Error;
use crate::route::Notice;

/// Most octets of a message that RDMAP itself reads; others are data.
const HEADERS: u32 = 128;

impl Machine {
    /// Takes the next notice of the device.
    pub fn notice(&mut self, notice: Result<Notice, Error>) {
        match notice {
            Ok(Notice::Sent(done)) => self.sent(done),
            Ok(Notice::ResponseFailed(status)) => self.response_failed(status),
            Ok(Notice::Completion(completion)) => self.completion(completion),
            Err(error) => self.out.push(Err(error)),
        }
    }

    fn completion(&mut self, completion: Completion) {
        match completion {
            Completion::Tagged(message) => {
                let delivered = Delivered::Tagged {
                    rsvd_ulp: message.rsvd_ulp,
                    stag: message.stag,
                    to: message.offset,
                    len: message.length,
                };
                match self.rdmap.deliver(&delivered) {
                    Ok(Event::ReadDone { id, .. }) => self.read_done(id),
                    Ok(_) => {}
                    Err(rejected) => self.end(rejected.terminate),
                }
            }
            Completion::Untagged(message) => self.untagged(message),
            Completion::Flushed(receive) => {
                self.receive(receive.queue, receive.msn, receive.buffer, None)
            }
            Completion::Error(event) => self.error(event),
            Completion::Closed(_) => {
                self.half_closed = true;
                self.event(PairEvent::HalfClosed);
                if self.reads_wait() {
                    // Their Responses cannot come any more.
                    self.end_by_catastrophe();
                }
            }
            Completion::Sent(_) => {} // a notice of its own
        }
    }

    /// The device has met an error in what the peer sent.
    fn error(&mut self, event: ErrorEvent) {
        self.event(PairEvent::StreamError(event));
        let stream = self.number.into();
        let of_event = ErrorRecord {
            stream,
            number: event.number,
            checks: event.checks,
            header: warpline_wire::error_number::HeaderOctets::of(&[]),
            ulpdu_len: 0,
            position: event.position,
            detail: Detail::Ddp,
        };
        let record = match self.domain.shared.error_record(self.number) {
            Ok(Some(record)) => ErrorRecord {
                number: record.number,
                header: record.header,
                ulpdu_len: record.segment_length,
                ..of_event
            },
            Ok(None) => of_event,
            Err(error) => {
                self.out.push(Err(error));
                of_event
            }
        };
        let terminate = self.rdmap.fail(&record);
        self.end(terminate);
    }

    fn untagged(&mut self, message: UntaggedCompletion) {
        let UntaggedCompletion {
            queue,
            msn,
            length,
            rsvd_ulp,
            buffer,
            ..
        } = message;
        // Of data, only the length counts here.
        let mut octets = vec![
            0;
            if length <= HEADERS {
                length as usize
            } else {
                0
            }
        ];
        if let Err(error) = buffer.read_at(0, &mut octets) {
            self.out.push(Err(error));
        }
        let delivered = Delivered::Untagged {
            rsvd_ulp,
            qn: queue.into(),
            msn,
            payload: &octets,
        };
        if message.hole || message.anomaly {
            // The device was told to accept segments in order only, so this is none that it should report.
            let cause = Cause::Lower(ErrorNumber::UntaggedMo);
            let terminate = Terminate::of_message(cause, &delivered);
            let terminate = self.rdmap.terminate(&terminate);
            self.end(terminate);
            return self.receive(queue, msn, buffer, None);
        }
        match self.rdmap.deliver(&delivered) {
            Ok(Event::Send {
                solicited,
                invalidate,
                ..
            }) => {
                if let Some(stag) = invalidate {
                    match self.invalidate(stag) {
                        Ok(true) => {}
                        Ok(false) => {
                            let terminate = self.rdmap.refuse_invalidate(&delivered);
                            self.end(terminate);
                            return self.receive(queue, msn, buffer, None);
                        }
                        Err(error) => {
                            self.out.push(Err(error));
                            self.fail();
                            return self.receive(queue, msn, buffer, None);
                        }
                    }
                }
                self.receive(queue, msn, buffer, Some((length, solicited, invalidate)));
            }
            Ok(Event::ReadRequest(_)) if self.device_reads => {} // the buffer is the device's
            Ok(Event::ReadRequest(_)) => self.spare.push(buffer),
            Ok(Event::Terminated(terminate)) => {
                self.event(PairEvent::Terminated(terminate));
                self.fail();
            }
            Ok(_) => self.receive(queue, msn, buffer, None),
            Err(rejected) => {
                let ended = rejected.terminate.is_none() && !self.rdmap.is_open();
                self.end(rejected.terminate);
                if ended {
                    self.fail(); // the peer has ended the stream, by a malformed Terminate
                }
                self.receive(queue, msn, buffer, None);
            }
        }
    }

    /// Revokes an STag that the peer invalidates; false if it may not. A peer may invalidate what it may access.
    fn invalidate(&mut self, stag: u32) -> Result<bool, Error> {
        let domain = Arc::clone(&self.domain);
        let mut state = domain.shared.state();
        let of_it = (self.number, self.generation);
        let holder = state.stags.find(stag).filter(|holder| {
            holder.serves(domain.id, of_it) && (holder.rights.read || holder.rights.write)
        });
        if holder.is_none() {
            return Ok(false);
        }
        let mut words = [0; revoke::WORDS];
        revoke::STAG.put(&mut words, stag.into());
        domain
            .shared
            .command(&mut state, command::REVOKE_STAG, &words)?;
        state.stags.release(stag);
        Ok(true)
    }

    /// Gives a buffer back: with a message of that length, or unused.
    fn receive(
        &mut self,
        queue: u8,
        msn: u32,
        buffer: Buffer,
        message: Option<(u32, bool, Option<u32>)>,
    ) {
        debug_assert!([SENDS, READ_REQUESTS, TERMINATES].contains(&queue));
        if queue != SENDS || self.rtr.take_if(|rtr| *rtr == msn).is_some() {
            return; // the driver's own
        }
        let (length, solicited, invalidated) = message.unwrap_or((0, false, None));
        let status = match message {
            Some(_) => WorkStatus::Success,
            None => WorkStatus::Flushed,
        };
        self.out.push(Ok(Work::Completion(WorkCompletion {
            pair: self.id,
            id: buffer.id(),
            opcode: WorkOpcode::Receive,
            status,
            length,
            solicited,
            invalidated,
            buffer: Some(buffer),
        })));
    }

    /// Closes the stream, and reports all that is left.
    pub fn close(&mut self) -> Result<(), Error> {
        let Some(stream) = self.stream.take() else {
            return Ok(());
        };
        self.fail();
        let (closed, route) = stream.close_routed();
        let mut route = route;
        while let Some(notice) = route.as_mut().and_then(crate::route::Route::pop) {
            self.notice(notice);
        }
        self.flush_all();
        self.spare.clear();
        self.state = PairState::Closed;
        closed
    }
}
