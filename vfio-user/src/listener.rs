//! The socket file.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::net::SocketAddrUnix;

use crate::error::ListenError;
use crate::socket::wait;

/// A socket file that clients connect to. Serve one client, then accept the next. Dropping the listener removes the file.
#[derive(Debug)]
pub struct Listener {
    socket: UnixListener,
    path: PathBuf,
    /// Device and inode of the file, so that it never removes another server's file.
    file: (u64, u64),
}

impl Listener {
    /// Listens at `path`. A socket file of a server that no longer runs is replaced. A running server's socket and a file
    /// of another kind are errors.
    ///
    /// The file comes to `path` when the socket listens: from then on clients connect. It is made in the same folder, under
    /// a name of four octets, and that path, too, must fit into a socket address (107 octets).
    ///
    /// Two servers that start at the same time at the same stale file are not detected.
    pub fn bind(path: impl AsRef<Path>) -> Result<Listener, ListenError> {
        let path = path.as_ref().to_owned();
        let failed = |source| ListenError::Io {
            path: path.clone(),
            source,
        };
        fits(&path).map_err(failed)?;
        match std::fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
            Ok(file) if !file.file_type().is_socket() => {
                return Err(ListenError::NotASocket { path });
            }
            Ok(_) => match probe(&path) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    std::fs::remove_file(&path).map_err(failed)?;
                }
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                    return Err(failed(error));
                }
                _ => return Err(ListenError::InUse { path }),
            },
        }
        let socket = listen(&path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => ListenError::InUse { path: path.clone() },
            _ => failed(error),
        })?;
        socket.set_nonblocking(true).map_err(failed)?;
        let file = identity(&path).map_err(failed)?;
        Ok(Listener { socket, path, file })
    }

    /// The socket file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for a client, at most `timeout` if there is one. `None`: no client came in time.
    pub fn accept(&self, timeout: Option<Duration>) -> io::Result<Option<UnixStream>> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            match self.socket.accept() {
                Ok((stream, _)) => return Ok(Some(stream)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    match wait(&self.socket, PollFlags::IN, deadline) {
                        Err(error) if error.kind() == io::ErrorKind::TimedOut => return Ok(None),
                        other => other?,
                    }
                }
                // The client has already disconnected.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// A socket that listens, and then has its file at `path`. Binding makes a file at which nobody listens yet: a client that
/// connects in that moment is refused, and a second server takes the file for a dead server's.
fn listen(path: &Path) -> io::Result<UnixListener> {
    let folder = path.parent().unwrap_or(path);
    const OTHER_NAME: &str = ".abc";
    fits(&folder.join(OTHER_NAME))?;
    let socket = tempfile::Builder::new()
        .prefix(".")
        .rand_bytes(OTHER_NAME.len() - 1)
        // `made` is absolute: a short path from a deep folder would no longer fit
        .make_in(folder, |made| {
            let name = made.file_name().unwrap_or_default();
            UnixListener::bind(folder.join(name))
        })?;
    Ok(socket.persist_noclobber(path)?)
}

/// Whether `path`, with a zero behind it, fits into a socket address.
fn fits(path: &Path) -> io::Result<()> {
    match path.as_os_str().len() {
        ..=107 => Ok(()),
        _ => Err(rustix::io::Errno::NAMETOOLONG.into()),
    }
}

/// Connects without waiting: a full queue of clients also means a running server.
fn probe(path: &Path) -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    Ok(connect(&socket, &SocketAddrUnix::new(path)?)?)
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    std::fs::symlink_metadata(path).map(|file| (file.dev(), file.ino()))
}

impl AsFd for Listener {
    /// Becomes readable when a client waits.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|file| file == self.file) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
