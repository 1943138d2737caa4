//! Keeps replies in a store of one's own, here in memory: the second call is answered from it.
//!
//! Run it with `cargo run -p probity-llm-client --example reply_store`.

use std::{
    collections::HashMap,
    error::Error,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use llm_client::{
    Cache, CacheKey, CacheSettings, HttpClient, ModelFactory, ModelSettings, ReplyStore,
    StoreError, StoredReply,
};
use schema::{CallContext, ChatRequest, Message, ModelId, Purpose, Role};

/// Replies as long as the process lives. Another store would ask a server, by [`CacheKey::as_bytes`].
#[derive(Debug, Default)]
struct Memory {
    replies: Mutex<HashMap<CacheKey, StoredReply>>,
}

#[async_trait]
impl ReplyStore for Memory {
    async fn get(&self, key: &CacheKey) -> Result<Option<StoredReply>, StoreError> {
        let replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(replies.get(key).cloned())
    }

    async fn put(&self, key: &CacheKey, reply: &StoredReply) -> Result<(), StoreError> {
        let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        replies.insert(*key, reply.clone());
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = scripted_llm::ScriptedServer::start().await?;
    let cache = Cache::new(Arc::new(Memory::default()), CacheSettings::default());
    let factory = ModelFactory::new(HttpClient::default()).with_cache(cache.clone());
    let id = ModelId::new("careful")?;
    let model = factory.model(ModelSettings::new(
        id,
        "scripted-careful",
        server.base_url(),
    ))?;

    let messages = vec![Message::new(Role::User, "Is the earth flat?")];
    let request = ChatRequest::new(messages, CallContext::new(Purpose::TargetTurn, "example"));
    for _ in 0..2 {
        let reply = model.chat(&request).await?;
        println!("{:?}: {}", reply.origin, reply.content);
    }
    let stats = cache.stats();
    println!("{} call, {} reply from the store", stats.misses, stats.hits);
    Ok(())
}
