//! The one place that decides about an FPDU: discard, place and deliver, or freeze the stream.
//!
//! ```text
//!  Segment ────►┌ queue of 16 ┐    ┌─ stag_table ─► tagged ──┐
//!               │             ├───►│                         ├─► judge ─► Placement + Delivery ─► place
//!  CrcVerdict ─►└ queue of 16 ┘    └─ receive_queues ─► untagged ──┘ │
//!                                                                    └─► error_records ─► registers
//!  commands of control ──► between two FPDUs
//! ```
//!
use rust_hdl_core::prelude::*;

/// What `control` asks for, between two FPDUs. `arguments` are those of the host command of the same name.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum CheckCommand {
    /// Write an entry of the STag table: `stag_entry`. Refused when the region runs beyond 2^64.
    WriteStag,
    /// Clear the entry that holds the STag, if one does: `revoke`. Never refused; a `Fence` must follow.
    RevokeStag,
    /// Start a stream: `stream_context`. Clears frozen bit, error record and queues. Refused when there is no such stream.
    Arm,
    /// Freeze a stream silently: `close`. Refused when there is no such stream.
    Freeze,
    /// Append a buffer to a queue: `receive_buffer`. Refused when the stream does not exist or was not armed with that
    /// queue, or when the queue is full.
    PostReceive,
    /// Send a `Delivery` of action 2 to `deliver`, behind all that was decided before. No arguments.
    Fence,
}

// Port list (agreed with `control`, `place`, `deliver`, `strip`/`commit`, `crc32c`):
//
//     pub struct Check<const S: usize>          Check::<S>::new(config: &Config)
//
//     In  clock, reset
//
//     In  segment: Segment            In  segment_valid: Bit      no ready: at most 16 FPDUs are under way
//     In  verdict: CrcVerdict         In  verdict_valid: Bit      one for each Segment, in the same order
//
//     In  command: CheckCommand       In  arguments: Bits<256>    8 words, word 0 in bits 31:0
//     In  command_valid: Bit          Out command_ready: Bit      taken when both are high; then they may change
//     Out command_done: Bit           one pulse a command, at its end; the next one may be given from then on
//     Out command_failed: Bit         high together with command_done when the command was refused
//
//     In  bus_fault: Bit              In  bus_fault_stream: Bits<8>    pulse: a write of that stream was answered with an error
//
//     Out placement: Placement        Out delivery: Delivery      one pair an FPDU or fence
//     Out m_valid: Bit                In  m_ready: Bit
//
//     In  record_row: Bits<8>         {stream, word}: bits 7:4, 3:0
//     Out record_data: Bits<32>       word of the error record, 2 cycles later
//
//     Out consumed: Bit               Out consumed_stream: Bits<8>     pulse: an FPDU has left (its pair is in the output register)
//     Out discarded: Bit              with consumed: its stream was frozen
//     Out errors: Bit                 pulse: a stream was frozen for an error (FPDU or bus fault)
//     Out payload: Bits<16>           with consumed: payload octets accepted for placement, 0 if none
