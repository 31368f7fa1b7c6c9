//! The master of a register port: one access at a time, and the rules of AXI4-Lite for the responses.

use std::collections::VecDeque;

use fastrand::Rng;
use warpline_verilate::{Error, Model};

use crate::error::Rule;
use crate::options::BackPressure;
use crate::ports::LitePorts;
use crate::watch::Watch;

/// An access: a word to write with its valid octets, one bit each, or none to read.
pub(crate) type Write = Option<(u32, u8)>;

/// The master of a register port.
#[derive(Debug)]
pub(crate) struct Lite {
    ports: LitePorts,
    /// Names of the response channels.
    b_channel: &'static str,
    r_channel: &'static str,
    /// What is offered and not accepted.
    address: Option<u32>,
    data: Option<u32>,
    read: Option<u32>,
    strobes: u8,
    /// Writes of the card's own, which are carried out between those of its user.
    pub own: VecDeque<(u32, u32)>,
    /// A write or a read has no response yet.
    writing: bool,
    reading: bool,
    answer: Option<u32>,
    b: Watch,
    r: Watch,
}

impl Lite {
    /// The host's port.
    pub fn host(model: &Model) -> Result<Self, Error> {
        let ports = LitePorts::find(model, "s_axil_")?;
        Ok(Self::new(ports, "s_axil_b", "s_axil_r"))
    }

    /// The control program's port.
    pub fn control(model: &Model) -> Result<Self, Error> {
        let ports = LitePorts::find(model, "s_axil_control_")?;
        Ok(Self::new(ports, "s_axil_control_b", "s_axil_control_r"))
    }

    fn new(ports: LitePorts, b_channel: &'static str, r_channel: &'static str) -> Self {
        Self {
            ports,
            b_channel,
            r_channel,
            address: None,
            data: None,
            read: None,
            strobes: 0,
            own: VecDeque::new(),
            writing: false,
            reading: false,
            answer: None,
            b: Watch::default(),
            r: Watch::default(),
        }
    }

    /// Begins anew: the device is in reset.
    pub fn clear(&mut self, model: &mut Model) {
        *self = Self::new(self.ports, self.b_channel, self.r_channel);
        for valid in [self.ports.awvalid, self.ports.wvalid, self.ports.arvalid] {
            model.set(valid, 0);
        }
    }

    /// The first channel with a response that is valid.
    pub fn answering(&self, model: &Model) -> Option<&'static str> {
        let valid = |port| model.get(port) == 1;
        if valid(self.ports.bvalid) {
            return Some(self.b_channel);
        }
        valid(self.ports.rvalid).then_some(self.r_channel)
    }

    /// An access has no response yet, or one of the card's own is to come.
    pub fn is_busy(&self) -> bool {
        self.writing || self.reading || !self.own.is_empty()
    }

    /// Begins an access of the register at `offset`. None is under way.
    pub fn begin(&mut self, offset: u32, write: Write) {
        self.answer = None;
        match write {
            Some((value, strobes)) => {
                (self.address, self.data) = (Some(offset), Some(value));
                self.strobes = strobes;
                self.writing = true;
            }
            None => {
                self.read = Some(offset);
                self.reading = true;
            }
        }
    }

    /// The word that the last access has read, 0 for a write, when it has its response.
    pub fn answer(&self) -> Option<u32> {
        self.answer
    }

    /// Starts a write of the card's own if the port is free.
    fn begin_own(&mut self) {
        if self.writing || self.reading {
            return;
        }
        if let Some((offset, value)) = self.own.pop_front() {
            self.begin(offset, Some((value, 0xF)));
        }
    }

    /// Sets the inputs of a cycle.
    pub fn drive(&mut self, model: &mut Model, pressure: &BackPressure, rng: &mut Rng) {
        self.begin_own();
        let ports = &self.ports;
        model.set(ports.awvalid, self.address.is_some().into());
        model.set(ports.wvalid, self.data.is_some().into());
        model.set(ports.arvalid, self.read.is_some().into());
        if self.writing || self.reading {
            model.set(ports.awaddr, self.address.unwrap_or(0).into());
            model.set(ports.wdata, self.data.unwrap_or(0).into());
            model.set(ports.wstrb, self.strobes.into());
            model.set(ports.araddr, self.read.unwrap_or(0).into());
        }
        model.set(ports.bready, pressure.ready(rng).into());
        model.set(ports.rready, pressure.ready(rng).into());
    }

    /// Performs the transfers of a cycle.
    pub fn look(&mut self, model: &Model) -> Result<(), (&'static str, Rule)> {
        let ports = &self.ports;
        let get = |port| model.get(port);
        let both = |valid, ready| model.get(valid) == 1 && model.get(ready) == 1;
        if both(ports.awvalid, ports.awready) {
            self.address = None;
        }
        if both(ports.wvalid, ports.wready) {
            self.data = None;
        }
        if both(ports.arvalid, ports.arready) {
            self.read = None;
        }
        let (bvalid, bready) = (get(ports.bvalid) == 1, get(ports.bready) == 1);
        let (bresp, rresp) = (get(ports.bresp) as u8, get(ports.rresp) as u8);
        let response = [u32::from(bresp)].into_iter();
        let b = |rule| (self.b_channel, rule);
        self.b.look(bvalid, bready, response).map_err(b)?;
        if bvalid && (!self.writing || self.address.is_some() || self.data.is_some()) {
            return Err(b(Rule::Unasked));
        }
        if bvalid && bready {
            if bresp != 0 {
                return Err(b(Rule::Response(bresp)));
            }
            self.writing = false;
            self.answer = Some(0);
        }
        let (rvalid, rready) = (get(ports.rvalid) == 1, get(ports.rready) == 1);
        let word = get(ports.rdata) as u32;
        let r = |rule| (self.r_channel, rule);
        let response = [word, u32::from(rresp)].into_iter();
        self.r.look(rvalid, rready, response).map_err(r)?;
        if rvalid && (!self.reading || self.read.is_some()) {
            return Err(r(Rule::Unasked));
        }
        if rvalid && rready {
            if rresp != 0 {
                return Err(r(Rule::Response(rresp)));
            }
            self.reading = false;
            self.answer = Some(word);
        }
        Ok(())
    }
}
