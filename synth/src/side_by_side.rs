//! Placements in parallel: nextpnr uses one processor, and takes minutes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::error::Error;

enum Progress<T> {
    Begun(u32),
    /// Index of the seed, and its result.
    Done(usize, Result<T, Error>),
}

/// Calls `place` with each of `seeds`, at most `jobs` at a time and at least one, and calls `begun` when a placement begins. Returns
/// the results in the order of `seeds`. After an error no further placement begins; running ones end first.
///
/// # Errors
/// The first error of `place`.
pub(crate) fn side_by_side<T: Send>(
    seeds: &[u32],
    jobs: usize,
    begun: &mut dyn FnMut(u32),
    place: impl Fn(u32) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let next = AtomicUsize::new(0);
    let mut made: Vec<Option<T>> = seeds.iter().map(|_| None).collect();
    let mut wrong = None;
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..jobs.clamp(1, seeds.len().max(1)) {
            let (sender, next, place) = (sender.clone(), &next, &place);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&seed) = seeds.get(at) else { break };
                    let done = match sender.send(Progress::Begun(seed)) {
                        Ok(()) => place(seed),
                        Err(_) => break, // the receiver is gone
                    };
                    if done.is_err() {
                        next.store(seeds.len(), Ordering::Relaxed);
                    }
                    if sender.send(Progress::Done(at, done)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for progress in receiver {
            match progress {
                Progress::Begun(seed) => begun(seed),
                Progress::Done(at, Ok(one)) => made[at] = Some(one),
                Progress::Done(_, Err(error)) => wrong = wrong.take().or(Some(error)),
            }
        }
    });
    match wrong {
        Some(error) => Err(error),
        None => Ok(made.into_iter().flatten().collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn as_many_at_a_time_as_there_are_jobs() {
        let both = Barrier::new(2); // with one at a time the first would never return
        let mut begun = vec![];
        let made = side_by_side(&[4, 3, 2, 1], 2, &mut |seed| begun.push(seed), |seed| {
            both.wait();
            Ok(10 * seed)
        });
        assert_eq!(made.unwrap(), [40, 30, 20, 10]);
        begun.sort_unstable();
        assert_eq!(begun, [1, 2, 3, 4]);
    }

    #[test]
    fn one_at_a_time_in_their_order() {
        let mut begun = vec![];
        let made = side_by_side(&[3, 1, 2], 0, &mut |seed| begun.push(seed), Ok);
        assert_eq!((made.unwrap(), begun), (vec![3, 1, 2], vec![3, 1, 2]));
        assert!(side_by_side(&[], 4, &mut |_| (), Ok).unwrap().is_empty());
    }

    #[test]
    fn an_error_is_the_last_that_begins() {
        let mut begun = vec![];
        let made = side_by_side(&[1, 2, 3], 1, &mut |seed| begun.push(seed), |seed| {
            if seed == 2 {
                return Err(Error::Width { width: 2 });
            }
            Ok(seed)
        });
        assert!(matches!(made, Err(Error::Width { width: 2 })));
        assert_eq!(begun, [1, 2]);
    }
}
