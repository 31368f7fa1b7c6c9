//! Proofs of small blocks that others are made of.

use crate::support::{QUEUE, show, tools};
use rust_hdl_core::prelude::*;
use warpline_formal::Proof;
use warpline_hdl::parts::crc32c::{self, Crc32c};
use warpline_hdl::parts::queue::Queue;
use warpline_sv_writer::{self as writer, on_large_stack};

const CRC_ORDER: &str = include_str!("../../properties/parts/crc_order.sv");

fn queue_proof<const LOG: usize>() -> Proof {
    let design = writer::write(&Queue::<Bits<8>, LOG>::default(), "queue").unwrap();
    let proof = Proof::of(&design).unwrap();
    proof
        .bind("", QUEUE, &[("LOG", LOG), ("WIDTH", 8)])
        .unwrap()
}

fn queue<const LOG: usize>(faults: &[(&str, &str)]) {
    let depth = 1 << LOG;
    let name = format!("queue of {depth}");
    show(&name, &queue_proof::<LOG>(), depth + 4, faults, depth + 4);
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn queues_of_all_depths_neither_overflow_nor_underflow_and_keep_order() {
    let overflow = ("nearly = filled == depth_less_one;", "nearly = 1'b0;");
    let underflow = ("single = filled == one;", "single = 1'b0;");
    let overwrite = ("assign put = s_valid & (~full_q);", "assign put = s_valid;");
    queue::<1>(&[overflow, underflow, overwrite]);
    queue::<2>(&[overflow]);
    queue::<3>(&[overflow, underflow, overwrite]);
    queue::<4>(&[underflow]);
    // covers of these need as many cycles as there are rows; those above have reached the same ones
    for (log, proof) in [(5, queue_proof::<5>()), (7, queue_proof::<7>())] {
        let proved = proof.prove(&tools()).unwrap();
        println!("queue of {}: proved in {:.1?}", 1 << log, proved.time);
    }
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn each_fpdu_has_one_verdict_and_in_their_order() {
    on_large_stack(|| {
        let latency = crc32c::latency(64);
        let block = Crc32c::<64, 2>::default();
        let proof = Proof::of(&writer::write(&block, "crc32c").unwrap()).unwrap();
        // sums are proved in tests/crc.rs; a verdict comes whatever they are
        let proof = ["network", "power"]
            .into_iter()
            .fold(proof, |proof, path| proof.freed(path).unwrap());
        let proof = proof
            .bind("", CRC_ORDER, &[("LATENCY", latency)])
            .unwrap()
            .steps(latency + 2);
        let each_beat = (
            "finished_d.valid = summed_q.valid & summed_q.last;",
            "finished_d.valid = summed_q.valid;",
        );
        let lost = (
            "reported_valid_d = finished_q.valid;",
            "reported_valid_d = finished_q.valid & (~summed_q.valid);",
        );
        let faults = [each_beat, lost];
        show("crc32c, order", &proof, latency + 4, &faults, latency + 4);
    });
}
