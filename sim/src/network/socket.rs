//! Sockets that never block.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, acceptfrom_with, bind,
    connect, getsockname, ipproto, listen, recv, send, shutdown, socket_with, sockopt,
};
use socket2::SockRef;

/// Flags of each socket.
const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

/// What the kernel holds of a connection, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffers {
    pub receive: usize,
    pub send: usize,
    /// Time for which the peer may accept nothing.
    pub timeout: Duration,
}

fn open(address: &SocketAddr, buffers: Buffers) -> io::Result<OwnedFd> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = socket_with(family, SocketType::STREAM, FLAGS, Some(ipproto::TCP))?;
    // Before the handshake: the window's scale depends on it. What is accepted inherits all three.
    sockopt::set_socket_recv_buffer_size(&socket, buffers.receive)?;
    sockopt::set_socket_send_buffer_size(&socket, buffers.send)?;
    let timeout = u32::try_from(buffers.timeout.as_millis()).unwrap_or(u32::MAX);
    sockopt::set_tcp_user_timeout(&socket, timeout.max(1))?; // 0 is the kernel's own
    Ok(socket)
}

/// A socket that listens at `address`, and its address.
pub(crate) fn listen_at(
    address: SocketAddr,
    waiting: i32,
    buffers: Buffers,
) -> io::Result<(OwnedFd, SocketAddr)> {
    let socket = open(&address, buffers)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?; // 0.0.0.0 of the same port can be another listener
    }
    bind(&socket, &address)?;
    listen(&socket, waiting)?;
    let address = local(&socket)?;
    Ok((socket, address))
}

/// A socket that connects to `address`.
pub(crate) fn connect_to(address: SocketAddr, buffers: Buffers) -> io::Result<OwnedFd> {
    let socket = open(&address, buffers)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

/// The next connection that waits at a listener, and its peer.
pub(crate) fn accept(listener: &OwnedFd) -> io::Result<(OwnedFd, SocketAddr)> {
    let (socket, peer) = acceptfrom_with(listener, FLAGS)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    let peer = peer.ok_or(Errno::NOTCONN)?;
    Ok((socket, peer.try_into()?))
}

/// The own address of a socket.
pub(crate) fn local(socket: impl AsFd) -> io::Result<SocketAddr> {
    Ok(getsockname(socket)?.try_into()?)
}

/// What was read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// Octets; none is the peer's FIN when reading.
    Octets(usize),
    /// Nothing now.
    Nothing,
}

fn moved(result: Result<usize, Errno>) -> io::Result<Moved> {
    match result {
        Ok(octets) => Ok(Moved::Octets(octets)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(Moved::Nothing),
        Err(error) => Err(error.into()),
    }
}

/// Octets of payload in a segment that the kernel sends.
pub(crate) fn segment(socket: &OwnedFd) -> io::Result<usize> {
    SockRef::from(socket)
        .tcp_mss()
        .map(|octets| octets as usize)
}

/// Reads into `octets`, which is not empty.
pub(crate) fn read(socket: &OwnedFd, octets: &mut [u8]) -> io::Result<Moved> {
    moved(recv(socket, octets, RecvFlags::empty()).map(|(count, _)| count))
}

/// Writes the front of `octets`.
pub(crate) fn write(socket: &OwnedFd, octets: &[u8]) -> io::Result<Moved> {
    moved(send(socket, octets, SendFlags::NOSIGNAL))
}

/// The error that a socket has met, if any.
pub(crate) fn error(socket: &OwnedFd) -> io::Result<()> {
    Ok(sockopt::socket_error(socket)??)
}

/// Sends a FIN behind what was written.
pub(crate) fn finish(socket: &OwnedFd) -> io::Result<()> {
    Ok(shutdown(socket, Shutdown::Write)?)
}

/// Closes with RST instead of FIN.
pub(crate) fn abort(socket: OwnedFd) {
    // If it fails, the peer gets a FIN: the connection ends in either case.
    let _ = sockopt::set_socket_linger(&socket, Some(Duration::ZERO));
}
