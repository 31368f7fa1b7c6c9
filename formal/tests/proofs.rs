//! Proofs of blocks, all inputs and for ever; `make formal` runs them.
//!
//! Every test proves its block, reaches every cover, and shows that each planted fault has a counterexample from reset.

use rust_hdl_core::prelude::*;
use std::time::Instant;
use warpline_formal::{Error, Proof, Tools};
use warpline_hdl::completion::CompletionWriter;
use warpline_hdl::interrupts::Interrupts;
use warpline_hdl::queue::Queue;
use warpline_hdl::registers::Registers;
use warpline_hdl::window::Window;
use warpline_hdl::{Config, writer};

const COMPLETION: &str = include_str!("../properties/completion.sv");
const HANDSHAKE: &str = include_str!("../properties/handshake.sv");
const INTERRUPTS: &str = include_str!("../properties/interrupts.sv");
const QUEUE: &str = include_str!("../properties/queue.sv");
const REGISTERS: &str = include_str!("../properties/registers.sv");
const WINDOW: &str = include_str!("../properties/window.sv");

/// The smallest device: what is proved does not depend on sizes, only the time does.
const SMALL: Config = Config {
    ring_octets: 4 << 10,
    commit_octets: 4 << 10,
    stag_slots: 16,
    receive_slots: 2,
    queues: 1,
    ..Config::simulated(64)
};

/// Proves, covers, plants; says what it took.
fn show(name: &str, proof: &Proof, cover_cycles: usize, faults: &[(&str, &str)], cycles: usize) {
    let tools = Tools::find();
    let proved = proof.prove(&tools);
    let proved = proved.unwrap_or_else(|error| panic!("{name}: {error}"));
    let start = Instant::now();
    let covered = proof.cover(&tools, cover_cycles);
    covered.unwrap_or_else(|error| panic!("{name}: {error}"));
    let covered = start.elapsed();
    for (right, wrong) in faults {
        let planted = proof.clone().planted(right, wrong).unwrap();
        match planted.search(&tools, cycles) {
            Err(Error::Refuted(_)) => {}
            other => panic!("{name}: with {wrong}: {other:?}"),
        }
    }
    println!(
        "{name}: proved in {:.1?}, covers in {covered:.1?}, {} planted faults refuted in {:.1?}",
        proved.time,
        faults.len(),
        start.elapsed() - covered
    );
}

/// Blocks of wide signals need more stack than a test has.
fn on_large_stack(run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(run);
    if let Err(panic) = thread.unwrap().join() {
        std::panic::resume_unwind(panic);
    }
}

/// The proof of `block` with `checker` on its ports.
fn checked<B: Block>(block: &B, name: &str, checker: &str) -> Proof {
    let proof = Proof::of(&writer::write(block, name).unwrap()).unwrap();
    proof.with(HANDSHAKE).bind("", checker, &[]).unwrap()
}

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
    let overflow = (
        "if (s_valid & (filled != depth)) begin",
        "if (s_valid) begin",
    );
    let underflow = (
        "if (m_ready & (filled != 8'h0)) begin",
        "if (m_ready) begin",
    );
    let overwrite = (
        "assign store_write = s_valid & (filled != depth);",
        "assign store_write = s_valid;",
    );
    queue::<1>(&[overflow, underflow, overwrite]);
    queue::<2>(&[overflow]);
    queue::<3>(&[overflow, underflow, overwrite]);
    queue::<4>(&[underflow]);
    // covers of these need as many cycles as there are rows; those above have reached the same ones
    for (log, proof) in [(5, queue_proof::<5>()), (7, queue_proof::<7>())] {
        let proved = proof.prove(&Tools::find()).unwrap();
        println!("queue of {}: proved in {:.1?}", 1 << log, proved.time);
    }
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn window_reports_keep_the_rules_of_axi4_stream() {
    let proof = checked(&Window::<4>::default(), "window", WINDOW);
    let overtaken = ("if (step) begin", "if (1) begin");
    let withdrawn = ("valid_d = valid_q;", "valid_d = 1'b0;");
    show("m_axis_window", &proof, 4, &[overtaken, withdrawn], 6);
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn interrupt_messages_keep_the_rules_of_axi4_stream() {
    let proof = checked(&Interrupts::default(), "interrupts", INTERRUPTS);
    let overtaken = ("if (~offered_q) begin", "if (1) begin");
    let withdrawn = (
        "(offered_q & (~m_axis_msix_tready))",
        "(offered_q & (~m_axis_msix_tready) & (|pending_q))",
    );
    show("m_axis_msix", &proof, 8, &[overtaken, withdrawn], 8);
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn registers_answer_each_request_once_and_in_time() {
    on_large_stack(|| {
        let proof = checked(&Registers::<4>::new(&SMALL), "registers", REGISTERS);
        let hasty = (
            "apply_d = ((aw_held_q & w_held_q) & (~apply_q)) & (~b_valid_q);",
            "apply_d = ((aw_held_q | w_held_q) & (~apply_q)) & (~b_valid_q);",
        );
        let twice = (
            "apply_d = ((aw_held_q & w_held_q) & (~apply_q)) & (~b_valid_q);",
            "apply_d = (aw_held_q & w_held_q) & (~b_valid_q);",
        );
        let lost = (
            "if (r_valid_q & s_axil_rready) begin",
            "if (r_valid_q) begin",
        );
        let word = (
            "if (step_q == 2'h2) begin\n            r_data_d",
            "if (1) begin\n            r_data_d",
        );
        show("s_axil", &proof, 16, &[hasty, twice, lost, word], 10);
    });
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn completion_entries_stay_in_their_queue_and_keep_the_rules_of_axi4() {
    on_large_stack(|| {
        let block = CompletionWriter::<64, 8>::default();
        let proof = checked(&block, "completion", COMPLETION);
        let outside = (
            "slot_d = given_q[15:0] & slot_mask[15:0];",
            "slot_d = given_q[15:0];",
        );
        let between = (
            "if (restart) begin\n                    step_d = Step_Wait;",
            "if (restart) begin\n                    step_d = Step_High;",
        );
        let long = ("beats_left_d = beats_less_one;", "beats_left_d = 2'h2;");
        let early = ("if (m_axi_awready) begin", "if (m_axi_wready) begin");
        show(
            "completion",
            &proof,
            14,
            &[outside, between, long, early],
            20,
        );
    });
}
