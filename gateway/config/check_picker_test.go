package config

import (
	"strings"
	"testing"
)

func TestPicker(t *testing.T) {
	tests := []struct {
		name string
		edit func(*Config)
		want string // part of the error; empty: fine
	}{
		{"none", func(c *Config) { c.Picker = Picker{} }, ""},
		{"as it should be", func(*Config) {}, ""},
		{"no address", func(c *Config) { c.Picker.Listen = "" }, "picker.listen is missing"},
		{"no port", func(c *Config) { c.Picker.Listen = "127.0.0.1" }, "picker.listen"},
		{"the API's address", func(c *Config) { c.Picker.Listen = c.Listen }, "is the address of listen"},
		{"the admin page's address", func(c *Config) { c.Picker.Listen = c.Admin.Listen }, "is the address of admin.listen"},
		{"no provider", func(c *Config) { c.Picker.Provider = "" }, "picker: the provider is missing"},
		{"a slip of the pen", func(c *Config) { c.Picker.Provider = "clustre" }, `unknown provider "clustre", did you mean "cluster"?`},
		{"another provider", func(c *Config) { c.Picker.Provider = "xyz" }, `unknown provider "xyz", known: cluster`},
		{"a name in the place of an address", func(c *Config) { c.Providers[0].Endpoints = []string{"http://engine-0:8000"} }, `expected an IP address, for Envoy looks up no name, got "engine-0"`},
		{"an address of version 6", func(c *Config) { c.Providers[0].Endpoints = []string{"http://[fd00::1]:8000"} }, ""},
		{"a certificate without its key", func(c *Config) { c.Picker.TLS.Cert = "cert.pem" }, "picker.tls"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := Config{
				Listen: "127.0.0.1:8080", Admin: Admin{Listen: "127.0.0.1:8081"},
				Tenants:   []Tenant{{Name: "t"}},
				Models:    []Model{{Alias: "m"}},
				Providers: []Provider{{Name: "cluster", Endpoints: []string{"http://10.0.0.5:8000"}}},
				Picker:    Picker{Listen: "127.0.0.1:9002", Provider: "cluster"},
			}
			test.edit(&c)
			all, err := c.collect()
			if err != nil {
				t.Fatal(err)
			}
			err = c.checkPicker(all)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
