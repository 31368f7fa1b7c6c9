//! A ping-pong over a queue pair, in an asynchronous reactor.
//!
//! ```text
//! cargo run -p warpline-driver --example pair_async -- /run/card-a listen 10.0.0.1:7000
//! cargo run -p warpline-driver --example pair_async -- /run/card-b connect 10.0.0.1:7000
//! ```
use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use async_io::{Async, Timer};
use futures_lite::FutureExt;
use warpline_driver::{
    ConnectOptions, Context, ListenOptions, Listener, Options, PairEvent, QpOptions, QueuePair,
    Work, WorkOpcode, WorkQueue, WorkRequest, connect, open,
};

const PATIENCE: Duration = Duration::from_secs(30);
const ROUNDS: u64 = 1000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [card, role, address] = &arguments[..] else {
        eprintln!("usage: pair_async <PCI address or socket> listen|connect <address:port>");
        std::process::exit(2);
    };
    match run(card, role == "listen", address) {
        Ok(rounds) => println!("{rounds} rounds"),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}

/// Connects, plays, and ends the connection; returns the number of messages received.
pub fn run(card: &str, listens: bool, address: &str) -> Result<u64, Box<dyn Error>> {
    async_io::block_on(play(card, listens, address))
}

async fn play(card: &str, listens: bool, address: &str) -> Result<u64, Box<dyn Error>> {
    let context = open(card, Options::default())?;
    let queue = WorkQueue::new(&context, 64)?;
    let pair = establish(&context, &queue, listens, address.parse()?)?;
    if !listens {
        pair.post_send(WorkRequest::send(0, &0_u64.to_be_bytes()[..]))?;
    }
    let works = Async::new_nonblocking(queue.clone())?;
    let silence = || async {
        Timer::after(PATIENCE).await;
        Ok(None)
    };
    let mut received = 0;
    while received < ROUNDS {
        let Some(work) = next(&works).or(silence()).await? else {
            return Err("the peer is silent".into());
        };
        let Work::Completion(done) = work else {
            println!("{work}");
            break; // the peer or the network has ended the stream
        };
        if let (WorkOpcode::Receive, Some(buffer)) = (done.opcode, done.buffer) {
            received += 1;
            pair.post_receive(buffer)?; // before the answer: the peer sends no earlier
            pair.post_send(WorkRequest::send(received, &received.to_be_bytes()[..]))?;
        }
    }
    pair.disconnect()?; // after all that was posted
    let closed = |work: &Work| {
        matches!(
            work,
            Work::Event {
                event: PairEvent::Closed(_),
                ..
            }
        )
    };
    while queue.wait(PATIENCE)?.is_some_and(|work| !closed(&work)) {}
    Ok(received)
}

fn establish(
    context: &Context,
    queue: &WorkQueue,
    listens: bool,
    address: SocketAddr,
) -> Result<QueuePair, Box<dyn Error>> {
    let domain = context.protection_domain()?;
    let options = QpOptions {
        buffers: context.buffers(4, 64)?,
        ..QpOptions::default()
    };
    if listens {
        let listener = Listener::bind(context, address, ListenOptions::default())?;
        let request = listener
            .accept(PATIENCE)?
            .ok_or("no connection request in time")?;
        let said = String::from_utf8_lossy(request.private_data());
        println!("{} says {said}", request.peer());
        return Ok(request.accept(&domain, queue, options, b"pong")?);
    }
    let options = ConnectOptions {
        private_data: b"ping".into(),
        pair: options,
        ..ConnectOptions::default()
    };
    let (pair, reply) = connect(&domain, queue, address, options)?;
    println!("the peer says {}", String::from_utf8_lossy(&reply));
    Ok(pair)
}

/// The next completion or event. Cancelling the future loses nothing.
async fn next(works: &Async<WorkQueue>) -> Result<Option<Work>, Box<dyn Error>> {
    loop {
        let queue = works.get_ref();
        queue.request_interrupt()?;
        // Poll after the request: what came before it causes no interrupt.
        if let Some(work) = queue.poll()? {
            return Ok(Some(work));
        }
        works.readable().await?;
    }
}
