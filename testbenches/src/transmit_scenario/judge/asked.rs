//! What a judge knows of the peer's Read Requests.

use super::super::plan::{self, Ask};
use super::announced::Announced;

/// A Read Request that the peer has sent.
#[derive(Clone, Debug)]
pub struct Asked {
    pub(super) ask: Ask,
    pub(super) msn: u32,
    /// Its response, as a request that the host might have posted.
    pub(super) announced: Announced,
    /// Why it goes to the host in any case.
    pub(super) reason: Option<&'static str>,
    /// Requests in front of it whose response was not seen when it was sent.
    pub(super) others: usize,
    /// The stream's queue had ended when it was sent.
    pub(super) late: bool,
}

/// Read Requests of a stream.
#[derive(Clone, Debug)]
pub struct Reads {
    pub place: Option<plan::Reads>,
    /// `SET_READ_RESPONDER` is written that switches off, and is done.
    pub off_given: bool,
    pub off_done: bool,
    pub(super) all: Vec<Asked>,
    /// Messages of the peer, those included that come behind an error.
    pub(super) sent: u32,
    /// Responses that were seen; requests in front of the next one with an event.
    pub(super) seen: usize,
    pub(super) reported: usize,
    /// The first and the last request that the host has got.
    pub(super) handed: Option<(usize, usize)>,
    /// Slots in front of the first response that was flushed.
    pub(super) flushed_from: Option<usize>,
    /// The last request may have found no buffer.
    pub doubt: Option<usize>,
}

impl Reads {
    pub(super) fn new(place: Option<plan::Reads>) -> Self {
        Self {
            place,
            off_given: false,
            off_done: false,
            all: vec![],
            sent: 0,
            seen: 0,
            reported: 0,
            handed: None,
            flushed_from: None,
            doubt: None,
        }
    }

    pub(super) fn resolved(&self, index: usize) -> bool {
        let asked = &self.all[index];
        index < self.seen || self.is_handed(index) || asked.announced.report.is_some()
    }

    /// The host has got this request.
    pub(super) fn is_handed(&self, index: usize) -> bool {
        self.handed
            .is_some_and(|(first, last)| (first..=last).contains(&index))
    }

    /// Requests of which nothing has come yet.
    pub fn unresolved(&self) -> usize {
        (0..self.all.len()).filter(|i| !self.resolved(*i)).count()
    }

    /// Requests that the peer may send: it knows of a buffer when its response has come.
    pub fn credit(&self) -> usize {
        let buffers = self.place.map_or(0, |place| place.announced);
        buffers.saturating_sub(self.all.len() - self.seen)
    }

    /// The oldest request whose response was not seen.
    pub(super) fn next(&self) -> Option<&Asked> {
        self.all.get(self.seen)
    }

    /// Requests for the buffer of this number.
    pub fn of_buffer(&self, number: usize) -> impl Iterator<Item = &Ask> {
        let entries = self.place.map_or(1, |place| place.entries());
        let all = self.all.iter().enumerate();
        all.filter(move |(index, _)| index % entries == number)
            .map(|(_, asked)| &asked.ask)
    }
}
