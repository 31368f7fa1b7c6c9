//! `warpline card`: a simulated card at a socket, free-running, for hosts that come and go.

use std::sync::Arc;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use warpline_capture::Capture;
use warpline_capture::replay::Replay;
use warpline_sim::{
    Card, Connections, ControlOptions, ControlProgram, Listener, NetworkOptions, Service,
};

use super::exit_code::OK;
use super::output::{apart, writable};
use super::serving::{LOOK, Served, interruptible};
use super::terminal::open_card;
#[cfg(feature = "watch")]
use super::watch;
use crate::Error;
use crate::options::Card as Options;
use crate::play::Player;

pub(super) fn run(options: &Options) -> Result<u8, Error> {
    // Check the options before building the model, which may take minutes.
    #[cfg(feature = "watch")]
    watch::check(options)?;
    let replays = options.serve_traffic.iter();
    let replays = replays.map(|path| {
        let replay = Replay::new(&Capture::open(path)?);
        replay.map_err(|source| Error::CannotReplay {
            capture: path.clone(),
            source,
        })
    });
    let replays = replays.collect::<Result<Vec<_>, Error>>()?;
    for (path, replay) in options.serve_traffic.iter().zip(&replays) {
        let skipped = replay.skipped.iter().map(ToString::to_string);
        let of_traffic = replay
            .warnings
            .iter()
            .filter(|warning| !warning.is_of_plan());
        let left_out = of_traffic.map(ToString::to_string);
        for line in skipped.chain(left_out) {
            tracing::warn!(capture = %path.display(), "{line}");
        }
    }
    drop(Listener::bind(&options.socket)?); // check only: the socket must not exist before the card is ready
    if let Some(path) = &options.trace {
        let captures = options.serve_traffic.iter().flat_map(Capture::files);
        let socket = std::iter::once(options.socket.clone());
        apart(path, &captures.chain(socket).collect::<Vec<_>>())?;
        writable(path)?;
    }
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).map_err(Error::Signals)?;

    let Some(card) = open(options, &mut signals)? else {
        return Ok(OK);
    };
    if let Some(path) = &options.trace {
        card.trace_open(path)?;
    }
    let player = match replays.is_empty() {
        true => None,
        false => Some(Player::start(&card, replays)?),
    };
    let network = match options.network {
        true => Some(Arc::new(
            Connections::open(&card, NetworkOptions::default()).map_err(Error::Network)?,
        )),
        false => None,
    };
    let control = match &network {
        Some(network) => Some(control(&card, network, options.soft_processor)?),
        None => None,
    };
    let service = Service::start(&card, Listener::bind(&options.socket)?)?;
    tracing::info!(socket = %options.socket.display(), "{} ready", card.name());
    let served = Served {
        #[cfg(feature = "watch")]
        card: &card,
        #[cfg(feature = "watch")]
        network: network.as_deref(),
        service: &service,
        signals: &mut signals,
    };
    let shown = until_the_end(served, options);
    let ended = service.stop();
    drop(player);
    drop(control);
    if options.trace.is_some() {
        card.trace_close()?;
    }
    ended?;
    shown?;
    Ok(OK)
}

/// Returns when the card is to end; shows it until then, if that was asked for.
fn until_the_end(mut served: Served<'_>, options: &Options) -> Result<(), Error> {
    #[cfg(feature = "watch")]
    if options.watch {
        return watch::run(&mut served, options);
    }
    let _ = options;
    while !served.is_over() {
        thread::sleep(LOOK);
    }
    Ok(())
}

/// The card's control program, which hosts listen and connect by.
fn control(
    card: &Card,
    network: &Arc<Connections>,
    soft_processor: bool,
) -> Result<ControlProgram, Error> {
    let options = ControlOptions {
        soft_processor,
        ..ControlOptions::default()
    };
    Ok(ControlProgram::start(card, Arc::clone(network), options)?)
}

/// The card; `None` if a signal arrived while its model was built.
fn open(options: &Options, signals: &mut Signals) -> Result<Option<Card>, Error> {
    let (width, trace, network) = (options.width, options.trace.is_some(), options.network);
    interruptible(signals, move || open_card(width, trace, network))
}
