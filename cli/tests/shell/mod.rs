//! `warpline` as a shell runs it, for the tests of transfers.

use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// `warpline` with these arguments, and nothing to read.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs a command to its end; returns the exit code, what it printed and what it complained.
pub fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command(arguments).output().unwrap();
    let text = |octets| String::from_utf8(octets).unwrap();
    (status.code(), text(stdout), text(stderr))
}

/// Waits for the end of a server: its exit code.
pub fn ends(server: &mut Child, timeout: Duration) -> Option<i32> {
    let end = Instant::now() + timeout;
    loop {
        if let Some(status) = server.try_wait().unwrap() {
            return status.code();
        }
        assert!(Instant::now() < end, "the server does not end");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Octets to transfer.
pub fn octets(length: usize, seed: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..length).map(|_| rng.u8(..)).collect()
}
