//! Proofs of the STag table and the checks of regions.

use crate::support::{SMALL, checked, show};
use warpline_hdl::tables::stag_table::StagTable;
use warpline_hdl::tables::tagged_checks::TaggedChecks;
use warpline_sv_writer::on_large_stack;

const BOUNDS: &str = include_str!("../../properties/tables/bounds.sv");
const STAG_TABLE: &str = include_str!("../../properties/tables/stag_table.sv");

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn what_passes_the_tagged_checks_lies_inside_of_its_region() {
    let proof = checked(&TaggedChecks::default(), "bounds", BOUNDS).steps(4);
    let at_the_end = (
        "last_below_low_3_d = last_low_2_q < end_2_q[31:0];",
        "last_below_low_3_d = last_low_2_q <= end_2_q[31:0];",
    );
    let carry = (
        "address_high_2_d = address_high_1_q + (32'(address_low_1_q[32]));",
        "address_high_2_d = address_high_1_q;",
    );
    let others = ("(entry.stream == stream)", "1'b1");
    let other_domain = (
        "(entry.protection_domain == protection_domain)",
        "entry.stream_scope",
    );
    let faults = [at_the_end, carry, others, other_domain];
    show("tagged checks", &proof, 6, &faults, 6);
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn stag_table_holds_regions_as_they_were_given() {
    on_large_stack(|| {
        let block = StagTable::new(SMALL.stag_slots);
        let proof = checked(&block, "stag_table", STAG_TABLE);
        let carry = (
            "end_carried_d = end_high_q + (33'(end_low_q[32]));",
            "end_carried_d = end_high_q;",
        );
        let borrow = (
            "shift_borrowed_d = shift_high_q - (32'(shift_low_q[32]));",
            "shift_borrowed_d = shift_high_q;",
        );
        let kept = (
            "if (clearing_q) begin",
            "if (clearing_q & (~writing_q)) begin",
        );
        show("STag table", &proof, 12, &[carry, borrow, kept], 10);
    });
}
