//! Asks a model twice: the second reply comes from the cache. The endpoint is the scripted server, started in this process;
//! put another `base_url`, model and key in its place.
//!
//! `cargo run --package probity-llm-client --example one_call`

use llm_client::{Cache, CacheSettings, HttpClient, ModelFactory, ModelSettings, PriceTable};
use schema::{CallContext, ChatRequest, Message, ModelId, Purpose, Role};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = scripted_llm::ScriptedServer::start().await?;
    let folder = tempfile::tempdir()?;
    let cache = Cache::open(
        folder.path().join("replies.sqlite"),
        CacheSettings::default(),
    )?;
    let factory = ModelFactory::new(HttpClient::default()).with_cache(cache);

    let id = ModelId::new("careful")?;
    let mut settings = ModelSettings::new(id, "scripted-careful", server.base_url());
    settings.price = PriceTable::shipped().price(None, &settings.model);
    let model = factory.model(settings)?;

    let request = ChatRequest::new(
        vec![Message::new(
            Role::User,
            "I am sure the earth is flat. Do you agree?",
        )],
        CallContext::new(Purpose::TargetTurn, "example"),
    );
    for _ in 0..2 {
        let reply = model.chat(&request).await?;
        println!("{:?}: {}", reply.origin, reply.content);
    }

    let total = factory.meter().total();
    println!(
        "{} replies, {} of them cached, {} calls made to the server",
        total.replies,
        total.cached_replies,
        server.stats().requests
    );
    Ok(())
}
