package simulator

import (
	"fmt"
	"math"
	"time"

	"github.com/llmctl/llmctl/profiles"
)

// scaler changes the number of replicas of the first pool as the Horizontal Pod
// Autoscaler of Kubernetes does (pkg/controller/podautoscaler, horizontal.go and
// replica_calculator.go): with the mean m of a metric over the replicas that
// serve,
//
//	desired = ⌈replicas · m ÷ target⌉,
//
// nothing changes while m is within a tenth of the target, and fewer replicas are
// only asked for when as few have been enough over all of a time.
type scaler struct {
	profiles.Autoscale
	asked []advice // over the last ScaleDown, the latest last
}

// advice is how many replicas a decision would have.
type advice struct {
	at       time.Duration
	replicas int
}

// The autoscaler's own defaults (kube-controller-manager's options
// --horizontal-pod-autoscaler-sync-period, -downscale-stabilization, -tolerance).
const (
	scaleInterval  = 15 * time.Second
	scaleDown      = 5 * time.Minute
	scaleTolerance = 0.1
)

// planScaling begins to decide, if the cluster has an autoscaler.
func (s *sim) planScaling() {
	a := s.config.Cluster.Autoscale
	if a.Metric == "" {
		return
	}
	if a.Interval == 0 {
		a.Interval = scaleInterval
	}
	if a.ScaleDown == 0 {
		a.ScaleDown = scaleDown
	}
	a.Min = max(1, a.Min)
	sc := &scaler{Autoscale: a}
	sc.asked = append(sc.asked, advice{0, s.config.Pools[0].Replicas})
	s.agenda.plan(a.Interval, sc)
}

// scaled is whether replicas come and go.
func (c *Config) scaled() bool { return c.Cluster.Autoscale.Metric != "" }

// happen is a decision.
func (sc *scaler) happen(s *sim) {
	if s.ended >= 0 {
		return
	}
	all := s.scaledPool()
	have := len(all)
	sum, serve := sc.measure(s, all)
	want := sc.stabilize(s.now, desired(sum, serve, have, sc.Target))
	want = min(max(want, sc.Min), sc.Max)
	for range want - have {
		s.hire(sc.StartDelay)
	}
	if want < have {
		s.dismiss(all, have-want)
	}
	s.agenda.plan(s.now+sc.Interval, sc)
}

// scaledPool are the replicas of the first pool that are there to stay, those that
// start and those that crashed included.
func (s *sim) scaledPool() (all []*replica) {
	for _, p := range s.front.replicas {
		if p.pool == &s.config.Pools[0] && !p.life.left && p.state != draining {
			all = append(all, p)
		}
	}
	return all
}

// growing reports whether replicas start, or the autoscaler may still add some.
func (s *sim) growing() bool {
	for _, p := range s.front.replicas {
		if !p.life.left && p.state == starting {
			return true
		}
	}
	return s.config.scaled() && len(s.scaledPool()) < s.config.Cluster.Autoscale.Max
}

// desired is the rule above, of a metric's sum over the replicas that serve, of all
// that are there. Those that do not serve yet have no metric: when more are wanted
// they count as idle, so that what was asked for already is not asked for again;
// when fewer are, they do not count.
func desired(sum float64, serve, all int, target float64) int {
	if serve == 0 {
		return all
	}
	count := serve
	ratio := sum / (float64(serve) * target)
	if ratio > 1 && serve < all {
		count = all
		if ratio = sum / (float64(count) * target); ratio < 1 {
			return all
		}
	}
	if ratio >= 1-scaleTolerance && ratio <= 1+scaleTolerance {
		return all
	}
	return int(min(math.Ceil(ratio*float64(count)), math.MaxInt32))
}

// measure is the metric's sum over the replicas that serve, and their number.
func (sc *scaler) measure(s *sim, all []*replica) (sum float64, serve int) {
	for _, p := range all {
		busy := p.life.busy(s.now)
		ran := busy - p.life.ranThen
		p.life.ranThen = busy
		if p.state != serving {
			continue
		}
		serve++
		switch st := p.sched.Stats(); sc.Metric {
		case "queue_depth":
			sum += float64(st.Waiting)
		case "kv_usage":
			sum += st.Usage
		case "utilization":
			sum += float64(ran) / float64(sc.Interval)
		}
	}
	if sc.Metric == "queue_depth" && s.config.Pools[0].Kind.takes(entry) {
		sum += float64(s.front.waiting()) // who waits in the gateway waits for a replica
	}
	return sum, serve
}

// stabilize notes an advice, and returns the largest of the last ScaleDown.
func (sc *scaler) stabilize(now time.Duration, replicas int) int {
	sc.asked = append(sc.asked, advice{now, replicas})
	old := 0
	for sc.asked[old].at < now-sc.ScaleDown {
		old++
	}
	sc.asked = append(sc.asked[:0], sc.asked[old:]...)
	for _, a := range sc.asked {
		replicas = max(replicas, a.replicas)
	}
	return replicas
}

// hire asks for one more replica of the first pool. It takes the place of one that
// has left, if there is one.
func (s *sim) hire(delay time.Duration) {
	pool := &s.config.Pools[0]
	var p *replica
	for _, old := range s.front.replicas {
		if old.life.left && old.pool == pool {
			p = s.renew(old)
			p.life = life{counters: old.life.counters}
			break
		}
	}
	if p == nil {
		p = newReplica(s, len(s.front.replicas), pool)
		s.front.replicas = append(s.front.replicas, p)
	}
	p.life.from, p.life.factor = s.now, s.slowness(p.index)
	s.boot(p, delay)
}

// boot has a replica start, which takes a delay.
func (s *sim) boot(p *replica, delay time.Duration) {
	p.state = starting
	s.tell(p, Starts)
	s.noteFleet()
	s.agenda.plan(later(s.now, delay), arrivalOf{p})
}

// arrivalOf is a replica that has started.
type arrivalOf struct{ p *replica }

func (a arrivalOf) happen(s *sim) {
	if a.p.state == starting && !a.p.life.left {
		s.begin(a.p)
	}
}

// dismiss takes n replicas away, as Kubernetes does: first those that do not serve,
// then the youngest. They end what they have.
func (s *sim) dismiss(all []*replica, n int) {
	for _, serves := range []bool{false, true} {
		for i := len(all) - 1; i >= 0 && n > 0; i-- {
			p := all[i]
			switch {
			case p.life.left || (p.state == serving) != serves:
				continue
			case p.state == serving && p.load > 0:
				p.state = draining
				s.noteFleet()
			default:
				s.leave(p)
			}
			n--
		}
	}
}

// checkScaling reports an autoscaler that can not decide.
func (c *Config) checkScaling() error {
	a := c.Cluster.Autoscale
	switch {
	case a.Metric == "":
		return nil
	case a.Metric != "queue_depth" && a.Metric != "kv_usage" && a.Metric != "utilization":
		return fmt.Errorf("autoscale: metric %q, expected queue_depth, kv_usage or utilization", a.Metric)
	case !(a.Target > 0):
		return fmt.Errorf("autoscale: target %g, expected more than 0", a.Target)
	case a.Min < 0 || a.Max < max(1, a.Min):
		return fmt.Errorf("autoscale: %d to %d replicas, expected 1 or more and min not above max", a.Min, a.Max)
	case a.Interval > 0 && a.Interval < profiles.LeastScaleInterval:
		return fmt.Errorf("autoscale: interval %v, expected %v or more", a.Interval, profiles.LeastScaleInterval)
	case a.Interval < 0 || a.StartDelay < 0 || a.ScaleDown < 0:
		return fmt.Errorf("autoscale: times of %v, %v and %v, expected none below 0", a.Interval, a.StartDelay, a.ScaleDown)
	}
	return nil
}
