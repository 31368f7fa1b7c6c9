//! In place of sessions of SCTP where the crate is built without them: there are none.

use std::net::SocketAddr;
use std::sync::Arc;

use warpline_firmware::{ConnectionError, Event, OpenError};

use crate::card::Card;
use crate::network::frames::Frames;

/// None.
pub(super) struct Sessions;

impl Sessions {
    pub fn new(_: &Card, _: Option<Arc<Frames>>, _: Arc<dyn Fn() + Send + Sync>) -> Self {
        Self
    }

    pub fn listen(&mut self, _: SocketAddr) -> Result<(u64, u16), OpenError> {
        Err(OpenError::Transport)
    }

    pub fn unlisten(&mut self, _: u64) {}

    pub fn connect(&mut self, _: SocketAddr) -> Result<u64, OpenError> {
        Err(OpenError::Transport)
    }

    pub fn next_event(&mut self) -> Option<(u64, Event<u64>)> {
        None
    }

    pub fn peer(&mut self, _: u64) -> Result<SocketAddr, ConnectionError> {
        Err(ConnectionError::Failed)
    }

    pub fn initiate(&mut self, _: u64, _: &[u8]) -> Result<(), ConnectionError> {
        Err(ConnectionError::Failed)
    }

    pub fn answer(&mut self, _: u64, _: bool, _: &[u8]) -> Result<(), ConnectionError> {
        Err(ConnectionError::Failed)
    }

    pub fn private_data(&mut self, _: u64, _: &mut [u8]) -> Result<usize, ConnectionError> {
        Err(ConnectionError::Failed)
    }

    pub fn segment(&mut self, _: u64) -> Result<u16, ConnectionError> {
        Err(ConnectionError::Failed)
    }

    pub fn attach(&mut self, _: u64, _: u8) -> Result<(), ConnectionError> {
        Err(ConnectionError::Failed)
    }

    pub fn finish(&mut self, _: u64) -> Result<(), ConnectionError> {
        Err(ConnectionError::Failed)
    }

    pub fn close(&mut self, _: u64) {}

    pub fn abort(&mut self, _: u64) {}

    pub fn end_all(&mut self) {}
}
