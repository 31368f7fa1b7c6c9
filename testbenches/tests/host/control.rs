//! Commands, with stand-ins for the host, `check`, `receive_rings`, `transmit_control`, `deliver` and the traffic of the streams.
//!
//! A script of what each command has to bring about is compared with what was seen: questions to `check`, pulses, the
//! verdict. Order and distance in time are checked where they matter: fences, arming and closing.

use fastrand::Rng;
use num_bigint::BigUint;
use rust_hdl_core::prelude::Block;
use std::collections::VecDeque;
use warpline_hdl::Config;
use warpline_hdl::host::control::{Control, SETTLE, TransmitRequest};
use warpline_hdl::rx::ddp::check::CheckCommand;
use warpline_regmap::layout::{close, receive_ring, stream_context};
use warpline_regmap::register::command;
use warpline_regmap::transmit::{ARM_TRANSMIT, SET_EMSS, SET_READ_RESPONDER, SET_SEND_RING};
use warpline_testbenches::lockstep::{Lockstep, sources};
use warpline_testbenches::stimulus::chance;

const STREAMS: usize = 4;
/// Untagged queues of the device; a stream may ask for more.
const QUEUES: usize = 3;
/// Cycles after `close` in which the stand-in traffic still issues FPDUs.
const LATE: u64 = SETTLE - 2;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Asked(CheckCommand),
    Armed {
        stream: u64,
        markers: bool,
        crc: bool,
        sequence: u64,
    },
    Closed {
        stream: u64,
    },
    /// The stream's rings are taken away.
    Forgotten,
    /// `receive_rings` is asked.
    Set,
    /// `transmit_control` is asked.
    Transmit(TransmitRequest),
}

/// Wires that a test breaks to see the scoreboard fail.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// A bit of the sequence number is stuck at 0.
    Sequence,
    /// Control does not hear of the FPDUs of stream 1.
    Deaf,
    /// `receive_rings` seems to have no read under way.
    Quiet,
    /// Fences come back at once, also those that were never sent.
    EarlyFence,
    /// `transmit_control` seems to be done at once.
    EarlyTransmit,
}

/// A command on its way, and what was seen of it.
struct Running {
    number: u32,
    words: [u32; 8],
    given: u64,
    seen: Vec<Event>,
    check_failed: bool,
    set_failed: bool,
    transmit_failed: bool,
    closed_at: Option<u64>,
    fence_sent: bool,
    fence_back: bool,
}

struct Bench {
    sim: Lockstep<Control<STREAMS>>,
    rng: Rng,
    fault: Fault,
    /// Answers of `check` take up to this many cycles, fences eight times as many.
    slowness: u32,

    running: Option<Running>,
    armed: [bool; STREAMS],
    /// Queues that streams were armed with.
    queues: [u64; STREAMS],

    /// Of `check`: cycles until it is done, and whether it refuses.
    working: Option<(u32, bool)>,
    held: Option<CheckCommand>,
    fence_in: Option<u32>,
    /// Of `receive_rings`: cycles until it has seen a ring, and until a read of the closed stream is over.
    set_in: Option<u32>,
    noise: u32,
    /// Of `transmit_control`: cycles until it is done with the request that it has.
    transmit_in: Option<u32>,
    transmit_held: Option<TransmitRequest>,
    transmits: bool,

    open: [bool; STREAMS],
    closed_at: [u64; STREAMS],
    under_way: [u64; STREAMS],
    line: VecDeque<usize>,

    finished: Vec<(u32, bool, u64)>,
    drained: usize,
    waited: usize,
    ignored: usize,
}

impl Bench {
    /// A device that receives only.
    fn new(seed: u64, slowness: u32, fault: Fault) -> Self {
        Self::of(seed, slowness, fault, false)
    }

    fn of(seed: u64, slowness: u32, fault: Fault, transmit: bool) -> Self {
        let config = Config {
            queues: QUEUES,
            transmit,
            ..Config::simulated(64)
        };
        let block = Box::new(Control::new(&config));
        let top = match transmit {
            true => "control_duplex",
            false => "control",
        };
        let mut sim = Lockstep::new(top, block, |b, level| b.clock.next = level.into())
            .unwrap_or_else(|e| panic!("{e}"));
        for _ in 0..2 {
            sim.cycle(|b| b.reset.next = true, |_| ())
                .unwrap_or_else(|e| panic!("{e}"));
        }
        sim.block.reset.next = false;
        Self {
            sim,
            rng: Rng::with_seed(seed),
            fault,
            slowness,
            running: None,
            armed: [false; STREAMS],
            queues: [0; STREAMS],
            working: None,
            held: None,
            fence_in: None,
            set_in: None,
            noise: 0,
            transmit_in: None,
            transmit_held: None,
            transmits: transmit,
            open: [false; STREAMS],
            closed_at: [0; STREAMS],
            under_way: [0; STREAMS],
            line: VecDeque::new(),
            finished: vec![],
            drained: 0,
            waited: 0,
            ignored: 0,
        }
    }

    /// Runs a command to its end; `true` when it was refused.
    fn command(&mut self, number: u32, words: [u32; 8]) -> Result<bool, String> {
        self.cycle(Some((number, words)))?;
        let limit = self.sim.cycles() + 5000;
        while self.running.is_some() {
            self.cycle(None)?;
            if self.sim.cycles() > limit {
                return Err(format!("command {number} does not end"));
            }
        }
        Ok(self.finished[self.finished.len() - 1].1)
    }

    fn cycle(&mut self, given: Option<(u32, [u32; 8])>) -> Result<(), String> {
        let now = self.sim.cycles();
        let rng = &mut self.rng;
        let block = &mut *self.sim.block;

        // the host; while a command runs the registers keep number and arguments, but a start may come
        block.start.next = given.is_some();
        if let Some((number, words)) = given {
            let mut wires = words;
            if self.fault == Fault::Sequence {
                wires[stream_context::SEQUENCE_START.lsb / 32] &= !0x10;
            }
            block.number.next = u64::from(number).into();
            block.arguments.next = BigUint::new(wires.to_vec()).into();
            self.running = Some(Running {
                number,
                words,
                given: now,
                seen: vec![],
                check_failed: false,
                set_failed: false,
                transmit_failed: false,
                closed_at: None,
                fence_sent: false,
                fence_back: false,
            });
        } else if block.busy.val() && chance(rng, 5) {
            block.start.next = true;
        }

        // check
        let ready = self.working.is_none() && chance(rng, 40);
        block.command_ready.next = ready;
        let done = matches!(self.working, Some((0, _)));
        block.command_done.next = done;
        block.command_failed.next = match self.working {
            Some((0, failed)) => failed,
            _ => rng.bool(), // means nothing without command_done
        };

        // receive rings
        let set_ready = self.set_in == Some(0);
        block.set_ready.next = set_ready;
        block.set_failed.next = rng.bool(); // means nothing without set_ready
        block.quiet.next = self.noise == 0 || self.fault == Fault::Quiet;

        // transmit control
        let transmit_done = self.transmit_in == Some(0);
        block.transmit_done.next = transmit_done;
        if self.fault == Fault::EarlyTransmit {
            block.transmit_done.next = block.transmit_valid.val();
        }
        let may_fail = self.transmit_held.is_some_and(|request| {
            use TransmitRequest::{ArmTransmit, SetEmss, SetReadResponder, SetSendRing};
            matches!(
                request,
                SetSendRing | ArmTransmit | SetEmss | SetReadResponder
            )
        });
        block.transmit_failed.next = rng.bool() && (may_fail || !transmit_done);

        // deliver
        block.fence_done.next = self.fence_in == Some(0);
        if self.fault == Fault::EarlyFence {
            block.fence_done.next = chance(rng, 20);
        }

        // traffic
        let source = rng.usize(0..STREAMS);
        let issues = self.open[source] && self.under_way[source] < 20 && chance(rng, 50);
        let deaf = |stream: usize| self.fault == Fault::Deaf && stream == 1;
        block.issued.next = issues && !deaf(source);
        block.issued_stream.next = (source as u64).into();
        let consumes = self.line.front().copied().filter(|_| chance(rng, 35));
        block.consumed.next = consumes.is_some_and(|stream| !deaf(stream));
        block.consumed_stream.next = consumes.map_or(rng.u64(0..256), |s| s as u64).into();

        self.sim.settle().map_err(|e| e.to_string())?;
        let block = &*self.sim.block;
        let busy = block.busy.val();
        let expected_busy = self.running.as_ref().is_some_and(|r| r.given < now);
        if busy && !expected_busy {
            return Err(format!("cycle {now}: busy without a command"));
        }
        if self.running.as_ref().is_some_and(|r| r.given + 1 == now) && !busy {
            return Err(format!("cycle {now}: not busy in the cycle after start"));
        }
        self.ignored += usize::from(busy && block.start.val());

        // what it does
        let mut events = vec![];
        let stream: u64 = block.stream.val().into();
        if block.close.val() {
            events.push(Event::Closed { stream });
        }
        if block.forget.val() {
            events.push(Event::Forgotten);
            if self.working.is_some() {
                return Err("rings are forgotten before the stream is frozen".into());
            }
        }
        if block.arm.val() {
            events.push(Event::Armed {
                stream,
                markers: block.markers.val(),
                crc: block.crc.val(),
                sequence: block.sequence_start.val().into(),
            });
        }
        if block.set.val() && self.set_in.is_none() {
            events.push(Event::Set);
            self.set_in = Some(self.rng.u32(1..=self.slowness));
        }
        let transmit = block.transmit_valid.val().then(|| block.transmit.val());
        match (transmit, self.transmit_held) {
            (Some(request), None) => {
                events.push(Event::Transmit(request));
                self.transmit_in = Some(self.rng.u32(1..=self.slowness));
                self.transmit_held = transmit;
                if self.noise > 0 && request == TransmitRequest::Close {
                    return Err("the transmit side is closed while the stream is read for".into());
                }
            }
            (now, before) if now != before => {
                return Err(format!("{before:?} became {now:?} before it was done"));
            }
            _ => {}
        }
        let asked = block.command_valid.val().then(|| block.command.val());
        if let Some(before) = self.held.filter(|before| asked != Some(*before)) {
            return Err(format!("{before:?} changed while it waited"));
        }
        self.held = asked.filter(|_| !ready);
        let taken = asked.filter(|_| ready);
        events.extend(taken.map(Event::Asked));
        if let (Some(CheckCommand::Fence), Some(running)) = (asked, &self.running) {
            let stream = close::STREAM.get(&running.words) as usize;
            if let Some(closed) = running.closed_at {
                if now < closed + SETTLE {
                    return Err(format!("fence {} cycles after close", now - closed));
                }
                if self.noise > 0 {
                    return Err(format!("fence while stream {stream} is read for"));
                }
                if self.under_way[stream] > 0 {
                    return Err(format!(
                        "fence while {} FPDUs of stream {stream} are under way",
                        self.under_way[stream]
                    ));
                }
            }
        }
        let Some(running) = &mut self.running else {
            if !events.is_empty() {
                return Err(format!("{events:?} without a command"));
            }
            return self.step(taken, issues.then_some(source), consumes);
        };
        if block.close.val() {
            running.closed_at = Some(now);
            let at = stream as usize;
            self.drained += usize::from(self.under_way[at] > 0);
            self.closed_at[at] = now;
            let reads = chance(&mut self.rng, 30);
            self.noise = if reads { self.rng.u32(..300) } else { 0 };
            self.waited += usize::from(u64::from(self.noise) > SETTLE + 4);
        }
        if set_ready {
            running.set_failed = block.set_failed.val();
        }
        if transmit_done {
            running.transmit_failed = block.transmit_failed.val();
        }
        if done {
            running.check_failed |= block.command_failed.val();
        }
        running.fence_sent |= taken == Some(CheckCommand::Fence);
        running.fence_back |= running.fence_sent && self.fence_in == Some(0);
        if block.arm.val() {
            self.open[stream as usize % STREAMS] = true;
        }
        running.seen.extend(events);
        if !busy && running.given < now {
            let refused = block.failed.val();
            self.judge(refused, now)?;
        }
        self.step(taken, issues.then_some(source), consumes)
    }

    /// The stand-ins move on.
    fn step(
        &mut self,
        taken: Option<CheckCommand>,
        issued: Option<usize>,
        consumed: Option<usize>,
    ) -> Result<(), String> {
        let now = self.sim.cycles();
        self.noise = self.noise.saturating_sub(1);
        self.set_in = match self.set_in {
            Some(0) | None => None,
            Some(cycles) => Some(cycles - 1),
        };
        self.transmit_in = match self.transmit_in {
            Some(0) | None => None,
            Some(cycles) => Some(cycles - 1),
        };
        if self.transmit_in.is_none() {
            self.transmit_held = None;
        }
        self.working = match self.working {
            Some((0, _)) | None => None,
            Some((cycles, failed)) => Some((cycles - 1, failed)),
        };
        self.fence_in = match self.fence_in {
            Some(0) | None => None,
            Some(cycles) => Some(cycles - 1),
        };
        if let Some(command) = taken {
            use CheckCommand::{Arm, Fence, PostReceive, WriteStag};
            let may_fail = matches!(command, WriteStag | Arm | PostReceive);
            let failed = may_fail && chance(&mut self.rng, 25);
            self.working = Some((self.rng.u32(0..self.slowness), failed));
            if command == Fence {
                self.fence_in = Some(self.rng.u32(0..8 * self.slowness));
            }
        }
        if let Some(stream) = issued {
            self.under_way[stream] += 1;
            self.line.push_back(stream);
        }
        if let Some(stream) = consumed {
            self.under_way[stream] -= 1;
            self.line.pop_front();
        }
        for stream in 0..STREAMS {
            let closed = self.closed_at[stream];
            if closed > 0 && now >= closed + LATE {
                self.open[stream] = false;
                self.closed_at[stream] = 0;
            }
        }
        self.sim.edge().map_err(|e| e.to_string())
    }

    /// Compares what a command brought about with what it should.
    fn judge(&mut self, refused: bool, now: u64) -> Result<(), String> {
        use CheckCommand::{Arm, Fence, Freeze, PostReceive, RevokeStag, WriteStag};
        let running = self.running.take().ok_or("no command")?;
        let stream = close::STREAM.get(&running.words);
        let at = stream as usize;
        let exists = at < STREAMS;
        let armed = exists && self.armed[at];
        let asked =
            |commands: &[CheckCommand]| commands.iter().copied().map(Event::Asked).collect();
        let transmits = |request| self.transmits.then_some(Event::Transmit(request));
        let (events, fails): (Vec<Event>, bool) = match running.number {
            command::WRITE_STAG => (asked(&[WriteStag]), running.check_failed),
            command::POST_RECEIVE => (asked(&[PostReceive]), running.check_failed),
            command::REVOKE_STAG => {
                let mut events: Vec<Event> = asked(&[RevokeStag]);
                events.extend(transmits(TransmitRequest::Revoke));
                events.extend(asked(&[Fence]));
                (events, false)
            }
            command::ARM_STREAM if exists && !armed => {
                let words = &running.words;
                let mut events: Vec<Event> = asked(&[Arm]);
                if !running.check_failed {
                    self.armed[at] = true;
                    self.queues[at] = stream_context::QUEUES.get(words) & ((1 << QUEUES) - 1);
                    events.push(Event::Armed {
                        stream,
                        markers: stream_context::MARKERS.get(words) == 1,
                        crc: stream_context::CRC.get(words) == 1,
                        sequence: stream_context::SEQUENCE_START.get(words),
                    });
                    events.extend(transmits(TransmitRequest::ArmStream));
                }
                (events, running.check_failed)
            }
            SET_SEND_RING | ARM_TRANSMIT | SET_EMSS | SET_READ_RESPONDER
                if armed && self.transmits =>
            {
                let request = match running.number {
                    SET_SEND_RING => TransmitRequest::SetSendRing,
                    ARM_TRANSMIT => TransmitRequest::ArmTransmit,
                    SET_READ_RESPONDER => TransmitRequest::SetReadResponder,
                    _ => TransmitRequest::SetEmss,
                };
                (vec![Event::Transmit(request)], running.transmit_failed)
            }
            command::SET_RECEIVE_RING if armed && self.ring_is_legal(&running.words) => {
                (vec![Event::Set], running.set_failed)
            }
            command::CLOSE_STREAM if exists => {
                self.armed[at] = false;
                let mut events = vec![Event::Closed { stream }];
                events.extend([Event::Asked(Freeze), Event::Forgotten]);
                events.extend(transmits(TransmitRequest::Close));
                events.push(Event::Asked(Fence));
                (events, false)
            }
            _ => (vec![], true),
        };
        if running.seen != events {
            return Err(format!(
                "command {} of {:x?}: {:?} instead of {events:?}",
                running.number, running.words, running.seen
            ));
        }
        if refused != fails {
            return Err(format!(
                "command {} of {:x?}: refused = {refused} instead of {fails}",
                running.number, running.words
            ));
        }
        if running.fence_sent && !running.fence_back {
            return Err(format!(
                "command {} is done before its fence",
                running.number
            ));
        }
        self.finished
            .push((running.number, refused, now - running.given));
        Ok(())
    }

    fn ring_is_legal(&self, words: &[u32; 8]) -> bool {
        let get = |field: warpline_regmap::Field| field.get(words);
        let queues = self.queues[get(receive_ring::STREAM) as usize];
        let queue = get(receive_ring::QUEUE);
        let entries = get(receive_ring::ENTRIES);
        queue < 64
            && queues >> queue & 1 == 1
            && (16..=32768).contains(&entries)
            && entries.is_power_of_two()
            && get(receive_ring::BASE).is_multiple_of(256)
    }

    fn random_commands(&mut self, count: usize) -> Result<(), String> {
        for _ in 0..count {
            let rng = &mut self.rng;
            let mut words = [0; 8].map(|_: u32| rng.u32(..));
            let stream = if chance(rng, 85) {
                rng.u64(0..STREAMS as u64)
            } else {
                rng.u64(0..256)
            };
            close::STREAM.put(&mut words, stream);
            let number = match rng.u32(0..13) {
                0 => rng.u32(0..256),
                1..=3 => command::ARM_STREAM,
                4 | 5 => command::CLOSE_STREAM,
                6..=8 => command::SET_RECEIVE_RING,
                9 => rng.u32(7..11),
                _ => rng.u32(1..7),
            };
            if number == command::SET_RECEIVE_RING && chance(rng, 80) {
                // legal but for one thing at the most
                receive_ring::QUEUE.put(&mut words, rng.u64(0..4));
                receive_ring::ENTRIES.put(&mut words, 1 << rng.u32(3..16));
                let base = rng.u64(..) << 8;
                let low = 1 << rng.u32(0..8);
                let base = base | if chance(rng, 20) { low } else { 0 };
                receive_ring::BASE.put(&mut words, base);
                if chance(rng, 20) {
                    let entries = receive_ring::ENTRIES.get(&words) | 1 << rng.u32(0..16);
                    receive_ring::ENTRIES.put(&mut words, entries);
                }
            }
            self.command(number, words)?;
            for _ in 0..self.rng.u32(0..30) {
                self.cycle(None)?;
            }
        }
        Ok(())
    }
}

fn stream_words(stream: u64) -> [u32; 8] {
    let mut words = [0; 8];
    close::STREAM.put(&mut words, stream);
    words
}

// req: AMB-16, AMB-42
#[test]
fn random_commands_do_what_they_should() {
    random_commands(false, 6);
}

// req: AMB-16, AMB-42
#[test]
fn random_commands_of_both_directions_do_what_they_should() {
    random_commands(true, 10);
}

/// A device that has the commands 1 to `last`.
fn random_commands(transmit: bool, last: u32) {
    let mut done = vec![];
    for (seed, slowness) in [(1, 1), (2, 12), (3, 40)] {
        let mut bench = Bench::of(seed, slowness, Fault::None, transmit);
        bench.random_commands(200).unwrap();
        assert!(bench.drained > 5, "FPDUs were under way at a close");
        assert!(bench.waited > 2, "reads were under way at a close");
        assert!(bench.ignored > 20, "starts while busy");
        done.extend(bench.finished);
    }
    for number in 1..=last {
        let good = |refused: bool| done.iter().any(|d| d.0 == number && d.1 == refused);
        assert!(good(false), "command {number} was done");
        assert!(
            good(true) || number == command::REVOKE_STAG,
            "command {number} was refused"
        );
    }
    let unknown = |d: &&(u32, bool, u64)| !(1..=last).contains(&d.0);
    assert!(done.iter().filter(unknown).count() > 10);
    assert!(done.iter().filter(unknown).all(|d| d.1 && d.2 == 2));
}

#[test]
fn streams_are_armed_once_and_only_where_they_are() {
    let mut bench = Bench::new(4, 5, Fault::None);
    let arm = |bench: &mut Bench, stream| {
        // check refuses some at random: ask until control has decided
        loop {
            let asked = !bench
                .command(command::ARM_STREAM, stream_words(stream))
                .unwrap();
            let known = stream as usize >= STREAMS || bench.armed[stream as usize];
            if asked || known {
                return asked;
            }
        }
    };
    assert!(arm(&mut bench, 3));
    assert!(!arm(&mut bench, 3), "armed already");
    assert!(!arm(&mut bench, STREAMS as u64), "no such stream");
    assert!(!arm(&mut bench, 255), "no such stream");
    let close = |bench: &mut Bench, stream| {
        !bench
            .command(command::CLOSE_STREAM, stream_words(stream))
            .unwrap()
    };
    assert!(!close(&mut bench, STREAMS as u64), "no such stream");
    assert!(close(&mut bench, 3));
    assert!(arm(&mut bench, 3), "free again");
    assert!(close(&mut bench, 0), "a stream that was never armed");
}

#[test]
fn latency() {
    let mut bench = Bench::new(5, 1, Fault::None);
    for number in [0, command::POST_RECEIVE, command::CLOSE_STREAM].repeat(200) {
        bench.command(number, stream_words(0)).unwrap();
    }
    let fastest = |number: u32| {
        let cycles = bench.finished.iter().filter(|d| d.0 == number);
        cycles.map(|d| d.2).min().unwrap()
    };
    // with a check that answers in the next cycle
    assert_eq!(fastest(0), 2, "a refusal");
    assert_eq!(fastest(command::POST_RECEIVE), 4, "one question");
    // decide, ask, answer, settle, drain, ask, answer, fence
    assert_eq!(fastest(command::CLOSE_STREAM), SETTLE + 8);
}

/// Each of the reasons for which a ring is refused, on its own; `receive_rings` is not asked then.
#[test]
fn rings_are_refused_for_each_reason() {
    let mut bench = Bench::new(8, 1, Fault::None);
    let mut words = stream_words(2);
    let set = |bench: &mut Bench, words| bench.command(command::SET_RECEIVE_RING, words).unwrap();
    let ring = |queue, entries, base| {
        let mut words = stream_words(2);
        receive_ring::QUEUE.put(&mut words, queue);
        receive_ring::ENTRIES.put(&mut words, entries);
        receive_ring::BASE.put(&mut words, base);
        words
    };
    assert!(set(&mut bench, ring(0, 64, 0x100)), "not armed");
    stream_context::QUEUES.put(&mut words, 0b1101);
    while !bench.armed[2] {
        bench.command(command::ARM_STREAM, words).unwrap();
    }
    for (refused, queue, entries, base) in [
        (true, 1, 64, 0x100),
        (true, 3, 64, 0x100), // armed with it, but the device has three
        (true, 4, 64, 0x100),
        (true, 66, 64, 0x100),
        (true, 0, 8, 0x100),
        (true, 0, 0, 0x100),
        (true, 0, 48, 0x100),
        (true, 0, 64, 0x180),
        (false, 0, 16, 0x100),
        (false, 2, 32768, u64::MAX << 8),
    ] {
        // receive rings refuse some at random: ask until control has decided
        let asked = (0..20).any(|_| !set(&mut bench, ring(queue, entries, base)));
        assert_eq!(
            asked, !refused,
            "queue {queue}, {entries} entries at {base:#x}"
        );
    }
}

fn lint<B: Block>(top: &str, block: B) {
    let design = warpline_sv_writer::write(&block, top).unwrap();
    assert_eq!(sources(top, &design).lint().unwrap(), []);
}

#[test]
fn other_sizes_are_free_of_warnings() {
    let config = Config::simulated(64);
    lint("control_1", Control::<1>::new(&config));
    lint("control_16", Control::<16>::new(&config));
}

#[test]
fn reset_forgets_everything() {
    let mut bench = Bench::new(6, 3, Fault::None);
    while bench.command(command::ARM_STREAM, stream_words(1)).unwrap() {}
    // FPDUs of the stream are under way, and a close waits for them
    while bench.under_way[1] == 0 {
        bench.cycle(None).unwrap();
    }
    let sim = &mut bench.sim;
    sim.cycle(
        |b| {
            b.reset.next = true;
            b.issued.next = false;
            b.consumed.next = false;
        },
        |_| (),
    )
    .unwrap();
    sim.block.reset.next = false;
    bench.under_way = [0; STREAMS];
    bench.line.clear();
    bench.open = [false; STREAMS];
    bench.armed = [false; STREAMS];
    assert!(
        !bench
            .command(command::CLOSE_STREAM, stream_words(1))
            .unwrap(),
        "nothing is under way any more"
    );
    while bench.command(command::ARM_STREAM, stream_words(1)).unwrap() {}
    assert!(bench.armed[1]);
}

#[test]
fn the_scoreboard_sees_broken_wires() {
    for (fault, said) in [
        (Fault::Sequence, "instead of"),
        (Fault::Deaf, "are under way"),
        (Fault::Quiet, "is read for"),
        (Fault::EarlyFence, "before its fence"),
        (Fault::EarlyTransmit, "before it was done"),
    ] {
        let error = Bench::of(7, 12, fault, true)
            .random_commands(200)
            .unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}
