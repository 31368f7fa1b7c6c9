//! Capabilities: the JSON text of the version message.
//!
//! Each side names the limits of what it *accepts*; a limit that it does not name is the protocol's default. The server
//! answers only to capabilities that the client has named.

use std::time::Duration;

use serde_json::{Map, Value};
use zerocopy::{FromBytes, IntoBytes};

use crate::protocol::{DEFAULT_DESCRIPTORS, MAJOR, MAX_DATA, MAX_DESCRIPTORS, MINOR, Version};

/// Time limit for a client's first message.
pub const GREETING: Duration = Duration::from_secs(10);

/// Names in the JSON text; other members are ignored.
const CAPABILITIES: &str = "capabilities";
const MAX_MSG_FDS: &str = "max_msg_fds";
const MAX_DATA_XFER_SIZE: &str = "max_data_xfer_size";

/// Limits of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// Most descriptors that it accepts in one message.
    pub max_msg_fds: Option<u64>,
    /// Most octets that it accepts in one access.
    pub max_data_xfer_size: Option<u64>,
}

impl Capabilities {
    /// Limits of this side.
    pub const OURS: Capabilities = Capabilities {
        max_msg_fds: Some(MAX_DESCRIPTORS as u64),
        max_data_xfer_size: Some(MAX_DATA as u64),
    };

    /// This side's answer to a client with these.
    pub fn answer(&self) -> Capabilities {
        Capabilities {
            max_msg_fds: self.max_msg_fds.and(Self::OURS.max_msg_fds),
            max_data_xfer_size: self.max_data_xfer_size.and(Self::OURS.max_data_xfer_size),
        }
    }

    /// Descriptors that may be sent in one message to a side with these capabilities.
    pub fn descriptors(&self) -> usize {
        let theirs = self.max_msg_fds.unwrap_or(DEFAULT_DESCRIPTORS as u64);
        usize::try_from(theirs).map_or(MAX_DESCRIPTORS, |n| n.min(MAX_DESCRIPTORS))
    }

    /// Octets that may be asked of or sent to a side with these capabilities in one access.
    pub fn data(&self) -> usize {
        let theirs = self.max_data_xfer_size.unwrap_or(MAX_DATA as u64);
        usize::try_from(theirs).map_or(MAX_DATA, |n| n.min(MAX_DATA))
    }
}

/// Payload of a version message of this side. The minor version is the lowest one, so it is compatible with every client.
pub(crate) fn emit(capabilities: Capabilities) -> Vec<u8> {
    let version = Version {
        major: MAJOR,
        minor: MINOR,
    };
    let members = [
        (MAX_MSG_FDS, capabilities.max_msg_fds),
        (MAX_DATA_XFER_SIZE, capabilities.max_data_xfer_size),
    ];
    let named = members
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.into())));
    let text = Map::from_iter([(CAPABILITIES.to_owned(), Value::Object(named.collect()))]);
    let mut payload = version.as_bytes().to_vec();
    payload.extend_from_slice(Value::Object(text).to_string().as_bytes());
    payload.push(0);
    payload
}

/// Version and capabilities of the other side, or what is wrong with them.
pub(crate) fn parse(payload: &[u8]) -> Result<(Version, Capabilities), String> {
    let Ok((version, text)) = Version::read_from_prefix(payload) else {
        return Err(format!(
            "{} octets are too short for a version",
            payload.len()
        ));
    };
    let capabilities = match text {
        [] | [0] => Capabilities::default(),
        [text @ .., 0] => read(text)?,
        [.., last] => return Err(format!("the text ends with {last:#04x} instead of NUL")),
    };
    Ok((version, capabilities))
}

fn read(text: &[u8]) -> Result<Capabilities, String> {
    let text: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let Value::Object(text) = text else {
        return Err(format!("{text} is not an object"));
    };
    let capabilities = match text.get(CAPABILITIES) {
        None => return Ok(Capabilities::default()),
        Some(Value::Object(capabilities)) => capabilities,
        Some(other) => return Err(format!("{CAPABILITIES} are {other}, not an object")),
    };
    let number = |name| match capabilities.get(name) {
        None => Ok(None),
        Some(value) => match value.as_u64() {
            Some(number) => Ok(Some(number)),
            None => Err(format!("{name} is {value}, not a whole number")),
        },
    };
    Ok(Capabilities {
        max_msg_fds: number(MAX_MSG_FDS)?,
        max_data_xfer_size: number(MAX_DATA_XFER_SIZE)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_emitted_is_parsed() {
        for capabilities in [Capabilities::OURS, Capabilities::default()] {
            let (version, found) = parse(&emit(capabilities)).unwrap();
            assert_eq!((version.major, version.minor), (MAJOR, MINOR));
            assert_eq!(found, capabilities);
        }
    }

    #[test]
    fn qemu_capabilities_are_read_and_answered() {
        // Members as QEMU sends them, in any order.
        let text = br#"{"capabilities": {"migration": {"max_bitmap_size": 268435456, "pgsize": 4096},
            "max_dma_maps": 65535, "max_msg_fds": 16, "max_data_xfer_size": 1048576, "pgsizes": 4096,
            "write_multiple": true}}"#;
        let payload = [&[0, 0, 0, 0], &text[..], &[0]].concat();
        let (_, found) = parse(&payload).unwrap();
        assert_eq!((found.descriptors(), found.data()), (16, 1 << 20));
        let answer = emit(found.answer());
        // QEMU accepts no reply that is longer than its request.
        assert!(answer.len() <= payload.len());
        let text = std::str::from_utf8(&answer[4..]).unwrap();
        assert_eq!(
            text,
            "{\"capabilities\":{\"max_data_xfer_size\":1048576,\"max_msg_fds\":16}}\0"
        );
    }

    #[test]
    fn silence_means_the_defaults() {
        for text in [&b""[..], b"\0", b"{}\0", b"{\"capabilities\":{}}\0"] {
            let (_, found) = parse(&[&[0; 4], text].concat()).unwrap();
            assert_eq!((found.descriptors(), found.data()), (1, 1 << 20));
            assert_eq!(found.answer(), Capabilities::default());
        }
    }

    #[test]
    fn a_peer_raises_no_limit_of_ours() {
        let text = format!(
            "{{\"capabilities\":{{\"max_msg_fds\":{0},\"max_data_xfer_size\":{0}}}}}\0",
            u64::MAX
        );
        let (_, found) = parse(&[&[0; 4], text.as_bytes()].concat()).unwrap();
        assert_eq!(
            (found.descriptors(), found.data()),
            (MAX_DESCRIPTORS, MAX_DATA)
        );
    }

    #[test]
    fn malformed_messages_are_errors() {
        let nested = [vec![b'['; 3000], vec![0]].concat();
        for text in [
            &b"{}"[..],
            b"\xff\0",
            b"[1]\0",
            b"{\"capabilities\":3}\0",
            b"{\"capabilities\":[1]}\0",
            b"{\"capabilities\":{\"max_msg_fds\":1.5}}\0",
            b"{\"capabilities\":{\"max_msg_fds\":-1}}\0",
            b"{\"capabilities\":{\"max_msg_fds\":\"8\"}}\0",
            &nested,
        ] {
            assert!(parse(&[&[0; 4], text].concat()).is_err(), "{text:?}");
        }
        assert!(parse(&[0; 3]).is_err());
    }
}
