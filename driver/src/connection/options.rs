//! What a program chooses for connections.

use std::time::Duration;

use warpline_regmap::mailbox::{Rtr, StreamOptions as CardOptions};

use crate::buffer::Buffer;
use crate::queue_pair::PairOptions;
use crate::stream::StreamOptions;

/// Untagged queues of RDMAP.
const QUEUES: u8 = 0b111;

/// The queue pair of a connection.
#[derive(Debug)]
pub struct QpOptions {
    /// Its sizes. With MPA revision 2 both ends settle IRD and ORD, and these are the offers; with revision 1 they hold as
    /// they are.
    pub sizes: PairOptions,
    /// Receive buffers that are posted before the peer may send.
    pub buffers: Vec<Buffer>,
    /// The peer may send ULPDUs that RFC 5044 does not allow: [`StreamOptions::long_ulpdus`].
    pub long_ulpdus: bool,
    /// Time for the card, and the peer, to complete start-up.
    pub timeout: Duration,
}

impl Default for QpOptions {
    /// [`PairOptions::default`], no buffers, ULPDUs up to 64768 octets, 10 seconds.
    fn default() -> Self {
        Self {
            sizes: PairOptions::default(),
            buffers: Vec::new(),
            long_ulpdus: false,
            timeout: Duration::from_secs(10),
        }
    }
}

impl QpOptions {
    pub(super) fn card(&self, domain: u16) -> CardOptions {
        CardOptions {
            protection_domain: domain,
            queues: QUEUES,
            tagged_completions: true,
            strict_mo: true,
            long_ulpdus: self.long_ulpdus,
            ..CardOptions::default()
        }
    }

    pub(super) fn stream(&self) -> StreamOptions {
        StreamOptions {
            tagged_completions: true,
            strict_mo: true,
            long_ulpdus: self.long_ulpdus,
            queues: QUEUES,
            receive_entries: self.sizes.receive_entries(),
            ..StreamOptions::default()
        }
    }
}

/// RTR indications that the driver sends and recognises. Not the Send, which would take a buffer of the program.
pub(super) const RTR: Rtr = Rtr {
    send: false,
    write: true,
    read: true,
};

/// MPA start-up revision of an Initiator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Revision {
    /// RFC 5044: no IRD and ORD in the start frames, and the Initiator sends first.
    One,
    /// RFC 6581.
    #[default]
    Two,
    /// RFC 6581 with the peer-to-peer model: the driver's first message lets the Responder send first.
    PeerToPeer,
}

/// Options of [`connect`](crate::connect).
#[derive(Debug, Default)]
pub struct ConnectOptions {
    /// Private data for the peer: 0 to 512 octets, with revision 2 up to 508.
    pub private_data: Vec<u8>,
    /// Revision of the Request.
    pub revision: Revision,
    /// The queue pair.
    pub pair: QpOptions,
}
