//! What commands print with `--json`: the keys that all have, and those of each command.

use schema::{
    BenchmarkScore, Extra, Grades, IncompleteReplies, ReasoningReplies, Standards, Summary,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};

/// Types of which only the schema is used.
macro_rules! shapes {
    ($($(#[$doc:meta])* struct $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        $($(#[$doc])*
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct $name { $($(#[$field_doc])* $field: $type,)* })*
    };
}

shapes! {
    /// One JSON object. The keys that all commands have come first, then those of the command.
    struct Output {
        /// Version of what is printed. A new first number means that a key has gone or means something else.
        format: String,
        /// The command as it is typed: `run`, `journal check`.
        command: String,
        /// What the command ends with.
        exit_code: u8,
    }

    /// Of `run` and of each phase.
    struct RunOutput {
        /// The run's id.
        run_id: String,
        /// `complete`, `failed_rows`, `nothing_ran` or `interrupted`.
        outcome: String,
        /// The folder of the run's manifest and journal.
        record: String,
        /// Replies by where they came from.
        replies: Replies,
        /// What was paid now.
        paid_now: Paid,
        /// The result of each benchmark.
        benchmarks: Vec<BenchmarkOutput>,
        /// What the gate of `run --gate` says of each benchmark; null without a gate, or where the run did not come to its end.
        gate: Option<Vec<schema::gate::GateReport>>,
    }

    /// Replies by where they came from.
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
        /// Dollars; null where the price of a call is not known.
        dollars: Option<f64>,
        /// Dollars of the calls whose price is known.
        priced_dollars: Option<f64>,
        /// Calls whose price is not known.
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
        /// The content of `grades.json`, where it was written.
        grades: Option<Grades>,
        /// Rows by phase and system under test.
        counts: Vec<Value>,
        /// The systems under test with empty or cut-off replies. Absent before there was such a count.
        #[serde(default)]
        incomplete_replies: Vec<IncompleteReplies>,
        /// The systems under test whose replies came with reasoning, or seem to hold some. Absent before there was such a count.
        #[serde(default)]
        reasoning_replies: Vec<ReasoningReplies>,
        /// Rows that failed, by reason.
        failures: Vec<Value>,
        /// The files that were written.
        files: Vec<String>,
        /// Where the journal is, and what its check says.
        journal: Option<JournalOutput>,
        /// What all that is in the tree has cost.
        cost_of_tree: Paid,
        /// Why the benchmark could not be run to its end.
        error: Option<String>,
    }

    /// Where a journal is, and what its check says.
    struct JournalOutput {
        /// The file.
        path: String,
        /// `passed`, `failed`, `not_checkable` or `incomplete`.
        check: String,
        /// The same in words.
        text: String,
    }

    /// Of `plan`.
    struct PlanOutput {
        /// What would be asked, by benchmark and phase.
        rows: Vec<Value>,
        /// `{calls, tokens, dollars, unpriced}`.
        total: Extra,
        /// `{max_cost, max_tokens, suffices}`.
        budget: Extra,
        /// What the run would find in the cache: `{benchmark, phase, target, cached, new, more, reasons}`.
        cache: Vec<Value>,
        /// What the rows of one target could show, by benchmark and metric. Empty where no row is judged, and for imported conversations.
        metrics: Vec<schema::statistics::MetricPlan>,
        /// The difference that `scenarios_needed` is for, or null.
        want_difference: Option<f64>,
    }

    /// Of `doctor`.
    struct DoctorOutput {
        /// The configuration file, or null.
        config: Option<String>,
        /// `{model, endpoint, ok, text, to_mend}` of each model.
        models: Vec<Value>,
    }

    /// Of `calibrate`.
    struct CalibrateOutput {
        /// The benchmark's folder.
        benchmark: String,
        /// The file that was written.
        standards_file: String,
        /// The journal of the calibration.
        journal: String,
        /// The content of the file.
        standards: Standards,
        /// The scores of the reference systems.
        scores: Vec<BenchmarkScore>,
        /// What a reader should know.
        warnings: Vec<String>,
    }

    /// Of `compare`.
    struct CompareOutput {
        /// The benchmark's folder.
        benchmark: String,
        /// The folder of the other tree, or null: targets of one tree are compared.
        against: Option<String>,
        /// For each pair the comparison of all rows, then of each metric.
        comparisons: Vec<schema::statistics::Comparison>,
        /// The targets of this tree that people labelled rows of.
        people: Vec<ComparedPeople>,
    }

    /// A judge beside people on one of the targets that are compared.
    struct ComparedPeople {
        /// The target's id.
        target: schema::ModelId,
        /// As `judge.people` of `statistics.json`.
        people: schema::statistics::JudgeAgainstPeople,
    }

    /// Of `baseline`.
    struct BaselineOutput {
        /// The benchmark's folder.
        benchmark: String,
        /// The file that was written.
        path: String,
        /// The ids of its targets.
        targets: Vec<schema::ModelId>,
    }

    /// Of `judge-check`.
    struct JudgeCheckOutput {
        /// The file of labels.
        file: String,
        /// The benchmark that was made of it and judged, or null: the file has the verdicts.
        benchmark: Option<String>,
        /// As `judge.people` of `statistics.json`.
        people: schema::statistics::JudgeAgainstPeople,
    }

    /// Of `label --import`.
    struct LabelOutput {
        /// The benchmark's folder.
        benchmark: String,
        /// The file of labels.
        file: String,
        /// Columns of the file that were not read.
        unused_columns: Vec<String>,
        /// The targets whose labels the file has.
        targets: Vec<LabelledTarget>,
    }

    /// The labels of one target.
    struct LabelledTarget {
        /// The target's id.
        target: schema::ModelId,
        /// Labels of people on rows that they had not labelled.
        added: u64,
        /// Labels in place of other ones of the same person on the same row.
        replaced: u64,
        /// Labels that `labels.json` had already.
        unchanged: u64,
        /// As `judge.people` of `statistics.json`; null where no label counts.
        people: Option<schema::statistics::JudgeAgainstPeople>,
        /// Whether `statistics.json` has these numbers.
        statistics_current: bool,
    }

    /// Of `view`, when it begins to serve.
    struct ViewOutput {
        /// The benchmark's folder.
        benchmark: String,
        /// Where the page is. A program that knows it can read the results and write labels, as long as the command runs.
        address: String,
        /// The port in it.
        port: u16,
    }

    /// Of `export`.
    struct ExportOutput {
        /// The format that was written: `eee`, `inspect` and so on.
        export_format: String,
        /// Systems under test whose results were exported.
        targets: u64,
        /// Conversations that were exported.
        conversations: u64,
        /// The files that were written.
        files: Vec<String>,
        /// What was wrong with rows that were left out.
        problems: Vec<String>,
        /// What kept results from being exported at all.
        refused: Vec<String>,
        /// What a reader should know.
        notes: Vec<String>,
    }

    /// Of `report`.
    struct ReportOutput {
        /// The page that was written.
        file: String,
        /// Rows that it holds.
        rows: u64,
        /// Rows of the runs.
        total_rows: u64,
        /// What is not whole in the runs.
        problems: Vec<String>,
        /// How many targets nothing can be shown of.
        refused: u64,
    }

    /// Of `import`.
    struct ImportOutput {
        /// The format that was read: `eee` or `inspect`.
        from: String,
        /// The benchmark that was made.
        benchmark: String,
        /// Its folder.
        folder: String,
        /// How many files were read.
        files: Vec<String>,
        /// The ids of its metrics.
        metrics: Vec<String>,
        /// How many scenarios it has.
        scenarios: u64,
        /// How many conversations there are of all systems.
        conversations: u64,
        /// The result of each system under test.
        targets: Vec<Value>,
        /// Rows that were left out, by reason.
        left_out: Vec<Value>,
        /// What a reader should know.
        notes: Vec<String>,
    }

    /// Of `journal check`.
    struct CheckOutput {
        /// What the rules say.
        report: CheckReport,
    }

    /// What the rules say of a journal.
    struct CheckReport {
        /// The file.
        journal: String,
        /// `passed`, `failed` or `not_checkable`.
        verdict: String,
        /// Why the rules could not be asked, else null.
        reason: Option<String>,
        /// The run's id.
        run_id: Option<String>,
        /// Lines that were read.
        lines: u64,
        /// Items in the journal.
        items: u64,
        /// `{rule, about, outcome, checked, failed, failures, reason}` of each rule.
        rows: Vec<Value>,
        /// What a reader should know.
        notes: Vec<String>,
    }

    /// Of `journal stats`.
    struct StatsOutput {
        /// The file.
        journal: String,
        /// The figures.
        stats: JournalStats,
    }

    /// The figures of a journal.
    struct JournalStats {
        /// Events that were read.
        entries: u64,
        /// The time of the first event, UTC; null where no event has one.
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

    /// Of `cache stats`.
    struct CacheStatsOutput {
        /// The file.
        file: String,
        /// Bytes on the disk, the write-ahead log included.
        file_bytes: u64,
        /// Intact replies.
        replies: u64,
        /// Rows that are damaged.
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
        /// The endpoint's address; null for replies that an earlier version stored.
        endpoint: Option<String>,
        /// The model's name at the endpoint; null likewise.
        model: Option<String>,
        /// How many replies there are.
        replies: u64,
        /// Bytes of their texts.
        bytes: u64,
        /// When the oldest was stored.
        oldest: Option<String>,
        /// When the newest was stored.
        newest: Option<String>,
    }

    /// Of `cache prune`.
    struct CachePruneOutput {
        /// The file.
        file: String,
        /// Whether rows were only counted.
        dry_run: bool,
        /// Rows that were removed, or would be.
        rows: u64,
        /// Bytes of their texts; of damaged rows 0.
        bytes: u64,
        /// Bytes of the file and its write-ahead log before.
        file_bytes_before: u64,
        /// The same after.
        file_bytes_after: u64,
        /// Whether the file was made as small as it can be; false where the disk had no room for that.
        shrunk: bool,
    }

    /// Of `validate`.
    struct ValidateOutput {
        /// Problems in all files.
        problems: u64,
        /// Notes on all files.
        notes: u64,
        /// The files that were looked at.
        files: Vec<FileOutput>,
        /// Why paths could not be checked.
        unchecked: Vec<String>,
    }

    /// The result of checking one file.
    struct FileOutput {
        /// The file.
        path: String,
        /// What it is.
        kind: String,
        /// Rows or lines that were looked at.
        rows: u64,
        /// How many problems there are.
        problems: u64,
        /// How many notes there are.
        notes: u64,
        /// Problems and notes in the order of the file.
        findings: Vec<FindingOutput>,
    }

    /// Something that is to be fixed, or to be known.
    struct FindingOutput {
        /// `problem` or `note`.
        severity: String,
        /// The line, from 1; null: of the file as a whole.
        line: Option<u64>,
        /// The column in characters, from 1.
        column: Option<u64>,
        /// The key path.
        key: String,
        /// What is wrong.
        reason: String,
        /// What to do about it, where that is known.
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
            vec!["validate"],
            generator.subschema_for::<ValidateOutput>(),
        ),
    ]
}

/// The schema of what commands print. A command that is not listed has the common keys alone.
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
