//! Runs scenarios on a card and compares what it does with what it should do.

use std::fmt;
use std::fs::File;
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use warpline_driver::{
    Buffer, Completion, Context, Counters, DmaMemory, Error, ErrorNumber, ErrorRecord,
    MemoryRegion, OpenError, Options, ProtectionDomain, Registration, Returned, Scope, Stream,
};
use warpline_hdl::Config;
use warpline_regmap::{Register, register};
use warpline_sim::{BackPressure, Card, CardOptions};

use super::expect::{Expected, Report};
use super::image::Image;
use super::slot::{self, Mapped, Slot};
use super::{Bins, Late, Phase, STREAMS, Scenario};
use crate::coverage::{self, Counted};

/// Entries of the completion queue of a card that was just opened.
const ENTRIES: u32 = 256;
/// Time for one command. Commands take some hundred cycles; this is for a busy machine.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(20);
/// Cycles in which the device takes up again what waited for room in the completion queue.
const TAKE_UP: u64 = 300;
/// Cycles between two looks whether it has.
const LOOK: u64 = 30;
/// Differences that are told; more of them help nobody.
const MOST_LINES: usize = 12;

/// A scenario that card and reference receiver do not agree on, or that the card did not survive.
#[derive(Debug, Default)]
pub struct Failure {
    /// What is wrong.
    pub lines: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = self.lines.iter();
        lines.try_for_each(|line| writeln!(f, "  {line}"))
    }
}

impl std::error::Error for Failure {}

macro_rules! failure_from {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self { lines: vec![error.to_string()] }
            }
        })+
    };
}

failure_from!(
    Box<dyn std::error::Error>,
    Error,
    OpenError,
    Returned<Buffer>,
    Returned<DmaMemory>,
    warpline_sim::Error,
    std::io::Error,
);

/// What a scenario came to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Its streams.
    pub streams: usize,
    /// Octets of the streams.
    pub octets: u64,
    /// FPDUs that were judged valid.
    pub fpdus: u64,
    /// Messages that were delivered.
    pub messages: u64,
    /// Cycles that all of it took.
    pub cycles: u64,
    /// Errors of the streams that met one.
    pub errors: Vec<ErrorNumber>,
    /// What the scenario has reached.
    pub bins: Bins,
}

/// A card and its driver.
pub struct Bench {
    config: Config,
    card: Card,
    _counted: Option<Counted>,
    mapped: Mapped,
    /// The driver, and the entries of its completion queue.
    context: Option<(Context, u32)>,
}

/// A scenario that runs.
struct Running<'s> {
    scenario: &'s Scenario,
    context: Context,
    /// Entries of the completion queue.
    entries: u32,
    /// `None` once revoked.
    regions: Vec<Option<MemoryRegion>>,
    region_files: Vec<File>,
    streams: Vec<Stream>,
    /// Those that came back; memory is compared before they are dropped.
    buffers: Vec<Buffer>,
    buffer_files: Vec<File>,
    reports: Vec<Vec<Report>>,
}

impl Bench {
    /// Opens a card; its idle cycles come from `seed`. All that happens is recorded in the file `trace`.
    ///
    /// # Errors
    /// Those of the card.
    pub fn open(config: &Config, seed: u64, trace: Option<&Path>) -> Result<Self, Failure> {
        let (card, counted) = coverage::open(config, options(seed, trace.is_some()))?;
        if let Some(path) = trace {
            card.trace_open(path)?;
        }
        Ok(Self::new(config, card, counted))
    }

    /// Opens a card whose sources are given.
    ///
    /// # Errors
    /// Those of the card.
    pub fn open_sources(
        config: &Config,
        seed: u64,
        sources: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Failure> {
        let card = Card::open_sources(config, options(seed, false), sources)?;
        Ok(Self::new(config, card, None))
    }

    fn new(config: &Config, card: Card, counted: Option<Counted>) -> Self {
        Self {
            config: *config,
            _counted: counted,
            card,
            mapped: Mapped::default(),
            context: None,
        }
    }

    /// Completes the trace.
    ///
    /// # Errors
    /// Those of the card.
    pub fn close_trace(&self) -> Result<(), Failure> {
        Ok(self.card.trace_close()?)
    }

    /// Runs a scenario.
    ///
    /// # Errors
    /// The differences, or what ended the run. The card is in no known state then.
    pub fn run(&mut self, scenario: &Scenario) -> Result<Outcome, Failure> {
        self.run_against(scenario, |_| ())
    }

    /// Runs a scenario and compares with what `change` makes of the expectation.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_against(
        &mut self,
        scenario: &Scenario,
        change: impl FnOnce(&mut Expected),
    ) -> Result<Outcome, Failure> {
        let result = self.attempt(scenario, change);
        result.map_err(|mut failure| {
            failure.lines.extend(describe(scenario));
            failure
        })
    }

    /// Where the card stands: counters and windows, as far as it still answers.
    fn state(&self) -> Vec<String> {
        let read = |register: Register, index| match self.card.read_register(register.at(index)) {
            Ok(value) => format!("{} {value:#x}", register.name),
            Err(error) => format!("{}: {error}", register.name),
        };
        let counters = [
            register::COMMAND,
            register::COMPLETION_CONSUMER,
            register::COMPLETION_PRODUCER,
            register::SEGMENTS,
            register::SEGMENTS_DROPPED,
            register::OCTETS,
            register::FPDUS,
            register::FPDUS_DISCARDED,
            register::PAYLOAD_OCTETS,
            register::ERRORS,
        ];
        let counters = counters.map(|register| read(register, 0)).join(", ");
        let cycles = self.card.timing().cycles;
        let mut lines = vec![format!("after {cycles} cycles: {counters}")];
        for stream in 0..STREAMS {
            let windows = [register::STREAM_EDGE, register::STREAM_LIMIT];
            let windows = windows.map(|register| read(register, stream.into()));
            let untaken = self.card.untaken(stream).unwrap_or(0);
            let windows = windows.join(", ");
            lines.push(format!(
                "stream {stream}: {windows}, {untaken} octets not taken"
            ));
        }
        lines
    }

    fn attempt(
        &mut self,
        scenario: &Scenario,
        change: impl FnOnce(&mut Expected),
    ) -> Result<Outcome, Failure> {
        let start = self.card.timing().cycles;
        self.card.set_back_pressure(scenario.back_pressure.clone());
        let (context, entries) = self.context(scenario.restart)?;
        let before = context.counters()?;
        let domains = (0..scenario.domains).map(|_| context.protection_domain());
        let domains = domains.collect::<Result<Vec<_>, _>>()?;
        let ids: Vec<u16> = domains.iter().map(ProtectionDomain::id).collect();
        let mut expected = Expected::new(scenario, &ids, &self.config);
        change(&mut expected);

        let mut running = Running {
            scenario,
            context,
            entries,
            regions: Vec::new(),
            region_files: Vec::new(),
            streams: Vec::new(),
            buffers: Vec::new(),
            buffer_files: Vec::new(),
            reports: vec![Vec::new(); scenario.streams.len()],
        };
        running.register(&domains, &self.mapped)?;
        for (number, phase) in scenario.phases.iter().enumerate() {
            running.revoke(number)?;
            if number == 0 {
                for stream in &scenario.streams {
                    let domain = &domains[stream.domain];
                    let armed = domain.arm(stream.number, stream.options)?;
                    running.streams.push(armed);
                }
            }
            let failed = |stream: usize| expected.failed_in[stream].is_some_and(|at| at < number);
            running.post(phase, failed, &self.mapped)?;
            for arrival in &phase.arrivals {
                let number = scenario.streams[arrival.stream].number;
                let octets = arrival.octets.clone();
                match arrival.fin {
                    true => self.card.feed_fin(number, arrival.sequence, octets)?,
                    false => self.card.feed(number, arrival.sequence, octets)?,
                }
                self.card.step(arrival.pause)?;
            }
            running.settle(&self.card).map_err(|mut failure| {
                failure.lines.extend(self.state());
                failure
            })?;
        }
        for stream in &scenario.streams {
            match &stream.late {
                Some(Late::Octets(octets)) => {
                    let sequence = stream.options.sequence_start;
                    let sequence = sequence.wrapping_add(stream.wire.len() as u32);
                    self.card.feed(stream.number, sequence, octets.clone())?;
                }
                Some(Late::Lost) => self.card.abort(stream.number)?,
                None => {}
            }
        }
        running.settle(&self.card).map_err(|mut failure| {
            failure.lines.extend(self.state());
            failure
        })?;
        let mut outcome = self.compare(running, &before, &expected)?;
        outcome.cycles = self.card.timing().cycles - start;
        Ok(outcome)
    }

    /// The driver, opened anew when the scenario wants that, and the entries of its completion queue.
    fn context(&mut self, restart: Option<u32>) -> Result<(Context, u32), Failure> {
        if restart.is_some() {
            self.context = None; // resets the card
        }
        if let Some((context, entries)) = &self.context {
            return Ok((context.clone(), *entries));
        }
        let entries = restart.unwrap_or(ENTRIES);
        let device = Slot::new(&self.card, self.mapped.clone())?;
        let options = Options {
            completion_entries: entries,
            command_timeout: COMMAND_TIMEOUT,
            ..Options::default()
        };
        let context = Context::open(Box::new(device), options)?;
        self.context = Some((context.clone(), entries));
        Ok((context, entries))
    }

    /// Ends the scenario and compares everything.
    fn compare(
        &self,
        mut running: Running<'_>,
        before: &Counters,
        expected: &Expected,
    ) -> Result<Outcome, Failure> {
        let scenario = running.scenario;
        let mut differences = Differences::default();
        for (i, stream) in running.streams.iter().enumerate() {
            let (number, wanted) = (stream.number(), expected.edges[i]);
            let (edge, untaken) = (stream.edge()?, self.card.untaken(number)?);
            if untaken != 0 || edge != wanted {
                let limit = stream.limit()?;
                differences.0.push(format!(
                    "stream {number}: {untaken} octets not taken, edge {edge:#010x}, limit {limit:#010x}; edge should be {wanted:#010x}"
                ));
            }
            let record = stream.error_record()?;
            let another = expected.ahead[i].as_ref().zip(record.as_ref());
            if !another.is_some_and(|(ahead, record)| ahead.errors.contains(record)) {
                differences.note(
                    || format!("error record of stream {number}"),
                    &record,
                    &expected.records[i],
                );
            }
        }
        differences.counters(&running.context.counters()?, before, expected);
        // Mostly nobody wants to know, and it is as many accesses as everything else together.
        let state = match differences.0.is_empty() {
            true => None,
            false => Some(self.state()),
        };

        for stream in running.streams.drain(..) {
            stream.close()?;
        }
        running.poll()?;
        for (index, (stream, (found, wanted))) in scenario
            .streams
            .iter()
            .zip(running.reports.iter().zip(&expected.reports))
            .enumerate()
        {
            let number = stream.number;
            if let Some(ahead) = &expected.ahead[index] {
                differences.0.extend(
                    ahead
                        .differs(found, wanted)
                        .map(|what| format!("completions of stream {number}: {what}")),
                );
                continue;
            }
            differences.note(
                || format!("number of completions of stream {number}"),
                &found.len(),
                &wanted.len(),
            );
            for (index, (found, wanted)) in found.iter().zip(wanted).enumerate() {
                differences.note(
                    || format!("completion {index} of stream {number}"),
                    found,
                    wanted,
                );
            }
        }
        // Revoked, so that nothing is written behind our back.
        for region in running.regions.drain(..).flatten() {
            region.revoke()?;
        }
        for (i, region) in scenario.regions.iter().enumerate() {
            let name = format!("region {:#010x}", region.stag);
            differences.memory(&name, &running.region_files[i], &expected.regions[i])?;
        }
        for (i, file) in running.buffer_files.iter().enumerate() {
            differences.memory(&format!("buffer {i}"), file, &expected.buffers[i])?;
        }
        if !differences.0.is_empty() {
            let mut lines = differences.0;
            lines.truncate(MOST_LINES);
            lines.extend(state.unwrap_or_else(|| self.state()));
            return Err(Failure { lines });
        }
        let errors = expected.records.iter().flatten();
        Ok(Outcome {
            streams: scenario.streams.len(),
            octets: expected.octets,
            fpdus: expected.fpdus,
            messages: expected.messages,
            cycles: 0,
            errors: errors.map(|record| record.number).collect(),
            bins: Bins::of(scenario, expected, &self.config),
        })
    }
}

/// Idle cycles by seed: none for half of all.
fn options(seed: u64, trace: bool) -> CardOptions {
    let mut rng = fastrand::Rng::with_seed(seed);
    CardOptions {
        trace,
        seed,
        back_pressure: BackPressure::NONE,
        idle: if rng.bool() { 0 } else { rng.u8(1..90) },
        ..CardOptions::default()
    }
}

impl Running<'_> {
    fn register(&mut self, domains: &[ProtectionDomain], mapped: &Mapped) -> Result<(), Failure> {
        for (index, region) in self.scenario.regions.iter().enumerate() {
            let image = Image::of_region(self.scenario, index);
            let memory = DmaMemory::new(region.offset + region.length + region.behind)?;
            let registration = Registration {
                offset: region.offset,
                length: Some(region.length),
                base: Some(region.base),
                remote_write: region.remote_write,
                remote_read: false,
                scope: match region.stream {
                    Some(stream) => Scope::Stream(stream),
                    None => Scope::ProtectionDomain,
                },
            };
            let domain = &domains[region.domain];
            let registered = domain.register_as(region.stag, memory, registration)?;
            self.regions.push(Some(registered));
            self.region_files.push(prepare(mapped, &image)?);
        }
        Ok(())
    }

    /// Revokes what is to be revoked before phase `number`.
    fn revoke(&mut self, number: usize) -> Result<(), Failure> {
        for (region, handle) in self.scenario.regions.iter().zip(&mut self.regions) {
            if region.revoked == Some(number)
                && let Some(handle) = handle.take()
            {
                handle.revoke()?;
            }
        }
        Ok(())
    }

    /// Posts a phase's buffers. For streams that have `failed` the driver refuses them.
    fn post(
        &mut self,
        phase: &Phase,
        failed: impl Fn(usize) -> bool,
        mapped: &Mapped,
    ) -> Result<(), Failure> {
        for post in &phase.posts {
            let id = self.buffer_files.len();
            let image = Image::of_buffer(self.scenario, id, post);
            let mut buffers = self.context.buffers(post.in_front + 1, post.length)?;
            self.buffer_files.push(prepare(mapped, &image)?);
            let Some(mut buffer) = buffers.pop() else {
                continue;
            };
            buffer.set_id(id as u64);
            self.buffers.append(&mut buffers);
            let queue = self.streams[post.stream].receive_queue(post.queue)?;
            match (queue.post(buffer), failed(post.stream)) {
                (Ok(_), false) => {}
                (Ok(_), true) => {
                    let line = "a buffer was posted to a stream that has failed";
                    return Err(Failure {
                        lines: vec![line.into()],
                    });
                }
                (Err(returned), true) if matches!(returned.error, Error::StreamFailed { .. }) => {
                    self.buffers.extend(returned.item);
                }
                (Err(returned), _) => return Err(returned.into()),
            }
        }
        Ok(())
    }

    /// Runs the card until nothing moves any more, and takes what it reports.
    fn settle(&mut self, card: &Card) -> Result<(), Failure> {
        loop {
            card.run_until_idle()?;
            if self.poll()? < self.entries as usize {
                return Ok(());
            }
            // The queue was full: the device waits for room, each time that it is full again.
            let mut quiet = 0;
            while quiet < TAKE_UP {
                card.step(LOOK)?;
                quiet = if self.poll()? == 0 { quiet + LOOK } else { 0 };
            }
        }
    }

    /// Takes what has been reported, and says how much that was.
    fn poll(&mut self) -> Result<usize, Failure> {
        let queue = self.context.completion_queue();
        let mut count = 0;
        while let Some(completion) = queue.poll()? {
            count += 1;
            let number = completion.stream();
            let streams = &self.scenario.streams;
            let Some(stream) = streams.iter().position(|stream| stream.number == number) else {
                let line = format!("stream {number} is not armed, yet there is {completion:?}");
                return Err(Failure { lines: vec![line] });
            };
            let report = match completion {
                Completion::Tagged(completion) => Report::Tagged(completion),
                Completion::Closed(event) => Report::Closed(event),
                Completion::Error(event) => Report::Error(event),
                Completion::Untagged(completion) => {
                    let buffer = completion.buffer.id();
                    self.buffers.push(completion.buffer);
                    Report::Untagged {
                        queue: completion.queue.into(),
                        msn: completion.msn,
                        length: completion.length,
                        rsvd_ulp: completion.rsvd_ulp,
                        hole: completion.hole,
                        anomaly: completion.anomaly,
                        buffer,
                    }
                }
                Completion::Flushed(receive) => {
                    let buffer = receive.buffer.id();
                    self.buffers.push(receive.buffer);
                    Report::Flushed {
                        queue: receive.queue.into(),
                        msn: receive.msn,
                        buffer,
                    }
                }
                other => {
                    let line = format!("unknown completion {other:?}");
                    return Err(Failure { lines: vec![line] });
                }
            };
            self.reports[stream].push(report);
        }
        Ok(count)
    }
}

/// Fills the memory that was mapped last.
fn prepare(mapped: &Mapped, image: &Image) -> Result<File, Failure> {
    let file = slot::take(mapped).ok_or_else(|| std::io::Error::other("no memory was mapped"))?;
    file.write_all_at(&image.octets, 0)?;
    Ok(file)
}

/// What differs, line by line.
#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn note<T: PartialEq + fmt::Debug>(
        &mut self,
        what: impl FnOnce() -> String,
        found: &T,
        wanted: &T,
    ) {
        if found != wanted {
            let what = what();
            self.0
                .push(format!("{what}: {found:x?}\n    should be {wanted:x?}"));
        }
    }

    fn counters(&mut self, now: &Counters, before: &Counters, expected: &Expected) {
        let since = |now: u32, before: u32| u64::from(now.wrapping_sub(before));
        let failed = expected.records.iter().flatten().count() as u64;
        // FPDUs that MPA refuses leave the ring as well; the end of a connection is no FPDU.
        let refused = |record: &&ErrorRecord| {
            matches!(record.number, ErrorNumber::MpaCrc | ErrorNumber::MpaMarker)
        };
        let all_refused = expected.records.iter().flatten().filter(refused);
        let judged = expected.fpdus + all_refused.count() as u64;
        let streams = expected.records.iter().zip(&expected.ahead);
        let certain = streams.filter(|(_, ahead)| ahead.is_none());
        let certain = certain.filter_map(|(record, _)| record.as_ref());
        let certain = expected.certain_fpdus + certain.filter(refused).count() as u64;
        let fpdus = since(now.fpdus, before.fpdus);
        let discarded = since(now.fpdus_discarded, before.fpdus_discarded);
        let octets = since(now.octets, before.octets);
        self.note(|| "counter of octets".into(), &octets, &expected.octets);
        let errors = since(now.errors, before.errors);
        let ahead = expected.ahead.iter().flatten().count() as u64;
        self.within("errors", errors, failed..=failed + ahead);
        // How much of a stream that failed came before its error is not fixed if it came out of order: from nothing to
        // all that it could be, and the FPDU of the error.
        let failed_ahead = || expected.ahead.iter().flatten();
        let octets_ahead: u64 = failed_ahead().map(|ahead| ahead.octets).sum();
        let fpdus_ahead: u64 = failed_ahead().map(|ahead| ahead.fpdus + 1).sum();
        self.within(
            "payload octets",
            since(now.payload_octets, before.payload_octets),
            expected.certain_octets..=expected.payload_octets + octets_ahead,
        );
        self.within(
            "FPDUs without those discarded",
            fpdus.wrapping_sub(discarded),
            certain..=judged + fpdus_ahead,
        );
    }

    fn within(&mut self, name: &str, found: u64, range: RangeInclusive<u64>) {
        if range.start() == range.end() {
            self.note(|| format!("counter of {name}"), &found, range.start());
        } else if !range.contains(&found) {
            let line = format!("counter of {name}: {found}\n    should be in {range:?}");
            self.0.push(line);
        }
    }

    fn memory(&mut self, name: &str, file: &File, image: &Image) -> Result<(), Failure> {
        let mut octets = vec![0; image.octets.len()];
        file.read_exact_at(&mut octets, 0)?;
        if octets == image.octets {
            return Ok(());
        }
        let differs = |&i: &usize| !image.allows(i, octets[i]);
        let count = (0..octets.len()).filter(differs).count();
        if let Some(first) = (0..octets.len()).find(differs) {
            let last = (0..octets.len()).rev().find(differs).unwrap_or(first);
            let (found, wanted) = (octets[first], image.octets[first]);
            let start = image.start as isize;
            self.0.push(format!(
                "{name}: {count} octets differ, from {} to {}; the first is {found:#04x} and should be {wanted:#04x}",
                first as isize - start,
                last as isize - start,
            ));
        }
        Ok(())
    }
}

/// A scenario in some lines.
fn describe(scenario: &Scenario) -> Vec<String> {
    let mut lines = vec![format!(
        "scenario {}: restart {:?}, {:?}, {} phases",
        scenario.seed,
        scenario.restart,
        scenario.back_pressure,
        scenario.phases.len()
    )];
    for region in &scenario.regions {
        lines.push(format!("{region:x?}"));
    }
    for (i, stream) in scenario.streams.iter().enumerate() {
        let phases = scenario.phases.iter().map(|phase| {
            let arrivals = phase.arrivals.iter().filter(|arrival| arrival.stream == i);
            let posts = phase.posts.iter().filter(|post| post.stream == i);
            let (arrivals, received) = (arrivals.count(), phase.received[i]);
            format!(
                "{} buffers, {arrivals} segments up to octet {received}",
                posts.count()
            )
        });
        let phases: Vec<_> = phases.collect();
        lines.push(format!(
            "stream {} of domain {}: {:x?}, {}; {:?}; FIN {}, then {:?}",
            stream.number,
            stream.domain,
            stream.options,
            phases.join(", then "),
            stream.oddities,
            stream.fin,
            stream.late
        ));
    }
    lines
}
