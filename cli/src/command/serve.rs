//! `warpline serve`: memory for iWARP peers.

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use warpline_driver::{Endpoint, PairEvent, Transport};

use super::exit_code::OK;
use super::output::{apart, writable, write_octets};
use super::serving::interruptible;
use super::terminal::{remark, show};
use super::transfer;
use crate::Error;
use crate::options::Serve as Options;
use crate::transfer::{Server, serve};

/// Time between two looks at signals.
const LOOK: Duration = Duration::from_millis(50);

/// The first line that `--json` prints.
#[derive(Serialize)]
struct Serving {
    octets: u64,
    address: String,
}

/// A line for each connection that has ended.
#[derive(Serialize)]
struct Ended {
    peer: String,
    /// Both ends have closed it.
    closed: bool,
    end: String,
}

/// Whether this machine has the address, and its port is free: said before a model is built. Over SCTP its stack says so.
fn can_listen(endpoint: Endpoint) -> Result<(), Error> {
    if endpoint.transport != Transport::Tcp {
        return Ok(());
    }
    match TcpListener::bind(endpoint.address) {
        Ok(_) => Ok(()),
        Err(source) => Err(Error::Address { endpoint, source }),
    }
}

fn line(object: &impl Serialize) -> Result<String, Error> {
    Ok(serde_json::to_string(object)? + "\n")
}

pub(super) fn run(options: &Options) -> Result<u8, Error> {
    let files: Vec<_> = options
        .file
        .iter()
        .chain(&options.output)
        .map(|p| p.as_path())
        .collect();
    transfer::check(&options.peer, options.listen, &files)?;
    if let Some(path) = &options.output {
        apart(path, &options.file.iter().cloned().collect::<Vec<_>>())?;
        writable(path)?;
    }
    let memory = match (&options.file, options.size) {
        (Some(path), _) => transfer::loaded(path)?.0,
        (None, size) => transfer::empty(size.unwrap_or(1))?,
    };
    let length = memory.len();
    can_listen(options.listen)?;
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).map_err(Error::Signals)?;
    let (peer, listen) = (options.peer.clone(), options.listen);
    let opening = move || transfer::machine(&peer, listen);
    let Some(machine) = interruptible(&mut signals, opening)? else {
        return Ok(OK);
    };
    let server = Server::open(&machine, memory, options.listen)?;
    let json = options.json;
    show(&match json {
        true => line(&Serving {
            octets: length as u64,
            address: server.endpoint().to_string(),
        })?,
        false => format!("serving {length} octets at {}\n", server.endpoint()),
    })?;

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
        let served = serve(&server, count, &stopped, &|peer, end| {
            let (closed, text) = match end {
                Ok(Some(reason)) => (true, PairEvent::Closed(*reason).to_string()),
                Ok(None) => (false, "reset, since the server ends".to_owned()),
                Err(error) => (false, error.to_string()),
            };
            if !json {
                return remark(&format_args!("{peer}: {text}"));
            }
            let ended = line(&Ended {
                peer: peer.to_string(),
                closed,
                end: text,
            });
            // a reader that has gone must not end the server: its memory is written at its end
            if let Err(error) = ended.and_then(|line| show(&line)) {
                remark(&error);
            }
        });
        over.store(true, Ordering::Relaxed);
        served
    });
    served?;
    if let Some(path) = &options.output {
        write_octets(path, &server.to_vec()?)?;
        if !json {
            remark(&format_args!("{length} octets are in {}", path.display()));
        }
    }
    drop(server);
    machine.close()?;
    Ok(OK)
}
