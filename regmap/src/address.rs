//! Address and port of a TCP endpoint in a record.

use crate::Field;
use core::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// The fields of an address. An IPv4 address a.b.c.d is ::ffff:a.b.c.d.
#[derive(Clone, Copy, Debug)]
pub struct AddressFields {
    /// IPv6 address, octets 0 to 7, the first one most significant.
    pub high: Field,
    /// Octets 8 to 15.
    pub low: Field,
    /// Scope of a link-local IPv6 address (RFC 4007), otherwise 0.
    pub scope: Field,
    /// TCP port.
    pub port: Field,
}

impl AddressFields {
    /// Writes `address` into a record.
    ///
    /// # Panics
    /// If `words` is shorter than the record.
    pub fn put(&self, words: &mut [u32], address: SocketAddr) {
        let (ip, scope) = match address {
            SocketAddr::V4(address) => (address.ip().to_ipv6_mapped(), 0),
            SocketAddr::V6(address) => (*address.ip(), address.scope_id()),
        };
        let octets = u128::from(ip);
        self.high.put(words, (octets >> 64) as u64);
        self.low.put(words, octets as u64);
        self.scope.put(words, scope.into());
        self.port.put(words, address.port().into());
    }

    /// The address in a record.
    ///
    /// # Panics
    /// If `words` is shorter than the record.
    #[must_use]
    pub fn get(&self, words: &[u32]) -> SocketAddr {
        let (high, low) = (self.high.get(words), self.low.get(words));
        let ip = Ipv6Addr::from(u128::from(high) << 64 | u128::from(low));
        let port = self.port.get(words) as u16;
        match ip.to_canonical() {
            IpAddr::V4(ip) => SocketAddr::from((ip, port)),
            IpAddr::V6(ip) => {
                let scope = self.scope.get(words) as u32;
                SocketAddr::V6(SocketAddrV6::new(ip, port, 0, scope))
            }
        }
    }
}
