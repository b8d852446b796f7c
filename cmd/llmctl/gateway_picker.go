package main

import (
	"log/slog"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/llmctl/llmctl/gateway"
	"github.com/llmctl/llmctl/gateway/certs"
	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/picker"
)

// envoyPicker is the gateway's endpoint picker on its address.
type envoyPicker struct {
	net.Listener
	*picker.Server
}

// openPicker listens for Envoy; nil when the configuration does not want it.
func openPicker(c config.Picker, g *gateway.Gateway, log *slog.Logger) (*envoyPicker, error) {
	if c.Listen == "" {
		return nil, nil
	}
	var options []grpc.ServerOption
	if c.TLS.Cert != "" {
		source, err := certs.Load(c.TLS, log)
		if err != nil {
			return nil, usage(err)
		}
		options = append(options, grpc.Creds(credentials.NewTLS(source.Config())))
	}
	l, err := openAddress(c.Listen)
	if err != nil {
		return nil, err
	}
	return &envoyPicker{l, g.Picker(options...)}, nil
}
