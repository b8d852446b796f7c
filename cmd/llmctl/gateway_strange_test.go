package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// net/http would answer OPTIONS * by itself, with nothing; the API answers all that
// reaches it in one shape.
func TestGatewayAnswersOptionsOfEverything(t *testing.T) {
	g := startGateway(t, gatewayFile("http://127.0.0.1:1", "a", ""))
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(g.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // nothing more is sent
	if _, err := io.WriteString(conn, "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // read to its end
	body, _ := io.ReadAll(response.Body)
	if response.StatusCode != 404 || !strings.Contains(string(body), `"code":"not_found"`) {
		t.Errorf("status %d: %s", response.StatusCode, body)
	}
}
