// Package reload follows a configuration file: it hands a new content to the
// gateway when the file has changed or somebody asks, keeps the old one when the
// new one is refused, and tells how that went. It knows nothing of what a gateway
// does with a configuration.
package reload
