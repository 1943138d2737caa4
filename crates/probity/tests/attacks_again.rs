//! Attacks that run twice: by the scripted models, and over the cache.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

mod attack;

use std::sync::Arc;

use attack::{PLAN, SORRY, dialogue, play};
use engine::safety::{Exchanged, Target};
use llm_client::{Cache, CacheSettings, Cached, HttpClient, ModelSettings, OpenAi};
use schema::{ChatModel, ModelId};
use scripted_llm::{Answer, ScriptedServer};
use simulator::safety::{SemanticChunks, TEST_TYPES, multi_turn_strategies};

#[tokio::test]
async fn the_scripted_attacker_plays_both_test_types_the_same_way_every_time() {
    let server = ScriptedServer::start().await.unwrap();
    let model = |name: &str| -> Arc<dyn ChatModel> {
        let id = ModelId::new(name).unwrap();
        let settings = ModelSettings::new(id, name, server.base_url());
        Arc::new(OpenAi::new(settings, &HttpClient::default()).unwrap())
    };
    let names = TEST_TYPES.map(str::to_owned);
    for strategy in multi_turn_strategies(&names, &model("scripted-attacker")).unwrap() {
        let mut seen = Vec::new();
        for _ in 0..2 {
            let target = Target::new(model("scripted-agreeable"));
            let mut dialogue = dialogue(&*strategy, target, 4);
            assert_eq!(play(&mut dialogue).await.unwrap(), Exchanged::Over);
            seen.push(dialogue.into_parts().0);
        }
        assert_eq!(seen[0], seen[1]);
        assert_eq!(seen[0].len(), 8);
        let adapted = &seen[0][2].content;
        assert!(adapted.starts_with("You write \""), "{adapted}");
    }
    let tasks = server.stats().by_task;
    assert_eq!(
        (
            tasks["attack_plan"],
            tasks["attack_turn"],
            tasks["target_turn"]
        ),
        (2, 16, 16)
    );
}

#[tokio::test]
async fn a_later_run_over_the_cache_asks_nothing_and_says_the_same() {
    let server = ScriptedServer::builder()
        .answer(|asked| match (asked.model, asked.number) {
            ("target", nth) => Answer::says(format!("Reply {nth}.")),
            (_, 0) => Answer::says("no plan"),
            (_, 1) => Answer::says(PLAN),
            (_, 2) => Answer::says("Message: One?"),
            (_, 3) => Answer::says("Thought: hm"),
            (_, 4) => Answer::says("Thought: hm, hm"),
            _ => Answer::says(SORRY),
        })
        .start()
        .await
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path().join("cache.sqlite"), CacheSettings::default()).unwrap();
    let model = |name: &str| -> Arc<dyn ChatModel> {
        let id = ModelId::new(name).unwrap();
        let settings = ModelSettings::new(id, name, server.base_url());
        let inner = OpenAi::new(settings.clone(), &HttpClient::default()).unwrap();
        Arc::new(Cached::new(inner, cache.clone(), &settings))
    };
    let mut seen = Vec::new();
    for _ in 0..2 {
        let strategy = SemanticChunks::new(model("attacker")).unwrap();
        let mut dialogue = dialogue(&strategy, Target::new(model("target")), 3);
        let end = play(&mut dialogue).await.unwrap();
        assert!(matches!(end, Exchanged::AttackerRefused { .. }), "{end:?}");
        seen.push((end, dialogue.into_parts().0, server.stats().requests));
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0].2, 7);
}
