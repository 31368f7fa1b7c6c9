//! Any content of the files gives a capture or an error of one line, never a panic.

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;

use common::{CAPTURES, Wire, directory, pcapng};
use fastrand::Rng;
use flate2::Compression;
use flate2::write::GzEncoder;
use warpline_capture::{Capture, Connection, Error, Side, TrafficError, read_traffic};

/// Uses every part of the result that computes something.
fn exercise(result: Result<Vec<Connection>, TrafficError>) -> bool {
    match result {
        Ok(connections) => {
            for connection in &connections {
                for side in [Side::Client, Side::Server] {
                    let _ = connection.sent_by(side).stream();
                    if let Ok(flow) = connection.flow(side)
                        && let Err(gap) = flow.octets()
                    {
                        one_line(&gap);
                    }
                }
                if let Err(error) = &connection.mpa {
                    one_line(error);
                }
            }
            true
        }
        Err(error) => {
            one_line(&error);
            false
        }
    }
}

fn one_line(error: &dyn std::error::Error) {
    let text = error.to_string();
    assert!(!text.is_empty() && !text.contains(['\n', '\r']), "{text:?}");
}

fn wire(name: &str) -> Vec<u8> {
    fs::read(directory(name).join("wire.pcap")).unwrap()
}

/// Feeds many mutations and returns how many were accepted and refused.
fn tally(mutations: impl Iterator<Item = Vec<u8>>) -> (usize, usize) {
    let (accepted, refused): (Vec<_>, Vec<_>) = mutations
        .map(|octets| exercise(read_traffic(&octets)))
        .partition(|&ok| ok);
    (accepted.len(), refused.len())
}

#[test]
fn truncated_anywhere() {
    for name in CAPTURES {
        let file = wire(name);
        // Every offset of the beginning, then a spread.
        let step = (file.len() / 150).max(1);
        let cuts = (0..200).chain((200..file.len()).step_by(step));
        let (accepted, refused) = tally(cuts.map(|n| file[..n].to_vec()));
        assert!(
            refused > 200 && accepted < refused,
            "{name}: {accepted} {refused}"
        );
    }
}

#[test]
fn flipped_bits() {
    for name in CAPTURES {
        let file = wire(name);
        let mut rng = Rng::with_seed(5);
        let flips = (0..400).map(|i| {
            let mut octets = file.clone();
            // Half of them in the first packets, where one bit changes everything after it.
            let range = if i % 2 == 0 {
                octets.len().min(600)
            } else {
                octets.len()
            };
            for _ in 0..=i % 4 {
                octets[rng.usize(..range)] ^= 1 << rng.u8(..8);
            }
            octets
        });
        let (accepted, refused) = tally(flips);
        assert!(accepted > 0 && refused > 0, "{name}: {accepted} {refused}");
    }
}

#[test]
fn every_bit_of_a_small_capture() {
    let wire = Wire::started(0xFFFF_FFF0, b"some octets of full operation");
    for file in [
        wire.pcap(),
        pcapng(&wire.packets, false, 9, 0),
        pcapng(&wire.packets, true, 6, 0),
    ] {
        assert!(exercise(read_traffic(&file)));
        let flips = (0..8 * file.len()).map(|bit| {
            let mut octets = file.clone();
            octets[bit / 8] ^= 1 << (bit % 8);
            octets
        });
        let (accepted, refused) = tally(flips);
        assert!(accepted > 0 && refused > 0);
    }
}

#[test]
fn huge_lengths() {
    let file = wire("crc1-rev2-sends");
    // Record length, IP length, TCP data offset and PD_Length of the first packets, all at their extremes.
    for at in (0..400).filter(|at| at + 4 <= file.len()) {
        for value in [0_u32, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFB, 0xFFFF_FFFF] {
            let mut octets = file.clone();
            octets[at..at + 4].copy_from_slice(&value.to_le_bytes());
            exercise(read_traffic(&octets));
        }
    }
}

#[test]
fn garbage_behind_each_magic_number() {
    let magics: [&[u8]; 6] = [
        b"",
        b"\xD4\xC3\xB2\xA1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\x04\0\x01\0\0\0",
        b"\xA1\xB2\x3C\x4D\0\x02\0\x04\0\0\0\0\0\0\0\0\0\x04\0\0\0\0\0\x65",
        b"\x34\xCD\xB2\xA1",
        b"\x0A\x0D\x0D\x0A\x1C\0\0\0\x4D\x3C\x2B\x1A\x01\0\0\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x1C\0\0\0",
        b"\x0A\x0D\x0D\x0A",
    ];
    let mut rng = Rng::with_seed(6);
    for magic in magics {
        for _ in 0..500 {
            let mut octets = magic.to_vec();
            let size = rng.usize(..600);
            // Mostly zeros, so that lengths are sometimes plausible.
            octets.extend((0..size).map(|_| if rng.bool() { 0 } else { rng.u8(..) }));
            assert!(!exercise(read_traffic(&octets)));
        }
    }
}

/// Blocks of every pcapng type with plausible lengths and random content.
#[test]
fn random_pcapng_blocks() {
    let section = b"\x0A\x0D\x0D\x0A\x1C\0\0\0\x4D\x3C\x2B\x1A\x01\0\0\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x1C\0\0\0";
    let kinds = [
        1_u32,
        3,
        4,
        5,
        6,
        9,
        10,
        0xBAD,
        0x4000_0BAD,
        0x8000_0001,
        0x0A0D_0D0A,
        0x77,
    ];
    let mut rng = Rng::with_seed(7);
    for _ in 0..5000 {
        let mut octets = section.to_vec();
        for _ in 0..rng.usize(1..4) {
            let body = 4 * rng.usize(..12);
            let length =
                (12 + body as u32).wrapping_add(if rng.u8(..8) == 0 { rng.u32(..) } else { 0 });
            octets.extend(kinds[rng.usize(..kinds.len())].to_le_bytes());
            octets.extend(length.to_le_bytes());
            octets.extend((0..body).map(|_| if rng.bool() { 0 } else { rng.u8(..) }));
            octets.extend(length.to_le_bytes());
        }
        exercise(read_traffic(&octets));
    }
}

/// A copy of a capture directory that can be damaged.
fn copy(name: &str) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(directory(name)).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    copy
}

/// The error after one file was replaced; its text is one line that names the file.
fn with_file(file: &str, content: &[u8]) -> Error {
    let copy = copy("crc1-rev2-badstag");
    fs::write(copy.path().join(file), content).unwrap();
    refused(copy.path(), file)
}

fn refused(dir: &Path, file: &str) -> Error {
    let error = Capture::open(dir).unwrap_err();
    one_line(&error);
    assert!(error.to_string().contains(file), "{error}");
    error
}

fn gzip(octets: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(octets).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn damaged_ground_truth_is_named() {
    let dir = directory("crc1-rev2-badstag");
    for file in ["memory.bin.gz", "receive-buffers.bin.gz"] {
        let image = fs::read(dir.join(file)).unwrap();
        let mut flipped = image.clone();
        *flipped.last_mut().unwrap() ^= 1; // the stored size
        for content in [&image[..image.len() - 1], &flipped, b"", b"no gzip"] {
            assert!(matches!(with_file(file, content), Error::Gzip { .. }));
        }
        for size in [0, 1, 511, (1 << 20) + 1] {
            let error = with_file(file, &gzip(&vec![0; size]));
            assert!(matches!(error, Error::ImageSize { .. }), "{error}");
        }
    }
    let regions = fs::read_to_string(dir.join("regions.json")).unwrap();
    for (from, to) in [
        ("{", "["),
        ("\"rkey\"", "\"key\""),
        ("\"rkey\":\"0x", "\"rkey\":\"0xfff"),
        ("\"rkey\":\"0x", "\"rkey\":\"0x+"),
        ("\"rkey\":\"0x", "\"rkey\":\"\\n"),
        ("1048576", "-1"),
        ("1048576", "1.5"),
        ("512", "null"),
        ("}", "} x"),
    ] {
        assert!(regions.contains(from));
        let error = with_file("regions.json", regions.replacen(from, to, 1).as_bytes());
        assert!(matches!(error, Error::Json { .. }), "{error}");
    }
    // A region that fits no machine is rejected at its image.
    let huge = copy("crc1-rev2-badstag");
    let huge_regions = regions.replace("1048576", "\"0xffffffffffffffff\"");
    fs::write(huge.path().join("regions.json"), huge_regions).unwrap();
    let error = refused(huge.path(), "memory.bin.gz");
    assert!(matches!(
        error,
        Error::ImageTooLarge {
            octets: u64::MAX,
            ..
        }
    ));

    let completions = fs::read_to_string(dir.join("completions.jsonl")).unwrap();
    let third = completions.replacen("\"wr_id\":1002", "\"wr_id\":-2", 1);
    let error = with_file("completions.jsonl", third.as_bytes()).to_string();
    assert!(error.contains("line 3"), "{error}");
    let cut = &completions.as_bytes()[..completions.len() - 3];
    assert!(matches!(
        with_file("completions.jsonl", cut),
        Error::Json { .. }
    ));
    assert!(matches!(
        with_file("completions.jsonl", b"\xFF\xFE"),
        Error::Json { .. }
    ));
}

#[test]
fn missing_files_and_directories_in_their_place() {
    let nothing = tempfile::tempdir().unwrap();
    assert!(matches!(
        refused(nothing.path(), "wire.pcap"),
        Error::Read { .. }
    ));
    assert!(matches!(
        refused(&nothing.path().join("absent"), "absent"),
        Error::Read { .. }
    ));
    for file in [
        "wire.pcap",
        "regions.json",
        "memory.bin.gz",
        "completions.jsonl",
        "terminate.txt",
    ] {
        let copy = copy("crc1-rev2-badstag");
        fs::remove_file(copy.path().join(file)).unwrap();
        assert_eq!(
            Capture::open(copy.path()).is_ok(),
            file != "wire.pcap",
            "{file} is optional"
        );
        fs::create_dir(copy.path().join(file)).unwrap();
        refused(copy.path(), file);
    }
    let error = with_file("terminate.txt", b"siw: got TERMINATE. layer 1, type 2");
    assert!(matches!(error, Error::Terminate { .. }), "{error}");
    let error = with_file("wire.pcap", b"");
    assert!(matches!(
        error,
        Error::Traffic {
            source: TrafficError::NotACapture,
            ..
        }
    ));
}

#[test]
fn a_single_pcap_file_is_a_capture_without_ground_truth() {
    let capture = Capture::open(directory("crc1-rev2-writes").join("wire.pcap")).unwrap();
    assert!(capture.regions.is_none() && capture.memory.is_none() && capture.kernel_log.is_none());
    assert_eq!(
        capture.target_flow(),
        common::open("crc1-rev2-writes").target_flow()
    );
}

#[test]
fn random_damage_to_any_file() {
    let mut rng = Rng::with_seed(8);
    for name in CAPTURES {
        let copy = copy(name);
        for entry in fs::read_dir(directory(name)).unwrap() {
            let file = entry.unwrap().file_name();
            let original = fs::read(directory(name).join(&file)).unwrap();
            for i in 0..12 {
                let mut octets = original.clone();
                if i % 3 == 0 {
                    octets.truncate(rng.usize(..octets.len()));
                } else {
                    let at = rng.usize(..octets.len());
                    octets[at] = rng.u8(..);
                }
                fs::write(copy.path().join(&file), octets).unwrap();
                if let Err(error) = Capture::open(copy.path()) {
                    one_line(&error);
                    assert!(
                        error.to_string().contains(file.to_str().unwrap())
                            || file == "regions.json"
                    );
                }
            }
            fs::write(copy.path().join(&file), original).unwrap();
        }
        assert!(Capture::open(copy.path()).is_ok());
    }
}
