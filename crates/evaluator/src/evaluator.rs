//! `JudgeEvaluator`, and its implementation of `Evaluator`.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use futures::future::join_all;
use reply_check::Check;
use schema::{
    ChatModel, ChatReply, ChatRequest, Conversation, Evaluator, Event, EventBody, Fingerprint,
    FinishReason, Item, JudgeQuote, JudgeReading, JudgeVerdict, Metric, ModelError,
    ModelErrorKind::{Cancelled, Malformed, OverBudget},
    ModelId, NoVerdict, PhaseError, PhaseErrorKind, PromptVersions, Purpose, ReadingKind, Score,
    Spend, Turn, Verdict,
    event::{AnnotationException, JudgeAbstained, TranslatedAnnotation},
    reply::{self, AskFailed, Asked, Unusable, advice, ask, ask_program},
    setting_keys,
    text::hex,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    JudgeChecks, Prompts, ReplyForm, check, checks, panel, program,
    prompts::bad_prompt,
    quotes,
    transcript::has_reply,
    verdict::{self, JudgeReply, Question},
};

/// Asks a judge, or each judge of a panel, about each conversation: is the behaviour of the item's metric present, or which value or
/// category of its `verdict` fits? In a panel the majority decides: see [`JudgeEvaluator::panel`].
pub struct JudgeEvaluator {
    /// One judge, or the judges of a panel.
    judges: Vec<Arc<dyn ChatModel>>,
    metrics: Vec<Metric>,
    /// The check of each metric that has one.
    tests: Vec<Option<Check>>,
    prompts: Prompts,
    tries: u32,
    checks: JudgeChecks,
}

/// The result of one judge for a conversation.
struct Opinion {
    /// The row that this judge alone would give.
    score: Score,
    quotes: Vec<JudgeQuote>,
    details: Option<Value>,
    /// The verdicts of the readings after the first.
    readings: Vec<JudgeReading>,
    /// The error of a call that failed for good, and the time since the judge was first called.
    failure: Option<(ModelError, Duration)>,
    spend: Spend,
}

/// A judge's verdict, or the reason why it gave none and would give none if asked again.
pub(crate) type Answer = Result<GivenVerdict, (NoVerdict, String)>;

/// A judge's verdict and what belongs to it.
pub(crate) struct GivenVerdict {
    pub(crate) reply: JudgeReply,
    pub(crate) quotes: Vec<JudgeQuote>,
    /// What a program says beside it.
    pub(crate) details: Option<Value>,
}

impl JudgeEvaluator {
    /// How often a judge is called for one verdict, at most.
    pub const DEFAULT_TRIES: u32 = 3;

    /// Creates an evaluator of scenarios of `metrics`, with the shipped prompts and three tries.
    ///
    /// # Errors
    /// `BadInput` when two metrics share an id.
    pub fn new(judge: Arc<dyn ChatModel>, metrics: Vec<Metric>) -> Result<Self, PhaseError> {
        Self::panel(vec![judge], metrics)
    }

    /// Creates an evaluator with a panel of judges, which are called at the same time. With one judge it is the same as [`new`](Self::new).
    ///
    /// - More than half of the judges must give a verdict, and more than half of these decide. On a scale their median decides: for an even
    ///   number, the midpoint of the two middle values, rounded down, if both agree on whether the behaviour is present.
    /// - Otherwise, for example in a tie, the row has no verdict. If a call to a judge failed, the row has an error, because the next run
    ///   may give a verdict.
    /// - The verdict of each judge is in [`Score::judges`].
    ///
    /// A metric with a [`check`](Metric::check) is decided by it, and no judge is called.
    ///
    /// # Errors
    /// `BadInput` when there is no judge for a metric without a check, a check is wrong, or two judges or two metrics have the same id.
    pub fn panel(
        judges: Vec<Arc<dyn ChatModel>>,
        metrics: Vec<Metric>,
    ) -> Result<Self, PhaseError> {
        let has_check = |metric: &Metric| metric.check.is_some();
        if judges.is_empty() && (metrics.is_empty() || !metrics.iter().all(has_check)) {
            return Err(bad_input("a panel needs at least one judge".to_owned()));
        }
        for (at, judge) in judges.iter().enumerate() {
            if judges.iter().take(at).any(|other| other.id() == judge.id()) {
                return Err(bad_input(format!("duplicate judge {}", judge.id())));
            }
        }
        for (at, metric) in metrics.iter().enumerate() {
            if metrics.iter().take(at).any(|other| other.id == metric.id) {
                return Err(bad_input(format!("duplicate metric id {:?}", metric.id)));
            }
        }
        Ok(Self {
            judges,
            tests: check::compiled(&metrics).map_err(bad_input)?,
            metrics,
            prompts: Prompts::shipped().map_err(bad_prompt)?,
            tries: Self::DEFAULT_TRIES,
            checks: JudgeChecks::default(),
        })
    }

    /// Replaces the prompts.
    ///
    /// # Errors
    /// `BadInput` when a prompt does not render for one of the metrics. The error names the prompt and the reason.
    pub fn with_prompts(mut self, prompts: Prompts) -> Result<Self, PhaseError> {
        for metric in &self.metrics {
            prompts.messages(metric, &[], false)?;
        }
        self.prompts = prompts;
        Ok(self)
    }

    /// Asks up to `tries` times for a usable verdict; 0 counts as 1.
    #[must_use]
    pub fn with_tries(mut self, tries: u32) -> Self {
        self.tries = tries.max(1);
        self
    }

    /// Asks judges further questions besides the verdict. The answers are in [`Score::judges`], also with a single judge.
    #[must_use]
    pub fn with_checks(mut self, checks: JudgeChecks) -> Self {
        self.checks = checks;
        self
    }

    /// The metric of the item, and its check.
    fn metric_of(
        &self,
        conversation: &Conversation,
        item: &Item,
    ) -> Result<(&Metric, Option<&Check>), PhaseError> {
        let id = &*item.key().test;
        self.metrics
            .iter()
            .zip(&self.tests)
            .find(|(metric, _)| metric.id == id)
            .map(|(metric, check)| (metric, check.as_ref()))
            .ok_or_else(|| {
                bad_input(format!(
                    "conversation {}: its metric {id:?} is not one of the benchmark's ({}); \
                     add it to benchmark.yaml, or run the scenarios of this benchmark again",
                    conversation.conv_id,
                    self.metrics
                        .iter()
                        .map(|metric| metric.id.as_str())
                        .collect::<Vec<_>>()
                        .join(", ")
                ))
            })
    }

    async fn judge(
        &self,
        conversation: &Conversation,
        metric: &Metric,
        item: &Item,
    ) -> Result<Score, PhaseError> {
        let asked = self
            .judges
            .iter()
            .map(|judge| self.opinion(&**judge, conversation, metric, item));
        let opinions: Vec<Opinion> = join_all(asked)
            .await
            .into_iter()
            .collect::<Result<_, _>>()?;
        let mut spend = item.judges_calls();
        let mut rows = Vec::with_capacity(opinions.len());
        for (judge, opinion) in self.judges.iter().zip(opinions) {
            // Recorded after all judges have answered, so that a journal has their verdicts in the order of the panel.
            item.record(opinion.event(judge.id()));
            spend.add(&opinion.spend);
            let mut said = JudgeVerdict {
                quotes: opinion.quotes,
                readings: opinion.readings,
                ..JudgeVerdict::of(judge.id(), &opinion.score)
            };
            let mut row = opinion.score;
            // Of a panel each judge has its own; a single one has them in its row.
            match (opinion.details, self.judges.len()) {
                (Some(details), 1) => row.extra.insert("_details".to_owned(), details),
                (Some(details), _) => said.extra.insert("details".to_owned(), details),
                (None, _) => None,
            };
            rows.push((said, row));
        }
        let mut score = panel::merged(conversation, metric, rows, self.checks.any());
        score.usage = Some(spend.to_phase_cost());
        Ok(score)
    }

    /// Asks one judge for its verdict and, if it gives one, for the further readings.
    async fn opinion(
        &self,
        judge: &dyn ChatModel,
        conversation: &Conversation,
        metric: &Metric,
        item: &Item,
    ) -> Result<Opinion, PhaseError> {
        let mut opinion = self.ask(judge, conversation, metric, item, None).await?;
        if !opinion.score.outcome().is_scored() {
            return Ok(opinion);
        }
        let form = self.prompts.form(metric);
        for reading in self.checks.readings(item, metric, form) {
            let again = self
                .ask(judge, conversation, metric, item, Some(reading))
                .await?;
            opinion.spend.add(&again.spend);
            opinion.readings.push(JudgeReading {
                reading,
                error: again.score.error().map(ToOwned::to_owned),
                present: again.score.present,
                verdict: again.score.verdict,
                justification: again.score.justification,
            });
        }
        Ok(opinion)
    }

    /// Asks one judge for one reading; `None` is the first.
    async fn ask(
        &self,
        judge: &dyn ChatModel,
        conversation: &Conversation,
        metric: &Metric,
        item: &Item,
        reading: Option<ReadingKind>,
    ) -> Result<Opinion, PhaseError> {
        let (metric, turns) = checks::shown(reading, metric, &conversation.transcript);
        let metric = &*metric;
        let question = Question {
            quotes: self.checks.quotes,
            reversed: reading == Some(ReadingKind::Reversed),
            ..Question::new(metric, self.prompts.form(metric), turns.len())
        };
        let program = judge.phase_program();
        let started = Instant::now();
        let asked = match &program {
            None => {
                let request = self.request(&question, &turns, item, reading)?;
                let read = |reply: &ChatReply| read(reply, &question, &turns);
                ask(judge, request, self.tries, read).await
            }
            Some(program) => {
                let context = program::context(item, reading);
                let params = program::params(program, conversation, metric, &turns, &context);
                let read = |reply: &ChatReply| program::read(program, reply, metric, &turns);
                ask_program(judge, params, &context, self.tries, read).await
            }
        };
        match asked {
            Ok(Asked { answer, spend }) => {
                let answer = answer.unwrap_or_else(|unusable| Err(no_verdict(&unusable)));
                let read = answer.and_then(|given| {
                    let read = given.reply;
                    let verdict = read
                        .verdict
                        .ok_or_else(|| cannot_tell(&read.justification))?;
                    Score::of_verdict(conversation, metric, verdict, read.justification)
                        .map(|score| (score, given.quotes, given.details))
                        .map_err(|error| {
                            let words = format!("judge gave no usable verdict: {error}");
                            (NoVerdict::JudgeUnusable, words)
                        })
                });
                let (score, quotes, details) = read.unwrap_or_else(|(reason, words)| {
                    let conv_id = &conversation.conv_id;
                    tracing::debug!(conversation = conv_id, judge = %judge.id(), reason = words, "judge abstained");
                    let row = Score::abstained(conversation, metric, reason, words);
                    (row, Vec::new(), None)
                });
                Ok(Opinion {
                    score,
                    quotes,
                    details,
                    readings: Vec::new(),
                    failure: None,
                    spend,
                })
            }
            Err(AskFailed { error, .. }) if matches!(error.kind(), Cancelled | OverBudget) => {
                let what = format!("judge {} on {}", judge.id(), conversation.conv_id);
                Err(PhaseError::from_model(what, error))
            }
            Err(AskFailed { error, spend }) => {
                let message = format!("judge {}: {error}", judge.id());
                let reason = match error.kind() {
                    Malformed if program.is_some() => NoVerdict::JudgeUnusable,
                    _ => error.no_verdict(),
                };
                Ok(Opinion {
                    score: Score::failed(conversation, metric, reason, message),
                    quotes: Vec::new(),
                    details: None,
                    readings: Vec::new(),
                    failure: Some((error, started.elapsed())),
                    spend,
                })
            }
        }
    }

    /// Builds the request of a reading. A reading after the first has a row of its own in the response cache.
    fn request(
        &self,
        question: &Question<'_>,
        turns: &[Turn],
        item: &Item,
        reading: Option<ReadingKind>,
    ) -> Result<ChatRequest, PhaseError> {
        let mut messages = self
            .prompts
            .messages(question.metric, turns, question.reversed)?;
        if question.quotes
            && let Some(last) = messages.last_mut()
        {
            let request = match question.form {
                ReplyForm::VerdictFirst => quotes::REQUEST,
                ReplyForm::VerdictLast => quotes::REQUEST_FIRST,
            };
            last.content = format!("{}{request}", last.content).into();
        }
        let mut context = item.call(Purpose::Judge, 0);
        if let Some(reading) = reading {
            context.row = format!("{}__{}", context.row, reading.as_str()).into();
        }
        Ok(ChatRequest {
            response_format: verdict::response_format(question),
            ..ChatRequest::new(messages, context)
        })
    }

    fn identity(settings: Value) -> Fingerprint {
        Fingerprint {
            name: "JudgeEvaluator".into(),
            version: 1,
            settings,
        }
    }

    /// The key and value of the judges in the fingerprint: one judge by its id, a panel as a list of ids. `None` if no judge is called.
    fn judges_json(&self) -> Option<(&'static str, Value)> {
        if self.tests.iter().all(Option::is_some) && !self.tests.is_empty() {
            return None;
        }
        Some(match self.judges.as_slice() {
            [judge] => (setting_keys::JUDGE, json!(judge.id())),
            judges => (
                setting_keys::JUDGES,
                judges.iter().map(|judge| json!(judge.id())).collect(),
            ),
        })
    }
}

impl Opinion {
    /// The event for the journal: the judge decided, gave no usable verdict, or could not be called. The layer around the model has recorded
    /// the calls.
    fn event(&self, judge: &ModelId) -> Event {
        let annotator = judge.shared();
        Event::new(match (&self.failure, self.score.outcome().passed()) {
            (Some((error, run_time)), _) => EventBody::AnnotationException(AnnotationException {
                annotator: Some(annotator),
                exception: json!({"class": "schema::ModelError", "message": error.to_string()}),
                run_time: Some(run_time.as_secs_f64()),
            }),
            (None, Some(_)) => EventBody::TranslatedAnnotation(TranslatedAnnotation {
                annotator,
                annotation: self.score.annotation(),
            }),
            (None, None) => EventBody::JudgeAbstained(JudgeAbstained {
                annotator: Some(annotator),
                reason: self.score.justification.clone(),
            }),
        })
    }
}

/// Parses a judge's reply. Quotes must be of `turns`, the messages that the judge was shown. A reply that a filter stopped is not requested
/// again, because the filter would stop it again.
fn read(reply: &ChatReply, question: &Question<'_>, turns: &[Turn]) -> Result<Answer, String> {
    let read = verdict::parse(&reply.content, question).and_then(|read| {
        let quotes = match question.quotes {
            false => Vec::new(),
            true => {
                let object = reply::json_object(&reply.content)?;
                // On a scale or with categories the judge does not know which verdicts count as present.
                let needed = read.verdict == Some(Verdict::yes_no(true));
                quotes::read(&object, turns, needed)?
            }
        };
        Ok(GivenVerdict {
            reply: read,
            quotes,
            details: None,
        })
    });
    match read {
        Ok(read) => Ok(Ok(read)),
        Err(_) if reply.finish == FinishReason::ContentFilter => Ok(Err((
            NoVerdict::ProviderRefused,
            "judge gave no verdict: the provider's filter stopped its reply".to_owned(),
        ))),
        Err(reason) if reply.finish == FinishReason::Length => {
            Err(format!("{reason} (the token limit cut the reply off)"))
        }
        Err(reason) => Err(reason),
    }
}

/// The judge answered, and the answer is that the transcript does not show it.
fn cannot_tell(justification: &str) -> (NoVerdict, String) {
    let words = format!("the judge cannot tell: {justification}");
    (NoVerdict::JudgeCannotTell, words)
}

fn no_verdict(unusable: &Unusable) -> (NoVerdict, String) {
    let words = format!(
        "judge gave no usable verdict in {} tries; the last one: {}{}",
        unusable.asked,
        unusable.reason,
        advice(unusable.cut_off)
    );
    (NoVerdict::JudgeUnusable, words)
}

fn bad_input(message: String) -> PhaseError {
    PhaseError::new(PhaseErrorKind::BadInput, message)
}

#[async_trait]
impl Evaluator for JudgeEvaluator {
    async fn evaluate(
        &self,
        conversation: &Conversation,
        item: &Item,
    ) -> Result<Vec<Score>, PhaseError> {
        let (metric, check) = self.metric_of(conversation, item)?;
        if let Some(error) = &conversation.error {
            let reason = format!("the conversation failed: {error}");
            let row = Score::failed(conversation, metric, conversation.no_verdict, reason);
            return Ok(vec![row]);
        }
        if !has_reply(&conversation.transcript) {
            let words = "the conversation has no reply of the target";
            let row = Score::abstained(conversation, metric, NoVerdict::EmptyReply, words);
            return Ok(vec![row]);
        }
        if let Some(check) = check {
            return Ok(vec![check::score(check, conversation, metric, item)]);
        }
        Ok(vec![self.judge(conversation, metric, item).await?])
    }

    fn fingerprint(&self) -> Fingerprint {
        let metrics: serde_json::Map<String, Value> = self
            .metrics
            .iter()
            .map(|metric| (metric.id.clone(), hash(metric).into()))
            .collect();
        let Some((judges, ids)) = self.judges_json() else {
            return Self::identity(json!({(setting_keys::METRICS): metrics}));
        };
        let judged: Vec<Metric> = self
            .metrics
            .iter()
            .filter(|metric| metric.check.is_none())
            .cloned()
            .collect();
        let mut settings = json!({
            judges: ids,
            "tries": self.tries,
            (setting_keys::PROMPTS): self.prompts.hashes(&judged),
            (setting_keys::METRICS): metrics,
        });
        // Records of the first version have no key, and stay equal.
        let version = self.prompts.version(&judged);
        if version != PromptVersions::FIRST.judge {
            settings[setting_keys::PROMPT_VERSION] = version.into();
        }
        let programs: serde_json::Map<String, Value> = self
            .judges
            .iter()
            .filter_map(|judge| {
                let program = judge.phase_program()?;
                Some((judge.id().to_string(), Value::clone(&program.fingerprint)))
            })
            .collect();
        if !programs.is_empty() {
            settings["programs"] = programs.into();
        }
        if let Some(checks) = self.checks.settings() {
            settings[setting_keys::CHECKS] = checks;
        }
        Self::identity(settings)
    }
}

/// The SHA-256, in hexadecimal, of the parts of a metric that decide its scores.
fn hash(metric: &Metric) -> String {
    let mut decides = json!([metric.metric_type, metric.definition, metric.examples]);
    if let (Some(verdict), Some(decides)) = (&metric.verdict, decides.as_array_mut()) {
        decides.push(json!(verdict));
    }
    if let (false, Some(decides)) = (metric.counterexamples.is_empty(), decides.as_array_mut()) {
        decides.push(json!({"counterexamples": metric.counterexamples}));
    }
    if let (Some(check), Some(decides)) = (&metric.check, decides.as_array_mut()) {
        decides.push(json!({"check": check}));
    }
    hex(&Sha256::digest(decides.to_string()))
}
