//! Frames of Ethernet in a file of pcapng, which several threads may write.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use etherparse::err::packet::BuildWriteError;
use etherparse::{IpHeaders, PacketBuilder, PacketBuilderStep};

use crate::network::error::NetworkError;

/// Ethernet addresses, locally administered.
const CARD: [u8; 6] = [2, 0, 0, 0, 0, 1];
const PEER: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Block types and options (draft-ietf-opsawg-pcapng).
mod block {
    pub const SECTION_HEADER: u32 = 0x0A0D_0D0A;
    pub const INTERFACE: u32 = 1;
    pub const ENHANCED_PACKET: u32 = 6;
    pub const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
    pub const LINK_ETHERNET: u16 = 1;
    pub const OPTION_TSRESOL: u16 = 9;
    /// Time stamps count 10^-9 s.
    pub const NANOSECONDS: u8 = 9;
}

/// Which end sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    Card,
    Peer,
}

impl From {
    pub fn other(self) -> Self {
        match self {
            Self::Card => Self::Peer,
            Self::Peer => Self::Card,
        }
    }
}

/// The file. After an error nothing more is written to it.
pub(crate) struct Frames {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    /// The file, or what has ended it.
    file: io::Result<BufWriter<File>>,
    frame: Vec<u8>,
}

impl State {
    fn with(&mut self, write: impl FnOnce(&mut BufWriter<File>, &mut Vec<u8>) -> io::Result<()>) {
        if let Ok(file) = &mut self.file
            && let Err(error) = write(file, &mut self.frame)
        {
            tracing::error!(%error, "the record of the network side ends");
            self.file = Err(error);
        }
    }
}

impl Frames {
    /// Creates the file.
    pub fn create(path: PathBuf) -> Result<Self, NetworkError> {
        match open(&path) {
            Ok(file) => Ok(Self {
                path,
                state: Mutex::new(State {
                    file: Ok(file),
                    frame: Vec::new(),
                }),
            }),
            Err(source) => Err(NetworkError::Record { path, source }),
        }
    }

    /// Writes the frame that `build` makes.
    pub fn write(&self, build: impl FnOnce(&mut Vec<u8>) -> Result<(), BuildWriteError>) {
        self.state().with(|file, frame| {
            frame.clear();
            build(frame).map_err(io::Error::other)?;
            write_packet(file, frame)
        });
    }

    /// Writes what is buffered.
    pub fn flush(&self) {
        self.state().with(|file, _| file.flush());
    }

    /// The same, and whether all was written so far.
    pub fn check(&self) -> Result<(), NetworkError> {
        self.flush();
        self.state()
            .file
            .as_ref()
            .map(|_| ())
            .map_err(|error| NetworkError::Record {
                path: self.path.clone(),
                source: io::Error::new(error.kind(), error.to_string()),
            })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates a file with pcapng's headers.
fn open(path: &Path) -> io::Result<BufWriter<File>> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut header = block::BYTE_ORDER_MAGIC.to_le_bytes().to_vec();
    header.extend([1, 0, 0, 0]); // version 1.0
    header.extend([0xFF; 8]); // length not stated
    write_block(&mut file, block::SECTION_HEADER, &[&header])?;
    let mut interface = block::LINK_ETHERNET.to_le_bytes().to_vec();
    interface.extend([0; 6]); // reserved; no limit of a packet's length
    interface.extend(block::OPTION_TSRESOL.to_le_bytes());
    interface.extend([1, 0, block::NANOSECONDS, 0, 0, 0]);
    interface.extend([0; 4]); // end of options
    write_block(&mut file, block::INTERFACE, &[&interface])?;
    Ok(file)
}

/// The addresses of a frame that one end sends to the other.
pub(crate) fn addressed(
    card: SocketAddr,
    peer: SocketAddr,
    from: From,
) -> PacketBuilderStep<IpHeaders> {
    let (sender, receiver, link) = match from {
        From::Card => (card, peer, PacketBuilder::ethernet2(CARD, PEER)),
        From::Peer => (peer, card, PacketBuilder::ethernet2(PEER, CARD)),
    };
    match (sender.ip(), receiver.ip()) {
        (IpAddr::V4(sender), IpAddr::V4(receiver)) => {
            link.ipv4(sender.octets(), receiver.octets(), 64)
        }
        (sender, receiver) => {
            let octets = |ip: IpAddr| match ip {
                IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
                IpAddr::V6(ip) => ip.octets(),
            };
            link.ipv6(octets(sender), octets(receiver), 64)
        }
    }
}

fn write_packet(file: &mut impl Write, packet: &[u8]) -> io::Result<()> {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    let time = time.map_or(0, |time| time.as_nanos() as u64);
    let length = (packet.len() as u32).to_le_bytes();
    let mut header = [0; 20]; // interface 0
    header[4..8].copy_from_slice(&((time >> 32) as u32).to_le_bytes());
    header[8..12].copy_from_slice(&(time as u32).to_le_bytes());
    header[12..16].copy_from_slice(&length);
    header[16..20].copy_from_slice(&length);
    let pad = packet.len().next_multiple_of(4) - packet.len();
    let parts = [&header, packet, &[0; 3][..pad]];
    write_block(file, block::ENHANCED_PACKET, &parts)
}

fn write_block(file: &mut impl Write, kind: u32, parts: &[&[u8]]) -> io::Result<()> {
    let octets: usize = parts.iter().map(|part| part.len()).sum();
    let length = (octets as u32 + 12).to_le_bytes();
    file.write_all(&kind.to_le_bytes())?;
    file.write_all(&length)?;
    for part in parts {
        file.write_all(part)?;
    }
    file.write_all(&length)
}
