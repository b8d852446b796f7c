// Package sched is the continuous-batching scheduler: each step it decides how
// many tokens of which requests run, under a token budget, with chunked prefill,
// prefix-cache hits and preemption by recomputation. Its rules are those of vLLM
// V1 (vllm/v1/core/sched/scheduler.py and kv_cache_manager.py); docs/scheduler.md
// states them and lists every departure. It is pure: it sees lengths, priorities
// and block hashes, never tensors or text; time comes in as an argument. The
// live engine drives it in real time; it can be driven in virtual time as well.
//
// # The loop
//
//	for {
//		batch := s.Schedule(now)           // nil: nothing to do, wait for Add
//		results := executor.Run(batch)
//		for _, f := range s.Complete(batch, results) { … }
//	}
//
// Beside the loop, a Request may bring KV that was computed elsewhere (Loaded), a
// Result drafts of the next tokens, Config a pipeline of batches or static ones, and
// the pool a host tier to load from (Loads, Loaded).
//
// Schedule may be called once more before the previous batch is completed, so
// that an executor always has its next batch at hand: lengths advance as if the
// step in flight had succeeded. A request that is certain to reach its length
// limit in the batch in flight is left out of the next one and its blocks are
// reused, so that this asynchronous order composes the same batches as the
// synchronous one. A request that stops early is found out when its result
// arrives; the entry that the next batch already holds for it is wasted, as is
// its result.
//
// # What the executor owes
//
// Blocks are reused, and full blocks are offered to other requests, as soon as
// a batch has been handed out. That is sound when the executor
//
//   - runs batches in the order of Schedule, and every entry of each, those of
//     requests aborted meanwhile included;
//   - lets an entry read what earlier entries of the same batch write: it runs
//     entries in order, or, layer by layer, writes K and V of all of them before
//     any attends.
//
// An executor that could not run a batch must end every request and call
// ResetPrefixCache, because the cache may promise content never computed.
//
// # Memory
//
// Two batches, or as many as a pipeline has stages, are kept and used in turn. Everything a batch points to is valid
// until Complete of that batch; what Complete returns, until the next Complete.
// Once tables and queues have reached their size, a step allocates nothing.
//
// A Scheduler is not safe for concurrent use. An executor may read a batch while
// other methods run, Complete of that batch excepted.
package sched
