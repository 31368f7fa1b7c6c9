//! The client: the user of a device.
//!
//! ```text
//!  call ─► lock ─► send request ─► wait for header ─► check id, command, size, flags ─► payload ─► check ─► result
//!                      └──────────────── one deadline ────────────────────────────────────┘
//!  error reply: the call fails, the connection stays       any other fault: the connection is closed
//! ```

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

use crate::error::{Error, Fault};
use crate::protocol;
use crate::protocol::{
    Command, DmaMapRequest, DmaUnmap, HEADER_LENGTH, Header, IrqSet, MAJOR, MAX_VERSION_MESSAGE,
    MINOR, RegionAccess, Version, device_flags, dma_map_flags, dma_unmap_flags, flags, irq_flags,
    irq_set_flags, region_flags,
};
use crate::socket::{Deadline, receive, send};
use crate::target::{DeviceInfo, IrqInfo, Permissions, RegionInfo};
use crate::version::{self, Capabilities};

/// A connection to a device. Calls from several threads take turns; each waits at most the time-out for its own answer.
///
/// A late or malformed answer closes the connection, and every later call fails with [`Error::Closed`].
///
/// # Errors
/// Every call: [`Error::Refused`] when the server refuses; [`Error::TimedOut`], [`Error::Broken`] and [`Error::Closed`] when
/// the connection is closed. Each call lists its other errors.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    connection: Mutex<Connection>,
    timeout: Duration,
    server: Capabilities,
}

#[derive(Debug)]
struct Connection {
    /// Why the connection is closed; `None` while it is not.
    closed: Option<Arc<str>>,
    next_id: u16,
}

/// Why a call failed, before the decision whether the connection survives.
enum Failure {
    /// An error reply.
    Refused(u32),
    /// The stream can no longer be trusted.
    Fault(Fault),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Fault(Fault::Socket(error))
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        Failure::Fault(fault)
    }
}

impl Client {
    /// Connects to the device at the socket file `path`. The server must answer each request, this one included,
    /// within `timeout`.
    ///
    /// # Errors
    /// [`Error::Connect`] when no server listens there or the queue of clients stays full.
    pub fn connect(path: impl AsRef<Path>, timeout: Duration) -> Result<Client, Error> {
        let path = path.as_ref();
        let stream = connect(path, timeout).map_err(|source| Error::Connect {
            path: path.to_owned(),
            source,
        })?;
        Client::over(stream, timeout)
    }

    /// Opens a session with the server at the other end of `stream`.
    pub fn over(stream: UnixStream, timeout: Duration) -> Result<Client, Error> {
        let mut client = Client {
            stream,
            connection: Mutex::new(Connection {
                closed: None,
                next_id: 0,
            }),
            timeout,
            server: Capabilities::default(),
        };
        client.server = client.exchange(Command::VERSION, |call| {
            let payload = version::emit(Capabilities::OURS);
            let least = size_of::<Version>();
            let length =
                call.request(&[&payload], &[], least, MAX_VERSION_MESSAGE - HEADER_LENGTH)?;
            let mut payload = vec![0; length];
            call.receive(&mut payload)?;
            let (Version { major, minor }, capabilities) =
                version::parse(&payload).map_err(Fault::Capabilities)?;
            if major != MAJOR || minor > MINOR {
                return Err(Fault::Version { major, minor }.into());
            }
            Ok(capabilities)
        })?;
        Ok(client)
    }

    /// How many regions and interrupt types the device has.
    pub fn device_info(&self) -> Result<DeviceInfo, Error> {
        let request = protocol::DeviceInfo {
            argsz: size_of::<protocol::DeviceInfo>() as u32,
            ..Default::default()
        };
        self.exchange(Command::DEVICE_GET_INFO, |call| {
            let reply = call.transact(&request)?;
            at_least("argsz", request.argsz, reply.argsz)?;
            Ok(DeviceInfo {
                regions: reply.regions,
                irqs: reply.irqs,
                resettable: reply.flags & device_flags::RESET != 0,
                pci: reply.flags & device_flags::PCI != 0,
            })
        })
    }

    /// Size and permissions of region `index`.
    pub fn region_info(&self, index: u32) -> Result<RegionInfo, Error> {
        let request = protocol::RegionInfo {
            argsz: size_of::<protocol::RegionInfo>() as u32,
            index,
            ..Default::default()
        };
        self.exchange(Command::DEVICE_GET_REGION_INFO, |call| {
            let reply = call.transact(&request)?;
            at_least("argsz", request.argsz, reply.argsz)?;
            same("region", index, reply.index)?;
            Ok(RegionInfo {
                size: reply.size,
                readable: reply.flags & region_flags::READABLE != 0,
                writable: reply.flags & region_flags::WRITABLE != 0,
            })
        })
    }

    /// How many interrupts of type `index` the device has.
    pub fn irq_info(&self, index: u32) -> Result<IrqInfo, Error> {
        let request = protocol::IrqInfo {
            argsz: size_of::<protocol::IrqInfo>() as u32,
            index,
            ..Default::default()
        };
        self.exchange(Command::DEVICE_GET_IRQ_INFO, |call| {
            let reply = call.transact(&request)?;
            at_least("argsz", request.argsz, reply.argsz)?;
            same("interrupt type", index, reply.index)?;
            Ok(IrqInfo {
                count: reply.count,
                eventfd: reply.flags & irq_flags::EVENTFD != 0,
            })
        })
    }

    /// Fills `data` from `region` at `offset`. At most 1 MiB, less if the server's limit is lower. After an error `data` may
    /// hold part of the answer.
    ///
    /// # Errors
    /// [`Error::TooLong`].
    pub fn region_read(&self, region: u32, offset: u64, data: &mut [u8]) -> Result<(), Error> {
        let Some(access) = self.access(region, offset, data.len())? else {
            return Ok(());
        };
        self.exchange(Command::REGION_READ, |call| {
            let length = size_of::<RegionAccess>() + data.len();
            call.request(&[access.as_bytes()], &[], length, length)?;
            let mut reply = RegionAccess::new_zeroed();
            call.receive(reply.as_mut_bytes())?;
            same_access(&access, &reply)?;
            call.receive(data)
        })
    }

    /// Writes `data` to `region` at `offset`. At most 1 MiB, less if the server's limit is lower.
    ///
    /// # Errors
    /// [`Error::TooLong`].
    pub fn region_write(&self, region: u32, offset: u64, data: &[u8]) -> Result<(), Error> {
        let Some(access) = self.access(region, offset, data.len())? else {
            return Ok(());
        };
        self.exchange(Command::REGION_WRITE, |call| {
            let length = size_of::<RegionAccess>();
            call.request(&[access.as_bytes(), data], &[], length, length)?;
            let mut reply = RegionAccess::new_zeroed();
            call.receive(reply.as_mut_bytes())?;
            same_access(&access, &reply)
        })
    }

    /// `None` if there are no octets to transfer.
    fn access(
        &self,
        region: u32,
        offset: u64,
        length: usize,
    ) -> Result<Option<RegionAccess>, Error> {
        let limit = self.server.data();
        match u32::try_from(length) {
            Ok(0) => Ok(None),
            Ok(count) if length <= limit => Ok(Some(RegionAccess {
                offset,
                region,
                count,
            })),
            _ => Err(Error::TooLong { length, limit }),
        }
    }

    /// Lets the device access `length` octets of the file `fd` from `offset` on, at addresses from `iova` on.
    pub fn dma_map(
        &self,
        iova: u64,
        length: u64,
        fd: BorrowedFd<'_>,
        offset: u64,
        permissions: Permissions,
    ) -> Result<(), Error> {
        let mut flags = 0;
        if permissions.readable {
            flags |= dma_map_flags::READABLE;
        }
        if permissions.writable {
            flags |= dma_map_flags::WRITABLE;
        }
        let request = DmaMapRequest {
            argsz: size_of::<DmaMapRequest>() as u32,
            flags,
            offset,
            iova,
            length,
        };
        self.exchange(Command::DMA_MAP, |call| {
            call.request(&[request.as_bytes()], &[fd], 0, 0).map(drop)
        })
    }

    /// Ends all maps inside a range, whose end may be 2^64. When this returns, the device no longer accesses that memory.
    pub fn dma_unmap(&self, iova: u64, length: u64) -> Result<(), Error> {
        self.unmap(0, iova, length)
    }

    /// Ends all maps.
    pub fn dma_unmap_all(&self) -> Result<(), Error> {
        self.unmap(dma_unmap_flags::ALL, 0, 0)
    }

    fn unmap(&self, flags: u32, iova: u64, length: u64) -> Result<(), Error> {
        let request = DmaUnmap {
            argsz: size_of::<DmaUnmap>() as u32,
            flags,
            iova,
            length,
        };
        self.exchange(Command::DMA_UNMAP, |call| {
            let reply = call.transact(&request)?;
            same("address", iova, reply.iova)?;
            same("length", length, reply.length)
        })
    }

    /// Sets an eventfd for each of the interrupts from `start` on of type `index`, or removes it for `None`. Sent in several
    /// messages if the server does not accept them in one; if one is refused, the earlier ones have taken effect.
    ///
    /// # Errors
    /// [`Error::IrqRange`].
    pub fn set_irqs(
        &self,
        index: u32,
        start: u32,
        eventfds: &[Option<BorrowedFd<'_>>],
    ) -> Result<(), Error> {
        let numbers = u32::try_from(eventfds.len()).ok();
        if numbers.and_then(|count| start.checked_add(count)).is_none() {
            return Err(Error::IrqRange {
                start,
                count: eventfds.len(),
            });
        }
        // A message sets eventfds or removes them, not both.
        let mut start = start;
        for run in eventfds.chunk_by(|a, b| a.is_some() == b.is_some()) {
            let most = match run {
                [Some(_), ..] => self.server.descriptors().max(1),
                _ => run.len(),
            };
            for part in run.chunks(most) {
                let fds: Vec<BorrowedFd<'_>> = part.iter().flatten().copied().collect();
                let count = part.len() as u32;
                let flags = irq_set_flags::DATA_EVENTFD | irq_set_flags::ACTION_TRIGGER;
                self.send_irqs(flags, index, start, count, &fds)?;
                start += count;
            }
        }
        Ok(())
    }

    /// Removes all eventfds of type `index`.
    pub fn disable_irqs(&self, index: u32) -> Result<(), Error> {
        let flags = irq_set_flags::DATA_NONE | irq_set_flags::ACTION_TRIGGER;
        self.send_irqs(flags, index, 0, 0, &[])
    }

    fn send_irqs(
        &self,
        flags: u32,
        index: u32,
        start: u32,
        count: u32,
        fds: &[BorrowedFd<'_>],
    ) -> Result<(), Error> {
        let request = IrqSet {
            argsz: size_of::<IrqSet>() as u32,
            flags,
            index,
            start,
            count,
        };
        self.exchange(Command::DEVICE_SET_IRQS, |call| {
            call.request(&[request.as_bytes()], fds, 0, 0).map(drop)
        })
    }

    /// Resets the device. Maps and eventfds stay.
    pub fn reset(&self) -> Result<(), Error> {
        self.exchange(Command::DEVICE_RESET, |call| {
            call.request(&[], &[], 0, 0).map(drop)
        })
    }

    /// Runs one request and its reply, and closes the connection if the stream can no longer be trusted.
    fn exchange<T>(
        &self,
        command: Command,
        run: impl FnOnce(&mut Call<'_>) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        let mut connection = self.lock();
        let Connection { closed, next_id } = &mut *connection;
        if let Some(reason) = closed {
            return Err(Error::Closed {
                reason: Arc::clone(reason),
            });
        }
        let id = *next_id;
        *next_id = id.wrapping_add(1);
        let mut call = Call {
            stream: &self.stream,
            id,
            command,
            deadline: Instant::now().checked_add(self.timeout),
        };
        let error = match run(&mut call) {
            Ok(result) => return Ok(result),
            Err(Failure::Refused(errno)) => return Err(Error::Refused { command, errno }),
            Err(Failure::Fault(Fault::Socket(error)))
                if error.kind() == io::ErrorKind::TimedOut =>
            {
                Error::TimedOut {
                    command,
                    timeout: self.timeout,
                }
            }
            Err(Failure::Fault(fault)) => Error::Broken { command, fault },
        };
        *closed = Some(error.to_string().into());
        self.hang_up();
        Err(error)
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(|poisoned| {
            // A thread that panicked in a call may have sent half a message.
            let mut connection = poisoned.into_inner();
            if connection.closed.is_none() {
                connection.closed = Some("a thread died in a call".into());
                self.hang_up();
            }
            connection
        })
    }

    /// Shuts the connection down. The server and threads that poll [`as_fd`](AsFd::as_fd) see it hung up.
    fn hang_up(&self) {
        let _ = self.stream.shutdown(Shutdown::Both); // the server has done so already
    }
}

/// For threads that wait for other events of the device: hung up (`POLLRDHUP`) once either side has closed the connection.
/// Replies make it readable: do not wait for that, and never read from it.
impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// One request and its reply.
struct Call<'a> {
    stream: &'a UnixStream,
    id: u16,
    command: Command,
    deadline: Deadline,
}

impl Call<'_> {
    /// Sends a request, waits for the header of its reply, and returns the length of the reply's payload,
    /// `least` to `most` octets.
    fn request(
        &mut self,
        payload: &[&[u8]],
        fds: &[BorrowedFd<'_>],
        least: usize,
        most: usize,
    ) -> Result<usize, Failure> {
        let length: usize = payload.iter().map(|part| part.len()).sum();
        let header = Header {
            id: self.id,
            command: self.command.0,
            // Accesses are limited to 1 MiB, everything else is far shorter.
            size: (HEADER_LENGTH + length) as u32,
            flags: flags::COMMAND,
            errno: 0,
        };
        let mut parts = vec![header.as_bytes()];
        parts.extend(payload);
        send(self.stream, &parts, fds, self.deadline).map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
                Fault::Ended { received: 0 }
            }
            _ => Fault::Socket(error),
        })?;

        let mut reply = Header::new_zeroed();
        self.receive(reply.as_mut_bytes())?;
        if reply.flags & flags::TYPE != flags::REPLY {
            return Err(Fault::NotAReply { flags: reply.flags }.into());
        }
        if reply.id != self.id {
            return Err(Fault::Id {
                sent: self.id,
                found: reply.id,
            }
            .into());
        }
        if reply.command != self.command.0 {
            return Err(Fault::Command {
                found: Command(reply.command),
            }
            .into());
        }
        let failed = reply.flags & flags::ERROR != 0;
        let (least, most) = if failed { (0, 0) } else { (least, most) };
        let (least, most) = (HEADER_LENGTH + least, HEADER_LENGTH + most);
        let size = reply.size as usize;
        if size < least || size > most {
            return Err(Fault::Size {
                found: reply.size,
                least,
                most,
            }
            .into());
        }
        if failed {
            return Err(Failure::Refused(reply.errno));
        }
        if reply.errno != 0 {
            return Err(Fault::StrayErrno { errno: reply.errno }.into());
        }
        Ok(size - HEADER_LENGTH)
    }

    /// A request whose reply has the same form.
    fn transact<T: FromBytes + IntoBytes + Immutable + KnownLayout>(
        &mut self,
        request: &T,
    ) -> Result<T, Failure> {
        let length = size_of::<T>();
        self.request(&[request.as_bytes()], &[], length, length)?;
        let mut reply = T::new_zeroed();
        self.receive(reply.as_mut_bytes())?;
        Ok(reply)
    }

    /// Receives the next part of the reply. Descriptors that come with it are closed: no reply carries any.
    fn receive(&mut self, data: &mut [u8]) -> Result<(), Failure> {
        let received = receive(self.stream, data, None, self.deadline)?;
        if received < data.len() {
            return Err(Fault::Ended { received }.into());
        }
        Ok(())
    }
}

fn same(field: &'static str, sent: impl Into<u64>, found: impl Into<u64>) -> Result<(), Failure> {
    let (sent, found) = (sent.into(), found.into());
    if sent == found {
        return Ok(());
    }
    Err(Fault::Field { field, sent, found }.into())
}

fn at_least(field: &'static str, sent: u32, found: u32) -> Result<(), Failure> {
    same(field, sent, found.min(sent))
}

fn same_access(sent: &RegionAccess, found: &RegionAccess) -> Result<(), Failure> {
    same("offset", sent.offset, found.offset)?;
    same("region", sent.region, found.region)?;
    same("count", sent.count, found.count)
}

/// Connects with a time-out: a server that does not accept keeps its queue full, and a plain connect would block.
fn connect(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    use rustix::net::sockopt::{Timeout, set_socket_timeout};
    use rustix::net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with,
    };
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // To the system 0 means "no limit".
    let limit = timeout.max(Duration::from_millis(1));
    set_socket_timeout(&socket, Timeout::Send, Some(limit))?;
    match connect(&socket, &address) {
        Ok(()) => Ok(UnixStream::from(socket)),
        Err(rustix::io::Errno::AGAIN) => Err(io::ErrorKind::TimedOut.into()),
        Err(errno) => Err(errno.into()),
    }
}
