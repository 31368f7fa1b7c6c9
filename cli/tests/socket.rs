//! A free-running card at a socket: memory holds the same as with a card that is clocked by calls.

use std::path::Path;

use warpline::replay::{Pace, Replay, replay, replay_at};
use warpline_capture::{Capture, Segmentation};
use warpline_hdl::Config;
use warpline_regmap::register::interrupt;
use warpline_sim::{Card, CardOptions, Listener, Service};

const CAPTURES: [&str; 8] = [
    "crc0-rev2-writes",
    "crc1-rev2-writes",
    "crc1-rev2-mixed",
    "crc1-rev2-sends",
    "crc1-rping",
    "crc1-rev2-badstag",
    "crc1-rev2-oob",
    "crc1-rev2-nobuf",
];

fn card(width: usize) -> Card {
    Card::open(&Config::simulated(width), CardOptions::default()).unwrap()
}

fn all_captures(width: usize) {
    let (served, free) = (card(width), card(width));
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("card");
    let service = Service::start(&free, Listener::bind(&socket).unwrap()).unwrap();
    for name in CAPTURES {
        let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testbenches/captures");
        let stream = Replay::new(&Capture::open(captures.join(name)).unwrap()).unwrap();
        let segmentation = Segmentation::AsCaptured;
        let expected = replay(&served, &stream, segmentation, &mut |_, _| {}).unwrap();
        let completions = expected.report.completions.len() + expected.report.errors.len();
        let pace = Pace::Free {
            socket: &socket,
            completions,
        };
        let replayed = replay_at(&free, pace, &stream, segmentation, &mut |_, _| {}).unwrap();
        assert_eq!(replayed.differences, [], "{name}");
        assert!(replayed.landed == expected.landed, "{name}");
        assert_eq!(
            replayed.report.completions, expected.report.completions,
            "{name}"
        );
        assert_eq!(replayed.report.errors, expected.report.errors, "{name}");
    }
    assert!(
        free.messages()[interrupt::COMPLETION] > 0,
        "the program never slept"
    );
    service.stop().unwrap();
    assert!(!socket.exists());
}

// req: DDP-TAG-11, AMB-03, AMB-10, AMB-41
#[test]
fn captures_behind_a_socket_at_64_bits() {
    all_captures(64);
}

// req: DDP-TAG-11, AMB-03, AMB-10, AMB-41
#[test]
fn captures_behind_a_socket_at_512_bits() {
    all_captures(512);
}
