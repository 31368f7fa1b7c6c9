//! The bus of a soft processor that runs the card's control program beside the simulated device.
//!
//! ```text
//!  0x0000_0000  RAM: program, data, stack          0x8000_0000  registers of the control program's port (`mailbox`)
//!                                                  0x9000_0000  network port: the registers below
//! ```
//!
//! The network port stands for engines of TCP and SCTP: it carries out the calls that a control program makes, one at a time. The program
//! writes the operands of a call to `OPERAND`, and octets to be written to `OCTETS`, then the call's number to `CALL`. When the
//! write to `CALL` is over, the results are in `OPERAND` and `OCTETS`.
//!
//! A reset of the processor ends what its program has open: listeners are closed, connections reset, and streams attached to a
//! connection are told that it is lost.

use crate::address::AddressFields;
use crate::{Access, Register};

/// First octet of RAM, which is also where the processor starts.
pub const RAM: u32 = 0;
/// Octets of RAM.
pub const RAM_OCTETS: u32 = 128 << 10;
/// Octets that the program's image may have.
pub const IMAGE_MAX: u32 = 48 << 10;
/// Register 0 of the control program's port.
pub const CONTROL_PORT: u32 = 0x8000_0000;
/// Register 0 of the network port.
pub const NETWORK_PORT: u32 = 0x9000_0000;

registers! {
    /// A write carries out the call of that number, see `network call`.
    CALL: 0x000 [1 x 4] WriteOnly &[];
    /// Milliseconds of a clock that does not run backwards. Reading the low word keeps the high word that belongs to it.
    TIME: 0x008 [2 x 4] ReadOnly &[], reset None;
    /// A time. Writing the high word stalls the bus until that time, or until the mailbox or the network has something. All bits 1:
    /// no time.
    PAUSE: 0x010 [2 x 4] WriteOnly &[];
    /// Operands and results of the call, as in `network_call`.
    OPERAND: 0x040 [14 x 4] ReadWrite &[];
    /// Octets that are written, or were read, four a word, the first one lowest.
    OCTETS: 0x400 [256 x 4] ReadWrite &[];
}

/// Octets of one `READ` or `WRITE`.
pub const OCTETS_MAX: usize = 4 * OCTETS.count as usize;

codes! {
    /// The call.
    NetworkCall {
        /// Listens at the address. Listener and port.
        Listen LISTEN = 1;
        /// Closes the listener.
        Unlisten UNLISTEN = 2;
        /// Connects to the address. Connection.
        Connect CONNECT = 3;
        /// The next event. Connection, event, listener; `EVENT` is 0 if there is none.
        NextEvent NEXT_EVENT = 4;
        /// The peer's address.
        Peer PEER = 5;
        /// Sequence numbers of the next octets.
        Sequences SEQUENCES = 6;
        /// Octets of a segment's payload.
        Segment SEGMENT = 7;
        /// Reads at most `LENGTH` octets. `LENGTH`, `OCTETS`.
        Read READ = 8;
        /// Writes `LENGTH` octets of `OCTETS`. `LENGTH`: how many were accepted.
        Write WRITE = 9;
        /// Passes the connection to the stream, from `RECEIVE_SEQUENCE` on.
        Attach ATTACH = 10;
        /// Sends a FIN.
        Finish FINISH = 11;
        /// Closes the connection.
        Close CLOSE = 12;
        /// Closes the connection by RST.
        Abort ABORT = 13;
        /// Asks for a session with `LENGTH` octets of private data in `OCTETS`.
        Initiate INITIATE = 14;
        /// Accepts the peer's session, with private data as in `INITIATE`.
        Accept ACCEPT = 15;
        /// Rejects the peer's session, with private data as in `INITIATE`.
        Reject REJECT = 16;
        /// Private data of the peer's last control message: `LENGTH`, `OCTETS`.
        PrivateData PRIVATE_DATA = 17;
    }
}

codes! {
    /// `network_call.STATUS`.
    NetworkStatus {
        /// Carried out.
        Done DONE = 0;
        /// The address is not one for this, or in use.
        Address ADDRESS = 1;
        /// No room for one more.
        Full FULL = 2;
        /// The network side has failed, or the call does not fit its state.
        Failed FAILED = 3;
        /// The connection is lost.
        Lost LOST = 4;
        /// There is no such transport.
        Transport TRANSPORT = 5;
    }
}

codes! {
    /// `network_call.EVENT`.
    NetworkEvent {
        /// A listener has accepted the connection.
        Accepted ACCEPTED = 1;
        /// The peer has accepted it.
        Connected CONNECTED = 2;
        /// It could not be established.
        Refused REFUSED = 3;
        /// Octets can be read.
        Readable READABLE = 4;
        /// Octets can be written again.
        Writable WRITABLE = 5;
        /// The peer's FIN came.
        HalfClosed HALF_CLOSED = 6;
        /// It is lost.
        Lost LOST = 7;
        /// Its stream was closed.
        Detached DETACHED = 8;
        /// `SEGMENT` has another answer than the last time.
        SegmentChanged SEGMENT_CHANGED = 9;
        /// The peer has accepted the session.
        SessionAccepted SESSION_ACCEPTED = 10;
        /// The peer has rejected the session.
        SessionRejected SESSION_REJECTED = 11;
        /// The peer has ended the session instead of accepting it.
        SessionTerminated SESSION_TERMINATED = 12;
    }
}

layout! {
    /// Operands and results of a call at the network port.
    network_call [14] {
        /// Names the connection.
        CONNECTION: 0 [0; 64],
        /// Names the listener.
        LISTENER: 2 [0; 64],
        /// IPv6 address, octets 0 to 7, the first one most significant. An IPv4 address a.b.c.d is ::ffff:a.b.c.d.
        ADDRESS_HIGH: 4 [0; 64],
        /// Octets 8 to 15.
        ADDRESS_LOW: 6 [0; 64],
        /// Scope of a link-local IPv6 address (RFC 4007), otherwise 0.
        SCOPE: 8 [0; 32],
        /// Port of TCP, or of UDP for SCTP.
        PORT: 9 [0; 16],
        /// `ATTACH`: number of the stream.
        STREAM: 9 [16; 8],
        /// `LISTEN`, `CONNECT`: see `transport`.
        TRANSPORT: 9 [24; 8],
        /// `READ`, `WRITE`, calls with private data: number of octets.
        LENGTH: 10 [0; 16],
        /// `SEGMENT`: octets of payload in a TCP segment that the card sends, or the maximum DDP segment of a session.
        EMSS: 10 [16; 16],
        /// Of the peer: the first octet that was not read.
        RECEIVE_SEQUENCE: 11 [0; 32],
        /// Of the card: the first octet that was not written.
        SEND_SEQUENCE: 12 [0; 32],
        /// How the call ended, see `network status`.
        STATUS: 13 [0; 8],
        /// `NEXT_EVENT`: see `network event`.
        EVENT: 13 [8; 8],
    }
}

/// Words of operands and results.
pub type CallWords = [u32; network_call::WORDS];
const _: () = assert!(network_call::WORDS == OPERAND.count as usize);

/// Where a call has its address.
pub const CALL_ADDRESS: AddressFields = AddressFields {
    high: network_call::ADDRESS_HIGH,
    low: network_call::ADDRESS_LOW,
    scope: network_call::SCOPE,
    port: network_call::PORT,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layout, register};
    use core::net::SocketAddr;

    #[test]
    fn registers_and_fields_have_no_overlap_and_fit() {
        let mut used = [false; register::SPACE as usize / 4];
        for register in REGISTERS {
            for index in 0..register.count {
                let word = register.at(index) as usize / 4;
                assert!(!used[word], "{} overlaps", register.name);
                used[word] = true;
            }
        }
        let Layout { words, fields, .. } = network_call::LAYOUT;
        let mut used = [false; 32 * network_call::WORDS];
        for field in fields {
            let end = field.lsb + field.width;
            assert!(end <= 32 * words, "{} leaves the record", field.name);
            for bit in &mut used[field.lsb..end] {
                assert!(!*bit, "{} overlaps", field.name);
                *bit = true;
            }
        }
    }

    #[test]
    fn addresses_read_back_as_they_were_written() {
        for text in ["192.0.2.1:80", "[2001:db8::1:2]:65535", "[fe80::1%7]:1"] {
            let address: SocketAddr = text.parse().unwrap();
            let mut words = CallWords::default();
            CALL_ADDRESS.put(&mut words, address);
            assert_eq!(CALL_ADDRESS.get(&words), address);
        }
        let mut words = CallWords::default();
        CALL_ADDRESS.put(&mut words, "192.0.2.1:80".parse().unwrap());
        assert_eq!(words[4..8], [0, 0, 0xc000_0201, 0x0000_ffff]);
    }
}
