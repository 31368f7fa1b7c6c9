//! Peers of `warpline serve` that are plain sockets and no card: whatever they send, the server goes on serving others, says in plain
//! words who failed and why, and its memory does not grow. Start frames are octets of the RFC's figures here, not those of `wire`.

mod process;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use process::Killed;
use rustix::net::sockopt::set_socket_linger;
use warpline::transfer::{Client, Machine, MachineOptions, Retries};
use warpline_driver::DmaMemory;
use warpline_sim::PathOptions;
use warpline_wire::send::{CrcField, FpduWriter, Message};

/// Longest wait for anything, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// Octets that are served.
const SIZE: usize = 4096;
/// A Request of revision 1 with CRC, without markers and private data (RFC 5044 §7.1.1).
const REQUEST: [u8; 20] = *b"MPA ID Req Frame\x40\x01\0\0";
/// Octets of the Reply, and of the offer that is its private data.
const REPLY: usize = 20 + 24;
/// Octets of a Terminate's FPDU up to layer, type and code: ULPDU_Length and the untagged DDP header.
const TERMINATE: usize = 2 + 18;

/// `warpline serve` in another process, and its log.
struct Server {
    process: Killed,
    address: SocketAddr,
    lines: Receiver<String>,
}

impl Server {
    fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--size"]);
        command.arg(SIZE.to_string()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Killed(command.spawn().unwrap());
        let mut line = String::new();
        let stdout = process.0.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().parse().unwrap();
        let stderr = BufReader::new(process.0.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            stderr
                .lines()
                .try_for_each(|line| sender.send(line.unwrap()))
        });
        Self {
            process,
            address,
            lines,
        }
    }

    fn peer(&self) -> TcpStream {
        let peer = TcpStream::connect_timeout(&self.address, PATIENCE).unwrap();
        peer.set_read_timeout(Some(PATIENCE)).unwrap();
        peer.set_write_timeout(Some(PATIENCE)).unwrap();
        peer.set_nodelay(true).unwrap();
        peer
    }

    /// A peer behind the start frames.
    fn started(&self) -> TcpStream {
        let mut peer = self.peer();
        peer.write_all(&REQUEST).unwrap();
        let mut reply = [0; REPLY];
        peer.read_exact(&mut reply).unwrap();
        assert_eq!(&reply[..16], b"MPA ID Rep Frame");
        peer
    }

    /// What the server says of a peer that has ended.
    fn says_of(&self, peer: SocketAddr) -> String {
        let begin = format!("{peer}: ");
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("a line of it");
            plain(&line);
            if let Some(reason) = line.strip_prefix(&begin) {
                return reason.to_owned();
            }
        }
    }

    /// Octets of memory that the process holds.
    fn memory(&self) -> usize {
        let path = format!("/proc/{}/status", self.process.0.id());
        let status = fs::read_to_string(path).unwrap();
        let mut lines = status.lines();
        let resident = lines.find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kib = resident.trim().strip_suffix(" kB").unwrap();
        1024 * kib.parse::<usize>().unwrap()
    }

    /// A transfer of a card there and back.
    fn serves(&self, machine: &Machine) {
        let octets: Vec<u8> = (0..SIZE).map(|i| (i * 7 + i / 256) as u8).collect();
        let mut memory = DmaMemory::new(SIZE).unwrap();
        memory.copy_from_slice(&octets);
        let retries = Retries(3);
        let mut put = Client::new(machine, self.address, memory).unwrap();
        put.put(0, retries, &mut |_| {}).unwrap();
        let empty = DmaMemory::new(SIZE).unwrap();
        let mut get = Client::new(machine, self.address, empty).unwrap();
        get.get(0, retries, &mut |_| {}).unwrap();
        assert!(get.to_vec().unwrap() == octets);
    }
}

/// A line for people: nothing in it is written as Rust writes values.
fn plain(line: &str) {
    for rust in ["{", "}", "Some(", "None", "Err(", "Ok(", "::", "\"", "\\"] {
        assert!(!line.contains(rust), "{line}");
    }
    assert!(!line.contains("panicked"), "{line}");
}

fn machine() -> Machine {
    Machine::open(&MachineOptions {
        width: 64,
        markers: false,
        sctp: false,
        path: PathOptions::default(),
        record: None,
    })
    .unwrap()
}

/// Reads what the server sends until it ends the connection in some way.
fn to_the_end(peer: &mut TcpStream) -> Vec<u8> {
    let (mut all, mut room) = (Vec::new(), [0; 4096]);
    let end = Instant::now() + PATIENCE;
    while let Ok(count @ 1..) = peer.read(&mut room) {
        all.extend_from_slice(&room[..count]);
        assert!(Instant::now() < end, "the server talks without end");
    }
    all
}

fn frame(key: &[u8; 16], flags: u8, revision: u8, length: u16, private: &[u8]) -> Vec<u8> {
    let mut octets = key.to_vec();
    octets.extend([flags, revision]);
    octets.extend(length.to_be_bytes());
    octets.extend(private);
    octets
}

// req: MPA-START-30, MPA-ERR-09
#[test]
fn start_frames_that_are_none_do_no_harm() {
    let (server, machine) = (Server::start(), machine());
    server.serves(&machine);
    let key = b"MPA ID Req Frame";
    let mut rng = fastrand::Rng::with_seed(1);
    let garbage: Vec<u8> = (0..3000).map(|_| rng.u8(..)).collect();
    let wrong: Vec<Vec<u8>> = vec![
        garbage,
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        frame(b"MPA ID Rep Frame", 0x40, 1, 0, b""),
        frame(b"MPA ID Req Fram\0", 0x40, 1, 0, b""),
        frame(key, 0x40, 0, 0, b""),
        frame(key, 0x40, 3, 0, b""),
        frame(key, 0x40, 255, 0, b""),
        frame(key, 0x40, 1, 513, &[0; 513]),
        frame(key, 0x40, 1, 0xFFFF, &[0; 4000]),
        // Fewer and more octets than it says, and revision 2 without its block.
        frame(key, 0x40, 1, 100, &[0; 10]),
        frame(key, 0x40, 1, 10, &[0; 100]),
        frame(key, 0x50, 2, 2, &[0; 2]),
        [&REQUEST[..], &[0x55; 500]].concat(),
    ];
    for octets in &wrong {
        let mut peer = server.peer();
        let _ = peer.write_all(octets); // the server may have closed it
        let _ = peer.shutdown(std::net::Shutdown::Write);
        to_the_end(&mut peer);
    }
    // The end at every octet of the Request, with a FIN and with an RST.
    for octets in 0..=REQUEST.len() {
        for reset in [false, true] {
            let mut peer = server.peer();
            peer.write_all(&REQUEST[..octets]).unwrap();
            if reset {
                rustix::net::sockopt::set_socket_linger(&peer, Some(Duration::ZERO)).unwrap();
            }
        }
    }
    server.serves(&machine);
    server.lines.try_iter().for_each(|line| plain(&line));
}

/// An FPDU with CRC.
fn fpdu(message: Message, payload: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    FpduWriter::new(false, CrcField::Computed)
        .append_message(message, payload, 1442, &mut octets)
        .unwrap();
    octets
}

fn untagged(qn: u32, control: u8, payload: &[u8]) -> Vec<u8> {
    let rsvd_ulp = [control, 0, 0, 0, 0];
    let msn = 1;
    fpdu(Message::Untagged { qn, msn, rsvd_ulp }, payload)
}

fn write(stag: u32, to: u64, payload: &[u8]) -> Vec<u8> {
    let rsvd_ulp = 0x40;
    fpdu(Message::Tagged { stag, to, rsvd_ulp }, payload)
}

/// What a peer sends behind the start frames, by name, and the layer, type and code of the Terminate that answers it (RFC 5040
/// §4.8, Figure 9).
type Wrong = (&'static str, Vec<u8>, Option<[u8; 2]>);

fn wrong_streams() -> Vec<Wrong> {
    let mut damaged = write(1, 0, &[0x5A; 100]);
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    let read_request = [0; 28];
    vec![
        // A Responder sends nothing, not even a Terminate, before an FPDU has come that is right (RFC 5044 §7.1.2).
        ("a CRC error at once", damaged.clone(), None),
        (
            "a CRC error later",
            [write(1, 0, &[]), damaged].concat(),
            Some([0x20, 2]),
        ),
        (
            "an unknown STag",
            write(0xDEAD_BEEF, 0, &[1; 10]),
            Some([0x11, 0]),
        ),
        // Behind ULPDU_Length nothing follows for long, so that the peer's FIN cuts the FPDU.
        (
            "a length that lies",
            vec![0x05, 0x00, 0xC1, 0x40, 1, 2, 3],
            None,
        ),
        ("zeros", vec![0; 64], None),
        (
            "garbage",
            b"GET / HTTP/1.1\r\nHost: warpline\r\n\r\n".to_vec(),
            None,
        ),
        (
            "a Send without a buffer",
            untagged(0, 0x43, b"hello"),
            Some([0x12, 2]),
        ),
        (
            "no such queue",
            untagged(7, 0x43, b"hello"),
            Some([0x12, 1]),
        ),
        (
            "a version that is none",
            untagged(1, 0x81, &read_request),
            Some([0x02, 5]),
        ),
        (
            "version 0 of a Read Request",
            untagged(1, 0x01, &read_request),
            Some([0x02, 5]),
        ),
        (
            "a reserved opcode",
            untagged(1, 0x4F, &read_request),
            Some([0x02, 6]),
        ),
        (
            "a short Read Request",
            untagged(1, 0x41, &read_request[..20]),
            Some([0x02, 0xFF]),
        ),
        (
            "a Read of an unknown STag",
            untagged(1, 0x41, &read_request_of(9)),
            Some([0x01, 0]),
        ),
        ("a cut Terminate", untagged(2, 0x47, &[0x10]), None),
    ]
}

fn read_request_of(source: u32) -> [u8; 28] {
    let mut octets = [0; 28];
    octets[12..16].copy_from_slice(&8_u32.to_be_bytes());
    octets[16..20].copy_from_slice(&source.to_be_bytes());
    octets
}

#[test]
fn streams_that_are_wrong_end_alone_and_for_the_reason_that_is_said() {
    let (server, machine) = (Server::start(), machine());
    server.serves(&machine);
    for (what, octets, cause) in wrong_streams() {
        let mut peer = server.started();
        peer.write_all(&octets).unwrap();
        if cause.is_none() {
            peer.shutdown(std::net::Shutdown::Write).unwrap();
        }
        let sent = to_the_end(&mut peer);
        let address = peer.local_addr().unwrap();
        drop(peer); // the server waits for its FIN
        let said = server.says_of(address);
        if let Some(cause) = cause {
            let found = sent.get(TERMINATE..TERMINATE + 2);
            assert_eq!(found, Some(&cause[..]), "{what}: {said}");
        }
        assert!(said.contains(' ') && said.len() > 10, "{what}: {said}");
    }
    // A Terminate, and an RST right behind it: the reason is the Terminate's. The kernel drops what was not read when the RST comes, so
    // on a busy machine the card may not see the Terminate at all.
    let is_of_terminate = || {
        let mut peer = server.started();
        let address = peer.local_addr().unwrap();
        peer.write_all(&untagged(2, 0x47, &[0; 4])).unwrap();
        set_socket_linger(&peer, Some(Duration::ZERO)).unwrap();
        drop(peer);
        let said = server.says_of(address);
        let is_reset = said.contains("the peer has reset the connection");
        let is_of_terminate = said.contains(": the peer has ended the stream: ");
        assert!(is_of_terminate || is_reset, "{said}");
        is_of_terminate
    };
    assert!((0..20).any(|_| is_of_terminate()));
    server.serves(&machine);
}

#[test]
fn silent_peers_and_floods_keep_nobody_out() {
    const FLOOD: usize = 200;
    const MOST: usize = 64 << 20;
    let (server, machine) = (Server::start(), machine());
    server.serves(&machine);
    let before = server.memory();
    // Four silent ones, as many as there are streams, and then many more.
    let silent: Vec<_> = (0..4).map(|_| server.peer()).collect();
    server.serves(&machine);
    let mut flood = Vec::new();
    for place in 0..FLOOD {
        let mut peer = server.peer();
        let _ = peer.write_all(&REQUEST[..place % REQUEST.len()]); // an evicted one has got an RST
        flood.push(peer);
    }
    server.serves(&machine);
    drop((silent, flood));
    // Whole start-ups that end at once, one after the other.
    for _ in 0..FLOOD {
        let mut peer = server.peer();
        peer.write_all(&REQUEST).unwrap();
        rustix::net::sockopt::set_socket_linger(&peer, Some(Duration::ZERO)).unwrap();
    }
    server.serves(&machine);
    let grown = server.memory().saturating_sub(before);
    assert!(grown < MOST, "{grown} octets more");
    server.lines.try_iter().for_each(|line| plain(&line));
}
