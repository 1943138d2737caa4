//! Items that came whole from the cache: the journals of earlier runs have their calls.

use std::{path::Path, sync::Arc};

use schema::{ItemKey, event::KeptIn};
use store::{RunError, find_journal, hash_key};

use super::{super::reported_item::ReportedItem, JournalRecord, Journals, Reading, lock};

impl Reading {
    /// The item `key`, which came whole from the cache, as the journal of an earlier run reports it.
    pub(super) fn of_earlier(
        &mut self,
        kept: &KeptIn,
        key: &ItemKey,
        record: &JournalRecord,
    ) -> Result<Option<ReportedItem>, RunError> {
        let run_id = &*kept.run_id;
        if !self.earlier.contains_key(run_id) {
            let earlier = self.earlier_journal(run_id, record)?;
            if earlier.is_none() {
                self.notes.push(format!(
                    "{}: the calls of items that came whole from the cache are in the journal of {run_id}, which is not beside it",
                    record.path.display()
                ));
            }
            self.earlier.insert(run_id.to_owned(), earlier);
        }
        let earlier = self.earlier.get(run_id).and_then(Option::as_ref);
        let found = match earlier {
            Some(earlier) => {
                let items = earlier.items(hash_key((&*key.prompt_id, &*key.sut)))?;
                items.into_iter().find(|item| item.line == kept.line)
            }
            None => None,
        };
        self.lacks_items |= found.is_none();
        if let (Some(earlier), Some(_), Some(target)) =
            (earlier, &found, self.content.targets.get_mut(&*key.sut))
            && let Some(known) = lock(&earlier.reading).content.targets.get(&*key.sut)
        {
            target.target.add_kept(&known.target, &self.content.run);
        }
        Ok(found)
    }

    /// The journal of the run `run_id`, which is among the records of the runs of `record`. Only that of an earlier run: whichever two
    /// journals are read at the same time, none waits for the other.
    fn earlier_journal(
        &self,
        run_id: &str,
        record: &JournalRecord,
    ) -> Result<Option<Arc<JournalRecord>>, RunError> {
        let own = self.content.run.run_id.as_deref();
        let runs = record.path.parent().and_then(Path::parent);
        let (Some(runs), Some(journals)) = (runs, record.journals.upgrade()) else {
            return Ok(None);
        };
        let path = find_journal(runs, run_id).filter(|_| own.is_some_and(|own| run_id < own));
        path.map(|path| Journals(journals).read(&path)).transpose()
    }
}
