package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/internal/userfile"
)

// Recheck is how often the files are looked at, by the first handshake after it.
const Recheck = 2 * time.Second

// limit is far above any chain of certificates.
const limit = 1 << 20

// Source is the certificate of one listener. It is safe for concurrent use.
type Source struct {
	files config.TLS
	log   *slog.Logger
	now   func() time.Time

	mu      sync.Mutex
	checked time.Time
	seen    [3][]byte // contents in use: certificate, key, authorities
	told    string    // what was wrong at the latest look
	config  *tls.Config
}

// Load reads the files for the first time; what is wrong with them is found here.
func Load(files config.TLS, log *slog.Logger) (*Source, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Source{files: files, log: log, now: time.Now}
	seen, err := s.read()
	if err != nil {
		return nil, err
	}
	s.seen, s.checked = seen, s.now()
	if s.config, err = s.build(seen); err != nil {
		return nil, err
	}
	return s, nil
}

// Config is what a listener is given. Each handshake takes the certificate of its
// time.
func (s *Source) Config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		NextProtos:         protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.current(), nil },
	}
}

var protocols = []string{"h2", "http/1.1"}

// current is the configuration of now. Files that cannot be used are told once, and
// the old ones stay: a renewal that is half-way through has a certificate without
// its key.
func (s *Source) current() *tls.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if now.Sub(s.checked) < Recheck {
		return s.config
	}
	s.checked = now
	if err := s.renew(); err == nil {
		s.told = ""
	} else if s.told != err.Error() {
		s.told = err.Error()
		s.log.Error("certificate refused, the old one stays", "error", s.told)
	}
	return s.config
}

// renew reads the files once more. What was refused is refused again.
func (s *Source) renew() error {
	seen, err := s.read()
	if err != nil || s.same(seen) {
		return err
	}
	next, err := s.build(seen)
	if err != nil {
		return err
	}
	s.seen, s.config = seen, next
	s.log.Info("certificate loaded", "cert", s.files.Cert)
	return nil
}

func (s *Source) same(seen [3][]byte) bool {
	for i := range seen {
		if !bytes.Equal(seen[i], s.seen[i]) {
			return false
		}
	}
	return true
}

func (s *Source) read() (seen [3][]byte, err error) {
	for i, path := range []string{s.files.Cert, s.files.Key, s.files.ClientCA} {
		if path == "" {
			continue
		}
		if seen[i], err = userfile.Read(path, limit); err != nil {
			return seen, fmt.Errorf("reading a certificate: %w", err)
		}
	}
	return seen, nil
}

func (s *Source) build(seen [3][]byte) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(seen[0], seen[1])
	if err != nil {
		return nil, fmt.Errorf("reading %s and %s: %w", s.files.Cert, s.files.Key, err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols, Certificates: []tls.Certificate{pair}}
	if s.files.ClientCA != "" {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		if !c.ClientCAs.AppendCertsFromPEM(seen[2]) {
			return nil, fmt.Errorf("reading %s: %w", s.files.ClientCA, errors.New("no certificate in PEM form"))
		}
	}
	return c, nil
}
