package reload

import "github.com/prometheus/client_golang/prometheus"

const prefix = "llmctl_gateway_config_"

var (
	reloads = prometheus.NewDesc(prefix+"reload_total", "Reloads of the configuration by how they ended: ok, refused or unreadable.", []string{"result"}, nil)
	success = prometheus.NewDesc(prefix+"last_reload_successful", "1 if the latest reload was taken, 0 if the configuration in use is an older one.", nil, nil)
	loaded  = prometheus.NewDesc(prefix+"loaded_timestamp_seconds", "When the configuration in use was loaded, in Unix time.", nil, nil)
	info    = prometheus.NewDesc(prefix+"info", "1, with the beginning of the SHA-256 of the configuration in use.", []string{"hash"}, nil)
)

// Describe implements prometheus.Collector.
func (f *File) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{reloads, success, loaded, info} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (f *File) Collect(to chan<- prometheus.Metric) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range []Result{Loaded, Refused, Unreadable} {
		to <- prometheus.MustNewConstMetric(reloads, prometheus.CounterValue, float64(f.counts[r]), string(r))
	}
	ok := 1.0
	if f.status.Err != "" {
		ok = 0
	}
	to <- prometheus.MustNewConstMetric(success, prometheus.GaugeValue, ok)
	to <- prometheus.MustNewConstMetric(loaded, prometheus.GaugeValue, float64(f.status.Loaded.UnixMilli())/1000)
	to <- prometheus.MustNewConstMetric(info, prometheus.GaugeValue, 1, f.status.Hash)
}
