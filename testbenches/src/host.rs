//! A program and a card that both run in their own time: sleeping, waking, and taking memory back under traffic.
//!
//! ```text
//!  program: post ─► request, look, sleep ─► take ─► …        register ─► arm ─► revoke ─► poison
//!                 ▲ at any moment                                   ▲ at any moment
//!  network: a burst                                       writes to the region, all the time
//! ```
//!
//! Each run is given a wrapper for the device. With an honest one nothing may go wrong; a wrapper that plants a fault shows
//! that the run notices.

use std::os::fd::AsFd;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use warpline_driver::{
    Buffer, Completion, CompletionQueue, Context, Device, DmaMemory, ErrorNumber, Options,
    Registration, StreamOptions, VfioUser,
};
use warpline_hdl::Config;
use warpline_regmap::register::interrupt;
use warpline_sim::{Card, CardOptions};
use warpline_wire::send::{CrcField, FpduWriter, Message};

/// Puts something between driver and card.
pub type Wrapper = fn(VfioUser) -> Box<dyn Device>;
/// What is wrong.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Time for an answer of the card, on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Octets of a message: its number.
const OCTETS: u32 = 8;
/// Most messages of a burst; so many are posted in front of each.
const BURST: u32 = 64;
/// Longest TCP segment.
const SEGMENT: usize = 1460;

/// What a run of [`completions`] came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slept {
    /// Completions that were taken.
    pub completions: u32,
    /// How often the program slept.
    pub sleeps: u32,
    /// Interrupt messages that the card sent.
    pub messages: u64,
}

fn open(card: &Card, wrapper: Wrapper) -> Result<Context, Fault> {
    let device = VfioUser::over(card.connect()?, TIMEOUT)?;
    let options = Options {
        completion_entries: 256,
        command_timeout: TIMEOUT,
        ..Options::default()
    };
    Ok(Context::open(wrapper(device), options)?)
}

/// Receives `count` messages in bursts that arrive at random moments around the request and the sleep, and checks that each
/// comes once and in its turn. A program that sleeps for `patience` although its burst is under way was not woken.
///
/// # Errors
/// A message that was lost, repeated or damaged, a wake-up that was lost, or what driver and card report.
pub fn completions(
    count: u32,
    seed: u64,
    patience: Duration,
    wrapper: Wrapper,
) -> Result<Slept, Fault> {
    let mut rng = Rng::with_seed(seed);
    let card = Card::open(&Config::simulated(64), CardOptions::default())?;
    let context = open(&card, wrapper)?;
    let domain = context.protection_domain()?;
    let stream = domain.arm(0, StreamOptions::default())?;
    let queue = stream.receive_queue(0)?;
    let completion_queue = context.completion_queue();
    let mut buffers = context.buffers(BURST as usize, OCTETS)?;
    let _clock = card.run_freely()?;

    let (sender, bursts) = mpsc::channel::<(Duration, Vec<u8>)>();
    let network = card.clone();
    let feeder = thread::spawn(move || -> Result<(), warpline_sim::Error> {
        let mut sequence = 0_u32;
        for (delay, octets) in bursts {
            pause(delay);
            for segment in octets.chunks(SEGMENT) {
                network.feed(0, sequence, segment)?;
                sequence = sequence.wrapping_add(segment.len() as u32);
            }
        }
        Ok(())
    });

    let mut slept = Slept::default();
    let mut writer = FpduWriter::new(false, CrcField::Computed);
    while slept.completions < count {
        let most = [1, 1, 4, BURST][rng.usize(..4)];
        let burst = rng.u32(1..=most).min(count - slept.completions);
        for buffer in buffers.drain(..burst as usize) {
            queue.post(buffer).map_err(|returned| returned.error)?;
        }
        let mut octets = Vec::new();
        for i in 0..burst {
            let number = slept.completions + i;
            let message = Message::Untagged {
                qn: 0,
                msn: number + 1,
                rsvd_ulp: [0; 5],
            };
            let payload = u64::from(number).to_le_bytes();
            writer.append_message(message, &payload, 128, &mut octets)?;
        }
        let delay = moment(&mut rng) * rng.u32(1..8); // mostly behind the request
        sender.send((delay, octets))?;
        let due = slept.completions + burst;
        while slept.completions < due {
            let completion = match rng.u8(..8) {
                0 => {
                    let start = Instant::now();
                    let completion = completion_queue.wait(patience)?;
                    if start.elapsed() >= patience {
                        return Err(not_woken(patience)); // it looked once more at the end
                    }
                    completion
                }
                1 => {
                    pause(moment(&mut rng));
                    completion_queue.poll()?
                }
                _ => sleep(&completion_queue, &mut rng, patience, &mut slept.sleeps)?,
            };
            if let Some(completion) = completion {
                buffers.push(check(completion, slept.completions)?);
                slept.completions += 1;
            }
        }
    }
    drop(sender);
    feeder.join().map_err(|_| "the feeder panicked")??;
    while !card.is_idle() {
        thread::sleep(Duration::from_millis(1));
    }
    if let Some(completion) = completion_queue.poll()? {
        return Err(format!("one more than were sent: {completion:?}").into());
    }
    slept.messages = card.messages()[interrupt::COMPLETION];
    stream.close()?;
    Ok(slept)
}

/// Requests an interrupt once or twice, with random pauses, looks, and sleeps if there is nothing.
fn sleep(
    queue: &CompletionQueue,
    rng: &mut Rng,
    patience: Duration,
    sleeps: &mut u32,
) -> Result<Option<Completion>, Fault> {
    for _ in 0..rng.u8(1..=2) {
        pause(moment(rng));
        queue.request_interrupt()?;
    }
    pause(moment(rng));
    if let Some(completion) = queue.poll()? {
        return Ok(Some(completion));
    }
    *sleeps += 1;
    let timeout = Timespec::try_from(patience)?;
    let fd = queue.as_fd();
    let mut fds = [PollFd::new(&fd, PollFlags::IN)];
    match poll(&mut fds, Some(&timeout))? {
        0 => Err(not_woken(patience)),
        _ => Ok(queue.poll()?),
    }
}

fn not_woken(patience: Duration) -> Fault {
    format!("not woken for {patience:?}").into()
}

fn check(completion: Completion, number: u32) -> Result<Buffer, Fault> {
    let Completion::Untagged(message) = completion else {
        return Err(format!("message {number} is due, not {completion:?}").into());
    };
    let expected = u64::from(number).to_le_bytes();
    let found = message.buffer.to_vec();
    if message.msn != number + 1 || message.length != OCTETS || found != expected {
        return Err(format!("message {number} is due, not {message:?} with {found:?}").into());
    }
    Ok(message.buffer)
}

/// No time at all, or so little that it falls between two steps of the other side.
fn moment(rng: &mut Rng) -> Duration {
    match rng.u8(..4) {
        0 | 1 => Duration::ZERO,
        2 => Duration::from_micros(rng.u64(..200)),
        _ => Duration::from_micros(rng.u64(..1500)),
    }
}

/// Short pauses are spun, so that they are short.
fn pause(time: Duration) {
    if time > Duration::from_micros(300) {
        return thread::sleep(time);
    }
    let start = Instant::now();
    while start.elapsed() < time {
        thread::yield_now();
    }
}

/// What a run of [`revocations`] came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Revoked {
    /// Regions that were registered and revoked.
    pub regions: u32,
    /// Of them, those that the traffic ran into before it ended.
    pub in_traffic: u32,
    /// Octets that the card wrote.
    pub written: u64,
}

/// Octet that fills memory which is the program's alone again.
const POISON: u8 = 0xA5;
/// Octets of a region.
const REGION: usize = 16 << 10;
const STAG: u32 = 0x0700_0003;

/// Registers and revokes a region `rounds` times while writes to it arrive, and poisons its memory as soon as it is the
/// program's again. Meanwhile other memory is mapped and unmapped.
///
/// # Errors
/// Poison that was overwritten, a write that left the maps, or what driver and card report.
pub fn revocations(rounds: u32, seed: u64, wrapper: Wrapper) -> Result<Revoked, Fault> {
    let mut rng = Rng::with_seed(seed);
    let card = Card::open(&Config::simulated(64), CardOptions::default())?;
    let context = open(&card, wrapper)?;
    let domain = context.protection_domain()?;
    let _clock = card.run_freely()?;
    let mut revoked = Revoked::default();
    let mut others: Vec<Vec<Buffer>> = Vec::new();
    let mut poisoned: Vec<DmaMemory> = Vec::new();
    for round in 0..rounds {
        let registration = Registration {
            base: Some(0),
            ..Registration::default()
        };
        let region = domain
            .register_as(STAG, DmaMemory::new(REGION)?, registration)
            .map_err(|returned| returned.error)?;
        let stream = domain.arm(0, StreamOptions::default())?;
        let octets = writes(&mut rng)?;
        for (i, segment) in octets.chunks(SEGMENT).enumerate() {
            card.feed(0, (SEGMENT * i) as u32, segment)?;
        }
        if rng.bool() {
            others.push(context.buffers(rng.usize(1..5), 5000)?);
        } else if !others.is_empty() {
            others.swap_remove(rng.usize(..others.len()));
        }
        others.truncate(8);
        pause(Duration::from_micros(rng.u64(..5000)));
        let mut memory = region.revoke()?;
        memory.fill(POISON);
        while !card.is_idle() {
            thread::sleep(Duration::from_millis(1));
        }
        poisoned.push(memory);
        for memory in &poisoned {
            if let Some(at) = memory.iter().position(|octet| *octet != POISON) {
                return Err(
                    format!("round {round}: octet {at} was written after the revocation").into(),
                );
            }
        }
        if card.bus_errors() > 0 {
            return Err(format!("round {round}: the card wrote where nothing is mapped").into());
        }
        revoked.regions += 1;
        while let Some(completion) = context.completion_queue().poll()? {
            match completion {
                Completion::Error(event) if event.number == ErrorNumber::TaggedInvalidStag => {
                    revoked.in_traffic += 1;
                }
                Completion::Tagged(_) => {}
                other => return Err(format!("round {round}: {other:?}").into()),
            }
        }
        stream.close()?;
        if poisoned.len() > 16 {
            poisoned.remove(0);
        }
    }
    revoked.written = card.timing().written;
    Ok(revoked)
}

/// Writes anywhere into the region, enough for some thousand cycles.
fn writes(rng: &mut Rng) -> Result<Vec<u8>, Fault> {
    let mut writer = FpduWriter::new(false, CrcField::Computed);
    let mut octets = Vec::new();
    for _ in 0..rng.usize(1..150) {
        let length = rng.usize(1..1000);
        let message = Message::Tagged {
            stag: STAG,
            to: rng.u64(..=(REGION - length) as u64),
            rsvd_ulp: 0,
        };
        writer.append_message(message, &vec![rng.u8(..POISON); length], 1400, &mut octets)?;
    }
    Ok(octets)
}
