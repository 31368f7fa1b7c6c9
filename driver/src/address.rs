//! Addresses of cards as text.
//!
//! ```text
//!  0000:05:00.0   PCI: domain, bus, device, function      05:00.0   the same, domain 0
//!  /run/card      the socket of a card in another process; anything with a `/`
//! ```

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::context::{Context, Options};
use crate::device::Device;
use crate::error::Error;
use crate::open_error::OpenError;
use crate::pci_address::PciAddress;

impl FromStr for PciAddress {
    type Err = OpenError;

    fn from_str(text: &str) -> Result<Self, OpenError> {
        parse(text).ok_or_else(|| OpenError::Address { text: text.into() })
    }
}

fn parse(text: &str) -> Option<PciAddress> {
    let hex = |digits: &str, most: usize| {
        let digit = |octet: u8| octet.is_ascii_hexdigit();
        let number = (1..=most).contains(&digits.len()) && digits.bytes().all(digit);
        number.then(|| u32::from_str_radix(digits, 16).ok())?
    };
    let (front, function) = text.rsplit_once('.')?;
    let (front, device) = front.rsplit_once(':')?;
    let (domain, bus) = front.rsplit_once(':').unwrap_or(("0", front));
    Some(PciAddress {
        domain: hex(domain, 8)?,
        bus: hex(bus, 2)? as u8,
        device: hex(device, 2).filter(|device| *device < 32)? as u8,
        function: hex(function, 1).filter(|function| *function < 8)? as u8,
    })
}

/// Where a card is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// On the PCI bus.
    Pci(PciAddress),
    /// Behind a socket.
    Socket(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pci(address) => address.fmt(f),
            Self::Socket(path) => path.display().fmt(f),
        }
    }
}

impl FromStr for Address {
    type Err = OpenError;

    fn from_str(text: &str) -> Result<Self, OpenError> {
        OsStr::new(text).try_into()
    }
}

/// A path need not be Unicode.
impl TryFrom<&OsStr> for Address {
    type Error = OpenError;

    fn try_from(text: &OsStr) -> Result<Self, OpenError> {
        if text.as_bytes().contains(&b'/') {
            return Ok(Self::Socket(text.into()));
        }
        text.to_string_lossy().parse().map(Self::Pci)
    }
}

impl Address {
    /// Opens the card at this address with the backend that this build has for it.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn device(&self) -> Result<Box<dyn Device>, OpenError> {
        match self {
            Self::Pci(address) => pci(*address),
            Self::Socket(path) => socket(path),
        }
    }
}

#[cfg(all(target_arch = "x86_64", feature = "kernel"))]
fn pci(address: PciAddress) -> Result<Box<dyn Device>, OpenError> {
    Ok(Box::new(crate::KernelVfio::open(address)?))
}

#[cfg(all(
    target_arch = "x86_64",
    feature = "pci-driver",
    not(feature = "kernel")
))]
fn pci(address: PciAddress) -> Result<Box<dyn Device>, OpenError> {
    Ok(Box::new(crate::PciDriver::open(address)?))
}

#[cfg(not(all(
    target_arch = "x86_64",
    any(feature = "kernel", feature = "pci-driver")
)))]
fn pci(address: PciAddress) -> Result<Box<dyn Device>, OpenError> {
    Err(OpenError::NoBackend {
        address: address.to_string(),
        feature: "kernel",
    })
}

#[cfg(feature = "vfio-user")]
fn socket(path: &std::path::Path) -> Result<Box<dyn Device>, OpenError> {
    Ok(Box::new(crate::VfioUser::connect(
        path,
        crate::VfioUser::TIMEOUT,
    )?))
}

#[cfg(not(feature = "vfio-user"))]
fn socket(path: &std::path::Path) -> Result<Box<dyn Device>, OpenError> {
    Err(OpenError::NoBackend {
        address: path.display().to_string(),
        feature: "vfio-user",
    })
}

/// Opens the card at `address`: a PCI address like `0000:05:00.0`, or the path of a socket, which has a `/`.
///
/// # Errors
/// [`Error::Open`], and those of [`Context::open`].
pub fn open(address: &str, options: Options) -> Result<Context, Error> {
    let address: Address = address.parse()?;
    Context::open(address.device()?, options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_are_what_people_write() {
        let pci = |domain, bus, device, function| {
            Address::Pci(PciAddress {
                domain,
                bus,
                device,
                function,
            })
        };
        for (text, address) in [
            ("0000:05:00.0", pci(0, 5, 0, 0)),
            ("05:00.0", pci(0, 5, 0, 0)),
            ("10000:e1:1f.7", pci(0x10000, 0xE1, 31, 7)),
            ("0:A:b.1", pci(0, 10, 11, 1)),
        ] {
            assert_eq!(text.parse::<Address>().unwrap(), address, "{text}");
        }
        let socket = "./card".parse::<Address>().unwrap();
        assert_eq!(socket, Address::Socket("./card".into()));
        assert_eq!(pci(0, 5, 0x1F, 1).to_string(), "0000:05:1f.1");
        let path = OsStr::from_bytes(b"./\xFF");
        assert_eq!(
            Address::try_from(path).unwrap(),
            Address::Socket(path.into())
        );
        let refused = Address::try_from(OsStr::from_bytes(b"05:00.\xFF")).unwrap_err();
        assert!(refused.to_string().contains("is neither"), "{refused}");
    }

    #[test]
    fn other_strings_are_named() {
        for text in [
            "",
            "card",
            "05:00",
            "05.0",
            "0000:05:20.0",
            "0000:05:00.8",
            "000000000:05:00.0",
            "0000:105:00.0",
            "0000:05:00.",
            "0000:05:0x.0",
            "+0:05:00.0",
            "0000:05:00.0 ",
            "1:2:3:4.5",
        ] {
            let refused = text.parse::<Address>().unwrap_err().to_string();
            assert!(
                refused.starts_with(&format!("`{text}` is neither")),
                "{refused}"
            );
        }
    }

    proptest! {
        #[test]
        fn shown_addresses_are_read_back(domain: u32, bus: u8, device in 0_u8..32, function in 0_u8..8) {
            let address = PciAddress { domain, bus, device, function };
            prop_assert_eq!(address.to_string().parse::<PciAddress>().unwrap(), address);
        }

        #[test]
        fn no_string_panics(text: String) {
            let _ = text.parse::<Address>();
        }
    }
}
