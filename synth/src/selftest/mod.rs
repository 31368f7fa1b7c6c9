//! The self-test of a board: a device, its traffic, its memory and a verdict, with nothing connected but a clock.
//!
//! ```text
//!  receive: program, traffic ─┐
//!                             ├─► ROMs ─► constraints/selftest ─► board
//!  duplex:  program, memory ──┘
//! ```

mod duplex;
mod fault;
mod program;
mod receive;
mod rom;

use warpline_hdl::Config;
use warpline_sv_writer::Design;

use crate::error::Error;
use rom::few_block_rams;

pub use duplex::DuplexTest;
pub use fault::Fault;
pub use receive::SelfTest;

/// Top module of the evaluation board's bitstream.
pub const BOARD: &str = "warpline_ecp5_evn";

/// Clock of the PLL of [`BOARD`] for a device of `width` bits, in MHz; a placement has to reach it.
#[must_use]
pub const fn board_mhz(width: usize) -> f64 {
    if width == 512 { 120.0 } else { 156.0 }
}

const TOP: &str = include_str!("../../../constraints/selftest/warpline_selftest.sv");
const HOST: &str = include_str!("../../../constraints/selftest/warpline_selftest_host.sv");
const TRAFFIC: &str = include_str!("../../../constraints/selftest/warpline_selftest_traffic.sv");
const LOOP: &str = include_str!("../../../constraints/selftest/warpline_selftest_loop.sv");
const MEMORY: &str = include_str!("../../../constraints/selftest/warpline_selftest_memory.sv");
const WATCH: &str = include_str!("../../../constraints/selftest/warpline_selftest_watch.sv");
const UART: &str = include_str!("../../../constraints/selftest/warpline_selftest_uart.sv");
const BOARD_TEXT: &str = include_str!("../../../constraints/ecp5-evn/warpline_ecp5_evn.sv");
/// Pins of the board.
pub(crate) const PINS: &str = include_str!("../../../constraints/ecp5-evn/warpline_ecp5_evn.lpf");

/// Makes memory and traffic use few block RAMs.
const FEW_BLOCK_RAMS: &str = "`define WARPLINE_FEW_BLOCK_RAMS\n";
/// Connects a device that sends.
const TRANSMIT: &str = "`define WARPLINE_TRANSMIT\n";

/// All files of the bitstream of the `device` that `config` describes, in compile order, the top module [`BOARD`] last: the device,
/// the self-test, the board.
///
/// # Errors
/// As [`SelfTest::new`], or [`DuplexTest::new`].
pub fn sources(
    device: &Design,
    config: &Config,
    fault: Option<Fault>,
) -> Result<Vec<(String, String)>, Error> {
    let width = config.width;
    let mut files = device.sources();
    let mut defined = String::new();
    let traffic = if config.transmit {
        files.extend(DuplexTest::new(width, fault)?.roms());
        defined += TRANSMIT;
        ("warpline_selftest_loop.sv", LOOP)
    } else {
        files.extend(SelfTest::new(width, fault)?.roms());
        ("warpline_selftest_traffic.sv", TRAFFIC)
    };
    if few_block_rams(width) {
        defined += FEW_BLOCK_RAMS;
    }
    let parts = [
        ("warpline_selftest_host.sv", HOST),
        traffic,
        ("warpline_selftest_memory.sv", MEMORY),
        ("warpline_selftest_watch.sv", WATCH),
        ("warpline_selftest_uart.sv", UART),
        ("warpline_selftest.sv", TOP),
    ];
    let parts = parts.map(|(name, text)| (name.to_owned(), format!("{defined}{text}")));
    files.extend(parts);
    files.push((format!("{BOARD}.sv"), BOARD_TEXT.into()));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pll_of_the_board_makes_its_clock() {
        // as it is at 512 bits, and at the others
        let numbers = |before: &str, end: &str| -> [f64; 2] {
            let (_, behind) = BOARD_TEXT.split_once(before).unwrap();
            let number = behind.split_once(end).unwrap().0.trim();
            let number = number.strip_prefix("W == 512 ? ").unwrap_or(number);
            let (wide, others) = number.split_once(':').unwrap_or((number, number));
            [wide, others].map(|number| number.trim().parse().unwrap())
        };
        let of = |name: &str| numbers(&format!(".{name}("), ")");
        let crystal = 12.0; // MHz, the pin clk12
        assert!(BOARD_TEXT.contains("clk12"));
        for (n, width) in [512, 64].into_iter().enumerate() {
            // the feedback is CLKOP
            let clock = crystal / of("CLKI_DIV")[n] * of("CLKFB_DIV")[n];
            assert!((clock - board_mhz(width)).abs() < 1e-9, "{clock}");
            let vco = clock * of("CLKOP_DIV")[n];
            assert!((400.0..=800.0).contains(&vco), "{vco}");
            let baud = clock * 1e6 / numbers("DIVISOR     =", ",")[n];
            assert!((baud / 115_200.0 - 1.0).abs() < 0.001, "{baud}");
        }
    }
}
