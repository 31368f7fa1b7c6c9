//! Receives in an async program: the queue is a descriptor that the reactor polls together with its sockets.
//!
//! The reactor here is async-io's, which works with any executor. Any other reactor works too if it reports when a
//! descriptor is readable.
//!
//! ```text
//! cargo run -p warpline-driver --example async_reactor -- 0000:05:00.0
//! ```
use std::time::Duration;

use async_io::{Async, Timer};
use futures_lite::FutureExt;
use warpline_driver::{Completion, CompletionQueue, Options, StreamOptions, open};

/// Errors of the card and of the reactor.
type Error = Box<dyn std::error::Error + Send + Sync>;

fn main() {
    let Some(address) = std::env::args().nth(1) else {
        eprintln!("usage: async_reactor <PCI address or socket>");
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
    async_io::block_on(receive_async(address, quiet))
}

async fn receive_async(address: &str, quiet: Duration) -> Result<u64, Error> {
    let context = open(address, Options::default())?;
    let domain = context.protection_domain()?;
    let stream = domain.arm(0, StreamOptions::default())?;
    let queue = stream.receive_queue(0)?;
    queue.post_many(context.buffers(64, 4096)?)?;

    let completions = Async::new_nonblocking(context.completion_queue())?;
    let silence = || async {
        Timer::after(quiet).await;
        Ok(None)
    };
    let mut messages = 0;
    while let Some(completion) = next(&completions).or(silence()).await? {
        match completion {
            Completion::Untagged(message) => {
                println!("message {}: {} octets", message.msn, message.length);
                queue.post(message.buffer)?;
                messages += 1;
            }
            Completion::Error(event) => {
                println!("stream {} failed: {}", event.stream, event.number.name());
                break;
            }
            _ => {}
        }
    }
    stream.close()?;
    Ok(messages)
}

/// The next completion. Cancelling the future loses nothing.
async fn next(completions: &Async<CompletionQueue>) -> Result<Option<Completion>, Error> {
    loop {
        let queue = completions.get_ref();
        if let Some(completion) = queue.poll()? {
            return Ok(Some(completion));
        }
        queue.request_interrupt()?;
        // Poll once more: an entry that came before the request causes no interrupt.
        if let Some(completion) = queue.poll()? {
            return Ok(Some(completion));
        }
        completions.readable().await?;
    }
}
