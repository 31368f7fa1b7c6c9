//! Interrupt messages: the MSI-X table, and the eventfds that messages go to.
//!
//! ```text
//!  device ─ vector ─► its eventfd ─► signalled
//!                └──► none, or no bus master: pending until there is one
//! ```
//!
//! Behind VFIO the host's kernel or the virtual machine owns the table. It sets an eventfd for each message, and masks by
//! removing it. So the table keeps what is written, and the card does not use it.

use std::fs::File;
use std::ops::Range;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use warpline_regmap::pci;

/// Octets of an entry of the table.
const ENTRY: usize = 16;
/// Octets of the table.
const TABLE: usize = ENTRY * pci::VECTORS;
/// Offsets of the table and of the pending bits in their BAR.
const TABLE_AT: Range<u64> = pci::MSIX_TABLE..pci::MSIX_TABLE + TABLE as u64;
const PENDING_AT: Range<u64> = pci::MSIX_PENDING..pci::MSIX_PENDING + 8;

/// Bits of an entry that a host may change: address, data, and the mask bit of its last word.
const CHANGEABLE: [u32; 4] = [!3, u32::MAX, u32::MAX, 1];
/// After reset the vector is masked.
const MASKED: u8 = 1;

/// Vectors with their messages.
#[derive(Debug)]
pub(crate) struct Messages {
    table: [u8; TABLE],
    /// One bit per vector.
    pending: u64,
    targets: [Option<File>; pci::VECTORS],
    /// Whether the function may send.
    enabled: bool,
}

impl Messages {
    /// Vectors without targets.
    pub fn new() -> Self {
        Self {
            table: fresh_table(),
            pending: 0,
            targets: [const { None }; pci::VECTORS],
            enabled: false,
        }
    }

    /// The function was reset: table and pending bits are as after power-up. Targets belong to the host and stay.
    pub fn reset(&mut self) {
        self.table = fresh_table();
        self.pending = 0;
    }

    /// The host has disconnected.
    pub fn forget(&mut self) {
        *self = Self::new();
    }

    /// Sets whether the function may send messages. Enabling sends those that are pending.
    pub fn enable(&mut self, enabled: bool) {
        self.enabled = enabled;
        self.flush();
    }

    /// Sends messages of `vector` to `target` from now on; without a target they stay pending. False when there is no such
    /// vector.
    pub fn aim(&mut self, vector: usize, target: Option<File>) -> bool {
        let Some(place) = self.targets.get_mut(vector) else {
            return false;
        };
        *place = target;
        self.flush();
        true
    }

    /// Sends a message of `vector`.
    pub fn send(&mut self, vector: usize) {
        if vector < pci::VECTORS {
            self.pending |= 1 << vector;
            self.flush();
        }
    }

    fn flush(&mut self) {
        for (vector, target) in self.targets.iter().enumerate() {
            let due = self.enabled && self.pending >> vector & 1 == 1;
            if let Some(target) = target.as_ref().filter(|_| due) {
                self.pending &= !(1 << vector);
                signal(target, vector);
            }
        }
    }

    /// Reads octets of the BAR from `offset` on; other offsets read zero.
    pub fn read(&self, offset: u64, octets: &mut [u8]) {
        let pending = self.pending.to_le_bytes();
        for (i, octet) in octets.iter_mut().enumerate() {
            let at = offset.saturating_add(i as u64);
            *octet = if TABLE_AT.contains(&at) {
                self.table[(at - TABLE_AT.start) as usize]
            } else if PENDING_AT.contains(&at) {
                pending[(at - PENDING_AT.start) as usize]
            } else {
                0
            };
        }
    }

    /// Writes the octets from `offset` on that belong to the table.
    pub fn write(&mut self, offset: u64, octets: &[u8]) {
        for (i, octet) in octets.iter().enumerate() {
            let at = offset.saturating_add(i as u64);
            if TABLE_AT.contains(&at) {
                let at = (at - TABLE_AT.start) as usize;
                let mask = CHANGEABLE[at % ENTRY / 4].to_le_bytes()[at % 4];
                self.table[at] = self.table[at] & !mask | octet & mask;
            }
        }
    }
}

fn fresh_table() -> [u8; TABLE] {
    let mut table = [0; TABLE];
    for entry in table.chunks_exact_mut(ENTRY) {
        entry[12] = MASKED;
    }
    table
}

/// Adds one to an eventfd. A full counter has already signalled the host, and a descriptor that is not an eventfd must not
/// block the card.
fn signal(target: &File, vector: usize) {
    let mut ready = [PollFd::new(target, PollFlags::OUT)];
    let now = Timespec::default();
    match poll(&mut ready, Some(&now)) {
        Ok(1) if ready[0].revents().contains(PollFlags::OUT) => {}
        other => {
            tracing::debug!(vector, ?other, "the eventfd is full");
            return;
        }
    }
    if let Err(error) = rustix::io::write(target, &1_u64.to_ne_bytes()) {
        tracing::warn!(vector, %error, "a message was lost");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};

    fn target() -> (File, File) {
        let fd = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
        let copy = fd.try_clone().unwrap();
        (fd.into(), copy.into())
    }

    /// How often it was signalled since the last call.
    fn count(target: &File) -> u64 {
        let mut octets = [0; 8];
        match rustix::io::read(target, &mut octets) {
            Ok(_) => u64::from_ne_bytes(octets),
            Err(rustix::io::Errno::AGAIN) => 0,
            Err(error) => panic!("{error}"),
        }
    }

    fn pending(messages: &Messages) -> u64 {
        let mut octets = [0; 8];
        messages.read(pci::MSIX_PENDING, &mut octets);
        u64::from_le_bytes(octets)
    }

    #[test]
    fn messages_go_to_the_target_of_their_vector() {
        let mut messages = Messages::new();
        messages.enable(true);
        let targets = [(); pci::VECTORS].map(|()| target());
        for (vector, (_, copy)) in targets.iter().enumerate() {
            let copy = copy.try_clone().unwrap();
            assert!(messages.aim(vector, Some(copy)));
        }
        for vector in 0..pci::VECTORS {
            messages.send(vector);
            let counts: Vec<_> = targets.iter().map(|(host, _)| count(host)).collect();
            let expected: Vec<_> = (0..pci::VECTORS).map(|v| u64::from(v == vector)).collect();
            assert_eq!(counts, expected);
            assert_eq!(pending(&messages), 0);
        }
        messages.send(pci::VECTORS); // no such vector
        assert!(!messages.aim(pci::VECTORS, None));
        assert!(targets.iter().all(|(host, _)| count(host) == 0));
    }

    #[test]
    fn messages_wait_for_a_target_and_for_bus_mastering() {
        let mut messages = Messages::new();
        let (host, copy) = target();
        messages.send(1);
        assert_eq!(pending(&messages), 0b10);
        messages.aim(1, Some(copy));
        assert_eq!((pending(&messages), count(&host)), (0b10, 0));
        messages.enable(true);
        assert_eq!((pending(&messages), count(&host)), (0, 1));
        messages.enable(false);
        messages.send(1);
        messages.send(1);
        assert_eq!((pending(&messages), count(&host)), (0b10, 0));
        messages.enable(true);
        assert_eq!(
            (pending(&messages), count(&host)),
            (0, 1),
            "one bit per vector"
        );
        messages.aim(1, None);
        messages.send(1);
        messages.reset();
        assert_eq!(pending(&messages), 0);
    }

    #[test]
    fn a_full_target_does_not_block_the_card() {
        let mut messages = Messages::new();
        messages.enable(true);
        // A blocking eventfd with a full counter, a pipe without a reader, a descriptor that is not an eventfd.
        let full = eventfd(0, EventfdFlags::empty()).unwrap();
        rustix::io::write(&full, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let folder = File::open("/").unwrap();
        for target in [
            File::from(full),
            File::from(std::os::fd::OwnedFd::from(writer)),
            folder,
        ] {
            messages.aim(0, Some(target));
            messages.send(0);
            assert_eq!(pending(&messages), 0);
        }
    }

    #[test]
    fn the_table_keeps_its_writable_bits() {
        let mut messages = Messages::new();
        let mut octets = [0; ENTRY];
        messages.read(pci::MSIX_TABLE, &mut octets);
        assert_eq!(octets, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
        let entry = pci::MSIX_TABLE + ENTRY as u64;
        messages.write(entry, &[0xFF; ENTRY]);
        messages.read(entry, &mut octets);
        let all = 0xFF;
        let expected = [
            0xFC, all, all, all, all, all, all, all, all, all, all, all, 1, 0, 0, 0,
        ];
        assert_eq!(octets, expected);
        messages.write(entry + 5, &[7]);
        messages.read(entry + 4, &mut octets[..4]);
        assert_eq!(octets[..4], [0xFF, 7, 0xFF, 0xFF]);
        messages.write(pci::MSIX_PENDING, &[0xFF; 8]);
        assert_eq!(pending(&messages), 0, "only the function sets these");
        messages.write(u64::MAX - 1, &[0xFF; 4]);
        messages.read(u64::MAX - 1, &mut octets[..4]);
        assert_eq!(octets[..4], [0; 4]);
        messages.reset();
        messages.read(entry, &mut octets);
        assert_eq!(octets[..4], [0; 4]);
    }
}
