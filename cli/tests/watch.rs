//! `warpline card --watch`: what is drawn of a snapshot, what is refused, and the whole of it on a pseudo-terminal.
#![cfg(feature = "watch")]

#[path = "watch/drawn.rs"]
mod drawn;
#[path = "watch/live.rs"]
mod live;
mod process;
