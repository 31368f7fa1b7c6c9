//! What all proofs share: the smallest device, and the steps of a proof.

use rust_hdl_core::prelude::*;
use std::time::Instant;
use warpline_formal::{Error, Proof, Tools};
use warpline_hdl::Config;
use warpline_sv_writer as writer;

pub const HANDSHAKE: &str = include_str!("../../properties/parts/handshake.sv");
pub const QUEUE: &str = include_str!("../../properties/parts/queue.sv");

/// The smallest device: what is proved does not depend on sizes, only the time does.
pub const SMALL: Config = Config {
    ring_octets: 4 << 10,
    commit_octets: 4 << 10,
    stag_slots: 16,
    receive_slots: 2,
    queues: 1,
    ..Config::simulated(64)
};

pub fn tools() -> Tools {
    Tools::find().unwrap_or_else(|error| panic!("{error}"))
}

/// Proves and covers; says what it took.
pub fn prove(name: &str, proof: &Proof, cover_cycles: usize) {
    let tools = tools();
    let proved = proof.prove(&tools);
    let proved = proved.unwrap_or_else(|error| panic!("{name}: {error}"));
    let start = Instant::now();
    let covered = proof.cover(&tools, cover_cycles);
    covered.unwrap_or_else(|error| panic!("{name}: {error}"));
    println!(
        "{name}: proved in {:.1?}, covers in {:.1?}",
        proved.time,
        start.elapsed()
    );
}

/// Proves, covers, plants; says what it took.
pub fn show(
    name: &str,
    proof: &Proof,
    cover_cycles: usize,
    faults: &[(&str, &str)],
    cycles: usize,
) {
    prove(name, proof, cover_cycles);
    let (tools, start) = (tools(), Instant::now());
    for (right, wrong) in faults {
        let planted = proof.clone().planted(right, wrong).unwrap();
        match planted.search(&tools, cycles) {
            Err(Error::Refuted(_)) => {}
            other => panic!("{name}: with {wrong}: {other:?}"),
        }
    }
    let took = start.elapsed();
    println!(
        "{name}: {} planted faults refuted in {took:.1?}",
        faults.len()
    );
}

/// A run from reset for each fault, which violates the assertion of that name in that cycle.
pub fn refute(name: &str, proof: &Proof, faults: &[((&str, usize), &str, &str)]) {
    let (tools, start) = (tools(), Instant::now());
    for ((assertion, cycle), right, wrong) in faults {
        let planted = proof.clone().planted(right, wrong).unwrap();
        match planted.search_for(&tools, assertion, *cycle) {
            Err(Error::Refuted(_)) => {}
            other => panic!("{name}: with {wrong}, {assertion} in cycle {cycle}: {other:?}"),
        }
    }
    let took = start.elapsed();
    println!(
        "{name}: {} planted faults refuted, one assertion each, in {took:.1?}",
        faults.len()
    );
}

/// The proof of `block` with `checker` on its ports.
pub fn checked<B: Block>(block: &B, name: &str, checker: &str) -> Proof {
    let proof = Proof::of(&writer::write(block, name).unwrap()).unwrap();
    proof.with(HANDSHAKE).bind("", checker, &[]).unwrap()
}

/// With the checker of queues at the queues that are named, with the log2 of their records and the width of one.
pub fn with_queues(proof: Proof, queues: &[(&str, usize, usize)]) -> Proof {
    queues.iter().fold(proof, |proof, (path, log, width)| {
        let parameters = [("LOG", *log), ("WIDTH", *width), ("COVERS", 0)];
        proof.bind(path, QUEUE, &parameters).unwrap()
    })
}
