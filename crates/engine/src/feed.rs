//! What a run plays next, and the one scheduler that plays it: rows of benchmarks and attempts of safety evaluations alike.

use std::{collections::HashMap, future::Future, sync::Arc};

use llm_client::Stop;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{Id, JoinError, JoinSet},
};

/// Says which unit is next, given which units have ended: all rows, the conversations of a file, layers of variations.
///
/// The order follows from the data, never from which unit ended first.
pub(crate) trait Feed: Send {
    /// What is run as a whole, in one task.
    type Unit: Send + Sync + 'static;
    /// How a unit ended.
    type End: Send + 'static;

    /// The next unit, or `None` when no more come, however the units in flight end. A feed that must first know how these end waits
    /// for ever: it is called again after each end. The future may be dropped while it waits, which must lose nothing.
    fn next(&mut self) -> impl Future<Output = Option<Self::Unit>> + Send;

    /// The number of rows of all units so far; `None` while it is not known.
    fn rows(&self) -> Option<u64>;

    /// Takes the end of the unit that [`next`](Self::next) returned at `place`, counted from 0.
    fn ended(&mut self, place: usize, end: Self::End);
}

/// Runs the units of a feed.
pub(crate) trait FeedRunner<U, E>: Send + Sync + 'static {
    /// Runs a unit. `permit` is its place among those in flight.
    fn run(
        self: Arc<Self>,
        unit: Arc<U>,
        permit: OwnedSemaphorePermit,
    ) -> impl Future<Output = E> + Send;

    /// The end of a unit that was not begun because the run is stopping.
    fn not_begun(&self, unit: &U) -> E;

    /// The end of a unit whose task panicked: a bug that costs this unit only.
    fn panicked(&self, unit: &U, message: String) -> E;

    /// Reports that the feed has this many rows.
    fn report_rows(&self, rows: u64);
}

/// The first units of a feed.
pub(crate) struct FirstOf<F> {
    pub(crate) feed: F,
    /// How many more units are taken.
    pub(crate) left: u64,
    /// Whether the feed had more.
    pub(crate) more: bool,
}

impl<F: Feed> Feed for FirstOf<F> {
    type Unit = F::Unit;
    type End = F::End;

    async fn next(&mut self) -> Option<F::Unit> {
        let unit = self.feed.next().await?;
        self.more = self.left == 0;
        self.left = self.left.saturating_sub(1);
        Some(unit).filter(|_| !self.more)
    }

    fn rows(&self) -> Option<u64> {
        self.feed.rows()
    }

    fn ended(&mut self, place: usize, end: F::End) {
        self.feed.ended(place, end);
    }
}

/// Runs all units of `feed`, as many at the same time as `room` has permits, each in a task of its own. After a stop no unit is begun.
pub(crate) async fn run_feed<F, R>(
    feed: &mut F,
    runner: &Arc<R>,
    room: &Arc<Semaphore>,
    stop: &Stop,
) where
    F: Feed,
    R: FeedRunner<F::Unit, F::End>,
{
    let mut tasks = JoinSet::new();
    let mut in_flight = InFlight::default();
    let (mut place, mut reported) = (0, None);
    loop {
        let unit = tokio::select! {
            biased;
            Some(ended) = tasks.join_next_with_id() => {
                in_flight.end(ended, feed, runner.as_ref());
                continue;
            }
            unit = feed.next() => unit,
        };
        let rows = feed.rows();
        if let Some(rows) = rows.filter(|_| rows != reported) {
            runner.report_rows(rows);
            reported = Some(rows);
        }
        let Some(unit) = unit.map(Arc::new) else {
            break;
        };
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(room).acquire_owned().await else {
            break;
        };
        if stop.is_stopped() {
            feed.ended(place, runner.not_begun(&unit));
        } else {
            let task = tasks.spawn(Arc::clone(runner).run(Arc::clone(&unit), permit));
            in_flight.0.insert(task.id(), (place, unit));
        }
        place += 1;
    }
    while let Some(ended) = tasks.join_next_with_id().await {
        in_flight.end(ended, feed, runner.as_ref());
    }
}

/// The units in flight and their places.
struct InFlight<U>(HashMap<Id, (usize, Arc<U>)>);

impl<U> Default for InFlight<U> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<U> InFlight<U> {
    fn end<F, R>(&mut self, ended: Result<(Id, F::End), JoinError>, feed: &mut F, runner: &R)
    where
        F: Feed<Unit = U>,
        R: FeedRunner<U, F::End>,
    {
        let id = match &ended {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        let Some((place, unit)) = self.0.remove(&id) else {
            return;
        };
        let end = match ended {
            Ok((_, end)) => end,
            Err(error) => runner.panicked(&unit, format!("internal error: {error}")),
        };
        feed.ended(place, end);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeMap,
        sync::atomic::{AtomicU64, Ordering::Relaxed},
    };

    use super::*;

    /// Numbers in steps: each step begins when the one before it has ended, with the numbers that it returned.
    #[derive(Default)]
    struct Steps {
        waiting: Vec<u64>,
        ends: BTreeMap<usize, String>,
        handed_out: u64,
        steps: u64,
    }

    impl Feed for Steps {
        type Unit = u64;
        type End = String;

        async fn next(&mut self) -> Option<u64> {
            if self.waiting.is_empty()
                && self.steps > 0
                && self.ends.len() as u64 == self.handed_out
            {
                self.steps -= 1;
                self.waiting = (0..self.steps * 3).collect();
            }
            if self.waiting.is_empty() && self.steps > 0 {
                std::future::pending::<()>().await;
            }
            self.handed_out += u64::from(!self.waiting.is_empty());
            self.waiting.pop()
        }

        fn rows(&self) -> Option<u64> {
            Some(self.handed_out + self.waiting.len() as u64)
        }

        fn ended(&mut self, place: usize, end: String) {
            self.ends.insert(place, end);
        }
    }

    /// Returns each number; panics at 2.
    #[derive(Default)]
    struct Says {
        rows: AtomicU64,
        at_once: AtomicU64,
        most: AtomicU64,
        stop: Option<Stop>,
    }

    impl FeedRunner<u64, String> for Says {
        async fn run(self: Arc<Self>, unit: Arc<u64>, permit: OwnedSemaphorePermit) -> String {
            let at_once = self.at_once.fetch_add(1, Relaxed) + 1;
            self.most.fetch_max(at_once, Relaxed);
            for _ in 0..*unit * 3 {
                tokio::task::yield_now().await;
            }
            self.at_once.fetch_sub(1, Relaxed);
            assert!(*unit != 2, "two");
            if let Some(stop) = &self.stop {
                stop.stop();
            }
            drop(permit);
            format!("{unit}")
        }

        fn not_begun(&self, unit: &u64) -> String {
            format!("{unit} not begun")
        }

        fn panicked(&self, unit: &u64, message: String) -> String {
            format!("{unit}: {message}")
        }

        fn report_rows(&self, rows: u64) {
            self.rows.store(rows, Relaxed);
        }
    }

    async fn run(steps: u64, runner: Says) -> (Vec<String>, Arc<Says>) {
        let mut feed = Steps {
            steps,
            ..Steps::default()
        };
        let stop = runner.stop.clone().unwrap_or_default();
        let runner = Arc::new(runner);
        run_feed(&mut feed, &runner, &Arc::new(Semaphore::new(2)), &stop).await;
        (feed.ends.into_values().collect(), runner)
    }

    #[tokio::test]
    async fn steps_wait_for_the_ends_before_them_and_a_panic_costs_its_unit_only() {
        let (ends, runner) = run(3, Says::default()).await;
        let (panicked, said): (Vec<_>, Vec<_>) = ends.iter().partition(|end| end.len() > 1);
        assert_eq!(said, ["5", "4", "3", "1", "0", "1", "0"]);
        assert_eq!(panicked.len(), 2);
        assert!(
            panicked[0].starts_with("2: internal error: "),
            "{panicked:?}"
        );
        assert_eq!(runner.most.load(Relaxed), 2);
        assert_eq!(runner.rows.load(Relaxed), 9);
    }

    #[tokio::test]
    async fn the_first_units_of_a_feed_say_whether_there_are_more() {
        for (left, more) in [(2, true), (3, false)] {
            let feed = Steps {
                steps: 2,
                ..Steps::default()
            };
            let mut first = FirstOf {
                feed,
                left,
                more: false,
            };
            let (runner, room) = (Arc::new(Says::default()), Arc::new(Semaphore::new(2)));
            run_feed(&mut first, &runner, &room, &Stop::default()).await;
            assert_eq!((first.feed.ends.len() as u64, first.more), (left, more));
        }
    }

    #[tokio::test]
    async fn after_a_stop_no_unit_is_begun() {
        let stop = Some(Stop::default());
        let (ends, _) = run(
            2,
            Says {
                stop,
                ..Says::default()
            },
        )
        .await;
        // Two were in flight: one of them panicked, and the other one stopped the run.
        assert_eq!(ends.len(), 3);
        assert_eq!(
            ends.iter().filter(|end| end.ends_with("not begun")).count(),
            1,
            "{ends:?}"
        );
    }
}
