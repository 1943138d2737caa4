//! The files: hostile texts, the same bytes, and places that cannot be written.

use super::*;

/// What no page may hold as it is.
const HOSTILE: &str = "</script><img src=x onerror=alert(1)> <!-- ]]> \u{1b}[31m \u{202e}txt\u{0} {{ 7*7 }} probityChunk(0)";

fn hostile() -> Vec<Sample> {
    let long = "x".repeat(2 << 20);
    let texts = [HOSTILE, &long];
    let turns = texts.map(|text| {
        [
            Turn::new(Role::User, text),
            Turn::new(Role::Assistant, text),
        ]
    });
    let mut conversation = said(HOSTILE, turns.into_iter().flatten().collect());
    conversation.error = Some(HOSTILE.to_owned());
    vec![Sample::new(conversation, vec![])]
}

/// How many elements of this name begin in a page.
fn elements(page: &str, name: &str) -> usize {
    page.to_lowercase().matches(&format!("<{name}")).count()
}

#[test]
fn what_a_model_said_is_never_html() {
    let folder = tempfile::tempdir().unwrap();
    let mut clean = report(RowsKept::All, &[judged("s", true)]);
    let scripts = 2 + clean.index().chunks;
    assert!(clean.chunk(1).unwrap().is_none());
    let path = clean.write_file(&folder.path().join("clean.html")).unwrap();
    assert_eq!(
        elements(&fs::read_to_string(path).unwrap(), "script"),
        scripts
    );

    let mut options = run("careful");
    options.benchmark.metrics[0].name = HOSTILE.to_owned();
    HOSTILE.clone_into(&mut options.folder);
    let make = || {
        let mut all = HtmlReport::new(ReportOptions::default(), ReportSummary::default()).unwrap();
        all.add_problem(HOSTILE);
        let mut exporter = &mut all;
        exporter.begin(&options).unwrap();
        for sample in hostile() {
            exporter.push(&sample).unwrap();
        }
        exporter.end().unwrap();
        all.finish().unwrap()
    };
    let mut all = make();
    let conversations = chunk(&mut all, 0);
    assert_eq!(conversations[0]["messages"][0]["text"], HOSTILE);
    assert_eq!(
        conversations[0]["messages"][2]["text"]
            .as_str()
            .unwrap()
            .len(),
        2 << 20
    );
    let path = all.write_file(&folder.path().join("hostile.html")).unwrap();
    let page = fs::read_to_string(path).unwrap();
    assert_eq!(elements(&page, "script"), scripts);
    assert_eq!(elements(&page, "img"), 0);
    assert!(!page.contains("onerror=alert(1)>"));
    // A folder holds them as texts of base64.
    let path = make().write_folder(&folder.path().join("folder")).unwrap();
    assert_eq!(elements(&fs::read_to_string(path).unwrap(), "script"), 2);
    let chunk = fs::read_to_string(folder.path().join("folder/data/chunk-0.js")).unwrap();
    let data = chunk
        .strip_prefix("probityChunk(0,\"")
        .unwrap()
        .strip_suffix("\")\n")
        .unwrap();
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    assert!(data.chars().all(is_base64), "{}", &data[..100]);
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let samples: Vec<Sample> = (0..40)
        .map(|n| judged(&format!("s{n}"), n % 3 > 0))
        .collect();
    let write = |name: &str| {
        let path = folder.path().join(name);
        fs::read(report(RowsKept::All, &samples).write_file(&path).unwrap()).unwrap()
    };
    assert_eq!(write("one.html"), write("two.html"));
}

#[test]
fn what_is_too_large_for_a_file_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    let make = || report(RowsKept::All, &[judged("s", true)]);
    let error = make().write_file_of(100, &path).unwrap_err();
    assert!(
        matches!(error, ReportError::TooLarge { limit: 100 }),
        "{error}"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    make().write_file(&path).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn chunks_of_an_earlier_larger_report_go() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    for name in ["chunk-0.js", "chunk-7.js", "chunk-x.js", "mine.txt"] {
        fs::write(data.join(name), "old").unwrap();
    }
    let path = report(RowsKept::All, &[judged("s", true)])
        .write_folder(folder.path())
        .unwrap();
    assert_eq!(path, folder.path().join("index.html"));
    let read = |name: &str| fs::read_to_string(data.join(name)).ok();
    assert!(read("chunk-0.js").unwrap().starts_with("probityChunk(0,"));
    assert_eq!(read("chunk-7.js"), None);
    assert_eq!(read("chunk-x.js").as_deref(), Some("old"));
    assert_eq!(read("mine.txt").as_deref(), Some("old"));
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let path = folder.path().join("file/report.html");
    let error = report(RowsKept::All, &[])
        .write_file(Path::new(&path))
        .unwrap_err();
    assert!(
        error.to_string().contains("report.html: cannot be written"),
        "{error}"
    );
}
