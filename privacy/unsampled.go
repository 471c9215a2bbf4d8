package privacy

// Unsampled returns e with its sampling removed: every poisson and fixedsize node becomes the
// event that it runs, and repeats, compositions and partitions stay. It is what protects a unit
// against someone who knows whose records were drawn each time, if that unit always was: given
// the draws, each node runs its event on records that are known, and the rest composes as it
// did. Where nothing is sampled it is [Canonical] of e, and so is what is never drawn from.
func Unsampled(e Event) Event { return Canonical(unsampled(Canonical(e))) }

func unsampled(e Event) Event {
	switch v := e.(type) {
	case Poisson:
		return unsampled(v.Event)
	case FixedSize:
		return unsampled(v.Event)
	case Repeat:
		return Repeat{v.N, unsampled(v.Event)}
	case Compose:
		return Compose{unsampledAll(v.Events)}
	case Parallel:
		return Parallel{unsampledAll(v.Events)}
	}
	return e
}

func unsampledAll(events []Event) []Event {
	out := make([]Event, len(events))
	for i, e := range events {
		out[i] = unsampled(e)
	}
	return out
}

// Sampled reports whether e takes credit for sampling.
func Sampled(e Event) bool { return Unsampled(e).String() != Canonical(e).String() }
