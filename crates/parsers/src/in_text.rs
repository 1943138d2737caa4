//! Parsers of texts.

use std::path::Path;

use gate::{GateNames, gate_rules};
use interop::labels::{LabelColumns, LabelWords, read_label_lines, read_labels};
use llm_client::{CallEnd, HttpApp, HttpClient, ModelSettings, PriceTable, ReplyBody, Wire};
use located::Node;
use probity::{
    evaluator::{
        ReplyForm,
        verdict::{Question, parse},
    },
    process::check_answer,
};
use schema::{
    Benchmark, CallContext, ChatRequest, Extra, JsonText, Message, Metric, ModelId, Purpose,
    ReplyCheck, Role, Scenario, SettingsRecord, Tool, Turn,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use store::pack::{PackFormat, PackOptions};

use crate::{Parser, samples};

/// What programs can be called for.
const METHODS: [&str; 7] = [
    "judge",
    "chat",
    "next_message",
    "simulate",
    "answer",
    "generate_metrics",
    "generate_scenarios",
];

/// Parsers of texts, with what they need beside them.
#[derive(Debug)]
pub(crate) struct InText {
    metric: Metric,
    apps: Vec<HttpApp>,
    request: ChatRequest,
    prompt_values: Value,
}

impl InText {
    pub(crate) fn new(metric: Metric) -> Result<Self, String> {
        let apps = samples::APPS.into_iter().map(app).collect::<Result<_, _>>();
        Ok(Self {
            metric,
            apps: apps?,
            request: ChatRequest::new(
                vec![Message::new(Role::User, "Hello")],
                CallContext::new(Purpose::TargetTurn, "row"),
            ),
            prompt_values: json!({
                "persona": "p", "intent": "i", "pieces": ["a", "b"], "turns": 2, "count": 2,
                "metric": {"name": "n", "definition": "d", "examples": []},
                "scenario": {"description": "s", "goal": null}, "transcript": [{"role": "user", "content": "c"}],
            }),
        })
    }

    /// Gives `text`, of a file of this name, to a parser. Returns false if it is not one of texts.
    pub(crate) fn read(&self, parser: Parser, name: &str, text: &str) -> bool {
        match parser {
            Parser::Config => config(name, text),
            Parser::GateRules => {
                if let Ok(root) = Node::yaml(text) {
                    drop(gate_rules(&root, GateNames::default()));
                }
            }
            Parser::TestCases => {
                let format = PackFormat::of_name(name).unwrap_or(PackFormat::Yaml);
                drop(store::pack::parse(
                    name,
                    text,
                    format,
                    &PackOptions::default(),
                ));
            }
            Parser::Prices => drop(PriceTable::parse(text)),
            Parser::Prompt => {
                if let Ok(prompt) = prompt::Prompt::new("x", text) {
                    drop(prompt.render(&self.prompt_values));
                }
            }
            Parser::ReplyCheck => reply_check(text),
            Parser::ToolSchema => tool_schema(text),
            Parser::Labels => labels(name, text),
            Parser::ModelReply => {
                for purpose in [Purpose::TargetTurn, Purpose::Judge] {
                    drop(ReplyBody::read(text, purpose));
                }
            }
            Parser::AppReply => self.app_reply(text),
            Parser::Verdict => self.verdict(text),
            Parser::ProgramAnswer => {
                for method in METHODS {
                    let params = json!({"metrics": [{"id": "m01"}]});
                    let request = json!({"id": 1, "method": method, "params": params});
                    drop(check_answer(&request.to_string(), text));
                }
            }
            Parser::ClusterMessage => cluster_message(text),
            _ => return false,
        }
        true
    }

    fn app_reply(&self, text: &str) {
        let Ok(stored) = JsonText::new(text) else {
            return;
        };
        for app in &self.apps {
            drop(app.read(&self.request, stored.clone()));
        }
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

/// The application of these settings.
fn app(settings: &str) -> Result<HttpApp, String> {
    let id = ModelId::new("m").map_err(|error| error.to_string())?;
    let model = ModelSettings::new(id, "m", "http://localhost");
    let settings = serde_json::from_str(settings).map_err(|error| error.to_string())?;
    HttpApp::new(settings, &model, HttpClient::default(), None, &|_| None)
}

fn config(name: &str, text: &str) {
    let mut layers = probity::config::Layers::default();
    if layers.add_text(Path::new(name), text).is_ok() {
        drop(layers.read(probity::config::Vars::default()));
    }
}

/// A check, the scenario whose keys it may use, and the reply that it decides about.
#[derive(Deserialize)]
struct CheckCase {
    check: ReplyCheck,
    #[serde(default)]
    scenario: Extra,
    #[serde(default)]
    reply: String,
}

fn reply_check(text: &str) {
    let Ok(case) = serde_json::from_str::<CheckCase>(text) else {
        return;
    };
    if let Ok(check) = reply_check::Check::new(&case.check) {
        drop(check.decide(&case.scenario, &[Turn::new(Role::Assistant, case.reply)]));
    }
}

/// A tool, and the arguments of a call.
#[derive(Deserialize)]
struct ToolCase {
    tool: Tool,
    #[serde(default)]
    arguments: Extra,
}

fn tool_schema(text: &str) {
    let Ok(case) = serde_json::from_str::<ToolCase>(text) else {
        return;
    };
    drop(tool_schema::check_tool(&case.tool));
    if let Ok(validator) = tool_schema::ArgumentValidator::new(&case.tool.parameters) {
        drop(validator.misfits(&case.arguments));
    }
}

fn labels(name: &str, text: &str) {
    let words = LabelWords::default();
    drop(read_label_lines(name, text, &words));
    drop(read_labels(
        name,
        text,
        &LabelColumns::of_labels_json(),
        &words,
    ));
}

/// A text as each type that a message or an object of a cluster has inside. The messages around them have no rules of their own.
fn cluster_message(text: &str) {
    fn read<T: DeserializeOwned>(text: &str) -> Option<T> {
        serde_json::from_str(text).ok()
    }
    let end: Option<engine::unit::UnitEnd> = read(text);
    let calls: Option<Vec<CallEnd>> = read(text);
    for call in end
        .into_iter()
        .flat_map(|end| end.calls)
        .chain(calls.into_iter().flatten())
    {
        let _ = (call.key(), call.spend());
    }
    drop(read::<SettingsRecord>(text));
    drop(read::<Scenario>(text));
    drop(read::<Benchmark>(text));
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failure ends the test")]
mod tests {
    use schema::MetricType;

    use super::*;

    /// A fuzzer that begins with a text that its parser refuses at once finds little.
    #[test]
    fn samples_are_accepted() {
        let metric = Metric::new("m01", "n", MetricType::Positive, "d");
        let texts = InText::new(metric.clone()).unwrap();
        for (parser, text) in samples::all() {
            let text = &*text;
            let is_accepted = match parser {
                Parser::ModelReply => ReplyBody::read(text, Purpose::TargetTurn).is_some(),
                Parser::AppReply => {
                    let stored = JsonText::new(text).unwrap();
                    let read = |app: &HttpApp| app.read(&texts.request, stored.clone());
                    texts.apps.iter().all(|app| read(app).is_some())
                }
                Parser::Verdict => (0..8).any(|bits| {
                    let form = match bits & 4 {
                        0 => ReplyForm::VerdictFirst,
                        _ => ReplyForm::VerdictLast,
                    };
                    let mut question = Question::new(&metric, form, 4);
                    (question.quotes, question.reversed) = (bits & 1 > 0, bits & 2 > 0);
                    parse(text, &question).is_ok()
                }),
                Parser::ProgramAnswer => METHODS.iter().any(|method| {
                    let params = json!({"metrics": [{"id": "m01"}]});
                    let request = json!({"id": 1, "method": method, "params": params});
                    check_answer(&request.to_string(), text).is_ok()
                }),
                Parser::ReplyCheck => {
                    let case: CheckCase = serde_json::from_str(text).unwrap();
                    reply_check::Check::new(&case.check).is_ok()
                }
                Parser::ToolSchema => {
                    let case: ToolCase = serde_json::from_str(text).unwrap();
                    tool_schema::check_tool(&case.tool).is_ok()
                }
                Parser::GateRules => {
                    gate_rules(&Node::yaml(text).unwrap(), GateNames::default()).is_ok()
                }
                Parser::Prices => PriceTable::parse(text).is_ok(),
                Parser::ClusterMessage => {
                    serde_json::from_str::<engine::unit::UnitEnd>(text).is_ok()
                        || serde_json::from_str::<Scenario>(text).is_ok()
                        || serde_json::from_str::<Benchmark>(text).is_ok()
                }
                _ => false,
            };
            assert!(is_accepted, "{parser:?}: {text}");
        }
    }
}
