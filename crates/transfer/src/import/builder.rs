//! Joins conversations of several files in one benchmark.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fs,
};

use interop::import::{Found, Recorded, SourceFile};
use schema::{ProgramFlag, nearest};
use serde_json::Value;

use super::{
    ImportedTarget, LeftOut,
    metrics::Wanted,
    names::TargetIds,
    numbers::Numbers,
    rows::Draft,
    unfinished::Unfinished,
    verdicts::{Imported, VerdictRule},
};
use store::{RowPosition, RunError, Spool};

/// The most examples for each reason to leave something out.
const EXAMPLES: usize = 3;

/// The most reasons for which conversations failed that are listed, and the longest text of one in characters.
const REASONS: usize = 20;
const LONGEST_REASON: usize = 200;

/// The most names of scorers that are listed.
const SCORERS: usize = 20;

/// Things by the reason that they share.
#[derive(Default)]
struct Reasons(BTreeMap<String, (u64, Vec<String>)>);

impl Reasons {
    fn add(&mut self, what: String, why: String) {
        let (count, examples) = self.0.entry(why).or_default();
        *count += 1;
        if examples.len() < EXAMPLES {
            examples.push(what);
        }
    }

    /// Adds a reason that another program wrote: its first line. Of very many, the last ones are one.
    fn add_foreign(&mut self, what: String, why: &str) {
        let line: String = why
            .trim()
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(LONGEST_REASON)
            .collect();
        let known = self.0.len() < REASONS || self.0.contains_key(&line);
        self.add(
            what,
            if known {
                line
            } else {
                "other errors".to_owned()
            },
        );
    }

    fn into_list(self) -> Vec<LeftOut> {
        let each = |(reason, (count, examples))| LeftOut {
            reason,
            count,
            examples,
        };
        self.0.into_iter().map(each).collect()
    }
}

/// A benchmark during its import. Rows are on disk; memory holds some numbers and a short name for
/// each.
pub(super) struct Builder<'a> {
    unfinished: &'a Unfinished,
    from: &'static str,
    wanted: &'a Wanted,
    /// By metric: the scorer whose scores are verdicts on it.
    verdicts: Vec<Option<VerdictRule>>,
    /// By metric: how many conversations its scorer scored.
    scored: Vec<u64>,
    /// Names of scorers in the files.
    scorers: BTreeSet<String>,
    /// The key of the samples' data that dependent samples share, and how many samples have it.
    cluster: Option<(String, u64)>,
    ids: TargetIds,
    targets: Vec<TargetRows>,
    numbers: Numbers,
    scenarios: Spool,
    written: HashSet<(u32, u32)>,
    seen: HashSet<(usize, u32, u32)>,
    /// The named runs of samples, by target and the sample's number.
    runs: HashSet<(usize, u32, String)>,
    /// The first repetition of later files, by target and the sample's number.
    next: HashMap<(usize, u32), u32>,
    left_out: Reasons,
    failures: Reasons,
    not_text: BTreeMap<&'static str, u64>,
    /// Conversations of which replies were taken back, and those replies.
    taken_back: (u64, u64),
}

/// The rows of a target.
struct TargetRows {
    imported: ImportedTarget,
    conversations: Spool,
    scores: Spool,
}

/// The result of the builder.
pub(super) struct Built {
    pub(super) targets: Vec<ImportedTarget>,
    pub(super) scenarios: u64,
    pub(super) left_out: Vec<LeftOut>,
    /// The conversations with an error, by the error.
    pub(super) failures: Vec<LeftOut>,
    pub(super) not_text: BTreeMap<&'static str, u64>,
    /// Conversations of which replies were taken back, and those replies.
    pub(super) taken_back: (u64, u64),
}

/// The state of one file while it is read.
pub(super) struct Reading {
    source: SourceFile,
    /// The target of the file's model.
    target: usize,
    /// The values for `next` after the file, by target and the sample's number.
    next: HashMap<(usize, u32), u32>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        unfinished: &'a Unfinished,
        from: &'static str,
        wanted: &'a Wanted,
        verdicts: Vec<Option<VerdictRule>>,
        cluster: Option<&str>,
    ) -> Result<Self, RunError> {
        let cluster = cluster.map(|key| key.strip_prefix("metadata.").unwrap_or(key));
        Ok(Self {
            scored: vec![0; verdicts.len()],
            verdicts,
            scorers: BTreeSet::new(),
            cluster: cluster.map(|key| (key.to_owned(), 0)),
            scenarios: Spool::create(&unfinished.scratch().join("scenarios"))?,
            unfinished,
            from,
            wanted,
            ids: TargetIds::default(),
            targets: Vec::new(),
            numbers: Numbers::default(),
            written: HashSet::new(),
            seen: HashSet::new(),
            runs: HashSet::new(),
            next: HashMap::new(),
            left_out: Reasons::default(),
            failures: Reasons::default(),
            not_text: BTreeMap::new(),
            taken_back: (0, 0),
        })
    }

    /// Begins a file.
    pub(super) fn begin(&mut self, source: SourceFile) -> Result<Reading, RunError> {
        for id in &source.sample_ids {
            self.numbers.reserve(&source.task, id);
        }
        let target = self.target(&source, &source.model)?;
        Ok(Reading {
            source,
            target,
            next: HashMap::new(),
        })
    }

    /// The place of the target for `model`, a model of the file.
    fn target(&mut self, source: &SourceFile, model: &str) -> Result<usize, RunError> {
        let target = self
            .ids
            .target(model, source.target.as_deref())
            .ok_or_else(|| {
                RunError::input(format!("{}: the model's name cannot be used", source.file))
            })?;
        let known = self
            .targets
            .iter()
            .position(|of| of.imported.target.id == target.id);
        if let Some(at) = known {
            return Ok(at);
        }
        let at = self.targets.len();
        let scratch = self.unfinished.scratch();
        self.targets.push(TargetRows {
            imported: ImportedTarget::new(target),
            conversations: Spool::create(&scratch.join(format!("target-{at}")))?,
            scores: Spool::create(&scratch.join(format!("scores-{at}")))?,
        });
        Ok(at)
    }

    /// Ends a file.
    pub(super) fn end(&mut self, reading: Reading) {
        self.next.extend(reading.next);
    }

    /// Processes an entry of a file.
    pub(super) fn take(&mut self, reading: &mut Reading, found: Found) -> Result<(), RunError> {
        match found {
            Found::Conversation(recorded) => self.conversation(reading, *recorded),
            Found::LeftOut { what, why } => {
                self.leave_out(what, why);
                Ok(())
            }
        }
    }

    pub(super) fn leave_out(&mut self, what: String, why: String) {
        self.left_out.add(what, why);
    }

    fn conversation(&mut self, reading: &mut Reading, recorded: Recorded) -> Result<(), RunError> {
        let sample_id = recorded.sample_id.clone();
        let place_of = |what: &str| format!("{}: {what} {sample_id}", reading.source.file);
        let own = recorded
            .scenario
            .as_ref()
            .filter(|_| self.wanted.own)
            .map(|scenario| (scenario.id.clone(), scenario.metric_id.clone()));
        let metrics = self.wanted.metrics.iter().enumerate();
        let metrics: Vec<_> = match &own {
            Some((_, id)) => metrics.filter(|(_, metric)| metric.id == *id).collect(),
            None if self.wanted.own => Vec::new(),
            None => metrics.collect(),
        };
        if metrics.is_empty() {
            let why = format!(
                "it does not name its metric; judge it with `{}`",
                ProgramFlag::new("metrics").value("FILE")
            );
            self.leave_out(place_of("sample"), why);
            return Ok(());
        }
        let number = self.numbers.number(&reading.source.task, &recorded);
        let target = match &recorded.model {
            Some(model) => self.target(&reading.source, model)?,
            None => reading.target,
        };
        if let Some(uuid) = recorded.uuid.clone()
            && !self.runs.insert((target, number, uuid))
        {
            let why = "duplicate run of the sample (same uuid); the first counts";
            self.leave_out(place_of("sample"), why.to_owned());
            return Ok(());
        }
        let base = self.next.get(&(target, number)).copied();
        let sample = base.unwrap_or_default().saturating_add(recorded.repetition);
        if !self.seen.insert((target, number, sample)) {
            let what = format!(
                "{}, repetition {}",
                place_of("sample"),
                recorded.repetition + 1
            );
            self.leave_out(
                what,
                "duplicate sample and repetition; the first counts".to_owned(),
            );
            return Ok(());
        }
        let next = reading.next.entry((target, number)).or_default();
        *next = (*next).max(sample.saturating_add(1));
        for kind in &recorded.not_text {
            *self.not_text.entry(kind).or_default() += 1;
        }
        self.taken_back.0 += u64::from(recorded.taken_back > 0);
        self.taken_back.1 += recorded.taken_back;
        if let Some(error) = &recorded.error {
            self.failures.add_foreign(place_of("sample"), error);
        }
        let failed = recorded.error.is_some();
        let place = place_of("sample");
        let read = |rule: &Option<VerdictRule>| match rule {
            Some(rule) => rule.read(&recorded, &place),
            None => Ok(None),
        };
        let mut verdicts = self
            .verdicts
            .iter()
            .map(read)
            .collect::<Result<Vec<_>, _>>()?;
        for (count, verdict) in self.scored.iter_mut().zip(&verdicts) {
            *count += u64::from(verdict.is_some());
        }
        self.name_scorers(&recorded);
        let base = self.base_scenario(&recorded, number);
        let draft = Draft::new(self.from, &reading.source, recorded, base);
        for (at, metric) in metrics {
            let place = RowPosition {
                metric: u32::try_from(at).unwrap_or(u32::MAX),
                scenario: number,
                sample,
                part: 0,
            };
            let id = match &own {
                Some((id, _)) => id.clone(),
                None => format!("{}_s{:03}_v01", metric.id, number.saturating_add(1)),
            };
            let scenario = draft.scenario(&id, metric);
            if self.written.insert((place.metric, number)) {
                self.scenarios
                    .push(RowPosition { sample: 0, ..place }, &scenario)?;
            }
            let Some(rows) = self.targets.get_mut(target) else {
                continue;
            };
            let conversation = draft.conversation(scenario, &rows.imported.target, sample);
            rows.conversations.push(place, &conversation)?;
            rows.imported.conversations += 1;
            rows.imported.failed += u64::from(failed);
            if let Some(Some(rule)) = self.verdicts.get(at) {
                let verdict = verdicts.get_mut(at).and_then(Option::take);
                let score = Imported::score(verdict, rule, &conversation, metric);
                rows.scores.push(place, &score)?;
                rows.imported.verdicts += u64::from(score.outcome().is_scored());
            }
        }
        Ok(())
    }

    fn name_scorers(&mut self, recorded: &Recorded) {
        let names = recorded
            .scores
            .iter()
            .filter_map(|score| score.get("name")?.as_str());
        for name in names {
            if self.scorers.len() < SCORERS && !self.scorers.contains(name) {
                self.scorers.insert(name.to_owned());
            }
        }
    }

    /// Refuses a rule for which no file has a score, and a cluster key that no sample has: the name is misspelled.
    fn check_names(&self) -> Result<(), RunError> {
        for (rule, count) in self.verdicts.iter().zip(&self.scored) {
            let Some(rule) = rule.as_ref().filter(|_| *count == 0 && !self.wanted.own) else {
                continue;
            };
            let names: Vec<&str> = self.scorers.iter().map(String::as_str).collect();
            let near = nearest(&rule.scorer, names.iter().copied())
                .map(|near| format!("; did you mean `{near}`?"));
            let error = RunError::input(format!(
                "no conversation has a score of {:?}{}",
                rule.scorer,
                near.unwrap_or_default()
            ));
            return Err(if names.is_empty() {
                error.with_help("the files have no scores")
            } else {
                error.with_help(format!("the scorers in the files are {}", names.join(", ")))
            });
        }
        match &self.cluster {
            Some((key, 0)) => Err(RunError::input(format!(
                "no sample has the key {key:?} in its data, by which samples belong together"
            ))),
            _ => Ok(()),
        }
    }

    /// The base scenario of a sample: the value of its cluster key, or the sample, where several metrics judge one conversation. `None`: that of
    /// the scenario's id.
    fn base_scenario(&mut self, recorded: &Recorded, number: u32) -> Option<String> {
        let value = self.cluster.as_mut().and_then(|(key, found)| {
            let value = recorded.metadata.get(key.as_str())?;
            *found += u64::from(!value.is_null());
            (!value.is_null()).then_some(value)
        });
        match value {
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => Some(other.to_string()),
            None => (!self.wanted.own && self.wanted.metrics.len() > 1)
                .then(|| format!("s{:03}", number.saturating_add(1))),
        }
    }

    /// Writes the files of the tree except `benchmark.yaml`.
    pub(super) fn finish(self) -> Result<Built, RunError> {
        self.check_names()?;
        let root = self.unfinished.root();
        let scenarios = self.scenarios.compose(&root.join("scenarios.json"))?.rows;
        let mut targets = Vec::new();
        let scored = self.verdicts.iter().any(Option::is_some);
        for rows in self.targets {
            if rows.imported.conversations == 0 {
                continue;
            }
            let folder = root.join("runs").join(rows.imported.target.id.as_str());
            fs::create_dir_all(&folder).map_err(|error| RunError::write(&folder, error))?;
            rows.conversations
                .compose(&folder.join("conversations.json"))?;
            if scored {
                rows.scores.compose(&folder.join("scores.json"))?;
            }
            targets.push(rows.imported);
        }
        targets.sort_by(|a, b| a.target.id.cmp(&b.target.id));
        Ok(Built {
            targets,
            scenarios,
            left_out: self.left_out.into_list(),
            failures: self.failures.into_list(),
            not_text: self.not_text,
            taken_back: self.taken_back,
        })
    }
}
