//! Two machines against each other over an SCTP that delivers in any order, acknowledges late, and loses
//! associations. A record of what the two ULPs did says which events may come.
//!
//! Each session has a number of its own, which its Initiate and its segments carry. So the record knows of
//! each octet that arrives which session it was sent in.

use crate::{End, Log, Seen, new, peer};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use warpline_wire::sctp::{Cause, Ending, Receipt, Received, Settings, Timeouts, ppid};

const STREAMS: u16 = 3;

/// A small generator (splitmix64): seeds name the runs.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn one_in(&mut self, limit: usize) -> bool {
        self.below(limit) == 0
    }
}

/// What is planted to see that the checks find it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// A chunk is acknowledged and never arrives.
    LoseChunk,
    /// A chunk is acknowledged before it arrives.
    EarlyAck,
    /// A chunk of a former session arrives in a later one.
    Stale,
    /// A DDP-SSN is one too high.
    Renumber,
    /// An octet of a segment is inverted.
    Corrupt,
    /// One end learns nothing of the loss of the association.
    HalfLoss,
}

/// A chunk under way.
#[derive(Clone, Debug)]
struct Flight {
    stream: u16,
    ppid: u32,
    octets: Vec<u8>,
    /// Session that it was sent in.
    session: u32,
    /// Its place among the chunks of its stream and sender.
    place: usize,
}

/// One end's view of the session on a stream.
#[derive(Clone, Debug, Default)]
struct Current {
    session: u32,
    active: bool,
    open: bool,
    /// It ended in an error, or was abandoned, rejected or refused: nothing more is reported.
    silent: bool,
    terminated: bool,
    peer_terminated: bool,
    placed: BTreeSet<u16>,
    next: u16,
}

/// What the two ends did in a session.
#[derive(Clone, Debug, Default)]
struct Record {
    /// SCTP has the Initiate.
    begun: bool,
    accepted: bool,
    rejected: bool,
    /// Segments that each end has sent.
    sent: [u16; 2],
    terminated: [bool; 2],
}

#[derive(Debug, Default, PartialEq)]
struct Counts(BTreeMap<&'static str, u32>);

struct World {
    random: Random,
    fault: Fault,
    ends: [End; 2],
    flight: [Vec<Flight>; 2],
    /// For each end and stream: whether each submitted chunk has arrived; those acknowledged are gone.
    arrived: [BTreeMap<u16, (usize, VecDeque<bool>)>; 2],
    current: [BTreeMap<u16, Current>; 2],
    records: BTreeMap<u32, Record>,
    /// Streams on which an Initiate was refused, until they are free.
    refused: [BTreeSet<u16>; 2],
    former: Vec<Flight>,
    now: u64,
    counts: Counts,
}

macro_rules! check {
    ($condition:expr, $($text:tt)*) => {
        if !$condition {
            return Err(format!($($text)*));
        }
    };
}

impl World {
    fn new(seed: u64, fault: Fault) -> Self {
        let mut random = Random(seed);
        let ends = [0, 1].map(|_| {
            let settings = Settings {
                backlog: 1 + random.below(3) as u16,
                timeouts: Timeouts {
                    answer: 400,
                    decision: 300,
                    end: 500,
                },
                ..Settings::default()
            };
            new(settings, STREAMS)
        });
        let mut world = Self {
            random,
            fault,
            ends,
            flight: Default::default(),
            arrived: Default::default(),
            current: Default::default(),
            records: BTreeMap::new(),
            refused: Default::default(),
            former: Vec::new(),
            now: 0,
            counts: Counts::default(),
        };
        world.establish();
        world
    }

    fn establish(&mut self) {
        for end in &mut self.ends {
            if !end.is_up() {
                end.established(&peer(STREAMS), &mut Log::default())
                    .unwrap();
            }
        }
    }

    fn count(&mut self, name: &'static str) {
        *self.counts.0.entry(name).or_default() += 1;
    }

    /// A chunk of an end is submitted to SCTP.
    fn submit(&mut self, from: usize, stream: u16, ppid: u32, octets: Vec<u8>) {
        let session = self.current[from].get(&stream).map_or(0, |it| it.session);
        let (acknowledged, arrived) = self.arrived[from].entry(stream).or_default();
        let place = *acknowledged + arrived.len();
        arrived.push_back(false);
        self.flight[from].push(Flight {
            stream,
            ppid,
            octets,
            session,
            place,
        });
    }

    /// Control messages of both ends go to SCTP.
    fn submit_control(&mut self) {
        for from in 0..2 {
            while let Some((stream, octets)) = crate::output(&mut self.ends[from]) {
                let session = self.current[from].get(&stream).map(|it| it.session);
                if let Some(record) = session.and_then(|it| self.records.get_mut(&it)) {
                    record.begun |= octets[3] == 1;
                    record.terminated[from] |= octets[3] == 4;
                }
                self.submit(from, stream, ppid::CONTROL, octets);
            }
        }
    }

    /// One chunk under way arrives.
    fn deliver(&mut self, from: usize) -> Result<(), String> {
        if self.flight[from].is_empty() {
            return Ok(());
        }
        let index = self.random.below(self.flight[from].len());
        let mut flight = self.flight[from].swap_remove(index);
        let (acknowledged, arrived) = self.arrived[from].get_mut(&flight.stream).unwrap();
        if let Some(place) = flight.place.checked_sub(*acknowledged) {
            arrived[place] = true;
        }
        let planted = self.random.one_in(12);
        match self.fault {
            Fault::LoseChunk if planted => return Ok(()),
            Fault::Stale if planted => {
                let stale = |old: &Flight| old.stream == flight.stream && old.ppid == ppid::SEGMENT;
                if let Some(old) = self.former.iter().find(|old| stale(old)) {
                    flight = old.clone();
                }
            }
            Fault::Renumber if planted => flight.octets[1] = flight.octets[1].wrapping_add(1),
            Fault::Corrupt if planted && flight.ppid == ppid::SEGMENT => flight.octets[7] ^= 1,
            _ => {}
        }
        self.former.push(flight.clone());
        self.hand_over(1 - from, &flight)?;
        // A duplicate, which SCTP would not pass, does no harm to the session.
        if self.random.one_in(8) && self.current[1 - from].contains_key(&flight.stream) {
            self.hand_over(1 - from, &flight)?;
        }
        Ok(())
    }

    fn hand_over(&mut self, to: usize, flight: &Flight) -> Result<(), String> {
        let mut log = Log::default();
        let received = Received {
            stream: flight.stream,
            ppid: flight.ppid,
            user_data: &flight.octets,
        };
        let receipt = self.ends[to].receive(&received, self.now, &mut log);
        self.judge(to, log.take())?;
        check!(
            receipt == Receipt::Taken,
            "a segment in front of the decision"
        );
        Ok(())
    }

    /// Oldest chunks of an end that have arrived are acknowledged.
    fn acknowledge(&mut self, from: usize, stream: u16) -> Result<(), String> {
        let (acknowledged, arrived) = self.arrived[from].entry(stream).or_default();
        let mut chunks = arrived.iter().take_while(|arrived| **arrived).count();
        if self.fault == Fault::EarlyAck && self.random.one_in(4) {
            chunks = arrived.len();
        }
        *acknowledged += chunks;
        arrived.drain(..chunks);
        let mut log = Log::default();
        self.ends[from].acknowledged(stream, chunks as u16, &mut log);
        self.judge(from, log.take())
    }

    /// A ULP does something, if it may.
    fn act(&mut self, at: usize, stream: u16, chance: usize) -> Result<(), String> {
        let mut log = Log::default();
        let pending = self.current[at]
            .get(&stream)
            .is_some_and(|it| !it.active && !it.open && !it.silent);
        match chance {
            0..3 if pending => {
                let current = self.current[at].get_mut(&stream).unwrap();
                let session = current.session;
                let name = session.to_be_bytes();
                if chance == 0 {
                    current.silent = true;
                    self.ends[at].reject(stream, &name).unwrap();
                    self.records.get_mut(&session).unwrap().rejected = true;
                    self.count("reject");
                } else {
                    current.open = true;
                    self.ends[at].accept(stream, &name).unwrap();
                    self.records.get_mut(&session).unwrap().accepted = true;
                    self.count("accept");
                }
            }
            0 | 1 => {
                let session = self.records.len() as u32 + 1;
                let name = session.to_be_bytes();
                let idle =
                    !self.current[at].contains_key(&stream) && !self.refused[at].contains(&stream);
                let initiated = self.ends[at].initiate(stream, &name, self.now);
                check!(
                    initiated.is_ok() == idle,
                    "initiate of an idle stream: {initiated:?}"
                );
                if idle {
                    self.records.insert(session, Record::default());
                    let current = Current {
                        session,
                        active: true,
                        ..Current::default()
                    };
                    self.current[at].insert(stream, current);
                    self.count("initiate");
                }
            }
            2 | 3 => {
                let may = self.current[at]
                    .get(&stream)
                    .is_some_and(|it| !it.silent && !it.terminated && (it.open || it.active));
                let done = self.ends[at].terminate(stream, self.now, &mut log);
                check!(done.is_ok() == may, "terminate of a session: {done:?}");
                if may {
                    self.current[at].get_mut(&stream).unwrap().terminated = true;
                    self.count("terminate");
                }
            }
            _ => {
                let Some(current) = self.current[at].get(&stream) else {
                    return Ok(());
                };
                let session = current.session;
                let closed = current.silent || current.terminated;
                let number = self.records[&session].sent[at] + 1;
                let mut out = [0; 16];
                let content = [&session.to_be_bytes()[..], &number.to_be_bytes()].concat();
                match self.ends[at].send(stream, &content, &[at as u8], &mut out) {
                    Ok(len) => {
                        check!(!closed, "a segment of a session that this end has left");
                        check!(
                            current.open || current.active,
                            "a segment without a session"
                        );
                        let numbered = u16::from_be_bytes([out[0], out[1]]);
                        check!(numbered == number, "DDP-SSN {numbered} of segment {number}");
                        self.records.get_mut(&session).unwrap().sent[at] = number;
                        self.submit(at, stream, ppid::SEGMENT, out[..len].to_vec());
                        self.count("send");
                    }
                    Err(error) => check!(
                        closed || !current.open || self.ends[at].output().is_some(),
                        "an open session sends: {error}"
                    ),
                }
            }
        }
        self.judge(at, log.take())
    }

    /// Compares events with the record.
    fn judge(&mut self, at: usize, events: Vec<Seen>) -> Result<(), String> {
        for event in events {
            self.judge_one(at, event.clone())
                .map_err(|error| format!("end {at}, {event:?}: {error}"))?;
        }
        Ok(())
    }

    fn judge_one(&mut self, at: usize, event: Seen) -> Result<(), String> {
        let other = 1 - at;
        if let Seen::Requested(stream, name) = event {
            let session = u32::from_be_bytes(name.try_into().map_err(|_| "whose name?")?);
            check!(self.records.contains_key(&session), "no such session");
            let current = Current {
                session,
                next: 1,
                ..Current::default()
            };
            let before = self.current[at].insert(stream, current);
            check!(
                before.is_none(),
                "a session on a stream that has one: {before:?}"
            );
            self.count("Requested");
            return Ok(());
        }
        if let Seen::Stray(stream, cause) = event {
            // An Initiate too many.
            check!(
                matches!(cause, Cause::Backlog { .. }),
                "a conforming peer does not err"
            );
            self.refused[at].insert(stream);
            self.count("Backlog");
            return Ok(());
        }
        let stream = match event {
            Seen::Accepted(stream, _)
            | Seen::Rejected(stream, _)
            | Seen::Refused(stream)
            | Seen::Segment(stream, ..)
            | Seen::InOrder(stream, _)
            | Seen::Terminated(stream)
            | Seen::Failed(stream, _)
            | Seen::Abandoned(stream)
            | Seen::Free(stream)
            | Seen::Lost(stream, _) => stream,
            Seen::MaxSegment(_) | Seen::Requested(..) | Seen::Stray(..) => return Ok(()),
        };
        if let Seen::Free(_) = event {
            self.refused[at].remove(&stream);
            if let Some(current) = self.current[at].remove(&stream) {
                let under_way =
                    self.flight.iter().flatten().find(|flight| {
                        flight.stream == stream && flight.session <= current.session
                    });
                let begun = self.records[&current.session].begun;
                check!(
                    under_way.is_none() || !begun,
                    "free, and under way: {under_way:?}"
                );
                self.count("Free");
            }
            return Ok(());
        }
        let Some(current) = self.current[at].get_mut(&stream) else {
            return Err("no session".into());
        };
        check!(!current.silent, "nothing more was to be reported");
        let record = &self.records[&current.session];
        let name = match event {
            Seen::Accepted(_, name) => {
                check!(current.active && !current.open, "an answer to nothing");
                check!(
                    name == current.session.to_be_bytes(),
                    "another session's Accept"
                );
                check!(record.accepted, "the peer has not accepted");
                (current.open, current.next) = (!current.terminated, 0);
                "Accepted"
            }
            Seen::Rejected(_, name) => {
                check!(current.active && !current.open, "an answer to nothing");
                check!(
                    name == current.session.to_be_bytes(),
                    "another session's Reject"
                );
                check!(record.rejected, "the peer has not rejected");
                current.silent = true;
                "Rejected"
            }
            Seen::Refused(_) => {
                check!(current.active && !current.open, "an answer to nothing");
                check!(!record.accepted && !record.rejected, "its ULP had decided");
                current.silent = true;
                "Refused"
            }
            Seen::Segment(_, ssn, octets) => {
                check!(octets.len() == 7, "its length");
                check!(
                    octets[..4] == current.session.to_be_bytes(),
                    "another session's segment"
                );
                check!(
                    octets[4..6] == ssn.to_be_bytes(),
                    "the number that it was sent with"
                );
                check!(octets[6] == other as u8, "its sender");
                check!(ssn <= record.sent[other], "a segment that was not sent");
                check!(current.placed.insert(ssn), "placed twice");
                "Segment"
            }
            Seen::InOrder(_, next) => {
                check!(next > current.next, "behind {}", current.next);
                let sent = record.sent[other];
                let missing = (1..next.min(sent + 1)).find(|ssn| !current.placed.contains(ssn));
                check!(missing.is_none(), "{missing:?} has not arrived");
                let end = sent + 1 + u16::from(record.terminated[other]);
                check!(next <= end, "of {end} chunks");
                current.next = next;
                "InOrder"
            }
            Seen::Terminated(_) => {
                check!(!current.peer_terminated, "twice");
                check!(record.terminated[other], "the peer has not");
                let (placed, sent) = (current.placed.len(), usize::from(record.sent[other]));
                let held = !current.active && !current.open && !current.terminated;
                check!(placed == sent || held, "{placed} of {sent} segments");
                current.peer_terminated = true;
                current.silent |= held;
                "Terminated"
            }
            Seen::Failed(_, cause) => {
                current.silent = true;
                match cause {
                    Cause::BothInitiate => {
                        check!(current.active, "the passive side");
                        "BothInitiate"
                    }
                    Cause::NoAnswer { .. } => "NoAnswer",
                    Cause::Undecided { .. } => "Undecided",
                    _ => return Err("a conforming peer does not err".into()),
                }
            }
            Seen::Abandoned(_) => {
                check!(current.terminated && !current.peer_terminated, "not due");
                current.silent = true;
                "Abandoned"
            }
            Seen::Lost(..) => {
                self.current[at].remove(&stream);
                "Lost"
            }
            _ => return Ok(()),
        };
        self.count(name);
        Ok(())
    }

    fn tick(&mut self, later: u64) -> Result<(), String> {
        self.now += later;
        for at in 0..2 {
            let mut log = Log::default();
            self.ends[at].poll(self.now, &mut log);
            self.judge(at, log.take())?;
        }
        Ok(())
    }

    /// The association is lost with all that is under way.
    fn lose(&mut self, ending: Ending) -> Result<(), String> {
        for at in 0..2 {
            if self.fault == Fault::HalfLoss && at == 0 {
                continue;
            }
            let mut log = Log::default();
            self.ends[at].end(ending, &mut log);
            self.judge(at, log.take())?;
            // All that were not reported as lost were silent.
            let told = self.current[at].values().all(|current| current.silent);
            check!(told, "a session does not know that its association is lost");
            self.current[at].clear();
        }
        self.flight = Default::default();
        self.arrived = Default::default();
        self.refused = Default::default();
        self.former.clear();
        self.establish();
        Ok(())
    }

    fn step(&mut self) -> Result<(), String> {
        let at = self.random.below(2);
        let stream = self.random.below(STREAMS.into()) as u16;
        match self.random.below(100) {
            0..=39 => self.deliver(at)?,
            40..=59 => self.acknowledge(at, stream)?,
            60..=97 => {
                let chance = self.random.below(12);
                self.act(at, stream, chance)?;
            }
            98 => {
                let later = self.random.below(500) as u64;
                self.tick(later)?;
            }
            _ if self.random.one_in(4) => {
                let restart = self.random.one_in(2);
                let ending = if restart {
                    Ending::Restarted
                } else {
                    Ending::Lost
                };
                self.lose(ending)?;
            }
            _ => {}
        }
        // SCTP takes control messages sooner or later.
        if self.random.one_in(2) {
            self.submit_control();
        }
        Ok(())
    }

    /// All goes its way to the end: nothing is left.
    fn finish(&mut self) -> Result<(), String> {
        for round in 0..200 {
            self.submit_control();
            for from in 0..2 {
                while !self.flight[from].is_empty() {
                    self.deliver(from)?;
                }
                for stream in 0..STREAMS {
                    self.acknowledge(from, stream)?;
                    if round < 3 {
                        self.act(from, stream, 2)?;
                    }
                }
            }
        }
        self.tick(100_000)?;
        for _ in 0..20 {
            self.submit_control();
            for from in 0..2 {
                while !self.flight[from].is_empty() {
                    self.deliver(from)?;
                }
                for stream in 0..STREAMS {
                    self.acknowledge(from, stream)?;
                    // Those that were accepted late are ended, too.
                    self.act(from, stream, 3)?;
                }
            }
        }
        let left = self
            .current
            .iter()
            .flatten()
            .filter(|(_, it)| !it.silent)
            .count();
        check!(left == 0, "{left} sessions are left: {:?}", self.current);
        let in_use = self.ends.each_ref().map(End::in_use);
        check!(in_use == [0, 0], "{in_use:?} streams never become free");
        Ok(())
    }
}

fn run(seed: u64, fault: Fault) -> Result<Counts, String> {
    let mut world = World::new(seed, fault);
    for step in 0..400 {
        world
            .step()
            .map_err(|error| format!("seed {seed}, step {step}: {error}"))?;
    }
    world
        .finish()
        .map_err(|error| format!("seed {seed}, end: {error}"))?;
    Ok(world.counts)
}

/// Runs of the test; the environment may ask for more.
fn runs() -> u64 {
    let given = std::env::var("WARPLINE_SCTP_PAIRS").ok();
    given.map_or(1500, |runs| runs.parse().unwrap())
}

// req: SCTP-SES-04, SCTP-SES-06, SCTP-SES-18, SCTP-SES-19, SCTP-SES-21, SCTP-SES-22, SCTP-SSN-03
// req: SCTP-SSN-06, SCTP-LIM-10, AMB-33, AMB-37, AMB-38, AMB-40
#[test]
fn two_ends_agree_whatever_sctp_does() {
    let mut counts = BTreeMap::<&str, u32>::new();
    for seed in 0..runs() {
        let run = run(seed, Fault::None).unwrap_or_else(|error| panic!("{error}"));
        for (name, count) in run.0 {
            *counts.entry(name).or_default() += count;
        }
    }
    println!("{counts:?}");
    let reached: Vec<_> = counts.keys().copied().collect();
    let expected = [
        "Abandoned",
        "Accepted",
        "Backlog",
        "BothInitiate",
        "Free",
        "InOrder",
        "Lost",
        "NoAnswer",
        "Refused",
        "Rejected",
        "Requested",
        "Segment",
        "Terminated",
        "Undecided",
        "accept",
        "initiate",
        "reject",
        "send",
        "terminate",
    ];
    assert_eq!(reached, expected);
}

#[test]
fn the_checks_find_what_is_planted() {
    for fault in [
        Fault::LoseChunk,
        Fault::EarlyAck,
        Fault::Stale,
        Fault::Renumber,
        Fault::Corrupt,
        Fault::HalfLoss,
    ] {
        let found = (0..40).find_map(|seed| run(seed, fault).err());
        println!("{fault:?}: {found:?}");
        assert!(found.is_some(), "{fault:?} is not found");
    }
}
