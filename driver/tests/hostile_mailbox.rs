//! A card whose control program says anything, at any time: the driver reports it as an error or ignores it, and goes on.

mod software_card;

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::Write;
use std::mem::{Discriminant, discriminant};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::event::EventfdFlags;
use software_card::SoftwareCard;
use warpline_driver::{
    BackendError, ConnectOptions, Context, Device, DeviceInfo, DmaMap, Error, ListenOptions,
    Listener, Options, QpOptions, Revision, WorkQueue, connect,
};
use warpline_regmap::layout::stream_context;
use warpline_regmap::mailbox::records::message;
use warpline_regmap::mailbox::{
    self, Armed, Block, CARD_MESSAGE, CardKind, CardMessage, HOST_MESSAGE, HostKind, HostMessage,
    MAILBOX, MESSAGE_WORDS, PrivateData, Requested, Rtr, Words,
};
use warpline_regmap::register::command::ARM_STREAM;
use warpline_regmap::register::{ARGUMENT, COMMAND};
use warpline_regmap::transmit::CAPABILITIES;

const SHORT: Duration = Duration::from_millis(30);

/// What the control program answers to a message of the host.
type Answer = Box<dyn FnMut(&Words) -> Vec<Words> + Send>;

struct Mailbox {
    written: Words,
    waiting: VecDeque<Words>,
    answer: Answer,
    /// Another message is there whenever one was taken.
    endless: Option<Words>,
}

/// A card in software with a mailbox.
#[derive(Clone)]
struct HostileCard {
    card: SoftwareCard,
    mailbox: Arc<Mutex<Mailbox>>,
    interrupt: Arc<File>,
}

impl HostileCard {
    fn new(answer: impl FnMut(&Words) -> Vec<Words> + Send + 'static) -> Self {
        let interrupt = rustix::event::eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        Self {
            card: SoftwareCard::default(),
            mailbox: Arc::new(Mutex::new(Mailbox {
                written: [0; MESSAGE_WORDS],
                waiting: VecDeque::new(),
                answer: Box::new(answer),
                endless: None,
            })),
            interrupt: Arc::new(interrupt.into()),
        }
    }

    fn raise(&self) {
        (&*self.interrupt).write_all(&1_u64.to_ne_bytes()).unwrap();
    }

    fn context(&self) -> Context {
        let options = Options {
            command_timeout: Duration::from_millis(200),
            ..Options::default()
        };
        Context::open(Box::new(self.clone()), options).unwrap()
    }
}

fn mailbox_word(offset: u32) -> Option<usize> {
    let index = offset.checked_sub(MAILBOX.offset)? / MAILBOX.stride;
    (index < MAILBOX.count).then_some(index as usize)
}

impl Device for HostileCard {
    fn info(&self) -> DeviceInfo {
        self.card.info()
    }

    fn read(&self, offset: u32) -> Result<u32, BackendError> {
        let mailbox = self.mailbox.lock().unwrap();
        let first = mailbox.waiting.front().or(mailbox.endless.as_ref());
        if let Some(index) = mailbox_word(offset) {
            return Ok(first.map_or(0, |words| words[index]));
        }
        Ok(match offset {
            _ if offset == HOST_MESSAGE.offset => 0,
            _ if offset == CARD_MESSAGE.offset => first.is_some().into(),
            _ if offset == CAPABILITIES.offset => 0b11,
            _ => return self.card.read(offset),
        })
    }

    fn write(&self, offset: u32, value: u32) -> Result<(), BackendError> {
        let mut mailbox = self.mailbox.lock().unwrap();
        if let Some(index) = mailbox_word(offset) {
            mailbox.written[index] = value;
            return Ok(());
        }
        if offset == HOST_MESSAGE.offset {
            let words = mailbox.written;
            let answers = (mailbox.answer)(&words);
            mailbox.waiting.extend(answers);
            self.raise();
            return Ok(());
        }
        if offset == CARD_MESSAGE.offset {
            mailbox.waiting.pop_front();
            return Ok(());
        }
        drop(mailbox);
        self.card.write(offset, value)
    }

    fn map(&self, memory: DmaMap<'_>) -> Result<(), BackendError> {
        self.card.map(memory)
    }

    fn unmap(&self, iova: u64, length: u64) -> Result<(), BackendError> {
        self.card.unmap(iova, length)
    }

    fn vectors(&self) -> usize {
        mailbox::INTERRUPT + 1
    }

    fn interrupt(&self, vector: usize) -> BorrowedFd<'_> {
        match vector == mailbox::INTERRUPT {
            true => self.interrupt.as_fd(),
            false => self.card.interrupt(vector),
        }
    }

    fn reset(&self) -> Result<(), BackendError> {
        self.mailbox.lock().unwrap().waiting.clear();
        self.card.reset()
    }
}

/// A message of `kind` about `number`, everything else of which is random.
fn random(rng: &mut fastrand::Rng, kind: u32, number: u64) -> Words {
    let mut words = [0; MESSAGE_WORDS];
    for word in &mut words[1..] {
        *word = match rng.u8(..4) {
            0 => rng.u32(..),
            1 => rng.u32(..4),
            2 => 1 << rng.u32(..32),
            _ => 0,
        };
    }
    words[0] = rng.u32(..);
    message::NUMBER.put(&mut words, number);
    message::KIND.put(&mut words, kind.into());
    words
}

fn depth(rng: &mut fastrand::Rng) -> u16 {
    match rng.u8(..3) {
        0 => rng.u16(..),
        _ => rng.u16(..9),
    }
}

fn block(rng: &mut fastrand::Rng) -> Option<Block> {
    rng.bool().then(|| Block {
        ird: depth(rng),
        ord: depth(rng),
        peer_to_peer: rng.bool(),
        rtr: Rtr {
            send: rng.bool(),
            write: rng.bool(),
            read: rng.bool(),
        },
    })
}

fn private(rng: &mut fastrand::Rng) -> PrivateData {
    let octets: Vec<u8> = (0..rng.usize(..=512)).map(|_| rng.u8(..)).collect();
    PrivateData::new(&octets).unwrap()
}

/// A message that is one, about what the host has asked, with values that may be impossible.
fn plausible(rng: &mut fastrand::Rng, asked: &Words) -> Words {
    let number = message::NUMBER.get(asked) as u16;
    let kind = message::KIND.get(asked) as u8;
    let (block, private_data) = (block(rng), private(rng));
    let listens = kind == HostKind::Listen as u8;
    match rng.u8(..3) {
        0 if listens => CardMessage::Listening {
            listener: number,
            port: rng.u16(..),
        },
        _ if listens => CardMessage::Requested(Requested {
            connection: rng.u16(..1 << 15),
            listener: number,
            address: "192.0.2.1:9".parse().unwrap(),
            revision: rng.u8(..4),
            block,
            private_data,
        }),
        0 => CardMessage::Established { connection: number },
        _ => return armed(rng, number),
    }
    .emit()
}

/// `ARMED`, of a stream that may not be there.
fn armed(rng: &mut fastrand::Rng, connection: u16) -> Words {
    let settled = block(rng);
    CardMessage::Armed(Armed {
        connection,
        stream: rng.u8(..6),
        emss: rng.u16(..),
        revision: rng.u8(..4),
        send_markers: rng.bool(),
        receive_markers: rng.bool(),
        crc: rng.bool(),
        settled,
        peer_depths: (depth(rng), depth(rng)),
        private_data: private(rng),
    })
    .emit()
}

/// Checks an error's line; which error it is.
fn one_line(error: &Error) -> Discriminant<Error> {
    let said = error.to_string();
    assert!(said.lines().count() == 1 && said.contains(' '), "{said}");
    assert!(!said.contains(['{', '"']), "{said}");
    discriminant(error)
}

#[test]
fn random_messages_are_errors_or_nothing() {
    let (mut requests, mut errors) = (0, HashSet::new());
    for seed in 0..60 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let card = HostileCard::new(move |asked| {
            let number = message::NUMBER.get(asked);
            let kind = message::KIND.get(asked);
            // Now and then what lets a connection begin, and then anything.
            let begins = [HostKind::Accept, HostKind::Connect].map(|kind| kind as u64);
            let mut answers = vec![];
            if begins.contains(&kind) && rng.bool() {
                answers.push(armed(&mut rng, number as u16));
                let connection = number as u16;
                answers.push(CardMessage::Established { connection }.emit());
            }
            answers.extend((0..rng.usize(..5)).map(|_| {
                if rng.bool() {
                    return plausible(&mut rng, asked);
                }
                // Mostly of a kind that there is, and about whom the host has asked.
                let kinds = CardKind::ALL;
                let kind = match rng.u8(..8) {
                    0 => rng.u32(..256),
                    _ => kinds[rng.usize(..kinds.len())] as u32,
                };
                let number = match rng.u8(..4) {
                    0 => rng.u64(..1 << 16),
                    _ => number,
                };
                random(&mut rng, kind, number)
            }));
            answers
        });
        let context = card.context();
        let domain = context.protection_domain().unwrap();
        let queue = WorkQueue::new(&context, 16).unwrap();
        let listen = ListenOptions {
            timeout: SHORT,
            ..ListenOptions::default()
        };
        let address: std::net::SocketAddr = "127.0.0.1:1".parse().unwrap();
        let pair = || QpOptions {
            timeout: SHORT,
            ..QpOptions::default()
        };
        for _ in 0..6 {
            match Listener::bind(&context, address, listen) {
                Err(error) => drop(errors.insert(one_line(&error))),
                Ok(listener) => match listener.accept(SHORT) {
                    Err(error) => drop(errors.insert(one_line(&error))),
                    Ok(None) => {}
                    Ok(Some(request)) => {
                        requests += 1;
                        let _ = (request.peer(), request.ird(), request.private_data().len());
                        match request.accept(&domain, &queue, pair(), b"offer") {
                            Ok(pair) => drop(pair),
                            Err(error) => drop(errors.insert(one_line(&error))),
                        }
                    }
                },
            }
            let options = ConnectOptions {
                pair: pair(),
                ..ConnectOptions::default()
            };
            match connect(&domain, &queue, address, options) {
                Ok(connected) => drop(connected),
                Err(error) => drop(errors.insert(one_line(&error))),
            }
            while let Ok(Some(_)) = queue.poll() {}
        }
    }
    let kinds = errors.len();
    assert!(
        requests > 0 && kinds >= 4,
        "{requests} requests, {kinds} errors"
    );
}

/// A control program that always has another message does not keep the driver for ever.
#[test]
fn messages_without_end_are_an_error() {
    let card = HostileCard::new(|_| vec![]);
    let context = card.context();
    let mut words = [0; MESSAGE_WORDS];
    message::KIND.put(&mut words, (CardKind::HalfClosed as u8).into());
    assert!(CardMessage::parse(&words).is_ok());
    card.mailbox.lock().unwrap().endless = Some(words);
    card.raise();
    let address: std::net::SocketAddr = "127.0.0.1:1".parse().unwrap();
    let bound = Listener::bind(&context, address, ListenOptions::default());
    let error = bound.err().expect("an error");
    assert!(matches!(error, Error::CardMessages { .. }), "{error}");
    one_line(&error);
    // When it is over, the next one is served.
    card.mailbox.lock().unwrap().endless = None;
    let listen = ListenOptions {
        timeout: SHORT,
        ..ListenOptions::default()
    };
    let bound = Listener::bind(&context, address, listen);
    assert!(matches!(bound.err(), Some(Error::ListenTimeout { .. })));
}

/// Requests that the program does not take are bounded, and nothing of those beyond is kept.
#[test]
fn requests_without_end_are_bounded() {
    let card = HostileCard::new(|asked| {
        let number = message::NUMBER.get(asked);
        let mut words = [0; MESSAGE_WORDS];
        message::NUMBER.put(&mut words, number);
        message::KIND.put(&mut words, (CardKind::Listening as u8).into());
        vec![words]
    });
    let context = card.context();
    let address: std::net::SocketAddr = "127.0.0.1:1".parse().unwrap();
    let _listener = Listener::bind(&context, address, ListenOptions::default()).unwrap();
    let before = context.connections();
    let mut requests = VecDeque::new();
    for number in 0..3000 {
        let mut words = [0; MESSAGE_WORDS];
        message::NUMBER.put(&mut words, number);
        message::KIND.put(&mut words, (CardKind::Requested as u8).into());
        requests.push_back(words);
    }
    let whole = requests
        .iter()
        .all(|words| CardMessage::parse(words).is_ok());
    assert!(whole, "requests as the card writes them");
    card.mailbox.lock().unwrap().waiting = requests;
    card.raise();
    // Whoever waits pumps for all.
    let listen = ListenOptions {
        timeout: SHORT,
        ..ListenOptions::default()
    };
    drop(Listener::bind(&context, address, listen));
    let kept = context.connections() - before;
    assert!((1..=64).contains(&kept), "{kept} connections are kept");
}

/// IRD, ORD and an RTR indication are of RFC 6581: a Request of revision 1 offers none.
#[test]
fn an_offer_is_made_from_revision_2_on() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let card = HostileCard::new(move |words| {
        seen.lock().unwrap().push(*words);
        vec![]
    });
    let context = card.context();
    let domain = context.protection_domain().unwrap();
    let queue = WorkQueue::new(&context, 16).unwrap();
    let address: std::net::SocketAddr = "127.0.0.1:1".parse().unwrap();
    for revision in [Revision::One, Revision::Two, Revision::PeerToPeer] {
        asked.lock().unwrap().clear();
        let options = ConnectOptions {
            revision,
            pair: QpOptions {
                timeout: SHORT,
                ..QpOptions::default()
            },
            ..ConnectOptions::default()
        };
        assert!(connect(&domain, &queue, address, options).is_err());
        let asked = asked.lock().unwrap();
        let Ok(HostMessage::Connect(connect)) = HostMessage::parse(&asked[0]) else {
            panic!("{asked:x?}");
        };
        let rtr = connect.offer.map(|offer| offer.rtr.is_some());
        let expected = match revision {
            Revision::One => None,
            Revision::Two => Some(false),
            Revision::PeerToPeer => Some(true),
        };
        assert_eq!(rtr, expected, "{revision:?}");
    }
}

/// A connection with nothing to send goes on: the driver ends it when the program says so, and once.
// req: DDP-TEAR-06
#[test]
fn an_idle_connection_ends_when_the_program_ends_it() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let card = HostileCard::new(move |words| {
        let asked = HostMessage::parse(words).unwrap();
        seen.lock().unwrap().push(asked.kind());
        let HostMessage::Connect(connect) = asked else {
            return vec![];
        };
        let connection = connect.connection;
        let armed = Armed {
            connection,
            stream: 0,
            emss: 1460,
            revision: 1,
            send_markers: false,
            receive_markers: false,
            crc: true,
            settled: None,
            peer_depths: (0, 0),
            private_data: PrivateData::new(b"").unwrap(),
        };
        let established = CardMessage::Established { connection };
        vec![CardMessage::Armed(armed).emit(), established.emit()]
    });
    let context = card.context();
    let domain = context.protection_domain().unwrap();
    let queue = WorkQueue::new(&context, 16).unwrap();
    // The control program arms stream 0, with RDMAP's queues.
    let mut arguments = [0; ARGUMENT.count as usize];
    stream_context::QUEUES.put(&mut arguments, 0b111);
    for (i, word) in (0..).zip(arguments) {
        card.card.write(ARGUMENT.at(i), word).unwrap();
    }
    card.card.write(COMMAND.offset, ARM_STREAM).unwrap();
    let address: std::net::SocketAddr = "127.0.0.1:1".parse().unwrap();
    let options = ConnectOptions {
        revision: Revision::One,
        ..ConnectOptions::default()
    };
    let (pair, _) = connect(&domain, &queue, address, options).unwrap();
    let ends = || {
        let asked = asked.lock().unwrap();
        let ends = asked.iter().filter(|kind| **kind == HostKind::Disconnect);
        ends.count()
    };
    for _ in 0..3 {
        assert!(queue.wait(SHORT).unwrap().is_none());
        assert_eq!(ends(), 0);
    }
    for _ in 0..2 {
        pair.disconnect().unwrap();
        assert!(queue.wait(SHORT).unwrap().is_none());
        assert_eq!(ends(), 1);
    }
}
