//! The programs of the page "Programming with the driver", run over simulated cards. The page quotes what stands between
//! ANCHOR and ANCHOR_END; `cargo test -p warpline-book` holds it to that.

#[allow(dead_code, reason = "of the tests of verbs, which use all of it")]
#[path = "../verbs/bench.rs"]
mod bench;
#[allow(dead_code, reason = "its `main`")]
#[path = "../../../driver/examples/two_programs.rs"]
mod two_programs;

use std::net::{AddrParseError, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use warpline_driver::{
    Completion, ConnectOptions, Context, Data, DmaMemory, Element, Endpoint, Error, ErrorNumber,
    Flags, Gather, ListenOptions, Listener, Local, MemoryRegion, Options, PairEvent, PairState,
    Payload, ProtectionDomain, QpOptions, QueuePair, Refusal, Registration, Remote, Scope,
    SendStatus, Settings, Stream, StreamOptions, Target, Transport, Work, WorkCompletion,
    WorkQueue, WorkRequest, WorkStatus, connect,
};
use warpline_hdl::Config;
use warpline_sim::{Card, CardOptions, Listener as Socket, Service};
use warpline_wire::send::{CrcField, FpduWriter, Message};

use crate::bench::{Engine, Machine, anywhere};

/// TCP sequence number of the first octet of full operation.
const START: u32 = 1000;

// ANCHOR: open
fn open_card(address: &str) -> Result<Context, Error> {
    let options = Options {
        completion_entries: 4096, // room for what may complete between two looks
        interrupt_holdoff: 1000,  // at most one interrupt in 1000 cycles
        ..Options::default()
    };
    let context = warpline_driver::open(address, options)?; // "0000:05:00.0", or the path of a socket
    let (shape, can) = (context.shape(), context.capabilities());
    println!("{}: {} octets a beat", context.info().name, shape.width);
    println!(
        "{} streams, windows of {}",
        shape.streams, shape.ring_octets
    );
    println!("sends: {}, connects: {}", can.transmit, can.mailbox);
    Ok(context)
}
// ANCHOR_END: open

// ANCHOR: memory
fn offer(domain: &ProtectionDomain) -> Result<MemoryRegion, Error> {
    let mut memory = DmaMemory::new(64 << 10)?;
    println!("pages of {} octets", memory.page_size());
    memory[..5].copy_from_slice(b"hello"); // a slice, until it is registered
    let registration = Registration {
        offset: 4096,       // the peer may write to octets 4096 …
        length: Some(8192), // … to 12287 of the memory,
        base: Some(0),      // which it calls 0 to 8191,
        remote_write: true, // and not read them;
        remote_read: false,
        scope: Scope::Stream(2), // over stream 2 and no other
    };
    let region = domain.register(memory, registration)?;
    println!(
        "tell the peer: STag {:#010x}, from {:#x} on",
        region.stag(),
        region.base()
    );
    assert_eq!(region.range(), 4096..12288);
    Ok(region)
}

fn look(region: &MemoryRegion) -> Result<(), Error> {
    let mut five = [0; 5];
    region.read_at(0, &mut five)?; // a copy: the peer may be writing at the same time
    region.write_at(6, b"there")?;
    println!("{five:?}, {} octets in all", region.to_vec()?.len());
    Ok(())
}

fn take_back(region: MemoryRegion) -> Result<DmaMemory, Error> {
    // The peer may have invalidated it already; the memory is the region's all the same.
    println!("still valid: {}", region.is_valid());
    region.revoke() // when it returns, no access is under way: slices again
}
// ANCHOR_END: memory

// ANCHOR: memory_errors
fn register_or_keep(
    domain: &ProtectionDomain,
    memory: DmaMemory,
) -> Result<MemoryRegion, Option<DmaMemory>> {
    domain
        .register_as(0x101, memory, Registration::default())
        .map_err(|refused| {
            eprintln!("{}", refused.error); // for instance that the STag's slot is taken
            refused.item // the memory, unless the device may still access it
        })
}
// ANCHOR_END: memory_errors

// ANCHOR: stream
fn receive(context: &Context, domain: &ProtectionDomain) -> Result<Stream, Error> {
    let options = StreamOptions {
        sequence_start: START, // of TCP: the first octet behind the peer's start frame
        markers: false,        // we did not ask for them
        crc: true,
        ..StreamOptions::default()
    };
    let stream = domain.arm(2, options)?;
    let queue = stream.receive_queue(0)?;
    let mut buffers = context.buffers(16, 4096)?;
    for (number, buffer) in buffers.iter_mut().enumerate() {
        buffer.set_id(100 + number as u64); // your name for it
    }
    let first = buffers.remove(0);
    println!("MSN {} goes to the first", queue.post(first)?);
    println!("{} more, with one doorbell", queue.post_many(buffers)?);
    println!(
        "stream {}: from {} to {}",
        stream.number(),
        stream.edge()?,
        stream.limit()?
    );
    Ok(stream)
}
// ANCHOR_END: stream

// ANCHOR: completions
fn handle(completion: Completion, stream: &Stream) -> Result<bool, Error> {
    match completion {
        Completion::Untagged(message) => {
            let octets = message.buffer.to_vec();
            println!(
                "{}: {:?}",
                message.buffer.id(),
                &octets[..message.length as usize]
            );
            stream.receive_queue(message.queue)?.post(message.buffer)?; // for a later message
        }
        Completion::Tagged(write) => println!("{} octets at {:#x}", write.length, write.offset),
        Completion::Sent(sent) => println!("request {}: {}", sent.id, sent.status),
        Completion::Closed(_) => return Ok(false), // the peer's FIN: all it sent is here
        Completion::Error(event) => {
            println!("stream {} is frozen: {}", event.stream, event.number.name());
            if let Some(record) = stream.error_record()? {
                println!("at octet {}: {}", record.position, record.detail);
            }
            return Ok(false);
        }
        Completion::Flushed(receive) => println!("{} was not used", receive.buffer.id()),
        other => println!("{other}"),
    }
    Ok(true)
}
// ANCHOR_END: completions

// ANCHOR: waiting
fn next(context: &Context, sleeps: bool) -> Result<Option<Completion>, Error> {
    let queue = context.completion_queue();
    if sleeps {
        return queue.wait(Duration::from_secs(60)); // in any number of threads
    }
    if let Some(completion) = queue.poll()? {
        return Ok(Some(completion)); // one word of memory was read
    }
    queue.request_interrupt()?; // the descriptor becomes readable behind the next entry
    queue.poll() // look once more before you sleep in `poll(2)` or a reactor
}
// ANCHOR_END: waiting

// ANCHOR: endpoints
fn endpoint(text: &str) -> Result<Endpoint, AddrParseError> {
    let endpoint: Endpoint = text.parse()?; // 192.0.2.1:4791, or sctp://192.0.2.1:9899
    let by_hand = match endpoint.transport {
        Transport::Tcp => Endpoint::tcp(endpoint.address), // a SocketAddr alone is one, too
        Transport::Sctp => Endpoint::sctp(endpoint.address),
    };
    assert_eq!(by_hand, endpoint);
    Ok(endpoint)
}
// ANCHOR_END: endpoints

// ANCHOR: listen
fn listen(context: &Context, endpoint: Endpoint) -> Result<Listener, Error> {
    let options = ListenOptions {
        backlog: 8, // connections in start-up at once
        ..ListenOptions::default()
    };
    Listener::bind(context, endpoint, options) // port 0 takes any
}

fn serve(
    context: &Context,
    domain: &ProtectionDomain,
    queue: &WorkQueue,
    listener: &Listener,
) -> Result<QueuePair, Error> {
    println!("listening at {}", listener.endpoint()); // address() without the transport
    let request = loop {
        let Some(request) = listener.accept(Duration::from_secs(1))? else {
            continue; // no peer within a second
        };
        if request.private_data() == b"open sesame" {
            break request;
        }
        request.reject(b"no")?;
    };
    println!("{} with revision {}", request.peer(), request.revision());
    if let (Some(ird), Some(ord)) = (request.ird(), request.ord()) {
        println!("takes in {ird} Reads, wants {ord}");
    }
    let options = QpOptions {
        buffers: context.buffers(16, 4096)?, // posted before the peer may send
        ..QpOptions::default()
    };
    request.accept(domain, queue, options, b"come in")
}
// ANCHOR_END: listen

// ANCHOR: connect
fn call(
    context: &Context,
    domain: &ProtectionDomain,
    queue: &WorkQueue,
    address: SocketAddr,
) -> Result<QueuePair, Error> {
    let mut options = ConnectOptions {
        private_data: b"open sesame".to_vec(),
        ..ConnectOptions::default() // revision 2
    };
    options.pair.buffers = context.buffers(16, 4096)?;
    let (pair, reply) = connect(domain, queue, address, options)?;
    println!("pair {} on stream {}: {reply:?}", pair.id(), pair.stream());
    Ok(pair)
}
// ANCHOR_END: connect

// ANCHOR: requests
fn requests(
    pair: &QueuePair,
    ours: &Arc<MemoryRegion>, // Registration::local() is enough
    sink: &Arc<MemoryRegion>, // remote_write: the answer is a tagged message of the peer
    theirs: Remote,
) -> Result<(), Error> {
    // A Write gives the peer no completion; the Send behind it announces the data. One doorbell for both.
    let write = WorkRequest::write(1, Local::all(ours)?, theirs).silent();
    let note = WorkRequest::send(2, &b"written"[..]).solicited();
    pair.post_sends([write, note])?;
    // Up to 8 pieces in one message, up to 64 octets out of the request itself.
    let pieces = vec![Local::new(ours, 0..10)?, Local::new(ours, 90..100)?];
    pair.post_send(WorkRequest::send(3, pieces))?;
    // The peer's memory comes to `sink`; the fenced Send leaves when it is there.
    pair.post_send(WorkRequest::read(4, Local::all(sink)?, theirs))?;
    pair.post_send(WorkRequest::read_nothing(5))?;
    pair.post_send(WorkRequest::send(6, Data::none()).fenced())?;
    // The peer's region is not needed any more.
    pair.post_send(WorkRequest::send(7, &b"done"[..]).invalidate(theirs.stag))
}
// ANCHOR_END: requests

// ANCHOR: work
fn next_work(queue: &WorkQueue, pair: &QueuePair) -> Result<Option<WorkCompletion>, Error> {
    loop {
        match queue.wait(Duration::from_secs(60))? {
            Some(Work::Completion(mut done)) => {
                if let Some(buffer) = done.buffer.take_if(|_| done.status == WorkStatus::Success) {
                    let octets = buffer.to_vec();
                    println!("received {:?}", &octets[..done.length as usize]);
                    if pair.state() == PairState::ReadyToSend {
                        pair.post_receive(buffer)?;
                    }
                }
                return Ok(Some(done));
            }
            Some(Work::Event { event, .. }) => {
                println!("{event}"); // who has ended the stream, and why
                if matches!(event, PairEvent::Closed(_)) {
                    return Ok(None);
                }
            }
            Some(other) => println!("{other}"),
            None => return Ok(None), // nothing in a minute
        }
    }
}
// ANCHOR_END: work

// ANCHOR: work_queue
fn reactor(context: &Context) -> Result<WorkQueue, Error> {
    let queue = WorkQueue::new(context, 64)?; // for any number of pairs
    queue.resize(queue.capacity() + 64); // none is lost if it is too small: it grows
    while let Some(work) = queue.poll()? {
        println!("{work}");
    }
    queue.request_interrupt()?; // then poll once more, then wait for its descriptor
    Ok(queue)
}
// ANCHOR_END: work_queue

// ANCHOR: end
fn hang_up(pair: QueuePair, queue: &WorkQueue) -> Result<(), Error> {
    pair.disconnect()?; // sends what was posted, then a FIN; the peer may still send
    while next_work(queue, &pair)?.is_some() {} // until it is closed
    pair.close() // nothing is under way any more: regions can be revoked
}
// ANCHOR_END: end

// ANCHOR: ddp
fn without_rdmap(stream: &Stream, region: &MemoryRegion) -> Result<(), Error> {
    let queue = stream.attach_send_queue(16)?; // later: stream.send_queue()
    let piece = Element {
        stag: region.stag(),
        offset: region.base(),
        length: 100,
    };
    let payload = Payload::Gather(Gather::new(&[piece])?);
    let target = Target::Untagged {
        queue: 0,
        rsvd_ulp: [0; 5],
    };
    let flags = Flags {
        signalled: true,
        ..Flags::default()
    };
    queue.post(target, flags, 9, payload)
}
// ANCHOR_END: ddp

// ANCHOR: settings
fn configure(context: &Context) -> Result<(), Error> {
    context.configure(Settings {
        crc_off: true,           // only for a path that is protected end to end otherwise
        force_crc: false,        // true: CRCs whatever `crc_off` says
        markers: false,          // ask peers for markers
        domain_connections: 64,  // of one protection domain
        listener_connections: 8, // in start-up, of one listener
        ..Settings::default()
    })
}
// ANCHOR_END: settings

// ANCHOR: counters
fn watch(context: &Context) -> Result<(), Error> {
    let counters = context.counters()?;
    println!(
        "{} octets, {} segments dropped, {} streams without a buffer",
        counters.octets, counters.segments_dropped, counters.missing_buffers
    );
    println!("{} listeners and connections", context.connections());
    for stream in 0..context.shape().streams {
        if let Some(record) = context.error_record(stream)? {
            println!("stream {stream}: {}", record.number.name());
        }
    }
    Ok(())
}
// ANCHOR_END: counters

/// A card at a socket, which has no peers.
fn served() -> (Card, Service, TempDir, Context) {
    let options = CardOptions {
        transmit: true,
        ..CardOptions::default()
    };
    let card = Card::open(&Config::simulated(64), options).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let listener = Socket::bind(folder.path().join("card")).unwrap();
    let service = Service::start(&card, listener).unwrap();
    let context = open_card(folder.path().join("card").to_str().unwrap()).unwrap();
    (card, service, folder, context)
}

/// FPDUs of one message.
fn fpdus(message: Message, octets: &[u8]) -> Vec<u8> {
    let mut wire = vec![];
    FpduWriter::new(false, CrcField::Computed)
        .append_message(message, octets, 1442, &mut wire)
        .unwrap();
    wire
}

#[test]
fn memory_is_offered_and_taken_back() {
    let (_card, _service, _folder, context) = served();
    let domain = context.protection_domain().unwrap();
    let region = offer(&domain).unwrap();
    look(&region).unwrap();
    assert!(region.is_valid());
    let memory = take_back(region).unwrap();
    assert_eq!(memory[..11], *b"hello\0there");
    let first = register_or_keep(&domain, memory).unwrap();
    let other = DmaMemory::new(100).unwrap();
    let back = register_or_keep(&domain, other).unwrap_err(); // the same STag
    assert_eq!(back.unwrap().len(), 100);
    assert_eq!(first.stag(), 0x101);
}

#[test]
fn messages_and_writes_of_a_stream_are_received_and_its_error_is_found() {
    let (card, _service, _folder, context) = served();
    let domain = context.protection_domain().unwrap();
    let region = offer(&domain).unwrap();
    let stream = receive(&context, &domain).unwrap();
    let send = Message::Untagged {
        qn: 0,
        msn: 1,
        rsvd_ulp: [0x43, 0, 0, 0, 0],
    };
    let write = |stag| Message::Tagged {
        stag,
        to: 5,
        rsvd_ulp: 0x40,
    };
    let octets = [
        fpdus(send, b"message"),
        fpdus(write(region.stag()), b"written"),
    ]
    .concat();
    let behind = START.wrapping_add(octets.len() as u32);
    card.feed(2, START, octets).unwrap();
    let message = next(&context, true).unwrap().unwrap();
    assert!(matches!(&message, Completion::Untagged(m) if m.buffer.id() == 100 && m.length == 7));
    assert!(handle(message, &stream).unwrap());
    let written = next(&context, true).unwrap().unwrap();
    assert!(matches!(&written, Completion::Tagged(write) if write.offset == 5));
    assert!(handle(written, &stream).unwrap());
    assert_eq!(region.to_vec().unwrap()[4101..4108], *b"written");
    // Not before: a stream in error takes no buffer back.
    let refused = fpdus(write(region.stag() ^ 1), b"refused");
    card.feed(2, behind, refused).unwrap();
    let error = loop {
        if let Some(completion) = next(&context, false).unwrap() {
            break completion;
        }
    };
    assert!(
        matches!(&error, Completion::Error(e) if e.number == ErrorNumber::TaggedInvalidStag),
        "{error:?}"
    );
    assert!(!handle(error, &stream).unwrap());
    watch(&context).unwrap();
    stream.close().unwrap();
    let mut flushed = 0;
    while let Some(Completion::Flushed(_)) = next(&context, false).unwrap() {
        flushed += 1;
    }
    assert_eq!(flushed, 16);
}

#[test]
fn a_request_of_a_stream_that_nobody_connected_is_flushed() {
    let (_card, _service, _folder, context) = served();
    let domain = context.protection_domain().unwrap();
    let region = offer(&domain).unwrap();
    let stream = receive(&context, &domain).unwrap();
    without_rdmap(&stream, &region).unwrap();
    stream.close().unwrap();
    let sent = loop {
        match next(&context, true).unwrap().unwrap() {
            Completion::Sent(sent) => break sent,
            other => assert!(matches!(other, Completion::Flushed(_)), "{other:?}"),
        }
    };
    assert_eq!((sent.id, sent.status), (9, SendStatus::Flushed));
}

#[test]
fn two_programs_connect_and_end() {
    let (client, server) = (
        Machine::new(Engine::Software, 1),
        Machine::new(Engine::Software, 2),
    );
    configure(&client.context).unwrap();
    let none = listen(&server.context, endpoint("sctp://127.0.0.1:0").unwrap());
    let refused = |error| {
        let reason = Refusal::Transport;
        matches!(error, Error::MessageRefused { reason: found, .. } if found == reason)
    };
    assert!(none.is_err_and(refused), "a card without SCTP says so");
    let listener = listen(&server.context, anywhere().into()).unwrap();
    assert!(listener.endpoint().to_string().starts_with("127.0.0.1:"));
    let address = listener.address();
    let (ours, theirs) = std::thread::scope(|scope| {
        let accepted =
            scope.spawn(|| serve(&server.context, &server.domain, &server.queue, &listener));
        let ours = call(&client.context, &client.domain, &client.queue, address).unwrap();
        (ours, accepted.join().unwrap().unwrap())
    });
    drop(reactor(&client.context).unwrap());
    let data: Vec<u8> = (0..100).collect();
    let source = client.region(&data, Registration::local());
    let sink = client.region(&[0; 100], Registration::default());
    let both = Registration {
        remote_read: true,
        ..Registration::default()
    };
    let target = server.region(&[0; 100], both);
    let remote = Remote {
        stag: target.stag(),
        offset: target.base(),
    };
    requests(&ours, &source, &sink, remote).unwrap();
    std::thread::scope(|scope| {
        let served = scope.spawn(|| {
            // What is received: "written", 20 octets, nothing, "done".
            let mut lengths = vec![];
            for _ in 0..4 {
                let done = next_work(&server.queue, &theirs).unwrap().unwrap();
                lengths.push((done.length, done.solicited, done.invalidated));
            }
            lengths
        });
        let ids = [2, 3, 4, 5, 6, 7].map(|_| next_work(&client.queue, &ours).unwrap().unwrap().id);
        assert_eq!(ids, [2, 3, 4, 5, 6, 7]);
        let stag = Some(target.stag());
        let expected = [
            (7, true, None),
            (20, false, None),
            (0, false, None),
            (4, false, stag),
        ];
        assert_eq!(served.join().unwrap(), expected);
    });
    assert_eq!(target.to_vec().unwrap(), data);
    assert_eq!(sink.to_vec().unwrap(), data);
    assert!(!target.is_valid());
    std::thread::scope(|scope| {
        let theirs = scope.spawn(|| hang_up(theirs, &server.queue));
        hang_up(ours, &client.queue).unwrap();
        theirs.join().unwrap().unwrap();
    });
    drop(listener);
    assert_eq!(
        client.context.connections() + server.context.connections(),
        0
    );
}

#[test]
fn the_whole_program_writes_into_the_memory_of_the_other_one() {
    let [client, server] = [1, 2].map(|seed| Machine::new(Engine::Software, seed));
    let listen = || Listener::bind(&server.context, anywhere(), ListenOptions::default()).unwrap();
    let listener = listen();
    let address = listener.address();
    let written = std::thread::scope(|scope| {
        let served = scope.spawn(|| {
            let text = two_programs::serve(&server.context, &listener);
            text.map_err(|error| error.to_string())
        });
        two_programs::put(&client.context, address, b"hello there").unwrap();
        served.join().unwrap().unwrap()
    });
    assert_eq!(written, b"hello there");
    let too_long = two_programs::put(&client.context, address, &[0; 4097]).unwrap_err();
    assert!(too_long.to_string().contains("4097 octets"), "{too_long}");
}
