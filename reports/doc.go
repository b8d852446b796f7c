// Package reports is what people read: it turns records into a summary by the
// definitions of docs/metrics.md, and renders summaries and plans as text and
// JSON. It computes every number from records, whoever produced them.
package reports
