package chain_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
)

func log(n int) []chain.Row {
	var rows []chain.Row
	var head chain.Head
	for i := range n {
		r := chain.Seal(head, chain.Entry{Kind: "kind", Subject: fmt.Sprint(i), Body: "body", At: int64(i)})
		rows = append(rows, r)
		head = chain.Head{Count: r.Seq, Hash: r.Hash}
	}
	return rows
}

func verify(rows []chain.Row) (chain.Head, error) {
	var v chain.Verifier
	for _, r := range rows {
		if err := v.Next(r); err != nil {
			return v.Head(), err
		}
	}
	return v.Head(), nil
}

func ExampleVerifier() {
	first := chain.Seal(chain.Head{}, chain.Entry{Kind: "note", Body: "one", At: 1})
	second := chain.Seal(chain.Head{Count: 1, Hash: first.Hash}, chain.Entry{Kind: "note", Body: "two", At: 2})
	first.Body = "none"

	var v chain.Verifier
	for _, r := range []chain.Row{first, second} {
		if err := v.Next(r); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output: the ledger was tampered with or damaged at row 1: the hash does not follow: this row was changed, or the one before it was replaced; restore it from a backup that agrees with your last checkpoint
}

// TestEveryChangeShows: whatever single thing is changed in a log, it does not
// verify to the same head.
func TestEveryChangeShows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows := log(rapid.IntRange(1, 8).Draw(rt, "rows"))
		head, err := verify(rows)
		if err != nil {
			rt.Fatal(err)
		}
		i := rapid.IntRange(0, len(rows)-1).Draw(rt, "row")
		r := &rows[i]
		switch rapid.IntRange(0, 9).Draw(rt, "change") {
		case 0:
			r.Seq += rapid.SampledFrom([]int64{-1, 1, 7}).Draw(rt, "by")
		case 1:
			r.At++
		case 2:
			r.Kind += "x"
		case 3:
			r.Subject = "x" + r.Subject
		case 4:
			r.Body = strings.ToUpper(r.Body)
		case 5:
			r.Nonce = r.Nonce[1:]
		case 6:
			r.Hash[rapid.IntRange(0, 31).Draw(rt, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
		case 7: // moves text between fields
			r.Kind, r.Subject = r.Kind+r.Subject[:1], r.Subject[1:]
		case 8:
			rows = append(rows[:i], rows[i+1:]...)
		case 9:
			rows = append(rows[:i+1], rows[i:]...)
		}
		if got, err := verify(rows); err == nil && got == head {
			rt.Fatal("the change does not show")
		}
	})
}

func TestEnd(t *testing.T) {
	rows := log(3)
	var v chain.Verifier
	for _, r := range rows {
		if err := v.Next(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.End(chain.Head{Count: 3, Hash: rows[2].Hash}); err != nil {
		t.Error(err)
	}
	for seq, head := range map[int64]chain.Head{
		4: {Count: 4, Hash: rows[2].Hash},
		2: {Count: 2, Hash: rows[1].Hash},
		3: {Count: 3, Hash: rows[1].Hash},
	} {
		var e *chain.TamperedError
		if err := v.End(head); !errors.As(err, &e) || e.Seq != seq {
			t.Errorf("a head at %d: %v", head.Count, err)
		}
	}
}

// TestTimeNeverRunsBack: a row dated before the one it follows is refused even if
// it is sealed well.
func TestTimeNeverRunsBack(t *testing.T) {
	first := chain.Seal(chain.Head{}, chain.Entry{Kind: "k", At: 5})
	second := chain.Seal(chain.Head{Count: 1, Hash: first.Hash}, chain.Entry{Kind: "k", At: 4})
	if _, err := verify([]chain.Row{first, second}); err == nil {
		t.Error("time ran back")
	}
}

// TestSumIsPinned: the encoding under the hash must not change by accident, for
// every ledger there is rests on it. Computed independently with Python's
// hashlib over the encoding that Row.Sum documents.
func TestSumIsPinned(t *testing.T) {
	r := chain.Row{Seq: 7, At: 1700000000000000, Kind: "reserve", Subject: "s", Body: "{}", Nonce: "00"}
	const want = "5dca4eb59c303185d7dd14bb5c999c72b3c5e2857b5b2d140889147a713d615c"
	if got := r.Sum(chain.Hash{1}); got.String() != want {
		t.Errorf("the hash is %s, want %s", got, want)
	}
}

func FuzzCheckpoint(f *testing.F) {
	f.Add(chain.Checkpoint{Head: chain.Head{Count: 3}}.String())
	f.Add("sotto-ledger-checkpoint/1 x 1 y")
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := chain.ParseCheckpoint(s)
		if err != nil {
			return
		}
		again, err := chain.ParseCheckpoint(c.String())
		if err != nil || again != c {
			t.Errorf("%q reads as %v, and that as %v, %v", s, c, again, err)
		}
		text, err := c.MarshalText()
		var read chain.Checkpoint
		expect.NoError(t, err)
		expect.NoError(t, read.UnmarshalText(text))
		expect.Equal(t, "read", read, c)
	})
}
