//! `read_mux`: three requesters, one bus; answers find their way, in order and unchanged, nobody waits for two addresses of
//! another, and nothing leads through.

mod faults;
mod support;
mod traffic;
