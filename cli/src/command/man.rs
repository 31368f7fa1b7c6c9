//! `warpline man`: manual pages, of the same text as the help.

use std::fs;

use clap::CommandFactory;
use clap_mangen::Man;

use super::exit_code::OK;
use super::output::{writable, write_texts};
use super::terminal::show;
use crate::Error;
use crate::options::{Man as Wanted, Options};

pub(super) fn run(options: &Wanted) -> Result<u8, Error> {
    let mut command = Options::command();
    command.build(); // global options and the names of commands
    let pages = pages(&command)?;
    let Some(folder) = &options.out else {
        let (_, page) = &pages[0];
        show(&String::from_utf8_lossy(page))?;
        return Ok(OK);
    };
    fs::create_dir_all(folder).map_err(Error::write(folder))?;
    let files: Vec<_> = pages
        .into_iter()
        .map(|(name, page)| (folder.join(name), page))
        .collect();
    for (path, _) in &files {
        writable(path)?;
    }
    write_texts(&files)?;
    Ok(OK)
}

/// Names and texts of all pages, that of the program itself first.
fn pages(command: &clap::Command) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let own = std::iter::once(command.clone());
    let of_commands = command
        .get_subcommands()
        .filter(|command| command.get_name() != "help")
        .cloned();
    let pages = own.chain(of_commands).map(|command| {
        // of a command: with the program's name in front
        let name = command.get_display_name().unwrap_or(command.get_name());
        let name = format!("{name}.1");
        let mut page = Vec::new();
        let written = Man::new(command).render(&mut page);
        written.map_err(Error::write(&name))?;
        Ok((name, page))
    });
    pages.collect()
}
