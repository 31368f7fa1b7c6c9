//! The Responder: listeners and connection requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use warpline_regmap::mailbox::{
    Accept, CardMessage, HostMessage, Listen, PrivateData, Reject, Requested,
};

use super::endpoint::Endpoint;
use super::establish::Pending;
use super::options::{QpOptions, settle_rtr};
use crate::context::Context;
use crate::error::Error;
use crate::mailbox;
use crate::mailbox_state::MailboxState;
use crate::protection_domain::ProtectionDomain;
use crate::queue_pair::{QueuePair, WorkQueue};
use crate::route::Signal;
use crate::shared::Shared;

/// Options of [`Listener::bind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenOptions {
    /// Connections that may be in start-up at once.
    pub backlog: u16,
    /// Time for the card to open it.
    pub timeout: Duration,
}

impl Default for ListenOptions {
    /// 16 connections, 10 seconds.
    fn default() -> Self {
        Self {
            backlog: 16,
            timeout: Duration::from_secs(10),
        }
    }
}

/// An address at which the card listens. Dropping it ends that, and resets connections that are not accepted.
pub struct Listener {
    shared: Arc<Shared>,
    signal: Arc<Signal>,
    number: u16,
    endpoint: Endpoint,
}

impl Listener {
    /// Listens at `endpoint`, a [`SocketAddr`] of TCP or an [`Endpoint`], one of the card's; port 0 takes any port.
    ///
    /// # Errors
    /// [`Error::NoMailbox`], [`Error::Listen`], [`Error::MessageRefused`], [`Error::ListenTimeout`], those of the mailbox.
    pub fn bind(
        context: &Context,
        endpoint: impl Into<Endpoint>,
        options: ListenOptions,
    ) -> Result<Self, Error> {
        let endpoint = endpoint.into();
        let Endpoint { transport, address } = endpoint;
        let shared = Arc::clone(&context.shared);
        mailbox::check(&shared)?;
        let signal = Signal::new().map(Arc::new);
        let signal = signal.map_err(|error| Error::device("making an eventfd")(error.into()))?;
        let deadline = Instant::now() + options.timeout;
        let number = mailbox::lock(&shared).listener(&signal)?;
        let mut listener = Self {
            shared,
            signal,
            number,
            endpoint,
        };
        let listen = Listen {
            listener: number,
            transport,
            address,
            backlog: options.backlog.max(1),
        };
        mailbox::lock(&listener.shared).send(&HostMessage::Listen(listen));
        match listener.next(deadline)? {
            Some(CardMessage::Listening { port, .. }) => {
                listener.endpoint.address.set_port(port);
                Ok(listener)
            }
            Some(CardMessage::ListenFailed { reason, .. }) => {
                Err(Error::Listen { address, reason })
            }
            Some(CardMessage::Refused { kind, reason, .. }) => {
                Err(Error::MessageRefused { kind, reason })
            }
            _ => Err(Error::ListenTimeout { address }),
        }
    }

    /// Its address, with the port that the card has taken.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.endpoint.address
    }

    /// The same with its transport: what a peer connects to.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    /// The next request of a peer; `None` after `timeout`.
    ///
    /// # Errors
    /// Those of the mailbox.
    pub fn accept(&self, timeout: Duration) -> Result<Option<ConnectRequest>, Error> {
        let deadline = Instant::now() + timeout;
        loop {
            match self.next(deadline)? {
                None => return Ok(None),
                Some(CardMessage::Requested(request)) => {
                    return ConnectRequest::new(&self.shared, request).map(Some);
                }
                Some(_) => {}
            }
        }
    }

    fn next(&self, deadline: Instant) -> Result<Option<CardMessage>, Error> {
        let number = self.number;
        let mut find = |state: &mut MailboxState| state.of_listener(number);
        mailbox::wait(&self.shared, &self.signal, deadline, &mut find)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let listener = self.number;
        let mut state = mailbox::lock(&self.shared);
        state.forget_listener(listener);
        state.send(&HostMessage::Unlisten { listener });
        drop(state);
        if let Err(error) = mailbox::pump(&self.shared) {
            tracing::warn!(listener, %error, "listener not ended");
        }
    }
}

/// A peer that asks for a connection. Dropping it rejects.
pub struct ConnectRequest {
    pending: Pending,
    request: Requested,
}

impl ConnectRequest {
    fn new(shared: &Arc<Shared>, request: Requested) -> Result<Self, Error> {
        let signal = Signal::new().map(Arc::new);
        let signal = signal.map_err(|error| Error::device("making an eventfd")(error.into()))?;
        let connection = request.connection;
        mailbox::lock(shared).tell(connection, &signal);
        let pending = Pending {
            shared: Arc::clone(shared),
            connection,
            signal,
            end: Some(HostMessage::Reject(Reject {
                connection,
                ird: 0,
                ord: 0,
                rtr: QpOptions::default().rtr,
                private_data: PrivateData::EMPTY,
            })),
        };
        Ok(Self { pending, request })
    }

    /// The peer's private data, 0 to 512 octets.
    #[must_use]
    pub fn private_data(&self) -> &[u8] {
        self.request.private_data.as_slice()
    }

    /// The peer's address.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.request.address
    }

    /// MPA revision of the peer's Request; 0 over SCTP.
    #[must_use]
    pub fn revision(&self) -> u8 {
        self.request.revision
    }

    /// Reads that the peer can take in; `None` with revision 1, over SCTP, or if the programs settle it.
    #[must_use]
    pub fn ird(&self) -> Option<u16> {
        let depth = self.request.block.map(|block| block.ird);
        depth.filter(|depth| *depth != ULP_SETTLES)
    }

    /// Reads that the peer wants to have outstanding; `None` as above.
    #[must_use]
    pub fn ord(&self) -> Option<u16> {
        let depth = self.request.block.map(|block| block.ord);
        depth.filter(|depth| *depth != ULP_SETTLES)
    }

    /// Accepts it: `private_data` goes to the peer. The queue pair is in `domain` and reports to `queue`.
    ///
    /// # Errors
    /// [`Error::PrivateData`], [`Error::MessageRefused`], [`Error::StartUp`], [`Error::ConnectionClosed`],
    /// [`Error::ConnectionTimeout`], those of [`QueuePair::over`]: the connection has ended.
    pub fn accept(
        mut self,
        domain: &ProtectionDomain,
        queue: &WorkQueue,
        options: QpOptions,
        private_data: &[u8],
    ) -> Result<QueuePair, Error> {
        let deadline = Instant::now() + options.timeout;
        let offered = self.request.block.map(|block| block.rtr);
        let accept = Accept {
            connection: self.request.connection,
            ird: options.sizes.ird,
            ord: options.sizes.ord,
            rtr: settle_rtr(options.rtr, offered.unwrap_or_default()),
            stream: options.card(domain.id()),
            private_data: PrivateData::new(private_data)?,
        };
        self.pending.send(&HostMessage::Accept(accept))?;
        let connection = self.request.connection;
        self.pending.end = Some(HostMessage::Abort { connection });
        let armed = self.pending.armed(deadline)?;
        self.pending
            .establish(domain.inner(), queue, &armed, options, false, deadline)
    }

    /// Rejects it: `private_data` goes to the peer.
    ///
    /// # Errors
    /// [`Error::PrivateData`], those of the mailbox.
    pub fn reject(mut self, private_data: &[u8]) -> Result<(), Error> {
        let private_data = PrivateData::new(private_data)?;
        if let Some(HostMessage::Reject(reject)) = &mut self.pending.end {
            reject.private_data = private_data;
        }
        self.pending.finish()
    }
}

/// In a start frame: IRD or ORD is not settled by MPA (RFC 6581 §9.1).
const ULP_SETTLES: u16 = 0x3FFF;
