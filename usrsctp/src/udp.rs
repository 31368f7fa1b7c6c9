//! SCTP in UDP datagrams (RFC 6951): between processes and machines, without raw sockets or privileges.
//!
//! ```text
//!  Association ─┐                                   ┌─► datagram ─► peer A
//!  Association ─┴ Link of A ─┐                      │
//!  Listener ──── Link of B ──┴─ Udp::serve ─ UdpSocket ◄─► peer B
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use crate::association::Association;
use crate::error::Error;
use crate::link::Link;
use crate::listener::Listener;
use crate::options::Options;
use crate::stack;

/// Datagrams that one call of [`Udp::serve`] takes.
const DATAGRAMS: usize = 256;
/// Peers that an end has, unless [`Udp::set_peers`] says otherwise.
const PEERS: usize = 1024;

/// One end of SCTP over UDP: a socket, and the peers that it exchanges datagrams with. A peer is the address and port of its datagrams.
///
/// All happens in [`serve`](Self::serve), which the owner calls again and again. Peers without associations, from which anybody's datagram
/// makes one, are forgotten when there are too many, the least recent first.
#[derive(Debug)]
pub struct Udp {
    socket: UdpSocket,
    peers: BTreeMap<SocketAddr, Peer>,
    ports: BTreeMap<u16, Port>,
    accepted: VecDeque<(SocketAddr, Association)>,
    /// Peers, at most.
    limit: usize,
    /// Counts calls and datagrams, for what is the least recent.
    turn: u64,
    lost: u64,
    buffer: Box<[u8]>,
    /// Packets of the last call of `serve`, if they are kept.
    passed: Option<VecDeque<Packet>>,
}

#[derive(Debug)]
struct Peer {
    link: Link,
    listeners: Vec<Listener>,
    used: u64,
}

/// A packet that has passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Address and port of the peer's datagrams.
    pub peer: SocketAddr,
    /// It was sent to the peer; otherwise it came from it.
    pub sent: bool,
    /// From SCTP's common header on.
    pub octets: Vec<u8>,
}

/// A port that is listened at.
#[derive(Debug)]
struct Port {
    backlog: u8,
    options: Options,
}

impl Udp {
    /// Opens a socket at `address`; port 0 is any port, 9899 is the one assigned to SCTP over UDP.
    ///
    /// # Errors
    /// Those of the system.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        Ok(Self {
            socket: UdpSocket::bind(address)?,
            peers: BTreeMap::new(),
            ports: BTreeMap::new(),
            accepted: VecDeque::new(),
            limit: PEERS,
            turn: 0,
            lost: 0,
            buffer: vec![0; stack::MAX_PACKET + 1].into_boxed_slice(),
            passed: None,
        })
    }

    /// Address and port of its datagrams.
    ///
    /// # Errors
    /// Those of the system.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Peers that it has at most, 1 or more.
    pub fn set_peers(&mut self, most: usize) {
        self.limit = most.max(1);
    }

    /// Peers that it has now.
    #[must_use]
    pub fn peers(&self) -> usize {
        self.peers.len()
    }

    /// Datagrams that were lost here: too many peers, no packet of SCTP, or refused by the system.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// From now on, [`next_packet`](Self::next_packet) has the packets that pass.
    pub fn keep_packets(&mut self) {
        self.passed = Some(VecDeque::new());
    }

    /// The next packet that has passed in the last call of [`serve`](Self::serve), if packets are [kept](Self::keep_packets).
    pub fn next_packet(&mut self) -> Option<Packet> {
        self.passed.as_mut()?.pop_front()
    }

    /// Listens at an SCTP port, for all peers. Of each, about `backlog` associations may wait.
    ///
    /// # Errors
    /// [`Error::Option`], [`Error::PortTaken`], [`Error::System`].
    pub fn listen(&mut self, port: u16, backlog: u8, options: &Options) -> Result<(), Error> {
        if self.ports.contains_key(&port) {
            return Err(Error::PortTaken { port });
        }
        // Also where there are no peers yet: what is wrong with the options is found now.
        drop(Listener::bind(&Link::new(), port, backlog, options)?);
        for peer in self.peers.values_mut() {
            let listener = Listener::bind(&peer.link, port, backlog, options)?;
            peer.listeners.push(listener);
        }
        let options = options.clone();
        self.ports.insert(port, Port { backlog, options });
        Ok(())
    }

    /// Listens no more at a port. Accepted associations stay.
    pub fn unlisten(&mut self, port: u16) {
        self.ports.remove(&port);
        for peer in self.peers.values_mut() {
            peer.listeners.retain(|listener| listener.port() != port);
        }
    }

    /// Sets up an association with SCTP port `port` of the peer at `address`, from any port of this end.
    ///
    /// # Errors
    /// [`Error::Peers`], and those of [`Association::connect`].
    pub fn connect(
        &mut self,
        address: SocketAddr,
        port: u16,
        options: &Options,
    ) -> Result<Association, Error> {
        let limit = self.limit;
        let peer = self.peer(address)?.ok_or(Error::Peers { limit })?;
        Association::connect(&peer.link, 0, port, options)
    }

    /// The next association that a peer has set up, and the peer's address.
    pub fn accept(&mut self) -> Option<(SocketAddr, Association)> {
        self.accepted.pop_front()
    }

    /// Sends what is to be sent, waits at most for `wait` for a datagram (zero: not at all), takes what has come, and lets the timers run.
    ///
    /// To be called at least every 10 ms or so while there are associations, and behind calls that send.
    ///
    /// # Errors
    /// Those of the system; the end may be served again. [`Error::Peers`] is none of them: the datagram is counted as
    /// [lost](Self::lost).
    pub fn serve(&mut self, wait: Duration) -> Result<(), Error> {
        if let Some(passed) = &mut self.passed {
            passed.clear();
        }
        self.flush();
        let system = |call| move |source| Error::System { call, source };
        let set_blocking = |socket: &UdpSocket, on: bool| {
            let set = socket.set_nonblocking(!on);
            set.map_err(system("set_nonblocking"))
        };
        let mut left = DATAGRAMS;
        if !wait.is_zero() {
            let limited = self.socket.set_read_timeout(Some(wait));
            limited.map_err(system("set_read_timeout"))?;
            left = if self.take()? { DATAGRAMS - 1 } else { 0 };
        }
        if left > 0 {
            set_blocking(&self.socket, false)?;
            let mut taken = Ok(true);
            while left > 0 && matches!(taken, Ok(true)) {
                taken = self.take();
                left -= 1;
            }
            set_blocking(&self.socket, true)?;
            taken?;
        }
        stack::keep_time();
        for (address, peer) in &mut self.peers {
            for listener in &peer.listeners {
                while let Some(association) = listener.accept()? {
                    self.accepted.push_back((*address, association));
                }
            }
        }
        self.flush();
        Ok(())
    }

    /// Takes a datagram; false: there is none.
    fn take(&mut self) -> Result<bool, Error> {
        let (octets, from) = match self.socket.recv_from(&mut self.buffer) {
            Ok(received) => received,
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock
                | io::ErrorKind::TimedOut
                | io::ErrorKind::Interrupted => return Ok(false),
                // An ICMP message about an earlier datagram.
                io::ErrorKind::ConnectionRefused => return Ok(true),
                _ => {
                    return Err(Error::System {
                        call: "recv_from",
                        source: error,
                    });
                }
            },
        };
        if !(stack::MIN_PACKET..=stack::MAX_PACKET).contains(&octets) {
            self.lost += 1;
            return Ok(true);
        }
        let number = self.peer(from)?.map(|peer| peer.link.number());
        match number {
            Some(number) => {
                let packet = &self.buffer[..octets];
                stack::input(number, packet);
                keep(&mut self.passed, from, false, packet);
            }
            None => self.lost += 1,
        }
        Ok(true)
    }

    /// The peer at an address, a new one if need be. `None`: there are too many that have associations.
    fn peer(&mut self, address: SocketAddr) -> Result<Option<&mut Peer>, Error> {
        self.turn += 1;
        let turn = self.turn;
        if !self.peers.contains_key(&address) {
            if self.peers.len() >= self.limit && !self.forget() {
                return Ok(None);
            }
            let link = Link::new();
            let listeners = self
                .ports
                .iter()
                .map(|(port, entry)| Listener::bind(&link, *port, entry.backlog, &entry.options));
            let peer = Peer {
                listeners: listeners.collect::<Result<_, _>>()?,
                link,
                used: turn,
            };
            self.peers.insert(address, peer);
        }
        let mut peer = self.peers.get_mut(&address);
        if let Some(peer) = &mut peer {
            peer.used = turn;
        }
        Ok(peer)
    }

    /// Forgets the least recent peer without associations.
    fn forget(&mut self) -> bool {
        let idle = |peer: &Peer| peer.link.users() <= 1 + peer.listeners.len();
        let idle = self.peers.iter().filter(|(_, peer)| idle(peer));
        let oldest = idle.min_by_key(|(_, peer)| peer.used);
        let Some(address) = oldest.map(|(address, _)| *address) else {
            return false;
        };
        self.peers.remove(&address).is_some()
    }

    /// Sends the packets of all links. One that the system refuses is lost: SCTP sends it again.
    fn flush(&mut self) {
        for (address, peer) in &self.peers {
            while let Some(packet) = peer.link.output() {
                match self.socket.send_to(&packet, address) {
                    Ok(_) => keep(&mut self.passed, *address, true, &packet),
                    Err(_) => self.lost += 1,
                }
            }
        }
    }
}

fn keep(passed: &mut Option<VecDeque<Packet>>, peer: SocketAddr, sent: bool, octets: &[u8]) {
    if let Some(passed) = passed {
        let octets = octets.to_vec();
        passed.push_back(Packet { peer, sent, octets });
    }
}
