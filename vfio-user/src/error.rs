//! Errors of both sides, with the offending value.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::protocol::{Command, HEADER_LENGTH, MAJOR, MAX_MESSAGE};
use crate::version::GREETING;

/// What a [`Client`](crate::Client) reports instead of a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No server answers at that path.
    #[error("{}: {source}{}", path.display(), remedy(source))]
    Connect {
        /// The socket file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The server refused the request. The connection stays open.
    #[error("the server refused {command}: {}", reason(*errno))]
    Refused {
        /// What was asked for.
        command: Command,
        /// The server's reason as an errno of Linux; 0 if it gave none.
        errno: u32,
    },
    /// No complete answer came in time. The connection is closed, because a late answer could be mistaken for another one.
    #[error("no complete reply to {command} within {timeout:?}: the connection is closed")]
    TimedOut {
        /// What was asked for.
        command: Command,
        /// How long the client waits.
        timeout: Duration,
    },
    /// The answer is malformed, or the server closed the connection. The connection is closed.
    #[error("{command} failed, {fault}: the connection is closed")]
    Broken {
        /// What was asked for.
        command: Command,
        /// What is wrong.
        fault: Fault,
    },
    /// An earlier call closed the connection.
    #[error("the connection is closed since an earlier call: {reason}")]
    Closed {
        /// The earlier error.
        reason: Arc<str>,
    },
    /// More octets in one access than the server accepts.
    #[error("an access of {length} octets: the server accepts {limit} at a time")]
    TooLong {
        /// Octets asked for.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// Interrupts are numbered with 32 bits.
    #[error("{count} interrupts from {start} on: numbers end at 2^32 - 1")]
    IrqRange {
        /// First interrupt.
        start: u32,
        /// Number of interrupts.
        count: usize,
    },
}

/// What to do about a socket file that cannot be used.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => ": start the device first",
        io::ErrorKind::ConnectionRefused => ": no server listens there, start the device first",
        io::ErrorKind::PermissionDenied => ": write permission to the socket file is needed",
        io::ErrorKind::InvalidFilename => ": the path of a socket has 107 octets at most",
        _ => "",
    }
}

fn reason(errno: u32) -> String {
    match i32::try_from(errno) {
        Ok(0) => "no reason given".into(),
        Ok(errno) => io::Error::from_raw_os_error(errno).to_string(),
        Err(_) => format!("error number {errno}"),
    }
}

/// Why a reply cannot be trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The socket failed.
    #[error("{0}")]
    Socket(#[from] io::Error),
    /// The server closed the connection.
    #[error("the server closed the connection after {received} octets of the reply")]
    Ended {
        /// Octets of the header or of the payload.
        received: usize,
    },
    /// The reply has another id.
    #[error("the reply has id {found:#06x} instead of {sent:#06x}")]
    Id {
        /// Id of the request.
        sent: u16,
        /// Id of the reply.
        found: u16,
    },
    /// The reply is to another command.
    #[error("the reply is to {found}")]
    Command {
        /// Command of the reply.
        found: Command,
    },
    /// The message is not a reply.
    #[error("the message has flags {flags:#x}: it is not a reply")]
    NotAReply {
        /// Flags of the message.
        flags: u32,
    },
    /// An error number without the error flag.
    #[error("the reply has error number {errno} without the error flag")]
    StrayErrno {
        /// The number.
        errno: u32,
    },
    /// The reply has an impossible length.
    #[error("the reply has {found} octets instead of {least} to {most}")]
    Size {
        /// Octets, from the header.
        found: u32,
        /// Least possible octets.
        least: usize,
        /// Most possible octets.
        most: usize,
    },
    /// A field of the reply contradicts the request.
    #[error("the reply has {field} {found:#x} instead of {sent:#x}")]
    Field {
        /// Which field.
        field: &'static str,
        /// Value in the request, or least possible value.
        sent: u64,
        /// Value in the reply.
        found: u64,
    },
    /// Versions are incompatible.
    #[error("the server speaks version {major}.{minor}")]
    Version {
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
    },
    /// The server's capabilities cannot be read.
    #[error("the server's capabilities cannot be read: {0}")]
    Capabilities(String),
}

/// Why [`serve`](crate::serve) ended a connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The socket failed.
    #[error("the socket failed: {0}")]
    Socket(#[from] io::Error),
    /// The client vanished in the middle of a message.
    #[error("the client vanished after {received} of {expected} octets")]
    Truncated {
        /// Octets of the header or payload received.
        received: usize,
        /// Octets expected.
        expected: usize,
    },
    /// The client sent no version in time.
    #[error("the client has sent no version within {GREETING:?}")]
    Silent,
    /// The length in a message's header is impossible, so the start of the next message is unknown.
    #[error(
        "{command} claims a length of {size} octets: messages have {HEADER_LENGTH} to {MAX_MESSAGE}"
    )]
    Size {
        /// Command, from the header.
        command: Command,
        /// Octets, from the header.
        size: u32,
    },
    /// The client sent a message that is not a command.
    #[error("a message has flags {flags:#x}: it is not a command")]
    NotACommand {
        /// Flags, from the header.
        flags: u32,
    },
    /// The first message is not the version.
    #[error("the first message is {command} instead of VERSION")]
    NoVersion {
        /// The command that came instead.
        command: Command,
    },
    /// Versions are incompatible.
    #[error("the client speaks version {major}.{minor}, this server {MAJOR}.x")]
    Version {
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
    },
    /// The version message cannot be read.
    #[error("the client's version message cannot be read: {reason}")]
    Capabilities {
        /// What is wrong.
        reason: String,
    },
}

fn too_long(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::InvalidFilename => remedy(error),
        _ => "",
    }
}

/// Why a [`Listener`](crate::Listener) cannot listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The path is a file that is not a socket. It is not touched.
    #[error("{} exists and is not a socket: choose another path", path.display())]
    NotASocket {
        /// The path.
        path: PathBuf,
    },
    /// Another server listens there.
    #[error("another server listens at {}: stop it or choose another path", path.display())]
    InUse {
        /// The path.
        path: PathBuf,
    },
    /// The system refuses.
    #[error("cannot listen at {}: {source}{}", path.display(), too_long(source))]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}
