//! Programs that tests start.

use std::process::Child;

/// A process that is killed when the test ends, passed or not.
pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it has ended, unless the test failed
        let _ = self.0.wait();
    }
}
