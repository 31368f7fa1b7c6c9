//! The eight recorded runs of Linux siw: what is in them, read through the public interface.

mod common;

use common::{CAPTURES, open};
use warpline_capture::Side;

/// What a run is known to contain, taken from the capture files with an independent script.
struct Expected {
    name: &'static str,
    /// Ports of client and server.
    ports: (u16, u16),
    /// First sequence numbers of Request and Reply.
    starts: (u32, u32),
    /// TCP segments seen from client and server.
    segments: (usize, usize),
    /// Payload octets from client and server, start frames included.
    octets: (usize, usize),
    crc: bool,
    /// IRD and ORD of both frames.
    depths: [(u16, u16); 2],
    /// The ULP's private data.
    private: &'static [u8],
    reply_private_len: usize,
}

const IWTEST: &[u8] = b"iwtest-pd";

#[rustfmt::skip]
const EXPECTED: [Expected; 8] = [
    Expected { name: "crc0-rev2-writes", ports: (40851, 7017), starts: (527755391, 4036694755), segments: (266, 263), octets: (331057, 56), crc: false, depths: [(4, 4), (16, 4)], private: IWTEST, reply_private_len: 32 },
    Expected { name: "crc1-rev2-badstag", ports: (54149, 7007), starts: (3776939178, 1115009956), segments: (7, 7), octets: (201, 100), crc: true, depths: [(4, 4), (16, 4)], private: IWTEST, reply_private_len: 32 },
    Expected { name: "crc1-rev2-mixed", ports: (54171, 7005), starts: (2527536895, 4126029338), segments: (182, 136), octets: (164417, 39472), crc: true, depths: [(4, 4), (16, 4)], private: IWTEST, reply_private_len: 32 },
    Expected { name: "crc1-rev2-nobuf", ports: (49888, 7014), starts: (1934734822, 3333481320), segments: (70, 71), octets: (5753, 104), crc: true, depths: [(4, 4), (16, 4)], private: IWTEST, reply_private_len: 32 },
    Expected { name: "crc1-rev2-oob", ports: (59727, 7009), starts: (3312574601, 2301529859), segments: (7, 7), octets: (4093, 100), crc: true, depths: [(4, 4), (16, 4)], private: IWTEST, reply_private_len: 32 },
    Expected { name: "crc1-rev2-sends", ports: (59235, 7003), starts: (1449440456, 389520032), segments: (46, 24), octets: (11193, 56), crc: true, depths: [(4, 4), (16, 4)], private: IWTEST, reply_private_len: 32 },
    Expected { name: "crc1-rev2-writes", ports: (41559, 7001), starts: (1871746176, 2484958372), segments: (266, 263), octets: (331057, 56), crc: true, depths: [(4, 4), (16, 4)], private: IWTEST, reply_private_len: 32 },
    Expected { name: "crc1-rping", ports: (39068, 7174), starts: (2249541733, 3716863354), segments: (76, 74), octets: (41424, 41944), crc: true, depths: [(1, 1), (1, 1)], private: b"", reply_private_len: 0 },
];

#[test]
fn every_capture_is_listed() {
    let mut names = EXPECTED.map(|e| e.name);
    names.sort_unstable();
    assert_eq!(names, CAPTURES);
}

// req: MPA-START-14, MPA-START-15, MPA-START-36, MPA-CRC-10
#[test]
fn connections_and_start_frames() {
    for e in EXPECTED {
        let capture = open(e.name);
        let [connection] = capture.connections.as_slice() else {
            panic!("{}: {} connections", e.name, capture.connections.len());
        };
        let (client, server) = (&connection.client, &connection.server);
        assert_eq!((client.from.port(), server.from.port()), e.ports);
        assert_eq!((client.to, server.to), (server.from, client.from));
        assert_eq!((client.start_seq(), server.start_seq()), e.starts);
        assert_eq!((client.segments.len(), server.segments.len()), e.segments);

        let mpa = connection.mpa.as_ref().unwrap();
        assert_eq!(mpa.initiator, Side::Client, "{}", e.name);
        assert_eq!(mpa.responder(), Side::Server);
        for (frame, depths) in [&mpa.request, &mpa.reply].into_iter().zip(e.depths) {
            assert!(!frame.markers, "{}", e.name);
            assert_eq!((frame.crc, frame.revision), (e.crc, 2), "{}", e.name);
            let negotiation = frame.negotiation.unwrap();
            assert_eq!((negotiation.ird, negotiation.ord), depths, "{}", e.name);
        }
        assert_eq!(mpa.request.private_data, e.private);
        assert_eq!(mpa.reply.private_data.len(), e.reply_private_len);
        assert_eq!(mpa.crc(), e.crc);
        assert!(!mpa.markers(Side::Client) && !mpa.markers(Side::Server));
    }
}

// req: MPA-START-01
#[test]
fn flows_begin_behind_the_start_frames() {
    for e in EXPECTED {
        let capture = open(e.name);
        let connection = &capture.connections[0];
        let frames = [24 + e.private.len(), 24 + e.reply_private_len];
        let totals = [e.octets.0, e.octets.1];
        let starts = [e.starts.0, e.starts.1];
        for (i, side) in [Side::Client, Side::Server].into_iter().enumerate() {
            let stream = connection.sent_by(side).stream();
            assert_eq!((stream.octets.len(), stream.gap), (totals[i], None));
            let flow = connection.flow(side).unwrap();
            assert_eq!(flow.seq_start, starts[i].wrapping_add(frames[i] as u32));
            assert_eq!((flow.crc, flow.markers), (e.crc, false));
            assert_eq!(flow.octets().unwrap(), stream.octets[frames[i]..]);
        }
        assert_eq!(
            capture.target_flow(),
            connection.flow(Side::Client).unwrap()
        );
    }
}

#[test]
fn ground_truth_is_read() {
    for name in CAPTURES.into_iter().filter(|n| *n != "crc1-rping") {
        let capture = open(name);
        let regions = capture.regions.as_ref().unwrap();
        assert_eq!((regions.len, regions.ro_len), (1 << 20, 1 << 16));
        assert_eq!((regions.recv_count, regions.recv_len), (64, 512));
        assert_eq!(capture.memory.as_ref().unwrap().len(), 1 << 20);
        assert_eq!(capture.receive_buffers.as_ref().unwrap().len(), 64 * 512);
        let completions = capture.completions.as_ref().unwrap();
        assert_eq!(completions.len(), 64);
        assert!(completions.iter().all(|c| c.is_success() != c.is_flushed()));
        // The target advertises the same region in the private data of its Reply.
        let reply = &capture.mpa_connections().next().unwrap().1.reply;
        assert_eq!(reply.private_data[..8], regions.addr.to_le_bytes());
        assert_eq!(reply.private_data[8..12], regions.rkey.to_le_bytes());
    }
    let rping = open("crc1-rping");
    assert!(rping.regions.is_none() && rping.memory.is_none() && rping.completions.is_none());
}

#[test]
fn terminate_is_found_in_the_kernel_log() {
    let reported = CAPTURES.map(|name| open(name).terminate().map(|t| (t.layer, t.etype, t.code)));
    let (stag, buffer, bounds) = (Some((1, 1, 0)), Some((1, 2, 2)), Some((1, 1, 1)));
    assert_eq!(
        reported,
        [None, stag, None, buffer, bounds, None, None, None]
    );
    assert!(
        open("crc1-rev2-writes").kernel_log.is_some(),
        "a log without a Terminate"
    );
}
