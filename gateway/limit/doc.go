// Package limit is token buckets with reserve and settle, pure.
package limit
