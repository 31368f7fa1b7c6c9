//! Top module and pins of a board, as text.

use std::fmt::Write as _;

use super::{Board, Pin, Pll, WIDE};

/// Bits per second of the UART.
const BAUD: f64 = 115_200.0;

/// An expression of SystemVerilog, by width when both differ.
fn by_width(narrow: u32, wide: u32) -> String {
    match narrow == wide {
        true => narrow.to_string(),
        false => format!("W == {WIDE} ? {wide} : {narrow}"),
    }
}

/// Without zeros at the end.
fn mhz(clock: f64) -> String {
    let text = format!("{clock:.2}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

/// Phase of the output: half of its period behind the VCO's, as `ecppll` of prjtrellis sets it. It does not matter here, where
/// the output is the feedback.
const fn phase(pll: Pll) -> u32 {
    (pll.output - 1) / 2
}

/// The lines that place and type `port`.
fn place(text: &mut String, port: &str, pin: &Pin) {
    let pull = pin
        .pull
        .map_or(String::new(), |pull| format!(" PULLMODE={pull}"));
    let Pin { site, io_type, .. } = pin;
    // into a string: cannot fail
    let _ = writeln!(text, "LOCATE COMP \"{port}\" SITE \"{site}\";");
    let _ = writeln!(text, "IOBUF PORT \"{port}\" IO_TYPE={io_type}{pull};");
}

impl Board {
    /// Name of its top module, and of its files in `constraints`.
    #[must_use]
    pub fn top(&self) -> String {
        format!("warpline_{}", self.name.replace('-', "_"))
    }

    /// Its pins and clock, for nextpnr.
    #[must_use]
    pub fn lpf(&self) -> String {
        let clock = self.clock_port();
        let mut text = format!(
            "# {}, {}.\n# Sites: {}\n",
            self.title,
            self.part.to_uppercase(),
            self.source
        );
        if !self.uart_note.is_empty() {
            text += &format!("# {}\n", self.uart_note);
        }
        text += &format!("\nFREQUENCY PORT \"{clock}\" {} MHZ;\n", self.mhz);
        place(&mut text, &clock, &self.clock);
        text += &format!("\n# {}\n", self.button);
        place(&mut text, self.reset_port(), &self.reset);
        text += "\n";
        place(&mut text, "uart_tx", &self.uart_tx);
        text += "\n";
        for (bit, led) in self.leds.iter().enumerate() {
            place(&mut text, &format!("led[{bit}]"), led);
        }
        for (port, pin, _) in self.tied {
            text += "\n";
            place(&mut text, port, pin);
        }
        text
    }

    const fn reset_port(&self) -> &'static str {
        if self.reset_high {
            "restart"
        } else {
            "reset_n"
        }
    }

    /// Its top module: PLL, reset, self-test, LEDs.
    #[must_use]
    pub fn sv(&self) -> String {
        let (narrow, wide) = (self.pll(64), self.pll(WIDE));
        let clocks = [64, WIDE].map(|width| self.clock_mhz(width));
        let divisor = clocks.map(|clock| (clock * 1e6 / BAUD).round() as u32);
        let [clock, clock_wide] = clocks.map(mhz);
        let vco = [narrow, wide].map(|pll| mhz(pll.clock(self.mhz) * f64::from(pll.output)));
        let vco = match &vco {
            [narrow, wide] if narrow == wide => format!("{narrow} MHz"),
            [narrow, wide] => format!("{narrow} MHz, or at {wide} MHz"),
        };
        let input = self.clock_port();
        let leds = self.leds.len();
        let reset = self.reset_port();
        let held = if self.reset_high { "~" } else { "" };
        let drawn = format!(
            "{input} ─► PLL ─► {clock} MHz, {clock_wide} MHz at {WIDE} bits ─► warpline_selftest ─► uart_tx, led"
        );
        let why = self.clocks.replace('\n', "\n// ");
        let range = format!("[{}:0]", leds - 1);
        let pad = " ".repeat(range.len() + 3);
        let mut ports = String::new();
        let mut ties = String::new();
        for (port, _, level) in self.tied {
            ports += &format!(",\n    output wire{pad}{port}");
            ties += &format!("    assign {port} = 1'b{};\n", u8::from(*level));
        }
        format!(
            "// Self-test of warpline on the {title} ({part}).
//
//   {drawn}
//
// {why}; the VCO runs at {vco}.
//
// The LEDs blink slowly when the test has passed, fast when it has failed, and stand still while it runs, so that their
// polarity does not matter. Pins: {top}.lpf. Both files are written from the table in synth/src/board/mod.rs.
/* verilator lint_off PROCASSINIT */ // values at power-up, which an FPGA has
module {top} #(
    parameter integer W           = 64,
    parameter integer DIVISOR     = {divisor}, // {clock_wide} MHz / 115200, {clock} MHz / 115200
    parameter integer TIMEOUT_LOG = 24,
    parameter integer REPEAT_LOG  = 27
) (
    input  wire{pad}{input},
    input  wire{pad}{reset},
    output logic {range} led,
    output wire{pad}uart_tx{ports}
);
    wire clk, locked;

    (* ICP_CURRENT = \"12\", LPF_RESISTOR = \"8\", MFG_ENABLE_FILTEROPAMP = \"1\", MFG_GMCREF_SEL = \"2\" *)
    EHXPLLL #(
        .PLLRST_ENA(\"DISABLED\"), .INTFB_WAKE(\"DISABLED\"), .STDBY_ENABLE(\"DISABLED\"), .DPHASE_SOURCE(\"DISABLED\"),
        .OUTDIVIDER_MUXA(\"DIVA\"), .OUTDIVIDER_MUXB(\"DIVB\"), .OUTDIVIDER_MUXC(\"DIVC\"), .OUTDIVIDER_MUXD(\"DIVD\"),
        .CLKI_DIV({clki}), .CLKFB_DIV({clkfb}), .FEEDBK_PATH(\"CLKOP\"),
        .CLKOP_ENABLE(\"ENABLED\"), .CLKOP_DIV({clkop}), .CLKOP_CPHASE({cphase}), .CLKOP_FPHASE(0)
    ) pll (
        .CLKI({input}), .CLKFB(clk), .CLKOP(clk), .LOCK(locked), .RST(1'b0), .STDBY(1'b0),
        .PHASESEL0(1'b0), .PHASESEL1(1'b0), .PHASEDIR(1'b1), .PHASESTEP(1'b1), .PHASELOADREG(1'b1),
        .PLLWAKESYNC(1'b0), .ENCLKOP(1'b0)
    );

    // Button and lock come from elsewhere: two registers each, then reset is held for a while.
    logic [1:0] button = 0, lock = 0;
    logic [7:0] held = 0;
    logic       reset = 1;
    always_ff @(posedge clk) begin
        button <= {{button[0], {held}{reset}}};
        lock <= {{lock[0], locked}};
        reset <= ~&held;
        if (~(button[1] & lock[1])) held <= 0;
        else if (~&held) held <= held + 1;
    end

    wire finished, passed;
    warpline_selftest #(.W(W), .DIVISOR(DIVISOR), .TIMEOUT_LOG(TIMEOUT_LOG), .REPEAT_LOG(REPEAT_LOG)) selftest (
        .clk(clk), .reset(reset), .finished(finished), .passed(passed), .uart_tx(uart_tx)
    );

    logic [26:0] time_passed = 0;
    always_ff @(posedge clk) begin
        time_passed <= time_passed + 1;
        led <= {{{leds}{{finished & (passed ? time_passed[26] : time_passed[23])}}}};
    end
{ties}endmodule
",
            title = self.title,
            part = self.part.to_uppercase(),
            top = self.top(),
            divisor = by_width(divisor[0], divisor[1]),
            clki = by_width(narrow.input, wide.input),
            clkfb = by_width(narrow.feedback, wide.feedback),
            clkop = by_width(narrow.output, wide.output),
            cphase = by_width(phase(narrow), phase(wide)),
        )
    }
}
