//! Checks whether a program can open a PCI card, and says how to fix what is missing: the library part of `warpline doctor`.
//!
//! ```text
//!  sys/bus/pci/devices ──► cards ─► IOMMU group? ─► vfio-pci? ─► group its own? ─► /dev/vfio/… open to us? ─► reset?
//!  proc/self ────────────► locked memory            └──────────── findings, a remedy each ───────────────────┘
//!  sys/kernel/mm ────────► huge pages
//! ```
//!
//! It only reads files: it needs no privileges and changes nothing. A card that passes can still be broken.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use warpline_regmap::pci;

use crate::pci_address::PciAddress;

/// The driver that a card must be bound to.
const DRIVER: &str = "vfio-pci";
/// Drivers whose devices may stay in an IOMMU group, beside those of VFIO: they do no DMA.
const HARMLESS: [&str; 2] = ["pcieport", "pci-stub"];
/// Ends of the names of VFIO's drivers for PCI devices: vfio-pci, and its variants for devices of one make. For kernels before
/// 6.1, which do not say so by a folder `vfio-dev`.
const VFIO_ENDS: [&str; 2] = ["vfio-pci", "vfio_pci"];
/// Name of a group that VFIO made up for a device without an IOMMU.
const NO_IOMMU: &str = "vfio-noiommu";
/// Octets of memory that a program is likely to lock: one memory region of 64 MiB.
const LOCKED: u64 = 64 << 20;
/// Bit of a process's capabilities: no limit for locked memory.
const IPC_LOCK: u32 = 14;

/// The directories that describe a machine.
#[derive(Clone, Debug)]
pub struct Machine {
    sys: PathBuf,
    proc: PathBuf,
    dev: PathBuf,
    /// Whether this process may read and write a file.
    accessible: fn(&Path) -> bool,
}

/// This machine.
impl Default for Machine {
    fn default() -> Self {
        Self::at("/sys", "/proc", "/dev")
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// There is no card at all.
    NoCard,
    /// There is nothing at the address.
    NoDevice,
    /// The device at the address is another one.
    OtherDevice {
        /// Its vendor.
        vendor: u16,
        /// Its device number.
        device: u16,
    },
    /// The card is in no IOMMU group.
    IommuOff,
    /// The kernel's driver for it is not there.
    NoVfioPci,
    /// The card is bound to another driver, or to none.
    WrongDriver {
        /// That driver.
        driver: Option<String>,
    },
    /// Another device of the card's IOMMU group is in use.
    SharedGroup {
        /// The group.
        group: String,
        /// The device.
        device: String,
        /// Its driver.
        driver: String,
    },
    /// The card is in a group without an IOMMU: its DMA would reach all memory.
    NoIommuMode {
        /// The file of that group.
        path: PathBuf,
    },
    /// There is no file for the card's group.
    NoGroupFile {
        /// It would be this one.
        path: PathBuf,
    },
    /// This process may not open a file.
    NoPermission {
        /// The file.
        path: PathBuf,
    },
    /// The kernel knows no way to reset the card.
    NoReset,
    /// Too little memory can be locked for DMA.
    LockedMemory {
        /// Octets that can be.
        limit: u64,
    },
    /// No huge pages are set aside.
    NoHugePages,
}

/// A problem and its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The card; `None` when the finding concerns the machine.
    pub card: Option<PciAddress>,
    /// What is wrong.
    pub problem: Problem,
}

impl Finding {
    /// Whether it keeps programs from opening the card. The others are advice.
    #[must_use]
    pub fn blocks(&self) -> bool {
        !matches!(
            self.problem,
            Problem::LockedMemory { .. } | Problem::NoHugePages
        )
    }

    /// What to do, in one line.
    #[must_use]
    pub fn remedy(&self) -> String {
        let card = self
            .card
            .map_or("<address>".into(), |card| card.to_string());
        match &self.problem {
            Problem::NoCard | Problem::NoDevice => {
                "load the FPGA, then rescan the bus: echo 1 > /sys/bus/pci/rescan".into()
            }
            Problem::OtherDevice { .. } => format!(
                "find the card's address: lspci -D -d {:04x}:{:04x}",
                pci::VENDOR,
                pci::DEVICE
            ),
            Problem::IommuOff => {
                "enable VT-d or AMD-Vi in the firmware, and boot with intel_iommu=on or amd_iommu=on"
                    .into()
            }
            Problem::NoIommuMode { .. } => {
                "enable VT-d or AMD-Vi in the firmware, boot with intel_iommu=on or amd_iommu=on, and switch the mode off: echo N > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode".into()
            }
            Problem::NoVfioPci => "load it: modprobe vfio-pci".into(),
            Problem::WrongDriver { driver } => {
                let unbind = driver.as_ref().map_or(String::new(), |_| {
                    format!("echo {card} > /sys/bus/pci/devices/{card}/driver/unbind; ")
                });
                format!(
                    "bind it: echo {DRIVER} > /sys/bus/pci/devices/{card}/driver_override; {unbind}echo {card} > /sys/bus/pci/drivers_probe"
                )
            }
            Problem::SharedGroup { device, .. } => {
                format!("bind {device} to {DRIVER} as well, or put the card into another slot")
            }
            Problem::NoGroupFile { .. } => {
                "load the module that creates it: modprobe vfio_iommu_type1".into()
            }
            Problem::NoPermission { path } => format!(
                "give the user access, permanently with a udev rule for SUBSYSTEM==\"vfio\", or now: chown $USER {}",
                path.display()
            ),
            Problem::NoReset => {
                "give the card's PCIe core function-level reset, or put the card behind a separate port".into()
            }
            Problem::LockedMemory { .. } => {
                "raise it: ulimit -l unlimited, a line `* - memlock unlimited` in /etc/security/limits.d, or LimitMEMLOCK= of the service".into()
            }
            Problem::NoHugePages => "set some aside: echo 64 > /proc/sys/vm/nr_hugepages".into(),
        }
    }
}

/// The problem, in one line.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(card) = self.card {
            write!(f, "{card}: ")?;
        }
        match &self.problem {
            Problem::NoCard => write!(
                f,
                "no card on the PCI bus ({:04x}:{:04x})",
                pci::VENDOR,
                pci::DEVICE
            ),
            Problem::NoDevice => write!(f, "there is no device"),
            Problem::OtherDevice { vendor, device } => {
                write!(f, "{vendor:04x}:{device:04x} is no warpline card")
            }
            Problem::IommuOff => write!(f, "in no IOMMU group: the IOMMU is off or absent"),
            Problem::NoIommuMode { path } => write!(
                f,
                "its group is of no-IOMMU mode ({}), which is not supported: no IOMMU limits the card's DMA",
                path.display()
            ),
            Problem::NoVfioPci => write!(f, "the kernel module vfio-pci is not loaded"),
            Problem::WrongDriver { driver } => match driver {
                Some(driver) => write!(f, "bound to {driver} instead of {DRIVER}"),
                None => write!(f, "bound to no driver instead of {DRIVER}"),
            },
            Problem::SharedGroup {
                group,
                device,
                driver,
            } => write!(
                f,
                "{device} of its IOMMU group {group} is in use by {driver}"
            ),
            Problem::NoGroupFile { path } => write!(f, "there is no {}", path.display()),
            Problem::NoPermission { path } => write!(f, "no permission for {}", path.display()),
            Problem::NoReset => write!(f, "the kernel knows no way to reset it"),
            Problem::LockedMemory { limit } => write!(
                f,
                "only {} KiB of memory can be locked for DMA, {} KiB are recommended",
                limit >> 10,
                LOCKED >> 10
            ),
            Problem::NoHugePages => write!(
                f,
                "no huge pages: memory for DMA uses 4 KiB pages, which costs IOMMU look-ups"
            ),
        }
    }
}

impl Machine {
    /// A machine whose directories `/sys`, `/proc` and `/dev` are elsewhere.
    #[must_use]
    pub fn at(sys: impl Into<PathBuf>, proc: impl Into<PathBuf>, dev: impl Into<PathBuf>) -> Self {
        Self {
            sys: sys.into(),
            proc: proc.into(),
            dev: dev.into(),
            accessible: |path| rustix::fs::access(path, Access::READ_OK | Access::WRITE_OK).is_ok(),
        }
    }

    /// All cards on the PCI bus, in the order of their addresses.
    ///
    /// # Errors
    /// The bus cannot be listed. A machine without a bus is no error.
    pub fn cards(&self) -> io::Result<Vec<PciAddress>> {
        let entries = match fs::read_dir(self.devices()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut cards = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            let address = name.to_str().and_then(|name| name.parse().ok());
            cards.extend(address.filter(|card| self.numbers(*card) == Some(OURS)));
        }
        cards.sort_unstable();
        Ok(cards)
    }

    /// Problems of the card at `address`, or of all cards, and of the machine.
    ///
    /// # Errors
    /// As [`cards`](Self::cards).
    pub fn examine(&self, address: Option<PciAddress>) -> io::Result<Vec<Finding>> {
        let cards = match address {
            Some(address) => vec![address],
            None => self.cards()?,
        };
        let mut findings = Vec::new();
        if cards.is_empty() {
            findings.push(Finding {
                card: None,
                problem: Problem::NoCard,
            });
        }
        let of_machine = |problem| Finding {
            card: None,
            problem,
        };
        let vfio_pci = self.sys.join("bus/pci/drivers").join(DRIVER);
        if !vfio_pci.exists() && (cards.is_empty() || !cards.iter().all(|card| self.varies(*card)))
        {
            findings.push(of_machine(Problem::NoVfioPci));
        }
        for card in cards {
            let problems = self.card(card).into_iter();
            findings.extend(problems.map(|problem| Finding {
                card: Some(card),
                problem,
            }));
        }
        findings.extend(self.locked_memory().map(of_machine));
        findings.extend(self.huge_pages().map(of_machine));
        Ok(findings)
    }

    fn devices(&self) -> PathBuf {
        self.sys.join("bus/pci/devices")
    }

    fn device(&self, card: PciAddress) -> PathBuf {
        self.devices().join(card.to_string())
    }

    /// Vendor and device number.
    fn numbers(&self, card: PciAddress) -> Option<(u16, u16)> {
        let number = |file| {
            let text = fs::read_to_string(self.device(card).join(file)).ok()?;
            u16::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
        };
        Some((number("vendor")?, number("device")?))
    }

    fn card(&self, card: PciAddress) -> Vec<Problem> {
        let path = self.device(card);
        if !path.exists() {
            return vec![Problem::NoDevice];
        }
        if let Some((vendor, device)) = self.numbers(card)
            && (vendor, device) != OURS
        {
            return vec![Problem::OtherDevice { vendor, device }];
        }
        let mut problems = Vec::new();
        if !path.join("reset").exists() {
            problems.push(Problem::NoReset);
        }
        let group = last(&path.join("iommu_group"));
        let driver = last(&path.join("driver"));
        let bound = self.vfio_drives(&path);
        if group.is_none() {
            problems.push(Problem::IommuOff);
        }
        if !bound {
            problems.push(Problem::WrongDriver { driver });
        }
        let Some(group) = group else {
            return problems;
        };
        problems.extend(self.neighbour(card, &group));
        if bound {
            // These files exist only after vfio-pci is bound to the card.
            let path = self.dev.join("vfio").join(format!("noiommu-{group}"));
            let name = self
                .sys
                .join("kernel/iommu_groups")
                .join(&group)
                .join("name");
            let name = fs::read_to_string(name).unwrap_or_default();
            if name.trim() == NO_IOMMU || path.exists() {
                problems.push(Problem::NoIommuMode { path });
                return problems;
            }
            problems.extend(self.file(self.dev.join("vfio").join(&group)));
            problems.extend(self.file(self.dev.join("vfio/vfio")));
        }
        problems
    }

    /// Another device of the group that is in use: the kernel opens groups as a whole.
    fn neighbour(&self, card: PciAddress, group: &str) -> Option<Problem> {
        let devices = self.device(card).join("iommu_group/devices");
        let mut names: Vec<String> = fs::read_dir(devices)
            .ok()?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| *name != card.to_string())
            .collect();
        names.sort_unstable();
        names.into_iter().find_map(|device| {
            let path = self.devices().join(&device);
            let driver = last(&path.join("driver"))?;
            let used = !HARMLESS.contains(&driver.as_str()) && !self.vfio_drives(&path);
            used.then(|| Problem::SharedGroup {
                group: group.into(),
                device,
                driver,
            })
        })
    }

    /// Whether a variant of vfio-pci drives the card, which does without the module itself.
    fn varies(&self, card: PciAddress) -> bool {
        let path = self.device(card);
        self.vfio_drives(&path) && last(&path.join("driver")).as_deref() != Some(DRIVER)
    }

    /// Whether a driver of VFIO is bound to the device at `path`: vfio-pci, or a variant for its make.
    fn vfio_drives(&self, path: &Path) -> bool {
        let driver = last(&path.join("driver"));
        driver.is_some_and(|driver| {
            path.join("vfio-dev").exists() || VFIO_ENDS.iter().any(|end| driver.ends_with(end))
        })
    }

    fn file(&self, path: PathBuf) -> Option<Problem> {
        if !path.exists() {
            return Some(Problem::NoGroupFile { path });
        }
        (!(self.accessible)(&path)).then_some(Problem::NoPermission { path })
    }

    fn locked_memory(&self) -> Option<Problem> {
        let own = self.proc.join("self");
        let status = fs::read_to_string(own.join("status")).unwrap_or_default();
        let field = |name| status.lines().find_map(|line| line.strip_prefix(name));
        let capabilities =
            field("CapEff:").and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
        if capabilities.is_some_and(|set| set >> IPC_LOCK & 1 == 1) {
            return None;
        }
        let limits = fs::read_to_string(own.join("limits")).ok()?;
        let line = |line: &str| Some(line.strip_prefix("Max locked memory")?.to_owned());
        let line = limits.lines().find_map(line)?;
        // `unlimited` is no number, and no problem.
        let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
        (limit < LOCKED).then_some(Problem::LockedMemory { limit })
    }

    fn huge_pages(&self) -> Option<Problem> {
        let path = "kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
        let count = fs::read_to_string(self.sys.join(path)).unwrap_or_default();
        let some = count.trim().parse::<u64>().is_ok_and(|count| count > 0);
        (!some).then_some(Problem::NoHugePages)
    }
}

/// Vendor and device number of a card.
const OURS: (u16, u16) = (pci::VENDOR, pci::DEVICE);

/// Last component of a link's target.
fn last(link: &Path) -> Option<String> {
    let target = fs::read_link(link).ok()?;
    Some(target.file_name()?.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use tempfile::TempDir;

    const CARD: &str = "0000:05:00.0";

    /// A machine in a directory.
    struct Fake(TempDir);

    impl Fake {
        /// A card, ready to be opened.
        fn ready() -> Self {
            let fake = Self(tempfile::tempdir().unwrap());
            fake.directory("sys/bus/pci/drivers/vfio-pci");
            fake.device(CARD, OURS);
            fake.link("driver", CARD, "../../../../bus/pci/drivers/vfio-pci");
            fake.directory("sys/kernel/iommu_groups/7/devices/0000:05:00.0");
            fake.link("iommu_group", CARD, "../../../../kernel/iommu_groups/7");
            fake.write("sys/bus/pci/devices/0000:05:00.0/reset", "");
            fake.write("dev/vfio/vfio", "");
            fake.write("dev/vfio/7", "");
            fake.write("proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
            fake.limit("unlimited");
            fake.pages("16\n");
            fake
        }

        fn directory(&self, path: &str) {
            fs::create_dir_all(self.0.path().join(path)).unwrap();
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn device(&self, name: &str, (vendor, device): (u16, u16)) {
            let path = format!("sys/bus/pci/devices/{name}");
            self.write(&format!("{path}/vendor"), &format!("{vendor:#06x}\n"));
            self.write(&format!("{path}/device"), &format!("{device:#06x}\n"));
        }

        fn link(&self, file: &str, device: &str, target: &str) {
            let path = self.0.path().join("sys/bus/pci/devices").join(device);
            let _ = fs::remove_file(path.join(file));
            symlink(target, path.join(file)).unwrap();
        }

        fn remove(&self, path: &str) {
            let path = self.0.path().join(path);
            match fs::symlink_metadata(&path).unwrap().is_dir() {
                true => fs::remove_dir_all(path).unwrap(),
                false => fs::remove_file(path).unwrap(),
            }
        }

        fn limit(&self, soft: &str) {
            let head =
                "Limit                     Soft Limit           Hard Limit           Units\n";
            let line = format!("Max locked memory         {soft:<20} unlimited            bytes\n");
            self.write("proc/self/limits", &(head.to_owned() + &line));
        }

        fn pages(&self, count: &str) {
            let path = "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
            self.write(path, count);
        }

        fn machine(&self) -> Machine {
            let at = |name| self.0.path().join(name);
            Machine {
                // As root every file can be opened.
                accessible: |path| {
                    fs::metadata(path).unwrap().permissions().mode() & 0o600 == 0o600
                },
                ..Machine::at(at("sys"), at("proc"), at("dev"))
            }
        }

        fn findings(&self) -> Vec<Problem> {
            let findings = self.machine().examine(None).unwrap();
            for finding in &findings {
                assert!(!finding.remedy().contains('\n') && !finding.to_string().contains('\n'));
            }
            findings
                .into_iter()
                .map(|finding| finding.problem)
                .collect()
        }
    }

    fn address() -> PciAddress {
        CARD.parse().unwrap()
    }

    #[test]
    fn a_ready_machine_has_nothing_amiss() {
        let fake = Fake::ready();
        assert_eq!(fake.machine().cards().unwrap(), [address()]);
        assert_eq!(fake.findings(), []);
        assert_eq!(fake.machine().examine(Some(address())).unwrap(), []);
    }

    #[test]
    fn a_machine_without_a_card_says_so() {
        let fake = Fake::ready();
        fake.device(CARD, (0x8086, 0x1533));
        assert_eq!(fake.findings(), [Problem::NoCard]);
        let named = fake.machine().examine(Some(address())).unwrap();
        let other = Problem::OtherDevice {
            vendor: 0x8086,
            device: 0x1533,
        };
        assert_eq!(named[0].problem, other);
        assert!(named[0].blocks());
        let missing = fake.machine().examine(Some("06:00.0".parse().unwrap()));
        assert_eq!(missing.unwrap()[0].problem, Problem::NoDevice);
        let empty = tempfile::tempdir().unwrap();
        let machine = Machine::at(empty.path(), empty.path(), empty.path());
        let findings = machine.examine(None).unwrap();
        let problems: Vec<_> = findings
            .into_iter()
            .map(|finding| finding.problem)
            .collect();
        let expected = [Problem::NoCard, Problem::NoVfioPci, Problem::NoHugePages];
        assert_eq!(problems, expected);
    }

    #[test]
    fn each_step_is_missed() {
        let fake = Fake::ready();
        fake.remove("sys/bus/pci/devices/0000:05:00.0/iommu_group");
        assert_eq!(fake.findings(), [Problem::IommuOff]);

        let fake = Fake::ready();
        fake.remove("sys/bus/pci/drivers/vfio-pci");
        assert_eq!(fake.findings(), [Problem::NoVfioPci]);

        let fake = Fake::ready();
        fake.remove("sys/bus/pci/devices/0000:05:00.0/reset");
        assert_eq!(fake.findings(), [Problem::NoReset]);

        let fake = Fake::ready();
        fake.remove("dev/vfio/7");
        let path = fake.0.path().join("dev/vfio/7");
        assert_eq!(fake.findings(), [Problem::NoGroupFile { path }]);

        let fake = Fake::ready();
        let path = fake.0.path().join("dev/vfio/7");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        assert_eq!(fake.findings(), [Problem::NoPermission { path }]);
    }

    #[test]
    fn drivers_are_named() {
        let fake = Fake::ready();
        fake.remove("sys/bus/pci/devices/0000:05:00.0/driver");
        assert_eq!(fake.findings(), [Problem::WrongDriver { driver: None }]);
        fake.link("driver", CARD, "../../../../bus/pci/drivers/e1000e");
        let driver = Some("e1000e".into());
        assert_eq!(fake.findings(), [Problem::WrongDriver { driver }]);
        let finding = &fake.machine().examine(None).unwrap()[0];
        assert_eq!(
            finding.to_string(),
            "0000:05:00.0: bound to e1000e instead of vfio-pci"
        );
        assert_eq!(
            finding.remedy(),
            "bind it: echo vfio-pci > /sys/bus/pci/devices/0000:05:00.0/driver_override; echo 0000:05:00.0 > /sys/bus/pci/devices/0000:05:00.0/driver/unbind; echo 0000:05:00.0 > /sys/bus/pci/drivers_probe"
        );
    }

    #[test]
    fn a_group_is_given_out_as_a_whole() {
        let fake = Fake::ready();
        let neighbour = "0000:05:00.1";
        fake.device(neighbour, (0x8086, 0x1533));
        fake.directory("sys/kernel/iommu_groups/7/devices/0000:05:00.1");
        // From here on the link needs a target.
        fake.remove("sys/bus/pci/devices/0000:05:00.0/iommu_group");
        let group = fake.0.path().join("sys/kernel/iommu_groups/7");
        fake.link("iommu_group", CARD, group.to_str().unwrap());
        assert_eq!(fake.findings(), [], "no driver uses it");
        fake.link("driver", neighbour, "../../../../bus/pci/drivers/pcieport");
        assert_eq!(fake.findings(), [], "a bridge");
        for variant in ["vfio-pci", "mlx5_vfio_pci", "nvgrace-gpu-vfio-pci"] {
            let driver = format!("../../../../bus/pci/drivers/{variant}");
            fake.link("driver", neighbour, &driver);
            assert_eq!(fake.findings(), [], "{variant}");
        }
        fake.link("driver", neighbour, "../../../../bus/pci/drivers/igb");
        let shared = Problem::SharedGroup {
            group: "7".into(),
            device: neighbour.into(),
            driver: "igb".into(),
        };
        assert_eq!(fake.findings(), [shared]);
    }

    /// The kernel names VFIO's drivers by a folder, whatever they are called.
    #[test]
    fn variants_of_vfio_pci_count() {
        let fake = Fake::ready();
        fake.link("driver", CARD, "../../../../bus/pci/drivers/acme");
        let driver = Some("acme".into());
        assert_eq!(fake.findings(), [Problem::WrongDriver { driver }]);
        fake.directory("sys/bus/pci/devices/0000:05:00.0/vfio-dev/vfio0");
        assert_eq!(fake.findings(), []);
        fake.remove("sys/bus/pci/drivers/vfio-pci");
        assert_eq!(fake.findings(), [], "the module is not needed");
        // A folder without a driver says nothing.
        fake.remove("sys/bus/pci/devices/0000:05:00.0/driver");
        let unbound = Problem::WrongDriver { driver: None };
        assert_eq!(fake.findings(), [Problem::NoVfioPci, unbound]);
    }

    /// A group without an IOMMU has a file of another name, and cannot be used.
    #[test]
    fn groups_without_an_iommu_are_named() {
        let fake = Fake::ready();
        fake.remove("dev/vfio/7");
        fake.write("dev/vfio/noiommu-7", "");
        let path = fake.0.path().join("dev/vfio/noiommu-7");
        let problem = Problem::NoIommuMode { path };
        assert_eq!(fake.findings(), std::slice::from_ref(&problem));
        let finding = &fake.machine().examine(None).unwrap()[0];
        let text = finding.to_string();
        assert!(finding.blocks() && text.contains("noiommu-7"), "{text}");
        assert!(text.contains("not supported"), "{text}");
        // The kernel's name for the group says the same.
        fake.remove("dev/vfio/noiommu-7");
        fake.write("sys/kernel/iommu_groups/7/name", "vfio-noiommu\n");
        assert_eq!(fake.findings(), [problem]);
        fake.write("sys/kernel/iommu_groups/7/name", "other\n");
        let path = fake.0.path().join("dev/vfio/7");
        assert_eq!(fake.findings(), [Problem::NoGroupFile { path }]);
    }

    #[test]
    fn memory_is_advice() {
        let fake = Fake::ready();
        fake.limit("8388608");
        fake.pages("0\n");
        let advice = [
            Problem::LockedMemory { limit: 8 << 20 },
            Problem::NoHugePages,
        ];
        assert_eq!(fake.findings(), advice);
        let findings = fake.machine().examine(None).unwrap();
        assert!(!findings.iter().any(Finding::blocks));
        let text = "only 8192 KiB of memory can be locked for DMA, 65536 KiB are recommended";
        assert_eq!(findings[0].to_string(), text);
        fake.write("proc/self/status", "CapEff:\t0000000000004000\n");
        assert_eq!(fake.findings(), [Problem::NoHugePages], "no limit for it");
        fake.limit(&LOCKED.to_string());
        fake.write("proc/self/status", "");
        fake.pages("1\n");
        assert_eq!(fake.findings(), []);
    }
}
