//! What `warpline rtl` writes beside the modules, for integrators, their tools and their programs.
//!
//! ```text
//!  Design ─┬─► warpline.f                         sources in compile order, packages first, for any tool
//!          ├─► warpline.core, Bender.yml          the same for FuseSoC and Bender
//!          ├─► warpline.xml                       IP-XACT component: ports, bus interfaces, registers, sources
//!          ├─► warpline.sdc, warpline.xdc         the clock
//!          ├─► warpline_instance.svh              every port, explained
//!          └─► warpline_registers_example.sv      a device with registers only: what stays open, and how
//!  regmap ─┬─► warpline_pkg.sv                    registers and records for SystemVerilog
//!          └─► warpline.h                         the same for C99 and C++
//!  LICENSE-MIT, LICENSE-APACHE
//! ```
//!
//! Names begin with that of the top module: those of a device with a prefix begin with it ([`prefixed`](crate::prefixed)).
//! A device with everything connected, AXI4 memory included, is in `constraints/selftest`.

mod bender;
mod c_header;
mod facts;
mod fusesoc;
mod instance;
mod ip_xact;
mod names;
mod ports;
mod sv_package;
mod timing;

pub use ports::{ADDRESSES_AHEAD, AWAITING_RESPONSES};

use names::Names;
use warpline_hdl::Config;
use warpline_sv_writer::Design;

const MIT: &str = include_str!("../../../LICENSE-MIT");
const APACHE: &str = include_str!("../../../LICENSE-APACHE");

/// All files that go with `design`, which `config` describes: name and text.
#[must_use]
pub fn files(design: &Design, config: &Config) -> Vec<(String, String)> {
    let names = Names::new(design, config);
    let top = names.top;
    let list = names.sources.iter().map(|name| format!("{name}\n"));
    vec![
        (format!("{top}.f"), list.collect()),
        (format!("{top}.core"), fusesoc::text(&names)),
        ("Bender.yml".into(), bender::text(&names)),
        (format!("{top}.xml"), ip_xact::text(&names)),
        (format!("{top}.sdc"), timing::sdc(&names)),
        (format!("{top}.xdc"), timing::xdc(&names)),
        (format!("{top}_instance.svh"), instance::whole(&names)),
        (
            format!("{}.sv", names.example()),
            instance::registers_only(&names),
        ),
        (
            format!("{}.sv", names.sv_package()),
            sv_package::text(&names),
        ),
        (format!("{top}.h"), c_header::text(&names)),
        ("LICENSE-MIT".into(), MIT.into()),
        ("LICENSE-APACHE".into(), APACHE.into()),
    ]
}
