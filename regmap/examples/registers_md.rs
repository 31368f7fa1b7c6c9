//! Prints `docs/registers.md`.

fn main() {
    print!("{}", warpline_regmap::markdown::registers());
}
