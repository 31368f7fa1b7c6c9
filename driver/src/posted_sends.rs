//! Send requests that the card has and has not reported yet.
//!
//! ```text
//!   requests  0   1   2   3   4   5        event for request 2, CONSUMED = 4:
//!             ├───┴───┤ done                 0 and 1 were not signalled: done as well
//!             └ freed: slots 0 to 3 ┘        3 was read, is under way
//! ```
//!
//! A request has a number of the driver's own in its slot, so an event names one request only. Slots are freed by `CONSUMED`.
//! So that they are freed at all, the driver signals at least one request in every quarter of the ring.

use std::collections::VecDeque;
use std::fmt;

use warpline_regmap::transmit::{Flags, Payload, SendRequest, SlotError, Target};

use crate::send_ring::SendRing;

/// How a send request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendStatus {
    /// The message is on its way, and its memory was read. The peer need not have it yet (RFC 5040 §5.5).
    Ok,
    /// The stream or its send queue ended before the request began.
    Flushed,
    /// The device does not accept the request.
    Malformed,
    /// No valid entry of the STag table has an element's STag: the region was revoked or invalidated.
    Stag,
    /// An element's STag belongs to another stream or another protection domain.
    NotAssociated,
    /// A Read Response's region has no remote read right.
    Access,
    /// An element leaves its region.
    Bounds,
    /// The bus refused a read.
    Bus,
}

impl fmt::Display for SendStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "sent",
            Self::Flushed => "the stream ended before",
            Self::Malformed => "the device does not accept the request",
            Self::Stag => "its STag names no region",
            Self::NotAssociated => "its region belongs to another stream or protection domain",
            Self::Access => "its region may not be read by the peer",
            Self::Bounds => "it leaves its region",
            Self::Bus => "the bus refused a read",
        })
    }
}

/// An event of the device, each field checked by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SendEvent {
    pub stream: u8,
    pub status: SendStatus,
    pub consumed: u16,
    pub length: u32,
    /// The driver's number of the request; the MSN of a `response`.
    pub request: u64,
    /// It is a Read Response of the device's own.
    pub response: bool,
}

/// A request that the device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Posted {
    number: u64,
    id: u64,
    /// The program asked for a completion.
    wanted: bool,
    /// The device was asked for an event.
    signalled: bool,
    /// It is sent although the stream is frozen.
    terminate: bool,
    length: u32,
}

/// What the device does with the requests that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Sends them.
    Sends,
    /// Flushes them up to one with `terminate`: the stream is frozen.
    Flushes,
    /// Flushes all of them: a request has failed, or the last message is sent.
    Ended,
}

/// A request that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    /// The driver's number of the request: all earlier ones are done, too.
    pub number: u64,
    /// The program's name for it.
    pub id: u64,
    /// The program asked for a completion.
    pub wanted: bool,
    pub status: SendStatus,
    pub length: u32,
}

/// The requests of a stream.
#[derive(Debug)]
struct Requests {
    entries: u32,
    produced: u16,
    consumed: u16,
    next: u64,
    /// Requests since the last one that the device reports.
    quiet: u32,
    /// Of so many in a row the device reports one, whatever the program asks for.
    reported_of: u32,
    posted: VecDeque<Posted>,
    mode: Mode,
}

impl Requests {
    fn free(&self) -> u32 {
        self.entries - u32::from(self.produced.wrapping_sub(self.consumed))
    }

    fn push(&mut self, id: u64, flags: Flags, length: u32) -> Posted {
        let wanted = flags.signalled;
        self.quiet += 1;
        let signalled = wanted || flags.terminate || self.quiet >= self.reported_of;
        if signalled {
            self.quiet = 0;
        }
        let posted = Posted {
            number: self.next,
            id,
            wanted,
            signalled,
            terminate: flags.terminate,
            length,
        };
        self.next += 1;
        self.produced = self.produced.wrapping_add(1);
        self.posted.push_back(posted);
        posted
    }

    /// Takes an event; the error says what is wrong with it, and nothing has changed.
    fn complete(&mut self, event: &SendEvent) -> Result<Done, &'static str> {
        let of_it = |posted: &Posted| posted.number == event.request;
        let index = self.posted.iter().position(of_it);
        let index = index.ok_or("no such request is under way")?;
        let mut earlier = self.posted.iter().take(index);
        if earlier.any(|posted| posted.signalled) {
            return Err("an earlier request was not reported");
        }
        let posted = self.posted[index];
        let failed = event.status != SendStatus::Ok;
        if !failed && !posted.signalled {
            return Err("the request was not to be reported");
        }
        let mode = match (self.mode, event.status) {
            (Mode::Sends, SendStatus::Ok) if posted.terminate => Mode::Ended,
            (Mode::Sends, SendStatus::Ok) => Mode::Sends,
            (Mode::Sends, SendStatus::Flushed) => Mode::Flushes,
            (Mode::Flushes, SendStatus::Flushed) => Mode::Flushes,
            (Mode::Ended, SendStatus::Flushed) => Mode::Ended,
            (Mode::Ended, _) => return Err("a request behind the last one is not flushed"),
            (Mode::Flushes, _) if !posted.terminate => {
                return Err("a request behind a flushed one is not flushed");
            }
            _ => Mode::Ended,
        };
        if event.length != posted.length {
            return Err("the request has another length");
        }
        let read = event.consumed.wrapping_sub(self.consumed);
        if read > self.produced.wrapping_sub(self.consumed) {
            return Err("more slots are read than were written");
        }
        // Slots behind the reported one that are still in use, at most.
        let behind = self.produced.wrapping_sub(event.consumed);
        if usize::from(behind) > self.posted.len() - index - 1 {
            return Err("the request's slot is not read");
        }
        self.posted.drain(..=index);
        self.consumed = event.consumed;
        self.mode = mode;
        Ok(Done {
            number: posted.number,
            id: posted.id,
            wanted: posted.wanted,
            status: event.status,
            length: posted.length,
        })
    }

    /// Takes the next request, to report it as flushed.
    fn flush(&mut self) -> Option<Done> {
        let posted = self.posted.pop_front()?;
        Some(Done {
            number: posted.number,
            id: posted.id,
            wanted: posted.wanted,
            status: SendStatus::Flushed,
            length: posted.length,
        })
    }
}

/// A stream's send ring and the requests in it.
pub(crate) struct PostedSends {
    ring: SendRing,
    requests: Requests,
}

impl PostedSends {
    /// No requests, in an empty ring; the device reports one of `reported_of` in a row, so that slots are freed in time.
    pub fn new(ring: SendRing, reported_of: u32) -> Self {
        let requests = Requests {
            entries: ring.entries(),
            produced: ring.produced(),
            consumed: ring.produced(),
            next: 0,
            quiet: 0,
            reported_of,
            posted: VecDeque::new(),
            mode: Mode::Sends,
        };
        Self { ring, requests }
    }

    /// The ring.
    pub fn ring(&self) -> &SendRing {
        &self.ring
    }

    /// Slots that are free.
    pub fn free(&self) -> u32 {
        self.requests.free()
    }

    /// Writes a request's slot and returns the request's number. The caller has checked that a slot is free, and rings the
    /// doorbell.
    pub fn put(
        &mut self,
        target: Target,
        flags: Flags,
        id: u64,
        payload: Payload,
    ) -> Result<u64, SlotError> {
        // Check before anything changes.
        SendRequest::new(target, flags, self.requests.next, payload)?;
        let posted = self.requests.push(id, flags, payload.length());
        let flags = Flags {
            signalled: posted.signalled,
            ..flags
        };
        let request = SendRequest::new(target, flags, posted.number, payload)?;
        self.ring.put(&request);
        Ok(posted.number)
    }

    /// Takes an event of the device; the error says what is wrong with it.
    pub fn complete(&mut self, event: &SendEvent) -> Result<Done, &'static str> {
        self.requests.complete(event)
    }

    /// Takes the next request of a stream that is closed, to report it as flushed.
    pub fn flush(&mut self) -> Option<Done> {
        self.requests.flush()
    }

    /// Keeps the ring permanently: the device may still read it.
    pub fn leak(self) {
        self.ring.leak();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn requests(entries: u32, first: u16) -> Requests {
        Requests {
            entries,
            produced: first,
            consumed: first,
            next: 0,
            quiet: 0,
            reported_of: entries / 4,
            posted: VecDeque::new(),
            mode: Mode::Sends,
        }
    }

    fn flags(signalled: bool) -> Flags {
        Flags {
            signalled,
            ..Flags::default()
        }
    }

    fn event(request: u64, consumed: u16, length: u32) -> SendEvent {
        SendEvent {
            stream: 0,
            status: SendStatus::Ok,
            consumed,
            length,
            request,
            response: false,
        }
    }

    #[test]
    fn a_report_covers_the_silent_requests_before_it() {
        let mut requests = requests(64, 0xFFFE);
        for (id, wanted) in [(10, false), (11, false), (12, true), (13, true)] {
            requests.push(id, flags(wanted), 100);
        }
        assert_eq!(requests.free(), 60);
        let done = requests.complete(&event(2, 2, 100)).unwrap();
        assert_eq!((done.number, done.id), (2, 12));
        assert_eq!(requests.free(), 64, "the fourth slot is read as well");
        let done = requests.complete(&event(3, 2, 100)).unwrap();
        assert_eq!((done.number, done.id), (3, 13));
        assert_eq!(requests.posted, []);
    }

    #[test]
    fn a_quarter_of_the_ring_is_never_silent() {
        let mut requests = requests(16, 0);
        let signalled: Vec<bool> = (0..12)
            .map(|id| requests.push(id, flags(id == 5), 0).signalled)
            .collect();
        let at: Vec<usize> = (0..12).filter(|i| signalled[*i]).collect();
        assert_eq!(at, [3, 5, 9]);
    }

    #[test]
    fn events_that_cannot_be_are_refused() {
        for (event, reason) in [
            (event(4, 4, 7), "no such request is under way"),
            (event(2, 3, 7), "an earlier request was not reported"),
            (event(0, 1, 7), "the request was not to be reported"),
            (event(1, 2, 8), "the request has another length"),
            (event(1, 5, 7), "more slots are read than were written"),
            (event(1, 0xFFFF, 7), "more slots are read than were written"),
            (event(1, 1, 7), "the request's slot is not read"),
        ] {
            let mut requests = requests(16, 0);
            for (id, wanted) in [(0, false), (1, true), (2, true), (3, true)] {
                requests.push(id, flags(wanted), 7);
            }
            assert_eq!(requests.complete(&event), Err(reason), "{event:?}");
            assert_eq!((requests.posted.len(), requests.consumed), (4, 0));
        }
    }

    #[test]
    fn what_follows_an_end_is_flushed() {
        let with = |status, request, consumed| SendEvent {
            status,
            ..event(request, consumed, 7)
        };
        // A failed request ends the queue.
        let mut failed = requests(16, 0);
        (0..3).for_each(|id| _ = failed.push(id, flags(true), 7));
        let first = failed.complete(&with(SendStatus::Bounds, 0, 1)).unwrap();
        assert_eq!(first.status, SendStatus::Bounds);
        let behind = "a request behind the last one is not flushed";
        assert_eq!(failed.complete(&event(1, 2, 7)), Err(behind));
        assert!(failed.complete(&with(SendStatus::Flushed, 1, 3)).is_ok());
        // A frozen stream flushes its requests, except the last message.
        let last = Flags {
            terminate: true,
            ..Flags::default()
        };
        let mut frozen = requests(16, 0);
        (0..2).for_each(|id| _ = frozen.push(id, flags(true), 7));
        frozen.push(2, last, 7);
        frozen.push(3, flags(true), 7);
        frozen.complete(&with(SendStatus::Flushed, 0, 4)).unwrap();
        let behind = "a request behind a flushed one is not flushed";
        assert_eq!(frozen.complete(&event(1, 4, 7)), Err(behind));
        frozen.complete(&with(SendStatus::Flushed, 1, 4)).unwrap();
        let done = frozen.complete(&event(2, 4, 7)).unwrap();
        assert_eq!(done.status, SendStatus::Ok);
        let behind = "a request behind the last one is not flushed";
        assert_eq!(frozen.complete(&event(3, 4, 7)), Err(behind));
    }

    proptest! {
        /// Whatever a device writes, every request is reported at most once, in order, and no slot that is in use is free.
        #[test]
        fn any_events_keep_the_account(
            log in 2_u32..7,
            first: u16,
            steps in prop::collection::vec((any::<bool>(), 0_u64..90, 0_u16..90, 0_u32..2, any::<bool>()), 1..300),
        ) {
            let entries = 1 << log;
            let mut requests = requests(entries, first);
            let mut last = None;
            for (post, number, consumed, length, wanted) in steps {
                if post && requests.free() > 0 {
                    requests.push(number, flags(wanted), length);
                    continue;
                }
                let event = event(number, first.wrapping_add(consumed), length);
                if let Ok(done) = requests.complete(&event) {
                    prop_assert!(last < Some(done.number));
                    last = Some(done.number);
                }
                prop_assert!(requests.free() <= entries);
                // Every unreported request from the device's view may still be in its slot or be read already.
                let used = entries - requests.free();
                prop_assert!(used as usize <= requests.posted.len());
            }
            while let Some(done) = requests.flush() {
                prop_assert!(last < Some(done.number));
                last = Some(done.number);
            }
        }
    }
}
