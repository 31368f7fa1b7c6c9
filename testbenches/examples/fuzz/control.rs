//! The control program between scripted registers and scripted connections, as its tests have them.
#![allow(unused_imports, reason = "tests of the firmware use the rest")]

#[path = "../../../firmware/tests/control/fuzz.rs"]
pub mod fuzz;
#[path = "../../../firmware/tests/control/model/mod.rs"]
mod model;
