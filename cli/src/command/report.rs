//! `warpline report`: all recorded figures as one HTML page.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use super::exit_code::{DIFFERENT, OK};
use super::output::{apart, writable, write_text};
use super::terminal::{complain, counted, show, unless_closed};
use crate::Error;
use crate::options::Report as Options;
use crate::report::page;

/// The page goes to standard output.
const STDOUT: &str = "-";
/// Folders of records, below the root.
const FOLDERS: [&str; 3] = ["docs", "docs/bench", "constraints/reports"];

pub(super) fn run(options: &Options) -> Result<u8, Error> {
    let to_stdout = options.out.as_os_str() == STDOUT;
    if !to_stdout {
        apart(&options.out, &records(options))?;
        writable(&options.out)?;
    }
    let page = page(&options.records)?;
    match to_stdout {
        true => {
            let mut out = io::stdout().lock();
            let written = out
                .write_all(page.html.as_bytes())
                .and_then(|()| out.flush());
            unless_closed(written)?;
        }
        false => {
            write_text(&options.out, &page.html)?;
            let octets = counted(page.html.len() as u64, "octet");
            show(&format!("{octets} in {}\n", options.out.display()))?;
        }
    }
    for complaint in &page.complaints {
        complain(complaint);
    }
    Ok(match page.complaints.is_empty() {
        true => OK,
        false => DIFFERENT,
    })
}

/// Files that the page must not replace.
fn records(options: &Options) -> Vec<PathBuf> {
    let folders = FOLDERS.iter().map(|name| options.records.join(name));
    let files = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    files
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect()
}
