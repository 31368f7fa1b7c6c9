//! Arithmetic of the CRC32C register: the check value, the residue, steps and their inverse, squares.

use warpline_hdl::parts::crc_register::{
    PRESET, RESIDUE, SQUARINGS, advance, retreat, squared, times_x,
};

fn register_behind(octets: &[u8]) -> u32 {
    octets.iter().fold(PRESET, |register, octet| {
        advance(register ^ u32::from(*octet), 8)
    })
}

// req: MPA-CRC-12
#[test]
fn register_makes_the_check_value_of_crc32c() {
    assert_eq!(register_behind(b"123456789") ^ PRESET, 0xE306_9283);
}

// req: MPA-CRC-24
#[test]
fn residue_is_left_by_any_octets_and_their_crc() {
    for octets in [&b""[..], b"a", b"123456789", &[0; 100]] {
        let crc = register_behind(octets) ^ PRESET;
        let whole = [octets, &crc.to_le_bytes()].concat();
        assert_eq!(register_behind(&whole), RESIDUE);
    }
}

#[test]
fn zeros_are_undone() {
    for bit in 0..32 {
        let value = 1 << bit;
        assert_eq!(retreat(times_x(value), 1), value);
        assert_eq!(retreat(advance(value, 512), 480), advance(value, 32));
    }
}

/// What makes `crc32c`'s loop one bit wide: squaring k times turns a step of one bit into one of 2^k bits.
#[test]
fn squaring_commutes_with_steps_and_comes_back() {
    for bit in 0..32 {
        let value = 1 << bit;
        assert_eq!(squared(value, SQUARINGS), value);
        for k in 1..=9 {
            assert_eq!(
                squared(times_x(value), k),
                advance(squared(value, k), 1 << k)
            );
        }
    }
}
