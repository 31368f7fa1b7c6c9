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
    /// RTR indications of the peer-to-peer model (RFC 6581 §9.2). An Initiator offers these, and sends the one that is settled; a
    /// Responder settles the first one of Write, Read and Send that is here and in the peer's offer. The program of neither end
    /// sees it, and a Send takes no buffer of the program.
    pub rtr: Rtr,
    /// The peer may send ULPDUs that RFC 5044 does not allow: [`StreamOptions::long_ulpdus`].
    pub long_ulpdus: bool,
    /// Time for the card, and the peer, to complete start-up.
    pub timeout: Duration,
}

impl Default for QpOptions {
    /// [`PairOptions::default`], no buffers, all RTR indications, ULPDUs up to 64768 octets, 10 seconds.
    fn default() -> Self {
        Self {
            sizes: PairOptions::default(),
            buffers: Vec::new(),
            rtr: Rtr {
                send: true,
                write: true,
                read: true,
            },
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

/// The RTR indication that a Responder which knows `own` settles with a peer that offers `peer`: one only, so that the driver
/// knows by which message it comes. All of its own if they have none in common: the peer then says so by a Terminate.
pub(super) const fn settle_rtr(own: Rtr, peer: Rtr) -> Rtr {
    let (write, read) = (own.write && peer.write, own.read && peer.read);
    let send = own.send && peer.send;
    let one = Rtr {
        write,
        read: read && !write,
        send: send && !read && !write,
    };
    if one.is_empty() { own } else { one }
}

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
