//! Faults written as text, for the binary's `--fault`.

use std::{str::FromStr, time::Duration};

use crate::{Fault, FaultError, FaultKind, Parameter, Role, Task};

/// Parses a fault from its kind and conditions, separated by `;`.
///
/// Kinds: a status such as `429`, `html`, `error-body`, `truncated-json`, `no-choices`, `null-content`, `empty-content`, `no-usage`,
/// `big:MIB`, `invalid-utf8`, `hang`, `reset`, `slow:MS`, `prose`, `fenced`, `think`, `wrong-type`, `missing-key`,
/// `says:TEXT`, `unsupported:PARAMETER` (`max-tokens`, `max-completion-tokens`, `json-schema`, `response-format`, `temperature`, `seed`).
///
/// Conditions: `first=COUNT`, `share=0.1`, `model=NAME`, `task=NAME`. A status also accepts `retry-after=VALUE`, `retry-at=SECONDS` (a
/// date this far ahead), `header=NAME: VALUE`, `body=TEXT`.
impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let mut parts = text.split(';').map(str::trim);
        let wrong = |reason: String| FaultError::new(text, reason);
        let mut fault = kind(parts.next().unwrap_or_default()).map_err(wrong)?;
        for part in parts.filter(|part| !part.is_empty()) {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| wrong(format!("{part:?} is not of the form key=value")))?;
            fault = condition(fault, key.trim(), value.trim()).map_err(wrong)?;
        }
        Ok(fault)
    }
}

fn kind(text: &str) -> Result<Fault, String> {
    let (name, value) = text.split_once(':').unwrap_or((text, ""));
    let kind = match name {
        "html" => FaultKind::Html,
        "error-body" => FaultKind::ErrorBody,
        "truncated-json" => FaultKind::TruncatedJson,
        "no-choices" => FaultKind::NoChoices,
        "null-content" => FaultKind::NullContent,
        "empty-content" => FaultKind::EmptyContent,
        "no-usage" => FaultKind::NoUsage,
        "big" => FaultKind::Big {
            megabytes: number(name, value)?,
        },
        "invalid-utf8" => FaultKind::InvalidUtf8,
        "hang" => FaultKind::Hang,
        "reset" => FaultKind::Reset,
        "slow" => FaultKind::Slow(Duration::from_millis(number(name, value)?)),
        "prose" => FaultKind::Prose,
        "fenced" => FaultKind::Fenced,
        "think" => FaultKind::Think,
        "wrong-type" => FaultKind::WrongType,
        "missing-key" => FaultKind::MissingKey,
        "says" if !value.is_empty() => FaultKind::Says(value.to_owned()),
        "unsupported" => FaultKind::Unsupported(parameter(value)?),
        _ => {
            let status = name
                .parse()
                .map_err(|_| format!("unknown fault {name:?}"))?;
            return Fault::status(status).map_err(|error| error.reason);
        }
    };
    Ok(Fault::new(kind))
}

fn parameter(name: &str) -> Result<Parameter, String> {
    match name {
        "max-tokens" => Ok(Parameter::MaxTokens),
        "max-completion-tokens" => Ok(Parameter::MaxCompletionTokens),
        "json-schema" => Ok(Parameter::JsonSchema),
        "response-format" => Ok(Parameter::ResponseFormat),
        "temperature" => Ok(Parameter::Temperature),
        "seed" => Ok(Parameter::Seed),
        _ => Err(format!("{name:?} is not a parameter that can be refused")),
    }
}

fn condition(fault: Fault, key: &str, value: &str) -> Result<Fault, String> {
    let reason = |error: FaultError| error.reason;
    match key {
        "first" => Ok(fault.first(number(key, value)?)),
        "share" => {
            let share: f64 = number(key, value)?;
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("share is from 0 to 1, not {value}"));
            }
            Ok(fault.share(share))
        }
        "model" => Role::of_model(value)
            .map(|role| fault.role(role))
            .ok_or_else(|| format!("unknown scripted model {value:?}")),
        "task" => Task::of_name(value)
            .map(|task| fault.task(task))
            .ok_or_else(|| format!("unknown task {value:?}")),
        "retry-after" | "retry-at" | "header" | "body"
            if !matches!(fault.kind, FaultKind::Status { .. }) =>
        {
            Err(format!("{key} goes with a status only"))
        }
        "retry-after" => fault.header("retry-after", value).map_err(reason),
        "retry-at" => Ok(fault.retry_at(Duration::from_secs(number(key, value)?))),
        "header" => {
            let (name, value) = value
                .split_once(':')
                .ok_or_else(|| format!("{value:?} is not of the form NAME: VALUE"))?;
            fault.header(name.trim(), value.trim()).map_err(reason)
        }
        "body" => Ok(fault.body(value)),
        _ => Err(format!("unknown condition {key:?}")),
    }
}

fn number<T: FromStr>(key: &str, value: &str) -> Result<T, String> {
    value
        .parse()
        .map_err(|_| format!("{key} needs a number, not {value:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_read() {
        let fault: Fault =
            "503; retry-at=2; header=X-A: b; body=no; share=0.5; model=scripted-judge; first=2"
                .parse()
                .unwrap();
        let built = Fault::status(503)
            .unwrap()
            .retry_at(Duration::from_secs(2))
            .header("x-a", "b")
            .unwrap()
            .body("no")
            .share(0.5)
            .role(Role::Judge)
            .first(2);
        assert_eq!(fault, built);
        assert_eq!(
            "says:Message: Hi; first=1".parse(),
            Ok(Fault::new(FaultKind::Says("Message: Hi".to_owned())).first(1))
        );
        assert_eq!(
            "slow:250".parse(),
            Ok(Fault::new(FaultKind::Slow(Duration::from_millis(250))))
        );
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (text, reason) in [
            ("", "unknown fault"),
            ("melt", "unknown fault"),
            ("99", "from 200 to 599"),
            ("big", "needs a number"),
            ("says:", "unknown fault"),
            ("hang; first", "key=value"),
            ("hang; first=x", "needs a number"),
            ("hang; share=2", "from 0 to 1"),
            ("hang; model=gpt", "unknown scripted model"),
            ("hang; task=gpt", "unknown task"),
            ("hang; retry-after=1", "status only"),
            ("429; header=x", "NAME: VALUE"),
            ("429; header=x y: z", "not a valid header name"),
            ("hang; colour=red", "unknown condition"),
            ("unsupported:logprobs", "is not a parameter"),
        ] {
            let error = text.parse::<Fault>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
