package ends

import "time"

// lately is what things have cost during the last two seconds. Its last part stays until there is a newer one.
type lately struct{ parts []part }

type part struct {
	at         time.Time
	of, amount float64
}

const recent = 2 * time.Second

// add says that `of` things cost the amount; nothing is learnt from no things.
func (l *lately) add(now time.Time, of, amount float64) {
	if of == 0 {
		return
	}
	l.parts = append(l.parts, part{now, of, amount})
	for len(l.parts) > 1 && now.Sub(l.parts[0].at) > recent {
		l.parts = l.parts[1:]
	}
}

// each returns the cost of one thing; `unknown` before there was one.
func (l *lately) each(unknown float64) float64 {
	of, amount := 0.0, 0.0
	for _, part := range l.parts {
		of, amount = of+part.of, amount+part.amount
	}
	if of == 0 {
		return unknown
	}
	return amount / of
}
