package ledger

import (
	"cmp"
	"encoding/hex"
	"maps"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/privacy"
)

// Fingerprint identifies a data set: "hmac-sha256:" and 64 hexadecimal digits. It is a
// keyed hash, computed by someone who may see the data with a key that the ledger's owner
// keeps, so it reveals nothing to someone who guesses the data. The ledger never sees the
// data or the key.
type Fingerprint string

const fingerprintPrefix = "hmac-sha256:"

var fingerprintPattern = regexp.MustCompile("^" + fingerprintPrefix + "[0-9a-f]{64}$")

// NewFingerprint makes a fingerprint of the 32 bytes of an HMAC-SHA-256.
func NewFingerprint(mac []byte) (Fingerprint, error) {
	if len(mac) != 32 {
		return "", input("a fingerprint is made of an HMAC-SHA-256 of 32 bytes, this has %d", len(mac))
	}
	return Fingerprint(fingerprintPrefix + hex.EncodeToString(mac)), nil
}

func (f Fingerprint) check() error {
	if !fingerprintPattern.MatchString(string(f)) {
		return input("a data set is identified by %q followed by 64 hexadecimal digits", fingerprintPrefix)
	}
	return nil
}

// Global is the name of the budget that every charge of a data set counts
// toward.
const Global = "global"

// Budget is an allowance for one data set.
type Budget struct {
	// Name distinguishes the budgets of a data set; required. The one given to
	// [Ledger.Init] may be left empty and is called "global".
	Name string `json:"name"`
	// Epsilon and Delta are the allowance: all charges that count toward the budget are
	// together (Epsilon, Delta)-differentially private.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// Adjacency and Unit define the neighbours of the guarantee. Default: add-remove,
	// record. Further budgets of a data set have those of its global budget.
	Adjacency privacy.Adjacency `json:"adjacency"`
	Unit      privacy.Unit      `json:"unit"`
	// Composition is [Sums] or [Adaptive]. Default: sums; for further budgets,
	// the composition of the global one.
	Composition Composition `json:"composition"`
	// Orders are the Rényi orders that an adaptive budget tracks, fixed before anything is
	// charged. Default: 16 orders that suit runs of any kind. [BestComposition] finds the
	// best order for an expected use.
	Orders []float64 `json:"orders,omitempty"`
	// Scope restricts the budget to charges that carry all these labels. Default:
	// all charges. The global budget has none.
	Scope map[string]string `json:"scope,omitempty"`
	// From and Until restrict the budget to charges reserved at or after From and
	// before Until. Default: no limit. The global budget has none.
	//
	// Budgets with windows and the same scope form a series, one per month for
	// example: a charge with that scope is refused while none of them is open.
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// windowed reports whether the budget has a validity window.
func (b *Budget) windowed() bool { return !b.From.IsZero() || !b.Until.IsZero() }

// open reports whether a time, in microseconds, is within the window.
func (b *Budget) open(at int64) bool {
	return (b.From.IsZero() || at >= b.From.UnixMicro()) && (b.Until.IsZero() || at < b.Until.UnixMicro())
}

// covers reports whether a charge with these labels is within the scope.
func (b *Budget) covers(labels map[string]string) bool {
	for k, v := range b.Scope {
		if got, ok := labels[k]; !ok || got != v {
			return false
		}
	}
	return true
}

func (b *Budget) sameScope(other *Budget) bool { return maps.Equal(b.Scope, other.Scope) }

// normalize fills in defaults and brings the values to the one form in which they are
// stored. like is the data set's global budget, or nil for that one itself.
func (b *Budget) normalize(like *Budget) {
	if like == nil {
		like = &Budget{Adjacency: privacy.AddRemove, Unit: privacy.Record, Composition: Sums}
		b.Name = cmp.Or(b.Name, Global)
	}
	b.Adjacency = cmp.Or(b.Adjacency, like.Adjacency)
	b.Unit = cmp.Or(b.Unit, like.Unit)
	b.compose(like)
	b.From, b.Until = stored(b.From), stored(b.Until)
	if len(b.Scope) == 0 {
		b.Scope = nil
	}
}

// checkGlobal checks a data set's first budget.
func (b *Budget) checkGlobal() error {
	if b.Name != Global || len(b.Scope) > 0 || b.windowed() {
		return input("the first budget of a data set is its global one: it is called %q and has no scope and no window", Global)
	}
	return b.check()
}

// checkBeside checks that a budget can stand beside a data set's global one.
func (b *Budget) checkBeside(global *Budget) error {
	return cmp.Or(global.sameNeighbours(b.Adjacency, b.Unit), b.check())
}

// sameNeighbours checks that something else is about the neighbours of the budget.
func (b *Budget) sameNeighbours(adjacency privacy.Adjacency, unit privacy.Unit) error {
	switch {
	case adjacency != b.Adjacency:
		return &MismatchError{"adjacency", string(b.Adjacency), string(adjacency)}
	case unit.Column() != b.Unit.Column():
		return &MismatchError{"unit", string(b.Unit), string(unit)}
	}
	return nil
}

// stored returns a time as the ledger keeps it: UTC, in microseconds.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

func text(t time.Time) string { return t.Format(time.RFC3339Nano) }

// check checks a budget in normal form.
func (b *Budget) check() error {
	if err := checkName("the name of a budget", b.Name); err != nil {
		return err
	}
	if err := privacy.CheckEpsilon(b.Epsilon); err != nil {
		return input("budget %q: %s", b.Name, err)
	}
	if err := privacy.CheckDelta(b.Delta); err != nil {
		return input("budget %q: %s", b.Name, err)
	}
	if b.Adjacency != privacy.AddRemove && b.Adjacency != privacy.ReplaceOne {
		return input("budget %q: the adjacency is %q, it should be %s or %s", b.Name, string(b.Adjacency), privacy.AddRemove, privacy.ReplaceOne)
	}
	if err := checkText("the unit of privacy", string(b.Unit), 1, 256); err != nil {
		return err
	}
	if err := b.checkComposition(); err != nil {
		return err
	}
	switch {
	case text(b.From) != text(stored(b.From)) || text(b.Until) != text(stored(b.Until)):
		return input("budget %q: its window is not in UTC and whole microseconds", b.Name)
	case !b.From.IsZero() && !b.Until.IsZero() && !b.From.Before(b.Until):
		return input("budget %q: its window ends at %s, before it begins", b.Name, b.Until.Format(time.RFC3339))
	}
	return checkLabels(b.Scope)
}

// checkName allows names that read well in a table and cannot be taken for a fingerprint,
// since they have no colon.
func checkName(what, s string) error {
	if !named(s) {
		return input("%s should be 1 to 128 letters, digits, spaces or ._/@+- and begin with a letter or digit", what)
	}
	return nil
}

// named reports whether s is a name. A regular expression with its 128 sets of all letters took
// 5 MB and 8 ms at the start of every program.
func named(s string) bool {
	letter := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
	first, _ := utf8.DecodeRuneInString(s)
	return utf8.ValidString(s) && letter(first) && utf8.RuneCountInString(s) <= 128 &&
		!strings.ContainsFunc(s, func(r rune) bool { return !letter(r) && !strings.ContainsRune(" ._/@+-", r) })
}

// checkText allows one line of text.
func checkText(what, s string, minLength, maxLength int) error {
	switch n := utf8.RuneCountInString(s); {
	case !utf8.ValidString(s):
		return input("%s is not valid UTF-8", what)
	case n < minLength:
		return input("%s is missing", what)
	case n > maxLength:
		return input("%s has %d characters, at most %d are allowed", what, n, maxLength)
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }):
		return input("%s has control characters or line breaks", what)
	}
	return nil
}

func checkLabels(labels map[string]string) error {
	if len(labels) > 32 {
		return input("%d labels are too many, at most 32 are allowed", len(labels))
	}
	for k, v := range labels {
		if err := checkName("a label", k); err != nil {
			return err
		}
		if err := checkText("the value of label "+k, v, 0, 256); err != nil {
			return err
		}
	}
	return nil
}

// Epsilon is a cost. It is +Inf, written "Infinity" in JSON, when no finite ε holds.
type Epsilon float64

// MarshalJSON implements [json.Marshaler]: JSON's numbers have no infinity.
func (e Epsilon) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(e), 1) {
		return []byte(`"Infinity"`), nil
	}
	return strconv.AppendFloat(nil, float64(e), 'g', -1, 64), nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

func left(limit, spent float64) float64 { return max(0, limit-spent) }
