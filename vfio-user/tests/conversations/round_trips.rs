//! Every call once through both ends, and once refused.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use warpline_vfio_user::protocol::{Command, MAX_DATA, pci};
use warpline_vfio_user::{
    Client, DmaMap, Errno, Error, Permissions, Refused, RegionInfo, ServeError, Target, serve,
};

use crate::model::{IRQS, Model, SIZES, region_infos};
use crate::raw::{PATIENCE, Tracer};

/// A model shared by both sides of a test.
#[derive(Clone, Debug, Default)]
pub struct Shared(pub Arc<Mutex<Model>>);

impl Target for Shared {
    fn regions(&self) -> Vec<RegionInfo> {
        self.0.lock().unwrap().regions()
    }
    fn irqs(&self) -> Vec<u32> {
        self.0.lock().unwrap().irqs()
    }
    fn region_read(&mut self, region: u32, offset: u64, data: &mut [u8]) -> Result<(), Refused> {
        self.0.lock().unwrap().region_read(region, offset, data)
    }
    fn region_write(&mut self, region: u32, offset: u64, data: &[u8]) -> Result<(), Refused> {
        self.0.lock().unwrap().region_write(region, offset, data)
    }
    fn dma_map(&mut self, map: DmaMap) -> Result<(), Refused> {
        self.0.lock().unwrap().dma_map(map)
    }
    fn dma_unmap(&mut self, iova: u64, length: u64) -> Result<(), Refused> {
        self.0.lock().unwrap().dma_unmap(iova, length)
    }
    fn set_irqs(
        &mut self,
        index: u32,
        first: u32,
        eventfds: Vec<Option<OwnedFd>>,
    ) -> Result<(), Refused> {
        self.0.lock().unwrap().set_irqs(index, first, eventfds)
    }
    fn reset(&mut self) -> Result<(), Refused> {
        self.0.lock().unwrap().reset()
    }
    fn disconnected(&mut self) {
        self.0.lock().unwrap().disconnected();
    }
}

type Server = JoinHandle<Result<(), ServeError>>;

/// A client of a model that is served in a thread.
pub fn connected() -> (Client, Shared, Server) {
    let shared = Shared::default();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut target = shared.clone();
    let server = thread::spawn(move || serve(theirs, &mut target));
    (Client::over(ours, PATIENCE).unwrap(), shared, server)
}

fn model(shared: &Shared) -> std::sync::MutexGuard<'_, Model> {
    shared.0.lock().unwrap()
}

/// A file for a DMA map.
fn file(length: u64) -> File {
    let file = tempfile::tempfile().unwrap();
    file.set_len(length).unwrap();
    file
}

#[test]
fn the_device_describes_itself() {
    let (client, _, _server) = connected();
    let info = client.device_info().unwrap();
    assert_eq!((info.regions, info.irqs), (5, 5));
    assert!(info.resettable && info.pci);
    for (index, expected) in region_infos().into_iter().enumerate() {
        assert_eq!(client.region_info(index as u32).unwrap(), expected);
    }
    for (index, count) in IRQS.into_iter().enumerate() {
        let info = client.irq_info(index as u32).unwrap();
        assert_eq!((info.count, info.eventfd), (count, count > 0));
    }
    refused(client.region_info(5), Errno::INVAL);
    refused(client.irq_info(5), Errno::INVAL);
    // The connection survives refusals.
    client.device_info().unwrap();
}

fn refused<T: std::fmt::Debug>(result: Result<T, Error>, expected: Errno) {
    match result {
        Err(Error::Refused { errno, .. }) => assert_eq!(errno as i32, expected.raw_os_error()),
        other => panic!("{other:?} instead of {expected:?}"),
    }
}

#[test]
fn regions_are_read_and_written() {
    let (client, shared, _server) = connected();
    for length in [1, 2, 4, 8, 256] {
        let data: Vec<u8> = (0..length).map(|n| n as u8 ^ length as u8).collect();
        client.region_write(0, 0x1000 - length, &data).unwrap();
        let mut back = vec![0; data.len()];
        client.region_read(0, 0x1000 - length, &mut back).unwrap();
        assert_eq!(back, data);
    }
    client.region_write(2, 3, &[7]).unwrap();
    assert_eq!(model(&shared).regions[2][3], 7);
    refused(client.region_read(2, 3, &mut [0]), Errno::PERM);
    refused(client.region_write(1, 3, &[0]), Errno::PERM);
    refused(client.region_read(0, 0xfff, &mut [0; 2]), Errno::INVAL);
    refused(client.region_write(0, u64::MAX, &[0; 2]), Errno::INVAL);
    refused(client.region_read(3, 0, &mut [0]), Errno::INVAL);
    refused(client.region_read(9, 0, &mut [0]), Errno::INVAL);
    client.region_read(9, 0, &mut []).unwrap();
    client.region_write(9, 0, &[]).unwrap();
}

#[test]
fn an_access_may_have_a_mebioctet_and_no_more() {
    let (client, _, _server) = connected();
    let data: Vec<u8> = (0..MAX_DATA).map(|n| ((n * 31) >> 4) as u8).collect();
    client.region_write(4, 5, &data).unwrap();
    let mut back = vec![0; MAX_DATA];
    client.region_read(4, 5, &mut back).unwrap();
    assert!(back == data);
    let mut longer = vec![0; MAX_DATA + 1];
    for result in [
        client.region_read(4, 0, &mut longer),
        client.region_write(4, 0, &longer),
    ] {
        assert!(
            matches!(result, Err(Error::TooLong { length, limit }) if length == limit + 1 && limit == MAX_DATA)
        );
    }
    client.device_info().unwrap();
}

#[test]
fn maps_come_with_their_file_and_go() {
    let (client, shared, _server) = connected();
    let mut memory = file(0x3000);
    memory.write_all(b"hello").unwrap();
    let top = u64::MAX - 0xfff;
    client
        .dma_map(0x1000, 0x2000, memory.as_fd(), 0, Permissions::READ_WRITE)
        .unwrap();
    client
        .dma_map(top, 0x1000, memory.as_fd(), 0x2000, Permissions::READ)
        .unwrap();
    {
        let mut model = model(&shared);
        let map = model.maps.get_mut(&0x1000).unwrap();
        assert_eq!(
            (map.length, map.offset, map.readable, map.writable),
            (0x2000, 0, true, true)
        );
        let theirs = File::from(map.fd.take().unwrap());
        let mut text = [0; 5];
        std::os::unix::fs::FileExt::read_exact_at(&theirs, &mut text, 0).unwrap();
        assert_eq!(&text, b"hello");
        let map = &model.maps[&top];
        assert_eq!(
            (map.offset, map.readable, map.writable),
            (0x2000, true, false)
        );
    }
    refused(
        client.dma_map(0x2fff, 1, memory.as_fd(), 0, Permissions::WRITE),
        Errno::EXIST,
    );
    let neither = Permissions {
        readable: false,
        writable: false,
    };
    refused(
        client.dma_map(0x8000, 0x1000, memory.as_fd(), 0, neither),
        Errno::INVAL,
    );
    refused(
        client.dma_map(0x8000, 0, memory.as_fd(), 0, Permissions::READ),
        Errno::INVAL,
    );
    refused(
        client.dma_map(top, 0x1001, memory.as_fd(), 0, Permissions::READ),
        Errno::INVAL,
    );
    refused(
        client.dma_map(
            0x8000,
            1,
            memory.as_fd(),
            i64::MAX as u64,
            Permissions::READ,
        ),
        Errno::OVERFLOW,
    );
    refused(client.dma_unmap(0x1000, 0x1000), Errno::INVAL);
    client.dma_unmap(0x1000, 0x2000).unwrap();
    assert!(!model(&shared).maps.contains_key(&0x1000));
    // No map is left, which is no error.
    client.dma_unmap(0x1000, 0x2000).unwrap();
    // A range that ends at 2^64.
    client.dma_unmap(1 << 63, 1 << 63).unwrap();
    assert!(model(&shared).maps.is_empty());
    client
        .dma_map(0, 1, memory.as_fd(), 0, Permissions::WRITE)
        .unwrap();
    client.dma_unmap_all().unwrap();
    assert!(model(&shared).maps.is_empty());
}

#[test]
fn interrupts_signal_their_eventfd() {
    let (client, shared, _server) = connected();
    let pipes: Vec<_> = (0..40).map(|_| std::io::pipe().unwrap()).collect();
    // 3 and 4 have no eventfd; 37 need more than one message.
    let eventfds: Vec<_> = (0..40)
        .map(|n| (n != 3 && n != 4).then(|| pipes[n].1.as_fd()))
        .collect();
    client.set_irqs(pci::MSIX, 0, &eventfds).unwrap();
    for (n, place) in model(&shared).irqs[pci::MSIX as usize]
        .iter_mut()
        .enumerate()
    {
        assert_eq!(place.is_some(), n != 3 && n != 4, "{n}");
        if let Some(fd) = place {
            let mut theirs = std::io::PipeWriter::from(fd.try_clone().unwrap());
            theirs.write_all(&[n as u8]).unwrap();
            let mut octet = [0];
            (&pipes[n].0).read_exact(&mut octet).unwrap();
            assert_eq!(octet, [n as u8]);
        }
    }
    client.set_irqs(pci::MSIX, 39, &[None]).unwrap();
    assert!(model(&shared).irqs[2][39].is_none());
    assert!(model(&shared).irqs[2][38].is_some());
    client.disable_irqs(pci::MSIX).unwrap();
    assert!(model(&shared).irqs[2].iter().all(Option::is_none));
    refused(client.set_irqs(pci::MSIX, 40, &[None]), Errno::INVAL);
    refused(client.set_irqs(pci::INTX, 0, &[None]), Errno::INVAL);
    refused(client.disable_irqs(7), Errno::INVAL);
    assert!(matches!(
        client.set_irqs(pci::MSIX, u32::MAX, &[None]),
        Err(Error::IrqRange {
            start: u32::MAX,
            count: 1
        })
    ));
    client.set_irqs(pci::MSIX, 99, &[]).unwrap();
}

#[test]
fn a_reset_keeps_maps_and_eventfds() {
    let (client, shared, _server) = connected();
    let memory = file(0x1000);
    client
        .dma_map(0, 0x1000, memory.as_fd(), 0, Permissions::READ)
        .unwrap();
    client
        .set_irqs(pci::MSIX, 1, &[Some(memory.as_fd())])
        .unwrap();
    client.region_write(0, 0, &[9]).unwrap();
    client.reset().unwrap();
    let model = model(&shared);
    assert_eq!((model.resets, model.regions[0][0]), (1, 0));
    assert!(model.maps.contains_key(&0) && model.irqs[2][1].is_some());
}

#[test]
fn what_the_device_refuses_reaches_the_client_with_its_number() {
    let (client, shared, _server) = connected();
    let memory = file(0x1000);
    let map = |iova| client.dma_map(iova, 0x1000, memory.as_fd(), 0, Permissions::READ);
    map(0).unwrap();
    for errno in [Errno::IO, Errno::NOMEM, Errno::NODEV] {
        model(&shared).refuse = Some(errno);
        refused(client.region_read(0, 0, &mut [0]), errno);
        refused(client.region_write(0, 0, &[0]), errno);
        refused(map(0x1000), errno);
        refused(client.dma_unmap(0, 0x1000), errno);
        refused(client.set_irqs(pci::MSIX, 0, &[None]), errno);
        refused(client.disable_irqs(pci::MSIX), errno);
        refused(client.reset(), errno);
    }
    // A refused call had no effect: the second map is free, the first is not.
    model(&shared).refuse = None;
    map(0x1000).unwrap();
    refused(map(0), Errno::EXIST);
    let text = Error::Refused {
        command: Command::DMA_MAP,
        errno: Errno::EXIST.raw_os_error() as u32,
    };
    assert!(
        text.to_string()
            .starts_with("the server refused DMA_MAP: File exists")
    );
}

#[test]
fn a_client_that_leaves_takes_its_descriptors_along() {
    let (client, shared, server) = connected();
    let (mut memory, mut eventfd) = (Tracer::default(), Tracer::default());
    client
        .dma_map(0, 0x1000, memory.fd(), 0, Permissions::READ)
        .unwrap();
    client
        .set_irqs(pci::MSIX, 0, &[Some(eventfd.fd())])
        .unwrap();
    assert!(memory.open() && eventfd.open());
    drop(client);
    server.join().unwrap().unwrap();
    assert!(memory.closes() && eventfd.closes());
    assert_eq!(model(&shared).disconnects, 1);
}

#[test]
fn threads_take_turns() {
    let (client, _, _server) = connected();
    thread::scope(|scope| {
        for thread in 0..4u64 {
            let client = &client;
            scope.spawn(move || {
                for round in 0..200u64 {
                    let value = (thread << 32 | round).to_ne_bytes();
                    client.region_write(0, thread * 8, &value).unwrap();
                    let mut back = [0; 8];
                    client.region_read(0, thread * 8, &mut back).unwrap();
                    assert_eq!(back, value);
                }
            });
        }
    });
}

#[test]
fn a_server_that_leaves_is_noticed() {
    let (client, _, server) = connected();
    client.device_info().unwrap();
    // Shut both ends down: the test has no handle of the server's end.
    drop(client);
    server.join().unwrap().unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let closer = theirs.try_clone().unwrap();
    let server = thread::spawn(move || serve(theirs, &mut Model::default()));
    let client = Client::over(ours, PATIENCE).unwrap();
    closer.shutdown(std::net::Shutdown::Both).unwrap();
    server.join().unwrap().unwrap();
    assert!(matches!(client.reset(), Err(Error::Broken { .. })));
    assert!(matches!(client.reset(), Err(Error::Closed { .. })));
}

#[test]
fn the_model_has_the_regions_that_these_tests_expect() {
    assert_eq!(SIZES[3], 0);
    assert!(SIZES[4] as usize > MAX_DATA + 5);
}
