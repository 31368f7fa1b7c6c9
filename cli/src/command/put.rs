//! `warpline put`: a file into served memory.

use std::time::Instant;

use super::exit_code::{DIFFERENT, OK};
use super::transfer::{self, Report, Telling};
use crate::Error;
use crate::options::Put as Options;
use crate::transfer::{Client, Retries};

pub(super) fn run(options: &Options) -> Result<u8, Error> {
    let Options {
        file,
        address,
        verify,
        transfer: how,
    } = options;
    transfer::check(&how.peer, *address, &[file])?;
    let (memory, octets) = transfer::loaded(file)?;
    let length = octets.len() as u64;
    let machine = transfer::machine(&how.peer, *address)?;
    let retries = Retries(how.retries);
    let mut client = Client::new(&machine, *address, memory)?;
    let start = Instant::now();
    let telling = Telling::new("writing", *address, length);
    client.put(how.offset, retries, &mut |progress| telling.show(progress))?;
    drop(telling);
    let took = start.elapsed();
    let equal = match verify {
        false => None,
        true => {
            let mut client = Client::new(&machine, *address, transfer::empty(length)?)?;
            let telling = Telling::new("reading back", *address, length);
            client.get(how.offset, retries, &mut |progress| telling.show(progress))?;
            Some(client.to_vec()? == octets)
        }
    };
    let report = Report {
        octets: length,
        offset: how.offset,
        seconds: took.as_secs_f64(),
        equal,
    };
    report.show(how.json, "written", took)?;
    drop(client);
    machine.close()?;
    Ok(if equal == Some(false) { DIFFERENT } else { OK })
}
