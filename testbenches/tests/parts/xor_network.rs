//! `xor_network`: every input bit by itself and random vectors, for dense, full and sparse tables.

use rust_hdl_core::prelude::*;
use warpline_hdl::parts::xor_network::{FAN_IN, XorNetwork, latency};
use warpline_sv_writer as writer;
use warpline_testbenches::lockstep::{Lockstep, LockstepError, on_large_stack};
use warpline_testbenches::stimulus;

/// A table in which an input feeds an output in `percent` of all cases.
fn table<const I: usize, const O: usize>(rng: &mut fastrand::Rng, percent: u32) -> Vec<Bits<O>> {
    let column = |rng: &mut fastrand::Rng| {
        (0..O).fold(Bits::default(), |column: Bits<O>, output| {
            column.replace_bit(output, stimulus::chance(rng, percent))
        })
    };
    (0..I).map(|_| column(rng)).collect()
}

/// Every unit vector and some random ones, a product a cycle, and each line of the text XORs [`FAN_IN`] bits at most.
fn products<const I: usize, const O: usize>(percent: u32) {
    let mut rng = fastrand::Rng::with_seed((I + O) as u64);
    let columns = table::<I, O>(&mut rng, percent);
    let block = Box::new(XorNetwork::<I, O>::new(columns.clone()));
    let top = format!("xor_network_{I}_{O}_{percent}");
    let text = writer::write(&*block, &top).unwrap().text();
    assert!(text.lines().all(|line| line.matches('^').count() < FAN_IN));
    let mut bench = Lockstep::new(&top, block, |b, level| b.clock.next = level.into()).unwrap();
    let mut expected = vec![];
    for cycle in 0..I + 100 {
        let data: Bits<I> = match cycle < I {
            true => Bits::default().replace_bit(cycle, true),
            false => stimulus::bits(&mut rng),
        };
        // the definition: output r is the parity of the inputs that row r names
        let parity = |output| {
            (0..I)
                .filter(|input| data.get_bit(*input) & columns[*input].get_bit(output))
                .count()
        };
        expected.push(
            (0..O)
                .map(|output| parity(output) % 2 == 1)
                .collect::<Vec<bool>>(),
        );
        bench.block.data.next = data;
        bench.settle().unwrap();
        if cycle >= latency(I) {
            let out = bench.block.out.val();
            let out: Vec<bool> = (0..O).map(|output| out.get_bit(output)).collect();
            assert_eq!(out, expected[cycle - latency(I)], "cycle {cycle}");
        }
        bench.edge().unwrap();
    }
}

#[test]
fn dense_tables() {
    products::<16, 5>(50);
    products::<64, 32>(50);
    on_large_stack(|| products::<512, 32>(50));
}

#[test]
fn full_tables_need_every_input_in_every_output() {
    products::<16, 3>(100);
    products::<256, 9>(100);
    on_large_stack(|| products::<512, 32>(100));
}

#[test]
fn sparse_tables_with_inputs_and_outputs_that_nothing_feeds() {
    products::<64, 32>(3);
    products::<20, 4>(1);
}

#[test]
fn latency_grows_with_the_logarithm_of_the_inputs() {
    assert_eq!(
        [2, 16, 17, 32, 64, 256, 257, 512].map(latency),
        [1, 1, 2, 2, 2, 2, 3, 3]
    );
}

#[test]
fn a_missing_term_is_seen() {
    let mut rng = fastrand::Rng::with_seed(1);
    let block = Box::new(XorNetwork::<64, 32>::new(table::<64, 32>(&mut rng, 50)));
    let mut design = writer::write(&*block, "xor_network_fault").unwrap();
    let text = &mut design.modules[0].text;
    let at = text.find(" ^ data[").unwrap();
    let end = at + text[at..].find(']').unwrap() + 1;
    text.replace_range(at..end, " ^ 1'b0");
    let clock: fn(&mut XorNetwork<64, 32>, bool) = |b, level| b.clock.next = level.into();
    let mut bench = Lockstep::with_fault("xor_network_fault", block, &design, clock).unwrap();
    let seen = (0..64).find_map(|bit| {
        bench.block.data.next = Bits::default().replace_bit(bit, true);
        bench.settle().and_then(|()| bench.edge()).err()
    });
    assert!(matches!(seen, Some(LockstepError::Differ { .. })));
}
