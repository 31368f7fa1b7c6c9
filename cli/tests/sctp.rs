//! `warpline serve`, `put` and `get` over SCTP: two cards in two processes, with UDP datagrams of this machine between them (RFC 6951).
//!
//! ```text
//!   put, get ─► card ─► usrsctp ─► UDP ─► usrsctp ─► card ◄─ serve
//! ```
//!
//! A program built without the feature `sctp` says so: `cargo test --workspace` has it, by `warpline-sim`'s.

mod process;
mod shell;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Stdio};
use std::time::Duration;

use process::Killed;
use serde_json::Value;
use shell::{command, ends, octets, run};
use warpline_sim::HAS_SCTP;

const TIMEOUT: Duration = Duration::from_secs(120);

/// A server in another process. It ends after its connections, or is killed.
struct Server {
    process: Killed,
    address: String,
    /// Lines behind the first.
    lines: BufReader<ChildStdout>,
}

impl Server {
    /// At any port of this machine.
    fn start(arguments: &[&str]) -> Self {
        let all = [
            &["serve", "--listen", "sctp://127.0.0.1:0", "--json"],
            arguments,
        ]
        .concat();
        let mut process = Killed(command(&all).stdout(Stdio::piped()).spawn().unwrap());
        let mut lines = BufReader::new(process.0.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let address = said["address"].as_str().unwrap().to_owned();
        assert!(address.starts_with("sctp://127.0.0.1:"), "{address}");
        Self {
            process,
            address,
            lines,
        }
    }

    /// Waits for its end: the exit code, and what it said of its connections.
    fn ends(&mut self) -> (Option<i32>, Vec<Value>) {
        let code = ends(&mut self.process.0, TIMEOUT);
        let lines = self.lines.by_ref().lines();
        let said = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        (code, said.collect())
    }
}

/// The payload of RDMA Writes in a record, each once, in the order of their Tagged Offsets. Headers are read as RFC 9260, 5043 and
/// 5041 draw them; each packet's CRC32c is checked.
fn recorded(file: &[u8]) -> Vec<u8> {
    let big = |octets: &[u8]| octets.iter().fold(0, |sum, &o| sum << 8 | u64::from(o));
    let little = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let mut segments = BTreeMap::new();
    let mut block = 0;
    while block < file.len() {
        if little(block) == 6 {
            let frame = &file[block + 28..][..little(block + 20)];
            assert_eq!(
                (big(&frame[12..14]), frame[14], frame[23]),
                (0x0800, 0x45, 132)
            );
            let packet = &frame[34..];
            let mut zeroed = packet.to_vec();
            zeroed[8..12].fill(0);
            assert_eq!(packet[8..12], crc32c::crc32c(&zeroed).to_le_bytes());
            let mut at = 12;
            while at < packet.len() {
                let length = big(&packet[at + 2..at + 4]) as usize;
                let chunk = &packet[at..at + length];
                // DATA with a DDP segment: DDP-SSN, T in the control octet, opcode in RsvdULP, STag, Tagged Offset.
                let tagged = chunk[0] == 0 && big(&chunk[12..16]) == 16 && chunk[18] & 0x80 != 0;
                if tagged && chunk[19] & 0x0F == 0 {
                    segments.insert(big(&chunk[24..32]), chunk[32..].to_vec());
                }
                at += length.next_multiple_of(4);
            }
        }
        block += little(block + 4);
    }
    segments.into_values().flatten().collect()
}

/// A path in a folder, as an argument.
fn path(folder: &Path, name: &str) -> String {
    let path: PathBuf = folder.join(name);
    path.to_str().unwrap().to_owned()
}

// req: SCTP-SES-06, SCTP-SES-07, SCTP-SES-08
#[test]
fn four_mebibytes_are_written_and_read_back() {
    if !HAS_SCTP {
        return it_is_said_that_there_is_no_sctp();
    }
    let folder = tempfile::tempdir().unwrap();
    let before = octets(4 << 20, 1);
    let (source, after, back) = (
        path(folder.path(), "before"),
        path(folder.path(), "after"),
        path(folder.path(), "back"),
    );
    fs::write(&source, &before).unwrap();
    let served = ["--size", "4M", "--count", "3", "--output", &after];
    let mut server = Server::start(&served);
    let record = path(folder.path(), "record.pcapng");
    let put = ["put", &source, &server.address, "--json", "--pcap", &record];
    let (code, report, said) = run(&put);
    assert_eq!((code, &said[..]), (Some(0), ""), "{report}");
    let found = recorded(&fs::read(&record).unwrap());
    assert!(found == before, "the record has {} octets", found.len());
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["octets"], before.len());
    // A first connection asks for the length.
    let (code, report, said) = run(&["get", &server.address, &back, "--json"]);
    assert_eq!((code, &said[..]), (Some(0), ""), "{report}");
    assert!(fs::read(&back).unwrap() == before, "what was read differs");
    let (code, ends) = server.ends();
    assert_eq!((code, ends.len()), (Some(0), 3));
    // Terminate in both directions, not an end of the association.
    for end in ends {
        assert_eq!(
            (&end["closed"], &end["end"]),
            (
                &true.into(),
                &"closed: both ends have ended it in order".into()
            ),
            "{end}"
        );
    }
    assert!(
        fs::read(&after).unwrap() == before,
        "what was written differs"
    );
}

#[test]
fn what_cannot_be_done_is_said_in_one_line() {
    if !HAS_SCTP {
        return it_is_said_that_there_is_no_sctp();
    }
    let folder = tempfile::tempdir().unwrap();
    let source = path(folder.path(), "before");
    fs::write(&source, octets(1000, 2)).unwrap();
    let server = Server::start(&["--size", "1000"]);
    let there = &server.address;
    let cases: [(&[&str], i32, &str); 6] = [
        (
            &["put", &source, there, "--pcap", "/dev/full"],
            2,
            "cannot write /dev/full",
        ),
        (
            &["put", &source, "sctp://nowhere"],
            2,
            "give ADDRESS:PORT, or sctp://ADDRESS:PORT",
        ),
        (
            &["put", &source, there, "--markers"],
            2,
            "--markers is for TCP",
        ),
        (
            &["get", there, "/dev/null", "--rough", "1"],
            2,
            "--rough is for TCP",
        ),
        (
            &["put", &source, there, "--offset", "1"],
            2,
            "1000 octets at offset 1 are not in",
        ),
        (&["serve", "--listen", there, "--size", "1"], 3, "address"),
    ];
    for (arguments, code, text) in cases {
        let (found, _, said) = run(arguments);
        assert_eq!(found, Some(code), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
        assert!(said.contains(text), "{arguments:?}: {said}");
    }
}

/// One line, before anything is listened at or written.
fn it_is_said_that_there_is_no_sctp() {
    let there = "sctp://127.0.0.1:1";
    let missing = "there-is-no-such-file";
    for arguments in [
        &["serve", "--listen", there, "--size", "1"][..],
        &["put", missing, there],
        &["get", there, missing],
    ] {
        let (code, printed, said) = run(arguments);
        assert_eq!((code, &printed[..]), (Some(2), ""), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains("--features sctp"), "{said}");
    }
    assert!(!Path::new(missing).exists());
}
