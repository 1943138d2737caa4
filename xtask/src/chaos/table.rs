//! The table that a part prints, and whether a promise was broken.

use std::{collections::BTreeMap, time::Instant};

/// The cases of a part.
#[derive(Debug)]
pub(super) struct Table {
    title: &'static str,
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// What was broken, by the case.
    broken: BTreeMap<String, Vec<String>>,
    began: Instant,
}

impl Table {
    pub(super) fn new(title: &'static str, columns: &[&'static str]) -> Self {
        Self {
            title,
            columns: columns.to_vec(),
            rows: Vec::new(),
            broken: BTreeMap::new(),
            began: Instant::now(),
        }
    }

    /// Adds a case: its cells, and the promises that it broke.
    pub(super) fn push(&mut self, cells: Vec<String>, broken: Vec<String>) {
        if !broken.is_empty() {
            let case = cells.first().cloned().unwrap_or_default();
            eprintln!("{}: {case}: {}", self.title, broken.join("; "));
            self.broken.entry(case).or_default().extend(broken);
        }
        self.rows.push(cells);
    }

    /// Prints the table and what was broken. Returns the number of broken promises.
    pub(super) fn print(&self) -> usize {
        println!(
            "\n{} ({:.0} s)",
            self.title,
            self.began.elapsed().as_secs_f64()
        );
        let width = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            let head = self.columns.get(at).map_or(0, |head| head.len());
            cells
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
                .max(head)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let line = |cells: &[String]| {
            let cells = cells.iter().zip(&widths).enumerate();
            let cells = cells.map(|(at, (cell, width))| match at {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            println!("  {}", cells.collect::<Vec<_>>().join("  "));
        };
        let head: Vec<String> = self.columns.iter().map(|head| (*head).to_owned()).collect();
        line(&head);
        self.rows.iter().for_each(|row| line(row));
        for (case, broken) in &self.broken {
            for what in broken {
                println!("  BROKEN {case}: {what}");
            }
        }
        self.broken.values().map(Vec::len).sum()
    }
}
