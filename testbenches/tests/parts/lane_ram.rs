//! `lane_ram`: reads and writes that straddle rows, every cycle, against a plain array of octets.

use rust_hdl_core::prelude::*;
use warpline_hdl::parts::lane_ram::{HeaderRam, LATENCY, LaneRam};
use warpline_sv_writer as writer;
use warpline_testbenches::lockstep::{Lockstep, LockstepError, on_large_stack};
use warpline_testbenches::stimulus::{self, chance};

/// What a port does in a cycle: for each lane its row, or nothing.
fn lanes<const K: usize>(select: Bits<K>, rows: [usize; 2]) -> Vec<usize> {
    (0..K)
        .map(|lane| rows[usize::from(select.get_bit(lane))])
        .collect()
}

/// Lanes up to a random one, as an access that starts there and runs on has it; now and then any lanes.
fn straddling<const K: usize>(rng: &mut fastrand::Rng) -> Bits<K> {
    let start = rng.usize(0..=K);
    match chance(rng, 80) {
        true => (0..start).fold(Bits::default(), |mask: Bits<K>, lane| {
            mask.replace_bit(lane, true)
        }),
        false => stimulus::bits(rng),
    }
}

fn octets<const W: usize>(bits: Bits<W>) -> Vec<u8> {
    (0..W / 8)
        .map(|octet| bits.get_bits::<8>(8 * octet).to_u8())
        .collect()
}

/// Rows that came out `late` cycles after they were asked for and were not what an array of octets says.
fn mismatches<const W: usize, const K: usize, const A: usize>(
    rows: usize,
    late: usize,
    cycles: usize,
) -> usize {
    let mut rng = fastrand::Rng::with_seed(0x1A3E + W as u64);
    let top = format!("lane_ram_{W}_{rows}");
    let block = Box::new(LaneRam::<W, K, A>::new(rows));
    let mut bench = Lockstep::new(&top, block, |b, level| b.clock.next = level.into()).unwrap();
    let mut array = vec![vec![0; K]; rows];
    let (mut expected, mut wrong, mut straddled) = (vec![], 0, 0);
    for cycle in 0..cycles {
        let b = &mut bench.block;
        // address bits above those needed are ignored
        let mut row = || rng.usize(0..1 << A);
        let (write, read) = ([row(), row()], [row(), row()]);
        let enable = if chance(&mut rng, 70) {
            stimulus::bits::<K>(&mut rng)
        } else {
            Bits::default()
        };
        let (write_select, read_select) = (straddling::<K>(&mut rng), straddling::<K>(&mut rng));
        let data: Bits<W> = stimulus::bits(&mut rng);
        b.write_enable.next = enable;
        b.write_select.next = write_select;
        b.write_row_0.next = (write[0] as u64).into();
        b.write_row_1.next = (write[1] as u64).into();
        b.write_data.next = data;
        b.read_select.next = read_select;
        b.read_row_0.next = (read[0] as u64).into();
        b.read_row_1.next = (read[1] as u64).into();
        let from = lanes(read_select, read.map(|row| row % rows));
        expected.push(
            (0..K)
                .map(|lane| array[from[lane]][lane])
                .collect::<Vec<u8>>(),
        );
        straddled += usize::from(from.iter().any(|row| *row != from[0]));
        let to = lanes(write_select, write.map(|row| row % rows));
        let written = octets(data);
        for lane in (0..K).filter(|lane| enable.get_bit(*lane)) {
            array[to[lane]][lane] = written[lane];
        }
        bench.settle().unwrap();
        if cycle >= late {
            wrong += bench.mismatch(octets(bench.block.read_data.val()) != expected[cycle - late]);
        }
        bench.edge().unwrap();
    }
    assert!(straddled > cycles / 2);
    wrong
}

/// As [`mismatches`], for the copy of the first two octets of each dword.
fn header_mismatches<
    const W: usize,
    const K: usize,
    const D: usize,
    const A: usize,
    const H: usize,
>(
    rows: usize,
    late: usize,
    cycles: usize,
) -> usize {
    let mut rng = fastrand::Rng::with_seed(0x4EAD + W as u64);
    let top = format!("header_ram_{W}_{rows}");
    let block = Box::new(HeaderRam::<W, K, D, A, H>::new(rows));
    let mut bench = Lockstep::new(&top, block, |b, level| b.clock.next = level.into()).unwrap();
    let mut array = vec![vec![0; K]; rows];
    let (mut expected, mut wrong) = (vec![], 0);
    for cycle in 0..cycles {
        let b = &mut bench.block;
        let (write, read) = (
            [rng.usize(0..1 << A), rng.usize(0..1 << A)],
            rng.usize(0..1 << A),
        );
        let (enable, select) = (stimulus::bits::<K>(&mut rng), straddling::<K>(&mut rng));
        let data: Bits<W> = stimulus::bits(&mut rng);
        b.write_enable.next = enable;
        b.write_select.next = select;
        b.write_row_0.next = (write[0] as u64).into();
        b.write_row_1.next = (write[1] as u64).into();
        b.write_data.next = data;
        b.read_row.next = (read as u64).into();
        let kept = |dword: &[u8]| dword[..2].to_vec();
        expected.push(
            array[read % rows]
                .chunks(4)
                .flat_map(kept)
                .collect::<Vec<u8>>(),
        );
        let to = lanes(select, write.map(|row| row % rows));
        let written = octets(data);
        for lane in (0..K).filter(|lane| enable.get_bit(*lane)) {
            array[to[lane]][lane] = written[lane];
        }
        bench.settle().unwrap();
        if cycle >= late {
            wrong += bench.mismatch(octets(bench.block.read_data.val()) != expected[cycle - late]);
        }
        bench.edge().unwrap();
    }
    wrong
}

#[test]
fn lanes_at_64_bits() {
    assert_eq!(mismatches::<64, 8, 4>(16, LATENCY, 4000), 0);
    assert_eq!(mismatches::<64, 8, 13>(8192, LATENCY, 1000), 0);
}

#[test]
fn lanes_at_512_bits_with_address_bits_to_spare() {
    on_large_stack(|| assert_eq!(mismatches::<512, 64, 6>(16, LATENCY, 500), 0));
}

#[test]
fn lanes_at_128_and_256_bits() {
    on_large_stack(|| {
        assert_eq!(mismatches::<128, 16, 4>(8, LATENCY, 500), 0);
        assert_eq!(mismatches::<256, 32, 4>(8, LATENCY, 500), 0);
    });
}

#[test]
fn first_octets_of_dwords_at_64_bits() {
    assert_eq!(header_mismatches::<64, 8, 2, 6, 32>(16, LATENCY, 4000), 0);
}

#[test]
fn first_octets_of_dwords_at_512_bits() {
    on_large_stack(|| {
        assert_eq!(
            header_mismatches::<512, 64, 16, 4, 256>(16, LATENCY, 500),
            0
        )
    });
}

#[test]
fn latency_is_two_cycles() {
    assert_eq!(LATENCY, 2);
    // the scoreboards see memories that are a cycle early or late
    for late in [1, 3] {
        assert!(mismatches::<64, 8, 4>(16, late, 300) > 100);
        assert!(header_mismatches::<64, 8, 2, 6, 32>(16, late, 300) > 100);
    }
}

#[test]
fn a_lane_in_the_wrong_row_is_seen() {
    let block = Box::new(LaneRam::<64, 8, 4>::new(16));
    let mut design = writer::write(&*block, "lane_ram_fault").unwrap();
    let text = &mut design.modules[0].text;
    let faulty = text.replace("write_select[LANE] ?", "write_select[LANE ^ 1] ?");
    assert_ne!(*text, faulty);
    *text = faulty;
    let clock: fn(&mut LaneRam<64, 8, 4>, bool) = |b, level| b.clock.next = level.into();
    let mut bench = Lockstep::with_fault("lane_ram_fault", block, &design, clock).unwrap();
    bench.block.write_enable.next = 0xFF.into();
    bench.block.write_select.next = 0x07.into();
    bench.block.write_row_1.next = 1.into();
    bench.block.write_data.next = 0x0807_0605_0403_0201_u64.into();
    let seen = (0..5).find_map(|_| bench.settle().and_then(|()| bench.edge()).err());
    assert!(matches!(seen, Some(LockstepError::Differ { .. })));
}
