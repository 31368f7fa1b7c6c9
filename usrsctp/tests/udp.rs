//! SCTP over UDP between two processes, and what a stranger's datagrams cost.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use warpline_usrsctp::{Association, Ending, Event, Options, SendError, Udp};

const PORT: u16 = 5001;
const MESSAGES: u32 = 500;
/// Where the other process listens, for the test that runs there.
const ADDRESS: &str = "WARPLINE_USRSCTP_PEER";
const LIMIT: Duration = Duration::from_secs(60);

fn options() -> Options {
    Options {
        adaptation: Some(1),
        outbound: 8,
        inbound: 8,
        ..Options::default()
    }
}

fn anywhere() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// Octets of message `number`.
fn payload(number: u32) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(number.into());
    let octets = rng.usize(4..3000);
    let mut octets: Vec<u8> = (0..octets).map(|_| rng.u8(..)).collect();
    octets[..4].copy_from_slice(&number.to_be_bytes());
    octets
}

/// Ends the other process when the test ends, however it does.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The process that connects and sends; run by the test below.
#[test]
#[ignore = "a part of `two_processes_exchange_messages`"]
fn sender() {
    let Ok(address) = std::env::var(ADDRESS) else {
        return;
    };
    let mut end = Udp::bind(anywhere()).unwrap();
    let mut association = end
        .connect(address.parse().unwrap(), PORT, &options())
        .unwrap();
    let (started, mut next, mut up) = (Instant::now(), 0, false);
    loop {
        assert!(started.elapsed() < LIMIT, "sender: {next} sent");
        end.serve(Duration::from_millis(1)).unwrap();
        while let Some(event) = association.next_event() {
            match event {
                Event::Up { adaptation, .. } => {
                    assert_eq!(adaptation, Some(1));
                    up = true;
                }
                Event::Ended(ending) => {
                    assert_eq!((ending, next), (Ending::ShutDown, MESSAGES));
                    return;
                }
                _ => {}
            }
        }
        while up && next < MESSAGES {
            let sent = association.send(next as u16 % 8, 16 + next % 2, true, &payload(next));
            match sent {
                Ok(()) => next += 1,
                Err(SendError::WouldBlock) => break,
                Err(error) => panic!("{error}"),
            }
            if next == MESSAGES {
                association.shutdown().unwrap();
            }
        }
    }
}

#[test]
fn two_processes_exchange_messages() {
    let mut end = Udp::bind(anywhere()).unwrap();
    end.listen(PORT, 8, &options()).unwrap();
    let address = end.local_address().unwrap();
    let mut sender = Command::new(std::env::current_exe().unwrap());
    sender.args(["--exact", "sender", "--include-ignored", "--nocapture"]);
    let mut sender = Process(sender.env(ADDRESS, address.to_string()).spawn().unwrap());
    let mut association: Option<Association> = None;
    let (started, mut seen) = (Instant::now(), vec![false; MESSAGES as usize]);
    let ending = 'all: loop {
        assert!(started.elapsed() < LIMIT, "receiver");
        end.serve(Duration::from_millis(1)).unwrap();
        if let Some((_, accepted)) = end.accept() {
            assert!(association.replace(accepted).is_none());
        }
        while let Some(event) = association.as_mut().and_then(Association::next_event) {
            match event {
                Event::Up {
                    adaptation,
                    outbound,
                    inbound,
                } => assert_eq!((adaptation, outbound, inbound), (Some(1), 8, 8)),
                Event::Message(message) => {
                    let number = u32::from_be_bytes(message.user_data[..4].try_into().unwrap());
                    let once = !std::mem::replace(&mut seen[number as usize], true);
                    assert!(once, "message {number} twice");
                    assert_eq!(message.user_data, payload(number));
                    assert_eq!(
                        (message.stream, message.ppid),
                        (number as u16 % 8, 16 + number % 2)
                    );
                }
                Event::Ended(ending) => break 'all ending,
                _ => {}
            }
        }
    };
    assert_eq!(ending, Ending::ShutDown);
    assert!(seen.iter().all(|seen| *seen));
    // The last packet is this end's, or the other one's timer ends it.
    while sender.0.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < LIMIT, "the sender does not end");
        end.serve(Duration::from_millis(1)).unwrap();
    }
    assert!(sender.0.wait().unwrap().success());
}

/// Datagrams of many strangers: peers are forgotten, and one that has an association is not.
#[test]
fn strangers_are_forgotten() {
    let mut end = Udp::bind(anywhere()).unwrap();
    end.listen(PORT, 8, &options()).unwrap();
    end.set_peers(4);
    let address = end.local_address().unwrap();
    let mut client = Udp::bind(anywhere()).unwrap();
    let mut active = client.connect(address, PORT, &options()).unwrap();
    let (started, mut passive) = (Instant::now(), None);
    while passive.is_none() {
        assert!(started.elapsed() < LIMIT);
        client.serve(Duration::from_millis(1)).unwrap();
        end.serve(Duration::from_millis(1)).unwrap();
        passive = end.accept().map(|(_, accepted)| accepted);
    }
    for number in 0..50_u8 {
        let stranger = UdpSocket::bind(anywhere()).unwrap();
        stranger.send_to(&[number; 40], address).unwrap();
        stranger.send_to(&[number; 3], address).unwrap();
        end.serve(Duration::from_millis(1)).unwrap();
        assert!(end.peers() <= 4, "{} peers", end.peers());
    }
    assert_eq!(end.lost(), 50, "datagrams that are no packets");
    while !matches!(active.next_event(), Some(Event::Up { .. })) {
        client.serve(Duration::from_millis(1)).unwrap();
        assert!(started.elapsed() < LIMIT);
    }
    active.send(0, 16, true, b"still there").unwrap();
    let mut passive = passive.unwrap();
    loop {
        assert!(started.elapsed() < LIMIT);
        client.serve(Duration::from_millis(1)).unwrap();
        end.serve(Duration::from_millis(1)).unwrap();
        if let Some(Event::Message(message)) = passive.next_event() {
            assert_eq!(message.user_data, b"still there");
            break;
        }
    }
}
