package limit

import "time"

// Budgets bound what a scope may spend in a day and in a month of UTC's calendar.
// Zero is no limit.
type Budgets struct{ Day, Month Money }

// Window is one day or month of a budget, and what was spent in it.
type Window struct {
	Index int64 // days since 1970-01-01, or months since January of the year 0
	Spent Money
}

// roll begins a new window when the calendar has come to one. A clock that steps
// back changes nothing: the window that was reached stays, so that what was spent
// is not forgotten, and that no window is begun twice.
func (w *Window) roll(index int64) {
	if index > w.Index {
		*w = Window{Index: index}
	}
}

func (w *Window) spend(cost Money) { w.Spent = min(w.Spent+cost, maxMoney) }

// calendar holds the windows that an instant lies in. They are computed once a
// day, not once a request.
type calendar struct {
	day, month int64
	from, to   time.Time // the day
}

func (c *calendar) set(t time.Time) {
	if !t.Before(c.from) && t.Before(c.to) {
		return
	}
	t = t.UTC()
	year, month, day := t.Date()
	c.from = time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	c.to = c.from.AddDate(0, 0, 1)
	c.day, c.month = c.from.Unix()/(24*60*60), int64(year)*12+int64(month)-1
}

// dayEnd is when the day of the index is over.
func dayEnd(index int64) time.Time { return time.Unix((index+1)*24*60*60, 0).UTC() }

// monthEnd is when the month of the index is over.
func monthEnd(index int64) time.Time {
	return time.Date(int(index/12), time.Month(index%12)+2, 1, 0, 0, 0, 0, time.UTC)
}
