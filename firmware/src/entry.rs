//! One connection: what is known of it, and the state that it is in.
//!
//! ```text
//!  Connecting ─► Starting ─► Arming ─► Ready ─► Answering ─► Open ─────────► Over ─► free
//!   (start_up)   │  │ │    (arming)    (operation: PROCEED)   │ FINs, RST     ▲ messages read,
//!                │  │ └ rejected, error with a last frame ─► Draining ────────┤ stream closed
//!                │  └ error ───────────────────────────────(closing)──────────┤ and released
//!                └ evicted, released ─────────────────────────────────────────┘
//! ```

use crate::machine::Machine;
use crate::network::Network;
use crate::registers::Progress;
use crate::settled::Settled;
use bitflags::bitflags;
use core::net::SocketAddr;
use warpline_regmap::mailbox::{CloseReason, FailureCause, StreamOptions, Transport};
use warpline_wire::error_number::ErrorNumber;
use warpline_wire::start::Terminate;

bitflags! {
    /// Messages that the host has not been sent. They are made when they are sent, from the entry itself, the lowest first: a
    /// slow host costs no memory.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Notes: u8 {
        const REQUESTED = 1;
        const ARMED = 2;
        const ESTABLISHED = 4;
        const HALF_CLOSED = 8;
        const CLOSED = 16;
        const REJECTED = 32;
        const FAILED = 64;
    }
}

impl Notes {
    /// The one to send next.
    pub fn first(self) -> Option<Self> {
        self.iter().next()
    }
}

/// How far the stream of a connection is armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// `ARM_STREAM` for this stream, or the next one that is free.
    Stream(u8),
    /// `ARM_TRANSMIT` for this stream.
    Transmit(u8),
    /// Refused: `CLOSE_STREAM`, then failure.
    Undo(u8),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// TCP connects.
    Connecting,
    /// Start frames are exchanged, or the host decides.
    Starting,
    /// The stream is being armed.
    Arming(Step),
    /// The host attaches its rings.
    Ready,
    /// The Reply is being sent.
    Answering,
    /// Octets flow between TCP and the stream.
    Open,
    /// Start-up is over without a stream: the machine's output or a Terminate is sent, then a FIN, and the peer's is waited for.
    Draining,
    /// There is no TCP connection.
    Over,
}

/// A connection.
pub(crate) struct Entry<N: Network> {
    pub number: u16,
    /// None in `Over`, or when it is lost in `Arming`.
    pub handle: Option<N::Connection>,
    pub peer: SocketAddr,
    /// The listener, until the host has answered.
    pub listener: Option<u16>,
    pub machine: Machine,
    pub state: State,
    pub notes: Notes,
    /// The host has heard of it, or has made it.
    pub known: bool,
    /// The host wants to hear no more of it: its number means nothing.
    pub forgotten: bool,
    /// It counts for its protection domain.
    pub counted: bool,
    pub options: StreamOptions,
    pub settled: Option<Settled>,
    /// The stream that it has armed, until that is closed.
    pub stream: Option<u8>,
    /// EMSS that the device has been given last, once the stream's transmit side is being armed.
    pub emss: u16,
    pub failure: Option<(FailureCause, ErrorNumber)>,
    pub closed: Option<CloseReason>,
    /// What `Draining` sends after the machine's output, and the octets sent of it.
    pub terminate: Option<Terminate>,
    pub sent: usize,
    /// The host has asked for our FIN.
    pub disconnects: bool,
    pub fin_sent: bool,
    pub fin_received: bool,
    /// When it began.
    pub since: u64,
    /// When `tick` has something to do.
    pub deadline: Option<u64>,
    /// What the receiver had done when that was looked at last, and since when.
    pub progress: Progress,
    pub still_since: u64,
    /// When the incomplete FPDU that it has was first seen as it is.
    pub incomplete_since: Option<u64>,
}

impl<N: Network> Entry<N> {
    pub fn new(
        number: u16,
        handle: N::Connection,
        peer: SocketAddr,
        machine: Machine,
        now: u64,
    ) -> Self {
        let initiator = machine.is_initiator();
        Self {
            number,
            handle: Some(handle),
            peer,
            listener: None,
            machine,
            state: if initiator {
                State::Connecting
            } else {
                State::Starting
            },
            notes: Notes::empty(),
            known: initiator,
            forgotten: false,
            counted: false,
            options: StreamOptions::default(),
            settled: None,
            stream: None,
            emss: 0,
            failure: None,
            closed: None,
            terminate: None,
            sent: 0,
            disconnects: false,
            fin_sent: false,
            fin_received: false,
            since: now,
            deadline: None,
            progress: Progress::default(),
            still_since: now,
            incomplete_since: None,
        }
    }

    /// What carries it.
    pub const fn transport(&self) -> Transport {
        match self.machine.session() {
            Some(_) => Transport::Sctp,
            None => Transport::Tcp,
        }
    }

    /// Time at which it has something to do even if nothing happens.
    pub fn next_deadline(&self) -> Option<u64> {
        match self.state {
            State::Connecting | State::Starting => self.machine.deadline(),
            _ => self.deadline,
        }
    }

    /// Whether the host may name it.
    pub const fn is_named(&self, number: u16) -> bool {
        self.number == number && !self.forgotten
    }

    /// The EMSS that its stream is to have, if that is another one than it has.
    pub fn new_emss(&self) -> Option<u16> {
        let settled = self.settled.as_ref().filter(|_| self.stream.is_some())?;
        (settled.segment != self.emss).then_some(settled.segment)
    }

    /// Whether it is in the way of nobody: no TCP connection, no stream, nothing to report.
    pub fn is_free(&self) -> bool {
        self.state == State::Over && self.stream.is_none() && self.notes.is_empty()
    }

    /// Whether a stranger's connection may take its place: the host neither knows it nor waits for it.
    pub fn is_evictable(&self) -> bool {
        let unknown = !self.known || self.forgotten;
        let half_open = self.state == State::Starting && self.machine.is_half_open();
        let ended = matches!(self.state, State::Draining | State::Over);
        unknown && self.stream.is_none() && (half_open || ended)
    }
}
