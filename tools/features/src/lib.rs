//! No code: `Cargo.toml` gives crates of others the same features in every build.
