package certificate

import (
	"time"

	"github.com/sotto-dp/sotto/privacy"
)

// PredicateType identifies the predicate of a certificate. A change of meaning
// or of fields takes a new version.
const PredicateType = "urn:sotto:privacy-guarantee:v1"

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
	// Epsilon is that of all Events together at Delta.
	Epsilon Epsilon `json:"epsilon"`
	// Inner tells the guarantee of a record once it has been drawn.
	Inner []Inner `json:"inner,omitempty"`
	// Samplers are those that ran, sorted.
	Samplers []Sampler `json:"samplers"`
	// Sizes are the declared, public sizes of disjoint parts of the records.
	Sizes []Size `json:"sizes,omitempty"`
	// Model is the one that saw private records, if any did.
	Model   *Model  `json:"model,omitempty"`
	Program Program `json:"program"`
	// Assumptions say in words what the claim rests on: those that follow from
	// the other fields first, in a fixed order.
	Assumptions []string `json:"assumptions"`
	// Created is the signer's time, in whole seconds of UTC.
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

// Inner is the guarantee of what a sampling node runs, at the certificate's δ:
// what protects a record against someone who knows that it was drawn.
type Inner struct {
	Event   string  `json:"event"`
	Epsilon Epsilon `json:"epsilon"`
}

// Randomness says where draws and noise come from.
type Randomness string

const (
	// OSRandom is the operating system's generator, or a cryptographic one
	// keyed from it.
	OSRandom Randomness = "os-csprng"
	// Seeded randomness can be repeated by whoever knows the seed. It protects
	// nothing and never gets a certificate.
	Seeded Randomness = "seeded"
)

// Sampler is a way to draw records.
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
	// Isolation is how it is known that they do not, where the back-end does not promise
	// it: prompts were scored alone, and a check at the start compared bits. One of
	// [Isolations].
	Isolation string `json:"isolation,omitempty"`
	// Deterministic: the back-end promises the same scores for the same
	// sequence at any time, so that an interrupted run was replayed exactly.
	// Without it a text in the making was charged again.
	Deterministic bool `json:"deterministic"`
}

// Program is what made the release.
type Program struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// LedgerReference names the charge of a release, and a checkpoint of the ledger's
// hash chain after it as Head. Whoever keeps the ledger can look both up.
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

// body is an in-toto Statement v1 with a predicate of type P.
type body[P any] struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     P         `json:"predicate"`
}
