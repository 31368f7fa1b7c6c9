//! The socket file: which files it replaces, which it does not touch, and its removal.

use std::io::ErrorKind;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use warpline_vfio_user::{Client, Error, ListenError, Listener, serve};

use crate::model::Model;
use crate::raw::PATIENCE;

#[test]
fn clients_come_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device");
    let listener = Listener::bind(&path).unwrap();
    assert_eq!(listener.path(), path);
    let server = thread::spawn(move || {
        for _ in 0..3 {
            let stream = listener.accept(Some(PATIENCE)).unwrap().unwrap();
            serve(stream, &mut Model::default()).unwrap();
        }
    });
    for _ in 0..3 {
        let client = Client::connect(&path, PATIENCE).unwrap();
        assert_eq!(client.device_info().unwrap().regions, 5);
    }
    server.join().unwrap();
    assert!(!path.exists());
    assert!(matches!(
        Client::connect(&path, PATIENCE),
        Err(Error::Connect { .. })
    ));
}

#[test]
fn no_client_comes() {
    let folder = tempfile::tempdir().unwrap();
    let listener = Listener::bind(folder.path().join("device")).unwrap();
    let none = listener.accept(Some(Duration::from_millis(20))).unwrap();
    assert!(none.is_none());
}

#[test]
fn a_dead_servers_file_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device");
    // The standard library's listener leaves its file behind.
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let listener = Listener::bind(&path).unwrap();
    drop(UnixStream::connect(&path).unwrap());
    drop(listener);
    assert!(!path.exists());
}

/// A file that exists is one at which a server listens, however early it is seen.
#[test]
fn a_file_that_is_there_takes_clients() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..500 {
        let path = folder.path().join(round.to_string());
        let server = thread::spawn({
            let path = path.clone();
            move || Listener::bind(path).unwrap()
        });
        let end = Instant::now() + PATIENCE;
        loop {
            match UnixStream::connect(&path) {
                Ok(_) => break,
                Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error}"),
            }
            assert!(Instant::now() < end, "no file");
        }
        drop(server.join().unwrap());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn one_of_two_servers_that_start_at_once_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device");
    for _ in 0..200 {
        let start = || Listener::bind(&path);
        let both = thread::scope(|scope| {
            let other = scope.spawn(start);
            [start(), other.join().unwrap()]
        });
        let ([Ok(_), Err(refused)] | [Err(refused), Ok(_)]) = &both else {
            panic!("{both:?}");
        };
        assert!(matches!(refused, ListenError::InUse { .. }), "{refused:?}");
    }
}

#[test]
fn a_running_servers_file_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device");
    let first = Listener::bind(&path).unwrap();
    assert!(matches!(
        Listener::bind(&path),
        Err(ListenError::InUse { .. })
    ));
    drop(UnixStream::connect(&path).unwrap());
    drop(first);
}

#[test]
fn a_file_of_another_kind_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device");
    std::fs::write(&path, "precious").unwrap();
    assert!(matches!(
        Listener::bind(&path),
        Err(ListenError::NotASocket { .. })
    ));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    // A link to a socket is not a socket: following it would remove another program's file.
    let (target, link) = (folder.path().join("target"), folder.path().join("link"));
    drop(UnixListener::bind(&target).unwrap());
    std::os::unix::fs::symlink(&target, &link).unwrap();
    assert!(matches!(
        Listener::bind(&link),
        Err(ListenError::NotASocket { .. })
    ));
    assert!(target.exists());
}

#[test]
fn a_file_that_another_server_has_put_there_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device");
    let first = Listener::bind(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let second = Listener::bind(&path).unwrap();
    drop(first);
    assert!(path.exists());
    drop(second);
    assert!(!path.exists());
}

#[test]
fn a_missing_folder_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(
        Listener::bind(folder.path().join("missing/device")),
        Err(ListenError::Io { .. })
    ));
}

/// Whoever meets an error reads what to do about it.
#[test]
fn errors_at_socket_files_have_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let client = |path: &Path| Client::connect(path, PATIENCE).unwrap_err().to_string();
    let missing = client(&folder.path().join("missing"));
    assert!(missing.ends_with(": start the device first"), "{missing}");
    let dead = folder.path().join("dead");
    drop(UnixListener::bind(&dead).unwrap());
    let refused = client(&dead);
    assert!(refused.contains(": no server listens there"), "{refused}");
    // A path of 108 octets, and one whose folder leaves no room for the name under which the file is made.
    let most = 107 - folder.path().as_os_str().len() - 1;
    let long = folder.path().join("x".repeat(most + 1));
    let deep = folder.path().join("x".repeat(most - 2));
    std::fs::create_dir(&deep).unwrap();
    for path in [long, deep.join("y")] {
        let error = Listener::bind(&path).unwrap_err().to_string();
        assert!(error.ends_with("has 107 octets at most"), "{error}");
    }
    let fits = folder.path().join("x".repeat(most));
    drop(Listener::bind(&fits).unwrap());
}

// The queue is full and never emptied: a plain connect would block.
#[test]
fn a_server_that_does_not_accept_times_out() {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device");
    let server = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    bind(&server, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    listen(&server, 0).unwrap();
    let _waiting = UnixStream::connect(&path).unwrap();
    let timeout = Duration::from_millis(50);
    let Err(Error::Connect { source, .. }) = Client::connect(&path, timeout) else {
        panic!("no error");
    };
    assert_eq!(source.kind(), std::io::ErrorKind::TimedOut);
    // It runs all the same.
    assert!(matches!(
        Listener::bind(&path),
        Err(ListenError::InUse { .. })
    ));
}
