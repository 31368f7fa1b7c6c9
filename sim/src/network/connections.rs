//! The card's connections, as its control program uses them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::card::Card;
use crate::network::entry::OpenConnection;
use crate::network::error::NetworkError;
use crate::network::event::{ConnectionHandle, Event, ListenerHandle};
use crate::network::frames::Frames;
use crate::network::options::NetworkOptions;
use crate::network::pump::{Shared, Sleep};
use crate::network::record::Record;
use crate::network::table::Table;

/// TCP connections of a card: sockets of the host's kernel.
///
/// ```text
///  listen ─► Accepted ─┐                                        ┌─ octets ─► path ─► s_axis_segment
///  connect ► Connected ┴─► read, write: start-up ─► attach ─────┤
///                                                               └─ send ◄─ transmit engine
/// ```
///
/// At first, who runs the start-up of MPA reads and writes a connection. [`attach`](Self::attach) passes it to a stream: from
/// then on incoming octets become segments of that stream, FIN and RST included, and the device's window holds the peer back.
///
/// No call blocks except [`wait_event`](Self::wait_event). A thread serves the sockets; it sleeps while nothing happens. The
/// card's time is advanced by somebody else, for instance by [`Card::run_freely`]. Calls from a card's callbacks
/// ([`Card::set_messages`], [`Card::watch_streams`]) deadlock. Dropping it closes all connections.
///
/// ```no_run
/// use std::time::Duration;
/// use warpline_hdl::Config;
/// use warpline_sim::{Card, CardOptions, Connections, Event, NetworkOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let card = Card::open(&Config::simulated(64), CardOptions::default())?;
/// let clock = card.run_freely()?;
/// let connections = Connections::open(&card, NetworkOptions::default())?;
/// let listener = connections.listen("127.0.0.1:4444".parse()?)?;
/// while let Some((connection, event)) = connections.wait_event(Duration::from_secs(10)) {
///     match event {
///         Event::Accepted(_) => println!("{:?}", connections.ends(connection)?),
///         Event::Readable => {
///             let mut frame = [0; 20];
///             let count = connections.read(connection, &mut frame)?;
///             // … the start frame is answered, and stream 0 is armed from this number on:
///             let (sequence, _) = connections.sequences(connection)?;
///             connections.attach(connection, 0, sequence, &[])?;
///         }
///         Event::Lost(_) | Event::HalfClosed => connections.close(connection),
///         _ => {}
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "dropping it closes all connections"]
pub struct Connections {
    shared: Arc<Shared>,
    wake: Arc<dyn Fn() + Send + Sync>,
    /// The file of the record.
    frames: Option<Arc<Frames>>,
    thread: Option<JoinHandle<()>>,
}

impl Connections {
    /// The connections of `card`, none at first.
    ///
    /// # Errors
    /// [`NetworkError::System`], [`NetworkError::Record`].
    pub fn open(card: &Card, options: NetworkOptions) -> Result<Self, NetworkError> {
        let frames = options.record.clone().map(Frames::create).transpose()?;
        let frames = frames.map(Arc::new);
        let record = Record::new(frames.clone());
        let sleep = Sleep::new().map_err(std::io::Error::from)?;
        let wake = sleep.waker();
        let epoll = Arc::clone(&sleep.epoll);
        let table = Table::new(card.clone(), options, epoll, Arc::clone(&wake), record);
        let shared = Arc::new(Shared::new(table));
        let thread = thread::Builder::new().name("card network".into()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.run(&sleep)
        })?;
        Ok(Self {
            shared,
            wake,
            frames,
            thread: Some(thread),
        })
    }

    /// Listens at `address`; port 0 is any port. An IPv6 address takes no IPv4 connections.
    ///
    /// # Errors
    /// [`NetworkError::Full`], [`NetworkError::Address`].
    pub fn listen(&self, address: SocketAddr) -> Result<ListenerHandle, NetworkError> {
        self.with(|table| table.listen(address))
    }

    /// The address of a listener.
    ///
    /// # Errors
    /// [`NetworkError::Closed`].
    pub fn address(&self, listener: ListenerHandle) -> Result<SocketAddr, NetworkError> {
        self.with(|table| table.address(listener))
    }

    /// Closes a listener. The connections that it has accepted stay; those that wait in the kernel are reset.
    pub fn unlisten(&self, listener: ListenerHandle) {
        self.with(|table| table.unlisten(listener));
    }

    /// Connects to `address`: [`Event::Connected`] or [`Event::Refused`] follows.
    ///
    /// # Errors
    /// [`NetworkError::Full`], [`NetworkError::Address`].
    pub fn connect(&self, address: SocketAddr) -> Result<ConnectionHandle, NetworkError> {
        self.with(|table| table.connect(address))
    }

    /// The addresses of the card's end and of the peer's.
    ///
    /// # Errors
    /// [`NetworkError::Closed`].
    pub fn ends(
        &self,
        connection: ConnectionHandle,
    ) -> Result<(SocketAddr, SocketAddr), NetworkError> {
        self.with(|table| table.ends(connection))
    }

    /// Octets of payload in a TCP segment that the card sends now: those of the peer's MSS and of the path's MTU, less the kernel's
    /// options. From the first call on, [`Event::SegmentChanged`] reports another value, at the latest behind the next octets
    /// that are sent.
    ///
    /// # Errors
    /// [`NetworkError::Closed`], [`NetworkError::NotEstablished`], [`NetworkError::Lost`], those of the system.
    pub fn segment(&self, connection: ConnectionHandle) -> Result<usize, NetworkError> {
        self.with(|table| table.segment(connection))
    }

    /// From now on, segments of all connections have at most so many octets, as if the paths had a smaller MTU: the kernel's own
    /// path on this machine hardly ever changes. `None`: as the kernel has them, which is the beginning. The kernel may send larger
    /// ones; a caller that goes by [`segment`](Self::segment) sends none.
    pub fn limit_segments(&self, octets: Option<u16>) {
        self.with(|table| table.limit_segments(octets));
    }

    /// Sequence numbers of the peer's next octet and of the card's, as recorded. The kernel hides the true ones: those of the
    /// SYNs are drawn by [`NetworkOptions::seed`].
    ///
    /// # Errors
    /// [`NetworkError::Closed`], [`NetworkError::NotEstablished`], [`NetworkError::Lost`].
    pub fn sequences(&self, connection: ConnectionHandle) -> Result<(u32, u32), NetworkError> {
        self.with(|table| table.sequences(connection))
    }

    /// Reads octets of a connection that is not attached, as many as are there and fit. 0: none are there now, and an event
    /// follows, or the peer's FIN was read.
    ///
    /// # Errors
    /// [`NetworkError::Closed`], [`NetworkError::NotEstablished`], [`NetworkError::Lost`], [`NetworkError::Attached`].
    pub fn read(
        &self,
        connection: ConnectionHandle,
        octets: &mut [u8],
    ) -> Result<usize, NetworkError> {
        self.with(|table| table.read(connection, octets))
    }

    /// Writes octets of a connection that is not attached, and returns how many were accepted. If not all,
    /// [`Event::Writable`] follows.
    ///
    /// # Errors
    /// [`NetworkError::Closed`], [`NetworkError::NotEstablished`], [`NetworkError::Lost`], [`NetworkError::Attached`],
    /// [`NetworkError::Finished`].
    pub fn write(
        &self,
        connection: ConnectionHandle,
        octets: &[u8],
    ) -> Result<usize, NetworkError> {
        self.with(|table| table.write(connection, octets, false))
    }

    /// Attaches a connection to `stream`: from now on its octets go there, the first one with sequence number `sequence`.
    /// `early` was read before and comes first. The stream may be armed before or after: until then the peer is held back.
    ///
    /// The connection is detached when the stream is closed or the card reset.
    ///
    /// # Errors
    /// [`NetworkError::Closed`], [`NetworkError::NotEstablished`], [`NetworkError::Lost`], [`NetworkError::Attached`],
    /// [`NetworkError::Occupied`], [`NetworkError::Early`], [`NetworkError::Card`].
    pub fn attach(
        &self,
        connection: ConnectionHandle,
        stream: u8,
        sequence: u32,
        early: &[u8],
    ) -> Result<(), NetworkError> {
        self.with(|table| table.attach(connection, stream, sequence, early))
    }

    /// Writes octets of an attached connection; as [`write`](Self::write).
    ///
    /// # Errors
    /// As [`write`](Self::write), but [`NetworkError::NotAttached`].
    pub fn send(&self, connection: ConnectionHandle, octets: &[u8]) -> Result<usize, NetworkError> {
        self.with(|table| table.write(connection, octets, true))
    }

    /// Sends a FIN behind what was written: the half-close of the card's direction.
    ///
    /// # Errors
    /// [`NetworkError::Closed`], [`NetworkError::NotEstablished`], [`NetworkError::Lost`].
    pub fn finish(&self, connection: ConnectionHandle) -> Result<(), NetworkError> {
        self.with(|table| table.finish(connection))
    }

    /// Closes a connection: FIN, and RST to what the peer still sends. Its handle is no longer valid. What the stream has got is
    /// processed; what is under way in the path is dropped.
    pub fn close(&self, connection: ConnectionHandle) {
        self.with(|table| table.close(connection, false));
    }

    /// Closes a connection by RST.
    pub fn abort(&self, connection: ConnectionHandle) {
        self.with(|table| table.close(connection, true));
    }

    /// Whoever opened them is gone: connections are reset, listeners closed, and streams learn that theirs is lost.
    pub(crate) fn end_all(&self) {
        self.with(Table::end_all);
    }

    /// The next event, if there is one.
    #[must_use]
    pub fn next_event(&self) -> Option<(ConnectionHandle, Event)> {
        self.shared.table().next_event()
    }

    /// The next event; waits for it, at most for `timeout`.
    #[must_use]
    pub fn wait_event(&self, timeout: Duration) -> Option<(ConnectionHandle, Event)> {
        self.shared.wait(timeout).next_event()
    }

    /// Number of open connections, and of those among them that listeners have accepted and that are not attached.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        self.shared.table().counts()
    }

    /// All open connections, and the addresses of all listeners, for a view of them.
    #[must_use]
    pub fn view(&self) -> (Vec<OpenConnection>, Vec<SocketAddr>) {
        self.shared.table().view()
    }

    /// Writes what was recorded so far to the file.
    ///
    /// # Errors
    /// [`NetworkError::Record`] when something could not be written: with that the record has ended.
    pub fn flush_record(&self) -> Result<(), NetworkError> {
        self.frames.as_ref().map_or(Ok(()), |frames| frames.check())
    }

    /// The file of the record, for what passes beside the connections.
    pub(crate) fn frames(&self) -> Option<Arc<Frames>> {
        self.frames.clone()
    }

    /// From now on, `watcher` is called, from any thread, when there are events, and no former one; it must not call
    /// back.
    pub(crate) fn watch(&self, watcher: Box<dyn Fn() + Send + Sync>) {
        self.shared.watch(watcher);
    }

    fn with<T>(&self, act: impl FnOnce(&mut Table) -> T) -> T {
        let mut table = self.shared.table();
        let result = act(&mut table);
        let (events, retry) = (table.has_events(), table.retry);
        drop(table);
        if events {
            self.shared.notify();
        }
        if retry {
            (self.wake)(); // the thread tries again later
        }
        result
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        self.shared.end();
        (self.wake)();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic has been printed to standard error
        }
        self.shared.table().flush();
    }
}
