//! Who is answered.

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use super::Viewer;
use crate::common::Project;

/// A viewer of the demonstration.
fn viewer() -> (Project, Viewer) {
    let project = Project::new();
    project.succeeds(&["run"]);
    let viewer = Viewer::start(&project, &[]);
    (project, viewer)
}

#[test]
fn the_page_and_its_data_are_served_to_who_knows_the_address() {
    let (_project, viewer) = viewer();
    let page = viewer.get("");
    assert_eq!(page.status, 200, "{}", page.body);
    assert!(page.body.contains("data-live=\"1\""), "{}", page.body);
    assert!(page.body.contains("connect-src"), "{}", page.body);
    assert!(!page.body.contains("probity-chunk-0"), "it holds no data");
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
    ] {
        assert_eq!(page.header(name), Some(value), "{name}");
    }
    let state = viewer.json("state");
    assert_eq!(
        (&state["version"], &state["running"]),
        (&"1".into(), &false.into())
    );
    let index = viewer.json("index?v=1");
    let rows = index["rows"].as_array().unwrap();
    assert!(!rows.is_empty());
    assert_eq!(index["kept"], "all");
    for row in rows {
        let chunk = viewer.json(&format!("chunk/{}?v=1", row["chunk"]));
        let at = usize::try_from(row["at"].as_u64().unwrap()).unwrap();
        assert_eq!(chunk[at]["conv_id"], row["conv_id"]);
    }
    let parts = viewer.json("overview");
    let overview = parts["overview"].as_str().unwrap();
    assert!(page.body.contains(overview.trim()), "{overview}");
    assert!(parts["cost"].as_str().unwrap().contains("Cost"), "{parts}");
}

#[test]
fn others_are_refused() {
    let (_project, viewer) = viewer();
    let own = viewer.host_header();
    let port = viewer.host.rsplit(':').next().unwrap().to_owned();
    let path = viewer.path.clone();
    let status = |path: &str, headers: &[&str]| {
        let answer = viewer.request("GET", path, headers, "");
        assert!(
            !answer.head.to_lowercase().contains("access-control"),
            "{}",
            answer.head
        );
        assert!(answer.status == 200 || answer.json()["error"].is_string());
        answer.status
    };
    let localhost = format!("Host: localhost:{port}");
    assert_eq!(status(&path, &[&localhost]), 200);
    for wrong in [
        "/",
        "/state",
        "/0123456789abcdef0123456789abcdef/",
        "//",
        "/%2e%2e/",
    ] {
        assert_eq!(status(wrong, &[&own]), 404, "{wrong}");
    }
    for behind in [
        "../../etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "runs",
        "chunk/999",
        "chunk/../index",
    ] {
        assert_eq!(status(&format!("{path}{behind}"), &[&own]), 404, "{behind}");
    }
    let rebound = format!("Host: evil.example:{port}");
    assert_eq!(status(&path, &[&rebound]), 421);
    assert_eq!(status(&path, &[]), 421);
    assert_eq!(status(&path, &[&own, "Origin: http://evil.example"]), 403);
    assert_eq!(status(&path, &[&own, "Origin: null"]), 403);
    assert_eq!(status(&format!("{path}index?v=999"), &[&own]), 410);
    // Without its last slash the links of the page would lead elsewhere.
    let moved = viewer.request("GET", path.trim_end_matches('/'), &[&own], "");
    assert_eq!(moved.status, 308);
    assert_eq!(moved.header("location"), Some(&*viewer.address));
}

#[test]
fn requests_that_write_are_for_labels_alone() {
    let (project, viewer) = viewer();
    let before = project.files();
    let own = viewer.host_header();
    let at = |path: &str| format!("{}{path}", viewer.path);
    let json = "Content-Type: application/json";
    for path in ["", "index", "state", "labels?run=x"] {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
            let answer = viewer.request(method, &at(path), &[&own, json], "{}");
            assert_eq!(answer.status, 405, "{method} {path}");
            assert_eq!(answer.header("allow"), Some("GET, HEAD"));
        }
    }
    assert_eq!(viewer.get("label").status, 405);
    let put =
        |headers: &[&str], body: &str| viewer.request("PUT", &at("label"), headers, body).status;
    assert_eq!(put(&[&own], "{}"), 415);
    assert_eq!(put(&[&own, "Content-Type: text/plain"], "{}"), 415);
    assert_eq!(put(&[&own, json, "Origin: http://evil.example"], "{}"), 403);
    assert_eq!(put(&[&own, json], "{}"), 400);
    assert_eq!(
        put(&[&own, json], &format!("\"{}\"", "x".repeat(70_000))),
        413
    );
    // Parts of unknown length are counted too.
    let chunk = format!("{:x}\r\n{}\r\n", 30_000, "x".repeat(30_000)).repeat(3);
    let chunked = format!(
        "PUT {} HTTP/1.1\r\n{own}\r\n{json}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}0\r\n\r\n",
        at("label")
    );
    assert_eq!(viewer.raw(&chunked).status, 413);
    assert_eq!(project.files(), before);
}

#[test]
fn requests_that_are_none_or_never_end_do_not_keep_others_waiting() {
    let (_project, viewer) = viewer();
    assert_eq!(viewer.raw("what\r\n\r\n").status, 400);
    let head = format!(
        "GET {} HTTP/1.1\r\nX: {}\r\n\r\n",
        viewer.path,
        "x".repeat(100_000)
    );
    assert_eq!(viewer.raw(&head).status, 431);
    // As many connections as are answered at once.
    let started = Instant::now();
    let mut slow: Vec<TcpStream> = (0..64)
        .map(|_| {
            let mut stream = TcpStream::connect(&viewer.host).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
            stream
        })
        .collect();
    assert_eq!(viewer.get("state").status, 200);
    assert!(
        started.elapsed() < Duration::from_secs(30),
        "{:?}",
        started.elapsed()
    );
    let mut rest = Vec::new();
    slow[0]
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    // It was closed, with or without a word.
    let _ = slow[0].read_to_end(&mut rest);
    assert!(rest.len() < 1000);
}

/// As many as there are places. Each asks for more than the system keeps for it, and takes nothing.
#[test]
fn clients_that_do_not_read_lose_their_places() {
    let (_project, viewer) = viewer();
    // The page is the longest answer: the viewer makes few of them until nothing more is taken.
    let request = format!(
        "GET {} HTTP/1.1\r\n{}\r\n\r\n",
        viewer.path,
        viewer.host_header()
    );
    let size = viewer.get("").body.len().max(1);
    let requests = request.repeat((16 << 20) / size);
    let hold = || {
        let stream = TcpStream::connect(&viewer.host).unwrap();
        stream
            .set_write_timeout(Some(Duration::from_millis(200)))
            .unwrap();
        // The viewer stops reading requests when its answers wait.
        let _ = (&stream).write_all(requests.as_bytes());
        stream
    };
    // Several at the same time: each waits until its write has timed out.
    let held: Vec<TcpStream> = thread::scope(|scope| {
        let eight = || (0..8).map(|_| hold()).collect::<Vec<_>>();
        let clients: Vec<_> = (0..8).map(|_| scope.spawn(eight)).collect();
        let held = clients
            .into_iter()
            .flat_map(|client| client.join().unwrap());
        held.collect()
    });
    let start = Instant::now();
    assert_eq!(viewer.get("").status, 200);
    assert!(start.elapsed() < Duration::from_secs(50));
    drop(held);
}
