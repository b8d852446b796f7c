// Package profiles holds the facts that everything else computes from: models
// (as their config.json tells), accelerators, engines and their defaults by
// version, prices, workloads, service-level objectives and scenarios. It embeds
// data and loads the user's own files; it derives nothing. Sizes, speeds and
// money are computed from these facts in package sizing.
package profiles
