//! The reference receiver's run of a plan.

use warpline_wire::receive::{
    Delivery, Event, MsnMode, Receiver, ReceiverConfig, ReceiverError, Scope, StagEntry,
    StreamConfig, Target,
};

use std::ops::Range;

use warpline_wire::{marker, mpa};

use super::landed::{Landed, Message, Work};
use super::plan::Plan;
use crate::{Flow, Piece};

const STREAM: u32 = 0;

/// What the reference receiver does, which takes all octets in order.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub landed: Landed,
    /// Up to which octet each message was complete.
    ends: Vec<u64>,
}

impl Reference {
    /// Messages that have to be delivered in front of the error of the FPDU at `failed_at`: those that were complete in
    /// order when its last octet came with `pieces`, whatever octets are missing in front of it then (AMB-11).
    pub fn due(&self, flow: &Flow, octets: &[u8], pieces: &[Piece], failed_at: u32) -> usize {
        let Some(fpdu) = fpdu_at(flow, octets, failed_at as usize) else {
            return self.ends.len();
        };
        let mut there: Vec<Range<usize>> = Vec::new();
        for (sequence, octets) in pieces {
            let start = marker::position(*sequence, flow.seq_start) as usize;
            let edge = there.first().filter(|first| first.start == 0);
            let edge = edge.map_or(0, |first| first.end);
            let mut all = start..start + octets.len();
            there.retain(|range| {
                let apart = range.end < all.start || all.end < range.start;
                if !apart {
                    all = all.start.min(range.start)..all.end.max(range.end);
                }
                apart
            });
            if all.start <= fpdu.start && fpdu.end <= all.end {
                return self.ends.partition_point(|&end| end <= edge as u64);
            }
            let place = there.partition_point(|range| range.start < all.start);
            there.insert(place, all);
        }
        self.ends.len()
    }
}

/// The FPDU that begins at `start`, if it is whole.
fn fpdu_at(flow: &Flow, octets: &[u8], start: usize) -> Option<Range<usize>> {
    let lead = match flow.markers && marker::is_due(start as u32) {
        true => marker::LEN,
        false => 0,
    };
    let length = octets.get(start + lead..)?.first_chunk()?;
    let length = u16::from_be_bytes(*length);
    let end = start + mpa::fpdu_len(start as u32, length.into(), flow.markers);
    (end <= octets.len()).then_some(start..end)
}

/// What the reference receiver does with `octets`, which are all of `flow`.
pub(super) fn receive(plan: &Plan, flow: &Flow, octets: &[u8]) -> Reference {
    let mut landed = Landed::blank(plan);
    let mut receiver = Receiver::new(ReceiverConfig::default());
    // The receiver is new and its stream is open: no call names a stream or queue that it does not have.
    let known = |result: Result<(), ReceiverError>| debug_assert!(result.is_ok(), "{result:?}");
    let config = StreamConfig {
        markers: flow.markers,
        crc: flow.crc,
        msn_mode: MsnMode::Window,
        ..StreamConfig::default()
    };
    known(receiver.open(STREAM, config));
    for region in &plan.regions {
        let entry = StagEntry {
            valid: true,
            scope: Scope::ProtectionDomain(config.protection_domain),
            remote_write: region.remote_write,
            base: region.base,
            length: region.length,
        };
        receiver.set_stag(region.stag, entry);
    }
    for (queue, _) in (0..).zip(&plan.queues) {
        known(receiver.enable_queue(STREAM, queue, 1));
    }
    for (queue, of) in (0..).zip(&plan.queues) {
        for _ in 0..of.count {
            known(receiver.post(STREAM, queue, of.length).map(drop));
        }
    }
    // Cut at all ends of FPDUs, to see with which one a message is complete.
    let (mut cuts, mut next) = (Vec::new(), 0);
    while let Some(fpdu) = fpdu_at(flow, octets, next) {
        next = fpdu.end;
        cuts.push(next);
    }
    cuts.push(octets.len());
    let (mut start, mut ends) = (0, Vec::new());
    for end in cuts {
        let piece = &octets[start..end];
        known(receiver.receive(STREAM, piece, &mut |event: Event<'_>| {
            landed.take(plan, event)
        }));
        ends.resize(landed.messages.len(), end as u64);
        start = end;
    }
    if flow.fin {
        known(receiver.finish(STREAM, &mut |event: Event<'_>| landed.take(plan, event)));
    }
    landed.add_unused(plan);
    Reference { landed, ends }
}

impl Landed {
    fn take(&mut self, plan: &Plan, event: Event<'_>) {
        match event {
            Event::Place { target, octets, .. } => {
                let place = match target {
                    Target::Tagged { stag, to } => {
                        let region = plan.regions.iter().position(|region| region.stag == stag);
                        region.map(|i| (&mut self.memory[i].1, to - plan.regions[i].base))
                    }
                    Target::Untagged {
                        queue: 0,
                        msn,
                        offset,
                    } => {
                        let start = u64::from(msn - 1) * u64::from(plan.queues[0].length);
                        Some((&mut self.receive.1, start + u64::from(offset)))
                    }
                    Target::Untagged { .. } => None,
                };
                if let Some((image, offset)) = place {
                    image[offset as usize..][..octets.len()].copy_from_slice(octets);
                }
            }
            Event::Delivered { delivery, .. } => match delivery {
                Delivery::Tagged {
                    stag, to, length, ..
                } => self.messages.push(Message::Tagged {
                    stag,
                    offset: to,
                    length,
                }),
                Delivery::Untagged {
                    queue, msn, length, ..
                } => {
                    self.messages.push(Message::Untagged { queue, msn, length });
                    if queue == 0 {
                        self.work.push(Work::Received {
                            buffer: u64::from(msn - 1),
                            length,
                        });
                    }
                }
            },
            Event::Closed { position, .. } => self.closed = Some(position),
            Event::Failed(record) => {
                self.error = Some((record.number.error_type(), record.number.code()));
                self.failed_at = Some(record.position);
            }
        }
    }
}
