//! How a network side works, and its limits.

use std::path::PathBuf;
use std::time::Duration;

use crate::network::path::PathOptions;

/// How a network side works, and its limits: none of them grows by what a peer sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkOptions {
    /// Most connections at a time, from connecting or accepting to closing.
    pub connections: usize,
    /// Most listening sockets.
    pub listeners: usize,
    /// Most connections of a listener that it has accepted and that are not attached to a stream. Further ones wait in the
    /// kernel.
    pub pending: usize,
    /// Most connections that wait in the kernel for a listener.
    pub waiting: i32,
    /// Longest time for which a peer may accept nothing of what there is to send, because it acknowledges nothing or keeps its
    /// window at zero: then the connection is lost, as RFC 6429 allows. It would hold its stream for ever otherwise.
    pub send_timeout: Duration,
    /// Octets of a connection's receive buffer in the kernel, as for `SO_RCVBUF`.
    pub receive_buffer: usize,
    /// Octets of its send buffer, as for `SO_SNDBUF`.
    pub send_buffer: usize,
    /// Most octets of an attached connection that have been read and are not in order in the device. A larger backlog than the
    /// device's ring keeps the device supplied.
    pub backlog: usize,
    /// What happens between socket and card.
    pub path: PathOptions,
    /// Seed of the initial sequence numbers.
    pub seed: u64,
    /// Where to record what passes, as pcapng. Segments of TCP are made up for it; packets of SCTP, which the control program's associations
    /// exchange, are those that were sent, over IP instead of in UDP.
    pub record: Option<PathBuf>,
}

impl Default for NetworkOptions {
    /// 80 connections, all of which may be pending, 8 listeners, 16 connections that wait in the kernel, a minute without any
    /// acknowledgement, 128 KiB in each buffer and backlog, a smooth path, seed 1, no record.
    ///
    /// These are more connections than the control program has places for: it sees each one that comes, and lets it take the place
    /// of one whose peer is silent.
    fn default() -> Self {
        Self {
            connections: 80,
            listeners: 8,
            pending: 80,
            waiting: 16,
            send_timeout: Duration::from_secs(60),
            receive_buffer: 128 << 10,
            send_buffer: 128 << 10,
            backlog: 128 << 10,
            path: PathOptions::default(),
            seed: 1,
            record: None,
        }
    }
}
