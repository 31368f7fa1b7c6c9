//! A card that hosts can use, and when it is to end.

use std::time::Duration;

use signal_hook::iterator::Signals;
use warpline_sim::Service;
#[cfg(feature = "watch")]
use warpline_sim::{Card, Connections};

/// Time between two polls of signals and card.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// A card that hosts can use.
pub(super) struct Served<'s> {
    #[cfg(feature = "watch")]
    pub card: &'s Card,
    #[cfg(feature = "watch")]
    pub network: Option<&'s Connections>,
    pub service: &'s Service,
    pub signals: &'s mut Signals,
}

impl Served<'_> {
    /// The card has stopped, or a signal asks for its end.
    pub fn is_over(&mut self) -> bool {
        !self.service.is_running() || self.signals.pending().next().is_some()
    }
}
