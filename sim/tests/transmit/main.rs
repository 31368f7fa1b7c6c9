//! Send queues of the simulated card: requests of a host, octets at a peer's socket.

mod bench;
mod completions;
mod endings;
mod hurried_host;
mod messages;
mod mixed;
mod resets;
