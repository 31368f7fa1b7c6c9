//! The control program between scripted registers, scripted TCP connections and a host that sends messages by hand.

mod fuzz;
mod initiator;
mod kills;
mod limits;
mod model;
mod operation;
mod responder;
mod restarts;
mod segments;
mod sessions;
