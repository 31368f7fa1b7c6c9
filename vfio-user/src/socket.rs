//! Octets and descriptors through a Unix socket, with a deadline.
//!
//! No system call blocks but `poll`, which waits for the time that is left: a peer that sends single octets cannot extend
//! a deadline.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recv, recvmsg, sendmsg,
};

use crate::protocol::MAX_DESCRIPTORS;

/// When waiting ends; `None`: never.
pub(crate) type Deadline = Option<Instant>;

/// Descriptors that came with a message.
#[derive(Debug, Default)]
pub(crate) struct Descriptors {
    /// At most [`MAX_DESCRIPTORS`].
    pub fds: Vec<OwnedFd>,
    /// More came than fit; the rest is closed.
    pub lost: bool,
}

/// Waits until the socket is ready, or fails with [`io::ErrorKind::TimedOut`].
pub(crate) fn wait(socket: impl AsFd, events: PollFlags, deadline: Deadline) -> io::Result<()> {
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        // A wait too long for the system's type has no time-out.
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut [PollFd::new(&socket, events)], timeout.as_ref()) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Fills `data`. Returns the octets received, fewer only if the peer has closed. Descriptors that come with
/// them go to `descriptors`, or are closed if that is `None`.
pub(crate) fn receive(
    socket: impl AsFd,
    data: &mut [u8],
    mut descriptors: Option<&mut Descriptors>,
    deadline: Deadline,
) -> io::Result<usize> {
    let mut received = 0;
    while let Some(rest) = data.get_mut(received..).filter(|rest| !rest.is_empty()) {
        let result = match &mut descriptors {
            Some(descriptors) => receive_some(&socket, rest, descriptors),
            None => recv(&socket, rest, RecvFlags::DONTWAIT).map(|(octets, _)| octets),
        };
        match result {
            Ok(0) => break,
            Ok(octets) => received += octets,
            Err(Errno::AGAIN) => wait(&socket, PollFlags::IN, deadline)?,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(received)
}

fn receive_some(
    socket: impl AsFd,
    data: &mut [u8],
    descriptors: &mut Descriptors,
) -> Result<usize, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let result = recvmsg(
        socket,
        &mut [IoSliceMut::new(data)],
        &mut control,
        RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC,
    )?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            for fd in fds {
                if descriptors.fds.len() < MAX_DESCRIPTORS {
                    descriptors.fds.push(fd);
                } else {
                    descriptors.lost = true;
                }
            }
        }
    }
    descriptors.lost |= result.flags.contains(ReturnFlags::CTRUNC);
    Ok(result.bytes)
}

/// Sends all parts, descriptors with the first octet. There is at least one octet.
pub(crate) fn send(
    socket: impl AsFd,
    parts: &[&[u8]],
    fds: &[BorrowedFd<'_>],
    deadline: Deadline,
) -> io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
    let mut left = &mut slices[..];
    IoSlice::advance_slices(&mut left, 0);
    let mut fds = fds;
    while !left.is_empty() {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
            return Err(Errno::TOOMANYREFS.into());
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match sendmsg(&socket, left, &mut control, flags) {
            Ok(octets) => {
                IoSlice::advance_slices(&mut left, octets);
                fds = &[];
            }
            Err(Errno::AGAIN) => wait(&socket, PollFlags::OUT, deadline)?,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}
