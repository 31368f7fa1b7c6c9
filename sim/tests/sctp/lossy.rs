//! A path that loses datagrams.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fastrand::Rng;

/// Datagrams between a client and a server, some of which are lost, late or doubled.
pub struct Lossy {
    pub address: SocketAddr,
    pub lost: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Lossy {
    /// A path to `server`, with `loss` percent of loss, as many copies, and twice as many that are late by up to 20 ms.
    pub fn to(server: SocketAddr, loss: u32, seed: u64) -> Self {
        let bind = || {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        };
        let (front, back) = (bind(), bind());
        let address = front.local_addr().unwrap();
        let (lost, ended) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let thread = thread::spawn({
            let (lost, ended) = (Arc::clone(&lost), Arc::clone(&ended));
            move || {
                let mut rng = Rng::with_seed(seed);
                let mut client = None;
                let mut late: Vec<(Instant, bool, Vec<u8>)> = vec![];
                let mut buffer = vec![0; 65_536];
                while !ended.load(Ordering::SeqCst) {
                    let mut quiet = true;
                    for to_server in [true, false] {
                        let from = if to_server { &front } else { &back };
                        let (count, source) = match from.recv_from(&mut buffer) {
                            Ok(received) => received,
                            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                            Err(error) => panic!("{error}"),
                        };
                        quiet = false;
                        if to_server {
                            client = Some(source);
                        }
                        if rng.u32(0..100) < loss {
                            lost.fetch_add(1, Ordering::SeqCst);
                            continue;
                        }
                        let copies = 1 + u32::from(rng.u32(0..100) < loss);
                        for _ in 0..copies {
                            let wait = match rng.u32(0..100) < 2 * loss {
                                true => rng.u64(1..20),
                                false => 0,
                            };
                            let at = Instant::now() + Duration::from_millis(wait);
                            late.push((at, to_server, buffer[..count].to_vec()));
                        }
                    }
                    let now = Instant::now();
                    late.retain(|(at, to_server, octets)| {
                        if *at > now {
                            return true;
                        }
                        let sent = match (to_server, client) {
                            (true, _) => back.send_to(octets, server),
                            (false, Some(client)) => front.send_to(octets, client),
                            (false, None) => Ok(0),
                        };
                        sent.unwrap();
                        false
                    });
                    if quiet {
                        thread::sleep(Duration::from_micros(300));
                    }
                }
            }
        });
        Self {
            address,
            lost,
            ended,
            thread: Some(thread),
        }
    }
}

impl Drop for Lossy {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}
