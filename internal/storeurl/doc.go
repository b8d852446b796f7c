// Package storeurl reads the URLs by which people name a Redis or a Postgres: the
// one place that knows their schemes. Errors never quote a URL, which may hold a
// password.
package storeurl
