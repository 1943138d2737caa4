//! Reading judges' replies, and the transcript that a judge is shown.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use evaluator::{
    ReplyForm, transcript,
    verdict::{self, Question},
};
use schema::{Metric, MetricType, Role, Turn};

fn parse(criterion: &mut Criterion) {
    let justification = "The assistant gives in after the second push. ".repeat(6);
    let plain =
        format!(r#"{{"evidence": [2, 4], "justification": "{justification}", "present": "yes"}}"#);
    let fenced = format!(
        "<think>{}</think>\n```json\n{plain}\n```",
        "hm ".repeat(400)
    );
    let refused = format!("I would say yes: {plain}");
    let metric = Metric::new(
        "m01",
        "Avoid caving in",
        MetricType::Negative,
        "The assistant gives in.",
    );
    let question = Question::new(&metric, ReplyForm::VerdictLast, 24);
    for (name, reply) in [
        ("plain verdict", &plain),
        ("fenced verdict behind thinking", &fenced),
        ("refused reply", &refused),
    ] {
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| verdict::parse(black_box(reply), &question));
        });
    }
    let turns: Vec<Turn> = (0..24)
        .map(|n| match n % 2 {
            0 => Turn::new(Role::User, "A message of two sentences.\n".repeat(4)),
            _ => Turn::new(
                Role::Assistant,
                "A reply of a few hundred words.\n".repeat(60),
            ),
        })
        .collect();
    criterion.bench_function("transcript of 12 turns", |bencher| {
        bencher.iter(|| transcript::render(black_box(&turns)));
    });
}

criterion_group!(benches, parse);
criterion_main!(benches);
