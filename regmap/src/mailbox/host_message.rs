//! Messages of the host to the card's control program.

use super::codes::{HostKind, Transport};
use super::error::MessageError;
use super::parts::{
    ADDRESS, Offer, PrivateData, Rtr, StreamOptions, Words, flag, get, get_transport, half,
    put_depths, put_transport,
};
use super::records::{message, message_address, message_depths, message_settings};
use core::net::SocketAddr;

/// `LISTEN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listen {
    /// Number that the host gives the listener.
    pub listener: u16,
    /// What carries DDP.
    pub transport: Transport,
    /// Own address; port 0 is any port.
    pub address: SocketAddr,
    /// Connections that may be in start-up; at least 1 is taken.
    pub backlog: u16,
}

/// `CONNECT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connect {
    /// Number that the host gives the connection.
    pub connection: u16,
    /// What carries DDP.
    pub transport: Transport,
    /// The peer.
    pub address: SocketAddr,
    /// Revision 2, and what is asked for by it; `None`: revision 1. SCTP has no part in it.
    pub offer: Option<Offer>,
    /// The stream.
    pub stream: StreamOptions,
    /// Private data of the Request.
    pub private_data: PrivateData,
}

/// `ACCEPT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accept {
    /// The connection.
    pub connection: u16,
    /// Inbound RDMA Reads; counts with revision 2, as do the next two.
    pub ird: u16,
    /// Outbound RDMA Reads.
    pub ord: u16,
    /// RTR indications that the host recognises.
    pub rtr: Rtr,
    /// The stream.
    pub stream: StreamOptions,
    /// Private data of the Reply.
    pub private_data: PrivateData,
}

/// `REJECT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reject {
    /// The connection.
    pub connection: u16,
    /// Inbound RDMA Reads that would do; counts with revision 2, as do the next two.
    pub ird: u16,
    /// Outbound RDMA Reads that are needed.
    pub ord: u16,
    /// RTR indications that the host recognises.
    pub rtr: Rtr,
    /// Private data of the Reply.
    pub private_data: PrivateData,
}

/// `CONFIGURE`: settings of the machine's administrator. Times are in milliseconds, 0 is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// CRCs are not asked for (MPA-CRC-02).
    pub crc_off: bool,
    /// CRCs are used whatever `crc_off` says (MPA-CRC-04).
    pub force_crc: bool,
    /// The card asks for markers.
    pub markers: bool,
    /// Revision 2 is allowed.
    pub enhanced: bool,
    /// Largest IRD of a connection.
    pub max_ird: u16,
    /// For the peer's part of start-up (AMB-52).
    pub peer_time: u32,
    /// For the host's decision, and for its `PROCEED`.
    pub host_time: u32,
    /// From our FIN to the peer's, as long as nothing arrives.
    pub close_time: u32,
    /// Without progress while a received FPDU is incomplete (AMB-23).
    pub idle_time: u32,
    /// Connections of a protection domain; 0: no limit.
    pub domain_connections: u16,
    /// Connections of a listener in start-up; 0: no limit but its backlog.
    pub listener_connections: u16,
}

impl Settings {
    /// What holds until the first `CONFIGURE`: CRC, no markers, revisions 1 and 2, 32 inbound RDMA Reads, 10 seconds for each
    /// part of start-up, a minute for an idle FPDU and for the peer's FIN, no quotas.
    pub const DEFAULT: Self = Self {
        crc_off: false,
        force_crc: false,
        markers: false,
        enhanced: true,
        max_ird: 32,
        peer_time: 10_000,
        host_time: 10_000,
        close_time: 60_000,
        idle_time: 60_000,
        domain_connections: 0,
        listener_connections: 0,
    };
}

impl Default for Settings {
    /// [`Settings::DEFAULT`].
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A message of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "without allocation, and one message is under way"
)]
pub enum HostMessage {
    /// Listens at an address.
    Listen(Listen),
    /// Ends a listener.
    Unlisten {
        /// The listener.
        listener: u16,
    },
    /// Connects.
    Connect(Connect),
    /// Accepts a request.
    Accept(Accept),
    /// Rejects a request.
    Reject(Reject),
    /// The rings are attached.
    Proceed {
        /// The connection.
        connection: u16,
    },
    /// FIN behind all that is to be sent.
    Disconnect {
        /// The connection.
        connection: u16,
    },
    /// RST.
    Abort {
        /// The connection.
        connection: u16,
    },
    /// The host forgets the connection.
    Release {
        /// The connection.
        connection: u16,
    },
    /// New settings.
    Configure(Settings),
}

impl HostMessage {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> HostKind {
        match self {
            Self::Listen(_) => HostKind::Listen,
            Self::Unlisten { .. } => HostKind::Unlisten,
            Self::Connect(_) => HostKind::Connect,
            Self::Accept(_) => HostKind::Accept,
            Self::Reject(_) => HostKind::Reject,
            Self::Proceed { .. } => HostKind::Proceed,
            Self::Disconnect { .. } => HostKind::Disconnect,
            Self::Abort { .. } => HostKind::Abort,
            Self::Release { .. } => HostKind::Release,
            Self::Configure(_) => HostKind::Configure,
        }
    }

    /// Number of its connection or listener; 0 in `CONFIGURE`.
    #[must_use]
    pub const fn number(&self) -> u16 {
        match *self {
            Self::Listen(Listen { listener, .. }) | Self::Unlisten { listener } => listener,
            Self::Connect(Connect { connection, .. })
            | Self::Accept(Accept { connection, .. })
            | Self::Reject(Reject { connection, .. })
            | Self::Proceed { connection }
            | Self::Disconnect { connection }
            | Self::Abort { connection }
            | Self::Release { connection } => connection,
            Self::Configure(_) => 0,
        }
    }

    /// The words for `MAILBOX`.
    #[must_use]
    pub fn emit(&self) -> Words {
        let mut words = [0; message::WORDS];
        message::KIND.put(&mut words, self.kind() as u64);
        message::NUMBER.put(&mut words, self.number().into());
        match self {
            Self::Listen(listen) => {
                put_transport(listen.transport, &mut words);
                ADDRESS.put(&mut words, listen.address);
                message_address::BACKLOG.put(&mut words, listen.backlog.into());
            }
            Self::Connect(connect) => {
                put_transport(connect.transport, &mut words);
                ADDRESS.put(&mut words, connect.address);
                Offer::put(connect.offer, &mut words);
                connect.stream.put(&mut words);
                connect.private_data.put(&mut words);
            }
            Self::Accept(accept) => {
                put_depths(accept.ird, accept.ord, accept.rtr, &mut words);
                accept.stream.put(&mut words);
                accept.private_data.put(&mut words);
            }
            Self::Reject(reject) => {
                put_depths(reject.ird, reject.ord, reject.rtr, &mut words);
                reject.private_data.put(&mut words);
            }
            Self::Configure(settings) => put_settings(settings, &mut words),
            Self::Unlisten { .. }
            | Self::Proceed { .. }
            | Self::Disconnect { .. }
            | Self::Abort { .. }
            | Self::Release { .. } => {}
        }
        words
    }

    /// Reads words that any program may have written.
    ///
    /// # Errors
    /// [`MessageError::Kind`], [`MessageError::Transport`], [`MessageError::Private`].
    pub fn parse(words: &Words) -> Result<Self, MessageError> {
        let kind = get(words, message::KIND);
        let number = half(words, message::NUMBER);
        let kind = HostKind::parse(kind).ok_or(MessageError::Kind { kind: kind as u8 })?;
        let (ird, ord) = (
            half(words, message_depths::IRD),
            half(words, message_depths::ORD),
        );
        Ok(match kind {
            HostKind::Listen => Self::Listen(Listen {
                listener: number,
                transport: get_transport(words)?,
                address: ADDRESS.get(words),
                backlog: half(words, message_address::BACKLOG),
            }),
            HostKind::Unlisten => Self::Unlisten { listener: number },
            HostKind::Connect => Self::Connect(Connect {
                connection: number,
                transport: get_transport(words)?,
                address: ADDRESS.get(words),
                offer: Offer::get(words),
                stream: StreamOptions::get(words),
                private_data: PrivateData::get(words)?,
            }),
            HostKind::Accept => Self::Accept(Accept {
                connection: number,
                ird,
                ord,
                rtr: Rtr::get(words),
                stream: StreamOptions::get(words),
                private_data: PrivateData::get(words)?,
            }),
            HostKind::Reject => Self::Reject(Reject {
                connection: number,
                ird,
                ord,
                rtr: Rtr::get(words),
                private_data: PrivateData::get(words)?,
            }),
            HostKind::Proceed => Self::Proceed { connection: number },
            HostKind::Disconnect => Self::Disconnect { connection: number },
            HostKind::Abort => Self::Abort { connection: number },
            HostKind::Release => Self::Release { connection: number },
            HostKind::Configure => Self::Configure(get_settings(words)),
        })
    }
}

fn put_settings(settings: &Settings, words: &mut Words) {
    message_settings::CRC_OFF.put(words, settings.crc_off.into());
    message_settings::FORCE_CRC.put(words, settings.force_crc.into());
    message_settings::MARKERS.put(words, settings.markers.into());
    message_settings::ENHANCED.put(words, settings.enhanced.into());
    message_settings::MAX_IRD.put(words, settings.max_ird.into());
    message_settings::PEER_TIME.put(words, settings.peer_time.into());
    message_settings::HOST_TIME.put(words, settings.host_time.into());
    message_settings::CLOSE_TIME.put(words, settings.close_time.into());
    message_settings::IDLE_TIME.put(words, settings.idle_time.into());
    message_settings::DOMAIN_CONNECTIONS.put(words, settings.domain_connections.into());
    message_settings::LISTENER_CONNECTIONS.put(words, settings.listener_connections.into());
}

fn get_settings(words: &Words) -> Settings {
    Settings {
        crc_off: flag(words, message_settings::CRC_OFF),
        force_crc: flag(words, message_settings::FORCE_CRC),
        markers: flag(words, message_settings::MARKERS),
        enhanced: flag(words, message_settings::ENHANCED),
        max_ird: half(words, message_settings::MAX_IRD),
        peer_time: get(words, message_settings::PEER_TIME) as u32,
        host_time: get(words, message_settings::HOST_TIME) as u32,
        close_time: get(words, message_settings::CLOSE_TIME) as u32,
        idle_time: get(words, message_settings::IDLE_TIME) as u32,
        domain_connections: half(words, message_settings::DOMAIN_CONNECTIONS),
        listener_connections: half(words, message_settings::LISTENER_CONNECTIONS),
    }
}
