//! A side: its five channels, and which accesses have been answered.

use std::collections::VecDeque;

use fastrand::Rng;
use warpline_hdl::parts::axi::AxiLiteSlave;
use warpline_testbenches::stimulus::{Pace, Rhythm};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    pub offset: u32,
    pub data: u32,
    pub strobe: u8,
}

/// A channel: once valid it stays so, with the same payload, until it is accepted.
#[derive(Default)]
pub struct Held(Option<u64>);

impl Held {
    /// Whether VALID has risen for a new payload.
    pub fn watch(
        &mut self,
        name: &str,
        valid: bool,
        ready: bool,
        payload: u64,
    ) -> Result<bool, String> {
        match self.0 {
            Some(_) if !valid => return Err(format!("{name} withdrew its valid")),
            Some(before) if before != payload => {
                return Err(format!("{name} changed from {before:#x} to {payload:#x}"));
            }
            _ => {}
        }
        let rises = valid && self.0.is_none();
        self.0 = (valid && !ready).then_some(payload);
        Ok(rises)
    }
}

/// What a side got in a cycle: of the write, the cycle of its second half and BRESP; of the read, the cycle of its
/// address, RDATA and RRESP.
#[derive(Default)]
pub struct Got {
    pub write: Option<(Write, u64, u8)>,
    pub read: Option<(u32, u64, u32, u8)>,
}

pub struct Side {
    name: &'static str,
    paces: [Rhythm; 5],
    pub addresses: VecDeque<Write>,
    pub words: VecDeque<Write>,
    pub reads: VecDeque<u32>,
    aw: Option<Write>,
    w: Option<Write>,
    ar: Option<u32>,
    /// Accepted and not answered: writes with the cycles of their halves, reads with that of the address.
    given: VecDeque<(Write, u64)>,
    halves: VecDeque<u64>,
    reading: VecDeque<(u32, u64)>,
    b: Held,
    r: Held,
    /// Responses that are not accepted.
    owed: usize,
}

impl Side {
    pub fn new(name: &'static str, pace: Pace) -> Self {
        Self {
            name,
            paces: std::array::from_fn(|_| Rhythm::new(pace)),
            addresses: VecDeque::new(),
            words: VecDeque::new(),
            reads: VecDeque::new(),
            aw: None,
            w: None,
            ar: None,
            given: VecDeque::new(),
            halves: VecDeque::new(),
            reading: VecDeque::new(),
            b: Held::default(),
            r: Held::default(),
            owed: 0,
        }
    }

    pub fn write(&mut self, write: Write) {
        self.addresses.push_back(write);
        self.words.push_back(write);
    }

    pub fn is_done(&self) -> bool {
        self.addresses.is_empty()
            && self.words.is_empty()
            && self.reads.is_empty()
            && self.aw.is_none()
            && self.w.is_none()
            && self.ar.is_none()
            && self.given.is_empty()
            && self.halves.is_empty()
            && self.reading.is_empty()
            && self.owed == 0
    }

    pub fn drive(&mut self, bus: &mut AxiLiteSlave, rng: &mut Rng) {
        let [aw, w, b, ar, r] = &mut self.paces;
        if self.aw.is_none() && !self.addresses.is_empty() && aw.go(rng) {
            self.aw = self.addresses.pop_front();
        }
        if self.w.is_none() && !self.words.is_empty() && w.go(rng) {
            self.w = self.words.pop_front();
        }
        if self.ar.is_none() && !self.reads.is_empty() && ar.go(rng) {
            self.ar = self.reads.pop_front();
        }
        let noise = rng.u64(..);
        bus.awvalid.next = self.aw.is_some();
        bus.awaddr.next = (self.aw.map_or(noise, |w| w.offset.into()) & 0xfff).into();
        bus.awprot.next = (noise >> 12 & 7).into();
        bus.wvalid.next = self.w.is_some();
        bus.wdata.next = (self.w.map_or(noise, |w| w.data.into()) & 0xffff_ffff).into();
        bus.wstrb.next = (self.w.map_or(noise, |w| w.strobe.into()) & 15).into();
        bus.bready.next = b.go(rng);
        bus.arvalid.next = self.ar.is_some();
        bus.araddr.next = (self.ar.map_or(noise >> 20, u64::from) & 0xfff).into();
        bus.arprot.next = (noise >> 16 & 7).into();
        bus.rready.next = r.go(rng);
    }

    pub fn sample(&mut self, bus: &AxiLiteSlave, now: u64) -> Result<Got, String> {
        let name = self.name;
        let mut got = Got::default();
        let (valid, ready) = (bus.bvalid.val(), bus.bready.val());
        let response = bus.bresp.val().to_u8();
        if self
            .b
            .watch(&format!("{name} B"), valid, ready, response.into())?
        {
            let (Some((write, address)), Some(word)) =
                (self.given.pop_front(), self.halves.pop_front())
            else {
                return Err(format!("cycle {now}: {name} B answers no write"));
            };
            got.write = Some((write, address.max(word), response));
            self.owed += 1;
        }
        self.owed -= usize::from(valid && ready);
        let (valid, ready) = (bus.rvalid.val(), bus.rready.val());
        let (data, response) = (bus.rdata.val().to_u32(), bus.rresp.val().to_u8());
        let payload = u64::from(response) << 32 | u64::from(data);
        if self.r.watch(&format!("{name} R"), valid, ready, payload)? {
            let Some((offset, address)) = self.reading.pop_front() else {
                return Err(format!("cycle {now}: {name} R answers no read"));
            };
            got.read = Some((offset, address, data, response));
            self.owed += 1;
        }
        self.owed -= usize::from(valid && ready);
        if bus.awvalid.val() && bus.awready.val() {
            self.given.extend(self.aw.take().map(|write| (write, now)));
        }
        if bus.wvalid.val() && bus.wready.val() {
            self.w = None;
            self.halves.push_back(now);
        }
        if bus.arvalid.val() && bus.arready.val() {
            self.reading
                .extend(self.ar.take().map(|offset| (offset, now)));
        }
        Ok(got)
    }
}
