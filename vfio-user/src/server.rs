//! The loop that serves one client.
//!
//! ```text
//!  header ─► length and kind possible? ─no─► the connection ends
//!              │ yes
//!            payload, descriptors ─► request well formed, in range, permitted? ─no─► error reply, continues
//!              │ yes
//!            Target ─► reply
//! ```
//!
//! Commands are executed one after the other, in the order of arrival.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use rustix::fs::FileType;
use rustix::io::Errno;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

use crate::dma::Maps;
use crate::error::ServeError;
use crate::protocol::{
    Command, DeviceInfo, DmaMapRequest, DmaUnmap, HEADER_LENGTH, Header, IrqInfo, IrqSet, MAJOR,
    MAX_DATA, MAX_MESSAGE, MAX_VERSION_MESSAGE, RegionAccess, RegionInfo, device_flags,
    dma_map_flags, dma_unmap_flags, flags, irq_flags, irq_set_flags, region_flags,
};
use crate::socket::{Deadline, Descriptors, receive, send};
use crate::target::{self, DmaMap, Refused, Target};
use crate::version::{self, GREETING};

/// Serves the client at the other end of `stream` until it disconnects (`Ok`) or breaks the protocol (`Err`). In both cases
/// [`Target::disconnected`] is the last call.
///
/// # Errors
/// [`ServeError::Truncated`], [`ServeError::Size`] and [`ServeError::NotACommand`] when the start of the next message is
/// unknown; [`ServeError::NoVersion`], [`ServeError::Version`] and [`ServeError::Capabilities`] when the first message is
/// wrong; [`ServeError::Socket`] when the system fails.
///
/// After its first message a client may stay silent without limit. A client that sends no first message within
/// [`GREETING`] is disconnected ([`ServeError::Silent`]), since others may wait. To end the loop from outside, shut the stream down through
/// a clone of it.
pub fn serve(stream: UnixStream, target: &mut impl Target) -> Result<(), ServeError> {
    let mut session = Session {
        stream: &stream,
        regions: target.regions(),
        irqs: target.irqs(),
        maps: Maps::default(),
        greeted: false,
        greeting_ends: Instant::now().checked_add(GREETING),
        target,
    };
    let outcome = session.run();
    target.disconnected();
    outcome
}

struct Session<'a, T> {
    stream: &'a UnixStream,
    target: &'a mut T,
    regions: Vec<target::RegionInfo>,
    irqs: Vec<u32>,
    maps: Maps,
    /// The version exchange is done.
    greeted: bool,
    greeting_ends: Deadline,
}

/// Payload of a reply, or the error number of an error reply.
type Answer = Result<Vec<u8>, Refused>;

fn is_socket(fd: &OwnedFd) -> bool {
    let status = rustix::fs::fstat(fd);
    status.is_ok_and(|status| FileType::from_raw_mode(status.st_mode).is_socket())
}

impl<T: Target> Session<'_, T> {
    fn run(&mut self) -> Result<(), ServeError> {
        let mut payload = Vec::new();
        loop {
            let mut descriptors = Descriptors::default();
            let Some(header) = self.receive_message(&mut payload, &mut descriptors)? else {
                return Ok(());
            };
            let command = Command(header.command);
            let (answer, end) = if !self.greeted {
                self.greet(command, &payload)
            } else if descriptors.lost {
                (Err(Errno::MFILE.into()), None)
            } else {
                (self.answer(command, &payload, descriptors.fds), None)
            };
            let wanted = header.flags & flags::NO_REPLY == 0;
            let left = wanted && !self.reply(header, answer)?;
            match end {
                Some(error) => return Err(error),
                None if left => return Ok(()),
                None => {}
            }
        }
    }

    /// Header of the next message, its payload and descriptors. `None`: the client has disconnected.
    fn receive_message(
        &self,
        payload: &mut Vec<u8>,
        descriptors: &mut Descriptors,
    ) -> Result<Option<Header>, ServeError> {
        let deadline = match self.greeted {
            true => None,
            false => self.greeting_ends,
        };
        let silent = |error: io::Error| match error.kind() {
            io::ErrorKind::TimedOut => ServeError::Silent,
            _ => error.into(),
        };
        let mut header = Header::new_zeroed();
        let octets = header.as_mut_bytes();
        let received = match receive(self.stream, octets, Some(descriptors), deadline) {
            // The client closed without reading the last reply.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => 0,
            other => other.map_err(silent)?,
        };
        if received == 0 {
            return Ok(None);
        }
        if received < HEADER_LENGTH {
            return Err(ServeError::Truncated {
                received,
                expected: HEADER_LENGTH,
            });
        }
        if header.flags & flags::TYPE != flags::COMMAND {
            return Err(ServeError::NotACommand {
                flags: header.flags,
            });
        }
        let command = Command(header.command);
        let most = if self.greeted {
            MAX_MESSAGE
        } else {
            MAX_VERSION_MESSAGE
        };
        let length = match (header.size as usize).checked_sub(HEADER_LENGTH) {
            Some(length) if header.size as usize <= most => length,
            _ => {
                return Err(ServeError::Size {
                    command,
                    size: header.size,
                });
            }
        };
        payload.resize(length, 0);
        let received = receive(self.stream, payload, Some(descriptors), deadline);
        let received = received.map_err(silent)?;
        if received < length {
            return Err(ServeError::Truncated {
                received,
                expected: length,
            });
        }
        Ok(Some(header))
    }

    /// Sends a reply. `false`: the client has disconnected.
    fn reply(&self, command: Header, answer: Answer) -> Result<bool, ServeError> {
        let (payload, kind, errno) = match &answer {
            Ok(payload) => (&payload[..], flags::REPLY, 0),
            Err(Refused { errno }) => {
                let errno = errno.raw_os_error().unsigned_abs();
                (&[][..], flags::REPLY | flags::ERROR, errno)
            }
        };
        let header = Header {
            // Payloads have at most MAX_DATA octets and a structure.
            size: (HEADER_LENGTH + payload.len()) as u32,
            flags: kind,
            errno,
            ..command
        };
        match send(self.stream, &[header.as_bytes(), payload], &[], None) {
            Ok(()) => Ok(true),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
                ) =>
            {
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The first message. An incompatible one is answered with an error before the connection ends.
    fn greet(&mut self, command: Command, payload: &[u8]) -> (Answer, Option<ServeError>) {
        if command != Command::VERSION {
            let end = ServeError::NoVersion { command };
            return (Err(Errno::PROTO.into()), Some(end));
        }
        match version::parse(payload) {
            Ok((version, capabilities)) if version.major == MAJOR => {
                self.greeted = true;
                let answer = version::emit(capabilities.answer());
                (Ok(answer), None)
            }
            Ok((version, _)) => {
                let end = ServeError::Version {
                    major: version.major,
                    minor: version.minor,
                };
                (Err(Errno::PROTONOSUPPORT.into()), Some(end))
            }
            Err(reason) => {
                let end = ServeError::Capabilities { reason };
                (Err(Errno::INVAL.into()), Some(end))
            }
        }
    }

    /// Every message after the first. Unexpected descriptors are an error.
    fn answer(&mut self, command: Command, payload: &[u8], fds: Vec<OwnedFd>) -> Answer {
        let takes_descriptors = matches!(command, Command::DMA_MAP | Command::DEVICE_SET_IRQS);
        if !fds.is_empty() && !takes_descriptors {
            return Err(Errno::INVAL.into());
        }
        // A socket is neither memory nor an eventfd. It could be the client's end of this connection: a copy of it would keep the
        // connection open after the client has closed it.
        if fds.iter().any(is_socket) {
            return Err(Errno::INVAL.into());
        }
        match command {
            Command::DMA_MAP => self.dma_map(exactly(payload)?, fds),
            Command::DMA_UNMAP => self.dma_unmap(exactly(payload)?),
            Command::DEVICE_GET_INFO => self.device_info(exactly(payload)?),
            Command::DEVICE_GET_REGION_INFO => self.region_info(exactly(payload)?),
            Command::DEVICE_GET_IRQ_INFO => self.irq_info(exactly(payload)?),
            Command::DEVICE_SET_IRQS => self.set_irqs(payload, fds),
            Command::REGION_READ => self.region_read(exactly(payload)?),
            Command::REGION_WRITE => self.region_write(payload),
            Command::DEVICE_RESET if payload.is_empty() => {
                self.target.reset()?;
                Ok(Vec::new())
            }
            // Versions are exchanged once.
            Command::VERSION | Command::DEVICE_RESET => Err(Errno::INVAL.into()),
            _ => Err(Errno::OPNOTSUPP.into()),
        }
    }

    fn device_info(&self, request: DeviceInfo) -> Answer {
        reply_with(
            request.argsz,
            DeviceInfo {
                argsz: size_of::<DeviceInfo>() as u32,
                flags: device_flags::RESET | device_flags::PCI,
                regions: self.regions.len() as u32,
                irqs: self.irqs.len() as u32,
            },
        )
    }

    fn region_info(&self, request: RegionInfo) -> Answer {
        let region = self.region(request.index)?;
        let mut flags = 0;
        if region.readable {
            flags |= region_flags::READABLE;
        }
        if region.writable {
            flags |= region_flags::WRITABLE;
        }
        reply_with(
            request.argsz,
            RegionInfo {
                argsz: size_of::<RegionInfo>() as u32,
                flags,
                index: request.index,
                size: region.size,
                ..Default::default()
            },
        )
    }

    fn irq_info(&self, request: IrqInfo) -> Answer {
        let count = self.irqs_of(request.index)?;
        reply_with(
            request.argsz,
            IrqInfo {
                argsz: size_of::<IrqInfo>() as u32,
                flags: if count > 0 { irq_flags::EVENTFD } else { 0 },
                index: request.index,
                count,
            },
        )
    }

    fn region(&self, index: u32) -> Result<target::RegionInfo, Errno> {
        let region = self.regions.get(index as usize);
        region.copied().ok_or(Errno::INVAL)
    }

    fn irqs_of(&self, index: u32) -> Result<u32, Errno> {
        self.irqs.get(index as usize).copied().ok_or(Errno::INVAL)
    }

    /// The region of an access that lies inside it.
    fn accessed(&self, access: &RegionAccess) -> Result<target::RegionInfo, Errno> {
        let region = self.region(access.region)?;
        let end = access.offset.checked_add(u64::from(access.count));
        let inside = end.is_some_and(|end| end <= region.size);
        if !inside || access.count == 0 || access.count as usize > MAX_DATA {
            return Err(Errno::INVAL);
        }
        Ok(region)
    }

    fn region_read(&mut self, access: RegionAccess) -> Answer {
        if !self.accessed(&access)?.readable {
            return Err(Errno::PERM.into());
        }
        let mut reply = access.as_bytes().to_vec();
        let data = reply.len();
        reply.resize(data + access.count as usize, 0);
        let data = &mut reply[data..];
        self.target
            .region_read(access.region, access.offset, data)?;
        Ok(reply)
    }

    fn region_write(&mut self, payload: &[u8]) -> Answer {
        let (access, data) = RegionAccess::read_from_prefix(payload).map_err(|_| Errno::INVAL)?;
        if !self.accessed(&access)?.writable {
            return Err(Errno::PERM.into());
        }
        if data.len() != access.count as usize {
            return Err(Errno::INVAL.into());
        }
        self.target
            .region_write(access.region, access.offset, data)?;
        Ok(access.as_bytes().to_vec())
    }

    fn dma_map(&mut self, request: DmaMapRequest, mut fds: Vec<OwnedFd>) -> Answer {
        let known = dma_map_flags::READABLE | dma_map_flags::WRITABLE;
        let flags = request.flags;
        if request.argsz as usize != size_of::<DmaMapRequest>()
            || flags & !known != 0
            || flags & known == 0
            || fds.len() > 1
        {
            return Err(Errno::INVAL.into());
        }
        // Files end at 2^63 - 1.
        let end = request.offset.checked_add(request.length);
        if end.is_none_or(|end| i64::try_from(end).is_err()) {
            return Err(Errno::OVERFLOW.into());
        }
        self.maps.check(request.iova, request.length)?;
        self.target.dma_map(DmaMap {
            iova: request.iova,
            length: request.length,
            fd: fds.pop(),
            offset: request.offset,
            readable: flags & dma_map_flags::READABLE != 0,
            writable: flags & dma_map_flags::WRITABLE != 0,
        })?;
        self.maps.insert(request.iova, request.length);
        Ok(Vec::new())
    }

    /// Ends all maps inside the range; as in Linux, there may be none.
    fn dma_unmap(&mut self, request: DmaUnmap) -> Answer {
        if (request.argsz as usize) < size_of::<DmaUnmap>() {
            return Err(Errno::INVAL.into());
        }
        let maps = match request.flags {
            0 => self.maps.inside(request.iova, request.length)?,
            dma_unmap_flags::ALL if request.iova == 0 && request.length == 0 => self.maps.all(),
            dma_unmap_flags::ALL => return Err(Errno::INVAL.into()),
            _ => return Err(Errno::OPNOTSUPP.into()),
        };
        for (iova, length) in maps {
            self.target.dma_unmap(iova, length)?;
            self.maps.remove(iova);
        }
        Ok(request.as_bytes().to_vec())
    }

    fn set_irqs(&mut self, payload: &[u8], fds: Vec<OwnedFd>) -> Answer {
        use irq_set_flags::{ACTION_TRIGGER, DATA_EVENTFD, DATA_NONE};
        let (request, data) = IrqSet::read_from_prefix(payload).map_err(|_| Errno::INVAL)?;
        let IrqSet {
            flags,
            index,
            start,
            count,
            ..
        } = request;
        let irqs = self.irqs_of(index)?;
        let end = start.checked_add(count).ok_or(Errno::INVAL)?;
        if end > irqs || request.argsz as usize != payload.len() {
            return Err(Errno::INVAL.into());
        }
        const EVENTFDS: u32 = DATA_EVENTFD | ACTION_TRIGGER;
        const NOTHING: u32 = DATA_NONE | ACTION_TRIGGER;
        let (first, eventfds) = match flags {
            EVENTFDS if count > 0 && data.is_empty() => match fds.len() {
                0 => (start, none(count)),
                given if given == count as usize => (start, fds.into_iter().map(Some).collect()),
                _ => return Err(Errno::INVAL.into()),
            },
            NOTHING if start == 0 && count == 0 && data.is_empty() && fds.is_empty() => {
                (0, none(irqs))
            }
            EVENTFDS => return Err(Errno::INVAL.into()),
            // Masks, and interrupts that the client triggers: the device does not offer them.
            _ => return Err(Errno::OPNOTSUPP.into()),
        };
        self.target.set_irqs(index, first, eventfds)?;
        Ok(Vec::new())
    }
}

fn none(count: u32) -> Vec<Option<OwnedFd>> {
    (0..count).map(|_| None).collect()
}

/// Parses a payload that is exactly one structure.
fn exactly<R: FromBytes + KnownLayout + Immutable>(payload: &[u8]) -> Result<R, Errno> {
    R::read_from_bytes(payload).map_err(|_| Errno::INVAL)
}

/// A reply, if it fits the length that the client accepts.
fn reply_with<R: IntoBytes + Immutable>(argsz: u32, reply: R) -> Answer {
    if (argsz as usize) < size_of::<R>() {
        return Err(Errno::INVAL.into());
    }
    Ok(reply.as_bytes().to_vec())
}
