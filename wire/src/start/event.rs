//! What a machine reports: that a decision is due, that the peer rejected, or that start-up failed.

use super::cause::Cause;
use super::parameters::Parameters;
use crate::error_number::ErrorNumber;

/// Layer of the Terminate Message for a failed RFC 6581 negotiation: LLP (RFC 6581 §8).
pub const TERMINATE_LAYER: u8 = 2;
/// Its error type: MPA.
pub const TERMINATE_TYPE: u8 = 0;

/// What happened in a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Responder: a valid Request is here. `peer` has it; accept or reject.
    Requested,
    /// Initiator: a valid Reply with R = 0 is here. `peer` has it; proceed or refuse.
    Replied,
    /// Initiator: the peer rejected. `peer` has its private data. MPA is left; the TCP connection is
    /// open and the ULP's, with all octets behind the Reply (AMB-30).
    Rejected,
    /// Start-up failed: report it, and close the TCP connection.
    Failed(Failure),
}

/// A failed start-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Why.
    pub cause: Cause,
    /// What comes before the close.
    pub closing: Closing,
}

/// How to close the TCP connection after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// At once (MPA-ERR-09).
    AtOnce,
    /// Gracefully, once the machine's output is sent: the answer to an RDMA Consortium peer, which has
    /// revision 0 (AMB-25, RFC 5044 App. C.2).
    AfterOutput,
    /// After a Terminate Message, which is our first and only FPDU.
    AfterTerminate(Terminate),
}

/// The Terminate Message that RFC 6581 demands, of layer [`TERMINATE_LAYER`] and type
/// [`TERMINATE_TYPE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminate {
    /// Its error code is [`ErrorNumber::code`].
    pub number: ErrorNumber,
    /// How to frame it.
    pub parameters: Parameters,
}
