//! The reference receiver's behaviour beyond the golden vectors: cuts, freezing, limits, ordering,
//! untagged queues, STags, retransmission.

#[path = "../common/mod.rs"]
mod common;

mod framing;
mod freezing;
mod tagged;
mod untagged;

use common::*;
use warpline_wire::ddp::{TaggedHeader, UntaggedHeader};
use warpline_wire::error_number::{Checks, Detail, Ending, ErrorNumber, sub_code};
use warpline_wire::receive::{
    Delivery, Flags, Framing, FramingConfig, MsnMode, Receiver, ReceiverConfig, ReceiverError,
    Scope, StagEntry, StreamConfig, Target,
};
use warpline_wire::send::{CrcField, FpduWriter, Message};
use warpline_wire::{crc, marker, mpa};

const STAG: u32 = 0x0000_0101;

fn send(msn: u32, mo: u32, last: bool, payload: &[u8]) -> Vec<u8> {
    let header = UntaggedHeader {
        last,
        rsvd_ulp: [0x43, 1, 2, 3, 4],
        qn: 0,
        msn,
        mo,
    };
    [&header.emit()[..], payload].concat()
}

fn write(stag: u32, to: u64, last: bool, payload: &[u8]) -> Vec<u8> {
    let header = TaggedHeader {
        last,
        rsvd_ulp: 0x40,
        stag,
        to,
    };
    [&header.emit()[..], payload].concat()
}

fn untagged(msn: u32, length: u32) -> Delivery {
    Delivery::Untagged {
        queue: 0,
        msn,
        length,
        rsvd_ulp: [0x43, 1, 2, 3, 4],
    }
}

/// Streams 1 and 2 in protection domain 7, queue 0 with eight buffers of 1000 octets on both, and
/// an STag for Tagged Offsets 0..4096.
fn receiver(config: ReceiverConfig, stream: StreamConfig) -> Receiver {
    let mut receiver = Receiver::new(config);
    for id in [1, 2] {
        let stream = StreamConfig {
            protection_domain: 7,
            ..stream
        };
        receiver.open(id, stream).unwrap();
        receiver.enable_queue(id, 0, 1).unwrap();
        for _ in 0..8 {
            receiver.post(id, 0, 1000).unwrap();
        }
    }
    receiver.set_stag(STAG, writable(7, 0, 4096));
    receiver
}

fn default_receiver() -> Receiver {
    receiver(ReceiverConfig::default(), StreamConfig::default())
}

fn marked() -> StreamConfig {
    StreamConfig {
        markers: true,
        ..StreamConfig::default()
    }
}

/// Mixed traffic whose payload is full of things that look like headers and markers.
fn mixed_ulpdus() -> Vec<Vec<u8>> {
    let mut decoy = stream_of(true, [send(9, 0, true, &[0; 40])]);
    decoy.resize(990, 0);
    vec![
        send(1, 0, false, &decoy[..600]),
        send(1, 600, true, &decoy[600..]),
        write(STAG, 1, false, &pattern(1, 501)),
        write(STAG, 502, true, &pattern(2, 3)),
        write(0xDEAD, 9, true, &[]),
        send(2, 0, true, &[]),
        send(3, 0, true, &pattern(3, 1000)),
    ]
}
