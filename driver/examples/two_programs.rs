//! Two programs on two machines: one offers memory, the other writes into it and says so.
//!
//! ```text
//!  put                                                    serve
//!   │ ── connect ─────────────────────────────────────────► │ registers memory
//!   │ ◄───────────────── accept, with STag and offset of it │
//!   │ ── RDMA Write ──────────────────────────────────────► │ (its program sees nothing of it)
//!   │ ── Send, "written" ─────────────────────────────────► │ receives: the memory has what was written
//!   │ ── end of the connection ───────────────────────────► │
//! ```
//!
//! Over two simulated cards, each command in a terminal of its own:
//!
//! ```text
//! cargo run -p warpline -- card --socket /tmp/card-a --network
//! cargo run -p warpline -- card --socket /tmp/card-b --network
//! cargo run -p warpline-driver --example two_programs -- /tmp/card-a serve 127.0.0.1:7000
//! cargo run -p warpline-driver --example two_programs -- /tmp/card-b put 127.0.0.1:7000 "hello there"
//! ```
// ANCHOR: all
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use warpline_driver::{
    ConnectOptions, Context, DmaMemory, ListenOptions, Listener, Local, Options, PairEvent,
    QpOptions, QueuePair, Registration, Remote, Work, WorkCompletion, WorkQueue, WorkRequest,
    WorkStatus, connect, open,
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const PATIENCE: Duration = Duration::from_secs(60);
const ROOM: usize = 4096;

fn main() {
    if let Err(error) = run() {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn run() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [card, "serve", address] => {
            let context = open(card, Options::default())?;
            let listener = Listener::bind(
                &context,
                address.parse::<SocketAddr>()?,
                ListenOptions::default(),
            )?;
            println!("listening at {}", listener.address());
            let text = serve(&context, &listener)?;
            println!("the peer wrote: {}", String::from_utf8_lossy(&text));
        }
        [card, "put", address, text] => {
            let context = open(card, Options::default())?;
            put(&context, address.parse()?, text.as_bytes())?;
            println!("{} octets written", text.len());
        }
        _ => return Err("usage: two_programs CARD serve ADDRESS | CARD put ADDRESS TEXT".into()),
    }
    Ok(())
}

/// Offers memory to one peer, and returns what that has written.
pub fn serve(context: &Context, listener: &Listener) -> Result<Vec<u8>> {
    let domain = context.protection_domain()?;
    let registration = Registration {
        remote_write: true,
        ..Registration::default()
    };
    let region = domain.register(DmaMemory::new(ROOM)?, registration)?;
    // Where the peer may write: its program needs both numbers, in any form that both agree on.
    let mut place = region.stag().to_be_bytes().to_vec();
    place.extend(region.base().to_be_bytes());

    let queue = WorkQueue::new(context, 16)?;
    let request = listener
        .accept(PATIENCE)?
        .ok_or("no connection request in time")?;
    let options = QpOptions {
        buffers: context.buffers(1, 64)?, // for the Send
        ..QpOptions::default()
    };
    let pair = request.accept(&domain, &queue, options, &place)?;
    // Once the Send is received, everything that the peer wrote before it is in memory.
    let received = next(&queue)?;
    let note = received
        .buffer
        .ok_or("a completion without a buffer")?
        .to_vec();
    let length = note.first_chunk().ok_or("a Send that is no length")?;
    let length = u32::from_be_bytes(*length) as usize;
    hang_up(&pair, &queue)?;
    let memory = region.revoke()?; // the peer can no longer write: a slice again
    Ok(memory
        .get(..length)
        .ok_or("more than there is room for")?
        .to_vec())
}

/// Writes `text` into the memory that the program at `address` offers.
pub fn put(context: &Context, address: SocketAddr, text: &[u8]) -> Result<()> {
    if text.is_empty() || text.len() > ROOM {
        return Err(format!("{} octets: the server has room for 1 to {ROOM}", text.len()).into());
    }
    let domain = context.protection_domain()?;
    let mut memory = DmaMemory::new(text.len())?;
    memory.copy_from_slice(text);
    let region = Arc::new(domain.register(memory, Registration::local())?);

    let queue = WorkQueue::new(context, 16)?;
    let (pair, place) = connect(&domain, &queue, address, ConnectOptions::default())?;
    let (stag, offset) = place.split_at_checked(4).ok_or("no place to write to")?;
    let remote = Remote {
        stag: u32::from_be_bytes(stag.try_into()?),
        offset: u64::from_be_bytes(offset.try_into()?),
    };
    let length = (text.len() as u32).to_be_bytes();
    // One doorbell for both. The Send is received behind the Write, whatever the network does.
    pair.post_sends([
        WorkRequest::write(1, Local::all(&region)?, remote).silent(),
        WorkRequest::send(2, &length[..]),
    ])?;
    next(&queue)?;
    hang_up(&pair, &queue)
}

/// The next completion, which has to be a good one.
fn next(queue: &WorkQueue) -> Result<WorkCompletion> {
    match queue.wait(PATIENCE)?.ok_or("the peer is silent")? {
        Work::Completion(done) if done.status == WorkStatus::Success => Ok(done),
        Work::Completion(done) => Err(format!("request {} failed", done.id).into()),
        _ => Err("the connection has ended".into()),
    }
}

/// Sends what was posted, then the end; returns when the connection is gone.
fn hang_up(pair: &QueuePair, queue: &WorkQueue) -> Result<()> {
    pair.disconnect()?;
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
    Ok(())
}
// ANCHOR_END: all
