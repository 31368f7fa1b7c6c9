//! The end that writes and reads the peer's memory.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use warpline_driver::{
    ConnectOptions, DmaMemory, Endpoint, Local, MemoryRegion, PairEvent, QueuePair, Registration,
    Remote, Work, WorkQueue, WorkRequest, WorkStatus, connect,
};

use super::error::TransferError;
use super::machine::Machine;
use super::offer::Offer;

/// Octets of an RDMA Write or Read.
const PIECE: u64 = 64 << 10;
/// Pieces under way.
const DEPTH: u64 = 16;
/// Octets that are written before they are known to be placed.
const STEP: u64 = 4 << 20;
/// Longest silence.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pause before another connection.
const PAUSE: Duration = Duration::from_millis(300);

/// How often a lost connection is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries(pub u32);

/// A connection to a server.
struct Connection {
    pair: QueuePair,
    queue: WorkQueue,
    offer: Offer,
}

/// What has happened to a transfer.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'e> {
    /// So many octets are known to be transferred.
    Placed(u64),
    /// A connection failed, and the transfer goes on over another one.
    Again {
        /// What ended it.
        error: &'e TransferError,
        /// Connections that have failed so far.
        retry: u32,
        /// Connections that may fail.
        most: u32,
    },
}

/// Transfers between local memory and the region at an endpoint.
pub struct Client<'m> {
    machine: &'m Machine,
    endpoint: Endpoint,
    region: Arc<MemoryRegion>,
    length: u64,
    /// Sink of the Read that follows Writes.
    probe: Arc<MemoryRegion>,
    /// Octets of the peer's region; not known before the first connection.
    size: Option<u64>,
}

impl<'m> Client<'m> {
    /// For `memory`, which is the source of [`put`](Self::put) and the sink of [`get`](Self::get).
    ///
    /// # Errors
    /// Those of the driver.
    pub fn new(
        machine: &'m Machine,
        endpoint: impl Into<Endpoint>,
        memory: DmaMemory,
    ) -> Result<Self, TransferError> {
        let length = memory.len() as u64;
        let register = |memory| {
            // The sink of a Read is written by the peer's Response.
            let registered = machine.domain.register(memory, Registration::default());
            registered.map(Arc::new).map_err(|returned| returned.error)
        };
        Ok(Self {
            machine,
            endpoint: endpoint.into(),
            region: register(memory)?,
            length,
            probe: register(DmaMemory::new(1)?)?,
            size: None,
        })
    }

    /// The local memory as it is now.
    ///
    /// # Errors
    /// That of the driver.
    pub fn to_vec(&self) -> Result<Vec<u8>, TransferError> {
        Ok(self.region.to_vec()?)
    }

    /// Octets of the peer's region, once there was a connection.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Asks the server for the octets of its region.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn measure(&mut self) -> Result<u64, TransferError> {
        let connection = self.connect()?;
        let size = connection.offer.length;
        finish(connection)?;
        Ok(size)
    }

    /// Writes the local memory to the peer's region at `offset`. `told` is called when more octets are known to be placed,
    /// and when a new connection replaces a lost one; the transfer then continues over the new one.
    ///
    /// # Errors
    /// [`TransferError::NoOffer`], [`TransferError::Outside`], [`TransferError::GaveUp`], those of the driver.
    pub fn put(
        &mut self,
        offset: u64,
        retries: Retries,
        told: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(), TransferError> {
        self.transfer(offset, retries, told, write)
    }

    /// Reads the peer's region from `offset` on into the local memory, as long as that is; otherwise as [`put`](Self::put).
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn get(
        &mut self,
        offset: u64,
        retries: Retries,
        told: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(), TransferError> {
        self.transfer(offset, retries, told, read)
    }

    fn transfer(
        &mut self,
        offset: u64,
        Retries(most): Retries,
        told: &mut dyn FnMut(Progress<'_>),
        step: fn(&Connection, &Self, u64, u64, u64) -> Result<(), TransferError>,
    ) -> Result<(), TransferError> {
        let (mut placed, mut retries) = (0, 0);
        loop {
            let error = match self.attempt(offset, &mut placed, told, step) {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            if !error.is_of_connection() {
                return Err(error);
            }
            if retries == most {
                return Err(TransferError::GaveUp {
                    endpoint: self.endpoint,
                    source: Box::new(error),
                    placed,
                    length: self.length,
                    resume: offset + placed,
                });
            }
            retries += 1;
            told(Progress::Again {
                error: &error,
                retry: retries,
                most,
            });
            thread::sleep(PAUSE);
        }
    }

    /// One connection's part; `placed` is how far it came.
    fn attempt(
        &mut self,
        offset: u64,
        placed: &mut u64,
        told: &mut dyn FnMut(Progress<'_>),
        step: fn(&Connection, &Self, u64, u64, u64) -> Result<(), TransferError>,
    ) -> Result<(), TransferError> {
        let connection = self.connect()?;
        let size = connection.offer.length;
        if offset.checked_add(self.length).is_none_or(|end| end > size) {
            return Err(TransferError::Outside {
                offset,
                length: self.length,
                size,
            });
        }
        while *placed < self.length {
            let end = self.length.min(*placed + STEP);
            step(&connection, self, offset, *placed, end)?;
            *placed = end;
            told(Progress::Placed(end));
        }
        finish(connection)
    }

    fn connect(&mut self) -> Result<Connection, TransferError> {
        let Machine {
            context, domain, ..
        } = self.machine;
        let queue = WorkQueue::new(context, 4 * DEPTH as usize)?;
        let (pair, reply) = connect(domain, &queue, self.endpoint, ConnectOptions::default())?;
        let offer = Offer::parse(&reply).ok_or(TransferError::NoOffer {
            endpoint: self.endpoint,
            octets: reply.len(),
        })?;
        let before = *self.size.get_or_insert(offer.length);
        if before != offer.length {
            let now = offer.length;
            return Err(TransferError::OtherRegion { before, now });
        }
        Ok(Connection { pair, queue, offer })
    }

    fn local(&self, from: u64, end: u64) -> Result<Local, TransferError> {
        Ok(Local::new(&self.region, from as usize..end as usize)?)
    }
}

/// Octets `from` to `end` of the local memory, by requests that `request` makes.
fn pieces(
    connection: &Connection,
    from: u64,
    end: u64,
    request: impl Fn(u64, u64) -> Result<WorkRequest, TransferError>,
) -> Result<(), TransferError> {
    let (mut posted, mut done) = (from, from);
    while done < end {
        while posted < end && posted - done < DEPTH * PIECE {
            let next = end.min(posted + PIECE);
            connection.pair.post_send(request(posted, next)?)?;
            posted = next;
        }
        connection.completed()?;
        done = end.min(done + PIECE);
    }
    Ok(())
}

fn write(
    connection: &Connection,
    client: &Client<'_>,
    offset: u64,
    from: u64,
    end: u64,
) -> Result<(), TransferError> {
    let remote = |at: u64| Remote {
        stag: connection.offer.stag,
        offset: connection.offer.base + offset + at,
    };
    pieces(connection, from, end, |from, end| {
        Ok(WorkRequest::write(
            from,
            client.local(from, end)?,
            remote(from),
        ))
    })?;
    // A completed Write says that its memory was read. A Read is answered when it is delivered, which is behind the placement
    // of all that was sent before (RFC 5040 §5.5).
    let probe = Local::all(&client.probe)?;
    connection
        .pair
        .post_send(WorkRequest::read(end, probe, remote(end - 1)))?;
    connection.completed()
}

fn read(
    connection: &Connection,
    client: &Client<'_>,
    offset: u64,
    from: u64,
    end: u64,
) -> Result<(), TransferError> {
    pieces(connection, from, end, |from, end| {
        let remote = Remote {
            stag: connection.offer.stag,
            offset: connection.offer.base + offset + from,
        };
        Ok(WorkRequest::read(from, client.local(from, end)?, remote))
    })
}

impl Connection {
    /// Waits until a request is done.
    fn completed(&self) -> Result<(), TransferError> {
        let event = match self.next()? {
            Work::Completion(completion) if completion.status == WorkStatus::Success => {
                return Ok(());
            }
            Work::Event { event, .. } => Some(event),
            _ => self.reason(), // flushed
        };
        Err(TransferError::Ended { event })
    }

    fn next(&self) -> Result<Work, TransferError> {
        let work = self.queue.wait(PATIENCE)?;
        work.ok_or(TransferError::Silent(PATIENCE.as_secs()))
    }

    /// The event that goes with flushed requests, if there is one already.
    fn reason(&self) -> Option<PairEvent> {
        while let Ok(Some(work)) = self.queue.poll() {
            if let Work::Event { event, .. } = work {
                return Some(event);
            }
        }
        None
    }
}

/// Closes a connection whose requests are done.
fn finish(connection: Connection) -> Result<(), TransferError> {
    connection.pair.disconnect()?;
    loop {
        match connection.next()? {
            Work::Event {
                event: PairEvent::Closed(_),
                ..
            } => break,
            Work::Event {
                event: PairEvent::HalfClosed,
                ..
            }
            | Work::Completion(_) => {}
            Work::Event { event, .. } => return Err(TransferError::Ended { event: Some(event) }),
            _ => {}
        }
    }
    Ok(connection.pair.close()?)
}
