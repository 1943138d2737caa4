//! Keeps the answers of models.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, ConversationRoom, ModelError, ModelId,
    PhaseProgram,
};

use super::{
    FailedCalls, ProgramRecord,
    answer::{Answer, Answered, CallKey, Failure, call_key},
};

/// Records what models answer, in a file that grows with them. Clones share it.
#[derive(Clone, Debug)]
pub struct Recorder(Arc<Recorded>);

#[derive(Debug)]
struct Recorded {
    failed: FailedCalls,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    end: u64,
    /// Where the line of each key is.
    lines: BTreeMap<CallKey, (u64, usize)>,
    programs: BTreeMap<String, ProgramRecord>,
    missing: Vec<MissingReply>,
    trouble: Option<io::Error>,
}

/// A call without a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingReply {
    /// The model's id.
    pub model: String,
    /// What the call was for.
    pub purpose: &'static str,
    /// The row.
    pub row: String,
}

impl Recorder {
    /// A recorder that writes into a temporary file. Calls without a stored reply get their failure from `failed`.
    ///
    /// # Errors
    /// When there can be no temporary file.
    pub fn new(failed: FailedCalls) -> io::Result<Self> {
        Ok(Self(Arc::new(Recorded {
            failed,
            state: Mutex::new(State {
                file: tempfile::tempfile()?,
                end: 0,
                lines: BTreeMap::new(),
                programs: BTreeMap::new(),
                missing: Vec::new(),
                trouble: None,
            }),
        })))
    }

    /// `model`, whose answers are recorded. Its calls fail only for want of a stored reply.
    #[must_use]
    pub fn model(&self, model: Arc<dyn ChatModel>) -> Arc<dyn ChatModel> {
        if let Some(program) = model.phase_program() {
            let known = ProgramRecord {
                kind: program.kind.as_str().to_owned(),
                wants: program.wants.to_vec(),
                fingerprint: (*program.fingerprint).clone(),
                tools: program.tools.to_vec(),
            };
            self.0
                .state()
                .programs
                .insert(model.id().to_string(), known);
        }
        Arc::new(RecordedModel {
            model,
            recorded: Arc::clone(&self.0),
        })
    }

    /// The programs among the models.
    pub(super) fn programs(&self) -> BTreeMap<String, ProgramRecord> {
        self.0.state().programs.clone()
    }

    /// How many answers there are.
    pub(super) fn count(&self) -> u64 {
        self.0.state().lines.len() as u64
    }

    /// The calls whose reply neither the cache nor a journal has.
    #[must_use]
    pub fn missing(&self) -> Vec<MissingReply> {
        self.0.state().missing.clone()
    }

    /// Passes every answer to `take`, one line each, in the order of their keys: the same answers give the same bytes.
    ///
    /// # Errors
    /// When one could not be written or read.
    pub(super) fn lines(&self, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut state = self.0.state();
        if let Some(trouble) = state.trouble.take() {
            return Err(trouble);
        }
        let State { file, lines, .. } = &mut *state;
        let mut line = Vec::new();
        for (start, length) in lines.values() {
            line.resize(*length, 0);
            file.seek(SeekFrom::Start(*start))?;
            file.read_exact(&mut line)?;
            take(&line)?;
        }
        Ok(())
    }
}

impl Recorded {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, key: &CallKey, answer: &Answer) {
        let state = &mut *self.state();
        let Entry::Vacant(place) = state.lines.entry(*key) else {
            return;
        };
        let written = serde_json::to_vec(answer)
            .map_err(io::Error::from)
            .and_then(|mut line| {
                line.push(b'\n');
                state.file.write_all(&line).map(|()| line.len())
            });
        match written {
            Ok(length) => {
                place.insert((state.end, length));
                state.end += length as u64;
            }
            Err(error) => state.trouble = Some(error),
        }
    }

    /// The failure of a call that has no stored reply.
    fn failure(&self, model: &ModelId, context: &CallContext) -> Option<Failure> {
        let known = self.failed.take(model, context);
        if known.is_none() {
            self.state().missing.push(MissingReply {
                model: model.to_string(),
                purpose: context.purpose.as_str(),
                row: context.row.to_string(),
            });
        }
        known
    }
}

#[derive(Debug)]
struct RecordedModel<M> {
    model: M,
    recorded: Arc<Recorded>,
}

#[async_trait]
impl ChatModel for RecordedModel<Arc<dyn ChatModel>> {
    fn id(&self) -> &ModelId {
        self.model.id()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let id = self.model.id();
        let key = call_key(id, request);
        let answered = match self.model.chat(request).await {
            Ok(reply) => {
                let answer = Answered::Reply(Box::new((&reply).into()));
                self.recorded
                    .record(&key, &Answer::new(&key, id, request, answer));
                return Ok(reply);
            }
            Err(error) => match self.recorded.failure(id, &request.context) {
                Some(failure) => Answered::Error(failure),
                None => return Err(error),
            },
        };
        let answer = Answer::new(&key, id, request, answered);
        self.recorded.record(&key, &answer);
        answer.into_result()
    }

    async fn conversation_room(&self) -> ConversationRoom {
        self.model.conversation_room().await
    }

    async fn end_conversation(&self, context: &CallContext) {
        self.model.end_conversation(context).await;
    }

    fn phase_program(&self) -> Option<PhaseProgram> {
        self.model.phase_program()
    }
}
