//! See the library.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    warpline::main(std::env::args_os())
}
