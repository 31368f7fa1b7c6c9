//! Ports: every storage class, width and ownership checks, several models side by side.

mod common;

use std::{panic::AssertUnwindSafe, thread};

use common::cycle;
use warpline_verilate::{Build, Direction, Error, Library, Model};

const WIDTHS: [u32; 14] = [1, 7, 8, 9, 16, 17, 31, 32, 33, 63, 64, 65, 96, 100];

/// `y<width> = ~x<width>` for each width.
fn inverters() -> Model {
    let ports: Vec<_> = WIDTHS
        .map(|w| {
            format!(
                "input wire [{}:0] x{w}, output wire [{}:0] y{w}",
                w - 1,
                w - 1
            )
        })
        .into();
    let assigns: String = WIDTHS.map(|w| format!("assign y{w} = ~x{w};\n")).concat();
    let text = format!(
        "module inverters({});\n{assigns}endmodule\n",
        ports.join(",\n")
    );
    Build::new("inverters")
        .source("inverters.sv", text)
        .open()
        .unwrap()
}

fn panics(f: impl FnOnce()) -> String {
    let panic = std::panic::catch_unwind(AssertUnwindSafe(f)).expect_err("should panic");
    panic
        .downcast_ref::<String>()
        .expect("a formatted message")
        .clone()
}

#[test]
fn every_width_carries_zeros_ones_and_patterns() {
    let mut model = inverters();
    for width in WIDTHS {
        let (x, y) = (
            model.port(&format!("x{width}")).unwrap(),
            model.port(&format!("y{width}")).unwrap(),
        );
        assert_eq!(
            (model.info(x).direction, model.info(y).direction),
            (Direction::Input, Direction::Output)
        );
        assert_eq!(model.info(x).width, width);
        let count = width.div_ceil(32) as usize;
        let clean = |mut words: Vec<u32>| {
            if width % 32 != 0 {
                words[count - 1] &= (1 << (width % 32)) - 1;
            }
            words
        };
        for pattern in [0, u32::MAX, 0x89AB_CDEF] {
            let value = clean(vec![pattern; count]);
            let inverse = clean(vec![!pattern; count]);
            model.set_words(x, &value);
            model.eval().unwrap();
            assert_eq!(model.to_words(y), inverse, "width {width}");
            assert_eq!(model.to_words(x), value, "width {width}");
            if width <= 64 {
                let number =
                    |w: &[u32]| w.iter().rev().fold(0, |n, &word| n << 32 | u64::from(word));
                model.set(x, number(&value));
                model.eval().unwrap();
                assert_eq!(model.get(y), number(&inverse), "width {width}");
            } else {
                model.words_mut(x).copy_from_slice(&value);
                model.eval().unwrap();
                assert_eq!(model.words(y), inverse, "width {width}");
            }
        }
    }
}

#[test]
fn values_too_wide_are_refused_and_leave_the_port_alone() {
    let mut model = inverters();
    for width in WIDTHS.into_iter().filter(|w| *w < 64) {
        let x = model.port(&format!("x{width}")).unwrap();
        model.set(x, 1);
        assert!(
            panics(|| model.set(x, 1 << width))
                .contains(&format!("x{width} of {width} bits cannot hold"))
        );
        assert!(panics(|| model.set_words(x, &[0, 0, 1])).contains("cannot hold"));
        assert_eq!(model.get(x), 1);
    }
    let x100 = model.port("x100").unwrap();
    model.set_words(x100, &[7]); // missing words are zero
    assert!(panics(|| model.set_words(x100, &[0, 0, 0, 16])).contains("cannot hold"));
    assert!(panics(|| model.set_words(x100, &[0, 0, 0, 0, 1])).contains("cannot hold"));
    model.set_words(x100, &[7, 0, 0, 15, 0]);
    assert_eq!(model.words(x100), [7, 0, 0, 15]);
}

#[test]
fn bits_above_a_wide_input_never_reach_the_model() {
    // Generated code assumes that bits above the width are zero: it compares whole words.
    let text = "module equal(input wire [66:0] x, output wire y); assign y = x == {3'd5, 64'd0}; endmodule";
    let mut model = Build::new("equal").source("equal.sv", text).open().unwrap();
    let (x, y) = (model.port("x").unwrap(), model.port("y").unwrap());
    model.words_mut(x).copy_from_slice(&[0, 0, 0xFFFF_FFF5]);
    model.eval().unwrap();
    assert_eq!(model.get(y), 1);
    assert_eq!(model.words(x), [0, 0, 5]);
}

#[test]
fn misused_ports_are_refused() {
    let (mut model, other) = (inverters(), inverters());
    let port = |name| model.port(name).unwrap();
    let (x8, y8, x100, y100) = (port("x8"), port("y8"), port("x100"), port("y100"));
    assert!(panics(|| model.set(y8, 0)).contains("y8 of 8 bits is an output"));
    assert!(panics(|| model.words_mut(y100).fill(0)).contains("is an output"));
    assert!(panics(|| model.set_words(y100, &[])).contains("is an output"));
    assert!(panics(|| model.set(x100, 0)).contains("wider than 64"));
    assert!(panics(|| _ = model.get(x100)).contains("wider than 64"));
    assert!(panics(|| _ = model.words(x8).len()).contains("64 bits or fewer"));
    assert!(panics(|| _ = model.words_mut(x8).len()).contains("64 bits or fewer"));
    assert!(panics(|| _ = other.get(x8)).contains("another model"));
}

#[test]
fn unknown_port_names_the_known_ones() {
    let model = inverters();
    match model.port("x2\0") {
        Err(Error::UnknownPort { name, known }) => {
            assert_eq!(name, "x2\0");
            assert_eq!(known.len(), 2 * WIDTHS.len());
            assert!(known.contains(&"y100".to_owned()));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(model.ports().count(), 2 * WIDTHS.len());
}

#[test]
fn escaped_names_keep_their_spelling() {
    let text = "module awkward(input wire a__b, input wire \\x+y\" , input wire class_, output wire [7:4] y);
                  assign y = {a__b, \\x+y\" , class_, 1'b1};
                endmodule";
    let mut model = Build::new("awkward")
        .source("awkward.sv", text)
        .open()
        .unwrap();
    for (name, value) in [("a__b", 1), ("x+y\"", 0), ("class_", 1)] {
        let port = model.port(name).unwrap();
        model.set(port, value);
    }
    model.eval().unwrap();
    assert_eq!(model.get(model.port("y").unwrap()), 0b1011);
}

#[test]
fn port_without_packed_type_is_an_error() {
    let text = "module unpacked(input wire [7:0] x [0:3], output wire [7:0] y); assign y = x[0] ^ x[1] ^ x[2] ^ x[3]; endmodule";
    match Build::new("unpacked").source("unpacked.sv", text).build() {
        Err(Error::UnsupportedPort { declaration }) => assert!(declaration.contains('x')),
        other => panic!("{other:?}"),
    }
}

/// A registered adder of a constant; the same top name for all constants.
fn adder(constant: u32) -> Library {
    let text = format!(
        "module adder(input wire clk, input wire [99:0] x, output reg [99:0] y);
           always @(posedge clk) y <= x + 100'd{constant};
         endmodule"
    );
    Build::new("adder")
        .source("adder.sv", text)
        .build()
        .unwrap()
}

/// `x + constant` through the model; `x` is below 2³².
fn add(model: &mut Model, x: u32) -> u64 {
    let (clk, xp, yp) = (
        model.port("clk").unwrap(),
        model.port("x").unwrap(),
        model.port("y").unwrap(),
    );
    model.set_words(xp, &[x]);
    cycle(model, clk).unwrap();
    let words = model.words(yp);
    assert_eq!(words[2..], [0, 0]);
    u64::from(words[1]) << 32 | u64::from(words[0])
}

#[test]
fn models_with_one_top_name_work_in_one_process() {
    let (one, seven) = (adder(1), adder(7));
    let (mut a, mut b, mut c) = (
        one.open(1).unwrap(),
        seven.open(1).unwrap(),
        one.open(2).unwrap(),
    );
    for x in [0, 5, u32::MAX] {
        assert_eq!(
            (add(&mut a, x), add(&mut b, x), add(&mut c, x)),
            (u64::from(x) + 1, u64::from(x) + 7, u64::from(x) + 1)
        );
    }
    drop(a);
    assert_eq!(add(&mut c, 1), 2);
    assert_eq!(add(&mut b, 1), 8);
}

#[test]
fn models_run_on_threads_and_move_between_them() {
    let libraries = [adder(1), adder(7), adder(1)];
    let constants = [1, 7, 1];
    let models: Vec<Model> = libraries.iter().map(|l| l.open(1).unwrap()).collect(); // opened here, used in threads
    let back: Vec<Model> = thread::scope(|scope| {
        let run = |(mut model, constant): (Model, u64)| {
            scope.spawn(move || {
                for x in 0..5_000 {
                    assert_eq!(add(&mut model, x), u64::from(x) + constant);
                }
                model
            })
        };
        let threads: Vec<_> = models.into_iter().zip(constants).map(run).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    for (mut model, constant) in back.into_iter().zip(constants) {
        assert_eq!(add(&mut model, 1), 1 + constant); // and used here again
    }
}

#[test]
fn initial_values_follow_the_seed() {
    let text = "module wake(input wire clk, input wire [63:0] x, output reg [63:0] y); always @(posedge clk) y <= x; endmodule";
    let library = Build::new("wake").source("wake.sv", text).build().unwrap();
    let value = |seed| {
        let mut model = library.open(seed).unwrap();
        let (clk, y) = (model.port("clk").unwrap(), model.port("y").unwrap());
        model.set(clk, 0);
        model.eval().unwrap();
        model.get(y)
    };
    assert_eq!(value(3), value(3));
    let seeds = [0, 1, 2, 3, 0x7FFF_FFFE];
    let values = seeds.map(value);
    for (i, v) in values.iter().enumerate() {
        assert!(!values[..i].contains(v), "seeds {seeds:?} give {values:?}");
    }
}
