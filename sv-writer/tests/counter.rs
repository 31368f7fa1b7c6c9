//! The example of the README: block in, text out, to the last octet.

use rust_hdl_core::prelude::*;
use warpline_sv_writer::{Block, Dff, code, write};

/// Counts the cycles in which `enable` is set.
#[derive(Block)]
#[block(default)]
struct Counter {
    /// All registers are clocked by it.
    clock: Signal<In, Clock>,
    /// This cycle counts.
    enable: Signal<In, Bit>,
    /// Cycles so far, modulo 256; see [`Dff`].
    count: Signal<Out, Bits<8>>,
    /// The count.
    value: Dff<Bits<8>>,
}

impl Logic for Counter {
    #[hdl_gen]
    fn update(&mut self) {
        if self.enable.val() {
            self.value.d.next = self.value.q.val() + 1;
        }
        self.count.next = self.value.q.val();
    }
}

const TEXT: &str = "\
// SPDX-License-Identifier: MIT
// Instance: counter
//
// Counts the cycles in which `enable` is set.
//
// The example of the README: block in, text out, to the last octet.
`ifndef SV_WRITER_COMB
`ifdef __ICARUS__ // Icarus 11 never leaves time 0 in always_comb
`define SV_WRITER_COMB always @*
`else
`define SV_WRITER_COMB always_comb
`endif
`endif
module counter (
    // All registers are clocked by it.
    input  wire        clock,
    // This cycle counts.
    input  wire        enable,
    // Cycles so far, modulo 256; see `Dff`.
    output logic [7:0] count
);

    // registers
    // The count.
    logic [7:0] value_d, value_q;

    // logic
    `SV_WRITER_COMB begin
        value_d = value_q;
        if (enable) begin
            value_d = value_q + 8'h1;
        end
    end

    assign count = value_q;

    initial begin
        value_q = 8'h0;
    end
    always @(posedge clock) begin
        value_q <= value_d;
    end
endmodule
";

#[test]
fn documentation_and_header_stand_in_the_text() {
    let design = write(&Counter::default(), "counter").unwrap();
    let design = design.headed("SPDX-License-Identifier: MIT");
    assert_eq!(design.text(), TEXT);
}

#[test]
fn the_code_of_a_design_has_no_comments() {
    let bare = write(&Counter::default(), "counter").unwrap();
    let headed = bare.clone().headed("another header");
    let bare = code(&bare.text());
    assert_eq!(bare, code(&headed.text()));
    assert!(!bare.contains("//"));
    assert!(bare.contains("value_d = value_q + 8'h1;\n"));
}
