//! A peer of DDP over SCTP (RFC 5043) on Linux's own SCTP: the other end of the card's in the interoperability test.
//!
//! ```text
//!  sctp-peer ─► kernel's SCTP ─► UDP (RFC 6951) ─► netem, QEMU's user network ─► UDP ─► usrsctp ─► card
//! ```
//!
//! Of warpline it has the formats and machines of `warpline-wire`, nothing of card, driver or firmware. The module `sctp` has to be
//! loaded, and `net.sctp.udp_port` set. It prints a line for each fact; the last is "done".

#![deny(unsafe_code)]

mod association;
mod client;
mod error;
mod event;
#[allow(
    unsafe_code,
    reason = "sockets of SCTP have options that only structures of C name"
)]
mod kernel;
mod memory;
mod offer;
mod outbox;
mod private;
mod serve;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use client::Remote;
use error::PeerError;
use serve::{Decision, serve};

const USAGE: &str = "usage: sctp-peer serve OCTETS COUNT FILE    serves OCTETS to COUNT sessions, then writes them to FILE
       sctp-peer reject OCTETS COUNT        rejects COUNT sessions, with OCTETS of private data
       sctp-peer put FILE ADDRESS           writes FILE to the peer's memory
       sctp-peer get ADDRESS OCTETS FILE    reads OCTETS of the peer's memory
       sctp-peer bad-stag ADDRESS           writes to an STag that the peer must refuse
       sctp-peer rejected ADDRESS           asks for a session that the peer must reject
       sctp-peer indicate CODE ADDRESS      an association with another adaptation indication; none: without one
ADDRESS is that of the peer's datagrams, IP:UDP-PORT. Private data is 7 i + 3 in octet i.";

/// SCTP port in the datagrams: that of the card. RFC 5043 has none.
const PORT: u16 = 5043;

fn main() -> ExitCode {
    match run() {
        Ok(()) => {
            println!("done");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("sctp-peer: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), PeerError> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", octets, count, file] => {
            let octets = serve(PORT, Decision::Accept(number(octets)?), number(count)?)?;
            write(file, &octets)
        }
        ["reject", octets, count] => {
            serve(PORT, Decision::Reject(number(octets)?), number(count)?).map(drop)
        }
        ["put", file, address] => {
            let octets = fs::read(file).map_err(|source| PeerError::File {
                path: file.into(),
                source,
            })?;
            client::put(remote(address)?, octets)
        }
        ["get", address, octets, file] => {
            write(file, &client::get(remote(address)?, number(octets)?)?)
        }
        ["bad-stag", address] => client::bad_stag(remote(address)?),
        ["rejected", address] => client::rejected(remote(address)?),
        ["indicate", "none", address] => client::indicate(remote(address)?, None),
        ["indicate", code, address] => client::indicate(remote(address)?, Some(number(code)?)),
        _ => Err(PeerError::Usage(USAGE.into())),
    }
}

fn number<T: std::str::FromStr>(word: &str) -> Result<T, PeerError> {
    let usage = |_| PeerError::Usage(format!("{word} is no number\n{USAGE}"));
    word.parse().map_err(usage)
}

fn remote(word: &str) -> Result<Remote, PeerError> {
    let usage = |_| PeerError::Usage(format!("{word} is no IP:UDP-PORT\n{USAGE}"));
    Ok(Remote {
        datagrams: word.parse().map_err(usage)?,
        port: PORT,
    })
}

fn write(file: &str, octets: &[u8]) -> Result<(), PeerError> {
    let path = Path::new(file);
    fs::write(path, octets).map_err(|source| PeerError::File {
        path: path.into(),
        source,
    })
}
