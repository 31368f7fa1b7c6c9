//! A path that becomes narrower or wider while a connection lives: FPDUs follow it, so that each fits a TCP segment.
//!
//! ```text
//!  path ─► network side ─► SegmentChanged ─► control program ─► SET_EMSS ─► FPDUs ─► a plain socket, which looks at their lengths
//! ```

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use warpline_driver::{
    ListenOptions, Listener, Local, QueuePair, Registration, Remote, WorkRequest, WorkStatus,
};
use warpline_hdl::Config;
use warpline_sim::ControlOptions;
use warpline_wire::ddp::{TAGGED_HEADER_LEN, TaggedHeader};
use warpline_wire::send::{CrcField, FpduWriter};

use crate::bench::{Engine, Machine, PATIENCE, anywhere, each};

/// Start frames of revision 1 with CRC, without markers and private data (RFC 5044 §7.1.1).
const REQUEST: [u8; 20] = *b"MPA ID Req Frame\x40\x01\0\0";
const REPLY: [u8; 20] = *b"MPA ID Rep Frame\x40\x01\0\0";
/// Control octets of an RDMA Write that is one segment: DDP tagged and last, RDMAP version 1, opcode 0.
const WRITE: u8 = 0x40;

/// A peer at a plain socket, and the queue pair that writes to it.
struct Peer<'m> {
    machine: &'m Machine,
    pair: QueuePair,
    socket: TcpStream,
}

impl<'m> Peer<'m> {
    fn new(machine: &'m Machine) -> Self {
        let listener =
            Listener::bind(&machine.context, anywhere(), ListenOptions::default()).unwrap();
        let mut socket = TcpStream::connect(listener.address()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.write_all(&REQUEST).unwrap();
        let request = listener.accept(PATIENCE).unwrap().expect("a request");
        let options = machine.options();
        let pair = request
            .accept(&machine.domain, &machine.queue, options, b"")
            .unwrap();
        let mut reply = [0; 20];
        socket.read_exact(&mut reply).unwrap();
        assert_eq!(reply, REPLY);
        // The Responder may send behind a first FPDU.
        let header = TaggedHeader {
            last: true,
            rsvd_ulp: WRITE,
            stag: 0,
            to: 0,
        };
        let mut fpdu = Vec::new();
        let mut writer = FpduWriter::new(false, CrcField::Computed);
        writer.append(&header.emit(), &[], &mut fpdu).unwrap();
        socket.write_all(&fpdu).unwrap();
        Self {
            machine,
            pair,
            socket,
        }
    }

    /// Lengths of the FPDUs of a Write of `octets`, which the socket reads, its payload checked.
    fn write(&mut self, octets: &[u8]) -> Vec<usize> {
        let source = self.machine.region(octets, Registration::local());
        let local = Local::all(&source).unwrap();
        let target = Remote { stag: 7, offset: 0 };
        self.pair
            .post_send(WorkRequest::write(1, local, target))
            .unwrap();
        let (mut payload, mut lengths) = (Vec::new(), Vec::new());
        while payload.len() < octets.len() {
            // RFC 5044 §4.1: ULPDU_Length, ULPDU, PAD up to a multiple of 4, CRC.
            let mut length = [0; 2];
            self.socket.read_exact(&mut length).unwrap();
            let ulpdu = usize::from(u16::from_be_bytes(length));
            let fpdu = (2 + ulpdu).next_multiple_of(4) + 4;
            let mut rest = vec![0; fpdu - 2];
            self.socket.read_exact(&mut rest).unwrap();
            payload.extend_from_slice(&rest[TAGGED_HEADER_LEN..ulpdu]);
            lengths.push(fpdu);
        }
        assert_eq!(payload, octets);
        let done = self.machine.done();
        assert_eq!(done.status, WorkStatus::Success);
        lengths
    }

    /// Writes until FPDUs have at most, and some of them exactly, `emss` octets, a multiple of 4.
    fn until(&mut self, emss: usize, octets: &[u8]) {
        let end = Instant::now() + PATIENCE;
        while self.write(octets).into_iter().max() != Some(emss) {
            assert!(Instant::now() < end, "FPDUs do not come to {emss} octets");
        }
    }
}

// req: MPA-SEG-02, MPA-SEG-09, MPA-SEG-10, MPA-SEG-23, MPA-SEG-24, MPA-SEG-25, LLP-01
#[test]
fn fpdus_follow_the_segments_of_their_connection() {
    each(|engine| {
        for soft_processor in [false, true] {
            if soft_processor && engine == Engine::Software {
                continue; // the program does not see the engine
            }
            let config = Config {
                transmit: engine == Engine::Rtl,
                ..Config::simulated(64)
            };
            let program = ControlOptions {
                soft_processor,
                ..ControlOptions::default()
            };
            let machine = Machine::controlled(&config, 31, program);
            let mut peer = Peer::new(&machine);
            let octets: Vec<u8> = (0..3000_u32).map(|i| (7 * i + i / 256) as u8).collect();
            assert_eq!(peer.write(&octets).into_iter().max(), Some(1460));
            for emss in [600, 1000, 128 + 8, 1460] {
                machine.network.limit_segments(Some(emss));
                let emss = usize::from(emss);
                peer.until(emss, &octets);
                // From the first short FPDU on, all are: as long as fits, except the last.
                for _ in 0..2 {
                    let lengths = peer.write(&octets);
                    let (last, full) = lengths.split_last().unwrap();
                    assert!(
                        full.iter().all(|length| *length == emss),
                        "{emss}: {lengths:?}"
                    );
                    assert!(*last <= emss, "{emss}: {lengths:?}");
                }
            }
            // Without the limit, the control program's own EMSS holds.
            machine.network.limit_segments(Some(400));
            peer.until(400, &octets);
            machine.network.limit_segments(None);
            peer.until(1460, &octets);
        }
    });
}
