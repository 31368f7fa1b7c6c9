//! The library's state, of which a process has one: its lock, its clock, and the packets that it sends.
//!
//! ```text
//!  calls ─► lock ─► libusrsctp ─► output() ─► queue of a link ─► Link::output
//!  time  ─►  │
//!  Link::input ─► │
//! ```
//!
//! The library is started without threads of its own (`usrsctp_init_nothreads`): with them it would open raw sockets, and call back
//! at any time. So packets and time go in by calls alone, one at a time under the lock; a test has time at its will, and
//! nothing happens behind the caller's back. The library is never ended: its memory of closed sockets is freed by its timers.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::ffi;

/// Octets of the largest packet.
pub const MAX_PACKET: usize = 65_535;
/// Octets of the shortest packet: a common header and the header of a chunk.
pub const MIN_PACKET: usize = 16;
/// Time that passes between two looks at the timers.
const STEP: u32 = 10;
/// Steps of one call: a process that was stopped for hours takes larger ones.
const STEPS: u32 = 1000;

/// State that belongs to the library.
pub struct Stack {
    started: bool,
    /// The last link's number.
    links: usize,
    /// Up to when [`keep_time`] has let time pass.
    time: Option<Instant>,
}

static STACK: Mutex<Stack> = Mutex::new(Stack {
    started: false,
    links: 0,
    time: None,
});

/// Packets to be sent, by link. Its lock is held for moments only, with or without that of the stack.
static OUTPUT: Mutex<BTreeMap<usize, Queue>> = Mutex::new(BTreeMap::new());

/// Packets of a link that are to be sent.
struct Queue {
    packets: VecDeque<Vec<u8>>,
    limit: usize,
    dropped: u64,
}

/// Takes the lock, and starts the library at first. Every call of the library is made with the lock held.
pub fn lock() -> MutexGuard<'static, Stack> {
    let mut stack = STACK.lock().unwrap_or_else(PoisonError::into_inner);
    if !stack.started {
        stack.started = true;
        start();
    }
    stack
}

fn start() {
    // SAFETY: called once, before any other call, under the lock. `output` is a function and stays. The others set numbers.
    unsafe {
        ffi::usrsctp_init_nothreads(0, Some(output), None);
        // A packet has its CRC32c, and is judged by it, whatever way it takes.
        ffi::usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
        // Extensions that are not offered here: another address would be another link, ECN lies in IP, and messages are reliable.
        ffi::usrsctp_sysctl_set_sctp_auto_asconf(0);
        ffi::usrsctp_sysctl_set_sctp_asconf_enable(0);
        ffi::usrsctp_sysctl_set_sctp_auth_enable(0);
        ffi::usrsctp_sysctl_set_sctp_ecn_enable(0);
        ffi::usrsctp_sysctl_set_sctp_pr_enable(0);
        ffi::usrsctp_sysctl_set_sctp_reconfig_enable(0);
        ffi::usrsctp_sysctl_set_sctp_nrsack_enable(0);
        ffi::usrsctp_sysctl_set_sctp_pktdrop_enable(0);
    }
}

/// Called by the library, with the stack's lock held, for each packet.
unsafe extern "C" fn output(
    addr: *mut c_void,
    packet: *mut c_void,
    length: usize,
    _tos: u8,
    _dont_fragment: u8,
) -> c_int {
    if packet.is_null() || length > MAX_PACKET {
        return 0;
    }
    // SAFETY: the library passes `length` octets that it has allocated and frees behind this call.
    let octets = unsafe { std::slice::from_raw_parts(packet.cast::<u8>(), length) };
    let mut links = OUTPUT.lock().unwrap_or_else(PoisonError::into_inner);
    // A link that is gone has no queue: its packets are lost, as those of a cable that was pulled.
    if let Some(queue) = links.get_mut(&addr.addr()) {
        if queue.packets.len() < queue.limit {
            queue.packets.push_back(octets.to_vec());
        } else {
            queue.dropped = queue.dropped.saturating_add(1);
        }
    }
    0
}

/// Lets time pass for all associations of the process: their timers run.
///
/// For tests that have time at their will, and for callers that have a clock of their own. [`keep_time`] follows the system's.
pub fn elapse(time: Duration) {
    pass(
        &mut lock(),
        u32::try_from(time.as_millis()).unwrap_or(u32::MAX),
    );
}

/// Lets as much time pass as has passed since the last call, by the system's clock; nothing at the first call. Any number of callers
/// may do so.
pub fn keep_time() {
    let mut stack = lock();
    let now = Instant::now();
    let last = *stack.time.get_or_insert(now);
    let passed = now.saturating_duration_since(last).as_millis();
    let passed = u32::try_from(passed).unwrap_or(u32::MAX);
    if passed > 0 {
        stack.time = Some(last + Duration::from_millis(passed.into()));
        pass(&mut stack, passed);
    }
}

fn pass(_: &mut Stack, milliseconds: u32) {
    let step = STEP.max(milliseconds.div_ceil(STEPS));
    let mut left = milliseconds;
    while left > 0 {
        let now = left.min(step);
        // SAFETY: the lock is held and the library is started. Timers call only the library's functions, and `output`.
        unsafe { ffi::usrsctp_handle_timers(now) };
        left -= now;
    }
}

/// A new address, which is a number that the library never follows as a pointer.
pub fn open_link(limit: usize) -> usize {
    let mut stack = lock();
    stack.links += 1;
    let link = stack.links;
    let queue = Queue {
        packets: VecDeque::new(),
        limit,
        dropped: 0,
    };
    let mut links = OUTPUT.lock().unwrap_or_else(PoisonError::into_inner);
    links.insert(link, queue);
    drop(links);
    // SAFETY: the lock is held. The address is compared and copied, nothing else.
    unsafe { ffi::usrsctp_register_address(address(link)) };
    link
}

/// Removes an address. Sockets that are bound to it are closed.
pub fn close_link(link: usize) {
    let _stack = lock();
    // SAFETY: as in `open_link`.
    unsafe { ffi::usrsctp_deregister_address(address(link)) };
    let mut links = OUTPUT.lock().unwrap_or_else(PoisonError::into_inner);
    links.remove(&link);
}

/// Hands a packet of the peer to the library.
pub fn input(link: usize, packet: &[u8]) {
    debug_assert!((MIN_PACKET..=MAX_PACKET).contains(&packet.len()));
    let _stack = lock();
    // SAFETY: the lock is held. The library copies the octets, and checks them: they are a peer's.
    unsafe { ffi::usrsctp_conninput(address(link), packet.as_ptr().cast(), packet.len(), 0) };
}

/// The next packet that a link is to send.
pub fn next_output(link: usize) -> Option<Vec<u8>> {
    let mut links = OUTPUT.lock().unwrap_or_else(PoisonError::into_inner);
    links.get_mut(&link)?.packets.pop_front()
}

/// Packets that were dropped because a link's queue was full.
pub fn dropped(link: usize) -> u64 {
    let links = OUTPUT.lock().unwrap_or_else(PoisonError::into_inner);
    links.get(&link).map_or(0, |queue| queue.dropped)
}

/// A link's number as the library has it.
pub fn address(link: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(link)
}
