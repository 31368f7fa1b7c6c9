//! A peer that sends arbitrary messages.

use std::io::{ErrorKind, IoSlice, PipeReader, PipeWriter, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use warpline_vfio_user::protocol::{Command, HEADER_LENGTH, Header, Version, flags};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Longer than any answer takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A message with a header that fits its payload.
pub fn message(id: u16, command: Command, kind: u32, payload: &[u8]) -> Vec<u8> {
    let header = Header {
        id,
        command: command.0,
        size: (HEADER_LENGTH + payload.len()) as u32,
        flags: kind,
        errno: 0,
    };
    [header.as_bytes(), payload].concat()
}

pub fn command(
    id: u16,
    command: Command,
    payload: &(impl IntoBytes + Immutable + ?Sized),
) -> Vec<u8> {
    message(id, command, flags::COMMAND, payload.as_bytes())
}

/// A version message without capabilities.
pub fn hello() -> Vec<u8> {
    command(0, Command::VERSION, &Version::default())
}

/// Sends octets, descriptors with the first, to a peer that reads them.
pub fn send(stream: &UnixStream, octets: &[u8], fds: &[BorrowedFd<'_>]) {
    assert!(try_send(stream, octets, fds), "the peer has closed");
}

/// As above; `false`: the peer has closed.
pub fn try_send(stream: &UnixStream, octets: &[u8], fds: &[BorrowedFd<'_>]) -> bool {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        assert!(control.push(SendAncillaryMessage::ScmRights(fds)));
    }
    let octets_at_once = [IoSlice::new(octets)];
    match sendmsg(stream, &octets_at_once, &mut control, SendFlags::NOSIGNAL) {
        Ok(sent) => (&mut &*stream).write_all(&octets[sent..]).is_ok(),
        Err(_) => false,
    }
}

/// The next message; `None` at the end of the stream.
pub fn receive(mut stream: &UnixStream) -> Option<(Header, Vec<u8>)> {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut octets = [0; HEADER_LENGTH];
    match stream.read(&mut octets[..1]) {
        Ok(0) => return None,
        // The peer has closed without reading everything.
        Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
        other => other.unwrap(),
    };
    stream.read_exact(&mut octets[1..]).unwrap();
    let header = Header::read_from_bytes(&octets).unwrap();
    let mut payload = vec![0; header.size as usize - HEADER_LENGTH];
    stream.read_exact(&mut payload).unwrap();
    Some((header, payload))
}

/// A descriptor to send, and a way to see whether all copies of it are closed.
pub struct Tracer {
    given: Option<PipeWriter>,
    kept: PipeReader,
}

impl Default for Tracer {
    fn default() -> Tracer {
        let (kept, given) = std::io::pipe().unwrap();
        Tracer {
            given: Some(given),
            kept,
        }
    }
}

impl Tracer {
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.given.as_ref().unwrap().as_fd()
    }

    /// Whether a copy is still open.
    pub fn open(&mut self) -> bool {
        !self.ends(Duration::ZERO)
    }

    /// Whether all copies get closed. Not always at once: while another test starts a process, that process briefly has
    /// copies too.
    pub fn closes(&mut self) -> bool {
        self.ends(PATIENCE)
    }

    fn ends(&mut self, timeout: Duration) -> bool {
        self.given = None;
        let mut fds = [PollFd::new(&self.kept, PollFlags::IN)];
        let timeout = Timespec::try_from(timeout).unwrap();
        poll(&mut fds, Some(&timeout)).unwrap() > 0 && matches!(self.kept.read(&mut [0]), Ok(0))
    }
}
