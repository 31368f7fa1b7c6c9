//! A soft processor, picorv32 in Verilator, with RAM and the two ports of `warpline_regmap::processor` on its bus.
//!
//! ```text
//!  picorv32 ◄── mem_* ──► Bus ─┬─► RAM, first the image
//!                              ├─► control port of the card
//!                              └─► network port: calls; a pause, during which the clock stands
//! ```
//!
//! An access takes two cycles. What the processor does beside the device is not timed against the device's clock: they are two
//! clock domains, and the host's threads run as they are scheduled.

use std::path::PathBuf;
use std::{env, fs};

use warpline_regmap::Register;
use warpline_regmap::processor::{
    CALL, CONTROL_PORT, NETWORK_PORT, OCTETS, OPERAND, PAUSE, RAM_OCTETS, TIME,
};
use warpline_verilate::{Build, Model, Port};

use super::calls::Calls;
use crate::error::Error;
use crate::transmit::port::ControlPort;

/// Names the file with the processor's text, if it is not in the project's Python environment.
const VARIABLE: &str = "WARPLINE_PICORV32";
/// Where the wheel `pythondata-cpu-picorv32` has it.
const WHEEL: &str = "site-packages/pythondata_cpu_picorv32/verilog/picorv32.v";
/// As in the notes on area and clock: no counters, no co-processor, no interrupts, an ALU in two cycles.
const PARAMETERS: [&str; 6] = [
    "-GENABLE_COUNTERS=0",
    "-GENABLE_COUNTERS64=0",
    "-GTWO_CYCLE_ALU=1",
    "-GTWO_CYCLE_COMPARE=1",
    "-GCATCH_MISALIGN=1",
    "-GCATCH_ILLINSN=1",
];
/// Cycles in reset.
const RESET: usize = 8;

/// What a number of cycles has brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The program goes on.
    Running,
    /// The bus stalls until this time in milliseconds, or until something happens.
    Paused(Option<u64>),
}

/// Ports of the model.
struct Pins {
    clk: Port,
    trap: Port,
    valid: Port,
    ready: Port,
    address: Port,
    strobes: Port,
    written: Port,
    read: Port,
}

/// The processor and its bus.
pub(super) struct Processor {
    model: Model,
    pins: Pins,
    ram: Vec<u32>,
    control: ControlPort,
    network: Calls,
    /// `TIME` as its low word was read; `PAUSE`, low word.
    time_high: u32,
    pause_low: u32,
}

/// The text of the processor.
fn text() -> Result<String, Error> {
    let mut searched = Vec::new();
    let mut candidates: Vec<PathBuf> = env::var_os(VARIABLE)
        .map(PathBuf::from)
        .into_iter()
        .collect();
    if candidates.is_empty() {
        let starts = [
            env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from),
            env::current_dir().ok(),
            env::current_exe().ok(),
        ];
        let folders = starts.iter().flatten().flat_map(|start| start.ancestors());
        let pythons = folders.filter_map(|folder| fs::read_dir(folder.join(".venv/lib")).ok());
        candidates.extend(
            pythons
                .flatten()
                .flatten()
                .map(|python| python.path().join(WHEEL)),
        );
    }
    for path in candidates {
        if let Ok(text) = fs::read_to_string(&path) {
            return Ok(text);
        }
        searched.push(path.display().to_string());
    }
    Err(Error::NoProcessor { searched })
}

impl Processor {
    /// The processor in reset, with `image` in its RAM.
    ///
    /// # Errors
    /// [`Error::NoProcessor`], [`Error::Image`], [`Error::Model`].
    pub fn new(image: &[u8], control: ControlPort, network: Calls) -> Result<Self, Error> {
        let mut ram = vec![0; RAM_OCTETS as usize / 4];
        if image.is_empty() || image.len() > RAM_OCTETS as usize {
            return Err(Error::Image {
                length: image.len(),
            });
        }
        for (word, octets) in ram.iter_mut().zip(image.chunks(4)) {
            let mut all = [0; 4];
            all[..octets.len()].copy_from_slice(octets);
            *word = u32::from_le_bytes(all);
        }
        let mut build = Build::new("picorv32").source("picorv32.v", text()?);
        // The text is not ours, and its style is older than the warnings.
        for code in [
            "UNUSED",
            "WIDTH",
            "CASEINCOMPLETE",
            "IMPLICIT",
            "PINMISSING",
        ] {
            build = build.lint_off(code);
        }
        for parameter in PARAMETERS {
            build = build.verilator_arg(parameter);
        }
        let mut model = build.open()?;
        let pins = Pins {
            clk: model.port("clk")?,
            trap: model.port("trap")?,
            valid: model.port("mem_valid")?,
            ready: model.port("mem_ready")?,
            address: model.port("mem_addr")?,
            strobes: model.port("mem_wstrb")?,
            written: model.port("mem_wdata")?,
            read: model.port("mem_rdata")?,
        };
        for name in ["pcpi_wr", "pcpi_rd", "pcpi_wait", "pcpi_ready", "irq"] {
            let port = model.port(name)?;
            model.set(port, 0);
        }
        let reset = model.port("resetn")?;
        model.set(reset, 0);
        let mut processor = Self {
            model,
            pins,
            ram,
            control,
            network,
            time_high: 0,
            pause_low: 0,
        };
        for _ in 0..RESET {
            processor.cycle()?;
        }
        processor.model.set(reset, 1);
        Ok(processor)
    }

    /// Ends everything that the program has open.
    pub fn end(&mut self) {
        self.network.end();
    }

    /// Runs for at most `cycles` cycles; `now` is the time in milliseconds.
    ///
    /// # Errors
    /// [`Error::Trap`], [`Error::Model`].
    pub fn run(&mut self, cycles: u32, now: impl Fn() -> u64) -> Result<Progress, Error> {
        for _ in 0..cycles {
            self.cycle()?;
            let (model, pins) = (&mut self.model, &self.pins);
            if model.get(pins.trap) == 1 {
                let address = model.get(pins.address) as u32;
                return Err(Error::Trap { address });
            }
            let begins = model.get(pins.valid) == 1 && model.get(pins.ready) == 0;
            model.set(pins.ready, begins.into());
            if !begins {
                continue;
            }
            let address = model.get(pins.address) as u32;
            let strobes = model.get(pins.strobes) as u8;
            let written = model.get(pins.written) as u32;
            if strobes == 0 {
                let read = self.read(address, &now)?;
                self.model.set(self.pins.read, read.into());
            } else if let Some(until) = self.write(address, written, strobes)? {
                return Ok(Progress::Paused(until));
            }
        }
        Ok(Progress::Running)
    }

    fn cycle(&mut self) -> Result<(), Error> {
        for level in [1, 0] {
            self.model.set(self.pins.clk, level);
            self.model.eval()?;
        }
        Ok(())
    }

    fn read(&mut self, address: u32, now: &impl Fn() -> u64) -> Result<u32, Error> {
        if let Some(word) = self.ram.get(address as usize / 4) {
            return Ok(*word);
        }
        if let Some(offset) = offset_in(CONTROL_PORT, address) {
            return self.control.read(offset);
        }
        let offset = offset_in(NETWORK_PORT, address).ok_or(Error::Trap { address })?;
        if let Some(index) = element(&OPERAND, offset) {
            return Ok(self.network.operands[index]);
        }
        if let Some(index) = element(&OCTETS, offset) {
            let octets = &self.network.octets.as_chunks().0[index];
            return Ok(u32::from_le_bytes(*octets));
        }
        Ok(match element(&TIME, offset) {
            Some(0) => {
                let now = now();
                self.time_high = (now >> 32) as u32;
                now as u32
            }
            Some(_) => self.time_high,
            None => 0,
        })
    }

    /// Writes a word. `Some` begins a pause.
    fn write(
        &mut self,
        address: u32,
        value: u32,
        strobes: u8,
    ) -> Result<Option<Option<u64>>, Error> {
        if let Some(word) = self.ram.get_mut(address as usize / 4) {
            *word = crate::transmit::octets::merged(*word, value, strobes);
            return Ok(None);
        }
        if let Some(offset) = offset_in(CONTROL_PORT, address) {
            self.control.write(offset, value)?;
            return Ok(None);
        }
        let offset = offset_in(NETWORK_PORT, address).ok_or(Error::Trap { address })?;
        if offset == CALL.offset {
            self.network.call(value);
        } else if let Some(index) = element(&OPERAND, offset) {
            self.network.operands[index] = value;
        } else if let Some(index) = element(&OCTETS, offset) {
            self.network.octets.as_chunks_mut().0[index] = value.to_le_bytes();
        } else if let Some(index) = element(&PAUSE, offset) {
            if index == 1 {
                let until = u64::from(value) << 32 | u64::from(self.pause_low);
                return Ok(Some((until != u64::MAX).then_some(until)));
            }
            self.pause_low = value;
        }
        Ok(None)
    }
}

/// The offset of a register in the port at `base`.
fn offset_in(base: u32, address: u32) -> Option<u32> {
    let offset = address.checked_sub(base)?;
    (offset < warpline_regmap::register::SPACE).then_some(offset & !3)
}

/// Element of an array of words at an offset.
fn element(register: &Register, offset: u32) -> Option<usize> {
    let index = offset.checked_sub(register.offset)? / register.stride;
    (index < register.count).then_some(index as usize)
}
