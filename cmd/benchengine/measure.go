package main

import (
	"context"
	"fmt"
	"time"

	"github.com/llmctl/llmctl/internal/trial"
)

// measurement is one turn of one engine.
type measurement struct {
	engine string
	repeat int
	err    error

	start        time.Duration // to the first 200 of /health
	single       float64       // output tokens/s after the first
	cold, warm   crowd
	alike        bool  // one of many answers is what the same prompt gets alone
	idle, loaded int64 // bytes resident, before any request and after all
}

// crowd is what many streams at once got.
type crowd struct {
	output, total float64       // tokens/s
	first         time.Duration // the median TTFT
	cached        int           // prompt tokens from the cache, of all streams
}

// measure starts a server and takes everything from it.
func (o *options) measure(ctx context.Context, e *engine, repeat int) *measurement {
	m := &measurement{engine: e.name, repeat: repeat}
	m.err = func() error {
		address, err := trial.FreeAddress()
		if err != nil {
			return err
		}
		command, err := e.start(o, address)
		if err != nil {
			return err
		}
		server, err := trial.StartServer(ctx, command, nil, o.work, "http://"+address+"/health", true)
		if err != nil {
			return err
		}
		defer server.Stop()
		m.start, m.idle = server.Took, server.Used().RSS
		c := newClient("http://" + address)
		err = m.ask(ctx, o.load, c)
		m.loaded = server.Used().RSS
		return err
	}()
	return m
}

// ask sends what is measured. The shared prefix is new to the server at first (cold);
// then all slots and caches have it (warm), and the prompts go on differently.
func (m *measurement) ask(ctx context.Context, l traffic, c *client) error {
	p := newPrompts(m.repeat)
	if _, err := c.ask(ctx, p.tokens(l.single), 8); err != nil { // nobody's first request is measured
		return fmt.Errorf("warming up: %w", err)
	}
	a, err := c.ask(ctx, p.tokens(l.single), l.output)
	if err != nil {
		return fmt.Errorf("one stream: %w", err)
	}
	m.single = a.perSecond()
	prefix := p.tokens(l.prefix)
	if m.cold, _, _, err = many(ctx, l, c, p, prefix); err != nil {
		return fmt.Errorf("streams with a new prefix: %w", err)
	}
	warm, answers, sent, err := many(ctx, l, c, p, prefix)
	if err != nil {
		return fmt.Errorf("streams with a known prefix: %w", err)
	}
	m.warm = warm
	alone, err := c.ask(ctx, sent[0], l.output)
	if err != nil {
		return fmt.Errorf("one of the streams again: %w", err)
	}
	m.alike = alone.text == answers[0].text
	return nil
}

func many(ctx context.Context, l traffic, c *client, p prompts, prefix []int32) (w crowd, answers []answer, sent [][]int32, err error) {
	sent = p.sharing(prefix, l.streams, l.own)
	answers, took, err := c.together(ctx, sent, l.output)
	if err != nil {
		return w, nil, nil, err
	}
	var firsts []float64
	for _, a := range answers {
		w.output += float64(a.output)
		w.total += float64(a.prompt + a.output)
		w.cached += a.cached
		firsts = append(firsts, a.first.Seconds())
	}
	w.output /= took.Seconds()
	w.total /= took.Seconds()
	w.first = time.Duration(median(firsts) * float64(time.Second))
	return w, answers, sent, nil
}

func (m *measurement) line() string {
	if m.err != nil {
		return fmt.Sprintf("%-9s %v", m.engine, m.err)
	}
	return fmt.Sprintf("%-9s starts in %.2f s, one stream %.1f tokens/s, many %.1f with a new prefix, %.1f with a known one, %d MiB",
		m.engine, m.start.Seconds(), m.single, m.cold.output, m.warm.output, m.loaded>>20)
}
