//! CRC32C as MPA uses it (RFC 5044 §4.4): the Castagnoli polynomial of iSCSI digests, its value
//! sent least significant octet first.

use ::crc::{CRC_32_ISCSI, Crc, Table};

/// Size of the CRC field in octets.
pub const LEN: usize = 4;
/// Generator polynomial with the coefficient of x^31 in bit 0, as a shift-right register uses it.
pub const POLYNOMIAL_REFLECTED: u32 = 0x82F6_3B78;
/// Register value before the first octet.
pub const INIT: u32 = 0xFFFF_FFFF;
/// Value the register is exclusive-ored with after the last octet.
pub const XOR_OUT: u32 = 0xFFFF_FFFF;
/// [`crc32c`] over any octets followed by their own CRC field (MPA-CRC-24).
pub const RESIDUE: u32 = 0x4867_4BC7;
/// The same residue as the register holds it, before the final inversion.
pub const RESIDUE_REGISTER: u32 = RESIDUE ^ XOR_OUT;

/// Octets that a step of the calculation takes, and kibibytes of its table. Without `alloc` this is code for a small processor.
const LANES: usize = if cfg!(feature = "alloc") { 16 } else { 1 };

static CRC32C: Crc<u32, Table<LANES>> = Crc::<u32, Table<LANES>>::new(&CRC_32_ISCSI);

/// CRC32C of `octets`.
pub fn crc32c(octets: &[u8]) -> u32 {
    CRC32C.checksum(octets)
}

/// The CRC field for a value: least significant octet first (MPA-FMT-17).
pub const fn to_wire(crc: u32) -> [u8; LEN] {
    crc.to_le_bytes()
}

/// The value a CRC field holds.
pub const fn from_wire(field: [u8; LEN]) -> u32 {
    u32::from_le_bytes(field)
}

/// The CRC that octets should have carried, calculated back from the value of a CRC register.
///
/// The register processed the octets, their CRC field (`received`) and then `zero_dwords` dwords of
/// zeros: hardware consumes whole beats. Each step of the register has an inverse, so this function
/// undoes them bit by bit.
pub const fn expected(register: u32, zero_dwords: usize, received: u32) -> u32 {
    let mut value = register;
    let mut bits = 32 * (zero_dwords + 1);
    while bits > 0 {
        value = match value >> 31 {
            0 => value << 1,
            _ => (value ^ POLYNOMIAL_REFLECTED) << 1 | 1,
        };
        bits -= 1;
    }
    value ^ received ^ XOR_OUT
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: MPA-CRC-24
    #[test]
    fn the_expected_crc_does_not_depend_on_what_followed() {
        let octets = b"octets of an FPDU up to its PAD.";
        for received in [crc32c(octets), 0, 0xDEAD_BEEF] {
            for zero_dwords in 0..16 {
                let mut all = octets.to_vec();
                all.extend(to_wire(received));
                all.resize(all.len() + 4 * zero_dwords, 0);
                let register = crc32c(&all) ^ XOR_OUT;
                assert_eq!(expected(register, zero_dwords, received), crc32c(octets));
                assert_ne!(
                    expected(register, zero_dwords + 1, received),
                    crc32c(octets)
                );
            }
        }
    }

    // req: MPA-CRC-12
    #[test]
    fn parameters_describe_the_library_algorithm() {
        let mut register = INIT;
        for octet in *b"123456789" {
            register ^= u32::from(octet);
            for _ in 0..8 {
                let odd = register & 1 == 1;
                register = (register >> 1) ^ if odd { POLYNOMIAL_REFLECTED } else { 0 };
            }
        }
        assert_eq!(register ^ XOR_OUT, crc32c(b"123456789"));
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }
}
