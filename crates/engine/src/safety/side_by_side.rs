//! Processes many items, some of them at the same time, and returns the results in the items' order.

use std::{collections::HashMap, future::Future, sync::Arc};

use tokio::{
    sync::Semaphore,
    task::{JoinError, JoinSet},
};

/// Runs `work` on each item, at most `at_once` of them at the same time. Each runs in its own task: a panic costs only that
/// item, and its message takes the place of the result.
pub(super) async fn side_by_side<T, R, Work, Working>(
    items: Vec<T>,
    at_once: usize,
    work: Work,
) -> Vec<Result<R, String>>
where
    Work: Fn(T) -> Working,
    Working: Future<Output = R> + Send + 'static,
    R: Send + 'static,
{
    let room = Arc::new(Semaphore::new(at_once.max(1)));
    let mut results: Vec<Option<Result<R, String>>> = Vec::new();
    results.resize_with(items.len(), || None);
    let mut tasks = JoinSet::new();
    let mut places = HashMap::new();
    let mut take = |ended: Result<(tokio::task::Id, R), JoinError>,
                    places: &mut HashMap<tokio::task::Id, usize>| {
        let (id, result) = match ended {
            Ok((id, result)) => (id, Ok(result)),
            Err(error) => (error.id(), Err(format!("internal error: {error}"))),
        };
        if let Some(slot) = places.remove(&id).and_then(|at| results.get_mut(at)) {
            *slot = Some(result);
        }
    };
    for (at, item) in items.into_iter().enumerate() {
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
            break;
        };
        while let Some(ended) = tasks.try_join_next_with_id() {
            take(ended, &mut places);
        }
        let working = work(item);
        let task = tasks.spawn(async move {
            let result = working.await;
            drop(permit);
            result
        });
        places.insert(task.id(), at);
    }
    while let Some(ended) = tasks.join_next_with_id().await {
        take(ended, &mut places);
    }
    let missing = || Err("internal error: it was never run".to_owned());
    results
        .into_iter()
        .map(|result| result.unwrap_or_else(missing))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn results_stand_in_the_order_of_the_items_and_a_panic_costs_only_itself() {
        let results = side_by_side(vec![3_u64, 1, 2, 0], 2, |n| async move {
            for _ in 0..n * 3 {
                tokio::task::yield_now().await;
            }
            assert!(n != 2, "two");
            n
        })
        .await;
        let told: Vec<_> = results.iter().map(|result| result.as_ref().ok()).collect();
        assert_eq!(told, [Some(&3), Some(&1), None, Some(&0)]);
        let error = results[2].as_ref().unwrap_err();
        assert!(error.starts_with("internal error"), "{error}");
    }
}
