//! Exit codes of the commands that reach a result; [`Error::exit_code`](crate::Error::exit_code) has those of failures.

/// The command is done, and every check passed.
pub(super) const OK: u8 = 0;
/// The command is done, but a check failed.
pub(super) const DIFFERENT: u8 = 1;
/// The options cannot be used.
pub(super) const UNUSABLE: u8 = 2;
