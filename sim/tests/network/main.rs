//! Peers at real sockets, through the network side, to host memory and back.

mod bench;
mod ends;
mod limits;
mod record;
mod segments;
mod traffic;
