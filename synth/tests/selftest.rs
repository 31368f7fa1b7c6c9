//! The self-test of the evaluation board in Verilator: its UART output for a good device and for faults.

use std::sync::LazyLock;

use warpline_design::{TOP, design};
use warpline_hdl::Config;
use warpline_regmap::register;
use warpline_sv_writer::{Design, Direction};
use warpline_synth::{BOARDS, DuplexTest, Fault, SelfTest, config, sources};
use warpline_verilate::{Build, Model};
use warpline_wire::crc::crc32c;

/// A PLL that passes the clock through.
const PLL: &str = include_str!("models/EHXPLLL.sv");

/// Clock cycles of a UART bit in simulation.
const DIVISOR: u64 = 4;

/// The device of 64 bits.
static DEVICE: LazyLock<Design> = LazyLock::new(|| design(&config(64)).unwrap());

/// The device that sends, of `width` bits.
fn duplex(width: usize) -> Config {
    Config {
        transmit: true,
        ..config(width)
    }
}

fn build(device: &Design, config: &Config, fault: Option<Fault>) -> Build {
    let parameters = [
        format!("-GW={}", config.width),
        format!("-GDIVISOR={DIVISOR}"),
        // the loop of a device that sends loses segments, and waits before it sends them again
        format!("-GTIMEOUT_LOG={}", if config.transmit { 16 } else { 13 }),
        "-GREPEAT_LOG=13".into(),
    ];
    // A model for each fault, which runs for seconds.
    let build = Build::new(BOARDS[0].top())
        .source("EHXPLLL.sv", PLL)
        .unoptimised();
    let build = parameters.into_iter().fold(build, Build::verilator_arg);
    let sources = sources(device, config, &BOARDS[0], fault).unwrap();
    sources
        .into_iter()
        .fold(build, |build, (name, text)| build.source(name, text))
}

/// The next line on the UART.
fn line(model: &mut Model) -> String {
    let [clock, uart] = ["clk12", "uart_tx"].map(|name| model.port(name).unwrap());
    let mut cycle = |count: u64| {
        for _ in 0..count {
            for level in [1, 0] {
                model.set(clock, level);
                model.eval().unwrap();
            }
        }
        model.get(uart) == 1
    };
    let mut line = String::new();
    loop {
        let idle = (0..200_000).take_while(|_| cycle(1)).count();
        assert!(idle < 200_000, "silence behind {line:?}");
        let mut bits = (0..9).map(|i| {
            cycle(if i == 0 {
                DIVISOR + DIVISOR / 2
            } else {
                DIVISOR
            })
        });
        let octet = bits
            .by_ref()
            .take(8)
            .enumerate()
            .fold(0, |octet, (i, bit)| octet | u8::from(bit) << i);
        assert_eq!(
            bits.next(),
            Some(true),
            "no stop bit behind {line:?} {octet:#x}"
        );
        match octet {
            b'\n' => return line,
            b'\r' => {}
            _ => line.push(octet.into()),
        }
    }
}

struct Said {
    verdict: String,
    step: u32,
    crc: u32,
    cycles: u32,
    /// What the loop of a device that sends has done: lost, swapped, again.
    loop_counts: Vec<u32>,
}

fn run(device: &Design, fault: Option<Fault>) -> Said {
    run_at(&config(64), device, fault)
}

fn run_at(config: &Config, device: &Design, fault: Option<Fault>) -> Said {
    let build = build(device, config, fault);
    let mut model = build.open().unwrap_or_else(|e| panic!("{e}"));
    let reset_n = model.port("reset_n").unwrap();
    model.set(reset_n, 1);
    let line = line(&mut model);
    let words: Vec<_> = line.split(' ').collect();
    let [
        "warpline",
        verdict,
        "step",
        step,
        "crc",
        crc,
        "cycles",
        cycles,
        "window",
        _,
        counts @ ..,
    ] = &words[..]
    else {
        panic!("{line:?}");
    };
    let number = |digits| u32::from_str_radix(digits, 16).unwrap_or_else(|_| panic!("{line:?}"));
    let names: Vec<_> = counts.iter().step_by(2).copied().collect();
    let expected: &[_] = match config.transmit {
        true => &["lost", "swapped", "again"],
        false => &[],
    };
    assert_eq!(names, expected, "{line:?}");
    let led = model.port("led").unwrap();
    assert!([0, 0xff].contains(&model.get(led)));
    Said {
        verdict: (*verdict).into(),
        step: number(step),
        crc: number(crc),
        cycles: number(cycles),
        loop_counts: counts
            .iter()
            .skip(1)
            .step_by(2)
            .map(|count| number(count))
            .collect(),
    }
}

#[test]
fn a_board_that_works_says_so() {
    let test = SelfTest::new(64, None).unwrap();
    let said = run(&DEVICE, None);
    assert_eq!(said.verdict, "PASS", "step {}", said.step);
    assert_eq!(said.step, test.rows() as u32 - 1, "the last row");
    assert_eq!(said.crc, crc32c(&test.memory));
    // one beat per cycle, then the last payload and completion
    let beats = test.beats() as u32;
    assert!(
        (beats..2 * beats).contains(&said.cycles),
        "{} of {beats}",
        said.cycles
    );
}

/// At 512 bits, memory uses other block RAMs, and a beat takes two rows of its ROM.
#[test]
fn a_wide_board_that_works_says_so() {
    let test = SelfTest::new(512, None).unwrap();
    let said = run_at(&config(512), &design(&config(512)).unwrap(), None);
    assert_eq!(said.verdict, "PASS", "step {}", said.step);
    assert_eq!(said.step, test.rows() as u32 - 1, "the last row");
    assert_eq!(said.crc, crc32c(&test.memory));
    let sent = 2 * test.beats() as u32;
    assert!(
        (sent..2 * sent).contains(&said.cycles),
        "{} of {sent}",
        said.cycles
    );
}

/// Sent and received: what is cut anyhow, swapped, lost and sent again is in memory at the end, once.
#[test]
fn a_board_that_sends_says_so() {
    let test = DuplexTest::new(64, None).unwrap();
    let device = design(&duplex(64)).unwrap();
    let said = run_at(&duplex(64), &device, None);
    assert_eq!(said.verdict, "PASS", "step {}", said.step);
    assert_eq!(said.step, test.rows() as u32 - 1, "the last row");
    assert_eq!(said.crc, crc32c(&test.memory));
    let counts = &said.loop_counts;
    assert!(counts.iter().all(|&count| count > 3), "{counts:?}");

    // an octet of the source, which no FPDU shows to be wrong
    let said = run_at(&duplex(64), &device, Some(Fault::Traffic));
    assert_eq!(said.verdict, "FAIL");
    assert_eq!(said.step, test.rows() as u32 - 1, "the CRC of memory");
    assert_ne!(said.crc, crc32c(&test.memory));
}

#[test]
#[ignore = "models of three wide devices: make test-fpga"]
fn wide_boards_that_send_say_so() {
    for width in [128, 256, 512] {
        let test = DuplexTest::new(width, None).unwrap();
        let said = run_at(&duplex(width), &design(&duplex(width)).unwrap(), None);
        assert_eq!(said.verdict, "PASS", "{width} bits, step {}", said.step);
        assert_eq!(said.crc, crc32c(&test.memory), "{width} bits");
        let counts = &said.loop_counts;
        assert!(
            counts.iter().all(|&count| count > 3),
            "{width} bits: {counts:?}"
        );
    }
}

#[test]
fn an_octet_that_changed_on_the_way_is_told() {
    let said = run(&DEVICE, Some(Fault::Traffic));
    let right = SelfTest::new(64, None).unwrap();
    assert_eq!(said.verdict, "FAIL");
    // It stops at the wait for the completions, before the CRC.
    assert_ne!(said.crc, crc32c(&right.memory));
}

#[test]
fn memory_with_other_octets_is_told() {
    let said = run(&DEVICE, Some(Fault::Memory));
    let right = SelfTest::new(64, None).unwrap();
    assert_eq!(said.verdict, "FAIL");
    assert_eq!(said.crc, crc32c(&right.memory));
}

/// Replaces the device: all outputs are 0 except for these expressions.
fn stub(outputs: &[(&str, String)]) -> Design {
    let mut stub = DEVICE.clone();
    let range = |width| match width {
        1 => String::new(),
        width => format!("[{}:0] ", width - 1),
    };
    let ports: Vec<_> = (stub.ports.iter())
        .map(|port| match port.direction {
            Direction::Input => format!("input wire {}{}", range(port.width), port.name),
            Direction::Output => format!("output wire {}{}", range(port.width), port.name),
        })
        .collect();
    let driven = stub
        .ports
        .iter()
        .filter(|p| p.direction == Direction::Output);
    let driven: String = driven
        .map(|port| {
            let given = outputs.iter().find(|(name, _)| *name == port.name);
            let value = given.map_or("0", |(_, value)| value);
            format!("assign {} = {value};\n", port.name)
        })
        .collect();
    let ports = ports.join(", ");
    stub.modules.drain(..stub.modules.len() - 1);
    stub.modules[0].text = format!("module {TOP} ({ports});\n{driven}endmodule\n");
    stub
}

#[test]
fn a_device_that_does_not_answer_is_told() {
    let said = run(&stub(&[]), None);
    assert_eq!((&*said.verdict, said.step), ("FAIL", 0), "the first read");
    let identified = format!(
        "s_axil_araddr == {} ? {} : {}",
        register::IDENTITY.at(0),
        register::IDENTITY_VALUE,
        register::VERSION_VALUE
    );
    let reads = [
        ("s_axil_arready", "1".into()),
        ("s_axil_rvalid", "1".into()),
        ("s_axil_rdata", identified),
    ];
    let said = run(&stub(&reads), None);
    assert_eq!((&*said.verdict, said.step), ("FAIL", 2), "the first write");
}

/// All rows pass, but memory was read, which the self-test does not request.
#[test]
fn the_step_that_ended_the_test_is_the_one_that_is_told() {
    let reads = [
        ("s_axil_arready", "1".into()),
        ("s_axil_rvalid", "1".into()),
        ("s_axil_rdata", register::IDENTITY_VALUE.to_string()),
        ("m_axi_arvalid", "1".into()),
    ];
    let said = run(&stub(&reads), None);
    assert_eq!((&*said.verdict, said.step), ("FAIL", 0));
}

#[test]
fn the_board_is_free_of_warnings_at_64_and_512_bits() {
    is_free_of_warnings([64, 512]);
}

#[test]
#[ignore = "half a minute of linting: make test-fpga"]
fn the_board_is_free_of_warnings_at_128_and_256_bits() {
    is_free_of_warnings([128, 256]);
}

fn is_free_of_warnings(widths: [usize; 2]) {
    for config in widths.map(config).into_iter().chain(widths.map(duplex)) {
        let device = design(&config).unwrap();
        let warnings = build(&device, &config, None).lint();
        let warnings = warnings.unwrap_or_else(|e| panic!("{e}"));
        let warnings: Vec<_> = warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings, [""; 0], "{config:?}");
    }
}
