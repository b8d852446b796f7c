package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/profiles"
)

// otherNames are keys as other gateways call them (LiteLLM, Portkey, Envoy AI
// Gateway), or as people guess, and ours in their place. Of ours, those that are
// known where the other one stands are suggested.
var otherNames = map[string][]string{
	"tpm": {"input_tpm", "output_tpm"}, "tpm_limit": {"input_tpm", "output_tpm"}, "tokens_per_minute": {"input_tpm", "output_tpm"},
	"token_limit": {"input_tpm", "output_tpm"}, "tokens": {"input_tpm", "output_tpm"},
	"rpm_limit": {"rpm"}, "requests_per_minute": {"rpm"}, "requests": {"rpm"},
	"max_parallel_requests": {"concurrent"}, "concurrency": {"concurrent"}, "max_concurrent": {"concurrent"}, "parallel": {"concurrent"},
	"budget": {"usd_per_day", "usd_per_month"}, "max_budget": {"usd_per_day", "usd_per_month"}, "usd": {"usd_per_day", "usd_per_month"},
	"daily_budget": {"usd_per_day"}, "monthly_budget": {"usd_per_month"},
	"key": {"keys", "hash", "key_env"}, "api_key": {"keys", "hash", "key_env"}, "api_keys": {"keys"}, "token": {"hash", "key_env", "token_env"},
	"secret": {"hash", "key_env"}, "value": {"hash", "key_env"}, "password": {"limits_key_env", "usage_key_env"}, "bearer": {"token_env"},
	"env": {"key_env", "token_env"}, "url": {"endpoints", "base_url", "endpoint"}, "urls": {"endpoints"}, "api_base": {"base_url"},
	"host": {"listen", "base_url"}, "port": {"listen"}, "address": {"listen", "endpoints"}, "bind": {"listen"}, "servers": {"endpoints"},
	"type": {"kind"}, "protocol": {"kind"}, "model_name": {"alias", "model"}, "name": {"alias"}, "deployments": {"targets"},
	"backends": {"targets", "providers"}, "upstreams": {"targets", "providers"}, "backend": {"provider"}, "upstream": {"provider"},
	"model_list": {"models"}, "routes": {"models"}, "aliases": {"models"}, "users": {"tenants"}, "teams": {"tenants"}, "customers": {"tenants"},
	"retries": {"retry"}, "num_retries": {"retry", "attempts"}, "max_retries": {"retry", "attempts"}, "timeout": {"timeouts"}, "request_timeout": {"timeouts", "total"},
	"ttft": {"first_token"}, "percent": {"weight"}, "share": {"weight"}, "price": {"usd_per_1m"}, "cost": {"usd_per_1m"}, "prompt": {"input"}, "completion": {"output"},
	"features": {"capabilities"}, "context_length": {"context"}, "max_model_len": {"context"}, "redis": {"store", "limits"}, "database": {"store", "usage"},
	"cert_file": {"cert"}, "key_file": {"key"}, "ca": {"client_ca"}, "body_limit": {"max_body"}, "max_body_size": {"max_body"}, "tracing": {"traces"}, "otel": {"traces"},
}

// suggestion is the end of an error about a key that is not known here.
func suggestion(key string, known []string) string {
	var ours []string
	for _, name := range otherNames[strings.ToLower(key)] {
		if slices.Contains(known, name) {
			ours = append(ours, strconv.Quote(name))
		}
	}
	switch {
	case slices.Equal(ours, []string{`"hash"`, `"key_env"`}):
		return ": keys are never in the file itself, expected hash (llmctl gateway hash makes it) or key_env"
	case len(ours) > 0:
		return fmt.Sprintf(", did you mean %s?", strings.Join(ours, " or "))
	}
	if near := profiles.DidYouMean(key, known); near != "" {
		return near
	}
	return ", known here: " + strings.Join(known, ", ")
}
