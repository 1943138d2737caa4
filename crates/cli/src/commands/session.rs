//! The session of a command that calls models.

use std::{fs, sync::Arc};

use journal::{Form, RunId};
use llm_client::{Cache, CachedRow, ModelSettings};
use probity::{JournalSet, Journals, Session};

use super::{
    Context,
    models::{model_factory, open_cache},
    traced::Traced,
    unpriced,
};
use crate::{
    config::{Config, ModelEntry},
    exit::Failure,
    progress::ProgressObserver,
};

/// Opens a session with the policy of the configuration, progress on the terminal, and the folder of its records. `resolved` contains
/// all models of the run, `refreshed` the rows for which models are called again although their replies are in the cache. `read` are the
/// journals that a report needs: those of the run are added to them while they are checked, and an index is written beside each.
///
/// # Errors
/// When the folder cannot be created, the cache cannot be opened, or this process cannot open enough files for a run.
pub fn open(
    context: &Context,
    config: &Config,
    resolved: &[(&ModelEntry, ModelSettings)],
    refreshed: &[CachedRow],
    read: &Journals,
) -> Result<(Session, Arc<ProgressObserver>), Failure> {
    let run_id = RunId::now();
    let folder = context.layout.run(run_id.as_str());
    fs::create_dir_all(&folder).map_err(|error| {
        Failure::nothing_ran(format!("{}: cannot be created: {error}", folder.display()))
    })?;
    let form = match config.settings.journal.compress {
        true => Form::Compressed,
        false => Form::Plain,
    };
    // Also without a report: the index beside each journal saves the next report or export from reading it.
    let journals = JournalSet::new(folder).form(form);
    let journals = Arc::new(journals.read_by(Arc::new(read.clone())));
    let cache = open_cache(&config.settings, &context.layout.cache(), refreshed)?;
    let factory = model_factory(
        &config.settings,
        resolved,
        cache,
        context.layout.batches(),
        &context.terminal,
    )?;
    let watch = Arc::new(ProgressObserver::new(
        &context.terminal,
        &context.program,
        factory.health().clone(),
    ));
    let session = Session::new(factory)
        .with_run_id(run_id)
        .with_journals(Arc::clone(&journals))
        .with_journal(Arc::new(Traced(journals)))
        .with_observer(Arc::clone(&watch) as _);
    Ok((session, watch))
}

/// Stops the run gracefully when replies or events can no longer be written, for example because the disk is full: later replies would
/// be lost.
pub async fn stop_when_nothing_can_be_kept(session: Arc<Session>) {
    session.until_trouble().await;
    session.stop().stop();
}

/// Reports how to go on after a run that called for replies again and did not reach its end.
pub fn report_refreshed(context: &Context, config: &Config) {
    let run = &config.settings.run;
    let (flag, whose) = match (run.force, run.fresh_targets) {
        (true, _) => ("--force", "all replies"),
        (false, true) => ("--fresh-targets", "all replies of the targets"),
        (false, false) => return,
    };
    context.terminal.line(&format!(
        "with {flag}, the same command does not continue this run but calls for {whose} again; without {flag}, rows that this run did not \
         reach get the replies of earlier runs"
    ));
}

/// Reports the replies that could not be stored, and the missing prices.
pub fn close(context: &Context, session: &Session) {
    if let Some(trouble) = session.cache().and_then(Cache::trouble) {
        context.terminal.warning(&format!(
            "some replies could not be saved, so a later run calls for them again: {trouble}"
        ));
    }
    for line in unpriced::models(session.meter()) {
        context.terminal.warning(&line);
    }
}
