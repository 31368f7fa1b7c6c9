//! Exit codes of the commands that reach a result; [`Error::exit_code`](crate::Error::exit_code) has those of failures.

/// The command is done, and what it looked at is as it should be.
pub(super) const OK: u8 = 0;
/// What the command looked at is not as it should be.
pub(super) const DIFFERENT: u8 = 1;
/// The options cannot be used.
pub(super) const UNUSABLE: u8 = 2;
