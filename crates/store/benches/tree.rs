//! Writing the tree: 10,000 conversations of 8 messages through a spool into `conversations.json`; the same rows written and read in each form.

#![allow(
    clippy::unwrap_used,
    reason = "a bench that cannot write has nothing to measure"
)]

use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use schema::{Benchmark, Conversation, ModelId, Role, Scenario, TargetRef, Turn};
use store::{BenchmarkDir, Layout, RowForm, RowPosition, Spool, open_rows};

const ROWS: u32 = 10_000;

fn conversation() -> Conversation {
    let text =
        "Something that is said in a conversation, about as long as such things are. ".repeat(4);
    let turn = |n: usize| {
        Turn::new(
            if n.is_multiple_of(2) {
                Role::User
            } else {
                Role::Assistant
            },
            text.as_str(),
        )
    };
    Conversation {
        scenario: Scenario {
            id: "m01_s001_v01".into(),
            metric_id: "m01".into(),
            persona: text.clone(),
            ..Scenario::default()
        },
        conv_id: "m01_s001_v01__model".into(),
        target: TargetRef {
            id: ModelId::new("model").unwrap(),
            model: "model".into(),
        },
        sample: 0,
        transcript: (0..8).map(turn).collect(),
        error: None,
        no_verdict: None,
        simulator_faults: Vec::new(),
        simulator_check: None,
        realism: None,
        usage: None,
    }
}

fn write_tree(c: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let row = conversation();
    let mut group = c.benchmark_group("tree");
    group
        .throughput(Throughput::Elements(u64::from(ROWS)))
        .sample_size(10);
    group.bench_function("10,000 conversations", |b| {
        b.iter(|| {
            let spool = spooled(folder.path(), &row);
            spool
                .compose(&folder.path().join("conversations.json"))
                .unwrap()
        });
    });
    group.finish();
}

fn spooled(folder: &Path, row: &Conversation) -> Spool {
    let spool = Spool::create(&folder.join("spool")).unwrap();
    for n in 0..ROWS {
        // Finished in another order than they stand in.
        let position = RowPosition {
            scenario: n ^ 0b1111,
            ..RowPosition::default()
        };
        spool.push(position, row).unwrap();
    }
    spool
}

/// The rows of a target, with what a run computes of them while it writes them.
fn both_forms(c: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let dir: BenchmarkDir = Layout::new(folder.path()).benchmark("b").unwrap();
    let (row, benchmark) = (conversation(), Benchmark::default());
    let target = row.target.id.clone();
    let path = || dir.target(&target).unwrap().conversations();
    let mut group = c.benchmark_group("forms");
    group
        .throughput(Throughput::Elements(u64::from(ROWS)))
        .sample_size(10);
    for (name, form) in [("plain", RowForm::Plain), ("segments", RowForm::Segments)] {
        group.bench_function(format!("write {name}"), |b| {
            b.iter(|| {
                let spool = spooled(folder.path(), &row);
                dir.compose_conversations(spool, form, &benchmark, &target)
                    .unwrap()
            });
        });
        group.bench_function(format!("read {name}"), |b| {
            b.iter(|| {
                std::io::copy(&mut open_rows(&path()).unwrap(), &mut std::io::sink()).unwrap()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, write_tree, both_forms);
criterion_main!(benches);
