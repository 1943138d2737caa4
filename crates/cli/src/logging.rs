//! Diagnostics with `tracing`, written to standard error.

use std::io::{self, Write};

use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use crate::{cli::Global, exit::Failure, terminal::Terminal};

/// Starts diagnostics: `--log`, else `RUST_LOG`, else warnings.
///
/// # Errors
/// When the filter is invalid.
pub fn start(global: &Global, terminal: &Terminal) -> Result<(), Failure> {
    let from_environment = std::env::var("RUST_LOG")
        .ok()
        .filter(|filter| !filter.is_empty());
    let (name, wanted) = match (&global.log, from_environment) {
        (Some(filter), _) => ("--log", filter.clone()),
        (None, Some(filter)) => ("RUST_LOG", filter),
        // The library of MCP logs as errors what its caller handles.
        (None, None) => ("the default", "warn,rmcp=off".to_owned()),
    };
    let filter = EnvFilter::try_new(&wanted)
        .ok()
        .filter(|_| is_level_or_filter(&wanted))
        .ok_or_else(|| {
            Failure::usage(format!(
                "{name}: `{wanted}` is neither a level (error, warn, info, debug, trace, off) nor a filter such as \
                 llm_client=debug,engine=info"
            ))
        })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(Writer(terminal.clone()));
    // Only a test harness could have set another subscriber, which then takes precedence.
    let _ = if global.log_json {
        builder.json().try_init()
    } else {
        builder.with_ansi(terminal.color()).compact().try_init()
    };
    Ok(())
}

/// A single word would be parsed as the name of a module, so a misspelt level would match nothing.
fn is_level_or_filter(wanted: &str) -> bool {
    let levels = ["off", "error", "warn", "info", "debug", "trace"];
    wanted.split(',').all(|part| {
        let part = part.trim();
        part.contains(['=', ':', '[']) || levels.contains(&part.to_ascii_lowercase().as_str())
    })
}

#[derive(Clone)]
struct Writer(Terminal);

impl<'a> MakeWriter<'a> for Writer {
    type Writer = Lines<'a>;

    fn make_writer(&'a self) -> Lines<'a> {
        Lines {
            terminal: &self.0,
            text: Vec::new(),
        }
    }
}

/// Collects one event and writes it at once, without disturbing the progress bars.
struct Lines<'a> {
    terminal: &'a Terminal,
    text: Vec<u8>,
}

impl Write for Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Lines<'_> {
    fn drop(&mut self) {
        if !self.text.is_empty() {
            self.terminal.write(&self.text);
        }
    }
}
