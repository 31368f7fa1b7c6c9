//! Packets of an association as others read them: CRC32c by another implementation, the rest by tshark where it is installed.

mod common;

use std::process::Command;

use common::{Faults, Network, Pair, alone};
use warpline_usrsctp::{Ending, Event, Options, Record};

/// Runs an association from its set-up to its end, and returns its record.
fn record() -> Vec<u8> {
    let options = Options {
        adaptation: Some(1),
        ..Options::default()
    };
    let mut network = Network::new(1, Faults::default());
    network.record = Some(Record::new(Vec::new()).unwrap());
    let mut pair = Pair::over(network, &options, &options);
    for octets in [2, 500, 1442, 4000] {
        for (ppid, unordered) in [(16, true), (17, true), (0, false)] {
            pair.active
                .send(3, ppid, unordered, &vec![0x41; octets])
                .unwrap();
            pair.passive
                .send(4, ppid, unordered, &vec![0x42; octets])
                .unwrap();
        }
    }
    for _ in 0..300 {
        pair.network.step();
        while pair.active.next_event().is_some() {}
        while pair.passive.next_event().is_some() {}
    }
    pair.active.shutdown().unwrap();
    assert_eq!(pair.event(true, 1000), Event::Ended(Ending::ShutDown));
    for _ in 0..10 {
        pair.network.step();
    }
    pair.network.record.take().unwrap().finish().unwrap()
}

/// Packets of a record, read by the format's rules.
fn packets(mut file: &[u8]) -> Vec<Vec<u8>> {
    let word = |octets: &[u8]| u32::from_le_bytes(octets[..4].try_into().unwrap());
    assert_eq!((word(file), word(&file[20..])), (0xa1b2_c3d4, 248));
    file = &file[24..];
    let mut all = Vec::new();
    while !file.is_empty() {
        let length = word(&file[8..]) as usize;
        assert_eq!(word(&file[12..]) as usize, length);
        all.push(file[16..16 + length].to_vec());
        file = &file[16 + length..];
    }
    all
}

// req: LLP-06, SCTP-FMT-04, SCTP-SSN-04
#[test]
fn each_packet_has_its_crc_and_each_unordered_chunk_its_bit() {
    let _alone = alone();
    let packets = packets(&record());
    let (mut unordered, mut kinds) = (0, [false; 16]);
    for packet in &packets {
        let mut zeroed = packet.clone();
        zeroed[8..12].fill(0);
        let crc = crc32c::crc32c(&zeroed).to_le_bytes();
        assert_eq!(packet[8..12], crc, "{packet:x?}");
        let mut at = 12;
        while at < packet.len() {
            let length = usize::from(packet[at + 2]) << 8 | usize::from(packet[at + 3]);
            kinds[usize::from(packet[at] & 15)] = true;
            if packet[at] == 0 {
                let ppid = u32::from_be_bytes(packet[at + 12..at + 16].try_into().unwrap());
                assert!([0, 16, 17].contains(&ppid), "PPID {ppid:#x}");
                assert_eq!(packet[at + 1] & 4 != 0, ppid != 0, "U of PPID {ppid}");
                unordered += usize::from(packet[at + 1] & 4 != 0);
            }
            at += length.next_multiple_of(4);
        }
        assert!(packet.len() <= 1472, "{} octets", packet.len());
    }
    // 12 messages in one chunk each, and 4 in three.
    assert_eq!(unordered, 12 + 4 * 3);
    for kind in [0, 1, 2, 3, 7, 8, 10, 11, 14] {
        assert!(kinds[kind], "no chunk of type {kind}");
    }
}

/// Lines that tshark writes of a record, with checksums checked.
fn tshark(file: &[u8], options: &[&str]) -> Option<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.pcap");
    std::fs::write(&path, file).unwrap();
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&path);
    command.args(["-o", "sctp.checksum:CRC 32c"]).args(options);
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("tshark: {error}; its part of the test is left out");
            return None;
        }
    };
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{problem}");
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(str::to_owned).collect())
}

#[test]
fn tshark_reads_it_without_complaint() {
    let _alone = alone();
    let file = record();
    let count = packets(&file).len();
    let complaints = [
        "-Y",
        "_ws.malformed || _ws.expert.severity >= 6291456 || sctp.checksum.status != 1",
    ];
    let Some(lines) = tshark(&file, &complaints) else {
        return;
    };
    assert_eq!(lines, Vec::<String>::new());
    let good = tshark(&file, &["-Y", "sctp.checksum.status == 1"]).unwrap();
    assert_eq!(good.len(), count, "every packet was judged");
    let codes = [
        "-Y",
        "sctp.parameter_type == 0xc006",
        "-T",
        "fields",
        "-e",
        "sctp.adaptation_layer_indication",
    ];
    let codes = tshark(&file, &codes).unwrap();
    assert_eq!(codes, ["0x00000001", "0x00000001"], "INIT and INIT-ACK");

    // A planted fault: one bit of the last packet.
    let mut wrong = file;
    *wrong.last_mut().unwrap() ^= 1;
    assert_eq!(tshark(&wrong, &complaints).unwrap().len(), 1);
}
