//! The reference receiver's run of a plan.

use warpline_wire::receive::{
    Delivery, Event, Receiver, ReceiverConfig, ReceiverError, Scope, StagEntry, StreamConfig,
    Target,
};

use super::landed::{Landed, Work};
use super::plan::Plan;
use crate::Flow;

const STREAM: u32 = 0;

/// Runs the reference receiver on `octets`, which are all of `flow`.
pub(super) fn receive(plan: &Plan, flow: &Flow, octets: &[u8]) -> Landed {
    let mut landed = Landed::blank(plan);
    let mut receiver = Receiver::new(ReceiverConfig::default());
    // The receiver is new and its stream is open: no call names a stream or queue that it does not have.
    let known = |result: Result<(), ReceiverError>| debug_assert!(result.is_ok(), "{result:?}");
    let config = StreamConfig {
        markers: flow.markers,
        crc: flow.crc,
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
    let mut left = plan.queues.each_ref().map(|queue| queue.count);

    // More buffers are posted where messages end, up to the capacity of the queue.
    let mut cuts: Vec<_> = plan
        .queues
        .iter()
        .flat_map(|q| q.messages.ends.iter().copied())
        .collect();
    cuts.push(octets.len() as u64);
    cuts.sort_unstable();
    cuts.dedup();
    let mut start = 0;
    for end in cuts {
        for ((queue, left), of) in (0..).zip(&mut left).zip(&plan.queues) {
            while *left > 0 && receiver.post(STREAM, queue, of.length).is_ok() {
                *left -= 1;
            }
        }
        let piece = &octets[start..end as usize];
        known(receiver.receive(STREAM, piece, &mut |event: Event<'_>| {
            landed.take(plan, event)
        }));
        start = end as usize;
    }
    if flow.fin {
        known(receiver.finish(STREAM, &mut |event: Event<'_>| landed.take(plan, event)));
    }
    landed.add_unused(plan);
    landed
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
            Event::Delivered {
                delivery:
                    Delivery::Untagged {
                        queue: 0,
                        msn,
                        length,
                        ..
                    },
                ..
            } => self.work.push(Work::Received {
                buffer: u64::from(msn - 1),
                length,
            }),
            Event::Delivered { .. } => {}
            Event::Closed { position, .. } => self.closed = Some(position),
            Event::Failed(record) => {
                self.error = Some((record.number.error_type(), record.number.code()));
            }
        }
    }
}
