//! The output of commands with `--json`: the common keys, and those of each command.

use schema::{
    BenchmarkScore, Extra, Finding, Grades, IncompleteReplies, ReasoningReplies, Standards,
    Summary, TargetBasis,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};

/// Types that are used for their schema only.
macro_rules! shapes {
    ($($(#[$doc:meta])* struct $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        $($(#[$doc])*
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct $name { $($(#[$field_doc])* $field: $type,)* })*
    };
}

shapes! {
    /// One JSON object. The common keys come first, then those of the command.
    struct Output {
        /// Version of the output format. A new major version means that a key was removed or has another meaning.
        format: String,
        /// The command as typed: `run`, `journal check`.
        command: String,
        /// The command's exit code.
        exit_code: u8,
    }

    /// The output of `run` and of each phase.
    struct RunOutput {
        /// The run's id.
        run_id: String,
        /// `complete`, `failed_rows`, `nothing_ran` or `interrupted`.
        outcome: String,
        /// Why the run ended its calls after 20 rows without a usable verdict: `{rows, reason, last_reply}`; null if it did not.
        #[serde(default)]
        judge_gave_up: Option<Value>,
        /// The folder of the run's manifest and journal.
        record: String,
        /// Replies by their source.
        replies: Replies,
        /// The cost of this run's new calls.
        paid_now: Paid,
        /// The result of each benchmark.
        benchmarks: Vec<BenchmarkOutput>,
        /// The results of `run --gate` for each benchmark; null without a gate, or if the run did not complete.
        gate: Option<Vec<schema::gate::GateReport>>,
    }

    /// Replies by their source.
    struct Replies {
        /// From endpoints.
        asked: u64,
        /// From the cache.
        cached: u64,
        /// Calls that failed.
        failed: u64,
    }

    /// Dollars and tokens.
    struct Paid {
        /// Dollars; null if the price of a call is unknown.
        dollars: Option<f64>,
        /// Dollars of the calls with a known price.
        priced_dollars: Option<f64>,
        /// Calls with an unknown price.
        unpriced_calls: u64,
        /// Tokens sent.
        input_tokens: u64,
        /// Tokens received.
        output_tokens: u64,
    }

    /// The result of a benchmark.
    struct BenchmarkOutput {
        /// The benchmark's folder.
        name: String,
        /// The content of `results.json`.
        results: Vec<Summary>,
        /// The content of `grades.json`, if it was written.
        grades: Option<Grades>,
        /// Rows by phase and system under test.
        counts: Vec<Value>,
        /// The systems under test with empty or cut-off replies. Absent in output from before this count existed.
        #[serde(default)]
        incomplete_replies: Vec<IncompleteReplies>,
        /// The systems under test whose replies contain reasoning, or seem to. Absent in output from before this count existed.
        #[serde(default)]
        reasoning_replies: Vec<ReasoningReplies>,
        /// What the results of targets rest on: the age of their replies, and models that are assumed to be free. Absent in output from
        /// before it was known.
        #[serde(default)]
        basis: Vec<TargetBasis>,
        /// What limits the conclusions from the results, the worst first. Absent in output from before it was collected.
        #[serde(default)]
        findings: Vec<Finding>,
        /// Rows that failed, by reason.
        failures: Vec<Value>,
        /// The files that were written.
        files: Vec<String>,
        /// The journal's path, and the result of its check.
        journal: Option<JournalOutput>,
        /// The cost of everything in the tree.
        cost_of_tree: Paid,
        /// Why the benchmark could not be completed.
        error: Option<String>,
    }

    /// The path of a journal, and the result of its check.
    struct JournalOutput {
        /// The file.
        path: String,
        /// `passed`, `failed`, `not_checkable` or `incomplete`.
        check: String,
        /// The same in words.
        text: String,
    }

    /// The output of `plan`.
    struct PlanOutput {
        /// The planned calls, by benchmark and phase.
        rows: Vec<Value>,
        /// `{calls, tokens, dollars, unpriced, assumed_free}`.
        total: Extra,
        /// `{max_cost, max_tokens, suffices}`.
        budget: Extra,
        /// The expected use of the cache: `{benchmark, phase, target, cached, new, more, reasons}`.
        cache: Vec<Value>,
        /// What the rows of one target could show, by benchmark and metric. Empty if no row is judged, and for imported conversations.
        metrics: Vec<schema::statistics::MetricPlan>,
        /// What the configured models already say about the results. Absent in output from before it was collected.
        #[serde(default)]
        findings: Vec<Finding>,
        /// The difference for which `scenarios_needed` is computed, or null.
        want_difference: Option<f64>,
    }

    /// The output of `doctor`.
    struct DoctorOutput {
        /// The configuration file, or null.
        config: Option<String>,
        /// `{model, endpoint, ok, text, to_mend}` of each model.
        models: Vec<Value>,
    }

    /// The output of `calibrate`.
    struct CalibrateOutput {
        /// The benchmark's folder.
        benchmark: String,
        /// The written file.
        standards_file: String,
        /// The journal of the calibration.
        journal: String,
        /// The content of the file.
        standards: Standards,
        /// The scores of the reference systems.
        scores: Vec<BenchmarkScore>,
        /// Warnings for the reader.
        warnings: Vec<String>,
    }

    /// The output of `compare`.
    struct CompareOutput {
        /// The benchmark's folder.
        benchmark: String,
        /// The folder of the other tree, or null: targets of one tree are compared.
        against: Option<String>,
        /// For each pair the comparison of all rows, then of each metric.
        comparisons: Vec<schema::statistics::Comparison>,
        /// The targets of this tree with rows that people labelled.
        people: Vec<ComparedPeople>,
        /// As `corrected_differences` of `statistics.json`: pairs of targets of this tree that both have a corrected rate, or targets that have
        /// one here (`a`) and in the other tree (`b`). Absent in output from before they were computed.
        #[serde(default)]
        corrected_differences: Vec<schema::statistics::CorrectedDifference>,
        /// What limits the comparisons, the worst first. Absent in output from before it was collected.
        #[serde(default)]
        findings: Vec<Finding>,
    }

    /// A judge compared with people, for one of the compared targets.
    struct ComparedPeople {
        /// The target's id.
        target: schema::ModelId,
        /// As `judge.people` of `statistics.json`.
        people: schema::statistics::JudgeAgainstPeople,
    }

    /// The output of `baseline`.
    struct BaselineOutput {
        /// The benchmark's folder.
        benchmark: String,
        /// The written file.
        path: String,
        /// The ids of its targets.
        targets: Vec<schema::ModelId>,
    }

    /// The output of `judge-check`.
    struct JudgeCheckOutput {
        /// The file of labels.
        file: String,
        /// The benchmark that was created from it and judged, or null if the file contains the verdicts.
        benchmark: Option<String>,
        /// As `judge.people` of `statistics.json`.
        people: schema::statistics::JudgeAgainstPeople,
    }

    /// The output of `label --import`.
    struct LabelOutput {
        /// The benchmark's folder.
        benchmark: String,
        /// The file of labels.
        file: String,
        /// Columns of the file that were ignored.
        unused_columns: Vec<String>,
        /// The targets with labels in the file.
        targets: Vec<LabelledTarget>,
    }

    /// The labels of one target.
    struct LabelledTarget {
        /// The target's id.
        target: schema::ModelId,
        /// Labels for rows that the person had not labelled.
        added: u64,
        /// Labels that replaced another label of the same person for the same row.
        replaced: u64,
        /// Labels that `labels.json` already contained.
        unchanged: u64,
        /// As `judge.people` of `statistics.json`; null if no label counts.
        people: Option<schema::statistics::JudgeAgainstPeople>,
        /// Whether `statistics.json` contains these numbers.
        statistics_current: bool,
    }

    /// The output of `view`, printed when it starts to serve.
    struct ViewOutput {
        /// The benchmark's folder.
        benchmark: String,
        /// The address of the page. A program that knows it can read the results and write labels while the command runs.
        address: String,
        /// The port in the address.
        port: u16,
    }

    /// The output of `export`.
    struct ExportOutput {
        /// The written format: `eee`, `inspect` and so on.
        export_format: String,
        /// Systems under test whose results were exported.
        targets: u64,
        /// Conversations that were exported.
        conversations: u64,
        /// The files that were written.
        files: Vec<String>,
        /// The errors of rows that were left out.
        problems: Vec<String>,
        /// Why results were not exported at all.
        refused: Vec<String>,
        /// The texts of the warnings among `findings`.
        warnings: Vec<String>,
        /// What limits the conclusions from the exported results, the worst first. Absent in output from before it was collected.
        #[serde(default)]
        findings: Vec<Finding>,
        /// Notes for the reader.
        notes: Vec<String>,
    }

    /// The output of `report`.
    struct ReportOutput {
        /// The written page.
        file: String,
        /// The number of rows on the page.
        rows: u64,
        /// The number of rows of the runs.
        total_rows: u64,
        /// The gaps in the runs.
        problems: Vec<String>,
        /// The number of targets about which nothing can be shown.
        refused: u64,
    }

    /// The output of `import`.
    struct ImportOutput {
        /// The imported format: `eee` or `inspect`.
        from: String,
        /// The created benchmark.
        benchmark: String,
        /// Its folder.
        folder: String,
        /// The imported files.
        files: Vec<String>,
        /// The ids of its metrics.
        metrics: Vec<String>,
        /// The number of scenarios.
        scenarios: u64,
        /// The number of conversations of all systems.
        conversations: u64,
        /// The result of each system under test.
        targets: Vec<Value>,
        /// Files and rows that were left out, by reason.
        left_out: Vec<Value>,
        /// Conversations that were imported with an error, by the error.
        failures: Vec<Value>,
        /// Notes for the reader.
        notes: Vec<String>,
    }

    /// The output of `journal check`.
    struct CheckOutput {
        /// The results of the rules, for one journal.
        #[serde(skip_serializing_if = "Option::is_none")]
        report: Option<CheckReport>,
        /// The results for each journal, where there are several.
        #[serde(skip_serializing_if = "Option::is_none")]
        reports: Option<Vec<CheckReport>>,
    }

    /// The results of the rules for a journal.
    struct CheckReport {
        /// The file.
        journal: String,
        /// `passed`, `failed` or `not_checkable`.
        verdict: String,
        /// Why the rules could not be checked, else null.
        reason: Option<String>,
        /// The run's id.
        run_id: Option<String>,
        /// Lines read.
        lines: u64,
        /// Items in the journal.
        items: u64,
        /// `{rule, about, outcome, checked, failed, failures, reason}` of each rule.
        rows: Vec<Value>,
        /// Notes for the reader.
        notes: Vec<String>,
    }

    /// The output of `journal stats`.
    struct StatsOutput {
        /// The file.
        journal: String,
        /// The figures.
        stats: JournalStats,
    }

    /// The figures of a journal.
    struct JournalStats {
        /// Events read.
        entries: u64,
        /// The time of the first event, UTC; null if no event has one.
        start: Option<String>,
        /// The time of the last event, UTC.
        end: Option<String>,
        /// `{message, count}` of each event.
        events: Vec<Value>,
        /// Calls by role and model.
        calls: Vec<Value>,
        /// Retries by cause.
        retries: Vec<Value>,
        /// `{bucket_seconds, buckets}`.
        over_time: Extra,
    }

    /// The output of `cache stats`.
    struct CacheStatsOutput {
        /// The file.
        file: String,
        /// Bytes on disk, including the write-ahead log.
        file_bytes: u64,
        /// Intact replies.
        replies: u64,
        /// Damaged rows.
        damaged: u64,
        /// When the oldest reply was stored; null without replies.
        oldest: Option<String>,
        /// When the newest reply was stored.
        newest: Option<String>,
        /// The replies by endpoint and model.
        groups: Vec<CacheGroupOutput>,
    }

    /// The replies of one model at one endpoint.
    struct CacheGroupOutput {
        /// The endpoint's address; null for replies stored by an earlier version.
        endpoint: Option<String>,
        /// The model's name at the endpoint; null for replies stored by an earlier version.
        model: Option<String>,
        /// The number of replies.
        replies: u64,
        /// Bytes of their texts.
        bytes: u64,
        /// When the oldest was stored.
        oldest: Option<String>,
        /// When the newest was stored.
        newest: Option<String>,
    }

    /// The output of `cache prune`.
    struct CachePruneOutput {
        /// The file.
        file: String,
        /// Whether rows were only counted.
        dry_run: bool,
        /// Rows that were removed, or would be.
        rows: u64,
        /// Bytes of their texts; 0 for damaged rows.
        bytes: u64,
        /// Bytes of the file and its write-ahead log before.
        file_bytes_before: u64,
        /// The same after.
        file_bytes_after: u64,
        /// Whether the file was reduced to its minimal size; false if the disk had no room for that.
        shrunk: bool,
    }

    /// The output of `runs prune`.
    struct RunsPruneOutput {
        /// Whether runs were only counted.
        dry_run: bool,
        /// The runs whose records were removed, or would be.
        removed: Vec<OldRunOutput>,
        /// Bytes of their records.
        bytes: u64,
        /// The runs of that age that are kept.
        kept: Vec<KeptRunOutput>,
    }

    /// An old run.
    struct OldRunOutput {
        /// The run's id.
        run_id: String,
        /// Its benchmarks.
        benchmarks: Vec<String>,
        /// Bytes of its records.
        bytes: u64,
    }

    /// An old run whose records are needed.
    struct KeptRunOutput {
        /// The run's id.
        run_id: String,
        /// Its benchmarks.
        benchmarks: Vec<String>,
        /// Bytes of its records.
        bytes: u64,
        /// What needs them.
        why: String,
    }

    /// The output of `validate`.
    struct ValidateOutput {
        /// Problems in all files.
        problems: u64,
        /// Notes on all files.
        notes: u64,
        /// The checked files.
        files: Vec<FileOutput>,
        /// Why paths could not be checked.
        unchecked: Vec<String>,
    }

    /// The result of checking one file.
    struct FileOutput {
        /// The file.
        path: String,
        /// The kind of the file.
        kind: String,
        /// The number of checked rows or lines.
        rows: u64,
        /// The number of problems.
        problems: u64,
        /// The number of notes.
        notes: u64,
        /// Problems and notes in the order of the file.
        findings: Vec<FindingOutput>,
    }

    /// A problem or a note.
    struct FindingOutput {
        /// `problem` or `note`.
        severity: String,
        /// The line, from 1; null: the file as a whole.
        line: Option<u64>,
        /// The column in characters, from 1.
        column: Option<u64>,
        /// The key path.
        key: String,
        /// The reason.
        reason: String,
        /// The advice, if there is any.
        help: Option<String>,
    }
}

fn of_command(generator: &mut SchemaGenerator) -> Vec<(Vec<&'static str>, Schema)> {
    let run = vec![
        "run",
        "gen-metrics",
        "gen-scenarios",
        "simulate",
        "evaluate",
        "aggregate",
    ];
    vec![
        (run, generator.subschema_for::<RunOutput>()),
        (vec!["plan"], generator.subschema_for::<PlanOutput>()),
        (vec!["doctor"], generator.subschema_for::<DoctorOutput>()),
        (
            vec!["calibrate"],
            generator.subschema_for::<CalibrateOutput>(),
        ),
        (vec!["compare"], generator.subschema_for::<CompareOutput>()),
        (
            vec!["baseline"],
            generator.subschema_for::<BaselineOutput>(),
        ),
        (
            vec!["gate"],
            generator.subschema_for::<schema::gate::GateReport>(),
        ),
        (
            vec!["judge-check"],
            generator.subschema_for::<JudgeCheckOutput>(),
        ),
        (vec!["label"], generator.subschema_for::<LabelOutput>()),
        (vec!["view"], generator.subschema_for::<ViewOutput>()),
        (vec!["export"], generator.subschema_for::<ExportOutput>()),
        (vec!["report"], generator.subschema_for::<ReportOutput>()),
        (vec!["import"], generator.subschema_for::<ImportOutput>()),
        (
            vec!["journal check"],
            generator.subschema_for::<CheckOutput>(),
        ),
        (
            vec!["journal stats"],
            generator.subschema_for::<StatsOutput>(),
        ),
        (
            vec!["cache stats"],
            generator.subschema_for::<CacheStatsOutput>(),
        ),
        (
            vec!["cache prune"],
            generator.subschema_for::<CachePruneOutput>(),
        ),
        (
            vec!["runs prune"],
            generator.subschema_for::<RunsPruneOutput>(),
        ),
        (
            vec!["validate"],
            generator.subschema_for::<ValidateOutput>(),
        ),
    ]
}

/// The schema of the output of commands. An unlisted command has the common keys only.
pub(crate) fn output() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let each = of_command(&mut generator).into_iter().map(|(names, keys)| {
        json!({
            "if": {"properties": {"command": {"enum": names}}, "required": ["command"]},
            "then": keys,
        })
    });
    let each: Vec<Value> = each.collect();
    let mut schema = generator.into_root_schema_for::<Output>().to_value();
    if let Some(schema) = schema.as_object_mut() {
        let defs = schema.shift_remove("$defs");
        schema.insert("allOf".to_owned(), each.into());
        schema.extend(defs.map(|defs| ("$defs".to_owned(), defs)));
    }
    schema
}
