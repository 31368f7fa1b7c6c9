//! A device of 16 octets behind a socket, and a program that uses it: `cargo run --example scratch`.

use std::error::Error;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use warpline_vfio_user::{Client, DmaMap, Listener, Refused, RegionInfo, Target, serve};

const SIZE: u64 = 16;

/// The device: one region.
#[derive(Default)]
struct Scratch([u8; SIZE as usize]);

impl Target for Scratch {
    fn regions(&self) -> Vec<RegionInfo> {
        let scratch = RegionInfo {
            size: SIZE,
            readable: true,
            writable: true,
        };
        vec![scratch]
    }

    fn irqs(&self) -> Vec<u32> {
        vec![0]
    }

    // accesses outside of the region were refused before
    fn region_read(&mut self, _: u32, offset: u64, data: &mut [u8]) -> Result<(), Refused> {
        data.copy_from_slice(&self.0[offset as usize..][..data.len()]);
        Ok(())
    }

    fn region_write(&mut self, _: u32, offset: u64, data: &[u8]) -> Result<(), Refused> {
        self.0[offset as usize..][..data.len()].copy_from_slice(data);
        Ok(())
    }

    fn dma_map(&mut self, _: DmaMap) -> Result<(), Refused> {
        Ok(())
    }

    fn dma_unmap(&mut self, _: u64, _: u64) -> Result<(), Refused> {
        Ok(())
    }

    fn set_irqs(&mut self, _: u32, _: u32, _: Vec<Option<OwnedFd>>) -> Result<(), Refused> {
        Ok(())
    }

    fn reset(&mut self) -> Result<(), Refused> {
        *self = Self::default();
        Ok(())
    }

    fn disconnected(&mut self) {}
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("scratch");
    let listener = Listener::bind(&path)?;
    let device = thread::spawn(
        move || match listener.accept(Some(Duration::from_secs(5))) {
            Ok(Some(connection)) => {
                serve(connection, &mut Scratch::default()).map_err(|e| e.to_string())
            }
            Ok(None) => Err("nobody has connected".into()),
            Err(error) => Err(error.to_string()),
        },
    );

    let client = Client::connect(&path, Duration::from_secs(5))?;
    client.region_write(0, 4, b"written")?;
    let mut back = [0; SIZE as usize];
    client.region_read(0, 0, &mut back)?;
    println!("{}", String::from_utf8_lossy(&back[4..11]));
    drop(client);
    device.join().map_err(|_| "the device has panicked")??;
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
