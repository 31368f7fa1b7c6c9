//! The octets of a stream: messages that the receiver has room for, and what a hostile or broken peer sends.
//!
//! ```text
//!  messages ─► segments ─┬─► FpduWriter ─► FPDU ─► spoilt afterwards: flipped bits, lengths, markers
//!  wrong headers ────────┘
//! ```
//!
//! At most one fault a stream, since nothing counts behind it; oddities that are no errors come as they like.

use fastrand::Rng;
use warpline_hdl::Config;
use warpline_wire::ddp::{self, Header, TaggedHeader, UntaggedHeader};
use warpline_wire::send::{CrcField, DdpSegment, FpduWriter, Message, ddp_segments};
use warpline_wire::{crc, marker, mpa};

use super::{Post, QUEUES, Region, Stream};
use crate::stimulus::chance;

/// What a peer does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    // Headers
    UnknownStag,
    SimilarStag,
    AnyStag,
    BelowRegion,
    EndOfRegion,
    AcrossEnd,
    WildOffset,
    AddressWrap,
    Forbidden,
    TaggedVersion,
    UntaggedVersion,
    UnknownQueue,
    AnyQueue,
    MsnAhead,
    MsnBehind,
    MsnWild,
    OffsetAtEnd,
    OffsetWild,
    OffsetInside,
    TooLong,
    NoBuffer,
    ShortTagged,
    ShortUntagged,
    // FPDUs
    Bits,
    Length,
    LengthSealed,
    LengthAboveLimit,
    Marker,
    Garbage,
}

impl Wrong {
    const ALL: [Self; 27] = [
        Self::UnknownStag,
        Self::SimilarStag,
        Self::AnyStag,
        Self::BelowRegion,
        Self::EndOfRegion,
        Self::AcrossEnd,
        Self::WildOffset,
        Self::AddressWrap,
        Self::TaggedVersion,
        Self::UntaggedVersion,
        Self::UnknownQueue,
        Self::AnyQueue,
        Self::MsnAhead,
        Self::MsnBehind,
        Self::MsnWild,
        Self::OffsetAtEnd,
        Self::OffsetWild,
        Self::TooLong,
        Self::NoBuffer,
        Self::ShortTagged,
        Self::ShortUntagged,
        Self::Bits,
        Self::Length,
        Self::LengthSealed,
        Self::LengthAboveLimit,
        Self::Marker,
        Self::Garbage,
    ];

    /// What needs a region or a stream of a certain kind, so that it seldom comes to pass.
    const RARE: [Self; 4] = [
        Self::AddressWrap,
        Self::Forbidden,
        Self::OffsetInside,
        Self::TooLong,
    ];
}

/// A segment to be sent: header octets and payload length.
#[derive(Clone, Debug)]
struct Draft {
    header: Vec<u8>,
    payload: usize,
}

/// What the peer knows of a stream.
pub(super) struct Traffic {
    writer: FpduWriter,
    field: CrcField,
    markers: bool,
    /// Octets of a beat.
    beat: usize,
    /// Octets of a ring.
    ring: usize,
    mulpdu: u16,
    /// Octets that a stream may still get.
    budget: usize,
    wrong: Option<Wrong>,
    queues: [Queue; QUEUES as usize],
    /// Draws what comes to a few streams only, so that the others stay what their seed made them.
    rare: Rng,
}

#[derive(Clone, Debug, Default)]
struct Queue {
    next_msn: u32,
    /// Lengths of the buffers that no message has had yet, the next one first.
    buffers: std::collections::VecDeque<u32>,
}

impl Traffic {
    /// A peer that has sent nothing yet.
    pub fn new(rng: &mut Rng, stream: &Stream, config: &Config, large: bool) -> Self {
        let options = &stream.options;
        let field = match !options.crc && rng.bool() {
            true => CrcField::Zero,
            false => CrcField::Computed,
        };
        let queue = Queue {
            next_msn: options.first_msn,
            ..Queue::default()
        };
        // What a ring holds, seldom more.
        let most_markers = 4 * config.ring_octets.div_ceil(512);
        let fits = config.ring_octets - most_markers - mpa::MIN_OVERHEAD - mpa::ALIGN;
        let limit = match u16::try_from(fits) {
            Ok(fits) if chance(rng, 90) => fits,
            _ => mpa::MAX_ULPDU,
        };
        let mut rare = Rng::with_seed(!rng.clone().u64(..));
        let seldom = chance(&mut rare, 16).then(|| Wrong::RARE[rare.usize(..Wrong::RARE.len())]);
        Self {
            writer: FpduWriter::new(options.markers, field),
            field,
            markers: options.markers,
            beat: config.octets(),
            ring: config.ring_octets,
            mulpdu: limit.min(match rng.u8(..8) {
                _ if large => mpa::MAX_ULPDU,
                0 => mpa::MIN_MULPDU,
                1..4 => rng.u16(mpa::MIN_MULPDU..600),
                4..6 => mpa::mulpdu(1460, options.markers),
                6 => mpa::mulpdu(8960, options.markers),
                _ => mpa::MAX_ULPDU,
            }),
            budget: match rng.u8(..8) {
                _ if large => 150_000,
                0..4 => 1500,
                4..7 => 4000,
                _ => 10_000,
            },
            wrong: {
                let usual = chance(rng, 60).then(|| Wrong::ALL[rng.usize(..Wrong::ALL.len())]);
                seldom.or(usual)
            },
            queues: std::array::from_fn(|_| queue.clone()),
            rare,
        }
    }

    /// Buffers are posted.
    pub fn post(&mut self, posts: &[Post]) {
        for post in posts {
            let queue = &mut self.queues[usize::from(post.queue)];
            queue.buffers.push_back(post.length);
        }
    }

    /// Appends FPDUs to the stream; `usable` are the regions that its peer may write to.
    pub fn write(
        &mut self,
        rng: &mut Rng,
        all: &[Region],
        usable: &[&Region],
        stream: &mut Stream,
    ) {
        // A peer that may write nothing sends empty messages; some of them are enough.
        let idle = usable.is_empty() && self.queues.iter().all(|queue| queue.buffers.is_empty());
        let budget = if idle { 500 } else { self.budget };
        let end = stream.wire.len() + rng.usize(..=budget);
        while stream.wire.len() < end {
            let mut messages = vec![self.message(rng, usable, stream)];
            let more = match rng.u8(..8) {
                0..2 => 1,
                2 if stream.options.msn_window => rng.usize(1..5),
                _ => 0,
            };
            messages.extend((0..more).map(|_| self.message(rng, usable, stream)));
            if stream.options.msn_window && chance(&mut self.rare, 30) {
                self.come_again(&mut messages);
            }
            // The segments of a message keep their order; those of another one may come between.
            let mut messages: Vec<_> = messages.into_iter().map(Vec::into_iter).collect();
            while !messages.is_empty() {
                let turn = rng.usize(..messages.len());
                match messages[turn].next() {
                    Some(draft) => self.send(rng, draft, all, stream),
                    None => drop(messages.swap_remove(turn)),
                }
            }
        }
    }

    /// A segment comes behind the last one of its message, which is not delivered yet: one of the same queue in front of it
    /// lacks its last segment (AMB-06).
    fn come_again(&mut self, messages: &mut Vec<Vec<Draft>>) {
        let queue = |message: &Vec<Draft>| {
            let header = ddp::UntaggedSegment::new_checked(&message.first()?.header).ok()?;
            Some(header.qn())
        };
        let last = messages.len() - 1;
        let Some(qn) = queue(&messages[last]) else {
            return;
        };
        let Some(first) = (0..last).find(|&index| queue(&messages[index]) == Some(qn)) else {
            return;
        };
        let closed = messages.pop().unwrap_or_default();
        let again = closed[self.rare.usize(..closed.len())].clone();
        let end = messages[first].pop();
        messages[first].extend(closed);
        messages[first].push(again);
        messages[first].extend(end);
    }

    /// One message, or none where there is no room for any.
    fn message(&mut self, rng: &mut Rng, usable: &[&Region], stream: &Stream) -> Vec<Draft> {
        let ready: Vec<usize> = (0..self.queues.len())
            .filter(|&queue| stream.options.queues >> queue & 1 == 1)
            .filter(|&queue| !self.queues[queue].buffers.is_empty())
            .collect();
        let untagged = !ready.is_empty() && (usable.is_empty() || rng.bool());
        let (message, length) = if untagged {
            let queue = ready[rng.usize(..ready.len())];
            let Queue { next_msn, buffers } = &mut self.queues[queue];
            let room = buffers.pop_front().unwrap_or(0) as usize;
            let message = Message::Untagged {
                qn: queue as u32,
                msn: *next_msn,
                rsvd_ulp: std::array::from_fn(|_| rng.u8(..)),
            };
            *next_msn = next_msn.wrapping_add(1);
            let whole = chance(rng, 25);
            (message, if whole { room } else { self.length(rng, room) })
        } else if let Some(region) = (!usable.is_empty()).then(|| usable[rng.usize(..usable.len())])
        {
            let whole = chance(rng, 10) && region.length <= self.budget;
            let length = match whole {
                true => region.length,
                false => self.length(rng, region.length),
            };
            // Often at one of the ends.
            let rest = region.length - length;
            let at = match rng.u8(..6) {
                0 => 0,
                1 => rest,
                _ => rng.usize(..=rest),
            };
            let to = region.base.wrapping_add(at as u64);
            let message = Message::Tagged {
                stag: region.stag,
                to,
                rsvd_ulp: rng.u8(..),
            };
            (message, length)
        } else {
            let message = Message::Tagged {
                stag: rng.u32(..),
                to: rng.u64(..),
                rsvd_ulp: rng.u8(..),
            };
            (message, 0)
        };
        let Ok(segments) = ddp_segments(message, length as u64, self.mulpdu) else {
            return Vec::new();
        };
        let mut segments: Vec<DdpSegment> = segments.collect();
        let last = segments.len() - 1;
        // Where MOs are strict, all of this but an empty tail would mostly be an error.
        let free = !stream.options.strict_mo || chance(rng, 10);
        if free && chance(rng, 20) {
            rng.shuffle(&mut segments[..last]); // only the last one is bound to its place (DDP-HDR-06)
        }
        if free && last > 0 && chance(rng, 5) {
            segments.remove(rng.usize(..=last)); // DDP-SEG-12
        }
        let mut drafts: Vec<Draft> = segments.iter().map(draft).collect();
        let last = drafts.len() - 1;
        if free && last > 0 && chance(rng, 5) {
            let again = drafts[rng.usize(..last)].clone(); // DDP-ORD-04
            drafts.insert(rng.usize(..=last), again);
        }
        if let Message::Untagged { qn, msn, rsvd_ulp } = message {
            let empty = |last, mo| {
                let header = UntaggedHeader {
                    last,
                    rsvd_ulp,
                    qn,
                    msn,
                    mo,
                };
                let header = header.emit().to_vec();
                Draft { header, payload: 0 }
            };
            if free && chance(rng, 5) {
                let mo = rng.u32(..=length as u32);
                drafts.insert(rng.usize(..drafts.len()), empty(false, mo)); // AMB-05
            }
            if length > 0
                && chance(rng, 4)
                && let Some(end) = drafts.last_mut()
            {
                end.header[0] &= !ddp::control::LAST;
                drafts.push(empty(true, length as u32)); // AMB-05
            }
        }
        drafts
    }

    /// A payload length up to `most`, near one that matters.
    fn length(&self, rng: &mut Rng, most: usize) -> usize {
        let near = |rng: &mut Rng, unit: usize, times: usize| {
            (unit * rng.usize(..=times) + rng.usize(..5)).saturating_sub(2)
        };
        let length = match rng.u8(..20) {
            _ if most > 60_000 && chance(rng, 30) => rng.usize(..=most),
            0 => 0,
            1 if self.ring < 10_000 => (self.ring - 60) + rng.usize(..50), // with headers, about a ring
            1 => 1,
            2..6 => near(rng, self.beat, 6),
            6..8 => near(rng, 512, 3),
            8..14 => rng.usize(..300),
            14..18 => rng.usize(..1500),
            _ => rng.usize(..4000),
        };
        length.min(most)
    }

    /// Appends an FPDU, with its oddities, and the fault in front of it or in it once its time has come.
    fn send(&mut self, rng: &mut Rng, mut draft: Draft, all: &[Region], stream: &mut Stream) {
        if chance(rng, 8) {
            draft.header[0] |= rng.u8(..) & ddp::control::RSVD;
        }
        let due = self.wrong.filter(|_| chance(rng, 15));
        if let Some(wrong) = due
            && let Some(draft) = self.wrong_header(rng, wrong, all, stream)
        {
            self.note(wrong, stream);
            self.append(rng, &draft, stream);
        }
        let start = self.append(rng, &draft, stream);
        self.make_odd(rng, start, stream);
        if let Some(wrong) = self.wrong.filter(|_| due.is_some())
            && self.spoil(rng, wrong, start, stream)
        {
            self.note(wrong, stream);
        }
    }

    fn note(&mut self, wrong: Wrong, stream: &mut Stream) {
        let position = stream.wire.len();
        stream.oddities.push(format!("{wrong:?} near {position}"));
        self.wrong = None;
    }

    /// Appends an FPDU with random payload and says where it begins.
    fn append(&mut self, rng: &mut Rng, draft: &Draft, stream: &mut Stream) -> usize {
        let mut payload = vec![0; draft.payload];
        rng.fill(&mut payload);
        let start = stream.wire.len();
        let sent = self
            .writer
            .append(&draft.header, &payload, &mut stream.wire);
        sent.expect("drafts stay below the largest ULPDU");
        start
    }

    /// Where ULPDU_Length of the FPDU at `start` lies.
    fn header_at(&self, start: usize) -> usize {
        start
            + if self.markers && marker::is_due(start as u32) {
                marker::LEN
            } else {
                0
            }
    }

    /// Gives the FPDU from `start` to the end the CRC of its octets.
    fn seal(&self, start: usize, stream: &mut Stream) {
        if let Some((covered, field)) = stream.wire[start..].split_last_chunk_mut::<{ crc::LEN }>()
        {
            *field = crc::to_wire(crc::crc32c(covered));
        }
    }

    /// Changes what a receiver must not look at (MPA-FMT-07, MPA-FMT-14, MPA-MRK-12).
    fn make_odd(&self, rng: &mut Rng, start: usize, stream: &mut Stream) {
        if !chance(rng, 15) {
            return;
        }
        let end = stream.wire.len();
        let at = self.header_at(start);
        let length = u16::from_be_bytes([stream.wire[at], stream.wire[at + 1]]);
        let before_crc = end - crc::LEN;
        let marker_before_crc = self.markers
            && before_crc - marker::LEN > at
            && marker::is_due((before_crc - marker::LEN) as u32);
        let pad_end = before_crc - if marker_before_crc { marker::LEN } else { 0 };
        rng.fill(&mut stream.wire[pad_end - mpa::pad_len(length.into())..pad_end]);
        for marker in self.markers_in(start, end) {
            rng.fill(&mut stream.wire[marker..][marker::field::RESERVED]);
            stream.wire[marker + 3] |= rng.u8(..4);
        }
        self.seal(start, stream);
    }

    fn markers_in(&self, start: usize, end: usize) -> impl Iterator<Item = usize> + use<> {
        let markers = self.markers;
        (start..end).filter(move |&at| markers && marker::is_due(at as u32))
    }

    /// Spoils the FPDU that begins at `start`; false when `wrong` is not of that kind, or the FPDU has nothing to spoil.
    fn spoil(&mut self, rng: &mut Rng, wrong: Wrong, start: usize, stream: &mut Stream) -> bool {
        let end = stream.wire.len();
        let at = self.header_at(start);
        let length = u16::from_be_bytes([stream.wire[at], stream.wire[at + 1]]);
        match wrong {
            Wrong::Bits => {
                for _ in 0..1 << rng.u8(..3) {
                    stream.wire[rng.usize(start..end)] ^= 1 << rng.u8(..8);
                }
            }
            Wrong::Length | Wrong::LengthSealed => {
                let new = match rng.u8(..4) {
                    0 => rng.u16(..),
                    1 => rng.u16(..200),
                    _ => length.wrapping_add(rng.u16(..17)).wrapping_sub(8),
                };
                stream.wire[at..at + 2].copy_from_slice(&new.to_be_bytes());
                if wrong == Wrong::LengthSealed {
                    self.seal(start, stream);
                }
            }
            Wrong::LengthAboveLimit => {
                let new = match rng.bool() {
                    true => mpa::MAX_ULPDU + 1,
                    false => rng.u16(mpa::MAX_ULPDU + 1..),
                };
                stream.wire[at..at + 2].copy_from_slice(&new.to_be_bytes());
            }
            Wrong::Marker => {
                let markers: Vec<usize> = self.markers_in(start, end).collect();
                if markers.is_empty() {
                    return false;
                }
                let marker = markers[rng.usize(..markers.len())];
                match rng.bool() {
                    true => stream.wire[marker + 3] ^= 4 << rng.u8(..6),
                    false => rng.fill(&mut stream.wire[marker + 2..marker + 4]),
                }
                self.seal(start, stream);
            }
            Wrong::Garbage => {
                let length = 4 * rng.usize(1..40);
                stream
                    .wire
                    .extend(std::iter::repeat_with(|| rng.u8(..)).take(length));
                let position = stream.wire.len() as u32;
                self.writer = FpduWriter::at(position, self.markers, self.field);
            }
            _ => return false,
        }
        true
    }
}

impl Traffic {
    /// A segment whose header is wrong; `None` when `wrong` is not of that kind, or cannot be made now.
    fn wrong_header(
        &self,
        rng: &mut Rng,
        wrong: Wrong,
        all: &[Region],
        stream: &Stream,
    ) -> Option<Draft> {
        let region = &all[rng.usize(..all.len())];
        let payload = self.length(rng, 2000).max(1);
        let end = region.base.wrapping_add(region.length as u64); // 0 when that is 2^64
        let tagged = |rng: &mut Rng, stag, to, payload| {
            let header = TaggedHeader {
                last: rng.bool(),
                rsvd_ulp: rng.u8(..),
                stag,
                to,
            };
            let header = header.emit().to_vec();
            Some(Draft { header, payload })
        };
        // A queue that the stream has, with a buffer if any has one.
        let enabled = |queue: &usize| stream.options.queues >> queue & 1 == 1;
        let number = (0..self.queues.len())
            .filter(enabled)
            .max_by_key(|&queue| (!self.queues[queue].buffers.is_empty(), rng.u8(..)));
        let number = number.unwrap_or(0);
        let queue = &self.queues[number];
        let room = queue.buffers.front().copied();
        let untagged = |rng: &mut Rng, qn, msn, mo, payload| {
            let header = UntaggedHeader {
                last: rng.bool(),
                rsvd_ulp: std::array::from_fn(|_| rng.u8(..)),
                qn,
                msn,
                mo,
            };
            let header = header.emit().to_vec();
            Some(Draft { header, payload })
        };
        let (qn, msn) = (number as u32, queue.next_msn);
        match wrong {
            Wrong::UnknownStag => {
                let stag = rng.u32(..);
                tagged(rng, stag, region.base, payload)
            }
            Wrong::SimilarStag => {
                let stag = region.stag ^ 1 << rng.u8(..32);
                tagged(rng, stag, region.base, payload)
            }
            Wrong::AnyStag => {
                let payload = payload.min(region.length.max(1));
                tagged(rng, region.stag, region.base, payload)
            }
            Wrong::BelowRegion => {
                let to = region.base.wrapping_sub(rng.u64(1..20));
                tagged(rng, region.stag, to, payload)
            }
            Wrong::EndOfRegion => {
                let to = end.wrapping_add(rng.u64(..3));
                tagged(rng, region.stag, to, payload)
            }
            Wrong::AcrossEnd => {
                let inside = rng.usize(1..=payload);
                let to = end.wrapping_sub(inside as u64);
                let payload = if rng.bool() { inside + 1 } else { payload + 1 };
                tagged(rng, region.stag, to, payload)
            }
            Wrong::WildOffset => {
                let to = rng.u64(..);
                tagged(rng, region.stag, to, payload)
            }
            Wrong::AddressWrap => {
                let region = all.iter().find(|region| {
                    region.length > 0 && region.base.wrapping_add(region.length as u64) == 0
                });
                let region = region.unwrap_or(&all[0]);
                let inside = rng.usize(1..=payload.min(region.length.max(1)));
                let to = 0_u64.wrapping_sub(inside as u64);
                let payload = inside + rng.usize(1..9);
                tagged(rng, region.stag, to, payload)
            }
            Wrong::Forbidden => {
                let mut regions = all.iter();
                let region = regions.find(|region| {
                    !region.remote_write && region.length > 0 && region.is_for(stream)
                })?;
                tagged(rng, region.stag, region.base, payload.min(region.length))
            }
            Wrong::TaggedVersion | Wrong::UntaggedVersion => {
                let mut draft = match wrong {
                    Wrong::TaggedVersion => tagged(rng, region.stag, region.base, payload),
                    _ => untagged(rng, qn, msn, 0, payload),
                }?;
                draft.header[0] ^= rng.u8(1..4);
                Some(draft)
            }
            Wrong::UnknownQueue => {
                let qn = match rng.bool() {
                    true => rng.u32(u32::from(QUEUES)..),
                    false => 1 << rng.u8(2..32),
                };
                untagged(rng, qn, msn, 0, payload)
            }
            Wrong::AnyQueue => {
                let qn = rng.u32(..u32::from(QUEUES));
                untagged(rng, qn, msn, 0, payload)
            }
            Wrong::MsnAhead => {
                let msn = msn.wrapping_add(rng.u32(1..5));
                untagged(rng, qn, msn, 0, payload)
            }
            Wrong::MsnBehind => {
                let msn = msn.wrapping_sub(rng.u32(1..5));
                untagged(rng, qn, msn, 0, payload)
            }
            Wrong::MsnWild => {
                let msn = match rng.bool() {
                    true => rng.u32(..),
                    false => msn ^ 1 << rng.u8(..32),
                };
                untagged(rng, qn, msn, 0, payload)
            }
            Wrong::OffsetAtEnd => {
                let payload = rng.usize(..3);
                let mo = room?.wrapping_add(rng.u32(..2));
                untagged(rng, qn, msn, mo, payload)
            }
            Wrong::OffsetWild => {
                let mo = match rng.bool() {
                    true => rng.u32(..),
                    false => 0_u32.wrapping_sub(rng.u32(..64)),
                };
                untagged(rng, qn, msn, mo, payload)
            }
            Wrong::OffsetInside => {
                // In the buffer, and not where a strict receiver waits for it.
                let room = room.filter(|&room| room > 1 && stream.options.strict_mo)?;
                let payload = rng.u32(1..room.min(2000));
                let mo = rng.u32(1..=room - payload);
                untagged(rng, qn, msn, mo, payload as usize)
            }
            Wrong::TooLong => {
                let room = room.filter(|&room| room > 0)?;
                let mo = room - rng.u32(1..=room.min(2000));
                let payload = (room - mo) as usize + rng.usize(1..9);
                untagged(rng, qn, msn, mo, payload)
            }
            Wrong::NoBuffer => {
                // The next MSN of a queue that has nothing posted.
                let empty = |queue: &usize| self.queues[*queue].buffers.is_empty();
                let qn = (0..self.queues.len()).filter(enabled).find(empty)?;
                let msn = self.queues[qn].next_msn;
                let payload = if rng.bool() { payload } else { 0 };
                untagged(rng, qn as u32, msn, 0, payload)
            }
            Wrong::ShortTagged | Wrong::ShortUntagged => {
                let mut draft = match wrong {
                    Wrong::ShortTagged => tagged(rng, region.stag, region.base, 0),
                    _ => untagged(rng, qn, msn, 0, 0),
                }?;
                draft.header.truncate(rng.usize(..draft.header.len()));
                Some(draft)
            }
            _ => None,
        }
    }
}

fn draft(segment: &DdpSegment) -> Draft {
    let header = match segment.header {
        Header::Tagged(header) => header.emit().to_vec(),
        Header::Untagged(header) => header.emit().to_vec(),
    };
    let payload = (segment.payload.end - segment.payload.start) as usize;
    Draft { header, payload }
}
