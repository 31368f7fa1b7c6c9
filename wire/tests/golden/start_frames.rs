//! MPA start frames.

use super::*;

// req: MPA-START-13, MPA-START-17, MPA-START-19, MPA-START-23, MPA-START-26, MPA-START-27
// req: MPA-START-36, MPA-PRIV-06, MPA-PRIV-11, MPA-CRC-26
#[test]
fn start_frames() {
    let vectors = vectors();
    for (name, markers, crc) in [
        ("V-START-D M=0 C=0", false, false),
        ("V-START-D M=0 C=1", false, true),
        ("V-START-D M=1 C=0", true, false),
        ("V-START-D M=1 C=1", true, true),
    ] {
        let key = DraftKey { markers, crc };
        let wire = octets(&vectors[name]["frame"]);
        assert_eq!(key.emit()[..], wire, "{name}");
        let complete = Progress::Complete {
            frame: key,
            len: 16,
        };
        assert_eq!(DraftKey::parse(&wire), Ok(complete), "{name}");
    }

    let r1 = Frame {
        kind: Kind::Request,
        markers: true,
        crc: true,
        rejected: false,
        revision: 1,
        negotiation: None,
        private_data: &[],
    };
    let r2 = Frame {
        kind: Kind::Reply,
        markers: false,
        private_data: b"hello",
        ..r1
    };
    let r3 = Frame {
        rejected: true,
        private_data: &[],
        ..r2
    };
    let r4 = Frame {
        markers: false,
        revision: 2,
        negotiation: Some(Negotiation {
            peer_to_peer: true,
            rtr_send: false,
            rtr_write: true,
            rtr_read: false,
            ird: 16,
            ord: 8,
        }),
        ..r1
    };
    let r4_name = "V-START-R4 RFC 6581 request rev 2, S=1, A=1 C=1(write RTR), IRD 16 ORD 8";
    for (name, frame) in [
        ("V-START-R1 request M=1 C=1 no PD", r1),
        ("V-START-R2 reply M=0 C=1 PD=hello", r2),
        ("V-START-R3 reply rejected R=1", r3),
        (r4_name, r4),
    ] {
        let wire = octets(&vectors[name]["frame"]);
        let mut out = [0; 64];
        let len = frame.emit(&mut out).unwrap();
        assert_eq!(out[..len], wire, "{name}");
        let complete = Progress::Complete { frame, len };
        assert_eq!(Frame::parse(&wire, frame.kind), Ok(complete), "{name}");
    }
}
