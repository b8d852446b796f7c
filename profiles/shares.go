package profiles

import (
	"fmt"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readShares reads names with shares of 1 that add up to 1: of priority classes,
// or of models.
func readShares(node *yaml.Node, what string, name func(string) (string, error)) (map[string]float64, error) {
	if node.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("expected %s and shares, got %s", what, nodeText(node))
	}
	if len(node.Content) == 0 {
		return nil, nil
	}
	shares := map[string]float64{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		n, err := name(node.Content[i].Value)
		if _, twice := shares[n]; err == nil && twice {
			err = fmt.Errorf("%q is given twice", n)
		}
		if err != nil {
			return nil, at(node.Content[i], err)
		}
		var share float64
		if err := into(&share, number)(follow(node.Content[i+1])); err != nil {
			return nil, at(node.Content[i+1], err)
		}
		shares[n] = share
	}
	return shares, nil
}

// checkShares reports the first share that makes no sense, or that they do not
// add up to 1. None at all is fine.
func checkShares(shares map[string]float64, name func(string) (string, error)) error {
	sum := 0.0
	for _, n := range sortedKeys(shares) {
		if _, err := name(n); err != nil {
			return err
		}
		if share := shares[n]; !(share > 0 && share <= 1) {
			return fmt.Errorf("share %v of %s is outside 0 to 1", share, n)
		}
		sum += shares[n]
	}
	if len(shares) > 0 && math.Abs(sum-1) > 1e-6 {
		return fmt.Errorf("the shares add up to %v, not 1", sum)
	}
	return nil
}

// checkShare reports a share of requests that is none.
func checkShare(share float64) error {
	if !(share >= 0 && share <= 1) {
		return fmt.Errorf("share %v is outside 0 to 1", share)
	}
	return nil
}

// parseModelName reads the name of a model on the wire, such as org/Model-8B:free.
func parseModelName(s string) (string, error) {
	if s == "" || len(s) > longestName || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '�' }) {
		return "", fmt.Errorf("%.60q is no name of a model", s)
	}
	return s, nil
}
