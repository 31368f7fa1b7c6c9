//! What a capture holds for an explanation: the start frames of one connection, and what one end sent in full operation.

use std::net::SocketAddr;

use warpline_wire::start::Kind as FrameKind;

use super::Settings;
use super::stream::Units;
use super::unit::Unit;
use crate::replay::{Choice, Chosen, ReplayError, Role, choose};
use crate::{Capture, Connection, Flow, Gap, Mpa, MpaError, Skipped, Traffic, TrafficError, mpa};

/// A capture has nothing to explain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConversationError {
    /// The file is no capture, or no connection in it begins MPA.
    #[error(transparent)]
    Traffic(#[from] TrafficError),
    /// There is no such connection.
    #[error(transparent)]
    Choice(#[from] ReplayError),
}

/// A start frame as captured.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Start {
    seq: u32,
    /// Its octets and what was captured behind it.
    octets: Vec<u8>,
}

/// One connection of a capture: its start frames, and the octets of one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// Number of the connection among those on which MPA start-up succeeded, from 1; none if it succeeded on none.
    pub number: Option<usize>,
    /// Address of the end that sent the Request frame, or that opened the connection.
    pub initiator: SocketAddr,
    /// Address of the other end.
    pub responder: SocketAddr,
    /// Whose octets follow the start frames.
    pub role: Role,
    /// They carry markers.
    pub markers: bool,
    /// They carry CRCs.
    pub crc: bool,
    /// Octets that are missing behind those that were captured in order.
    pub gap: Option<Gap>,
    /// Why no octets of full operation follow.
    pub problem: Option<MpaError>,
    /// Packets that could not be read, by reason.
    pub skipped: Vec<Skipped>,
    /// Why the file could not be read to its end.
    pub stopped: Option<TrafficError>,
    starts: Vec<Start>,
    seq_start: u32,
    octets: Vec<u8>,
}

impl Conversation {
    /// Chooses a connection and a direction, as [`Replay::of`](crate::replay::Replay::of) does. If MPA start-up succeeded on
    /// no connection, it is the first one on which an end sent a start frame.
    ///
    /// # Errors
    /// [`ConversationError`].
    pub fn read(file: &[u8], choice: Choice) -> Result<Self, ConversationError> {
        let capture = Capture::of(Traffic::read_any(file)?);
        let speaks = capture.mpa_connections().next().is_some();
        if !speaks && let Some(number) = choice.connection {
            let connections = 0;
            return Err(ReplayError::NoConnection {
                number,
                connections,
            }
            .into());
        }
        let (index, role, flow) = if speaks {
            chosen(&capture, choice)?
        } else {
            (0, choice.direction.unwrap_or(Role::Initiator), None)
        };
        let mut connections = capture.connections.iter();
        let connection = match speaks {
            true => capture.mpa_connections().nth(index).map(|(c, _)| c),
            false => connections.find(|c| c.has_start_key()),
        };
        let Some(connection) = connection else {
            return Err(TrafficError::NoTcp.into()); // read_any refuses such a capture
        };
        let mut new = Self::new(connection, role, flow);
        new.number = speaks.then_some(index + 1);
        new.skipped = capture.skipped.clone();
        new.stopped = capture.stopped.clone();
        Ok(new)
    }

    fn new(connection: &Connection, role: Role, flow: Option<Flow>) -> Self {
        let keys = [&connection.client, &connection.server].map(mpa::first_key);
        let server_asks = matches!(keys[1], Some((FrameKind::Request, ..)));
        let client_asks = matches!(keys[0], Some((FrameKind::Request, ..)));
        let (initiator, responder) = match server_asks && !client_asks {
            true => (&connection.server, &connection.client),
            false => (&connection.client, &connection.server),
        };
        let starts = [initiator, responder].map(|direction| {
            let (_, stream, at) = mpa::first_key(direction)?;
            Some(Start {
                seq: stream.seq.wrapping_add(at as u32),
                octets: stream.octets.get(at..)?.to_vec(),
            })
        });
        let stream = flow.as_ref().map(Flow::stream).unwrap_or_default();
        let settled: Option<&Mpa> = connection.mpa.as_ref().ok();
        Self {
            number: None,
            initiator: initiator.from,
            responder: responder.from,
            role,
            markers: settled.is_some_and(|mpa| mpa.markers(role.side(mpa))),
            crc: settled.is_none_or(Mpa::crc),
            gap: stream.gap,
            problem: connection.mpa.as_ref().err().cloned(),
            skipped: Vec::new(),
            stopped: None,
            starts: starts.into_iter().flatten().collect(),
            seq_start: flow.map_or(0, |flow| flow.seq_start),
            octets: stream.octets,
        }
    }

    /// Explains the start frames.
    pub fn start_frames(&self, payload: bool) -> impl Iterator<Item = Unit> {
        self.starts.iter().filter_map(move |start| {
            let settings = Settings {
                payload,
                ..Settings::default()
            };
            let units = Units::new(&start.octets, settings);
            units.with_sequence(start.seq).next()
        })
    }

    /// Explains the FPDUs.
    #[must_use]
    pub fn fpdus(&self, payload: bool) -> Units<'_> {
        let settings = Settings {
            markers: self.markers,
            crc: self.crc,
            position: 0,
            payload,
        };
        Units::of_full_operation(&self.octets, settings).with_sequence(self.seq_start)
    }

    /// Octets of full operation that were captured in order.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }
}

/// The connection by its index, the direction, and what was sent in it.
fn chosen(
    capture: &Capture,
    choice: Choice,
) -> Result<(usize, Role, Option<Flow>), ConversationError> {
    match choose(capture, choice) {
        Ok(Chosen {
            flow, candidates, ..
        }) => {
            let found = (0..)
                .zip(&candidates)
                .find_map(|(index, candidate)| candidate.replayed.map(|role| (index, role)));
            let (index, role) = found.unwrap_or((0, Role::Initiator));
            Ok((index, role, Some(flow)))
        }
        // Start frames, and nothing behind them.
        Err(ReplayError::NoFpdu) => {
            let index = choice.connection.map_or(0, |number| number - 1);
            Ok((index, choice.direction.unwrap_or(Role::Initiator), None))
        }
        Err(other) => Err(other.into()),
    }
}
