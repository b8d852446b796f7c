// Package config is the gateway's configuration file: its keys, what they may
// hold, and errors that name the line. It is pure: it opens no file but the one
// whose text it is given, and looks up no environment variable by itself.
package config
