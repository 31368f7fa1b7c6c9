//! The control program: one bounded turn after the other.

use crate::arming::{self, Job, NO_COMMAND};
use crate::bus::Bus;
use crate::closing::{self, Leave, forget, leave};
use crate::entry::{Entry, Notes, State, Step};
use crate::former_run::FormerRun;
use crate::listeners::{Listener, Listeners};
use crate::machine::Machine;
use crate::network::{Event, Network, OpenError};
use crate::operation;
use crate::port::{Doorbell, Outcome, Port};
use crate::registers;
use crate::report;
use crate::session::Session;
use crate::settings;
use crate::start_up;
use crate::table::Table;
use warpline_regmap::mailbox::records::message;
use warpline_regmap::mailbox::{
    Accept, CardMessage, Connect, HOST_CONNECTIONS, HostMessage, Listen, ListenFailure, Refusal,
    Settings, Transport,
};
use warpline_wire::start::Responder;

/// Events of the network that one turn takes.
const EVENTS: usize = 64;

/// What the control program holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Connections, from their first event to the last message about them.
    pub connections: usize,
    /// Those among them of which no complete Request has arrived.
    pub half_open: usize,
    /// Those among them that have a stream.
    pub streams: usize,
    /// Listeners.
    pub listeners: usize,
}

/// The control program of a card, for `CONNECTIONS` connections, at most 4096, and `LISTENERS` listeners.
///
/// Call [`poll`](Self::poll) when the network has an event, when a message of the host has come or one of the card was taken,
/// and at the time that it returns. Nothing in it allocates, blocks or panics, and each call does a bounded amount of work.
pub struct Firmware<N: Network, const CONNECTIONS: usize, const LISTENERS: usize> {
    table: Table<N, CONNECTIONS>,
    listeners: Listeners<N, LISTENERS>,
    settings: Settings,
    port: Port,
    /// Streams of the device; not known before the first turn.
    streams: Option<u8>,
    /// What a former run of the program has left.
    former_run: FormerRun,
    /// Place of the connection that has armed a stream, or is at it, and whose host is not told: until then no other command is
    /// started, so that a next run of the program finds the stream (`former_run`).
    untold: Option<usize>,
    /// Place of the connection whose command runs, and what for.
    running: Option<(usize, Job)>,
    /// Places after those that had the last command, and the last message.
    next_command: usize,
    next_message: usize,
    /// Answer to the host's last message. The next one is taken when the host has it.
    answer: Option<CardMessage>,
}

impl<N: Network, const CONNECTIONS: usize, const LISTENERS: usize> Default
    for Firmware<N, CONNECTIONS, LISTENERS>
{
    fn default() -> Self {
        Self::new()
    }
}

impl<N: Network, const CONNECTIONS: usize, const LISTENERS: usize>
    Firmware<N, CONNECTIONS, LISTENERS>
{
    /// Without connections and listeners, with the default settings.
    ///
    /// The device need not be reset. A former run of the program may have stopped anywhere, as long as the network has ended the
    /// connections that it had: the first turns wait for the command that may run, and close the stream that was being set up.
    /// Other streams are the host's. Messages that wait in the mailbox are taken; what they name is unknown.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            table: Table::new(),
            listeners: Listeners::new(),
            settings: Settings::DEFAULT,
            port: Port::new(),
            streams: None,
            former_run: FormerRun::Unknown,
            untold: None,
            running: None,
            next_command: 0,
            next_message: 0,
            answer: None,
        }
    }

    /// Resets all connections, closes all listeners, forgets the settings: for the end of the program.
    /// [`poll`](Self::poll) does so by itself when the device was reset.
    pub fn reset(&mut self, network: &mut N) {
        for entry in self.table.iter_mut() {
            leave(entry, network, Leave::Abort);
        }
        while let Some(listener) = self.listeners.take_any() {
            network.unlisten(listener.handle);
        }
        for place in 0..CONNECTIONS {
            self.table.clear(place);
        }
        (self.settings, self.port) = (Settings::DEFAULT, Port::new());
        (self.streams, self.running, self.answer) = (None, None, None);
        (self.former_run, self.untold) = (FormerRun::Unknown, None);
    }

    /// What it holds now.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let half_open =
            |entry: &&Entry<N>| entry.state == State::Starting && entry.machine.is_half_open();
        Usage {
            connections: self.table.iter().count(),
            half_open: self.table.iter().filter(half_open).count(),
            streams: self
                .table
                .iter()
                .filter(|entry| entry.stream.is_some())
                .count(),
            listeners: self.listeners.count(),
        }
    }

    /// One turn at `now`, in milliseconds of a clock that does not run backwards. Returns when the next one is due even if
    /// nothing happens: `now` if there is more to do at once, `None` if there is nothing to wait for.
    pub fn poll(&mut self, bus: &mut impl Bus, network: &mut N, now: u64) -> Option<u64> {
        let mut doorbell = Port::doorbell(bus);
        if doorbell == Doorbell::Reset {
            Port::noticed(bus); // before the rest, so that another reset shows again
            self.reset(network);
            self.former_run = FormerRun::Nothing;
            doorbell = Port::doorbell(bus);
        }
        let streams = *self.streams.get_or_insert_with(|| registers::streams(bus));
        if !self.former_run.clear(bus, streams) {
            return Some(now.saturating_add(1));
        }
        let events = self.events(network, now);
        let message = doorbell == Doorbell::Message && self.message(bus, network, streams, now);
        self.ticks(bus, network, now);
        let busy = self.commands(bus, network, streams, now);
        let posted = self.post(bus);
        self.table.sweep();
        if events || message || posted {
            return Some(now);
        }
        let times = self.table.iter().filter_map(Entry::next_deadline);
        let command = busy.then(|| now.saturating_add(1));
        times.chain(command).min()
    }

    /// Takes events. Returns whether there may be more.
    fn events(&mut self, network: &mut N, now: u64) -> bool {
        for _ in 0..EVENTS {
            let Some((handle, event)) = network.next_event() else {
                return false;
            };
            match event {
                Event::Accepted(listener) => self.accepted(network, handle, listener, now),
                event => self.event(network, handle, &event, now),
            }
        }
        true
    }

    fn event(
        &mut self,
        network: &mut N,
        handle: N::Connection,
        event: &Event<N::Listener>,
        now: u64,
    ) {
        let Some(entry) = self.table.with_handle(handle) else {
            return;
        };
        let settings = &self.settings;
        match entry.state {
            State::Connecting | State::Starting => {
                start_up::event(entry, network, settings, event, now);
            }
            State::Arming(_) | State::Ready | State::Answering | State::Open => {
                operation::event(entry, network, settings, event, now);
            }
            State::Draining | State::Over => closing::event(entry, network, event),
        }
    }

    /// A listener has accepted a connection. One that is too much takes the place of the oldest whose Request is not here, so
    /// that silent peers do not keep others out.
    fn accepted(
        &mut self,
        network: &mut N,
        handle: N::Connection,
        listener: N::Listener,
        now: u64,
    ) {
        let transport = self.listeners.with_handle(listener);
        let transport = transport.map(|listener| listener.transport);
        let place = self.place_of_accepted(network, listener);
        let peer = network.peer(handle);
        let machine = match transport {
            Some(Transport::Sctp) => {
                let session = Session::passive(network, handle, &self.settings, now);
                session.map(Machine::Session)
            }
            _ => {
                let responder = Responder::new(settings::responder(&self.settings), now);
                Ok(Machine::Responder(responder))
            }
        };
        let (Some((place, listener)), Ok(peer), Ok(machine)) = (place, peer, machine) else {
            return network.abort(handle);
        };
        let number = self.table.number(place);
        let mut entry = Entry::new(number, handle, peer, machine, now);
        entry.listener = Some(listener);
        if transport == Some(Transport::Sctp) {
            entry.notes.insert(Notes::REQUESTED);
        }
        self.table.put(place, entry);
    }

    /// A place for a connection, and the number of its listener.
    fn place_of_accepted(
        &mut self,
        network: &mut N,
        listener: N::Listener,
    ) -> Option<(usize, u16)> {
        let listener = self.listeners.with_handle(listener)?;
        let (number, mut most) = (listener.number, listener.backlog.max(1));
        if self.settings.listener_connections > 0 {
            most = most.min(self.settings.listener_connections);
        }
        if self.table.of_listener(number) >= most.into() {
            self.evict(network, Some(number))?;
        }
        let place = self.place(network)?;
        Some((place, number))
    }

    /// A free place, at the cost of a connection that nobody knows if there is none.
    fn place(&mut self, network: &mut N) -> Option<usize> {
        match self.table.free() {
            Some(place) => Some(place),
            None => self.evict(network, None),
        }
    }

    fn evict(&mut self, network: &mut N, listener: Option<u16>) -> Option<usize> {
        let place = self.table.oldest_evictable(listener)?;
        if let Some(entry) = self.table.get_mut(place) {
            leave(entry, network, Leave::Abort);
        }
        self.table.clear(place);
        Some(place)
    }

    /// Takes the message of the host, if its last one is answered. Returns whether it did: the next may be there already.
    fn message(&mut self, bus: &mut impl Bus, network: &mut N, streams: u8, now: u64) -> bool {
        if self.answer.is_some() {
            return false;
        }
        let words = Port::take(bus);
        let outcome = match HostMessage::parse(&words) {
            Ok(HostMessage::Configure(settings)) => self.configure(settings),
            Ok(HostMessage::Listen(listen)) if !registers::has(bus, listen.transport) => {
                Err(Refusal::Transport)
            }
            Ok(HostMessage::Connect(connect)) if !registers::has(bus, connect.transport) => {
                Err(Refusal::Transport)
            }
            Ok(HostMessage::Listen(listen)) => self.listen(network, &listen),
            Ok(HostMessage::Unlisten { listener }) => self.unlisten(network, listener),
            Ok(HostMessage::Connect(connect)) => self.connect(network, &connect, now),
            Ok(HostMessage::Accept(accept)) => self.accept(network, &accept, streams),
            Ok(message) => self.of_connection(network, &message, now),
            Err(_) => Err(Refusal::Message),
        };
        if let Err(reason) = outcome {
            self.answer = Some(CardMessage::Refused {
                number: message::NUMBER.get(&words) as u16,
                kind: message::KIND.get(&words) as u8,
                reason,
            });
        }
        true
    }

    fn configure(&mut self, settings: Settings) -> Result<(), Refusal> {
        settings::check(&settings)?;
        self.settings = settings;
        self.answer = Some(CardMessage::Configured);
        Ok(())
    }

    fn listen(&mut self, network: &mut N, listen: &Listen) -> Result<(), Refusal> {
        let listener = listen.listener;
        if self.listeners.has(listener) {
            return Err(Refusal::Number);
        }
        let outcome = match self.listeners.is_full() {
            true => Err(OpenError::Full),
            false => network.listen(listen.transport, listen.address),
        };
        self.answer = Some(match outcome {
            Err(OpenError::Transport) => return Err(Refusal::Transport),
            Ok((handle, port)) => {
                self.listeners.put(Listener {
                    number: listener,
                    handle,
                    transport: listen.transport,
                    backlog: listen.backlog,
                });
                CardMessage::Listening { listener, port }
            }
            Err(error) => CardMessage::ListenFailed {
                listener,
                reason: match error {
                    OpenError::Address => ListenFailure::Address,
                    OpenError::Full => ListenFailure::Full,
                    OpenError::Transport | OpenError::Failed => ListenFailure::Network,
                },
            },
        });
        Ok(())
    }

    fn unlisten(&mut self, network: &mut N, number: u16) -> Result<(), Refusal> {
        let listener = self.listeners.take(number).ok_or(Refusal::Unknown)?;
        network.unlisten(listener.handle);
        for entry in self.table.iter_mut() {
            if entry.listener == Some(number) {
                forget(entry, network);
            }
        }
        Ok(())
    }

    fn connect(&mut self, network: &mut N, connect: &Connect, now: u64) -> Result<(), Refusal> {
        let number = connect.connection;
        if !HOST_CONNECTIONS.contains(&number) || self.table.named(number).is_some() {
            return Err(Refusal::Number);
        }
        self.check_domain(connect.stream.protection_domain)?;
        let machine = match connect.transport {
            Transport::Tcp => {
                Machine::Initiator(start_up::initiator(connect, &self.settings, now)?)
            }
            Transport::Sctp => {
                let session = Session::active(connect.private_data, &self.settings, now);
                Machine::Session(session)
            }
        };
        let place = self.place(network).ok_or(Refusal::Full)?;
        let handle = network
            .connect(connect.transport, connect.address)
            .map_err(|error| match error {
                OpenError::Address => Refusal::Address,
                OpenError::Full => Refusal::Full,
                OpenError::Transport => Refusal::Transport,
                OpenError::Failed => Refusal::Network,
            })?;
        let mut entry = Entry::new(number, handle, connect.address, machine, now);
        (entry.options, entry.counted) = (connect.stream, true);
        self.table.put(place, entry);
        Ok(())
    }

    fn check_domain(&self, domain: u16) -> Result<(), Refusal> {
        let most = usize::from(self.settings.domain_connections);
        if most > 0 && self.table.of_domain(domain) >= most {
            return Err(Refusal::Quota);
        }
        Ok(())
    }

    fn accept(&mut self, network: &mut N, accept: &Accept, streams: u8) -> Result<(), Refusal> {
        let number = accept.connection;
        if self.table.named(number).is_none() {
            return Err(Refusal::Unknown);
        }
        self.check_domain(accept.stream.protection_domain)?;
        // Once the Reply is made, there is no way back: it is better to know before.
        self.table.free_stream(0, streams).ok_or(Refusal::Full)?;
        let entry = self.table.named(number).ok_or(Refusal::Unknown)?;
        start_up::accept(entry, network, accept)
    }

    /// A message for a connection.
    fn of_connection(
        &mut self,
        network: &mut N,
        message: &HostMessage,
        now: u64,
    ) -> Result<(), Refusal> {
        let entry = self.table.named(message.number());
        let entry = entry.ok_or(Refusal::Unknown)?;
        let settings = &self.settings;
        match message {
            HostMessage::Reject(reject) => start_up::reject(entry, network, settings, reject, now),
            HostMessage::Proceed { .. } => operation::proceed(entry, network, settings, now),
            HostMessage::Disconnect { .. } => operation::disconnect(entry, now),
            HostMessage::Abort { .. } => operation::abort(entry, network),
            HostMessage::Release { .. } => {
                forget(entry, network);
                Ok(())
            }
            _ => Err(Refusal::Message),
        }
    }

    /// Serves the connections whose time has come.
    fn ticks(&mut self, bus: &mut impl Bus, network: &mut N, now: u64) {
        let settings = &self.settings;
        for entry in self.table.iter_mut() {
            if entry.next_deadline().is_none_or(|deadline| now < deadline) {
                continue;
            }
            match entry.state {
                State::Connecting | State::Starting => {
                    start_up::judge(entry, network, settings, now);
                }
                State::Draining => leave(entry, network, Leave::Abort),
                _ => operation::tick(entry, bus, network, settings, now),
            }
        }
    }

    /// Looks after the command that runs, and starts the next. Returns whether one runs.
    fn commands(&mut self, bus: &mut impl Bus, network: &mut N, streams: u8, now: u64) -> bool {
        // At the end of a command the next one is started; none waits for a turn of its own.
        for _ in 0..CONNECTIONS {
            if let Some((place, job)) = self.running {
                let outcome = Port::outcome(bus);
                if outcome == Outcome::Busy {
                    return true;
                }
                self.running = None;
                if let (Job::Stream, Some(entry)) = (job, self.table.get_mut(place)) {
                    arming::complete(entry, network, &self.settings, outcome, now);
                    if entry.stream.is_none() && !matches!(entry.state, State::Arming(_)) {
                        self.untold = None;
                    }
                }
            }
            if !self.start_command(bus, network, streams, now) {
                return false;
            }
        }
        true
    }

    /// Starts the next command. Returns whether there was an entry to be served.
    fn start_command(
        &mut self,
        bus: &mut impl Bus,
        network: &mut N,
        streams: u8,
        now: u64,
    ) -> bool {
        let untold = self.untold;
        let jobs = |(place, entry): &(usize, &Entry<N>)| match untold {
            None => arming::has_job(entry),
            Some(untold) => *place == untold && arming::has_stream_job(entry),
        };
        let Some((place, entry)) = self.table.around(self.next_command).find(jobs) else {
            return false;
        };
        let first = match entry.state {
            State::Arming(Step::Stream(first)) => first,
            _ => 0,
        };
        let free = self.table.free_stream(first, streams);
        let Some(entry) = self.table.get_mut(place) else {
            return false;
        };
        let had_stream = entry.stream.is_some();
        let job = arming::start(entry, bus, network, &self.settings, free, now);
        self.running = job.map(|job| (place, job));
        // The steps of one connection follow each other.
        let arms = matches!(entry.state, State::Arming(_)) && job.is_some();
        self.untold = arms.then_some(place);
        if !arms {
            self.next_command = place.saturating_add(1);
        }
        if untold.is_some() && job.is_none() && had_stream {
            self.pass_on(bus, place); // the host has closed a stream that it was not told of
        }
        true
    }

    /// The stream that was set up is no longer the program's: the registers of commands are about no stream any more.
    fn pass_on(&mut self, bus: &mut impl Bus, place: usize) {
        Port::start(bus, NO_COMMAND, &[]);
        (self.running, self.untold) = (Some((place, Job::Other)), None);
    }

    /// Sends a message to the host, if it has read the last one. Returns whether there was one: a quick host reads it at once.
    fn post(&mut self, bus: &mut impl Bus) -> bool {
        let waits =
            |entry: &Entry<N>| !entry.notes.is_empty() && !matches!(entry.state, State::Arming(_));
        if self.answer.is_none() && !self.table.iter().any(waits) || !Port::is_free(bus) {
            return false;
        }
        if let Some(answer) = self.answer.take() {
            self.port.post(bus, &answer.emit());
            return true;
        }
        let found = self
            .table
            .around(self.next_message)
            .find(|(_, entry)| waits(entry));
        let Some(place) = found.map(|(place, _)| place) else {
            return false;
        };
        self.next_message = place.saturating_add(1);
        if let Some(entry) = self.table.get_mut(place)
            && let Some(note) = entry.notes.first()
        {
            self.port.post(bus, &report::message(entry, note).emit());
            entry.notes.remove(note);
            entry.known |= note == Notes::REQUESTED;
            // Nothing follows: the number means nothing any more.
            let last = note == Notes::FAILED
                || note == Notes::REJECTED
                || note == Notes::CLOSED && entry.stream.is_none();
            entry.forgotten |= last;
            if note == Notes::ARMED && self.untold == Some(place) {
                self.pass_on(bus, place);
            }
        }
        true
    }
}
