//! What can go wrong with a connection.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::error::Error;

/// Errors of the network side.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The handle's connection or listener was closed.
    #[error("the connection or listener was closed: its handle is no longer valid")]
    Closed,
    /// The connection is not established: it connects, or was refused or lost.
    #[error("the connection is not established: wait for its event, or close it")]
    NotEstablished,
    /// The peer has reset the connection, or it timed out.
    #[error("the connection is lost ({0}): close it")]
    Lost(io::ErrorKind),
    /// The connection's octets belong to a stream.
    #[error(
        "the connection is attached to stream {stream}: only the device reads it, and `send` writes it"
    )]
    Attached {
        /// The stream.
        stream: u8,
    },
    /// The connection belongs to no stream.
    #[error("the connection is attached to no stream: use `write`, or attach it")]
    NotAttached,
    /// Its FIN was sent.
    #[error("octets behind the FIN: the connection was finished")]
    Finished,
    /// Another connection is attached to the stream.
    #[error("stream {stream} has a connection: close that first, or the stream")]
    Occupied {
        /// The stream.
        stream: u8,
    },
    /// More octets are passed on than a backlog has room for.
    #[error("{octets} octets that were read before: the backlog has room for {most}")]
    Early {
        /// Octets given.
        octets: usize,
        /// Most octets.
        most: usize,
    },
    /// The table is full.
    #[error("{most} {what} are open: close one, or allow more")]
    Full {
        /// Connections or listeners.
        what: &'static str,
        /// Most of them.
        most: usize,
    },
    /// The system refuses to listen or to connect.
    #[error("cannot {what} {address}: {source}")]
    Address {
        /// What was tried.
        what: &'static str,
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The record cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The system refuses a thread or a descriptor.
    #[error("the system refuses a thread or descriptor for the network side: {0}")]
    System(#[from] io::Error),
    /// The card refuses.
    #[error(transparent)]
    Card(#[from] Error),
}
