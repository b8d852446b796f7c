package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/llmctl/llmctl/gateway/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// authority signs certificates for tests.
type authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t testing.TB) *authority {
	a := &authority{t: t}
	a.key = newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// issue returns a certificate of that name, and its key, in PEM form.
func (a *authority) issue(name string) (cert, key []byte) {
	private := newKey(a.t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

// stand is a server with a source, whose clock the test moves.
type stand struct {
	t      *testing.T
	dir    string
	source *Source
	log    bytes.Buffer
	clock  time.Time
	server *httptest.Server
}

func serve(t *testing.T, files config.TLS) *stand {
	t.Helper()
	s := &stand{t: t, dir: filepath.Dir(files.Cert), clock: time.Unix(1e9, 0)}
	var err error
	if s.source, err = Load(files, slog.New(slog.NewTextHandler(&s.log, nil))); err != nil {
		t.Fatal(err)
	}
	s.source.checked, s.source.now = s.clock, func() time.Time { return s.clock }
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	s.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.server.TLS = s.source.Config()
	s.server.EnableHTTP2 = true
	s.server.StartTLS()
	t.Cleanup(s.server.Close)
	return s
}

// put writes the files of a certificate and its key.
func put(t *testing.T, dir string, cert, key []byte) config.TLS {
	t.Helper()
	files := config.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	for path, data := range map[string][]byte{files.Cert: cert, files.Key: key} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// call makes a request on a connection of its own, and returns the name of the
// server's certificate and the protocol.
func (s *stand) call(c *tls.Config) (name, protocol string, err error) {
	s.t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true, DisableKeepAlives: true}}
	response, err := client.Get(s.server.URL)
	if err != nil {
		return "", "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	client.CloseIdleConnections()
	return response.TLS.PeerCertificates[0].Subject.CommonName, string(body), err
}

func (a *authority) trusted() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{RootCAs: pool}
}

func TestRenewedCertificateIsTaken(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.issue("old")
	s := serve(t, put(t, t.TempDir(), cert, key))
	if name, protocol, err := s.call(a.trusted()); name != "old" || protocol != "HTTP/2.0" || err != nil {
		t.Fatalf("%s over %s, %v", name, protocol, err)
	}
	next, nextKey := a.issue("new")
	put(t, s.dir, next, key) // the renewal is half-way through
	if name, _, err := s.call(a.trusted()); name != "old" || err != nil {
		t.Errorf("at once: %s, %v", name, err)
	}
	for range 2 {
		s.clock = s.clock.Add(Recheck)
		if name, _, err := s.call(a.trusted()); name != "old" || err != nil {
			t.Errorf("half-way through: %s, %v", name, err)
		}
	}
	if n := strings.Count(s.log.String(), "the old one stays"); n != 1 {
		t.Errorf("told %d times:\n%s", n, &s.log)
	}
	put(t, s.dir, next, nextKey)
	s.clock = s.clock.Add(Recheck)
	if name, _, err := s.call(a.trusted()); name != "new" || err != nil {
		t.Errorf("after it: %s, %v\n%s", name, err, &s.log)
	}
	if err := os.Remove(s.source.files.Cert); err != nil {
		t.Fatal(err)
	}
	s.clock = s.clock.Add(Recheck)
	if name, _, err := s.call(a.trusted()); name != "new" || err != nil {
		t.Errorf("without a file: %s, %v", name, err)
	}
}

func TestClientsShowACertificate(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	cert, key := a.issue("server")
	files := put(t, t.TempDir(), cert, key)
	files.ClientCA = filepath.Join(filepath.Dir(files.Cert), "ca.pem")
	if err := os.WriteFile(files.ClientCA, a.pem, 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, files)
	as := func(by *authority) *tls.Config {
		cert, key := by.issue("client")
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		c := a.trusted()
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		return c
	}
	if _, _, err := s.call(a.trusted()); err == nil {
		t.Error("a client without a certificate was served")
	}
	if _, _, err := s.call(as(other)); err == nil {
		t.Error("a client of another authority was served")
	}
	if name, _, err := s.call(as(a)); name != "server" || err != nil {
		t.Errorf("%s, %v", name, err)
	}
	if err := os.WriteFile(files.ClientCA, other.pem, 0o600); err != nil {
		t.Fatal(err)
	}
	s.clock = s.clock.Add(Recheck)
	if _, _, err := s.call(as(a)); err == nil {
		t.Error("a client of the authority of before was served")
	}
	if _, _, err := s.call(as(other)); err != nil {
		t.Errorf("a client of the new authority: %v", err)
	}
}

func TestOldProtocolsAreRefused(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.issue("server")
	s := serve(t, put(t, t.TempDir(), cert, key))
	c := a.trusted()
	c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if _, _, err := s.call(c); err == nil {
		t.Error("TLS 1.1 was served")
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.issue("one")
	_, otherKey := a.issue("two")
	tests := []struct {
		name      string
		cert, key []byte
		ca        string
		want      string
	}{
		{"a key of another certificate", cert, otherKey, "", "private key does not match"},
		{"no PEM", []byte("x"), key, "", "failed to find any PEM data"},
		{"authorities without any", cert, key, "not a certificate", "no certificate in PEM form"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files := put(t, t.TempDir(), test.cert, test.key)
			if test.ca != "" {
				files.ClientCA = filepath.Join(filepath.Dir(files.Cert), "ca.pem")
				if err := os.WriteFile(files.ClientCA, []byte(test.ca), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := Load(files, nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
	if _, err := Load(config.TLS{Cert: "never.pem", Key: "never.key"}, nil); err == nil || !strings.Contains(err.Error(), "never.pem") {
		t.Errorf("files that are not there: %v", err)
	}
}
