//! A thread for blocks with many wide signals.

use std::panic::resume_unwind;
use std::thread;

/// Octets of its stack. Pages that nothing touches take no memory.
const LARGE_STACK: usize = 512 << 20;

/// Runs `work` with a stack that holds blocks with hundreds of 512-bit signals, of which rust-hdl keeps many copies while it builds
/// and simulates them. The thread keeps the caller's name.
///
/// # Panics
/// When `work` panics, with the same message, or when the thread cannot be started.
pub fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let name = thread::current().name().unwrap_or("main").to_owned();
        let thread = thread::Builder::new()
            .name(name)
            .stack_size(LARGE_STACK)
            .spawn_scoped(scope, work)
            .expect("a thread can be started");
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}
