//! Parts that the open tools support, and their resources.

use crate::error::Error;

/// A part.
///
/// Sizes: ECP5 and ECP5-5G Family Data Sheet (Lattice FPGA-DS-02012), table 1.1. A LUT4 has a flip-flop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Name, as for `--part`.
    pub name: &'static str,
    /// Option of nextpnr.
    pub(crate) device: &'static str,
    /// Package.
    pub package: &'static str,
    /// Speed grade.
    pub speed: u8,
    /// LUT4s, and flip-flops.
    pub lut4: u64,
    /// Block RAMs of 18 kbit.
    pub ebr: u64,
}

const fn ecp5_5g(name: &'static str, device: &'static str, lut4: u64, ebr: u64) -> Part {
    Part {
        name,
        device,
        package: "CABGA381",
        speed: 8, // the only grade of ECP5-5G
        lut4,
        ebr,
    }
}

/// Speed grade 6, the slowest: that of the boards.
const fn ecp5(name: &'static str, device: &'static str, lut4: u64, ebr: u64) -> Part {
    Part {
        speed: 6,
        ..ecp5_5g(name, device, lut4, ebr)
    }
}

/// All parts.
const PARTS: [Part; 6] = [
    ecp5_5g("lfe5um5g-85f", "--um5g-85k", 83_640, 208),
    ecp5_5g("lfe5um5g-45f", "--um5g-45k", 43_848, 108),
    ecp5_5g("lfe5um5g-25f", "--um5g-25k", 24_288, 56),
    Part {
        package: "CABGA554",
        ..ecp5_5g("lfe5um5g-85f-bg554", "--um5g-85k", 83_640, 208)
    },
    ecp5("lfe5u-85f", "--85k", 83_640, 208),
    ecp5("lfe5u-45f", "--45k", 43_848, 108),
];

/// The part of that name.
///
/// # Errors
/// [`Error::Part`], which lists all.
pub fn part(name: &str) -> Result<&'static Part, Error> {
    let found = PARTS
        .iter()
        .find(|part| part.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| Error::Part {
        name: name.into(),
        known: PARTS.map(|part| part.name).join(", "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_unknown_is_told_with_those_that_are_not() {
        assert_eq!(part("LFE5UM5G-85F").unwrap(), &PARTS[0]);
        let said = part("xc7a35t").unwrap_err().to_string();
        assert_eq!(
            said,
            "no part \"xc7a35t\": choose one of lfe5um5g-85f, lfe5um5g-45f, lfe5um5g-25f, lfe5um5g-85f-bg554, lfe5u-85f, lfe5u-45f"
        );
    }
}
