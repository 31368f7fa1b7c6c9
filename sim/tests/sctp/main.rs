//! Two cards over SCTP, in UDP datagrams, with commands given by hand: sessions, RDMA Writes and Sends, loss; and a stand-in for the
//! device, which answers chunks as it is told.

mod bench;
mod chunks;
mod lossy;
mod sessions;
mod stand_in;
mod traffic;
