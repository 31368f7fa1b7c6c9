//! A block in, its SystemVerilog out: `cargo run --example counter`.

use std::error::Error;

use rust_hdl_core::prelude::*;
use warpline_sv_writer::{Block, Dff, write};

/// Counts the cycles in which `enable` is set.
#[derive(Block)]
#[block(default)]
struct Counter {
    /// All registers are clocked by it.
    clock: Signal<In, Clock>,
    /// This cycle counts.
    enable: Signal<In, Bit>,
    /// Cycles so far, modulo 256.
    count: Signal<Out, Bits<8>>,
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

fn main() -> Result<(), Box<dyn Error>> {
    let design = write(&Counter::default(), "counter")?.headed("SPDX-License-Identifier: MIT");
    for (name, text) in design.sources() {
        println!("{name}\n{text}");
    }
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
