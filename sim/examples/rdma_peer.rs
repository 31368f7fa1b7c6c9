//! The card's end of the interoperability test: serves one connection of `rdma-peer`, or connects to it.
//!
//! ```text
//! cargo run -p warpline-sim --example rdma_peer -- listen ADDRESS COUNT
//! cargo run -p warpline-sim --example rdma_peer -- connect ADDRESS
//! ```
//!
//! As a listener it offers 1 MiB to reads and writes, named in front of the private data of its Reply. As an Initiator it writes
//! blocks of many sizes into the peer's region, reads them back and compares them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use warpline_driver::{
    ConnectOptions, Context, DmaMemory, ListenOptions, Listener, Local, MemoryRegion, Options,
    PairEvent, PairOptions, ProtectionDomain, QpOptions, Registration, Remote, Revision, VfioUser,
    Work, WorkCompletion, WorkOpcode, WorkQueue, WorkRequest, WorkStatus, connect,
};
use warpline_hdl::Config;
use warpline_sim::{
    Card, CardOptions, Clock, Connections, ControlOptions, ControlProgram, NetworkOptions,
};

type Failure = Box<dyn std::error::Error>;

const PATIENCE: Duration = Duration::from_secs(60);
const REGION: usize = 1 << 20;

/// A machine with a card. Fields are dropped in this order.
struct Machine {
    queue: WorkQueue,
    domain: ProtectionDomain,
    context: Context,
    _program: ControlProgram,
    _network: Arc<Connections>,
    _clock: Clock,
}

impl Machine {
    fn new(record: Option<std::path::PathBuf>) -> Result<Self, Failure> {
        let options = CardOptions {
            transmit: true,
            ..CardOptions::default()
        };
        let card = Card::open(&Config::simulated(64), options)?;
        let clock = card.run_freely()?;
        let network = NetworkOptions {
            record,
            ..NetworkOptions::default()
        };
        let network = Arc::new(Connections::open(&card, network)?);
        let program =
            ControlProgram::start(&card, Arc::clone(&network), ControlOptions::default())?;
        let device = VfioUser::over(card.connect()?, PATIENCE)?;
        let context = Context::open(Box::new(device), Options::default())?;
        Ok(Self {
            queue: WorkQueue::new(&context, 256)?,
            domain: context.protection_domain()?,
            context,
            _program: program,
            _network: network,
            _clock: clock,
        })
    }

    fn region(&self) -> Result<Arc<MemoryRegion>, Failure> {
        let registration = Registration {
            remote_read: true,
            ..Registration::default()
        };
        let memory = DmaMemory::new(REGION)?;
        let region = self.domain.register(memory, registration);
        Ok(Arc::new(region.map_err(|returned| returned.error)?))
    }

    fn options(&self) -> Result<QpOptions, Failure> {
        Ok(QpOptions {
            buffers: self.context.buffers(64, 4096)?,
            timeout: PATIENCE,
            sizes: PairOptions {
                ird: 4,
                ord: 4,
                ..PairOptions::default()
            },
        })
    }

    fn done(&self) -> Result<WorkCompletion, Failure> {
        loop {
            match self.queue.wait(PATIENCE)?.ok_or("no completion in time")? {
                Work::Completion(completion) => return Ok(completion),
                Work::Event { event, .. } => println!("event: {event:?}"),
                other => println!("{other:?}"),
            }
        }
    }
}

/// Serves connections until each is closed.
fn listen(machine: &Machine, address: SocketAddr, count: usize) -> Result<(), Failure> {
    let listener = Listener::bind(&machine.context, address, ListenOptions::default())?;
    println!("listening at {}", listener.address());
    for _ in 0..count {
        let request = listener.accept(PATIENCE)?.ok_or("no request in time")?;
        println!(
            "request: {} octets of private data, from {}",
            request.private_data().len(),
            request.peer()
        );
        let region = machine.region()?;
        let mut private = Vec::new();
        private.extend(region.base().to_be_bytes());
        private.extend((REGION as u64).to_be_bytes());
        private.extend(region.stag().to_be_bytes());
        private.extend((0..20_usize).map(|i| (7 * i + 3) as u8));
        let pair = request.accept(
            &machine.domain,
            &machine.queue,
            machine.options()?,
            &private,
        )?;
        println!("established on stream {}", pair.stream());
        let (mut receives, mut octets) = (0, 0);
        loop {
            match machine.queue.wait(PATIENCE)?.ok_or("nothing in time")? {
                Work::Completion(completion) if completion.status == WorkStatus::Success => {
                    if completion.opcode == WorkOpcode::Receive {
                        receives += 1;
                        octets += completion.length;
                    }
                    if let Some(buffer) = completion.buffer {
                        let _ = pair.post_receive(buffer);
                    }
                }
                Work::Completion(_) => {} // flushed
                Work::Event {
                    event: PairEvent::HalfClosed,
                    ..
                } => {
                    println!("event: HalfClosed");
                    pair.disconnect()?;
                }
                Work::Event { event, .. } => {
                    println!("event: {event:?}");
                    if matches!(event, PairEvent::Closed(_)) {
                        break;
                    }
                }
                other => println!("{other:?}"),
            }
        }
        println!("{receives} messages of {octets} octets");
        pair.close()?;
    }
    Ok(())
}

/// Writes blocks and reads them back.
fn blocks(machine: &Machine, address: SocketAddr, revision: Revision) -> Result<(), Failure> {
    let options = ConnectOptions {
        private_data: (0..20_usize).map(|i| (7 * i + 3) as u8).collect(),
        revision,
        pair: machine.options()?,
    };
    let (pair, reply) = connect(&machine.domain, &machine.queue, address, options)?;
    println!(
        "established on stream {}, {} octets of private data",
        pair.stream(),
        reply.len()
    );
    let (head, _) = reply
        .split_at_checked(20)
        .ok_or("the reply has no region")?;
    let base = u64::from_be_bytes(head[..8].try_into()?);
    let stag = u32::from_be_bytes(head[16..20].try_into()?);
    let region = machine.region()?;
    let mut at = 0;
    for (id, length) in [
        1_usize, 3, 4, 511, 512, 1024, 1428, 1429, 1430, 4096, 9000, 65536, 65537,
    ]
    .into_iter()
    .enumerate()
    {
        let octets: Vec<u8> = (0..length)
            .map(|i| (131 * id + 7 * i + i / 256) as u8)
            .collect();
        region.write_at(0, &octets)?;
        let to = Remote {
            stag,
            offset: base + at,
        };
        pair.post_send(WorkRequest::write(
            id as u64,
            Local::new(&region, 0..length)?,
            to,
        ))?;
        let done = machine.done()?;
        if done.status != WorkStatus::Success {
            return Err(format!("write of {length} octets: {done:?}").into());
        }
        let sink = Local::new(&region, REGION / 2..REGION / 2 + length)?;
        pair.post_send(WorkRequest::read(id as u64, sink, to))?;
        let done = machine.done()?;
        if done.status != WorkStatus::Success {
            return Err(format!("read of {length} octets: {done:?}").into());
        }
        let mut back = vec![0; length];
        region.read_at(REGION / 2, &mut back)?;
        if back != octets {
            return Err(format!("read of {length} octets: other octets").into());
        }
        at += length as u64;
    }
    println!("blocks: up to octet {at}");
    pair.post_send(WorkRequest::send(99, &b"done"[..]))?;
    println!("send: {:?}", machine.done()?.status);
    pair.disconnect()?;
    loop {
        match machine.queue.wait(PATIENCE)?.ok_or("no end in time")? {
            Work::Event {
                event: PairEvent::Closed(reason),
                ..
            } => {
                println!("closed: {reason:?}");
                break;
            }
            Work::Event { event, .. } => println!("event: {event:?}"),
            _ => {}
        }
    }
    Ok(pair.close()?)
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let usage = "usage: rdma_peer listen ADDRESS COUNT | connect ADDRESS REVISION";
    let machine = Machine::new(std::env::var_os("RECORD").map(Into::into))?;
    let address = words.get(1).ok_or(usage)?.parse()?;
    match words[0].as_str() {
        "listen" => listen(&machine, address, words.get(2).ok_or(usage)?.parse()?)?,
        "connect" => {
            let revision = match words.get(2).map(String::as_str) {
                Some("1") => Revision::One,
                _ => Revision::Two,
            };
            blocks(&machine, address, revision)?;
        }
        _ => return Err(usage.into()),
    }
    println!("done");
    Ok(())
}
