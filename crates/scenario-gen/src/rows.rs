//! The rows of a benchmark as a stream: bounded, and in order whatever finishes first.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter::Enumerate,
    slice::Iter,
    sync::Arc,
};

use futures::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use schema::{Benchmark, Metric, PhaseError, PhaseErrorKind, Scenario};

use crate::{
    base_scenario::BaseScenario,
    scenarios::{LlmScenarioGenerator, Variant, row},
};

/// The most rows that may wait for an earlier one, as a multiple of the calls in flight. A slow call does not stop the
/// others at once, and memory stays bounded.
const WINDOW: usize = 4;

/// The position of a row in the output: metric, scenario, variant. The call for a metric's scenarios comes before them,
/// at scenario 0.
type RowPosition = (usize, u32, u64);

/// The result of a call.
enum Outcome<'a> {
    Base(&'a Metric, Vec<BaseScenario>, Option<PhaseError>),
    Row(Box<Result<Scenario, PhaseError>>),
}

/// Requests rows and yields them in order.
///
/// All calls are in one pool: a second pool behind the first would not be polled while the first is full, and its calls
/// would make no progress.
pub(crate) struct Rows<'a, W> {
    generator: &'a LlmScenarioGenerator,
    benchmark: &'a Benchmark,
    wanted: W,
    metrics: Enumerate<Iter<'a, Metric>>,
    /// Variants that are not requested yet.
    waiting: BTreeMap<RowPosition, Variant<'a>>,
    /// Positions of the calls in flight.
    open: BTreeSet<RowPosition>,
    calls: FuturesUnordered<BoxFuture<'a, (RowPosition, Outcome<'a>)>>,
    /// Finished rows that are not yielded yet.
    finished: BTreeMap<RowPosition, Result<Scenario, PhaseError>>,
    /// Why no more calls are started; yielded last.
    stop: Option<PhaseError>,
}

impl<'a, W: Fn(&str) -> bool> Rows<'a, W> {
    pub(crate) fn new(
        generator: &'a LlmScenarioGenerator,
        benchmark: &'a Benchmark,
        wanted: W,
    ) -> Self {
        Self {
            generator,
            benchmark,
            wanted,
            metrics: benchmark.metrics.iter().enumerate(),
            waiting: BTreeMap::new(),
            open: BTreeSet::new(),
            calls: FuturesUnordered::new(),
            finished: BTreeMap::new(),
            stop: None,
        }
    }

    /// The next row in order.
    pub(crate) async fn next(&mut self) -> Option<Result<Scenario, PhaseError>> {
        loop {
            self.start();
            if let Some(row) = self.take_finished() {
                return Some(row);
            }
            match self.calls.next().await {
                Some((place, outcome)) => self.accept(place, outcome),
                None => return self.stop.take().map(Err),
            }
        }
    }

    /// Starts as many calls as may be in flight: variants first, in order, then the next metric.
    fn start(&mut self) {
        let most = self.generator.settings().concurrency;
        while self.stop.is_none() && self.calls.len() < most {
            let full = self.calls.len() + self.finished.len() >= most.saturating_mul(WINDOW);
            let first_finished = self.finished.keys().next();
            match self.waiting.first_entry() {
                // A row that finished rows wait for is started in any case.
                Some(entry) if !full || first_finished.is_some_and(|place| entry.key() < place) => {
                    let (place, variant) = entry.remove_entry();
                    let generator = self.generator;
                    self.call(place, async move {
                        Outcome::Row(Box::new(generator.variant(variant).await))
                    });
                }
                None if !full => {
                    let Some((at, metric)) = self.next_metric() else {
                        return;
                    };
                    let (generator, benchmark) = (self.generator, self.benchmark);
                    self.call((at, 0, 0), async move {
                        let (bases, error) = generator.base_scenarios(benchmark, metric).await;
                        Outcome::Base(metric, bases, error)
                    });
                }
                _ => return,
            }
        }
    }

    /// The next metric with a requested row.
    fn next_metric(&mut self) -> Option<(usize, &'a Metric)> {
        let (generator, wanted) = (self.generator, &self.wanted);
        self.metrics
            .find(|(_, metric)| generator.expected_ids(metric).any(|id| wanted(&id)))
    }

    fn call(&mut self, place: RowPosition, work: impl Future<Output = Outcome<'a>> + Send + 'a) {
        self.open.insert(place);
        self.calls
            .push(Box::pin(async move { (place, work.await) }));
    }

    fn accept(&mut self, place: RowPosition, outcome: Outcome<'a>) {
        self.open.remove(&place);
        let (place, row) = match outcome {
            Outcome::Base(metric, bases, error) => {
                // After the rows that arrived.
                let behind = (place.0, u32::MAX, 0);
                self.expand(place, metric, bases);
                match error {
                    Some(error) => (behind, Err(error)),
                    None => return,
                }
            }
            Outcome::Row(row) => (place, *row),
        };
        match row {
            Err(error) if ends_the_run(&error) => {
                self.waiting.clear();
                self.metrics = [].iter().enumerate();
                self.stop.get_or_insert(error);
            }
            row => {
                self.finished.insert(place, row);
            }
        }
    }

    /// Turns the scenarios of a metric into the requested rows, or into calls for them.
    fn expand(&mut self, (at, ..): RowPosition, metric: &'a Metric, bases: Vec<BaseScenario>) {
        let settings = self.generator.settings();
        for (scenario, base) in (1..).zip(bases) {
            let base = Arc::new(base);
            for number in 1..=settings.variants() {
                let variant = Variant {
                    metric,
                    base: Arc::clone(&base),
                    scenario,
                    variant: number,
                };
                if !(self.wanted)(&variant.id()) {
                    continue;
                }
                let place = (at, scenario, number);
                if !settings.has_axes() {
                    self.finished.insert(place, Ok(row(&variant, None)));
                } else if self.stop.is_none() {
                    self.waiting.insert(place, variant);
                }
            }
        }
    }

    /// The first finished row, unless an earlier one is not finished.
    fn take_finished(&mut self) -> Option<Result<Scenario, PhaseError>> {
        let entry = self.finished.first_entry()?;
        let earlier = |place: Option<&RowPosition>| place.is_some_and(|place| place < entry.key());
        if earlier(self.open.first()) || earlier(self.waiting.keys().next()) {
            return None;
        }
        Some(entry.remove())
    }
}

fn ends_the_run(error: &PhaseError) -> bool {
    matches!(
        error.kind(),
        PhaseErrorKind::Cancelled | PhaseErrorKind::OverBudget
    )
}
