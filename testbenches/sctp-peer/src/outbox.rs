//! Messages on their way out, cut into DDP segments one at a time.

use std::collections::VecDeque;

use warpline_wire::ddp::MAX_HEADER_LEN;
use warpline_wire::send::{self, DdpSegment, Message, ddp_segments};

use crate::memory::Memory;

/// Where the payload of a message is.
#[derive(Clone, Debug)]
pub enum Payload {
    /// Here.
    Octets(Vec<u8>),
    /// In a region.
    Region {
        /// Its STag.
        stag: u32,
        /// Tagged Offset of the first octet.
        to: u64,
        /// Octets.
        len: u32,
    },
}

/// A message whose segments are on their way.
struct Outgoing {
    segments: Box<dyn Iterator<Item = DdpSegment>>,
    payload: Payload,
    /// The next one.
    next: Option<DdpSegment>,
}

/// A DDP segment.
pub struct Segment<'m> {
    header: [u8; MAX_HEADER_LEN],
    header_len: usize,
    /// Its payload.
    pub payload: &'m [u8],
}

impl Segment<'_> {
    /// Its header.
    pub fn header(&self) -> &[u8] {
        self.header.get(..self.header_len).unwrap_or_default()
    }
}

/// Messages, in the order in which they are sent.
#[derive(Default)]
pub struct Outbox {
    messages: VecDeque<Outgoing>,
}

impl Outbox {
    /// Messages of which not all was taken.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Queues a message, in segments of at most `max_segment` octets.
    pub fn push(
        &mut self,
        message: Message,
        payload: Payload,
        max_segment: u16,
    ) -> Result<(), send::SendError> {
        let len = match &payload {
            Payload::Octets(octets) => octets.len() as u64,
            Payload::Region { len, .. } => (*len).into(),
        };
        let mut segments: Box<dyn Iterator<Item = _>> =
            Box::new(ddp_segments(message, len, max_segment)?);
        let next = segments.next();
        self.messages.push_back(Outgoing {
            segments,
            payload,
            next,
        });
        Ok(())
    }

    /// The next segment; of a region that is no more it has no payload.
    pub fn front<'m>(&'m self, memory: &'m Memory) -> Option<Segment<'m>> {
        let first = self.messages.front()?;
        let segment = first.next.as_ref()?;
        let (start, end) = (segment.payload.start as usize, segment.payload.end as usize);
        let payload = match &first.payload {
            Payload::Octets(octets) => octets.get(start..end),
            Payload::Region { stag, to, .. } => {
                memory.read(*stag, to.wrapping_add(start as u64), end - start)
            }
        };
        let mut header = [0; MAX_HEADER_LEN];
        let header_len = segment.header.emit(&mut header);
        Some(Segment {
            header,
            header_len,
            payload: payload.unwrap_or_default(),
        })
    }

    /// It was sent.
    pub fn pop(&mut self) {
        let Some(first) = self.messages.front_mut() else {
            return;
        };
        first.next = first.segments.next();
        if first.next.is_none() {
            self.messages.pop_front();
        }
    }

    /// Forgets all messages.
    pub fn clear(&mut self) {
        self.messages.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Region;

    #[test]
    fn messages_leave_in_order_and_in_segments() {
        let mut memory = Memory::default();
        let octets: Vec<u8> = (0..250).collect();
        let region = Region {
            base: 10,
            octets: octets.clone(),
            remote_write: false,
            remote_read: false,
        };
        memory.register(1, region);
        let mut outbox = Outbox::default();
        let write = Message::Tagged {
            stag: 9,
            to: 0,
            rsvd_ulp: 0x40,
        };
        let there = Payload::Region {
            stag: 1,
            to: 10,
            len: 250,
        };
        outbox.push(write, there, 128).unwrap();
        outbox.push(write, Payload::Octets(vec![7]), 128).unwrap();
        assert_eq!(outbox.len(), 2);
        let mut payloads = vec![];
        while let Some(segment) = outbox.front(&memory) {
            assert_eq!(segment.header().len(), 14);
            payloads.push(segment.payload.to_vec());
            outbox.pop();
        }
        let lengths: Vec<usize> = payloads.iter().map(Vec::len).collect();
        assert_eq!(lengths, [114, 114, 22, 1]);
        assert_eq!(payloads.concat()[..250], octets);
        assert_eq!(outbox.len(), 0);
    }
}
