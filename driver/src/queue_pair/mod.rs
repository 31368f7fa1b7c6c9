//! Queue pairs: RDMAP (RFC 5040) over a stream, in the words of verbs.
//!
//! ```text
//!   program ─► QueuePair: post_send, post_receive ─► Machine ─► send ring, receive rings ─► card
//!           ◄─ WorkQueue: completions, events ◄───── rdmap ◄─── completion queue ◄─────────┘
//! ```

mod incoming;
mod machine;
mod options;
mod pair;
mod request;
mod work;
mod work_queue;

pub use options::PairOptions;
pub use pair::QueuePair;
pub use request::{Data, Local, Remote, WorkRequest};
pub use work::{PairEvent, PairState, Work, WorkCompletion, WorkOpcode, WorkStatus};
pub use work_queue::WorkQueue;

/// Queue numbers (RFC 5040 §4.1, Figure 4).
const SENDS: u8 = 0;
const READ_REQUESTS: u8 = 1;
const TERMINATES: u8 = 2;
