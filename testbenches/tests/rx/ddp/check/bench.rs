//! The block beside its model, in lockstep.

use super::model::*;
use super::stimulus::*;
use fastrand::Rng;
use rust_hdl_core::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use warpline_hdl::Config;
use warpline_hdl::records::{DdpSegment, Verdict};
use warpline_hdl::rx::ddp::check::{self, Check, CheckCommand};
use warpline_regmap::layout::{completion, error_record, stag_entry, stream_context};
use warpline_sv_writer::{self as writer, Design};
use warpline_testbenches::lockstep::{Lockstep, plant};
use warpline_testbenches::stimulus::{Pace, Rhythm};

/// FPDUs that may be under way.
pub const UNDER_WAY: usize = warpline_hdl::rx::mpa::fetch::UNDER_WAY as usize;
/// Cycles from an untagged FPDU to the next one.
pub const PER_UNTAGGED: u64 = 4;
/// Cycles from `segment_valid` to `m_valid` in an idle block.
pub const LATENCY: u64 = 11;
/// Cycles from `verdict_valid` to `m_valid`, when the tables have answered.
pub const FROM_VERDICT: u64 = check::FROM_VERDICT as u64;
/// Cycles from a message that is delivered to the closed one behind it.
pub const FIRST_FOLLOWER: u64 = 9;
/// Cycles that the record of a first error takes.
pub const RECORD: u64 = 15;

/// What the bench does wrong on purpose, so that its checks are seen to fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plant {
    /// The block gets the length of a region one octet too large.
    LongerRegion,
    /// The block gets another first MSN than the model.
    OtherMsn,
    /// The block gets the verdict that a wrong CRC is right.
    CrcIgnored,
    /// A bus fault does not reach the block.
    FaultLost,
    /// The announcement of an FPDU does not reach the block.
    ComingLost,
    /// One bit of a header on its way into the record.
    HeaderBit,
    /// The strict-MO option of a stream does not reach the block.
    OffsetsFree,
    /// The MSN window of a stream does not reach the block.
    WindowShut,
    /// An FPDU ahead of a gap is presented as in order.
    GapHidden,
    /// An FPDU that is placed already is presented as new.
    PlacedTwice,
}

/// What a run has seen.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub placed: u32,
    pub delivered: u32,
    /// Messages with more or fewer octets than their length.
    pub holes: u32,
    /// Messages that got more segments behind their last one.
    pub anomalies: u32,
    /// Messages that were closed before it was their turn.
    pub followers: u32,
    pub discarded: u32,
    pub refused: u32,
    pub faults: u32,
    pub read_faults: u32,
    /// Segments that had no buffer when they came, and got one.
    pub waited: u32,
    /// Errors by type and code.
    pub errors: BTreeMap<u16, u32>,
    pub records: u32,
    /// FPDUs that came ahead of a gap: placed, given back, and wrong enough to freeze their stream.
    pub ahead_placed: u32,
    pub ahead_returned: u32,
    pub ahead_errors: u32,
    /// FPDUs that were placed before they came in order.
    pub placed_before: u32,
}

pub struct Bench<const S: usize> {
    pub lockstep: Lockstep<Check<S>>,
    pub rng: Rng,
    pub model: Model,
    pub seen: Seen,
    pub plant: Option<Plant>,
    // on the way in
    pub segments: VecDeque<Fpdu>,
    pub verdicts: VecDeque<Fpdu>,
    pub under_way: VecDeque<Fpdu>,
    /// When they were given to the block.
    pub given: VecDeque<u64>,
    /// A command is offered until it is taken.
    pub offering: bool,
    pub orders: VecDeque<Order>,
    pub running: Option<(Order, bool)>,
    pub fault: Option<(usize, u32)>,
    pub fault_now: Option<usize>,
    pub fault_of_read: bool,
    /// Buffers that `receive_rings` is about to post: queue, order, and the cycle of the doorbell.
    pub promises: VecDeque<((u8, u8), Order, u64)>,
    /// What the block looked at in the last cycle.
    pub key: (u8, u8),
    /// And how far behind the first buffer of its queue.
    pub distance: u8,
    /// Messages that are delivered behind the FPDU that was decided last.
    pub followers: u32,
    // on the way out
    pub pairs: VecDeque<Pair>,
    pub held: Option<Pair>,
    pub segment_pace: Rhythm,
    pub verdict_pace: Rhythm,
    pub command_pace: Rhythm,
    pub ready_pace: Rhythm,
    /// Cycles at which pairs came, and commands ended.
    pub pair_times: Vec<u64>,
    pub done_times: Vec<(u64, u64)>,
    pub order_time: u64,
}

/// How a run ends badly.
pub type Wrong = String;

impl<const S: usize> Bench<S> {
    pub fn new(config: Config, seed: u64) -> Self {
        Self::with_text(config, seed, "", |_| ())
    }

    /// With a fault in the text: what reads `right` reads `wrong`.
    pub fn with_fault(config: Config, seed: u64, name: &str, right: &str, wrong: &str) -> Self {
        let name = format!("_{name}");
        Self::with_text(config, seed, &name, |design| plant(design, right, wrong))
    }

    fn with_text(
        config: Config,
        seed: u64,
        suffix: &str,
        change: impl FnOnce(&mut Design),
    ) -> Self {
        let block = Box::new(Check::<S>::new(&config));
        let (slots, buffers) = (config.stag_slots, config.receive_slots);
        let name = format!("check_{S}_{slots}_{buffers}{suffix}");
        let mut design = writer::write(&*block, &name).unwrap_or_else(|e| panic!("{e}"));
        change(&mut design);
        let clock: fn(&mut Check<S>, bool) = |b, level| b.clock.next = level.into();
        let lockstep =
            Lockstep::with_design(&name, block, &design, clock).unwrap_or_else(|e| panic!("{e}"));
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

    pub fn send(&mut self, fpdu: Fpdu) {
        self.segments.push_back(fpdu);
        self.verdicts.push_back(fpdu);
    }

    /// FPDUs of a stream that are not decided yet.
    pub fn undecided(&self, stream: usize) -> bool {
        let mut all = self.segments.iter().chain(&self.under_way);
        all.any(|fpdu| fpdu.segment.stream.index() == stream)
    }

    /// More buffers than `distance` for that queue are on their way, or posted.
    pub fn coming(&self, key: (u8, u8), distance: usize) -> bool {
        let promised = self.promises.iter().filter(|promise| promise.0 == key);
        self.posted(key) + promised.count() > distance
    }

    /// Buffers of a queue that are posted.
    pub fn posted(&self, key: (u8, u8)) -> usize {
        let queues = self.model.streams.get(usize::from(key.0));
        let queue = queues.and_then(|stream| stream.queues.get(&key.1.into()));
        queue.map_or(0, |queue| queue.addresses.len())
    }

    pub fn cycle(&mut self) -> Result<(), Wrong> {
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
        block.segment.next = segment.map_or_else(DdpSegment::default, |fpdu| fpdu.segment);
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
    pub fn observe(&mut self, offer: bool, ready: bool) -> Result<(), Wrong> {
        let now = self.lockstep.cycles();
        let block = &*self.lockstep.block;
        let consumed = Consumed {
            stream: block.consumed_stream.val().to_u8(),
            discarded: block.discarded.val(),
            payload: block.payload.val().to_u16(),
            error: block.errors.val(),
            error_stream: block
                .errors
                .val()
                .then(|| block.errors_stream.val().to_u8()),
            mpa_accepted: block.mpa_accepted.val(),
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
                Some((stream, _))
                    if self.model.fault(stream) && consumed.error_stream == Some(stream as u8) =>
                {
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
                Some((order, refused))
                    if refused == failed || !failed && self.model.has_no_end(&order) =>
                {
                    self.seen.refused += u32::from(failed);
                    self.done_times.push((self.order_time, now));
                }
                other => return wrong("end of a command, refused:", &failed, &other),
            }
        }
        if (consumed.judged || consumed.mpa_accepted) && !block.consumed.val()
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
    pub fn age_fault(&mut self) -> Result<(), Wrong> {
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
    pub fn drain(&mut self) -> Result<(), Wrong> {
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

    pub fn command(&mut self, order: Order) -> Result<(), Wrong> {
        self.orders.push_back(order);
        self.drain()
    }

    pub fn read_record(&mut self, stream: usize) -> Result<[u32; error_record::WORDS], Wrong> {
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

    pub fn compare_records(&mut self) -> Result<(), Wrong> {
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

    /// `receive_rings` announces a buffer: `coming` from now on, posted some time later.
    pub fn promise(&mut self, stream: u32, queue: u32, length: u32, address: u64) {
        let order = post(stream, queue, length, address);
        let now = self.lockstep.cycles();
        self.promises
            .push_back(((stream as u8, queue as u8), order, now));
    }

    pub fn keep_promise(&mut self) {
        self.orders
            .extend(self.promises.front().map(|(_, order, _)| *order));
    }

    pub fn raise_fault(&mut self, stream: usize) {
        self.fault = Some((stream, 0));
        self.fault_now = Some(stream);
    }
}

pub fn config(streams: usize, stag_slots: usize, receive_slots: usize, queues: usize) -> Config {
    Config {
        streams,
        stag_slots,
        receive_slots,
        queues,
        ..Config::simulated(64)
    }
}
