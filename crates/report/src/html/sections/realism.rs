//! How realistic judges find the conversations.

use super::{Block, Section, SectionPart};
use crate::realism::realism_sheet;

pub(super) fn section<'a>(place: &SectionPart<'a>) -> Option<Section<'a>> {
    let title = "Realism of the conversations, as judges see it";
    let sheet = realism_sheet(title, &place.part.statistics);
    let blocks = (!sheet.is_blank()).then_some(Block::Table(sheet));
    place.section("realism", "Realism", blocks.into_iter().collect())
}
