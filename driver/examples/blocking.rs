//! Receives with a thread that sleeps until a completion comes.
//!
//! ```text
//! cargo run -p warpline-driver --example blocking -- 0000:05:00.0
//! cargo run -p warpline-driver --example blocking -- /run/card
//! ```
use std::time::Duration;

use warpline_driver::{Completion, DmaMemory, Error, Options, Registration, StreamOptions, open};

fn main() {
    let Some(address) = std::env::args().nth(1) else {
        eprintln!("usage: blocking <PCI address or socket>");
        std::process::exit(2);
    };
    match receive(&address, Duration::from_secs(10)) {
        Ok(messages) => println!("{messages} messages"),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}

/// Receives on stream 0 until no message came for `quiet`, and returns the number of messages.
pub fn receive(address: &str, quiet: Duration) -> Result<u64, Error> {
    let context = open(address, Options::default())?;
    let domain = context.protection_domain()?;
    let region = domain.register(DmaMemory::new(1 << 20)?, Registration::default())?;
    let stream = domain.arm(0, StreamOptions::default())?;
    let queue = stream.receive_queue(0)?;
    queue.post_many(context.buffers(64, 4096)?)?;
    // The program passes these to the peer.
    println!("STag {:#010x}, from {:#x} on", region.stag(), region.base());

    let completions = context.completion_queue();
    let mut messages = 0;
    while let Some(completion) = completions.wait(quiet)? {
        match completion {
            Completion::Untagged(message) => {
                println!("message {}: {} octets", message.msn, message.length);
                queue.post(message.buffer)?; // for a later message
                messages += 1;
            }
            Completion::Tagged(write) => {
                println!("{} octets written at {:#x}", write.length, write.offset);
                messages += 1;
            }
            Completion::Error(event) => {
                println!("stream {} failed: {}", event.stream, event.number.name());
                break;
            }
            _ => {}
        }
    }
    stream.close()?; // posted buffers come back as flushed
    region.revoke()?;
    Ok(messages)
}
