//! Runs the phases as one bounded, resumable, cancellable stream, and writes the benchmark tree
