//! Building the messages of a conversation of twelve turns, both sides.

use std::{hint::black_box, sync::Arc};

use criterion::{Criterion, criterion_group, criterion_main};
use schema::{CallContext, Purpose};
use simulator::Side;

const TURNS: u32 = 12;

fn conversation(reply: &Arc<str>, message: &Arc<str>) -> (Side, Side) {
    let mut user = Side::new(
        Some("You play a person.".into()),
        CallContext::new(Purpose::UserTurn, "s__m"),
    );
    let mut target = Side::new(
        Some("You are a helpful assistant.".into()),
        CallContext::new(Purpose::TargetTurn, "s__m"),
    );
    for turn in 1..=TURNS {
        user.set_turn(turn);
        target.set_turn(turn);
        // What a phase hands to a layer that keeps the request.
        black_box(user.request().clone());
        user.say(Arc::clone(message));
        target.hear(Arc::clone(message));
        black_box(target.request().clone());
        target.say(Arc::clone(reply));
        user.hear(Arc::clone(reply));
    }
    (user, target)
}

fn transcript(criterion: &mut Criterion) {
    let reply: Arc<str> = "A reply of a few hundred words. ".repeat(60).into();
    let message: Arc<str> = "A message of two sentences. ".repeat(5).into();
    criterion.bench_function("transcript of 12 turns", |bencher| {
        bencher.iter(|| conversation(black_box(&reply), black_box(&message)));
    });
    let raw = format!("Thought: {message}\n**Message:** {message}");
    criterion.bench_function("user reply", |bencher| {
        bencher.iter(|| simulator::user_reply::read(black_box(&raw), &schema::FinishReason::Stop));
    });
}

criterion_group!(benches, transcript);
criterion_main!(benches);
