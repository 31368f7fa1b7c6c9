//! Structures that the system's calls take (`linux/sctp.h`), where `libc` has none, and what builds those that it has.

use std::ffi::c_int;
use std::mem;
use std::net::SocketAddrV4;
use std::ptr;

/// Subscribes to an event.
pub const EVENT: c_int = 127;
/// UDP port of the peer.
pub const REMOTE_UDP_ENCAPS_PORT: c_int = 132;

/// Structures that consist of numbers: any octets are a value.
///
/// # Safety
/// Only for such types, without pointers.
pub unsafe trait Plain: Copy {
    /// All octets 0.
    // SAFETY: any octets are a value of such a type.
    const ZERO: Self = unsafe { mem::zeroed() };
}

// SAFETY: numbers, and structures of numbers.
unsafe impl Plain for c_int {}
unsafe impl Plain for u32 {}
unsafe impl Plain for EventOption {}
unsafe impl Plain for Encapsulation {}
unsafe impl Plain for Status {}
unsafe impl Plain for MemoryInfo {}
unsafe impl Plain for libc::linger {}
unsafe impl Plain for libc::sctp_initmsg {}
unsafe impl Plain for libc::sctp_sndinfo {}
unsafe impl Plain for libc::sctp_rcvinfo {}

/// `struct sctp_event`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct EventOption {
    association: i32,
    kind: u16,
    on: u8,
}

impl EventOption {
    pub fn on(kind: u16) -> Self {
        Self {
            association: 0,
            kind,
            on: 1,
        }
    }
}

/// `struct sctp_udpencaps`, for all addresses of the peer.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Encapsulation {
    association: i32,
    /// A `sockaddr_storage`, whose alignment is that of a pointer.
    address: [u64; 16],
    /// Big-endian.
    port: u16,
}

impl Encapsulation {
    pub fn to(port: u16) -> Self {
        Self {
            port: port.to_be(),
            ..Self::ZERO
        }
    }
}

/// `struct sctp_status`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Status {
    association: i32,
    state: i32,
    window: u32,
    unacknowledged: u16,
    pending: u16,
    inbound: u16,
    outbound: u16,
    /// Octets of user data in the largest chunk that is not fragmented.
    pub fragmentation_point: u32,
    /// A `struct sctp_paddrinfo`, which is packed.
    primary: [u32; 38],
}

/// What `SO_MEMINFO` tells (`linux/sock_diag.h`).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MemoryInfo([u32; 9]);

impl MemoryInfo {
    /// Octets that the socket keeps of what was sent (`SK_MEMINFO_WMEM_QUEUED`).
    pub fn queued(&self) -> u32 {
        self.0[5]
    }
}

/// An address as the system has it.
pub fn address(address: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from_ne_bytes(address.ip().octets()),
        },
        sin_zero: [0; 8],
    }
}

/// Room for the control messages of one call, aligned as their headers are.
#[repr(C)]
pub struct Control {
    words: [u64; 16],
    used: usize,
}

impl Control {
    /// All of it is room for the kernel's answer.
    pub fn empty() -> Self {
        Self {
            words: [0; 16],
            used: size_of::<[u64; 16]>(),
        }
    }

    /// One control message of SCTP.
    pub fn of<T: Plain>(kind: c_int, value: &T) -> Self {
        let mut control = Self::empty();
        let length = size_of::<T>() as u32;
        // SAFETY: these calculate lengths.
        let (all, written) = unsafe { (libc::CMSG_SPACE(length), libc::CMSG_LEN(length)) };
        assert!(
            all as usize <= control.used,
            "room for every structure that is sent"
        );
        control.used = all as usize;
        let header: *mut libc::cmsghdr = control.words.as_mut_ptr().cast();
        // SAFETY: the words have room for the header and the value, by the line above, and are aligned for both.
        unsafe {
            (*header).cmsg_len = written as usize;
            (*header).cmsg_level = libc::IPPROTO_SCTP;
            (*header).cmsg_type = kind;
            ptr::write_unaligned(libc::CMSG_DATA(header).cast::<T>(), *value);
        }
        control
    }

    /// The control message of SCTP of this kind, in the `filled` octets that the kernel has written.
    pub fn find<T: Plain>(&mut self, filled: usize, kind: c_int) -> Option<T> {
        // SAFETY: all octets 0 are a value: no address, no buffer.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_control = self.words.as_mut_ptr().cast();
        message.msg_controllen = filled.min(size_of_val(&self.words));
        // SAFETY: `message` names the words and no more octets than they have, so each header that is found lies within them; a
        // value is read only where its length says that it does, too.
        unsafe {
            let mut header = libc::CMSG_FIRSTHDR(&message);
            while let Some(entry) = header.as_ref() {
                let is_it = (entry.cmsg_level, entry.cmsg_type) == (libc::IPPROTO_SCTP, kind);
                if is_it && entry.cmsg_len >= libc::CMSG_LEN(size_of::<T>() as u32) as usize {
                    return Some(ptr::read_unaligned(libc::CMSG_DATA(header).cast::<T>()));
                }
                header = libc::CMSG_NXTHDR(&message, header);
            }
        }
        None
    }
}

/// A message of one part. It names both, which must outlive the call that takes it.
pub fn message(part: &libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: all octets 0 are a value: no address, no buffer.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = ptr::from_ref(part).cast_mut();
    message.msg_iovlen = 1;
    message.msg_control = control.words.as_mut_ptr().cast();
    message.msg_controllen = control.used;
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn structures_have_the_layout_of_the_header() {
        assert_eq!(size_of::<EventOption>(), 8);
        assert_eq!(size_of::<Encapsulation>(), 144);
        assert_eq!(offset_of!(Encapsulation, address), 8);
        assert_eq!(offset_of!(Encapsulation, port), 136);
        assert_eq!(size_of::<Status>(), 176);
        assert_eq!(offset_of!(Status, fragmentation_point), 20);
        assert_eq!(size_of::<MemoryInfo>(), 36);
    }

    #[test]
    fn a_control_message_is_found_where_it_is_whole() {
        let info = libc::sctp_rcvinfo {
            rcv_sid: 3,
            rcv_ppid: 16,
            ..Plain::ZERO
        };
        let mut control = Control::of(libc::SCTP_RCVINFO, &info);
        let all = control.used;
        let found = |control: &mut Control, filled, kind| {
            let found: Option<libc::sctp_rcvinfo> = control.find(filled, kind);
            found.map(|info| (info.rcv_sid, info.rcv_ppid))
        };
        assert_eq!(found(&mut control, all, libc::SCTP_RCVINFO), Some((3, 16)));
        assert_eq!(found(&mut control, all, libc::SCTP_SNDINFO), None);
        assert_eq!(found(&mut control, 0, libc::SCTP_RCVINFO), None);
        let mut short = Control::of(libc::SCTP_RCVINFO, &7_u32);
        assert_eq!(found(&mut short, all, libc::SCTP_RCVINFO), None);
    }
}
