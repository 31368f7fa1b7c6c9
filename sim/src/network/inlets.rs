//! Where octets of attached connections enter the card's time: one inlet per stream.
//!
//! ```text
//!  socket ─► room? ─► Path ─► Segments ─► s_axis_segment
//!              ▲                             │
//!              └── backlog ◄── m_axis_window ┘     backlog = octets that have arrived and are not in order in the device
//! ```
//!
//! An inlet without room wakes its owner when half of the backlog is gone. A stream that is closed loses its inlet.

use crate::network::path::Path;
use crate::network::segments::{Segments, Tail, distance};

/// Cycles between two comparisons of backlogs when no window changes.
const COMPARE: u64 = 1024;

/// Wakes the owner of an inlet. It is called while a cycle runs and must not call the card.
pub(crate) type Wake = Box<dyn Fn() + Send>;

/// An inlet: valid until it is detached, or its stream is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    stream: u8,
    number: u64,
}

#[cfg(feature = "sctp")]
impl Token {
    /// Stream of the inlet.
    pub fn stream(self) -> u8 {
        self.stream
    }

    /// Number of the inlet, of all there were.
    pub fn number(self) -> u64 {
        self.number
    }
}

/// What arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arrived<'o> {
    Octets(&'o [u8]),
    /// The peer's FIN.
    Fin,
    /// The connection is lost, and with it what its path holds back.
    Lost,
}

/// One connection's way into a stream.
pub(crate) struct Inlet {
    number: u64,
    path: Path,
    /// Sequence number of the first octet.
    first: u32,
    /// Sequence number behind the last octet that has arrived.
    end: u32,
    /// Most octets of the backlog.
    most: usize,
    /// It had no room, and its owner waits.
    full: bool,
    wake: Wake,
}

impl Inlet {
    /// An inlet for octets from `sequence` on, through `path`, with a backlog of at most `most` octets.
    pub fn new(path: Path, sequence: u32, most: usize, wake: Wake) -> Self {
        Self {
            number: 0,
            path,
            first: sequence,
            end: sequence,
            most,
            full: false,
            wake,
        }
    }

    /// Octets that have arrived and are not in order in the device. A device in error may report any edge, so that it is not
    /// less than what waits to be sent.
    fn backlog(&self, stream: usize, network: &Segments) -> usize {
        let edge = network.edge(stream).unwrap_or(self.first);
        let lacking = distance(edge, self.end).max(0) as usize;
        lacking.max(network.queued(stream))
    }

    /// Passes on what is due.
    fn pass(&mut self, stream: usize, cycle: u64, network: &mut Segments) {
        while let Some(segment) = self.path.next(cycle) {
            let tail = match segment.fin {
                true => Tail::Fin,
                false => Tail::More,
            };
            network.feed(stream, segment.sequence, segment.octets, tail, false);
        }
    }
}

/// The inlets of all streams.
pub(crate) struct Inlets {
    streams: Vec<Option<Inlet>>,
    number: u64,
    /// First cycle in which a path has something.
    due: u64,
    /// `Segments::last_change` when backlogs were compared.
    compared: u64,
}

impl Inlets {
    /// `streams` streams without inlets.
    pub fn new(streams: usize) -> Self {
        Self {
            streams: std::iter::repeat_with(|| None).take(streams).collect(),
            number: 0,
            due: u64::MAX,
            compared: 0,
        }
    }

    /// `None` when the stream has an inlet.
    pub fn attach(&mut self, stream: u8, inlet: Inlet) -> Option<Token> {
        let place = self.streams.get_mut(usize::from(stream))?;
        if place.is_some() {
            return None;
        }
        self.number += 1;
        let number = self.number;
        *place = Some(Inlet { number, ..inlet });
        Some(Token { stream, number })
    }

    /// Removes an inlet, unless it is gone.
    pub fn detach(&mut self, token: Token) {
        if self.find(token).is_some() {
            self.streams[usize::from(token.stream)] = None;
            self.due = self.first_due();
        }
    }

    /// The stream is closed: its inlet is gone, and its owner is woken.
    pub fn close(&mut self, stream: usize) {
        if let Some(inlet) = self.streams.get_mut(stream).and_then(Option::take) {
            (inlet.wake)();
            self.due = self.first_due();
        }
    }

    /// Wakes the owner of a stream's inlet: its connection has octets to send.
    pub fn wake(&self, stream: usize) {
        if let Some(Some(inlet)) = self.streams.get(stream) {
            (inlet.wake)();
        }
    }

    /// Whether an inlet is there.
    pub fn has(&self, token: Token) -> bool {
        let inlet = self.streams.get(usize::from(token.stream));
        inlet.is_some_and(|inlet| inlet.as_ref().is_some_and(|i| i.number == token.number))
    }

    /// The card was reset.
    pub fn clear(&mut self) {
        (0..self.streams.len()).for_each(|stream| self.close(stream));
    }

    /// Octets that an inlet has room for; `None` when it is gone.
    pub fn room(&mut self, token: Token, network: &Segments) -> Option<usize> {
        let inlet = self.find(token)?;
        let backlog = inlet.backlog(token.stream.into(), network);
        let room = inlet.most.saturating_sub(backlog);
        inlet.full = room == 0;
        Some(room)
    }

    /// Something has arrived; without effect when the inlet is gone.
    pub fn arrived(
        &mut self,
        token: Token,
        arrived: Arrived<'_>,
        cycle: u64,
        network: &mut Segments,
    ) {
        let Some(inlet) = self.find(token) else {
            return;
        };
        match arrived {
            Arrived::Octets(octets) => {
                inlet.end = inlet.end.wrapping_add(octets.len() as u32);
                inlet.path.arrive(cycle, octets);
            }
            Arrived::Fin => inlet.path.finish(cycle),
            Arrived::Lost => {
                let stream = token.stream.into();
                inlet.pass(stream, cycle, network);
                inlet.path.drop_all();
                network.feed(stream, 0, Vec::new(), Tail::Abort, true);
            }
        }
        self.due = self.first_due();
    }

    /// Passes on what is due, and wakes the owners of inlets that have room again.
    pub fn advance(&mut self, cycle: u64, network: &mut Segments) {
        if cycle >= self.due {
            for (stream, inlet) in self.streams.iter_mut().enumerate() {
                if let Some(inlet) = inlet {
                    inlet.pass(stream, cycle, network);
                }
            }
            self.due = self.first_due();
        }
        // Queues may empty without a report.
        if self.compared != network.last_change || cycle.is_multiple_of(COMPARE) {
            self.compared = network.last_change;
            for (stream, inlet) in self.streams.iter_mut().enumerate() {
                if let Some(inlet) = inlet
                    && inlet.full
                    && inlet.backlog(stream, network) <= inlet.most / 2
                {
                    inlet.full = false;
                    (inlet.wake)();
                }
            }
        }
    }

    /// Segments and octets in the paths.
    pub fn waiting(&self) -> (u64, u64) {
        let waiting = self.streams.iter().flatten();
        waiting
            .map(|inlet| inlet.path.waiting())
            .fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1))
    }

    /// No path has anything.
    pub fn is_idle(&self) -> bool {
        self.due == u64::MAX
    }

    fn find(&mut self, token: Token) -> Option<&mut Inlet> {
        let inlet = self.streams.get_mut(usize::from(token.stream))?;
        inlet.as_mut().filter(|inlet| inlet.number == token.number)
    }

    fn first_due(&self) -> u64 {
        let inlets = self.streams.iter().flatten();
        let due = inlets.filter_map(|inlet| inlet.path.due());
        due.min().unwrap_or(u64::MAX)
    }
}
