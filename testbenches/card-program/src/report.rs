//! One line for each check, and whether all of them passed.

use std::time::Instant;

use warpline_driver::BackendError;

/// What a check ends with: a remark for its line, or why it failed.
pub type Outcome = Result<String, BackendError>;

/// The checks so far.
#[derive(Debug, Default)]
pub struct Report {
    passed: usize,
    failed: usize,
}

impl Report {
    /// Runs a check and prints its line.
    pub fn check(&mut self, name: &str, check: impl FnOnce() -> Outcome) {
        let start = Instant::now();
        let outcome = check();
        let seconds = start.elapsed().as_secs_f64();
        match outcome {
            Ok(remark) => {
                self.passed += 1;
                println!("  ok    {name}: {remark} ({seconds:.2} s)");
            }
            Err(error) => {
                self.failed += 1;
                println!("  FAIL  {name}: {error} ({seconds:.2} s)");
            }
        }
    }

    /// Prints the last line; says whether there were checks and all of them passed.
    pub fn verdict(&self) -> bool {
        let Self { passed, failed } = self;
        println!("  {passed} passed, {failed} failed");
        *passed > 0 && *failed == 0
    }
}

/// Fails a check unless `holds`.
pub fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), BackendError> {
    if holds {
        Ok(())
    } else {
        Err(otherwise().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_or_no_check_is_no_pass() {
        let mut report = Report::default();
        assert!(!report.verdict());
        report.check("good", || Ok("remark".into()));
        assert!(report.verdict());
        report.check("bad", || {
            ensure(false, || "reason".into())?;
            Ok("remark".into())
        });
        assert!(!report.verdict());
        report.check("good", || Ok("remark".into()));
        assert!(!report.verdict());
    }
}
