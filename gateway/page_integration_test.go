//go:build integration

package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// chromium finds the browser, which make ci brings.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no chromium in PATH; .ci/run installs it")
	return ""
}

// tab is a page of a headless Chromium, driven over the DevTools protocol.
type tab struct {
	t      *testing.T
	ctx    context.Context
	conn   *websocket.Conn
	calls  int
	events []devtoolsEvent
}

type devtoolsEvent struct {
	ID     int
	Method string
	Params map[string]any
	Result map[string]any
	Error  *struct{ Message string }
}

// browse starts a browser that ends with the test.
func browse(t *testing.T) *tab {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	cmd := exec.CommandContext(ctx, chromium(t), "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
		"--user-data-dir="+t.TempDir(), "--no-first-run", "--disable-background-networking", "about:blank")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, drained := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(drained)
		var said strings.Builder
		buffer := make([]byte, 4096)
		for {
			n, err := stderr.Read(buffer)
			said.Write(buffer[:n])
			if found := regexp.MustCompile(`ws://\S+`).FindString(said.String()); found != "" && strings.Contains(said.String(), found+"\n") {
				select {
				case address <- found:
				default:
				}
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-drained
		_ = cmd.Wait() // it was killed
	})
	var browser string
	select {
	case browser = <-address:
	case <-time.After(time.Minute):
		t.Fatal("chromium tells no address")
	}
	at, err := url.Parse(browser)
	if err != nil {
		t.Fatal(err)
	}
	conn, response, err := websocket.Dial(ctx, "ws://"+at.Host+pageOf(t, ctx, at.Host), nil)
	if err != nil {
		t.Fatal(err, response)
	}
	conn.SetReadLimit(64 << 20)
	t.Cleanup(func() { _ = conn.CloseNow() })
	b := &tab{t: t, ctx: ctx, conn: conn}
	for _, domain := range []string{"Page.enable", "Network.enable", "Log.enable", "Runtime.enable"} {
		b.call(domain, nil)
	}
	return b
}

// pageOf is the path of the browser's first page.
func pageOf(t *testing.T, ctx context.Context, host string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/json/list", nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`/devtools/page/\w+`).Find(body)
	if found == nil {
		t.Fatalf("no page in %s", body)
	}
	return string(found)
}

// call asks the browser for something and keeps the events that come meanwhile.
func (b *tab) call(method string, params map[string]any) map[string]any {
	b.t.Helper()
	b.calls++
	id := b.calls
	if err := wsjson.Write(b.ctx, b.conn, map[string]any{"id": id, "method": method, "params": params}); err != nil {
		b.t.Fatal(err)
	}
	for {
		e := b.next()
		if e.ID != id {
			continue
		}
		if e.Error != nil {
			b.t.Fatalf("%s: %s", method, e.Error.Message)
		}
		return e.Result
	}
}

func (b *tab) next() devtoolsEvent {
	b.t.Helper()
	var e devtoolsEvent
	if err := wsjson.Read(b.ctx, b.conn, &e); err != nil {
		b.t.Fatal(err)
	}
	if e.Method != "" {
		b.events = append(b.events, e)
	}
	return e
}

// open shows an address and waits until it is loaded.
func (b *tab) open(address string) {
	b.t.Helper()
	seen := len(b.events)
	b.call("Page.navigate", map[string]any{"url": address})
	b.await("Page.loadEventFired", seen)
}

// await waits for an event that comes after so many others.
func (b *tab) await(method string, after int) {
	b.t.Helper()
	for {
		for _, e := range b.events[after:] {
			if e.Method == method {
				return
			}
		}
		after = len(b.events)
		b.next()
	}
}

// evaluate is the value of a script in the page.
func (b *tab) evaluate(script string) any {
	b.t.Helper()
	result := b.call("Runtime.evaluate", map[string]any{"expression": script})
	value, _ := result["result"].(map[string]any)
	return value["value"]
}

// complaints are errors of the console and of scripts.
func (b *tab) complaints() (all []string) {
	for _, e := range b.events {
		switch e.Method {
		case "Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled":
			all = append(all, fmt.Sprint(e.Params))
		}
	}
	return all
}

// asked are the addresses that the browser asked for.
func (b *tab) asked() (all []string) {
	for _, e := range b.events {
		if e.Method == "Network.requestWillBeSent" {
			request, _ := e.Params["request"].(map[string]any)
			address, _ := request["url"].(string)
			all = append(all, address)
		}
	}
	return all
}

// browsed is a gateway with traffic, behind its admin listener, and a browser's
// address of it with the password.
func browsed(t *testing.T) (s *stand, address string, hold func()) {
	t.Helper()
	holding := make(chan struct{})
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sse(w, helloEvent, worldEvent)
		if strings.Contains(string(body), "hold") {
			<-holding
		}
		sse(w, finishEvent, usageEvent, doneEvent)
	}, limitedAndPriced)
	s.post(streamBody)
	var open sync.WaitGroup
	open.Go(func() { s.post(strings.Replace(streamBody, "hi", "hold", 1)) })
	eventually(t, "a live request", func() bool {
		oldest, _ := s.gateway.lives.list(time.Now(), 1)
		return len(oldest) == 1 && oldest[0].Output == 2
	})
	t.Cleanup(func() {
		select {
		case <-holding:
		default:
			close(holding)
		}
		open.Wait()
	})
	return s, strings.Replace(s.admin, "http://", "http://anybody:"+adminToken+"@", 1), func() { close(holding); open.Wait() }
}

// A real browser shows the page without a complaint, asks nobody but the gateway,
// takes the token as a password, and loads the page anew by itself.
func TestPageInARealBrowser(t *testing.T) {
	s, address, end := browsed(t)
	b := browse(t)
	b.open(address + "/?ignored")
	text, _ := b.evaluate("document.body.innerText").(string)
	for _, want := range []string{"search", "small", "cluster/real-model", "canary", "streaming", "output tokens/min", s.gatewayEndpoint()} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not show %q:\n%s", want, text)
		}
	}
	if rules, _ := b.evaluate("document.styleSheets[0].cssRules.length").(float64); rules < 10 {
		t.Errorf("%v rules of style: the policy does not let the page's own in", rules)
	}
	for _, width := range []int{1280, 400} {
		b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
		if wide, _ := b.evaluate("document.documentElement.scrollWidth").(float64); wide > float64(width) {
			t.Errorf("the page is %v wide in a window of %d", wide, width)
		}
	}

	end()
	seen := len(b.events)
	b.open(address + "/admin?refresh=1")
	b.await("Page.loadEventFired", seen)
	seen = len(b.events)
	b.await("Page.loadEventFired", seen) // by itself
	if text, _ := b.evaluate("document.body.innerText").(string); strings.Contains(text, "streaming") {
		t.Errorf("the page still shows a request that has ended:\n%s", text)
	}
	b.open(address + "/admin?refresh=0")
	if meta := b.evaluate("document.querySelector('meta[http-equiv=refresh]')===null"); meta != true {
		t.Error("refresh=0 still refreshes")
	}
	if all := b.complaints(); len(all) > 0 {
		t.Errorf("the console says %v", all)
	}
	host := strings.TrimPrefix(s.admin, "http://")
	for _, address := range b.asked() {
		if u, err := url.Parse(address); err != nil || u.Host != host || u.Path != "/" && u.Path != "/admin" {
			t.Errorf("the page asks for %s", address)
		}
	}
}

// gatewayEndpoint is the host of the stand's only upstream.
func (s *stand) gatewayEndpoint() string {
	u, err := url.Parse(s.gateway.table.Load().providers[0].pool.Status().Endpoints[0].URL)
	if err != nil {
		s.t.Fatal(err)
	}
	return u.Host
}

// Without the password, a browser shows nothing but the refusal.
func TestBrowserWithoutTheTokenSeesNothing(t *testing.T) {
	s, _, end := browsed(t)
	defer end()
	b := browse(t)
	b.open(s.admin + "/admin")
	if text, _ := b.evaluate("document.documentElement.innerText").(string); strings.Contains(text, "search") {
		t.Errorf("the page shows %q", text)
	}
}
