//! Chooses the fault of each call.

use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use crate::{
    Fault, FaultKind, Parameter, Role, Task,
    hash::mix,
    wire::{ChatBody, FormatKind},
};

/// The active faults.
#[derive(Debug, Default)]
pub(crate) struct FaultBoard {
    slots: RwLock<Arc<[Slot]>>,
}

#[derive(Debug)]
struct Slot {
    fault: Arc<Fault>,
    /// The number of calls that matched the fault's model, task and parameter.
    seen: AtomicU64,
}

impl FaultBoard {
    pub(crate) fn new(faults: Vec<Fault>) -> Self {
        let board = Self::default();
        board.set(faults);
        board
    }

    pub(crate) fn set(&self, faults: Vec<Fault>) {
        let slots = faults.into_iter().map(|fault| Slot {
            fault: Arc::new(fault),
            seen: AtomicU64::new(0),
        });
        *self.slots.write().unwrap_or_else(PoisonError::into_inner) = slots.collect();
    }

    /// The fault of a call, if any.
    pub(crate) fn pick(
        &self,
        role: Role,
        task: Task,
        request: &ChatBody<'_>,
    ) -> Option<Arc<Fault>> {
        let slots = Arc::clone(&self.slots.read().unwrap_or_else(PoisonError::into_inner));
        let slot = slots.iter().find(|slot| slot.meets(role, task, request))?;
        Some(Arc::clone(&slot.fault))
    }

    /// The fault of a request that is no call of a model: models, tasks and parameters do not matter.
    pub(crate) fn pick_any(&self) -> Option<Arc<Fault>> {
        let slots = Arc::clone(&self.slots.read().unwrap_or_else(PoisonError::into_inner));
        let slot = slots.iter().find(|slot| slot.has_turn())?;
        Some(Arc::clone(&slot.fault))
    }
}

impl Slot {
    fn meets(&self, role: Role, task: Task, request: &ChatBody<'_>) -> bool {
        let fault = &self.fault;
        let for_it = fault.role.is_none_or(|wanted| wanted == role)
            && fault.task.is_none_or(|wanted| wanted == task)
            && match fault.kind {
                FaultKind::Unsupported(parameter) => sends(request, parameter),
                _ => true,
            };
        for_it && self.has_turn()
    }

    /// Counts a request that the fault is for, and says whether it is affected.
    fn has_turn(&self) -> bool {
        let fault = &self.fault;
        let before = self.seen.fetch_add(1, Relaxed);
        fault.first.is_none_or(|first| before < first)
            && fault.share.is_none_or(|share| unit(mix(before)) < share)
    }
}

/// A hash as a number of at least 0 and below 1.
#[expect(clippy::cast_precision_loss, reason = "53 bits fit exactly")]
pub(crate) fn unit(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1_u64 << 53) as f64
}

fn sends(request: &ChatBody<'_>, parameter: Parameter) -> bool {
    let format = request.response_format.as_ref().map(|format| format.kind);
    match parameter {
        Parameter::MaxTokens => request.max_tokens.is_some(),
        Parameter::MaxCompletionTokens => request.max_completion_tokens.is_some(),
        Parameter::JsonSchema => format == Some(FormatKind::JsonSchema),
        Parameter::ResponseFormat => format.is_some_and(|kind| kind != FormatKind::Text),
        #[expect(
            clippy::float_cmp,
            reason = "1 is the default that such endpoints accept"
        )]
        Parameter::Temperature => request.temperature.is_some_and(|value| value != 1.0),
        Parameter::Seed => request.seed.is_some(),
    }
}
