package privacy

// Event is a node of a privacy event tree. The set of nodes is closed: every
// accountant must decide about each of them, so there is no way to add one from
// outside this package.
type Event interface {
	// String prints the event in the expression language; [Parse] reads it back
	// to an equal value.
	String() string
	// Node returns the name of the node in the expression language.
	Node() string

	check() *ParameterError
	children() []Event
	print(*printer)
}

// Gaussian adds N(0, (σΔ)²) noise to a query of ℓ2-sensitivity Δ.
type Gaussian struct {
	// Sigma is the noise multiplier σ, relative to the sensitivity; σ > 0.
	Sigma float64
}

// Laplace adds Laplace noise of scale bΔ to a query of ℓ1-sensitivity Δ.
type Laplace struct {
	// B is the noise multiplier b, relative to the sensitivity; b > 0.
	B float64
}

// Pure is any ε-differentially private mechanism.
type Pure struct {
	// Epsilon is the bound on the absolute log-likelihood ratio; ε ≥ 0.
	Epsilon float64
}

// Approx is any (ε,δ)-differentially private mechanism. Nothing more is claimed:
// with probability δ it may release its input. A claim that says more about the
// mechanism, such as [Gaussian], composes to less.
type Approx struct {
	// Epsilon bounds the log-likelihood ratio, except with probability Delta; ε ≥ 0.
	Epsilon float64
	// Delta is the probability with which the bound may fail; 0 ≤ δ < 1.
	Delta float64
}

// BoundedRange is any mechanism whose log-likelihood ratios between adjacent
// inputs span a range of at most c (Dong, Durfee, Rogers 2020), such as the
// exponential mechanism.
type BoundedRange struct {
	// C is the range c; c ≥ 0.
	C float64
}

// RandomizedResponse is k-ary randomised response: the truth with probability
// e^ε/(e^ε+k−1), any other value with 1/(e^ε+k−1) each.
type RandomizedResponse struct {
	// Epsilon is the log-odds of the truth against one other value; ε ≥ 0.
	Epsilon float64
	// K is the size of the domain; k ≥ 2.
	K int64
}

// ZCDP is any ρ-zero-concentrated differentially private mechanism
// (Bun, Steinke 2016).
type ZCDP struct {
	// Rho bounds every Rényi divergence of order α by ρα; ρ ≥ 0.
	Rho float64
}

// Compose runs all its events on the same records, adaptively and in any
// interleaving. Without events it touches nothing.
type Compose struct {
	Events []Event
}

// Repeat runs one event n times on the same records, adaptively.
type Repeat struct {
	// N is how often; n ≥ 1.
	N     int64
	Event Event
}

// Poisson runs an event on a sample that keeps each record independently.
type Poisson struct {
	// Q is the probability of keeping a record; 0 ≤ q ≤ 1.
	Q     float64
	Event Event
}

// FixedSize runs an event on M of N records drawn uniformly without replacement.
type FixedSize struct {
	// N is the public number of records, M the size of the sample; 1 ≤ m ≤ n.
	N, M  int64
	Event Event
}

// Parallel runs each event on its own part of a partition of the records.
type Parallel struct {
	Events []Event
}

// NonPrivate releases its input. It records runs that have no guarantee.
type NonPrivate struct{}

// Node implements [Event], here and below.
func (Gaussian) Node() string           { return "gaussian" }
func (Laplace) Node() string            { return "laplace" }
func (Pure) Node() string               { return "pure" }
func (Approx) Node() string             { return "approx" }
func (BoundedRange) Node() string       { return "boundedrange" }
func (RandomizedResponse) Node() string { return "rr" }
func (ZCDP) Node() string               { return "zcdp" }
func (Compose) Node() string            { return "compose" }
func (Repeat) Node() string             { return "repeat" }
func (Poisson) Node() string            { return "poisson" }
func (FixedSize) Node() string          { return "fixedsize" }
func (Parallel) Node() string           { return "parallel" }
func (NonPrivate) Node() string         { return "nonprivate" }

func (Gaussian) children() []Event           { return nil }
func (Laplace) children() []Event            { return nil }
func (Pure) children() []Event               { return nil }
func (Approx) children() []Event             { return nil }
func (BoundedRange) children() []Event       { return nil }
func (RandomizedResponse) children() []Event { return nil }
func (ZCDP) children() []Event               { return nil }
func (NonPrivate) children() []Event         { return nil }
func (e Compose) children() []Event          { return e.Events }
func (e Parallel) children() []Event         { return e.Events }
func (e Repeat) children() []Event           { return []Event{e.Event} }
func (e Poisson) children() []Event          { return []Event{e.Event} }
func (e FixedSize) children() []Event        { return []Event{e.Event} }

// Children returns the events directly under e, nil for a leaf.
func Children(e Event) []Event { return e.children() }
