//! Connections, as the control program uses them: TCP connections, and DDP stream sessions of SCTP (RFC 5043 §6).
//!
//! ```text
//!  TCP   listen ─► Accepted ─┐
//!        connect ► Connected ┴─► read, write: start-up ─► attach: octets go to and from a stream ─► finish, close, abort
//!
//!  SCTP  listen ─► Accepted: an Initiate ─► private_data, answer ───────┐
//!        connect ► Connected ─► initiate ─► Answered, private_data ─────┴─► attach: segments … ─► finish, close, abort
//! ```
//!
//! Associations are the network side's: a session has one of its own, or shares one. Control messages are whole; the network side
//! gives them their DDP-SSN, takes the peer's, and ends a session whose order fits no legal pattern.

use core::net::SocketAddr;
use warpline_regmap::mailbox::Transport;

/// What happened to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<L> {
    /// A listener has accepted it. SCTP: the peer asks for a session.
    Accepted(L),
    /// The peer has accepted it. SCTP: there is an association, and the session can be asked for.
    Connected,
    /// SCTP: the peer has answered [`Network::initiate`].
    Answered(Answer),
    /// It could not be established. It can only be closed.
    Refused,
    /// Octets can be read; reported again after a read that returned 0.
    Readable,
    /// Octets can be written again, after a write that accepted fewer than it was given.
    Writable,
    /// [`Network::segment`] has another answer than the last time, for instance since the path has another MTU. Not before it
    /// was called for the first time.
    SegmentChanged,
    /// The peer's FIN came behind all octets that were read, or passed to the stream. SCTP: the peer's Terminate, and all in
    /// front of it.
    HalfClosed,
    /// It is lost: RST or time-out. SCTP: the association, or the session broke the rules. It can only be closed.
    Lost,
    /// Its stream was closed. It can only be finished and closed.
    Detached,
}

/// What the peer says to a session that the card has asked for (RFC 5043 §6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Accept.
    Accepted,
    /// Reject.
    Rejected,
    /// Terminate: the session ends before it was accepted.
    Terminated,
}

/// TCP sequence numbers of the next octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequences {
    /// Of the peer: the first one that was not read.
    pub receive: u32,
    /// Of the card: the first one that was not written.
    pub send: u32,
}

/// A listener or a connection could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The address is not one for this, or in use.
    Address,
    /// There are as many as there may be.
    Full,
    /// There is no such transport.
    Transport,
    /// The network side has failed.
    Failed,
}

/// A call could not be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionError {
    /// The connection is lost: RST or time-out.
    Lost,
    /// The network side has failed, or the connection is not in a state for the call.
    Failed,
}

/// TCP, and SCTP where there is one, outside the device. No call blocks.
///
/// Events of one connection come in the order of [`Event`]; none comes after [`close`](Self::close) or [`abort`](Self::abort).
pub trait Network {
    /// Names a connection until it is closed.
    type Connection: Copy + Eq;
    /// Names a listener until it is closed.
    type Listener: Copy + Eq;

    /// Listens at `address`, port 0 being any port. Returns the port.
    ///
    /// # Errors
    /// [`OpenError`].
    fn listen(
        &mut self,
        transport: Transport,
        address: SocketAddr,
    ) -> Result<(Self::Listener, u16), OpenError>;

    /// Closes a listener; connections that it has reported stay.
    fn unlisten(&mut self, listener: Self::Listener);

    /// Connects: [`Event::Connected`] or [`Event::Refused`] follows.
    ///
    /// # Errors
    /// [`OpenError`].
    fn connect(
        &mut self,
        transport: Transport,
        address: SocketAddr,
    ) -> Result<Self::Connection, OpenError>;

    /// The next event of any connection.
    fn next_event(&mut self) -> Option<(Self::Connection, Event<Self::Listener>)>;

    /// The peer's address.
    ///
    /// # Errors
    /// [`ConnectionError`].
    fn peer(&mut self, connection: Self::Connection) -> Result<SocketAddr, ConnectionError>;

    /// Asks the peer for a session: Initiate. [`Event::Answered`] follows, or [`Event::Lost`].
    ///
    /// # Errors
    /// [`ConnectionError`].
    fn initiate(
        &mut self,
        connection: Self::Connection,
        private_data: &[u8],
    ) -> Result<(), ConnectionError>;

    /// Answers the peer's Initiate by Accept or Reject.
    ///
    /// # Errors
    /// [`ConnectionError`].
    fn answer(
        &mut self,
        connection: Self::Connection,
        accepts: bool,
        private_data: &[u8],
    ) -> Result<(), ConnectionError>;

    /// Copies the private data of the peer's Initiate, or of its answer, to the front of `octets`, and returns its length, 512 at
    /// most.
    ///
    /// # Errors
    /// [`ConnectionError`].
    fn private_data(
        &mut self,
        connection: Self::Connection,
        octets: &mut [u8],
    ) -> Result<usize, ConnectionError>;

    /// Sequence numbers of the next octets of a TCP connection.
    ///
    /// # Errors
    /// [`ConnectionError`].
    fn sequences(&mut self, connection: Self::Connection) -> Result<Sequences, ConnectionError>;

    /// EMSS: octets of payload in a TCP segment that the card sends now; the maximum DDP segment of a session (RFC 5043 §5).
    /// [`Event::SegmentChanged`] reports another value.
    ///
    /// # Errors
    /// [`ConnectionError`].
    fn segment(&mut self, connection: Self::Connection) -> Result<u16, ConnectionError>;

    /// Reads octets of a connection that is not attached, as many as are there and fit. 0: none now, and an event follows.
    ///
    /// # Errors
    /// [`ConnectionError`].
    fn read(
        &mut self,
        connection: Self::Connection,
        octets: &mut [u8],
    ) -> Result<usize, ConnectionError>;

    /// Writes octets of a connection that is not attached, and returns how many were accepted. If not all,
    /// [`Event::Writable`] follows.
    ///
    /// # Errors
    /// [`ConnectionError`].
    fn write(
        &mut self,
        connection: Self::Connection,
        octets: &[u8],
    ) -> Result<usize, ConnectionError>;

    /// Passes a connection to a stream: all octets that were not read go there, the first one with sequence number `sequence`,
    /// and the stream's FPDUs are sent on it.
    ///
    /// # Errors
    /// [`ConnectionError`].
    fn attach(
        &mut self,
        connection: Self::Connection,
        stream: u8,
        sequence: u32,
    ) -> Result<(), ConnectionError>;

    /// Sends a FIN behind what was written; a session's Terminate.
    ///
    /// # Errors
    /// [`ConnectionError`].
    fn finish(&mut self, connection: Self::Connection) -> Result<(), ConnectionError>;

    /// Closes a connection: FIN, and RST to what the peer still sends. A session gets its Terminate, if it has had none, and what the
    /// peer still sends is dropped.
    fn close(&mut self, connection: Self::Connection);

    /// Closes a connection by RST. A session gets its Terminate at once, and an association without another session an ABORT.
    fn abort(&mut self, connection: Self::Connection);
}
