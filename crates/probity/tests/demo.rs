//! What the examples stand on: a run that is not complete is an error to them, so that they end with a failure.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use std::sync::Arc;

use probity::{PhaseSettings, Pipeline, RunOptions, Session, demo, standard_phases};
use scripted_llm::{Fault, Role, ScriptedServer};

#[tokio::test(flavor = "multi_thread")]
async fn a_run_with_failed_rows_is_an_error_that_says_what_failed() {
    let down = Fault::status(401).unwrap().role(Role::Careful);
    let server = ScriptedServer::builder().fault(down).start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let layout = demo::layout(folder.path()).unwrap();
    let pipeline = || {
        let session = Arc::new(Session::default());
        let models = demo::models(&session, server.base_url()).unwrap();
        let phases = standard_phases(models, PhaseSettings::default()).unwrap();
        Pipeline::new(session, layout.clone(), phases, RunOptions::default())
    };

    let error = demo::run(&pipeline()).await.unwrap_err().to_string();
    assert!(
        error.starts_with("the run is not complete: FailedRows\n"),
        "{error}"
    );
    assert!(
        error.contains("simulate") && error.contains("401"),
        "{error}"
    );

    server.set_faults([]);
    // A session remembers for a while that the key was refused; a new one does not.
    let report = demo::run(&pipeline()).await.unwrap();
    let rates = demo::rates(&report);
    assert_eq!(rates.lines().count(), 2, "{rates}");
}
