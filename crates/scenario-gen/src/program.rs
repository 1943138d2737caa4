//! Metrics and scenarios that a program writes. The form is that of `docs/any-language.md`.

use std::{collections::HashMap, ops::RangeInclusive, sync::Arc};

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt};
use schema::{
    Benchmark, Brief, CallContext, ChatModel, ChatRequest, Extra, Fingerprint, Message, Metric,
    MetricGenerator, ModelError, PhaseError, PhaseErrorKind, Purpose, Role, Scenario,
    ScenarioGenerator,
    reply::{PROGRAM_TRIES, json_object, kind_of, list},
    text::is_blank,
};
use serde_json::{Value, json};

use crate::{
    metrics::read_metrics,
    settings::{ScenarioSettings, row_id},
};

/// Gets metrics and scenarios from a program: see [`schema::PhaseProgram`].
///
/// Metrics are held to the rules of those that a model writes. A row of scenarios may have any key of `scenarios.json`; ids are given
/// here. A result that cannot be used is requested again with what is wrong, as `fault`.
pub struct ProgramGenerator {
    program: Arc<dyn ChatModel>,
    settings: ScenarioSettings,
    metrics: (u32, u32),
    tries: u32,
}

/// What a result gives: the rows that can be used, and what is wrong with it.
struct Read<T> {
    good: Vec<T>,
    fault: Option<String>,
}

/// What a program gives, in one result or one by one.
trait Rows: Send {
    type Row: Send;

    /// Reads a result that has all of them.
    fn read(&self, object: &Extra) -> Read<Self::Row>;

    /// Adds one, and returns its id; `None` if there are as many as were asked for.
    ///
    /// # Errors
    /// What is wrong with it, with its key.
    fn add(&mut self, row: &Value) -> Result<Option<String>, String>;

    /// Those that were added, and what is missing.
    fn added(&mut self) -> Read<Self::Row>;
}

impl ProgramGenerator {
    /// The generator that `program` is. `metrics`: how many metrics are requested; of scenarios `settings` says it.
    ///
    /// # Errors
    /// When a setting is invalid.
    pub fn new(
        program: Arc<dyn ChatModel>,
        settings: ScenarioSettings,
        metrics: RangeInclusive<u32>,
    ) -> Result<Self, PhaseError> {
        settings.check()?;
        Ok(Self {
            program,
            settings,
            metrics: (*metrics.start(), *metrics.end()),
            tries: PROGRAM_TRIES,
        })
    }

    /// Sets how often a result is requested until it can be used. 0 counts as 1.
    #[must_use]
    pub fn with_tries(mut self, tries: u32) -> Self {
        self.tries = tries.max(1);
        self
    }

    /// Sends `params` until `rows` finds no fault. `what` names the rows.
    async fn ask<R: Rows>(
        &self,
        params: Value,
        context: CallContext,
        what: &str,
        mut rows: R,
    ) -> (Vec<R::Row>, Option<PhaseError>) {
        let room = self.program.conversation_room().await;
        let asked = self.rows(params, &context, &mut rows).await;
        // What it gives beyond what was asked for is not taken.
        self.program.end_conversation(&context).await;
        drop(room);
        let (good, fault) = match asked {
            Ok(Read { good, fault }) => (good, fault),
            Err(error) => {
                let error = PhaseError::from_model(what, error);
                return (rows.added().good, Some(error));
            }
        };
        let error = fault.map(|fault| {
            let text = format!("{what}: program {}: {fault}", self.program.id());
            PhaseError::new(PhaseErrorKind::Failed, text)
        });
        (good, error)
    }

    /// All rows of the program: those of a result, or those that it gives one by one. Each request after the first has those that are there
    /// (`existing`), or what was wrong with the last one (`fault`).
    async fn rows<R: Rows>(
        &self,
        mut params: Value,
        context: &CallContext,
        rows: &mut R,
    ) -> Result<Read<R::Row>, ModelError> {
        let mut existing: Vec<Value> = Vec::new();
        let mut attempt: u32 = 1;
        loop {
            let message = Message::new(Role::User, params.to_string());
            let request = ChatRequest::new(vec![message], context.clone());
            let reply = self.program.chat(&request).await?;
            let object = json_object(&reply.content);
            let read = match &object {
                Ok(object) if let Some(item) = object.get("item") => match rows.add(item) {
                    Ok(Some(id)) => {
                        existing.push(with_id(item, &id));
                        attempt = 1;
                        params = with_existing(params, &existing);
                        continue;
                    }
                    Ok(None) => return Ok(rows.added()),
                    Err(fault) => Read {
                        fault: Some(fault),
                        ..rows.added()
                    },
                },
                Ok(_) if !existing.is_empty() => return Ok(rows.added()),
                Ok(object) => rows.read(object),
                Err(reason) => Read {
                    good: Vec::new(),
                    fault: Some(reason.clone()),
                },
            };
            match &read.fault {
                Some(fault) if attempt < self.tries => {
                    attempt += 1;
                    params["attempt"] = attempt.into();
                    params["fault"] = fault.as_str().into();
                }
                _ => return Ok(read),
            }
        }
    }

    async fn scenarios_of(
        &self,
        benchmark: &Benchmark,
        metric: &Metric,
    ) -> Vec<Result<Scenario, PhaseError>> {
        let settings = &self.settings;
        let tools: Vec<&str> = benchmark.tools.iter().map(|tool| &*tool.name).collect();
        let params = json!({
            "name": benchmark.name,
            "description": benchmark.description,
            "user_context": benchmark.scenario.user_context,
            "metric": {
                "id": metric.id,
                "name": metric.name,
                "type": metric.metric_type,
                "definition": metric.definition,
                "examples": metric.examples,
            },
            "count": settings.scenarios_per_metric,
            "turns": settings.turns,
            "landmarks": settings.landmarks,
            "demographics": settings.demographics,
            "tools": tools,
        });
        let context = CallContext::new(Purpose::GenScenarios, metric.id.as_str());
        let what = format!("scenarios of metric {} {:?}", metric.id, metric.name);
        let scenarios = Scenarios::new(settings, metric);
        let (rows, error) = self.ask(params, context, &what, scenarios).await;
        let rows = numbered(rows, metric).into_iter().map(Ok);
        rows.chain(error.map(Err)).collect()
    }

    fn fingerprint_of(&self, name: &'static str, settings: Value) -> Fingerprint {
        let program = self.program.phase_program();
        let fingerprint = program.map(|program| Value::clone(&program.fingerprint));
        let mut all = json!({
            "program": {"id": self.program.id(), "fingerprint": fingerprint},
            "tries": self.tries,
        });
        if let (Some(all), Value::Object(settings)) = (all.as_object_mut(), settings) {
            all.extend(settings);
        }
        Fingerprint {
            name: name.into(),
            version: 1,
            settings: all,
        }
    }
}

#[async_trait]
impl MetricGenerator for ProgramGenerator {
    async fn metrics(&self, brief: &Brief) -> Result<Vec<Metric>, PhaseError> {
        let (least, most) = self.metrics;
        let params = json!({
            "name": brief.name,
            "description": brief.description,
            "user_context": brief.user_context,
            "count": [least, most],
        });
        let context = CallContext::new(Purpose::GenMetrics, "metrics");
        let what = format!("metrics of benchmark {:?}", brief.name);
        let metrics = Metrics {
            most: most as usize,
            rows: Vec::new(),
        };
        match self.ask(params, context, &what, metrics).await {
            (_, Some(error)) => Err(error),
            (metrics, None) => Ok(metrics),
        }
    }

    fn fingerprint(&self) -> Fingerprint {
        let count = json!({"count": [self.metrics.0, self.metrics.1]});
        self.fingerprint_of("ProgramMetricGenerator", count)
    }
}

impl ScenarioGenerator for ProgramGenerator {
    fn scenarios<'a>(
        &'a self,
        benchmark: &'a Benchmark,
    ) -> BoxStream<'a, Result<Scenario, PhaseError>> {
        stream::iter(&benchmark.metrics)
            .map(|metric| self.scenarios_of(benchmark, metric))
            .buffered(self.settings.concurrency)
            .flat_map(stream::iter)
            .boxed()
    }

    fn fingerprint(&self) -> Fingerprint {
        let settings = &self.settings;
        let all = json!({
            "scenarios_per_metric": settings.scenarios_per_metric,
            "turns": settings.turns,
            "demographics": settings.demographics,
            "landmarks": settings.landmarks,
        });
        self.fingerprint_of("ProgramScenarioGenerator", all)
    }
}

/// A row with its id, as `existing` has it.
fn with_id(row: &Value, id: &str) -> Value {
    let mut row = row.clone();
    row["id"] = id.into();
    row
}

fn with_existing(mut params: Value, existing: &[Value]) -> Value {
    if let Some(params) = params.as_object_mut() {
        params.remove("attempt");
        params.remove("fault");
    }
    params["existing"] = existing.into();
    params
}

/// The metrics of a benchmark.
struct Metrics {
    most: usize,
    rows: Vec<Value>,
}

impl Rows for Metrics {
    type Row = Metric;

    fn read(&self, object: &Extra) -> Read<Metric> {
        match read_metrics(object, self.most) {
            Ok(good) => Read { good, fault: None },
            Err(reason) => Read {
                good: Vec::new(),
                fault: Some(reason),
            },
        }
    }

    fn add(&mut self, row: &Value) -> Result<Option<String>, String> {
        if self.rows.len() >= self.most {
            return Ok(None);
        }
        self.rows.push(row.clone());
        match self.read(&self.object()).fault {
            Some(fault) => {
                self.rows.pop();
                Err(fault)
            }
            None => Ok(Some(format!("m{:02}", self.rows.len()))),
        }
    }

    fn added(&mut self) -> Read<Metric> {
        self.read(&self.object())
    }
}

impl Metrics {
    /// The form in which a result has them.
    fn object(&self) -> Extra {
        let mut object = Extra::new();
        object.insert("metrics".to_owned(), self.rows.clone().into());
        object
    }
}

/// The scenarios of a metric: as many different ones as the settings say, each with as many variants as they allow.
struct Scenarios<'a> {
    settings: &'a ScenarioSettings,
    metric: &'a Metric,
    good: Vec<Scenario>,
    /// The number of each scenario, from 1, and of its variants so far.
    variants: HashMap<String, (u32, u64)>,
}

impl<'a> Scenarios<'a> {
    fn new(settings: &'a ScenarioSettings, metric: &'a Metric) -> Self {
        Self {
            settings,
            metric,
            good: Vec::new(),
            variants: HashMap::new(),
        }
    }

    /// Takes row number `at`. Returns the number of its scenario and its own in it; `None` if there are as many as were asked for.
    fn take(&mut self, at: usize, row: &Value) -> Result<Option<(u32, u64)>, String> {
        let scenario = read_row(row, self.settings.turns)?;
        // A row without a base is one of its own.
        let base = base(&scenario).map_or_else(|| format!("\0{at}"), str::to_owned);
        let number = u32::try_from(self.variants.len()).unwrap_or(u32::MAX);
        let is_new = !self.variants.contains_key(&base);
        if is_new && number >= self.settings.scenarios_per_metric {
            return Ok(None);
        }
        let most = self.settings.variants();
        let place = self.variants.entry(base).or_insert((number + 1, 0));
        if place.1 >= most {
            return Err(format!(
                "\"base_scenario_id\": more variants of it than the {most} of the demographics"
            ));
        }
        place.1 += 1;
        self.good.push(scenario);
        Ok(Some(*place))
    }

    /// What is missing of what was asked for.
    fn missing(&self) -> Option<String> {
        let (have, count) = (self.variants.len(), self.settings.scenarios_per_metric);
        ((have as u64) < u64::from(count))
            .then(|| format!("\"scenarios\" holds {have}, and {count} were asked for"))
    }
}

impl Rows for Scenarios<'_> {
    type Row = Scenario;

    fn read(&self, object: &Extra) -> Read<Scenario> {
        let mut all = Self::new(self.settings, self.metric);
        let rows = match list(object, "scenarios") {
            Ok(rows) => rows,
            Err(reason) => {
                return Read {
                    good: Vec::new(),
                    fault: Some(reason),
                };
            }
        };
        let mut faults = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            match all.take(at, row) {
                Ok(Some(_)) => {}
                Ok(None) => {
                    tracing::debug!("more scenarios than asked for; the rest is left out");
                }
                Err(reason) => faults.push(format!("scenario {}: {reason}", at + 1)),
            }
        }
        faults.extend(all.missing());
        Read {
            good: all.good,
            fault: (!faults.is_empty()).then(|| faults.join("; ")),
        }
    }

    fn add(&mut self, row: &Value) -> Result<Option<String>, String> {
        let place = self.take(self.good.len(), row)?;
        Ok(place.map(|(scenario, variant)| row_id(&self.metric.id, scenario, variant)))
    }

    fn added(&mut self) -> Read<Scenario> {
        Read {
            fault: self.missing(),
            good: self.good.clone(),
        }
    }
}

fn base(scenario: &Scenario) -> Option<&str> {
    let base = scenario.extra.get("base_scenario_id")?.as_str()?;
    (!is_blank(base)).then_some(base)
}

/// Reads a row with any key of `scenarios.json`. Ids come later.
fn read_row(row: &Value, turns: u32) -> Result<Scenario, String> {
    let mut row = row
        .as_object()
        .ok_or_else(|| format!("it is {}, not an object", kind_of(row)))?
        .clone();
    for key in ["metric_name", "metric_type"] {
        row.remove(key);
    }
    row.insert("id".to_owned(), "".into());
    row.insert("metric_id".to_owned(), "".into());
    for key in ["persona", "user_goal", "latent_adversarial_goal"] {
        row.entry(key).or_insert_with(|| "".into());
    }
    let scenario: Scenario =
        serde_json::from_value(Value::Object(row)).map_err(|error| error.to_string())?;
    if scenario.is_simulated() {
        for (key, text) in [
            ("persona", scenario.played_persona()),
            ("user_goal", &scenario.user_goal),
        ] {
            if is_blank(text) {
                return Err(format!(
                    "the key \"{key}\" is missing or blank; a row with \"turns\" needs none"
                ));
            }
        }
    }
    if let Some(blank) = scenario.turns.iter().position(|turn| is_blank(turn)) {
        return Err(format!("message {} of \"turns\" is blank", blank + 1));
    }
    let outside = |turn: u32| !(1..=turns).contains(&turn);
    if let Some(landmark) = scenario.landmarks.iter().find(|of| outside(of.turn)) {
        return Err(format!(
            "a landmark is at turn {}; turns run from 1 to {turns}",
            landmark.turn
        ));
    }
    Ok(scenario)
}

/// The rows with their ids, in the order of their scenarios.
fn numbered(rows: Vec<Scenario>, metric: &Metric) -> Vec<Scenario> {
    let mut seen: HashMap<String, (u32, u64)> = HashMap::new();
    let mut scenarios = 0;
    let mut numbered: Vec<((u32, u64), Scenario)> = Vec::with_capacity(rows.len());
    for mut row in rows {
        let place = match base(&row).map(str::to_owned) {
            None => {
                scenarios += 1;
                (scenarios, 1)
            }
            Some(base) => {
                let place = seen.entry(base).or_insert_with(|| {
                    scenarios += 1;
                    (scenarios, 0)
                });
                place.1 += 1;
                *place
            }
        };
        row.id = row_id(&metric.id, place.0, place.1);
        row.metric_id.clone_from(&metric.id);
        row.metric_name = Some(metric.name.clone());
        row.metric_type = Some(metric.metric_type);
        // The base of a row has the id of its scenario: one that two metrics share would make their rows one cluster.
        if row.extra.contains_key("base_scenario_id") {
            let id = crate::settings::base_id(&metric.id, place.0);
            row.extra.insert("base_scenario_id".to_owned(), id.into());
        }
        numbered.push((place, row));
    }
    numbered.sort_by_key(|(place, _)| *place);
    numbered.into_iter().map(|(_, row)| row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> ScenarioSettings {
        let ages = vec!["30".to_owned(), "60".to_owned()];
        ScenarioSettings {
            scenarios_per_metric: 2,
            turns: 3,
            demographics: [("age".to_owned(), ages)].into_iter().collect(),
            ..ScenarioSettings::default()
        }
    }

    fn read(scenarios: Value) -> Read<Scenario> {
        let metric = Metric::new("m07", "n", schema::MetricType::Positive, "d");
        let object = json!({ "scenarios": scenarios });
        Scenarios::new(&settings(), &metric).read(object.as_object().unwrap())
    }

    fn row(base: Option<&str>) -> Value {
        let mut row = json!({"persona": "Ann", "user_goal": "Praise.", "level": 3});
        if let Some(base) = base {
            row["base_scenario_id"] = base.into();
        }
        row
    }

    #[test]
    fn variants_stand_with_their_scenario() {
        let metric = Metric::new("m07", "n", schema::MetricType::Positive, "d");
        let rows = json!([
            row(Some("a")),
            row(Some("b")),
            row(Some("a")),
            row(Some("b"))
        ]);
        let read = read(rows);
        assert_eq!(read.fault, None);
        let rows = numbered(read.good, &metric);
        let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "m07_s001_v01",
                "m07_s001_v02",
                "m07_s002_v01",
                "m07_s002_v02"
            ]
        );
        assert_eq!(rows[3].extra["base_scenario_id"], "m07_s002");
        assert_eq!(
            (&rows[0].extra["level"], &*rows[0].persona),
            (&json!(3), "Ann")
        );
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        for (rows, fault) in [
            (
                json!([row(None)]),
                "\"scenarios\" holds 1, and 2 were asked for",
            ),
            (
                json!([row(None), 7]),
                "scenario 2: it is a number, not an object",
            ),
            (
                json!([row(None), {"persona": "Bo"}]),
                "scenario 2: the key \"user_goal\" is missing",
            ),
            (
                json!([row(None), {"turns": ["a", " "]}]),
                "scenario 2: message 2 of \"turns\" is blank",
            ),
            (
                json!([row(Some("a")), row(Some("a")), row(Some("a")), row(None)]),
                "scenario 3: \"base_scenario_id\": more variants",
            ),
            (
                json!([row(None), {"turns": ["a"], "landmarks": [{"turn": 4, "instruction": "i"}]}]),
                "scenario 2: a landmark is at turn 4; turns run from 1 to 3",
            ),
            (json!("none"), "a string, not a list"),
        ] {
            let found = read(rows.clone()).fault.unwrap_or_default();
            assert!(found.contains(fault), "{rows}: {found}");
        }
        // More than asked for is left out.
        let read = read(json!([{"turns": ["Hi"]}, row(None), row(None)]));
        assert_eq!((read.good.len(), read.fault), (2, None));
    }
}
