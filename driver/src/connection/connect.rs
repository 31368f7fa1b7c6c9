//! The Initiator.

use std::sync::Arc;
use std::time::{Duration, Instant};

use warpline_regmap::mailbox::{Connect, Depth, HostMessage, Offer, PrivateData, Settings};

use super::endpoint::Endpoint;
use super::establish::Pending;
use super::options::{ConnectOptions, Revision};
use crate::context::Context;
use crate::error::Error;
use crate::mailbox;
use crate::mailbox_state::MailboxState;
use crate::protection_domain::ProtectionDomain;
use crate::queue_pair::{QueuePair, WorkQueue};
use crate::route::Signal;

/// Connects to the peer at `endpoint`, a [`SocketAddr`](std::net::SocketAddr) of TCP or an [`Endpoint`]. Returns the queue pair, in `domain` and reporting to `queue`, and the private data of
/// the peer's Reply, or Accept.
///
/// Over SCTP the ends settle neither IRD and ORD nor an RTR indication: the sizes in the options hold, `revision` has no
/// meaning, and either end may send first.
///
/// # Errors
/// [`Error::Rejected`] with the peer's private data, [`Error::StartUp`], [`Error::ConnectionClosed`],
/// [`Error::ConnectionTimeout`], [`Error::NoMailbox`], [`Error::PrivateData`], [`Error::MessageRefused`], those of
/// [`QueuePair::over`].
pub fn connect(
    domain: &ProtectionDomain,
    queue: &WorkQueue,
    endpoint: impl Into<Endpoint>,
    options: ConnectOptions,
) -> Result<(QueuePair, Vec<u8>), Error> {
    let Endpoint { transport, address } = endpoint.into();
    let shared = &domain.inner().shared;
    mailbox::check(shared)?;
    let ConnectOptions {
        private_data,
        revision,
        pair,
    } = options;
    let deadline = Instant::now() + pair.timeout;
    let private_data = PrivateData::new(&private_data)?;
    let signal = Signal::new().map(Arc::new);
    let signal = signal.map_err(|error| Error::device("making an eventfd")(error.into()))?;
    let connection = mailbox::lock(shared).connection(&signal)?;
    let mut pending = Pending {
        shared: Arc::clone(shared),
        connection,
        signal,
        end: Some(HostMessage::Abort { connection }),
    };
    let offer = Offer {
        ird: Depth::Negotiated(pair.sizes.ird),
        ord: Depth::Negotiated(pair.sizes.ord),
        rtr: (revision == Revision::PeerToPeer).then_some(pair.rtr),
    };
    let connect = Connect {
        connection,
        transport,
        address,
        offer: (revision != Revision::One).then_some(offer),
        stream: pair.card(domain.id()),
        private_data,
    };
    pending.send(&HostMessage::Connect(connect))?;
    let armed = pending.armed(deadline)?;
    let reply = armed.private_data.as_slice().to_vec();
    let pair = pending.establish(domain.inner(), queue, &armed, pair, true, deadline)?;
    Ok((pair, reply))
}

impl Context {
    /// Changes the settings of the card's control program, which the machine's administrator chooses: they hold for all
    /// connections that begin later. CRC can be switched off here only (MPA-CRC-02).
    ///
    /// # Errors
    /// [`Error::NoMailbox`], [`Error::ConfigureTimeout`], those of the mailbox.
    pub fn configure(&self, settings: Settings) -> Result<(), Error> {
        const TIMEOUT: Duration = Duration::from_secs(10);
        let shared = &self.shared;
        mailbox::check(shared)?;
        let signal = Signal::new().map(Arc::new);
        let signal = signal.map_err(|error| Error::device("making an eventfd")(error.into()))?;
        let mut state = mailbox::lock(shared);
        let before = state.configured;
        state.send(&HostMessage::Configure(settings));
        drop(state);
        let mut find = |state: &mut MailboxState| {
            state.await_settings(&signal);
            (state.configured > before).then_some(())
        };
        let done = mailbox::wait(shared, &signal, Instant::now() + TIMEOUT, &mut find)?;
        done.ok_or(Error::ConfigureTimeout)
    }
}
