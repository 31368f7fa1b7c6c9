//! Writes the top module and the pins of each board into its folder in `constraints`: make boards.

use std::error::Error;
use std::fs;
use std::path::Path;

use warpline_synth::BOARDS;

fn main() -> Result<(), Box<dyn Error>> {
    let constraints = Path::new(env!("CARGO_MANIFEST_DIR")).join("../constraints");
    for board in &BOARDS {
        let folder = constraints.join(board.name);
        fs::create_dir_all(&folder)?;
        let top = board.top();
        fs::write(folder.join(format!("{top}.sv")), board.sv())?;
        fs::write(folder.join(format!("{top}.lpf")), board.lpf())?;
    }
    Ok(())
}
