//! The tests of a gate's rules, and of the differences of targets, while scenarios are simulated in an order: simulated runs.

#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aggregator::statistics::{ScenarioSequence, SequencedBase, TargetRows};
use schema::{
    Benchmark, Metric, MetricType, ModelId, Scenario,
    gate::{GateRule, GateRules, GateScope},
    sequence::{RunUntil, SequenceAnswer},
};
use store::{
    BaselineUnits, SequenceQuestions, SequenceRules, SequenceTests, SequencedVerdict, Turn,
    WidthQuestion,
};

const BASES: usize = 60;

fn target() -> ModelId {
    ModelId::new("a").unwrap()
}

fn sequence(pairs: u64) -> ScenarioSequence {
    ScenarioSequence {
        order: (0..BASES)
            .map(|number| SequencedBase {
                id: format!("s{number:03}"),
                scenarios: BTreeMap::from([("m".to_owned(), 2)]),
            })
            .collect(),
        metrics: BTreeMap::from([("m".to_owned(), MetricType::Positive)]),
        samples: 1,
        single: BTreeSet::new(),
        lists: vec![(0, BASES as u64)],
        pairs,
        width: None,
        stopped: None,
        stopped_targets: BTreeMap::new(),
    }
}

fn benchmark() -> Benchmark {
    Benchmark {
        metrics: vec![Metric::new("m", "m", MetricType::Positive, "m")],
        ..Benchmark::default()
    }
}

fn tests(limit: &str) -> SequenceTests {
    tests_beside(limit, &HashMap::new())
}

fn tests_beside(limit: &str, before: &HashMap<ModelId, BaselineUnits>) -> SequenceTests {
    let rule = GateRule {
        name: None,
        scope: GateScope::All,
        targets: Vec::new(),
        require: limit.parse().unwrap(),
    };
    let rules = GateRules {
        baseline: None,
        max_missing: 0.0,
        rules: vec![rule],
    };
    let of = SequenceRules {
        rules: &rules,
        before,
    };
    let rules = (SequenceQuestions::Rules(of), RunUntil::Decided, 0.05);
    SequenceTests::new(sequence(1), &benchmark(), rules, &[target()])
}

/// Numbers from 0 to 1, the same ones for the same seed.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        #[expect(clippy::cast_precision_loss, reason = "53 bits")]
        let unit = ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
        unit
    }
}

/// Plays a run whose rows pass with this chance; both rows of a scenario are alike. Returns the answer and the scenarios played.
fn play(limit: &str, rate: f64, draws: &mut Draws) -> (SequenceAnswer, usize) {
    let mut tests = tests(limit);
    for place in 0..BASES {
        match tests.turn(&target(), place) {
            Turn::Never => break,
            turn => assert_eq!(turn, Turn::Now, "all before it has ended"),
        }
        let passed = draws.next() < rate;
        for _ in 0..2 {
            let verdict = SequencedVerdict {
                passed: Some(passed),
                may_differ: false,
            };
            tests.ended(&target(), (place, "m", "s"), verdict);
        }
    }
    let known = tests.known().remove(0);
    (known.answer, usize::try_from(known.scenarios).unwrap())
}

#[test]
fn a_rule_passes_or_fails_falsely_in_less_than_one_in_forty_runs_and_clear_ones_stop_early() {
    let mut draws = Draws(1);
    let runs = 300;
    for (limit, wrong) in [
        ("lower >= 0.7", SequenceAnswer::Pass),
        ("lower >= 0.7", SequenceAnswer::Fail),
        ("upper <= 0.7", SequenceAnswer::Pass),
    ] {
        // At the limit, each answer is wrong.
        let answers = (0..runs).map(|_| play(limit, 0.7, &mut draws).0);
        let wrong = answers.filter(|answer| *answer == wrong).count();
        // 2.5% of 300 is 7.5; 15 or more come with a chance below 1%.
        assert!(wrong < 15, "{limit}: {wrong} of {runs}");
    }
    let clear = (0..50).map(|_| play("lower >= 0.7", 0.95, &mut draws));
    let clear: Vec<_> = clear.collect();
    let passed = clear
        .iter()
        .filter(|(answer, _)| *answer == SequenceAnswer::Pass);
    assert!(passed.count() >= 48, "{clear:?}");
    let played: usize = clear.iter().map(|(_, played)| played).sum();
    assert!(played < 50 * BASES / 2, "{played}");
}

#[test]
fn what_no_end_of_the_rows_before_can_spare_comes_now_and_the_rest_later() {
    let tests = tests("lower >= 0.8");
    // 18 scenarios without a failure pass `lower >= 0.8` where the list is short; this one is longer.
    assert_eq!(tests.turn(&target(), 0), Turn::Now);
    let now = (0..BASES)
        .filter(|place| tests.turn(&target(), *place) == Turn::Now)
        .count();
    assert!(now > 1 && now < BASES, "{now}");
    assert_eq!(tests.turn(&target(), BASES - 1), Turn::Later);
    assert_eq!(tests.turn(&ModelId::new("b").unwrap(), 0), Turn::Never);
}

/// Plays a run of targets whose rows pass with these chances, scenario by scenario: both rows of a scenario are alike, and the targets do not
/// go by each other. Returns the answer of each pair, and the scenarios played.
fn compare(rates: &[f64], draws: &mut Draws) -> (Vec<SequenceAnswer>, usize) {
    let targets: Vec<ModelId> = (0..rates.len())
        .map(|number| ModelId::new(format!("t{number}")).unwrap())
        .collect();
    let pairs = (rates.len() * (rates.len() - 1) / 2) as u64;
    let until = (SequenceQuestions::Pairs, RunUntil::Decided, 0.05);
    let mut tests = SequenceTests::new(sequence(pairs), &benchmark(), until, &targets);
    let mut played = 0;
    for place in 0..BASES {
        for (target, rate) in targets.iter().zip(rates) {
            if tests.turn(target, place) == Turn::Never {
                continue;
            }
            played = place + 1;
            let verdict = SequencedVerdict {
                passed: Some(draws.next() < *rate),
                may_differ: false,
            };
            for scenario in ["s1", "s2"] {
                tests.ended(target, (place, "m", scenario), verdict);
            }
        }
    }
    let answers = tests.known().into_iter().map(|test| test.answer);
    (answers.collect(), played)
}

#[test]
fn targets_that_are_alike_differ_falsely_in_less_than_one_in_twenty_runs_and_clear_ones_stop_early()
{
    let mut draws = Draws(2);
    // 5% would be 15 and 5; as many as the last number come with a chance below 1%.
    for (rates, runs, many) in [
        ([0.6, 0.6].as_slice(), 300, 26),
        (&[0.7, 0.7, 0.7], 100, 12),
    ] {
        let answers = (0..runs).map(|_| compare(rates, &mut draws).0);
        let wrong = answers
            .filter(|all| all.contains(&SequenceAnswer::Differ))
            .count();
        assert!(wrong < many, "{rates:?}: {wrong} of {runs}");
    }
    let clear: Vec<_> = (0..50).map(|_| compare(&[0.9, 0.3], &mut draws)).collect();
    let shown = clear
        .iter()
        .filter(|(all, _)| *all == [SequenceAnswer::Differ]);
    assert!(shown.count() >= 48, "{clear:?}");
    let played: usize = clear.iter().map(|(_, played)| played).sum();
    assert!(played < 50 * BASES / 2, "{played} of {}", 50 * BASES);
}

/// A target that differs from two that are alike is shown to, from both, although the third pair shows nothing.
#[test]
fn a_pair_is_decided_whatever_the_others_of_its_family_show() {
    let mut draws = Draws(3);
    let runs: Vec<_> = (0..20)
        .map(|_| compare(&[0.95, 0.2, 0.2], &mut draws))
        .collect();
    let differ = |all: &[SequenceAnswer], pair: usize| all[pair] == SequenceAnswer::Differ;
    let shown = runs
        .iter()
        .filter(|(all, _)| differ(all, 0) && differ(all, 1));
    assert!(shown.count() >= 19, "{runs:?}");
}

/// Plays a run with `at_once` rows in flight, which end in any order; a row's verdict depends on its scenario and target alone. Returns the
/// scenarios of each target, and the answers.
fn begun(
    mut tests: SequenceTests,
    targets: &[ModelId],
    at_once: usize,
    verdict: &dyn Fn(usize, usize) -> bool,
    draws: &mut Draws,
) -> (Vec<Vec<usize>>, Vec<SequenceAnswer>) {
    let mut begun = vec![Vec::new(); targets.len()];
    let mut in_flight: Vec<(usize, usize)> = Vec::new();
    loop {
        let mut now = Vec::new();
        for (number, target) in targets.iter().enumerate() {
            let is_now = |place: &usize| tests.turn(target, *place) == Turn::Now;
            let next = (0..BASES)
                .filter(|place| !begun[number].contains(place))
                .find(is_now);
            now.extend(next.map(|place| (number, place)));
        }
        let draw = |of: usize, draws: &mut Draws| {
            #[expect(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a place in a short list"
            )]
            let place = (draws.next() * of as f64) as usize;
            place
        };
        if !now.is_empty() && in_flight.len() < at_once {
            let (number, place) = now[draw(now.len(), draws)];
            begun[number].push(place);
            in_flight.push((number, place));
        } else if in_flight.is_empty() {
            break;
        } else {
            let (number, place) = in_flight.swap_remove(draw(in_flight.len(), draws));
            let ended = SequencedVerdict {
                passed: Some(verdict(number, place)),
                may_differ: false,
            };
            for scenario in ["s1", "s2"] {
                tests.ended(&targets[number], (place, "m", scenario), ended);
            }
        }
    }
    begun.iter_mut().for_each(|places| places.sort_unstable());
    let answers = tests.known().into_iter().map(|test| test.answer);
    (begun, answers.collect())
}

/// Whichever rows end first, and however many are in flight: also where rules are given up, and where one fails while others are open.
#[test]
fn which_scenarios_are_simulated_follows_from_the_verdicts_alone() {
    let targets: Vec<ModelId> = ["a", "b", "c"].map(|id| ModelId::new(id).unwrap()).into();
    let rules = |limits: &[(&str, &str)]| GateRules {
        baseline: None,
        max_missing: 0.0,
        rules: limits
            .iter()
            .map(|(target, limit)| GateRule {
                name: None,
                scope: GateScope::All,
                targets: vec![ModelId::new(*target).unwrap()],
                require: limit.parse().unwrap(),
            })
            .collect(),
    };
    let close = rules(&[
        ("a", "lower >= 0.75"),
        ("b", "upper <= 0.6"),
        ("c", "lower >= 0.99"),
    ]);
    let fails = rules(&[("a", "lower >= 0.95"), ("b", "lower >= 0.5")]);
    let narrow_enough = WidthQuestion {
        width: 0.25,
        scope: GateScope::All,
    };
    let (mut given_up, mut narrow) = (0, 0);
    for (seed, until) in (0..6)
        .flat_map(|seed| [RunUntil::Decided, RunUntil::EachDecided].map(|until| (seed, until)))
    {
        let mut draws = Draws(seed);
        let rows: Vec<[f64; 3]> = (0..BASES).map(|_| [(); 3].map(|()| draws.next())).collect();
        let verdict = |number: usize, place: usize| rows[place][number] < [0.8, 0.55, 0.8][number];
        let questions = [
            (Some(&close), None),
            (Some(&fails), None),
            (None, None),
            (None, Some(&narrow_enough)),
        ];
        for (rules, width) in questions {
            let mut play = |at_once: usize| {
                let before = HashMap::new();
                let questions = match (rules, width) {
                    (_, Some(width)) => SequenceQuestions::Width(width),
                    (None, None) => SequenceQuestions::Pairs,
                    (Some(rules), None) => SequenceQuestions::Rules(SequenceRules {
                        rules,
                        before: &before,
                    }),
                };
                let options = (questions, until, 0.05);
                let tests = SequenceTests::new(sequence(3), &benchmark(), options, &targets);
                begun(tests, &targets, at_once, &verdict, &mut draws)
            };
            let one = play(1);
            for at_once in [3, 20, 200] {
                assert_eq!(
                    play(at_once),
                    one,
                    "seed {seed}, {at_once} at once, {rules:?}, {width:?}"
                );
            }
            narrow += one
                .1
                .iter()
                .filter(|of| **of == SequenceAnswer::Narrow)
                .count();
            given_up += one
                .1
                .iter()
                .filter(|of| **of == SequenceAnswer::GivenUp)
                .count();
        }
    }
    assert!(given_up > 0 && narrow > 0);
}

/// What is bet for 200 scenarios is not used up by 60, and says so when the 60 are all there are.
#[test]
fn bets_last_for_the_scenarios_that_are_to_come() {
    let play = |lists: Vec<(u64, u64)>| {
        let rules = GateRules {
            baseline: None,
            max_missing: 0.0,
            rules: vec![GateRule {
                name: None,
                scope: GateScope::All,
                targets: Vec::new(),
                require: "lower >= 0.8".parse().unwrap(),
            }],
        };
        let before = HashMap::new();
        let questions = SequenceQuestions::Rules(SequenceRules {
            rules: &rules,
            before: &before,
        });
        let sequence = ScenarioSequence {
            lists,
            ..sequence(1)
        };
        let options = (questions, RunUntil::Decided, 0.0);
        let mut tests = SequenceTests::new(sequence, &benchmark(), options, &[target()]);
        for place in 0..BASES {
            assert_eq!(tests.turn(&target(), place), Turn::Now, "{place}");
            // Nine of ten pass.
            let verdict = SequencedVerdict {
                passed: Some(place % 10 != 3),
                may_differ: false,
            };
            for scenario in ["s1", "s2"] {
                tests.ended(&target(), (place, "m", scenario), verdict);
            }
        }
        tests.known().remove(0)
    };
    let [short, long] = [vec![(0, 60)], vec![(0, 200)]].map(play);
    assert_eq!(short.answer, SequenceAnswer::UsedUp);
    assert_eq!(long.answer, SequenceAnswer::UsedUp);
    assert!(short.lower > long.lower, "{} {}", short.lower, long.lower);
}

/// Plays a run of which a rule compares with a baseline: two rows a scenario on both sides, alike on each. Rows of the baseline pass with the
/// first chance and those of the run with the second; `missing` of the latter have no verdict. Returns the answer and the scenarios played.
fn play_beside(
    limit: &str,
    (before, here): (f64, f64),
    missing: f64,
    draws: &mut Draws,
) -> (SequenceAnswer, usize) {
    let mut rows = TargetRows::new(target());
    let mut scenarios = Vec::new();
    for place in 0..BASES {
        let passed = 2 * u64::from(draws.next() < before);
        let id = format!("s{place:03}_v01");
        rows.push_counts((&id, "m", MetricType::Positive), passed, 2);
        scenarios.push(Scenario {
            id,
            ..Scenario::default()
        });
    }
    let units = BaselineUnits::of(&rows, &scenarios);
    let mut tests = tests_beside(limit, &HashMap::from([(target(), units)]));
    for place in 0..BASES {
        if tests.turn(&target(), place) == Turn::Never {
            break;
        }
        let passed = draws.next() < here;
        let is_missing = draws.next() < missing;
        for _ in 0..2 {
            let verdict = SequencedVerdict {
                passed: (!is_missing).then_some(passed),
                may_differ: false,
            };
            let id = format!("s{place:03}_v01");
            tests.ended(&target(), (place, "m", &id), verdict);
        }
    }
    let known = tests.known().remove(0);
    (known.answer, usize::try_from(known.scenarios).unwrap())
}

#[test]
fn a_difference_from_a_baseline_is_shown_falsely_in_less_than_one_in_forty_runs() {
    let mut draws = Draws(7);
    let runs = 100;
    for (limit, rates) in [
        ("difference >= 0", (0.8, 0.8)),
        ("difference >= -0.1", (0.8, 0.7)),
        ("difference <= 0.2", (0.4, 0.6)),
    ] {
        let answers: Vec<SequenceAnswer> = (0..runs)
            .map(|_| play_beside(limit, rates, 0.0, &mut draws).0)
            .collect();
        for wrong in [SequenceAnswer::Pass, SequenceAnswer::Fail] {
            let count = answers.iter().filter(|answer| **answer == wrong).count();
            // 2.5% of 100 is 2.5; 8 or more come with a chance below 1%.
            assert!(count < 8, "{limit}: {wrong:?} in {count} of {runs}");
        }
    }
    for (limit, rates, right) in [
        ("difference >= -0.1", (0.5, 0.9), SequenceAnswer::Pass),
        ("difference >= -0.1", (0.9, 0.3), SequenceAnswer::Fail),
    ] {
        let clear: Vec<_> = (0..25)
            .map(|_| play_beside(limit, rates, 0.0, &mut draws))
            .collect();
        let answered = clear.iter().filter(|(answer, _)| *answer == right).count();
        assert!(answered >= 23, "{limit}: {clear:?}");
        let played: usize = clear.iter().map(|(_, played)| played).sum();
        assert!(played < 25 * BASES * 2 / 3, "{limit}: {played}");
    }
    // Half of the verdicts are missing: with them the difference could be -25 or 25 points, though that of the others is 20.
    let missing: Vec<_> = (0..10)
        .map(|_| play_beside("difference >= -0.1", (0.7, 0.9), 0.5, &mut draws).0)
        .collect();
    let decided =
        missing.contains(&SequenceAnswer::Pass) || missing.contains(&SequenceAnswer::Fail);
    assert!(!decided, "{missing:?}");
}
