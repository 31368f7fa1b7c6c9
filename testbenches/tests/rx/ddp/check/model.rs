//! What must come out: the reference receiver's judgement as the device writes it.

use super::stimulus::*;
use rust_hdl_core::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use warpline_hdl::Config;
use warpline_hdl::records::{Delivery, Placement};
use warpline_hdl::rx::ddp::check::CheckCommand;
use warpline_regmap::layout::{
    self, completion, error_event, error_record, kind, receive_buffer, revoke, stag_entry,
    stream_context,
};
use warpline_wire::ddp;
use warpline_wire::error_number::Checks;
use warpline_wire::receive::{
    self, DdpChecker, Flags, MsnMode, Queue, Scope, StagEntry, StreamContext,
};

/// A pair for `place`, with what does not count left out.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Pair {
    pub row: u16,
    pub rows: u16,
    /// Skip, address and length, when there is payload.
    pub write: Option<(u8, u64, u16)>,
    pub action: u8,
    pub stream: u8,
    /// Event words, with action 1.
    pub event: Option<[u32; 8]>,
}

impl Pair {
    pub fn of(placement: Placement, delivery: Delivery) -> Self {
        let length = placement.length.to_u16();
        let action = delivery.action.to_u8();
        let word = |i| delivery.entry.get_bits::<32>(32 * i).to_u32();
        Self {
            row: placement.row.to_u16(),
            rows: placement.rows.to_u16(),
            write: (length > 0)
                .then(|| (placement.skip.to_u8(), placement.address.to_u64(), length)),
            action,
            stream: delivery.stream.to_u8(),
            event: (action == 1).then(|| std::array::from_fn(word)),
        }
    }
}

/// What the pulses say when an FPDU leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Consumed {
    pub stream: u8,
    pub discarded: bool,
    pub payload: u16,
    pub error: bool,
    /// Stream and queue whose buffer was used.
    pub took: Option<(u8, u8)>,
    pub judged: bool,
    /// MPA has found it valid, and it opens the gate of its stream's transmit side (MPA-START-10, AMB-56).
    pub mpa_accepted: bool,
    /// Stream of `error`.
    pub error_stream: Option<u8>,
    /// Of one that came ahead of a gap: its stream, its position, and whether it is placed.
    pub ahead: Option<(u8, u32, bool)>,
}

#[derive(Clone, Debug, Default)]
pub struct Stream {
    pub open: bool,
    pub domain: u32,
    pub options: Options,
    pub queues: BTreeMap<u32, PostedQueue>,
    pub record: [u32; error_record::WORDS],
}

#[derive(Clone, Debug)]
pub struct PostedQueue {
    pub queue: Queue,
    /// Addresses of the buffers that are posted.
    pub addresses: VecDeque<u64>,
    /// Lengths of all buffers ever posted.
    pub lengths: Vec<u32>,
}

/// The block's behaviour, the judgement being that of the reference receiver.
pub struct Model {
    pub config: Config,
    pub slots: Vec<Option<Region>>,
    pub streams: Vec<Stream>,
}

impl Model {
    pub fn new(config: Config, streams: usize) -> Self {
        Self {
            config,
            slots: vec![None; config.stag_slots],
            streams: vec![Stream::default(); streams],
        }
    }

    pub fn slot(&self, stag: u32) -> usize {
        (stag >> 8) as usize % self.config.stag_slots
    }

    /// Carries a command out; true when it is refused.
    pub fn command(&mut self, order: &Order) -> bool {
        let get = |field: warpline_regmap::Field| field.get(&order.words);
        let number = |field| get(field) as u32;
        match order.command {
            CheckCommand::WriteStag => {
                let (base, length) = (get(stag_entry::BASE), get(stag_entry::LENGTH));
                if u128::from(base) + u128::from(length) > 1 << 64 {
                    return true;
                }
                let stag = number(stag_entry::STAG);
                let slot = self.slot(stag);
                self.slots[slot] = Some(Region {
                    stag,
                    scope: match get(stag_entry::STREAM_SCOPE) {
                        0 => Scope::ProtectionDomain(number(stag_entry::PROTECTION_DOMAIN)),
                        _ => Scope::Stream {
                            stream: number(stag_entry::STREAM),
                            protection_domain: number(stag_entry::PROTECTION_DOMAIN),
                        },
                    },
                    remote_write: get(stag_entry::REMOTE_WRITE) == 1,
                    base,
                    length,
                    address: get(stag_entry::ADDRESS),
                });
                false
            }
            CheckCommand::RevokeStag => {
                let stag = number(revoke::STAG);
                let slot = self.slot(stag);
                self.slots[slot] = self.slots[slot].filter(|region| region.stag != stag);
                false
            }
            CheckCommand::Arm => {
                let queues = number(stream_context::QUEUES);
                let first_msn = number(stream_context::FIRST_MSN);
                let queue = PostedQueue {
                    queue: Queue::with_window(first_msn, self.config.receive_slots),
                    addresses: VecDeque::new(),
                    lengths: vec![],
                };
                let present = (0..self.config.queues as u32).filter(|q| queues >> q & 1 == 1);
                let armed = Stream {
                    open: true,
                    domain: number(stream_context::PROTECTION_DOMAIN),
                    options: Options {
                        tagged_completions: get(stream_context::TAGGED_COMPLETIONS) == 1,
                        strict_mo: get(stream_context::STRICT_MO) == 1,
                        msn_window: get(stream_context::MSN_WINDOW) == 1,
                    },
                    queues: present.map(|q| (q, queue.clone())).collect(),
                    record: Default::default(),
                };
                let stream = self.streams.get_mut(get(stream_context::STREAM) as usize);
                stream.map(|stream| *stream = armed).is_none()
            }
            CheckCommand::Freeze => {
                let stream = self.streams.get_mut((order.words[0] & 0xff) as usize);
                stream.map(|stream| stream.open = false).is_none()
            }
            CheckCommand::PostReceive => {
                let stream = self.streams.get_mut(get(receive_buffer::STREAM) as usize);
                let queue = stream
                    .and_then(|stream| stream.queues.get_mut(&number(receive_buffer::QUEUE)))
                    .filter(|queue| queue.addresses.len() < self.config.receive_slots);
                let (length, address) =
                    (number(receive_buffer::LENGTH), get(receive_buffer::ADDRESS));
                let append = |queue: &mut PostedQueue| {
                    assert!(queue.queue.post(length));
                    queue.addresses.push_back(address);
                    queue.lengths.push(length);
                };
                queue.map(append).is_none()
            }
            CheckCommand::Fence => false,
        }
    }

    /// Whether this posts a buffer to a frozen stream: its queue may have forgotten some, and take more than there are slots.
    pub fn has_no_end(&self, order: &Order) -> bool {
        let queue = receive_buffer::QUEUE.get(&order.words) as u32;
        let stream = receive_buffer::STREAM.get(&order.words) as usize;
        order.command == CheckCommand::PostReceive
            && self
                .streams
                .get(stream)
                .is_some_and(|stream| !stream.open && stream.queues.contains_key(&queue))
    }

    /// Freezes a stream for a bus fault; false when it was frozen before.
    pub fn fault(&mut self, stream: usize) -> bool {
        let stream = &mut self.streams[stream];
        if stream.open {
            stream.open = false;
            error_record::VALID.put(&mut stream.record, 1);
            return true;
        }
        false
    }

    /// Type and code in one number, and failed checks: as the sections on errors of MPA and DDP say.
    pub fn judge(&self, fpdu: &Fpdu, ulpdu: &[u8]) -> Result<(), (u16, Checks)> {
        let segment = &fpdu.segment;
        if segment.refused >= u64::from(layout::refused::CLOSED) {
            return Err((0x301, Checks::empty()));
        }
        if segment.refused != 0 {
            return Err((0x303, Checks::empty()));
        }
        if (segment.crc || segment.ahead) && !fpdu.verdict.good && !segment.placed {
            return Err((0x302, Checks::empty()));
        }
        if fpdu.verdict.marker_wrong {
            return Err((0x303, Checks::empty()));
        }
        let number = segment.stream.to_u32();
        let stream = &self.streams[number as usize];
        let entry = |region: &Region| StagEntry {
            valid: true,
            scope: region.scope,
            remote_write: region.remote_write,
            base: region.base,
            length: region.length,
        };
        let checker = DdpChecker {
            stags: self
                .slots
                .iter()
                .flatten()
                .map(|region| (region.stag, entry(region)))
                .collect(),
        };
        let queues = stream.queues.iter();
        let context = StreamContext {
            stream: number,
            protection_domain: stream.domain,
            msn_mode: match stream.options.msn_window {
                true => MsnMode::Window,
                false => MsnMode::Strict,
            },
            strict_mo: stream.options.strict_mo,
            queues: queues.map(|(q, s)| (*q, s.queue.clone())).collect(),
        };
        match checker.check(&context, ulpdu) {
            Ok(_) => Ok(()),
            Err(rejected) => Err((rejected.number as u16, rejected.checks)),
        }
    }

    /// The pair of an FPDU, and those of messages that it delivers besides its own.
    pub fn fpdu(&mut self, fpdu: &Fpdu) -> (Vec<Pair>, Consumed) {
        let Fpdu { segment, verdict } = fpdu;
        let headers = [
            segment.header_0,
            segment.header_1,
            segment.header_2,
            segment.header_3,
            segment.header_4,
        ]
        .map(|dword| dword.to_u32());
        let mut ulpdu = headers.map(u32::to_be_bytes).concat()[2..].to_vec();
        ulpdu.resize(segment.ulpdu.index(), 0);
        let number = segment.stream.to_u8();
        let mut pair = Pair {
            row: segment.row.to_u16(),
            rows: segment.rows.to_u16(),
            stream: number,
            ..Pair::default()
        };
        let mut consumed = Consumed {
            stream: number,
            discarded: false,
            payload: 0,
            error: false,
            took: None,
            mpa_accepted: false,
            error_stream: None,
            judged: !segment.ahead && segment.refused < u64::from(layout::refused::CLOSED),
            ahead: segment
                .ahead
                .then(|| (number, segment.position.to_u32(), false)),
        };
        if !self.streams[usize::from(number)].open {
            consumed.discarded = consumed.judged;
            return (vec![pair], consumed);
        }
        if segment.refused == u64::from(layout::refused::CLOSED) && !segment.ahead {
            // closed by the peer behind an FPDU: told, and no error
            let mut event = [0; 8];
            error_event::KIND.put(&mut event, kind::CLOSED.into());
            error_event::STREAM.put(&mut event, number.into());
            error_event::POSITION.put(&mut event, segment.position.to_u64());
            (pair.action, pair.event) = (1, Some(event));
            return (vec![pair], consumed);
        }
        let judgement = self.judge(fpdu, &ulpdu);
        let stream = &mut self.streams[usize::from(number)];
        // what depends on the octets in front is judged when they are there, and MPA judges in order (AMB-11)
        let of_order = |error: u16| !segment.crc || matches!(error, 0x301..=0x303 | 0x201..=0x205);
        if judgement.is_err_and(|(error, _)| segment.ahead && of_order(error)) {
            return (vec![pair], consumed);
        }
        consumed.mpa_accepted = judgement.is_ok_and(|()| !segment.ahead)
            || judgement.is_err_and(|(error, _)| error >> 8 != 3);
        if let Err((error, checks)) = judgement {
            stream.open = false;
            consumed.error = true;
            consumed.error_stream = Some(number);
            let mut event = [0; 8];
            error_event::KIND.put(&mut event, kind::ERROR.into());
            error_event::STREAM.put(&mut event, number.into());
            error_event::CODE.put(&mut event, u64::from(error & 0xff));
            error_event::TYPE.put(&mut event, u64::from(error >> 8));
            error_event::CHECKS.put(&mut event, checks.bits().into());
            error_event::LENGTH.put(&mut event, segment.ulpdu.to_u64());
            error_event::POSITION.put(&mut event, segment.position.to_u64());
            pair.action = 1;
            pair.event = Some(event);
            let record = &mut stream.record;
            error_record::CODE.put(record, u64::from(error & 0xff));
            error_record::TYPE.put(record, u64::from(error >> 8));
            error_record::REFUSED.put(record, segment.refused.to_u64());
            error_record::VALID.put(record, 1);
            error_record::CHECKS.put(record, checks.bits().into());
            error_record::LENGTH.put(record, segment.ulpdu.to_u64());
            if !segment.placed {
                error_record::CRC_ZEROS.put(record, verdict.zeros.to_u64());
                error_record::CRC_RECEIVED.put(record, verdict.received.to_u64());
                error_record::CRC_STATE.put(record, verdict.state.to_u64());
            }
            error_record::POSITION.put(record, segment.position.to_u64());
            error_record::HEADER_0.put(record, headers[0].into());
            error_record::HEADER_1.put(record, headers[1].into());
            error_record::HEADER_2.put(record, headers[2].into());
            error_record::HEADER_3.put(record, headers[3].into());
            error_record::HEADER_4.put(record, headers[4].into());
            error_record::MARKER_EXPECTED.put(record, fpdu.verdict.marker_expected.to_u64());
            error_record::MARKER_RECEIVED.put(record, fpdu.verdict.marker_received.to_u64());
            return (vec![pair], consumed);
        }
        let mut event = [0; 8];
        let mut followers = vec![];
        completion::STREAM.put(&mut event, number.into());
        completion::RSVD_ULP_FIRST.put(&mut event, ulpdu[1].into());
        let last = ddp::Control(ulpdu[0]).last();
        let report = match ddp::Header::parse(&ulpdu).expect("accepted") {
            (ddp::Header::Tagged(header), payload) => {
                let length = payload.len() as u16;
                if length > 0 {
                    let region = self.slots[(header.stag >> 8) as usize % self.slots.len()]
                        .expect("accepted");
                    let offset = header.to - region.base;
                    pair.write = Some((16, region.address.wrapping_add(offset), length));
                }
                completion::KIND.put(&mut event, kind::TAGGED.into());
                completion::UNVERIFIED.put(&mut event, u64::from(length == 0));
                completion::STAG.put(&mut event, header.stag.into());
                completion::LENGTH.put(&mut event, length.into());
                completion::OFFSET.put(&mut event, header.to);
                consumed.payload = length;
                last && stream.options.tagged_completions && !segment.ahead
            }
            (ddp::Header::Untagged(header), payload) => {
                let length = payload.len() as u16;
                let queue = stream.queues.get_mut(&header.qn).expect("accepted");
                let distance = queue.queue.distance(header.msn) as usize;
                let address = queue.addresses[distance].wrapping_add(header.mo.into());
                if length > 0 {
                    pair.write = Some((20, address, length));
                }
                consumed.payload = length;
                let mut delivered = None;
                if !segment.ahead {
                    queue.queue.accept(&header, payload.len());
                    delivered = queue.queue.deliver(header.qn);
                }
                if let Some((delivery, flags)) = delivered {
                    event = untagged_completion(number, delivery, flags);
                    consumed.took = Some((number, header.qn as u8));
                    queue.addresses.pop_front();
                }
                while delivered.is_some()
                    && let Some((delivery, flags)) = queue.queue.deliver(header.qn)
                {
                    queue.addresses.pop_front();
                    followers.push(Pair {
                        action: 1,
                        stream: number,
                        event: Some(untagged_completion(number, delivery, flags)),
                        ..Pair::default()
                    });
                }
                delivered.is_some()
            }
        };
        if report {
            pair.action = 1;
            pair.event = Some(event);
        }
        if segment.placed {
            pair.write = None;
        }
        if let Some((_, _, placed)) = &mut consumed.ahead {
            (*placed, consumed.payload) = (true, 0);
        }
        let mut pairs = vec![pair];
        pairs.append(&mut followers);
        (pairs, consumed)
    }
}

/// The completion of an untagged message.
pub fn untagged_completion(stream: u8, delivery: receive::Delivery, flags: Flags) -> [u32; 8] {
    let receive::Delivery::Untagged {
        queue,
        msn,
        length,
        rsvd_ulp: [first, low @ ..],
    } = delivery
    else {
        panic!("{delivery:?} of an untagged queue");
    };
    let mut event = [0; 8];
    completion::KIND.put(&mut event, kind::UNTAGGED.into());
    completion::STREAM.put(&mut event, stream.into());
    completion::HOLE.put(&mut event, flags.contains(Flags::HOLE).into());
    completion::ANOMALY.put(&mut event, flags.contains(Flags::ANOMALY).into());
    completion::QUEUE.put(&mut event, queue.into());
    completion::MSN.put(&mut event, msn.into());
    completion::LENGTH.put(&mut event, length.into());
    completion::RSVD_ULP_LOW.put(&mut event, u32::from_be_bytes(low).into());
    completion::RSVD_ULP_FIRST.put(&mut event, first.into());
    event
}

/// The event of a stream whose descriptors could not be read.
pub fn read_fault(stream: usize) -> Pair {
    let mut event = [0; 8];
    error_event::KIND.put(&mut event, kind::ERROR.into());
    error_event::STREAM.put(&mut event, stream as u64);
    Pair {
        action: 1,
        stream: stream as u8,
        event: Some(event),
        ..Pair::default()
    }
}

pub fn bits_of(words: &[u32; 8]) -> Bits<256> {
    let mut all = Bits::<256>::default();
    for (i, word) in words.iter().enumerate() {
        all.set_bits::<32>(32 * i, u64::from(*word).into());
    }
    all
}
