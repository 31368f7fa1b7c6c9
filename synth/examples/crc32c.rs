//! Area and clock of the device's CRC32C beside that of a parallel LFSR: make crc32c.
//!
//! Arguments: the report to write, and the widths; without, 64 and 512 bits on standard output.

use std::error::Error;
use std::fs::File;
use std::path::Path;

use warpline_synth::Tools;
use warpline_synth::comparison::{PATIENCE, compare};

const SEEDS: [u32; 3] = [1, 2, 3];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let widths: Vec<usize> = arguments
        .iter()
        .skip(1)
        .map(|width| width.parse())
        .collect::<Result<_, _>>()?;
    let widths = if widths.is_empty() {
        vec![64, 512]
    } else {
        widths
    };
    if let Some(path) = arguments.first() {
        // before all placements
        File::options().append(true).create(true).open(path)?;
    }
    let tools = Tools::find()?;
    let folder = Path::new("target/crc32c");
    let comparison = compare(&widths, &SEEDS, &tools, folder, &mut |built| {
        let clock = built.fmax_mhz_min.map_or_else(
            || format!("not routed in {} min", PATIENCE.as_secs() / 60),
            |megahertz| format!("{megahertz} MHz"),
        );
        let expected = built.placed_mhz_min.map_or_else(
            || "not placed".into(),
            |megahertz| format!("{megahertz} MHz before routing"),
        );
        eprintln!(
            "{:>3} bits, {:<8}: {:>6} LUT4, {:>5} flip-flops, {:>2} LUTs in a row, {expected}, {clock}",
            built.width, built.what, built.lut4, built.ff, built.lut_levels
        );
    })?;
    let text = serde_json::to_string_pretty(&comparison)? + "\n";
    match arguments.first() {
        Some(path) => std::fs::write(path, text)?,
        None => print!("{text}"),
    }
    Ok(())
}
