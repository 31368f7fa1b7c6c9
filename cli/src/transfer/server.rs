//! The end that offers its memory. Its program accepts connections; it neither sees nor moves the data.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use warpline_driver::{
    CloseReason, ConnectRequest, DmaMemory, Endpoint, ListenOptions, Listener, MemoryRegion,
    PairEvent, QpOptions, QueuePair, Registration, Work, WorkQueue,
};

use super::error::TransferError;
use super::machine::Machine;
use super::offer::Offer;

/// Time between two looks at whether to stop.
const LOOK: Duration = Duration::from_millis(100);
/// Items of a connection's queue.
const ITEMS: usize = 64;

/// A region and an endpoint at which it is offered.
pub struct Server<'m> {
    machine: &'m Machine,
    listener: Listener,
    region: Arc<MemoryRegion>,
    offer: Offer,
}

impl<'m> Server<'m> {
    /// Registers `memory` for reads and writes of peers, and listens at `endpoint`; port 0 takes any port.
    ///
    /// # Errors
    /// Those of the driver: the address is in use, the memory cannot be registered.
    pub fn open(
        machine: &'m Machine,
        memory: DmaMemory,
        endpoint: impl Into<Endpoint>,
    ) -> Result<Self, TransferError> {
        let length = memory.len() as u64;
        let registration = Registration {
            remote_read: true,
            ..Registration::default()
        };
        let registered = machine.domain.register(memory, registration);
        let region = registered.map_err(|returned| returned.error)?;
        let offer = Offer {
            stag: region.stag(),
            base: region.base(),
            length,
        };
        Ok(Self {
            machine,
            listener: Listener::bind(&machine.context, endpoint, ListenOptions::default())?,
            region: Arc::new(region),
            offer,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        self.listener.endpoint()
    }

    /// The memory as it is now.
    ///
    /// # Errors
    /// That of the driver.
    pub fn to_vec(&self) -> Result<Vec<u8>, TransferError> {
        Ok(self.region.to_vec()?)
    }
}

/// How a connection ended: how it was closed, or nothing if the server stopped first.
pub type End = Result<Option<CloseReason>, TransferError>;

/// Serves connections, several at a time, until `count` have ended or `stop` is true. `said` is called for each that has ended.
///
/// # Errors
/// Those of the listener; a failing connection is not one.
pub fn serve(
    server: &Server<'_>,
    count: Option<usize>,
    stop: &(dyn Fn() -> bool + Sync),
    said: &(dyn Fn(SocketAddr, &End) + Sync),
) -> Result<(), TransferError> {
    thread::scope(|scope| {
        let mut accepted = 0;
        while count.is_none_or(|count| accepted < count) && !stop() {
            let Some(request) = server.listener.accept(LOOK)? else {
                continue;
            };
            accepted += 1;
            let peer = request.peer();
            let thread = thread::Builder::new().name("connection".into());
            let served = thread.spawn_scoped(scope, move || {
                said(peer, &connection(server, request, stop));
            });
            // The request is dropped, and so rejected.
            if let Err(error) = served {
                said(peer, &Err(TransferError::Thread(error)));
            }
        }
        Ok(())
    })
}

/// One connection from its request to its end.
fn connection(
    server: &Server<'_>,
    request: ConnectRequest,
    stop: &(dyn Fn() -> bool + Sync),
) -> End {
    let Machine {
        context, domain, ..
    } = server.machine;
    let queue = WorkQueue::new(context, ITEMS)?;
    let pair = request.accept(domain, &queue, QpOptions::default(), &server.offer.emit())?;
    let reason = ended(&queue, &pair, stop);
    pair.close()?;
    reason
}

fn ended(queue: &WorkQueue, pair: &QueuePair, stop: &(dyn Fn() -> bool + Sync)) -> End {
    let mut fatal = None;
    while !stop() {
        let Some(Work::Event { event, .. }) = queue.wait(LOOK)? else {
            continue; // a flushed request, or nothing
        };
        match event {
            PairEvent::HalfClosed => pair.disconnect()?,
            PairEvent::Closed(reason) => {
                return match fatal {
                    None => Ok(Some(reason)),
                    event => Err(TransferError::Ended { event }),
                };
            }
            // Closed follows. What comes behind a Terminate is its consequence.
            event => match fatal {
                Some(PairEvent::Terminated(_) | PairEvent::Terminating(_)) => {}
                _ => fatal = Some(event),
            },
        }
    }
    Ok(None)
}
