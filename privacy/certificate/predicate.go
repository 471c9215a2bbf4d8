package certificate

import (
	"time"

	"github.com/sotto-dp/sotto/privacy"
)

// PredicateType identifies the predicate of a certificate. Changing its meaning or fields
// takes a new version.
const PredicateType = "urn:sotto:privacy-guarantee:v2"

// FileName is the name of a certificate in the directory of its release.
const FileName = "certificate.json"

// Predicate is what a certificate claims.
type Predicate struct {
	// Method names the mechanism, such as "clipped".
	Method string `json:"method"`
	// Proof cites the theorem behind the events of Method.
	Proof string `json:"proof"`
	// Randomness is always [OSRandom] in a certificate.
	Randomness Randomness `json:"randomness"`
	// Events are canonical expressions. They all ran on the same records and
	// compose.
	Events    []string          `json:"events"`
	Adjacency privacy.Adjacency `json:"adjacency"`
	Unit      privacy.Unit      `json:"unit"`
	Delta     float64           `json:"delta"`
	// Epsilon is the ε of all Events composed, at Delta.
	Epsilon Epsilon `json:"epsilon"`
	// Drawn states what is left of the guarantee against someone who knows whose records were
	// drawn; nil where nothing is sampled, or where no finite ε is left.
	Drawn *DrawnGuarantee `json:"drawn,omitempty"`
	// Samplers lists the samplers that ran, sorted.
	Samplers []Sampler `json:"samplers"`
	// Sizes are the declared, public sizes of disjoint parts of the records.
	Sizes []Size `json:"sizes,omitempty"`
	// Model identifies the model that saw private records, if any did.
	Model   *Model  `json:"model,omitempty"`
	Program Program `json:"program"`
	// Assumptions state in words what the claim rests on. Those that follow from the other
	// fields come first, in a fixed order.
	Assumptions []string `json:"assumptions"`
	// Created is the day, as midnight UTC: how long a run took depends on who was drawn.
	Created time.Time `json:"created"`
	// Ledger points to the charge that paid for the release.
	Ledger *LedgerReference `json:"ledger,omitempty"`
}

// Epsilon is an accountant's interval. Upper is the claim.
type Epsilon struct {
	Lower      float64 `json:"lower"`
	Upper      float64 `json:"upper"`
	Accountant string  `json:"accountant"`
}

// DrawnGuarantee is the guarantee of all Events with their sampling removed ([privacy.Unsampled]), at the
// certificate's δ, under its adjacency and for its unit. It protects a record against someone who
// knows whose records were drawn each time, also if that one always was.
type DrawnGuarantee struct {
	Event   string  `json:"event"`
	Epsilon Epsilon `json:"epsilon"`
}

// Randomness is the source of draws and noise.
type Randomness string

const (
	// OSRandom is the operating system's generator, or a cryptographic one
	// keyed from it.
	OSRandom Randomness = "os-csprng"
	// Seeded randomness can be repeated by anyone who knows the seed. It has no privacy guarantee and
	// never gets a certificate.
	Seeded Randomness = "seeded"
)

// Sampler is a way of drawing records.
type Sampler string

const (
	// SampleAll uses every record.
	SampleAll Sampler = "all"
	// SampleDisjoint cuts the records into parts independent of the data.
	SampleDisjoint Sampler = "disjoint"
	// SampleFixedSize draws a fixed number without replacement.
	SampleFixedSize Sampler = "fixed-size"
	// SamplePoisson keeps each record independently.
	SamplePoisson Sampler = "poisson"
)

// Size is a declared number of records.
type Size struct {
	// Part names a part of the records, such as a label of the public list.
	Part    string `json:"part"`
	Records int64  `json:"records"`
}

// Model identifies the model that was handed private records.
type Model struct {
	Name string `json:"name"`
	// Fingerprint identifies the weights, such as "sha256:…", or says why that
	// cannot be known.
	Fingerprint string `json:"fingerprint"`
	Backend     string `json:"backend"`
	// BatchInvariant: the back-end promises that the scores of a sequence do
	// not depend on what else is in its batch.
	BatchInvariant bool `json:"batchInvariant"`
	// Isolation states how independent scores are ensured where the back-end does not
	// promise them: prompts were scored alone, and a check at the start compared bits; or
	// records were asked about one at a time. It is one of [Isolations], or two.
	Isolation string `json:"isolation,omitempty"`
	// Deterministic: the back-end promises the same scores for the same sequence at any
	// time, so an interrupted run can be replayed exactly. Without it, a text that was
	// interrupted is charged again.
	Deterministic bool `json:"deterministic"`
}

// Program is the program that made the release.
type Program struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// LedgerReference names the charge of a release and, as Head, a later checkpoint of the
// ledger's hash chain. Anyone who keeps the ledger can look both up.
type LedgerReference struct {
	Charge string `json:"charge"`
	Head   string `json:"head"`
}

// Subject is a released file. Name is relative to the certificate, with slashes.
type Subject struct {
	Name   string `json:"name"`
	Digest Digest `json:"digest"`
}

// Digest holds the SHA-256 of a file, in lower-case hex.
type Digest struct {
	SHA256 string `json:"sha256"`
}

// statementType is the type of an in-toto Statement v1.
const statementType = "https://in-toto.io/Statement/v1"

// body is an in-toto Statement v1.
type body struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     Predicate `json:"predicate"`
}
