//! A list of 1,000 scenarios with four rows each, looked at after every one.

use std::hint::black_box;

use aggregator::sequential::{
    DifferenceTest, PlayedDifference, PlayedScenario, RateLimit, RateRule, RateTest, ScenarioLists,
};
use criterion::Criterion;

const SCENARIOS: u64 = 1_000;

/// Rows of which 85% pass, in a fixed pattern, and one in forty without a verdict.
fn scenario(at: u64) -> PlayedScenario {
    let passed = match at % 5 {
        0 => 2,
        1 | 2 => 4,
        _ => 3,
    };
    let missing = u64::from(at % 10 == 3);
    PlayedScenario {
        passed,
        failed: 4 - passed - missing,
        missing,
        incomplete: [0; 2],
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let lists = ScenarioLists::one(SCENARIOS);
    let rule = RateRule {
        limit: RateLimit::AtLeast,
        rate: 0.8,
    };
    criterion.bench_function("sequential: a rate at 1,000 looks", |bench| {
        bench.iter(|| {
            let mut test = RateTest::new(lists.clone(), 4, 0.05).holding(rule, 0.05);
            for at in 0..SCENARIOS {
                test.play(&scenario(at));
            }
            black_box((test.look(), test.answer()))
        });
    });
    criterion.bench_function("sequential: a difference at 1,000 looks", |bench| {
        bench.iter(|| {
            let mut test = DifferenceTest::new(&lists, 1, 1);
            for at in 0..SCENARIOS {
                let difference = match at % 4 {
                    0 => 0.5,
                    1 => -0.25,
                    _ => 0.0,
                };
                test.play(&PlayedDifference {
                    difference,
                    units: 1,
                });
            }
            black_box(test.look())
        });
    });
    criterion.final_summary();
}
