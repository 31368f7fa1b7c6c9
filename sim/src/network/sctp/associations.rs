//! The card's associations, as its control program uses them.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::card::Card;
use crate::network::frames::Frames;
use crate::network::sctp::error::AssociationError;
use crate::network::sctp::event::{AssociationEvent, AssociationHandle};
use crate::network::sctp::options::AssociationOptions;
use crate::network::sctp::table::Table;

/// Longest sleep while there are associations, whose timers run, and while there are none.
const SHORT: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_millis(10);

/// SCTP associations of a card, with their sessions of DDP (RFC 5043), in UDP datagrams (RFC 6951).
///
/// ```text
///  listen ─► Up ─┬─ initiate ─► Accepted ─┐                         ┌─ chunks ─► s_axis_sctp
///  connect ► Up ─┴─ Requested ► accept ───┴─ attach, arm the stream ┤
///                                                                   └─ segments ◄─ transmit engine
/// ```
///
/// Who runs sessions decides about them by events. [`attach`](Self::attach) connects a session to a stream of the device: chunks of the peer go there,
/// in the order in which they come, and what the device sends goes to the peer. What came before is kept.
///
/// - The **active** side arms the stream with first number 0, since the peer's Accept goes to the device as well; segments may come in front of it.
/// - The **passive** side arms it with 1: the Initiate is not passed.
///
/// No call blocks except [`wait_event`](Self::wait_event). A thread serves the datagrams. The card's time is advanced by somebody else. Dropping
/// it shuts associations without open sessions down, for which it waits 3.5 seconds at most, and aborts the others.
#[must_use = "dropping it ends all associations"]
pub struct Associations {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread and the callers share.
struct Shared {
    table: Mutex<Table>,
    /// Events wait, or the thread has ended.
    changed: Condvar,
    ended: AtomicBool,
    wake: Arc<Wake>,
    /// Called when events are there.
    watcher: Mutex<Option<Watcher>>,
}

/// Is told that events are there.
type Watcher = Box<dyn Fn() + Send + Sync>;

/// What the thread sleeps on.
#[derive(Default)]
struct Wake {
    due: Mutex<bool>,
    changed: Condvar,
}

impl Wake {
    fn wake(&self) {
        *self.due.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    fn sleep(&self, most: Duration) {
        let due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(due, most, |due| !*due);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        while !self.ended.load(Ordering::SeqCst) {
            let mut table = self.table();
            if let Err(error) = table.serve() {
                tracing::warn!(%error, "associations are served again later");
            }
            let (events, busy) = (table.has_events(), table.is_busy());
            drop(table);
            if events {
                self.changed.notify_all();
                let watcher = self.watcher.lock();
                if let Some(watcher) = &*watcher.unwrap_or_else(PoisonError::into_inner) {
                    watcher();
                }
            }
            self.wake.sleep(if busy { SHORT } else { LONG });
        }
    }
}

impl Associations {
    /// The associations of `card`, none at first.
    ///
    /// # Errors
    /// [`AssociationError::NoSctp`], [`AssociationError::System`].
    pub fn open(card: &Card, options: AssociationOptions) -> Result<Self, AssociationError> {
        Self::recorded(card, options, None)
    }

    /// The same. What passes is recorded in `frames`.
    pub(crate) fn recorded(
        card: &Card,
        options: AssociationOptions,
        frames: Option<Arc<Frames>>,
    ) -> Result<Self, AssociationError> {
        let wake = Arc::<Wake>::default();
        let waker = Arc::clone(&wake);
        let waker: Arc<dyn Fn() + Send + Sync> = Arc::new(move || waker.wake());
        let table = Table::new(card.clone(), options, frames, waker)?;
        let shared = Arc::new(Shared {
            table: Mutex::new(table),
            changed: Condvar::new(),
            ended: AtomicBool::new(false),
            wake,
            watcher: Mutex::new(None),
        });
        let thread = thread::Builder::new()
            .name("card associations".into())
            .spawn({
                let shared = Arc::clone(&shared);
                move || shared.run()
            })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Address and port of its datagrams.
    ///
    /// # Errors
    /// [`AssociationError::System`].
    pub fn address(&self) -> Result<SocketAddr, AssociationError> {
        self.with(|table| table.address())
    }

    /// Listens at an SCTP port. [`AssociationEvent::Up`] tells of each association, which it need not accept.
    ///
    /// # Errors
    /// [`AssociationError::Sctp`].
    pub fn listen(&self, port: u16) -> Result<(), AssociationError> {
        self.with(|table| table.listen(port))
    }

    /// Sets up an association with SCTP port `port` of the peer whose datagrams come from `address`: [`AssociationEvent::Up`],
    /// [`NotDdp`](AssociationEvent::NotDdp) or [`Ended`](AssociationEvent::Ended) follows.
    ///
    /// # Errors
    /// [`AssociationError::Full`], [`AssociationError::Sctp`].
    pub fn connect(
        &self,
        address: SocketAddr,
        port: u16,
    ) -> Result<AssociationHandle, AssociationError> {
        self.with(|table| table.connect(address, port))
    }

    /// Asks for a session on a pair of streams: [`Accepted`](AssociationEvent::Accepted), [`Rejected`](AssociationEvent::Rejected),
    /// [`Refused`](AssociationEvent::Refused) or [`Failed`](AssociationEvent::Failed) follows.
    ///
    /// # Errors
    /// [`AssociationError::Ended`], [`AssociationError::Call`].
    pub fn initiate(
        &self,
        association: AssociationHandle,
        session: u16,
        private_data: &[u8],
    ) -> Result<(), AssociationError> {
        self.with(|table| table.initiate(association, session, private_data))
    }

    /// Accepts a session that was [`Requested`](AssociationEvent::Requested).
    ///
    /// # Errors
    /// As [`initiate`](Self::initiate).
    pub fn accept(
        &self,
        association: AssociationHandle,
        session: u16,
        private_data: &[u8],
    ) -> Result<(), AssociationError> {
        self.with(|table| table.accept(association, session, private_data))
    }

    /// Rejects it.
    ///
    /// # Errors
    /// As [`initiate`](Self::initiate).
    pub fn reject(
        &self,
        association: AssociationHandle,
        session: u16,
        private_data: &[u8],
    ) -> Result<(), AssociationError> {
        self.with(|table| table.reject(association, session, private_data))
    }

    /// Declines it by Terminate: there is no room for it, so the ULP is not asked (RFC 5043 §6.4).
    ///
    /// # Errors
    /// As [`initiate`](Self::initiate).
    pub fn decline(
        &self,
        association: AssociationHandle,
        session: u16,
    ) -> Result<(), AssociationError> {
        self.with(|table| table.decline(association, session))
    }

    /// Ends this end's half of a session. What the device has ready and SCTP has not got stays behind.
    ///
    /// # Errors
    /// As [`initiate`](Self::initiate).
    pub fn terminate(
        &self,
        association: AssociationHandle,
        session: u16,
    ) -> Result<(), AssociationError> {
        self.with(|table| table.terminate(association, session))
    }

    /// Connects a session to `stream` of the device, which may be armed before or after: until then the peer is held back. Closing the
    /// stream detaches it.
    ///
    /// # Errors
    /// [`AssociationError::Ended`], [`AssociationError::Attached`], [`AssociationError::Occupied`], [`AssociationError::Card`],
    /// [`AssociationError::Call`] for a session that cannot be.
    pub fn attach(
        &self,
        association: AssociationHandle,
        session: u16,
        stream: u8,
    ) -> Result<(), AssociationError> {
        self.with(|table| table.attach(association, session, stream))
    }

    /// Ends an association behind all that SCTP has got: [`AssociationEvent::Ended`] follows.
    ///
    /// # Errors
    /// [`AssociationError::Ended`], [`AssociationError::Sctp`].
    pub fn shutdown(&self, association: AssociationHandle) -> Result<(), AssociationError> {
        self.with(|table| table.shutdown(association))
    }

    /// Ends an association by ABORT. Its sessions are [`Lost`](AssociationEvent::Lost), and its handle is no longer valid.
    pub fn abort(&self, association: AssociationHandle) {
        self.with(|table| table.abort(association));
    }

    /// Listens no more at an SCTP port. Associations stay.
    pub(crate) fn unlisten(&self, port: u16) {
        self.with(|table| table.unlisten(port));
    }

    /// Address and port of the peer's datagrams.
    ///
    /// # Errors
    /// [`AssociationError::Ended`].
    pub fn peer(&self, association: AssociationHandle) -> Result<SocketAddr, AssociationError> {
        self.with(|table| table.peer(association))
    }

    /// Whether there is no association.
    pub(crate) fn is_empty(&self) -> bool {
        !self.shared.table().is_busy()
    }

    /// Whether a session, or what is under way of a former one, has a pair of streams.
    pub(crate) fn is_in_use(&self, association: AssociationHandle, session: u16) -> bool {
        self.with(|table| table.is_in_use(association, session))
    }

    /// From now on, `watcher` is called, from any thread, when there are events, and no former one; it must not call back.
    pub(crate) fn watch(&self, watcher: Box<dyn Fn() + Send + Sync>) {
        let place = self.shared.watcher.lock();
        *place.unwrap_or_else(PoisonError::into_inner) = Some(watcher);
    }

    /// The next event, if there is one.
    #[must_use]
    pub fn next_event(&self) -> Option<(AssociationHandle, AssociationEvent)> {
        self.shared.table().next_event()
    }

    /// The next event; waits for it, at most for `timeout`.
    #[must_use]
    pub fn wait_event(&self, timeout: Duration) -> Option<(AssociationHandle, AssociationEvent)> {
        let ended = &self.shared.ended;
        let nothing = |table: &mut Table| !table.has_events() && !ended.load(Ordering::SeqCst);
        let table = self.shared.table();
        let waited = self
            .shared
            .changed
            .wait_timeout_while(table, timeout, nothing);
        waited
            .unwrap_or_else(PoisonError::into_inner)
            .0
            .next_event()
    }

    fn with<T>(&self, act: impl FnOnce(&mut Table) -> T) -> T {
        let result = act(&mut self.shared.table());
        self.shared.wake.wake();
        result
    }
}

impl Drop for Associations {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        self.shared.wake.wake();
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic has been printed to standard error
        }
        self.shared.table().end_all();
    }
}
