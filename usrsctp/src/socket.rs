//! A socket of the library, and every call that is made with one.

use std::ffi::{c_int, c_void};
use std::io;
use std::ptr::{self, NonNull};

use crate::error::Error;
use crate::ffi::{self, event, option};
use crate::link::Link;
use crate::options::{Options, Timers, milliseconds};
use crate::stack;

/// A one-to-one socket: a listener, or one association. It never blocks; dropping it aborts what is not over.
pub struct Socket {
    raw: NonNull<ffi::Socket>,
    /// Keeps the address that it is bound to.
    link: Link,
}

// SAFETY: the library has no threads of its own here, and each call is made under the stack's lock: which thread makes it is of no
// account. `raw` has one owner.
unsafe impl Send for Socket {}

/// Structures of the library that consist of numbers: any octets are a value, and none is a pointer.
///
/// # Safety
/// Only for such types, with the layout that the library has for the option.
unsafe trait Plain: Copy + Default {}

// SAFETY: `repr(C)` structures of integers, or integers; `tests/layout.rs` compares them with the header.
unsafe impl Plain for c_int {}
unsafe impl Plain for u32 {}
unsafe impl Plain for ffi::EventOption {}
unsafe impl Plain for ffi::InitOption {}
unsafe impl Plain for ffi::RtoOption {}
unsafe impl Plain for ffi::AssociationOption {}
unsafe impl Plain for ffi::Linger {}
unsafe impl Plain for ffi::PathOption {}
unsafe impl Plain for ffi::StatusOption {}

/// What a read has found.
pub struct Part {
    /// Octets of it in the buffer.
    pub octets: usize,
    /// Whether it is an event of the library.
    pub is_event: bool,
    /// Whether a message ends with it.
    pub ends: bool,
    /// Of a message.
    pub info: ffi::RcvInfo,
}

impl Socket {
    /// A socket of `link` with these options, bound to a port; 0: any.
    pub fn bind(link: &Link, port: u16, options: &Options) -> Result<Self, Error> {
        options.check()?;
        let stack = stack::lock();
        let (family, none) = (ffi::AF_CONN.into(), ptr::null_mut());
        // SAFETY: the lock is held and the library is started; there are no callbacks.
        let raw = unsafe {
            ffi::usrsctp_socket(
                family,
                ffi::SOCK_STREAM,
                ffi::IPPROTO_SCTP,
                None,
                None,
                0,
                none,
            )
        };
        let raw = NonNull::new(raw).ok_or_else(|| Error::last("usrsctp_socket"))?;
        drop(stack);
        let link = link.clone();
        let socket = Self { raw, link };
        socket.prepare()?;
        socket.apply(options)?;
        let mut name = socket.name(port);
        let _stack = stack::lock();
        // SAFETY: the lock is held; `raw` is open; `name` is as long as said.
        let bound = unsafe {
            ffi::usrsctp_bind(socket.raw(), ptr::from_mut(&mut name).cast(), ADDRESS_LEN)
        };
        match bound {
            0 => Ok(socket),
            _ => Err(match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::AddrInUse => Error::PortTaken { port },
                source => Error::System {
                    call: "usrsctp_bind",
                    source,
                },
            }),
        }
    }

    /// What holds for every socket, the accepted ones, too: it does not block, and closing it aborts.
    fn prepare(&self) -> Result<(), Error> {
        let stack = stack::lock();
        // SAFETY: the lock is held; `raw` is open.
        if unsafe { ffi::usrsctp_set_non_blocking(self.raw(), 1) } != 0 {
            return Err(Error::last("usrsctp_set_non_blocking"));
        }
        drop(stack);
        let at_once = ffi::Linger {
            onoff: 1,
            linger: 0,
        };
        self.set(ffi::SOL_SOCKET, option::LINGER, &at_once)
    }

    fn apply(&self, options: &Options) -> Result<(), Error> {
        let sctp = ffi::IPPROTO_SCTP;
        self.set(
            ffi::SOL_SOCKET,
            option::SEND_BUFFER,
            &(options.send_buffer as c_int),
        )?;
        self.set(
            ffi::SOL_SOCKET,
            option::RECEIVE_BUFFER,
            &(options.receive_buffer as c_int),
        )?;
        self.set::<c_int>(sctp, option::NO_DELAY, &1)?;
        self.set::<c_int>(sctp, option::RECEIVE_INFO, &1)?;
        // No message is read in between the parts of another one.
        self.set::<c_int>(sctp, option::FRAGMENT_INTERLEAVE, &0)?;
        let [initial, least, most] = options.timers.milliseconds();
        let init = ffi::InitOption {
            num_ostreams: options.outbound,
            max_instreams: options.inbound,
            max_attempts: options.timers.attempts,
            max_init_timeo: u16::try_from(most).unwrap_or(u16::MAX),
        };
        self.set(sctp, option::INIT, &init)?;
        let rto = ffi::RtoOption {
            initial,
            max: most,
            min: least,
            ..Default::default()
        };
        self.set(sctp, option::RTO, &rto)?;
        let association = ffi::AssociationOption {
            asocmaxrxt: options.timers.retransmissions,
            ..Default::default()
        };
        self.set(sctp, option::ASSOCIATION, &association)?;
        self.set_path(options.max_packet, &options.timers)?;
        if let Some(code) = options.adaptation {
            self.set::<u32>(sctp, option::ADAPTATION, &code)?;
        }
        let kinds = [
            event::ASSOCIATION,
            event::SHUTDOWN,
            event::ADAPTATION,
            event::PARTIAL_DELIVERY,
            event::SENDER_DRY,
        ];
        for kind in kinds {
            let event = ffi::EventOption {
                kind,
                on: 1,
                ..Default::default()
            };
            self.set(sctp, option::EVENT, &event)?;
        }
        Ok(())
    }

    /// Octets of the largest packet, which the library counts without the common header here; when a path is dead.
    pub fn set_path(&self, octets: u16, timers: &Timers) -> Result<(), Error> {
        // The family alone: whatever the peer's address is.
        let [low, high] = ffi::AF_CONN.to_ne_bytes();
        let mut address = ffi::Storage::default();
        address.0[0] = u64::from_ne_bytes([low, high, 0, 0, 0, 0, 0, 0]);
        let path = ffi::PathOption {
            address,
            pathmtu: u32::from(octets).saturating_sub(COMMON_HEADER),
            flags: ffi::PMTUD_DISABLE | ffi::HB_ENABLE,
            hbinterval: milliseconds(timers.heartbeat),
            pathmaxrxt: timers.retransmissions,
            ..Default::default()
        };
        self.set(ffi::IPPROTO_SCTP, option::PATH, &path)
    }

    pub fn listen(&self, backlog: u8) -> Result<(), Error> {
        let _stack = stack::lock();
        // SAFETY: the lock is held; `raw` is open.
        match unsafe { ffi::usrsctp_listen(self.raw(), backlog.into()) } {
            0 => Ok(()),
            _ => Err(Error::last("usrsctp_listen")),
        }
    }

    /// An association that was set up, and the peer's port.
    pub fn accept(&self) -> Result<Option<(Self, u16)>, Error> {
        let stack = stack::lock();
        let mut name = self.name(0);
        let mut length = ADDRESS_LEN;
        // SAFETY: the lock is held; `raw` is open and does not block; `name` has `length` octets.
        let raw = unsafe {
            ffi::usrsctp_accept(self.raw(), ptr::from_mut(&mut name).cast(), &mut length)
        };
        let Some(raw) = NonNull::new(raw) else {
            return match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                // It ended while it waited.
                error if error.kind() == io::ErrorKind::ConnectionAborted => Ok(None),
                source => Err(Error::System {
                    call: "usrsctp_accept",
                    source,
                }),
            };
        };
        drop(stack);
        let link = self.link.clone();
        let socket = Self { raw, link };
        socket.prepare()?;
        Ok(Some((socket, u16::from_be(name.port))))
    }

    /// Sends INIT.
    pub fn connect(&self, port: u16) -> Result<(), Error> {
        let mut name = self.name(port);
        let _stack = stack::lock();
        // SAFETY: the lock is held; `raw` is open; `name` is as long as said.
        let connected = unsafe {
            ffi::usrsctp_connect(self.raw(), ptr::from_mut(&mut name).cast(), ADDRESS_LEN)
        };
        if connected == 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(ffi::EINPROGRESS) => Ok(()),
            source => Err(Error::System {
                call: "usrsctp_connect",
                source,
            }),
        }
    }

    /// Queues a message; returns octets taken.
    pub fn send(&self, info: &ffi::SndInfo, user_data: &[u8]) -> io::Result<usize> {
        let mut info = *info;
        let _stack = stack::lock();
        // SAFETY: the lock is held; `raw` is open and does not block; `user_data` and `info` are as long as said, and are copied.
        let sent = unsafe {
            ffi::usrsctp_sendv(
                self.raw(),
                user_data.as_ptr().cast(),
                user_data.len(),
                ptr::null_mut(),
                0,
                ptr::from_mut(&mut info).cast(),
                size_of::<ffi::SndInfo>() as u32,
                ffi::SENDV_SNDINFO,
                0,
            )
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    /// Reads what is next. No octets, and not an event: the end.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Part> {
        let mut info = ffi::RcvInfo::default();
        let (mut length, mut kind, mut flags) = (size_of::<ffi::RcvInfo>() as u32, 0, 0);
        let _stack = stack::lock();
        // SAFETY: the lock is held; `raw` is open and does not block; `buffer` and `info` have as many octets as said, and the
        // library writes no more.
        let read = unsafe {
            ffi::usrsctp_recvv(
                self.raw(),
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::from_mut(&mut info).cast(),
                &mut length,
                &mut kind,
                &mut flags,
            )
        };
        let octets = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;
        let is_event = flags & ffi::MSG_NOTIFICATION != 0;
        if octets > 0 && !is_event && kind != ffi::RECVV_RCVINFO {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        Ok(Part {
            octets,
            is_event,
            ends: flags & ffi::MSG_EOR != 0,
            info,
        })
    }

    /// Begins SHUTDOWN, behind all that is queued.
    pub fn shutdown(&self) -> io::Result<()> {
        let _stack = stack::lock();
        // SAFETY: the lock is held; `raw` is open.
        match unsafe { ffi::usrsctp_shutdown(self.raw(), ffi::SHUT_WR) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub fn status(&self) -> Result<ffi::StatusOption, Error> {
        self.get(ffi::IPPROTO_SCTP, option::STATUS)
    }

    /// The error that the association has met, 0 if none.
    pub fn error(&self) -> io::Error {
        let code = self.get::<c_int>(ffi::SOL_SOCKET, option::ERROR);
        io::Error::from_raw_os_error(code.unwrap_or(0))
    }

    pub fn link(&self) -> &Link {
        &self.link
    }

    fn set<T: Plain>(&self, level: c_int, name: c_int, value: &T) -> Result<(), Error> {
        let (value, length) = (ptr::from_ref(value).cast(), size_of::<T>() as u32);
        let _stack = stack::lock();
        // SAFETY: the lock is held; `raw` is open; `value` has `length` octets, all of them numbers, and is copied.
        match unsafe { ffi::usrsctp_setsockopt(self.raw(), level, name, value, length) } {
            0 => Ok(()),
            _ => Err(Error::last("usrsctp_setsockopt")),
        }
    }

    fn get<T: Plain>(&self, level: c_int, name: c_int) -> Result<T, Error> {
        let mut value = T::default();
        let mut length = size_of::<T>() as u32;
        let to: *mut c_void = ptr::from_mut(&mut value).cast();
        let _stack = stack::lock();
        // SAFETY: the lock is held; `raw` is open; `value` has `length` octets, and any of them are one.
        match unsafe { ffi::usrsctp_getsockopt(self.raw(), level, name, to, &mut length) } {
            0 => Ok(value),
            _ => Err(Error::last("usrsctp_getsockopt")),
        }
    }

    fn name(&self, port: u16) -> ffi::Address {
        ffi::Address {
            family: ffi::AF_CONN,
            port: port.to_be(),
            addr: stack::address(self.link.number()),
        }
    }

    fn raw(&self) -> *mut ffi::Socket {
        self.raw.as_ptr()
    }
}

/// Octets of an address.
const ADDRESS_LEN: u32 = size_of::<ffi::Address>() as u32;
/// Octets of SCTP's common header.
pub const COMMON_HEADER: u32 = 12;

impl Drop for Socket {
    fn drop(&mut self) {
        let _stack = stack::lock();
        // SAFETY: the lock is held; `raw` is open, and nobody has it behind this.
        unsafe { ffi::usrsctp_close(self.raw()) };
    }
}
