//! The whole device in a reset of one cycle, in the middle of traffic: no VALID of any port is high in the first cycle behind
//! it, nor until the device is back (IHI 0022E §A3.1.2).

use std::collections::BTreeSet;

use fastrand::Rng;
use warpline_design::{TOP, design};
use warpline_hdl::Config;
use warpline_hdl::reset::RESET_CYCLES;
use warpline_regmap::Field;
use warpline_regmap::layout::{receive_ring, stream_context};
use warpline_regmap::register::{self, command};
use warpline_testbenches::stimulus::chance;
use warpline_verilate::{Build, Direction, Model, Port};
use warpline_wire::send::{CrcField, FpduWriter, Message};

/// Octets of a beat.
const OCTETS: usize = 8;
/// Cycles behind the one of the reset in which nothing is offered; the window is reported in the one behind them.
const SILENT: u64 = RESET_CYCLES + 2;
/// What the driver of the registers does once all is set up.
const FOR_EVER: [Access; 2] = [
    Access::Write(register::INTERRUPT_TEST.offset, 0b11),
    Access::Read(register::COMMAND.offset),
];

#[derive(Clone, Copy)]
enum Access {
    Write(u32, u32),
    Read(u32),
    /// Reads COMMAND until the command is done.
    Done,
}

/// Writes that bring the device to receive Sends on stream 0 into buffers of a ring.
fn set_up() -> Vec<Access> {
    let mut accesses = vec![
        Access::Write(register::COMPLETION_BASE_LOW.offset, 0x10_0000),
        Access::Write(register::COMPLETION_ENTRIES.offset, 1 << 16),
        Access::Write(register::INTERRUPT_ENABLE.offset, 0b11),
    ];
    let mut give = |number, fields: &[(Field, u64)]| {
        let mut words = [0; 4];
        for (field, value) in fields {
            field.put(&mut words, *value);
        }
        for (index, word) in words.into_iter().enumerate() {
            let offset = register::ARGUMENT.at(index as u32);
            accesses.push(Access::Write(offset, word));
        }
        accesses.push(Access::Write(register::COMMAND.offset, number));
        accesses.push(Access::Done);
    };
    give(
        command::ARM_STREAM,
        &[
            (stream_context::CRC, 1),
            (stream_context::QUEUES, 1),
            (stream_context::FIRST_MSN, 1),
        ],
    );
    give(
        command::SET_RECEIVE_RING,
        &[
            (receive_ring::ENTRIES, 1 << 15),
            (receive_ring::BASE, 0x20_0000),
        ],
    );
    accesses.push(Access::Write(register::RECEIVE_PRODUCER.offset, 0x7fff));
    accesses
}

/// The device, with a simple host, memory and network at its ports.
struct Bench {
    model: Model,
    rng: Rng,
    /// All VALID that the device drives.
    valids: Vec<(String, Port)>,
    accesses: Vec<Access>,
    /// Accesses begun; of the last one what is still to be taken or answered.
    begun: usize,
    address: bool,
    data: bool,
    answer: bool,
    /// Addresses and last beats of writes, and responses given.
    addresses: u64,
    lasts: u64,
    responses: u64,
    /// Next word and end of a read.
    read: Option<(u64, u64)>,
    peer: FpduWriter,
    sent: u32,
    sequence: u64,
    /// Octets of a segment not yet shown.
    segment: Vec<u8>,
    first: u64,
}

impl Bench {
    /// A device in whose text `from` is replaced by `to`.
    fn of(from: &str, to: &str) -> Self {
        let mut changed = 0;
        let mut build = Build::new(TOP).comparable();
        for (name, text) in design(&Config::simulated(8 * OCTETS)).unwrap().files() {
            changed += text.matches(from).count();
            build = build.source(name, text.replace(from, to));
        }
        assert_eq!(changed, 1, "{from}");
        let model = build.open().unwrap();
        let valids: Vec<(String, Port)> = model
            .ports()
            .filter(|(_, info)| info.direction == Direction::Output && info.name.ends_with("valid"))
            .map(|(port, info)| (info.name.clone(), port))
            .collect();
        let mut bench = Self {
            model,
            rng: Rng::with_seed(1),
            valids,
            accesses: vec![],
            begun: 0,
            address: false,
            data: false,
            answer: false,
            addresses: 0,
            lasts: 0,
            responses: 0,
            read: None,
            peer: FpduWriter::new(false, CrcField::Computed),
            sent: 0,
            sequence: 0,
            segment: vec![],
            first: 0,
        };
        // inputs that no cycle sets stay zero
        let inputs: Vec<Port> = bench
            .model
            .ports()
            .filter(|(_, info)| info.direction == Direction::Input)
            .map(|(port, _)| port)
            .collect();
        for port in inputs {
            bench.model.set(port, 0);
        }
        bench
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.model.port(name).unwrap();
        self.model.set(port, value);
    }

    fn get(&self, name: &str) -> u64 {
        self.model.get(self.model.port(name).unwrap())
    }

    /// Whether VALID and READY of a channel are high.
    fn passes(&self, channel: &str) -> bool {
        self.get(&format!("{channel}valid")) & self.get(&format!("{channel}ready")) == 1
    }

    /// Host, memory and network begin anew, as the device does.
    fn begin(&mut self) {
        self.accesses = set_up();
        (self.begun, self.address, self.data, self.answer) = (0, false, false, false);
        (self.addresses, self.lasts, self.responses) = (0, 0, 0);
        self.read = None;
        self.peer = FpduWriter::new(false, CrcField::Computed);
        (self.sent, self.sequence) = (0, 0);
        self.segment.clear();
    }

    fn ready(&mut self) {
        for ready in [
            "m_axi_awready",
            "m_axi_wready",
            "m_axi_arready",
            "s_axil_bready",
            "s_axil_rready",
            "m_axis_window_tready",
            "m_axis_msix_tready",
        ] {
            // there are few bursts of reads: they wait longer
            let percent = if ready == "m_axi_arready" { 3 } else { 30 };
            let go = chance(&mut self.rng, percent);
            self.set(ready, go.into());
        }
    }

    /// What is valid at the device's outputs, at the end of a cycle with these inputs.
    fn edge(&mut self) -> BTreeSet<String> {
        let high = self.valid();
        self.set("aclk", 1);
        self.model.eval().unwrap();
        high
    }

    fn valid(&mut self) -> BTreeSet<String> {
        self.set("aclk", 0);
        self.model.eval().unwrap();
        let high = self
            .valids
            .iter()
            .filter(|(_, port)| self.model.get(*port) == 1);
        high.map(|(name, _)| name.clone()).collect()
    }

    /// A cycle in which nothing is offered to the device.
    fn silent(&mut self, aresetn: bool) -> BTreeSet<String> {
        self.set("aresetn", aresetn.into());
        for valid in [
            "s_axis_segment_tvalid",
            "s_axil_awvalid",
            "s_axil_wvalid",
            "s_axil_arvalid",
            "m_axi_bvalid",
            "m_axi_rvalid",
        ] {
            self.set(valid, 0);
        }
        self.ready();
        self.edge()
    }

    /// A cycle of traffic.
    fn cycle(&mut self) {
        self.ready();
        if !self.address && !self.data && !self.answer {
            self.begun += 1;
            (self.address, self.answer) = (true, true);
            self.data = matches!(self.access(), Access::Write(..));
        }
        let (write, offset, word) = match self.access() {
            Access::Write(offset, word) => (true, offset, word),
            Access::Read(offset) => (false, offset, 0),
            Access::Done => (false, register::COMMAND.offset, 0),
        };
        self.set("s_axil_awvalid", (write && self.address).into());
        self.set("s_axil_awaddr", offset.into());
        self.set("s_axil_wvalid", self.data.into());
        self.set("s_axil_wdata", word.into());
        self.set("s_axil_wstrb", 0xf);
        self.set("s_axil_arvalid", (!write && self.address).into());
        self.set("s_axil_araddr", offset.into());

        let due = self.addresses.min(self.lasts) > self.responses;
        self.set("m_axi_bvalid", due.into());
        let (next, end) = self.read.unwrap_or_default();
        self.set("m_axi_rvalid", self.read.is_some().into());
        // address and length of a buffer, in turn
        self.set("m_axi_rdata", if next % 2 == 0 { 0x30_0000 } else { 256 });
        self.set("m_axi_rlast", (next + 1 == end).into());

        let armed = self.begun >= set_up().len();
        if self.segment.is_empty() && armed && chance(&mut self.rng, 1) {
            self.sent += 1;
            let message = Message::Untagged {
                qn: 0,
                msn: self.sent,
                rsvd_ulp: [0; 5],
            };
            let payload = vec![7; self.rng.usize(1..200)];
            let appended = self
                .peer
                .append_message(message, &payload, 600, &mut self.segment);
            appended.unwrap();
            (self.first, self.sequence) =
                (self.sequence, self.sequence + self.segment.len() as u64);
        }
        let octets = self.segment.len().min(OCTETS);
        let beat: Vec<u8> = self.segment.drain(..octets).collect();
        let mut data = [0; OCTETS];
        data[..octets].copy_from_slice(&beat);
        self.set("s_axis_segment_tvalid", (octets > 0).into());
        self.set("s_axis_segment_tdata", u64::from_le_bytes(data));
        self.set("s_axis_segment_tkeep", (1_u64 << octets) - 1);
        self.set("s_axis_segment_tlast", self.segment.is_empty().into());
        self.set("s_axis_segment_tuser", self.first);

        self.valid();
        let took =
            ["m_axi_aw", "m_axi_w", "m_axi_b", "m_axi_ar", "m_axi_r"].map(|c| self.passes(c));
        let [aw, w, b, ar, r] = took;
        self.addresses += u64::from(aw);
        self.lasts += u64::from(w) & self.get("m_axi_wlast");
        self.responses += u64::from(b);
        if r {
            self.read = (next + 1 < end).then_some((next + 1, end));
        }
        if ar {
            let first = self.get("m_axi_araddr") / OCTETS as u64;
            self.read = Some((first, first + self.get("m_axi_arlen") + 1));
        }
        self.address &= !(self.passes("s_axil_aw") || self.passes("s_axil_ar"));
        self.data &= !self.passes("s_axil_w");
        let busy = register::COMMAND_BUSY.get(&[self.get("s_axil_rdata") as u32]) == 1;
        if self.passes("s_axil_r") && matches!(self.access(), Access::Done) && busy {
            self.begun -= 1;
        }
        self.answer &= !(self.passes("s_axil_b") || self.passes("s_axil_r"));
        self.set("aclk", 1);
        self.model.eval().unwrap();
    }

    /// The access that was begun last.
    fn access(&self) -> Access {
        let at = self.begun - 1;
        let further = at.saturating_sub(self.accesses.len());
        let access = self.accesses.get(at).copied();
        access.unwrap_or(FOR_EVER[further % FOR_EVER.len()])
    }
}

/// Resets of one cycle at moments of all kinds: what was offered in the cycle of the reset, and what was still or again until
/// the device was back.
fn offered_around_resets(bench: &mut Bench) -> [BTreeSet<String>; 2] {
    let [mut before, mut behind] = [BTreeSet::new(), BTreeSet::new()];
    bench.silent(false);
    bench.silent(true);
    for round in 0..160 {
        let cycles = match round % 4 {
            0 => bench.rng.usize(1..400),
            _ => bench.rng.usize(1500..2500),
        };
        bench.begin();
        for _ in 0..cycles {
            bench.cycle();
        }
        before.extend(bench.silent(false));
        for _ in 0..SILENT {
            behind.extend(bench.silent(true));
        }
        let window = BTreeSet::from(["m_axis_window_tvalid".to_owned()]);
        assert_eq!(bench.silent(true), window, "it is back");
    }
    [before, behind]
}

fn all() -> BTreeSet<String> {
    [
        "m_axi_arvalid",
        "m_axi_awvalid",
        "m_axi_wvalid",
        "m_axis_msix_tvalid",
        "m_axis_window_tvalid",
        "s_axil_bvalid",
        "s_axil_rvalid",
    ]
    .map(str::to_owned)
    .into()
}

/// Where the reset of the ports is a cycle earlier.
const EARLY: &str = "assign port_reset = resetting | held_q;";
/// Where it is that of all other registers.
const LATE: &str = "assign port_reset = held_q;";

#[test]
fn a_reset_of_one_cycle_ends_all_offers_at_once() {
    let [before, behind] = offered_around_resets(&mut Bench::of(EARLY, EARLY));
    assert_eq!(before, all(), "not all ports were tried");
    assert_eq!(behind, BTreeSet::new());
    let [_, behind] = offered_around_resets(&mut Bench::of(EARLY, LATE));
    assert_eq!(behind, all(), "with {LATE}");
}

#[test]
fn nothing_is_offered_before_the_device_has_begun() {
    let begins = |mut bench: Bench| -> BTreeSet<String> {
        let cycles = (0..SILENT).map(|_| bench.silent(true));
        cycles.flatten().collect()
    };
    assert_eq!(begins(Bench::of(EARLY, EARLY)), BTreeSet::new());
    let window = BTreeSet::from(["m_axis_window_tvalid".to_owned()]);
    assert_eq!(begins(Bench::of(EARLY, LATE)), window);
}
