//! A captured stream, received as a program would: registered, posted, armed, then asleep until the card's interrupt.
//!
//! ```text
//!  start ─► regions, buffers, stream ─► until ─► finish ─► Landed: what is in memory, and what completed
//!                                       │  ▲
//!                              request an interrupt, poll, sleep on the eventfd
//! ```

use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use warpline_capture::replay::{BUFFER_FILL, Landed, REGION_FILL, Replay, Work};
use warpline_driver::{
    BackendError, Buffer, Completion, CompletionQueue, Context, DmaMemory, MemoryRegion,
    Registration, Stream, StreamOptions,
};

const STREAM: u8 = 0;
/// Entries of the smallest receive ring.
const FEWEST_ENTRIES: u32 = 16;
/// Time for an interrupt: much, for a card that is simulated beside a guest that is emulated.
const PATIENCE: Duration = Duration::from_secs(30);

/// A captured stream that is being received.
pub struct Session<'r> {
    replay: &'r Replay,
    queue: CompletionQueue,
    stream: Option<Stream>,
    /// Those of the plan, in its order.
    pub regions: Vec<MemoryRegion>,
    /// What happened so far.
    pub landed: Landed,
    /// Messages that were delivered.
    pub delivered: u64,
    /// Times that the card's interrupt ended the sleep.
    pub interrupts: u64,
}

impl<'r> Session<'r> {
    /// Registers and posts what `replay` needs, and arms the stream: traffic may come.
    pub fn start(context: &Context, replay: &'r Replay) -> Result<Self, BackendError> {
        let plan = &replay.plan;
        let domain = context.protection_domain()?;
        let mut regions = Vec::new();
        for region in &plan.regions {
            let length = usize::try_from(region.length)?;
            let mut memory = DmaMemory::new(length.max(1))?;
            memory.fill(REGION_FILL);
            let registration = Registration {
                length: Some(length),
                base: Some(region.base),
                remote_write: region.remote_write,
                ..Registration::default()
            };
            let registered = domain.register_as(region.stag, memory, registration);
            regions.push(registered.map_err(|returned| returned.error)?);
        }
        let most = plan.queues.iter().map(|queue| queue.count).max();
        let stream = domain.arm(
            STREAM,
            StreamOptions {
                sequence_start: replay.flow.seq_start,
                markers: replay.flow.markers,
                crc: replay.flow.crc,
                queues: 0b111,
                msn_window: true,
                receive_entries: most
                    .unwrap_or_default()
                    .max(FEWEST_ENTRIES)
                    .next_power_of_two(),
                ..StreamOptions::default()
            },
        )?;
        for (number, queue) in (0..).zip(&plan.queues) {
            if queue.count == 0 {
                continue;
            }
            let mut buffers = context.buffers(queue.count as usize, queue.length)?;
            let fill = vec![BUFFER_FILL; queue.length as usize];
            for buffer in &mut buffers {
                buffer.write_at(0, &fill)?;
            }
            let posted = stream.receive_queue(number)?.post_many(buffers);
            posted.map_err(|returned| returned.error)?;
        }
        Ok(Self {
            replay,
            queue: context.completion_queue(),
            stream: Some(stream),
            regions,
            landed: Landed::blank(plan),
            delivered: 0,
            interrupts: 0,
        })
    }

    /// All messages were delivered and the peer's FIN, if it sent one, was reported; or the stream failed.
    pub fn is_over(&self) -> bool {
        let delivered = self.delivered == self.replay.survey.messages;
        let closed = self.landed.closed.is_some() || !self.replay.flow.fin;
        self.landed.error.is_some() || delivered && closed
    }

    /// Takes completions until `done`. Sleeps in between; only the card's interrupt ends the sleep.
    pub fn until(&mut self, done: impl Fn(&Self) -> bool) -> Result<(), BackendError> {
        while !done(self) {
            if self.is_over() {
                let (delivered, error) = (self.delivered, self.landed.error);
                return Err(format!(
                    "the traffic is over too early: {delivered} messages, error {error:?}"
                )
                .into());
            }
            self.queue.request_interrupt()?;
            match self.queue.poll()? {
                Some(completion) => self.take(completion)?,
                None => self.sleep()?,
            }
        }
        Ok(())
    }

    fn sleep(&mut self) -> Result<(), BackendError> {
        let mut polled = [PollFd::new(&self.queue, PollFlags::IN)];
        let timeout = Timespec::try_from(PATIENCE)?;
        if rustix::event::poll(&mut polled, Some(&timeout))? == 0 {
            let (delivered, all) = (self.delivered, self.replay.survey.messages);
            return Err(format!(
                "no interrupt in {PATIENCE:?}, after {delivered} of {all} messages"
            )
            .into());
        }
        self.interrupts += 1;
        Ok(())
    }

    fn take(&mut self, completion: Completion) -> Result<(), BackendError> {
        match completion {
            Completion::Tagged(_) => self.delivered += 1,
            Completion::Untagged(message) => {
                self.delivered += 1;
                if message.queue == 0 {
                    self.landed.work.push(Work::Received {
                        buffer: message.buffer.id(),
                        length: message.length,
                    });
                    self.keep(&message.buffer)?;
                }
            }
            Completion::Flushed(unused) if unused.queue == 0 => self.keep(&unused.buffer)?,
            Completion::Closed(event) => self.landed.closed = Some(event.position),
            Completion::Error(event) => {
                self.landed.error = Some((event.number.error_type(), event.number.code()));
            }
            _ => {}
        }
        Ok(())
    }

    /// Copies a buffer of queue 0 to its place among the receive buffers.
    fn keep(&mut self, buffer: &Buffer) -> Result<(), BackendError> {
        let place = self.landed.receive_buffer(buffer.id(), buffer.len());
        let place = place.ok_or("a buffer that was not posted came back")?;
        Ok(buffer.read_at(0, place)?)
    }

    /// Closes the stream; all buffers come back. Regions stay.
    pub fn close(&mut self) -> Result<(), BackendError> {
        if let Some(stream) = self.stream.take() {
            stream.close()?;
        }
        while let Some(completion) = self.queue.poll()? {
            self.take(completion)?;
        }
        Ok(())
    }

    /// Closes the stream and takes all memory back: what the stream left behind.
    pub fn finish(mut self) -> Result<Landed, BackendError> {
        self.close()?;
        self.landed.add_unused(&self.replay.plan);
        let images = &mut self.landed.memory;
        for (region, (_, image)) in self.regions.into_iter().zip(images) {
            let range = region.range();
            image.copy_from_slice(&region.revoke()?[range]);
        }
        Ok(self.landed)
    }
}
