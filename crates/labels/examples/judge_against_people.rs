//! How often a judge agrees with people, from a table of labels. Start it with
//! `cargo run -p probity-labels --example judge_against_people [FILE.csv]`, where the file has the columns `human` and `judge`.

use std::{env, error::Error, fs, path::PathBuf};

use interop::labels::{LabelColumns, LabelWords};
use labels::{check_judge, read_label_file};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = match env::args().nth(1) {
        Some(path) => PathBuf::from(path),
        None => {
            let path = folder.path().join("labels.csv");
            let rows = ["yes,yes\n"; 30].concat() + &["no,no\n"; 25].concat();
            let table = format!("human,judge\n{rows}no,yes\nno,yes\nno,yes\nyes,no\nyes,no\n");
            fs::write(&path, table)?;
            path
        }
    };
    let columns = LabelColumns {
        labels: vec!["human".to_owned()],
        judge: Some("judge".to_owned()),
        ..LabelColumns::default()
    };
    let rows = read_label_file(&path, &columns, &LabelWords::default())?;
    let people = check_judge(&rows).ok_or("no row has a label and a verdict")?;
    for scope in &people.scopes {
        println!(
            "{}: {} rows, agreement {:.2}, kappa {:.2}",
            scope.scope,
            rows.len(),
            scope.agreement.ok_or("no row has both")?,
            scope.kappa.ok_or("one answer only")?
        );
    }
    Ok(())
}
