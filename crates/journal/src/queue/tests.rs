//! Tests of the queue.

use std::{sync::Arc, thread};

use super::*;

/// The text of one line. A full queue holds some hundreds of them.
const REST: [u8; 4096] = [b'a'; 4096];

fn push_text(queue: &Queue, text: &[u8], is_last: bool) -> bool {
    let rest = |line: &mut Vec<u8>| {
        line.extend_from_slice(text);
        Ok::<(), Infallible>(())
    };
    let Ok(taken) = queue.push_line(Timestamp::UNIX_EPOCH, is_last, rest);
    taken
}

fn push(queue: &Queue) -> bool {
    push_text(queue, &REST, false)
}

#[test]
fn a_full_queue_makes_callers_wait_and_nothing_is_dropped() {
    const LINES: u64 = 1000;
    let queue = Arc::new(Queue::new());
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || (0..LINES).all(|_| push(&queue)))
        })
        .collect();
    let (mut taken, mut batch) = (0, Batch::default());
    while taken < 4 * LINES {
        queue.take(&mut batch, None);
        assert!(batch.lines.len() < CAPACITY + 2 * REST.len());
        let found = batch.lines.windows(2).filter(|two| two == b"{\"").count();
        assert_eq!(found as u64, batch.count);
        taken += batch.count;
    }
    assert!(callers.into_iter().all(|caller| caller.join().unwrap()));
}

#[test]
fn a_line_of_any_length_is_taken() {
    let queue = Queue::new();
    let rest = vec![b'a'; 3 * CAPACITY];
    assert!(push_text(&queue, &rest, false));
    let mut batch = Batch::default();
    queue.take(&mut batch, None);
    assert!(batch.lines.ends_with(&rest) && batch.count == 1);
    // The buffer's memory is freed.
    queue.take(&mut batch, Some(Duration::ZERO));
    assert!(batch.count == 0 && batch.lines.is_empty());
    assert!(queue.lock().batch.lines.capacity() <= KEEP_BUFFER);
}

#[test]
fn a_thread_that_panics_leaves_nobody_waiting() {
    let queue = Arc::new(Queue::new());
    let end = Arc::clone(&queue);
    let thread = thread::spawn(move || {
        let _close = CloseAtEnd(&end);
        end.take(&mut Batch::default(), None);
        panic!("a fault in the program (this test wants it)");
    });
    let most = 10 * CAPACITY / REST.len();
    let pushed = (0..most).take_while(|_| push(&queue)).count();
    assert!(thread.join().is_err());
    assert!(pushed < most);
    assert!(!push(&queue));
}

#[test]
fn nothing_comes_behind_the_last_line() {
    let queue = Queue::new();
    assert!(push_text(&queue, b",\"first\"", false));
    assert!(push_text(&queue, b",\"last\"", true));
    assert!(!push(&queue));
    let mut batch = Batch::default();
    queue.take(&mut batch, None);
    assert!(batch.is_last && batch.count == 2);
    assert!(batch.lines.ends_with(b",\"last\""));
    assert!(!push(&queue));
}

#[test]
fn a_line_that_cannot_be_made_leaves_nothing_behind() {
    let queue = Queue::new();
    let fail = |line: &mut Vec<u8>| {
        line.extend_from_slice(b",\"half");
        Err("no JSON")
    };
    assert_eq!(
        queue.push_line(Timestamp::UNIX_EPOCH, false, fail),
        Err("no JSON")
    );
    assert!(push_text(&queue, b",\"whole\"", false));
    let mut batch = Batch::default();
    queue.take(&mut batch, Some(Duration::ZERO));
    assert_eq!(batch.count, 1);
    let lines = String::from_utf8_lossy(&batch.lines);
    assert!(
        lines.starts_with("{\"timestamp\"") && lines.ends_with(",\"whole\""),
        "{lines}"
    );
}

#[test]
fn a_line_that_finds_the_buffer_in_use_is_made_beside() {
    let queue = Queue::new();
    thread::scope(|scope| {
        let inner = |line: &mut Vec<u8>| {
            // The buffer is in use while the outer line is created.
            let second = scope.spawn(|| push_text(&queue, b",\"second\"", false));
            thread::sleep(Duration::from_millis(50));
            assert!(!second.is_finished());
            line.extend_from_slice(b",\"first\"");
            Ok::<(), Infallible>(())
        };
        let Ok(taken) = queue.push_line(Timestamp::UNIX_EPOCH, false, inner);
        assert!(taken);
    });
    let mut batch = Batch::default();
    queue.take(&mut batch, Some(Duration::ZERO));
    let lines = String::from_utf8_lossy(&batch.lines);
    let (first, second) = (lines.find("first"), lines.find("second"));
    assert!(
        batch.count == 2 && first.is_some() && first < second,
        "{lines}"
    );
}

#[test]
fn a_thread_that_sleeps_is_woken_by_the_first_line() {
    let queue = Arc::new(Queue::new());
    let end = Arc::clone(&queue);
    let thread = thread::spawn(move || {
        let mut batch = Batch::default();
        end.take(&mut batch, None);
        batch.count
    });
    // Longer than the thread waits for lines that may arrive soon.
    thread::sleep(GATHER + Duration::from_millis(100));
    assert!(queue.lock().is_asleep && push(&queue));
    assert_eq!(thread.join().unwrap(), 1);
}

#[test]
fn waiting_ends_without_lines_when_the_time_is_over() {
    let mut batch = Batch::default();
    Queue::new().take(&mut batch, Some(Duration::ZERO));
    assert!(batch.lines.is_empty() && batch.count == 0 && !batch.is_last);
}
