//! `warpline card`: a simulated card at a socket, free-running, for hosts that come and go.

use std::fs::File;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use warpline_capture::Capture;
use warpline_capture::replay::Replay;
use warpline_sim::{Listener, Service};

use super::OK;
use super::terminal::open_card;
use crate::Error;
use crate::options::Card as Options;
use crate::play::Player;

/// Time between two looks at signals and at the card.
const LOOK: Duration = Duration::from_millis(50);

pub(super) fn run(options: &Options) -> Result<u8, Error> {
    // All that can be wrong with the options comes before the model is built, which may take minutes.
    let replays = options.serve_traffic.iter();
    let replays = replays.map(|path| Ok(Replay::new(&Capture::open(path)?)?));
    let replays = replays.collect::<Result<Vec<_>, Error>>()?;
    if let Some(path) = &options.trace {
        File::create(path).map_err(Error::write(path))?;
    }
    drop(Listener::bind(&options.socket)?); // whoever waits for the socket must not meet a card that is not ready
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Error::Signals)?;

    let card = open_card(options.width, options.trace.is_some())?;
    if let Some(path) = &options.trace {
        card.trace_open(path)?;
    }
    let player = match replays.is_empty() {
        true => None,
        false => Some(Player::start(&card, replays)?),
    };
    let service = Service::start(&card, Listener::bind(&options.socket)?)?;
    tracing::info!(socket = %options.socket.display(), "{} ready", card.name());
    while service.is_running() && signals.pending().next().is_none() {
        std::thread::sleep(LOOK);
    }
    let ended = service.stop();
    drop(player);
    if options.trace.is_some() {
        card.trace_close()?;
    }
    ended?;
    Ok(OK)
}
