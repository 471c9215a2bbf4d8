package jobs

import "time"

// beatAfter is the first beat of a job at or after so much time since it was begun: when something
// of it is shown. How long a step takes depends on who was drawn, so that beats get longer with
// the time that went by, and say little about it: after 1, 2, … 8 times the first, then 10, 12, 14,
// 16, then 20, 24, 28, 32, and so on. What there is to see comes at most a quarter of that time
// later, and four beats after the eighth double it.
func beatAfter(first, since time.Duration) time.Duration {
	step := first
	for 8*step < since {
		step *= 2
	}
	return max(first, (since+step-1)/step*step)
}

// untilBeat is how long it is to the next beat of what was begun.
func untilBeat(first time.Duration, begun time.Time) time.Duration {
	since := time.Since(begun)
	return beatAfter(first, since+1) - since
}
