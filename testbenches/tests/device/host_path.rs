//! Program and card in their own time: no wake-up, completion or octet is lost, repeated, or too late.
//!
//! `make long-host` runs more of it. Each check is shown to fail on a device that is not honest.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use warpline_driver::{BackendError, Device, DeviceInfo, DmaMap, VfioUser};
use warpline_regmap::register::{self, command};
use warpline_testbenches::host::{completions, revocations};

/// Nothing on the machine takes so long, unless it is lost.
const PATIENCE: Duration = Duration::from_secs(60);
/// For devices that lose it.
const IMPATIENCE: Duration = Duration::from_secs(5);

/// How late a late arming is.
const LATE: Duration = Duration::from_millis(1);

/// Completions; `make long-host` takes 100,000.
const COMPLETIONS: u32 = 10_000;
const REVOCATIONS: u32 = 150;

// req: DDP-DEL-01, DDP-DEL-02
#[test]
fn every_completion_wakes_the_program_once() {
    let slept = completions(COMPLETIONS, 1, PATIENCE, |device| Box::new(device)).unwrap();
    println!("{slept:?}");
    assert_eq!(slept.completions, COMPLETIONS);
    assert!(slept.sleeps > COMPLETIONS / 100, "{slept:?}");
    assert!(slept.messages >= u64::from(slept.sleeps), "{slept:?}");
}

// req: AMB-42, DDP-SEC-22
#[test]
fn revoked_memory_is_the_programs_alone() {
    let revoked = revocations(REVOCATIONS, 1, |device| Box::new(device)).unwrap();
    println!("{revoked:?}");
    assert_eq!(revoked.regions, REVOCATIONS);
    assert!(revoked.in_traffic > REVOCATIONS / 10, "{revoked:?}");
    assert!(revoked.written > 100_000, "{revoked:?}");
}

/// How a device is not honest.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lie {
    /// Arming takes its time, and takes what has come meanwhile for consumed: an entry between the program's look and then
    /// wakes nobody.
    ArmsLate,
    /// Revocations are confirmed and not done; memory is unmapped.
    KeepsStag,
    /// Neither revocations nor unmapping are done.
    KeepsAll,
}

struct Liar {
    device: Arc<VfioUser>,
    lie: Lie,
    /// The last command was a revocation that was not given.
    revoking: AtomicBool,
}

impl Liar {
    fn boxed(device: VfioUser, lie: Lie) -> Box<dyn Device> {
        let revoking = AtomicBool::new(false);
        Box::new(Self {
            device: Arc::new(device),
            lie,
            revoking,
        })
    }
}

impl Device for Liar {
    fn info(&self) -> DeviceInfo {
        self.device.info()
    }

    fn read(&self, offset: u32) -> Result<u32, BackendError> {
        if offset == register::COMMAND.offset && self.revoking.load(Ordering::SeqCst) {
            return Ok(command::REVOKE_STAG);
        }
        self.device.read(offset)
    }

    fn write(&self, offset: u32, value: u32) -> Result<(), BackendError> {
        if offset == register::COMPLETION_ARM.offset && self.lie == Lie::ArmsLate {
            let device = Arc::clone(&self.device);
            thread::spawn(move || {
                thread::sleep(LATE);
                let producer = device.read(register::COMPLETION_PRODUCER.offset);
                producer.and_then(|producer| device.write(offset, producer))
            });
            return Ok(());
        }
        if offset == register::COMMAND.offset && self.lie != Lie::ArmsLate {
            let revoking = value == command::REVOKE_STAG;
            self.revoking.store(revoking, Ordering::SeqCst);
            if revoking {
                return Ok(());
            }
        }
        self.device.write(offset, value)
    }

    fn map(&self, memory: DmaMap<'_>) -> Result<(), BackendError> {
        self.device.map(memory)
    }

    fn unmap(&self, iova: u64, length: u64) -> Result<(), BackendError> {
        match self.lie {
            Lie::KeepsAll => Ok(()),
            _ => self.device.unmap(iova, length),
        }
    }

    fn interrupt(&self, vector: usize) -> BorrowedFd<'_> {
        self.device.interrupt(vector)
    }

    fn reset(&self) -> Result<(), BackendError> {
        self.device.reset()
    }
}

#[test]
fn a_lost_wake_up_is_noticed() {
    let liar = |device| Liar::boxed(device, Lie::ArmsLate);
    let told = completions(COMPLETIONS, 2, IMPATIENCE, liar).unwrap_err();
    assert_eq!(told.to_string(), "not woken for 5s");
}

/// The lie shows in a revocation that comes in the middle of the traffic: some of the first ones do.
fn is_told(wrapper: fn(VfioUser) -> Box<dyn Device>, what: &str) {
    let runs = (0..20).map(|seed| revocations(1, seed, wrapper));
    let told: Vec<_> = runs
        .filter_map(|run| Some(run.err()?.to_string()))
        .collect();
    assert!(told.iter().any(|told| told.contains(what)), "{told:?}");
}

#[test]
fn a_write_after_a_revocation_is_noticed() {
    let keeps_all = |device| Liar::boxed(device, Lie::KeepsAll);
    is_told(keeps_all, "written after the revocation");
    let keeps_stag = |device| Liar::boxed(device, Lie::KeepsStag);
    is_told(keeps_stag, "where nothing is mapped");
}
