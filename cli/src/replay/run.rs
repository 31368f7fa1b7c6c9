//! The card's run of a plan through the driver, as a program would do it.

use std::path::Path;
use std::time::Duration;
use std::{thread, vec};

use warpline_capture::replay::{
    BUFFER_FILL, Landed, Message, Plan, Queue, REGION_FILL, Region, Work,
};
use warpline_capture::{Flow, Piece};
use warpline_driver::{
    Buffer, Completion, CompletionQueue, Context, Counters, DmaMemory, Error as DriverError,
    MemoryRegion, Options, ProtectionDomain, Registration, Shape, Stream, StreamOptions, VfioUser,
};
use warpline_sim::{Card, Timing};

use super::event::{CompletionReport, ErrorReport};
use crate::Error;

const STREAM: u8 = 0;
/// Entries of the completion queue.
const COMPLETION_ENTRIES: u32 = 4096;
/// Cycles between two polls of the completion queue.
const SLICE: u64 = 8192;
/// Longest time to an answer of the card: its simulation takes less, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two checks whether a free-running card is idle.
const NAP: Duration = Duration::from_millis(1);
/// Longest TCP segment.
const LONGEST: usize = 65535;

/// The result of a run.
pub(super) struct Run {
    pub shape: Shape,
    pub counters: Counters,
    pub cycles: u64,
    pub landed: Landed,
    pub completions: Vec<CompletionReport>,
    pub errors: Vec<ErrorReport>,
}

/// What advances the card's clock, and how the program is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace<'s> {
    /// Calls in this process: every run is the same.
    Served,
    /// The clock runs freely, and the card is at this socket. The program sleeps until completions arrive.
    Free {
        /// The socket.
        socket: &'s Path,
        /// Number of completions to expect, error events included.
        completions: usize,
    },
}

/// Opens a card of this process through the driver.
pub(crate) fn open(card: &Card, options: Options) -> Result<Context, Error> {
    let device = VfioUser::over(card.connect()?, PATIENCE).map_err(DriverError::from)?;
    Ok(Context::open(Box::new(device), options)?)
}

/// Feeds `pieces` of `flow` to `card`.
pub(super) fn run(
    card: &Card,
    flow: &Flow,
    pieces: Vec<Piece>,
    plan: &Plan,
    pace: Pace<'_>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Run, Error> {
    let options = Options {
        completion_entries: COMPLETION_ENTRIES,
        ..Options::default()
    };
    let context = match pace {
        Pace::Served => open(card, options)?,
        Pace::Free { socket, .. } => {
            let device = VfioUser::connect(socket, PATIENCE).map_err(DriverError::from)?;
            Context::open(Box::new(device), options)?
        }
    };
    let domain = context.protection_domain()?;
    let regions = plan.regions.iter().map(|region| register(&domain, region));
    let regions: Vec<_> = regions.collect::<Result<_, _>>()?;
    let stream = domain.arm(
        STREAM,
        StreamOptions {
            sequence_start: flow.seq_start,
            markers: flow.markers,
            crc: flow.crc,
            queues: 0b111,
            ..StreamOptions::default()
        },
    )?;
    let queues = (0..)
        .zip(&plan.queues)
        .map(|(queue, of)| Posting::new(&context, queue, of));
    let mut replay = Replay {
        card,
        pace,
        completion_queue: context.completion_queue(),
        queues: queues.collect::<Result<_, _>>()?,
        slots: context.shape().receive_slots as usize,
        landed: Landed::blank(plan),
        completions: Vec::new(),
        errors: Vec::new(),
    };
    card.clear_timing();
    replay.feed(flow, pieces, &stream, progress)?;

    let counters = context.counters()?;
    let cycles = cycles(&card.timing());
    stream.close()?;
    replay.poll()?;
    let mut landed = replay.landed;
    landed.add_unused(plan);
    for (region, (_, image)) in regions.into_iter().zip(&mut landed.memory) {
        let range = region.range();
        image.copy_from_slice(&region.revoke()?[range]);
    }
    Ok(Run {
        shape: context.shape(),
        counters,
        cycles,
        landed,
        completions: replay.completions,
        errors: replay.errors,
    })
}

/// Cycles from the first beat in to the last write response, both included; to the last beat if the stream failed and drops
/// octets after that response.
fn cycles(timing: &Timing) -> u64 {
    match (
        timing.first_beat,
        timing.last_response.max(timing.last_beat),
    ) {
        (Some(first), Some(last)) => last - first + 1,
        _ => 0,
    }
}

fn register(domain: &ProtectionDomain, region: &Region) -> Result<MemoryRegion, Error> {
    let refused = |source| Error::Region {
        stag: region.stag,
        source,
    };
    let length = region.length as usize; // within the plan's limit
    let mut memory = DmaMemory::new(length.max(1))?;
    memory.fill(REGION_FILL);
    let registration = Registration {
        length: Some(length),
        base: Some(region.base),
        remote_write: region.remote_write,
        ..Registration::default()
    };
    domain
        .register_as(region.stag, memory, registration)
        .map_err(|returned| refused(returned.error))
}

/// Buffers of a queue that are not posted yet, and counts of those that are.
struct Posting<'p> {
    queue: u8,
    of: &'p Queue,
    fresh: vec::IntoIter<Buffer>,
    posted: usize,
    completed: usize,
}

impl<'p> Posting<'p> {
    fn new(context: &Context, queue: u8, of: &'p Queue) -> Result<Self, Error> {
        let mut buffers = match of.count {
            0 => Vec::new(),
            count => context.buffers(count as usize, of.length)?,
        };
        let fill = vec![BUFFER_FILL; of.length as usize];
        for buffer in &mut buffers {
            buffer.write_at(0, &fill)?;
        }
        Ok(Self {
            queue,
            of,
            fresh: buffers.into_iter(),
            posted: 0,
            completed: 0,
        })
    }

    /// Posts as many buffers as the queue has room for; returns their number.
    fn post(&mut self, stream: &Stream, slots: usize) -> Result<usize, Error> {
        let queue = stream.receive_queue(self.queue)?;
        let room = slots - (self.posted - self.completed);
        let mut posted = 0;
        for buffer in self.fresh.by_ref().take(room) {
            match queue.post(buffer).map_err(|returned| returned.error) {
                Err(DriverError::StreamFailed { .. }) => return Ok(0),
                result => result?,
            };
            posted += 1;
        }
        self.posted += posted;
        Ok(posted)
    }

    /// Whether each message that ends in the first `octets` of the stream has a posted buffer, or none are left to post.
    fn suffices(&self, octets: u64) -> bool {
        self.fresh.len() == 0 || self.of.messages.complete(octets) <= self.posted
    }
}

struct Replay<'c, 'p> {
    card: &'c Card,
    pace: Pace<'c>,
    completion_queue: CompletionQueue,
    queues: Vec<Posting<'p>>,
    slots: usize,
    landed: Landed,
    completions: Vec<CompletionReport>,
    errors: Vec<ErrorReport>,
}

impl Replay<'_, '_> {
    /// Feeds all pieces, in portions that the posted buffers can hold.
    fn feed(
        &mut self,
        flow: &Flow,
        pieces: Vec<Piece>,
        stream: &Stream,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), Error> {
        let total = pieces.iter().map(|(_, octets)| octets.len() as u64).sum();
        let mut pieces = pieces.into_iter().peekable();
        let (mut reach, mut fed) = (0, 0);
        loop {
            let mut posted = 0;
            for queue in &mut self.queues {
                posted += queue.post(stream, self.slots)?;
            }
            let failed = !self.errors.is_empty();
            let before = fed;
            while let Some((sequence, octets)) = pieces.peek() {
                let end = sequence
                    .wrapping_sub(flow.seq_start)
                    .wrapping_add(octets.len() as u32);
                let end = reach.max(u64::from(end));
                if !failed && !self.queues.iter().all(|queue| queue.suffices(end)) {
                    break;
                }
                let mut sequence = *sequence;
                for part in octets.chunks(LONGEST) {
                    self.card.feed(STREAM, sequence, part)?;
                    sequence = sequence.wrapping_add(part.len() as u32);
                }
                fed += octets.len() as u64;
                reach = end;
                pieces.next();
            }
            self.settle(&mut |untaken| progress(fed - untaken as u64, total))?;
            if pieces.peek().is_none() {
                if flow.fin {
                    let sequence = flow.seq_start.wrapping_add(reach as u32);
                    self.card.feed_fin(STREAM, sequence, [])?;
                    self.settle(&mut |_| ())?;
                }
                return Ok(());
            }
            if posted == 0 && fed == before && !failed {
                let missing = self.queues.iter().find(|queue| !queue.suffices(u64::MAX));
                return Err(Error::TcpSegment {
                    queue: missing.map_or(0, |queue| queue.queue),
                    slots: self.slots,
                });
            }
        }
    }

    /// Runs the card until it is idle; `watch` is called with the octets that it has not accepted yet.
    fn settle(&mut self, watch: &mut dyn FnMut(usize)) -> Result<(), Error> {
        match self.pace {
            Pace::Served => self.run(watch),
            Pace::Free { completions, .. } => self.sleep(completions, watch),
        }
    }

    /// Sleeps until `completions` have arrived, then until the card is idle.
    fn sleep(&mut self, completions: usize, watch: &mut dyn FnMut(usize)) -> Result<(), Error> {
        while self.completions.len() + self.errors.len() < completions {
            let Some(completion) = self.completion_queue.wait(PATIENCE)? else {
                break; // the comparison reports what is missing
            };
            self.take(completion)?;
            watch(self.card.untaken(STREAM)?);
        }
        while !self.card.is_idle() {
            thread::sleep(NAP);
        }
        self.poll().map(drop)
    }

    fn run(&mut self, watch: &mut dyn FnMut(usize)) -> Result<(), Error> {
        let mut untaken = usize::MAX;
        loop {
            self.card.step(SLICE)?;
            self.poll()?;
            let now = self.card.untaken(STREAM)?;
            watch(now);
            if now == 0 || now == untaken {
                break;
            }
            untaken = now;
        }
        loop {
            self.card.run_until_idle()?;
            if self.poll()? == 0 {
                return Ok(());
            }
        }
    }

    /// Handles all completions; returns their number.
    fn poll(&mut self) -> Result<usize, Error> {
        let mut taken = 0;
        while let Some(completion) = self.completion_queue.poll()? {
            taken += 1;
            self.take(completion)?;
        }
        Ok(taken)
    }

    fn take(&mut self, completion: Completion) -> Result<(), Error> {
        match completion {
            Completion::Tagged(tagged) => {
                self.landed.messages.push(Message::Tagged {
                    stag: tagged.stag,
                    offset: tagged.offset,
                    length: tagged.length,
                });
                self.completions.push(tagged.into());
            }
            Completion::Untagged(untagged) => {
                self.landed.messages.push(Message::Untagged {
                    queue: untagged.queue.into(),
                    msn: untagged.msn,
                    length: untagged.length,
                });
                self.completions.push(CompletionReport::Untagged {
                    stream: untagged.stream,
                    queue: untagged.queue,
                    msn: Some(untagged.msn),
                    length: untagged.length,
                });
                if let Some(queue) = self.queues.get_mut(usize::from(untagged.queue)) {
                    queue.completed += 1;
                }
                if untagged.queue == 0 {
                    self.landed.work.push(Work::Received {
                        buffer: untagged.buffer.id(),
                        length: untagged.length,
                    });
                    self.keep(&untagged.buffer)?;
                }
            }
            Completion::Flushed(receive) if receive.queue == 0 => self.keep(&receive.buffer)?,
            Completion::Closed(event) => self.landed.closed = Some(event.position),
            Completion::Error(event) => {
                self.landed.error = Some((event.number.error_type(), event.number.code()));
                self.landed.failed_at = Some(event.position);
                self.errors.push(event.into());
            }
            _ => {}
        }
        Ok(())
    }

    /// Copies a buffer of queue 0 to its place among the receive buffers.
    fn keep(&mut self, buffer: &Buffer) -> Result<(), Error> {
        let place = self.landed.receive_buffer(buffer.id(), buffer.len());
        Ok(buffer.read_at(0, place.expect("only buffers of the plan are posted"))?)
    }
}
