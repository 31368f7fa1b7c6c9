//! One clock domain: the model, and what its ports connect to.
//!
//! ```text
//!  a cycle:   offers ─► inputs ─► clock low, settle ─► sample outputs, transfers ─► clock high
//! ```
//!
//! An offer depends on earlier cycles only, so that no combinational loop runs through the model.

use fastrand::Rng;
use warpline_hdl::Config;
use warpline_hdl::parts::axi;
use warpline_regmap::layout::completion;
use warpline_regmap::pci;
use warpline_regmap::register::{self, interrupt};
use warpline_verilate::{Model, Port};

use crate::axi_lite_master::{Lite, Write};
use crate::error::{Error, Rule, Violation};
use crate::host::Host;
use crate::network::inlets::Inlets;
use crate::network::sctp::chunks::{self, Chunks};
use crate::network::segments::{Segments, Tail};
use crate::observe::activity::Activity;
use crate::options::{BackPressure, CardOptions};
use crate::ports::{Ports, TransmitPorts, set_octets};
use crate::reads::{self, Reads};
use crate::stream_events::{Follow, Followed, StreamEvent};
use crate::timing::Timing;
use crate::transmit::Transmit;
use crate::transmit::commands::Side;
use crate::transmit::ring::{self, Ring};
use crate::watch::Watch;
use crate::writes::{Wires, Writes};

/// Cycles for which reset is held.
const RESET_CYCLES: u64 = 16;
/// Cycles of reset after which no channel may be valid: the first rising edge that samples it ends every offer.
const RESET_REACTION: u64 = 1;
/// Time limit of a register access in cycles. Registers answer while a command runs.
const ACCESS_CYCLES: u64 = 10_000;
/// Cycles without any transfer after which the device is idle, except for octets in its rings.
const QUIET: u64 = 512;
/// Cycles without any transfer after which the device's state is compared for the first time, a power of two.
const REST: u64 = 64;
/// Most cycles of a round of the device at rest: it polls its streams in turn.
const ROUND: u64 = 64;
/// Units of simulated time in half a cycle.
const HALF_CYCLE: u64 = 5;

const WINDOW: &str = "m_axis_window";
const MSIX: &str = "m_axis_msix";

/// The card's state.
pub(crate) struct Simulation {
    pub model: Model,
    ports: Ports,
    config: Config,
    pressure: BackPressure,
    rng: Rng,
    pub cycle: u64,
    pub host: Host,
    pub network: Segments,
    pub inlets: Inlets,
    /// Chunks of SCTP, of a device that takes them.
    pub chunks: Option<Chunks>,
    pub writes: Writes,
    pub reads: Reads,
    /// The host's register port.
    lite: Lite,
    /// The control program's, of a device that has one.
    control_lite: Option<Lite>,
    window: Watch,
    msix: Watch,
    /// The rule that ended the run.
    broken: Option<Violation>,
    /// Cycle of the last register write.
    last_write: u64,
    /// Cycle of the last interrupt message.
    last_message: u64,
    /// Receives the device's interrupt messages, by vector.
    pub messages: Box<dyn FnMut(usize) + Send>,
    /// Messages accepted so far, by vector.
    pub message_count: [u64; pci::VECTORS],
    /// Most octets in the rings since the card was last idle.
    resident: u64,
    /// Mailbox, commands of both sides, and send queues, in software, of a card that has them so.
    pub transmit: Option<Transmit>,
    /// TCP's side of the transmit ring, of a device that has one, and the ring's ports.
    pub ring: Option<(Ring, TransmitPorts)>,
    /// Is called when the control program has something to do: the host has passed a message or taken one, or closed a
    /// stream, or the device was reset.
    pub control: Box<dyn FnMut() + Send>,
    /// Follow the commands to streams, of the host and of the control program.
    commands: [Follow; 2],
    /// What hosts have done, for who observes the card.
    pub activity: Activity,
    pub events: Box<dyn FnMut(StreamEvent) + Send>,
}

impl Simulation {
    pub fn new(model: Model, config: &Config, options: &CardOptions) -> Result<Self, Error> {
        let octets = config.octets();
        let ring = match config.transmit {
            true => Some((Ring::new(config, options), TransmitPorts::find(&model, "")?)),
            false => None,
        };
        let control_lite = match config.transmit {
            true => Some(Lite::control(&model)?),
            false => None,
        };
        let chunks = match config.sctp {
            Some(_) => Some(Chunks::new(&model, config.streams, octets, options.idle)?),
            None => None,
        };
        let mut simulation = Self {
            ports: Ports::find(&model, "")?,
            lite: Lite::host(&model)?,
            control_lite,
            model,
            config: *config,
            pressure: options.back_pressure.clone(),
            rng: Rng::with_seed(options.seed),
            cycle: 0,
            host: Host::default(),
            network: Segments::new(config.streams, octets, options.idle),
            inlets: Inlets::new(config.streams),
            chunks,
            writes: Writes::new(octets),
            reads: Reads::new(config),
            window: Watch::default(),
            msix: Watch::default(),
            broken: None,
            last_write: 0,
            last_message: 0,
            messages: Box::new(|_| {}),
            message_count: [0; pci::VECTORS],
            resident: 0,
            transmit: (options.transmit && !config.transmit).then(|| Transmit::new(config)),
            ring,
            control: Box::new(|| {}),
            commands: Default::default(),
            activity: Activity::new(config),
            events: Box::new(|_| {}),
        };
        simulation.reset()?;
        Ok(simulation)
    }

    /// Resets device and network; maps stay.
    pub fn reset(&mut self) -> Result<(), Error> {
        self.network.clear();
        self.inlets.clear();
        if let Some(chunks) = &mut self.chunks {
            chunks.clear(&mut self.model);
        }
        self.writes.clear();
        self.reads.clear();
        self.window.clear();
        self.msix.clear();
        self.lite.clear(&mut self.model);
        if let Some(lite) = &mut self.control_lite {
            lite.clear(&mut self.model);
        }
        self.commands = Default::default();
        self.activity.reset();
        if let Some(transmit) = &mut self.transmit {
            *transmit = Transmit::new(&self.config);
        }
        if self.has_mailbox() {
            (self.control)();
        }
        if let Some((ring, ports)) = &mut self.ring {
            ring.clear();
            self.model.set(ports.s_axis_send_tvalid, 0);
        }
        for input in [
            self.ports.aresetn,
            self.ports.s_axis_segment_tvalid,
            self.ports.m_axi_bvalid,
            self.ports.m_axi_rvalid,
        ] {
            self.model.set(input, 0);
        }
        for passed in 0..RESET_CYCLES {
            self.model.set(self.ports.aclk, 0);
            self.model.eval()?;
            self.model.advance(HALF_CYCLE);
            if passed >= RESET_REACTION {
                self.check_reset()?;
            }
            self.edge()?;
        }
        self.model.set(self.ports.aresetn, 1);
        Ok(())
    }

    fn check_reset(&mut self) -> Result<(), Error> {
        let ports = &self.ports;
        let transmit = self.ring.as_ref().map(|(_, ports)| {
            [
                (ports.m_axis_transmit_tvalid, ring::TRANSMIT),
                (ports.m_axis_status_tvalid, ring::STATUS),
            ]
        });
        let all = [
            (ports.m_axi_awvalid, "m_axi_aw"),
            (ports.m_axi_wvalid, "m_axi_w"),
            (ports.m_axi_arvalid, "m_axi_ar"),
            (ports.m_axis_window_tvalid, WINDOW),
            (ports.m_axis_msix_tvalid, MSIX),
        ];
        let chunks = self.chunks.as_ref().map(|all| (all.valid(), chunks::CHUNK));
        let all = all.into_iter().chain(transmit.into_iter().flatten());
        for (port, name) in all.chain(chunks) {
            if self.model.get(port) == 1 {
                return Err(self.violation(name, Rule::ValidInReset).into());
            }
        }
        let lites = [Some(&self.lite), self.control_lite.as_ref()];
        let answering = |lite: &Lite| lite.answering(&self.model);
        let answering = lites.into_iter().flatten().find_map(answering);
        if let Some(name) = answering {
            return Err(self.violation(name, Rule::ValidInReset).into());
        }
        Ok(())
    }

    fn violation(&mut self, port: &'static str, rule: Rule) -> Violation {
        let cycle = self.cycle;
        *self.broken.insert(Violation { cycle, port, rule })
    }

    /// One cycle.
    pub fn cycle(&mut self) -> Result<(), Error> {
        if let Some(broken) = self.broken {
            return Err(broken.into());
        }
        self.drive();
        self.model.set(self.ports.aclk, 0);
        self.model.eval()?;
        self.model.advance(HALF_CYCLE);
        if let Err(violation) = self.look() {
            self.broken = Some(violation);
            return Err(violation.into());
        }
        self.transmit();
        self.edge()
    }

    /// A cycle of the send queues in software; connections that have octets to send.
    fn transmit(&mut self) {
        if let Some((ring, _)) = &mut self.ring {
            while let Some(stream) = ring.outgoing.pop_front() {
                self.inlets.wake(stream.into());
            }
        }
        let Some(Transmit { software, .. }) = &mut self.transmit else {
            return;
        };
        software.advance(self.cycle, &self.host);
        while let Some(stream) = software.outgoing.pop_front() {
            self.inlets.wake(stream.into());
        }
        let completions = &mut software.completions;
        if std::mem::take(&mut completions.due) {
            let interrupt = 1 << interrupt::COMPLETION;
            self.lite
                .own
                .push_back((register::INTERRUPT_TEST.offset, interrupt));
        }
        if std::mem::take(&mut completions.fault) {
            let interrupt = 1 << interrupt::FAULT;
            self.lite
                .own
                .push_back((register::INTERRUPT_TEST.offset, interrupt));
        }
    }

    fn edge(&mut self) -> Result<(), Error> {
        self.model.set(self.ports.aclk, 1);
        self.model.eval()?;
        self.model.advance(HALF_CYCLE);
        self.cycle += 1;
        Ok(())
    }

    fn drive(&mut self) {
        let (model, ports, rng) = (&mut self.model, &self.ports, &mut self.rng);

        self.inlets.advance(self.cycle, &mut self.network);
        let beat = self.network.offer(self.cycle, rng);
        model.set(ports.s_axis_segment_tvalid, beat.is_some().into());
        if let Some(beat) = beat {
            set_octets(model, ports.s_axis_segment_tdata, &beat.octets);
            model.set(ports.s_axis_segment_tkeep, beat.keep);
            model.set(ports.s_axis_segment_tlast, beat.last.into());
            model.set(ports.s_axis_segment_tdest, beat.stream.into());
            let marks = match beat.tail {
                Tail::More => 0,
                Tail::Fin => 1 << axi::USER_FIN,
                Tail::Abort => 1 << axi::USER_ABORT,
            };
            let user = u64::from(beat.sequence) | marks;
            model.set(ports.s_axis_segment_tuser, user);
        }

        if let Some(chunks) = &mut self.chunks {
            chunks.drive(model, self.cycle, &self.pressure, rng);
        }

        let transmit = self.transmit.as_mut();
        let completions = transmit.map(|transmit| &mut transmit.software.completions);
        let offer = self
            .writes
            .offer(self.cycle, &self.pressure, rng, &self.host, completions);
        model.set(ports.m_axi_awready, offer.awready.into());
        model.set(ports.m_axi_wready, offer.wready.into());
        model.set(ports.m_axi_bvalid, offer.bvalid.into());
        model.set(ports.m_axi_bresp, offer.bresp);

        let offer = self
            .reads
            .offer(self.cycle, &self.pressure, rng, &self.host);
        model.set(ports.m_axi_arready, offer.arready.into());
        model.set(ports.m_axi_rvalid, offer.rvalid.into());
        if offer.rvalid {
            set_octets(model, ports.m_axi_rdata, &self.reads.data);
            model.set(ports.m_axi_rresp, offer.rresp);
            model.set(ports.m_axi_rlast, offer.rlast.into());
        }

        self.lite.drive(model, &self.pressure, rng);
        if let Some(lite) = &mut self.control_lite {
            lite.drive(model, &self.pressure, rng);
        }
        model.set(ports.m_axis_window_tready, self.pressure.ready(rng).into());
        model.set(ports.m_axis_msix_tready, self.pressure.ready(rng).into());

        if let Some((ring, ports)) = &mut self.ring {
            let offer = ring.offer(&self.pressure, rng);
            model.set(ports.s_axis_send_tvalid, offer.command.is_some().into());
            if let Some((word, stream)) = offer.command {
                model.set(ports.s_axis_send_tdata, word);
                model.set(ports.s_axis_send_tdest, stream.into());
            }
            model.set(ports.m_axis_transmit_tready, offer.transmit_ready.into());
            model.set(ports.m_axis_status_tready, offer.status_ready.into());
        }
    }

    /// Samples the outputs, and performs the transfers of this cycle.
    fn look(&mut self) -> Result<(), Violation> {
        let (model, ports, cycle) = (&self.model, &self.ports, self.cycle);
        let get = |port| model.get(port);
        let high = |port| model.get(port) == 1;

        if high(ports.s_axis_segment_tvalid) && high(ports.s_axis_segment_tready) {
            self.network.taken(cycle);
        }

        let at = |port| move |rule| Violation { cycle, port, rule };
        let (tvalid, tready) = (
            high(ports.m_axis_window_tvalid),
            high(ports.m_axis_window_tready),
        );
        let (data, stream) = (
            get(ports.m_axis_window_tdata),
            get(ports.m_axis_window_tdest),
        );
        let (edge, limit) = (data as u32, (data >> 32) as u32);
        let report = [edge, limit, stream as u32];
        self.window
            .look(tvalid, tready, report.into_iter())
            .map_err(at(WINDOW))?;
        if tvalid && tready {
            self.network.report(cycle, stream as usize, edge, limit);
            if let Some(Transmit { software, .. }) = &mut self.transmit {
                software.window(cycle, stream as usize, limit);
            }
        }

        let (tvalid, tready) = (
            high(ports.m_axis_msix_tvalid),
            high(ports.m_axis_msix_tready),
        );
        let vector = get(ports.m_axis_msix_tdata) as usize;
        self.msix
            .look(tvalid, tready, [vector as u32].into_iter())
            .map_err(at(MSIX))?;
        if tvalid && tready {
            let vectors = match self.control_lite {
                Some(_) => pci::VECTORS,
                None => interrupt::COUNT,
            };
            let mut counts = self.message_count.iter_mut().take(vectors);
            let Some(count) = counts.nth(vector) else {
                return Err(at(MSIX)(Rule::Vector(vector as u8)));
            };
            *count += 1;
            self.last_message = cycle;
            (self.messages)(vector);
        }

        if let Some(chunks) = &mut self.chunks
            && let Some(stream) = chunks.look(model, cycle).map_err(at(chunks::CHUNK))?
        {
            self.inlets.wake(stream);
        }

        let wdata = &mut [0; 2];
        let wdata = words(model, ports.m_axi_wdata, self.config.width, wdata);
        let wires = Wires {
            awvalid: high(ports.m_axi_awvalid),
            awaddr: get(ports.m_axi_awaddr),
            awlen: get(ports.m_axi_awlen) as u8,
            awsize: get(ports.m_axi_awsize) as u8,
            awburst: get(ports.m_axi_awburst) as u8,
            attributes: (get(ports.m_axi_awcache) | get(ports.m_axi_awprot) << 4) as u32,
            wvalid: high(ports.m_axi_wvalid),
            wdata,
            wstrb: get(ports.m_axi_wstrb),
            wlast: high(ports.m_axi_wlast),
            bready: high(ports.m_axi_bready),
        };
        self.writes
            .take(cycle, &wires, &self.pressure, &mut self.rng)?;
        while let Some(entry) = self.writes.landed.pop_front() {
            self.activity.completed(&entry);
        }

        let wires = reads::Wires {
            arvalid: high(ports.m_axi_arvalid),
            araddr: get(ports.m_axi_araddr),
            arlen: get(ports.m_axi_arlen) as u8,
            arsize: get(ports.m_axi_arsize) as u8,
            arburst: get(ports.m_axi_arburst) as u8,
            attributes: (get(ports.m_axi_arcache) | get(ports.m_axi_arprot) << 4) as u32,
            rready: high(ports.m_axi_rready),
        };
        self.reads
            .take(cycle, &wires, &self.pressure, &mut self.rng)?;

        if let Some((ring, ports)) = &mut self.ring {
            let data = &mut [0; 2];
            let wires = ring::Wires {
                send_ready: high(ports.s_axis_send_tready),
                transmit_valid: high(ports.m_axis_transmit_tvalid),
                data: words(model, ports.m_axis_transmit_tdata, self.config.width, data),
                keep: get(ports.m_axis_transmit_tkeep),
                last: high(ports.m_axis_transmit_tlast),
                dest: get(ports.m_axis_transmit_tdest) as u8,
                user: get(ports.m_axis_transmit_tuser) as u32,
                status_valid: high(ports.m_axis_status_tvalid),
                report: model.words(ports.m_axis_status_tdata),
                report_dest: get(ports.m_axis_status_tdest) as u8,
            };
            ring.take(cycle, &wires)?;
        }

        let lites = [Some(&mut self.lite), self.control_lite.as_mut()];
        for lite in lites.into_iter().flatten() {
            lite.look(model).map_err(|(port, rule)| at(port)(rule))?;
        }
        Ok(())
    }

    /// The host reads a register.
    pub fn read(&mut self, offset: u32) -> Result<u32, Error> {
        check_offset(offset)?;
        self.shared_read(Side::Host, offset)
    }

    /// The host writes those octets of a register whose bits are set in `strobes`.
    pub fn write(&mut self, offset: u32, value: u32, strobes: u8) -> Result<(), Error> {
        check_offset(offset)?;
        self.shared_write(Side::Host, offset, value, strobes)
    }

    /// The control program reads a register.
    pub fn control_read(&mut self, offset: u32) -> Result<u32, Error> {
        check_offset(offset)?;
        self.shared_read(Side::Control, offset)
    }

    /// The control program writes a register.
    pub fn control_write(&mut self, offset: u32, value: u32) -> Result<(), Error> {
        check_offset(offset)?;
        self.shared_write(Side::Control, offset, value, 0xF)
    }

    /// Reads a register of the RTL at the port of `side`, or at the only one.
    pub fn read_rtl(&mut self, side: Side, offset: u32) -> Result<u32, Error> {
        self.access(side, offset, None)
    }

    /// Writes those octets of a register of the RTL whose bits are set in `strobes`.
    pub fn write_rtl(
        &mut self,
        side: Side,
        offset: u32,
        value: u32,
        strobes: u8,
    ) -> Result<(), Error> {
        self.access(side, offset, Some((value, strobes))).map(drop)
    }

    fn lite(&mut self, side: Side) -> &mut Lite {
        match &mut self.control_lite {
            Some(lite) if side == Side::Control => lite,
            _ => &mut self.lite,
        }
    }

    fn access(&mut self, side: Side, offset: u32, write: Write) -> Result<u32, Error> {
        while self.lite(side).is_busy() {
            self.cycle()?;
        }
        if write.is_some() && self.commands[side as usize].meets_command(offset) {
            let found = self.access(side, register::COMMAND.offset, None)?;
            if register::COMMAND_BUSY.get(&[found]) == 1 {
                return Ok(0); // the device ignores it
            }
        }
        if let Some((value, strobes)) = write
            && let Some(stream) = self.commands[side as usize].closes(offset, value, strobes)
        {
            self.end_transmit(stream)?;
        }
        self.lite(side).begin(offset, write);
        let start = self.cycle;
        let answer = loop {
            self.cycle()?;
            if let Some(answer) = self.lite(side).answer() {
                break answer;
            }
            if self.cycle - start > ACCESS_CYCLES {
                let cycles = ACCESS_CYCLES;
                return Err(Error::NoAnswer { offset, cycles });
            }
        };
        if write.is_some() {
            self.last_write = self.cycle;
        }
        let event = match write {
            Some((value, strobes)) => self.commands[side as usize].written(offset, value, strobes),
            None => self.commands[side as usize].read(offset, answer),
        };
        if let Some(followed) = event {
            self.activity.follow(followed);
            match followed {
                Followed::Stream(event) => self.follow(event),
                Followed::Armed { stream, .. } => self.follow(StreamEvent::Armed { stream }),
                Followed::Send(event) => {
                    if let Some((ring, _)) = &mut self.ring {
                        ring.follow(event);
                    }
                }
                // It may have been armed between the start of this command and its end.
                Followed::Closed { stream } => {
                    if let Some((ring, _)) = &mut self.ring {
                        ring.close(stream);
                    }
                }
                Followed::Completions { base, entries } => {
                    let octets = u64::from(entries) * 4 * completion::WORDS as u64;
                    self.writes.queue = base..base.saturating_add(octets);
                }
                _ => {}
            }
        }
        Ok(answer)
    }

    /// TCP gives no more commands of a stream. One that is offered is accepted first: a later owner's stream must not get it.
    fn end_transmit(&mut self, stream: u8) -> Result<(), Error> {
        if let Some((ring, _)) = &mut self.ring {
            ring.close(stream);
        }
        self.while_ring(register::COMMAND.offset, |ring| ring.offers(stream))
    }

    /// Whether the connection of a stream has accepted all octets that lie in its transmit ring. The edge is asked for, since a
    /// report of it may be on its way.
    pub fn is_drained(&mut self, stream: u8) -> Result<bool, Error> {
        if let Some((ring, _)) = &mut self.ring {
            ring.probe(stream);
        }
        let offset = warpline_regmap::transmit::TRANSMIT_STATE.offset;
        self.while_ring(offset, |ring| ring.is_probing(stream))?;
        let ring = self.ring.as_mut();
        Ok(ring.is_none_or(|(ring, _)| ring.is_drained(stream)))
    }

    /// Runs while something holds of TCP's side of the transmit ring, for an access to a register.
    fn while_ring(
        &mut self,
        offset: u32,
        mut holds: impl FnMut(&mut Ring) -> bool,
    ) -> Result<(), Error> {
        let start = self.cycle;
        while self.ring.as_mut().is_some_and(|(ring, _)| holds(ring)) {
            if self.cycle - start > ACCESS_CYCLES {
                let cycles = ACCESS_CYCLES;
                return Err(Error::NoAnswer { offset, cycles });
            }
            self.cycle()?;
        }
        Ok(())
    }

    /// Whether there is a mailbox, in the device or in software.
    pub fn has_mailbox(&self) -> bool {
        self.control_lite.is_some() || self.transmit.is_some()
    }

    /// Passes a stream's event to the network side and to the watcher.
    fn follow(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Armed { stream } => {
                self.network.arm(stream.into(), self.cycle);
                if let Some(chunks) = &mut self.chunks {
                    chunks.arm(stream);
                }
            }
            StreamEvent::Closed { stream } => {
                if let Some(chunks) = &mut self.chunks {
                    chunks.close(stream);
                }
                self.network.close(stream.into());
                self.inlets.close(stream.into());
                (self.control)();
            }
            StreamEvent::Posted { .. } => {}
        }
        (self.events)(event);
    }

    /// Octets that a stream's connection is to send next: at most a segment's.
    pub fn octets_to_send(&mut self, stream: u8) -> Option<&[u8]> {
        if let Some((ring, _)) = &self.ring {
            return ring.octets(stream)?.first();
        }
        let software = &mut self.transmit.as_mut()?.software;
        software.octets(stream)?.first()
    }

    /// A stream's connection has accepted `count` of them.
    pub fn accept_sent(&mut self, stream: u8, count: usize) {
        self.activity.accepted(stream, count);
        if let Some((ring, _)) = &mut self.ring {
            return ring.accept(stream, count);
        }
        let transmit = self.transmit.as_mut();
        if let Some(outgoing) = transmit.and_then(|transmit| transmit.software.octets(stream)) {
            outgoing.accept(count);
        }
    }

    /// Last cycle in which a window moved, a segment was sent for the first time, host memory was accessed, a message was
    /// accepted, or a register was written.
    pub fn last_progress(&self) -> u64 {
        let transfer = self.writes.last_transfer.max(self.last_write);
        let transfer = transfer.max(self.reads.last_transfer);
        let transfer = transfer.max(self.last_message);
        let ring = self.ring.as_ref().map(|(ring, _)| ring.last_transfer);
        let transfer = transfer.max(ring.unwrap_or(0));
        let chunks = self.chunks.as_ref().map(|chunks| chunks.last_transfer);
        let transfer = transfer.max(chunks.unwrap_or(0));
        let shown = self.network.last_new.max(self.network.last_change);
        transfer.max(shown)
    }

    /// Octets in the assembly rings.
    pub fn resident_octets(&self) -> u64 {
        self.network.resident(self.config.ring_octets as u32)
    }

    /// Nothing changes any more unless a segment is fed or a command is given.
    ///
    /// Octets that wait in a ring may be processed without a transfer on any port: for as many cycles as they have beats, and
    /// some for the pipeline.
    pub fn is_idle(&mut self) -> bool {
        let ring = self.config.ring_octets as u32;
        self.resident = self.resident.max(self.network.resident(ring));
        let quiet = QUIET + 2 * self.resident / self.config.octets() as u64;
        let idle = self.cycle > self.last_transfer() + quiet && self.is_left_alone();
        if idle {
            self.resident = self.network.resident(ring);
        }
        idle
    }

    /// The device repeats its states, so that nothing changes any more. Most often this is known long before the device was
    /// quiet for long enough. It takes some cycles without back-pressure.
    pub fn is_at_rest(&mut self) -> Result<bool, Error> {
        let last = self.last_transfer();
        let quiet = self.cycle.saturating_sub(last);
        if quiet < REST || !quiet.is_power_of_two() || !self.is_left_alone() {
            return Ok(false);
        }
        let pressure = std::mem::replace(&mut self.pressure, BackPressure::NONE);
        let round = self.goes_round();
        self.pressure = pressure;
        let rests = round? && self.last_transfer() == last;
        if rests {
            self.resident = self.network.resident(self.config.ring_octets as u32);
        }
        Ok(rests)
    }

    /// Whether the device returns to a former state.
    fn goes_round(&mut self) -> Result<bool, Error> {
        self.cycle()?;
        self.model.keep_state();
        for _ in 0..ROUND {
            self.cycle()?;
            if self.model.is_as_kept() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Neither network nor host has anything to do.
    fn is_left_alone(&self) -> bool {
        let network = self.network.is_idle() && self.inlets.is_idle();
        let transmit = self.transmit.as_ref().is_some_and(Transmit::is_busy);
        let ring = self.ring.as_ref().is_none_or(|(ring, _)| ring.is_idle());
        network
            && !transmit
            && ring
            && self.chunks.as_ref().is_none_or(Chunks::is_idle)
            && !self.lite.is_busy()
            && !self.control_lite.as_ref().is_some_and(Lite::is_busy)
            && self.writes.is_idle()
            && self.reads.is_idle()
    }

    /// Cycle of the last transfer on any port.
    fn last_transfer(&self) -> u64 {
        self.last_progress()
            .max(self.network.last_beat.unwrap_or(0))
    }

    /// Sets the host's back-pressure.
    pub fn set_back_pressure(&mut self, pressure: BackPressure) {
        self.pressure = pressure;
    }

    /// When data entered and left the card.
    pub fn timing(&self) -> Timing {
        Timing {
            cycles: self.cycle,
            first_beat: self.network.first_beat,
            last_beat: self.network.last_beat,
            first_write: self.writes.first_beat,
            last_response: self.writes.last_response,
            written: self.writes.written,
        }
    }

    /// Clears the times, so that they are taken anew.
    pub fn clear_timing(&mut self) {
        self.network.first_beat = None;
        self.network.last_beat = None;
        self.writes.first_beat = None;
        self.writes.last_response = None;
        self.writes.written = 0;
    }
}

/// Words of a port of `width` bits; `two` holds those of a narrow one.
fn words<'w>(model: &'w Model, port: Port, width: usize, two: &'w mut [u32; 2]) -> &'w [u32] {
    if width > 64 {
        return model.words(port);
    }
    let value = model.get(port);
    *two = [value as u32, (value >> 32) as u32];
    two
}

/// Checks the offset of a register.
fn check_offset(offset: u32) -> Result<(), Error> {
    match offset.is_multiple_of(4) && offset < register::SPACE {
        true => Ok(()),
        false => Err(Error::Offset { offset }),
    }
}
