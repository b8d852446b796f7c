// Package usage is the ledger of the gateway: one record per request, what it
// cost and what was saved, kept in SQLite, in Postgres or in memory, with sums of
// it by tenant, model, hour and more.
//
// In reading order: record.go is what is known of a request, price.go what it
// costs; ledger.go takes records without ever holding up a request, and writer.go
// brings them to a store; sum.go is what a store adds up, query.go what can be
// asked; export.go, csv.go, json.go and http.go hand it
// out; open.go and schema.go say where it is kept, and owner.go by whom else.
package usage
