//! `check`: every FPDU of random traffic judged as the reference receiver judges it, with commands, bus faults and
//! back-pressure in between, in lockstep; and the validation cases of the conformance table, one by one.
//!
//! ```text
//!  Sender ─ Segment, Verdict ────►┌───────┐─ Placement, Delivery ─► compared
//!         ─ commands, faults ────►│ check │─ pulses ──────────────► say in which order the block took things
//!         ─ coming ──────────────►└───────┘                             │
//!                                   Model (DdpChecker of warpline-wire) ◄┘
//! ```

use fastrand::Rng;
use rust_hdl_core::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use warpline_hdl::Config;
use warpline_hdl::records::{Delivery, Placement, Segment, Verdict};
use warpline_hdl::rx::ddp::check::receive_queues::{MessageState, QueueState, ReceiveBuffer};
use warpline_hdl::rx::ddp::check::untagged::{self, UntaggedChecks};
use warpline_hdl::rx::ddp::check::{self, Check, CheckCommand};
use warpline_regmap::layout::{
    self, completion, error_event, error_record, kind, receive_buffer, revoke, stag_entry,
    stream_context,
};
use warpline_testbenches::lockstep::{Lockstep, on_large_stack};
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};
use warpline_wire::ddp;
use warpline_wire::error::Checks;
use warpline_wire::receive::{
    self, DdpChecker, Flags, MsnMode, Queue, Scope, StagEntry, StreamContext,
};

/// FPDUs that may be under way.
const UNDER_WAY: usize = warpline_hdl::rx::mpa::fetch::UNDER_WAY as usize;
/// Cycles from an untagged FPDU to the next one.
const PER_UNTAGGED: u64 = 9;
/// Cycles from `segment_valid` to `m_valid` in an idle block, of a tagged FPDU; an untagged one takes one less.
const LATENCY: u64 = 11;
/// Cycles from `verdict_valid` to `m_valid`, when the tables have answered.
const FROM_VERDICT: u64 = check::FROM_VERDICT as u64;
/// Cycles that the record of a first error takes.
const RECORD: u64 = 15;
/// FPDUs that can have entered when a fault or a command asks.
const ENTERED: u32 = 15;

// ---- what goes in

/// A command with its arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Order {
    command: CheckCommand,
    words: [u32; 8],
}

fn order(command: CheckCommand, fields: &[(warpline_regmap::Field, u64)]) -> Order {
    let mut words = [0; 8];
    for (field, value) in fields {
        field.put(&mut words, *value);
    }
    Order { command, words }
}

/// A memory region as the host describes it.
#[derive(Clone, Copy, Debug)]
struct Region {
    stag: u32,
    scope: Scope,
    remote_write: bool,
    base: u64,
    length: u64,
    address: u64,
}

fn write_stag(region: Region) -> Order {
    let (domain, stream, scope) = match region.scope {
        Scope::ProtectionDomain(domain) => (domain, 0x5a, 0),
        Scope::Stream {
            stream,
            protection_domain,
        } => (protection_domain, stream, 1),
    };
    order(
        CheckCommand::WriteStag,
        &[
            (stag_entry::STAG, region.stag.into()),
            (stag_entry::PROTECTION_DOMAIN, domain.into()),
            (stag_entry::STREAM, stream.into()),
            (stag_entry::STREAM_SCOPE, scope),
            (stag_entry::REMOTE_WRITE, region.remote_write.into()),
            (stag_entry::BASE, region.base),
            (stag_entry::LENGTH, region.length),
            (stag_entry::ADDRESS, region.address),
        ],
    )
}

fn revoke_stag(stag: u32) -> Order {
    order(CheckCommand::RevokeStag, &[(revoke::STAG, stag.into())])
}

/// How a stream judges, besides what all of them do.
#[derive(Clone, Copy, Debug, Default)]
struct Options {
    tagged_completions: bool,
    strict_mo: bool,
    msn_window: bool,
}

fn arm(stream: u32, domain: u32, tagged_completions: bool, queues: u32, first_msn: u32) -> Order {
    let options = Options {
        tagged_completions,
        ..Options::default()
    };
    arm_with(stream, domain, options, queues, first_msn)
}

fn arm_with(stream: u32, domain: u32, options: Options, queues: u32, first_msn: u32) -> Order {
    order(
        CheckCommand::Arm,
        &[
            (stream_context::STREAM, stream.into()),
            (stream_context::MARKERS, 1),
            (stream_context::CRC, 1),
            (
                stream_context::TAGGED_COMPLETIONS,
                options.tagged_completions.into(),
            ),
            (stream_context::STRICT_MO, options.strict_mo.into()),
            (stream_context::MSN_WINDOW, options.msn_window.into()),
            (stream_context::QUEUES, queues.into()),
            (stream_context::PROTECTION_DOMAIN, domain.into()),
            (stream_context::SEQUENCE_START, 0xffff_ffff),
            (stream_context::FIRST_MSN, first_msn.into()),
        ],
    )
}

fn post(stream: u32, queue: u32, length: u32, address: u64) -> Order {
    order(
        CheckCommand::PostReceive,
        &[
            (receive_buffer::STREAM, stream.into()),
            (receive_buffer::QUEUE, queue.into()),
            (receive_buffer::LENGTH, length.into()),
            (receive_buffer::ADDRESS, address),
        ],
    )
}

fn freeze(stream: u32) -> Order {
    order(
        CheckCommand::Freeze,
        &[(warpline_regmap::layout::close::STREAM, stream.into())],
    )
}

fn fence() -> Order {
    order(CheckCommand::Fence, &[])
}

/// An FPDU as `commit` and `crc32c` hand it over.
#[derive(Clone, Copy, Debug)]
struct Fpdu {
    segment: Segment,
    verdict: Verdict,
}

/// An FPDU without error below DDP: a DDP header of 14 or 18 octets, and what the payload begins with.
fn fpdu(rng: &mut Rng, stream: u32, header: &[u8], payload: usize) -> Fpdu {
    let ulpdu = header.len() + payload;
    let mut octets = (ulpdu as u16).to_be_bytes().to_vec();
    octets.extend(header);
    octets.resize_with(20, || rng.u8(..));
    let dword = |i: usize| {
        let octets = octets[4 * i..4 * i + 4].try_into().unwrap();
        u64::from(u32::from_be_bytes(octets)).into()
    };
    Fpdu {
        segment: Segment {
            stream: u64::from(stream).into(),
            position: (u64::from(rng.u32(..)) & !3).into(),
            row: u64::from(rng.u16(..)).into(),
            rows: u64::from(rng.u16(1..)).into(),
            crc: rng.bool(),
            refused: 0.into(),
            ulpdu: (ulpdu as u64).into(),
            ahead: false,
            placed: false,
            header_0: dword(0),
            header_1: dword(1),
            header_2: dword(2),
            header_3: dword(3),
            header_4: dword(4),
        },
        verdict: Verdict {
            good: true,
            state: u64::from(rng.u32(..)).into(),
            zeros: u64::from(rng.u8(0..16)).into(),
            received: u64::from(rng.u32(..)).into(),
            marker_wrong: false,
            marker_expected: u64::from(rng.u16(..)).into(),
            marker_received: u64::from(rng.u16(..)).into(),
        },
    }
}

fn tagged_header(control: u8, rsvd_ulp: u8, stag: u32, to: u64) -> Vec<u8> {
    [
        &[control, rsvd_ulp],
        &stag.to_be_bytes()[..],
        &to.to_be_bytes(),
    ]
    .concat()
}

fn untagged_header(control: u8, rsvd_ulp: [u8; 5], qn: u32, msn: u32, mo: u32) -> Vec<u8> {
    let numbers = [qn, msn, mo].map(u32::to_be_bytes).concat();
    [&[control], &rsvd_ulp[..], &numbers].concat()
}

// ---- what must come out

/// A pair for `place`, with what does not count left out.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
struct Pair {
    row: u16,
    rows: u16,
    /// Skip, address and length, when there is payload.
    write: Option<(u8, u64, u16)>,
    action: u8,
    stream: u8,
    /// Event words, with action 1.
    event: Option<[u32; 8]>,
}

impl Pair {
    fn of(placement: Placement, delivery: Delivery) -> Self {
        let length = placement.length.to_u16();
        let action = delivery.action.to_u8();
        let word = |i| delivery.event.get_bits::<32>(32 * i).to_u32();
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
struct Consumed {
    stream: u8,
    discarded: bool,
    payload: u16,
    error: bool,
    /// Stream and queue whose buffer was used.
    took: Option<(u8, u8)>,
    judged: bool,
    /// Of one that came ahead of a gap: its stream, its position, and whether it is placed.
    ahead: Option<(u8, u32, bool)>,
}

#[derive(Clone, Debug, Default)]
struct Stream {
    open: bool,
    domain: u32,
    options: Options,
    queues: BTreeMap<u32, PostedQueue>,
    record: [u32; error_record::WORDS],
}

#[derive(Clone, Debug)]
struct PostedQueue {
    queue: Queue,
    /// Addresses of the buffers that are posted.
    addresses: VecDeque<u64>,
    /// Lengths of all buffers ever posted.
    lengths: Vec<u32>,
}

/// The block's behaviour, the judgement being that of the reference receiver.
struct Model {
    config: Config,
    slots: Vec<Option<Region>>,
    streams: Vec<Stream>,
}

impl Model {
    fn new(config: Config, streams: usize) -> Self {
        Self {
            config,
            slots: vec![None; config.stag_slots],
            streams: vec![Stream::default(); streams],
        }
    }

    fn slot(&self, stag: u32) -> usize {
        (stag >> 8) as usize % self.config.stag_slots
    }

    /// Carries a command out; true when it is refused.
    fn command(&mut self, order: &Order) -> bool {
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

    /// Freezes a stream for a bus fault; false when it was frozen before.
    fn fault(&mut self, stream: usize) -> bool {
        let stream = &mut self.streams[stream];
        if stream.open {
            stream.open = false;
            error_record::VALID.put(&mut stream.record, 1);
            return true;
        }
        false
    }

    /// Type and code in one number, and failed checks: as the sections on errors of MPA and DDP say.
    fn judge(&self, fpdu: &Fpdu, ulpdu: &[u8]) -> Result<(), (u16, Checks)> {
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
    fn fpdu(&mut self, fpdu: &Fpdu) -> (Vec<Pair>, Consumed) {
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
        if let Err((error, checks)) = judgement {
            stream.open = false;
            consumed.error = true;
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
fn untagged_completion(stream: u8, delivery: receive::Delivery, flags: Flags) -> [u32; 8] {
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

// ---- the bench

/// What the bench does wrong on purpose, so that its checks are seen to fail.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Plant {
    /// The block is told a region one octet longer.
    LongerRegion,
    /// The block is told another first MSN.
    OtherMsn,
    /// The block is told that a wrong CRC is right.
    CrcIgnored,
    /// A bus fault does not reach the block.
    FaultLost,
    /// The block is not told what is coming.
    ComingLost,
    /// One bit of a header on its way into the record.
    HeaderBit,
    /// The block is not told that MOs are strict.
    OffsetsFree,
    /// The block is not told that a stream has an MSN window.
    WindowShut,
    /// The block is not told that octets in front of an FPDU are missing.
    GapHidden,
    /// The block is not told that an FPDU is placed already.
    PlacedTwice,
}

/// What a run has seen.
#[derive(Clone, Debug, Default)]
struct Seen {
    placed: u32,
    delivered: u32,
    /// Messages with more or fewer octets than their length.
    holes: u32,
    /// Messages that got more segments behind their last one.
    anomalies: u32,
    /// Messages that were closed before it was their turn.
    followers: u32,
    discarded: u32,
    refused: u32,
    faults: u32,
    read_faults: u32,
    /// Segments that had no buffer when they came, and got one.
    waited: u32,
    /// Errors by type and code.
    errors: BTreeMap<u16, u32>,
    records: u32,
    /// FPDUs that came ahead of a gap: placed, given back, and wrong enough to freeze their stream.
    ahead_placed: u32,
    ahead_returned: u32,
    ahead_errors: u32,
    /// FPDUs that were placed before they came in order.
    placed_before: u32,
}

struct Bench<const S: usize> {
    lockstep: Lockstep<Check<S>>,
    rng: Rng,
    model: Model,
    seen: Seen,
    plant: Option<Plant>,
    // on the way in
    segments: VecDeque<Fpdu>,
    verdicts: VecDeque<Fpdu>,
    under_way: VecDeque<Fpdu>,
    /// When they were given to the block.
    given: VecDeque<u64>,
    /// A command is offered until it is taken.
    offering: bool,
    orders: VecDeque<Order>,
    running: Option<(Order, bool)>,
    fault: Option<(usize, u32)>,
    fault_now: Option<usize>,
    fault_of_read: bool,
    /// Buffers that `refill` is about to post: queue, order, and the cycle of the doorbell.
    promises: VecDeque<((u8, u8), Order, u64)>,
    /// What the block looked at in the last cycle.
    key: (u8, u8),
    /// And how far behind the first buffer of its queue.
    distance: u8,
    /// Messages that are delivered behind the FPDU that was decided last.
    followers: u32,
    // on the way out
    pairs: VecDeque<Pair>,
    held: Option<Pair>,
    segment_pace: Rhythm,
    verdict_pace: Rhythm,
    command_pace: Rhythm,
    ready_pace: Rhythm,
    /// Cycles at which pairs came, and commands ended.
    pair_times: Vec<u64>,
    done_times: Vec<(u64, u64)>,
    order_time: u64,
}

/// How a run ends badly.
type Wrong = String;

impl<const S: usize> Bench<S> {
    fn new(config: Config, seed: u64) -> Self {
        let block = Box::new(Check::<S>::new(&config));
        let name = format!("check_{S}_{}_{}", config.stag_slots, config.receive_slots);
        let lockstep = Lockstep::new(&name, block, |b, level| b.clock.next = level.into())
            .unwrap_or_else(|e| panic!("{e}"));
        let mut bench = Self {
            lockstep,
            rng: Rng::with_seed(seed),
            model: Model::new(config, S),
            seen: Seen::default(),
            plant: None,
            segments: VecDeque::new(),
            verdicts: VecDeque::new(),
            under_way: VecDeque::new(),
            given: VecDeque::new(),
            offering: false,
            orders: VecDeque::new(),
            running: None,
            fault: None,
            fault_now: None,
            fault_of_read: false,
            promises: VecDeque::new(),
            key: (0, 0),
            distance: 0,
            followers: 0,
            pairs: VecDeque::new(),
            held: None,
            segment_pace: Rhythm::new(Pace::Always),
            verdict_pace: Rhythm::new(Pace::Always),
            command_pace: Rhythm::new(Pace::Always),
            ready_pace: Rhythm::new(Pace::Always),
            pair_times: vec![],
            done_times: vec![],
            order_time: 0,
        };
        bench.lockstep.block.reset.next = true;
        bench.cycle().unwrap();
        bench.lockstep.block.reset.next = false;
        bench
    }

    fn send(&mut self, fpdu: Fpdu) {
        self.segments.push_back(fpdu);
        self.verdicts.push_back(fpdu);
    }

    /// FPDUs of a stream that are not decided yet.
    fn undecided(&self, stream: usize) -> bool {
        let mut all = self.segments.iter().chain(&self.under_way);
        all.any(|fpdu| fpdu.segment.stream.index() == stream)
    }

    /// More buffers than `distance` for that queue are on their way, or posted.
    fn coming(&self, key: (u8, u8), distance: usize) -> bool {
        let promised = self.promises.iter().filter(|promise| promise.0 == key);
        self.posted(key) + promised.count() > distance
    }

    /// Buffers of a queue that are posted.
    fn posted(&self, key: (u8, u8)) -> usize {
        let queues = self.model.streams.get(usize::from(key.0));
        let queue = queues.and_then(|stream| stream.queues.get(&key.1.into()));
        queue.map_or(0, |queue| queue.addresses.len())
    }

    fn cycle(&mut self) -> Result<(), Wrong> {
        let coming = self.coming(self.key, self.distance.into());
        let Self { rng, .. } = self;
        let segment = (self.under_way.len() < UNDER_WAY && self.segment_pace.go(rng))
            .then(|| self.segments.pop_front())
            .flatten();
        self.under_way.extend(segment);
        if segment.is_some() {
            self.given.push_back(self.lockstep.cycles());
        }
        // a verdict comes with its segment, after it, or before it
        let judged = self.under_way.len() + self.segments.len() - self.verdicts.len();
        let verdict = (judged < UNDER_WAY && self.verdict_pace.go(rng))
            .then(|| self.verdicts.pop_front())
            .flatten();
        let order = self.orders.front().copied();
        let offer = self.running.is_none()
            && order.is_some()
            && (self.offering || self.command_pace.go(rng));
        self.offering = offer;
        let ready = self.ready_pace.go(rng);
        let fault = self.fault_now.take();

        let block = &mut *self.lockstep.block;
        block.segment_valid.next = segment.is_some();
        block.segment.next = segment.map_or_else(Segment::default, |fpdu| fpdu.segment);
        if self.plant == Some(Plant::HeaderBit) {
            let planted = &mut block.segment.next;
            let tagged = planted.header_0.get_bit(15); // payload, which only the record sees
            planted.header_4 = planted.header_4 ^ bits::<32>(u64::from(tagged));
        }
        if self.plant == Some(Plant::GapHidden) {
            block.segment.next.ahead = false;
        }
        if self.plant == Some(Plant::PlacedTwice) {
            block.segment.next.placed = false;
        }
        block.verdict_valid.next = verdict.is_some();
        block.verdict.next = verdict.map_or_else(Verdict::default, |fpdu| fpdu.verdict);
        if self.plant == Some(Plant::CrcIgnored) {
            block.verdict.next.good = true;
        }
        block.command_valid.next = offer;
        if let Some(order) = order.filter(|_| offer) {
            let mut words = order.words;
            match (self.plant, order.command) {
                (Some(Plant::LongerRegion), CheckCommand::WriteStag) => {
                    let (base, length) = (&stag_entry::BASE, &stag_entry::LENGTH);
                    let longer = length.get(&words) + 1;
                    if base.get(&words).checked_add(longer).is_some() {
                        length.put(&mut words, longer);
                    }
                }
                (Some(Plant::OtherMsn), CheckCommand::Arm) => {
                    let msn = stream_context::FIRST_MSN.get(&words);
                    stream_context::FIRST_MSN.put(&mut words, msn + 1);
                }
                (Some(Plant::OffsetsFree), CheckCommand::Arm) => {
                    stream_context::STRICT_MO.put(&mut words, 0);
                }
                (Some(Plant::WindowShut), CheckCommand::Arm) => {
                    stream_context::MSN_WINDOW.put(&mut words, 0);
                }
                _ => {}
            }
            block.command.next = order.command;
            block.arguments.next = bits_of(&words);
        }
        let lost = self.plant == Some(Plant::FaultLost);
        let of_read = self.fault_of_read;
        block.bus_fault.next = fault.is_some() && !lost && !of_read;
        block.bus_fault_stream.next = (fault.unwrap_or(0) as u64).into();
        block.read_fault.next = fault.is_some() && !lost && of_read;
        block.read_fault_stream.next = (fault.unwrap_or(0) as u64).into();
        block.coming.next = coming && self.plant != Some(Plant::ComingLost);
        block.m_ready.next = ready;

        self.lockstep.settle().map_err(|e| e.to_string())?;
        self.observe(offer, ready)?;
        self.lockstep.edge().map_err(|e| e.to_string())
    }

    /// Looks at the block's outputs just before the edge.
    fn observe(&mut self, offer: bool, ready: bool) -> Result<(), Wrong> {
        let now = self.lockstep.cycles();
        let block = &*self.lockstep.block;
        let consumed = Consumed {
            stream: block.consumed_stream.val().to_u8(),
            discarded: block.discarded.val(),
            payload: block.payload.val().to_u16(),
            error: block.errors.val(),
            took: block.took.val().then_some((
                block.key_stream.val().to_u8(),
                block.key_queue.val().to_u8(),
            )),
            judged: block.judged.val(),
            ahead: block.ahead_done.val().then(|| {
                let position = block.ahead_position.val().to_u32();
                let stream = block.ahead_stream.val().to_u8();
                (stream, position, block.ahead_accepted.val())
            }),
        };
        self.key = (
            block.key_stream.val().to_u8(),
            block.key_queue.val().to_u8(),
        );
        self.distance = block.key_distance.val().to_u8();
        let wrong = |what: &str, got: &dyn std::fmt::Debug, want: &dyn std::fmt::Debug| {
            Err(format!(
                "cycle {now}: {what}\n  got  {got:x?}\n  want {want:x?}"
            ))
        };
        if block.consumed.val() {
            let Some(fpdu) = self.under_way.pop_front() else {
                return wrong("an FPDU too many", &consumed, &());
            };
            let given = self.given.pop_front().unwrap_or(0);
            let (pairs, want) = self.model.fpdu(&fpdu);
            let pair = pairs[0];
            if self.followers > 0 {
                return wrong("an FPDU too early", &consumed, &self.followers);
            }
            self.followers = pairs.len() as u32 - 1;
            if consumed != want {
                return wrong("pulses of an FPDU", &consumed, &(want, fpdu));
            }
            if let (true, Some(event)) = (want.error, pair.event) {
                let key = (want.stream, fpdu.segment.header_2.to_u32() as u8);
                let promised =
                    |promise: &&((u8, u8), Order, u64)| promise.0 == key && promise.2 < given;
                let buffers = self.posted(key) + self.promises.iter().filter(promised).count();
                let queues = &self.model.streams[usize::from(key.0)].queues;
                let distance = queues
                    .get(&fpdu.segment.header_2.to_u32())
                    .map(|queue| queue.queue.distance(fpdu.segment.header_3.to_u32()) as usize);
                let reached = buffers.min(self.model.config.receive_slots);
                if event[1] as u16 == 0x202 && distance.is_some_and(|d| d < reached) {
                    return Err(format!("cycle {now}: a buffer is coming for {key:?}"));
                }
                *self.seen.errors.entry(event[1] as u16).or_default() += 1;
            }
            match want.ahead {
                Some((_, _, true)) => self.seen.ahead_placed += 1,
                Some(_) if want.error => self.seen.ahead_errors += 1,
                Some(_) => self.seen.ahead_returned += 1,
                None => self.seen.placed_before += u32::from(fpdu.segment.placed && !want.error),
            }
            self.seen.placed += u32::from(pair.write.is_some());
            self.seen.delivered += u32::from(pair.action == 1 && !want.error);
            self.seen.discarded += u32::from(want.discarded);
            let completions = pairs.iter().filter_map(|pair| pair.event);
            for event in completions.filter(|_| !want.error) {
                self.seen.holes += completion::HOLE.get(&event) as u32;
                self.seen.anomalies += completion::ANOMALY.get(&event) as u32;
            }
            self.seen.followers += self.followers;
            self.pairs.extend(pairs);
            self.age_fault()?;
        } else if consumed.took.is_some() {
            let key = self.pairs.back().map(|pair| pair.stream);
            if self.followers == 0 || consumed.took.map(|took| took.0) != key {
                return wrong("a buffer was used", &consumed.took, &key);
            }
            self.followers -= 1;
        } else if block.errors.val() {
            match self.fault.take() {
                Some((stream, _)) if self.model.fault(stream) => {
                    self.seen.faults += 1;
                    if self.fault_of_read {
                        self.seen.read_faults += 1;
                        self.pairs.push_back(read_fault(stream));
                    }
                }
                other => return wrong("a stream frozen for a bus fault", &true, &other),
            }
        }
        let block = &*self.lockstep.block;
        if block.command_done.val() {
            let failed = block.command_failed.val();
            match self.running.take() {
                Some((order, refused)) if refused == failed => {
                    self.seen.refused += u32::from(refused);
                    self.done_times.push((self.order_time, now));
                    let _ = order;
                }
                other => return wrong("end of a command, refused:", &failed, &other),
            }
        }
        if consumed.judged && !block.consumed.val()
            || consumed.ahead.is_some_and(|_| !block.consumed.val())
        {
            return wrong("a pulse beside no FPDU", &consumed, &());
        }
        if offer && block.command_ready.val() {
            self.offering = false;
            let order = self.orders.pop_front().expect("offered");
            if self
                .promises
                .front()
                .is_some_and(|promise| promise.1 == order)
            {
                let promise = self.promises.pop_front();
                let waits = self.under_way.front().is_some_and(|fpdu| {
                    let number = fpdu.segment.stream.to_u8();
                    promise.is_some_and(|((stream, _), _, _)| stream == number)
                });
                self.seen.waited += u32::from(waits);
            }
            let refused = self.model.command(&order);
            self.running = Some((order, refused));
            self.order_time = now;
            if order.command == CheckCommand::Fence {
                self.pairs.push_back(Pair {
                    action: 2,
                    ..Pair::default()
                });
            }
            self.age_fault()?;
        }
        let block = &*self.lockstep.block;
        let pair = Pair::of(block.placement.val(), block.delivery.val());
        if let Some(held) = self.held.take()
            && (!block.m_valid.val() || held != pair)
        {
            return wrong("a pair that waits", &pair, &held);
        }
        if block.m_valid.val() {
            if self.pairs.front() != Some(&pair) {
                return wrong("a pair", &pair, &self.pairs.front());
            }
            if ready {
                self.pairs.pop_front();
                self.pair_times.push(now);
            } else {
                self.held = Some(pair);
            }
        }
        Ok(())
    }

    /// A fault goes before the second thing that begins behind it; by then its stream must be frozen. FPDUs that have
    /// entered are settled before it.
    fn age_fault(&mut self) -> Result<(), Wrong> {
        self.fault = match self.fault {
            Some((stream, age)) if self.model.streams[stream].open => {
                if age == 2 + ENTERED {
                    return Err(format!("bus fault of stream {stream} was lost"));
                }
                Some((stream, age + 1))
            }
            _ => None, // an FPDU was quicker
        };
        Ok(())
    }

    /// Runs until everything sent is decided, done and taken.
    fn drain(&mut self) -> Result<(), Wrong> {
        for _ in 0..100_000 {
            let idle = self.segments.is_empty()
                && self.verdicts.is_empty()
                && self.under_way.is_empty()
                && self.orders.is_empty()
                && self.running.is_none()
                && self.pairs.is_empty();
            if self.orders.is_empty() {
                self.keep_promise();
            }
            if idle {
                let rest = if self.fault.is_some() { 60 } else { 0 };
                (0..rest).try_for_each(|_| self.cycle())?;
                return match self.fault.take() {
                    Some((stream, _)) if self.model.streams[stream].open => {
                        Err(format!("bus fault of stream {stream} was lost"))
                    }
                    _ => Ok(()),
                };
            }
            self.cycle()?;
        }
        Err("the block hangs".into())
    }

    fn command(&mut self, order: Order) -> Result<(), Wrong> {
        self.orders.push_back(order);
        self.drain()
    }

    fn read_record(&mut self, stream: usize) -> Result<[u32; error_record::WORDS], Wrong> {
        let mut words = [0; error_record::WORDS];
        for at in 0..error_record::WORDS + 2 {
            self.lockstep.block.record_row.next = (((stream << 4) | (at % 16)) as u64).into();
            self.lockstep.settle().map_err(|e| e.to_string())?;
            if let Some(word) = at.checked_sub(2) {
                words[word] = self.lockstep.block.record_data.val().to_u32();
            }
            self.cycle()?;
        }
        Ok(words)
    }

    fn compare_records(&mut self) -> Result<(), Wrong> {
        for stream in 0..S {
            let (got, want) = (self.read_record(stream)?, self.model.streams[stream].record);
            if got != want {
                return Err(format!(
                    "error record of stream {stream}\n  got  {got:08x?}\n  want {want:08x?}"
                ));
            }
            self.seen.records += u32::from(error_record::VALID.get(&got) == 1);
        }
        Ok(())
    }

    /// `refill` announces a buffer: `coming` from now on, posted some time later.
    fn promise(&mut self, stream: u32, queue: u32, length: u32, address: u64) {
        let order = post(stream, queue, length, address);
        let now = self.lockstep.cycles();
        self.promises
            .push_back(((stream as u8, queue as u8), order, now));
    }

    fn keep_promise(&mut self) {
        self.orders
            .extend(self.promises.front().map(|(_, order, _)| *order));
    }

    fn raise_fault(&mut self, stream: usize) {
        self.fault = Some((stream, 0));
        self.fault_now = Some(stream);
    }
}

/// The event of a stream whose descriptors could not be read.
fn read_fault(stream: usize) -> Pair {
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

fn bits_of(words: &[u32; 8]) -> Bits<256> {
    let mut all = Bits::<256>::default();
    for (i, word) in words.iter().enumerate() {
        all.set_bits::<32>(32 * i, u64::from(*word).into());
    }
    all
}

// ---- random traffic

/// What the host and the peers would do: mostly right, sometimes not.
struct Traffic {
    domains: Vec<u32>,
    queues: Vec<BTreeMap<u32, Message>>,
    regions: Vec<Region>,
    /// Peers fill one queue of each stream, mostly in a window, and do little wrong.
    calm: bool,
}

/// Where a peer is in an untagged queue.
#[derive(Clone, Debug, Default)]
struct Message {
    /// The first message that is not sent.
    msn: u32,
    /// Messages sent before it.
    number: usize,
    /// Octets sent of it and those behind it.
    offsets: BTreeMap<u32, u32>,
    /// Those whose last segment is sent.
    sent: BTreeSet<u32>,
}

impl Traffic {
    fn new<const S: usize>() -> Self {
        Self {
            domains: vec![0; S],
            queues: vec![BTreeMap::new(); S],
            regions: vec![],
            calm: false,
        }
    }

    fn length(rng: &mut Rng) -> u32 {
        match rng.u8(0..10) {
            0 => 0,
            1 => 1,
            2 => rng.u32(0xff00..=0xffff),
            _ => rng.u32(1..2000),
        }
    }

    /// Arms a frozen stream of which nothing is under way, as `control` takes care of.
    fn arm<const S: usize>(&mut self, bench: &mut Bench<S>) {
        let stream = bench.rng.usize(0..S);
        if bench.model.streams[stream].open || bench.undecided(stream) || arming(bench) {
            return;
        }
        let rng = &mut bench.rng;
        let (domain, queues) = (rng.u32(7..9), rng.u32(0..256) | rng.u32(0..16));
        let first_msns = [1, 1, 0xffff_fffe, rng.u32(..)];
        let first_msn = first_msns[rng.usize(0..4)];
        let calm = self.calm;
        let queues = if calm { 0b1 } else { queues };
        let options = Options {
            tagged_completions: chance(rng, 70),
            strict_mo: chance(rng, 12),
            msn_window: calm && chance(rng, 90),
        };
        let order = arm_with(stream as u32, domain, options, queues, first_msn);
        bench
            .promises
            .retain(|promise| usize::from(promise.0.0) != stream);
        self.domains[stream] = domain;
        let message = Message {
            msn: first_msn,
            ..Message::default()
        };
        let present = (0..bench.model.config.queues as u32).filter(|q| queues >> q & 1 == 1);
        self.queues[stream] = present.map(|q| (q, message.clone())).collect();
        bench.orders.push_back(order);
    }

    fn command<const S: usize>(&mut self, bench: &mut Bench<S>) {
        let stream = bench.rng.usize(0..S);
        let rng = &mut bench.rng;
        let order = match rng.u8(0..24) {
            0..=13 => {
                let wild = chance(rng, 5);
                let known: Vec<u32> = self.queues[stream].keys().copied().collect();
                let known = rng.choice(known).filter(|_| !wild);
                let queue = known.unwrap_or_else(|| rng.u32(0..256) & rng.u32(0..256));
                let target = if wild { rng.u32(0..256) } else { stream as u32 };
                let length = Self::length(rng) * rng.u32(1..4);
                let address = rng.u64(..) | (u64::from(rng.bool()) * 0xffff_f000);
                post(target, queue, length, address)
            }
            14..=17 => {
                let length = u64::from(Self::length(rng)) << rng.u8(0..3);
                let base = match rng.u8(0..6) {
                    0 => 0,
                    1 | 5 => length.wrapping_neg(),
                    2 => rng.u64(..) << 32 | u64::from(length.wrapping_neg() as u32),
                    3 => (rng.u64(..) << 32).wrapping_sub(rng.u64(0..=length)),
                    _ => rng.u64(..),
                };
                let stream = stream as u32;
                let other = rng.u32(0..S as u32);
                let region = Region {
                    stag: rng.u32(0..24) << 8 | rng.u32(0..2) | rng.u32(0..2) << 30,
                    scope: match rng.u8(0..6) {
                        0 => Scope::ProtectionDomain(rng.u32(7..9)),
                        1 => Scope::Stream {
                            stream: other,
                            protection_domain: self.domains[stream as usize],
                        },
                        2 => Scope::Stream {
                            stream,
                            protection_domain: self.domains[stream as usize] ^ 1 << rng.u8(0..16),
                        },
                        3 => Scope::Stream {
                            stream,
                            protection_domain: self.domains[stream as usize],
                        },
                        _ => Scope::ProtectionDomain(self.domains[stream as usize]),
                    },
                    remote_write: chance(rng, 90),
                    base,
                    length,
                    address: rng.u64(..) | (u64::from(rng.bool()) * 0xffff_f000),
                };
                self.regions.push(region);
                write_stag(region)
            }
            18 => {
                let known = rng.usize(0..self.regions.len().max(1));
                let stag = self.regions.get(known).map_or(0, |region| region.stag);
                revoke_stag(stag)
            }
            19 if chance(rng, 20) => freeze(rng.u32(0..S as u32 + 2)),
            20 if chance(rng, 20) => arm(rng.u32(S as u32..256), 7, true, 1, 1),
            _ => fence(),
        };
        bench.orders.push_back(order);
    }

    fn tagged<const S: usize>(&mut self, bench: &mut Bench<S>, stream: usize) -> Fpdu {
        let rng = &mut bench.rng;
        let control = 0x81 | rng.u8(..) & 0x40 | rng.u8(..) & rng.u8(..) & 0x3c;
        let usable = |region: &Region| {
            let here = match region.scope {
                Scope::ProtectionDomain(domain) => domain == self.domains[stream],
                Scope::Stream {
                    stream: only,
                    protection_domain,
                } => only as usize == stream && protection_domain == self.domains[stream],
            };
            here && region.remote_write && region.length > 0
        };
        let live: Vec<Region> = bench.model.slots.iter().flatten().copied().collect();
        let good: Vec<Region> = live.iter().copied().filter(usable).collect();
        let pool = if chance(rng, 95) { &good } else { &live };
        let Some(region) = rng.choice(pool).copied() else {
            let header = tagged_header(control, rng.u8(..), rng.u32(..), rng.u64(..));
            return fpdu(rng, stream as u32, &header, 0);
        };
        let mut length = u64::from(Self::length(rng)).min(region.length);
        let mut offset = match rng.u8(0..4) {
            0 => 0,
            1 => region.length - length,
            _ => rng.u64(0..=region.length - length),
        };
        let mut stag = region.stag;
        if chance(rng, 10) {
            match rng.u8(0..5) {
                0 => offset = offset.wrapping_add(rng.u64(0..3)).wrapping_sub(1),
                1..=2 => {
                    offset = region.length - length;
                    length += rng.u64(1..3);
                }
                3 => stag ^= 1 << rng.u8(0..32),
                _ => offset = rng.u64(..),
            }
        }
        let to = region.base.wrapping_add(offset);
        let header = tagged_header(control, rng.u8(..), stag, to);
        fpdu(
            rng,
            stream as u32,
            &header,
            length.min(0xffff - 14) as usize,
        )
    }

    fn untagged<const S: usize>(&mut self, bench: &mut Bench<S>, stream: usize) -> Option<Fpdu> {
        let rng = &mut bench.rng;
        let queues: Vec<u32> = self.queues[stream].keys().copied().collect();
        let mut queue = *rng.choice(&queues)?;
        let message = self.queues[stream].get_mut(&queue)?;
        let posted = bench.model.streams[stream].queues.get(&queue)?;
        let key = (stream as u8, queue as u8);
        let coming = bench.promises.iter().filter(|promise| promise.0 == key);
        let coming = coming.map(|(_, order, _)| receive_buffer::LENGTH.get(&order.words) as u32);
        let mut lengths = posted.lengths.iter().copied().chain(coming);
        let Options {
            msn_window,
            strict_mo,
            ..
        } = bench.model.streams[stream].options;
        let ahead = if msn_window { rng.u32(0..4) } else { 0 };
        let msn = message.msn.wrapping_add(ahead);
        let offset = message.offsets.get(&msn).copied().unwrap_or(0);
        let capacity = lengths.nth(message.number + ahead as usize);
        if capacity.is_none() && (self.calm || chance(rng, 97)) {
            return None;
        }
        let room = capacity.unwrap_or(1) - offset.min(capacity.unwrap_or(0));
        let mut length = Self::length(rng).min(room);
        let moved = chance(rng, 30) && !(self.calm && strict_mo && chance(rng, 90));
        if moved {
            length /= 2;
        }
        let last = chance(rng, 60);
        message.offsets.insert(msn, offset + length);
        if last {
            message.sent.insert(msn);
        }
        while message.sent.remove(&message.msn) {
            message.msn = message.msn.wrapping_add(1);
            message.number += 1;
        }
        let (mut msn, mut offset) = (msn, offset);
        if moved {
            // elsewhere in the buffer: a hole, or octets that come twice
            offset = rng.u32(0..=capacity.unwrap_or(length).max(length) - length);
        }
        if chance(rng, if self.calm { 1 } else { 20 }) {
            match rng.u8(0..6) {
                0 => msn = msn.wrapping_add(1),
                1 => msn = msn.wrapping_sub(1),
                2 => queue ^= 1 << rng.u8(0..32),
                3 => length = room + rng.u32(1..3),
                4 => offset = room.wrapping_add(offset).wrapping_add(rng.u32(0..2)),
                _ => offset = rng.u32(..) | 0xffff_0000,
            }
        }
        let rsvd_ulp = std::array::from_fn(|_| rng.u8(..));
        let control = 0x01 | u8::from(last) << 6 | rng.u8(..) & rng.u8(..) & 0x3c;
        let header = untagged_header(control, rsvd_ulp, queue, msn, offset);
        Some(fpdu(
            rng,
            stream as u32,
            &header,
            length.min(0xffff - 18) as usize,
        ))
    }

    /// A doorbell for a queue of an open stream, and the buffer some time later.
    fn promise<const S: usize>(&mut self, bench: &mut Bench<S>) {
        if chance(&mut bench.rng, 3) && bench.promises.len() < 3 && !arming(bench) {
            let stream = bench.rng.usize(0..S);
            let queues: Vec<u32> = self.queues[stream].keys().copied().collect();
            let queue = bench.rng.choice(&queues).copied();
            let length = Self::length(&mut bench.rng);
            if let Some(queue) = queue.filter(|_| bench.model.streams[stream].open) {
                let address = bench.rng.u64(..);
                bench.promise(stream as u32, queue, length, address);
            }
        }
        let front = bench.promises.front().map(|(_, order, _)| *order);
        let queued = |order: &Order| bench.orders.contains(order);
        if chance(&mut bench.rng, 2) && front.is_some_and(|order| !queued(&order)) {
            bench.keep_promise();
        }
    }

    fn fpdu<const S: usize>(&mut self, bench: &mut Bench<S>) {
        let stream = bench.rng.usize(0..S);
        let frozen = !bench.model.streams[stream].open;
        if arming(bench) || (frozen && chance(&mut bench.rng, 95)) {
            return;
        }
        let fpdu = if bench.rng.bool() && !self.calm {
            Some(self.tagged(bench, stream))
        } else {
            self.untagged(bench, stream)
        };
        let Some(mut fpdu) = fpdu else { return };
        let rng = &mut bench.rng;
        let segment = &mut fpdu.segment;
        match rng.u8(0..100) {
            _ if self.calm => {}
            0 => {
                // the runs of other shapes are too short for ends
                let most = if S == 4 {
                    layout::refused::BEHIND_FIN
                } else {
                    layout::refused::CLOSED - 1
                };
                segment.refused = u64::from(rng.u32(1..=most)).into();
            }
            1 => fpdu.verdict.good = false,
            2 => fpdu.verdict.marker_wrong = true,
            3 => segment.ulpdu = u64::from(rng.u16(0..19)).into(),
            6..=9 => {
                segment.header_0 = segment.header_0 ^ bits::<32>(u64::from(rng.u32(1..4)) << 8)
            }
            5 => {
                segment.refused = u64::from(rng.u8(0..3)).into();
                fpdu.verdict.marker_wrong = rng.bool();
                fpdu.verdict.good = rng.bool();
                segment.header_0 = segment.header_0 ^ bits::<32>(u64::from(rng.u32(0..4)) << 8);
            }
            _ => {}
        }
        let is_end = segment.refused >= u64::from(layout::refused::CLOSED);
        if chance(rng, 20) && !is_end {
            // octets in front are missing when it comes first; it comes once more when they are there
            let mut ahead = fpdu;
            ahead.segment.ahead = true;
            fpdu.segment.placed = rng.bool();
            if fpdu.segment.placed {
                (fpdu.verdict.good, fpdu.segment.refused) = (rng.bool(), 0.into());
            }
            bench.send(ahead);
        }
        bench.send(fpdu);
    }
}

/// A stream is about to be armed.
fn arming<const S: usize>(bench: &Bench<S>) -> bool {
    let running = bench.running.as_ref().map(|(order, _)| order);
    let mut orders = bench.orders.iter().chain(running);
    orders.any(|order| order.command == CheckCommand::Arm)
}

fn random_run<const S: usize>(
    config: Config,
    seed: u64,
    cycles: u64,
    plant: Option<Plant>,
) -> Result<Seen, Wrong> {
    let traffic = Traffic::new::<S>();
    run_of(traffic, Bench::<S>::new(config, seed), cycles, plant)
}

/// Peers that do little wrong, and use their windows.
fn calm_run(seed: u64, cycles: u64, plant: Option<Plant>) -> Result<Seen, Wrong> {
    let mut traffic = Traffic::new::<4>();
    traffic.calm = true;
    let bench = Bench::<4>::new(config(4, 16, 4, 4), seed);
    run_of(traffic, bench, cycles, plant)
}

fn run_of<const S: usize>(
    mut traffic: Traffic,
    mut bench: Bench<S>,
    cycles: u64,
    plant: Option<Plant>,
) -> Result<Seen, Wrong> {
    bench.plant = plant;
    let paces = [
        Pace::Always,
        Pace::Percent(50),
        Pace::Percent(30),
        Pace::Bursts(60),
    ];
    while bench.lockstep.cycles() < cycles {
        let mut pace = || Rhythm::new(*bench.rng.choice(&paces).unwrap());
        bench.segment_pace = pace();
        bench.verdict_pace = pace();
        bench.command_pace = pace();
        bench.ready_pace = pace();
        for _ in 0..800 {
            if bench.segments.len() < 20 && chance(&mut bench.rng, 30) {
                traffic.fpdu(&mut bench);
            }
            if bench.orders.len() < 3 && chance(&mut bench.rng, 5) {
                traffic.command(&mut bench);
            }
            if chance(&mut bench.rng, 20) {
                traffic.arm(&mut bench);
            }
            // the runs of other shapes are too short to wait in
            if S == 4 {
                traffic.promise(&mut bench);
            }
            if bench.fault.is_none() && chance(&mut bench.rng, 1) && chance(&mut bench.rng, 30) {
                let stream = bench.rng.usize(0..S);
                if bench.model.streams[stream].open {
                    bench.fault_of_read = bench.rng.bool();
                    bench.raise_fault(stream);
                }
            }
            bench.cycle()?;
        }
        bench.drain()?;
        bench.compare_records()?;
    }
    Ok(bench.seen)
}

fn config(streams: usize, stag_slots: usize, receive_slots: usize, queues: usize) -> Config {
    Config {
        streams,
        stag_slots,
        receive_slots,
        queues,
        ..Config::simulated(64)
    }
}

/// A segment of a message on stream 1, queue 0, MSN 5: MO, last, payload octets; error, and HOLE when it is delivered.
type Piece = (u32, bool, usize, u16, Option<bool>);

/// Messages in pieces, as they are judged one by one.
fn pieces(bench: &mut Bench<4>, options: Options, pieces: &[Piece]) {
    bench.command(arm_with(1, 7, options, 0b1, 5)).unwrap();
    bench.command(post(1, 0, 100, 0x4000)).unwrap();
    for &(offset, last, length, error, hole) in pieces {
        let control = if last { 0x41 } else { 0x01 };
        let header = untagged_header(control, [0x43, 1, 2, 3, 4], 0, 5, offset);
        let text: String = header.iter().map(|octet| format!("{octet:02x}")).collect();
        let (pair, failed) = one(bench, 1, &text, length);
        let name = format!("{offset} + {length} of {pieces:?}");
        assert_eq!(failed.map_or(0, |(error, _)| error), error, "{name}");
        let told = pair.event.filter(|_| error == 0);
        let told = told.map(|event| completion::HOLE.get(&event) == 1);
        assert_eq!(told, hole, "{name}");
    }
    bench.command(freeze(1)).unwrap();
}

/// The octets placed against the length; what a former message or owner left in the slot does not count.
// req: AMB-05, AMB-06, AMB-07, DDP-ORD-03, DDP-ORD-04, DDP-SEG-12
#[test]
fn holes_are_told() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 13);
        let free = Options::default();
        let (whole, holed) = (Some(false), Some(true));
        for list in [
            &[(0, true, 100, 0, whole)][..],
            &[(0, true, 0, 0, whole)],
            &[(1, true, 99, 0, holed)],
            &[(100, true, 0, 0, holed)],
            &[(0, false, 60, 0, None), (60, true, 40, 0, whole)],
            &[
                (30, false, 30, 0, None),
                (0, false, 30, 0, None),
                (60, true, 1, 0, whole),
            ],
            &[(0, false, 60, 0, None), (61, true, 39, 0, holed)],
            &[
                (0, false, 60, 0, None),
                (0, false, 60, 0, None),
                (60, true, 40, 0, holed),
            ],
            &[
                (0, false, 60, 0, None),
                (7, false, 0, 0, None),
                (60, true, 0, 0, whole),
            ],
            // left behind by an owner that is gone
            &[(0, false, 99, 0, None)],
            &[(0, true, 100, 0, whole)],
        ] {
            pieces(&mut bench, free, list);
        }
        // all slots, and once more round
        bench.command(arm_with(1, 7, free, 0b1, 5)).unwrap();
        for msn in 5..14 {
            bench.command(post(1, 0, 100, 0x4000)).unwrap();
            for (control, offset, length) in [(0x01, 0, msn), (0x41, msn, 1)] {
                let header = untagged_header(control, [0; 5], 0, msn, offset);
                let sent = fpdu(&mut bench.rng, 1, &header, length as usize);
                bench.send(sent);
            }
            bench.drain().unwrap();
        }
        assert_eq!(bench.seen.holes, 4);
    });
}

// req: AMB-07, DDP-ERR-32
#[test]
fn strict_offsets_follow_the_octets_placed() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 14);
        let strict = Options {
            strict_mo: true,
            ..Options::default()
        };
        let whole = Some(false);
        for list in [
            &[(0, true, 100, 0, whole)][..],
            &[(0, true, 0, 0, whole)],
            &[(1, true, 1, 0x204, None)],
            &[(1, true, 0, 0x204, None)],
            &[(0, false, 60, 0, None), (60, true, 40, 0, whole)],
            &[
                (0, false, 60, 0, None),
                (60, false, 0, 0, None),
                (60, true, 0, 0, whole),
            ],
            &[(0, false, 100, 0, None), (100, true, 0, 0, whole)],
            &[(0, false, 60, 0, None), (61, true, 39, 0x204, None)],
            &[(0, false, 60, 0, None), (59, true, 1, 0x204, None)],
            &[(0, false, 60, 0, None), (0, false, 60, 0x204, None)],
            &[(0, false, 60, 0, None), (60, true, 41, 0x205, None)],
            // left behind by an owner that is gone
            &[(0, false, 99, 0, None)],
            &[(0, true, 100, 0, whole)],
        ] {
            pieces(&mut bench, strict, list);
        }
    });
}

/// The arithmetic on its own, near its ends: a message in which octets were placed again and again, up to 2^32 and
/// beyond, needs more FPDUs than a test of the whole block has time for.
// req: AMB-04, AMB-05, AMB-07, AMB-24, DDP-ERR-04, DDP-ERR-05, DDP-ERR-06
#[test]
fn octets_are_counted_up_to_the_longest_message_and_beyond() {
    on_large_stack(|| {
        let block = Box::new(UntaggedChecks::default());
        let clock = |b: &mut UntaggedChecks, level: bool| b.clock.next = level.into();
        let mut lockstep = Lockstep::new("untagged_checks", block, clock).unwrap();
        let rng = &mut Rng::with_seed(15);
        let mut seen = [0; 5];
        for _ in 0..4000 {
            let near = |rng: &mut Rng| match rng.u8(..4) {
                0 => rng.u32(..4),
                1 => 0_u32.wrapping_sub(rng.u32(..4)),
                2 => 1_u32 << rng.u8(..32),
                _ => rng.u32(..),
            };
            let (capacity, payload) = (near(rng), near(rng) as u16);
            let placed = if chance(rng, 20) { capacity } else { near(rng) };
            let offset = match rng.u8(..4) {
                0 => placed,
                1 => capacity,
                2 => capacity.wrapping_sub(payload.into()),
                _ => near(rng),
            };
            let (countless, strict) = (chance(rng, 10), rng.bool());
            let (first, window) = (rng.u32(..), rng.bool());
            let posted = [0, 1, rng.u32(..256), 256][rng.usize(..4)];
            let distance = match rng.u8(..4) {
                0 => posted.wrapping_sub(rng.u32(..2)),
                1 => (1 << 31) - rng.u32(..2),
                _ => near(rng),
            };
            let block = &mut *lockstep.block;
            block.msn.next = u64::from(first.wrapping_add(distance)).into();
            block.window.next = window;
            block.offset.next = u64::from(offset).into();
            block.length.next = u64::from(payload).into();
            block.state.next = QueueState {
                msn: u64::from(first).into(),
                posted: u64::from(posted).into(),
                ..QueueState::default()
            };
            block.buffer.next = ReceiveBuffer {
                length: u64::from(capacity).into(),
                address: 0.into(),
            };
            block.message.next = MessageState {
                placed: u64::from(placed).into(),
                countless,
                ..MessageState::default()
            };
            block.strict_offset.next = strict;
            for _ in 0..untagged::LATENCY {
                lockstep.settle().unwrap();
                lockstep.edge().unwrap();
            }
            lockstep.settle().unwrap();
            let block = &lockstep.block;
            assert_eq!(block.distance.val().to_u32(), distance);
            let behind = window && distance >= 1 << 31;
            assert_eq!(block.fails_msn.val(), behind || !window && distance != 0);
            assert_eq!(block.fails_buffer.val(), distance >= posted);
            let end = u64::from(offset) + u64::from(payload);
            let before = u64::from(placed) + (u64::from(countless) << 40);
            let total = before + u64::from(payload);
            let inside = offset < capacity || (offset == capacity && payload == 0);
            let moved = strict && u64::from(offset) != before;
            let fails_length = end > u64::from(capacity);
            assert_eq!(block.fails_offset.val(), !inside || moved);
            assert_eq!(block.fails_length.val(), fails_length);
            if !fails_length {
                assert_eq!(block.hole.val(), total != end, "{total} of {end}");
            }
            let progress = block.progress.val();
            assert_eq!(progress.countless, total >> 32 != 0);
            assert_eq!(progress.placed.to_u32(), total as u32);
            let overflows = !countless && progress.countless;
            for (seen, now) in seen.iter_mut().zip([
                !fails_length && total == end,
                !fails_length && total != end,
                moved && inside && !fails_length,
                overflows,
                countless,
            ]) {
                *seen += u32::from(now);
            }
        }
        assert!(seen.iter().all(|seen| *seen > 20), "{seen:?}");
    });
}

/// A last segment of stream 1 with payload of `length` octets at MO 0.
fn last<const S: usize>(bench: &mut Bench<S>, msn: u32, length: usize) {
    let header = untagged_header(0x41, [msn as u8; 5], 0, msn, 0);
    let sent = fpdu(&mut bench.rng, 1, &header, length);
    bench.send(sent);
}

/// A stream with an MSN window, and buffers of 100 octets on its queue 0.
fn window(bench: &mut Bench<4>, first_msn: u32, buffers: u64) {
    let options = Options {
        msn_window: true,
        ..Options::default()
    };
    bench
        .command(arm_with(1, 7, options, 0b1, first_msn))
        .unwrap();
    for i in 0..buffers {
        bench.command(post(1, 0, 100, 0x1000 * i)).unwrap();
    }
}

/// Whatever order messages are closed in, they are delivered in that of their MSNs, 5 cycles each.
// req: AMB-04, AMB-06, AMB-08, AMB-24, DDP-UNT-12, DDP-UNT-16, DDP-ORD-03, DDP-ORD-05, DDP-ORD-06
#[test]
fn messages_that_overtake_are_delivered_in_order() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 16);
        let first: u32 = 0xffff_fffe;
        let msn = |i: u32| first.wrapping_add(i);
        let mut followers = 0;
        for (order, behind) in [
            (&[0, 1, 2, 3][..], 0),
            (&[3, 2, 1, 0], 3),
            (&[1, 0, 3, 2], 2),
            (&[2, 0, 3, 1], 2),
            (&[3, 1, 0, 2], 2),
        ] {
            window(&mut bench, first, 4);
            bench.pair_times.clear();
            for i in order {
                last(&mut bench, msn(*i), *i as usize + 1);
            }
            bench.drain().unwrap();
            let record = bench.model.streams[1].record;
            assert_eq!(error_record::VALID.get(&record), 0);
            followers += behind;
            assert_eq!(bench.seen.followers, followers);
            assert_eq!(bench.pair_times.len(), 4 + behind as usize);
            bench.command(freeze(1)).unwrap();
        }
        // the cost: none as long as messages come in order, then 6 cycles each
        window(&mut bench, first, 4);
        bench.pair_times.clear();
        for i in [0, 3, 2, 1] {
            last(&mut bench, msn(i), 1);
        }
        bench.drain().unwrap();
        let gaps: Vec<u64> = bench.pair_times.windows(2).map(|t| t[1] - t[0]).collect();
        assert_eq!(gaps, [PER_UNTAGGED, PER_UNTAGGED, PER_UNTAGGED, 6, 6]);
        // closed, and never delivered: the error comes first; nothing of it is left for the next owner
        bench.command(freeze(1)).unwrap();
        window(&mut bench, 1, 4);
        last(&mut bench, 2, 1);
        last(&mut bench, 3, 101);
        last(&mut bench, 1, 1);
        bench.drain().unwrap();
        let record = bench.model.streams[1].record;
        assert_eq!(error_record::CODE.get(&record), 0x05);
        let delivered = bench.seen.delivered;
        window(&mut bench, 1, 4);
        last(&mut bench, 1, 1);
        bench.drain().unwrap();
        assert_eq!(bench.seen.delivered, delivered + 1);
    });
}

// req: AMB-06, AMB-07, DDP-ORD-04
#[test]
fn segments_behind_the_last_one_are_an_anomaly() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 17);
        let segment = |bench: &mut Bench<4>, msn, last, offset, length, rsvd_ulp: u8| {
            let control = if last { 0x41 } else { 0x01 };
            let header = untagged_header(control, [rsvd_ulp; 5], 0, msn, offset);
            let sent = fpdu(&mut bench.rng, 1, &header, length);
            bench.send(sent);
        };
        for (rest, hole) in [
            // what comes behind fills the hole, or makes one, or is nothing
            (&[(false, 0, 60)][..], false),
            (&[(true, 0, 60)], false),
            (&[(false, 0, 60), (true, 0, 100)], true),
            (&[(false, 0, 0)], true),
            (&[], true),
        ] {
            window(&mut bench, 1, 2);
            segment(&mut bench, 2, true, 60, 40, 0x11);
            for (last, offset, length) in rest {
                segment(&mut bench, 2, *last, *offset, *length, 0x22);
            }
            bench.drain().unwrap();
            let Seen {
                holes, anomalies, ..
            } = bench.seen;
            last(&mut bench, 1, 1);
            bench.drain().unwrap();
            assert_eq!(bench.seen.holes - holes, u32::from(hole));
            assert_eq!(
                bench.seen.anomalies - anomalies,
                u32::from(!rest.is_empty())
            );
            // delivered, it is behind the window
            segment(&mut bench, 2, true, 60, 40, 0);
            bench.drain().unwrap();
            let record = bench.model.streams[1].record;
            assert_eq!(error_record::CODE.get(&record), 0x03);
        }
    });
}

/// A segment waits only for a buffer that will be its own.
// req: AMB-04, DDP-ERR-03, DDP-ERR-30
#[test]
fn in_a_window_the_buffer_of_the_very_message_has_to_be_coming() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 18);
        // buffers posted, buffers promised, distance, waits
        for (buffers, promised, distance, waits) in [
            (0, 1, 0, true),
            (0, 1, 1, false),
            (1, 1, 1, true),
            (1, 1, 2, false),
            (0, 3, 2, true),
            // more than the device has slots for
            (4, 1, 4, false),
            (3, 2, 4, false),
            (3, 1, 0x100, false),
            (3, 1, 0x103, false),
        ] {
            let name = format!("{buffers} and {promised}, {distance}");
            bench.promises.clear();
            window(&mut bench, 9, buffers);
            for i in 0..promised {
                bench.promise(1, 0, 100, 0x10_0000 * (i + 1));
            }
            (0..40).for_each(|_| bench.cycle().unwrap());
            last(&mut bench, 9 + distance, 1);
            (0..60).for_each(|_| bench.cycle().unwrap());
            assert_eq!(bench.under_way.len(), usize::from(waits), "{name}");
            bench.drain().unwrap();
            let record = bench.model.streams[1].record;
            let number = (
                error_record::VALID.get(&record),
                error_record::CODE.get(&record),
            );
            assert_eq!(number, if waits { (0, 0) } else { (1, 2) }, "{name}");
            bench.command(freeze(1)).unwrap();
        }
    });
}

/// The numbers that this device's receive path can give an FPDU.
const ALL_ERRORS: [u16; 15] = [
    0x000, 0x100, 0x101, 0x102, 0x103, 0x104, 0x201, 0x202, 0x203, 0x204, 0x205, 0x206, 0x301,
    0x302, 0x303,
];

// req: DDP-HDR-02, DDP-HDR-03, DDP-HDR-08, DDP-HDR-11, DDP-HDR-12, DDP-HDR-13, DDP-HDR-14, DDP-HDR-15
// req: DDP-HDR-18, DDP-TAG-03, DDP-TAG-04, DDP-TAG-08, DDP-TAG-11, DDP-TAG-12, DDP-TAG-13
// req: DDP-UNT-04, DDP-UNT-06, DDP-UNT-07, DDP-UNT-08, DDP-UNT-12, DDP-UNT-17, DDP-UNT-18, DDP-UNT-19
// req: DDP-ERR-17, DDP-ERR-18, DDP-ERR-19, DDP-ERR-20, DDP-ERR-36, DDP-SEC-03, DDP-SEC-05, DDP-SEC-17
// req: DDP-SEC-18, DDP-SEC-19, AMB-01, AMB-02, AMB-03, AMB-05, AMB-09, AMB-10, AMB-43, AMB-44, AMB-45, AMB-59, DDP-UNT-02
#[test]
fn random_traffic_is_judged_as_by_the_reference_receiver() {
    on_large_stack(|| {
        let seen = random_run::<4>(config(4, 16, 4, 4), 1, 60_000, None)
            .unwrap_or_else(|wrong| panic!("{wrong}"));
        println!("{seen:?}");
        for error in ALL_ERRORS {
            assert!(seen.errors.contains_key(&error), "{error:#05x} never came");
        }
        assert!(seen.placed > 200 && seen.delivered > 100 && seen.discarded > 50);
        assert!(seen.refused > 5 && seen.faults > 5 && seen.records > 20);
        assert!(seen.ahead_placed > 50 && seen.ahead_returned > 20);
        assert!(seen.ahead_errors > 10 && seen.placed_before > 20);
        assert!(seen.waited > 10 && seen.read_faults > 2 && seen.holes > 5);
    });
}

// req: AMB-04, AMB-05, AMB-06, AMB-07, AMB-08, AMB-24, DDP-UNT-12, DDP-UNT-16, DDP-ORD-03, DDP-ORD-06
#[test]
fn messages_that_overtake_are_judged_as_by_the_reference_receiver() {
    on_large_stack(|| {
        let seen = calm_run(20, 12_000, None).unwrap_or_else(|wrong| panic!("{wrong}"));
        println!("{seen:?}");
        assert!(seen.followers > 10 && seen.anomalies > 5 && seen.holes > 10);
        assert!(seen.delivered > 50 && !seen.errors.is_empty());
    });
}

// req: DDP-SEC-17, DDP-SEC-18, DDP-SEC-19, DDP-ERR-20, AMB-09, AMB-10
#[test]
fn other_shapes_are_judged_the_same() {
    on_large_stack(|| {
        for seen in [
            random_run::<1>(config(1, 32, 2, 1), 2, 4_000, None),
            random_run::<3>(config(3, 64, 256, 3), 3, 4_000, None),
            random_run::<16>(config(16, 512, 8, 4), 4, 4_000, None),
        ] {
            let seen = seen.unwrap_or_else(|wrong| panic!("{wrong}"));
            println!("{seen:?}");
            assert!(seen.placed > 10 && seen.delivered > 10 && seen.errors.len() > 2);
        }
    });
}

#[test]
fn planted_mistakes_are_seen() {
    on_large_stack(|| {
        for plant in [
            Plant::HeaderBit,
            Plant::LongerRegion,
            Plant::OtherMsn,
            Plant::CrcIgnored,
            Plant::FaultLost,
            Plant::ComingLost,
            Plant::GapHidden,
            Plant::PlacedTwice,
        ] {
            let wrong = random_run::<4>(config(4, 16, 4, 4), 1, 16_000, Some(plant)).unwrap_err();
            println!("{plant:?}: {wrong}");
        }
        for plant in [Plant::OffsetsFree, Plant::WindowShut] {
            let wrong = calm_run(20, 12_000, Some(plant)).unwrap_err();
            println!("{plant:?}: {wrong}");
        }
    });
}

// ---- one by one

/// Octets of a hexadecimal text.
fn octets(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.map(octet).collect()
}

/// Sends one FPDU and returns its pair and, if it failed, the record's number and checks, which the event must repeat.
fn one<const S: usize>(
    bench: &mut Bench<S>,
    stream: u32,
    header: &str,
    payload: usize,
) -> (Pair, Option<(u16, u16)>) {
    let sent = fpdu(&mut bench.rng, stream, &octets(header), payload);
    bench.send(sent);
    while !bench.lockstep.block.m_valid.val() {
        bench.cycle().unwrap();
    }
    let block = &bench.lockstep.block;
    let pair = Pair::of(block.placement.val(), block.delivery.val());
    bench.drain().unwrap();
    let record = bench.read_record(stream as usize).unwrap();
    assert_eq!(record, bench.model.streams[stream as usize].record);
    let field = |field: warpline_regmap::Field| field.get(&record) as u16;
    let failed = (field(error_record::VALID) == 1).then(|| {
        let number = field(error_record::TYPE) << 8 | field(error_record::CODE);
        (number, field(error_record::CHECKS))
    });
    if let Some((number, checks)) = failed {
        let event = pair.event.expect("an error makes an event");
        assert_eq!(error_event::KIND.get(&event), u64::from(kind::ERROR));
        assert_eq!((event[1] as u16, event[2] as u16), (number, checks));
        assert_eq!(pair.write, None, "nothing of a failing segment is placed");
    }
    (pair, failed)
}

fn checks(names: &str) -> u16 {
    let bit = |name: &str| {
        Checks::from_name(&name.to_uppercase())
            .expect("a name")
            .bits()
    };
    names.split_whitespace().map(bit).sum()
}

/// Section 4.8 of the conformance table: header, payload octets, error, failed checks.
#[rustfmt::skip]
const V_CHK_T: [(&str, &str, usize, u16, &str); 20] = [
    (
        "in range, first octet",
        "c140000001000000000000001000",
        16,
        0,
        "",
    ),
    (
        "in range, ends exactly at the end",
        "c140000001000000000000001ff0",
        16,
        0,
        "",
    ),
    (
        "one octet past the end",
        "c140000001000000000000001ff1",
        16,
        0x101,
        "end",
    ),
    (
        "TO one below base",
        "c140000001000000000000000fff",
        1,
        0x101,
        "to",
    ),
    (
        "TO equal to end",
        "c140000001000000000000002000",
        1,
        0x101,
        "end to",
    ),
    (
        "TO below base, end inside",
        "c140000001000000000000000ff8",
        16,
        0x101,
        "to",
    ),
    (
        "unknown STag",
        "c140000009990000000000000000",
        1,
        0x100,
        "stag",
    ),
    (
        "revoked STag",
        "c140000003000000000000000000",
        1,
        0x100,
        "stag",
    ),
    (
        "no remote write right",
        "c140000005000000000000000000",
        1,
        0x100,
        "access",
    ),
    (
        "STag of another PD",
        "c140000006000000000000000000",
        1,
        0x102,
        "assoc",
    ),
    (
        "STag bound to another stream",
        "c140000002000000000000000000",
        1,
        0x102,
        "assoc",
    ),
    (
        "wrap, TO in range",
        "c14000000400fffffffffffffff8",
        16,
        0x103,
        "end wrap",
    ),
    (
        "last octet of address space",
        "c14000000400ffffffffffffffff",
        1,
        0,
        "",
    ),
    (
        "end exactly 2^64",
        "c14000000400fffffffffffffff0",
        16,
        0,
        "",
    ),
    (
        "wrap, TO out of range",
        "c14000000100fffffffffffffff8",
        16,
        0x101,
        "end to wrap",
    ),
    ("DV=0", "c040000001000000000000001000", 16, 0x104, "version"),
    ("DV=2", "c240000001000000000000001000", 16, 0x104, "version"),
    (
        "DV=3, unknown STag",
        "c340000009990000000000000000",
        1,
        0x104,
        "version",
    ),
    (
        "zero length, unknown STag, wild TO",
        "c14000000999ffffffffffffffff",
        0,
        0,
        "",
    ),
    (
        "zero length, DV=0",
        "c04000000999ffffffffffffffff",
        0,
        0x104,
        "version",
    ),
];

// req: DDP-HDR-12, DDP-TAG-06, DDP-ERR-12, DDP-ERR-13, DDP-ERR-14, DDP-ERR-15, DDP-ERR-16, DDP-ERR-24
// req: DDP-ERR-25, DDP-ERR-26, DDP-ERR-27, DDP-ERR-28, DDP-SEC-01, DDP-SEC-02, DDP-SEC-04, DDP-SEC-06
// req: DDP-SEC-09, DDP-SEC-10, DDP-SEC-13, DDP-SEC-20, DDP-SEC-21, AMB-01, AMB-02, AMB-03
#[test]
fn tagged_validation_cases() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 5);
        let domain = |domain| Scope::ProtectionDomain(domain);
        let of_stream_4 = Scope::Stream {
            stream: 4,
            protection_domain: 7,
        };
        let top = 0x1000_u64.wrapping_neg();
        for (stag, scope, remote_write, base, length) in [
            (0x100, domain(7), true, 0x1000, 0x1000),
            (0x200, of_stream_4, true, 0, 64),
            (0x300, domain(7), true, 0, 64),
            (0x400, domain(7), true, top, 0x1000),
            (0x500, domain(7), false, 0, 64),
            (0x600, domain(8), true, 0, 64),
        ] {
            let address = 0x7654_3210_0000 + u64::from(stag);
            let region = Region {
                stag,
                scope,
                remote_write,
                base,
                length,
                address,
            };
            bench.command(write_stag(region)).unwrap();
        }
        bench.command(revoke_stag(0x300)).unwrap();
        for (name, header, payload, error, failed) in V_CHK_T {
            bench.command(arm(3, 7, true, 0, 1)).unwrap();
            let (pair, got) = one(&mut bench, 3, header, payload);
            let want = (error != 0).then(|| (error, checks(failed)));
            assert_eq!(got, want, "{name}");
            if error == 0 {
                let header = octets(header);
                let to = u64::from_be_bytes(header[6..14].try_into().unwrap());
                let base = if header[4] == 1 { 0x1000 } else { top };
                let address =
                    0x7654_3210_0000 + (u64::from(header[4]) << 8) + to.wrapping_sub(base);
                let write = (payload > 0).then_some((16, address, payload as u16));
                assert_eq!(pair.write, write, "{name}");
                let event = pair.event.expect("L = 1");
                assert_eq!(
                    completion::UNVERIFIED.get(&event) == 1,
                    payload == 0,
                    "{name}"
                );
                assert_eq!(completion::OFFSET.get(&event), to, "{name}");
            }
        }
    });
}

/// Where section 4.9 of the conformance table says something else in column "window".
const V_CHK_U_WINDOW: [(&str, u16, &str); 6] = [
    ("second buffer (out of order)", 0, ""),
    ("MSN one past the last posted", 0x202, "nobuf"),
    ("MSN just under half a circle ahead", 0x202, "nobuf"),
    ("wrap 0", 0, ""),
    ("wrap 1", 0, ""),
    ("wrap 2: none posted", 0x202, "nobuf"),
];

/// Section 4.9 of the conformance table, column "strict".
#[rustfmt::skip]
const V_CHK_U: [(&str, &str, usize, u16, &str); 25] = [
    (
        "first buffer, whole",
        "414300000000000000000000000500000000",
        100,
        0,
        "",
    ),
    (
        "second buffer (out of order)",
        "414300000000000000000000000600000000",
        50,
        0x203,
        "msn",
    ),
    ("tail", "41430000000000000000000000050000005a", 10, 0, ""),
    (
        "one too long",
        "41430000000000000000000000050000005b",
        10,
        0x205,
        "len",
    ),
    (
        "MO equal to buffer length",
        "414300000000000000000000000500000064",
        1,
        0x204,
        "mo len",
    ),
    (
        "MO far out",
        "4143000000000000000000000005ffffffff",
        1,
        0x204,
        "mo len",
    ),
    (
        "MO+len wraps 32 bits",
        "4143000000000000000000000005fffffff0",
        32,
        0x204,
        "mo len",
    ),
    (
        "unknown queue",
        "414300000000000000090000000100000000",
        1,
        0x201,
        "qn",
    ),
    (
        "MSN one past the last posted",
        "414300000000000000000000000700000000",
        1,
        0x203,
        "msn",
    ),
    (
        "queue with nothing posted",
        "414300000000000000010000000100000000",
        1,
        0x202,
        "nobuf",
    ),
    (
        "MSN already delivered",
        "414300000000000000000000000400000000",
        1,
        0x203,
        "msn",
    ),
    (
        "MSN 0 (never used at start)",
        "414300000000000000000000000000000000",
        1,
        0x203,
        "msn",
    ),
    (
        "MSN half a circle ahead",
        "414300000000000000008000000500000000",
        1,
        0x203,
        "msn",
    ),
    (
        "MSN just under half a circle ahead",
        "414300000000000000008000000400000000",
        1,
        0x203,
        "msn",
    ),
    (
        "wrap FFFFFFFF",
        "41430000000000000002ffffffff00000000",
        64,
        0,
        "",
    ),
    (
        "wrap 0",
        "414300000000000000020000000000000000",
        64,
        0x203,
        "msn",
    ),
    (
        "wrap 1",
        "414300000000000000020000000100000000",
        64,
        0x203,
        "msn",
    ),
    (
        "wrap 2: none posted",
        "414300000000000000020000000200000000",
        64,
        0x203,
        "msn",
    ),
    (
        "wrap: FFFFFFFE is old",
        "41430000000000000002fffffffe00000000",
        64,
        0x203,
        "msn",
    ),
    (
        "DV=0",
        "404300000000000000000000000500000000",
        1,
        0x206,
        "version",
    ),
    (
        "DV=3, unknown queue",
        "434300000000000000090000000100000000",
        1,
        0x206,
        "version",
    ),
    (
        "zero-length message",
        "414300000000000000000000000500000000",
        0,
        0,
        "",
    ),
    (
        "zero-length, MO at the end of the buffer",
        "414300000000000000000000000500000064",
        0,
        0,
        "",
    ),
    (
        "zero-length, MO past the buffer",
        "414300000000000000000000000500000065",
        0,
        0x204,
        "mo len",
    ),
    (
        "zero-length, nothing posted",
        "414300000000000000010000000100000000",
        0,
        0x202,
        "nobuf",
    ),
];

// req: DDP-UNT-08, DDP-UNT-11, DDP-UNT-12, DDP-UNT-14, DDP-UNT-18, DDP-UNT-19, DDP-ERR-02, DDP-ERR-03
// req: DDP-ERR-04, DDP-ERR-05, DDP-ERR-06, DDP-ERR-29, DDP-ERR-30, DDP-ERR-31, DDP-ERR-32, DDP-ERR-33
// req: DDP-ERR-34, AMB-04, AMB-05
#[test]
fn untagged_validation_cases() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 6);
        let windows = V_CHK_U.map(|case| (case, true));
        let all = V_CHK_U.map(|case| (case, false)).into_iter().chain(windows);
        for ((name, header, payload, mut error, mut failed), msn_window) in all {
            let other = V_CHK_U_WINDOW.iter().find(|case| case.0 == name);
            if let Some(other) = other.filter(|_| msn_window) {
                (error, failed) = (other.1, other.2);
            }
            let options = Options {
                msn_window,
                ..Options::default()
            };
            let queue = u32::from(octets(header)[9]);
            let (first_msn, buffers): (_, &[u32]) = match queue {
                0 => (5, &[100, 50]),
                2 => (0xffff_ffff, &[64, 64, 64]),
                _ => (1, &[]),
            };
            bench
                .command(arm_with(3, 7, options, 0b111, first_msn))
                .unwrap();
            for (i, buffer) in buffers.iter().enumerate() {
                let address = 0xffff_fff0 + i as u64 * 0x1000;
                bench.command(post(3, queue, *buffer, address)).unwrap();
            }
            let (pair, got) = one(&mut bench, 3, header, payload);
            let want = (error != 0).then(|| (error, checks(failed)));
            assert_eq!(got, want, "{name}");
            if error == 0 {
                let header = octets(header);
                let offset = u32::from_be_bytes(header[14..18].try_into().unwrap());
                let msn = u32::from_be_bytes(header[10..14].try_into().unwrap());
                let ahead = u64::from(msn.wrapping_sub(first_msn));
                let address = 0xffff_fff0 + ahead * 0x1000 + u64::from(offset);
                let write = (payload > 0).then_some((20, address, payload as u16));
                assert_eq!(pair.write, write, "{name}");
                // a message that overtakes is delivered later
                let length = u64::from(offset) + payload as u64;
                let got = pair.event.map(|event| completion::LENGTH.get(&event));
                assert_eq!(got, (ahead == 0).then_some(length), "{name}");
            }
        }
    });
}

// req: DDP-HDR-14, AMB-20
#[test]
fn short_ulpdus_are_told_from_whole_headers() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 7);
        for length in 0..20_usize {
            for control in [0xc1, 0x41, 0xc0, 0x40] {
                bench.command(arm(0, 7, true, 1, 1)).unwrap();
                bench.command(post(0, 0, 100, 0)).unwrap();
                let header = [
                    control, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0,
                ];
                let text: String = header.iter().map(|octet| format!("{octet:02x}")).collect();
                let (_, got) = one(
                    &mut bench,
                    0,
                    &text[..2 * length.min(19)],
                    length - length.min(19),
                );
                let tagged = control & 0x80 != 0;
                let want = match length {
                    0..14 => Some((0x000, checks("short"))),
                    14..18 if !tagged => Some((0x000, checks("short"))),
                    _ if control & 3 == 0 && tagged => Some((0x104, checks("version"))),
                    _ if control & 3 == 0 => Some((0x206, checks("version"))),
                    14 => None,
                    _ if tagged => Some((0x100, checks("stag"))),
                    _ => None,
                };
                assert_eq!(got, want, "{length} octets, control {control:#x}");
            }
        }
    });
}

// req: DDP-ERR-07, DDP-UNT-12, DDP-UNT-17
#[test]
fn buffers_are_consumed_in_the_order_they_were_posted() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 8);
        bench.command(arm(1, 7, true, 1, 0xffff_fffe)).unwrap();
        let message = |bench: &mut Bench<4>, msn: u32| {
            let header = untagged_header(0x41, [0x43, 1, 2, 3, 4], 0, msn, 0);
            let text: String = header.iter().map(|octet| format!("{octet:02x}")).collect();
            one(bench, 1, &text, 1)
        };
        for round in 0..3_u64 {
            for slot in 0..4 {
                bench
                    .command(post(1, 0, 1, 0x1000 * (4 * round + slot)))
                    .unwrap();
            }
            let refused = bench.seen.refused;
            bench.command(post(1, 0, 1, 0)).unwrap();
            assert_eq!(bench.seen.refused, refused + 1, "the queue is full");
            for slot in 0..4 {
                let number = 4 * round + slot;
                let (pair, failed) =
                    message(&mut bench, 0xffff_fffe_u32.wrapping_add(number as u32));
                assert_eq!((pair.write, failed), (Some((20, 0x1000 * number, 1)), None));
            }
        }
        let (_, failed) = message(&mut bench, 10);
        assert_eq!(failed, Some((0x202, checks("nobuf"))));
    });
}

// req: DDP-ERR-23, AMB-09, AMB-10
#[test]
fn faults_of_all_streams_in_a_row_are_kept() {
    on_large_stack(|| {
        let mut bench = Bench::<16>::new(config(16, 512, 8, 4), 9);
        for stream in 0..16 {
            bench.command(arm(stream, 7, true, 1, 1)).unwrap();
        }
        // an FPDU that waits at the output holds the block up
        bench.ready_pace = Rhythm::new(Pace::Percent(0));
        for stream in [3, 3, 5] {
            let header = tagged_header(0xc1, 0, 0, 0);
            let sent = fpdu(&mut bench.rng, stream, &header, 0);
            bench.send(sent);
        }
        (0..40).for_each(|_| bench.cycle().unwrap());
        for stream in 0..32 {
            bench.lockstep.block.bus_fault.next = true;
            bench.lockstep.block.bus_fault_stream.next = (stream % 16).into();
            bench.lockstep.settle().unwrap();
            assert!(!bench.lockstep.block.errors.val());
            bench.lockstep.edge().unwrap();
        }
        bench.lockstep.block.bus_fault.next = false;
        let mut errors = 0;
        for _ in 0..1000 {
            bench.lockstep.block.m_ready.next = true;
            bench.lockstep.settle().unwrap();
            errors += u32::from(bench.lockstep.block.errors.val());
            bench.lockstep.edge().unwrap();
        }
        assert_eq!(errors, 16);
        // the scoreboard has not looked on
        (bench.held, bench.under_way, bench.pairs) = Default::default();
        for stream in 0..16 {
            let mut want = [0; error_record::WORDS];
            error_record::VALID.put(&mut want, 1);
            assert_eq!(bench.read_record(stream).unwrap(), want, "stream {stream}");
        }
    });
}

/// An untagged segment of one octet, the last of its message.
fn message<const S: usize>(bench: &mut Bench<S>, stream: u32, queue: u32, msn: u32) -> Fpdu {
    let header = untagged_header(0x41, [0; 5], queue, msn, 0);
    fpdu(&mut bench.rng, stream, &header, 1)
}

/// While a buffer is coming, a segment without one holds up FPDUs, but no command and no fault; whatever comes first
/// decides about it.
// req: DDP-UNT-17, DDP-UNT-18, DDP-ERR-04, DDP-ERR-23
#[test]
fn a_segment_waits_for_a_buffer_that_is_coming() {
    on_large_stack(|| {
        #[derive(Clone, Copy, Debug, PartialEq)]
        enum End {
            Post,
            Freeze,
            Fault,
            ReadFault,
            Nothing,
        }
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 12);
        for end in [
            End::Post,
            End::Freeze,
            End::Fault,
            End::ReadFault,
            End::Nothing,
        ] {
            bench.command(arm(1, 7, true, 0b11, 5)).unwrap();
            bench.command(arm(2, 7, true, 0b1, 1)).unwrap();
            bench.command(post(2, 0, 10, 0x4000)).unwrap();
            bench.command(post(1, 1, 10, 0x5000)).unwrap(); // of another queue
            let taken = bench.done_times.len();
            bench.promise(1, 0, 10, 0x6000);
            bench.pair_times.clear();
            let waiting = message(&mut bench, 1, 0, 5);
            let behind = message(&mut bench, 2, 0, 1);
            bench.send(waiting);
            bench.send(behind);
            for _ in 0..200 {
                bench.cycle().unwrap();
            }
            assert!(bench.pair_times.is_empty(), "{end:?}: neither of them");
            // commands go on
            bench.orders.extend([revoke_stag(0x100), fence()]);
            for _ in 0..60 {
                bench.cycle().unwrap();
            }
            assert_eq!(
                (bench.done_times.len() - taken, bench.pair_times.len()),
                (2, 1)
            );
            match end {
                End::Post => bench.keep_promise(),
                End::Freeze => bench.orders.push_back(freeze(1)),
                End::Fault | End::ReadFault => {
                    bench.fault_of_read = end == End::ReadFault;
                    bench.raise_fault(1);
                    let Seen {
                        faults,
                        read_faults,
                        ..
                    } = bench.seen;
                    while bench.seen.faults == faults {
                        bench.cycle().unwrap();
                    }
                    let reported = u32::from(end == End::ReadFault);
                    assert_eq!(bench.seen.read_faults, read_faults + reported);
                }
                End::Nothing => bench.promises.clear(), // the ring is gone
            }
            for _ in 0..100 {
                bench.cycle().unwrap();
            }
            assert!(bench.under_way.is_empty(), "{end:?}");
            bench.promises.clear();
            bench.drain().unwrap();
            let error = error_record::VALID.get(&bench.model.streams[1].record);
            let number = error_record::CODE.get(&bench.model.streams[1].record);
            match end {
                End::Post | End::Freeze => assert_eq!(error, 0),
                End::Fault | End::ReadFault => assert_eq!((error, number), (1, 0)),
                End::Nothing => assert_eq!((error, number), (1, 0x02)),
            }
            bench.compare_records().unwrap();
            bench.command(freeze(1)).unwrap();
            bench.command(freeze(2)).unwrap();
        }
        // a wrong MSN is no matter of buffers
        bench.command(arm(1, 7, true, 0b11, 5)).unwrap();
        bench.promise(1, 0, 10, 0x6000);
        let wrong = message(&mut bench, 1, 0, 6);
        bench.send(wrong);
        for _ in 0..40 {
            bench.cycle().unwrap();
        }
        assert!(bench.under_way.is_empty());
        assert_eq!(error_record::CODE.get(&bench.model.streams[1].record), 0x03);
    });
}

// req: AMB-42, DDP-SEC-10, DDP-SEC-22
#[test]
fn nothing_is_accepted_before_arm_or_behind_reset_and_revoke() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 10);
        let region = Region {
            stag: 0x1234_5678,
            scope: Scope::ProtectionDomain(7),
            remote_write: true,
            base: 0,
            length: 64,
            address: 0x10_0000,
        };
        let header: String = tagged_header(0xc1, 0, region.stag, 0)
            .iter()
            .map(|octet| format!("{octet:02x}"))
            .collect();
        bench.command(write_stag(region)).unwrap();
        let discarded = Pair::default();
        let placed = Some((16, 0x10_0000, 8));
        let (pair, _) = one(&mut bench, 0, &header, 8);
        assert_eq!(
            (pair.write, pair.action),
            (discarded.write, discarded.action)
        );
        bench.command(arm(0, 7, false, 0, 1)).unwrap();
        let (pair, failed) = one(&mut bench, 0, &header, 8);
        // no event: the stream does not want tagged completions
        assert_eq!((pair.write, pair.action, failed), (placed, 0, None));
        // another key, the same slot: not this STag
        bench.command(revoke_stag(region.stag ^ 1)).unwrap();
        assert_eq!(one(&mut bench, 0, &header, 8).0.write, placed);
        bench.command(revoke_stag(region.stag)).unwrap();
        bench.command(fence()).unwrap();
        let (_, failed) = one(&mut bench, 0, &header, 8);
        assert_eq!(failed, Some((0x100, checks("stag"))));
        // a reset forgets streams, STags and records
        bench.command(write_stag(region)).unwrap();
        bench.lockstep.block.reset.next = true;
        bench.cycle().unwrap();
        bench.lockstep.block.reset.next = false;
        bench.model = Model::new(bench.model.config, 4);
        bench.command(post(0, 0, 1, 0)).unwrap();
        bench.compare_records().unwrap();
        bench.command(arm(0, 7, false, 0, 1)).unwrap();
        let (_, failed) = one(&mut bench, 0, &header, 8);
        assert_eq!(failed, Some((0x100, checks("stag"))));
    });
}

#[test]
fn latency_and_throughput() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 11);
        bench.command(arm(0, 7, true, 1, 1)).unwrap();
        assert_eq!(
            bench.done_times.last().map(|(from, to)| to - from),
            Some(28),
            "arm"
        );
        bench.command(post(0, 0, 100, 0)).unwrap();
        assert_eq!(
            bench.done_times.last().map(|(from, to)| to - from),
            Some(9),
            "post"
        );
        // tagged ones follow each other every cycle
        let header = tagged_header(0xc1, 0, 0, 0);
        for _ in 0..100 {
            let sent = fpdu(&mut bench.rng, 0, &header, 0);
            bench.send(sent);
        }
        let first_error = fpdu(&mut bench.rng, 0, &header, 1);
        bench.send(first_error);
        for _ in 0..5 {
            let discarded = fpdu(&mut bench.rng, 0, &header, 1);
            bench.send(discarded);
        }
        let begin = bench.lockstep.cycles();
        bench.pair_times.clear();
        bench.drain().unwrap();
        let times = &bench.pair_times;
        assert_eq!(times[0] - begin, LATENCY);
        for pair in times[..100].windows(2) {
            assert_eq!(pair[1] - pair[0], 1);
        }
        assert_eq!(
            times[100] - times[99],
            RECORD,
            "the record is written first"
        );
        assert_eq!(times[105] - times[100], 6);
        // what the tables say waits for the verdict, and costs nothing then
        bench.command(arm(0, 7, true, 1, 1)).unwrap();
        let late: Vec<Fpdu> = (0..30)
            .map(|_| fpdu(&mut bench.rng, 0, &header, 0))
            .collect();
        for lead in [6, 40] {
            bench.segments.extend(&late);
            (0..lead).for_each(|_| bench.cycle().unwrap());
            bench.verdicts.extend(&late);
            let begin = bench.lockstep.cycles();
            bench.pair_times.clear();
            bench.drain().unwrap();
            let first = LATENCY.saturating_sub(lead).max(FROM_VERDICT);
            assert_eq!(bench.pair_times[0] - begin, first);
            for pair in bench
                .pair_times
                .windows(2)
                .take(if lead == 6 { 30 } else { 10 })
            {
                assert_eq!(pair[1] - pair[0], 1);
            }
        }
        // untagged ones hold the key
        for _ in 0..4 {
            bench.command(post(0, 0, 100, 0)).unwrap();
        }
        for msn in 1..=4 {
            let sent = message(&mut bench, 0, 0, msn);
            bench.send(sent);
        }
        let begin = bench.lockstep.cycles();
        bench.pair_times.clear();
        bench.drain().unwrap();
        let times = &bench.pair_times;
        assert_eq!(times[0] - begin, LATENCY - 1);
        for pair in times.windows(2) {
            assert_eq!(pair[1] - pair[0], PER_UNTAGGED);
        }
    });
}

/// A command waits for what has entered, and one FPDU goes between two commands.
#[test]
fn neither_commands_nor_fpdus_starve_the_other() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 13);
        bench.command(arm(0, 7, true, 1, 1)).unwrap();
        let header = tagged_header(0xc1, 0, 0, 0);
        let (mut longest, mut offered, mut taken) = (0, None, 0);
        bench.pair_times.clear();
        for _ in 0..2000 {
            while bench.segments.len() < 2 {
                let sent = fpdu(&mut bench.rng, 0, &header, 0);
                bench.send(sent);
            }
            if bench.orders.is_empty() {
                bench.orders.push_back(revoke_stag(0x100));
            }
            let now = bench.lockstep.cycles();
            if bench.running.is_none() && offered.is_none() {
                offered = Some(now);
            }
            bench.cycle().unwrap();
            if let (Some(since), true) = (offered, bench.running.is_some()) {
                longest = longest.max(now - since);
                taken += 1;
                offered = None;
            }
        }
        println!(
            "{taken} commands, {} FPDUs, {longest} cycles",
            bench.pair_times.len()
        );
        assert!(longest <= 13, "a command waited {longest} cycles");
        assert!(taken >= 2000 / 24);
        assert!(bench.pair_times.len() >= taken - 1, "an FPDU a command");
        bench.drain().unwrap();
    });
}
