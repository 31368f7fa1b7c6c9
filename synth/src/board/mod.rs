//! Boards: pins, PLL and UART, in one table.
//!
//! ```text
//!  [`BOARDS`] ─┬─► top module: PLL, reset, self-test, LEDs ─┐
//!              └─► pins (LPF) ──────────────────────────────┴─► constraints/NAME/, and each bitstream
//! ```

mod text;

use crate::error::Error;
use crate::part::Part;

/// Widths that share a PLL setting, narrow first: at 512 bits the device is slower.
const WIDE: usize = 512;

/// A pin of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Site in the package.
    pub site: &'static str,
    /// Voltage standard, as the bank of the site is supplied.
    pub io_type: &'static str,
    /// Pull-up or pull-down inside the part, where the board has none.
    pub pull: Option<&'static str>,
}

const fn pin(site: &'static str, io_type: &'static str) -> Pin {
    Pin {
        site,
        io_type,
        pull: None,
    }
}

const fn pulled(site: &'static str, io_type: &'static str, pull: &'static str) -> Pin {
    Pin {
        site,
        io_type,
        pull: Some(pull),
    }
}

const V33: &str = "LVCMOS33";
const V25: &str = "LVCMOS25";

/// Dividers of an EHXPLLL whose feedback is its output.
///
/// ```text
///  input ─► / input ─► phase detector ─► VCO ─► / output ─┬─► clock
///                            ▲                            │
///                            └───── / feedback ◄──────────┘
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pll {
    /// CLKI_DIV.
    pub input: u32,
    /// CLKFB_DIV.
    pub feedback: u32,
    /// CLKOP_DIV.
    pub output: u32,
}

impl Pll {
    /// Clock for an input of `mhz`.
    #[must_use]
    pub const fn clock(&self, mhz: u32) -> f64 {
        mhz as f64 * self.feedback as f64 / self.input as f64
    }
}

/// A board that `warpline synth` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    /// Name, as for `--board`, and of its folder in `constraints`.
    pub name: &'static str,
    /// What its maker calls it.
    pub title: &'static str,
    /// Where the pins are documented.
    pub source: &'static str,
    /// Name of its part, as for `--part`.
    pub part: &'static str,
    /// Its name for openFPGALoader.
    pub loader: &'static str,
    /// Input clock, in MHz; the port is called `clk` and this number.
    pub mhz: u32,
    /// Pin of the clock.
    pub clock: Pin,
    /// Button that restarts the self-test.
    pub reset: Pin,
    /// The button makes a one when it is pressed.
    pub reset_high: bool,
    /// What the button is, for the reader of the pins.
    pub button: &'static str,
    /// UART, from the board to the host.
    pub uart_tx: Pin,
    /// What the UART needs, if anything.
    pub uart_note: &'static str,
    /// LEDs, bit 0 first.
    pub leds: &'static [Pin],
    /// Pins that must be driven: port, pin, level.
    pub tied: &'static [(&'static str, Pin, bool)],
    /// PLL for the widths below 512 bits.
    pub pll: Pll,
    /// PLL for 512 bits.
    pub pll_wide: Pll,
    /// Why the PLL makes these clocks.
    pub clocks: &'static str,
}

/// All boards; the first is what a part without a board borrows its top module from.
pub const BOARDS: [Board; 4] = [
    Board {
        name: "ecp5-evn",
        title: "Lattice ECP5 Evaluation Board",
        source: "ECP5 Evaluation Board User Guide (Lattice FPGA-EB-02017), as also listed by litex-boards and prjtrellis.",
        part: "lfe5um5g-85f",
        loader: "ecp5_evn",
        mhz: 12,
        clock: pin("A10", V33),
        reset: pin("G2", V33),
        reset_high: false,
        button: "Push button, pulled up on the board.",
        uart_tx: pin("P3", V33),
        uart_note: "The UART of the FT2232H's port B is connected only when R34 and R35 are populated (same guide).",
        leds: &[
            pin("A13", V25),
            pin("A12", V25),
            pin("B19", V25),
            pin("A18", V25),
            pin("B18", V25),
            pin("C17", V25),
            pin("A17", V25),
            pin("B17", V25),
        ],
        tied: &[],
        pll: Pll {
            input: 1,
            feedback: 13,
            output: 4,
        },
        pll_wide: Pll {
            input: 1,
            feedback: 10,
            output: 5,
        },
        clocks: "12 MHz is the board's FTDI clock. 12 × 13 = 156 MHz is the nearest clock to 156.25 MHz with a phase detector frequency
in the data sheet's range (10 MHz and more)",
    },
    Board {
        name: "ecpix5",
        title: "LambdaConcept ECPIX-5, 85F",
        source: "litex-boards (lambdaconcept_ecpix5); not compared with the schematics.",
        part: "lfe5um5g-85f-bg554",
        loader: "ecpix5",
        mhz: 100,
        clock: pin("K23", V33),
        reset: pulled("N5", V33, "UP"),
        reset_high: false,
        button: "Reset button.",
        uart_tx: pin("R24", V33),
        uart_note: "The UART is that of the FT2232H at the micro USB connector.",
        leds: &[
            pin("P21", V33),
            pin("R23", V33),
            pin("P22", V33),
            pin("K21", V33),
            pin("K24", V33),
            pin("M21", V33),
            pin("U21", V33),
            pin("W21", V33),
            pin("T24", V33),
            pin("T23", V33),
            pin("R21", V33),
            pin("T22", V33),
        ],
        tied: &[],
        pll: Pll {
            input: 7,
            feedback: 11,
            output: 4,
        },
        pll_wide: Pll {
            input: 5,
            feedback: 6,
            output: 5,
        },
        clocks: "100 × 11 / 7 = 157.14 MHz is the slowest clock above 156.25 MHz with a phase detector frequency in the data sheet's range
(10 MHz and more)",
    },
    Board {
        name: "ulx3s-85f",
        title: "Radiona ULX3S with LFE5U-85F",
        source: "Constraints of the board (github.com/emard/ulx3s, v20), as also listed by litex-boards.",
        part: "lfe5u-85f",
        loader: "ulx3s",
        mhz: 25,
        clock: pin("G2", V33),
        reset: pulled("R1", V33, "DOWN"),
        reset_high: true,
        button: "Button FIRE1.",
        uart_tx: pin("L4", V33),
        uart_note: "The UART is that of the FT231X at the connector US1.",
        leds: &[
            pin("B2", V33),
            pin("C2", V33),
            pin("C1", V33),
            pin("D2", V33),
            pin("D1", V33),
            pin("E2", V33),
            pin("E1", V33),
            pin("H3", V33),
        ],
        // the ESP32 would start as for programming, and may restart the board
        tied: &[("wifi_gpio0", pin("L2", V33), true)],
        pll: GRADE_6,
        pll_wide: GRADE_6_WIDE,
        clocks: GRADE_6_CLOCKS,
    },
    Board {
        name: "colorlight-i9",
        title: "Colorlight i9 v7.2 on its extension board",
        source: "github.com/wuxx/Colorlight-FPGA-Projects (colorlight_i9_v7.2.md), as also listed by litex-boards.",
        part: "lfe5u-45f",
        loader: "colorlight-i9",
        mhz: 25,
        clock: pin("P3", V33),
        reset: pulled("K18", V33, "UP"),
        reset_high: false,
        button: "No button: pin 49 of the module, for a wire to ground.",
        uart_tx: pin("J17", V33),
        uart_note: "The UART is that of the extension board's debugger.",
        leds: &[pin("L2", V33)],
        tied: &[],
        pll: GRADE_6,
        pll_wide: GRADE_6_WIDE,
        clocks: GRADE_6_CLOCKS,
    },
];

/// For parts of speed grade 6 behind 25 MHz.
const GRADE_6: Pll = Pll {
    input: 1,
    feedback: 4,
    output: 6,
};
const GRADE_6_WIDE: Pll = Pll {
    input: 1,
    feedback: 3,
    output: 8,
};
const GRADE_6_CLOCKS: &str = "The part is of speed grade 6, and slower than the ECP5-5G for which 156.25 MHz is the target: no placement of the whole
device has shown yet that it reaches these clocks";

impl Board {
    /// Its part.
    ///
    /// # Errors
    /// [`Error::Part`] if there is none of that name.
    pub fn part(&self) -> Result<&'static Part, Error> {
        crate::part::part(self.part)
    }

    /// The PLL for a device of `width` bits.
    #[must_use]
    pub const fn pll(&self, width: usize) -> Pll {
        if width == WIDE {
            self.pll_wide
        } else {
            self.pll
        }
    }

    /// Clock that the PLL makes for a device of `width` bits, in MHz; a placement has to reach it.
    #[must_use]
    pub const fn clock_mhz(&self, width: usize) -> f64 {
        self.pll(width).clock(self.mhz)
    }

    /// Port of the input clock.
    #[must_use]
    pub fn clock_port(&self) -> String {
        format!("clk{}", self.mhz)
    }
}

/// The board of that name.
///
/// # Errors
/// [`Error::Board`], which lists all.
pub fn board(name: &str) -> Result<&'static Board, Error> {
    let found = BOARDS
        .iter()
        .find(|board| board.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| Error::Board {
        name: name.into(),
        known: BOARDS.map(|board| board.name).join(", "),
    })
}

/// The board whose pins a part has: the first of that part.
#[must_use]
pub fn board_of(part: &Part) -> Option<&'static Board> {
    BOARDS.iter().find(|board| board.part == part.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_that_is_unknown_is_told_with_those_that_are_not() {
        assert_eq!(board("ULX3S-85F").unwrap(), &BOARDS[2]);
        let said = board("arty").unwrap_err();
        assert!(said.is_request());
        assert_eq!(
            said.to_string(),
            "no board \"arty\": choose one of ecp5-evn, ecpix5, ulx3s-85f, colorlight-i9"
        );
    }

    #[test]
    fn every_board_has_a_part_and_parts_have_their_board() {
        for board in &BOARDS {
            assert_eq!(board_of(board.part().unwrap()), Some(board));
        }
        assert_eq!(board_of(crate::part::part("lfe5um5g-45f").unwrap()), None);
    }
}
