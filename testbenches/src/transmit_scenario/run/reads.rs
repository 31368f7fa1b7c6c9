//! Read Requests: their ring and buffers in host memory, the commands that hand them to the device, and the peer that sends them.

use warpline_regmap::layout::receive_ring;
use warpline_regmap::register::{self, command};
use warpline_regmap::transmit::{self, READ_BUFFER_OCTETS, read_responder};
use warpline_wire::ddp::UntaggedHeader;
use warpline_wire::rdmap::queue;

use super::super::common::ScenarioError;
use super::super::plan::{Ask, Cut, Step};
use super::state::{Access, Arrival, Current, Result, Run, What};
use crate::read_buffers::{DESCRIPTOR, descriptor_word};

/// Octets of a buffer.
const BUFFER: u64 = READ_BUFFER_OCTETS as u64;

impl Current {
    /// The words at an address of descriptors or buffers, and whether the bus refuses them.
    pub(super) fn request_words(&self, address: u64, words: &mut [u32]) -> Option<bool> {
        let place = self.life.reads?;
        let entries = place.entries() as u64;
        if (place.ring..place.ring + entries * DESCRIPTOR).contains(&address) {
            for (index, word) in (0..).zip(words) {
                *word = descriptor_word(address + 4 * index - place.ring, place.buffers);
            }
            return Some(false);
        }
        let at = address.checked_sub(place.buffers)? as usize;
        let octets = self.buffers.get(at..at + 4 * words.len())?;
        for (word, octets) in words.iter_mut().zip(octets.as_chunks().0) {
            *word = u32::from_le_bytes(*octets);
        }
        let mut asks = self.judge.reads.of_buffer(at / READ_BUFFER_OCTETS);
        // such a request goes to the host, so no other one comes into its buffer
        Some(asks.any(|ask| ask.unread))
    }

    /// These beats are descriptors, or a request that the responder reads.
    pub(super) fn is_request(&self, from: u64, last: u64) -> bool {
        let Some(place) = self.life.reads else {
            return false;
        };
        let entries = place.entries() as u64;
        let descriptors = place.ring..place.ring + entries * DESCRIPTOR;
        let buffers = place.buffers..place.buffers + entries * BUFFER;
        descriptors.contains(&from) && descriptors.contains(&last)
            || place.on
                && buffers.contains(&from)
                && last - from / BUFFER * BUFFER < BUFFER
                && self
                    .judge
                    .reads
                    .of_buffer(((from - place.buffers) / BUFFER) as usize)
                    .next()
                    .is_some()
    }

    /// The device writes an octet; gives whether it is one of a request that belongs there.
    pub(super) fn store_request(&mut self, address: u64, found: u8) -> Option<bool> {
        let at = address.checked_sub(self.life.reads?.buffers)? as usize;
        let octet = self.buffers.get_mut(at)?;
        *octet = found;
        let offset = at % READ_BUFFER_OCTETS;
        let mut asks = self.judge.reads.of_buffer(at / READ_BUFFER_OCTETS);
        let fits = |ask: &Ask| offset >= ask.hole() && ask.octets.get(offset) == Some(&found);
        Some(asks.any(fits))
    }
}

impl Run<'_> {
    /// The ring of queue 1, and its buffers.
    pub(super) fn set_up_reads(&mut self, number: usize) {
        let life = self.streams[number].as_ref().map(|current| &current.life);
        let Some(place) = life.and_then(|life| life.reads) else {
            return;
        };
        let stream = number as u64;
        self.give(
            number,
            What::SetUp,
            command::SET_RECEIVE_RING,
            receive_ring::WORDS,
            &[
                (receive_ring::STREAM, stream),
                (receive_ring::QUEUE, queue::READ_REQUEST.into()),
                (receive_ring::ENTRIES, place.entries() as u64),
                (receive_ring::BASE, place.ring),
            ],
        );
        let element = number as u32 * register::RECEIVE_PRODUCER_STRIDE + queue::READ_REQUEST;
        let mut word = [0];
        register::RECEIVE_PRODUCER_COUNT.put(&mut word, place.announced as u64);
        let offset = register::RECEIVE_PRODUCER.at(element);
        let doorbell = Access::Write(offset, word[0]);
        self.registers.commands.push_back(doorbell);
        if place.on {
            self.set_responder(number, What::SetUp, true);
        }
    }

    pub(super) fn set_responder(&mut self, number: usize, what: What, on: bool) {
        let life = self.streams[number].as_ref().map(|current| &current.life);
        let Some(place) = life.and_then(|life| life.reads) else {
            return;
        };
        self.give(
            number,
            what,
            transmit::SET_READ_RESPONDER,
            read_responder::WORDS,
            &[
                (read_responder::STREAM, number as u64),
                (read_responder::ON, on.into()),
                (read_responder::ENTRIES_LOG, place.entries_log.into()),
                (read_responder::FIRST_MSN, place.first_msn.into()),
                (read_responder::BASE, place.buffers),
            ],
        );
    }

    /// The peer sends as many of these requests as there are buffers for; the rest is a step to come.
    pub(super) fn asks(&mut self, number: usize, asks: Vec<Ask>, together: bool) -> Result<()> {
        let cycle = self.cycle;
        let current = self.streams[number].as_mut().expect("it is there");
        if current.judge.reads.doubt.is_some() {
            // whether there is an error now shows soon
            current.steps.push_front(Step::Ask(asks, together));
            return Ok(());
        }
        let mut asks = asks.into_iter();
        let first = current.peer.position();
        let mut octets = vec![];
        while let Some(ask) = asks.next() {
            let frozen = current.judge.frozen.is_some();
            let credit = current.judge.reads.credit();
            // the one beyond follows those that have taken all buffers
            let may = if ask.beyond { credit == 0 } else { credit > 0 };
            if !may && !frozen && !ask.beyond {
                if current.judge.reads.unresolved() > 0 {
                    let rest = std::iter::once(ask).chain(asks).collect();
                    current.steps.push_front(Step::Ask(rest, together));
                }
                break;
            }
            let ask = Ask {
                beyond: ask.beyond && may,
                ..ask
            };
            let from = current.peer.position();
            let msn = current.judge.ask(&ask, cycle);
            if frozen {
                self.coverage.count("read behind an error of the peer");
            }
            for part in parts(&ask, msn) {
                let (header, payload) = part;
                let written = current.peer.append(&header, payload, &mut octets);
                written.map_err(|error| ScenarioError::Plan(error.to_string()))?;
            }
            if !together {
                self.arrivals.push_back(Arrival {
                    number,
                    first: current.life.peer_start.wrapping_add(from),
                    octets: std::mem::take(&mut octets),
                    at: 0,
                });
            }
            if current.judge.reads.doubt.is_some() {
                break;
            }
        }
        if !octets.is_empty() {
            self.arrivals.push_back(Arrival {
                number,
                first: current.life.peer_start.wrapping_add(first),
                octets,
                at: 0,
            });
        }
        Ok(())
    }
}

/// DDP segments of a request: headers and payload.
fn parts(ask: &Ask, msn: u32) -> Vec<(Vec<u8>, &[u8])> {
    let part = |mo: usize, end: usize| {
        let header = UntaggedHeader {
            last: end == ask.octets.len(),
            rsvd_ulp: ask.rsvd_ulp,
            qn: queue::READ_REQUEST,
            msn,
            mo: mo as u32,
        };
        (header.emit().to_vec(), &ask.octets[mo..end])
    };
    let end = ask.octets.len();
    match ask.cut {
        Cut::Two(at) => vec![part(0, at), part(at, end)],
        _ => vec![part(ask.hole(), end)],
    }
}
