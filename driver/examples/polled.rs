//! Receives with a thread that never sleeps: least latency, at the cost of a core.
//!
//! Polling an empty queue reads one word of memory, without access to the card or the kernel.
//!
//! ```text
//! cargo run -p warpline-driver --example polled -- 0000:05:00.0
//! ```
use std::hint;
use std::time::{Duration, Instant};

use warpline_driver::{Completion, Error, Options, StreamOptions, open};

/// Polls between two reads of the clock.
const POLLS: u32 = 1000;

fn main() {
    let Some(address) = std::env::args().nth(1) else {
        eprintln!("usage: polled <PCI address or socket>");
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
    let stream = domain.arm(0, StreamOptions::default())?;
    let queue = stream.receive_queue(0)?;
    queue.post_many(context.buffers(64, 4096)?)?;

    let completions = context.completion_queue();
    let (mut messages, mut used) = (0, Vec::new());
    let mut last = Instant::now();
    while last.elapsed() < quiet {
        for _ in 0..POLLS {
            match completions.poll()? {
                Some(Completion::Untagged(message)) => {
                    println!("message {}: {} octets", message.msn, message.length);
                    used.push(message.buffer);
                    messages += 1;
                    last = Instant::now();
                }
                Some(Completion::Error(event)) => {
                    println!("stream {} failed: {}", event.stream, event.number.name());
                    return Ok(messages);
                }
                Some(_) => {}
                None => {
                    // A doorbell is a write to the card: ring it once for all used buffers.
                    queue.post_many(used.drain(..))?;
                    hint::spin_loop();
                }
            }
        }
    }
    stream.close()?;
    Ok(messages)
}
