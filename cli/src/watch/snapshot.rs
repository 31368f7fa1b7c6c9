//! A card at one moment.

use std::net::SocketAddr;
use std::time::Duration;

use warpline_sim::{Observation, OpenConnection};

/// A card at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Time since the card was ready.
    pub at: Duration,
    /// Whether a host is connected.
    pub host: bool,
    /// The card.
    pub card: Observation,
    /// Connections of its control program, if it has one.
    pub connections: Vec<OpenConnection>,
    /// Addresses at which that listens.
    pub listeners: Vec<SocketAddr>,
}
