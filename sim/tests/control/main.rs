//! The control program beside simulated cards, by messages through the mailbox, against live peers.

mod bench;
mod pairs;
mod peers;
