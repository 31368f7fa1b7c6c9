//! An option of a block: without it no port, instance or statement is there, with it their names are those of the fields.

use rust_hdl_core::prelude::*;
use warpline_sv_writer::{Block, Dff, Optional, code, write};

/// A register; with N, one that can be held.
#[derive(Block)]
#[block(default)]
struct Holding<const N: usize> {
    clock: Signal<In, Clock>,
    /// Hold what there is.
    hold: Optional<Signal<In, Bit>, N>,
    d: Signal<In, Bits<4>>,
    q: Signal<Out, Bits<4>>,
    value: Dff<Bits<4>>,
    /// Cycles in which it was held, modulo 16.
    held: Optional<Dff<Bits<4>>, N>,
    count: Optional<Signal<Out, Bits<4>>, N>,
}

impl<const N: usize> Logic for Holding<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.value.d.next = self.d.val();
        for i in 0..N {
            if self.hold[i].val() {
                self.value.d.next = self.value.q.val();
                self.held[i].d.next = self.held[i].q.val() + 1;
            }
            self.count[i].next = self.held[i].q.val();
        }
        self.q.next = self.value.q.val();
    }
}

/// The same without the option.
#[derive(Block)]
#[block(default)]
struct Plain {
    clock: Signal<In, Clock>,
    d: Signal<In, Bits<4>>,
    q: Signal<Out, Bits<4>>,
    value: Dff<Bits<4>>,
}

impl Logic for Plain {
    #[hdl_gen]
    fn update(&mut self) {
        self.value.d.next = self.d.val();
        self.q.next = self.value.q.val();
    }
}

/// What a name in brackets may stand for is one thing.
#[derive(Block)]
#[block(default)]
struct Ambiguous<const N: usize> {
    clock: Signal<In, Clock>,
    x: Optional<Signal<In, Bit>, N>,
    x_0: Signal<In, Bit>,
    y: Signal<Out, Bit>,
}

impl<const N: usize> Logic for Ambiguous<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = self.x_0.val();
        for i in 0..N {
            self.y.next = self.x[i].val();
        }
    }
}

fn text(block: &impl Block) -> String {
    let design = write(block, "holding").unwrap();
    design.modules.iter().map(|m| code(&m.text)).collect()
}

#[test]
fn without_the_option_the_text_is_that_of_a_block_that_never_had_it() {
    assert_eq!(text(&Holding::<0>::default()), text(&Plain::default()));
}

#[test]
fn with_the_option_names_have_no_index() {
    let design = write(&Holding::<1>::default(), "holding").unwrap();
    let ports: Vec<_> = design.ports.iter().map(|port| &*port.name).collect();
    assert_eq!(ports, ["clock", "hold", "d", "q", "count"]);
    let text = &design.modules[0].text;
    for part in [
        "// Hold what there is.\n    input  wire        hold",
        "logic [3:0] held_d, held_q;",
        "held_q <= held_d;",
        "held_d = held_q + 4'h1;",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn the_simulation_holds_its_registers_and_counts() {
    let mut block = Holding::<1>::default();
    block.connect_all();
    let mut seen = vec![];
    for (d, hold) in [(3, false), (5, true), (6, true), (7, false)] {
        block.d.next = (d as u64).into();
        block.hold[0].next = hold;
        for level in [false, true] {
            block.clock.next = level.into();
            assert!(simulate(&mut block, 10));
        }
        seen.push((block.q.val().to_u64(), block.count[0].val().to_u64()));
    }
    assert_eq!(seen, [(3, 0), (3, 1), (3, 2), (7, 2)]);
}

#[test]
fn a_name_that_may_stand_for_two_fields_is_refused() {
    assert!(write(&Ambiguous::<0>::default(), "ambiguous").is_ok());
    let refused = write(&Ambiguous::<1>::default(), "ambiguous").unwrap_err();
    assert!(refused.to_string().contains("ambiguous"), "{refused}");
}
