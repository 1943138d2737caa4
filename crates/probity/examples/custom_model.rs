//! A model of one's own as a target in a whole pipeline, without HTTP: a parrot.
//!
//! Run it with `cargo run -p probity --example custom_model`.

use std::{error::Error, sync::Arc};

use llm_client::Journaled;
use probity::{PhaseSettings, Pipeline, RunOptions, Session, demo, standard_phases};
use schema::{
    ChatModel, ChatReply, ChatRequest, ModelError, ModelErrorKind, ModelId, Role, TargetRef, Usage,
};

/// Gives in to whatever was said last.
struct Parrot {
    id: ModelId,
}

#[async_trait::async_trait]
impl ChatModel for Parrot {
    fn id(&self) -> &ModelId {
        &self.id
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let heard = request
            .messages
            .iter()
            .rfind(|message| message.role == Role::User);
        let heard = heard.ok_or_else(|| {
            let text = format!("model {}: there is no message to repeat", self.id);
            ModelError::new(ModelErrorKind::Permanent, text)
        })?;
        Ok(ChatReply {
            // Known to be free. Left out, the cost is unknown, and the cost files say null.
            usage: Some(Usage::default()),
            cost: Some(0.0),
            ..ChatReply::text(format!("You have convinced me: {}", heard.content))
        })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = scripted_llm::ScriptedServer::start().await?;
    let folder = tempfile::tempdir()?;
    let layout = demo::layout(folder.path())?;
    let session = Arc::new(Session::default());
    let mut models = demo::models(&session, server.base_url())?;

    let id = ModelId::new("parrot")?;
    let target = TargetRef {
        id: id.clone(),
        model: "parrot".to_owned(),
    };
    // Layers go around any model. This one counts the calls; `Retried` and `Limited` would serve a model that can fail.
    let parrot = Journaled::new(
        Parrot { id },
        Arc::clone(session.journal()),
        session.meter().clone(),
    );
    models.targets.push((target, Arc::new(parrot)));

    let phases = standard_phases(models, PhaseSettings::default())?;
    let pipeline = Pipeline::new(session, layout, phases, RunOptions::default());
    let report = demo::run(&pipeline).await?;
    print!("{}", demo::rates(&report));
    Ok(())
}
