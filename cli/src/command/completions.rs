//! `warpline completions`: what a shell completes.

use clap::CommandFactory;

use super::exit_code::OK;
use super::terminal::show;
use crate::Error;
use crate::options::{Completions, Options};

pub(super) fn run(options: &Completions) -> Result<u8, Error> {
    let mut script = Vec::new();
    let mut command = Options::command();
    let name = command.get_name().to_owned();
    clap_complete::generate(options.shell, &mut command, name, &mut script);
    show(&String::from_utf8_lossy(&script))?;
    Ok(OK)
}
