//! The streams as the host and the peer see them: requests that are posted, segments that are due of them, and the judgement of
//! what left the block.

use std::collections::VecDeque;

use warpline_hdl::records::SendSegment;
use warpline_hdl::tx::ddp::segment::command::{TransmitArguments, TransmitCommand};
use warpline_hdl::tx::ddp::segment::mulpdu::largest_ulpdu;
use warpline_regmap::transmit::{Element, Payload, SendRequest, Slot, Target, status};
use warpline_wire::ddp::{TaggedHeader, UntaggedHeader};
use warpline_wire::mpa;

/// Segments that may have been decided, and not have left the block, when an event comes: four whose pieces lie in the queue, one that is
/// walked, and one that is decided.
const DECIDED: usize = 6;
/// Octets of the rings.
pub const RING: u32 = 4096;

/// An event for a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Open,
    Freeze,
    Fail,
    Settled,
    Freed(u32),
}

/// A part of a segment as it is due: octets, or local memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Octets(Vec<u8>),
    Memory(Element),
}

/// A segment, or a report without one, as it left the block.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Cycle in which its record was accepted, and its first piece.
    pub cycle: usize,
    pub first_piece: usize,
    pub segment: SendSegment,
    pub parts: Vec<Part>,
    pub status: u32,
}

/// A slot, and the request that it holds unless it is none.
#[derive(Clone, Debug)]
pub struct Posted {
    pub slot: Slot,
    pub request: Option<SendRequest>,
    /// The bus refuses to read it.
    pub unread: bool,
    /// Octet of the message at which its elements are wrong; that of the end if there are more octets.
    pub wrong_at: Option<u32>,
}

impl Posted {
    /// Whether the bench says that it is a Read Response: an arbitrary half of the slots is.
    pub fn is_response(&self) -> bool {
        let name = warpline_regmap::transmit::send_slot::REQUEST.get(&self.slot);
        !self.unread && name.count_ones() % 2 == 1
    }
}

/// A stream as the host and its peer see it.
#[derive(Clone, Debug)]
pub struct Stream {
    pub number: u8,
    pub domain: u16,
    pub markers: bool,
    pub crc: bool,
    pub mulpdu: u16,
    /// The one before, of segments that were decided before it changed.
    pub mulpdu_before: Option<(u16, usize)>,
    pub slots: VecDeque<Posted>,
    /// What the block has not popped: the same, without those whose segments have not been seen yet.
    pub unpopped: VecDeque<Posted>,
    pub popped: u16,
    pub position: u32,
    pub acknowledged: u32,
    pub sent: u32,
    pub msns: Vec<u32>,
    pub reported: u16,
    pub is_open: bool,
    pub frozen: Option<usize>,
    pub flushing: Option<usize>,
    /// A failed request, or the last message: the requests behind it are flushed.
    pub ended: bool,
    /// Cycles until the next slot is there.
    pub delay: usize,
    pub under_way: usize,
    /// Slots that are popped, and whose last segment was not accepted.
    pub unaccepted: usize,
    /// Segments whose last piece was accepted, and those whose record was.
    pub given: (usize, usize),
}

impl Stream {
    pub fn new(number: u8) -> Self {
        Self {
            number,
            domain: 0,
            markers: false,
            crc: false,
            mulpdu: 0,
            mulpdu_before: None,
            slots: VecDeque::new(),
            unpopped: VecDeque::new(),
            popped: 0,
            position: 0,
            acknowledged: 0,
            sent: 0,
            msns: vec![],
            reported: 0,
            is_open: false,
            frozen: None,
            flushing: None,
            ended: false,
            delay: 0,
            under_way: 0,
            unaccepted: 0,
            given: (0, 0),
        }
    }

    pub fn post(&mut self, request: &SendRequest) {
        self.post_slot(request.emit(), Some(*request));
    }

    pub fn post_slot(&mut self, slot: Slot, request: Option<SendRequest>) {
        let posted = Posted {
            slot,
            request,
            unread: false,
            wrong_at: None,
        };
        self.post_as(posted);
    }

    pub fn post_as(&mut self, posted: Posted) {
        self.slots.push_back(posted.clone());
        self.unpopped.push_back(posted);
    }

    /// The parts of the request's next segment, its ULPDU's octets, whether it is the last one, and payload octets.
    fn next_segment(&self, request: &SendRequest, mulpdu: u16) -> (Vec<Part>, usize, bool, u32) {
        let total = request.payload().length();
        let (header_len, header): (usize, Box<dyn Fn(bool) -> Vec<u8>>) = match request.target() {
            Target::Tagged {
                stag,
                offset,
                rsvd_ulp,
            } => {
                let to = offset.wrapping_add(self.sent.into());
                let header = move |last| {
                    let header = TaggedHeader {
                        last,
                        rsvd_ulp,
                        stag,
                        to,
                    };
                    header.emit().to_vec()
                };
                (14, Box::new(header))
            }
            Target::Untagged { queue, rsvd_ulp } => {
                let (msn, mo) = (self.msns[queue as usize], self.sent);
                let header = move |last| {
                    let header = UntaggedHeader {
                        last,
                        rsvd_ulp,
                        qn: queue,
                        msn,
                        mo,
                    };
                    header.emit().to_vec()
                };
                (18, Box::new(header))
            }
        };
        let room = u32::from(mulpdu) - header_len as u32;
        let count = room.min(total - self.sent);
        let last = self.sent + count == total;
        let mut parts = vec![Part::Octets(header(last))];
        match request.payload() {
            Payload::Inline(inline) => {
                let chunks = inline.as_slice().chunks(16);
                parts.extend(chunks.map(|octets| Part::Octets(octets.to_vec())));
            }
            Payload::Gather(gather) => {
                let (mut skip, mut left) = (u64::from(self.sent), u64::from(count));
                for element in gather.as_slice() {
                    let length = u64::from(element.length);
                    let taken = length.saturating_sub(skip).min(left);
                    if taken > 0 {
                        parts.push(Part::Memory(Element {
                            stag: element.stag,
                            length: taken as u32,
                            offset: element.offset.wrapping_add(skip),
                        }));
                    }
                    skip = skip.saturating_sub(length);
                    left -= taken;
                }
            }
        }
        (parts, header_len + count as usize, last, count)
    }

    /// Whether a flush may, and whether it must, be what comes next.
    fn flush(&self, request: Option<&SendRequest>) -> (bool, bool) {
        let terminates = request.is_some_and(|r| r.flags().terminate) && self.is_open;
        let frozen = self.frozen.filter(|_| !terminates);
        let after = self.flushing.or(frozen);
        let must = self.ended || after.is_some_and(|segments| segments >= DECIDED);
        (self.ended || after.is_some(), must)
    }

    /// Judges what left the block.
    pub fn judge(&mut self, seen: &Seen) -> Result<(), String> {
        let Some(posted) = self.slots.front().cloned() else {
            return Err("a segment of no request".into());
        };
        let record = &seen.segment;
        let may_must = self.flush(posted.request.as_ref());
        for after in [&mut self.flushing, &mut self.frozen].into_iter().flatten() {
            *after += 1;
        }
        if let Some((_, after)) = &mut self.mulpdu_before {
            *after += 1;
        }
        if seen.status == status::FLUSHED && !may_must.0 {
            return Err("flushed for no reason".into());
        }
        if seen.status != status::FLUSHED && may_must.1 {
            return Err("not flushed".into());
        }
        let mut due = *record;
        due.consumed = u64::from(self.reported.wrapping_add(1)).into();
        due.first = self.sent == 0;
        due.response = posted.is_response();
        let name = warpline_regmap::transmit::send_slot::REQUEST.get(&posted.slot);
        let length = warpline_regmap::transmit::send_slot::LENGTH.get(&posted.slot);
        if !posted.unread {
            (due.request, due.octets) = (name.into(), length.into());
        }
        let fails = match (posted.unread, posted.request) {
            (true, _) => Some(status::BUS),
            (_, None) => Some(status::MALFORMED),
            _ => None,
        };
        if seen.status != 0 {
            let fails = fails.or(self.wrong_here(&posted));
            if seen.status != status::FLUSHED && fails != Some(seen.status) {
                return Err(format!("status {}, due {fails:?}", seen.status));
            }
            due.last = true;
            if *record != due {
                return Err(format!("{record:?}, due {due:?}"));
            }
            self.ended |= seen.status != status::FLUSHED;
            self.next_request();
            return Ok(());
        }
        let fails = fails.or(self.wrong_here(&posted));
        if fails.is_some() {
            return Err(format!("sent, due {fails:?}"));
        }
        if !self.is_open {
            return Err("sent while the gate is closed".into());
        }
        let request = posted.request.expect("it does not fail");
        let before = self.mulpdu_before.filter(|(_, after)| *after <= DECIDED);
        let sizes = [Some(self.mulpdu), before.map(|(mulpdu, _)| mulpdu)];
        let found = sizes.into_iter().flatten().map(|mulpdu| {
            let next = self.next_segment(&request, mulpdu);
            (next.0 == seen.parts, next)
        });
        let mut found: Vec<_> = found.collect();
        let index = found.iter().position(|(same, _)| *same);
        let (same, (parts, ulpdu, last, count)) = found.swap_remove(index.unwrap_or(0));
        if !same {
            return Err(format!("{:?}, due {parts:?}", seen.parts));
        }
        due.stream = u64::from(self.number).into();
        due.position = u64::from(self.position).into();
        due.length = (ulpdu as u64).into();
        (due.markers, due.crc) = (self.markers, self.crc);
        due.last = last;
        due.signalled = request.flags().signalled;
        if *record != due {
            return Err(format!("{record:?}, due {due:?}"));
        }
        let length = mpa::fpdu_len(self.position, ulpdu, self.markers) as u32;
        self.position = self.position.wrapping_add(length);
        if self.position.wrapping_sub(self.acknowledged & !3) > RING {
            return Err("more than the ring holds".into());
        }
        self.sent += count;
        if last {
            if let Target::Untagged { queue, .. } = request.target() {
                let msn = &mut self.msns[queue as usize];
                *msn = msn.wrapping_add(1);
            }
            self.ended |= request.flags().terminate;
            self.next_request();
        }
        Ok(())
    }

    /// The status of the next segment if it reaches what is wrong about the elements.
    fn wrong_here(&self, posted: &Posted) -> Option<u32> {
        let (at, request) = (posted.wrong_at?, posted.request.as_ref()?);
        let (_, _, last, count) = self.next_segment(request, self.mulpdu);
        let here = at < self.sent + count || last;
        here.then_some(status::MALFORMED)
    }

    fn next_request(&mut self) {
        self.sent = 0;
        self.reported = self.reported.wrapping_add(1);
        self.slots.pop_front();
    }

    /// An event has come.
    pub fn happened(&mut self, event: Event) {
        match event {
            Event::Open => self.is_open = true,
            Event::Freeze => self.frozen = self.frozen.or(Some(0)),
            Event::Fail => self.flushing = self.flushing.or(Some(0)),
            Event::Settled => {}
            Event::Freed(position) => self.acknowledged = position,
        }
    }

    /// A command is carried out.
    pub fn carried_out(&mut self, command: TransmitCommand, arguments: &TransmitArguments) {
        let largest = largest_ulpdu(RING as usize, arguments.markers);
        let emss = arguments.emss.index() as u32;
        match command {
            TransmitCommand::Clear => {
                assert!(self.slots.is_empty(), "the bench closes first");
                *self = Self::new(self.number);
            }
            TransmitCommand::Arm => {
                self.domain = arguments.protection_domain.index() as u16;
                (self.markers, self.crc) = (arguments.markers, arguments.crc);
                self.mulpdu = mpa::mulpdu(emss, self.markers).min(largest);
                self.is_open |= !arguments.gate;
                self.msns = vec![arguments.first_msn.index() as u32; 256];
            }
            TransmitCommand::SetEmss => {
                let largest = largest_ulpdu(RING as usize, self.markers);
                self.mulpdu_before = Some((self.mulpdu, 0));
                self.mulpdu = mpa::mulpdu(emss, self.markers).min(largest);
            }
            TransmitCommand::Close => self.flushing = self.flushing.or(Some(0)),
        }
    }
}
