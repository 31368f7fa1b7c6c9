//! What hosts have done to streams, and what the device has reported of it. It only reads along.

use warpline_hdl::Config;
use warpline_regmap::layout::{close_event, completion, kind};
use warpline_regmap::transmit::{self, send_event};

use crate::observe::observation::QueueFill;
use crate::stream_events::{Followed, StreamEvent};
use crate::transmit::software::completions::Entry;

/// Untagged queues of a stream, at most.
const QUEUES: usize = 8;

/// Of all streams.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    /// Resets so far.
    pub resets: u64,
    /// Octets that TCP has accepted, since the card was opened.
    pub sent: u64,
    pub streams: Vec<Stream>,
}

/// Of a stream.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    pub armed: bool,
    pub closing: bool,
    /// The peer's FIN was reported.
    pub ended: bool,
    /// How often it was armed.
    pub arms: u64,
    /// Sequence number behind the last octet that is counted in `received`.
    edge: u32,
    received: u64,
    queues: [Buffers; QUEUES],
    sends: Option<Sends>,
    /// Octets that TCP has accepted since it was armed.
    pub sent: u64,
}

/// Of an untagged queue: buffers since it got its ring, modulo 2^16.
#[derive(Clone, Copy, Debug, Default)]
struct Buffers {
    posted: u16,
    used: u16,
}

/// Of a send ring: slots since it was attached, modulo 2^16.
#[derive(Clone, Copy, Debug, Default)]
struct Sends {
    entries: u16,
    announced: u16,
    consumed: u16,
}

impl Activity {
    /// Nothing was done so far.
    pub fn new(config: &Config) -> Self {
        let streams = std::iter::repeat_with(Stream::default);
        Self {
            streams: streams.take(config.streams).collect(),
            ..Self::default()
        }
    }

    /// The device was reset.
    pub fn reset(&mut self) {
        self.resets += 1;
        self.streams.fill_with(Stream::default);
    }

    fn stream(&mut self, number: u8) -> Option<&mut Stream> {
        self.streams.get_mut(usize::from(number))
    }

    /// An access has brought this about.
    pub fn follow(&mut self, followed: Followed) {
        match followed {
            Followed::Armed { stream, sequence } => {
                if let Some(stream) = self.stream(stream) {
                    *stream = Stream {
                        armed: true,
                        arms: stream.arms + 1,
                        edge: sequence,
                        ..Stream::default()
                    };
                }
            }
            Followed::Stream(StreamEvent::Closed { stream }) => {
                if let Some(stream) = self.stream(stream) {
                    stream.closing = stream.armed;
                }
            }
            Followed::Closed { stream } => {
                if let Some(stream) = self.stream(stream) {
                    *stream = Stream {
                        arms: stream.arms,
                        ..Stream::default()
                    };
                }
            }
            Followed::ReceiveRing { stream, queue } => {
                if let Some(buffers) = self.buffers(stream, queue) {
                    *buffers = Buffers::default();
                }
            }
            Followed::Buffer { stream, queue } => {
                if let Some(buffers) = self.buffers(stream, queue) {
                    buffers.posted = buffers.posted.wrapping_add(1);
                }
            }
            Followed::Stream(StreamEvent::Posted {
                stream,
                queue,
                count,
            }) => {
                if let Some(buffers) = self.buffers(stream, queue) {
                    buffers.posted = count;
                }
            }
            Followed::SendRing { stream, entries } => {
                if let Some(stream) = self.stream(stream) {
                    stream.sends = Some(Sends {
                        entries,
                        ..Sends::default()
                    });
                }
            }
            Followed::Announced { stream, count } => {
                if let Some(sends) = self.sends(stream) {
                    sends.announced = count;
                }
            }
            Followed::Stream(_) | Followed::Send(_) | Followed::Completions { .. } => {}
        }
    }

    fn buffers(&mut self, stream: u8, queue: u8) -> Option<&mut Buffers> {
        self.stream(stream)?.queues.get_mut(usize::from(queue))
    }

    fn sends(&mut self, stream: u8) -> Option<&mut Sends> {
        self.stream(stream)?.sends.as_mut()
    }

    /// The device has written an entry of the completion queue.
    pub fn completed(&mut self, entry: &Entry) {
        let number = completion::STREAM.get(entry) as u8;
        match completion::KIND.get(entry) as u32 {
            kind::UNTAGGED => {
                let queue = completion::QUEUE.get(entry);
                let queue = u8::try_from(queue).unwrap_or(u8::MAX);
                if let Some(buffers) = self.buffers(number, queue) {
                    buffers.used = buffers.used.wrapping_add(1);
                }
            }
            kind::CLOSED => {
                let number = close_event::STREAM.get(entry) as u8;
                if let Some(stream) = self.stream(number) {
                    stream.ended = true;
                }
            }
            transmit::kind::SEND => {
                let consumed = send_event::CONSUMED.get(entry) as u16;
                let response = send_event::RESPONSE.get(entry) == 1;
                if let Some(sends) = self.sends(number).filter(|_| !response) {
                    sends.consumed = consumed;
                }
            }
            _ => {}
        }
    }

    /// TCP has accepted `count` octets of a stream.
    pub fn accepted(&mut self, stream: u8, count: usize) {
        self.sent += count as u64;
        if let Some(stream) = self.stream(stream) {
            stream.sent += count as u64;
        }
    }
}

impl Stream {
    /// The device has received up to `edge` in order; octets since the stream was armed.
    pub fn received(&mut self, edge: u32) -> u64 {
        let more = edge.wrapping_sub(self.edge);
        // A report from before the stream was armed is behind its start.
        if self.armed && more < 1 << 31 {
            self.received += u64::from(more);
            self.edge = edge;
        }
        self.received
    }

    /// Buffers that are posted and not used up.
    pub fn outstanding(&self) -> u32 {
        let outstanding = |queue: &Buffers| u32::from(queue.posted.wrapping_sub(queue.used));
        self.queues.iter().map(outstanding).sum()
    }

    /// How full the send ring is; `idle`: all requests are done.
    pub fn sends(&mut self, idle: bool) -> QueueFill {
        let Some(sends) = &mut self.sends else {
            return QueueFill::default();
        };
        if idle {
            sends.consumed = sends.announced;
        }
        QueueFill {
            used: sends.announced.wrapping_sub(sends.consumed).into(),
            entries: sends.entries.into(),
        }
    }
}
