//! Room for a line that is made while another thread has the queue.

use std::cell::Cell;

/// What a thread keeps of its room when a long line is done.
const KEEP: usize = 64 * 1024;

thread_local! {
    /// Room for the line that this thread is making.
    static ROOM: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Gives `take` this thread's room, empty.
pub(crate) fn with_room<T>(take: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    // A thread that is ending has no room of its own any more.
    let mut room = ROOM.try_with(Cell::take).unwrap_or_default();
    room.clear();
    let result = take(&mut room);
    room.shrink_to(KEEP);
    let _ = ROOM.try_with(|kept| kept.set(room));
    result
}
