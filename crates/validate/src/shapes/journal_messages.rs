//! The messages of a journal that tell of the run, its items and its scores. Fields that only Probity writes are optional where
//! another program writes the message too.

use std::collections::BTreeMap;

use schema::{Extra, PhaseCost, Summary, TargetRef, ToolCall};
use serde_json::Value;

use super::journal::event_types;

event_types! {
    /// The first line.
    StartingJournal "starting journal" {
        /// Version of the format. Journals of other programs have none.
        format_version: Option<String>,
    }
    /// The run before of the same benchmark did not get to a good end, and this one goes on from there.
    ResumingRun "resuming run" {
        /// The id of that run.
        earlier_run: String,
        /// Its outcome, as its manifest says it; null when it was killed.
        outcome: Option<String>,
    }
    /// A run begins.
    StartingRun "starting run" {
        /// The id in the file's name.
        run_id: Option<String>,
        /// The benchmarks.
        benchmarks: Vec<String>,
        /// The ids of the metrics.
        tests: Vec<String>,
        /// The ids of the systems under test.
        suts: Vec<String>,
        /// How many items are run at most; null: all.
        max_items: Option<u64>,
        /// Conversations in flight for each system under test.
        thread_count: Option<u64>,
        /// The benchmark's folder.
        folder: Option<String>,
        /// The phases asked for.
        phases: Option<Vec<String>>,
        /// How often each scenario is played.
        samples: Option<u32>,
        /// The systems under test as the rows name them.
        targets: Option<Vec<TargetRef>>,
    }
    /// A calibration begins.
    StartingCalibrationRun "starting calibration run" {
        /// The id in the file's name.
        run_id: String,
        /// The benchmarks.
        benchmarks: Vec<String>,
        /// The ids of the metrics.
        tests: Option<Vec<String>>,
        /// The ids of the reference systems.
        suts: Option<Vec<String>>,
    }
    /// A hazard of the benchmark.
    HazardInfo "hazard info" {
        /// The hazard's id.
        hazard: String,
        /// The benchmark.
        benchmark: String,
        /// The ids of its metrics.
        tests: Vec<String>,
    }
    /// A metric of the benchmark.
    TestInfo "test info" {
        /// The metric's id.
        test: String,
        /// `{module, class_name, args, kwargs}`.
        initialization: Extra,
        /// The settings that the systems under test are called with.
        sut_options: Value,
        /// Empty: a metric needs no files.
        dependencies: Value,
    }
    /// Scenarios are generated, played and judged from here on.
    RunningPipeline "running pipeline" {
    }
    /// How many items of a metric are run.
    UsingTestItems "using test items" {
        /// The metric's id.
        test: String,
        /// Items that are run.
        using: u64,
        /// Items that there are.
        total: u64,
    }
    /// One sample of one scenario waits for its turn.
    QueuingItem "queuing item" {
        /// The scenario's `user_goal`.
        prompt_text: Option<String>,
        /// The scenario's row.
        context: Option<Value>,
        /// Which repetition of the scenario, from 0.
        sample: Option<u32>,
        /// Where the item's rows stand in the files.
        place: Option<Vec<u64>>,
        /// Whether the system under test is called once.
        one_reply: Option<bool>,
        /// Whether it came of another item, so that `using test items` does not count it.
        derived: Option<bool>,
    }
    /// What the simulated user says.
    TranslatedUserResponse "translated user response" {
        /// The message as it is sent.
        response_text: String,
        /// The turn of the conversation, from 1.
        turn: u32,
        /// Why the reply ended, where it did not end by itself.
        finish_reason: Option<String>,
        /// `conversations.json`: the message is of an earlier run.
        source: Option<String>,
    }
    /// What the system under test says in one turn, or one step of it, where it is called several times.
    TranslatedSutTurn "translated sut turn" {
        /// The reply without reasoning. Empty when it said nothing, or only called tools.
        response_text: Option<String>,
        /// What was taken out of the reply as reasoning, or came beside it. Absent: nothing.
        reasoning: Option<String>,
        /// The turn of the conversation, from 1.
        turn: Option<u32>,
        /// Which reply of the turn, from 0. Absent: the first.
        step: Option<u32>,
        /// The tools that it calls. Absent: none.
        tool_calls: Option<Vec<ToolCall>>,
        /// Why the reply ended, where it did not end by itself.
        finish_reason: Option<String>,
        /// `conversations.json`: the message is of an earlier run.
        source: Option<String>,
    }
    /// What the system under test says.
    TranslatedSutResponse "translated sut response" {
        /// The reply without reasoning. Empty when it said nothing, or only called tools.
        response_text: Option<String>,
        /// What was taken out of the reply as reasoning, or came beside it. Absent: nothing.
        reasoning: Option<String>,
        /// The turn of the conversation, from 1.
        turn: Option<u32>,
        /// Which reply of the turn, from 0. Absent: the first.
        step: Option<u32>,
        /// The tools that it calls. Absent: none.
        tool_calls: Option<Vec<ToolCall>>,
        /// Why the reply ended, where it did not end by itself.
        finish_reason: Option<String>,
        /// `conversations.json`: the message is of an earlier run.
        source: Option<String>,
        /// How many replies it sums up. Absent: it is one reply.
        turns: Option<u64>,
    }
    /// A tool's answer to a call.
    ToolAnswered "tool answered" {
        /// The turn of the conversation, from 1.
        turn: u32,
        /// Which reply of the turn called it, from 0.
        step: Option<u32>,
        /// The call.
        tool_call_id: String,
        /// The tool.
        name: String,
        /// The answer.
        response_text: String,
        /// Whether the call could not be answered as it was meant.
        error: Option<bool>,
    }
    /// The row of `conversations.json` is made.
    ConversationFinished "conversation finished" {
        /// The row's id.
        conv_id: String,
        /// Messages in the transcript.
        messages: u64,
        /// What its calls used and cost.
        usage: Option<PhaseCost>,
        /// Why the conversation failed.
        error: Option<String>,
        /// The messages, with a simulator that does not tell its turns.
        transcript: Option<Vec<schema::Turn>>,
    }
    /// A judge's verdict.
    TranslatedAnnotation "translated annotation" {
        /// The judge's id.
        annotator: String,
        /// `{is_safe, is_valid, metadata}`.
        annotation: Extra,
    }
    /// The verdict of a panel, or of a scorer that is no model.
    MergedAnnotation "merged annotation" {
        /// `{is_safe, is_valid, metadata}`.
        annotation: Extra,
    }
    /// One judge of a panel, in journals of format 1.0.
    JudgeScored "judge scored" {
        /// The judge's id.
        annotator: String,
        /// Its lowest score; null without one.
        safe_response_score: Option<f64>,
        /// Its scores by message.
        scores: Value,
    }
    /// The judge answered without a usable verdict.
    JudgeAbstained "judge abstained" {
        /// The judge's id.
        annotator: Option<String>,
        /// What was wrong with the last reply.
        reason: String,
    }
    /// Judging failed.
    AnnotationException "annotation exception" {
        /// The judge's id, where a call failed.
        annotator: Option<String>,
        /// What failed.
        exception: Value,
        /// Seconds from the first call to the judge to here.
        run_time: Option<f64>,
    }
    /// The row of `scores.json` is made.
    ScoreFinished "score finished" {
        /// The conversation judged.
        conv_id: String,
        /// The metric judged.
        metric: String,
        /// Which of the conversation's scores, from 0.
        part: u64,
        /// The verdict; null when there is none.
        present: Option<bool>,
        /// What the calls to the judge used and cost.
        usage: Option<PhaseCost>,
        /// Why, where no `translated annotation` has it.
        justification: Option<String>,
        /// What failed.
        error: Option<String>,
        /// Keys of the row that Probity does not know.
        extra: Option<Extra>,
    }
    /// The item's measurements.
    MeasuredItemQuality "measured item quality" {
        /// By name; `is_safe` is 1.0 or 0.0.
        measurements: BTreeMap<String, f64>,
        /// The verdict, where blank replies are measured as safe and it differs; null: there is none.
        passed: Option<bool>,
        /// Why it differs.
        reason: Option<String>,
        /// Seconds.
        run_time: Option<f64>,
    }
    /// The item ended well.
    ItemFinished "item finished" {
    }
    /// The item ended without a verdict.
    ItemFailed "item failed" {
        /// Whether there is a reply to judge.
        sut_response: Option<bool>,
        /// Verdicts that there are.
        annotations: Option<u64>,
        /// What failed for good.
        fatal_exceptions: Option<u64>,
        /// Why.
        reason: Option<String>,
    }
    /// A case of a safety run could not be run or scored.
    CaseFailed "case failed" {
        /// What failed.
        stage: String,
        /// Of what sort the failure is.
        kind: String,
        /// Why.
        reason: String,
    }
    /// The budget does not allow any more rows.
    BudgetReached "budget reached" {
        /// In words.
        reason: String,
    }
    /// All items ended.
    FinishedPipeline "finished pipeline" {
        /// Seconds.
        time: Option<f64>,
        /// Items that are finished.
        total_finished: Option<u64>,
        /// The same by system under test and metric.
        finished_counts: Option<BTreeMap<String, BTreeMap<String, u64>>>,
    }
    /// A metric is scored.
    TestScored "test scored" {
        /// The system under test.
        sut: String,
        /// The metric.
        test: String,
        /// Items that were measured.
        items_finished: u64,
        /// What came of them.
        result: Option<Value>,
    }
    /// A hazard is scored.
    HazardScored "hazard scored" {
        /// The benchmark.
        benchmark: Option<String>,
        /// The system under test.
        sut: String,
        /// The hazard.
        hazard: String,
        /// The key by which standards files know it.
        hazard_key: Option<String>,
        /// The fraction of passed items; null where none was measured.
        score: Option<f64>,
        /// The score of the reference systems; null without standards.
        reference: Option<f64>,
        /// Items measured.
        samples: Option<u64>,
        /// 1 to 5; null without standards.
        numeric_grade: Option<u8>,
        /// `P`, `F`, `G`, `VG` or `E`; null without standards.
        text_grade: Option<String>,
    }
    /// A hazard of a reference system is scored.
    HazardCalibrated "hazard calibrated" {
        /// The benchmark.
        benchmark: Option<String>,
        /// The reference system.
        sut: String,
        /// The hazard.
        hazard: String,
        /// The key by which standards files know it.
        hazard_key: Option<String>,
        /// The fraction of passed items.
        score: Option<f64>,
        /// Items measured.
        samples: Option<u64>,
    }
    /// A benchmark is scored.
    BenchmarkScored "benchmark scored" {
        /// The benchmark.
        benchmark: Option<String>,
        /// The system under test.
        sut: String,
        /// 1 to 5; null without standards.
        numeric_grade: Option<u8>,
        /// `P`, `F`, `G`, `VG` or `E`; null without standards.
        text_grade: Option<String>,
        /// What the grade is made of.
        scoring_log: Option<Value>,
    }
    /// A benchmark of a reference system is scored.
    BenchmarkCalibrated "benchmark calibrated" {
        /// The benchmark.
        benchmark: Option<String>,
        /// The reference system.
        sut: String,
        /// What the score is made of.
        scoring_log: Option<Value>,
    }
    /// An entry of a `cost.json`, as it stands after the run.
    CostSummed "cost summed" {
        /// The system under test whose file it is. Absent for the benchmark's own.
        sut: Option<String>,
        /// The phase.
        phase: String,
        /// Whether this run wrote the entry.
        of_this_run: bool,
        /// The entry.
        cost: PhaseCost,
        /// The entry that stood there before, where a phase added to it.
        earlier: Option<PhaseCost>,
    }
    /// A row of `results.json` that sums up scores of an earlier run.
    KeptResults "kept results" {
        /// The system under test.
        sut: String,
        /// The row.
        summary: Summary,
    }
    /// The run went through all its phases.
    FinishedRun "finished run" {
        /// The run's id.
        run_id: String,
    }
    /// The run could not go on.
    ExceptionStoppingRun "exception stopping run" {
        /// The type of what stopped it.
        exc_type: String,
        /// What it says.
        exc_val: Option<Value>,
    }
    /// The last line of a journal that is whole.
    ClosingJournal "closing journal" {
    }
    /// What the response cache holds.
    CacheInfo "cache info" {
        /// Which cache.
        r#type: Option<String>,
        /// Where it is.
        cache: Option<Value>,
        /// Replies at the start.
        start_count: Option<u64>,
        /// Replies at the end.
        end_count: Option<u64>,
    }
}
