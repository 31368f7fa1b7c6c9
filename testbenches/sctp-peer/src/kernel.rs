//! Linux's SCTP: each call of the system that this program makes with a socket of it.
//!
//! Sockets are one-to-one (RFC 6458 §4): a listener, or one association. They do not block, but for [`Socket::accept`] and
//! [`Socket::connect`], which wait for a while.

mod abi;
mod note;

use std::ffi::c_int;
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

pub use note::Note;

use abi::{Control, Encapsulation, EventOption, MemoryInfo, Plain, Status};

/// Longest wait until an association is set up, and until a peer begins with one: that may have a model to build before.
const PATIENCE: Duration = Duration::from_secs(60);
const FIRST: Duration = Duration::from_secs(300);
/// Octets of the largest message: more than any DDP segment and its DDP-SSN.
const MAX_MESSAGE: usize = 1 << 16;

/// What both ends of an association are told before it is set up.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Adaptation layer indication of INIT or INIT-ACK (RFC 5061 §4.2.6); `None`: what the kernel has without being told.
    pub indication: Option<u32>,
    /// Streams in each direction.
    pub streams: u16,
}

/// A message, or what there is in its place.
#[derive(Debug)]
pub enum Received {
    /// There is nothing yet.
    Nothing,
    /// The association is over.
    End,
    /// An event of SCTP.
    Note(Note),
    /// A message, whole.
    Message {
        /// Stream identifier.
        stream: u16,
        /// Payload protocol identifier.
        ppid: u32,
        /// User data.
        user_data: Vec<u8>,
    },
}

/// A socket. Dropping an association that is not over aborts it.
#[derive(Debug)]
pub struct Socket {
    descriptor: OwnedFd,
    /// The front of a message that the kernel delivers in parts.
    partial: Vec<u8>,
    buffer: Box<[u8]>,
}

impl Socket {
    /// Listens at an SCTP port of all addresses.
    pub fn listen(port: u16, options: Options) -> io::Result<Self> {
        let socket = Self::open(options)?;
        let any = abi::address(SocketAddrV4::new(0.into(), port));
        // SAFETY: `any` is a `sockaddr_in` of as many octets as said, which the call only reads.
        check(unsafe {
            libc::bind(
                socket.raw(),
                ptr::from_ref(&any).cast(),
                size_of_val(&any) as u32,
            )
        })?;
        // SAFETY: the descriptor is open; no memory is passed.
        check(unsafe { libc::listen(socket.raw(), 16) })?;
        Ok(socket)
    }

    /// The next association that a peer sets up.
    pub fn accept(&self) -> io::Result<Self> {
        if !self.wait(libc::POLLIN, FIRST)? {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: the descriptor is open; no address is asked for.
        let descriptor =
            check(unsafe { libc::accept4(self.raw(), ptr::null_mut(), ptr::null_mut(), flags) })?;
        let socket = Self::own(descriptor);
        socket.abort_when_closed()?;
        Ok(socket)
    }

    /// Sets up an association with the SCTP port of `address`, in datagrams to the UDP port `encapsulation` (RFC 6951).
    pub fn connect(
        address: SocketAddrV4,
        encapsulation: u16,
        options: Options,
    ) -> io::Result<Self> {
        let socket = Self::open(options)?;
        let port = Encapsulation::to(encapsulation);
        socket.set(libc::IPPROTO_SCTP, abi::REMOTE_UDP_ENCAPS_PORT, &port)?;
        let address = abi::address(address);
        // SAFETY: `address` is a `sockaddr_in` of as many octets as said, which the call only reads.
        let called = unsafe {
            libc::connect(
                socket.raw(),
                ptr::from_ref(&address).cast(),
                size_of_val(&address) as u32,
            )
        };
        match check(called) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        if !socket.wait(libc::POLLOUT, PATIENCE)? {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let code = socket.get::<c_int>(libc::SOL_SOCKET, libc::SO_ERROR)?;
        match code {
            0 => Ok(socket),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }

    fn open(options: Options) -> io::Result<Self> {
        let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no memory is passed.
        let descriptor = check(unsafe { libc::socket(libc::AF_INET, kind, libc::IPPROTO_SCTP) })?;
        let socket = Self::own(descriptor);
        socket.abort_when_closed()?;
        let sctp = libc::IPPROTO_SCTP;
        let streams = libc::sctp_initmsg {
            sinit_num_ostreams: options.streams,
            sinit_max_instreams: options.streams,
            sinit_max_attempts: 0, // the kernel's
            sinit_max_init_timeo: 0,
        };
        socket.set(sctp, libc::SCTP_INITMSG, &streams)?;
        socket.set::<c_int>(sctp, libc::SCTP_NODELAY, &1)?;
        socket.set::<c_int>(sctp, libc::SCTP_RECVRCVINFO, &1)?;
        if let Some(code) = options.indication {
            socket.set::<u32>(sctp, libc::SCTP_ADAPTATION_LAYER, &code)?;
        }
        for kind in note::KINDS {
            socket.set(sctp, abi::EVENT, &EventOption::on(kind))?;
        }
        Ok(socket)
    }

    /// Takes a descriptor that the system has just given.
    fn own(descriptor: RawFd) -> Self {
        Self {
            // SAFETY: it is open, and nobody else has it.
            descriptor: unsafe { OwnedFd::from_raw_fd(descriptor) },
            partial: Vec::new(),
            buffer: vec![0; MAX_MESSAGE].into_boxed_slice(),
        }
    }

    /// Who closes an association that is not over ends it by ABORT.
    fn abort_when_closed(&self) -> io::Result<()> {
        let at_once = libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        self.set(libc::SOL_SOCKET, libc::SO_LINGER, &at_once)
    }

    fn raw(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// Sends a message, whole and unordered; false: there is no room now.
    pub fn send(&self, stream: u16, ppid: u32, user_data: &[u8]) -> io::Result<bool> {
        let info = libc::sctp_sndinfo {
            snd_sid: stream,
            snd_flags: libc::SCTP_UNORDERED as u16,
            snd_ppid: ppid.to_be(),
            snd_context: 0,
            snd_assoc_id: 0,
        };
        let mut control = Control::of(libc::SCTP_SNDINFO, &info);
        let part = libc::iovec {
            iov_base: user_data.as_ptr().cast_mut().cast(),
            iov_len: user_data.len(),
        };
        let mut message = abi::message(&part, &mut control);
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        // SAFETY: `message` names `part` and `control`, which live until the call returns, with their own lengths. The call reads
        // them only, so that `user_data` may be shared.
        let sent = unsafe { libc::sendmsg(self.raw(), ptr::from_mut(&mut message), flags) };
        match usize::try_from(sent) {
            Ok(octets) if octets == user_data.len() => Ok(true),
            Ok(_) => Err(io::ErrorKind::WriteZero.into()), // a message is sent whole or not at all
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
                error => Err(error),
            },
        }
    }

    /// What is next.
    pub fn receive(&mut self) -> io::Result<Received> {
        loop {
            let part = libc::iovec {
                iov_base: self.buffer.as_mut_ptr().cast(),
                iov_len: self.buffer.len(),
            };
            let mut control = Control::empty();
            let mut message = abi::message(&part, &mut control);
            // SAFETY: `message` names `part` and `control`, which live until the call returns, with their own lengths; `part` names
            // the buffer, which nobody else has.
            let read = unsafe {
                libc::recvmsg(self.raw(), ptr::from_mut(&mut message), libc::MSG_DONTWAIT)
            };
            let Ok(octets) = usize::try_from(read) else {
                return match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::WouldBlock => Ok(Received::Nothing),
                    error => Err(error),
                };
            };
            let (flags, filled) = (message.msg_flags, message.msg_controllen);
            let octets = self.buffer.get(..octets).unwrap_or_default();
            if flags & libc::MSG_NOTIFICATION != 0 {
                return Ok(Received::Note(Note::parse(octets)));
            }
            if octets.is_empty() {
                return Ok(Received::End);
            }
            if self.partial.len() + octets.len() > MAX_MESSAGE {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            self.partial.extend_from_slice(octets);
            if flags & libc::MSG_EOR == 0 {
                continue;
            }
            let info: libc::sctp_rcvinfo = control
                .find(filled, libc::SCTP_RCVINFO)
                .ok_or(io::ErrorKind::InvalidData)?;
            return Ok(Received::Message {
                stream: info.rcv_sid,
                ppid: u32::from_be(info.rcv_ppid),
                user_data: std::mem::take(&mut self.partial),
            });
        }
    }

    /// Waits until there is something to be read, or room to send, too; false: neither in time.
    pub fn wait_for(&self, room: bool, most: Duration) -> io::Result<bool> {
        let room = if room { libc::POLLOUT } else { 0 };
        self.wait(libc::POLLIN | room, most)
    }

    fn wait(&self, events: i16, most: Duration) -> io::Result<bool> {
        let mut entry = libc::pollfd {
            fd: self.raw(),
            events,
            revents: 0,
        };
        let most = c_int::try_from(most.as_millis()).unwrap_or(c_int::MAX);
        // SAFETY: one entry, which lives until the call returns.
        match check(unsafe { libc::poll(ptr::from_mut(&mut entry), 1, most) }) {
            Ok(count) => Ok(count > 0),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Octets of user data that a chunk holds at most without being fragmented.
    pub fn fragmentation_point(&self) -> io::Result<u32> {
        let status: Status = self.get(libc::IPPROTO_SCTP, libc::SCTP_STATUS)?;
        Ok(status.fragmentation_point)
    }

    /// Whether the peer has acknowledged all that was sent: the kernel keeps nothing of it any more.
    ///
    /// `SCTP_SENDER_DRY_EVENT` alone would not do: it may be read when later messages are under way.
    pub fn is_dry(&self) -> io::Result<bool> {
        let info: MemoryInfo = self.get(libc::SOL_SOCKET, libc::SO_MEMINFO)?;
        Ok(info.queued() == 0)
    }

    /// Begins SHUTDOWN, behind all that was sent.
    pub fn shutdown(&self) -> io::Result<()> {
        // SAFETY: no memory is passed.
        check(unsafe { libc::shutdown(self.raw(), libc::SHUT_WR) }).map(drop)
    }

    fn set<T: Plain>(&self, level: c_int, name: c_int, value: &T) -> io::Result<()> {
        let (value, length) = (ptr::from_ref(value).cast(), size_of::<T>() as u32);
        // SAFETY: `value` has `length` octets, which the call copies.
        check(unsafe { libc::setsockopt(self.raw(), level, name, value, length) }).map(drop)
    }

    fn get<T: Plain>(&self, level: c_int, name: c_int) -> io::Result<T> {
        let mut value = T::ZERO;
        let mut length = size_of::<T>() as u32;
        let to = ptr::from_mut(&mut value).cast();
        // SAFETY: `value` has `length` octets, and any octets are a value of a `Plain` type; the call writes no more.
        check(unsafe { libc::getsockopt(self.raw(), level, name, to, &mut length) })?;
        Ok(value)
    }
}

/// What the system has answered: its error is in `errno`.
fn check(answer: c_int) -> io::Result<c_int> {
    match answer {
        0.. => Ok(answer),
        _ => Err(io::Error::last_os_error()),
    }
}
