//! Limits of the bus that the comments state, measured at the write mux.

use warpline_synth::packaging::{ADDRESSES_AHEAD, AWAITING_RESPONSES};
use warpline_verilate::{Build, Model};

use crate::{DEVICE, file};

/// The write mux with bursts of one beat that are always valid.
struct Mux(Model);

impl Mux {
    fn new() -> Self {
        let build = Build::new("warpline_core_write_mux");
        let build = DEVICE.parts().fold(build, |build, module| {
            build.source(format!("{}.sv", module.name), module.text.clone())
        });
        let mut mux = Self(build.open().unwrap_or_else(|e| panic!("{e}")));
        let inputs: Vec<_> = mux
            .0
            .ports()
            .map(|(port, info)| (port, info.clone()))
            .collect();
        for (port, info) in inputs {
            if info.direction == warpline_verilate::Direction::Input && info.width <= 64 {
                mux.0.set(port, 0);
            }
        }
        mux.set("reset", 1);
        mux.cycle();
        mux.cycle();
        mux.set("reset", 0);
        for ready in [
            "payload_awvalid",
            "payload_wvalid",
            "payload_wlast",
            "payload_b_ready",
        ] {
            mux.set(ready, 1);
        }
        mux
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.0.port(name).unwrap();
        self.0.set(port, value);
    }

    fn get(&self, name: &str) -> u64 {
        self.0.get(self.0.port(name).unwrap())
    }

    fn cycle(&mut self) {
        for level in [0, 1] {
            self.set("clock", level);
            self.0.eval().unwrap();
        }
    }

    /// Addresses and beats that the bus has accepted after some hundred cycles.
    fn accepted(&mut self) -> (usize, usize) {
        let (mut addresses, mut beats) = (0, 0);
        for _ in 0..500 {
            self.set("clock", 0);
            self.0.eval().unwrap();
            addresses += (self.get("m_axi_awvalid") & self.get("m_axi_awready")) as usize;
            beats += (self.get("m_axi_wvalid") & self.get("m_axi_wready")) as usize;
            self.set("clock", 1);
            self.0.eval().unwrap();
        }
        (addresses, beats)
    }
}

#[test]
fn addresses_go_as_far_ahead_as_is_said() {
    let mut mux = Mux::new();
    mux.set("m_axi_awready", 1);
    assert_eq!(mux.accepted(), (ADDRESSES_AHEAD, 0));
    let text = file("warpline_instance.svh").replace("\n    //", "");
    assert!(text.contains(&format!("Up to {ADDRESSES_AHEAD} addresses go ahead")));
}

#[test]
fn as_many_bursts_await_their_responses_as_is_said() {
    let mut mux = Mux::new();
    mux.set("m_axi_awready", 1);
    mux.set("m_axi_wready", 1);
    assert_eq!(mux.accepted(), (AWAITING_RESPONSES, AWAITING_RESPONSES));
    let text = file("warpline_instance.svh").replace("\n    //", "");
    assert!(text.contains(&format!("Up to {AWAITING_RESPONSES} bursts await")));
}

#[test]
fn data_comes_before_its_address_is_accepted() {
    let mut mux = Mux::new();
    mux.set("m_axi_wready", 1);
    let (addresses, beats) = mux.accepted();
    assert_eq!(addresses, 0);
    assert!(beats > 0, "W depends on AWREADY");
}
