//! What the device reports: the completion queue's ring, and its entries as types.
//!
//! ```text
//!  device ─► entry (words 0 to 6, then word 7 with PHASE) ─► Ring::next ─► Entry::parse ─► Completion
//!         ◄─ COMPLETION_CONSUMER ─────────────────────────────┘ matched with the posted buffers
//! ```
//!
//! Polling reads no register: an entry is new when its phase differs from the one that the last round left there.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use warpline_regmap::layout::{close_event, completion, error_event, kind};
use warpline_regmap::register;
use warpline_regmap::transmit::{self, send_event, status};
use warpline_wire::error_number::{Checks, ErrorNumber};

use crate::buffer::Buffer;
use crate::dma::{Dma, Mapped};
use crate::error::Error;
use crate::memory::DmaMemory;
use crate::posted_sends::{SendEvent, SendStatus};

/// Words of an entry.
pub(crate) const WORDS: usize = completion::WORDS;
/// Most entries of a queue.
pub(crate) const MOST_ENTRIES: u32 = register::COMPLETION_ENTRIES_MAX;

/// A work completion, or the event that a stream failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Completion {
    /// A tagged message was delivered: its octets, and those of all messages before it, are in memory (AMB-41, AMB-44).
    Tagged(TaggedCompletion),
    /// An untagged message was delivered into the buffer that comes back here.
    Untagged(UntaggedCompletion),
    /// The peer has closed the stream, and all that it sent is placed and reported. Nothing follows, except an error
    /// if the connection is lost later. Posted buffers stay posted until the program closes the stream (MPA-ERR-17).
    Closed(CloseEvent),
    /// The stream met its first error and is frozen (AMB-09, AMB-10).
    Error(ErrorEvent),
    /// A posted buffer comes back unused, because its stream failed or was closed (DDP-TEAR-15).
    Flushed(FlushedReceive),
    /// A send request is done.
    Sent(SentCompletion),
}

impl fmt::Display for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tagged(_) => f.write_str("a tagged message"),
            Self::Untagged(_) => f.write_str("an untagged message"),
            Self::Closed(_) => f.write_str("the end of the peer's stream"),
            Self::Error(event) => write!(f, "an error of the stream, {}", event.number.name()),
            Self::Flushed(_) => f.write_str("an unused buffer"),
            Self::Sent(_) => f.write_str("a send request"),
        }
    }
}

impl Completion {
    /// The stream that it belongs to.
    #[must_use]
    pub fn stream(&self) -> u8 {
        match self {
            Self::Tagged(completion) => completion.stream,
            Self::Untagged(completion) => completion.stream,
            Self::Closed(event) => event.stream,
            Self::Error(event) => event.stream,
            Self::Flushed(receive) => receive.stream,
            Self::Sent(completion) => completion.stream,
        }
    }
}

/// A delivered tagged message; the fields are those of its last segment (AMB-43).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaggedCompletion {
    /// The stream.
    pub stream: u8,
    /// The STag.
    pub stag: u32,
    /// Tagged Offset of the segment.
    pub offset: u64,
    /// Payload octets of the segment.
    pub length: u32,
    /// The ULP's octet.
    pub rsvd_ulp: u8,
    /// The segment was empty: its STag and Tagged Offset were not checked (AMB-02).
    pub unverified: bool,
}

/// A delivered untagged message.
#[derive(Debug)]
pub struct UntaggedCompletion {
    /// The stream.
    pub stream: u8,
    /// Queue number.
    pub queue: u8,
    /// Message sequence number.
    pub msn: u32,
    /// Octets of the message.
    pub length: u32,
    /// The ULP's octets of the last segment, in wire order.
    pub rsvd_ulp: [u8; 5],
    /// The segments held more or fewer octets than the message has. Octets that did not arrive keep the buffer's former
    /// contents (AMB-07).
    pub hole: bool,
    /// More segments followed the last one. Length and octets of the ULP are those of the last one (AMB-06).
    pub anomaly: bool,
    /// The message.
    pub buffer: Buffer,
}

/// The peer's FIN follows the last octet of an FPDU: MPA's code 1, reported as an event and not as an error (AMB-31).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloseEvent {
    /// The stream.
    pub stream: u8,
    /// Stream position after its last octet.
    pub position: u32,
}

/// A stream's first error, in brief; [`Stream::error_record`](crate::Stream::error_record) has all details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorEvent {
    /// The stream.
    pub stream: u8,
    /// Error type and code (RFC 5041 §7.2).
    pub number: ErrorNumber,
    /// Failed checks; empty for MPA errors.
    pub checks: Checks,
    /// ULPDU_Length of the failing FPDU.
    pub segment_length: u32,
    /// Stream position of the failing FPDU.
    pub position: u32,
}

impl ErrorEvent {
    /// A message found no buffer: this end has posted too few, or the peer has sent more than was agreed. RFC 5041 §7.1 regards
    /// that as a fault of the system: unlike after an error in what was received, the peer may have followed every rule. A program
    /// that sees it should post more buffers, or agree with its peer on fewer messages.
    /// [`Counters::missing_buffers`](crate::Counters::missing_buffers) counts them.
    #[must_use]
    pub fn is_missing_buffer(&self) -> bool {
        self.number == ErrorNumber::UntaggedNoBuffer
    }
}

/// A buffer that was posted and not used.
#[derive(Debug)]
pub struct FlushedReceive {
    /// The stream.
    pub stream: u8,
    /// Queue number.
    pub queue: u8,
    /// Message sequence number that the buffer was for.
    pub msn: u32,
    /// The buffer.
    pub buffer: Buffer,
}

/// A send request that is done: one that was to be signalled, or one that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentCompletion {
    /// The stream.
    pub stream: u8,
    /// The program's name for the request.
    pub id: u64,
    /// How it ended.
    pub status: SendStatus,
    /// Octets of the message.
    pub length: u32,
}

/// An entry as the device wrote it; each field is checked by itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Tagged(TaggedCompletion),
    Untagged {
        stream: u8,
        queue: u32,
        msn: u32,
        length: u32,
        rsvd_ulp: [u8; 5],
        hole: bool,
        anomaly: bool,
    },
    Closed(CloseEvent),
    Error(ErrorEvent),
    Sent(SendEvent),
}

impl Entry {
    /// Parses an entry; the error says what is wrong with it.
    pub fn parse(words: &[u32; WORDS], streams: u8) -> Result<Self, &'static str> {
        let kind = completion::KIND.get(words) as u32;
        let stream = completion::STREAM.get(words) as u8;
        if stream >= streams {
            return Err("the device has no such stream");
        }
        match kind {
            kind::TAGGED => Ok(Self::Tagged(TaggedCompletion {
                stream,
                stag: completion::STAG.get(words) as u32,
                offset: completion::OFFSET.get(words),
                length: completion::LENGTH.get(words) as u32,
                rsvd_ulp: completion::RSVD_ULP_FIRST.get(words) as u8,
                unverified: completion::UNVERIFIED.get(words) == 1,
            })),
            kind::UNTAGGED => {
                let [a, b, c, d] = (completion::RSVD_ULP_LOW.get(words) as u32).to_be_bytes();
                Ok(Self::Untagged {
                    stream,
                    queue: completion::QUEUE.get(words) as u32,
                    msn: completion::MSN.get(words) as u32,
                    length: completion::LENGTH.get(words) as u32,
                    rsvd_ulp: [completion::RSVD_ULP_FIRST.get(words) as u8, a, b, c, d],
                    hole: completion::HOLE.get(words) == 1,
                    anomaly: completion::ANOMALY.get(words) == 1,
                })
            }
            kind::CLOSED => Ok(Self::Closed(CloseEvent {
                stream,
                position: close_event::POSITION.get(words) as u32,
            })),
            kind::ERROR => {
                let number = ErrorNumber::from_parts(
                    error_event::TYPE.get(words) as u8,
                    error_event::CODE.get(words) as u8,
                )
                .ok_or("no such error number")?;
                let checks = Checks::from_bits(error_event::CHECKS.get(words) as u16)
                    .ok_or("no such check")?;
                Ok(Self::Error(ErrorEvent {
                    stream,
                    number,
                    checks,
                    segment_length: error_event::LENGTH.get(words) as u32,
                    position: error_event::POSITION.get(words) as u32,
                }))
            }
            transmit::kind::SEND => {
                let status = match send_event::STATUS.get(words) as u32 {
                    status::OK => SendStatus::Ok,
                    status::FLUSHED => SendStatus::Flushed,
                    status::MALFORMED => SendStatus::Malformed,
                    status::STAG => SendStatus::Stag,
                    status::ASSOC => SendStatus::NotAssociated,
                    status::ACCESS => SendStatus::Access,
                    status::BOUNDS => SendStatus::Bounds,
                    status::BUS => SendStatus::Bus,
                    _ => return Err("no such status"),
                };
                Ok(Self::Sent(SendEvent {
                    stream,
                    status,
                    consumed: send_event::CONSUMED.get(words) as u16,
                    length: send_event::LENGTH.get(words) as u32,
                    request: send_event::REQUEST.get(words),
                    response: send_event::RESPONSE.get(words) == 1,
                }))
            }
            _ => Err("no such kind"),
        }
    }
}

/// The ring in host memory, consumer side.
pub(crate) struct Ring {
    memory: Mapped,
    place: Place,
}

impl Ring {
    /// A ring of `entries`, a power of two up to [`MOST_ENTRIES`], mapped and not yet announced to the device.
    pub fn new(dma: &Arc<Dma>, entries: u32) -> Result<Self, Error> {
        if !entries.is_power_of_two() || entries > MOST_ENTRIES {
            return Err(Error::CompletionEntries { entries });
        }
        let memory = Mapped::new(dma, DmaMemory::new(entries as usize * 4 * WORDS)?)?;
        let place = Place {
            entries,
            consumed: 0,
        };
        Ok(Self { memory, place })
    }

    /// Bus address of the first entry.
    pub fn iova(&self) -> u64 {
        self.memory.iova()
    }

    /// Entries of the ring.
    pub fn entries(&self) -> u32 {
        self.place.entries
    }

    /// Entries consumed so far, modulo 2^32: the value for `COMPLETION_CONSUMER`.
    pub fn consumed(&self) -> u32 {
        self.place.consumed
    }

    /// The next entry, if the device has written it.
    pub fn next(&mut self) -> Option<[u32; WORDS]> {
        self.place.next(self.memory.memory().words())
    }

    /// Keeps the memory permanently: the device may still write.
    pub fn leak(self) {
        self.memory.leak();
    }
}

/// Position of the next entry.
#[derive(Debug)]
struct Place {
    entries: u32,
    /// Entries consumed, modulo 2^32.
    consumed: u32,
}

/// A word of the ring as it is loaded: tests show what an order allows that the processor at hand never does.
trait Word {
    fn load(&self, order: Ordering) -> u32;
}

impl Word for AtomicU32 {
    fn load(&self, order: Ordering) -> u32 {
        AtomicU32::load(self, order)
    }
}

impl Place {
    fn next(&mut self, ring: &[impl Word]) -> Option<[u32; WORDS]> {
        let index = (self.consumed & (self.entries - 1)) as usize;
        let odd_round = (self.consumed / self.entries) & 1 == 1;
        let words = &ring[WORDS * index..][..WORDS];
        let mut entry = [0; WORDS];
        // Read the word first that the device wrote last; acquire orders the other reads after it.
        entry[WORDS - 1] = u32::from_le(words[WORDS - 1].load(Ordering::Acquire));
        if (completion::PHASE.get(&entry) == 1) == odd_round {
            return None;
        }
        for (entry, word) in entry.iter_mut().zip(&words[..WORDS - 1]) {
            *entry = u32::from_le(word.load(Ordering::Relaxed));
        }
        self.consumed = self.consumed.wrapping_add(1);
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patience::Patience;
    use std::cell::Cell;
    use std::thread;

    /// An entry that `next` returns is complete, at any timing. Under Miri, which reorders what may be reordered, this fails
    /// without the acquire in `next`.
    #[test]
    fn entries_are_whole_when_their_phase_shows() {
        const ENTRIES: u32 = 4;
        let memory = DmaMemory::new(ENTRIES as usize * 4 * WORDS).unwrap();
        let memory = memory.expose();
        let consumed = AtomicU32::new(0);
        let count = if cfg!(miri) { 40 } else { 100_000 };
        let mut wrong = Vec::new();
        let word = |i: u32, w: usize| i.wrapping_mul(0x9E37_79B9).rotate_left(w as u32);
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut produced, mut patience) = (0, Patience::default());
                while produced < count {
                    if produced - consumed.load(Ordering::Acquire) == ENTRIES {
                        patience.wait(produced);
                        continue;
                    }
                    let words: &[AtomicU32] = memory.words();
                    let index = (produced % ENTRIES) as usize;
                    let mut entry: [u32; WORDS] = std::array::from_fn(|w| word(produced, w));
                    let phase = (produced / ENTRIES) & 1 == 0;
                    completion::PHASE.put(&mut entry, phase.into());
                    let place = &words[WORDS * index..][..WORDS];
                    for (place, word) in place.iter().zip(entry).take(WORDS - 1) {
                        place.store(word.to_le(), Ordering::Relaxed);
                    }
                    place[WORDS - 1].store(entry[WORDS - 1].to_le(), Ordering::Release);
                    produced += 1;
                }
            });
            let mut place = Place {
                entries: ENTRIES,
                consumed: 0,
            };
            let mut patience = Patience::default();
            while place.consumed < count {
                let i = place.consumed;
                let Some(entry) = place.next(memory.words()) else {
                    patience.wait(i);
                    continue;
                };
                for (w, found) in entry.into_iter().take(WORDS - 1).enumerate() {
                    if found != word(i, w) {
                        wrong.push((i, w));
                    }
                }
                consumed.store(place.consumed, Ordering::Release);
            }
        });
        assert!(wrong.is_empty(), "entries and words {wrong:?}");
        memory.reclaim();
    }

    /// A word of an entry that has been written, as late as memory may show it: the last word is there, the others are
    /// what the last round left until a load of the last word has acquired them.
    struct Late<'a> {
        last: bool,
        left: u32,
        written: u32,
        acquired: &'a Cell<bool>,
    }

    impl Word for Late<'_> {
        fn load(&self, order: Ordering) -> u32 {
            if self.last {
                let acquires = matches!(order, Ordering::Acquire | Ordering::SeqCst);
                self.acquired.set(self.acquired.get() | acquires);
            }
            match self.last || self.acquired.get() {
                true => self.written,
                false => self.left,
            }
        }
    }

    /// On any processor, without Miri: fails when PHASE is read relaxed, and when another word is read before it.
    #[test]
    fn reading_the_phase_acquires_the_other_words() {
        let mut written: [u32; WORDS] = std::array::from_fn(|w| 0x0101_0101 * (w as u32 + 1));
        completion::PHASE.put(&mut written, 1);
        let acquired = Cell::new(false);
        let ring: [Late; WORDS] = std::array::from_fn(|w| Late {
            last: w == WORDS - 1,
            left: !written[w].to_le(),
            written: written[w].to_le(),
            acquired: &acquired,
        });
        let mut place = Place {
            entries: 1,
            consumed: 0,
        };
        assert_eq!(place.next(&ring), Some(written));
        // the double shows what a relaxed read would find
        acquired.set(false);
        assert_eq!(
            ring[WORDS - 1].load(Ordering::Relaxed),
            ring[WORDS - 1].written
        );
        assert_eq!(ring[0].load(Ordering::Relaxed), ring[0].left);
    }

    #[test]
    fn the_count_passes_its_end() {
        let memory = DmaMemory::new(4 * 4 * WORDS).unwrap().expose();
        let mut place = Place {
            entries: 4,
            consumed: u32::MAX - 1,
        };
        // The count is about to wrap: entries 2 and 3 of an odd round come next.
        assert!(
            place.next(memory.words()).is_some(),
            "phase 0 in an odd round"
        );
        assert!(place.next(memory.words()).is_some());
        assert!(
            place.next(memory.words()).is_none(),
            "round 0 needs phase 1"
        );
        let mut last = [0; WORDS];
        completion::PHASE.put(&mut last, 1);
        memory.words()[WORDS - 1].store(last[WORDS - 1].to_le(), Ordering::Relaxed);
        assert_eq!(place.next(memory.words()), Some(last));
        assert_eq!(place.consumed, 1);
        memory.reclaim();
    }

    #[test]
    fn each_status_of_a_send_request_is_known() {
        let entry = |code: u32| {
            let mut words = [0; WORDS];
            completion::KIND.put(&mut words, transmit::kind::SEND.into());
            send_event::STATUS.put(&mut words, code.into());
            Entry::parse(&words, 1)
        };
        for (code, expected) in [
            (status::OK, SendStatus::Ok),
            (status::FLUSHED, SendStatus::Flushed),
            (status::MALFORMED, SendStatus::Malformed),
            (status::STAG, SendStatus::Stag),
            (status::ASSOC, SendStatus::NotAssociated),
            (status::ACCESS, SendStatus::Access),
            (status::BOUNDS, SendStatus::Bounds),
            (status::BUS, SendStatus::Bus),
        ] {
            match entry(code) {
                Ok(Entry::Sent(event)) => assert_eq!(event.status, expected),
                other => panic!("{code}: {other:?}"),
            }
        }
        assert_eq!(entry(15), Err("no such status"));
    }
}
