//! What a device for DDP over SCTP (RFC 5043) adds to the interface of the host: bits of records and registers that all devices have.
//!
//! Without the option these bits have no effect, and read 0. Chunks, and the reports about them, have ports of their own.

layout! {
    /// Arguments of `ARM_STREAM`, beside those of `stream_context`: a session of DDP over SCTP.
    sctp_context [4] {
        /// 1: the stream is a session of SCTP. `MARKERS`, `CRC` and `LONG_ULPDUS` have no meaning then, and bits 15:0 of `SEQUENCE_START` are the
        /// DDP-SSN of its first chunk: 0, or 1 if the host has the Initiate already (RFC 5043 §4, AMB-33).
        SCTP: 0 [14; 1],
    }
}

layout! {
    /// Arguments of `ARM_TRANSMIT`, beside those of `transmit_context`: a session of DDP over SCTP. `MARKERS`, `CRC` and `GATE` are 0 then. `EMSS` is
    /// the largest DDP segment plus 6 octets, rounded down to a multiple of 4: 1440 for segments of 1434 octets.
    sctp_transmit_context [4] {
        /// 1: the stream is a session of SCTP: each SEND is an FPDU and gives the user data of a chunk. Bits 15:0 of `SEQUENCE_START` are the
        /// DDP-SSN of its first chunk: 1, behind Initiate or Accept (RFC 5043 §4, AMB-33).
        SCTP: 0 [14; 1],
    }
}

layout! {
    /// Fields of `CAPABILITIES`, beside its own.
    sctp_capabilities [1] {
        /// 1: streams can be armed as sessions of SCTP.
        SCTP: 0 [3; 1],
    }
}

/// Of every such device, for documentation and files.
pub const LAYOUTS: &[crate::Layout] = &[sctp_context::LAYOUT, sctp_capabilities::LAYOUT];

/// Of those that send, too.
pub const TRANSMIT_LAYOUTS: &[crate::Layout] = &[sctp_transmit_context::LAYOUT];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::stream_context;
    use crate::transmit::{CAPABILITIES, transmit_context};

    #[test]
    fn the_bits_are_free_in_what_all_devices_have() {
        let of_context = stream_context::LAYOUT.fields.iter();
        let of_transmit = transmit_context::LAYOUT.fields.iter();
        let of_capabilities = CAPABILITIES.fields.iter();
        for (bit, mut others) in [
            (sctp_context::SCTP, of_context),
            (sctp_transmit_context::SCTP, of_transmit),
            (sctp_capabilities::SCTP, of_capabilities),
        ] {
            assert!(others.all(|other| !(other.lsb..other.lsb + other.width).contains(&bit.lsb)));
        }
        assert_eq!(sctp_context::WORDS, stream_context::WORDS);
        assert_eq!(sctp_transmit_context::WORDS, transmit_context::WORDS);
    }
}
