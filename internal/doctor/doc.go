// Package doctor is checks of this machine that explain bad measurements before they happen.
package doctor
