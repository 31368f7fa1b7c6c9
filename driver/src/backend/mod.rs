//! Backends: the ways to reach a card.
//!
//! ```text
//!  open("0000:05:00.0") ─► KernelVfio ─► kernel, IOMMU ─► board, or a virtual machine's card
//!                          PciDriver  ─► the same, through another library
//!  open("/run/card")    ─► VfioUser ───► socket ────────► card in another process, or in a thread of this one
//! ```
//!
//! All of them do the same when they open a card: check that BAR 0 has room for the registers and that there is a vector
//! for each interrupt, hand out an eventfd for each, and enable memory space and bus mastering.

#[cfg(any(
    feature = "vfio-user",
    all(
        target_arch = "x86_64",
        any(feature = "kernel", feature = "pci-driver")
    )
))]
mod function;
#[cfg(all(target_arch = "x86_64", feature = "kernel"))]
pub(crate) mod kernel;
#[cfg(all(
    target_arch = "x86_64",
    any(feature = "kernel", feature = "pci-driver")
))]
#[allow(unsafe_code, reason = "maps files: registers, and memory for DMA")]
mod mapping;
#[cfg(all(target_arch = "x86_64", feature = "pci-driver"))]
pub(crate) mod pci_driver;
#[cfg(feature = "vfio-user")]
pub(crate) mod vfio_user;
