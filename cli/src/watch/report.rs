//! What one interval has brought: figures of a snapshot, and rates between it and the one before.

use std::net::SocketAddr;

use serde::Serialize;
use warpline_driver::ErrorRecord;
use warpline_regmap::transmit::{TRANSMIT_ARMED, TRANSMIT_ENDED, TRANSMIT_IDLE, TRANSMIT_OPEN};
use warpline_sim::{ConnectionState, QueueFill, StreamObservation, StreamState};

use crate::numbers::grouped;
use crate::watch::snapshot::Snapshot;

/// What one interval has brought. Rates are `None` in the first one: there is nothing to compare with.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Seconds since the card was ready.
    pub seconds: f64,
    /// Whether a host is connected.
    pub host: bool,
    /// Cycles since the card was opened.
    pub cycles: u64,
    /// Cycles a second of this machine's time.
    pub cycles_per_second: Option<f64>,
    /// Resets of the device since the card was opened, the first one included.
    pub resets: u64,
    /// Stream octets that came in. The device counts them modulo 2^32, from its reset on.
    pub received: Flow,
    /// Stream octets that TCP has accepted, since the card was opened.
    pub sent: Flow,
    /// TCP segments, as the device counts them.
    pub segments: u32,
    /// Those of them of which octets were dropped.
    pub segments_dropped: u32,
    /// FPDUs.
    pub fpdus: u32,
    /// Those of frozen streams.
    pub fpdus_discarded: u32,
    /// Octets accepted for placement.
    pub payload_octets: u32,
    /// Streams frozen by an error.
    pub errors: u32,
    /// Accesses that host memory refused.
    pub bus_errors: u64,
    /// The completion queue.
    pub completions: Fill,
    /// All streams, by number.
    pub streams: Vec<Stream>,
    /// Where the control program listens.
    pub listeners: Vec<SocketAddr>,
    /// Its connections.
    pub connections: Vec<Connection>,
    /// The last error that was seen.
    pub last_error: Option<StreamError>,
}

/// Octets in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Flow {
    /// All of them.
    pub octets: u64,
    /// In the interval, by the card's time.
    pub octets_per_cycle: Option<f64>,
    /// In the interval, by this machine's time.
    pub octets_per_second: Option<f64>,
}

/// How full a queue is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fill {
    /// Entries in use.
    pub used: u32,
    /// All entries; 0: there is no queue.
    pub entries: u32,
}

impl From<QueueFill> for Fill {
    fn from(fill: QueueFill) -> Self {
        Self {
            used: fill.used,
            entries: fill.entries,
        }
    }
}

/// A stream.
#[derive(Clone, Debug, Serialize)]
pub struct Stream {
    /// Its number.
    pub stream: u8,
    /// `free`, `armed`, `open`, `ended`, `frozen` or `closing`.
    pub state: &'static str,
    /// Octets received in order since it was armed.
    pub received: u64,
    /// Of them, a second.
    pub received_per_second: Option<f64>,
    /// Octets that TCP has accepted since it was armed.
    pub sent: u64,
    /// Of them, a second.
    pub sent_per_second: Option<f64>,
    /// Octets that the peer may send.
    pub window: u32,
    /// Its assembly ring, in octets.
    pub ring: Fill,
    /// Receive buffers that are posted and not used up.
    pub buffers: u32,
    /// Its send ring, in slots.
    pub sends: Fill,
    /// `off`, `gate` (closed), `idle`, `busy` or `ended`.
    pub transmit: &'static str,
    /// What has frozen it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A connection of the control program.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Connection {
    /// The peer's address.
    pub peer: SocketAddr,
    /// The card's.
    pub card: SocketAddr,
    /// `connecting`, `start-up`, `attached`, `detached` or `lost`.
    pub state: &'static str,
    /// The stream that it is attached to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<u8>,
}

/// An error of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StreamError {
    /// The stream.
    pub stream: u8,
    /// The error in words.
    pub text: String,
}

/// Compares each snapshot with the one before.
#[derive(Debug, Default)]
pub struct Watcher {
    before: Option<Snapshot>,
    last_error: Option<StreamError>,
}

impl Watcher {
    /// What has happened up to `now`.
    pub fn see(&mut self, now: Snapshot) -> Report {
        for (number, stream) in (0..).zip(&now.card.streams) {
            let before = self.before.as_ref();
            let before = before.and_then(|before| before.card.streams.get(usize::from(number)));
            let known = |before: &StreamObservation| before.error == stream.error;
            if !before.is_some_and(known)
                && let Some(text) = error_of(number, stream)
            {
                self.last_error = Some(StreamError {
                    stream: number,
                    text,
                });
            }
        }
        let report = report(self.before.as_ref(), &now, self.last_error.clone());
        self.before = Some(now);
        report
    }
}

/// `amount` in `whole`, if there is a whole.
fn rate(amount: u64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| amount as f64 / whole)
}

fn report(before: Option<&Snapshot>, now: &Snapshot, last_error: Option<StreamError>) -> Report {
    let card = &now.card;
    let seconds = before.map_or(0.0, |before| now.at.saturating_sub(before.at).as_secs_f64());
    let cycles = before.map_or(0, |before| card.cycles.saturating_sub(before.card.cycles));
    // A counter of the device begins anew with a reset.
    let same = before.filter(|before| before.card.resets == card.resets);
    let received = card
        .octets
        .wrapping_sub(same.map_or(0, |before| before.card.octets));
    let sent = before.map_or(0, |before| card.sent.saturating_sub(before.card.sent));
    let flow = |octets, more| Flow {
        octets,
        octets_per_cycle: rate(more, cycles as f64),
        octets_per_second: rate(more, seconds),
    };
    let streams = (0..).zip(&card.streams).map(|(number, stream)| {
        let before = same.and_then(|before| before.card.streams.get(usize::from(number)));
        let before = before.filter(|before| before.arms == stream.arms);
        let received = before.map_or(0, |before| before.received);
        let sent = before.map_or(0, |before| before.sent);
        Stream {
            stream: number,
            state: state_name(stream.state),
            received: stream.received,
            received_per_second: rate(stream.received.saturating_sub(received), seconds),
            sent: stream.sent,
            sent_per_second: rate(stream.sent.saturating_sub(sent), seconds),
            window: stream.window,
            ring: Fill {
                used: stream.ring,
                entries: card.ring_octets,
            },
            buffers: stream.buffers,
            sends: stream.sends.into(),
            transmit: transmit_name(stream.transmit),
            error: error_of(number, stream),
        }
    });
    let connections = now.connections.iter().map(|connection| {
        let (state, stream) = match connection.state {
            ConnectionState::Connecting => ("connecting", None),
            ConnectionState::StartUp => ("start-up", None),
            ConnectionState::Attached { stream } => ("attached", Some(stream)),
            ConnectionState::Detached => ("detached", None),
            ConnectionState::Lost => ("lost", None),
        };
        Connection {
            peer: connection.peer,
            card: connection.card,
            state,
            stream,
        }
    });
    Report {
        seconds: now.at.as_secs_f64(),
        host: now.host,
        cycles: card.cycles,
        cycles_per_second: rate(cycles, seconds),
        resets: card.resets,
        received: flow(card.octets.into(), received.into()),
        sent: flow(card.sent, sent),
        segments: card.segments,
        segments_dropped: card.segments_dropped,
        fpdus: card.fpdus,
        fpdus_discarded: card.fpdus_discarded,
        payload_octets: card.payload_octets,
        errors: card.errors,
        bus_errors: card.bus_errors,
        completions: card.completions.into(),
        streams: streams.collect(),
        listeners: now.listeners.clone(),
        connections: connections.collect(),
        last_error,
    }
}

fn state_name(state: StreamState) -> &'static str {
    match state {
        StreamState::Free => "free",
        StreamState::Armed => "armed",
        StreamState::Open => "open",
        StreamState::Ended => "ended",
        StreamState::Frozen => "frozen",
        StreamState::Closing => "closing",
    }
}

fn transmit_name(state: u32) -> &'static str {
    let is = |field: warpline_regmap::Field| field.get(&[state]) == 1;
    match () {
        () if !is(TRANSMIT_ARMED) => "off",
        () if is(TRANSMIT_ENDED) => "ended",
        () if !is(TRANSMIT_OPEN) => "gate",
        () if is(TRANSMIT_IDLE) => "idle",
        () => "busy",
    }
}

/// What has frozen a stream, in words.
fn error_of(number: u8, stream: &StreamObservation) -> Option<String> {
    let words = stream.error?;
    let record = match ErrorRecord::parse(number, &words) {
        Ok(record) => record?,
        Err(reason) => return Some(format!("an error record that cannot be: {reason}")),
    };
    let (kind, code) = (record.number.error_type(), record.number.code());
    Some(format!(
        "at {}: {} (0x{kind:x}/0x{code:02x})",
        grouped(record.position),
        record.number.name(),
    ))
}
