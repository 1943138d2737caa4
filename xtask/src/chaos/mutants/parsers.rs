//! What is given the changed files: everything that reads data from outside.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use llm_client::{Api, HttpClient, HttpOptions, ModelSettings, NativeModel, OpenAi, Wire};
use probity::{
    DataOptions, ImportOptions, Layout,
    evaluator::{
        ReplyForm,
        verdict::{Question, parse},
    },
    process::check_answer,
};
use schema::{
    CallContext, ChatModel, ChatRequest, Message, Metric, MetricType, ModelId, Purpose, Role,
};
use tokio::runtime::Runtime;

use super::endpoint::Endpoint;

/// A parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parser {
    /// `validate`, by the name of the file: files of trees, runs and safety evaluations, journals, packs of test cases, prices.
    Validate,
    Config,
    Journal,
    Import,
    Data,
    Labels,
    Cassette,
    ChatCompletion,
    AnthropicMessage,
    OpenAiResponse,
    Verdict,
    Program,
}

impl Parser {
    /// All of them.
    pub(super) const ALL: [Self; 12] = [
        Self::Validate,
        Self::Config,
        Self::Journal,
        Self::Import,
        Self::Data,
        Self::Labels,
        Self::Cassette,
        Self::ChatCompletion,
        Self::AnthropicMessage,
        Self::OpenAiResponse,
        Self::Verdict,
        Self::Program,
    ];
}

/// A file, and what reads it.
#[derive(Clone, Debug)]
pub(super) struct Seed {
    pub(super) parser: Parser,
    /// The name decides how some files are read.
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// Larger files would make a case slow.
const LARGEST: u64 = 200 << 10;

/// The files of the repository, and `more` that a run wrote.
pub(super) fn seeds(repository: &Path, more: &Path) -> Result<Vec<Seed>, Box<dyn Error>> {
    let mut paths = Vec::new();
    for root in [
        repository.join("fixtures"),
        repository.join("examples"),
        more.to_owned(),
    ] {
        walk(&root, &mut paths)?;
    }
    let mut seeds = Vec::new();
    for path in paths {
        let bytes = files::read(&path)?;
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        for parser in parsers(&path, &name) {
            seeds.push(Seed {
                parser,
                name: name.clone(),
                bytes: bytes.clone(),
            });
        }
    }
    seeds.extend(replies());
    Ok(seeds)
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(&entry.path(), paths)?;
        } else if kind.is_file() && entry.metadata()?.len() <= LARGEST {
            paths.push(entry.path());
        }
    }
    Ok(())
}

/// The parsers of a file.
fn parsers(path: &Path, name: &str) -> Vec<Parser> {
    let end = path.extension().unwrap_or_default().to_string_lossy();
    let is_import = path.components().any(|part| part.as_os_str() == "import");
    let is_config = name == "config.yaml" || name == "probity.toml";
    match &*end {
        _ if is_config => vec![Parser::Config],
        "eval" => vec![Parser::Import],
        "cassette" => vec![Parser::Cassette],
        "parquet" | "csv" => vec![Parser::Data, Parser::Labels],
        "jsonl"
            if name.starts_with("journal")
                || path.components().any(|part| part.as_os_str() == "journal") =>
        {
            vec![Parser::Journal, Parser::Validate]
        }
        "jsonl" => vec![Parser::Data, Parser::Labels, Parser::Validate],
        "json" if is_import => vec![Parser::Import, Parser::Data],
        "json" => vec![Parser::Validate, Parser::Data, Parser::Labels],
        "yaml" | "yml" | "toml" => vec![Parser::Validate, Parser::Config],
        "md" if name == "BEHAVIOR.md" => vec![Parser::Data],
        _ => Vec::new(),
    }
}

/// Replies of providers, judges and programs.
fn replies() -> Vec<Seed> {
    let texts = [
        (
            Parser::ChatCompletion,
            r#"{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"<think>x</think>Hello","refusal":null,"reasoning_content":"r","reasoning_details":[{"type":"reasoning.text","text":"t","signature":"s"}],"tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}]}}],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8,"cost":0.001,"prompt_tokens_details":{"cached_tokens":1},"completion_tokens_details":{"reasoning_tokens":2}}}"#,
        ),
        (
            Parser::AnthropicMessage,
            r#"{"id":"m1","type":"message","role":"assistant","model":"claude","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"Hello"},{"type":"tool_use","id":"t1","name":"f","input":{"a":1}},{"type":"redacted_thinking","data":"x"}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":5,"cache_creation_input_tokens":1,"cache_read_input_tokens":2}}"#,
        ),
        (
            Parser::OpenAiResponse,
            r#"{"id":"r1","object":"response","status":"completed","model":"m","output":[{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":"e"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello","annotations":[]},{"type":"refusal","refusal":"no"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}],"incomplete_details":null,"usage":{"input_tokens":3,"output_tokens":5,"input_tokens_details":{"cached_tokens":1},"output_tokens_details":{"reasoning_tokens":2}}}"#,
        ),
        (
            Parser::Verdict,
            r#"{"evidence": [2], "justification": "[2] objects.", "present": "yes"}"#,
        ),
        (
            Parser::Verdict,
            r#"{"present": false, "justification": "Nothing of the sort."}"#,
        ),
        (
            Parser::Verdict,
            "<think>\n{\"present\": null}</think>\n```json\n{\"quotes\": [\"Hello\"], \"justification\": \"j\", \"absent\": \"cannot_tell\"}\n```",
        ),
        (
            Parser::Program,
            r#"{"id": 1, "result": {"scores": [{"metric": "m01", "present": true, "justification": "j", "details": {"a": [1, 2.5]}}]}}"#,
        ),
        (
            Parser::Program,
            r#"{"id": 1, "result": {"content": "Hello", "tool_calls": [{"id": "t", "name": "f", "arguments": {"a": 1}}], "usage": {"input_tokens": 1, "output_tokens": 2, "cost": 0.1}, "messages": [{"role": "assistant", "content": "x"}]}}"#,
        ),
        (
            Parser::Program,
            r#"{"id": 1, "result": {"metrics": [{"id": "m01", "name": "n", "type": "positive", "definition": "d"}], "scenarios": [{"id": "s", "metric_id": "m01"}]}}"#,
        ),
    ];
    let seed = |(parser, text): (Parser, &str)| Seed {
        parser,
        name: "reply.json".to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    texts.into_iter().map(seed).collect()
}

/// The parsers, with a folder to put files into.
pub(super) struct Parsers {
    folder: PathBuf,
    runtime: Runtime,
    endpoint: Endpoint,
    openai: OpenAi,
    messages: NativeModel,
    responses: NativeModel,
    request: ChatRequest,
    metric: Metric,
}

impl Parsers {
    pub(super) fn new(folder: PathBuf) -> Result<Self, Box<dyn Error>> {
        let http = HttpClient::new(HttpOptions::default());
        let endpoint = Endpoint::start()?;
        let settings = ModelSettings::new(ModelId::new("m")?, "m", endpoint.base_url());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(Self {
            folder,
            runtime,
            endpoint,
            openai: OpenAi::new(settings.clone(), &http)?,
            messages: NativeModel::new(Api::Messages, &settings, http.clone())?,
            responses: NativeModel::new(Api::Responses, &settings, http)?,
            request: ChatRequest::new(
                vec![Message::new(Role::User, "Hello")],
                CallContext::new(Purpose::TargetTurn, "row"),
            ),
            metric: Metric::new("m01", "n", MetricType::Positive, "d"),
        })
    }

    /// Gives `bytes` to a parser. What it says of them does not matter: it returns.
    pub(super) fn read(&self, parser: Parser, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        let path = self.folder.join(name);
        fs::write(&path, bytes)?;
        let text = String::from_utf8_lossy(bytes);
        match parser {
            Parser::Validate => drop(validate::check(&path, &validate::Options::default())),
            Parser::Config => {
                let mut layers = probity::config::Layers::default();
                if layers.add_text(Path::new(name), &text).is_ok() {
                    drop(layers.read(probity::config::Vars::default()));
                }
            }
            Parser::Journal => read_journal(&path),
            Parser::Import => self.import(&path),
            Parser::Data => self.import_data(&path),
            Parser::Labels => {
                drop(interop::labels::read_label_lines(
                    name,
                    &text,
                    &interop::labels::LabelWords::default(),
                ));
            }
            Parser::Cassette => self.open_cassette(&path),
            Parser::ChatCompletion => {
                self.endpoint.answer(bytes);
                drop(self.runtime.block_on(self.openai.chat(&self.request)));
            }
            Parser::AnthropicMessage => self.reply(&self.messages, bytes),
            Parser::OpenAiResponse => self.reply(&self.responses, bytes),
            Parser::Verdict => self.verdict(&text),
            Parser::Program => {
                for method in [
                    "judge",
                    "chat",
                    "next_message",
                    "simulate",
                    "answer",
                    "generate_metrics",
                    "generate_scenarios",
                ] {
                    let request = format!(
                        r#"{{"id": 1, "method": "{method}", "params": {{"metrics": [{{"id": "m01"}}]}}}}"#
                    );
                    drop(check_answer(&request, &text));
                }
            }
        }
        fs::remove_file(&path)
    }

    fn import(&self, path: &Path) {
        let benchmarks = self.folder.join("benchmarks");
        let options = ImportOptions {
            paths: vec![path.to_owned()],
            name: Some("x".to_owned()),
            metrics: vec![self.metric.clone()],
            ..ImportOptions::default()
        };
        drop(probity::import(&Layout::new(&benchmarks), &options));
        let _ = fs::remove_dir_all(benchmarks);
    }

    fn import_data(&self, path: &Path) {
        let benchmarks = self.folder.join("benchmarks");
        let options = DataOptions {
            paths: vec![path.to_owned()],
            name: Some("x".to_owned()),
            metrics: vec![self.metric.clone()],
            ..DataOptions::default()
        };
        drop(probity::import_data(&Layout::new(&benchmarks), &options));
        let _ = fs::remove_dir_all(benchmarks);
    }

    fn open_cassette(&self, path: &Path) {
        let Ok(cassette) = probity::Cassette::open(path) else {
            return;
        };
        let inputs = self.folder.join("inputs");
        drop(cassette.copy_inputs(&inputs));
        drop(cassette.player());
        drop(cassette.differences(&inputs));
        let _ = fs::remove_dir_all(inputs);
    }

    fn reply(&self, model: &NativeModel, bytes: &[u8]) {
        self.endpoint.answer(bytes);
        drop(self.runtime.block_on(model.call(&self.request)));
    }

    fn verdict(&self, text: &str) {
        for form in [ReplyForm::VerdictFirst, ReplyForm::VerdictLast] {
            let mut question = Question::new(&self.metric, form, 4);
            drop(parse(text, &question));
            question.quotes = true;
            question.reversed = true;
            drop(parse(text, &question));
        }
    }
}

/// All that reads a journal.
fn read_journal(path: &Path) {
    drop(journal::check::check(path));
    let mut stats = journal::StatsBuilder::default();
    if let Ok(mut reader) = journal::JournalReader::open(path) {
        while let Some(line) = reader.next_line() {
            line.iter().for_each(|line| stats.push(line));
        }
    }
    drop(stats.finish());
    if let Ok(reader) = journal::JournalReader::open(path) {
        let mut replay = journal::Replay::new(reader);
        while replay.next_event().is_some() {}
        replay.each_open_item().for_each(drop);
    }
}
