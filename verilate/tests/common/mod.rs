//! Shared by the tests: a clock cycle, and running a test again in another process.
#![allow(dead_code, reason = "no test file uses all of it")]

use std::process::Command;

use warpline_verilate::{Error, Model, Port, Status};

/// One clock cycle of 10 time units; the last evaluation's result.
pub fn cycle(model: &mut Model, clk: Port) -> Result<Status, Error> {
    let mut status = Ok(Status::Running);
    for level in [0, 1] {
        model.set(clk, level);
        status = model.eval();
        model.advance(5);
        if status.is_err() {
            break;
        }
    }
    status
}

const ROLE: &str = "WARPLINE_VERILATE_TEST_ROLE";

/// The role of a child process; `None` in the test itself.
pub fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// Runs the named test of this binary again, in a process of its own, with a role.
pub fn again(test: &str, role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture"])
        .env(ROLE, role);
    command
}

/// A text that no earlier run has used, so that the cache has no model with it.
pub fn nonce() -> String {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    format!("// {} {}\n", std::process::id(), now.as_nanos())
}
