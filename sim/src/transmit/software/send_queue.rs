//! The send queue of a stream: requests become FPDUs.
//!
//! ```text
//!  doorbell ─► slot ─► segment by segment: elements checked ─► memory ─► FPDU ─► outgoing ─► TCP
//!                 └─► refused, flushed ◄──────────┴──────────────┘
//!                           └──────────┬── last segment, signalled
//!                                      └─► send_event
//! ```
//!
//! As in the RTL, the elements that a segment reaches are checked when it is cut, so those in front of a bad element leave.
//!
//! A step makes one FPDU at most. It stalls while the gate is closed, while `outgoing` is full, and while the completion queue
//! has no room for the entry that it would bring about.

use warpline_regmap::transmit::{
    self, Element, SLOT_OCTETS, Slot, Target, kind, send_event, send_slot, slot_offset, status,
};
use warpline_wire::ddp::{TAGGED_HEADER_LEN, TaggedHeader, UNTAGGED_HEADER_LEN, UntaggedHeader};
use warpline_wire::mpa;
use warpline_wire::send::{CrcField, FpduWriter};

use super::completions::{Completions, Entry};
use super::request::{self, Payload, Request};
use super::stags::Stags;
use crate::host::Host;
use crate::transmit::outgoing::Outgoing;

/// Octets that wait for TCP, above which no FPDU is made.
const OUTGOING: usize = 64 << 10;

/// What the rest of the card gives to a step.
pub(crate) struct Surroundings<'s> {
    pub host: &'s Host,
    pub stags: &'s Stags,
    pub completions: &'s mut Completions,
}

/// A ring of requests.
#[derive(Clone, Copy, Debug)]
struct Ring {
    base: u64,
    entries: u32,
    /// Slots announced and read, modulo 2^16.
    produced: u16,
    consumed: u16,
}

/// What start-up has settled for the sending direction.
#[derive(Debug)]
struct Context {
    writer: FpduWriter,
    markers: bool,
    emss: u16,
    open: bool,
    first_msn: u32,
}

/// A request under way.
#[derive(Debug)]
struct Current {
    request: Request,
    /// Octets that were sent.
    sent: u32,
    /// Element that is next, and octets of it that were sent.
    element: usize,
    into: u32,
    msn: u32,
}

/// The sending direction of a stream.
#[derive(Debug, Default)]
pub(crate) struct SendQueue {
    stream: u8,
    /// Protection domain of the stream, while it is armed.
    pub domain: Option<u16>,
    context: Option<Context>,
    ring: Option<Ring>,
    current: Option<Current>,
    /// Messages sent to each untagged queue.
    messages: Vec<u32>,
    /// FPDUs that TCP has not accepted.
    pub outgoing: Outgoing,
    /// An error of the receive side has frozen the stream.
    frozen: bool,
    /// A request has failed, or the last message is sent.
    ended: bool,
    /// The stream is being closed: all requests are flushed.
    closing: bool,
}

impl SendQueue {
    /// The queue of a stream that is not armed.
    pub fn new(stream: u8) -> Self {
        Self {
            stream,
            ..Self::default()
        }
    }

    /// `ARM_STREAM` was carried out.
    pub fn arm_stream(&mut self, domain: u16) {
        *self = Self {
            domain: Some(domain),
            ..Self::new(self.stream)
        };
    }

    /// `SET_SEND_RING`: false when it is refused.
    pub fn attach(&mut self, base: u64, entries: u32) -> bool {
        let sizes = transmit::ENTRIES_MIN..=transmit::ENTRIES_MAX;
        let good = entries.is_power_of_two()
            && sizes.contains(&entries)
            && base.is_multiple_of(SLOT_OCTETS)
            && self.domain.is_some()
            && self.ring.is_none()
            && !self.closing;
        if good {
            let (produced, consumed) = (0, 0);
            self.ring = Some(Ring {
                base,
                entries,
                produced,
                consumed,
            });
        }
        good
    }

    /// `ARM_TRANSMIT`: false when it is refused.
    pub fn arm(&mut self, words: &[u32]) -> bool {
        use transmit::transmit_context as field;
        let emss = field::EMSS.get(words) as u16;
        if self.domain.is_none() || self.context.is_some() || self.closing || !is_emss(emss) {
            return false;
        }
        let markers = field::MARKERS.get(words) == 1;
        let crc = match field::CRC.get(words) {
            0 => CrcField::Zero,
            _ => CrcField::Computed,
        };
        self.context = Some(Context {
            writer: FpduWriter::new(markers, crc),
            markers,
            emss,
            open: field::GATE.get(words) == 0,
            first_msn: field::FIRST_MSN.get(words) as u32,
        });
        true
    }

    /// `SET_EMSS`: false when it is refused.
    pub fn set_emss(&mut self, emss: u16) -> bool {
        match &mut self.context {
            Some(context) if is_emss(emss) => {
                context.emss = emss;
                true
            }
            _ => false,
        }
    }

    /// The doorbell: `count` slots are written, modulo 2^16.
    pub fn ring(&mut self, count: u16) {
        if let Some(ring) = self.ring.as_mut().filter(|_| !self.closing) {
            ring.produced = count;
        }
    }

    /// MPA has found a received FPDU valid.
    pub fn open_gate(&mut self) {
        if let Some(context) = &mut self.context {
            context.open = true;
        }
    }

    /// An error of the receive side freezes the stream.
    pub fn freeze(&mut self) {
        self.frozen = true;
    }

    /// `CLOSE_STREAM` has begun: nothing is sent any more.
    pub fn close(&mut self) {
        self.closing = true;
        self.outgoing.clear();
    }

    /// `CLOSE_STREAM`: whether all requests are flushed. The queue is then as before the stream was armed.
    pub fn is_closed(&mut self) -> bool {
        let flushed = self.current.is_none() && self.unread() == 0;
        if flushed {
            *self = Self::new(self.stream);
        }
        flushed
    }

    /// What `TRANSMIT_STATE` reads.
    pub fn state(&self) -> u32 {
        let mut word = [0];
        let armed = self.context.is_some();
        let open = self.context.as_ref().is_some_and(|context| context.open);
        let idle = self.current.is_none() && self.unread() == 0 && self.outgoing.octets() == 0;
        transmit::TRANSMIT_ARMED.put(&mut word, armed.into());
        transmit::TRANSMIT_OPEN.put(&mut word, open.into());
        transmit::TRANSMIT_IDLE.put(&mut word, idle.into());
        transmit::TRANSMIT_ENDED.put(&mut word, self.ended.into());
        word[0]
    }

    /// Whether a step could do something, the completion queue aside.
    pub fn has_work(&self) -> bool {
        let open = self.context.as_ref().is_some_and(|context| context.open);
        let flushes = self.closing || self.ended || self.frozen;
        let requests = self.current.is_some() || self.unread() > 0;
        requests && (flushes || (open && self.outgoing.octets() < OUTGOING))
    }

    fn unread(&self) -> u16 {
        self.ring
            .map_or(0, |ring| ring.produced.wrapping_sub(ring.consumed))
    }

    /// Makes the next FPDU, or settles the next request without one. False when there is nothing to do now.
    pub fn step(&mut self, around: &mut Surroundings<'_>) -> bool {
        if self.current.is_none() && self.unread() == 0 {
            return false;
        }
        let sends = !self.closing && !self.ended;
        let open = self.context.as_ref().is_some_and(|context| context.open);
        // Flushing needs no gate.
        if sends && !self.frozen && (!open || self.outgoing.octets() >= OUTGOING) {
            return false;
        }
        if !around.completions.has_room() {
            return false;
        }
        match self.current.take() {
            Some(current) if !self.flushes(current.request.flags) => self.segment(current, around),
            Some(current) => self.report(around, &current.request, status::FLUSHED),
            None => self.fetch(around),
        }
        true
    }

    /// Whether a request with these options is flushed: a frozen stream still sends its last message.
    fn flushes(&self, flags: transmit::Flags) -> bool {
        let open = self.context.as_ref().is_some_and(|context| context.open);
        self.closing || self.ended || self.frozen && !(flags.terminate && open)
    }

    /// Reads the next slot, and judges its head.
    fn fetch(&mut self, around: &mut Surroundings<'_>) {
        let Some(ring) = &mut self.ring else { return };
        let mut octets = [0; SLOT_OCTETS as usize];
        let address = ring
            .base
            .wrapping_add(slot_offset(ring.consumed, ring.entries));
        let read = around.host.load(address, &mut octets);
        ring.consumed = ring.consumed.wrapping_add(1);
        let mut slot: Slot = [0; send_slot::WORDS];
        for (word, octets) in slot.iter_mut().zip(octets.as_chunks().0) {
            *word = u32::from_le_bytes(*octets);
        }
        let request = request::parse(&slot);
        let refusal = if self.flushes(request::flags(&slot)) {
            Some(status::FLUSHED)
        } else if !read {
            Some(status::BUS)
        } else {
            request.is_none().then_some(status::MALFORMED)
        };
        let (name, length) = (send_slot::REQUEST.get(&slot), send_slot::LENGTH.get(&slot));
        if let Some(status) = refusal {
            return self.refuse(around, name, length, status);
        }
        let Some(request) = request else { return };
        let msn = match request.target {
            Target::Tagged { .. } => 0,
            Target::Untagged { queue, .. } => {
                let first = self.context.as_ref().map_or(1, |context| context.first_msn);
                self.messages.resize(transmit::QUEUES as usize, 0);
                let count = &mut self.messages[queue as usize]; // the head was judged
                let before = *count;
                *count = before.wrapping_add(1);
                first.wrapping_add(before)
            }
        };
        self.current = Some(Current {
            request,
            sent: 0,
            element: 0,
            into: 0,
            msn,
        });
    }

    /// Sends the next segment of a request.
    fn segment(&mut self, mut current: Current, around: &mut Surroundings<'_>) {
        let Some(context) = &mut self.context else {
            return;
        };
        let total = current.request.length;
        let mulpdu = mpa::mulpdu(context.emss.into(), context.markers);
        let header_len = match current.request.target {
            Target::Tagged { .. } => TAGGED_HEADER_LEN,
            Target::Untagged { .. } => UNTAGGED_HEADER_LEN,
        };
        let room = u32::from(mulpdu) - header_len as u32;
        let offset = current.sent;
        let count = room.min(total - offset);
        let last = offset + count == total;
        let mut payload = vec![0; count as usize];
        let domain = self.domain.unwrap_or_default();
        let read = match &current.request.payload {
            Payload::Inline(inline) => {
                payload.copy_from_slice(&inline[offset as usize..][..count as usize]);
                Ok(())
            }
            Payload::Gather(elements) => {
                let check = |element: &Element| around.stags.check(element, self.stream, domain);
                let place = (&mut current.element, &mut current.into);
                ranges(elements, place, count, last, check).and_then(|memory| {
                    let read = gather(around.host, &memory, &mut payload);
                    read.then_some(()).ok_or(status::BUS)
                })
            }
        };
        if let Err(status) = read {
            return self.report(around, &current.request, status);
        }
        let (tagged, untagged);
        let header: &[u8] = match current.request.target {
            Target::Tagged {
                stag,
                offset: to,
                rsvd_ulp,
            } => {
                tagged = TaggedHeader {
                    last,
                    rsvd_ulp,
                    stag,
                    to: to.wrapping_add(offset.into()),
                }
                .emit();
                &tagged
            }
            Target::Untagged { queue, rsvd_ulp } => {
                untagged = UntaggedHeader {
                    last,
                    rsvd_ulp,
                    qn: queue,
                    msn: current.msn,
                    mo: offset,
                }
                .emit();
                &untagged
            }
        };
        let mut fpdu = Vec::new();
        if let Err(error) = context.writer.append(header, &payload, &mut fpdu) {
            tracing::error!(%error, "a segment that fits MULPDU cannot be framed");
            return self.report(around, &current.request, status::MALFORMED);
        }
        self.outgoing.push(fpdu);
        current.sent += count;
        if !last {
            self.current = Some(current);
            return;
        }
        let flags = current.request.flags;
        if flags.signalled {
            self.report(around, &current.request, status::OK);
        }
        self.ended |= flags.terminate;
    }

    fn report(&mut self, around: &mut Surroundings<'_>, request: &Request, status: u32) {
        self.refuse(around, request.name, request.length.into(), status);
    }

    /// Writes a `send_event`. A status of a failed request ends the queue.
    fn refuse(&mut self, around: &mut Surroundings<'_>, name: u64, length: u64, status: u32) {
        self.ended |= ![status::OK, status::FLUSHED].contains(&status);
        let consumed = self.ring.map_or(0, |ring| ring.consumed);
        let mut entry = Entry::default();
        send_event::KIND.put(&mut entry, kind::SEND.into());
        send_event::STREAM.put(&mut entry, self.stream.into());
        send_event::STATUS.put(&mut entry, status.into());
        send_event::CONSUMED.put(&mut entry, consumed.into());
        send_event::LENGTH.put(&mut entry, length);
        send_event::REQUEST.put(&mut entry, name);
        around.completions.push(around.host, entry);
    }
}

fn is_emss(emss: u16) -> bool {
    emss >= mpa::MIN_MULPDU
}

/// Bus addresses and octets of the next `count` octets of a message, whose last ones they are or not; or the status of the
/// request. An element that has no octets, elements whose sum is less than `LENGTH`, or more at the message's end, are malformed.
fn ranges(
    elements: &[Element],
    (index, into): (&mut usize, &mut u32),
    count: u32,
    last: bool,
    check: impl Fn(&Element) -> Result<u64, u32>,
) -> Result<Vec<(u64, u32)>, u32> {
    let (mut memory, mut left) = (vec![], count);
    while left > 0 {
        let element = elements.get(*index).filter(|element| element.length > 0);
        let element = element.ok_or(status::MALFORMED)?;
        let available = element.length - *into;
        let more = available > left || *index + 1 < elements.len();
        if last && available >= left && more {
            return Err(status::MALFORMED);
        }
        let length = available.min(left);
        let part = Element {
            length,
            offset: element.offset.wrapping_add(u64::from(*into)),
            ..*element
        };
        memory.push((check(&part)?, length));
        left -= length;
        *into += length;
        if length == available {
            (*index, *into) = (*index + 1, 0);
        }
    }
    Ok(memory)
}

/// Reads the octets of these ranges.
fn gather(host: &Host, memory: &[(u64, u32)], mut payload: &mut [u8]) -> bool {
    for &(mut at, length) in memory {
        let (mut rest, behind) = payload.split_at_mut(length as usize);
        payload = behind;
        // A page at a time: the maps of two pages may be different ones.
        while !rest.is_empty() {
            let page = (4096 - at % 4096) as usize;
            let (now, later) = rest.split_at_mut(page.min(rest.len()));
            if !host.load(at, now) {
                return false;
            }
            at = at.wrapping_add(now.len() as u64);
            rest = later;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranges of memory or a status, and the place behind them.
    type Walked = (Result<Vec<(u64, u32)>, u32>, (usize, u32));

    /// Elements of these lengths, and what the next `count` octets from an element's octet on are made of.
    fn walk(
        lengths: &[u32],
        (mut index, mut into): (usize, u32),
        count: u32,
        last: bool,
    ) -> Walked {
        let elements: Vec<Element> = (1..)
            .zip(lengths)
            .map(|(stag, &length)| Element {
                stag,
                length,
                offset: u64::MAX - 9,
            })
            .collect();
        let check = |element: &Element| match element.stag {
            9 => Err(status::STAG),
            stag => Ok(u64::from(stag) << 32 | (element.offset & 0xFF)),
        };
        let found = ranges(&elements, (&mut index, &mut into), count, last, check);
        (found, (index, into))
    }

    #[test]
    fn elements_are_walked_segment_by_segment() {
        let at = |stag: u64, into: u64| stag << 32 | (0xF6 + into) & 0xFF;
        let (found, place) = walk(&[5, 7], (0, 0), 8, false);
        assert_eq!(found, Ok(vec![(at(1, 0), 5), (at(2, 0), 3)]));
        assert_eq!(place, (1, 3));
        let (found, _) = walk(&[5, 7], place, 4, true);
        assert_eq!(found, Ok(vec![(at(2, 3), 4)]));
        // Less than LENGTH, more at its end, and an empty element, when they are reached.
        let malformed = Err(status::MALFORMED);
        assert_eq!(walk(&[5, 7], (0, 0), 13, true).0, malformed);
        assert_eq!(walk(&[5, 7], (1, 3), 3, true).0, malformed);
        assert_eq!(walk(&[5, 7, 1], (1, 3), 4, true).0, malformed);
        assert_eq!(walk(&[5, 0], (0, 0), 6, false).0, malformed);
        assert!(walk(&[5, 0], (0, 0), 5, false).0.is_ok());
        // The first element that fails decides.
        let mut lengths = [1; 9];
        lengths[7] = 2;
        assert_eq!(walk(&lengths, (0, 0), 9, false).0.unwrap().len(), 8);
        assert_eq!(walk(&lengths, (0, 0), 10, true).0, Err(status::STAG));
    }
}
