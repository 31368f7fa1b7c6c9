//! A handle of a simulated card.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use warpline_design::{TOP, code, design};
use warpline_hdl::Config;
use warpline_regmap::register::interrupt;
use warpline_verilate::{Build, Library, Trace};

use crate::clock::Clock;
use crate::error::Error;
use crate::exclusive::{Caller, Exclusive};
use crate::host::HostMemory;
use crate::network::inlets::{Arrived, Inlet, Token};
#[cfg(feature = "sctp")]
use crate::network::sctp::chunks::{Chunk, State};
use crate::network::segments::Tail;
use crate::observe::observation::Observation;
use crate::options::{BackPressure, CardOptions};
use crate::seat::Seat;
use crate::simulation::Simulation;
use crate::stream_events::StreamEvent;
use crate::timing::Timing;

/// Cycles without progress after which [`Card::run_until_idle`] gives up.
const STUCK_CYCLES: u64 = 200_000;
/// Cycles per waiting octet and per segment after which it gives up in spite of progress: more than ten times what the
/// slowest host needs for the smallest FPDUs.
const OCTET_CYCLES: u64 = 200;
const SEGMENT_CYCLES: u64 = 1000;

/// What distinguishes models: configuration, traces, coverage.
type Key = (Config, bool, bool);

/// The model of a device. Generating a device takes longer than opening its model, so models are kept.
fn library(config: &Config, options: &CardOptions) -> Result<Library, Error> {
    static LIBRARIES: LazyLock<Mutex<HashMap<Key, Library>>> = LazyLock::new(Mutex::default);
    let mut libraries = LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(
        match libraries.entry((*config, options.trace, options.coverage)) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(new) => {
                let library = build(config.width, options, design(config)?.files()).build()?;
                new.insert(library).clone()
            }
        },
    )
}

/// Width whose toggles are counted. It halves a model's speed, so only one width is counted.
const TOGGLES: usize = 64;

fn build(
    width: usize,
    options: &CardOptions,
    sources: impl IntoIterator<Item = (String, String)>,
) -> Build {
    let mut build = Build::new(TOP).comparable();
    for (name, text) in sources {
        // A better comment builds no model anew; coverage names lines of the text that people read.
        let text = if options.coverage { text } else { code(&text) };
        build = build.source(name, text);
    }
    if options.trace {
        build = build.trace(Trace::Fst).unoptimised(); // writing takes longer than simulating
    }
    if options.coverage {
        build = build.line_coverage();
        if width == TOGGLES {
            build = build.toggle_coverage();
        }
    }
    build
}

/// A simulated card: clones are handles of the same one.
///
/// Time advances only during register accesses and the calls that run cycles. So a run with the same calls is the same run.
/// [`run_freely`](Self::run_freely) lets time advance by itself, as on a real card.
#[derive(Clone)]
pub struct Card {
    name: Arc<str>,
    streams: usize,
    simulation: Arc<Exclusive>,
    seat: Arc<Seat>,
}

impl Card {
    /// Writes the device that `config` describes, builds its model unless that was done before, and resets it.
    ///
    /// # Errors
    /// [`Error::Design`], [`Error::Model`], [`Error::Violation`].
    pub fn open(config: &Config, options: CardOptions) -> Result<Self, Error> {
        let library = library(config, &options)?;
        Self::open_library(config, options, &library)
    }

    /// As [`open`](Self::open), with other sources, whose top module has the device's name and ports.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_sources(
        config: &Config,
        options: CardOptions,
        sources: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Error> {
        let library = build(config.width, &options, sources).build()?;
        Self::open_library(config, options, &library)
    }

    fn open_library(
        config: &Config,
        options: CardOptions,
        library: &Library,
    ) -> Result<Self, Error> {
        let model = library.open(options.seed as u32)?;
        Ok(Self {
            name: format!("simulated, {} bits", config.width).into(),
            streams: config.streams,
            simulation: Arc::new(Exclusive::new(Simulation::new(model, config, &options)?)),
            seat: Arc::default(),
        })
    }

    /// Name of the card in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the register at `offset`, a multiple of 4 below `register::SPACE`.
    ///
    /// # Errors
    /// [`Error::Offset`], [`Error::NoAnswer`], [`Error::Violation`], [`Error::Model`].
    pub fn read_register(&self, offset: u32) -> Result<u32, Error> {
        self.simulation().read(offset)
    }

    /// Writes the register at `offset`, a multiple of 4 below `register::SPACE`.
    ///
    /// # Errors
    /// As [`read_register`](Self::read_register).
    pub fn write_register(&self, offset: u32, value: u32) -> Result<(), Error> {
        self.write_octets(offset, value, 0xF)
    }

    /// Writes those octets of the register at `offset` whose bits are set in `strobes`.
    ///
    /// # Errors
    /// As [`read_register`](Self::read_register).
    pub fn write_octets(&self, offset: u32, value: u32, strobes: u8) -> Result<(), Error> {
        self.simulation().write(offset, value, strobes)
    }

    /// From now on, `messages` is called with the vector of each interrupt message. It is called while a cycle runs and must
    /// not call the card.
    pub fn set_messages(&self, messages: Box<dyn FnMut(usize) + Send>) {
        self.simulation().messages = messages;
    }

    /// From now on, `events` is called when a host arms, closes or posts to a stream. It is called while a register is accessed
    /// and must not call the card.
    pub fn watch_streams(&self, events: Box<dyn FnMut(StreamEvent) + Send>) {
        self.simulation().events = events;
    }

    /// Lets the card reach `memory`.
    ///
    /// # Errors
    /// [`Error::Map`] when the range is invalid or overlaps a map.
    pub fn map(&self, memory: HostMemory) -> Result<(), Error> {
        self.simulation().host.map(memory)
    }

    /// Ends all maps that lie in a range of bus addresses, and returns their total length in octets. When it returns, writes that the bus
    /// has accepted are in memory; later ones are refused.
    ///
    /// # Errors
    /// [`Error::Map`] when the range cuts a map in two; [`Error::NotIdle`], [`Error::Violation`] and [`Error::Model`] when
    /// the card does not finish its writes. Then all maps stay.
    pub fn unmap(&self, iova: u64, length: u64) -> Result<u64, Error> {
        let mut simulation = self.simulation();
        let start = simulation.cycle;
        while simulation.writes.touches(iova, length) {
            simulation.cycle()?;
            let cycles = simulation.cycle - start;
            if cycles > STUCK_CYCLES {
                return Err(Error::NotIdle { cycles });
            }
        }
        simulation.host.unmap(iova, length)
    }

    /// Ends all maps: writes under way are refused.
    pub fn unmap_all(&self) {
        self.simulation().host.unmap_all();
    }

    /// Bus address and octets of all maps, ascending.
    #[must_use]
    pub fn mapped(&self) -> Vec<(u64, u64)> {
        self.simulation().host.ranges()
    }

    /// Enables bus mastering. Without it the card's writes are refused. It is enabled at first; a host that uses the card as a
    /// PCI function controls it.
    pub fn set_bus_master(&self, master: bool) {
        self.simulation().host.master = master;
    }

    /// Brings the device to its state after power-up, and clears the network side. When it returns, no access to host memory
    /// is under way. Maps stay.
    ///
    /// # Errors
    /// [`Error::Violation`], [`Error::Model`].
    pub fn reset(&self) -> Result<(), Error> {
        self.simulation().reset()
    }

    /// Lets time advance by itself until the returned clock is dropped.
    ///
    /// # Errors
    /// [`Error::Thread`].
    pub fn run_freely(&self) -> Result<Clock, Error> {
        Clock::start(Arc::clone(&self.simulation))
    }

    /// A TCP segment of `stream` arrives: `octets` from sequence number `sequence` on. Segments may come in any order, repeat
    /// and overlap. What the device cannot accept yet waits and is sent again, as TCP does.
    ///
    /// # Errors
    /// [`Error::NoStream`], [`Error::SegmentLength`].
    pub fn feed(&self, stream: u8, sequence: u32, octets: impl Into<Vec<u8>>) -> Result<(), Error> {
        let octets = octets.into();
        check_length(&octets)?;
        self.arrive(stream, sequence, octets, Tail::More, false)
    }

    /// As [`feed`](Self::feed), but the segment is sent to the device once, even if its stream is not armed or has no room for it.
    ///
    /// # Errors
    /// As [`feed`](Self::feed).
    pub fn inject(
        &self,
        stream: u8,
        sequence: u32,
        octets: impl Into<Vec<u8>>,
    ) -> Result<(), Error> {
        let octets = octets.into();
        check_length(&octets)?;
        self.arrive(stream, sequence, octets, Tail::More, true)
    }

    /// As [`feed`](Self::feed), with the peer's FIN after the last octet. `octets` may be empty: `sequence` is then the FIN's.
    ///
    /// # Errors
    /// As [`feed`](Self::feed).
    pub fn feed_fin(
        &self,
        stream: u8,
        sequence: u32,
        octets: impl Into<Vec<u8>>,
    ) -> Result<(), Error> {
        let octets = octets.into();
        if !octets.is_empty() {
            check_length(&octets)?;
        }
        self.arrive(stream, sequence, octets, Tail::Fin, false)
    }

    /// The connection of `stream` is lost: RST, time-out, or another end without FIN. The device is told once, after the
    /// segments that were fed before and fit its window.
    ///
    /// # Errors
    /// [`Error::NoStream`].
    pub fn abort(&self, stream: u8) -> Result<(), Error> {
        self.arrive(stream, 0, Vec::new(), Tail::Abort, true)
    }

    fn arrive(
        &self,
        stream: u8,
        sequence: u32,
        octets: Vec<u8>,
        tail: Tail,
        once: bool,
    ) -> Result<(), Error> {
        let streams = self.streams;
        if usize::from(stream) >= streams {
            return Err(Error::NoStream { stream, streams });
        }
        let network = &mut self.simulation().network;
        network.feed(stream.into(), sequence, octets, tail, once);
        Ok(())
    }

    /// Octets fed to `stream` that the device has not accepted yet.
    ///
    /// # Errors
    /// [`Error::NoStream`].
    pub fn untaken(&self, stream: u8) -> Result<usize, Error> {
        let streams = self.streams;
        if usize::from(stream) >= streams {
            return Err(Error::NoStream { stream, streams });
        }
        Ok(self.simulation().network.untaken(stream.into()))
    }

    /// Runs `cycles` cycles.
    ///
    /// # Errors
    /// [`Error::Violation`], [`Error::Model`].
    pub fn step(&self, cycles: u64) -> Result<(), Error> {
        let mut simulation = self.simulation();
        (0..cycles).try_for_each(|_| simulation.cycle())
    }

    /// Runs until nothing changes any more: each segment is accepted, dropped for good or held back by the device's window,
    /// and all writes are answered.
    ///
    /// # Errors
    /// [`Error::NotIdle`] when 200,000 cycles passed without progress, or progress does not end;
    /// [`Error::Violation`], [`Error::Model`].
    pub fn run_until_idle(&self) -> Result<(), Error> {
        let mut simulation = self.simulation();
        let start = simulation.cycle;
        let (segments, octets) = simulation.network.waiting();
        let (delayed, delayed_octets) = simulation.inlets.waiting();
        let (segments, octets) = (segments + delayed, octets + delayed_octets);
        let octets = octets + simulation.resident_octets();
        let most = STUCK_CYCLES + SEGMENT_CYCLES * segments + OCTET_CYCLES * octets;
        while !simulation.is_idle() && !simulation.is_at_rest()? {
            simulation.cycle()?;
            let since = simulation.last_progress().max(start);
            let cycles = simulation.cycle.saturating_sub(since); // a stream's start counts before its cycle
            if cycles > STUCK_CYCLES {
                return Err(Error::NotIdle { cycles });
            }
            if simulation.cycle - start > most {
                return Err(Error::NotIdle { cycles: most });
            }
        }
        Ok(())
    }

    /// Whether nothing changes any more: each segment is accepted, dropped for good or held back by the device's window, and
    /// all writes are answered.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.simulation().is_idle()
    }

    /// When data entered and left the card.
    #[must_use]
    pub fn timing(&self) -> Timing {
        self.simulation().timing()
    }

    /// Clears the times, so that they are taken anew.
    pub fn clear_timing(&self) {
        self.simulation().clear_timing();
    }

    /// Number of write bursts and of read beats that were answered with an error, because they left the maps.
    #[must_use]
    pub fn bus_errors(&self) -> u64 {
        let simulation = self.simulation();
        simulation.writes.refused + simulation.reads.refused
    }

    /// Octets that TCP has asked a transmit ring for a second time, and found the same ([`CardOptions::resend`]).
    #[must_use]
    pub fn resent_octets(&self) -> u64 {
        let simulation = self.simulation();
        simulation.ring.as_ref().map_or(0, |(ring, _)| ring.resent)
    }

    /// Octets that left a transmit ring behind the close of their stream: TCP had asked for them before.
    #[must_use]
    pub fn stale_octets(&self) -> u64 {
        let simulation = self.simulation();
        simulation.ring.as_ref().map_or(0, |(ring, _)| ring.stale)
    }

    /// Number of interrupt messages sent so far, by vector (`warpline_regmap::register::interrupt`); not those of the mailbox.
    #[must_use]
    pub fn messages(&self) -> [u64; interrupt::COUNT] {
        let counts = self.simulation().message_count;
        std::array::from_fn(|vector| counts[vector])
    }

    /// From now on, writes that touch these bus addresses are answered with an error though they are mapped.
    pub fn fail_writes(&self, bus_addresses: Range<u64>) {
        self.simulation().host.faulty = bus_addresses;
    }

    /// From now on, reads that touch these bus addresses are answered with an error though they are mapped.
    pub fn fail_reads(&self, bus_addresses: Range<u64>) {
        self.simulation().host.faulty_reads = bus_addresses;
    }

    /// Sets the host's back-pressure.
    pub fn set_back_pressure(&self, back_pressure: BackPressure) {
        self.simulation().set_back_pressure(back_pressure);
    }

    /// The card at this moment, for a view of it: registers, what hosts have done to streams, and what TCP has accepted. Nothing
    /// that a host sees changes; time advances by the cycles of some dozens of register reads.
    ///
    /// # Errors
    /// [`Error::NoAnswer`], [`Error::Violation`], [`Error::Model`].
    pub fn observe(&self) -> Result<Observation, Error> {
        self.simulation().observe()
    }

    /// Starts to record all signals to an FST file.
    ///
    /// # Errors
    /// [`Error::Model`] when the card was opened without `trace`, or the file cannot be created.
    pub fn trace_open(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        Ok(self.simulation().model.trace_open(path)?)
    }

    /// Completes the file.
    ///
    /// # Errors
    /// [`Error::Model`] when it could not be written.
    pub fn trace_close(&self) -> Result<(), Error> {
        Ok(self.simulation().model.trace_close()?)
    }

    /// Writes the coverage so far, in Verilator's format.
    ///
    /// # Errors
    /// [`Error::Model`] when the card was opened without `coverage`, or the file cannot be written.
    pub fn coverage_write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        Ok(self.simulation().model.coverage_write(path)?)
    }

    /// Connects `inlet` to `stream`; `None` when the stream has one.
    pub(crate) fn attach(&self, stream: u8, inlet: Inlet) -> Result<Option<Token>, Error> {
        let streams = self.streams;
        if usize::from(stream) >= streams {
            return Err(Error::NoStream { stream, streams });
        }
        Ok(self.simulation().inlets.attach(stream, inlet))
    }

    /// Octets that an inlet has room for, `None` when it is gone. One without room wakes its owner when it has room again.
    pub(crate) fn room(&self, token: Token) -> Option<usize> {
        let simulation = &mut *self.simulation();
        simulation.inlets.room(token, &simulation.network)
    }

    /// `octets`, or the peer's FIN, have arrived at an inlet. Without effect when it is gone.
    pub(crate) fn arrived(&self, token: Token, arrived: Arrived<'_>) {
        let simulation = &mut *self.simulation();
        let (cycle, network) = (simulation.cycle, &mut simulation.network);
        simulation.inlets.arrived(token, arrived, cycle, network);
    }

    /// Removes an inlet; what it has passed on stays.
    pub(crate) fn detach(&self, token: Token) {
        self.simulation().inlets.detach(token);
    }

    /// Connects a session of SCTP to `stream`; `None` when the stream has a session, or an inlet.
    #[cfg(feature = "sctp")]
    pub(crate) fn attach_session(&self, stream: u8, inlet: Inlet) -> Result<Option<Token>, Error> {
        let token = self.attach(stream, inlet)?;
        if let Some(token) = token
            && let Some(chunks) = &mut self.simulation().chunks
        {
            chunks.open(stream, token.number());
        }
        Ok(token)
    }

    /// Whether the device takes chunks of SCTP.
    #[cfg(feature = "sctp")]
    pub(crate) fn takes_chunks(&self) -> bool {
        self.simulation().chunks.is_some()
    }

    /// A chunk of an attached session has arrived. Without effect when the session is detached.
    #[cfg(feature = "sctp")]
    pub(crate) fn pass_chunk(&self, token: Token, chunk: Chunk) {
        if let Some(chunks) = &mut self.simulation().chunks {
            chunks.pass(token.stream(), token.number(), chunk);
        }
    }

    /// Whether the chunks of a session go on; `None` when it is detached.
    #[cfg(feature = "sctp")]
    pub(crate) fn chunks(&self, token: Token) -> Option<State> {
        let simulation = &mut *self.simulation();
        let attached = simulation.inlets.has(token);
        let chunks = simulation.chunks.as_mut().filter(|_| attached)?;
        chunks.state(token.stream(), token.number())
    }

    /// Chunks of SCTP that the device was given a second time, or more often, since it had no room for them.
    #[must_use]
    pub fn chunks_again(&self) -> u64 {
        let simulation = self.simulation();
        simulation.chunks.as_ref().map_or(0, |chunks| chunks.again)
    }

    /// From now on, `watcher` is called when the control program has something to do. It is called while a register is
    /// accessed and must not call the card.
    pub(crate) fn watch_control(&self, watcher: Box<dyn FnMut() + Send>) -> Result<(), Error> {
        let mut simulation = self.simulation();
        if !simulation.has_mailbox() {
            return Err(Error::NoControlPort);
        }
        simulation.control = watcher;
        Ok(())
    }

    pub(crate) fn control_read(&self, offset: u32) -> Result<u32, Error> {
        self.simulation().control_read(offset)
    }

    pub(crate) fn control_write(&self, offset: u32, value: u32) -> Result<(), Error> {
        self.simulation().control_write(offset, value)
    }

    /// Passes octets that a stream's connection is to send to `write`, which returns how many it has accepted. False when some
    /// are left.
    pub(crate) fn send<E>(
        &self,
        stream: u8,
        token: Token,
        mut write: impl FnMut(&[u8]) -> Result<usize, E>,
    ) -> Result<bool, E> {
        let simulation = &mut *self.simulation();
        if !simulation.inlets.has(token) {
            return Ok(true);
        }
        while let Some(octets) = simulation.octets_to_send(stream) {
            let count = write(octets)?;
            let whole = count == octets.len();
            simulation.accept_sent(stream, count);
            if !whole {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The seat of its only host.
    pub(crate) fn seat(&self) -> &Arc<Seat> {
        &self.seat
    }

    fn simulation(&self) -> Caller<'_> {
        self.simulation.call()
    }
}

/// Checks the length of a segment.
fn check_length(octets: &[u8]) -> Result<(), Error> {
    match octets.len() {
        1..=65535 => Ok(()),
        length => Err(Error::SegmentLength { length }),
    }
}
