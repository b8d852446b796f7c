// Package record is the one record: what is known about one request, and about
// the run that it belongs to. Any producer of records emits it (today the load
// generator); every number that a person sees is computed from it. The package
// also owns the two files in which a run is kept, run.json and
// records.jsonl.zst.
package record
