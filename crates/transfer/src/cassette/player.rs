//! Answers the calls of a run from its cassette.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use schema::{
    ChatModel, ChatReply, ChatRequest, ModelError, ModelErrorKind, ModelId, PhaseProgram,
    ProgramKind,
};
use serde::Deserialize;

use super::{
    ProgramRecord,
    answer::{Answer, CallKey, call_key},
};

/// Makes models that answer as they did when the cassette was recorded. Nothing is sent, and no program is started.
#[derive(Clone, Debug)]
pub struct Player {
    answers: Arc<Answers>,
    programs: Arc<BTreeMap<String, ProgramRecord>>,
}

/// The lines of `replies.jsonl`, by key.
#[derive(Debug)]
struct Answers {
    file: Mutex<File>,
    lines: HashMap<CallKey, (u64, usize)>,
}

/// The part of a line that finds it.
#[derive(Deserialize)]
struct Keyed<'l> {
    #[serde(borrow)]
    key: &'l str,
}

impl Player {
    /// Answers from the file of replies at `path`.
    ///
    /// # Errors
    /// When it cannot be read. A line that is no answer is an error with its number.
    pub(super) fn open(path: &Path, programs: BTreeMap<String, ProgramRecord>) -> io::Result<Self> {
        let mut lines = HashMap::new();
        let mut reader = BufReader::new(files::open(path)?);
        let (mut start, mut line, mut number) = (0, Vec::new(), 0_u64);
        loop {
            line.clear();
            let length = reader.read_until(b'\n', &mut line)?;
            if length == 0 {
                break;
            }
            number += 1;
            let read = serde_json::from_slice::<Keyed<'_>>(&line);
            let found = read.ok().and_then(|read| from_hex(read.key));
            let key =
                found.ok_or_else(|| io::Error::other(format!("line {number}: not an answer")))?;
            lines.insert(key, (start, length));
            start += length as u64;
        }
        Ok(Self {
            answers: Arc::new(Answers {
                file: Mutex::new(files::open(path)?),
                lines,
            }),
            programs: Arc::new(programs),
        })
    }

    /// The model `id`.
    #[must_use]
    pub fn model(&self, id: &ModelId) -> Arc<dyn ChatModel> {
        let program = self.programs.get(id.as_str()).and_then(|program| {
            Some(PhaseProgram {
                kind: ProgramKind::of(&program.kind)?,
                wants: program.wants.clone().into(),
                fingerprint: Arc::new(program.fingerprint.clone()),
                tools: program.tools.clone().into(),
            })
        });
        Arc::new(PlayedModel {
            id: id.clone(),
            answers: Arc::clone(&self.answers),
            program,
        })
    }
}

impl Answers {
    fn get(&self, key: &CallKey) -> io::Result<Option<Answer>> {
        let Some((start, length)) = self.lines.get(key) else {
            return Ok(None);
        };
        let mut line = vec![0; *length];
        {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(*start))?;
            file.read_exact(&mut line)?;
        }
        Ok(Some(serde_json::from_slice(&line)?))
    }
}

/// The key with this text, 64 hexadecimal digits.
fn from_hex(text: &str) -> Option<CallKey> {
    let mut key = CallKey::default();
    let is_hex = text.len() == 2 * key.len() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    for (at, byte) in key.iter_mut().enumerate() {
        let pair = text.get(2 * at..2 * at + 2).filter(|_| is_hex)?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(key)
}

#[derive(Debug)]
struct PlayedModel {
    id: ModelId,
    answers: Arc<Answers>,
    program: Option<PhaseProgram>,
}

#[async_trait]
impl ChatModel for PlayedModel {
    fn id(&self) -> &ModelId {
        &self.id
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let failed = |reason: String| {
            let text = format!("model {}: {reason}", self.id);
            Err(ModelError::new(ModelErrorKind::Permanent, text).with_attempts(0))
        };
        match self.answers.get(&call_key(&self.id, request)) {
            Ok(Some(answer)) => answer.into_result(),
            Ok(None) => failed("the cassette has no answer to this call".to_owned()),
            Err(error) => failed(format!("the cassette cannot be read: {error}")),
        }
    }

    fn phase_program(&self) -> Option<PhaseProgram> {
        self.program.clone()
    }
}
