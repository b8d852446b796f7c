package sizing

// TokenCost is the price of a million tokens in dollars: price per hour ÷
// tokens per hour × one million. It is 0 when nothing is produced.
func TokenCost(usdPerHour, tokensPerS float64) float64 {
	if tokensPerS <= 0 {
		return 0
	}
	return usdPerHour / (tokensPerS * 3600) * 1e6
}

// fleet prices the load.
func (l load) fleet(in Inputs, m mix, maxRate float64) *Fleet {
	f := &Fleet{}
	l.describe(f, in, maxRate)
	f.USDPerHour = float64(f.Accelerators) * in.USDPerAcceleratorHour
	f.USDPer1MIn = TokenCost(f.USDPerHour, l.total*m.input)
	f.USDPer1MOut = TokenCost(f.USDPerHour, l.total*m.output)
	f.USDPer1M = TokenCost(f.USDPerHour, l.total*(m.input+m.output))
	return f
}
