//! The driver's calls, with a card in software.

#[path = "../peer/mod.rs"]
mod peer;
#[path = "../software_card/mod.rs"]
mod software_card;

mod completions;
mod ends;
mod memory;
mod messages;
mod refusals;
mod regions;

use std::time::Duration;

use peer::Peer;
use proptest::prelude::*;
use software_card::{QUEUES, STAG_SLOTS, STREAMS, SoftwareCard};
use warpline_driver::{
    Checks, Completion, CompletionQueue, Context, DmaMemory, Ending, Error, ErrorDetail,
    ErrorNumber, MemoryRegion, Options, ProtectionDomain, Registration, Scope, Stream,
    StreamOptions,
};
use warpline_regmap::register::{self, command};
use warpline_wire::send::{CrcField, FpduWriter, Message};

const SHORT: Duration = Duration::from_millis(50);

fn open(card: &SoftwareCard, completion_entries: u32) -> Context {
    let options = Options {
        completion_entries,
        command_timeout: SHORT,
        ..Options::default()
    };
    Context::open(Box::new(card.clone()), options).unwrap()
}

fn arm(domain: &ProtectionDomain, number: u8) -> Stream {
    let options = StreamOptions {
        sequence_start: 0xFFFF_FF00,
        queues: 0b11,
        ..Default::default()
    };
    domain.arm(number, options).unwrap()
}

fn all(queue: &CompletionQueue) -> Vec<Completion> {
    std::iter::from_fn(|| queue.poll().unwrap()).collect()
}

/// Bus addresses that are mapped now.
fn maps(card: &SoftwareCard) -> usize {
    card.model().mapped()
}
