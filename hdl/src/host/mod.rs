//! What the host sees of the device: registers, commands, rings, completions, interrupts and the bus to its memory.

pub mod command_arbiter;
pub mod completion;
pub mod control;
pub mod interrupts;
pub mod mailbox;
pub mod message_mux;
pub mod read_mux;
pub mod read_responder;
pub mod receive_rings;
pub mod registers;
pub mod send_queues;
pub mod transmit_control;
pub mod write_mux;
