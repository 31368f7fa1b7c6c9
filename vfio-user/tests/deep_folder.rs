//! A socket file named from within a folder. The test changes the folder of its process, so it is alone in it.

use std::os::unix::net::UnixStream;
use std::path::Path;

use warpline_vfio_user::Listener;

#[test]
fn a_relative_path_fits_however_deep_the_folder_is() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("x".repeat(120));
    std::fs::create_dir(&deep).unwrap();
    std::env::set_current_dir(&deep).unwrap();
    let listener = Listener::bind("device").unwrap();
    drop(UnixStream::connect("device").unwrap());
    drop(listener);
    assert!(!Path::new("device").exists());
}
