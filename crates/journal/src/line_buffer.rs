//! A buffer for a line that is written while another thread uses the queue.

use std::cell::Cell;

/// The capacity that a thread's buffer keeps after a long line.
const KEEP: usize = 64 * 1024;

thread_local! {
    /// The buffer for the line that this thread writes.
    static LINE_BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Calls `take` with this thread's buffer, empty.
pub(crate) fn with_line_buffer<T>(take: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    // A thread that is ending no longer has a buffer.
    let mut room = LINE_BUFFER.try_with(Cell::take).unwrap_or_default();
    room.clear();
    let result = take(&mut room);
    room.shrink_to(KEEP);
    let _ = LINE_BUFFER.try_with(|kept| kept.set(room));
    result
}
