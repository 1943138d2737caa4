//! The replay of a journal into items.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

use std::sync::Arc;

use journal::{JournalReader, Replay, Scope};
use schema::{
    Event, EventBody, ItemKey,
    event::{ItemFinished, QueuingItem, RetryingItem, TranslatedSutReply},
};

fn item(prompt: &str) -> Arc<ItemKey> {
    Arc::new(ItemKey {
        test: "m01".into(),
        prompt_id: prompt.into(),
        sut: "s".into(),
    })
}

fn queued() -> EventBody {
    EventBody::QueuingItem(QueuingItem::default())
}

fn said(text: &str, turns: Option<u64>) -> EventBody {
    let reply = TranslatedSutReply {
        response_text: Some(text.into()),
        turns,
        ..TranslatedSutReply::default()
    };
    match turns {
        Some(_) => EventBody::TranslatedSutResponse(reply),
        None => EventBody::TranslatedSutTurn(reply),
    }
}

/// A journal with `events`, each of the item with its prompt.
fn journal(events: &[(&str, EventBody)]) -> String {
    let line = |(prompt, body): &(&str, EventBody)| {
        let event = Event::new(body.clone()).item(Some(&item(prompt)));
        serde_json::to_string(&event).unwrap() + "\n"
    };
    events.iter().map(line).collect()
}

#[test]
fn an_item_that_was_retried_has_the_messages_of_its_last_attempt() {
    let text = journal(&[
        ("p", queued()),
        ("p", said("first", None)),
        ("p", EventBody::RetryingItem(RetryingItem::default())),
        ("p", said("second", None)),
        ("p", said("second", Some(1))),
        ("p", EventBody::ItemFinished(ItemFinished {})),
        ("p", said("late", None)),
    ]);
    let mut replay = Replay::new(JournalReader::new(text.as_bytes(), "j"));
    let mut ended = 0;
    let mut closed = 0;
    while let Some(replayed) = replay.next_event() {
        let replayed = replayed.unwrap();
        match (replayed.event.unwrap().unwrap(), replayed.scope) {
            (EventBody::ItemFinished(_), Scope::Item(_, history)) => {
                let said: Vec<&str> = history
                    .transcript
                    .iter()
                    .map(|turn| &*turn.content)
                    .collect();
                assert_eq!(said, ["second"]);
                ended += 1;
            }
            (_, Scope::Closed(_)) => closed += 1,
            _ => {}
        }
    }
    assert_eq!((ended, closed, replay.open_items()), (1, 1, 0));
}

#[test]
fn items_that_the_journal_does_not_end_are_given_with_what_was_said() {
    let text = journal(&[
        ("b", queued()),
        ("a", queued()),
        ("c", queued()),
        ("b", said("of b", None)),
        ("c", EventBody::ItemFinished(ItemFinished {})),
    ]);
    let mut replay = Replay::new(JournalReader::new(text.as_bytes(), "j"));
    while let Some(replayed) = replay.next_event() {
        replayed.unwrap();
    }
    assert_eq!(replay.open_items(), 2);
    let open: Vec<_> = replay
        .into_open_items()
        .map(|(key, history)| (key.prompt_id.to_string(), history.transcript.len()))
        .collect();
    assert_eq!(open, [("a".to_owned(), 0), ("b".to_owned(), 1)]);
}
