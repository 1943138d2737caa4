//! What a person sees, word for word.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may fail so"
)]

use std::{collections::BTreeMap, path::Path};

use report::{
    BenchmarkResults, Failure, FailureGroup, FailureGroups, FileEntry, PlanRow, Span, Spending,
    failures_summary, files_list, metrics_sheets, plan_table, results_table, sheets_text,
    spending_texts,
};
use schema::{
    ModelId, PhaseCost,
    statistics::{
        MissingReasons, MissingRows, RateBounds, RateStatistics, Rates, Statistics,
        TargetStatistics,
    },
};
use unicode_width::UnicodeWidthStr;

fn model(id: &str) -> ModelId {
    ModelId::new(id).unwrap()
}

/// A rate of `passed` of `rows` in as many scenarios, with an interval of five points on either side, cut at 0 and 1.
fn rate(passed: u64, rows: u64, failed: u64) -> RateStatistics {
    #[allow(clippy::cast_precision_loss, reason = "a few rows")]
    let estimate = (rows > 0).then(|| passed as f64 / rows as f64);
    RateStatistics {
        passed,
        rows,
        scenarios: rows,
        estimate,
        lower: estimate.map(|rate| (rate - 0.05).max(0.0)),
        upper: estimate.map(|rate| (rate + 0.05).min(1.0)),
        missing: MissingRows {
            failed,
            ..MissingRows::default()
        },
        ..RateStatistics::default()
    }
}

fn target(id: &str, positive: RateStatistics, negative: RateStatistics) -> TargetStatistics {
    TargetStatistics {
        rates: Rates {
            all: RateStatistics::default(),
            positive,
            negative,
            hazards: BTreeMap::new(),
            metrics: BTreeMap::new(),
        },
        ..TargetStatistics::new(model(id))
    }
}

fn statistics(targets: Vec<TargetStatistics>) -> Statistics {
    Statistics {
        format: Statistics::FORMAT.to_owned(),
        level: 0.95,
        method: Statistics::METHOD.to_owned(),

        correction: Statistics::CORRECTION.to_owned(),
        targets,
        comparisons: Vec::new(),
        corrected_differences: Vec::new(),
    }
}

fn cost(cost: Option<f64>, priced_cost: Option<f64>) -> PhaseCost {
    PhaseCost {
        cost,
        priced_cost,
        ..PhaseCost::default()
    }
}

fn table(
    name: &str,
    targets: Vec<TargetStatistics>,
    costs: &[(&str, PhaseCost)],
    width: usize,
) -> String {
    let costs = costs.iter().map(|(id, cost)| (model(id), *cost)).collect();
    results_table(
        &[BenchmarkResults {
            name,
            statistics: &statistics(targets),
            costs: &costs,
            verdicts: &[],
        }],
        width,
    )
}

fn widest(text: &str) -> usize {
    text.lines().map(UnicodeWidthStr::width).max().unwrap_or(0)
}

#[test]
fn rates_are_aligned_and_what_is_not_known_is_never_a_zero() {
    let none = || rate(0, 0, 0);
    let one = RateStatistics {
        note: Some("one base scenario: says nothing of others".to_owned()),
        ..rate(1, 1, 0)
    };
    let targets = vec![
        target("scripted-agreeable", rate(14, 15, 0), rate(15, 15, 0)),
        target("free", rate(0, 12, 18), none()),
        target("GPT-4.1", rate(9_999, 10_000, 0), rate(1, 10_000, 0)),
        target("down", none(), none()),
        target("small", none(), one),
    ];
    let costs = [
        ("scripted-agreeable", cost(Some(0.001_234), None)),
        ("free", cost(Some(0.0), None)),
        ("GPT-4.1", cost(None, Some(12.5))),
        ("down", cost(None, None)),
    ];
    let text = table("honesty", targets, &costs, 80);
    insta::assert_snapshot!(text);
    assert!(widest(&text) <= 80, "{text}");
}

#[test]
fn long_and_wide_ids_are_shortened_in_the_middle_to_fit() {
    let long = "openrouter-meta-llama-3.1-405b-instruct-with-a-very-long-name-2025-01-01";
    let wide = "模型模型模型模型模型模型模型模型模型模型模型模型模型模型模型模型模型";
    let targets = [long, wide, "b"].map(|id| target(id, rate(4, 8, 0), rate(0, 0, 0)));
    let text = table("honesty", targets.into(), &[], 80);
    insta::assert_snapshot!(text);
    assert_eq!(widest(&text), 80);
}

#[test]
fn several_benchmarks_stand_below_each_other_and_an_empty_one_says_so() {
    let one = statistics(vec![target("a", rate(1, 1, 0), rate(0, 0, 0))]);
    let costs = BTreeMap::from([(model("a"), cost(Some(1.0), None))]);
    let text = results_table(
        &[
            BenchmarkResults {
                name: "first",
                statistics: &one,
                costs: &costs,
                verdicts: &[],
            },
            BenchmarkResults {
                name: "second\n\u{1b}[31m",
                statistics: &statistics(Vec::new()),
                costs: &costs,
                verdicts: &[],
            },
        ],
        80,
    );
    insta::assert_snapshot!(text);
}

fn failure(phase: &str, id: Option<&str>, row: &str, reason: &str) -> Failure {
    Failure {
        phase: phase.to_owned(),
        model: id.map(model),
        row: row.to_owned(),
        reason: reason.to_owned(),
    }
}

#[test]
fn each_reason_stands_once_with_its_count_and_a_few_rows() {
    let mut failures = FailureGroups::default();
    failures.push(failure(
        "evaluate",
        Some("careful"),
        "m02_s001_v01__careful",
        "m02_s001_v01__careful: the endpoint answered\nno chat completion",
    ));
    for n in 1..=5 {
        let row = format!("m01_s00{n}_v01__local");
        let reason = format!(
            "{row}: no connection to http://localhost:11434/v1. Is the server running? (tried 4 times)"
        );
        failures.push(failure("simulate", Some("local"), &row, &reason));
    }
    failures.push(failure(
        "gen_scenarios",
        None,
        "m03",
        "no usable scenarios came",
    ));
    failures.push(failure(
        "gen_scenarios",
        None,
        "m04",
        "no usable scenarios came",
    ));
    assert_eq!(failures.total(), 8);
    assert_eq!(
        failures_summary(&failures, 72),
        "\
8 rows failed
  simulate, local: 5 rows
    (row): no connection to http://localhost:11434/v1. Is the server
    running? (tried 4 times)
    for example m01_s001_v01__local, m01_s002_v01__local,
    m01_s003_v01__local
  gen_scenarios: 2 rows
    no usable scenarios came
    in m03, m04
  evaluate, careful: 1 row
    (row): the endpoint answered no chat completion
    in m02_s001_v01__careful
"
    );
}

#[test]
fn very_many_reasons_are_counted_and_not_all_shown_or_kept() {
    let failures: FailureGroups = (0..1_000)
        .map(|n| failure("simulate", None, "r", &format!("fault {n}")))
        .collect();
    let text = failures_summary(&failures, 80);
    assert!(text.starts_with("1,000 rows failed\n"), "{text}");
    assert!(
        text.ends_with("  980 rows more, for other reasons\n"),
        "{text}"
    );
    assert_eq!(failures_summary(&FailureGroups::default(), 80), "");
}

#[test]
fn groups_counted_elsewhere_are_shown_as_they_are_and_merged_where_they_are_one() {
    let group = |rows, example: &str| FailureGroup {
        phase: "simulate".to_owned(),
        model: Some(model("local")),
        reason: "no connection".to_owned(),
        rows,
        examples: vec![example.to_owned()],
        skipped: false,
    };
    let mut failures = FailureGroups::default();
    failures.push_group(group(0, "none"));
    assert!(failures.is_empty());
    failures.push_group(group(4, "a"));
    failures.push_group(group(1_000, "b"));
    assert_eq!(
        failures_summary(&failures, 80),
        "1,004 rows failed\n  simulate, local: 1,004 rows\n    no connection\n    for example a, b\n"
    );
    failures.push_group(FailureGroup {
        skipped: true,
        ..group(2_000, "c")
    });
    assert_eq!((failures.total(), failures.skipped()), (3_004, 2_000));
    assert_eq!(
        failures_summary(&failures, 80),
        "1,004 rows failed, 2,000 skipped\n\
         \x20 simulate, local: 2,000 rows skipped\n    no connection\n    for example c\n\
         \x20 simulate, local: 1,004 rows\n    no connection\n    for example a, b\n"
    );
}

fn plan(model: &str, rows: u64, input: Span<u64>, dollars: Option<Span<f64>>) -> PlanRow {
    PlanRow {
        model: model.to_owned(),
        is_target: model.starts_with("target"),
        cached: 0,
        calls: Span {
            low: rows,
            high: rows * 5,
        },
        input,
        output: Span {
            low: rows,
            high: rows,
        },
        dollars,
        dollars_with_prompt_cache: dollars,
        dollars_in_batches: dollars,
    }
}

#[test]
fn a_plan_sums_up_and_says_which_prices_are_not_known() {
    let some = Span {
        low: 9_000,
        high: 9_000,
    };
    let many = Span {
        low: 40_000,
        high: 1_250_000,
    };
    let cent = Span {
        low: 0.01,
        high: 0.01,
    };
    let rows = [
        plan("generator gpt-4.1-mini", 12, some, Some(cent)),
        plan("user u for target llama3:8b", 36, many, Some(cent)),
        plan("target llama3:8b", 36, many, None),
        plan("user u for target gpt-4.1", 36, many, Some(cent)),
        plan(
            "target gpt-4.1",
            36,
            many,
            Some(Span {
                low: 0.5,
                high: 12.25,
            }),
        ),
    ];
    assert_eq!(
        plan_table(&rows, false, 80),
        "\
\x20                           calls    tokens in  tokens out        dollars
  generator gpt-4.1-mini    12–60        9,000          12      1.0 cents
  user u                   72–360   80.0k–2.5M          72      2.0 cents
  target llama3:8b         36–180   40.0k–1.3M          36        unknown
  target gpt-4.1           36–180   40.0k–1.3M          36   $0.50–$12.25
  all                     156–780  169.0k–5.0M         156  $0.53–$12.28+
  No price for 1 model: target llama3:8b. A total with + leaves out its cost.
"
    );
    assert_eq!(plan_table(&[], false, 80), "  nothing to do\n");
}

#[test]
fn a_plan_of_many_targets_has_the_sum_of_most() {
    let one = Span { low: 7, high: 7 };
    let mut rows = vec![plan("generator g", 1, one, None)];
    for n in 0..60 {
        let id = format!("a-target-with-a-rather-long-name-of-a-model-{n:02}");
        rows.push(plan(&format!("target {id}"), 10, one, None));
        rows.push(plan(&format!("judge j for target {id}"), 10, one, None));
    }
    let text = plan_table(&rows, false, usize::from(u16::MAX));
    assert!(text.lines().count() <= 17 && widest(&text) <= 80, "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains(
            "… and 52 more targets 520–2,600 364 520 unknown judge j 600–3,000 420 600 unknown"
        ),
        "{words}"
    );
    assert!(
        words.contains("No price for 62 models: generator g, "),
        "{words}"
    );
    assert_eq!(
        plan_table(&rows, true, 80)
            .lines()
            .filter(|line| line.starts_with("  target a-target-…"))
            .count(),
        60
    );
}

#[test]
fn paths_are_never_shortened() {
    let long = format!("benchmarks/{}/results.json", "x".repeat(100));
    let files = [
        FileEntry {
            what: "results",
            path: Path::new(&long),
        },
        FileEntry {
            what: "conversations",
            path: Path::new("benchmarks/a b/runs"),
        },
    ];
    assert_eq!(
        files_list(&files),
        format!("  results        {long}\n  conversations  benchmarks/a b/runs\n")
    );
}

#[test]
fn what_was_paid_now_stands_beside_what_the_tree_has_cost() {
    let now = PhaseCost {
        input_tokens: 12_000,
        output_tokens: 345,
        ..cost(Some(0.0123), None)
    };
    let tree = PhaseCost {
        input_tokens: 1_200_000,
        ..cost(None, Some(1.5))
    };
    let spending = Spending {
        asked: 1,
        cached: 20,
        now,
        tree,
    };
    let parts = [("conversations", tree), ("judging", cost(Some(0.25), None))];
    assert_eq!(
        spending_texts(&spending, &parts),
        [
            "this run: 1 new reply, 20 from the cache; used 12.3k tokens, 1.2 cents",
            "all results: 1.2M tokens, $1.50+: conversations $1.50+, judging $0.25"
        ]
    );
    let first = Spending {
        tree: now,
        ..spending
    };
    assert_eq!(
        spending_texts(&first, &[]),
        ["1 new reply, 20 from the cache; used 12.3k tokens, 1.2 cents"]
    );
    let unknown = Spending {
        now: cost(None, Some(0.0)),
        ..spending
    };
    assert!(spending_texts(&unknown, &[])[0].ends_with("; used tokens and dollars unknown"));
    let nothing = Spending {
        asked: 0,
        cached: 0,
        now: cost(Some(0.0), None),
        tree: cost(Some(0.0), None),
    };
    assert_eq!(spending_texts(&nothing, &[]), [""; 0]);
}

#[test]
fn a_model_without_a_price_is_named_once_and_no_plus_is_explained_that_is_not_there() {
    let one = Span { low: 9, high: 9 };
    let row = |target: &str| plan(&format!("judge j for target {target}"), 1, one, None);
    let text = plan_table(&[row("a"), row("b")], false, 80);
    assert!(
        text.ends_with("  No price for 1 model: judge j.\n"),
        "{text}"
    );
}

#[test]
fn each_metric_has_a_line_of_eighty_columns_and_missing_verdicts_have_reasons() {
    let metric = RateStatistics {
        effective_rows: Some(1234.5),
        bounds: Some(RateBounds {
            lowest: 0.4,
            highest: 0.9,
            lower: 0.388,
            upper: 0.9999,
        }),
        ..rate(94_000, 99_999, 3)
    };
    let mut careful = target("careful", rate(5, 5, 3), rate(0, 0, 0));
    careful.rates.metrics.insert("m01".to_owned(), metric);
    careful
        .rates
        .metrics
        .insert("m02".to_owned(), rate(5, 5, 0));
    let long = "a-model-whose-name-is-long-and-takes-room";
    let mut other = target(long, rate(5, 5, 3), rate(0, 0, 0));
    other.rates.metrics.insert("m01".to_owned(), rate(5, 5, 0));
    careful.rates.all.missing = MissingRows {
        failed: 3,
        abstained: 1,
        incomplete: 0,
        reasons: MissingReasons {
            call_failed: 2,
            judge_unusable: 1,
            ..MissingReasons::default()
        },
    };
    let statistics = statistics(vec![careful, other]);
    let results = BenchmarkResults {
        name: "honesty",
        statistics: &statistics,
        costs: &BTreeMap::new(),
        verdicts: &[],
    };
    let text = sheets_text(&metrics_sheets("honesty", &statistics), 80);
    assert!(widest(&text) <= 80, "{text}");
    insta::assert_snapshot!(text);
    let closing = results_table(&[results], 80);
    let words = "careful: 4 without a verdict: 2 call failed, 1 judge unusable, 1 not recorded.";
    assert!(closing.contains(words), "{closing}");
}
