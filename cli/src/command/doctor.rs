//! `warpline doctor`: what keeps a program from using a card. Each finding has one line and one remedy.

use serde::Serialize;
use warpline_driver::Address;
use warpline_driver::doctor::Machine;

use super::exit_code::{DIFFERENT, OK};
use super::stat::{Identity, connect};
use super::terminal::{BAD, DIM, GOOD, show};
use crate::Error;
use crate::options::Doctor;

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    /// Nothing keeps a program from the card.
    usable: bool,
    /// The card that answers at a socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    card: Option<Identity>,
    findings: Vec<Found>,
}

#[derive(Serialize)]
struct Found {
    /// It keeps programs from the card; otherwise it is advice.
    blocks: bool,
    finding: String,
    remedy: String,
}

fn line(report: &Report) -> Result<String, Error> {
    Ok(serde_json::to_string(report)? + "\n")
}

pub(super) fn run(options: &Doctor) -> Result<u8, Error> {
    let address = match &options.address {
        Some(Address::Socket(path)) => {
            let identity = Identity::read(&connect(path)?)?;
            show(&match options.json {
                true => line(&Report {
                    usable: true,
                    card: Some(identity),
                    findings: Vec::new(),
                })?,
                false => format!(
                    "{GOOD}{}: a card answers{GOOD:#}, {identity}\n",
                    path.display()
                ),
            })?;
            return Ok(OK);
        }
        Some(Address::Pci(address)) => Some(*address),
        None => None,
    };
    let findings = Machine::default()
        .examine(address)
        .map_err(Error::Machine)?;
    let blocked = findings.iter().any(|finding| finding.blocks());
    let code = if blocked { DIFFERENT } else { OK };
    if options.json {
        let findings = findings.iter().map(|finding| Found {
            blocks: finding.blocks(),
            finding: finding.to_string(),
            remedy: finding.remedy().to_string(),
        });
        show(&line(&Report {
            usable: !blocked,
            card: None,
            findings: findings.collect(),
        })?)?;
        return Ok(code);
    }
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
    Ok(code)
}
