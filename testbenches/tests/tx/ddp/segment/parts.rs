//! The arithmetic of the block by itself, against `warpline_wire`.

use fastrand::Rng;
use warpline_hdl::tx::ddp::segment::fpdu_length::{self, FpduLength};
use warpline_hdl::tx::ddp::segment::mulpdu::{self, Mulpdu, largest_ulpdu};
use warpline_sv_writer::write;
use warpline_testbenches::lockstep::{Lockstep, plant};
use warpline_testbenches::stimulus::chance;
use warpline_wire::mpa;

/// Compares the lengths of many FPDUs, around each number of markers and at random.
fn compare_lengths(lockstep: &mut Lockstep<FpduLength>) -> Result<(), String> {
    let mut rng = Rng::with_seed(1);
    let mut due = std::collections::VecDeque::new();
    for cycle in 0..20_000_u32 {
        let (length, position) = match cycle {
            0..12_000 => {
                let markers = rng.u32(0..128);
                let length = (markers * 508 + rng.u32(0..24)).min(64_768);
                (length as u16, 4 * rng.u32(0..=130))
            }
            _ => (rng.u16(..=64_768), rng.u32(..) & !3),
        };
        let markers = chance(&mut rng, 80);
        let b = &mut lockstep.block;
        b.position.next = u64::from(position).into();
        b.length.next = u64::from(length).into();
        b.markers.next = markers;
        due.push_back(mpa::fpdu_len(position, length.into(), markers));
        lockstep.settle().map_err(|e| e.to_string())?;
        if due.len() > fpdu_length::LATENCY {
            let octets = 4 * lockstep.block.dwords.val().index();
            let due = due.pop_front();
            if Some(octets) != due {
                return Err(format!("cycle {cycle}: {octets} octets, due {due:?}"));
            }
        }
        lockstep.edge().map_err(|e| e.to_string())?;
    }
    Ok(())
}

const CLOCK: fn(&mut FpduLength, bool) = |b, level| b.clock.next = level.into();

// req: MPA-MRK-08
#[test]
fn lengths_of_fpdus_are_those_on_the_wire() {
    let block = Box::new(FpduLength::default());
    let mut lockstep = Lockstep::new("fpdu_length", block, CLOCK).unwrap();
    compare_lengths(&mut lockstep).unwrap();
}

#[test]
fn a_quotient_that_is_one_too_small_is_seen() {
    let faults = [
        ("extra_4_d = 2'h2;", "extra_4_d = 2'h1;"),
        ("rest_3_q >= once", "rest_3_q > once"),
    ];
    for (index, (right, wrong)) in faults.iter().enumerate() {
        let block = Box::new(FpduLength::default());
        let top = format!("fpdu_length_{index}");
        let mut design = write(&*block, &top).unwrap();
        plant(&mut design, right, wrong);
        let mut lockstep = Lockstep::with_design(&top, block, &design, CLOCK).unwrap();
        let seen = compare_lengths(&mut lockstep).unwrap_err();
        assert!(seen.contains("in rust-hdl,"), "{wrong}: {seen}");
    }
}

// req: MPA-SEG-01, MPA-SEG-02, MPA-SEG-03, MPA-SEG-04, MPA-SEG-12, AMB-48
#[test]
fn mulpdu_follows_both_formulas_and_the_ring() {
    for ring in [4 << 10, 16 << 10, 128 << 10] {
        let block = Box::new(Mulpdu::new(ring));
        let top = format!("mulpdu_{ring}");
        let mut lockstep =
            Lockstep::new(&top, block, |b, level| b.clock.next = level.into()).unwrap();
        let mut due = std::collections::VecDeque::new();
        let largest = [false, true].map(|markers| largest_ulpdu(ring, markers));
        let mut check = |emss: u16, markers: bool| {
            let b = &mut lockstep.block;
            b.emss.next = u64::from(emss).into();
            b.markers.next = markers;
            let most = largest[usize::from(markers)];
            due.push_back(mpa::mulpdu(emss.into(), markers).min(most));
            lockstep.settle().unwrap();
            if due.len() > mulpdu::LATENCY {
                let found = lockstep.block.mulpdu.val().index() as u16;
                assert_eq!(Some(found), due.pop_front(), "EMSS near {emss}");
            }
            lockstep.edge().unwrap();
        };
        for emss in (128..3000)
            .chain((3000..65_000).step_by(37))
            .chain(65_000..=65_535)
        {
            check(emss, true);
            check(emss, false);
        }
    }
}

#[test]
fn the_largest_ulpdu_fits_and_the_next_one_does_not() {
    for ring in [4 << 10, 8 << 10, 16 << 10, 64 << 10] {
        for markers in [false, true] {
            let largest = usize::from(largest_ulpdu(ring, markers));
            let positions = (0..1024).step_by(4);
            let longest = |ulpdu| {
                let lengths = positions.clone().map(|p| mpa::fpdu_len(p, ulpdu, markers));
                lengths.max().unwrap()
            };
            assert!(longest(largest) <= ring);
            assert!(longest(largest + 1) > ring || largest == usize::from(mpa::MAX_ULPDU));
        }
    }
}
