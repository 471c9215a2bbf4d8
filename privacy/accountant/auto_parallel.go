package accountant

import "github.com/sotto-dp/sotto/privacy"

// worst evaluates an event by its parallel parts and returns the worst result.
func (a Auto) worst(e privacy.Event, adj privacy.Adjacency, evaluate func(privacy.Event) (Result, error)) (Result, error) {
	parts := byPart(e, adj)
	if parts == nil {
		return evaluate(e)
	}
	var worst Result
	for i, part := range parts {
		r, err := evaluate(part)
		if err != nil {
			return Result{}, err
		}
		lower := max(worst.Lower, r.Lower)
		if i == 0 || r.Upper > worst.Upper {
			worst = r
		}
		worst.Lower = lower
	}
	return worst, nil
}

// byPart rewrites compose(x, parallel(a, b, …)) as compose(x, a), compose(x, b), … when
// the parallel node is the only one and runs once.
//
// Under add-remove adjacency the record that neighbours differ in is in one part of the
// partition. All other parts run on the same records on both sides, so their outputs can
// be drawn independently of which side it is, given what came before: for each part the
// loss equals that of compose(x, part), and the exact answer is the largest of these (McSherry
// 2009, parallel composition, in its adaptive form). Accountants that cannot look into a
// parallel node, or only by a common bound of its parts, then see each part alone.
func byPart(e privacy.Event, adj privacy.Adjacency) []privacy.Event {
	if adj != privacy.AddRemove || privacy.Validate(e) != nil {
		return nil
	}
	terms, err := privacy.Terms(e)
	if err != nil {
		return nil
	}
	at := -1
	for i, t := range terms {
		if _, ok := t.Event.(privacy.Parallel); ok {
			if at >= 0 || t.N != 1 {
				return nil
			}
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	var parts []privacy.Event
	seen := map[string]bool{}
	for _, part := range terms[at].Event.(privacy.Parallel).Events {
		c := privacy.Compose{Events: []privacy.Event{part}}
		for i, t := range terms {
			if i != at {
				c.Events = append(c.Events, privacy.Repeat{N: t.N, Event: t.Event})
			}
		}
		whole := privacy.Canonical(c)
		if text := whole.String(); !seen[text] {
			seen[text] = true
			parts = append(parts, whole)
		}
	}
	return parts
}
