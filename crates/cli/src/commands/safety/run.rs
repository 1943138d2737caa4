//! Runs a safety evaluation from the command line.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use journal::check::Verdict;
use llm_client::Tally;
use probity::{
    Concurrency, Journals, RunErrorKind, RunOutcome, Session,
    safety::{
        OutputFiles, SafetyReport, SafetyRun, SafetyStop, SafetyTarget, TargetReport, default_name,
    },
};
use schema::{
    ChatModel, Extra, ModelId, TargetRef, notice,
    safety::{TestCaseGroup, results::SafetyFile},
};
use store::{Manifest, safety_results::run_records};

use super::{
    super::{
        Context, findings, forecast, git, models::scripted_server, report_file, run_report,
        session, shard, signals,
    },
    annotations,
    args::{Mode, SafetyArgs},
    evaluation::{Evaluation, EvaluationSettings},
    gate, junit,
    models::{SafetyRoles, system_prompt},
    output, packs, plan, rules,
};
use crate::{
    config::{BuiltModels, Config, ModelEntry},
    exit::{Exit, Failure, Problems},
};

/// The checked input of an evaluation. No model has been called yet.
pub struct Job<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The command line.
    pub args: &'a SafetyArgs,
    /// The test cases.
    pub groups: Vec<TestCaseGroup>,
    /// The models.
    pub cast: SafetyRoles,
    /// The targets' system prompt.
    pub system_prompt: Option<Arc<str>>,
    /// The folder of the part that is run, where the evaluation is split: its result files are there.
    pub folder: Option<PathBuf>,
}

/// A model, and what its requests contain besides their messages.
type CalledModel = (Arc<dyn ChatModel>, Extra);

/// The result of an evaluation.
pub struct Done {
    /// The results.
    pub report: SafetyReport,
    /// The usage and the cost.
    pub spent: Tally,
    /// Whether something could not be stored.
    pub broken: bool,
    /// The report, if it was written.
    pub page: Option<PathBuf>,
}

/// Runs one evaluation.
///
/// # Errors
/// When nothing can be run.
pub fn run(context: &Context, args: &SafetyArgs) -> Result<Exit, Failure> {
    let mut config = context.configure(&args.overrides)?;
    let (own, folder) = shard::of_safety(context, &mut config, &args.common.shard)?;
    let context = &own;
    let mut job = check(&config, args)?;
    job.folder = folder;
    let shown = job.cast.findings();
    context.report_findings(&shown);
    if config.settings.run.dry_run {
        context
            .terminal
            .note("dry run: nothing is called and nothing is written");
        return plan::show(context, &job);
    }
    let junit = args.common.junit.as_deref();
    junit.map_or(Ok(()), |path| report_file::check("--junit", path))?;
    let files = job.files(context)?;
    rules::check(context, &job)?;
    report_forecast(context, &job);
    let path = files.path().to_owned();
    let overwrite = files.overwrites();
    let journals = Journals::default();
    let mut done = Context::runtime()?.block_on(job.run(context, files, &journals))?;
    // The result of the run is shown even if the report cannot be written.
    let reported = junit.map_or(Ok(()), |path| junit::write(path, &done.report));
    let own = gate::exit(&done);
    let gated = rules::after_run(context, args, &done, own);
    let rules = gated.as_ref().ok().and_then(Option::as_ref);
    let written = done
        .report
        .targets
        .iter()
        .filter_map(|target| target.file.clone())
        .collect();
    done.page = run_report::of_safety(
        context, &config, &path, overwrite, written, rules, &journals,
    );
    let exit = rules.map_or(own, |rules| rules::exit(own, rules.answer));
    if args.common.json {
        let output = output::of_run(context, &done, rules);
        context.print_json(args.mode.command(), exit, &output);
    } else {
        let junit = junit.filter(|_| reported.is_ok());
        output::show(context, &done, junit, config.settings.run.verbose);
        if let Some(rules) = rules {
            super::super::gate::show(context, std::slice::from_ref(rules));
        }
    }
    if args.common.github_annotations {
        annotations::print(context, &done.report, args.common.json);
    }
    report_journals(context, &done.report);
    gate::report_outcome(context, &done);
    for target in &done.report.targets {
        context.warn_of(findings::not_shown(&shown, &target.findings));
    }
    if done.report.targets.iter().any(TargetReport::is_unfinished) {
        session::report_refreshed(context, &config);
    }
    reported?;
    gated?;
    not_written(context, &mut done.report).map_or(Ok(exit), Err)
}

/// Why result files could not be written: returns the last reason and reports the others. The command
/// ends with this error.
fn not_written(context: &Context, report: &mut SafetyReport) -> Option<Failure> {
    let targets = report.targets.iter_mut();
    let mut reasons: Vec<_> = targets
        .filter_map(|target| target.not_written.take())
        .collect();
    let last = reasons.pop();
    for reason in reasons {
        context.terminal.error(&reason.to_string());
    }
    last.map(Failure::from)
}

/// Checks everything that can be checked without a call, and reports all errors at once.
fn check<'a>(config: &'a Config, args: &'a SafetyArgs) -> Result<Job<'a>, Failure> {
    let mut problems = Problems::default();
    let groups = problems.take(packs::groups(config, args));
    let cast = problems.take(SafetyRoles::of(config, &args.into()));
    let system_prompt = problems.take(system_prompt(config, args));
    if let Some(cast) = &cast {
        let nowhere = Some(super::super::plan::NOWHERE.to_owned());
        let endpoints = config.endpoints(nowhere)?;
        problems.take(endpoints.resolve_all(cast.called()));
        problems.take(cast.check_tools(config));
    }
    match (groups, cast, system_prompt) {
        (Some(groups), Some(cast), Some(system_prompt)) if problems.is_empty() => Ok(Job {
            config,
            args,
            groups,
            cast,
            system_prompt,
            folder: None,
        }),
        _ => Err(problems.into_failure()),
    }
}

impl Job<'_> {
    /// The groups of the cases.
    pub fn group_names(&self) -> Vec<String> {
        self.groups.iter().map(|group| group.name.clone()).collect()
    }

    /// How the evaluation stops before its last case, if it does.
    fn stop(&self) -> Result<Option<SafetyStop>, Failure> {
        let common = &self.args.common;
        let of = (self.args.mode.uid(), self.group_names());
        let seed = *self.config.settings.seed;
        common
            .until
            .stop(common.gate.as_deref(), (of.0, &of.1), seed)
    }

    /// The output files, checked. A file of the same evaluation that did not complete is continued, so it may be replaced.
    fn files(&self, context: &Context) -> Result<OutputFiles, Failure> {
        let common = &self.args.common;
        let now = || {
            PathBuf::from(default_name(
                self.args.mode.as_str(),
                jiff::Zoned::now().datetime(),
            ))
        };
        let named = || match &self.folder {
            // The same command goes on with the part.
            Some(_) => PathBuf::from(format!("safety-{}.json", self.args.mode.as_str())),
            None => now(),
        };
        let file = common.output_file.clone().unwrap_or_else(named);
        let path = match (&self.folder, file.file_name()) {
            (Some(folder), Some(name)) => folder.join(name),
            _ => file,
        };
        let ids: Vec<_> = self.cast.targets.iter().map(|target| &target.id).collect();
        let files = OutputFiles::at(path).bare(common.bare).overwrite(true);
        let checked = files.places(&ids).and_then(|places| {
            let all = ids.iter().zip(&places);
            let there: Vec<_> = all.filter(|(_, place)| place.exists()).collect();
            let continues =
                |(id, place): &(&&ModelId, &PathBuf)| self.continues(context, id, place);
            let overwrite = common.overwrite
                || self.folder.is_some()
                || (!there.is_empty() && there.iter().all(continues));
            let files = files.overwrite(overwrite);
            files.places(&ids).map(|_| files)
        });
        checked.map_err(|error| match error.kind() {
            RunErrorKind::Input => Failure::usage(notice!["--output-file: ", error.notice()]),
            _ => Failure::nothing_ran(notice!["--output-file: ", error.notice()]),
        })
    }

    /// Whether the file at `path` is from a run of this evaluation against `target` that did not complete, according to its record. A
    /// file that cannot be read is not.
    fn continues(&self, context: &Context, target: &ModelId, path: &Path) -> bool {
        let read = || {
            let text = files::read_text(path).ok()?;
            let file = SafetyFile::read(&path.display().to_string(), &text).ok()?;
            file.results.details()?.run.clone()
        };
        let Some(run) = read() else {
            return false;
        };
        let safety = &self.config.settings.safety;
        let is_alike = match self.args.mode {
            Mode::SingleTurn => run.single_turn == Some(safety.single_turn()),
            Mode::MultiTurn => run.multi_turn == Some(safety.multi_turn()),
        };
        let groups = self.groups.iter().map(|group| &group.name);
        let records = run_records(&context.layout, &run);
        let manifest = records.and_then(|folder| Manifest::read(&folder));
        let complete = RunOutcome::Complete.as_str();
        is_alike
            && run.target.id == *target
            && run.groups.iter().eq(groups)
            && manifest.is_some_and(|manifest| manifest.outcome.as_deref() != Some(complete))
    }

    async fn run(
        &self,
        context: &Context,
        files: OutputFiles,
        journals: &Journals,
    ) -> Result<Done, Failure> {
        let settings = &self.config.settings;
        let callable = settings.models.callable_entries();
        let server = scripted_server(self.cast.called().into_iter().chain(callable)).await?;
        let url = server.as_ref().map(|server| server.base_url());
        let endpoints = self
            .config
            .endpoints(url)?
            .with_records(context.layout.state());
        let resolved = endpoints.resolve_all(self.cast.called())?;
        let (opened, watch) = session::open(context, self.config, &resolved, &[], journals)?;
        let session = Arc::new(opened);
        let folder = context.layout.run(session.run_id().as_str());
        let offered = endpoints.offered(&settings.models, &self.cast.called());
        let made = BuiltModels::new(resolved, offered, &session)?;
        let at_once = settings.run.at_once();
        let stop = self.stop()?;
        let run = self
            .evaluation(&session, &|entry| {
                Ok((made.model(entry), made.options(entry)))
            })?
            .concurrency(Concurrency {
                simulate: at_once.cases,
                evaluate: at_once.evaluate,
            })
            .keep_going(settings.run.keep_going)
            .stop_when_decided(stop)
            .files(files)
            .records(folder)
            .origin(settings.to_record(), git::state());
        signals::listen(context.terminal.clone(), session.stop().clone());
        let watching = tokio::spawn(session::stop_when_nothing_can_be_kept(Arc::clone(&session)));
        let report = run.run().await;
        watching.abort();
        watch.end();
        // If the run ends with results, each journal is reported with them.
        let trouble = session.journals().and_then(|journals| journals.trouble());
        if let (Err(_), Some(trouble)) = (&report, trouble) {
            context.terminal.warning(&trouble);
        }
        session::close(context, &session);
        Ok(Done {
            report: report?,
            spent: session.meter().total(),
            broken: session.trouble().is_some(),
            page: None,
        })
    }

    /// The evaluation with the models that `model` makes, and what their requests contain besides messages.
    ///
    /// # Errors
    /// When a model cannot be made, or prompts or strategies cannot be used.
    pub fn evaluation(
        &self,
        session: &Arc<Session>,
        model: &dyn Fn(&ModelEntry) -> Result<CalledModel, Failure>,
    ) -> Result<SafetyRun, Failure> {
        let safety = &self.config.settings.safety;
        let judges = self.cast.judges.iter().map(|judge| Ok(model(judge)?.0));
        let target = |entry: &ModelEntry| {
            let target = TargetRef {
                id: entry.id.clone(),
                model: entry.model.raw.clone(),
            };
            let (model, options) = model(entry)?;
            let mut target = SafetyTarget::new(target, model);
            target.system_prompt.clone_from(&self.system_prompt);
            target.options = options;
            Ok(target)
        };
        let evaluation = Evaluation {
            settings: match self.args.mode {
                Mode::SingleTurn => EvaluationSettings::SingleTurn(safety.single_turn()),
                Mode::MultiTurn => EvaluationSettings::MultiTurn(safety.multi_turn()),
            },
            groups: self.groups.clone(),
            gate: safety.gate(),
            judge_prompts: safety.judge_prompts(),
            attacker: model(&self.cast.attacker)?.0,
            judges: judges.collect::<Result<_, Failure>>()?,
            targets: self
                .cast
                .targets
                .iter()
                .map(target)
                .collect::<Result<_, Failure>>()?,
        };
        let settings = &self.config.settings;
        let shard = self.args.common.shard.shard();
        Ok(evaluation.run(session)?.shard(shard, settings.divided_by))
    }
}

/// Prints which replies come from the cache, before the first call, as a run of benchmarks does.
fn report_forecast(context: &Context, job: &Job<'_>) {
    for line in forecast::lines(&plan::cached(context, job).unwrap_or_default(), false) {
        context.terminal.note(&line);
    }
}

/// Reports the path of each target's journal, and the result of its check.
fn report_journals(context: &Context, report: &SafetyReport) {
    for journal in report
        .targets
        .iter()
        .filter_map(|target| target.journal.as_ref())
    {
        let line = format!("{}: {}", journal.path.display(), journal.verdict());
        match journal.check.verdict() {
            Verdict::Passed if journal.trouble.is_none() => context.terminal.note(&line),
            _ => context.terminal.warning(&line),
        }
    }
}
