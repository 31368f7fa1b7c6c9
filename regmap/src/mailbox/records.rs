//! Bits of the messages. A message is one record of 256 words; what its kind does not use is 0 and is not read.
//!
//! ```text
//!  word  0        1          2 … 7      8, 9     10 … 12  13, 14   16 … 22    23          64 … 191
//!      ├ message ┼ private ┼ address ┼ depths ┼ stream ┼ armed ┼ settings ┼ transport ┼ … ┼ private data ┤
//! ```

layout! {
    /// The head of every message.
    message [256] {
        /// Kind of the message: see the lists of kinds.
        KIND: 0 [0; 8],
        /// `LISTEN_FAILED`, `FAILED`, `CLOSED`, `REFUSED`: why.
        REASON: 0 [8; 8],
        /// Number of the connection; of the listener in `LISTEN`, `UNLISTEN`, `LISTENING` and `LISTEN_FAILED`.
        NUMBER: 0 [16; 16],
        /// `REQUESTED`: the listener. `REFUSED`: kind of the message that was refused. `FAILED`: error type in bits 11:8, code in
        /// bits 7:0 (RFC 5044 §8); over SCTP those of a connection that is closed or lost.
        DETAIL: 1 [16; 16],
    }
}

layout! {
    /// Address and port: the own ones in `LISTEN`, the peer's in `CONNECT` and `REQUESTED`. `LISTENING` has the port.
    message_address [8] {
        /// IPv6 address, octets 0 to 7, the first one most significant. An IPv4 address a.b.c.d is ::ffff:a.b.c.d.
        ADDRESS_HIGH: 2 [0; 64],
        /// Octets 8 to 15.
        ADDRESS_LOW: 4 [0; 64],
        /// Scope of a link-local IPv6 address (RFC 4007), otherwise 0.
        SCOPE: 6 [0; 32],
        /// Port of TCP, or of UDP for SCTP.
        PORT: 7 [0; 16],
        /// `LISTEN`: connections of the listener that may wait for the host's answer or be on their way to it.
        BACKLOG: 7 [16; 16],
    }
}

layout! {
    /// Depths and RTR indications (RFC 6581): those that the host offers in `CONNECT`, `ACCEPT` and `REJECT`, those of the peer's
    /// frame in `REQUESTED` and `REJECTED`, those settled in `ARMED`.
    message_depths [10] {
        /// Inbound RDMA Reads; 0x3FFF in a peer's frame: the ULPs settle it.
        IRD: 8 [0; 16],
        /// Outbound RDMA Reads.
        ORD: 8 [16; 16],
        /// 1: by RFC 6581. With 0, the other fields of the record mean nothing, except in `ACCEPT` and `REJECT`, which have no
        /// such bit: there they count if the peer's Request is of revision 2.
        ENHANCED: 9 [0; 1],
        /// 1: peer-to-peer model.
        PEER_TO_PEER: 9 [1; 1],
        /// RTR indication by a zero-length Send.
        RTR_SEND: 9 [2; 1],
        /// RTR indication by a zero-length RDMA Write.
        RTR_WRITE: 9 [3; 1],
        /// RTR indication by a zero-length RDMA Read.
        RTR_READ: 9 [4; 1],
        /// `CONNECT`: the ULPs have agreed on IRD; 0x3FFF is sent.
        IRD_ULP: 9 [5; 1],
        /// `CONNECT`: the ULPs have agreed on ORD; 0x3FFF is sent.
        ORD_ULP: 9 [6; 1],
        /// `REQUESTED`, `ARMED`: MPA revision of the peer's frame, or in use.
        REVISION: 9 [8; 8],
    }
}

layout! {
    /// `CONNECT`, `ACCEPT`: the host's choices for the stream, as in `stream_context` and `transmit_context`.
    message_stream [13] {
        /// Protection domain of the stream.
        PROTECTION_DOMAIN: 10 [0; 16],
        /// One bit for each untagged queue.
        QUEUES: 10 [16; 8],
        /// See `stream_context`.
        TAGGED_COMPLETIONS: 10 [24; 1],
        /// See `stream_context`.
        STRICT_MO: 10 [25; 1],
        /// See `stream_context`.
        MSN_WINDOW: 10 [26; 1],
        /// See `stream_context`.
        LONG_ULPDUS: 10 [27; 1],
        /// First MSN of the receiving direction; 1, except in tests of the wrap.
        RECEIVE_MSN: 11 [0; 32],
        /// First MSN of the sending direction; 1, except in tests of the wrap.
        SEND_MSN: 12 [0; 32],
    }
}

layout! {
    /// `ARMED`: the stream as start-up has settled it.
    message_armed [15] {
        /// Stream number.
        STREAM: 13 [0; 8],
        /// 1: markers are sent.
        SEND_MARKERS: 13 [8; 1],
        /// 1: markers are received.
        RECEIVE_MARKERS: 13 [9; 1],
        /// 1: CRCs in both directions.
        CRC: 13 [10; 1],
        /// Octets of a TCP segment's payload.
        EMSS: 13 [16; 16],
        /// With `message_depths.ENHANCED`: IRD of the peer's frame as sent.
        PEER_IRD: 14 [0; 16],
        /// ORD of the peer's frame as sent.
        PEER_ORD: 14 [16; 16],
    }
}

layout! {
    /// `CONFIGURE`: the settings of the machine's administrator. They hold for connections that begin later. Times are in
    /// milliseconds, 0 is no limit.
    message_settings [23] {
        /// 1: CRCs are not asked for (MPA-CRC-02). The peer may still ask for them.
        CRC_OFF: 16 [0; 1],
        /// 1: CRCs are used whatever `CRC_OFF` says (MPA-CRC-04).
        FORCE_CRC: 16 [1; 1],
        /// 1: the card asks for markers.
        MARKERS: 16 [2; 1],
        /// 1: revision 2 (RFC 6581) is allowed.
        ENHANCED: 16 [3; 1],
        /// Largest IRD of a connection, at most 0x3FFE.
        MAX_IRD: 16 [16; 16],
        /// From the TCP connection to the complete Request; from `CONNECT` to the complete Reply (AMB-52).
        PEER_TIME: 17 [0; 32],
        /// From `REQUESTED` to `ACCEPT` or `REJECT`, and from `ARMED` to `PROCEED`.
        HOST_TIME: 18 [0; 32],
        /// From our FIN to the peer's, as long as nothing arrives.
        CLOSE_TIME: 19 [0; 32],
        /// Without progress while a received FPDU is incomplete (AMB-23).
        IDLE_TIME: 20 [0; 32],
        /// Connections that one protection domain may have; 0: no limit.
        DOMAIN_CONNECTIONS: 21 [0; 16],
        /// Connections of one listener that may be in start-up, whatever `BACKLOG` says; 0: no limit.
        LISTENER_CONNECTIONS: 21 [16; 16],
    }
}

layout! {
    /// `LISTEN`, `CONNECT`: what carries DDP.
    message_transport [24] {
        /// See `transport`.
        TRANSPORT: 23 [0; 8],
    }
}

layout! {
    /// Private data of `CONNECT`, `ACCEPT`, `REJECT`, `REQUESTED`, `ARMED` (of the Reply, at the Initiator) and `REJECTED`. The
    /// octets begin at word 64, the first one in bits 7:0.
    message_private [192] {
        /// Octets of private data, at most 512.
        LENGTH: 1 [0; 16],
        /// The first four octets; the others follow, up to word 191.
        DATA: 64 [0; 32],
    }
}

/// Words in front of the private data that messages use.
pub const HEAD_WORDS: usize = message_transport::WORDS;
/// First word of the private data.
pub const PRIVATE_WORD: usize = 64;
/// Most octets of private data (RFC 5044 §7.1.1).
pub const PRIVATE_MAX: usize = 512;

/// All of them.
pub const LAYOUTS: &[crate::Layout] = &[
    message::LAYOUT,
    message_address::LAYOUT,
    message_depths::LAYOUT,
    message_stream::LAYOUT,
    message_armed::LAYOUT,
    message_settings::LAYOUT,
    message_transport::LAYOUT,
    message_private::LAYOUT,
];
