//! A machine with a simulated card that listens and connects.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use warpline_driver::{Context, Options, ProtectionDomain, Settings, VfioUser};
use warpline_hdl::{Config, Sctp};
use warpline_sim::{
    Card, CardOptions, Clock, Connections, ControlOptions, ControlProgram, NetworkOptions,
    PathOptions,
};

use crate::Error;

/// Longest wait for the card.
const PATIENCE: Duration = Duration::from_secs(30);

/// How the card works.
#[derive(Clone, Debug)]
pub struct MachineOptions {
    /// Bits of the data path.
    pub width: usize,
    /// The card asks its peers for markers.
    pub markers: bool,
    /// The card has sessions of SCTP, too.
    pub sctp: bool,
    /// What happens between socket and card, over TCP.
    pub path: PathOptions,
    /// Where to record what passes, as pcapng.
    pub record: Option<PathBuf>,
}

/// A simulated card with its control program and network, and the driver's handles of it. Fields are dropped in this order.
pub struct Machine {
    /// The protection domain of all connections.
    pub domain: ProtectionDomain,
    /// The driver's handle.
    pub context: Context,
    program: ControlProgram,
    network: Arc<Connections>,
    _clock: Clock,
}

impl Machine {
    /// Opens a card. The first time it builds the model, which may take minutes.
    ///
    /// # Errors
    /// Those of the card and the driver.
    pub fn open(options: &MachineOptions) -> Result<Self, Error> {
        let config = Config {
            transmit: true,
            sctp: options.sctp.then(Sctp::default),
            ..Config::simulated(options.width)
        };
        let card = CardOptions {
            transmit: true,
            ..CardOptions::default()
        };
        Self::over(&Card::open(&config, card)?, options)
    }

    /// Makes `card`, which was opened with `transmit`, listen and connect.
    ///
    /// # Errors
    /// Those of the card and the driver.
    pub fn over(card: &Card, options: &MachineOptions) -> Result<Self, Error> {
        let clock = card.run_freely()?;
        let network = NetworkOptions {
            path: options.path.clone(),
            record: options.record.clone(),
            ..NetworkOptions::default()
        };
        let network = Arc::new(Connections::open(card, network).map_err(Error::Network)?);
        let program = ControlProgram::start(card, Arc::clone(&network), ControlOptions::default())?;
        let device =
            VfioUser::over(card.connect()?, PATIENCE).map_err(warpline_driver::Error::Open)?;
        let context = Context::open(Box::new(device), Options::default())?;
        context.configure(Settings {
            markers: options.markers,
            ..Settings::default()
        })?;
        Ok(Self {
            domain: context.protection_domain()?,
            context,
            program,
            network,
            _clock: clock,
        })
    }

    /// Ends the card, its connections first.
    ///
    /// # Errors
    /// Those of the record, if what has passed is not all in it.
    pub fn close(self) -> Result<(), Error> {
        let Self {
            domain,
            context,
            program,
            network,
            _clock,
        } = self;
        drop((domain, context, program));
        network.flush_record().map_err(Error::Network)
    }
}
