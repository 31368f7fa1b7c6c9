//! `warpline doctor`: what keeps a program from using a card. Each finding has one line and one remedy.

use warpline_driver::Address;
use warpline_driver::doctor::Machine;

use super::exit_code::{DIFFERENT, OK};
use super::stat::{connect, identity};
use super::terminal::{BAD, DIM, GOOD, show};
use crate::Error;
use crate::options::Doctor;

pub(super) fn run(options: &Doctor) -> Result<u8, Error> {
    let address = match &options.address {
        Some(Address::Socket(path)) => {
            let identity = identity(&connect(path)?)?;
            show(&format!(
                "{GOOD}{}: a card answers{GOOD:#}, {identity}\n",
                path.display()
            ))?;
            return Ok(OK);
        }
        Some(Address::Pci(address)) => Some(*address),
        None => None,
    };
    let findings = Machine::default()
        .examine(address)
        .map_err(Error::Machine)?;
    let blocked = findings.iter().any(|finding| finding.blocks());
    for finding in &findings {
        let colour = if finding.blocks() { BAD } else { DIM };
        show(&format!(
            "{colour}{finding}{colour:#}\n    {}\n",
            finding.remedy()
        ))?;
    }
    if !blocked {
        show(&format!(
            "{GOOD}nothing keeps a program from the card{GOOD:#}\n"
        ))?;
    }
    Ok(if blocked { DIFFERENT } else { OK })
}
