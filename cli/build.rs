//! Which compiler builds the program: `warpline report` says it.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = Command::new(rustc).arg("--version").output();
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let version = said.ok().filter(|version| !version.is_empty());
    let version = version.unwrap_or_else(|| "an unknown compiler".into());
    println!("cargo::rustc-env=WARPLINE_RUSTC={version}");
}
