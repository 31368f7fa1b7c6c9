//! What every command of `warpline` owes to who types it: help for each option, examples that it accepts, and the exit codes
//! that its help lists. All commands are taken from the program's own description, so that a new one is held to it, too.

#[path = "manners/codes.rs"]
mod codes;
#[path = "manners/help.rs"]
mod help;
#[path = "manners/output.rs"]
mod output;
mod process;
