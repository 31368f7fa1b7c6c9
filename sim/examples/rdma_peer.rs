//! The card's end of the interoperability test: serves one connection of `rdma-peer`, or connects to it.
//!
//! ```text
//! rdma_peer listen ADDRESS COUNT           serves COUNT connections, one after the other
//! rdma_peer refuse ADDRESS COUNT           rejects COUNT requests
//! rdma_peer connect ADDRESS REVISION       blocks of many sizes, written, read back and compared
//! rdma_peer fault CASE ADDRESS             does what the peer must refuse, and prints how it ends
//! rdma_peer refused ADDRESS                connects to a peer that rejects
//! rdma_peer file ADDRESS LENGTH             serves LENGTH octets to one peer behind a path that cuts, reorders, repeats and
//!                                          loses segments, and compares what that peer has written with `octet_of_file`
//! rdma_peer small ADDRESS                   writes blocks that fit an FPDU each
//! rdma_peer damaged ADDRESS                writes 64 KiB, reads them back, and prints how many octets are others
//! rdma_peer relay TO POSITION              passes one connection on to TO, with octet POSITION of what goes there inverted
//! ```
//!
//! As a listener it offers 1 MiB to reads and writes, named in front of the private data of its Reply. Octet i of private data is
//! 7 i + 3. An ADDRESS of `fault`, `refuse` or `refused` may have `sctp://` in front: then the card has sessions of SCTP. Each line
//! on standard output is one fact; the last is "done". With `CRC_OFF` in the environment the card's administrator has switched its
//! CRCs off; with `MARKERS`, the card asks its peers for markers; with `RECORD`, a file, the card's network side is recorded there.
//! FPDUs are made by the RTL; with `SOFTWARE`, by the card's engine in software. With `SOFT_PROCESSOR`, the control program is its
//! image on picorv32.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use warpline_driver::{
    ConnectOptions, Context, DmaMemory, Endpoint, Error, ListenOptions, Listener, Local,
    MemoryRegion, Options, PairEvent, PairOptions, ProtectionDomain, QpOptions, QueuePair,
    Registration, Remote, Revision, Settings, Transport, VfioUser, Work, WorkCompletion,
    WorkOpcode, WorkQueue, WorkRequest, WorkStatus, connect,
};
use warpline_hdl::{Config, Sctp};
use warpline_sim::{
    Card, CardOptions, Clock, Connections, ControlOptions, ControlProgram, NetworkOptions,
    PathOptions,
};

type Failure = Box<dyn std::error::Error>;

const PATIENCE: Duration = Duration::from_secs(60);
/// Until a peer connects: it may have to boot first, and others may come before it. `tools/interop` ends a listener sooner.
const FIRST: Duration = Duration::from_secs(300);
/// For the whole of a file.
const LONG: Duration = Duration::from_secs(1500);
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
    fn new(path: PathOptions) -> Result<Self, Failure> {
        Self::with(path, None)
    }

    /// For connections over what carries `endpoint`.
    fn of(endpoint: Endpoint) -> Result<Self, Failure> {
        let sctp = (endpoint.transport == Transport::Sctp).then(Sctp::default);
        Self::with(PathOptions::default(), sctp)
    }

    fn with(path: PathOptions, sctp: Option<Sctp>) -> Result<Self, Failure> {
        let options = CardOptions {
            transmit: true,
            ..CardOptions::default()
        };
        let config = Config {
            transmit: std::env::var_os("SOFTWARE").is_none(),
            sctp,
            ..Config::simulated(64)
        };
        let card = Card::open(&config, options)?;
        let clock = card.run_freely()?;
        let network = NetworkOptions {
            record: std::env::var_os("RECORD").map(Into::into),
            path,
            ..NetworkOptions::default()
        };
        let network = Arc::new(Connections::open(&card, network)?);
        let control = ControlOptions {
            soft_processor: std::env::var_os("SOFT_PROCESSOR").is_some(),
            ..ControlOptions::default()
        };
        let program = ControlProgram::start(&card, Arc::clone(&network), control)?;
        let device = VfioUser::over(card.connect()?, PATIENCE)?;
        let context = Context::open(Box::new(device), Options::default())?;
        context.configure(Settings {
            crc_off: std::env::var_os("CRC_OFF").is_some(),
            markers: std::env::var_os("MARKERS").is_some(),
            ..Settings::default()
        })?;
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
        self.region_of(REGION)
    }

    fn region_of(&self, length: usize) -> Result<Arc<MemoryRegion>, Failure> {
        let registration = Registration {
            remote_read: true,
            ..Registration::default()
        };
        let memory = DmaMemory::new(length)?;
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
            ..QpOptions::default()
        })
    }

    fn done(&self) -> Result<WorkCompletion, Failure> {
        loop {
            match self.queue.wait(PATIENCE)?.ok_or("no completion in time")? {
                Work::Completion(completion) => return Ok(completion),
                Work::Event { event, .. } => println!("{event}"),
                other => println!("{other}"),
            }
        }
    }
}

/// Private data as both ends have agreed on it.
fn private_data(length: usize) -> Vec<u8> {
    (0..length).map(|i| (7 * i + 3) as u8).collect()
}

/// How much of it is as agreed.
fn as_agreed(octets: &[u8]) -> usize {
    let agreed = private_data(octets.len());
    octets
        .iter()
        .zip(agreed)
        .take_while(|(a, b)| *a == b)
        .count()
}

/// Rejects requests.
fn refuse(endpoint: Endpoint, count: usize) -> Result<(), Failure> {
    let machine = Machine::of(endpoint)?;
    let listener = Listener::bind(&machine.context, endpoint, ListenOptions::default())?;
    println!("listening at {}", listener.endpoint());
    for _ in 0..count {
        let request = listener.accept(FIRST)?.ok_or("no request in time")?;
        request.reject(&private_data(33))?;
        println!("rejected");
    }
    // The rejection is on its way through the card.
    while machine.context.connections() > 0 {
        thread::sleep(Duration::from_millis(10));
    }
    thread::sleep(Duration::from_secs(2));
    Ok(())
}

/// Serves connections until each is closed.
fn listen(machine: &Machine, address: SocketAddr, count: usize) -> Result<(), Failure> {
    let listener = Listener::bind(&machine.context, address, ListenOptions::default())?;
    println!("listening at {}", listener.address());
    for _ in 0..count {
        let request = listener.accept(FIRST)?.ok_or("no request in time")?;
        println!(
            "request: {} octets of private data, {} as agreed",
            request.private_data().len(),
            as_agreed(request.private_data()),
        );
        let region = machine.region()?;
        let mut private = Vec::new();
        private.extend(region.base().to_be_bytes());
        private.extend((REGION as u64).to_be_bytes());
        private.extend(region.stag().to_be_bytes());
        private.extend(private_data(20));
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
                        if completion.invalidated == Some(region.stag()) {
                            println!("invalidated: the region");
                        }
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
                    println!("{}", PairEvent::HalfClosed);
                    pair.disconnect()?;
                }
                Work::Event {
                    event: PairEvent::Terminating(terminate),
                    ..
                } => println!("terminating: {}", terminate.cause),
                Work::Event {
                    event: event @ PairEvent::Closed(_),
                    ..
                } => {
                    println!("{event}");
                    break;
                }
                Work::Event { event, .. } => println!("{event}"),
                other => println!("{other}"),
            }
        }
        println!("{receives} messages of {octets} octets");
        pair.close()?;
    }
    Ok(())
}

/// Octet `at` of what the peer writes: each mebibyte is another one.
fn octet_of_file(at: usize) -> u8 {
    let (mebibyte, i) = (at / REGION, at % REGION);
    (131 * mebibyte + 7 * i + i / 256) as u8
}

/// Serves a region to one peer, which writes it and sends a message.
fn file(machine: &Machine, address: SocketAddr, length: usize) -> Result<(), Failure> {
    let listener = Listener::bind(&machine.context, address, ListenOptions::default())?;
    println!("listening at {}", listener.address());
    let request = listener.accept(FIRST)?.ok_or("no request in time")?;
    let region = machine.region_of(length)?;
    let mut private = Vec::new();
    private.extend(region.base().to_be_bytes());
    private.extend((length as u64).to_be_bytes());
    private.extend(region.stag().to_be_bytes());
    let options = machine.options()?;
    let start = Instant::now();
    let pair = request.accept(&machine.domain, &machine.queue, options, &private)?;
    // The message is behind all writes.
    loop {
        match machine.queue.wait(LONG)?.ok_or("no message in time")? {
            Work::Completion(done) if done.status == WorkStatus::Success => break,
            Work::Event { event, .. } => println!("{event}"),
            other => return Err(other.to_string().into()),
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let octets = region.to_vec()?;
    let others = (octets.iter().enumerate())
        .filter(|(at, octet)| **octet != octet_of_file(*at))
        .count();
    println!("file: {length} octets in {seconds:.0} s");
    println!("others: {others}");
    loop {
        match machine.queue.wait(PATIENCE)?.ok_or("no end in time")? {
            Work::Event {
                event: PairEvent::HalfClosed,
                ..
            } => pair.disconnect()?,
            Work::Event {
                event: event @ PairEvent::Closed(_),
                ..
            } => {
                println!("{event}");
                return Ok(pair.close()?);
            }
            _ => {}
        }
    }
}

/// The peer's region.
struct Offer {
    base: u64,
    length: u64,
    stag: u32,
}

impl Offer {
    /// The region in front of private data, as this program and `rdma-peer` name it, or as `warpline serve` and `sctp-peer` do.
    fn parse(private_data: &[u8]) -> Option<Self> {
        let (stag, base, length) = match private_data.strip_prefix(b"WLM1") {
            Some(rest) => (rest.get(..4)?, rest.get(4..12)?, rest.get(12..20)?),
            None => {
                let head = private_data.get(..20)?;
                (&head[16..], &head[..8], &head[8..16])
            }
        };
        Some(Self {
            base: u64::from_be_bytes(base.try_into().ok()?),
            length: u64::from_be_bytes(length.try_into().ok()?),
            stag: u32::from_be_bytes(stag.try_into().ok()?),
        })
    }
}

/// Connects; the peer's Reply names its region.
fn connected(
    machine: &Machine,
    address: impl Into<Endpoint>,
    revision: Revision,
) -> Result<(QueuePair, Offer), Failure> {
    let options = ConnectOptions {
        private_data: private_data(20),
        revision,
        pair: machine.options()?,
    };
    let (pair, reply) = connect(&machine.domain, &machine.queue, address, options)?;
    println!(
        "established on stream {}, {} octets of private data",
        pair.stream(),
        reply.len()
    );
    let offer = Offer::parse(&reply).ok_or("the reply has no region")?;
    Ok((pair, offer))
}

/// Does what the peer must refuse; the peer's Terminate, or the end, follows.
fn fault(machine: &Machine, case: &str, peer: Endpoint) -> Result<(), Failure> {
    let (pair, offer) = connected(machine, peer, Revision::Two)?;
    let region = machine.region()?;
    let to = |stag, offset| Remote { stag, offset };
    let end = offer.base + offer.length;
    let few = || Local::new(&region, 0..64);
    // The fault is in the last FPDU: what is left unread when siw closes would turn its FIN into a RST, which overtakes its
    // Terminate.
    let request = match case {
        "bad-stag" => WorkRequest::write(1, few()?, to(offer.stag ^ 0x0001_0000, offer.base)),
        "out-of-bounds" => WorkRequest::write(1, few()?, to(offer.stag, end - 32)),
        "read-out-of-bounds" => WorkRequest::read(1, few()?, to(offer.stag, end - 32)),
        "too-long" => WorkRequest::send(1, Local::new(&region, 0..4200)?),
        "invalidate" => {
            let send = WorkRequest::send(0, few()?).invalidate(offer.stag);
            pair.post_send(send)?;
            WorkRequest::write(1, few()?, to(offer.stag, offer.base))
        }
        "write" => WorkRequest::write(
            1,
            Local::new(&region, 0..65536)?,
            to(offer.stag, offer.base),
        ),
        other => return Err(format!("no case {other}").into()),
    };
    pair.post_send(request)?;
    loop {
        match machine.queue.wait(PATIENCE)?.ok_or("no end in time")? {
            Work::Event {
                event: event @ PairEvent::Closed(_),
                ..
            } => {
                println!("{event}");
                return Ok(pair.close()?);
            }
            Work::Event {
                event: PairEvent::Terminated(terminate),
                ..
            } => println!("terminated: {}", terminate.cause),
            Work::Event {
                event: PairEvent::HalfClosed,
                ..
            } => pair.disconnect()?,
            Work::Event { event, .. } => println!("{event}"),
            _ => {}
        }
    }
}

/// Connects to a peer that rejects.
fn refused(endpoint: Endpoint) -> Result<(), Failure> {
    match connected(&Machine::of(endpoint)?, endpoint, Revision::Two) {
        Err(failure) => match failure.downcast_ref::<Error>() {
            Some(Error::Rejected { private_data }) => {
                let good = as_agreed(private_data);
                println!("rejected: {} octets, {good} as agreed", private_data.len());
                Ok(())
            }
            _ => Err(failure),
        },
        Ok(_) => Err("the peer has accepted".into()),
    }
}

/// Passes one connection on, with one octet inverted.
fn relay(to: SocketAddr, position: usize) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("listening at {}", listener.local_addr()?);
    let (client, _) = listener.accept()?;
    let server = TcpStream::connect(to)?;
    let (back, forth) = (server.try_clone()?, client.try_clone()?);
    let backward = thread::spawn(move || pass(back, forth, None));
    pass(client, server, Some(position));
    backward.join().map_err(|_| "the way back failed")?;
    Ok(())
}

/// Passes on what `from` sends until its end. What `to` does not accept any more is read and dropped: a socket that is closed with
/// octets unread sends RST, which may overtake what is on its way to `from`.
fn pass(mut from: TcpStream, mut to: TcpStream, mut position: Option<usize>) {
    let mut room = [0; 4096];
    let mut accepts = true;
    while let Ok(length @ 1..) = from.read(&mut room) {
        position = position.and_then(|at| match room[..length].get_mut(at) {
            Some(octet) => {
                *octet = !*octet;
                None
            }
            None => Some(at - length),
        });
        accepts = accepts && to.write_all(&room[..length]).is_ok();
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Writes blocks and reads them back.
fn blocks(machine: &Machine, address: SocketAddr, revision: Revision) -> Result<(), Failure> {
    let (pair, Offer { base, stag, .. }) = connected(machine, address, revision)?;
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
            return Err(format!("write of {length} octets: {done}").into());
        }
        let sink = Local::new(&region, REGION / 2..REGION / 2 + length)?;
        pair.post_send(WorkRequest::read(id as u64, sink, to))?;
        let done = machine.done()?;
        if done.status != WorkStatus::Success {
            return Err(format!("read of {length} octets: {done}").into());
        }
        let mut back = vec![0; length];
        region.read_at(REGION / 2, &mut back)?;
        if back != octets {
            return Err(format!("read of {length} octets: other octets").into());
        }
        at += length as u64;
    }
    println!("blocks: up to octet {at}");
    finish(machine, pair)
}

/// Writes a region and reads it back through a path that may damage it.
fn damaged(machine: &Machine, address: SocketAddr) -> Result<(), Failure> {
    const LENGTH: usize = 65536;
    let (pair, Offer { base, stag, .. }) = connected(machine, address, Revision::Two)?;
    let region = machine.region()?;
    let octets: Vec<u8> = (0..LENGTH).map(|i| (7 * i + i / 256) as u8).collect();
    region.write_at(0, &octets)?;
    let to = Remote { stag, offset: base };
    let sink = Local::new(&region, REGION / 2..REGION / 2 + LENGTH)?;
    pair.post_sends([
        WorkRequest::write(1, Local::new(&region, 0..LENGTH)?, to),
        WorkRequest::read(2, sink, to),
    ])?;
    for _ in 0..2 {
        let done = machine.done()?;
        if done.status != WorkStatus::Success {
            return Err(done.to_string().into());
        }
    }
    let mut back = vec![0; LENGTH];
    region.read_at(REGION / 2, &mut back)?;
    let others = back.iter().zip(&octets).filter(|(a, b)| a != b).count();
    println!("damaged: {others} octets");
    finish(machine, pair)
}

/// Writes blocks of a single FPDU each.
fn small(machine: &Machine, address: SocketAddr) -> Result<(), Failure> {
    let (pair, Offer { base, stag, .. }) = connected(machine, address, Revision::Two)?;
    let region = machine.region()?;
    let mut octets = 0;
    for length in (1..=1300).step_by(13) {
        let to = Remote { stag, offset: base };
        pair.post_send(WorkRequest::write(1, Local::new(&region, 0..length)?, to))?;
        let done = machine.done()?;
        if done.status != WorkStatus::Success {
            return Err(format!("write of {length} octets: {done}").into());
        }
        octets += length;
    }
    println!("small: {octets} octets");
    finish(machine, pair)
}

/// Sends a last message and closes the connection.
fn finish(machine: &Machine, pair: QueuePair) -> Result<(), Failure> {
    pair.post_send(WorkRequest::send(99, &b"done"[..]))?;
    println!("send: {}", machine.done()?.status);
    pair.disconnect()?;
    loop {
        match machine.queue.wait(PATIENCE)?.ok_or("no end in time")? {
            Work::Event {
                event: event @ PairEvent::Closed(_),
                ..
            } => {
                println!("{event}");
                break;
            }
            Work::Event { event, .. } => println!("{event}"),
            _ => {}
        }
    }
    Ok(pair.close()?)
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let machine = || Machine::new(PathOptions::default());
    match words[..] {
        ["listen", address, count] => listen(&machine()?, address.parse()?, count.parse()?)?,
        ["refuse", address, count] => refuse(address.parse()?, count.parse()?)?,
        ["connect", address, "1"] => blocks(&machine()?, address.parse()?, Revision::One)?,
        ["connect", address, "2"] => blocks(&machine()?, address.parse()?, Revision::Two)?,
        ["fault", case, endpoint] => {
            let endpoint = endpoint.parse()?;
            fault(&Machine::of(endpoint)?, case, endpoint)?;
        }
        ["file", address, length] => {
            let machine = Machine::new(PathOptions::rough(1))?;
            file(&machine, address.parse()?, length.parse()?)?;
        }
        ["damaged", address] => damaged(&machine()?, address.parse()?)?,
        ["small", address] => small(&machine()?, address.parse()?)?,
        ["refused", address] => refused(address.parse()?)?,
        ["relay", to, position] => relay(to.parse()?, position.parse()?)?,
        _ => return Err("see the head of this example for its uses".into()),
    }
    println!("done");
    Ok(())
}
