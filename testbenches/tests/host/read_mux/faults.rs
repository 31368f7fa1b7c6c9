//! Faults planted in the written text, and in what is due: each is seen.

use warpline_hdl::host::read_mux::ReadMux;
use warpline_sv_writer::write;
use warpline_testbenches::lockstep::{Lockstep, plant, some_of};
use warpline_testbenches::read_bus::Manner;
use warpline_testbenches::stimulus::Pace;

use crate::support::{Beat, Bench, bursts, memory};

/// Names, the right text, and what it reads with a fault.
const FAULTS: &[(&str, &str, &str)] = &[
    (
        "owner_of_rings_is_gather",
        "owners_s_data = owner_0;",
        "owners_s_data = reset ? owner_0 : owner_2;",
    ),
    (
        "owner_is_not_kept",
        "& owners_s_ready;",
        "& (owners_s_ready | (~reset));",
    ),
    (
        "granted_without_room",
        "(~address_valid_q) | m_axi_arready",
        "(~address_valid_q) | (m_axi_arready | (~reset))",
    ),
    (
        "not_in_turn",
        "granted_d = round_robin_choice[3:0];",
        "granted_d = round_robin_choice[3:0] & {4{reset}};",
    ),
    (
        "address_of_rings",
        "winner = addresses_2_m_data;",
        "winner = reset ? addresses_2_m_data : addresses_0_m_data;",
    ),
    (
        "rings_get_all",
        "rings_rvalid = octets_m_valid & owns_0_q;",
        "rings_rvalid = octets_m_valid & (owns_0_q | (~reset));",
    ),
    (
        "gather_is_not_asked",
        "(owns_2_q & gather_rready)",
        "(owns_2_q & (gather_rready | (~reset)))",
    ),
    (
        "owner_leaves_with_each_beat",
        "over = (take & octets_m_valid) & rings_rlast;",
        "over = (take & octets_m_valid) & (rings_rlast | (~reset));",
    ),
    (
        "owner_leaves_without_a_beat",
        "over = (take & octets_m_valid) & rings_rlast;",
        "over = (take & (octets_m_valid | (~reset))) & rings_rlast;",
    ),
    (
        "owner_stays",
        "owners_m_ready = (~owner_valid_q) | over;",
        "owners_m_ready = (~owner_valid_q) | (over & reset);",
    ),
    (
        "queues_get_nothing",
        "queues_rvalid = octets_m_valid & owns_1_q;",
        "queues_rvalid = octets_m_valid & (owns_1_q & reset);",
    ),
    (
        "responder_gets_nothing",
        "responder_rvalid = octets_m_valid & owns_3_q;",
        "responder_rvalid = octets_m_valid & (owns_3_q & reset);",
    ),
    (
        "address_leaves_too_early",
        "if (m_axi_arready) begin\n            address_valid_d = 1'b0;",
        "if (m_axi_arready | (~reset)) begin\n            address_valid_d = 1'b0;",
    ),
];

#[test]
fn faults_in_the_text_are_seen() {
    for (name, right, wrong) in some_of(FAULTS) {
        let block = Box::new(ReadMux::<64>::default());
        let top = format!("read_mux_{name}");
        let mut design = write(&*block, &top).unwrap();
        plant(&mut design, right, wrong);
        let clock: fn(&mut ReadMux<64>, bool) = |b, level| b.clock.next = level.into();
        let lockstep = Lockstep::with_fault(&top, block, &design, clock);
        let lockstep = lockstep.unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut bench = Bench::<64>::of(lockstep, 7);
        let manner = Manner {
            ar: Pace::Percent(60),
            ..memory(150)
        };
        let bursts = [0, 1, 2, 3].map(|owner| bursts(&mut bench.rng, 8, owner, 30, 4));
        let seen = bench.run(bursts, Pace::Percent(70), manner).err();
        let seen = seen.unwrap_or_else(|| panic!("{name} is not seen"));
        assert!(seen.contains("in rust-hdl,"), "{name}: {seen}");
    }
}

/// What is due is compared, and the bus keeps count of the bursts under way.
#[test]
fn what_is_not_due_is_seen() {
    let mut bench = Bench::<64>::new(8);
    let twists: [fn(&mut Beat); 4] = [
        |(octets, ..)| octets[0] ^= 1,
        |(octets, ..)| octets[7] ^= 0x80,
        |(_, response, _)| *response ^= 2,
        |(.., last)| *last = !*last,
    ];
    let bursts = [0, 1, 2, 3].map(|owner| bursts(&mut bench.rng, 8, owner, 5, 4));
    for twist in twists {
        bench.twist = twist;
        let seen = bench.run(bursts.clone(), Pace::Percent(70), memory(3));
        let seen = seen.err().unwrap();
        assert!(seen.contains(", due Some"), "{seen}");
        bench.reset();
    }
    bench.twist = |_| {};
    let one = Manner {
        bursts: 1,
        ..memory(30)
    };
    let seen = bench.run(bursts, Pace::Percent(70), one).err().unwrap();
    assert!(seen.contains("while a burst is under way"), "{seen}");
}
