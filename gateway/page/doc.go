// Package page is the gateway's admin page: what it knows of its tenants,
// deployments, endpoints and running requests, as HTML from the server, without a
// script.
package page
