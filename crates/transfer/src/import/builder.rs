//! Joins conversations of several files in one benchmark.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs,
};

use interop::import::{Found, Recorded, SourceFile};
use schema::{ProgramFlag, TargetRef};

use super::{
    ImportedTarget, LeftOut, metrics::Wanted, names::TargetIds, numbers::Numbers, rows::Draft,
    unfinished::Unfinished,
};
use store::{RowPosition, RunError, Spool};

/// The most examples for each reason to leave something out.
const EXAMPLES: usize = 3;

/// The most reasons for which conversations failed that are listed, and the longest text of one in characters.
const REASONS: usize = 20;
const LONGEST_REASON: usize = 200;

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
    ids: TargetIds,
    targets: Vec<(ImportedTarget, Spool)>,
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
    target: usize,
    /// The values for `next` after the file, by the sample's number.
    next: HashMap<u32, u32>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        unfinished: &'a Unfinished,
        from: &'static str,
        wanted: &'a Wanted,
    ) -> Result<Self, RunError> {
        Ok(Self {
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
        let target = self
            .ids
            .target(&source.model, source.target.as_deref())
            .ok_or_else(|| {
                RunError::input(format!("{}: the model's name cannot be used", source.file))
            })?;
        let target = self.target(target)?;
        Ok(Reading {
            source,
            target,
            next: HashMap::new(),
        })
    }

    fn target(&mut self, target: TargetRef) -> Result<usize, RunError> {
        let known = self
            .targets
            .iter()
            .position(|(of, _)| of.target.id == target.id);
        if let Some(at) = known {
            return Ok(at);
        }
        let at = self.targets.len();
        let spool = Spool::create(&self.unfinished.scratch().join(format!("target-{at}")))?;
        self.targets.push((ImportedTarget::new(target), spool));
        Ok(at)
    }

    /// Ends a file.
    pub(super) fn end(&mut self, reading: Reading) {
        let next = reading.next.into_iter();
        let target = reading.target;
        self.next
            .extend(next.map(|(number, next)| ((target, number), next)));
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
        if let Some(uuid) = recorded.uuid.clone()
            && !self.runs.insert((reading.target, number, uuid))
        {
            let why = "duplicate run of the sample (same uuid); the first counts";
            self.leave_out(place_of("sample"), why.to_owned());
            return Ok(());
        }
        let base = self.next.get(&(reading.target, number)).copied();
        let sample = base.unwrap_or_default().saturating_add(recorded.repetition);
        if !self.seen.insert((reading.target, number, sample)) {
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
        let next = reading.next.entry(number).or_default();
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
        let draft = Draft::new(self.from, &reading.source, recorded);
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
            let Some((target, spool)) = self.targets.get_mut(reading.target) else {
                continue;
            };
            spool.push(place, &draft.conversation(scenario, &target.target, sample))?;
            target.conversations += 1;
            target.failed += u64::from(failed);
        }
        Ok(())
    }

    /// Writes the files of the tree except `benchmark.yaml`.
    pub(super) fn finish(self) -> Result<Built, RunError> {
        let root = self.unfinished.root();
        let scenarios = self.scenarios.compose(&root.join("scenarios.json"))?.rows;
        let mut targets = Vec::new();
        for (target, spool) in self.targets {
            if target.conversations == 0 {
                continue;
            }
            let folder = root.join("runs").join(target.target.id.as_str());
            fs::create_dir_all(&folder).map_err(|error| RunError::write(&folder, error))?;
            spool.compose(&folder.join("conversations.json"))?;
            targets.push(target);
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
