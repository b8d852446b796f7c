package sizing

// fleet prices the load.
func (l load) fleet(in Inputs, m mix, maxRate float64) *Fleet {
	f := &Fleet{}
	l.describe(f, in, maxRate)
	f.price(in.USDPerAcceleratorHour, m)
	return f
}
