//! Plays captures into every stream that the host of a card arms. The host is another process.
//!
//! ```text
//!  host arms ─► buffers posted, or a second idle ─► TCP segments to the network side ─► all accepted
//!     ▲                                                                                      │
//!     └── closes, arms again ◄───────────────────────────────────────────────────────────────┘
//! ```

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use warpline_capture::Segmentation;
use warpline_capture::replay::{QUEUES, Replay};
use warpline_regmap::register;
use warpline_sim::{Card, StreamEvent};

use crate::Error;

/// A host that posts nothing for this time will post no more buffers.
const SILENCE: Duration = Duration::from_secs(1);
/// Time between two polls of the streams.
const LOOK: Duration = Duration::from_millis(20);
/// Longest TCP segment.
const LONGEST: usize = 65535;

/// A thread that plays. Dropping it ends it.
pub(crate) struct Player {
    card: Card,
    thread: Option<JoinHandle<()>>,
}

impl Player {
    /// Plays one of `replays` into each stream that the host of `card` arms: the only one, or the one that begins at the
    /// stream's sequence number.
    ///
    /// # Errors
    /// Those of a capture with a gap.
    pub fn start(card: &Card, replays: Vec<Replay>) -> Result<Self, Error> {
        let plays = replays.into_iter().map(|replay| {
            let pieces = replay.flow.resegment(Segmentation::AsCaptured);
            let pieces = pieces.map_err(warpline_capture::replay::ReplayError::from)?;
            Ok(Play { replay, pieces })
        });
        let plays = plays.collect::<Result<Vec<_>, Error>>()?;
        let (sender, events) = mpsc::channel();
        card.watch_streams(Box::new(move |event| {
            let _ = sender.send(event); // fails after the thread has ended
        }));
        let stage = Stage {
            card: card.clone(),
            plays,
            streams: Vec::new(),
        };
        let thread = thread::Builder::new().name("traffic".into());
        let thread = thread.spawn(move || stage.run(&events));
        Ok(Self {
            card: card.clone(),
            thread: Some(thread.map_err(warpline_sim::Error::Thread)?),
        })
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.card.watch_streams(Box::new(|_| {})); // drops the channel's only sender
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic has printed its message
        }
    }
}

struct Stage {
    card: Card,
    plays: Vec<Play>,
    /// Armed streams, the index of their play, and its state.
    streams: Vec<(u8, usize, Scene)>,
}

struct Play {
    replay: Replay,
    pieces: Vec<(u32, Vec<u8>)>,
}

enum Scene {
    /// Buffers posted to each queue, and when that last changed.
    Waiting([u16; QUEUES], Instant),
    Playing,
    Done,
}

impl Stage {
    fn run(mut self, events: &Receiver<StreamEvent>) {
        loop {
            let handled = match events.recv_timeout(LOOK) {
                Ok(event) => self.handle(event),
                Err(RecvTimeoutError::Timeout) => Ok(()),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if let Err(error) = handled.and_then(|()| self.advance()) {
                tracing::error!(%error, "no more traffic");
                return;
            }
        }
    }

    fn handle(&mut self, event: StreamEvent) -> Result<(), Error> {
        match event {
            StreamEvent::Armed { stream } => {
                tracing::info!(stream, "armed");
                self.streams.retain(|(number, ..)| *number != stream);
                let start = edge(&self.card, stream)?;
                let begins = |play: &Play| play.replay.flow.seq_start == start;
                let play = match self.plays[..] {
                    [_] => Some(0),
                    _ => self.plays.iter().position(begins),
                };
                if let Some(play) = play {
                    let waiting = Scene::Waiting([0; QUEUES], Instant::now());
                    self.streams.push((stream, play, waiting));
                } else {
                    tracing::warn!(stream, start, "no capture begins at that sequence number");
                }
            }
            StreamEvent::Closed { stream } => {
                tracing::info!(stream, "closed");
                self.streams.retain(|(number, ..)| *number != stream);
            }
            StreamEvent::Posted {
                stream,
                queue,
                count,
            } => {
                let scene = self
                    .streams
                    .iter_mut()
                    .find(|(number, ..)| *number == stream);
                if let Some((_, _, Scene::Waiting(posted, since))) = scene {
                    *since = Instant::now();
                    if let Some(posted) = posted.get_mut(usize::from(queue)) {
                        *posted = count;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<(), Error> {
        let Self {
            card,
            plays,
            streams,
        } = self;
        for (stream, play, scene) in streams {
            let stream = *stream;
            let Play { replay, pieces } = &plays[*play];
            match scene {
                Scene::Waiting(posted, since) => {
                    let queues = replay.plan.queues.iter().zip(posted.iter());
                    let mut enough =
                        queues.map(|(queue, posted)| u32::from(*posted) >= queue.count);
                    if enough.all(|enough| enough) || since.elapsed() >= SILENCE {
                        let octets = feed(card, stream, replay, pieces)?;
                        tracing::info!(stream, octets, "traffic starts");
                        *scene = Scene::Playing;
                    }
                }
                Scene::Playing if card.untaken(stream)? == 0 => {
                    tracing::info!(stream, "all traffic taken");
                    *scene = Scene::Done;
                }
                Scene::Playing | Scene::Done => {}
            }
        }
        Ok(())
    }
}

/// Feeds all pieces to `stream`, from the sequence number that the host armed it with, and the peer's FIN if it was captured.
/// Returns the number of octets.
fn feed(
    card: &Card,
    stream: u8,
    replay: &Replay,
    pieces: &[(u32, Vec<u8>)],
) -> Result<usize, Error> {
    let edge = edge(card, stream)?;
    let mut octets = 0;
    for (sequence, piece) in pieces {
        let mut sequence = edge.wrapping_add(sequence.wrapping_sub(replay.flow.seq_start));
        for part in piece.chunks(LONGEST) {
            card.feed(stream, sequence, part)?;
            sequence = sequence.wrapping_add(part.len() as u32);
        }
        octets += piece.len();
    }
    if replay.flow.fin {
        card.feed_fin(stream, edge.wrapping_add(replay.octets.len() as u32), [])?;
    }
    Ok(octets)
}

/// The sequence number that a stream expects next.
fn edge(card: &Card, stream: u8) -> Result<u32, Error> {
    Ok(card.read_register(register::STREAM_EDGE.at(stream.into()))?)
}
