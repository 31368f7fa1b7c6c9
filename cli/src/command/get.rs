//! `warpline get`: served memory into a file.

use std::time::Instant;

use super::exit_code::OK;
use super::output::{writable, write_octets};
use super::transfer::{self, Report, Telling};
use crate::Error;
use crate::options::Get as Options;
use crate::size::MOST_MEMORY;
use crate::transfer::{Client, Retries, TransferError};

pub(super) fn run(options: &Options) -> Result<u8, Error> {
    let Options {
        address,
        file,
        length,
        transfer: how,
    } = options;
    transfer::check(&how.peer, *address, &[file])?;
    writable(file)?;
    let machine = transfer::machine(&how.peer, *address)?;
    let length = match length {
        Some(length) => *length,
        None => {
            let size = Client::new(&machine, *address, transfer::empty(1)?)?.measure()?;
            let offset = how.offset;
            let octets = size.checked_sub(offset).filter(|length| *length > 0);
            let octets = octets.ok_or(TransferError::Outside {
                offset,
                length: 1,
                size,
            })?;
            if octets > MOST_MEMORY {
                let most = MOST_MEMORY;
                return Err(TransferError::TooLarge { octets, most }.into());
            }
            octets
        }
    };
    let mut client = Client::new(&machine, *address, transfer::empty(length)?)?;
    let start = Instant::now();
    let telling = Telling::new("reading", *address, length);
    client.get(how.offset, Retries(how.retries), &mut |progress| {
        telling.show(progress);
    })?;
    drop(telling);
    let took = start.elapsed();
    write_octets(file, &client.to_vec()?)?;
    let report = Report {
        octets: length,
        offset: how.offset,
        seconds: took.as_secs_f64(),
        equal: None,
    };
    report.show(how.json, "read", took)?;
    drop(client);
    machine.close()?;
    Ok(OK)
}
