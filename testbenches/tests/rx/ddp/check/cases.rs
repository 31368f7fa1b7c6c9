//! One FPDU of a validation case, and messages of single segments.

use super::bench::*;
use super::model::*;
use super::stimulus::*;
use warpline_regmap::layout::{completion, error_event, error_record, kind};
use warpline_wire::error_number::Checks;

/// A segment of a message on stream 1, queue 0, MSN 5: MO, last, payload octets; error, and HOLE when it is delivered.
pub type Piece = (u32, bool, usize, u16, Option<bool>);

/// Messages in pieces, as they are judged one by one.
pub fn pieces(bench: &mut Bench<4>, options: Options, pieces: &[Piece]) {
    bench.command(arm_with(1, 7, options, 0b1, 5)).unwrap();
    bench.command(post(1, 0, 100, 0x4000)).unwrap();
    for &(offset, last, length, error, hole) in pieces {
        let control = if last { 0x41 } else { 0x01 };
        let header = untagged_header(control, [0x43, 1, 2, 3, 4], 0, 5, offset);
        let text: String = header.iter().map(|octet| format!("{octet:02x}")).collect();
        let (pair, failed) = one(bench, 1, &text, length);
        let name = format!("{offset} + {length} of {pieces:?}");
        assert_eq!(failed.map_or(0, |(error, _)| error), error, "{name}");
        let told = pair.event.filter(|_| error == 0);
        let told = told.map(|event| completion::HOLE.get(&event) == 1);
        assert_eq!(told, hole, "{name}");
    }
    bench.command(freeze(1)).unwrap();
}

/// A last segment of stream 1 with payload of `length` octets at MO 0.
pub fn last<const S: usize>(bench: &mut Bench<S>, msn: u32, length: usize) {
    let header = untagged_header(0x41, [msn as u8; 5], 0, msn, 0);
    let sent = fpdu(&mut bench.rng, 1, &header, length);
    bench.send(sent);
}

/// A stream with an MSN window, and buffers of 100 octets on its queue 0.
pub fn window(bench: &mut Bench<4>, first_msn: u32, buffers: u64) {
    let options = Options {
        msn_window: true,
        ..Options::default()
    };
    bench
        .command(arm_with(1, 7, options, 0b1, first_msn))
        .unwrap();
    for i in 0..buffers {
        bench.command(post(1, 0, 100, 0x1000 * i)).unwrap();
    }
}

/// Octets of a hexadecimal text.
pub fn octets(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.map(octet).collect()
}

/// Sends one FPDU and returns its pair and, if it failed, the record's number and checks, which the event must repeat.
pub fn one<const S: usize>(
    bench: &mut Bench<S>,
    stream: u32,
    header: &str,
    payload: usize,
) -> (Pair, Option<(u16, u16)>) {
    let sent = fpdu(&mut bench.rng, stream, &octets(header), payload);
    bench.send(sent);
    while !bench.lockstep.block.m_valid.val() {
        bench.cycle().unwrap();
    }
    let block = &bench.lockstep.block;
    let pair = Pair::of(block.placement.val(), block.delivery.val());
    bench.drain().unwrap();
    let record = bench.read_record(stream as usize).unwrap();
    assert_eq!(record, bench.model.streams[stream as usize].record);
    let field = |field: warpline_regmap::Field| field.get(&record) as u16;
    let failed = (field(error_record::VALID) == 1).then(|| {
        let number = field(error_record::TYPE) << 8 | field(error_record::CODE);
        (number, field(error_record::CHECKS))
    });
    if let Some((number, checks)) = failed {
        let event = pair.event.expect("an error makes an event");
        assert_eq!(error_event::KIND.get(&event), u64::from(kind::ERROR));
        assert_eq!((event[1] as u16, event[2] as u16), (number, checks));
        assert_eq!(pair.write, None, "nothing of a failing segment is placed");
    }
    (pair, failed)
}

pub fn checks(names: &str) -> u16 {
    let bit = |name: &str| {
        Checks::from_name(&name.to_uppercase())
            .expect("a name")
            .bits()
    };
    names.split_whitespace().map(bit).sum()
}

/// An untagged segment of one octet, the last of its message.
pub fn message<const S: usize>(bench: &mut Bench<S>, stream: u32, queue: u32, msn: u32) -> Fpdu {
    let header = untagged_header(0x41, [0; 5], queue, msn, 0);
    fpdu(&mut bench.rng, stream, &header, 1)
}
