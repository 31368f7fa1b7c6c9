//! Why a card could not be opened.

use warpline_regmap::{pci, register};

use crate::device::BackendError;
use crate::pci_address::PciAddress;

/// Why a card could not be opened, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The machine has no such device.
    #[error(
        "{address}: no such device: `lspci -D -d {:04x}:{:04x}` lists cards",
        pci::VENDOR,
        pci::DEVICE
    )]
    NoDevice {
        /// The address.
        address: PciAddress,
    },
    /// The device is not behind an IOMMU.
    #[error(
        "{address} is in no IOMMU group: enable the IOMMU in the firmware and on the kernel's command line (intel_iommu=on or amd_iommu=on)"
    )]
    NoIommu {
        /// The address.
        address: PciAddress,
    },
    /// The device is bound to another driver, or to none.
    #[error(
        "{address} is bound to {}: `echo vfio-pci > /sys/bus/pci/devices/{address}/driver_override`, unbind it there, then `echo {address} > /sys/bus/pci/drivers_probe`",
        driver.as_deref().unwrap_or("no driver")
    )]
    WrongDriver {
        /// The address.
        address: PciAddress,
        /// That driver.
        driver: Option<String>,
    },
    /// The kernel does not open the device.
    #[error("{action} failed: {source}: `warpline doctor` lists what is missing")]
    Kernel {
        /// What was asked for.
        action: &'static str,
        /// The library's or kernel's reason.
        source: BackendError,
    },
    /// BAR 0 cannot hold the registers.
    #[error(
        "BAR {} has {found} octets, a warpline card has {}: check the address, and the BAR sizes of the card's PCIe core",
        pci::REGISTER_BAR,
        register::SPACE
    )]
    RegisterBar {
        /// Its size in octets; 0 when it cannot be read and written.
        found: u64,
    },
    /// There are too few MSI-X vectors.
    #[error(
        "the device has {found} MSI-X vectors, the driver needs {}: check the address, and the card's PCIe core",
        register::interrupt::COUNT
    )]
    Vectors {
        /// Vectors of the device.
        found: u32,
    },
    /// The device cannot be reset.
    #[error(
        "the device cannot be reset: it needs function-level reset, or a separate bus; `cat /sys/bus/pci/devices/…/reset_method` shows the methods that the kernel knows"
    )]
    NoReset,
    /// The kernel reports no usable bus addresses.
    #[error("the kernel reports no usable bus addresses ({reason}): Linux 5.4 or newer is needed")]
    BusAddresses {
        /// What is wrong with its answer.
        reason: &'static str,
    },
    /// The device at the socket refused a request.
    #[cfg(feature = "vfio-user")]
    #[error("{action} failed: {source}")]
    Socket {
        /// What was asked for.
        action: &'static str,
        /// The client's reason.
        source: warpline_vfio_user::Error,
    },
    /// The system gives no eventfd.
    #[error("no eventfd for interrupts: {source}: raise the limit of open files (ulimit -n)")]
    Eventfd {
        /// The system's reason.
        source: std::io::Error,
    },
    /// This build of the driver cannot reach such a device.
    #[error("{address}: this build has no backend for it: enable the driver's feature `{feature}`")]
    NoBackend {
        /// The address.
        address: String,
        /// The feature.
        feature: &'static str,
    },
    /// A string is no address.
    #[error(
        "`{text}` is neither a PCI address like 0000:05:00.0 nor the path of a socket, which has a `/`"
    )]
    Address {
        /// The string.
        text: String,
    },
}
