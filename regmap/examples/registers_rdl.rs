//! Prints `docs/registers.rdl`.

fn main() {
    print!("{}", warpline_regmap::rdl::registers());
}
