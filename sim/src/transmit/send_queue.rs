//! The send queue of a stream: requests become FPDUs.
//!
//! ```text
//!  doorbell ─► slot ─► elements checked ─► segment by segment: memory ─► FPDU ─► outgoing ─► TCP
//!                 └─► refused, flushed ──────────────────────────────────┐
//!                                          last segment, signalled ──────┴─► send_event
//! ```
//!
//! A step makes one FPDU at most. It stalls while the gate is closed, while `outgoing` is full, and while the completion queue
//! has no room for the entry that it would bring about.

use warpline_regmap::transmit::{
    self, Payload, SLOT_OCTETS, SendRequest, Slot, Target, kind, send_event, send_slot,
    slot_offset, status,
};
use warpline_wire::ddp::{TAGGED_HEADER_LEN, TaggedHeader, UNTAGGED_HEADER_LEN, UntaggedHeader};
use warpline_wire::mpa;
use warpline_wire::send::{CrcField, FpduWriter};

use super::completions::{Completions, Entry};
use super::outgoing::Outgoing;
use super::stags::Stags;
use crate::host::Host;

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
    request: SendRequest,
    /// Bus address and octets of each element.
    memory: Vec<(u64, u32)>,
    /// Octets that were sent.
    sent: u32,
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
            Some(current) if sends && !self.frozen_against(&current.request) => {
                self.segment(current, around);
            }
            Some(current) => self.report(around, &current.request, status::FLUSHED),
            None => self.fetch(around),
        }
        true
    }

    /// Whether the request is flushed since the stream is frozen.
    fn frozen_against(&self, request: &SendRequest) -> bool {
        let open = self.context.as_ref().is_some_and(|context| context.open);
        self.frozen && !(request.flags().terminate && open)
    }

    /// Reads the next slot, and checks all that can be checked before memory is read.
    fn fetch(&mut self, around: &mut Surroundings<'_>) {
        let Some(ring) = &mut self.ring else { return };
        let mut octets = [0; SLOT_OCTETS as usize];
        let address = ring.base + slot_offset(ring.consumed, ring.entries);
        let read = around.host.load(address, &mut octets);
        ring.consumed = ring.consumed.wrapping_add(1);
        let mut slot: Slot = [0; send_slot::WORDS];
        for (word, octets) in slot.iter_mut().zip(octets.as_chunks().0) {
            *word = u32::from_le_bytes(*octets);
        }
        let (name, length) = (send_slot::REQUEST.get(&slot), send_slot::LENGTH.get(&slot));
        if !read {
            return self.refuse(around, name, length, status::BUS);
        }
        let Ok(request) = SendRequest::parse(&slot) else {
            let status = match self.closing || self.ended || self.frozen {
                true => status::FLUSHED,
                false => status::MALFORMED,
            };
            return self.refuse(around, name, length, status);
        };
        if self.closing || self.ended || self.frozen_against(&request) {
            return self.report(around, &request, status::FLUSHED);
        }
        let mut memory = Vec::new();
        if let Payload::Gather(gather) = request.payload() {
            for element in gather.as_slice() {
                let domain = self.domain.unwrap_or_default();
                match around.stags.check(element, self.stream, domain) {
                    Ok(address) => memory.push((address, element.length)),
                    Err(status) => return self.report(around, &request, status),
                }
            }
        }
        let msn = match request.target() {
            Target::Tagged { .. } => 0,
            Target::Untagged { queue, .. } => {
                let Some(count) = self.count(queue) else {
                    return self.report(around, &request, status::MALFORMED);
                };
                let before = *count;
                *count = before.wrapping_add(1);
                let first = self.context.as_ref().map_or(1, |context| context.first_msn);
                first.wrapping_add(before)
            }
        };
        self.current = Some(Current {
            request,
            memory,
            sent: 0,
            msn,
        });
    }

    /// Messages sent to an untagged queue; none beyond the queues that are counted.
    fn count(&mut self, queue: u32) -> Option<&mut u32> {
        self.messages.resize(transmit::QUEUES as usize, 0);
        self.messages.get_mut(queue as usize)
    }

    /// Sends the next segment of a request.
    fn segment(&mut self, mut current: Current, around: &mut Surroundings<'_>) {
        let Some(context) = &mut self.context else {
            return;
        };
        let total = current.request.payload().length();
        let mulpdu = mpa::mulpdu(context.emss.into(), context.markers);
        let header_len = match current.request.target() {
            Target::Tagged { .. } => TAGGED_HEADER_LEN,
            Target::Untagged { .. } => UNTAGGED_HEADER_LEN,
        };
        let room = u32::from(mulpdu) - header_len as u32;
        let offset = current.sent;
        let count = room.min(total - offset);
        let last = offset + count == total;
        let mut payload = vec![0; count as usize];
        let read = match current.request.payload() {
            Payload::Inline(inline) => {
                payload.copy_from_slice(&inline.as_slice()[offset as usize..][..count as usize]);
                true
            }
            Payload::Gather(_) => gather(around.host, &current.memory, offset, &mut payload),
        };
        if !read {
            return self.report(around, &current.request, status::BUS);
        }
        let (tagged, untagged);
        let header: &[u8] = match current.request.target() {
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
        let flags = current.request.flags();
        if flags.signalled {
            self.report(around, &current.request, status::OK);
        }
        self.ended |= flags.terminate;
    }

    fn report(&mut self, around: &mut Surroundings<'_>, request: &SendRequest, status: u32) {
        let length = request.payload().length().into();
        self.refuse(around, request.request(), length, status);
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

/// Reads the octets of the elements from `offset` on.
fn gather(host: &Host, memory: &[(u64, u32)], offset: u32, payload: &mut [u8]) -> bool {
    let (mut skip, mut done) = (u64::from(offset), 0);
    for &(address, length) in memory {
        let length = u64::from(length);
        if skip >= length {
            skip -= length;
            continue;
        }
        let count = (length - skip).min((payload.len() - done) as u64) as usize;
        let mut rest = &mut payload[done..done + count];
        let mut at = address.wrapping_add(skip);
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
        done += count;
        skip = 0;
        if done == payload.len() {
            break;
        }
    }
    done == payload.len()
}
