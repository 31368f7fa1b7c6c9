//! The control program on a soft processor. `make firmware-image` builds it.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_op_in_unsafe_fn)]

#[cfg(target_os = "none")]
mod bus;
#[cfg(target_os = "none")]
mod network;
#[cfg(target_os = "none")]
mod start;

/// For a machine with an operating system there is nothing to run.
#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("the control program runs on a soft processor: make firmware-image");
    std::process::exit(2);
}
