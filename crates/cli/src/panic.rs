//! The message for an internal error.

use std::panic::PanicHookInfo;

use crate::terminal::Terminal;

/// Distinguishes an error of the program from an error in its input, and says where to report it.
pub fn install(terminal: &Terminal) {
    let terminal = terminal.clone();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
        // A damaged file is no error of the program, and its reader says so.
        if std::thread::current().name() == Some(probity::READER_THREAD) {
            return;
        }
        terminal.write(
            concat!(
                "internal error: this is a bug in Probity ", env!("CARGO_PKG_VERSION"),
                ", not in your files. Replies received so far are kept: run the same command to continue.\n",
                "Please report it with the lines below: ", env!("CARGO_PKG_REPOSITORY"), "/issues\n",
            )
            .as_bytes(),
        );
        before(info);
    }));
}
