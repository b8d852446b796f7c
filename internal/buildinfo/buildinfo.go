package buildinfo

import (
	"runtime"
	"runtime/debug"
)

// Version is the module version or, in a build from a checkout, the revision.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+dirty"
			}
		}
	}
	if revision == "" {
		return "devel"
	}
	return "devel-" + revision[:min(12, len(revision))] + dirty
}

// Platform is the operating system, the architecture and the Go release.
func Platform() string {
	return runtime.GOOS + "/" + runtime.GOARCH + " " + runtime.Version()
}
