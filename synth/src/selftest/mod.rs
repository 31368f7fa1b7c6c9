//! The self-test of a board: a device, its traffic, its memory and a verdict, with nothing connected but a clock.
//!
//! ```text
//!  receive: program, traffic ─┐
//!                             ├─► ROMs ─► constraints/selftest ─► board
//!  duplex:  program, memory ──┘
//! ```
//!
//! The top module is that of a board: [`crate::BOARDS`].

mod duplex;
mod fault;
mod program;
mod receive;
mod rom;

use warpline_hdl::Config;
use warpline_sv_writer::Design;

use crate::board::Board;
use crate::error::Error;
use rom::few_block_rams;

pub use duplex::DuplexTest;
pub use fault::Fault;
pub use receive::SelfTest;

const TOP: &str = include_str!("../../../constraints/selftest/warpline_selftest.sv");
const HOST: &str = include_str!("../../../constraints/selftest/warpline_selftest_host.sv");
const TRAFFIC: &str = include_str!("../../../constraints/selftest/warpline_selftest_traffic.sv");
const LOOP: &str = include_str!("../../../constraints/selftest/warpline_selftest_loop.sv");
const MEMORY: &str = include_str!("../../../constraints/selftest/warpline_selftest_memory.sv");
const WATCH: &str = include_str!("../../../constraints/selftest/warpline_selftest_watch.sv");
pub(crate) const UART: &str =
    include_str!("../../../constraints/selftest/warpline_selftest_uart.sv");
/// Makes memory and traffic use few block RAMs.
const FEW_BLOCK_RAMS: &str = "`define WARPLINE_FEW_BLOCK_RAMS\n";
/// Connects a device that sends.
const TRANSMIT: &str = "`define WARPLINE_TRANSMIT\n";

/// All files of the bitstream of the `device` that `config` describes, in compile order, the top module of `board` last: the
/// device, the self-test, the board.
///
/// # Errors
/// As [`SelfTest::new`], or [`DuplexTest::new`].
pub fn sources(
    device: &Design,
    config: &Config,
    board: &Board,
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
    files.push((format!("{}.sv", board.top()), board.sv()));
    Ok(files)
}
