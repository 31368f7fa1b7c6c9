//! Damaged captures: the card's result equals the reference receiver's, and nothing panics.

use std::fs;
use std::path::Path;

use fastrand::Rng;
use warpline::replay::{Replay, replay};
use warpline_capture::{Capture, Segmentation};
use warpline_hdl::Config;
use warpline_sim::{Card, CardOptions};

const WIDTH: usize = 64;
const DAMAGED: u64 = 150;

fn captures() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testbenches/captures")
}

/// Flips, overwrites, removes or repeats a few octets.
fn damage(rng: &mut Rng, octets: &mut Vec<u8>) {
    for _ in 0..rng.usize(1..4) {
        let at = rng.usize(..octets.len());
        match rng.u8(..8) {
            0 => octets.truncate(at.max(1)),
            1 => drop(octets.drain(at..octets.len().min(at + rng.usize(1..9)))),
            2 => octets[at] = rng.u8(..),
            _ => octets[at] ^= 1 << rng.u8(..8),
        }
    }
}

// req: DDP-ERR-18, AMB-09, AMB-10
#[test]
fn damaged_traffic_is_refused_or_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let pcap = folder.path().join("wire.pcap");
    let card = Card::open(&Config::simulated(WIDTH), CardOptions::default()).unwrap();
    let names = ["crc1-rev2-badstag", "crc1-rev2-oob", "crc1-rev2-sends"];
    let (mut refused, mut equal, mut failed) = (0, 0, 0);
    for seed in 0..DAMAGED {
        let mut rng = Rng::with_seed(seed);
        let name = names[rng.usize(..names.len())];
        let mut octets = fs::read(captures().join(name).join("wire.pcap")).unwrap();
        damage(&mut rng, &mut octets);
        fs::write(&pcap, octets).unwrap();
        let replayed = Capture::open(&pcap)
            .map_err(warpline::Error::from)
            .and_then(|capture| Ok(Replay::new(&capture)?))
            .and_then(|stream| replay(&card, &stream, Segmentation::AsCaptured, &mut |_, _| {}));
        match replayed {
            Ok(replayed) => {
                assert_eq!(replayed.differences, [], "seed {seed}, {name}");
                equal += 1;
                failed += usize::from(!replayed.report.errors.is_empty());
            }
            Err(error) => {
                assert_eq!(error.exit_code(), 2, "seed {seed}, {name}: {error}");
                assert_eq!(error.to_string().lines().count(), 1, "seed {seed}, {name}");
                refused += 1;
            }
        }
    }
    // Each outcome occurs.
    assert!(
        refused > 10 && equal > 10 && failed > 10,
        "{refused} {equal} {failed}"
    );
}
