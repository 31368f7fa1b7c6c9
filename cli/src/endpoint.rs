//! Addresses of `warpline serve`, `put` and `get`.

use std::net::ToSocketAddrs;

use warpline_driver::{Endpoint, Transport};

use crate::Error;

/// In front of an address of SCTP.
const SCTP: &str = "sctp://";
/// In front of one of TCP, where it is written.
const TCP: &str = "tcp://";

/// Reads `ADDRESS:PORT`, with `tcp://`, `sctp://` or nothing in front. Names are resolved; the first address counts.
pub(crate) fn parse(text: &str) -> Result<Endpoint, String> {
    let (made, address): (fn(_) -> _, _) = match text.strip_prefix(SCTP) {
        Some(address) => (Endpoint::sctp, address),
        None => (Endpoint::tcp, text.strip_prefix(TCP).unwrap_or(text)),
    };
    let found = address
        .to_socket_addrs()
        .map_err(|error| format!("{error}; give ADDRESS:PORT, or sctp://ADDRESS:PORT"));
    let first = found?.next();
    first
        .map(made)
        .ok_or_else(|| "the name has no address".into())
}

/// The same for a peer, which is at a port.
pub(crate) fn of_peer(text: &str) -> Result<Endpoint, String> {
    match parse(text)? {
        endpoint if endpoint.address.port() == 0 => Err(
            "port 0 is any port of this machine: give the one that `warpline serve` prints".into(),
        ),
        endpoint => Ok(endpoint),
    }
}

/// Whether this program, which has SCTP or not, can use it, with options of TCP that are given or not.
pub(crate) fn check(
    endpoint: Endpoint,
    has_sctp: bool,
    of_tcp: &[(&'static str, bool)],
) -> Result<(), Error> {
    if endpoint.transport == Transport::Tcp {
        return Ok(());
    }
    if !has_sctp {
        return Err(Error::NoSctp { endpoint });
    }
    match of_tcp.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Error::WrongOption {
            input: endpoint.to_string(),
            option,
            other: "TCP: leave it out",
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_of_an_address_says_what_carries_it() {
        let address = ([127, 0, 0, 1], 9899).into();
        for text in ["127.0.0.1:9899", "tcp://127.0.0.1:9899"] {
            assert_eq!(parse(text), Ok(Endpoint::tcp(address)));
        }
        assert_eq!(parse("sctp://127.0.0.1:9899"), Ok(Endpoint::sctp(address)));
        let six = "[::1]:1".parse().unwrap();
        assert_eq!(parse("sctp://[::1]:1"), Ok(Endpoint::sctp(six)));
        for wrong in [
            "sctp://127.0.0.1",
            "sctp:127.0.0.1:1",
            "udp://127.0.0.1:1",
            "sctp://",
        ] {
            let said = parse(wrong).unwrap_err();
            assert!(said.contains("give ADDRESS:PORT"), "{wrong}: {said}");
        }
    }

    #[test]
    fn a_peer_has_a_port() {
        for text in ["127.0.0.1:0", "sctp://127.0.0.1:0"] {
            assert!(parse(text).is_ok());
            assert!(of_peer(text).unwrap_err().contains("port 0"));
        }
        assert_eq!(of_peer("127.0.0.1:1"), parse("127.0.0.1:1"));
    }

    #[test]
    fn a_program_without_sctp_says_how_to_build_one_that_has_it() {
        let (tcp, sctp) = (
            parse("127.0.0.1:1").unwrap(),
            parse("sctp://127.0.0.1:1").unwrap(),
        );
        let options = |given| [("--markers", false), ("--rough", given)];
        check(tcp, false, &options(true)).unwrap();
        check(sctp, true, &options(false)).unwrap();
        let said = check(sctp, false, &options(false)).unwrap_err().to_string();
        assert!(
            said.starts_with("sctp://127.0.0.1:1: ") && said.contains("--features sctp"),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1);
        let said = check(sctp, true, &options(true)).unwrap_err().to_string();
        assert_eq!(said, "sctp://127.0.0.1:1: --rough is for TCP: leave it out");
    }
}
