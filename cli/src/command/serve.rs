//! `warpline serve`: memory for iWARP peers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::exit_code::OK;
use super::output::{apart, writable, write_octets};
use super::terminal::{remark, show};
use super::transfer;
use crate::Error;
use crate::options::Serve as Options;
use crate::transfer::{Server, serve};

/// Time between two looks at signals.
const LOOK: Duration = Duration::from_millis(50);

pub(super) fn run(options: &Options) -> Result<u8, Error> {
    let files: Vec<_> = options
        .file
        .iter()
        .chain(&options.output)
        .map(|p| p.as_path())
        .collect();
    transfer::check(&options.peer, &files)?;
    if let Some(path) = &options.output {
        apart(path, &options.file.iter().cloned().collect::<Vec<_>>())?;
        writable(path)?;
    }
    let memory = match (&options.file, options.size) {
        (Some(path), _) => transfer::loaded(path)?.0,
        (None, size) => transfer::empty(size.unwrap_or(1))?,
    };
    let length = memory.len();
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).map_err(Error::Signals)?;
    let machine = transfer::machine(&options.peer)?;
    let server = Server::open(&machine, memory, options.listen)?;
    show(&format!(
        "serving {length} octets at {}\n",
        server.address()
    ))?;

    let (stop, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let served = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                if signals.pending().next().is_some() {
                    stop.store(true, Ordering::Relaxed);
                    return;
                }
                thread::sleep(LOOK);
            }
        });
        let count = options.count.map(|count| count as usize);
        let stopped = || stop.load(Ordering::Relaxed);
        let served = serve(&server, count, &stopped, &|peer, end| match end {
            Ok(Some(reason)) => remark(&format_args!("{peer}: closed, {reason:?}")),
            Ok(None) => remark(&format_args!("{peer}: reset, since the server ends")),
            Err(error) => remark(&format_args!("{peer}: {error}")),
        });
        over.store(true, Ordering::Relaxed);
        served
    });
    served?;
    if let Some(path) = &options.output {
        write_octets(path, &server.to_vec()?)?;
    }
    Ok(OK)
}
