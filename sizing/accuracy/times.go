package accuracy

import (
	"errors"
	"io/fs"

	"github.com/llmctl/llmctl/sizing/fit"
)

// Points are the measured times of serving_measured.csv that state enough to be
// fitted, and the runnable rows that are left out, each with the rule.
func Points(d Data) ([]fit.Point, []fit.Left, error) {
	f, err := d.files.Open("serving_measured.csv")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	rows, err := fit.ReadRows(f)
	if err != nil {
		return nil, nil, err
	}
	points, left := fit.Published(rows, d.model)
	return points, left, nil
}
