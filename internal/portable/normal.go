package portable

import "math"

// Coefficients of the rational approximations of PPND16, from the highest
// power to the lowest: M. J. Wichura, "Algorithm AS 241: The Percentage Points
// of the Normal Distribution", Applied Statistics 37 (1988), 477–484. Their
// relative error is about 1e-16.
var (
	centreAbove = [...]float64{2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4, 4.5921953931549871457e+4,
		1.3731693765509461125e+4, 1.9715909503065514427e+3, 1.3314166789178437745e+2, 3.3871328727963666080e+0}
	centreBelow = [...]float64{5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4, 2.1213794301586595867e+4,
		5.3941960214247511077e+3, 6.8718700749205790830e+2, 4.2313330701600911252e+1, 1}
	middleAbove = [...]float64{7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e+0,
		3.64784832476320460504e+0, 5.76949722146069140550e+0, 4.63033784615654529590e+0, 1.42343711074968357734e+0}
	middleBelow = [...]float64{1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
		6.89767334985100004550e-1, 1.67638483018380384940e+0, 2.05319162663775882187e+0, 1}
	tailAbove = [...]float64{2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
		2.96560571828504891230e-1, 1.78482653991729133580e+0, 5.46378491116411436990e+0, 6.65790464350110377720e+0}
	tailBelow = [...]float64{2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
		1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1}
)

// NormalQuantile returns the value that a standard normal variable stays below
// with probability p: −Inf at 0, +Inf at 1, NaN outside.
func NormalQuantile(p float64) float64 {
	switch {
	case p == 0:
		return math.Inf(-1)
	case p == 1:
		return math.Inf(1)
	case !(p > 0 && p < 1):
		return math.NaN()
	}
	q := p - 0.5
	if math.Abs(q) <= 0.425 {
		r := 0.180625 - float64(q*q)
		return q * polynomial(r, centreAbove[:]) / polynomial(r, centreBelow[:])
	}
	r := math.Sqrt(-Log(min(p, 1-p)))
	v := 0.0
	if r <= 5 {
		v = polynomial(r-1.6, middleAbove[:]) / polynomial(r-1.6, middleBelow[:])
	} else {
		v = polynomial(r-5, tailAbove[:]) / polynomial(r-5, tailBelow[:])
	}
	return math.Copysign(v, q)
}
