package profiles

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/internal/portable"
	"github.com/llmctl/llmctl/internal/units"
)

const (
	maxLength   = 1e9 // of token counts
	maxExponent = 10  // of Zipf's law, where all but one in a thousand are the first
)

// distributionParameters names the parameters of each kind, all of which must
// be given.
var distributionParameters = map[DistributionKind][]string{
	Fixed:     {"mean"},
	Uniform:   {"min", "max"},
	Normal:    {"mean", "stddev"},
	Lognormal: {"mean", "p99"},
	Zipf:      {"exponent", "min", "max"},
	Geometric: {"mean"},
}

// countKinds are the kinds that a distribution of counts can have, in the order
// in which they are listed.
var countKinds = []string{string(Fixed), string(Uniform), string(Normal), string(Lognormal), string(Zipf), string(Geometric), string(Empirical)}

// ParseDistribution reads a distribution of token counts:
//
//	distribution = tokens | kind ":" parameter { "," parameter } | "empirical:" ( file | tokens { "," tokens } )
//	kind         = "fixed" | "uniform" | "normal" | "lognormal" | "zipf" | "geometric"
//	parameter    = ("mean" | "stddev" | "p99" | "min" | "max" | "exponent") "=" tokens
//
// such as 2048, 8k, uniform:min=100,max=300, normal:mean=500,stddev=50,
// lognormal:mean=2048,p99=8000, zipf:exponent=1.1,min=10,max=4000, geometric:mean=3
// or empirical:lengths.txt. A file is named, not read: LoadDistribution does both.
func ParseDistribution(s string) (Distribution, error) {
	kind, rest, named := strings.Cut(strings.TrimSpace(s), ":")
	if !named {
		mean, err := units.ParseCount(kind)
		if err != nil {
			return Distribution{}, fmt.Errorf("parsing distribution %q, expected tokens like 2048, or like lognormal:mean=2048,p99=8000", s)
		}
		d := Distribution{Kind: Fixed, Mean: mean}
		return d, wrapParse("distribution", s, d.Validate())
	}
	if DistributionKind(kind) == Empirical {
		samples, err := parseSamples(rest)
		return Distribution{Kind: Empirical, Samples: samples}, wrapParse("distribution", s, err)
	}
	parameters, err := parsePairs(rest)
	if err != nil {
		return Distribution{}, wrapParse("distribution", s, err)
	}
	d, err := newDistribution(DistributionKind(kind), parameters)
	return d, wrapParse("distribution", s, err)
}

// newDistribution builds a distribution from named parameters and checks it.
func newDistribution(kind DistributionKind, parameters map[string]float64) (Distribution, error) {
	names, ok := distributionParameters[kind]
	if !ok {
		return Distribution{}, unknown("distribution", string(kind), countKinds, "expected one of "+strings.Join(countKinds, ", "))
	}
	d := Distribution{Kind: kind}
	for name, value := range parameters {
		if !slices.Contains(names, name) {
			return Distribution{}, fmt.Errorf("%s has no parameter %q, expected %s", kind, name, strings.Join(names, " and "))
		}
		*d.parameter(name) = value
	}
	for _, name := range names {
		if _, ok := parameters[name]; !ok {
			return Distribution{}, fmt.Errorf("%s needs %s", kind, strings.Join(names, " and "))
		}
	}
	return d, d.Validate()
}

// parameter returns the field of a parameter's name.
func (d *Distribution) parameter(name string) *float64 {
	switch name {
	case "mean":
		return &d.Mean
	case "stddev":
		return &d.StdDev
	case "p99":
		return &d.P99
	case "min":
		return &d.Min
	case "exponent":
		return &d.Exponent
	default:
		return &d.Max
	}
}

// Validate reports the first parameter that makes no sense. A lognormal
// distribution with a given mean exists only up to a certain p99, namely
// mean × exp(z²/2) with z = 2.3263, the 99th percentile of the standard normal.
//
// An empirical distribution must have its values: a file must have been read.
func (d Distribution) Validate() error {
	if d.Kind == Empirical {
		return d.Samples.validate()
	}
	names, ok := distributionParameters[d.Kind]
	if !ok {
		return fmt.Errorf("distribution kind %q is not known", d.Kind)
	}
	for _, name := range names {
		low, high := 1.0, float64(maxLength)
		switch name {
		case "stddev":
			low = 0
		case "exponent":
			low, high = 0, maxExponent
		}
		if v := *d.parameter(name); !(v >= low && v <= high) {
			return fmt.Errorf("%s %v is outside %v to %v", name, v, low, units.Count(int64(high)))
		}
	}
	switch {
	case d.Kind == Zipf && (d.Min != math.Trunc(d.Min) || d.Max != math.Trunc(d.Max)):
		return fmt.Errorf("zipf draws whole numbers, min %v and max %v are not both", d.Min, d.Max)
	case (d.Kind == Uniform || d.Kind == Zipf) && d.Max < d.Min:
		return fmt.Errorf("max %v is below min %v", d.Max, d.Min)
	case d.Kind == Lognormal && d.P99 < d.Mean:
		return fmt.Errorf("p99 %v is below mean %v", d.P99, d.Mean)
	case d.Kind == Lognormal && math.Log(d.P99/d.Mean) >= z99*z99/2:
		return fmt.Errorf("p99 %v is too far above mean %v: no lognormal distribution has both (at most %s)", d.P99, d.Mean, units.Number(d.Mean*math.Exp(z99*z99/2)))
	}
	return nil
}

// z99 is the 99th percentile of the standard normal distribution, 2.3263.
var z99 = portable.NormalQuantile(0.99)

// LogParameters returns mu and sigma of a lognormal distribution with the given
// mean and 99th percentile: from mean = exp(mu + sigma²/2) and p99 = exp(mu +
// z·sigma) follows sigma² − 2·z·sigma + 2·ln(p99/mean) = 0, whose smaller root
// is the one that goes to 0 as p99 goes to the mean.
func (d Distribution) LogParameters() (mu, sigma float64) {
	sigma = z99 - math.Sqrt(max(0, float64(z99*z99)-float64(2*portable.Log(d.P99/d.Mean))))
	return portable.Log(d.Mean) - float64(sigma*sigma/2), sigma
}

// Largest is a length that hardly any request exceeds: the maximum, or the 99th
// percentile of a distribution without one.
func (d Distribution) Largest() float64 {
	switch d.Kind {
	case Uniform, Zipf:
		return d.Max
	case Geometric:
		return d.Quantile(0.99)
	case Empirical:
		return d.Quantile(1)
	case Normal:
		return d.Mean + z99*d.StdDev
	case Lognormal:
		return d.P99
	}
	return d.Mean
}

// String writes the distribution as ParseDistribution reads it.
func (d Distribution) String() string {
	switch d.Kind {
	case Fixed:
		return formatNumber(d.Mean)
	case Empirical:
		return string(Empirical) + ":" + d.Samples.String()
	}
	var parts []string
	for _, name := range distributionParameters[d.Kind] {
		parts = append(parts, name+"="+formatNumber(*d.parameter(name)))
	}
	return string(d.Kind) + ":" + strings.Join(parts, ",")
}

// Words is String, but for a long list of values, of which it says how many.
func (d Distribution) Words() string {
	if s := d.Samples; s != nil && s.File == "" && len(s.Values) > 8 {
		return fmt.Sprintf("%s of %s values", Empirical, units.Count(int64(len(s.Values))))
	}
	return d.String()
}

// parsePairs reads name=number pairs between commas.
func parsePairs(s string) (map[string]float64, error) {
	pairs := map[string]float64{}
	err := eachPair(s, func(name, text string) (err error) {
		pairs[name], err = units.ParseCount(text)
		return err
	})
	return pairs, err
}

// eachPair reads name=value pairs between commas, each name at most once.
func eachPair(s string, set func(name, value string) error) error {
	var seen []string
	for pair := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok {
			return fmt.Errorf("expected name=value, got %q", pair)
		}
		if slices.Contains(seen, name) {
			return fmt.Errorf("%s is given twice", name)
		}
		seen = append(seen, name)
		if err := set(name, value); err != nil {
			return err
		}
	}
	return nil
}

// formatNumber writes a number so that it reads back as the same number.
func formatNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// wrapParse adds what was parsed to an error, nil stays nil.
func wrapParse(what, s string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("parsing %s %q: %w", what, s, err)
}
