//! The environment: the process's variables, over those of `.env`.

use std::{collections::BTreeMap, io::ErrorKind, path::Path};

use files::Unreadable;
use probity::config::{ConfigError, Vars};

/// The process's variables and those of `.env` in `folder`, if that file exists; the process's own take precedence. Variables that are
/// not UTF-8 are left out.
///
/// # Errors
/// When `.env` exists but cannot be read. The error names the line but does not show it: the line may contain a key.
pub fn load(folder: &Path) -> Result<Vars, ConfigError> {
    let process = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut by_name = read_dotenv(&folder.join(".env"))?;
    by_name.extend(process);
    Ok(by_name.into_iter().collect())
}

/// The variables of the file; empty if there is no such file.
fn read_dotenv(file: &Path) -> Result<BTreeMap<String, String>, ConfigError> {
    let text = match files::read_text(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => {
            let reason = match Unreadable::of(&error) {
                Some(unreadable) => format!(".env: {unreadable}"),
                None => format!(".env cannot be read: {error}"),
            };
            return Err(ConfigError::new(reason));
        }
    };
    let mut by_name = BTreeMap::new();
    for pair in dotenvy::from_read_iter(text.as_bytes()) {
        let (name, value) = pair.map_err(|error| unreadable_line(&text, &error))?;
        // Like in a shell that reads the file, the last of several lines for one name counts.
        by_name.insert(name, value);
    }
    Ok(by_name)
}

fn unreadable_line(text: &str, error: &dotenvy::Error) -> ConfigError {
    let line = match error {
        dotenvy::Error::LineParse(bad, _) => text
            .lines()
            .position(|line| line.contains(bad.trim()))
            .map(|at| format!(", line {}", at + 1)),
        _ => None,
    };
    let place = line.unwrap_or_default();
    ConfigError::new(format!(
        ".env{place}: expected NAME=value; quote values with spaces or #"
    ))
}
