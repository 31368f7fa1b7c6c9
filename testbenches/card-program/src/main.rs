//! Checks a card, or a stand-in for one, through the driver: the same program on the host and in a guest's kernel.
//!
//! ```text
//!  host:  card-program ─► warpline-driver ─► VfioUser ───────────────────────────────────► socket ─► warpline card
//!  guest: card-program ─► warpline-driver ─► KernelVfio, PciDriver ─► Linux ─► QEMU's IOMMU ─┘
//! ```
//!
//! It prints a line for each check and ends with 1 when one of them failed.

mod card;
mod iommu;
mod pages;
mod report;
mod session;
mod stock;
mod wrapped;

use std::cell::Cell;
use std::process::ExitCode;

use card::Card;
use report::Report;
use warpline_driver::{Address, BackendError, Device, PciDriver};

const USAGE: &str = "usage: card-program [--pci-driver] check ADDRESS CAPTURE...   all checks of a card
       card-program [--pci-driver] play ADDRESS CAPTURE...    the captures alone
       card-program [--pci-driver] busy ADDRESS CAPTURE...    the longest capture, until it is killed
       card-program [--pci-driver] stock ADDRESS              the backend, with QEMU's rocker
       card-program [--pci-driver] open ADDRESS               opens the device, and nothing else
The card's network side plays the captures. ADDRESS is a PCI address or the path of a socket.";

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("  FAIL  {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<bool, BackendError> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let pci_driver = arguments
        .first()
        .is_some_and(|first| first == "--pci-driver");
    if pci_driver {
        arguments.remove(0);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut report = Report::default();
    let [command, address, captures @ ..] = &arguments[..] else {
        return Err(USAGE.into());
    };
    let address_text = *address;
    let address = address.parse()?;
    let open = || open(&address, pci_driver);
    let card = || {
        let replays = card::replays(captures)?;
        Ok::<_, BackendError>(Card {
            open: &open,
            replays,
            interrupts: Cell::default(),
        })
    };
    match *command {
        "check" => card()?.check(&mut report),
        "play" => card()?.captures(&mut report),
        "busy" => return card()?.busy(),
        "stock" => {
            let device = open()?;
            stock::run(&*device, &mut report);
            let options: &[&str] = if pci_driver { &["--pci-driver"] } else { &[] };
            stock::second_program(address_text, options, &mut report);
        }
        "open" => return open().map(|_| true),
        _ => return Err(USAGE.into()),
    }
    Ok(report.verdict())
}

/// The device at `address`, by the driver's own backend for it or by the library `pci-driver`.
fn open(address: &Address, pci_driver: bool) -> Result<Box<dyn Device>, BackendError> {
    match address {
        Address::Pci(address) if pci_driver => Ok(Box::new(PciDriver::open(*address)?)),
        address => Ok(address.device()?),
    }
}
