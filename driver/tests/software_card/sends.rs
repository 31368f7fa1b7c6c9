//! The card's send rings: it reads requests, and reports them when it is told to.

use warpline_regmap::Field;
use warpline_regmap::transmit::{self, SendRequest, send_event, send_ring, send_slot};

use super::{Model, Ring, SoftwareCard};

impl SoftwareCard {
    /// Reports a request of a send ring.
    pub fn report(&self, stream: u8, request: &SendRequest, status: u32) {
        let mut model = self.model();
        model.report(stream.into(), request, status);
        model.complete();
    }

    /// Takes the requests that were read since the last call.
    pub fn take_sent(&self) -> Vec<SendRequest> {
        let sent = std::mem::take(&mut self.model().sent);
        sent.into_iter().map(|(_, request)| request).collect()
    }
}

impl Model {
    /// An entry for a request: its slot, and all before it, are free.
    pub(super) fn report(&mut self, stream: u32, request: &SendRequest, status: u32) {
        let consumed = self.sends.get(&stream).map_or(0, |ring| ring.read);
        let mut words = [0; send_event::WORDS];
        send_event::KIND.put(&mut words, transmit::kind::SEND.into());
        send_event::STREAM.put(&mut words, stream.into());
        send_event::STATUS.put(&mut words, status.into());
        send_event::CONSUMED.put(&mut words, consumed.into());
        send_event::LENGTH.put(&mut words, request.payload().length().into());
        send_event::REQUEST.put(&mut words, request.request());
        self.waiting.push_back(words);
    }

    /// The doorbell of send rings: reads the new slots.
    pub(super) fn send_doorbell(&mut self, value: u32) {
        let stream = transmit::SEND_PRODUCER_STREAM.get(&[value]) as u32;
        let count = transmit::SEND_PRODUCER_COUNT.get(&[value]) as u16;
        let Some(ring) = self.sends.get_mut(&stream) else {
            self.violations.push(format!(
                "doorbell of stream {stream}, which has no send ring"
            ));
            return;
        };
        let (base, entries, first) = (ring.base, ring.entries, ring.read);
        ring.read = count;
        let new = count.wrapping_sub(first);
        if u32::from(new) > entries {
            let text = format!("{new} requests in a ring of {entries}");
            self.violations.push(text);
            return;
        }
        for i in 0..new {
            let at = base + transmit::slot_offset(first.wrapping_add(i), entries);
            let slot = self.load::<{ send_slot::WORDS }>(at);
            match SendRequest::parse(&slot) {
                Ok(request) => {
                    if self.answers && request.flags().signalled {
                        self.report(stream, &request, transmit::status::OK);
                    }
                    self.sent.push((stream, request));
                }
                Err(error) => self.violations.push(error.to_string()),
            }
        }
    }

    /// `SET_SEND_RING`; false when it is refused.
    pub(super) fn attach_send_ring(&mut self, words: &[u32]) -> bool {
        let get = |field: Field| field.get(words);
        let stream = get(send_ring::STREAM) as u32;
        let ring = Ring {
            base: get(send_ring::BASE),
            entries: get(send_ring::ENTRIES) as u32,
            read: 0,
        };
        let sizes = transmit::ENTRIES_MIN..=transmit::ENTRIES_MAX;
        let legal = ring.entries.is_power_of_two() && sizes.contains(&ring.entries);
        if !legal || !ring.base.is_multiple_of(transmit::SLOT_OCTETS) {
            let text = format!("send ring of {} at {:#x}", ring.entries, ring.base);
            self.violations.push(text);
        }
        let armed = self.posted.keys().any(|(of, _)| *of == stream);
        let free = armed && !self.sends.contains_key(&stream);
        if free {
            self.sends.insert(stream, ring);
        }
        free
    }
}
