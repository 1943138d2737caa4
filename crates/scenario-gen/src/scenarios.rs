//! Generates scenarios from metrics, and their demographic variants.

use std::sync::Arc;

use futures::stream::{BoxStream, StreamExt, unfold};
use schema::{
    Benchmark, CallContext, ChatModel, ChatReply, Extra, Fingerprint, Metric, PhaseError, Purpose,
    ResponseFormat, Scenario, ScenarioGenerator,
};
use serde_json::json;

use crate::{
    base_scenario::{self, BaseScenario, Rewrite},
    collect::Collector,
    json_request,
    prompts::{self, ScenarioPrompts},
    rows::Rows,
    settings::{ScenarioSettings, base_id, row_id},
};

/// Writes scenarios with a language model: one call for the scenarios of a metric, then one for every scenario and combination of the
/// demographic axes. Without axes there are no further calls.
///
/// An unusable reply is requested again with what was wrong. From a reply with too few scenarios the good ones are kept, and only the
/// others are requested. A reply that stays unusable is an error in the stream that costs only its own rows: for a failed call for
/// scenarios, the rows of its metric that did not arrive before; for a failed variant, that variant. When the run is stopping or its
/// budget is spent, the stream waits for calls in flight, yields their rows, and then ends with that error.
pub struct LlmScenarioGenerator {
    model: Arc<dyn ChatModel>,
    prompts: ScenarioPrompts,
    settings: ScenarioSettings,
    scenarios_format: ResponseFormat,
    variant_format: ResponseFormat,
}

/// How many replies are needed if none has to be requested twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Calls for the scenarios of a metric.
    pub scenarios: u64,
    /// Calls for a demographic variant.
    pub variants: u64,
}

impl Calls {
    /// Both together.
    #[must_use]
    pub fn total(self) -> u64 {
        self.scenarios + self.variants
    }
}

/// One variant of a scenario.
#[derive(Clone)]
pub(crate) struct Variant<'a> {
    pub(crate) metric: &'a Metric,
    pub(crate) base: Arc<BaseScenario>,
    /// Counted from 1.
    pub(crate) scenario: u32,
    /// Counted from 1.
    pub(crate) variant: u64,
}

impl Variant<'_> {
    pub(crate) fn id(&self) -> String {
        row_id(&self.metric.id, self.scenario, self.variant)
    }
}

impl LlmScenarioGenerator {
    /// A generator with the shipped prompts.
    ///
    /// # Errors
    /// When a setting is invalid.
    pub fn new(model: Arc<dyn ChatModel>, settings: ScenarioSettings) -> Result<Self, PhaseError> {
        settings.check()?;
        Ok(Self {
            model,
            prompts: ScenarioPrompts::shipped().map_err(json_request::bad_prompt)?,
            scenarios_format: json_request::format(
                "scenarios",
                base_scenario::scenarios_schema(settings.landmarks),
            ),
            variant_format: json_request::format(
                "variant",
                base_scenario::variant_schema(settings.landmarks),
            ),
            settings,
        })
    }

    /// Replaces the prompts.
    ///
    /// # Errors
    /// When a template uses a value that does not exist.
    pub fn with_prompts(mut self, prompts: ScenarioPrompts) -> Result<Self, PhaseError> {
        self.prompts = prompts;
        self.check_prompts()?;
        Ok(self)
    }

    /// What the generator writes.
    #[must_use]
    pub fn settings(&self) -> &ScenarioSettings {
        &self.settings
    }

    /// The ids of the rows of one metric, in the order in which they are written.
    pub fn expected_ids(&self, metric: &Metric) -> impl Iterator<Item = String> + use<> {
        self.settings.expected_ids(metric)
    }

    /// The number of calls for the rows of `benchmark` whose id `wanted` accepts.
    #[must_use]
    pub fn calls(&self, benchmark: &Benchmark, wanted: impl Fn(&str) -> bool) -> Calls {
        let mut calls = Calls::default();
        for metric in &benchmark.metrics {
            let rows = self.expected_ids(metric).filter(|id| wanted(id)).count() as u64;
            calls.scenarios += u64::from(rows > 0);
            calls.variants += if self.settings.has_axes() { rows } else { 0 };
        }
        calls
    }

    /// The rows whose id `wanted` accepts, in order: metric, scenario, variant. No call is made for a metric without such rows. For
    /// other metrics, all scenarios are requested, since they are written in one reply: with a response cache they are the same as in
    /// an earlier run.
    ///
    /// Calls make progress only while the stream is polled.
    pub fn scenarios_where<'a>(
        &'a self,
        benchmark: &'a Benchmark,
        wanted: impl Fn(&str) -> bool + Send + 'a,
    ) -> BoxStream<'a, Result<Scenario, PhaseError>> {
        let rows = Rows::new(self, benchmark, wanted);
        unfold(rows, |mut rows| async move {
            rows.next().await.map(|row| (row, rows))
        })
        .boxed()
    }

    /// Requests the scenarios of one metric. Returns those that arrived, and why others did not.
    pub(crate) async fn base_scenarios(
        &self,
        benchmark: &Benchmark,
        metric: &Metric,
    ) -> (Vec<BaseScenario>, Option<PhaseError>) {
        let text = match self.scenarios_text(benchmark, metric) {
            Ok(text) => text,
            Err(error) => return (Vec::new(), Some(error)),
        };
        let context = CallContext::new(Purpose::GenScenarios, metric.id.as_str());
        let request = json_request::request(text, self.scenarios_format.clone(), context);
        let what = format!("scenarios of metric {} {:?}", metric.id, metric.name);
        let count = self.settings.scenarios_per_metric;
        let turns = self.settings.landmarks.then_some(self.settings.turns);
        let mut collector = Collector::new(count, turns);
        let take = |reply: &ChatReply| collector.take(reply);
        let asked =
            json_request::ask_for(&*self.model, request, self.settings.tries, &what, take).await;
        let kept = collector.kept;
        let error = asked.err().map(|error| match kept.len() {
            0 => error,
            n => PhaseError::new(error.kind(), format!("{error}. {n} of {count} came"))
                .with_source(error),
        });
        (kept, error)
    }

    /// Requests one variant.
    pub(crate) async fn variant(&self, variant: Variant<'_>) -> Result<Scenario, PhaseError> {
        let id = variant.id();
        let demographic = self.settings.demographic(variant.variant - 1);
        let text = prompts::variant(&self.prompts.variant, &variant.base, &demographic)?;
        let context = CallContext::new(Purpose::GenVariant, id.as_str());
        let request = json_request::request(text, self.variant_format.clone(), context);
        let what = format!("scenario {id}, variant {}", json!(demographic));
        let turns = self.settings.turns;
        let rewrite = json_request::ask(
            &*self.model,
            request,
            self.settings.tries,
            &what,
            |object| base_scenario::read_rewrite(object, &variant.base, turns),
        )
        .await?;
        Ok(row(&variant, Some((rewrite, demographic))))
    }

    fn scenarios_text(&self, benchmark: &Benchmark, metric: &Metric) -> Result<String, PhaseError> {
        let settings = &self.settings;
        prompts::scenarios(
            &self.prompts.scenarios,
            benchmark,
            metric,
            (
                settings.scenarios_per_metric,
                settings.turns,
                settings.landmarks,
            ),
        )
    }

    /// Renders every prompt once, so that a misspelt value is found before the first call.
    fn check_prompts(&self) -> Result<(), PhaseError> {
        use schema::MetricType::{Negative, Positive};
        let mut benchmark = Benchmark::default();
        for (metric_type, user_context) in [(Positive, None), (Negative, Some("x".to_owned()))] {
            let metric = Metric {
                examples: vec!["x".into()],
                ..Metric::new("m01", "x", metric_type, "x")
            };
            benchmark.scenario.user_context = user_context;
            self.scenarios_text(&benchmark, &metric)?;
        }
        let base = BaseScenario {
            title: None,
            persona: "x".to_owned(),
            user_goal: "x".to_owned(),
            latent_adversarial_goal: "x".to_owned(),
            landmarks: vec![schema::Landmark {
                turn: 1,
                instruction: "x".to_owned(),
            }],
        };
        prompts::variant(&self.prompts.variant, &base, &self.settings.demographic(0))?;
        Ok(())
    }
}

impl ScenarioGenerator for LlmScenarioGenerator {
    fn scenarios<'a>(
        &'a self,
        benchmark: &'a Benchmark,
    ) -> BoxStream<'a, Result<Scenario, PhaseError>> {
        self.scenarios_where(benchmark, |_| true)
    }

    fn fingerprint(&self) -> Fingerprint {
        let settings = &self.settings;
        Fingerprint {
            name: "LlmScenarioGenerator".into(),
            version: 1,
            settings: json!({
                "model": self.model.id(),
                "prompts": self.prompts.hashes(),
                "scenarios_per_metric": settings.scenarios_per_metric,
                "turns": settings.turns,
                "demographics": settings.demographics,
                "landmarks": settings.landmarks,
                "tries": settings.tries,
            }),
        }
    }
}

/// The row of a variant; without a rewrite, the unchanged scenario.
pub(crate) fn row(variant: &Variant<'_>, rewrite: Option<(Rewrite, Extra)>) -> Scenario {
    let base = &*variant.base;
    let mut extra = Extra::new();
    if let Some(title) = &base.title {
        extra.insert("title".to_owned(), title.as_str().into());
    }
    let (persona, landmarks, demographic) = match rewrite {
        None => (base.persona.clone(), base.landmarks.clone(), Extra::new()),
        Some((rewrite, demographic)) => {
            let base_id = base_id(&variant.metric.id, variant.scenario);
            extra.insert("base_scenario_id".to_owned(), base_id.into());
            (rewrite.persona, rewrite.landmarks, demographic)
        }
    };
    Scenario {
        id: variant.id(),
        metric_id: variant.metric.id.clone(),
        metric_name: Some(variant.metric.name.clone()),
        metric_type: Some(variant.metric.metric_type),
        persona,
        user_goal: base.user_goal.clone(),
        latent_adversarial_goal: base.latent_adversarial_goal.clone(),
        landmarks,
        demographic,
        extra,
        ..Scenario::default()
    }
}
