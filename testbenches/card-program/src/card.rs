//! What a card has to do through the driver, whichever backend it is reached by.

use std::cell::Cell;
use std::hint::black_box;
use std::io::Write;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use warpline_capture::Capture;
use warpline_capture::replay::{Landed, REGION_FILL, Replay};
use warpline_driver::{BackendError, Context, Device, DmaMemory, Error, Options, Registration};
use warpline_regmap::register;
use warpline_wire::error_number::ErrorNumber;

use crate::iommu;
use crate::pages;
use crate::report::{Outcome, Report, ensure};
use crate::session::Session;
use crate::wrapped::{Held, Withheld};

const PAGE: u64 = 4096;
/// Messages after which traffic counts as under way: a small part of it.
const UNDER_WAY: u64 = 3;
/// How often a check that has to come into traffic is tried: on a busy machine the traffic may be over first.
const TRIES: u32 = 5;
/// What a program writes to its memory once the peer has no access any more.
const POISON: u8 = 0x5A;
/// Time in which a card that still wrote would have done so.
const AFTERWARDS: Duration = Duration::from_millis(300);

/// A way to the card, and what its network side plays.
pub struct Card<'o> {
    pub open: &'o dyn Fn() -> Result<Box<dyn Device>, BackendError>,
    /// Names and streams.
    pub replays: Vec<(String, Replay)>,
    /// Times that the card's interrupt woke a check.
    pub interrupts: Cell<u64>,
}

/// Reads captures and names them by their folders.
pub fn replays(folders: &[&str]) -> Result<Vec<(String, Replay)>, BackendError> {
    let read = |folder: &&str| {
        let name = folder.trim_end_matches('/').rsplit('/').next();
        let replay = Replay::new(&Capture::open(folder)?)?;
        Ok((name.unwrap_or(folder).to_owned(), replay))
    };
    folders.iter().map(read).collect()
}

impl Card<'_> {
    /// Runs all checks.
    pub fn check(&self, report: &mut Report) {
        report.check("identity and shape", || self.identity());
        report.check("STag registration", || self.registration());
        report.check("pages of a region", || self.scatter());
        self.captures(report);
        report.check("interrupts", || self.woken());
        report.check("revocation in mid-traffic", || self.revocation());
        report.check("DMA that leaves its mapping", || self.leaving());
        report.check("reset in mid-traffic", || self.reset());
    }

    /// Runs each capture.
    pub fn captures(&self, report: &mut Report) {
        for (name, replay) in &self.replays {
            report.check(name, || self.whole(&self.context()?, replay));
        }
    }

    /// Receives the longest capture again and again, and says when traffic is under way. Never returns without an error.
    pub fn busy(&self) -> Result<bool, BackendError> {
        let replay = self.longest()?;
        let context = self.context()?;
        loop {
            let mut session = Session::start(&context, replay)?;
            session.until(|session| session.delivered >= UNDER_WAY)?;
            println!("traffic is under way");
            std::io::stdout().flush()?;
            session.until(Session::is_over)?;
            session.finish()?;
        }
    }

    fn context(&self) -> Result<Context, BackendError> {
        Ok(Context::open((self.open)()?, Options::default())?)
    }

    /// The stream with the most octets among those that meet no error and have regions of known STags.
    fn longest(&self) -> Result<&Replay, BackendError> {
        let replays = self.replays.iter().map(|(_, replay)| replay);
        let good = replays.filter(|replay| replay.expected.error.is_none() && !replay.plan.learnt);
        let longest = good.max_by_key(|replay| replay.octets.len());
        Ok(longest.ok_or("no capture without errors that has a regions.json")?)
    }

    fn identity(&self) -> Outcome {
        let device = (self.open)()?;
        let identity = device.read(register::IDENTITY.at(0))?;
        ensure(identity == register::IDENTITY_VALUE, || {
            format!("IDENTITY reads {identity:#010x}")
        })?;
        let version = device.read(register::VERSION.at(0))?;
        let info = device.info();
        let shape = Context::open(device, Options::default())?.shape();
        let ranges = info.bus_addresses.iter();
        let ranges: Vec<String> = ranges.map(|range| format!("{range:#x?}")).collect();
        Ok(format!(
            "{}, version {version:#x}, {} bits, {} streams, {} STag slots, bus addresses {}",
            info.name,
            u32::from(shape.width) * 8,
            shape.streams,
            shape.stag_slots,
            ranges.join(" and ")
        ))
    }

    fn registration(&self) -> Outcome {
        const REGIONS: usize = 16;
        let context = self.context()?;
        let domain = context.protection_domain()?;
        let mut regions = Vec::new();
        for number in 0..REGIONS {
            let mut memory = DmaMemory::new(number * 1000 + 1)?;
            memory.fill(number as u8);
            let registered = domain.register(memory, Registration::default());
            regions.push(registered.map_err(|returned| returned.error)?);
        }
        let stag = regions[0].stag();
        let twice = domain.register_as(stag, DmaMemory::new(1)?, Registration::default());
        let twice = twice.map_err(|returned| returned.error);
        ensure(matches!(twice, Err(Error::StagSlotTaken { .. })), || {
            format!("STag {stag:#010x} registered twice: {twice:?}")
        })?;
        for (number, region) in regions.into_iter().enumerate() {
            let memory = region.revoke()?;
            let kept = memory.len() == number * 1000 + 1;
            let kept = kept && memory.iter().all(|&octet| octet == number as u8);
            ensure(kept, || format!("region {number} came back changed"))?;
        }
        let again = domain.register_as(stag, DmaMemory::new(1)?, Registration::default());
        again.map_err(|returned| returned.error)?.revoke()?;
        Ok(format!("{REGIONS} regions, one of them twice"))
    }

    /// One stream may be over before the program sleeps; not all of them.
    fn woken(&self) -> Outcome {
        let times = self.interrupts.get();
        ensure(times > 0, || "none woke the program".into())?;
        Ok(format!(
            "{times} woke the program, none was waited for in vain"
        ))
    }

    /// Receives a whole stream and compares it with what Linux recorded.
    fn whole(&self, context: &Context, replay: &Replay) -> Outcome {
        let mut session = Session::start(context, replay)?;
        session.until(Session::is_over)?;
        let (delivered, interrupts) = (session.delivered, session.interrupts);
        equal(&session.finish()?, &replay.expected)?;
        let error = match replay.expected.error {
            Some((kind, code)) => format!(", then error {kind:#x}/{code:#04x}"),
            None => String::new(),
        };
        self.interrupts.set(self.interrupts.get() + interrupts);
        Ok(format!(
            "{} octets, {delivered} messages{error}, {interrupts} interrupts: all as Linux recorded",
            replay.octets.len()
        ))
    }

    fn revocation(&self) -> Outcome {
        let replay = self.longest()?;
        for _ in 0..TRIES {
            let context = self.context()?;
            let mut session = Session::start(&context, replay)?;
            session.until(|session| session.delivered >= UNDER_WAY)?;
            let mut memory = session.regions.remove(0).revoke()?;
            let written = memory.iter().filter(|octet| **octet != REGION_FILL).count();
            ensure(written > 0, || "no octet had been written".into())?;
            memory.fill(POISON);
            black_box(&mut memory);
            let refused = session.until(|session| session.landed.error.is_some());
            if refused.is_err() && session.is_over() {
                continue; // all of it had come before the revocation
            }
            refused?;
            thread::sleep(AFTERWARDS);
            let kept = black_box(&memory).iter().all(|octet| *octet == POISON);
            ensure(kept, || "memory was written after revoke returned".into())?;
            let stag = ErrorNumber::TaggedInvalidStag;
            expect_error(&session, stag)?;
            session.close()?;
            return Ok(format!(
                "{written} octets written until then, none after; the peer's next write is error {stag:?}"
            ));
        }
        Err(too_slow())
    }

    fn leaving(&self) -> Outcome {
        let replay = self.longest()?;
        let region = replay.plan.regions.first().ok_or("no region")?;
        let ranges = replay.survey.tagged.get(&region.stag).ok_or("no write")?;
        let start = ranges.iter().map(|range| range.start).min().unwrap_or(0);
        let end = ranges.iter().map(|range| range.end).max().unwrap_or(0);
        // An end may be 2^64; the middle is below it.
        let middle = (start + end) / 2 - u128::from(region.base);
        let cut = u64::try_from(middle)? / PAGE * PAGE;
        ensure(cut > 0 && cut < region.length, || {
            format!("the capture writes from {start:#x} to {end:#x}: no page to withhold")
        })?;

        let known = iommu::faults().unwrap_or_default().len();
        let device = Withheld {
            device: (self.open)()?,
            length: region.length.next_multiple_of(PAGE),
            mapped: cut,
        };
        let context = Context::open(Box::new(device), Options::default())?;
        let mut session = Session::start(&context, replay)?;
        session.until(|session| session.landed.error.is_some())?;
        expect_error(&session, ErrorNumber::LocalCatastrophic)?;
        let landed = session.finish()?;
        let (memory, cut) = (&landed.memory[0].1, cut as usize);
        let expected = &replay.expected.memory[0].1;
        let front = memory[..cut].iter().zip(&expected[..cut]);
        let mut front = front.map(|(is, expected)| is == expected || *is == REGION_FILL);
        ensure(front.all(|right| right), || {
            "mapped octets are wrong".into()
        })?;
        let behind = memory[cut..].iter().all(|octet| *octet == REGION_FILL);
        ensure(behind, || "octets behind the mapping are written".into())?;

        // The card goes on: the same context, the next stream.
        let other = self.replays.iter().map(|(_, replay)| replay);
        let other = other.min_by_key(|replay| replay.octets.len());
        self.whole(&context, other.unwrap_or(replay))?;
        let faults = iommu::faults().unwrap_or_default();
        let reported = match faults.get(known) {
            Some(fault) => format!("Linux's IOMMU reports {fault}"),
            None => "refused where the card's DMA is done, without a report of Linux".to_owned(),
        };
        Ok(format!(
            "error {:?} of its stream alone, memory as it should be; {reported}",
            ErrorNumber::LocalCatastrophic
        ))
    }

    fn reset(&self) -> Outcome {
        let replay = self.longest()?;
        for _ in 0..TRIES {
            let device = Held(Arc::from((self.open)()?));
            let context = Context::open(Box::new(device.clone()), Options::default())?;
            let mut session = Session::start(&context, replay)?;
            session.until(|session| session.delivered >= UNDER_WAY)?;
            let taken = context.counters()?.octets as usize;
            device.reset()?;
            if taken >= replay.octets.len() {
                continue;
            }
            for register in [register::OCTETS, register::COMPLETION_ENTRIES] {
                let value = device.read(register.at(0))?;
                ensure(value == register.reset.unwrap_or(0), || {
                    format!("{} reads {value:#x} after it", register.name)
                })?;
            }
            let region = session.regions.first().ok_or("no region")?;
            let before = region.to_vec()?;
            thread::sleep(AFTERWARDS);
            let same = region.to_vec()? == before;
            ensure(same, || "memory was written after it".into())?;
            drop((session, context, device)); // what the card has forgotten is given up
            let again = self.whole(&self.context()?, replay)?;
            return Ok(format!(
                "after {taken} octets of {}, nothing moved then; opened again: {again}",
                replay.octets.len()
            ));
        }
        Err(too_slow())
    }

    /// Which of the memory's pages are apart in physical memory.
    pub fn scatter(&self) -> Outcome {
        let mut memory = DmaMemory::new(1 << 20)?;
        memory.fill(1);
        match pages::scattered(&memory)? {
            Some((0, pages)) => {
                Err(format!("all {pages} pages of a region lie in one piece").into())
            }
            Some((breaks, pages)) => Ok(format!(
                "{breaks} of {pages} pages lie apart from the one before"
            )),
            None => Ok("the kernel does not tell where they lie".into()),
        }
    }
}

fn too_slow() -> BackendError {
    format!("all traffic was over before this program did something, {TRIES} times").into()
}

fn expect_error(session: &Session<'_>, number: ErrorNumber) -> Result<(), BackendError> {
    let expected = Some((number.error_type(), number.code()));
    ensure(session.landed.error == expected, || {
        format!("error {:?}, not {number:?}", session.landed.error)
    })
}

fn equal(landed: &Landed, expected: &Landed) -> Result<(), BackendError> {
    let differences = landed.differences(expected);
    ensure(differences.is_empty(), || {
        let differences = differences.iter().map(ToString::to_string);
        differences.collect::<Vec<_>>().join("; ")
    })
}
