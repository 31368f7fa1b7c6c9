//! What is used of `usrsctp.h`, written by hand. `tests/layout.rs` compares all of it with the installed header.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// A socket of the library; only pointers to it exist.
#[repr(C)]
pub struct Socket {
    _opaque: [u8; 0],
}

/// Address family of ends whose packets the caller carries.
pub const AF_CONN: u16 = 123;
/// `SOCK_STREAM`: a socket has one association.
pub const SOCK_STREAM: c_int = 1;
/// Protocol, and level of options.
pub const IPPROTO_SCTP: c_int = 132;
/// Level of general options.
pub const SOL_SOCKET: c_int = 1;
/// What `usrsctp_shutdown` ends: sending.
pub const SHUT_WR: c_int = 1;
/// Flag of what is received: the last octets of a message.
pub const MSG_EOR: c_int = 0x80;
/// Flag of what is received: an event.
pub const MSG_NOTIFICATION: c_int = 0x2000;
/// Kind of the information behind a send: `SndInfo`.
pub const SENDV_SNDINFO: c_uint = 1;
/// Kind of the information in front of what is received: `RcvInfo`.
pub const RECVV_RCVINFO: c_uint = 1;
/// Flag of a message: unordered.
pub const UNORDERED: u16 = 0x0400;
/// Flags of `PathOption`: heartbeats are sent, at its interval.
pub const HB_ENABLE: u32 = 0x01;
/// The MTU is fixed.
pub const PMTUD_DISABLE: u32 = 0x10;

/// Linux's error for a message that is too large; `std` has no name for it.
pub const EMSGSIZE: i32 = 90;
/// Linux's error for an association that is being set up.
pub const EINPROGRESS: i32 = 115;

/// Numbers of options.
pub mod option {
    use std::ffi::c_int;

    /// `SO_SNDBUF`
    pub const SEND_BUFFER: c_int = 7;
    /// `SO_RCVBUF`
    pub const RECEIVE_BUFFER: c_int = 8;
    /// `SO_LINGER`
    pub const LINGER: c_int = 13;
    /// `SO_ERROR`
    pub const ERROR: c_int = 4;
    /// `SCTP_RTOINFO`
    pub const RTO: c_int = 1;
    /// `SCTP_ASSOCINFO`
    pub const ASSOCIATION: c_int = 2;
    /// `SCTP_INITMSG`
    pub const INIT: c_int = 3;
    /// `SCTP_NODELAY`
    pub const NO_DELAY: c_int = 4;
    /// `SCTP_ADAPTATION_LAYER`
    pub const ADAPTATION: c_int = 8;
    /// `SCTP_PEER_ADDR_PARAMS`
    pub const PATH: c_int = 0x0a;
    /// `SCTP_FRAGMENT_INTERLEAVE`
    pub const FRAGMENT_INTERLEAVE: c_int = 0x10;
    /// `SCTP_EVENT`
    pub const EVENT: c_int = 0x1e;
    /// `SCTP_RECVRCVINFO`
    pub const RECEIVE_INFO: c_int = 0x1f;
    /// `SCTP_STATUS`
    pub const STATUS: c_int = 0x100;
}

/// Types of events.
pub mod event {
    /// `SCTP_ASSOC_CHANGE`
    pub const ASSOCIATION: u16 = 1;
    /// `SCTP_SHUTDOWN_EVENT`
    pub const SHUTDOWN: u16 = 5;
    /// `SCTP_ADAPTATION_INDICATION`
    pub const ADAPTATION: u16 = 6;
    /// `SCTP_PARTIAL_DELIVERY_EVENT`
    pub const PARTIAL_DELIVERY: u16 = 7;
    /// `SCTP_SENDER_DRY_EVENT`
    pub const SENDER_DRY: u16 = 10;
}

/// States in an event of type [`event::ASSOCIATION`].
pub mod change {
    /// `SCTP_COMM_UP`
    pub const UP: u16 = 1;
    /// `SCTP_COMM_LOST`
    pub const LOST: u16 = 2;
    /// `SCTP_RESTART`
    pub const RESTART: u16 = 3;
    /// `SCTP_SHUTDOWN_COMP`
    pub const SHUT_DOWN: u16 = 4;
    /// `SCTP_CANT_STR_ASSOC`
    pub const NOT_STARTED: u16 = 5;
}

/// Where fields lie in events: octets from the start.
pub mod field {
    /// Type of any event, 2 octets.
    pub const TYPE: usize = 0;
    /// Association change: state, 2 octets.
    pub const STATE: usize = 8;
    /// Association change: streams towards the peer, 2 octets.
    pub const OUTBOUND: usize = 12;
    /// Association change: streams from the peer, 2 octets.
    pub const INBOUND: usize = 14;
    /// Adaptation indication: the peer's code, 4 octets.
    pub const ADAPTATION: usize = 8;
}

/// `struct sockaddr_conn`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Address {
    pub family: u16,
    pub port: u16,
    pub addr: *mut c_void,
}

/// `struct sctp_rcvinfo`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct RcvInfo {
    pub sid: u16,
    pub ssn: u16,
    pub flags: u16,
    pub ppid: u32,
    pub tsn: u32,
    pub cumtsn: u32,
    pub context: u32,
    pub assoc_id: u32,
}

/// `struct sctp_sndinfo`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct SndInfo {
    pub sid: u16,
    pub flags: u16,
    pub ppid: u32,
    pub context: u32,
    pub assoc_id: u32,
}

/// `struct sctp_event`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct EventOption {
    pub assoc_id: u32,
    pub kind: u16,
    pub on: u8,
}

/// `struct sctp_initmsg`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct InitOption {
    pub num_ostreams: u16,
    pub max_instreams: u16,
    pub max_attempts: u16,
    pub max_init_timeo: u16,
}

/// `struct sctp_rtoinfo`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct RtoOption {
    pub assoc_id: u32,
    pub initial: u32,
    pub max: u32,
    pub min: u32,
}

/// `struct sctp_assocparams`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct AssociationOption {
    pub assoc_id: u32,
    pub peer_rwnd: u32,
    pub local_rwnd: u32,
    pub cookie_life: u32,
    pub asocmaxrxt: u16,
    pub number_peer_destinations: u16,
}

/// `struct linger`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Linger {
    pub onoff: c_int,
    pub linger: c_int,
}

/// `struct sctp_paddrparams`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct PathOption {
    pub address: Storage,
    pub assoc_id: u32,
    pub hbinterval: u32,
    pub pathmtu: u32,
    pub flags: u32,
    pub ipv6_flowlabel: u32,
    pub pathmaxrxt: u16,
    pub dscp: u8,
}

/// `struct sctp_paddrinfo`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct PathStatus {
    pub address: Storage,
    pub assoc_id: u32,
    pub state: i32,
    pub cwnd: u32,
    pub srtt: u32,
    pub rto: u32,
    pub mtu: u32,
}

/// `struct sctp_status`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct StatusOption {
    pub assoc_id: u32,
    pub state: i32,
    pub rwnd: u32,
    pub unackdata: u16,
    pub penddata: u16,
    pub instrms: u16,
    pub outstrms: u16,
    pub fragmentation_point: u32,
    pub primary: PathStatus,
}

/// `struct sockaddr_storage`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Storage(pub [u64; 16]);

/// Called for each packet to be sent.
pub type Output = unsafe extern "C" fn(*mut c_void, *mut c_void, usize, u8, u8) -> c_int;

#[link(name = "usrsctp")]
unsafe extern "C" {
    pub fn usrsctp_init_nothreads(
        port: u16,
        output: Option<Output>,
        print: Option<unsafe extern "C" fn(*const c_char, ...)>,
    );
    /// The callbacks have arguments of their own; this crate gives none.
    pub fn usrsctp_socket(
        domain: c_int,
        kind: c_int,
        protocol: c_int,
        receive: Option<unsafe extern "C" fn()>,
        send: Option<unsafe extern "C" fn()>,
        threshold: u32,
        info: *mut c_void,
    ) -> *mut Socket;
    pub fn usrsctp_setsockopt(
        socket: *mut Socket,
        level: c_int,
        name: c_int,
        value: *const c_void,
        length: u32,
    ) -> c_int;
    pub fn usrsctp_getsockopt(
        socket: *mut Socket,
        level: c_int,
        name: c_int,
        value: *mut c_void,
        length: *mut u32,
    ) -> c_int;
    pub fn usrsctp_sendv(
        socket: *mut Socket,
        data: *const c_void,
        length: usize,
        to: *mut c_void,
        count: c_int,
        info: *mut c_void,
        info_length: u32,
        info_kind: c_uint,
        flags: c_int,
    ) -> isize;
    pub fn usrsctp_recvv(
        socket: *mut Socket,
        data: *mut c_void,
        length: usize,
        from: *mut c_void,
        from_length: *mut u32,
        info: *mut c_void,
        info_length: *mut u32,
        info_kind: *mut c_uint,
        flags: *mut c_int,
    ) -> isize;
    pub fn usrsctp_bind(socket: *mut Socket, name: *mut c_void, length: u32) -> c_int;
    pub fn usrsctp_listen(socket: *mut Socket, backlog: c_int) -> c_int;
    pub fn usrsctp_accept(socket: *mut Socket, name: *mut c_void, length: *mut u32) -> *mut Socket;
    pub fn usrsctp_connect(socket: *mut Socket, name: *mut c_void, length: u32) -> c_int;
    pub fn usrsctp_close(socket: *mut Socket);
    pub fn usrsctp_shutdown(socket: *mut Socket, how: c_int) -> c_int;
    pub fn usrsctp_conninput(addr: *mut c_void, packet: *const c_void, length: usize, ecn: u8);
    pub fn usrsctp_set_non_blocking(socket: *mut Socket, on: c_int) -> c_int;
    pub fn usrsctp_register_address(addr: *mut c_void);
    pub fn usrsctp_deregister_address(addr: *mut c_void);
    pub fn usrsctp_handle_timers(milliseconds: u32);
    pub fn usrsctp_sysctl_set_sctp_no_csum_on_loopback(value: u32) -> c_int;
    pub fn usrsctp_sysctl_set_sctp_auto_asconf(value: u32) -> c_int;
    pub fn usrsctp_sysctl_set_sctp_asconf_enable(value: u32) -> c_int;
    pub fn usrsctp_sysctl_set_sctp_auth_enable(value: u32) -> c_int;
    pub fn usrsctp_sysctl_set_sctp_ecn_enable(value: u32) -> c_int;
    pub fn usrsctp_sysctl_set_sctp_pr_enable(value: u32) -> c_int;
    pub fn usrsctp_sysctl_set_sctp_reconfig_enable(value: u32) -> c_int;
    pub fn usrsctp_sysctl_set_sctp_nrsack_enable(value: u32) -> c_int;
    pub fn usrsctp_sysctl_set_sctp_pktdrop_enable(value: u32) -> c_int;
}
