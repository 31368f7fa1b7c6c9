//! The card's run of a plan through the driver, as a program would do it.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;
use std::{thread, vec};

use warpline_capture::Piece;
use warpline_capture::replay::{
    BUFFER_FILL, Landed, Message, Queue, REGION_FILL, Region, Replay, Turn, Turns, Work,
};
use warpline_driver::{
    Buffer, Completion, CompletionQueue, Context, Counters, DmaMemory, Error as DriverError,
    MemoryRegion, Options, ProtectionDomain, Registration, Shape, Stream, StreamOptions, VfioUser,
};
use warpline_regmap::register::stag_slot;
use warpline_sim::{Card, Timing};

use super::event::{CompletionReport, ErrorReport};
use super::pieces::Pieces;
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

/// Feeds `pieces` of `stream` to `card`.
pub(super) fn run(
    card: &Card,
    stream: &Replay,
    pieces: Vec<Piece>,
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
    let Replay { flow, plan, .. } = stream;
    let domain = context.protection_domain()?;
    let octets = stream.octets.len();
    let slots = context.shape().stag_slots;
    let turns = Turns::new(plan, &stream.survey, |stag| stag_slot(stag, slots));
    let mut regions = Regions::new(&domain, &plan.regions)?;
    for &region in &turns.first {
        regions.register(region)?;
    }
    let stream = domain.arm(
        STREAM,
        StreamOptions {
            sequence_start: flow.seq_start,
            markers: flow.markers,
            crc: flow.crc,
            queues: 0b111,
            msn_window: true,
            ..StreamOptions::default()
        },
    )?;
    let queues = (0..)
        .zip(&plan.queues)
        .map(|(queue, of)| Posting::new(&context, queue, of));
    let mut replay = Player {
        card,
        pace,
        completion_queue: context.completion_queue(),
        queues: queues.collect::<Result<_, _>>()?,
        regions,
        turns: turns.turns.into(),
        slots: context.shape().receive_slots as usize,
        landed: Landed::blank(plan),
        completions: Vec::new(),
        errors: Vec::new(),
        cycles: 0,
    };
    card.clear_timing();
    replay.feed(Pieces::new(flow.seq_start, pieces), &stream, progress)?;
    if flow.fin {
        replay.finish(flow.seq_start.wrapping_add(octets as u32))?;
    }

    let counters = context.counters()?;
    let cycles = replay.cycles;
    stream.close()?;
    replay.poll()?;
    let mut landed = replay.landed;
    landed.add_unused(plan);
    for (index, (_, image)) in landed.memory.iter_mut().enumerate() {
        let memory = replay.regions.take(index)?;
        let length = image.len();
        image.copy_from_slice(&memory[..length]);
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

/// The regions of a plan, registered or not.
struct Regions<'p> {
    domain: &'p ProtectionDomain,
    all: Vec<(&'p Region, Place)>,
}

/// Where the memory of a region is.
enum Place {
    Here(DmaMemory),
    Registered(MemoryRegion),
    /// Between both, or lost with an error.
    Away,
}

impl<'p> Regions<'p> {
    fn new(domain: &'p ProtectionDomain, regions: &'p [Region]) -> Result<Self, Error> {
        let all = regions.iter().map(|region| {
            let length = region.length as usize; // within the plan's limit
            let mut memory = DmaMemory::new(length.max(1))?;
            memory.fill(REGION_FILL);
            Ok((region, Place::Here(memory)))
        });
        let all = all.collect::<Result<_, Error>>()?;
        Ok(Self { domain, all })
    }

    fn register(&mut self, index: usize) -> Result<(), Error> {
        let memory = self.take(index)?;
        let (region, place) = &mut self.all[index];
        let registration = Registration {
            length: Some(region.length as usize),
            base: Some(region.base),
            remote_write: region.remote_write,
            ..Registration::default()
        };
        let registered = self.domain.register_as(region.stag, memory, registration);
        *place = Place::Registered(registered.map_err(|returned| Error::Region {
            stag: region.stag,
            source: returned.error,
        })?);
        Ok(())
    }

    /// The memory of a region, which is not registered any more.
    fn take(&mut self, index: usize) -> Result<DmaMemory, Error> {
        let (region, place) = &mut self.all[index];
        match std::mem::replace(place, Place::Away) {
            Place::Here(memory) => Ok(memory),
            Place::Registered(registered) => Ok(registered.revoke()?),
            Place::Away => Err(Error::Region {
                stag: region.stag,
                source: DriverError::Gone,
            }),
        }
    }

    fn turn(&mut self, turn: Turn) -> Result<(), Error> {
        let memory = self.take(turn.leaves)?;
        self.all[turn.leaves].1 = Place::Here(memory);
        self.register(turn.takes)
    }
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

    /// Octets of the stream for which the posted buffers are enough, or all if none are left to post.
    fn reach(&self) -> u64 {
        match self.fresh.len() {
            0 => u64::MAX,
            _ => self.of.messages.reach(self.posted),
        }
    }
}

struct Player<'c, 'p> {
    card: &'c Card,
    pace: Pace<'c>,
    completion_queue: CompletionQueue,
    queues: Vec<Posting<'p>>,
    regions: Regions<'p>,
    /// Changes of the table that the stream has not reached.
    turns: VecDeque<Turn>,
    slots: usize,
    landed: Landed,
    completions: Vec<CompletionReport>,
    errors: Vec<ErrorReport>,
    /// Cycles of the portions fed so far, without the pauses between them.
    cycles: u64,
}

impl Player<'_, '_> {
    /// Feeds all pieces, in portions that the posted buffers can hold and that name registered STags.
    fn feed(
        &mut self,
        mut pieces: Pieces,
        stream: &Stream,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), Error> {
        let total = pieces.octets();
        let mut fed = 0;
        loop {
            let mut posted = 0;
            for queue in &mut self.queues {
                posted += queue.post(stream, self.slots)?;
            }
            // A stream that failed drops the rest.
            let end = match self.errors.is_empty() {
                true => self.reach(),
                false => u64::MAX,
            };
            let portion = pieces.take(end);
            let idle = portion.is_empty() && posted == 0;
            for (mut sequence, octets) in portion {
                for part in octets.chunks(LONGEST) {
                    self.card.feed(STREAM, sequence, part)?;
                    sequence = sequence.wrapping_add(part.len() as u32);
                }
                fed += octets.len() as u64;
            }
            self.settle(&mut |untaken| progress(fed - untaken as u64, total))?;
            // The program pauses before the next portion and before the FIN; that is not the card's time.
            self.cycles += cycles(&self.card.timing());
            if pieces.is_empty() {
                return Ok(());
            }
            self.card.clear_timing();
            if !self.errors.is_empty() {
                continue;
            }
            let next = self.turns.front();
            if let Some(&turn) = next.filter(|turn| turn.position <= end) {
                self.turns.pop_front();
                self.regions.turn(turn)?;
            } else if idle {
                let reach = |queue: &&Posting<'_>| queue.reach() <= end;
                let short = self.queues.iter().find(reach);
                return Err(Error::Open {
                    queue: short.map_or(0, |queue| queue.queue),
                    slots: self.slots,
                });
            }
        }
    }

    /// Octets of the stream that the program is ready for.
    fn reach(&self) -> u64 {
        let queues = self.queues.iter().map(Posting::reach);
        let turn = self.turns.front().map(|turn| turn.position);
        queues.chain(turn).min().unwrap_or(u64::MAX)
    }

    /// The peer's FIN, with this sequence number.
    fn finish(&mut self, sequence: u32) -> Result<(), Error> {
        self.card.feed_fin(STREAM, sequence, [])?;
        self.settle(&mut |_| ())
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
