package sizing

import (
	"math"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
)

// figure writes a number of a derivation: whole numbers as they are, others with
// four significant digits and at least one decimal, which tells that they are
// rounded.
func figure(v float64) string {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64) // what is behind is rounding
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return units.Count(int64(v))
	}
	decimals := max(1, 3-int(math.Floor(math.Log10(math.Abs(v)))))
	whole, rest, _ := strings.Cut(strconv.FormatFloat(v, 'f', decimals, 64), ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n == 0 {
		return whole + "." + rest
	}
	return units.Count(n) + "." + rest
}

// setting writes a number that somebody chose, as it was chosen.
func setting(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// dollars is setting with cents.
func dollars(v float64) string {
	if v == math.Round(v*100)/100 {
		return "$" + strconv.FormatFloat(v, 'f', 2, 64)
	}
	return "$" + setting(v)
}

// scaled writes v in the largest of the units that it reaches, each of which is
// step times the one before.
func scaled(v, step float64, names ...string) string {
	i := 0
	for i < len(names)-1 && math.Abs(v) >= step {
		v, i = v/step, i+1
	}
	return figure(v) + " " + names[i]
}

func bytesFigure(v float64) string { return scaled(v, 1024, "B", "KiB", "MiB", "GiB", "TiB") }

func secondsFigure(v float64) string {
	if v == 0 {
		return "0 s"
	}
	return scaled(math.Round(v*1e15)/1e9, 1000, "µs", "ms", "s")
}

func operationsFigure(v float64) string { return scaled(v/1e9, 1000, "GFLOP", "TFLOP") }

// rateFigure keeps the unit of datasheets.
func rateFigure(v float64) string { return figure(v/1e12) + " TFLOP/s" }

func bandwidthFigure(v float64) string { return figure(v/1e9) + " GB/s" }
