//! `read_mux`: three requesters, one bus; each answer reaches its requester, in order and unchanged; no requester
//! is granted two addresses in front of one that another offers; no output depends on an input in the same cycle.

mod faults;
mod support;
mod traffic;
