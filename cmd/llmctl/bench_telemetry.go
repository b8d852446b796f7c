package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/gpu"
	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/telemetry"
	"github.com/llmctl/llmctl/reports/record"
)

// telemetryFlags are the flags of bench about what is observed beside the requests.
type telemetryFlags struct {
	pages []string // metrics pages of the target
	gpu   string   // auto, on or off
	addr  string   // of the page of the run itself; empty is none
}

func (f *telemetryFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.pages, "metrics-url", nil, "metrics page of the target, one for each of its servers; repeatable (default: /metrics beside /v1)")
	flags.StringVar(&f.gpu, "gpu-telemetry", "auto", "read this machine's GPUs through NVML: auto (when the target runs on them: a loopback address, or the bundled engine on cuda), on or off")
	flags.StringVar(&f.addr, "metrics-addr", "", "address at which the run shows itself to Prometheus while it lasts, e.g. 127.0.0.1:9464")
}

// check refuses what contradicts itself.
func (f *telemetryFlags) check(cmd *cobra.Command) error {
	if choices := []string{"auto", "on", "off"}; !slices.Contains(choices, f.gpu) {
		return fmt.Errorf("--gpu-telemetry: unknown choice %q, expected one of %s", f.gpu, strings.Join(choices, ", "))
	}
	if cmd.Flags().Changed("metrics-addr") {
		if _, err := net.ResolveTCPAddr("tcp", f.addr); err != nil || f.addr == "" {
			return fmt.Errorf("--metrics-addr: %q is no address to listen on, expected one like 127.0.0.1:9464", f.addr)
		}
	}
	for i, page := range f.pages {
		shown := client.PublicURL(page)
		if err := checkPage(page); err != nil {
			return fmt.Errorf("--metrics-url %q: %w", shown, err)
		}
		if slices.Contains(f.pages[:i], page) {
			return fmt.Errorf("--metrics-url %q is named twice, which would count it twice", shown)
		}
	}
	return nil
}

func checkPage(page string) error {
	u, err := url.Parse(page)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("expected an address like http://localhost:8000/metrics")
	}
	return nil
}

// openGPUs readies this machine's GPUs to be read through one run; nil when they
// are not wanted, or there are none, of which only who asked for them hears.
func (b *bench) openGPUs(t target) telemetry.GPUs {
	asked := b.flags.telemetry.gpu == "on"
	if !asked && (b.flags.telemetry.gpu == "off" || !onThisMachine(t)) {
		return nil
	}
	monitor, err := gpu.Open()
	if err == nil {
		return monitor
	}
	told := slices.ContainsFunc(b.warnings, func(w record.Warning) bool { return w.Code == "no_gpu_telemetry" })
	if asked && !told {
		b.warn("no_gpu_telemetry", "no GPU is read: %v", err)
	}
	return nil
}

// onThisMachine reports whether the GPUs of this machine do the target's work,
// as far as an address can tell.
func onThisMachine(t target) bool {
	if t.bundled {
		return t.device == "cuda"
	}
	u, err := url.Parse(client.PublicEndpoint(t.endpoint))
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
